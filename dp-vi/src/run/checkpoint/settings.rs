//! Everything that a run's releases depend on besides records and seed, in words.

use super::fingerprint::{VERSIONS, arithmetic};
use crate::objective::shared::Shared;
use crate::plan::privacy_plan::PrivacyPlan;
use crate::plan::settings::Settings;
use crate::wall::start::PrivateStart;
use ppl_core::Schema;
use std::fmt::{self, Write};

/// What a checkpoint is bound to, as lines of `name: value`, which it stores and compares: the columns, guide
/// and optimiser; settings and plan; programs; what is done to sums.
pub(crate) fn described(
    (schema, guide, optimiser): (&Schema, &str, &str),
    (settings, plan): (&Settings, &PrivacyPlan),
    shared: &Shared,
    protection: &str,
) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = describe(&mut text, (schema, guide, optimiser), (settings, plan), shared, protection);
    text
}

fn describe(
    f: &mut String,
    (schema, guide, optimiser): (&Schema, &str, &str),
    (settings, plan): (&Settings, &PrivacyPlan),
    shared: &Shared,
    protection: &str,
) -> fmt::Result {
    // First of all: another version may write the rest in another way.
    for (name, version) in VERSIONS {
        writeln!(f, "version of {name}: {version}")?;
    }
    write!(f, "columns:")?;
    for (name, shape) in schema.columns() {
        // A name could have a line break of its own.
        let kind = schema.column_type(name).map_or_else(|_| String::new(), |kind| kind.to_string());
        write!(f, " {} {shape} {kind};", name.escape_debug())?;
    }
    writeln!(f)?;
    match &settings.budget {
        Some(budget) => {
            writeln!(f, "budget: epsilon {} at delta {}, {}", budget.epsilon, budget.delta, budget.relation)?;
        }
        None => writeln!(f, "budget: without privacy")?,
    }
    writeln!(f, "steps: {}", plan.steps)?;
    writeln!(f, "sampling: {}", plan.scheme)?;
    writeln!(f, "guide: {}", guide.escape_debug())?;
    match &settings.start {
        // Where it led to follows from records and seed.
        Some(start) => writeln!(f, "private start: {}", start_bits(start))?,
        None if plan.start_from_prior => writeln!(f, "private start: from the prior")?,
        None => writeln!(f, "first parameters: {:016x}", hash(shared.initial.iter().copied()))?,
    }
    writeln!(f, "optimiser: {}", optimiser.escape_debug())?;
    writeln!(f, "average: {}", settings.average)?;
    writeln!(f, "clip norm: {}, {:?}", plan.clip_norm, plan.clipping)?;
    writeln!(f, "protection: {protection}")?;
    writeln!(f, "curvature: {:?}, from the trace: {}", plan.curvature, plan.trace_regression)?;
    writeln!(f, "gradients: {:?}", plan.gradients)?;
    writeln!(f, "released before: {:?}, whitened: {}", plan.before, plan.whitened)?;
    writeln!(f, "draws: {:?}", plan.draws)?;
    writeln!(f, "programs of model and guide: {}", shared.fingerprint)?;
    writeln!(f, "arithmetic: {}", arithmetic())
}

fn start_bits(start: &PrivateStart) -> String {
    let names: Vec<String> = start
        .candidates
        .iter()
        .flat_map(|candidate| candidate.iter().map(|(name, values)| format!("{name:?} {:?}", values.shape())))
        .collect();
    let numbers = start.candidates.iter().flat_map(|candidate| candidate.values().flatten().copied());
    let (bytes, bits) = (names.join(","), hash(numbers));
    let names = hash(bytes.bytes().map(f64::from));
    format!(
        "{} of {names:016x} {bits:016x} between {:?}, share {}",
        start.candidates.len(),
        start.range,
        start.share
    )
}

/// The versions and the arithmetic that every checkpoint is bound to, as such lines.
pub(crate) fn versions() -> String {
    let mut text = String::new();
    for (name, version) in VERSIONS {
        let _ = writeln!(text, "version of {name}: {version}");
    }
    let _ = writeln!(text, "arithmetic: {}", arithmetic());
    text
}

/// The bits of many numbers in few digits: FNV-1a, which tells apart what was made in good faith.
fn hash(numbers: impl Iterator<Item = f64>) -> u64 {
    let bytes = numbers.flat_map(|x| x.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
