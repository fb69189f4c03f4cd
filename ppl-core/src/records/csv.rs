//! Records from files of comma-separated values.

use super::{Column, Records};
use crate::base::{Error, Result};
use ndarray::{Array1, Array2};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// Most numbers that are read from a file: 2²⁸, or 2 GiB.
const MOST_NUMBERS: usize = 1 << 28;

/// What becomes one column of the records: its name, and where in a file of comma-separated values it comes
/// from.
///
/// | made by | in the file | in the records |
/// |---|---|---|
/// | [`number`](Self::number), or just `"age"` | finite numbers under that name | `f64`, shape `[]` |
/// | [`vector`](Self::vector), or `("x", ["x1", "x2"])` | finite numbers under these names | `f64`, shape `[k]` |
/// | [`categories`](Self::categories) | one of the listed texts | `u32`, its place in the list |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvColumn {
    name: String,
    headers: Vec<String>,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Number,
    Vector,
    Categories(Vec<String>),
}

impl CsvColumn {
    /// Numbers, one for each record.
    pub fn number(name: impl Into<String>) -> Self {
        let name = name.into();
        Self { headers: vec![name.clone()], name, content: Content::Number }
    }

    /// The numbers of several columns of the file, in this order, as one vector for each record.
    pub fn vector<H: Into<String>>(name: impl Into<String>, headers: impl IntoIterator<Item = H>) -> Self {
        let headers = headers.into_iter().map(Into::into).collect();
        Self { name: name.into(), headers, content: Content::Vector }
    }

    /// Categories by the list of all there may be: 0 for the first, and so on. The list is public, so it must not
    /// be read off the records.
    pub fn categories<C: Into<String>>(
        name: impl Into<String>,
        categories: impl IntoIterator<Item = C>,
    ) -> Self {
        let (name, categories) = (name.into(), categories.into_iter().map(Into::into).collect());
        Self { headers: vec![name.clone()], name, content: Content::Categories(categories) }
    }

    /// The same from the file's column of another name. For vectors this is the first of them.
    #[must_use]
    pub fn of(mut self, header: impl Into<String>) -> Self {
        match self.headers.first_mut() {
            Some(first) => *first = header.into(),
            None => self.headers.push(header.into()),
        }
        self
    }

    fn check(&self) -> Result<()> {
        let wrong = |problem: &str| Err(Error::Records(format!("column '{}': {problem}", self.name)));
        match &self.content {
            _ if self.headers.is_empty() => wrong("a vector needs at least one column of the file, got 0"),
            Content::Categories(list) if list.is_empty() => wrong("at least one category is needed, got 0"),
            Content::Categories(list) if list.iter().collect::<BTreeSet<_>>().len() < list.len() => {
                wrong("a category is listed twice")
            }
            _ => Ok(()),
        }
    }

    /// The number that a cell stands for, or what is wrong with it. The cell's text is not in the answer.
    fn parse(&self, cell: &[u8]) -> Result<f64, String> {
        let Ok(text) = std::str::from_utf8(cell) else { return Err("is not UTF-8 text".to_owned()) };
        let text = text.trim();
        match &self.content {
            _ if text.is_empty() => Err("is empty".to_owned()),
            Content::Categories(list) => match list.iter().position(|category| category == text) {
                Some(place) => Ok(place as f64),
                None => Err(format!("is none of the {} categories that were listed", list.len())),
            },
            _ => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => Ok(number),
                Ok(_) => Err("is not a finite number".to_owned()),
                Err(_) => Err("is not a number".to_owned()),
            },
        }
    }

    /// The numbers of all records as a column.
    fn column(&self, numbers: Vec<f64>) -> Result<Column> {
        match &self.content {
            Content::Number => Ok(Column::from(Array1::from(numbers))),
            Content::Vector => {
                let shape = (numbers.len() / self.headers.len(), self.headers.len());
                let array = Array2::from_shape_vec(shape, numbers);
                array.map(Column::from).map_err(|error| Error::Records(error.to_string()))
            }
            Content::Categories(_) => {
                // Places in a list, so exact.
                let places: Vec<u32> = numbers.into_iter().map(|place| place as u32).collect();
                Ok(Column::from(places))
            }
        }
    }
}

impl From<&str> for CsvColumn {
    fn from(name: &str) -> Self {
        Self::number(name)
    }
}

impl<const K: usize> From<(&str, [&str; K])> for CsvColumn {
    fn from((name, headers): (&str, [&str; K])) -> Self {
        Self::vector(name, headers)
    }
}

