//! Whether a model has parts that nothing distinguishes, such as the components of a mixture or the units of a
//! network.

use crate::error::Result;
use crate::guides::guide::GuideSite;
use crate::objective::noise_feed::uniform;
use crate::objective::traced::Traced;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use ndarray::ArrayD;
use ppl_core::records::ColumnType;
use ppl_core::{Column, Constraint, Graph, Model, RecordGradient, Records, Schema, SiteKind, Unconstrained};
use std::collections::BTreeMap;
use std::ops::Range;

/// Made-up records that gradients are compared on: enough that each of 40 classes occurs.
const RECORDS: usize = 256;

/// Elements of the frontier, and numbers of a record, above which nothing is tried: gradients of so many take
/// longer than a plan may.
const MOST_ELEMENTS: usize = 5_000;

/// A component, a unit or the like: for each site that it has a share of, the site's name and the places of the
/// unconstrained values that belong to it.
pub(crate) type Part = Vec<(String, Vec<usize>)>;

/// The slices of latent arrays along an axis, or latent arrays that are alike, whose gradients are in the same ratio
/// for every record wherever they are equal; in groups within which they may change places.
///
/// ```text
/// ∂ ln p(x_i | θ)/∂θ_k = c ∂ ln p(x_i | θ)/∂θ_l    for all records i, if θ_k = θ_l
/// ```
///
/// A fit that starts with equal slices, as fits do where unconstrained values are 0, moves them together, at
/// first at least: an optimiser that normalises gradients sees no difference, and only the noise of draws and
/// releases takes them apart. A mixture then tends to stay a single component.
///
/// Gradients are compared on made-up records that have the supports of the observed sites, so no record is
/// looked at: where unconstrained values are 0, and where they are not, because products of sites (the layers
/// of a network) have no gradient at 0. `None` where no records can be made up, or where there is too much to
/// compare; no groups where records have latent values of their own.
///
/// Slices with the same number belong to one part, whatever sites they are slices of. So do slices of sites of which
/// records say nothing while parts are equal, as of the weights of equal components.
pub(crate) fn exchangeable_parts(model: &dyn Model, schema: &Schema) -> Option<Vec<Vec<Part>>> {
    try_records(model, schema).unwrap_or(None)
}

fn try_records(model: &dyn Model, schema: &Schema) -> Result<Option<Vec<Vec<Part>>>> {
    let Some(records) = made_up(model, schema)? else { return Ok(None) };
    let graph = Graph::new();
    let traced = Traced::new(model, &graph, records.schema())?;
    if !traced.record_noise.is_empty() {
        return Ok(Some(Vec::new()));
    }
    if traced.frontier_elements() > MOST_ELEMENTS {
        return Ok(None);
    }
    let sites: Vec<&GuideSite> = traced
        .sites
        .iter()
        .zip(&traced.touched)
        .filter_map(|(site, touched)| touched.then_some(site))
        .collect();
    let mut program = RecordGradient::<f64>::new(traced.log_likelihood, &traced.frontier())?;
    for level in [0.3, 0.0] {
        for site in &traced.sites {
            let level = if has_equal_values_at_zero_only(site.support) { 0.0 } else { level };
            program.set(&Unconstrained::input_name(&site.name), &vec![level; site.elements()])?;
        }
        let groups = parts_alike(&mut program, &records, &sites)?;
        if !groups.is_empty() {
            return Ok(Some(groups));
        }
    }
    Ok(Some(Vec::new()))
}

/// For sets in which equal unconstrained values are equal values at 0 only.
fn has_equal_values_at_zero_only(support: Constraint) -> bool {
    matches!(
        support,
        Constraint::Simplex
            | Constraint::ZeroSum
            | Constraint::Ordered
            | Constraint::PositiveOrdered
            | Constraint::LowerCholesky
            | Constraint::CorrelationCholesky
            | Constraint::Correlation
            | Constraint::PositiveDefinite
    )
}

