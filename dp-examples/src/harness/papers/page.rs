//! Means over seeds, and the tables that are made of them.

use std::fmt::Write;

use super::ALL;
use super::experiment::{
    Expected, Experiment, Machine, Outcome, PapersEpsilon, Printed, Privacy, Reference, Row, Size,
};
use crate::harness::utility::{Failure, mean_and_error};

/// A row over all seeds.
#[derive(Debug, Clone)]
pub struct Mean {
    /// The row of the first seed; its ε is the largest of all seeds.
    pub row: Row,
    /// Mean over seeds.
    pub mean: f64,
    /// Its standard error; 0 for a single seed, and for what seeds do not change.
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
        let all: Vec<&Row> = outcomes
            .iter()
            .filter_map(|outcome| outcome.rows.iter().find(|other| same(row, other)))
            .collect();
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// It is not held against anything: nothing was expected, or nothing is known of either error.
    None,
    /// Within three standard errors, or within rounding where there is no chance.
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

    /// The difference is held against both standard errors where there are two, and against the one that there is
    /// otherwise; a number whose error is not stated may differ by its rounding on top.
    fn verdict(&self, reference: Option<Reference>) -> Verdict {
        let (expected, allowed) = match reference.map_or(Expected::Nothing, |reference| reference.expected) {
            Expected::Nothing => return Verdict::None,
            Expected::Calculated(value, unit) => (value, unit),
            Expected::Measured(value, error) => (value, 3.0 * self.error.hypot(error)),
            Expected::Stated(_, _) if self.error == 0.0 => return Verdict::None,
            Expected::Stated(value, rounding) => (value, 3.0 * self.error + rounding),
            // What chance alone may add to a mean at the goal.
            Expected::AtMost(goal) => (self.mean.min(goal), 3.0 * self.error),
        };
        let within = (self.mean - expected).abs() <= allowed + 1e-12 * expected.abs().max(1.0);
        if within { Verdict::Within } else { Verdict::Off }
    }
}

/// A number with as many digits as its error leaves.
fn shown(value: f64, error: f64) -> String {
    let decimals = match error {
        error if error > 0.0 => (1.0 - error.log10().floor()).clamp(0.0, 6.0) as usize,
        _ if value.abs() >= 100.0 => 1,
        _ if value.abs() >= 10.0 => 2,
        _ if value == 0.0 || value.abs() >= 0.01 => 4,
        _ => return format!("{value:.2e}").replace('-', "−"),
    };
    let number = if error > 0.0 {
        format!("{value:.decimals$} ± {error:.decimals$}")
    } else {
        format!("{value:.decimals$}")
    };
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

/// Whose ε a line is about: the relation of what it cost, or the one that its metric names.
fn relation<'m>(line: &[&'m Mean]) -> Option<&'m str> {
    let row = &line[0].row;
    let own = row.privacy.as_ref().map(|privacy| privacy.relation.as_str());
    own.or_else(|| ["add/remove", "replace-one"].into_iter().find(|relation| row.metric.ends_with(relation)))
}

/// The paper's own ε of a line, for neighbours by this relation.
fn papers<'m>(line: &'m [&Mean], relation: &str) -> Vec<&'m PapersEpsilon> {
    let all = line.iter().filter_map(|mean| mean.row.privacy.as_ref()?.papers.as_ref());
    all.filter(|papers| papers.relation == relation).collect()
}

/// Every certified ε of a line, with δ and its scheme.
fn cost(line: &[&Mean]) -> String {
    let privacy: Vec<&Privacy> = line.iter().filter_map(|mean| mean.row.privacy.as_ref()).collect();
    let Some(first) = privacy.first() else { return "–".into() };
    let epsilons = joined(privacy.iter().map(|privacy| dp_accountant::rounded_up(privacy.epsilon)));
    format!("≤ {epsilons} (δ {}; {})", small(first.delta), shortened(&first.scheme))
}

/// The paper's own ε for the same noise.
fn papers_cost(line: &[&Mean], relation: &str) -> String {
    let papers = papers(line, relation);
    let Some(first) = papers.first() else { return "–".into() };
    let epsilon = |papers: &&PapersEpsilon| {
        format!("{}{}", tidy(&shown(papers.epsilon, 0.0)), if papers.proven { "" } else { "*" })
    };
    format!("{} ({})", joined(papers.iter().map(epsilon)), first.by)
}

fn small(x: f64) -> String {
    let plain = format!("{x}");
    if x == 0.0 || (x >= 1e-3 && plain.len() <= 6) { plain } else { format!("{x:.3e}").replace(".000e", "e") }
}

