//! Contractions by subscripts: products of arrays in which each axis has a name.

use super::linear::{accumulate, lane_product};
use super::shaping::copy;
use super::{Cotangent, Misfit, Op, Primitive, Row, Var, Work};
use crate::base::{Error, Result, Shape, Source};
use crate::machine::Scalar;

/// Most different indices of one contraction.
pub(super) const MOST_INDICES: usize = 16;

/// A contraction: axes are named by letters, and indices that the result lacks are summed over.
///
/// Indices are numbered as they appear, so two texts that differ in letters only are one contraction.
///
/// ```
/// use ppl_core::op::Einsum;
/// use ppl_core::Shape;
/// let product = Einsum::new("ij,jk->ik")?;
/// assert_eq!(product, Einsum::new("a b, b c -> a c")?);
/// assert_eq!(product.to_string(), "ab,bc->ac");
/// let sizes = product.matrix_product(&[Shape::from([2, 3]), Shape::from([3, 4])]).unwrap();
/// assert_eq!((sizes.rows, sizes.inner, sizes.columns), (2, 3, 4));
/// assert!(Einsum::new("ii->i").is_err());
/// # Ok::<(), ppl_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Einsum {
    left: Vec<u8>,
    right: Option<Vec<u8>>,
    out: Vec<u8>,
}

/// A contraction that is a product of matrices, one for each position of a batch: `out = left · right`.
///
/// All arrays have their batch axes first and are row-major; several axes of one group count as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixProduct {
    /// Number of products.
    pub batch: usize,
    /// Rows of the result.
    pub rows: usize,
    /// Columns of the result.
    pub columns: usize,
    /// Length of the sums.
    pub inner: usize,
    /// Whether the left operand is stored as `[inner, rows]` instead of `[rows, inner]`.
    pub left_transposed: bool,
    /// Whether the right operand is stored as `[columns, inner]` instead of `[inner, columns]`.
    pub right_transposed: bool,
    /// Whether the result is stored as `[columns, rows]` instead of `[rows, columns]`.
    pub out_transposed: bool,
}

impl Einsum {
    /// Reads subscripts: one letter for each axis, a comma between operands (one or two), an arrow before the
    /// result.
    ///
    /// # Errors
    /// If there is no arrow, an index is not a letter or appears twice in one term, the result has an index
    /// that no operand has, or there are more than two operands or 16 different indices.
    #[track_caller]
    pub fn new(subscripts: &str) -> Result<Self> {
        let source = Source::caller();
        parse(subscripts)
            .map_err(|problem| Error::Unsupported(format!("einsum \"{subscripts}\": {problem} ({source})")))
    }

    /// A contraction from the indices themselves, numbered anew.
    pub(super) fn of(left: &[u8], right: Option<&[u8]>, out: &[u8]) -> Self {
        let mut seen: Vec<u8> = Vec::new();
        let mut number = |index: &u8| {
            let position = seen.iter().position(|other| other == index);
            position.unwrap_or_else(|| {
                seen.push(*index);
                seen.len() - 1
            }) as u8
        };
        let left = left.iter().map(&mut number).collect();
        let right = right.map(|right| right.iter().map(&mut number).collect());
        Self { left, right, out: out.iter().map(&mut number).collect() }
    }

    fn right(&self) -> &[u8] {
        self.right.as_deref().unwrap_or(&[])
    }

    /// Lengths by index, if the shapes suit the subscripts.
    fn lengths(&self, args: &[Shape]) -> Result<[usize; MOST_INDICES], Misfit> {
        let terms = [Some(&self.left), self.right.as_ref()];
        let terms: Vec<&Vec<u8>> = terms.into_iter().flatten().collect();
        if terms.len() != args.len() {
            return Err(Misfit::Count);
        }
        let mut lengths = [None; MOST_INDICES];
        for (which, (term, shape)) in terms.iter().zip(args).enumerate() {
            if term.len() != shape.rank() {
                let expected = format!("{} axes, by the subscripts \"{self}\"", term.len());
                return Err(Misfit::Argument(which, expected));
            }
            for (&index, &length) in term.iter().zip(shape.dims()) {
                match lengths[usize::from(index)].replace(length) {
                    Some(other) if other != length => return Err(Misfit::Pair),
                    _ => {}
                }
            }
        }
        Ok(lengths.map(|length| length.unwrap_or(1)))
    }

