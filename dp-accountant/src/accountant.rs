//! From a composition to certified epsilon and delta.

use crate::closed_form::{Interval, gaussian_delta, invert, subsampled_step_delta};
use crate::fourier::{self, Direction, Law, LogInterval};
use crate::lattice::{self, Query, Step};
use crate::schemes;
use crate::special::ROUNDOFF;
use crate::{Certified, Composition, Engine, Error, Event, Mechanism, Relation, Result, Sampling};

/// The relative width `(upper - lower) / upper` that an accountant aims at for epsilon; below an epsilon of 0.001 it
/// aims at this share of 0.001. For delta, which falls exponentially in epsilon, it aims at fifty times this.
pub const DEFAULT_RELATIVE_WIDTH: f64 = 2e-5;

/// How many times wider, relatively, an interval for delta may be than one for epsilon.
pub(crate) const DELTA_WIDTH_FACTOR: f64 = 50.0;

/// The width at which the logarithm of a tiny delta is aimed.
const LOG_TOLERANCE: f64 = 1e-6;

/// Computes what a composition of events costs under a neighbouring relation.
///
/// # Privacy
/// Certified answers exist for the Gaussian mechanism without sampling under both relations and with Poisson sampling
/// under add/remove, in any mixture of parameters. Anything else is [`Error::Unsupported`].
///
/// Under add/remove the pairs of outcome laws that dominate all others are ((1-q) N(0, σ²) + q N(1, σ²), N(0, σ²)) for
/// removing a record and its reverse for adding one. Each direction is composed over all events, and the larger delta
/// is taken after composition.
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
    /// [`Error::Delta`] unless `0 < delta < 1`; [`Error::Unsupported`] for an event without a proven answer.
    pub fn epsilon(&self, delta: f64) -> Result<Certified> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Error::Delta { value: delta });
        }
        if schemes::Run::is_needed(self.relation, &self.composition) {
            let run = schemes::Run::new(self.relation, &self.composition)?;
            return run.answer(Query::Epsilon { delta }, self.relative_width);
        }
        let run = Run::new(self.relation, &self.composition)?;
        self.answer(&run, Query::Epsilon { delta })
    }

    /// The smallest delta for which the composition is (epsilon, delta)-differentially private.
    ///
    /// # Accuracy
    /// Values below 1e-280 are only bounded from above.
    ///
    /// # Errors
    /// [`Error::Epsilon`] unless `epsilon` is finite and not negative; [`Error::Unsupported`] for an event without a
    /// proven answer.
    pub fn delta(&self, epsilon: f64) -> Result<Certified> {
        if !(epsilon >= 0.0 && epsilon.is_finite()) {
            return Err(Error::Epsilon { value: epsilon, bound: "not negative" });
        }
        if schemes::Run::is_needed(self.relation, &self.composition) {
            let run = schemes::Run::new(self.relation, &self.composition)?;
            return run.answer(Query::Delta { epsilon }, self.relative_width);
        }
        let run = Run::new(self.relation, &self.composition)?;
        self.answer(&run, Query::Delta { epsilon })
    }

    /// The logarithm of delta from the engine that needs no delta for it, where that engine has an answer.
    pub(crate) fn inverted_log_delta(&self, epsilon: f64) -> Result<Option<LogInterval>> {
        if schemes::Run::is_needed(self.relation, &self.composition) {
            return Ok(None);
        }
        let run = Run::new(self.relation, &self.composition)?;
        let asked = !run.is_exact() && run.has_exact_counts();
        Ok(if asked { run.profile().log_delta(epsilon, LOG_TOLERANCE) } else { None })
    }

    /// Asks the engines in turn: closed forms where they are the whole answer, then Fourier inversion, and where that has no
    /// answer or too wide a one, closed-form bounds narrowed by loss distributions.
    fn answer(&self, run: &Run, query: Query) -> Result<Certified> {
        let closed = || match query {
            Query::Epsilon { delta } => invert(|epsilon| run.enclose_delta(epsilon), delta),
            Query::Delta { epsilon } => run.enclose_delta(epsilon),
        };
        if run.is_exact() || !run.has_exact_counts() {
            return certify(Proven::new(closed(), Engine::ClosedForm));
        }
        let goal = match query {
            Query::Epsilon { .. } => self.relative_width,
            Query::Delta { .. } => (DELTA_WIDTH_FACTOR * self.relative_width).min(1.0),
        };
        let inverted = match query {
            Query::Epsilon { delta } => run.profile().epsilon(delta, goal),
            Query::Delta { epsilon } => run.profile().delta(epsilon, goal),
        };
        let inverted = inverted.map(|interval| Proven::new(interval, Engine::FourierInversion));
        let narrow = |found: &Proven| {
            let scale = match query {
                Query::Epsilon { .. } => found.interval.upper.max(lattice::SMALLEST_SCALE),
                Query::Delta { .. } => found.interval.upper,
            };
            found.interval.upper - found.interval.lower <= goal * scale
        };
        if let Some(found) = inverted.filter(narrow) {
            return certify(found);
        }
        let mut found = Proven::new(closed(), Engine::ClosedForm);
        if let Some(inverted) = inverted {
            found = found.intersect(inverted);
        }
        if !narrow(&found) {
            let interval = lattice::solve(&run.steps(), query, found.interval, self.relative_width);
            found = found.intersect(Proven::new(interval, Engine::LossDistribution));
        }
        certify(found)
    }
}

/// An interval and who proved its ends.
#[derive(Debug, Clone, Copy)]
struct Proven {
    interval: Interval,
    lower: Engine,
    upper: Engine,
}

impl Proven {
    fn new(interval: Interval, engine: Engine) -> Self {
        Self { interval, lower: engine, upper: engine }
    }

    /// What is known when both hold; an end is credited to the other engine where that one's is better.
    fn intersect(self, other: Self) -> Self {
        Self {
            interval: self.interval.intersect(other.interval),
            lower: if other.interval.lower > self.interval.lower { other.lower } else { self.lower },
            upper: if other.interval.upper < self.interval.upper { other.upper } else { self.upper },
        }
    }
}

fn certify(Proven { interval, lower, upper }: Proven) -> Result<Certified> {
    let estimate = interval.lower + 0.5 * (interval.upper - interval.lower);
    Ok(Certified::new(interval.lower, estimate.min(interval.upper), interval.upper, upper)?
        .proven_by(lower, upper))
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

    /// The composition in both directions, for Fourier inversion.
    fn profile(&self) -> fourier::Composition {
        let side = |direction| {
            let law = |s: &Step| (Law { direction, sigma: s.noise_multiplier, rate: s.rate }, s.count);
            self.subsampled.iter().map(law).collect()
        };
        let directions = vec![side(Direction::Remove), side(Direction::Add)];
        fourier::Composition { directions, squared_mu: self.squared_mu }
    }

    /// All steps for the loss distribution, the unsampled ones as one Gaussian step of the same total.
    fn steps(&self) -> Vec<Step> {
        let block = Step { noise_multiplier: 1.0 / self.squared_mu.sqrt(), rate: 1.0, count: 1.0 };
        self.subsampled.iter().copied().chain((self.squared_mu > 0.0).then_some(block)).collect()
    }
}
