//! Everything that a run releases, and what it costs, known before any record is touched.

use crate::curvature::CurvatureShape;
use crate::deviation::Deviation;
use crate::error::Result;
use crate::planner::PrivacyPlan;
use crate::report::Release;
use crate::schemes::{Pricing, event};
use crate::start::PrivateStart;
use dp_accountant::{Accountant, Budget, Certified, Composition, Event, Ledger, Relation, Sampling};

/// The events of a run.
#[derive(Clone, Debug)]
pub(crate) struct Charges {
    /// Released once, whatever the number of steps.
    once: Vec<Release>,
    /// Released at every step, or once for every epoch of steps.
    pub(crate) step: Event,
    pricing: Pricing,
    pub(crate) steps: u64,
    deviation: Deviation,
}

impl Charges {
    /// The events of a plan; `None` without privacy.
    pub(crate) fn new(plan: &PrivacyPlan) -> Result<Option<Self>> {
        let Some((calibrated, budget)) = plan.calibrated.zip(plan.budget) else { return Ok(None) };
        let mut once = Vec::new();
        if let Some(epsilon) = plan.start_epsilon {
            once.push(Release { what: "private start", event: PrivateStart::event(epsilon)?, count: 1 });
        }
        if let Some(curvature) = plan.curvature {
            let what = match curvature.shape {
                CurvatureShape::Diagonal => "diagonal of the curvature",
                _ => "curvature",
            };
            let event = event(curvature.noise_multiplier, Sampling::None)?;
            once.push(Release { what, event, count: 1 });
        }
        let pricing = Pricing::permitted(budget.relation, &plan.scheme)?;
        let step = pricing.event(calibrated.noise_multiplier)?;
        Ok(Some(Self { once, step, pricing, steps: plan.steps, deviation: plan.deviation }))
    }

    /// What is released once.
    pub(crate) fn once(&self) -> Composition {
        let mut all = Composition::new();
        all.extend(self.once.iter().map(|release| (release.event, release.count)));
        all
    }

    /// What is released once, and so many steps.
    pub(crate) fn with_steps(&self, steps: u64) -> Composition {
        let mut all = self.once();
        all.push(self.step, self.pricing.events(steps));
        all
    }

    /// The whole run's ε at the budget's δ, of which a part is for what is not drawn exactly as it is accounted for.
    pub(crate) fn epsilon(&self, budget: Budget) -> Result<Certified> {
        let mut ledger = Ledger::new(self.deviation.less(budget)?)?;
        ledger.debit_all(&self.with_steps(self.steps))?;
        let exact = ledger.spent()?;
        let taken = self.deviation.taken_of(&budget);
        if taken == 0.0 {
            return Ok(exact);
        }
        // What deviates may make a run more private, too: it costs at least what the events cost at a δ that is larger by as much.
        let accountant = Accountant::new(budget.relation).with(&self.with_steps(self.steps));
        let least = accountant.epsilon((budget.delta + taken).next_up().min(1.0_f64.next_down()))?;
        let lower = least.lower.min(exact.lower);
        Ok(Certified::new(lower, exact.estimate, exact.upper, exact.upper_engine)?
            .proven_by(least.lower_engine, exact.upper_engine))
    }

    /// The whole run's advantage for an attacker, where there is a proven one.
    pub(crate) fn advantage(&self, relation: Relation) -> Option<Certified> {
        let exact = Accountant::new(relation).with(&self.with_steps(self.steps)).advantage().ok()?;
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
    pub(crate) fn holds(&self, event: &Option<Event>) -> bool {
        self.once.iter().any(|release| Some(release.event) == *event)
    }

    /// All of them, for the report.
    pub(crate) fn releases(&self) -> Vec<Release> {
        let what = "noisy sums of clipped gradients";
        let steps = Release { what, event: self.step, count: self.pricing.events(self.steps) };
        self.once.iter().cloned().chain([steps]).collect()
    }
}
