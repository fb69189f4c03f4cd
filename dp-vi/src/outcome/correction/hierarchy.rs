//! Values that no record touches, together with those that records touch: a hierarchy's mean and spread, and its
//! groups.

use crate::objective::prior::{PriorCurvature, SiteAt};
use crate::outcome::correction::linear_algebra::{cholesky, eigen, inverse, pooled, square, symmetrised};
use crate::outcome::correction::noise_aware::{Evidence, NoiseAware};
use crate::outcome::correction::probes::ElementPrior;
use dp_sampler::rand_core::Rng;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use nalgebra::linalg::Cholesky;
use nalgebra::{DMatrix, DVector, DVectorView, Dyn};
use std::ops::Range;

/// Most untouched elements. Simulated with normal posteriors a tenth as wide as where walkers begin, the ensemble finds
/// means of four to within a fifth of a deviation and deviations to within a fifth of themselves, means of sixteen to
/// within a half.
const MOST_UNTOUCHED: usize = 6;

/// Most touched elements. Errors of touched values are stated on the careful side, and the scatter of many groups
/// beside errors that are stated too large looks like a spread of next to nothing. Simulated with errors stated twice
/// and three times as large as they are, intervals of 90 % hold the spread of ten groups always, of fifty in .88 and
/// .16 of cases and of a hundred in .80 and none. A proposal for so many takes a millisecond.
const MOST_TOUCHED: usize = 64;

/// Wide priors are at most so many times as wide as the narrowest: what infers with them takes wider ones to be that.
const WIDEST: f64 = 1e3;

/// How much more precise than the wide prior alone a direction has to be known to count as known. What is found of the
/// curvature is a sample of what is possible, and its errors make directions of which nothing is known a little
/// narrower than their prior, or wider.
const SEEN: f64 = 0.05;

/// The fewest walkers, and how many proposals all of them make.
const WALKERS: usize = 32;
const PROPOSALS: usize = 4_096;

/// Newton steps that all proposals together may take: where they need more the walk is given up.
const MOST_STEPS: usize = 6 * PROPOSALS;

/// Fewest proposals that are taken, of all: walkers that stay where they are have not found anything.
const TAKEN: f64 = 0.1;

/// Decades over which walkers' first distances are spread, below the wide prior's deviation.
const DECADES: f64 = 3.0;

/// Least curvature of a mode, in units of the wide prior's: below, a direction goes as far as anything lets it.
const FLATTEST: f64 = 1e-6;

/// How far a walker may be moved along the line to another one: by a factor from ½ to 2 (Goodman and Weare 2010).
const STRETCH: f64 = 2.0;

/// Between-half over within-half deviation of the walkers' means beyond which they have not come to an end.
const DRIFT: f64 = 0.5;

/// Newton steps towards the mode given the untouched values; a prior that is normal given these needs one.
const NEWTON: usize = 12;
/// Half of what a further Newton step would gain, below which the mode has been found.
const GAIN: f64 = 1e-4;

/// Where the elements of a site are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// Among those that records touch.
    Touched(Range<usize>),
    /// Among the others.
    Untouched(Range<usize>),
}

/// What is known beforehand of a model some of whose latent values no record touches.
///
/// The posterior of the touched values `u` is found with a prior that does not depend on the others, `h`, as wide as
/// `u` is when `h` varies, too. What the releases say of `u` is what makes it differ from that prior, a normal:
///
/// ```text
/// N(u; μ, Σ) ∝ E(u) N(u; m, D²)         E(u) ∝ exp(ηᵀ(u − t) − ½ (u − t)ᵀ Λ (u − t)),   Λ = Σ⁻¹ − D⁻²
/// posterior:  p(u, h | releases) ∝ p(h) p(u | h) E(u)
/// h:          ln p(h) + max_u [ln p(u | h) + ln E(u)] − ½ ln det H(h)        H the curvature at the maximum
/// u | h:      normal, with its mode and H⁻¹
/// ```
///
/// which is exact where `p(u | h)` is normal, and Laplace's approximation elsewhere. Draws of `h` are those of an
/// ensemble of walkers that stretch towards one another, which needs no scales to be set. Where the releases say
/// nothing, `Λ` is zero and the posterior of `u` and `h` is their prior. All of this is computed from what has been
/// released, so it costs nothing.
///
/// A guide's own normal for `h` knows nothing of the noise in `u`: it takes what noise makes of the groups for
/// their spread.
///
/// # References
/// Rue, Martino, Chopin 2009 (nested Laplace approximations); Goodman, Weare 2010 (ensemble samplers).
#[derive(Clone, Debug)]
pub(crate) struct Hierarchy {
    places: Vec<Place>,
    touched: Vec<Wide>,
    untouched: Vec<Wide>,
}

