//! Variational EM: values in place of posterior factors.

use super::*;
use crate::conjugate::fit::ConjugateTraining;
use crate::conjugate::plan::Said;
use crate::conjugate::{ConjugateVi, Estimate};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Budget, Relation};
use dp_sampler::Seed;
use ppl_core::Schema;
use ppl_distributions::Poisson;

/// A mixture of three normals in the plane with a known scale, fitted by a hand-written EM: weights `p` and means `m`.
struct Mixture {
    p: [f64; 3],
    m: [[f64; 2]; 3],
}

const SCALE: f64 = 0.7;

impl Mixture {
    /// Joint densities of a point with each component, and their sum.
    fn joint(&self, x: &[f64]) -> ([f64; 3], f64) {
        let joint: [f64; 3] = std::array::from_fn(|k| {
            let z = |j: usize| (x[j] - self.m[k][j]) / SCALE;
            self.p[k] * (-0.5 * (z(0).powi(2) + z(1).powi(2))).exp() / (std::f64::consts::TAU * SCALE * SCALE)
        });
        (joint, joint.iter().sum())
    }

    fn log_likelihood(&self, points: &[f64]) -> f64 {
        points.chunks(2).map(|x| self.joint(x).1.ln()).sum()
    }

    /// One round of EM. With the prior of the model, Dirichlet(1) and N(0, 3²), or without.
    fn round(&self, points: &[f64], with_prior: bool) -> Self {
        let (mut n, mut sums) = ([0.0; 3], [[0.0; 2]; 3]);
        for x in points.chunks(2) {
            let (joint, total) = self.joint(x);
            for k in 0..3 {
                let r = joint[k] / total;
                n[k] += r;
                sums[k][0] += r * x[0];
                sums[k][1] += r * x[1];
            }
        }
        let prior = if with_prior { SCALE * SCALE / 9.0 } else { 0.0 };
        let all: f64 = n.iter().sum();
        Self {
            p: n.map(|n| n / all),
            m: std::array::from_fn(|k| std::array::from_fn(|j| sums[k][j] / (n[k] + prior))),
        }
    }
}

/// Where a fit of the mixture without privacy is after some rounds.
fn after(rounds: u64, estimate: Estimate) -> Mixture {
    let said = Said { without_privacy: true, steps: Some(rounds), estimate, ..Said::default() };
    let records = Sensitive::new(points());
    let model: fn(&mut Ctx<'_>) -> Result<()> = mixture;
    let training = ConjugateTraining::new(&model, &said, &records, &Seed::for_tests(5), None, false).unwrap();
    let fit = training.finish().unwrap();
    let (p, m) = (fit.posterior().mean("pi").unwrap(), fit.posterior().mean("mu").unwrap());
    assert!(fit.posterior().sd("mu").unwrap().iter().all(|sd| *sd == 0.0));
    Mixture { p: std::array::from_fn(|k| p[k]), m: std::array::from_fn(|k| [m[[k, 0]], m[[k, 1]]]) }
}

#[test]
fn without_noise_it_is_em_round_by_round() {
    let points: Vec<f64> = points().column(0).numbers().collect();
    for (estimate, with_prior) in [(Estimate::Likelihood, false), (Estimate::Mode, true)] {
        let mut hand = after(1, estimate);
        let first = hand.log_likelihood(&points);
        for rounds in 2..=30 {
            hand = hand.round(&points, with_prior);
            let found = after(rounds, estimate);
            let pairs =
                found.p.iter().zip(&hand.p).chain(found.m.iter().flatten().zip(hand.m.iter().flatten()));
            for (a, b) in pairs {
                assert!((a - b).abs() < 1e-8, "{estimate:?}, round {rounds}: {a} and {b}");
            }
        }
        assert!(hand.log_likelihood(&points) > first + 1e-3, "{estimate:?} learnt nothing");
    }
}

fn fit(model: impl ppl_core::Model, records: Records, estimate: Estimate) -> crate::Posterior {
    let vi = ConjugateVi::new(model).without_privacy().steps(400).seed(Seed::for_tests(1));
    vi.estimate(estimate).fit(&Sensitive::new(records)).unwrap().posterior().clone()
}

#[test]
fn the_largest_likelihood_is_where_it_is_known() {
    // Least squares: the residuals are orthogonal to the columns.
    let linear = |ctx: &mut Ctx<'_>| {
        let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(2))?;
        ctx.each_record(|ctx, r| ctx.observe("y", Normal::new(r.get("x")?.dot(w), 0.5), r.get("y")?))
    };
    let records = binary(60, 2);
    let x: Vec<f64> = records.column(0).numbers().collect();
    let y: Vec<f64> = records.column(1).numbers().collect();
    let slopes = |w: &[f64], precision: f64, mean: &dyn Fn(f64) -> f64| -> Vec<f64> {
        let of = |j: usize| {
            let all = x.chunks(2).zip(&y).map(|(x, y)| (y - mean(x[0] * w[0] + x[1] * w[1])) * x[j]);
            all.sum::<f64>() - precision * w[j]
        };
        vec![of(0), of(1)]
    };
    let zero = |found: Vec<f64>| assert!(found.iter().all(|slope| slope.abs() < 1e-9), "{found:?}");
    let w = |posterior: crate::Posterior| posterior.mean("w").unwrap().iter().copied().collect::<Vec<f64>>();
    zero(slopes(&w(fit(linear, records.clone(), Estimate::Likelihood)), 0.0, &|t| t));
    zero(slopes(&w(fit(linear, records.clone(), Estimate::Mode)), 0.25 * 0.25, &|t| t));
    // Logistic regression: the bound of a softplus is exact at a point, so that the slope of the likelihood itself is
    // 0.
    let logistic_mean = |t: f64| 1.0 / (1.0 + (-t).exp());
    zero(slopes(&w(fit(logistic, records.clone(), Estimate::Likelihood)), 0.0, &logistic_mean));
    zero(slopes(&w(fit(logistic, records, Estimate::Mode)), 1.0 / 16.0, &logistic_mean));
    // A mean and a precision: the variance is that of all numbers, not of all but one.
    let x = numbers(40, 2);
    let mean = x.iter().sum::<f64>() / 40.0;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 40.0;
    let found = fit(precision, Records::from_columns([("x", x)]).unwrap(), Estimate::Likelihood);
    assert!((found.mean("mu").unwrap()[[]] - mean).abs() < 1e-12);
    assert!((found.mean("tau").unwrap()[[]] * variance - 1.0).abs() < 1e-12);
    let poisson = |ctx: &mut Ctx<'_>| {
        let rate = ctx.sample("rate", Gamma::new(2.0, 3.0))?;
        ctx.each_record(|ctx, r| ctx.observe("n", Poisson::new(rate), r.get("n")?))
    };
    let counts = Records::from_columns([("n", vec![0.0, 3.0, 1.0, 7.0])]).unwrap();
    let rate = |estimate| fit(poisson, counts.clone(), estimate).mean("rate").unwrap()[[]];
    assert!((rate(Estimate::Likelihood) - 11.0 / 4.0).abs() < 1e-12);
    // Gamma(2 + 11, 3 + 4) has its mode at 12/7, and its mean at 13/7.
    assert!((rate(Estimate::Mode) - 12.0 / 7.0).abs() < 1e-12);
}

