//! Priors that are several statements of a model together.

use crate::{HalfCauchy, Normal};
use ndarray::Array2;
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
    /// of `count` coefficients.
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

/// Normal variables that sum to 0: effects of the levels of a factor, of which one would otherwise be redundant.
///
/// ```text
/// x = scale · H z,   z ~ N(0, I) of length n − 1;   covariance scale² (I − 1/n)
/// ```
///
/// The columns of `H` are orthonormal and sum to 0 (Helmert's), so the density of `x` in the plane of vectors that
/// sum to 0 is that of `n − 1` normal variables. No level is singled out.
///
/// ```
/// use ppl_core::prelude::*;
/// use ppl_distributions::prelude::*;
/// fn model(ctx: &mut Ctx) -> Result<()> {
///     let scale = ctx.sample("scale", HalfNormal::new(1.0))?;
///     let effects = ZeroSumNormal::new(scale, 4).sample(ctx, "effects")?;
///     ctx.each_record(|ctx, record| {
///         let centre = effects.gather(record.index("level")?);
///         ctx.observe("y", Normal::new(centre, 1.0), record.get("y")?)
///     })
/// }
/// # let _ = model;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ZeroSumNormal<'g> {
    scale: Value<'g>,
    count: usize,
}

impl<'g> ZeroSumNormal<'g> {
    /// Standard deviation before the sum is taken out, and the number of variables, at least 2.
    pub fn new(scale: impl Into<Value<'g>>, count: usize) -> Self {
        Self { scale: scale.into(), count }
    }

    /// Declares the latent value `name/z`, `n − 1` standard normal numbers, and the deterministic `name`, the vector
    /// of length `n` that sums to 0.
    ///
    /// # Errors
    /// As [`Ctx::sample`]; if there are fewer than two variables, or more than 4096; if the scale is a number that is
    /// not positive.
    #[track_caller]
    pub fn sample(&self, ctx: &mut Ctx<'g>, name: &str) -> Result<Var<'g>> {
        let n = self.count;
        if !(2..=4096).contains(&n) {
            return Err(Error::Values(format!("ZeroSumNormal '{name}': from 2 to 4096 variables, got {n}")));
        }
        if let Some(scale) = self.scale.known().filter(|scale| !(*scale > 0.0 && scale.is_finite())) {
            return Err(Error::Values(format!(
                "ZeroSumNormal '{name}': scale must be positive and finite, got {scale}"
            )));
        }
        let z = ctx.scope(name, |ctx| ctx.sample("z", Normal::new(0.0, 1.0).iid(n - 1)))?;
        let graph = z.graph();
        let helmert = graph.array(&helmert(n).into_dyn());
        ctx.deterministic(name, self.scale.on(graph) * helmert.matvec(z))
    }
}

/// Orthonormal columns that sum to 0: column `j` has `1/√((j + 1)(j + 2))` in its first `j + 1` rows and minus their
/// sum in the next.
fn helmert(n: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, n - 1), |(i, j)| {
        let length = ((j + 1) as f64 * (j + 2) as f64).sqrt();
        match i {
            _ if i <= j => 1.0 / length,
            _ if i == j + 1 => -((j + 1) as f64) / length,
            _ => 0.0,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_is_an_isometry_onto_what_sums_to_0() {
        for n in [2, 3, 10, 100] {
            let h = helmert(n);
            let product = h.t().dot(&h);
            assert!((&product - &Array2::<f64>::eye(n - 1)).iter().all(|x| x.abs() < 1e-13));
            assert!(h.sum_axis(ndarray::Axis(0)).iter().all(|x| x.abs() < 1e-13));
            // H Hᵀ = I − 1/n
            let covariance = h.dot(&h.t());
            let expected = Array2::<f64>::eye(n) - 1.0 / n as f64;
            assert!((&covariance - &expected).iter().all(|x| x.abs() < 1e-13));
        }
    }
}
