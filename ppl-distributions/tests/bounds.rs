//! Latent values whose bounds are values of the model: density, gradient, draws, values by either name, shapes, and a
//! posterior against quadrature.

use ndarray::{ArrayD, arr0, arr1};
use ppl_core::handlers::{Reparam, Transformed, condition, reparam, replay, seed, substitute};
use ppl_core::{
    Constraint, Ctx, Distribution, ExecutionPlan, Graph, Predictive, Program, Records, Result, Schema,
    SiteKind, Unconstrained, Var, gradient, log_density, simulate, trace,
};
use ppl_distributions::{
    Affine, Combine, Gamma, HalfNormal, ImproperUniform, LogUniform, Normal, Pareto, Truncated,
    TruncatedNormal, Uniform,
};
use std::collections::BTreeMap;

/// A law around a real number `a`, its log density at `x` by the same law with plain numbers for bounds, and its
/// bounds.
struct Case {
    name: &'static str,
    law: for<'g> fn(Var<'g>) -> Box<dyn Distribution<'g> + 'g>,
    ln_pdf: fn(f64, f64) -> f64,
    bounds: fn(f64) -> [f64; 2],
}

const INF: f64 = f64::INFINITY;

const CASES: [Case; 10] = [
    Case {
        name: "uniform",
        law: |a| Box::new(Uniform::new(a, a + 2.0 + a.square())),
        ln_pdf: |a, x| Uniform::new(a, a + 2.0 + a * a).ln_pdf(x),
        bounds: |a| [a, a + 2.0 + a * a],
    },
    Case {
        name: "uniform up to a value",
        law: |a| Box::new(Uniform::new(-3.0, a.exp())),
        ln_pdf: |a, x| Uniform::new(-3.0, a.exp()).ln_pdf(x),
        bounds: |a| [-3.0, a.exp()],
    },
    Case {
        name: "log-uniform",
        law: |a| Box::new(LogUniform::new(a.exp(), 3.0 * a.exp())),
        ln_pdf: |a, x| LogUniform::new(a.exp(), 3.0 * a.exp()).ln_pdf(x),
        bounds: |a| [a.exp(), 3.0 * a.exp()],
    },
    Case {
        name: "Pareto",
        law: |a| Box::new(Pareto::new(a.exp(), 2.5)),
        ln_pdf: |a, x| Pareto::new(a.exp(), 2.5).ln_pdf(x),
        bounds: |a| [a.exp(), INF],
    },
    Case {
        name: "truncated normal",
        law: |a| Box::new(TruncatedNormal::new(0.5, 1.2, a, a + 1.5)),
        ln_pdf: |a, x| TruncatedNormal::new(0.5, 1.2, a, a + 1.5).ln_pdf(x),
        bounds: |a| [a, a + 1.5],
    },
    Case {
        name: "normal from a value on",
        law: |a| Box::new(TruncatedNormal::new(0.5, 1.2, a, INF)),
        ln_pdf: |a, x| TruncatedNormal::new(0.5, 1.2, a, INF).ln_pdf(x),
        bounds: |a| [a, INF],
    },
    Case {
        name: "truncated",
        law: |a| Box::new(Truncated::new(Normal::new(a, 2.0), a - 1.0, a.exp() + 1.0)),
        ln_pdf: |a, x| Truncated::new(Normal::new(a, 2.0), a - 1.0, a.exp() + 1.0).ln_pdf(x),
        bounds: |a| [a - 1.0, a.exp() + 1.0],
    },
    Case {
        name: "truncated above",
        law: |a| Box::new(Truncated::new(Normal::new(a, 2.0), -INF, a.exp())),
        ln_pdf: |a, x| Truncated::new(Normal::new(a, 2.0), -INF, a.exp()).ln_pdf(x),
        bounds: |a| [-INF, a.exp()],
    },
    // The lower end may lie below the support of what is cut: 0 is the bound then.
    Case {
        name: "truncated within a support",
        law: |a| Box::new(Truncated::new(Gamma::new(2.0, 1.0), a, INF)),
        ln_pdf: |a, x| Truncated::new(Gamma::new(2.0, 1.0), a.max(0.0), INF).ln_pdf(x),
        bounds: |a| [a.max(0.0), INF],
    },
    Case {
        name: "moved",
        law: |a| Box::new(HalfNormal::new(1.0).transformed(Affine::new(a, a.exp()))),
        ln_pdf: |a, x| HalfNormal::new(a.exp()).ln_pdf(x - a),
        bounds: |a| [a, INF],
    },
];

