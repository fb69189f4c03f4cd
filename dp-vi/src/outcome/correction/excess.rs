//! What the linear model leaves out of the mean gradient, found by simulation from the model.

use crate::error::{Error, Result};
use crate::guides::guide::GuideSite;
use crate::objective::frontier::Estimator;
use crate::optimiser::SavedState;
use crate::outcome::correction::linear_algebra::{eigen, square, symmetrised};
use crate::outcome::correction::noise_aware::NoiseAware;
use crate::wall::bound::clip::ClipNorm;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use nalgebra::{DMatrix, DVector};
use ndarray::{ArrayD, Axis, IxDyn, concatenate};
use ppl_core::{RecordGradient, Records, Replicator, Values};

/// Points that outcomes are drawn at, for all made-up records each time: 16,384 records in all, whose mean gradient is
/// known to within `N/128` of their deviation.
const POINTS: usize = 64;

/// Points at the middle, for the curvature there: a variance among 1,024 records is known to within 5 %.
const AT_THE_MIDDLE: usize = 4;

/// Steps whose gradients are taken of the records of each point; together the points pass over all that were kept.
const STEPS_OF_A_POINT: usize = 4;

/// Steps whose points are kept.
const KEPT: u64 = 16;

/// How far points lie from the middle at most, and how far a value is moved, in the run's coordinates: these are as
/// long as what one record leaves open, and farther away nothing is linear.
const FARTHEST: f64 = 1.0;

/// Half of the difference that curvatures are found by, in the run's coordinates.
const STEP: f64 = 1e-3;

/// The smallest share of what probes read that is believed to be curvature where the run has come: below it, what is
/// left would follow from made-up inputs and not from what was read. The largest is one, so that no interval is
/// shorter for what records are made up as.
const LEAST_SHARE: f64 = 0.05;

/// Factors that displacements are made shorter by, at which gradients are taken as they are.
const AS_LONG: f64 = 0.9;

/// Where the gradients of some steps were taken, and what they were clipped to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Snapshots {
    /// The steps between two that are kept.
    every: u64,
    /// Unconstrained values of all sites and draws of a step.
    elements: usize,
    /// For each step its clip norm, and then its values, one draw after the other.
    numbers: Vec<f64>,
}

impl Snapshots {
    /// Of so many steps, with room for all that are kept.
    pub(crate) fn new(steps: u64, elements: usize) -> Self {
        // An odd number: displacements are rows of a Hadamard matrix, of which every other one has columns in common.
        let every = steps.div_ceil(KEPT) | 1;
        Self { every, elements, numbers: Vec::with_capacity(KEPT as usize * (elements + 1)) }
    }

    /// Takes the step of this number, if it is one that is kept.
    pub(crate) fn take(&mut self, number: u64, norm: f64, values: &[f64]) {
        let is_kept = number.is_multiple_of(self.every) && values.len() == self.elements;
        if is_kept && self.len() < KEPT as usize {
            self.numbers.push(norm);
            self.numbers.extend_from_slice(values);
        }
    }

    /// The steps of both.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self { numbers: [self.numbers.as_slice(), &other.numbers].concat(), ..self.clone() }
    }

    fn len(&self) -> usize {
        self.numbers.len() / (self.elements + 1)
    }

    /// The clip norm and the values of each step.
    fn steps(&self) -> impl Iterator<Item = (f64, &[f64])> + Clone {
        self.numbers.chunks_exact(self.elements + 1).map(|step| (step[0], &step[1..]))
    }

    /// Appends what [`restore`](Self::restore) makes the same of.
    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        state.push(self.len() as f64);
        state.extend(&self.numbers);
    }

    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        let kept = state.take(1)?[0];
        if !(0.0..=KEPT as f64).contains(&kept) {
            return Err(Error::Conflict("a checkpoint keeps more steps than a run does"));
        }
        self.numbers.clear();
        self.numbers.extend_from_slice(state.take(kept as usize * (self.elements + 1))?);
        Ok(())
    }
}

