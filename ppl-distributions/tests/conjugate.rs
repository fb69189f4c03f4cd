//! Expected statistics as gradients, against statistics written by hand.

use ndarray::{Array1, Array2, arr1};
use ppl_core::conjugate::{Curvature, Settings, Statistics};
use ppl_core::{Column, Ctx, Distribution, ExecutionPlan, Graph, Program, RecordGradient, Records, Result};
use ppl_distributions::{Bernoulli, Beta, Categorical, Dirichlet, Gamma, Laplace, Normal, Poisson, Words};

/// A few numbers that look random.
pub(crate) fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    (0..n)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        })
        .collect()
}

/// The statistics of all records together, by block, at these expectations.
fn statistics(
    model: &dyn Fn(&mut Ctx<'_>) -> Result<()>,
    records: &Records,
    settings: Settings,
    at: &[(&str, Vec<f64>)],
) -> Vec<(String, Vec<f64>)> {
    let graph = Graph::new();
    let found = Statistics::new(&model, &graph, records.schema(), settings).unwrap();
    let inputs: Vec<_> = found.blocks().iter().map(|block| block.input).collect();
    let mut gradient = RecordGradient::<f64>::new(found.record(), &inputs).unwrap();
    for (name, values) in at {
        assert!(found.blocks().iter().any(|block| block.name == *name), "{name} is no block");
        gradient.set(name, values).unwrap();
    }
    let mut sums = vec![0.0; gradient.dimension()];
    let all: Vec<u64> = (0..records.len() as u64).collect();
    gradient.sum(records, &all, &mut sums).unwrap();
    let mut rest = &sums[..];
    found
        .blocks()
        .iter()
        .map(|block| {
            let (own, others) = rest.split_at(block.elements());
            rest = others;
            (block.name.clone(), own.to_vec())
        })
        .collect()
}

pub(crate) fn assert_close(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-10 * (1.0 + b.abs()), "{what}: {a} and {b}");
    }
}

fn block<'a>(found: &'a [(String, Vec<f64>)], name: &str) -> &'a [f64] {
    let names: Vec<&String> = found.iter().map(|(name, _)| name).collect();
    &found.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("{name} in {names:?}")).1
}

pub(crate) const K: usize = 3;

fn mixture(ctx: &mut Ctx) -> Result<()> {
    let pi = ctx.sample("pi", Dirichlet::symmetric(1.0, K))?;
    let mu = ctx.sample("mu", Normal::new(0.0, 3.0).iid([K, 2]))?;
    ctx.each_record(|ctx, r| {
        ctx.enumerate("z", Categorical::from_probs(pi), |ctx, z| {
            ctx.observe("x", Normal::new(mu.gather(z), 0.7), r.get("x")?)
        })
    })
}

#[test]
fn the_mixtures_statistics_are_responsibilities_and_weighted_sums() {
    let x = Array2::from_shape_vec((40, 2), numbers(80, 1)).unwrap() * 6.0;
    let records = Records::from_columns([("x", x.clone())]).unwrap();
    let (log_pi, mean) = (vec![-1.5, -0.9, -1.4], numbers(6, 2));
    let square: Vec<f64> = mean.iter().map(|m| m * m + 0.3).collect();
    let at = [("E[ln pi]", log_pi.clone()), ("E[mu]", mean.clone()), ("E[mu²]", square.clone())];
    let found = statistics(&mixture, &records, Settings::default(), &at);
    let s2 = 0.49;
    let (mut of_pi, mut of_mu, mut of_square) = (vec![0.0; K], vec![0.0; 2 * K], vec![0.0; 2 * K]);
    for x in x.rows() {
        let logits: Vec<f64> = (0..K)
            .map(|k| {
                (0..2).fold(log_pi[k], |sum, j| {
                    sum - (x[j] * x[j] - 2.0 * x[j] * mean[2 * k + j] + square[2 * k + j]) / (2.0 * s2)
                })
            })
            .collect();
        let top = logits.iter().copied().fold(f64::MIN, f64::max);
        let total: f64 = logits.iter().map(|l| (l - top).exp()).sum();
        for k in 0..K {
            let r = (logits[k] - top).exp() / total;
            of_pi[k] += r;
            for j in 0..2 {
                of_mu[2 * k + j] += r * x[j] / s2;
                of_square[2 * k + j] -= 0.5 * r / s2;
            }
        }
    }
    assert_close(block(&found, "E[ln pi]"), &of_pi, "pi");
    assert_close(block(&found, "E[mu]"), &of_mu, "mu");
    assert_close(block(&found, "E[mu²]"), &of_square, "mu²");
}

