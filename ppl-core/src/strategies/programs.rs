//! Random array programs from a stream of bytes, over all families of primitives and shapes of up to four
//! axes. Tests and fuzzing read the same stream, so what one finds the other can replay.

use crate::base::Shape;
use crate::op::{
    Binary, Coincidence, Convolution, Counting, Decomposition, Einsum, Gather, Graph, Linear, MatrixPart, Op,
    Reduce, Role, Sampling, Shaping, Special, Structure, Unary, Var, Window,
};

/// Most elements of an array of a random program.
const MOST_ELEMENTS: usize = 48;

/// Which operations a random program is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Menu {
    /// Functions with several derivatives, on arguments where those are of moderate size: for finite
    /// differences.
    Smooth,
    /// All operations, on any numbers: for what must hold bit for bit.
    Everything,
}

/// A stream of choices; when it has run out, every choice is the first one.
#[derive(Clone, Debug)]
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    /// Choices made by these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether all choices have been made.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number from 0 to 255.
    pub fn byte(&mut self) -> usize {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                usize::from(first)
            }
            None => 0,
        }
    }

    /// A number below `count`, which must not be 0 and should not be above 256.
    pub fn below(&mut self, count: usize) -> usize {
        self.byte() % count
    }

    /// One of these.
    pub fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// A number between −2 and 2.
    pub fn moderate(&mut self) -> f64 {
        (self.byte() as f64 - 127.5) / 64.0
    }

    /// A moderate number, or one at an edge of the floating-point numbers.
    pub fn any_number(&mut self) -> f64 {
        const EDGES: [f64; 14] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            5e-324,
            -1e-310,
            f64::MIN_POSITIVE,
            f64::MAX,
            1e-20,
            -800.0,
            800.0,
        ];
        match self.byte() {
            edge if edge < 2 * EDGES.len() => EDGES[edge / 2],
            byte => (byte as f64 - 142.0) / 48.0,
        }
    }

    /// A shape of up to three short axes, of length 1 often, empty only where that is allowed.
    pub fn shape(&mut self, empty: bool) -> Shape {
        let lengths: &[usize] = if empty { &[1, 2, 3, 1, 2, 3, 1, 0] } else { &[1, 2, 3, 2, 3, 1] };
        let rank = self.below(4);
        Shape::from((0..rank).map(|_| self.of(lengths)).collect::<Vec<_>>())
    }
}

/// Adds operations to `values` until the choices have run out or there are `most` of them, and says what came
/// last, as one number.
pub fn grow<'g>(
    choices: &mut Choices<'_>,
    values: &mut Vec<Var<'g>>,
    menu: Menu,
    most: usize,
) -> Option<Var<'g>> {
    let graph = values.first()?.graph();
    let (begin, leaves) = (graph.len(), values.len());
    while !choices.is_empty() && graph.len() < begin + most {
        if let Some(value) = step(choices, graph, values, menu) {
            // Squashed, so that long chains of products stay in a range where finite differences mean
            // something. Nothing has no mean, and the log of its sum is infinite.
            match menu {
                Menu::Smooth if value.shape().elements() > 0 => values.push(value.tanh()),
                Menu::Smooth => {}
                Menu::Everything => values.push(value),
            }
        }
    }
    let last = values[leaves..].iter().rev().take(3).map(|value| value.sum()).reduce(|sum, next| sum + next);
    Some(last.unwrap_or_else(|| values[0].sum()))
}

/// `x` in another shape: the same, broadcast, reshaped or summed where that is possible, and else its sum
/// repeated.
fn fit<'g>(x: Var<'g>, shape: &Shape) -> Var<'g> {
    let from = x.shape();
    if from.broadcast(shape).as_ref() == Some(shape) {
        x.broadcast_to(shape.clone())
    } else if from.elements() == shape.elements() {
        x.reshape(shape.clone())
    } else if shape.broadcast(&from).as_ref() == Some(&from) {
        x.sum_to(shape.clone())
    } else {
        x.sum().broadcast_to(shape.clone())
    }
}

