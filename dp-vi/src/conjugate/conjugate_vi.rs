//! What is said of a conjugate fit.

use super::estimate::Estimate;
use super::fit::ConjugateTraining;
use super::plan::{ConjugatePlan, Said, programs};
use crate::error::Result;
use crate::outcome::fit::Fit;
use crate::run::begin::{self, From, Keeper, paid_from};
use crate::wall::fingerprint::fingerprint_of_records;
use crate::wall::grid::PrivacyNoise;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Budget, Ledger, Purse};
use dp_sampler::Seed;
use ppl_core::conjugate::{Curvature, Statistics};
use ppl_core::{Graph, Model, Records, Schema};
use std::path::PathBuf;

/// Variational Bayes from noisy expected sufficient statistics (VIPS), for models whose latent values are conjugate
/// given each other.
///
/// ```text
/// q(θ) = Π_s q(θ_s),  each in the exponential family of its prior, with expected statistics t
///
/// each step:  s̄_i = ∂ℓ_i/∂t                                per record: its expected sufficient statistics
///             S = Σ_i clip_C(s̄_i/scales) + noise            the only use of the data
///             Ŝ ← (1 − ρ) Ŝ + ρ S
///             η = ∂E[ln p(θ)]/∂t + repair(Ŝ)                natural parameters; the prior is exact
/// ```
///
/// The model is the same function of one record that [`DpVi`](crate::DpVi) takes, and nothing is said of statistics:
/// [`ppl_core::conjugate`] reads them off it. There is no guide, no learning rate and no optimiser. A model with
/// something that is not conjugate is refused with the site, the line and the operation.
///
/// In place of a posterior, [`estimate`](Self::estimate) looks for the values of its mode, or of the largest likelihood
/// (variational EM, private EM).
///
/// Records may have latent values of their own with Dirichlet, beta or Bernoulli priors, which are found by sweeps over
/// each record and never leave; [`ctx.enumerate`](ppl_core::Ctx::enumerate) sums others out. Softplus functions
/// (logistic regression) are bounded, see [`Curvature`].
///
/// | part | default | by hand |
/// |---|---|---|
/// | steps | 60; 120 with latent values of records; 5 for logistic regression; 200 without privacy | [`steps`](Self::steps) |
/// | norm `C` | exact for logistic regression without offsets; 6 for counts; else `√D` for `D` numbers; less where a record's statistics are proved to be smaller, as the probabilities of categories are | [`clip_norm`](Self::clip_norm) |
/// | scales | 1 | [`scale`](Self::scale) |
/// | rows of a logistic regression | weight `min(1, R/‖x‖)²`, `R = √d` | [`feature_norm`](Self::feature_norm) |
/// | sweeps over records' own values | 3, going on from the step before; 20 for Boolean vectors, which begin anew | [`sweeps`](Self::sweeps) |
/// | averaging | `ρ = max(0.15, 1/(t + 1))` for 60 % of the steps, then falling as `1/j` | |
/// | normal factors that multiply each other, in `G` groups | each goes `1/G` of the way to its new mean, as all are updated from one release | |
/// | where factors begin | at the prior, moved a little at random; rows `w_j` of J that meet a record's Boolean vector at `1/J` of the prior's variance | |
///
/// # Privacy
/// All statistics of a step are one release of the Gaussian mechanism on all records, of one vector whose norm is at
/// most `C`. Where a record is replaced, two vectors differ by at most `2C`; by `√2 C` where every block is proved to
/// have elements (of matrices, quadratic forms) of one sign, so that no two records' vectors have a negative inner
/// product; and by [a known number](super::logistic_sensitivity) for logistic regression. The noise is of that size,
/// and the event that is debited says so. Everything else, the repair of statistics included, is computed from what was
/// released.
///
/// *Records' own factors* may go on from step to step. They are never released. What a step knows of a record then
/// depends on that record and on earlier releases, and on no other record; so, given all earlier releases, one record
/// changes one contribution, which is clipped to `C` whatever its factors are. Each step is a Gaussian mechanism of the
/// same sensitivity, chosen by what was released before, and such steps compose as those of a fixed sequence do. A
/// [checkpoint](Self::checkpoint) of a run that is not complete holds these factors, and is as secret as the data;
/// that of a complete run does not hold them.
///
/// ```
/// use dp_accountant::{Budget, Relation};
/// use dp_vi::{ConjugateVi, Sensitive};
/// use ppl_core::{Ctx, Distribution, Records, Result};
/// use ppl_distributions::{Bernoulli, Beta};
///
/// fn model(ctx: &mut Ctx) -> Result<()> {
///     let share = ctx.sample("share", Beta::new(1.0, 1.0))?;
///     ctx.each_record(|ctx, record| ctx.observe("y", Bernoulli::from_probs(share), record.get("y")?))
/// }
///
/// # fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
/// let y: Vec<f64> = (0..1000).map(|k| f64::from(k % 4 == 0)).collect();
/// let records = Sensitive::new(Records::from_columns([("y", y)])?);
/// let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
/// let vi = ConjugateVi::new(model).budget(budget).clip_norm(1.0).steps(1);
/// println!("{}", vi.plan(records.schema())?.explain());
/// let fit = vi.fit(&records)?;
/// assert!((fit.posterior().mean("share")?[[]] - 0.25).abs() < 0.1);
/// assert!(fit.privacy().epsilon.as_ref().unwrap().upper <= 1.0);
/// # Ok(())
/// # }
/// ```
///
/// # References
/// Park, Foulds, Chaudhuri, Welling 2020, "Variational Bayes in private settings (VIPS)", arXiv 1611.00340. Its printed
/// sensitivities of latent Dirichlet allocation and logistic regression are too small and too large for a replaced
/// record; those here are derived above.
pub struct ConjugateVi<M> {
    model: M,
    said: Said,
    seed: Option<Seed>,
    /// The file, and the number of steps between two checkpoints.
    checkpoint: Option<(PathBuf, u64)>,
}