fn logistic(ctx: &mut Ctx) -> Result<()> {
    let d = ctx.records().dim("x")?;
    let w = ctx.sample("w", Normal::new(0.0, 4.0).iid(d))?;
    ctx.each_record(|ctx, record| {
        let logit = record.get("x")?.dot(w);
        ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
    })
}

#[test]
fn logistic_regressions_statistics_are_those_of_polya_gamma_augmentation() {
    let (n, d) = (50, 4);
    let x = Array2::from_shape_vec((n, d), numbers(n * d, 3)).unwrap() * 2.0;
    let y: Array1<f64> = numbers(n, 4).iter().map(|u| f64::from(*u > 0.0)).collect();
    let records =
        Records::from_columns([("x", Column::from(x.clone())), ("y", Column::from(y.clone()))]).unwrap();
    let w = numbers(d, 5);
    let outer: Vec<f64> =
        (0..d * d).map(|k| w[k / d] * w[k % d] + if k / d == k % d { 0.4 } else { 0.1 }).collect();
    let at = [("E[w]", w), ("E[w wᵀ]", outer.clone())];
    for curvature in [Curvature::Optimal, Curvature::Fixed] {
        let mut settings = Settings::default();
        settings.curvature = Some(curvature);
        let found = statistics(&logistic, &records, settings, &at);
        let (mut first, mut second) = (vec![0.0; d], vec![0.0; d * d]);
        for (x, y) in x.rows().into_iter().zip(&y) {
            let c = (0..d * d).map(|k| x[k / d] * x[k % d] * outer[k]).sum::<f64>().sqrt();
            let xi = match curvature {
                Curvature::Fixed => 0.25,
                Curvature::Optimal => (0.5 * c).tanh() / (2.0 * c),
            };
            for j in 0..d {
                first[j] += (y - 0.5) * x[j];
                for k in 0..d {
                    second[j * d + k] -= 0.5 * xi * x[j] * x[k];
                }
            }
        }
        assert_close(block(&found, "E[w]"), &first, "w");
        assert_close(block(&found, "E[w wᵀ]"), &second, "w wᵀ");
    }
}

pub(crate) fn lda(ctx: &mut Ctx) -> Result<()> {
    let v = ctx.records().dim("counts")?;
    let beta = ctx.sample("beta", Dirichlet::symmetric(0.1, v).iid(K))?;
    ctx.each_record(|ctx, document| {
        let theta = ctx.sample("theta", Dirichlet::symmetric(0.3, K))?;
        ctx.observe("words", Words::mixed(theta, beta), document.get("counts")?)
    })
}

fn digamma(x: f64) -> f64 {
    let graph = Graph::new();
    let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[graph.constant(x).digamma()]).unwrap());
    plan.run();
    plan.output(0)[0]
}

