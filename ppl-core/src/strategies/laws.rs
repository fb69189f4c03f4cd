//! Laws of the handlers, as functions of a model and a key: property tests and a fuzz target call the same ones. Each
//! panics if it does not hold.

use super::models::{RandomModel, first_rows};
use crate::draws::{LogDensity, Predictive, Values, log_density, simulate};
use crate::handlers::{Seed, condition, mask, replay, scale, scope, seed, substitute, uncondition};
use crate::model::{Model, SiteKind, trace};
use crate::op::Graph;
use crate::records::Records;
use std::collections::BTreeSet;

/// So many records with a column `y`, which random models read.
///
/// # Panics
/// Never: one column makes a table.
#[must_use]
pub fn records(count: usize) -> Records {
    let y: Vec<f64> = (0..count).map(|i| ((i * 7919) % 13) as f64 / 6.0 - 1.0).collect();
    Records::from_columns([("y", y)]).expect("one column")
}

/// Names of the sites of a kind.
fn names(model: &impl Model, records: &Records, of: impl Fn(SiteKind) -> bool) -> BTreeSet<String> {
    let graph = Graph::new();
    let trace = trace(model, &graph, records.schema(), Seed::new(1)).expect("a random model can be traced");
    trace.sites().iter().filter(|site| of(site.kind)).map(|site| site.name.clone()).collect()
}

/// The log density at the values that the sites have.
fn own_density(model: &impl Model, records: &Records) -> LogDensity {
    let graph = Graph::new();
    let trace = trace(model, &graph, records.schema(), ()).expect("every site has a value");
    trace.log_density(records).expect("every site has a density")
}

fn simulated(model: &impl Model, records: &Records) -> Values {
    simulate(model, records).expect("every site has a value")
}

fn density_at(model: &impl Model, records: &Records, values: &Values) -> LogDensity {
    log_density(model, records, values).expect("every site has a value")
}