/// `a` from a normal law, and `b` from the case's.
fn model(case: &Case) -> impl Fn(&mut Ctx<'_>) -> Result<()> {
    move |ctx| {
        let a = ctx.sample("a", Normal::new(0.3, 0.5))?;
        ctx.sample("b", (case.law)(a)).map(|_| ())
    }
}

/// The unconstrained density is the law's at the value of `b`, times the derivative of that value by the unconstrained
/// number, and its gradient is that of differences.
#[test]
fn densities_and_gradients_are_those_of_the_law_within_its_bounds() {
    for case in &CASES {
        let (graph, schema) = (Graph::new(), Schema::default());
        let trace = trace(&model(case), &graph, &schema, Unconstrained).unwrap();
        let names: Vec<&str> = trace.sites().iter().map(|site| site.name.as_str()).collect();
        assert_eq!(names, ["a", "b_base", "b"], "{}", case.name);
        assert_eq!(trace.sites()[2].kind, SiteKind::Deterministic);
        let inputs: Vec<Var<'_>> = trace.latents().filter_map(|site| site.unconstrained).collect();
        let (density, b) = (trace.log_prior() + trace.log_jacobian(), trace.site("b").unwrap().value);
        let mut outputs = vec![density, b];
        outputs.extend(gradient(b, &inputs[1..]).unwrap());
        outputs.extend(gradient(density, &inputs).unwrap());
        let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
        let mut at = |[a, u]: [f64; 2]| -> [f64; 5] {
            plan.set(&Unconstrained::input_name("a"), &[a]).unwrap();
            plan.set(&Unconstrained::input_name("b_base"), &[u]).unwrap();
            plan.run();
            std::array::from_fn(|output| plan.output(output)[0])
        };
        for place in [-0.4, 0.7].into_iter().flat_map(|a| [-2.0, 0.3, 1.7].map(|u| [a, u])) {
            let [found, b, slope, by_a, by_u] = at(place);
            let told = format!("{} at {place:?}", case.name);
            let [low, high] = (case.bounds)(place[0]);
            assert!(low < b && b < high, "{told}: {b}");
            let law = (case.ln_pdf)(place[0], b);
            let expected = Normal::new(0.3, 0.5).ln_pdf(place[0]) + law + slope.abs().ln();
            assert!(
                (found - expected).abs() < 1e-11 * (1.0 + expected.abs()),
                "{told}: {found} and {expected}"
            );
            for (k, slope) in [by_a, by_u].into_iter().enumerate() {
                let mut moved = |by: f64| {
                    let mut there = place;
                    there[k] += by;
                    at(there)[0]
                };
                // Off by h² of a third derivative, and by some roundings over h.
                let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!(
                    (slope - difference).abs() < 1e-7 * (1.0 + slope.abs()),
                    "{told}, {k}: {slope}, {difference}"
                );
            }
        }
    }
}

fn draws_within(case: &Case, drawn: &BTreeMap<String, ArrayD<f64>>) {
    for (a, b) in drawn["a"].iter().zip(&drawn["b"]) {
        let [low, high] = (case.bounds)(*a);
        assert!((low..=high).contains(b), "{}: {b} beside [{low}, {high}]", case.name);
    }
}

