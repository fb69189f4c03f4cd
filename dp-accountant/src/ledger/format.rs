//! The lines of a stored ledger: how they are written, and what is made of damage.
//!
//! ```text
//! dp-accountant ledger 4 {"epsilon":2.0,"delta":1e-5,"relation":"add_remove"} 00112233445566778899aabbccddeeff #0123456789abcdef
//! 1 {"time":"2024-02-29T12:30:05Z","label":"first training","events":[{"event":{…},"count":1000}]} #…
//! 2 {"time":"2024-03-01T08:00:00Z","events":[{"event":{…},"count":500}]} #…
//! ```
//!
//! The first line has the version of the format, the budget and the ledger's number: 128 random bits that
//! tell it from all others, also from one with the same budget and the same debits
//! ([`LedgerMark`](super::LedgerMark)). Every further line is one debit: its number, the time, the label if
//! it has one, and the events with their counts. Everything is printable ASCII, and a number sign stands
//! before a checksum only: other characters of a label, and number signs, are written as JSON escapes
//! (`\u0023`).
//!
//! **Older files** are read and extended. Version 1 has no number in its first line. Debits of the versions 1
//! and 2 are the bare list of events, `1 [{"event":{…},"count":1000}]`, without time and label. What this
//! build appends to such a file has the form of version 3; an older build then refuses the file and names the
//! line. From version 4 on a ledger has a [head](super::file) beside it, without which it is refused; the lines are
//! those of version 3.
//!
//! The sixteen digits are a CRC-64/XZ (polynomial of ECMA-182, reflected) of all lines up to this one
//! included, checksums left out. So one line that is altered, taken out, repeated or moved breaks its own
//! checksum or the next: with certainty where the damage spans at most eight neighbouring bytes of one line,
//! otherwise but for one chance in 2^64. A checksum is no signature: who can write the file can forge it. Nor
//! can a file tell that whole lines are missing from its end; its head tells.
//!
//! **A line that was being written** when the process was killed is the beginning of a line, without its end.
//! It holds printable characters only and stops before or within the checksum. Such a debit was never
//! acknowledged, so it is dropped. A last line that lacks its end in any other way (say, a complete line
//! whose line break has been altered) may be a debit that was acknowledged, and is an error. A last line that
//! lacks nothing but its line break counts.

use std::fmt::{self, Write};

use super::{DebitNote, Label, Ledger, TITLE, Timestamp};
use crate::{Budget, Composition, Error, Result};
use crc::{CRC_64_XZ, Crc, Digest};
use serde::{Deserialize, Serialize};

/// The format version that this build writes; it reads all up to this one.
pub(super) const VERSION: u32 = 4;
/// The first version whose ledgers have a head.
pub(super) const FIRST_WITH_HEAD: u32 = 4;
/// A blank, a number sign and sixteen hexadecimal digits.
const SEAL: usize = 18;

static CRC: Crc<u64> = Crc::<u64>::new(&CRC_64_XZ);

/// A running CRC-64: the remainder of everything that was fed to it.
#[derive(Clone)]
pub(super) struct Chain(Digest<'static, u64>);

impl Chain {
    /// The chain before the first line.
    pub(super) fn start() -> Self {
        Self(CRC.digest())
    }

    fn fed(&self, parts: [&[u8]; 2]) -> Self {
        let mut digest = self.0.clone();
        parts.into_iter().for_each(|bytes| digest.update(bytes));
        Self(digest)
    }

    fn digits(&self) -> String {
        format!("{:016x}", self.0.clone().finalize())
    }

    /// A line with its seal and line break, and the chain after it.
    pub(super) fn seal(&self, body: &str) -> (String, Self) {
        let next = self.fed([body.as_bytes(), b"\n"]);
        (format!("{body} #{}\n", next.digits()), next)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({})", self.digits())
    }
}

/// The first line, before it is sealed.
pub(super) fn header(ledger: &Ledger) -> Result<String> {
    Ok(format!("{}{:032x}", before_the_number(&ledger.budget)?, ledger.number))
}

/// The first line up to the ledger's number.
fn before_the_number(budget: &Budget) -> Result<String> {
    Ok(format!("{TITLE}{VERSION} {} ", in_words(budget)?))
}

/// Whether a whole file is the beginning of a first line for this budget and nothing more: what a creation
/// leaves that was interrupted.
pub(super) fn is_unfinished_header(bytes: &[u8], budget: &Budget) -> Result<bool> {
    let known = before_the_number(budget)?;
    let Some(rest) = bytes.strip_prefix(known.as_bytes()) else {
        return Ok(known.as_bytes().starts_with(bytes));
    };
    let digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let shape = |(at, byte): (usize, &u8)| match at {
        32 => *byte == b' ',
        33 => *byte == b'#',
        _ => digit(byte),
    };
    Ok(rest.len() < 32 + SEAL && rest.iter().enumerate().all(shape))
}

/// The budget and the number that a first line of this version states.
fn read_header(body: &str, version: u32) -> Option<(Budget, u128)> {
    let said = body.strip_prefix(TITLE)?.split_once(' ')?.1;
    let (budget, number) = match version {
        1 => (said, 0),
        _ => {
            let (budget, digits) = said.rsplit_once(' ')?;
            let plain = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            (budget, u128::from_str_radix(digits, 16).ok().filter(|number| plain && *number != 0)?)
        }
    };
    Some((serde_json::from_str(budget).ok()?, number))
}

/// A debit as it is written.
#[derive(Serialize)]
struct Written<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    time: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a Label>,
    events: &'a Composition,
}

