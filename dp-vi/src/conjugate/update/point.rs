//! Factors that are points: where what is known of a value is largest, and its statistics there.

use super::{BlockState, Factors};
use crate::outcome::correction::linear_algebra::{cholesky, square};
use nalgebra::DVector;
use ppl_core::conjugate::Statistic;

/// The least that a logarithm is multiplied by, so that no point lies on the edge of its set.
const LEAST: f64 = 1e-9;

/// Where `⟨η, T(x)⟩` is largest, element by element or row by row; `old` where it has no maximum.
///
/// A precision (or a rate) counts as one if it is above `doubt`; normal vectors are left to the repair of their
/// matrices.
fn maximum(family: &str, natural: &[&[f64]], old: &[f64], last: usize, doubt: f64) -> Option<Vec<f64>> {
    // Not at all where it is no number.
    let inside = |x: f64, old: f64| if x.is_finite() { x } else { old };
    Some(match (family, natural) {
        ("Normal", [first, second]) => {
            let pairs = first.iter().zip(*second).zip(old);
            pairs
                .map(|((first, second), &old)| match -2.0 * second {
                    precision if precision > doubt => inside(first / precision, old),
                    _ => old,
                })
                .collect()
        }
        ("MultivariateNormal", [first, second]) => {
            let n = last.max(1);
            let matrices = (second.len() / (n * n)).max(1);
            let rows = first.chunks_exact(n).zip(old.chunks_exact(n)).enumerate();
            rows.flat_map(|(row, (first, old))| {
                let matrix = square(&second[row.min(matrices - 1) * n * n..][..n * n], n) * -1.0;
                let solved = cholesky(&matrix + matrix.transpose())
                    .map(|factor| factor.solve(&DVector::from_column_slice(first)))
                    .filter(|x| x.iter().all(|x| x.is_finite()));
                solved.map_or_else(|| old.to_vec(), |x| x.as_slice().to_vec())
            })
            .collect()
        }
        ("Gamma", [log, value]) => {
            let pairs = log.iter().zip(*value).zip(old);
            pairs
                .map(|((log, value), &old)| match -value {
                    rate if rate > doubt.max(0.0) => inside(log.max(LEAST) / rate, old),
                    _ => old,
                })
                .collect()
        }
        ("Beta", [a, b]) => {
            let pairs = a.iter().zip(*b).zip(old);
            pairs.map(|((a, b), &old)| inside(a.max(LEAST) / (a.max(LEAST) + b.max(LEAST)), old)).collect()
        }
        ("Dirichlet", [log]) => {
            let rows = log.chunks(last.max(1)).zip(old.chunks(last.max(1)));
            rows.flat_map(|(row, old)| {
                let total: f64 = row.iter().map(|x| x.max(LEAST)).sum();
                row.iter().zip(old).map(move |(x, &old)| inside(x.max(LEAST) / total, old))
            })
            .collect()
        }
        _ => return None,
    })
}

/// The statistics of a value, in the shape of their block.
fn statistics_of(block: &BlockState, value: &[f64]) -> Vec<f64> {
    match block.statistic {
        Statistic::Square => value.iter().map(|x| x * x).collect(),
        Statistic::Log => value.iter().map(|x| x.ln()).collect(),
        Statistic::LogComplement => value.iter().map(|x| (-x).ln_1p()).collect(),
        Statistic::Outer => {
            let n = block.width;
            let mut found = vec![0.0; block.expected.len()];
            for (row, x) in value.chunks_exact(n).enumerate() {
                // One matrix for all rows, which is their sum, or one for each.
                let first = if found.len() == n * n { 0 } else { row * n * n };
                for (k, to) in found[first..first + n * n].iter_mut().enumerate() {
                    *to += x[k / n] * x[k % n];
                }
            }
            found
        }
        _ => value.to_vec(),
    }
}

