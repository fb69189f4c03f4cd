//! Private variational inference: from a model and a budget to a posterior and a statement.

use super::training::Training;
use crate::cost::charges::Release;
use crate::cost::pricing::sampling_rate;
use crate::error::{Error, Result};
use crate::guides::guide::Guide;
use crate::objective::draws::DrawScheme;
use crate::objective::gradients::Gradients;
use crate::objective::initial::InitialValues;
use crate::objective::traced::Survey;
use crate::objective::weights::RecordWeights;
use crate::optimiser::{Schedule, Transformation, adam};
use crate::outcome::convergence::is_small_enough;
use crate::outcome::progress::Callback;
use crate::plan::privacy_plan::PrivacyPlan;
use crate::plan::settings::{Correction, FeatureNorms, Settings};
use crate::plan::spending::Sampler;
use crate::wall::bound::clip::Clipping;
use crate::wall::grid::PrivacyNoise;
use crate::wall::sensitive::Sensitive;
use crate::wall::start::PrivateStart;
use dp_accountant::{Budget, Ledger};
use dp_sampler::{MAX_RECORDS, Poisson, Seed, Subsampling};
use ppl_core::{Ctx, Model, Records, Schema};
use std::path::PathBuf;

/// Differentially private variational inference (DP-VI) with aligned gradients.
///
/// ```text
/// ELBO(φ) = Σ_i E_q[ln p(x_i|θ)] + E_q[ln p(θ)] + H[q_φ],     θ = T(u),  u = g_φ(z)
///
/// each step:  z ~ N(0, I),  u± = g_φ(±z)                         a pair of draws, shared by the batch
///             v_i = (∂ℓ_i/∂u₊, ∂ℓ_i/∂u₋)/√2                     per record, at the frontier u;  ℓ_i = w_i ln p(x_i|θ)
///             S = Σ_{i ∈ batch} clip_C(v_i) + σC·N(0, I)         the only use of the data
///             φ ← Adam(φ, ½ Σ± (∂u±/∂φ)ᵀ (√2 S±/q + ∂ ln p(θ±)/∂u) + ∂H/∂φ)      prior and entropy exact
/// ```
///
/// Only the likelihood of the records is clipped and noised, and only where records meet shared values;
/// guide, prior and entropy are public functions of what has been released. The noise has one element for
/// each element of `u`, not one for each parameter of the guide.
///
/// A model, a guide and a budget are enough: everything else has a default that does not depend on the
/// records, and that [`plan`](DpVi::plan) states before any of them is read.
///
/// | part | default | by hand |
/// |---|---|---|
/// | sampling | every record at every step, or a rate for a compute limit | [`subsample`](DpVi::subsample), [`compute_limit`](DpVi::compute_limit) |
/// | number of records | released for 1 % of the budget where a default needs it | [`public_records`](DpVi::public_records) |
/// | steps | 300, 600 where `C` follows a quantile, a third more where the last quarter probes the curvature, more where sampling needs them; without privacy until the fit has [converged](crate::Convergence) | [`steps`](DpVi::steps) |
/// | clip norm `C` | `√D` for `D` elements at the frontier, half of it for Bernoulli outcomes below ε = 2 | [`clip_norm`](DpVi::clip_norm) |
/// | bound on gradients | weights for generalised linear terms; else `C` follows a high [quantile](crate::Quantile) of the norms; where `C` is named, clipping | [`weights`](DpVi::weights), [`clipping`](DpVi::clipping) |
/// | draws | a mirrored pair | [`draw_scheme`](DpVi::draw_scheme) |
/// | gradients | with respect to latent values; or to the guide's parameters, for comparison | [`gradients`](DpVi::gradients) |
/// | noise | exact, on a grid; or in floating point, for comparison | [`noise`](DpVi::noise) |
/// | posterior | corrected for the noise: where there are weights, for 15 % of the budget; else up to 128 elements, by the last quarter of the steps | [`correction`](DpVi::correction) |
/// | units | coordinates of order one, from a fit to records that are made up from noisy counts of the octaves which the columns' numbers lie in, for up to 10 % of the budget; where something is named that is for the model's own units, those | [`rough_fit`](DpVi::rough_fit) |
/// | start | where unconstrained values are 0, or at the centre of the coordinates that were found; for models with exchangeable parts a point from the prior whose parts are exchanged for better ones, chosen privately for 15 % of the budget | [`initial_values`](DpVi::initial_values), [`private_start`](DpVi::private_start) |
/// | optimiser | Adam at rate 0.05, held for half of the run and lowered; where `C` follows a quantile `0.05 √(300/T)` for `T` steps, lowered from the start | [`schedule`](DpVi::schedule), [`optimiser`](DpVi::optimiser) |
/// | noise `σ` | what the budget leaves | |
///
/// # Privacy
/// `σ` is calibrated so that all releases together stay within the budget; the events come from the sampler
/// and the mechanism themselves, and are debited from a ledger before the first step. See
/// [`PrivacyReport`](crate::PrivacyReport).
///
/// Batches, noise and choices that are not drawn exactly as they are accounted for, but within a proven total
/// variation distance τ of it, take `(1 + e^ε) τ` of δ, and `σ` is calibrated to the rest
/// ([`PrivacyPlan::delta_of_deviations`]). Samplers of which nothing is proven are refused: orders of more
/// than 1,024 records that are computed from a key.
///
/// One fit is one spending of its budget: what several fits on the same records cost together is the sum of
/// their events. Whether the records fit the model at all (an observation outside its support does not) is an
/// error for those who hold them, and not covered.
///
/// # References
/// Jälkö, Dikmen, Honkela 2017 (DP-VI); Jälkö, Prediger, Honkela, Kaski 2022 (aligned gradients); Kingma & Ba
/// 2015 (Adam).
pub struct DpVi<M, G, S> {
    pub(super) model: M,
    pub(super) guide: G,
    pub(super) subsampling: Chosen<S>,
    pub(super) settings: Settings,
    pub(super) execution: Execution,
}

