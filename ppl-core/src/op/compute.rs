//! Formulas written for a graph, computed at once on numbers.

use super::{Graph, Var};
use std::cell::Cell;

/// The graph of this thread on which everything is computed at once.
struct AtOnce {
    graph: &'static Graph,
    /// How many calls of [`compute`] are under way, one inside the other.
    depth: Cell<usize>,
}

thread_local! {
    // Formulas are written for graphs of every lifetime, so this one has to live for ever. It is small (less
    // than a kilobyte), one for each thread that asks, and empty between calls.
    static AT_ONCE: AtOnce = AtOnce { graph: Box::leak(Box::new(Graph::at_once())), depth: Cell::new(0) };
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
    AT_ONCE
        .try_with(|at_once| {
            let _guard = Guard::enter(at_once);
            let result = formula(at_once.graph)?;
            std::ptr::eq(result.graph(), at_once.graph).then(|| result.known()).flatten()
        })
        .ok()
        .flatten()
}

/// Forgets arrays where the outermost call ends, however it ends.
struct Guard<'a>(&'a AtOnce);

impl<'a> Guard<'a> {
    #[inline]
    fn enter(at_once: &'a AtOnce) -> Self {
        at_once.depth.set(at_once.depth.get() + 1);
        Self(at_once)
    }
}

impl Drop for Guard<'_> {
    #[inline]
    fn drop(&mut self) {
        let depth = self.0.depth.get() - 1;
        self.0.depth.set(depth);
        if depth == 0 {
            self.0.graph.forget();
        }
    }
}
