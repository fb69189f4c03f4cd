//! Operations in words: a name, and the parameters that neither the arguments nor the result's shape tell.

#[cfg(feature = "serde")]
use crate::base::{Error, Result, Shape};
#[cfg(feature = "serde")]
use crate::op::{
    Binary, Coincidence, Convolution, Counting, Decomposition, Einsum, Gather, Linear, MatrixPart, Primitive,
    Role, Select, Shaping, Special,
};
use crate::op::{Op, Pooling, Reduce, Structure, Unary, Window};

/// The parameters of an operation; empty where it has none.
pub(super) fn parameters(op: &Op) -> String {
    match op {
        Op::Unary(Unary::Polygamma(order)) => order.to_string(),
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

/// Largest number of a window.
#[cfg(feature = "serde")]
const LARGEST: usize = 1 << 15;

#[cfg(feature = "serde")]
fn read_window(words: &str) -> Option<Window> {
    let mut numbers = [[0; 2]; 4];
    let mut words = words.split(' ');
    for (expected, pair) in ["image", "size", "stride", "padding"].into_iter().zip(&mut numbers) {
        let (name, (down, across)) = (words.next()?, words.next()?.split_once('x')?);
        *pair = [down.parse().ok()?, across.parse().ok()?];
        if name != expected || pair.iter().any(|&number| number > LARGEST) {
            return None;
        }
    }
    let [image, size, stride, padding] = numbers;
    if words.next().is_some() {
        return None;
    }
    Window::new(image, size, stride, padding)
}

/// The operation of this name and these parameters, with a result of this shape. Leaves are not operations.
#[cfg(feature = "serde")]
pub(super) fn read(name: &str, words: &str, shape: &Shape) -> Result<Op> {
    let found = parameterless(name, shape).filter(|_| words.is_empty()).or_else(|| match name {
        "polygamma" => {
            let order = words.parse().ok().filter(|order| (1..=169).contains(order))?;
            Some(Op::Unary(Unary::Polygamma(order)))
        }
        "einsum" => Einsum::new(words).ok().map(Op::Einsum),
        "permute" => {
            let order =
                words.split_ascii_whitespace().map(|axis| axis.parse().ok()).collect::<Option<_>>()?;
            Some(Op::Structure(Structure::Permute(order)))
        }
        _ => with_window(name, words).or_else(|| with_axis(name, words)),
    });
    found.ok_or_else(|| Error::Values(format!("there is no operation '{name}' with parameters '{words}'")))
}

#[cfg(feature = "serde")]
fn with_axis(name: &str, words: &str) -> Option<Op> {
    let words: Vec<&str> = words.split(' ').collect();
    let number = |place: usize, expected: &str| -> Option<usize> {
        (*words.get(place)? == expected).then(|| words.get(place + 1)?.parse().ok()).flatten()
    };
    let axis = number(0, "axis")?;
    let reduce = |reduce: Reduce| Some(Op::Reduce(reduce));
    let found = match (name, &words[2..]) {
        ("max_axis", []) => reduce(Reduce::Max { axis }),
        ("first_max", []) => reduce(Reduce::FirstMax { axis }),
        ("cumsum", []) => reduce(Reduce::CumulativeSum { axis, from_end: false }),
        ("cumsum", ["from", "end"]) => reduce(Reduce::CumulativeSum { axis, from_end: true }),
        ("norm_axis", []) => reduce(Reduce::Norm { axis }),
        ("log_sum_exp_axis", []) => reduce(Reduce::LogSumExp { axis }),
        ("softmax", []) => reduce(Reduce::Softmax { axis, zero_of_none: false }),
        ("softmax", ["zero", "of", "none"]) => reduce(Reduce::Softmax { axis, zero_of_none: true }),
        ("log_softmax", []) => reduce(Reduce::LogSoftmax { axis }),
        ("flip", []) => Some(Op::Structure(Structure::Flip { axis })),
        ("concat", []) => Some(Op::Structure(Structure::Concat { axis })),
        ("slice" | "spread", [_, _, _, _, _, _]) => {
            let (start, step, length) = (number(2, "start")?, number(4, "step")?, number(6, "length")?);
            Some(Op::Structure(if name == "slice" {
                Structure::Slice { axis, start, step, length }
            } else {
                Structure::Spread { axis, start, step, length }
            }))
        }
        _ => None,
    };
    found.filter(|op| op.name() == name)
}

#[cfg(feature = "serde")]
fn with_window(name: &str, words: &str) -> Option<Op> {
    let roles = [Role::Image, Role::Kernel, Role::Places];
    let convolutions = roles.into_iter().find_map(|role| {
        let words = words.strip_prefix(format!("{role:?} ").to_lowercase().as_str())?;
        Some(Op::Convolution(Convolution::new(role, read_window(words)?)))
    });
    let poolings = [Pooling::Pick, Pooling::Route, Pooling::Average, Pooling::Spread].into_iter();
    let poolings = poolings.filter_map(|pooling| Some(Op::Pooling(pooling(read_window(words)?))));
    convolutions.into_iter().chain(poolings).find(|op| op.name() == name)
}

#[cfg(feature = "serde")]
fn parameterless(name: &str, shape: &Shape) -> Option<Op> {
    fn named<P: Primitive>(all: impl IntoIterator<Item = P>, name: &str) -> Option<P> {
        all.into_iter().find(|primitive| primitive.name() == name)
    }
    let shapings =
        [Shaping::Broadcast(shape.clone()), Shaping::SumTo(shape.clone()), Shaping::Reshape(shape.clone())];
    let solve = |lower, transposed| Decomposition::SolveTriangular { lower, transposed };
    let decompositions = [
        Decomposition::Cholesky,
        Decomposition::Inverse,
        solve(true, true),
        solve(true, false),
        solve(false, true),
        solve(false, false),
    ];
    let parts = [
        MatrixPart::Lower,
        MatrixPart::Upper,
        MatrixPart::LowerHalfDiagonal,
        MatrixPart::Diagonal,
        MatrixPart::DiagonalMatrix,
    ];
    let rows = shape.dims().first().copied().unwrap_or(0);
    let without_order = Unary::ALL.into_iter().filter(|unary| !matches!(unary, Unary::Polygamma(_)));
    named(without_order, name)
        .map(Op::Unary)
        .or_else(|| named(Binary::ALL, name).map(Op::Binary))
        .or_else(|| named([Select], name).map(Op::Select))
        .or_else(|| named(Special::ALL, name).map(Op::Special))
        .or_else(|| named(shapings, name).map(Op::Shaping))
        .or_else(|| {
            named([Linear::Inner, Linear::MatVec, Linear::VecMat, Linear::Outer], name).map(Op::Linear)
        })
        .or_else(|| named([Coincidence], name).map(Op::Coincidence))
        .or_else(|| named(Counting::ALL, name).map(Op::Counting))
        .or_else(|| named([Gather::Rows, Gather::ScatterAdd { rows }], name).map(Op::Gather))
        .or_else(|| named(parts, name).map(Op::MatrixPart))
        .or_else(|| named(decompositions, name).map(Op::Decomposition))
}
