//! Plates: shapes, copies, terms, and mistakes.

use super::common::{Coin, Normal, failure, normal_log_density, schema};
use ndarray::{ArrayD, Axis, array};
use ppl_core::handlers::{self, Unconstrained, seed};
use ppl_core::strategies::laws::records;
use ppl_core::{
    Ctx, Distribution, ExecutionPlan, Graph, Noise, Predictive, Program, Result, Shape, Values, gradient,
    log_density, simulate, trace,
};

#[test]
fn axes_are_counted_from_the_right() {
    let model = |ctx: &mut Ctx<'_>| {
        ctx.plate("outer", 4, |ctx| {
            ctx.sample("a", Normal::new(0.0, 1.0))?;
            ctx.plate("inner", 3, |ctx| {
                ctx.sample("b", Normal::new(0.0, 1.0).iid(2))?;
                let column = ctx.graph().array(&ArrayD::zeros(vec![3, 1]));
                ctx.sample("c", Normal::new(column, 1.0))
            })
        })
        .map(|_| ())
    };
    let (graph, schema) = (Graph::new(), schema());
    let trace = trace(&model, &graph, &schema, Unconstrained).unwrap();
    let shape = |name: &str| trace.site(name).unwrap().shape.clone();
    assert_eq!(shape("a"), Shape::from([4]));
    assert_eq!(shape("b"), Shape::from([3, 4, 2]));
    assert_eq!(shape("c"), Shape::from([3, 4]));
    let plates: Vec<_> = trace.site("b").unwrap().plates.iter().map(|plate| plate.name.as_str()).collect();
    assert_eq!(plates, ["outer", "inner"]);
}

#[test]
fn a_plate_adds_up_its_elements() {
    let model = |ctx: &mut Ctx<'_>| {
        ctx.plate("groups", 3, |ctx| ctx.sample("effect", Normal::new(1.0, 2.0))).map(|_| ())
    };
    let at = Values::from([("effect".to_owned(), array![0.0, 1.0, 5.0].into_dyn())]);
    let density = log_density(&model, &records(1), &at).unwrap();
    let expected: f64 = [0.0, 1.0, 5.0].iter().map(|&x| normal_log_density(x, 1.0, 2.0)).sum();
    assert!((density.prior - expected).abs() < 1e-14);
    // A factor counts once for each element, as everything in a plate does.
    let model = |ctx: &mut Ctx<'_>| ctx.plate("groups", 3, |ctx| ctx.factor("f", -1.0));
    assert_eq!(log_density(&model, &records(1), &Values::new()).unwrap().prior, -3.0);
}

#[test]
fn a_plate_within_a_record() {
    let model = |ctx: &mut Ctx<'_>| {
        ctx.each_record(|ctx, record| {
            ctx.plate("visits", 2, |ctx| ctx.sample("own", Normal::new(record.get("y")?, 1.0)).map(|_| ()))
        })
    };
    let run = simulate(&seed(model, 1), &records(5)).unwrap();
    assert_eq!(run["own"].shape(), [5, 2]);
    assert!(run["own"].axis_iter(Axis(0)).all(|row| row[[0]] != row[[1]]));
}

/// Copies along an axis of length 1 are independent, and in the right place: their means are those of their
/// row.
#[test]
fn a_stretched_axis_is_drawn_anew_and_in_its_place() {
    let loc = array![[[0.0], [100.0]], [[200.0], [300.0]], [[400.0], [500.0]]].into_dyn();
    let graph = Graph::new();
    let base = Normal::new(graph.array(&loc), 1.0);
    let wide = base.expand([5, 3, 2, 4]).unwrap();
    assert_eq!(wide.batch_shape().unwrap(), Shape::from([5, 3, 2, 4]));
    let mut noise = Noise::new(&graph, "n");
    let drawn = wide.draw(&Shape::from([2]), &mut noise).unwrap();
    assert_eq!(drawn.shape(), Shape::from([2, 5, 3, 2, 4]));
    let (name, _, shape) = noise.inputs()[0].clone();
    assert_eq!(shape.elements(), 240);
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[drawn]).unwrap());
    let z: Vec<f64> = (0..240).map(|k| f64::from(k) / 240.0).collect();
    plan.set(&name, &z).unwrap();
    plan.run();
    let drawn = ArrayD::from_shape_vec(vec![2, 5, 3, 2, 4], plan.output(0).to_vec()).unwrap();
    let mut used: Vec<f64> = Vec::new();
    for (index, x) in drawn.indexed_iter() {
        let noise = x - loc[[index[2], index[3], 0]];
        assert!((-1e-12..1.0).contains(&noise), "{index:?}: {x}");
        used.push(noise);
    }
    used.sort_by(f64::total_cmp);
    // Every number of the noise once.
    assert!(used.iter().zip(&z).all(|(a, b)| (a - b).abs() < 1e-12));
    assert!(base.expand([4]).unwrap_err().to_string().contains("cannot be expanded to [4]"));
}