/// The prior of an element by itself, a normal: its middle, `None` of a flat one, and its deviation.
#[derive(Clone, Copy, Debug)]
struct Wide {
    middle: Option<f64>,
    deviation: f64,
}

impl Wide {
    fn of(prior: &ElementPrior) -> Self {
        Self { middle: prior.middle(), deviation: prior.deviation() }
    }
}

/// `E(u)`: `η` and `Λ` around `t`, and what keeps values whose prior is flat from going anywhere.
struct Information {
    at: DVector<f64>,
    slope: DVector<f64>,
    precision: DMatrix<f64>,
}

/// A point of the walk: `h`, the mode of `u` given it, and the logarithm of what it is drawn by.
#[derive(Clone)]
struct Walker {
    untouched: Vec<f64>,
    touched: DVector<f64>,
    log_weight: f64,
}

impl Hierarchy {
    /// With the sites' places in the model's order, and the priors of elements. `None` where no latent value is
    /// untouched, or too many are.
    pub(crate) fn new(
        places: Vec<Place>,
        touched: &[ElementPrior],
        untouched: &[ElementPrior],
    ) -> Option<Self> {
        let (few, some) = (1..=MOST_UNTOUCHED, 1..=MOST_TOUCHED);
        let wide = |priors: &[ElementPrior]| priors.iter().map(Wide::of).collect();
        let (mut touched, untouched): (Vec<Wide>, Vec<Wide>) = (wide(touched), wide(untouched));
        let narrowest = touched.iter().map(|prior| prior.deviation).fold(f64::INFINITY, f64::min);
        touched.iter_mut().for_each(|prior| prior.deviation = prior.deviation.min(WIDEST * narrowest));
        let fits = few.contains(&untouched.len()) && some.contains(&touched.len());
        fits.then_some(Self { places, touched, untouched })
    }

    /// Gradient and curvature of the wide prior at these values.
    pub(crate) fn wide_prior(&self, values: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.touched.len();
        let precision = |prior: &Wide| prior.deviation.powi(-2);
        let slope =
            |(prior, at): (&Wide, &f64)| prior.middle.map_or(0.0, |middle| precision(prior) * (middle - at));
        let mut curvature = vec![0.0; n * n];
        for (j, prior) in self.touched.iter().enumerate() {
            curvature[j * (n + 1)] = precision(prior);
        }
        (self.touched.iter().zip(values).map(slope).collect(), curvature)
    }

    /// The posterior of all values, first the touched ones: `found` is that of these with the wide prior in
    /// `evidence`. Walkers begin around `start`, untouched values. `None` where the posterior is not one, or the
    /// walkers do not come to an end.
    pub(crate) fn posterior(
        &self,
        names: &[&str],
        found: NoiseAware,
        evidence: &Evidence<'_>,
        start: &[f64],
        prior: &mut PriorCurvature,
    ) -> Option<NoiseAware> {
        let information = self.information(&found, evidence)?;
        let mut walk = Walk { hierarchy: self, names, information, start, prior, steps: MOST_STEPS };
        let (mean, covariance) = walk.moments()?;
        let untouched = names.iter().zip(&self.places);
        let untouched = untouched.filter(|(_, place)| matches!(place, Place::Untouched(_)));
        let sites = found.sites.into_iter().chain(untouched.map(|(name, _)| (*name).to_owned()));
        Some(NoiseAware {
            sites: sites.collect(),
            mean: mean.as_slice().to_vec(),
            covariance: covariance.as_slice().to_vec(),
            point: None,
            parts: Vec::new(),
            shares: None,
        })
    }