/// A debit as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    time: Option<Timestamp>,
    label: Option<Label>,
    events: Composition,
}

/// The line of a debit, before it is sealed.
pub(super) fn debit(number: u64, events: &Composition, note: &DebitNote) -> Result<String> {
    let written = Written { time: note.time, label: note.label.as_ref(), events };
    Ok(format!("{number} {}", plain(&in_words(&written)?)))
}

/// JSON in printable ASCII without number signs: what else there is stands within strings, where it can be
/// escaped. Its characters alone show whether a line was finished.
fn plain(json: &str) -> String {
    json.chars().fold(String::with_capacity(json.len()), |mut text, character| {
        match character {
            ' '..='~' if character != '#' => text.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
        }
        text
    })
}

/// What a debit's line says after its number, in the form of any version.
fn read_debit(text: &str) -> serde_json::Result<(Composition, DebitNote)> {
    if text.starts_with('[') {
        return Ok((serde_json::from_str(text)?, DebitNote::default()));
    }
    let Read { time, label, events } = serde_json::from_str(text)?;
    Ok((events, DebitNote { time, label }))
}

fn in_words(value: &impl serde::Serialize) -> Result<String> {
    // These types have string keys and finite numbers only, so that this cannot fail; nor need anyone rely on
    // it.
    serde_json::to_string(value)
        .map_err(|error| Error::LedgerFile { path: String::new(), reason: error.to_string() })
}

/// A stored ledger as it was read.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) ledger: Ledger,
    pub(super) chain: Chain,
    /// How many bytes of the file are complete lines; what follows is a line that was never finished.
    pub(super) complete: usize,
    /// Whether the last complete line lacks its line break.
    pub(super) unbroken: bool,
    /// The format version of its first line.
    pub(super) version: u32,
}

/// Reads a stored ledger. `path` is for messages.
pub(super) fn read(bytes: &[u8], path: &str) -> Result<Stored> {
    let corrupt = |line: u64, what: &[u8], reason: &'static str| Error::LedgerLine {
        path: path.into(),
        line,
        reason,
        found: excerpt(what),
    };
    let mut chain = Chain::start();
    let mut ledger: Option<Ledger> = None;
    let mut complete = 0;
    let mut unbroken = false;
    let mut number = 0;
    let mut of_first_line = VERSION;
    while complete < bytes.len() {
        number += 1;
        let rest = &bytes[complete..];
        let end = rest.iter().position(|&byte| byte == b'\n');
        let line = &rest[..end.unwrap_or(rest.len())];
        // Another version may be sealed in another way: say so before anything else.
        if number == 1
            && let Some(found) = version(line).filter(|found| !(1..=VERSION).contains(found))
        {
            return Err(Error::LedgerVersion { path: path.into(), found, supported: VERSION });
        }
        let Some((body, next)) = unseal(&chain, line) else {
            if end.is_none() && number > 1 && is_unfinished(line) {
                break;
            }
            // A file of another kind may hold records: nothing of it is shown.
            return Err(match number {
                1 if !line.starts_with(TITLE.as_bytes()) => {
                    corrupt(1, b"", "this is not the first line of a ledger")
                }
                _ => corrupt(number, line, "the line does not match its checksum"),
            });
        };
        let not_read = || corrupt(number, line, "the line matches its checksum and yet makes no sense");
        match &mut ledger {
            None => {
                of_first_line = version(line).ok_or_else(not_read)?;
                let (budget, number) = read_header(body, of_first_line).ok_or_else(not_read)?;
                ledger = Some(Ledger::numbered(budget, number)?);
            }
            Some(ledger) => {
                let (count, events) = body.split_once(' ').ok_or_else(not_read)?;
                if count != (number - 1).to_string() {
                    return Err(corrupt(number, line, "debits are not numbered one after the other"));
                }
                let (events, note) = read_debit(events)
                    .map_err(|_| corrupt(number, line, "this build cannot read the debit of this line"))?;
                ledger.restore(events, note);
            }
        }
        chain = next;
        unbroken = end.is_none();
        complete += line.len() + usize::from(!unbroken);
    }
    let ledger = ledger.ok_or_else(|| corrupt(1, b"", "this is not the first line of a ledger"))?;
    Ok(Stored { ledger, chain, complete, unbroken, version: of_first_line })
}