/// The operation, if it takes these arguments and its result is small.
fn apply<'g>(graph: &'g Graph, op: Op, args: &[Var<'g>]) -> Option<Var<'g>> {
    let shapes: Vec<Shape> = args.iter().map(|arg| arg.shape()).collect();
    let shape = op.shape(&shapes).ok()?.checked().ok()?;
    (shape.elements() <= MOST_ELEMENTS).then(|| graph.apply(op, args))
}

fn step<'g>(choices: &mut Choices<'_>, graph: &'g Graph, values: &[Var<'g>], menu: Menu) -> Option<Var<'g>> {
    let (family, a, b) = (choices.below(24), choices.of(values), choices.of(values));
    match family {
        0..=2 => unary(choices, graph, a, menu),
        3..=5 => binary(choices, graph, a, b, menu),
        6 => idiom(menu, choices, a),
        7 | 8 => shaping(choices, graph, a, b),
        9 | 10 => linear(choices, graph, a, b),
        11 | 12 => einsum(choices, graph, a, b),
        13 => matrix(choices, graph, a, menu),
        14 => gather(choices, graph, a, b, menu),
        15 | 16 => reduce(choices, graph, a, menu),
        17 | 18 => structure(choices, graph, a, b),
        19 => window(choices, graph, a, b, menu),
        20 => counting(choices, graph, a, b, menu),
        21 => special(choices, graph, a, b, values, menu),
        22 => scan(choices, graph, a, b, values, menu),
        _ => select(choices, graph, a, b, values, menu),
    }
}

/// A loop over a random body, with two arrays carried, an input and two captured values; its last states, or
/// its outputs, or both in a sum.
fn scan<'g>(
    choices: &mut Choices<'_>,
    graph: &'g Graph,
    a: Var<'g>,
    b: Var<'g>,
    values: &[Var<'g>],
    menu: Menu,
) -> Option<Var<'g>> {
    let steps = choices.below(4);
    let row = choices.of(&[Shape::scalar(), Shape::from(2), a.shape()]);
    let all = Shape::from(steps).concat(&row);
    if all.elements() > MOST_ELEMENTS {
        return None;
    }
    let (x, captured, count) = (fit(b, &all), choices.of(values), choices.below(3));
    let bytes: Vec<u8> = (0..12).map(|_| choices.byte() as u8).collect();
    let carried = fit(choices.of(values), &row);
    let (last, outputs) = graph
        .scan((a, carried), x, |(a, carried), x| {
            let mut inside = vec![a, carried, x, captured];
            // Bounded by the bytes. A bound on operations would be met later where some are known already.
            let sum = grow(&mut Choices::new(&bytes), &mut inside, menu, 1_000).unwrap_or(x);
            let newest = inside[inside.len() - 1];
            let next = fit(newest, &carried.shape());
            let next = if menu == Menu::Smooth { (next + sum).tanh() } else { next };
            Ok(((a, next), (newest + sum, carried)))
        })
        .ok()?;
    let small = |x: &Var<'g>| x.shape().elements() <= MOST_ELEMENTS;
    Some(match count {
        0 => last.1,
        1 => outputs.0,
        _ => last.1.sum() + outputs.0.sum() + outputs.1.sum() + last.0.sum(),
    })
    .filter(small)
}

fn unary<'g>(choices: &mut Choices<'_>, graph: &'g Graph, a: Var<'g>, menu: Menu) -> Option<Var<'g>> {
    if menu == Menu::Everything {
        let op = match choices.below(Unary::ALL.len() + 1) {
            0 => Unary::Polygamma(1 + choices.below(4) as u8),
            which => Unary::ALL[which - 1],
        };
        return apply(graph, Op::Unary(op), &[a]);
    }
    // Arguments of a smooth program lie between −2 and 2; a few functions want them elsewhere.
    Some(match choices.below(30) {
        0 => -a,
        1 => a.square(),
        2 => a.exp(),
        3 => a.expm1(),
        4 => a.tanh(),
        5 => a.sigmoid(),
        6 => a.softplus(),
        7 => a.map(Unary::Sin),
        8 => a.map(Unary::Cos),
        9 => a.map(Unary::Erf),
        10 => a.map(Unary::Erfc),
        11 => (a.square() + 0.5).sqrt(),
        12 => (a.square() + 0.5).log(),
        13 => a.square().log1p(),
        14 => (a.square() + 1.0).reciprocal(),
        15 => (0.1 + 0.8 * a.sigmoid()).map(Unary::Logit),
        16 => (0.8 * a.tanh()).map(Unary::Erfinv),
        17 => (a.square() + 1.0).map(Unary::Lgamma),
        18 => (a.square() + 1.0).map(Unary::Digamma),
        19 => (a.square() + 1.0).map(Unary::Trigamma),
        20 => (a.square() + 1.0).map(Unary::Polygamma(2)),
        21 => (a.square() - 0.5).map(Unary::Log1pMinusX),
        22 => (a.square() + 1.0).map(Unary::StirlingError),
        23 => a.map(Unary::LogNdtr),
        24 => (0.1 + 0.8 * a.sigmoid()).map(Unary::Ndtri),
        25 => (-0.1 - a.square()).map(Unary::NdtriExp),
        26 => a.map(Unary::BesselRatio),
        27 => (a.square() + 0.5).map(Unary::LogFactorialRemainder),
        28 => (a.square() + 0.5).map(Unary::DigammaRemainder),
        _ => (a * choices.moderate()) + choices.moderate(),
    })
}

