//! Second derivatives of the log joint density over all records, without privacy.

use crate::error::Result;
use crate::objective::prior::tangent_name;
use crate::objective::traced::Traced;
use crate::outcome::correction::linear_algebra::{cholesky, inverse, square, symmetrised};
use crate::outcome::correction::noise_aware::NoiseAware;
use crate::wall::sensitive::Sensitive;
use crate::wall::unprotected::sum_over_all;
use ppl_core::{
    ExecutionPlan, Graph, Model, Program, RecordGradient, Records, Schema, SiteKind, Unconstrained,
    hessian_vector, jacobian_vector,
};
use std::ops::Range;

/// Minus the second derivatives of `ln p(T(u)) + ln |T′(u)| + Σ_i ln p(x_i|T(u))` by the unconstrained latent
/// values, a product with a vector at a time; parameters of the model are held.
///
/// **Not private**: for runs without privacy only.
pub(crate) struct Hessian {
    /// Each record's share of a product; `None` where there are no records.
    likelihood: Option<RecordGradient<f64>>,
    prior: ExecutionPlan<f64>,
    /// Names of all sites and, for latent ones, their elements.
    sites: Vec<(String, Option<Range<usize>>)>,
    elements: usize,
}

impl Hessian {
    pub(crate) fn new(model: &dyn Model, schema: &Schema) -> Result<Self> {
        let graph = Graph::new();
        Self::of(&graph, &Traced::new(model, &graph, schema)?, true)
    }

    /// That of a model without records.
    pub(crate) fn public(model: &dyn Model) -> Result<Self> {
        let (graph, no_columns) = (Graph::new(), Schema::default());
        Self::of(&graph, &Traced::public(model, &graph, &no_columns)?, false)
    }

