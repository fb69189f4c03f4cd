//! What each handler does, one by one.

use super::common::{Coin, LogNormal, Normal, normal_log_density, number, schema};
use ndarray::array;
use ppl_core::handlers::{
    Constrained, Handled, Handler, LocScale, NoiseInputs, Reparam, ReplayTrace, Transformed, Unconstrained,
    block, block_all_but, condition, reparam, seed, substitute, uncondition,
};
use ppl_core::strategies::laws::records;
use ppl_core::{
    Constraint, Ctx, Distribution, ExecutionPlan, Graph, Message, Model, Program, Result, Shape, SiteKind,
    Value, Values, gradient, log_density, simulate, trace,
};
use std::cell::RefCell;
use std::rc::Rc;

fn pair(ctx: &mut Ctx) -> Result<()> {
    let spread = ctx.sample("spread", LogNormal(Normal::new(0.0, 1.0)))?;
    ctx.sample("w", Normal::new(1.0, spread).iid(2)).map(|_| ())
}

fn names_and_kinds(model: &impl Model) -> Vec<(String, SiteKind)> {
    let (graph, schema) = (Graph::new(), schema());
    let trace = trace(model, &graph, &schema, Unconstrained).unwrap();
    trace.sites().iter().map(|site| (site.name.clone(), site.kind)).collect()
}

#[test]
fn messages_go_outwards_and_come_back() {
    type Log = Rc<RefCell<Vec<String>>>;
    struct Told(&'static str, Log);
    impl<'g> Handler<'g> for Told {
        fn process(&self, message: &mut Message<'g>) -> Result<()> {
            self.1.borrow_mut().push(format!(
                "{} sees {}, wants {}",
                self.0,
                message.name,
                message.wants_value()
            ));
            Ok(())
        }
        fn post_process(&self, message: &mut Message<'g>) -> Result<()> {
            self.1.borrow_mut().push(format!(
                "{} sees {} back, {}",
                self.0,
                message.name,
                message.value.is_some()
            ));
            Ok(())
        }
    }
    let log: Log = Rc::default();
    let (graph, schema) = (Graph::new(), schema());
    let (outer, inner) = (Rc::clone(&log), Rc::clone(&log));
    let model = move |ctx: &mut Ctx<'_>| {
        ctx.with(Told("outer", Rc::clone(&outer)), |ctx| {
            ctx.scope("in", |ctx| {
                ctx.with(Told("inner", Rc::clone(&inner)), |ctx| ctx.param("p", 1.0, Constraint::Real))
            })
        })
        .map(|_| ())
    };
    trace(&model, &graph, &schema, Unconstrained).unwrap();
    assert_eq!(
        *log.borrow(),
        [
            "inner sees p, wants true",
            "outer sees in/p, wants true",
            "outer sees in/p back, true",
            "inner sees in/p back, true"
        ]
    );
    // Stopped, it goes no further out, and comes back to those it has reached.
    log.borrow_mut().clear();
    let (outer, inner) = (Rc::clone(&log), Rc::clone(&log));
    let model = move |ctx: &mut Ctx<'_>| {
        ctx.with(Told("outer", Rc::clone(&outer)), |ctx| {
            ctx.with(ppl_core::handlers::Block::sites(["p"]), |ctx| {
                ctx.with(Told("inner", Rc::clone(&inner)), |ctx| ctx.param("p", 1.0, Constraint::Real))
            })
        })
        .map(|_| ())
    };
    trace(&model, &graph, &schema, Unconstrained).unwrap();
    assert_eq!(*log.borrow(), ["inner sees p, wants true", "inner sees p back, true"]);
}

#[test]
fn the_outer_condition_has_the_last_word_and_an_inner_seed_the_first() {
    let data = records(1);
    let twice = condition(condition(pair, [("spread", 2.0)]), [("spread", 3.0)]);
    assert_eq!(simulate(&seed(twice, 0), &data).unwrap()["spread"], number(3.0));
    let (inner, both) = (seed(pair, 1), seed(seed(pair, 1), 2));
    assert_eq!(simulate(&inner, &data).unwrap(), simulate(&both, &data).unwrap());
    assert_ne!(simulate(&inner, &data).unwrap(), simulate(&seed(pair, 2), &data).unwrap());
}