/// A model whose type is forgotten.
pub(super) struct AnyModel<'m>(Box<dyn Model + 'm>);

impl Model for AnyModel<'_> {
    fn run(&self, ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
        self.0.run(ctx)
    }
}

/// What was said about a run that is not part of its plan.
#[derive(Default)]
pub(super) struct Execution {
    pub(super) optimiser: Option<Box<dyn Transformation>>,
    pub(super) seed: Option<Seed>,
    pub(super) on_progress: Option<Callback>,
    /// The file, and the number of steps between two checkpoints.
    pub(super) checkpoint: Option<(PathBuf, u64)>,
    /// What was read from the records and is treated as public.
    pub(super) treated_as_public: Vec<String>,
}

/// How batches are drawn, as far as that has been said.
pub(super) enum Chosen<S> {
    Named(S),
    Open(fn(f64) -> dp_sampler::Result<S>),
}

impl<M: Model, G: Guide> DpVi<M, G, Poisson> {
    /// Inference for a model with a guide. The budget has no default and must be named.
    pub fn new(model: M, guide: G) -> Self {
        let (settings, execution) = (Settings::default(), Execution::default());
        Self { model, guide, subsampling: Chosen::Open(Poisson::rate), settings, execution }
    }
}

impl<M, G, S> DpVi<M, G, S> {
    /// The privacy budget of the whole fit.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.settings.budget = Some(budget);
        self
    }

    /// No clipping and no noise, for comparison. The report says **NOT PRIVATE**.
    ///
    /// With a guide that is a [normal](crate::guides::Guide::normal_family) of at most 500 elements
    /// ([`AutoNormal`](crate::guides::AutoNormal),
    /// [`AutoMultivariateNormal`](crate::guides::AutoMultivariateNormal)), and with
    /// [`AutoLaplace`](crate::guides::AutoLaplace), the fit goes on until it has converged: there
    /// is no number of steps to guess, and the units of the data do not matter.
    /// [`Fit::convergence`](crate::Fit::convergence) says whether it has converged and how well the guide fits,
    /// and when a fit takes a number of Adam's steps instead, so that it is `None`: where [steps](Self::steps), a
    /// sample of the records or an optimiser are named, for example. Where the log density is not finite at the
    /// start, the prior's median and points from the prior are tried, and if it is finite at none of them, the fit
    /// ends with [`Error::NotFiniteAtStart`].
    #[must_use]
    pub fn without_privacy(mut self) -> Self {
        self.settings.without_privacy = true;
        self
    }

    /// How the batch of each step is drawn.
    #[must_use]
    pub fn subsample<S2: Subsampling>(self, subsampling: S2) -> DpVi<M, G, S2> {
        let Self { model, guide, settings, execution, .. } = self;
        DpVi { model, guide, subsampling: Chosen::Named(subsampling), settings, execution }
    }

    /// Number of steps. By default 300, or 600 where the clip norm follows a [quantile](crate::Quantile) (without
    /// privacy see [`without_privacy`](Self::without_privacy)), a third more where the last quarter
    /// [probes](crate::Correction::Probes) the curvature, or, where batches are samples, as many more as it takes
    /// until sampling adds at most 5 % to the noise of all steps together.
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.settings.steps = Some(steps);
        self
    }

    /// A number of records that is public knowledge, such as the rounded size of a survey. It sets scales,
    /// and no guarantee depends on it being right. Under add/remove the true number is protected: do
    /// not count the records for it.
    #[must_use]
    pub fn public_records(mut self, records: u64) -> Self {
        self.settings.public_records = Some(records);
        self
    }

    /// The most per-record gradients that the run may take, over all its steps; the sampling rate follows
    /// from it. Needs [`public_records`](Self::public_records).
    #[must_use]
    pub fn compute_limit(mut self, gradients: f64) -> Self {
        self.settings.compute_limit = Some(gradients);
        self
    }

    /// Largest norm `C` of one record's gradient. By default `√D` for `D` elements at the frontier, which
    /// suits a generalised linear model with standardised features: the typical norm of a record's features
    /// is best. For Bernoulli outcomes with [`RecordWeights::Recognised`] and ε below 2 it is half of that,
    /// because residuals are at most 1/2.
    ///
    /// A smaller `C` needs less noise, but clipping to it biases the posterior and weights lose records'
    /// information; it must be chosen without looking at the data.
    #[must_use]
    pub fn clip_norm(mut self, norm: f64) -> Self {
        self.settings.clip_norm = Some(norm);
        self
    }

    /// How gradients are clipped; see [`DpVi`] for the default.
    #[must_use]
    pub fn clipping(mut self, clipping: Clipping) -> Self {
        self.settings.clipping = Some(clipping);
        self
    }

    /// What each record's log-likelihood is multiplied by, so that clipping has less to do.
    #[must_use]
    pub fn weights(mut self, weights: RecordWeights) -> Self {
        self.settings.weights = weights;
        self
    }

    /// At which draws of the guide a step takes the gradient; by default at a mirrored pair.
    #[must_use]
    pub fn draw_scheme(mut self, draws: DrawScheme) -> Self {
        self.settings.draws = draws;
        self
    }

    /// With respect to what a record's gradient is taken and clipped: by default to the latent values. The
    /// others are for comparisons.
    #[must_use]
    pub fn gradients(mut self, gradients: Gradients) -> Self {
        self.settings.gradients = gradients;
        self
    }

    /// How noise is added; by default exactly, so that no rounding error stands between the proof and what is
    /// computed. [`PrivacyNoise::Continuous`] is for comparisons.
    #[must_use]
    pub fn noise(mut self, noise: PrivacyNoise) -> Self {
        self.settings.noise = noise;
        self
    }

    /// Whether a part of the budget goes into a posterior that knows of the noise.
    #[must_use]
    pub fn correction(mut self, correction: Correction) -> Self {
        self.settings.correction = correction;
        self
    }

    /// That part: its share of `1/σ²`, in which Gaussian releases add up; by default 0.15.
    #[must_use]
    pub fn curvature_share(mut self, share: f64) -> Self {
        self.settings.curvature_share = share;
        self
    }

    /// Candidates to start from, one of which is chosen privately.
    #[must_use]
    pub fn private_start(mut self, start: PrivateStart) -> Self {
        self.settings.start = Some(start);
        self
    }

    /// Where latent values start; by default where the unconstrained values are 0, or at the centre of the
    /// coordinates of a [rough fit](Self::rough_fit).
    ///
    /// There the components of a mixture, or the units of a network, are equal, and a gradient would keep them
    /// so. Where a model has such exchangeable parts, and neither this nor a
    /// [private start](Self::private_start) is named, one of some hundred points from the prior is chosen by
    /// how well they fit the records, and then its parts are exchanged for those of other points where they fit
    /// better, privately and for 15 % of the budget. The plan says so
    /// ([`PrivacyPlan::start_from_prior`]). Records are not looked at to decide whether.
    #[must_use]
    pub fn initial_values(mut self, start: InitialValues) -> Self {
        self.settings.initial_values = Some(start);
        self
    }

    /// Adam's learning rate over the run; by default 0.05, held for half of it and lowered to zero along a
    /// cosine. Where the clip norm is [adaptive](Clipping::Adaptive) it is lowered from the start, after a
    /// warm-up of a thirtieth of the run.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.settings.schedule = Some(schedule);
        self
    }

    /// Steps as long as the noise allows, instead of Adam's: for generalised linear models at budgets where
    /// the noise is larger than what a step says.
    ///
    /// ```text
    /// m ← 0.9 m + 0.1 g,   u_j ← u_j + η τ_j² m_j                       τ_j the prior's standard deviation
    /// η = min( ¾ / (s √(T Σ τ_j²)),  19 / (N K max τ_j²) )              s the noise of one gradient's element, T steps
    /// ```
    ///
    /// The first bound keeps the noise of all steps together from moving the values farther than ¾ of the
    /// prior's standard deviation, the second keeps the steps stable. Where no number of records `N` is
    /// [stated](Self::public_records) and it is protected, it is released for 1 % of the budget. Steps stop
    /// short of the posterior's mode where the noise would carry them past it; the
    /// [correction](Self::correction), without which this is refused, infers the rest.
    ///
    /// Where all of the curvature is released, a third of its budget goes into a release before the last four fifths
    /// of the steps, which are those of a noisy Newton method then: directions of little curvature are arrived at,
    /// too, as far as the noise allows. `s_E` is the standard deviation of that release's noise, `D` the number of
    /// values.
    ///
    /// ```text
    /// u ← u + η D M D m      D = diag(τ),   D S̃ D = V diag(λ) Vᵀ,   edge = s_E max τ² √(2D)
    /// M = V diag(1/(max(λ, 0) + edge + 1)) Vᵀ,   η = min( ¾ √max(1, #{λ > edge}) / (s √T ‖M D‖_F),  1 )
    /// ```
    ///
    /// As a point for predictions, the [uncorrected](crate::Fit::uncorrected) mean ranks records better at small ε.
    ///
    /// Without a budget this changes nothing.
    #[must_use]
    pub fn noise_limited_steps(mut self) -> Self {
        self.settings.noise_limited = true;
        self
    }

    /// Says that the features of a generalised linear term were whitened: that in the coordinates of the
    /// latent values
    /// the records' features vary about equally in all directions, as far as is known.
    ///
    /// [Steps limited by the noise](Self::noise_limited_steps) are then equally long in all directions, and no
    /// curvature is released during the run. What the noise of all steps together moves log odds by stays below `π/√3`,
    /// the standard deviation of a logistic variable, and below ¾ of what the prior allows for. Without noise-limited
    /// steps this changes nothing.
    ///
    /// The second moments that a design is whitened by are released by
    /// [`Summaries::second_moments`](crate::summaries::Summaries::second_moments), and paid for and stated by
    /// [`released_before`](Self::released_before).
    #[must_use]
    pub fn whitened_features(mut self) -> Self {
        self.settings.whitened = true;
        self
    }

    /// Whether a first fit to made-up records may say where values lie and in which units: yes, unless this
    /// says no.
    ///
    /// Steps have a length and clip norms a size, so that a private run finds values of order one, and next to
    /// nothing of a slope that belongs to a column of thousands. Before the run it is therefore released how
    /// many records have a number in each octave (1 to 2, 2 to 4, …, of either sign), column by column, with
    /// noise ([`PrivacyPlan::octaves`](crate::PrivacyPlan::octaves)). From these histograms 256 records are
    /// made up, whose columns are independent of each other; the model is fitted to them without privacy; and
    /// the run looks for coordinates `v` of the unconstrained values `u`:
    ///
    /// ```text
    /// u = c + W v        c: the mean of that fit,   W Wᵀ = max(H/256, P/2)⁻¹: what a single record leaves
    ///                    open, or 1.4 deviations of the prior where that is less
    /// ```
    ///
    /// with `H` the curvature of the likelihood of the made-up records and `P` that of the prior, the larger of
    /// the two direction by direction. Small eigenvalues of their sum are raised, for numbers of one octave
    /// cannot be told from a constant. For Bernoulli outcomes, whose curvature is a quarter of what features
    /// say, `W` is half of that. Noise, steps and probes have the size of a unit of `v`; the posterior is one of
    /// the model's values again. [`Fit::parameters`](crate::Fit::parameters) are the guide's, of coordinates.
    ///
    /// The histograms take a tenth of the budget, or less where the [stated](Self::public_records) number of
    /// records is large enough: a share `f` between .01 and .1 with which the noise of a count has a deviation
    /// of a 128th of that number.
    ///
    /// There are no coordinates where the histograms show too little, the model takes no such records or the
    /// fit to them does not converge, and none where they would be between half and twice as long as values in
    /// all directions. Nothing is released, and the model's own units stay, beside a clip norm, clipping,
    /// weights of one's own, feature norms, a schedule, an optimiser, a private start or a diagonal correction
    /// that is named, for those are for these units; with guides that are not
    /// [for coordinates](crate::guides::Guide::takes_coordinates), parameters
    /// ([`Ctx::param`](ppl_core::Ctx::param)) or records' own latent values; with exchangeable parts; and with
    /// more than 32 values at the frontier or 64 numbers of a record.
    ///
    /// When to say no: where columns are known to be of order one and centred, as after scaling by public
    /// bounds, that share of the budget is better spent on steps. With fewer than some hundred records at
    /// ε = 1 the histograms show little, and the fit may begin somewhere else than without.
    ///
    /// In coordinates a clip norm that follows the gradients lies above the [quantile](crate::Quantile) that
    /// noisy counts can find, too.
    #[must_use]
    pub fn rough_fit(mut self, rough_fit: bool) -> Self {
        self.settings.rough_fit = rough_fit;
        self
    }

    /// Names what was released of the same records before, for the sake of this fit: the [budget](Self::budget) covers
    /// it together with the fit, and so does the privacy statement.
    ///
    /// # Privacy
    /// Each of these releases has been paid for when it was made, from the ledger that the fit is paid from, if others
    /// share it; the fit does not pay for it again. What is named is taken at its word: releases of these very records
    /// without sampling, whose noise was as secret as the fit's. A release that is left out here is missing in the
    /// fit's own statement, though not in the ledger's.
    ///
    /// ```
    /// use dp_accountant::{Budget, Ledger, Relation};
    /// use dp_sampler::Seed;
    /// use dp_vi::guides::AutoLaplace;
    /// use dp_vi::summaries::Summaries;
    /// use dp_vi::{DpVi, DrawScheme, Sensitive};
    /// use ndarray::Array2;
    /// use ppl_core::{Column, Ctx, Distribution, Records};
    /// use ppl_distributions::{Bernoulli, Normal};
    ///
    /// fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    ///     let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(2))?;
    ///     ctx.each_record(|ctx, record| {
    ///         ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
    ///     })
    /// }
    /// let x = Array2::from_shape_fn((900, 2), |(i, j)| if j == 0 { 1.0 } else { (i % 9) as f64 / 4.0 - 1.0 });
    /// let y: Vec<f64> = (0..900).map(|i| f64::from(i % 9 > 4)).collect();
    /// let records = Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))])?);
    ///
    /// let budget = Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove };
    /// let mut ledger = Ledger::new(budget)?;
    /// let mut summaries = Summaries::new(&records, Seed::from_os()?)?;
    /// let found = summaries.second_moments("x", Array2::eye(2).view(), 2.0, 20.0, &mut ledger)?;
    /// let vi = DpVi::new(model, AutoLaplace::new()).draw_scheme(DrawScheme::Single).steps(20);
    /// let fit = vi.budget(budget).released_before([found.release]).fit_from(&records, &mut ledger)?;
    /// // One statement for both.
    /// assert!(fit.privacy().epsilon.as_ref().is_some_and(|all| all.upper <= 1.0 && all.upper > 0.99));
    /// assert!(ledger.spent()?.upper <= 1.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn released_before(mut self, releases: impl IntoIterator<Item = Release>) -> Self {
        self.settings.before.extend(releases);
        self
    }

    /// What is public of the norms of the records' features, for generalised linear terms: the clip norm's
    /// default and the bound on one record's curvature follow.
    #[must_use]
    pub fn feature_norms(mut self, norms: FeatureNorms) -> Self {
        self.settings.feature_norms = Some(norms);
        self
    }

    /// `K`, the largest Frobenius norm of one record's part of the curvature, for likelihoods that depend on the shared
    /// values through [one number that is linear in them](ppl_core::transform::scalar_predictor), of whatever slope: a
    /// normal of known scale, a Poisson of a log rate. With it [`Correction::Full`] and
    /// [`Correction::Diagonal`] release that curvature, `−f″(η) d dᵀ` clipped to `K`, in the place of the scores'
    /// second moments, which are the curvature only where the model holds. The log density should be concave in that
    /// number: the posterior takes no direction for one of negative curvature.
    ///
    /// For features of typical norm `t` and a normal of scale σ, `K = t²/σ²` to twice that is right: parts of longer
    /// records are cut, and the noise is proportional to `K`. It must be public: chosen without looking at the data, or
    /// made from what has been released.
    ///
    /// # Errors
    ///
    /// A plan refuses it where it is not between 1e-4 and 1e100, no curvature is released, the likelihood does not
    /// depend on the shared values through one number that is linear in them, or `K` follows from the clip norm as for
    /// Bernoulli outcomes.
    ///
    /// ```
    /// use dp_accountant::{Budget, Relation};
    /// use dp_vi::guides::AutoLaplace;
    /// use dp_vi::{Correction, DpVi};
    /// use ppl_core::{Ctx, Distribution, Schema, Shape};
    /// use ppl_distributions::Normal;
    ///
    /// fn model(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
    ///     let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(4))?;
    ///     ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(record.get("x")?.dot(w), 0.5), record.get("y")?))
    /// }
    ///
    /// let plan = DpVi::new(model, AutoLaplace::new())
    ///     .budget(Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove })
    ///     .correction(Correction::Full)
    ///     .curvature_norm(4.0 / 0.25)
    ///     .plan(&Schema::new([("x", Shape::from(4)), ("y", Shape::scalar())])?)?;
    /// assert!(plan.curvature.is_some_and(|curvature| !curvature.by_scores && curvature.clip_norm == 16.0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn curvature_norm(mut self, norm: f64) -> Self {
        self.settings.curvature_norm = Some(norm);
        self
    }

    /// Another optimiser than Adam, with its learning rate. See [`Transformation`].
    ///
    /// Where its steps grow with the gradients (plain ascent, with momentum or without) and the clip norm
    /// [follows](Clipping::Adaptive) these, that norm is at most [six times](crate::Quantile#beside-plain-ascent) its
    /// first.
    #[must_use]
    pub fn optimiser(mut self, optimiser: impl Transformation + 'static) -> Self {
        self.settings.own_optimiser = true;
        self.settings.scale_free = optimiser.is_scale_free();
        self.execution.optimiser = Some(Box::new(optimiser));
        self
    }

    /// Fraction of the run, at its end, over which the guide's parameters are averaged; by default one half.
    /// Zero takes the last value.
    #[must_use]
    pub fn average_tail(mut self, fraction: f64) -> Self {
        self.settings.average = fraction;
        self
    }

    /// Puts into the privacy statement that something which was read from the records is treated as public:
    /// categories that were found in a column, say. It may be called several times.
    ///
    /// # Privacy
    /// The guarantee does not cover what is stated here: it holds for data sets that agree in it. This method
    /// changes nothing but what the statement says.
    ///
    /// ```
    /// # use dp_accountant::{Budget, Relation};
    /// # use dp_vi::guides::AutoNormal;
    /// # use dp_vi::{DpVi, Sensitive};
    /// # use ppl_core::{Ctx, Records};
    /// # use ppl_distributions::Normal;
    /// # fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    /// #     let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
    /// #     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    /// # }
    /// # let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 10])])?);
    /// # let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    /// let vi = DpVi::new(model, AutoNormal::new()).budget(budget).steps(20);
    /// let fit = vi.treat_as_public("the categories of 'town' were read from the records").fit(&records)?;
    /// assert!(fit.privacy().to_string().contains("not covered: the categories of 'town' were read from the records"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A run that goes on from a [checkpoint](Self::checkpoint) has to state the same.
    #[must_use]
    pub fn treat_as_public(mut self, statement: impl Into<String>) -> Self {
        self.execution.treated_as_public.push(statement.into());
        self
    }

    /// A line that a checkpoint of this run has beside the run's settings: a run goes on from it only if it has the
    /// same lines.
    ///
    /// For what a run depends on outside of it, such as the name of what was released for it and is kept elsewhere. The
    /// value is readable in the file; [`Checkpoint::settings`](crate::Checkpoint::settings) gives it back as `name:
    /// value`.
    ///
    /// ```
    /// # use dp_vi::guides::AutoNormal;
    /// # use dp_vi::{Checkpoint, DpVi, Sensitive};
    /// # use ppl_core::{Ctx, Records};
    /// # use ppl_distributions::Normal;
    /// # fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    /// #     let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
    /// #     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    /// # }
    /// # let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 10])])?);
    /// # let path = std::env::temp_dir().join(format!("dp-vi-bound-to-{}", std::process::id()));
    /// let run = || DpVi::new(model, AutoNormal::new()).without_privacy().steps(20).checkpoint(&path, 10);
    /// run().bound_to("scale", "from survey 7").fit(&records)?;
    /// assert!(Checkpoint::read(&path)?.settings().contains("scale: from survey 7"));
    /// let error = run().bound_to("scale", "from survey 8").resume(&records).unwrap_err();
    /// assert!(error.to_string().contains("scale was from survey 7, here it is from survey 8"));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn bound_to(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.bound_to.push((name.into(), value.into()));
        self
    }

    /// The source of all randomness; by default a fresh secret seed from the operating system.
    #[must_use]
    pub fn seed(mut self, seed: Seed) -> Self {
        self.execution.seed = Some(seed);
        self
    }
}

