//! Programs written down, and read back with suspicion.
//!
//! Operations are written by their own derived rules, under the names of their variants; what needs more than
//! that is here. Numbers of constants are text, because JSON has neither infinities nor NaN, and not every
//! reader of JSON reads a number to the last bit. What is read is checked as if it came from an enemy: every
//! shape and kind must follow from the arguments.

use super::{Instruction, Program};
use crate::base::{Error, Origin, Result, Shape};
use crate::op::scan::{Body, MOST_STEPS, node};
use crate::op::{Constant, Einsum, Input, Kind, Op, Scan, Unary, Window};
use serde::de::{self, Deserialize, Deserializer, Unexpected};
use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;

/// The version that is written, and the only one that is read.
const VERSION: u32 = 2;
/// Most axes of an array that is read.
const MOST_AXES: usize = 32;
/// Most elements of all arrays of a program that is read, taken together.
const MOST_ELEMENTS: usize = 1 << 31;
/// Largest number of a window that is read: the places of the window are multiplied.
const LARGEST_OF_WINDOW: usize = 1 << 15;
/// Highest order of a polygamma function that is read: 170! is the largest factorial in `f64`, and a
/// derivative may follow.
const HIGHEST_ORDER: u8 = 169;

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenProgram<'a> {
    version: Version,
    instructions: Cow<'a, [Instruction]>,
    outputs: Cow<'a, [usize]>,
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

/// As [`Program::to_json`] shows; needs the feature `serde`.
impl Serialize for Program {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (instructions, outputs) = (Cow::from(&self.instructions), Cow::from(&self.outputs));
        WrittenProgram { version: Version, instructions, outputs }.serialize(serializer)
    }
}

/// Anything but a program that could have been traced is an error; needs the feature `serde`.
impl<'de> Deserialize<'de> for Program {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenProgram { instructions, outputs, .. } = WrittenProgram::deserialize(deserializer)?;
        let program = Self { instructions: instructions.into_owned(), outputs: outputs.into_owned() };
        check(&program).map_err(de::Error::custom)?;
        Ok(program)
    }
}

impl Program {
    /// The program as JSON; needs the feature `serde`.
    ///
    /// ```text
    /// {"version": 2,
    ///  "instructions": [
    ///    {"op": {"Input": {"Shared": "w"}}, "shape": [5], "kind": "Shared", "source": {"line": "model.rs:7:9"}},
    ///    {"op": {"Input": {"Column": {"index": 0, "name": "x"}}}, "shape": [5], "kind": "PerRecord",
    ///     "source": {"line": "model.rs:8:9"}},
    ///    {"op": {"Linear": "Inner"}, "args": [0, 1], "shape": [], "kind": "PerRecord",
    ///     "source": {"line": "model.rs:9:9", "site": "y"}},
    ///    {"op": {"Constant": {"shape": [], "values": "0.5"}}, "shape": [], "kind": "Shared",
    ///     "source": {"line": "model.rs:9:9"}}],
    ///  "outputs": [2]}
    /// ```
    ///
    /// ```
    /// # use ppl_core::{Graph, Program};
    /// let graph = Graph::new();
    /// let program = Program::new(&graph, &[graph.input("x", [3])?.log1p()])?;
    /// assert_eq!(Program::from_json(&program.to_json()?)?, program);
    /// assert!(Program::from_json(r#"{"version": 1}"#).unwrap_err().to_string().contains("version 2"));
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
    /// If the text is no program, or one of another version, or not every shape and kind follows from the
    /// arguments.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| Error::Values(format!("a program from JSON: {error}")))
    }
}

/// Its lengths.
impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.dims().serialize(serializer)
    }
}

