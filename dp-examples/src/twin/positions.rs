//! Where values lie within their levels, given where other columns' values lie within theirs.
//!
//! Joint marginals are of levels. If values were independent within them, a twin would lose a part of every
//! correlation, the larger the wider its levels are, and regressions on it would be attenuated as by an error in the
//! predictor. So numbers, days and columns of two categories count as what is seen of normal variables, jointly normal
//! in each clique of the model's tree: the model's levels say how these are correlated, and with that where in its
//! level each number or day is likely to lie. Columns of three categories or more, and latent classes, have no order
//! and say nothing of it. Nothing but the model is used for it. What each column by itself and any columns' levels
//! together are distributed like stays as it was.

use std::collections::BTreeMap;

use nalgebra::{Cholesky, DMatrix, DVector};
use ppl_core::junction::Tree;
use ppl_core::math::{erf, erfinv};
use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};
use rayon::prelude::*;

use super::Result;
use super::fitting::Counted;
use super::model::Model;
use super::normal::{FAR, MOST, Scores, correlation, covariance, ends};
use super::sample::Dice;

/// Correlations that are less than this are left out, which saves time: they would add less than a hundredth to a
/// correlation.
const LEAST: f64 = 0.01;
/// Sweeps over the variables of a row.
const SWEEPS: usize = 6;
/// Rows with random numbers of their own.
const ROWS: usize = 4096;

/// A column's variable.
struct Latent {
    column: usize,
    /// Whether its values have places within their levels, which categories have not.
    is_number: bool,
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

impl Positions {
    /// What a model's levels say.
    ///
    /// # Errors
    /// Those of the tree.
    pub(super) fn new(model: &Model) -> Result<Self> {
        let tree = model.tree()?;
        let none = Self { latents: Vec::new(), columns: model.columns.len() };
        let ordered: Vec<usize> =
            (0..model.columns.len()).filter(|&column| model.columns[column].has_order()).collect();
        let has_numbers = ordered.iter().any(|&column| model.columns[column].is_number());
        if ordered.len() < 2 || !has_numbers {
            return Ok(none);
        }
        let joint = tree.marginals(&model.conditionals)?;
        let mut places = vec![None; model.columns.len()];
        let (mut latents, mut scores) = (Vec::new(), Vec::new());
        for column in ordered {
            let levels = model.columns[column].levels_of_values();
            let Some(clique) = tree.host_of(&[column]) else { continue };
            let shares = tree.sum_to(clique, &joint[clique], &[column])?;
            let of_values = &shares[..levels];
            // Where rows were asked for that have some values only, one level may be left.
            if of_values.iter().filter(|share| **share > 1e-12).count() < 2 {
                continue;
            }
            let ends = ends(of_values);
            scores.push(Scores::new(&ends, of_values));
            let mut ends: Vec<(f64, f64)> = ends.windows(2).map(|pair| (pair[0], pair[1])).collect();
            ends.resize(shares.len(), (f64::NEG_INFINITY, f64::INFINITY));
            places[column] = Some(latents.len());
            let is_number = model.columns[column].is_number();
            latents.push(Latent { column, is_number, ends, others: Vec::new(), deviation: 1.0 });
        }
        let precision = precision(&tree, &joint, &places, &scores, model)?;
        let depends: Vec<bool> = precision.iter().map(|of| of.len() > 1).collect();
        // Those that depend on none are left out, and the others are counted anew.
        let place_of = |place: usize| depends[..place].iter().filter(|depends| **depends).count();
        let coupled = latents.into_iter().zip(&precision).enumerate().filter(|(place, _)| depends[*place]);
        let coupled = coupled.map(|(place, (latent, of))| {
            let own = of.get(&place).copied().unwrap_or(1.0);
            let others = of.iter().filter(|(other, _)| **other != place);
            let others = others.map(|(&other, element)| (place_of(other), -element / own)).collect();
            Latent { others, deviation: own.sqrt().recip(), ..latent }
        });
        Ok(Self { latents: coupled.collect(), ..none })
    }