/// The mean gradient that the model expects beyond the one of the linear model, `−S(t̄ − u)`.
///
/// ```text
/// released:   ḡ = (mean over steps t) Σ_i clip_C(v_i(t)) + noise
/// b = N · E_u { (mean over steps) E[clip_C(v(t)) | u] },     v(t) the gradient at t of a record drawn from the model at u
///     u ~ N(t̄, Σ_k min{1, c_k/λ_k} e_k e_kᵀ)     in the run's coordinates
///     λ_k, e_k  the eigenvalues and eigenvectors of the curvature at t̄ of a record drawn from the model at t̄
///     c_k = (1 + √(1 + 4 τ² e_kᵀ Σ e_k))/(2N)
///     Σ         the covariance of the posterior without this, at most 1 along e_k
///     τ²        the variance of ḡ that the noise makes
/// posterior:  that of ḡ − b
/// ```
///
/// *How far `u` goes.* `c_k` is what errors along `e_k` add to a record's squared residual, or to minus twice its log
/// density: a direction of curvature `Nλ` leaves the variance `v = (Nλ + τ²)/(Nλ)²` open, so that `λ v = (1 + √(1 + 4
/// τ² v))/(2N)`, whatever `λ` is. Made-up inputs have a curvature of their own, and points lie so far apart that they
/// make as much of it.
///
/// At `u = t̄` the linear model expects nothing, and on both sides of it as much with either sign. Three things are
/// in `b`. Long gradients are clipped, and they are on one side where a scale is inferred, which comes out too small
/// by as much. Pairs of draws lie apart, so that their mean is that at the middle only to first order. And where
/// other values are known with an error, residuals are longer by as much, and a scale comes out too large. The first
/// and the last are as large as the posterior's deviation in regressions of a thousand records at ε = 1.
///
/// *Displacements.* A column of logarithms may lie in a small part of one octave, and be made up in all of it: made-up
/// records then have hundreds of times the curvature of real ones in some directions. Steps and probes are made
/// shorter along each of the probes' axes by the root of the largest curvature that is possible by what was read, over
/// that of made-up records, and so are gradients before they are clipped.
///
/// `t` are the guide's draws in the tail, and probes where they enter the mean gradient: where they say the same by
/// what was released, and by less than the noise something else by what the model expects.
///
/// The inputs of made-up records lie in the octaves that were released, columns independent of each other; outcomes
/// are drawn by the model. So `b` is what there would be if the model were right and inputs were such. Outcomes with
/// longer tails lose more by clipping, and their scale is too small all the same. The shift that `b` makes is taken
/// to be as unknown as it is large: its square is added to the covariance, in its own direction. Nothing here sees a
/// record.
///
/// # References
/// Matching what a model expects of a biased estimator to what was found is indirect inference (Gouriéroux, Monfort,
/// Renault 1993).
pub(crate) struct Excess {
    replicator: Replicator,
    /// How many records there are, as it was stated or released.
    number: f64,
}

/// Made-up records at the place where a run has come.
pub(crate) struct Imitation<'e, F> {
    excess: &'e Excess,
    /// Completes values of the frontier, in the run's coordinates, to unconstrained values of all sites in the order
    /// of the estimator's.
    unconstrained: F,
    /// The curvature there of as many records as there are.
    curvature: DMatrix<f64>,
    /// What displacements are made shorter by.
    shortening: DMatrix<f64>,
    /// Whether it is shorter than as they are.
    is_shorter: bool,
}

/// The objective's parts that gradients are taken with.
type Objective<'a> = (&'a Estimator, &'a mut RecordGradient<f64>);

impl Excess {
    pub(crate) fn new(replicator: Replicator, number: f64) -> Self {
        Self { replicator, number }
    }

