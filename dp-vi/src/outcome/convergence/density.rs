//! The log density of everything at unconstrained values, with its gradient.

use crate::error::{Error, Result};
use crate::objective::traced::Traced;
use crate::outcome::convergence::natural::Target;
use crate::outcome::progress::{Callback, Progress};
use crate::wall::sensitive::Sensitive;
use crate::wall::unprotected::AllRecords;
use nalgebra::DMatrix;
use ppl_core::{
    ExecutionPlan, Graph, Model, Program, RecordGradient, Records, Schema, SiteKind, Unconstrained, gradient,
};
use std::ops::Range;
use std::time::{Duration, Instant};

/// The input that the log-likelihood is multiplied with, so that its derivative by it is its value.
const ONE: &str = "density/one";

/// `ln p(T(u)) + ln |T′(u)| + Σ_i ln p(x_i|T(u))` for the unconstrained latent values `u`, one site after the
/// other. **Not private**: for runs without privacy only.
pub(crate) struct Density<'r> {
    workers: Vec<Worker>,
    records: Option<AllRecords<'r>>,
    elements: usize,
    progress: Option<Teller<'r>>,
}

/// Says how far a search has come.
struct Teller<'r> {
    callback: &'r mut Callback,
    started: Instant,
    told: Option<Instant>,
    done: u64,
    stopped: bool,
}

impl Teller<'_> {
    fn tell(&mut self, evaluations: usize) {
        self.done += evaluations as u64;
        if self.stopped || self.told.is_some_and(|told| told.elapsed() < Duration::from_millis(100)) {
            return;
        }
        // How many there will be is not known.
        let progress = Progress::since(self.started, 0, self.done, u64::MAX);
        self.stopped = (self.callback)(progress).is_break();
        self.told = Some(Instant::now());
    }
}

/// Programs of their own for each thread.
#[derive(Clone)]
struct Worker {
    /// `None` where there are no records.
    likelihood: Option<RecordGradient<f64>>,
    /// The density of the prior, and its gradient for each site.
    prior: ExecutionPlan<f64>,
    sites: Vec<(String, Range<usize>)>,
    /// The sites' places among the likelihood's sums, where records touch them, and that of the value.
    touched: Vec<Option<Range<usize>>>,
    sums: Vec<f64>,
}

impl<'r> Density<'r> {
    /// `None` where not all sites are latent values that all records share. Without records, the model is one
    /// of public constants.
    pub(crate) fn new(model: &dyn Model, records: Option<&'r Sensitive<Records>>) -> Result<Option<Self>> {
        let (graph, no_columns) = (Graph::new(), Schema::default());
        let traced = match records {
            Some(records) => Traced::new(model, &graph, records.schema())?,
            None => Traced::public(model, &graph, &no_columns)?,
        };
        let latent = |site: &crate::guides::guide::GuideSite| site.kind != SiteKind::Param;
        if !traced.record_noise.is_empty() || !traced.sites.iter().all(latent) {
            return Ok(None);
        }
        let likelihood = match records {
            Some(_) => {
                let one = graph.input(ONE, ())?;
                let mut frontier = traced.frontier();
                frontier.push(one);
                let mut likelihood = RecordGradient::new(traced.log_likelihood * one, &frontier)?;
                likelihood.set(ONE, &[1.0])?;
                Some(likelihood)
            }
            None => None,
        };
        let density = traced.trace.log_prior() + traced.trace.log_jacobian();
        let mut outputs = vec![density];
        outputs.extend(gradient(density, &traced.inputs)?);
        let prior = ExecutionPlan::new(&Program::new(&graph, &outputs)?);
        let (mut sites, mut touched, mut at, mut sum) = (Vec::new(), Vec::new(), 0, 0);
        for (site, is_touched) in traced.sites.iter().zip(&traced.touched) {
            let elements = site.elements();
            sites.push((Unconstrained::input_name(&site.name), at..at + elements));
            at += elements;
            touched.push(is_touched.then(|| sum..sum + elements));
            sum += if *is_touched { elements } else { 0 };
        }
        let sums = vec![0.0; likelihood.as_ref().map_or(1, RecordGradient::dimension)];
        if sums.len() != sum + 1 {
            return Err(Error::NothingToInfer("has sums of another length than its sites"));
        }
        let worker = Worker { likelihood, prior, sites, touched, sums };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let (workers, records) = (vec![worker; threads], records.map(AllRecords::of));
        Ok(Some(Self { workers, records, elements: at, progress: None }))
    }

    /// Calls this as evaluations go on, and stops when it says so.
    pub(crate) fn telling(mut self, callback: Option<&'r mut Callback>) -> Self {
        let started = Instant::now();
        self.progress =
            callback.map(|callback| Teller { callback, started, told: None, done: 0, stopped: false });
        self
    }
}