    /// What a posterior with the wide prior knows beyond that.
    fn information(&self, found: &NoiseAware, evidence: &Evidence<'_>) -> Option<Information> {
        let n = self.touched.len();
        let at = DVector::from_column_slice(evidence.values);
        let precision = inverse(&cholesky(square(&found.covariance, n))?);
        let deviation = |j: usize| self.touched[j].deviation;
        let away = DVectorView::from_slice(&found.mean, n) - &at;
        let slope = &precision * away - DVectorView::from_slice(evidence.prior_gradient, n);
        let slope = DVector::from_fn(n, |j, _| slope[j] * deviation(j));
        let one = |j: usize, k: usize| f64::from(u8::from(j == k));
        let scaled = |j: usize, k: usize| precision[(j, k)] * deviation(j) * deviation(k) - one(j, k);
        let axes = eigen(symmetrised(&DMatrix::from_fn(n, n, scaled)))?;
        let is_seen = axes.eigenvalues.map(|more| if more > SEEN { 1.0 } else { 0.0 });
        let seen = axes.eigenvalues.component_mul(&is_seen);
        let along = axes.eigenvectors.tr_mul(&slope).component_mul(&is_seen);
        let precision = &axes.eigenvectors * DMatrix::from_diagonal(&seen) * axes.eigenvectors.transpose();
        let slope = &axes.eigenvectors * along;
        let back = |j: usize, k: usize| precision[(j, k)] / (deviation(j) * deviation(k));
        let mut precision = symmetrised(&DMatrix::from_fn(n, n, back));
        for (j, prior) in self.touched.iter().enumerate().filter(|(_, prior)| prior.middle.is_none()) {
            precision[(j, j)] += prior.deviation.powi(-2);
        }
        let slope = DVector::from_fn(n, |j, _| slope[j] / deviation(j));
        Some(Information { at, slope, precision })
    }
}

/// The walk over untouched values.
struct Walk<'a> {
    hierarchy: &'a Hierarchy,
    names: &'a [&'a str],
    information: Information,
    start: &'a [f64],
    prior: &'a mut PriorCurvature,
    /// Newton steps that are left.
    steps: usize,
}

/// The sites at these values.
fn sites_at<'s>(
    names: &[&'s str],
    places: &[Place],
    touched: &'s [f64],
    untouched: &'s [f64],
) -> Vec<SiteAt<'s>> {
    let at = |(&name, place): (&&'s str, &Place)| {
        let (values, frontier) = match place {
            Place::Touched(range) => (&touched[range.clone()], Some(range.clone())),
            Place::Untouched(range) => (&untouched[range.clone()], None),
        };
        SiteAt { name, values, frontier }
    };
    names.iter().zip(places).map(at).collect()
}

