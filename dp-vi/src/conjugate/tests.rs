//! Fits without noise against exact posteriors, the bound on the evidence, and audits of the noise.

use super::fit::ConjugateTraining;
use super::plan::{Said, programs};
use super::{ConjugateVi, Curvature};
use crate::wall::bound::clip::{ClipNorm, Rule};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Budget, Relation};
use dp_sampler::Seed;
use ndarray::{Array1, Array2};
use ppl_core::conjugate::Statistics;
use ppl_core::{Column, Ctx, Distribution, ExecutionPlan, Graph, Program, Records, Result, Schema};
use ppl_distributions::{Bernoulli, Beta, Categorical, Dirichlet, Gamma, Normal, Poisson, Words};

/// A few numbers that look random, between −½ and ½.
fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        })
        .collect()
}

fn mixture(ctx: &mut Ctx) -> Result<()> {
    let pi = ctx.sample("pi", Dirichlet::symmetric(1.0, 3))?;
    let mu = ctx.sample("mu", Normal::new(0.0, 3.0).iid([3, 2]))?;
    ctx.each_record(|ctx, r| {
        ctx.enumerate("z", Categorical::from_probs(pi), |ctx, z| {
            ctx.observe("x", Normal::new(mu.gather(z), 0.7), r.get("x")?)
        })
    })
}

fn logistic(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
    ctx.each_record(|ctx, record| {
        let logit = record.get("x")?.dot(w);
        ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
    })
}

fn lda(ctx: &mut Ctx) -> Result<()> {
    let v = ctx.records().dim("counts")?;
    let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, v).iid(3))?;
    ctx.each_record(|ctx, document| {
        let theta = ctx.sample("theta", Dirichlet::symmetric(0.3, 3))?;
        ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)
    })
}

/// With a concentration above 1, so that a document's own factor has one optimum.
fn mixed_documents(ctx: &mut Ctx) -> Result<()> {
    let v = ctx.records().dim("counts")?;
    let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, v).iid(3))?;
    ctx.each_record(|ctx, document| {
        let theta = ctx.sample("theta", Dirichlet::symmetric(2.0, 3))?;
        ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)
    })
}

fn precision(ctx: &mut Ctx) -> Result<()> {
    let mu = ctx.sample("mu", Normal::new(0.0, 10.0))?;
    let tau = ctx.sample("tau", Gamma::new(2.0, 3.0))?;
    ctx.each_record(|ctx, r| ctx.observe("x", Normal::new(mu, tau.sqrt().reciprocal()), r.get("x")?))
}

fn hierarchical(ctx: &mut Ctx) -> Result<()> {
    let tau = ctx.sample("tau", Gamma::new(2.0, 3.0))?;
    let w = ctx.sample("w", Normal::new(0.0, tau.sqrt().reciprocal()).iid(2))?;
    ctx.each_record(|ctx, r| ctx.observe("y", Bernoulli::from_logits(r.get("x")?.dot(w)), r.get("y")?))
}

fn sbn(ctx: &mut Ctx) -> Result<()> {
    let (w, c) =
        (ctx.sample("w", Normal::new(0.0, 1.0).iid([6, 2]))?, ctx.sample("c", Normal::new(0.0, 5.0).iid(6))?);
    let b = ctx.sample("b", Normal::new(0.0, 5.0).iid(2))?;
    ctx.each_record(|ctx, image| {
        let z = ctx.sample("z", Bernoulli::from_logits(b))?;
        ctx.observe("pixels", Bernoulli::from_logits(w.dot(z) + c), image.get("pixels")?)
    })
}

fn points() -> Records {
    let x = Array2::from_shape_fn((60, 2), |(i, j)| ((i % 3) as f64 - 1.0) * 3.0 * (j as f64 - 0.3));
    Records::from_columns([("x", x + Array2::from_shape_vec((60, 2), numbers(120, 1)).unwrap())]).unwrap()
}

