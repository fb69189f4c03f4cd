//! Independent copies as one outcome (`iid`), in plates and batches: the log density is the sum of those of the
//! elements, and so are its derivatives.

use ndarray::array;
use ppl_core::handlers::{Reparam, Transformed as BySimpler, Unconstrained, seed};
use ppl_core::{Ctx, ExecutionPlan, Graph, Program, Records, Result, Schema, gradient, simulate, trace};
use ppl_distributions::prelude::*;

const ELEMENTS: usize = 3;

type Declared = fn(&mut Ctx<'_>) -> Result<()>;

/// The log density of a model at unconstrained values of its latent sites, in order, and its gradient. Each site's
/// numbers are made by `number` of the places of site and number.
fn density(model: &Declared, number: &dyn Fn(usize, usize) -> f64) -> (f64, Vec<Vec<f64>>) {
    let (graph, schema) = (Graph::new(), Schema::new::<String, usize>([]).unwrap());
    let trace = trace(model, &graph, &schema, Unconstrained).unwrap();
    let inputs: Vec<_> =
        trace.latents().map(|site| (site.name.clone(), site.unconstrained.unwrap())).collect();
    let total = trace.log_prior() + trace.log_jacobian();
    let vars: Vec<_> = inputs.iter().map(|(_, input)| *input).collect();
    let mut outputs = vec![total];
    outputs.extend(gradient(total, &vars).unwrap());
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
    for (k, (name, input)) in inputs.iter().enumerate() {
        let numbers: Vec<f64> = (0..input.shape().elements()).map(|place| number(k, place)).collect();
        plan.set(&Unconstrained::input_name(name), &numbers).unwrap();
    }
    plan.run();
    (plan.output(0)[0], (1..outputs.len()).map(|k| plan.output(k).to_vec()).collect())
}

fn number(site: usize, place: usize) -> f64 {
    (0.7 * place as f64 + site as f64).sin()
}

/// A model of one element, the same in a plate of three, and what may differ by roundings.
fn check(told: &str, alone: Declared, plated: Declared) {
    let (all, slopes) = density(&plated, &number);
    let mut total = 0.0;
    for element in 0..ELEMENTS {
        let lengths: Vec<usize> = slopes.iter().map(|slopes| slopes.len() / ELEMENTS).collect();
        let of_element = |site: usize, place: usize| number(site, element * lengths[site] + place);
        let (one, slopes_of_one) = density(&alone, &of_element);
        total += one;
        assert_eq!(slopes.len(), slopes_of_one.len(), "{told}");
        for (site, of_one) in slopes_of_one.iter().enumerate() {
            assert_eq!(lengths[site], of_one.len(), "{told}");
            let of_all = &slopes[site][element * lengths[site]..][..lengths[site]];
            let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * (1.0 + a.abs());
            assert!(of_all.iter().zip(of_one).all(close), "{told}: {of_all:?} and {of_one:?}");
        }
    }
    assert!((all - total).abs() <= 1e-13 * (1.0 + total.abs()), "{told}: {all} and {total}");
    let drawn = simulate(&seed(plated, 1), &Records::none()).unwrap();
    for (name, values) in simulate(&seed(alone, 1), &Records::none()).unwrap() {
        assert_eq!(drawn[&name].shape()[0], ELEMENTS, "{told}");
        assert_eq!(drawn[&name].shape()[1..], *values.shape(), "{told}");
    }
}

/// The statements of a model, alone and in a plate of three.
macro_rules! checked {
    ($told:literal, |$ctx:ident| $statement:expr) => {
        check($told, |$ctx| $statement, |$ctx| $ctx.plate("g", ELEMENTS, |$ctx| $statement))
    };
}

#[test]
fn copies_in_a_plate_are_those_of_its_elements() {
    checked!("copies", |ctx| ctx.sample("b", Normal::new(0.5, 2.0).iid(2)).map(|_| ()));
    checked!("copies of vectors", |ctx| ctx.sample("b", Dirichlet::symmetric(1.3, 3).iid(2)).map(|_| ()));
    checked!("copies of a batch", |ctx| ctx.sample("b", Normal::new(&[0.0, 1.0], 2.0).iid(4)).map(|_| ()));
    checked!("a mixture", |ctx| {
        let weights = Categorical::from_probs(&[0.25, 0.75]);
        let mixture =
            Mixture::new(weights).of(Normal::new(0.0, 1.0).iid(2)).of(StudentT::new(4.0, 1.0, 2.0).iid(2));
        ctx.sample("b", mixture).map(|_| ())
    });
    checked!("a transformed law", |ctx| {
        ctx.sample("b", Normal::new(0.0, 1.0).iid(2).transformed(Affine::new(1.0, 3.0))).map(|_| ())
    });
    checked!("a transformed law of vectors", |ctx| {
        let law = Normal::new(0.0, 1.0).iid(2).transformed(Onto(ppl_core::Constraint::Ordered));
        ctx.sample("b", law).map(|_| ())
    });
    checked!("a horseshoe", |ctx| Horseshoe::new(0.3).slab(2.0).sample(ctx, "b", 2).map(|_| ()));
    checked!("a horseshoe as wide as the plate", |ctx| {
        Horseshoe::new(0.3).sample(ctx, "b", ELEMENTS).map(|_| ())
    });
}

/// Laws that are sampled by way of independent standard normal numbers.
#[test]
fn copies_that_a_law_is_an_image_of() {
    checked!("a multivariate normal law", |ctx| {
        let factor = ctx.constant(array![[1.0, 0.0], [0.5, 2.0]]);
        ctx.with(Reparam::default().site("b", BySimpler), |ctx| {
            ctx.sample("b", MultivariateNormal::from_cholesky(0.5, factor)).map(|_| ())
        })
    });
    checked!("a random walk", |ctx| {
        ctx.with(Reparam::default().site("b", BySimpler), |ctx| {
            ctx.sample("b", GaussianRandomWalk::new(0.3, 4)).map(|_| ())
        })
    });
    checked!("numbers that sum to 0", |ctx| {
        ctx.with(Reparam::default().site("b", BySimpler), |ctx| {
            ctx.sample("b", ZeroSumNormal::new(0.3, 4)).map(|_| ())
        })
    });
    checked!("a transformed law", |ctx| {
        ctx.with(Reparam::default().site("b", BySimpler), |ctx| {
            ctx.sample("b", Normal::new(0.0, 1.0).iid(2).transformed(Exp)).map(|_| ())
        })
    });
    // Not in a plate, but of a batch.
    check(
        "a batch of random walks",
        |ctx| {
            ctx.with(Reparam::default().site("b", BySimpler), |ctx| {
                ctx.sample("b", GaussianRandomWalk::new(0.3, 4)).map(|_| ())
            })
        },
        |ctx| {
            let scales = ctx.constant(vec![0.3; ELEMENTS]);
            ctx.with(Reparam::default().site("b", BySimpler), |ctx| {
                ctx.sample("b", GaussianRandomWalk::new(scales, 4)).map(|_| ())
            })
        },
    );
}
