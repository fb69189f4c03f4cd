//! Runs without privacy that go on until they have arrived, and what they say of themselves.

pub(crate) mod density;
pub(crate) mod mode;
pub(crate) mod natural;
pub(crate) mod pareto;

use crate::error::{Error, Result};
use crate::guides::guide::{Guide, GuideSite};
use crate::objective::initial::other_starts;
use crate::objective::shared::Shared;
use crate::outcome::convergence::density::Density;
use crate::outcome::convergence::mode::mode;
use crate::outcome::convergence::natural::{Doubt, Found, Normal, Target, nearest_normal};
use crate::outcome::convergence::pareto::pareto_k;
use crate::outcome::correction::hessian::Hessian;
use crate::outcome::correction::linear_algebra::square;
use crate::outcome::progress::Callback;
use crate::wall::sensitive::Sensitive;
use dp_accountant::Relation;
use dp_sampler::{GaussianNoise, NoiseSource, Purpose, Seed};
use nalgebra::{DMatrix, DVector};
use ppl_core::{Model, Records, Schema};
use std::fmt;

/// The most latent elements of a run that goes on until it has arrived: its steps take the time of their
/// third power.
pub(crate) const MOST_ELEMENTS: usize = 500;

/// Draws of the guide that its quality is judged by; the fewest where there are very many records.
const DRAWS: (usize, usize) = (2_000, 400);

/// Draws of a fit that was stopped.
const FEW_DRAWS: usize = 100;

/// Records at all draws together beyond which there are fewer draws.
const MANY: f64 = 4e8;

/// By how much the logarithm of the mean importance weight may exceed the bound, at least, and for each latent
/// value, before the search begins once more at the best of the draws.
const ELSEWHERE: (f64, f64) = (10.0, 0.1);

/// Whether a run without privacy has converged, and how well its guide fits there: for
/// [`AutoLaplace`](crate::guides::AutoLaplace), the normal around the mode.
///
/// `k̂` is the shape of the tail of the importance weights `p(u, x)/q(u)` over draws of the guide `q`: below
/// 0.5 the guide is close to the posterior where the weights are also worth many draws (`effective_share`), up to
/// 0.7 its draws can be reweighted, above it is far off somewhere, which may or may not show in means and
/// standard deviations. It grows with the number of latent values. Nothing here sees what the guide's draws do
/// not reach, such as another mode.
///
/// # References
/// Yao, Vehtari, Simpson, Gelman 2018, "Yes, but did it work? Evaluating variational inference" (`k̂` of a
/// guide).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Convergence {
    /// Whether means and standard deviations are where they belong: no step raises the bound any more, draws
    /// of their own lead to the same normal to within their Monte Carlo error, and that error is small. A
    /// maximum of the bound that was found need not be the largest one.
    pub converged: bool,
    /// How far this may still be from there: the largest over latent values of what the last steps, the
    /// difference between the last two sets of draws, or the Monte Carlo error say, for means in standard
    /// deviations and for standard deviations in their logarithm. For `AutoLaplace` the length of the last
    /// step in standard deviations, a root mean square over latent values.
    pub remaining: f64,
    /// The bound `E_q[ln p(u, x) − ln q(u)]` at the end; NaN or infinite where it does not exist.
    pub elbo: f64,
    /// Its Monte Carlo standard error.
    pub elbo_error: f64,
    /// `k̂`; NaN where a weight is not finite, and infinite where one draw carries all weight.
    pub pareto_k: f64,
    /// How many equal weights are worth as much as those of a draw, `(Σ w)²/(n Σ w²)`: 1 where the guide is
    /// the posterior. `k̂` says nothing where this is near 1, for then no weight is large.
    pub effective_share: f64,
    /// How often the log density of all records, and its gradient, were computed.
    pub evaluations: u64,
    doubt: Option<Doubt>,
}

