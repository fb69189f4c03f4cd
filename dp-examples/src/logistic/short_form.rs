//! The short form of `fit`: a logistic regression on columns, without a formula.

use std::error::Error;
use std::io::Write;

use crate::logistic::arguments::FitArguments;
use crate::logistic::as_model::AsModel;
use crate::logistic::design::{Columns, Design, Intercept, Meaning};
use crate::logistic::summary::{Marginal, WeightSummary};
use crate::logistic::table_text::table_text;
use crate::logistic::{self, Settings};
use crate::output::write_whole;
use crate::program::for_the_holder;
use crate::regression::files::elsewhere;
use crate::regression::posterior::Summary;
use crate::report::forest::{self, Row};
use crate::schema::bounds::Bounds;
use crate::schema::{Schema, clamped_in_words};
use crate::table::Table;
use crate::table::split::area_under_curve;
use crate::table::split::{accuracy, log_loss, probabilities, split};
use dp_accountant::{Budget, Certified, Relation};
use dp_sampler::{Purpose, Seed};
use dp_vi::PrivacyReport;
use serde::Serialize;

/// What `--json` writes. How long it took is not in it: that grows with the number of records, which is protected.
#[derive(Serialize)]
struct Outcome<'a> {
    private: bool,
    epsilon: Option<&'a Certified>,
    delta: f64,
    test_accuracy: Option<f64>,
    test_area_under_curve: Option<f64>,
    test_log_loss: Option<f64>,
    /// The share of positive ones among the held-back records.
    test_base_rate: Option<f64>,
    /// The four figures above are exact ones of held-back records.
    test_figures_are_private: bool,
    weights: Vec<Weight<'a>>,
    predictor_in_original_units: Predictor<'a>,
    privacy: &'a PrivacyReport,
    settings: Settings,
    notes: &'a [String],
}

/// One weight, on features scaled to [-1, 1], and its slope per unit of the column.
#[derive(Serialize)]
struct Weight<'a> {
    name: &'a str,
    mean: f64,
    sd: f64,
    interval_90: (f64, f64),
    /// The prior's standard deviation, and that which there would be without noise.
    sd_prior: Option<f64>,
    sd_without_noise: Option<f64>,
    slope_in_original_units: f64,
    /// Where the noisy steps led: the predictor behind the test figures.
    point: f64,
}

/// The log odds of a positive record, in the units of its columns, each moved to the nearer of its public bounds where
/// it lies outside: the constant, and a slope for a unit of a column of numbers or for a category.
#[derive(Serialize)]
struct Predictor<'a> {
    /// `constant`, and then the weights other than the intercept.
    names: Vec<&'a str>,
    means: Vec<f64>,
    /// In the same order; where the fit knows one.
    covariance: Option<Vec<Vec<f64>>>,
}

