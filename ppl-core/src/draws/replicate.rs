//! Replicated data: records whose outcomes are drawn anew.

use crate::base::{Error, Result};
use crate::draws::predictive::Predictive;
use crate::model::context::Model;
use crate::model::trace::SiteKind;
use crate::op::{Graph, Input, Op};
use crate::records::{Column, Records};
use ndarray::{ArrayD, Axis};
use std::sync::Arc;

impl<M: Model + ?Sized> Predictive<'_, M> {
    /// Records as the model expects them: those of `inputs`, with the columns that the model observes drawn anew, one set
    /// of records for each draw. Of `inputs` the number of records counts, and what outcomes are predicted from; what stands
    /// in the observed columns does not, but they must be there.
    ///
    /// ```text
    /// θ_s    draw s of the prior or of a posterior
    /// y_is   ~ p(y | θ_s, x_i)        in the column that the site observes
    /// ```
    ///
    /// Such records are for checks of a model against data (posterior predictive checks), and of inference against values
    /// that are known. Columns of integers stay columns of integers where what was drawn is integers.
    ///
    /// # Errors
    ///
    /// As [`Predictive::run`]. If an observed site stands outside [`each_record`](crate::Ctx::each_record); if it observes
    /// something that is not a column as it stands, such as its logarithm; if two sites observe one column, or a column is
    /// observed and read elsewhere too; if nothing is observed.
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
        let columns = self.observed_columns(inputs)?;
        let names: Vec<&str> = columns.iter().map(|(_, column)| column.as_str()).collect();
        let predictive = Predictive {
            model: self.model,
            values: self.values.clone(),
            draws: self.draws,
            key: self.key,
            only: Some(columns.iter().map(|(site, _)| site.clone()).collect()),
            schema: Some(Arc::clone(inputs.schema())),
        };
        // A prediction that reads an observed column is refused: it is not there.
        let predicted = predictive.run(&inputs.without(&names))?;
        let one = |draw: usize| {
            columns.iter().try_fold(inputs.clone(), |records, (site, column)| {
                let integers = inputs.schema().column_type(column)?.is_integer();
                let values = predicted[site].index_axis(Axis(0), draw).to_owned();
                records.with_column(column, drawn(values, integers))
            })
        };
        (0..self.draws).map(one).collect()
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

/// Integers as such where they were integers, as far as they can be.
fn drawn(values: ArrayD<f64>, integers: bool) -> Column {
    // Those below are the same in both types.
    let is_integer = |x: &f64| x.fract() == 0.0 && x.abs() < (1_u64 << f64::MANTISSA_DIGITS) as f64;
    match integers && values.iter().all(is_integer) {
        true => Column::from(values.mapv(|x| x as i64)),
        false => Column::from(values),
    }
}
