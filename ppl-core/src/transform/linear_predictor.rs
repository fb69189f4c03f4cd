//! Finds out whether a record's value is a generalised linear term: a function of bounded slope of one linear
//! predictor.

use crate::base::Result;
use crate::op::{Binary, Gather, Op, Reduce, Shaping, Unary, Var};
use crate::transform::{gradient, require_per_record_scalar};
use std::collections::BTreeSet;

/// A record's value as a function of one number that is linear in the shared arrays.
///
/// ```text
/// ℓ = f(η),   η = η₀ + Σ_s ⟨d_s, u_s⟩,   |∂ℓ/∂η| ≤ L         hence ‖∂ℓ/∂u‖ ≤ L ‖d‖
/// ```
///
/// `η₀`, `d_s` and `L` depend on the record but on none of the arrays `u_s`.
///
/// ```
/// use ppl_core::transform::linear_predictor;
/// use ppl_core::{Distribution, Graph, Record, Schema};
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
/// let w = graph.input("w", [3])?;
/// let logit = Record::new(&graph, &schema).get("x")?.dot(w);
/// let term = linear_predictor(-logit.softplus(), &[w])?.ok_or("a logistic term")?;
/// assert!(term.predictor.is(logit) && term.design[0].shape() == [3].into());
/// assert!(linear_predictor(-logit.square(), &[w])?.is_none()); // its slope has no bound
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LinearPredictor<'g> {
    /// `η`, one number for each record.
    pub predictor: Var<'g>,
    /// `L`, a bound on `|∂ℓ/∂η|` whatever `η` is; 1 for a Bernoulli of log-odds `η`.
    pub slope_bound: Var<'g>,
    /// `d_s`, in the shape of each array.
    pub design: Vec<Var<'g>>,
    /// `v` and `κ`, if `ℓ = κ softplus(v)` up to what depends on no array: the log-likelihood of a Bernoulli,
    /// `−softplus(v)` with `v = (1 − 2y) η`, has this form.
    pub softplus: Option<Softplus<'g>>,
}

/// The one softplus in a generalised linear term; see [`LinearPredictor`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Softplus<'g> {
    /// `v`, one number for each record.
    pub argument: Var<'g>,
    /// `κ`, one number for each record, which depends on no array.
    pub factor: Var<'g>,
    /// Whether `v` is proved to be 0 where all arrays are 0: then it has no offset of the record's own,
    ///
    /// ```text
    /// v = Σ_s ⟨∂v/∂u_s, u_s⟩
    /// ```
    pub without_offset: bool,
}

/// How a value depends on the arrays, read backwards from it: a chain of operations on single numbers, at the
/// end of which stands the predictor.
///
/// What is recognised: negation, sums with and products by what depends on no array, and the softplus (so
/// also `log_sigmoid`), whose slope lies between 0 and 1. Everything else ends the chain.
///
/// # Errors
/// If `value` is not one number for each record, an array belongs to another graph, or an expression has
/// failed.
#[track_caller]
pub fn linear_predictor<'g>(value: Var<'g>, frontier: &[Var<'g>]) -> Result<Option<LinearPredictor<'g>>> {
    check(value, frontier, "linear predictor")?;
    let active = depends(value, frontier);
    let graph = value.graph();
    let one = value.constant(1.0);
    let (mut here, mut slope_bound, mut factor_outside) = (value, one, one);
    let mut found: Vec<Softplus<'g>> = Vec::new();
    loop {
        let node = graph.node(here.id());
        let args: Vec<Var<'g>> = node.args.iter().map(|&arg| graph.var(arg)).collect();
        let mut moving = args.iter().enumerate().filter(|(_, arg)| active[arg.id() as usize]);
        let (Some((which, &next)), None) = (moving.next(), moving.next()) else {
            break;
        };
        if next.shape().elements() != 1 || here.shape().elements() != 1 {
            break;
        }
        let factor = match &node.op {
            Op::Shaping(Shaping::Reshape(_) | Shaping::SumTo(_)) | Op::Binary(Binary::Add) => None,
            Op::Unary(Unary::Neg) => Some(-one),
            Op::Binary(Binary::Sub) => (which == 1).then(|| -one),
            Op::Unary(Unary::Softplus) => {
                let argument = next.reshape(());
                let without_offset = vanishes(argument, frontier);
                found.push(Softplus { argument, factor: factor_outside, without_offset });
                None
            }
            Op::Binary(Binary::Mul) => Some(args[1 - which].reshape(())),
            Op::Binary(Binary::Div) if which == 0 => Some(args[1].reshape(()).reciprocal()),
            _ => break,
        };
        if let Some(factor) = factor {
            slope_bound = slope_bound * factor.abs();
            factor_outside = factor_outside * factor;
        }
        here = next;
    }
    if found.is_empty() {
        return Ok(None);
    }
    let here = here.reshape(());
    // A softplus of a softplus is bounded too, and not of this form.
    let softplus = if let [one] = found[..] { Some(one) } else { None };
    let design = gradient(here, frontier)?;
    let linear = design.iter().chain([&slope_bound]).all(|array| is_constant(*array, frontier));
    Ok(linear.then_some(LinearPredictor { predictor: here, slope_bound, design, softplus }))
}

/// One number of a record that its value depends on the shared arrays through, and is linear in them.
///
/// ```text
/// ℓ = f(η),   η = η₀ + Σ_s ⟨d_s, u_s⟩        hence ∂²ℓ/∂u² = f″(η) d dᵀ
/// ```
///
/// `f` may be any function of the record, and its slope need not be bounded: a normal of known scale, a Poisson of
/// a log rate, a negative binomial of known dispersion. Where it is bounded, and has to be, it is
/// [`linear_predictor`] that finds the bound.
///
/// ```
/// use ppl_core::transform::scalar_predictor;
/// use ppl_core::{Graph, Record, Schema};
/// let (graph, schema) = (Graph::new(), Schema::new([("x", 3.into()), ("y", ppl_core::Shape::scalar())])?);
/// let w = graph.input("w", [3])?;
/// let record = Record::new(&graph, &schema);
/// let (eta, y) = (record.get("x")?.dot(w), record.get("y")?);
/// let poisson = y * eta - eta.exp();
/// let found = scalar_predictor(poisson, &[w])?.ok_or("a generalised linear term")?;
/// assert!(found.predictor.is(eta) && found.design[0].shape() == [3].into());
/// assert!(scalar_predictor(w.square().sum() * y, &[w])?.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ScalarPredictor<'g> {
    /// `η`, one number for each record.
    pub predictor: Var<'g>,
    /// `d_s`, in the shape of each array.
    pub design: Vec<Var<'g>>,
}