    /// Indices that are summed over, in the order of their numbers.
    fn summed(&self) -> Vec<u8> {
        let highest = self.left.iter().chain(self.right()).max().map_or(0, |&highest| highest + 1);
        (0..highest).filter(|index| !self.out.contains(index)).collect()
    }

    /// The contraction as a product of matrices, if it is one for operands of these shapes: no index belongs
    /// to one operand alone, and each array has the axes of the batch, of the rows, of the columns and of the
    /// sums next to each other, in one order.
    #[must_use]
    pub fn matrix_product(&self, shapes: &[Shape]) -> Option<MatrixProduct> {
        let right = self.right.as_ref()?;
        let lengths = self.lengths(shapes).ok()?;
        let group = |of: &[u8], in_left: bool, in_right: bool| -> Vec<u8> {
            let belongs =
                |index: &&u8| self.left.contains(index) == in_left && right.contains(index) == in_right;
            of.iter().filter(belongs).copied().collect()
        };
        let (batch, rows, columns) =
            (group(&self.out, true, true), group(&self.out, true, false), group(&self.out, false, true));
        let inner: Vec<u8> = self.left.iter().filter(|index| !self.out.contains(index)).copied().collect();
        // Whether a term is [batch, first, second] (false) or [batch, second, first] (true).
        let transposed = |term: &[u8], first: &[u8], second: &[u8]| {
            let order = |a: &[u8], b: &[u8]| term == [&batch, a, b].concat();
            if order(first, second) { Some(false) } else { order(second, first).then_some(true) }
        };
        let size = |group: &[u8]| group.iter().map(|&index| lengths[usize::from(index)]).product();
        Some(MatrixProduct {
            batch: size(&batch),
            rows: size(&rows),
            columns: size(&columns),
            inner: size(&inner),
            left_transposed: transposed(&self.left, &rows, &inner)?,
            right_transposed: transposed(right, &inner, &columns)?,
            out_transposed: transposed(&self.out, &rows, &columns)?,
        })
    }
}

fn parse(subscripts: &str) -> Result<Einsum, String> {
    let text: String = subscripts.chars().filter(|c| !c.is_whitespace()).collect();
    let (operands, out) = text.split_once("->").ok_or("there is no arrow '->'")?;
    let terms: Vec<&str> = operands.split(',').collect();
    for term in terms.iter().copied().chain([out]) {
        for (place, letter) in term.char_indices() {
            if !letter.is_ascii_alphabetic() {
                return Err(format!("'{letter}' is not a letter"));
            }
            if term[..place].contains(letter) {
                return Err(format!("index '{letter}' appears twice in \"{term}\""));
            }
        }
    }
    if let Some(letter) = out.chars().find(|&letter| !operands.contains(letter)) {
        return Err(format!("index '{letter}' of the result is in no operand"));
    }
    let (left, right) = match terms[..] {
        [left] => (left, None),
        [left, right] => (left, Some(right.as_bytes())),
        _ => return Err(format!("{} operands, and two is the most", terms.len())),
    };
    let different = (b'A'..=b'z').filter(|&letter| operands.contains(char::from(letter))).count();
    if different > MOST_INDICES {
        return Err(format!("{different} different indices, and {MOST_INDICES} is the most"));
    }
    Ok(Einsum::of(left.as_bytes(), right, out.as_bytes()))
}

impl std::fmt::Display for Einsum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = |term: &[u8]| -> String { term.iter().map(|index| char::from(b'a' + index)).collect() };
        match &self.right {
            Some(right) => write!(f, "{},{}->{}", text(&self.left), text(right), text(&self.out)),
            None => write!(f, "{}->{}", text(&self.left), text(&self.out)),
        }
    }
}

/// Numbers of the table for each loop: its length, and the steps in the left and the right operand.
const LOOP: usize = 3;

/// From this length on a sum of shared products whose numbers stand side by side is added up in partial sums.
const LONG: usize = 64;