#[test]
fn latent_dirichlet_allocations_statistics_are_expected_counts() {
    let (n, v, sweeps) = (12, 7, 5);
    let mut counts: Vec<u16> = numbers(n * v, 6).iter().map(|u| ((u + 0.5) * 6.0) as u16).collect();
    counts[..v].fill(0); // an empty document
    let table = Array2::from_shape_vec((n, v), counts).unwrap();
    let records = Records::from_columns([("counts", table.clone())]).unwrap();
    let log_beta: Vec<f64> = numbers(K * v, 7).iter().map(|u| -2.0 + 3.0 * u).collect();
    let mut settings = Settings::default();
    settings.sweeps = sweeps;
    let found = statistics(&lda, &records, settings, &[("E[ln beta]", log_beta.clone())]);
    let mut expected = vec![0.0; K * v];
    for document in table.rows() {
        // All concentrations 1 at first: a flat prior.
        let mut gamma = [1.0; K];
        for sweep in 0..=sweeps {
            let total: f64 = gamma.iter().sum();
            let log_theta: Vec<f64> = gamma.iter().map(|g| digamma(*g) - digamma(total)).collect();
            gamma = [0.3; K];
            for (word, &count) in document.iter().enumerate() {
                let weights: Vec<f64> =
                    (0..K).map(|k| (log_theta[k] + log_beta[k * v + word]).exp()).collect();
                let total: f64 = weights.iter().sum();
                for k in 0..K {
                    let share = f64::from(count) * weights[k] / total;
                    gamma[k] += share;
                    if sweep == sweeps {
                        expected[k * v + word] += share;
                    }
                }
            }
        }
    }
    assert_close(block(&found, "E[ln beta]"), &expected, "beta");
}

const J: usize = 6;

fn sbn(ctx: &mut Ctx) -> Result<()> {
    let (w, c) =
        (ctx.sample("w", Normal::new(0.0, 1.0).iid([J, K]))?, ctx.sample("c", Normal::new(0.0, 5.0).iid(J))?);
    let b = ctx.sample("b", Normal::new(0.0, 5.0).iid(K))?;
    ctx.each_record(|ctx, image| {
        let z = ctx.sample("z", Bernoulli::from_logits(b))?;
        ctx.observe("pixels", Bernoulli::from_logits(w.dot(z) + c), image.get("pixels")?)
    })
}

#[test]
fn sigmoid_belief_networks_statistics_share_one_matrix_under_fixed_curvature() {
    let (n, sweeps) = (9, 4);
    let pixels: Vec<u8> = numbers(n * J, 8).iter().map(|u| u8::from(*u > 0.0)).collect();
    let table = Array2::from_shape_vec((n, J), pixels).unwrap();
    let records = Records::from_columns([("pixels", table.clone())]).unwrap();
    let (w, c, b) = (numbers(J * K, 9), numbers(J, 10), numbers(K, 11));
    let total: Vec<f64> = (0..K * K)
        .map(|at| {
            let (k, l) = (at / K, at % K);
            (0..J).map(|j| w[j * K + k] * w[j * K + l]).sum::<f64>() + if k == l { 0.6 } else { 0.1 }
        })
        .collect();
    let squares = |x: &[f64]| x.iter().map(|x| x * x + 0.2).collect::<Vec<f64>>();
    let at = [
        ("E[w]", w.clone()),
        ("Σ E[w wᵀ]", total.clone()),
        ("E[c]", c.clone()),
        ("E[c²]", squares(&c)),
        ("E[b]", b.clone()),
        ("E[b²]", squares(&b)),
    ];
    let mut settings = Settings::default();
    (settings.curvature, settings.sweeps) = (Some(Curvature::Fixed), sweeps);
    let found = statistics(&sbn, &records, settings, &at);
    let (mut of_w, mut of_total, mut of_c, mut of_b) =
        (vec![0.0; J * K], vec![0.0; K * K], vec![0.0; J], vec![0.0; K]);
    for y in table.rows() {
        let slope = |m: &[f64]| -> Vec<f64> {
            (0..K)
                .map(|k| {
                    let data: f64 =
                        (0..J).map(|j| (f64::from(y[j]) - 0.5 - 0.25 * c[j]) * w[j * K + k]).sum();
                    let others: f64 = (0..K).filter(|&l| l != k).map(|l| 2.0 * total[k * K + l] * m[l]).sum();
                    b[k] + data - (others + total[k * K + k]) / 8.0
                })
                .collect()
        };
        let sigmoid = |x: &f64| 1.0 / (1.0 + (-x).exp());
        let mut m = vec![0.5; K];
        let mut natural = [0.0; K];
        for round in 0..sweeps {
            let new = slope(&m);
            for k in 0..K {
                natural[k] = if round == 0 { new[k] } else { 0.5 * (natural[k] + new[k]) };
            }
            m = natural.iter().map(sigmoid).collect();
        }
        for j in 0..J {
            let psi: f64 = (0..K).map(|k| w[j * K + k] * m[k]).sum();
            of_c[j] += f64::from(y[j]) - 0.5 - 0.25 * psi;
            for k in 0..K {
                of_w[j * K + k] += (f64::from(y[j]) - 0.5 - 0.25 * c[j]) * m[k];
            }
        }
        for k in 0..K {
            of_b[k] += m[k] - 0.5;
            for l in 0..K {
                of_total[k * K + l] -= 0.125 * if k == l { m[k] } else { m[k] * m[l] };
            }
        }
    }
    assert_close(block(&found, "E[w]"), &of_w, "w");
    assert_close(block(&found, "Σ E[w wᵀ]"), &of_total, "Σ w wᵀ");
    assert_close(block(&found, "E[c]"), &of_c, "c");
    assert_close(block(&found, "E[b]"), &of_b, "b");
    assert_close(block(&found, "E[c²]"), &[-0.125 * n as f64; J], "c²");
}