impl fmt::Display for Convergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ELSE: &str = "Do not use this posterior; start elsewhere (initial_values), or write the model with values near 0 and 1";
        match self.doubt {
            None if self.converged => write!(f, "Converged.")?,
            None => write!(f, "NOT CONVERGED: the bound does not exist here. {ELSE}.")?,
            Some(Doubt::Stopped) => write!(f, "NOT CONVERGED: the fit was stopped before it had.")?,
            Some(Doubt::Moving) => {
                write!(f, "NOT CONVERGED: the last steps still moved means or standard deviations")?;
                if self.remaining.is_finite() && self.remaining >= 0.05 {
                    write!(f, ", by some {:.2} standard deviations", self.remaining)?;
                }
                write!(f, ". {ELSE}.")?;
            }
            Some(Doubt::Noise) => write!(
                f,
                "NOT CONVERGED: different draws lead to normals that are some {:.2} standard deviations apart. Write the \
                 model so that its density has lighter tails and values near 0 and 1, or take another guide.",
                self.remaining
            )?,
            Some(Doubt::Rare) => write!(
                f,
                "NOT CONVERGED: draws that are too rare to be seen decide where the guide belongs, for gradients have heavy tails; \
                 means and standard deviations may be far off, and the bound is. Narrow a prior that reaches over many orders \
                 of magnitude, or write the model so that its density has lighter tails."
            )?,
            Some(Doubt::Improper) => write!(
                f,
                "NOT CONVERGED: the posterior may be improper, for there is a direction in which no prior and no data \
                 hold the latent values. Give them proper priors."
            )?,
        }
        match self.elbo.is_finite() {
            true => write!(
                f,
                " ELBO {:.2} ± {:.2}, {} evaluations.",
                self.elbo, self.elbo_error, self.evaluations
            )?,
            false => write!(
                f,
                " The bound (ELBO) does not exist: the log density is not finite at some draws of the guide. {} evaluations.",
                self.evaluations
            )?,
        }
        let (k, share) = (self.pareto_k, self.effective_share);
        match () {
            () if !self.elbo.is_finite() => write!(f, " The guide reaches where the density is not finite."),
            () if share > 0.95 => write!(
                f,
                " The guide is all but the posterior where its draws are: importance weights differ by little. Other modes \
                 cannot be seen from here."
            ),
            () if k.is_nan() => write!(f, " The guide reaches where the density is not finite."),
            () if k < 0.5 && share >= 0.6 => {
                write!(f, " Pareto k = {k:.2}: the guide is close to the posterior.")
            }
            () if k < 0.7 && share >= 0.2 => {
                write!(
                    f,
                    " Pareto k = {k:.2}: the guide is near the posterior; its draws are worth {:.0} % as many of the posterior's.",
                    100.0 * share
                )
            }
            () if k == f64::INFINITY => write!(
                f,
                " One draw carries all the weight: the posterior is far off from the guide; compare with another guide or with \
                 draws of a Markov chain."
            ),
            () => write!(
                f,
                " Pareto k = {k:.2}, draws worth {:.1} % as many of the posterior's: the posterior is not close to the \
                 guide's family everywhere; compare with another guide or with draws of a Markov chain.",
                100.0 * share
            ),
        }
    }
}

/// What draws of a normal say of it.
struct Quality {
    elbo: f64,
    elbo_error: f64,
    pareto_k: f64,
    effective_share: f64,
    /// The logarithm of the mean importance weight, which estimates the evidence.
    evidence: f64,
    /// The draw with the largest weight.
    best: DVector<f64>,
    /// The largest `k̂` of an axis' slopes `|z_k ∂ ln p/∂z_k|`, of which the scale along it follows.
    rare: f64,
    evaluations: u64,
}

/// Above this `k̂` a law has no mean.
const NO_MEAN: f64 = 1.0;

/// Deviations along an axis at which slopes are looked at that no draw sees: of a million one lies beyond 5.
const FAR: [f64; 3] = [5.0, 6.5, 8.0];

/// The mean slope along an axis that draws beyond [`FAR`] may add: as much as all slopes of a normal are together.
const MOST_UNSEEN: f64 = 1.0;

