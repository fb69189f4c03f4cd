//! A private choice of where to start, for likelihoods with several optima.

use crate::error::{Error, Result};
use crate::guide::GuideSite;
use crate::initial::unconstrained;
use crate::sensitive::Sensitive;
use crate::traced::Traced;
use dp_accountant::{Event, Mechanism, Relation, Sampling};
use dp_sampler::{Purpose, Seed};
use ndarray::ArrayD;
use ppl_core::{Graph, Model, Plan, Program, Records, Unconstrained};
use rand_core::Rng;
use std::collections::BTreeMap;

/// Starting points to choose from, by how well they fit the records: the exponential mechanism.
///
/// ```text
/// u_c = Σ_i (clip(ln p(x_i | c), a, b) − a)/(b − a)          a term in [0, 1] for each record
/// P(choose c) ∝ exp(s u_c)                                    s = ε₀ under add/remove, ε₀/2 under replace-one
/// ```
///
/// # Privacy
/// *Add/remove.* A further record raises every `u_c` by something in [0, 1]: the weight `exp(s u_c)` grows by a factor in `[1, e^s]`, and so does the sum of
/// the weights. Their ratio changes by a factor between `e^−s` and `e^s`: `ε₀ = s`, half of what it would be if some utilities could fall
/// while others rise.
///
/// *Replace-one.* Each `u_c` changes by something in [−1, 1], weight and sum by factors in `[e^−s, e^s]`, their ratio by one in `[e^−2s, e^2s]`: `ε₀ = 2s`.
///
/// The candidates and the range `[a, b]` must not depend on the data; they may depend on public bounds of the columns. A
/// likelihood that is no number counts as `a`. One event of pure ε₀ in the ledger.
///
/// # References
/// McSherry, Talwar 2007, "Mechanism Design via Differential Privacy".
#[derive(Clone, Debug)]
pub struct PrivateStart {
    /// The starting points: for each, values of latent sites or parameters by name, in their supports. Sites that are not named are taken to
    /// be at 0 unconstrained, parameters at their initial values, and start where they would otherwise.
    pub candidates: Vec<BTreeMap<String, ArrayD<f64>>>,
    /// `a` and `b`, the log-likelihoods of one record between which candidates are told apart.
    pub range: (f64, f64),
    /// The share of the budget's ε that is spent on the choice, strictly between 0 and 1; 0.2 served a mixture well.
    pub share: f64,
}

/// Values by site.
type Values = BTreeMap<String, ArrayD<f64>>;

/// Most candidates.
const MOST: usize = 1_000_000;

impl PrivateStart {
    pub(crate) fn validate(&self) -> Result<()> {
        let out = |what, requirement, value| Err(Error::OutOfRange { what, requirement, value });
        if !(1..=MOST).contains(&self.candidates.len()) {
            return out(
                "number of candidates to start from",
                "between 1 and 10^6",
                self.candidates.len() as f64,
            );
        }
        let (a, b) = self.range;
        if !(a.is_finite() && b.is_finite() && b - a > 0.0) {
            return out("width of the range of log-likelihoods", "positive and finite", b - a);
        }
        if !(self.share > 0.0 && self.share < 1.0) {
            return out("share of the budget for the start", "strictly between 0 and 1", self.share);
        }
        Ok(())
    }

    /// The event of the choice, for its ε.
    pub(crate) fn event(epsilon: f64) -> dp_accountant::Result<Event> {
        Event::new(Mechanism::PureDp { epsilon }, Sampling::None)
    }

