//! From a composition to certified epsilon and delta.

use crate::fourier::{LogInterval, Patience};
use crate::lattice::Query;
use crate::run::{Run, Shelves};
use crate::{Certified, Composition, Error, Event, Relation, Result};

/// The relative width `(upper - lower) / upper` that an accountant aims at for epsilon; below an epsilon of
/// 0.001 it aims at this share of 0.001. For delta, which falls exponentially in epsilon, it aims at fifty
/// times this.
pub const DEFAULT_RELATIVE_WIDTH: f64 = 2e-5;

/// How many times wider, relatively, an interval for delta may be than one for epsilon.
pub(crate) const DELTA_WIDTH_FACTOR: f64 = 50.0;

/// Below this delta the ratio of tables and sums in double precision to what is asked is near its limit: small rates
/// leave intervals some per cent wide, whatever the work. There engines and searches end as soon as more work stops
/// to help; above it they do all they can.
pub(crate) const DEEP: f64 = 1e-30;

/// The width that is wanted of the logarithm of a tiny delta.
const LOG_WIDTH: f64 = 1e-5;

/// Computes what a composition of events costs under a neighbouring relation.
///
/// # Privacy
/// What is certified, in any mixture of parameters (anything else is an error that says what to ask instead):
///
/// | sampling | add/remove | replace-one |
/// |---|---|---|
/// | none | all mechanisms but randomised response | all |
/// | Poisson | all but randomised response | Gaussian |
/// | without replacement | all but guarantees | all, an interval |
/// | with replacement | Gaussian | Gaussian, an interval |
/// | shuffled, whole epochs | an error | all, an interval without amplification |
///
/// *An interval* is honest where no tight pair of laws is known: the upper end holds for all data sets, the
/// lower end is attained by some, and the truth lies between. Guarantees
/// ([`PureDp`](crate::Mechanism::PureDp), [`ApproximateDp`](crate::Mechanism::ApproximateDp)) are those under
/// the relation that is asked about; the lower end is that of the worst mechanism that keeps them. Without
/// replacement under add/remove the number of records is the larger one of the two data sets; with the
/// smaller one the upper end still holds.
///
/// Under add/remove the pairs of outcome laws that dominate all others are, for a Poisson-subsampled sum,
/// ((1-q) N(0, σ²) + q N(1, σ²), N(0, σ²)) for removing a record and its reverse for adding one. Each
/// direction is composed over all events, and the larger delta is taken after composition.
///
/// # Accuracy
/// See the [crate documentation](crate).
///
/// ```
/// use dp_accountant::{Accountant, Engine, Event, Mechanism, Relation, Sampling};
///
/// let event = Event::new(Mechanism::Gaussian { noise_multiplier: 20.0 }, Sampling::None)?;
/// let accountant = Accountant::new(Relation::AddRemove).compose(event, 1_000);
/// let epsilon = accountant.epsilon(1e-5)?;
/// assert_eq!(epsilon.upper_engine, Engine::ClosedForm);
/// assert!((epsilon.upper - 7.511275900745).abs() < 1e-9);
/// let delta = accountant.delta(2.0)?;
/// assert!((delta.upper - 0.170465418915).abs() < 1e-9);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
///
/// # References
/// Zhu, Dong and Wang 2022, "Optimal Accounting of Differential Privacy via Characteristic Function"
/// (dominating pairs and their composition).
#[derive(Debug, Clone)]
pub struct Accountant {
    relation: Relation,
    composition: Composition,
    relative_width: f64,
}

impl Accountant {
    /// An accountant of nothing yet.
    pub fn new(relation: Relation) -> Self {
        Self { relation, composition: Composition::new(), relative_width: DEFAULT_RELATIVE_WIDTH }
    }

    /// Adds `count` times an event.
    pub fn compose(mut self, event: Event, count: u64) -> Self {
        self.composition.push(event, count);
        self
    }

    /// Adds all events of a composition.
    pub fn with(mut self, composition: &Composition) -> Self {
        self.composition.extend(composition.iter());
        self
    }

    /// Aims at another relative width of the intervals than [`DEFAULT_RELATIVE_WIDTH`]: wider is faster.
    ///
    /// # Errors
    /// [`Error::RelativeWidth`] outside 1e-9 to 1.
    pub fn relative_width(mut self, value: f64) -> Result<Self> {
        if !(1e-9..=1.0).contains(&value) {
            return Err(Error::RelativeWidth { value });
        }
        self.relative_width = value;
        Ok(self)
    }

    /// The neighbouring relation.
    pub fn relation(&self) -> Relation {
        self.relation
    }

    /// What has been composed.
    pub fn composition(&self) -> &Composition {
        &self.composition
    }

    /// The smallest epsilon for which the composition is (epsilon, delta)-differentially private.
    ///
    /// # Errors
    /// [`Error::Delta`] unless `0 < delta < 1`; [`Error::Unsupported`], [`Error::UnsupportedEvent`] or
    /// [`Error::PartOfEpoch`] for an event without a proven answer; [`Error::NoEpsilon`] where a guarantee
    /// fails with a probability above delta; [`Error::TooManyEvents`] for thousands of distinct ones.
    pub fn epsilon(&self, delta: f64) -> Result<Certified> {
        self.run()?.answer(epsilon_at(delta)?, self.relative_width)
    }

