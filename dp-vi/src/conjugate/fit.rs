//! A conjugate fit, step by step.

use super::logistic::weight;
use super::plan::{ConjugatePlan, Said, programs, share};
use super::update::Factors;
use crate::cost::charges::Charges;
use crate::error::{Error, Result};
use crate::optimiser::SavedState;
use crate::outcome::fit::Fit;
use crate::outcome::posterior::Posterior;
use crate::outcome::report::{LEAVE_OUT, NOT_COVERED, POINTS, PrivacyReport, RECORD, assumptions};
use crate::run::begin;
use crate::run::checkpoint::{Checkpoint, PaidFrom, versions};
use crate::wall::adder::NoiseOf;
use crate::wall::batches::Batches;
use crate::wall::bound::clip::{ClipNorm, Clipping, Rule};
use crate::wall::gradient::PrivateGradient;
use crate::wall::local_states::LocalStates;
use crate::wall::release::{NoisySum, Released};
use crate::wall::sensitive::Sensitive;
use crate::wall::steps::Steps;
use crate::wall::unprotected::UnprotectedSum;
use dp_accountant::Purse;
use dp_sampler::{FullBatch, FullBatchSampler, Seed};
use ppl_core::conjugate::Statistics;
use ppl_core::{Graph, Model, Program, RecordGradient, Records, Schema, Var};
use std::path::Path;

/// A conjugate fit, step by step: each [`step`](Self::step) makes one release that was paid for.
///
/// [`ConjugateVi::fit`](super::ConjugateVi::fit) makes all steps; this is for those who want to hold the loop
/// themselves.
pub struct ConjugateTraining<'r> {
    steps: Steps<'r, FullBatchSampler>,
    /// Records' own factors, where these go on from step to step.
    states: Option<LocalStates<'r>>,
    factors: Factors,
    /// Factors that are updated together: all at once where a release is paid for, else in turn.
    groups: Vec<Vec<usize>>,
    plan: ConjugatePlan,
    report: PrivacyReport,
    released: Vec<f64>,
    done: u64,
    /// What the programs compute, for a checkpoint.
    programs: String,
}

impl<'r> ConjugateTraining<'r> {
    pub(super) fn new(
        model: &dyn Model,
        said: &Said,
        records: &'r Sensitive<Records>,
        seed: &Seed,
        purse: Option<&mut dyn Purse>,
        shared: bool,
    ) -> Result<Self> {
        let mut this = Self::unpaid(model, said, records, seed)?;
        if let Some(purse) = purse
            && this.plan.budget.is_some()
        {
            this.steps.pay(purse, this.plan.steps)?;
            if shared {
                this.report.ledger_spent = Some(purse.ledger().spent()?);
            }
        }
        Ok(this)
    }

    /// A fit that has not been paid for.
    pub(super) fn unpaid(
        model: &dyn Model,
        said: &Said,
        records: &'r Sensitive<Records>,
        seed: &Seed,
    ) -> Result<Self> {
        let graph = Graph::new();
        let statistics = Statistics::new(model, &graph, records.schema(), programs(said))?;
        let plan = ConjugatePlan::new(said, &statistics)?;
        records.check_numbers()?;
        records.check_fit(statistics.trace(), &graph)?;
        let weight = weight(&statistics, &plan)?;
        // Which way sums are formed follows from the model alone, never from how many zeros there are.
        let words = statistics.words(&plan.scales).filter(|_| weight.is_none() && !said.with_zeros);
        let (value, inputs) = statistics.scaled(&plan.scales, weight)?;
        let without_zeros = |program: RecordGradient<f64>| match &words {
            Some(words) => program.without_zeros(words.clone()),
            None => Ok(program),
        };
        let spread = plan.spread.then_some(seed);
        let mut factors = Factors::new(&statistics, &plan.scales, spread)?;
        // Draws and moments of every factor are known before anything is paid for.
        factors.posterior()?;
        factors.look_for(plan.estimate)?;
        if plan.budget.is_some() && plan.is_logistic() {
            factors.begin_as_logistic();
        }
        let batches = Batches::new(&FullBatch, records, (seed, &[]))?;
        let mut programs_of = match &words {
            Some(_) => "without zeros ".to_owned(),
            None => String::new(),
        };
        let steps = match &plan.calibrated {
            None => {
                let program = without_zeros(RecordGradient::new(value, &inputs)?)?;
                Steps::Unprotected(Box::new(UnprotectedSum { batches, program }))
            }
            Some(calibrated) => {
                let program = RecordGradient::with_bounded_sums(value, &inputs, &vec![0; inputs.len()])?;
                let program = without_zeros(program)?;
                let clip = ClipNorm::new(plan.clip_norm, program.dimension())?;
                let sigma = calibrated.noise_multiplier;
                let of = (NoiseOf::Steps, seed);
                let rule = (Rule::Flat(clip), clip);
                let sum = NoisySum::new(program, rule, sigma, Released::All, plan.kind, of)?;
                let sum = sum.with_reach(plan.reach())?;
                Steps::private(PrivateGradient::over(batches, sum, seed.is_secret()))
            }
        };
        if let (Some(charges), Steps::Private(mechanism, _)) = (&plan.charges, &steps) {
            charges.check(mechanism.event()?, &mechanism.scheme(), mechanism.rate())?;
        }
        let groups = match plan.budget {
            None => statistics.groups()?,
            Some(_) => {
                factors.share_steps(&statistics)?;
                vec![(0..statistics.factors().len()).collect()]
            }
        };
        let number = plan.budget.and_then(|budget| records.public_number(budget.relation));
        let report = report(&plan, number, seed, &steps);
        let next: Vec<Var<'_>> = statistics.kept().iter().map(|kept| kept.next).collect();
        let states = match next.is_empty() {
            true => None,
            false => {
                let program = Program::new(&graph, &next)?;
                programs_of.push_str(&format!("{:032x} ", program.fingerprint()));
                let inputs =
                    statistics.kept().iter().map(|kept| (kept.name.clone(), kept.input.shape().elements()));
                Some(LocalStates::new(records, &program, inputs.collect(), words.clone())?)
            }
        };
        for value in [value, statistics.prior()] {
            programs_of.push_str(&format!("{:032x} ", Program::new(&graph, &[value])?.fingerprint()));
        }
        let released = vec![0.0; steps.dimension()];
        Ok(Self { steps, states, factors, groups, plan, report, released, done: 0, programs: programs_of })
    }

