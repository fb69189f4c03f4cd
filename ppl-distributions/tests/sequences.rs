//! Models of sequences as NumPyro's examples have them, a sequence for each record, written with `scan` and
//! `markov`: each against its density written out by hand.

use ndarray::{Array1, Array2, Array3, ArrayD, Axis, array, s};
use ppl_core::{
    Column, Ctx, Distribution, Graph, RecordGradient, Records, Result, Schema, Unconstrained, Values,
    log_density, trace,
};
use ppl_distributions::{
    Bernoulli, Beta, Categorical, Combine, Dirichlet, GaussianRandomWalk, HalfNormal, LKJCholesky,
    MultivariateNormal, Normal, Uniform,
};
use std::f64::consts::PI;

/// A fixed number in (0, 1) for each place.
fn number(k: usize) -> f64 {
    (k as f64 * 0.754_877_666 + 0.3).fract()
}

fn log_normal(x: f64, loc: f64, scale: f64) -> f64 {
    -0.5 * ((x - loc) / scale).powi(2) - scale.ln() - 0.5 * (2.0 * PI).ln()
}

/// Rows that sum to 1.
fn simplexes(rows: usize, columns: usize, seed: usize) -> Array2<f64> {
    let mut all = Array2::from_shape_fn((rows, columns), |(i, j)| 0.1 + number(100 * seed + columns * i + j));
    for mut row in all.rows_mut() {
        let sum = row.sum();
        row /= sum;
    }
    all
}