/// What slopes far out along each axis add to its mean slope, by a sum over [`FAR`] on both sides; the largest.
///
/// # Errors
/// As the density.
fn unseen(normal: &Normal, density: &mut Density<'_>) -> Result<f64> {
    let n = normal.mean.len();
    let far: Vec<f64> = FAR.iter().flat_map(|z| [*z, -z]).collect();
    let mut points = DMatrix::zeros(n, far.len() * n);
    for (mut point, (axis, z)) in points.column_iter_mut().zip(axes(n, &far)) {
        point.copy_from(&(&normal.mean + *z * normal.factor.column(axis)));
    }
    let (mut values, mut gradients) = (vec![0.0; points.ncols()], DMatrix::zeros(n, points.ncols()));
    density.evaluate(&points, &mut values, &mut gradients)?;
    let mut all = vec![0.0; n];
    for (gradient, (axis, z)) in gradients.column_iter().zip(axes(n, &far)) {
        let slope = z * normal.factor.column(axis).dot(&gradient);
        let share = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt() * (FAR[1] - FAR[0]);
        // Where a density is not finite it says nothing here.
        if slope.is_finite() {
            all[axis] += share * slope.abs();
        }
    }
    Ok(all.into_iter().fold(0.0, f64::max))
}

/// Each of these places on each axis.
fn axes(n: usize, far: &[f64]) -> impl Iterator<Item = (usize, &f64)> {
    (0..n).flat_map(move |axis| far.iter().map(move |z| (axis, z)))
}

impl Quality {
    fn of(
        normal: &Normal,
        density: &mut Density<'_>,
        number: usize,
        fill: &mut dyn FnMut(&mut [f64]),
    ) -> Result<Self> {
        let n = normal.mean.len();
        let mut draws = DMatrix::zeros(n, number);
        fill(draws.as_mut_slice());
        let mut points = &normal.factor * &draws;
        points.column_iter_mut().for_each(|mut point| point += &normal.mean);
        let (mut values, mut gradients) = (vec![0.0; number], DMatrix::zeros(n, number));
        density.evaluate(&points, &mut values, &mut gradients)?;
        // ln q(u) = −½ |z|² − ln det L − ½ n ln 2π
        let constant = normal.factor.diagonal().iter().map(|x| x.ln()).sum::<f64>()
            + 0.5 * n as f64 * (2.0 * std::f64::consts::PI).ln();
        let logs: Vec<f64> = values
            .iter()
            .zip(draws.column_iter())
            .map(|(value, z)| value + 0.5 * z.norm_squared() + constant)
            .collect();
        let elbo = logs.iter().sum::<f64>() / number as f64;
        let variance = logs.iter().map(|x| (x - elbo).powi(2)).sum::<f64>() / (number - 1) as f64;
        let finite = logs.iter().copied().enumerate().filter(|(_, x)| x.is_finite());
        let (place, largest) =
            finite.fold((0, f64::NEG_INFINITY), |best, x| if x.1 > best.1 { x } else { best });
        let weights = logs.iter().map(|x| (x - largest).exp());
        let (sum, squares) = weights.fold((0.0, 0.0), |(sum, squares), w| (sum + w, squares + w * w));
        let slopes = normal.factor.tr_mul(&gradients).component_mul(&draws);
        let rare = slopes.row_iter().map(|row| pareto_k(row.iter().map(|slope| slope.abs().ln()).collect()));
        let rare = rare.fold(f64::NEG_INFINITY, f64::max);
        Ok(Self {
            rare,
            elbo,
            elbo_error: (variance / number as f64).sqrt(),
            pareto_k: pareto_k(logs),
            effective_share: sum * sum / (squares * number as f64),
            evidence: largest + (sum / number as f64).ln(),
            best: points.column(place).into_owned(),
            evaluations: number as u64,
        })
    }

    /// Whether most of the posterior is not where the draws are, as far as they can tell.
    fn is_elsewhere(&self) -> bool {
        let gap = ELSEWHERE.0 + ELSEWHERE.1 * self.best.len() as f64;
        let away = self.evidence - self.elbo;
        self.evidence.is_finite() && (away >= gap || away.is_nan())
    }
}

