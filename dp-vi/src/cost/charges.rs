//! Everything that a run releases, and what it costs, known before any record is touched.

use crate::cost::deviation::Deviation;
use crate::cost::pricing::{Pricing, sampling_rate};
use crate::error::{Error, Result};
use dp_accountant::{Accountant, Budget, Certified, Composition, Event, Ledger, Relation};
use dp_sampler::Scheme;
use serde::Serialize;

/// Something that is released, once or at every step. All of them together are the ε stated.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Release {
    /// What is released.
    pub what: &'static str,
    /// Its privacy event.
    pub event: Event,
    /// How often.
    pub count: u64,
}

impl Release {
    /// A release that is made `count` times.
    #[must_use]
    pub fn new(what: &'static str, event: Event, count: u64) -> Self {
        Self { what, event, count }
    }
}

/// The events of a run.
#[derive(Clone, Debug)]
pub(crate) struct Charges {
    /// Released and paid for before, and part of what is stated.
    before: Vec<Release>,
    /// Released once, whatever the number of steps.
    once: Vec<Release>,
    /// Released at every step, or once for every epoch of steps.
    step: Event,
    pricing: Pricing,
    relation: Relation,
    /// The fraction of the records that a sum is divided by.
    rate: f64,
    pub(crate) steps: u64,
    deviation: Deviation,
}

impl Charges {
    /// The events of steps with this noise on batches of a scheme, and of what is released beside them.
    pub(crate) fn new(
        once: Vec<Release>,
        relation: Relation,
        scheme: &Scheme,
        noise_multiplier: f64,
        (steps, deviation): (u64, Deviation),
    ) -> Result<Self> {
        let pricing = Pricing::permitted(relation, scheme)?;
        let (step, rate) = (pricing.event(noise_multiplier)?, sampling_rate(scheme)?);
        Ok(Self { before: Vec::new(), once, step, pricing, relation, rate, steps, deviation })
    }

    /// The same with what was released and paid for before, which the statement covers, too.
    pub(crate) fn with_before(self, before: Vec<Release>) -> Self {
        Self { before, ..self }
    }

    /// Makes sure that the steps of a mechanism on these very records are what was priced: their event, how
    /// many events the steps are and how they are rounded to epochs, and the fraction that sums are divided
    /// by.
    ///
    /// A plan is made without the records, a sampler with them. Where a scheme depends on their number, the
    /// two may differ in any of these, and only some of that shows in the event.
    pub(crate) fn check(&self, event: Event, scheme: &Scheme, rate: f64) -> Result<()> {
        let bound = Pricing::permitted(self.relation, scheme)?;
        if event != self.step {
            return Err(Error::Conflict("the mechanism's event is not the one that was planned for"));
        }
        if bound != self.pricing {
            return Err(Error::Conflict(
                "the sampler's steps on these records are not priced as planned: their sampling or the length of an epoch differs",
            ));
        }
        if rate != self.rate {
            return Err(Error::Conflict(
                "the sampler's rate on these records is not the one that was planned for",
            ));
        }
        Ok(())
    }

    /// What is released once.
    pub(crate) fn once(&self) -> Composition {
        let mut all = Composition::new();
        all.extend(self.once.iter().map(|release| (release.event, release.count)));
        all
    }

    /// What is released once, and this many steps.
    pub(crate) fn with_steps(&self, steps: u64) -> Composition {
        let mut all = self.once();
        all.push(self.step, self.pricing.events(steps));
        all
    }

    /// What the statement covers: the run, and what was released before for its sake.
    pub(crate) fn stated(&self) -> Composition {
        let mut all = self.with_steps(self.steps);
        all.extend(self.before.iter().map(|release| (release.event, release.count)));
        all
    }

    /// The whole run's ε at the budget's δ, of which a part is for what is not drawn exactly as it is
    /// accounted for.
    pub(crate) fn epsilon(&self, budget: Budget) -> Result<Certified> {
        let mut ledger = Ledger::new(self.deviation.less(budget)?)?;
        ledger.debit_all(&self.stated())?;
        let exact = ledger.spent()?;
        let taken = self.deviation.taken_of(&budget);
        if taken == 0.0 {
            return Ok(exact);
        }
        // What deviates may make a run more private, too: it costs at least what the events cost at a δ that
        // is larger by as much.
        let accountant = Accountant::new(budget.relation).with(&self.stated());
        let least = accountant.epsilon((budget.delta + taken).next_up().min(1.0_f64.next_down()))?;
        let lower = least.lower.min(exact.lower);
        Ok(Certified::new(lower, exact.estimate, exact.upper, exact.upper_engine)?
            .proven_by(least.lower_engine, exact.upper_engine))
    }

    /// The whole run's advantage for an attacker, where there is a proven one.
    pub(crate) fn advantage(&self, relation: Relation) -> Option<Certified> {
        let exact = Accountant::new(relation).with(&self.stated()).advantage().ok()?;
        let more = self.deviation.advantage();
        if more == 0.0 {
            return Some(exact);
        }
        let (lower, upper) =
            ((exact.lower - more).next_down().max(0.0), (exact.upper + more).next_up().min(1.0));
        let around =
            Certified::new(lower, exact.estimate.clamp(lower, upper), upper, exact.upper_engine).ok()?;
        Some(around.proven_by(exact.lower_engine, exact.upper_engine))
    }

    /// Whether an event is among those that are paid for once.
    pub(crate) fn holds(&self, event: Event) -> bool {
        self.once.iter().any(|release| release.event == event)
    }

