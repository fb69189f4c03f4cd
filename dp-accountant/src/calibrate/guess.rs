//! Where to start a search: the central limit's Gaussian mechanism. A guess, never an answer.

use crate::closed_form::gaussian_delta;
use crate::{Budget, Composition, Mechanism, Relation, Result, Sampling};

/// The mu of the Gaussian mechanism that a long composition resembles, if all its events are Gaussian.
///
/// Each subsampled step contributes q² times the variance of its likelihood ratio, e^(1/σ²) - 1 (Bu, Dong,
/// Long and Su 2020).
fn squared_mu(budget: &Budget, composition: &Composition) -> Option<f64> {
    let sensitivity = if budget.relation == Relation::AddRemove { 1.0 } else { 2.0 };
    let mut sum = 0.0;
    for (event, count) in composition.iter() {
        let shift: f64 = match event.mechanism() {
            Mechanism::Gaussian { noise_multiplier } => sensitivity / noise_multiplier,
            _ => return None,
        };
        let rate = match event.sampling() {
            Sampling::None => 1.0,
            Sampling::Poisson { rate } => rate,
            Sampling::WithoutReplacement { batch, records } => batch as f64 / records as f64,
            Sampling::WithReplacement { batch, records } => {
                sum += count as f64 * of_copies(batch as f64 / records as f64, shift, budget.delta);
                continue;
            }
            _ => return None,
        };
        let each = if rate == 1.0 { shift * shift } else { rate * rate * (shift * shift).exp_m1() };
        sum += count as f64 * each;
    }
    Some(sum)
}

/// The variance of the likelihood ratio where a record is in a batch K times, a Poisson number of this mean:
/// E e^(K K' shift²) - 1 for two independent ones. Of both only what is not rarer than delta: the variance may be that
/// of events that no budget minds.
fn of_copies(mean: f64, shift: f64, delta: f64) -> f64 {
    if mean > 10.0 {
        // Nearly the same number in every batch.
        return (mean * shift).powi(2);
    }
    let mut weights = Vec::new();
    let mut weight = (-mean).exp();
    // Beyond the mean and ten deviations there is next to nothing.
    for copies in 1..=(mean + 10.0 * mean.sqrt() + 10.0) as u32 {
        let copies = f64::from(copies);
        weight *= mean / copies;
        if copies > mean.max(1.0) && weight < delta {
            break;
        }
        weights.push((copies, weight));
    }
    let pairs = weights.iter().flat_map(|one| weights.iter().map(move |other| (one, other)));
    pairs.map(|((j, p), (k, q))| p * q * (j * k * shift * shift).exp_m1()).sum()
}

/// The point between `safe` and `bold` at which the central limit would just keep the budget; `None` where it
/// says nothing.
pub(super) fn start(
    budget: &Budget,
    safe: f64,
    bold: f64,
    events: impl Fn(f64) -> Result<Composition>,
) -> Option<f64> {
    // The largest mu that keeps the budget.
    let keeps = |mu: f64| gaussian_delta(mu, 0.0, budget.epsilon).upper <= budget.delta;
    let target = bisect(1e-12f64.ln(), 1e6f64.ln(), |log_mu| keeps(log_mu.exp())).exp();
    let within = |x: f64| {
        let composition = events(x).ok()?;
        squared_mu(budget, &composition).map(|squared| squared <= target * target)
    };
    within(safe)?;
    Some(bisect(safe, bold, |x| within(x) == Some(true)))
}

/// The end of a span in which a condition holds, if it holds at `inside`.
fn bisect(mut inside: f64, mut outside: f64, holds: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..40 {
        let middle = 0.5 * (inside + outside);
        if holds(middle) { inside = middle } else { outside = middle }
    }
    inside
}
