//! Composition theorems that see of each step only an epsilon and a delta.

use super::log_space::{golden_minimum, log_add, log_binomial};
use super::{Method, refuse};
use crate::closed_form::{gaussian_delta, invert};
use crate::special::ROUNDOFF;
use crate::{Composition, Error, Event, Mechanism, Relation, Result, Sampling};

/// Which bound gives the epsilon of one unsampled Gaussian step at a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StepBound {
    /// The exact curve: Balle and Wang 2018, "Improving the Gaussian Mechanism for Differential Privacy",
    /// Theorem 8.
    AnalyticGaussian,
    /// `epsilon = sqrt(2 log(1.25/delta))/σ`: Dwork and Roth 2014, Theorem 3.22. Proven for epsilon < 1 only;
    /// for the reproduction of published numbers.
    ClassicGaussian,
}

/// How steps add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Theorem {
    /// Sums of epsilons and of deltas: Dwork, McSherry, Nissim and Smith 2006.
    Basic,
    /// `sqrt(2 log(1/δ') Σ ε²) + Σ ε (e^ε - 1)` at `Σ δ + δ'`: Dwork, Rothblum and Vadhan 2010, "Boosting and
    /// Differential Privacy", Theorem III.3, for steps that need not be alike.
    DworkRothblumVadhan,
    /// The optimal bound from the steps' (ε, δ) alone, of up to a million equal steps; of more or unequal
    /// ones `sqrt(2 log(1/δ') Σ ε²) + Σ ε (e^ε - 1)/(e^ε + 1)`: Kairouz, Oh and Viswanath 2015, "The
    /// Composition Theorem for Differential Privacy", Theorems 3.3 and 3.5.
    KairouzOhViswanath,
}

/// An epsilon from a composition theorem.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Advanced {
    /// The epsilon of the whole run.
    pub epsilon: f64,
    /// The part of delta that the composition theorem consumed; the rest was shared by the steps.
    pub slack: f64,
    /// The largest epsilon of a single step, before the sampling is taken into account.
    pub largest_step: f64,
    /// Whether every bound was used inside the range for which it is proven. It is not for
    /// [`StepBound::ClassicGaussian`] steps with an epsilon of 1 or more.
    pub proven: bool,
}

/// The epsilon of a composition at `delta`, from one (epsilon, delta) for each step and a composition
/// theorem.
///
/// ```text
/// each step                 ε₀ at δ₀ = (δ - δ')/(T q), from `step`
/// the same on its sample    ε = log(1 + q (e^ε₀ - 1)) at q δ₀
/// the run                   `theorem` with slack δ'
/// ```
///
/// The slack δ' is chosen by search over (0, δ); every choice gives a valid bound.
///
/// # Privacy
/// Amplification by sampling holds for Poisson samples under add/remove and for batches without replacement
/// under replace-one (Balle, Barthe and Gaboardi 2018, "Privacy Amplification by Subsampling", Theorems 8 and
/// 9). Under replace-one the noise multiplier counts for half, since a replaced record moves the sum by twice
/// the clip norm.
///
/// # Errors
/// [`Error::Inapplicable`] for anything else, [`Error::Delta`] unless `0 < delta < 1`, [`Error::NoBound`] if
/// the bound is not finite.
///
/// ```
/// use dp_accountant::classical::{StepBound, Theorem, advanced_composition};
/// use dp_accountant::{Composition, Event, Mechanism, Relation, Sampling};
///
/// // Batches of 2 % without replacement, noise of 16 standard deviations for each clip norm; a replaced record counts twice.
/// let sampling = Sampling::WithoutReplacement { batch: 2, records: 100 };
/// let run = Composition::single(Event::new(Mechanism::Gaussian { noise_multiplier: 16.0 }, sampling)?, 1_000);
/// let found = advanced_composition(
///     Relation::ReplaceOne, &run, 1e-3, Theorem::DworkRothblumVadhan, StepBound::ClassicGaussian,
/// )?;
/// assert!((found.epsilon - 2.1757).abs() < 1e-4 && found.proven);
/// # Ok::<(), dp_accountant::Error>(())
/// ```
pub fn advanced_composition(
    relation: Relation,
    composition: &Composition,
    delta: f64,
    theorem: Theorem,
    step: StepBound,
) -> Result<Advanced> {
    let run = Steps::new(relation, composition, delta, theorem, step)?;
    if run.lines.is_empty() {
        return Ok(Advanced { epsilon: 0.0, slack: 0.0, largest_step: 0.0, proven: true });
    }
    if theorem == Theorem::Basic {
        return run.at(0.0);
    }
    // The optimum lies where the slack is neither nearly nothing nor nearly everything; the share is searched
    // on the logit scale.
    let share = |logit: f64| 1.0 / (1.0 + (-logit).exp());
    let at = |logit: f64| run.at(delta * share(logit)).map_or(f64::INFINITY, |found| found.epsilon);
    let coarse = (-12..=6).map(f64::from).map(|logit| (logit, at(logit)));
    let centre = coarse.min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.0, |(logit, _)| logit);
    let (logit, value) = golden_minimum(at, centre - 1.0, centre + 1.0, 24);
    let basic = run.with(Theorem::Basic).at(0.0);
    if let Ok(basic) = basic
        && (!value.is_finite() || basic.epsilon < value)
    {
        return Ok(basic);
    }
    run.at(delta * share(logit))
}

