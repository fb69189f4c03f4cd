//! The log density of unconstrained values and its gradient, over all records.

use crate::base::{Error, Result};
use crate::handlers::Unconstrained;
use crate::model::context::Model;
use crate::model::trace::{Site, SiteKind, Trace, trace};
use crate::op::{Graph, Input, Kind, Op, Var};
use crate::program::Program;
use crate::record_gradient::RecordGradient;
use crate::records::{Records, Schema};
use crate::run::plan::{ExecutionPlan, InputId};
use crate::transform::value_and_gradient;
use ndarray::{ArrayD, IxDyn};
use std::ops::Range;
use std::sync::Arc;

/// The factor of one that the records' terms have, so that the derivative with respect to it is their sum:
/// value and gradient then come from the same pass over the records.
const UNIT: &str = "nuts/unit";

/// `ln p(f(u)) + ln |det f′(u)| + Σ_i ln p(record_i | f(u))`, and its gradient.
#[derive(Clone)]
pub(super) struct Density<'r> {
    /// Shared terms: the value, then the gradient for each site.
    shared: Fed,
    /// Records' terms, if there are any.
    likelihood: Option<Likelihood<'r>>,
    /// Where each site's numbers lie.
    places: Arc<[Range<usize>]>,
}

/// A plan and where sites' numbers go; a site that it does not read has no input.
#[derive(Clone)]
struct Fed {
    plan: ExecutionPlan<f64>,
    inputs: Vec<Option<InputId>>,
}

#[derive(Clone)]
struct Likelihood<'r> {
    gradient: RecordGradient<f64>,
    inputs: Vec<Option<InputId>>,
    records: &'r Records,
    all: Arc<[u64]>,
    /// Gradients of all sites, then the value.
    sums: Vec<f64>,
}

/// What turns unconstrained numbers into values of sites.
pub(super) struct Values {
    fed: Fed,
    sites: Vec<(String, Vec<usize>)>,
    places: Arc<[Range<usize>]>,
}

/// A model made ready: its density, and what maps draws to values.
pub(super) fn prepare<'r>(
    model: &(impl Model + ?Sized),
    records: Option<&'r Records>,
) -> Result<(Density<'r>, Values)> {
    let graph = Graph::new();
    let nothing = Schema::new::<String, usize>([])?;
    let schema = records.map_or(&nothing, |records| records.schema());
    let trace = trace(model, &graph, schema, Unconstrained)?;
    check_sites(&trace)?;
    let open = || trace.latents().filter(|site| site.unconstrained.is_some());
    let names: Vec<&str> = open().map(|site| site.name.as_str()).collect();
    let inputs: Vec<Var<'_>> = open().filter_map(|site| site.unconstrained).collect();
    if inputs.iter().all(|input| input.shape().elements() == 0) {
        let told = "a model without a latent value that all records share: there is nothing to draw";
        return Err(Error::Unsupported(told.to_owned()));
    }
    let mut end = 0;
    let place = |input: &Var<'_>| {
        end += input.shape().elements();
        end - input.shape().elements()..end
    };
    let places: Arc<[Range<usize>]> = inputs.iter().map(place).collect();

    let mut shared = trace.log_prior() + trace.log_jacobian();
    let mut likelihood = None;
    if let Some(each) = trace.record_log_density() {
        let Some(records) = records else {
            let told = "this model says something of each record: run it with records";
            return Err(Error::Values(told.to_owned()));
        };
        trace.check_observations(records)?;
        graph.check_indices(records)?;
        check_numbers(&Program::new(&graph, &[each])?, records)?;
        match each.kind() {
            // A term that reads nothing of its record is the same for each.
            Kind::Shared => shared = shared + each * records.len() as f64,
            Kind::PerRecord => {
                let unit = graph.input(UNIT, ())?;
                let frontier: Vec<Var<'_>> = inputs.iter().copied().chain([unit]).collect();
                let mut gradient = RecordGradient::new(each * unit, &frontier)?;
                gradient.set(UNIT, &[1.0])?;
                likelihood = Some(Likelihood {
                    inputs: names
                        .iter()
                        .map(|name| gradient.input(&Unconstrained::input_name(name)))
                        .collect(),
                    sums: vec![0.0; gradient.dimension()],
                    gradient,
                    records,
                    all: (0..records.len() as u64).collect(),
                });
            }
        }
    }
    let (value, gradients) = value_and_gradient(shared, &inputs)?;
    let outputs: Vec<Var<'_>> = std::iter::once(value).chain(gradients).collect();
    let shared = Fed::new(&graph, &outputs, &names)?;

    let kept = |kind: SiteKind| matches!(kind, SiteKind::Latent | SiteKind::Deterministic);
    let sites: Vec<_> = trace.sites().iter().filter(|site| !site.per_record && kept(site.kind)).collect();
    let values: Vec<Var<'_>> = sites.iter().map(|site| site.value).collect();
    let values = Values {
        fed: Fed::new(&graph, &values, &names)?,
        sites: sites.iter().map(|site| (site.name.clone(), site.value.shape().dims().to_vec())).collect(),
        places: Arc::clone(&places),
    };
    Ok((Density { shared, likelihood, places }, values))
}