impl Walk<'_> {
    /// The gradient of `ln p(u | h) + ln E(u)`, and minus its second derivatives.
    fn slopes(&mut self, touched: &DVector<f64>, untouched: &[f64]) -> (DVector<f64>, DMatrix<f64>) {
        let n = touched.len();
        let sites = sites_at(self.names, &self.hierarchy.places, touched.as_slice(), untouched);
        let (gradient, curvature) = self.prior.at(&sites);
        let Information { at, slope, precision } = &self.information;
        let gradient = DVector::from_vec(gradient) + slope - precision * (touched - at);
        let mut curvature = symmetrised(&square(&curvature, n)) + precision;
        for (j, prior) in self.hierarchy.touched.iter().enumerate() {
            curvature[(j, j)] += FLATTEST * prior.deviation.powi(-2);
        }
        (gradient, curvature)
    }

    /// `ln p(h) + ln p(u | h) + ln E(u)`
    fn log_density(&mut self, touched: &DVector<f64>, untouched: &[f64]) -> f64 {
        let sites = sites_at(self.names, &self.hierarchy.places, touched.as_slice(), untouched);
        let prior = self.prior.log_density(&sites);
        let Information { at, slope, precision } = &self.information;
        let away = touched - at;
        // A flat prior would let a walker go anywhere.
        let flat = |((prior, at), start): ((&Wide, &f64), &f64)| match prior.middle {
            None => 0.5 * ((at - start) / prior.deviation).powi(2),
            Some(_) => 0.0,
        };
        let flat: f64 = self.hierarchy.untouched.iter().zip(untouched).zip(self.start).map(flat).sum();
        prior + slope.dot(&away) - 0.5 * away.dot(&(precision * &away)) - flat
    }

    /// The mode of `u` given `h`, from `touched`, with the curvature there, and the walker's weight. `None` where
    /// there is none.
    fn mode(
        &mut self,
        untouched: Vec<f64>,
        mut touched: DVector<f64>,
    ) -> Option<(Walker, Cholesky<f64, Dyn>)> {
        let mut density = self.log_density(&touched, &untouched);
        for _ in 0..NEWTON {
            self.steps = self.steps.checked_sub(1)?;
            let (gradient, curvature) = self.slopes(&touched, &untouched);
            let exact = cholesky(curvature.clone());
            let is_mode = exact.is_some();
            let factor = exact.or_else(|| self.positive(&curvature))?;
            let step = factor.solve(&gradient);
            let gain = 0.5 * gradient.dot(&step);
            if !gain.is_finite() {
                return None;
            }
            if gain < GAIN && density.is_finite() {
                let log_weight = density - factor.l_dirty().diagonal().iter().map(|x| x.ln()).sum::<f64>();
                let walker = Walker { untouched, touched, log_weight };
                return (is_mode && log_weight.is_finite()).then_some((walker, factor));
            }
            // Half as far until the density rises.
            let mut share = 1.0;
            loop {
                let next = &touched + &step * share;
                let found = self.log_density(&next, &untouched);
                // But for the last digits.
                if found >= density - 1e-12 * density.abs() || !density.is_finite() && found.is_finite() {
                    (touched, density) = (next, found);
                    break;
                }
                share *= 0.5;
                if share < 1e-3 {
                    return None;
                }
            }
        }
        None
    }

    /// The factor of a curvature that bends the other way somewhere, with that of the wide prior in such directions:
    /// for a step uphill.
    fn positive(&self, curvature: &DMatrix<f64>) -> Option<Cholesky<f64, Dyn>> {
        let n = curvature.nrows();
        let deviation = |j: usize| self.hierarchy.touched[j].deviation;
        let axes = eigen(DMatrix::from_fn(n, n, |j, k| curvature[(j, k)] * deviation(j) * deviation(k)))?;
        let values = axes.eigenvalues.map(|x| if x > FLATTEST { x } else { 1.0 });
        let scaled = &axes.eigenvectors * DMatrix::from_diagonal(&values) * axes.eigenvectors.transpose();
        cholesky(symmetrised(&DMatrix::from_fn(n, n, |j, k| scaled[(j, k)] / (deviation(j) * deviation(k)))))
    }

    /// Walkers around the start, or around the prior's middle, near and far.
    fn begin(&mut self, number: usize, noise: &GaussianNoise) -> Option<Vec<Walker>> {
        let untouched = &self.hierarchy.untouched;
        let mut normals = vec![0.0; untouched.len()];
        let mut walkers = Vec::with_capacity(number);
        // Some points of the prior may be of no density; twice as many are tried.
        for k in 0..2 * number {
            noise.fill(k as u64, &mut normals);
            let nearness = (k % number) as f64 / number as f64;
            let value = |((prior, start), z): ((&Wide, &f64), &f64)| {
                let middle = prior.middle.filter(|_| k % 2 == 1).unwrap_or(*start);
                middle + prior.deviation * 10f64.powf(-DECADES * nearness) * z
            };
            let at: Vec<f64> = untouched.iter().zip(self.start).zip(&normals).map(value).collect();
            let touched = self.information.at.clone();
            walkers.extend(self.mode(at, touched).map(|(walker, _)| walker));
            if walkers.len() == number {
                return Some(walkers);
            }
        }
        None
    }

    /// Proposes a move to each walker, and says how many took it.
    fn sweep(&mut self, walkers: &mut [Walker], uniform: &mut impl FnMut() -> f64) -> usize {
        let number = walkers.len();
        let mut taken = 0;
        for k in 0..number {
            let other = (k + 1 + (uniform() * (number - 1) as f64) as usize) % number;
            let stretch = ((STRETCH - 1.0) * uniform() + 1.0).powi(2) / STRETCH;
            let (walker, towards) = (&walkers[k], &walkers[other]);
            let moved = walker.untouched.iter().zip(&towards.untouched);
            let moved: Vec<f64> = moved.map(|(from, to)| to + stretch * (from - to)).collect();
            let (chance, dimension) = (uniform().ln(), moved.len() as f64);
            let Some((next, _)) = self.mode(moved, walker.touched.clone()) else { continue };
            if chance < next.log_weight - walkers[k].log_weight + (dimension - 1.0) * stretch.ln() {
                walkers[k] = next;
                taken += 1;
            }
        }
        taken
    }

    /// Mean and covariance of all values.
    fn moments(&mut self) -> Option<(DVector<f64>, DMatrix<f64>)> {
        let (touched, untouched) = (self.hierarchy.touched.len(), self.hierarchy.untouched.len());
        let seed = Seed::for_tests(0);
        let noise = GaussianNoise::with_purpose(&seed, Purpose::Custom("walkers of a hierarchy"));
        let mut random = seed.streams(Purpose::Custom("moves of walkers")).at(0);
        let mut uniform = || (random.next_u64() >> 11) as f64 * 2f64.powi(-53);
        let number = WALKERS.max(2 * untouched + 2);
        let mut walkers = self.begin(number, &noise)?;
        let sweeps = PROPOSALS / number;
        // What comes first is the way there.
        let kept = sweeps / 2;
        let (mut means, mut covariances) = (Vec::new(), DMatrix::zeros(touched, touched));
        let mut halves = [Vec::new(), Vec::new()];
        let mut taken = 0;
        for sweep in 0..sweeps {
            taken += self.sweep(&mut walkers, &mut uniform);
            if sweep < sweeps - kept {
                continue;
            }
            let half = usize::from(2 * (sweep + kept - sweeps) >= kept);
            halves[half].extend(walkers.iter().map(|walker| walker.untouched.clone()));
            // Neighbouring sweeps are nearly the same; so are the curvatures of most walkers.
            if (sweeps - 1 - sweep).is_multiple_of((kept / 10).max(1)) {
                for walker in &walkers {
                    let (walker, factor) = self.mode(walker.untouched.clone(), walker.touched.clone())?;
                    covariances += inverse(&factor);
                    let all = walker.touched.iter().chain(&walker.untouched).copied();
                    means.push(DVector::from_iterator(touched + untouched, all));
                }
            }
        }
        if !has_settled(&halves, untouched) || (taken as f64) < TAKEN * (sweeps * number) as f64 {
            return None;
        }
        let mut parts = DMatrix::zeros(touched + untouched, touched + untouched);
        parts.view_mut((0, 0), (touched, touched)).copy_from(&covariances);
        Some(pooled(&means, parts))
    }
}

