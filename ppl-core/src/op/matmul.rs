//! Products of matrices by the rules of NumPy, written as contractions.

use super::Var;
use super::einsum::{Einsum, MOST_INDICES};
use crate::base::{Error, Shape, Source};

/// Products of matrices; each fails softly, as [`Graph`](crate::Graph) says.
impl<'g> Var<'g> {
    /// The product of matrices, by the rules of NumPy's `matmul`.
    ///
    /// | ranks | result |
    /// |---|---|
    /// | `[k] · [k]` | scalar `Σ aₖ bₖ` |
    /// | `[m, k] · [k]`, `[k] · [k, n]` | `[m]`, `[n]` |
    /// | `[m, k] · [k, n]` | `[m, n]` |
    /// | `[…, m, k] · […, k, n]` | `[…, m, n]`: a product for each position of the leading axes, which broadcast |
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program, Shape};
    /// let graph = Graph::new();
    /// let (a, b) = (graph.input("a", [2, 2])?, graph.input("b", [2, 2])?);
    /// let stack = graph.input("stack", [5, 1, 3, 2])?;
    /// assert_eq!(stack.matmul(a).shape(), Shape::from([5, 1, 3, 2]));
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[a.matmul(b)])?);
    /// plan.set("a", &[1.0, 2.0, 3.0, 4.0])?;
    /// plan.set("b", &[0.0, 1.0, 1.0, 0.0])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [2.0, 1.0, 4.0, 3.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn matmul(self, other: Var<'g>) -> Var<'g> {
        let (left, right) = (self.shape(), other.shape());
        match product_of(left.dims(), right.dims()) {
            Some(Matmul { op, left, right, shape }) => {
                op.apply(&[self.reshape(left), other.reshape(right)]).reshape(shape)
            }
            None => {
                let source_line = Source::caller();
                self.graph().fail(Error::ShapeMismatch { operation: "matmul", left, right, source_line })
            }
        }
    }
}

/// A product of matrices: the contraction, and the shapes its operands and its result are looked at under.
struct Matmul {
    op: Einsum,
    left: Vec<usize>,
    right: Vec<usize>,
    shape: Vec<usize>,
}

/// NumPy's rules. An axis of the batch that one operand lacks, or has once, is left out of it rather than
/// repeated.
fn product_of(left: &[usize], right: &[usize]) -> Option<Matmul> {
    const ROW: u8 = 0;
    const INNER: u8 = 1;
    const COLUMN: u8 = 2;
    let (batch_left, rows, inner) = match left {
        [inner] => (&[][..], None, *inner),
        [batch @ .., rows, inner] => (batch, Some(*rows), *inner),
        [] => return None,
    };
    let (batch_right, other, columns) = match right {
        [inner] => (&[][..], *inner, None),
        [batch @ .., inner, columns] => (batch, *inner, Some(*columns)),
        [] => return None,
    };
    let batch = Shape::from(batch_left).broadcast(&Shape::from(batch_right))?;
    if inner != other || batch.rank() + 3 > MOST_INDICES {
        return None;
    }
    let mut terms: [(Vec<u8>, Vec<usize>); 3] = Default::default();
    let [term_left, term_right, term_out] = &mut terms;
    let push = |term: &mut (Vec<u8>, Vec<usize>), index: u8, length: usize| {
        term.0.push(index);
        term.1.push(length);
    };
    for (axis, &length) in batch.dims().iter().enumerate() {
        let index = axis as u8 + 3;
        for (term, axes) in [(&mut *term_left, batch_left), (&mut *term_right, batch_right)] {
            let own = (axis + axes.len()).checked_sub(batch.rank()).map(|own| axes[own]);
            if length != 1 && own == Some(length) {
                push(term, index, length);
            }
        }
        if length != 1 {
            push(term_out, index, length);
        }
    }
    if let Some(rows) = rows {
        push(term_left, ROW, rows);
        push(term_out, ROW, rows);
    }
    push(term_left, INNER, inner);
    push(term_right, INNER, inner);
    if let Some(columns) = columns {
        push(term_right, COLUMN, columns);
        push(term_out, COLUMN, columns);
    }
    let shape = batch.dims().iter().copied().chain(rows).chain(columns).collect();
    let [(left_indices, left), (right_indices, right), (out, _)] = terms;
    Some(Matmul { op: Einsum::of(&left_indices, Some(&right_indices), &out), left, right, shape })
}
