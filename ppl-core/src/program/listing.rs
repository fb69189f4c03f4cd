//! A program as text for people: one line for each operation.

use super::words::parameters;
use super::{Instruction, Program};
use crate::op::{Constant, Input, Kind, Op};
use std::fmt;

/// Most elements of a constant that are written out.
const SHOWN: usize = 6;

impl Instruction {
    /// The operation and the positions of its arguments: `matvec %0 %1`.
    pub(crate) fn told(&self) -> String {
        let args: String = self.args.iter().map(|arg| format!(" %{arg}")).collect();
        match &self.op {
            Op::Constant(constant) => shown(constant),
            op => format!("{}{args}", operation(op)),
        }
    }
}

/// The operation's name, with its parameters where the shape of its result does not tell them.
fn operation(op: &Op) -> String {
    match parameters(op) {
        words if words.is_empty() => op.to_string(),
        words => format!("{op}[{words}]"),
    }
}

/// A constant's elements, if they are few, or how many there are.
fn shown(constant: &Constant) -> String {
    let values: Vec<f64> = constant.values().take(SHOWN + 1).collect();
    match (constant.as_scalar(), values.as_slice()) {
        (Some(value), _) => format!("{value}"),
        (None, [first, ..]) if constant.values().all(|value| value.to_bits() == first.to_bits()) => {
            format!("{first} everywhere")
        }
        (None, values) if values.len() <= SHOWN => format!("{values:?}"),
        _ => format!("{} numbers", constant.values().count()),
    }
}

impl Program {
    /// An argument as the listing names it: an input by its name, a single number by its value, anything else
    /// by position.
    fn named(&self, position: usize) -> String {
        match &self.instructions[position].op {
            Op::Constant(constant) if constant.as_scalar().is_some() => shown(constant),
            Op::Input(Input::Shared(name) | Input::Column { name, .. } | Input::PerRecord(name)) => {
                format!("%{position}:{name}")
            }
            _ => format!("%{position}"),
        }
    }

    fn line(&self, instruction: &Instruction) -> String {
        match &instruction.op {
            Op::Input(_) | Op::Constant(_) => instruction.told(),
            op => {
                let args: Vec<String> = instruction.args.iter().map(|&arg| self.named(arg)).collect();
                format!("{} {}", operation(op), args.join(" ")).trim_end().to_owned()
            }
        }
    }
}

/// One line for each operation: position, whether it is done once or for each record, shape, operation and
/// arguments, and where it was written. The last line names the outputs. The body of a scan is listed behind
/// it, its lines beginning with a bar.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = |kind: Kind| if kind == Kind::Shared { "shared" } else { "record" };
        let lines: Vec<[String; 5]> = self
            .instructions
            .iter()
            .enumerate()
            .map(|(position, instruction)| {
                let site = instruction.source.site().map(|site| format!(" in '{site}'")).unwrap_or_default();
                [
                    format!("%{position}"),
                    kind(instruction.kind).to_owned(),
                    instruction.shape.to_string(),
                    self.line(instruction),
                    format!("; {}{site}", instruction.source.short()),
                ]
            })
            .collect();
        // A long line does not push the rest of the listing to the right.
        let width = |column: usize, most: usize| {
            lines
                .iter()
                .map(|line| line[column].chars().count())
                .filter(|&width| width <= most)
                .max()
                .unwrap_or(0)
        };
        let widths = [width(0, 8), width(1, 8), width(2, 24), width(3, 48)];
        for ([position, kind, shape, text, source], instruction) in lines.iter().zip(&self.instructions) {
            writeln!(
                f,
                "{position:<0$} {kind:<1$} {shape:<2$} {text:<3$} {source}",
                widths[0], widths[1], widths[2], widths[3]
            )?;
            if let Op::Scan(scan) = &instruction.op {
                for line in Program::of_step(scan).to_string().lines() {
                    writeln!(f, "  | {line}")?;
                }
            }
        }
        let outputs: Vec<String> = self.outputs.iter().map(|&output| self.named(output)).collect();
        writeln!(f, "return {}", outputs.join(", "))
    }
}