/// Refuses what has no density over shared values.
fn check_sites(trace: &Trace<'_>) -> Result<()> {
    let open = |site: &&Site<'_>| site.kind == SiteKind::Param && site.unconstrained.is_some();
    if let Some(site) = trace.sites().iter().find(open) {
        let told = "a parameter: it has no prior, so there is no posterior to draw from; give it one \
                    (ctx.sample), or a value (handlers::substitute)";
        return Err(Error::Unsupported(told.to_owned()).at_site(&site.name));
    }
    if let Some(site) = trace.record_latents().next() {
        let told = "a latent value of each record: the sampler draws values that all records share; sum it \
                    out (ctx.enumerate, if it is discrete), or declare all of them outside each_record and \
                    pick each record's by an index";
        return Err(Error::Unsupported(told.to_owned()).at_site(&site.name));
    }
    match trace.inputs_to_fill().next() {
        Some(input) => Err(Error::Unsupported(format!(
            "a model that draws values itself, or is given values for each record (input '{input}'); take \
             seed and such conditions away for inference"
        ))),
        None => Ok(()),
    }
}

/// Refuses numbers that are not finite, in columns that the model reads.
fn check_numbers(program: &Program, records: &Records) -> Result<()> {
    for instruction in &program.instructions {
        let Op::Input(Input::Column { index, name }) = &instruction.op else { continue };
        let found = records.column(*index).numbers().enumerate().find(|(_, value)| !value.is_finite());
        if let Some((at, value)) = found {
            let record = at / instruction.shape.elements().max(1);
            return Err(Error::Records(format!(
                "column '{name}' holds {value} in record {record}, and must be finite: fill it in or leave \
                 the record out"
            )));
        }
    }
    Ok(())
}

impl Fed {
    fn new(graph: &Graph, outputs: &[Var<'_>], names: &[&str]) -> Result<Self> {
        let plan = ExecutionPlan::new(&Program::new(graph, outputs)?);
        let inputs = names.iter().map(|name| plan.input(&Unconstrained::input_name(name)).ok()).collect();
        Ok(Self { plan, inputs })
    }

    fn run(&mut self, position: &[f64], places: &[Range<usize>]) {
        for (input, place) in self.inputs.iter().zip(places) {
            if let Some(input) = *input {
                self.plan.input_mut(input).copy_from_slice(&position[place.clone()]);
            }
        }
        self.plan.run();
    }
}

impl Density<'_> {
    /// Number of unconstrained numbers.
    pub(super) fn elements(&self) -> usize {
        self.places.last().map_or(0, |place| place.end)
    }

    /// The log density, its gradient written to `gradient`. Neither need be finite.
    pub(super) fn evaluate(&mut self, position: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.shared.run(position, &self.places);
        let mut value = self.shared.plan.output(0).iter().sum();
        for (site, place) in self.places.iter().enumerate() {
            gradient[place.clone()].copy_from_slice(self.shared.plan.output(site + 1));
        }
        if let Some(Likelihood { gradient: records_gradient, inputs, records, all, sums }) =
            &mut self.likelihood
        {
            for (input, place) in inputs.iter().zip(self.places.iter()) {
                if let Some(input) = *input {
                    records_gradient.input_mut(input).copy_from_slice(&position[place.clone()]);
                }
            }
            records_gradient.sum(records, all, sums)?;
            gradient.iter_mut().zip(&*sums).for_each(|(total, x)| *total += x);
            value += sums[gradient.len()];
        }
        Ok(value)
    }
}

impl Values {
    /// Numbers of all sites together, of one draw.
    pub(super) fn elements(&self) -> usize {
        self.sites.iter().map(|(_, shape)| shape.iter().product::<usize>()).sum()
    }

