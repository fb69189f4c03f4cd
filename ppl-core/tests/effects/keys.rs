//! Noise from keys: pinned, of the right law, and of different sites, draws and records independent.

use super::common::{Coin, Normal};
use ndarray::{ArrayD, Axis};
use ppl_core::handlers::{seed, uncondition};
use ppl_core::strategies::laws::records;
use ppl_core::{
    Constraint, Ctx, Distribution, Key, Noise, NoiseKind, Parameter, Predictive, Result, Scalar, Shape,
    Values, Var, simulate,
};

struct Uniform;

impl<'g> Distribution<'g> for Uniform {
    fn name(&self) -> &'static str {
        "Uniform"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        Vec::new()
    }
    fn support(&self) -> Constraint {
        Constraint::UnitInterval
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        0.0 * x
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        noise.draw(NoiseKind::Uniform, prefix.clone())
    }
}

fn three(ctx: &mut Ctx) -> Result<()> {
    ctx.sample("uniform", Uniform.iid(2))?;
    ctx.sample("normal", Normal::new(0.0, 1.0).iid(2))?;
    ctx.each_record(|ctx, _| ctx.sample("a long name of a site", Normal::new(0.0, 1.0)).map(|_| ()))
}

/// A changed stream is a breaking change.
#[test]
fn streams_are_pinned() {
    let run = simulate(&seed(three, 42), &records(5000)).unwrap();
    let last = &run["a long name of a site"];
    let bits: Vec<u64> = run["uniform"]
        .iter()
        .chain(&run["normal"])
        .chain([&last[[0]], &last[[1]], &last[[4999]]])
        .map(|x| x.to_bits())
        .collect();
    let second = Predictive::prior(&three, 2).key(42).run(&records(2)).unwrap();
    let bits_of_second = second["normal"].index_axis(Axis(0), 1).mapv(f64::to_bits);
    assert_eq!(bits, PINNED);
    assert_eq!(bits_of_second.iter().copied().collect::<Vec<_>>(), PINNED_SECOND);
    let child = Key::from(7).named("x").child(3);
    assert_eq!(child, Key::from(7).named("x").child(3));
    assert_ne!(child, Key::from(7).named("x\0").child(3));
    assert_ne!(Key::from(1), Key::new([1; 32]));
}

/// By tests/golden/keys.py, a ChaCha20 in plain Python: two uniforms, two normals, and the normals of the
/// first two records and the last.
const PINNED: [u64; 7] = [
    4_606_012_546_340_485_205,  // 0.8701180659552487
    4_606_022_974_314_726_673,  // 0.8712758036655562
    4_600_792_230_745_245_447,  // 0.3952733044953764
    4_603_394_067_399_463_140,  // 0.5794085049733693
    13_821_839_093_621_152_488, // -0.2662002201154068
    13_830_098_741_878_281_353, // -0.9494056072677647
    13_826_621_042_790_146_352, // -0.5633034472312257
];
/// The two normals of the second draw.
const PINNED_SECOND: [u64; 2] = [4_608_237_056_814_213_457, 4_608_526_664_220_235_784];

fn draws(count: usize, key: u64) -> Values {
    let model = |ctx: &mut Ctx<'_>| {
        ctx.sample("u", Uniform.iid(1000))?;
        ctx.sample("z", Normal::new(0.0, 1.0).iid(1000))?;
        ctx.sample("w", Normal::new(0.0, 1.0).iid(1000)).map(|_| ())
    };
    Predictive::prior(&model, count).key(key).run(&records(1)).unwrap()
}

/// Kolmogorov and Smirnov's distance of 100,000 numbers: `P(D√n > 2.7) < 2 e^(−2·2.7²) < 1e-6`.
fn check_law(values: &ArrayD<f64>, cdf: impl Fn(f64) -> f64) {
    let mut sorted: Vec<f64> = values.iter().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let distance = sorted.iter().enumerate().fold(0.0_f64, |most, (i, &x)| {
        let p = cdf(x);
        most.max((p - i as f64 / n).abs()).max(((i + 1) as f64 / n - p).abs())
    });
    assert!(distance * n.sqrt() < 2.7, "{}", distance * n.sqrt());
}

#[test]
fn noise_has_its_law() {
    let drawn = draws(100, 5);
    check_law(&drawn["u"], |u| u);
    check_law(&drawn["z"], |z| 0.5 * (1.0 + Scalar::erf(z / 2.0_f64.sqrt())));
    assert!(drawn["u"].iter().all(|&u| u > 0.0 && u < 1.0));
}

/// Means of products of 100,000 independent normals: beyond 4.9 standard errors with probability 1e-6 each,
/// of three.
#[test]
fn sites_draws_and_keys_are_independent() {
    let (one, other) = (draws(100, 5), draws(100, 6));
    let correlation = |a: &ArrayD<f64>, b: &ArrayD<f64>| {
        let n = a.len() as f64;
        a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / n.sqrt()
    };
    assert!(correlation(&one["z"], &one["w"]).abs() < 4.9);
    assert!(correlation(&one["z"], &other["z"]).abs() < 4.9);
    let mut later = one["z"].clone();
    later.invert_axis(Axis(0));
    assert!(correlation(&one["z"], &later).abs() < 2.0_f64.sqrt() * 4.9); // each product is there twice
}

/// The share of ones among 200,000 coins: within 4.9 standard errors but with probability 1e-6.
#[test]
fn discrete_draws_have_their_law() {
    let model = |ctx: &mut Ctx<'_>| {
        ctx.each_record(|ctx, record| {
            ctx.observe(
                "c",
                Coin((-1.0).into()).iid(20),
                record.get("y")? * ctx.graph().array(&ArrayD::zeros(vec![20])),
            )
        })
    };
    let drawn = simulate(&seed(uncondition(model), 9), &records(10_000)).unwrap();
    let p = 1.0 / (1.0 + 1.0_f64.exp());
    let share = drawn["c"].mean().unwrap();
    assert!((share - p).abs() < 4.9 * (p * (1.0 - p) / 200_000.0_f64).sqrt(), "{share}");
}

#[test]
fn keys_tell_nothing_of_themselves() {
    assert_eq!(format!("{:?}", Key::from(7)), "Key(…)");
}
