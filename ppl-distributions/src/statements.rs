//! Priors that are several statements of a model together.

use crate::shared::arrays::column;
use crate::{HalfCauchy, Normal};
use ppl_core::{Ctx, Distribution, Error, Result, Value, Var};

/// The horseshoe prior of coefficients of which few are not near 0, not centred.
///
/// ```text
/// β_j = z_j λ_j τ,   z_j ~ N(0, 1),   λ_j ~ HalfCauchy(1),   τ ~ HalfCauchy(scale)
/// ```
///
/// With a [`slab`](Self::slab) of width `c` (the regularised horseshoe), `λ_j` is replaced by
/// `λ_j c/√(c² + τ² λ_j²)`: coefficients far from 0 are those of a normal prior of standard deviation `c`.
///
/// ```
/// use ppl_core::prelude::*;
/// use ppl_distributions::prelude::*;
/// fn regression(ctx: &mut Ctx) -> Result<()> {
///     let beta = Horseshoe::new(0.1).slab(2.0).sample(ctx, "beta", 3)?;
///     ctx.each_record(|ctx, record| {
///         let centre = record.get("x")?.inner(beta);
///         ctx.observe("y", Normal::new(centre, 1.0), record.get("y")?)
///     })
/// }
/// # use ppl_core::{Graph, Schema, Shape, Unconstrained, trace};
/// # let (graph, schema) = (Graph::new(), Schema::new([("x", vec![3]), ("y", vec![])])?);
/// let trace = trace(&regression, &graph, &schema, Unconstrained)?;
/// let names: Vec<&str> = trace.sites().iter().map(|site| site.name.as_str()).collect();
/// assert_eq!(names, ["beta/global", "beta/local", "beta/z", "beta", "y"]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # References
/// C. M. Carvalho, N. G. Polson, J. G. Scott, "The horseshoe estimator for sparse signals" (2010); J. Piironen,
/// A. Vehtari, "Sparsity information and regularization in the horseshoe and other shrinkage priors" (2017).
#[derive(Clone, Copy, Debug)]
pub struct Horseshoe<'g> {
    scale: Value<'g>,
    slab: Option<Value<'g>>,
}

impl<'g> Horseshoe<'g> {
    /// Scale of the global factor: roughly the share of coefficients that matter, times the noise's standard
    /// deviation by the root of the number of records.
    pub fn new(scale: impl Into<Value<'g>>) -> Self {
        Self { scale: scale.into(), slab: None }
    }

    /// The standard deviation of coefficients that matter.
    #[must_use]
    pub fn slab(mut self, width: impl Into<Value<'g>>) -> Self {
        self.slab = Some(width.into());
        self
    }

    /// Declares the latent values `name/global`, `name/local` and `name/z` and the deterministic `name`, the vector
    /// of `count` coefficients; in plates one such vector for each element.
    ///
    /// # Errors
    /// As [`Ctx::sample`]; if there are no coefficients, or the slab's width is a number that is not positive.
    #[track_caller]
    pub fn sample(&self, ctx: &mut Ctx<'g>, name: &str, count: usize) -> Result<Var<'g>> {
        if count == 0 {
            return Err(Error::Values(format!("Horseshoe '{name}': at least 1 coefficient, got 0")));
        }
        if let Some(width) =
            self.slab.and_then(|slab| slab.known()).filter(|&width| width.is_nan() || width <= 0.0)
        {
            return Err(Error::Values(format!("Horseshoe '{name}': slab must be positive, got {width}")));
        }
        let coefficients = ctx.scope(name, |ctx| {
            let global = ctx.sample("global", HalfCauchy::new(self.scale))?;
            let local = ctx.sample("local", HalfCauchy::new(1.0).iid(count))?;
            let z = ctx.sample("z", Normal::new(0.0, 1.0).iid(count))?;
            // In plates each element has a width of its own, for all its coefficients.
            let global = match global.shape().rank() {
                rank if rank > 0 && rank + 1 == local.shape().rank() => column(global),
                _ => global,
            };
            let width = global * local;
            Ok(match self.slab {
                // τ λ c/√(c² + τ² λ²), by the ratio, for squares may overflow.
                Some(slab) => {
                    let slab = slab.on(z.graph());
                    z * (width / (1.0 + (width / slab).square()).sqrt())
                }
                None => z * width,
            })
        })?;
        ctx.deterministic(name, coefficients)
    }
}