/// By the law itself, and by way of the other site.
#[test]
fn draws_lie_within_the_bounds() {
    for case in &CASES {
        let plain = Predictive::prior(&model(case), 500).key(3).run(&Records::none()).unwrap();
        assert_eq!(plain.keys().collect::<Vec<_>>(), ["a", "b"]);
        draws_within(case, &plain);
        let by_base = reparam(model(case), Reparam::default().site("b", Transformed));
        let drawn = Predictive::prior(&by_base, 500).key(4).run(&Records::none()).unwrap();
        draws_within(case, &drawn);
        // The laws are the same: of 500 draws each, the shares below the median of one lie within 5.2 standard
        // errors, √(½ · ½ · 2/500) = 0.032, of each other (false alarms: 1e-6 in all ten cases).
        let mut sorted: Vec<f64> = plain["b"].iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let below = drawn["b"].iter().filter(|&&b| b < sorted[250]).count() as f64 / 500.0;
        assert!((below - 0.5).abs() < 5.2 * 0.032, "{}: {below}", case.name);
    }
}

/// Two shares of which the sum is below 1.
fn shares(ctx: &mut Ctx) -> Result<()> {
    let a = ctx.sample("a", Uniform::new(0.0, 1.0))?;
    ctx.sample("b", Uniform::new(0.0, 1.0 - a)).map(|_| ())
}

fn at(values: &[(&str, f64)]) -> BTreeMap<String, ArrayD<f64>> {
    values.iter().map(|(name, value)| ((*name).to_owned(), arr0(*value).into_dyn())).collect()
}

/// In the model's own scale by the site's name, and between fixed bounds by the other's.
#[test]
fn a_value_can_be_given_by_either_name() {
    let none = Records::none();
    let density = |values: &[(&str, f64)]| log_density(&shares, &none, &at(values)).unwrap().total();
    assert!((density(&[("a", 0.4), ("b", 0.3)]) + 0.6_f64.ln()).abs() < 1e-15);
    assert_eq!(density(&[("a", 0.4), ("b", 0.7)]), f64::NEG_INFINITY);
    assert!(density(&[("a", 0.4), ("b_base", 0.5)]).abs() < 1e-15);
    let both = log_density(&shares, &none, &at(&[("a", 0.4), ("b", 0.3), ("b_base", 0.5)]));
    assert!(both.unwrap_err().to_string().contains("'b_base', but the model has no such site"));

    let observed = condition(shares, [("b", 0.3)]);
    let found = log_density(&observed, &none, &at(&[("a", 0.4)])).unwrap().total();
    assert!((found + 0.6_f64.ln()).abs() < 1e-15);
    let (graph, schema) = (Graph::new(), Schema::default());
    let kinds: Vec<SiteKind> = trace(&observed, &graph, &schema, Unconstrained)
        .unwrap()
        .sites()
        .iter()
        .map(|site| site.kind)
        .collect();
    assert_eq!(kinds, [SiteKind::Latent, SiteKind::Observed]);

    for by_base in [0.25, 0.5] {
        let fixed = simulate(&seed(substitute(shares, [("b_base", by_base)]), 1), &none).unwrap();
        let given = simulate(&seed(condition(shares, [("b_base", by_base)]), 1), &none).unwrap();
        let again = simulate(&seed(replay(shares, [("b_base", by_base)]), 1), &none).unwrap();
        assert_eq!((&fixed, &fixed), (&given, &again));
        assert!((fixed["b"][[]] - by_base * (1.0 - fixed["a"][[]])).abs() < 1e-16);
    }
    // Where `a` is a number, so are the bounds, and there is no other site.
    let told = simulate(&seed(substitute(shares, [("a", 0.5), ("b_base", 0.5)]), 1), &none).unwrap_err();
    assert!(told.to_string().contains("for 'b_base', but the model has no such site there; it has [a, b]"));
    assert_eq!(
        simulate(&substitute(shares, [("a", 0.5), ("b", 0.25)]), &none).unwrap()["b"],
        arr0(0.25).into_dyn()
    );
    // A posterior's draws have the other site's name.
    let draws = [("a", [0.1, 0.8]), ("b_base", [0.5, 0.25])];
    let draws = draws.into_iter().map(|(name, values)| (name.to_owned(), arr1(&values).into_dyn())).collect();
    let found = Predictive::posterior(&shares, draws).unwrap().run(&none).unwrap();
    assert!((found["b"][0] - 0.45).abs() < 1e-15 && (found["b"][1] - 0.05).abs() < 1e-15, "{found:?}");
}

