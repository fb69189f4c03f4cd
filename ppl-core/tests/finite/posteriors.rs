//! The exact posterior of a traced model equals that of a finite program.

use ndarray::{Array1, ArrayD};
use ppl_core::finite::{Dist, JointValue, LogInterval, Probability, Rational, Weight, posterior};
use ppl_core::{
    Constraint, Ctx, Distribution, Error, Noise, NoiseKind, Parameter, Records, Result, Shape, Value, Var,
};
use proptest::prelude::*;

/// One of `weights.len()` numbers, by weights that are known.
struct Choice(Vec<f64>);

impl<'g> Distribution<'g> for Choice {
    fn name(&self) -> &'static str {
        "Choice"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        Vec::new()
    }
    fn support(&self) -> Constraint {
        Constraint::IntegerInterval(0.0, self.0.len() as f64 - 1.0)
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let logs: Array1<f64> = self.0.iter().map(|weight| weight.ln()).collect();
        x.graph().array(&ArrayD::from(logs.into_dyn())).gather(x)
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        noise.draw(NoiseKind::Uniform, prefix.clone())
    }
}

/// A coin with a probability that is a value of the model.
struct Coin<'g>(Value<'g>);

impl<'g> Distribution<'g> for Coin<'g> {
    fn name(&self) -> &'static str {
        "Coin"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![Parameter { name: "p", value: self.0, domain: Constraint::UnitInterval }]
    }
    fn support(&self) -> Constraint {
        Constraint::Boolean
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let p = self.0.on(x.graph());
        x * p.log() + (1.0 - x) * (1.0 - p).log()
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        Ok(noise.draw(NoiseKind::Uniform, prefix.clone())?.less(self.0.on(noise.graph())))
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Bias and whether throws are reported the other way round, both unknown; some throws are hidden by a
    /// coin of their own that is summed out.
    #[test]
    fn a_traced_model_is_its_finite_program(
        throws in proptest::collection::vec(any::<bool>(), 0..6),
        prior in proptest::collection::vec(1_u64..9, 3),
    ) {
        let weights: Vec<f64> = prior.iter().map(|&w| w as f64 / prior.iter().sum::<u64>() as f64).collect();
        let model = |ctx: &mut Ctx<'_>| -> Result<()> {
            let bias = ctx.sample("bias", Choice(weights.clone()))?;
            let swapped = ctx.sample("swapped", Choice(vec![0.25, 0.75]))?;
            ctx.each_record(|ctx, record| {
                let told = record.get("told")?;
                // 1/4, 2/4, 3/4; a lie in an eighth of all cases.
                let p = (bias + 1.0) * 0.25;
                let p = swapped * (1.0 - p) + (1.0 - swapped) * p;
                ctx.enumerate("lie", Choice(vec![0.875, 0.125]), |ctx, lie| {
                    ctx.observe("told", Coin((lie * (1.0 - p) + (1.0 - lie) * p).into()), told)
                })
            })
        };
        let column: Vec<f64> = throws.iter().map(|&throw| f64::from(u8::from(throw))).collect();
        let records = Records::from_columns([("told", column)]).unwrap();
        let found: Dist<JointValue, LogInterval> = posterior(&model, &records).unwrap();

        let program = || -> Result<Dist<(u64, bool), Rational>> {
            let bias = Dist::from_weights(prior.iter().zip(0_u64..).map(|(&w, k)| (k, Rational::ratio(w, 1))))?.infer()?;
            let swapped = Dist::bernoulli(Probability::new(3, 4)?);
            let lie = Dist::bernoulli(Probability::new(1, 8)?);
            let joint = bias.and_then(|&bias| swapped.clone().map(move |swapped| (bias, swapped)));
            throws.iter().try_fold(joint, |joint, &throw| {
                joint.observe(|&(bias, swapped)| {
                    let p = Probability::new(bias + 1, 4).unwrap();
                    let p = if swapped { p.complement() } else { p };
                    lie.and_then(|&lie| Dist::bernoulli(if lie { p.complement() } else { p }).map(|z| z == throw))
                })?.infer()
            })
        };
        let expected = program().unwrap();
        prop_assert_eq!(found.len(), expected.len());
        for (joint, weight) in found.iter() {
            let of = |site| joint.get(site).unwrap()[0];
            let exact = expected.weight(&(of("bias") as u64, of("swapped") == 1)).ln();
            let ln = weight.ln();
            prop_assert!(ln.lower() <= exact.upper() && exact.lower() <= ln.upper(), "{joint:?}: {ln} {exact}");
            prop_assert!(ln.width() < 1e-10);
        }
    }
}

#[test]
fn models_without_a_finite_posterior_are_refused() {
    let none = Records::from_columns([("x", vec![1.0])]).unwrap();
    /// A real number.
    struct Real;
    impl<'g> Distribution<'g> for Real {
        fn name(&self) -> &'static str {
            "Real"
        }
        fn parameters(&self) -> Vec<Parameter<'g>> {
            Vec::new()
        }
        fn support(&self) -> Constraint {
            Constraint::Real
        }
        fn log_prob(&self, x: Var<'g>) -> Var<'g> {
            -0.5 * x.square()
        }
        fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
            noise.draw(NoiseKind::StandardNormal, prefix.clone())
        }
    }
    let real = |ctx: &mut Ctx<'_>| ctx.sample("a", Real).map(|_| ());
    let told = posterior(&real, &none).unwrap_err().to_string();
    assert!(told.contains("site 'a'") && told.contains("not finite"), "{told}");
    let many = |ctx: &mut Ctx<'_>| ctx.sample("a", Choice(vec![0.25; 4]).iid(10)).map(|_| ());
    let error = posterior(&many, &none).unwrap_err();
    assert!(matches!(error, Error::TooMany { count: 1_048_576, limit: 1_000_000, .. }), "{error}");
    let own =
        |ctx: &mut Ctx<'_>| ctx.each_record(|ctx, _| ctx.sample("z", Choice(vec![0.5, 0.5])).map(|_| ()));
    assert!(posterior(&own, &none).unwrap_err().to_string().contains("ctx.enumerate"));
    let parameter = |ctx: &mut Ctx<'_>| ctx.param("a", 1.0, Constraint::Positive).map(|_| ());
    assert!(posterior(&parameter, &none).unwrap_err().to_string().contains("no prior"));
    // Impossible records: both coins of probability zero there.
    let impossible = |ctx: &mut Ctx<'_>| -> Result<()> {
        let a = ctx.sample("a", Choice(vec![0.5, 0.5]))?;
        ctx.each_record(|ctx, record| ctx.factor("x", (0.0 * a + (record.get("x")? - 1.0)).log()))
    };
    assert!(matches!(posterior(&impossible, &none), Err(Error::Impossible(_))));
}
