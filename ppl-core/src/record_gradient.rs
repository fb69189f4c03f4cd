//! Per-record gradients: contracted for speed, and materialised for those who doubt the contraction.

use crate::diff::{Behind, Contribution, gradient, require_per_record_scalar, reverse, square};
use crate::error::{Error, Result};
use crate::graph::Kind;
use crate::op::linear::lane_product;
use crate::op::{Operand, Row};
use crate::plan::{InputId, Plan};
use crate::program::Program;
use crate::records::Records;
use crate::scalar::Scalar;
use crate::var::Var;
use ndarray::Array2;

/// How one shared array's part of the sum is formed from the outputs of the plan.
#[derive(Clone, Copy, Debug)]
enum Part {
    Zero,
    Direct { value: usize },
    Product { left: usize, right: usize },
}

/// Squares below this multiple of the smallest normal number have lost digits to underflow.
const UNDERFLOW_MARGIN: f64 = 16_777_216.0; // 2²⁴

#[derive(Clone, Debug)]
struct Site {
    part: Part,
    offset: usize,
    len: usize,
}

/// Weighted sums of per-record gradients, with the gradients themselves never stored.
///
/// For a number `ℓ_i` of each record `i` and shared arrays `w` (the *frontier*, where records meet shared values),
///
/// ```text
/// v_i = ∂ℓ_i/∂w          n_i = ‖v_i‖²          S = Σ_i c(n_i) v_i
/// ```
///
/// where the weight `c` is any function of the squared norm (1 for an ordinary gradient, `min(1, C/√n_i)` for a clipped
/// one). Where a shared array is used once, in a product, `v_i = g_i ⊗ a_i` is never multiplied out: its squared norm is
/// `‖g_i‖²‖a_i‖²`, and the sum is one weighted product of the two factors. The forward and backward pass run once.
///
/// A record whose squared norm is not a finite number (a NaN in the data, an overflow) contributes nothing, nor does one
/// that has a factor so small that its squared norm has lost digits to underflow.
///
/// # Accuracy
/// The norm is that of the computed factors up to a relative rounding error of about `(k + 4)·u` for `k` factor elements
/// and unit round-off `u`. A factor whose squares all underflow to zero counts as zero; in `f64` that hides a
/// contribution of at most `2e-8·√k` (of `5e-4·√k` in `f32`, for which a clip norm must be larger).
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
/// Goodfellow 2015 (norms of outer products); Bu, Wang, Zha, Karypis 2022, arXiv 2210.00038 (one backward pass).
#[derive(Clone, Debug)]
pub struct RecordGradient<T> {
    plan: Plan<T>,
    program: Program,
    sites: Vec<Site>,
    dimension: usize,
    has_norm: bool,
    /// Outputs that hold squared norms of factors.
    factor_norms: Vec<usize>,
    squared_norms: Vec<T>,
    weights: Vec<T>,
    scratch: Vec<T>,
}

