//! Properties of random programs: derivatives, contraction, plans and listings.

use crate::{
    Column, Graph, Kind, MaterialisedGradient, Plan, Program, Record, RecordGradient, Records, Var, gradient,
    strategies,
};
use ndarray::Array2;
use proptest::prelude::*;

const WIDTH: usize = 3;

fn leaves(graph: &Graph) -> Vec<Var<'_>> {
    vec![graph.input("a", WIDTH).unwrap(), graph.input("b", WIDTH).unwrap()]
}

proptest! {
    #[test]
    fn gradients_of_random_programs_are_finite_differences(
        program in strategies::instructions(12),
        at in proptest::collection::vec(-1.0..1.0_f64, 2 * WIDTH),
    ) {
        let graph = Graph::new();
        let leaves = leaves(&graph);
        let value = strategies::build(&program, &leaves);
        let mut outputs = vec![value];
        outputs.extend(gradient(value, &leaves).unwrap());
        let mut plan = Plan::<f64>::new(&Program::new(&graph, &outputs).unwrap());
        let mut run = |at: &[f64], output: usize| {
            for (name, values) in ["a", "b"].iter().zip(at.chunks(WIDTH)) {
                if plan.input(name).is_ok() { plan.set(name, values).unwrap(); }
            }
            plan.run();
            plan.output(output).to_vec()
        };
        for k in 0..2 * WIDTH {
            let analytic = run(&at, 1 + k / WIDTH)[k % WIDTH];
            // A fourth-order formula: Σ over h and 2h cancels the cubic term.
            let mut slope = |h: f64| {
                let (mut up, mut down) = (at.clone(), at.clone());
                up[k] += h;
                down[k] -= h;
                (run(&up, 0)[0] - run(&down, 0)[0]) / (2.0 * h)
            };
            let (coarse, fine) = (slope(2e-3), slope(1e-3));
            let slope = (4.0 * fine - coarse) / 3.0;
            // The two estimates tell how far the formula itself can be trusted.
            let bound = (fine - coarse).abs() + 1e-9;
            prop_assert!((slope - analytic).abs() <= bound, "{k}: {slope} against {analytic}");
        }
    }

    #[test]
    fn contraction_of_random_record_programs_equals_the_matrix(
        program in strategies::instructions(12),
        x in proptest::collection::vec(strategies::number(), 9 * WIDTH),
        at in proptest::collection::vec(-1.0..1.0_f64, WIDTH),
        norm in 0.01..10.0_f64,
    ) {
        let records = Records::from_columns([("x", Column::from(Array2::from_shape_vec((9, WIDTH), x).unwrap()))]).unwrap();
        let graph = Graph::new();
        let w = graph.input("w", WIDTH).unwrap();
        let x = Record::new(&graph, records.schema()).get("x").unwrap();
        // The last term makes sure that records and the shared array meet.
        let value = strategies::build(&program, &[w, x]) + x.dot(w);
        prop_assert_eq!(value.kind(), Kind::PerRecord);
        let mut fast = RecordGradient::<f64>::new(value, &[w]).unwrap();
        let mut slow = MaterialisedGradient::<f64>::new(value, &[w]).unwrap();
        fast.set("w", &at).unwrap();
        slow.set("w", &at).unwrap();
        let batch: Vec<u64> = (0..9).collect();
        let matrix = slow.rows(&records, &batch).unwrap();
        let mut expected = [0.0; WIDTH];
        for row in matrix.rows() {
            let factor = (norm / row.dot(&row).sqrt()).min(1.0);
            for (sum, x) in expected.iter_mut().zip(row) { *sum += factor * x; }
        }
        let mut sum = [0.0; WIDTH];
        let clip = |squared: &[f64], weights: &mut [f64]| {
            for (weight, squared) in weights.iter_mut().zip(squared) { *weight = (norm / squared.sqrt()).min(1.0); }
        };
        fast.weighted_sum(&records, &batch, clip, &mut sum).unwrap();
        let scale = matrix.iter().fold(1.0_f64, |largest, x| largest.max(x.abs()));
        for (sum, expected) in sum.iter().zip(expected) {
            prop_assert!((sum - expected).abs() <= 1e-13 * scale, "{sum} against {expected}");
        }
    }

    #[test]
    fn a_record_gives_the_same_result_alone_and_in_any_batch(
        program in strategies::instructions(10),
        records in strategies::labelled_records(7, WIDTH),
        order in Just((0..7u64).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let graph = Graph::new();
        let record = Record::new(&graph, records.schema());
        let (x, y) = (record.get("x").unwrap(), record.get("y").unwrap());
        let value = strategies::build(&program, &[x, x.sigmoid()]) * y;
        let mut plan = Plan::<f64>::new(&Program::new(&graph, &[value]).unwrap());
        let together = plan.evaluate(&records, &order, 0).unwrap();
        for (row, &index) in order.iter().enumerate() {
            let alone = plan.evaluate(&records, &[index], 0).unwrap();
            prop_assert_eq!(alone[[0, 0]].to_bits(), together[[row, 0]].to_bits());
        }
    }

    #[test]
    fn listings_name_every_operation_once(program in strategies::instructions(12)) {
        let graph = Graph::new();
        let leaves = leaves(&graph);
        let value = strategies::build(&program, &leaves);
        let program = Program::new(&graph, &[value]).unwrap();
        let listing = program.to_string();
        prop_assert_eq!(listing.lines().count(), program.len() + 1);
        // Building the same expression again adds nothing to the graph.
        let before = graph.len();
        strategies::build(&[], &leaves);
        let again = strategies::build(&[], &leaves);
        let after = graph.len();
        strategies::build(&[], &leaves);
        prop_assert_eq!(after, graph.len());
        prop_assert!(again.shape().is_scalar() && after >= before);
    }
}