fn binary<'g>(
    choices: &mut Choices<'_>,
    graph: &'g Graph,
    a: Var<'g>,
    b: Var<'g>,
    menu: Menu,
) -> Option<Var<'g>> {
    // Of shapes that go together as they are, or one of them bent to the other's; now and then a number.
    let b = match choices.below(8) {
        0 => graph.constant(if menu == Menu::Smooth { choices.moderate() } else { choices.any_number() }),
        1 => b.sum(),
        _ if a.shape().broadcast(&b.shape()).is_some_and(|both| both.elements() <= MOST_ELEMENTS) => b,
        _ => fit(b, &a.shape()),
    };
    Some(match menu {
        Menu::Everything => {
            let op = choices.of(&Binary::ALL);
            if choices.below(2) == 0 { a.zip(b, op) } else { b.zip(a, op) }
        }
        Menu::Smooth => match choices.below(7) {
            0 => a + b,
            1 => a - b,
            2 | 3 => a * b,
            4 => a / (b.square() + 1.0),
            5 => (a.square() + 0.5).deviance(b.square() + 0.5),
            _ => (a.square() + 0.5).zip(b, Binary::Pow),
        },
    })
}

fn counting<'g>(
    choices: &mut Choices<'_>,
    graph: &'g Graph,
    a: Var<'g>,
    b: Var<'g>,
    menu: Menu,
) -> Option<Var<'g>> {
    let (k, count) = (choices.below(4) as f64, 4.0 + choices.below(4) as f64);
    if menu == Menu::Smooth {
        let k = graph.constant(k);
        return Some(match choices.below(3) {
            0 => k.binomial_cdf(count, a),
            1 => k.poisson_cdf(a.square() + 0.5),
            _ => k.negative_binomial_cdf(count, a),
        });
    }
    let op = choices.of(&Counting::ALL);
    // Numbers that mean something, or any at all.
    let b = fit(b, &a.shape());
    if choices.below(4) == 0 {
        let op = choices.of(&Sampling::ALL);
        let noise = [b, b.sigmoid()].into_iter().cycle().take(op.arguments() - 2);
        let args: Vec<Var<'g>> = std::iter::once(a).chain(noise).chain([b.sigmoid()]).collect();
        return apply(graph, Op::Sampling(op), &args);
    }
    let args = match choices.below(2) {
        0 => [graph.constant(count), a, b.sigmoid()],
        _ => [a, b, a],
    };
    apply(graph, Op::Counting(op), &args[3 - op.arguments()..])
}

fn special<'g>(
    choices: &mut Choices<'_>,
    graph: &'g Graph,
    a: Var<'g>,
    b: Var<'g>,
    values: &[Var<'g>],
    menu: Menu,
) -> Option<Var<'g>> {
    let b = fit(b, &a.shape());
    if menu == Menu::Everything {
        let op = choices.of(&Special::ALL);
        let c = fit(choices.of(values), &a.shape());
        return apply(graph, Op::Special(op), &[a, b, c][..op.arity()]);
    }
    // Those that have all second derivatives.
    let (shape, probability) = (a.square() + 0.5, 0.1 + 0.8 * b.sigmoid());
    Some(match choices.below(5) {
        0 => shape.gamma_p(b.square() + 0.5),
        1 => shape.gamma_q(b.square() + 0.5),
        2 => shape.log_gamma_p_inverse(probability),
        3 => a.log_ndtr_difference(a + b.square() + 0.5),
        _ => shape.log_beta_density(b.square() + 0.5, probability),
    })
}