impl<T: Scalar> RecordGradient<T> {
    /// Plans the gradients of `value`, one number for each record, with respect to the shared arrays `frontier`.
    ///
    /// # Errors
    /// If `value` is not one number for each record, an array of `frontier` is not shared, or an expression failed.
    #[track_caller]
    pub fn new(value: Var<'_>, frontier: &[Var<'_>]) -> Result<Self> {
        check_frontier(value, frontier)?;
        let found = reverse(&[(value, value.constant(1.0))], frontier, Behind::Not)?;
        let contributions: Vec<Contribution<'_>> = found.iter().map(|each| Contribution::of(each)).collect();
        let norm = contributions.iter().filter_map(|each| each.squared_norm()).reduce(|sum, next| sum + next);
        let mut outputs: Vec<Var<'_>> = norm.into_iter().collect();
        let mut output = |var| {
            outputs.push(var);
            outputs.len() - 1
        };
        let mut offset = 0;
        let mut sites = Vec::with_capacity(frontier.len());
        let mut factor_norms = Vec::new();
        for (contribution, array) in contributions.iter().zip(frontier) {
            let part = match *contribution {
                Contribution::None => Part::Zero,
                Contribution::Direct(value) => Part::Direct { value: output(value) },
                Contribution::Product { left, right } => {
                    factor_norms.extend([output(square(left)), output(square(right))]);
                    Part::Product { left: output(left), right: output(right) }
                }
            };
            let len = array.shape().elements();
            sites.push(Site { part, offset, len });
            offset += len;
        }
        let program = Program::new(value.graph(), &outputs)?;
        let plan = Plan::new(&program);
        let buffer = vec![T::zero(); plan.tile()];
        Ok(Self {
            plan,
            program,
            sites,
            dimension: offset,
            has_norm: norm.is_some(),
            factor_norms,
            squared_norms: buffer.clone(),
            weights: buffer.clone(),
            scratch: buffer,
        })
    }

    /// Number of elements of all frontier arrays together; the length of a sum.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// Whether the records touch the frontier array at this position at all; if not, its part of every sum is zero.
    #[must_use]
    pub fn is_touched(&self, position: usize) -> bool {
        !matches!(self.sites[position].part, Part::Zero)
    }

    /// The program that is run, for printing.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The place of a shared input; `None` if the gradient does not depend on it.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<InputId> {
        self.plan.input(name).ok()
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
        if self.input(name).is_none() { Ok(()) } else { self.plan.set(name, values) }
    }

    /// Writes `Σ_i c_i v_i` over the records of `batch` into `sums`, the frontier arrays one after the other.
    ///
    /// `weigh` gets the squared norms of some records and writes their weights. It is called for one tile after the
    /// other, so it must treat each record by itself. An empty batch gives zeros. Nothing is allocated.
    ///
    /// # Errors
    /// If the records do not fit the program, an index is out of range, or `sums` has the wrong length.
    pub fn weighted_sum(
        &mut self,
        records: &Records,
        batch: &[u64],
        mut weigh: impl FnMut(&[T], &mut [T]),
        sums: &mut [T],
    ) -> Result<()> {
        if sums.len() != self.dimension {
            return Err(Error::Values(format!("the sum has {} numbers, got {}", self.dimension, sums.len())));
        }
        sums.fill(T::zero());
        if !self.has_norm {
            return Ok(());
        }
        self.plan.run();
        let tile = self.plan.tile();
        for batch in batch.chunks(tile) {
            self.plan.run_records(records, batch)?;
            self.weigh(&mut weigh);
            self.accumulate(sums);
        }
        Ok(())
    }

    /// Weights of the last tile's records; those whose norm or weight is not finite are taken out of the factors, since
    /// a weight of zero does not undo a NaN.
    fn weigh(&mut self, weigh: &mut impl FnMut(&[T], &mut [T])) {
        let (norms, lanes) = self.plan.output_operand(0);
        let squared_norms = &mut self.squared_norms[..lanes];
        match norms {
            Operand::Rows(rows) => squared_norms.copy_from_slice(rows),
            Operand::Shared(value) => squared_norms.fill(value[0]),
        }
        let weights = &mut self.weights[..lanes];
        weigh(squared_norms, weights);
        let smallest = T::min_positive_value() * T::of(UNDERFLOW_MARGIN);
        for &output in &self.factor_norms {
            let underflowed = |squared: T| squared < smallest && squared > T::zero();
            match self.plan.output_operand(output).0 {
                Operand::Rows(rows) => {
                    for (weight, &squared) in weights.iter_mut().zip(rows) {
                        *weight = if underflowed(squared) { T::nan() } else { *weight };
                    }
                }
                Operand::Shared(values) if values.iter().any(|&squared| underflowed(squared)) => {
                    weights.fill(T::nan())
                }
                Operand::Shared(_) => {}
            }
        }
        for lane in 0..lanes {
            if !(squared_norms[lane].is_finite() && weights[lane].is_finite()) {
                weights[lane] = T::zero();
                for output in 0..self.plan.outputs() {
                    self.plan.clear_lane(output, lane);
                }
            }
        }
    }

    fn accumulate(&mut self, sums: &mut [T]) {
        for site in &self.sites {
            let sums = &mut sums[site.offset..site.offset + site.len];
            match site.part {
                Part::Zero => {}
                Part::Direct { value } => {
                    let (value, lanes) = self.plan.output_operand(value);
                    add_rows(sums, &self.weights[..lanes], value);
                }
                Part::Product { left, right } => {
                    let ((left, lanes), (right, _)) =
                        (self.plan.output_operand(left), self.plan.output_operand(right));
                    let (weights, scaled) = (&self.weights[..lanes], &mut self.scratch[..lanes]);
                    if lanes == 0 {
                        continue;
                    }
                    let width = right.rows(lanes).max(1);
                    for (j, sums) in sums.chunks_exact_mut(width).enumerate() {
                        match left.row(j, lanes) {
                            Row::Lanes(left) => {
                                for ((scaled, &weight), &left) in scaled.iter_mut().zip(weights).zip(left) {
                                    *scaled = weight * left;
                                }
                            }
                            Row::One(left) => {
                                for (scaled, &weight) in scaled.iter_mut().zip(weights) {
                                    // A record that was taken out must stay out, whatever it would be multiplied with.
                                    *scaled = if weight == T::zero() { weight } else { weight * left };
                                }
                            }
                        }
                        add_rows(sums, scaled, right);
                    }
                }
            }
        }
    }
}

