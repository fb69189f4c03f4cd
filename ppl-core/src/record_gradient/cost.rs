//! What it costs to take the squared norm and the weighted sum of contributions, and the choice between two
//! ways.

use super::contribution::{Contribution, Core};
use std::collections::HashMap;
use std::fmt;
use std::ops::Add;

/// Work for one record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cost {
    /// Multiplications with their additions.
    pub multiply_adds: u64,
    /// Numbers written to memory for each record beside the factors, which every way needs.
    pub numbers: u64,
}

impl Cost {
    /// Multiply–adds that take as long as writing one number and reading it again.
    const NUMBER: u64 = 2;

    const fn work(multiply_adds: u64) -> Self {
        Self { multiply_adds, numbers: 0 }
    }

    const fn new(multiply_adds: u64, numbers: u64) -> Self {
        Self { multiply_adds, numbers }
    }

    /// The two in one figure, in multiply–adds.
    #[must_use]
    pub fn total(self) -> u64 {
        self.multiply_adds.saturating_add(self.numbers.saturating_mul(Self::NUMBER))
    }
}

impl Cost {
    fn times(self, count: u64) -> Self {
        Self {
            multiply_adds: self.multiply_adds.saturating_mul(count),
            numbers: self.numbers.saturating_mul(count),
        }
    }
}

impl Add for Cost {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            multiply_adds: self.multiply_adds.saturating_add(other.multiply_adds),
            numbers: self.numbers.saturating_add(other.numbers),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} multiply-adds", self.multiply_adds)?;
        if self.numbers > 0 { write!(f, ", {} numbers kept", self.numbers) } else { Ok(()) }
    }
}

/// How the norm and the weighted sum of one array's contributions are formed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// No record touches the array.
    Untouched,
    /// The gradient is there as an array for each record.
    Direct,
    /// One product, its factors left apart.
    Factored,
    /// Several contributions, left apart: their squared norms and twice their inner products.
    Gram,
    /// Multiplied out and added up for each record.
    Built,
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::Untouched => "untouched",
            Form::Direct => "direct",
            Form::Factored => "factored",
            Form::Gram => "Gram",
            Form::Built => "built",
        })
    }
}

/// Costs of one way: of the squared norm, and of the weighted sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Costs {
    /// Of the squared norm.
    pub norm: Cost,
    /// Of the weighted sum.
    pub sum: Cost,
}

impl Costs {
    /// Norm and sum in one figure, in multiply–adds.
    #[must_use]
    pub fn total(self) -> u64 {
        (self.norm + self.sum).total()
    }
}

/// Positions of a product and lengths of its factors.
fn factors(contribution: &Contribution<'_>) -> Option<(u64, u64, u64)> {
    match contribution.core {
        Core::Direct(_) | Core::Scatter { .. } => None,
        Core::Product { left, right } => {
            Some((1, left.shape().elements() as u64, right.shape().elements() as u64))
        }
        Core::Positions { left, right } => {
            let ([positions, p], [_, d]) = (left.sizes(), right.sizes());
            Some((positions as u64, p as u64, d as u64))
        }
    }
}

fn elements(contribution: &Contribution<'_>) -> u64 {
    contribution.shape().elements() as u64
}

/// Places and width of rows that are scattered.
fn scattered(contribution: &Contribution<'_>) -> Option<(u64, u64)> {
    match contribution.core {
        Core::Scatter { rows, .. } => {
            rows.shape().dims().first().map(|&places| (places as u64, rows.shape().elements() as u64))
        }
        _ => None,
    }
}

