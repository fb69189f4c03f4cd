//! Properties of random programs: derivatives, contraction, plans, simplification, written forms and listings.

use crate::strategies::{self, checks};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

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
}
