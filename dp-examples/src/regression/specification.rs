//! Regressions as models in the project's own language, on the scale of the public bounds.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use dp_vi::FeatureNorms;
use ndarray::{Array1, Array2};
use ppl_core::{Column, Ctx, Distribution, Records};
use ppl_distributions::{
    Bernoulli, Beta, Gamma, HalfNormal, LogNormal, NegativeBinomial, Normal, OrderedLogistic, Poisson,
    StudentT, ZeroInflated,
};
use serde::{Deserialize, Serialize};

use super::family::Family;
use super::outcome::Outcome;
use super::prior::{Law, NamedPrior};
use crate::formula::matrix::{ColumnOf, Design, Matrix, Power, by_rows};
use crate::{Error, Result};

/// A column of a design matrix and how it is scaled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScaledColumn {
    /// What it is.
    pub of: ColumnOf,
    /// How many times other columns are taken off, by their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub less: Vec<(String, f64)>,
    /// What is taken off beside them.
    pub centre: f64,
    /// What it is divided by then.
    pub width: f64,
    /// Mean and standard deviation of the coefficient's prior.
    pub prior: (f64, f64),
}

/// Coefficients by group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupSpecification {
    /// The column of the groups.
    pub column: String,
    /// The groups.
    pub levels: Vec<String>,
    /// What is multiplied by a group's coefficients.
    pub columns: Vec<ScaledColumn>,
    /// The scale of the half-normal prior of the coefficients' spread among groups.
    pub spread: f64,
}

/// A regression: everything about it that does not depend on the records.
///
/// ```text
/// η_i = Σ_j b_j (x_ij − Σ_k a_jk x_ik − c_j)/h_j + (offset_i − c_0)/h + Σ_groups Σ_k u_{g(i) k} (z_ik − c_k)/h_k
/// b_j ~ Normal(m_j, s_j)      u_gk ~ Normal(0, τ_k)      τ_k ~ HalfNormal(spread)      y_i ~ family(η_i)
/// ```
///
/// `c` and `h` are middle and half-width of a column's public range where there is an intercept, or categories with a
/// column for each that take its place, and 0 and the larger end where there is neither. A product of numbers, or of
/// numbers and a category, is that of numbers less their middles, where the columns that are then taken off, its
/// margins, are in the regression, too: `year:sex[T.m]` less 2005 times `sex[T.m]`. Otherwise a prior would depend on
/// where zero is: of years from 1990 to 2020 the product reaches from 0 to 2020, and a difference of slopes that
/// matters would be ten of its deviations from zero. Where there is an intercept `c_0` is the largest offset of the
/// public bounds for counts, so that the intercept and its prior are those of a record with the largest exposure, and
/// the middle of them for outcomes that are scaled; else it is 0. Intercepts and slopes of one group are independent of
/// one another, given their spreads. Of ordinal outcomes the intercept is minus the first cutpoint, so that a fit finds
/// coordinates for it with the others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Specification {
    /// The law of the outcome.
    pub family: Family,
    /// The outcome.
    pub outcome: Outcome,
    /// Coefficients that all records share.
    pub columns: Vec<ScaledColumn>,
    /// Coefficients by group.
    pub groups: Vec<GroupSpecification>,
    /// Whether there is an offset.
    pub offset: bool,
    /// What is taken off the offset, and in the units of the file off the intercept.
    #[serde(default)]
    pub offset_centre: f64,
    /// Middle and half-width of the outcome's public range, where it is scaled; else 0 and 1.
    pub outcome_scale: (f64, f64),
    /// The scale of the half-normal prior of σ.
    pub sigma: f64,
}

/// Mean and standard deviation of the normal prior of the first cutpoint.
pub(super) const FIRST_CUT: (f64, f64) = (-1.5, 3.0);

/// The scale of the half-normal prior of what lies between two cutpoints.
pub(super) const GAP: f64 = 2.0;

/// Most coefficients by group. Matrices over all of them, which are diagonal but held whole, take 2.4 GB for as many.
const MOST_GROUPED: usize = 10_000;