/// A shape with too many axes or elements is an error.
impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dims = Vec::deserialize(deserializer)?;
        if dims.len() > MOST_AXES {
            let problem = format!("{} axes, and {MOST_AXES} is the most", dims.len());
            return Err(de::Error::custom(problem));
        }
        Shape::from(dims).checked().map_err(de::Error::custom)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenOrigin<'a> {
    line: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    site: Option<Cow<'a, str>>,
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let line = self.to_string().into();
        WrittenOrigin { line, site: self.site().map(Cow::from) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Origin {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenOrigin { line, site } = WrittenOrigin::deserialize(deserializer)?;
        Ok(Origin::written(&line, site.as_deref()))
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenConstant<'a> {
    shape: Cow<'a, Shape>,
    values: Cow<'a, str>,
}

impl Serialize for Constant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let values = write_numbers(self).into();
        WrittenConstant { shape: Cow::Borrowed(self.shape()), values }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Constant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenConstant { shape, values } = WrittenConstant::deserialize(deserializer)?;
        let texts = values.split_ascii_whitespace();
        let count = texts.clone().count();
        if count != shape.elements() {
            return Err(de::Error::custom(format!("{count} numbers for a constant of shape {shape}")));
        }
        let number = |text: &str| {
            read_number(text)
                .ok_or_else(|| de::Error::custom(format!("'{}' is no number", text.escape_debug())))
        };
        Ok(Constant::new(texts.map(number).collect::<Result<_, _>>()?, shape.into_owned()))
    }
}