impl Records {
    /// Records from a file of comma-separated values with a header line. Columns of the file that are not asked
    /// for are not looked at. Needs the feature `csv`.
    ///
    /// # Privacy
    /// What is returned is the records themselves: put them behind `dp_vi::Sensitive`. An error names line and
    /// column, never what stands there; whether a file can be read, and its lines, are for those who hold it.
    ///
    /// # Errors
    /// [`Error::Records`] if the file cannot be opened or read, if a column is missing or twice in its header, a
    /// line has another number of cells, a cell is no finite number or none of the categories, there is no
    /// record, or more than 2²⁸ numbers would have to be held.
    ///
    /// ```
    /// use ppl_core::{CsvColumn, Records};
    /// let path = std::env::temp_dir().join(format!("ppl-core-people-{}.csv", std::process::id()));
    /// std::fs::write(&path, "id,x1,x2,sex,y\n7,0.5,1,male,0\n8,-2,3e1,female,1\n")?;
    /// let sex = CsvColumn::categories("sex", ["female", "male"]);
    /// let records = Records::from_csv(&path, [("x", ["x1", "x2"]).into(), sex, "y".into()])?;
    /// assert_eq!((records.len(), records.schema().dim("x")?), (2, 2));
    /// assert_eq!(records.column(0).as_slice::<f64>(), Some(&[0.5, 1.0, -2.0, 30.0][..]));
    /// assert_eq!(records.column(1).as_slice::<u32>(), Some(&[1, 0][..]));
    ///
    /// let told = Records::from_csv(&path, ["x1", "sex"]).unwrap_err().to_string();
    /// assert!(told.ends_with("line 2, column 'sex': the cell is not a number"));
    /// # std::fs::remove_file(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_csv<C: Into<CsvColumn>>(
        path: impl AsRef<Path>,
        columns: impl IntoIterator<Item = C>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let file =
            File::open(path).map_err(|error| Error::Records(format!("{name} cannot be opened: {error}")))?;
        read(&name, BufReader::new(file), columns.into_iter().map(Into::into).collect(), MOST_NUMBERS)
    }
}

fn read(name: &str, from: impl Read, columns: Vec<CsvColumn>, most: usize) -> Result<Records> {
    columns.iter().try_for_each(CsvColumn::check)?;
    let mut reader = ::csv::ReaderBuilder::new().from_reader(from);
    let headers = reader.byte_headers().map_err(|error| told(name, &error))?.clone();
    let header = |index: usize| headers.get(index).map(|header| String::from_utf8_lossy(header.trim_ascii()));
    let known: Vec<_> = (0..headers.len()).filter_map(header).collect();
    let place = |wanted: &String| -> Result<usize> {
        let mut places = known.iter().enumerate().filter(|(_, header)| *header == wanted.as_str());
        match (places.next(), places.next()) {
            (Some((place, _)), None) => Ok(place),
            (Some(_), Some(_)) => {
                Err(Error::Records(format!("{name}: the header has the column '{wanted}' twice")))
            }
            (None, _) => {
                let all = known.join("', '");
                Err(Error::Records(format!("{name} has no column '{wanted}'; its header has '{all}'")))
            }
        }
    };
    let places: Vec<Vec<usize>> =
        columns.iter().map(|column| column.headers.iter().map(place).collect()).collect::<Result<_>>()?;
    let width: usize = places.iter().map(Vec::len).sum();
    let mut numbers: Vec<Vec<f64>> = vec![Vec::new(); columns.len()];
    let (mut row, mut rows) = (::csv::ByteRecord::new(), 0_usize);
    while reader.read_byte_record(&mut row).map_err(|error| told(name, &error))? {
        rows += 1;
        if rows.saturating_mul(width) > most {
            return Err(Error::Records(format!(
                "{name} has more than {most} numbers in {width} columns, which is the most that is read; take fewer columns, or \
                 make the records with Records::from_columns"
            )));
        }
        let line = row.position().map_or(0, ::csv::Position::line);
        for ((column, places), numbers) in columns.iter().zip(&places).zip(&mut numbers) {
            for (&place, header) in places.iter().zip(&column.headers) {
                let number = column.parse(row.get(place).unwrap_or_default()).map_err(|problem| {
                    Error::Records(format!("{name}, line {line}, column '{header}': the cell {problem}"))
                })?;
                numbers.push(number);
            }
        }
    }
    if rows == 0 {
        return Err(Error::Records(format!("{name} has a header and no records")));
    }
    let named = columns
        .iter()
        .zip(numbers)
        .map(|(column, numbers)| Ok((column.name.clone(), column.column(numbers)?)));
    Records::from_columns(named.collect::<Result<Vec<_>>>()?)
}

