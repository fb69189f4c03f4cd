//! Every distribution over a grid of hostile parameters and values, against numbers of 60 digits
//! (`golden/hostile.py`), in `f64` and `f32`, with parameters that are known while tracing, shared, or per
//! record. A distribution takes part with one line of [`LAWS`] and one of the script.
//!
//! What is measured is an error in units of rounding, as `ACCURACY.md` says. The worst ones are the tables of
//! `ACCURACY.md`, which this test holds to what it measures, and writes anew:
//!
//! ```text
//! UPDATE_ACCURACY=1 cargo test -p ppl-distributions --test integration hostile
//! ```

use ndarray::ArrayD;
use ppl_core::{
    Constraint, Distribution, ExecutionPlan, Graph, Program, Records, Scalar, Shape, Value, Var, gradient,
};
use ppl_distributions::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

type Build = for<'g> fn(&'g Graph, &[Value<'g>]) -> Box<dyn Distribution<'g> + 'g>;

/// Name in the golden file, numbers that an outcome has, and how it is built.
const LAWS: &[(&str, usize, Build)] = &[
    ("normal", 1, |_, p| Box::new(Normal::new(p[0], p[1]))),
    ("log_normal", 1, |_, p| Box::new(LogNormal::new(p[0], p[1]))),
    ("half_normal", 1, |_, p| Box::new(HalfNormal::new(p[0]))),
    ("cauchy", 1, |_, p| Box::new(Cauchy::new(p[0], p[1]))),
    ("half_cauchy", 1, |_, p| Box::new(HalfCauchy::new(p[0]))),
    ("laplace", 1, |_, p| Box::new(Laplace::new(p[0], p[1]))),
    ("logistic", 1, |_, p| Box::new(Logistic::new(p[0], p[1]))),
    ("gumbel", 1, |_, p| Box::new(Gumbel::new(p[0], p[1]))),
    ("student_t", 1, |_, p| Box::new(StudentT::new(p[0], p[1], p[2]))),
    ("half_student_t", 1, |_, p| Box::new(HalfStudentT::new(p[0], p[1]))),
    ("exponential", 1, |_, p| Box::new(Exponential::new(p[0]))),
    ("gamma", 1, |_, p| Box::new(Gamma::new(p[0], p[1]))),
    ("chi2", 1, |_, p| Box::new(Chi2::new(p[0]))),
    ("inverse_gamma", 1, |_, p| Box::new(InverseGamma::new(p[0], p[1]))),
    ("weibull", 1, |_, p| Box::new(Weibull::new(p[0], p[1]))),
    ("pareto", 1, |_, p| Box::new(Pareto::new(p[0], p[1]))),
    ("beta", 1, |_, p| Box::new(Beta::new(p[0], p[1]))),
    ("kumaraswamy", 1, |_, p| Box::new(Kumaraswamy::new(p[0], p[1]))),
    ("von_mises", 1, |_, p| Box::new(VonMises::new(p[0], p[1]))),
    ("uniform", 1, |_, p| Box::new(Uniform::new(p[0], p[1]))),
    ("truncated_normal", 1, |_, p| Box::new(TruncatedNormal::new(p[0], p[1], p[2], p[3]))),
    ("polya_gamma", 1, |_, p| Box::new(PolyaGamma::new(p[0]))),
    ("truncated_gamma", 1, |_, p| Box::new(Truncated::new(Gamma::new(p[0], p[1]), p[2], p[3]))),
    ("truncated_logistic", 1, |_, p| Box::new(Truncated::new(Logistic::new(p[0], p[1]), p[2], p[3]))),
    ("truncated_poisson", 1, |_, p| Box::new(Truncated::new(Poisson::new(p[0]), p[1], p[2]))),
    ("bernoulli_logits", 1, |_, p| Box::new(Bernoulli::from_logits(p[0]))),
    ("bernoulli_probs", 1, |_, p| Box::new(Bernoulli::from_probs(p[0]))),
    ("binomial_logits", 1, |_, p| Box::new(Binomial::from_logits(p[0], p[1]))),
    ("binomial_probs", 1, |_, p| Box::new(Binomial::from_probs(p[0], p[1]))),
    ("poisson", 1, |_, p| Box::new(Poisson::new(p[0]))),
    ("poisson_log_rate", 1, |_, p| Box::new(Poisson::from_log_rate(p[0]))),
    ("negative_binomial_logits", 1, |_, p| Box::new(NegativeBinomial::from_logits(p[0], p[1]))),
    ("negative_binomial_mean", 1, |_, p| Box::new(NegativeBinomial::from_mean(p[0], p[1]))),
    ("geometric_logits", 1, |_, p| Box::new(Geometric::from_logits(p[0]))),
    ("geometric_probs", 1, |_, p| Box::new(Geometric::from_probs(p[0]))),
    ("discrete_uniform", 1, |_, p| Box::new(DiscreteUniform::new(p[0], p[1]))),
    ("beta_binomial", 1, |_, p| Box::new(BetaBinomial::new(p[0], p[1], p[2]))),
    ("ordered_logistic", 1, |g, p| Box::new(OrderedLogistic::new(p[0], vector(g, &p[1..])))),
    ("categorical_logits", 1, |g, p| Box::new(Categorical::from_logits(vector(g, p)))),
    ("multinomial_logits", 3, |g, p| Box::new(Multinomial::from_logits(p[0], vector(g, &p[1..])))),
    ("dirichlet_multinomial", 3, |g, p| Box::new(DirichletMultinomial::new(vector(g, &p[1..]), p[0]))),
    ("dirichlet", 3, |g, p| Box::new(Dirichlet::new(vector(g, p)))),
    ("lkj_cholesky", 4, |_, p| Box::new(LKJCholesky::new(2, p[0]))),
    ("multivariate_normal", 2, |g, p| {
        Box::new(MultivariateNormal::from_cholesky(vector(g, &p[..2]), lower(g, &p[2..])))
    }),
    ("multivariate_student_t", 2, |g, p| {
        Box::new(MultivariateStudentT::new(p[0], vector(g, &p[1..3]), lower(g, &p[3..])))
    }),
    ("low_rank_multivariate_normal", 2, |g, p| {
        let factor = vector(g, &p[2..4]).reshape([2, 1]);
        Box::new(LowRankMultivariateNormal::new(vector(g, &p[..2]), factor, vector(g, &p[4..])))
    }),
    ("gaussian_random_walk", 2, |_, p| Box::new(GaussianRandomWalk::new(p[0], 2))),
    ("asymmetric_laplace", 1, |_, p| Box::new(AsymmetricLaplace::new(p[0], p[1], p[2]))),
    ("exponentially_modified_gaussian", 1, |_, p| {
        Box::new(ExponentiallyModifiedGaussian::new(p[0], p[1], p[2]))
    }),
    ("skew_normal", 1, |_, p| Box::new(SkewNormal::new(p[0], p[1], p[2]))),
    ("gompertz", 1, |_, p| Box::new(Gompertz::new(p[0], p[1]))),
    ("inverse_gaussian", 1, |_, p| Box::new(InverseGaussian::new(p[0], p[1]))),
    ("log_uniform", 1, |_, p| Box::new(LogUniform::new(p[0], p[1]))),
    ("beta_proportion", 1, |_, p| Box::new(BetaProportion::new(p[0], p[1]))),
    ("relaxed_bernoulli", 1, |_, p| Box::new(RelaxedBernoulli::from_logits(p[0], p[1]))),
    ("ordered_probit", 1, |g, p| Box::new(OrderedProbit::new(p[0], vector(g, &p[1..])))),
    ("discrete_laplace", 1, |_, p| Box::new(DiscreteLaplace::new(p[0], p[1]))),
    ("skellam", 1, |_, p| Box::new(Skellam::new(p[0], p[1]))),
    ("hurdle_poisson", 1, |_, p| Box::new(Hurdle::from_probs(Poisson::new(p[1]), p[0]))),
    ("zero_inflated_poisson", 1, |_, p| Box::new(ZeroInflatedPoisson::new(p[0], p[1]))),
    ("censored_normal", 1, |_, p| Box::new(Censored::new(Normal::new(p[0], p[1]), p[2], p[3]))),
    ("zero_sum_normal", 3, |_, p| Box::new(ZeroSumNormal::new(p[0], 3))),
    ("lkj", 4, |_, p| Box::new(LKJ::new(2, p[0]))),
    ("wishart", 4, |g, p| Box::new(Wishart::from_cholesky(p[0], lower(g, &p[1..])))),
    ("inverse_wishart", 4, |g, p| Box::new(InverseWishart::from_cholesky(p[0], lower(g, &p[1..])))),
    ("matrix_normal", 4, |g, p| Box::new(MatrixNormal::new(p[0], lower(g, &p[1..4]), lower(g, &p[4..])))),
    ("car", 2, |_, p| Box::new(Car::new(p[0], p[1], p[2], &[[0.0, 1.0], [1.0, 0.0]]))),
    ("gaussian_copula", 2, |g, p| {
        let correlation = p[1].on(g);
        let rest = ((1.0 - correlation) * (1.0 + correlation)).sqrt();
        let factor = lower(g, &[1.0.into(), correlation.into(), rest.into()]);
        Box::new(GaussianCopula::new(Exponential::new(p[0]), factor))
    }),
    ("mixture_same_family", 1, |g, p| {
        let components = Normal::new(vector(g, &[p[1], p[3]]), vector(g, &[p[2], p[4]]));
        Box::new(MixtureSameFamily::new(either(g, p[0]), components))
    }),
    ("mixture", 1, |g, p| {
        Box::new(Mixture::new(either(g, p[0])).of(Normal::new(p[1], p[2])).of(Laplace::new(p[3], p[4])))
    }),
    ("zero_inflated_negative_binomial", 1, |_, p| {
        Box::new(ZeroInflatedNegativeBinomial::new(p[0], p[1], p[2]))
    }),
    ("hurdle_gamma_logits", 1, |_, p| Box::new(Hurdle::from_logits(Gamma::new(p[1], p[2]), p[0]))),
    ("polya_gamma_concentration", 1, |_, p| Box::new(PolyaGamma::with_concentration(p[0], p[1]))),
    ("categorical_probs", 1, |g, p| Box::new(Categorical::from_probs(vector(g, p)))),
    ("censored_left", 1, |_, p| Box::new(Censored::left(Normal::new(p[0], p[1]), 1.0))),
    ("censored_right", 1, |_, p| Box::new(Censored::right(Normal::new(p[0], p[1]), 1.0))),
    ("logit_normal", 1, |_, p| Box::new(Normal::new(p[0], p[1]).transformed(Sigmoid))),
    ("multivariate_normal_covariance", 2, |g, p| {
        Box::new(MultivariateNormal::from_covariance(0.0, symmetric(g, p)))
    }),
    ("multivariate_normal_precision", 2, |g, p| {
        Box::new(MultivariateNormal::from_precision(0.0, symmetric(g, p)))
    }),
    ("words", 3, |g, p| Box::new(Words::mixed(vector(g, &p[..2]), vector(g, &p[2..]).reshape([2, 3])))),
    ("improper_uniform", 2, |_, _| Box::new(ImproperUniform::new(Constraint::Positive, [2]))),
    ("delta", 1, |_, p| Box::new(Delta::new(p[0]))),
];

fn vector<'g>(graph: &'g Graph, values: &[Value<'g>]) -> Var<'g> {
    graph.stack(&values.iter().map(|value| value.on(graph)).collect::<Vec<_>>(), 0)
}

/// `((a, 0), (b, c))`
fn lower<'g>(graph: &'g Graph, values: &[Value<'g>]) -> Var<'g> {
    vector(graph, &[values[0], 0.0.into(), values[1], values[2]]).reshape([2, 2])
}

/// `((a, b), (b, c))`
fn symmetric<'g>(graph: &'g Graph, values: &[Value<'g>]) -> Var<'g> {
    vector(graph, &[values[0], values[1], values[1], values[2]]).reshape([2, 2])
}

/// The first of two by log-odds of `logit`.
fn either<'g>(graph: &'g Graph, logit: Value<'g>) -> Categorical<'g> {
    Categorical::from_logits(vector(graph, &[logit, 0.0.into()]))
}

/// How a program comes by the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Known,
    Shared,
    PerRecord,
}

/// A line of the golden file.
struct Row {
    name: &'static str,
    band: &'static str,
    parameters: Vec<f64>,
    point: Vec<f64>,
    value: f64,
    condition: f64,
    /// Derivatives in parameters and point with their conditions, where they are taken.
    slopes: Vec<Option<(f64, f64)>>,
}

fn rows() -> Vec<Row> {
    let lines = include_str!("golden/hostile.csv").lines().filter(|line| !line.starts_with('#'));
    let row = |line: &'static str| {
        let cells: Vec<&'static str> = line.split(';').collect();
        // A distribution without parameters has an empty cell.
        let numbers = |i: usize| cells[i].split_whitespace().map(|word| word.parse::<f64>().ok());
        let all = |i: usize| numbers(i).map(|number| number.expect("a number")).collect::<Vec<_>>();
        Row {
            name: cells[0],
            band: cells[1],
            parameters: all(2),
            point: all(3),
            value: all(4)[0],
            condition: all(5)[0],
            slopes: numbers(6).zip(numbers(7)).map(|(slope, condition)| slope.zip(condition)).collect(),
        }
    };
    lines.map(row).collect()
}

/// Programs of one law by their way and the parameters that they know: rows that differ in other numbers share one.
type Plans<T> = BTreeMap<(Way, Vec<u64>), ExecutionPlan<T>>;

/// The program of value and derivatives, in the parameters that are not held, and the point.
fn program<T: Scalar>(build: Build, row: &Row, held: &[bool], way: Way, event: usize) -> ExecutionPlan<T> {
    let graph = Graph::new();
    let input = |name: String, shape: Shape| match way {
        Way::PerRecord => graph.record_input(name, shape).expect("a fresh input"),
        _ => graph.input(name, shape).expect("a fresh input"),
    };
    let mut vars = Vec::new();
    let values: Vec<Value<'_>> = row
        .parameters
        .iter()
        .enumerate()
        .map(|(i, &p)| {
            if way == Way::Known || held[i] {
                return Value::Known(p);
            }
            vars.push(input(format!("p{i}"), Shape::scalar()));
            vars[vars.len() - 1].into()
        })
        .collect();
    let shape = match (event, row.name) {
        (1, _) => Shape::scalar(),
        (4, _) => Shape::from([2, 2]),
        _ => Shape::from(event),
    };
    let x = input("x".to_owned(), shape);
    let log_prob = build(&graph, &values).log_prob(x);
    vars.push(x);
    let mut outputs = vec![log_prob];
    outputs.extend(gradient(log_prob, &vars).expect("a scalar"));
    ExecutionPlan::new(&Program::new(&graph, &outputs).expect("no mistakes"))
}

/// Value and derivatives of one row.
fn evaluate<T: Scalar>(
    (build, event): (Build, usize),
    row: &Row,
    held: &[bool],
    way: Way,
    plans: &mut Plans<T>,
) -> (f64, Vec<f64>) {
    let is_known = |&i: &usize| way == Way::Known || held[i];
    let all = || 0..row.parameters.len();
    let known = all().filter(is_known).map(|i| row.parameters[i].to_bits()).collect();
    let plan = plans.entry((way, known)).or_insert_with(|| program(build, row, held, way, event));
    let number = |name: &str| match name.strip_prefix('p') {
        Some(i) => vec![row.parameters[i.parse::<usize>().expect("an index")]],
        None => row.point.clone(),
    };
    let cast = |values: Vec<f64>| values.into_iter().map(T::of).collect::<Vec<T>>();
    let names: Vec<String> =
        all().filter(|i| !is_known(i)).map(|i| format!("p{i}")).chain(["x".to_owned()]).collect();
    // The value, and a derivative in each.
    let outputs = 0..=names.len();
    let found: Vec<Vec<f64>> = if way == Way::PerRecord {
        for name in &names {
            if let Ok(input) = plan.record_input(name) {
                plan.record_input_mut(input, 1).copy_from_slice(&cast(number(name)));
            }
        }
        let one = ArrayD::<f64>::zeros(vec![1]);
        let records = Records::from_columns([("unused", one)]).expect("one record");
        outputs
            .map(|k| {
                let matrix = plan.evaluate(&records, &[0], k).expect("an output");
                matrix.iter().map(|x| x.as_f64()).collect()
            })
            .collect()
    } else {
        for name in &names {
            if plan.input(name).is_ok() {
                plan.set(name, &cast(number(name))).expect("as many numbers");
            }
        }
        plan.run();
        outputs.map(|k| plan.output(k).iter().map(|x| x.as_f64()).collect()).collect()
    };
    (found[0][0], found[1..].iter().flatten().copied().collect())
}

/// Whether all numbers of a row are such in `f32`, and its results are neither beyond it nor below it.
fn fits_single(row: &Row) -> bool {
    let same = |x: &f64| f64::from(*x as f32) == *x;
    let held = |x: f64| x == 0.0 || x.is_infinite() || (1e-30..1e35).contains(&x.abs());
    row.parameters.iter().chain(&row.point).all(same)
        && held(row.value)
        && row.slopes.iter().flatten().all(|&(slope, _)| held(slope))
}

/// An error divided by ε times a size; infinite where one of the numbers is NaN or infinite and the other not.
fn units(got: f64, truth: f64, size: f64, epsilon: f64) -> f64 {
    let error = if got == truth { 0.0 } else { (got - truth).abs() / (epsilon * size) };
    if error.is_nan() { f64::INFINITY } else { error }
}

/// Errors of the log density and of its derivatives: the worst, and where.
type Worst = BTreeMap<(usize, &'static str, bool), [(f64, String); 2]>;

fn measure<T: Scalar>(rows: &[Row], worst: &mut Worst) {
    let double = T::of(0.1).as_f64() == 0.1;
    let epsilon = T::epsilon().as_f64();
    for (place, &(name, event, build)) in LAWS.iter().enumerate() {
        let own: Vec<&Row> = rows.iter().filter(|row| row.name == name).collect();
        assert!(!own.is_empty(), "no golden values of {name}");
        let held: Vec<bool> =
            (0..own[0].parameters.len()).map(|i| own.iter().all(|row| row.slopes[i].is_none())).collect();
        let mut plans = Plans::new();
        for row in own.into_iter().filter(|row| double || fits_single(row)) {
            for way in [Way::Known, Way::Shared, Way::PerRecord] {
                let (value, slopes) = evaluate::<T>((build, event), row, &held, way, &mut plans);
                let entry = worst.entry((place, row.band, double)).or_default();
                let told = |got: f64, truth: f64| {
                    let (at, x) = (&row.parameters, &row.point);
                    format!(
                        "{name} {at:?} at {x:?}, {way:?}, f{}: {got:e}, not {truth:e}",
                        if double { 64 } else { 32 }
                    )
                };
                // Of a density, whose logarithm this is.
                let size = 1.0 + row.value.abs() + row.condition;
                let error = units(value, row.value, size, epsilon);
                if error >= entry[0].0 {
                    entry[0] = (error, told(value, row.value));
                }
                let free: Vec<usize> = (0..row.parameters.len())
                    .filter(|&i| way != Way::Known && !held[i])
                    .chain(row.parameters.len()..row.slopes.len())
                    .collect();
                for (&at, &got) in free.iter().zip(&slopes) {
                    let Some((truth, condition)) = row.slopes[at] else { continue };
                    let argument = row.parameters.iter().chain(&row.point).nth(at).map_or(1.0, |x| x.abs());
                    let error =
                        units(got, truth, truth.abs() + condition + size / argument.max(1.0), epsilon);
                    if error >= entry[1].0 {
                        entry[1] = (error, format!("derivative in {at} of {}", told(got, truth)));
                    }
                }
            }
        }
    }
}

/// Bands in the order of the table.
const BANDS: [&str; 4] = ["middle", "tail", "extreme", "edge"];

fn table(worst: &Worst) -> String {
    let mut text = String::from(include_str!("golden/accuracy_head.md"));
    for (double, title) in [(true, "`f64`"), (false, "`f32`")] {
        let _ = write!(text, "\n## {title}\n\n| law | middle | tail | extreme |\n|---|---|---|---|\n");
        for (place, (name, ..)) in LAWS.iter().enumerate() {
            let _ = write!(text, "| {name} |");
            for band in &BANDS[..3] {
                match worst.get(&(place, band, double)) {
                    Some([(value, _), (slope, _)]) => {
                        // Two digits; differences below are no news.
                        let _ = write!(text, " {}, {} |", rounded_up(*value), rounded_up(*slope));
                    }
                    None => text.push_str(" |"),
                }
            }
            text.push('\n');
        }
    }
    text
}

/// Up to one digit.
fn rounded_up(units: f64) -> String {
    if units.is_nan() || units <= 0.0 {
        return "0".to_owned();
    }
    let scale = 10.0_f64.powf(units.log10().floor());
    let up = (units / scale).ceil() * scale;
    if up >= 1.0 { format!("{up:.0}") } else { "<1".to_owned() }
}

#[test]
fn every_law_holds_against_sixty_digits() {
    let rows = rows();
    for row in &rows {
        assert!(LAWS.iter().any(|(name, ..)| *name == row.name), "no line for {}", row.name);
    }
    let mut worst = Worst::new();
    measure::<f64>(&rows, &mut worst);
    measure::<f32>(&rows, &mut worst);
    let told: Vec<String> = worst
        .iter()
        .flat_map(|(&(_, band, double), both)| {
            let bound = move |slope: usize| match (band, double) {
                ("edge", _) => 4.0,
                (_, true) => [VALUE_UNITS, SLOPE_UNITS][slope],
                (_, false) => [SINGLE_VALUE_UNITS, SINGLE_SLOPE_UNITS][slope],
            };
            (0..2)
                .filter(move |&slope| both[slope].0 > bound(slope))
                .map(|slope| format!("{:.3e} {}", both[slope].0, both[slope].1))
        })
        .collect();
    assert!(
        told.is_empty(),
        "{} beyond their bounds, in units of rounding:\n{}",
        told.len(),
        told.join("\n")
    );

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/ACCURACY.md");
    let text = table(&worst);
    if std::env::var_os("UPDATE_ACCURACY").is_some() {
        std::fs::write(path, &text).expect("ACCURACY.md can be written");
    }
    let stored = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        stored == text,
        "ACCURACY.md says something else than was measured; UPDATE_ACCURACY=1 writes it anew:\n{text}"
    );
}

/// Distributions that only pass another one's log densities on, which has lines of its own.
const PASSED_ON: [&str; 4] = ["ByQuantile", "Independent", "Masked", "Place"];

#[test]
fn every_distribution_of_the_crate_takes_part() {
    let rows = rows();
    let graph = Graph::new();
    let walked: BTreeSet<String> = LAWS
        .iter()
        .map(|&(name, _, build)| {
            let row = rows.iter().find(|row| row.name == name).expect("a row of each");
            let parameters: Vec<Value<'_>> = row.parameters.iter().map(|&p| Value::Known(p)).collect();
            build(&graph, &parameters).name().to_owned()
        })
        .collect();
    let mut written = BTreeSet::new();
    let mut folders = vec![std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of sources") {
            let path = entry.expect("a file").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = std::fs::read_to_string(path).expect("a source file");
                let implemented = text.lines().filter(|line| line.starts_with("impl<'g"));
                for (_, rest) in implemented.filter_map(|line| line.split_once(" Distribution<'g> for ")) {
                    let name = rest.split(|c: char| !c.is_alphanumeric()).next().expect("a name");
                    written.insert(name.to_owned());
                }
            }
        }
    }
    assert!(written.len() > 60, "only {} distributions found in the sources", written.len());
    let missing: Vec<&String> = written
        .iter()
        .filter(|name| !walked.contains(*name) && !PASSED_ON.contains(&name.as_str()))
        .collect();
    assert!(missing.is_empty(), "no line of the walk for {missing:?}");
}

/// Bounds of the errors, in units of rounding.
const VALUE_UNITS: f64 = 32.0;
const SLOPE_UNITS: f64 = 1e4;
// A truncated law far in its tail is a difference of two logarithms of probabilities: of 150 in the grid.
const SINGLE_VALUE_UNITS: f64 = 128.0;
const SINGLE_SLOPE_UNITS: f64 = 1e5;
