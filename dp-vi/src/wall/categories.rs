//! The wall's door for tables of categories: counts of combinations of values, and how far they are from what
//! is expected.

use super::integers::{IntegerSums, require};
use super::sensitive::Sensitive;
use crate::error::{Error, Result};
use dp_accountant::{Event, Receipt};
use dp_sampler::ExponentialChoice;
use zeroize::Zeroizing;

/// Most cells of a marginal, or of all marginals of a release.
const MOST_CELLS: u64 = 1 << 26;

/// Records of categorical values: for each column how many values there are, and each record's value by
/// number.
///
/// ```
/// use dp_vi::{Sensitive, summaries::Categories};
/// let people = Categories::new(vec![2, 3], vec![vec![0, 1, 1], vec![2, 0, 1]])?;
/// assert_eq!(Sensitive::new(people).sizes(), [2, 3]);
/// # Ok::<(), dp_vi::Error>(())
/// ```
pub struct Categories {
    sizes: Vec<u32>,
    columns: Vec<Vec<u32>>,
    records: usize,
}

impl Categories {
    /// Columns with these numbers of values; `columns` holds each column's values, one for each record.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] if there is no column, a column without values, columns of different lengths, or
    /// a value that is not below its column's number of them. The value itself is not named.
    pub fn new(sizes: Vec<u32>, columns: Vec<Vec<u32>>) -> Result<Self> {
        let wrong =
            |what, requirement, value: usize| Error::OutOfRange { what, requirement, value: value as f64 };
        if sizes.is_empty() || sizes.len() != columns.len() {
            let requirement = "at least 1, and the number of sizes";
            return Err(wrong("the number of columns", requirement, columns.len()));
        }
        if let Some(column) = sizes.iter().position(|&size| size == 0) {
            return Err(wrong("the number of the column without values", "none", column));
        }
        let records = columns[0].len();
        if let Some(column) = columns.iter().position(|column| column.len() != records) {
            return Err(wrong("the number of the column that is not as long as the first", "none", column));
        }
        let outside = |(size, column): (&u32, &Vec<u32>)| column.iter().any(|value| value >= size);
        if let Some(column) = sizes.iter().zip(&columns).position(outside) {
            return Err(wrong(
                "the number of the column with a value that is not below its size",
                "none",
                column,
            ));
        }
        Ok(Self { sizes, columns, records })
    }

    /// The cell of each record in the marginal of some columns, whose last one varies fastest.
    fn cells(&self, columns: &[usize]) -> Vec<u32> {
        let mut cells = vec![0_u32; self.records];
        for &column in columns {
            let size = self.sizes[column];
            // Below the number of cells, which was checked.
            cells
                .iter_mut()
                .zip(&self.columns[column])
                .for_each(|(cell, &value)| *cell = *cell * size + value);
        }
        cells
    }
}

/// How many values each column has when values are merged.
fn merged_sizes(maps: &[Vec<u32>]) -> Vec<u32> {
    let size = |map: &Vec<u32>| map.iter().max().map_or(0, |most| most.saturating_add(1));
    maps.iter().map(size).collect()
}

impl Sensitive<Categories> {
    /// The number of values of each column: public.
    #[must_use]
    pub fn sizes(&self) -> &[u32] {
        &self.behind_the_wall().sizes
    }

    /// The same records with values merged: column `c`'s value `v` becomes `maps[c][v]`. A record becomes a
    /// record, so neighbours stay neighbours.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless there is a map for each column with an entry for each value.
    pub fn merged(&self, maps: &[Vec<u32>]) -> Result<Self> {
        self.check_maps(maps)?;
        let data = self.behind_the_wall();
        let merge =
            |(map, column): (&Vec<u32>, &Vec<u32>)| column.iter().map(|&value| map[value as usize]).collect();
        let columns = maps.iter().zip(&data.columns).map(merge).collect();
        Ok(Self::new(Categories { sizes: merged_sizes(maps), columns, records: data.records }))
    }

    /// The same where the records are, which as they were would take as much memory again.
    ///
    /// # Errors
    /// As [`merged`](Self::merged), and then nothing is changed.
    pub(crate) fn merge(&mut self, maps: &[Vec<u32>]) -> Result<()> {
        self.check_maps(maps)?;
        let data = self.behind_the_wall_mut();
        data.sizes = merged_sizes(maps);
        for (map, column) in maps.iter().zip(&mut data.columns) {
            column.iter_mut().for_each(|value| *value = map[*value as usize]);
        }
        Ok(())
    }

