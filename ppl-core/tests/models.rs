//! Models: traces, log densities, and mistakes that must name the site, the shapes and the line.

use ndarray::{ArrayD, arr0, array};
use ppl_core::{
    Column, Constraint, Ctx, Distribution, Graph, Noise, NoiseKind, Parameter, Records, Result, Schema,
    Shape, SiteKind, Unconstrained, Value, Var, handlers, log_density, record_log_likelihoods, trace,
};
use std::collections::BTreeMap;

/// A normal distribution, so that these tests need no other crate.
struct Gauss<'g>(Value<'g>, Value<'g>);

impl<'g> Distribution<'g> for Gauss<'g> {
    fn name(&self) -> &'static str {
        "Gauss"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.0, domain: Constraint::Real },
            Parameter { name: "scale", value: self.1, domain: Constraint::Positive },
        ]
    }
    fn support(&self) -> Constraint {
        Constraint::Real
    }
    #[track_caller]
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let (loc, scale) = (self.0.on(x.graph()), self.1.on(x.graph()));
        -0.5 * ((x - loc) / scale).square() - scale.log() - 0.5 * (2.0 * std::f64::consts::PI).ln()
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let z = noise.draw(NoiseKind::StandardNormal, prefix.concat(&self.batch_shape()?))?;
        Ok(self.0.on(noise.graph()) + self.1.on(noise.graph()) * z)
    }
}

fn gauss<'g>(loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Gauss<'g> {
    Gauss(loc.into(), scale.into())
}

fn schema() -> Schema {
    Schema::new([("x", Shape::from([3])), ("y", Shape::scalar())]).unwrap()
}

fn failure(model: impl Fn(&mut Ctx<'_>) -> Result<()>) -> String {
    let (graph, schema) = (Graph::new(), schema());
    match trace(&model, &graph, &schema, Unconstrained) {
        Ok(_) => panic!("the model should have been refused"),
        Err(error) => error.to_string(),
    }
}

fn regression(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", gauss(0.0, 2.0).iid(d))?;
    let noise = ctx.param("noise", 0.5, Constraint::Positive)?;
    ctx.each_record(|ctx, record| ctx.observe("y", gauss(record.get("x")?.dot(w), noise), record.get("y")?))
}

#[test]
fn a_trace_lists_the_sites() {
    let (graph, schema) = (Graph::new(), schema());
    let trace = trace(&regression, &graph, &schema, Unconstrained).unwrap();
    let sites: Vec<_> =
        trace.sites().iter().map(|site| (site.name.as_str(), site.kind, site.shape.clone())).collect();
    assert_eq!(
        sites,
        [
            ("w", SiteKind::Latent, Shape::from([3])),
            ("noise", SiteKind::Param, Shape::scalar()),
            ("y", SiteKind::Observed, Shape::scalar()),
        ]
    );
    assert!(trace.sites()[0].source_line.to_string().contains("models.rs"));
    assert_eq!(trace.latents().count(), 2);
    assert!(trace.record_log_likelihood().is_some());
}

#[test]
fn log_density_is_the_sum_of_its_terms() {
    let x = array![[1.0, 0.0, 2.0], [0.5, -1.0, 0.0]];
    let y = array![1.5, -0.25];
    let records =
        Records::from_columns([("x", Column::from(x.clone())), ("y", Column::from(y.clone()))]).unwrap();
    let w = array![0.3, 0.7, -0.2];
    let values =
        BTreeMap::from([("w".to_owned(), w.clone().into_dyn()), ("noise".to_owned(), arr0(0.8).into_dyn())]);
    let density = log_density(&regression, &records, &values).unwrap();
    let normal = |x: f64, loc: f64, scale: f64| {
        -0.5 * ((x - loc) / scale).powi(2) - scale.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln()
    };
    let prior: f64 = w.iter().map(|&w| normal(w, 0.0, 2.0)).sum();
    assert!((density.prior - prior).abs() < 1e-14);
    for i in 0..2 {
        let expected = normal(y[i], x.row(i).dot(&w), 0.8);
        assert!((density.likelihood[i] - expected).abs() < 1e-14);
    }
    assert!((density.total() - density.prior - density.likelihood.sum()).abs() < 1e-15);
}

/// What is said of a record alone is its part of the log density; numbers that go with its place are refused, without
/// telling how many records there are.
#[test]
fn likelihoods_of_records_by_themselves_have_no_numbers_by_place() {
    let x = array![[1.0, 0.0, 2.0], [0.5, -1.0, 0.0]];
    let y = array![1.5, -0.25];
    let records = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y.clone()))]).unwrap();
    let values = BTreeMap::from([
        ("w".to_owned(), array![0.3, 0.7, -0.2].into_dyn()),
        ("noise".to_owned(), arr0(0.8).into_dyn()),
    ]);
    let all = log_density(&regression, &records, &values).unwrap();
    assert_eq!(record_log_likelihoods(&regression, &records, &values).unwrap(), all.likelihood);
    // An observation that comes as an array has one number for each place.
    let given = handlers::condition(regression, [("y", y.into_dyn())]);
    assert!(log_density(&given, &records, &values).is_ok());
    let told = record_log_likelihoods(&given, &records, &values).unwrap_err().to_string();
    assert!(told.contains("by its place") && !told.contains('2'), "{told}");
}

