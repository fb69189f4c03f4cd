//! Tables in Parquet files, as text cells like those of a CSV file.

use std::sync::Arc;

use ::parquet::errors::ParquetError;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use bytes::Bytes;

use super::{Rows, Table};
use crate::{Error, Result};

impl Table {
    /// Reads the bytes of a Parquet file whose columns are numbers, texts, dates or yes and no. A cell without a value
    /// is an empty text. What messages call a line is the number of the record, from 1.
    pub(super) fn parse_parquet(name: &str, bytes: Vec<u8>) -> Result<Self> {
        let wrong = |reason: String| Error::Unreadable { file: name.to_owned(), reason };
        // What the library says may repeat what a cell holds, so it is left out.
        let damaged = |_: ParquetError| {
            wrong(
                "it is a Parquet file that is damaged, or compressed in a way \
                                               that is not read (plain, Snappy and Zstandard are)"
                    .to_owned(),
            )
        };
        let reader = SerializedFileReader::new(Bytes::from(bytes)).map_err(damaged)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let mut columns: Vec<String> = Vec::new();
        for column in schema.columns() {
            if column.path().parts().len() > 1 {
                let column = column.path().parts().first().cloned().unwrap_or_default();
                return Err(wrong(format!("column {} is nested, which is not read", super::quoted(&column))));
            }
            if columns.iter().any(|other| other == column.name()) {
                let column = super::quoted(column.name());
                return Err(wrong(format!("two columns are both named {column}")));
            }
            columns.push(column.name().to_owned());
        }
        if columns.is_empty() {
            return Err(Error::EmptyFile { file: name.to_owned() });
        }
        let (mut rows, mut lines) = (Rows::default(), Vec::new());
        for (number, row) in reader.get_row_iter(None).map_err(damaged)?.enumerate() {
            let row = row.map_err(damaged)?;
            let mut cells = Vec::with_capacity(columns.len());
            for (column, field) in row.get_column_iter() {
                let cell = cell(field).ok_or_else(|| {
                    let column = super::quoted(column);
                    wrong(format!(
                        "column {column} holds values of a kind that is not read; write it as numbers \
                     or texts"
                    ))
                })?;
                cells.push(cell);
            }
            if !rows.push(cells.iter().map(|cell| cell.trim())) {
                return Err(wrong("a record is longer than 4 GiB".to_owned()));
            }
            lines.push(number as u64 + 1);
        }
        if lines.is_empty() {
            return Err(wrong("it holds no records".to_owned()));
        }
        Ok(Self { name: name.to_owned(), columns: Arc::new(columns.into()), rows, lines })
    }
}

/// A value as text; `None` for kinds that are not read.
fn cell(field: &Field) -> Option<String> {
    Some(match field {
        Field::Null => String::new(),
        Field::Bool(value) => value.to_string(),
        Field::Byte(value) => value.to_string(),
        Field::Short(value) => value.to_string(),
        Field::Int(value) => value.to_string(),
        Field::Long(value) => value.to_string(),
        Field::UByte(value) => value.to_string(),
        Field::UShort(value) => value.to_string(),
        Field::UInt(value) => value.to_string(),
        Field::ULong(value) => value.to_string(),
        Field::Float(value) => value.to_string(),
        Field::Double(value) => value.to_string(),
        Field::Str(text) => text.clone(),
        Field::Date(days) => crate::schema::date::text(i64::from(*days)),
        _ => return None,
    })
}

#[cfg(test)]
pub(super) mod tests {
    use ::parquet::basic::Compression;
    use ::parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type};
    use ::parquet::file::properties::WriterProperties;
    use ::parquet::file::writer::SerializedFileWriter;
    use ::parquet::schema::parser::parse_message_type;

    use super::*;

    pub(in crate::table) fn file(compression: Compression) -> Vec<u8> {
        let text = "message m { required double x; optional byte_array c (UTF8); required int32 d (DATE); }";
        let schema = Arc::new(parse_message_type(text).unwrap());
        let properties = Arc::new(WriterProperties::builder().set_compression(compression).build());
        let mut bytes = Vec::new();
        let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<DoubleType>().write_batch(&[1.5, 1e-300, -2.0], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let texts = ["a, \"b\"", "größe"].map(ByteArray::from);
        column.typed::<ByteArrayType>().write_batch(&texts, Some(&[1, 0, 1]), None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column.typed::<Int32Type>().write_batch(&[0, 19_782, -1], None, None).unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        bytes
    }

    #[test]
    fn values_become_cells() {
        for compression in
            [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::ZSTD(Default::default())]
        {
            let table = Table::parse_parquet("a.parquet", file(compression)).unwrap();
            assert_eq!(table.columns(), ["x", "c", "d"]);
            let texts = |column| table.cells(column).unwrap().map(|cell| cell.text()).collect::<Vec<_>>();
            assert_eq!(texts("c"), ["a, \"b\"", "", "größe"]);
            assert_eq!(texts("d"), ["1970-01-01", "2024-02-29", "1969-12-31"]);
            let numbers: Vec<f64> = table.cells("x").unwrap().map(|cell| cell.number().unwrap()).collect();
            assert_eq!(numbers, [1.5, 1e-300, -2.0]);
            assert_eq!(table.lines(), [1, 2, 3]);
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        let whole = file(Compression::SNAPPY);
        for length in [4, 40, whole.len() / 2, whole.len() - 1] {
            let told = Table::parse_parquet("a.parquet", whole[..length].to_vec()).err().unwrap().to_string();
            assert!(told.starts_with("a.parquet: cannot be read"), "{told}");
        }
    }
}
