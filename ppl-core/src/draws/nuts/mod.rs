//! The No-U-Turn sampler, on public data: the reference that an approximate posterior is compared with
//! (feature `nuts`).
//!
//! Draws of the posterior of the shared latent values `θ = f(u)`, by Hamiltonian dynamics of the
//! unconstrained numbers `u` with momenta `r`,
//!
//! ```text
//! H(u, r) = −ln p(f(u)) − ln |det f′(u)| − Σ_i ln p(record_i | f(u)) + ½ rᵀ M⁻¹ r
//! ```
//!
//! integrated by leapfrog steps for as long as the path does not turn back on itself. The sampler is the
//! crate [`nuts-rs`](https://docs.rs/nuts-rs), that of PyMC's `nutpie`: while it tunes, it sets the step size
//! by dual averaging of the acceptance rate, and a diagonal `M` from draws and gradients. Density and
//! gradient are programs of this crate in `f64`, all records at every step.
//!
//! # When not to use it
//! **Never on sensitive records.** Draws are exact functions of the records: no noise is added and no budget
//! bounds what they tell. Nothing here takes records that are behind the wall of `dp-vi`, and a private fit
//! must not be tuned by what the sampler says of the same records. Use it on public or made-up data, to see
//! what an approximation loses.
//!
//! Cost grows with records × steps of all paths, and modes that are far apart are not found from each other:
//! `R̂` tells that they are there only if chains start near different ones. Strong correlations are slow,
//! since `M` is diagonal.
//!
//! # References
//! Hoffman and Gelman (2014), *The No-U-Turn sampler: adaptively setting path lengths in Hamiltonian Monte
//! Carlo*, JMLR 15. Betancourt (2017), *A conceptual introduction to Hamiltonian Monte Carlo*, arXiv
//! 1701.02434 (multinomial draws along the path, as here). `nuts-rs` 0.19.

mod chains;
mod sampler;

pub use chains::{ChainSummary, Chains};

use crate::base::Result;
use crate::model::context::Model;
use crate::model::key::Key;
use crate::records::Records;
use sampler::Settings;

/// The No-U-Turn sampler with its settings.
///
/// | setting | default |
/// |---|---|
/// | [`chains`](Self::chains) | 4 |
/// | [`tune`](Self::tune): draws that are left out, while step size and scales are found | 500 |
/// | [`draws`](Self::draws): draws of each chain that are kept | 500 |
/// | [`target_acceptance`](Self::target_acceptance) | 0.8 |
/// | [`largest_depth`](Self::largest_depth): a path has at most `2^depth − 1` steps | 10 |
/// | [`key`](Self::key) | 0 |
///
/// Chains start uniformly from (−2, 2) in unconstrained numbers, as Stan's do, where density and gradient are
/// finite. They run side by side on as many threads as rayon has. The same key gives the same draws, on any
/// number of threads; on another kind of processor the last digits of `nuts-rs` may differ, and with them
/// the draws.
///
/// Discrete sites of [`Ctx::enumerate`](crate::Ctx::enumerate) are summed out. NumPyro's `MCMC(NUTS(model))`.
///
/// # Privacy
/// None. The sampler takes [`Records`] and nothing else, and its draws tell what they hold: for public data.
///
/// ```
/// # use ppl_core::{Constraint, Ctx, Distribution, Noise, NoiseKind, Parameter, Records, Result, Shape};
/// # use ppl_core::{Value, Var};
/// # struct Normal<'g>(Value<'g>, Value<'g>);
/// # impl<'g> Distribution<'g> for Normal<'g> {
/// #     fn name(&self) -> &'static str { "Normal" }
/// #     fn parameters(&self) -> Vec<Parameter<'g>> {
/// #         vec![Parameter { name: "loc", value: self.0, domain: Constraint::Real },
/// #              Parameter { name: "scale", value: self.1, domain: Constraint::Positive }]
/// #     }
/// #     fn support(&self) -> Constraint { Constraint::Real }
/// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> {
/// #         let (loc, scale) = (self.0.on(x.graph()), self.1.on(x.graph()));
/// #         -0.5 * ((x - loc) / scale).square() - scale.log() - 0.5 * (2.0 * std::f64::consts::PI).ln()
/// #     }
/// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
/// #         let z = noise.draw(NoiseKind::StandardNormal, prefix.concat(&self.batch_shape()?))?;
/// #         Ok(self.0.on(noise.graph()) + self.1.on(noise.graph()) * z)
/// #     }
/// # }
/// use ppl_core::draws::nuts::Nuts;
/// fn model(ctx: &mut Ctx) -> Result<()> {
///     let centre = ctx.sample("centre", Normal(0.0.into(), 10.0.into()))?;
///     ctx.each_record(|ctx, record| ctx.observe("x", Normal(centre.into(), 1.0.into()), record.get("x")?))
/// }
/// let records = Records::from_columns([("x", vec![0.5, 1.5, 2.5, 3.5])])?;
/// let chains = Nuts::new(&model).chains(2).tune(200).draws(200).key(1).run(&records)?;
/// assert!((chains.mean("centre")?[[]] - 2.0).abs() < 0.3);
/// assert!(chains.r_hat("centre")?[[]] < 1.05);
/// println!("{chains}");                       // a table, and what to beware of
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Nuts<'m, M: ?Sized> {
    model: &'m M,
    settings: Settings,
}

