//! Rows of a table by integer index, and their transpose: adding rows up where they came from.
//!
//! An index is an ordinary value whose numbers are integers. A number that is not an integer from 0 to the
//! number of rows − 1 (NaN among them) is *bad*. It interrupts nothing: it makes the record at hand NaN, and
//! a record that is not finite contributes nothing to a private sum.

use super::shaping::{add, copy};
use super::{Cotangent, Misfit, Op, Operand, Primitive, Row, Value, Var, Work};
use crate::base::{Error, Origin, Shape, Source};
use crate::machine::Scalar;

/// An operation on rows that an index chooses. Its arguments are the table, or the rows to add up, and the
/// index.
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(deny_unknown_fields))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Gather {
    /// `out[i…, k…] = table[index[i…], k…]`; NaN where the index is bad.
    Rows,
    /// `out[r, k…] = Σ_{i… : index[i…] = r} values[i…, k…]`. A bad index makes row 0 NaN, so that no norm
    /// misses it.
    ScatterAdd {
        /// Rows of the result.
        rows: usize,
    },
}

/// Most rows of a table: up to 2²⁴ every integer is a number of `f32`.
pub(crate) const MOST_ROWS: usize = 1 << 24;

/// Lanes whose indices are looked at together.
const LANES: usize = 64;

/// Stands for a bad index.
const BAD: u32 = u32::MAX;

impl Primitive for Gather {
    fn name(&self) -> &'static str {
        match self {
            Gather::Rows => "gather",
            Gather::ScatterAdd { .. } => "scatter_add",
        }
    }

    fn shape(&self, args: &[Shape]) -> Result<Shape, Misfit> {
        let [values, index] = args else {
            return Err(Misfit::Count);
        };
        let too_many = || Misfit::Argument(0, "a table of at most 2^24 rows, which f32 can count".to_owned());
        let no_row = || Misfit::Argument(0, "a table with a row to choose".to_owned());
        match self {
            Gather::Rows => match values.dims() {
                [] => Err(Misfit::Argument(0, "a table, with at least one axis".to_owned())),
                [0, ..] if index.elements() > 0 => Err(no_row()),
                [rows, ..] if *rows > MOST_ROWS => Err(too_many()),
                [_, rest @ ..] => Ok(index.concat(&Shape::from(rest))),
            },
            Gather::ScatterAdd { rows } => match values.dims().strip_prefix(index.dims()) {
                None => Err(Misfit::Pair),
                Some(_) if *rows == 0 && index.elements() > 0 => Err(no_row()),
                Some(_) if *rows > MOST_ROWS => Err(too_many()),
                Some(rest) => Ok(Shape::from(*rows).concat(&Shape::from(rest))),
            },
        }
    }

    #[inline(always)]
    fn run<T: Scalar>(&self, work: Work<'_, T>) {
        let Work { lanes, out, args, shapes, shape, .. } = work;
        let (values, index) = (args[0], args[1]);
        let chosen = shapes[1].elements();
        if lanes == 0 {
            return;
        }
        match self {
            Gather::Rows => {
                let rows = shapes[0].dims().first().copied().unwrap_or(0);
                let width: usize = shapes[0].dims().iter().skip(1).product();
                if width > 0 && lanes == 1 && chosen > 0 {
                    // The elements of the index stand side by side, as lanes do.
                    let (table, index) = (values.numbers(), index.numbers());
                    match width {
                        1 => look_up(out, table, index),
                        _ => gather_rows(out, table, index, rows, width),
                    }
                } else if width > 0 {
                    for (row, out) in out.chunks_exact_mut(width * lanes).enumerate() {
                        gather(out, values, index.row(row, lanes), rows, lanes);
                    }
                }
            }
            Gather::ScatterAdd { rows } => {
                let width: usize = shape.dims().iter().skip(1).product();
                out.fill(T::zero());
                if lanes == 1 {
                    return scatter_add_rows(out, values.numbers(), index.numbers(), *rows, width);
                }
                for row in 0..chosen {
                    scatter_add(out, values, row * width, width, index.row(row, lanes), *rows, lanes);
                }
            }
        }
    }

    fn pullback<'g>(
        &self,
        args: &[Var<'g>],
        _result: Var<'g>,
        cotangent: Var<'g>,
        which: usize,
    ) -> Option<Cotangent<'g>> {
        let (values, index) = (args[0], args[1]);
        match (self, which) {
            (Gather::Rows, 0) => {
                let count = values.shape().dims().first().copied().unwrap_or(0);
                Some(Cotangent::Scatter { rows: cotangent, index, count })
            }
            (Gather::ScatterAdd { .. }, 0) => Some(Cotangent::Value(cotangent.gather(index))),
            _ => None,
        }
    }
}

