//! A program run for one record, one operation after the other, in f64: no plan, no fusion, no tiles.
//!
//! It is what the fast executor is tested against, for which its kernels use no vectors in tests. And it keeps every
//! intermediate value, so it can say where a number stopped being finite.

use crate::base::{Error, Result, Shape};
use crate::machine::simd::plainly;
use crate::op::gather::is_row;
use crate::op::{Gather, Input, Kind, Op, Operand, Scan};
use crate::program::{Instruction, Program};
use crate::records::Records;
use std::collections::BTreeMap;
use std::fmt;

impl Program {
    /// The outputs for one record (row-major, one array for each output), computed the slow and obvious way.
    ///
    /// `inputs` holds the shared inputs and, under their own names, the per-record inputs of this record;
    /// `record` says which record the columns are read from, and may be absent where the program reads none.
    ///
    /// ```
    /// # use ppl_core::{Graph, Program};
    /// # use std::collections::BTreeMap;
    /// let graph = Graph::new();
    /// let x = graph.input("x", [2])?;
    /// let program = Program::new(&graph, &[x.exp().sum()])?;
    /// let inputs = BTreeMap::from([("x".to_owned(), vec![0.0, 1.0])]);
    /// let sum = program.interpret(&inputs, None)?[0][0];
    /// assert!((sum - (1.0 + std::f64::consts::E)).abs() < 1e-14);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an input is missing or has another length, or the record or its columns are not what the program
    /// was made for.
    pub fn interpret(
        &self,
        inputs: &BTreeMap<String, Vec<f64>>,
        record: Option<(&Records, u64)>,
    ) -> Result<Vec<Vec<f64>>> {
        let values = self.values(inputs, record)?;
        Ok(self.outputs.iter().map(|&output| values[output].clone()).collect())
    }

    /// The first operation that makes a number that is not finite, or is given an index that chooses no row,
    /// though all its arguments are finite; or the first input, column or constant that holds one.
    ///
    /// Infinities may be meant (`−∞` as a log density, say); whether a fault is one is for the reader to say.
    /// A fault quotes values of the record, so it is for readers who may see the records.
    ///
    /// ```
    /// # use ppl_core::{Graph, Program};
    /// # use std::collections::BTreeMap;
    /// let graph = Graph::new();
    /// let x = graph.input("x", [2])?;
    /// let program = Program::new(&graph, &[(x - 1.0).log().sum()])?;
    /// let inputs = BTreeMap::from([("x".to_owned(), vec![2.0, 1.0])]);
    /// let fault = program.first_non_finite(&inputs, None)?.expect("the log of zero");
    /// assert_eq!(fault.operation, "log");
    /// assert!(fault.to_string().contains("element 1 is -inf"));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Program::interpret`].
    pub fn first_non_finite(
        &self,
        inputs: &BTreeMap<String, Vec<f64>>,
        record: Option<(&Records, u64)>,
    ) -> Result<Option<Fault>> {
        let values = self.values(inputs, record)?;
        self.first_fault(&values)
    }

    /// The first fault of a run with these values.
    fn first_fault(&self, values: &[Vec<f64>]) -> Result<Option<Fault>> {
        let finite: Vec<bool> =
            values.iter().map(|values| values.iter().all(|value| value.is_finite())).collect();
        let found = self.instructions.iter().enumerate().find_map(|(position, instruction)| {
            let args: Vec<&Vec<f64>> = instruction.args.iter().map(|&arg| &values[arg]).collect();
            let shapes: Vec<&Shape> =
                instruction.args.iter().map(|&arg| &self.instructions[arg].shape).collect();
            let trouble = trouble(instruction, &args, &shapes, &values[position])?;
            let innocent = instruction.args.iter().all(|&arg| finite[arg]);
            innocent.then_some((position, trouble, args))
        });
        let Some((position, trouble, args)) = found else {
            return Ok(None);
        };
        let inside = match &self.instructions[position].op {
            Op::Scan(scan) => fault_of_step(scan, &args)?,
            _ => None,
        };
        Ok(Some(match inside {
            Some(inside) => Fault { position, ..inside },
            None => self.fault(position, trouble, values),
        }))
    }