fn binary(n: usize, d: usize) -> Records {
    let x = Array2::from_shape_vec((n, d), numbers(n * d, 3)).unwrap() * 2.0;
    let y = x.rows().into_iter().zip(numbers(n, 4));
    let y: Array1<f64> = y.map(|(x, u)| f64::from(x[0] - 0.2 * x[1] > 2.0 * u)).collect();
    Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap()
}

fn documents() -> Records {
    let counts =
        Array2::from_shape_fn((30, 8), |(i, v)| if i % 3 == v % 3 { (3 + (i * v) % 5) as u16 } else { 0 });
    Records::from_columns([("counts", counts)]).unwrap()
}

fn images() -> Records {
    let pixels =
        Array2::from_shape_fn((40, 6), |(i, j)| u8::from((i % 2 == 0) == (j < 3) && (i + j) % 5 != 0));
    Records::from_columns([("pixels", pixels)]).unwrap()
}

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
        let found = bounds(model, &records, said, 25);
        for (round, pair) in found.windows(2).enumerate() {
            let slack = 1e-9 * (1.0 + pair[0].abs());
            assert!(pair[1] >= pair[0] - slack, "{name}, round {round}: {} after {}", pair[1], pair[0]);
        }
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

#[test]
fn noise_has_the_size_that_the_plan_states_in_each_relation() {
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation };
        let said = Said { budget: Some(budget), steps: Some(400), ..Said::default() };
        let records = Sensitive::new(documents());
        let mut ledger = dp_accountant::Ledger::new(budget).unwrap();
        let model: fn(&mut Ctx<'_>) -> Result<()> = lda;
        let mut training =
            ConjugateTraining::new(&model, &said, &records, &Seed::for_tests(2), Some(&mut ledger), false)
                .unwrap();
        let vi = ConjugateVi::new(lda).budget(budget).steps(400);
        let plan = vi.plan(records.schema()).unwrap();
        let (mut square, mut count) = (0.0, 0.0);
        for _ in 0..400 {
            training.step().unwrap();
            square += training.steps_mut().last_noise().iter().map(|z| z * z).sum::<f64>();
            count += 24.0;
            let added = training.steps_mut().noise_added();
            assert!((added / plan.noise - 1.0).abs() < 1e-3, "{added} {}", plan.noise);
        }
        // 9,600 standard normals: a variance off by 0.1 is seven standard errors away.
        assert!((square / count - 1.0_f64).abs() < 0.1);
        // What is accounted for is the noise over the sensitivity.
        let sigma = plan.calibrated.unwrap().noise_multiplier;
        let over = match relation {
            Relation::AddRemove => plan.noise / plan.sensitivity,
            Relation::ReplaceOne => 2.0 * plan.noise / plan.sensitivity,
        };
        assert!(over >= sigma * (1.0 - 1e-8), "{over} {sigma}");
    }
}