/// `sums_k += Σ_lane weight · row_k`; a weight of zero silences even a shared value that is not finite.
fn add_rows<T: Scalar>(sums: &mut [T], weights: &[T], rows: Operand<'_, T>) {
    let lanes = weights.len();
    if lanes == 0 {
        return;
    }
    for (k, sum) in sums.iter_mut().enumerate() {
        *sum += match rows.row(k, lanes) {
            Row::Lanes(row) => lane_product(weights, row),
            Row::One(value) => {
                let total: T = weights.iter().copied().sum();
                if total == T::zero() { T::zero() } else { total * value }
            }
        };
    }
}

fn check_frontier(value: Var<'_>, frontier: &[Var<'_>]) -> Result<()> {
    value.graph().check()?;
    for array in frontier {
        array.require_on(value.graph(), "record gradient")?;
    }
    require_per_record_scalar(value)?;
    match frontier.iter().find(|array| array.kind() == Kind::PerRecord) {
        Some(array) => Err(Error::MixesRecords {
            what: format!("a gradient with respect to a per-record value of shape {}", array.shape()),
            rule: "the frontier holds shared arrays only",
            source_line: crate::error::Source::caller(),
        }),
        None => Ok(()),
    }
}

/// Per-record gradients as a matrix: the slow, obvious form that [`RecordGradient`] is tested against.
///
/// It takes (records × dimension) numbers of memory, and does not treat records that are not finite in any special way.
#[derive(Clone, Debug)]
pub struct MaterialisedGradient<T> {
    plan: Plan<T>,
    widths: Vec<usize>,
}

impl<T: Scalar> MaterialisedGradient<T> {
    /// As [`RecordGradient::new`].
    ///
    /// # Errors
    /// As [`RecordGradient::new`].
    pub fn new(value: Var<'_>, frontier: &[Var<'_>]) -> Result<Self> {
        check_frontier(value, frontier)?;
        let gradients = gradient(value, frontier)?;
        let widths = gradients.iter().map(|gradient| gradient.shape().elements()).collect();
        Ok(Self { plan: Plan::new(&Program::new(value.graph(), &gradients)?), widths })
    }

    /// Sets a shared input by name; one that the gradient does not depend on is passed over.
    ///
    /// # Errors
    /// If `values` has the wrong length.
    pub fn set(&mut self, name: &str, values: &[T]) -> Result<()> {
        if self.plan.input(name).is_ok() { self.plan.set(name, values) } else { Ok(()) }
    }

    /// The gradients of the records of `batch`: a row for each record, the frontier arrays one after the other.
    ///
    /// # Errors
    /// As [`Plan::run_records`].
    pub fn rows(&mut self, records: &Records, batch: &[u64]) -> Result<Array2<T>> {
        let mut matrix = Array2::from_elem((batch.len(), self.widths.iter().sum()), T::zero());
        let mut column = 0;
        for (output, &width) in self.widths.iter().enumerate() {
            let part = self.plan.evaluate(records, batch, output)?;
            matrix.slice_mut(ndarray::s![.., column..column + width]).assign(&part);
            column += width;
        }
        Ok(matrix)
    }
}
