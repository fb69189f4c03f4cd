//! Everything that a run releases, and what it costs, known before any record is touched.

use crate::curvature::CurvatureShape;
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
        Ok(Some(Self { once, step, pricing, steps: plan.steps }))
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

    /// The whole run's ε at the budget's δ.
    pub(crate) fn epsilon(&self, budget: Budget) -> Result<Certified> {
        let mut ledger = Ledger::new(budget)?;
        ledger.debit_all(&self.with_steps(self.steps))?;
        Ok(ledger.spent()?)
    }

    /// The whole run's advantage for an attacker, where there is a proven one.
    pub(crate) fn advantage(&self, relation: Relation) -> Option<Certified> {
        Accountant::new(relation).with(&self.with_steps(self.steps)).advantage().ok()
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