/// Its subscripts, as [`Einsum::new`] reads them.
impl Serialize for Einsum {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Einsum {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Einsum::new(&Cow::<str>::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWindow {
    image: [usize; 2],
    size: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
}

impl Serialize for Window {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (image, size, stride, padding) = (self.image(), self.size(), self.stride(), self.padding());
        WrittenWindow { image, size, stride, padding }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Window {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let WrittenWindow { image, size, stride, padding } = WrittenWindow::deserialize(deserializer)?;
        let small =
            [image, size, stride, padding].iter().flatten().all(|&number| number <= LARGEST_OF_WINDOW);
        Some(()).filter(|()| small).and_then(|()| Window::new(image, size, stride, padding)).ok_or_else(
            || de::Error::custom("a window that is empty, too large, or larger than the padded image"),
        )
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenScan {
    steps: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    reversed: bool,
    /// Numbers of leaves that are carried, rows of inputs, and captured; the first instructions.
    leaves: [usize; 3],
    body: Vec<Instruction>,
    carried: Vec<usize>,
    stacked: Vec<usize>,
    summed: Vec<usize>,
}

impl Serialize for Scan {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let body = self.body();
        let [carried, stacked, summed] =
            body.results().each_ref().map(|group| group.iter().map(|&at| at as usize).collect());
        WrittenScan {
            steps: self.steps(),
            reversed: self.is_reversed(),
            leaves: body.groups(),
            body: body.nodes().iter().map(Instruction::of_node).collect(),
            carried,
            stacked,
            summed,
        }
        .serialize(serializer)
    }
}

/// A body that could not have been traced is an error.
impl<'de> Deserialize<'de> for Scan {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = WrittenScan::deserialize(deserializer)?;
        read_scan(written).map_err(|error| de::Error::custom(format!("a scan's body: {error}")))
    }
}

fn read_scan(written: WrittenScan) -> Result<Scan> {
    let wrong = |problem: &str| Err(Error::Values(problem.to_owned()));
    let WrittenScan { steps, reversed, leaves, body, carried, stacked, summed } = written;
    let count = leaves.iter().try_fold(0_usize, |sum, &group| sum.checked_add(group));
    let Some(count) = count.filter(|&count| count <= body.len()) else {
        return wrong("it has fewer instructions than leaves");
    };
    let mut elements = 0_usize;
    for (position, instruction) in body.iter().enumerate() {
        let is_leaf = matches!(instruction.op, Op::Input(Input::Shared(_)));
        if is_leaf != (position < count) || matches!(instruction.op, Op::Input(_)) != is_leaf {
            return wrong("its leaves do not come first");
        }
        check_instruction(instruction, &body[..position])?;
        elements = elements.saturating_add(instruction.shape.elements());
    }
    if steps > MOST_STEPS || elements > MOST_ELEMENTS {
        return wrong("it is too long or too large");
    }
    if carried.len() != leaves[0] {
        return wrong("other arrays are carried out of a step than into it");
    }
    if [&carried, &stacked, &summed].into_iter().flatten().any(|&at| at >= body.len()) {
        return wrong("a result is none of its instructions");
    }
    if carried.iter().enumerate().any(|(leaf, &at)| body[leaf].shape != body[at].shape) {
        return wrong("what is carried changes its shape");
    }
    let nodes = body.into_iter().map(|Instruction { op, args, shape, source, .. }| {
        node(op, args.into_iter().map(|arg| arg as u32).collect(), shape, source)
    });
    let results = [carried, stacked, summed].map(|group| group.into_iter().map(|at| at as u32).collect());
    let scan = Scan::new(Body::new(nodes.collect(), leaves, results), steps, reversed);
    Shape::from(scan.blocks().elements).checked()?;
    Ok(scan)
}

/// Numbers with a space between them. Rust writes as many digits as it takes to read the same bits; a NaN
/// other than the usual one is written as its bits.
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

/// Checks that a program could have been traced.
fn check(program: &Program) -> Result<()> {
    let mut elements = 0_usize;
    for (position, instruction) in program.instructions.iter().enumerate() {
        let wrong = |error: Error| Error::Values(format!("instruction {position}: {error}"));
        check_instruction(instruction, &program.instructions[..position]).map_err(wrong)?;
        elements = elements.saturating_add(instruction.shape.elements());
        if elements > MOST_ELEMENTS {
            return Err(wrong(Error::Values("the program's arrays are too large together".to_owned())));
        }
    }
    match program.outputs.iter().find(|&&output| output >= program.len()) {
        Some(output) => Err(Error::Values(format!(
            "output %{output} is none of the program's {} instructions",
            program.len()
        ))),
        None => Ok(()),
    }
}

fn check_instruction(instruction: &Instruction, before: &[Instruction]) -> Result<()> {
    let Instruction { op, args, shape, kind, .. } = instruction;
    let wrong = |problem: String| Err(Error::Values(problem));
    if let Some(arg) = args.iter().find(|&&arg| arg >= before.len()) {
        return wrong(format!("argument %{arg} does not come before it"));
    }
    if matches!(op, Op::Input(_) | Op::Constant(_)) && !args.is_empty() {
        return wrong(format!("{op} has no arguments"));
    }
    let follows = match op {
        Op::Input(_) if before.iter().any(|other| other.op == *op) => {
            return wrong(format!("{op} stands there twice"));
        }
        Op::Unary(Unary::Polygamma(order)) if !(1..=HIGHEST_ORDER).contains(order) => {
            return wrong(format!("polygamma of order {order}, which is not from 1 to {HIGHEST_ORDER}"));
        }
        Op::Input(Input::PerRecord(_) | Input::Column { .. }) => Kind::PerRecord,
        Op::Input(Input::Shared(_)) => Kind::Shared,
        Op::Constant(constant) if constant.shape() == shape => Kind::Shared,
        Op::Constant(constant) => {
            return wrong(format!("a constant of shape {}, not {shape}", constant.shape()));
        }
        op => {
            let shapes: Vec<Shape> = args.iter().map(|&arg| before[arg].shape.clone()).collect();
            match op.shape(&shapes) {
                Ok(follows) if follows == *shape => {}
                Ok(follows) => return wrong(format!("{op} has shape {follows}, not {shape}")),
                Err(_) => return wrong(format!("{op} does not take arguments of shapes {shapes:?}")),
            }
            args.iter().map(|&arg| before[arg].kind).max().unwrap_or(Kind::Shared)
        }
    };
    if follows == *kind { Ok(()) } else { wrong(format!("{op} is {follows:?}, not what is written")) }
}