/// What people write, and what simplification looks for.
fn idiom<'g>(menu: Menu, choices: &mut Choices<'_>, a: Var<'g>) -> Option<Var<'g>> {
    if menu == Menu::Smooth && a.shape().elements() == 0 {
        // The logarithm of an empty sum is −∞, and not smooth there.
        return None;
    }
    let axis = choices.below(a.shape().rank().max(1));
    let has_axis = axis < a.shape().rank();
    Some(match choices.below(20) {
        0 => (1.0 + a.exp()).log(),
        1 => a.exp().log1p(),
        2 => a.sigmoid().log(),
        3 => (1.0 - a.sigmoid()).log(),
        4 => (-a.sigmoid()).log1p(),
        5 => (1.0 + (-a).exp()).reciprocal(),
        6 => 1.0 / (1.0 + a.exp()),
        7 => a.exp() / (1.0 + a.exp()),
        8 => a.exp() - 1.0,
        9 => (1.0 + a.square()).log(),
        10 => -(-a),
        11 => a.exp().log(),
        12 => (-a) * (-a) + (-a),
        13 => a.exp().sum().log(),
        14 => (a.exp().mean() + 0.0).log(),
        15 if has_axis => a.exp().sum_axis(axis).log(),
        16 if has_axis => a.softmax(axis).log(),
        17 => (a.exp() / a.exp().sum()).log(),
        18 => a.exp().sum_to(a.shape().dims().get(1..).unwrap_or(&[])).log(),
        _ => -(2.0 * a) / 4.0,
    })
}

fn shaping<'g>(choices: &mut Choices<'_>, graph: &'g Graph, a: Var<'g>, b: Var<'g>) -> Option<Var<'g>> {
    let shape = a.shape();
    let elements = shape.elements();
    let op = match choices.below(6) {
        0 => Shaping::Broadcast(Shape::from([1 + choices.below(2)]).concat(&shape)),
        1 => {
            let stretched = shape.dims().iter().map(|&length| if length == 1 { 2 } else { length });
            Shaping::Broadcast(Shape::from(stretched.collect::<Vec<_>>()))
        }
        2 => Shaping::SumTo(Shape::from(shape.dims().get(1..).unwrap_or(&[]))),
        3 => {
            let axis = choices.below(shape.rank().max(1));
            let kept = shape.dims().iter().enumerate();
            let kept = kept.map(|(other, &length)| if other == axis { 1 } else { length });
            Shaping::SumTo(Shape::from(kept.collect::<Vec<_>>()))
        }
        4 => {
            let rows = choices.of(&[1, 2, 3]);
            Shaping::Reshape(if elements.is_multiple_of(rows) {
                Shape::from([rows, elements / rows])
            } else {
                Shape::from(elements)
            })
        }
        _ => return Some(fit(a, &b.shape())),
    };
    apply(graph, Op::Shaping(op), &[a])
}

fn linear<'g>(choices: &mut Choices<'_>, graph: &'g Graph, a: Var<'g>, b: Var<'g>) -> Option<Var<'g>> {
    let matrix = match a.shape().dims() {
        [_, _] => a.shape(),
        _ => Shape::from([1 + choices.below(3), 1 + choices.below(3)]),
    };
    let (rows, columns) = (Shape::from(matrix.dims()[0]), Shape::from(matrix.dims()[1]));
    let (op, args) = match choices.below(5) {
        0 => (Linear::MatVec, [fit(a, &matrix), fit(b, &columns)]),
        1 => (Linear::VecMat, [fit(b, &rows), fit(a, &matrix)]),
        2 => (Linear::Outer, [fit(a, &rows), fit(b, &columns)]),
        3 => (Linear::Inner, [a, fit(b, &a.shape())]),
        _ => (Linear::Inner, [a, a]),
    };
    apply(graph, Op::Linear(op), &args)
}

