//! Arbitrary parameters and values: refused with the parameter's name, or a log density that is −∞ outside the
//! support and not above its maximum inside; and any law with a distribution function, truncated and censored.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ppl_core::{
    Constraint, Distribution, ExecutionPlan, Graph, Noise, NoiseKind, Program, Shape, Var, gradient,
};
use ppl_distributions::*;

fn number(data: &mut &[u8]) -> f64 {
    let (head, rest) = data.split_at(data.len().min(8));
    *data = rest;
    let mut bytes = [0; 8];
    bytes[..head.len()].copy_from_slice(head);
    f64::from_le_bytes(bytes)
}

/// A number of ordinary size as often as any other.
fn either(data: &mut &[u8]) -> f64 {
    let number = number(data);
    match number.to_bits() & 3 {
        0 => number,
        1 => (number.to_bits() >> 40) as f64 / 1e6 - 8.0,
        2 => ((number.to_bits() >> 40) as f64 / 1e6 - 8.0).exp(),
        _ => ((number.to_bits() >> 58) as f64) - 8.0,
    }
}

/// The laws of single numbers, each of three parameters or fewer; all that have a distribution function.
const LAWS: usize = 48;

fn law<'g>(graph: &'g Graph, which: usize, [a, b, c]: [f64; 3]) -> Box<dyn Distribution<'g> + 'g> {
    let vector = || graph.array(&ndarray::arr1(&[a, b, c]).into_dyn());
    match which {
        0 => Box::new(Normal::new(a, b)),
        1 => Box::new(LogNormal::new(a, b)),
        2 => Box::new(HalfNormal::new(a)),
        3 => Box::new(Cauchy::new(a, b)),
        4 => Box::new(HalfCauchy::new(a)),
        5 => Box::new(Laplace::new(a, b)),
        6 => Box::new(Logistic::new(a, b)),
        7 => Box::new(Gumbel::new(a, b)),
        8 => Box::new(StudentT::new(a, b, c)),
        9 => Box::new(HalfStudentT::new(a, b)),
        10 => Box::new(Exponential::new(a)),
        11 => Box::new(Gamma::new(a, b)),
        12 => Box::new(InverseGamma::new(a, b)),
        13 => Box::new(Chi2::new(a)),
        14 => Box::new(Weibull::new(a, b)),
        15 => Box::new(Pareto::new(a, b)),
        16 => Box::new(Beta::new(a, b)),
        17 => Box::new(Kumaraswamy::new(a, b)),
        18 => Box::new(VonMises::new(a, b)),
        19 => Box::new(Uniform::new(a, b)),
        20 => Box::new(Poisson::new(a)),
        21 => Box::new(Binomial::from_logits(a, b)),
        22 => Box::new(NegativeBinomial::from_logits(a, b)),
        23 => Box::new(Geometric::from_logits(a)),
        24 => Box::new(Bernoulli::from_logits(a)),
        25 => Box::new(Bernoulli::from_probs(a)),
        26 => Box::new(Binomial::from_probs(a, b)),
        27 => Box::new(Geometric::from_probs(a)),
        28 => Box::new(BetaBinomial::new(a, b, c)),
        29 => Box::new(DiscreteUniform::new(a, b)),
        30 => Box::new(DiscreteLaplace::new(a, b)),
        31 => Box::new(Skellam::new(a, b)),
        32 => Box::new(AsymmetricLaplace::new(a, b, c)),
        33 => Box::new(BetaProportion::new(a, b)),
        34 => Box::new(ExponentiallyModifiedGaussian::new(a, b, c)),
        35 => Box::new(Gompertz::new(a, b)),
        36 => Box::new(InverseGaussian::new(a, b)),
        37 => Box::new(LogUniform::new(a, b)),
        38 => Box::new(RelaxedBernoulli::from_logits(a, b)),
        39 => Box::new(SkewNormal::new(a, b, c)),
        40 => Box::new(TruncatedNormal::new(a, b, c, f64::INFINITY)),
        41 => Box::new(ZeroInflated::from_probs(Poisson::new(a), b)),
        42 => Box::new(Hurdle::from_probs(Gamma::new(a, b), c)),
        43 => Box::new(OrderedLogistic::new(a, graph.array(&ndarray::arr1(&[b, c]).into_dyn()))),
        44 => Box::new(OrderedProbit::new(a, graph.array(&ndarray::arr1(&[b, c]).into_dyn()))),
        45 => Box::new(Categorical::from_logits(vector())),
        46 => Box::new(Gamma::new(a, b).by_quantile()),
        _ => Box::new(Categorical::from_probs(vector())),
    }
}

