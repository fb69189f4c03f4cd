//! Distributions made of one other: against formulas written out.

use super::{close, run};
use ndarray::array;
use ppl_core::{Constraint, Distribution, Graph, Noise, Result, Shape, Var, gradient};
use ppl_distributions::{
    Affine, Bernoulli, Bijection, Categorical, Combine, Delta, Direction, DiscreteLaplace, Exp, HalfNormal,
    MultivariateNormal, Negation, Normal, Onto, Power, Sigmoid, Skellam, Tanh, Truncated, ZeroInflated,
};
use proptest::prelude::*;

const HALF_LOG_TAU: f64 = 0.918_938_533_204_672_8;

#[test]
fn independent_axes_are_summed() {
    let graph = Graph::new();
    let loc = graph.input("loc", [4, 3, 2]).unwrap();
    for (axes, batch, event) in
        [(0, vec![4, 3, 2], vec![]), (1, vec![4, 3], vec![2]), (3, vec![], vec![4, 3, 2])]
    {
        let distribution = Normal::new(loc, 1.0).independent(axes);
        assert_eq!(
            (distribution.batch_shape().unwrap(), distribution.event_shape()),
            (Shape::from(batch.clone()), Shape::from(event))
        );
        let log_prob = distribution.log_prob(graph.input("x", [5, 4, 3, 2]).unwrap());
        assert_eq!(log_prob.shape(), Shape::from(5).concat(&Shape::from(batch)));
        let drawn = distribution.draw(&Shape::from(7), &mut Noise::new(&graph, "x")).unwrap();
        assert_eq!(drawn.shape(), Shape::from([7, 4, 3, 2]));
    }
    let told = Normal::new(loc, 1.0).independent(4).validate().unwrap_err().to_string();
    assert!(told.contains("independent: expected a batch of at least 4 axes, got shape [4, 3, 2]"), "{told}");
    // Twice is once.
    let (x, once) = (graph.input("y", [4, 3, 2]).unwrap(), Normal::new(loc, 1.0).independent(2));
    let twice = Normal::new(loc, 1.0).independent(1).independent(1);
    let numbers: Vec<f64> = (0..24).map(f64::from).collect();
    let found = run(&graph, &[once.log_prob(x), twice.log_prob(x)], &[("loc", &numbers), ("y", &[0.5; 24])]);
    assert!(found[0].iter().zip(&found[1]).all(|(a, b)| close(*a, *b, 16.0)));
}

/// Every place of an expanded batch has noise of its own, at the right place.
#[test]
fn expanded_draws_are_independent() {
    let graph = Graph::new();
    let rows = graph.array(&array![[10.0], [20.0]].into_dyn());
    let table = Normal::new(rows, 1.0).expanded([3, 2, 4]);
    assert_eq!(table.batch_shape().unwrap(), Shape::from([3, 2, 4]));
    let mut noise = Noise::new(&graph, "table");
    let draw = table.draw(&Shape::from(5), &mut noise).unwrap();
    assert_eq!(draw.shape(), Shape::from([5, 3, 2, 4]));
    let (name, _, shape) = noise.inputs()[0].clone();
    let numbers: Vec<f64> = (0..shape.elements()).map(|k| k as f64 / 1024.0).collect();
    let found = run(&graph, &[draw], &[(&name, &numbers)]).remove(0);
    let mut sorted = found.clone();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    assert_eq!(sorted.len(), 120);
    for (place, number) in found.iter().enumerate() {
        assert_eq!(number.trunc() - number.trunc() % 10.0, [10.0, 20.0][place / 4 % 2], "{place}");
    }
    let x = graph.input("x", [2, 1]).unwrap();
    assert_eq!(table.log_prob(x).shape(), Shape::from([3, 2, 4]));
    assert!(Normal::new(rows, 1.0).expanded([3, 3]).validate().is_err());
    let vectors = MultivariateNormal::from_cholesky(0.0, graph.array(&ndarray::Array2::eye(2).into_dyn()))
        .expanded([3]);
    assert_eq!(vectors.draw(&Shape::from(2), &mut noise).unwrap().shape(), Shape::from([2, 3, 2]));
    assert_eq!(vectors.mean(&graph).unwrap().shape(), Shape::from([3, 2]));
    graph.check().unwrap();
}