/// The slices or sites whose gradients are in one ratio for all records, where the program stands.
fn parts_alike(
    program: &mut RecordGradient<f64>,
    records: &Records,
    sites: &[&GuideSite],
) -> Result<Vec<Vec<Part>>> {
    // Each record's gradient, in units of its largest element.
    let mut gradients: Vec<Vec<f64>> = Vec::new();
    let mut gradient = vec![0.0; program.dimension()];
    for record in 0..records.len() as u64 {
        program.weighted_sum(records, &[record], |_, weights| weights.fill(1.0), &mut gradient)?;
        let largest = gradient.iter().fold(0.0, |largest: f64, g| largest.max(g.abs()));
        if largest > 0.0 && gradient.iter().all(|g| g.is_finite()) {
            gradients.push(gradient.iter().map(|g| g / largest).collect());
        }
    }
    let open = |site: &GuideSite| {
        let ordered = matches!(site.support, Constraint::Ordered | Constraint::PositiveOrdered);
        site.kind == SiteKind::Latent && site.initial.is_none() && !ordered
    };
    // By number of slices: whether some are alike, and all that belong together if so.
    let mut slices: BTreeMap<usize, (bool, Vec<Part>)> = BTreeMap::new();
    let (mut wholes, mut from) = (BTreeMap::new(), 0);
    for site in sites {
        let range = from..from + site.elements();
        from = range.end;
        if !open(site) || range.is_empty() {
            continue;
        }
        let dims = site.unconstrained_shape.dims();
        for (axis, &length) in dims.iter().enumerate().filter(|&(_, &length)| length > 1) {
            let places: Vec<Vec<usize>> = (0..length).map(|k| places(dims, axis, k)).collect();
            let directions = || places.iter().map(|places| Direction::of(&gradients, range.start, places));
            let alike = has_equal_directions(directions());
            if alike || directions().all(|direction| direction.is_silent()) {
                let (any, parts) = slices.entry(length).or_insert((false, vec![Part::new(); length]));
                *any |= alike;
                parts
                    .iter_mut()
                    .zip(places)
                    .for_each(|(part, places)| part.push((site.name.clone(), places)));
            }
        }
        // Sites of one kind are compared with one another as wholes.
        let kind = (format!("{:?}", site.support), dims.to_vec());
        wholes.entry(kind).or_insert_with(Vec::new).push((*site, range));
    }
    let slices = slices.into_values().filter_map(|(any, parts)| any.then_some(parts));
    let wholes = wholes.into_values().filter_map(|sites: Vec<(&GuideSite, Range<usize>)>| {
        let all = |range: &Range<usize>| Vec::from_iter(0..range.len());
        let direction = |(_, range): &(_, Range<usize>)| Direction::of(&gradients, range.start, &all(range));
        let whole = |(site, range): &(&GuideSite, Range<usize>)| vec![(site.name.clone(), all(range))];
        has_equal_directions(sites.iter().map(direction)).then(|| sites.iter().map(whole).collect())
    });
    Ok(slices.chain(wholes).collect())
}

/// The places of a slice along an axis.
fn places(dims: &[usize], axis: usize, slice: usize) -> Vec<usize> {
    let (length, inner) = (dims[axis], dims[axis + 1..].iter().product::<usize>());
    let elements = dims.iter().product::<usize>();
    let block = length * inner;
    (0..elements / block.max(1))
        .flat_map(|outer| (0..inner).map(move |k| outer * block + slice * inner + k))
        .collect()
}

/// What all records say of some of the values.
struct Direction(Vec<f64>);

