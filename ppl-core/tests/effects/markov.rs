//! Sums over chains of discrete values, against sums over all paths and products of matrices.

use super::common::{Choice, Coin, Normal, failure, normal_log_density};
use ndarray::{Array1, Array2, ArrayD, array};
use ppl_core::handlers::{Unconstrained, condition};
use ppl_core::{
    Constraint, Ctx, Distribution, Graph, Noise, Parameter, Predictive, RecordGradient, Records, Result,
    Shape, SiteKind, Values, Var, log_density, simulate, trace,
};

const STATES: usize = 3;
const STEPS: usize = 4;

/// Rows of weights, normalised.
fn weights(seed: usize, rows: usize) -> Array2<f64> {
    let number = |k: usize| 0.1 + ((seed * 17 + k) as f64 * 0.618_033_988_7).fract();
    let mut weights = Array2::from_shape_fn((rows, STATES), |(i, j)| number(i * STATES + j));
    for mut row in weights.rows_mut() {
        let sum = row.sum();
        row /= sum;
    }
    weights
}

fn logs<'g>(graph: &'g Graph, weights: &Array2<f64>) -> Var<'g> {
    graph.array(&weights.mapv(f64::ln).into_dyn())
}

const MEANS: [f64; STATES] = [-1.0, 0.5, 2.0];

fn sequences(count: usize) -> Records {
    let y = Array2::from_shape_fn((count, STEPS), |(i, t)| {
        ((i * 31 + t * 7) as f64 * 0.754_877_666).fract() * 4.0 - 2.0
    });
    Records::from_columns([("y", y)]).unwrap()
}

/// A hidden Markov model of each record, with unknown centres.
fn hidden(ctx: &mut Ctx) -> Result<()> {
    let centres = ctx.sample("centres", Normal::new(0.0, 2.0).iid(STATES))?;
    ctx.each_record(|ctx, record| {
        let y = record.get("y")?;
        let first = logs(ctx.graph(), &weights(1, 1)).reshape(STATES);
        let table = logs(ctx.graph(), &weights(2, STATES));
        ctx.markov(
            "state",
            STEPS,
            Choice(first),
            |before| Choice(table.gather(before)),
            |ctx, state| ctx.observe("y", Normal::new(centres.gather(state), 0.7), y),
        )
    })
}

fn at_centres() -> Values {
    Values::from([("centres".to_owned(), Array1::from(MEANS.to_vec()).into_dyn())])
}

/// All `STATES^steps` paths.
fn paths(steps: usize) -> Vec<Vec<usize>> {
    (0..STATES.pow(steps as u32))
        .map(|code| (0..steps).map(|t| code / STATES.pow(t as u32) % STATES).collect())
        .collect()
}

fn density(y: f64, state: usize) -> f64 {
    normal_log_density(y, MEANS[state], 0.7).exp()
}

/// The probability of a path together with its observations.
fn joint(path: &[usize], y: &[f64]) -> f64 {
    let (first, table) = (weights(1, 1), weights(2, STATES));
    let chain: f64 = path.windows(2).map(|pair| table[[pair[0], pair[1]]]).product();
    let seen: f64 = path.iter().zip(y).map(|(&state, &y)| density(y, state)).product();
    first[[0, path[0]]] * chain * seen
}

#[test]
fn a_chain_is_the_sum_over_all_paths_and_a_product_of_matrices() {
    let data = sequences(5);
    let found = log_density(&hidden, &data, &at_centres()).unwrap();
    let marginals = &simulate(&condition(hidden, at_centres()), &data).unwrap()["state"];
    assert_eq!(marginals.shape(), [5, STATES, STEPS]);
    let y: Vec<f64> = data.column(0).numbers().collect();
    for (record, y) in y.chunks(STEPS).enumerate() {
        let by_path: Vec<f64> = paths(STEPS).iter().map(|path| joint(path, y)).collect();
        let total: f64 = by_path.iter().sum();
        assert!((found.likelihood[record] - total.ln()).abs() < 1e-13);
        // πᵀ diag(e₀) A diag(e₁) A … 1
        let table = weights(2, STATES);
        let mut vector = weights(1, 1).row(0).to_owned();
        for (t, &y) in y.iter().enumerate() {
            vector = if t == 0 { vector } else { vector.dot(&table) };
            vector.indexed_iter_mut().for_each(|(state, x)| *x *= density(y, state));
        }
        assert!((found.likelihood[record] - vector.sum().ln()).abs() < 1e-13);
        // The marginal of each state given everything.
        for t in 0..STEPS {
            for state in 0..STATES {
                let with: f64 = paths(STEPS)
                    .iter()
                    .zip(&by_path)
                    .filter(|(path, _)| path[t] == state)
                    .map(|(_, p)| p)
                    .sum();
                assert!((marginals[[record, state, t]] - with / total).abs() < 1e-13);
            }
        }
    }
}

