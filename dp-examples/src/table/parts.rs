//! A CSV file, read in parts of whole records.

use std::path::Path;
use std::sync::Arc;

use csv::StringRecord;

use super::file::Source;
use super::lines::{BYTE_ORDER_MARK, LineCounter, RecordEnds, utf8_from};
use super::{Columns, PARQUET, Rows, Table, column_names};
use crate::{Error, Result};

/// A CSV file that is being read: no more of its bytes are in memory than a block and the records that end in it.
pub(super) struct Parts<'s> {
    source: Source<'s>,
    /// What has been read and not yet turned into cells.
    bytes: Vec<u8>,
    /// The line of the first byte.
    line: u64,
    ends: RecordEnds,
    columns: Arc<Columns>,
    header_line: u64,
    /// How many records there were, and bytes of them and of the header.
    seen: (usize, u64),
}

impl<'s> Parts<'s> {
    /// What is read of a source from which these bytes have been taken already.
    pub(super) fn new(source: Source<'s>, mut bytes: Vec<u8>) -> Self {
        if bytes.starts_with(BYTE_ORDER_MARK.as_bytes()) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        let ends = RecordEnds::default();
        Self { source, bytes, line: 1, ends, columns: Arc::default(), header_line: 1, seen: (0, 0) }
    }

    /// All records in one table.
    ///
    /// # Errors
    ///
    /// As [`Table::parse`].
    pub(super) fn whole(mut self) -> Result<Table> {
        let (mut rows, mut lines) = (Rows::default(), Vec::new());
        while self.read(&mut rows, &mut lines)? {}
        Ok(Table { name: self.source.name().to_owned(), columns: self.columns, rows, lines })
    }

    /// Some more records; `None` after the last.
    ///
    /// # Errors
    ///
    /// As [`Table::parse`].
    fn next(&mut self) -> Result<Option<Table>> {
        let (mut rows, mut lines) = (Rows::default(), Vec::new());
        while lines.is_empty() {
            if !self.read(&mut rows, &mut lines)? {
                return Ok(None);
            }
        }
        let (name, columns) = (self.source.name().to_owned(), Arc::clone(&self.columns));
        Ok(Some(Table { name, columns, rows, lines }))
    }

    /// About how many records there are in a file of so many bytes, judged by those that have been read, or
    /// some more; as many as these where it is compressed.
    fn expected(&self, bytes: u64) -> usize {
        let (records, of_these) = self.seen;
        match self.source.is_packed() {
            true => records,
            false => (records as f64 * 1.02 * bytes as f64 / of_these.max(1) as f64) as usize,
        }
    }

    /// Adds the records of the next block. Whether there was one.
    fn read(&mut self, rows: &mut Rows, lines: &mut Vec<u64>) -> Result<bool> {
        let Some(end) = self.fill()? else {
            let file = self.source.name().to_owned();
            return match (self.columns.names.is_empty(), self.seen.0 > 0) {
                (true, _) => Err(Error::EmptyFile { file }),
                (false, false) => Err(Error::NoRecords { file, line: self.header_line }),
                (false, true) => Ok(false),
            };
        };
        match self.parse(end, rows, lines) {
            Ok(line) => {
                self.forget(end, line);
                Ok(true)
            }
            Err(error) => Err(self.unless_damaged(error, end)),
        }
    }

    /// Reads on until a record ends, or else the file. Where the text ends that can be turned into cells;
    /// `None` where there is none any more.
    ///
    /// That is before a line end, with which the next text begins: the reader takes a byte order mark at the
    /// beginning of what it is given for none of the text.
    fn fill(&mut self) -> Result<Option<usize>> {
        loop {
            let end = self.ends.last_in(&self.bytes).filter(|end| *end > 0);
            if let Some(end) = end {
                let text = utf8_from(self.source.name(), &self.bytes[..end], self.line);
                let checked = text.map(|_| Some(end));
                return checked.map_err(|error| damage(&mut self.source).unwrap_or(error));
            }
            if self.bytes.len() > LONGEST_RECORD {
                return Err(self.too_long());
            }
            if self.source.read(&mut self.bytes)? == 0 {
                break;
            }
        }
        let (file, bytes) = (self.source.name(), &self.bytes);
        utf8_from(file, bytes, self.line)?;
        if let Some(offset) = self.ends.unclosed() {
            let line = LineCounter::new(bytes, self.line).line(offset);
            return Err(Error::UnclosedQuote { file: file.to_owned(), line });
        }
        Ok(Some(bytes.len()).filter(|end| *end > 0))
    }

