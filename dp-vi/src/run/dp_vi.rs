//! Private variational inference: from a model and a budget to a posterior and a privacy statement.

use super::training::Training;
use crate::cost::charges::Release;
use crate::cost::pricing::sampling_rate;
use crate::error::{Error, Result};
use crate::guides::guide::Guide;
use crate::objective::draws::DrawScheme;
use crate::objective::gradients::Gradients;
use crate::objective::initial::InitialValues;
use crate::objective::moments::FeatureMoments;
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
///             v_i = (∂ℓ_i/∂u₊, ∂ℓ_i/∂u₋)/√2                     per record;  ℓ_i = w_i ln p(x_i|θ)
///             S = Σ_{i ∈ batch} clip_C(v_i) + σC·N(0, I)         the only use of the data
///             φ ← Adam(φ, ½ Σ± (∂u±/∂φ)ᵀ (√2 S±/q + ∂ ln p(θ±)/∂u) + ∂H/∂φ)      prior and entropy exact
/// ```
///
/// Only the gradients of the records' log-likelihoods are clipped and noised, and only with respect to the shared
/// values that the likelihood depends on; guide, prior and entropy are public functions of values that have been
/// released.
///
/// The *frontier* is the set of these values: the elements of `u` on which the records' likelihood depends. `D` is the
/// number of its elements. The noise has one element for each element of the frontier, not one for each parameter of
/// the guide.
///
/// A model, a guide and a budget are enough: everything else has a default that does not depend on the records.
/// [`plan`](DpVi::plan) states these defaults before any record is read.
///
/// | part | default | method to change it |
/// |---|---|---|
/// | sampling | every record at every step; with a compute limit, Poisson samples at a suitable rate | [`subsample`](DpVi::subsample), [`compute_limit`](DpVi::compute_limit) |
/// | number of records | where a default needs it, it is released with noise for 1 % of the budget | [`public_records`](DpVi::public_records) |
/// | number of steps | 300; 600 where the clip norm is adaptive; 800 where it is and the last quarter of the steps probes the curvature (1,024 with 33 to 64 elements at the frontier, 2,048 with 65 to 128); more where sampling needs them; without privacy, until the fit has [converged](crate::Convergence) | [`steps`](DpVi::steps) |
/// | clip norm `C` | `√D`; half of that for Bernoulli outcomes with recognised weights and ε below 2 | [`clip_norm`](DpVi::clip_norm) |
/// | bound on gradients | weights of the records for generalised linear terms; otherwise an adaptive clip norm, which follows a high [quantile](crate::Quantile) of the gradients' norms; where `C` is given, clipping to `C` | [`weights`](DpVi::weights), [`clipping`](DpVi::clipping) |
/// | draws of the guide | a mirrored pair at each step | [`draw_scheme`](DpVi::draw_scheme) |
/// | gradients | with respect to the latent values; for comparison, with respect to the guide's parameters | [`gradients`](DpVi::gradients) |
/// | kind of noise | exact, on a grid; for comparison, in floating point | [`noise`](DpVi::noise) |
/// | posterior | corrected for the noise: for generalised linear terms with weights, by a release of the curvature for 15 % of the budget; otherwise, with up to 128 elements at the frontier, by the last quarter of the steps | [`correction`](DpVi::correction) |
/// | units | coordinates of order one, where they can be found from noisy counts of the octaves of the columns' numbers, for up to 10 % of the budget; the model's own units where another setting refers to these | [`rough_fit`](DpVi::rough_fit) |
/// | start | unconstrained values of 0, or the centre of the coordinates; for models with exchangeable parts, a point from the prior that is chosen privately, part by part, for 15 % of the budget | [`initial_values`](DpVi::initial_values), [`private_start`](DpVi::private_start) |
/// | optimiser | Adam at rate 0.05, which is held for half of the run and then lowered; with an adaptive clip norm at rate `0.05 √(300/T)` for `T` steps (probes not counted), which is lowered from the start | [`schedule`](DpVi::schedule), [`optimiser`](DpVi::optimiser) |
/// | noise multiplier `σ` | the smallest that keeps the budget | |
///
/// # Privacy
/// `σ` is calibrated so that all releases together stay within the budget. The events are stated by the sampler and the
/// mechanism themselves, and are debited from a ledger before the first step. See
/// [`PrivacyReport`](crate::PrivacyReport).
///
/// Where batches, noise or choices are not drawn exactly from the distribution that is accounted for, but within a
/// proven total variation distance τ of it, this takes `(1 + e^ε) τ` of δ, and `σ` is calibrated to the rest
/// ([`PrivacyPlan::delta_of_deviations`]). Samplers about which nothing is proven are refused, namely random orders of
/// more than 1,024 records that are computed from a key.
///
/// Each fit spends its budget once. What several fits of the same records cost together is the composition of all their
/// events. If the records do not fit the model, for example because an observation lies outside its support, the fit
/// returns an error. That error is meant for the holder of the records, and the guarantee does not cover it.
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
    /// Inference for a model with a guide. The budget has no default: set it with [`budget`](Self::budget).
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

    /// Fits without clipping and noise, for comparison. The report says **NOT PRIVATE**.
    ///
    /// With a [normal](crate::guides::Guide::normal_family) guide of at most 500 elements
    /// ([`AutoNormal`](crate::guides::AutoNormal), [`AutoMultivariateNormal`](crate::guides::AutoMultivariateNormal)),
    /// and with [`AutoLaplace`](crate::guides::AutoLaplace), the fit continues until it has converged: no number of
    /// steps has to be chosen, and the units of the data do not matter. [`Fit::convergence`](crate::Fit::convergence)
    /// then says whether it has converged and how well the guide fits. It is `None` where the fit takes a fixed number
    /// of Adam steps instead, for example because a number of [steps](Self::steps), sampling of the records or an
    /// optimiser was set. If the log density is not finite at the start, the fit tries the prior's median and points
    /// from the prior; if it is finite at none of them, the fit returns [`Error::NotFiniteAtStart`].
    #[must_use]
    pub fn without_privacy(mut self) -> Self {
        self.settings.without_privacy = true;
        self
    }

    /// How the batch of each step is drawn; by default it consists of all records.
    #[must_use]
    pub fn subsample<S2: Subsampling>(self, subsampling: S2) -> DpVi<M, G, S2> {
        let Self { model, guide, settings, execution, .. } = self;
        DpVi { model, guide, subsampling: Chosen::Named(subsampling), settings, execution }
    }

    /// Number of steps. The default is 300, or 600 where the clip norm is [adaptive](Clipping::Adaptive). Where the
    /// last quarter of the steps [probes](crate::Correction::Probes) the curvature of `D` elements, the default is a
    /// third more, and at least `16 · max(8, 2^⌈log₂ D⌉)`: with an adaptive clip norm 800 for up to 32 elements, 1,024
    /// for 33 to 64, and 2,048 for 65 to 128. Where batches are samples of the records, there are as many more as it
    /// takes until sampling adds at most 5 % to the noise of all steps together; with a [compute
    /// limit](Self::compute_limit) there may be fewer. Without privacy see [`without_privacy`](Self::without_privacy).
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.settings.steps = Some(steps);
        self
    }

    /// A number of records that is public knowledge, such as the rounded size of a survey. It sets scales, and the
    /// guarantee holds even if it is wrong. Under add/remove the true number of records is protected, so do not obtain
    /// this number by counting them.
    #[must_use]
    pub fn public_records(mut self, records: u64) -> Self {
        self.settings.public_records = Some(records);
        self
    }

    /// The largest number of per-record gradients that the run may compute in all its steps together; the sampling rate
    /// follows from it. Needs [`public_records`](Self::public_records).
    #[must_use]
    pub fn compute_limit(mut self, gradients: f64) -> Self {
        self.settings.compute_limit = Some(gradients);
        self
    }

    /// Largest norm `C` of one record's gradient. The default is `√D` for `D` elements at the [frontier](DpVi). This
    /// suits a generalised linear model with standardised features, where the typical norm of a record's features is
    /// the best choice. For Bernoulli outcomes with [`RecordWeights::Recognised`] and ε below 2 the default is half of
    /// that, because residuals are then at most 1/2.
    ///
    /// A smaller `C` needs less noise, but clipping to it biases the posterior, and with weights the records lose
    /// information. `C` must be chosen without looking at the data.
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

    /// Weights by which the records' log-likelihoods are multiplied, so that fewer gradients have to be clipped.
    #[must_use]
    pub fn weights(mut self, weights: RecordWeights) -> Self {
        self.settings.weights = weights;
        self
    }

    /// The draws of the guide at which a step takes the gradient; by default a mirrored pair.
    #[must_use]
    pub fn draw_scheme(mut self, draws: DrawScheme) -> Self {
        self.settings.draws = draws;
        self
    }

    /// The values with respect to which a record's gradient is taken and clipped; by default the latent values. The
    /// other choices are for comparisons.
    #[must_use]
    pub fn gradients(mut self, gradients: Gradients) -> Self {
        self.settings.gradients = gradients;
        self
    }

    /// How noise is added; by default exactly, so that the guarantee holds for the computed numbers and not only for
    /// real ones. [`PrivacyNoise::Continuous`] is for comparisons.
    #[must_use]
    pub fn noise(mut self, noise: PrivacyNoise) -> Self {
        self.settings.noise = noise;
        self
    }

    /// Whether, and how, the posterior is corrected so that its intervals include the privacy noise.
    #[must_use]
    pub fn correction(mut self, correction: Correction) -> Self {
        self.settings.correction = correction;
        self
    }

    /// The share of the budget that a [correction](Self::correction) with a released curvature gets: its share of
    /// `1/σ²`, a quantity that adds up over Gaussian releases. The default is 0.15.
    #[must_use]
    pub fn curvature_share(mut self, share: f64) -> Self {
        self.settings.curvature_share = share;
        self
    }

    /// Candidates for the start of the run, one of which is chosen privately.
    #[must_use]
    pub fn private_start(mut self, start: PrivateStart) -> Self {
        self.settings.start = Some(start);
        self
    }

    /// Where latent values start; by default where the unconstrained values are 0, or at the centre of the coordinates
    /// of a [rough fit](Self::rough_fit).
    ///
    /// At such a start the components of a mixture, or the units of a network, are equal, and gradients would keep them
    /// equal. For models with such exchangeable parts, unless this or a [private start](Self::private_start) is set,
    /// the run starts elsewhere: one of some hundred points from the prior is chosen by how well it fits the records,
    /// and then its parts are exchanged for those of other points that fit better. Both choices are private, and take
    /// 15 % of the budget. Whether a model has exchangeable parts is decided without looking at the records, and the
    /// plan states it ([`PrivacyPlan::start_from_prior`]).
    #[must_use]
    pub fn initial_values(mut self, start: InitialValues) -> Self {
        self.settings.initial_values = Some(start);
        self
    }

    /// Adam's learning rate over the run. By default it is 0.05 for the first half of the run, and is then lowered to
    /// zero along a cosine. Where the clip norm is [adaptive](Clipping::Adaptive) it is `0.05 √(300/T)` for `T` steps,
    /// probes not counted (0.05 for fewer than 300), and is lowered from the start, after a warm-up of a thirtieth of
    /// these steps.
    #[must_use]
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.settings.schedule = Some(schedule);
        self
    }

    /// Takes steps whose length is limited by the privacy noise, instead of Adam's steps. This is for generalised
    /// linear models at budgets for which the noise in a gradient is larger than its signal.
    ///
    /// ```text
    /// m ← 0.9 m + 0.1 g,   u_j ← u_j + η τ_j² m_j                       τ_j the prior's standard deviation
    /// η = min( ¾ / (s √(T Σ τ_j²)),  19 / (N K max τ_j²) )              s the noise of one gradient's element, T steps
    /// ```
    ///
    /// The first bound keeps the noise of all steps together from moving the values farther than ¾ of the prior's
    /// standard deviation; the second keeps the steps stable. If the number of records `N` is protected and was not
    /// [stated](Self::public_records), it is released for 1 % of the budget. The steps may end short of the posterior's
    /// mode; the [correction](Self::correction) infers the remaining distance, and without a correction these steps are
    /// refused.
    ///
    /// Where the full curvature is released, a third of its budget is spent on a first release before the last four
    /// fifths of the steps. These are then the steps of a noisy Newton method, which also reach the mode in directions
    /// of little curvature, as far as the noise allows. `s_E` is the standard deviation of that release's noise, `D`
    /// the number of elements at the frontier.
    ///
    /// ```text
    /// u ← u + η D M D m      D = diag(τ),   D S̃ D = V diag(λ) Vᵀ,   edge = s_E max τ² √(2D)
    /// M = V diag(1/(max(λ, 0) + edge + 1)) Vᵀ,   η = min( ¾ √max(1, #{λ > edge}) / (s √T ‖M D‖_F),  1 )
    /// ```
    ///
    /// For predictions at small ε, the mean of the [uncorrected](crate::Fit::uncorrected) posterior ranks records
    /// better than that of the corrected one.
    ///
    /// Without a budget this setting has no effect.
    #[must_use]
    pub fn noise_limited_steps(mut self) -> Self {
        self.settings.noise_limited = true;
        self
    }

    /// States that the features of a generalised linear term were whitened: as far as is known, the records' features
    /// vary about equally in all directions, in the coordinates of the latent values.
    ///
    /// [Steps limited by the noise](Self::noise_limited_steps) are then equally long in all directions, and no
    /// curvature is released during the run. The noise of all steps together moves log odds by less than `π/√3`, the
    /// standard deviation of a logistic variable, and by less than ¾ of what the prior allows. Without noise-limited
    /// steps this setting has no effect.
    ///
    /// [`Summaries::second_moments`](crate::summaries::Summaries::second_moments) releases the second moments that
    /// whitening needs. Pass that release to [`released_before`](Self::released_before), so that the budget and the
    /// privacy statement include it.
    #[must_use]
    pub fn whitened_features(mut self) -> Self {
        self.settings.whitened = true;
        self
    }

    /// What has been released of the second moments of [whitened features](Self::whitened_features), in the order of
    /// the latent values whose features they are.
    ///
    /// The correction of the posterior then takes the curvature for about as large in all directions of which the
    /// moments are known, as far as the curvature's own release does not say otherwise. Without it, whatever a noisy
    /// release leaves possible of a curvature is taken for possible, and intervals are longer.
    ///
    /// It has no effect on a model with another number of latent elements that records touch.
    ///
    /// # Errors
    ///
    /// Planning fails where a moment is not finite, where a deviation is negative or not finite, or where there are
    /// more of one than of the other.
    ///
    /// ```
    /// use dp_accountant::{Budget, Relation};
    /// use dp_vi::guides::AutoLaplace;
    /// use dp_vi::{DpVi, FeatureMoments};
    /// use ppl_core::{Ctx, Distribution, Schema, Shape};
    /// use ppl_distributions::{Bernoulli, Normal};
    ///
    /// fn model(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
    ///     let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(2))?;
    ///     ctx.each_record(|ctx, record| {
    ///         ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
    ///     })
    /// }
    ///
    /// // The second coordinate's moment is no more than the noise of its release.
    /// let moments = FeatureMoments { mean: vec![0.95, 0.1], deviation: vec![0.02, 0.2] };
    /// let vi = DpVi::new(model, AutoLaplace::new()).noise_limited_steps().whitened_features();
    /// let vi = vi.budget(Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove }).public_records(1000);
    /// let schema = Schema::new([("x", Shape::from(2)), ("y", Shape::scalar())])?;
    /// assert!(vi.feature_moments(moments).plan(&schema).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn feature_moments(mut self, moments: FeatureMoments) -> Self {
        self.settings.feature_moments = Some(moments);
        self
    }

    /// Whether a preliminary fit to made-up records may determine where the run starts and in which units it is made;
    /// by default it may.
    ///
    /// Steps have a fixed length and gradients are clipped to a fixed norm, so a private run finds values of order one,
    /// but learns next to nothing about, say, the slope of a column of numbers in the thousands. Before the run,
    /// therefore, noisy counts are released of the records whose number lies in each octave (1 to 2, 2 to 4, …, of
    /// either sign), for each column ([`PrivacyPlan::octaves`](crate::PrivacyPlan::octaves)). From these histograms 256
    /// records are made up, whose columns are independent of each other. The model is fitted to them without privacy,
    /// and the run then works in coordinates `v` of the unconstrained values `u`:
    ///
    /// ```text
    /// u = c + W v        c: the mean of that fit,   W Wᵀ = max(H/256, P/2)⁻¹: what a single record leaves
    ///                    open, or 1.4 deviations of the prior where that is less
    /// ```
    ///
    /// Here `H` is the curvature of the likelihood of the made-up records and `P` that of the prior; the maximum is
    /// taken direction by direction. Small eigenvalues of the sum of the two are raised, because numbers in a single
    /// octave cannot be told from a constant. For Bernoulli outcomes, whose curvature is a quarter of what the features
    /// alone would give, `W` is half of that. Noise, steps and probes are then of the order of one unit of `v`; the
    /// posterior is again one of the model's values. [`Fit::parameters`](crate::Fit::parameters), however, are the
    /// guide's parameters in these coordinates.
    ///
    /// The histograms take a tenth of the budget, or less where the [stated](Self::public_records) number of records is
    /// large enough: a share `f` between .01 and .1 with which the noise of a count has a standard deviation of a 128th
    /// of that number.
    ///
    /// The run stays in the model's own units if the histograms show too little, if the model cannot take the made-up
    /// records, if the fit to them does not converge, or if the unit of the coordinates would be between half and twice
    /// that of the values in all directions. Nothing is released, and the model's own units stay, in these cases:
    ///
    /// - a clip norm, clipping, weights of your own, feature norms, a curvature norm, whitened features, a schedule, an
    ///   optimiser, steps limited by the noise, a private start or a diagonal correction was set, because these refer
    ///   to the model's units;
    /// - the guide does not support [coordinates](crate::guides::Guide::takes_coordinates);
    /// - the model has parameters ([`Ctx::param`](ppl_core::Ctx::param)), latent values of single records, or
    ///   exchangeable parts;
    /// - gradients are taken otherwise than by [default](Self::gradients);
    /// - there are more than 32 elements at the frontier, more than 64 latent elements in all, or more than 64 numbers
    ///   in a record;
    /// - the budget is so small that no octave would stand out of the noise.
    ///
    /// Switch it off where columns are known to be centred and of order one, for example after scaling by public
    /// bounds: that share of the budget is then better spent on steps. With fewer than some hundred records at ε = 1
    /// the histograms show little, and the fit may begin at a different place than without them.
    ///
    /// In these coordinates an adaptive clip norm may also lie above the [quantile](crate::Quantile) that noisy counts
    /// can find.
    #[must_use]
    pub fn rough_fit(mut self, rough_fit: bool) -> Self {
        self.settings.rough_fit = rough_fit;
        self
    }

    /// Adds earlier releases about the same records, which were made for this fit: the [budget](Self::budget) and the
    /// privacy statement then cover them together with the fit.
    ///
    /// # Privacy
    /// Each of these releases was paid for when it was made; if the fit is paid from a shared ledger, from that ledger.
    /// The fit does not pay for it again. What the caller states is not checked: these must be releases about the same
    /// records, made without sampling, and with noise as secret as the fit's own. A release that is left out here is
    /// missing from the fit's own statement, though not from the ledger's.
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

    /// Public knowledge about the norms of the records' features, for generalised linear terms. It determines the
    /// default of the clip norm and the bound on one record's curvature.
    #[must_use]
    pub fn feature_norms(mut self, norms: FeatureNorms) -> Self {
        self.settings.feature_norms = Some(norms);
        self
    }

    /// `K`, the largest Frobenius norm of one record's contribution to the curvature. It is for likelihoods that depend
    /// on the shared values through [one number that is linear in them](ppl_core::transform::scalar_predictor), with a
    /// slope that need not be bounded: for example a normal with known scale, or a Poisson with a log rate. With `K`
    /// set, [`Correction::Full`] and [`Correction::Diagonal`] release that curvature, `−f″(η) d dᵀ` clipped to `K`,
    /// instead of the scores' second moments, which equal the curvature only where the model holds. The log density
    /// should be concave in that number, because the posterior does not use directions of negative curvature.
    ///
    /// For features of typical norm `t` and a normal of scale σ, a `K` between `t²/σ²` and twice that is suitable: the
    /// contributions of longer records are clipped, and the noise is proportional to `K`. It must be public: chosen
    /// without looking at the data, or computed from what has been released.
    ///
    /// # Errors
    ///
    /// Planning fails if `K` is not between 1e-4 and 1e100, if no curvature is released, if the likelihood does not
    /// depend on the shared values through one number that is linear in them, or if `K` follows from the clip norm, as
    /// it does for Bernoulli outcomes.
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

    /// An optimiser to use instead of Adam, with its own learning rate. See [`Transformation`].
    ///
    /// If its steps are proportional to the gradients (plain gradient ascent, with or without momentum) and the clip
    /// norm is [adaptive](Clipping::Adaptive), that norm is limited to [six times](crate::Quantile#beside-plain-ascent)
    /// its initial value.
    #[must_use]
    pub fn optimiser(mut self, optimiser: impl Transformation + 'static) -> Self {
        self.settings.own_optimiser = true;
        self.settings.scale_free = optimiser.is_scale_free();
        self.execution.optimiser = Some(Box::new(optimiser));
        self
    }

    /// The fraction of the run, at its end, over which the guide's parameters are averaged. The default is one half;
    /// with zero the last values are used.
    #[must_use]
    pub fn average_tail(mut self, fraction: f64) -> Self {
        self.settings.average = fraction;
        self
    }

    /// Adds to the privacy statement that something which was read from the records is treated as public, for example
    /// the categories that were found in a column. It may be called several times.
    ///
    /// # Privacy
    /// The guarantee does not cover what is stated here: it holds for data sets that agree in it. This method only
    /// changes the statement.
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
    /// A run that is resumed from a [checkpoint](Self::checkpoint) has to state the same.
    #[must_use]
    pub fn treat_as_public(mut self, statement: impl Into<String>) -> Self {
        self.execution.treated_as_public.push(statement.into());
        self
    }

    /// Adds a line to the settings in this run's checkpoints; a run can be resumed from a checkpoint only if it has the
    /// same lines.
    ///
    /// Use it for things outside the run on which the run depends, such as the name of an earlier release that is
    /// stored elsewhere. The value can be read in the file; [`Checkpoint::settings`](crate::Checkpoint::settings)
    /// returns it as `name: value`.
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
    /// Plans a run on records with these columns: what it will do and what it will cost. No record is read.
    ///
    /// Under add/remove the plan does not depend on the number of records, unless one was
    /// [stated](Self::public_records). A run makes the same plan again.
    ///
    /// # Errors
    /// If a setting is missing or out of range, the model is wrong, no noise multiplier meets the budget, or no bound
    /// is known for this kind of sampling.
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

    /// Prepares a run that is made step by step, and debits all of its releases from a ledger that holds exactly the
    /// budget. Where there is a private start, it is chosen here.
    ///
    /// # Errors
    /// If a setting is missing or out of range, the model is wrong, the records do not fit it, or the budget cannot be
    /// met.
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