/// Finds the last number that the value depends on all arrays through and that is linear in them; see
/// [`ScalarPredictor`].
///
/// Operations are walked from the value to the arrays, and a number that all ways pass is a candidate. It is one if its
/// derivatives by the arrays depend on none of them; no algebra is done to see that they cancel.
///
/// # Errors
/// If `value` is not one number for each record, an array belongs to another graph, or an expression has
/// failed.
#[track_caller]
pub fn scalar_predictor<'g>(value: Var<'g>, frontier: &[Var<'g>]) -> Result<Option<ScalarPredictor<'g>>> {
    check(value, frontier, "scalar predictor")?;
    let active = depends(value, frontier);
    if !active[value.id() as usize] {
        return Ok(None);
    }
    let graph = value.graph();
    // Operations come after what they are made of, so the last of those that are open is passed by all ways if it is
    // alone.
    let mut open = BTreeSet::from([value.id()]);
    while let Some(last) = open.pop_last() {
        let here = graph.var(last);
        if open.is_empty() && here.shape().elements() == 1 {
            let here = here.reshape(());
            let design = gradient(here, frontier)?;
            if design.iter().all(|array| is_constant(*array, frontier)) {
                return Ok(Some(ScalarPredictor { predictor: here, design }));
            }
        }
        if !frontier.iter().any(|array| array.id() == last) {
            open.extend(graph.node(last).args.iter().copied().filter(|&arg| active[arg as usize]));
        }
    }
    Ok(None)
}

/// What is asked of the value and the arrays of a transformation of this name.
#[track_caller]
fn check<'g>(value: Var<'g>, frontier: &[Var<'g>], what: &'static str) -> Result<()> {
    require_per_record_scalar(value)?;
    value.graph().check()?;
    // Not a closure, which would hide the caller's place.
    for array in frontier {
        array.require_on(value.graph(), what)?;
    }
    Ok(())
}

/// Whether a value depends on none of the arrays.
fn is_constant(value: Var<'_>, arrays: &[Var<'_>]) -> bool {
    !depends(value, arrays)[value.id() as usize]
}

/// Which of the operations up to `last` depend on one of the arrays.
fn depends(last: Var<'_>, arrays: &[Var<'_>]) -> Vec<bool> {
    let mut active = vec![false; last.id() as usize + 1];
    last.graph().with_nodes(|nodes| {
        for id in 0..active.len() {
            active[id] = arrays.iter().any(|array| array.id() as usize == id)
                || nodes[id].args.iter().any(|&arg| active[arg as usize]);
        }
    });
    active
}

