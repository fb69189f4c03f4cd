//! What was left open, decided.

use super::privacy_plan::{CurvaturePlan, EarlyCurvature, OctavePlan, PrivacyPlan, number};
use super::settings::{Correction, FeatureNorms, Settings};
use super::spending::{Drawn, MOST_PROPOSED, Sampler, Spending, fewest_steps};
use crate::cost::deviation::Deviation;
use crate::cost::pricing::{
    Pricing, bounded_range_event, bounded_range_noise_multiplier, choice_event, event,
};
use crate::error::{Error, Result};
use crate::objective::curvature::{CurvatureShape, OF_RECORDS};
use crate::objective::draws::DrawScheme;
use crate::objective::gradients::Gradients;
use crate::objective::traced::Survey;
use crate::objective::weights::RecordWeights;
use crate::outcome::correction::probes::{MOST_PROBED, fewest_steps_of, number_of_probes};
use crate::outcome::correction::trace_regression::MOST_ELEMENTS;
use crate::summaries::{CountRelease, OctaveRelease};
use crate::wall::bound::clip::{ClipNorm, Clipping, LARGEST_CLIP_NORM};
use crate::wall::bound::quantile::MOST_GROWTH;
use crate::wall::bound::quantile::Quantile;
use crate::wall::grid::{self, PrivacyNoise};
use crate::wall::octaves::OCTAVES;
use crate::wall::start::{PriorStart, StartPlan};
use dp_accountant::{Budget, Composition, Relation, calibrate_noise_multiplier};
use dp_sampler::{MAX_RECORDS, Subsampling};

/// The ε below which residuals of a Bernoulli with recognised weights are weighted, so that none is above one half.
/// Half of the noise then brings more than the information that the weights take from records of which the model is
/// sure.
///
/// On four generated designs (1,500 to 20,000 records, 11 to 31 columns, 12 runs each) means at ε = 1 are
/// nearer with them on three, by 2 to 18 %, and further off on the one with most records, 1.8 instead of 1.2
/// standard deviations; at ε of 3 and 10 they are further off on seven of eight, by up to a factor of 1.8. On
/// five real tables points rank better with them at ε up to 1, and alike above.
pub const BOUNDS_RESIDUALS_BELOW: f64 = 2.0;

/// Largest number of elements whose full curvature is released by default. Integrating over it takes about a
/// second with a hundred, and its time grows with the cube.
const MOST_FULL_CURVATURE: usize = 128;

/// Share of the budget, in which Gaussian releases add up, for the number of records: at ε = 1 it is known to
/// within some tens, and it sets the scale of a bound only.
const COUNT_SHARE: f64 = 0.01;

/// Largest share of the budget for the octaves of the columns: at ε = 1 the counts of ten numbers of a record are
/// known to within forty or so, and an octave is found that has 150 records. The noise of the steps is a
/// twentieth more.
const OCTAVE_SHARE: f64 = 0.1;

/// Smallest share, which many records can do with.
const LEAST_OCTAVE_SHARE: f64 = 0.01;

/// How many times the noise of a count goes into the records, where so many are stated that the share need not be
/// the largest: an octave that holds a 32nd of them stands out by four deviations. Of centred normal numbers
/// four octaves of either sign hold more each, .86 of them together.
const RECORDS_OF_OCTAVE_NOISE: f64 = 128.0;

/// Most elements of the frontier that coordinates are found for: they make a record's gradient as many times as
/// long to compute.
const MOST_LOCATED: usize = 32;

/// Most latent elements, touched by records or not, of a fit to made-up records.
const MOST_LATENT: usize = 64;

/// Most numbers of a record whose octaves are released.
const MOST_NUMBERS: usize = 64;

/// Share of the curvature's budget that is for a release during the run, where steps are limited by the noise.
/// A third: the one at the end, which the posterior is made from, keeps most of it.
const EARLY_SHARE: f64 = 1.0 / 3.0;

/// The share of the steps before it.
const EARLY_AFTER: f64 = 0.2;

/// Runs of fewer steps have no release of the curvature before their end.
const FEWEST_STEPS_TO_TURN: u64 = 10;