impl<'m, M: Model + ?Sized> Nuts<'m, M> {
    /// The sampler for a model, with the defaults above.
    pub fn new(model: &'m M) -> Self {
        let key = Key::from(0);
        Self { model, settings: Settings { chains: 4, tune: 500, draws: 500, target: 0.8, depth: 10, key } }
    }

    /// Number of chains.
    pub fn chains(mut self, chains: usize) -> Self {
        self.settings.chains = chains;
        self
    }

    /// Draws of each chain that are left out.
    pub fn tune(mut self, tune: usize) -> Self {
        self.settings.tune = tune;
        self
    }

    /// Draws of each chain that are kept.
    pub fn draws(mut self, draws: usize) -> Self {
        self.settings.draws = draws;
        self
    }

    /// The acceptance rate that the step size is set for; nearer to 1 where there are divergences.
    pub fn target_acceptance(mut self, rate: f64) -> Self {
        self.settings.target = rate;
        self
    }

    /// The largest depth of the tree that a path is.
    pub fn largest_depth(mut self, depth: usize) -> Self {
        self.settings.depth = depth;
        self
    }

    /// Draws with this key.
    pub fn key(mut self, key: impl Into<Key>) -> Self {
        self.settings.key = key.into();
        self
    }

    /// Draws from the posterior given public records.
    ///
    /// # Errors
    /// If a setting is out of its range; if a column that the model reads holds a number that is not finite,
    /// or an observation outside its site's support; if the model has no shared latent value, has a parameter
    /// ([`SiteKind::Param`](crate::SiteKind)), a latent value of each record, or a discrete one that is not
    /// summed out; if a chain finds no point to start from.
    pub fn run(&self, records: &Records) -> Result<Chains> {
        self.run_on(Some(records))
    }

    /// Draws from a model that says nothing of records: what is observed stands in the model itself.
    ///
    /// # Errors
    /// As [`Nuts::run`], and if the model does say something of each record.
    pub fn run_without_records(&self) -> Result<Chains> {
        self.run_on(None)
    }

    fn run_on(&self, records: Option<&Records>) -> Result<Chains> {
        let settings = &self.settings;
        settings.check()?;
        let (density, mut values) = super::density::prepare(self.model, records)?;
        let elements = density.elements();
        settings.check_size(elements + values.elements())?;
        let found = settings.side_by_side(&density)?;
        let draws = found.iter().flat_map(|chain| chain.positions.chunks_exact(elements));
        let sites = values.at(settings.chains * settings.draws, draws)?;
        let transitions = found.iter().flat_map(|chain| chain.transitions.iter().copied()).collect();
        Ok(Chains::new(sites, (settings.chains, settings.draws), transitions, settings.depth))
    }
}