/// Whether the second half of a walk is where the first was.
fn has_settled(halves: &[Vec<Vec<f64>>; 2], elements: usize) -> bool {
    (0..elements).all(|j| {
        let [first, second] = [0, 1].map(|half: usize| {
            let values = halves[half].iter().map(|values| values[j]);
            let number = halves[half].len() as f64;
            let mean = values.clone().sum::<f64>() / number;
            (mean, values.map(|x| (x - mean).powi(2)).sum::<f64>() / number)
        });
        let within = (0.5 * (first.1 + second.1)).sqrt();
        (first.0 - second.0).abs() <= DRIFT * within
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::prior::prior_programs;
    use crate::objective::traced::Traced;
    use ndarray::Array1;
    use ppl_core::{Column, Ctx, Distribution, Graph, Model, Records, Result};
    use ppl_distributions::{HalfNormal, Normal};

    const GROUPS: usize = 5;

    /// Groups around a mean.
    fn around(ctx: &mut Ctx) -> Result<()> {
        let mean = ctx.sample("mean", Normal::new(0.0, 2.0))?;
        let groups = ctx.sample("groups", Normal::new(mean, 1.0).iid(GROUPS))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Normal::new(groups.sum(), 1.0), record.get("y")?)?;
            Ok(())
        })
    }

    /// Groups of a spread.
    fn spread(ctx: &mut Ctx) -> Result<()> {
        let spread = ctx.sample("spread", HalfNormal::new(1.0))?;
        let groups = ctx.sample("groups", Normal::new(0.0, spread).iid(GROUPS))?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Normal::new(groups.sum(), 1.0), record.get("y")?)?;
            Ok(())
        })
    }

    /// The posterior where groups with the wide prior `N(0, wide²)` have been found to be at `at` to within `deviation`
    /// of a release, and the first value is one that no record touches, with draws of its prior.
    fn posterior(
        model: &dyn Model,
        name: &str,
        draws: Vec<f64>,
        wide: f64,
        (at, deviation): (&[f64], f64),
    ) -> NoiseAware {
        let records = Records::from_columns([("y", Column::from(Array1::<f64>::zeros(3)))]).unwrap();
        let graph = Graph::new();
        let schema = records.schema().clone();
        let traced = Traced::new(model, &graph, &schema).unwrap();
        let (_, prior) = prior_programs(&graph, &traced, true).unwrap();
        // Draws whose median is 0 and whose deviation is that of the wide prior.
        let touched: Vec<f64> =
            (0..2001).map(|k| wide * Normal::new(0.0, 1.0).quantile((f64::from(k) + 0.5) / 2001.0)).collect();
        let touched = vec![ElementPrior::new(Some(touched), true); GROUPS];
        let untouched = ElementPrior::new(Some(draws), name == "mean");
        let places = vec![Place::Untouched(0..1), Place::Touched(0..GROUPS)];
        let hierarchy = Hierarchy::new(places, &touched, &[untouched]).unwrap();
        let values = vec![0.3; GROUPS];
        let (prior_gradient, prior_curvature) = hierarchy.wide_prior(&values);
        let evidence = Evidence {
            curvature: &[],
            values: &values,
            gradients: &[],
            noise_variance: 1.0,
            sampling: 0.0,
            prior_gradient: &prior_gradient,
            prior_curvature: &prior_curvature,
        };
        let (ours, theirs) = (prior_curvature[0], deviation.powi(-2));
        let mut covariance = vec![0.0; GROUPS * GROUPS];
        covariance.iter_mut().step_by(GROUPS + 1).for_each(|x| *x = (ours + theirs).recip());
        let found = NoiseAware {
            sites: vec!["groups".to_owned()],
            mean: at.iter().map(|x| theirs * x / (ours + theirs)).collect(),
            covariance,
            point: None,
            parts: Vec::new(),
            shares: None,
        };
        hierarchy.posterior(&[name, "groups"], found, &evidence, &[0.2], &mut prior.unwrap()).unwrap()
    }

    fn deviation(found: &NoiseAware, j: usize) -> f64 {
        found.covariance[j * (GROUPS + 2)].sqrt()
    }

    /// Of a hierarchy of normals the posterior is a normal, too, by the joint precision. Walkers are draws: means and
    /// deviations have errors of some hundredths.
    #[test]
    fn a_normal_hierarchy_has_its_exact_posterior() {
        let at = [2.0, 1.0, 3.0, -1.0, 2.5];
        for release in [0.1, 1.0, 10.0] {
            let draws = (0..501).map(|k| 2.0 * Normal::new(0.0, 1.0).quantile((f64::from(k) + 0.5) / 501.0));
            let found = posterior(&around, "mean", draws.collect(), 5f64.sqrt(), (&at, release));
            assert_eq!(found.sites, ["groups", "mean"]);
            let precision = f64::powi(release, -2);
            let exact = DMatrix::from_fn(GROUPS + 1, GROUPS + 1, |j, k| match (j == GROUPS, k == GROUPS) {
                (true, true) => 0.25 + GROUPS as f64,
                (false, false) if j == k => 1.0 + precision,
                (false, false) => 0.0,
                _ => -1.0,
            });
            let factor = cholesky(exact).unwrap();
            let pulled = at.iter().map(|x| precision * x).chain([0.0]);
            let mean = factor.solve(&DVector::from_iterator(GROUPS + 1, pulled));
            let covariance = inverse(&factor);
            for j in 0..=GROUPS {
                let (here, there) = (deviation(&found, j), covariance[(j, j)].sqrt());
                // With a release of ten deviations the groups are known a hundredth better than from the prior, which
                // is taken for nothing.
                let error = if release > 5.0 { 0.4 } else { 0.15 };
                assert!(
                    (found.mean[j] - mean[j]).abs() < error * there,
                    "{release} {j}: {} {}",
                    found.mean[j],
                    mean[j]
                );
                assert!((here / there).ln().abs() < 0.15, "{release} {j}: {here} {there}");
            }
            let correlation =
                |matrix: &[f64], n: usize| matrix[n - 1] / (matrix[0] * matrix[n * n - 1]).sqrt();
            let (here, there) =
                (correlation(&found.covariance, GROUPS + 1), correlation(covariance.as_slice(), GROUPS + 1));
            assert!((here - there).abs() < 0.1, "{release}: {here} {there}");
        }
    }

    /// A spread of which nothing is known is that of the prior, and groups are as wide as it leaves open: a normal
    /// fitted to both at once would take the groups' own width for the spread.
    #[test]
    fn where_nothing_is_known_the_prior_is_the_answer() {
        let log = |u: f64| HalfNormal::new(1.0).quantile(u).ln();
        let draws: Vec<f64> = (0..501).map(|k| log((f64::from(k) + 0.5) / 501.0)).collect();
        let mean = draws.iter().sum::<f64>() / 501.0;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 501.0;
        let found = posterior(&spread, "spread", draws, 1.0, (&[0.0; GROUPS], 1e6));
        let (here, there) = (deviation(&found, GROUPS), variance.sqrt());
        assert!((found.mean[GROUPS] - mean).abs() < 0.3 * there, "{} {mean}", found.mean[GROUPS]);
        assert!((here / there).ln().abs() < 0.3, "{here} {there}");
        // Half normal spreads have a mean square of one.
        assert!((0..GROUPS).all(|j| (0.7..1.4).contains(&deviation(&found, j))), "{:?}", found.covariance);
    }

    /// Groups that are known are the data of their spread.
    #[test]
    fn a_spread_is_inferred_from_groups_that_are_known() {
        let at = [3.0, -2.0, 1.5, -3.5, 0.5];
        let log = |u: f64| HalfNormal::new(1.0).quantile(u).ln();
        let draws: Vec<f64> = (0..501).map(|k| log((f64::from(k) + 0.5) / 501.0)).collect();
        let found = posterior(&spread, "spread", draws, 1.0, (&at, 0.01));
        // ln p(v) = −½ e^2v + v − 5 v − ½ Σ g² e^−2v for v = ln spread, summed over a grid.
        let squares: f64 = at.iter().map(|x| x * x).sum();
        let log_density = |v: f64| -0.5 * (2.0 * v).exp() - 4.0 * v - 0.5 * squares * (-2.0 * v).exp();
        let grid = || (0..4000).map(|k| -1.0 + 0.001 * f64::from(k));
        let total: f64 = grid().map(|v| log_density(v).exp()).sum();
        let mean: f64 = grid().map(|v| v * log_density(v).exp()).sum::<f64>() / total;
        let square: f64 = grid().map(|v| (v - mean).powi(2) * log_density(v).exp()).sum::<f64>() / total;
        assert!((found.mean[GROUPS] - mean).abs() < 0.2 * square.sqrt(), "{} {mean}", found.mean[GROUPS]);
        assert!(
            (deviation(&found, GROUPS) / square.sqrt()).ln().abs() < 0.15,
            "{:?} {square}",
            found.covariance
        );
        assert!((0..GROUPS).all(|j| (found.mean[j] - at[j]).abs() < 0.02), "{:?}", found.mean);
    }
}