fn scaled(matrix: &Matrix, centred: bool, products: bool) -> Vec<ScaledColumn> {
    let scale = |of: &ColumnOf| {
        if products && let Some(product) = centred_product(of, matrix, centred) {
            return product;
        }
        let (centre, width) = match (of.indicator || of.name == "Intercept", centred) {
            (true, _) => (0.0, 1.0),
            (false, true) => (0.5 * (of.low + of.high), 0.5 * (of.high - of.low)),
            (false, false) => (0.0, of.low.abs().max(of.high.abs())),
        };
        // A column that is the same for all records has no width.
        let width = if width > 0.0 { width } else { 1.0 };
        ScaledColumn { of: of.clone(), less: Vec::new(), centre, width, prior: (0.0, 1.0) }
    };
    matrix.columns.iter().map(scale).collect()
}

/// A product, less what makes it one of numbers less their middles, and divided by the largest that this may be:
///
/// ```text
/// Π_k (x_k − m_k)^p_k = Σ_{q ≤ p} Π_k (p_k over q_k) (−m_k)^(p_k − q_k) x_k^q_k
/// ```
///
/// `None` for what is no product, and where a column of the sum is not in the matrix.
fn centred_product(of: &ColumnOf, matrix: &Matrix, centred: bool) -> Option<ScaledColumn> {
    let total: u32 = of.powers.iter().map(|power| power.exponent).sum();
    if of.indicator || total == 0 || (total == 1 && of.categories.is_empty()) {
        return None;
    }
    let middle = |power: &Power| 0.5 * (power.low + power.high);
    let (mut less, mut centre) = (Vec::new(), 0.0);
    // All exponents that are no larger, the first counted fastest.
    let sizes: Vec<u32> = of.powers.iter().map(|power| power.exponent + 1).collect();
    let terms = sizes.iter().try_fold(1_u32, |terms, size| terms.checked_mul(*size)).filter(|n| *n <= 256)?;
    for number in 0..terms - 1 {
        let mut rest = number;
        let exponents: Vec<u32> = sizes
            .iter()
            .map(|size| {
                let exponent = rest % size;
                rest /= size;
                exponent
            })
            .collect();
        let factor: f64 = of
            .powers
            .iter()
            .zip(&exponents)
            .map(|(power, q)| choose(power.exponent, *q) * (-middle(power)).powi((power.exponent - q) as i32))
            .product();
        if factor == 0.0 {
            continue;
        }
        let wanted: Vec<(&str, u32)> = of
            .powers
            .iter()
            .zip(&exponents)
            .filter(|(_, q)| **q > 0)
            .map(|(power, q)| (power.of.as_str(), *q))
            .collect();
        if wanted.is_empty() && of.categories.is_empty() {
            if !centred {
                return None;
            }
            centre -= factor;
            continue;
        }
        let is_margin = |other: &&ColumnOf| {
            other.categories == of.categories
                && other.powers.len() == wanted.len()
                && wanted.iter().all(|(of, exponent)| {
                    other.powers.iter().any(|power| power.of == *of && power.exponent == *exponent)
                })
        };
        let margin = matrix.columns.iter().find(is_margin)?;
        less.push((margin.name.clone(), -factor));
    }
    let width = |power: &Power| (0.5 * (power.high - power.low)).powi(power.exponent as i32);
    let width: f64 = of.powers.iter().map(width).product();
    let is_usable =
        width.is_finite() && centre.is_finite() && less.iter().all(|(_, times)| times.is_finite());
    let width = if width > 0.0 { width } else { 1.0 };
    is_usable.then(|| ScaledColumn { of: of.clone(), less, centre, width, prior: (0.0, 1.0) })
}

/// Whether it is a product of numbers less their middles, which may be 0 anyway.
fn is_centred_product(column: &ScaledColumn) -> bool {
    let powers = &column.of.powers;
    let total: u32 = powers.iter().map(|power| power.exponent).sum();
    let is_product = !column.of.indicator && (total > 1 || (total == 1 && !column.of.categories.is_empty()));
    is_product && (!column.less.is_empty() || powers.iter().all(|power| power.low == -power.high))
}

