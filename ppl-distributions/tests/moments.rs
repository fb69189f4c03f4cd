//! Modes and skewness against the densities, divergences against sums, and quantiles of mixtures.

use ndarray::{Array1, arr1, arr2};
use ppl_core::{Distribution, ExecutionPlan, Graph, Program, Var, gradient};
use ppl_distributions::prelude::*;

fn run(graph: &Graph, outputs: &[Var<'_>], inputs: &[(&str, &[f64])]) -> Vec<Vec<f64>> {
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(graph, outputs).unwrap());
    for (name, numbers) in inputs {
        if plan.input(name).is_ok() {
            plan.set(name, numbers).unwrap();
        }
    }
    plan.run();
    (0..outputs.len()).map(|output| plan.output(output).to_vec()).collect()
}

/// `Σ f(x) p(x) h` over a grid, which for smooth densities that vanish at both ends is exact to many digits.
fn skewness(points: impl Iterator<Item = f64> + Clone, density: impl Fn(f64) -> f64) -> f64 {
    let total = |f: &dyn Fn(f64) -> f64| points.clone().map(|x| f(x) * density(x)).sum::<f64>();
    let mass = total(&|_| 1.0);
    let mean = total(&|x| x) / mass;
    let variance = total(&|x| (x - mean).powi(2)) / mass;
    total(&|x| (x - mean).powi(3)) / mass / variance.powf(1.5)
}

