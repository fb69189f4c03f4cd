//! What is added up over records: each distinct product once, with the arrays it is rescaled into afterwards.

use super::accumulate::{self, Positions, row_of};
use super::contribution::{Contribution, Core};
use crate::machine::Scalar;
use crate::op::{Operand, Var};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// Outputs of the plan that hold an array for each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Rows {
    Direct { value: usize },
    Product { left: usize, right: usize },
    Positions { left: usize, right: usize, positions: Positions },
    Scatter { rows: usize, index: usize, width: usize },
}

/// Where a weighted sum goes.
#[derive(Clone, Debug)]
enum Target {
    /// Straight into the sums.
    Sums(Range<usize>),
    /// Into a part of its own, from which it is rescaled.
    Part(Range<usize>),
}

/// One weighted sum over records.
#[derive(Clone, Debug)]
struct Term {
    rows: Rows,
    group: usize,
    target: Target,
    /// Numbers of scratch memory for each record: the elements of the left factor, where there is one.
    scratch_rows: usize,
}

/// `sums[to] += D ∘ part[from]`
#[derive(Clone, Debug)]
struct Rescaling {
    from: Range<usize>,
    to: Range<usize>,
    scale: Option<usize>,
}

/// All weighted sums of a gradient.
#[derive(Clone, Debug, Default)]
pub(super) struct Terms {
    terms: Vec<Term>,
    rescalings: Vec<Rescaling>,
    parts: usize,
}

/// One contribution to one frontier array.
struct Use {
    rows: Rows,
    scratch_rows: usize,
    group: usize,
    range: Range<usize>,
    scale: Option<usize>,
}

/// One frontier array's contributions, and where its part of the sum lies.
pub(super) struct Frontier<'a, 'g> {
    pub(super) contributions: &'a [Contribution<'g>],
    pub(super) group: usize,
    pub(super) range: Range<usize>,
}