/// What has numbers for bounds is what it was.
#[test]
fn constant_bounds_need_no_other_site() {
    let model = |ctx: &mut Ctx<'_>| ctx.sample("a", Uniform::new(0.0, 2.0)).map(|_| ());
    let (graph, schema) = (Graph::new(), Schema::default());
    let trace = trace(&model, &graph, &schema, Unconstrained).unwrap();
    assert_eq!(trace.sites().len(), 1);
    let site = &trace.sites()[0];
    assert_eq!((site.kind, site.support), (SiteKind::Latent, Constraint::Interval(0.0, 2.0)));
    assert!(Uniform::new(0.0, 2.0).transport().is_none());
}

#[test]
fn bounds_may_be_arrays_and_stand_in_plates_and_records() {
    let model = |ctx: &mut Ctx<'_>| {
        let high = ctx.sample("high", Uniform::new(1.0, 2.0).iid(3))?;
        ctx.sample("each", Uniform::new(-1.0, high))?;
        ctx.plate("plate", 3, |ctx| ctx.sample("in plate", Uniform::new(0.0, high)))?;
        ctx.plate("other", 2, |ctx| ctx.sample("stretched", Uniform::new(0.0, high.element(0, 0))))?;
        ctx.sample("copies", Uniform::new(0.0, high.element(0, 0)).iid([2, 2]))?;
        ctx.sample("numbers", Uniform::new(&[0.0, 1.0], &[2.0, 4.0]))?;
        ctx.each_record(|ctx, record| {
            let own = ctx.sample("own", Uniform::new(0.0, record.get("x")?))?;
            ctx.observe("y", Normal::new(own, 1.0), record.get("y")?)
        })
    };
    let records = Records::from_columns([("x", vec![1.0, 4.0]), ("y", vec![0.5, 1.0])]).unwrap();
    let graph = Graph::new();
    let trace = trace(&model, &graph, records.schema(), Unconstrained).unwrap();
    for (name, shape) in [
        ("each", &[3][..]),
        ("in plate", &[3]),
        ("stretched", &[2]),
        ("copies", &[2, 2]),
        ("numbers", &[2]),
        ("own", &[]),
    ] {
        let (site, base) = (trace.site(name).unwrap(), trace.site(&format!("{name}_base")).unwrap());
        assert_eq!((site.shape.dims(), base.shape.dims()), (shape, shape), "{name}");
        assert_eq!((base.kind, base.support), (SiteKind::Latent, Constraint::UnitInterval), "{name}");
        assert_eq!((site.per_record, base.per_record), (name == "own", name == "own"));
    }
    // The density of the places is 1, so only that of `high` and the records' likelihoods are left.
    let mut values = at(&[]);
    for (name, shape) in [
        ("high", &[3][..]),
        ("each_base", &[3]),
        ("in plate_base", &[3]),
        ("stretched_base", &[2]),
        ("copies_base", &[2, 2]),
        ("numbers_base", &[2]),
        ("own_base", &[2]),
    ] {
        values.insert(name.to_owned(), ArrayD::from_elem(shape, if name == "high" { 1.5 } else { 0.25 }));
    }
    let density = log_density(&model, &records, &values).unwrap();
    assert!(density.prior.abs() < 1e-14, "{density:?}");
    for (found, (x, y)) in density.likelihood.iter().zip([(1.0, 0.5), (4.0, 1.0)]) {
        assert!((found - Normal::new(0.25 * x, 1.0).ln_pdf(y)).abs() < 1e-14);
    }
}

