//! What a sampler's scheme means for the accountant, and which schemes may be used under which relation.

use crate::error::{Error, Result};
use dp_accountant::{Event, Mechanism, Relation, Sampling};
use dp_sampler::Scheme;

/// How releases on batches of a scheme are accounted.
///
/// | scheme | event | relations | assumes of the sum |
/// |---|---|---|---|
/// | every record | no sampling, each release | both | a record counts once |
/// | Poisson | Poisson, each release | both | a record counts once, where it is drawn |
/// | fixed size, without replacement | the same, each release | replace-one | |
/// | with replacement | the same, each release | replace-one | a record that is drawn `k` times counts `k` times, each time clipped to `C` |
/// | shuffled epochs | shuffled, in whole epochs | replace-one | a record counts at one release of an epoch |
/// | balls in bins, their number named | no sampling, once an epoch | both | the same |
/// | balls in bins, for a batch size | no sampling, once an epoch | replace-one | the same |
///
/// # Privacy
/// *Add/remove.* A sum is divided by the fraction that is drawn. Where that is `B/N`, or `1/⌈N/B⌉` as for
/// balls in bins with a batch size, a release would show `N` whatever its noise, so these schemes are
/// refused.
///
/// *Balls in bins.* Each record chooses one release of an epoch for itself, whatever the data are. Given that
/// choice and those of the others, the epoch's releases on two neighbouring data sets differ in one of them,
/// by a Gaussian mechanism on full batches: the others are the same functions of the same records and of
/// earlier releases. The choice has the same law for both, and mixtures of pairs with the same weights are no
/// easier to tell apart than the worst of them. So an epoch costs no more than one release without sampling.
/// This claims no amplification: a scheme of the accountant's own would cost less.
///
/// *Shuffled epochs* are paid for as a whole, so a run that ends within one has paid for all of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pricing {
    sampling: Sampling,
    /// Releases that are paid for together.
    releases: u64,
    /// Events that they are.
    events: u64,
}

impl Pricing {
    /// The pricing of a scheme under any relation.
    pub(crate) fn new(scheme: &Scheme) -> Result<Self> {
        if let Scheme::BallsInBins { bins, .. } = *scheme {
            return Ok(Self { sampling: Sampling::None, releases: bins, events: 1 });
        }
        let Ok(sampling) = Sampling::try_from(scheme) else {
            return Err(Error::UnknownScheme(scheme.to_string()));
        };
        let epoch = match sampling {
            Sampling::Shuffle { batch, records } => records.div_ceil(batch),
            _ => 1,
        };
        Ok(Self { sampling, releases: epoch, events: epoch })
    }

    /// The same, if the scheme may be used under this relation.
    pub(crate) fn permitted(relation: Relation, scheme: &Scheme) -> Result<Self> {
        let told = match (relation, scheme) {
            (Relation::AddRemove, Scheme::WithoutReplacement { .. }) => {
                "sampling without replacement uses the number of records, which add/remove protects: draw Poisson batches, or \
                 ask for replace-one"
            }
            (Relation::AddRemove, Scheme::WithReplacement { .. }) => {
                "sampling with replacement uses the number of records, which add/remove protects: draw Poisson batches, or ask \
                 for replace-one"
            }
            (Relation::AddRemove, Scheme::Shuffle { .. }) => {
                "shuffled epochs use the number of records, which add/remove protects, and an added record moves others between \
                 batches: draw Poisson batches, or ask for replace-one"
            }
            (Relation::AddRemove, Scheme::BallsInBins { batch: Some(_), .. }) => {
                "balls in bins for a batch size use the number of records, which add/remove protects: name the number of bins with \
                 BallsInBins::bins(…), or ask for replace-one"
            }
            _ => return Self::new(scheme),
        };
        Err(Error::Conflict(told))
    }

    /// The event of a Gaussian sum with this noise multiplier: the one place where events of sums are made.
    pub(crate) fn event(&self, noise_multiplier: f64) -> dp_accountant::Result<Event> {
        event(noise_multiplier, self.sampling)
    }

    /// The fewest releases, at least this many, that can be paid for.
    pub(crate) fn rounded(&self, releases: u64) -> u64 {
        releases.div_ceil(self.releases).saturating_mul(self.releases)
    }

    /// The number of events that this many releases are.
    pub(crate) fn events(&self, releases: u64) -> u64 {
        releases.div_ceil(self.releases).saturating_mul(self.events)
    }
}

/// The event of a Gaussian sum.
pub(crate) fn event(noise_multiplier: f64, sampling: Sampling) -> dp_accountant::Result<Event> {
    Event::new(Mechanism::Gaussian { noise_multiplier }, sampling)
}

/// The event of a private choice.
pub(crate) fn choice_event(epsilon: f64) -> dp_accountant::Result<Event> {
    Event::new(Mechanism::PureDp { epsilon }, Sampling::None)
}

