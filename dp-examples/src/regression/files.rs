//! The files that a fit leaves: a model, a table of coefficients, a page, a picture.

use std::path::PathBuf;

use dp_vi::PrivacyReport;

use super::arguments::RegressionArguments;
use super::command::Outcomes;
use super::family::Family;
use super::learned::on_public_scale;
use super::model_file::ModelFile;
use super::outcome::Outcome;
use super::posterior::{KEPT, Summary};
use super::prepare::Prepared;
use super::specification::{Specification, is_constant};
use crate::output::{csv_text, rescue, write_whole};
use crate::report::effects;
use crate::report::forest::{self, Row};
use crate::report::html::{Page, Section};
use crate::{Error, Result};

/// Most numbers that a model file keeps of draws by group.
const MOST_KEPT: usize = 2_000_000;

/// Coefficients on the scale of the public bounds, so that they can be compared.
fn rows(specification: &Specification, one: &Outcomes) -> Vec<Row> {
    on_public_scale(specification, &one.draws)
        .into_iter()
        .filter(|summary| summary.name != "Intercept")
        .map(|summary| Row { label: summary.name.clone(), summary })
        .collect()
}

fn scale_in_words(specification: &Specification) -> String {
    let has_intercept = specification.columns.iter().any(|column| is_constant(&column.of));
    let of = match has_intercept || specification.family == Family::Ordinal {
        true => "from the middle of a column's bounds to its end, or from the baseline",
        // Without an intercept columns are not centred, and no category is left out.
        false => "from 0 to the larger end of a column's bounds, or for a category",
    };
    format!("change of {} {of}", specification.family.scale_in_words())
}

fn picture(specification: &Specification, one: &Outcomes) -> Option<Result<String>> {
    let rows = rows(specification, one);
    let privacy = one.fit.privacy();
    let marks = [
        (!privacy.is_private()).then_some(", NOT PRIVATE"),
        (!privacy.treated_as_public.is_empty()).then_some(", with categories read from the records"),
    ];
    let mut title = format!("{} at epsilon = {}", specification.outcome.name, one.epsilon);
    title.extend(marks.into_iter().flatten());
    (!rows.is_empty()).then(|| forest::svg(&title, &scale_in_words(specification), &rows))
}

fn meaning(privacy: &PrivacyReport, epsilon: f64) -> String {
    let what = privacy.attack_success().filter(|_| privacy.is_private()).map_or_else(String::new, |success| {
        format!(
            " Somebody who has everything but one record, and wonders with even odds whether that record was in \
             the file, is right \
             in at most {} of 100 cases after seeing this fit.",
            (100.0 * success).ceil()
        )
    });
    format!("Epsilon is {epsilon}.{what}")
}

/// Writes the files that were asked for: the option and the path, or what was wrong.
pub(super) fn write_files(
    arguments: &RegressionArguments,
    prepared: &Prepared,
    specification: &Specification,
    found: &[Outcomes],
    together: Option<&str>,
) -> Vec<(String, Result<()>)> {
    let mut written = Vec::new();
    let mut write = |what: &str, path: &Option<PathBuf>, contents: &dyn Fn() -> Result<String>| {
        if let Some(path) = path {
            let done = contents().and_then(|contents| {
                let written = write_whole(path, contents.as_bytes());
                // Nothing of a model can be had again without paying once more; the text and a model tell the others.
                written.map_err(|error| if what == "Model" { elsewhere(error, &contents) } else { error })
            });
            written.push((format!("{what}: {}", path.display()), done));
        }
    };
    let Some(last) = found.last() else { return written };
    write("Model", &arguments.model, &|| model_file(arguments, prepared, specification, last));
    write("Coefficients", &arguments.coefficients, &|| coefficients(found, arguments.delta));
    write("Report", &arguments.html, &|| {
        let section = |one: &Outcomes| -> Result<Section> {
            Ok(Section {
                title: format!("epsilon = {}, delta = {:e}", one.epsilon, arguments.delta),
                picture: picture(specification, one).transpose()?,
                coefficients: one.coefficients.clone(),
                hardly_learned: one.hardly_learned.clone(),
                others: one.draws.others(),
                effects: effects::svg(&specification.outcome_in_words(), &one.effects),
                changes: one.effects.iter().flat_map(|effect| effect.changes.clone()).collect(),
                intervals: one.fit.intervals().to_owned(),
                metrics: one.metrics.clone(),
                private_metrics: one.private_metrics.clone(),
                privacy: one.fit.privacy().to_string(),
                meaning: meaning(one.fit.privacy(), one.epsilon),
            })
        };
        let page = Page {
            formula: prepared.formula.to_string(),
            about: about(specification),
            sections: found.iter().map(section).collect::<Result<_>>()?,
            together: together.map(str::to_owned),
        };
        Ok(page.html())
    });
    write("Picture", &arguments.svg, &|| {
        picture(specification, last)
            .unwrap_or_else(|| Ok("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".into()))
    });
    written
}

