//! Draws by rejection from a fixed number of noise inputs, with an exact fallback.
//!
//! An operation takes a parameter and standard noise: a few attempts, and one uniform number that they do not
//! see, whose quantile is taken where all are rejected. So the law is exact, every draw depends on its own noise
//! alone, and the noise has names like any other input. Derivatives are implicit at the draw, as those of the
//! quantile are: how it moves where its probability stays.

use super::{Cotangent, Misfit, Op, Primitive, Row, Var, Work};
use crate::base::Shape;
use crate::machine::Scalar;
use crate::math;

/// Draws for which the numbers of a chunk are gathered.
const CHUNK: usize = 128;

/// A draw by rejection. The first argument is the parameter, one for all draws or one each; the others are
/// noise, of the shape of the draws.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Sampling {
    /// The logarithm of a standard gamma variable: shape; normal, uniform, normal, uniform, and one uniform
    /// number more.
    LogGamma,
    /// An angle around 0: concentration; three pairs of uniform numbers, and one more.
    VonMises,
}

impl Sampling {
    /// Every operation of this family, for tests that go through all of them.
    pub const ALL: [Sampling; 2] = [Sampling::LogGamma, Sampling::VonMises];

    /// Number of arguments.
    #[must_use]
    pub fn arguments(self) -> usize {
        match self {
            Sampling::LogGamma => 6,
            Sampling::VonMises => 8,
        }
    }

    #[inline(always)]
    fn draw(self, parameter: &[f64], noise: &[[f64; CHUNK]; 7], out: &mut [f64]) {
        let of = |which: usize| &noise[which][..out.len()];
        match self {
            Sampling::LogGamma => {
                let noise = [of(0), of(1), of(2), of(3), of(4)];
                math::log_gamma_draws(parameter, noise, out);
            }
            Sampling::VonMises => {
                let noise = [of(0), of(1), of(2), of(3), of(4), of(5), of(6)];
                math::von_mises_draws(parameter, noise, out);
            }
        }
    }
}

impl Sampling {
    /// The draw, where parameter and noise are numbers that are not recorded.
    fn at_once(self, parameter: Var<'_>, noise: &[Var<'_>]) -> Option<f64> {
        let parameter = [parameter.at_once()?];
        let mut numbers = [0.0; 7];
        for (number, noise) in numbers.iter_mut().zip(noise) {
            *number = noise.at_once()?;
        }
        let mut drawn = [f64::NAN];
        let of = |which: usize| &numbers[which..=which];
        match self {
            Sampling::LogGamma => {
                math::log_gamma_draws(&parameter, [of(0), of(1), of(2), of(3), of(4)], &mut drawn);
            }
            Sampling::VonMises => {
                let noise = [of(0), of(1), of(2), of(3), of(4), of(5), of(6)];
                math::von_mises_draws(&parameter, noise, &mut drawn);
            }
        }
        Some(drawn[0])
    }
}

impl Primitive for Sampling {
    fn name(&self) -> &'static str {
        match self {
            Sampling::LogGamma => "log_gamma_draw",
            Sampling::VonMises => "von_mises_draw",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let (Some(parameter), true) = (args.first(), args.len() == self.arguments()) else {
            return Err(Misfit::Count);
        };
        let shape = &args[1];
        if let Some(which) = (1..args.len()).find(|&which| args[which] != *shape) {
            return Err(Misfit::Argument(which, format!("shape {shape}")));
        }
        let fits = parameter.is_scalar() || parameter == shape;
        let told = || Misfit::Argument(0, format!("shape {shape}, or a single number"));
        if fits { Ok(shape.clone()) } else { Err(told()) }
    }

