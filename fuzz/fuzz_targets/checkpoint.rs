//! Checkpoints of every kind of damage: bytes of no meaning, a real file with some of it changed, and forged
//! ones whose checksum is right. None is a panic; what is damaged is refused, and what is forged is refused
//! or resumed to a finite end.

#![no_main]

use dp_accountant::{Budget, Relation};
use dp_sampler::{FullBatch, Seed};
use dp_vi::guides::AutoNormal;
use dp_vi::{Checkpoint, DpVi, Sensitive};
use libfuzzer_sys::fuzz_target;
use ndarray::Array1;
use ppl_core::{Ctx, Records, Result};
use ppl_distributions::Normal;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::OnceLock;

fn model(ctx: &mut Ctx) -> Result<()> {
    let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
    ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(mean, 1.0), record.get("y")?))
}

type Run = DpVi<fn(&mut Ctx) -> Result<()>, AutoNormal, FullBatch>;

fn run(path: PathBuf) -> Run {
    DpVi::new(model as fn(&mut Ctx) -> Result<()>, AutoNormal::new())
        .budget(Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove })
        .subsample(FullBatch)
        .steps(20)
        .checkpoint(path, 5)
}

fn records() -> Sensitive<Records> {
    let y = Array1::from_shape_fn(7, |i| i as f64 / 7.0);
    Sensitive::new(Records::from_columns([("y", y)]).expect("a column"))
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("fuzz-checkpoint-{}-{name}", std::process::id()))
}

/// The file of a run that was stopped in its middle.
fn genuine() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let path = file("genuine");
        let _ = std::fs::remove_file(&path);
        let stop = |progress: dp_vi::Progress| match progress.done < 10 {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        run(path.clone()).seed(Seed::for_tests(1)).on_progress(stop).fit(&records()).expect("a run");
        let bytes = std::fs::read(&path).expect("its checkpoint");
        std::fs::remove_file(&path).expect("a file of this process");
        bytes
    })
}

/// CRC-64/XZ, bit by bit.
fn checksum(bytes: &[u8]) -> u64 {
    !bytes.iter().fold(!0_u64, |state, byte| {
        (0..8).fold(state ^ u64::from(*byte), |value, _| match value & 1 {
            1 => (value >> 1) ^ 0xC96C_5795_D787_0F42,
            _ => value >> 1,
        })
    })
}

/// The genuine bytes with edits: two bytes say where, one what kind, one with what.
fn edited(edits: &[u8]) -> Vec<u8> {
    let mut bytes = genuine().to_vec();
    for edit in edits.chunks_exact(4).take(16) {
        let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % (bytes.len() + 1);
        match edit[2] % 4 {
            0 | 1 if at < bytes.len() => bytes[at] ^= edit[3],
            2 => bytes.truncate(at),
            _ => bytes.insert(at, edit[3]),
        }
    }
    bytes
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else { return };
    match kind % 3 {
        0 => {
            let _ = Checkpoint::from_bytes(rest);
        }
        1 => {
            let bytes = edited(rest);
            let read = Checkpoint::from_bytes(&bytes);
            assert_eq!(
                read.is_ok(),
                bytes == genuine(),
                "a damaged checkpoint was read, or a whole one refused"
            );
        }
        _ => {
            let mut bytes = edited(rest);
            bytes.truncate(bytes.len().saturating_sub(8));
            bytes.extend(checksum(&bytes).to_le_bytes());
            if let Ok(read) = Checkpoint::from_bytes(&bytes) {
                assert!(read.done() <= read.paid());
                let path = file("forged");
                std::fs::write(&path, &bytes).expect("a file of this process");
                match run(path.clone()).resume(&records()) {
                    Ok(fit) => {
                        let epsilon =
                            fit.privacy().epsilon.as_ref().expect("a private fit states its epsilon");
                        assert!(epsilon.upper <= 1.0 && fit.privacy().steps_done <= 20);
                    }
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
                std::fs::remove_file(&path).expect("a file of this process");
            }
        }
    }
});
