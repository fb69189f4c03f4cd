//! A private release of the likelihood's curvature.

use crate::cost::pricing::event;
use crate::error::{Error, Result};
use crate::objective::traced::Traced;
use crate::outcome::correction::linear_algebra::map_eigenvalues;
use crate::wall::adder::{Grid, PrivacyNoise};
use crate::wall::bound::clip::{ClipNorm, Rule, Sensitivity};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Event, Sampling};
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use ppl_core::{LinearPredictor, RecordGradient, Records, Var, gradient};

/// Which elements of the curvature are released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurvatureShape {
    /// All of them.
    Full,
    /// The diagonal.
    Diagonal,
}

impl CurvatureShape {
    /// Numbers that are released of a matrix with `n` rows.
    pub(crate) fn released(self, n: usize) -> usize {
        match self {
            Self::Full => n * (n + 1) / 2,
            Self::Diagonal => n,
        }
    }
}

/// Told where a curvature is asked for that has no program.
pub(crate) const NOT_LINEAR: Error = Error::Conflict(
    "the curvature is released for generalised linear terms only, and this likelihood is not recognised as one",
);

/// A program whose per-record *gradient* is one record's curvature: the derivative of `⟨M, H⟩` by `M` is `H`. For `H = κ d dᵀ` it is a
/// product of vectors, so it is contracted like any other.
pub(crate) fn curvature_program<'g>(
    traced: &Traced<'g>,
    term: &LinearPredictor<'g>,
    weight: Option<Var<'g>>,
    shape: CurvatureShape,
) -> Result<RecordGradient<f64>> {
    let graph = traced.log_likelihood.graph();
    let slope = gradient(traced.log_likelihood, &[term.predictor])?[0];
    let bend = -gradient(slope, &[term.predictor])?[0];
    let bend = weight.map_or(bend, |weight| weight * bend);
    let flat: Vec<_> = term.design.iter().map(|part| part.reshape(part.shape().elements())).collect();
    let design = if let [one] = flat[..] { one } else { graph.concat(&flat, 0) };
    let elements = traced.frontier_elements();
    let (matrix, value) = match shape {
        CurvatureShape::Full => {
            let matrix = graph.input("curvature", [elements, elements])?;
            (matrix, bend * design.inner(matrix.matvec(design)))
        }
        CurvatureShape::Diagonal => {
            let matrix = graph.input("curvature", [elements])?;
            (matrix, bend * design.square().inner(matrix))
        }
    };
    Ok(RecordGradient::with_bounded_sums(value, &[matrix], &[0])?)
}

/// Releases `S ≈ −Σ_i w_i ∂²ℓ_i/∂u²` once, over all records.
///
/// ```text
/// H_i = −w_i ∂²ℓ_i/∂u² = −w_i f″(η_i) d_i d_iᵀ                     for a generalised linear term
/// S   = Σ_i H_i min(1, K/‖H_i‖_F) + symmetric noise                standard deviation σK on the diagonal, σK/√2 off it
/// ```
///
/// # Privacy
/// One record adds a symmetric matrix of Frobenius norm at most `K`. What is released of a symmetric matrix is the vector
///
/// ```text
/// v(S) = (S_jj for all j,  √2 S_jk for j < k)          ‖v(S)‖² = Σ_j S_jj² + 2 Σ_{j<k} S_jk² = ‖S‖_F²
/// ```
///
/// so `v` is an isometry: sums of `v(H_i)` have terms of norm at most `K`, and noise of standard deviation `σK` on every element of `v` is the
/// Gaussian mechanism with multiplier `σ`, without sampling. Dividing the off-diagonal elements by `√2` again is
/// post-processing, and leaves noise of standard deviation `σK/√2` on them. (Equal noise `σK` on the upper triangle as it stands is private too, since
/// that triangle's norm is at most the Frobenius norm, but has twice the variance off the diagonal for nothing.) The diagonal alone is a
/// vector of norm at most `K` likewise.
///
/// A record whose curvature is not finite adds nothing. Raising eigenvalues afterwards is post-processing.
///
/// # References
/// Dwork, Talwar, Thakurta, Zhang 2014, "Analyze Gauss" (noisy second moments).
pub(crate) struct CurvatureRelease {
    gradient: RecordGradient<f64>,
    shape: CurvatureShape,
    clip: ClipNorm,
    noise_multiplier: f64,
    noise: GaussianNoise,
    /// Where noise is exact.
    grid: Option<Grid>,
    elements: usize,
    paid: bool,
}

impl CurvatureRelease {
    /// `gradient` has the curvature of a record as its gradient, for `elements` elements at the frontier.
    pub(crate) fn new(
        gradient: RecordGradient<f64>,
        shape: CurvatureShape,
        clip_norm: f64,
        noise_multiplier: f64,
        elements: usize,
        seed: &Seed,
    ) -> Result<Self> {
        let clip = ClipNorm::new(clip_norm, gradient.dimension())?;
        let noise = GaussianNoise::with_purpose(seed, Purpose::Custom("curvature release"));
        Ok(Self { gradient, shape, clip, noise_multiplier, noise, grid: None, elements, paid: false })
    }

