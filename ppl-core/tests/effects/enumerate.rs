//! Sums over discrete values, against the same sums written out.

use super::common::{Choice, Coin, Normal, failure, normal_log_density};
use ndarray::{ArrayD, array};
use ppl_core::handlers::{Seed, Unconstrained, condition, uncondition};
use ppl_core::strategies::laws::records;
use ppl_core::{
    Ctx, Distribution, ExecutionPlan, Graph, Predictive, Program, Result, SiteKind, Values, gradient,
    log_density, simulate, trace,
};

const WEIGHTS: [f64; 3] = [0.2, 0.5, 0.3];

fn log_weights<'g>(ctx: &Ctx<'g>) -> ppl_core::Var<'g> {
    ctx.graph().array(&array![WEIGHTS[0].ln(), WEIGHTS[1].ln(), WEIGHTS[2].ln()].into_dyn())
}

/// A mixture of three normals with unknown centres.
fn mixture(ctx: &mut Ctx) -> Result<()> {
    let centres = ctx.sample("centres", Normal::new(0.0, 2.0).iid(3))?;
    ctx.each_record(|ctx, record| {
        let (y, weights) = (record.get("y")?, log_weights(ctx));
        ctx.enumerate("which", Choice(weights), |ctx, which| {
            ctx.observe("y", Normal::new(centres.gather(which), 0.5), y)
        })
    })
}

fn at_centres() -> Values {
    Values::from([("centres".to_owned(), array![-1.0, 0.3, 1.2].into_dyn())])
}

#[test]
fn a_mixture_is_the_sum_over_its_components() {
    let data = records(6);
    let y: Vec<f64> = data.column(0).numbers().collect();
    let density = log_density(&mixture, &data, &at_centres()).unwrap();
    for (i, &y) in y.iter().enumerate() {
        let terms: Vec<f64> =
            (0..3).map(|k| WEIGHTS[k] * normal_log_density(y, [-1.0, 0.3, 1.2][k], 0.5).exp()).collect();
        let expected = terms.iter().sum::<f64>().ln();
        assert!((density.likelihood[i] - expected).abs() < 1e-14, "{} and {expected}", density.likelihood[i]);
        // The site's value is the distribution given everything else.
        let run = simulate(&condition(mixture, at_centres()), &data).unwrap();
        for k in 0..3 {
            assert!((run["which"][[i, k]] - terms[k] / expected.exp()).abs() < 1e-14);
        }
    }
}

/// A sum is what one gets by giving the discrete values in turn.
#[test]
fn a_sum_is_the_sum_of_its_conditions() {
    let data = records(4);
    let total = log_density(&mixture, &data, &at_centres()).unwrap();
    let given: Vec<_> = (0..3)
        .map(|k| {
            let mut at = at_centres();
            at.insert("which".to_owned(), ArrayD::from_elem(vec![4], f64::from(k)));
            log_density(&mixture, &data, &at).unwrap()
        })
        .collect();
    for i in 0..4 {
        let sum = given.iter().map(|density| density.likelihood[i].exp()).sum::<f64>().ln();
        assert!((total.likelihood[i] - sum).abs() < 1e-14);
    }
    assert_eq!(total.prior, given[0].prior);
}

#[test]
fn the_sites_of_a_sum_are_known_and_have_no_terms_of_their_own() {
    let (graph, data) = (Graph::new(), records(1));
    let trace = trace(&mixture, &graph, data.schema(), Unconstrained).unwrap();
    let sites: Vec<_> =
        trace.sites().iter().map(|site| (site.name.as_str(), site.kind, site.log_prob.is_some())).collect();
    assert_eq!(
        sites,
        [
            ("centres", SiteKind::Latent, true),
            ("which", SiteKind::Marginalised, true),
            ("y", SiteKind::Observed, false)
        ]
    );
    assert_eq!(trace.record_latents().count(), 0);
}

#[test]
fn the_gradient_of_a_sum_is_a_finite_difference() {
    let (graph, data) = (Graph::new(), records(1));
    let trace = trace(&mixture, &graph, data.schema(), Unconstrained).unwrap();
    let value = trace.record_log_likelihood().unwrap();
    let centres = trace.site("centres").unwrap().unconstrained.unwrap();
    let slope = gradient(value, &[centres]).unwrap()[0];
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[value, slope]).unwrap());
    let mut at = |shift: [f64; 3]| {
        let centres = [-1.0 + shift[0], 0.3 + shift[1], 1.2 + shift[2]];
        plan.set("unconstrained/centres", &centres).unwrap();
        let value = plan.evaluate(&data, &[0], 0).unwrap()[[0, 0]];
        (value, plan.evaluate(&data, &[0], 1).unwrap().row(0).to_vec())
    };
    let slopes = at([0.0; 3]).1;
    for k in 0..3 {
        let h = 1e-5;
        let mut up = [0.0; 3];
        up[k] = h;
        let difference = (at(up).0 - at(up.map(|x| -x)).0) / (2.0 * h);
        // h² times a third derivative of order 10, and rounding over h.
        assert!((difference - slopes[k]).abs() < 1e-8, "{difference} and {}", slopes[k]);
    }
}

