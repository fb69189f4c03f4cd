//! The No-U-Turn sampler against posteriors that are known, and what it refuses.
//!
//! Tolerances: a mean of draws worth `S` independent ones has standard error `sd/√S`, and a standard
//! deviation of nearly normal draws `sd/√(2S)`. Each test first holds its effective sample sizes to be at
//! least `S`, and then takes 5.2 standard errors: α = 2e-7 for each comparison.

use super::common::{Choice, Coin, LogNormal, Normal, failure};
use ndarray::{Array1, Array2, Axis, array};
use ppl_core::draws::nuts::{Chains, Nuts};
use ppl_core::handlers::{block, condition, seed, substitute};
use ppl_core::{
    Column, Constraint, Ctx, Distribution, Noise, Parameter, Predictive, Records, Result, Shape, Values, Var,
};

/// Holds mean and standard deviation of a site's element, with `least` effective draws.
fn near(chains: &Chains, (site, place): (&str, &[usize]), mean: f64, sd: f64, least: f64) {
    let [bulk, tail, r_hat] =
        [chains.ess(site), chains.ess_tail(site), chains.r_hat(site)].map(|of| of.unwrap()[place]);
    assert!(bulk > least && tail > least && r_hat < 1.01, "{site}: {bulk} {tail} {r_hat}");
    let (got, spread) = (chains.mean(site).unwrap()[place], chains.sd(site).unwrap()[place]);
    assert!((got - mean).abs() < 5.2 * sd / least.sqrt(), "{site}: mean {got}, not {mean}");
    assert!((spread - sd).abs() < 5.2 * sd / (2.0 * least).sqrt(), "{site}: sd {spread}, not {sd}");
}

/// A distribution on a set by its log density, up to a constant; nothing draws from it.
struct Density<'g> {
    support: Constraint,
    log_density: fn(Var<'g>) -> Var<'g>,
}

impl<'g> Distribution<'g> for Density<'g> {
    fn name(&self) -> &'static str {
        "Density"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        Vec::new()
    }
    fn support(&self) -> Constraint {
        self.support
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        (self.log_density)(x)
    }
    fn draw(&self, _: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        Ok(noise.graph().constant(f64::NAN))
    }
}

/// A normal mean with a normal prior, of 20 observations.
fn conjugate(ctx: &mut Ctx) -> Result<()> {
    let centre = ctx.sample("centre", Normal::new(1.0, 2.0))?;
    ctx.deterministic("double", 2.0 * centre)?;
    ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(centre, 1.5), record.get("y")?))
}

fn numbers(count: usize) -> Array1<f64> {
    Array1::from_shape_fn(count, |i| ((i * 7919) % 13) as f64 / 3.0 - 1.0)
}

fn records(count: usize) -> Records {
    Records::from_columns([("y", numbers(count))]).unwrap()
}

#[test]
fn a_normal_mean_is_found() {
    let data = records(20);
    let chains = Nuts::new(&conjugate).tune(500).draws(1000).key(1).run(&data).unwrap();
    let precision = 1.0 / 4.0 + 20.0 / 2.25;
    let mean = (1.0 / 4.0 + numbers(20).sum() / 2.25) / precision;
    near(&chains, ("centre", &[]), mean, precision.sqrt().recip(), 1000.0);
    near(&chains, ("double", &[]), 2.0 * mean, 2.0 * precision.sqrt().recip(), 1000.0);
    assert_eq!(chains.divergences(), 0);
    // Other questions to the same draws.
    let draws = chains.draws("centre").unwrap();
    assert_eq!(draws.shape(), [4, 1000]);
    assert!(chains.values()["double"].iter().zip(&draws).all(|(double, centre)| *double == 2.0 * centre));
    let (low, high) = chains.interval("centre", 0.9).unwrap();
    assert!((low[[]] - chains.quantile("centre", 0.05).unwrap()[[]]).abs() < 1e-12);
    // 1.645 standard deviations; a quantile's standard error is √(0.0475/S)/φ(1.645) = 0.067 of one.
    let expected = mean - 1.644_854 / precision.sqrt();
    assert!((low[[]] - expected).abs() < 5.2 * 0.067 / precision.sqrt() && low[[]] < high[[]]);
    let text = chains.to_string();
    assert!(text.lines().count() == 4 && text.ends_with("4 chains of 1000 draws, 0 divergences"), "{text}");
    assert!(text.lines().next().unwrap().contains("ess_bulk   r_hat"), "{text}");
    // Draws go on into predictions and tables.
    let latent = Values::from([("centre".to_owned(), chains.values()["centre"].clone())]);
    let predicted = Predictive::posterior(&conjugate, latent).unwrap().only(["y"]).run(&data).unwrap();
    assert_eq!(predicted["y"].shape(), [4000, 20]);
    let second = chains.chain(1).unwrap();
    assert_eq!(second["centre"], draws.index_axis(Axis(0), 1));
    let table = chains.chain_table(1).unwrap();
    assert_eq!(table["divergent__"], Array1::<f64>::zeros(1000).into_dyn());
    assert!(table["n_leapfrog__"].iter().all(|steps| *steps >= 1.0) && table["stepsize__"][0] > 0.0);
    assert_eq!(table["n_leapfrog__"].len(), 1000);
}