    /// Made-up records in the middle of these steps. `shortening` says how much shorter displacements have to be with
    /// a curvature.
    pub(crate) fn at<F: Fn(&[f64]) -> Vec<Vec<f64>>>(
        &self,
        (estimator, program): Objective<'_>,
        steps: &Snapshots,
        shortening: impl Fn(&DMatrix<f64>) -> DMatrix<f64>,
        unconstrained: F,
    ) -> Option<Imitation<'_, F>> {
        let middle = middle(steps, estimator)?;
        let n = middle.len();
        let mut found = Imitation {
            excess: self,
            unconstrained,
            curvature: DMatrix::zeros(n, n),
            shortening: DMatrix::identity(n, n),
            is_shorter: false,
        };
        let all = found.records(estimator, &vec![middle.clone(); AT_THE_MIDDLE])?;
        let counted: usize = all.iter().map(Records::len).sum();
        let scale = self.number / (2.0 * STEP * counted as f64);
        for j in 0..n {
            for sign in [1.0, -1.0] {
                let mut point = middle.clone();
                point[j] += sign * STEP;
                let at = everywhere(estimator, &point);
                for records in &all {
                    let gradient = found.mean_sum((estimator, &mut *program), &at, records, None)?;
                    let mut column = found.curvature.column_mut(j);
                    column += DVector::from_vec(gradient) * (-sign * scale);
                }
            }
        }
        found.curvature = symmetrised(&found.curvature);
        found.shortening = shortening(&found.curvature);
        found.is_shorter = eigen(found.shortening.clone())?.eigenvalues.min() < AS_LONG;
        Some(found)
    }
}

