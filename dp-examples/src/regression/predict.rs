//! Predictions for new records, with intervals, from draws of a posterior.

use rayon::prelude::*;

use super::family::Family;
use super::outcome::Outcome;
use super::posterior::{Draws, quantile};
use super::replicas::Replicas;
use super::specification::Specification;
use crate::formula::matrix::{ColumnOf, Design};
use crate::{Error, Result};

/// What is predicted for one record.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The mean of the outcome at the posterior's [point](Draws::point): of yes or no its probability, of ordered
    /// categories the mean place from 0.
    pub mean: f64,
    /// The lower end of the interval of that mean that holds 90 % of the posterior.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// Of numbers and counts, the ends of the interval that holds 90 % of the outcomes that the posterior expects.
    pub outcome: Option<(f64, f64)>,
    /// Of ordered categories, the probability of each, there too.
    pub probabilities: Vec<f64>,
}

/// Whether a column is the one that a model was fitted to: a formula, bounds or categories that were altered since make
/// another of it. What a file keeps of a number may be off in its last digit.
fn is_same(one: &ColumnOf, other: &ColumnOf) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
    (&one.name, &one.term, one.indicator) == (&other.name, &other.term, other.indicator)
        && close(one.low, other.low)
        && close(one.high, other.high)
}

/// Checks that a design is of the formula, the bounds and the categories that a model was fitted with, and finds the
/// place of each coefficient's column by its name.
fn check(specification: &Specification, draws: &Draws, design: &Design) -> Result<Vec<usize>> {
    let family = specification.family;
    let other = |what: &str| Error::Formula {
        reason: format!(
            "the model was fitted with another {what}: its formula or its schema has been changed since"
        ),
    };
    for column in &specification.columns {
        if !design.matrix.columns.iter().any(|found| is_same(found, &column.of)) {
            return Err(other(&format!("column '{}'", column.of.name)));
        }
    }
    for (group, found) in specification.groups.iter().zip(&design.groups) {
        let same = group.columns.len() == found.matrix.columns.len()
            && group.columns.iter().zip(&found.matrix.columns).all(|(one, other)| is_same(&one.of, other));
        if !same || group.column != found.column || group.levels != found.levels {
            return Err(other(&format!("group '{}'", group.column)));
        }
    }
    let place = |name: &String| {
        design.matrix.columns.iter().position(|column| column.name == *name).ok_or_else(|| Error::Formula {
            reason: format!("the model has a coefficient of '{name}', and the records have no such column"),
        })
    };
    let places = draws.names.iter().map(place).collect::<Result<Vec<_>>>()?;
    let found = design.matrix.columns.len() - usize::from(family == Family::Ordinal);
    if places.len() != found || draws.groups.len() != design.groups.len() {
        return Err(Error::Length { what: "columns of the design matrix", found, expected: places.len() });
    }
    Ok(places)
}

/// The linear predictor of one record at every draw, for columns of draws of a coefficient and their places.
fn predictors(draws: &Draws, design: &Design, columns: &[(usize, Vec<f64>)], row: usize) -> Vec<f64> {
    let x = design.matrix.values.row(row);
    let offset = design.offset.as_ref().map_or(0.0, |offset| offset[row]);
    // One coefficient after the other at all draws: sums at one draw would wait for each other.
    let mut found = vec![-0.0; draws.coefficients.len()];
    for (place, column) in columns {
        let x = x[*place];
        found.iter_mut().zip(column).for_each(|(eta, b)| *eta += b * x);
    }
    found.iter_mut().for_each(|eta| *eta += offset);
    for (group, drawn) in design.groups.iter().zip(&draws.groups) {
        let (z, level) = (group.matrix.values.row(row), group.codes[row] as usize);
        let among = drawn.names.len();
        for (eta, coefficients) in found.iter_mut().zip(&drawn.draws) {
            let of_group = coefficients.get(level * among..(level + 1) * among).unwrap_or(&[]);
            *eta += of_group.iter().zip(&z).map(|(b, z)| b * z).sum::<f64>();
        }
    }
    found
}

fn sigmoid(z: f64) -> f64 {
    let decay = (-z.abs()).exp();
    if z >= 0.0 { 1.0 / (1.0 + decay) } else { decay / (1.0 + decay) }
}

