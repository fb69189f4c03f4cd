//! When a debit was made, and for what.

use std::fmt;
use std::str::FromStr;
#[cfg(feature = "ledger-file")]
use std::time::{SystemTime, UNIX_EPOCH};

#[cfg(feature = "serde")]
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// What a ledger notes about a debit besides its events. Neither part has any influence on a cost, and
/// neither is part of a [`LedgerMark`](super::LedgerMark).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(Serialize))]
#[non_exhaustive]
pub struct DebitNote {
    /// When the debit was made, by the clock of the machine. A `FileLedger` (feature `ledger-file`) notes it;
    /// a ledger in memory reads no clock, and files of the formats 1 and 2 have no times.
    pub time: Option<Timestamp>,
    /// The purpose, where one was given.
    pub label: Option<Label>,
}

/// The purpose of a debit in a few words: 1 to [`MOST_CHARACTERS`](Self::MOST_CHARACTERS) characters on one
/// line.
///
/// Control characters, line and paragraph separators and the characters that change the direction of text are
/// refused, so that a label cannot break a line, drive a terminal or make a listing look like another one.
///
/// # Privacy
/// A label is stored and shown in plain text. Do not put into it what depends on records.
///
/// ```
/// use dp_accountant::Label;
///
/// let label: Label = "first training run, July".parse()?;
/// assert_eq!(label.to_string(), "first training run, July");
/// assert!(Label::new("").is_err() && Label::new("two\nlines").is_err());
/// # Ok::<(), dp_accountant::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct Label(String);

impl Label {
    /// The most characters of a label (Unicode scalar values, not bytes).
    pub const MOST_CHARACTERS: usize = 200;

    /// A label with this text.
    ///
    /// # Errors
    /// [`Error::LabelLength`] if it is empty or too long; [`Error::LabelCharacter`] if it has a character
    /// that labels must not have.
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        let found = text.chars().count();
        if !(1..=Self::MOST_CHARACTERS).contains(&found) {
            return Err(Error::LabelLength { found, most: Self::MOST_CHARACTERS });
        }
        match text.chars().enumerate().find(|(_, character)| is_refused(*character)) {
            Some((at, character)) => {
                Err(Error::LabelCharacter { code: u32::from(character), position: at + 1 })
            }
            None => Ok(Self(text)),
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Control characters, line and paragraph separators, and what changes the direction of text.
fn is_refused(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{061C}'
                | '\u{200E}'..='\u{200F}'
                | '\u{2028}'..='\u{202E}'
                | '\u{2066}'..='\u{2069}'
        )
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for Label {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(text)
    }
}

impl TryFrom<String> for Label {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::new(text)
    }
}

impl From<Label> for String {
    fn from(label: Label) -> Self {
        label.0
    }
}

/// A moment to the second, from 1970 to the end of the year 9999, in Coordinated Universal Time. Its text is
/// that of RFC 3339.
///
/// ```
/// use dp_accountant::Timestamp;
///
/// let time: Timestamp = "2024-02-29T12:30:05Z".parse()?;
/// assert_eq!(time.seconds(), 1_709_209_805);
/// assert_eq!(time.to_string(), "2024-02-29T12:30:05Z");
/// # Ok::<(), dp_accountant::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub struct Timestamp(u64);

const SECONDS_OF_A_DAY: u64 = 86_400;
/// The last second of the year 9999, the last one that RFC 3339 can name.
const LAST: u64 = 253_402_300_799;

impl Timestamp {
    /// This many seconds after the beginning of 1970, leap seconds not counted (the Unix epoch); `None`
    /// beyond the year 9999.
    #[must_use]
    pub fn from_seconds(seconds: u64) -> Option<Self> {
        (seconds <= LAST).then_some(Self(seconds))
    }

    /// Seconds since the beginning of 1970, leap seconds not counted.
    #[must_use]
    pub fn seconds(self) -> u64 {
        self.0
    }

    /// What the clock of the machine says, unless it is set to a time that cannot be written down.
    #[cfg(feature = "ledger-file")]
    pub(super) fn now() -> Option<Self> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        Self::from_seconds(since.as_secs())
    }

    /// The moment that this text names, if it is one.
    fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')];
        if bytes.len() != 20 || marks.iter().any(|(at, mark)| bytes[*at] != *mark) {
            return None;
        }
        let number = |from: usize, to: usize| {
            bytes[from..to].iter().try_fold(0u64, |value, digit| {
                digit.is_ascii_digit().then(|| 10 * value + u64::from(digit - b'0'))
            })
        };
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        if year < 1970 || hour > 23 || minute > 59 || second > 59 || month == 0 || day == 0 {
            return None;
        }
        let days = days_before(year, month, day);
        let time = Self(days * SECONDS_OF_A_DAY + 3_600 * hour + 60 * minute + second);
        // A day or a month that the calendar does not have would be another date's.
        (date(days) == (year, month, day)).then_some(time)
    }
}

