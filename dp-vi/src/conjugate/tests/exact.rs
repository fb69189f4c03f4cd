//! The bound on the evidence, exact posteriors, and what a private fit finds with hardly any noise.

use super::*;
use crate::conjugate::fit::ConjugateTraining;
use crate::conjugate::plan::{Said, programs};
use crate::conjugate::{ConjugateVi, Curvature, Estimate};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Budget, Relation};
use dp_sampler::Seed;
use ppl_core::conjugate::Statistics;
use ppl_core::{ExecutionPlan, Graph, Program};
use ppl_distributions::{Beta, Poisson};

/// The bound on the evidence at each round of a fit without noise.
fn bounds(model: fn(&mut Ctx<'_>) -> Result<()>, records: &Records, said: Said, rounds: u64) -> Vec<f64> {
    let said = Said { without_privacy: true, steps: Some(rounds), ..said };
    let hidden = Sensitive::new(records.clone());
    let mut training =
        ConjugateTraining::new(&model, &said, &hidden, &Seed::for_tests(5), None, false).unwrap();
    let graph = Graph::new();
    let statistics = Statistics::new(&model, &graph, records.schema(), programs(&said)).unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[statistics.record()]).unwrap());
    let all: Vec<u64> = (0..records.len() as u64).collect();
    let mut found = Vec::new();
    for _ in 0..rounds {
        training.step().unwrap();
        let factors = training.factors_mut();
        let rest = factors.bound().unwrap();
        for (name, values) in factors.parameters() {
            if let Ok(input) = plan.input(&name) {
                plan.input_mut(input).copy_from_slice(&values);
            }
        }
        let mut first = 0;
        for kept in statistics.kept() {
            let width = kept.input.shape().elements();
            let states = training.states().unwrap().values();
            let input = plan.record_input(&kept.name).unwrap();
            let to = plan.record_input_mut(input, records.len()).chunks_exact_mut(width);
            to.zip(states.rows()).for_each(|(to, row)| (0..width).for_each(|k| to[k] = row[first + k]));
            first += width;
        }
        let own = plan.evaluate(records, &all, 0).unwrap();
        found.push(rest + own.sum());
    }
    found
}

#[test]
fn without_noise_the_bound_on_the_evidence_never_falls() {
    let fixed = Said { curvature: Some(Curvature::Fixed), ..Said::default() };
    let many = Said { sweeps: Some(100), ..Said::default() };
    let both = Said { sweeps: Some(60), ..fixed.clone() };
    type AnyProgram = fn(&mut Ctx<'_>) -> Result<()>;
    let one = Said { sweeps: Some(1), ..Said::default() };
    let all: [(&str, AnyProgram, Records, Said); 10] = [
        ("mixture", mixture, points(), Said::default()),
        ("logistic", logistic, binary(50, 3), Said::default()),
        ("logistic, fixed", logistic, binary(50, 3), fixed),
        ("lda", mixed_documents, documents(), Said::default()),
        // With a concentration below 1 a document's own factor has several optima; it goes on from where it was.
        ("lda, sparse", lda, documents(), Said::default()),
        ("lda, sparse, one sweep", lda, documents(), one),
        ("precision", precision, Records::from_columns([("x", numbers(30, 9))]).unwrap(), Said::default()),
        ("hierarchical", hierarchical, binary(50, 2), Said::default()),
        ("sbn", sbn, images(), many),
        ("sbn, fixed", sbn, images(), both),
    ];
    for (name, model, records, said) in all {
        let never_falls = |estimate: Estimate| {
            let found = bounds(model, &records, Said { estimate, ..said.clone() }, 25);
            // The statistics of the first round are at expectations, which are no point's.
            let first = if estimate == Estimate::Posterior { 0 } else { 1 };
            for (round, pair) in found.windows(2).enumerate().skip(first) {
                let slack = 1e-9 * (1.0 + pair[0].abs());
                let (before, after) = (pair[0], pair[1]);
                assert!(
                    after >= before - slack,
                    "{name}, {estimate:?}, round {round}: {after} after {before}"
                );
            }
            found
        };
        // Priors with concentrations below 1 have no mode inside their set, and hierarchies no largest likelihood.
        if !name.starts_with("lda") {
            never_falls(Estimate::Mode);
        }
        if name != "hierarchical" {
            never_falls(Estimate::Likelihood);
        }
        let found = never_falls(Estimate::Posterior);
        // A fixed curvature makes everything linear: one round suffices.
        assert!(found[24] > found[0] || name == "logistic, fixed", "{name} learnt nothing: {found:?}");
    }
}

/// A fit without noise.
fn fitted(model: impl ppl_core::Model, records: Records) -> crate::Posterior {
    let fit = ConjugateVi::new(model).without_privacy().steps(60).seed(Seed::for_tests(1));
    fit.fit(&Sensitive::new(records)).unwrap().posterior().clone()
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-10 * (1.0 + expected.abs()), "{found} and {expected}");
}