#[test]
fn a_condition_observes_and_a_substitution_does_not() {
    let site = |name: &str, kind| (name.to_owned(), kind);
    assert_eq!(
        names_and_kinds(&condition(pair, [("spread", 2.0)])),
        [site("spread", SiteKind::Observed), site("w", SiteKind::Latent)]
    );
    assert_eq!(
        names_and_kinds(&substitute(pair, [("spread", 2.0)])),
        [site("spread", SiteKind::Latent), site("w", SiteKind::Latent)]
    );
}

#[test]
fn hidden_sites_are_in_no_trace_and_in_no_density() {
    let hidden = block(seed(pair, 3), ["spread"]);
    let w = array![0.0, 2.0].into_dyn();
    let at = Values::from([("w".to_owned(), w)]);
    let data = records(1);
    let spread = simulate(&seed(pair, 3), &data).unwrap()["spread"][[]];
    let density = log_density(&hidden, &data, &at).unwrap();
    let expected = normal_log_density(0.0, 1.0, spread) + normal_log_density(2.0, 1.0, spread);
    assert!((density.total() - expected).abs() < 1e-14 * (1.0 + expected.abs()));
    assert_eq!(names_and_kinds(&block_all_but(seed(pair, 3), ["w"])), [("w".to_owned(), SiteKind::Latent)]);
    // Nobody inside gives it a value, and nobody outside is asked.
    let (graph, schema) = (Graph::new(), schema());
    let told = trace(&block(pair, ["spread"]), &graph, &schema, Unconstrained).unwrap_err().to_string();
    assert!(told.starts_with("site 'spread': there is no value for this site: put seed"), "{told}");
}

#[test]
fn hidden_sites_in_scopes_have_noise_of_their_own() {
    let both = |ctx: &mut Ctx<'_>| {
        for side in ["left", "right"] {
            ctx.scope(side, |ctx| {
                let value = block(seed(pair, 3), ["w"]).run(ctx);
                value?;
                ctx.deterministic("end", 0.0)
            })?;
        }
        Ok(())
    };
    let run = simulate(&both, &records(1)).unwrap();
    assert_ne!(run["left/spread"], run["right/spread"]);
}

#[test]
fn observations_can_be_forgotten_and_drawn() {
    let model = |ctx: &mut Ctx<'_>| ctx.observe("survey", Normal::new(5.0, 0.1), ctx.graph().constant(0.0));
    assert_eq!(names_and_kinds(&model)[0].1, SiteKind::Observed);
    assert_eq!(names_and_kinds(&uncondition(model))[0].1, SiteKind::Latent);
    let drawn = simulate(&seed(uncondition(model), 1), &records(1)).unwrap()["survey"][[]];
    assert!((drawn - 5.0).abs() < 0.9, "{drawn}");
    // An observation that its distribution stretches to is drawn element by element.
    let wide = |ctx: &mut Ctx<'_>| {
        let three = ctx.graph().array(&array![1.0, 2.0, 3.0].into_dyn());
        ctx.observe("survey", Normal::new(5.0, 0.1), three)
    };
    let drawn = simulate(&seed(uncondition(wide), 1), &records(1)).unwrap();
    assert_eq!(drawn["survey"].shape(), [3]);
    assert_ne!(drawn["survey"][[0]], drawn["survey"][[1]]);
}