/// All coefficients of all fits in the units of the file, with all their digits and, where it is known, the standard
/// deviation that there would be without privacy noise; what is beside them; and whether the fit is private: `no` with
/// a known seed, and `but for names` where names of categories were read from the records.
fn coefficients(found: &[Outcomes], delta: f64) -> Result<String> {
    let header =
        ["epsilon", "delta", "private", "of", "name", "mean", "sd", "low", "high", "sd_without_noise"];
    let mut rows = vec![header.map(str::to_owned)];
    for one in found {
        let privacy = one.fit.privacy();
        let private = match (privacy.is_private(), privacy.treated_as_public.is_empty()) {
            (false, _) => "no",
            (true, false) => "but for names",
            (true, true) => "yes",
        };
        let groups = one.draws.groups.iter().map(|group| (format!("by {}", group.column), group.summaries()));
        let own = [("coefficient", one.coefficients.clone()), ("beside", one.draws.others())];
        for (of, summaries) in own.map(|(of, found)| (of.to_owned(), found)).into_iter().chain(groups) {
            for Summary { name, mean, sd, low, high, sd_without_noise } in summaries {
                // As short as they can be without losing a digit: a variance may be 1e-300.
                let [epsilon, delta, mean, sd, low, high] =
                    [one.epsilon, delta, mean, sd, low, high].map(|x| format!("{x:?}"));
                let without = sd_without_noise.map_or_else(String::new, |sd| format!("{sd:?}"));
                rows.push([
                    epsilon,
                    delta,
                    private.to_owned(),
                    of.clone(),
                    name,
                    mean,
                    sd,
                    low,
                    high,
                    without,
                ]);
            }
        }
    }
    csv_text(rows)
}

/// Writes a model that was paid for among the system's temporary files, and says where in the error.
pub(crate) fn elsewhere(error: Error, model: &str) -> Error {
    let place = rescue("fit", &[("model.json", model.as_bytes())]);
    match (error, place) {
        (Error::Unwritable { file, reason }, Some(place)) => {
            let place = place.join("model.json");
            let reason = format!("{reason}; the model was paid for, and is in {} instead", place.display());
            Error::Unwritable { file, reason }
        }
        (error, _) => error,
    }
}

fn model_file(
    arguments: &RegressionArguments,
    prepared: &Prepared,
    specification: &Specification,
    one: &Outcomes,
) -> Result<String> {
    let numbers: usize = one.draws.groups.iter().map(|group| group.levels.len() * group.names.len()).sum();
    let kept = KEPT.min(MOST_KEPT / numbers.max(1)).max(50);
    let mut schema = prepared.schema.clone();
    let used: std::collections::HashSet<&str> = prepared.formula.columns().into_iter().collect();
    schema.columns.retain(|column, _| used.contains(column.as_str()));
    let (format, version) = ModelFile::header();
    let told = |error: serde_json::Error| Error::Formula { reason: error.to_string() };
    let model = ModelFile {
        format,
        version,
        formula: prepared.formula.to_string(),
        epsilon: one.epsilon,
        delta: arguments.delta,
        schema,
        specification: specification.clone(),
        coefficients: one.coefficients.clone(),
        others: one.draws.others(),
        draws: one.draws.kept(kept),
        privacy: serde_json::to_value(one.fit.privacy()).map_err(told)?,
    };
    Ok(serde_json::to_string(&model).map_err(told)? + "\n")
}

pub(super) fn about(specification: &Specification) -> Vec<String> {
    let Outcome { name, levels, low, high } = &specification.outcome;
    let outcome = match (specification.family, levels.as_slice()) {
        (Family::Bernoulli, [no, yes]) if *no == format!("not {yes}") => {
            format!("The outcome is yes where {name}, and no elsewhere.")
        }
        (Family::Bernoulli, [no, yes]) => format!("The outcome is {name}: '{yes}' against '{no}'."),
        (_, []) => format!(
            "The outcome {name} lies between the public bounds {low} and {high}; values outside were moved there."
        ),
        (_, levels) => format!("The outcome {name} is one of {}, in this order.", levels.join(", ")),
    };
    let mut about = vec![
        outcome,
        format!(
            "The family is {}; the predictor is {}.",
            specification.family,
            specification.family.scale_in_words()
        ),
        "Numbers were scaled to [-1, 1] by their public bounds, and priors are on that scale.".to_owned(),
    ];
    for group in specification.groups.iter().filter(|group| group.columns.len() > 1) {
        about.push(format!(
            "Intercepts and slopes by {0} are independent of one another at the middle of the bounds of columns: (x | {0}) is \
             read as (x || {0}), without the correlations that brms would estimate, and sd({0}, Intercept) is the spread there.",
            group.column
        ));
    }
    about
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A model that cannot be written where it was to go is in a place that the error names.
    #[test]
    fn a_model_that_was_paid_for_is_rescued() {
        let error = Error::Unwritable { file: "m.json".into(), reason: "no room".into() };
        let told = elsewhere(error, "{\"a\": 1}").to_string();
        assert!(told.starts_with("m.json: cannot be written: no room; the model was paid for"), "{told}");
        let place = told.split_once("is in ").and_then(|(_, rest)| rest.strip_suffix(" instead"));
        let place = PathBuf::from(place.expect(&told));
        assert_eq!(std::fs::read(&place).unwrap(), b"{\"a\": 1}");
        std::fs::remove_dir_all(place.parent().unwrap()).unwrap();
        let other = elsewhere(Error::Formula { reason: "x".into() }, "");
        assert!(matches!(other, Error::Formula { .. }));
    }
}
