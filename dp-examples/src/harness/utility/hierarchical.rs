//! Hierarchical logistic regression: groups of records whose weights have a prior in common.

use std::path::Path;

use dp_accountant::Budget;
use dp_sampler::Seed;
use dp_vi::guides::AutoNormal;
use dp_vi::{Clipping, Correction, DpVi, Fit, Gradients, RecordWeights, Sensitive};
use ndarray::{Array1, Array2, ArrayView1};
use ppl_core::{Column, Ctx, Distribution, Records};
use ppl_distributions::{Bernoulli, Normal};

use super::files::{columns, features_and_labels, indices, others};
use super::{Failure, Outcome, Protocol, RunOutcome};
use crate::table::Table;
use crate::table::split::area_under_curve;

/// With a few hundred records and a metric of ranks only the direction of the weights counts: a small norm,
/// clipped to.
const CLIP_NORM: f64 = 1.0;

/// The model of section 3.3 of Prediger et al. 2022 (d3p), its group weights in the guide and centred.
///
/// ```text
/// M_dk ~ N(0, 1)     w_l ~ N(M g_l, I)     y_i ~ Bernoulli(1/(1 + exp(−x_i·w_{l_i})))
/// ```
///
/// # Errors
///
/// A `ppl_core::Error` where the records have not the columns `x`, `group` and `y`.
pub fn model(traits: &Array2<f64>) -> impl Fn(&mut Ctx<'_>) -> ppl_core::Result<()> + use<> {
    let traits = traits.clone();
    move |ctx: &mut Ctx<'_>| {
        let d = ctx.records().dim("x")?;
        let m = ctx.sample("M", Normal::new(0.0, 1.0).iid([d, traits.ncols()]))?;
        let traits = ctx.graph().array(&traits.clone().into_dyn());
        let w = ctx.sample("w", Normal::new(traits.matmul(m.transpose()), 1.0))?;
        ctx.each_record(|ctx, record| {
            let logit = record.get("x")?.dot(w.gather(record.index("group")?));
            ctx.observe("y", Bernoulli::from_logits(logit), record.get("y")?)
        })
    }
}

/// Records with the group of each.
#[derive(Debug, Clone)]
pub struct Part {
    /// Features, a row for each record.
    pub x: Array2<f64>,
    /// The number of each record's group.
    pub group: Array1<u32>,
    /// Labels, 0 or 1.
    pub y: Array1<f64>,
}

/// Training and test records, and the public traits of the groups, a row for each.
#[derive(Debug, Clone)]
pub struct Task {
    /// Groups × traits.
    pub traits: Array2<f64>,
    /// What is fitted.
    pub train: Part,
    /// What is ranked.
    pub test: Part,
}

/// How a fit differs from [`DpVi`]'s defaults, beside flat clipping to norm 1 without a correction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice {
    /// Budget; without privacy where there is none.
    pub budget: Option<Budget>,
    /// With respect to what gradients are taken.
    pub gradients: Gradients,
    /// Number of steps.
    pub steps: Option<u64>,
}

impl Task {
    /// Reads three files: `groups` holds the traits, both others have features, `group` and `y`.
    ///
    /// # Errors
    ///
    /// What is wrong with the files.
    pub fn read(train: &Path, test: &Path, groups: &Path) -> Result<Self, Failure> {
        let groups = Table::read(groups)?;
        let traits = columns(&groups, &others(&groups, &[]))?;
        let part = |path: &Path| -> Result<(Part, String), Failure> {
            let (table, x, y) = features_and_labels(path, &["group"])?;
            let group = indices(&table, "group", traits.nrows())?;
            Ok((Part { x, group, y }, table.name().to_owned()))
        };
        let (train, _) = part(train)?;
        let (test, name) = part(test)?;
        if test.x.ncols() != train.x.ncols() {
            let (found, expected) = (test.x.ncols(), train.x.ncols());
            return Err(
                format!("{name}: {found} columns of features, but the training file has {expected}").into()
            );
        }
        if area_under_curve(&vec![0.0; test.y.len()], &test.y.to_vec()).is_none() {
            return Err(
                format!("{name}: all records have the same label, so there is nothing to rank").into()
            );
        }
        Ok(Self { traits, train, test })
    }

    /// The training records behind the wall.
    ///
    /// # Errors
    ///
    /// Columns of different lengths.
    pub fn records(&self) -> Result<Sensitive<Records>, Failure> {
        let Part { x, group, y } = self.train.clone();
        let columns = [("x", Column::from(x)), ("group", Column::from(group)), ("y", Column::from(y))];
        Ok(Sensitive::new(Records::from_columns(columns)?))
    }

    /// One fit.
    ///
    /// # Errors
    ///
    /// What [`DpVi`] says.
    pub fn fit(&self, records: &Sensitive<Records>, choice: Choice, seed: Seed) -> Result<Fit, Failure> {
        let vi = DpVi::new(model(&self.traits), AutoNormal::new())
            .gradients(choice.gradients)
            .weights(RecordWeights::None)
            .correction(Correction::None)
            .seed(seed);
        let vi = match choice.steps {
            Some(steps) => vi.steps(steps),
            None => vi,
        };
        Ok(match choice.budget {
            Some(budget) => vi.budget(budget).clip_norm(CLIP_NORM).clipping(Clipping::Flat).fit(records)?,
            None => vi.without_privacy().fit(records)?,
        })
    }

    /// The area under the curve on the test records, ranked at the posterior's means.
    ///
    /// # Errors
    ///
    /// If all have the same label.
    pub fn area(&self, fit: &Fit) -> Result<f64, Failure> {
        let w = fit.posterior().mean("w")?;
        let score = |(x, &group): (ArrayView1<'_, f64>, &u32)| -> f64 {
            x.iter().enumerate().map(|(j, x)| x * w[[group as usize, j]]).sum()
        };
        let scores: Vec<f64> = self.test.x.rows().into_iter().zip(&self.test.group).map(score).collect();
        Ok(area_under_curve(&scores, &self.test.y.to_vec()).ok_or("nothing to rank")?)
    }
}

/// Fits the training file, ranks the records of the test file by their probability, and measures the area
/// under the curve; see [`Task::read`] for the files. Settings are the defaults but for flat clipping to norm 1
/// without a correction.
///
/// # Errors
///
/// What is wrong with the files, or a fit that fails.
pub fn measure(train: &Path, test: &Path, groups: &Path, protocol: &Protocol) -> Result<Outcome, Failure> {
    let task = Task::read(train, test, groups)?;
    let records = task.records()?;
    let choice =
        Choice { budget: Some(protocol.budget()), gradients: protocol.gradients, ..Choice::default() };
    protocol.measure("auc", |seed| {
        let fit = task.fit(&records, choice, Seed::for_tests(seed))?;
        RunOutcome::new(task.area(&fit)?, fit.privacy())
    })
}