/// 7 of 9 coins with a prior Beta(2, 3): the posterior is Beta(9, 5), on a bounded set.
#[test]
fn a_beta_posterior_is_found() {
    let model = |ctx: &mut Ctx<'_>| {
        let prior =
            Density { support: Constraint::UnitInterval, log_density: |x| x.log() + 2.0 * (1.0 - x).log() };
        let share = ctx.sample("share", prior)?;
        let logit = share.log() - (1.0 - share).log();
        ctx.each_record(|ctx, record| ctx.observe("y", Coin(logit.into()), record.get("y")?))
    };
    let y = vec![1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0];
    let data = Records::from_columns([("y", y)]).unwrap();
    let chains = Nuts::new(&model).tune(500).draws(1000).key(2).run(&data).unwrap();
    near(&chains, ("share", &[]), 9.0 / 14.0, (45.0 / (196.0 * 15.0_f64)).sqrt(), 1000.0);
    assert!(chains.draws("share").unwrap().iter().all(|share| (0.0..=1.0).contains(share)));
}

/// A standard normal, and one that is 0.8 of it and noise: correlation 0.8. Beside them a simplex, so that
/// the numbers of a site are not those it is made of.
#[test]
fn correlated_values_are_found() {
    let model = |ctx: &mut Ctx<'_>| {
        let a = ctx.sample("a", Normal::new(0.0, 1.0))?;
        ctx.sample("b", Normal::new(0.8 * a, 0.6))?;
        // Dirichlet(2, 3, 4)
        let shares = Density {
            support: Constraint::Simplex,
            log_density: |x| {
                let powers = x.graph().array(&array![1.0, 2.0, 3.0].into_dyn());
                x.log().inner(powers)
            },
        };
        let shares = ctx.sample("shares", SimplexOf(shares))?;
        ctx.deterministic("first", shares.slice(0, 0..1)).map(|_| ())
    };
    let chains = Nuts::new(&model).tune(500).draws(1000).key(3).run_without_records().unwrap();
    near(&chains, ("a", &[]), 0.0, 1.0, 800.0);
    near(&chains, ("b", &[]), 0.0, 1.0, 800.0);
    let (a, b) = (&chains.values()["a"], &chains.values()["b"]);
    let n = a.len() as f64;
    let product = a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / n;
    // The product has variance 1 + 0.8².
    assert!((product - 0.8).abs() < 5.2 * (1.64_f64 / 800.0).sqrt(), "covariance {product}");
    for (place, alpha) in [2.0, 3.0, 4.0_f64].into_iter().enumerate() {
        let mean = alpha / 9.0;
        near(&chains, ("shares", &[place]), mean, (mean * (1.0 - mean) / 10.0).sqrt(), 1000.0);
    }
    assert_eq!(chains.draws("first").unwrap().shape(), [4, 1000, 1]);
    assert_eq!(chains.sites().collect::<Vec<_>>(), ["a", "b", "shares", "first"]);
}

/// A vector of three.
struct SimplexOf<'g>(Density<'g>);

impl<'g> Distribution<'g> for SimplexOf<'g> {
    fn name(&self) -> &'static str {
        self.0.name()
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        Vec::new()
    }
    fn batch_shape(&self) -> Result<Shape> {
        Ok(Shape::scalar())
    }
    fn event_shape(&self) -> Shape {
        Shape::from([3])
    }
    fn support(&self) -> Constraint {
        self.0.support
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        self.0.log_prob(x)
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        self.0.draw(prefix, noise)
    }
}

