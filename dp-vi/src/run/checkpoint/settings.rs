//! Everything that a run's releases depend on besides records and seed, in words.

use super::fingerprint::{VERSIONS, arithmetic};
use crate::objective::programs::Shared;
use crate::plan::settings::{PrivacyPlan, Settings};
use crate::wall::gradient::Protection;
use crate::wall::sensitive::Sensitive;
use crate::wall::start::PrivateStart;
use ppl_core::Records;
use std::fmt;

/// What a checkpoint is bound to. Written as lines of `name: value`, which it stores and compares.
pub(crate) struct BoundTo<'a> {
    pub(crate) records: &'a Sensitive<Records>,
    pub(crate) shared: &'a Shared,
    pub(crate) guide: &'static str,
    pub(crate) optimiser: &'a str,
    pub(crate) settings: &'a Settings,
    pub(crate) plan: &'a PrivacyPlan,
    pub(crate) protection: &'a Protection,
}

impl fmt::Display for BoundTo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // First of all: another version may write the rest in another way.
        for (name, version) in VERSIONS {
            writeln!(f, "version of {name}: {version}")?;
        }
        let schema = self.records.schema();
        write!(f, "columns:")?;
        for (name, shape) in schema.columns() {
            // A name could have a line break of its own.
            let kind = schema.column_type(name).map_or_else(|_| String::new(), |kind| kind.to_string());
            write!(f, " {} {shape} {kind};", name.escape_debug())?;
        }
        writeln!(f)?;
        match &self.settings.budget {
            Some(budget) => {
                writeln!(
                    f,
                    "budget: epsilon {} at delta {}, {}",
                    budget.epsilon, budget.delta, budget.relation
                )?;
            }
            None => writeln!(f, "budget: without privacy")?,
        }
        writeln!(f, "steps: {}", self.plan.steps)?;
        writeln!(f, "sampling: {}", self.plan.scheme)?;
        writeln!(f, "guide: {}", self.guide.escape_debug())?;
        match &self.settings.start {
            // Where it led to follows from records and seed.
            Some(start) => writeln!(f, "private start: {}", start_bits(start))?,
            None => writeln!(f, "first parameters: {:016x}", hash(self.shared.initial.iter().copied()))?,
        }
        writeln!(f, "optimiser: {}", self.optimiser.escape_debug())?;
        writeln!(f, "average: {}", self.settings.average)?;
        writeln!(f, "clip norm: {}", self.plan.clip_norm)?;
        writeln!(f, "protection: {:?}", self.protection)?;
        writeln!(f, "curvature: {:?}, from the trace: {}", self.plan.curvature, self.plan.trace_regression)?;
        writeln!(f, "gradients: {:?}", self.plan.gradients)?;
        writeln!(f, "draws: {:?}", self.plan.draws)?;
        writeln!(f, "programs of model and guide: {}", self.shared.fingerprint)?;
        writeln!(f, "arithmetic: {}", arithmetic())
    }
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

/// The bits of many numbers in few digits: FNV-1a, which tells apart what was made in good faith.
fn hash(numbers: impl Iterator<Item = f64>) -> u64 {
    let bytes = numbers.flat_map(|x| x.to_bits().to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