/// Privacy goes through the same door: a first release is the same numbers bit for bit, whatever is made of them, and
/// what all of them cost is one debit of the same events.
#[test]
fn what_is_released_and_paid_is_that_of_the_posterior() {
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation };
        type AnyProgram = fn(&mut Ctx<'_>) -> Result<()>;
        let all: [(&str, AnyProgram, Records); 3] = [
            ("mixture", mixture, points()),
            ("lda", lda, documents()),
            ("logistic", logistic, binary(50, 3)),
        ];
        for (name, model, records) in all {
            let records = Sensitive::new(records);
            let run = |estimate: Estimate| {
                let mut ledger = dp_accountant::Ledger::new(budget).unwrap();
                let said = Said {
                    budget: Some(budget),
                    steps: Some(3),
                    clip_norm: None,
                    estimate,
                    ..Said::default()
                };
                let seed = Seed::for_tests(2);
                let mut training =
                    ConjugateTraining::new(&model, &said, &records, &seed, Some(&mut ledger), false).unwrap();
                training.step().unwrap();
                let released = training.released().to_vec();
                let fit = training.finish().unwrap();
                let report = fit.privacy();
                let paid = format!(
                    "{:?} {:?} {:?} {:?} {:?} {:?}",
                    ledger.spent().unwrap(),
                    report.releases,
                    report.epsilon,
                    report.noise_multiplier,
                    report.clip_norm,
                    report.noise_norm
                );
                let values = fit.posterior().mean(fit.posterior().sites().next().unwrap()).unwrap();
                assert!(values.iter().all(|x| x.is_finite()), "{name} {estimate:?}: {values}");
                assert_eq!(report.intervals.unwrap().contains("no length"), estimate != Estimate::Posterior);
                (released, paid, values)
            };
            let posterior = run(Estimate::Posterior);
            for estimate in [Estimate::Mode, Estimate::Likelihood] {
                let point = run(estimate);
                assert_eq!(posterior.0, point.0, "{name} {estimate:?}");
                assert_eq!(posterior.1, point.1, "{name} {estimate:?}");
                assert_ne!(posterior.2, point.2, "{name} {estimate:?}");
            }
        }
    }
}