/// Four digits that count.
fn four_digits(x: f64) -> String {
    let zeros = (-x.log10()).floor().clamp(0.0, 12.0) as usize;
    format!("{x:.0$}", zeros + 4)
}

/// A scheme with at most four digits of each rate.
fn shortened(scheme: &str) -> String {
    let words = scheme.split(' ').map(|word| match word.parse::<f64>() {
        Ok(rate) if word.len() > 8 && rate < 1.0 => four_digits(rate),
        _ => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// The tables of an experiment's runs, and below them its remarks.
///
/// ```text
/// | what | at | printed | ours | expected | seeds | certified ε, RELATION | the paper's own ε, RELATION |
/// ```
///
/// Each relation has a table of its own, so that no column holds an ε of another relation than its head's. A mean
/// within three standard errors of what was expected (its own and that of the expectation together) is marked
/// `ok`, another one `off`.
#[must_use]
pub fn table(experiment: &Experiment, outcomes: &[&Outcome]) -> String {
    let means = summaries(outcomes);
    let mut text = format!("### {}\n\n`{}`: {}.", experiment.item, experiment.name, experiment.source);
    let differs = (experiment.settings)(Size::Quick) != (experiment.settings)(Size::Full);
    if differs && outcomes.iter().any(|outcome| outcome.size == Size::Quick) {
        text.push_str(" **Quick runs on made-up stand-ins: they say nothing about how good anything is.**");
    }
    text.push('\n');
    let lines = lines(&means);
    let mut relations: Vec<Option<&str>> = Vec::new();
    for line in &lines {
        if !relations.contains(&relation(line)) {
            relations.push(relation(line));
        }
    }
    for of in relations {
        let own: Vec<&Vec<&Mean>> = lines.iter().filter(|line| relation(line) == of).collect();
        let costs = of.filter(|_| own.iter().any(|line| line[0].row.privacy.is_some()));
        let printed: Vec<&str> = ["add/remove", "replace-one"]
            .into_iter()
            .filter(|relation| own.iter().any(|line| !papers(line, relation).is_empty()))
            .collect();
        let mut heads = String::from("| what | at | printed | ours | expected | seeds |");
        if let Some(relation) = costs {
            let _ = write!(heads, " certified ε, {relation} |");
        }
        for relation in &printed {
            let _ = write!(heads, " the paper's own ε, {relation} |");
        }
        let rule = "---|".repeat(heads.matches('|').count() - 1);
        let _ = write!(text, "\n{heads}\n|{rule}\n");
        for line in own {
            let mut cells = cells(experiment, line);
            cells.extend(costs.map(|_| cost(line)));
            cells.extend(printed.iter().map(|relation| papers_cost(line, relation)));
            let _ = writeln!(text, "| {} |", cells.join(" | "));
        }
    }
    if means
        .iter()
        .any(|mean| mean.row.privacy.as_ref().is_some_and(|p| p.papers.as_ref().is_some_and(|p| !p.proven)))
    {
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
    let is_off = |mean: &Mean| mean.verdict(mean.reference(experiment)) == Verdict::Off;
    if experiment.remarks.is_empty() && means.iter().any(is_off) {
        text.push_str("\n**Nobody has said yet why what is marked `off` differs.**\n");
    }
    if !experiment.remarks.is_empty() {
        let _ = write!(text, "\n{}\n", experiment.remarks.join(" "));
    }
    if means.iter().any(|mean| mean.row.is_time) {
        let _ = write!(text, "\n{}\n", busy(outcomes));
    }
    text
}

/// What else the machine did while times were taken: the largest load of all runs.
fn busy(outcomes: &[&Outcome]) -> String {
    let machines = outcomes.iter().filter_map(|outcome| outcome.machine);
    match machines.max_by(|a, b| a.load.total_cmp(&b.load)) {
        Some(Machine { processors, load }) => format!(
            "Times are of a machine with {processors} processors and a load of {load:.1} (programs that wanted one, this \
             one included): what is above {processors} was other work, and times are longer by about its share."
        ),
        None => "What else the machine did while times were taken is not known.".into(),
    }
}

/// The cells of a line but for what it cost.
fn cells(experiment: &Experiment, line: &[&Mean]) -> Vec<String> {
    let references: Vec<Option<Reference>> = line.iter().map(|mean| mean.reference(experiment)).collect();
    let printed = joined(references.iter().map(|reference| match reference.map(|r| r.printed) {
        None | Some(Printed::Nothing) => "–".into(),
        Some(Printed::Figure) => "figure".into(),
        Some(Printed::Number(number)) => number.replace('-', "−"),
    }));
    let expected = joined(line.iter().zip(&references).map(|(mean, reference)| {
        let plain = |value: f64| tidy(&shown(value, 0.0));
        let of = match reference.map_or(Expected::Nothing, |r| r.expected) {
            Expected::Nothing => return "–".into(),
            Expected::AtMost(goal) => format!("≤ {}", plain(goal)),
            Expected::Measured(value, error) => shown(value, error),
            Expected::Calculated(value, _) | Expected::Stated(value, _) => plain(value),
        };
        match mean.verdict(*reference) {
            Verdict::Within => format!("{of} ok"),
            Verdict::Off => format!("{of} off"),
            Verdict::None => of,
        }
    }));
    let ours = line.iter().map(|mean| shown(mean.mean, mean.error)).collect::<Vec<_>>().join(" / ");
    let what = format!("{}, {}", line[0].row.series, line[0].row.metric);
    vec![what, labels(line), printed, ours, expected, line[0].seeds.to_string()]
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
fn labels(line: &[&Mean]) -> String {
    let (head, _) = line[0].row.label.split_once(' ').unwrap_or(("", ""));
    let common = !head.is_empty()
        && line.iter().all(|mean| {
            mean.row.label.split_once(' ').is_some_and(|(first, rest)| first == head && !rest.contains(' '))
        });
    let labels =
        line.iter().enumerate().map(|(i, mean)| match (common && i > 0, mean.row.label.split_once(' ')) {
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
    let _ = write!(
        text,
        "\nAll runs of this page together took {:.0} minutes, runs side by side counted one by one.\n",
        seconds / 60.0
    );
    Ok(text)
}

const HEAD: &str = "# The papers' tables and figures, run again

Written by `papers table` from the runs' JSON; not a number in the tables is typed. Seeds are fixed and known, so nothing here is a
private use of a file. Each relation of neighbours has tables of its own; beside each certified ε, the upper end of an interval, stands the
scheme by which batches are drawn. \"figure\" stands for what a paper shows in a figure only. ± is the standard error over seeds.

\"expected\" is what earlier measurements and simulations of the same problem gave, with ± where they state an error. `ok` is within three
standard errors, of both sides where both are known and of one where one is (then with the rounding of the other); for numbers without chance,
within a unit of the last digit; for goals (≤), not above them by more than three standard errors. `off` is not, and the text below the table
says why. Without either word neither error is known.

The listings of the d3p paper, and the mixture of its appendix, are tests: `ppl-distributions/tests/listings.rs`. The algorithms of VIPS:

| algorithm | here |
|---|---|
| 1, variational Bayes of conjugate models | `ConjugateVi` `without_privacy` |
| 2, the same with noisy statistics | `ConjugateVi` with a budget |
| 3, topic models | 2 with a model of `Words::mixed`: `vips-lda`, the example `topics` |
| 4, binomial likelihoods by Pólya–gamma variables | 2 with any model of Bernoulli log-odds (`conjugate::Curvature::Optimal`) |
| 5, logistic regression | 4 with the model of a logistic regression: `vips-fig5`, `vips-fig6` |
| 6, sigmoid belief networks | 4 with Boolean values of each record: `vips-fig8`; priors are normal, not the sparse ones of the paper |
| EM (section 2.5, appendix 6; no experiment) | `ConjugateVi::estimate` with `Estimate::Likelihood`, or with a prior `Estimate::Mode`: `dp-vi/src/conjugate/tests/points.rs` |

Where the paper draws a batch without replacement for each step, all of these take all records: averages of few full releases have less
noise than many of samples. A step's weight in the average is given in the documentation of `ConjugateVi`, in place of `(τ₀ + t)^−κ`.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::papers::find;

    fn outcome(seed: u64, rows: Vec<Row>) -> Outcome {
        Outcome {
            notice: String::new(),
            version: String::new(),
            experiment: "d3p-fig4".into(),
            size: Size::Full,
            settings: serde_json::Value::Null,
            inputs: std::collections::BTreeMap::new(),
            seed,
            rows,
            warnings: Vec::new(),
            seconds: None,
            machine: None,
        }
    }

    #[test]
    fn an_error_counts_where_it_is_known() {
        let mean =
            |mean: f64, error: f64| Mean { row: Row::new("", "", "", 0.0, mean), mean, error, seeds: 2 };
        let verdict = |mean: &Mean, expected| {
            let (series, metric, label, printed) = ("", "", "", Printed::Nothing);
            mean.verdict(Some(Reference { series, metric, label, printed, expected }))
        };
        // 3 · √(0.01² + 0.02²) = 0.067, with one error only 0.03 or 0.06.
        for (own, stated, edge) in [(0.01, 0.02, 0.067), (0.01, 0.0, 0.03), (0.0, 0.02, 0.06)] {
            let expected = Expected::Measured(0.5, stated);
            assert_eq!(verdict(&mean(0.5 + 0.99 * edge, own), expected), Verdict::Within, "{own} {stated}");
            assert_eq!(verdict(&mean(0.5 - 1.01 * edge, own), expected), Verdict::Off, "{own} {stated}");
        }
        let stated = Expected::Stated(0.5, 0.005);
        assert_eq!(verdict(&mean(0.534, 0.01), stated), Verdict::Within);
        assert_eq!(verdict(&mean(0.536, 0.01), stated), Verdict::Off);
        assert_eq!(verdict(&mean(0.536, 0.0), stated), Verdict::None);
        assert_eq!(verdict(&mean(0.509, 0.0), Expected::Calculated(0.5, 0.01)), Verdict::Within);
        assert_eq!(verdict(&mean(0.511, 0.1), Expected::Calculated(0.5, 0.01)), Verdict::Off);
        for (found, error, wanted) in
            [(0.1, 0.0, Verdict::Within), (0.52, 0.01, Verdict::Within), (0.54, 0.01, Verdict::Off)]
        {
            assert_eq!(verdict(&mean(found, error), Expected::AtMost(0.5)), wanted, "{found}");
        }
        assert_eq!(verdict(&mean(0.5, 0.1), Expected::Nothing), Verdict::None);
    }

    #[test]
    fn what_was_expected_is_held_against_three_standard_errors() {
        let experiment = find("d3p-fig4").unwrap();
        // Standard errors of 0.001, three of which with the expectation's rounding of 0.0005 make 0.0035.
        let runs = |shift: f64| {
            let row = |value: f64| vec![Row::new("private", "AUC", "ε 1", 1.0, 0.921 + shift + value)];
            [outcome(1, row(-0.001)), outcome(2, row(0.001))]
        };
        for (shift, verdict) in [(0.003, "0.921 ok"), (0.004, "0.921 off"), (-0.004, "0.921 off")] {
            let runs = runs(shift);
            let text = table(experiment, &runs.iter().collect::<Vec<_>>());
            assert!(text.contains(verdict), "{shift}: {text}");
            assert!(text.contains("| figure | 0.9") && text.contains("± 0.0010"), "{text}");
        }
    }

    #[test]
    fn relations_have_tables_of_their_own() {
        let privacy = |relation: &str, epsilon| Privacy {
            epsilon,
            delta: 1e-5,
            relation: relation.into(),
            scheme: "Poisson".into(),
            noise_multiplier: None,
            papers: None,
        };
        let row = |series: &str, epsilon, relation| {
            Row::new(series, "AUC", "ε 1", 1.0, 0.9).costing(privacy(relation, epsilon))
        };
        let run = outcome(1, vec![row("private", 0.999, "add/remove"), row("other", 0.888, "replace-one")]);
        let text = table(find("d3p-fig4").unwrap(), &[&run]);
        let (first, second) = text.split_once("certified ε, replace-one").unwrap();
        assert!(first.contains("certified ε, add/remove") && first.contains("≤ 0.999"), "{text}");
        assert!(second.contains("≤ 0.888") && !second.contains("0.999"), "{text}");
    }

    #[test]
    fn numbers_have_the_digits_that_their_errors_leave() {
        assert_eq!(shown(0.92149, 0.00112), "0.9215 ± 0.0011");
        assert_eq!(shown(-3.6471, 0.0052), "−3.6471 ± 0.0052");
        assert_eq!(shown(710.12, 4.5), "710.1 ± 4.5");
        assert_eq!(tidy(&shown(2034.0, 0.0)), "2034");
        assert_eq!(shown(0.0008, 0.0), "8.00e−4");
        assert_eq!([0.0, 0.002, 1.0 / 240.0, 1e-5].map(small), ["0", "0.002", "4.167e-3", "1e-5"]);
        assert_eq!(shortened("with probability 0.13333333333333333"), "with probability 0.1333");
    }
}
