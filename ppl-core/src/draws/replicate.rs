//! Replicated data: records whose outcomes are drawn anew.

use crate::base::{Error, Result};
use crate::draws::predictive::{Predictive, side_by_side};
use crate::draws::simulate::{Simulator, Values};
use crate::model::context::Model;
use crate::model::trace::SiteKind;
use crate::op::{Graph, Input, Op};
use crate::records::{Column, Records};
use ndarray::ArrayD;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

impl<M: Model + ?Sized> Predictive<'_, M> {
    /// Records as the model expects them: those of `inputs`, with the columns that the model observes drawn anew, one
    /// set of records for each draw. Of `inputs` the number of records counts, and what outcomes are predicted from;
    /// what stands in the observed columns does not, but they must be there.
    ///
    /// ```text
    /// θ_s    draw s of the prior or of a posterior
    /// y_is   ~ p(y | θ_s, x_i)        in the column that the site observes
    /// ```
    ///
    /// Such records are for checks of a model against data (posterior predictive checks), and of inference against
    /// values that are known. Columns of integers stay columns of integers where what was drawn is integers.
    ///
    /// # Errors
    ///
    /// As [`Predictive::run`]. If an observed site stands outside [`each_record`](crate::Ctx::each_record); if it
    /// observes something that is not a column as it stands, such as its logarithm; if two sites observe one column,
    /// or a column is observed and read elsewhere too; if nothing is observed.
    ///
    /// ```
    /// # use ndarray::array;
    /// # use ppl_core::{Constraint, Ctx, Distribution, Noise, NoiseKind, Parameter, Records, Result, Shape, Value, Var};
    /// # struct Exponential<'g>(Value<'g>);
    /// # impl<'g> Distribution<'g> for Exponential<'g> {
    /// #     fn name(&self) -> &'static str { "Exponential" }
    /// #     fn parameters(&self) -> Vec<Parameter<'g>> {
    /// #         vec![Parameter { name: "mean", value: self.0, domain: Constraint::Positive }]
    /// #     }
    /// #     fn support(&self) -> Constraint { Constraint::Positive }
    /// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> {
    /// #         let mean = self.0.on(x.graph());
    /// #         -x / mean - mean.log()
    /// #     }
    /// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
    /// #         let u = noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?;
    /// #         Ok(self.0.on(noise.graph()) * -u.log())
    /// #     }
    /// # }
    /// use ppl_core::Predictive;
    /// use std::collections::BTreeMap;
    /// fn model(ctx: &mut Ctx) -> Result<()> {
    ///     let slope = ctx.sample("slope", Exponential(1.0.into()))?;
    ///     ctx.each_record(|ctx, record| {
    ///         ctx.observe("wait", Exponential((slope * record.get("x")?).into()), record.get("y")?)
    ///     })
    /// }
    /// let draws = BTreeMap::from([("slope".to_owned(), array![1.0, 100.0].into_dyn())]);
    /// let inputs = Records::from_columns([("x", vec![1.0; 50]), ("y", vec![0.0; 50])])?;
    /// let made_up = Predictive::posterior(&model, draws)?.replicate(&inputs)?;
    /// let mean = |records: &Records| records.column(1).numbers().sum::<f64>() / 50.0;
    /// assert!(made_up.len() == 2 && made_up.iter().all(|records| records.len() == 50));
    /// assert!(mean(&made_up[0]) < 3.0 && mean(&made_up[1]) > 30.0);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    pub fn replicate(&self, inputs: &Records) -> Result<Vec<Records>> {
        self.replicator(inputs)?.of(&self.values, self.draws)
    }

    /// What [`replicate`](Self::replicate) draws from, traced once: for records at draws that are not known yet,
    /// without the model.
    ///
    /// # Errors
    /// As [`replicate`](Self::replicate).
    pub fn replicator(&self, inputs: &Records) -> Result<Replicator> {
        let columns = self.observed_columns(inputs)?;
        let names: Vec<&str> = columns.iter().map(|(_, column)| column.as_str()).collect();
        let predicted = Predictive {
            model: self.model,
            values: self.values.clone(),
            draws: self.draws,
            key: self.key,
            only: None,
            schema: Some(Arc::clone(inputs.schema())),
        };
        // A prediction that reads an observed column is refused: it is not there.
        let bare = inputs.without(&names);
        let graph = Graph::new();
        let trace = predicted.trace(&graph, &bare, true)?;
        let simulator =
            Simulator::of_sites(&trace, |site| columns.iter().any(|(name, _)| *name == site.name))?;
        let bare = predicted.arranged(&bare, &simulator)?.into_owned();
        let given = self.values.iter().map(|(name, draws)| (name.clone(), draws.shape()[1..].to_vec()));
        Ok(Replicator { given: given.collect(), simulator, columns, inputs: inputs.clone(), bare })
    }

    /// The observed sites, and the columns that they observe.
    fn observed_columns(&self, inputs: &Records) -> Result<Vec<(String, String)>> {
        let graph = Graph::new();
        let trace = self.trace(&graph, inputs, false)?;
        let mut columns: Vec<(String, String)> = Vec::new();
        for site in trace.sites().iter().filter(|site| site.kind == SiteKind::Observed) {
            let column = match graph.node(site.value.id()).op {
                Op::Input(Input::Column { name, .. }) if site.per_record => name,
                _ => {
                    let told =
                        "is not a column of each record as it stands, so its outcomes cannot be drawn anew";
                    return Err(Error::Values(format!("what site '{}' observes {told}", site.name)));
                }
            };
            if let Some((other, _)) = columns.iter().find(|(_, known)| *known == column) {
                let told = format!("sites '{other}' and '{}' both observe column '{column}'", site.name);
                return Err(Error::Values(told));
            }
            columns.push((site.name.clone(), column));
        }
        match columns.is_empty() {
            true => Err(Error::Values("the model observes nothing of its records".to_owned())),
            false => Ok(columns),
        }
    }
}