/// As [`advanced_composition`], with the slack δ' named: for the reproduction of published numbers.
///
/// # Errors
/// As [`advanced_composition`]; [`Error::Delta`] also unless `0 < slack < delta`.
pub fn advanced_composition_at(
    relation: Relation,
    composition: &Composition,
    delta: f64,
    slack: f64,
    theorem: Theorem,
    step: StepBound,
) -> Result<Advanced> {
    if !(slack > 0.0 && slack < delta) {
        return Err(Error::Delta { value: slack });
    }
    Steps::new(relation, composition, delta, theorem, step)?.at(slack)
}

/// This many equal steps are composed exactly; of more, the sum over outcomes would take seconds, and the
/// closed bound is used.
const LARGEST_EXACT: f64 = 1e6;

/// The steps of a run, ready for any slack.
#[derive(Debug, Clone)]
struct Steps {
    lines: Vec<Line>,
    total: f64,
    delta: f64,
    theorem: Theorem,
    step: StepBound,
}

/// A kind of step: noise over sensitivity, sampling rate, and how often it happened.
#[derive(Debug, Clone, Copy)]
struct Line {
    multiplier: f64,
    rate: f64,
    count: f64,
}

impl Steps {
    fn new(
        relation: Relation,
        composition: &Composition,
        delta: f64,
        theorem: Theorem,
        step: StepBound,
    ) -> Result<Self> {
        if !(delta > 0.0 && delta < 1.0) {
            return Err(Error::Delta { value: delta });
        }
        let lines: Vec<Line> =
            composition.iter().map(|(event, count)| line(relation, event, count)).collect::<Result<_>>()?;
        let total = lines.iter().map(|line| line.count).sum();
        Ok(Self { lines, total, delta, theorem, step })
    }

    fn with(&self, theorem: Theorem) -> Self {
        Self { theorem, ..self.clone() }
    }

    fn at(&self, slack: f64) -> Result<Advanced> {
        let each = (self.delta - slack) / self.total;
        let mut largest_step = 0.0f64;
        let mut steps: Vec<(f64, f64)> = Vec::with_capacity(self.lines.len());
        for line in &self.lines {
            let unsampled = epsilon_of_step(line.multiplier, each / line.rate, self.step);
            largest_step = largest_step.max(unsampled);
            steps.push((amplified(unsampled, line.rate), line.count));
        }
        let log_inverse = -slack.ln();
        let squares: f64 = steps.iter().map(|(e, count)| count * e * e).sum();
        let epsilon = match self.theorem {
            Theorem::Basic => steps.iter().map(|(e, count)| count * e).sum(),
            Theorem::DworkRothblumVadhan => {
                let drift: f64 = steps.iter().map(|(e, count)| count * e * e.exp_m1()).sum();
                (2.0 * log_inverse * squares).sqrt() + drift
            }
            Theorem::KairouzOhViswanath => match steps.as_slice() {
                // Its total, 1 - (1 - δ)^k (1 - δ'), is at most the sum k δ + δ'.
                [(e, count)] if *count <= LARGEST_EXACT => optimal_composition(*e, *count, slack),
                _ => {
                    let drift: f64 = steps.iter().map(|(e, count)| count * e * (0.5 * e).tanh()).sum();
                    (2.0 * log_inverse * squares).sqrt() + drift
                }
            },
        };
        if !epsilon.is_finite() {
            return Err(Error::NoBound { method: Method::Composition });
        }
        let proven = self.step == StepBound::AnalyticGaussian || largest_step < 1.0;
        Ok(Advanced { epsilon, slack, largest_step, proven })
    }
}