#[test]
fn what_is_masked_is_not_looked_at() {
    let graph = Graph::new();
    let (x, loc, mask) =
        (graph.input("x", [3, 2]).unwrap(), graph.input("loc", 2).unwrap(), graph.input("mask", 3).unwrap());
    let log_prob = Normal::new(loc, 0.5).independent(1).masked(mask).log_prob(x);
    assert_eq!(log_prob.shape(), Shape::from(3));
    let mut outputs = gradient(log_prob.sum(), &[loc, x]).unwrap();
    outputs.push(log_prob);
    let inputs: [(&str, &[f64]); 3] = [
        ("x", &[1.0, 2.0, f64::NAN, 0.0, f64::INFINITY, 1.0]),
        ("loc", &[0.5, 0.5]),
        ("mask", &[1.0, 0.0, 0.0]),
    ];
    let found = run(&graph, &outputs, &inputs);
    assert_eq!(found[0], [2.0, 6.0]);
    assert_eq!(found[1], [-2.0, -6.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(
        close(found[2][0], -0.5 - 4.5 - 2.0 * (0.5_f64.ln() + HALF_LOG_TAU), 8.0)
            && found[2][1..] == [0.0, 0.0]
    );

    // Points of supports that are not the whole line, of vectors and of integers.
    let there = graph.input("there", ()).unwrap();
    let y = graph.input("y", ()).unwrap();
    let weights = graph.array(&array![0.5, 0.5].into_dyn());
    let outputs = [
        HalfNormal::new(1.0).masked(there).log_prob(y),
        Categorical::from_probs(weights).masked(there).log_prob(y),
        gradient(HalfNormal::new(1.0).transformed(Exp.inverted()).masked(there).log_prob(y), &[y]).unwrap()
            [0],
    ];
    assert!(
        run(&graph, &outputs, &[("there", &[0.0]), ("y", &[f64::NAN])]).iter().all(|found| found[0] == 0.0)
    );
    let known = HalfNormal::new(1.0).masked(1.0).log_prob(y);
    assert!(known.is(HalfNormal::new(1.0).log_prob(y)));
}

#[test]
fn transformed_densities_are_those_of_formulas() {
    let graph = Graph::new();
    let y = graph.input("y", 4).unwrap();
    let x = [0.3, 0.75, 1.0, 2.5_f64];
    let log_normal = Normal::new(0.5, 2.0).transformed(Exp);
    let logit_normal = Normal::new(0.5, 2.0).transformed(Sigmoid);
    let moved = HalfNormal::new(1.0).transformed(Negation.then(Affine::new(3.0, 2.0)));
    let inverse_square = HalfNormal::new(1.0).transformed(Power::new(-2.0));
    let squashed = Normal::new(0.0, 1.0).transformed(Tanh);
    let half = |z: f64| -0.5 * z * z - HALF_LOG_TAU;
    let outputs = [
        log_normal.log_prob(y),
        logit_normal.log_prob(y),
        moved.log_prob(y),
        inverse_square.log_prob(y),
        squashed.log_prob(y),
    ];
    let inputs = [x, x.map(|x| x / 3.0), x, x, x.map(|x| x / 3.0)];
    for (which, values) in inputs.iter().enumerate() {
        let found = run(&graph, &outputs[which..=which], &[("y", values)]).remove(0);
        for (got, &y) in found.iter().zip(values) {
            let expected = match which {
                0 => half((y.ln() - 0.5) / 2.0) - 2.0_f64.ln() - y.ln(),
                1 => half(((y / (1.0 - y)).ln() - 0.5) / 2.0) - 2.0_f64.ln() - (y * (1.0 - y)).ln(),
                2 => half((3.0 - y) / 2.0) + 2.0_f64.ln() - 2.0_f64.ln(),
                3 => half(y.powf(-0.5)) + 2.0_f64.ln() - (2.0 * y.powf(1.5)).ln(),
                _ => half(y.atanh()) - (1.0 - y * y).ln(),
            };
            assert!(close(*got, expected, 64.0), "{which} {y}: {got} {expected}");
        }
    }
    let supports = [
        log_normal.support(),
        logit_normal.support(),
        moved.support(),
        inverse_square.support(),
        squashed.support(),
    ];
    let expected = [
        Constraint::Positive,
        Constraint::UnitInterval,
        Constraint::LessThan(3.0),
        Constraint::Positive,
        Constraint::Interval(-1.0, 1.0),
    ];
    assert_eq!(supports, expected);
}

/// A bijection behind a name, its domain and whether it goes up.
fn bijections<'g>() -> Vec<(Box<dyn Bijection<'g> + 'g>, Constraint)> {
    let real = Constraint::Real;
    let mut all: Vec<(Box<dyn Bijection<'g> + 'g>, Constraint)> = vec![
        (Box::new(Affine::new(-1.0, 0.25)), real),
        (Box::new(Exp), real),
        (Box::new(Sigmoid), real),
        (Box::new(Tanh), real),
        (Box::new(Negation), real),
        (Box::new(Power::new(2.5)), Constraint::Positive),
        (Box::new(Power::new(-0.5)), Constraint::Positive),
        (Box::new(Exp.inverted()), Constraint::Positive),
        (Box::new(Exp.then(Negation).then(Affine::new(2.0, 3.0))), real),
        (Box::new(Tanh.then(Affine::new(1.0, 2.0)).inverted()), Constraint::Interval(-1.0, 3.0)),
    ];
    for set in [
        Constraint::Positive,
        Constraint::GreaterThan(2.0),
        Constraint::LessThan(-1.0),
        Constraint::Interval(-2.0, 1.0),
        Constraint::UnitInterval,
    ] {
        all.push((Box::new(Onto(set)), real));
    }
    all
}

proptest! {
    #[test]
    fn bijections_of_numbers_keep_their_promises(u in -3.0..3.0_f64) {
        for which in 0..bijections().len() {
            let graph = Graph::new();
            let (bijection, domain) = bijections().remove(which);
            let input = graph.input("x", ()).unwrap();
            let y = bijection.forward(input);
            let slope = gradient(y, &[input]).unwrap()[0];
            let log_jacobian = bijection.log_jacobian(input).unwrap_or_else(|| graph.constant(0.0));
            let outputs = [y, slope, log_jacobian, bijection.inverse(y)];
            let x = domain.constrain_number(u);
            let found = run(&graph, &outputs, &[("x", &[x])]);
            let [y, slope, log_jacobian, back] = [0, 1, 2, 3].map(|k| found[k][0]);
            prop_assert!(bijection.image(domain).contains(y), "{} {y}", bijection.name());
            // Beside an end of the image, where it is flat, digits are lost as 1/slope.
            let condition = 1e3 * (1.0 + x.abs() + y.abs()) / slope.abs().min(1.0);
            prop_assert!(close(back, x, condition), "{} {x} {back}", bijection.name());
            prop_assert!(close(slope.abs().ln(), log_jacobian, condition), "{} {x}: {} {log_jacobian}", bijection.name(), slope.abs().ln());
            let direction = if slope > 0.0 { Direction::Increasing } else { Direction::Decreasing };
            prop_assert_eq!(bijection.direction(), Some(direction));
            if let Some(factor) = bijection.factor(&graph) {
                prop_assert!(close(factor.known().unwrap(), slope, 4.0));
            }
        }
    }
}

/// Densities of vectors and matrices pushed through the bijections of constraints: the Jacobian has the sign
/// and the shape it should, for the unconstrained density is the base's again.
#[test]
fn onto_sets_of_vectors_and_matrices() {
    for set in Constraint::ALL.into_iter().filter(|set| set.event_rank() > 0 && set.has_bijection()) {
        let graph = Graph::new();
        let loc = graph.input("loc", [2, 3]).unwrap();
        let distribution = Normal::new(loc, 0.5).transformed(Onto(set));
        distribution.validate().unwrap();
        assert_eq!(distribution.batch_shape().unwrap(), Shape::from(2), "{set:?}");
        assert_eq!(distribution.event_shape(), set.constrained_shape(&Shape::from(3)).unwrap());
        assert_eq!(distribution.support(), set);
        let u = graph.input("u", [4, 2, 3]).unwrap();
        let outputs = [
            distribution.log_prob(set.constrain(u))
                + set.log_jacobians(u).unwrap_or_else(|| graph.constant(0.0)),
            Normal::new(loc, 0.5).independent(1).log_prob(u),
        ];
        let numbers: Vec<f64> = (0..24).map(|k| (f64::from(k) * 1.7).sin()).collect();
        let found = run(&graph, &outputs, &[("u", &numbers), ("loc", &numbers[..6])]);
        assert_eq!(found[0].len(), 8);
        assert!(found[0].iter().zip(&found[1]).all(|(a, b)| close(*a, *b, 1e4)), "{set:?} {found:?}");
        let draw = distribution.draw(&Shape::from([4]), &mut Noise::new(&graph, "draw")).unwrap();
        assert_eq!(draw.shape(), Shape::from([4, 2]).concat(&distribution.event_shape()));
        assert!(distribution.cdf(u).is_none() && distribution.mean(&graph).is_none());
    }
    // A chain from numbers to vectors: the Jacobian of the first part is summed over the elements of the
    // second.
    let graph = Graph::new();
    let chain = || Affine::new(0.5, 2.0).then(Onto(Constraint::Ordered));
    let u = graph.input("u", [4, 3]).unwrap();
    let distribution = Normal::new(0.0, 1.0).expanded([3]).transformed(chain());
    let direct = Normal::new(0.5, 2.0).expanded([3]).transformed(Onto(Constraint::Ordered));
    let y = Constraint::Ordered.constrain(u);
    let back = chain().inverted();
    assert_eq!((back.domain_rank(), back.image_rank()), (1, 1));
    let numbers: Vec<f64> = (0..12).map(|k| (f64::from(k) * 1.7).sin()).collect();
    let found =
        run(&graph, &[distribution.log_prob(y), direct.log_prob(y), back.forward(y)], &[("u", &numbers)]);
    assert!(found[0].len() == 4 && found[0].iter().zip(&found[1]).all(|(a, b)| close(*a, *b, 1e3)));
    assert!(found[2].iter().zip(&numbers).all(|(x, u)| close(*x, (u - 0.5) / 2.0, 1e3)));
}

#[test]
fn moved_moments_and_distribution_functions() {
    let graph = Graph::new();
    let weights = || Categorical::from_probs(graph.array(&array![0.25, 0.5, 0.25].into_dyn()));
    let loc = graph.array(&array![1.0, -1.0].into_dyn());
    let moved = weights().transformed(Affine::new(loc, 2.0));
    // Discrete outcomes have no Jacobian.
    assert!(moved.validate().unwrap_err().to_string().contains("a transformed discrete distribution"));
    assert_eq!(moved.batch_shape().unwrap(), Shape::from(2));
    let found = run(&graph, &[moved.mean(&graph).unwrap(), moved.variance(&graph).unwrap()], &[]);
    assert_eq!((&found[0][..], &found[1][..]), (&[3.0, 1.0][..], &[2.0, 2.0][..]));
    let y = graph.input("y", ()).unwrap();
    assert_eq!(run(&graph, &[weights().cdf(y).unwrap()], &[("y", &[1.5])])[0], [0.75]);
    assert!(
        weights().transformed(Negation).cdf(y).is_none()
            && weights().transformed(Negation).quantile(y).is_none()
    );

    let normal =
        || MultivariateNormal::from_cholesky(1.0, graph.array(&array![[2.0, 0.0], [1.0, 1.0]].into_dyn()));
    let scales = graph.array(&array![3.0, 0.5].into_dyn());
    let stretched = normal().transformed(Affine::new(0.0, scales));
    let outputs = [
        stretched.mean(&graph).unwrap(),
        stretched.variance(&graph).unwrap(),
        stretched.entropy(&graph).unwrap(),
        normal().entropy(&graph).unwrap(),
    ];
    let found = run(&graph, &outputs, &[]);
    assert_eq!((&found[0][..], &found[1][..]), (&[3.0, 0.5][..], &[36.0, 0.5][..]));
    assert!(close(found[2][0], found[3][0] + 1.5_f64.ln(), 8.0));
    // Of the density too: one Jacobian for each element.
    let x = graph.input("x", 2).unwrap();
    let direct = MultivariateNormal::from_cholesky(
        graph.array(&array![3.0, 0.5].into_dyn()),
        graph.array(&array![[6.0, 0.0], [0.5, 0.5]].into_dyn()),
    );
    let found = run(&graph, &[stretched.log_prob(x), direct.log_prob(x)], &[("x", &[2.5, -1.0])]);
    assert!(close(found[0][0], found[1][0], 32.0));
}

#[test]
fn a_certain_value() {
    let graph = Graph::new();
    let value = graph.input("value", [2, 3]).unwrap();
    let delta = Delta::new(value).with_event_rank(1).with_log_density(1.5);
    assert_eq!((delta.batch_shape().unwrap(), delta.event_shape()), (Shape::from(2), Shape::from(3)));
    let x = graph.input("x", [2, 3]).unwrap();
    let drawn = delta.draw(&Shape::from(4), &mut Noise::new(&graph, "x")).unwrap();
    assert_eq!(drawn.shape(), Shape::from([4, 2, 3]));
    let log_prob = delta.log_prob(x);
    let mut outputs = gradient(log_prob.sum(), &[x, value]).unwrap();
    outputs.extend([log_prob, delta.entropy(&graph).unwrap(), delta.variance(&graph).unwrap()]);
    let found = run(
        &graph,
        &outputs,
        &[("value", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), ("x", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.5])],
    );
    assert_eq!((&found[0], &found[1]), (&vec![0.0; 6], &vec![0.0; 6]));
    assert_eq!(
        (&found[2][..], &found[3][..], &found[4]),
        (&[1.5, f64::NEG_INFINITY][..], &[-1.5, -1.5][..], &vec![0.0; 6])
    );
    let y = graph.input("y", 3).unwrap();
    let outputs = [Delta::new(2.0).cdf(y).unwrap(), Delta::new(2.0).quantile(y).unwrap()];
    assert_eq!(run(&graph, &outputs, &[("y", &[1.0, 2.0, 3.0])]), [[0.0, 1.0, 1.0], [2.0, 2.0, 2.0]]);
}