#[test]
fn given_the_states_nothing_is_summed() {
    let data = sequences(3);
    let states = array![[0.0, 1.0, 2.0, 2.0], [2.0, 0.0, 0.0, 1.0], [1.0, 1.0, 1.0, 0.0]];
    let mut at = at_centres();
    at.insert("state".to_owned(), states.clone().into_dyn());
    let found = log_density(&hidden, &data, &at).unwrap();
    let y: Vec<f64> = data.column(0).numbers().collect();
    for (record, y) in y.chunks(STEPS).enumerate() {
        let path: Vec<usize> = states.row(record).iter().map(|&state| state as usize).collect();
        assert!((found.likelihood[record] - joint(&path, y).ln()).abs() < 1e-13);
    }
    // What is no state has no density, and reaches no other one's place.
    for wrong in [0.5, -1.0, 3.0, f64::NAN] {
        let mut states = states.clone();
        states[[1, 2]] = wrong;
        at.insert("state".to_owned(), states.into_dyn());
        match log_density(&hidden, &data, &at) {
            Ok(found) => assert!(found.likelihood[1].is_nan() && found.likelihood[0].is_finite(), "{wrong}"),
            Err(error) => assert!(error.to_string().contains("state"), "{error}"),
        }
    }
}

#[test]
fn the_site_is_marginalised_and_the_observation_has_no_term_of_its_own() {
    let (graph, data) = (Graph::new(), sequences(1));
    let trace = trace(&hidden, &graph, data.schema(), Unconstrained).unwrap();
    let sites: Vec<_> =
        trace.sites().iter().map(|site| (site.name.as_str(), site.kind, site.log_prob.is_some())).collect();
    assert_eq!(
        sites,
        [
            ("centres", SiteKind::Latent, true),
            ("state", SiteKind::Marginalised, true),
            ("y", SiteKind::Observed, false)
        ]
    );
}

/// Clipped gradients of records through the chain, against finite differences of each record's density.
#[test]
fn gradients_of_records_go_through_the_chain() {
    let (graph, data) = (Graph::new(), sequences(6));
    let traced = trace(&hidden, &graph, data.schema(), Unconstrained).unwrap();
    let value = traced.record_log_likelihood().unwrap();
    let centres = traced.site("centres").unwrap().unconstrained.unwrap();
    let mut gradient = RecordGradient::<f64>::new(value, &[centres]).unwrap();
    gradient.set("unconstrained/centres", &MEANS).unwrap();
    let rows = gradient.keep(&data, &[0, 1, 2, 3, 4, 5]).unwrap();
    let at = |centres: [f64; STATES]| {
        let values = Values::from([("centres".to_owned(), Array1::from(centres.to_vec()).into_dyn())]);
        log_density(&hidden, &data, &values).unwrap().likelihood
    };
    for k in 0..STATES {
        let h = 1e-5;
        let (mut up, mut down) = (MEANS, MEANS);
        (up[k], down[k]) = (up[k] + h, down[k] - h);
        for (record, (up, down)) in at(up).iter().zip(&at(down)).enumerate() {
            // h² times third derivatives of order 10, and rounding over h.
            assert!(((up - down) / (2.0 * h) - rows[[record, k]]).abs() < 1e-8);
        }
    }
}

/// A choice whose log-weights are `[K]`, or `[T, K]` for a batch.
struct Changing<'g>(Var<'g>);

