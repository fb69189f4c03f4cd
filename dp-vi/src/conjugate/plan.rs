//! What was left open of a conjugate fit, and what it costs.

use super::estimate::Estimate;
use super::logistic::logistic_features;
use super::sensitivity::{LOGISTIC_SCALE, ReplaceBound};
use super::tables::Table;
use crate::cost::charges::Charges;
use crate::cost::deviation::Deviation;
use crate::cost::pricing::Pricing;
use crate::error::{Error, Result};
use crate::wall::grid::PrivacyNoise;
use dp_accountant::{Budget, Calibrated, Certified, Composition, calibrate_noise_multiplier};
use dp_sampler::Scheme;
use ppl_core::conjugate::{Curvature, Settings as Programs, Statistic, Statistics};
use ppl_core::model::Site;
use ppl_core::{Program, SiteKind};
use std::fmt::Write;

/// Steps of a fit whose statistics change with the factors.
const STEPS: u64 = 60;

/// Steps where records have latent values of their own, or values are summed out: there 120 were clearly better than
/// 60, and noise averaged over them is only 1.45 times that of a single release.
const STEPS_WITH_LATENT: u64 = 120;

/// Steps of a logistic regression, whose factors settle soon.
const STEPS_OF_LOGISTIC: u64 = 5;

/// Largest norm of a record's expected counts, where none is proved that is smaller. On made-up documents of some fifty
/// words norms from 4 to 8 came to the same perplexity within its errors, at any ε from 1 to 8; BENCHMARKS.md has the
/// command.
const COUNTS: f64 = 6.0;

/// Sweeps at a step over records' own factors that go on from the step before. On 20 Newsgroups a single one lags
/// behind the topics and costs a hundredth of the perplexity; six gain nothing on three.
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
    pub(super) estimate: Estimate,
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
    /// A norm that no record's statistics exceed, where one is proved; a larger `C` only adds noise.
    pub most_norm: Option<f64>,
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
    /// What is looked for; neither the releases nor their cost depend on it.
    pub estimate: Estimate,
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
    pub(super) tables: Vec<Table>,
}

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
        if said.estimate == Estimate::Likelihood {
            let has_likelihood = |site: &&Site<'_>| site.kind != SiteKind::Latent && !site.per_record;
            for site in statistics.trace().sites().iter().filter(has_likelihood) {
                let Some(term) = site.log_prob else { continue };
                if Program::new(statistics.trace().graph(), &[term])?.inputs().next().is_none() {
                    continue;
                }
                let problem = format!(
                    "is that of records alone, and would leave out '{}', which is observed of public constants ({}): take \
                     Estimate::Mode, which has it, with a wide prior, or Estimate::Posterior",
                    site.name, site.source_line
                );
                return Err(Error::Guide { guide: "the likelihood", problem });
            }
            let has_none = |&&place: &&usize| blocks.get(place).is_some_and(|block| !block.touched);
            for factor in statistics.factors() {
                if let Some(&place) = factor.blocks.iter().find(has_none) {
                    let problem = format!(
                        "has no largest value for '{}', as no record says anything of {}: take Estimate::Mode, which has the prior, or \
                         Estimate::Posterior",
                        factor.site, blocks[place].name
                    );
                    return Err(Error::Guide { guide: "the likelihood", problem });
                }
            }
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
        if said.feature_norm.is_some() && features.is_none() {
            return Err(Error::Conflict(
                "a norm of features is for logistic regressions whose log-odds are linear in one vector of weights, without an \
                 offset; the statistics of this model have no bound that follows from it, so name clip_norm instead",
            ));
        }
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
        let most_norm = blocks.iter().zip(&scales).try_fold(0.0, |squares: f64, (block, scale)| {
            let most = if block.touched { block.most? } else { 0.0 };
            Some(squares + (most / scale).powi(2))
        });
        let most_norm = most_norm.map(f64::sqrt).filter(|norm| *norm > 0.0);
        let default_norm = if counts { COUNTS } else { (elements as f64).sqrt() };
        let default_norm = most_norm.map_or(default_norm, |most| default_norm.min(most));
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
            most_norm,
            replace_bound,
            sensitivity: f64::INFINITY,
            noise: 0.0,
            calibrated: None,
            epsilon: None,
            curvature: statistics.curvature(),
            estimate: said.estimate,
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
        let deviation = Deviation::of_run(self.steps, 0.0, self.kind.deviation(), 0)?;
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

    /// The plan in words: what is released, how often, and what it costs.
    #[must_use]
    pub fn explain(&self) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{} from {}expected sufficient statistics.",
            self.estimate.describe(),
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
        if let Some(most) = self.most_norm.filter(|most| self.clip_norm > most * (1.0 + 1e-9)) {
            let _ = writeln!(
                text,
                "             no record's norm is above {most:.6}: a C of that has less noise"
            );
        }
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
