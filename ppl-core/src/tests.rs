//! Properties of random programs: derivatives, contraction, plans, simplification, written forms and
//! listings.

use crate::op::{Graph, Op};
use crate::program::Program;
use crate::record_gradient::RecordGradient;
use crate::records::Records;
use crate::strategies::programs::{Choices, Menu, grow};
use crate::strategies::{self, checks};
use proptest::prelude::*;
use std::collections::BTreeSet;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn plan_interpreter_simplification_and_written_form_agree(bytes in strategies::bytes()) {
        checks::values(&bytes);
    }

    #[test]
    fn derivatives_of_random_programs_are_finite_differences(bytes in strategies::bytes()) {
        checks::derivatives(&bytes);
    }

    #[test]
    fn contraction_of_random_record_programs_equals_the_matrix(bytes in strategies::bytes()) {
        checks::contraction(&bytes);
    }

    #[test]
    fn records_of_random_programs_give_the_same_bits_in_any_company(bytes in strategies::bytes()) {
        checks::company(&bytes);
    }

    #[test]
    fn mistakes_are_told_in_words(bytes in strategies::bytes()) {
        checks::mistakes(&bytes);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn damaged_programs_are_refused_or_run(bytes in strategies::bytes()) {
        checks::damage(&bytes);
    }
}

/// The operations that appear in a few hundred random programs, and the length of the longest.
fn reached(menu: Menu) -> (BTreeSet<String>, usize) {
    let (mut names, mut longest) = (BTreeSet::new(), 0);
    for seed in 0_u64..300 {
        // The multiplier of a linear congruential generator (Knuth's MMIX); its high bits are well mixed.
        let mut state = seed;
        let bytes: Vec<u8> = (0..400)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 56) as u8
            })
            .collect();
        let graph = Graph::new();
        let mut values = vec![graph.input("x", [2, 3]).unwrap(), graph.input("y", ()).unwrap()];
        let last = grow(&mut Choices::new(&bytes), &mut values, menu, 60).unwrap();
        graph.check().unwrap();
        values.push(last);
        let program = Program::new(&graph, &values).unwrap();
        longest = longest.max(program.len());
        names.extend(program.instructions.iter().filter_map(|step| match &step.op {
            Op::Input(_) | Op::Constant(_) => None,
            op => Some(op.name().to_owned()),
        }));
    }
    (names, longest)
}

#[test]
fn random_programs_hold_every_operation() {
    use crate::op::{Binary, Primitive, Special, Unary};
    let (names, longest) = reached(Menu::Everything);
    let elementwise = Unary::ALL.iter().map(|op| op.name()).chain(Binary::ALL.iter().map(|op| op.name()));
    let elementwise = elementwise.chain(Special::ALL.iter().map(|op| op.name()));
    let others = [
        "select",
        "broadcast_to",
        "sum_to",
        "reshape",
        "inner",
        "matvec",
        "vecmat",
        "outer",
        "einsum",
        "lower_triangle",
        "upper_triangle",
        "lower_triangle_half_diagonal",
        "diagonal",
        "diagonal_matrix",
        "cholesky",
        "inverse",
        "log_gamma_draw",
        "von_mises_draw",
        "solve_lower",
        "solve_lower_transposed",
        "solve_upper",
        "solve_upper_transposed",
        "gather",
        "scatter_add",
        "coincidence",
        "max_axis",
        "first_max",
        "cumsum",
        "norm_axis",
        "log_sum_exp_axis",
        "softmax",
        "log_softmax",
        "permute",
        "scan",
        "slice",
        "spread",
        "flip",
        "concat",
        "max_pool2d",
        "average_pool2d",
        "polygamma",
        "poisson_quantile",
        "binomial_quantile",
        "negative_binomial_quantile",
        "poisson_cdf",
        "binomial_cdf",
        "negative_binomial_cdf",
    ];
    for name in elementwise.chain(others) {
        assert!(names.contains(name), "no random program holds {name}: {names:?}");
    }
    assert!(names.iter().any(|name| name.starts_with("conv2d")), "{names:?}");
    assert!(longest >= 60, "the longest program has {longest} operations");
    let smooth = reached(Menu::Smooth).0;
    assert!(smooth.len() > 40 && smooth.contains("scan"), "{smooth:?}");
}

/// A record whose gradient is finite, and of which a factor has a square that is not: its norm is not finite,
/// so it is left out.
#[test]
fn a_factor_whose_square_overflows_leaves_its_record_out() {
    let graph = Graph::new();
    let (a, b) = (graph.input("a", 2).unwrap(), graph.input("b", 2).unwrap());
    let x = graph.record_input("x", ()).unwrap();
    // The gradient by `a` is x ⊗ b, the one by `b` x ⊗ a.
    let value = x * a.inner(b);
    let mut gradient = RecordGradient::<f64>::new(value, &[a, b]).unwrap();
    gradient.set("a", &[0.0, 0.0]).unwrap();
    gradient.set("b", &[0.0, 0.0]).unwrap();
    gradient.record_input_mut("x", 2).unwrap().copy_from_slice(&[1e200, 3.0]);
    let records = Records::from_columns([("y", vec![0.0, 0.0])]).unwrap();
    let mut norms = [0.0; 2];
    gradient.squared_norms(&records, &[0, 1], &mut norms).unwrap();
    assert!(norms[0].is_nan() && norms[1] == 0.0, "{norms:?}");
    gradient.set("b", &[1.0, 2.0]).unwrap();
    let mut sum = [0.0; 4];
    gradient.weighted_sum(&records, &[0, 1], |_, weights| weights.fill(1.0), &mut sum).unwrap();
    assert_eq!(sum, [3.0, 6.0, 0.0, 0.0]);
}