/// Eight schools (Rubin 1981), not centred; each school is a record that picks its effect by an index.
fn schools(ctx: &mut Ctx) -> Result<()> {
    let mu = ctx.sample("mu", Normal::new(0.0, 5.0))?;
    let half_cauchy =
        Density { support: Constraint::Positive, log_density: |x| -(1.0 + (x / 5.0).square()).log() };
    let tau = ctx.sample("tau", half_cauchy)?;
    let raw = ctx.sample("raw", Normal::new(0.0, 1.0).iid(8))?;
    let theta = ctx.deterministic("theta", mu + tau * raw)?;
    ctx.each_record(|ctx, record| {
        let effect = theta.gather(record.index("school")?);
        ctx.observe("y", Normal::new(effect, record.get("sd")?), record.get("y")?)
    })
}

/// Reference values by integration over tau: `tests/golden/eight_schools.py` (mpmath 1.4.1, 20 digits). tau's
/// tail is heavier than a normal's (its density falls as tau⁻¹⁰), so its standard deviation is not held.
#[test]
fn eight_schools_agree_with_integration() {
    let data = Records::from_columns([
        ("school", Column::from(vec![0_i64, 1, 2, 3, 4, 5, 6, 7])),
        ("y", Column::from(vec![28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])),
        ("sd", Column::from(vec![15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])),
    ])
    .unwrap();
    let chains = Nuts::new(&schools).tune(800).draws(1500).target_acceptance(0.9).key(4).run(&data).unwrap();
    near(&chains, ("mu", &[]), 4.396_820_7, 3.317_704_5, 1500.0);
    assert!(chains.ess("tau").unwrap()[[]] > 1000.0 && chains.r_hat("tau").unwrap()[[]] < 1.01);
    let tau = chains.mean("tau").unwrap()[[]];
    assert!((tau - 3.597_705_5).abs() < 5.2 * 3.219_958_4 / 1000.0_f64.sqrt(), "tau {tau}");
    // The first school's effect has a standard deviation of some 5.6, less than 7.
    let first = chains.mean("theta").unwrap()[0];
    assert!(
        chains.ess("theta").unwrap()[0] > 1000.0 && (first - 6.211_884_2).abs() < 5.2 * 7.0 / 1000_f64.sqrt()
    );
    assert!(chains.divergences() <= 6, "{} of 6000 draws", chains.divergences());
}

/// With enough records that each sum is formed by several threads as well.
#[test]
fn draws_depend_on_the_key_and_not_on_threads() {
    let model = |ctx: &mut Ctx<'_>| {
        let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(4))?;
        let noise = ctx.sample("noise", LogNormal(Normal::new(0.0, 1.0)))?;
        ctx.each_record(|ctx, record| {
            let mean = (record.get("x")?.dot(w)).tanh();
            ctx.observe("y", Normal::new(mean, noise), record.get("y")?)
        })
    };
    let x = Array2::from_shape_fn((40_000, 4), |(i, j)| ((i * (3 + 4 * j)) % 17) as f64 / 8.0 - 1.0);
    let data = Records::from_columns([("x", Column::from(x)), ("y", Column::from(numbers(40_000)))]).unwrap();
    let on = |threads: usize, key: i32| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let nuts = Nuts::new(&model).chains(3).tune(10).draws(5).largest_depth(3).key(key);
        pool.install(|| nuts.run(&data)).unwrap()
    };
    let one = on(1, 5);
    assert_eq!(one, on(3, 5));
    assert_ne!(one, on(3, 6));
    let chain = |number: usize| one.chain(number).unwrap();
    assert_ne!(chain(0), chain(1));
    // Fewer chains are the first of more.
    let fewer = Nuts::new(&model).chains(1).tune(10).draws(5).largest_depth(3).key(5).run(&data).unwrap();
    assert_eq!(fewer.chain(0).unwrap(), chain(0));
}

