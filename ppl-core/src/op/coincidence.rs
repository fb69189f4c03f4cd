//! Rows added up over equal indices: what inner products of rows scattered into one table need, without the
//! table.

use super::{Cotangent, Misfit, Op, Primitive, Row, Var, Work};
use crate::base::Shape;
use crate::machine::Scalar;

/// `out[t, k] = Σ_{s : j_s = i_t} rows[s, k]` for indices `i` and `j` and rows that belong to `j`; arguments
/// in this order.
///
/// It is the product `gather(scatter_add(rows, j), i)` whatever the number of rows of the table; an index
/// that is NaN is equal to none.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Coincidence;

impl Primitive for Coincidence {
    fn name(&self) -> &'static str {
        "coincidence"
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let [index, other, rows] = args else {
            return Err(Misfit::Count);
        };
        match (index.dims(), other.dims(), rows.dims()) {
            ([places], [others], [count, width]) if others == count => Ok(Shape::from([*places, *width])),
            ([_], [_], _) => Err(Misfit::Argument(2, "a matrix with a row for each index".to_owned())),
            ([_], _, _) => Err(Misfit::Argument(1, "a vector of indices".to_owned())),
            _ => Err(Misfit::Argument(0, "a vector of indices".to_owned())),
        }
    }

    /// One row: whether two indices are equal, 1 or 0, in each lane.
    fn scratch_rows(&self, _args: &[Shape], _shape: &Shape) -> usize {
        1
    }

    #[inline(always)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, shapes, scratch, .. } = work;
        let [index, other, rows] = [args[0], args[1], args[2]];
        let (places, others) = (shapes[0].elements(), shapes[1].elements());
        out.fill(T::zero());
        if lanes == 0 || places == 0 || out.is_empty() {
            return;
        }
        let width = out.len() / (places * lanes);
        for (t, out) in out.chunks_exact_mut(width * lanes).enumerate() {
            for s in 0..others {
                for (lane, equal) in scratch.iter_mut().enumerate() {
                    let equals = index.at(t, lane, lanes) == other.at(s, lane, lanes);
                    *equal = if equals { T::one() } else { T::zero() };
                }
                if scratch.iter().all(|equal| *equal == T::zero()) {
                    continue;
                }
                for (k, out) in out.chunks_exact_mut(lanes).enumerate() {
                    add_where(out, scratch, rows.row(s * width + k, lanes));
                }
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        _result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        (which == 2).then(|| Cotangent::Value(cotangent.coincidence(args[0], args[1])))
    }
}

/// `out += row` in the lanes where `equal` is not 0. It is a choice and not a product: what one record's row
/// holds where its indices differ must not show, for whether it is looked at at all depends on the other
/// records of the tile.
#[inline(always)]
fn add_where<T: Scalar>(out: &mut [T], equal: &[T], row: Row<'_, T>) {
    let chosen = |equal: T, x: T| if equal == T::zero() { T::zero() } else { x };
    match row {
        Row::Lanes(row) => {
            for ((out, &equal), &x) in out.iter_mut().zip(equal).zip(row) {
                *out += chosen(equal, x);
            }
        }
        Row::One(x) => out.iter_mut().zip(equal).for_each(|(out, &equal)| *out += chosen(equal, x)),
    }
}

impl<'g> Var<'g> {
    /// The rows of `self`, which belong to the indices `own`, added up for each index of `at`.
    #[track_caller]
    pub(crate) fn coincidence(self, own: Var<'g>, at: Var<'g>) -> Var<'g> {
        self.graph().apply(Op::Coincidence(Coincidence), &[at, own, self])
    }
}

#[cfg(test)]
mod tests {
    use crate::{ExecutionPlan, Graph, Program, gradient};

    #[test]
    fn a_record_does_not_show_whether_another_record_has_equal_indices() {
        use crate::{Column, Record, Records};
        // The first record has an infinite row where its indices differ; the second record's indices are
        // equal.
        let records = Records::from_columns([
            ("at", Column::from(ndarray::array![[0.0], [1.0]])),
            ("own", Column::from(ndarray::array![[1.0], [1.0]])),
            ("rows", Column::from(ndarray::array![[[f64::INFINITY]], [[2.0]]].into_dyn())),
        ])
        .unwrap();
        let graph = Graph::new();
        let record = Record::new(&graph, records.schema());
        let get = |name: &str| record.get(name).unwrap();
        let met = get("rows").coincidence(get("own"), get("at"));
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[met]).unwrap());
        let alone = plan.evaluate(&records, &[0], 0).unwrap()[[0, 0]];
        let together = plan.evaluate(&records, &[0, 1], 0).unwrap();
        assert_eq!((alone, together[[0, 0]], together[[1, 0]]), (0.0, 0.0, 2.0));
    }

    #[test]
    fn rows_meet_where_indices_are_equal() {
        let graph = Graph::new();
        let (at, own) = (graph.input("at", 2).unwrap(), graph.input("own", 3).unwrap());
        let rows = graph.input("rows", [3, 2]).unwrap();
        let met = rows.coincidence(own, at);
        let slope = gradient((met * met).sum(), &[rows]).unwrap()[0];
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[met, slope]).unwrap());
        plan.set("at", &[1.0, 4.0]).unwrap();
        plan.set("own", &[4.0, 1.0, 4.0]).unwrap();
        plan.set("rows", &[1.0, 2.0, 10.0, 20.0, 100.0, 200.0]).unwrap();
        plan.run();
        assert_eq!(plan.output(0), [10.0, 20.0, 101.0, 202.0]);
        // 2 · met at the row's own index
        assert_eq!(plan.output(1), [202.0, 404.0, 20.0, 40.0, 202.0, 404.0]);
        assert!(graph.check().is_ok());
        let _ = rows.coincidence(at, own);
        assert!(graph.check().unwrap_err().to_string().contains("a row for each index"));
    }
}