/// The event of a private choice whose probabilities' logarithms on neighbours differ by numbers from `t − ε` to `t`,
/// for some `t`: a Gaussian mechanism that costs no less. The proof is at [`Marginals`](crate::Marginals#privacy).
pub(crate) fn bounded_range_event(relation: Relation, epsilon: f64) -> dp_accountant::Result<Event> {
    // A part in 10¹² below the exact quotient, for rounding.
    event(bounded_range_noise_multiplier(relation) / epsilon * (1.0 - 1e-12), Sampling::None)
}

/// The noise multiplier of that event at an ε of 1: `4/√(2π)` under add/remove, and twice that under replace-one, where
/// the accountant takes neighbours to be twice as far apart.
pub(crate) fn bounded_range_noise_multiplier(relation: Relation) -> f64 {
    let apart = match relation {
        Relation::AddRemove => 1.0,
        Relation::ReplaceOne => 2.0,
    };
    apart * 4.0 / std::f64::consts::TAU.sqrt()
}

/// The fraction of records a scheme takes on average, over an epoch if it has any; above 1 where records are
/// drawn more than once.
pub(crate) fn sampling_rate(scheme: &Scheme) -> Result<f64> {
    match *scheme {
        Scheme::Full => Ok(1.0),
        Scheme::Poisson { rate, .. } => Ok(rate),
        Scheme::WithoutReplacement { batch, records, .. }
        | Scheme::WithReplacement { batch, records, .. } => Ok(batch as f64 / records as f64),
        // The last batch of an epoch may be shorter: all are divided alike, and add up to the right sum.
        Scheme::Shuffle { batch, records, .. } => Ok(1.0 / records.div_ceil(batch) as f64),
        Scheme::BallsInBins { bins, .. } => Ok(1.0 / bins as f64),
        ref other => Err(Error::UnknownScheme(other.to_string())),
    }
}

/// The variance of a batch's estimate of a sum, over the sum of squares: what sampling adds to the noise of
/// one release.
pub(crate) fn sampling_variance(scheme: &Scheme, rate: f64) -> f64 {
    match scheme {
        // Independent draws: B of them, each worth N/B.
        Scheme::WithReplacement { .. } => 1.0 / rate,
        _ => (1.0 - rate) / rate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::{BallsInBins, FixedSize, FullBatch, Poisson, Shuffle, Subsampling, WithReplacement};

    fn schemes() -> [Scheme; 7] {
        [
            FullBatch.scheme(100).unwrap(),
            Poisson::rate(0.1).unwrap().scheme(100).unwrap(),
            FixedSize::batch(30).unwrap().scheme(100).unwrap(),
            WithReplacement::batch(30).unwrap().scheme(100).unwrap(),
            Shuffle::batch(30).unwrap().scheme(100).unwrap(),
            BallsInBins::bins(4).unwrap().scheme(100).unwrap(),
            BallsInBins::batch(30).unwrap().scheme(100).unwrap(),
        ]
    }

    #[test]
    fn schemes_that_need_the_number_of_records_are_refused_by_name_where_it_is_protected() {
        let names = [
            None,
            None,
            Some("without replacement"),
            Some("with replacement"),
            Some("shuffled epochs"),
            None,
            Some("balls in bins for a batch size"),
        ];
        for (scheme, name) in schemes().iter().zip(names) {
            let told = Pricing::permitted(Relation::AddRemove, scheme).err().map(|error| error.to_string());
            match (name, told) {
                (None, None) => {}
                (Some(name), Some(told)) => {
                    assert!(told.contains(name) && told.contains("replace-one"), "{told}")
                }
                (name, told) => panic!("{scheme}: {name:?}, {told:?}"),
            }
            assert!(Pricing::permitted(Relation::ReplaceOne, scheme).is_ok());
        }
    }

    #[test]
    fn epochs_are_paid_for_as_a_whole() {
        let counts = schemes().map(|scheme| {
            let pricing = Pricing::new(&scheme).unwrap();
            [0, 1, 4, 5].map(|releases| (pricing.rounded(releases), pricing.events(releases)))
        });
        let each = [(0, 0), (1, 1), (4, 4), (5, 5)];
        assert_eq!(counts[..4], [each; 4]);
        assert_eq!(counts[4], [(0, 0), (4, 4), (4, 4), (8, 8)]);
        assert_eq!(counts[5], [(0, 0), (4, 1), (4, 1), (8, 2)]);
        assert_eq!(counts[6], counts[5]);
    }

    #[test]
    fn rates_are_what_samplers_draw() {
        use dp_sampler::{Seed, Subsampler};
        fn drawn(plan: &impl Subsampling) -> f64 {
            plan.bind(100, &Seed::for_tests(1)).unwrap().expected_batch() / 100.0
        }
        let drawn = [
            drawn(&FullBatch),
            drawn(&Poisson::rate(0.1).unwrap()),
            drawn(&FixedSize::batch(30).unwrap()),
            drawn(&WithReplacement::batch(30).unwrap()),
            drawn(&Shuffle::batch(30).unwrap()),
            drawn(&BallsInBins::bins(4).unwrap()),
            drawn(&BallsInBins::batch(30).unwrap()),
        ];
        for (scheme, drawn) in schemes().iter().zip(drawn) {
            assert!((sampling_rate(scheme).unwrap() - drawn).abs() < 1e-15, "{scheme}");
        }
    }
}
