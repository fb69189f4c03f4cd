//! The approximate posterior of every site, which a fit returns.

use crate::error::{Error, Result};
use crate::guides::guide::{GuideSite, Marginal};
use crate::outcome::factors::FactorDraws;
use crate::outcome::simulation::{SIMULATED, Simulation};
use dp_sampler::rand_core::Rng;
use dp_sampler::{Purpose, Seed};
use ndarray::{ArrayD, Axis, IxDyn};
use ppl_core::{Constraint, Model, Predictive, Values};
use std::sync::Arc;

/// An approximate posterior: a distribution of unconstrained values, mapped into each site's support.
///
/// # Privacy
/// The posterior of a private fit has been released: it may be shown, stored and used in computations without further
/// cost.
///
/// # Accuracy
/// The posterior that [`Fit::uncorrected`](crate::Fit::uncorrected) returns is the guide at the released parameters.
/// Its intervals describe the uncertainty given the data, and do **not** include the noise that was added for privacy.
/// Those of a [corrected](crate::NoiseAware) posterior do, for the sites that it covers; [`rehearse`](crate::rehearse)
/// measures how often such intervals contain the true values for a model of your own.
///
/// For sites whose unconstrained elements are normal and mapped one by one, means, standard deviations and intervals of
/// this posterior are exact up to rounding. For vectors and matrices with a constraint as a whole (simplexes, for
/// example), and for hand-written guides, they are estimated from 10,000 draws (5,000 draws and their mirror images,
/// which are always the same): a mean then has an error of about a hundredth of the standard deviation, or less.
#[derive(Clone, Debug)]
pub struct Posterior {
    pub(super) sites: Arc<[(GuideSite, Option<Marginal>)]>,
    pub(super) simulation: Arc<Source>,
}

/// Where draws come from.
#[derive(Debug)]
pub(super) enum Source {
    /// A guide, of unconstrained values.
    Guide(Box<Simulation>),
    /// A normal of unconstrained values that was read from a file.
    #[cfg(feature = "json")]
    Normal(super::written::JointNormal),
    /// Factors of exponential families, of the values themselves.
    Factors(FactorDraws),
}

impl Posterior {
    pub(crate) fn new(sites: &[GuideSite], marginals: Vec<Option<Marginal>>, simulation: Simulation) -> Self {
        let simulation = Arc::new(Source::Guide(Box::new(simulation)));
        Self { sites: sites.iter().cloned().zip(marginals).collect(), simulation }
    }

    /// A posterior of independent factors.
    pub(crate) fn of_factors(sites: &[GuideSite], factors: FactorDraws) -> Self {
        let sites = sites.iter().enumerate().map(|(number, site)| (site.clone(), factors.marginal(number)));
        Self { sites: sites.collect(), simulation: Arc::new(Source::Factors(factors)) }
    }

    /// Mean and standard deviation of a factor's elements, where they have formulas.
    fn moments_of_factor(&self, name: &str) -> Result<Option<[ArrayD<f64>; 2]>> {
        let number = self.find(name)?;
        let Source::Factors(factors) = &*self.simulation else { return Ok(None) };
        let shape = self.sites[number].0.shape.dims();
        Ok(factors.moments(number).map(|moments| {
            moments.map(|values| {
                let mut values = values.into_iter();
                ArrayD::from_shape_simple_fn(shape, || values.next().unwrap_or(f64::NAN))
            })
        }))
    }

    /// The names of the sites, in the order of the model.
    pub fn sites(&self) -> impl Iterator<Item = &str> {
        self.sites.iter().map(|(site, _)| site.name.as_str())
    }