/// Fits the guide's normal until it has converged, or finds the mode, and gives its parameters in the order of
/// the layout. Without records the model is one of public constants. `None` where guide or model are not of
/// that kind.
///
/// # Errors
/// [`Error::NotFiniteAtStart`] if the density is finite neither around the start nor at points of the prior.
pub(crate) fn converge(
    model: &dyn Model,
    guide: &dyn Guide,
    records: Option<&Sensitive<Records>>,
    shared: &Shared,
    seed: &Seed,
    on_progress: Option<&mut Callback>,
) -> Result<Option<(Vec<f64>, Convergence)>> {
    let family = guide.normal_family();
    if family.is_none() && !guide.wants_curvature() {
        return Ok(None);
    }
    let Some(density) = Density::new(model, records)? else { return Ok(None) };
    let mut density = density.telling(on_progress);
    let (mut mean, mut scales) = (Vec::new(), Vec::new());
    for marginal in shared.marginals(guide, &shared.initial) {
        let Some(marginal) = marginal else { return Ok(None) };
        mean.extend(marginal.loc);
        scales.extend(marginal.scale);
    }
    if mean.len() != density.elements() || !(family.is_none() || scales.iter().all(|scale| *scale > 0.0)) {
        return Ok(None);
    }
    let noise = GaussianNoise::with_purpose(seed, Purpose::Custom("draws until convergence"));
    let mut batch = 0;
    let mut fill = |out: &mut [f64]| {
        noise.fill(batch, out);
        batch += 1;
    };
    let mut hessian = match (family, records) {
        (Some(_), _) => None,
        (None, Some(records)) => Some(Hessian::new(model, records.schema())?),
        (None, None) => Some(Hessian::public(model)?),
    };
    let ends: Vec<usize> = shared.sites.iter().map(GuideSite::elements).collect();
    let mut search = |density: &mut Density<'_>, mean: Vec<f64>, fill: &mut dyn FnMut(&mut [f64])| {
        let Some(family) = family else {
            let Some(hessian) = &mut hessian else { return Ok(None) };
            let second = |u: &[f64]| {
                let mut rest = u;
                let values = ends.iter().map(|&elements| {
                    let (values, others) = rest.split_at(elements);
                    rest = others;
                    values.to_vec()
                });
                let values: Vec<Vec<f64>> = values.collect();
                Ok(square(&hessian.at(&values, records)?, u.len()))
            };
            return mode(density, mean, second);
        };
        nearest_normal(density, Normal::independent(mean, scales.clone()), family, fill)
    };
    let mut found = search(&mut density, mean.clone(), &mut fill)?;
    if found.is_none() && !is_finite_at(&mut density, &mean)? {
        let no_columns = Schema::default();
        let schema = records.map_or(&no_columns, Sensitive::schema);
        let starts = other_starts(model, schema, &shared.sites);
        let Some(start) = best_of(&mut density, &starts)? else {
            return Err(Error::NotFiniteAtStart { others: starts.len() });
        };
        found = search(&mut density, start, &mut fill)?;
    }
    let Some(mut found) = found else {
        return Err(match family {
            Some(_) => Error::NotFiniteAtStart { others: 0 },
            None if !density.goes_on() => Error::stopped_before_a_maximum(guide.describe()),
            None => Error::no_maximum(guide.describe()),
        });
    };
    // Without privacy nothing protects their number.
    let number = records.and_then(|records| records.public_number(Relation::ReplaceOne)).unwrap_or(0);
    let draws = match found.doubt {
        Some(Doubt::Stopped) => FEW_DRAWS,
        _ => ((MANY / number.max(1) as f64) as usize).clamp(DRAWS.1, DRAWS.0),
    };
    let mut quality = Quality::of(&found.normal, &mut density, draws, &mut fill)?;
    let mut evaluations = found.evaluations + quality.evaluations;
    // A start between modes may stay there, for by symmetry no slope leads away.
    if family.is_some() && found.doubt != Some(Doubt::Stopped) && quality.is_elsewhere() {
        let start = quality.best.as_slice().to_vec();
        if let Some(other) = search(&mut density, start, &mut fill)? {
            let others = Quality::of(&other.normal, &mut density, draws, &mut fill)?;
            evaluations += other.evaluations + others.evaluations;
            let error = 4.0 * (others.elbo_error + quality.elbo_error);
            let better = others.elbo - quality.elbo > error || !quality.elbo.is_finite();
            if others.elbo.is_finite() && better {
                (found, quality) = (other, others);
            }
        }
    }
    let Found { normal, remaining, doubt, .. } = found;
    // A mean of draws that has no expectation, as far as the draws tell, was not found by them.
    let doubt = match (doubt, family) {
        (None, Some(_)) => {
            let unseen = unseen(&normal, &mut density)?;
            evaluations += (2 * FAR.len() * normal.mean.len()) as u64;
            (quality.rare > NO_MEAN || unseen > MOST_UNSEEN).then_some(Doubt::Rare)
        }
        (doubt, _) => doubt,
    };
    let convergence = Convergence {
        converged: doubt.is_none() && (family.is_none() || quality.elbo.is_finite()),
        remaining,
        elbo: quality.elbo,
        elbo_error: quality.elbo_error,
        pareto_k: quality.pareto_k,
        effective_share: quality.effective_share,
        evaluations,
        doubt,
    };
    // Row by row.
    let factor = normal.factor.transpose();
    let named = guide.normal_parameters(&shared.sites, normal.mean.as_slice(), factor.as_slice());
    let mut parameters = shared.initial.clone();
    for (name, values) in named {
        let place = shared.layout.iter().find(|(known, _)| *known == name).map(|(_, range)| range);
        match place {
            Some(range) if range.len() == values.len() => parameters[range].copy_from_slice(&values),
            _ => return Ok(None),
        }
    }
    Ok(Some((parameters, convergence)))
}