#[test]
fn zero_inflated_counts() {
    let graph = Graph::new();
    let p = array![0.5, 0.3, 0.2];
    let y = graph.input("y", 3).unwrap();
    let gate = 0.4_f64;
    let counts = || Categorical::from_probs(graph.array(&p.clone().into_dyn()));
    let logit = (gate / (1.0 - gate)).ln();
    for inflated in [ZeroInflated::from_probs(counts(), gate), ZeroInflated::from_logits(counts(), logit)] {
        inflated.validate().unwrap();
        let outputs = [
            inflated.log_prob(y),
            inflated.cdf(y).unwrap(),
            inflated.mean(&graph).unwrap(),
            inflated.variance(&graph).unwrap(),
        ];
        let found = run(&graph, &outputs, &[("y", &[0.0, 1.0, 2.0])]);
        let q = [gate + 0.6 * p[0], 0.6 * p[1], 0.6 * p[2]];
        let mean = q[1] + 2.0 * q[2];
        let variance = q[1] + 4.0 * q[2] - mean * mean;
        for k in 0..3 {
            assert!(close(found[0][k], q[k].ln(), 16.0) && close(found[1][k], q[..=k].iter().sum(), 16.0));
        }
        assert!(close(found[2][0], mean, 16.0) && close(found[3][0], variance, 16.0));
        // Uniform numbers on a grid, so that each outcome comes as often as it should.
        let n = 1000;
        let mut noise = Noise::new(&graph, "y");
        let draw = inflated.draw(&Shape::from([n, n]), &mut noise).unwrap();
        let grid = |k: usize| (k as f64 + 0.5) / n as f64;
        let across: Vec<f64> = (0..n * n).map(|k| grid(k % n)).collect();
        let down: Vec<f64> = (0..n * n).map(|k| grid(k / n)).collect();
        let names: Vec<String> = noise.inputs().iter().map(|(name, _, _)| name.clone()).collect();
        let found = run(&graph, &[draw], &[(&names[0], &across), (&names[1], &down)]).remove(0);
        for (k, q) in q.iter().enumerate() {
            let share = found.iter().filter(|&&y| y == k as f64).count() as f64 / (n * n) as f64;
            assert!((share - q).abs() < 2.0 / n as f64, "{k} {share} {q}");
        }
    }
    // Certain gates, where one of the logarithms is −∞: derivatives too.
    let gate = graph.input("gate", ()).unwrap();
    let logit = graph.input("logit", ()).unwrap();
    let zero = graph.input("zero", ()).unwrap();
    let log_prob = ZeroInflated::from_probs(Bernoulli::from_logits(logit), gate).log_prob(zero);
    let mut outputs = gradient(log_prob, &[logit]).unwrap();
    outputs.push(log_prob);
    let found = run(&graph, &outputs, &[("gate", &[0.0]), ("logit", &[1.0]), ("zero", &[0.0])]);
    assert!(close(found[1][0], -(1.0 + 1.0_f64.exp()).ln(), 8.0) && found[0][0].is_finite(), "{found:?}");
    let found = run(&graph, &outputs, &[("gate", &[1.0]), ("logit", &[1.0]), ("zero", &[0.0])]);
    assert_eq!((found[1][0], found[0][0]), (0.0, 0.0));

    let told = |result: Result<()>| result.unwrap_err().to_string();
    assert!(
        told(ZeroInflated::from_probs(counts(), 1.5).validate())
            .contains("ZeroInflated: gate must be between 0 and 1, got 1.5")
    );
    assert!(
        told(ZeroInflated::from_probs(Normal::new(0.0, 1.0), 0.5).validate())
            .contains("ZeroInflated of Normal")
    );
    assert!(
        told(ZeroInflated::from_probs(Normal::new(0.0, -1.0), 0.5).validate())
            .contains("Normal: scale must be")
    );
    assert!(
        told(ZeroInflated::from_probs(Bernoulli::from_logits(0.0).iid(2), 0.5).validate())
            .contains("a distribution of single numbers")
    );
}