    /// For each column of numbers or days that others say something of, how much of its level's records lie below each
    /// row's value: a share from 0 to 1. `levels` has the level of each column in each row.
    ///
    /// Gibbs sampling of the variables between the ends of their levels. The random numbers are this generator's only
    /// by the seeds of stretches of rows, whatever the number of threads.
    pub(super) fn draw<R: Rng>(&self, levels: &[Vec<u32>], dice: &mut Dice<R>) -> Vec<Option<Vec<f32>>> {
        let mut found: Vec<Option<Vec<f32>>> = vec![None; self.columns];
        if self.latents.is_empty() {
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
        for (place, latent) in self.latents.iter().enumerate().filter(|(_, latent)| latent.is_number) {
            let rows = stretches.iter().flat_map(|rows| rows.iter().skip(place).step_by(width).copied());
            found[latent.column] = Some(rows.collect());
        }
        found
    }

    /// The shares of one row's variables, given its levels.
    fn row<R: Rng>(&self, level: impl Fn(usize) -> usize, dice: &mut Dice<R>) -> Vec<f32> {
        let ends: Vec<(f64, f64)> =
            self.latents.iter().map(|latent| latent.ends[level(latent.column)]).collect();
        let mut values: Vec<f64> = ends.iter().map(|&ends| between(ends, (0.0, 1.0), dice.share())).collect();
        for _ in 0..SWEEPS {
            for (place, latent) in self.latents.iter().enumerate() {
                let mean = latent.others.iter().map(|&(other, weight)| weight * values[other]).sum();
                values[place] = between(ends[place], (mean, latent.deviation), dice.share());
            }
        }
        let share = |(value, (low, high)): (f64, (f64, f64))| {
            let below = |x: f64| erf(x / std::f64::consts::SQRT_2);
            let (from, to) = (below(low), below(high));
            // A level without a width says nothing.
            if to - from > 1e-12 { (below(value) - from) / (to - from) } else { dice.share() }
        };
        values.into_iter().zip(ends).map(share).map(|share| share.clamp(0.0, 1.0) as f32).collect()
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
    model: &Model,
) -> Result<Vec<BTreeMap<usize, f64>>> {
    let mut precision = vec![BTreeMap::new(); scores.len()];
    let mut known: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (clique, of) in tree.cliques().iter().enumerate() {
        let Some(own) = places[of.variable()] else { continue };
        let columns: Vec<usize> =
            of.parents().iter().copied().filter(|&parent| places[parent].is_some()).collect();
        // Those of the parents are in an earlier clique, as they ended up there.
        let mut of_parents = DMatrix::identity(columns.len(), columns.len());
        let mut of_own = DVector::zeros(columns.len());
        for (i, &one) in columns.iter().enumerate() {
            for (j, &other) in columns.iter().enumerate().filter(|(j, _)| *j != i) {
                of_parents[(i, j)] = known.get(&(one.min(other), one.max(other))).copied().unwrap_or(0.0);
            }
            let pair = (one.min(of.variable()), one.max(of.variable()));
            if let (Some(first), Some(second)) = (places[pair.0], places[pair.1]) {
                let shares = tree.sum_to(clique, &joint[clique], &[pair.0, pair.1])?;
                let scores = (&scores[first], &scores[second]);
                let covariance = covariance(&shares, tree.sizes()[pair.1], scores);
                let found = correlation(scores.0, scores.1, covariance);
                let found = found * beyond_noise(found, of_noise(model, pair, scores));
                of_own[i] = if found.abs() < LEAST { 0.0 } else { found };
            }
        }
        let (weights, variance) = regression(&of_parents, &mut of_own);
        for (&parent, &found) in columns.iter().zip(of_own.iter()) {
            known.insert((parent.min(of.variable()), parent.max(of.variable())), found);
        }
        // (z − Σ w z′)²/v: the product of this with itself.
        let others = columns
            .iter()
            .zip(weights.iter())
            .filter(|(_, weight)| **weight != 0.0)
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

/// The standard deviation of the noise in a correlation: of the levels' means' covariance, over how fast that grows
/// with the correlation. Zero where no marginal holds both columns, so that what was measured of others says it.
fn of_noise(model: &Model, pair: (usize, usize), (one, other): (&Scores, &Scores)) -> f64 {
    let cells = model.columns[pair.0].level_count() * model.columns[pair.1].level_count();
    let holds = |table: &&Counted| [pair.0, pair.1].iter().all(|column| table.columns.contains(column));
    // Of a marginal of more columns, each cell of these two is a sum.
    let variance = |table: &Counted| {
        let largest = table.variances.iter().copied().fold(0.0, f64::max);
        largest * (table.counts.len() / cells.max(1)) as f64
    };
    let least = model.tables.iter().filter(holds).map(variance).fold(f64::INFINITY, f64::min);
    let squares = |scores: &Scores| scores.means.iter().map(|mean| mean * mean).sum::<f64>();
    let slope = (one.series[0] * other.series[0]).abs().max(1e-12);
    if least.is_finite() {
        (least * squares(one) * squares(other)).sqrt() / model.records.max(1.0) / slope
    } else {
        0.0
    }
}

/// `max(0, 1 − σ²/ρ²)`: of a correlation that the noise may have made, nothing (James and Stein's rule for one number).
fn beyond_noise(found: f64, deviation: f64) -> f64 {
    (1.0 - (deviation / found).powi(2)).max(0.0)
}

/// A variable's regression on others, and the variance that is left. Its correlations are found one by one, and so may
/// not go together with those of the others: they are pulled towards zero until they do.
fn regression(of_others: &DMatrix<f64>, of_own: &mut DVector<f64>) -> (DVector<f64>, f64) {
    let Some(factor) = Cholesky::new(of_others.clone()).filter(|_| !of_own.is_empty()) else {
        of_own.fill(0.0);
        return (DVector::zeros(of_own.len()), 1.0);
    };
    loop {
        let weights = factor.solve(&*of_own);
        let variance = 1.0 - weights.dot(of_own);
        if variance >= 1.0 - MOST * MOST {
            return (weights, variance);
        }
        *of_own *= 0.98;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;
    use crate::twin::model::Column;
    use crate::twin::normal::density;
    use crate::twin::sample::Rows;
    use crate::twin::{Data, Schema, Settings, fit};
    use dp_accountant::{Budget, Ledger, Relation};
    use dp_sampler::Seed;

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
        let others = DMatrix::from_row_slice(2, 2, &[1.0, 0.9, 0.9, 1.0]);
        let mut own = DVector::from_row_slice(&[0.9, -0.9]);
        let (weights, variance) = regression(&others, &mut own);
        assert!(variance > 0.009 && (1.0 - own.dot(&weights) - variance).abs() < 1e-12);
        assert!(own[0] > 0.1 && own[0] < 0.9 && (own[0] + own[1]).abs() < 1e-12, "{own}");
        let (weights, variance) = regression(&DMatrix::identity(1, 1), &mut DVector::from_row_slice(&[0.6]));
        assert!((weights[0] - 0.6).abs() < 1e-12 && (variance - 0.64).abs() < 1e-12);
    }

    /// A variable of which one level is left says nothing of others, and noise says nothing either.
    #[test]
    fn nothing_is_correlated_with_what_does_not_vary() {
        let one = [0.0, 1.0, 0.0];
        let (constant, halves) =
            (Scores::new(&ends(&one), &one), Scores::new(&ends(&[0.5, 0.5]), &[0.5, 0.5]));
        assert_eq!(correlation(&constant, &halves, 0.0), 0.0);
        assert_eq!((beyond_noise(0.1, 0.2), beyond_noise(0.0, 0.0).max(0.0)), (0.0, 0.0));
        assert!((beyond_noise(0.4, 0.2) - 0.75).abs() < 1e-12);
    }

    /// A twin of 3,000 records with correlation .9, at ε = 1.
    fn correlated() -> Model {
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
        fit(data, &settings, &mut ledger, Seed::for_tests(1)).unwrap().model
    }

    /// Rows that are spread evenly, or independent draws.
    fn sampled(model: &Model, rows: u64, evenly: bool, seed: u64) -> Rows {
        let generator = ChaCha8Rng::seed_from_u64(seed);
        let rows =
            if evenly { model.sample(rows, generator) } else { model.sample_independently(rows, generator) };
        rows.unwrap()
    }

    /// The numbers of a column.
    fn numbers(model: &Model, rows: &Rows, column: usize) -> DVector<f64> {
        let grid = model.columns()[column].grid();
        let value = |&(piece, share): &(u32, f32)| {
            let (first, last, _) = model.columns()[column].pieces[piece as usize];
            grid.number((first, last), share.into())
        };
        DVector::from_iterator(rows.count, rows.columns[column].iter().map(value))
    }

    /// A twin of 9 levels each has correlations of .87 and .88; with values that were independent within levels it had
    /// .82 and .83.
    #[test]
    fn correlations_outlive_levels() {
        let model = correlated();
        let levels: Vec<usize> = model.columns().iter().map(Column::level_count).collect();
        for evenly in [true, false] {
            let rows = sampled(&model, 6000, evenly, 2);
            let of = |column: usize| {
                let values = numbers(&model, &rows, column);
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

    /// The mean of `y` where `x` has these values, in rows that were asked for and in 60,000 of the twin of which
    /// nothing was.
    #[test]
    fn a_part_of_a_level_goes_with_what_it_goes_with_in_the_twin() {
        let model = correlated();
        let all = model.sample_independently(60_000, ChaCha8Rng::seed_from_u64(3)).unwrap();
        let (x, y) = (numbers(&model, &all, 0), numbers(&model, &all, 1));
        for (low, high) in [(1.9, 4.0), (-1.3, -1.15), (0.2, 0.3)] {
            let of_twin: Vec<f64> =
                x.iter().zip(&y).filter(|(x, _)| (low..=high).contains(*x)).map(|(_, y)| *y).collect();
            let expected = of_twin.iter().sum::<f64>() / of_twin.len() as f64;
            let given = model.given("x", &format!("{low}..{high}")).unwrap();
            for evenly in [true, false] {
                let rows = sampled(&given, 2000, evenly, 4);
                assert_eq!(rows.count, 2000);
                assert!(numbers(&given, &rows, 0).iter().all(|x| (low..=high).contains(x)));
                let found = numbers(&given, &rows, 1).mean();
                // Of 2,000 rows and of those of the twin, five deviations of the difference of two means.
                let squares = of_twin.iter().map(|y| (y - expected).powi(2)).sum::<f64>();
                let n = of_twin.len() as f64;
                let error = (squares / n * (1.0 / n + 1.0 / 2000.0)).sqrt();
                assert!((found - expected).abs() < 5.0 * error, "{low}..{high}: {found} for {expected}");
            }
        }
        // A part that would take too many rows has what its level has.
        let rare = model.given("x", "4.99..5").unwrap();
        assert_eq!(rare.sample(90_000, ChaCha8Rng::seed_from_u64(5)).unwrap().count, 90_000);
    }
}