impl<F: Fn(&[f64]) -> Vec<Vec<f64>>> Imitation<'_, F> {
    /// Infers from mean gradients without what is beyond the linear model; `infer` makes a posterior of mean
    /// gradients. With it come the mean gradients that it is of, and by how much it is shifted; `None` where nothing
    /// follows.
    pub(crate) fn posterior(
        &self,
        (estimator, program): Objective<'_>,
        (gradients, noise_variance, snapshots): (&[f64], f64, &Snapshots),
        infer: impl Fn(&[f64]) -> Option<NoiseAware>,
    ) -> Option<(NoiseAware, Vec<f64>, Vec<f64>)> {
        let (middle, plain) = (middle(snapshots, estimator)?, infer(gradients)?);
        let points = points(&middle, &self.spread(&plain.covariance, noise_variance)?);
        let excess = self.expected((estimator, program), &points, snapshots)?;
        let without = |share: f64| -> Vec<f64> {
            gradients.iter().zip(&excess).map(|(gradient, excess)| gradient - share * excess).collect()
        };
        let mut found = infer(&without(1.0))?;
        let shift: Vec<f64> = found.mean.iter().zip(&plain.mean).map(|(one, other)| one - other).collect();
        let longest = shift.iter().map(|x| x.abs()).fold(0.0, f64::max);
        let share = if longest > FARTHEST { FARTHEST / longest } else { 1.0 };
        let shift: Vec<f64> = shift.iter().map(|x| share * x).collect();
        found.mean = plain.mean.iter().zip(&shift).map(|(mean, shift)| mean + shift).collect();
        found.add_shift(&shift);
        let is_finite = found.covariance.iter().chain(&found.mean).all(|x| x.is_finite());
        is_finite.then(|| (found, without(share), shift))
    }

    /// How far apart the mean gradients of two stretches of a run are by what the model expects at the middle of
    /// each, beyond how far these are from each other: the largest difference of an element.
    pub(crate) fn difference(
        &self,
        (estimator, program): Objective<'_>,
        (one, other): (&Snapshots, &Snapshots),
    ) -> Option<f64> {
        let mut of = |steps: &Snapshots| {
            // Two points for as many steps as are taken of each.
            let points = vec![middle(steps, estimator)?; 2 * KEPT as usize / STEPS_OF_A_POINT];
            self.expected((estimator, &mut *program), &points, steps)
        };
        let (one, other) = (of(one)?, of(other)?);
        Some(one.iter().zip(&other).map(|(one, other)| (one - other).abs()).fold(0.0, f64::max))
    }

    /// How much of what these probes read along each of some axes is the curvature in their middle, as far as the model
    /// expects it of made-up records:
    ///
    /// ```text
    /// share_k = Σ_t a_tk (S a_t)_k/Σ_t a_tk d_tk      d_t = −(g₊ − g₋)/2, the clipped gradients at c ± a_t; S the curvature at c
    /// ```
    ///
    /// Displacements go some deviations far in all directions at once. A scale is read to have as much more curvature
    /// as residuals are longer at both ends: beside ten coefficients of 1,000 records at ε = 1 nearly four times as
    /// much, and its intervals were half as long as they should be.
    pub(crate) fn shares(
        &self,
        (estimator, program): Objective<'_>,
        probes: &Snapshots,
        axes: &DMatrix<f64>,
    ) -> Option<Vec<f64>> {
        let middle = middle(probes, estimator)?;
        let (latent, n) = (estimator.latent()?, middle.len());
        let all = self.records(estimator, &vec![middle.clone(); AT_THE_MIDDLE])?;
        let (mut straight, mut read) = (DVector::<f64>::zeros(n), DVector::<f64>::zeros(n));
        let centre = everywhere(estimator, &middle);
        for (norm, drawn) in probes.steps() {
            let first = latent.frontier_of(drawn.get(..draw(estimator, drawn))?);
            let along = axes.tr_mul(&(DVector::from_vec(first) - DVector::from_column_slice(&middle)));
            let drawn = self.shortened(estimator, drawn, &middle);
            let clip = ClipNorm::new(norm, program.dimension()).ok()?;
            // As far away as the probe, clipped, and at this share of it.
            let mut products = |far: f64, clip: Option<ClipNorm>| {
                let at: Vec<f64> = centre.iter().zip(&drawn).map(|(c, x)| c + far * (x - c)).collect();
                let mut difference = DVector::<f64>::zeros(n);
                for records in &all {
                    let sum = self.sum((estimator, &mut *program), &at, records, clip)?;
                    let (mut unused, mut half) = (vec![0.0; n], vec![0.0; n]);
                    latent.halves(&estimator.shared, &sum, &mut unused, &mut half);
                    difference -= DVector::from_vec(half) / far;
                }
                // The noise of what was read grows with the norm.
                Some(axes.tr_mul(&difference).component_mul(&along) / (norm * norm))
            };
            straight += products(STEP, None)?;
            read += products(1.0, Some(clip))?;
        }
        let share = |(straight, read): (&f64, &f64)| match straight / read {
            share if *straight > 0.0 && *read > 0.0 => share.clamp(LEAST_SHARE, 1.0),
            _ => 1.0,
        };
        Some(straight.iter().zip(&read).map(share).collect())
    }

    /// Made-up records with outcomes drawn at each of these points.
    fn records(&self, estimator: &Estimator, points: &[Vec<f64>]) -> Option<Vec<Records>> {
        let at = |point: &Vec<f64>| values(&estimator.shared.sites, &(self.unconstrained)(point));
        let all: Option<Vec<Values>> = points.iter().map(at).collect();
        self.excess.replicator.at(&stacked(&all?)?).ok()
    }

    /// A square root of the covariance of `u`, from that of the posterior without this and the noise's variance.
    fn spread(&self, covariance: &[f64], noise_variance: f64) -> Option<DMatrix<f64>> {
        let n = self.curvature.nrows();
        let found = eigen(self.curvature.clone())?;
        let open = square(covariance, n);
        let deviation = |k: usize| {
            let direction = found.eigenvectors.column(k);
            let variance = direction.dot(&(&open * direction)).clamp(0.0, FARTHEST * FARTHEST);
            let longer = 0.5 * (1.0 + (1.0 + 4.0 * noise_variance * variance).sqrt());
            (longer / found.eigenvalues[k].max(0.0)).sqrt().min(FARTHEST)
        };
        Some(&found.eigenvectors * DMatrix::from_diagonal(&DVector::from_fn(n, |k, _| deviation(k))))
    }

    /// These values of all sites and draws, with those of the frontier nearer to a middle.
    fn shortened(&self, estimator: &Estimator, drawn: &[f64], middle: &[f64]) -> Vec<f64> {
        let mut shortened = drawn.to_vec();
        let middle = DVector::from_column_slice(middle);
        if let Some(latent) = estimator.latent().filter(|_| self.is_shorter) {
            for drawn in shortened.chunks_exact_mut(draw(estimator, drawn)) {
                let away = DVector::from_vec(latent.frontier_of(drawn)) - &middle;
                latent.put((&middle + &self.shortening * away).as_slice(), drawn);
            }
        }
        shortened
    }

    /// `b`, with these points in the place of `u`. Gradients at the point itself, of which the expectation is zero,
    /// are taken away from those of each record: what is left varies less.
    fn expected(
        &self,
        (estimator, program): Objective<'_>,
        points: &[Vec<f64>],
        snapshots: &Snapshots,
    ) -> Option<Vec<f64>> {
        let middle = middle(snapshots, estimator)?;
        let steps = snapshots.steps().map(|(norm, drawn)| (norm, self.shortened(estimator, drawn, &middle)));
        let steps: Vec<_> = steps.collect();
        let mut excess = vec![0.0; middle.len()];
        let mut counted = 0.0;
        for (number, (point, records)) in points.iter().zip(self.records(estimator, points)?).enumerate() {
            let at = everywhere(estimator, point);
            let at_point = self.mean_sum((estimator, &mut *program), &at, &records, None)?;
            // The same for both points of a pair.
            let first = number / 2 * STEPS_OF_A_POINT;
            for (norm, drawn) in steps.iter().cycle().skip(first % steps.len().max(1)).take(STEPS_OF_A_POINT)
            {
                let clip = ClipNorm::new(*norm, program.dimension()).ok()?;
                let clipped = self.mean_sum((estimator, &mut *program), drawn, &records, Some(clip))?;
                let pairs = clipped.iter().zip(&at_point);
                excess.iter_mut().zip(pairs).for_each(|(excess, (clipped, at))| *excess += clipped - at);
                counted += records.len() as f64;
            }
        }
        excess.iter_mut().for_each(|excess| *excess *= self.excess.number / counted);
        excess.iter().all(|excess| excess.is_finite()).then_some(excess)
    }

    /// The sum over records of their gradients, clipped or not, at these unconstrained values of all sites, one draw
    /// after the other. Where displacements are shorter, so are gradients with respect to them, before they are
    /// clipped.
    fn sum(
        &self,
        (estimator, program): Objective<'_>,
        drawn: &[f64],
        records: &Records,
        clip: Option<ClipNorm>,
    ) -> Option<Vec<f64>> {
        estimator.feed(drawn, program);
        let all: Vec<u64> = (0..records.len() as u64).collect();
        let mut sum = vec![0.0; program.dimension()];
        let Some(clip) = clip.filter(|_| self.is_shorter) else {
            match clip {
                Some(clip) => {
                    let weigh = |squared: &[f64], weights: &mut [f64]| clip.weigh(squared, weights);
                    program.weighted_sum(records, &all, weigh, &mut sum)
                }
                None => program.sum(records, &all, &mut sum),
            }
            .ok()?;
            self.shorten(&mut sum);
            return Some(sum);
        };
        let mut one = vec![0.0; sum.len()];
        for record in all {
            program.sum(records, &[record], &mut one).ok()?;
            self.shorten(&mut one);
            let (squared, mut weight) = (one.iter().map(|x| x * x).sum(), [0.0]);
            clip.weigh(&[squared], &mut weight);
            sum.iter_mut().zip(&one).for_each(|(sum, x)| *sum += weight[0] * x);
        }
        Some(sum)
    }

    /// Gradients, one draw after the other, with respect to displacements that are made shorter.
    fn shorten(&self, gradients: &mut [f64]) {
        if self.is_shorter {
            for gradient in gradients.chunks_exact_mut(self.shortening.nrows()) {
                let shortened = &self.shortening * DVector::from_column_slice(gradient);
                gradient.copy_from_slice(shortened.as_slice());
            }
        }
    }

    /// The mean of such a sum over the draws.
    fn mean_sum(
        &self,
        (estimator, program): Objective<'_>,
        drawn: &[f64],
        records: &Records,
        clip: Option<ClipNorm>,
    ) -> Option<Vec<f64>> {
        let latent = estimator.latent()?;
        let sum = self.sum((estimator, program), drawn, records, clip)?;
        let (mut unused, mut mean) = (vec![0.0; latent.elements], vec![0.0; latent.elements]);
        latent.add_to_means(&estimator.shared, &sum, &mut unused, &mut mean);
        Some(mean)
    }
}

