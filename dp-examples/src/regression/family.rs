//! Families of outcomes: what law they have given the predictor, and default priors.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::specification::FIRST_CUT;
use crate::logistic::WIDE_PRIOR_SCALE;

/// The law of an outcome given its linear predictor `η`.
///
/// | family | outcome | law | beside the coefficients |
/// |---|---|---|---|
/// | `bernoulli` | yes or no | Bernoulli, probability `1/(1 + e^−η)` | |
/// | `gaussian` | a number | Normal(η, σ) | σ ~ HalfNormal(1) |
/// | `student` | a number, with outliers | StudentT(ν, η, σ) | σ ~ HalfNormal(1), ν ~ Gamma(2, 0.1) |
/// | `poisson` | a count | Poisson(e^η) | |
/// | `negative-binomial` | a count that varies more | mean e^η, variance e^η + e^2η/φ | φ ~ LogNormal(1, 1) |
/// | `zero-inflated-poisson` | a count with more zeros | 0 with probability π, else Poisson(e^η) | π ~ Beta(1, 1) |
/// | `ordinal` | ordered categories | P(y ≤ k) = 1/(1 + e^(η − c_k)) | first cut ~ Normal(−1.5, 3), gaps ~ HalfNormal(2) |
///
/// Priors are on the scale of the public bounds: numbers are scaled to `[-1, 1]`, and so is the outcome of `gaussian`
/// and `student`. There σ is in half-widths of the outcome's bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Yes or no.
    Bernoulli,
    /// Numbers with normal errors.
    Gaussian,
    /// Numbers with outliers.
    Student,
    /// Counts.
    Poisson,
    /// Counts that vary more than Poisson's.
    NegativeBinomial,
    /// Counts with more zeros than Poisson's.
    ZeroInflatedPoisson,
    /// Ordered categories.
    Ordinal,
}

impl Family {
    /// All of them, with their names.
    pub const ALL: [(&'static str, Self); 7] = [
        ("bernoulli", Self::Bernoulli),
        ("gaussian", Self::Gaussian),
        ("student", Self::Student),
        ("poisson", Self::Poisson),
        ("negative-binomial", Self::NegativeBinomial),
        ("zero-inflated-poisson", Self::ZeroInflatedPoisson),
        ("ordinal", Self::Ordinal),
    ];

    /// Whether the outcome is a count.
    #[must_use]
    pub fn counts(self) -> bool {
        matches!(self, Self::Poisson | Self::NegativeBinomial | Self::ZeroInflatedPoisson)
    }

    /// Whether the outcome is a number that is scaled.
    #[must_use]
    pub fn scaled(self) -> bool {
        matches!(self, Self::Gaussian | Self::Student)
    }

    /// Location and scale of the normal prior of an intercept, and scale of that of other coefficients, for an outcome
    /// of at most `high`.
    ///
    /// A slope is the change of the predictor from the middle of a column's bounds to one of them: for numbers in
    /// half-widths of the outcome's bounds, for counts in the logarithm of their mean. The mean of counts up to `high`
    /// is anywhere between about 1 and `high`. Slopes of `bernoulli` and `ordinal` have the wide prior of [`WIDE_PRIOR_SCALE`]
    /// where all are shared, and a standard deviation of 4 where some are by group. The intercept of `ordinal` is minus
    /// the first cutpoint.
    #[must_use]
    pub fn default_priors(self, high: f64, grouped: bool) -> ((f64, f64), f64) {
        match self {
            Self::Bernoulli if !grouped => ((0.0, WIDE_PRIOR_SCALE), WIDE_PRIOR_SCALE),
            Self::Bernoulli => ((0.0, 4.0), 4.0),
            Self::Ordinal => ((-FIRST_CUT.0, FIRST_CUT.1), if grouped { 4.0 } else { WIDE_PRIOR_SCALE }),
            Self::Gaussian | Self::Student => ((0.0, 2.0), 2.0),
            Self::Poisson | Self::NegativeBinomial | Self::ZeroInflatedPoisson => {
                let middle = 0.5 * high.max(1.0).ln_1p();
                ((middle, 1.0 + middle), 1.0)
            }
        }
    }

    /// What the predictor is a function of, in words.
    #[must_use]
    pub fn scale_in_words(self) -> &'static str {
        match self {
            Self::Bernoulli => "log odds",
            Self::Ordinal => "log odds of a higher category",
            Self::Gaussian | Self::Student => "units of the outcome",
            Self::ZeroInflatedPoisson => "the logarithm of the mean of counts that may be more than zero",
            _ => "the logarithm of the mean",
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::ALL.iter().find(|(_, family)| family == self).map_or("", |(name, _)| name))
    }
}

impl FromStr for Family {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text.replace('_', "-"));
        found.map(|(_, family)| *family).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(name, _)| *name).collect();
            format!("expected one of {}", names.join(", "))
        })
    }
}