/// A run that is stopped and goes on gives the bits of one that was not.
#[test]
fn resumed_is_uninterrupted() {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::ReplaceOne };
    let start = || ConjugateVi::new(lda).budget(budget).steps(7);
    let records = Sensitive::new(documents());
    let whole = start().seed(Seed::for_tests(4)).fit(&records).unwrap();
    let file = std::env::temp_dir().join(format!("dp-vi-conjugate-{}.checkpoint", std::process::id()));
    // Stopped after four steps.
    let mut ledger = dp_accountant::Ledger::new(budget).unwrap();
    let said = Said { budget: Some(budget), steps: Some(7), ..Said::default() };
    let model: fn(&mut Ctx<'_>) -> Result<()> = lda;
    let seed = Seed::for_tests(4);
    let mut training =
        ConjugateTraining::new(&model, &said, &records, &seed, Some(&mut ledger), false).unwrap();
    (0..4).for_each(|_| training.step().unwrap());
    let print = crate::wall::fingerprint::fingerprint_of_records(&records, &seed);
    let settings = training.description(records.schema());
    let own = crate::run::checkpoint::PaidFrom::Own;
    training.checkpoint(Some(Seed::for_tests(4)), own, &settings, print).write(&file).unwrap();
    let resumed = start().checkpoint(&file, 2).resume(&records).unwrap();
    assert_eq!(whole.parameters().collect::<Vec<_>>(), resumed.parameters().collect::<Vec<_>>());
    assert_eq!(resumed.privacy().steps_done, 7);
    // Complete, it is not repeated; over other records, or with other settings, it is refused.
    let again = start().checkpoint(&file, 2).resume(&records).unwrap();
    assert_eq!(whole.parameters().collect::<Vec<_>>(), again.parameters().collect::<Vec<_>>());
    training.checkpoint(Some(Seed::for_tests(4)), own, &settings, print).write(&file).unwrap();
    let others = Sensitive::new(Records::from_columns([("counts", Array2::<u16>::ones((30, 8)))]).unwrap());
    assert!(start().checkpoint(&file, 2).resume(&others).is_err());
    assert!(start().clip_norm(3.0).checkpoint(&file, 2).resume(&records).is_err());
    assert!(start().checkpoint(&file, 2).fit(&records).is_err(), "a checkpoint is not overwritten");
    assert!(start().checkpoint(&file, 2).resume_from(&records, &mut ledger).is_err());
    std::fs::remove_file(&file).unwrap();
    // While it runs, a checkpoint holds the documents' own factors; a complete one says nothing of single documents.
    let numbers = |training: &ConjugateTraining<'_>| {
        training.checkpoint(Some(Seed::for_tests(4)), own, &settings, print).numbers.len()
    };
    let during = numbers(&training);
    (4..7).for_each(|_| training.step().unwrap());
    assert_eq!(during - numbers(&training), 30 * 3);
}

/// What is kept of a document depends on that document alone, given what was released: the same document among others
/// has the same factors, bit for bit.
#[test]
fn what_is_kept_of_a_record_depends_on_no_other_record() {
    let here = documents();
    let counts = Array2::from_shape_fn((30, 8), |(i, v)| match i {
        7 => u16::from(v % 3 == 1) * (3 + (7 * v) % 5) as u16,
        _ => ((i * v) % 4) as u16,
    });
    let others = Records::from_columns([("counts", counts)]).unwrap();
    let state_after_one_step = |records: Records| {
        let records = Sensitive::new(records);
        let said = Said { without_privacy: true, ..Said::default() };
        let model: fn(&mut Ctx<'_>) -> Result<()> = lda;
        let seed = Seed::for_tests(3);
        let mut training = ConjugateTraining::new(&model, &said, &records, &seed, None, false).unwrap();
        training.step().unwrap();
        training.states().unwrap().values().row(7).to_owned()
    };
    let state = state_after_one_step(here);
    assert_eq!(state, state_after_one_step(others));
    assert!(state.iter().any(|x| *x > 1.0), "{state}");
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let counts = Array2::from_shape_fn((3000, 20), |(i, v)| ((i * 7 + v * v) % 5) as u8);
    let records = Sensitive::new(Records::from_columns([("counts", counts)]).unwrap());
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit = pool
            .install(|| ConjugateVi::new(lda).budget(budget).steps(3).seed(Seed::for_tests(1)).fit(&records));
        fit.unwrap().parameters().map(|(name, values)| (name.to_owned(), values.to_vec())).collect::<Vec<_>>()
    };
    assert_eq!(fit(1), fit(3));
}