/// Fits a logistic regression, writes the files that were asked for and says what was found.
///
/// # Errors
///
/// What is wrong with options, files and records, or a fit that fails.
pub fn fit(arguments: FitArguments) -> Result<(), Box<dyn Error>> {
    arguments.check_outputs()?;
    arguments.check_sampling()?;
    let name = arguments.data.display().to_string();
    if arguments.count_clamped {
        let bounds = arguments.bounds.as_deref().map_or_else(|| Ok(Bounds::none()), Bounds::read)?;
        let mut schema = bounds.schema().clone();
        // The label's column is compared as it is, and others are not read.
        schema.columns.retain(|column, _| {
            column != arguments.positive_if.column()
                && arguments.features.as_ref().is_none_or(|chosen| chosen.contains(column))
        });
        for_the_holder(&clamped_in_words(&schema.clamped(&arguments.data)?));
    }
    let (mut design, schema) = read(&arguments)?;
    let as_model = match &arguments.model {
        Some(_) => Some(AsModel::new(&arguments.positive_if, &design, &schema)?),
        None => None,
    };
    let seed = match arguments.test_seed_not_private {
        Some(number) => Seed::for_tests(number),
        None => Seed::from_os()?,
    };
    let count = design.labels().len();
    let parts = split(count, arguments.test_fraction, &mut seed.streams(Purpose::Split).at(0))?;
    let (train, test) = design.take(&parts)?;

    let settings = Settings {
        steps: arguments.steps,
        sampling_rate: arguments.sampling_rate,
        clip_norm: arguments.clip_norm,
        learning_rate: arguments.learning_rate,
        norms: Some(design.feature_norms()),
    };
    let budget = Budget { epsilon: arguments.epsilon, delta: arguments.delta, relation: Relation::AddRemove };
    let (fit, found) = logistic::fit_design(
        train,
        &design.public_moments(),
        budget,
        &settings,
        seed,
        ("private fit", design.notes()),
    )?;

    let names = design.names();
    let weights = names
        .iter()
        .zip(found.means.iter().zip(&found.deviations))
        .map(|(name, (&mean, &sd))| {
            let name = (*name).to_owned();
            Ok(WeightSummary { name, truth: None, private: Marginal::new(mean, sd)?, reference: None })
        })
        .collect::<crate::Result<Vec<WeightSummary>>>()?;
    let means = &found.means;
    // Where steps stop short of the mode because of the noise, the point is the better predictor.
    let point = &found.point;
    let test = match test {
        (_, labels) if labels.is_empty() => None,
        (features, labels) => {
            let predicted = probabilities(features.view(), ndarray::aview1(point))?;
            let base = labels.mean().unwrap_or(0.0);
            let constant = ndarray::Array1::from_elem(labels.len(), base);
            Some((
                accuracy(predicted.view(), labels.view())?,
                area_under_curve(&predicted.to_vec(), &labels.to_vec()),
                log_loss(predicted.view(), labels.view())?,
                (base, log_loss(constant.view(), labels.view())?),
            ))
        }
    };
    let original = design.in_original_units(means)?;
    let slopes = || {
        let all = design.coefficients().iter().zip(&original.slopes);
        all.filter(|(coefficient, _)| *coefficient.meaning() != Meaning::Intercept)
    };
    let covariance = found.covariance.as_deref().map(|own| design.covariance_in_original_units(own));
    let predictor = Predictor {
        names: ["constant"].into_iter().chain(slopes().map(|(coefficient, _)| coefficient.name())).collect(),
        means: [original.constant].into_iter().chain(slopes().map(|(_, slope)| *slope)).collect(),
        covariance: covariance.transpose()?,
    };

    // Everything that can still fail comes before the first line of output and the first file.
    let picture = match &arguments.svg {
        Some(_) => {
            let title =
                format!("Posterior at epsilon = {}, delta = {:e}", arguments.epsilon, arguments.delta);
            let row = |weight: &WeightSummary| {
                let (private, (low, high)) = (weight.private, weight.private.interval_90());
                let name = weight.name.clone();
                let (mean, sd) = (private.mean(), private.sd());
                let summary = Summary { name, mean, sd, low, high, sd_without_noise: None };
                Row { label: weight.name.clone(), summary }
            };
            let rows: Vec<Row> = weights.iter().map(row).collect();
            let scale = "weights of columns scaled from their public bounds to [-1, 1], with 90 % intervals";
            Some(forest::svg(&title, scale, &rows)?)
        }
        None => None,
    };
    let report = &found.privacy;
    let outcome = Outcome {
        private: report.is_private(),
        epsilon: report.epsilon.as_ref(),
        delta: arguments.delta,
        test_accuracy: test.map(|(accuracy, ..)| accuracy),
        test_area_under_curve: test.and_then(|(_, area, ..)| area),
        test_log_loss: test.map(|(_, _, loss, _)| loss),
        test_base_rate: test.map(|(.., (base, _))| base),
        test_figures_are_private: false,
        weights: weights
            .iter()
            .zip(original.slopes.iter().zip(point))
            .enumerate()
            .map(|(j, (weight, (&slope, &point)))| {
                let without_noise = found.without_noise.as_ref().map(|sds| sds[j]);
                let prior = without_noise.map(|_| found.prior);
                described(weight, (prior, without_noise), slope, point)
            })
            .collect(),
        predictor_in_original_units: predictor,
        privacy: report,
        settings,
        notes: design.notes(),
    };
    let json = serde_json::to_string_pretty(&outcome)? + "\n";

    let model = as_model.map(|model| model.file(&found, &budget)).transpose()?;

    // Files come before the text, for a closed pipe ends it, and what has been paid for should not be lost.
    if let (Some(path), Some(model)) = (&arguments.model, model) {
        write_whole(path, model.as_bytes()).map_err(|error| elsewhere(error, &model))?;
    }
    if let (Some(path), Some(picture)) = (&arguments.svg, picture) {
        write_whole(path, picture.as_bytes())?;
    }
    if let Some(path) = &arguments.json {
        write_whole(path, json.as_bytes())?;
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "{name}: positive if {}", arguments.positive_if)?;
    for note in design.notes() {
        writeln!(out, "note: {note}: treated as public, and not covered by the guarantee below")?;
    }
    writeln!(out)?;
    write!(out, "{}", table_text(&weights))?;
    writeln!(out, "Weights are on columns scaled from their public bounds to [-1, 1].")?;
    writeln!(out, "{}", logistic::about_intervals(&fit, found.prior))?;
    if let Some(sentence) = logistic::hardly_learned(&names, &found) {
        writeln!(out, "{sentence}")?;
    }
    writeln!(out)?;
    if let Some((accuracy, area, loss, (base, surprise))) = test {
        let area = area.map_or(String::new(), |area| format!(", area under the ROC curve {area:.4}"));
        writeln!(
            out,
            "Test accuracy {accuracy:.4}{area}, log loss {loss:.4}, of the point that the noisy steps found."
        )?;
        // Without them an accuracy says nothing of rare outcomes.
        let alike = base.max(1.0 - base);
        writeln!(
            out,
            "A constant that knew the share of positive ones there, {base:.4}, would have {alike:.4} and {surprise:.4}."
        )?;
        writeln!(
            out,
            "These are exact figures of held-back records: NOT covered by the guarantee below. Do not publish"
        )?;
        writeln!(out, "them with the posterior unless those records are public.")?;
        writeln!(out)?;
    }
    writeln!(out, "{report}")?;
    for (what, path) in
        [("Model", &arguments.model), ("Picture", &arguments.svg), ("Results", &arguments.json)]
    {
        if let Some(path) = path {
            writeln!(out, "{what}: {}", path.display())?;
        }
    }
    Ok(out.flush()?)
}