    /// What is said of a record that does not end in what has been read of it.
    fn too_long(&self) -> Error {
        let (file, mut lines) = (self.source.name().to_owned(), LineCounter::new(&self.bytes, self.line));
        let line = lines.line_of_record(0, self.bytes.len());
        let quote = match self.ends.unclosed() {
            Some(offset) => format!("; the quote on line {} is not closed in it", lines.line(offset)),
            None => String::new(),
        };
        let reason = format!("a record is longer than {} MiB{quote}", LONGEST_RECORD >> 20);
        Error::NotCsv { file, line, reason }
    }

    /// Turns the text up to there into cells. The line that it ends on.
    fn parse(&mut self, end: usize, rows: &mut Rows, lines: &mut Vec<u64>) -> Result<u64> {
        let file = || self.source.name().to_owned();
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(&self.bytes[..end]);
        let mut lines_seen = LineCounter::new(&self.bytes, self.line);
        let mut record = StringRecord::new();
        loop {
            // The reader's own line number counts blank lines differently, so lines come from the byte
            // position.
            let line = lines_seen.line_of_record(reader.position().byte(), end);
            match reader.read_record(&mut record) {
                Ok(false) => return Ok(lines_seen.line(end)),
                Ok(true) => {}
                Err(error) => {
                    return Err(Error::NotCsv { file: file(), line, reason: error.to_string() });
                }
            }
            let expected = self.columns.names.len();
            if expected == 0 {
                self.columns = Arc::new(column_names(self.source.name(), line, &record)?.into());
                self.header_line = line;
            } else if record.len() == expected {
                if !rows.push(record.iter()) {
                    let reason = "a record is longer than 4 GiB".to_owned();
                    return Err(Error::NotCsv { file: file(), line, reason });
                }
                lines.push(line);
                self.seen.0 += 1;
            } else {
                let found = record.len();
                return Err(Error::RaggedRow { file: file(), line, found, expected });
            }
        }
    }

    /// What is said of a file in which this is wrong with a record: what is wrong with its bytes comes first,
    /// wherever it stands.
    fn unless_damaged(&mut self, error: Error, end: usize) -> Error {
        let mut end = Some(end);
        while let Some(done) = end {
            self.forget(done, LineCounter::new(&self.bytes, self.line).line(done));
            end = match self.fill() {
                Ok(end) => end,
                Err(damage) => return damage,
            };
        }
        error
    }

    /// Goes on from there, which is on this line.
    fn forget(&mut self, end: usize, line: u64) {
        self.bytes.drain(..end);
        self.seen.1 += end as u64;
        self.ends.forget(end);
        self.line = line;
    }
}

/// A header of 100,000 names or a long text fits in a record of 16 MiB; a file without line ends, or whose quote is
/// never closed, does not, and is refused before it fills the memory.
const LONGEST_RECORD: usize = 16 << 20;

/// Why the rest of a source cannot be read, if it cannot.
fn damage(source: &mut Source<'_>) -> Option<Error> {
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match source.read(&mut bytes) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) => return Some(error),
        }
    }
}

