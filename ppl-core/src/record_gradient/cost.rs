//! What it costs to take the squared norm and the weighted sum of contributions, and the choice between two ways.

use super::contribution::{Contribution, Core};
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

/// Lengths of a product's factors.
fn factors(contribution: &Contribution<'_>) -> Option<(u64, u64)> {
    match contribution.core {
        Core::Direct(_) => None,
        Core::Product { left, right } => {
            Some((left.shape().elements() as u64, right.shape().elements() as u64))
        }
    }
}

fn elements(contribution: &Contribution<'_>) -> u64 {
    contribution.shape().elements() as u64
}

/// `‖c‖²`
fn squared_norm(contribution: &Contribution<'_>) -> Cost {
    match (factors(contribution), &contribution.scale) {
        (None, _) => Cost::work(elements(contribution)),
        (Some((p, d)), None) => Cost::work(p + d + 1),
        // g²ᵀ(D²a²), with the squares of the factors and the product of squares written out.
        (Some((p, d)), Some(_)) => Cost::new(p * d + 2 * p + d, 2 * p + d),
    }
}

/// `⟨c, c'⟩`
fn inner(one: &Contribution<'_>, other: &Contribution<'_>) -> Cost {
    let scaled = one.scale.is_some() || other.scale.is_some();
    match (factors(one), factors(other)) {
        (None, None) => Cost::work(elements(one)),
        (Some((p, d)), Some(lengths)) if lengths == (p, d) && !scaled => Cost::work(p + d + 1),
        (Some((p, d)), Some(lengths)) if lengths == (p, d) => Cost::new(p * d + 2 * p + d, 2 * p + d),
        (Some((p, d)), None) | (None, Some((p, d))) => {
            Cost::new(p * d + p, p) + if scaled { Cost::new(p * d, p * d) } else { Cost::default() }
        }
        // Factors of other lengths: one of them is multiplied out.
        (Some((p, d)), Some(_)) => Cost::new(2 * p * d + p, p * d + p),
    }
}

/// The contributions left apart.
pub(super) fn apart(contributions: &[Contribution<'_>]) -> Costs {
    let mut costs = Costs::default();
    for (k, one) in contributions.iter().enumerate() {
        costs.norm = costs.norm + squared_norm(one);
        for other in &contributions[..k] {
            costs.norm = costs.norm + inner(one, other);
        }
        costs.sum = costs.sum + Cost::work(elements(one));
    }
    costs
}

/// The contributions multiplied out and added up.
pub(super) fn built(contributions: &[Contribution<'_>]) -> Costs {
    let mut norm = Cost::default();
    let mut arrays = 0;
    let n = contributions.first().map_or(0, elements);
    for (k, each) in contributions.iter().enumerate() {
        let products = u64::from(!each.is_direct()) + u64::from(each.scale.is_some());
        // Elementwise steps in a row are one sweep: each contribution is written once, where it is multiplied out.
        arrays += u64::from(!each.is_direct());
        norm = norm + Cost::work(n * (products + u64::from(k > 0)));
    }
    Costs { norm: norm + Cost::new(n, n * arrays), sum: Cost::work(n) }
}
