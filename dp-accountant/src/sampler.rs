//! Sampling as the code that performs it states it (feature `sampler`).

use crate::{Error, Result, Sampling};
use dp_sampler::Scheme;

/// The sampling of each release on batches of a scheme, as if they were drawn exactly like that.
///
/// # Privacy
/// How far the batches are from the scheme is not in it: an ε of these events holds at `δ + (1 + e^ε) τ` with the
/// sampler's own [deviation](dp_sampler::Subsampler::deviation) `τ` of all steps. It is below 2⁻⁵⁰ for most samplers
/// and **1**, nothing proven, for orders that are computed from a key
/// ([`FixedSize::by_permutation`](dp_sampler::FixedSize::by_permutation), [`Shuffle`](dp_sampler::Shuffle) above 1,024
/// records). `dp-vi` refuses those, and counts `τ` in its δ.
///
/// ```
/// use dp_accountant::{Error, Sampling};
/// use dp_sampler::{BallsInBins, Poisson, Subsampling};
///
/// let scheme = Poisson::rate(0.01)?.scheme(1_000)?;
/// assert_eq!(Sampling::try_from(&scheme)?, Sampling::Poisson { rate: 0.01 });
/// let bins = BallsInBins::bins(10)?.scheme(1_000)?;
/// assert!(matches!(Sampling::try_from(&bins), Err(Error::UnsupportedScheme { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::UnsupportedScheme`] where there is no such sampling of single releases: balls in bins are
/// accounted by whole epochs, each of which is one release without sampling, and a scheme of a later version
/// is not known.
impl TryFrom<&Scheme> for Sampling {
    type Error = Error;

    fn try_from(scheme: &Scheme) -> Result<Self> {
        Ok(match *scheme {
            Scheme::Full => Self::None,
            Scheme::Poisson { rate, .. } => Self::Poisson { rate },
            Scheme::WithoutReplacement { batch, records, .. } => Self::WithoutReplacement { batch, records },
            Scheme::WithReplacement { batch, records, .. } => Self::WithReplacement { batch, records },
            Scheme::Shuffle { batch, records, .. } => Self::Shuffle { batch, records },
            ref other => return Err(Error::UnsupportedScheme { scheme: other.to_string() }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::{FixedSize, FullBatch, Poisson, Shuffle, Subsampling, WithReplacement};

    #[test]
    fn every_scheme_of_single_releases_has_its_sampling() {
        let (batch, records) = (10, 100);
        let of =
            |scheme: dp_sampler::Result<Scheme>| Sampling::try_from(&scheme.expect("valid")).expect("known");
        assert_eq!(of(FullBatch.scheme(records)), Sampling::None);
        assert_eq!(of(Poisson::rate(0.2).and_then(|p| p.scheme(records))), Sampling::Poisson { rate: 0.2 });
        let fixed = FixedSize::batch(batch).and_then(|p| p.scheme(records));
        assert_eq!(of(fixed), Sampling::WithoutReplacement { batch, records });
        let drawn = WithReplacement::batch(batch).and_then(|p| p.scheme(records));
        assert_eq!(of(drawn), Sampling::WithReplacement { batch, records });
        assert_eq!(
            of(Shuffle::batch(batch).and_then(|p| p.scheme(records))),
            Sampling::Shuffle { batch, records }
        );
    }
}
