//! Arbitrary models of statements in plates, masks, scales and scopes, inside and outside `each_record`: the laws of
//! the handlers hold of them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ppl_core::strategies::laws;
use ppl_core::strategies::models::RandomModel;
use ppl_core::strategies::programs::Choices;

fuzz_target!(|data: &[u8]| {
    let mut choices = Choices::new(data);
    let (law, key, more) = (choices.below(7), choices.byte() as u64, choices.byte());
    let model = RandomModel::new(&mut choices);
    match law {
        0 => laws::replaying_a_run_gives_its_log_density(&model, key),
        1 => laws::conditioning_on_every_site_and_substituting_every_site_are_log_density(&model, key),
        2 => laws::one_more_site_changes_no_other_draw(&model, key, more),
        3 => laws::draws_of_a_record_do_not_depend_on_other_records(&model, key),
        4 => laws::scales_multiply_and_masks_leave_nothing(&model, key, 0.1 + more as f64 / 64.0),
        5 => laws::a_scope_changes_names_and_nothing_else(&model, key),
        _ => laws::predictions_are_simulations_with_the_draws_number(&model, key),
    }
});
