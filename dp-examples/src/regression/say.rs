//! What a fit says on the terminal.

use std::error::Error as StdError;
use std::io::Write;

use super::command::Outcomes;
use super::files::about;
use super::metrics::Metrics;
use super::posterior::Summary;
use super::prepare::Prepared;
use super::private_metrics::PrivateMetrics;
use super::specification::Specification;
use crate::Result;
use crate::report::text;

/// Most groups whose coefficients are printed.
const MOST_PRINTED: usize = 30;

/// Prints everything.
pub(super) fn say(
    prepared: &Prepared,
    specification: &Specification,
    found: &[Outcomes],
    together: Option<&str>,
    written: &[(String, Result<()>)],
) -> Result<(), Box<dyn StdError>> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{} ({})", prepared.formula, specification.family)?;
    for line in about(specification) {
        writeln!(out, "{line}")?;
    }
    for one in found {
        writeln!(out, "\nepsilon = {}\n", one.epsilon)?;
        write!(out, "{}", text::table("coefficient", &one.coefficients))?;
        let others = one.draws.others();
        if !others.is_empty() {
            write!(out, "\n{}", text::table("beside", &others))?;
        }
        for group in
            one.draws.groups.iter().filter(|group| group.levels.len() * group.names.len() <= MOST_PRINTED)
        {
            write!(out, "\n{}", text::table(&format!("by {}", group.column), &group.summaries()))?;
        }
        writeln!(out, "\nIn the units of the file. Intervals {}.", one.fit.intervals())?;
        if let Some(sentence) = &one.hardly_learned {
            writeln!(out, "{sentence}")?;
        }
        let changes: Vec<Summary> =
            one.effects.iter().flat_map(|effect| effect.changes.clone()).take(MOST_PRINTED).collect();
        if !changes.is_empty() {
            let title = format!("change of {}", specification.outcome_in_words());
            write!(out, "\n{}", text::table(&title, &changes))?;
            writeln!(out, "Averaged over made-up records, spread evenly over the public bounds.")?;
        }
        if let Some(metrics) = &one.private_metrics {
            say_private_metrics(&mut out, metrics)?;
        }
        if let Some(metrics) = &one.metrics {
            say_metrics(&mut out, metrics)?;
        }
        writeln!(out, "\n{}", one.fit.privacy())?;
    }
    if let Some(together) = together {
        writeln!(out, "\n{together}")?;
    }
    for (what, _) in written.iter().filter(|(_, done)| done.is_ok()) {
        writeln!(out, "{what}")?;
    }
    Ok(out.flush()?)
}

fn say_private_metrics(out: &mut impl Write, metrics: &PrivateMetrics) -> std::io::Result<()> {
    writeln!(
        out,
        "\n{}About {:.0} test records, with noise, for epsilon {} at delta {:e}; beside the best constant; ± is\n\
         the standard deviation of the noise, not of having these records and no others:",
        if metrics.secret { "" } else { "NOT PRIVATE, the seed is known. " },
        metrics.records,
        metrics.epsilon,
        metrics.delta
    )?;
    for (name, found, base) in &metrics.figures {
        let base = base.map_or_else(String::new, |base| format!("   ({base})"));
        writeln!(out, "  {name:<24}  {found}{base}")?;
    }
    if metrics.figures.is_empty() {
        writeln!(out, "  the noise is larger than the counts of one of the outcomes: no figure can be said")?;
    }
    for (place, group) in metrics.calibration.iter().enumerate() {
        if place == 0 {
            writeln!(out, "  predicted and observed, in groups by predicted probability:")?;
        }
        writeln!(out, "    {:.3}  {}", group.predicted, group.observed)?;
    }
    Ok(())
}

fn say_metrics(out: &mut impl Write, metrics: &Metrics) -> std::io::Result<()> {
    writeln!(out, "\n{} test records, beside the best constant:", metrics.records)?;
    if let (Some(loss), Some(base), Some((right, most))) =
        (metrics.log_loss, metrics.log_loss_of_base, metrics.accuracy)
    {
        let area = metrics.area_under_curve.map_or("-".to_owned(), |area| format!("{area:.4}"));
        writeln!(
            out,
            "  area under the ROC curve {area} (0.5)   log loss {loss:.4} ({base:.4})   accuracy {right:.4} ({most:.4})"
        )?;
        writeln!(out, "  base rate {:.4}; predicted and observed by tenths:", metrics.base)?;
        for tenth in &metrics.calibration {
            writeln!(out, "    {:.3}  {:.3}", tenth.predicted, tenth.observed)?;
        }
    } else {
        writeln!(
            out,
            "  root mean square error {:.4} ({:.4})   mean {:.4}",
            metrics.error, metrics.error_of_base, metrics.base
        )?;
    }
    writeln!(
        out,
        "These are exact figures of held-back records: NOT covered by the guarantee below. Do not publish them"
    )?;
    writeln!(out, "with the posterior unless those records are public.")
}
