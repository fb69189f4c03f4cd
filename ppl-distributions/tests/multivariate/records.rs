//! In models of records: parameters and outcomes of each record, missing values, and gradients of records,
//! contracted and one by one.

use super::close;
use ndarray::{Array1, Array2, array};
use ppl_core::{
    Column, Constraint, Ctx, Distribution, Graph, MaterialisedGradient, Model, RecordGradient, Records,
    Result, Unconstrained, Var, log_density, trace,
};
use ppl_distributions::{
    Categorical, Combine, Dirichlet, HalfNormal, LKJCholesky, MixtureSameFamily, MultivariateNormal,
    MultivariateStudentT, Normal,
};
use std::collections::BTreeMap;

fn softmax_regression(ctx: &mut Ctx) -> Result<()> {
    let slopes = ctx.sample("slopes", Normal::new(0.0, 1.0).iid([3, 2]))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("class", Categorical::from_logits(slopes.matvec(record.get("x")?)), record.get("class")?)
    })
}

fn latent_covariance(ctx: &mut Ctx) -> Result<()> {
    let loc = ctx.sample("loc", Normal::new(0.0, 1.0).iid(2))?;
    let scales = ctx.sample("scales", HalfNormal::new(1.0).iid([2, 1]))?;
    let correlation = ctx.sample("correlation", LKJCholesky::new(2, 2.0))?;
    ctx.each_record(|ctx, record| {
        ctx.observe("x", MultivariateNormal::from_cholesky(loc, scales * correlation), record.get("x")?)
    })
}

fn heavy_tails(ctx: &mut Ctx) -> Result<()> {
    let df = ctx.sample("df", HalfNormal::new(10.0))?;
    let factor = ctx.param("factor", array![[1.0, 0.0], [0.0, 1.0]], Constraint::LowerCholesky)?;
    ctx.each_record(|ctx, record| {
        ctx.observe("x", MultivariateStudentT::new(df, 0.5, factor), record.get("x")?)
    })
}

fn mixture(ctx: &mut Ctx) -> Result<()> {
    let weights = ctx.sample("weights", Dirichlet::symmetric(0.7, 3))?;
    let locs = ctx.sample("locs", Normal::new(0.0, 1.0).iid([3, 2]))?;
    let scales = ctx.sample("scales", HalfNormal::new(1.0).iid([3, 1]))?;
    ctx.each_record(|ctx, record| {
        let components = Normal::new(locs, scales).independent(1);
        ctx.observe(
            "x",
            MixtureSameFamily::new(Categorical::from_probs(weights), components),
            record.get("x")?,
        )
    })
}

fn with_missing_values(ctx: &mut Ctx) -> Result<()> {
    let loc = ctx.sample("loc", Normal::new(0.0, 1.0).iid(2))?;
    ctx.each_record(|ctx, record| {
        let there = record.get("there")?;
        ctx.observe("x", Normal::new(loc, 0.5).masked(there).independent(1), record.get("x")?)
    })
}

fn records(count: usize) -> Records {
    let number = |k: usize| (k as f64 * 0.7).sin() * 1.5;
    let x = Array2::from_shape_fn((count, 2), |(i, j)| number(3 * i + j));
    let there = Array2::from_shape_fn((count, 2), |(i, j)| f64::from((i + j) % 3 > 0));
    let class = Array1::from_shape_fn(count, |i| (i % 3) as f64);
    Records::from_columns([
        ("x", Column::from(x)),
        ("there", Column::from(there)),
        ("class", Column::from(class)),
    ])
    .unwrap()
}

