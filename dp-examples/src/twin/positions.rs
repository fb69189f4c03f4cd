//! Where values lie within their levels, given where other columns' values lie within theirs.
//!
//! Joint marginals are of levels. If values were independent within them, a twin would lose a part of every correlation, the
//! larger the wider its levels are, and regressions on it would be attenuated as by an error in the predictor. So numbers,
//! days and columns of two categories count as what is seen of normal variables, jointly normal in each clique of the model's
//! tree: the model's levels say how these are correlated, and with that where in its level each value is likely to lie.
//! Nothing but the model is used for it. What each column by itself and any columns' levels together are distributed like
//! stays as it was.

use std::collections::BTreeMap;

use nalgebra::{Cholesky, DMatrix, DVector};
use ppl_core::junction::Tree;
use ppl_core::math::{erf, erfinv};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::Result;
use super::model::{Column, Model};
use super::sample::Dice;
use super::schema::Kind;

/// Correlations are at most this, so that no variable is a function of others.
const MOST: f64 = 0.995;
/// Correlations that are less than this are left out. Of a correlation, values that are independent within `k` levels of
/// equal shares lose about a part `1/k²`: here `0.05/16` for four levels, the fewest that a column of numbers is given.
const LEAST: f64 = 0.05;
/// Terms of the series in powers of a correlation: at the largest one, what is left out is `0.995⁵¹²`, less than a tenth of the last
/// terms.
const TERMS: usize = 512;
/// Sweeps over the variables of a row.
const SWEEPS: usize = 6;
/// Rows with random numbers of their own.
const ROWS: usize = 4096;
/// Beyond this a standard normal variable does not come.
const FAR: f64 = 9.0;

/// A column's variable.
struct Latent {
    column: usize,
    /// For each level the ends between which the variable lies.
    ends: Vec<(f64, f64)>,
    /// Given all others it has the mean of so many times each of these, and this deviation.
    others: Vec<(usize, f64)>,
    deviation: f64,
}

/// Variables of the columns that have an order.
pub(super) struct Positions {
    latents: Vec<Latent>,
    columns: usize,
}

/// What is seen of a standard normal variable by its levels.
struct Scores {
    /// For each level its mean there.
    means: Vec<f64>,
    /// `E[f h_k]` for `f` the level's mean and `h_k` the normalised Hermite polynomials, from `k = 1` on.
    series: Vec<f64>,
}

