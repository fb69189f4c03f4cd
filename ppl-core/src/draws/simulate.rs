//! Running a traced model: its inputs filled, its sites' values and terms as numbers.

use crate::base::{Error, Result};
use crate::draws::log_density::LogDensity;
use crate::model::context::Model;
use crate::model::key::Key;
use crate::model::message::{Drawing, Given};
use crate::model::noise::NoiseKind;
use crate::model::trace::{Site, Trace, trace};
use crate::op::{Graph, Input, Op, Operand, Var};
use crate::program::Program;
use crate::records::Records;
use crate::run::plan::{ExecutionPlan, InputId, RecordInputId};
use ndarray::{Array1, ArrayD, IxDyn};
use std::collections::BTreeMap;

/// Values of sites by name. Those of a site inside `each_record` have an axis more, the first, that counts
/// the records; predictions have one before that, which counts the draws.
pub type Values = BTreeMap<String, ArrayD<f64>>;

/// Records that are run together: per-record inputs are filled for this many.
const SPAN: usize = 4096;

/// The values of all sites of a model whose latent sites have values: drawn
/// ([`seed`](crate::handlers::seed)), given ([`condition`](crate::handlers::condition),
/// [`substitute`](crate::handlers::substitute)), or replayed. Parameters have their initial values otherwise.
///
/// Every site is there by its full name: factors with their terms, sites that were summed out with their
/// distribution given everything else. What is inside `each_record` depends on the records, so it is as
/// sensitive as they are.
///
/// ```
/// # use ppl_core::{Constraint, Ctx, Records, simulate};
/// let model = |ctx: &mut Ctx<'_>| {
///     let slope = ctx.param("slope", 2.0, Constraint::Real)?;
///     ctx.each_record(|ctx, record| ctx.deterministic("line", slope * record.get("x")?).map(|_| ()))
/// };
/// let values = simulate(&model, &Records::from_columns([("x", vec![1.0, 3.0])])?)?;
/// assert_eq!(values["slope"], ndarray::arr0(2.0).into_dyn());
/// assert_eq!(values["line"], ndarray::array![2.0, 6.0].into_dyn());
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # Errors
/// If a latent site has no value, or the model is wrong otherwise.
pub fn simulate(model: &(impl Model + ?Sized), records: &Records) -> Result<Values> {
    let graph = Graph::new();
    trace(model, &graph, records.schema(), ())?.simulate(records)
}

impl Trace<'_> {
    /// The values of all sites; as [`simulate`], for a model that was traced already.
    ///
    /// # Errors
    /// If the program has inputs that nothing fills (those of
    /// [`Unconstrained`](crate::handlers::Unconstrained), say), or the records have not the columns of the
    /// trace.
    pub fn simulate(&self, records: &Records) -> Result<Values> {
        let mut simulator = Simulator::of_sites(self, |_| true)?;
        let values = simulator.values(records, &Fill { values: &Values::new(), draw: 0 })?;
        Ok(simulator.named(values, &[], records.len()))
    }

    /// The log density at the values that the sites have.
    ///
    /// # Errors
    /// As [`Trace::simulate`].
    pub fn log_density(&self, records: &Records) -> Result<LogDensity> {
        Simulator::of_log_density(self)?.log_density(records, &Fill { values: &Values::new(), draw: 0 })
    }
}

/// The numbers that an input is filled with.
#[derive(Clone, Debug)]
enum Numbers {
    /// Numbers from a stream.
    Noise { key: Key, kind: NoiseKind },
    /// Numbers that came with the model, record after record.
    Given(ArrayD<f64>),
    /// Numbers that come with each run, by the input's name.
    OfRun,
}

/// One input of the program.
#[derive(Clone, Debug)]
struct ProgramInput {
    name: String,
    elements: usize,
    source: Numbers,
    at: PlanInput,
}

#[derive(Clone, Copy, Debug)]
enum PlanInput {
    Shared(InputId),
    Each(RecordInputId),
}

/// One output of the program.
#[derive(Clone, Debug)]
struct ProgramOutput {
    name: String,
    shape: Vec<usize>,
    elements: usize,
    per_record: bool,
}

/// What one run is filled with.
pub(crate) struct Fill<'a> {
    /// Values of inputs by the inputs' names.
    pub(crate) values: &'a Values,
    /// Number of the draw.
    pub(crate) draw: u64,
}

/// A trace as a plan, with what its inputs are filled from.
#[derive(Clone)]
pub(crate) struct Simulator {
    plan: ExecutionPlan<f64>,
    slots: Vec<ProgramInput>,
    outputs: Vec<ProgramOutput>,
    /// Names of the columns it reads.
    columns: Vec<String>,
}

