//! All discrete distributions by name, so that a test goes through them: adding one is a line of [`build`]
//! and one of [`CASES`].

use ndarray::ArrayD;
use ppl_core::{Distribution, ExecutionPlan, Graph, Program, Scalar, Value, Var};
use ppl_distributions::{
    Bernoulli, BetaBinomial, Binomial, DirichletMultinomial, DiscreteUniform, Geometric, Multinomial,
    NegativeBinomial, OrderedLogistic, Poisson,
};

/// Distributions, as the golden file names them, with parameters of moderate size. Those at the places named
/// last are continuous.
pub(crate) const CASES: [(&str, &[f64], &[usize]); 18] = [
    ("bernoulli_probs", &[0.3], &[0]),
    ("bernoulli_logits", &[-0.8], &[0]),
    ("binomial_probs", &[12.0, 0.35], &[1]),
    ("binomial_probs", &[500.0, 0.02], &[1]),
    ("binomial_logits", &[12.0, 1.1], &[1]),
    ("binomial_logits", &[1000.0, -4.0], &[1]),
    ("poisson", &[3.7], &[0]),
    ("poisson_log_rate", &[1.3], &[0]),
    ("negative_binomial_probs", &[2.5, 0.6], &[0, 1]),
    ("negative_binomial_logits", &[0.7, 0.4], &[0, 1]),
    ("negative_binomial_mean", &[4.2, 3.1], &[0, 1]),
    ("geometric_probs", &[0.3], &[0]),
    ("geometric_logits", &[-1.2], &[0]),
    ("discrete_uniform", &[-2.0, 5.0], &[]),
    ("beta_binomial", &[2.5, 0.8, 9.0], &[0, 1]),
    ("ordered_logistic", &[0.4, -1.3, 0.2, 1.9], &[0, 1, 2, 3]),
    ("multinomial_logits", &[3.0, 0.5, -0.3, 1.0], &[1, 2, 3]),
    ("dirichlet_multinomial", &[3.0, 0.7, 2.0, 1.1], &[1, 2, 3]),
];

/// A vector of parameters: an array if all are known.
fn vector<'g>(graph: &'g Graph, values: &[Value<'g>]) -> Var<'g> {
    let known: Option<Vec<f64>> = values.iter().map(|value| value.known()).collect();
    match known {
        Some(known) => graph.array(&ArrayD::from_shape_vec(vec![known.len()], known).unwrap()),
        None => graph.stack(&values.iter().map(|value| value.on(graph)).collect::<Vec<_>>(), 0),
    }
}

/// The distribution of this name with these parameters; parameters that are vectors come last, one number
/// after the other.
pub(crate) fn build<'g>(name: &str, graph: &'g Graph, p: &[Value<'g>]) -> Box<dyn Distribution<'g> + 'g> {
    match name {
        "bernoulli_probs" => Box::new(Bernoulli::from_probs(p[0])),
        "bernoulli_logits" => Box::new(Bernoulli::from_logits(p[0])),
        "binomial_probs" => Box::new(Binomial::from_probs(p[0], p[1])),
        "binomial_logits" => Box::new(Binomial::from_logits(p[0], p[1])),
        "poisson" => Box::new(Poisson::new(p[0])),
        "poisson_log_rate" => Box::new(Poisson::from_log_rate(p[0])),
        "negative_binomial_probs" => Box::new(NegativeBinomial::from_probs(p[0], p[1])),
        "negative_binomial_logits" => Box::new(NegativeBinomial::from_logits(p[0], p[1])),
        "negative_binomial_mean" => Box::new(NegativeBinomial::from_mean(p[0], p[1])),
        "geometric_probs" => Box::new(Geometric::from_probs(p[0])),
        "geometric_logits" => Box::new(Geometric::from_logits(p[0])),
        "discrete_uniform" => Box::new(DiscreteUniform::new(p[0], p[1])),
        "beta_binomial" => Box::new(BetaBinomial::new(p[0], p[1], p[2])),
        "ordered_logistic" => Box::new(OrderedLogistic::new(p[0], vector(graph, &p[1..]))),
        "multinomial_probs" => Box::new(Multinomial::from_probs(p[0], vector(graph, &p[1..]))),
        "multinomial_logits" => Box::new(Multinomial::from_logits(p[0], vector(graph, &p[1..]))),
        "dirichlet_multinomial" => Box::new(DirichletMultinomial::new(vector(graph, &p[1..]), p[0])),
        other => panic!("unknown distribution {other}"),
    }
}

/// Parameters that are numbers, or inputs `p0`, `p1`, … of the graph.
pub(crate) fn parameters<'g>(graph: &'g Graph, numbers: &[f64], known: bool) -> Vec<Value<'g>> {
    let input = |i: usize| graph.input(format!("p{i}"), ()).unwrap();
    let value = |(i, &number): (usize, &f64)| if known { Value::Known(number) } else { input(i).into() };
    numbers.iter().enumerate().map(value).collect()
}

/// Sets an input, if the program has it.
pub(crate) fn set<T: Scalar>(plan: &mut ExecutionPlan<T>, name: &str, values: &[f64]) {
    if let Ok(input) = plan.input(name) {
        plan.input_mut(input).iter_mut().zip(values).for_each(|(slot, &value)| *slot = T::of(value));
    }
}

/// The numbers of an array that is made of a distribution, its parameters and an input `x` of the numbers
/// given; nothing where `f` has no formula.
pub(crate) fn evaluate<T: Scalar>(
    name: &str,
    numbers: &[f64],
    known: bool,
    x: &[f64],
    f: impl for<'g> Fn(&dyn Distribution<'g>, &'g Graph, Var<'g>) -> Option<Var<'g>>,
) -> Option<Vec<f64>> {
    let graph = Graph::new();
    let distribution = build(name, &graph, &parameters(&graph, numbers, known));
    let input = match x {
        [] | [_] => graph.input("x", ()).unwrap(),
        more => graph.input("x", more.len()).unwrap(),
    };
    let result = f(&*distribution, &graph, input)?;
    let mut plan = ExecutionPlan::<T>::new(&Program::new(&graph, &[result]).unwrap());
    set(&mut plan, "x", x);
    for (i, &number) in numbers.iter().enumerate() {
        set(&mut plan, &format!("p{i}"), &[number]);
    }
    plan.run();
    Some(plan.output(0).iter().map(|value| value.as_f64()).collect())
}
