//! Programs written down, and read back with suspicion.
//!
//! Numbers of constants are text, because JSON has neither infinities nor NaN, and not every reader of JSON reads a number to the
//! last bit. What is read is checked as if it came from an enemy: every shape and kind must follow from the arguments.

use super::words::{parameters, read};
use super::{Instruction, Program};
use crate::base::{Error, Origin, Result, Shape};
use crate::op::{Constant, Input, Kind, Op};
use serde::de::{self, Deserialize, Deserializer, Unexpected};
use serde::ser::{Serialize, Serializer};

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;
/// Most axes of an array that is read.
const MOST_AXES: usize = 32;
/// Most elements of all arrays of a program that is read, taken together.
const MOST_ELEMENTS: usize = 1 << 31;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenProgram {
    version: Version,
    instructions: Vec<WrittenInstruction>,
    outputs: Vec<usize>,
}

struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(VERSION)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u64::deserialize(deserializer)? {
            version if version == u64::from(VERSION) => Ok(Self),
            other => {
                let expected = format!("version {VERSION} of a program");
                Err(de::Error::invalid_value(Unexpected::Unsigned(other), &expected.as_str()))
            }
        }
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenInstruction {
    op: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    parameters: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    values: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    args: Vec<usize>,
    shape: Vec<usize>,
    kind: WrittenKind,
    line: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    site: Option<String>,
}

#[derive(Clone, Copy, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum WrittenKind {
    Shared,
    Record,
}

/// As [`Program::to_json`] shows; needs the feature `serde`.
impl Serialize for Program {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let instructions = self.instructions.iter().map(write).collect();
        WrittenProgram { version: Version, instructions, outputs: self.outputs.clone() }.serialize(serializer)
    }
}

/// Anything but a program that could have been traced is an error; needs the feature `serde`.
impl<'de> Deserialize<'de> for Program {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenProgram::deserialize(deserializer)?;
        checked(written).map_err(de::Error::custom)
    }
}

impl Program {
    /// The program as JSON; needs the feature `serde`.
    ///
    /// ```text
    /// {"version": 1,
    ///  "instructions": [
    ///    {"op": "input", "name": "w", "shape": [5], "kind": "shared", "line": "model.rs:7:9"},
    ///    {"op": "column", "name": "x", "column": 0, "shape": [5], "kind": "record", "line": "model.rs:8:9"},
    ///    {"op": "constant", "values": "0.5", "shape": [], "kind": "shared", "line": "model.rs:9:9"},
    ///    {"op": "inner", "args": [0, 1], "shape": [], "kind": "record", "line": "model.rs:9:9", "site": "y"}],
    ///  "outputs": [3]}
    /// ```
    ///
    /// ```
    /// # use ppl_core::{Graph, Program};
    /// let graph = Graph::new();
    /// let program = Program::new(&graph, &[graph.input("x", [3])?.log1p()])?;
    /// assert_eq!(Program::from_json(&program.to_json()?)?, program);
    /// assert!(Program::from_json(r#"{"version": 2}"#).unwrap_err().to_string().contains("version 1"));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If memory for the text cannot be had.
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|error| Error::Values(format!("a program as JSON: {error}")))
    }

    /// The program that [`Program::to_json`] wrote; needs the feature `serde`.
    ///
    /// # Errors
    /// If the text is no program, or one of another version, or not every shape and kind follows from the arguments.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::Values(format!("a program from JSON: {error}")))
    }
}

fn write(instruction: &Instruction) -> WrittenInstruction {
    let Instruction { op, args, shape, kind, source } = instruction;
    let (operation, name, column, values) = match op {
        Op::Input(Input::Shared(name)) => ("input", Some(name.clone()), None, None),
        Op::Input(Input::PerRecord(name)) => ("record_input", Some(name.clone()), None, None),
        Op::Input(Input::Column { index, name }) => ("column", Some(name.clone()), Some(*index), None),
        Op::Constant(constant) => ("constant", None, None, Some(write_numbers(constant))),
        op => (op.name(), None, None, None),
    };
    WrittenInstruction {
        op: operation.to_owned(),
        parameters: parameters(op),
        name,
        column,
        values,
        args: args.clone(),
        shape: shape.dims().to_vec(),
        kind: if *kind == Kind::Shared { WrittenKind::Shared } else { WrittenKind::Record },
        line: source.to_string(),
        site: source.site().map(str::to_owned),
    }
}

/// Numbers with a space between them. Rust writes as many digits as it takes to read the same bits; a NaN other than the usual
/// one is written as its bits.
fn write_numbers(constant: &Constant) -> String {
    let number = |value: f64| match value {
        nan if nan.is_nan() && nan.to_bits() != f64::NAN.to_bits() => format!("NaN:{:016x}", nan.to_bits()),
        value => format!("{value:?}"),
    };
    constant.values().map(number).collect::<Vec<_>>().join(" ")
}