/// `ln p(w) dw` is the same in both parameterisations.
#[test]
fn a_reparameterised_site_has_the_same_law() {
    let data = records(1);
    let (spread, y): (f64, [f64; 2]) = (0.3, [0.7, -1.2]);
    for centred in [0.0, 0.25, 0.5, 1.0] {
        let way = match centred {
            0.0 => LocScale::decentred(),
            _ => LocScale::partly(centred).unwrap(),
        };
        let easier = reparam(pair, Reparam::default().site("w", way));
        let kinds = names_and_kinds(&easier);
        assert_eq!(kinds[1], ("w_decentered".to_owned(), SiteKind::Latent));
        assert_eq!(kinds[2], ("w".to_owned(), SiteKind::Deterministic));
        let at = Values::from([
            ("spread".to_owned(), number(spread)),
            ("w_decentered".to_owned(), array![y[0], y[1]].into_dyn()),
        ]);
        let inner = log_density(&easier, &data, &at).unwrap().total();
        let rest = spread.powf(1.0 - centred);
        let w = y.map(|y| 1.0 + rest * (y - centred));
        let run = simulate(&substitute(easier, at), &data).unwrap();
        for (got, expected) in run["w"].iter().zip(w) {
            assert!((got - expected).abs() < 4.0 * f64::EPSILON * (1.0 + expected.abs()));
        }
        let at = Values::from([
            ("spread".to_owned(), number(spread)),
            ("w".to_owned(), array![w[0], w[1]].into_dyn()),
        ]);
        let outer = log_density(&pair, &data, &at).unwrap().total() + 2.0 * rest.ln();
        assert!((inner - outer).abs() < 1e-13, "{centred}: {inner} and {outer}");
    }
    assert!(LocScale::partly(1.5).unwrap_err().to_string().contains("from 0 to 1, got 1.5"));
}

#[test]
fn an_image_of_a_simpler_law_is_sampled_as_that() {
    let easier = reparam(pair, Reparam::default().site("spread", Transformed));
    let at = Values::from([
        ("spread_base".to_owned(), number(-0.4)),
        ("w".to_owned(), array![0.0, 0.0].into_dyn()),
    ]);
    let run = simulate(&substitute(easier.clone(), at.clone()), &records(1)).unwrap();
    assert!((run["spread"][[]] - (-0.4_f64).exp()).abs() < 1e-15);
    let density = log_density(&easier, &records(1), &at).unwrap().total();
    let expected = normal_log_density(-0.4, 0.0, 1.0) + 2.0 * normal_log_density(0.0, 1.0, (-0.4_f64).exp());
    assert!((density - expected).abs() < 1e-14 * (1.0 + expected.abs()));
    let (graph, schema) = (Graph::new(), schema());
    let coin = |ctx: &mut Ctx<'_>| ctx.sample("c", Coin(0.0.into())).map(|_| ());
    let told = trace(&reparam(coin, Reparam::default().site("c", Transformed)), &graph, &schema, Constrained);
    let told = told.unwrap_err().to_string();
    assert!(told.starts_with("site 'c': not supported: reparameterising Coin"), "{told}");
    let told = trace(
        &reparam(pair, Reparam::default().site("spread", LocScale::decentred())),
        &graph,
        &schema,
        Constrained,
    );
    assert!(told.unwrap_err().to_string().contains("use Transformed"));
}

/// A positive law may be stretched on the way, and not moved.
#[test]
fn a_partly_centred_site_keeps_its_support() {
    struct HalfLine<'g>(Value<'g>, Value<'g>);
    impl<'g> Distribution<'g> for HalfLine<'g> {
        fn name(&self) -> &'static str {
            "HalfLine"
        }
        fn parameters(&self) -> Vec<ppl_core::Parameter<'g>> {
            Vec::new()
        }
        fn support(&self) -> Constraint {
            Constraint::Positive
        }
        fn log_prob(&self, x: ppl_core::Var<'g>) -> ppl_core::Var<'g> {
            let scale = self.1.on(x.graph());
            -(x - self.0.on(x.graph())) / scale - scale.log()
        }
        fn draw(&self, prefix: &Shape, noise: &mut ppl_core::Noise<'g>) -> Result<ppl_core::Var<'g>> {
            let u = noise.draw(ppl_core::NoiseKind::Uniform, prefix.clone())?;
            Ok(self.0.on(noise.graph()) - self.1.on(noise.graph()) * u.log())
        }
        fn transport(&self) -> Option<ppl_core::Transport<'g>> {
            let map = ppl_core::model::Map::Affine { loc: self.0, scale: self.1 };
            Some(ppl_core::Transport { base: Rc::new(HalfLine(0.0.into(), 1.0.into())), map })
        }
    }
    let model =
        |loc: f64| move |ctx: &mut Ctx<'_>| ctx.sample("w", HalfLine(loc.into(), 4.0.into())).map(|_| ());
    let half = || Reparam::default().site("w", LocScale::partly(0.5).unwrap());
    let at = Values::from([("w_decentered".to_owned(), number(3.0))]);
    let density = log_density(&reparam(model(0.0), half()), &records(1), &at).unwrap().total();
    assert!((density - (-1.5 - 2.0_f64.ln())).abs() < 1e-15); // rate 1/√4
    let told = log_density(&reparam(model(1.0), half()), &records(1), &at).unwrap_err().to_string();
    assert!(told.starts_with("site 'w': ") && told.contains("use LocScale::decentred"), "{told}");
}