    #[inline(always)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, shared, out, args, .. } = work;
        if lanes == 0 {
            return;
        }
        // A shared array is one row.
        let (rows, lanes) = if shared { (1, out.len()) } else { (out.len() / lanes, lanes) };
        let row_of = |which: usize, row: usize| -> Row<'_, T> {
            let operand = args[which];
            if shared {
                let numbers = operand.numbers();
                return if numbers.len() == 1 { Row::One(numbers[0]) } else { Row::Lanes(numbers) };
            }
            operand.row(if operand.rows(lanes) == 1 { 0 } else { row }, lanes)
        };
        let mut numbers = [[0.0; CHUNK]; 7];
        let (mut parameters, mut drawn) = ([0.0; CHUNK], [0.0; CHUNK]);
        for row in 0..rows {
            let mut start = 0;
            while start < lanes {
                let len = CHUNK.min(lanes - start);
                let put = |from: Row<'_, T>, to: &mut [f64; CHUNK]| match from {
                    Row::Lanes(values) => {
                        let values = &values[start..start + len];
                        to.iter_mut().zip(values).for_each(|(to, value)| *to = value.as_f64());
                        len
                    }
                    Row::One(value) => {
                        to[..len].fill(value.as_f64());
                        1
                    }
                };
                let given = put(row_of(0, row), &mut parameters);
                for (which, numbers) in numbers.iter_mut().enumerate().take(self.arguments() - 1) {
                    put(row_of(which + 1, row), numbers);
                }
                self.draw(&parameters[..given], &numbers, &mut drawn[..len]);
                let to = &mut out[row * lanes + start..][..len];
                to.iter_mut().zip(&drawn).for_each(|(to, &x)| *to = T::of(x));
                start += len;
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let slope = match (self, which) {
            (Sampling::LogGamma, 0) => args[0].gamma_slope(result),
            (Sampling::VonMises, 0) => args[0].von_mises_slope(result),
            _ => return None,
        };
        Some(Cotangent::Value((cotangent * slope).sum_to(args[0].shape())))
    }
}

impl<'g> Var<'g> {
    /// The logarithm of a standard gamma variable of shape `self`, made of standard noise: a normal and a
    /// uniform number, the same again, and one more uniform number, each of the shape of the draws.
    ///
    /// Two attempts of Marsaglia and Tsang ("A simple method for generating gamma variables", 2000); where both
    /// are rejected (2 in 10,000 times for a shape of 2.5, 25 for 1), the quantile of the last number, which the
    /// attempts do not see. So the law is exact. Its derivative with respect to the shape is the implicit one
    /// at the draw, [`Var::gamma_slope`].
    ///
    /// ```
    /// # use ppl_core::{ExecutionPlan, Graph, Program};
    /// let graph = Graph::new();
    /// let names = ["z", "u", "z2", "u2", "v"];
    /// let [z, u, z2, u2, v] = names.map(|name| graph.input(name, ()).unwrap());
    /// let l = graph.constant(2.0).log_gamma_draw([z, u, z2, u2, v]);
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[l])?);
    /// for (name, value) in names.into_iter().zip([0.0, 0.5, 0.0, 0.5, 0.5]) {
    ///     plan.set(name, &[value])?;
    /// }
    /// plan.run();
    /// assert!((plan.output(0)[0] - (5.0_f64 / 3.0).ln()).abs() < 1e-15); // z = 0 is accepted: a − ⅓
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn log_gamma_draw(self, noise: [Var<'g>; 5]) -> Var<'g> {
        self.drawn(Sampling::LogGamma, &noise)
    }

    /// An angle of the von Mises distribution around 0 with concentration `self`, made of uniform noise: three
    /// pairs of numbers and one more, each of the shape of the draws.
    ///
    /// Three attempts of Best and Fisher ("Efficient simulation of the von Mises distribution", 1979); where all
    /// are rejected (4 in 100 times for large concentrations), the quantile of the last number. Its derivative is
    /// the implicit one at the draw, [`Var::von_mises_slope`].
    #[must_use]
    #[track_caller]
    pub fn von_mises_draw(self, noise: [Var<'g>; 7]) -> Var<'g> {
        self.drawn(Sampling::VonMises, &noise)
    }

    #[track_caller]
    fn drawn(self, op: Sampling, noise: &[Var<'g>]) -> Var<'g> {
        if let Some(drawn) = op.at_once(self, noise) {
            return self.with_number(drawn);
        }
        let (graph, shape) = (self.graph(), noise[0].shape());
        let parameter = if self.shape().is_scalar() { self } else { self.broadcast_to(shape) };
        let args: Vec<Var<'g>> = std::iter::once(parameter).chain(noise.iter().copied()).collect();
        for arg in &args {
            if let Err(error) = arg.require_on(graph, op.name()) {
                return graph.fail(error);
            }
        }
        graph.apply(Op::Sampling(op), &args)
    }
}