    /// What a checkpoint is bound to, besides records and seed: lines of `name: value`.
    pub(super) fn description(&self, schema: &Schema) -> String {
        let Self { plan, .. } = self;
        let mut text = versions();
        for (name, shape) in schema.columns() {
            let kind = schema.column_type(name).map_or_else(|_| String::new(), |kind| kind.to_string());
            text.push_str(&format!("column: {} {shape} {kind}\n", name.escape_debug()));
        }
        let budget = plan.budget.map_or_else(
            || "without privacy".to_owned(),
            |budget| format!("epsilon {} at delta {}, {}", budget.epsilon, budget.delta, budget.relation),
        );
        text.push_str(&format!(
            "budget: {budget}\nkind of fit: expected statistics\nsteps: {}\n",
            plan.steps
        ));
        if plan.estimate.is_point() {
            text.push_str(&format!("estimate: {:?}\n", plan.estimate));
        }
        text.push_str(&format!("scales: {:?}, rows {:?}\n", plan.scales, plan.feature_norm));
        text.push_str(&format!("protection: {}\nprograms: {}\n", self.steps.protection(), self.programs));
        text
    }

    /// Pays for all steps, or takes the receipt for those that were paid for.
    pub(super) fn go_on(
        &mut self,
        checkpoint: &Checkpoint,
        path: &Path,
        purse: Option<&mut dyn Purse>,
        shared: bool,
    ) -> Result<()> {
        let wrong = |reason: String| Error::Checkpoint { path: path.display().to_string(), reason };
        checkpoint.check_steps(path, self.plan.steps)?;
        let mut state = SavedState::new(&checkpoint.numbers);
        let mut restore = || -> Result<()> {
            self.factors.restore(&mut state)?;
            self.steps.restore(&mut state)?;
            if let Some(states) = self.states.as_mut().filter(|_| checkpoint.done < checkpoint.paid) {
                states.restore(&mut state)?;
            }
            state.clone().finish()
        };
        restore().map_err(|error| wrong(error.to_string()))?;
        if let (Some(purse), Some(charges)) = (purse, &self.plan.charges) {
            let receipt = begin::paid_before(charges, purse, checkpoint.paid, shared)?;
            self.steps.go_on(checkpoint.done, checkpoint.paid, &receipt)?;
            if shared {
                self.report.ledger_spent = Some(purse.ledger().spent()?);
            }
        }
        self.done = checkpoint.done;
        self.report.steps_done = self.done;
        // That of a complete run says whether its seed was secret, and has none; the one drawn here makes no release.
        self.report.secret_seed = checkpoint.secret;
        Ok(())
    }

