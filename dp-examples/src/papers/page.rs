//! Means over seeds, and the tables that are made of them.

use std::fmt::Write;

use super::ALL;
use super::experiment::{Experiment, Outcome, Printed, Privacy, Reference, Row, Size};
use crate::utility::{Failure, mean_and_error};

/// A row over all seeds.
#[derive(Debug, Clone)]
pub struct Mean {
    /// The row of the first seed; its ε is the largest of all seeds.
    pub row: Row,
    /// Mean over seeds.
    pub mean: f64,
    /// Its standard error; 0 for a single seed.
    pub error: f64,
    /// Number of seeds.
    pub seeds: usize,
}

/// Means of all rows of an experiment's runs, in the order of the first run.
#[must_use]
pub fn summaries(outcomes: &[&Outcome]) -> Vec<Mean> {
    let Some(first) = outcomes.first() else { return Vec::new() };
    let same = |a: &Row, b: &Row| (&a.series, &a.metric, &a.label) == (&b.series, &b.metric, &b.label);
    let mean = |row: &Row| {
        let all: Vec<&Row> =
            outcomes.iter().filter_map(|outcome| outcome.rows.iter().find(|other| same(row, other))).collect();
        let values: Vec<f64> = all.iter().map(|row| row.value).collect();
        let (mean, error) = mean_and_error(&values);
        let mut row = row.clone();
        if let Some(privacy) = &mut row.privacy {
            let spent = all.iter().filter_map(|row| row.privacy.as_ref()).map(|privacy| privacy.epsilon);
            privacy.epsilon = spent.fold(privacy.epsilon, f64::max);
        }
        Mean { row, mean, error, seeds: values.len() }
    };
    first.rows.iter().map(mean).collect()
}

/// How a mean stands to what was expected.
enum Verdict {
    /// Nothing was.
    None,
    /// Within three standard errors.
    Within,
    /// Not.
    Off,
}

impl Mean {
    fn reference(&self, experiment: &Experiment) -> Option<Reference> {
        let fits = |r: &&Reference| {
            r.series == self.row.series
                && r.metric == self.row.metric
                && (r.label.is_empty() || r.label == self.row.label)
        };
        experiment.references.iter().find(fits).copied()
    }

    fn verdict(&self, reference: Option<Reference>) -> Verdict {
        let Some((expected, error)) = reference.and_then(|reference| reference.expected) else {
            return Verdict::None;
        };
        let allowed = 3.0 * self.error.hypot(error);
        if (self.mean - expected).abs() <= allowed.max(1e-12) { Verdict::Within } else { Verdict::Off }
    }
}

/// A number with as many digits as its error leaves.
fn shown(value: f64, error: f64) -> String {
    let decimals = match error {
        error if error > 0.0 => (1.0 - error.log10().floor()).clamp(0.0, 6.0) as usize,
        _ if value.abs() >= 100.0 => 1,
        _ if value.abs() >= 10.0 => 2,
        _ if value == 0.0 || value.abs() >= 0.01 => 4,
        _ => return format!("{value:.2e}"),
    };
    let number = if error > 0.0 { format!("{value:.decimals$} ± {error:.decimals$}") } else { format!("{value:.decimals$}") };
    number.replace('-', "−")
}

/// The rows of an experiment that stand in one line of the table: the same series, metric, relation, scheme and δ.
fn lines(means: &[Mean]) -> Vec<Vec<&Mean>> {
    let key = |mean: &Mean| {
        let privacy = |p: &Privacy| (p.relation.clone(), p.scheme.clone(), p.delta.to_string());
        (mean.row.series.clone(), mean.row.metric.clone(), mean.row.privacy.as_ref().map(privacy), mean.seeds)
    };
    let mut lines: Vec<Vec<&Mean>> = Vec::new();
    for mean in means {
        match lines.iter_mut().find(|line| key(line[0]) == key(mean)) {
            Some(line) => line.push(mean),
            None => lines.push(vec![mean]),
        }
    }
    lines
}

fn joined(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.collect();
    match texts.first() {
        Some(first) if texts.iter().all(|text| text == first) => first.clone(),
        _ => texts.join(" / "),
    }
}

/// The cell of a relation's column: every certified ε with its scheme, and the paper's own ε of that relation.
fn cost(line: &[&Mean], relation: &str) -> String {
    let mut parts = Vec::new();
    let privacy: Vec<&Privacy> = line.iter().filter_map(|mean| mean.row.privacy.as_ref()).collect();
    if let Some(first) = privacy.first().filter(|privacy| privacy.relation == relation) {
        let epsilons = joined(privacy.iter().map(|privacy| dp_accountant::rounded_up(privacy.epsilon)));
        parts.push(format!("≤ {epsilons} (δ {}; {})", small(first.delta), first.scheme));
    }
    let papers = privacy.iter().filter_map(|privacy| privacy.papers.as_ref());
    let papers: Vec<_> = papers.filter(|papers| papers.relation == relation).collect();
    if let Some(first) = papers.first() {
        let epsilon = |papers: &&super::PapersEpsilon| {
            format!("{}{}", shown(papers.epsilon, 0.0), if papers.proven { "" } else { "*" })
        };
        parts.push(format!("paper: {} ({})", joined(papers.iter().map(epsilon)), first.by));
    }
    parts.join("; ")
}

fn small(x: f64) -> String {
    if x >= 1e-3 { format!("{x}") } else { format!("{x:.3e}").replace(".000e", "e") }
}