    fn find(&self, name: &str) -> Result<usize> {
        self.sites.iter().position(|(site, _)| site.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.sites().collect();
            Error::UnknownSite { name: name.to_owned(), known: known.join(", ") }
        })
    }

    /// The marginal that says everything of a site's elements, if there is one.
    fn exact(&self, number: usize) -> Option<&Marginal> {
        let (site, marginal) = &self.sites[number];
        marginal.as_ref().filter(|_| site.support.event_rank() == 0)
    }

    /// A function of each element's normal, or of its values in all draws.
    fn map(
        &self,
        name: &str,
        of_normal: impl Fn(Constraint, f64, f64) -> f64,
        of_draws: impl Fn(&mut [f64]) -> f64,
    ) -> Result<ArrayD<f64>> {
        let number = self.find(name)?;
        let site = &self.sites[number].0;
        let Some(marginal) = self.exact(number) else {
            let draws = self.draws_of(SIMULATED, true, &Seed::for_tests(0), &|other| other == number)?;
            let draws =
                draws.into_iter().next().map_or_else(|| ArrayD::zeros(IxDyn(&[0])), |(_, draws)| draws);
            return Ok(draws.map_axis(Axis(0), |draws| of_draws(&mut draws.to_vec())));
        };
        let mut values = marginal
            .loc
            .iter()
            .zip(&marginal.scale)
            .map(|(&loc, &scale)| of_normal(site.support, loc, scale));
        Ok(ArrayD::from_shape_simple_fn(site.shape.dims(), || values.next().unwrap_or(f64::NAN)))
    }

    /// The posterior mean of a site's value, in the site's shape.
    ///
    /// # Errors
    /// If there is no such site.
    pub fn mean(&self, name: &str) -> Result<ArrayD<f64>> {
        if let Some([mean, _]) = self.moments_of_factor(name)? {
            return Ok(mean);
        }
        self.map(name, |support, loc, scale| moments(support, loc, scale).0, |draws| moments_of(draws).0)
    }

    /// The posterior means of all sites, by name, for use as a point in [`log_density`](ppl_core::log_density) or
    /// [`Summaries::log_likelihood`](crate::summaries::Summaries::log_likelihood).
    ///
    /// The mean is taken element by element. For a site whose support is not convex, such as the Cholesky factor of a
    /// correlation matrix, it need not lie in the support.
    ///
    /// # Errors
    /// As for [`mean`](Posterior::mean).
    pub fn means(&self) -> Result<Values> {
        self.sites().map(|name| Ok((name.to_owned(), self.mean(name)?))).collect()
    }

    /// The posterior standard deviation of a site's value; zero for a parameter.
    ///
    /// # Errors
    /// If there is no such site.
    pub fn sd(&self, name: &str) -> Result<ArrayD<f64>> {
        if let Some([_, sd]) = self.moments_of_factor(name)? {
            return Ok(sd);
        }
        self.map(name, |support, loc, scale| moments(support, loc, scale).1, |draws| moments_of(draws).1)
    }

    /// The central interval with this posterior probability, element by element: the lower and the upper ends.
    ///
    /// # Errors
    /// If there is no such site, or `probability` is not strictly between 0 and 1.
    pub fn interval(&self, name: &str, probability: f64) -> Result<(ArrayD<f64>, ArrayD<f64>)> {
        if !(probability > 0.0 && probability < 1.0) {
            let (what, requirement) = ("interval probability", "strictly between 0 and 1");
            return Err(Error::OutOfRange { what, requirement, value: probability });
        }
        let z = normal_quantile(0.5 + 0.5 * probability);
        // A bijection of numbers is monotone, so quantiles map to quantiles; of a decreasing one, to the
        // other end.
        let end = |side: f64| {
            let of_normal = |support: Constraint, loc, scale: f64| {
                let side = if matches!(support, Constraint::LessThan(_) | Constraint::AtMost(_)) {
                    -side
                } else {
                    side
                };
                support.constrain_number(loc + side * z * scale)
            };
            self.map(name, of_normal, |draws| quantile_of(draws, 0.5 + 0.5 * side * probability))
        };
        Ok((end(-1.0)?, end(1.0)?))
    }

    /// Independent draws from the joint posterior of all sites: arrays by name, whose first axis counts the draws. They
    /// can be passed to [`Predictive::posterior`](ppl_core::Predictive::posterior), and written as tables with
    /// `ppl_core::draws::export`.
    ///
    /// In a corrected posterior the sites that the correction [covers](crate::NoiseAware::sites) are drawn jointly, and
    /// independently of the other sites.
    ///
    /// # Errors
    /// If the draws have more numbers than can be addressed.
    ///
    /// ```
    /// # use dp_sampler::{FullBatch, Seed};
    /// # use dp_vi::guides::AutoNormal;
    /// # use dp_vi::{DpVi, Sensitive};
    /// # use ppl_core::{Ctx, Predictive, Records};
    /// # use ppl_distributions::Normal;
    /// # fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    /// #     let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
    /// #     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    /// # }
    /// # let records = Records::from_columns([("x", vec![0.5; 10])])?;
    /// let fit = DpVi::new(model, AutoNormal::new()).without_privacy().subsample(FullBatch).fit(&Sensitive::new(records.clone()))?;
    /// let draws = fit.posterior().draws(100, &Seed::from_os()?)?;
    /// assert_eq!(draws["mean"].shape(), [100]);
    /// let predicted = Predictive::posterior(&model, draws)?.run(&records)?;
    /// assert_eq!(predicted["x"].shape(), [100, 10]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn draws(&self, draws: usize, seed: &Seed) -> Result<Values> {
        Ok(self.draws_of(draws, false, seed, &|_| true)?.into_iter().collect())
    }

    /// Prepares predictions from this many draws of the posterior. On the result, `.run(&records)` returns the
    /// predicted sites as arrays `[draws, records, …site]`, and `.log_likelihood(&records)` the log-likelihood of each
    /// record as `[draws, records]`. For a model without records, pass [`Records::none`](ppl_core::Records::none).
    ///
    /// # Privacy
    /// The draws cost nothing of a budget. Predictions and log-likelihoods of *sensitive* records are exact functions
    /// of these records, and the guarantee does not cover them.
    ///
    /// # Errors
    /// As for [`draws`](Posterior::draws), and if the number of draws is zero.
    ///
    /// ```
    /// # use dp_sampler::Seed;
    /// # use dp_vi::guides::AutoNormal;
    /// # use dp_vi::{DpVi, Sensitive};
    /// # use ppl_core::{Ctx, Records};
    /// # use ppl_distributions::Normal;
    /// fn model(ctx: &mut Ctx) -> ppl_core::Result<()> {
    ///     let mean = ctx.sample("mean", Normal::new(0.0, 1.0))?;
    ///     ctx.each_record(|ctx, record| ctx.observe("x", Normal::new(mean, 1.0), record.get("x")?))
    /// }
    /// # let records = Sensitive::new(Records::from_columns([("x", vec![0.5; 10])])?);
    /// let fit = DpVi::new(model, AutoNormal::new()).without_privacy().steps(50).fit(&records)?;
    /// let (seed, people) = (Seed::from_os()?, Records::from_columns([("x", vec![0.1, 0.2])])?);
    /// let predicted = fit.posterior().predictive(&model, 100, &seed)?.run(&people)?;
    /// let pointwise = fit.posterior().predictive(&model, 100, &seed)?.log_likelihood(&people)?;
    /// assert_eq!((predicted["x"].shape(), pointwise.shape()), (&[100, 2][..], &[100, 2][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn predictive<'m, M: Model + ?Sized>(
        &self,
        model: &'m M,
        draws: usize,
        seed: &Seed,
    ) -> Result<Predictive<'m, M>> {
        if draws == 0 {
            let (what, requirement) = ("number of draws", "at least 1");
            return Err(Error::OutOfRange { what, requirement, value: 0.0 });
        }
        let key = seed.streams(Purpose::Custom("predictions")).at(0).next_u64();
        Ok(Predictive::posterior(model, self.draws(draws, seed)?)?.key(key))
    }

    /// The values of the sites that are wanted, with a first axis that counts the draws.
    fn draws_of(
        &self,
        draws: usize,
        mirrored: bool,
        seed: &Seed,
        wanted: &dyn Fn(usize) -> bool,
    ) -> Result<Vec<(String, ArrayD<f64>)>> {
        let mut unconstrained: Vec<Vec<f64>> = vec![Vec::new(); self.sites.len()];
        let take = |site: usize, values: &[f64]| unconstrained[site].extend_from_slice(values);
        let constrained = match &*self.simulation {
            Source::Guide(simulation) => {
                simulation.run(draws, mirrored, seed, wanted, take);
                false
            }
            #[cfg(feature = "json")]
            Source::Normal(normal) => {
                normal.run(draws, mirrored, seed, wanted, take);
                false
            }
            Source::Factors(factors) => {
                factors.run(draws, seed, wanted, take);
                true
            }
        };
        let mut found = Vec::new();
        for (number, values) in unconstrained.into_iter().enumerate().filter(|(number, _)| wanted(*number)) {
            let site = &self.sites[number].0;
            let of_site = if constrained { &site.shape } else { &site.unconstrained_shape };
            let shape: Vec<usize> = std::iter::once(draws).chain(of_site.dims().iter().copied()).collect();
            let told =
                |error: ndarray::ShapeError| ppl_core::Error::Values(error.to_string()).at_site(&site.name);
            let values = ArrayD::from_shape_vec(IxDyn(&shape), values).map_err(told)?;
            let values = match site.support.event_rank() {
                _ if constrained => values,
                0 => values.mapv(|u| site.support.constrain_number(u)),
                _ => site.support.constrain_array(&values)?,
            };
            found.push((site.name.clone(), values));
        }
        Ok(found)
    }
}