impl Terms {
    /// Lays the weighted sums out; `output` makes a value an output of the program and says which.
    pub(super) fn new<'g>(sites: &[Frontier<'_, 'g>], mut output: impl FnMut(Var<'g>) -> usize) -> Self {
        let mut uses: Vec<Use> = Vec::new();
        for site in sites {
            for Contribution { core, scale } in site.contributions {
                let (rows, scratch_rows) = match *core {
                    Core::Direct(value) => (Rows::Direct { value: output(value) }, 0),
                    Core::Product { left, right } => {
                        let rows = Rows::Product { left: output(left), right: output(right) };
                        (rows, left.shape().elements())
                    }
                    Core::Scatter { rows, index, .. } => {
                        let width = rows.shape().dims()[1];
                        (Rows::Scatter { rows: output(rows), index: output(index), width }, 1)
                    }
                    Core::Positions { left, right } => {
                        let positions = Positions::new(left, right);
                        let elements = left.value.shape().elements();
                        let (left, right) = (output(left.value), output(right.value));
                        (Rows::Positions { left, right, positions }, elements)
                    }
                };
                let (group, range, scale) = (site.group, site.range.clone(), scale.map(&mut output));
                uses.push(Use { rows, scratch_rows, group, range, scale });
            }
        }
        // Uses of each distinct sum, in the order of the first.
        let mut distinct: Vec<Vec<&Use>> = Vec::new();
        let mut known: HashMap<(Rows, usize), usize> = HashMap::new();
        for each in &uses {
            let place = *known.entry((each.rows, each.group)).or_insert_with(|| {
                distinct.push(Vec::new());
                distinct.len() - 1
            });
            distinct[place].push(each);
        }
        let mut all = Self::default();
        for same in distinct {
            let Use { rows, scratch_rows, group, range, scale } = same[0];
            let alone = scale.is_none() && same.len() == 1;
            let target = if alone {
                Target::Sums(range.clone())
            } else {
                let part = all.parts..all.parts + range.len();
                all.parts = part.end;
                for other in same {
                    all.rescalings.push(Rescaling {
                        from: part.clone(),
                        to: other.range.clone(),
                        scale: other.scale,
                    });
                }
                Target::Part(part)
            };
            all.terms.push(Term { rows: *rows, group: *group, target, scratch_rows: *scratch_rows });
        }
        all
    }

    /// Numbers that the parts take.
    pub(super) fn parts(&self) -> usize {
        self.parts
    }

    /// Outputs that are added up as they are, or are right factors, and nothing else.
    pub(super) fn outputs_by_record(&self) -> Vec<usize> {
        let (mut may, mut must_not) = (Vec::new(), HashSet::new());
        for term in &self.terms {
            match term.rows {
                Rows::Direct { value } => may.push(value),
                Rows::Product { left, right } => {
                    must_not.insert(left);
                    may.push(right);
                }
                Rows::Scatter { rows, index, .. } => must_not.extend([rows, index]),
                Rows::Positions { left, right, .. } => must_not.extend([left, right]),
            }
        }
        must_not.extend(self.rescalings.iter().filter_map(|each| each.scale));
        may.retain(|output| !must_not.contains(output));
        may
    }

    /// Rows of scratch memory that [`accumulate`](Terms::accumulate) needs.
    pub(super) fn scratch_rows(&self) -> usize {
        self.terms.iter().map(|term| term.scratch_rows).max().unwrap_or(0)
    }

    /// Adds the weighted sums of a tile, whose outputs `output` finds, with the number of its records;
    /// `weights` holds the weights of one group after the other.
    pub(super) fn accumulate<'a, T: Scalar>(
        &self,
        output: impl Fn(usize) -> (Operand<'a, T>, usize),
        weights: &[T],
        sums: &mut [T],
        parts: &mut [T],
        scratch: &mut [T],
    ) {
        for term in &self.terms {
            let sums = match &term.target {
                Target::Sums(range) => &mut sums[range.clone()],
                Target::Part(range) => &mut parts[range.clone()],
            };
            match term.rows {
                Rows::Direct { value } => {
                    let (value, lanes) = output(value);
                    accumulate::direct(sums, &weights[term.group * lanes..][..lanes], value);
                }
                Rows::Product { left, right } => {
                    let ((left, lanes), (right, _)) = (output(left), output(right));
                    accumulate::product(sums, &weights[term.group * lanes..][..lanes], left, right, scratch);
                }
                Rows::Scatter { rows, index, width } => {
                    let ((rows, lanes), (index, _)) = (output(rows), output(index));
                    let weights = &weights[term.group * lanes..][..lanes];
                    accumulate::scatter(sums, weights, rows, index, width, scratch);
                }
                Rows::Positions { left, right, positions } => {
                    let ((left, lanes), (right, _)) = (output(left), output(right));
                    let weights = &weights[term.group * lanes..][..lanes];
                    accumulate::positions(sums, weights, left, right, positions, scratch);
                }
            }
        }
    }

    /// Rescales the parts into the sums, when all tiles have been added up.
    pub(super) fn finish<'a, T: Scalar>(
        &self,
        shared: impl Fn(usize) -> &'a [T],
        sums: &mut [T],
        parts: &[T],
    ) {
        for Rescaling { from, to, scale } in &self.rescalings {
            let scale = scale.map(&shared);
            accumulate::rescale(&mut sums[to.clone()], &parts[from.clone()], scale);
        }
    }

    /// Each record's own gradient of a tile, multiplied out: `write(lane, element, value)` adds.
    pub(super) fn multiply_out<'a, T: Scalar>(
        &self,
        output: impl Fn(usize) -> (Operand<'a, T>, usize),
        mut write: impl FnMut(usize, usize, T),
    ) {
        for term in &self.terms {
            let (targets, length): (Vec<(usize, Option<usize>)>, usize) = match &term.target {
                Target::Sums(range) => (vec![(range.start, None)], range.len()),
                Target::Part(part) => {
                    let uses = self.rescalings.iter().filter(|each| each.from == *part);
                    (uses.map(|each| (each.to.start, each.scale)).collect(), part.len())
                }
            };
            for element in 0..length {
                let lanes = match term.rows {
                    Rows::Direct { value: first }
                    | Rows::Product { left: first, .. }
                    | Rows::Scatter { rows: first, .. }
                    | Rows::Positions { left: first, .. } => output(first).1,
                };
                for lane in 0..lanes {
                    let at = |index: usize, element: usize| output(index).0.at(element, lane, lanes);
                    let value = match term.rows {
                        Rows::Direct { value } => at(value, element),
                        Rows::Product { left, right } => {
                            let width = output(right).0.rows(lanes).max(1);
                            at(left, element / width) * at(right, element % width)
                        }
                        Rows::Scatter { rows, index, width } => (0..output(index).0.rows(lanes))
                            .filter(|&place| row_of(at(index, place), length / width) == element / width)
                            .map(|place| at(rows, place * width + element % width))
                            .sum(),
                        Rows::Positions { left, right, positions } => {
                            let (j, k) =
                                (element / positions.columns.max(1), element % positions.columns.max(1));
                            (0..positions.count)
                                .map(|t| at(left, positions.left(j, t)) * at(right, positions.right(k, t)))
                                .sum()
                        }
                    };
                    for &(start, scale) in &targets {
                        let scale = scale.map(|scale| output(scale).0.at(element, lane, lanes));
                        write(lane, start + element, scale.map_or(value, |scale| scale * value));
                    }
                }
            }
        }
    }
}