/// The number of values of all sites, those of one draw among these of all; at least 1.
fn draw(estimator: &Estimator, drawn: &[f64]) -> usize {
    (drawn.len() / estimator.shared.draws().number()).max(1)
}

/// Unconstrained values of all sites for each draw, where those of the frontier are these.
fn everywhere(estimator: &Estimator, frontier: &[f64]) -> Vec<f64> {
    let mut values = estimator.shared.drawn_values().to_vec();
    let elements = draw(estimator, &values);
    if let Some(latent) = estimator.latent() {
        values.chunks_exact_mut(elements).for_each(|drawn| latent.put(frontier, drawn));
    }
    values
}

/// Points around a middle, standard normals times this factor away, each with the one on the other side.
fn points(middle: &[f64], factor: &DMatrix<f64>) -> Vec<Vec<f64>> {
    let noise =
        GaussianNoise::with_purpose(&Seed::for_tests(0), Purpose::Custom("points of made-up records"));
    let mut z = vec![0.0; middle.len()];
    let mut points = Vec::with_capacity(POINTS);
    for pair in 0..POINTS as u64 / 2 {
        noise.fill(pair, &mut z);
        let away = factor * DVector::from_column_slice(&z);
        for sign in [1.0, -1.0] {
            points.push(middle.iter().zip(&away).map(|(middle, away)| middle + sign * away).collect());
        }
    }
    points
}