/// What a distribution says it is an image of has its law: the densities differ by the map's stretching, and
/// the noise of draws is the same.
#[test]
fn transports_keep_the_law_of_vectors_and_images() {
    let graph = Graph::new();
    let matrix = array![[4.0, 2.0], [2.0, 5.0]].into_dyn();
    let (covariance, y) = (graph.array(&matrix), graph.array(&array![0.3, -0.7].into_dyn()));
    let z = graph.array(&array![[0.1, 2.0], [-1.0, 0.4]].into_dyn());
    let scales = graph.array(&array![0.5, 3.0].into_dyn());
    // ln |det| of the map at `y`; det [[4, 2], [2, 5]] is 16.
    let families: [(Box<dyn Distribution<'_>>, Var<'_>, Var<'_>); 5] = [
        (Box::new(MultivariateNormal::from_covariance(1.5, covariance)), y, graph.constant(4.0_f64.ln())),
        (Box::new(MultivariateNormal::from_precision(1.5, covariance)), y, graph.constant(-(4.0_f64.ln()))),
        (Box::new(Normal::new(-1.0, scales).independent(1)), y, graph.constant(1.5_f64.ln())),
        (
            Box::new(Normal::new(0.5, scales).expanded([2, 2]).independent(2)),
            z,
            graph.constant(2.25_f64.ln()),
        ),
        (Box::new(Normal::new(0.5, scales).transformed(Exp).independent(1)), y, y.sum()),
    ];
    for (which, (family, y, stretch)) in families.iter().enumerate() {
        let transport = family.transport().unwrap();
        assert_eq!(transport.base.event_shape(), family.event_shape(), "{which}");
        let image = transport.map.apply(*y);
        let gap = family.log_prob(image) + *stretch - transport.base.log_prob(*y);
        // Two draws with the same noise.
        let mut noise = Noise::new(&graph, format!("own/{which}"));
        let own = family.draw(&Shape::from(3), &mut noise).unwrap();
        let mut others = Noise::new(&graph, format!("base/{which}"));
        let drawn = transport.map.apply(transport.base.draw(&Shape::from(3), &mut others).unwrap());
        assert_eq!(own.shape(), drawn.shape());
        let (name, _, shape) = noise.inputs()[0].clone();
        let (other, _, other_shape) = others.inputs()[0].clone();
        assert_eq!(shape, other_shape, "{which}");
        let numbers: Vec<f64> = (0..shape.elements()).map(|k| (k as f64 * 0.9).sin()).collect();
        let found = run(
            &graph,
            &[gap.abs(), (own - drawn).abs().max_all()],
            &[(&name, &numbers), (&other, &numbers)],
        );
        assert!(found[0][0] < 1e-14 && found[1][0] < 1e-14, "{which}: {found:?}");
    }
    // Onto a set of other dimension, and with a map that takes axes of the batch together.
    let simplex = Normal::new(0.0, scales).transformed(Onto(Constraint::Simplex));
    let transport = simplex.transport().unwrap();
    assert_eq!((transport.base.event_shape(), simplex.event_shape()), (Shape::from(2), Shape::from(3)));
    assert_eq!(transport.map.apply(y).shape(), Shape::from(3));
}

/// The reparameterisations of models take them.
#[test]
fn reparameterisations_sample_what_is_beneath() {
    use ppl_core::handlers::{Reparam, Transformed as Beneath, Unconstrained, reparam};
    let model = |ctx: &mut ppl_core::Ctx<'_>| -> Result<()> {
        let covariance = ctx.graph().array(&array![[4.0, 2.0], [2.0, 5.0]].into_dyn());
        let v = ctx.sample("v", MultivariateNormal::from_covariance(0.0, covariance))?;
        ctx.sample("positive", Normal::new(v, 1.0).transformed(Exp).independent(1)).map(|_| ())
    };
    let easier = reparam(model, Reparam::default().site("v", Beneath).site("positive", Beneath));
    let schema = ppl_core::Schema::new([("x", 1)]).unwrap();
    let graph = Graph::new();
    let trace = ppl_core::trace(&easier, &graph, &schema, Unconstrained).unwrap();
    let names: Vec<&str> = trace.sites().iter().map(|site| site.name.as_str()).collect();
    assert_eq!(names, ["v_base", "v", "positive_base", "positive"]);
}