    /// The smallest delta for which the composition is (epsilon, delta)-differentially private.
    ///
    /// # Accuracy
    /// Values below 1e-280 are only bounded from above.
    ///
    /// # Errors
    /// [`Error::Epsilon`] unless `epsilon` is finite and not negative; otherwise those of [`Self::epsilon`]
    /// about events.
    pub fn delta(&self, epsilon: f64) -> Result<Certified> {
        let query = delta_at(epsilon)?;
        self.run()?.answer(query, self.relative_width)
    }

    /// Many questions about the composition, for which nothing is composed twice. About epsilons above
    /// `highest` nothing is kept.
    pub(crate) fn inquiry(&self, highest: f64) -> Result<Inquiry> {
        let run = self.run()?;
        Ok(Inquiry { shelves: run.shelves(highest), run, relative_width: self.relative_width })
    }

    /// What the analysis promises at this delta, without the attacks that show how much of it is true: the upper end
    /// is that of [`Self::epsilon`], the lower end says how far more work could bring it down. Also whether
    /// [`Self::epsilon`] would say the same.
    ///
    /// Searches ask for this, because budgets are kept by upper ends, and attacks take most of the time.
    pub(crate) fn promised_epsilon(&self, delta: f64) -> Result<(Certified, bool)> {
        self.run()?.promise(epsilon_at(delta)?, self.relative_width, false, &mut Shelves::default())
    }

    /// The same for a search, with what earlier questions of it left on the shelves. One that `follows` begins where
    /// the last one ended; others say what [`Self::promised_epsilon`] does.
    pub(crate) fn next_promised_epsilon(
        &self,
        delta: f64,
        follows: bool,
        shelves: &mut Shelves,
    ) -> Result<(Certified, bool)> {
        self.run()?.promise(epsilon_at(delta)?, self.relative_width, follows, shelves)
    }

    /// [`Self::epsilon`] for a search, with what earlier questions of it left on the shelves.
    pub(crate) fn next_epsilon(&self, delta: f64, shelves: &mut Shelves) -> Result<Certified> {
        self.run()?.answer_within(epsilon_at(delta)?, self.relative_width, 0.0, shelves)
    }

    /// The logarithm of delta from the engine that needs no delta for it, where that engine has an answer.
    pub(crate) fn inverted_log_delta(&self, epsilon: f64) -> Result<Option<LogInterval>> {
        let profile = self.run()?.profile();
        Ok(profile.and_then(|profile| profile.log_delta(epsilon, LOG_WIDTH, Patience::Much)))
    }

    /// The composition in the form in which it is asked about.
    fn run(&self) -> Result<Run> {
        Run::new(self.relation, &self.composition)
    }
}

/// Questions about one composition, with what has been composed for earlier ones.
pub(crate) struct Inquiry {
    run: Run,
    shelves: Shelves,
    relative_width: f64,
}

impl Inquiry {
    /// The upper end of [`Accountant::epsilon`] where attacks do not reach it, and else nearly that.
    pub(crate) fn promised_epsilon(&mut self, delta: f64) -> Result<f64> {
        let query = epsilon_at(delta)?;
        let (promise, _) = self.run.promise(query, self.relative_width, false, &mut self.shelves)?;
        Ok(promise.upper)
    }

    /// As [`Accountant::delta`], for a purpose for which some absolute width is `enough`.
    pub(crate) fn delta_within(&mut self, epsilon: f64, enough: f64) -> Result<Certified> {
        self.run.answer_within(delta_at(epsilon)?, self.relative_width, enough, &mut self.shelves)
    }

    /// From now on, once its share of work has been done, what has been composed is all there is to the
    /// answers.
    pub(crate) fn close_spent(&mut self) {
        self.shelves.close_spent();
    }

    /// Nothing will be asked about epsilons above `highest`.
    pub(crate) fn lower_to(&mut self, highest: f64) {
        self.shelves.lower_to(highest);
    }
}

/// The question for delta at an epsilon that is one.
fn delta_at(epsilon: f64) -> Result<Query> {
    if !(epsilon >= 0.0 && epsilon.is_finite()) {
        return Err(Error::Epsilon { value: epsilon, bound: "not negative" });
    }
    Ok(Query::Delta { epsilon })
}

/// The question for epsilon at a delta that is one.
fn epsilon_at(delta: f64) -> Result<Query> {
    if !(delta > 0.0 && delta < 1.0) {
        return Err(Error::Delta { value: delta });
    }
    Ok(Query::Epsilon { delta })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mechanism, Sampling};

    #[test]
    fn questions_at_and_beyond_the_bounds_are_refused() {
        let event = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::None).expect("valid");
        let accountant = Accountant::new(Relation::AddRemove).compose(event, 1);
        for delta in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
            assert!(matches!(accountant.epsilon(delta), Err(Error::Delta { .. })), "delta {delta}");
        }
        for epsilon in [-0.1, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(matches!(accountant.delta(epsilon), Err(Error::Epsilon { .. })), "epsilon {epsilon}");
        }
        for width in [0.0, 9e-10, 1.01, f64::NAN] {
            let refused = accountant.clone().relative_width(width);
            assert!(matches!(refused, Err(Error::RelativeWidth { .. })), "width {width}");
        }
        assert!(accountant.epsilon(1.0_f64.next_down()).is_ok() && accountant.delta(0.0).is_ok());
    }
}