impl<M: Model, G: Guide, S: Subsampling> DpVi<M, G, S> {
    /// What a run on records of these columns will do and what it will cost; no record is touched.
    ///
    /// Under add/remove nothing depends on the number of records, unless one was
    /// [stated](Self::public_records); a run makes the same plan again.
    ///
    /// # Errors
    /// If something is missing or out of range, the model is wrong, no noise multiplier meets the budget, or
    /// no bound is known for this kind of sampling.
    ///
    /// ```
    /// use dp_accountant::{Budget, Relation};
    /// use dp_vi::guides::AutoNormal;
    /// use dp_vi::DpVi;
    /// use ppl_core::{Ctx, Distribution, Schema};
    /// use ppl_distributions::{Bernoulli, Normal};
    ///
    /// fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    ///     let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(ctx.records().dim("x")?))?;
    ///     ctx.each_record(|ctx, record| {
    ///         ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
    ///     })
    /// }
    /// let schema = Schema::new([("x", 5.into()), ("y", ppl_core::Shape::scalar())])?;
    /// let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    /// let plan = DpVi::new(model, AutoNormal::new()).budget(budget).plan(&schema)?;
    /// println!("{}", plan.explain());
    /// assert!(plan.steps == 300 && plan.weighted && plan.curvature.is_some());
    /// assert!(plan.calibrated.unwrap().epsilon.upper <= 1.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan(&self, schema: &Schema) -> Result<PrivacyPlan> {
        self.plan_for(schema, self.settings.public_records.unwrap_or(MAX_RECORDS))
    }

    /// The plan where schemes that need a number of records are for this one.
    pub(super) fn plan_for(&self, schema: &Schema, number: u64) -> Result<PrivacyPlan> {
        // What was forgotten is said before what is wrong with the model.
        self.settings.required_budget()?;
        let named = self.settings.start.is_some() || self.settings.initial_values.is_some();
        let mut survey = Survey::new(&self.model, schema, !named && self.guide.takes_initial())?;
        survey.takes_coordinates = self.guide.takes_coordinates();
        if self.settings.curvature_norm.is_some() {
            survey = survey.with_predictor(&self.model, schema)?;
        }
        let sampler = match &self.subsampling {
            Chosen::Named(plan) => Sampler::Named(plan),
            Chosen::Open(make) => Sampler::Open(*make),
        };
        let small = survey.all_latent.is_some_and(|n| is_small_enough(&self.guide, n));
        let mut plan = self.settings.plan(survey, &sampler, number)?;
        let whole = sampling_rate(&plan.scheme).is_ok_and(|rate| rate >= 1.0);
        let by_itself = self.execution.checkpoint.is_none() && self.execution.optimiser.is_none();
        plan.until_converged =
            self.settings.without_privacy && small && whole && by_itself && self.settings.may_converge();
        Ok(plan)
    }

    /// Prepares a run, and debits all of its releases from a ledger that holds just the budget. A private
    /// start is chosen here.
    ///
    /// # Errors
    /// If something is missing or out of range, the model is wrong, the records do not fit it, or the budget
    /// cannot be met.
    pub fn start<'r>(mut self, records: &'r Sensitive<Records>) -> Result<Training<'r, G, S::Sampler>> {
        let seed = self.execution.take_seed()?;
        let mut ledger = self.settings.required_budget()?.map(Ledger::new).transpose()?;
        let prepared = self.for_any_model().prepare(records, &seed)?;
        let receipt = match (prepared.charges(), &mut ledger) {
            (Some(charges), Some(ledger)) => Some(ledger.debit_all(&charges.once())?),
            _ => None,
        };
        let (mut training, _) = prepared.begin(receipt, &seed, None, false, None)?;
        if let Some(ledger) = &mut ledger {
            training.pay(ledger, training.steps())?;
        }
        Ok(training)
    }
}