/// `‖c‖²`
fn squared_norm(contribution: &Contribution<'_>) -> Cost {
    match scattered(contribution) {
        Some((1, rows)) => return Cost::work(rows),
        Some((places, rows)) => return Cost::new(places * places + 3 * rows, rows),
        None => {}
    }
    match (factors(contribution), &contribution.scale) {
        (None, _) => Cost::work(elements(contribution)),
        (Some((1, p, d)), None) => Cost::work(p + d + 1),
        // g²ᵀ(D²a²), with the squares of the factors and the product of squares written out.
        (Some((1, p, d)), Some(_)) => Cost::new(p * d + 2 * p + d, 2 * p + d),
        // ⟨GGᵀ, AAᵀ⟩, and the norms of the factors.
        (Some((t, p, d)), _) => Cost::new(t * t * (p + d + 1) + t * (p + d), 2 * t * t),
    }
}

/// `⟨c, c'⟩`
fn inner(one: &Contribution<'_>, other: &Contribution<'_>) -> Cost {
    let scaled = one.scale.is_some() || other.scale.is_some();
    match (scattered(one), scattered(other)) {
        (Some((places, rows)), Some((others, other_rows))) => {
            return Cost::new(places * others + other_rows + rows, rows);
        }
        // The other's rows are picked, from its factors or from the array.
        (Some((places, rows)), None) | (None, Some((places, rows))) => {
            return Cost::new(places + 2 * rows, places + rows);
        }
        (None, None) => {}
    }
    match (factors(one), factors(other)) {
        (None, None) => Cost::work(elements(one)),
        (Some((1, p, d)), Some(sizes)) if sizes == (1, p, d) && !scaled => Cost::work(p + d + 1),
        (Some((1, p, d)), Some(sizes)) if sizes == (1, p, d) => Cost::new(p * d + 2 * p + d, 2 * p + d),
        (Some((t, p, d)), Some((s, q, e))) if (p, d) == (q, e) && !scaled => {
            Cost::new(t * s * (p + d + 1), 2 * t * s)
        }
        (Some((t, p, d)), None) | (None, Some((t, p, d))) => {
            Cost::new(t * (p * d + p), t * p) + if scaled { Cost::new(p * d, p * d) } else { Cost::default() }
        }
        // Factors of other lengths, or positions rescaled: one of them is multiplied out.
        (Some((t, p, d)), Some((s, ..))) => Cost::new((t + s + 1) * p * d + t * p, p * d + t * p),
    }
}

/// The contributions left apart. A sum over positions that is rescaled has no norm but that of the array it
/// makes.
pub(super) fn apart(contributions: &[Contribution<'_>]) -> Costs {
    let mut costs = Costs::default();
    // Of contributions that are alike, one with their number: an unrolled loop makes many of them.
    let mut before: Vec<(&Contribution<'_>, u64)> = Vec::new();
    let mut known = HashMap::new();
    for one in contributions {
        costs.norm = costs.norm + squared_norm(one);
        for &(other, count) in &before {
            costs.norm = costs.norm + inner(one, other).times(count);
        }
        // What costs are made of.
        let kind = (scattered(one), factors(one), elements(one), one.scale.is_some());
        let place = *known.entry(kind).or_insert_with(|| {
            before.push((one, 0));
            before.len() - 1
        });
        before[place].1 += 1;
        let sum = match scattered(one) {
            Some((_, rows)) => rows,
            None => factors(one).map_or(1, |(t, ..)| t) * elements(one),
        };
        costs.sum = costs.sum + Cost::work(sum);
    }
    costs
}

/// The contributions multiplied out and added up.
pub(super) fn built(contributions: &[Contribution<'_>]) -> Costs {
    let mut norm = Cost::default();
    let mut arrays = 0;
    let n = contributions.first().map_or(0, elements);
    for (k, each) in contributions.iter().enumerate() {
        let products = factors(each).map_or(u64::from(scattered(each).is_some()), |(t, ..)| t)
            + u64::from(each.scale.is_some());
        // Elementwise steps in a row are one sweep: each contribution is written once, where it is multiplied
        // out.
        arrays += u64::from(!each.is_direct());
        norm = norm + Cost::work(n * (products + u64::from(k > 0)));
    }
    Costs { norm: norm + Cost::new(n, n * arrays), sum: Cost::work(n) }
}