/// The binomial coefficient.
fn choose(n: u32, k: u32) -> f64 {
    (0..k).map(|i| f64::from(n - i) / f64::from(i + 1)).product()
}

impl Specification {
    /// A regression of an outcome on the columns of a design; priors that are not named are the family's.
    ///
    /// # Errors
    ///
    /// [`Error::Formula`] for priors of what is not there, for ordinal outcomes without an intercept, for counts with
    /// an offset and effects by group without one, and for more than 10,000 coefficients by group.
    pub fn new(family: Family, outcome: Outcome, design: &Design, priors: &[NamedPrior]) -> Result<Self> {
        let wrong = |reason: String| Error::Formula { reason };
        let intercept = design.matrix.columns.iter().any(is_constant);
        if family == Family::Ordinal && !design.matrix.columns.iter().any(|column| column.name == "Intercept")
        {
            let told =
                "cutpoints take the place of the intercept of ordinal outcomes: leave '0 +' or '- 1' out";
            return Err(wrong(told.to_owned()));
        }
        // An offset is centred by what the intercept is, and counts of a hundred times the mean are where a fit is
        // lost.
        if family.counts() && design.offset.is_some() && !intercept && !design.groups.is_empty() {
            let told =
                "counts with an offset and effects by group need an intercept: leave '0 +' or '- 1' out";
            return Err(wrong(told.to_owned()));
        }
        let mut columns = scaled(&design.matrix, intercept, true);
        let ((location, scale), slope) = family.default_priors(outcome.high, !design.groups.is_empty());
        for column in &mut columns {
            column.prior = if is_constant(&column.of) { (location, scale) } else { (0.0, slope) };
        }
        let spread = if matches!(family, Family::Bernoulli | Family::Ordinal) { 2.0 } else { 1.0 };
        let group = |group: &crate::formula::matrix::GroupMatrix| GroupSpecification {
            column: group.column.clone(),
            levels: group.levels.clone(),
            columns: scaled(
                &group.matrix,
                group.matrix.columns.iter().any(|column| column.name == "Intercept"),
                false,
            ),
            spread,
        };
        let mut groups: Vec<GroupSpecification> = design.groups.iter().map(group).collect();
        let mut sigma = 1.0;
        for (place, NamedPrior { name, law }) in priors.iter().enumerate() {
            if priors[..place].iter().any(|other| other.name == *name) {
                return Err(wrong(format!("--prior: there are two of '{name}', and one is meant")));
            }
            let mut used = false;
            match law {
                Law::Normal { location, scale } => {
                    let is_meant = |column: &&mut ScaledColumn| {
                        (column.of.name == *name || column.of.term == *name)
                            && !is_first_cut(family, &column.of)
                    };
                    for column in columns.iter_mut().filter(is_meant) {
                        (column.prior, used) = ((*location, *scale), true);
                    }
                }
                Law::HalfNormal { scale } if name == "sigma" && family.scaled() => {
                    (sigma, used) = (*scale, true)
                }
                Law::HalfNormal { scale } => {
                    for group in groups.iter_mut().filter(|group| *name == format!("sd({})", group.column)) {
                        (group.spread, used) = (*scale, true);
                    }
                }
            }
            if !used {
                let own = columns.iter().filter(|column| !is_first_cut(family, &column.of));
                let mut names: Vec<String> = own.map(|column| column.of.name.clone()).collect();
                names.extend(family.scaled().then(|| "sigma (halfnormal)".to_owned()));
                names.extend(groups.iter().map(|group| format!("sd({}) (halfnormal)", group.column)));
                return Err(wrong(format!(
                    "--prior: there is no coefficient or term '{name}' with such a prior; there are {}",
                    names.join(", ")
                )));
            }
        }
        let outcome_scale = outcome.scale(family, intercept);
        let offset = design.offset.is_some();
        let (least, largest) = design.offset_range;
        let offset_centre = match intercept && offset {
            true if family.counts() => largest,
            true if family.scaled() => 0.5 * (least + largest),
            _ => 0.0,
        };
        let found = Self { family, outcome, columns, groups, offset, offset_centre, outcome_scale, sigma };
        match found.grouped() {
            count if count > MOST_GROUPED => Err(wrong(format!(
                "the formula has {count} coefficients by group; at most {MOST_GROUPED} are fitted. Groups of fewer \
                 categories, or fewer terms before the '|', have fewer"
            ))),
            _ => Ok(found),
        }
    }

