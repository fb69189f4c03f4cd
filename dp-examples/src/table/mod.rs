//! A file of records as text cells that remember where they came from.

pub mod condition;
mod file;
mod lines;
#[cfg(feature = "parquet")]
mod parquet;
mod parts;
mod place;
pub mod split;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use csv::StringRecord;
use rayon::prelude::*;

use file::Source;
pub use file::read_file;
pub(crate) use lines::utf8;
use parts::Parts;
pub(crate) use place::text_at;

#[cfg(feature = "parquet")]
use crate::error::quoted;
use crate::{Error, Result};

/// The records of a CSV file with a header, as text, each with the line it starts on.
///
/// The file is UTF-8 with or without a byte order mark; lines end in LF, CRLF or CR; cells may be quoted;
/// white space around a cell is dropped; blank lines are skipped. Every record has as many cells as the
/// header.
///
/// # Privacy
///
/// A table is the sensitive data themselves. It has no `Debug` and no serialisation, so that it cannot be
/// printed by accident.
///
/// # Examples
///
/// ```
/// use dp_examples::table::Table;
///
/// let table = Table::parse("shells.csv", b"sex,length\nM,0.455\n\nF, 0.53\n")?;
/// assert_eq!(table.columns(), ["sex", "length"]);
/// let lengths: Vec<_> = table.cells("length")?.map(|cell| (cell.line(), cell.text())).collect();
/// assert_eq!(lengths, [(2, "0.455"), (4, "0.53")]);
/// assert!(table.cells("width").is_err());
/// # Ok::<(), dp_examples::Error>(())
/// ```
#[derive(Clone)]
pub struct Table {
    name: String,
    columns: Arc<Columns>,
    rows: Rows,
    lines: Vec<u64>,
}

/// The names of columns, all different, and the place of each: a table of a hundred thousand columns is not searched
/// for every one. Parts of a table share them.
#[derive(Default)]
struct Columns {
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl From<Vec<String>> for Columns {
    fn from(names: Vec<String>) -> Self {
        let places = names.iter().enumerate().map(|(place, name)| (name.clone(), place)).collect();
        Self { names, places }
    }
}

/// The cells of all records, one after the other: of a million records of fifty cells, a list for each would take more
/// memory than what they say.
#[derive(Clone, Default)]
struct Rows {
    text: String,
    /// Where each record begins in the text.
    starts: Vec<usize>,
    /// Where each cell ends, counted from the beginning of its record.
    ends: Vec<u32>,
}

impl Rows {
    /// Adds a record; whether it was short enough, at most 4 GiB.
    fn push<'c>(&mut self, cells: impl Iterator<Item = &'c str>) -> bool {
        let start = self.text.len();
        self.starts.push(start);
        for cell in cells {
            self.text.push_str(cell);
            let Ok(end) = u32::try_from(self.text.len() - start) else { return false };
            self.ends.push(end);
        }
        true
    }

    fn len(&self) -> usize {
        self.starts.len()
    }

    /// A cell of a table of so many columns.
    fn cell(&self, row: usize, column: usize, columns: usize) -> &str {
        let (start, ends) = (self.starts[row], &self.ends[row * columns..(row + 1) * columns]);
        let begin = if column == 0 { 0 } else { ends[column - 1] as usize };
        &self.text[start + begin..start + ends[column] as usize]
    }
}