/// The table of an experiment's runs, and below it its remarks.
///
/// ```text
/// | what | at | printed | ours | expected | seeds | ε, add/remove | ε, replace-one |
/// ```
///
/// No column holds an ε of another relation than its head's. A mean within three standard errors of what was
/// expected (its own and that of the expectation together) is marked `ok`, another one `off`.
#[must_use]
pub fn table(experiment: &Experiment, outcomes: &[&Outcome]) -> String {
    let means = summaries(outcomes);
    let mut text = format!("### {}\n\n`{}`: {}.", experiment.item, experiment.name, experiment.source);
    if outcomes.iter().any(|outcome| outcome.size == Size::Quick) {
        text.push_str(" **Quick runs on made-up stand-ins: they say nothing about how good anything is.**");
    }
    text.push_str("\n\n| what | at | printed | ours | expected | seeds | ε, add/remove | ε, replace-one |\n");
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for line in lines(&means) {
        let first = line[0];
        let references: Vec<Option<Reference>> = line.iter().map(|mean| mean.reference(experiment)).collect();
        let printed = joined(references.iter().map(|reference| match reference.map(|r| r.printed) {
            None | Some(Printed::Nothing) => "–".into(),
            Some(Printed::Figure) => "figure".into(),
            Some(Printed::Number(number)) => number.replace('-', "−"),
        }));
        let expected = joined(line.iter().zip(&references).map(|(mean, reference)| {
            let of = reference.and_then(|r| r.expected).map(|(value, _)| shown(value, 0.0));
            match (mean.verdict(*reference), of) {
                (Verdict::Within, Some(of)) => format!("{} ok", tidy(&of)),
                (Verdict::Off, Some(of)) => format!("{} off", tidy(&of)),
                _ => "–".into(),
            }
        }));
        let (what, at) = (format!("{}, {}", first.row.series, first.row.metric), joined_labels(&line));
        let ours = line.iter().map(|mean| shown(mean.mean, mean.error)).collect::<Vec<_>>().join(" / ");
        let (add, replace) = (cost(&line, "add/remove"), cost(&line, "replace-one"));
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {what} | {at} | {printed} | {ours} | {expected} | {} | {add} | {replace} |", first.seeds);
    }
    if means.iter().any(|mean| mean.row.privacy.as_ref().is_some_and(|p| p.papers.as_ref().is_some_and(|p| !p.proven))) {
        text.push_str("\n\\* outside the range for which the formula is proven.\n");
    }
    for mean in means.iter().filter(|mean| !mean.row.words.is_empty()) {
        let _ = write!(text, "\n{}, {}: {}.\n", mean.row.series, mean.row.label, mean.row.words);
    }
    for warning in outcomes.iter().flat_map(|outcome| &outcome.warnings) {
        if !text.contains(warning.as_str()) {
            let _ = write!(text, "\n**Warning**: {warning}.\n");
        }
    }
    if !experiment.remarks.is_empty() {
        let _ = write!(text, "\n{}\n", experiment.remarks.join(" "));
    }
    text
}

/// Zeros at the end are no digits that anybody expected.
fn tidy(number: &str) -> String {
    if number.contains('.') && !number.contains('e') {
        number.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        number.to_owned()
    }
}

/// `ε 1 / 2 / 4` for `ε 1`, `ε 2`, `ε 4`.
fn joined_labels(line: &[&Mean]) -> String {
    let (head, _) = line[0].row.label.split_once(' ').unwrap_or(("", ""));
    let common = !head.is_empty()
        && line.iter().all(|mean| mean.row.label.split_once(' ').is_some_and(|(first, rest)| first == head && !rest.contains(' ')));
    let labels = line.iter().enumerate().map(|(i, mean)| match (common && i > 0, mean.row.label.split_once(' ')) {
        (true, Some((_, rest))) => rest.to_owned(),
        _ => mean.row.label.clone(),
    });
    labels.collect::<Vec<_>>().join(" / ")
}

/// The whole page, in the order of [`ALL`].
///
/// # Errors
///
/// If there is no run.
pub fn page(outcomes: &[Outcome]) -> Result<String, Failure> {
    if outcomes.is_empty() {
        return Err("there are no runs in this folder: 'papers run all --json DIR' makes them".into());
    }
    let mut text = String::from(HEAD);
    let mut without = Vec::new();
    for experiment in ALL {
        let own: Vec<&Outcome> =
            outcomes.iter().filter(|outcome| outcome.experiment == experiment.name).collect();
        match own.is_empty() {
            true => without.push(format!("`{}` ({})", experiment.name, experiment.item)),
            false => {
                text.push('\n');
                text.push_str(&table(experiment, &own));
            }
        }
    }
    if !without.is_empty() {
        let _ = write!(text, "\nNot run: {}.\n", without.join(", "));
    }
    let seconds: f64 = outcomes.iter().filter_map(|outcome| outcome.seconds).sum();
    let _ = write!(text, "\nAll runs of this page together took {:.0} minutes, runs side by side counted one by one.\n", seconds / 60.0);
    Ok(text)
}

const HEAD: &str = "# The papers' tables and figures, run again

Written by `papers table` from the runs' JSON; not a number in the tables is typed. Seeds are fixed and known, so nothing here is a
private use of a file. A column of ε holds one relation of neighbours only, with the scheme by which batches are drawn, and the upper end
of a certified interval. \"figure\" stands for what a paper shows in a figure only. \"expected\" is what earlier measurements and
simulations of the same problem gave: `ok` is within three standard errors, `off` is not, and the text below a table says why. ± is the
standard error over seeds.

The listings of the d3p paper, and the mixture of its appendix, are tests: `ppl-distributions/tests/listings.rs`.
";
