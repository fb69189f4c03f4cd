//! Laws of the handlers, on random models.

use ppl_core::handlers::{condition, seed};
use ppl_core::strategies::laws::{self, records};
use ppl_core::strategies::models::model;
use ppl_core::{Ctx, Result, simulate};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn replaying_a_run_gives_its_log_density(model in model(), key in any::<u64>()) {
        laws::replaying_a_run_gives_its_log_density(&model, key);
    }

    #[test]
    fn conditioning_on_every_site_and_substituting_every_site_are_log_density(model in model(), key in any::<u64>()) {
        laws::conditioning_on_every_site_and_substituting_every_site_are_log_density(&model, key);
    }

    #[test]
    fn one_more_site_changes_no_other_draw(model in model(), key in any::<u64>(), before in any::<usize>()) {
        laws::one_more_site_changes_no_other_draw(&model, key, before);
    }

    #[test]
    fn draws_of_a_record_do_not_depend_on_other_records(model in model(), key in any::<u64>()) {
        laws::draws_of_a_record_do_not_depend_on_other_records(&model, key);
    }

    #[test]
    fn scales_multiply_and_masks_leave_nothing(model in model(), key in any::<u64>(), factor in 0.1..4.0_f64) {
        laws::scales_multiply_and_masks_leave_nothing(&model, key, factor);
    }

    #[test]
    fn a_scope_changes_names_and_nothing_else(model in model(), key in any::<u64>()) {
        laws::a_scope_changes_names_and_nothing_else(&model, key);
    }

    #[test]
    fn predictions_are_simulations_with_the_draws_number(model in model(), key in any::<u64>()) {
        laws::predictions_are_simulations_with_the_draws_number(&model, key);
    }
}

/// The laws above hold of closures as of values.
#[test]
fn handlers_go_around_functions_and_around_each_other() {
    fn model(ctx: &mut Ctx) -> Result<()> {
        ctx.sample("a", super::common::Normal::new(0.0, 1.0)).map(|_| ())
    }
    let data = records(1);
    let once = simulate(&seed(condition(model, [("a", 0.5)]), 1), &data).unwrap();
    assert_eq!(once["a"], super::common::number(0.5));
    let by_reference = seed(model, 1);
    assert_eq!(simulate(&&by_reference, &data).unwrap(), simulate(&by_reference, &data).unwrap());
}