fn only(values: &Values, of: impl Fn(&str) -> bool) -> Values {
    values.iter().filter(|(name, _)| of(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Equal but for rounding: a sum of at most a few hundred terms, in another order at worst.
fn close(a: &LogDensity, b: &LogDensity) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e3 * f64::EPSILON * (1.0 + a.abs());
    near(a.prior, b.prior) && a.likelihood.iter().zip(&b.likelihood).all(|(a, b)| near(*a, *b))
}

fn is_latent(kind: SiteKind) -> bool {
    matches!(kind, SiteKind::Latent | SiteKind::Param)
}

/// A run that is replayed has its own log density, and is the same run.
///
/// # Panics
/// If that does not hold.
pub fn replaying_a_run_gives_its_log_density(model: &RandomModel, key: u64) {
    let data = records(5);
    let run = simulated(&seed(model.clone(), key), &data);
    let seeded = own_density(&seed(model.clone(), key), &data);
    // Not bit for bit: there constants were folded.
    let replayed = replay(model.clone(), run.clone());
    assert!(close(&own_density(&replayed, &data), &seeded));
    assert!(simulated(&replayed, &data).keys().eq(run.keys()));
    let latent = names(model, &data, is_latent);
    let at = only(&run, |name| latent.contains(name));
    assert!(close(&density_at(model, &data, &at), &seeded));
}

/// A model that is conditioned on values of all latent sites, or in which they are substituted, has the log density at
/// these values; what is conditioned on is not latent any more, what is substituted is.
///
/// # Panics
/// If that does not hold.
pub fn conditioning_on_every_site_and_substituting_every_site_are_log_density(model: &RandomModel, key: u64) {
    let data = records(4);
    let run = simulated(&seed(model.clone(), key), &data);
    let latent = names(model, &data, |kind| kind == SiteKind::Latent);
    let at = only(&run, |name| latent.contains(name));
    let both = names(model, &data, is_latent);
    let expected = density_at(model, &data, &only(&run, |name| both.contains(name)));
    let conditioned = condition(model.clone(), at.clone());
    let substituted = substitute(model.clone(), at);
    assert!(close(&own_density(&conditioned, &data), &expected));
    assert!(close(&own_density(&substituted, &data), &expected));
    assert!(names(&conditioned, &data, |kind| kind == SiteKind::Latent).is_empty());
    assert_eq!(names(&substituted, &data, |kind| kind == SiteKind::Latent), latent);
}

/// A site that nothing depends on, at any place, changes no draw of any other.
///
/// # Panics
/// If that does not hold.
pub fn one_more_site_changes_no_other_draw(model: &RandomModel, key: u64, before: usize) {
    let data = records(3);
    let alone = simulated(&seed(model.clone(), key), &data);
    let mut more = simulated(&seed(model.with_extra_site(before), key), &data);
    assert!(more.remove("extra").is_some());
    assert_eq!(more, alone);
}

/// The draws of a record do not depend on how many other records there are.
///
/// # Panics
/// If that does not hold.
pub fn draws_of_a_record_do_not_depend_on_other_records(model: &RandomModel, key: u64) {
    let all = simulated(&seed(model.clone(), key), &records(7));
    let few = simulated(&seed(model.clone(), key), &records(3));
    for (name, values) in &few {
        match values.shape() == all[name].shape() {
            true => assert_eq!(values, &all[name]),
            false => assert_eq!(values, &first_rows(&all[name], 3)),
        }
    }
}

/// A scale multiplies all terms of the log density, scales multiply each other, and a mask leaves everything or
/// nothing.
///
/// # Panics
/// If that does not hold.
pub fn scales_multiply_and_masks_leave_nothing(model: &RandomModel, key: u64, factor: f64) {
    let data = records(3);
    let seeded = seed(model.clone(), key);
    let whole = own_density(&seeded, &data);
    let scaled = own_density(&scale(seeded.clone(), factor), &data);
    let expected = LogDensity { prior: factor * whole.prior, likelihood: factor * &whole.likelihood };
    // Terms of both signs may cancel in the sums, which are of a few dozen terms here; large terms are all negative.
    let size = 1.0 + factor * 1e3;
    let near = |a: f64, b: f64| (a - b).abs() <= 1e3 * f64::EPSILON * (size + a.abs().max(b.abs()));
    assert!(near(scaled.prior, expected.prior));
    assert!(scaled.likelihood.iter().zip(&expected.likelihood).all(|(&a, &b)| near(a, b)));
    let twice = own_density(&scale(scale(seeded.clone(), factor), 1.0 / factor), &data);
    assert!(near(twice.prior, whole.prior));
    assert_eq!(own_density(&mask(seeded.clone(), true), &data), whole);
    assert_eq!(own_density(&mask(seeded, false), &data).total(), 0.0);
}

/// In a scope sites have other names, and everything else stays as it is.
///
/// # Panics
/// If that does not hold.
pub fn a_scope_changes_names_and_nothing_else(model: &RandomModel, key: u64) {
    let data = records(3);
    let run = simulated(&seed(model.clone(), key), &data);
    let latent = names(model, &data, is_latent);
    let at = only(&run, |name| latent.contains(name));
    let outer = |name: &String| format!("outer/{name}");
    let within: Values = at.iter().map(|(name, value)| (outer(name), value.clone())).collect();
    let scoped = scope(model.clone(), "outer");
    assert_eq!(density_at(&scoped, &data, &within), density_at(model, &data, &at));
    let inner = simulated(&scope(replay(model.clone(), run.clone()), "outer"), &data);
    assert!(inner.keys().cloned().eq(run.keys().map(outer)));
}

/// The first draw of a prediction from the prior has the noise of a simulation.
///
/// # Panics
/// If that does not hold.
pub fn predictions_are_simulations_with_the_draws_number(model: &RandomModel, key: u64) {
    let data = records(3);
    let all = names(model, &data, |kind| kind != SiteKind::Observed);
    let predicted = Predictive::prior(model, 2).key(key).run(&data).expect("a prediction of a random model");
    let run = simulated(&seed(uncondition(model.clone()), key), &data);
    for name in all.iter().filter(|name| predicted.contains_key(*name)) {
        assert_eq!(&predicted[name].index_axis(ndarray::Axis(0), 0), &run[name]);
    }
}
