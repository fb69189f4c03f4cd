//! Coefficients by group in the place of columns, and back.
//!
//! Given their spreads the coefficients of groups are coefficients like others, of the columns of their design that
//! are 0 for the records of other groups. A fit releases gradients and a curvature of all of them together, with a
//! prior of the spreads' own scale, and what was released is a normal message about them:
//!
//! ```text
//! q(v) ∝ N(v; 0, I) exp(hᵀv − vᵀΛv/2),     Λ = C⁻¹ − I,  h = C⁻¹ m          v: coefficients in units of that prior
//! ```
//!
//! with the mean `m` and the covariance `C` of its draws. What spreads the message leaves possible needs no release:
//! a sampler draws each from its distribution given the others with all coefficients integrated out,
//!
//! ```text
//! p(s | rest) ∝ s^−L exp(−s²/2) Π_i (λ_i + s⁻²)^−½ exp(½ g_i²/(λ_i + s⁻²))
//! ```
//!
//! where `λ` and `g` are the eigenvalues and the linear part of what is left of the message about the `L`
//! coefficients, and then the coefficients given the spreads.

use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use nalgebra::{Cholesky, DMatrix, DVector};
use ndarray::{Array1, Array2, Array3, Axis, s};
use ppl_core::{Records, Values};
use ppl_distributions::Normal;

use super::nuisance::cumulated;
use super::specification::{ScaledColumn, Specification};

/// Times that all spreads are drawn, and how many of the first are not used.
const SWEEPS: usize = 200;
const WARM_UP: usize = 20;

/// The spreads that are drawn, in units of their prior's scale, and how many points of a grid there are.
const SPREADS: (f64, f64, usize) = (0.005, 5.0, 200);

/// Most coefficients in all. With 43 on 4,000 and 20,000 made-up records the posterior of groups was right at ε = 1;
/// with 103 the covariance was too wide, and the spread that follows from it too small.
const MOST: usize = 48;

/// The regression without groups whose columns are those of a regression with groups and of its groups; `None` where
/// there are none, or too many coefficients.
pub(super) fn flattened(
    specification: &Specification,
    records: &Records,
) -> ppl_core::Result<Option<(Specification, Records)>> {
    let most = specification.columns.len() + specification.grouped();
    if specification.groups.is_empty() || most > MOST {
        return Ok(None);
    }
    let column = |name: &str| -> ppl_core::Result<Vec<f64>> {
        Ok(records.column(records.schema().find(name)?.0).numbers().collect())
    };
    let mut flat = specification.clone();
    let mut values = Array2::zeros((records.len(), most));
    let mut at = specification.columns.len();
    if at > 0 {
        let shared = Array2::from_shape_vec((records.len(), at), column("x")?);
        values
            .slice_mut(s![.., ..at])
            .assign(&shared.map_err(|error| ppl_core::Error::Values(error.to_string()))?);
    }
    for (k, group) in specification.groups.iter().enumerate() {
        let (codes, own) = (column(&format!("g{k}"))?, column(&format!("z{k}"))?);
        let (levels, among) = (group.levels.len(), group.columns.len());
        for (i, code) in codes.iter().enumerate() {
            let place = at + *code as usize * among;
            for (j, value) in own[i * among..][..among].iter().enumerate() {
                values[(i, place + j)] = *value;
            }
        }
        for level in &group.levels {
            for column in &group.columns {
                let mut of = column.of.clone();
                of.term = format!("({} | {})", of.name, group.column);
                of.indicator |= of.name == "Intercept";
                of.name = format!("{}[{level}]", of.name);
                // A column is 0 for the records of other groups; this says how large its squares are.
                let end = |end: f64| column.centre + (end - column.centre) / (levels as f64).sqrt();
                (of.low, of.high) = (end(of.low), end(of.high));
                let prior = (0.0, group.spread);
                flat.columns.push(ScaledColumn { of, prior, centre: column.centre, width: column.width });
            }
        }
        at += levels * among;
    }
    flat.groups.clear();
    let (y, offset) = (column("y")?, flat.offset.then(|| column("offset")).transpose()?);
    let mut found = Records::from_columns([("y", Array1::from(y))])?.with_column("x", values)?;
    if let Some(offset) = offset {
        found = found.with_column("offset", offset)?;
    }
    Ok(Some((flat, found)))
}