/// Copies check what their base checks, beyond single parameters too, and the site is named.
#[test]
fn copies_check_their_base() {
    use ppl_distributions::Uniform;
    let told = |distribution: &dyn Fn(&mut ppl_core::Ctx<'_>) -> Result<()>| {
        let schema = ppl_core::Schema::new([("x", 1)]).unwrap();
        let graph = Graph::new();
        let trace = ppl_core::trace(&distribution, &graph, &schema, ppl_core::Unconstrained);
        trace.err().map_or_else(String::new, |error| error.to_string())
    };
    let scale = "site 'w': Normal: scale must be positive and finite, got -1";
    let order = told(&|ctx| ctx.sample("w", Uniform::new(1.0, 0.0)).map(|_| ()));
    assert!(order.starts_with("site 'w'"), "{order}");
    for (copies, start) in [
        (told(&|ctx| ctx.sample("w", Normal::new(0.0, -1.0).iid(3)).map(|_| ())), scale),
        (told(&|ctx| ctx.sample("w", Normal::new(0.0, -1.0).expanded(3)).map(|_| ())), scale),
        (told(&|ctx| ctx.sample("w", Normal::new(0.0, -1.0).transformed(Exp).iid(3)).map(|_| ())), scale),
        (
            told(&|ctx| ctx.sample("w", Uniform::new(1.0, 0.0).iid(3)).map(|_| ())),
            order.split(" (").next().unwrap_or(""),
        ),
        (
            told(&|ctx| ctx.sample("w", Bernoulli::from_logits(0.0).transformed(Exp).iid(2)).map(|_| ())),
            "site 'w'",
        ),
        (
            told(&|ctx| {
                ctx.sample("w", Bernoulli::from_logits(0.0).transformed(Exp).expanded(2)).map(|_| ())
            }),
            "site 'w'",
        ),
    ] {
        assert!(!start.is_empty() && copies.starts_with(start), "{copies:?}, not {start:?}");
    }
}

