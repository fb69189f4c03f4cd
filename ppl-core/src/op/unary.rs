//! Functions of one argument that work element by element.

use super::{Cotangent, Misfit, Op, Operand, Primitive, Row, Work};
use crate::math;
use crate::scalar::Scalar;
use crate::shape::Shape;
use crate::var::Var;
use std::f64::consts::FRAC_2_SQRT_PI;
use std::ops;

/// √(2π)
const SQRT_TAU: f64 = 2.506_628_274_631_000_7;

/// A function of one argument, element by element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Unary {
    /// `−x`
    Neg,
    /// `|x|`; derivative 0 at 0.
    Abs,
    /// −1, 0 or 1; derivative 0.
    Sign,
    /// `x²`
    Square,
    /// `√x`
    Sqrt,
    /// `1/x`
    Reciprocal,
    /// `eˣ`
    Exp,
    /// `eˣ − 1`
    Expm1,
    /// `ln x`
    Log,
    /// `ln(1 + x)`
    Log1p,
    /// Hyperbolic tangent.
    Tanh,
    /// `1/(1 + e⁻ˣ)`
    Sigmoid,
    /// `ln(1 + eˣ)`
    Softplus,
    /// `ln(x/(1 − x))`
    Logit,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Error function `(2/√π) ∫₀ˣ e^(−t²) dt`.
    Erf,
    /// `1 − erf x`
    Erfc,
    /// The `y` with `erf y = x`.
    Erfinv,
    /// `ln |Γ(x)|`
    Lgamma,
    /// `ψ(x) = d ln Γ(x)/dx`
    Digamma,
    /// `ψ′(x)`
    Trigamma,
    /// `ψ⁽ⁿ⁾(x)`, the derivative of order `n` of digamma; that of order 255 has no derivative here (NaN).
    Polygamma(u8),
    /// `ln Γ(x + 1) − x ln x + x`, for `x ≥ 0`.
    LogFactorialRemainder,
    /// `ψ(x + 1) − ln x`, for `x > 0`.
    DigammaRemainder,
    /// The largest integer that is not above `x`; derivative 0.
    Floor,
    /// The angle between `−π/2` and `π/2` with tangent `x`.
    Atan,
    /// `ln |Γ(1 + x)|`
    Lgamma1p,
    /// `ln(1 + x) − x`
    Log1pMinusX,
    /// `ln Γ(x) − ((x − ½) ln x − x + ½ ln 2π)`
    StirlingError,
    /// `ψ(x) − ln x`
    DigammaMinusLog,
    /// `ln Φ(x)`
    LogNdtr,
    /// `φ(x)/Φ(x)`
    InverseMills,
    /// The `x` with `Φ(x) = p`.
    Ndtri,
    /// The `x` with `ln Φ(x) = l`.
    NdtriExp,
    /// `e^−|x| I₀(x)`
    I0e,
    /// `e^−|x| I₁(x)`
    I1e,
    /// `I₁(x)/I₀(x)`
    BesselRatio,
    /// `1 − I₁(x)/I₀(x)`, for `x ≥ 0`.
    BesselRatioComplement,
    /// 1 if `x` is neither infinite nor NaN, else 0; derivative 0.
    IsFinite,
    /// `x`, with a derivative of 0.
    StopGradient,
}