/// The row that a number stands for, or [`BAD`].
#[inline(always)]
fn row_of<T: Scalar>(number: T, rows: usize) -> u32 {
    // Beside 2⁵² an integer stands in the last bits; that is several times faster than a cast that saturates. There are
    // at most 2²⁴ rows.
    const BESIDE: f64 = 4_503_599_627_370_496.0;
    let number = number.as_f64();
    let shifted = number + BESIDE;
    let is_row = (number >= 0.0) & (number < rows as f64) & (shifted - BESIDE == number);
    if is_row { shifted.to_bits() as u32 } else { BAD }
}

/// Whether a number is the index of a row.
pub(crate) fn is_row(number: f64, rows: usize) -> bool {
    row_of(number, rows) != BAD
}

/// The rows that some lanes need.
#[inline(always)]
fn rows_of<T: Scalar>(numbers: &[T], rows: usize) -> [u32; LANES] {
    let mut found = [BAD; LANES];
    for k in 0..numbers.len().min(LANES) {
        found[k] = row_of(numbers[k], rows);
    }
    found
}

/// One row of the table for each lane, into as many rows of lanes as it has elements.
#[inline(always)]
fn gather<T: Scalar>(out: &mut [T], table: Operand<'_, T>, index: Row<'_, T>, rows: usize, lanes: usize) {
    let width = out.len() / lanes;
    let numbers = match index {
        Row::Lanes(numbers) => numbers,
        Row::One(number) => {
            let row = row_of(number, rows);
            for (k, out) in out.chunks_exact_mut(lanes).enumerate() {
                match row {
                    BAD => out.fill(T::nan()),
                    row => copy(out, table.row(row as usize * width + k, lanes)),
                }
            }
            return;
        }
    };
    for (part, numbers) in numbers.chunks(LANES).enumerate() {
        let (first, chosen) = (part * LANES, rows_of(numbers, rows));
        if let Operand::Shared(table) = table {
            // No element lies behind the table, where a bad index is sent.
            let starts = chosen.map(|row| if row == BAD { table.len() } else { row as usize * width });
            for (k, out) in out.chunks_exact_mut(lanes).enumerate() {
                for (out, start) in out[first..first + numbers.len()].iter_mut().zip(&starts) {
                    *out = table.get(start + k).copied().unwrap_or(T::nan());
                }
            }
            continue;
        }
        for (k, out) in out.chunks_exact_mut(lanes).enumerate() {
            let out = &mut out[first..first + numbers.len()];
            for (lane, (out, &row)) in out.iter_mut().zip(&chosen).enumerate() {
                *out = match row {
                    BAD => T::nan(),
                    row => table.at(row as usize * width + k, first + lane, lanes),
                };
            }
        }
    }
}

/// A number of the table for each element of the index.
#[inline(always)]
pub(crate) fn look_up<T: Scalar>(out: &mut [T], table: &[T], index: &[T]) {
    for (out, numbers) in out.chunks_mut(LANES).zip(index.chunks(LANES)) {
        let rows = rows_of(numbers, table.len());
        for k in 0..out.len().min(LANES) {
            // A bad index lies behind every table.
            out[k] = match table.get(rows[k] as usize) {
                Some(&value) => value,
                None => T::nan(),
            };
        }
    }
}

/// One row of the table, of `width` numbers, for each element of the index.
#[inline(always)]
fn gather_rows<T: Scalar>(out: &mut [T], table: &[T], index: &[T], rows: usize, width: usize) {
    for (out, &number) in out.chunks_exact_mut(width).zip(index) {
        match row_of(number, rows) {
            BAD => out.fill(T::nan()),
            row => out.copy_from_slice(&table[row as usize * width..][..width]),
        }
    }
}

/// Adds rows of `width` numbers to those that the index names.
#[inline(always)]
fn scatter_add_rows<T: Scalar>(out: &mut [T], values: &[T], index: &[T], rows: usize, width: usize) {
    if width == 0 {
        return;
    }
    for (values, numbers) in values.chunks(LANES * width).zip(index.chunks(LANES)) {
        for (values, &row) in values.chunks_exact(width).zip(&rows_of(numbers, rows)) {
            match row {
                BAD => out[..width].fill(T::nan()),
                row => {
                    let out = &mut out[row as usize * width..][..width];
                    out.iter_mut().zip(values).for_each(|(out, &value)| *out += value);
                }
            }
        }
    }
}

