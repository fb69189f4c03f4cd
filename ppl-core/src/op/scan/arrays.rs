//! Values of a graph in tuples, arrays and vectors.

use crate::op::Var;

/// A value of a graph, or several: what a [`scan`](crate::Graph::scan) carries, takes and gives.
///
/// Implemented for `Var`, for `()`, and for tuples, arrays and vectors of such. Own types may implement it,
/// too: one that has fields of these types lists them in a fixed order, and takes them in the same order.
///
/// ```
/// use ppl_core::{Graph, Program, Var, op::Arrays};
/// #[derive(Clone, Copy)]
/// struct State<'g> { level: Var<'g>, trend: Var<'g> }
/// impl<'g> Arrays<'g> for State<'g> {
///     fn list(&self, into: &mut Vec<Var<'g>>) {
///         into.extend([self.level, self.trend]);
///     }
///     fn with(&self, from: &mut dyn Iterator<Item = Var<'g>>) -> Self {
///         Self { level: self.level.with(from), trend: self.trend.with(from) }
///     }
/// }
/// let graph = Graph::new();
/// let state = State { level: graph.constant(1.0), trend: graph.constant(0.5) };
/// let (last, _) = graph.scan_steps(4, state, |state| {
///     Ok((State { level: state.level + state.trend, ..state }, ()))
/// })?;
/// assert_eq!(Program::new(&graph, &[last.level])?.interpret(&[].into(), None)?, [[3.0]]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub trait Arrays<'g>: Sized {
    /// Appends the values, in a fixed order.
    fn list(&self, into: &mut Vec<Var<'g>>);

    /// The same structure with other values in place of these, taken in the same order. Where there are too
    /// few, values stay as they are.
    #[must_use]
    fn with(&self, from: &mut dyn Iterator<Item = Var<'g>>) -> Self;

    /// The values.
    fn listed(&self) -> Vec<Var<'g>> {
        let mut values = Vec::new();
        self.list(&mut values);
        values
    }
}

impl<'g> Arrays<'g> for Var<'g> {
    fn list(&self, into: &mut Vec<Var<'g>>) {
        into.push(*self);
    }

    fn with(&self, from: &mut dyn Iterator<Item = Var<'g>>) -> Self {
        from.next().unwrap_or(*self)
    }
}

impl<'g, A: Arrays<'g>> Arrays<'g> for Vec<A> {
    fn list(&self, into: &mut Vec<Var<'g>>) {
        self.iter().for_each(|each| each.list(into));
    }

    fn with(&self, from: &mut dyn Iterator<Item = Var<'g>>) -> Self {
        self.iter().map(|each| each.with(from)).collect()
    }
}

impl<'g, A: Arrays<'g>, const N: usize> Arrays<'g> for [A; N] {
    fn list(&self, into: &mut Vec<Var<'g>>) {
        self.iter().for_each(|each| each.list(into));
    }

    fn with(&self, from: &mut dyn Iterator<Item = Var<'g>>) -> Self {
        std::array::from_fn(|index| self[index].with(from))
    }
}

impl<'g> Arrays<'g> for () {
    fn list(&self, _into: &mut Vec<Var<'g>>) {}

    fn with(&self, _from: &mut dyn Iterator<Item = Var<'g>>) -> Self {}
}

macro_rules! tuples {
    ($(($($letter:ident $field:tt),+))*) => {
        $(
            impl<'g, $($letter: Arrays<'g>),+> Arrays<'g> for ($($letter,)+) {
                fn list(&self, into: &mut Vec<Var<'g>>) {
                    $(self.$field.list(into);)+
                }

                fn with(&self, from: &mut dyn Iterator<Item = Var<'g>>) -> Self {
                    ($(self.$field.with(from),)+)
                }
            }
        )*
    };
}

tuples! {
    (A 0)
    (A 0, B 1)
    (A 0, B 1, C 2)
    (A 0, B 1, C 2, D 3)
    (A 0, B 1, C 2, D 3, E 4)
    (A 0, B 1, C 2, D 3, E 4, F 5)
}