/// The mean of the frontier's values over steps and draws. `None` where there are none, or they are of another
/// estimator.
fn middle(snapshots: &Snapshots, estimator: &Estimator) -> Option<Vec<f64>> {
    let latent = estimator.latent()?;
    if snapshots.elements != estimator.shared.drawn_values().len() {
        return None;
    }
    let mut middle = DVector::zeros(latent.elements);
    for (_, values) in snapshots.steps() {
        for drawn in values.chunks_exact(draw(estimator, values)) {
            middle += DVector::from_vec(latent.frontier_of(drawn));
        }
    }
    middle /= (snapshots.len() * estimator.shared.draws().number()) as f64;
    middle.iter().all(|x| x.is_finite()).then(|| middle.as_slice().to_vec())
}

/// Values of the sites by name, from unconstrained ones.
pub(crate) fn values(sites: &[GuideSite], unconstrained: &[Vec<f64>]) -> Option<Values> {
    let value = |(site, numbers): (&GuideSite, &Vec<f64>)| {
        let shape: Vec<usize> =
            std::iter::once(1).chain(site.unconstrained_shape.dims().iter().copied()).collect();
        let array = ArrayD::from_shape_vec(IxDyn(&shape), numbers.clone()).ok()?;
        let array = match site.support.event_rank() {
            0 => array.mapv(|u| site.support.constrain_number(u)),
            _ => site.support.constrain_array(&array).ok()?,
        };
        Some((site.name.clone(), array))
    };
    sites.iter().zip(unconstrained).map(value).collect()
}

