//! What was chosen for each array of a frontier, and why, for people.

use super::contribution::{Contribution, Core};
use super::cost::{Costs, Form};
use crate::base::Shape;
use crate::run::plan::Explanation;
use std::fmt;

/// How the per-record gradients with respect to each frontier array are contracted, and what is run for it;
/// print it.
#[derive(Clone, Debug)]
pub struct GradientExplanation {
    pub(super) arrays: Vec<ArrayExplanation>,
    pub(super) plan: Option<Explanation>,
}

impl GradientExplanation {
    /// The frontier arrays, in their order.
    #[must_use]
    pub fn arrays(&self) -> &[ArrayExplanation] {
        &self.arrays
    }

    /// What is run: the plan that computes norms and factors.
    #[must_use]
    pub fn plan(&self) -> Option<&Explanation> {
        self.plan.as_ref()
    }
}

/// The choice made for one frontier array.
#[derive(Clone, Debug)]
pub struct ArrayExplanation {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) group: usize,
    pub(super) uses: Vec<String>,
    pub(super) form: Form,
    pub(super) costs: Costs,
    pub(super) alternative: Option<Alternative>,
}

/// The way that was not chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alternative {
    pub(super) form: Form,
    pub(super) costs: Costs,
    /// Whether rounding, not cost, stands against it.
    pub(super) too_coarse: bool,
}

impl ArrayExplanation {
    /// The input's name, or the expression that the array is.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How its contributions are contracted.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// What a record adds to its gradient, one text for each use.
    #[must_use]
    pub fn uses(&self) -> &[String] {
        &self.uses
    }

    /// What the norm and the sum cost for each record, as chosen.
    #[must_use]
    pub fn costs(&self) -> Costs {
        self.costs
    }

    /// The other way and what it would cost, where there is one.
    #[must_use]
    pub fn alternative(&self) -> Option<(Form, Costs)> {
        self.alternative.map(|other| (other.form, other.costs))
    }
}

/// A contribution in words: `outer [3] x [4]`, `direct [3]`.
pub(super) fn describe(contribution: &Contribution<'_>) -> String {
    let text = match contribution.core {
        Core::Direct(value) => format!("direct {}", value.shape()),
        Core::Product { left, right } if left.shape().is_scalar() => format!("number x {}", right.shape()),
        Core::Product { left, right } => format!("outer {} x {}", left.shape(), right.shape()),
        Core::Scatter { rows, count, .. } => format!("rows {} of a table of {count}", rows.shape()),
        Core::Positions { left, right } => {
            let ([positions, p], [_, d]) = (left.sizes(), right.sizes());
            format!("outer [{p}] x [{d}], added up over {positions} positions")
        }
    };
    if contribution.scale.is_some() { format!("{text}, rescaled by a shared array") } else { text }
}

impl fmt::Display for GradientExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.arrays.iter().try_for_each(|array| array.fmt(f))?;
        self.plan.iter().try_for_each(|plan| plan.fmt(f))
    }
}

impl fmt::Display for ArrayExplanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, shape, group, uses, form, costs, alternative } = self;
        writeln!(f, "{name} {shape}, group {group}: {form}")?;
        for text in uses {
            writeln!(f, "    use: {text}")?;
        }
        if *form != Form::Untouched {
            writeln!(f, "    for each record: norm {}; sum {}", costs.norm, costs.sum)?;
        }
        if let Some(Alternative { form, costs, too_coarse }) = alternative {
            let why = if *too_coarse { "rounding would show in the norm" } else { "costs more" };
            writeln!(f, "    not {form} ({why}): norm {}; sum {}", costs.norm, costs.sum)?;
        }
        Ok(())
    }
}