/// Clipped sums by contraction are those of the gradients of records one by one, for each model.
#[test]
fn gradients_of_records_are_contracted_rightly() {
    let records = records(40);
    let batch: Vec<u64> = (0..40).collect();
    let models: [&dyn Model; 5] =
        [&softmax_regression, &latent_covariance, &heavy_tails, &mixture, &with_missing_values];
    for (which, model) in models.into_iter().enumerate() {
        let graph = Graph::new();
        let trace = trace(model, &graph, records.schema(), Unconstrained).unwrap();
        let likelihood = trace.record_log_likelihood().unwrap();
        let latents: Vec<(String, Var<'_>)> = trace
            .latents()
            .map(|site| (Unconstrained::input_name(&site.name), site.unconstrained.unwrap()))
            .collect();
        let frontier: Vec<Var<'_>> = latents.iter().map(|(_, var)| *var).collect();
        let mut contracted = RecordGradient::<f64>::new(likelihood, &frontier).unwrap();
        let mut materialised = MaterialisedGradient::<f64>::new(likelihood, &frontier).unwrap();
        let mut next = 0;
        for (name, var) in &latents {
            let numbers: Vec<f64> =
                (0..var.shape().elements()).map(|k| ((k + next) as f64 * 1.1).cos() * 0.6).collect();
            next += 7;
            contracted.set(name, &numbers).unwrap();
            materialised.set(name, &numbers).unwrap();
        }
        let clip = |squared: f64| (0.5 / squared.sqrt()).min(1.0);
        let mut sum = vec![0.0; contracted.dimension()];
        let weigh = |squared: &[f64], weights: &mut [f64]| {
            weights.iter_mut().zip(squared).for_each(|(weight, &squared)| *weight = clip(squared));
        };
        contracted.weighted_sum(&records, &batch, weigh, &mut sum).unwrap();
        let rows = materialised.rows(&records, &batch).unwrap();
        let mut expected = Array1::<f64>::zeros(sum.len());
        for row in rows.rows() {
            expected.scaled_add(clip(row.dot(&row)), &row);
        }
        assert!(expected.iter().all(|x| x.is_finite()) && expected.iter().any(|x| x.abs() > 0.01));
        for (a, b) in sum.iter().zip(&expected) {
            // Forty terms of at most ½, each with a norm from some tens of operations.
            assert!(close(*a, *b, 1e4), "{which}: {sum:?} {expected}");
        }
    }
}

#[test]
fn classes_of_records_have_their_probabilities() {
    let records = records(6);
    let slopes = array![[0.5, -1.0], [0.0, 0.25], [-2.0, 1.0]];
    let values = BTreeMap::from([("slopes".to_owned(), slopes.clone().into_dyn())]);
    let density = log_density(&softmax_regression, &records, &values).unwrap();
    for (i, got) in density.likelihood.iter().enumerate() {
        let x = [0, 1].map(|j| ((3 * i + j) as f64 * 0.7).sin() * 1.5);
        let logits = slopes.dot(&Array1::from(x.to_vec()));
        let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
        assert!(close(*got, logits[i % 3] - total.ln(), 32.0));
    }
    // A class that is none is told of, with its record.
    let wrong = Records::from_columns([
        ("x", Column::from(array![[0.0, 1.0], [1.0, 0.0]])),
        ("class", Column::from(array![2.0, 3.0])),
    ])
    .unwrap();
    let told = log_density(&softmax_regression, &wrong, &values).unwrap_err().to_string();
    assert!(
        told.contains("value 3") && told.contains("record 1") && told.contains("an integer from 0 to 2"),
        "{told}"
    );
}

/// A missing element contributes nothing, whatever number stands for it.
#[test]
fn missing_values_contribute_nothing() {
    let there = array![[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]];
    let of = |x: Array2<f64>| {
        let records =
            Records::from_columns([("x", Column::from(x)), ("there", Column::from(there.clone()))]).unwrap();
        let values = BTreeMap::from([("loc".to_owned(), array![0.5, -0.5].into_dyn())]);
        log_density(&with_missing_values, &records, &values).unwrap().likelihood
    };
    let one = of(array![[1.0, 7.0], [3.0, 4.0], [0.0, 0.5]]);
    let other = of(array![[1.0, -99.0], [1e300, 0.0], [0.0, 0.5]]);
    assert_eq!((one.clone(), one[1]), (other, 0.0));
}

/// Where a mode is known, the density is stationary there.
#[test]
fn modes_are_stationary() {
    let graph = Graph::new();
    let concentration = array![2.0, 3.5, 1.5];
    let mode = (&concentration - 1.0) / (concentration.sum() - 3.0);
    let x = graph.input("x", 3).unwrap();
    let y = graph.input("y", 3).unwrap();
    let u = graph.input("u", 3).unwrap();
    let dirichlet = Dirichlet::new(graph.array(&concentration.into_dyn()));
    let normal = MultivariateNormal::from_precision(
        1.0,
        graph.array(&array![[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 3.0]].into_dyn()),
    );
    let lkj = LKJCholesky::new(3, 1.5).log_prob(Constraint::CorrelationCholesky.constrain(u));
    let slopes = [
        ppl_core::gradient(dirichlet.log_prob(x), &[x]).unwrap()[0],
        ppl_core::gradient(normal.log_prob(y), &[y]).unwrap()[0],
        ppl_core::gradient(lkj, &[u]).unwrap()[0],
    ];
    let found =
        super::run(&graph, &slopes, &[("x", mode.as_slice().unwrap()), ("y", &[1.0; 3]), ("u", &[0.0; 3])]);
    // On the simplex: the same slope in all directions, the multiplier of the constraint.
    assert!(found[0].iter().all(|slope| close(*slope, found[0][0], 16.0)), "{found:?}");
    assert!(found[1].iter().chain(&found[2]).all(|slope| *slope == 0.0), "{found:?}");
}
