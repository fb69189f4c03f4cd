//! Arbitrary array programs over shared and per-record leaves, built by the generator of the property tests:
//! the first byte says which of the checks is made of the program that the others describe.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ppl_core::strategies::checks;

fuzz_target!(|data: &[u8]| {
    let Some((&check, program)) = data.split_first() else {
        return;
    };
    match check % 5 {
        0 => checks::values(program),
        1 => checks::derivatives(program),
        2 => checks::contraction(program),
        3 => checks::mistakes(program),
        _ => checks::damage(program),
    }
});