impl Factors {
    /// Puts a factor at the point where its natural parameters, in whose averaged statistics noise has the standard
    /// deviation `sd` (in units of their scales), are largest.
    pub(super) fn go_to_maximum(&mut self, factor: usize, sd: f64) {
        let state = &self.factors[factor];
        let natural: Vec<&[f64]> = state.blocks.iter().map(|&b| self.blocks[b].natural.as_slice()).collect();
        let last = state.site.shape.dims().last().copied().unwrap_or(1);
        // Two standard deviations of the noise in a precision −2η₂, four in a rate −η₂, where no prior stands beside
        // it.
        let second = state.blocks.last().map_or(1.0, |&block| self.blocks[block].scale);
        let doubt = if self.estimate == super::Estimate::Likelihood { 4.0 * sd * second } else { 0.0 };
        let Some(value) = maximum(state.family, &natural, &state.point, last, doubt) else { return };
        for &block in &state.blocks {
            self.blocks[block].expected = statistics_of(&self.blocks[block], &value);
        }
        self.factors[factor].point = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `⟨η, T(x)⟩` is smaller a little beside each maximum.
    #[test]
    fn no_neighbour_of_a_maximum_is_above_it() {
        let at = |family: &str, natural: &[&[f64]], x: f64| match family {
            "Normal" => natural[0][0] * x + natural[1][0] * x * x,
            "Gamma" => natural[0][0] * x.ln() + natural[1][0] * x,
            _ => natural[0][0] * x.ln() + natural[1][0] * (1.0 - x).ln(),
        };
        let all: [(&str, f64, f64); 3] = [("Normal", 3.0, -0.7), ("Gamma", 2.5, -4.0), ("Beta", 2.0, 5.0)];
        for (family, first, second) in all {
            let natural: [&[f64]; 2] = [&[first], &[second]];
            let x = maximum(family, &natural, &[0.5], 1, 0.0).unwrap()[0];
            let best = at(family, &natural, x);
            for step in [-1e-3, 1e-3] {
                assert!(at(family, &natural, x + step) < best, "{family} {x}");
            }
        }
        // Rows of normals by one matrix: the gradient η₁ + 2 η₂ x is 0.
        let second = [-1.0, 0.3, 0.3, -0.5];
        let x = maximum("MultivariateNormal", &[&[1.0, 2.0, -1.0, 0.5], &second], &[0.0; 4], 2, 0.0).unwrap();
        for (x, first) in x.chunks(2).zip([[1.0, 2.0], [-1.0, 0.5]]) {
            assert!((first[0] + 2.0 * (second[0] * x[0] + second[1] * x[1])).abs() < 1e-14, "{x:?}");
            assert!((first[1] + 2.0 * (second[2] * x[0] + second[3] * x[1])).abs() < 1e-14, "{x:?}");
        }
        let p = maximum("Dirichlet", &[&[3.0, 1.0, -0.5, 0.0, 0.0, 0.0]], &[0.3; 6], 3, 0.0).unwrap();
        assert!((p[0] - 0.75).abs() < 1e-9 && p[2] > 0.0 && p[2] < 1e-9, "{p:?}");
        assert_eq!(p[3..], [1.0 / 3.0; 3]);
    }

    #[test]
    fn what_has_no_maximum_stays() {
        let stays = |family: &str, natural: [&[f64]; 2], doubt: f64| {
            maximum(family, &natural, &[0.25], 1, doubt).unwrap()[0] == 0.25
        };
        assert!(stays("Normal", [&[1.0], &[0.0]], 0.0) && stays("Normal", [&[1.0], &[0.3]], 0.0));
        assert!(stays("Normal", [&[1.0], &[-0.5]], 1.1) && !stays("Normal", [&[1.0], &[-0.5]], 0.9));
        assert!(stays("Normal", [&[f64::NAN], &[-0.5]], 0.0));
        assert!(stays("Gamma", [&[1.0], &[0.0]], 0.0) && stays("Gamma", [&[1.0], &[-1e-320]], 0.0));
        assert!(stays("MultivariateNormal", [&[1.0], &[0.0]], 0.0));
        assert!(maximum("Wishart", &[&[1.0]], &[1.0], 1, 0.0).is_none());
    }
}