/// A reparameterised vector in a plate, and within records.
#[test]
fn a_reparameterised_site_keeps_its_plates_and_its_records() {
    let model = |ctx: &mut Ctx<'_>| {
        let scale = ctx.param("scale", 2.0, Constraint::Positive)?;
        ctx.plate("groups", 3, |ctx| ctx.sample("effect", Normal::new(0.5, scale).iid(2)))?;
        ctx.each_record(|ctx, record| ctx.sample("own", Normal::new(record.get("y")?, scale)).map(|_| ()))
    };
    let ways = Reparam::default().site("effect", LocScale::decentred()).site("own", LocScale::decentred());
    let (graph, schema) = (Graph::new(), schema());
    let trace = trace(&reparam(model, ways), &graph, &schema, Unconstrained).unwrap();
    let effect = trace.site("effect_decentered").unwrap();
    assert_eq!((effect.shape.clone(), effect.plates.len()), (Shape::from([3, 2]), 1));
    let own: Vec<&str> = trace.record_latents().map(|site| site.name.as_str()).collect();
    assert_eq!(own, ["own_decentered"]);
    assert_eq!(
        trace.latents().map(|site| site.name.as_str()).collect::<Vec<_>>(),
        ["scale", "effect_decentered"]
    );
}

/// The bound that variational inference differentiates: the model's density at the guide's draw, on one
/// graph.
#[test]
fn a_model_is_replayed_at_a_guides_draw() {
    let guide = |ctx: &mut Ctx<'_>| {
        let loc = ctx.param("loc", 0.5, Constraint::Real)?;
        ctx.sample("centre", Normal::new(loc, 0.1)).map(|_| ())
    };
    let model = |ctx: &mut Ctx<'_>| ctx.sample("centre", Normal::new(3.0, 2.0)).map(|_| ());
    let (graph, schema) = (Graph::new(), schema());
    struct Both;
    impl<'g> Handler<'g> for Both {
        fn process(&self, message: &mut Message<'g>) -> Result<()> {
            match message.kind {
                SiteKind::Param => Unconstrained.process(message),
                _ => NoiseInputs.process(message),
            }
        }
    }
    let drawn = trace(&guide, &graph, &schema, Both).unwrap();
    let noise: Vec<_> =
        drawn.noise().map(|input| (input.name.clone(), input.site.clone(), input.per_record)).collect();
    assert_eq!(noise, [("draw/centre/noise/0".to_owned(), "centre".to_owned(), false)]);
    let replayed = trace(&model, &graph, &schema, ReplayTrace::new(&drawn)).unwrap();
    let loc = drawn.site("loc").unwrap().unconstrained.unwrap();
    let slope = gradient(replayed.log_prior(), &[loc]).unwrap()[0];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[slope]).unwrap());
    plan.set("unconstrained/loc", &[0.5]).unwrap();
    plan.set("draw/centre/noise/0", &[2.0]).unwrap();
    plan.run();
    // d/dx of −½((x − 3)/2)² at x = 0.5 + 0.1 · 2.
    assert!((plan.output(0)[0] - (3.0 - 0.7) / 4.0).abs() < 1e-15);
}