#[test]
fn conjugate_models_have_their_exact_posteriors() {
    let x = numbers(40, 2);
    let sum: f64 = x.iter().sum();
    let normal = |ctx: &mut Ctx<'_>| {
        let mu = ctx.sample("mu", Normal::new(0.5, 2.0))?;
        ctx.each_record(|ctx, r| ctx.observe("x", Normal::new(mu, 0.7), r.get("x")?))
    };
    let posterior = fitted(normal, Records::from_columns([("x", x)]).unwrap());
    let precision = 0.25 + 40.0 / 0.49;
    close(posterior.mean("mu").unwrap()[[]], (0.125 + sum / 0.49) / precision);
    close(posterior.sd("mu").unwrap()[[]], precision.sqrt().recip());
    let poisson = |ctx: &mut Ctx<'_>| {
        let rate = ctx.sample("rate", Gamma::new(2.0, 3.0))?;
        ctx.each_record(|ctx, r| ctx.observe("n", Poisson::new(rate), r.get("n")?))
    };
    let posterior = fitted(poisson, Records::from_columns([("n", vec![0.0, 3.0, 1.0, 7.0])]).unwrap());
    close(posterior.mean("rate").unwrap()[[]], 13.0 / 7.0);
    close(posterior.sd("rate").unwrap()[[]], 13.0_f64.sqrt() / 7.0);
    let coins = |ctx: &mut Ctx<'_>| {
        let p = ctx.sample("p", Beta::new(2.0, 3.0))?;
        ctx.each_record(|ctx, r| ctx.observe("y", Bernoulli::from_probs(p), r.get("y")?))
    };
    let posterior = fitted(coins, Records::from_columns([("y", vec![0.0, 1.0, 1.0, 1.0])]).unwrap());
    close(posterior.mean("p").unwrap()[[]], 5.0 / 9.0);
    let categories = |ctx: &mut Ctx<'_>| {
        let p = ctx.sample("p", Dirichlet::symmetric(0.5, 3))?;
        ctx.each_record(|ctx, r| ctx.observe("k", Categorical::from_probs(p), r.get("k")?))
    };
    let posterior = fitted(categories, Records::from_columns([("k", vec![0.0, 2.0, 2.0])]).unwrap());
    let mean = posterior.mean("p").unwrap();
    [1.5, 0.5, 2.5].iter().zip(&mean).for_each(|(a, mean)| close(*mean, a / 4.5));
    // Linear regression: a normal with all correlations.
    let linear = |ctx: &mut Ctx<'_>| {
        let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(2))?;
        ctx.each_record(|ctx, r| ctx.observe("y", Normal::new(r.get("x")?.dot(w), 0.5), r.get("y")?))
    };
    let records = binary(30, 2);
    let x: Vec<f64> = records.column(0).numbers().collect();
    let y: Vec<f64> = records.column(1).numbers().collect();
    let (mut p, mut r) = ([[0.25, 0.0], [0.0, 0.25]], [0.0; 2]);
    for i in 0..30 {
        for a in 0..2 {
            r[a] += x[2 * i + a] * y[i] / 0.25;
            for b in 0..2 {
                p[a][b] += x[2 * i + a] * x[2 * i + b] / 0.25;
            }
        }
    }
    let det = p[0][0] * p[1][1] - p[0][1] * p[1][0];
    let posterior = fitted(linear, records);
    let (mean, sd) = (posterior.mean("w").unwrap(), posterior.sd("w").unwrap());
    close(mean[0], (p[1][1] * r[0] - p[0][1] * r[1]) / det);
    close(mean[1], (p[0][0] * r[1] - p[0][1] * r[0]) / det);
    close(sd[0], (p[1][1] / det).sqrt());
}

#[test]
fn a_private_fit_finds_what_a_fit_without_noise_finds_at_a_large_budget() {
    let budget = Budget { epsilon: 50.0, delta: 1e-5, relation: Relation::ReplaceOne };
    let records = binary(4000, 3);
    let fit = ConjugateVi::new(logistic)
        .budget(budget)
        .steps(20)
        .feature_norm(2.0)
        .seed(Seed::for_tests(1))
        .fit(&Sensitive::new(records.clone()))
        .unwrap();
    let exact = fitted(logistic, records).mean("w").unwrap();
    let private = fit.posterior().mean("w").unwrap();
    for (a, b) in private.iter().zip(&exact) {
        assert!((a - b).abs() < 0.15 * b.abs() + 0.3, "{private} {exact}");
    }
    let report = fit.privacy();
    assert!(report.epsilon.as_ref().unwrap().upper <= 50.0);
    assert!(report.noise_norm.unwrap() < report.clip_norm.unwrap());
}