    /// The values of all sites at draws of unconstrained numbers, in the order of the model; the first axis
    /// counts the draws.
    pub(super) fn at<'d>(
        &mut self,
        count: usize,
        draws: impl Iterator<Item = &'d [f64]>,
    ) -> Result<Vec<(String, ArrayD<f64>)>> {
        let mut numbers: Vec<Vec<f64>> = vec![Vec::new(); self.sites.len()];
        for draw in draws {
            self.fed.run(draw, &self.places);
            for (site, numbers) in numbers.iter_mut().enumerate() {
                numbers.extend_from_slice(self.fed.plan.output(site));
            }
        }
        let array = |((name, shape), numbers): (&(String, Vec<usize>), Vec<f64>)| {
            let shape: Vec<usize> = std::iter::once(count).chain(shape.iter().copied()).collect();
            let array = ArrayD::from_shape_vec(IxDyn(&shape), numbers);
            array
                .map(|array| (name.clone(), array))
                .map_err(|error| Error::Values(error.to_string()).at_site(name))
        };
        self.sites.iter().zip(numbers).map(array).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::log_density;
    use crate::model::constraint::Constraint;
    use crate::model::context::Ctx;
    use crate::model::distribution::Distribution;
    use crate::op::Value;
    use crate::records::Column;
    use crate::strategies::models::Normal;
    use ndarray::{Array1, arr0, arr1};
    use std::collections::BTreeMap;

    /// Shared values of two shapes, one of them mapped; a public observation, and records' terms of two
    /// kinds.
    fn model(ctx: &mut Ctx) -> Result<()> {
        let w = ctx.sample("w", Normal::new(0.5, 2.0).iid(2))?;
        let scale = ctx.sample("scale", Positive)?;
        ctx.observe("public", Normal::new(w.sum(), scale), 0.3)?;
        ctx.each_record(|ctx, record| {
            ctx.factor("same", -0.1 * scale)?;
            ctx.observe("y", Normal::new(record.get("x")?.dot(w), scale), record.get("y")?)
        })
    }

    /// `p(x) ∝ e^−x`
    struct Positive;

    impl<'g> Distribution<'g> for Positive {
        fn name(&self) -> &'static str {
            "Positive"
        }
        fn parameters(&self) -> Vec<crate::Parameter<'g>> {
            vec![crate::Parameter { name: "rate", value: Value::from(1.0), domain: Constraint::Positive }]
        }
        fn support(&self) -> Constraint {
            Constraint::Positive
        }
        fn log_prob(&self, x: Var<'g>) -> Var<'g> {
            -x
        }
        fn draw(&self, prefix: &crate::Shape, noise: &mut crate::Noise<'g>) -> Result<Var<'g>> {
            Ok(-noise.draw(crate::NoiseKind::Uniform, prefix.clone())?.log())
        }
    }

    /// Against `log_density` and the Jacobian written out; the gradient against central differences, whose
    /// error is some h² of the third derivative (1e-8 of it) and ε/h of the value (1e-11 of it).
    #[test]
    fn value_and_gradient_are_those_of_all_records() {
        let count = 3000;
        let x =
            ndarray::Array2::from_shape_fn((count, 2), |(i, j)| ((i * (3 + 4 * j)) % 17) as f64 / 8.0 - 1.0);
        let y = Array1::from_shape_fn(count, |i| ((i * 7919) % 13) as f64 / 6.0 - 1.0);
        let records = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap();
        let (mut density, mut values) = prepare(&model, Some(&records)).unwrap();
        assert_eq!((density.elements(), values.elements()), (3, 3));
        let at = [0.3, -0.7, 0.2];
        let mut gradient = [0.0; 3];
        let value = density.evaluate(&at, &mut gradient).unwrap();
        let named = BTreeMap::from([
            ("w".to_owned(), arr1(&at[..2]).into_dyn()),
            ("scale".to_owned(), arr0(at[2].exp()).into_dyn()),
        ]);
        let expected = log_density(&model, &records, &named).unwrap().total() + at[2];
        assert!((value / expected - 1.0).abs() < 1e-13, "{value} and {expected}");
        for k in 0..3 {
            let mut moved = |step: f64| {
                let mut there = at;
                there[k] += step;
                density.evaluate(&there, &mut [0.0; 3]).unwrap()
            };
            let slope = (moved(1e-4) - moved(-1e-4)) / 2e-4;
            assert!((gradient[k] - slope).abs() < 1e-6 * expected.abs(), "{k}: {} and {slope}", gradient[k]);
        }
        let found = values.at(1, std::iter::once(&at[..])).unwrap();
        assert_eq!(found[0], ("w".to_owned(), arr1(&at[..2]).insert_axis(ndarray::Axis(0)).into_dyn()));
        assert!((found[1].1[0] - at[2].exp()).abs() < 1e-15);
    }
}