/// Predictions for the records of a design.
///
/// What is predicted is predicted at one point, and intervals are of the posterior's draws. Where the noise leaves
/// much open, an average over the posterior is an average over what the prior allows: of a rare outcome it says one
/// half, and of counts the largest there can be. Losses of predictions over a constant's are, in geometric mean over
/// 25 real tables, .86 at the point and .96 for averages over the posterior at ε = .3, and .83 and .86 at 1.
///
/// Means are within the public bounds of the outcome at every draw, because outcomes are.
///
/// # Errors
///
/// [`Error::Formula`] where the design has not the columns of the model, or the outcome's bounds are not in order.
pub fn predict(specification: &Specification, draws: &Draws, design: &Design) -> Result<Vec<Prediction>> {
    let means = Means::new(specification, draws, design)?;
    let point = draws.at_point();
    let point = Means::new(specification, &point, design)?;
    let replicas = Replicas::new(specification.family, draws, &specification.outcome);
    let rows = design.matrix.values.nrows();
    Ok((0..rows)
        .into_par_iter()
        .map(|row| {
            let (mut means, _) = means.of(row);
            let (at_point, probabilities) = point.of(row);
            let mean = at_point.iter().sum::<f64>() / at_point.len() as f64;
            let ends = |numbers: &mut Vec<f64>| {
                numbers.sort_by(f64::total_cmp);
                (quantile(numbers, 0.05), quantile(numbers, 0.95))
            };
            let outcome = replicas.as_ref().map(|replicas| {
                let mut outcomes = means.clone();
                replicas.of(&mut outcomes);
                ends(&mut outcomes)
            });
            let (low, high) = ends(&mut means);
            Prediction { mean, low, high, outcome, probabilities }
        })
        .collect())
}

/// Means of outcomes at every draw.
pub(super) struct Means<'a> {
    specification: &'a Specification,
    draws: &'a Draws,
    design: &'a Design,
    /// The place of each coefficient's column, and its draws.
    columns: Vec<(usize, Vec<f64>)>,
    cuts: Vec<&'a [f64]>,
    zeros: Option<&'a [f64]>,
}

impl<'a> Means<'a> {
    pub(super) fn new(
        specification: &'a Specification,
        draws: &'a Draws,
        design: &'a Design,
    ) -> Result<Self> {
        specification.outcome.check_bounds().map_err(|reason| Error::Formula { reason })?;
        let places = check(specification, draws, design)?;
        let cuts = (1..).map_while(|cut| draws.other(&format!("cut[{cut}]"))).collect();
        let of =
            |j: usize| draws.coefficients.iter().map(|drawn| drawn.get(j).copied().unwrap_or(0.0)).collect();
        let columns = places.into_iter().enumerate().map(|(j, place)| (place, of(j))).collect();
        Ok(Self { specification, draws, design, columns, cuts, zeros: draws.other("zeros") })
    }

    /// The mean of one record's outcome at every draw; of ordered categories, the probability of each on average.
    pub(super) fn of(&self, row: usize) -> (Vec<f64>, Vec<f64>) {
        let Self { specification, draws, design, columns, cuts, zeros } = self;
        let mut means = predictors(draws, design, columns, row);
        let mut probabilities = Vec::new();
        match specification.family {
            Family::Gaussian | Family::Student => {}
            Family::Bernoulli => means.iter_mut().for_each(|eta| *eta = sigmoid(*eta)),
            Family::Poisson | Family::NegativeBinomial => means.iter_mut().for_each(|eta| *eta = eta.exp()),
            Family::ZeroInflatedPoisson => {
                let share = |draw: usize| 1.0 - zeros.map_or(0.0, |zeros| zeros[draw]);
                means.iter_mut().enumerate().for_each(|(draw, eta)| *eta = share(draw) * eta.exp());
            }
            Family::Ordinal => {
                probabilities = vec![0.0; cuts.len() + 1];
                let n = means.len() as f64;
                for (draw, eta) in means.iter_mut().enumerate() {
                    let (mut below, mut mean) = (0.0, 0.0);
                    for (k, probability) in probabilities.iter_mut().enumerate() {
                        let upto = cuts.get(k).map_or(1.0, |cut| sigmoid(cut[draw] - *eta));
                        *probability += (upto - below) / n;
                        mean += k as f64 * (upto - below);
                        below = upto;
                    }
                    *eta = mean;
                }
            }
        }
        let Outcome { low, high, .. } = specification.outcome;
        means.iter_mut().for_each(|mean| *mean = mean.clamp(low, high));
        (means, probabilities)
    }
}