    fn fault(&self, position: usize, trouble: Trouble, values: &[Vec<f64>]) -> Fault {
        let instruction = &self.instructions[position];
        let arguments = instruction.args.iter().map(|&arg| Argument {
            position: arg,
            operation: self.instructions[arg].op.to_string(),
            shape: self.instructions[arg].shape.clone(),
            least: values[arg].iter().copied().fold(f64::INFINITY, f64::min),
            greatest: values[arg].iter().copied().fold(f64::NEG_INFINITY, f64::max),
        });
        Fault {
            position,
            operation: instruction.op.to_string(),
            shape: instruction.shape.clone(),
            kind: instruction.kind,
            arguments: arguments.collect(),
            trouble,
            step: None,
            line: instruction.source.to_string(),
            site: instruction.source.site().map(str::to_owned),
        }
    }

    /// The value of every instruction.
    fn values(
        &self,
        inputs: &BTreeMap<String, Vec<f64>>,
        record: Option<(&Records, u64)>,
    ) -> Result<Vec<Vec<f64>>> {
        let mut values: Vec<Vec<f64>> = Vec::with_capacity(self.instructions.len());
        for instruction in &self.instructions {
            let shape = &instruction.shape;
            let value = match &instruction.op {
                Op::Constant(constant) => constant.values().collect(),
                Op::Input(Input::Shared(name) | Input::PerRecord(name)) => given(inputs, name, shape)?,
                Op::Input(Input::Column { index, name }) => column(record, *index, name, shape)?,
                op => {
                    let shapes: Vec<Shape> =
                        instruction.args.iter().map(|&arg| self.instructions[arg].shape.clone()).collect();
                    let operand = |&arg: &usize| match (instruction.kind, self.instructions[arg].kind) {
                        (Kind::PerRecord, Kind::Shared) => Operand::Shared(&values[arg][..]),
                        _ => Operand::Rows(&values[arg][..]),
                    };
                    let args: Vec<Operand<'_, f64>> = instruction.args.iter().map(operand).collect();
                    plainly(|| op.on_one_lane(&args, &shapes, shape, instruction.kind == Kind::Shared))
                }
            };
            values.push(value);
        }
        Ok(values)
    }
}

/// The first fault of a loop over these arguments: where in the step it is, and in which step.
fn fault_of_step(scan: &Scan, args: &[&Vec<f64>]) -> Result<Option<Fault>> {
    let program = Program::of_step(scan);
    let [carries, inputs, _] = scan.body().groups();
    let names: Vec<String> = program.inputs().map(|(name, _)| name.to_owned()).collect();
    let mut states: Vec<Vec<f64>> = args[..carries].iter().map(|&state| state.clone()).collect();
    for at in 0..scan.steps() {
        let row = if scan.is_reversed() { scan.steps() - 1 - at } else { at };
        let given = |leaf: usize| match args[leaf] {
            _ if leaf < carries => states[leaf].clone(),
            rows if leaf < carries + inputs => {
                let width = rows.len() / scan.steps();
                rows[row * width..(row + 1) * width].to_vec()
            }
            whole => whole.clone(),
        };
        let given = names.iter().enumerate().map(|(leaf, name)| (name.clone(), given(leaf))).collect();
        let values = program.values(&given, None)?;
        if let Some(fault) = program.first_fault(&values)? {
            return Ok(Some(Fault { step: Some(row), ..fault }));
        }
        states = scan.body().carried().iter().map(|&after| values[after as usize].clone()).collect();
    }
    Ok(None)
}

fn given(inputs: &BTreeMap<String, Vec<f64>>, name: &str, shape: &Shape) -> Result<Vec<f64>> {
    match inputs.get(name) {
        Some(values) if values.len() == shape.elements() => Ok(values.clone()),
        Some(values) => Err(Error::Values(format!(
            "input '{name}' takes {} numbers, got {}",
            shape.elements(),
            values.len()
        ))),
        None => Err(Error::Values(format!("no value is given for input '{name}' of shape {shape}"))),
    }
}

