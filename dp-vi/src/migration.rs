//! From NumPyro or d3p to here: what goes by which name, and what is different on purpose.
//!
//! # A private logistic regression, there and here
//!
//! With d3p, somebody writes a NumPyro model over a *batch*, finds a noise scale for a number of steps, binds model, guide, optimiser and noise
//! in a `DPSVI`, draws batches with a function that goes with it, and writes the loop:
//!
//! ```python
//! def model(x, y=None, num_obs_total=None):
//!     w = sample("w", dist.Normal(0., 4.).expand((x.shape[1],)).to_event(1))
//!     with minibatch(len(x), num_obs_total):
//!         sample("y", dist.Bernoulli(logits=x @ w), obs=y)
//!
//! sigma, eps, _ = approximate_sigma(1., 1e-5, q=0.01, num_iter=5000)
//! svi = DPSVI(model, AutoDiagonalNormal(model), Adam(1e-3), Trace_ELBO(),
//!             clipping_threshold=2., dp_scale=sigma, num_obs_total=N)
//! init, get = subsample_batchify_data((x, y), q=0.01)
//! _, batches = init(PRNGKey(0))
//! state = svi.init(PRNGKey(1), *get(0, batches))
//! for i in range(5000):
//!     state, loss = svi.update(state, *get(i, batches))
//! posterior = svi.get_params(state)
//! ```
//!
//! Here the model is of one *record*, and the budget is all that has to be said:
//!
//! ```
//! use dp_accountant::{Budget, Relation};
//! use dp_vi::guides::AutoNormal;
//! use dp_vi::{DpVi, Sensitive};
//! use ppl_core::{Ctx, Distribution, Records, Result};
//! use ppl_distributions::{Bernoulli, Normal};
//!
//! fn model(ctx: &mut Ctx) -> Result<()> {
//!     let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(ctx.records().dim("x")?))?;
//!     ctx.each_record(|ctx, record| {
//!         ctx.observe("y", Bernoulli::from_logit(record.get("x")?.dot(w)), record.get("y")?)
//!     })
//! }
//!
//! # let x = ndarray::Array2::from_shape_fn((500, 2), |(i, j)| ((i * (3 + 4 * j)) % 17) as f64 / 8.0 - 1.0);
//! # let y: ndarray::Array1<f64> = x.rows().into_iter().map(|x| f64::from(x[0] > x[1])).collect();
//! let records = Sensitive::new(Records::from_columns([("x", ppl_core::Column::from(x)), ("y", y.into())])?);
//! let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
//! let fit = DpVi::new(model, AutoNormal::new()).budget(budget).fit(&records)?;
//! let (w, intervals) = (fit.posterior().mean("w")?, fit.posterior().interval("w", 0.9)?);
//! # assert!(w[0] > w[1] && intervals.0[0] < w[0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Noise scale, steps, batches and clip norm are the [planner's](crate::DpVi::plan), which tells them before a record is touched. Those of the
//! run above, with one draw of the guide a step and gradients of the guide's parameters that are clipped as they come, each with a share of the
//! prior, are these (for comparison: every line but the first makes the posterior worse):
//!
//! ```
//! # use dp_vi::guides::AutoNormal;
//! # use dp_vi::optimiser::Schedule;
//! # use dp_vi::{Correction, DpVi, Draws, Gradients, RecordWeights};
//! # use dp_sampler::Poisson;
//! # use ppl_core::{Ctx, Result};
//! # fn model(_: &mut Ctx) -> Result<()> { Ok(()) }
//! let vi = DpVi::new(model, AutoNormal::new())
//!     .subsample(Poisson::rate(0.01)?)
//!     .steps(5000)
//!     .clip_norm(2.0)
//!     .schedule(Schedule::Constant(1e-3))
//!     .draws(Draws::Single)
//!     .gradients(Gradients::VanillaWithPrior)
//!     .public_records(10_000)
//!     .weights(RecordWeights::None)
//!     .correction(Correction::None)
//!     .average_tail(0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Statements and handlers
//!
//! | NumPyro | here |
//! |---|---|
//! | `sample("w", dist)` | `ctx.sample("w", dist)?` |
//! | `sample("y", dist, obs=y)` | `ctx.observe("y", dist, y)?` |
//! | `param("s", 1., constraint=positive)` | [`ctx.param`](ppl_core::Ctx::param) |
//! | `deterministic`, `factor` | the same methods of [`Ctx`](ppl_core::Ctx) |
//! | `plate("records", N, subsample_size=B)`, d3p's `minibatch` | [`ctx.each_record`](ppl_core::Ctx::each_record): batches are the sampler's business |
//! | any other `plate` | [`ctx.plate`](ppl_core::Ctx::plate), or `.iid(shape)` of a distribution |
//! | `dist.expand(…)`, `.to_event(k)`, `.mask(…)` | the methods of `ppl_distributions::Combine` |
//! | `config_enumerate` | [`ctx.enumerate`](ppl_core::Ctx::enumerate), or `MixtureSameFamily` |
//! | `handlers.seed`, `trace`, `replay`, `condition`, `substitute`, `block`, `mask`, `scale`, `reparam`, `scope` | [`ppl_core::handlers`], [`ppl_core::trace`] |
//! | `log_density(model, …)` | [`ppl_core::log_density`] |
//! | `Predictive`, `log_likelihood` | [`ppl_core::Predictive`] |
//! | `print_summary`, `hpdi` | [`ppl_core::summary`] |
//! | a subclass of `Distribution` | an implementation of [`ppl_core::Distribution`], as in `examples/own_distribution.rs` |
//! | `biject_to(constraint)` | [`ppl_core::Constraint`], which guides use by themselves |
//!
//! # Inference
//!
//! | d3p, NumPyro | here |
//! |---|---|
//! | `DPSVI(model, guide, optim, loss, clipping_threshold, dp_scale)` | [`DpVi::new(model, guide)`](crate::DpVi) and a budget |
//! | `SVI`, the same without privacy | [`DpVi::without_privacy`](crate::DpVi::without_privacy), labelled as such in the report |
//! | `init`, `update` | [`DpVi::start`](crate::DpVi::start), [`Training::step`](crate::Training::step); [`DpVi::fit`](crate::DpVi::fit) for all of it |
//! | `evaluate`, the loss that `update` returns | not given away: the loss of a batch is not private. Paid for, [`Summaries::log_likelihood`](crate::summaries::Summaries::log_likelihood); on public data, a posterior's `Predictive::log_predictive_density` |
//! | `get_epsilon`, `get_delta` | `fit.privacy()`, a [`PrivacyReport`](crate::PrivacyReport) |
//! | `approximate_sigma` | `dp_accountant::calibrate_noise_multiplier`; [`DpVi::plan`](crate::DpVi::plan) calls it |
//! | `subsample_batchify_data` (Feistel) | `dp_sampler::FixedSize`: replace-one only, with the ε of such batches |
//! | `poisson_batchify_data` | `dp_sampler::Poisson` |
//! | `split_batchify_data` | `dp_sampler::Shuffle` |
//! | `clipping_threshold` | [`DpVi::clip_norm`](crate::DpVi::clip_norm), [`DpVi::clipping`](crate::DpVi::clipping) |
//! | `dp_scale` | follows from the budget; `PrivacyReport::noise_multiplier` says what it is |
//! | `Adam`, `ADADP`, `SGD`, … | [`adam`](crate::optimiser::adam), [`AdaDp`](crate::optimiser::AdaDp), [`sgd`](crate::optimiser::sgd), …: [`DpVi::optimiser`](crate::DpVi::optimiser) |
//! | `AutoDiagonalNormal`, `AutoNormal` | [`AutoNormal`](crate::guides::AutoNormal) |
//! | `AutoMultivariateNormal`, `AutoLowRankMultivariateNormal`, `AutoDelta`, `AutoLaplaceApproximation`, `AutoGuideList` | [`AutoMultivariateNormal`](crate::guides::AutoMultivariateNormal), [`AutoLowRankMultivariateNormal`](crate::guides::AutoLowRankMultivariateNormal), [`AutoDelta`](crate::guides::AutoDelta), [`AutoLaplace`](crate::guides::AutoLaplace), [`AutoGuideList`](crate::guides::AutoGuideList) |
//! | a guide of one's own | [`HandWritten`](crate::guides::HandWritten), as in `examples/hand_written_guide.rs` |
//! | a guide that samples inside the plate of records, as in a VAE | [`Amortised`](crate::guides::Amortised), as in `examples/vae.rs` |
//! | `init_to_median`, `init_to_value`, `init_to_feasible` | [`DpVi::start_at`](crate::DpVi::start_at) |
//! | `guide.sample_posterior` | [`Posterior::draws`](crate::Posterior::draws) |
//! | clipped gradients of the guide's parameters, each with its share of prior and entropy | [`Gradients::VanillaWithPrior`](crate::Gradients::VanillaWithPrior), for comparison |
//! | `PRNGKey(0)`, `d3p.random` | a secret seed from the operating system; `Seed::for_tests(…)` where runs must repeat, and the report says so |
//! | `d3p`'s `GaussianMixture` | `MixtureSameFamily` of `MultivariateNormal`, or a distribution of your own |
//!
//! # What is different on purpose
//!
//! - **Batches and accounting cannot disagree.** The scheme that a sampler draws by is the scheme that is accounted. Batches of a fixed size
//!   are not charged as if they were Poisson samples.
//! - **The relation is said.** d3p's paper and its code take different ones. [`Budget`](dp_accountant::Budget) has no default for it.
//! - **The number of records is no input.** Gradients estimate sums, not means, and under add/remove nothing public depends on how many
//!   records there are.
//! - **Prior and entropy are not clipped.** Only the likelihood touches records, so only its gradient is clipped and noised, where records meet
//!   the latent values; there, noise has half the elements it has on means and scales.
//! - **Learning rates are of sums.** Adam does not care; plain SGD needs a rate smaller by the number of records.
//! - **Clipping need not bias.** d3p's posterior standard deviations come out several times too wide, mostly because clipping flattens the
//!   likelihood. Generalised linear terms get [weights](crate::RecordWeights) instead, under which the posterior is that of a weighted
//!   likelihood, and intervals that include the privacy noise.
//! - **Everything is in `f64`, on CPUs.** There is no compilation to wait for: tracing and planning take milliseconds.