macro_rules! continuous {
    ($($law:expr, $from:expr, $to:expr;)*) => {$({
        let (law, told) = ($law, stringify!($law));
        let summary = law.summary();
        if let Some(mode) = summary.mode {
            // Where the density is greatest at an end, to one side only.
            for near in [mode - 1e-3, mode + 1e-3] {
                assert!(law.ln_pdf(near) <= law.ln_pdf(mode) || mode == 0.0, "{told}: the mode {mode}");
            }
        }
        // A Cauchy variable has none.
        if let Some(expected) = summary.skewness.filter(|skewness| !skewness.is_nan()) {
            const STEPS: usize = 40_000;
            let h = ($to - $from) / STEPS as f64;
            let got = skewness((0..STEPS).map(|i| $from + (i as f64 + 0.5) * h), |x| law.pdf(x));
            assert!((got - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{told}: {expected} for {got}");
        }
        if let Some(median) = summary.median {
            assert!((law.cdf(median) - 0.5).abs() < 1e-12, "{told}: the median {median}");
        }
    })*};
}

macro_rules! discrete {
    ($($law:expr, $from:expr, $to:expr;)*) => {$({
        let (law, told) = ($law, stringify!($law));
        let summary = law.summary();
        if let Some(mode) = summary.mode {
            for near in [mode - 1.0, mode + 1.0] {
                assert!(law.pmf(near) <= law.pmf(mode) * (1.0 + 1e-12), "{told}: the mode {mode}");
            }
        }
        if let Some(expected) = summary.skewness {
            let got = skewness(($from..=$to).map(f64::from), |x| law.pmf(x));
            assert!((got - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{told}: {expected} for {got}");
        }
    })*};
}

#[test]
fn modes_medians_and_skewness_are_those_of_the_density() {
    continuous! {
        Normal::new(0.5, 1.3), -15.0, 16.0;
        Laplace::new(0.5, 1.3), -60.0, 61.0;
        Logistic::new(0.5, 1.3), -70.0, 71.0;
        Cauchy::new(0.5, 1.3), -1.0, 1.0;
        Gumbel::new(0.5, 1.3), -6.0, 60.0;
        StudentT::new(30.0, 0.5, 1.3), -60.0, 61.0;
        LogNormal::new(0.2, 0.4), 0.0, 60.0;
        HalfNormal::new(1.3), 0.0, 15.0;
        Exponential::new(0.7), 0.0, 70.0;
        Gamma::new(2.5, 1.3), 0.0, 50.0;
        InverseGamma::new(30.5, 1.3), 0.0, 1.0;
        Chi2::new(5.0), 0.0, 120.0;
        Weibull::new(1.3, 2.7), 0.0, 10.0;
        Pareto::new(1.3, 30.0), 1.3, 8.0;
        Beta::new(2.5, 3.7), 0.0, 1.0;
        Uniform::new(-1.0, 2.5), -1.0, 2.5;
        BetaProportion::new(0.4, 7.0), 0.0, 1.0;
        AsymmetricLaplace::new(0.5, 1.3, 0.7), -60.0, 80.0;
        Gompertz::new(0.05, 1.3), 0.0, 10.0;
        LogUniform::new(0.5, 3.0), 0.5, 3.0;
        LogUniform::new(1.0, 1.001), 1.0, 1.001;
        LogUniform::new(1.0, 30.0), 1.0, 30.0;
        Weibull::new(1.3, 200.0), 1.0, 1.4;
        Weibull::new(1.3, 15.9), 0.2, 2.0;
        Weibull::new(1.3, 16.1), 0.2, 2.0;
        Kumaraswamy::new(2.5, 3.7), 0.0, 1.0;
        HalfStudentT::new(40.0, 1.3), 0.0, 30.0;
    }
    let law = InverseGaussian::new(1.7, 2.3);
    let mode = law.summary().mode.expect("a formula");
    assert!(law.ln_pdf(mode) > law.ln_pdf(mode + 1e-3) && law.ln_pdf(mode) > law.ln_pdf(mode - 1e-3));
    discrete! {
        Binomial::from_probs(9.0, 0.3), 0, 9;
        Poisson::new(3.5), 0, 80;
        Geometric::from_probs(0.3), 0, 100;
        NegativeBinomial::from_probs(3.5, 0.4), 0, 300;
        DiscreteUniform::new(-1.0, 5.0), -1, 5;
        Bernoulli::from_probs(0.3), 0, 1;
        BetaBinomial::new(2.5, 1.7, 9.0), 0, 9;
        BetaBinomial::new(0.5, 0.7, 9.0), 0, 9;
        Categorical::from_probs(&[0.1, 0.5, 0.3, 0.1]), 0, 3;
        OrderedLogistic::new(0.3, &[-1.0, 0.5]), 0, 2;
        OrderedProbit::new(0.3, &[-1.0, 0.5]), 0, 2;
        DiscreteLaplace::new(2.0, 1.3), -100, 100;
        Skellam::new(2.5, 1.3), -60, 60;
    }
}

/// One row and column of a Wishart matrix is a gamma variable, of an inverse one an inverse gamma variable.
#[test]
fn moments_of_laws_of_matrices() {
    let graph = Graph::new();
    let (df, scale) = (7.5, 2.25);
    let matrix = [[scale]];
    let (wishart, inverse) = (Wishart::new(df, &matrix), InverseWishart::new(df, &matrix));
    let gamma = Gamma::new(0.5 * df, 0.5 / scale).summary();
    let inverse_gamma = InverseGamma::new(0.5 * df, 0.5 * scale).summary();
    let outputs = [
        wishart.entropy(&graph).unwrap(),
        wishart.mode(&graph).unwrap(),
        inverse.entropy(&graph).unwrap(),
        inverse.mode(&graph).unwrap(),
        inverse.variance(&graph).unwrap(),
    ];
    let truth =
        [gamma.entropy, gamma.mode, inverse_gamma.entropy, inverse_gamma.mode, inverse_gamma.variance];
    for (got, truth) in run(&graph, &outputs, &[]).iter().zip(truth) {
        assert!((got[0] - truth.unwrap()).abs() < 1e-13 * truth.unwrap().abs(), "{got:?}, not {truth:?}");
    }
    // Minus the mean of the log density, in closed form from other laws: a Wishart matrix of two rows from Bartlett's
    // factor.
    let factor = &[[1.5, 0.0], [0.5, 0.75]];
    let graph = Graph::new();
    let (twice, identity) = (Wishart::from_cholesky(df, factor), Wishart::new(df, &[[1.0, 0.0], [0.0, 1.0]]));
    let entropies = [twice.entropy(&graph).unwrap(), identity.entropy(&graph).unwrap()];
    let got = run(&graph, &entropies, &[]);
    // A linear map A of symmetric matrices of d rows, X → A X Aᵀ, stretches by |A|^(d + 1).
    assert!((got[0][0] - got[1][0] - 3.0 * (1.5_f64 * 0.75).ln()).abs() < 1e-13);

    // A copula of normal variables is a normal vector.
    let factor = &[[1.0, 0.0], [0.6, 0.8]];
    let copula = GaussianCopula::new(Normal::new(0.0, 1.0), factor).entropy(&graph).unwrap();
    let normal = MultivariateNormal::from_cholesky(0.0, factor).entropy(&graph).unwrap();
    let got = run(&graph, &[copula, normal], &[]);
    assert!((got[0][0] - got[1][0]).abs() < 1e-14, "{got:?}");
}

#[test]
fn modes_of_vectors_and_matrices_are_where_densities_are_greatest() {
    fn peaked<'g>(graph: &'g Graph, law: &dyn Distribution<'g>, direction: &[f64]) {
        let mode = law.mode(graph).expect("a formula");
        let size = law.event_shape();
        let step = Array1::from(direction.to_vec()).into_shape_with_order(size.dims()).unwrap();
        let step = graph.array(&step);
        let logs = [mode, mode + 1e-3 * step, mode - 1e-3 * step].map(|x| law.log_prob(x));
        let got = run(graph, &logs, &[]);
        assert!(got[0][0] >= got[1][0] && got[0][0] >= got[2][0], "{}: {got:?}", law.name());
        assert!(got[0][0].is_finite(), "{}: {got:?}", law.name());
    }
    let graph = Graph::new();
    let factor = &[[1.5, 0.0], [0.5, 0.75]];
    peaked(&graph, &MultivariateNormal::from_cholesky(&[1.0, 2.0], factor), &[1.0, -2.0]);
    peaked(&graph, &LowRankMultivariateNormal::new(&[1.0, 2.0], &[[0.5], [1.0]], 1.0), &[1.0, -2.0]);
    peaked(&graph, &MultivariateStudentT::new(0.5, &[1.0, 2.0], factor), &[1.0, -2.0]);
    peaked(&graph, &GaussianRandomWalk::new(1.5, 3), &[1.0, -2.0, 0.5]);
    peaked(&graph, &Car::new(0.5, 0.6, 1.5, &[[0.0, 1.0], [1.0, 0.0]]), &[1.0, -2.0]);
    peaked(&graph, &MatrixNormal::new(0.5, factor, factor), &[1.0, -2.0, 0.5, 1.0]);
    peaked(&graph, &Dirichlet::new(&[2.5, 1.5, 4.0]), &[1.0, -2.0, 1.0]);
    peaked(&graph, &Wishart::from_cholesky(7.5, factor), &[1.0, -2.0, -2.0, 1.0]);
    peaked(&graph, &InverseWishart::from_cholesky(7.5, factor), &[1.0, -2.0, -2.0, 1.0]);
    peaked(&graph, &LKJ::new(2, 2.5), &[0.0, 1.0, 1.0, 0.0]);
    let flat = run(&graph, &[Dirichlet::new(&[0.5, 1.5]).mode(&graph).unwrap()], &[]);
    assert!(flat[0].iter().all(|x| x.is_nan()));
}

#[test]
fn divergences_are_sums_of_logarithms() {
    let graph = Graph::new();
    let (p, q) = (NegativeBinomial::from_probs(2.5, 0.4), NegativeBinomial::from_probs(2.5, 0.55));
    let divergence = p.kl_divergence(&q, &graph).known().unwrap();
    let sum: f64 = (0..400).map(f64::from).map(|k| p.pmf(k) * (p.ln_pmf(k) - q.ln_pmf(k))).sum();
    assert!((divergence - sum).abs() < 1e-12, "{divergence} for {sum}");
    let other = NegativeBinomial::from_probs(3.0, 0.4);
    assert!(p.kl_divergence(&other, &graph).known().unwrap().is_nan());

    // Of two categories it is that of beta distributions.
    let of = |a: f64, b: f64| Dirichlet::new(graph.array(&arr1(&[a, b]).into_dyn()));
    let divergence = of(2.5, 0.7).kl_divergence(&of(1.2, 3.0), &graph);
    let beta = Beta::new(2.5, 0.7).kl_divergence(&Beta::new(1.2, 3.0), &graph);
    let same = of(1e6, 3.0).kl_divergence(&of(1e6, 3.0), &graph);
    let got = run(&graph, &[divergence, beta, same], &[]);
    assert!((got[0][0] - got[1][0]).abs() < 1e-13 * got[1][0], "{} for {}", got[0][0], got[1][0]);
    assert!(got[2][0].abs() < 1e-9);

    let normal = |scale: f64| {
        let matrix = arr2(&[[scale, 0.0], [0.5, 1.0]]).into_dyn();
        MultivariateNormal::from_cholesky(scale, graph.array(&matrix))
    };
    let by_trait = KullbackLeibler::kl_divergence(&normal(1.0), &normal(2.0), &graph);
    let own = MultivariateNormal::kl_divergence(&normal(1.0), &normal(2.0), &graph);
    let got = run(&graph, &[by_trait, own], &[]);
    assert_eq!(got[0], got[1]);
}

#[test]
fn quantiles_of_zero_inflated_counts_are_the_least_that_reach() {
    macro_rules! inverse {
        ($($law:expr;)*) => {$({
            let law = $law;
            for u in [1e-9, 0.05, 0.2, 0.3, 0.45, 0.6, 0.9, 0.999] {
                let k = law.quantile(u);
                assert!(law.cdf(k) >= u - 1e-15, "{}: {k} at {u}", stringify!($law));
                assert!(law.cdf(k - 1.0) < u + 1e-15, "{}: {k} at {u}", stringify!($law));
            }
            assert!(law.quantile(1.1).is_nan() && law.quantile(-0.1).is_nan());
        })*};
    }
    inverse! {
        ZeroInflatedPoisson::new(0.3, 2.0);
        ZeroInflatedNegativeBinomial::new(0.05, 4.0, 1.5);
        ZeroInflated::from_probs(DiscreteUniform::new(-2.0, 5.0), 0.4);
        Hurdle::from_probs(Poisson::new(2.0), 0.25);
        Hurdle::from_probs(Poisson::new(1e-3), 0.25);
    }
}

#[test]
fn quantiles_of_mixtures_invert_and_have_derivatives() {
    let graph = Graph::new();
    let (p, locs) = (graph.input("p", 5).unwrap(), graph.input("locs", 2).unwrap());
    let weights = graph.array(&arr1(&[0.3, 0.7]).into_dyn());
    let law = MixtureSameFamily::new(Categorical::from_probs(weights), Normal::new(locs, 0.5));
    let quantile = law.quantile(p).unwrap();
    let back = law.cdf(quantile).unwrap();
    let third = quantile.slice(0, 2..3).sum();
    let slopes = gradient(third, &[p, locs]).unwrap();
    let at: [f64; 5] = [1e-12, 0.1, 0.45, 0.8, 1.0 - 1e-9];
    let inputs: [(&str, &[f64]); 2] = [("p", &at), ("locs", &[-1.0, 2.0])];
    let got = run(&graph, &[quantile, back, slopes[0], slopes[1]], &inputs);
    for (back, p) in got[1].iter().zip(at) {
        assert!((back - p).abs() < 1e-12 * p, "{back} for {p}");
    }
    let h = 1e-6;
    let moved = |p: f64, locs: [f64; 2]| {
        let mut all = at;
        all[2] = p;
        run(&graph, &[third], &[("p", &all), ("locs", &locs)])[0][0]
    };
    let by_p = (moved(0.45 + h, [-1.0, 2.0]) - moved(0.45 - h, [-1.0, 2.0])) / (2.0 * h);
    assert!((got[2][2] - by_p).abs() < 1e-6 * by_p, "{} for {by_p}", got[2][2]);
    let by_loc = (moved(0.45, [-1.0, 2.0 + h]) - moved(0.45, [-1.0, 2.0 - h])) / (2.0 * h);
    assert!((got[3][1] - by_loc).abs() < 1e-6, "{} for {by_loc}", got[3][1]);

    // Of counts, and of components of different kinds.
    let rates = graph.array(&arr1(&[1.0, 20.0]).into_dyn());
    let counts = MixtureSameFamily::new(Categorical::from_probs(weights), Poisson::new(rates));
    let u = graph.array(&Array1::from(vec![0.05, 0.29, 0.31, 0.999, 0.0, 1.5]).into_dyn());
    let k = counts.quantile(u).unwrap();
    let mixed =
        Mixture::new(Categorical::from_probs(weights)).of(Poisson::new(1.0)).of(Geometric::from_probs(0.1));
    let j = mixed.quantile(u).unwrap();
    let outputs = [
        k,
        counts.cdf(k).unwrap(),
        counts.cdf(k - 1.0).unwrap(),
        j,
        mixed.cdf(j).unwrap(),
        mixed.cdf(j - 1.0).unwrap(),
    ];
    let got = run(&graph, &outputs, &[]);
    for (place, u) in [0.05, 0.29, 0.31, 0.999].into_iter().enumerate() {
        for law in [0, 3] {
            assert!(got[law + 1][place] >= u - 1e-15 && got[law + 2][place] < u, "{got:?} at {u}");
        }
    }
    assert_eq!((got[0][4], got[3][4]), (0.0, 0.0));
    assert!(got[0][5].is_nan());
}

#[test]
fn a_negative_scale_turns_the_order_round() {
    let law = Exponential::new(2.0).transformed(Affine::new(1.0, -0.5));
    law.validate().unwrap();
    assert!((law.cdf(0.25) - Exponential::new(2.0).sf(1.5)).abs() < 1e-15);
    assert!((law.quantile(0.3) - (1.0 - 0.5 * Exponential::new(2.0).quantile(0.7))).abs() < 1e-15);
    assert!((law.ln_pdf(0.25) - (Exponential::new(2.0).ln_pdf(1.5) + 2.0_f64.ln())).abs() < 1e-15);
    assert!(Normal::new(0.0, 1.0).transformed(Affine::new(0.0, 0.0)).validate().is_err());
}