fn density(x: f64) -> f64 {
    if x.is_finite() { (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt() } else { 0.0 }
}

/// The ends of levels with these shares of a standard normal variable, one more than there are levels.
fn ends(shares: &[f64]) -> Vec<f64> {
    let total: f64 = shares.iter().sum();
    let mut below = 0.0;
    let mut found = vec![f64::NEG_INFINITY];
    for share in &shares[..shares.len() - 1] {
        below += share / total;
        found.push(std::f64::consts::SQRT_2 * erfinv((2.0 * below - 1.0).clamp(-1.0, 1.0)));
    }
    found.push(f64::INFINITY);
    found
}

impl Scores {
    fn new(ends: &[f64], shares: &[f64]) -> Self {
        let total: f64 = shares.iter().sum();
        let mean = |(level, share): (usize, &f64)| {
            let (low, high) = (ends[level], ends[level + 1]);
            let share = share / total;
            let mean = (density(low) - density(high)) / share;
            // The limit for a level of no width.
            if share > 1e-12 { mean.clamp(low, high) } else { low.clamp(-FAR, FAR) }
        };
        let means: Vec<f64> = shares.iter().enumerate().map(mean).collect();
        let mut series = vec![0.0; TERMS];
        for (level, step) in means.windows(2).map(|pair| pair[1] - pair[0]).enumerate() {
            let x = ends[level + 1];
            if !x.is_finite() {
                continue;
            }
            // E[h_k above x] = h_{k−1}(x) φ(x)/√k, and √k h_k = x h_{k−1} − √(k−1) h_{k−2}.
            let (mut before, mut own) = (0.0, density(x));
            for (term, place) in series.iter_mut().zip(1_u32..) {
                let k = f64::from(place);
                *term += step * own / k.sqrt();
                (before, own) = (own, (x * own - (k - 1.0).sqrt() * before) / k.sqrt());
            }
        }
        Self { means, series }
    }
}

/// The correlation of two standard normal variables for which the levels' means have this covariance:
/// `E[f g] = Σ_k ρᵏ E[f h_k] E[g h_k]` (Mehler), which increases with `ρ`.
fn correlation(one: &Scores, other: &Scores, covariance: f64) -> f64 {
    let terms: Vec<f64> = one.series.iter().zip(&other.series).map(|(a, b)| a * b).collect();
    let expected = |rho: f64| rho * terms.iter().rev().fold(0.0, |sum, term| sum * rho + term);
    let (mut low, mut high) = (-MOST, MOST);
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if expected(middle) < covariance { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The number of levels of values; missing ones have a level of their own after these, or none.
fn levels_of_values(column: &Column) -> usize {
    let values = &column.levels[..column.levels.len() - 1];
    values.iter().max().map_or(0, |most| most + 1)
}

fn has_order(column: &Column) -> bool {
    let levels = levels_of_values(column);
    let ordered = match column.kind {
        Kind::Categories(_) => levels == 2 && !column.hidden,
        _ => levels > 1,
    };
    // Neighbouring levels of values that lie beside each other, whatever a file says.
    ordered && column.levels[..column.levels.len() - 1].is_sorted()
}

impl Positions {
    /// What a model's levels say.
    ///
    /// # Errors
    /// Those of the tree.
    pub(super) fn new(model: &Model) -> Result<Self> {
        let tree = model.tree()?;
        let none = Self { latents: Vec::new(), columns: model.columns.len() };
        let ordered: Vec<usize> =
            (0..model.columns.len()).filter(|&column| has_order(&model.columns[column])).collect();
        let has_numbers =
            ordered.iter().any(|&column| !matches!(model.columns[column].kind, Kind::Categories(_)));
        if ordered.len() < 2 || !has_numbers {
            return Ok(none);
        }
        let joint = tree.marginals(&model.conditionals)?;
        let mut places = vec![None; model.columns.len()];
        let (mut latents, mut scores) = (Vec::new(), Vec::new());
        for column in ordered {
            let levels = levels_of_values(&model.columns[column]);
            let Some(clique) = tree.host_of(&[column]) else { continue };
            let shares = tree.sum_to(clique, &joint[clique], &[column])?;
            let of_values = &shares[..levels];
            if of_values.iter().sum::<f64>() <= 1e-12 {
                continue;
            }
            let ends = ends(of_values);
            scores.push(Scores::new(&ends, of_values));
            let mut ends: Vec<(f64, f64)> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
            ends.resize(shares.len(), (f64::NEG_INFINITY, f64::INFINITY));
            places[column] = Some(latents.len());
            latents.push(Latent { column, ends, others: Vec::new(), deviation: 1.0 });
        }
        let precision = precision(&tree, &joint, &places, &scores)?;
        for (place, latent) in latents.iter_mut().enumerate() {
            let of = &precision[place];
            let own = of.get(&place).copied().unwrap_or(1.0);
            latent.deviation = own.sqrt().recip();
            let others = of.iter().filter(|(other, element)| **other != place && **element != 0.0);
            latent.others = others.map(|(other, element)| (*other, -element / own)).collect();
        }
        Ok(Self { latents, ..none })
    }

    /// For each column of numbers or days that others say something of, where each row's value lies: larger ones further up
    /// in their level. `levels` has the level of each column in each row.
    ///
    /// Gibbs sampling of the variables between the ends of their levels. The random numbers are this generator's only by
    /// the seeds of stretches of rows, whatever the number of threads.
    pub(super) fn draw<R: Rng>(&self, levels: &[Vec<u32>], dice: &mut Dice<R>) -> Vec<Option<Vec<f32>>> {
        let mut found: Vec<Option<Vec<f32>>> = vec![None; self.columns];
        if self.latents.iter().all(|latent| latent.others.is_empty()) {
            return found;
        }
        let count = levels.first().map_or(0, Vec::len);
        let seeds: Vec<[u8; 32]> = (0..count.div_ceil(ROWS))
            .map(|_| {
                let mut seed = [0; 32];
                dice.0.fill_bytes(&mut seed);
                seed
            })
            .collect();
        let stretch = |(number, seed): (usize, &[u8; 32])| {
            let rows = number * ROWS..((number + 1) * ROWS).min(count);
            let mut dice = Dice(ChaCha8Rng::from_seed(*seed));
            rows.flat_map(|row| self.row(|column| levels[column][row] as usize, &mut dice))
                .collect::<Vec<f32>>()
        };
        let stretches: Vec<Vec<f32>> = seeds.par_iter().enumerate().map(stretch).collect();
        let width = self.latents.len();
        for (place, latent) in self.latents.iter().enumerate().filter(|(_, l)| !l.others.is_empty()) {
            let rows = stretches.iter().flat_map(|rows| rows.iter().skip(place).step_by(width).copied());
            found[latent.column] = Some(rows.collect());
        }
        found
    }

    /// The variables of one row, given its levels.
    fn row<R: Rng>(&self, level: impl Fn(usize) -> usize, dice: &mut Dice<R>) -> Vec<f32> {
        let ends: Vec<(f64, f64)> =
            self.latents.iter().map(|latent| latent.ends[level(latent.column)]).collect();
        let mut values: Vec<f64> = ends.iter().map(|&ends| between(ends, (0.0, 1.0), dice.share())).collect();
        for _ in 0..SWEEPS {
            for (place, latent) in self.latents.iter().enumerate().filter(|(_, l)| !l.others.is_empty()) {
                let mean = latent.others.iter().map(|&(other, weight)| weight * values[other]).sum();
                values[place] = between(ends[place], (mean, latent.deviation), dice.share());
            }
        }
        values.into_iter().map(|value| value as f32).collect()
    }
}

/// A normal variable between two ends, at a share of its distribution there.
fn between((low, high): (f64, f64), (mean, deviation): (f64, f64), share: f64) -> f64 {
    let scale = deviation * std::f64::consts::SQRT_2;
    let (from, to) = (erf((low - mean) / scale), erf((high - mean) / scale));
    let (low, high) = (low.clamp(-FAR, FAR), high.clamp(-FAR, FAR));
    // So far from the mean that the distribution function says next to nothing any more, it is the nearer end.
    if to - from < 1e-12 {
        return mean.clamp(low, high);
    }
    (mean + scale * erfinv(from + share * (to - from))).clamp(low, high)
}

/// The rows of the precision matrix of all variables: each of a clique's own column given those of its parents.
fn precision(
    tree: &Tree,
    joint: &[Vec<f64>],
    places: &[Option<usize>],
    scores: &[Scores],
) -> Result<Vec<BTreeMap<usize, f64>>> {
    let mut precision = vec![BTreeMap::new(); scores.len()];
    let mut known: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (clique, of) in tree.cliques().iter().enumerate() {
        let Some(own) = places[of.variable()] else { continue };
        let columns: Vec<usize> =
            of.parents().iter().copied().filter(|&parent| places[parent].is_some()).collect();
        let mut correlations = DMatrix::identity(columns.len() + 1, columns.len() + 1);
        let all: Vec<usize> = columns.iter().copied().chain([of.variable()]).collect();
        for (i, &one) in all.iter().enumerate() {
            for (j, &other) in all.iter().enumerate().skip(i + 1) {
                let pair = (one.min(other), one.max(other));
                let (Some(first), Some(second)) = (places[pair.0], places[pair.1]) else { continue };
                let found = match known.get(&pair) {
                    Some(&found) => found,
                    None => {
                        let shares = tree.sum_to(clique, &joint[clique], &[pair.0, pair.1])?;
                        let covariance =
                            covariance(&shares, tree.sizes()[pair.1], (&scores[first], &scores[second]));
                        let found = correlation(&scores[first], &scores[second], covariance);
                        let found = if found.abs() < LEAST { 0.0 } else { found };
                        known.insert(pair, found);
                        found
                    }
                };
                correlations[(i, j)] = found;
                correlations[(j, i)] = found;
            }
        }
        let (weights, variance) = regression(correlations);
        // (z − Σ w z′)²/v: the product of this with itself.
        let others = columns
            .iter()
            .zip(weights.iter())
            .filter_map(|(&parent, weight)| Some((places[parent]?, -weight)));
        let row: Vec<(usize, f64)> = others.chain([(own, 1.0)]).collect();
        for &(one, a) in &row {
            for &(other, b) in &row {
                *precision[one].entry(other).or_insert(0.0) += a * b / variance;
            }
        }
    }
    Ok(precision)
}

/// The covariance of the levels' means where both columns have values.
fn covariance(shares: &[f64], width: usize, (one, other): (&Scores, &Scores)) -> f64 {
    let (mut total, mut sums, mut product) = (0.0, (0.0, 0.0), 0.0);
    for (row, a) in shares.chunks(width).zip(&one.means) {
        for (share, b) in row.iter().zip(&other.means) {
            total += share;
            sums.0 += share * a;
            sums.1 += share * b;
            product += share * a * b;
        }
    }
    if total > 1e-12 { (product - sums.0 * sums.1 / total) / total } else { 0.0 }
}

/// The last variable's regression on the others, and the variance that is left: of correlations that are found pair by pair,
/// and so may not go together, pulled towards zero until they do.
fn regression(mut correlations: DMatrix<f64>) -> (DVector<f64>, f64) {
    let n = correlations.nrows() - 1;
    if n == 0 {
        return (DVector::zeros(0), 1.0);
    }
    loop {
        let of_own = correlations.view((0, n), (n, 1)).column(0).into_owned();
        if let Some(factor) = Cholesky::new(correlations.view((0, 0), (n, n)).into_owned()) {
            let weights = factor.solve(&of_own);
            let variance = 1.0 - weights.dot(&of_own);
            if variance >= 1.0 - MOST * MOST {
                return (weights, variance);
            }
        }
        for (i, j) in (0..=n).flat_map(|i| (0..=n).map(move |j| (i, j))).filter(|(i, j)| i != j) {
            correlations[(i, j)] *= 0.98;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;
    use crate::twin::{Data, Schema, Settings, fit};
    use dp_accountant::{Budget, Ledger, Relation};
    use dp_sampler::Seed;

    /// Of two levels each the covariance of the levels' means is `(2/π)² asin ρ` (Sheppard).
    #[test]
    fn correlations_of_halves_are_sheppards() {
        let halves = [0.5, 0.5];
        let scores = Scores::new(&ends(&halves), &halves);
        assert!((scores.means[1] - (2.0 / std::f64::consts::PI).sqrt()).abs() < 1e-12);
        for rho in [-0.9, -0.5, 0.0, 0.1, 0.7, 0.95] {
            let covariance = (2.0 / std::f64::consts::PI).powi(2) * f64::asin(rho);
            let found = correlation(&scores, &scores, covariance);
            assert!((found - rho).abs() < 1e-6, "{rho}: {found}");
        }
    }

    /// Against counts of levels among draws: of 400,000, a covariance of scores has an error of at most 0.0016.
    #[test]
    fn correlations_are_those_that_levels_come_from() {
        let (one, other) = ([0.1, 0.2, 0.3, 0.25, 0.15], [0.02, 0.58, 0.4]);
        let (of_one, of_other) = (ends(&one), ends(&other));
        let scores = (Scores::new(&of_one, &one), Scores::new(&of_other, &other));
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(1));
        let level = |ends: &[f64], x: f64| ends[1..].partition_point(|end| *end <= x);
        for rho in [-0.8_f64, 0.3, 0.95] {
            let mut shares = vec![0.0; 15];
            for _ in 0..400_000 {
                let x = dice.normal();
                let y = rho * x + (1.0 - rho * rho).sqrt() * dice.normal();
                shares[level(&of_one, x) * 3 + level(&of_other, y)] += 1.0 / 400_000.0;
            }
            let found = correlation(&scores.0, &scores.1, covariance(&shares, 3, (&scores.0, &scores.1)));
            assert!((found - rho).abs() < 0.012, "{rho}: {found}");
        }
    }

    /// `E[z | a < z < b] = (φ(a) − φ(b))/(Φ(b) − Φ(a))`, and far from the mean the nearer end.
    #[test]
    fn values_between_ends_have_the_mean_of_what_lies_there() {
        for ((low, high), (mean, deviation)) in
            [((-0.3, 0.9), (0.2, 0.7)), ((1.0, f64::INFINITY), (0.0, 1.0)), ((0.5, 0.6), (-1.0, 0.5))]
        {
            let n = 20_000;
            let found: f64 = (0..n)
                .map(|k| between((low, high), (mean, deviation), (f64::from(k) + 0.5) / f64::from(n)))
                .sum();
            let (a, b) = ((low - mean) / deviation, (high - mean) / deviation);
            let inside = 0.5 * (erf(b / std::f64::consts::SQRT_2) - erf(a / std::f64::consts::SQRT_2));
            let expected = mean + deviation * (density(a) - density(b)) / inside;
            assert!((found / f64::from(n) - expected).abs() < 1e-4, "{low} {high}: {found} for {expected}");
        }
        assert_eq!(between((3.0, 4.0), (-50.0, 1.0), 0.7), 3.0);
        assert_eq!(between((f64::NEG_INFINITY, f64::INFINITY), (100.0, 1.0), 0.5), FAR);
    }

    /// Correlations that no variables can have together are made smaller until they can.
    #[test]
    fn correlations_that_do_not_go_together_are_pulled_to_zero() {
        let impossible = DMatrix::from_row_slice(3, 3, &[1.0, 0.9, 0.9, 0.9, 1.0, -0.9, 0.9, -0.9, 1.0]);
        let (weights, variance) = regression(impossible);
        assert!(variance > 0.009 && variance < 1.0 && weights.iter().all(|weight| weight.is_finite()));
        let (weights, variance) = regression(DMatrix::from_row_slice(2, 2, &[1.0, 0.6, 0.6, 1.0]));
        assert!((weights[0] - 0.6).abs() < 1e-12 && (variance - 0.64).abs() < 1e-12);
    }

    /// Of 3,000 records with correlation .9 a twin at ε = 1, of 9 levels each, has .87 and .88; with values that were independent
    /// within levels it had .82 and .83.
    #[test]
    fn correlations_outlive_levels() {
        let folder = TestFolder::new();
        let path = folder.0.join("t.csv");
        let mut dice = Dice(ChaCha8Rng::seed_from_u64(3));
        let mut text = "x,y\n".to_owned();
        for _ in 0..3000 {
            let x = dice.normal();
            let y = 0.9 * x + 0.19_f64.sqrt() * dice.normal();
            text += &format!("{x:.4},{y:.4}\n");
        }
        std::fs::write(&path, text).unwrap();
        let schema = Schema::parse("s.toml", b"x = [-5.0, 5.0]\ny = [-5.0, 5.0]").unwrap();
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
        let settings = Settings { budget, target: None, together: Vec::new() };
        let mut ledger = Ledger::new(budget).unwrap();
        let data = Data::read(&path, schema).unwrap();
        let model = fit(data, &settings, &mut ledger, Seed::for_tests(1)).unwrap().model;
        let levels: Vec<usize> = model.columns().iter().map(Column::level_count).collect();
        for drawn in [true, false] {
            let generator = ChaCha8Rng::seed_from_u64(2);
            let rows = if drawn {
                model.sample(6000, generator)
            } else {
                model.sample_independently(6000, generator)
            };
            let rows = rows.unwrap();
            let of = |column: usize| -> DVector<f64> {
                let grid = model.columns()[column].grid();
                let value = |&(piece, share): &(u32, f32)| {
                    let (first, last, _) = model.columns()[column].pieces[piece as usize];
                    grid.number((first, last), share.into())
                };
                let values = DVector::from_iterator(rows.count, rows.columns[column].iter().map(value));
                let mean = values.mean();
                values.add_scalar(-mean)
            };
            let (x, y) = (of(0), of(1));
            let found = x.dot(&y) / (x.norm() * y.norm());
            assert!((found - 0.9).abs() < 0.04, "{found} of {levels:?} levels");
            let deviation = x.norm() / (rows.count as f64).sqrt();
            assert!((deviation - 1.0).abs() < 0.08, "{deviation}");
        }
    }
}