/// The records of the table as numbers, and what the bounds say of its columns.
fn read(arguments: &FitArguments) -> crate::Result<(Design, Schema)> {
    let (path, condition) = (&arguments.data, &arguments.positive_if);
    let features = arguments.features.as_deref();
    let bounds = arguments.bounds.as_deref().map_or_else(|| Ok(Bounds::none()), Bounds::read);
    let bounds = match arguments.public_categories {
        true => bounds.map(Bounds::with_public_categories),
        false => bounds,
    };
    if let Ok(bounds) = &bounds
        && let Some(design) = Design::read_in_parts(path, bounds, condition, features, Intercept::Included)
    {
        return Ok((design, bounds.schema().clone()));
    }
    let (table, bounds) = (Table::read(path)?, bounds?);
    let table = bounds.complete(table, condition, features)?;
    let columns = Columns::read(&table, &bounds, condition, features, Intercept::Included)?;
    // The text takes more memory than the numbers, and nothing more is read from it.
    drop(table);
    Ok((columns.finish()?, bounds.schema().clone()))
}

fn described(
    weight: &WeightSummary,
    (sd_prior, sd_without_noise): (Option<f64>, Option<f64>),
    slope_in_original_units: f64,
    point: f64,
) -> Weight<'_> {
    let (mean, sd) = (weight.private.mean(), weight.private.sd());
    Weight {
        name: &weight.name,
        mean,
        sd,
        interval_90: weight.private.interval_90(),
        sd_prior,
        sd_without_noise,
        slope_in_original_units,
        point,
    }
}
