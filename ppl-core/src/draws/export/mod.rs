//! Draws as tables that other programs read: CSV (feature `csv`) and Parquet (feature `parquet`).
//!
//! A row is a draw, a column an element of a site. Columns have the names that CmdStan gives them: `w.1`,
//! `w.2`, `m.2.3` (row 2, column 3, counted from 1, the first index moving fastest), and just the site's name
//! for a number. ArviZ reads such a CSV file as it is (`arviz.from_cmdstan("draws.csv")`) and puts the arrays
//! back together; pandas reads both kinds (`read_csv`, `read_parquet`).
//!
//! Draws of a posterior, of a prior, and predictive draws are written alike: an array a site, whose first
//! axis counts the draws.

#[cfg(feature = "csv")]
mod csv;
mod file;
#[cfg(feature = "parquet")]
mod parquet;

#[cfg(feature = "csv")]
pub use self::csv::{save_csv, write_csv};
#[cfg(feature = "parquet")]
pub use self::parquet::{save_parquet, write_parquet};

use crate::base::{Error, Result};
use ndarray::{ArrayD, Axis, IxDyn};
use std::collections::{BTreeMap, BTreeSet};

/// The columns of a table of draws.
#[derive(Clone, Debug, PartialEq)]
pub struct Columns {
    /// Their names.
    pub names: Vec<String>,
    /// Their numbers, a draw after the other; all of one length.
    pub numbers: Vec<Vec<f64>>,
}

/// The columns of a table of draws: sites in the order of their names, the elements of each with the first
/// index moving fastest.
///
/// A point in a site's name becomes `_`, since points stand before indices.
///
/// ```
/// use ndarray::array;
/// use std::collections::BTreeMap;
/// // Two draws of a vector, and of a number.
/// let draws = BTreeMap::from([
///     ("w".to_owned(), array![[1.0, 2.0], [3.0, 4.0]].into_dyn()),
///     ("spread".to_owned(), array![0.5, 0.6].into_dyn()),
/// ]);
/// let columns = ppl_core::draws::export::columns(&draws)?;
/// assert_eq!(columns.names, ["spread", "w.1", "w.2"]);
/// assert_eq!(columns.numbers[2], [2.0, 4.0]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Values`] if a site has no axis that counts draws, another number of draws than the others, or the
/// name of another.
pub fn columns(draws: &BTreeMap<String, ArrayD<f64>>) -> Result<Columns> {
    let mut columns = Columns { names: Vec::new(), numbers: Vec::new() };
    let mut names = BTreeSet::new();
    let mut rows: Option<(usize, &str)> = None;
    for (site, values) in draws {
        let Some(&count) = values.shape().first() else {
            return Err(Error::Values("a number, without an axis that counts draws".to_owned()).at_site(site));
        };
        if let Some((expected, other)) = rows.filter(|&(expected, _)| expected != count) {
            let told = format!("{count} draws, where site '{other}' has {expected}");
            return Err(Error::Values(told).at_site(site));
        }
        rows = Some((count, site));
        let base = site.replace('.', "_");
        if !names.insert(base.clone()) {
            let told = format!("its columns would be called '{base}', as those of another site are");
            return Err(Error::Values(told).at_site(site));
        }
        let dims = &values.shape()[1..];
        let mut index = vec![0; dims.len()];
        for _ in 0..dims.iter().product() {
            let place: String = index.iter().map(|at| format!(".{}", at + 1)).collect();
            columns.names.push(format!("{base}{place}"));
            let of_draw = |draw: usize| values.index_axis(Axis(0), draw)[IxDyn(&index)];
            columns.numbers.push((0..count).map(of_draw).collect());
            for (at, &dim) in index.iter_mut().zip(dims) {
                *at += 1;
                if *at < dim {
                    break;
                }
                *at = 0;
            }
        }
    }
    Ok(columns)
}

#[cfg(test)]
mod tests;
