//! Belief networks: where they begin, how factors that meet each other are updated, and runs that stop and go on.

use super::*;
use crate::conjugate::fit::ConjugateTraining;
use crate::conjugate::plan::Said;
use crate::conjugate::{ConjugateVi, Curvature};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Budget, Ledger, Relation};
use dp_sampler::Seed;

const PIXELS: usize = 300;

fn network(ctx: &mut Ctx) -> Result<()> {
    let w = ctx.sample("w", Normal::new(0.0, 1.0).iid([PIXELS, 2]))?;
    let c = ctx.sample("c", Normal::new(0.0, 5.0).iid(PIXELS))?;
    let b = ctx.sample("b", Normal::new(0.0, 5.0).iid(2))?;
    ctx.each_record(|ctx, image| {
        let z = ctx.sample("z", Bernoulli::from_logits(b))?;
        ctx.observe("pixels", Bernoulli::from_logits(w.dot(z) + c), image.get("pixels")?)
    })
}

/// Images of two units that are on or off, each of which sets a half of the pixels more often.
fn made_up(images: usize) -> Records {
    let uniform = numbers(images * PIXELS, 17);
    let pixels = Array2::from_shape_fn((images, PIXELS), |(i, j)| {
        let on = if j < PIXELS / 2 { i % 2 == 0 } else { i % 4 < 2 };
        u8::from(uniform[i * PIXELS + j] + 0.5 < if on { 0.8 } else { 0.2 })
    });
    Records::from_columns([("pixels", pixels)]).unwrap()
}

/// With hundreds of pixels, weights that begin at their prior switch off every unit of every image, and nothing is
/// learnt but the mean image.
#[test]
fn units_are_told_apart_without_noise_and_with_hardly_any() {
    let records = Sensitive::new(made_up(200));
    let budget = Budget { epsilon: 1e4, delta: 1e-5, relation: Relation::AddRemove };
    for (curvature, without_privacy) in
        [(Curvature::Fixed, true), (Curvature::Fixed, false), (Curvature::Optimal, true)]
    {
        let fit = ConjugateVi::new(network).curvature(curvature).steps(20).seed(Seed::for_tests(2));
        let fit = match without_privacy {
            true => fit.without_privacy(),
            false => fit.budget(budget).clip_norm(50.0),
        };
        let w = fit.fit(&records).unwrap().posterior().mean("w").unwrap();
        // Each half of the pixels belongs to one unit, and moves by much more than the other half.
        let half = |first: usize, unit: usize| {
            (first..first + PIXELS / 2).map(|j| w[[j, unit]]).sum::<f64>() / (PIXELS as f64 / 2.0)
        };
        let (left, right) = ([half(0, 0), half(0, 1)], [half(PIXELS / 2, 0), half(PIXELS / 2, 1)]);
        let case = format!("{curvature:?}, {without_privacy}: {left:?} {right:?}");
        // A unit that stands for one half of the pixels, and not for the other.
        let apart = |unit: usize| (left[unit] - right[unit]).abs();
        assert!(apart(0).max(apart(1)) > 1.0, "{case}");
        if !without_privacy {
            // Both units may come to stand for the same half.
            continue;
        }
        let own = usize::from(left[1].abs() > left[0].abs());
        assert!(left[own].abs() > 1.0 && right[1 - own].abs() > 1.0, "{case}");
        assert!(left[1 - own].abs() < 0.3 && right[own].abs() < 0.3, "{case}");
    }
}

/// A weight of a column that is 1 everywhere and a constant explain the same, `w + c = 1.2`. From the first release
/// each would make up for all of it, 2.4 together. Later the average still holds what was released at another constant:
/// with half steps the exact sums are 1.5 after two steps, 1.35 after five.
#[test]
fn factors_that_meet_each_other_do_not_overshoot() {
    let model = |ctx: &mut Ctx<'_>| {
        let w = ctx.sample("w", Normal::new(0.0, 10.0).iid(1))?;
        let c = ctx.sample("c", Normal::new(0.0, 10.0))?;
        ctx.each_record(|ctx, r| {
            ctx.observe("y", Bernoulli::from_logits(r.get("x")?.dot(w) + c), r.get("y")?)
        })
    };
    let y: Array1<f64> = (0..4000).map(|i| f64::from(u8::from(i % 5 != 0))).collect();
    let x = Array2::<f64>::ones((4000, 1));
    let records =
        Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap());
    let budget = Budget { epsilon: 1e3, delta: 1e-5, relation: Relation::AddRemove };
    for (steps, expected) in [(1, 1.2), (2, 1.5), (5, 1.35), (60, 1.2)] {
        let fit = ConjugateVi::new(model).curvature(Curvature::Fixed).budget(budget).clip_norm(3.0);
        let fit = fit.steps(steps).seed(Seed::for_tests(1)).fit(&records).unwrap();
        let posterior = fit.posterior();
        let sum = posterior.mean("w").unwrap()[0] + posterior.mean("c").unwrap()[[]];
        assert!((sum - expected).abs() < 0.02, "{steps} steps: {sum} instead of {expected}");
    }
}

/// Stopped and resumed, and on any number of threads, a fit is the same, bit for bit.
#[test]
fn resumed_and_on_other_threads_it_is_the_same() {
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let records = Sensitive::new(made_up(150));
    let start = || {
        let fit = ConjugateVi::new(network).curvature(Curvature::Fixed).budget(budget);
        fit.clip_norm(20.0).steps(5).seed(Seed::for_tests(4))
    };
    let fitted = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let fit = pool.install(|| start().fit(&records)).unwrap();
        fit.parameters().map(|(name, values)| (name.to_owned(), values.to_vec())).collect::<Vec<_>>()
    };
    let whole = fitted(1);
    assert_eq!(whole, fitted(3));
    let file = std::env::temp_dir().join(format!("dp-vi-belief-{}.checkpoint", std::process::id()));
    let said = Said {
        budget: Some(budget),
        steps: Some(5),
        clip_norm: Some(20.0),
        curvature: Some(Curvature::Fixed),
        ..Said::default()
    };
    let model: fn(&mut Ctx<'_>) -> Result<()> = network;
    let (seed, mut ledger) = (Seed::for_tests(4), Ledger::new(budget).unwrap());
    let mut training =
        ConjugateTraining::new(&model, &said, &records, &seed, Some(&mut ledger), false).unwrap();
    (0..3).for_each(|_| training.step().unwrap());
    let print = crate::wall::fingerprint::fingerprint_of_records(&records, &seed);
    let settings = training.description(records.schema());
    let own = crate::run::checkpoint::PaidFrom::Own;
    training.checkpoint(Some(Seed::for_tests(4)), own, &settings, print).write(&file).unwrap();
    let fit = ConjugateVi::new(network).curvature(Curvature::Fixed).budget(budget).clip_norm(20.0).steps(5);
    let resumed = fit.checkpoint(&file, 2).resume(&records).unwrap();
    let resumed: Vec<_> =
        resumed.parameters().map(|(name, values)| (name.to_owned(), values.to_vec())).collect();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(whole, resumed);
}