impl Settings {
    /// Decides everything that was left open. `schemes` is the number of records for schemes that
    /// need one.
    pub(crate) fn plan<S: Subsampling>(
        &self,
        survey: Survey,
        sampler: &Sampler<'_, S>,
        schemes: u64,
    ) -> Result<PrivacyPlan> {
        let budget = self.required_budget()?;
        self.validate()?;
        let mut reasons = Vec::new();
        let elements = survey.elements;
        let typical = self.feature_norms.map_or((elements as f64).sqrt(), |norms| norms.typical);
        let (clipping, weighted) = self.clipping(survey, budget, &mut reasons)?;
        let noisy = budget.is_some_and(|budget| budget.epsilon < BOUNDS_RESIDUALS_BELOW);
        let bounds = noisy && weighted && survey.is_bernoulli && self.weights.bounds_residuals();
        let residual_bound = if bounds { 0.5 } else { 1.0 };
        if bounds {
            reasons.push(
                "residuals: the outcome is a Bernoulli's, so scores are weighted by 1/(2 max(p, 1 - p)) too, below epsilon 2: no residual is above 1/2, which halves C; \
                 no bias if the model holds"
                    .to_owned(),
            );
        }
        if let (Some(Budget { delta, .. }), Some(records)) = (budget, self.public_records)
            && delta * records as f64 >= 1.0
        {
            reasons.push(format!(
                "delta: {delta:e} times {records} records is {:.1}; publishing that many of them whole, chosen at random, would keep to such a delta. Choose one well \
                 below {:.1e}",
                delta * records as f64,
                (records as f64).recip()
            ));
        }
        let clip_norm = self.clip_norm.unwrap_or(residual_bound * typical);
        ClipNorm::new(clip_norm, elements * self.draws.number())?;
        let follows = matches!(clipping, Clipping::Quantile(_) | Clipping::Adaptive);
        let most_clip_norm =
            (follows && !self.scale_free).then(|| (MOST_GROWTH * clip_norm).min(LARGEST_CLIP_NORM));
        if let Some(most) = most_clip_norm {
            reasons.push(format!(
                "clip norm: at most {}, {MOST_GROWTH} times its first, because the optimiser's steps grow with it and it with them",
                number(most)
            ));
        }
        let by_default = !weighted && self.refuses_probes(survey).is_none();
        let probes = match self.correction {
            Correction::Probes => budget.is_some(),
            Correction::Automatic => budget.is_some() && by_default,
            _ => false,
        };
        let shape = self.curvature_shape(survey, weighted, (budget, probes), &mut reasons)?;
        self.check_noise_limited(survey, weighted, shape.is_some())?;
        // Under add/remove a bound for any number of records, which is protected there; a stated one may be
        // wrong.
        let bound = match budget {
            Some(Budget { relation: Relation::ReplaceOne, .. }) => schemes,
            _ => MAX_RECORDS,
        };
        let drawn = |rate: f64| -> Result<Drawn<'_>> {
            Ok(match sampler {
                Sampler::Named(plan) => {
                    let deviation = Box::new(move |steps| plan.deviation(bound, steps));
                    Drawn { scheme: plan.scheme(schemes)?, deviation }
                }
                Sampler::Open(make) => {
                    let plan = make(rate)?;
                    let scheme = plan.scheme(schemes)?;
                    Drawn { scheme, deviation: Box::new(move |steps| plan.deviation(bound, steps)) }
                }
            })
        };
        let start_from_prior = survey.exchangeable.is_some_and(|parts| parts > 0);
        if survey.exchangeable.is_none() {
            reasons.push(
                "start: where unconstrained values are 0; whether parts of the model are exchangeable and would stay equal there could not be tried. If it has \
                 components, units or states without an order, name a private start"
                    .to_owned(),
            );
        }
        let mut plan = PrivacyPlan {
            budget,
            scheme: drawn(1.0)?.scheme,
            steps: self.steps.unwrap_or(fewest_steps(clipping)),
            until_converged: false,
            clip_norm,
            most_clip_norm,
            clipping,
            weighted,
            residual_bound,
            draws: self.draws,
            gradients: self.gradients,
            noise: self.noise,
            trace_regression: self.correction == Correction::TraceRegression && budget.is_some(),
            probes: 0,
            curvature: None,
            count: None,
            octaves: None,
            start_from_prior,
            start: None,
            calibrated: None,
            before: self.before.clone(),
            whitened: self.whitened,
            is_measured: survey.is_bernoulli && survey.is_plain,
            deviation: Deviation::NONE,
            waste: None,
            public_records: self.public_records,
            reasons: Vec::new(),
        };
        if let Some(budget) = budget {
            let mut beside = Composition::new();
            beside.extend(self.before.iter().map(|release| (release.event, release.count)));
            for release in &self.before {
                reasons.push(format!("before: {} {}, of the same budget", release.count, release.what));
            }
            // A large ε may be more than can be made use of: what is released beside the steps keeps to what
            // they will be calibrated to.
            let most_steps = self.steps.unwrap_or(MOST_PROPOSED);
            // Where a rate below 1 may be chosen, no other deviates more than one half does: all blocks of
            // records are as short as they get.
            let batches = drawn(if self.compute_limit.is_some() { 0.5 } else { 1.0 })?;
            // A scheme that is not for this relation is refused before anything else.
            Pricing::permitted(budget.relation, &batches.scheme)?;
            let scaled = self.noise_limited
                || start_from_prior
                || matches!(clipping, Clipping::Quantile(_) | Clipping::Adaptive);
            let counts = scaled && budget.relation == Relation::AddRemove && self.public_records.is_none();
            // What was released before, with exact noise, and may have counted records, too.
            let before = self.before.iter().fold(0, |sum: u64, release| sum.saturating_add(release.count));
            // Counts of records and octaves are drawn with exact noise whatever the steps' noise is.
            let locates = self.locates(survey, start_from_prior);
            let counted =
                u64::from(counts || before > 0) + if locates { (survey.numbers * OCTAVES) as u64 } else { 0 };
            let most = Deviation::of_run(
                // An early curvature is one release more.
                most_steps.saturating_add(u64::from(self.noise_limited)),
                (batches.deviation)(most_steps)
                    + counted as f64 * CountRelease::DEVIATION
                    + before as f64 * PrivacyNoise::Exact.deviation(),
                self.noise.deviation(),
                match start_from_prior {
                    true => PriorStart::MOST_CHOICES,
                    false => u64::from(self.start.is_some()),
                },
            )?;
            let capped =
                Budget { epsilon: most.less(budget).map_or(budget.epsilon, |left| left.epsilon), ..budget };
            if let Some(start) = &self.start {
                let epsilon = start.share * capped.epsilon;
                beside.push(choice_event(epsilon)?, 1);
                plan.start = Some(StartPlan { epsilon, choices: 1, event: choice_event(epsilon)? });
                reasons.push(format!(
                    "start: one of {} candidates by the exponential mechanism, pure epsilon {} ({} of the budget)",
                    start.candidates.len(),
                    number(epsilon),
                    start.share
                ));
            }
            let rest = calibrate_noise_multiplier(&capped, |noise_multiplier| {
                let mut all = beside.clone();
                all.push(event(noise_multiplier, dp_accountant::Sampling::None)?, 1);
                Ok(all)
            })?;
            // Gaussian releases add up in σ⁻²: a share f of it leaves the multiplier σ/√f.
            let counting = if counts { COUNT_SHARE } else { 0.0 };
            let starting = if start_from_prior { PriorStart::SHARE } else { 0.0 };
            if start_from_prior {
                let choices = PriorStart::choices(survey.exchangeable.unwrap_or(0));
                let noise_multiplier = rest.noise_multiplier * (choices as f64 / starting).sqrt();
                let epsilon = bounded_range_noise_multiplier(budget.relation) / noise_multiplier;
                let event = bounded_range_event(budget.relation, epsilon)?;
                beside.push(event, choices);
                plan.start = Some(StartPlan { epsilon, choices, event });
                reasons.push(format!(
                    "start: parts of the model are exchangeable and would stay equal, so one of some hundred points from the prior is chosen by the exponential \
                     mechanism, and then parts are exchanged for others, {choices} choices of epsilon {} for {starting} of the budget; name a start to save it",
                    number(epsilon)
                ));
            }
            let of_others = counting + starting + if shape.is_some() { self.curvature_share } else { 0.0 };
            // What is for the steps should be most of it, and a budget so small that no octave would show is
            // for them alone.
            let shows = rest.noise_multiplier <= OctaveRelease::MOST_NOISE * OCTAVE_SHARE.sqrt();
            let locating = match (locates && of_others <= 0.5 && shows, self.public_records) {
                (false, _) => 0.0,
                (true, None) => OCTAVE_SHARE,
                (true, Some(records)) => {
                    let whole = OctaveRelease::new(budget.relation, survey.numbers, rest.noise_multiplier)?;
                    let wanted = records as f64 / RECORDS_OF_OCTAVE_NOISE;
                    (whole.deviation() / wanted).powi(2).clamp(LEAST_OCTAVE_SHARE, OCTAVE_SHARE)
                }
            };
            if locating > 0.0 {
                let noise_multiplier = rest.noise_multiplier / locating.sqrt();
                let release = OctaveRelease::new(budget.relation, survey.numbers, noise_multiplier)?;
                let (event, deviation) = (release.event(), release.deviation());
                beside.push(event, 1);
                plan.octaves = Some(OctavePlan { noise_multiplier, numbers: survey.numbers, event });
                reasons.push(format!(
                    "units: in which octaves the columns' numbers lie is released, with noise of standard deviation {} in each count, for {} of the budget; a fit \
                     to made-up records says where the run starts and in which units, where one is found",
                    number(deviation),
                    number(locating)
                ));
            }
            if counts {
                let noise_multiplier = rest.noise_multiplier / COUNT_SHARE.sqrt();
                let count = CountRelease::new(noise_multiplier)?;
                beside.push(count.event(), 1);
                plan.count = Some(noise_multiplier);
                reasons.push(format!(
                    "number of records: released with noise of standard deviation {}, for {COUNT_SHARE} of the budget, because none was stated",
                    number(count.deviation())
                ));
            }
            let share = if shape.is_some() { self.curvature_share } else { 0.0 };
            if let Some(shape) = shape {
                // With whitened features one rate suits all directions.
                let is_early = self.noise_limited
                    && !self.whitened
                    && shape == CurvatureShape::Full
                    && self.steps.is_none_or(|steps| steps >= FEWEST_STEPS_TO_TURN);
                let early_share = if is_early { EARLY_SHARE } else { 0.0 };
                let noise_multiplier = rest.noise_multiplier / (share * (1.0 - early_share)).sqrt();
                let early = is_early.then(|| EarlyCurvature {
                    noise_multiplier: rest.noise_multiplier / (share * early_share).sqrt(),
                    // Known when the number of steps is.
                    before_step: 0,
                });
                let features = clip_norm / residual_bound;
                let with_scores = weighted || matches!(self.weights, RecordWeights::Given(_));
                let scores = if with_scores { CurvatureShape::Full.score(elements) } else { 0.0 };
                plan.curvature = Some(CurvaturePlan {
                    shape,
                    clip_norm: match (survey.is_linear, self.curvature_norm) {
                        (true, _) => {
                            curvature_norm(shape, features, elements, self.feature_norms) * scores.hypot(1.0)
                        }
                        (false, Some(named)) => named,
                        // At the largest norm a record's part is cut to less than `C²`.
                        (false, None) => {
                            (clip_norm * clip_norm).clamp(crate::SMALLEST_CLIP_NORM, LARGEST_CLIP_NORM)
                        }
                    },
                    noise_multiplier,
                    with_scores: with_scores && survey.is_linear,
                    by_scores: !survey.is_linear && self.curvature_norm.is_none(),
                    early,
                });
                for noise_multiplier in
                    [noise_multiplier].into_iter().chain(early.map(|early| early.noise_multiplier))
                {
                    beside.push(event(noise_multiplier, dp_accountant::Sampling::None)?, 1);
                }
            }
            let single = rest.noise_multiplier / (1.0 - share - counting - starting - locating).sqrt();
            let choices = plan.start.as_ref().map_or(0, |start| start.choices);
            let fewest = match (probes, fewest_steps(clipping)) {
                (true, others) => fewest_steps_of(elements, others),
                (false, fewest) => fewest,
            };
            let octaves = plan.octaves.map_or(0, |octaves| (octaves.numbers * OCTAVES) as u64);
            let counts = u64::from(counts || before > 0) + octaves;
            let more = u64::from(plan.curvature.is_some_and(|curvature| curvature.early.is_some()));
            let spending =
                Spending { budget, noise: self.noise, choices, counts, before, more, beside, single, fewest };
            let (rate, steps) = self.rate_and_steps(sampler, &drawn, &spending, &mut reasons)?;
            let drawn = drawn(rate)?;
            plan.steps = steps;
            if probes {
                plan.probes = number_of_probes(steps, elements);
                reasons.push(match plan.probes {
                    0 => format!("posterior: the guide's; its intervals leave out the privacy noise, because {steps} steps are too few to probe {elements} values"),
                    probes => format!(
                        "posterior: corrected for the noise, with a curvature that the last {probes} steps find at pairs of points around where the others have \
                         come; no other part of the budget goes into it"
                    ),
                });
            }
            if let Some(early) = plan.curvature.as_mut().and_then(|curvature| curvature.early.as_mut()) {
                early.before_step = (steps as f64 * EARLY_AFTER) as u64;
            }
            let calibrated = spending.calibrate(&drawn, steps)?;
            plan.waste = Some(spending.waste(&drawn, steps, &calibrated)?);
            plan.deviation = spending.deviation(&drawn, steps)?;
            plan.scheme = drawn.scheme;
            if self.noise == PrivacyNoise::Exact {
                grid::check(calibrated.noise_multiplier, elements * self.draws.number())?;
                if let Some(curvature) = plan.curvature {
                    let released = curvature.shape.released(curvature.rows(elements));
                    grid::check(curvature.noise_multiplier, released)?;
                }
            }
            plan.calibrated = Some(calibrated);
        }
        plan.reasons = reasons;
        Ok(plan)
    }

    /// Whether a first fit to made-up records says where values lie: where nothing was named that is for the
    /// model's own units.
    fn locates(&self, survey: Survey, start_from_prior: bool) -> bool {
        let named = self.clip_norm.is_some()
            || self.clipping.is_some()
            || self.feature_norms.is_some()
            || self.curvature_norm.is_some()
            || self.schedule.is_some()
            || self.own_optimiser
            || self.noise_limited
            || self.whitened
            || self.start.is_some()
            || self.correction == Correction::Diagonal
            || matches!(self.weights, RecordWeights::Given(_));
        self.rough_fit
            && !named
            && !start_from_prior
            && self.gradients == Gradients::Aligned
            && survey.takes_coordinates
            && survey.all_latent.is_some_and(|elements| elements <= MOST_LATENT)
            && survey.elements <= MOST_LOCATED
            && (1..=MOST_NUMBERS).contains(&survey.numbers)
    }

    /// Why a run cannot probe the curvature.
    fn refuses_probes(&self, survey: Survey) -> Option<Error> {
        if survey.draws_for_records {
            return Some(OF_RECORDS);
        }
        if survey.elements > MOST_PROBED {
            let (what, requirement) = ("number of elements at the frontier for probes", "at most 128");
            return Some(Error::OutOfRange { what, requirement, value: survey.elements as f64 });
        }
        let pairs = self.draws == DrawScheme::Antithetic && self.gradients == Gradients::Aligned;
        (!pairs).then_some(Error::Conflict(
            "probes of the curvature are pairs of points: take mirrored draws and gradients at the latent values, or another correction",
        ))
    }

    /// How gradients are bounded, and whether recognised weights make that free of bias.
    fn clipping(
        &self,
        survey: Survey,
        budget: Option<Budget>,
        reasons: &mut Vec<String>,
    ) -> Result<(Clipping, bool)> {
        let fixed = !matches!(self.clipping, Some(Clipping::Quantile(_) | Clipping::Adaptive));
        let aligned = self.gradients == Gradients::Aligned;
        let weighted = self.weights.recognises() && survey.is_linear && fixed && budget.is_some() && aligned;
        let given = matches!(self.weights, RecordWeights::Given(_));
        let open = self.clip_norm.is_none() && !weighted && !given;
        let clipping = match (self.clipping, self.public_records) {
            (Some(named), _) => named,
            (None, _) if open && aligned && budget.is_some() => Clipping::Adaptive,
            // Gradients for comparisons stay as they were compared.
            (None, Some(_)) if open => Clipping::Quantile(Quantile::default()),
            (None, _) => Clipping::Flat,
        };
        // Sums without privacy are not clipped.
        if budget.is_none() {
            return Ok((clipping, weighted));
        }
        reasons.push(match (weighted, clipping) {
            (true, _) => "clipping: the likelihood is a generalised linear term, so records are weighted by min(1, C/(L|x|)): no bias; the clip \
                          to C stays underneath"
                .to_owned(),
            (false, Clipping::Quantile(quantile)) => {
                format!("clipping: C follows the {} quantile of the gradients' norms, privately", quantile.target)
            }
            (false, Clipping::Adaptive) => {
                "clipping: C follows a high quantile of the gradients' norms, privately; which one follows from the noise and the number of records"
                    .to_owned()
            }
            (false, Clipping::PerSite) => "clipping: each site to its share of C".to_owned(),
            (false, Clipping::Flat) => "clipping: to norm C; long gradients are bent, which biases the posterior if C is small".to_owned(),
        });
        Ok((clipping, weighted))
    }

    fn curvature_shape(
        &self,
        survey: Survey,
        weighted: bool,
        (budget, probes): (Option<Budget>, bool),
        reasons: &mut Vec<String>,
    ) -> Result<Option<CurvatureShape>> {
        self.check_curvature(survey)?;
        let shape = match (self.correction, budget) {
            (Correction::None | Correction::TraceRegression | Correction::Probes, _) | (_, None) => None,
            (Correction::Full, _) => Some(CurvatureShape::Full),
            (Correction::Diagonal, _) => Some(CurvatureShape::Diagonal),
            (Correction::Automatic, _) if !weighted => None,
            (Correction::Automatic, _) if survey.elements <= MOST_FULL_CURVATURE => {
                Some(CurvatureShape::Full)
            }
            (Correction::Automatic, _) => Some(CurvatureShape::Diagonal),
        };
        let by_trace = self.correction == Correction::TraceRegression && budget.is_some();
        if by_trace && survey.elements > MOST_ELEMENTS {
            let (what, requirement) =
                ("number of elements at the frontier for a trace regression", "at most 64");
            return Err(Error::OutOfRange { what, requirement, value: survey.elements as f64 });
        }
        if probes {
            // Said when the number of steps is known.
            return Ok(None);
        }
        reasons.push(match shape {
            None if by_trace => "posterior: corrected for the noise, with a curvature read off the noisy gradients of the run; no budget goes into it"
                .to_owned(),
            None if budget.is_none() => "posterior: the guide's".to_owned(),
            None => "posterior: the guide's; its intervals leave out the privacy noise".to_owned(),
            Some(shape) => format!(
                "posterior: corrected for the noise, by a release of the {} ({}) for {} of the budget",
                if survey.is_linear || self.curvature_norm.is_some() { "curvature" } else { "scores' second moments, which the curvature is if the model holds" },
                match shape {
                    CurvatureShape::Full => "all of it",
                    CurvatureShape::Diagonal => "its diagonal",
                },
                self.curvature_share
            ),
        });
        Ok(shape)
    }

    /// What a curvature that was asked for needs.
    fn check_curvature(&self, survey: Survey) -> Result<()> {
        if let (Correction::Probes, Some(refused)) = (self.correction, self.refuses_probes(survey)) {
            return Err(refused);
        }
        let asked = matches!(self.correction, Correction::Full | Correction::Diagonal);
        if asked && survey.draws_for_records {
            return Err(OF_RECORDS);
        }
        if asked && !survey.is_linear && matches!(self.weights, RecordWeights::Given(_)) {
            return Err(Error::Conflict(
                "curvatures of likelihoods of unbounded slope are those of records without weights: name no weights of your own, or \
                 another correction",
            ));
        }
        match (self.curvature_norm, survey.is_linear, survey.has_predictor) {
            (Some(_), true, _) => Err(Error::Conflict(
                "the norm of the curvature follows from the clip norm here, or from feature_norms: name none",
            )),
            (Some(_), false, false) => Err(Error::Conflict(
                "the likelihood does not depend on the shared values through one number that is linear in them: name no norm of \
                 the curvature",
            )),
            _ => Ok(()),
        }
    }

    /// What steps that are limited by the noise need.
    fn check_noise_limited(&self, survey: Survey, weighted: bool, corrected: bool) -> Result<()> {
        if !self.noise_limited || self.budget.is_none() {
            return Ok(());
        }
        if self.schedule.is_some() || self.own_optimiser {
            return Err(Error::Conflict(
                "steps limited by the noise have a rate of their own: name no schedule and no optimiser",
            ));
        }
        match weighted && corrected && survey.is_plain {
            true => Ok(()),
            false => Err(Error::Conflict(
                "steps limited by the noise are for generalised linear terms whose values are all real, and touched by the records, with weights and a \
                 correction: only there is known in advance what the noise does",
            )),
        }
    }
}

/// `K`: the curvature of a record with features of norm `C/L` (√D by default) of which the model knows least.
///
/// ```text
/// ‖w h f″ d dᵀ‖_F = w h |f″| ‖d‖² ≤ ¼ (C/L)²   for ‖d‖ ≤ C/L;   on the diagonal ‖d∘d‖ ≲ √(3/D) ‖d‖² for normal features
/// ```
///
/// The curvature of a longer record with a prediction near one half is clipped to it, by at most `C/(L ‖d‖)`.
/// The bound for the longest record would be larger by what that is longer, and so would the noise for all.
fn curvature_norm(shape: CurvatureShape, weighted: f64, elements: usize, norms: Option<FeatureNorms>) -> f64 {
    let length = norms.map_or(weighted, |norms| weighted.min(norms.largest));
    let full = 0.25 * length * length;
    (full * shape.share_of_norm(elements)).max(crate::SMALLEST_CLIP_NORM)
}