impl Unary {
    /// Every function of this family, for tests that go through all of them; of the polygamma functions, one.
    pub const ALL: [Unary; 41] = [
        Unary::Neg,
        Unary::Abs,
        Unary::Sign,
        Unary::Square,
        Unary::Sqrt,
        Unary::Reciprocal,
        Unary::Exp,
        Unary::Expm1,
        Unary::Log,
        Unary::Log1p,
        Unary::Tanh,
        Unary::Sigmoid,
        Unary::Softplus,
        Unary::Logit,
        Unary::Sin,
        Unary::Cos,
        Unary::Erf,
        Unary::Erfc,
        Unary::Erfinv,
        Unary::Lgamma,
        Unary::Digamma,
        Unary::Trigamma,
        Unary::Polygamma(2),
        Unary::LogFactorialRemainder,
        Unary::DigammaRemainder,
        Unary::Floor,
        Unary::Atan,
        Unary::Lgamma1p,
        Unary::Log1pMinusX,
        Unary::StirlingError,
        Unary::DigammaMinusLog,
        Unary::LogNdtr,
        Unary::InverseMills,
        Unary::Ndtri,
        Unary::NdtriExp,
        Unary::I0e,
        Unary::I1e,
        Unary::BesselRatio,
        Unary::BesselRatioComplement,
        Unary::IsFinite,
        Unary::StopGradient,
    ];

    /// `out = f(x)`
    #[inline(always)]
    pub(crate) fn sweep<T: Scalar>(self, out: &mut [T], x: &[T]) {
        // Not closures: what is called through one may not be compiled for the instruction set at hand.
        macro_rules! each {
            ($x:ident => $value:expr) => {
                for (out, &$x) in out.iter_mut().zip(x) {
                    *out = $value;
                }
            };
        }
        let far = |x: &[T]| x.iter().fold(false, |any, x| any | (x.abs() > T::of(T::SINE_LIMIT)));
        match self {
            Unary::Neg => each!(x => -x),
            Unary::Abs => each!(x => x.abs()),
            Unary::Sign => each!(x => sign(x)),
            Unary::Square => each!(x => x * x),
            Unary::Sqrt => each!(x => x.sqrt()),
            Unary::Reciprocal => each!(x => x.recip()),
            Unary::Exp => each!(x => x.exponential()),
            Unary::Expm1 => each!(x => x.exponential_minus_1()),
            Unary::Log => each!(x => x.logarithm()),
            Unary::Log1p => each!(x => x.logarithm_of_1_plus()),
            Unary::Tanh => each!(x => x.hyperbolic_tangent()),
            Unary::Sigmoid => each!(x => x.sigmoid()),
            Unary::Softplus => each!(x => x.softplus()),
            Unary::Logit => each!(x => x.logit()),
            // Element by element, so that a result does not depend on its neighbours.
            Unary::Sin if far(x) => {
                each!(x => if x.abs() > T::of(T::SINE_LIMIT) { x.sin() } else { x.sine() })
            }
            Unary::Cos if far(x) => {
                each!(x => if x.abs() > T::of(T::SINE_LIMIT) { x.cos() } else { x.cosine() })
            }
            Unary::Sin => each!(x => x.sine()),
            Unary::Cos => each!(x => x.cosine()),
            Unary::Erf => each!(x => x.erf()),
            Unary::Erfc => each!(x => x.erfc()),
            Unary::Erfinv => each!(x => x.erfinv()),
            Unary::Lgamma => each!(x => x.lgamma()),
            Unary::Digamma => each!(x => x.digamma()),
            Unary::Trigamma => each!(x => x.trigamma()),
            Unary::Polygamma(order) => each!(x => x.polygamma(order)),
            Unary::LogFactorialRemainder => each!(x => x.log_factorial_remainder()),
            Unary::DigammaRemainder => each!(x => x.digamma_remainder()),
            Unary::Floor => each!(x => x.floor()),
            Unary::Atan => each!(x => T::of(math::atan(x.as_f64()))),
            Unary::Lgamma1p => each!(x => T::of(math::lgamma_of_1_plus(x.as_f64()))),
            Unary::Log1pMinusX => each!(x => T::of(math::log1p_minus_x(x.as_f64()))),
            Unary::StirlingError => each!(x => x.stirling_error()),
            Unary::DigammaMinusLog => each!(x => x.digamma_minus_log()),
            Unary::LogNdtr => each!(x => T::of(math::log_ndtr(x.as_f64()))),
            Unary::InverseMills => each!(x => T::of(math::inverse_mills(x.as_f64()))),
            Unary::Ndtri => each!(x => T::of(math::ndtri(x.as_f64()))),
            Unary::NdtriExp => each!(x => T::of(math::ndtri_exp(x.as_f64()))),
            Unary::I0e => each!(x => T::of(math::i0e(x.as_f64()))),
            Unary::I1e => each!(x => T::of(math::i1e(x.as_f64()))),
            Unary::BesselRatio => each!(x => T::of(math::bessel_ratio(x.as_f64()))),
            Unary::BesselRatioComplement => each!(x => T::of(math::bessel_ratio_complement(x.as_f64()))),
            Unary::IsFinite => each!(x => if x.is_finite() { T::one() } else { T::zero() }),
            Unary::StopGradient => out.copy_from_slice(x),
        }
    }
}