impl Primitive for Einsum {
    fn name(&self) -> &'static str {
        "einsum"
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let lengths = self.lengths(args)?;
        Ok(self.out.iter().map(|&index| lengths[usize::from(index)]).collect::<Vec<_>>().into())
    }

    /// The loops, outermost first: over the result's axes, then over the indices that are summed.
    fn table(&self, args: &[Shape], _shape: &Shape) -> Vec<u32> {
        let Ok(lengths) = self.lengths(args) else {
            return Vec::new();
        };
        let stride = |term: &[u8], index: u8| match term.iter().position(|&other| other == index) {
            Some(axis) => term[axis + 1..].iter().map(|&later| lengths[usize::from(later)]).product(),
            None => 0,
        };
        let indices = self.out.iter().copied().chain(self.summed());
        let numbers = indices
            .flat_map(|index| {
                [lengths[usize::from(index)], stride(&self.left, index), stride(self.right(), index)]
            })
            .map(|number: usize| number as u32);
        numbers.collect()
    }

    #[inline(always)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, shared, out, args, table, .. } = work;
        if lanes == 0 {
            return;
        }
        let one = Row::One(T::one());
        let (outer, summed) = table.split_at(LOOP * self.out.len());
        let (summed, last) = summed.split_at(summed.len().saturating_sub(LOOP));
        let [length, step_left, step_right] = match last {
            [length, left, right] => [*length, *left, *right].map(|number| number as usize),
            _ => [1, 0, 0],
        };
        if length == 0 || summed.chunks_exact(LOOP).any(|numbers| numbers[0] == 0) {
            out.fill(T::zero()); // empty sums
            return;
        }
        let mut place = Odometer::default();
        if lanes == 1 && !last.is_empty() {
            let (left, right) = (args[0].numbers(), args.get(1).map(|right| right.numbers()));
            if let (true, true, [], Some(right), 1, 1) =
                (shared, length >= LONG, summed, right, step_left, step_right)
            {
                for out in out.iter_mut() {
                    *out = lane_product(&left[place.left..][..length], &right[place.right..][..length]);
                    place.advance(outer);
                }
                return;
            }
            for out in out.iter_mut() {
                let mut term = Odometer { left: place.left, right: place.right, ..Odometer::default() };
                let mut sum = T::zero();
                loop {
                    for k in 0..length {
                        let right = right.map_or(T::one(), |right| right[term.right + k * step_right]);
                        sum += left[term.left + k * step_left] * right;
                    }
                    if !term.advance(summed) {
                        break;
                    }
                }
                *out = sum;
                place.advance(outer);
            }
            return;
        }
        for out in out.chunks_exact_mut(lanes) {
            if last.is_empty() && args.len() == 1 {
                copy(out, args[0].row(place.left, lanes));
                place.advance(outer);
                continue;
            }
            out.fill(T::zero());
            let mut term = Odometer { left: place.left, right: place.right, ..Odometer::default() };
            loop {
                for k in 0..length {
                    let left = args[0].row(term.left + k * step_left, lanes);
                    let right =
                        args.get(1).map_or(one, |right| right.row(term.right + k * step_right, lanes));
                    accumulate(out, left, right);
                }
                if !term.advance(summed) {
                    break;
                }
            }
            place.advance(outer);
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        _result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let (target, other) = if which == 0 {
            (&self.left, self.right.as_ref())
        } else {
            (self.right.as_ref()?, Some(&self.left))
        };
        // Indices that only this operand has were summed over: their cotangent is the same all along them.
        let alone = |index: &u8| !self.out.contains(index) && !other.is_some_and(|term| term.contains(index));
        let present: Vec<u8> = target.iter().copied().filter(|index| !alone(index)).collect();
        let op = Einsum::of(&self.out, other.map(Vec::as_slice), &present);
        let operands = match other {
            Some(_) => vec![cotangent, args[1 - which]],
            None => vec![cotangent],
        };
        if let ([left, right], true) = (&operands[..], present.len() == target.len()) {
            return Some(Cotangent::Contraction { op, left: *left, right: *right });
        }
        let value = op.apply(&operands);
        let shape = args[which].shape();
        if present.len() == target.len() {
            return Some(Cotangent::Value(value));
        }
        let ones = |(index, &length): (&u8, &usize)| if alone(index) { 1 } else { length };
        let kept: Vec<usize> = target.iter().zip(shape.dims()).map(ones).collect();
        Some(Cotangent::Value(value.reshape(kept).broadcast_to(shape)))
    }
}

/// Walks over the positions of nested loops, and keeps the element of each operand.
#[derive(Default)]
struct Odometer {
    index: [u32; MOST_INDICES],
    left: usize,
    right: usize,
}