impl<'g> Distribution<'g> for Changing<'g> {
    fn name(&self) -> &'static str {
        "Changing"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        Vec::new()
    }
    fn batch_shape(&self) -> Result<Shape> {
        Ok(Shape::from(&self.0.shape().dims()[..1]))
    }
    fn support(&self) -> Constraint {
        Constraint::IntegerInterval(0.0, STATES as f64 - 1.0)
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        // By a sum over all values, whatever the shape of `x`.
        let each = |k: usize| {
            let column = self.0.slice(1, k..k + 1).reshape(self.0.shape().dims()[0]);
            x.equal(k as f64) * column
        };
        (0..STATES).map(each).reduce(|a, b| a + b).unwrap()
    }
    fn draw(&self, _prefix: &Shape, _noise: &mut Noise<'g>) -> Result<Var<'g>> {
        unreachable!("chains are drawn as a whole")
    }
    fn kind(&self) -> ppl_core::op::Kind {
        self.0.kind()
    }
}

/// Transitions that change with time, and with the record.
fn changing(ctx: &mut Ctx) -> Result<()> {
    ctx.each_record(|ctx, record| {
        let y = record.get("y")?;
        let first = logs(ctx.graph(), &weights(1, 1)).reshape(STATES);
        // The log-weights of the next state: a ramp over states that leans as the record does at that step.
        let ramp = ctx.graph().array(&array![[0.0, 1.0, 2.0]].into_dyn());
        let lean = y.slice(0, 1..).reshape([STEPS - 1, 1]);
        ctx.markov(
            "state",
            STEPS,
            Choice(first),
            |before| {
                let logits = lean * ramp + 0.3 * before * ramp.square();
                Changing(logits.log_softmax(1))
            },
            |ctx, state| ctx.observe("y", Normal::new(state, 1.0), y),
        )
    })
}

#[test]
fn transitions_may_change_with_time_and_record() {
    let data = sequences(4);
    let found = log_density(&changing, &data, &Values::new()).unwrap();
    let y: Vec<f64> = data.column(0).numbers().collect();
    for (record, y) in y.chunks(STEPS).enumerate() {
        let transition = |t: usize, before: usize, next: usize| {
            let logit = |j: usize| y[t + 1] * j as f64 + 0.3 * before as f64 * (j * j) as f64;
            logit(next).exp() / (0..STATES).map(|j| logit(j).exp()).sum::<f64>()
        };
        let path_density = |path: &Vec<usize>| -> f64 {
            let chain: f64 = (0..STEPS - 1).map(|t| transition(t, path[t], path[t + 1])).product();
            let seen: f64 = path
                .iter()
                .zip(y)
                .map(|(&state, &y)| normal_log_density(y, state as f64, 1.0).exp())
                .product();
            weights(1, 1)[[0, path[0]]] * chain * seen
        };
        let total: f64 = paths(STEPS).iter().map(path_density).sum();
        assert!((found.likelihood[record] - total.ln()).abs() < 1e-13);
        let path = vec![2, 0, 1, 1];
        let at = Values::from([("state".to_owned(), {
            let mut states = Array2::zeros((4, STEPS));
            states.row_mut(record).assign(&array![2.0, 0.0, 1.0, 1.0]);
            states.into_dyn()
        })]);
        let given = log_density(&changing, &data, &at).unwrap().likelihood[record];
        assert!((given - path_density(&path).ln()).abs() < 1e-13);
    }
}

/// A chain of public data, with a mask that leaves the last steps out: a shorter chain.
#[test]
fn a_mask_inside_makes_chains_shorter() {
    let model = |steps: usize, seen: usize| {
        move |ctx: &mut Ctx<'_>| {
            let graph = ctx.graph();
            let y = graph.array(&Array1::from_shape_fn(steps, |t| 0.3 * t as f64 - 0.5).into_dyn());
            let kept = Array1::from_shape_fn(steps, |t| f64::from(u8::from(t < seen)));
            let (first, table) =
                (logs(graph, &weights(1, 1)).reshape(STATES), logs(graph, &weights(2, STATES)));
            ctx.markov(
                "state",
                steps,
                Choice(first),
                |before| Choice(table.gather(before)),
                |ctx, state| {
                    let kept = ctx.graph().array(&kept.clone().into_dyn());
                    ctx.mask(kept, |ctx| ctx.observe("y", Normal::new(state, 1.0), y))
                },
            )
        }
    };
    let data = sequences(1);
    let density = |steps, seen| log_density(&model(steps, seen), &data, &Values::new()).unwrap().prior;
    assert!((density(5, 3) - density(3, 3)).abs() < 1e-14);
    assert!((density(1, 1) - density(4, 1)).abs() < 1e-14);
}

