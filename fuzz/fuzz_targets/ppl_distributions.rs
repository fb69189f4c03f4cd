//! Arbitrary parameters and values: refused with the parameter's name, or a log density that is not above its
//! maximum.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ppl_core::{Distribution, ExecutionPlan, Graph, Program, gradient};
use ppl_distributions::{Bernoulli, HalfNormal, Normal};

fn number(data: &mut &[u8]) -> f64 {
    let (head, rest) = data.split_at(data.len().min(8));
    *data = rest;
    let mut bytes = [0; 8];
    bytes[..head.len()].copy_from_slice(head);
    f64::from_le_bytes(bytes)
}

/// The log density at `x` and its derivative, or `None` where the parameters are refused.
fn run<'g>(graph: &'g Graph, distribution: impl Distribution<'g>, x: f64) -> Option<(f64, f64)> {
    if let Err(error) = distribution.validate() {
        assert!(error.to_string().contains(distribution.name()));
        return None;
    }
    let value = graph.input("x", ()).expect("a fresh input");
    let log_prob = distribution.log_prob(value);
    let slope = gradient(log_prob, &[value]).expect("a scalar")[0];
    let program = Program::new(graph, &[log_prob, slope]).expect("a sound program");
    let mut plan = ExecutionPlan::<f64>::new(&program);
    plan.set("x", &[x]).expect("one number");
    plan.run();
    Some((plan.output(0)[0], plan.output(1)[0]))
}

fuzz_target!(|data: &[u8]| {
    let mut data = data;
    let (a, b, x) = (number(&mut data), number(&mut data), number(&mut data));
    if let Some((log_prob, slope)) = run(&Graph::new(), Normal::new(a, b), x) {
        assert!(a.is_finite() && b > 0.0 && b.is_finite());
        // Far from overflow of the standardised value, the density is a number below its maximum, sloping to
        // the mean.
        if x.is_finite() && ((x - a) / b).abs() < 1e100 {
            assert!(log_prob <= -b.ln() - 0.9189, "{a} {b} {x}: {log_prob}");
            assert!(slope * (x - a) <= 0.0 || slope.is_nan(), "{a} {b} {x}: {slope}");
        }
    }
    if let Some((log_prob, _)) = run(&Graph::new(), HalfNormal::new(b), x) {
        if x.is_finite() && (x / b).abs() < 1e100 {
            assert!(log_prob <= -b.ln() - 0.2257, "{b} {x}: {log_prob}");
        }
    }
    for y in [0.0, 1.0] {
        if let Some((log_prob, _)) = run(&Graph::new(), Bernoulli::from_logit(a), y) {
            assert!(log_prob <= 0.0, "{a} {y}: {log_prob}");
        }
    }
});
