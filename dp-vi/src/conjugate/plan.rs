//! What was left open of a conjugate fit, and what it costs.

use super::sensitivity::{LOGISTIC_SCALE, ReplaceBound};
use crate::cost::charges::Charges;
use crate::cost::deviation::Deviation;
use crate::cost::pricing::Pricing;
use crate::error::{Error, Result};
use crate::wall::grid::PrivacyNoise;
use dp_accountant::{Budget, Calibrated, Certified, Composition, calibrate_noise_multiplier};
use dp_sampler::Scheme;
use ppl_core::conjugate::{Curvature, Settings as Programs, Statistic, Statistics};
use ppl_core::transform::linear_predictor;
use ppl_core::{SiteKind, Var, gradient};
use std::fmt::Write;

/// Steps of a fit whose statistics change with the factors.
const STEPS: u64 = 60;

/// Steps where records have latent values of their own, or values are summed out: there 120 were clearly better than
/// 60, and noise averaged over them is only 1.45 times that of a single release.
const STEPS_WITH_LATENT: u64 = 120;

/// Steps of a logistic regression, whose factors settle soon.
const STEPS_OF_LOGISTIC: u64 = 5;

/// Largest norm of a record's expected counts.
const COUNTS: f64 = 6.0;

/// Sweeps at a step over records' own factors that go on from the step before. On 20 Newsgroups a single one lags behind
/// the topics and costs a hundredth of the perplexity; six gain nothing on three.
const SWEEPS_KEPT: usize = 3;

/// Steps without privacy.
const STEPS_WITHOUT: u64 = 200;

/// What was said of a fit.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub(super) budget: Option<Budget>,
    pub(super) without_privacy: bool,
    pub(super) steps: Option<u64>,
    pub(super) clip_norm: Option<f64>,
    pub(super) feature_norm: Option<f64>,
    pub(super) scales: Vec<(String, f64)>,
    pub(super) curvature: Option<Curvature>,
    pub(super) sweeps: Option<usize>,
    pub(super) noise: PrivacyNoise,
    /// Counts of 0 are computed with like others, for tests.
    pub(super) with_zeros: bool,
}

/// What a conjugate fit will do, and what it costs; made without records.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ConjugatePlan {
    /// The budget; `None` without privacy.
    pub budget: Option<Budget>,
    /// Number of releases of all statistics together.
    pub steps: u64,
    /// Numbers of a release.
    pub elements: usize,
    /// `C`, the largest norm of one record's statistics, each block divided by its scale.
    pub clip_norm: f64,
    /// What is known of the difference of two records' statistics.
    pub replace_bound: ReplaceBound,
    /// `Δ`, by how much neighbours' sums differ at most.
    pub sensitivity: f64,
    /// Standard deviation of the noise in each number of a release, in units of its block's scale.
    pub noise: f64,
    /// The multiplier that keeps the budget: the noise over `C`, or over `Δ/2` where a record is replaced.
    pub calibrated: Option<Calibrated>,
    /// The guarantee: ε of all releases, as an interval that holds.
    pub epsilon: Option<Certified>,
    /// How softplus functions are bounded.
    pub curvature: Curvature,
    /// Names of the blocks of statistics, their numbers, and the public number each is divided by.
    pub blocks: Vec<(String, usize, f64)>,
    /// For logistic regression: the norm `R` above which a row's likelihood gets weight `(R/‖x‖)²`.
    pub feature_norm: Option<f64>,
    pub(super) kind: PrivacyNoise,
    pub(super) charges: Option<Charges>,
    deviation: Deviation,
    pub(super) scales: Vec<f64>,
    /// Whether parts that are alike have to be told apart at the start.
    pub(super) spread: bool,
    /// Statistics as many as a normal with all covariances has.
    quadratic: Option<usize>,
    /// Tables of expected counts.
    tables: Vec<Table>,
}

/// A table of expected counts, such as that of words by topics.
#[derive(Clone, Debug)]
struct Table {
    name: String,
    rows: usize,
    columns: usize,
    scale: f64,
}

