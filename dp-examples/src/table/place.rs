//! What stands in a cell, for the person who holds the file and asks for it.

use std::path::Path;

use csv::StringRecord;

use super::file::Source;
use super::lines::{BYTE_ORDER_MARK, LineCounter};

/// Bytes in which a header, or a record, is looked for.
const LOOKED_AT: usize = 1 << 20;

/// The text of a column's cell in the record that begins on this line of a CSV file, or of the whole record where no
/// column is named; `None` where there is no such record, and where the file cannot be read again.
///
/// # Privacy
///
/// It is a record's: to be shown to nobody but the person who holds the file.
pub(crate) fn text_at(path: &Path, line: u64, column: Option<&str>) -> Option<String> {
    // A pipe is read once.
    path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let (mut source, mut bytes) = (Source::open(path).ok()?, Vec::new());
    let mut more = |bytes: &mut Vec<u8>| source.read(bytes).ok().filter(|read| *read > 0);
    while bytes.len() < LOOKED_AT && more(&mut bytes).is_some() {}
    let header = record(bytes.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(&bytes))?;
    // The line of the first byte that is still there.
    let mut first = 1;
    let begin = loop {
        let mut lines = LineCounter::new(&bytes, first);
        if let Some(begin) = (0..bytes.len()).find(|&at| lines.line(at) == line) {
            break begin;
        }
        // A line end of two characters is not parted.
        let kept = bytes.len().saturating_sub(1);
        first = LineCounter::new(&bytes, first).line(kept);
        bytes.drain(..kept);
        more(&mut bytes)?;
    };
    bytes.drain(..begin);
    while bytes.len() < LOOKED_AT && more(&mut bytes).is_some() {}
    let found = record(&bytes)?;
    match column {
        Some(column) => found.get(header.iter().position(|name| name == column)?).map(str::to_owned),
        None => Some(found.iter().collect::<Vec<_>>().join(",")),
    }
}

/// The first record of a text.
fn record(bytes: &[u8]) -> Option<StringRecord> {
    let mut reader = csv::ReaderBuilder::new();
    let mut reader = reader.has_headers(false).flexible(true).trim(csv::Trim::All).from_reader(bytes);
    let mut record = StringRecord::new();
    reader.read_record(&mut record).ok().filter(|found| *found).map(|_| record)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;

    #[test]
    fn cells_are_found_by_line_and_column() {
        let folder = TestFolder::new();
        let path = folder.0.join("a.csv");
        for end in ["\n", "\r\n", "\r"] {
            let rows: String = (0..400).map(|i| format!("{i},\"b\n{i}\"{end}{end}")).collect();
            std::fs::write(&path, format!("\u{feff}x, y{end}{rows}1,2,3{end}")).unwrap();
            // Each record has two lines, and a blank one follows.
            assert_eq!(text_at(&path, 2, Some("x")).unwrap(), "0", "{end:?}");
            assert_eq!(text_at(&path, 2 + 3 * 250, Some("y")).unwrap(), "b\n250");
            assert_eq!(text_at(&path, 2 + 3 * 400, None).unwrap(), "1,2,3");
            assert_eq!(text_at(&path, 2, Some("z")), None);
            assert_eq!(text_at(&path, 5000, Some("x")), None);
        }
        assert_eq!(text_at(Path::new("/dev/null"), 1, None), None);
    }
}
