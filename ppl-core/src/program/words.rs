//! The parameters of operations in words: those that follow neither from the arguments nor from the shape of
//! the result.

use crate::op::{Op, Pooling, Reduce, Structure, Unary, Window};

/// The parameters of an operation; empty where it has none.
pub(super) fn parameters(op: &Op) -> String {
    match op {
        Op::Unary(Unary::Polygamma(order)) => order.to_string(),
        Op::Unary(Unary::AtLeast(bound) | Unary::AtMost(bound)) => bound.to_string(),
        Op::Unary(Unary::OutsideIntegers((low, high))) => format!("{low} {high}"),
        Op::Einsum(einsum) => einsum.to_string(),
        Op::Convolution(convolution) => {
            format!("{:?} {}", convolution.result(), window(&convolution.window())).to_lowercase()
        }
        Op::Pooling(
            Pooling::Pick(moving)
            | Pooling::Route(moving)
            | Pooling::Average(moving)
            | Pooling::Spread(moving),
        ) => window(moving),
        Op::Reduce(reduce) => match reduce {
            Reduce::CumulativeSum { axis, from_end: true } => format!("axis {axis} from end"),
            Reduce::Softmax { axis, zero_of_none: true } => format!("axis {axis} zero of none"),
            Reduce::Max { axis }
            | Reduce::FirstMax { axis }
            | Reduce::CumulativeSum { axis, from_end: false }
            | Reduce::Norm { axis }
            | Reduce::LogSumExp { axis }
            | Reduce::Softmax { axis, zero_of_none: false }
            | Reduce::LogSoftmax { axis } => format!("axis {axis}"),
        },
        Op::Structure(structure) => match structure {
            Structure::Permute(order) => order.iter().map(usize::to_string).collect::<Vec<_>>().join(" "),
            Structure::Slice { axis, start, step, length }
            | Structure::Spread { axis, start, step, length } => {
                format!("axis {axis} start {start} step {step} length {length}")
            }
            Structure::Flip { axis } | Structure::Concat { axis } => format!("axis {axis}"),
        },
        Op::Scan(scan) => {
            let (steps, from_end) = (scan.steps(), if scan.is_reversed() { " from end" } else { "" });
            format!("{steps} steps{from_end} of {} operations", scan.operations())
        }
        Op::Input(_)
        | Op::Constant(_)
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Select(_)
        | Op::Special(_)
        | Op::Shaping(_)
        | Op::Linear(_)
        | Op::Coincidence(_)
        | Op::Counting(_)
        | Op::Sampling(_)
        | Op::Gather(_)
        | Op::MatrixPart(_)
        | Op::Decomposition(_) => String::new(),
    }
}

fn window(window: &Window) -> String {
    let pair = |[down, across]: [usize; 2]| format!("{down}x{across}");
    let (image, size, stride, padding) =
        (pair(window.image()), pair(window.size()), pair(window.stride()), pair(window.padding()));
    format!("image {image} size {size} stride {stride} padding {padding}")
}
