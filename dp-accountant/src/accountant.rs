//! From a composition to certified epsilon and delta.

use crate::closed_form::{Interval, gaussian_delta, invert, subsampled_step_delta};
use crate::lattice::{self, Query, Step};
use crate::schemes;
use crate::special::ROUNDOFF;
use crate::{Certified, Composition, Engine, Error, Event, Mechanism, Relation, Result, Sampling};

/// The relative width `(upper - lower) / upper` that an accountant aims at for epsilon; below an epsilon of 0.001 it
/// aims at this share of 0.001. For delta, which falls exponentially in epsilon, it aims at fifty times this.
pub const DEFAULT_RELATIVE_WIDTH: f64 = 2e-5;

/// How many times wider, relatively, an interval for delta may be than one for epsilon.
pub(crate) const DELTA_WIDTH_FACTOR: f64 = 50.0;

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
/// *An interval* is honest where no tight pair of laws is known: the upper end holds for all data sets, the lower end is
/// attained by some, and the truth lies between. Guarantees ([`Mechanism::PureDp`], [`Mechanism::ApproximateDp`]) are those under
/// the relation that is asked about; the lower end is that of the worst mechanism that keeps them. Without replacement
/// under add/remove the number of records is the larger one of the two data sets; with the smaller one the upper end still holds.
///
/// Under add/remove the pairs of outcome laws that dominate all others are, for a Poisson-subsampled sum,
/// ((1-q) N(0, σ²) + q N(1, σ²), N(0, σ²)) for removing a record and its reverse for adding one. Each direction is composed over all
/// events, and the larger delta is taken after composition.
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
/// assert_eq!(epsilon.engine, Engine::ClosedForm);
/// assert!((epsilon.upper - 7.511275900745).abs() < 1e-9);
/// let delta = accountant.delta(2.0)?;
/// assert!((delta.upper - 0.170465418915).abs() < 1e-9);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
///
/// # References
/// Zhu, Dong and Wang 2022, "Optimal Accounting of Differential Privacy via Characteristic Function" (dominating pairs
/// and their composition).
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
    /// [`Error::PartOfEpoch`] for an event without a proven answer; [`Error::NoEpsilon`] where a guarantee fails with a
    /// probability above delta; [`Error::TooManyEvents`] for thousands of distinct ones.
    pub fn epsilon(&self, delta: f64) -> Result<Certified> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Error::Delta { value: delta });
        }
        if schemes::Run::is_needed(self.relation, &self.composition) {
            let run = schemes::Run::new(self.relation, &self.composition)?;
            return run.answer(Query::Epsilon { delta }, self.relative_width);
        }
        let run = Run::new(self.relation, &self.composition)?;
        let closed = invert(|epsilon| run.enclose_delta(epsilon), delta);
        self.answer(&run, closed, Query::Epsilon { delta })
    }

    /// The smallest delta for which the composition is (epsilon, delta)-differentially private.
    ///
    /// # Accuracy
    /// Values below 1e-280 are only bounded from above.
    ///
    /// # Errors
    /// [`Error::Epsilon`] unless `epsilon` is finite and not negative; otherwise those of [`Self::epsilon`] about events.
    pub fn delta(&self, epsilon: f64) -> Result<Certified> {
        if !(epsilon >= 0.0 && epsilon.is_finite()) {
            return Err(Error::Epsilon { value: epsilon, bound: "not negative" });
        }
        if schemes::Run::is_needed(self.relation, &self.composition) {
            let run = schemes::Run::new(self.relation, &self.composition)?;
            return run.answer(Query::Delta { epsilon }, self.relative_width);
        }
        let run = Run::new(self.relation, &self.composition)?;
        let closed = run.enclose_delta(epsilon);
        self.answer(&run, closed, Query::Delta { epsilon })
    }

    /// Improves an interval from closed forms by the loss distribution where they are not the whole answer.
    fn answer(&self, run: &Run, closed: Interval, query: Query) -> Result<Certified> {
        let settled = closed.upper - closed.lower <= self.relative_width * closed.upper;
        let (interval, engine) = if run.is_exact() || settled || !run.has_exact_counts() {
            (closed, Engine::ClosedForm)
        } else {
            (lattice::solve(&run.steps(), query, closed, self.relative_width), Engine::LossDistribution)
        };
        let estimate = interval.lower + 0.5 * (interval.upper - interval.lower);
        Certified::new(interval.lower, estimate.min(interval.upper), interval.upper, engine)
    }
}