#[test]
fn with_hardly_any_noise_it_finds_what_it_finds_without() {
    let budget = Budget { epsilon: 200.0, delta: 1e-5, relation: Relation::AddRemove };
    let many = Array2::from_shape_fn((6000, 2), |(i, j)| ((i % 3) as f64 - 1.0) * 3.0 * (j as f64 - 0.3));
    let noise = Array2::from_shape_vec((6000, 2), numbers(12_000, 1)).unwrap();
    let records = Records::from_columns([("x", many + noise)]).unwrap();
    let vi = |estimate| ConjugateVi::new(mixture).clip_norm(30.0).seed(Seed::for_tests(3)).estimate(estimate);
    for estimate in [Estimate::Mode, Estimate::Likelihood] {
        let records = Sensitive::new(records.clone());
        let private = vi(estimate).budget(budget).fit(&records).unwrap();
        let plain = vi(estimate).without_privacy().fit(&records).unwrap();
        for site in ["pi", "mu"] {
            let (a, b) = (private.posterior().mean(site).unwrap(), plain.posterior().mean(site).unwrap());
            assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 0.05), "{estimate:?} {site}: {a} {b}");
        }
    }
}

#[test]
fn a_likelihood_without_a_maximum_is_refused_before_anything_is_paid() {
    let vi = ConjugateVi::new(hierarchical).without_privacy().estimate(Estimate::Likelihood);
    let told = vi.plan(&Schema::new([("x", 2), ("y", 1)]).unwrap()).unwrap_err().to_string();
    assert!(told.contains("'tau'") && told.contains("Estimate::Mode"), "{told}");
    // Public constants say something of the mean, too.
    let with_public = |ctx: &mut Ctx<'_>| {
        let mu = ctx.sample("mu", Normal::new(0.0, 10.0))?;
        ctx.observe("before", Normal::new(mu, 1.0), ctx.constant(3.0))?;
        ctx.each_record(|ctx, r| ctx.observe("x", Normal::new(mu, 1.0), r.get("x")?))
    };
    let vi = |estimate| ConjugateVi::new(with_public).without_privacy().estimate(estimate);
    let one = Schema::new([("x", ())]).unwrap();
    let told = vi(Estimate::Likelihood).plan(&one).unwrap_err().to_string();
    assert!(told.contains("'before'") && told.contains("Estimate::Mode"), "{told}");
    assert!(vi(Estimate::Mode).plan(&one).is_ok());
    // No documents: topics stay at numbers that are finite, whatever noise says.
    let none = Records::from_columns([("counts", Array2::<u8>::zeros((0, 8)))]).unwrap();
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    for estimate in [Estimate::Mode, Estimate::Likelihood] {
        let vi = ConjugateVi::new(lda).budget(budget).steps(2).seed(Seed::for_tests(1)).estimate(estimate);
        let plan = vi.plan(none.schema()).unwrap();
        assert!(plan.estimate == estimate && plan.explain().contains("Expectation maximisation"));
        let beta = vi.fit(&Sensitive::new(none.clone())).unwrap().posterior().mean("beta").unwrap();
        assert!(beta.iter().all(|p| *p > 0.0 && *p < 1.0), "{beta}");
    }
}

/// A run that is stopped goes on as the same kind of run, and not as another.
#[test]
fn resumed_is_uninterrupted_and_no_other_estimate() {
    let records = Sensitive::new(points());
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let start = |estimate| ConjugateVi::new(mixture).budget(budget).steps(5).estimate(estimate);
    let whole = start(Estimate::Mode).seed(Seed::for_tests(4)).fit(&records).unwrap();
    let file = std::env::temp_dir().join(format!("dp-vi-points-{}.checkpoint", std::process::id()));
    let said = Said { budget: Some(budget), steps: Some(5), estimate: Estimate::Mode, ..Said::default() };
    let model: fn(&mut Ctx<'_>) -> Result<()> = mixture;
    let (seed, mut ledger) = (Seed::for_tests(4), dp_accountant::Ledger::new(budget).unwrap());
    let mut training =
        ConjugateTraining::new(&model, &said, &records, &seed, Some(&mut ledger), false).unwrap();
    (0..3).for_each(|_| training.step().unwrap());
    let print = crate::wall::fingerprint::fingerprint_of_records(&records, &seed);
    let settings = training.description(records.schema());
    let own = crate::run::checkpoint::PaidFrom::Own;
    training.checkpoint(Some(Seed::for_tests(4)), own, &settings, print).write(&file).unwrap();
    for other in [Estimate::Posterior, Estimate::Likelihood] {
        assert!(start(other).checkpoint(&file, 2).resume(&records).is_err(), "{other:?}");
    }
    let resumed = start(Estimate::Mode).checkpoint(&file, 2).resume(&records).unwrap();
    std::fs::remove_file(&file).unwrap();
    for site in ["pi", "mu"] {
        assert_eq!(whole.posterior().mean(site).unwrap(), resumed.posterior().mean(site).unwrap());
    }
}