fn is_finite_at(density: &mut Density<'_>, at: &[f64]) -> Result<bool> {
    Ok(best_of(density, &[at.to_vec()])?.is_some())
}

/// The point with the highest density, of those where value and slope are finite.
fn best_of(density: &mut Density<'_>, points: &[Vec<f64>]) -> Result<Option<Vec<f64>>> {
    let n = density.elements();
    let matrix = DMatrix::from_fn(n, points.len(), |k, column| points[column][k]);
    let (mut values, mut gradients) = (vec![0.0; points.len()], DMatrix::zeros(n, points.len()));
    density.evaluate(&matrix, &mut values, &mut gradients)?;
    let all = values.iter().zip(gradients.column_iter()).zip(points);
    let usable = all.filter(|((value, slope), _)| value.is_finite() && slope.iter().all(|x| x.is_finite()));
    Ok(usable.max_by(|((a, _), _), ((b, _), _)| a.total_cmp(b)).map(|(_, point)| point.clone()))
}

/// Whether a guide is of that kind, and has few enough elements for this.
pub(crate) fn is_small_enough(guide: &dyn Guide, elements: usize) -> bool {
    (guide.normal_family().is_some() || guide.wants_curvature()) && (1..=MOST_ELEMENTS).contains(&elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convergence() -> Convergence {
        Convergence {
            converged: true,
            remaining: 0.01,
            elbo: -3.0,
            elbo_error: 0.1,
            pareto_k: -0.2,
            effective_share: 0.99,
            evaluations: 1000,
            doubt: None,
        }
    }

    /// Small `k` with few effective draws is not close, one draw with all weight is far off, and a bound that is
    /// NaN is no number to print.
    #[test]
    fn words_follow_from_share_and_tail_together() {
        let good = convergence().to_string();
        assert!(
            good.starts_with("Converged. ELBO -3.00 ± 0.10") && good.contains("all but the posterior"),
            "{good}"
        );
        for share in [0.1, 0.55] {
            let told = Convergence { effective_share: share, ..convergence() }.to_string();
            assert!(!told.contains("close to the posterior."), "{told}");
        }
        let close = Convergence { effective_share: 0.8, ..convergence() }.to_string();
        assert!(close.contains("the guide is close to the posterior"), "{close}");
        let alone = Convergence { effective_share: 5e-4, pareto_k: f64::INFINITY, ..convergence() };
        assert!(alone.to_string().contains("One draw carries all the weight"), "{alone}");
        let (elbo, elbo_error) = (f64::NAN, f64::NAN);
        let none = Convergence { elbo, elbo_error, converged: false, ..convergence() }.to_string();
        assert!(none.contains("does not exist") && !none.contains("NaN ±"), "{none}");
        let moving =
            Convergence { doubt: Some(Doubt::Moving), converged: false, remaining: 0.0, ..convergence() };
        assert!(!moving.to_string().contains("0.00"), "{moving}");
    }
}
