//! Mixtures: against sums written out, by counting, and in a model of records.

use super::{close, run};
use ndarray::{Array1, Array2, ArrayD, array};
use ppl_core::op::Kind;
use ppl_core::{
    Column, Constraint, Ctx, Distribution, Graph, Noise, Records, Result, Shape, Var, gradient, log_density,
};
use ppl_distributions::{
    Affine, Bernoulli, Categorical, Combine, Dirichlet, Exp, HalfNormal, Mixture, MixtureSameFamily,
    MultivariateNormal, Normal,
};
use std::collections::BTreeMap;

fn normal(x: f64, loc: f64, scale: f64) -> f64 {
    (-0.5 * ((x - loc) / scale).powi(2)).exp() / (scale * (2.0 * std::f64::consts::PI).sqrt())
}

#[test]
fn densities_and_moments_are_those_of_the_sum() {
    let graph = Graph::new();
    let (w, loc, scale) = ([0.2, 0.5, 0.3], [-3.0, 0.5, 4.0], [0.5, 1.0, 2.0_f64]);
    let known = |values: [f64; 3]| graph.array(&Array1::from(values.to_vec()).into_dyn());
    let components = || Normal::new(known(loc), known(scale));
    let by_probs = MixtureSameFamily::new(Categorical::from_probs(known(w)), components());
    // Logits up to a constant.
    let by_logits =
        MixtureSameFamily::new(Categorical::from_logits(known(w.map(|w| w.ln() + 5.0))), components());
    let different = (0..3).fold(Mixture::new(Categorical::from_probs(known(w))), |mixture, k| {
        mixture.of(Normal::new(loc[k], scale[k]))
    });
    let x: Vec<f64> = (0..50).map(|i| -8.0 + 0.4 * f64::from(i)).collect();
    let input = graph.input("x", x.len()).unwrap();
    let mean: f64 = (0..3).map(|k| w[k] * loc[k]).sum();
    let variance: f64 = (0..3).map(|k| w[k] * (scale[k].powi(2) + (loc[k] - mean).powi(2))).sum();
    let all: [&dyn Distribution<'_>; 3] = [&by_probs, &by_logits, &different];
    for mixture in all {
        mixture.validate().unwrap();
        assert!(!mixture.reparameterised());
        assert_eq!(mixture.batch_shape().unwrap(), Shape::scalar());
        let mut outputs = vec![mixture.log_prob(input)];
        // Moments where the components have them.
        outputs.extend(mixture.mean(&graph).into_iter().chain(mixture.variance(&graph)));
        let found = run(&graph, &outputs, &[("x", &x)]);
        for (&got, &x) in found[0].iter().zip(&x) {
            let expected: f64 = (0..3).map(|k| w[k] * normal(x, loc[k], scale[k])).sum();
            assert!(close(got, expected.ln(), 64.0), "{x}: {got}");
        }
        if let [_, got_mean, got_variance] = &found[..] {
            assert!(close(got_mean[0], mean, 16.0) && close(got_variance[0], variance, 32.0));
        }
    }
}

#[test]
fn batches_of_mixtures_of_vectors_broadcast() {
    let graph = Graph::new();
    // Weights of a batch of 2, components common to both, vectors of length 2.
    let logits = graph.array(&array![[0.0, 1.0, -1.0], [2.0, 0.0, 0.5]].into_dyn());
    let locs = array![[0.0, 1.0], [-1.0, 2.0], [3.0, 3.0]];
    let components = Normal::new(graph.array(&locs.clone().into_dyn()), 0.7).independent(1);
    let mixture = MixtureSameFamily::new(Categorical::from_logits(logits), components);
    assert_eq!((mixture.batch_shape().unwrap(), mixture.event_shape()), (Shape::from(2), Shape::from(2)));
    let x = graph.input("x", [4, 2, 2]).unwrap();
    let log_prob = mixture.log_prob(x);
    assert_eq!(log_prob.shape(), Shape::from([4, 2]));
    let values: Vec<f64> = (0..16).map(|k| f64::from(k) * 0.3 - 1.0).collect();
    let found = run(&graph, &[log_prob], &[("x", &values)]);
    for (place, got) in found[0].iter().enumerate() {
        let logits = [[0.0, 1.0, -1.0], [2.0, 0.0, 0.5_f64]][place % 2];
        let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
        let point = &values[2 * place..2 * place + 2];
        let expected: f64 = (0..3)
            .map(|k| {
                logits[k].exp() / total
                    * normal(point[0], locs[[k, 0]], 0.7)
                    * normal(point[1], locs[[k, 1]], 0.7)
            })
            .sum();
        assert!(close(*got, expected.ln(), 64.0), "{place}: {got} {}", expected.ln());
    }
    let mut noise = Noise::new(&graph, "draw");
    assert_eq!(mixture.draw(&Shape::from([5]), &mut noise).unwrap().shape(), Shape::from([5, 2, 2]));
    graph.check().unwrap();
}

/// A component of weight 0 adds nothing, neither value nor NaN, and one far away neither.
#[test]
fn impossible_components_do_no_harm() {
    let graph = Graph::new();
    let (weights, locs) = (graph.input("weights", 3).unwrap(), graph.input("locs", 3).unwrap());
    let x = graph.input("x", ()).unwrap();
    let log_prob =
        MixtureSameFamily::new(Categorical::from_probs(weights), Normal::new(locs, 1.0)).log_prob(x);
    let mut outputs = gradient(log_prob, &[locs, x]).unwrap();
    outputs.push(log_prob);
    let found =
        run(&graph, &outputs, &[("weights", &[0.0, 1.0, 0.0]), ("locs", &[0.5, 1.0, 1e200]), ("x", &[2.0])]);
    assert_eq!((&found[0][..], &found[1][..]), (&[0.0, 1.0, 0.0][..], &[-1.0][..]));
    assert!(close(found[2][0], normal(2.0, 1.0, 1.0).ln(), 8.0));
}

/// Draws go to components as their weights say, and not one to a component of weight 0: uniform numbers on a
/// grid, so there is no chance in it.
#[test]
fn choices_are_as_often_as_their_weights() {
    let n = 1 << 16;
    let grid: Vec<f64> = (0..n).map(|i| (f64::from(i) + 0.5) / f64::from(n)).collect();
    for weights in [vec![0.25, 0.0, 0.5, 0.25, 0.0], vec![0.0, 1.0], vec![1.0, 0.0], vec![0.1; 10], vec![1.0]]
    {
        let graph = Graph::new();
        let categorical = Categorical::from_probs(graph.array(&Array1::from(weights.clone()).into_dyn()));
        let mut noise = Noise::new(&graph, "y");
        let draw = categorical.draw(&Shape::from(n as usize), &mut noise).unwrap();
        let name = noise.inputs()[0].0.clone();
        // The ends of the open interval too.
        let mut uniform = grid.clone();
        (uniform[0], uniform[1]) = (f64::MIN_POSITIVE, 1.0 - f64::EPSILON / 2.0);
        let found = run(&graph, &[draw], &[(&name, &uniform)]).remove(0);
        for (category, weight) in weights.iter().enumerate() {
            let count = found.iter().filter(|&&y| y == category as f64).count() as f64;
            assert!(
                (count - weight * f64::from(n)).abs() <= if *weight == 0.0 { 0.0 } else { 3.0 },
                "{weights:?} {category} {count}"
            );
        }
        // The distribution function undoes it.
        let y = graph.input("y", n as usize).unwrap();
        let p = graph.input("p", n as usize).unwrap();
        let outputs = [categorical.cdf(y).unwrap(), categorical.quantile(p).unwrap()];
        let both = run(&graph, &outputs, &[("y", &found), ("p", &uniform)]);
        for i in 2..n as usize {
            let below: f64 = weights[..=found[i] as usize].iter().sum();
            assert!(close(both[0][i], below, 16.0));
            assert!(both[1][i] == found[i] || (both[0][i] - uniform[i]).abs() < 1e-12);
        }
    }
}

#[test]
fn wrong_mixtures_are_told() {
    let told = |result: Result<()>| result.unwrap_err().to_string();
    let graph = Graph::new();
    let weights = |n: usize| Categorical::from_logits(graph.array(&ArrayD::zeros(vec![n])));
    let locs = graph.input("locs", 3).unwrap();
    assert!(
        told(MixtureSameFamily::new(weights(2), Normal::new(locs, 1.0)).validate())
            .contains("shapes [2] and [3]")
    );
    assert!(
        told(MixtureSameFamily::new(weights(2), Normal::new(0.0, 1.0)).validate())
            .contains("MixtureSameFamily")
    );
    assert!(
        told(MixtureSameFamily::new(weights(3), Normal::new(locs, -1.0)).validate())
            .contains("Normal: scale must be positive")
    );
    assert!(
        told(Mixture::new(weights(2)).of(Normal::new(0.0, 1.0)).validate())
            .contains("a weight for each of 1 components")
    );
    let supports = Mixture::new(weights(2)).of(Normal::new(0.0, 1.0)).of(HalfNormal::new(1.0));
    assert!(
        told(supports.validate())
            .contains("a mixture of outcomes that are finite and outcomes that are not negative, and finite")
    );
    let events = Mixture::new(weights(2)).of(Normal::new(0.0, 1.0)).of(Normal::new(locs, 1.0).independent(1));
    assert!(told(events.validate()).contains("shapes [] and [3]"));
    let same = Mixture::new(weights(2))
        .of(HalfNormal::new(1.0))
        .of(Normal::new(0.0, 1.0).transformed(Exp).transformed(Affine::new(0.0, 2.0)));
    same.validate().unwrap();
    assert!(matches!(
        Mixture::new(weights(1)).of(Bernoulli::from_logits(0.0)).support(),
        Constraint::Boolean
    ));
    assert_eq!(
        format!("{:?}", Mixture::new(weights(1)).of(Bernoulli::from_logits(0.0))).split("components").count(),
        2
    );
}

/// The Gaussian mixture of d3p (Prediger et al. 2022, listings 5 and 6), with its priors but that of the
/// scales.
fn gaussian_mixture(ctx: &mut Ctx) -> Result<()> {
    let (k, d) = (3, ctx.records().dim("xs")?);
    let identity = ctx.graph().array(&Array2::eye(d).into_dyn());
    let pis = ctx.sample("pis", Dirichlet::symmetric(1.0, k))?;
    let mus =
        ctx.sample("locs", MultivariateNormal::from_covariance(0.0, identity).expanded(k).independent(1))?;
    let sigmas = ctx.sample("sigmas", HalfNormal::new(1.0).iid(k))?;
    ctx.each_record(|ctx, record| {
        let components = Normal::new(mus, sigmas.reshape([k, 1])).independent(1);
        ctx.observe("xs", MixtureSameFamily::new(Categorical::from_probs(pis), components), record.get("xs")?)
    })
}

#[test]
fn the_mixture_of_d3p_is_a_model_of_ten_lines() {
    let xs = array![[0.1, -0.3], [2.0, 2.5], [-1.5, 0.75], [4.0, -4.0]];
    let records = Records::from_columns([("xs", Column::from(xs.clone()))]).unwrap();
    let (pis, sigmas) = (array![0.2, 0.3, 0.5], array![0.5, 1.0, 2.0]);
    let locs = array![[0.0, 0.0], [2.0, 2.0], [-1.0, 0.5]];
    let values = BTreeMap::from([
        ("pis".to_owned(), pis.clone().into_dyn()),
        ("locs".to_owned(), locs.clone().into_dyn()),
        ("sigmas".to_owned(), sigmas.clone().into_dyn()),
    ]);
    let density = log_density(&gaussian_mixture, &records, &values).unwrap();
    for (i, got) in density.likelihood.iter().enumerate() {
        let expected: f64 = (0..3)
            .map(|k| pis[k] * (0..2).map(|j| normal(xs[[i, j]], locs[[k, j]], sigmas[k])).product::<f64>())
            .sum();
        assert!(close(*got, expected.ln(), 64.0), "{got} {}", expected.ln());
    }
    // A flat density of 2 on the simplex, normals, half-normals.
    let expected = 2.0_f64.ln()
        + locs.iter().map(|&x| normal(x, 0.0, 1.0).ln()).sum::<f64>()
        + sigmas.iter().map(|&x| (2.0 * normal(x, 0.0, 1.0)).ln()).sum::<f64>();
    assert!(close(density.prior, expected, 64.0), "{} {expected}", density.prior);
}

/// Weights and components that differ from record to record: a mixture of regressions.
#[test]
fn mixtures_of_each_record() {
    let x = array![[0.3, -1.0], [1.0, 2.0]];
    let y = array![0.5, -0.25];
    let records =
        Records::from_columns([("x", Column::from(x.clone())), ("y", Column::from(y.clone()))]).unwrap();
    let model = |ctx: &mut Ctx<'_>| -> Result<()> {
        let gates = ctx.sample("gates", Normal::new(0.0, 1.0).iid([3, 2]))?;
        let slopes = ctx.sample("slopes", Normal::new(0.0, 1.0).iid([3, 2]))?;
        ctx.each_record(|ctx, record| {
            let x: Var<'_> = record.get("x")?;
            let mixture = MixtureSameFamily::new(
                Categorical::from_logits(gates.matvec(x)),
                Normal::new(slopes.matvec(x), 0.5),
            );
            assert_eq!(mixture.kind(), Kind::PerRecord);
            ctx.observe("y", mixture, record.get("y")?)
        })
    };
    let (gates, slopes) =
        (array![[0.1, 0.2], [-0.3, 0.4], [0.0, -0.5]], array![[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5]]);
    let values = BTreeMap::from([
        ("gates".to_owned(), gates.clone().into_dyn()),
        ("slopes".to_owned(), slopes.clone().into_dyn()),
    ]);
    let density = log_density(&model, &records, &values).unwrap();
    for (i, got) in density.likelihood.iter().enumerate() {
        let (logits, means) = (gates.dot(&x.row(i)), slopes.dot(&x.row(i)));
        let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
        let expected: f64 = (0..3).map(|k| logits[k].exp() / total * normal(y[i], means[k], 0.5)).sum();
        assert!(close(*got, expected.ln(), 64.0));
    }
}
