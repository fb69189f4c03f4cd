//! Plates: shapes, copies, terms, and mistakes.

use super::common::{Normal, failure, normal_log_density, schema};
use ndarray::{ArrayD, Axis, array};
use ppl_core::handlers::{Unconstrained, seed};
use ppl_core::strategies::laws::records;
use ppl_core::{
    Ctx, Distribution, ExecutionPlan, Graph, Noise, Predictive, Program, Result, Shape, Values, log_density,
    simulate, trace,
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
