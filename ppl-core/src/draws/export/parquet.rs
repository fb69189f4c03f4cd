//! Draws as Parquet.

use super::{columns, file};
use crate::base::{Error, Result};
use ::parquet::basic::{Repetition, Type as PhysicalType};
use ::parquet::data_type::DoubleType;
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::types::Type;
use ndarray::ArrayD;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Writes draws as a Parquet file of one row group, a column of doubles for each element.
///
/// # Errors
/// As [`columns`], or if writing fails.
pub fn write_parquet(draws: &BTreeMap<String, ArrayD<f64>>, to: impl Write + Send) -> Result<()> {
    let columns = columns(draws)?;
    let failed = |error: ParquetError| Error::Values(format!("the table cannot be written: {error}"));
    let field = |name: &String| {
        let column = Type::primitive_type_builder(name, PhysicalType::DOUBLE);
        column.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
    };
    let fields = columns.names.iter().map(field).collect::<Result<Vec<_>, _>>().map_err(failed)?;
    let schema = Type::group_type_builder("draws").with_fields(fields).build().map_err(failed)?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut writer = SerializedFileWriter::new(to, Arc::new(schema), properties).map_err(failed)?;
    let mut group = writer.next_row_group().map_err(failed)?;
    for numbers in &columns.numbers {
        let Some(mut column) = group.next_column().map_err(failed)? else { break };
        column.typed::<DoubleType>().write_batch(numbers, None, None).map_err(failed)?;
        column.close().map_err(failed)?;
    }
    group.close().map_err(failed)?;
    writer.close().map(|_| ()).map_err(failed)
}

/// As [`write_parquet`], into a file, which is replaced as a whole when all has been written.
///
/// # Errors
/// As [`columns`], or [`Error::File`].
pub fn save_parquet(draws: &BTreeMap<String, ArrayD<f64>>, path: impl AsRef<Path>) -> Result<()> {
    file::replace(path.as_ref(), |mut file| write_parquet(draws, &mut file).map(|()| file))
}
