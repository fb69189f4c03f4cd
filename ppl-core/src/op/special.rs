//! Special functions of two and three arguments, element by element: regularised incomplete integrals, their
//! inverses, and how the inverses move with the parameters. The functions themselves are rows in the files of
//! their subjects.

use super::binary::together;
use super::several::stretched;
use super::{Cotangent, Misfit, Op, Primitive, Row, Value, Var, Work, bessel, beta, counting, gamma, normal};
use crate::base::{Error, Shape};
use crate::machine::Scalar;
use crate::math;

macro_rules! family {
    ($($rows:tt)*) => {
        several! {
            /// A special function of two or three arguments, element by element, computed in `f64`. Any
            /// argument may be a single number for all elements.
            ///
            /// Inverses are differentiated implicitly: where `F(θ, x) = p`, `∂x/∂θ = −(∂F/∂θ)/(∂F/∂x)`. That
            /// quotient is a function of its own here (a *slope*), for it keeps its digits where numerator
            /// and denominator are too small to be represented.
            enum Special
            $($rows)*
        }
    };
}

super::gamma::special! { [beta normal bessel counting] family {} }

impl Special {
    /// A result as the number type holds it.
    #[inline]
    fn held(value: f64) -> f64 {
        value
    }

    /// `out = f(…)` for rows of arguments, the third of which is not looked at where there are two.
    pub(crate) fn sweep<T: Scalar>(self, out: &mut [T], args: [Row<'_, T>; 3]) {
        // One number for all is computed once.
        if let [Row::One(a), Row::One(b), Row::One(c)] = args {
            out.fill(T::of(self.value([a, b, c].map(T::as_f64))));
            return;
        }
        if self == Special::GammaSlope {
            return gamma_slopes(out, args[0], args[1]);
        }
        let at = |row: Row<'_, T>, lane: usize| match row {
            Row::Lanes(values) => values[lane].as_f64(),
            Row::One(value) => value.as_f64(),
        };
        for (lane, out) in out.iter_mut().enumerate() {
            *out = T::of(self.value(args.map(|row| at(row, lane))));
        }
    }

    /// Fails softly: this derivative is not known.
    fn unavailable<'g>(self, y: Var<'g>, argument: &str) -> Var<'g> {
        let problem =
            format!("the derivative of {} with respect to {argument} is not available", self.name());
        y.graph().fail(Error::Unsupported(problem))
    }
}

/// Slopes that are handed on many at a time.
fn gamma_slopes<T: Scalar>(out: &mut [T], shape: Row<'_, T>, l: Row<'_, T>) {
    const CHUNK: usize = 128;
    let (mut shapes, mut places, mut slopes) = ([0.0; CHUNK], [0.0; CHUNK], [0.0; CHUNK]);
    for (chunk, out) in out.chunks_mut(CHUNK).enumerate() {
        let from = chunk * CHUNK;
        let put = |row: Row<'_, T>, to: &mut [f64]| match row {
            Row::Lanes(values) => {
                to.iter_mut().zip(&values[from..]).for_each(|(to, value)| *to = value.as_f64());
            }
            Row::One(value) => to.fill(value.as_f64()),
        };
        let shapes_needed = match shape {
            Row::Lanes(_) => out.len(),
            Row::One(_) => 1,
        };
        put(shape, &mut shapes[..shapes_needed]);
        put(l, &mut places[..out.len()]);
        math::gamma_slopes(&shapes[..shapes_needed], &places[..out.len()], &mut slopes[..out.len()]);
        out.iter_mut().zip(&slopes).for_each(|(out, &slope)| *out = T::of(slope));
    }
}

impl Primitive for Special {
    fn name(&self) -> &'static str {
        self.name_of()
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        match args {
            [a, b] if self.arity() == 2 => together(a, b).ok_or(Misfit::Pair),
            [a, b, c] if self.arity() == 3 => {
                together(a, b).and_then(|shape| together(&shape, c)).ok_or(Misfit::Pair)
            }
            _ => Err(Misfit::Count),
        }
    }

    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, .. } = work;
        if lanes == 0 {
            return;
        }
        for (row, out) in out.chunks_exact_mut(lanes).enumerate() {
            let mut rows = [Row::One(T::zero()); 3];
            for (slot, operand) in rows.iter_mut().zip(args) {
                *slot = operand.row(if operand.rows(lanes) == 1 { 0 } else { row }, lanes);
            }
            self.sweep(out, rows);
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let slope = self.slope(args, result, which)?;
        Some(Cotangent::Value((cotangent * slope).sum_to(args[which].shape())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExecutionPlan, Graph, Program, gradient};

    /// The golden values seen through the engine, which shows that names, arguments and functions belong
    /// together; `math` holds each function to its own bound.
    fn through_the_engine<T: Scalar>(tolerance: f64) {
        let mut count = 0;
        for line in include_str!("../../tests/golden/special.csv").lines() {
            let cells: Vec<&str> = line.split(',').collect();
            let Some(function) =
                Special::ALL.into_iter().find(|function| Primitive::name(function) == cells[0])
            else {
                continue;
            };
            let number = |i: usize| cells[i].parse::<f64>().expect("a number");
            let arguments: Vec<f64> = (1..=function.arity()).map(|i| T::of(number(i)).as_f64()).collect();
            let graph = Graph::new();
            let inputs: Vec<Var<'_>> =
                (0..function.arity()).map(|i| graph.input(format!("x{i}"), 1).expect("fresh")).collect();
            let value = stretched(&graph, Op::Special(function), &inputs);
            let mut plan = ExecutionPlan::<T>::new(&Program::new(&graph, &[value]).expect("no mistakes"));
            for (i, &argument) in arguments.iter().enumerate() {
                plan.set(&format!("x{i}"), &[T::of(argument)]).expect("one number");
            }
            plan.run();
            let mut three = [0.0; 3];
            three.iter_mut().zip(&arguments).for_each(|(slot, &argument)| *slot = argument);
            let direct = T::of(function.value(three)).as_f64();
            let got = plan.output(0)[0].as_f64();
            assert!(got == direct || (got.is_nan() && direct.is_nan()), "{line}: {got} against {direct}");
            // Of rounded arguments the value is another one.
            if T::of(0.1).as_f64() == 0.1 {
                assert!((got - number(4)).abs() <= tolerance * number(4).abs(), "{line}: {got}");
            }
            count += 1;
        }
        assert!(count > 1500, "{count} rows");
    }

    #[test]
    fn golden_values_through_the_engine() {
        through_the_engine::<f64>(1e-6);
        through_the_engine::<f32>(1e-6);
    }

    #[test]
    fn what_is_not_available_says_so() {
        let graph = Graph::new();
        let (a, b) = (graph.input("a", ()).expect("fresh"), graph.input("b", ()).expect("fresh"));
        let first = gradient(a.beta_i(b, 0.3), &[a]).expect("a first derivative");
        let told = gradient(first[0], &[b]).expect_err("no second one").to_string();
        assert!(told.contains("the derivative of beta_slope_a"), "{told}");
    }
}
