//! The one door of the wall for noisy sums.

use super::adder::{Adder, NoiseOf, ReleaseScale};
use super::grid::PrivacyNoise;
use crate::error::{Error, Result};
use crate::optimiser::SavedState;
use crate::wall::bound::clip::{ClipNorm, Rule};
use crate::wall::bound::quantile::Suited;
use dp_sampler::Seed;
use ppl_core::{RecordGradient, Records};
use std::f64::consts::{FRAC_1_SQRT_2, SQRT_2};
use zeroize::Zeroizing;

/// *Records → a bounded contribution of each → their sum → noise → public.*
///
/// The contribution of a record is the gradient of a per-record program, whose norm a rule bounds by `C`; the
/// adder's noise has a standard deviation of `σC`, or what makes rounded numbers as private. One release of
/// the Gaussian mechanism with multiplier `σ`, whatever the program, the rule and the adder.
///
/// Who may make a release is decided by those who own one: they take a permit or a receipt for each.
pub(crate) struct NoisySum {
    program: RecordGradient<f64>,
    rule: Rule,
    /// `C`, now.
    clip: ClipNorm,
    noise_multiplier: f64,
    /// The noise's norm over `C`; see [`with_reach`](NoisySum::with_reach).
    reach: f64,
    released: Released,
    adder: Adder,
    /// Sums stay in here until their noise has been added.
    sum: Zeroizing<Vec<f64>>,
    part: Zeroizing<Vec<f64>>,
}

/// Says what it is in words, for a checkpoint is bound to them, and nothing of the sums.
impl std::fmt::Debug for NoisySum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { rule, clip, noise_multiplier, reach, released, .. } = self;
        match rule {
            Rule::Flat(clip) => write!(f, "terms of norm {}", clip.norm())?,
            Rule::PerSite(clips) => {
                let norms: Vec<String> = clips.iter().map(|clip| clip.norm().to_string()).collect();
                write!(f, "terms of norms {}", norms.join(", "))?;
            }
            Rule::Quantile(adaptive) => {
                let [norm, batch, target, rate, ..] = adaptive.state();
                write!(
                    f,
                    "terms of norm {norm} at first, then by the quantile {target} of {batch} at rate {rate}"
                )?;
            }
        }
        write!(f, "; sums of {} numbers", clip.elements())?;
        if let Released::Symmetric(rows) = released {
            write!(f, ", a symmetric matrix with {rows} rows")?;
        }
        let noise = match self.adder.noise() {
            PrivacyNoise::Exact => "exact",
            PrivacyNoise::Continuous => "continuous",
        };
        write!(f, "; {noise} noise of multiplier {noise_multiplier} for norm {}", clip.norm())?;
        if *reach == 1.0 { Ok(()) } else { write!(f, ", reach {reach}") }
    }
}

/// What of a sum is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// All of it.
    All,
    /// The sum is a symmetric matrix with this number of rows, of which each element is released once: an
    /// isometry of it.
    Symmetric(usize),
}

impl Released {
    /// Numbers that are released of a sum of `elements` numbers.
    pub(crate) fn elements(self, elements: usize) -> usize {
        match self {
            Self::All => elements,
            Self::Symmetric(n) => n * (n + 1) / 2,
        }
    }

    /// `v(S)`, where it is not `S` itself.
    fn forwards(n: usize, matrix: &[f64], vector: &mut [f64]) {
        let upper = (0..n).flat_map(|j| (j..n).map(move |k| (j, k)));
        for (element, (j, k)) in vector.iter_mut().zip(upper) {
            let share = if j == k { 1.0 } else { SQRT_2 };
            *element = share * matrix[j * n + k];
        }
    }

    /// The matrix of a released vector.
    pub(crate) fn backwards(n: usize, vector: &[f64]) -> Vec<f64> {
        let mut matrix = vec![0.0; n * n];
        let upper = (0..n).flat_map(|j| (j..n).map(move |k| (j, k)));
        for (element, (j, k)) in vector.iter().zip(upper) {
            let share = if j == k { 1.0 } else { FRAC_1_SQRT_2 };
            matrix[j * n + k] = share * element;
            matrix[k * n + j] = share * element;
        }
        matrix
    }
}

