//! Whether a model has parts that nothing distinguishes, such as the components of a mixture or the units of a
//! network.

use crate::error::Result;
use crate::guides::guide::GuideSite;
use crate::objective::traced::Traced;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use ndarray::ArrayD;
use ppl_core::{Column, Constraint, Graph, Model, RecordGradient, Records, Schema, SiteKind, Unconstrained};

/// Made-up records that gradients are compared on.
const RECORDS: usize = 48;

/// Elements of the frontier above which nothing is tried: gradients of so many take longer than a plan may.
const MOST_ELEMENTS: usize = 20_000;

/// Whether some latent array has slices along an axis whose gradients are the same for every record wherever
/// the slices are.
///
/// ```text
/// ∂ ln p(x_i | θ)/∂θ_k = ∂ ln p(x_i | θ)/∂θ_l    for all records i and slices k, l, if θ_k = θ_l for all of them
/// ```
///
/// A fit that starts with equal slices, as fits do where unconstrained values are 0, then keeps them equal but
/// for the noise: a mixture stays a single component. Gradients are compared at one point on made-up records
/// that have the supports of the observed sites, so no record is looked at. Where none can be made up, where
/// records have latent values of their own, and where all of a gradient is zero, the answer is no.
pub(crate) fn is_exchangeable(model: &dyn Model, schema: &Schema) -> bool {
    try_records(model, schema).unwrap_or(false)
}

