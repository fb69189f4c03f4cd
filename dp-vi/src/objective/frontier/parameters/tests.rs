use super::*;
use crate::cost::pricing::event;
use crate::guides::{AutoNormal, HandWritten};
use crate::made_up::{self, model, number, records};
use crate::objective::draws::DrawScheme;
use crate::objective::programs::Objective;
use crate::wall::audits::steps::separated_epsilon;
use crate::wall::gradient::PrivateGradient;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Accountant, Relation, Sampling};
use dp_sampler::{FullBatch, Seed};
use ndarray::Array1;
use ppl_core::{Constraint, Ctx, Records};
use ppl_distributions::{Logistic, Normal};

const RECORDS: usize = 8;

fn options(gradients: Gradients, draws: DrawScheme, stated_records: f64) -> Options<'static> {
    Options { draws, gradients, stated_records, ..made_up::options() }
}

fn objective(gradients: Gradients, draws: DrawScheme) -> Objective {
    let options = options(gradients, draws, RECORDS as f64);
    let data = records(RECORDS);
    Objective::new(&model, &AutoNormal::new(), data.schema(), &options, &|_, _| Ok(())).unwrap()
}

/// The gradient of the bound at one draw, nothing clipped and no noise.
fn update(gradients: Gradients, draws: DrawScheme) -> Vec<f64> {
    let Objective { mut gradient, mut estimator, .. } = objective(gradients, draws);
    let parameters: Vec<f64> = (0..9).map(|k| 0.4 * number(k + 300)).collect();
    let noise: Vec<f64> = (0..4).map(|k| 1.3 * number(k + 400)).collect();
    estimator.draw(&parameters, &noise, &mut gradient);
    let all: Vec<u64> = (0..RECORDS as u64).collect();
    let mut released = vec![0.0; gradient.dimension()];
    gradient.sum(&records(RECORDS), &all, &mut released).unwrap();
    let mut update = vec![f64::NAN; 9];
    estimator.pull_back(&noise, &released, &mut update);
    update
}

#[test]
fn without_clipping_and_noise_all_gradients_are_the_same() {
    for draws in [DrawScheme::Single, DrawScheme::Antithetic] {
        let aligned = update(Gradients::Aligned, draws);
        assert!(aligned.iter().all(|x| x.is_finite() && *x != 0.0));
        for gradients in [Gradients::Vanilla, Gradients::VanillaWithPrior] {
            for (k, (vanilla, aligned)) in update(gradients, draws).iter().zip(&aligned).enumerate() {
                // A few hundred roundings of terms of size ten and less.
                assert!(
                    (vanilla - aligned).abs() < 1e-11,
                    "{gradients:?}, {draws:?}, {k}: {vanilla} {aligned}"
                );
            }
        }
    }
}

/// Noise of such a guide is uniform, and mirrored as `1 − u`.
#[test]
fn so_they_are_with_a_guide_that_draws_by_quantiles() {
    let guide = |ctx: &mut Ctx<'_>| {
        let loc = ctx.param("loc", 0.2, Constraint::Real)?;
        let scale = ctx.param("scale", 0.7, Constraint::Positive)?;
        ctx.sample("m", Logistic::new(loc, scale)).map(|_| ())
    };
    for draws in [DrawScheme::Single, DrawScheme::Antithetic] {
        let update = |gradients| {
            let options = options(gradients, draws, RECORDS as f64);
            let (data, guide) = (records(RECORDS), HandWritten::new(guide));
            let objective = Objective::new(&location, &guide, data.schema(), &options, &|_, _| Ok(()));
            let Objective { mut gradient, mut estimator, .. } = objective.unwrap();
            let mut released = vec![0.0; gradient.dimension()];
            estimator.draw(&[0.3, -0.4], &[0.8], &mut gradient);
            gradient.sum(&records(RECORDS), &(0..RECORDS as u64).collect::<Vec<_>>(), &mut released).unwrap();
            let mut update = [f64::NAN; 2];
            estimator.pull_back(&[0.8], &released, &mut update);
            update
        };
        let aligned = update(Gradients::Aligned);
        assert!(aligned.iter().all(|x| x.is_finite() && *x != 0.0));
        for gradients in [Gradients::Vanilla, Gradients::VanillaWithPrior] {
            for (vanilla, aligned) in update(gradients).iter().zip(&aligned) {
                assert!((vanilla - aligned).abs() < 1e-11, "{gradients:?}, {draws:?}: {vanilla} {aligned}");
            }
        }
    }
}