/// The draws of a regression with groups, from those of its flattened one.
pub(super) fn regrouped(
    draws: &mut Values,
    specification: &Specification,
    flat: &Specification,
    seed: &Seed,
) {
    let Some(found) = draws.remove("b") else { return };
    let (count, most) = (found.len_of(Axis(0)), flat.columns.len());
    let in_units: Vec<f64> = found
        .axis_iter(Axis(0))
        .flat_map(|row| {
            let units = row
                .iter()
                .zip(&flat.columns)
                .map(|(value, column)| (value - column.prior.0) / column.prior.1);
            units.collect::<Vec<f64>>()
        })
        .collect();
    let message = Message::of(&DMatrix::from_row_slice(count, most, &in_units));
    let mut blocks = Vec::new();
    let mut at = specification.columns.len();
    for group in &specification.groups {
        let among = group.columns.len();
        blocks.extend(
            (0..among).map(|j| (0..group.levels.len()).map(|l| at + l * among + j).collect::<Vec<_>>()),
        );
        at += group.levels.len() * among;
    }
    let (spreads, values) = message.draws(&blocks, count, seed);
    let scaled = |draw: usize, j: usize| {
        let (mean, scale) = flat.columns[j].prior;
        mean + scale * values[(draw, j)]
    };
    let shared = specification.columns.len();
    if shared > 0 {
        draws
            .insert("b".to_owned(), Array2::from_shape_fn((count, shared), |(i, j)| scaled(i, j)).into_dyn());
    }
    let (mut at, mut block) = (shared, 0);
    for (k, group) in specification.groups.iter().enumerate() {
        let (levels, among) = (group.levels.len(), group.columns.len());
        let sd = Array2::from_shape_fn((count, among), |(i, j)| group.spread * spreads[(i, block + j)]);
        let u = Array3::from_shape_fn((count, levels, among), |(i, l, j)| scaled(i, at + l * among + j));
        draws.insert(format!("sd{k}"), sd.into_dyn());
        draws.insert(format!("u{k}"), u.into_dyn());
        at += levels * among;
        block += among;
    }
}

/// What a fit says about coefficients in units of their priors, beside these.
struct Message {
    precision: DMatrix<f64>,
    linear: DVector<f64>,
}

impl Message {
    /// That of draws: rows of coefficients.
    fn of(draws: &DMatrix<f64>) -> Self {
        let (count, most) = draws.shape();
        let mean = DVector::from_fn(most, |j, _| draws.column(j).mean());
        let away = DMatrix::from_fn(count, most, |i, j| draws[(i, j)] - mean[j]);
        let covariance = away.transpose() * &away / (count as f64).max(1.0);
        let found = covariance.symmetric_eigen();
        let along = found.eigenvectors.transpose() * mean;
        // Where the covariance is not less than that of the prior, nothing was said.
        let told: Vec<f64> =
            found.eigenvalues.iter().map(|variance| (1.0 / variance.max(1e-300) - 1.0).max(0.0)).collect();
        let linear = DVector::from_fn(most, |k, _| {
            if told[k] > 0.0 { along[k] / found.eigenvalues[k].max(1e-300) } else { 0.0 }
        });
        let precision = DMatrix::from_diagonal(&DVector::from_vec(told));
        let directions = &found.eigenvectors;
        Self { precision: directions * precision * directions.transpose(), linear: directions * linear }
    }

    /// Draws of the spread of each block in units of its prior's scale, and of all coefficients; those that are in no
    /// block have a standard normal prior.
    fn draws(&self, blocks: &[Vec<usize>], count: usize, seed: &Seed) -> (DMatrix<f64>, DMatrix<f64>) {
        let most = self.linear.len();
        let (low, high, points) = SPREADS;
        let grid: Vec<f64> =
            (0..points).map(|k| low * (high / low).powf(k as f64 / (points - 1) as f64)).collect();
        let noise = GaussianNoise::with_purpose(seed, Purpose::Custom("groups"));
        let standard = Normal::new(0.0, 1.0);
        let (mut spreads, mut values) = (DMatrix::zeros(count, blocks.len()), DMatrix::zeros(count, most));
        let mut now = vec![1.0; blocks.len()];
        let each = count.div_ceil(SWEEPS);
        let (mut draw, mut next) = (0, 0);
        for sweep in 0..WARM_UP + SWEEPS {
            let mut chances = vec![0.0; blocks.len()];
            noise.fill(sweep as u64, &mut chances);
            for (k, block) in blocks.iter().enumerate() {
                let prior = self.priors(blocks, &now, Some(k));
                let Some((eigenvalues, linear)) = self.about(block, &prior) else { continue };
                let log = |spread: &f64| {
                    let precision = spread.powi(-2);
                    let one = |(value, g): (&f64, &f64)| {
                        -0.5 * (value + precision).ln() + 0.5 * g * g / (value + precision)
                    };
                    let of_message: f64 = eigenvalues.iter().zip(linear.iter()).map(one).sum();
                    // Points are as dense as 1/s.
                    of_message + (1.0 - block.len() as f64) * spread.ln() - 0.5 * spread * spread
                };
                let logs: Vec<f64> = grid.iter().map(log).collect();
                let below = cumulated(&logs);
                let sum = below[points - 1];
                let chance: f64 = standard.cdf(chances[k]);
                now[k] = grid[below.partition_point(|part| *part < chance * sum).min(points - 1)];
            }
            if sweep < WARM_UP {
                continue;
            }
            let prior = self.priors(blocks, &now, None);
            let Some(factor) = Cholesky::new(&self.precision + DMatrix::from_diagonal(&prior)) else {
                continue;
            };
            let mean = factor.solve(&self.linear);
            for _ in 0..each.min(count - draw) {
                let mut z = vec![0.0; most];
                noise.fill((1_u64 << 32) + next, &mut z);
                next += 1;
                let mut away = DVector::from_vec(z);
                factor.l_dirty().tr_solve_lower_triangular_mut(&mut away);
                values.row_mut(draw).copy_from(&(&mean + away).transpose());
                spreads.row_mut(draw).iter_mut().zip(&now).for_each(|(to, from)| *to = *from);
                draw += 1;
            }
        }
        (spreads, values)
    }

