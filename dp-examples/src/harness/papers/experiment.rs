//! What an experiment is, and what one run of it comes to.

use std::collections::BTreeMap;

use dp_accountant::{Accountant, Composition, Relation};
use dp_vi::PrivacyReport;
use serde::{Deserialize, Serialize};

use super::lab::{Input, Lab};
use crate::harness::utility::Failure;

/// How large the runs are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Size {
    /// On the data sets, with the settings that are compared with the papers.
    Full,
    /// On small stand-ins that are made up in memory: that everything runs, and nothing about how well.
    Quick,
}

impl Size {
    /// One of two settings.
    pub(super) fn pick<T>(self, full: T, quick: T) -> T {
        match self {
            Self::Full => full,
            Self::Quick => quick,
        }
    }
}

/// One table or figure of a paper.
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is about, in a few words.
    pub item: &'static str,
    /// The paper, and where in it.
    pub source: &'static str,
    /// The files it reads; none for what is made up or calculated.
    pub inputs: &'static [Input],
    /// About how many minutes its default runs take on two cores without other work.
    pub minutes: f64,
    /// Its default number of runs, each with a seed of its own.
    pub runs: u64,
    /// Whether runs go one after another, because times are measured.
    pub alone: bool,
    /// Everything that a run depends on beside its seed and its files.
    pub settings: fn(Size) -> serde_json::Value,
    /// One run.
    pub run: fn(&Lab, u64) -> Result<Vec<Row>, Failure>,
    /// What the paper prints, and what is expected here.
    pub references: &'static [Reference],
    /// Why figures differ from the paper's or from what was expected; a sentence each.
    pub remarks: &'static [&'static str],
    /// What a picture of it shows, if there is one.
    pub axes: Option<Axes>,
}

/// The axes of a picture.
#[derive(Debug, Clone, Copy)]
pub struct Axes {
    /// What [`Row::at`] is.
    pub x: &'static str,
    /// What is measured.
    pub y: &'static str,
    /// The metric that is drawn.
    pub metric: &'static str,
    /// Whether the horizontal axis is logarithmic.
    pub logarithmic: bool,
}

/// What a paper prints for the rows of a series, and what is expected of ours.
#[derive(Debug, Clone, Copy)]
pub struct Reference {
    /// The series of the rows.
    pub series: &'static str,
    /// Their metric.
    pub metric: &'static str,
    /// The label of the row; empty for all of the series.
    pub label: &'static str,
    /// What the paper prints.
    pub printed: Printed,
    /// What is expected here.
    pub expected: Expected,
}

/// What is expected of a figure of ours, and how far it may be from that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expected {
    /// Nothing.
    Nothing,
    /// A number that can be calculated, and half a unit of the last digit that it is stated with: both are free of
    /// chance.
    Calculated(f64, f64),
    /// A number measured or simulated before, and its standard error.
    Measured(f64, f64),
    /// The same without a stated standard error; half a unit of its last digit instead.
    Stated(f64, f64),
    /// A goal: at most this.
    AtMost(f64),
}

/// What a paper prints.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Printed {
    /// Nothing.
    Nothing,
    /// A figure, from which no number is read.
    Figure,
    /// A number, as it is printed.
    Number(&'static str),
}

/// One figure of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The curve it belongs to.
    pub series: String,
    /// What is measured.
    pub metric: String,
    /// The setting, such as `ε 1`.
    pub label: String,
    /// The setting as a number: where it is in a picture.
    pub at: f64,
    /// What was measured.
    pub value: f64,
    /// Whether the setting is none of the axis, such as "no noise": a picture has a level for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_level: bool,
    /// Whether it is a time, which another run does not repeat.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_time: bool,
    /// What it cost, for releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub privacy: Option<Privacy>,
    /// Words beside it, such as the most frequent words of a topic.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub words: String,
}

impl Row {
    /// A figure.
    pub(super) fn new(series: &str, metric: &str, label: impl Into<String>, at: f64, value: f64) -> Self {
        Self {
            series: series.to_owned(),
            metric: metric.to_owned(),
            label: label.into(),
            at,
            value,
            is_level: false,
            is_time: false,
            privacy: None,
            words: String::new(),
        }
    }