/// How many times as large as the averaged noise the mean cell of a table of counts should be. On 20 Newsgroups at ε = 1 it
/// is 4.5 with three topics, and with ten topics (1.3) they were no better than a single one.
const CELL_OVER_NOISE: f64 = 4.0;

/// The programs' settings.
pub(super) fn programs(said: &Said) -> Programs {
    let mut programs = Programs::default();
    programs.curvature = said.curvature;
    programs.kept = Some(said.sweeps.unwrap_or(SWEEPS_KEPT));
    if let Some(sweeps) = said.sweeps {
        programs.sweeps = sweeps;
    }
    programs
}

/// The features of a logistic regression, with the sign of the outcome, if it is one whose statistics have the exact bound:
/// all that a record says is one Bernoulli outcome with log-odds linear in one vector.
///
/// ```text
/// ℓ = −softplus(v),  x = ∂v/∂w:     s₁ = −x/2,   s₂ = −½ ξ x xᵀ
/// ```
fn logistic_features<'g>(statistics: &Statistics<'g>) -> Result<Option<Var<'g>>> {
    let trace = statistics.trace();
    let own = |site: &&ppl_core::model::Site<'g>| site.per_record && site.log_prob.is_some();
    let mut terms = trace.sites().iter().filter(own);
    let (Some(term), None) = (terms.next(), terms.next()) else { return Ok(None) };
    let is_bernoulli = term.kind == SiteKind::Observed
        && term.distribution == Some("Bernoulli")
        && term.shape.elements() == 1;
    let latents: Vec<Var<'g>> = trace.latents().map(|site| site.value).collect();
    let blocks = statistics.blocks();
    let touched: Vec<_> = blocks.iter().filter(|block| block.touched).collect();
    let (1, true, Some(value)) = (latents.len(), is_bernoulli, term.log_prob) else { return Ok(None) };
    let pair = matches!(&touched[..], [first, second] if first.statistic == Statistic::Value
        && second.statistic == Statistic::Outer && !second.total && first.input.shape().rank() == 1);
    let Some(softplus) = linear_predictor(value, &latents)?.and_then(|found| found.softplus) else {
        return Ok(None);
    };
    // −softplus(v), and not a multiple of it. With the slope of v itself no sign, factor or outcome outside of 0 and 1
    // can make the statistics larger than they are taken to be.
    if !pair || softplus.factor.known() != Some(-1.0) {
        return Ok(None);
    }
    Ok(gradient(softplus.argument, &latents)?.first().copied())
}

/// The weight of each record of a logistic regression with this `R`: `min(1, R/‖x‖)²`.
pub(super) fn weight<'g>(statistics: &Statistics<'g>, plan: &ConjugatePlan) -> Result<Option<Var<'g>>> {
    let Some(radius) = plan.feature_norm else { return Ok(None) };
    let features = logistic_features(statistics)?;
    Ok(features.map(|features| (radius * radius / features.square().sum()).min(1.0)))
}