/// The version that a first line names.
fn version(line: &[u8]) -> Option<u32> {
    let rest = line.strip_prefix(TITLE.as_bytes())?;
    let digits = rest.split(|&byte| byte == b' ').next()?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// What a line says if its seal is right, and the chain after it.
fn unseal<'l>(chain: &Chain, line: &'l [u8]) -> Option<(&'l str, Chain)> {
    let (body, _) = line.split_at_checked(line.len().checked_sub(SEAL)?)?;
    let body = std::str::from_utf8(body).ok()?;
    let (sealed, next) = chain.seal(body);
    (sealed.strip_suffix('\n')?.as_bytes() == line).then_some((body, next))
}

/// Whether something without a line break can be the beginning of a line of which the rest was never written.
fn is_unfinished(line: &[u8]) -> bool {
    let printable = line.iter().all(|byte| (b' '..=b'~').contains(byte));
    // Only the seal has a number sign. With all of its digits the line would be whole.
    let digits = line.iter().position(|&byte| byte == b'#').map_or(0, |at| line.len() - at - 1);
    printable && digits < SEAL - 2
}

/// The beginning of a damaged line, fit to be shown.
fn excerpt(line: &[u8]) -> String {
    const SHOWN: usize = 60;
    let shown: String = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]).escape_debug().collect();
    if line.len() > SHOWN { shown + "…" } else { shown }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Mechanism, Relation, Sampling};
    use proptest::prelude::*;

    const BUDGET: Budget = Budget { epsilon: 5.0, delta: 1e-5, relation: Relation::AddRemove };

    fn release() -> Composition {
        let mechanism = Mechanism::Gaussian { noise_multiplier: 20.0 };
        Composition::single(Event::new(mechanism, Sampling::None).expect("valid"), 2)
    }

    /// A whole file with these lines, each sealed.
    fn file(bodies: &[String]) -> String {
        let ledger = Ledger::numbered(BUDGET, 7).expect("valid");
        let (mut text, mut chain) = Chain::start().seal(&header(&ledger).expect("written"));
        for body in bodies {
            let (line, next) = chain.seal(body);
            (text, chain) = (text + &line, next);
        }
        text
    }

    fn label() -> impl Strategy<Value = Label> {
        // Number signs, quotation marks and backslashes are what could be mistaken for something else.
        let character = prop_oneof![
            any::<char>(),
            proptest::sample::select(vec!['#', '"', '\\', ' ', '{', '~', 'u', 'é', '\u{10FFFF}']),
        ];
        let allowed = character.prop_filter("refused", |character| Label::new(*character).is_ok());
        proptest::collection::vec(allowed, 1..=Label::MOST_CHARACTERS)
            .prop_map(|text| Label::new(String::from_iter(text)).expect("each character is allowed"))
    }

    fn time() -> impl Strategy<Value = Timestamp> {
        (0u64..253_402_300_800).prop_map(|seconds| Timestamp::from_seconds(seconds).expect("in range"))
    }

    proptest! {
        #[test]
        fn notes_are_read_back_and_every_cut_is_an_unfinished_line(
            notes in proptest::collection::vec((proptest::option::of(time()), proptest::option::of(label())), 1..4),
        ) {
            let notes: Vec<DebitNote> =
                notes.into_iter().map(|(time, label)| DebitNote { time, label }).collect();
            let body = |(k, note)| debit(k as u64 + 1, &release(), note).expect("written");
            let bodies: Vec<String> = notes.iter().enumerate().map(body).collect();
            let text = file(&bodies);
            prop_assert!(text.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)));
            prop_assert_eq!(text.matches('#').count(), notes.len() + 1);
            let stored = read(text.as_bytes(), "here").expect("readable");
            prop_assert_eq!(stored.ledger.notes(), &notes[..]);
            prop_assert!(stored.ledger.debits().iter().all(|debit| *debit == release()));
            // Whatever a label holds, a process may be killed in the middle of its line.
            let last = text.trim_end().rfind('\n').expect("a line before") + 1;
            for length in last..text.len() - 1 {
                let cut = read(&text.as_bytes()[..length], "here").expect("an unfinished line");
                prop_assert_eq!(cut.complete, last);
                prop_assert_eq!(cut.ledger.notes(), &notes[..notes.len() - 1]);
            }
        }
    }

    #[test]
    fn a_debit_that_is_sealed_and_makes_no_sense_is_refused() {
        let good = debit(1, &release(), &DebitNote::default()).expect("written");
        assert!(read(file(std::slice::from_ref(&good)).as_bytes(), "here").is_ok());
        let events = good.strip_prefix("1 {").expect("an object");
        for bad in [
            format!("1 {{\"time\":\"yesterday\",{events}"),
            format!("1 {{\"time\":1709209805,{events}"),
            format!("1 {{\"time\":\"2024-02-30T00:00:00Z\",{events}"),
            format!("1 {{\"label\":\"\",{events}"),
            format!("1 {{\"label\":\"two\\nlines\",{events}"),
            format!("1 {{\"label\":\"{}\",{events}", "x".repeat(201)),
            format!("1 {{\"label\":\"a\",\"label\":\"b\",{events}"),
            format!("1 {{\"purpose\":\"a\",{events}"),
            "1 {\"label\":\"a\"}".to_owned(),
            "1 {}".to_owned(),
            "1 null".to_owned(),
        ] {
            let error = read(file(std::slice::from_ref(&bad)).as_bytes(), "here").expect_err(&bad);
            assert!(matches!(error, Error::LedgerLine { line: 2, .. }), "{bad}: {error}");
            assert!(error.to_string().contains("cannot read the debit"), "{error}");
        }
    }

    /// What another program has sealed can be right in its checksums and lack a debit.
    #[test]
    fn a_debit_that_is_sealed_under_another_number_is_refused() {
        let numbered = |number: u64| debit(number, &release(), &DebitNote::default()).expect("written");
        assert!(read(file(&[numbered(1), numbered(2)]).as_bytes(), "here").is_ok());
        for (bodies, wrong) in [
            ([numbered(0), numbered(1)], 2),
            ([numbered(2), numbered(1)], 2),
            ([format!("0{}", numbered(1)), numbered(2)], 2),
            ([numbered(1), numbered(1)], 3),
            ([numbered(1), numbered(3)], 3),
        ] {
            let error = read(file(&bodies).as_bytes(), "here").expect_err("refused");
            assert!(matches!(error, Error::LedgerLine { line, .. } if line == wrong), "{bodies:?}: {error}");
            assert!(error.to_string().contains("not numbered one after the other"), "{error}");
        }
    }

    #[test]
    fn the_checksum_is_crc_64_xz() {
        // The check value of the catalogue of parametrised CRC algorithms for CRC-64/XZ.
        assert_eq!(Chain::start().fed([b"1234", b"56789"]).digits(), "995dc9bbdf1939fa");
    }

    #[test]
    fn every_beginning_of_a_line_is_unfinished_and_no_whole_line_is() {
        let (line, _) = Chain::start().seal("1 [{\"count\":3}]");
        let line = line.trim_end();
        for length in 0..line.len() {
            assert!(is_unfinished(&line.as_bytes()[..length]), "{length}");
        }
        assert!(!is_unfinished(line.as_bytes()));
        assert!(!is_unfinished(format!("{line}\u{b}").as_bytes()));
        assert!(!is_unfinished(&[0, 0, 0]));
    }
}