#[test]
fn the_optimal_bound_of_a_belief_network_has_a_matrix_for_each_outcome() {
    let records = Records::from_columns([("pixels", Array2::<u8>::zeros((2, J)))]).unwrap();
    let graph = Graph::new();
    let mut settings = Settings::default();
    settings.curvature = Some(Curvature::Optimal);
    let found = Statistics::new(&sbn, &graph, records.schema(), settings).unwrap();
    let names: Vec<_> = found.blocks().iter().map(|block| (block.name.as_str(), block.elements())).collect();
    assert!(names.contains(&("E[w wᵀ]", J * K * K)), "{names:?}");
}

#[test]
fn unknown_precisions_rates_and_probabilities_have_their_textbook_statistics() {
    let x = numbers(20, 12);
    let model = |ctx: &mut Ctx<'_>| {
        let mu = ctx.sample("mu", Normal::new(0.0, 10.0))?;
        let tau = ctx.sample("tau", Gamma::new(2.0, 3.0))?;
        ctx.each_record(|ctx, r| ctx.observe("x", Normal::new(mu, tau.sqrt().reciprocal()), r.get("x")?))
    };
    let records = Records::from_columns([("x", x.clone())]).unwrap();
    let at = [("E[mu]", vec![0.2]), ("E[mu²]", vec![0.3]), ("E[ln tau]", vec![0.1]), ("E[tau]", vec![1.5])];
    let found = statistics(&model, &records, Settings::default(), &at);
    let (sum, square): (f64, f64) = (x.iter().sum(), x.iter().map(|x| x * x).sum());
    assert_close(block(&found, "E[mu]"), &[1.5 * sum], "mu");
    assert_close(block(&found, "E[mu²]"), &[-0.5 * 1.5 * 20.0], "mu²");
    assert_close(block(&found, "E[ln tau]"), &[10.0], "ln tau");
    assert_close(block(&found, "E[tau]"), &[-0.5 * (square - 0.4 * sum + 0.3 * 20.0)], "tau");

    let counts = vec![0.0, 3.0, 1.0, 7.0];
    let poisson = |ctx: &mut Ctx<'_>| {
        let rate = ctx.sample("rate", Gamma::new(2.0, 3.0))?;
        ctx.each_record(|ctx, r| ctx.observe("n", Poisson::new(rate), r.get("n")?))
    };
    let records = Records::from_columns([("n", counts)]).unwrap();
    let at = [("E[ln rate]", vec![0.1]), ("E[rate]", vec![1.5])];
    let found = statistics(&poisson, &records, Settings::default(), &at);
    assert_close(block(&found, "E[ln rate]"), &[11.0], "ln rate");
    assert_close(block(&found, "E[rate]"), &[-4.0], "rate");

    let coins = |ctx: &mut Ctx<'_>| {
        let p = ctx.sample("p", Beta::new(2.0, 3.0))?;
        ctx.each_record(|ctx, r| ctx.observe("y", Bernoulli::from_probs(p), r.get("y")?))
    };
    let records = Records::from_columns([("y", vec![0.0, 1.0, 1.0, 1.0])]).unwrap();
    let at = [("E[ln p]", vec![-0.7]), ("E[ln(1 − p)]", vec![-0.9])];
    let found = statistics(&coins, &records, Settings::default(), &at);
    assert_close(block(&found, "E[ln p]"), &[3.0], "ln p");
    assert_close(block(&found, "E[ln(1 − p)]"), &[1.0], "ln(1 − p)");

    let categories = |ctx: &mut Ctx<'_>| {
        let p = ctx.sample("p", Dirichlet::symmetric(0.5, 3))?;
        ctx.each_record(|ctx, r| ctx.observe("k", Categorical::from_probs(p), r.get("k")?))
    };
    let records = Records::from_columns([("k", vec![0.0, 2.0, 2.0])]).unwrap();
    let found = statistics(&categories, &records, Settings::default(), &[("E[ln p]", vec![-1.0; 3])]);
    assert_close(block(&found, "E[ln p]"), &[1.0, 0.0, 2.0], "p");
}

