//! Shapes, domains and supports.

use super::*;
use ppl_core::{Constraint, Noise, Shape};

#[test]
fn parameters_are_broadcast_together() {
    for case in CASES {
        let graph = Graph::new();
        // The first parameter an array of three, the others numbers.
        let mut parameters = known(case.moderate);
        let first = case.moderate[0];
        let array = ndarray::ArrayD::from_shape_vec(vec![3], vec![first; 3]).unwrap();
        parameters[0] = graph.array(&array).into();
        let distribution = (case.build)(&parameters);
        let three = Shape::from(3);
        distribution.validate().unwrap();
        assert_eq!(distribution.batch_shape().unwrap(), three, "{}", case.name);
        assert_eq!(distribution.event_shape(), Shape::scalar());
        let x = graph.input("x", 3).unwrap();
        assert_eq!(distribution.log_prob(x).shape(), three, "{}", case.name);
        let moments =
            [distribution.mean(&graph), distribution.variance(&graph), distribution.entropy(&graph)];
        for moment in moments.into_iter().flatten() {
            assert_eq!(moment.shape(), three, "{}", case.name);
        }
        let mut noise = Noise::new(&graph, "site");
        let draw = distribution.draw(&Shape::from(2), &mut noise).unwrap();
        assert_eq!(draw.shape(), Shape::from([2, 3]), "{}", case.name);
        let copies = (case.build)(&parameters).iid(4);
        let draw = copies.draw(&Shape::scalar(), &mut noise).unwrap();
        assert_eq!((draw.shape(), copies.event_shape()), (Shape::from([4, 3]), Shape::from([4, 3])));
        assert!(graph.check().is_ok(), "{}: {:?}", case.name, graph.check());
    }
}

#[test]
fn parameters_outside_their_domain_are_named() {
    for case in CASES {
        let graph = Graph::new();
        let _ = &graph;
        for which in 0..case.domains.len() {
            let wrong: &[f64] = match case.domains[which] {
                Positive => &[0.0, -1.0, f64::NAN, f64::INFINITY],
                _ => &[f64::NAN],
            };
            for &value in wrong {
                let mut parameters = case.moderate.to_vec();
                parameters[which] = value;
                let distribution = (case.build)(&known(&parameters));
                let name = distribution.parameters()[which].name;
                let told = distribution.validate().unwrap_err().to_string();
                assert!(told.contains(&format!("{}: {name} must be", distribution.name())), "{told}");
            }
        }
        (case.build)(&known(case.moderate)).validate().unwrap();
    }
}

#[test]
fn ends_must_be_in_order() {
    let told = |distribution: &dyn Distribution<'_>| distribution.validate().unwrap_err().to_string();
    assert!(told(&Uniform::new(2.0, 1.0)).contains("high must be greater than 2 and finite, got 1"));
    assert!(told(&Uniform::new(f64::NEG_INFINITY, 1.0)).contains("low must be finite"));
    assert!(told(&TruncatedNormal::new(0.0, 1.0, 3.0, 3.0)).contains("high must be greater than 3"));
    let graph = Graph::new();
    let array = |values: Vec<f64>| graph.array(&ndarray::Array1::from(values).into_dyn());
    let (low, high) = (array(vec![0.0, 1.0]), array(vec![1.0, 0.5]));
    assert!(told(&Uniform::new(low, high)).contains("high − low must be positive and finite, got -0.5"));
    TruncatedNormal::new(0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY).validate().unwrap();
}

#[test]
fn supports_are_known_where_their_ends_are() {
    let (infinity, graph) = (f64::INFINITY, Graph::new());
    let end = graph.input("end", ()).unwrap();
    assert_eq!(Uniform::new(-1.0, 2.0).support(), Constraint::Interval(-1.0, 2.0));
    assert_eq!(Uniform::new(-1.0, end).support(), Constraint::Dependent);
    assert_eq!(Pareto::new(2.0, end).support(), Constraint::AtLeast(2.0));
    assert_eq!(Pareto::new(end, 2.0).support(), Constraint::Dependent);
    let cut = |low: f64, high: f64| TruncatedNormal::new(0.0, 1.0, low, high).support();
    assert_eq!(cut(-infinity, 1.0), Constraint::AtMost(1.0));
    assert_eq!(cut(1.0, infinity), Constraint::AtLeast(1.0));
    assert_eq!(cut(-infinity, infinity), Constraint::Real);
    let below = Truncated::new(Gamma::new(1.0, 1.0), -infinity, 3.0);
    assert_eq!(below.support(), Constraint::Interval(0.0, 3.0));
    assert_eq!(Truncated::new(Gamma::new(1.0, 1.0), 2.0, infinity).support(), Constraint::AtLeast(2.0));
}