impl NoisySum {
    /// Sums of `program`'s gradients. `clip` is the norm of the whole gradient under the rule. The noise is
    /// drawn from the seed's streams for `of`; nothing else may draw from them.
    pub(crate) fn new(
        program: RecordGradient<f64>,
        (rule, clip): (Rule, ClipNorm),
        noise_multiplier: f64,
        released: Released,
        noise: PrivacyNoise,
        (of, seed): (NoiseOf, &Seed),
    ) -> Result<Self> {
        if !(noise_multiplier > 0.0 && noise_multiplier.is_finite()) {
            let (what, requirement) = ("noise multiplier", "positive and finite");
            return Err(Error::OutOfRange { what, requirement, value: noise_multiplier });
        }
        let (dimension, count) = (program.dimension(), matches!(rule, Rule::Quantile(_)));
        let elements = released.elements(dimension);
        let adder = Adder::new(noise, (of, seed), elements, noise_multiplier, &program, count)?;
        let part = Zeroizing::new(match released {
            Released::All => Vec::new(),
            Released::Symmetric(_) => vec![0.0; elements],
        });
        let sum = Zeroizing::new(vec![0.0; dimension]);
        Ok(Self { program, rule, clip, noise_multiplier, reach: 1.0, released, adder, sum, part })
    }

    /// The same with less noise under replace-one, where contributions of two records are known to differ by less
    /// than `2C`.
    ///
    /// ```text
    /// ‖v − v'‖ ≤ Δ = 2C · reach    for any two records        noise of standard deviation σC · reach = σΔ/2
    /// ```
    ///
    /// # Privacy
    /// Replace-one only: a record that is added or removed moves the sum by up to `C`, so such a sum is not paid for
    /// under add/remove. The accountant takes a replaced record to move the sum by `2/σ` standard deviations of the
    /// noise, which it does. What rounding is charged for (see [`PrivacyNoise`](super::grid::PrivacyNoise)) still
    /// suffices: computed sums of neighbours differ by at most `2⁻¹⁴ C` more than the real ones, and twice `2⁻¹⁴` of
    /// the noise's norm `C · reach ≥ C/2` is charged for a replaced record.
    pub(crate) fn with_reach(mut self, reach: f64) -> Result<Self> {
        if !(0.5..=1.0).contains(&reach) {
            let (what, requirement) = ("the difference of two contributions over 2C", "between 1/2 and 1");
            return Err(Error::OutOfRange { what, requirement, value: reach });
        }
        self.reach = reach;
        Ok(self)
    }

    /// Whether the noise is enough where a record is added or removed.
    pub(crate) fn covers_presence(&self) -> bool {
        self.reach >= 1.0
    }

    /// Numbers of a release.
    pub(crate) fn elements(&self) -> usize {
        self.released.elements(self.sum.len())
    }

    /// The norm of a contribution now.
    pub(crate) fn clip(&self) -> ClipNorm {
        self.clip
    }

    /// `σ`, with which a release is accounted for.
    pub(crate) fn noise_multiplier(&self) -> f64 {
        self.noise_multiplier
    }

    /// What kind of noise is added.
    pub(crate) fn noise(&self) -> PrivacyNoise {
        self.adder.noise()
    }

    /// The program, for setting the shared values at which contributions are taken.
    pub(crate) fn program_mut(&mut self) -> &mut RecordGradient<f64> {
        &mut self.program
    }

    /// Takes another norm for contributions, which are bounded as a whole. It must depend on nothing but what is
    /// public. The noise has that norm, too: what was said of its reach was said of the bound before.
    ///
    /// # Errors
    /// If the norm is out of range, or follows a quantile, for then sums have an element that counts records.
    pub(crate) fn bound(&mut self, norm: f64) -> Result<()> {
        if matches!(self.rule, Rule::Quantile(_)) {
            return Err(Error::Conflict("a norm that follows a quantile is not set from outside"));
        }
        let clip = ClipNorm::new(norm, self.sum.len())?;
        (self.rule, self.clip, self.reach) = (Rule::Flat(clip), clip, 1.0);
        Ok(())
    }

    /// Takes another program for the same sums, as after a choice of where to start.
    pub(crate) fn replace(&mut self, program: RecordGradient<f64>) -> Result<()> {
        if program.dimension() != self.sum.len() {
            return Err(Error::Conflict(
                "where a run starts must not change how many elements its sums have",
            ));
        }
        self.adder.take_over(&program);
        self.program = program;
        Ok(())
    }

    /// Sets what an adaptive norm expects of a batch, and its quantile where that follows from it.
    pub(crate) fn expect(&mut self, batch: f64, suited: Option<Suited>) {
        if let Rule::Quantile(adaptive) = &mut self.rule {
            adaptive.expect(batch, suited);
        }
    }

