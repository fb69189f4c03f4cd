//! Random parameters and outcomes of laws, and what this crate says of them, a line each: law, parameters, outcome, its
//! log density, distribution function and survival function, a probability and its quantile.
//!
//! `peers/differential.py` compares them with SciPy and mpmath. Usage: `random_cases CASES [SEED]`.
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use ppl_distributions::*;
use rand::{Rng, RngExt};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;

/// Random parameters of moderate size.
struct Choices(ChaCha8Rng);

impl Choices {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.random::<f64>()
    }

    /// From 10⁻² to 10², every order of size as often as any other.
    fn size(&mut self) -> f64 {
        10_f64.powf(self.between(-2.0, 2.0))
    }

    fn place(&mut self) -> f64 {
        self.between(-10.0, 10.0)
    }

    fn share(&mut self) -> f64 {
        self.between(0.01, 0.99)
    }

    fn whole(&mut self, low: u64, high: u64) -> f64 {
        (low + self.0.next_u64() % (high - low + 1)) as f64
    }

    /// A probability: half of them near 0 or 1, down to 10⁻¹⁰.
    fn probability(&mut self) -> f64 {
        let small = 10_f64.powf(self.between(-10.0, -1.0));
        match self.0.next_u64() % 4 {
            0 => small,
            1 => 1.0 - small,
            _ => self.share(),
        }
    }
}

/// A line for a law of these parameters: half of the outcomes are draws, and half far out.
macro_rules! case {
    ($choices:ident, $name:literal, $density:ident, $law:expr, [$($parameter:expr),*]) => {{
        let law = $law;
        let x = match $choices.0.next_u64() % 2 {
            0 => law.sample(&mut $choices.0),
            _ => law.quantile($choices.probability()),
        };
        let probability = $choices.probability();
        let parameters = [$($parameter),*].map(|parameter: f64| format!("{parameter:e}")).join(" ");
        println!(
            "{},{parameters},{x:e},{:e},{:e},{:e},{probability:e},{:e}",
            $name, law.$density(x), law.cdf(x), law.sf(x), law.quantile(probability)
        );
    }};
}

fn line(number: u64, c: &mut Choices) {
    let (a, b, l, p) = (c.size(), c.size(), c.place(), c.share());
    match number % 34 {
        0 => case!(c, "beta", ln_pdf, Beta::new(a, b), [a, b]),
        1 => case!(c, "cauchy", ln_pdf, Cauchy::new(l, a), [l, a]),
        2 => case!(c, "chi2", ln_pdf, Chi2::new(a), [a]),
        3 => case!(c, "exponential", ln_pdf, Exponential::new(a), [a]),
        4 => case!(c, "gamma", ln_pdf, Gamma::new(a, b), [a, b]),
        5 => case!(c, "gumbel", ln_pdf, Gumbel::new(l, a), [l, a]),
        6 => case!(c, "half_cauchy", ln_pdf, HalfCauchy::new(a), [a]),
        7 => case!(c, "half_normal", ln_pdf, HalfNormal::new(a), [a]),
        8 => case!(c, "inverse_gamma", ln_pdf, InverseGamma::new(a, b), [a, b]),
        9 => case!(c, "kumaraswamy", ln_pdf, Kumaraswamy::new(a, b), [a, b]),
        10 => case!(c, "laplace", ln_pdf, Laplace::new(l, a), [l, a]),
        11 => case!(c, "log_normal", ln_pdf, LogNormal::new(0.1 * l, p), [0.1 * l, p]),
        12 => case!(c, "logistic", ln_pdf, Logistic::new(l, a), [l, a]),
        13 => case!(c, "normal", ln_pdf, Normal::new(l, a), [l, a]),
        14 => case!(c, "pareto", ln_pdf, Pareto::new(a, b), [a, b]),
        15 => case!(c, "student_t", ln_pdf, StudentT::new(b, l, a), [b, l, a]),
        16 => {
            let high = l + a * c.between(0.1, 6.0);
            case!(c, "truncated_normal", ln_pdf, TruncatedNormal::new(0.5, a, l, high), [0.5, a, l, high])
        }
        17 => case!(c, "uniform", ln_pdf, Uniform::new(l, l + a), [l, l + a]),
        18 => case!(c, "von_mises", ln_pdf, VonMises::new(0.3 * l, a), [0.3 * l, a]),
        19 => case!(c, "weibull", ln_pdf, Weibull::new(a, b), [a, b]),
        20 => case!(c, "asymmetric_laplace", ln_pdf, AsymmetricLaplace::new(l, a, b), [l, a, b]),
        21 => case!(c, "gompertz", ln_pdf, Gompertz::new(a, b), [a, b]),
        22 => case!(c, "inverse_gaussian", ln_pdf, InverseGaussian::new(a, b), [a, b]),
        23 => case!(c, "log_uniform", ln_pdf, LogUniform::new(a, a * (1.0 + b)), [a, a * (1.0 + b)]),
        24 => case!(c, "skew_normal", ln_pdf, SkewNormal::new(l, a, 0.4 * l), [l, a, 0.4 * l]),
        25 => {
            let rate = c.size() / a;
            let law = ExponentiallyModifiedGaussian::new(l, a, rate);
            case!(c, "exponentially_modified_gaussian", ln_pdf, law, [l, a, rate])
        }
        26 => case!(c, "bernoulli", ln_pmf, Bernoulli::from_probs(p), [p]),
        27 => {
            let n = c.whole(1, 2000);
            case!(c, "binomial", ln_pmf, Binomial::from_probs(n, p), [n, p])
        }
        28 => {
            // Its distribution function is there for up to 256 trials.
            let n = c.whole(1, 256);
            case!(c, "beta_binomial", ln_pmf, BetaBinomial::new(a, b, n), [a, b, n])
        }
        29 => case!(c, "geometric", ln_pmf, Geometric::from_probs(p), [p]),
        30 => case!(c, "negative_binomial", ln_pmf, NegativeBinomial::from_probs(a, p), [a, p]),
        31 => case!(c, "poisson", ln_pmf, Poisson::new(10.0 * a), [10.0 * a]),
        32 => {
            let (centre, scale) = (l.round(), a.max(0.1));
            case!(c, "discrete_laplace", ln_pmf, DiscreteLaplace::new(centre, scale), [centre, scale])
        }
        _ => case!(c, "skellam", ln_pmf, Skellam::new(a, b), [a, b]),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let cases: u64 = arguments.next().ok_or("usage: random_cases CASES [SEED]")?.parse()?;
    let seed: u64 = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    let mut choices = Choices(ChaCha8Rng::seed_from_u64(seed));
    (0..cases).for_each(|number| line(number, &mut choices));
    Ok(())
}
