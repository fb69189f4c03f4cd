//! Several mechanisms side by side: what the examples print.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;

use clap::ValueEnum;

use super::{Name, Report};

/// Reports by the mechanisms' names.
pub type Reports = BTreeMap<String, Report>;

/// A mechanism with noise, the exponential mechanism with both slopes, and a draw of the posterior, on the
/// same problem.
///
/// # Errors
///
/// Those of the first mechanism that cannot be had.
pub fn compare(
    noise: &[Name],
    over: impl Fn(Name) -> Result<Report, Box<dyn Error>>,
) -> Result<Reports, Box<dyn Error>> {
    let others = [Name::Exponential, Name::ExponentialCalibrated, Name::PosteriorSample];
    let report = |&name: &Name| {
        let called = name.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        Ok((called, over(name)?))
    };
    noise.iter().chain(&others).map(report).collect()
}

/// Reports as JSON or as a table.
///
/// # Errors
///
/// Numbers that JSON cannot write.
pub fn written(reports: &Reports, json: bool) -> Result<String, Box<dyn Error>> {
    if json {
        return Ok(serde_json::to_string_pretty(reports)?);
    }
    let mut text = String::new();
    for (name, report) in reports {
        let distance = report.expected_hellinger.unwrap_or(f64::NAN);
        let delta = report.claimed_delta.map_or_else(String::new, |delta| format!("  delta {delta}"));
        writeln!(
            text,
            "{name:24} claimed {:.4}  checked {:.4}  expected Hellinger distance {distance:.4}{delta}",
            report.claimed, report.checked.upper
        )?;
    }
    Ok(text.trim_end().to_owned())
}