impl Primitive for Unary {
    fn name(&self) -> &'static str {
        match self {
            Unary::Neg => "neg",
            Unary::Abs => "abs",
            Unary::Sign => "sign",
            Unary::Square => "square",
            Unary::Sqrt => "sqrt",
            Unary::Reciprocal => "reciprocal",
            Unary::Exp => "exp",
            Unary::Expm1 => "expm1",
            Unary::Log => "log",
            Unary::Log1p => "log1p",
            Unary::Tanh => "tanh",
            Unary::Sigmoid => "sigmoid",
            Unary::Softplus => "softplus",
            Unary::Logit => "logit",
            Unary::Sin => "sin",
            Unary::Cos => "cos",
            Unary::Erf => "erf",
            Unary::Erfc => "erfc",
            Unary::Erfinv => "erfinv",
            Unary::Lgamma => "lgamma",
            Unary::Digamma => "digamma",
            Unary::Trigamma => "trigamma",
            Unary::Polygamma(_) => "polygamma",
            Unary::LogFactorialRemainder => "log_factorial_remainder",
            Unary::DigammaRemainder => "digamma_remainder",
            Unary::Floor => "floor",
            Unary::Atan => "atan",
            Unary::Lgamma1p => "lgamma1p",
            Unary::Log1pMinusX => "log1p_minus_x",
            Unary::StirlingError => "stirling_error",
            Unary::DigammaMinusLog => "digamma_minus_log",
            Unary::LogNdtr => "log_ndtr",
            Unary::InverseMills => "inverse_mills",
            Unary::Ndtri => "ndtri",
            Unary::NdtriExp => "ndtri_exp",
            Unary::I0e => "i0e",
            Unary::I1e => "i1e",
            Unary::BesselRatio => "bessel_ratio",
            Unary::BesselRatioComplement => "bessel_ratio_complement",
            Unary::IsFinite => "is_finite",
            Unary::StopGradient => "stop_gradient",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        match args {
            [x] => Ok(x.clone()),
            _ => Err(Misfit::Count),
        }
    }

    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        match work.args[0] {
            Operand::Rows(x) => self.sweep(work.out, x),
            Operand::Records(..) => work.out.fill(T::nan()),
            x @ Operand::Shared(values) => {
                for (row, out) in work.out.chunks_exact_mut(work.lanes.max(1)).enumerate().take(values.len())
                {
                    if let Row::One(value) = x.row(row, work.lanes) {
                        let mut one = [T::zero()];
                        self.sweep(&mut one, &[value]);
                        out.fill(one[0]);
                    }
                }
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        y: Var<'g>,
        cotangent: Var<'g>,
        _which: usize,
    ) -> Option<Cotangent<'g>> {
        let x = args[0];
        Some(Cotangent::Value(match self {
            Unary::Neg => -cotangent,
            Unary::Abs => cotangent * x.sign(),
            Unary::Sign | Unary::Floor | Unary::IsFinite | Unary::StopGradient => return None,
            Unary::Square => cotangent * (2.0 * x),
            Unary::Sqrt => cotangent * (0.5 / y),
            Unary::Reciprocal => -(cotangent * y.square()),
            Unary::Exp => cotangent * y,
            Unary::Expm1 => cotangent * (y + 1.0),
            Unary::Log => cotangent / x,
            Unary::Log1p => cotangent / (1.0 + x),
            Unary::Tanh => cotangent * (1.0 - y.square()),
            Unary::Sigmoid => cotangent * (y * (1.0 - y)),
            Unary::Softplus => cotangent * x.sigmoid(),
            Unary::Logit => cotangent / (x * (1.0 - x)),
            Unary::Sin => cotangent * x.cos(),
            Unary::Cos => -(cotangent * x.sin()),
            Unary::Erf => cotangent * (FRAC_2_SQRT_PI * (-x.square()).exp()),
            Unary::Erfc => cotangent * (-FRAC_2_SQRT_PI * (-x.square()).exp()),
            Unary::Erfinv => cotangent * (y.square().exp() / FRAC_2_SQRT_PI),
            Unary::Lgamma => cotangent * x.digamma(),
            Unary::Digamma => cotangent * x.trigamma(),
            Unary::Trigamma => cotangent * x.polygamma(2),
            Unary::Polygamma(order) => match order.checked_add(1) {
                Some(next) => cotangent * x.polygamma(next),
                None => cotangent * f64::NAN,
            },
            Unary::LogFactorialRemainder => cotangent * x.digamma_remainder(),
            Unary::DigammaRemainder => cotangent * ((x + 1.0).trigamma() - x.reciprocal()),
            Unary::Atan => cotangent / (1.0 + x.square()),
            Unary::Lgamma1p => cotangent * (1.0 + x).digamma(),
            Unary::Log1pMinusX => -(cotangent * (x / (1.0 + x))),
            Unary::StirlingError => cotangent * (x.digamma_minus_log() + 0.5 / x),
            Unary::DigammaMinusLog => cotangent * (x.trigamma() - x.reciprocal()),
            Unary::LogNdtr => cotangent * x.inverse_mills(),
            Unary::InverseMills => -(cotangent * (y * (x + y))),
            Unary::Ndtri => cotangent * (SQRT_TAU * (0.5 * y.square()).exp()),
            Unary::NdtriExp => cotangent / y.inverse_mills(),
            Unary::I0e => cotangent * (x.i1e() - x.sign() * y),
            Unary::I1e => {
                // I₁′ = I₀ − I₁/x, and I₁(x)/x is ½ at 0
                let origin = x.equal(0.0);
                let quotient = origin.select(0.5, y / origin.select(1.0, x));
                cotangent * (x.i0e() - quotient - x.sign() * y)
            }
            Unary::BesselRatio => cotangent * ratio_derivative(x, 1.0 - y.abs()),
            Unary::BesselRatioComplement => -(cotangent * ratio_derivative(x, y)),
        }))
    }
}