/// Two coins in a sum, one in a plate: every assignment written out.
#[test]
fn sums_in_plates_and_sums_in_sums() {
    let model = |ctx: &mut Ctx<'_>| {
        let data = ctx.graph().array(&array![0.3, -0.6].into_dyn());
        ctx.enumerate("all", Coin(0.4.into()), |ctx, all| {
            ctx.plate("two", 2, |ctx| {
                ctx.enumerate("each", Coin((0.5 * all - 0.2).into()), |ctx, each| {
                    ctx.plate("three", 3, |ctx| ctx.factor("pull", 0.1 * all - 0.2 * each))?;
                    ctx.observe("x", Normal::new(all + each, 1.0), data)
                })
            })
        })
    };
    let coin = |x: f64, logit: f64| 1.0 / (1.0 + ((1.0 - 2.0 * x) * logit).exp());
    let mut total = 0.0;
    for all in [0.0, 1.0] {
        let mut product = coin(all, 0.4);
        for x in [0.3, -0.6] {
            product *= [0.0, 1.0]
                .map(|each| {
                    let pull = (3.0_f64 * (0.1 * all - 0.2 * each)).exp();
                    coin(each, 0.5 * all - 0.2) * pull * normal_log_density(x, all + each, 1.0).exp()
                })
                .iter()
                .sum::<f64>();
        }
        total += product;
    }
    let density = log_density(&model, &records(1), &Values::new()).unwrap();
    assert!((density.prior - total.ln()).abs() < 1e-14, "{} and {}", density.prior, total.ln());
}

/// A scale around a sum is the power of the sum; within, of the term. A mask leaves the whole sum out.
#[test]
fn scales_and_masks_around_a_sum_act_on_the_sum() {
    let inner = |scale: f64| {
        move |ctx: &mut Ctx<'_>| {
            ctx.enumerate("c", Coin(0.3.into()), |ctx, c| ctx.scale(scale, |ctx| ctx.factor("f", -2.0 * c)))
        }
    };
    let density = |model: &dyn Fn(&mut Ctx<'_>) -> Result<()>| {
        log_density(&model, &records(1), &Values::new()).unwrap().prior
    };
    let p = 1.0 / (1.0 + (-0.3_f64).exp());
    let sum = |scale: f64| ((1.0 - p) + p * (-2.0 * scale).exp()).ln();
    assert!((density(&inner(1.0)) - sum(1.0)).abs() < 1e-15);
    assert!((density(&inner(0.5)) - sum(0.5)).abs() < 1e-15);
    let outside = |ctx: &mut Ctx<'_>| ctx.scale(0.5, |ctx| inner(0.25)(ctx));
    assert!((density(&outside) - 0.5 * sum(0.25)).abs() < 1e-15);
    let masked = |ctx: &mut Ctx<'_>| ctx.mask(0.0, |ctx| inner(1.0)(ctx));
    assert_eq!(density(&masked), 0.0);
}

#[test]
fn a_discrete_value_is_drawn_when_predictions_are_made_and_summed_out_in_densities() {
    let data = records(2000);
    let draws = Values::from([("centres".to_owned(), array![[-9.0, 0.0, 9.0]].into_dyn())]);
    let predicted = Predictive::posterior(&mixture, draws.clone()).unwrap().key(3).run(&data).unwrap();
    assert_eq!(predicted["which"].shape(), [1, 2000]);
    for (k, &p) in WEIGHTS.iter().enumerate() {
        let near = predicted["y"].iter().filter(|y| (*y - 9.0 * (k as f64 - 1.0)).abs() < 4.0).count() as f64;
        // 4.9 standard errors: a false alarm in a million, each of three.
        let n = 2000.0;
        assert!((near / n - p).abs() < 4.9 * (p * (1.0 - p) / n).sqrt());
    }
    let density = Predictive::posterior(&mixture, draws).unwrap().log_predictive_density(&data).unwrap();
    let exact = log_density(
        &mixture,
        &data,
        &Values::from([("centres".to_owned(), array![-9.0, 0.0, 9.0].into_dyn())]),
    )
    .unwrap();
    assert!(density.iter().zip(&exact.likelihood).all(|(a, b)| (a - b).abs() <= 1e-14 * (1.0 + b.abs())));
    let (graph, data) = (Graph::new(), records(1));
    let drawn = trace(&uncondition(mixture), &graph, data.schema(), Seed::new(1)).unwrap();
    assert_eq!(drawn.site("which").unwrap().kind, SiteKind::Latent);
}

