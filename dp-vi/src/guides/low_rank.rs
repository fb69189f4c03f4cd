//! One normal whose correlations have few dimensions.

use super::joint::Joint;
use super::{INITIAL_SCALE, NORMAL_ENTROPY, check_scale};
use crate::error::{Error, Result};
use crate::guides::guide::{
    Guide, GuideProgram, GuideSite, GuideTarget, Marginal, ParameterValues, RelativeScales,
};
use crate::optimiser::RelativeFactors;
use ndarray::Array2;
use ppl_core::{Noise, NoiseKind};
use std::f64::consts::PI;

/// One normal for all unconstrained latent values together, correlated through `r` common factors, made from
/// the model; parameters of the model are points.
///
/// ```text
/// u = loc + e^log_scale ∘ (z + V z′),   z ~ N(0, I_n), z′ ~ N(0, I_r)          V: [n, r]
/// covariance S (I + V Vᵀ) S,   S = diag(e^log_scale)
/// entropy = Σ log_scale + ½ ln det(I_r + Vᵀ V) + ½ n ln(2πe)                   by the determinant lemma
/// ```
///
/// A step costs `O(n r + r³)` beside the work on the records, where
/// [`AutoMultivariateNormal`](crate::guides::AutoMultivariateNormal) costs `O(n²)`. It starts with small
/// factors, a tenth of the scales: at `V = 0` the gradient with respect to `V` vanishes.
///
/// The form is that of NumPyro's guide of this name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AutoLowRankMultivariateNormal {
    rank: Option<usize>,
    initial_scale: f64,
}

/// How large the factors are at the start, relative to the scales.
const INITIAL_FACTOR: f64 = 0.1;

impl AutoLowRankMultivariateNormal {
    /// As many factors as the square root of the number of elements, rounded up; standard deviation 0.1 at
    /// the start.
    #[must_use]
    pub fn new() -> Self {
        Self { rank: None, initial_scale: INITIAL_SCALE }
    }

    /// With this number of factors `r`, from 1 to the number of elements.
    ///
    /// # Errors
    /// If it is 0. That it is not too large is checked when the model is known.
    pub fn rank(self, rank: usize) -> Result<Self> {
        match rank {
            0 => Err(Error::OutOfRange { what: "rank of a guide", requirement: "at least 1", value: 0.0 }),
            _ => Ok(Self { rank: Some(rank), ..self }),
        }
    }

    /// Starts with another standard deviation.
    ///
    /// # Errors
    /// If it is not positive and finite.
    pub fn initial_scale(self, scale: f64) -> Result<Self> {
        Ok(Self { initial_scale: check_scale(scale)?, ..self })
    }

    fn rank_for(&self, n: usize) -> usize {
        self.rank.unwrap_or_else(|| (n as f64).sqrt().ceil() as usize)
    }
}

impl Default for AutoLowRankMultivariateNormal {
    fn default() -> Self {
        Self::new()
    }
}

/// Orthogonal columns (cosines), none of which vanishes: `0.1 cos(π (i + ½) (j + ½)/n)`.
fn initial_factors(n: usize, rank: usize) -> Vec<f64> {
    let at = |k: usize| ((k / rank) as f64 + 0.5, (k % rank) as f64 + 0.5);
    (0..n * rank).map(at).map(|(i, j)| INITIAL_FACTOR * (PI * i * j / n as f64).cos()).collect()
}

impl Guide for AutoLowRankMultivariateNormal {
    fn build<'g>(&self, target: GuideTarget<'_, 'g>, noise: &mut Noise<'g>) -> Result<GuideProgram<'g>> {
        let graph = noise.graph();
        let mut program = GuideProgram::new(graph);
        let joint = Joint::new(target.sites);
        let n = joint.elements();
        if n == 0 {
            joint.hand_out(&mut program, None)?;
            return Ok(program);
        }
        let rank = self.rank_for(n);
        if rank > n {
            let problem = format!(
                "has rank {rank}, and the latent sites have {n} elements: at most that many factors can differ"
            );
            return Err(Error::Guide { guide: self.describe(), problem });
        }
        let loc = joint.location(&mut program)?;
        let log_scale = joint.log_scale(&mut program, self.initial_scale)?;
        let factors = program.parameter(joint.name_of("factors"), [n, rank], initial_factors(n, rank))?;
        let z = noise.draw(NoiseKind::StandardNormal, n)?;
        let common = noise.draw(NoiseKind::StandardNormal, rank)?;
        let gram = factors.transpose().matmul(factors) + graph.array(&Array2::eye(rank).into_dyn());
        let half_log_determinant = gram.cholesky().diagonal().log().sum();
        program.entropy = log_scale.sum() + half_log_determinant + NORMAL_ENTROPY * n as f64;
        let u = loc + log_scale.exp() * (z + factors.matvec(common));
        joint.hand_out(&mut program, Some(u))?;
        Ok(program)
    }

    fn marginals(&self, sites: &[GuideSite], parameters: ParameterValues<'_>) -> Vec<Option<Marginal>> {
        let joint = Joint::new(sites);
        let factors = parameters.get(&joint.name_of("factors"));
        let rank = factors.len() / joint.elements().max(1);
        joint.marginals(parameters, |row| {
            let squares = factors.iter().skip(row * rank).take(rank).map(|v| v * v);
            (1.0 + squares.sum::<f64>()).sqrt()
        })
    }

    fn relative_scales(&self, sites: &[GuideSite]) -> Vec<RelativeScales> {
        let joint = Joint::new(sites);
        vec![joint.relative_scales(RelativeFactors::Whole(joint.name_of("factors")))]
    }

    fn takes_coordinates(&self) -> bool {
        true
    }

    fn describe(&self) -> &'static str {
        "a multivariate normal with correlations of low rank"
    }
}
