//! Per-record gradients: contracted for speed, and materialised for those who doubt the contraction.
//!
//! | file | what happens there |
//! |---|---|
//! | `contribution` | what one record adds to one array, in factors |
//! | `backward` | the pass that finds the contributions |
//! | `cost` | which way to contract them |
//! | `norm` | squared norms as expressions, never too small |
//! | `tiles` | tiles of records, one after the other or side by side: norms, weights, sums |
//! | `alone` | each record's weighted gradient, computed by itself |
//! | `terms`, `accumulate` | weighted sums over the records of a tile |
//! | `rounding` | how far a sum can be from the sum of what was computed for each record |
//! | `prepare` | from a value and a frontier to a program |
//! | `explain` | what was chosen, for people |
//! | `words` | gradients of counts of words, without zeros |
//! | `materialised` | the slow, obvious form |

mod accumulate;
mod alone;
mod backward;
mod contribution;
mod cost;
mod explain;
mod materialised;
mod norm;
mod prepare;
mod rounding;
mod terms;
mod tiles;
mod words;

pub use cost::{Cost, Costs, Form};
pub use explain::{ArrayExplanation, GradientExplanation};
pub use materialised::MaterialisedGradient;
pub use norm::squared_row_norms;
pub use words::MixedWords;

use crate::base::{Error, Result};
use crate::machine::Scalar;
use crate::op::{Input, Op, Var};
use crate::program::Program;
use crate::records::Records;
use crate::run::plan::{ExecutionPlan, InputId, RecordInputId};
use ndarray::Array2;
use prepare::{Prepared, check_frontier};
use rounding::Rounding;
use tiles::{Team, Tiles, Weigh, Weighing, weighing};
use words::WordSums;

/// Weighted sums of per-record gradients, with the gradients themselves never stored.
///
/// For a number `ℓ_i` of each record `i` and shared arrays `w` (the *frontier*, where records meet shared
/// values),
///
/// ```text
/// v_i = ∂ℓ_i/∂w          n_i = ‖v_i‖²          S = Σ_i c(n_i) v_i
/// ```
///
/// where the weight `c` is any function of the squared norm (1 for an ordinary gradient, `min(1, C/√n_i)` for
/// a clipped one). What a record adds to a shared array is kept in factors, one contribution for each use:
///
/// | use of `w` | contribution of record `i` | squared norm |
/// |---|---|---|
/// | product with a vector | `g_i ⊗ a_i` | `‖g_i‖²‖a_i‖²` |
/// | product of `μ + s∘ε`, seen from `ρ` where `s = s(ρ)` | `D ∘ (g_i ⊗ a_i)`, `D = s'∘ε` | `(g_i²)ᵀ (D²) (a_i²)` |
/// | product with a matrix of positions | `Σ_t g_it ⊗ a_it` | `⟨G_i G_iᵀ, A_i A_iᵀ⟩`, or built |
/// | rows by index | `Σ_t e_{k_it} ⊗ g_it` | `Σ_{t,s : k_it = k_is} ⟨g_it, g_is⟩`, or built |
/// | element by element | the array `g_i` | `‖g_i‖²` |
/// | several | their sum | squares and inner products, or built, whichever costs less |
///
/// and the sum is one weighted product of the factors (or the sum of several), rescaled by `D` where there is
/// one. The forward and backward pass run once. [`explain`](RecordGradient::explain) tells what was chosen
/// for each array.
///
/// A record whose squared norm is not a finite number (a NaN in the data, an overflow) contributes nothing,
/// nor does one that has a factor so small that its squared norm has lost digits to underflow. (The plain
/// [`sum`](RecordGradient::sum) knows no norms and takes every record as it is.)
///
/// # Accuracy
/// The norm is that of the computed factors up to a relative rounding error of about `(k + 4)·u` for `k`
/// factor elements and unit round-off `u`. Where inner products of several contributions may cancel their
/// squares, a bound on all rounding errors is added, so that the squared norm is never too small; it is at
/// most `1/512` of the contributions' own squared norms too large, and in `f64` about `1e-12` of them. A
/// factor whose squares all underflow to zero counts as zero; in `f64` that hides a contribution of at most
/// `2e-8·√k` (of `5e-4·√k` in `f32`, for which a clip norm must be larger).
///
/// ```
/// use ndarray::array;
/// use ppl_core::{Graph, Record, RecordGradient, Records};
/// let records = Records::from_columns([("x", array![[3.0, 4.0], [0.3, 0.4], [f64::NAN, 0.0]])])?;
/// let graph = Graph::new();
/// let w = graph.input("w", [2])?;
/// let value = Record::new(&graph, records.schema()).get("x")?.dot(w);
/// let mut gradient = RecordGradient::<f64>::new(value, &[w])?;
/// gradient.set("w", &[0.0, 0.0])?;
/// let mut sum = [0.0; 2];
/// // Clip to norm 1: (3, 4) becomes (0.6, 0.8), (0.3, 0.4) stays, and the broken record is left out.
/// let clip = |squared_norms: &[f64], weights: &mut [f64]| {
///     for (w, n) in weights.iter_mut().zip(squared_norms) { *w = (1.0 / n.sqrt()).min(1.0) }
/// };
/// gradient.weighted_sum(&records, &[0, 1, 2], clip, &mut sum)?;
/// assert!((sum[0] - 0.9).abs() < 1e-15 && (sum[1] - 1.2).abs() < 1e-15);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # References
/// Goodfellow 2015 (norms of outer products); Bu, Wang, Zha, Karypis 2022, arXiv 2210.00038 (one backward
/// pass); Li, Tramèr, Liang, Hashimoto 2021, arXiv 2110.05679 (inner products of several uses).
#[derive(Clone, Debug)]
pub struct RecordGradient<T> {
    plan: ExecutionPlan<T>,
    program: Program,
    tiles: Tiles,
    team: Team<T>,
    explanation: GradientExplanation,
    roundings: Vec<Rounding>,
    plain: Plain<T>,
    /// Per-record inputs with the records they were last written for.
    record_inputs: Vec<(String, RecordInputId, usize)>,
    /// What takes the place of the program in sums.
    words: Option<WordSums<T>>,
}