impl Simulator {
    /// Computes the values of sites.
    pub(crate) fn of_sites(trace: &Trace<'_>, wanted: impl Fn(&Site<'_>) -> bool) -> Result<Self> {
        let sites = trace.sites().iter().filter(|site| wanted(site));
        let outputs: Vec<_> = sites
            .map(|site| {
                let output = ProgramOutput {
                    name: site.name.clone(),
                    shape: site.value.shape().dims().to_vec(),
                    elements: site.value.shape().elements(),
                    per_record: site.per_record,
                };
                (site.value, output)
            })
            .collect();
        Self::new(trace, outputs)
    }

    /// Computes the log density: the shared part, and each record's.
    pub(crate) fn of_log_density(trace: &Trace<'_>) -> Result<Self> {
        let zero = trace.graph().constant(0.0);
        let output =
            |per_record| ProgramOutput { name: String::new(), shape: vec![], elements: 1, per_record };
        let record = trace.record_log_density().unwrap_or(zero);
        Self::new(trace, vec![(trace.log_prior(), output(false)), (record, output(true))])
    }

    /// Computes each record's log-likelihood given all latent values.
    pub(crate) fn of_log_likelihood(trace: &Trace<'_>) -> Result<Self> {
        let zero = trace.graph().constant(0.0);
        let output = ProgramOutput { name: String::new(), shape: vec![], elements: 1, per_record: true };
        Self::new(trace, vec![(trace.record_log_likelihood().unwrap_or(zero), output)])
    }

    fn new(trace: &Trace<'_>, outputs: Vec<(Var<'_>, ProgramOutput)>) -> Result<Self> {
        let vars: Vec<Var<'_>> = outputs.iter().map(|(var, _)| *var).collect();
        let program = Program::new(trace.graph(), &vars)?;
        let plan = ExecutionPlan::<f64>::new(&program);
        let mut sources: BTreeMap<String, Numbers> = BTreeMap::new();
        for filling in trace.fillings() {
            for (which, input) in filling.noise.iter().enumerate() {
                if let Drawing::Key(key) = filling.drawing {
                    let key = key.named(&input.site).child(which as u64);
                    sources.insert(input.name.clone(), Numbers::Noise { key, kind: input.kind });
                }
            }
            if let Some(Given { input, values }) = &filling.given {
                sources.insert(input.clone(), Numbers::Given(values.clone()));
            }
        }
        let (mut slots, mut columns) = (Vec::new(), Vec::new());
        for instruction in &program.instructions {
            let elements = instruction.shape.elements();
            // An input that simplification found to be unused has no place in the plan.
            let (name, place) = match &instruction.op {
                Op::Input(Input::Shared(name)) => (name, plan.input(name).ok().map(PlanInput::Shared)),
                Op::Input(Input::PerRecord(name)) => {
                    (name, plan.record_input(name).ok().map(PlanInput::Each))
                }
                Op::Input(Input::Column { name, .. }) => {
                    columns.push(name.clone());
                    continue;
                }
                _ => continue,
            };
            let source = sources.remove(name).unwrap_or(Numbers::OfRun);
            slots.extend(place.map(|place| ProgramInput { name: name.clone(), elements, source, at: place }));
        }
        Ok(Self { plan, slots, outputs: outputs.into_iter().map(|(_, output)| output).collect(), columns })
    }

    /// Names of the inputs that are filled record by record.
    pub(crate) fn record_inputs(&self) -> impl Iterator<Item = &str> {
        let each = self.slots.iter().filter(|slot| matches!(slot.at, PlanInput::Each(_)));
        each.map(|slot| slot.name.as_str())
    }

    /// The numbers of each output, row-major; record after record where it is per record.
    pub(crate) fn values(&mut self, records: &Records, fill: &Fill<'_>) -> Result<Vec<Vec<f64>>> {
        self.plan.check_schema(records)?;
        let count = records.len();
        for slot in &self.slots {
            if let PlanInput::Shared(id) = slot.at {
                slot.write(fill, 0..1, 1, self.plan.input_mut(id))?;
            }
        }
        self.plan.run();
        let mut values: Vec<Vec<f64>> = self
            .outputs
            .iter()
            .map(|output| {
                let rows = if output.per_record { count } else { 1 };
                Vec::with_capacity(rows * output.elements)
            })
            .collect();
        for (index, output) in self.outputs.iter().enumerate().filter(|(_, output)| !output.per_record) {
            debug_assert_eq!(self.plan.output(index).len(), output.elements);
            values[index].extend_from_slice(self.plan.output(index));
        }
        if !self.outputs.iter().any(|output| output.per_record) {
            return Ok(values);
        }
        let all: Vec<u64> = (0..count as u64).collect();
        for (span, batch) in all.chunks(SPAN).enumerate() {
            let first = span * SPAN;
            for slot in &self.slots {
                if let PlanInput::Each(id) = slot.at {
                    let to = self.plan.record_input_mut(id, batch.len());
                    slot.write(fill, first..first + batch.len(), count, to)?;
                }
            }
            let tile = self.plan.tile();
            for (k, indices) in batch.chunks(tile).enumerate() {
                self.plan.run_tile(records, indices, k * tile, batch.len())?;
                for (index, output) in self.outputs.iter().enumerate().filter(|(_, output)| output.per_record)
                {
                    let (operand, lanes) = self.plan.output_operand((records, indices), index);
                    for lane in 0..lanes {
                        values[index]
                            .extend((0..output.elements).map(|element| operand.at(element, lane, lanes)));
                    }
                }
            }
        }
        Ok(values)
    }

    /// The log density, of a simulator made for it.
    pub(crate) fn log_density(&mut self, records: &Records, fill: &Fill<'_>) -> Result<LogDensity> {
        let mut values = self.values(records, fill)?;
        match (values.pop(), values.pop().as_deref()) {
            (Some(likelihood), Some([prior])) => {
                Ok(LogDensity { prior: *prior, likelihood: Array1::from(likelihood) })
            }
            _ => Err(Error::Values("a log density has two parts".to_owned())),
        }
    }

    /// The log density's shared part, with each tile's terms of records handed out by their places in `batch`; of a
    /// simulator that was made for it and fills nothing record by record.
    pub(crate) fn terms(
        &mut self,
        (records, batch): (&Records, &[u64]),
        fill: &Fill<'_>,
        mut take: impl FnMut(std::ops::Range<usize>, &[f64]),
    ) -> Result<f64> {
        self.plan.check_schema(records)?;
        for slot in &self.slots {
            match slot.at {
                PlanInput::Shared(id) => slot.write(fill, 0..1, 1, self.plan.input_mut(id))?,
                PlanInput::Each(_) => {
                    return Err(Error::Values(format!("input '{}' is filled record by record", slot.name)));
                }
            }
        }
        self.plan.run();
        let &[prior] = self.plan.output(0) else {
            return Err(Error::Values("a log density has two parts".to_owned()));
        };
        let tile = self.plan.tile();
        let mut terms = Vec::new();
        for (k, indices) in batch.chunks(tile).enumerate() {
            self.plan.run_tile(records, indices, k * tile, batch.len())?;
            let places = k * tile..k * tile + indices.len();
            match self.plan.output_operand((records, indices), 1) {
                (Operand::Rows(rows), _) => take(places, rows),
                (operand, lanes) => {
                    terms.clear();
                    terms.extend((0..lanes).map(|lane| operand.at(0, lane, lanes)));
                    take(places, &terms);
                }
            }
        }
        Ok(prior)
    }

    /// Whether something is filled record by record, so that records with the same values may differ.
    pub(crate) fn fills_records(&self) -> bool {
        self.slots.iter().any(|slot| matches!(slot.at, PlanInput::Each(_)))
    }

    /// Numbers as arrays under their sites' names, with `leading` axes before those of the records and the
    /// sites.
    pub(crate) fn named(&self, values: Vec<Vec<f64>>, leading: &[usize], records: usize) -> Values {
        let array = |(output, values): (&ProgramOutput, Vec<f64>)| {
            let mut shape = leading.to_vec();
            shape.extend(output.per_record.then_some(records));
            shape.extend_from_slice(&output.shape);
            // The lengths agree by construction; if they did not, the numbers themselves would be the best
            // answer.
            let array = ArrayD::from_shape_vec(IxDyn(&shape), values)
                .unwrap_or_else(|_| ArrayD::from_elem(IxDyn(&shape), f64::NAN));
            (output.name.clone(), array)
        };
        self.outputs.iter().zip(values).map(array).collect()
    }

    /// Number of outputs.
    pub(crate) fn outputs(&self) -> usize {
        self.outputs.len()
    }

    /// Names of the columns that the program reads.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }
}