    /// All of them, for the report.
    pub(crate) fn releases(&self) -> Vec<Release> {
        let what = "noisy sums of clipped gradients";
        let steps = Release { what, event: self.step, count: self.pricing.events(self.steps) };
        self.before.iter().chain(&self.once).cloned().chain([steps]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DpVi;
    use crate::guides::AutoNormal;
    use dp_sampler::{BallsInBins, FixedSize, FullBatch, Poisson, Shuffle, Subsampling, WithReplacement};
    use ppl_core::{Ctx, Schema, Shape};
    use ppl_distributions::Normal;

    fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
        let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    }

    /// What a plan for this many records says of samplers of these numbers of records: whether they are what
    /// was priced.
    fn matches<S: Subsampling + Copy>(
        plan: S,
        relation: Relation,
        planned: u64,
        bound: [u64; 3],
    ) -> [bool; 3] {
        let schema = Schema::new([("x", Shape::scalar())]).unwrap();
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation };
        let vi = DpVi::new(model, AutoNormal::new()).budget(budget).steps(12).clip_norm(1.0);
        let privacy = vi.subsample(plan).public_records(planned).plan(&schema).unwrap();
        let charges = privacy.charges().unwrap().unwrap();
        let sigma = privacy.calibrated.unwrap().noise_multiplier;
        bound.map(|records| {
            let scheme = plan.scheme(records).unwrap();
            let pricing = Pricing::new(&scheme).unwrap();
            let (event, rate) = (pricing.event(sigma).unwrap(), sampling_rate(&scheme).unwrap());
            let checked = charges.check(event, &scheme, rate);
            // The epochs alone are reason enough: with the event and the rate that were planned.
            let planned = charges.check(charges.step, &scheme, charges.rate);
            assert_eq!(checked.is_ok(), planned.is_ok(), "{scheme}");
            // Another rate or another noise is refused whatever the scheme.
            assert!(charges.check(event, &scheme, rate.next_down()).is_err());
            assert!(charges.check(pricing.event(sigma.next_down()).unwrap(), &scheme, rate).is_err());
            checked.is_ok()
        })
    }

    #[test]
    fn a_sampler_of_other_records_than_were_priced_is_refused() {
        for relation in [Relation::AddRemove, Relation::ReplaceOne] {
            let any = |plan_matches: [bool; 3]| assert_eq!(plan_matches, [true; 3]);
            any(matches(FullBatch, relation, 40, [40, 41, 10]));
            any(matches(Poisson::rate(0.25).unwrap(), relation, 40, [40, 41, 10]));
            any(matches(BallsInBins::bins(4).unwrap().exact(), relation, 40, [40, 41, 10]));
        }
        let relation = Relation::ReplaceOne;
        let own = |plan_matches: [bool; 3]| assert_eq!(plan_matches, [true, false, false]);
        own(matches(FixedSize::batch(10).unwrap(), relation, 40, [40, 41, 10]));
        own(matches(WithReplacement::batch(10).unwrap(), relation, 40, [40, 41, 10]));
        own(matches(Shuffle::batch(10).unwrap(), relation, 40, [40, 41, 10]));
        // The events are all alike here: full batches. How many of them twelve steps are is not.
        own(matches(BallsInBins::batch(10).unwrap(), relation, 40, [40, 41, 10]));
        // The same number of bins is the same price.
        assert_eq!(matches(BallsInBins::batch(10).unwrap(), relation, 40, [40, 31, 39]), [true; 3]);
    }

    /// The budget is for both, the statement names both, and only the run is left to be paid for.
    #[test]
    fn what_was_released_before_is_stated_and_not_paid_again() {
        let schema = Schema::new([("x", Shape::scalar())]).unwrap();
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
        let event = crate::cost::pricing::event(10.0, dp_accountant::Sampling::None).unwrap();
        let before = Release::new("second moments of features", event, 2);
        let plan = |before: Vec<Release>| {
            let vi = DpVi::new(model, AutoNormal::new()).budget(budget).steps(12).clip_norm(1.0);
            vi.subsample(FullBatch).released_before(before).plan(&schema).unwrap()
        };
        let (with, without) = (plan(vec![before.clone()]), plan(Vec::new()));
        let sigma = |plan: &crate::PrivacyPlan| plan.calibrated.unwrap().noise_multiplier;
        // Gaussian releases add up in σ⁻².
        let spared = 12.0 * (sigma(&without).powi(-2) - sigma(&with).powi(-2));
        assert!((spared - 2.0 / 100.0).abs() < 1e-6, "{spared}");
        let charges = with.charges().unwrap().unwrap();
        let stated = charges.epsilon(budget).unwrap();
        assert!(stated.upper <= 1.0 && stated.lower > 1.0 - 1e-6, "{stated:?}");
        assert_eq!(charges.releases()[0], before);
        assert!(charges.with_steps(12).iter().all(|(paid, _)| paid != event));
    }

    #[test]
    fn a_scheme_that_the_relation_does_not_permit_is_refused() {
        let schema = Schema::new([("x", Shape::scalar())]).unwrap();
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
        let vi = DpVi::new(model, AutoNormal::new()).budget(budget).steps(12);
        let privacy = vi.subsample(BallsInBins::bins(4).unwrap().exact()).plan(&schema).unwrap();
        let charges = privacy.charges().unwrap().unwrap();
        let event = charges.step;
        assert!(
            charges.check(event, &BallsInBins::bins(4).unwrap().exact().scheme(40).unwrap(), 0.25).is_ok()
        );
        let told =
            charges.check(event, &BallsInBins::batch(10).unwrap().scheme(40).unwrap(), 0.25).unwrap_err();
        assert!(told.to_string().contains("BallsInBins::bins"), "{told}");
    }
}