/// Whether a value is proved to be 0, or no number at all, where all of these arrays are 0. No algebra is
/// done: what vanishes only because terms cancel is not found.
fn vanishes(value: Var<'_>, arrays: &[Var<'_>]) -> bool {
    value.graph().with_nodes(|nodes| {
        let mut zero = vec![false; value.id() as usize + 1];
        for id in 0..zero.len() {
            let node = &nodes[id];
            let is = |place: usize| zero[node.args[place] as usize];
            let all = || (0..node.args.len()).all(is);
            zero[id] = arrays.iter().any(|array| array.id() as usize == id)
                || match &node.op {
                    Op::Constant(constant) => constant.values().all(|x| x == 0.0),
                    Op::Unary(Unary::Neg) | Op::Shaping(_) | Op::Structure(_) => all(),
                    Op::Binary(Binary::Add | Binary::Sub) => all(),
                    // A factor that is infinite there makes it a NaN.
                    Op::Binary(Binary::Mul) | Op::Linear(_) => is(0) || is(1),
                    Op::Einsum(_) => (0..node.args.len()).any(is),
                    Op::Binary(Binary::Div) | Op::Gather(Gather::Rows) => is(0),
                    Op::Reduce(Reduce::CumulativeSum { .. }) => is(0),
                    Op::Select(_) => is(1) && is(2),
                    _ => false,
                };
        }
        zero[value.id() as usize]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExecutionPlan, Graph, Program, Record, Records};
    use ndarray::array;

    fn schema() -> Records {
        Records::from_columns([
            ("x", crate::Column::from(array![[1.0, -2.0], [0.5, 3.0]])),
            ("y", crate::Column::from(vec![1.0, 0.0])),
            ("g", crate::Column::from(vec![1_u8, 0])),
        ])
        .unwrap()
    }

    #[test]
    fn logistic_terms_with_intercepts_groups_and_offsets_are_found() {
        let records = schema();
        let graph = Graph::new();
        let record = Record::new(&graph, records.schema());
        let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
        let w = graph.input("w", [2]).unwrap();
        let b = graph.input("b", ()).unwrap();
        let table = graph.input("t", [2, 2]).unwrap();
        let linear = x.dot(w) + b + x.dot(table.gather(record.index("g").unwrap()));
        let value = -((1.0 - 2.0 * y) * (linear + y * 3.0)).softplus();
        let found = linear_predictor(value, &[w, b, table]).unwrap().unwrap();
        assert!(found.predictor.is(linear), "an offset belongs to the function");
        let outputs = [found.slope_bound, found.design[0], found.design[1], found.design[2]];
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
        let all = [0, 1];
        assert_eq!(plan.evaluate(&records, &all, 0).unwrap(), array![[1.0], [1.0]]);
        assert_eq!(plan.evaluate(&records, &all, 1).unwrap(), array![[1.0, -2.0], [0.5, 3.0]]);
        assert_eq!(plan.evaluate(&records, &all, 2).unwrap(), array![[1.0], [1.0]]);
        assert_eq!(
            plan.evaluate(&records, &all, 3).unwrap(),
            array![[0.0, 0.0, 1.0, -2.0], [0.5, 3.0, 0.0, 0.0]]
        );
    }

    #[test]
    fn the_softplus_and_its_factor_are_found() {
        let records = schema();
        let graph = Graph::new();
        let record = Record::new(&graph, records.schema());
        let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
        let w = graph.input("w", [2]).unwrap();
        let v = (1.0 - 2.0 * y) * x.dot(w);
        let value = 3.0 - (v.softplus() * (1.0 + y)) / 4.0;
        let found = linear_predictor(value, &[w]).unwrap().unwrap();
        let softplus = found.softplus.unwrap();
        assert!(softplus.argument.is(v));
        let outputs = [softplus.factor, found.slope_bound];
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
        // −(1 + y)/4, for y of 1 and 0.
        assert_eq!(plan.evaluate(&records, &[0, 1], 0).unwrap(), array![[-0.5], [-0.25]]);
        assert_eq!(plan.evaluate(&records, &[0, 1], 1).unwrap(), array![[0.5], [0.25]]);
        let twice = linear_predictor(-x.dot(w).softplus().softplus(), &[w]).unwrap().unwrap();
        assert!(twice.softplus.is_none());
    }

    /// With an offset of the record's own, the expectation of `v²` has a term `2 o ⟨x, E[w]⟩`, and a gradient
    /// that no norm of `x` bounds.
    #[test]
    fn offsets_in_the_softplus_are_found() {
        let records = schema();
        let graph = Graph::new();
        let record = Record::new(&graph, records.schema());
        let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
        let w = graph.input("w", [2]).unwrap();
        let table = graph.input("t", [2, 2]).unwrap();
        let group = record.index("g").unwrap();
        let without = |v: Var<'_>| {
            let found = linear_predictor(-v.softplus(), &[w, table]).unwrap().unwrap();
            found.softplus.unwrap().without_offset
        };
        let (sign, linear) = (1.0 - 2.0 * y, x.dot(w));
        for v in [
            linear,
            sign * linear,
            sign * (linear + x.dot(table.gather(group))) / 2.0,
            -(linear + (x * w).sum() * y),
            y.greater(0.5).select(linear, -linear),
            graph.stack(&[w.element(0, 1), w.element(0, 0)], 0).dot(x),
            linear - 0.0,
        ] {
            assert!(without(v), "{v:?}");
        }
        for v in [
            linear + y,
            sign * (linear + y * 3.0),
            sign * (linear - 1.0),
            linear + graph.constant(1e-300),
            y.greater(0.5).select(linear, y),
            graph.stack(&[w.element(0, 0), y], 0).dot(x),
            linear - linear.stop_gradient(),
        ] {
            assert!(!without(v), "{v:?}");
        }
    }

    #[test]
    fn what_is_not_linear_or_not_bounded_is_not_found() {
        let records = schema();
        let graph = Graph::new();
        let record = Record::new(&graph, records.schema());
        let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
        let w = graph.input("w", [2]).unwrap();
        let s = graph.input("s", ()).unwrap();
        let none = |value: Var<'_>| linear_predictor(value, &[w, s]).unwrap().is_none();
        assert!(none(-(x.dot(w) * s).softplus()), "a product of two arrays");
        assert!(none(-x.dot(w.exp()).softplus()), "a mapped array");
        assert!(none(-(x.dot(w) - y).square()), "a slope without bound");
        assert!(none(x.dot(w)), "no bounded function at all");
        assert!(none(-x.dot(w).softplus() - x.dot(w).exp().softplus()), "two terms");
        assert!(none(-(s * x.dot(w).softplus()) * s), "scaled by an array");
    }

    /// What a record's value depends on the arrays through, for any function of it; and not where there are two such
    /// numbers, or an array that it is not linear in.
    #[test]
    fn one_number_that_is_linear_is_found_behind_any_function() {
        let records = schema();
        let graph = Graph::new();
        let record = Record::new(&graph, records.schema());
        let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
        let w = graph.input("w", [2]).unwrap();
        let b = graph.input("b", ()).unwrap();
        let s = graph.input("s", ()).unwrap();
        let eta = x.dot(w) + b * 2.0;
        let arrays = [w, b];
        for value in [
            -0.5 * ((y - eta) / 0.3).square(),
            y * eta - eta.exp(),
            -(1.0 + (y - eta).square() / 4.0).log() * 2.5,
            eta.exp() * y - (1.0 + eta.exp()).log(),
            -eta.softplus() - (-eta).softplus(),
        ] {
            let term = scalar_predictor(value, &arrays).unwrap().unwrap();
            let of = gradient(value, &[term.predictor]).unwrap()[0];
            let outputs = [term.design[0], term.design[1], gradient(value, &[w]).unwrap()[0], of];
            let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
            plan.set("w", &[0.3, -0.2]).unwrap();
            plan.set("b", &[0.1]).unwrap();
            let [d, one, slope, by] = [0, 1, 2, 3].map(|k| plan.evaluate(&records, &[0, 1], k).unwrap());
            for i in 0..2 {
                // Of whatever scale the predictor is, slopes are its own times the design.
                for j in 0..2 {
                    assert!((slope[[i, j]] - by[[i, 0]] * d[[i, j]]).abs() < 1e-12, "{value:?}");
                }
                assert!((d[[i, 0]] * 2.0 - one[[i, 0]] * records_x(i)).abs() < 1e-12, "{value:?}");
            }
        }
        let value = -0.5 * ((y - eta) / s.exp()).square() - s;
        assert!(scalar_predictor(value, &[w, b, s]).unwrap().is_none(), "a scale beside the predictor");
        assert!(scalar_predictor(value, &[w, b]).unwrap().is_some(), "a scale that is no array of these");
        for (value, why) in [
            (x.dot(w).exp() * b, "two numbers"),
            (-(x.dot(w.exp()) + b).square(), "an array that is not linear"),
            (y * 3.0, "nothing at all"),
        ] {
            assert!(scalar_predictor(value, &arrays).unwrap().is_none(), "{why}");
        }
        assert!(scalar_predictor(y * b.square(), &[b]).unwrap().is_some_and(|term| term.predictor.is(b)));
    }

    /// The first number of `x`.
    fn records_x(record: usize) -> f64 {
        [1.0, 0.5][record]
    }
}