fn einsum<'g>(choices: &mut Choices<'_>, graph: &'g Graph, a: Var<'g>, b: Var<'g>) -> Option<Var<'g>> {
    let dims = a.shape().dims().to_vec();
    let left: Vec<usize> = (0..dims.len()).collect();
    // The other operand has some of the first one's axes, turned around now and then, and perhaps one of its
    // own.
    let mut right: Vec<usize> = left.iter().copied().filter(|_| choices.below(2) == 0).collect();
    if choices.below(2) == 0 {
        right.reverse();
    }
    let mut lengths = dims;
    if choices.below(2) == 0 {
        right.push(lengths.len());
        lengths.push(1 + choices.below(3));
    }
    let mut out: Vec<usize> = (0..lengths.len()).filter(|_| choices.below(3) > 0).collect();
    if choices.below(3) == 0 {
        out.reverse();
    }
    out.retain(|index| left.contains(index) || right.contains(index));
    let text =
        |term: &[usize]| -> String { term.iter().map(|&index| char::from(b'a' + index as u8)).collect() };
    let one_operand = choices.below(6) == 0;
    if one_operand {
        out.retain(|index| left.contains(index));
        let einsum = Einsum::new(&format!("{}->{}", text(&left), text(&out))).ok()?;
        return apply(graph, Op::Einsum(einsum), &[a]);
    }
    let einsum = Einsum::new(&format!("{},{}->{}", text(&left), text(&right), text(&out))).ok()?;
    let of_right = Shape::from(right.iter().map(|&index| lengths[index]).collect::<Vec<_>>());
    apply(graph, Op::Einsum(einsum), &[a, fit(b, &of_right)])
}

fn matrix<'g>(choices: &mut Choices<'_>, graph: &'g Graph, a: Var<'g>, menu: Menu) -> Option<Var<'g>> {
    let n = choices.below(4);
    let square = fit(a, &Shape::from([n, n]));
    let diagonal = (square.diagonal().square() + 1.0).diagonal_matrix();
    // Positive definite, with eigenvalues of moderate size.
    let safe = if menu == Menu::Smooth || choices.below(2) == 0 {
        square.matmul(square.matrix_transposed()) + diagonal
    } else {
        square
    };
    let parts = [
        MatrixPart::Lower,
        MatrixPart::Upper,
        MatrixPart::LowerHalfDiagonal,
        MatrixPart::Diagonal,
        MatrixPart::DiagonalMatrix,
    ];
    let solve =
        Decomposition::SolveTriangular { lower: choices.below(2) == 0, transposed: choices.below(2) == 0 };
    let (op, args) = match choices.below(6) {
        0 => (Op::Decomposition(Decomposition::Cholesky), vec![safe]),
        1 => (Op::Decomposition(solve), vec![safe, fit(a, &Shape::from(n))]),
        2 => (Op::Decomposition(solve), vec![safe, fit(a, &Shape::from([n, 2]))]),
        3 => (Op::Decomposition(Decomposition::Inverse), vec![safe]),
        _ => (Op::MatrixPart(choices.of(&parts)), vec![square]),
    };
    apply(graph, op, &args)
}

fn window<'g>(
    choices: &mut Choices<'_>,
    graph: &'g Graph,
    a: Var<'g>,
    b: Var<'g>,
    menu: Menu,
) -> Option<Var<'g>> {
    let pair = |choices: &mut Choices<'_>, least: usize, more: usize| {
        [least + choices.below(more), least + choices.below(more)]
    };
    let (image, size) = (pair(choices, 2, 3), pair(choices, 1, 2));
    let stride = pair(choices, 1, 2);
    let padding = size.map(|size| choices.below(size));
    let depth = 1 + choices.below(2);
    let x = fit(a, &Shape::from([depth, image[0], image[1]]));
    let moving = Window::new(image, size, stride, padding)?;
    match choices.below(5) {
        0 if menu == Menu::Everything => Some(x.max_pool2d(size, stride, padding)),
        0 | 1 => Some(x.average_pool2d(size, stride, padding)),
        which => {
            let results = 1 + choices.below(2);
            let [down, across] = moving.places();
            let shapes = [
                (Role::Image, Shape::from([depth, image[0], image[1]])),
                (Role::Kernel, Shape::from([results, depth, size[0], size[1]])),
                (Role::Places, Shape::from([results, down, across])),
            ];
            let convolution = Convolution::new([Role::Image, Role::Kernel, Role::Places][which - 2], moving);
            let [first, second] = convolution.arguments();
            let shape = |role: Role| shapes.iter().find(|(other, _)| *other == role).map(|(_, shape)| shape);
            let args = [fit(a, shape(first)?), fit(b, shape(second)?)];
            apply(graph, Op::Convolution(convolution), &args)
        }
    }
}