fn line(relation: Relation, event: Event, count: u64) -> Result<Line> {
    let instead = "ask the certified accountant";
    let multiplier = match event.mechanism() {
        Mechanism::Gaussian { noise_multiplier } => noise_multiplier / super::sensitivity(relation),
        _ => return Err(refuse(Method::Composition, relation, event, instead)),
    };
    let rate = match (event.sampling(), relation) {
        (Sampling::None, _) => 1.0,
        (Sampling::Poisson { rate }, Relation::AddRemove) => rate,
        (Sampling::Poisson { rate: 1.0 }, Relation::ReplaceOne) => 1.0,
        (Sampling::WithoutReplacement { batch, records }, Relation::ReplaceOne) => {
            (batch as f64 / records as f64).next_up().min(1.0)
        }
        _ => {
            let instead = "the amplification theorem is about Poisson samples under add/remove and batches without \
                           replacement under replace-one; ask the certified accountant";
            return Err(refuse(Method::Composition, relation, event, instead));
        }
    };
    Ok(Line { multiplier, rate, count: count as f64 })
}

/// The epsilon of an unsampled Gaussian step at a delta, which may exceed 1: then nothing is left to protect.
fn epsilon_of_step(multiplier: f64, delta: f64, bound: StepBound) -> f64 {
    if delta >= 1.0 {
        return 0.0;
    }
    match bound {
        StepBound::AnalyticGaussian => {
            invert(|epsilon| gaussian_delta(1.0 / multiplier, 4.0 * ROUNDOFF, epsilon), delta).upper
        }
        StepBound::ClassicGaussian => (2.0 * (1.25 / delta).ln()).sqrt() / multiplier,
    }
}

/// `log(1 + q (e^epsilon - 1))` without overflow.
fn amplified(epsilon: f64, rate: f64) -> f64 {
    if rate == 1.0 {
        epsilon
    } else if epsilon > 30.0 {
        log_add(epsilon + rate.ln(), (-rate).ln_1p())
    } else {
        (rate * epsilon.exp_m1()).ln_1p()
    }
}

/// The least epsilon at which `count` times randomised response with `step` as epsilon keeps `delta`.
///
/// # Accuracy
/// The returned end of the bisection keeps the delta, to the eleven digits of its sum.
fn optimal_composition(step: f64, count: f64, delta: f64) -> f64 {
    let worst = step * count;
    if step == 0.0 || !worst.is_finite() {
        return worst;
    }
    let (mut too_small, mut enough) = (0.0, worst);
    if composed_delta(step, count, 0.0) <= delta {
        return 0.0;
    }
    while enough - too_small > 1e-10 * enough {
        let middle = 0.5 * (too_small + enough);
        if composed_delta(step, count, middle) <= delta { enough = middle } else { too_small = middle }
    }
    enough
}

/// The delta at `epsilon` of `count` times randomised response: the loss is (k - 2l) step with l ~
/// Binomial(k, 1/(1+e^step)).
///
/// ```text
/// delta = Σ over l with (k - 2l) step > epsilon of C(k,l) p^l (1-p)^(k-l) (1 - e^(epsilon - (k - 2l) step))
/// ```
///
/// The sum starts at its most likely term and goes both ways until terms no longer count.
pub(super) fn composed_delta(step: f64, count: f64, epsilon: f64) -> f64 {
    let failure = 1.0 / (1.0 + step.exp());
    // The largest l with a positive loss beyond epsilon; at equality the term is 0.
    let last = (0.5 * (count - epsilon / step)).floor();
    if last < 0.0 {
        return 0.0;
    }
    let centre = (count * failure).floor().min(last);
    // 1 - p = e^step p.
    let log_success = -(-step).exp().ln_1p();
    let log_failure = log_success - step;
    let log_start = log_binomial(count, centre) + centre * log_failure + (count - centre) * log_success;
    let odds = step.exp();
    let gain = |l: f64| -(epsilon - (count - 2.0 * l) * step).min(0.0).exp_m1();
    let mut sum = 0.0;
    // Relative to the first term. Its gain may vanish, so that weights decide where to stop, far below any
    // gain.
    let (mut l, mut weight) = (centre, 1.0f64);
    while l >= 0.0 && weight > 1e-40 {
        sum += weight * gain(l);
        // C(k, l-1)/C(k, l) = l/(k-l+1), and one failure less.
        weight *= l / (count - l + 1.0) * odds;
        l -= 1.0;
    }
    let (mut l, mut weight) = (centre, 1.0f64);
    while l < last && weight > 1e-40 {
        weight *= (count - l) / (l + 1.0) / odds;
        l += 1.0;
        sum += weight * gain(l);
    }
    (log_start + sum.ln()).exp().min(1.0)
}