#[test]
fn what_cannot_be_summed_over_is_refused() {
    let told = failure(|ctx| ctx.enumerate("z", Normal::new(0.0, 1.0), |_, _| Ok(())));
    assert!(told.starts_with("site 'z': not supported: summing over a value that must be finite"), "{told}");
    let told = failure(|ctx| ctx.enumerate("z", Coin(0.0.into()).iid(2), |_, _| Ok(())));
    assert!(told.contains("outcomes of shape [2]") && told.contains("use a plate"), "{told}");
    let told = failure(|ctx| {
        ctx.enumerate("z", Coin(0.0.into()), |ctx, _| ctx.sample("w", Normal::new(0.0, 1.0)).map(|_| ()))
    });
    assert!(told.starts_with("site 'w': not supported: a latent value inside ctx.enumerate"), "{told}");
    // One value for each of four, and what is inside has one element for all.
    let told = failure(|ctx| {
        let four = ctx.graph().array(&ArrayD::zeros(vec![4]));
        ctx.enumerate("z", Coin(four.into()), |ctx, _| ctx.factor("f", -1.0))
    });
    assert!(
        told.starts_with(
            "site 'z': the log density of 'f' inside has shape [], but one element is needed for each of [4]"
        ),
        "{told}"
    );
    let told = failure(|ctx| ctx.sample("z", Coin(0.0.into())).map(|_| ()));
    assert!(told.contains("site 'z'") && told.contains("ctx.enumerate"), "{told}");
}

/// A deterministic value that depends on what is summed over has no value of its own: it is not in the trace. It has
/// one where the discrete value is drawn or given.
#[test]
fn computed_values_that_depend_on_what_is_summed_over_are_left_out() {
    let model = |ctx: &mut Ctx<'_>| {
        let a = ctx.sample("a", Normal::new(0.0, 1.0))?;
        ctx.enumerate("z", Coin(0.4.into()), |ctx, z| {
            ctx.deterministic("same", 2.0 * a)?;
            ctx.deterministic("shifted", a + z)?;
            ctx.factor("pull", z * a)
        })?;
        ctx.markov(
            "chain",
            3,
            Coin(0.0.into()),
            |_| Coin(0.0.into()),
            |ctx, z| {
                ctx.deterministic("double", 2.0 * z)?;
                ctx.factor("step", z * a)
            },
        )
    };
    let (graph, data) = (Graph::new(), records(1));
    let summed = trace(&model, &graph, data.schema(), Unconstrained).unwrap();
    let names: Vec<&str> = summed.sites().iter().map(|site| site.name.as_str()).collect();
    assert_eq!(names, ["a", "z", "same", "pull", "chain", "step"]);
    let drawn = simulate(&ppl_core::handlers::seed(model, 4), &data).unwrap();
    assert_eq!(drawn["shifted"][[]], drawn["a"][[]] + drawn["z"][[]]);
    assert!((0..3).all(|t| drawn["double"][t] == 2.0 * drawn["chain"][t]));
    // The name is taken all the same.
    let told = failure(|ctx| {
        ctx.enumerate("z", Coin(0.0.into()), |ctx, z| ctx.deterministic("d", z).map(|_| ()))?;
        ctx.deterministic("d", 1.0).map(|_| ())
    });
    assert!(told.contains("'d' is used by two sites"), "{told}");
}

/// The distribution of a sum's value inside another sum is given everything, not given one value of the outer.
#[test]
fn the_distribution_of_an_inner_value_is_that_of_all_values_of_the_outer() {
    let model = |ctx: &mut Ctx<'_>| {
        ctx.enumerate("all", Coin(0.4.into()), |ctx, all| {
            ctx.plate("two", 2, |ctx| {
                ctx.enumerate("each", Coin((3.0 * all - 1.0).into()), |ctx, each| {
                    ctx.factor("pull", 0.7 * each - 0.3 * all)
                })
            })
        })
    };
    let coin = |x: f64, logit: f64| 1.0 / (1.0 + ((1.0 - 2.0 * x) * logit).exp());
    let weight = |all: f64, each: f64| coin(each, 3.0 * all - 1.0) * (0.7 * each - 0.3 * all).exp();
    let outer = |all: f64| coin(all, 0.4) * (weight(all, 0.0) + weight(all, 1.0)).powi(2);
    let total = outer(0.0) + outer(1.0);
    let (graph, data) = (Graph::new(), records(1));
    let trace = trace(&model, &graph, data.schema(), Unconstrained).unwrap();
    let run = trace.simulate(&data).unwrap();
    for each in [0.0, 1.0] {
        let of = |all: f64| outer(all) / total * weight(all, each) / (weight(all, 0.0) + weight(all, 1.0));
        let expected = of(0.0) + of(1.0);
        for place in 0..2 {
            let got = run["each"][[each as usize, place]];
            assert!((got - expected).abs() < 1e-14, "{got} and {expected}");
        }
    }
}