    /// With what it cost.
    pub(super) fn costing(self, privacy: Privacy) -> Self {
        Self { privacy: Some(privacy), ..self }
    }

    /// As a figure that does not depend on the setting.
    pub(super) fn level(series: &str, metric: &str, label: impl Into<String>, value: f64) -> Self {
        Self { is_level: true, ..Self::new(series, metric, label, 0.0, value) }
    }

    /// As a time.
    pub(super) fn time(self) -> Self {
        Self { is_time: true, ..self }
    }

    /// With words beside it.
    pub(super) fn saying(self, words: String) -> Self {
        Self { words, ..self }
    }
}

/// What a release cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Privacy {
    /// Upper end of the certified interval of ε.
    pub epsilon: f64,
    /// At this δ.
    pub delta: f64,
    /// For neighbours by this relation.
    pub relation: String,
    /// How batches were drawn.
    pub scheme: String,
    /// Standard deviation of the noise over the largest norm of a record's part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise_multiplier: Option<f64>,
    /// What the paper says of the same noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub papers: Option<PapersEpsilon>,
}

/// A paper's own ε for some noise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PapersEpsilon {
    /// As the paper prints it, or by its formula.
    pub epsilon: f64,
    /// Its relation.
    pub relation: String,
    /// Where it comes from.
    pub by: String,
    /// Whether the formula is used within the range for which it is proven.
    pub proven: bool,
}

impl Privacy {
    /// That of a fit, from its report.
    ///
    /// # Errors
    ///
    /// If the fit was not private.
    pub(super) fn of(report: &PrivacyReport) -> Result<Self, Failure> {
        let (Some(epsilon), Some(budget)) = (&report.epsilon, &report.budget) else {
            return Err("a run without privacy has no epsilon to report".into());
        };
        Ok(Self {
            epsilon: epsilon.upper,
            delta: budget.delta,
            relation: budget.relation.to_string(),
            scheme: report.scheme.as_ref().map_or_else(|| "no records".into(), ToString::to_string),
            noise_multiplier: report.noise_multiplier,
            papers: None,
        })
    }

    /// That of a composition, by the certified accountant.
    ///
    /// # Errors
    ///
    /// What the accountant cannot answer.
    pub(super) fn certified(
        relation: Relation,
        run: &Composition,
        delta: f64,
        scheme: impl Into<String>,
    ) -> Result<Self, Failure> {
        let found = Accountant::new(relation).with(run).epsilon(delta)?;
        let (relation, scheme) = (relation.to_string(), scheme.into());
        Ok(Self { epsilon: found.upper, delta, relation, scheme, noise_multiplier: None, papers: None })
    }

    /// With the paper's own ε.
    pub(super) fn beside(self, papers: PapersEpsilon) -> Self {
        Self { papers: Some(papers), ..self }
    }
}

/// What one run came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Always the same words: nothing here is a private use of a file.
    pub notice: String,
    /// The program's version.
    pub version: String,
    /// The experiment's name.
    pub experiment: String,
    /// How large it is.
    pub size: Size,
    /// Its settings.
    pub settings: serde_json::Value,
    /// Hash of each file that was read (BLAKE3).
    pub inputs: BTreeMap<String, String>,
    /// The seed.
    pub seed: u64,
    /// What was found.
    pub rows: Vec<Row>,
    /// What to know of the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// How long it took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// What else the machine was doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// What the machine was doing while a run took its times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Processors that the program might use.
    pub processors: usize,
    /// Programs that wanted a processor, on average over the last minute of the run, this one included.
    pub load: f64,
}

impl Machine {
    /// This machine now; nothing where the system does not tell.
    pub(super) fn now() -> Option<Self> {
        let text = std::fs::read_to_string("/proc/loadavg").ok()?;
        let load = text.split_ascii_whitespace().next()?.parse().ok()?;
        Some(Self { processors: std::thread::available_parallelism().ok()?.get(), load })
    }
}

/// What every outcome says.
pub const NOTICE: &str = "seeds are fixed and known: nothing in this is a private use of a file";

impl Outcome {
    /// The same without what another run would not repeat.
    #[must_use]
    pub fn without_times(mut self) -> Self {
        (self.seconds, self.machine) = (None, None);
        self.rows.iter_mut().filter(|row| row.is_time).for_each(|row| row.value = 0.0);
        self
    }
}