impl Odometer {
    /// The next position; false if that was the last, and then it is at the first again.
    #[inline(always)]
    fn advance(&mut self, loops: &[u32]) -> bool {
        for (index, numbers) in
            self.index[..loops.len() / LOOP].iter_mut().zip(loops.chunks_exact(LOOP)).rev()
        {
            let [length, left, right] = [numbers[0], numbers[1], numbers[2]];
            *index += 1;
            if *index < length {
                self.left += left as usize;
                self.right += right as usize;
                return true;
            }
            *index = 0;
            self.left -= (length - 1) as usize * left as usize;
            self.right -= (length - 1) as usize * right as usize;
        }
        false
    }
}

impl Einsum {
    /// Records the contraction, as the simplest operation that does it.
    #[track_caller]
    pub(crate) fn apply<'g>(self, operands: &[Var<'g>]) -> Var<'g> {
        let graph = operands[0].graph();
        let shapes: Vec<Shape> = operands.iter().map(|operand| operand.shape()).collect();
        // What does not fit is reported of the contraction, not of what it would have become.
        if self.shape(&shapes).is_ok() && operands.iter().all(|x| x.require_on(graph, "einsum").is_ok()) {
            let (a, b) = (operands[0], *operands.last().unwrap_or(&operands[0]));
            match (&self.left[..], self.right.as_deref(), &self.out[..]) {
                (left, None, out) if left == out => return a,
                (left, Some(right), out) if left == out && (right == left || right.is_empty()) => {
                    return a * b;
                }
                ([], Some(right), out) if right == out => return a * b,
                (left, Some(right), []) if left == right => return a.inner(b),
                ([0, 1], Some([1]), [0]) => return a.matvec(b),
                ([0], Some([1, 0]), [1]) => return b.matvec(a),
                ([0], Some([0, 1]), [1]) => return a.vecmat(b),
                ([0, 1], Some([0]), [1]) => return b.vecmat(a),
                ([0], Some([1]), [0, 1]) => return a.outer(b),
                ([0], Some([1]), [1, 0]) => return b.outer(a),
                _ => {}
            }
        }
        graph.apply(Op::Einsum(self), operands)
    }
}

/// Contractions; each fails softly, as [`Graph`](crate::Graph) says.
impl<'g> Var<'g> {
    /// The contraction of two arrays by subscripts: one letter for each axis; letters that the result lacks
    /// are summed over.
    ///
    /// ```text
    /// a.einsum("ij,jk->ik", b)ᵢₖ = Σⱼ aᵢⱼ bⱼₖ
    /// ```
    ///
    /// An index belongs to at most one axis of an operand (no traces), and axes do not stretch. Source of the
    /// notation: Einstein (1916), with the arrow of NumPy's `einsum`.
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program, Shape};
    /// let graph = Graph::new();
    /// let (a, b) = (graph.input("a", [2, 3])?, graph.input("b", [2, 3])?);
    /// let rows = a.einsum("ij,ij->i", b); // the inner product of each row of a with the same row of b
    /// assert_eq!(rows.shape(), Shape::from([2]));
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[rows])?);
    /// plan.set("a", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// plan.set("b", &[1.0, 0.0, 1.0, 0.0, 10.0, 0.0])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [4.0, 50.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn einsum(self, subscripts: &str, other: Var<'g>) -> Var<'g> {
        match Einsum::new(subscripts) {
            Ok(op) if op.right.is_some() => op.apply(&[self, other]),
            Ok(op) => {
                let told = format!("einsum \"{op}\": one operand in the subscripts, two given");
                self.graph().fail(Error::Unsupported(format!("{told} ({})", Source::caller())))
            }
            Err(error) => self.graph().fail(error),
        }
    }

    /// Contracts the last axes; leading ones, `batch` of them, are common to both: `"ik,jk->ij"`
    /// becomes `"…ik,…jk->…ij"`.
    #[track_caller]
    pub(crate) fn batched_einsum(self, subscripts: &str, other: Var<'g>, batch: usize) -> Var<'g> {
        let leading: String = ('A'..='Z').take(batch).collect();
        let (terms, out) = subscripts.split_once("->").unwrap_or((subscripts, ""));
        let (left, right) = terms.split_once(',').unwrap_or((terms, ""));
        self.einsum(&format!("{leading}{left},{leading}{right}->{leading}{out}"), other)
    }
}