/// A discrete value is summed out: two clusters at −2 and 2 whose shares are known, so that the centre's
/// draws are those of the mixture's density on a grid.
#[test]
fn what_is_enumerated_is_summed_out() {
    let model = |ctx: &mut Ctx<'_>| {
        let centre = ctx.sample("centre", Normal::new(0.0, 1.0))?;
        let log_weights = ctx.graph().array(&array![0.3_f64.ln(), 0.7_f64.ln()].into_dyn());
        ctx.each_record(|ctx, record| {
            let y = record.get("y")?;
            ctx.enumerate("which", Choice(log_weights), |ctx, which| {
                ctx.observe("y", Normal::new(centre + 2.0 * which, 1.0), y)
            })
        })
    };
    let y = [0.4, 1.9, 2.3, -0.2];
    let data = Records::from_columns([("y", y.to_vec())]).unwrap();
    let (mut total, mut first, mut second) = (0.0, 0.0, 0.0);
    for step in 0..=16_000 {
        let centre = f64::from(step) / 1000.0 - 8.0;
        let term = |y: f64| {
            0.3 * (-0.5 * (y - centre).powi(2)).exp() + 0.7 * (-0.5 * (y - centre - 2.0).powi(2)).exp()
        };
        let density = (-0.5 * centre * centre).exp() * y.into_iter().map(term).product::<f64>();
        total += density;
        first += density * centre;
        second += density * centre * centre;
    }
    let mean = first / total;
    let chains = Nuts::new(&model).tune(500).draws(1000).key(7).run(&data).unwrap();
    near(&chains, ("centre", &[]), mean, (second / total - mean * mean).sqrt(), 800.0);
    assert_eq!(chains.sites().collect::<Vec<_>>(), ["centre"]);
}

/// A density that ends at 1, beyond which it is −∞: paths that leave it are divergences, and draws stay.
#[test]
fn a_density_that_ends_makes_divergences() {
    let model = |ctx: &mut Ctx<'_>| {
        let x = ctx.sample("x", Normal::new(0.0, 1.0))?;
        ctx.factor("edge", (1.0 - x).log())
    };
    let chains = Nuts::new(&model).tune(100).draws(100).key(8).run_without_records().unwrap();
    assert!(chains.divergences() > 0 && chains.draws("x").unwrap().iter().all(|x| *x < 1.0));
    assert!(!chains.to_string().contains(" 0 divergences"));
}

#[track_caller]
fn told(result: Result<Chains>) -> String {
    match result {
        Ok(_) => panic!("this should have been refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn settings_out_of_range_are_refused_with_value_and_bound() {
    let data = records(3);
    let nuts = || Nuts::new(&conjugate);
    assert!(told(nuts().chains(0).run(&data)).contains("chains must be from 1 to 1024, got 0"));
    assert!(told(nuts().chains(usize::MAX).run(&data)).contains("got 18446744073709551615"));
    assert!(
        told(nuts().draws(0).run(&data)).contains("draws of each chain must be from 1 to 100000000, got 0")
    );
    assert!(told(nuts().tune(usize::MAX).run(&data)).contains("for tuning must be from 0 to 100000000"));
    assert!(told(nuts().largest_depth(0).run(&data)).contains("depth must be from 1 to 20, got 0"));
    assert!(told(nuts().largest_depth(21).run(&data)).contains("got 21"));
    for rate in [0.0, 1.0, -1.0, f64::NAN] {
        assert!(told(nuts().target_acceptance(rate).run(&data)).contains("between 0 and 1, got"), "{rate}");
    }
    let many = told(nuts().chains(1000).draws(1_000_000).run(&data));
    assert!(
        many.contains("1000 chains of 1000000 draws of 3 numbers") && many.contains("268435456"),
        "{many}"
    );
}

#[test]
fn models_without_a_density_of_shared_values_are_refused() {
    let data = records(3);
    let refused = |model: &dyn Fn(&mut Ctx<'_>) -> Result<()>| {
        told(Nuts::new(&|ctx: &mut Ctx<'_>| model(ctx)).run(&data))
    };
    let observe = |ctx: &mut Ctx<'_>| {
        ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(0.0, 1.0), record.get("y")?))
    };
    assert!(refused(&observe).contains("nothing to draw"));
    let param = |ctx: &mut Ctx<'_>| {
        let scale = ctx.param("scale", 1.0, Constraint::Positive)?;
        ctx.sample("x", Normal::new(0.0, scale)).map(|_| ())
    };
    let why = refused(&param);
    assert!(why.contains("'scale'") && why.contains("a parameter: it has no prior"), "{why}");
    // With a value it is none to be found.
    let given = Nuts::new(&substitute(param, [("scale", 2.0)])).tune(5).draws(5).run(&data).unwrap();
    assert_eq!(given.sites().collect::<Vec<_>>(), ["x"]);
    let each = |ctx: &mut Ctx<'_>| {
        ctx.sample("a", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| {
            let own = ctx.sample("own", Normal::new(0.0, 1.0))?;
            ctx.observe("y", Normal::new(own, 1.0), record.get("y")?)
        })
    };
    let why = refused(&each);
    assert!(why.contains("'own'") && why.contains("a latent value of each record"), "{why}");
    let coin = |ctx: &mut Ctx<'_>| ctx.sample("coin", Coin(0.0.into())).map(|_| ());
    assert!(refused(&coin).contains("ctx.enumerate") && failure(coin).contains("'coin'"));
    let given = condition(each, [("own", array![0.1, 0.2, 0.3].into_dyn())]);
    let why = told(Nuts::new(&given).run(&data));
    assert!(why.contains("is given values for each record"), "{why}");
    let hidden = block(seed(conjugate, 1), ["centre"]);
    let why = told(Nuts::new(&hidden).run(&data));
    assert!(why.contains("draws values itself"), "{why}");
    let known = condition(conjugate, [("centre", 1.0)]);
    assert!(told(Nuts::new(&known).run(&data)).contains("nothing to draw"));
    assert!(told(Nuts::new(&conjugate).run_without_records()).contains("column"));
}