    /// The precisions of the coefficients' priors for these spreads; that of a block may be left out.
    fn priors(&self, blocks: &[Vec<usize>], spreads: &[f64], without: Option<usize>) -> DVector<f64> {
        let mut prior = DVector::from_element(self.linear.len(), 1.0);
        for (k, (block, spread)) in blocks.iter().zip(spreads).enumerate() {
            let precision = if without == Some(k) { 0.0 } else { spread.powi(-2) };
            block.iter().for_each(|j| prior[*j] = precision);
        }
        prior
    }

    /// What is left of the message about a block's coefficients once all others are integrated out: eigenvalues and
    /// the linear part along them.
    fn about(&self, block: &[usize], prior: &DVector<f64>) -> Option<(DVector<f64>, DVector<f64>)> {
        let others: Vec<usize> = (0..self.linear.len()).filter(|j| !block.contains(j)).collect();
        let part = |rows: &[usize], columns: &[usize]| {
            DMatrix::from_fn(rows.len(), columns.len(), |i, j| self.precision[(rows[i], columns[j])])
        };
        let linear = |rows: &[usize]| DVector::from_fn(rows.len(), |i, _| self.linear[rows[i]]);
        let (mut own, mut towards) = (part(block, block), linear(block));
        if !others.is_empty() {
            let mut rest = part(&others, &others);
            others.iter().enumerate().for_each(|(i, j)| rest[(i, i)] += prior[*j]);
            let (factor, between) = (Cholesky::new(rest)?, part(&others, block));
            own -= between.transpose() * factor.solve(&between);
            towards -= between.transpose() * factor.solve(&linear(&others));
        }
        let found = own.symmetric_eigen();
        let along = found.eigenvectors.transpose() * towards;
        Some((found.eigenvalues.map(|value| value.max(0.0)), along))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean_and_sd(of: impl Iterator<Item = f64>) -> (f64, f64) {
        let all: Vec<f64> = of.collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        (mean, (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / all.len() as f64).sqrt())
    }

    /// A shared coefficient and three of a group, of which the message knows two well and one not at all: the spread
    /// and the coefficients are those of a sum over a fine grid of the spread, each point with its exact normal.
    #[test]
    fn draws_are_those_of_a_fine_grid_of_the_spread() {
        let precision = DMatrix::from_row_slice(
            4,
            4,
            &[30.0, 8.0, 6.0, 0.0, 8.0, 20.0, 0.0, 0.0, 6.0, 0.0, 15.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        );
        let linear = DVector::from_vec(vec![10.0, 14.0, -9.0, 0.0]);
        let message = Message { precision, linear };
        let (spreads, values) = message.draws(&[vec![1, 2, 3]], 4000, &Seed::for_tests(3));
        let (mut total, mut of_spread, mut squares) = (0.0, 0.0, 0.0);
        let mut exact = vec![(0.0, 0.0); 4];
        for k in 1..=4000 {
            let spread = 0.00125 * f64::from(k);
            let prior = DVector::from_vec(vec![1.0, spread.powi(-2), spread.powi(-2), spread.powi(-2)]);
            let all = &message.precision + DMatrix::from_diagonal(&prior);
            let covariance = all.clone().try_inverse().unwrap();
            let mean = &covariance * &message.linear;
            let log = -3.0 * spread.ln() - 0.5 * all.determinant().ln() + 0.5 * mean.dot(&message.linear)
                - 0.5 * spread * spread;
            let weight = log.exp();
            total += weight;
            of_spread += weight * spread;
            squares += weight * spread * spread;
            for (j, sums) in exact.iter_mut().enumerate() {
                sums.0 += weight * mean[j];
                sums.1 += weight * (covariance[(j, j)] + mean[j] * mean[j]);
            }
        }
        let (mean, sd) = mean_and_sd(spreads.column(0).iter().copied());
        let expected = of_spread / total;
        // 200 draws of the spread: a standard error of a fourteenth of its deviation, and five of them.
        let deviation = (squares / total - expected * expected).sqrt();
        assert!(
            (mean - expected).abs() < 0.36 * deviation && (0.7..1.4).contains(&(sd / deviation)),
            "{mean} {expected} {sd}"
        );
        for (j, (first, second)) in exact.into_iter().enumerate() {
            let (mean, sd) = mean_and_sd(values.column(j).iter().copied());
            let expected = first / total;
            let deviation = (second / total - expected * expected).sqrt();
            assert!((mean - expected).abs() < 0.2 * deviation, "{j}: {mean}, not {expected} +- {deviation}");
            assert!((0.8..1.25).contains(&(sd / deviation)), "{j}: {sd}, not {deviation}");
        }
    }

    /// Of two groups with a spread each the draws are those of a fine grid of both spreads, and each spread is drawn
    /// given what the other group's coefficients may be, not given that there are none: shared and first ones are
    /// known together only.
    #[test]
    fn spreads_are_drawn_with_all_other_coefficients_integrated_out() {
        let precision = DMatrix::from_row_slice(3, 3, &[40.0, 38.0, 0.0, 38.0, 40.0, 6.0, 0.0, 6.0, 20.0]);
        let message = Message { precision, linear: DVector::from_vec(vec![60.0, 62.0, -20.0]) };
        let (spreads, values) = message.draws(&[vec![1], vec![2]], 40_000, &Seed::for_tests(9));
        let (mut total, mut of_spreads, mut of_values) = (0.0, [0.0; 2], [(0.0, 0.0); 3]);
        for (one, other) in (1..=200).flat_map(|one| (1..=200).map(move |other| (one, other))) {
            let at = [one, other].map(|k| 0.02 * f64::from(k) - 0.01);
            let prior = DVector::from_vec(vec![1.0, at[0].powi(-2), at[1].powi(-2)]);
            let all = &message.precision + DMatrix::from_diagonal(&prior);
            let covariance = all.clone().try_inverse().unwrap();
            let mean = &covariance * &message.linear;
            let log = -(at[0] * at[1]).ln() - 0.5 * all.determinant().ln() + 0.5 * mean.dot(&message.linear)
                - 0.5 * (at[0] * at[0] + at[1] * at[1]);
            let weight = log.exp();
            total += weight;
            (0..2).for_each(|k| of_spreads[k] += weight * at[k]);
            for (j, sums) in of_values.iter_mut().enumerate() {
                sums.0 += weight * mean[j];
                sums.1 += weight * (covariance[(j, j)] + mean[j] * mean[j]);
            }
        }
        for (k, sum) in of_spreads.into_iter().enumerate() {
            let (found, expected) = (spreads.column(k).mean(), sum / total);
            // 200 draws of a spread that is known to about 0.6.
            assert!((found - expected).abs() < 0.2, "{k}: {found}, not {expected}");
        }
        for (j, (first, second)) in of_values.into_iter().enumerate() {
            let (mean, sd) = mean_and_sd(values.column(j).iter().copied());
            let expected = first / total;
            let deviation = (second / total - expected * expected).sqrt();
            // With priors of another spread the first is off by 0.4 deviations.
            assert!((mean - expected).abs() < 0.15 * deviation, "{j}: {mean}, not {expected} +- {deviation}");
            assert!((0.9..1.1).contains(&(sd / deviation)), "{j}: {sd}, not {deviation}");
        }
    }

    /// Draws of the prior say nothing, and the hierarchical prior is what is left.
    #[test]
    fn without_a_message_the_prior_is_left() {
        let noise = GaussianNoise::with_purpose(&Seed::for_tests(5), Purpose::Custom("test"));
        let mut z = vec![0.0; 20_000 * 3];
        noise.fill(0, &mut z);
        let message = Message::of(&DMatrix::from_row_slice(20_000, 3, &z));
        let (spreads, values) = message.draws(&[vec![1, 2]], 4000, &Seed::for_tests(6));
        let (mean, _) = mean_and_sd(spreads.column(0).iter().copied());
        // A half-normal has the mean 0.798; 200 draws have a standard error of 0.043.
        assert!((mean - 0.798).abs() < 0.22, "{mean}");
        let (centre, sd) = mean_and_sd(values.column(0).iter().copied());
        assert!(centre.abs() < 0.1 && (0.9..1.1).contains(&sd), "{centre} {sd}");
        let (centre, sd) = mean_and_sd(values.column(1).iter().copied());
        assert!(centre.abs() < 0.2 && (0.7..1.3).contains(&sd), "{centre} {sd}");
    }
}
