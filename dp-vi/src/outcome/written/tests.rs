use super::*;
use crate::Sensitive;
use crate::guides::Guide;
use crate::guides::{
    AutoDelta, AutoLaplace, AutoLowRankMultivariateNormal, AutoMultivariateNormal, AutoNormal,
};
use crate::made_up::number;
use crate::{DpVi, DrawScheme};
use dp_accountant::{Budget, Relation};
use ndarray::{Array1, Array2};
use ppl_core::{Column, Constraint, Ctx, Distribution, Records};
use ppl_distributions::{Bernoulli, Dirichlet, HalfNormal, Normal};

fn records() -> Sensitive<Records> {
    let x = Array2::from_shape_fn((200, 2), |(i, j)| 2.0 * number(2 * i + j));
    let y = Array1::from_shape_fn(200, |i| f64::from(x[[i, 0]] + 2.0 * number(i + 5000) > 0.0));
    Sensitive::new(Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap())
}

/// Sites of several kinds: one that no record touches, a simplex, and a parameter.
fn model(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
    let spread = ctx.sample("spread", HalfNormal::new(2.0))?;
    let w = ctx.sample("w", Normal::new(0.0, spread).iid(2))?;
    let parts = ctx.sample("parts", Dirichlet::symmetric(2.0, 3))?;
    let shift = ctx.param("shift", 0.1, Constraint::Interval(-1.0, 2.0))?;
    ctx.each_record(|ctx, record| {
        let eta = record.get("x")?.dot(w) + shift + parts.element(0, 0) * 0.5;
        ctx.observe("y", Bernoulli::from_logits(eta), record.get("y")?)
    })
}

fn same(a: &Posterior, b: &Posterior) {
    let seed = Seed::for_tests(3);
    let (a_draws, b_draws) = (a.draws(50, &seed).unwrap(), b.draws(50, &seed).unwrap());
    for (name, values) in &a_draws {
        assert_eq!(values.shape(), b_draws[name].shape());
        for (x, y) in values.iter().zip(&b_draws[name]) {
            assert!((x - y).abs() <= 1e-10 * (1.0 + x.abs()), "{name}: {x} and {y}");
        }
        for (x, y) in a.mean(name).unwrap().iter().zip(&b.mean(name).unwrap()) {
            assert!((x - y).abs() <= 1e-9 * (1.0 + x.abs()), "{name}: {x} and {y}");
        }
        for (x, y) in a.sd(name).unwrap().iter().zip(&b.sd(name).unwrap()) {
            assert!((x - y).abs() <= 1e-9 * (1.0 + x.abs()), "{name}: {x} and {y}");
        }
    }
}

#[test]
fn posteriors_of_every_guide_are_read_back() {
    fn check(guide: impl Guide + 'static) {
        let fit =
            DpVi::new(model, guide).without_privacy().steps(40).seed(Seed::for_tests(1)).fit(&records());
        let posterior = fit.unwrap().posterior().clone();
        let text = posterior.to_json().unwrap();
        let again = Posterior::from_json(&text).unwrap();
        same(&posterior, &again);
        assert_eq!(again.to_json().unwrap(), text);
    }
    check(AutoNormal::new());
    check(AutoMultivariateNormal::new());
    check(AutoLowRankMultivariateNormal::new());
    check(AutoDelta::new());
}

#[test]
fn a_private_fit_is_read_back_with_its_correction() {
    let touched = |ctx: &mut Ctx<'_>| {
        let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(2))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
        })
    };
    let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
    let fit = DpVi::new(touched, AutoLaplace::new())
        .budget(budget)
        .draw_scheme(DrawScheme::Single)
        .steps(40)
        .fit(&records())
        .unwrap();
    let stored = StoredFit::from_json(&fit.to_json().unwrap()).unwrap();
    same(fit.posterior(), &stored.posterior);
    same(fit.uncorrected(), &stored.uncorrected);
    let (found, again) = (fit.noise_aware().unwrap(), stored.noise_aware.unwrap());
    assert_eq!(
        (&found.sites, &found.mean, &found.covariance),
        (&again.sites, &again.mean, &again.covariance)
    );
    assert_eq!(stored.privacy["budget"]["epsilon"], 1.0);
    assert_eq!(stored.parameters.len(), fit.parameters().count());
}

#[test]
fn what_is_newer_or_damaged_is_refused() {
    let fit = DpVi::new(model, AutoNormal::new()).without_privacy().steps(5).fit(&records()).unwrap();
    let text = fit.posterior().to_json().unwrap();
    let told = |text: &str| Posterior::from_json(text).unwrap_err().to_string();
    assert!(told(&text.replacen("\"version\":1", "\"version\":2", 1)).contains("version 2"));
    assert!(told("{}").contains("dp-vi posterior") && told("[1").contains("dp-vi posterior"));
    assert!(told(&fit.to_json().unwrap()).contains("does not say"));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let changed = |path: &str, to: serde_json::Value| {
        let mut value = value.clone();
        *value.pointer_mut(path).unwrap() = to;
        told(&value.to_string())
    };
    for (path, to) in [
        ("/source/normal/mean", serde_json::json!([1.0])),
        ("/source/normal/columns/0", serde_json::json!([[1000, 1.0]])),
        ("/sites/0/shape", serde_json::json!([1_u64 << 40, 1_u64 << 40])),
        ("/sites/1/name", serde_json::json!("spread")),
        ("/sites/0/support/set", serde_json::json!("Circle")),
        ("/sites/0/normal", serde_json::json!([[1.0], [-1.0]])),
    ] {
        assert!(!changed(path, to).is_empty(), "{path}");
    }
}

#[test]
fn every_set_is_written_and_read() {
    for set in Constraint::ALL {
        assert_eq!(WrittenSet::of(set).read(), Some(set));
    }
}

#[test]
fn factors_are_written_and_read() {
    let laws = [
        FactorLaw::new("Normal", &[&[2.0], &[-2.0]], 1).unwrap(),
        FactorLaw::new("MultivariateNormal", &[&[2.0, 3.0], &[-0.5, 0.2, 0.2, -1.0]], 2).unwrap(),
        FactorLaw::new("Gamma", &[&[2.0, -0.7], &[-2.0, -1.0]], 2).unwrap(),
        FactorLaw::new("Beta", &[&[1.0], &[-0.5]], 1).unwrap(),
        FactorLaw::new("Dirichlet", &[&[1.0, -0.9, 3.0]], 3).unwrap(),
        FactorLaw::Point { value: vec![0.5, -2.0] },
    ];
    let sites: Vec<GuideSite> = [(1, Constraint::Real), (2, Constraint::Real), (2, Constraint::Positive)]
        .into_iter()
        .chain([(1, Constraint::UnitInterval), (3, Constraint::Simplex), (2, Constraint::Real)])
        .enumerate()
        .map(|(k, (n, set))| GuideSite::new(format!("s{k}"), Shape::from(n), set, SiteKind::Latent).unwrap())
        .collect();
    let posterior = Posterior::of_factors(&sites, FactorDraws::new(laws.to_vec()));
    let again = Posterior::from_json(&posterior.to_json().unwrap()).unwrap();
    same(&posterior, &again);
}