/// Mean and standard deviation of draws.
fn moments_of(draws: &[f64]) -> (f64, f64) {
    let n = draws.len() as f64;
    let mean = draws.iter().sum::<f64>() / n;
    (mean, (draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt())
}

/// The quantile of draws at `p`, between the two nearest of them. They are put in order.
fn quantile_of(draws: &mut [f64], p: f64) -> f64 {
    draws.sort_by(f64::total_cmp);
    let place = p * (draws.len() as f64 - 1.0);
    let (below, share) = (place.floor() as usize, place.fract());
    let at = |k: usize| draws.get(k).copied().unwrap_or(f64::NAN);
    if share == 0.0 { at(below) } else { at(below) * (1.0 - share) + at(below + 1) * share }
}

/// Mean and standard deviation of `f(loc + scale·z)`, `z` standard normal and `f` the bijection of the
/// support.
///
/// The trapezoid rule over ±12 standard deviations converges exponentially for these analytic integrands.
fn moments(support: Constraint, loc: f64, scale: f64) -> (f64, f64) {
    if support == Constraint::Real || scale == 0.0 {
        return (support.constrain_number(loc), scale);
    }
    let mean = (loc + 0.5 * scale * scale).exp();
    let sd = mean * (scale * scale).exp_m1().sqrt();
    match support.interior() {
        Constraint::Positive => return (mean, sd),
        Constraint::GreaterThan(bound) => return (bound + mean, sd),
        Constraint::LessThan(bound) => return (bound - mean, sd),
        _ => {}
    }
    let integral = |f: &dyn Fn(f64) -> f64| {
        let (mut total, mut weight) = (0.0, 0.0);
        for k in -1200..=1200 {
            let z = f64::from(k) * 0.01;
            let w = (-0.5 * z * z).exp();
            weight += w;
            total += w * f(support.constrain_number(loc + scale * z));
        }
        total / weight
    };
    let mean = integral(&|x| x);
    (mean, integral(&|x| (x - mean).powi(2)).sqrt())
}

/// `Φ⁻¹(p)` for `p > ½`, by bisection on `Φ(z) = ½ erfc(−z/√2)`.
fn normal_quantile(p: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..60 {
        let middle: f64 = 0.5 * (low + high);
        if 0.5 * libm::erfc(-middle / std::f64::consts::SQRT_2) < p { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::noise_feed::NoiseFeed;
    use crate::outcome::correction::noise_aware::NoiseAware;
    use ndarray::arr1;
    use ppl_core::{ExecutionPlan, Graph, Noise, NoiseKind, Program, Shape, SiteKind};

    /// Sites whose unconstrained elements are independent normals.
    fn of_sites(sites: Vec<GuideSite>, marginals: Vec<Marginal>, known: bool) -> Posterior {
        let graph = Graph::new();
        let mut noise = Noise::new(&graph, "guide");
        let draw = |(site, marginal): (&GuideSite, &Marginal)| {
            let shape = site.unconstrained_shape.clone();
            let z = noise.draw(NoiseKind::StandardNormal, shape.clone()).unwrap();
            let array = |x: &[f64]| graph.array(&ArrayD::from_shape_vec(shape.dims(), x.to_vec()).unwrap());
            array(&marginal.loc) + array(&marginal.scale) * z
        };
        let values: Vec<_> = sites.iter().zip(&marginals).map(draw).collect();
        let plan = ExecutionPlan::new(&Program::new(&graph, &values).unwrap());
        let simulation = Simulation::new(plan.clone(), NoiseFeed::all(&plan, noise.inputs()));
        let marginals = marginals.into_iter().map(|marginal| known.then_some(marginal)).collect();
        Posterior::new(&sites, marginals, simulation)
    }

    fn site(name: &str, support: Constraint, shape: impl Into<Shape>) -> GuideSite {
        GuideSite::new(name, shape.into(), support, SiteKind::Latent).unwrap()
    }

    fn posterior(support: Constraint, loc: f64, scale: f64) -> Posterior {
        let marginal = Marginal { loc: vec![loc], scale: vec![scale] };
        of_sites(vec![site("s", support, 1)], vec![marginal], true)
    }

    #[test]
    fn a_posterior_is_a_table() {
        let sites =
            vec![site("level", Constraint::Real, Shape::scalar()), site("many", Constraint::Real, 22)];
        let marginals = vec![
            Marginal { loc: vec![-1.5], scale: vec![0.5] },
            Marginal { loc: vec![2e7; 22], scale: vec![0.0; 22] },
        ];
        let table = of_sites(sites, marginals, true).to_string();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 1 + 1 + 20 + 1, "{table}");
        // -1.5 ± 1.6449 · 0.5.
        let numbers: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(numbers, ["level", "-1.5000", "0.5000", "-2.3224", "-0.6776"]);
        assert!(lines[2].starts_with("many[0]") && lines[2].contains("2.000e7"), "{table}");
        assert_eq!(lines[22], "many … 2 more");
    }

    /// Simulated against exact, for numbers; n = 10,000, half of them mirror images. A mean's standard error
    /// is at most sd/70 (that of 5,000 independent ones), a standard deviation's with kurtosis up to 10 sd
    /// √(9/(4·5000)) = sd/47, the 5 % quantile's √(0.0475/5000)/density; 5.2 of each: α = 2e-7.
    #[test]
    fn what_is_simulated_is_what_is_known() {
        for support in [
            Constraint::Real,
            Constraint::Positive,
            Constraint::UnitInterval,
            Constraint::LessThan(2.0),
            Constraint::Interval(-1.0, 3.0),
        ] {
            let marginal = Marginal { loc: vec![0.3], scale: vec![0.5] };
            let exact = posterior(support, 0.3, 0.5);
            let simulated = of_sites(vec![site("s", support, 1)], vec![marginal], false);
            let sd = exact.sd("s").unwrap()[0];
            assert!((exact.mean("s").unwrap()[0] - simulated.mean("s").unwrap()[0]).abs() < 5.2 * sd / 70.0);
            assert!((sd - simulated.sd("s").unwrap()[0]).abs() < 5.2 * sd / 47.0, "{support:?}");
            let (ends, others) = (exact.interval("s", 0.9).unwrap(), simulated.interval("s", 0.9).unwrap());
            assert!(ends.0[0] < ends.1[0] && others.0[0] < others.1[0], "{support:?}");
            // In standard normals a quantile is off by √(0.0475/5000)/φ(1.645) = 0.03, 5.2 of which are 0.16.
            for (end, other, side) in [(ends.0[0], others.0[0], -1.0), (ends.1[0], others.1[0], 1.0)] {
                let side = if matches!(support, Constraint::LessThan(_) | Constraint::AtMost(_)) {
                    -side
                } else {
                    side
                };
                let z = (support.unconstrain(other) - 0.3) / 0.5;
                assert!((z - side * 1.644_853_626_951).abs() < 0.16, "{support:?} {end} {other}");
            }
        }
    }

    /// Vectors and matrices against closed forms. Tolerances as above, 5.2 standard errors of at most sd/70
    /// and sd/40.
    #[test]
    fn sets_of_vectors_are_simulated() {
        let sites = vec![
            site("cuts", Constraint::Ordered, 2),
            site("shares", Constraint::Simplex, 2),
            site("factor", Constraint::LowerCholesky, [2, 2]),
            site("matrix", Constraint::PositiveDefinite, [1, 1]),
        ];
        let marginals = vec![
            Marginal { loc: vec![0.5, -0.2], scale: vec![0.3, 0.4] },
            Marginal { loc: vec![0.7], scale: vec![0.6] },
            Marginal { loc: vec![0.1, 0.2, -0.3], scale: vec![0.2, 0.3, 0.1] },
            Marginal { loc: vec![0.25], scale: vec![0.2] },
        ];
        let posterior = of_sites(sites, marginals, true);
        let near = |name: &str, place: &[usize], mean: f64, sd: f64| {
            let (got, spread) = (posterior.mean(name).unwrap()[place], posterior.sd(name).unwrap()[place]);
            assert!((got - mean).abs() <= 5.2 * sd / 70.0, "{name}: mean {got}, not {mean}");
            assert!((spread - sd).abs() <= 5.2 * sd / 40.0, "{name}: sd {spread}, not {sd}");
        };
        let lognormal = |loc, scale| moments(Constraint::Positive, loc, scale);
        near("cuts", &[0], 0.5, 0.3);
        let (mean, sd) = lognormal(-0.2, 0.4);
        near("cuts", &[1], 0.5 + mean, 0.3_f64.hypot(sd));
        // Of two shares the first is 1/(1 + e^−u).
        let (mean, sd) = moments(Constraint::UnitInterval, 0.7, 0.6);
        near("shares", &[0], mean, sd);
        near("shares", &[1], 1.0 - mean, sd);
        near("factor", &[1, 0], 0.1, 0.2);
        near("factor", &[0, 1], 0.0, 0.0);
        let (mean, sd) = lognormal(0.2, 0.3);
        near("factor", &[0, 0], mean, sd);
        // A matrix of one number is the square of the factor.
        let (mean, sd) = lognormal(0.5, 0.4);
        near("matrix", &[0, 0], mean, sd);
        let (low, high) = posterior.interval("shares", 0.9).unwrap();
        assert!(low.iter().zip(&high).all(|(low, high)| low < high));
        assert!((low[0] - (1.0 - high[1])).abs() < 1e-12, "two shares sum to 1");
        let draws = posterior.draws(50, &Seed::for_tests(4)).unwrap();
        assert_eq!(draws["factor"].shape(), [50, 2, 2]);
        for draw in draws["shares"].outer_iter() {
            assert!((draw.sum() - 1.0).abs() < 1e-14);
        }
        // Independent draws, not mirror images; another seed, other draws.
        assert_ne!(draws["cuts"][[0, 0]] + draws["cuts"][[1, 0]], 1.0);
        assert_ne!(draws, posterior.draws(50, &Seed::for_tests(5)).unwrap());
        assert_eq!(draws, posterior.draws(50, &Seed::for_tests(4)).unwrap());
    }

    /// n = 20,000 draws: a covariance has standard error at most √2 sd sd/141, and 5.2 of them are 0.053 sd
    /// sd: α = 2e-7.
    #[test]
    fn a_corrected_posterior_is_drawn_with_its_covariances() {
        let sites = vec![
            site("a", Constraint::Real, 2),
            site("b", Constraint::Real, ()),
            site("c", Constraint::Real, 1),
        ];
        let marginals = |scale: f64| {
            [2, 1, 1].map(|n| Some(Marginal { loc: vec![0.0; n], scale: vec![scale; n] })).to_vec()
        };
        let known = marginals(1.0).into_iter().flatten().collect();
        let plain = of_sites(sites.clone(), known, true);
        let found = NoiseAware {
            sites: vec!["a".to_owned(), "c".to_owned()],
            mean: vec![1.0, 2.0, 3.0],
            covariance: vec![1.0, 0.5, 0.3, 0.5, 2.0, 0.1, 0.3, 0.1, 0.5],
            point: None,
            parts: Vec::new(),
            shares: None,
        };
        let places = vec![Some((0..2, true)), None, Some((2..3, false))];
        let Source::Guide(simulation) = &*plain.simulation else { panic!("a guide's posterior") };
        let simulation = Simulation::clone(simulation).corrected(&found, places).unwrap();
        let posterior = Posterior::new(&sites, marginals(1.0), simulation);
        let n = 20_000;
        let draws = posterior.draws(n, &Seed::for_tests(8)).unwrap();
        let (a, b) = (&draws["a"], &draws["b"]);
        let covariance = |i: usize, j: usize| {
            (0..n).map(|k| (a[[k, i]] - found.mean[i]) * (a[[k, j]] - found.mean[j])).sum::<f64>() / n as f64
        };
        for (i, j, expected, size) in [(0, 0, 1.0, 1.0), (0, 1, 0.5, 2.0_f64.sqrt()), (1, 1, 2.0, 2.0)] {
            assert!((covariance(i, j) - expected).abs() < 0.053 * size, "{i} {j}: {}", covariance(i, j));
        }
        assert!((b.iter().sum::<f64>() / n as f64).abs() < 5.2 / 141.0);
        // A parameter does not vary.
        assert!(draws["c"].iter().all(|c| *c == 3.0));
    }

    #[test]
    fn real_sites_keep_their_moments() {
        let posterior = posterior(Constraint::Real, 1.5, 0.2);
        assert_eq!(posterior.mean("s").unwrap(), arr1(&[1.5]).into_dyn());
        assert_eq!(posterior.sd("s").unwrap(), arr1(&[0.2]).into_dyn());
        let (low, high) = posterior.interval("s", 0.9).unwrap();
        // Φ⁻¹(0.95) = 1.6448536269514722
        assert!((low[0] - (1.5 - 0.2 * 1.644_853_626_951_472_2)).abs() < 1e-11);
        assert!((high[0] - (1.5 + 0.2 * 1.644_853_626_951_472_2)).abs() < 1e-11);
    }

    #[test]
    fn mapped_sites_have_the_moments_of_the_mapped_normal() {
        // E of a lognormal by quadrature of its own, and the logistic-normal's symmetry.
        let (mean, sd) = moments(Constraint::Positive, 0.3, 0.5);
        let n = 200_000;
        let (mut w, mut m1, mut m2) = (0.0, 0.0, 0.0);
        for k in 0..n {
            let z = -10.0 + 20.0 * (k as f64 + 0.5) / n as f64;
            let weight = (-0.5 * z * z).exp();
            let x = (0.3 + 0.5 * z).exp();
            w += weight;
            m1 += weight * x;
            m2 += weight * x * x;
        }
        assert!((mean - m1 / w).abs() < 1e-9 && (sd - (m2 / w - mean * mean).sqrt()).abs() < 1e-8);
        // Beyond a bound they are those of a log-normal, however wide.
        for scale in [0.5, 9.0] {
            let (mean, sd) = moments(Constraint::Positive, 0.3, scale);
            assert_eq!(moments(Constraint::GreaterThan(4.0), 0.3, scale), (4.0 + mean, sd));
            assert_eq!(moments(Constraint::AtMost(4.0), 0.3, scale), (4.0 - mean, sd));
        }
        let (mean, sd) = moments(Constraint::UnitInterval, 0.0, 2.0);
        assert!((mean - 0.5).abs() < 1e-14 && sd > 0.2 && sd < 0.5);
        assert!((moments(Constraint::UnitInterval, 1.0, 1e-4).1 - 1e-4 * 0.196_611_933).abs() < 1e-11);
    }

    #[test]
    fn nonsense_is_refused() {
        let posterior = posterior(Constraint::Real, 0.0, 1.0);
        assert!(posterior.mean("t").unwrap_err().to_string().contains("no site 't'; it has s"));
        assert!(posterior.interval("s", 1.0).is_err() && posterior.interval("s", f64::NAN).is_err());
    }
}
