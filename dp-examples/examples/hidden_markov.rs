//! A hidden Markov model of a public series: the load of a machine that is idle or busy, which nobody wrote down.
//!
//! The forward algorithm sums the states out: α_t(k) = p(y_t | k) Σ_j α_{t−1}(j) P(j → k), in logarithms. There are
//! no people in this series, so nothing is protected.
//!
//! `cargo run --release -p dp-examples --example hidden_markov`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_vi::prelude::*;
use ndarray::arr1;
use ppl_distributions::prelude::*;

/// How likely each state is to go on, the load in each, and how much the load varies.
const TRUTH: ([f64; 2], [f64; 2], f64) = ([0.9, 0.8], [1.0, 3.0], 0.7);

/// 150 hours, made by formulas that are the same at every run.
fn series() -> Vec<f64> {
    let (stays, level, scale) = TRUTH;
    let uniform = |k: u32| (f64::from(k) * 0.754_877_666_246_7).fract().mul_add(0.998, 0.001);
    let mut state = 0;
    let hour = |t: u32| {
        state = if uniform(3 * t) < stays[state] { state } else { 1 - state };
        let normal =
            (-2.0 * uniform(3 * t + 1).ln()).sqrt() * (std::f64::consts::TAU * uniform(7 * t * t + 2)).cos();
        level[state] + scale * normal
    };
    (0..150).map(hour).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let y = series();
    let model = |ctx: &mut Ctx| -> Result<()> {
        let stays = ctx.sample("stays", Beta::new(8.0, 2.0).iid(2))?;
        let level = ctx.sample("level", Normal::new(ctx.constant(vec![0.0, 4.0]), 1.0))?;
        let scale = ctx.sample("scale", HalfNormal::new(1.0))?;
        // [from, to]
        let moves = (stays.diagonal_matrix() + (1.0 - stays).diagonal_matrix().flip(1)).log();
        let mut forward = Normal::new(level, scale).log_prob(ctx.constant(y[0])) - 2.0_f64.ln();
        for y in &y[1..] {
            let here = Normal::new(level, scale).log_prob(ctx.constant(*y));
            forward = (forward.reshape([2, 1]) + moves).log_sum_exp_axis(0) + here;
        }
        ctx.factor("series", forward.log_sum_exp())
    };
    let fit = DpVi::new(model, AutoMultivariateNormal::new()).fit_public()?;
    let (stays, level, scale) = TRUTH;
    let truth = [("stays", arr1(&stays).into_dyn()), ("level", arr1(&level).into_dyn())].into_iter();
    let truth = truth.chain([("scale", ndarray::arr0(scale).into_dyn())]);
    let truth: Values = truth.map(|(site, value)| (site.to_owned(), value)).collect();
    println!("{}\n", fit.posterior().beside("truth", &truth));
    println!("{}", fit.convergence().ok_or("the fit did not go on until convergence")?);
    assert!(fit.convergence().is_some_and(|found| found.converged));
    Ok(())
}