/// A composition sorted into what the formulas take: one Gaussian block and a list of subsampled steps.
#[derive(Debug)]
struct Run {
    /// Sum over unsampled steps of (sensitivity / noise multiplier)², its square root being the block's mu.
    squared_mu: f64,
    /// The same sum over all steps as if none were sampled.
    squared_mu_unsampled: f64,
    /// Poisson-subsampled steps, in an order that does not depend on how they were composed.
    subsampled: Vec<Step>,
    /// A bound on the relative error of both sums.
    relative_error: f64,
}

impl Run {
    fn new(relation: Relation, composition: &Composition) -> Result<Self> {
        let mut unsampled: Vec<Step> = Vec::new();
        let mut subsampled: Vec<Step> = Vec::new();
        for (event, count) in composition.iter() {
            let count = count as f64;
            match (event.mechanism(), event.sampling()) {
                (
                    Mechanism::Gaussian { noise_multiplier },
                    Sampling::None | Sampling::Poisson { rate: 1.0 },
                ) => unsampled.push(Step { noise_multiplier, rate: 1.0, count }),
                (Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate })
                    if relation == Relation::AddRemove =>
                {
                    subsampled.push(Step { noise_multiplier, rate, count });
                }
                _ => {
                    let instead = "this formula is for Gaussian steps";
                    return Err(Error::UnsupportedEvent { relation, event, instead });
                }
            }
        }
        let order = |a: &Step, b: &Step| {
            (a.noise_multiplier, a.rate, a.count)
                .partial_cmp(&(b.noise_multiplier, b.rate, b.count))
                .unwrap_or(std::cmp::Ordering::Equal)
        };
        unsampled.sort_by(order);
        subsampled.sort_by(order);
        let sensitivity = match relation {
            Relation::AddRemove => 1.0,
            Relation::ReplaceOne => 2.0,
        };
        let squared_mu = |steps: &[Step]| -> f64 {
            steps.iter().map(|s| s.count * (sensitivity / s.noise_multiplier).powi(2)).sum()
        };
        let sum = squared_mu(&unsampled);
        let lines = (unsampled.len() + subsampled.len()) as f64;
        Ok(Self {
            squared_mu: sum,
            squared_mu_unsampled: sum + squared_mu(&subsampled),
            subsampled,
            relative_error: (lines + 8.0) * ROUNDOFF,
        })
    }

    /// Whether a closed form is the answer, and not just a bound on it.
    fn is_exact(&self) -> bool {
        match self.subsampled.as_slice() {
            [] => true,
            [only] => only.count == 1.0 && self.squared_mu == 0.0,
            _ => false,
        }
    }

    /// Whether all counts are exact as floating-point numbers, which the loss distribution takes for granted.
    fn has_exact_counts(&self) -> bool {
        self.subsampled.iter().all(|step| step.count <= (1u64 << 53) as f64)
    }

    /// An interval for delta from closed forms: exact if [`Self::is_exact`], otherwise true but wide.
    ///
    /// From below: a run is at least as revealing as its Gaussian block, and as any single step of it. From above: it
    /// is at most as revealing as without sampling (sampling is a mixture with a pair that reveals nothing, and the
    /// divergence is convex), and delta never exceeds the sum over steps of the total variation distance.
    fn enclose_delta(&self, epsilon: f64) -> Interval {
        let gaussian = |squared_mu: f64| match squared_mu {
            0.0 => Interval::ZERO,
            _ => gaussian_delta(squared_mu.sqrt(), self.relative_error, epsilon),
        };
        let block = gaussian(self.squared_mu);
        if self.subsampled.is_empty() {
            return block;
        }
        let step = |s: &Step, epsilon| subsampled_step_delta(s.noise_multiplier, s.rate, epsilon);
        if self.is_exact() {
            return step(&self.subsampled[0], epsilon);
        }
        let lower = self.subsampled.iter().map(|s| step(s, epsilon).lower).fold(block.lower, f64::max);
        let variation: f64 = self.subsampled.iter().map(|s| s.count * step(s, 0.0).upper).sum();
        let block_variation = match self.squared_mu {
            0.0 => 0.0,
            squared => gaussian_delta(squared.sqrt(), self.relative_error, 0.0).upper,
        };
        let total_variation = (variation + block_variation) * (1.0 + self.relative_error);
        let upper = gaussian(self.squared_mu_unsampled).upper.min(total_variation).min(1.0);
        Interval { lower: lower.min(upper), upper }
    }

    /// All steps for the loss distribution, the unsampled ones as one Gaussian step of the same total.
    fn steps(&self) -> Vec<Step> {
        let block = Step { noise_multiplier: 1.0 / self.squared_mu.sqrt(), rate: 1.0, count: 1.0 };
        self.subsampled.iter().copied().chain((self.squared_mu > 0.0).then_some(block)).collect()
    }
}