fn try_records(model: &dyn Model, schema: &Schema) -> Result<bool> {
    let Some(records) = made_up(model, schema)? else { return Ok(false) };
    let graph = Graph::new();
    let traced = Traced::new(model, &graph, records.schema())?;
    if traced.frontier_elements() > MOST_ELEMENTS || !traced.record_noise.is_empty() {
        return Ok(false);
    }
    let sites: Vec<&GuideSite> = traced
        .sites
        .iter()
        .zip(&traced.touched)
        .filter_map(|(site, touched)| touched.then_some(site))
        .collect();
    let mut program = RecordGradient::<f64>::new(traced.log_likelihood, &traced.frontier())?;
    for levels in [1.0, 0.0] {
        for (number, site) in traced.sites.iter().enumerate() {
            let value = levels * level(number, site);
            program.set(&Unconstrained::input_name(&site.name), &vec![value; site.elements()])?;
        }
        if are_slices_alike(&mut program, &records, &sites)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether some site has equal gradients along an axis for all records, where the program stands.
fn are_slices_alike(
    program: &mut RecordGradient<f64>,
    records: &Records,
    sites: &[&GuideSite],
) -> Result<bool> {
    let mut gradient = vec![0.0; program.dimension()];
    // For each site and axis, whether no record has told slices apart; and whether one had something to say.
    let mut equal: Vec<Vec<bool>> = sites
        .iter()
        .map(|site| site.unconstrained_shape.dims().iter().map(|&length| length > 1).collect())
        .collect();
    let mut speaks = vec![false; sites.len()];
    for record in 0..records.len() as u64 {
        program.weighted_sum(records, &[record], |_, weights| weights.fill(1.0), &mut gradient)?;
        let mut rest = gradient.as_slice();
        for ((site, equal), speaks) in sites.iter().zip(&mut equal).zip(&mut speaks) {
            let (own, others) = rest.split_at(site.elements());
            rest = others;
            if own.iter().any(|g| !g.is_finite()) {
                continue;
            }
            *speaks |= own.iter().any(|&g| g != 0.0);
            let dims = site.unconstrained_shape.dims();
            for (axis, equal) in equal.iter_mut().enumerate() {
                *equal = *equal && are_slices_equal(own, dims, axis);
            }
        }
    }
    let found = |((site, equal), speaks): ((&&GuideSite, &Vec<bool>), &bool)| {
        site.kind == SiteKind::Latent && site.initial.is_none() && *speaks && equal.iter().any(|&equal| equal)
    };
    Ok(sites.iter().zip(&equal).zip(&speaks).any(found))
}

/// A value for all elements of a site: not zero, but for sets in which equal unconstrained values are equal
/// values only there.
fn level(number: usize, site: &GuideSite) -> f64 {
    match site.support {
        Constraint::Simplex
        | Constraint::Ordered
        | Constraint::LowerCholesky
        | Constraint::CorrelationCholesky
        | Constraint::PositiveDefinite => 0.0,
        _ => 0.3 + 0.1 * (number % 8) as f64,
    }
}

/// Whether all slices of an array along an axis are equal, up to the rounding of sums in another order.
fn are_slices_equal(values: &[f64], dims: &[usize], axis: usize) -> bool {
    let inner: usize = dims[axis + 1..].iter().product();
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    values.chunks_exact(dims[axis] * inner).all(|block| {
        let (first, others) = block.split_at(inner);
        others
            .chunks_exact(inner)
            .all(|slice| slice.iter().zip(first).all(|(a, b)| (a - b).abs() <= 1e-9 * largest))
    })
}

/// What a column may be filled with.
#[derive(Clone, Copy, Debug)]
enum Filling {
    Normals,
    Uniforms,
    /// Integers from the first to below the second.
    Integers(u32, u32),
}

/// From the most to the least that a column can tell.
const FILLINGS: [Filling; 8] = [
    Filling::Normals,
    Filling::Uniforms,
    Filling::Integers(0, 16),
    Filling::Integers(0, 5),
    Filling::Integers(0, 3),
    Filling::Integers(0, 2),
    Filling::Integers(1, 3),
    Filling::Integers(0, 1),
];

impl Filling {
    fn of(self, normal: f64) -> f64 {
        let uniform = 0.5 * libm::erfc(-normal * std::f64::consts::FRAC_1_SQRT_2);
        match self {
            Self::Normals => normal,
            Self::Uniforms => uniform.clamp(1e-6, 1.0 - 1e-6),
            Self::Integers(first, end) => {
                (f64::from(first) + (uniform * f64::from(end - first)).floor()).min(f64::from(end) - 1.0)
            }
        }
    }
}

/// Records that observed sites and indices of the model accept; `None` if no filling of a column is accepted.
fn made_up(model: &dyn Model, schema: &Schema) -> Result<Option<Records>> {
    let shapes: Vec<(&str, Vec<usize>)> =
        schema.columns().map(|(name, shape)| (name, shape.dims().to_vec())).collect();
    let elements: usize = shapes.iter().map(|(_, dims)| dims.iter().product::<usize>()).sum();
    if elements > MOST_ELEMENTS {
        return Ok(None);
    }
    let noise = GaussianNoise::with_purpose(&Seed::for_tests(0), Purpose::Initialisation);
    let mut normals = vec![0.0; RECORDS * elements];
    noise.fill(0, &mut normals);
    let filled = |fillings: &[Filling]| {
        let mut normals = normals.as_slice();
        let columns = shapes.iter().zip(fillings).map(|((name, dims), filling)| {
            let all: Vec<usize> = std::iter::once(RECORDS).chain(dims.iter().copied()).collect();
            let (own, rest) = normals.split_at(all.iter().product());
            normals = rest;
            let mut own = own.iter().map(|&normal| filling.of(normal));
            let values = ArrayD::from_shape_simple_fn(all, || own.next().unwrap_or(0.0));
            (*name, Column::from(values))
        });
        Records::from_columns(columns)
    };
    let mut chosen = vec![0; shapes.len()];
    loop {
        let fillings: Vec<Filling> = chosen.iter().map(|&number| FILLINGS[number]).collect();
        let records = filled(&fillings)?;
        let graph = Graph::new();
        let trace = ppl_core::trace(model, &graph, records.schema(), Unconstrained)?;
        let refused = trace.check_observations(&records).and_then(|()| graph.check_indices(&records)).err();
        let place = match &refused {
            None => return Ok(Some(records)),
            Some(ppl_core::Error::OutsideSupport { place, .. } | ppl_core::Error::Index { place, .. }) => {
                place
            }
            Some(_) => return Ok(None),
        };
        // The column that is named gets less to tell.
        let named = shapes.iter().position(|(name, _)| place.contains(&format!("column '{name}'")));
        match named.filter(|&column| chosen[column] + 1 < FILLINGS.len()) {
            Some(column) => chosen[column] += 1,
            None => return Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ppl_core::{Ctx, Distribution, Result as CoreResult, Shape};
    use ppl_distributions::{
        Bernoulli, Categorical, Combine, Dirichlet, HalfCauchy, HalfNormal, LogNormal, MixtureSameFamily,
        Normal, OrderedLogistic, Poisson,
    };

    fn columns(y: usize) -> Schema {
        let shape = |width: usize| if width == 0 { Shape::scalar() } else { width.into() };
        Schema::new([("x", 3.into()), ("y", shape(y)), ("group", Shape::scalar())]).unwrap()
    }

    fn mixture(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let weights = ctx.sample("weights", Dirichlet::new(ctx.graph().constant(1.0).broadcast_to([4])))?;
        let locs = ctx.sample("locs", Normal::new(0.0, 5.0).iid([4, 2]))?;
        let scales = ctx.sample("scales", HalfNormal::new(2.0).iid(4))?;
        let components = Normal::new(locs, scales.reshape([4, 1]).broadcast_to([4, 2])).independent(1);
        ctx.each_record(|ctx, record| {
            let law = MixtureSameFamily::new(Categorical::from_probs(weights), components.clone());
            ctx.observe("y", law, record.get("y")?)
        })
    }

    /// Of durations, which are positive.
    fn mixture_of_durations(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let locs = ctx.sample("locs", Normal::new(0.0, 5.0).iid(3))?;
        ctx.each_record(|ctx, record| {
            let thirds = Categorical::from_probs(ctx.graph().constant(1.0 / 3.0).broadcast_to([3]));
            ctx.enumerate("component", thirds, |ctx, component| {
                ctx.observe("y", LogNormal::new(locs.gather(component), 1.0), record.get("y")?)
            })
        })
    }

    fn network(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let inner = ctx.sample("inner", Normal::new(0.0, 1.0).iid([3, 6]))?;
        let outer = ctx.sample("outer", Normal::new(0.0, 1.0).iid(6))?;
        ctx.each_record(|ctx, record| {
            let hidden = inner.transpose().matvec(record.get("x")?).tanh();
            ctx.observe("y", Bernoulli::from_logit(hidden.dot(outer)), record.get("y")?)
        })
    }

    #[test]
    fn components_and_units_are_exchangeable() {
        assert!(is_exchangeable(&mixture, &columns(2)));
        assert!(is_exchangeable(&mixture_of_durations, &columns(0)));
        assert!(is_exchangeable(&network, &columns(0)));
    }

    fn horseshoe(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let tau = ctx.sample("tau", HalfCauchy::new(0.2))?;
        let lambda = ctx.sample("lambda", HalfCauchy::new(1.0).iid(3))?;
        let z = ctx.sample("z", Normal::new(0.0, 1.0).iid(3))?;
        let sigma = ctx.sample("sigma", HalfNormal::new(2.0))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Normal::new(record.get("x")?.dot(tau * lambda * z), sigma), record.get("y")?)
        })
    }

    fn groups(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let spread = ctx.sample("spread", HalfNormal::new(1.0))?;
        let effects = ctx.sample("effects", Normal::new(0.0, 1.0).iid(7))?;
        ctx.each_record(|ctx, record| {
            let rate = (spread * effects.gather(record.get("group")?)).exp();
            ctx.observe("y", Poisson::new(rate), record.get("y")?)
        })
    }

    fn ordinal(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let gaps = ctx.sample("gaps", HalfNormal::new(2.0).iid(4))?;
        let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(3))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", OrderedLogistic::new(record.get("x")?.dot(w), gaps.cumsum(0)), record.get("y")?)
        })
    }

    fn classes(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let w = ctx.sample("w", Normal::new(0.0, 1.0).iid([4, 3]))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Categorical::from_logits(w.matvec(record.get("x")?)), record.get("y")?)
        })
    }

    /// What records tell apart, also where a value is known to few of them.
    #[test]
    fn features_groups_and_classes_are_not() {
        assert!(!is_exchangeable(&horseshoe, &columns(0)));
        assert!(!is_exchangeable(&groups, &columns(0)));
        assert!(!is_exchangeable(&ordinal, &columns(0)));
        assert!(!is_exchangeable(&classes, &columns(0)));
        // A column that the model does not find.
        assert!(!is_exchangeable(&groups, &Schema::new([("y", Shape::scalar())]).unwrap()));
    }

    /// Each column gets what its site or table accepts, and the most that it accepts.
    #[test]
    fn records_are_made_up_to_suit_the_model() {
        let records = made_up(&groups, &columns(0)).unwrap().unwrap();
        let numbers = |name: &str| -> Vec<f64> {
            let (index, _) = records.schema().find(name).unwrap();
            records.column(index).numbers().collect()
        };
        assert!(numbers("x").iter().any(|x| *x < 0.0));
        assert!(
            numbers("group").iter().all(|&g| g < 7.0 && g.fract() == 0.0) && numbers("group").contains(&4.0)
        );
        assert!(numbers("y").iter().all(|&y| y >= 0.0 && y.fract() == 0.0) && numbers("y").contains(&12.0));
    }

    #[test]
    fn slices_are_compared_along_one_axis() {
        let values = [1.0, 2.0, 1.0, 2.0, 1.0, 2.0];
        assert!(are_slices_equal(&values, &[3, 2], 0) && !are_slices_equal(&values, &[3, 2], 1));
        assert!(are_slices_equal(&values, &[1, 3, 2], 1) && !are_slices_equal(&values, &[2, 3], 0));
    }
}
