//! Records' own posterior factors, which stay behind the wall from step to step.

use super::sensitive::Sensitive;
use crate::error::Result;
use crate::optimiser::SavedState;
use ndarray::Array2;
use ppl_core::record_gradient::MixedWords;
use ppl_core::records::SparseRows;
use ppl_core::{ExecutionPlan, Program, RecordGradient, Records};

/// Natural parameters of every record's own factors, moved on once a step.
///
/// # Privacy
/// Nothing here is released. What is kept of a record is a function of that record and of what earlier steps released,
/// and of no other record. So a step's release is a sum of one bounded contribution of each record, at states that
/// an adaptive choice of the query may fix: given all earlier releases, adding, removing or replacing a record changes
/// its own contribution only, each contribution is clipped to the same norm whatever the state, and the steps compose
/// as any adaptive sequence of Gaussian mechanisms does.
pub(crate) struct LocalStates<'r> {
    records: &'r Records,
    all: Vec<u64>,
    /// From the states, and the shared values of a step, to the next states.
    plan: ExecutionPlan<f64>,
    /// Name and length of each per-record input that takes states.
    inputs: Vec<(String, usize)>,
    /// A row for each record, in it one input after the other.
    values: Array2<f64>,
    /// What takes the place of the plan.
    words: Option<Words>,
}

/// Documents without the words that they do not have.
struct Words {
    formulas: MixedWords,
    rows: SparseRows,
    /// `E ln β`
    topics: Vec<f64>,
}

impl<'r> LocalStates<'r> {
    /// States of 0 for all records. The program's outputs are the next states, in the order of the inputs; `formulas`
    /// compute the same, where there are such.
    pub(crate) fn new(
        records: &'r Sensitive<Records>,
        program: &Program,
        inputs: Vec<(String, usize)>,
        formulas: Option<MixedWords>,
    ) -> Result<Self> {
        let records = records.behind_the_wall();
        let width = inputs.iter().map(|(_, elements)| elements).sum();
        let words = formulas.map(|formulas| -> Result<Words> {
            let rows = SparseRows::of(records, formulas.column)?;
            Ok(Words { formulas, rows, topics: Vec::new() })
        });
        Ok(Self {
            words: words.transpose()?,
            records,
            all: (0..records.len() as u64).collect(),
            plan: ExecutionPlan::new(program),
            inputs,
            values: Array2::zeros((records.len(), width)),
        })
    }

    /// Sets a shared input; one that the states do not depend on is passed over.
    pub(crate) fn set(&mut self, name: &str, values: &[f64]) -> Result<()> {
        match &mut self.words {
            Some(words) if words.formulas.topics == name => words.topics = values.to_vec(),
            Some(_) => {}
            None if self.plan.input(name).is_ok() => self.plan.set(name, values)?,
            None => {}
        }
        Ok(())
    }

    /// Moves all states on, and writes them where a program of all records, in their order, takes them.
    pub(crate) fn advance(&mut self, gradient: &mut RecordGradient<f64>) -> Result<()> {
        let Self { records, all, plan, inputs, values, words } = self;
        let count = all.len();
        let write = |to: &mut [f64], from: &Array2<f64>, first: usize, elements: usize| {
            for (to, row) in to.chunks_exact_mut(elements.max(1)).zip(from.rows()) {
                to.iter_mut().zip(row.iter().skip(first)).for_each(|(to, from)| *to = *from);
            }
        };
        let mut first = 0;
        if let Some(Words { formulas, rows, topics }) = words {
            formulas.advance(rows, topics, values)?;
        } else {
            for (name, elements) in &*inputs {
                if let Ok(input) = plan.record_input(name) {
                    write(plan.record_input_mut(input, count), values, first, *elements);
                }
                first += elements;
            }
            *values = plan.evaluate_all(records, all)?;
            first = 0;
        }
        for (name, elements) in &*inputs {
            if let Some(to) = gradient.record_input_mut(name, count) {
                write(to, values, first, *elements);
            }
            first += elements;
        }
        Ok(())
    }

    /// Appends the states, for a checkpoint, which is as secret as the data.
    pub(crate) fn save(&self, state: &mut Vec<f64>) {
        state.extend(&self.values);
    }

    /// Takes them back.
    pub(crate) fn restore(&mut self, state: &mut SavedState<'_>) -> Result<()> {
        match self.values.as_slice_mut() {
            Some(values) => state.copy_to(values),
            None => Ok(()),
        }
    }

    /// A row for each record.
    #[cfg(test)]
    pub(crate) fn values(&self) -> &Array2<f64> {
        &self.values
    }
}