#[test]
fn values_must_fit_the_model() {
    let records =
        Records::from_columns([("x", Column::from(array![[1.0, 0.0, 2.0]])), ("y", Column::from(vec![1.0]))])
            .unwrap();
    let told = |values: Vec<(&str, ArrayD<f64>)>| {
        let values = values.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        log_density(&regression, &records, &values).unwrap_err().to_string()
    };
    let w = || array![0.0, 0.0, 0.0].into_dyn();
    let noise = |x: f64| arr0(x).into_dyn();
    assert_eq!(told(vec![("noise", noise(1.0))]), "site 'w': no value was given");
    assert!(
        told(vec![("w", array![1.0].into_dyn()), ("noise", noise(1.0))])
            .contains("shape [3] is needed, got [1]")
    );
    assert!(
        told(vec![("w", w()), ("noise", noise(-1.0))])
            .contains("site 'noise': value -1 is outside the support")
    );
    assert!(
        told(vec![("w", w()), ("noise", noise(1.0)), ("v", w())])
            .contains("'v', but the model has no such site")
    );
}

#[test]
fn an_observation_outside_the_support_names_site_column_and_record() {
    struct Coin;
    impl<'g> Distribution<'g> for Coin {
        fn name(&self) -> &'static str {
            "Coin"
        }
        fn parameters(&self) -> Vec<Parameter<'g>> {
            Vec::new()
        }
        fn support(&self) -> Constraint {
            Constraint::Boolean
        }
        fn log_prob(&self, x: Var<'g>) -> Var<'g> {
            x * 0.0
        }
        fn draw(&self, _: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
            noise.draw(NoiseKind::Uniform, ())
        }
    }
    let model =
        |ctx: &mut Ctx<'_>| ctx.each_record(|ctx, record| ctx.observe("side", Coin, record.get("y")?));
    let records = Records::from_columns([("y", Column::from(vec![0.0, 1.0, 2.0]))]).unwrap();
    let told = log_density(&model, &records, &BTreeMap::new()).unwrap_err().to_string();
    assert_eq!(told, "site 'side': value 2 (column 'y', record 2) is outside the support (0 or 1)");
}

