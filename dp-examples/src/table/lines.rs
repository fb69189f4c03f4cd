//! Text, its lines, and where records end in it.

use crate::{Error, Result};

/// What a file of UTF-8 may begin with.
pub(super) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The text of a UTF-8 file without its byte order mark.
pub(crate) fn utf8<'b>(name: &str, bytes: &'b [u8]) -> Result<&'b str> {
    let text = utf8_from(name, bytes, 1)?;
    Ok(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text))
}

/// The text of a part of a UTF-8 file that begins on this line.
pub(super) fn utf8_from<'b>(name: &str, bytes: &'b [u8], line: u64) -> Result<&'b str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = LineCounter::new(bytes, line).line(error.valid_up_to());
        Error::NotUtf8 { file: name.to_owned(), line }
    })
}

/// Counts line ends (LF, CRLF or CR) up to positions that never go back.
pub(super) struct LineCounter<'b> {
    bytes: &'b [u8],
    at: usize,
    line: u64,
}

impl<'b> LineCounter<'b> {
    /// Of bytes the first of which is on this line.
    pub(super) fn new(bytes: &'b [u8], line: u64) -> Self {
        Self { bytes, at: 0, line }
    }

    pub(super) fn line(&mut self, offset: usize) -> u64 {
        let end = offset.min(self.bytes.len());
        while self.at < end {
            let byte = self.bytes[self.at];
            let next = self.bytes.get(self.at + 1);
            if byte == b'\n' || (byte == b'\r' && next != Some(&b'\n')) {
                self.line += 1;
            }
            self.at += 1;
        }
        self.line
    }

    /// The line of the record found from byte `position` on and before `end`, past the blank lines that the reader
    /// skips.
    pub(super) fn line_of_record(&mut self, position: u64, end: usize) -> u64 {
        let start = usize::try_from(position).unwrap_or(usize::MAX).min(end);
        let blank = self.bytes[start..end].iter().take_while(|byte| is_line_end(byte)).count();
        self.line(start + blank)
    }
}

fn is_line_end(byte: &u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Finds in bytes that come block by block where records end, and a quote that is never closed.
///
/// The reader takes everything up to the end of a file with such a quote for one cell, so a single stray quote would
/// quietly drop the records after it.
#[derive(Default)]
pub(super) struct RecordEnds {
    state: State,
    /// Where the last quote was opened.
    opened: usize,
    /// How far the bytes have been looked at.
    at: usize,
}

#[derive(Clone, Copy, Default, PartialEq)]
enum State {
    /// Before the first byte of a cell.
    #[default]
    Begin,
    /// In a cell where quotes are ordinary characters.
    Plain,
    /// In a quoted cell.
    Quoted,
    /// After a quote in a quoted cell: it is doubled, or the last.
    Closing,
}

impl RecordEnds {
    /// Goes on to the end of the bytes. Where the last of the line ends begins that lie there and end a record.
    pub(super) fn last_in(&mut self, bytes: &[u8]) -> Option<usize> {
        let (start, mut found) = (self.at, None);
        let new = &bytes[start..];
        self.at = bytes.len();
        if self.state != State::Quoted && !new.contains(&b'"') {
            // Most files have no quotes.
            if let Some(last) = new.last() {
                self.state = if *last == b',' || is_line_end(last) { State::Begin } else { State::Plain };
            }
            return new.iter().rposition(is_line_end).map(|place| start + place);
        }
        for (place, byte) in new.iter().enumerate() {
            self.state = match (self.state, byte) {
                (State::Quoted, b'"') => State::Closing,
                (State::Quoted, _) | (State::Closing, b'"') => State::Quoted,
                (State::Begin, b'"') => {
                    self.opened = start + place;
                    State::Quoted
                }
                (_, b',') => State::Begin,
                (_, b'\r' | b'\n') => {
                    found = Some(start + place);
                    State::Begin
                }
                _ => State::Plain,
            };
        }
        found
    }

    /// So many of the first bytes are gone; no quote is open there.
    pub(super) fn forget(&mut self, bytes: usize) {
        self.at -= bytes;
        self.opened = self.opened.saturating_sub(bytes);
    }

    /// Where the quote stands that is open at the end of what has been seen.
    pub(super) fn unclosed(&self) -> Option<usize> {
        (self.state == State::Quoted).then_some(self.opened)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever blocks the bytes come in.
    #[test]
    fn quotes_and_records_ends_are_found() {
        for (bytes, unclosed, last) in [
            (&b"\"a\"\"b\",\"c\""[..], None, None),
            (b"a,\"b\"\"", Some(2), None),
            (b"a\"b,c", None, None),
            (b"\"a\"b\"\n\"c", Some(6), Some(5)),
            (b"a\n\"\n\"\"\n\",\r\nb", None, Some(10)),
            (b"a\r\"\r\"\"", Some(2), Some(1)),
            (b"a,b\nc\r\nd", None, Some(6)),
            (b"", None, None),
        ] {
            for first in 0..=bytes.len() {
                let mut ends = RecordEnds::default();
                let of_first = ends.last_in(&bytes[..first]);
                let found = ends.last_in(bytes).or(of_first);
                assert_eq!((ends.unclosed(), found), (unclosed, last), "{bytes:?} after {first}");
            }
        }
    }
}
