//! Formulas written for a graph, computed at once on numbers.

use super::{Graph, Var};
use std::cell::Cell;

/// The graph of this thread on which everything is computed at once.
struct AtOnce {
    graph: Graph,
    /// How many calls of [`compute`] are under way, one inside the other.
    depth: Cell<usize>,
}

thread_local! {
    // Formulas are written for graphs of every lifetime, so this one has to live for ever. It is small (less
    // than a kilobyte), one for each thread that asks, and empty between calls.
    static AT_ONCE: &'static AtOnce = Box::leak(Box::new(AtOnce { graph: Graph::at_once(), depth: Cell::new(0) }));
}

/// Computes at once a formula that is written for a graph: `None` where it has no answer, or is of an
/// operation that is not computed so.
///
/// The graph that the formula is given records nothing of single numbers: each operation on them calls the
/// function that programs run, so the result is that of a program, bit for bit, after nanoseconds. Arrays are
/// kept until the formula has been computed; a [`Var`] that outlives it has no meaning. Inputs, derivatives
/// and programs are not for this graph and fail.
///
/// ```
/// use ppl_core::op::compute;
/// let softplus_of_2 = compute(|graph| Some(graph.constant(2.0).softplus()));
/// assert_eq!(softplus_of_2, Some(2.126_928_011_042_972_5));
/// assert_eq!(compute(|graph| graph.input("x", ()).ok()), None);
/// ```
#[inline]
pub fn compute<'g>(formula: impl FnOnce(&'g Graph) -> Option<Var<'g>>) -> Option<f64> {
    let call = Call::begin()?;
    let result = formula(&call.0.graph)?;
    call.number(result)
}

/// A call that is under way, however it ends. With the outermost one arrays are forgotten.
///
/// Its methods are what does not depend on the formula: they are compiled once, where there are as many formulas as
/// laws have questions.
struct Call(&'static AtOnce);

impl Call {
    /// `None` where the thread is ending.
    fn begin() -> Option<Self> {
        let at_once = AT_ONCE.try_with(|at_once| *at_once).ok()?;
        at_once.depth.set(at_once.depth.get() + 1);
        Some(Self(at_once))
    }

    /// What a formula came to, if it is a number and of this graph.
    fn number(&self, result: Var<'_>) -> Option<f64> {
        std::ptr::eq(result.graph(), &self.0.graph).then(|| result.known()).flatten()
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let depth = self.0.depth.get() - 1;
        self.0.depth.set(depth);
        if depth == 0 {
            self.0.graph.forget();
        }
    }
}
