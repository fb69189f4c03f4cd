//! Bad models: the message names the site, the shapes, the line, and what to do.

use super::common::{Normal, failure, number};
use ndarray::{ArrayD, array};
use ppl_core::handlers::{block, condition, replay, seed, substitute};
use ppl_core::strategies::laws::records;
use ppl_core::{Constraint, Ctx, Distribution, Predictive, Result, Values, simulate};

fn told(result: Result<Values>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "nothing was wrong".to_owned())
}

fn simple(ctx: &mut Ctx) -> Result<()> {
    let w = ctx.sample("w", Normal::new(0.0, 1.0).iid(2))?;
    ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(w.sum(), 1.0), record.get("y")?))
}

#[test]
fn a_duplicate_site_wherever_it_stands() {
    let message = failure(|ctx| {
        ctx.sample("s", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| ctx.observe("s", Normal::new(0.0, 1.0), record.get("y")?))
    });
    assert!(
        message.starts_with("the name 's' is used by two sites of the model (")
            && message.contains("mistakes.rs:")
    );
    // Scopes make names, and names of scopes count.
    let message = failure(|ctx| {
        ctx.param("a/s", 1.0, Constraint::Real)?;
        ctx.scope("a", |ctx| ctx.param("s", 1.0, Constraint::Real)).map(|_| ())
    });
    assert!(message.starts_with("the name 'a/s' is used by two sites"), "{message}");
    // Hidden sites keep their names: their noise is named so.
    let message = failure(|ctx| {
        ctx.with(ppl_core::handlers::Block::sites(["p"]), |ctx| ctx.param("p", 1.0, Constraint::Real))?;
        ctx.param("p", 1.0, Constraint::Real).map(|_| ())
    });
    assert!(message.starts_with("the name 'p' is used by two sites"), "{message}");
}

#[test]
fn values_that_do_not_fit() {
    let data = records(3);
    let message = told(simulate(&simple, &data));
    assert!(
        message.starts_with(
            "site 'w': there is no value for this site: put seed (to draw it), condition or substitute"
        ),
        "{message}"
    );
    let message = told(simulate(&condition(simple, [("w", array![1.0, 2.0, 3.0])]), &data));
    assert_eq!(message, "site 'w': a value of shape [2] is needed, got [3]");
    let message = told(simulate(&condition(simple, [("v", 1.0)]), &data));
    assert_eq!(
        message,
        "site 'w': there is no value for this site: put seed (to draw it), condition or substitute around the model, or trace it with \
         Unconstrained (to make it an input)"
    );
    let both = condition(substitute(simple, [("w", array![0.0, 0.0])]), [("v", 1.0)]);
    assert_eq!(
        told(simulate(&both, &data)),
        "a handler is for 'v', but the model has no such site there; it has [w, y]"
    );
    let hidden = block(replay(simple, [("w", array![0.0, 0.0])]), ["w", "x"]);
    assert!(told(simulate(&hidden, &data)).starts_with("a handler is for 'x'"));
    // A value for each record: one more axis, of the right length.
    let each =
        |ctx: &mut Ctx<'_>| ctx.each_record(|ctx, _| ctx.sample("z", Normal::new(0.0, 1.0)).map(|_| ()));
    let message = told(simulate(&condition(each, [("z", array![1.0, 2.0])]), &data));
    assert_eq!(message, "input 'given/z' takes 1 numbers for each of 3 records, got 2 in all");
    let message = told(simulate(&condition(each, [("z", ArrayD::zeros(vec![3, 2]))]), &data));
    assert_eq!(message, "site 'z': a value of shape [] is needed (or [records] and then []), got [3, 2]");
    let bad = array![1.0, f64::NAN, 0.0];
    let message = told(simulate(&condition(each, [("z", bad)]), &data));
    assert_eq!(message, "site 'z': value NaN (record 1) is outside the support (finite)");
}

#[test]
fn scales_masks_and_what_leaks() {
    let message = failure(|ctx| ctx.scale(0.0, |ctx| ctx.factor("f", 1.0)));
    assert!(
        message.starts_with(
            "site 'f': a scale must be positive and finite, got 0; to leave terms out, use a mask"
        )
    );
    let message = failure(|ctx| ctx.scale(f64::NAN, |ctx| ctx.factor("f", 1.0)));
    assert!(message.contains("got NaN"), "{message}");
    let message = failure(|ctx| {
        let mask = ctx.graph().array(&array![1.0, 0.0, 1.0].into_dyn());
        ctx.mask(mask, |ctx| ctx.sample("w", Normal::new(0.0, 1.0).iid(3))).map(|_| ())
    });
    // A vector taken as one outcome has one term.
    assert!(message.starts_with("site 'w': mask: shapes [3] and [] do not go together"), "{message}");
    for leak in [
        |ctx: &mut Ctx<'_>| {
            let y = leaked(ctx)?;
            ctx.deterministic("d", y).map(|_| ())
        },
        |ctx: &mut Ctx<'_>| {
            let y = leaked(ctx)?;
            ctx.factor("d", y)
        },
        |ctx: &mut Ctx<'_>| {
            let y = leaked(ctx)?;
            ctx.scale(y, |ctx| ctx.factor("d", 1.0))
        },
        |ctx: &mut Ctx<'_>| {
            let y = leaked(ctx)?;
            ctx.mask(y, |ctx| ctx.sample("d", Normal::new(0.0, 1.0))).map(|_| ())
        },
        |ctx: &mut Ctx<'_>| {
            let y = leaked(ctx)?;
            ctx.enumerate("d", super::common::Coin(0.0.into()), |ctx, z| ctx.factor("inner", z * y))
        },
    ] {
        let message = failure(leak);
        assert!(message.contains("'d'") || message.contains("'inner'"), "{message}");
        assert!(message.contains("would mix records") && message.contains("mistakes.rs:"), "{message}");
    }
}

