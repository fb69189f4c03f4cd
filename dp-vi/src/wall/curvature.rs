//! A private release of the likelihood's curvature.

use super::adder::NoiseOf;
use super::release::{NoisySum, Released};
use crate::cost::pricing::event;
use crate::error::{Error, Result};
use crate::objective::curvature::CurvatureShape;
use crate::wall::bound::clip::{ClipNorm, Rule};
use crate::wall::grid::PrivacyNoise;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Event, Receipt, Sampling};
use dp_sampler::Seed;
use ppl_core::{RecordGradient, Records};

/// Releases `S ≈ −Σ_i w_i ∂²ℓ_i/∂u²` once, over all records.
///
/// ```text
/// H_i = −w_i ∂²ℓ_i/∂u² = −w_i f″(η_i) d_i d_iᵀ                     for a generalised linear term
/// H_i = g_i g_iᵀ,   g_i = ∂ℓ_i/∂u                                  for other likelihoods
/// S   = Σ_i H_i min(1, K/‖H_i‖_F) + symmetric noise                standard deviation σK on the diagonal, σK/√2 off it
/// ```
///
/// # Privacy
/// One record adds a symmetric matrix of Frobenius norm at most `K`. What is released of a symmetric matrix
/// is the vector
///
/// ```text
/// v(S) = (S_jj for all j,  √2 S_jk for j < k)          ‖v(S)‖² = Σ_j S_jj² + 2 Σ_{j<k} S_jk² = ‖S‖_F²
/// ```
///
/// so `v` is an isometry: sums of `v(H_i)` have terms of norm at most `K`, and noise of standard deviation
/// `σK` on every element of `v` is the Gaussian mechanism with multiplier `σ`, without sampling. Dividing the
/// off-diagonal elements by `√2` again is post-processing, and leaves noise of standard deviation `σK/√2` on
/// them. (Equal noise `σK` on the upper triangle as it stands is private too, since that triangle's norm is
/// at most the Frobenius norm, but has twice the variance off the diagonal for nothing.) The diagonal alone
/// is a vector of norm at most `K` likewise.
///
/// Where records are weighted the matrix has one row more, zero but for its last element, the trace of the
/// score's covariance; it is part of `H_i` and of its norm.
///
/// A record whose curvature is not finite adds nothing. What is inferred from it afterwards is
/// post-processing.
///
/// # References
/// Dwork, Talwar, Thakurta, Zhang 2014, "Analyze Gauss" (noisy second moments).
pub(crate) struct CurvatureRelease {
    sum: NoisySum,
    shape: CurvatureShape,
    elements: usize,
}

impl CurvatureRelease {
    /// `program` has the curvature of a record as its gradient, for `elements` elements at the frontier.
    pub(crate) fn new(
        program: RecordGradient<f64>,
        (shape, elements): (CurvatureShape, usize),
        (clip_norm, noise_multiplier): (f64, f64),
        noise: PrivacyNoise,
        of: (NoiseOf, &Seed),
    ) -> Result<Self> {
        let clip = ClipNorm::new(clip_norm, program.dimension())?;
        let released = match shape {
            CurvatureShape::Full => Released::Symmetric(elements),
            CurvatureShape::Diagonal => Released::All,
        };
        let sum = NoisySum::new(program, (Rule::Flat(clip), clip), noise_multiplier, released, noise, of)?;
        Ok(Self { sum, shape, elements })
    }

    /// The event of the release.
    pub(crate) fn event(&self) -> Result<Event> {
        Ok(event(self.sum.noise_multiplier(), Sampling::None)?)
    }

    /// Takes another `K`, which must depend on nothing but what is public.
    pub(crate) fn bound(&mut self, norm: f64) -> Result<()> {
        self.sum.bound(norm)
    }

    /// Sets the value of a site, unconstrained, at which the curvature is taken.
    pub(crate) fn set(&mut self, input: &str, values: &[f64]) -> Result<()> {
        Ok(self.sum.program_mut().set(input, values)?)
    }

    /// Makes the release, for a receipt of its event: the noisy matrix, row by row.
    ///
    /// The noise's standard deviation on the diagonal is the noise multiplier times the clip norm; off it, it
    /// is smaller by √2. A diagonal has zeros elsewhere, without noise.
    pub(crate) fn release(self, receipt: Receipt, records: &Sensitive<Records>) -> Result<Vec<f64>> {
        self.release_number(0, receipt, records)
    }

    /// The same with the noise of this number, where the seed's streams for what it is of serve several releases: each
    /// number once.
    pub(crate) fn release_number(
        mut self,
        number: u64,
        receipt: Receipt,
        records: &Sensitive<Records>,
    ) -> Result<Vec<f64>> {
        if !receipt.is_for(self.event()?, 1) {
            return Err(Error::Conflict("the receipt is not for a release of this matrix"));
        }
        drop(receipt);
        self.noisy(records, number)
    }

    /// The noisy matrix with the noise of this number.
    pub(crate) fn noisy(&mut self, records: &Sensitive<Records>, number: u64) -> Result<Vec<f64>> {
        let (records, n) = (records.behind_the_wall(), self.elements);
        let all: Vec<u64> = (0..records.len() as u64).collect();
        let mut vector = vec![0.0; self.sum.elements()];
        self.sum.release(number, (records, &all), 1.0, &mut vector)?;
        // From here on everything is public.
        Ok(match self.shape {
            CurvatureShape::Full => Released::backwards(n, &vector),
            CurvatureShape::Diagonal => {
                let mut matrix = vec![0.0; n * n];
                vector.iter().enumerate().for_each(|(j, element)| matrix[j * n + j] = *element);
                matrix
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_accountant::{Budget, Ledger, Relation};
    use ndarray::array;
    use ppl_core::{Graph, Record};

    /// Neither for that of a cheaper release, nor for that of two.
    #[test]
    fn a_matrix_is_released_for_its_own_receipt_only() {
        let records = Records::from_columns([("x", array![[1.0, 2.0], [0.5, -1.0]])]).unwrap();
        let records = Sensitive::new(records);
        let release = |noise_multiplier: f64| {
            let graph = Graph::new();
            let x = Record::new(&graph, records.schema()).get("x").unwrap();
            let matrix = graph.input("curvature", [2, 2]).unwrap();
            let program = RecordGradient::<f64>::new(x.inner(matrix.matvec(x)), &[matrix]).unwrap();
            let (shape, scale, seed) =
                ((CurvatureShape::Full, 2), (1.0, noise_multiplier), Seed::for_tests(1));
            let of = (NoiseOf::Curvature, &seed);
            CurvatureRelease::new(program, shape, scale, PrivacyNoise::Exact, of).unwrap()
        };
        let released = |event: Event, count: u64| {
            let budget = Budget { epsilon: 10.0, delta: 1e-5, relation: Relation::AddRemove };
            let receipt = Ledger::new(budget).unwrap().debit(event, count).unwrap();
            release(3.0).release(receipt, &records)
        };
        let (own, cheaper) = (release(3.0).event().unwrap(), release(9.0).event().unwrap());
        for refused in [released(cheaper, 1), released(own, 2)] {
            let told = refused.unwrap_err().to_string();
            assert!(told.contains("not for a release of this matrix"), "{told}");
        }
        assert_eq!(released(own, 1).unwrap().len(), 4);
    }
}
