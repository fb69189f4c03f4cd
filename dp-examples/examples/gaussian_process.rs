//! A Gaussian process through 40 public measurements, with all its parameters inferred.
//!
//! y ~ N(0, K + σ² I), K(s, t) = a² exp(−(s − t)²/(2 ℓ²)). There are no people in these data, so nothing is protected.
//!
//! `cargo run --release -p dp-examples --example gaussian_process`
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use dp_vi::prelude::*;
use ndarray::{Array1, Array2};
use ppl_core::Var;
use ppl_distributions::prelude::*;

const N: usize = 40;

fn truth(t: f64) -> f64 {
    1.5 * (1.3 * t).sin()
}

/// K between two lists of places, for the amplitude and the length scale.
fn kernel<'g>(ctx: &Ctx<'g>, s: &[f64], t: &[f64], [amplitude, length]: [Var<'g>; 2]) -> Var<'g> {
    let squares = Array2::from_shape_fn((s.len(), t.len()), |(i, j)| (s[i] - t[j]).powi(2));
    amplitude.square() * (-0.5 * ctx.constant(squares) / length.square()).exp()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let t: Vec<f64> = (0..N).map(|i| 6.0 * i as f64 / (N - 1) as f64).collect();
    // Uniform noise of standard deviation 0.3, the same at every run.
    let noise = |i: usize| 0.3 * 12.0_f64.sqrt() * ((i as f64 * 0.618_034).fract() - 0.5);
    let y: Vec<f64> = t.iter().enumerate().map(|(i, &t)| truth(t) + noise(i)).collect();
    let places = [0.75, 2.25, 3.75, 5.25, 7.5];
    let model = |ctx: &mut Ctx| -> Result<()> {
        let amplitude = ctx.sample("amplitude", HalfNormal::new(2.0))?;
        let length = ctx.sample("length", LogNormal::new(0.0, 0.7))?;
        let sigma = ctx.sample("sigma", HalfNormal::new(1.0))?;
        let with = [amplitude, length];
        let noise = sigma.square() * ctx.constant(Array2::<f64>::eye(N));
        let factor = (kernel(ctx, &t, &t, with) + noise).cholesky();
        let y = ctx.constant(y.clone());
        // What the curve is elsewhere: the mean and the variance of the process given y.
        let across = kernel(ctx, &t, &places, with);
        let left = factor.solve_lower(across);
        ctx.deterministic("curve", across.transpose().matvec(factor.cholesky_solve(y)))?;
        let variance = amplitude.square() - left.square().sum_axis(0);
        ctx.deterministic("width", variance.max(0.0).sqrt())?;
        ctx.observe("y", MultivariateNormal::from_cholesky(ctx.constant(Array1::zeros(N)), factor), y)
    };
    let fit = DpVi::new(&model, AutoMultivariateNormal::new()).fit_public()?;
    println!("{}\nsigma is 0.3 in truth\n", fit.posterior());
    let curve = fit.posterior().predictive(&model, 500, &Seed::from_os()?)?.only(["curve", "width"]);
    let drawn = curve.run(&Records::none())?;
    println!("   t   truth   curve");
    for (k, &place) in places.iter().enumerate() {
        let of = |site: &str| drawn[site].index_axis(ndarray::Axis(1), k).to_owned();
        let (curve, width) = (of("curve"), of("width"));
        // The law of total variance.
        let sd = (curve.var(0.0) + width.mapv(|w| w * w).mean().unwrap_or(f64::NAN)).sqrt();
        println!("{place:4.2} {:7.2} {:7.2} ± {sd:.2}", truth(place), curve.mean().unwrap_or(f64::NAN));
    }
    println!("{}", fit.convergence().ok_or("the fit did not go on until convergence")?);
    assert!(fit.convergence().is_some_and(|found| found.converged));
    Ok(())
}