    /// All that is needed to go on in another process, together with the seed. Of a complete run, nothing of single
    /// records.
    pub(super) fn checkpoint(
        &self,
        seed: Option<Seed>,
        paid_from: PaidFrom,
        settings: &str,
        records: [u64; 3],
    ) -> Checkpoint {
        let mut numbers = Vec::new();
        self.factors.save(&mut numbers);
        self.steps.save(&mut numbers);
        if let Some(states) = self.states.as_ref().filter(|_| self.done < self.plan.steps) {
            states.save(&mut numbers);
        }
        let (done, paid) = (self.done, self.plan.steps);
        let secret = self.report.secret_seed;
        Checkpoint { seed, secret, done, paid, paid_from, settings: settings.to_owned(), records, numbers }
    }

    /// Steps done.
    #[must_use]
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Steps in all.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.plan.steps
    }

    /// Makes one step.
    ///
    /// # Errors
    /// If all steps have been made.
    pub fn step(&mut self) -> Result<()> {
        if self.done >= self.plan.steps {
            return Err(Error::NotPaid { paid: self.done });
        }
        let private = self.plan.budget.is_some();
        for group in &self.groups {
            let program = self.steps.program_mut();
            self.factors
                .hand_out(|name, values| Ok(program.set(&format!("scaled {name}"), values)?), true)?;
            if let Some(states) = &mut self.states {
                self.factors.hand_out(|name, values| states.set(name, values), false)?;
                states.advance(program)?;
            }
            self.steps.make(self.done, &mut self.released)?;
            let share = if private { share(self.done, self.plan.steps) } else { 1.0 };
            self.factors.take(&self.released, self.steps.noise_added(), share, group)?;
        }
        self.done += 1;
        self.report.steps_done = self.done;
        Ok(())
    }

    /// The posterior so far, or the values so far, made of what has been released.
    ///
    /// # Errors
    /// None at present; kept for families that cannot be drawn from.
    pub fn posterior(&self) -> Result<Posterior> {
        self.factors.posterior()
    }

    /// Makes the steps that are left.
    ///
    /// # Errors
    /// As [`step`](Self::step).
    pub fn finish(mut self) -> Result<Fit> {
        while self.done < self.plan.steps {
            self.step()?;
        }
        let posterior = self.posterior()?;
        Ok(Fit {
            uncorrected: posterior.clone(),
            posterior,
            noise_aware: None,
            wandered: None,
            parameters: self.factors.parameters(),
            report: self.report,
            convergence: None,
        })
    }

    /// What the bound on the evidence has besides the records' part.
    #[cfg(test)]
    pub(super) fn factors_mut(&mut self) -> &mut Factors {
        &mut self.factors
    }

    /// Records' own factors.
    #[cfg(test)]
    pub(super) fn states(&self) -> Option<&LocalStates<'r>> {
        self.states.as_ref()
    }

    /// The last release.
    #[cfg(test)]
    pub(super) fn released(&self) -> &[f64] {
        &self.released
    }

    #[cfg(test)]
    pub(super) fn steps_mut(&mut self) -> &mut Steps<'r, FullBatchSampler> {
        &mut self.steps
    }
}

/// `number` is that of the records, where it is public.
fn report(
    plan: &ConjugatePlan,
    number: Option<u64>,
    seed: &Seed,
    steps: &Steps<'_, FullBatchSampler>,
) -> PrivacyReport {
    let (budget, calibrated) = (plan.budget, plan.calibrated);
    PrivacyReport {
        budget,
        epsilon: plan.epsilon,
        delta_of_deviations: plan.delta_of_deviations(),
        advantage: plan
            .charges
            .as_ref()
            .zip(budget)
            .and_then(|(charges, budget)| charges.advantage(budget.relation)),
        ledger_spent: None,
        record: RECORD,
        public_number_of_records: PrivacyReport::is_number_public(budget.map(|budget| budget.relation)),
        known_records: number.map(|number| number as f64),
        has_records: true,
        scheme: Some(steps.scheme()),
        noise_multiplier: calibrated.map(|calibrated| calibrated.noise_multiplier),
        clip_norm: calibrated.map(|_| plan.clip_norm),
        last_clip_norm: None,
        clipping: calibrated.map(|_| Clipping::Flat),
        noise: calibrated.map(|_| plan.kind),
        noise_norm: calibrated.map(|_| plan.clip_norm * plan.reach()),
        steps: plan.steps,
        steps_done: 0,
        releases: plan.charges.as_ref().map(Charges::releases).unwrap_or_default(),
        secret_seed: seed.is_secret(),
        guide: plan.estimate.guide(),
        moved: None,
        intervals: budget.map(|_| if plan.estimate.is_point() { POINTS } else { LEAVE_OUT }),
        assumes: assumptions(plan.kind),
        not_covered: NOT_COVERED,
        treated_as_public: Vec::new(),
    }
}