/// Adds `width` elements of `values`, from `from` on, to the row that each lane names.
#[inline(always)]
fn scatter_add<T: Scalar>(
    out: &mut [T],
    values: Operand<'_, T>,
    from: usize,
    width: usize,
    index: Row<'_, T>,
    rows: usize,
    lanes: usize,
) {
    let numbers = match index {
        Row::Lanes(numbers) => numbers,
        Row::One(number) => {
            let row = row_of(number, rows);
            for k in 0..width {
                match row {
                    BAD => out[k * lanes..(k + 1) * lanes].fill(T::nan()),
                    row => {
                        let to = (row as usize * width + k) * lanes;
                        add(&mut out[to..to + lanes], values.row(from + k, lanes));
                    }
                }
            }
            return;
        }
    };
    for (part, numbers) in numbers.chunks(LANES).enumerate() {
        let (first, chosen) = (part * LANES, rows_of(numbers, rows));
        for k in 0..width {
            for (lane, &row) in chosen[..numbers.len()].iter().enumerate() {
                let lane = first + lane;
                match row {
                    BAD => out[k * lanes + lane] = T::nan(),
                    row => out[(row as usize * width + k) * lanes + lane] += values.at(from + k, lane, lanes),
                }
            }
        }
    }
}

/// Rows by index; each fails softly, as [`Graph`](crate::Graph) says.
impl<'g> Var<'g> {
    /// The rows of a table that an index chooses.
    ///
    /// ```text
    /// out[i…, k…] = table[index[i…], k…]      table [rows, k…], index [i…] → [i…, k…]
    /// ```
    ///
    /// The index's numbers are integers from 0 to rows − 1; a column of integers comes from
    /// [`Record::index`](crate::Record::index). Any other number gives NaN for the record at hand, and so
    /// does its derivative ([`Var::scatter_add`]): such a record contributes nothing to a private sum. An
    /// index known while tracing is checked then. A table has at most 2²⁴ rows, because `f32` counts no
    /// further.
    ///
    /// ```
    /// use ndarray::array;
    /// use ppl_core::{Column, ExecutionPlan, Graph, Program, Record, Records};
    /// let records = Records::from_columns([("group", Column::from(array![2.0, 0.0, 2.0]))])?;
    /// let graph = Graph::new();
    /// let effects = graph.input("effects", [3])?;
    /// let effect = effects.gather(Record::new(&graph, records.schema()).get("group")?);
    /// let mut plan = ExecutionPlan::<f64>::new(&Program::new(&graph, &[effect])?);
    /// plan.set("effects", &[0.5, 1.5, 2.5])?;
    /// plan.run();
    /// plan.run_records(&records, &[0, 1, 2])?;
    /// assert_eq!(plan.record_output(0), [2.5, 0.5, 2.5]);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn gather(self, index: impl Into<Value<'g>>) -> Var<'g> {
        let index = index.into().on(self.graph());
        self.on_rows(index, self.shape().dims().first().copied(), Gather::Rows)
    }

    /// Adds rows up where an index says: the transpose of [`Var::gather`].
    ///
    /// ```text
    /// out[r, k…] = Σ_{i… : index[i…] = r} self[i…, k…]      self [i…, k…], index [i…] → [rows, k…]
    /// ```
    ///
    /// A number of the index that is no row of the result makes all of row 0 NaN for the record at hand: a
    /// record whose index is bad must not count as one with a small derivative.
    #[must_use]
    #[track_caller]
    pub fn scatter_add(self, index: impl Into<Value<'g>>, rows: usize) -> Var<'g> {
        let index = index.into().on(self.graph());
        self.on_rows(index, Some(rows), Gather::ScatterAdd { rows })
    }

    #[track_caller]
    fn on_rows(self, index: Var<'g>, rows: Option<usize>, op: Gather) -> Var<'g> {
        let known = index.known_elements().zip(rows.filter(|&rows| rows > 0));
        let bad = known.and_then(|(known, rows)| {
            known.into_iter().find(|&number| !is_row(number, rows)).map(|number| (number, rows))
        });
        match bad {
            Some((value, rows)) => self.graph().fail(Error::Index {
                value,
                rows,
                place: String::new(),
                source_line: Origin::new(Source::caller(), None),
            }),
            None => self.graph().apply(Op::Gather(op), &[self, index]),
        }
    }
}