impl Table {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`] where the file cannot be opened or is a directory, and whatever [`Table::parse`]
    /// says.
    pub fn read(path: &Path) -> Result<Self> {
        let (mut source, mut bytes) = (Source::open(path)?, Vec::new());
        source.read(&mut bytes)?;
        if !bytes.starts_with(PARQUET) {
            return Parts::new(source, bytes).whole();
        }
        while source.read(&mut bytes)? > 0 {}
        Self::parse_parquet(&path.display().to_string(), bytes)
    }

    fn of(mut source: Source<'_>) -> Result<Self> {
        let mut bytes = Vec::new();
        source.read(&mut bytes)?;
        Parts::new(source, bytes).whole()
    }

    /// Without the feature there is advice instead.
    #[cfg(not(feature = "parquet"))]
    fn parse_parquet(name: &str, _: Vec<u8>) -> Result<Self> {
        let reason = "it is a Parquet file, and this program was built without the feature `parquet`; build it with \
                      --features parquet, or write the table as CSV";
        Err(Error::Unreadable { file: name.to_owned(), reason: reason.to_owned() })
    }

    /// Reads the bytes of a CSV file; `name` stands for the file in errors.
    ///
    /// # Errors
    ///
    /// One per kind of mistake: [`Error::EmptyFile`], [`Error::NoRecords`], [`Error::NotUtf8`],
    /// [`Error::UnclosedQuote`], [`Error::EmptyColumnName`], [`Error::DuplicateColumnName`],
    /// [`Error::OtherSeparator`], [`Error::RaggedRow`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::of(Source::of(name, bytes))
    }

    /// The file's name as it appears in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The column names in the file's order: at least one, all different, none empty.
    pub fn columns(&self) -> &[String] {
        &self.columns.names
    }

    /// The lines on which the records start.
    pub fn lines(&self) -> &[u64] {
        &self.lines
    }

    /// How many records there are: at least one.
    #[expect(clippy::len_without_is_empty, reason = "a table without records is refused when it is read")]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// The records that are marked; there is a mark for each.
    #[must_use]
    pub(crate) fn keep(self, marked: &[bool]) -> Self {
        let Self { name, columns, mut rows, mut lines } = self;
        // Their text stays where it is: a table of the others would take as much memory again.
        keep_marked(&mut rows.starts, marked, 1);
        keep_marked(&mut rows.ends, marked, columns.names.len());
        keep_marked(&mut lines, marked, 1);
        Self { name, columns, rows, lines }
    }

    /// The cells of one column, from the first record to the last.
    ///
    /// # Errors
    ///
    /// [`Error::MissingColumn`], which lists the columns there are.
    pub fn cells<'t>(&'t self, column: &str) -> Result<impl Iterator<Item = Cell<'t>> + Clone> {
        let index = self.place(column)?;
        Ok((0..self.len()).map(move |row| self.cell(row, index)))
    }

    /// Reads columns side by side: `take` gets the cells of each, from the first record to the last, until it fails.
    ///
    /// Cells of a record lie beside each other, so that the text is read once, and not once for each column; columns
    /// are shared among all threads.
    ///
    /// # Errors
    ///
    /// [`Error::MissingColumn`] for the first column that is not there. What is wrong with a cell is in the place of
    /// what its column would have been.
    pub(crate) fn read_columns<T: Send>(
        &self,
        columns: Vec<(&str, Result<T>)>,
        take: impl Fn(&mut T, Cell<'_>) -> Result<()> + Sync,
    ) -> Result<Vec<Result<T>>> {
        let placed = columns.into_iter().map(|(column, found)| Ok((self.place(column)?, found)));
        let mut columns = placed.collect::<Result<Vec<(usize, Result<T>)>>>()?;
        for first in (0..self.len()).step_by(SIDE_BY_SIDE) {
            let last = self.len().min(first + SIDE_BY_SIDE);
            columns.par_iter_mut().for_each(|(index, column)| {
                let Ok(found) = column else { return };
                let read = (first..last).try_for_each(|row| take(found, self.cell(row, *index)));
                if let Err(error) = read {
                    *column = Err(error);
                }
            });
        }
        Ok(columns.into_iter().map(|(_, found)| found).collect())
    }

    /// The place of a column.
    fn place(&self, column: &str) -> Result<usize> {
        self.columns.places.get(column).copied().ok_or_else(|| Error::MissingColumn {
            file: self.name.clone(),
            column: column.to_owned(),
            columns: self.columns.names.clone(),
        })
    }

    /// The cell of a record in the column at this place. Every record has as many cells as the header.
    fn cell(&self, row: usize, index: usize) -> Cell<'_> {
        let text = self.rows.cell(row, index, self.columns.names.len());
        Cell { file: &self.name, column: &self.columns.names[index], line: self.lines[row], text }
    }
}

/// Records whose cells are read together: their text stays in a cache while one column is read after another.
const SIDE_BY_SIDE: usize = 2048;

/// Keeps what belongs to the marked records, of so many items for each.
fn keep_marked<T>(items: &mut Vec<T>, marked: &[bool], of_each: usize) {
    let mut place = 0;
    items.retain(|_| {
        place += 1;
        marked[(place - 1) / of_each]
    });
}

/// One cell: its text and where it stands.
#[derive(Clone, Copy)]
pub struct Cell<'t> {
    file: &'t str,
    column: &'t str,
    line: u64,
    text: &'t str,
}

impl<'t> Cell<'t> {
    /// The line its record starts on, counted from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The cell without the white space around it.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The cell as a finite number.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyCell`], [`Error::NotANumber`], [`Error::NotFinite`] (`nan`, `inf`, `1e999`), each with
    /// file, line and column.
    pub fn number(&self) -> Result<f64> {
        if self.text.is_empty() {
            return Err(self.empty("a number"));
        }
        let (file, column) = (self.file.to_owned(), self.column.to_owned());
        match self.text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) => Err(Error::NotFinite { file, line: self.line, column }),
            Err(_) => Err(Error::NotANumber { file, line: self.line, column }),
        }
    }

    /// The error for this cell having no value.
    pub(crate) fn missing(&self) -> Error {
        Error::MissingValue { file: self.file.to_owned(), line: self.line, column: self.column.to_owned() }
    }

    /// The error for this cell not being a date.
    pub(crate) fn not_a_date(&self) -> Error {
        Error::NotADate { file: self.file.to_owned(), line: self.line, column: self.column.to_owned() }
    }

    /// The error for this cell being none of the categories.
    pub(crate) fn unknown(&self, categories: &[String]) -> Error {
        Error::UnknownCategory {
            file: self.file.to_owned(),
            line: self.line,
            column: self.column.to_owned(),
            categories: categories.to_vec(),
        }
    }

    /// The error for this cell being empty where `expected` was needed.
    pub(crate) fn empty(&self, expected: &'static str) -> Error {
        Error::EmptyCell {
            file: self.file.to_owned(),
            line: self.line,
            column: self.column.to_owned(),
            expected,
        }
    }
}