/// A mapping changes densities; a parameter has none, however it is mapped.
#[test]
fn a_parameter_has_no_jacobian() {
    let model = |ctx: &mut Ctx<'_>| {
        ctx.param("rate", 1.5, Constraint::Positive)?;
        ctx.sample("spread", LogNormal(Normal::new(0.0, 1.0))).map(|_| ())
    };
    let (graph, schema) = (Graph::new(), schema());
    let trace = trace(&model, &graph, &schema, Unconstrained).unwrap();
    assert!(trace.site("rate").unwrap().unconstrained.is_some());
    assert!(trace.site("rate").unwrap().log_jacobian.is_none());
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[trace.log_jacobian()]).unwrap());
    plan.set("unconstrained/spread", &[0.25]).unwrap();
    plan.run();
    assert_eq!(plan.output(0), [0.25]);
}

/// Latent values of each record: their inputs, their priors, and which part of the density these belong to.
#[test]
fn each_record_has_latent_values_of_its_own() {
    let model = |ctx: &mut Ctx<'_>| {
        let spread = ctx.sample("spread", LogNormal(Normal::new(0.0, 1.0)))?;
        ctx.each_record(|ctx, record| {
            let own = ctx.sample("own", LogNormal(Normal::new(0.0, spread)).iid(2))?;
            ctx.observe("y", Normal::new(own.sum(), 1.0), record.get("y")?)
        })
    };
    let (graph, schema) = (Graph::new(), schema());
    let trace = trace(&model, &graph, &schema, Unconstrained).unwrap();
    let own = trace.site("own").unwrap();
    assert!(own.per_record && own.shape == Shape::from([2]));
    assert_eq!(own.unconstrained.unwrap().kind(), ppl_core::op::Kind::PerRecord);
    assert!(trace.record_log_jacobian().is_some());
    assert_eq!(trace.latents().map(|site| site.name.as_str()).collect::<Vec<_>>(), ["spread"]);

    let data = records(3);
    let y: Vec<f64> = data.column(0).numbers().collect();
    let z = array![[0.5, 1.5], [2.0, 0.1], [1.0, 1.0]];
    let at = Values::from([("spread".to_owned(), number(0.8)), ("own".to_owned(), z.clone().into_dyn())]);
    let density = log_density(&model, &data, &at).unwrap();
    let log_normal = |x: f64, scale: f64| normal_log_density(x.ln(), 0.0, scale) - x.ln();
    assert!((density.prior - log_normal(0.8, 1.0)).abs() < 1e-15);
    for (i, &y) in y.iter().enumerate() {
        let expected = z.row(i).iter().map(|&z| log_normal(z, 0.8)).sum::<f64>()
            + normal_log_density(y, z.row(i).sum(), 1.0);
        assert!((density.likelihood[i] - expected).abs() < 1e-13);
    }
    // The same by conditions, and one value for all records.
    let same = condition(model, at);
    assert_eq!(simulate(&same, &data).unwrap()["own"], z.into_dyn());
    let one = condition(condition(model, [("own", array![1.0, 1.0].into_dyn())]), [("spread", 0.8)]);
    assert_eq!(simulate(&one, &data).unwrap()["own"].shape(), [3, 2]);
}

/// A handler of one's own around statements, holding values of the graph.
#[test]
fn a_handler_may_hold_values_of_the_graph() {
    struct Shift<'g>(Value<'g>);
    impl<'g> Handler<'g> for Shift<'g> {
        fn process(&self, message: &mut Message<'g>) -> Result<()> {
            if let (SiteKind::Factor, Some(value)) = (message.kind, message.value) {
                message.give(value + self.0.on(message.graph()))?;
            }
            Ok(())
        }
    }
    let model = |ctx: &mut Ctx<'_>| {
        let by = ctx.param("by", 2.0, Constraint::Real)?;
        ctx.with(Shift(by.into()), |ctx| ctx.factor("f", -5.0))
    };
    assert_eq!(simulate(&model, &records(1)).unwrap()["f"], number(-3.0));
    struct Nothing;
    impl<'g> Handler<'g> for Nothing {}
    assert_eq!(simulate(&Handled::new(model, Nothing), &records(1)).unwrap()["f"], number(-3.0));
}
