//! Draws as CSV.

use super::{columns, file};
use crate::base::{Error, Result};
use ndarray::ArrayD;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// Writes draws as comma-separated values, a head line first. Numbers are written with the fewest digits that
/// give them back.
///
/// ```
/// use ndarray::array;
/// use std::collections::BTreeMap;
/// let draws = BTreeMap::from([("w".to_owned(), array![[1.0, 0.25], [3.0, -1e300]].into_dyn())]);
/// let mut text = Vec::new();
/// ppl_core::draws::export::write_csv(&draws, &mut text)?;
/// assert_eq!(String::from_utf8_lossy(&text), "w.1,w.2\n1,0.25\n3,-1e300\n");
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # Errors
/// As [`columns`], or if writing fails.
pub fn write_csv(draws: &BTreeMap<String, ArrayD<f64>>, to: impl Write) -> Result<()> {
    let columns = columns(draws)?;
    let failed = |error: ::csv::Error| Error::Values(format!("the table cannot be written: {error}"));
    let mut writer = ::csv::Writer::from_writer(to);
    writer.write_record(&columns.names).map_err(failed)?;
    let rows = columns.numbers.first().map_or(0, Vec::len);
    for row in 0..rows {
        let fields = columns.numbers.iter().map(|numbers| written(numbers[row]));
        writer.write_record(fields).map_err(failed)?;
    }
    writer.flush().map_err(|error| failed(error.into()))
}

/// As [`write_csv`], into a file, which is replaced as a whole when all has been written.
///
/// # Errors
/// As [`columns`], or [`Error::File`].
pub fn save_csv(draws: &BTreeMap<String, ArrayD<f64>>, path: impl AsRef<Path>) -> Result<()> {
    file::replace(path.as_ref(), |mut file| write_csv(draws, &mut file).map(|()| file))
}

/// With an exponent where digits would only count zeros.
fn written(number: f64) -> String {
    match number.abs() {
        size if size != 0.0 && size.is_finite() && !(1e-5..1e16).contains(&size) => format!("{number:e}"),
        _ => number.to_string(),
    }
}