fn values<const N: usize>(all: [(&str, ArrayD<f64>); N]) -> Values {
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn one(x: f64) -> ArrayD<f64> {
    ndarray::arr0(x).into_dyn()
}

/// What a model says of each record at given values.
fn likelihood(model: &dyn Fn(&mut Ctx<'_>) -> Result<()>, records: &Records, at: &Values) -> Array1<f64> {
    log_density(&|ctx: &mut Ctx<'_>| model(ctx), records, at).unwrap().likelihood
}

fn assert_close(found: &Array1<f64>, expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{found} and {expected}");
    }
}

/// Per-record gradients by all latent values, at the origin of the unconstrained space, are central
/// differences.
fn assert_gradients(model: &dyn Fn(&mut Ctx<'_>) -> Result<()>, records: &Records) {
    let graph = Graph::new();
    let traced = trace(&|ctx: &mut Ctx<'_>| model(ctx), &graph, records.schema(), Unconstrained).unwrap();
    let value = traced.record_log_likelihood().unwrap();
    let sites: Vec<_> = traced.latents().map(|site| site.unconstrained.unwrap_or(site.value)).collect();
    let names: Vec<String> = traced.latents().map(|site| format!("unconstrained/{}", site.name)).collect();
    let mut gradient = RecordGradient::<f64>::new(value, &sites).unwrap();
    let program = ppl_core::Program::new(&graph, &[value]).unwrap();
    let mut plan = ppl_core::ExecutionPlan::<f64>::new(&program);
    let batch: Vec<u64> = (0..records.len() as u64).collect();
    let start: Vec<Vec<f64>> = sites
        .iter()
        .enumerate()
        .map(|(at, site)| (0..site.shape().elements()).map(|k| 0.6 * number(7 * at + k) - 0.3).collect())
        .collect();
    for (name, values) in names.iter().zip(&start) {
        gradient.set(name, values).unwrap();
    }
    let rows = gradient.keep(records, &batch).unwrap();
    assert!(rows.iter().all(|slope| slope.is_finite()));
    let mut column = 0;
    for (site, name) in names.iter().enumerate() {
        for element in 0..start[site].len() {
            let mut at = |by: f64| {
                for (other, (name, values)) in names.iter().zip(&start).enumerate() {
                    let mut values = values.clone();
                    if other == site {
                        values[element] += by;
                    }
                    if plan.input(name).is_ok() {
                        plan.set(name, &values).unwrap();
                    }
                }
                plan.evaluate(records, &batch, 0).unwrap()
            };
            let h = 1e-5;
            let difference = (at(h) - at(-h)) / (2.0 * h);
            for (record, difference) in difference.iter().enumerate() {
                // h² times third derivatives, of order 100 at most here, and rounding over h.
                let slope = rows[[record, column]];
                assert!(
                    (difference - slope).abs() < 1e-6 * (1.0 + slope.abs()),
                    "{name} {element}: {difference} {slope}"
                );
            }
            column += 1;
        }
    }
}

// NumPyro's `hmm`: categories that form a chain, and words of each.

const CATEGORIES: usize = 3;
const WORDS: usize = 4;
const LENGTH: usize = 5;

fn texts() -> Records {
    let categories =
        Array2::from_shape_fn((6, LENGTH), |(i, t)| ((i * 5 + t * 7 + i * t) % CATEGORIES) as u8);
    let words = Array2::from_shape_fn((6, LENGTH), |(i, t)| ((i * 3 + t * 2) % WORDS) as u8);
    Records::from_columns([
        ("categories", Column::from(categories.into_dyn())),
        ("words", Column::from(words.into_dyn())),
    ])
    .unwrap()
}

/// Categories are known.
fn supervised(ctx: &mut Ctx) -> Result<()> {
    let transition = ctx.sample("transition", Dirichlet::symmetric(1.0, CATEGORIES).iid(CATEGORIES))?;
    let emission = ctx.sample("emission", Dirichlet::symmetric(0.1, WORDS).iid(CATEGORIES))?;
    ctx.each_record(|ctx, record| {
        let (categories, words) = (record.index("categories")?, record.index("words")?);
        let before = transition.gather(categories.slice(0, ..LENGTH - 1));
        ctx.observe("categories", Categorical::from_probs(before), categories.slice(0, 1..))?;
        ctx.observe("words", Categorical::from_probs(emission.gather(categories)), words)
    })
}

/// Categories are not known but the first, 0, which stands before the text.
fn unsupervised(ctx: &mut Ctx) -> Result<()> {
    let transition = ctx.sample("transition", Dirichlet::symmetric(1.0, CATEGORIES).iid(CATEGORIES))?;
    let emission = ctx.sample("emission", Dirichlet::symmetric(0.1, WORDS).iid(CATEGORIES))?;
    ctx.each_record(|ctx, record| {
        let words = record.index("words")?;
        let row = |state| Categorical::from_probs(transition.gather(state));
        ctx.markov("categories", LENGTH, row(ctx.graph().constant(0.0)), row, |ctx, state| {
            ctx.observe("words", Categorical::from_probs(emission.gather(state)), words)
        })
    })
}

#[test]
fn categories_and_words() {
    let (transition, emission) = (simplexes(CATEGORIES, CATEGORIES, 1), simplexes(CATEGORIES, WORDS, 2));
    let at =
        values([("transition", transition.clone().into_dyn()), ("emission", emission.clone().into_dyn())]);
    let data = texts();
    let column = |index: usize| -> Vec<usize> { data.column(index).numbers().map(|x| x as usize).collect() };
    let (categories, words) = (column(0), column(1));
    let joint = |path: &[usize], words: &[usize]| -> f64 {
        let chain: f64 = path.windows(2).map(|pair| transition[[pair[0], pair[1]]]).product();
        chain * path.iter().zip(words).map(|(&category, &word)| emission[[category, word]]).product::<f64>()
    };
    let expected: Vec<f64> = categories
        .chunks(LENGTH)
        .zip(words.chunks(LENGTH))
        .map(|(path, words)| joint(path, words).ln())
        .collect();
    assert_close(&likelihood(&supervised, &data, &at), &expected);
    let paths = (0..CATEGORIES.pow(LENGTH as u32))
        .map(|code| (0..LENGTH).map(|t| code / CATEGORIES.pow(t as u32) % CATEGORIES).collect::<Vec<_>>());
    let paths: Vec<Vec<usize>> = paths.collect();
    let expected: Vec<f64> = words
        .chunks(LENGTH)
        .map(|words| paths.iter().map(|path| transition[[0, path[0]]] * joint(path, words)).sum::<f64>().ln())
        .collect();
    assert_close(&likelihood(&unsupervised, &data, &at), &expected);
    assert_gradients(&supervised, &data);
    assert_gradients(&unsupervised, &data);
}

// NumPyro's `hmm_enum`, model 1: music, in which each of several tones sounds or not at each step, in
// sequences of different lengths.

const TONES: usize = 3;

fn music(ctx: &mut Ctx) -> Result<()> {
    let probs_x = ctx.sample("probs_x", Dirichlet::symmetric(1.0, CATEGORIES).iid(CATEGORIES))?;
    let probs_y = ctx.sample("probs_y", Beta::new(0.1, 0.9).iid([CATEGORIES, TONES]))?;
    ctx.each_record(|ctx, record| {
        let (tones, length) = (record.get("tones")?, record.get("length")?);
        let graph = ctx.graph();
        let sounding = graph.array(&Array1::from_iter((0..LENGTH).map(|t| t as f64)).into_dyn()).less(length);
        let row = |state| Categorical::from_probs(probs_x.gather(state));
        ctx.markov("x", LENGTH, row(graph.constant(0.0)), row, |ctx, state| {
            let chord = Bernoulli::from_probs(probs_y.gather(state)).independent(1);
            ctx.mask(sounding, |ctx| ctx.observe("y", chord, tones))
        })
    })
}

#[test]
fn tones_of_sequences_of_different_lengths() {
    let tones =
        Array3::from_shape_fn((4, LENGTH, TONES), |(i, t, k)| u8::from(number(50 * i + 5 * t + k) > 0.5));
    let lengths = [5_u8, 3, 1, 4];
    let data = Records::from_columns([
        ("tones", Column::from(tones.clone().into_dyn())),
        ("length", Column::from(lengths.to_vec())),
    ])
    .unwrap();
    let (probs_x, probs_y) = (simplexes(CATEGORIES, CATEGORIES, 3), simplexes(CATEGORIES, TONES, 4));
    let at = values([("probs_x", probs_x.clone().into_dyn()), ("probs_y", probs_y.clone().into_dyn())]);
    let expected: Vec<f64> = (0..4)
        .map(|i| {
            let mut forward = probs_x.row(0).to_owned();
            for t in 0..usize::from(lengths[i]) {
                forward = if t == 0 { forward } else { forward.dot(&probs_x) };
                for (state, x) in forward.iter_mut().enumerate() {
                    let heard = tones.slice(s![i, t, ..]);
                    *x *= heard
                        .iter()
                        .zip(probs_y.row(state))
                        .map(|(&tone, p)| if tone == 1 { *p } else { 1.0 - p })
                        .product::<f64>();
                }
            }
            forward.sum().ln()
        })
        .collect();
    assert_close(&likelihood(&music, &data, &at), &expected);
    assert_gradients(&music, &data);
}

// NumPyro's `ar2` and `var2`: each value depends on the two before it.

fn ar2(ctx: &mut Ctx) -> Result<()> {
    let a1 = ctx.sample("alpha_1", Normal::new(0.0, 1.0))?;
    let a2 = ctx.sample("alpha_2", Normal::new(0.0, 1.0))?;
    let constant = ctx.sample("const", Normal::new(0.0, 1.0))?;
    let sigma = ctx.sample("sigma", HalfNormal::new(1.0))?;
    let n = ctx.records().dim("y")?;
    ctx.each_record(|ctx, record| {
        let y = record.get("y")?;
        let first = |t: usize| y.slice(0, t..t + 1).reshape(());
        let (_, mean) = ctx.graph().scan((first(0), first(1)), y.slice(0, 2..), |(before, last), y| {
            Ok(((last, y), constant + a1 * last + a2 * before))
        })?;
        assert_eq!(mean.shape(), [n - 2].into());
        ctx.observe("y", Normal::new(mean, sigma), y.slice(0, 2..))
    })
}

#[test]
fn autoregressions_of_order_two() {
    let y = Array2::from_shape_fn((5, 7), |(i, t)| 2.0 * number(20 * i + t) - 1.0);
    let data = Records::from_columns([("y", y.clone())]).unwrap();
    let at =
        values([("alpha_1", one(0.6)), ("alpha_2", one(-0.2)), ("const", one(0.3)), ("sigma", one(0.5))]);
    let expected: Vec<f64> = y
        .rows()
        .into_iter()
        .map(|y| (2..7).map(|t| log_normal(y[t], 0.3 + 0.6 * y[t - 1] - 0.2 * y[t - 2], 0.5)).sum())
        .collect();
    assert_close(&likelihood(&ar2, &data, &at), &expected);
    assert_gradients(&ar2, &data);
}

fn var2(ctx: &mut Ctx) -> Result<()> {
    let constant = ctx.sample("constant", Normal::new(0.0, 1.0).iid(2))?;
    let sigma = ctx.sample("sigma", HalfNormal::new(1.0).iid(2))?;
    let omega = ctx.sample("l_omega", LKJCholesky::new(2, 1.0))?;
    let phi = ctx.sample("phi", Normal::new(0.0, 1.0).iid([2, 2, 2]))?;
    let phi_of = |lag: usize| phi.slice(0, lag..lag + 1).reshape([2, 2]);
    ctx.each_record(|ctx, record| {
        let y = record.get("y")?;
        let first = |t: usize| y.slice(0, t..t + 1).reshape(2);
        let (_, mean) = ctx.graph().scan([first(0), first(1)], y.slice(0, 2..), |[before, last], y| {
            Ok(([last, y], constant + phi_of(0).dot(last) + phi_of(1).dot(before)))
        })?;
        let factor = sigma.diagonal_matrix().matmul(omega);
        ctx.observe("y", MultivariateNormal::from_cholesky(mean, factor), y.slice(0, 2..))
    })
}

#[test]
fn vector_autoregressions_of_order_two() {
    let y = Array3::from_shape_fn((3, 6, 2), |(i, t, k)| 2.0 * number(40 * i + 3 * t + k) - 1.0);
    let data = Records::from_columns([("y", Column::from(y.clone().into_dyn()))]).unwrap();
    let (constant, sigma, rho) = (array![0.2, -0.1], array![0.7, 1.3], 0.4_f64);
    let phi = Array3::from_shape_fn((2, 2, 2), |(l, i, j)| 0.8 * number(4 * l + 2 * i + j) - 0.4);
    let omega = array![[1.0, 0.0], [rho, (1.0 - rho * rho).sqrt()]];
    let at = values([
        ("constant", constant.clone().into_dyn()),
        ("sigma", sigma.clone().into_dyn()),
        ("l_omega", omega.into_dyn()),
        ("phi", phi.clone().into_dyn()),
    ]);
    let expected: Vec<f64> = y
        .axis_iter(Axis(0))
        .map(|y| {
            let term = |t: usize| {
                let mean = &constant
                    + &phi.index_axis(Axis(0), 0).dot(&y.row(t - 1))
                    + phi.index_axis(Axis(0), 1).dot(&y.row(t - 2));
                let z = (&y.row(t) - &mean) / &sigma;
                let quadratic = (z[0] * z[0] - 2.0 * rho * z[0] * z[1] + z[1] * z[1]) / (1.0 - rho * rho);
                -0.5 * quadratic - (2.0 * PI * sigma[0] * sigma[1]).ln() - 0.5 * (1.0 - rho * rho).ln()
            };
            (2..6).map(term).sum()
        })
        .collect();
    assert_close(&likelihood(&var2, &data, &at), &expected);
    assert_gradients(&var2, &data);
}

// NumPyro's `holt_winters`: a level, a trend and seasons, smoothed exponentially.

const SEASONS: usize = 3;

fn holt_winters(ctx: &mut Ctx) -> Result<()> {
    let level_smoothing = ctx.sample("level_smoothing", Beta::new(1.0, 1.0))?;
    let trend_smoothing = ctx.sample("trend_smoothing", Beta::new(1.0, 1.0))?;
    let seasonality_smoothing = ctx.sample("seasonality_smoothing", Beta::new(1.0, 1.0))?;
    let adjusted = seasonality_smoothing * (1.0 - level_smoothing);
    let noise = ctx.sample("noise", HalfNormal::new(1.0))?;
    let level = ctx.sample("level_init", Normal::new(0.0, 1.0))?;
    let trend = ctx.sample("trend_init", Normal::new(0.0, 1.0))?;
    let seasons = ctx.sample("seasonality_init", Normal::new(0.0, 1.0).iid(SEASONS))?;
    ctx.each_record(|ctx, record| {
        let (y, graph) = (record.get("y")?, ctx.graph());
        let (_, mean) = graph.scan((level, trend, seasons), y, |(level, trend, seasons), y| {
            let season = seasons.slice(0, ..1).reshape(());
            let next_level = level_smoothing * (y - season) + (1.0 - level_smoothing) * (level + trend);
            let next_trend = trend_smoothing * (next_level - level) + (1.0 - trend_smoothing) * trend;
            let next_season = adjusted * (y - (level + trend)) + (1.0 - adjusted) * season;
            let turned = graph.concat(&[seasons.slice(0, 1..), next_season.reshape(1)], 0);
            Ok(((next_level, next_trend, turned), level + trend + season))
        })?;
        ctx.observe("y", Normal::new(mean, noise), y)
    })
}

#[test]
fn exponential_smoothing_with_seasons() {
    let y = Array2::from_shape_fn((4, 8), |(i, t)| 2.0 * number(30 * i + t) - 1.0 + 0.1 * t as f64);
    let data = Records::from_columns([("y", y.clone())]).unwrap();
    let (a, b, c, noise) = (0.4, 0.3, 0.2, 0.8);
    let start = (0.5, 0.1, vec![0.3, -0.2, 0.4]);
    let at = values([
        ("level_smoothing", one(a)),
        ("trend_smoothing", one(b)),
        ("seasonality_smoothing", one(c)),
        ("noise", one(noise)),
        ("level_init", one(start.0)),
        ("trend_init", one(start.1)),
        ("seasonality_init", Array1::from(start.2.clone()).into_dyn()),
    ]);
    let expected: Vec<f64> = y
        .rows()
        .into_iter()
        .map(|y| {
            let (mut level, mut trend, mut seasons) = start.clone();
            let mut sum = 0.0;
            for &y in y {
                let season = seasons.remove(0);
                sum += log_normal(y, level + trend + season, noise);
                let next = a * (y - season) + (1.0 - a) * (level + trend);
                let adjusted = c * (1.0 - a);
                seasons.push(adjusted * (y - (level + trend)) + (1.0 - adjusted) * season);
                trend = b * (next - level) + (1.0 - b) * trend;
                level = next;
            }
            sum
        })
        .collect();
    assert_close(&likelihood(&holt_winters, &data, &at), &expected);
    assert_gradients(&holt_winters, &data);
}

// NumPyro's `capture_recapture`, model 1 (Cormack, Jolly, Seber): each individual lives on with probability
// `phi` from its first capture on, and is seen with probability `rho` while it lives.

fn capture_recapture(ctx: &mut Ctx) -> Result<()> {
    let phi = ctx.sample("phi", Uniform::new(0.0, 1.0))?;
    let rho = ctx.sample("rho", Uniform::new(0.0, 1.0))?;
    let n = ctx.records().dim("seen")?;
    ctx.each_record(|ctx, record| {
        let (seen, graph) = (record.get("seen")?, ctx.graph());
        // Whether it was captured before each occasion. Until then it is alive.
        let known = (seen.cumsum(0) - seen).greater(0.0);
        let certain = graph.array(&array![f64::NEG_INFINITY, 0.0].into_dyn());
        let lives = graph.stack(&[(1.0 - phi).log(), phi.log()], 0);
        let dead = graph.array(&array![0.0, f64::NEG_INFINITY].into_dyn());
        let rows = graph.stack(&[dead, lives], 0);
        let known_next = known.slice(0, 1..).reshape([n - 1, 1]);
        ctx.markov(
            "alive",
            n,
            Bernoulli::from_probs(1.0),
            |alive| Binary(Categorical::from_logits(known_next.select(rows.gather(alive), certain))),
            |ctx, alive| {
                let log_seen = (seen * rho + (1.0 - seen) * (1.0 - rho)).log();
                let term =
                    alive.greater(0.5).select(log_seen, seen.greater(0.5).select(f64::NEG_INFINITY, 0.0));
                ctx.mask(known, |ctx| ctx.factor("seen", term))
            },
        )
    })
}

/// A categorical distribution of two categories, as one of 0 and 1.
#[derive(Debug)]
struct Binary<'g>(Categorical<'g>);

impl<'g> Distribution<'g> for Binary<'g> {
    fn name(&self) -> &'static str {
        "Binary"
    }
    fn parameters(&self) -> Vec<ppl_core::Parameter<'g>> {
        Vec::new()
    }
    fn batch_shape(&self) -> Result<ppl_core::Shape> {
        self.0.batch_shape()
    }
    fn support(&self) -> ppl_core::Constraint {
        ppl_core::Constraint::Boolean
    }
    fn log_prob(&self, x: ppl_core::Var<'g>) -> ppl_core::Var<'g> {
        self.0.log_prob(x)
    }
    fn draw(&self, prefix: &ppl_core::Shape, noise: &mut ppl_core::Noise<'g>) -> Result<ppl_core::Var<'g>> {
        self.0.draw(prefix, noise)
    }
}

#[test]
fn survival_of_captured_individuals() {
    let seen: Array2<u8> =
        array![[1, 0, 1, 0, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1], [0, 0, 1, 0, 1]];
    let data = Records::from_columns([("seen", Column::from(seen.clone().into_dyn()))]).unwrap();
    let (phi, rho) = (0.7_f64, 0.4_f64);
    let expected: Vec<f64> = seen
        .rows()
        .into_iter()
        .map(|seen| {
            let first = seen.iter().position(|&seen| seen == 1).unwrap();
            let last = seen.iter().rposition(|&seen| seen == 1).unwrap();
            let until: f64 =
                (first + 1..=last).map(|t| phi * if seen[t] == 1 { rho } else { 1.0 - rho }).product();
            // Never seen again: χ_t = 1 − φ + φ (1 − ρ) χ_{t+1}
            let never = (last + 1..seen.len()).fold(1.0, |chi, _| 1.0 - phi + phi * (1.0 - rho) * chi);
            (until * never).ln()
        })
        .collect();
    let at = values([("phi", one(phi)), ("rho", one(rho))]);
    assert_close(&likelihood(&capture_recapture, &data, &at), &expected);
    assert_gradients(&capture_recapture, &data);
}

/// A stochastic volatility model: the logarithm of the volatility walks.
#[test]
fn a_walk_of_volatilities() {
    let model = |ctx: &mut Ctx<'_>| {
        let n = 4;
        let sigma = ctx.sample("sigma", HalfNormal::new(1.0))?;
        let walk = ctx.sample("s", GaussianRandomWalk::new(sigma, n))?;
        let r = ctx.graph().array(&array![0.1, -0.4, 0.3, 0.2].into_dyn());
        ctx.observe("r", Normal::new(0.0, walk.exp()), r)
    };
    let schema = Records::from_columns([("unused", vec![0.0])]).unwrap();
    let s = [0.1, -0.2, 0.3, 0.0];
    let at = values([("sigma", one(0.5)), ("s", Array1::from(s.to_vec()).into_dyn())]);
    let found = log_density(&model, &schema, &at).unwrap().prior;
    let steps: f64 = (0..4).map(|t| log_normal(s[t] - if t == 0 { 0.0 } else { s[t - 1] }, 0.0, 0.5)).sum();
    let returns: f64 = [0.1, -0.4, 0.3, 0.2].iter().zip(s).map(|(r, s)| log_normal(*r, 0.0, s.exp())).sum();
    let prior = log_normal(0.5, 0.0, 1.0) + 2.0_f64.ln();
    assert!((found - (prior + steps + returns)).abs() < 1e-13);
}

/// A walk without steps is refused, and a walk's scale is checked.
#[test]
fn wrong_walks_are_told() {
    let told = |scale: f64, steps: usize| {
        let (graph, schema) = (Graph::new(), Schema::new([("x", ())]).unwrap());
        let model = |ctx: &mut Ctx<'_>| ctx.sample("s", GaussianRandomWalk::new(scale, steps)).map(|_| ());
        trace(&model, &graph, &schema, Unconstrained).unwrap_err().to_string()
    };
    assert!(told(1.0, 0).contains("num_steps must be at least 1, got 0"));
    assert!(
        told(-1.0, 3).contains("site 's': GaussianRandomWalk: scale must be positive and finite, got -1")
    );
}
