//! Random programs of a record's value, with numbers for what they read and this crate's values and gradients of them:
//! a line of JSON each. `peers/differential.py` compares them with JAX. Usage: `random_programs CASES [SEED]`.
#![allow(clippy::print_stdout, reason = "a program for the terminal")]

use ppl_core::strategies::checks::{SmoothCase, smooth_case};
use serde_json::json;

/// A generator of bytes (splitmix64), for programs that need no good one.
struct Bytes(u64);

impl Bytes {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let cases: u64 = arguments.next().ok_or("usage: random_programs CASES [SEED]")?.parse()?;
    let seed: u64 = arguments.next().map_or(Ok(1), |seed| seed.parse())?;
    for case in 0..cases {
        let mut bytes = Bytes(seed.wrapping_mul(1 << 32).wrapping_add(case));
        let length = 60 + bytes.next() % 240;
        let stream: Vec<u8> = (0..length).map(|_| bytes.next() as u8).collect();
        let Some(SmoothCase { program, inputs, order, records, values, gradients }) = smooth_case(&stream)
        else {
            continue;
        };
        let mut columns: Vec<Vec<f64>> = Vec::new();
        for name in ["x", "y", "z"] {
            columns.push(records.column(records.schema().find(name)?.0).numbers().collect());
        }
        let line = json!({
            "program": program,
            "inputs": inputs,
            "order": order,
            "columns": columns,
            // As text: JSON has no NaN.
            "values": values.iter().map(|value| format!("{value:e}")).collect::<Vec<_>>(),
            "gradients": gradients.outer_iter()
                .map(|row| row.iter().map(|number| format!("{number:e}")).collect::<Vec<_>>())
                .collect::<Vec<_>>(),
        });
        println!("{line}");
    }
    Ok(())
}