/// A fit passes over the words that documents do not have, which changes nothing but the last digits.
#[test]
fn a_fit_without_zeros_is_that_with_them() {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::ReplaceOne };
    let counts = Array2::from_shape_fn((700, 40), |(i, v)| match (i * 7 + v * v) % 9 {
        0 => ((i + v) % 4) as u8,
        _ => 0,
    });
    let records = Sensitive::new(Records::from_columns([("counts", counts)]).unwrap());
    let model: fn(&mut Ctx<'_>) -> Result<()> = lda;
    for without_privacy in [false, true] {
        let run = |with_zeros: bool| {
            let scales = vec![("beta".to_owned(), 2.0)];
            let budget = Some(budget);
            let said = Said { budget, without_privacy, steps: Some(4), with_zeros, scales, ..Said::default() };
            let mut ledger = dp_accountant::Ledger::new(said.budget.unwrap()).unwrap();
            let (seed, purse) = (Seed::for_tests(3), Some(&mut ledger as &mut dyn dp_accountant::Purse));
            let mut training = ConjugateTraining::new(&model, &said, &records, &seed, purse, false).unwrap();
            (0..4).for_each(|_| training.step().unwrap());
            let settings = training.description(records.schema());
            assert_eq!(settings.contains("without zeros"), !with_zeros, "{settings}");
            let states: Vec<f64> = training.states().unwrap().values().iter().copied().collect();
            [training.released().to_vec(), states]
        };
        for (with, without) in run(true).iter().zip(&run(false)) {
            for (a, b) in with.iter().zip(without) {
                // A step of the grid of the noise is 6e-9 here.
                assert!((a - b).abs() <= 1e-7 * (1.0 + a.abs()), "{a} {b}");
            }
        }
    }
}

/// Two data sets, with and without one document that fits nothing else: an attacker who looks at the sum of the words
/// that only this document has cannot tell them apart more often than ε allows.
#[test]
fn a_canary_is_found_no_more_often_than_stated() {
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation };
        let base = Array2::from_shape_fn((20, 8), |(_, v)| u16::from(v < 4) * 2);
        let mut with = base.clone();
        with.row_mut(0).assign(&ndarray::arr1(&[0, 0, 0, 0, 0, 0, 0, 900_u16]));
        let without = match relation {
            Relation::AddRemove => base.slice(ndarray::s![1.., ..]).to_owned(),
            Relation::ReplaceOne => {
                let mut other = base.clone();
                other.row_mut(0).assign(&ndarray::arr1(&[0, 0, 0, 0, 900_u16, 0, 0, 0]));
                other
            }
        };
        // One topic, so that the whole norm of the document is in one cell.
        let model = |ctx: &mut Ctx<'_>| {
            let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, 8))?;
            ctx.each_record(|ctx, document| {
                ctx.observe(
                    "words",
                    Words::mixed(ctx.constant(vec![1.0]), beta.reshape([1, 8])),
                    document.get("counts")?,
                )
            })
        };
        let score = |counts: Array2<u16>, seed: u64| {
            let records = Sensitive::new(Records::from_columns([("counts", counts)]).unwrap());
            let said = Said { budget: Some(budget), steps: Some(1), clip_norm: Some(6.0), ..Said::default() };
            let mut ledger = dp_accountant::Ledger::new(budget).unwrap();
            let seed = Seed::for_tests(seed);
            let mut training =
                ConjugateTraining::new(&model, &said, &records, &seed, Some(&mut ledger), false).unwrap();
            training.step().unwrap();
            let released = training.released();
            released[7] - released[4]
        };
        let runs = 400;
        // Without the document the score is that of noise alone, around minus the words of the others.
        let middle = |counts: &Array2<u16>| {
            let all: f64 = (0..runs).map(|k| score(counts.clone(), 50_000 + k)).sum();
            all / runs as f64
        };
        let threshold = 0.5 * (middle(&with) + middle(&without));
        let rate = |counts: &Array2<u16>, first: u64| {
            let found = (0..runs).filter(|k| score(counts.clone(), first + k) > threshold).count();
            found as f64 / runs as f64
        };
        let (hits, alarms) = (rate(&with, 0), rate(&without, 10_000));
        // The advantage that ε allows, and 5.2 standard errors of a difference of two shares (a false alarm in 10⁶).
        let advantage = (1.0_f64.exp() - 1.0) / (1.0_f64.exp() + 1.0) + 1e-5;
        let error = 5.2 * (0.5 / runs as f64).sqrt();
        assert!(hits - alarms <= advantage + error, "{relation}: {hits} and {alarms}");
        // The attack sees something: noise that is ten times too large would hide it.
        assert!(hits - alarms > 0.1, "{relation}: {hits} and {alarms}");
    }
}