/// A Parquet file with a number, a text and a date in each of three records.
#[cfg(all(test, feature = "parquet"))]
pub(crate) fn parquet_file() -> Vec<u8> {
    parquet::tests::file(::parquet::basic::Compression::UNCOMPRESSED)
}

/// What a Parquet file begins with.
const PARQUET: &[u8] = b"PAR1";

fn column_names(file: &str, line: u64, header: &StringRecord) -> Result<Vec<String>> {
    let mut columns: Vec<String> = Vec::with_capacity(header.len());
    if let (1, Some(only)) = (header.len(), header.get(0)) {
        let separators = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")];
        if let Some((_, separator)) = separators.into_iter().find(|(mark, _)| only.contains(*mark)) {
            return Err(Error::OtherSeparator { file: file.to_owned(), line, separator });
        }
    }
    // A set rather than a search: a header of a hundred thousand columns must not take a minute to refuse.
    let mut seen = HashMap::with_capacity(header.len());
    for (index, name) in header.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::EmptyColumnName { file: file.to_owned(), line, position: index + 1 });
        }
        if let Some(first) = seen.insert(name, index) {
            let (first, second, column) = (first + 1, index + 1, name.to_owned());
            return Err(Error::DuplicateColumnName { file: file.to_owned(), line, column, first, second });
        }
        columns.push(name.to_owned());
    }
    Ok(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(bytes: &[u8]) -> String {
        Table::parse("a.csv", bytes).err().expect("an error").to_string()
    }

    fn column(bytes: &[u8], name: &str) -> Vec<(u64, String)> {
        let table = Table::parse("a.csv", bytes).unwrap();
        table.cells(name).unwrap().map(|cell| (cell.line(), cell.text().to_owned())).collect()
    }

    fn pairs(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
        expected.iter().map(|&(line, text)| (line, text.to_owned())).collect()
    }

    #[test]
    fn reads_cells_with_their_lines() {
        assert_eq!(column(b"x,y\n1,2\n3,4\n", "y"), pairs(&[(2, "2"), (3, "4")]));
        assert_eq!(column(b"x,y\n1,2\n3,4", "y"), pairs(&[(2, "2"), (3, "4")]));
    }

    #[test]
    fn line_ends_marks_and_blank_lines() {
        let expected = pairs(&[(2, "1"), (3, "3")]);
        assert_eq!(column(b"\xef\xbb\xbfx,y\r\n1,2\r\n3,4\r\n", "x"), expected);
        assert_eq!(column(b"x,y\r1,2\r3,4\r", "x"), expected);
        assert_eq!(column(b"\n\nx,y\n1,2\n\n\n3,4\n\n", "x"), pairs(&[(4, "1"), (7, "3")]));
        assert_eq!(column(b"x,y\r\n\r\n1,2\r\n", "x"), pairs(&[(3, "1")]));
        assert_eq!(column(b" x , y\n 1 ,\t2 \n", "x"), pairs(&[(2, "1")]));
    }

    #[test]
    fn quoted_cells_may_hold_commas_quotes_and_lines() {
        let bytes = b"x,y\n\"a,\"\"b\"\"\",1\n\"two\nlines\",2\nlast,3\n";
        assert_eq!(column(bytes, "x"), pairs(&[(2, "a,\"b\""), (3, "two\nlines"), (5, "last")]));
        // A quote inside an unquoted cell is an ordinary character.
        assert_eq!(column(b"x,y\n5\",1\n", "x"), pairs(&[(2, "5\"")]));
    }

    #[test]
    fn empty_files() {
        for bytes in [&b""[..], b"\n\r\n", b"\xef\xbb\xbf"] {
            assert_eq!(
                message(bytes),
                "a.csv:1: the file is empty, expected a header line and at least one record"
            );
        }
        assert_eq!(message(b"x,y\n"), "a.csv:1: no records after the header line");
        assert_eq!(message(b"\nx,y\n\n"), "a.csv:2: no records after the header line");
    }

    #[test]
    fn ragged_rows() {
        assert_eq!(
            message(b"x,y\n1,2\n3\n"),
            "a.csv:3: 1 cells, expected 2 as in the header; a cell that holds a comma has to be in quotes"
        );
        assert_eq!(
            message(b"x,y\r\n\r\n1,2,3\r\n"),
            "a.csv:3: 3 cells, expected 2 as in the header; a cell that holds a comma has to be in quotes"
        );
    }

    #[test]
    fn column_names_must_be_there_and_differ() {
        assert_eq!(message(b"x,,y\n1,2,3\n"), "a.csv:1: column 2 has no name, expected one in the header");
        assert_eq!(message(b"x,y, x\n1,2,3\n"), "a.csv:1: columns 1 and 3 are both named 'x'");
        assert_eq!(message(b"x,\n1,2\n"), "a.csv:1: column 2 has no name, expected one in the header");
    }

    #[test]
    fn other_separators_are_named() {
        let told = "columns are separated by commas: save the file so";
        assert_eq!(
            message(b"x;y\n1;2\n"),
            format!("a.csv:1: the header is one column, with semicolons in its name; {told}")
        );
        assert_eq!(
            message(b"x\ty\n1\t2\n"),
            format!("a.csv:1: the header is one column, with tabs in its name; {told}")
        );
        // Among other columns such a name is a name.
        assert_eq!(column(b"x;y,z\n1;2,3\n", "z"), pairs(&[(2, "3")]));
    }

    #[test]
    fn text_must_be_utf8() {
        assert_eq!(
            message(b"x,y\n1,2\n3,\xff\n"),
            "a.csv:3: here is a byte that is not UTF-8 text, expected a UTF-8 file"
        );
        assert_eq!(
            message(b"\xff\xfex\0"),
            "a.csv:1: here is a byte that is not UTF-8 text, expected a UTF-8 file"
        );
    }

    #[test]
    fn a_stray_quote_is_found() {
        assert_eq!(
            message(b"x,y\n1,2\n3,\"4\n5,6\n"),
            "a.csv:3: the quote opened on this line is never closed"
        );
    }

    #[test]
    fn files_that_cannot_be_read() {
        let folder = crate::output::tests::TestFolder::new();
        let missing = Table::read(&folder.0.join("none.csv")).err().unwrap();
        assert!(matches!(missing, Error::Unreadable { .. }));
        assert!(missing.to_string().contains("none.csv: cannot be read: No such file"), "{missing}");
        assert!(matches!(Table::read(&folder.0), Err(Error::Unreadable { .. })));
    }

    #[test]
    fn cells_as_numbers() {
        let table = Table::parse("a.csv", b"x,y\nabc,1e999\n,NaN\n 1.5e1,-inf\n").unwrap();
        let x: Vec<_> = table.cells("x").unwrap().map(|cell| cell.number()).collect();
        let y: Vec<_> = table.cells("y").unwrap().map(|cell| cell.number()).collect();
        let told = x[0].as_ref().unwrap_err().to_string();
        assert!(told.starts_with("a.csv:2: column 'x' does not hold a number here; "), "{told}");
        assert_eq!(
            x[1].as_ref().unwrap_err().to_string(),
            "a.csv:3: column 'x': the cell is empty, expected a number"
        );
        assert_eq!(x[2], Ok(15.0));
        assert_eq!(
            y[0].as_ref().unwrap_err().to_string(),
            "a.csv:2: column 'y' does not hold a finite number here"
        );
        assert!(matches!(&y[1], Err(Error::NotFinite { line: 3, .. })));
        assert!(matches!(&y[2], Err(Error::NotFinite { line: 4, .. })));
    }

    #[test]
    fn a_missing_column_lists_those_there_are() {
        let table = Table::parse("a.csv", b"x,y\n1,2\n").unwrap();
        let error = table.cells("z").err().unwrap();
        assert_eq!(error.to_string(), "a.csv: no column 'z'; the columns are 'x', 'y'");
    }
}