/// One record's value of a column.
fn column(record: Option<(&Records, u64)>, index: usize, name: &str, shape: &Shape) -> Result<Vec<f64>> {
    let Some((records, record)) = record else {
        return Err(Error::Values(format!("the program reads column '{name}', but no records are given")));
    };
    if record >= records.len() as u64 {
        return Err(Error::RecordIndex { index: record, records: records.len() });
    }
    let fits = records.schema().columns().nth(index).is_some_and(|(known, of)| known == name && of == shape);
    if !fits {
        let expected = format!("'{name}' {shape} as column {index}");
        return Err(Error::SchemaMismatch { expected, got: records.schema().describe() });
    }
    let (width, first) = (shape.elements(), record as usize * shape.elements());
    let numbers = records.column(index);
    Ok((first..first + width).filter_map(|at| numbers.number(at)).collect())
}

/// What is wrong with the result of an operation, if anything is.
fn trouble(
    instruction: &Instruction,
    args: &[&Vec<f64>],
    shapes: &[&Shape],
    values: &[f64],
) -> Option<Trouble> {
    let rows = match &instruction.op {
        Op::Gather(Gather::Rows) => shapes[0].dims().first().copied(),
        Op::Gather(Gather::ScatterAdd { rows }) => Some(*rows),
        _ => None,
    };
    let bad_index = rows.and_then(|rows| {
        let element = args[1].iter().position(|&index| !is_row(index, rows))?;
        Some(Trouble::BadIndex { element, index: args[1][element], rows })
    });
    bad_index.or_else(|| {
        let element = values.iter().position(|value| !value.is_finite())?;
        Some(Trouble::NotFinite { element, value: values[element] })
    })
}

/// Where a number that is not finite was made, and what it was made from.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Fault {
    /// Position of the instruction in the program, as in its listing.
    pub position: usize,
    /// The operation.
    pub operation: String,
    /// Shape of its result.
    pub shape: Shape,
    /// Whether the result is shared or one record's.
    pub kind: Kind,
    /// What it was computed from.
    pub arguments: Vec<Argument>,
    /// What is wrong with the result.
    pub trouble: Trouble,
    /// Where the operation stands in the body of a scan (the outermost one, if there are several): the row of
    /// the inputs in whose step it happened. The arguments' positions are then those in the body.
    pub step: Option<usize>,
    /// Line of the model that wrote it (a derivative has the line of the operation it is the derivative of).
    pub line: String,
    /// The site that was being built there, if one was.
    pub site: Option<String>,
}

/// What is wrong with a value.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Trouble {
    /// An element (row-major, from 0) that is infinite or NaN.
    NotFinite {
        /// The element.
        element: usize,
        /// Its value.
        value: f64,
    },
    /// An index (row-major, from 0) that chooses no row of its table.
    BadIndex {
        /// The element of the index.
        element: usize,
        /// Its value.
        index: f64,
        /// Rows of the table.
        rows: usize,
    },
}

/// One argument of the operation of a [`Fault`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Argument {
    /// Position of the instruction that made it.
    pub position: usize,
    /// Its operation.
    pub operation: String,
    /// Its shape.
    pub shape: Shape,
    /// Its least element (∞ if it has none).
    pub least: f64,
    /// Its greatest element (−∞ if it has none).
    pub greatest: f64,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::NotFinite { element, value } => write!(f, "element {element} is {value}"),
            Trouble::BadIndex { element, index, rows } => {
                write!(f, "element {element} of the index is {index}, and there are {rows} rows")
            }
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { position, operation, shape, trouble, line, step, .. } = self;
        write!(f, "%{position} = {operation} of shape {shape}")?;
        if let Some(step) = step {
            write!(f, " in step {step} of the scan")?;
        }
        write!(f, ": {trouble}")?;
        for (count, argument) in self.arguments.iter().enumerate() {
            let Argument { position, operation, shape, least, greatest } = argument;
            write!(f, "{} %{position} = {operation} {shape}", if count == 0 { "; from" } else { "," })?;
            match shape.elements() {
                0 => {}
                1 => write!(f, " ({least})")?,
                _ => write!(f, " (from {least} to {greatest})")?,
            }
        }
        match &self.site {
            Some(site) => write!(f, " (site '{site}', {line})"),
            None => write!(f, " ({line})"),
        }
    }
}
