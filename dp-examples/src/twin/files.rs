//! What the files of a twin say: the model, and what it cost.

use std::path::Path;

use dp_accountant::{Certified, Composition, Ledger};
use serde::Serialize;

use super::model::{FORMAT, Model, NEWEST, OLDEST};
use super::uncertainty::Sizes;
use super::{Error, Result};

impl Model {
    /// The model as JSON.
    ///
    /// # Errors
    /// None for a model.
    pub fn to_json(&self) -> Result<Vec<u8>> {
        let mut text = serde_json::to_vec(self).map_err(|error| Error::input(format!("model: {error}")))?;
        text.push(b'\n');
        Ok(text)
    }
}

/// Reads a model that [`Model::to_json`] wrote.
///
/// # Errors
/// Another file, one of a newer version, or one that is damaged.
pub fn read_model(path: &Path) -> Result<Model> {
    #[derive(serde::Deserialize)]
    struct Header {
        format: String,
        version: u32,
    }
    let name = path.display();
    let bytes = crate::table::read_file(path)?;
    let header: Header = serde_json::from_slice(&bytes)
        .map_err(|_| Error::input(format!("{name}: not a model that `twin fit` wrote")))?;
    if header.format != FORMAT {
        return Err(Error::input(format!("{name}: not a model that `twin fit` wrote")));
    }
    if header.version > NEWEST {
        let told =
            format!("{name}: version {} of the format; this program reads up to {NEWEST}", header.version);
        return Err(Error::input(told));
    }
    if header.version < OLDEST {
        return Err(Error::input(format!(
            "{name}: version {} of the format, which this program no longer reads; make the twin again",
            header.version
        )));
    }
    let mut model: Model = serde_json::from_slice(&bytes).map_err(|error| {
        Error::input(format!("{name}: damaged at line {}, column {}", error.line(), error.column()))
    })?;
    model.complete().map_err(|error| Error::input(format!("{name}: {error}")))?;
    Ok(model)
}

/// What intervals that are combined from several twins speak for.
const INTERVALS: &str = "intervals combined from several twins by the rule of Raghunathan, Reiter and Rubin (2003) account for \
                         the noise and for sampling the records, given that columns not measured together depend on each \
                         other only through those that were; intervals from one twin alone do not, and one of more rows than \
                         there are records would say that more is known than is";

/// What was spent, as JSON: the guarantee, and the events that it is computed from.
///
/// # Errors
/// None after a debit that was made.
pub fn privacy_json(model: &Model, sizes: Sizes, events: &Composition, ledger: &Ledger) -> Result<Vec<u8>> {
    #[derive(Serialize)]
    struct Privacy<'a> {
        private: bool,
        epsilon: Certified,
        delta: f64,
        neighbours_differ_by: &'a str,
        events: Vec<(String, u64)>,
        ledger_spent: Certified,
        ledger_delta: f64,
        left_out_columns: &'a [String],
        treated_as_public: &'a [String],
        measured_together: Vec<Vec<&'a str>>,
        pairs_measured_together: usize,
        pairs: usize,
        latent_classes: Option<usize>,
        twins: u64,
        rows_of_each: u64,
        rows_per_record: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        intervals: Option<&'static str>,
        not_covered: [&'static str; 3],
    }
    let budget = ledger.budget();
    let cost =
        dp_accountant::Accountant::new(budget.relation).with(events).epsilon(model.provenance.delta)?;
    let (pairs_measured_together, pairs) = model.pairs_measured();
    let rows_of_each = sizes.rows_of_each(model);
    let privacy = Privacy {
        private: model.provenance.secret,
        epsilon: cost,
        delta: model.provenance.stated_delta(),
        neighbours_differ_by: &model.provenance.relation,
        events: events.iter().map(|(event, count)| (event.to_string(), count)).collect(),
        ledger_spent: ledger.spent()?,
        ledger_delta: budget.delta,
        left_out_columns: &model.provenance.left_out,
        treated_as_public: &model.provenance.treated_as_public,
        measured_together: model.measured_together(),
        pairs_measured_together,
        pairs,
        latent_classes: model.classes(),
        twins: sizes.twins,
        rows_of_each,
        rows_per_record: rows_of_each as f64 / model.records,
        // Twins of latent classes cannot be combined.
        intervals: model.classes().is_none().then_some(INTERVALS),
        not_covered: [
            "the schema: bounds and categories have to be chosen without looking at the records",
            "running time and error messages",
            "`twin check`, `twin report --test` and `--count-clamped`, whose figures are exact figures of real rows",
        ],
    };
    let mut text =
        serde_json::to_vec_pretty(&privacy).map_err(|error| Error::input(format!("privacy: {error}")))?;
    text.push(b'\n');
    Ok(text)
}

/// Most sets of columns that are printed.
const MOST_SETS: usize = 40;

/// What the program prints: what was made, and what it cost.
#[must_use]
pub fn summary(model: &Model, sizes: Sizes, folder: &str) -> String {
    let cost = &model.provenance;
    let mut text = format!(
        "A twin of about {:.0} records and {} columns: {folder}\n",
        model.records,
        model.columns().len()
    );
    if sizes.twins > 1 {
        text += &format!(
            "{} twins of {} rows each, to be analysed one by one and combined: an interval from one of them alone is \
             wrong\n",
            sizes.twins,
            sizes.rows_of_each(model)
        );
    }
    if !cost.left_out.is_empty() {
        text += &format!("Left out, for the schema has no line for them: {}\n", cost.left_out.join(", "));
    }
    for statement in &cost.treated_as_public {
        text += &format!("Treated as public, and not covered: {statement}\n");
    }
    if let Some(classes) = model.classes() {
        text += &format!("  {classes} latent classes, within which columns are independent\n");
    }
    let sets = model.measured_together();
    for set in sets.iter().take(MOST_SETS) {
        text += &format!("  measured together: {}\n", set.join(", "));
    }
    if sets.len() > MOST_SETS {
        text += &format!("  and {} more, in privacy.json\n", sets.len() - MOST_SETS);
    }
    let delta = cost.stated_delta();
    if delta * model.records >= 1.0 {
        text += &format!(
            "WARNING: this delta is too large. Publishing {:.0} of the records whole, chosen at random, would keep to it; choose one \
             well below {:.1e}, one in the number of records.\n",
            delta * model.records,
            1.0 / model.records
        );
    }
    match cost.secret {
        true => {
            text + &format!(
                "({}, {:e})-differential privacy, for data sets that differ by {}.\n",
                dp_accountant::rounded_up(cost.epsilon),
                delta,
                cost.relation
            )
        }
        false => text + "NOT private: the noise came from a seed that is known, for tests.\n",
    }
}
