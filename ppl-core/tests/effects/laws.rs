//! Laws of the handlers, on random models.

use super::common::{only, records};
use ppl_core::handlers::{condition, mask, replay, scale, scope, seed, substitute};
use ppl_core::strategies::models::{first_rows, model};
use ppl_core::{
    Ctx, Graph, LogDensity, Model, Predictive, Records, Result, SiteKind, Values, log_density, simulate,
    trace,
};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Names of the sites of a kind.
fn names(model: &impl Model, records: &Records, of: impl Fn(SiteKind) -> bool) -> BTreeSet<String> {
    let graph = Graph::new();
    let trace = trace(model, &graph, records.schema(), ppl_core::handlers::Seed::new(1)).unwrap();
    trace.sites().iter().filter(|site| of(site.kind)).map(|site| site.name.clone()).collect()
}

/// The log density at the values that the sites have.
fn own_density(model: &impl Model, records: &Records) -> LogDensity {
    let graph = Graph::new();
    trace(model, &graph, records.schema(), ()).unwrap().log_density(records).unwrap()
}

/// Equal but for rounding: a sum of at most a few hundred terms, in another order at worst.
fn close(a: &LogDensity, b: &LogDensity) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e3 * f64::EPSILON * (1.0 + a.abs());
    near(a.prior, b.prior) && a.likelihood.iter().zip(&b.likelihood).all(|(a, b)| near(*a, *b))
}

fn is_latent(kind: SiteKind) -> bool {
    matches!(kind, SiteKind::Latent | SiteKind::Param)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn replaying_a_run_gives_its_log_density(model in model(), key in any::<u64>()) {
        let data = records(5);
        let run = simulate(&seed(model.clone(), key), &data).unwrap();
        let seeded = own_density(&seed(model.clone(), key), &data);
        // Not bit for bit: there constants were folded.
        let replayed = replay(model.clone(), run.clone());
        prop_assert!(close(&own_density(&replayed, &data), &seeded));
        let again = simulate(&replayed, &data).unwrap();
        prop_assert!(again.keys().eq(run.keys()));
        let latent = names(&model, &data, is_latent);
        let at = only(&run, |name| latent.contains(name));
        prop_assert!(close(&log_density(&model, &data, &at).unwrap(), &seeded));
    }

    #[test]
    fn conditioning_on_every_site_and_substituting_every_site_are_log_density(model in model(), key in any::<u64>()) {
        let data = records(4);
        let run = simulate(&seed(model.clone(), key), &data).unwrap();
        let latent = names(&model, &data, |kind| kind == SiteKind::Latent);
        let at = only(&run, |name| latent.contains(name));
        let both = names(&model, &data, is_latent);
        let expected = log_density(&model, &data, &only(&run, |name| both.contains(name))).unwrap();
        prop_assert!(close(&own_density(&condition(model.clone(), at.clone()), &data), &expected));
        prop_assert!(close(&own_density(&substitute(model.clone(), at.clone()), &data), &expected));
        // What is conditioned on is not latent any more.
        prop_assert!(names(&condition(model.clone(), at.clone()), &data, |kind| kind == SiteKind::Latent).is_empty());
        prop_assert_eq!(names(&substitute(model, at), &data, |kind| kind == SiteKind::Latent), latent);
    }

    #[test]
    fn one_more_site_changes_no_other_draw(model in model(), key in any::<u64>(), before in any::<usize>()) {
        let data = records(3);
        let alone = simulate(&seed(model.clone(), key), &data).unwrap();
        let mut more = simulate(&seed(model.with_extra_site(before), key), &data).unwrap();
        prop_assert!(more.remove("extra").is_some());
        prop_assert_eq!(more, alone);
    }

    #[test]
    fn a_record_is_drawn_alike_whoever_else_is_there(model in model(), key in any::<u64>()) {
        let all = simulate(&seed(model.clone(), key), &records(7)).unwrap();
        let few = simulate(&seed(model, key), &records(3)).unwrap();
        for (name, values) in &few {
            match values.shape() == all[name].shape() {
                true => prop_assert_eq!(values, &all[name]),
                false => prop_assert_eq!(values, &first_rows(&all[name], 3)),
            }
        }
    }

    #[test]
    fn scales_multiply_and_masks_leave_nothing(model in model(), key in any::<u64>(), factor in 0.1..4.0_f64) {
        let data = records(3);
        let seeded = seed(model, key);
        let whole = own_density(&seeded, &data);
        let scaled = own_density(&scale(seeded.clone(), factor), &data);
        let expected = LogDensity { prior: factor * whole.prior, likelihood: factor * &whole.likelihood };
        // Terms of both signs may cancel in the sums, which are of a few dozen terms here.
        let size = 1.0 + factor * 1e3;
        prop_assert!((scaled.prior - expected.prior).abs() <= 1e3 * f64::EPSILON * size);
        prop_assert!((&scaled.likelihood - &expected.likelihood).iter().all(|x| x.abs() <= 1e3 * f64::EPSILON * size));
        let twice = own_density(&scale(scale(seeded.clone(), factor), 1.0 / factor), &data);
        prop_assert!((twice.prior - whole.prior).abs() <= 1e3 * f64::EPSILON * size);
        prop_assert_eq!(own_density(&mask(seeded.clone(), true), &data), whole);
        prop_assert_eq!(own_density(&mask(seeded, false), &data).total(), 0.0);
    }

    #[test]
    fn a_scope_changes_names_and_nothing_else(model in model(), key in any::<u64>()) {
        let data = records(3);
        let run = simulate(&seed(model.clone(), key), &data).unwrap();
        let latent = names(&model, &data, is_latent);
        let at = only(&run, |name| latent.contains(name));
        let within: Values = at.iter().map(|(name, value)| (format!("outer/{name}"), value.clone())).collect();
        let scoped = scope(model.clone(), "outer");
        prop_assert_eq!(log_density(&scoped, &data, &within).unwrap(), log_density(&model, &data, &at).unwrap());
        let inner = simulate(&scope(replay(model, run.clone()), "outer"), &data).unwrap();
        prop_assert_eq!(inner.keys().cloned().collect::<Vec<_>>(), run.keys().map(|name| format!("outer/{name}")).collect::<Vec<_>>());
    }

    #[test]
    fn predictions_are_simulations_with_the_draws_number(model in model(), key in any::<u64>()) {
        let data = records(3);
        let all = names(&model, &data, |kind| kind != SiteKind::Observed);
        let predicted = Predictive::prior(&model, 2).key(key).run(&data).unwrap();
        // The first draw of a prediction has the noise of a simulation.
        let run = simulate(&seed(ppl_core::handlers::uncondition(model), key), &data).unwrap();
        for name in all.iter().filter(|name| predicted.contains_key(*name)) {
            prop_assert_eq!(&predicted[name].index_axis(ndarray::Axis(0), 0), &run[name]);
        }
    }
}

/// The laws above hold of closures as of values.
#[test]
fn handlers_go_around_functions_and_around_each_other() {
    fn model(ctx: &mut Ctx) -> Result<()> {
        ctx.sample("a", super::common::Normal::new(0.0, 1.0)).map(|_| ())
    }
    let data = records(1);
    let once = simulate(&seed(condition(model, [("a", 0.5)]), 1), &data).unwrap();
    assert_eq!(once["a"], super::common::number(0.5));
    let by_reference = seed(model, 1);
    assert_eq!(simulate(&&by_reference, &data).unwrap(), simulate(&by_reference, &data).unwrap());
}
