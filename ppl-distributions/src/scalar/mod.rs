//! Laws of single numbers for those who want a number, and no model: densities, probabilities, quantiles and
//! draws of plain `f64`.
//!
//! The formulas are those of the models: [`compute`] runs them at once, operation by operation, with the
//! functions that programs run. So there is one set of formulas, and the numbers are a program's, bit for bit.

mod laws;

use ppl_core::model::draw_at_once;
use ppl_core::op::compute;
use ppl_core::{Distribution, Value, Var};

/// What a law can be asked about: a number (an integer, too), for which the answer is a number; or a slice of numbers,
/// for which it is a vector.
pub trait Numbers {
    /// A number for each number.
    type Answer;

    /// Puts the question to each number.
    fn each(self, question: impl Fn(f64) -> f64) -> Self::Answer;
}

impl Numbers for f64 {
    type Answer = f64;
    #[inline]
    fn each(self, question: impl Fn(f64) -> f64) -> f64 {
        question(self)
    }
}

/// Counts, of which those beyond 2⁵³ are rounded.
macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl Numbers for $integer {
            type Answer = f64;
            #[inline]
            fn each(self, question: impl Fn(f64) -> f64) -> f64 {
                question(self as f64)
            }
        }
    )*};
}

integers! { i32, i64, u32, u64, usize }

impl Numbers for &[f64] {
    type Answer = Vec<f64>;
    #[inline]
    fn each(self, question: impl Fn(f64) -> f64) -> Vec<f64> {
        self.iter().map(|&x| question(x)).collect()
    }
}

impl Numbers for &Vec<f64> {
    type Answer = Vec<f64>;
    #[inline]
    fn each(self, question: impl Fn(f64) -> f64) -> Vec<f64> {
        self.as_slice().each(question)
    }
}

impl<const N: usize> Numbers for &[f64; N] {
    type Answer = [f64; N];
    #[inline]
    fn each(self, question: impl Fn(f64) -> f64) -> [f64; N] {
        self.map(question)
    }
}

/// What a distribution function can be asked about: [`Numbers`], or a value of a model, for which the answer is
/// a value of the model (`None` where no formula is known).
pub trait Outcomes<'g> {
    /// The answer.
    type Answer;

    /// Puts the question, in the form for numbers or in that for a value of a model.
    fn ask(
        self,
        of_number: impl Fn(f64) -> f64,
        of_value: impl FnOnce(Var<'g>) -> Option<Var<'g>>,
    ) -> Self::Answer;
}

impl<'g> Outcomes<'g> for Var<'g> {
    type Answer = Option<Var<'g>>;
    #[inline]
    fn ask(
        self,
        _of_number: impl Fn(f64) -> f64,
        of_value: impl FnOnce(Var<'g>) -> Option<Var<'g>>,
    ) -> Option<Var<'g>> {
        of_value(self)
    }
}

/// The same for what can be asked about as numbers.
macro_rules! as_numbers {
    ($([$($generics:tt)*] $numbers:ty),* $(,)?) => {$(
        impl<'g, $($generics)*> Outcomes<'g> for $numbers {
            type Answer = <Self as Numbers>::Answer;
            #[inline]
            fn ask(
                self,
                of_number: impl Fn(f64) -> f64,
                _of_value: impl FnOnce(Var<'g>) -> Option<Var<'g>>,
            ) -> Self::Answer {
                self.each(of_number)
            }
        }
    )*};
}

as_numbers! { [] f64, [] i32, [] i64, [] u32, [] u64, [] usize, [] &[f64], [] &Vec<f64>, [const N: usize] &[f64; N] }

/// Moments and other numbers that say where a law lies and how it is spread; those for which no formula is
/// known are `None`, those that the law has not are infinite or NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Mean.
    pub mean: Option<f64>,
    /// Variance.
    pub variance: Option<f64>,
    /// The root of the variance.
    pub std_dev: Option<f64>,
    /// The third central moment over the third power of the standard deviation.
    pub skewness: Option<f64>,
    /// Where density or probability is greatest.
    pub mode: Option<f64>,
    /// The quantile at ½.
    pub median: Option<f64>,
    /// Entropy in nats.
    pub entropy: Option<f64>,
}

fn summary<'g>(law: &impl Distribution<'g>) -> Summary {
    let variance = compute(|graph| law.variance(graph));
    Summary {
        mean: compute(|graph| law.mean(graph)),
        variance,
        std_dev: variance.map(f64::sqrt),
        skewness: compute(|graph| law.skewness(graph)),
        mode: compute(|graph| law.mode(graph)),
        median: compute(|graph| law.median(graph)),
        entropy: compute(|graph| law.entropy(graph)),
    }
}

/// Whether all parameters are numbers or arrays of numbers, and lie where they must: other laws give NaN for every
/// question.
#[inline]
fn sound<'g>(law: &impl Distribution<'g>) -> bool {
    law.parameters().iter().all(|parameter| match parameter.value {
        Value::Known(number) => parameter.domain.contains(number),
        value => value.known_elements().is_some() && parameter.check(law.name()).is_ok(),
    })
}

/// The number that a formula for values of a model has at `x`; NaN where it has none.
#[inline]
fn at<'g>(sound: bool, x: f64, formula: impl FnOnce(Var<'g>) -> Option<Var<'g>>) -> f64 {
    if !sound {
        return f64::NAN;
    }
    compute(|graph| formula(graph.constant(x))).unwrap_or(f64::NAN)
}

#[inline]
fn draw<'g>(law: &impl Distribution<'g>, words: usize, word: impl FnMut() -> u64) -> f64 {
    if !sound(law) {
        return f64::NAN;
    }
    draw_at_once(law, words, word).unwrap_or(f64::NAN)
}