/// A′ = 1 − A/x − A² for A = I₁(x)/I₀(x) = ±(1 − c), by whichever of A and c is not near 1.
fn ratio_derivative<'g>(x: Var<'g>, complement: Var<'g>) -> Var<'g> {
    let a = x.abs();
    // A/x is ½ at 0.
    let origin = a.equal(0.0);
    let ratio = 1.0 - complement;
    let quotient = origin.select(0.5, ratio / origin.select(1.0, a));
    complement * (2.0 - complement) - quotient
}

#[inline(always)]
fn sign<T: Scalar>(x: T) -> T {
    if x > T::zero() {
        T::one()
    } else if x < T::zero() {
        -T::one()
    } else {
        x * T::zero() // 0, and NaN for NaN
    }
}

/// Functions of one argument; each fails softly, as told at [`Graph`](crate::Graph).
impl<'g> Var<'g> {
    #[track_caller]
    fn unary(self, op: Unary) -> Var<'g> {
        self.graph().apply(Op::Unary(op), &[self])
    }

    /// `|x|`
    #[must_use]
    #[track_caller]
    pub fn abs(self) -> Var<'g> {
        self.unary(Unary::Abs)
    }

    /// −1, 0 or 1.
    #[must_use]
    #[track_caller]
    pub fn sign(self) -> Var<'g> {
        self.unary(Unary::Sign)
    }

    /// `x²`
    #[must_use]
    #[track_caller]
    pub fn square(self) -> Var<'g> {
        self.unary(Unary::Square)
    }

    /// `√x`
    #[must_use]
    #[track_caller]
    pub fn sqrt(self) -> Var<'g> {
        self.unary(Unary::Sqrt)
    }

    /// `1/x`
    #[must_use]
    #[track_caller]
    pub fn reciprocal(self) -> Var<'g> {
        self.unary(Unary::Reciprocal)
    }

    /// `eˣ`
    #[must_use]
    #[track_caller]
    pub fn exp(self) -> Var<'g> {
        self.unary(Unary::Exp)
    }

    /// `eˣ − 1`, accurate near 0.
    #[must_use]
    #[track_caller]
    pub fn expm1(self) -> Var<'g> {
        self.unary(Unary::Expm1)
    }

    /// `ln x`
    #[must_use]
    #[track_caller]
    pub fn log(self) -> Var<'g> {
        self.unary(Unary::Log)
    }

    /// `ln(1 + x)`, accurate near 0.
    #[must_use]
    #[track_caller]
    pub fn log1p(self) -> Var<'g> {
        self.unary(Unary::Log1p)
    }

    /// Hyperbolic tangent.
    #[must_use]
    #[track_caller]
    pub fn tanh(self) -> Var<'g> {
        self.unary(Unary::Tanh)
    }

    /// `1/(1 + e⁻ˣ)`
    #[must_use]
    #[track_caller]
    pub fn sigmoid(self) -> Var<'g> {
        self.unary(Unary::Sigmoid)
    }

    /// `ln(1 + eˣ)`
    #[must_use]
    #[track_caller]
    pub fn softplus(self) -> Var<'g> {
        self.unary(Unary::Softplus)
    }

    /// `ln(1/(1 + e⁻ˣ))`, without overflow.
    #[must_use]
    #[track_caller]
    pub fn log_sigmoid(self) -> Var<'g> {
        -(-self).softplus()
    }

    /// `ln(x/(1 − x))`, the inverse of [`Var::sigmoid`]; −∞ at 0, ∞ at 1, NaN outside.
    #[must_use]
    #[track_caller]
    pub fn logit(self) -> Var<'g> {
        self.unary(Unary::Logit)
    }

    /// `sin x`, of radians.
    #[must_use]
    #[track_caller]
    pub fn sin(self) -> Var<'g> {
        self.unary(Unary::Sin)
    }

    /// `cos x`, of radians.
    #[must_use]
    #[track_caller]
    pub fn cos(self) -> Var<'g> {
        self.unary(Unary::Cos)
    }

    /// Error function `(2/√π) ∫₀ˣ e^(−t²) dt` (NIST DLMF 7.2.1).
    #[must_use]
    #[track_caller]
    pub fn erf(self) -> Var<'g> {
        self.unary(Unary::Erf)
    }

    /// `1 − erf x`, relatively accurate in the right tail.
    #[must_use]
    #[track_caller]
    pub fn erfc(self) -> Var<'g> {
        self.unary(Unary::Erfc)
    }

    /// The `y` with `erf y = x`; ±∞ at ±1, NaN outside.
    #[must_use]
    #[track_caller]
    pub fn erfinv(self) -> Var<'g> {
        self.unary(Unary::Erfinv)
    }

    /// `ln |Γ(x)|`; ∞ at 0 and at the negative integers.
    ///
    /// Its derivatives of every order exist:
    ///
    /// ```
    /// # use ppl_core::{Graph, gradient, Plan, Program};
    /// let graph = Graph::new();
    /// let x = graph.input("x", ())?;
    /// let slope = gradient(x.lgamma(), &[x])?[0];
    /// let curvature = gradient(slope, &[x])?[0];
    /// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[slope, curvature])?);
    /// plan.set("x", &[1.0])?;
    /// plan.run();
    /// assert!((plan.output(0)[0] + 0.577_215_664_901_532_9).abs() < 1e-14); // −γ
    /// assert!((plan.output(1)[0] - std::f64::consts::PI.powi(2) / 6.0).abs() < 1e-14);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn lgamma(self) -> Var<'g> {
        self.unary(Unary::Lgamma)
    }

    /// `ψ(x) = d ln Γ(x)/dx` (NIST DLMF 5.2.2); NaN at the negative integers.
    #[must_use]
    #[track_caller]
    pub fn digamma(self) -> Var<'g> {
        self.unary(Unary::Digamma)
    }

    /// `ψ′(x)`; ∞ at 0 and at the negative integers.
    #[must_use]
    #[track_caller]
    pub fn trigamma(self) -> Var<'g> {
        self.unary(Unary::Trigamma)
    }

    /// `ψ⁽ⁿ⁾(x)`, the derivative of order `n` of digamma (NIST DLMF 5.15).
    #[must_use]
    #[track_caller]
    pub fn polygamma(self, order: u8) -> Var<'g> {
        match order {
            0 => self.digamma(),
            1 => self.trigamma(),
            _ => self.unary(Unary::Polygamma(order)),
        }
    }

    /// `ln Γ(x + 1) − x ln x + x`: what `ln x!` has beside its leading terms, for `x ≥ 0`. It is 0 at 0 and grows like `½ ln(2πx)`.
    ///
    /// With [`Var::deviance`] it makes log probabilities of counts that lose no digits where counts are large:
    ///
    /// ```text
    /// ln (m^k e^−m / k!) = −log_factorial_remainder(k) − deviance(k, m)
    /// ```
    #[must_use]
    #[track_caller]
    pub fn log_factorial_remainder(self) -> Var<'g> {
        self.unary(Unary::LogFactorialRemainder)
    }

    /// `ψ(x + 1) − ln x`, the derivative of [`Var::log_factorial_remainder`]; near `1/(2x)` where `x` is large, ∞ at 0.
    #[must_use]
    #[track_caller]
    pub fn digamma_remainder(self) -> Var<'g> {
        self.unary(Unary::DigammaRemainder)
    }

    /// The largest integer that is not above the number.
    #[must_use]
    #[track_caller]
    pub fn floor(self) -> Var<'g> {
        self.unary(Unary::Floor)
    }

    /// The smallest integer that is not below the number.
    #[must_use]
    #[track_caller]
    pub fn ceil(self) -> Var<'g> {
        -(-self).floor()
    }

    /// The angle between `−π/2` and `π/2` with tangent `x`, in radians. Relative error below 4e-16.
    #[must_use]
    #[track_caller]
    pub fn atan(self) -> Var<'g> {
        self.unary(Unary::Atan)
    }

    /// `ln |Γ(1 + x)|`, relatively accurate near 0.
    #[must_use]
    #[track_caller]
    pub fn lgamma1p(self) -> Var<'g> {
        self.unary(Unary::Lgamma1p)
    }

    /// `ln(1 + x) − x`, accurate near 0; −∞ at −1, NaN below. Relative error below 1e-15.
    #[must_use]
    #[track_caller]
    pub fn log1p_minus_x(self) -> Var<'g> {
        self.unary(Unary::Log1pMinusX)
    }

    /// `ln Γ(x) − ((x − ½) ln x − x + ½ ln 2π)` for `x > 0`: the error of Stirling's formula (NIST DLMF 5.11.1), which tends to
    /// `1/(12x)`. Relative error below 1e-14. See [`Var::deviance`].
    #[must_use]
    #[track_caller]
    pub fn stirling_error(self) -> Var<'g> {
        self.unary(Unary::StirlingError)
    }

    /// `ψ(x) − ln x` for `x > 0`, which tends to `−1/(2x)`. Relative error below 1e-14.
    #[must_use]
    #[track_caller]
    pub fn digamma_minus_log(self) -> Var<'g> {
        self.unary(Unary::DigammaMinusLog)
    }

    /// `ln Φ(x)`, the logarithm of a standard normal probability, in tails however far. Relative error below 2e-15, times `1 + x²` right of
    /// 0.
    #[must_use]
    #[track_caller]
    pub fn log_ndtr(self) -> Var<'g> {
        self.unary(Unary::LogNdtr)
    }

    /// `φ(x)/Φ(x)` of the standard normal distribution, the derivative of [`Var::log_ndtr`]. Relative error below 2e-15, times `1 + x²`
    /// right of −1.
    #[must_use]
    #[track_caller]
    pub fn inverse_mills(self) -> Var<'g> {
        self.unary(Unary::InverseMills)
    }

    /// The `x` with `Φ(x) = p`, a standard normal quantile; ∓∞ at 0 and 1, NaN outside. Relative error below 4e-15.
    #[must_use]
    #[track_caller]
    pub fn ndtri(self) -> Var<'g> {
        self.unary(Unary::Ndtri)
    }

    /// The `x` with `ln Φ(x) = l`, a quantile in tails however far; −∞ at −∞, ∞ at 0, NaN above. Relative error below 4e-15.
    #[must_use]
    #[track_caller]
    pub fn ndtri_exp(self) -> Var<'g> {
        self.unary(Unary::NdtriExp)
    }

    /// `e^−|x| I₀(x)` with the modified Bessel function (NIST DLMF 10.25). Relative error below 3e-15.
    #[must_use]
    #[track_caller]
    pub fn i0e(self) -> Var<'g> {
        self.unary(Unary::I0e)
    }

    /// `e^−|x| I₁(x)` with the modified Bessel function (NIST DLMF 10.25). Relative error below 3e-15.
    #[must_use]
    #[track_caller]
    pub fn i1e(self) -> Var<'g> {
        self.unary(Unary::I1e)
    }

    /// `I₁(x)/I₀(x)`, the mean resultant length of a von Mises variable with concentration `x`. Relative error below 3e-15.
    #[must_use]
    #[track_caller]
    pub fn bessel_ratio(self) -> Var<'g> {
        self.unary(Unary::BesselRatio)
    }

    /// `1 − I₁(x)/I₀(x)` for `x ≥ 0`, the circular variance of a von Mises variable with concentration `x`. Relative error below 3e-14.
    #[must_use]
    #[track_caller]
    pub fn bessel_ratio_complement(self) -> Var<'g> {
        self.unary(Unary::BesselRatioComplement)
    }

    /// 1 where the number is neither infinite nor NaN, else 0.
    #[must_use]
    #[track_caller]
    pub fn is_finite(self) -> Var<'g> {
        self.unary(Unary::IsFinite)
    }

    /// The same number, which derivatives take for a constant.
    ///
    /// ```
    /// # use ppl_core::{Graph, gradient, Plan, Program};
    /// let graph = Graph::new();
    /// let x = graph.input("x", ())?;
    /// let slope = gradient(x.stop_gradient() * x, &[x])?[0]; // x, not 2x
    /// let mut plan = Plan::<f64>::new(&Program::new(&graph, &[slope])?);
    /// plan.set("x", &[3.0])?;
    /// plan.run();
    /// assert_eq!(plan.output(0), [3.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn stop_gradient(self) -> Var<'g> {
        self.unary(Unary::StopGradient)
    }

    /// Any function of one argument.
    #[must_use]
    #[track_caller]
    pub fn map(self, function: Unary) -> Var<'g> {
        self.unary(function)
    }
}

impl<'g> ops::Neg for Var<'g> {
    type Output = Var<'g>;
    #[track_caller]
    fn neg(self) -> Var<'g> {
        self.unary(Unary::Neg)
    }
}