/// Draws one after the other, along their first axes.
fn stacked(all: &[Values]) -> Option<Values> {
    let of = |name: &String| {
        let draws: Option<Vec<_>> =
            all.iter().map(|values| values.get(name).map(|draws| draws.view())).collect();
        Some((name.clone(), concatenate(Axis(0), &draws?).ok()?))
    };
    all.first()?.keys().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guides::AutoNormal;
    use crate::made_up;
    use crate::objective::draws::DrawScheme;
    use crate::objective::programs::{self, Options};
    use ppl_core::{Ctx, Predictive, Records};
    use ppl_distributions::{HalfNormal, Normal};

    /// A deviation, whose logarithm is the value that is inferred: a record's gradient is `y²/s² − 1`.
    fn model(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
        let s = ctx.sample("s", HalfNormal::new(5.0))?;
        ctx.each_record(|ctx, record| ctx.observe("y", Normal::new(0.0, s), record.get("y")?))
    }

    /// The mean of a function of a standard normal, by the trapezoidal rule.
    fn mean(of: impl Fn(f64) -> f64) -> f64 {
        let nodes = (-8_000..=8_000).map(|k| 1e-3 * f64::from(k));
        nodes.map(|z| of(z) * (-0.5 * z * z).exp() * 1e-3 / (2.0 * std::f64::consts::PI).sqrt()).sum()
    }

    fn itself(values: &[f64]) -> Vec<Vec<f64>> {
        vec![values.to_vec()]
    }

    type Itself = fn(&[f64]) -> Vec<Vec<f64>>;

    /// What a simulation from that model of 1,000 records finds around `u = ln s` at 0.3, with displacements as long
    /// as this.
    fn imitated<T>(length: f64, find: impl FnOnce(&Imitation<'_, Itself>, Objective<'_>) -> T) -> T {
        let records = Records::from_columns([("y", vec![0.0; 256])]).unwrap();
        let options = Options { draws: DrawScheme::Antithetic, ..made_up::options() };
        let objective =
            programs::Objective::new(&model, &AutoNormal::new(), records.schema(), &options, &|_, _| Ok(()))
                .unwrap();
        let programs::Objective { mut gradient, estimator, .. } = objective;
        let at = Values::from([("s".to_owned(), ndarray::arr1(&[1.0]).into_dyn())]);
        let replicator = Predictive::posterior(&model, at).unwrap().replicator(&records).unwrap();
        let excess = Excess::new(replicator, 1_000.0);
        let shortening = |_: &DMatrix<f64>| DMatrix::from_element(1, 1, length);
        let at = kept(0.0, 1.0);
        let found = excess.at((&estimator, &mut gradient), &at, shortening, itself as Itself).unwrap();
        find(&found, (&estimator, &mut gradient))
    }

    /// A pair at 0.3 ± `away`, clipped to a norm.
    fn kept(away: f64, norm: f64) -> Snapshots {
        let mut kept = Snapshots::new(1, 2);
        kept.take(0, norm, &[0.3 + away, 0.3 - away]);
        kept
    }

    /// What is found with `u` at 0.3 with this deviation, for pairs at 0.3 ± `away` that are clipped to a norm.
    fn found(deviation: f64, away: f64, norm: f64) -> f64 {
        let points = points(&[0.3], &DMatrix::from_element(1, 1, deviation));
        imitated(1.0, |found, objective| found.expected(objective, &points, &kept(away, norm)).unwrap()[0])
    }

    /// The gradient of a pair of points: the norm of both, each over √2, is clipped.
    fn clipped(z: f64, away: f64, norm: f64) -> f64 {
        let one = |sign: f64| z * z * (-2.0 * sign * away).exp() - 1.0;
        let length = ((one(1.0).powi(2) + one(-1.0).powi(2)) / 2.0).sqrt();
        0.5 * (one(1.0) + one(-1.0)) * (norm / length).min(1.0)
    }

    /// Against integrals. Sixteen thousand draws of what is clipped, less the gradient where records are from, have a
    /// mean that is known to within 1,000 · (less than 1)/128 = 8.
    #[test]
    fn clipping_and_distance_are_what_the_model_expects() {
        // Neither.
        assert!(found(1e-9, 1e-9, 1e6).abs() < 1e-3);
        for (away, norm) in [(1e-9, 2.0), (1e-9, 1.0), (0.3, 1e6), (0.3, 2.0)] {
            let (found, exact) = (found(1e-9, away, norm), 1_000.0 * mean(|z| clipped(z, away, norm)));
            assert!(exact.abs() > 50.0, "{away} {norm}: {exact}, so this shows nothing");
            assert!((found - exact).abs() < 35.0, "{away} {norm}: {found} {exact}");
        }
    }

    /// Records at points of deviation 0.3 are longer by e^(2·0.09) in the mean of squares, of which what is linear,
    /// nothing in the mean of both sides, is left out.
    #[test]
    fn values_that_are_not_known_make_residuals_longer() {
        let exact = 1_000.0 * ((2.0_f64 * 0.09).exp() - 1.0);
        let found = found(0.3, 1e-9, 1e6);
        assert!((found / exact - 1.0).abs() < 0.25, "{found} {exact}");
    }

    /// Of the logarithm of a deviation the curvature is 2 wherever it is. Of 1,024 records the mean of `2 z²` has the
    /// deviation 2 √(2/1,024) = .09. Where the posterior is what that leaves open, points are as far apart; what is
    /// left open by a curvature of a half makes the same of residuals as its own points, half as far apart, do here.
    #[test]
    fn points_are_as_far_apart_as_makes_residuals_longer_by_what_is_left_open() {
        let spread = |variance: f64, noise_variance: f64| {
            imitated(1.0, |found, _| found.spread(&[variance], noise_variance).unwrap()[(0, 0)].abs())
        };
        for noise_variance in [0.0, 6_000.0] {
            let left_open =
                |curvature: f64| (1_000.0 * curvature + noise_variance) / (1_000.0 * curvature).powi(2);
            for curvature in [2.0, 0.5] {
                let found = spread(left_open(curvature), noise_variance);
                let exact = (left_open(curvature) * curvature / 2.0).sqrt();
                assert!((found / exact - 1.0).abs() < 0.2, "{curvature}: {found} {exact}");
            }
        }
        // Where the noise hides all, no farther than one.
        assert_eq!(spread(1e9, 1e12), FARTHEST);
    }

    /// A pair at 0.3 ± a reads `sinh(2a)/a` of the logarithm of a deviation, whose curvature is 2, and less where it
    /// is clipped.
    #[test]
    fn shares_of_what_is_read_are_curvatures_in_the_middle() {
        let read = |away: f64, norm: f64| {
            let one = |z: f64, sign: f64| z * z * (-2.0 * sign * away).exp() - 1.0;
            let length = |z: f64| ((one(z, 1.0).powi(2) + one(z, -1.0).powi(2)) / 2.0).sqrt();
            mean(|z| 0.5 * (one(z, -1.0) - one(z, 1.0)) * (norm / length(z)).min(1.0)) / away
        };
        for (away, norm) in [(0.1, 1e6), (0.5, 1e6), (1.0, 1e6), (0.5, 2.0)] {
            let shares = |length: f64| {
                let axes = DMatrix::identity(1, 1);
                imitated(length, |found, objective| {
                    found.shares(objective, &kept(away / length, norm), &axes).unwrap()
                })
            };
            let (shares, shortened) = (shares(1.0), shares(0.25));
            // What is four times as far away in units that are four times as short has gradients that are a quarter
            // as long.
            let exact = (2.0 / read(away, norm)).min(1.0);
            let exact_there = (2.0 / read(away, 4.0 * norm)).min(1.0);
            assert!((shortened[0] / exact_there - 1.0).abs() < 0.05, "{away} {norm}: {shortened:?}");
            assert!((shares[0] / exact - 1.0).abs() < 0.05, "{away} {norm}: {shares:?} {exact}");
        }
    }

    /// Pairs that lie farther apart have a larger mean gradient, by `cosh(2a) − 1` of each record.
    #[test]
    fn stretches_differ_by_how_far_apart_their_pairs_are() {
        let found = imitated(1.0, |found, objective| {
            found.difference(objective, (&kept(1e-9, 1e6), &kept(0.4, 1e6))).unwrap()
        });
        // Of 1,024 squares of normals the mean has the deviation .044.
        assert!((found / (1_000.0 * (0.8_f64.cosh() - 1.0)) - 1.0).abs() < 0.2, "{found}");
    }

    #[test]
    fn as_many_steps_are_kept_as_there_is_room_for() {
        for steps in [1, 15, 16, 17, 400] {
            let mut snapshots = Snapshots::new(steps, 2);
            let room = snapshots.numbers.capacity();
            (0..steps).for_each(|step| snapshots.take(step, 1.0, &[step as f64, 0.5]));
            assert!((6..=16).contains(&snapshots.len()) || snapshots.len() as u64 == steps, "{steps}");
            assert_eq!(snapshots.numbers.capacity(), room);
            let mut state = vec![];
            snapshots.save(&mut state);
            let mut restored = Snapshots::new(steps, 2);
            restored.restore(&mut SavedState::new(&state)).unwrap();
            assert_eq!(restored, snapshots);
            state[0] = 1e9;
            assert!(restored.restore(&mut SavedState::new(&state)).is_err());
        }
    }

    #[test]
    fn points_are_around_the_middle() {
        let points = points(&[0.2, -3.0], &DMatrix::from_diagonal_element(2, 2, 0.1));
        assert_eq!(points.len(), POINTS);
        for (j, middle) in [0.2, -3.0].into_iter().enumerate() {
            let mean = points.iter().map(|point| point[j]).sum::<f64>() / POINTS as f64;
            let square = points.iter().map(|point| (point[j] - middle).powi(2)).sum::<f64>() / POINTS as f64;
            // Of 32 independent squares the mean has the deviation 0.25 · 0.01.
            assert!((mean - middle).abs() < 1e-12 && (square / 0.01 - 1.0).abs() < 1.2, "{mean} {square}");
        }
    }
}