// Each model is a type of its own, and what follows would be compiled for each.
impl<'m, M: Model + 'm, G, S> DpVi<M, G, S> {
    pub(super) fn for_any_model(self) -> DpVi<AnyModel<'m>, G, S> {
        let Self { model, guide, subsampling, settings, execution } = self;
        DpVi { model: AnyModel(Box::new(model)), guide, subsampling, settings, execution }
    }
}

impl Execution {
    pub(super) fn take_seed(&mut self) -> Result<Seed> {
        match self.seed.take() {
            Some(seed) => Ok(seed),
            None => Ok(Seed::from_os()?),
        }
    }

    /// The optimiser that was named, or Adam with the schedule that was named or suits the plan.
    pub(super) fn take_optimiser(
        &mut self,
        settings: &Settings,
        plan: &PrivacyPlan,
    ) -> Result<Box<dyn Transformation>> {
        self.optimiser(settings.schedule, settings.schedule_for(plan))
    }

    /// The optimiser that was named, or Adam with a schedule; `named` is the one that the caller named, if any.
    pub(super) fn optimiser(
        &mut self,
        named: Option<Schedule>,
        schedule: Schedule,
    ) -> Result<Box<dyn Transformation>> {
        match (self.optimiser.take(), named) {
            (Some(_), Some(_)) => Err(Error::Conflict(
                "an optimiser and a schedule were named: the schedule is Adam's, another optimiser brings its own rate",
            )),
            (Some(optimiser), None) => Ok(optimiser),
            (None, _) => Ok(Box::new(adam(schedule)?)),
        }
    }
}
