//! Arrays of expected statistics, and the posterior factors that they belong to.

use super::family::normal_rows_log_partition;
use crate::base::Shape;
use crate::model::{Constraint, ExponentialFamily, Statistic};
use crate::op::Var;

/// An array of expected statistics of a shared latent value: an input of the programs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Block<'g> {
    /// The site.
    pub site: String,
    /// Which statistic.
    pub statistic: Statistic,
    /// Whether it is the sum over the leading axes, one matrix for all rows.
    pub total: bool,
    /// The name of the input.
    pub name: String,
    /// The input.
    pub input: Var<'g>,
    /// Whether records touch it.
    pub touched: bool,
    /// Whether a record's expected statistics are proved to have no negative element, or, of a matrix, none of its
    /// quadratic forms is negative; of either sign, the same for all records.
    pub one_sign: bool,
    /// What the absolute values of a record's expected statistics come to at most, where such a number is proved: 1 for
    /// a categorical observation or the distribution of one that is summed out, whose statistics are probabilities.
    /// So it bounds their norm.
    pub most: Option<f64>,
}

impl Block<'_> {
    /// Number of elements.
    #[must_use]
    pub fn elements(&self) -> usize {
        self.input.shape().elements()
    }
}

/// What a posterior factor is.
pub(super) enum Law<'g> {
    /// Of the prior's family.
    Prior(Box<dyn ExponentialFamily<'g> + 'g>),
    /// Normal vectors along the last axis, with a covariance for each or for all of them.
    NormalRows,
}

/// The posterior factor of a shared latent value.
pub struct Factor<'g> {
    /// The site.
    pub site: String,
    /// The name of the family.
    pub family: &'static str,
    /// Where the value lies.
    pub support: Constraint,
    /// Shape of the value.
    pub shape: Shape,
    /// The places of its blocks among all, in the order of the natural parameters.
    pub blocks: Vec<usize>,
    pub(super) law: Law<'g>,
}

impl<'g> Factor<'g> {
    /// `A(η)` of the factor, for natural parameters in the shapes of its blocks.
    #[must_use]
    #[track_caller]
    pub fn log_partition(&self, natural: &[Var<'g>]) -> Var<'g> {
        match &self.law {
            Law::Prior(family) => family.log_partition(natural),
            Law::NormalRows => normal_rows_log_partition(natural[0], natural[1]),
        }
    }
}

impl std::fmt::Debug for Factor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for '{}' {}", self.family, self.site, self.shape)
    }
}