impl ConjugatePlan {
    pub(super) fn new(said: &Said, statistics: &Statistics<'_>) -> Result<Self> {
        let positive = |what: &'static str, value: Option<f64>| match value {
            Some(value) if !(value > 0.0 && value.is_finite()) => {
                Err(Error::OutOfRange { what, requirement: "positive and finite", value })
            }
            other => Ok(other),
        };
        positive("clip norm", said.clip_norm)?;
        positive("norm of features", said.feature_norm)?;
        for (_, scale) in &said.scales {
            positive("scale of statistics", Some(*scale))?;
        }
        let budget = match (said.without_privacy, said.budget) {
            (true, _) => None,
            (false, Some(budget)) => Some(budget),
            (false, None) => {
                return Err(Error::Missing {
                    what: "the budget",
                    why: "name it with .budget(…), or say .without_privacy()",
                });
            }
        };
        if said.steps == Some(0) {
            let (what, requirement) = ("number of steps", "at least 1");
            return Err(Error::OutOfRange { what, requirement, value: 0.0 });
        }
        let blocks = statistics.blocks();
        if !blocks.iter().any(|block| block.touched) {
            return Err(Error::NothingToInfer("has no latent value that the records depend on"));
        }
        for (name, _) in &said.scales {
            if !blocks.iter().any(|block| &block.name == name || &block.site == name) {
                let known: Vec<&str> = blocks.iter().map(|block| block.name.as_str()).collect();
                return Err(Error::UnknownSite { name: name.clone(), known: known.join(", ") });
            }
        }
        let features = logistic_features(statistics)?;
        let named = |name: &str, site: &str| {
            let found = said.scales.iter().rev().find(|(known, _)| known == name || known == site);
            found.map(|(_, scale)| *scale)
        };
        // Named bounds replace the exact ones of a logistic regression.
        let logistic = features.filter(|_| said.clip_norm.is_none() && said.scales.is_empty());
        let feature_norm = logistic
            .map(|features| said.feature_norm.unwrap_or_else(|| (features.shape().elements() as f64).sqrt()));
        let scales: Vec<f64> = blocks
            .iter()
            .map(|block| match (feature_norm, block.statistic) {
                (Some(radius), Statistic::Value) => radius,
                // The statistic is −½ ξ x xᵀ, and L ξ x xᵀ/R² is what is bounded.
                (Some(radius), Statistic::Outer) => radius * radius / (2.0 * LOGISTIC_SCALE),
                _ => named(&block.name, &block.site).unwrap_or(1.0),
            })
            .collect();
        let elements = blocks.iter().filter(|block| block.touched).map(|block| block.elements()).sum();
        let one_sign = blocks.iter().filter(|block| block.touched).all(|block| block.one_sign);
        let counts =
            one_sign && blocks.iter().all(|block| !block.touched || block.statistic == Statistic::Log);
        let replace_bound = match (feature_norm, one_sign) {
            (Some(_), _) => ReplaceBound::Logistic,
            (None, true) => ReplaceBound::OneSign,
            (None, false) => ReplaceBound::Any,
        };
        let default_norm = if counts { COUNTS } else { (elements as f64).sqrt() };
        let clip_norm = replace_bound.clip_norm().or(said.clip_norm).unwrap_or(default_norm);
        let trace = statistics.trace();
        let latent = trace.record_latents().next().is_some();
        let spread = latent || trace.sites().iter().any(|site| site.kind == SiteKind::Marginalised);
        let steps = said.steps.unwrap_or(match (budget, feature_norm, spread) {
            (None, ..) => STEPS_WITHOUT,
            (_, Some(_), _) if statistics.curvature() == Curvature::Fixed => 1,
            (_, Some(_), _) => STEPS_OF_LOGISTIC,
            (_, None, true) => STEPS_WITH_LATENT,
            (_, None, false) => STEPS,
        });
        let mut plan = Self {
            budget,
            steps,
            elements,
            clip_norm,
            replace_bound,
            sensitivity: f64::INFINITY,
            noise: 0.0,
            calibrated: None,
            epsilon: None,
            curvature: statistics.curvature(),
            blocks: blocks
                .iter()
                .zip(&scales)
                .filter(|(block, _)| block.touched)
                .map(|(block, &scale)| (block.name.clone(), block.elements(), scale))
                .collect(),
            feature_norm: feature_norm.filter(|_| budget.is_some()),
            kind: said.noise,
            charges: None,
            deviation: Deviation::NONE,
            spread,
            quadratic: features.map(|features| features.shape().elements().pow(2)),
            tables: blocks
                .iter()
                .zip(&scales)
                .filter(|(block, _)| block.touched && block.statistic == Statistic::Log)
                .filter_map(|(block, &scale)| {
                    let columns = block.input.shape().dims().last().copied()?;
                    let rows = block.elements().checked_div(columns)?;
                    (rows > 1).then(|| Table { name: block.name.clone(), rows, columns, scale })
                })
                .collect(),
            scales,
        };
        if let Some(budget) = budget {
            plan.calibrate(budget)?;
        }
        Ok(plan)
    }

    fn calibrate(&mut self, budget: Budget) -> Result<()> {
        let scheme = Scheme::Full;
        let deviation = Deviation::of_run(self.steps, 0.0, self.kind.deviation(), false)?;
        let pricing = Pricing::permitted(budget.relation, &scheme)?;
        let calibrated = calibrate_noise_multiplier(&deviation.less(budget)?, |noise_multiplier| {
            let mut all = Composition::new();
            all.push(pricing.event(noise_multiplier)?, pricing.events(self.steps));
            Ok(all)
        })?;
        let sigma = calibrated.noise_multiplier;
        let charges = Charges::new(Vec::new(), budget.relation, &scheme, sigma, (self.steps, deviation))?;
        self.epsilon = Some(charges.epsilon(budget)?);
        self.sensitivity = self.replace_bound.sensitivity(budget.relation, self.clip_norm);
        self.noise = sigma * self.clip_norm * self.reach();
        self.deviation = deviation;
        (self.calibrated, self.charges) = (Some(calibrated), Some(charges));
        Ok(())
    }

    /// The part of δ that covers noise which is not drawn exactly as it is accounted for; `None` where all is.
    pub(super) fn delta_of_deviations(&self) -> Option<f64> {
        self.budget.map(|budget| self.deviation.taken_of(&budget)).filter(|&delta| delta > 0.0)
    }

    /// Whether all that a record says is one outcome of a logistic regression.
    pub(super) fn is_logistic(&self) -> bool {
        self.quadratic.is_some()
    }

    /// The noise's norm over `C`.
    pub(super) fn reach(&self) -> f64 {
        self.budget.map_or(1.0, |budget| self.replace_bound.reach(budget.relation, self.clip_norm))
    }

    /// Standard deviation of the noise in each averaged number in the end, in units of its block's scale: that of a
    /// step times what averaging leaves.
    ///
    /// A table of expected counts is worth its noise where its mean cell is at least four times as large, see
    /// [`counts_needed`](Self::counts_needed).
    #[must_use]
    pub fn averaged_noise(&self) -> f64 {
        let (mut variance, steps) = (0.0, self.steps);
        for step in 0..steps {
            let share = share(step, steps);
            variance = (1.0 - share).powi(2) * variance + share * share;
        }
        self.noise * f64::sqrt(variance)
    }

    /// How many counts all records must have together, clipped to the norm, for the tables of counts to be worth their
    /// noise: then a table's mean cell is four times its averaged noise. `None` without a table or without privacy.
    ///
    /// ```text
    /// counts ≥ 4 · noise · K · V        K rows (topics) of V columns (words)
    /// ```
    ///
    /// A plan knows no records, so it cannot compare. With fewer counts, take fewer rows: [`most_rows`](Self::most_rows)
    /// says how many.
    #[must_use]
    pub fn counts_needed(&self) -> Option<f64> {
        let of = |table: &Table| CELL_OVER_NOISE * self.averaged_noise() * table.scale * table.cells();
        self.budget?;
        self.tables.iter().map(of).reduce(f64::max)
    }

    /// How many rows a table of counts with the columns of the model's may have, so that it is worth its noise when all
    /// records have this many counts together, clipped to the norm; at least 1. The number of counts must be known
    /// without the records, be released ([`Summaries::clipped_counts`](crate::summaries::Summaries::clipped_counts)), or be
    /// a guess. `None` without a table or without privacy.
    ///
    /// It is an upper end: how many rows are best depends on the data, too. [`rows_for`](Self::rows_for) is a choice.
    #[must_use]
    pub fn most_rows(&self, counts: f64) -> Option<usize> {
        let largest = self.single_row_over_noise(counts)? / CELL_OVER_NOISE;
        Some((largest as usize).max(1))
    }

    /// How many rows to choose for a table of counts, see [`most_rows`](Self::most_rows):
    ///
    /// ```text
    /// K = ⌊√a⌋, at most the nearest integer to a/4;     a = counts/(noise · V), the cell of a single row over its noise
    /// ```
    ///
    /// so that cells are some four times as large as their noise, and at least as many times as there are rows. Made-up documents (3,000 over 200
    /// words, from twenty subjects, `a` from 13 to 56) say that this is a middle way: where subjects were distinct, `a/4`
    /// rows were best, and `√a` rows had a perplexity up to 4 % higher; where they overlapped, two rows were best, and `a/4`
    /// were up to 15 % above them, `√a` up to 7 %.
    #[must_use]
    pub fn rows_for(&self, counts: f64) -> Option<usize> {
        let single = self.single_row_over_noise(counts)?.max(0.0);
        let rows = single.sqrt().floor().min((single / CELL_OVER_NOISE).round());
        Some((rows as usize).max(1))
    }

    /// The mean cell of a table of one row over its averaged noise; the least of all tables'.
    fn single_row_over_noise(&self, counts: f64) -> Option<f64> {
        self.budget?;
        let of = |table: &Table| counts / (self.averaged_noise() * table.scale * table.columns as f64);
        self.tables.iter().map(of).reduce(f64::min)
    }

    /// The plan in words: what is released, how often, and what it costs.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "Variational Bayes from {}expected sufficient statistics.",
            match self.budget {
                Some(_) => "noisy ",
                None => "",
            }
        );
        for (name, elements, scale) in &self.blocks {
            let divided = if *scale == 1.0 { String::new() } else { format!(", divided by {scale:.6}") };
            let _ = writeln!(text, "  statistics {name}: {elements} numbers{divided}");
        }
        let _ = writeln!(text, "  steps      {} over all records", self.steps);
        let (Some(budget), Some(epsilon)) = (self.budget, &self.epsilon) else {
            let _ = write!(text, "  privacy    none");
            return text;
        };
        if let Some(radius) = self.feature_norm {
            let _ = writeln!(text, "  weights    min(1, {radius:.6}/‖x‖)² for rows of features x");
        }
        let _ = writeln!(text, "  norm       C = {:.6}: {}", self.clip_norm, self.replace_bound.describe());
        let _ = writeln!(
            text,
            "  relation   {}: sums of neighbours differ by at most {:.6}",
            budget.relation, self.sensitivity
        );
        let _ = writeln!(
            text,
            "  noise      standard deviation {:.6} in each of {} numbers; {:.6} after averaging",
            self.noise,
            self.elements,
            self.averaged_noise()
        );
        if let Some(counts) = self.counts_needed() {
            for Table { name, rows, columns, .. } in &self.tables {
                let _ = writeln!(text, "  table      {name}: {rows} rows of {columns} counts");
            }
            let _ = writeln!(
                text,
                "             worth their noise with at least {counts:.0} counts in all records, clipped to C; with fewer, take fewer rows"
            );
        }
        if let Some(note) = self.advice() {
            let _ = writeln!(text, "  note       {note}");
        }
        let _ = write!(
            text,
            "  epsilon    at most {} at delta = {:e}",
            dp_accountant::rounded_up(epsilon.upper),
            budget.delta
        );
        text
    }

    /// Whether gradients would do better, as far as that shows without records.
    ///
    /// The second moments of `d` features are `d²` numbers, each with noise. Statistics do better on some hundred
    /// records; on thousands of them gradients ([`DpVi`](crate::DpVi)), whose noise is in `d` numbers, ranked records
    /// better on the tables that were measured.
    #[must_use]
    pub fn advice(&self) -> Option<&'static str> {
        let many = self.quadratic.is_some_and(|numbers| numbers > 100);
        (many && self.budget.is_some()).then_some(
            "the noise of a matrix of second moments outweighs that of everything else; with thousands of records DpVi, which releases gradients, does better",
        )
    }
}

impl Table {
    fn cells(&self) -> f64 {
        self.rows as f64 * self.columns as f64
    }
}

/// `ρ`, the weight of a step's release in the average.
///
/// ```text
/// ρ = max(0.15, 1/(t + 1))  up to 0.6 T,   then 1/(1/0.15 + j)  at the j-th step after
/// ```
pub(super) fn share(step: u64, steps: u64) -> f64 {
    const LEAST: f64 = 0.15;
    let held = (0.6 * steps as f64).ceil() as u64;
    match step < held {
        true => LEAST.max(1.0 / (step as f64 + 1.0)),
        false => {
            let reached = LEAST.max(1.0 / held.max(1) as f64);
            1.0 / (1.0 / reached + (step - held + 1) as f64)
        }
    }
}