    /// The norm that is followed, where `C` lies above it; else `C`.
    pub(crate) fn quantile(&self) -> f64 {
        match &self.rule {
            Rule::Quantile(adaptive) => adaptive.quantile(),
            _ => self.clip.norm(),
        }
    }

    /// Lets an adaptive norm grow no further than this many times what it is.
    pub(crate) fn hold(&mut self, times: f64) {
        if let Rule::Quantile(adaptive) = &mut self.rule {
            adaptive.hold(times);
        }
    }

    /// Makes the release of this number over a batch into `out`, divided by the rate, and returns the
    /// standard deviation of the noise in each of its elements. Nothing is allocated. The noise of a number
    /// is the same each time, so a number must be used once.
    pub(super) fn release(
        &mut self,
        number: u64,
        (records, batch): (&Records, &[u64]),
        rate: f64,
        out: &mut [f64],
    ) -> Result<f64> {
        let Self { program, rule, clip, adder, sum, part, reach, .. } = self;
        let norm = clip.norm();
        adder.sum((rule, norm), program, (records, batch), sum)?;
        let exact: &[f64] = match self.released {
            Released::All => sum,
            Released::Symmetric(n) => {
                Released::forwards(n, sum, part);
                part
            }
        };
        let deviation = adder.add(exact, ReleaseScale { number, norm: norm * *reach, rate }, out);
        if let Rule::Quantile(adaptive) = rule {
            let halves = adaptive.halves(batch.len());
            adaptive.follow(adder.noisy_count(halves))?;
            *clip = adaptive.clip();
        }
        Ok(deviation)
    }

    /// Appends what the clipping has learnt from earlier releases.
    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        if let Rule::Quantile(adaptive) = &self.rule {
            state.extend(adaptive.state());
        }
    }

    /// Takes that back.
    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        if let Rule::Quantile(adaptive) = &mut self.rule {
            let mut known = [0.0; 6];
            state.copy_to(&mut known)?;
            adaptive.go_on(known)?;
            self.clip = adaptive.clip();
        }
        Ok(())
    }

    /// How contributions are bounded.
    #[cfg(test)]
    pub(crate) fn rule(&self) -> &Rule {
        &self.rule
    }

    /// What adds the noise.
    #[cfg(test)]
    pub(crate) fn adder_mut(&mut self) -> &mut Adder {
        &mut self.adder
    }

    /// The noise of the last release, in standard deviations.
    #[cfg(test)]
    pub(crate) fn last_noise(&self) -> Vec<f64> {
        self.adder.last_noise()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall::audits::modes::{gradient, records};

    /// What rounding is charged for suffices where the noise's norm is half of the contributions' at least.
    #[test]
    fn a_reach_is_from_a_half_to_one() {
        let seed = Seed::for_tests(1);
        let with_reach = |reach: f64| {
            let clip = ClipNorm::new(0.7, 5).unwrap();
            let (program, rule) = (gradient(&records(false), [0, 0]), (Rule::Flat(clip), clip));
            let of = (NoiseOf::Steps, &seed);
            NoisySum::new(program, rule, 1.0, Released::All, PrivacyNoise::Exact, of)
                .unwrap()
                .with_reach(reach)
        };
        for reach in [0.5, 0.8, 1.0] {
            assert_eq!(with_reach(reach).unwrap().covers_presence(), reach == 1.0, "{reach}");
        }
        for reach in [-1.0, 0.0, 0.25, 0.5_f64.next_down(), 1.0_f64.next_up(), f64::NAN] {
            let told = with_reach(reach).unwrap_err().to_string();
            assert!(told.contains("between 1/2 and 1"), "{reach}: {told}");
        }
    }

    /// The vector that stands for a symmetric matrix is as long as it, and gives it back.
    #[test]
    fn a_symmetric_matrix_keeps_its_length() {
        let matrix = [2.0, -3.0, 5.0, -3.0, 7.0, 1.0, 5.0, 1.0, -4.0];
        let mut vector = vec![0.0; Released::Symmetric(3).elements(9)];
        Released::forwards(3, &matrix, &mut vector);
        let squared = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
        assert!((squared(&vector) - squared(&matrix)).abs() < 1e-12, "{vector:?}");
        let back = Released::backwards(3, &vector);
        assert!(back.iter().zip(&matrix).all(|(a, b)| (a - b).abs() < 1e-14), "{back:?}");
    }
}
