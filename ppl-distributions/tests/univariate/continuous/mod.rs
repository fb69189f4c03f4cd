//! Tests that go over all continuous distributions of single numbers. A distribution takes part in all of
//! them with one row of [`CASES`].

mod divergences;
mod draws;
mod golden;
mod gradients;
mod parameters;
mod pathwise;
mod single;
mod support;

use ppl_core::{Distribution, ExecutionPlan, Graph, Program, Scalar, Value, Var};
use ppl_distributions::*;

type Build = for<'g> fn(&[Value<'g>]) -> Box<dyn Distribution<'g> + 'g>;

/// Where a parameter lies, for tests that choose parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Domain {
    Real,
    Positive,
    /// A number that is not varied: an end of an interval.
    Fixed(f64),
}

/// A distribution of single numbers: its name in the golden file, how it is built, its parameters' domains,
/// and parameters of moderate size with a few moments.
struct Case {
    name: &'static str,
    build: Build,
    domains: &'static [Domain],
    moderate: &'static [f64],
}

use Domain::{Fixed, Positive, Real};

macro_rules! case {
    ($name:literal, $type:ident($($i:tt $domain:expr),*), $moderate:expr) => {
        Case {
            name: $name,
            build: |p| Box::new($type::new($(p[$i]),*)),
            domains: &[$($domain),*],
            moderate: &$moderate,
        }
    };
}

const CASES: &[Case] = &[
    case!("normal", Normal(0 Real, 1 Positive), [0.5, 1.3]),
    case!("log_normal", LogNormal(0 Real, 1 Positive), [0.2, 0.4]),
    case!("half_normal", HalfNormal(0 Positive), [1.7]),
    case!("cauchy", Cauchy(0 Real, 1 Positive), [0.5, 1.3]),
    case!("half_cauchy", HalfCauchy(0 Positive), [1.7]),
    case!("laplace", Laplace(0 Real, 1 Positive), [0.5, 1.3]),
    case!("logistic", Logistic(0 Real, 1 Positive), [0.5, 1.3]),
    case!("gumbel", Gumbel(0 Real, 1 Positive), [0.5, 1.3]),
    case!("student_t", StudentT(0 Positive, 1 Real, 2 Positive), [12.0, 0.5, 1.3]),
    case!("half_student_t", HalfStudentT(0 Positive, 1 Positive), [12.0, 1.3]),
    case!("exponential", Exponential(0 Positive), [1.7]),
    case!("gamma", Gamma(0 Positive, 1 Positive), [2.3, 1.7]),
    case!("inverse_gamma", InverseGamma(0 Positive, 1 Positive), [9.3, 1.7]),
    case!("chi2", Chi2(0 Positive), [3.7]),
    case!("weibull", Weibull(0 Positive, 1 Positive), [1.7, 2.3]),
    case!("pareto", Pareto(0 Positive, 1 Positive), [1.7, 12.0]),
    case!("beta", Beta(0 Positive, 1 Positive), [2.3, 0.7]),
    case!("kumaraswamy", Kumaraswamy(0 Positive, 1 Positive), [2.3, 1.7]),
    case!("von_mises", VonMises(0 Real, 1 Positive), [0.7, 2.3]),
    case!("uniform", Uniform(0 Fixed(-1.5), 1 Fixed(2.5)), [-1.5, 2.5]),
    case!("truncated_normal", TruncatedNormal(0 Real, 1 Positive, 2 Fixed(-1.0), 3 Fixed(2.0)), [0.5, 1.3, -1.0, 2.0]),
    case!("polya_gamma", PolyaGamma(0 Real), [1.7]),
];

fn case(name: &str) -> &'static Case {
    CASES.iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no distribution {name}"))
}

fn known<'g>(parameters: &[f64]) -> Vec<Value<'g>> {
    parameters.iter().map(|&p| Value::Known(p)).collect()
}

/// Outputs of a program whose inputs are all given, by name.
fn run<T: Scalar>(graph: &Graph, outputs: &[Var<'_>], inputs: &[(String, Vec<f64>)]) -> Vec<Vec<f64>> {
    let mut plan = ExecutionPlan::<T>::new(&Program::new(graph, outputs).expect("no mistakes"));
    for (name, values) in inputs {
        let values: Vec<T> = values.iter().map(|&x| T::of(x)).collect();
        if plan.input(name).is_ok() {
            plan.set(name, &values).expect("as many numbers as the input takes");
        }
    }
    plan.run();
    (0..outputs.len()).map(|k| plan.output(k).iter().map(|x| x.as_f64()).collect()).collect()
}

/// A stream of uniform numbers strictly inside (0, 1), of 52 bits: the generator of Steele, Lea and Flood
/// (SplitMix, 2014).
struct Stream(u64);

impl Stream {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0
    }

    /// By the polar coordinates of Box and Muller.
    fn normal(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * self.uniform().ln()).sqrt(), self.uniform());
        radius * (std::f64::consts::TAU * angle).cos()
    }
}

/// Numbers for all noise inputs.
fn noise_values(noise: &ppl_core::Noise<'_>, stream: &mut Stream) -> Vec<(String, Vec<f64>)> {
    let numbers = |kind: ppl_core::NoiseKind, count: usize, stream: &mut Stream| -> Vec<f64> {
        let one = |stream: &mut Stream| match kind {
            ppl_core::NoiseKind::StandardNormal => stream.normal(),
            _ => stream.uniform(),
        };
        (0..count).map(|_| one(stream)).collect()
    };
    let inputs = noise.inputs().iter();
    inputs.map(|(name, kind, shape)| (name.clone(), numbers(*kind, shape.elements(), stream))).collect()
}