/// A value of a record, outside.
fn leaked<'g>(ctx: &mut Ctx<'g>) -> Result<ppl_core::Var<'g>> {
    let mut out = None;
    ctx.each_record(|_, record| {
        out = Some(record.get("y")?);
        Ok(())
    })?;
    Ok(out.unwrap())
}

#[test]
fn predictions_that_cannot_be_made() {
    let data = records(3);
    let message = |draws: Vec<(&str, ArrayD<f64>)>| {
        let draws: Values = draws.into_iter().map(|(name, values)| (name.to_owned(), values)).collect();
        told(Predictive::posterior(&simple, draws).and_then(|predictive| predictive.run(&data)))
    };
    assert!(message(vec![]).contains("draws of at least one site are needed"));
    assert!(message(vec![("w", number(1.0))]).contains("a first axis that counts them"));
    let two = || ArrayD::zeros(vec![2, 2]);
    assert_eq!(message(vec![("v", ArrayD::zeros(vec![3])), ("w", two())]), "'v' has 3 draws, and 'w' has 2");
    assert!(message(vec![("v", two())]).starts_with("a handler is for 'v'"));
    assert_eq!(
        message(vec![("w", ArrayD::zeros(vec![2, 3]))]),
        "site 'w': a value of shape [2, 2] is needed, [2] before its own [2], got [2, 3]"
    );
    let unknown = Predictive::prior(&simple, 2).only(["z"]).run(&data).unwrap_err().to_string();
    assert_eq!(unknown, "the model has no site 'z' to predict; it has [w, y]");
    let none = Predictive::prior(&simple, 0);
    assert_eq!(none.run(&data).unwrap()["y"].shape(), [0, 3]);
    assert!(none.log_predictive_density(&data).unwrap_err().to_string().contains("at least one draw, got 0"));
}

/// Observations outside the support, known while tracing and found in a column, under a handler as without.
#[test]
fn observations_outside_the_support() {
    let public = failure(|ctx| ctx.observe("c", super::common::Coin(0.0.into()), 0.5));
    assert_eq!(public, "site 'c': value 0.5 is outside the support (0 or 1)");
    let model = |ctx: &mut Ctx<'_>| {
        ctx.scope("part", |ctx| {
            ctx.each_record(|ctx, record| ctx.observe("c", super::common::Coin(0.0.into()), record.get("y")?))
        })
    };
    let message = ppl_core::log_density(&model, &records(3), &Values::new()).unwrap_err().to_string();
    assert!(
        message.starts_with("site 'part/c': value -1 (column 'y', record 0) is outside the support"),
        "{message}"
    );
    let message = Predictive::prior(&model, 1).log_likelihood(&records(3)).unwrap_err().to_string();
    assert!(message.contains("column 'y', record 0"), "{message}");
}

#[test]
fn a_real_value_is_no_scale() {
    let message = failure(|ctx| {
        let s = ctx.sample("s", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(0.0, s), record.get("y")?))
    });
    assert!(
        message.starts_with(
            "site 'y': Normal: scale must be positive and finite, but 's' may be any real number"
        ) && message.contains("mistakes.rs:"),
        "{message}"
    );
    // Under another shape, in a plate, and of a parameter.
    let message = failure(|ctx| {
        let s = ctx.param("s", array![1.0, 2.0], Constraint::Real)?;
        ctx.plate("p", 2, |ctx| ctx.sample("z", Normal::new(0.0, s.reshape([1, 2])))).map(|_| ())
    });
    assert!(message.contains("'z': Normal: scale must be positive") && message.contains("'s'"), "{message}");
    // What is made positive is positive, and a number of a real site that is known is looked at itself.
    let fits = |ctx: &mut Ctx<'_>| {
        let s = ctx.sample("s", Normal::new(0.0, 1.0))?;
        ctx.sample("a", Normal::new(s, s.exp()))?;
        ctx.sample("b", Normal::new(s, 0.5)).map(|_| ())
    };
    assert_eq!(failure_or_none(&fits), None);
    let known = condition(fits, [("s", 0.5)]);
    assert_eq!(failure_or_none(&known), None);
}