/// Draws of a chain have its law: frequencies of pairs of states. 40,000 draws; a frequency of probability p
/// errs by more than 6 standard errors with probability below 2e-9, and there are 9 + 3 of them.
#[test]
fn draws_have_the_law_of_the_chain() {
    let model = |ctx: &mut Ctx<'_>| {
        let graph = ctx.graph();
        let (first, table) = (logs(graph, &weights(1, 1)).reshape(STATES), logs(graph, &weights(2, STATES)));
        ctx.markov("state", 3, Choice(first), |before| Choice(table.gather(before)), |_, _| Ok(()))
    };
    let draws = 40_000;
    let drawn = Predictive::prior(&model, draws).key(7).run(&sequences(1)).unwrap();
    let states = &drawn["state"];
    assert_eq!(states.shape(), [draws, 3]);
    let (first, table) = (weights(1, 1).row(0).to_owned(), weights(2, STATES));
    let second = first.dot(&table);
    let check = |count: usize, p: f64| {
        let (found, error) = (count as f64 / draws as f64, (p * (1.0 - p) / draws as f64).sqrt());
        assert!((found - p).abs() < 6.0 * error, "{found} and {p}");
    };
    for from in 0..STATES {
        check(states.rows().into_iter().filter(|row| row[0] == from as f64).count(), first[from]);
        for to in 0..STATES {
            let pairs =
                states.rows().into_iter().filter(|row| (row[1], row[2]) == (from as f64, to as f64)).count();
            check(pairs, second[from] * table[[from, to]]);
        }
    }
}

#[test]
fn mistakes_are_told_with_the_site() {
    let told = failure(|ctx| {
        let table = ctx.graph().array(&ArrayD::zeros(vec![2]));
        ctx.markov("z", 0, Choice(table), |_| Choice(table), |_, _| Ok(()))
    });
    assert!(told.contains("site 'z'") && told.contains("at least one step"), "{told}");
    let told = failure(|ctx| {
        let table = ctx.graph().array(&ArrayD::zeros(vec![2]));
        let other = ctx.graph().array(&ArrayD::zeros(vec![3]));
        ctx.markov("z", 4, Choice(table), |_| Choice(other), |_, _| Ok(()))
    });
    assert!(told.contains("site 'z'") && told.contains("must lie where the initial state does"), "{told}");
    let told =
        failure(|ctx| ctx.markov("z", 4, Normal::new(0.0, 1.0), |z| Normal::new(z, 1.0), |_, _| Ok(())));
    assert!(told.contains("site 'z'") && told.contains("summing over a value"), "{told}");
    let told = failure(|ctx| {
        let coin = || Coin(0.0.into()).iid(2);
        ctx.markov("z", 4, coin(), |_| coin(), |_, _| Ok(()))
    });
    assert!(told.contains("site 'z'") && told.contains("a law of single numbers"), "{told}");
    let told = failure(|ctx| {
        ctx.plate("p", 2, |ctx| ctx.markov("z", 4, Coin(0.0.into()), |_| Coin(0.0.into()), |_, _| Ok(())))
    });
    assert!(told.contains("inside the plate 'p'"), "{told}");
    let told = failure(|ctx| {
        ctx.markov(
            "z",
            4,
            Coin(0.0.into()),
            |_| Coin(0.0.into()),
            |ctx, _| ctx.sample("inner", Normal::new(0.0, 1.0)).map(|_| ()),
        )
    });
    assert!(told.contains("inner"), "{told}");
    let told = failure(|ctx| {
        let table = ctx.graph().array(&ArrayD::zeros(vec![2, STATES]));
        let first = ctx.graph().array(&ArrayD::zeros(vec![STATES]));
        ctx.markov("z", 9, Choice(first), |_| Changing(table), |_, _| Ok(()))
    });
    assert!(told.contains("or [8] for the 8 transitions of 9 steps; it has [2]"), "{told}");
    let told = failure(|ctx| {
        let coin = || Coin(0.0.into());
        let three = ctx.graph().array(&array![0.0, 1.0, 2.0].into_dyn());
        ctx.markov("z", 4, coin(), |_| coin(), |ctx, _| ctx.observe("y", Normal::new(three, 1.0), three))
    });
    assert!(told.contains("'y'") && told.contains("plates"), "{told}");
}