    /// The columns whose coefficients are said: all but the intercept of ordinal outcomes, which is a cutpoint.
    pub(super) fn said_columns(&self) -> Cow<'_, [ScaledColumn]> {
        match self.family {
            Family::Ordinal => {
                self.columns.iter().filter(|column| !is_first_cut(self.family, &column.of)).cloned().collect()
            }
            _ => Cow::Borrowed(&self.columns),
        }
    }

    /// How many coefficients by group there are.
    pub(super) fn grouped(&self) -> usize {
        self.groups.iter().map(|group| group.levels.len() * group.columns.len()).sum()
    }

    /// The records of a design as the model sees them. **As sensitive as the file.**
    ///
    /// # Errors
    ///
    /// A `ppl_core::Error` where lengths differ.
    pub fn records(&self, design: &Design, outcomes: &[f64]) -> ppl_core::Result<Records> {
        self.records_of(design.clone(), outcomes)
    }

    /// The same of a design that is not needed any more: its numbers are scaled where they are.
    ///
    /// # Errors
    ///
    /// As [`records`](Self::records).
    pub fn records_of(&self, design: Design, outcomes: &[f64]) -> ppl_core::Result<Records> {
        let Design { matrix, groups, offset, .. } = design;
        let (centre, width) = self.outcome_scale;
        let y: Array1<f64> = outcomes.iter().map(|y| (y - centre) / width).collect();
        let mut records = Records::from_columns([("y", Column::from(y))])?;
        if !self.columns.is_empty() {
            records = records.with_column("x", scale_matrix(matrix, &self.columns))?;
        }
        if let Some(offset) = &offset {
            records = records.with_column(
                "offset",
                offset.iter().map(|x| (x - self.offset_centre) / width).collect::<Vec<f64>>(),
            )?;
        }
        for (k, (group, found)) in self.groups.iter().zip(groups).enumerate() {
            records = records
                .with_column(format!("z{k}"), scale_matrix(found.matrix, &group.columns))?
                .with_column(format!("g{k}"), found.codes)?;
        }
        Ok(records)
    }

    /// Centre and half-width by which coefficients are brought into the units of the file.
    pub(super) fn units(&self) -> (f64, f64) {
        (self.outcome_scale.0 - self.offset_centre, self.outcome_scale.1)
    }

    /// What the mean outcome is, in words.
    pub(crate) fn outcome_in_words(&self) -> String {
        let Outcome { name, levels, .. } = &self.outcome;
        match (self.family, levels.as_slice()) {
            (Family::Bernoulli, [no, yes]) if yes == "yes" || *no == format!("not {yes}") => {
                format!("P({name})")
            }
            (Family::Bernoulli, [_, yes]) => format!("P({name}: {yes})"),
            (Family::Ordinal, [first, ..]) => format!("place of {name}, from 0 for {first}"),
            _ => format!("mean {name}"),
        }
    }

    /// The model.
    pub fn model(&self) -> impl Fn(&mut Ctx<'_>) -> ppl_core::Result<()> + use<> {
        let this = self.clone();
        move |ctx: &mut Ctx<'_>| this.run(ctx, None)
    }

    /// The model of a family for values beside the coefficients that are known: σ, σ and `ν`, `φ`, or the share of
    /// zeros.
    pub(super) fn model_given(
        &self,
        known: Vec<f64>,
    ) -> impl Fn(&mut Ctx<'_>) -> ppl_core::Result<()> + use<> {
        let this = self.clone();
        move |ctx: &mut Ctx<'_>| this.run(ctx, Some(&known))
    }

    fn run(&self, ctx: &mut Ctx<'_>, known: Option<&[f64]>) -> ppl_core::Result<()> {
        let graph = ctx.graph();
        let prior = |which: fn(&ScaledColumn) -> f64| {
            graph.array(&self.columns.iter().map(which).collect::<Array1<f64>>().into_dyn())
        };
        let b = match self.columns.is_empty() {
            true => None,
            false => {
                let law = Normal::new(prior(|column| column.prior.0), prior(|column| column.prior.1));
                Some(ctx.sample("b", law)?)
            }
        };
        let mut groups = Vec::with_capacity(self.groups.len());
        for (k, group) in self.groups.iter().enumerate() {
            let spread =
                ctx.sample(&format!("sd{k}"), HalfNormal::new(group.spread).iid(group.columns.len()))?;
            groups.push(ctx.sample(&format!("u{k}"), Normal::new(0.0, spread).iid(group.levels.len()))?);
        }
        let known = known.map(|values| values.iter().map(|value| graph.constant(*value)).collect::<Vec<_>>());
        let (first, last) = match &known {
            Some(values) => (values.first().copied(), values.last().copied()),
            None => (None, None),
        };
        let sigma = match first {
            Some(_) => first,
            None if self.family.scaled() => Some(ctx.sample("sigma", HalfNormal::new(self.sigma))?),
            None => None,
        };
        let more = match self.family {
            _ if last.is_some() => last,
            Family::Student => Some(ctx.sample("nu", Gamma::new(2.0, 0.1))?),
            Family::NegativeBinomial => Some(ctx.sample("phi", LogNormal::new(1.0, 1.0))?),
            Family::ZeroInflatedPoisson => Some(ctx.sample("zeros", Beta::new(1.0, 1.0))?),
            Family::Ordinal => {
                // The intercept is minus the first.
                let first = graph.array(&Array1::<f64>::zeros(1).into_dyn());
                match self.outcome.levels.len().saturating_sub(2) {
                    0 => Some(first),
                    gaps => {
                        let gaps = ctx.sample("gaps", HalfNormal::new(GAP).iid(gaps))?;
                        Some(graph.concat(&[first, gaps.cumsum(0)], 0))
                    }
                }
            }
            _ => None,
        };
        ctx.each_record(|ctx, record| {
            let mut eta = match b {
                Some(b) => record.get("x")?.dot(b),
                None => graph.constant(0.0),
            };
            if self.offset {
                eta = eta + record.get("offset")?;
            }
            for (k, group) in groups.iter().enumerate() {
                eta = eta + record.get(&format!("z{k}"))?.dot(group.gather(record.index(&format!("g{k}"))?));
            }
            let y = record.get("y")?;
            match (self.family, sigma, more) {
                (Family::Gaussian, Some(sigma), _) => ctx.observe("y", Normal::new(eta, sigma), y),
                (Family::Student, Some(sigma), Some(nu)) => {
                    ctx.observe("y", StudentT::new(nu, eta, sigma), y)
                }
                (Family::Poisson, ..) => ctx.observe("y", Poisson::from_log_rate(eta), y),
                (Family::NegativeBinomial, _, Some(phi)) => {
                    ctx.observe("y", NegativeBinomial::from_mean(eta.exp(), phi), y)
                }
                (Family::ZeroInflatedPoisson, _, Some(zeros)) => {
                    ctx.observe("y", ZeroInflated::from_probs(Poisson::from_log_rate(eta), zeros), y)
                }
                (Family::Ordinal, _, Some(cuts)) => ctx.observe("y", OrderedLogistic::new(eta, cuts), y),
                _ => ctx.observe("y", Bernoulli::from_logits(eta), y),
            }
        })
    }

    /// What is expected of the square of each column on the model's scale, if numbers were spread evenly over their
    /// public bounds and categories were equally frequent.
    pub(crate) fn expected_squares(&self) -> Vec<f64> {
        let mut terms = BTreeMap::<&str, f64>::new();
        for column in self.columns.iter().filter(|column| column.of.indicator) {
            *terms.entry(&column.of.term).or_default() += 1.0;
        }
        let of = |column: &ScaledColumn| {
            if column.of.name == "Intercept" {
                return 1.0;
            }
            match terms.get(column.of.term.as_str()).filter(|_| column.of.indicator) {
                // `sex[f]`, where the baseline has a column, too; without, `sex[T.m]`, and whether a number is missing.
                Some(columns) if column.of.name.contains('[') && !column.of.name.contains("[T.") => {
                    1.0 / columns
                }
                Some(columns) => 1.0 / (columns + 1.0),
                None if is_centred_product(column) => {
                    // Each number is spread evenly around its middle.
                    let of = |power: &Power| f64::from(2 * power.exponent + 1).recip();
                    column.of.powers.iter().map(of).product()
                }
                None => {
                    let at = |value: f64| (value - column.centre) / column.width;
                    let (low, high) = (at(column.of.low), at(column.of.high));
                    (low * low + low * high + high * high) / 3.0
                }
            }
        };
        self.columns.iter().map(of).collect()
    }

    /// What is public of the norms of records' features, as of [`crate::logistic::design::Design::feature_norms`].
    pub(crate) fn feature_norms(&self) -> FeatureNorms {
        let (mut largest, mut terms) = (0.0_f64, BTreeSet::new());
        for column in &self.columns {
            // A record has one category of a term.
            let counts = !column.of.indicator || terms.insert(&column.of.term);
            largest += f64::from(u8::from(counts));
        }
        let typical: f64 = self.expected_squares().iter().sum();
        FeatureNorms { typical: typical.sqrt(), largest: largest.sqrt() }
    }
}