#[test]
fn bounds_in_the_wrong_order_have_no_density() {
    let model = |ctx: &mut Ctx<'_>| {
        let a = ctx.sample("a", Normal::new(0.0, 1.0))?;
        ctx.sample("b", Uniform::new(a, 1.0 + 0.0 * a)).map(|_| ())
    };
    let density =
        |a: f64| log_density(&model, &Records::none(), &at(&[("a", a), ("b_base", 0.5)])).unwrap().total();
    assert!((density(0.5) - Normal::new(0.0, 1.0).ln_pdf(0.5)).abs() < 1e-14);
    assert!(density(1.5).is_nan());
}

#[test]
fn laws_that_cannot_be_moved_say_so() {
    let told = |model: &dyn Fn(&mut Ctx<'_>) -> Result<()>| {
        let (graph, schema) = (Graph::new(), Schema::default());
        trace(&|ctx: &mut Ctx<'_>| model(ctx), &graph, &schema, Unconstrained).unwrap_err().to_string()
    };
    let unknown = told(&|ctx| ctx.sample("b", ImproperUniform::new(Constraint::Dependent, ())).map(|_| ()));
    assert!(
        unknown.starts_with("site 'b': ") && unknown.contains("of ImproperUniform, which does not say"),
        "{unknown}"
    );
    let taken = told(&|ctx| {
        let a = ctx.sample("a", Uniform::new(0.0, 1.0))?;
        ctx.sample("b_base", Uniform::new(0.0, 1.0))?;
        ctx.sample("b", Uniform::new(0.0, a)).map(|_| ())
    });
    assert!(taken.contains("b_base"), "{taken}");
}

/// The posterior of two shares, given measurements of `a + 2 b`: means by the program's density over a grid of
/// unconstrained numbers, and by midpoints of the triangle, with the density of `b` given `a` written out. In logits
/// the trapezium rule leaves out e⁻¹² and no more; midpoints 1/400 apart leave out their square times a second
/// derivative of the integrand, some tens in proportion.
#[test]
fn a_posterior_agrees_with_quadrature() {
    let measured = [1.0, 1.3, 0.8];
    let model = move |ctx: &mut Ctx<'_>| {
        let a = ctx.sample("a", Uniform::new(0.0, 1.0))?;
        let b = ctx.sample("b", Uniform::new(0.0, 1.0 - a))?;
        ctx.observe("y", Normal::new(a + 2.0 * b, 0.3), ctx.constant(measured.to_vec()))
    };
    let (graph, schema) = (Graph::new(), Schema::default());
    let trace = trace(&model, &graph, &schema, Unconstrained).unwrap();
    let density = trace.log_prior() + trace.log_jacobian();
    let sites = ["a", "b"].map(|name| trace.site(name).unwrap().value);
    let program = Program::new(&graph, &[density, sites[0], sites[1]]).unwrap();
    let mut plan = ExecutionPlan::<f64>::new(&program);
    let mut found = [0.0; 3];
    for (i, j) in (-60..=60).flat_map(|i| (-60..=60).map(move |j| (i, j))) {
        plan.set(&Unconstrained::input_name("a"), &[0.2 * f64::from(i)]).unwrap();
        plan.set(&Unconstrained::input_name("b_base"), &[0.2 * f64::from(j)]).unwrap();
        plan.run();
        let weight = plan.output(0)[0].exp();
        found[0] += weight;
        (1..3).for_each(|k| found[k] += weight * plan.output(k)[0]);
    }
    let (mut expected, n) = ([0.0; 3], 400);
    let middle = |k: i32| (f64::from(k) + 0.5) / f64::from(n);
    for a in (0..n).map(middle) {
        for b in (0..n).map(|k| (1.0 - a) * middle(k)) {
            let misfit: f64 = measured.iter().map(|y| ((y - a - 2.0 * b) / 0.3).powi(2)).sum();
            // Of width 1 − a with density 1/(1 − a).
            let weight = (-0.5 * misfit).exp() / (1.0 - a) * (1.0 - a);
            expected[0] += weight;
            expected[1] += weight * a;
            expected[2] += weight * b;
        }
    }
    for k in 1..3 {
        let (found, expected) = (found[k] / found[0], expected[k] / expected[0]);
        assert!((found - expected).abs() < 1e-4, "{k}: {found} and {expected}");
    }
}