/// The numbers of outputs at one value of `x`.
fn run<'g>(graph: &'g Graph, outputs: &[Var<'g>], inputs: &[(String, f64)]) -> Vec<f64> {
    let program = Program::new(graph, outputs).expect("a sound program");
    let mut plan = ExecutionPlan::<f64>::new(&program);
    for (name, value) in inputs {
        if plan.input(name).is_ok() {
            plan.set(name, &[*value]).expect("one number");
        }
    }
    plan.run();
    (0..outputs.len()).map(|k| plan.output(k)[0]).collect()
}

/// Density, its slope, distribution function, quantile and draw of a law; nothing where it is refused.
fn check<'g>(graph: &'g Graph, law: &dyn Distribution<'g>, x: f64, u: f64) {
    if let Err(error) = law.validate() {
        let told = error.to_string();
        assert!(
            told.contains("must be") || told.contains("shapes") || told.contains("unsupported"),
            "{told}"
        );
        return;
    }
    let support = law.support();
    let value = graph.input("x", ()).expect("a fresh input");
    let log_prob = law.log_prob(value);
    let mut outputs = vec![log_prob, gradient(log_prob, &[value]).expect("a scalar")[0]];
    let p = graph.constant(u);
    let cdf = law.cdf(value).unwrap_or_else(|| graph.constant(0.5));
    let quantile = law.quantile(p);
    outputs.push(cdf);
    outputs.extend(quantile);
    let mut noise = Noise::new(graph, "noise");
    let draw = law.draw(&Shape::scalar(), &mut noise).ok();
    outputs.extend(draw);
    let mut inputs = vec![("x".to_owned(), x)];
    for (name, kind, _) in noise.inputs() {
        inputs.push((name.clone(), if *kind == NoiseKind::Uniform { u } else { 8.0 * u - 4.0 }));
    }
    let found = run(graph, &outputs, &inputs);
    let dependent = matches!(support, Constraint::Dependent | Constraint::DependentInteger);
    // At an end of its support a density has its limit there, which may be anything; and an outcome that was censored
    // may have been above a number that lies below every outcome. Here that must not panic.
    let compared = law.name() != "Censored";
    let inside = dependent || x.is_nan() || x == 0.0 || x == 1.0 || support.contains(x);
    if compared && !inside {
        assert!(found[0] == f64::NEG_INFINITY, "{} at {x} outside {support}: {}", law.name(), found[0]);
    }
}

/// As many bytes as a run takes. Those that an input lacks are made of what it has, so that short inputs, which come
/// first, have parameters and values that are not 0, too.
fn stretched(data: &[u8]) -> Vec<u8> {
    let mut bytes = data.to_vec();
    let mut state = data.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    while bytes.len() < 1 + 7 * 8 {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bytes.extend((mixed ^ (mixed >> 31)).to_le_bytes());
    }
    bytes
}

fuzz_target!(|data: &[u8]| {
    let bytes = stretched(data);
    let mut data = &bytes[..];
    let which = data.first().map_or(0, |&byte| usize::from(byte)) % LAWS;
    data = data.get(1..).unwrap_or(&[]);
    let parameters = [either(&mut data), either(&mut data), either(&mut data)];
    let (low, high, x) = (either(&mut data), either(&mut data), either(&mut data));
    let u = ((number(&mut data).to_bits() >> 12) as f64 + 0.5) / 4_503_599_627_370_496.0;
    /// Each in a graph of its own.
    macro_rules! check_each {
        ($($law:ident => $made:expr;)*) => {$({
            let graph = Graph::new();
            let $law = law(&graph, which, parameters);
            check(&graph, &$made, x, u);
        })*};
    }
    check_each! {
        law => law;
        law => Truncated::new(law, low, high);
        law => Truncated::new(law, low, f64::INFINITY);
        law => Truncated::new(law, f64::NEG_INFINITY, high);
        law => Censored::new(law, low, high);
        law => Censored::new(law, low, f64::INFINITY);
        law => Censored::new(law, f64::NEG_INFINITY, high);
        law => Censored::left(law, 1.0);
        law => Censored::right(law, 1.0);
        law => Censored::interval(law, high);
    }
    let (a, b) = (parameters[0], parameters[1]);
    check(&Graph::new(), &TruncatedNormal::new(a, b, low, high), x, u);
    for y in [0.0, 1.0, x] {
        check(&Graph::new(), &Bernoulli::from_logits(a), y, u);
    }
    // Far from overflow of the standardised value, the density of a normal variable is a number below its
    // maximum.
    if b > 0.0 && b.is_finite() && a.is_finite() && x.is_finite() && ((x - a) / b).abs() < 1e100 {
        let graph = Graph::new();
        let value = graph.constant(x);
        let log_prob = Normal::new(a, b).log_prob(value).known().unwrap_or(f64::NAN);
        assert!(log_prob <= -b.ln() - 0.9189, "{a} {b} {x}: {log_prob}");
    }
});