impl<M: Model> ConjugateVi<M> {
    /// Inference for a model. The budget has no default and must be named.
    pub fn new(model: M) -> Self {
        Self { model, said: Said::default(), seed: None, checkpoint: None }
    }

    /// The privacy budget of the whole fit.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.said.budget = Some(budget);
        self
    }

    /// No clipping and no noise, for comparison. The report says **NOT PRIVATE**. Factors that meet each other are then
    /// updated in turn, so that the bound on the evidence does not fall, but for what [sweeps](Self::sweeps) over
    /// Boolean values leave.
    #[must_use]
    pub fn without_privacy(mut self) -> Self {
        self.said.without_privacy = true;
        self
    }

    /// Number of steps; of rounds over all factors without privacy.
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.said.steps = Some(steps);
        self
    }

    /// Largest norm `C` of one record's statistics, each block divided by its scale. It must be chosen without looking
    /// at the data.
    #[must_use]
    pub fn clip_norm(mut self, norm: f64) -> Self {
        self.said.clip_norm = Some(norm);
        self
    }

    /// The public number that a site's statistics, or those of one block by its name, are divided by before they are
    /// clipped: a larger one gives them less of the norm, and more noise.
    #[must_use]
    pub fn scale(mut self, site_or_block: impl Into<String>, scale: f64) -> Self {
        self.said.scales.push((site_or_block.into(), scale));
        self
    }

    /// For logistic regression: the norm `R` above which a row's likelihood gets the weight `(R/‖x‖)²`, which needs no
    /// clipping and so has no bias. Best near the median norm of the rows, as far as that is public.
    ///
    /// Log-odds must be linear in one vector of weights. With an *offset*, a term that no weight multiplies,
    /// the norm of a row bounds nothing: a plan then refuses this norm, and clips to
    /// [`clip_norm`](Self::clip_norm).
    #[must_use]
    pub fn feature_norm(mut self, norm: f64) -> Self {
        self.said.feature_norm = Some(norm);
        self
    }

    /// How softplus functions are bounded; by default the best bound, or the fixed one where the best has more than
    /// 100,000 statistics.
    #[must_use]
    pub fn curvature(mut self, curvature: Curvature) -> Self {
        self.said.curvature = Some(curvature);
        self
    }

    /// Sweeps over a record's own latent values at each step.
    ///
    /// Dirichlet and beta values go on from where the step before left them, by 3 sweeps: their factors stay behind the
    /// wall with the records. Without noise, the bound on the evidence then never falls, however few the sweeps.
    ///
    /// Where a record has a vector of Boolean values, its factors begin anew at each step, by 20 sweeps, from factors
    /// that are the same for all records. With few of these sweeps the bound may fall a little from step to step.
    #[must_use]
    pub fn sweeps(mut self, sweeps: usize) -> Self {
        self.said.sweeps = Some(sweeps);
        self
    }

    /// What is looked for: a posterior, which is the default, or the values of its largest density or of the largest
    /// likelihood, by *variational EM*. What is released, and what it costs, is the same.
    ///
    /// ```
    /// use dp_vi::conjugate::{ConjugateVi, Estimate};
    /// use dp_vi::Sensitive;
    /// use ppl_core::{Ctx, Distribution, Records, Result};
    /// use ppl_distributions::{Bernoulli, Beta};
    ///
    /// fn model(ctx: &mut Ctx) -> Result<()> {
    ///     let share = ctx.sample("share", Beta::new(2.0, 2.0))?;
    ///     ctx.each_record(|ctx, record| ctx.observe("y", Bernoulli::from_probs(share), record.get("y")?))
    /// }
    ///
    /// let records = Sensitive::new(Records::from_columns([("y", vec![1.0, 0.0, 0.0, 0.0])])?);
    /// let vi = |estimate| ConjugateVi::new(model).without_privacy().estimate(estimate);
    /// // Beta(3, 5) has the mean 3/8 and the mode 2/6; one of four is 1.
    /// for (estimate, share) in
    ///     [(Estimate::Posterior, 0.375), (Estimate::Mode, 1.0 / 3.0), (Estimate::Likelihood, 0.25)]
    /// {
    ///     assert!((vi(estimate).fit(&records)?.posterior().mean("share")?[[]] - share).abs() < 1e-12);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn estimate(mut self, estimate: Estimate) -> Self {
        self.said.estimate = estimate;
        self
    }

    /// How noise is added; by default exactly.
    #[must_use]
    pub fn noise(mut self, noise: PrivacyNoise) -> Self {
        self.said.noise = noise;
        self
    }

    /// A seed for tests; by default the operating system's, which is secret.
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Leaves a checkpoint in this file at intervals of this many steps, from which [`resume`](Self::resume) goes on.
    /// All steps are paid for before the first.
    ///
    /// **The file is as secret as the data**: see [`Checkpoint`](crate::Checkpoint).
    #[must_use]
    pub fn checkpoint(mut self, path: impl Into<PathBuf>, every: u64) -> Self {
        self.checkpoint = Some((path.into(), every));
        self
    }

    /// What a fit on records of these columns will do and what it will cost; no record is touched.
    ///
    /// # Errors
    /// If the model is not conjugate, something is missing or out of range, or no noise meets the budget.
    pub fn plan(&self, schema: &Schema) -> Result<ConjugatePlan> {
        let graph = Graph::new();
        let statistics = Statistics::new(&self.model, &graph, schema, programs(&self.said))?;
        ConjugatePlan::new(&self.said, &statistics)
    }

    /// A fit that is made step by step, all of whose steps are paid for from a ledger that holds just the budget.
    ///
    /// # Errors
    /// As [`plan`](Self::plan), and if the records do not fit the model.
    pub fn start<'r>(mut self, records: &'r Sensitive<Records>) -> Result<ConjugateTraining<'r>> {
        let mut ledger = match self.said.without_privacy {
            true => None,
            false => self.said.budget.map(Ledger::new).transpose()?,
        };
        let (seed, _) = begin::seed(None, self.seed.take())?;
        let purse = ledger.as_mut().map(|ledger| ledger as &mut dyn Purse);
        ConjugateTraining::new(&self.model, &self.said, records, &seed, purse, false)
    }

    /// Runs inference, paid from a ledger that holds just the budget.
    ///
    /// # Errors
    /// As [`start`](Self::start); [`Error::CheckpointExists`](crate::Error::CheckpointExists) if there is a file
    /// already where the checkpoint is to be.
    pub fn fit(self, records: &Sensitive<Records>) -> Result<Fit> {
        self.run(records, None, From::Start)
    }

    /// Runs inference, paid from a ledger that other mechanisms share.
    ///
    /// # Errors
    /// As [`fit`](Self::fit); if the ledger has another relation, or its budget does not allow all steps. Then nothing
    /// is debited.
    pub fn fit_from(self, records: &Sensitive<Records>, purse: &mut impl Purse) -> Result<Fit> {
        self.run(records, Some(purse), From::Start)
    }

    /// Goes on with a run that was begun with [`fit`](Self::fit) and left its checkpoint, with the seed from there. The
    /// result is that of the run that was never interrupted, bit for bit, and nothing is paid for again.
    ///
    /// # Errors
    /// As [`DpVi::resume`](crate::DpVi::resume).
    pub fn resume(self, records: &Sensitive<Records>) -> Result<Fit> {
        self.run(records, None, From::Checkpoint)
    }

    /// As [`resume`](Self::resume), for a run that was begun with [`fit_from`](Self::fit_from).
    ///
    /// # Errors
    /// As [`DpVi::resume_from`](crate::DpVi::resume_from).
    pub fn resume_from(self, records: &Sensitive<Records>, purse: &mut impl Purse) -> Result<Fit> {
        self.run(records, Some(purse), From::Checkpoint)
    }

    fn run(mut self, records: &Sensitive<Records>, purse: Option<&mut dyn Purse>, from: From) -> Result<Fit> {
        let budget = self.said.budget.filter(|_| !self.said.without_privacy);
        let shared = purse.is_some();
        let place = self.checkpoint.take();
        let mut stored = begin::stored(place.as_ref(), from)?;
        let (seed, complete) =
            begin::seed(stored.as_mut().map(|(checkpoint, _)| checkpoint), self.seed.take())?;
        let mut own = None;
        let mut purse = begin::payer(purse, budget, &mut own)?;
        let Self { model, said, .. } = &self;
        let mut training = match &stored {
            None => {
                let paying = purse.as_mut().map(|purse| &mut **purse as &mut dyn Purse);
                ConjugateTraining::new(model, said, records, &seed, paying, shared)?
            }
            Some(_) => ConjugateTraining::unpaid(model, said, records, &seed)?,
        };
        let settings = training.description(records.schema());
        let Some((path, every)) = place.clone() else { return training.finish() };
        let print = fingerprint_of_records(records, &seed);
        if let Some((checkpoint, path)) = &stored {
            checkpoint.check_settings(path, &settings)?;
            begin::check_records(checkpoint, path, print, complete)?;
            let own_ledger = purse.as_deref().filter(|_| shared);
            checkpoint.paid_from.check(path, budget.is_some(), own_ledger)?;
            let paying = purse.as_mut().map(|purse| &mut **purse as &mut dyn Purse);
            training.go_on(checkpoint, path, paying, shared)?;
            begin::check_seed(path, complete, training.done() >= training.steps())?;
        }
        let keeper = Keeper { path, every, seed, settings, print };
        let keep = |training: &ConjugateTraining<'_>| {
            let paid_from = paid_from(purse.as_deref(), shared);
            keeper.keep(training.done() >= training.steps(), |seed, settings, print| {
                training.checkpoint(seed, paid_from, settings, print)
            })
        };
        while training.done() < training.steps() {
            if training.done().is_multiple_of(keeper.every) {
                keep(&training)?;
            }
            training.step()?;
        }
        keep(&training)?;
        training.finish()
    }
}