    fn check_maps(&self, maps: &[Vec<u32>]) -> Result<()> {
        let sizes = self.sizes();
        let fits = maps.len() == sizes.len()
            && maps.iter().zip(sizes).all(|(map, &size)| map.len() == size as usize);
        if !fits {
            let (what, requirement) =
                ("the number of maps", "the number of columns, with an entry for each value");
            return Err(Error::OutOfRange { what, requirement, value: maps.len() as f64 });
        }
        Ok(())
    }

    /// The number of cells of the marginal of some columns.
    pub(crate) fn cells_of(&self, columns: &[usize]) -> Result<usize> {
        let sizes = self.sizes();
        if let Some(&column) = columns.iter().find(|&&column| column >= sizes.len()) {
            let (what, requirement) = ("the number of a column", "below the number of columns");
            return Err(Error::OutOfRange { what, requirement, value: column as f64 });
        }
        if (1..columns.len()).any(|place| columns[..place].contains(&columns[place])) {
            return Err(Error::Conflict("a marginal names a column twice"));
        }
        let cells = columns.iter().fold(1_u64, |cells, &column| cells.saturating_mul(sizes[column].into()));
        match cells <= MOST_CELLS {
            true => Ok(cells as usize),
            false => {
                let (what, requirement) = ("the number of cells of a marginal", "at most 2^26");
                Err(Error::OutOfRange { what, requirement, value: cells as f64 })
            }
        }
    }

    /// The counts of several marginals, one after the other, in units.
    pub(crate) fn sums_of_marginals(&self, marginals: &[Vec<usize>], units: i64) -> Result<IntegerSums> {
        let mut cells = Vec::with_capacity(marginals.len());
        for columns in marginals {
            cells.push(self.cells_of(columns)?);
        }
        let total: usize = cells.iter().sum();
        if total as u64 > MOST_CELLS {
            let (what, requirement) = ("the number of cells of all marginals", "at most 2^26");
            return Err(Error::OutOfRange { what, requirement, value: total as f64 });
        }
        let mut sums = Zeroizing::new(vec![0_i128; total]);
        let mut start = 0;
        for (columns, cells) in marginals.iter().zip(cells) {
            for cell in self.behind_the_wall().cells(columns) {
                sums[start + cell as usize] += i128::from(units);
            }
            start += cells;
        }
        Ok(IntegerSums::from_sums(sums))
    }

    /// `Σ |counts − expected|` of one marginal, with `expected` in units.
    fn distance(&self, columns: &[usize], expected: &[u64], units: u64) -> Result<u128> {
        let cells = self.cells_of(columns)?;
        if expected.len() != cells {
            let (what, requirement) =
                ("the number of expected counts", "the number of cells of the marginal");
            return Err(Error::OutOfRange { what, requirement, value: expected.len() as f64 });
        }
        let mut counts = Zeroizing::new(vec![0_u64; cells]);
        self.behind_the_wall().cells(columns).into_iter().for_each(|cell| counts[cell as usize] += 1);
        // Fewer than 2^40 records and 2^20 units of each.
        let apart = |(count, expected): (&u64, &u64)| u128::from((count * units).abs_diff(*expected));
        Ok(counts.iter().zip(expected).map(apart).sum())
    }
}

/// Distances of marginals from what was expected of them, still behind the wall.
///
/// One record more or less moves a distance by one count, and one that is replaced by two, whatever was
/// expected.
#[derive(Default)]
pub(crate) struct Distances(Zeroizing<Vec<u128>>);

impl Distances {
    /// One count in the units that distances are in.
    pub(crate) const UNITS: u64 = 1 << 20;

    /// Computes another distance; its number is how many there were before.
    pub(crate) fn push(
        &mut self,
        records: &Sensitive<Categories>,
        columns: &[usize],
        expected: &[u64],
    ) -> Result<usize> {
        self.0.push(records.distance(columns, expected, Self::UNITS)?);
        Ok(self.0.len() - 1)
    }

    /// A private choice among some of them, of which each has a public bonus; for a receipt of its event. A
    /// step of the choice is to be used once.
    pub(crate) fn choose(
        &self,
        (receipt, event): (Receipt, Event),
        (choice, step): (&ExponentialChoice, u64),
        candidates: &[(usize, u128)],
    ) -> Result<usize> {
        require(receipt, event)?;
        let of = |&(number, bonus): &(usize, u128)| self.0.get(number).map(|distance| distance + bonus);
        let utilities: Option<Vec<u128>> = candidates.iter().map(of).collect();
        let utilities = utilities.ok_or(Error::Conflict("there is no candidate with this number"))?;
        let utilities = Zeroizing::new(utilities);
        Ok(choice.draw(step, &utilities)?)
    }

    /// The distances for tests of their sensitivity.
    #[cfg(test)]
    pub(crate) fn exact(&self) -> &[u128] {
        &self.0
    }
}