#[test]
fn plates_that_do_not_fit_say_so() {
    let told = failure(|ctx| {
        ctx.plate("groups", 3, |ctx| {
            let four = ctx.graph().array(&ArrayD::zeros(vec![4]));
            ctx.sample("effect", Normal::new(four, 1.0))
        })
        .map(|_| ())
    });
    assert!(
        told.starts_with("site 'effect': Normal has batch shape [4], but stands in plates ['groups' 3]"),
        "{told}"
    );
    let told = failure(|ctx| {
        ctx.plate("p", 1, |ctx| {
            let four = ctx.graph().array(&ArrayD::zeros(vec![4]));
            ctx.sample("effect", Normal::new(four, 1.0)).map(|_| ())
        })
    });
    assert!(told.contains("batch shape [4]") && told.contains("'p' 1"), "{told}");
    let told = failure(|ctx| ctx.plate("p", 0, |_| Ok(())));
    assert_eq!(told, "plate 'p' has no elements; its size must be at least 1");
    let told = failure(|ctx| ctx.plate("p", 2, |ctx| ctx.plate("p", 2, |_| Ok(()))));
    assert!(told.starts_with("plate 'p' stands inside itself"), "{told}");
    let told = failure(|ctx| {
        ctx.plate("p", 2, |_| Ok(()))?;
        ctx.plate("p", 3, |_| Ok(()))
    });
    assert!(told.starts_with("plate 'p' had size 2 and has 3 here"), "{told}");
    let told = failure(|ctx| ctx.plate("p", 2, |ctx| ctx.each_record(|_, _| Ok(()))));
    assert!(
        told.contains("each_record inside the plate 'p'") && told.contains("close the plate first"),
        "{told}"
    );
    let told = failure(|ctx| ctx.plate("p", 2, |ctx| ctx.observe("x", Normal::new(0.0, 1.0), 1.0)));
    assert!(
        told.contains("site 'x'") && told.contains("shape [2]") && told.contains("got shape []"),
        "{told}"
    );
}

#[test]
fn predictions_have_axes_of_draws_records_and_plates() {
    fn model(ctx: &mut Ctx) -> Result<()> {
        ctx.plate("groups", 3, |ctx| ctx.sample("effect", Normal::new(0.0, 1.0).iid(2)))?;
        ctx.each_record(|ctx, _| {
            ctx.plate("visits", 4, |ctx| ctx.sample("own", Normal::new(0.0, 1.0))).map(|_| ())
        })
    }
    let drawn = Predictive::prior(&model, 6).run(&records(5)).unwrap();
    assert_eq!(drawn["effect"].shape(), [6, 3, 2]);
    assert_eq!(drawn["own"].shape(), [6, 5, 4]);
}