#[test]
fn all_touched_parameters_of_the_guide_are_released() {
    let dimension = |gradients| objective(gradients, DrawScheme::Antithetic).gradient.dimension();
    // w, slope and noise at two draws; the same as locations and log scales; the spread's as well, where the
    // prior comes along.
    assert_eq!(dimension(Gradients::Aligned), 2 * 4);
    assert_eq!(dimension(Gradients::Vanilla), 4 + 1 + 2);
    assert_eq!(dimension(Gradients::VanillaWithPrior), 4 + 1 + 2 + 2);
}

/// One value, whose gradient is the record's own distance.
fn location(ctx: &mut Ctx) -> ppl_core::Result<()> {
    let m = ctx.sample("m", Normal::new(0.0, 1.0))?;
    ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(m, 1.0), record.get("y")?))
}

const NORM: f64 = 0.7;
const SIGMA: f64 = 1.0;

/// The best statistic for a canary that is far away: the direction of its gradient with respect to location
/// and log scale.
fn statistics(gradients: Gradients, actual: f64, canary: bool, n: u64) -> Vec<f64> {
    let (loc, log_scale, z) = (0.3, -0.2_f64, 1.1);
    let at = loc + log_scale.exp() * z;
    // Two records whose likelihood has no gradient there.
    let y = if canary { vec![at, at, 1e4] } else { vec![at, at] };
    let records = Sensitive::new(Records::from_columns([("y", Array1::from(y))]).unwrap());
    // The stated number of records is so large that their shares of the prior vanish beside the norm.
    let options = options(gradients, DrawScheme::Single, 1e9);
    let objective =
        Objective::new(&location, &AutoNormal::new(), records.schema(), &options, &|_, _| Ok(())).unwrap();
    let Objective { gradient, mut estimator, .. } = objective;
    let seed = Seed::for_tests(50 + u64::from(canary));
    let mut mechanism = PrivateGradient::new(gradient, NORM, actual, &FullBatch, &records, seed).unwrap();
    estimator.draw(&[loc, log_scale], &[z], mechanism.sum_mut().program_mut());
    let slope = log_scale.exp() * z;
    let length = (1.0 + slope * slope).sqrt();
    let mut out = [0.0; 2];
    let release = |_| {
        mechanism.release_unpaid(&mut out).unwrap();
        (out[0] + slope * out[1]) / (length * NORM * SIGMA)
    };
    (0..n).map(release).collect()
}

#[test]
fn vanilla_gradients_cost_what_is_claimed() {
    let n = 60_000;
    let claimed = event(SIGMA, Sampling::None).unwrap();
    let claimed = Accountant::new(Relation::AddRemove).compose(claimed, 1).epsilon(1e-5).unwrap();
    for gradients in [Gradients::Vanilla, Gradients::VanillaWithPrior] {
        let holds = |actual: f64| {
            let (present, absent) =
                (statistics(gradients, actual, true, n), statistics(gradients, actual, false, n));
            let (lower, upper) = separated_epsilon(&present, &absent, 0.5 / SIGMA);
            lower <= claimed.upper && claimed.lower <= upper
        };
        assert!(holds(SIGMA), "{gradients:?}");
        assert!(!holds(0.9 * SIGMA), "{gradients:?}: too little noise went unnoticed");
        assert!(!holds(1.1 * SIGMA), "{gradients:?}: too much noise went unnoticed");
    }
}