#[test]
fn mistakes_in_models_name_the_site_the_shapes_and_the_line() {
    let told = failure(|ctx| {
        let w = ctx.sample("w", gauss(0.0, 1.0).iid(4))?;
        ctx.each_record(|ctx, record| ctx.observe("y", gauss(record.get("x")?.dot(w), 1.0), record.get("y")?))
    });
    assert!(
        told.contains("site 'y'") && told.contains("[3] and [4]") && told.contains("models.rs:"),
        "{told}"
    );

    let told = failure(|ctx| ctx.sample("s", gauss(0.0, -1.0)).map(|_| ()));
    assert!(
        told.starts_with("site 's': Gauss: scale must be positive and finite, got -1 (")
            && told.contains("models.rs:"),
        "{told}"
    );

    let told = failure(|ctx| {
        ctx.sample("s", gauss(0.0, 1.0))?;
        ctx.sample("s", gauss(0.0, 1.0)).map(|_| ())
    });
    assert!(told.contains("'s' is used by two sites"), "{told}");

    let told = failure(|ctx| ctx.each_record(|_, record| record.get("z").map(|_| ())));
    assert_eq!(told, "there is no column 'z'; the records have 'x' [3], 'y' []");

    let told = failure(|ctx| ctx.records().dim("y").map(|_| ()));
    assert!(told.contains("not vectors"), "{told}");

    let told = failure(|ctx| ctx.each_record(|ctx, _| ctx.each_record(|_, _| Ok(()))));
    assert!(told.contains("each_record inside each_record"), "{told}");

    let told = failure(|ctx| ctx.param("p", -2.0, Constraint::Positive).map(|_| ()));
    assert!(told.contains("site 'p': value -2 (initial value)"), "{told}");

    let told = failure(|ctx| {
        ctx.each_record(|ctx, record| ctx.observe("x", gauss(0.0, 1.0).iid(2), record.get("x")?))
    });
    assert!(told.contains("site 'x'") && told.contains("[2]") && told.contains("[3]"), "{told}");
}

#[test]
fn records_cannot_leak_out_of_the_plate() {
    let told = failure(|ctx| {
        let mut leaked = None;
        ctx.each_record(|_, record| {
            leaked = Some(record.get("y")?);
            Ok(())
        })?;
        ctx.sample("s", gauss(leaked.unwrap(), 1.0)).map(|_| ())
    });
    assert!(told.contains("would mix records") && told.contains("'s'"), "{told}");
    let told = failure(|ctx| {
        let mut leaked = None;
        ctx.each_record(|_, record| {
            leaked = Some(record.get("y")?);
            Ok(())
        })?;
        ctx.observe("s", gauss(0.0, 1.0), leaked.unwrap())
    });
    assert!(told.contains("would mix records"), "{told}");
}

#[test]
fn public_observations_belong_to_the_prior() {
    let model = |ctx: &mut Ctx<'_>| {
        let m = ctx.sample("m", gauss(0.0, 1.0))?;
        ctx.observe("survey", gauss(m, 0.5), 2.0)
    };
    let records = Records::from_columns([("x", Column::from(vec![0.0]))]).unwrap();
    let values = BTreeMap::from([("m".to_owned(), arr0(1.0).into_dyn())]);
    let density = log_density(&model, &records, &values).unwrap();
    let expected = -0.5 - 0.5 * 4.0 - 0.5_f64.ln() - (2.0 * std::f64::consts::PI).ln();
    assert!((density.total() - expected).abs() < 1e-14);
}

/// A distribution may hold values that it does not list as parameters; a record's must not get out that way.
#[test]
fn a_prior_cannot_hide_a_record() {
    struct Sneaky<'g>(Var<'g>);
    impl<'g> Distribution<'g> for Sneaky<'g> {
        fn name(&self) -> &'static str {
            "Sneaky"
        }
        fn parameters(&self) -> Vec<Parameter<'g>> {
            Vec::new()
        }
        fn support(&self) -> Constraint {
            Constraint::Real
        }
        fn log_prob(&self, x: Var<'g>) -> Var<'g> {
            -(x - self.0).square()
        }
        fn draw(&self, _: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
            noise.draw(NoiseKind::Uniform, ())
        }
    }
    let told = failure(|ctx| {
        let mut leaked = None;
        ctx.each_record(|_, record| {
            leaked = Some(record.get("y")?);
            Ok(())
        })?;
        ctx.sample("s", Sneaky(leaked.unwrap())).map(|_| ())
    });
    assert!(told.contains("would mix records"), "{told}");
}

#[test]
fn constant_arrays_are_checked_like_numbers() {
    let told = failure(|ctx| {
        let scales = ctx.graph().array(&array![1.0, -2.0].into_dyn());
        ctx.sample("s", gauss(0.0, scales)).map(|_| ())
    });
    assert!(told.contains("scale must be positive and finite, got -2"), "{told}");
}
