//! Everything that a run's releases depend on besides records and seed, in words.

use super::fingerprint::arithmetic;
use crate::mechanism::Protection;
use crate::objective::Shared;
use crate::report::PrivacyReport;
use crate::sensitive::Sensitive;
use ppl_core::Records;
use std::fmt;

/// Written as lines of `name: value`, which a checkpoint stores and compares.
pub(crate) struct Settings<'a> {
    pub(crate) records: &'a Sensitive<Records>,
    pub(crate) shared: &'a Shared,
    pub(crate) guide: &'static str,
    pub(crate) optimiser: &'a str,
    pub(crate) average: f64,
    pub(crate) report: &'a PrivacyReport,
    pub(crate) protection: &'a Protection,
}

impl fmt::Display for Settings<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.records.schema();
        write!(f, "columns:")?;
        for (name, shape) in schema.columns() {
            // A name could have a line break of its own.
            let kind = schema.column_type(name).map_or_else(|_| String::new(), |kind| kind.to_string());
            write!(f, " {} {shape} {kind};", name.escape_debug())?;
        }
        writeln!(f)?;
        writeln!(f, "programs of model and guide: {}", self.shared.fingerprint)?;
        writeln!(f, "guide: {}", self.guide.escape_debug())?;
        writeln!(f, "first parameters: {}", bits(&self.shared.initial))?;
        writeln!(f, "optimiser: {}", self.optimiser.escape_debug())?;
        writeln!(f, "average: {}", self.average)?;
        writeln!(f, "steps: {}", self.report.steps)?;
        writeln!(f, "sampling: {}", self.report.scheme)?;
        match &self.report.budget {
            Some(budget) => {
                writeln!(
                    f,
                    "budget: epsilon {} at delta {}, {}",
                    budget.epsilon, budget.delta, budget.relation
                )?;
            }
            None => writeln!(f, "budget: without privacy")?,
        }
        writeln!(f, "protection: {:?}", self.protection)?;
        writeln!(f, "version of dp-vi: {}", env!("CARGO_PKG_VERSION"))?;
        writeln!(f, "arithmetic: {}", arithmetic())
    }
}

/// The bits of many numbers in few digits: FNV-1a, which tells apart what was made in good faith.
fn bits(numbers: &[f64]) -> String {
    let hash = numbers
        .iter()
        .flat_map(|x| x.to_bits().to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    format!("{hash:016x}")
}