/// The clipped contribution of each record, in units of the scales, in no particular order.
fn contributions(
    model: fn(&mut Ctx<'_>) -> Result<()>,
    said: &Said,
    records: &Records,
    at: &[(&str, Vec<f64>)],
) -> (Vec<Vec<f64>>, super::ConjugatePlan) {
    let graph = Graph::new();
    let statistics = Statistics::new(&model, &graph, records.schema(), programs(said)).unwrap();
    let plan = super::ConjugatePlan::new(said, &statistics).unwrap();
    let weight = super::plan::weight(&statistics, &plan).unwrap();
    let (value, inputs) = statistics.scaled(&plan.scales, weight).unwrap();
    let mut program = ppl_core::RecordGradient::<f64>::new(value, &inputs).unwrap();
    for (name, values) in at {
        program.set(&format!("scaled {name}"), values).unwrap();
    }
    // Whatever the states of records' own factors are.
    for (number, kept) in statistics.kept().iter().enumerate() {
        let to = program.record_input_mut(&kept.name, records.len()).unwrap();
        let states = numbers(to.len(), 100 + number as u64);
        to.iter_mut().zip(states).for_each(|(to, u)| *to = 30.0 * (u + 0.5).powi(4));
    }
    let rule = Rule::Flat(ClipNorm::new(plan.clip_norm, program.dimension()).unwrap());
    let all: Vec<u64> = (0..records.len() as u64).collect();
    let mut takers: Vec<Vec<Vec<f64>>> = (0..rayon::current_num_threads()).map(|_| Vec::new()).collect();
    let take = |taken: &mut Vec<Vec<f64>>, one: &[f64]| taken.push(one.to_vec());
    rule.each(&mut program, records, &all, &mut takers, take).unwrap();
    (takers.concat(), plan)
}

/// The largest norm, and the largest distance of two out of 10⁵ pairs.
fn largest(all: &[Vec<f64>]) -> (f64, f64) {
    let norm = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let distance = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt();
    let most = all.iter().map(|x| norm(x)).fold(0.0, f64::max);
    let n = all.len();
    let pairs = (0..100_000).map(|k| (k % n, (k * 7919 + k / n * 31 + 1) % n));
    (most, pairs.map(|(a, b)| distance(&all[a], &all[b])).fold(0.0, f64::max))
}

#[test]
fn statistics_of_random_pairs_stay_below_each_sensitivity_and_come_near_it() {
    let said = |relation| {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation };
        Said { budget: Some(budget), ..Said::default() }
    };
    let check = |name: &str,
                 model: fn(&mut Ctx<'_>) -> Result<()>,
                 said_more: fn(Said) -> Said,
                 records: &Records,
                 at: &[(&str, Vec<f64>)]| {
        let (all, plan) = contributions(model, &said_more(said(Relation::AddRemove)), records, at);
        let (norm, _) = largest(&all);
        assert!(norm <= plan.sensitivity * (1.0 + 1e-12), "{name}: norm {norm} {}", plan.sensitivity);
        assert!(norm >= 0.99 * plan.sensitivity, "{name}: norm {norm} {}", plan.sensitivity);
        let (all, plan) = contributions(model, &said_more(said(Relation::ReplaceOne)), records, at);
        let (_, distance) = largest(&all);
        assert!(distance <= plan.sensitivity * (1.0 + 1e-12), "{name}: {distance} {}", plan.sensitivity);
        assert!(distance >= 0.99 * plan.sensitivity, "{name}: {distance} {}", plan.sensitivity);
        plan.replace_bound
    };
    // Rows of all lengths and directions, some far longer than R.
    let x = Array2::from_shape_fn((2000, 2), |(i, j)| {
        let (angle, length) = (i as f64 * 2.399_963, 0.1 + 0.01 * (i % 700) as f64);
        length * if j == 0 { angle.cos() } else { angle.sin() }
    });
    let y: Array1<f64> = numbers(2000, 8).into_iter().map(|u| f64::from(u > 0.0)).collect();
    let rows = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap();
    // With E[w wᵀ] = 0 every ξ is ¼, its largest value.
    let nothing = [("E[w]", vec![0.0; 2]), ("E[w wᵀ]", vec![0.0; 4])];
    let found = check("logistic", logistic, |said| said, &rows, &nothing);
    assert_eq!(found, super::ReplaceBound::Logistic);
    // Documents of a few words, long and short.
    let counts = Array2::from_shape_fn((2000, 12), |(i, v)| {
        if (i * 7 + i / 12) % 12 == v || i % 11 == v { (i % 40) as u16 } else { 0 }
    });
    let words = Records::from_columns([("counts", counts)]).unwrap();
    let log_beta: Vec<f64> = numbers(36, 9).iter().map(|u| -3.0 + 5.0 * u).collect();
    let found = check("lda", lda, |said| said, &words, &[("E[ln beta]", log_beta)]);
    assert_eq!(found, super::ReplaceBound::OneSign);
    // Points in all directions, far out.
    let x = Array2::from_shape_fn((2000, 2), |(i, j)| {
        let angle = i as f64 * 2.399_963;
        (1.0 + 0.5 * (i % 500) as f64) * if j == 0 { angle.cos() } else { angle.sin() }
    });
    let points = Records::from_columns([("x", x)]).unwrap();
    // With equal components, points that lie opposite each other have opposite statistics but for small constants.
    let at = [("E[ln pi]", vec![-1.0; 3]), ("E[mu]", vec![0.0; 6]), ("E[mu²]", vec![0.1; 6])];
    let one = |said| Said { clip_norm: Some(2.0), ..said };
    assert_eq!(check("mixture", mixture, one, &points, &at), super::ReplaceBound::Any);
}

#[test]
fn the_exact_bound_of_logistic_regression_is_the_largest_value_of_its_formula() {
    for scale in [0.3, 1.0, 2.0, 8.0_f64.sqrt(), 5.0, 20.0] {
        let found = super::logistic_sensitivity(Relation::ReplaceOne, scale).unwrap();
        let at =
            |t: f64| (0.5 * (1.0 + t) + scale * scale * (1.0_f64 / 16.0).max((1.0 - t * t) / 8.0)).sqrt();
        let searched = (0..=100_000).map(|k| at(f64::from(k) / 1e5)).fold(0.0, f64::max);
        assert!((found - searched).abs() <= 1e-9 * searched, "{scale}: {found} {searched}");
    }
    assert!(super::logistic_sensitivity(Relation::AddRemove, f64::NAN).is_err());
    assert!(super::logistic_sensitivity(Relation::AddRemove, 0.0).is_err());
}

/// How many topics a budget carries follows from public numbers: what a mean cell must be, and the noise.
#[test]
fn a_plan_says_how_many_rows_a_table_of_counts_may_have() {
    let schema = Schema::new([("counts", 1000)]).unwrap();
    let topics = |k: usize| {
        move |ctx: &mut Ctx<'_>| {
            let beta = ctx.sample("beta", Dirichlet::symmetric(0.01, 1000).iid(k))?;
            ctx.each_record(|ctx, document| {
                let theta = ctx.sample("theta", Dirichlet::symmetric(0.3, k))?;
                ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)
            })
        }
    };
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let plan = ConjugateVi::new(topics(3)).budget(budget).plan(&schema).unwrap();
    // One release of multiplier 3.73 (ε = 1, δ = 1e-5) at C = 6 has noise 22.4; 120 of them averaged, 1.44 times that.
    assert!((plan.averaged_noise() / 32.3 - 1.0).abs() < 0.01, "{}", plan.averaged_noise());
    let needed = plan.counts_needed().unwrap();
    assert!((needed / (4.0 * plan.averaged_noise() * 3000.0) - 1.0).abs() < 1e-12);
    // The documents of 20 Newsgroups have about 420,000 counts, clipped: three topics, not ten.
    assert_eq!(plan.most_rows(420_000.0), Some(3));
    assert_eq!(plan.most_rows(0.0), Some(1));
    assert!(plan.explain().contains("3 rows of 1000 counts"), "{}", plan.explain());
    let ten = ConjugateVi::new(topics(10)).budget(budget).plan(&schema).unwrap();
    assert!(ten.counts_needed().unwrap() > 1e6 && ten.most_rows(420_000.0) == Some(3));
    // Without a table, or without noise, there is nothing to say.
    let open = ConjugateVi::new(topics(3)).without_privacy().plan(&schema).unwrap();
    assert_eq!((open.counts_needed(), open.most_rows(1e6)), (None, None));
}