/// What the reader found wrong, without the text it found it in.
fn told(name: &str, error: &::csv::Error) -> Error {
    let line = |position: &Option<::csv::Position>| position.as_ref().map_or(0, ::csv::Position::line);
    Error::Records(match error.kind() {
        ::csv::ErrorKind::Io(error) => format!("{name} cannot be read: {error}"),
        ::csv::ErrorKind::UnequalLengths { pos, expected_len, len } => {
            format!("{name}, line {}: {len} cells, where the header has {expected_len}", line(pos))
        }
        _ => format!("{name} is not a table of comma-separated values"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, columns: Vec<CsvColumn>) -> Result<Records> {
        read("people.csv", text.as_bytes(), columns, 100)
    }

    fn wrong(text: &str, columns: Vec<CsvColumn>) -> String {
        of(text, columns).unwrap_err().to_string()
    }

    #[test]
    fn quotes_spaces_line_ends_and_byte_order_marks_are_read() {
        let text = "\u{feff}name, y ,x2\r\n\"a,\nb\", 1.5 ,-0\r\n'c',2e-3,\"7\"\r\n";
        let records = of(text, vec![CsvColumn::vector("x", ["x2", "y"]), CsvColumn::number("z").of("y")]);
        let records = records.unwrap();
        assert_eq!(records.column(0).as_slice::<f64>().unwrap(), [0.0, 1.5, 7.0, 2e-3]);
        assert_eq!(records.column(1).as_slice::<f64>().unwrap(), [1.5, 2e-3]);
        assert_eq!(records.schema().columns().map(|(name, _)| name).collect::<Vec<_>>(), ["x", "z"]);
    }

    /// Line numbers count lines of the file, in quotes too; and no message has the cell's text.
    #[test]
    fn errors_name_line_and_column_and_no_value() {
        let secret = "4711secret";
        for (cell, problem) in [
            (secret, "is not a number"),
            ("", "is empty"),
            ("NaN", "is not a finite number"),
            ("-inf", "is not a finite number"),
            ("1e999", "is not a finite number"),
        ] {
            let text = format!("note,y\n\"two\nlines\",1\nb,{cell}\n");
            let told = wrong(&text, vec!["y".into()]);
            assert_eq!(told.matches("line 4, column 'y': the cell").count(), 1, "{told}");
            assert!(told.ends_with(problem) && !told.contains(secret), "{told}");
        }
        let told = wrong(&format!("g\na\n{secret}\n"), vec![CsvColumn::categories("g", ["a", "b"])]);
        assert!(told.contains("line 3") && told.contains("none of the 2 categories"), "{told}");
        assert!(!told.contains(secret), "{told}");
        let told = wrong(&format!("a,b\n1,2\n{secret}\n"), vec!["a".into()]);
        assert!(told.contains("line 3: 1 cells, where the header has 2") && !told.contains(secret), "{told}");
        let bytes = b"y\n\xff4711\n";
        let told = read("people.csv", &bytes[..], vec!["y".into()], 100).unwrap_err().to_string();
        assert!(
            told.contains("line 2, column 'y': the cell is not UTF-8") && !told.contains("4711"),
            "{told}"
        );
    }

    #[test]
    fn what_cannot_be_a_table_is_refused() {
        assert!(wrong("a,b\n1,2\n", vec!["c".into()]).contains("no column 'c'; its header has 'a', 'b'"));
        assert!(wrong("a,a\n1,2\n", vec!["a".into()]).contains("twice"));
        assert!(wrong("a\n", vec!["a".into()]).contains("no records"));
        assert!(wrong("", vec!["a".into()]).contains("no column 'a'"));
        assert!(wrong("a\n1\n", vec![CsvColumn::vector("x", Vec::<&str>::new())]).contains("at least one"));
        assert!(
            wrong("a\n1\n", vec![CsvColumn::categories("a", Vec::<&str>::new())]).contains("at least one")
        );
        assert!(wrong("a\n1\n", vec![CsvColumn::categories("a", ["1", "1"])]).contains("listed twice"));
        assert!(wrong("a\n1\n", vec!["a".into(), "a".into()]).contains("twice"));
        assert!(wrong("a\n1\n", vec![]).contains("at least one column"));
        let rows = |rows: usize| format!("a,b\n{}", "1,2\n".repeat(rows));
        assert_eq!(of(&rows(50), vec!["a".into(), "b".into()]).unwrap().len(), 50);
        let told = wrong(&rows(51), vec!["a".into(), "b".into()]);
        assert!(told.contains("more than 100 numbers in 2 columns"), "{told}");
        let told = Records::from_csv("no-such-folder/people.csv", ["a"]).unwrap_err().to_string();
        assert!(
            told.starts_with("no-such-folder/people.csv cannot be opened")
                || told.contains("cannot be opened")
        );
    }
}