impl Direction {
    /// Of the values at some places after the first.
    fn of(gradients: &[Vec<f64>], first: usize, places: &[usize]) -> Self {
        let all = gradients.iter().flat_map(|all| places.iter().map(move |place| all[first + place]));
        let mut direction: Vec<f64> = all.collect();
        let length = direction.iter().map(|g| g * g).sum::<f64>().sqrt();
        // What is left by rounding is no direction.
        if length <= 1e-12 * (direction.len() as f64).sqrt() {
            direction.fill(f64::NAN);
        }
        // The first element that counts is positive: a ratio may be negative.
        let sign = direction.iter().find(|g| g.abs() > 1e-6 * length).map_or(1.0, |g| g.signum());
        direction.iter_mut().for_each(|g| *g *= sign / length);
        Self(direction)
    }

    /// Whether records say nothing.
    fn is_silent(&self) -> bool {
        self.0.iter().all(|g| g.is_nan())
    }
}

/// Whether two directions are equal, up to rounding. Those of length zero, of which records say nothing, are NaN and
/// equal to none.
fn has_equal_directions(parts: impl Iterator<Item = Direction>) -> bool {
    let mut known: Vec<Direction> = Vec::new();
    for part in parts {
        let equal = |other: &Direction| part.0.iter().zip(&other.0).all(|(a, b)| (a - b).abs() <= 1e-9);
        if known.iter().any(equal) {
            return true;
        }
        known.push(part);
    }
    false
}

/// What a column may be filled with.
#[derive(Clone, Copy, Debug)]
enum Filling {
    /// Normals of standard deviations 1, 10, 100 and 1000, for columns of any unit.
    Normals,
    Uniforms,
    /// Integers from the first to below the second.
    Integers(u32, u32),
}

/// From the most to the least that a column can tell. Numbers of classes are tried one by one, so that each
/// class occurs.
fn fillings(is_integer: bool) -> impl Iterator<Item = Filling> {
    let numbers = [Filling::Normals, Filling::Uniforms].into_iter().filter(move |_| !is_integer);
    let classes = (2..=40).rev().map(|end| Filling::Integers(0, end));
    numbers.chain(classes).chain([Filling::Integers(1, 3), Filling::Integers(0, 1)])
}

impl Filling {
    fn of(self, record: usize, normal: f64) -> f64 {
        let uniform = uniform(normal);
        match self {
            Self::Normals => normal * [1.0, 10.0, 100.0, 1000.0][record % 4],
            Self::Uniforms => uniform.clamp(1e-6, 1.0 - 1e-6),
            Self::Integers(first, end) => {
                (f64::from(first) + (uniform * f64::from(end - first)).floor()).min(f64::from(end) - 1.0)
            }
        }
    }
}

