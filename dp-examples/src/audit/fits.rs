//! A whole fit, audited in one run.

use super::one_run_epsilon;
use dp_accountant::Budget;
use dp_sampler::{FullBatch, Purpose, Seed, rand_core::Rng};
use dp_vi::guides::AutoDelta;
use dp_vi::optimiser::{Schedule, sgd};
use dp_vi::{Clipping, Correction, DpVi, DrawScheme, Sensitive};
use ndarray::Array2;
use ppl_core::{Column, Ctx, Distribution, Records};
use ppl_distributions::Normal;
use serde::Serialize;
use std::error::Error;

/// What guessing which canaries were in a fit says of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OneRun {
    /// Records whose presence was decided by a fair coin.
    pub canaries: u64,
    /// Guesses that were made, for those that the fit says the most of.
    pub guesses: u64,
    /// Guesses that were right.
    pub right: u64,
    /// δ of the fit.
    pub delta: f64,
    /// ε of the fit at this δ, as it is claimed.
    pub claimed: f64,
    /// What ε is at least, but for a probability of [`FALSE_ALARM`](super::FALSE_ALARM).
    pub found: f64,
}

/// δ of the fit. The bound for one run adds some `2 m δ` for `m` canaries to the probability that it fails, which at 10⁻⁵
/// would be far more than what a bound at this confidence may fail with.
const DELTA: f64 = 1e-10;

/// The share of the canaries that are guessed to be in, and again of those that are guessed to be out.
const GUESSED: f64 = 0.05;

/// Fits a model of which every element belongs to one canary, and guesses from the posterior which of them were there.
///
/// Each canary is in the data by a fair coin of its own, and pulls at its own element with a gradient far above the
/// clip norm, so that nothing but the noise hides it. The audit's bound for one run (Steinke, Nasr and Jagielski
/// 2023) is far below the claim even so: it holds for all canaries together, and what many guesses of one run can
/// prove grows slowly with their number.
///
/// # Errors
/// Those of the fit.
pub fn whole_fit(canaries: u64, epsilon: f64, seed: u64) -> Result<OneRun, Box<dyn Error>> {
    let count = canaries as usize;
    let mut coins = Seed::for_tests(seed).streams(Purpose::Custom("coins of canaries")).at(0);
    let inside: Vec<bool> = (0..count).map(|_| coins.next_u64() >> 63 == 1).collect();
    let members: Vec<usize> = (0..count).filter(|&k| inside[k]).collect();
    let mut x = Array2::zeros((members.len(), count));
    members.iter().enumerate().for_each(|(row, &k)| x[[row, k]] = 40_f32);
    let records = Sensitive::new(Records::from_columns([("x", Column::from(x))])?);
    let model = |ctx: &mut Ctx<'_>| {
        // So wide that the prior does not hold any element back.
        let w = ctx.sample("w", Normal::new(0.0, 1e6).iid(count))?;
        ctx.each_record(|ctx, record| ctx.factor("pull", record.get("x")?.dot(w)))
    };
    let fit = DpVi::new(model, AutoDelta::unconstrained())
        .budget(Budget::add_remove(epsilon, DELTA))
        .subsample(FullBatch)
        .steps(20)
        .draw_scheme(DrawScheme::Single)
        .clipping(Clipping::Flat)
        .clip_norm(1.0)
        .correction(Correction::None)
        .optimiser(sgd(Schedule::Constant(1e-3))?)
        .seed(Seed::for_tests(seed + 1))
        .fit(&records)?;
    let scores = fit.posterior().mean("w")?;
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| scores[[b]].total_cmp(&scores[[a]]));
    let each = (count as f64 * GUESSED) as usize;
    let right = order[..each].iter().filter(|&&k| inside[k]).count()
        + order[count - each..].iter().filter(|&&k| !inside[k]).count();
    let (guesses, right) = (2 * each as u64, right as u64);
    let claimed = fit.privacy().epsilon.as_ref().map_or(f64::INFINITY, |epsilon| epsilon.upper);
    let found = one_run_epsilon(right, guesses, canaries, DELTA, super::FALSE_ALARM);
    Ok(OneRun { canaries, guesses, right, delta: DELTA, claimed, found })
}