    /// Makes the choice: unconstrained values by site. The event has been paid for; without a relation, nothing is private and
    /// the best candidate is taken.
    pub(crate) fn choose(
        &self,
        model: &impl Model,
        records: &Sensitive<Records>,
        private: Option<(f64, Relation)>,
        seed: &Seed,
    ) -> Result<Values> {
        let utilities = self.utilities(model, records)?;
        let largest = utilities.iter().map(|(utility, _)| *utility).fold(f64::NEG_INFINITY, f64::max);
        let chosen = match private {
            None => utilities.iter().position(|(utility, _)| *utility == largest).unwrap_or(0),
            Some((epsilon, relation)) => {
                let slope = match relation {
                    Relation::AddRemove => epsilon,
                    Relation::ReplaceOne => 0.5 * epsilon,
                };
                let streams = seed.streams(Purpose::Custom("private start"));
                let uniform = (streams.at(0).next_u64() >> 11) as f64 * 2.0_f64.powi(-53);
                let all: Vec<f64> = utilities.iter().map(|(utility, _)| *utility).collect();
                pick(&all, slope, uniform)
            }
        };
        Ok(utilities.into_iter().nth(chosen).map(|(_, values)| values).unwrap_or_default())
    }

    /// The candidates' unconstrained values.
    ///
    /// # Errors
    /// If one names no site of the model, or has a value of another shape or outside the support.
    pub(crate) fn unconstrained(&self, sites: &[GuideSite]) -> Result<Vec<Values>> {
        let one = |candidate| unconstrained(sites, candidate, "candidate to start from");
        self.candidates.iter().map(one).collect()
    }

    /// Each candidate's utility, and its unconstrained values.
    fn utilities(&self, model: &impl Model, records: &Sensitive<Records>) -> Result<Vec<(f64, Values)>> {
        let graph = Graph::new();
        let traced = Traced::new(model, &graph, records.schema())?;
        let candidates = self.unconstrained(&traced.sites)?;
        let mut plan = Plan::<f64>::new(&Program::new(&graph, &[traced.log_likelihood])?);
        let records = records.behind_the_wall();
        let all: Vec<u64> = (0..records.len() as u64).collect();
        let (a, b) = self.range;
        let mut found = Vec::with_capacity(self.candidates.len());
        for candidate in candidates {
            for site in &traced.sites {
                let values: Vec<f64> = match candidate.get(&site.name).or(site.initial.as_ref()) {
                    Some(values) => values.iter().copied().collect(),
                    None => vec![0.0; site.elements()],
                };
                if let Ok(input) = plan.input(&Unconstrained::input_name(&site.name)) {
                    plan.input_mut(input).copy_from_slice(&values);
                }
            }
            let terms = plan.evaluate(records, &all, 0)?;
            // NaN becomes `a`: `max` prefers the number.
            let utility: f64 = terms.iter().map(|&term| (term.max(a).min(b) - a) / (b - a)).sum();
            found.push((utility, candidate));
        }
        Ok(found)
    }
}

/// The number of a candidate, with probability proportional to `exp(slope · utility)`, from a uniform number.
fn pick(utilities: &[f64], slope: f64, uniform: f64) -> usize {
    let largest = utilities.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = utilities.iter().map(|utility| (slope * (utility - largest)).exp()).collect();
    let mut rest = uniform * weights.iter().sum::<f64>();
    for (number, weight) in weights.iter().enumerate() {
        if rest < *weight {
            return number;
        }
        rest -= weight;
    }
    // Rounding: the last one that has a weight.
    weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_picked_by_their_weights() {
        let utilities = [3.0_f64, 5.0, 4.0];
        let weights: Vec<f64> = utilities.iter().map(|u| (0.7 * u).exp()).collect();
        let total: f64 = weights.iter().sum();
        let n = 100_000;
        let mut counts = [0.0; 3];
        (0..n).for_each(|k| counts[pick(&utilities, 0.7, (f64::from(k) + 0.5) / f64::from(n))] += 1.0);
        for (count, weight) in counts.iter().zip(&weights) {
            // A grid of uniform numbers: off by one or two at each end.
            assert!((count - f64::from(n) * weight / total).abs() <= 2.0);
        }
        assert_eq!(pick(&[0.0, -1e300], 1.0, 1.0 - 1e-16), 0);
    }
}