#[test]
fn bad_input_is_an_error_with_the_value_and_the_bound() {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::ReplaceOne };
    let records = Sensitive::new(documents());
    let schema = records.schema().clone();
    let told = |vi: ConjugateVi<fn(&mut Ctx<'_>) -> Result<()>>| vi.plan(&schema).unwrap_err().to_string();
    let vi = || ConjugateVi::new(lda as fn(&mut Ctx<'_>) -> Result<()>).budget(budget);
    assert!(told(ConjugateVi::new(lda as fn(&mut Ctx<'_>) -> Result<()>)).contains("budget"));
    assert!(told(vi().steps(0)).contains("at least 1"));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(told(vi().clip_norm(bad)).contains("positive"));
        assert!(told(vi().scale("beta", bad)).contains("positive"));
        assert!(told(vi().feature_norm(bad)).contains("positive"));
    }
    assert!(told(vi().scale("gamma", 1.0)).contains("E[ln beta]"));
    // A fraction, or a negative count: the message does not quote it.
    for wrong in [1.5, -2.0, f64::NAN] {
        let mut counts = Array2::<f64>::ones((4, 8));
        counts[[2, 3]] = wrong;
        let records = Sensitive::new(Records::from_columns([("counts", counts)]).unwrap());
        let error = vi().fit(&records).unwrap_err().to_string();
        assert!(!error.contains("1.5") && !error.contains("-2"), "{error}");
    }
    // Empty documents, and no documents at all, are allowed.
    let empty = Records::from_columns([("counts", Array2::<u8>::zeros((3, 8)))]).unwrap();
    vi().steps(2).seed(Seed::for_tests(1)).fit(&Sensitive::new(empty)).unwrap();
    let none = Records::from_columns([("counts", Array2::<u8>::zeros((0, 8)))]).unwrap();
    vi().steps(2).seed(Seed::for_tests(1)).fit(&Sensitive::new(none)).unwrap();
    // A prior outside its domain.
    let broken = |ctx: &mut Ctx<'_>| {
        let p = ctx.sample("p", Beta::new(-1.0, 1.0))?;
        ctx.each_record(|ctx, r| ctx.observe("y", Bernoulli::from_probs(p), r.get("counts")?.element(0, 0)))
    };
    let error = ConjugateVi::new(broken).budget(budget).plan(&schema).unwrap_err().to_string();
    assert!(error.contains("'p'") && error.contains("-1"), "{error}");
    // Noise for replaced records does not protect presence.
    let mut ledger = dp_accountant::Ledger::new(Budget { relation: Relation::AddRemove, ..budget }).unwrap();
    assert!(vi().fit_from(&records, &mut ledger).is_err());
}