#[test]
fn records_that_do_not_fit_are_refused() {
    let model = |ctx: &mut Ctx<'_>| {
        let slope = ctx.sample("slope", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| {
            let x = record.get("x")?;
            ctx.observe("y", Coin((slope * x).into()), record.get("y")?)
        })
    };
    let run = |x: f64, y: f64| {
        let columns = [("x", vec![1.0, x]), ("y", vec![1.0, y]), ("unread", vec![f64::NAN, 0.0])];
        Nuts::new(&model).chains(1).tune(5).draws(5).run(&Records::from_columns(columns).unwrap())
    };
    assert!(run(1.0, 0.0).is_ok(), "what is not read may be anything");
    let why = told(run(f64::NAN, 0.0));
    assert!(why.contains("column 'x' holds NaN in record 1, and must be finite"), "{why}");
    assert!(told(run(f64::INFINITY, 0.0)).contains("holds inf"));
    let why = told(run(1.0, 0.5));
    assert!(why.contains("0.5 (column 'y', record 1)") && why.contains("0 or 1"), "{why}");
}

#[test]
fn a_chain_that_cannot_start_says_where_it_looked() {
    let nowhere = |ctx: &mut Ctx<'_>| {
        let x = ctx.sample("x", Normal::new(0.0, 1.0))?;
        ctx.factor("far", (x - 100.0).log())
    };
    let why = told(Nuts::new(&nowhere).run_without_records());
    assert!(why.contains("chain 0") && why.contains("100 points of (-2, 2)"), "{why}");
    assert!(why.contains("the log density NaN"), "{why}");
}

/// A few records' terms that read nothing of a record, no records at all, and sites of no elements.
#[test]
fn edges_run() {
    let same = |ctx: &mut Ctx<'_>| {
        let x = ctx.sample("x", Normal::new(0.0, 1.0))?;
        ctx.sample("none", Normal::new(0.0, 1.0).iid(0))?;
        ctx.deterministic("constant", 3.0)?;
        ctx.each_record(|ctx, _| ctx.factor("pull", -1.5 * (x - 1.0).square()))
    };
    // exp(−½ x² − 3 · 1.5 (x − 1)²): precision 10, mean 0.9.
    let chains = Nuts::new(&same).tune(500).draws(1000).key(9).run(&records(3)).unwrap();
    near(&chains, ("x", &[]), 0.9, 0.1_f64.sqrt(), 800.0);
    assert_eq!(chains.draws("none").unwrap().shape(), [4, 1000, 0]);
    assert!(chains.r_hat("constant").unwrap()[[]].is_nan() && chains.mean("constant").unwrap()[[]] == 3.0);
    let empty = Records::from_columns([("y", Vec::<f64>::new())]).unwrap();
    let prior = Nuts::new(&conjugate).tune(500).draws(1000).key(10).run(&empty).unwrap();
    near(&prior, ("centre", &[]), 1.0, 2.0, 800.0);
    // Too few draws for a summary, and no tuning, are no errors.
    let one = Nuts::new(&conjugate).chains(1).tune(0).draws(1).run(&records(3)).unwrap();
    assert!(one.to_string().contains("no summary"), "{one}");
    assert!(one.r_hat("centre").unwrap_err().to_string().contains("4 draws"));
    assert!(one.mean("nothing").unwrap_err().to_string().contains("there are [centre, double]"));
    assert!(one.chain(1).unwrap_err().to_string().contains("no chain 1"));
    assert!(one.interval("centre", 1.0).is_err());
}