/// The gradient without norms.
#[derive(Clone, Debug)]
struct Plain<T> {
    program: Program,
    tiles: Tiles,
    /// Made when first needed.
    plan: Option<Box<(ExecutionPlan<T>, Team<T>)>>,
}

impl<T: Scalar> RecordGradient<T> {
    /// Plans the gradients of `value`, one number for each record, with respect to the shared arrays
    /// `frontier`.
    ///
    /// # Errors
    /// If `value` is not one number for each record, an array of `frontier` is not shared, or an expression
    /// failed.
    #[track_caller]
    pub fn new(value: Var<'_>, frontier: &[Var<'_>]) -> Result<Self> {
        Self::grouped(value, frontier, &vec![0; frontier.len()])
    }

    /// As [`RecordGradient::new`], with norms for each group of arrays: `groups` holds a group's number,
    /// counted from 0, for each array of `frontier`.
    ///
    /// ```
    /// use ndarray::array;
    /// use ppl_core::{Graph, Record, RecordGradient, Records};
    /// let records = Records::from_columns([("x", array![[3.0, 4.0]])])?;
    /// let graph = Graph::new();
    /// let (w, b) = (graph.input("w", [2])?, graph.input("b", ())?);
    /// let value = Record::new(&graph, records.schema()).get("x")?.dot(w) + 2.0 * b;
    /// let mut gradient = RecordGradient::<f64>::grouped(value, &[w, b], &[0, 1])?;
    /// let mut norms = [0.0; 2];
    /// gradient.squared_norms(&records, &[0], &mut norms)?;
    /// assert_eq!(norms, [25.0, 4.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RecordGradient::new`], and if `groups` has another length or leaves a number out.
    #[track_caller]
    pub fn grouped(value: Var<'_>, frontier: &[Var<'_>], groups: &[usize]) -> Result<Self> {
        Self::prepared(value, frontier, groups, 0.0)
    }

    #[track_caller]
    fn prepared(value: Var<'_>, frontier: &[Var<'_>], groups: &[usize], least_excess: f64) -> Result<Self> {
        check_frontier(value, frontier)?;
        let Prepared { program, terms, mut explanation, dimension, norms, factor_norms, roundings, plain } =
            prepare::prepare::<T>(value, frontier, groups, least_excess)?;
        let tiles = Tiles { norms, factor_norms, terms, dimension };
        let plan = ExecutionPlan::with_outputs_by_record(&program, &tiles.outputs_by_record());
        explanation.plan = Some(plan.explain());
        let team = tiles.team(plan.tile());
        let record_inputs = program
            .instructions
            .iter()
            .filter_map(|instruction| match &instruction.op {
                Op::Input(Input::PerRecord(name)) => {
                    plan.record_input(name).ok().map(|input| (name.clone(), input, 0))
                }
                _ => None,
            })
            .collect();
        let (plain_program, terms) = plain;
        let plain_tiles = Tiles { norms: Vec::new(), factor_norms: Vec::new(), terms, dimension };
        let plain = Plain { program: plain_program, tiles: plain_tiles, plan: None };
        Ok(Self { plan, program, tiles, team, explanation, roundings, plain, record_inputs, words: None })
    }

    /// The same sums, formed without the zeros of a column of counts: for a program that is, up to rounding, the
    /// gradient of [`MixedWords`]. Sums and gradients of single records are then computed by these formulas, and bounds
    /// on rounding errors are theirs. [`squared_norms`](Self::squared_norms) and [`keep`](Self::keep) run the program
    /// as before.
    ///
    /// Whether the formulas are those of the program is for the caller to know;
    /// [`Statistics::words`](crate::conjugate::Statistics::words) proves it.
    ///
    /// # Errors
    /// If the program has not these inputs, or sums of another length.
    pub fn without_zeros(mut self, words: MixedWords) -> Result<Self> {
        words.check()?;
        let known = self.plan.find_input(&words.input).is_some()
            && self.record_inputs.iter().any(|(name, ..)| *name == words.kept);
        if !known || self.groups() != 1 {
            let (input, kept) = (&words.input, &words.kept);
            return Err(Error::Values(format!("the program does not mix topics '{input}' by '{kept}'")));
        }
        check_length("the topics", self.tiles.dimension, words.prior.len() * words.words)?;
        self.words = Some(WordSums::new(words));
        Ok(self)
    }

    /// Hands `run` what takes the place of the program, if anything does, with the shared values and the batch's
    /// states.
    fn by_words(
        &mut self,
        (records, batch): (&Records, &[u64]),
        run: impl FnOnce(&mut WordSums<T>, &[T]),
    ) -> Result<bool> {
        let Self { words: Some(words), plan, record_inputs, .. } = self else { return Ok(false) };
        records.check_batch(batch)?;
        plan.check_schema(records)?;
        let Some(topics) = plan.find_input(&words.words.input) else { return Ok(false) };
        words.prepare(records, plan.input_mut(topics))?;
        let known = record_inputs.iter().find(|(name, ..)| *name == words.words.kept);
        let Some(&(_, states, written)) = known else { return Ok(false) };
        check_length("the states of the batch", batch.len(), written)?;
        run(words, plan.record_input_mut(states, written));
        Ok(true)
    }

    /// Number of elements of all frontier arrays together; the length of a sum.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.tiles.dimension
    }

    /// Number of groups of frontier arrays that have norms of their own.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.tiles.norms.len()
    }

    /// Whether the records touch the frontier array at this position at all; if not, its part of every sum is
    /// zero.
    #[must_use]
    pub fn is_touched(&self, position: usize) -> bool {
        self.explanation.arrays.get(position).is_some_and(|array| array.form() != Form::Untouched)
    }

    /// How each frontier array's gradients are contracted, and what the other way would cost.
    #[must_use]
    pub fn explain(&self) -> &GradientExplanation {
        &self.explanation
    }

    /// The program that is run, for printing.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The place of a shared input; `None` if the gradient does not depend on it.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<InputId> {
        self.plan.find_input(name)
    }

    /// The memory of a shared input.
    pub fn input_mut(&mut self, input: InputId) -> &mut [T] {
        self.plan.input_mut(input)
    }

    /// Sets a shared input by name; one that the gradient does not depend on is passed over.
    ///
    /// # Errors
    /// If `values` has the wrong length.
    pub fn set(&mut self, name: &str, values: &[T]) -> Result<()> {
        if self.plan.find_input(name).is_none() { Ok(()) } else { self.plan.set(name, values) }
    }

    /// Names of the per-record inputs that the gradient depends on: each record has numbers there by its place in the
    /// batch, which have to be written before it is run.
    pub fn record_inputs(&self) -> impl Iterator<Item = &str> {
        self.record_inputs.iter().map(|(name, ..)| name.as_str())
    }

    /// The memory of a per-record input for a batch of this many records, record after record; `None` if the
    /// gradient does not depend on it. It must be requested before each batch of another size.
    pub fn record_input_mut(&mut self, name: &str, records: usize) -> Option<&mut [T]> {
        let (_, input, written) = self.record_inputs.iter_mut().find(|(known, ..)| known == name)?;
        *written = records;
        Some(self.plan.record_input_mut(*input, records))
    }

    /// Writes `Σ_i c_i v_i` over the records of `batch` into `sums`, the frontier arrays one after the other.
    ///
    /// `weigh` gets the squared norms of some records and writes their weights. It is called for each tile,
    /// possibly several at a time, so it must treat each record by itself. An empty batch gives zeros.
    /// Nothing is allocated.
    ///
    /// # Errors
    /// If the records do not fit the program, an index is out of range, or `sums` has the wrong length.
    pub fn weighted_sum(
        &mut self,
        records: &Records,
        batch: &[u64],
        weigh: impl Fn(&[T], &mut [T]) + Sync,
        sums: &mut [T],
    ) -> Result<()> {
        self.sum_weighted(records, batch, Weighing::Together, &weighing(weigh), sums)
    }

    /// As [`RecordGradient::weighted_sum`] with a weight for each group and record: `weigh` gets, for some
    /// records, the squared norms of one group after the other, and writes as many weights.
    ///
    /// A record that has a norm or weight that is not finite in one group contributes nothing to any.
    ///
    /// # Errors
    /// As [`RecordGradient::weighted_sum`].
    pub fn weighted_sum_grouped(
        &mut self,
        records: &Records,
        batch: &[u64],
        weigh: impl Fn(&[T], &mut [T]) + Sync,
        sums: &mut [T],
    ) -> Result<()> {
        self.sum_weighted(records, batch, Weighing::Grouped, &weighing(weigh), sums)
    }

    fn sum_weighted(
        &mut self,
        records: &Records,
        batch: &[u64],
        weighing: Weighing,
        weigh: &Weigh<'_, T>,
        sums: &mut [T],
    ) -> Result<()> {
        check_length("the sum", self.tiles.dimension, sums.len())?;
        sums.fill(T::zero());
        if self.tiles.norms.iter().all(Option::is_none) {
            return records.check_batch(batch);
        }
        if self.by_words((records, batch), |words, states| words.sum(states, batch, Some(weigh), sums))? {
            return Ok(());
        }
        self.plan.run();
        let weigh = Some((weighing, weigh));
        let result = self.tiles.sum(&mut self.plan, &mut self.team, (records, batch), weigh, sums);
        if result.is_err() {
            sums.fill(T::zero());
        }
        result
    }

    /// Writes `Σ_i v_i` over the records of `batch` into `sums`: an ordinary gradient, by a program that
    /// computes no norms.
    ///
    /// Every record is taken as it is: one that is not finite makes the sum so. The first call plans that
    /// program.
    ///
    /// ```
    /// # use ndarray::array;
    /// # use ppl_core::{Graph, Record, RecordGradient, Records};
    /// let records = Records::from_columns([("x", array![[3.0, 4.0], [1.0, 2.0]])])?;
    /// let graph = Graph::new();
    /// let w = graph.input("w", [2])?;
    /// let value = Record::new(&graph, records.schema()).get("x")?.dot(w);
    /// let mut gradient = RecordGradient::<f64>::new(value, &[w])?;
    /// let mut sum = [0.0; 2];
    /// gradient.sum(&records, &[0, 1], &mut sum)?;
    /// assert_eq!(sum, [4.0, 6.0]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RecordGradient::weighted_sum`].
    pub fn sum(&mut self, records: &Records, batch: &[u64], sums: &mut [T]) -> Result<()> {
        check_length("the sum", self.tiles.dimension, sums.len())?;
        sums.fill(T::zero());
        if self.tiles.norms.iter().all(Option::is_none) {
            return records.check_batch(batch);
        }
        if self.by_words((records, batch), |words, states| words.sum(states, batch, None, sums))? {
            return Ok(());
        }
        let Plain { program, tiles, plan } = &mut self.plain;
        let (plan, team) = &mut **plan.get_or_insert_with(|| {
            let plan = ExecutionPlan::with_outputs_by_record(program, &tiles.outputs_by_record());
            let team = tiles.team(plan.tile());
            Box::new((plan, team))
        });
        for (name, _) in program.inputs() {
            if let (Some(from), Some(to)) = (self.plan.find_input(name), plan.find_input(name)) {
                plan.input_mut(to).copy_from_slice(self.plan.input_mut(from));
            }
        }
        for &(ref name, from, written) in &self.record_inputs {
            if let Ok(to) = plan.record_input(name) {
                let values = self.plan.record_input_mut(from, written);
                plan.record_input_mut(to, written).copy_from_slice(values);
            }
        }
        plan.run();
        tiles.sum(plan, team, (records, batch), None, sums)
    }

    /// Writes the squared norms `‖v_i‖²` of the records of `batch`: one group after the other, in each a
    /// number for each record. A record that a weighted sum would leave out has a NaN or an infinity among
    /// its norms.
    ///
    /// # Errors
    /// As [`RecordGradient::weighted_sum`]; `norms` holds (groups × records) numbers.
    pub fn squared_norms(&mut self, records: &Records, batch: &[u64], norms: &mut [T]) -> Result<()> {
        check_length("the norms", self.groups() * batch.len(), norms.len())?;
        norms.fill(T::zero());
        if self.tiles.norms.iter().all(Option::is_none) {
            return records.check_batch(batch);
        }
        self.plan.run();
        self.tiles.squared_norms(&mut self.plan, &mut self.team, (records, batch), norms)
    }

    /// The gradients `v_i` themselves, multiplied out from the same factors: a row for each record of
    /// `batch`, the frontier arrays one after the other. It takes (records × dimension) numbers of memory.
    ///
    /// # Errors
    /// As [`RecordGradient::weighted_sum`].
    pub fn keep(&mut self, records: &Records, batch: &[u64]) -> Result<Array2<T>> {
        let mut rows = Array2::from_elem((batch.len(), self.tiles.dimension), T::zero());
        if self.tiles.norms.iter().all(Option::is_none) {
            return Ok(rows);
        }
        self.plan.run();
        let tile = self.plan.tile();
        for (position, indices) in batch.chunks(tile).enumerate() {
            self.plan.run_tile(records, indices, position * tile, batch.len())?;
            self.tiles.terms.multiply_out(
                |index| self.plan.output_operand((records, indices), index),
                |lane, element, value| {
                    rows[[position * tile + lane, element]] += value;
                },
            );
        }
        Ok(rows)
    }
}

fn check_length(what: &str, expected: usize, got: usize) -> Result<()> {
    if expected == got {
        return Ok(());
    }
    let verb = if what.ends_with('s') { "have" } else { "has" };
    Err(Error::Values(format!("{what} {verb} {expected} numbers, got {got}")))
}