/// What is wrong with a model, if anything.
fn failure_or_none(model: &impl ppl_core::Model) -> Option<String> {
    let (graph, records) = (ppl_core::Graph::new(), records(3));
    let trace = ppl_core::trace(model, &graph, records.schema(), ppl_core::Unconstrained);
    trace.err().map(|error| error.to_string())
}

#[test]
fn errors_and_arrays_are_told_in_plain_words() {
    let graph = ppl_core::Graph::new();
    let (w, x) = (graph.input("w", [3, 5]).unwrap(), graph.input("x", 4).unwrap());
    let _ = w.dot(x);
    let error = graph.check().unwrap_err();
    assert!(error.to_string().starts_with("dot: shapes [3, 5] and [4] do not go together ("), "{error}");
    assert_eq!(format!("{error:?}"), error.to_string());
    let boxed: Box<dyn std::error::Error> = Box::new(error.clone());
    assert_eq!(format!("{boxed:?}"), error.to_string());

    let values: Values = [("w".to_owned(), array![0.5, 1.0].into_dyn())].into();
    let density = ppl_core::log_density(&simple, &records(3), &values).unwrap();
    let draws = [("w".to_owned(), array![[1.0, 2.0], [3.0, 5.0]].into_dyn())].into();
    let summary = ppl_core::draws::summary::summarise(&draws, 0.9).unwrap();
    let (graph, records) = (ppl_core::Graph::new(), records(3));
    let model = |ctx: &mut Ctx<'_>| ctx.param("p", array![1.0, 2.5], Constraint::Real).map(|_| ());
    let trace = ppl_core::trace(&model, &graph, records.schema(), ()).unwrap();
    let handler = ppl_core::handlers::Condition::new([("w", array![1.0, 2.5])]);
    let initial: ppl_core::model::Initial = array![1.0, 2.5].into();
    for (told, numbers) in [
        (format!("{density:?}"), "likelihood: ["),
        (format!("{summary:?}"), "mean: [2, 3.5]"),
        (format!("{:?}", trace.sites()[0]), "initial: Some([1, 2.5])"),
        (format!("{handler:?}"), "\"w\": [1, 2.5]"),
        (format!("{initial:?}"), "[1, 2.5]"),
    ] {
        assert!(told.contains(numbers) && !told.contains("layout") && !told.contains("strides"), "{told}");
    }
}

#[test]
fn a_bad_index_column_is_told_with_site_column_and_record() {
    use ppl_core::{Graph, Program, Records, Unconstrained, trace};
    let records = Records::from_columns([("group", vec![0_u8, 3, 1])]).unwrap();
    let model = |ctx: &mut Ctx<'_>| {
        let effects = ctx.param("effects", array![0.0, 0.0, 0.0], Constraint::Real)?;
        ctx.each_record(|ctx, record| {
            let effect = effects.gather(record.index("group")?);
            ctx.observe("y", Normal::new(effect, 1.0), 0.5)
        })
    };
    let graph = Graph::new();
    let trace = trace(&model, &graph, records.schema(), Unconstrained).unwrap();
    let error = graph.check_indices(&records).unwrap_err();
    let told = error.to_string();
    let expected = "site 'y': index 3 (column 'group', record 1) is not an integer from 0 to 3 - 1 (";
    assert!(told.starts_with(expected) && told.contains("mistakes.rs:"), "{told}");
    assert_eq!(error.at_site("y").to_string(), told);
    let density = trace.record_log_likelihood().unwrap();
    let program = Program::new(&graph, &[density]).unwrap();
    assert_eq!(program.check_indices(&records).unwrap_err().to_string(), told);
}

/// Values for sites of a kind that takes none are refused, not forgotten.
#[test]
fn values_for_sites_of_another_kind() {
    let model = |ctx: &mut Ctx<'_>| {
        let spread = ctx.param("spread", 1.0, Constraint::Positive)?;
        let w = ctx.sample("w", Normal::new(0.0, 1.0))?;
        ctx.deterministic("sum", spread + w)?;
        ctx.factor("pull", -w)?;
        ctx.observe("y", Normal::new(w, 1.0), 0.5)
    };
    let data = records(1);
    let (conditioned, substituted) = (
        |name: &str| told(simulate(&seed(condition(model, [(name, 0.5)]), 1), &data)),
        |name: &str| told(simulate(&seed(substitute(model, [(name, 0.5)]), 1), &data)),
    );
    for (message, site, kind) in [
        (conditioned("spread"), "spread", "a parameter; use substitute"),
        (conditioned("sum"), "sum", "a deterministic value"),
        (conditioned("pull"), "pull", "a factor"),
        (substituted("y"), "y", "an observation; use condition"),
        (substituted("sum"), "sum", "a deterministic value"),
        (substituted("pull"), "pull", "a factor"),
    ] {
        assert!(message.starts_with(&format!("site '{site}':")) && message.contains(kind), "{message}");
    }
    assert!(simulate(&seed(condition(model, [("y", 0.7)]), 1), &data).is_ok());
    assert!(simulate(&seed(substitute(model, [("spread", 0.7)]), 1), &data).is_ok());
}
