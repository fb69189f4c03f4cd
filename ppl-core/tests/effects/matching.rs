//! Guides that go with their models, and guides that do not.

use super::common::{LogNormal, Normal};
use ppl_core::handlers::{NoiseInputs, ReplayTrace, Unconstrained};
use ppl_core::strategies::laws::records;
use ppl_core::{Constraint, Ctx, Distribution, Graph, Result, trace};

fn model(ctx: &mut Ctx) -> Result<()> {
    let spread = ctx.sample("spread", LogNormal(Normal::new(0.0, 1.0)))?;
    ctx.each_record(|ctx, record| {
        let own = ctx.sample("own", Normal::new(0.0, spread).iid(2))?;
        ctx.observe("y", Normal::new(own.sum(), 1.0), record.get("y")?)
    })
}

fn told(guide: impl Fn(&mut Ctx<'_>) -> Result<()>) -> String {
    let (graph, data) = (Graph::new(), records(1));
    let model = trace(&model, &graph, data.schema(), Unconstrained).unwrap();
    let guide = trace(&guide, &graph, data.schema(), NoiseInputs).unwrap();
    model.check_guide(&guide).map_or_else(|error| error.to_string(), |()| "it goes with it".to_owned())
}

fn spread(ctx: &mut Ctx) -> Result<()> {
    let loc = ctx.param("loc", 0.0, Constraint::Real)?;
    ctx.sample("spread", LogNormal(Normal::new(loc, 1.0))).map(|_| ())
}

fn own(ctx: &mut Ctx) -> Result<()> {
    ctx.each_record(|ctx, record| ctx.sample("own", Normal::new(record.get("y")?, 1.0).iid(2)).map(|_| ()))
}

#[test]
fn a_guide_that_goes_with_its_model() {
    assert_eq!(
        told(|ctx| {
            spread(ctx)?;
            own(ctx)
        }),
        "it goes with it"
    );
}

/// A guide of some of the sites: of those that are covered it samples every one, and no other.
#[test]
fn a_guide_of_a_part_goes_with_that_part() {
    let (graph, data) = (Graph::new(), records(1));
    let model = trace(&model, &graph, data.schema(), Unconstrained).unwrap();
    let guide = trace(&spread, &graph, data.schema(), NoiseInputs).unwrap();
    assert!(model.check_guide(&guide).is_err());
    model.check_guide_of(&guide, |name| name == "spread").unwrap();
    let told = model.check_guide_of(&guide, |name| name == "own").unwrap_err().to_string();
    assert!(told.contains("site 'own'"), "{told}");
    let told = model.check_guide_of(&guide, |_| false).unwrap_err().to_string();
    assert!(told.contains("samples 'spread'") && told.contains("the model has []"), "{told}");
}

#[test]
fn a_guide_that_does_not_is_told_the_site_both_shapes_and_what_to_do() {
    let missing = told(own);
    assert!(
        missing
            .starts_with("the guide does not go with the model: the guide has no site 'spread' of shape []")
            && missing.contains("matching.rs:")
            && missing.contains("sample it in the guide"),
        "{missing}"
    );
    let missing = told(spread);
    assert!(
        missing.contains("no latent inside the record plate site 'own' of shape [2]")
            && missing.contains("sample it in the guide inside ctx.each_record"),
        "{missing}"
    );
    let extra = told(|ctx| {
        spread(ctx)?;
        own(ctx)?;
        ctx.sample("sprad", Normal::new(0.0, 1.0)).map(|_| ())
    });
    assert!(extra.contains("samples 'sprad'") && extra.contains("the model has [spread, own]"), "{extra}");
    let shape = told(|ctx| {
        spread(ctx)?;
        ctx.each_record(|ctx, _| ctx.sample("own", Normal::new(0.0, 1.0).iid(3)).map(|_| ()))
    });
    assert!(shape.contains("'own' has shape [2] in the model and [3] in the guide"), "{shape}");
    let support = told(|ctx| {
        ctx.sample("spread", Normal::new(0.0, 1.0))?;
        own(ctx)
    });
    assert!(
        support.contains(
            "'spread' must be positive and finite in the model, and the guide draws what is finite"
        ),
        "{support}"
    );
    let outside = told(|ctx| {
        spread(ctx)?;
        ctx.sample("own", Normal::new(0.0, 1.0).iid(2)).map(|_| ())
    });
    assert!(
        outside.contains("'own' is one for each record in the model and one for all records in the guide")
            && outside.contains("move it into ctx.each_record"),
        "{outside}"
    );
    let observes = told(|ctx| {
        spread(ctx)?;
        own(ctx)?;
        ctx.observe("z", Normal::new(0.0, 1.0), 1.0)
    });
    assert!(observes.contains("the guide observes 'z'"), "{observes}");
}

/// A value of each record cannot become one that all of them share.
#[test]
fn a_records_value_cannot_be_replayed_as_a_shared_one() {
    let (graph, data) = (Graph::new(), records(1));
    let guide = trace(&own, &graph, data.schema(), NoiseInputs).unwrap();
    let shared = |ctx: &mut Ctx<'_>| ctx.sample("own", Normal::new(0.0, 1.0).iid(2)).map(|_| ());
    let told = trace(&shared, &graph, data.schema(), ReplayTrace::new(&guide)).unwrap_err().to_string();
    assert!(
        told.contains("site 'own'") && told.contains("cannot stand for one that all of them share"),
        "{told}"
    );
}