    /// The same with this kind of noise.
    pub(crate) fn with_noise(mut self, noise: PrivacyNoise, seed: &Seed) -> Result<Self> {
        self.grid = match noise {
            PrivacyNoise::Continuous => None,
            PrivacyNoise::Exact => {
                let streams = seed.streams(Purpose::Custom("curvature release on a grid"));
                Some(Grid::new(streams, self.released(), self.noise_multiplier, &self.gradient, false)?)
            }
        };
        Ok(self)
    }

    /// Numbers that are released.
    fn released(&self) -> usize {
        self.shape.released(self.elements)
    }

    /// `v(S)` of a record's part, as its program has it.
    fn isometric(shape: CurvatureShape, n: usize) -> impl Fn(&[f64], &mut [f64]) + Sync {
        move |matrix, vector| match shape {
            CurvatureShape::Diagonal => vector.copy_from_slice(matrix),
            CurvatureShape::Full => {
                let upper = (0..n).flat_map(|j| (j..n).map(move |k| (j, k)));
                for (element, (j, k)) in vector.iter_mut().zip(upper) {
                    let share = if j == k { 1.0 } else { std::f64::consts::SQRT_2 };
                    *element = share * matrix[j * n + k];
                }
            }
        }
    }

    /// By how much one record changes the matrix, in the Frobenius norm.
    pub(crate) fn sensitivity(&self) -> Sensitivity {
        Sensitivity::of_terms(self.clip.norm())
    }

    /// The event of the release.
    pub(crate) fn event(&self) -> Result<Event> {
        Ok(event(self.noise_multiplier, Sampling::None)?)
    }

    /// Lets the release through, for its [event](Self::event) has been debited.
    pub(crate) fn was_paid_for(&mut self) {
        self.paid = true;
    }

    /// Sets the value of a site, unconstrained, at which the curvature is taken.
    pub(crate) fn set(&mut self, input: &str, values: &[f64]) -> Result<()> {
        Ok(self.gradient.set(input, values)?)
    }

    /// The release, with eigenvalues raised to what the noise alone may reach: `σK√D` for a full matrix, `σK` for a diagonal.
    pub(crate) fn release(mut self, records: &Sensitive<Records>) -> Result<Vec<f64>> {
        if !self.paid {
            return Err(Error::NotPaid { paid: 0 });
        }
        let matrix = self.noisy(records, 0)?;
        let (n, deviation) = (self.elements, self.noise_multiplier * self.clip.norm());
        Ok(match self.shape {
            CurvatureShape::Full => {
                let floor = deviation * (n as f64).sqrt();
                map_eigenvalues(&matrix, n, |x| x.max(floor))
            }
            CurvatureShape::Diagonal => {
                let mut raised = matrix;
                (0..n).for_each(|j| raised[j * n + j] = raised[j * n + j].max(deviation));
                raised
            }
        })
    }

    /// The noisy matrix with the noise of this number: 0 for the one release there is, others for tests.
    pub(crate) fn noisy(&mut self, records: &Sensitive<Records>, number: u64) -> Result<Vec<f64>> {
        let (records, n) = (records.behind_the_wall(), self.elements);
        let all: Vec<u64> = (0..records.len() as u64).collect();
        let norm = self.clip.norm();
        let isometric = Self::isometric(self.shape, n);
        let rule = Rule::Flat(self.clip);
        let mut sum = vec![0.0; self.gradient.dimension()];
        let mut vector = vec![0.0; self.released()];
        match &mut self.grid {
            Some(grid) => {
                grid.sum((&rule, norm), &mut self.gradient, (records, &all), &mut sum)?;
                let mut released = vec![0.0; vector.len()];
                isometric(&sum, &mut released);
                grid.add_noise(&released, (number, norm, 1.0), &mut vector);
            }
            None => {
                rule.sum(&mut self.gradient, records, &all, &mut sum)?;
                isometric(&sum, &mut vector);
                let deviation = self.noise_multiplier * self.sensitivity().term();
                let mut standard = vec![0.0; vector.len()];
                self.noise.fill(number, &mut standard);
                for (sum, z) in vector.iter_mut().zip(&standard) {
                    let finite = if sum.is_finite() { *sum } else { 0.0 };
                    *sum = finite + deviation * z;
                }
            }
        }
        // From here on everything is public.
        let mut matrix = vec![0.0; n * n];
        let mut noisy = vector.into_iter();
        for j in 0..n {
            let last = if self.shape == CurvatureShape::Full { n } else { j + 1 };
            for k in j..last {
                let share = if j == k { 1.0 } else { std::f64::consts::FRAC_1_SQRT_2 };
                let element = share * noisy.next().unwrap_or(f64::NAN);
                matrix[j * n + k] = element;
                matrix[k * n + j] = element;
            }
        }
        Ok(matrix)
    }
}
