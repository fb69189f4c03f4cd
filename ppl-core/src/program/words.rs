//! Operations in words: a name, and the parameters that neither the arguments nor the result's shape tell.

#[cfg(feature = "serde")]
use crate::error::{Error, Result};
#[cfg(feature = "serde")]
use crate::op::{
    Binary, Convolution, Decomposition, Einsum, Gather, Linear, MatrixPart, Primitive, Role, Select, Shaping,
};
use crate::op::{Op, Pooling, Unary, Window};
#[cfg(feature = "serde")]
use crate::shape::Shape;

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
        Op::Input(_)
        | Op::Constant(_)
        | Op::Unary(_)
        | Op::Binary(_)
        | Op::Select(_)
        | Op::Shaping(_)
        | Op::Linear(_)
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
        _ => with_window(name, words),
    });
    found.ok_or_else(|| Error::Values(format!("there is no operation '{name}' with parameters '{words}'")))
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
        .or_else(|| named(shapings, name).map(Op::Shaping))
        .or_else(|| {
            named([Linear::Inner, Linear::MatVec, Linear::VecMat, Linear::Outer], name).map(Op::Linear)
        })
        .or_else(|| named([Gather::Rows, Gather::ScatterAdd { rows }], name).map(Op::Gather))
        .or_else(|| named(parts, name).map(Op::MatrixPart))
        .or_else(|| named(decompositions, name).map(Op::Decomposition))
}