/// Days from the beginning of 1970 to a date of the Gregorian calendar, for years from 1970 on.
///
/// The year is taken to begin in March, so that a leap day is its last one.
///
/// # References
/// Hinnant 2013, "chrono-compatible low-level date algorithms", `days_from_civil`.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    // There are 719,468 days from March of the year 0 to the beginning of 1970.
    era * 146_097 + day_of_era - 719_468
}

/// The year, month and day of the Gregorian calendar this many days after the beginning of 1970
/// (`civil_from_days` of the same source).
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = date(self.0 / SECONDS_OF_A_DAY);
        let second = self.0 % SECONDS_OF_A_DAY;
        let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
    }
}

impl FromStr for Timestamp {
    type Err = Error;

    /// # Errors
    /// [`Error::Timestamp`] unless the text is of the form `2024-02-29T12:30:05Z`, from 1970 on.
    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text).ok_or_else(|| Error::Timestamp { found: text.chars().take(40).collect() })
    }
}

impl TryFrom<String> for Timestamp {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_moments_have_their_names() {
        // By GNU date: `date -u -d @SECONDS`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_000_000_000, "2001-09-09T01:46:40Z"),
            (1_709_209_805, "2024-02-29T12:30:05Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (LAST, "9999-12-31T23:59:59Z"),
        ] {
            let time = Timestamp::from_seconds(seconds).expect("in range");
            assert_eq!(time.to_string(), text);
            assert_eq!(text.parse::<Timestamp>().expect("a moment"), time);
        }
        assert_eq!(Timestamp::from_seconds(LAST + 1), None);
    }

    #[test]
    fn what_names_no_moment_is_refused() {
        for text in [
            "",
            "2024-02-30T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2100-02-29T00:00:00Z",
            "2024-04-31T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-00-01T00:00:00Z",
            "2024-01-00T00:00:00Z",
            "2024-01-32T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2024-01-01T00:60:00Z",
            "2024-01-01T00:00:60Z",
            "2024-01-01T00:00:00",
            "2024-01-01t00:00:00z",
            "2024-01-01T00:00:00+00:00",
            "1969-12-31T23:59:59Z",
            "0000-01-01T00:00:00Z",
            "+024-01-01T00:00:00Z",
            "２024-01-01T00:00:0Z",
        ] {
            let error = text.parse::<Timestamp>().unwrap_err();
            assert!(matches!(&error, Error::Timestamp { found } if found == text), "{text}: {error}");
        }
    }

    #[test]
    fn labels_have_bounds() {
        for (text, characters) in [("", 0), (&"é".repeat(201), 201)] {
            let error = Label::new(text).unwrap_err();
            assert_eq!(error, Error::LabelLength { found: characters, most: 200 });
            assert!(error.to_string().contains(&format!("1 to 200 characters, got {characters}")), "{error}");
        }
        assert_eq!(Label::new("é".repeat(200)).expect("long enough").as_str().len(), 400);
        for (text, position) in [
            ("two\nlines", 4),
            ("\u{1b}[2J", 1),
            ("x\0", 2),
            ("é\u{85}", 2),
            ("\u{7f}", 1),
            ("a\u{2028}", 2),
            ("\u{202e}gnirts", 1),
            ("\u{2066}x", 1),
        ] {
            let error = Label::new(text).unwrap_err();
            assert!(matches!(error, Error::LabelCharacter { position: at, .. } if at == position), "{error}");
            // The message itself holds none of them.
            assert!(!error.to_string().chars().any(is_refused), "{error}");
        }
    }

    proptest! {
        #[test]
        fn every_moment_is_read_back_and_is_one_second_after_another(seconds in 0..LAST) {
            let [time, next] = [seconds, seconds + 1].map(|seconds| Timestamp::from_seconds(seconds).unwrap());
            prop_assert_eq!(time.to_string().parse::<Timestamp>(), Ok(time));
            // Texts of one length sort as the moments do.
            prop_assert!(time.to_string() < next.to_string());
        }
    }
}