/// A bijection of numbers that it is not defined for would have a law whose probabilities do not sum to 1.
#[test]
fn bijections_take_numbers_of_their_domain() {
    let told = |law: &dyn Distribution<'_>| {
        law.validate().map_or_else(|error| error.to_string(), |()| String::new())
    };
    for (told, name) in [
        (told(&Normal::new(0.0, 1.0).transformed(Power::new(3.0))), "Power of outcomes of Normal"),
        (told(&Normal::new(0.0, 1.0).transformed(Exp.inverted())), "Exp of outcomes of Normal"),
        (told(&HalfNormal::new(1.0).transformed(Sigmoid.inverted())), "Sigmoid of outcomes of HalfNormal"),
        (told(&Normal::new(0.0, 1.0).iid(2).transformed(Power::new(2.0))), "Power of outcomes of Normal"),
        (
            told(&HalfNormal::new(1.0).transformed(Negation.then(Power::new(2.0)))),
            "Power of outcomes of HalfNormal",
        ),
    ] {
        assert!(told.contains(name) && told.contains("does not take all of them"), "{told}");
    }
    let loc = Graph::new();
    let loc = loc.input("loc", ()).unwrap();
    for told in [
        told(&HalfNormal::new(1.0).transformed(Power::new(3.0))),
        told(&HalfNormal::new(1.0).transformed(Exp.inverted())),
        told(&Normal::new(0.0, 1.0).transformed(Exp.then(Power::new(2.0)))),
        told(
            &Normal::new(0.0, 1.0)
                .transformed(Sigmoid.then(Exp.inverted()).then(Negation).then(Power::new(0.5))),
        ),
        // Not known while tracing.
        told(&HalfNormal::new(1.0).transformed(Affine::new(loc, 1.0)).transformed(Power::new(2.0))),
    ] {
        assert_eq!(told, "");
    }
}

/// At integers without a least or a largest one, too, what is masked has no slopes.
#[test]
fn masked_integers_have_no_slopes() {
    let graph = Graph::new();
    let (rate, there, y) =
        (graph.input("rate", ()).unwrap(), graph.input("there", 2).unwrap(), graph.input("y", 2).unwrap());
    let laws: [Box<dyn Distribution<'_>>; 3] = [
        Box::new(Skellam::new(rate, 1.0).masked(there)),
        Box::new(DiscreteLaplace::new(0.0, rate).masked(there)),
        Box::new(Truncated::new(Skellam::new(rate, 1.0), f64::NEG_INFINITY, 4.0).masked(there)),
    ];
    for law in laws {
        let log_prob = law.log_prob(y);
        let outputs = [log_prob, gradient(log_prob.sum(), &[rate]).unwrap()[0]];
        let inputs: [(&str, &[f64]); 3] = [("rate", &[2.0]), ("there", &[0.0, 0.0]), ("y", &[f64::NAN, 3.0])];
        assert_eq!(run(&graph, &outputs, &inputs), [vec![0.0, 0.0], vec![0.0]], "{}", law.name());
    }
}
