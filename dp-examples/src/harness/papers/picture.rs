//! A picture of an experiment: its series as lines over the setting, and levels for what has none.

use super::experiment::{Experiment, Outcome};
use super::page::summaries;
use crate::harness::utility::Failure;
use crate::report::plot::{Level, Line, lines};

/// An SVG picture of the means over seeds, with their standard errors; `None` for an experiment that has none.
///
/// # Errors
///
/// Numbers that cannot be drawn.
pub fn picture(experiment: &Experiment, outcomes: &[Outcome]) -> Result<Option<String>, Failure> {
    let Some(axes) = experiment.axes else { return Ok(None) };
    let all: Vec<&Outcome> = outcomes.iter().collect();
    let (mut series, mut levels): (Vec<Line>, Vec<Level>) = (Vec::new(), Vec::new());
    for mean in summaries(&all).iter().filter(|mean| mean.row.metric == axes.metric) {
        if mean.row.is_level {
            levels.push(Level { name: mean.row.series.clone(), height: mean.mean, error: mean.error });
            continue;
        }
        let point = (mean.row.at, mean.mean, mean.error);
        match series.iter_mut().find(|line| line.name == mean.row.series) {
            Some(line) => line.points.push(point),
            None => series.push(Line { name: mean.row.series.clone(), points: vec![point] }),
        }
    }
    Ok(Some(lines(experiment.item, (axes.x, axes.y), (&series, &levels), axes.logarithmic)?))
}