impl ProgramInput {
    /// Writes the numbers of some of the records (of `0..1` for a shared input).
    fn write(
        &self,
        fill: &Fill<'_>,
        records: std::ops::Range<usize>,
        of: usize,
        out: &mut [f64],
    ) -> Result<()> {
        let numbers = records.start * self.elements..records.end * self.elements;
        let from = match &self.source {
            Numbers::Noise { key, kind } => {
                return key.fill(*kind, fill.draw, numbers.start as u64, out);
            }
            Numbers::Given(values) => Some(values),
            Numbers::OfRun => fill.values.get(&self.name),
        };
        let Some(from) = from else {
            return Err(Error::Values(format!("nothing fills the input '{}'", self.name)));
        };
        if from.len() != of * self.elements {
            let (got, name) = (from.len(), &self.name);
            return Err(Error::Values(match self.at {
                PlanInput::Shared(_) => format!("input '{name}' takes {} numbers, got {got}", self.elements),
                PlanInput::Each(_) => format!(
                    "input '{name}' takes {} numbers for each of {of} records, got {got} in all",
                    self.elements
                ),
            }));
        }
        match from.as_slice() {
            Some(from) => out.copy_from_slice(&from[numbers]),
            None => out.iter_mut().zip(from.iter().skip(numbers.start)).for_each(|(to, from)| *to = *from),
        }
        Ok(())
    }
}

impl Site<'_> {
    /// Whether the value is the input of this name.
    pub(crate) fn is_input(&self, name: &str) -> bool {
        matches!(&self.value.graph().node(self.value.id()).op,
            Op::Input(Input::Shared(input) | Input::PerRecord(input)) if input == name)
    }
}