    fn of<'g>(graph: &'g Graph, traced: &Traced<'g>, of_records: bool) -> Result<Self> {
        let (mut sites, mut inputs, mut tangents, mut elements) = (Vec::new(), Vec::new(), Vec::new(), 0);
        for (site, &input) in traced.sites.iter().zip(&traced.inputs) {
            let latent = site.kind != SiteKind::Param;
            sites.push((site.name.clone(), latent.then(|| elements..elements + site.elements())));
            if latent {
                elements += site.elements();
                inputs.push(input);
                tangents.push(graph.input(tangent_name(&site.name), site.unconstrained_shape.clone())?);
            }
        }
        let likelihood = match of_records {
            true => {
                // A record's derivative along the vector; its gradient is the record's share of the product.
                let slope = jacobian_vector(&[traced.log_likelihood], &inputs, &tangents)?;
                Some(RecordGradient::new(slope[0], &inputs)?)
            }
            false => None,
        };
        let density = traced.trace.log_prior() + traced.trace.log_jacobian();
        let prior = ExecutionPlan::new(&Program::new(graph, &hessian_vector(density, &inputs, &tangents)?)?);
        Ok(Self { likelihood, prior, sites, elements })
    }

    /// The matrix at these values of all sites, row by row.
    pub(crate) fn at(
        &mut self,
        values: &[Vec<f64>],
        records: Option<&Sensitive<Records>>,
    ) -> Result<Vec<f64>> {
        for ((name, _), values) in self.sites.iter().zip(values) {
            let input = Unconstrained::input_name(name);
            if let Some(likelihood) = &mut self.likelihood {
                likelihood.set(&input, values)?;
            }
            if let Ok(input) = self.prior.input(&input) {
                self.prior.input_mut(input).copy_from_slice(values);
            }
        }
        let mut matrix = Vec::with_capacity(self.elements * self.elements);
        let mut shares = vec![0.0; self.elements];
        for element in 0..self.elements {
            for (name, range) in &self.sites {
                let Some(range) = range else { continue };
                let mut tangent = vec![0.0; range.len()];
                if range.contains(&element) {
                    tangent[element - range.start] = 1.0;
                }
                let input = tangent_name(name);
                if let Some(likelihood) = &mut self.likelihood {
                    likelihood.set(&input, &tangent)?;
                }
                if let Ok(input) = self.prior.input(&input) {
                    self.prior.input_mut(input).copy_from_slice(&tangent);
                }
            }
            if let (Some(likelihood), Some(records)) = (&mut self.likelihood, records) {
                sum_over_all(likelihood, records, &mut shares)?;
            }
            self.prior.run();
            let prior = (0..self.prior.outputs()).flat_map(|output| self.prior.output(output));
            matrix.extend(shares.iter().zip(prior).map(|(share, prior)| -(share + prior)));
        }
        Ok(matrix)
    }

    /// The normal around these values of all sites; `None` if they are no maximum, so that there is none.
    pub(crate) fn laplace(
        &mut self,
        values: &[Vec<f64>],
        records: Option<&Sensitive<Records>>,
    ) -> Result<Option<NoiseAware>> {
        let matrix = square(&self.at(values, records)?, self.elements);
        // Symmetric but for rounding.
        let Some(factorisation) = cholesky(symmetrised(&matrix)) else { return Ok(None) };
        let latent = || self.sites.iter().zip(values).filter(|((_, range), _)| range.is_some());
        Ok(Some(NoiseAware {
            sites: latent().map(|((name, _), _)| name.clone()).collect(),
            mean: latent().flat_map(|(_, values)| values.iter().copied()).collect(),
            covariance: inverse(&factorisation).as_slice().to_vec(),
            point: None,
            parts: Vec::new(),
            shares: None,
        }))
    }

    /// For each site its elements of the matrix, if it is latent.
    pub(crate) fn places(&self) -> impl Iterator<Item = Option<Range<usize>>> {
        self.sites.iter().map(|(_, range)| range.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guides::{AutoGuideList, AutoLaplace, AutoNormal};
    use crate::made_up::number;
    use crate::{Correction, DpVi, DrawScheme};
    use dp_accountant::{Budget, Relation};
    use dp_sampler::Seed;
    use ndarray::{Array1, Array2};
    use ppl_core::{Column, Constraint, Ctx, Distribution, log_density};
    use ppl_distributions::{Bernoulli, HalfNormal, Normal};
    use std::collections::BTreeMap;

    fn data() -> Records {
        let x = Array2::from_shape_fn((300, 2), |(i, j)| 2.0 * number(2 * i + j));
        let y = Array1::from_shape_fn(300, |i| {
            f64::from(x[[i, 0]] - 0.5 * x[[i, 1]] + 2.0 * number(i + 5000) > 0.0)
        });
        Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap()
    }

    fn records() -> Sensitive<Records> {
        Sensitive::new(data())
    }

    /// Sites of every kind: no record touches `spread`, and `shift` is a parameter.
    fn model(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
        let spread = ctx.sample("spread", HalfNormal::new(2.0))?;
        let w = ctx.sample("w", Normal::new(0.0, spread).iid(2))?;
        let shift = ctx.param("shift", 0.1, Constraint::Real)?;
        ctx.each_record(|ctx, record| {
            ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w) + shift), record.get("y")?)
        })
    }

    /// Second differences of the log density written down separately.
    #[test]
    fn it_is_the_second_difference_of_the_log_joint_density() {
        let records = records();
        let density = |u: [f64; 4]| {
            let values = BTreeMap::from([
                ("spread".to_owned(), ndarray::arr0(u[0].exp()).into_dyn()),
                ("w".to_owned(), Array1::from(vec![u[1], u[2]]).into_dyn()),
                ("shift".to_owned(), ndarray::arr0(u[3]).into_dyn()),
            ]);
            // The Jacobian of `spread = e^u`.
            log_density(&model, &data(), &values).unwrap().total() + u[0]
        };
        let at = [0.2, 0.7, -0.4, 0.1];
        let values = [vec![at[0]], vec![at[1], at[2]], vec![at[3]]];
        let matrix = Hessian::new(&model, records.schema()).unwrap().at(&values, Some(&records)).unwrap();
        let h = 1e-3;
        for j in 0..3 {
            for k in 0..3 {
                let moved = |a: f64, b: f64| {
                    let mut u = at;
                    u[j] += a * h;
                    u[k] += b * h;
                    density(u)
                };
                let second = (moved(1.0, 1.0) - moved(1.0, -1.0) - moved(-1.0, 1.0) + moved(-1.0, -1.0))
                    / (4.0 * h * h);
                // Fourth derivatives of some 100 times h², and roundings of sums of size 200 over h².
                let difference = matrix[3 * j + k] + second;
                assert!(
                    difference.abs() < 1e-4 * (1.0 + second.abs()),
                    "{j} {k}: {second} {}",
                    matrix[3 * j + k]
                );
            }
        }
    }

    #[test]
    fn without_privacy_the_posterior_has_the_inverse_curvature_at_its_mode() {
        let records = records();
        let fit = DpVi::new(model, AutoLaplace::new())
            .without_privacy()
            .draw_scheme(DrawScheme::Single)
            .steps(2000)
            .seed(Seed::for_tests(1))
            .fit(&records)
            .unwrap();
        let of = |name: &str| fit.uncorrected().mean(name).unwrap();
        let values = [vec![of("spread")[[]].ln()], of("w").iter().copied().collect(), vec![of("shift")[[]]]];
        let normal = Hessian::new(&model, records.schema())
            .unwrap()
            .laplace(&values, Some(&records))
            .unwrap()
            .unwrap();
        let sd = fit.posterior().sd("w").unwrap();
        for k in 0..2 {
            assert!((sd[k] - normal.covariance[4 * (k + 1)].sqrt()).abs() < 1e-10);
            assert_eq!(fit.uncorrected().sd("w").unwrap()[k], 0.0);
        }
        // A lognormal, and a point.
        let variance: f64 = normal.covariance[0];
        let mean = (values[0][0] + 0.5 * variance).exp();
        assert!((fit.posterior().mean("spread").unwrap()[[]] - mean).abs() < 1e-9 * mean);
        assert_eq!(fit.posterior().sd("shift").unwrap()[[]], 0.0);
        // Draws have its correlation.
        let draws = fit.posterior().draws(4000, &Seed::for_tests(2)).unwrap();
        let w = &draws["w"];
        let mean = |k: usize| (0..4000).map(|i| w[[i, k]]).sum::<f64>() / 4000.0;
        let product = (0..4000).map(|i| (w[[i, 0]] - mean(0)) * (w[[i, 1]] - mean(1))).sum::<f64>() / 4000.0;
        // Standard error of a sample covariance, at most √2 σ₀σ₁/√n, six times.
        let bound = 6.0 * (2.0_f64 / 4000.0).sqrt() * sd[0] * sd[1];
        assert!((product - normal.covariance[5]).abs() < bound, "{product} {}", normal.covariance[5]);
    }

    #[test]
    fn with_a_budget_it_needs_a_correction_and_touched_values() {
        let budget = Budget { epsilon: 1.0, delta: 1e-5, relation: Relation::AddRemove };
        let told = |vi: DpVi<_, AutoLaplace, _>| vi.budget(budget).fit(&records()).unwrap_err().to_string();
        let message = told(DpVi::new(model, AutoLaplace::new()).correction(Correction::None));
        assert!(message.contains("takes its curvature from a correction"), "{message}");
        let message = told(DpVi::new(model, AutoLaplace::new()));
        assert!(message.contains("'spread', which no record touches"), "{message}");
        let touched = |ctx: &mut Ctx<'_>| {
            let w = ctx.sample("w", Normal::new(0.0, 2.0).iid(2))?;
            ctx.each_record(|ctx, record| {
                ctx.observe("y", Bernoulli::from_logits(record.get("x")?.dot(w)), record.get("y")?)
            })
        };
        let fit = DpVi::new(touched, AutoLaplace::new()).budget(budget).fit(&records()).unwrap();
        assert!(fit.noise_aware().is_some() && fit.posterior().sd("w").unwrap().iter().all(|sd| *sd > 0.0));
        let list = AutoGuideList::new(AutoNormal::new()).with(["w"], AutoLaplace::new());
        let message = DpVi::new(touched, list).budget(budget).fit(&records()).unwrap_err().to_string();
        assert!(message.contains("for all latent values together"), "{message}");
    }
}