/// Records that observed sites and indices of the model accept; `None` if no filling of a column is accepted.
fn made_up(model: &dyn Model, schema: &Schema) -> Result<Option<Records>> {
    let mut columns = Vec::new();
    for (name, shape) in schema.columns() {
        let is_integer = !matches!(schema.column_type(name)?, ColumnType::F64 | ColumnType::F32);
        columns.push((name, shape.dims().to_vec(), is_integer));
    }
    let elements: usize = columns.iter().map(|(_, dims, _)| dims.iter().product::<usize>()).sum();
    if elements > MOST_ELEMENTS {
        return Ok(None);
    }
    let noise = GaussianNoise::with_purpose(&Seed::for_tests(0), Purpose::Initialisation);
    let mut normals = vec![0.0; RECORDS * elements];
    noise.fill(0, &mut normals);
    let filled = |fillings: &[Filling]| {
        let mut normals = normals.as_slice();
        let filled = columns.iter().zip(fillings).map(|((name, dims, is_integer), filling)| {
            let all: Vec<usize> = std::iter::once(RECORDS).chain(dims.iter().copied()).collect();
            let (own, rest) = normals.split_at(all.iter().product());
            normals = rest;
            let width = (own.len() / RECORDS).max(1);
            let mut own = own.iter().enumerate().map(|(at, &normal)| filling.of(at / width, normal));
            let values = ArrayD::from_shape_simple_fn(all, || own.next().unwrap_or(0.0));
            let column =
                if *is_integer { Column::from(values.mapv(|x| x as i64)) } else { Column::from(values) };
            (*name, column)
        });
        Records::from_columns(filled)
    };
    let mut open: Vec<_> = columns.iter().map(|(.., is_integer)| fillings(*is_integer)).collect();
    let Some(mut chosen) = open.iter_mut().map(Iterator::next).collect::<Option<Vec<Filling>>>() else {
        return Ok(None);
    };
    loop {
        let records = filled(&chosen)?;
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
        let named = columns.iter().position(|(name, ..)| place.contains(&format!("column '{name}'")));
        let next = named.and_then(|column| Some((column, open[column].next()?)));
        match next {
            Some((column, filling)) => chosen[column] = filling,
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
            ctx.observe("y", Bernoulli::from_logits(hidden.dot(outer)), record.get("y")?)
        })
    }

    fn is_exchangeable(model: &dyn Model, schema: &Schema) -> Option<bool> {
        exchangeable_parts(model, schema).map(|groups| !groups.is_empty())
    }

    #[test]
    fn components_and_units_are_exchangeable() {
        assert_eq!(is_exchangeable(&mixture, &columns(2)), Some(true));
        assert_eq!(is_exchangeable(&mixture_of_durations, &columns(0)), Some(true));
        assert_eq!(is_exchangeable(&network, &columns(0)), Some(true));
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
        assert_eq!(is_exchangeable(&horseshoe, &columns(0)), Some(false));
        assert_eq!(is_exchangeable(&groups, &columns(0)), Some(false));
        assert_eq!(is_exchangeable(&ordinal, &columns(0)), Some(false));
        assert_eq!(is_exchangeable(&classes, &columns(0)), Some(false));
        // A column that the model does not find.
        assert_eq!(is_exchangeable(&groups, &Schema::new([("y", Shape::scalar())]).unwrap()), None);
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

    /// Components as sites of their own, with weights that differ, and a background that is one of its kind.
    fn separate(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let locs = [0, 1].map(|k| ctx.sample(&format!("loc_{k}"), Normal::new(0.0, 5.0)));
        let [first, second] = locs;
        let (first, second) = (first?, second?);
        ctx.each_record(|ctx, record| {
            let y = record.get("y")?;
            let term = |loc, weight: f64| (Normal::new(loc, 1.0).log_prob(y) + weight.ln()).reshape(1);
            let terms = [
                term(first, 0.3),
                term(second, 0.6),
                (Normal::new(0.0, 50.0).log_prob(y) + 0.1_f64.ln()).reshape(1),
            ];
            ctx.factor("y", ctx.graph().concat(&terms, 0).log_sum_exp())
        })
    }

    /// The group is an index, in a column of integers.
    fn mixture_with_groups(ctx: &mut Ctx<'_>) -> CoreResult<()> {
        let locs = ctx.sample("locs", Normal::new(0.0, 5.0).iid(2))?;
        let effects = ctx.sample("effects", Normal::new(0.0, 1.0).iid(7))?;
        ctx.each_record(|ctx, record| {
            let shift = effects.gather(record.index("group")?);
            let components = Normal::new(locs + shift.broadcast_to([2]), 1.0);
            let halves = ctx.graph().constant(0.5).broadcast_to([2]);
            let law = MixtureSameFamily::new(Categorical::from_probs(halves), components);
            ctx.observe("y", law, record.get("y")?)
        })
    }

    #[test]
    fn sites_of_their_own_and_indices_are_seen() {
        assert_eq!(is_exchangeable(&separate, &columns(0)), Some(true));
        let groups = Column::from(vec![0_u8, 3]);
        let records =
            Records::from_columns([("group", groups), ("y", Column::from(vec![0.5, 1.5]))]).unwrap();
        assert_eq!(is_exchangeable(&mixture_with_groups, records.schema()), Some(true));
    }

    /// Functions of a column in units of its own, an array without elements, and twenty classes.
    #[test]
    fn units_and_empty_arrays_are_no_reason() {
        fn caps(ctx: &mut Ctx<'_>) -> CoreResult<()> {
            let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(3))?;
            let none = ctx.sample("none", Normal::new(0.0, 1.0).iid([3, 0]))?;
            ctx.each_record(|ctx, record| {
                let age = record.get("group")?;
                let caps = [30.0, 45.0, 60.0].map(|cap| age.min(cap).reshape(1));
                let mean = ctx.graph().concat(&caps, 0).dot(w) + none.sum();
                ctx.observe("y", Normal::new(mean, 1.0), record.get("y")?)
            })
        }
        fn twenty(ctx: &mut Ctx<'_>) -> CoreResult<()> {
            let w = ctx.sample("w", Normal::new(0.0, 1.0).iid([20, 3]))?;
            ctx.each_record(|ctx, record| {
                ctx.observe("y", Categorical::from_logits(w.matvec(record.get("x")?)), record.get("y")?)
            })
        }
        assert_eq!(is_exchangeable(&caps, &columns(0)), Some(false));
        assert_eq!(is_exchangeable(&twenty, &columns(0)), Some(false));
    }

    #[test]
    fn slices_are_compared_along_one_axis() {
        let gradients =
            vec![vec![9.0, 1.0, 2.0, -1.0, -2.0, 1.0, 2.0], vec![9.0, 3.0, 1.0, -3.0, -1.0, 3.0, 1.0]];
        let slices = |gradients: &[Vec<f64>], first, dims: &[usize], axis: usize| {
            let direction = |k| Direction::of(gradients, first, &places(dims, axis, k));
            (0..dims[axis]).map(direction).collect::<Vec<_>>()
        };
        let alike =
            |dims: &[usize], axis| has_equal_directions(slices(&gradients, 1, dims, axis).into_iter());
        // In a ratio of minus one along the first axis; in none along the second.
        assert!(alike(&[3, 2], 0) && !alike(&[3, 2], 1) && alike(&[1, 3, 2], 1) && !alike(&[1, 3, 2], 0));
        let silent = slices(&[vec![0.0, 1e-17, -1e-17, 0.0]], 0, &[2, 2], 0);
        assert!(silent.iter().all(Direction::is_silent) && !has_equal_directions(silent.into_iter()));
    }

    /// A component has its weight, of which records say nothing while components are equal, its centre and its scale; a
    /// unit its weights before and after; and what is no component has no part.
    #[test]
    fn parts_are_made_of_slices_that_belong_together() {
        fn by_logits(ctx: &mut Ctx<'_>) -> CoreResult<()> {
            let logits = ctx.sample("logits", Normal::new(0.0, 1.0).iid(4))?;
            let locs = ctx.sample("locs", Normal::new(0.0, 5.0).iid([4, 2]))?;
            let scale = ctx.sample("scale", HalfNormal::new(2.0))?;
            let components = Normal::new(locs, scale.broadcast_to([4, 2])).independent(1);
            ctx.each_record(|ctx, record| {
                let law = MixtureSameFamily::new(Categorical::from_logits(logits), components.clone());
                ctx.observe("y", law, record.get("y")?)
            })
        }
        let part = |names: &[(&str, &[usize])]| -> Part {
            names.iter().map(|(name, places)| ((*name).to_owned(), places.to_vec())).collect()
        };
        let groups = exchangeable_parts(&by_logits, &columns(2)).unwrap();
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0][2], part(&[("logits", &[2]), ("locs", &[4, 5])]));
        let groups = exchangeable_parts(&network, &columns(0)).unwrap();
        assert_eq!(groups[0][1], part(&[("inner", &[1, 7, 13]), ("outer", &[1])]));
        let groups = exchangeable_parts(&separate, &columns(0)).unwrap();
        assert_eq!(groups, [[part(&[("loc_0", &[0])]), part(&[("loc_1", &[0])])]]);
    }
}