fn gather<'g>(
    choices: &mut Choices<'_>,
    graph: &'g Graph,
    a: Var<'g>,
    b: Var<'g>,
    menu: Menu,
) -> Option<Var<'g>> {
    let count = choices.below(4);
    let table = if a.shape().is_scalar() { fit(a, &Shape::from(2)) } else { a };
    let rows = table.shape().dims()[0];
    if menu == Menu::Everything && choices.below(2) == 0 {
        // Any numbers as indices; most choose no row.
        return apply(graph, Op::Gather(Gather::Rows), &[table, b.sign()]);
    }
    let index: Vec<f64> = (0..count).map(|_| choices.below(rows.max(1)) as f64).collect();
    let index = graph.array(&ndarray::ArrayD::from_shape_vec(vec![count], index).ok()?);
    match choices.below(3) {
        0 => apply(graph, Op::Gather(Gather::Rows), &[table, index]),
        1 => {
            let own = graph.array(&ndarray::array![0.0, 1.0, 0.0].into_dyn());
            let rows = fit(b, &Shape::from([3, 2]));
            apply(graph, Op::Coincidence(Coincidence), &[index, own, rows])
        }
        _ => {
            let rest = Shape::from(&table.shape().dims()[1..]);
            let values = fit(b, &Shape::from(count).concat(&rest));
            apply(graph, Op::Gather(Gather::ScatterAdd { rows }), &[values, index])
        }
    }
}

fn reduce<'g>(choices: &mut Choices<'_>, graph: &'g Graph, a: Var<'g>, menu: Menu) -> Option<Var<'g>> {
    let axis = choices.below(a.shape().rank().max(1));
    let smooth = match choices.below(7) {
        0 => Reduce::CumulativeSum { axis, from_end: choices.below(2) == 0 },
        1 => Reduce::LogSumExp { axis },
        2 => Reduce::Softmax { axis, zero_of_none: choices.below(2) == 0 },
        3 => Reduce::LogSoftmax { axis },
        4 if menu == Menu::Everything => choices.of(&[Reduce::Max { axis }, Reduce::FirstMax { axis }]),
        5 if menu == Menu::Everything => Reduce::Norm { axis },
        5 if a.shape().rank() > axis => return Some((a + 3.0).norm_axis(axis)),
        _ if a.shape().rank() > axis => return Some(a.prod_axis(axis)),
        _ => return Some(a.prod()),
    };
    apply(graph, Op::Reduce(smooth), &[a])
}

fn structure<'g>(choices: &mut Choices<'_>, graph: &'g Graph, a: Var<'g>, b: Var<'g>) -> Option<Var<'g>> {
    let (shape, rank) = (a.shape(), a.shape().rank());
    let axis = choices.below(rank.max(1));
    let length = shape.dims().get(axis).copied().unwrap_or(0);
    let (op, args) = match choices.below(6) {
        0 => {
            let turn = choices.below(rank.max(1));
            let mut order: Vec<usize> = (0..rank).collect();
            order.rotate_left(turn);
            (Structure::Permute(order), vec![a])
        }
        1 => {
            let (start, step) = (choices.below(length.max(1)), 1 + choices.below(2));
            let most = (length - start.min(length)).div_ceil(step);
            (Structure::Slice { axis, start, step, length: choices.below(most + 1) }, vec![a])
        }
        2 => {
            let (start, step) = (choices.below(3), 1 + choices.below(2));
            let length = start + step * length + choices.below(2);
            (Structure::Spread { axis, start, step, length }, vec![a])
        }
        3 => (Structure::Flip { axis }, vec![a]),
        4 => (Structure::Concat { axis }, vec![a, fit(b, &shape), a]),
        _ if rank < 3 => return Some(graph.stack(&[a, fit(b, &shape)], axis)),
        _ => return None,
    };
    apply(graph, Op::Structure(op), &args)
}

fn select<'g>(
    choices: &mut Choices<'_>,
    graph: &'g Graph,
    a: Var<'g>,
    b: Var<'g>,
    values: &[Var<'g>],
    menu: Menu,
) -> Option<Var<'g>> {
    let shape = a.shape();
    if menu == Menu::Smooth {
        // The condition is a constant, so that no small step changes it.
        let bits: Vec<f64> = (0..shape.elements()).map(|_| choices.below(2) as f64).collect();
        let condition = graph.array(&ndarray::ArrayD::from_shape_vec(shape.dims(), bits).ok()?);
        return Some(condition.select(a, fit(b, &shape)));
    }
    let condition = fit(choices.of(values), &shape);
    Some(match choices.below(3) {
        0 => condition.select(a, fit(b, &shape)),
        1 => condition.greater(a).select(b.sum(), a),
        _ => condition.select(fit(b, &shape), choices.any_number()),
    })
}
