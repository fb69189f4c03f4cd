//! Everything that a run's releases depend on besides records and seed, in words.

use super::fingerprint::{VERSIONS, arithmetic};
use crate::cost::charges::Release;
use crate::objective::curvature::CurvatureShape;
use crate::objective::shared::Shared;
use crate::plan::privacy_plan::{CurvaturePlan, EarlyCurvature, OctavePlan, PrivacyPlan};
use crate::plan::settings::Settings;
use crate::wall::bound::clip::Clipping;
use crate::wall::bound::quantile::Quantile;
use crate::wall::start::PrivateStart;
use ppl_core::Schema;
use std::fmt::{self, Write};

/// The lines that are fingerprints, whose values say nothing to those who read them.
pub(super) const PROGRAMS: &str = "programs of model and guide";
pub(super) const FIRST: &str = "first parameters";

/// What a checkpoint is bound to, as lines of `name: value`, which it stores and compares: the columns, guide
/// and optimiser; settings and plan; programs; what is done to sums.
pub(crate) fn described(
    (schema, guide, optimiser): (&Schema, &str, &str),
    (settings, plan, public): (&Settings, &PrivacyPlan, &[String]),
    shared: &Shared,
    protection: &str,
) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = describe(&mut text, (schema, guide, optimiser), (settings, plan, public), shared, protection);
    text
}

fn describe(
    f: &mut String,
    (schema, guide, optimiser): (&Schema, &str, &str),
    (settings, plan, public): (&Settings, &PrivacyPlan, &[String]),
    shared: &Shared,
    protection: &str,
) -> fmt::Result {
    // First of all: another version may write the rest in another way.
    for (name, version) in VERSIONS {
        writeln!(f, "version of {name}: {version}")?;
    }
    for (name, value) in &settings.bound_to {
        writeln!(f, "{}: {}", name.escape_debug(), value.escape_debug())?;
    }
    // No release depends on them, and the guarantee does.
    for statement in public {
        writeln!(f, "treated as public: {}", statement.escape_debug())?;
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
    write!(f, "released before: ")?;
    for Release { what, event, count } in &plan.before {
        write!(f, "{count} of the {} ({event}); ", what.escape_debug())?;
    }
    writeln!(f, "{}", if plan.before.is_empty() { "nothing" } else { "nothing else" })?;
    writeln!(f, "sampling: {}", plan.scheme)?;
    writeln!(f, "guide: {}", guide.escape_debug())?;
    match &settings.start {
        // Where it led to follows from records and seed.
        Some(start) => writeln!(f, "private start: {}", start_bits(start))?,
        None if plan.start_from_prior => {
            let choices = plan.start.map_or(0, |start| start.choices);
            writeln!(f, "private start: from the prior, {choices} choices")?;
        }
        None => writeln!(f, "{FIRST}: {:016x}", hash(shared.initial.iter().copied()))?,
    }
    writeln!(f, "optimiser: {}", optimiser.escape_debug())?;
    writeln!(f, "average: {}", settings.average)?;
    write!(f, "clip norm: {}, ", plan.clip_norm)?;
    match plan.clipping {
        Clipping::Flat => write!(f, "for each gradient as a whole")?,
        Clipping::PerSite => write!(f, "for each site its share")?,
        Clipping::Adaptive => write!(f, "then adaptive")?,
        Clipping::Quantile(Quantile { target, rate }) => {
            write!(f, "then by the quantile {target} at rate {rate}")?;
        }
    }
    match plan.most_clip_norm {
        Some(most) => writeln!(f, ", at most {most}")?,
        None => writeln!(f)?,
    }
    writeln!(f, "protection: {protection}")?;
    match &plan.curvature {
        Some(curvature) => describe_curvature(f, curvature)?,
        None if plan.probes > 0 => writeln!(f, "curvature: probed by the last {} steps", plan.probes)?,
        None if plan.trace_regression => writeln!(f, "curvature: read off the gradients")?,
        None => writeln!(f, "curvature: none")?,
    }
    match &plan.octaves {
        Some(OctavePlan { numbers, noise_multiplier, .. }) => {
            writeln!(f, "octaves: of {numbers} numbers, noise multiplier {noise_multiplier}")?;
        }
        None => writeln!(f, "octaves: none")?,
    }
    writeln!(f, "gradients: {:?}", plan.gradients)?;
    writeln!(f, "features: {}", if plan.whitened { "whitened" } else { "as they are" })?;
    writeln!(f, "draws: {:?}", plan.draws)?;
    writeln!(f, "{PROGRAMS}: {}", shared.fingerprint)?;
    writeln!(f, "arithmetic: {}", arithmetic())
}

fn describe_curvature(f: &mut String, curvature: &CurvaturePlan) -> fmt::Result {
    let CurvaturePlan { shape, clip_norm, noise_multiplier, with_scores, by_scores, early } = curvature;
    let shape = match shape {
        CurvatureShape::Full => "all",
        CurvatureShape::Diagonal => "the diagonal",
    };
    let of = if *by_scores { "scores' second moments" } else { "second derivatives" };
    let beside = if *with_scores { " and the scores' trace" } else { "" };
    write!(f, "curvature: {shape} of {of}{beside}, norm {clip_norm}, noise multiplier {noise_multiplier}")?;
    match early {
        Some(EarlyCurvature { noise_multiplier, before_step }) => {
            writeln!(f, "; before step {before_step} with noise multiplier {noise_multiplier}")
        }
        None => writeln!(f),
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