/// Draws outcomes anew at draws of the values that it was made with; made by [`Predictive::replicator`].
pub struct Replicator {
    simulator: Simulator,
    /// The observed sites, and the columns that they observe.
    columns: Vec<(String, String)>,
    inputs: Records,
    /// The inputs without the observed columns, as the simulator reads them.
    bare: Records,
    /// The values that are given, and their shapes.
    given: BTreeMap<String, Vec<usize>>,
}

impl Replicator {
    /// Names of the columns that are drawn anew: those that the model observes.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|(_, column)| column.as_str())
    }

    /// The inputs with outcomes as the model expects them, once for each of these draws, whose arrays have a first
    /// axis that counts them.
    ///
    /// # Errors
    /// If these are not draws of the values that were given to the [`Predictive`] it is made of, in their shapes.
    pub fn at(&self, draws: &Values) -> Result<Vec<Records>> {
        let count = draws.values().next().and_then(|draws| draws.shape().first().copied()).unwrap_or(0);
        let is_given = |(name, shape): (&String, &Vec<usize>)| {
            let draws = draws.get(name).map_or(&[][..], |draws| draws.shape());
            draws.first() == Some(&count) && draws[1..] == shape[..]
        };
        match draws.len() == self.given.len() && self.given.iter().all(is_given) {
            true => self.of(draws, count),
            false => {
                let names: Vec<&str> = self.given.keys().map(String::as_str).collect();
                let told = format!("equally many draws of [{}] in their shapes are needed", names.join(", "));
                Err(Error::Values(told))
            }
        }
    }

    fn of(&self, draws: &Values, count: usize) -> Result<Vec<Records>> {
        let all: Vec<usize> = (0..count).collect();
        let drawn_values = side_by_side(&self.simulator, draws, &self.bare, &all)?;
        let one = |outputs: Vec<Vec<f64>>| {
            let predicted = self.simulator.named(outputs, &[], self.bare.len());
            self.columns.iter().try_fold(self.inputs.clone(), |records, (site, column)| {
                let integers = self.inputs.schema().column_type(column)?.is_integer();
                records.with_column(column, drawn(predicted[site].clone(), integers))
            })
        };
        drawn_values.into_iter().map(one).collect()
    }
}

impl fmt::Debug for Replicator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Not the records.
        let Self { columns, given, .. } = self;
        f.debug_struct("Replicator").field("columns", columns).field("given", given).finish_non_exhaustive()
    }
}

/// Integers as such where they were integers, as far as they can be.
fn drawn(values: ArrayD<f64>, integers: bool) -> Column {
    // Those below are the same in both types.
    let is_integer = |x: &f64| x.fract() == 0.0 && x.abs() < (1_u64 << f64::MANTISSA_DIGITS) as f64;
    match integers && values.iter().all(is_integer) {
        true => Column::from(values.mapv(|x| x as i64)),
        false => Column::from(values),
    }
}