impl Table {
    /// Hands a CSV file to `take` in parts of whole records, so that it is never in memory as a whole, with a
    /// guess how many records all parts have. `None` as soon as `take` says so, where anything is wrong with
    /// the file, and where it is no CSV file or cannot be read again.
    ///
    /// After `None` the whole [`Table`] is to be read, which has the error: a message may depend on all records.
    pub(crate) fn in_parts(path: &Path, mut take: impl FnMut(Self, usize) -> Option<()>) -> Option<()> {
        // A pipe is read once.
        let about = path.metadata().ok().filter(|about| about.is_file())?;
        let (mut source, mut bytes) = (Source::open(path).ok()?, Vec::new());
        source.read(&mut bytes).ok()?;
        if bytes.starts_with(PARQUET) {
            return None;
        }
        let mut parts = Parts::new(source, bytes);
        while let Some(part) = parts.next().ok()? {
            take(part, parts.expected(about.len()))?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::output::tests::TestFolder;

    /// Columns, and of each record its line and its cells; or what is said.
    type Told = Result<(Vec<String>, Vec<(u64, Vec<String>)>), String>;

    fn told(table: Result<Table>) -> Told {
        let table = table.map_err(|error| error.to_string())?;
        let columns = table.columns().len();
        let cells = |row| (0..columns).map(move |column| (row, column));
        let text = |(row, column)| table.rows.cell(row, column, columns).to_owned();
        let records = (0..table.len()).map(|row| (table.lines[row], cells(row).map(text).collect()));
        Ok((table.columns().to_vec(), records.collect()))
    }

    /// The same by reading all of the text at once.
    fn at_once(bytes: &[u8]) -> Told {
        let said = |error: Error| error.to_string();
        let text = super::super::utf8("a.csv", bytes).map_err(said)?;
        let mut lines = LineCounter::new(text.as_bytes(), 1);
        let mut ends = RecordEnds::default();
        ends.last_in(text.as_bytes());
        if let Some(offset) = ends.unclosed() {
            return Err(said(Error::UnclosedQuote { file: "a.csv".to_owned(), line: lines.line(offset) }));
        }
        let mut reader = csv::ReaderBuilder::new();
        let reader = reader.has_headers(false).flexible(true).trim(csv::Trim::All);
        let mut reader = reader.from_reader(text.as_bytes());
        let (mut columns, mut header_line, mut records) = (Vec::new(), 1, Vec::new());
        let mut record = StringRecord::new();
        loop {
            let line = lines.line_of_record(reader.position().byte(), text.len());
            if !reader.read_record(&mut record).unwrap() {
                break;
            }
            if columns.is_empty() {
                (columns, header_line) = (column_names("a.csv", line, &record).map_err(said)?, line);
                continue;
            }
            let (found, expected) = (record.len(), columns.len());
            if found != expected {
                return Err(said(Error::RaggedRow { file: "a.csv".to_owned(), line, found, expected }));
            }
            records.push((line, record.iter().map(str::to_owned).collect()));
        }
        match (columns.is_empty(), records.is_empty()) {
            (true, _) => Err(said(Error::EmptyFile { file: "a.csv".to_owned() })),
            (_, true) => Err(said(Error::NoRecords { file: "a.csv".to_owned(), line: header_line })),
            _ => Ok((columns, records)),
        }
    }

    /// Files that are mostly tables of two columns, of up to thirty blocks.
    fn files() -> impl Strategy<Value = Vec<u8>> {
        let cell = prop_oneof![
            6 => "[a-z0-9 .]{0,4}",
            2 => "\"([a-z,\r\n]|\"\"){0,5}\"",
            1 => "\u{feff}[a-z]{0,2}",
            1 => "[a-z\"é€]{0,3}",
        ];
        let end = prop_oneof![8 => Just("\n"), 4 => Just("\r\n"), 2 => Just("\r"), 1 => Just("\n\r\n\n")];
        let record = (cell.clone(), cell, end).prop_map(|(a, b, end)| format!("{a},{b}{end}"));
        let oddity = prop_oneof![
            40 => Just(vec![]),
            1 => Just(vec![b'\xff']),
            1 => Just(vec![b'"']),
            1 => Just(b",".to_vec()),
            1 => Just(b"\xe2\x82".to_vec()),
        ];
        let rest = prop::collection::vec((record, oddity), 0..200);
        (prop::sample::select(vec!["", "\u{feff}", "\u{feff}\u{feff}", "\r\n"]), rest).prop_map(
            |(begin, rest)| {
                let mut bytes = [begin, "x,y\n"].concat().into_bytes();
                for (record, oddity) in rest {
                    bytes.extend_from_slice(record.as_bytes());
                    // Few files have one, and then some place of them.
                    bytes.extend_from_slice(if record.len() % 7 == 3 { &oddity } else { &[] });
                }
                bytes
            },
        )
    }

    proptest! {
        #[test]
        fn blocks_are_the_whole_text(bytes in files()) {
            prop_assert_eq!(told(Table::parse("a.csv", &bytes)), at_once(&bytes));
        }
    }

    #[test]
    fn parts_are_the_table() {
        let folder = TestFolder::new();
        let text: String = (0..300).map(|i| format!("{i},\"{}\n\"\r\n", "é".repeat(i % 50))).collect();
        let path = folder.0.join("a.csv");
        std::fs::write(&path, "x,y\n".to_owned() + &text).unwrap();
        let (mut records, mut parts) = (Vec::new(), 0);
        let read = Table::in_parts(&path, |part, expected| {
            // A record has 8 to 60 bytes.
            assert!((100..3000).contains(&expected), "{expected}");
            let (columns, more) = told(Ok(part)).unwrap();
            assert_eq!(columns, ["x", "y"]);
            records.extend(more);
            parts += 1;
            Some(())
        });
        assert_eq!((read, parts > 50), (Some(()), true));
        let table = Table::read(&path);
        assert_eq!(told(table).unwrap().1, records);
        assert_eq!(Table::in_parts(&path, |_, _| None), None);
        std::fs::write(&path, "x,y\n".to_owned() + &text + "1\n").unwrap();
        assert_eq!(Table::in_parts(&path, |_, _| Some(())), None);
        assert_eq!(Table::in_parts(&folder.0, |_, _| Some(())), None);
        assert_eq!(Table::in_parts(Path::new("/dev/null"), |_, _| Some(())), None);
    }

    /// A file without a line end is refused as soon as a record is too long, however large the file is.
    #[test]
    fn records_are_not_endless() {
        let told = |begin: &str, byte: &str, bytes: usize| {
            let text = begin.to_owned() + &byte.repeat(bytes / byte.len()) + "\n";
            Table::parse("a.csv", text.as_bytes()).err().map(|error| error.to_string())
        };
        let long = LONGEST_RECORD + (8 << 20);
        let plain = told("x\n\n1\n", "a", long).unwrap();
        assert!(plain.starts_with("a.csv:4: ") && plain.ends_with("longer than 16 MiB"), "{plain}");
        let quoted = told("x,y\n1,\"", "a\n", long).unwrap();
        assert!(quoted.contains(":2: ") && quoted.contains("the quote on line 2 is not closed"), "{quoted}");
        assert_eq!(told("x\n", "1", LONGEST_RECORD - 1), None);
        // The header is a record, too.
        assert!(told("", "a", long).unwrap().contains("longer than 16 MiB"));
    }

    /// What is wrong with the bytes is said first, wherever it stands.
    #[test]
    fn damage_comes_first() {
        use std::io::Write;
        let told = |bytes: &[u8]| Table::parse("a.csv", bytes).err().unwrap().to_string();
        let rows = "1,2\n".repeat(100);
        let ragged = format!("x,y\n1\n{rows}");
        assert!(told(ragged.as_bytes()).starts_with("a.csv:2: 1 cells"));
        assert!(told(format!("{ragged}\"3,4\n{rows}").as_bytes()).starts_with("a.csv:103: the quote"));
        assert!(
            told(&[ragged.as_bytes(), b"\"3,4\n\xff\n"].concat()).starts_with("a.csv:104: here is a byte")
        );

        let folder = TestFolder::new();
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
        packed.write_all(ragged.as_bytes()).unwrap();
        packed.write_all(b"\xff").unwrap();
        let packed = packed.finish().unwrap();
        let path = folder.0.join("a.csv.gz");
        for (bytes, said) in [(&packed[..], "not UTF-8"), (&packed[..packed.len() - 9], "cannot be unpacked")]
        {
            std::fs::write(&path, bytes).unwrap();
            let told = Table::read(&path).err().unwrap().to_string();
            assert!(told.contains(said), "{told}");
        }
    }
}