fn read_number(text: &str) -> Option<f64> {
    match text.strip_prefix("NaN:") {
        Some(bits) => {
            let value = f64::from_bits(u64::from_str_radix(bits, 16).ok()?);
            value.is_nan().then_some(value)
        }
        None => text.parse().ok(),
    }
}

fn checked(written: WrittenProgram) -> Result<Program> {
    let mut instructions: Vec<Instruction> = Vec::with_capacity(written.instructions.len());
    let mut elements = 0_usize;
    for (position, written) in written.instructions.iter().enumerate() {
        let wrong = |error: Error| Error::Values(format!("instruction {position}: {error}"));
        let instruction = checked_instruction(written, &instructions).map_err(wrong)?;
        elements = elements.saturating_add(instruction.shape.elements());
        if elements > MOST_ELEMENTS {
            return Err(wrong(Error::Values("the program's arrays are too large together".to_owned())));
        }
        instructions.push(instruction);
    }
    match written.outputs.iter().find(|&&output| output >= instructions.len()) {
        Some(output) => Err(Error::Values(format!(
            "output %{output} is none of the program's {} instructions",
            instructions.len()
        ))),
        None => Ok(Program { instructions, outputs: written.outputs }),
    }
}

fn checked_instruction(written: &WrittenInstruction, before: &[Instruction]) -> Result<Instruction> {
    let wrong = |told: String| Err(Error::Values(told));
    if written.shape.len() > MOST_AXES {
        return wrong(format!("{} axes, and {MOST_AXES} is the most", written.shape.len()));
    }
    let shape = Shape::from(&written.shape[..]).checked()?;
    if let Some(arg) = written.args.iter().find(|&&arg| arg >= before.len()) {
        return wrong(format!("argument %{arg} does not come before it"));
    }
    let op = match checked_leaf(written, &shape, before)? {
        Some(leaf) => leaf,
        None => read(&written.op, &written.parameters, &shape)?,
    };
    let kind = match &op {
        Op::Input(Input::PerRecord(_) | Input::Column { .. }) => Kind::PerRecord,
        Op::Input(Input::Shared(_)) | Op::Constant(_) => Kind::Shared,
        op => {
            let shapes: Vec<Shape> = written.args.iter().map(|&arg| before[arg].shape.clone()).collect();
            match op.shape(&shapes) {
                Ok(follows) if follows == shape => {}
                Ok(follows) => return wrong(format!("{op} has shape {follows}, not {shape}")),
                Err(_) => return wrong(format!("{op} does not take arguments of shapes {shapes:?}")),
            }
            written.args.iter().map(|&arg| before[arg].kind).max().unwrap_or(Kind::Shared)
        }
    };
    match (kind, written.kind) {
        (Kind::Shared, WrittenKind::Shared) | (Kind::PerRecord, WrittenKind::Record) => {}
        _ => return wrong(format!("{op} is {kind:?}, not what is written")),
    }
    let source = Origin::told(&written.line, written.site.as_deref());
    Ok(Instruction { op, args: written.args.clone(), shape, kind, source })
}

/// The leaf that is written, if it is one. Fields that do not belong to the operation are errors.
fn checked_leaf(written: &WrittenInstruction, shape: &Shape, before: &[Instruction]) -> Result<Option<Op>> {
    let WrittenInstruction { op, parameters, name, column, values, args, .. } = written;
    let leaf = match (op.as_str(), name, column, values) {
        ("input", Some(name), None, None) => Op::Input(Input::Shared(name.clone())),
        ("record_input", Some(name), None, None) => Op::Input(Input::PerRecord(name.clone())),
        ("column", Some(name), Some(index), None) => {
            Op::Input(Input::Column { index: *index, name: name.clone() })
        }
        ("constant", None, None, Some(values)) => Op::Constant(checked_constant(values, shape)?),
        ("input" | "record_input" | "column" | "constant", ..) => {
            return Err(Error::Values(format!("a {op} with fields missing, or with too many")));
        }
        (_, None, None, None) => return Ok(None),
        _ => return Err(Error::Values(format!("{op} has no name, column or values"))),
    };
    if !(args.is_empty() && parameters.is_empty()) {
        return Err(Error::Values(format!("a {op} has no arguments and no parameters")));
    }
    let twice = matches!(leaf, Op::Input(_)) && before.iter().any(|other| other.op == leaf);
    if twice { Err(Error::Values(format!("{leaf} stands there twice"))) } else { Ok(Some(leaf)) }
}

fn checked_constant(values: &str, shape: &Shape) -> Result<Constant> {
    let texts = values.split_ascii_whitespace();
    let count = texts.clone().count();
    if count != shape.elements() {
        return Err(Error::Values(format!("{count} numbers for a constant of shape {shape}")));
    }
    let number = |text: &str| {
        read_number(text).ok_or_else(|| Error::Values(format!("'{}' is no number", text.escape_debug())))
    };
    Ok(Constant::new(texts.map(number).collect::<Result<_>>()?, shape.clone()))
}