/// Whether a coefficient is minus the first cutpoint of an ordinal outcome.
pub(super) fn is_first_cut(family: Family, of: &ColumnOf) -> bool {
    family == Family::Ordinal && of.name == "Intercept"
}

/// Whether a column is the constant term, or one of those that take its place.
pub(super) fn is_constant(of: &ColumnOf) -> bool {
    of.name == "Intercept" || of.spans
}

/// The places of products, with the places of their margins and how many times each is taken off.
pub(super) type Margins = Vec<(usize, Vec<(usize, f64)>)>;

/// Of each product what is taken off: products of more numbers before those of fewer.
pub(super) fn margins(columns: &[ScaledColumn]) -> Margins {
    let place = |name: &String| columns.iter().position(|column| column.of.name == *name);
    let of = |column: &ScaledColumn| -> Vec<(usize, f64)> {
        column.less.iter().filter_map(|(name, times)| Some((place(name)?, *times))).collect()
    };
    let mut found: Margins = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| !column.less.is_empty())
        .map(|(j, column)| (j, of(column)))
        .collect();
    let total = |j: usize| columns[j].of.powers.iter().map(|power| power.exponent).sum::<u32>();
    found.sort_by_key(|(j, _)| std::cmp::Reverse(total(*j)));
    found
}

/// The columns that the model has, scaled.
fn scale_matrix(matrix: Matrix, columns: &[ScaledColumn]) -> Array2<f64> {
    let places: Vec<usize> = columns
        .iter()
        .filter_map(|column| matrix.columns.iter().position(|other| other.name == column.of.name))
        .collect();
    let mut values = match places.iter().copied().eq(0..matrix.columns.len()) {
        true => matrix.values,
        false => matrix.values.select(ndarray::Axis(1), &places),
    };
    let less = margins(columns);
    by_rows(&mut values, |row| {
        // Products first, from what their margins are in the file.
        for (place, margins) in &less {
            let taken: f64 = margins.iter().map(|(margin, times)| times * row[*margin]).sum();
            row[*place] -= taken;
        }
        for (x, column) in row.iter_mut().zip(columns) {
            *x = (*x - column.centre) / column.width;
        }
    });
    values
}