fn refusal(model: impl Fn(&mut Ctx<'_>) -> Result<()>) -> String {
    let graph = Graph::new();
    let records = Records::from_columns([("x", arr1(&[0.5])), ("y", arr1(&[1.0]))]).unwrap();
    match Statistics::new(&model, &graph, records.schema(), Settings::default()) {
        Ok(_) => panic!("it was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_not_conjugate_is_refused_with_site_line_and_operation() {
    let told = refusal(|ctx| {
        let w = ctx.sample("w", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, r| ctx.observe("x", Normal::new(w.sin(), 1.0), r.get("x")?))
    });
    assert!(told.contains("sin") && told.contains("'w'") && told.contains("conjugate.rs:"), "{told}");
    assert!(told.contains("DpVi"), "{told}");
    let told = refusal(|ctx| {
        let w = ctx.sample("w", Laplace::new(0.0, 1.0))?;
        ctx.each_record(|ctx, r| ctx.observe("x", Normal::new(w, 1.0), r.get("x")?))
    });
    assert!(told.contains("'w'") && told.contains("Laplace") && told.contains("DpVi"), "{told}");
    let told = refusal(|ctx| {
        let w = ctx.sample("w", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, r| ctx.observe("x", Normal::new(w * (w + 1.0), 1.0), r.get("x")?))
    });
    assert!(told.contains("both depend on 'w'"), "{told}");
    // A softplus with the other sign has no lower bound of this form.
    let told = refusal(|ctx| {
        let w = ctx.sample("w", Normal::new(0.0, 1.0))?;
        ctx.each_record(|ctx, r| ctx.factor("x", (w * r.get("x")?).softplus()))
    });
    assert!(told.contains("upper bound"), "{told}");
    let told = refusal(|ctx| {
        let w = ctx.param("w", 1.0, ppl_core::Constraint::Real)?;
        ctx.each_record(|ctx, r| ctx.observe("x", Normal::new(w, 1.0), r.get("x")?))
    });
    assert!(told.contains("'w'") && told.contains("prior"), "{told}");
}