impl Worker {
    fn evaluate(
        &mut self,
        records: Option<&AllRecords<'_>>,
        at: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64> {
        for (name, range) in &self.sites {
            let values = &at[range.clone()];
            if let Some(likelihood) = &mut self.likelihood {
                likelihood.set(name, values)?;
            }
            if let Ok(input) = self.prior.input(name) {
                self.prior.input_mut(input).copy_from_slice(values);
            }
        }
        self.prior.run();
        if let (Some(records), Some(likelihood)) = (records, &mut self.likelihood) {
            records.sum(likelihood, &mut self.sums)?;
        }
        for (site, ((_, range), touched)) in self.sites.iter().zip(&self.touched).enumerate() {
            let total = &mut gradient[range.clone()];
            total.copy_from_slice(self.prior.output(site + 1));
            if let Some(touched) = touched {
                total.iter_mut().zip(&self.sums[touched.clone()]).for_each(|(total, sum)| *total += sum);
            }
        }
        Ok(self.prior.output(0)[0] + self.sums[self.sums.len() - 1])
    }
}

impl Target for Density<'_> {
    fn elements(&self) -> usize {
        self.elements
    }

    fn evaluate(
        &mut self,
        points: &DMatrix<f64>,
        values: &mut [f64],
        gradients: &mut DMatrix<f64>,
    ) -> Result<()> {
        let (n, number) = (self.elements, values.len());
        // Every point is computed by itself, so how they are shared out changes no bit.
        let share = values.len().div_ceil(self.workers.len()).max(1);
        let records = self.records.as_ref();
        let points = points.as_slice().chunks(share * n);
        let gradients = gradients.as_mut_slice().chunks_mut(share * n);
        let shares = points.zip(gradients).zip(values.chunks_mut(share));
        std::thread::scope(|scope| {
            let threads =
                self.workers.iter_mut().zip(shares).map(|(worker, ((points, gradients), values))| {
                    scope.spawn(move || -> Result<()> {
                        let all = points.chunks(n).zip(gradients.chunks_mut(n)).zip(values);
                        for ((at, gradient), value) in all {
                            *value = worker.evaluate(records, at, gradient)?;
                        }
                        Ok(())
                    })
                });
            let threads: Vec<_> = threads.collect();
            for thread in threads {
                match thread.join() {
                    Ok(found) => found?,
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            Ok::<_, Error>(())
        })?;
        if let Some(progress) = &mut self.progress {
            progress.tell(number);
        }
        Ok(())
    }

    fn goes_on(&self) -> bool {
        self.progress.as_ref().is_none_or(|progress| !progress.stopped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::number;
    use ndarray::ArrayD;
    use ppl_core::{Ctx, Distribution, log_density};
    use ppl_distributions::{HalfNormal, Normal};
    use std::collections::BTreeMap;

    /// `untouched` is a scale that no record meets; its logarithm is the second unconstrained value.
    fn model(ctx: &mut Ctx<'_>) -> ppl_core::Result<()> {
        let untouched = ctx.sample("untouched", HalfNormal::new(2.0))?;
        let w = ctx.sample("w", Normal::new(0.0, untouched).iid(2))?;
        ctx.each_record(|ctx, record| {
            let x = record.get("x")?;
            ctx.observe("y", Normal::new(w.element(0, 0) + x * w.element(0, 1), 0.7), record.get("y")?)
        })
    }

    /// Values against `log_density` with the Jacobian by hand, gradients against finite differences.
    #[test]
    fn values_and_gradients_are_those_of_the_model() {
        let column = |from: usize| (0..50).map(|i| number(i + from)).collect::<Vec<f64>>();
        let data = Records::from_columns([("x", column(0)), ("y", column(900))]).unwrap();
        let records = Sensitive::new(data.clone());
        let mut density = Density::new(&model, Some(&records)).unwrap().unwrap();
        assert_eq!(density.elements(), 3);
        let points = DMatrix::from_fn(3, 7, |k, column| 0.6 * number(40 * column + k));
        let mut at = |points: &DMatrix<f64>| {
            let (mut values, mut gradients) = (vec![0.0; points.ncols()], points.clone());
            density.evaluate(points, &mut values, &mut gradients).unwrap();
            (values, gradients)
        };
        let (values, gradients) = at(&points);
        for (column, u) in points.column_iter().enumerate() {
            let values_of = BTreeMap::from([
                ("untouched".to_owned(), ArrayD::from_elem(vec![], u[0].exp())),
                ("w".to_owned(), ndarray::arr1(&[u[1], u[2]]).into_dyn()),
            ]);
            let expected = log_density(&model, &data, &values_of).unwrap().total() + u[0];
            assert!((values[column] - expected).abs() < 1e-10 * (1.0 + expected.abs()));
            for k in 0..3 {
                let h = 1e-5;
                let mut moved = points.clone();
                moved[(k, column)] += h;
                let above = at(&moved).0[column];
                moved[(k, column)] -= 2.0 * h;
                let slope = (above - at(&moved).0[column]) / (2.0 * h);
                assert!((slope - gradients[(k, column)]).abs() < 1e-6 * (1.0 + slope.abs()));
            }
        }
    }
}