/// Every way to stretch copies over a batch adds up the terms of the elements, each once.
#[test]
fn copies_in_a_batch_count_once_each() {
    type Declared = fn(&mut Ctx<'_>) -> Result<()>;
    let x = array![[0.3, -1.2], [0.0, 2.0], [1.5, 0.25]].into_dyn();
    let models: [(&str, Declared); 5] = [
        ("in a plate", |ctx| {
            let loc = ctx.sample("loc", Normal::new(0.0, 1.0))?;
            ctx.plate("g", 3, |ctx| ctx.sample("b", Normal::new(loc, 2.0).iid(2))).map(|_| ())
        }),
        ("by expand", |ctx| {
            let loc = ctx.sample("loc", Normal::new(0.0, 1.0))?;
            ctx.sample("b", Normal::new(loc, 2.0).iid(2).expand([3])?).map(|_| ())
        }),
        ("a base of a batch", |ctx| {
            let loc = ctx.sample("loc", Normal::new(0.0, 1.0))?;
            let both = Normal::new(loc.broadcast_to([2]), 2.0);
            ctx.plate("g", 3, |ctx| ctx.sample("b", both.iid(Shape::scalar()))).map(|_| ())
        }),
        ("of a plate's own", |ctx| {
            let loc = ctx.sample("loc", Normal::new(0.0, 1.0))?;
            ctx.sample("b", Normal::new(loc, 2.0).iid([3, 2])).map(|_| ())
        }),
        ("sampled by the standard form", |ctx| {
            let loc = ctx.sample("loc", Normal::new(0.0, 1.0))?;
            let part = handlers::Reparam::default().site("b", handlers::LocScale::partly(1.0)?);
            let b =
                ctx.with(part, |ctx| ctx.plate("g", 3, |ctx| ctx.sample("b", Normal::new(loc, 2.0).iid(2))))?;
            assert_eq!(b.shape(), Shape::from([3, 2]));
            Ok(())
        }),
    ];
    let terms = |loc: f64| x.iter().map(|&x| normal_log_density(x, loc, 2.0)).sum::<f64>();
    for (told, model) in models {
        let (graph, schema) = (Graph::new(), schema());
        let trace = trace(&model, &graph, &schema, Unconstrained).unwrap();
        let site = ["b", "b_decentered"]
            .into_iter()
            .find_map(|name| trace.site(name).filter(|site| site.unconstrained.is_some()));
        let (site, loc) = (site.unwrap(), trace.site("loc").unwrap().unconstrained.unwrap());
        assert_eq!(site.shape, Shape::from([3, 2]), "{told}");
        let density = trace.log_prior();
        let slopes = gradient(density, &[loc, site.unconstrained.unwrap()]).unwrap();
        let program = Program::new(&graph, &[density, slopes[0], slopes[1]]).unwrap();
        let mut plan = ExecutionPlan::<f64>::new(&program);
        let numbers: Vec<f64> = x.iter().copied().collect();
        plan.set(&Unconstrained::input_name(&site.name), &numbers).unwrap();
        plan.set(&Unconstrained::input_name("loc"), &[0.5]).unwrap();
        plan.run();
        let expected = normal_log_density(0.5, 0.0, 1.0) + terms(0.5);
        assert!((plan.output(0)[0] - expected).abs() < 1e-13, "{told}: {} and {expected}", plan.output(0)[0]);
        let by_loc = -0.5 + x.iter().map(|x| (x - 0.5) / 4.0).sum::<f64>();
        assert!((plan.output(1)[0] - by_loc).abs() < 1e-13, "{told}");
        for (slope, x) in plan.output(2).iter().zip(&x) {
            assert!((slope + (x - 0.5) / 4.0).abs() < 1e-15, "{told}");
        }
        let drawn = simulate(&seed(model, 1), &records(1)).unwrap();
        assert_eq!(drawn["b"].shape(), [3, 2], "{told}");
    }
    // A public table of observations, of which each row is an outcome.
    let observed = |ctx: &mut Ctx<'_>| {
        let x = ctx.constant(array![[0.3, -1.2], [0.0, 2.0], [1.5, 0.25]]);
        ctx.observe("x", Normal::new(0.5, 2.0).iid(2), x)
    };
    let density = log_density(&observed, &records(1), &Values::new()).unwrap();
    assert!((density.prior - terms(0.5)).abs() < 1e-13, "{}", density.prior);
    let drawn = simulate(&seed(handlers::uncondition(observed), 1), &records(1)).unwrap();
    assert_eq!(drawn["x"].shape(), [3, 2]);
}

/// Outcomes of several numbers inside a sum in a plate, with the sum written out.
#[test]
fn copies_inside_a_sum_in_a_plate() {
    let x = [[0.3, -1.2], [0.0, 2.0], [1.5, 0.25]];
    let model = |ctx: &mut Ctx<'_>| {
        let table = ctx.constant(ndarray::arr2(&x));
        ctx.plate("g", 3, |ctx| {
            ctx.enumerate("z", Coin(0.0.into()), |ctx, z| {
                // The outcome of a row has one centre.
                ctx.observe("x", Normal::new(0.5, 2.0).iid(2), table)?;
                ctx.factor("pull", -z)
            })
        })
    };
    let of_sum = (0.5 * (1.0 + (-1.0_f64).exp())).ln();
    let expected: f64 =
        x.iter().flatten().map(|&x| normal_log_density(x, 0.5, 2.0)).sum::<f64>() + 3.0 * of_sum;
    let density = log_density(&model, &records(1), &Values::new()).unwrap();
    assert!((density.prior - expected).abs() < 1e-13, "{} and {expected}", density.prior);
}

/// A value of another length is no outcome, and one number stands for all copies.
#[test]
fn copies_take_outcomes_of_their_shape() {
    let graph = Graph::new();
    let copies = Normal::new(0.0, 1.0).iid(2);
    let same = copies.log_prob(graph.constant(1.0));
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[same]).unwrap());
    plan.run();
    assert!((plan.output(0)[0] - 2.0 * normal_log_density(1.0, 0.0, 1.0)).abs() < 1e-15);
    assert_eq!(copies.log_prob(graph.input("many", [5, 3, 2]).unwrap()).shape(), Shape::from([5, 3]));
    graph.check().unwrap();
    let _ = copies.log_prob(graph.input("three", 3).unwrap());
    assert!(graph.check().is_err());
}
