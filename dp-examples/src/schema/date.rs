//! Dates of the Gregorian calendar as numbers of days.

/// Days since 1970-01-01 of a date like `2024-02-29`; `None` for other texts and for days that do not exist. What
/// follows a `T` or a space, a time of day, is left out.
///
/// ```
/// use dp_examples::schema::date::days;
/// assert_eq!(days("1970-01-02"), Some(1));
/// assert_eq!(days("2024-02-29T12:00:00Z"), Some(19_782));
/// assert_eq!((days("2023-02-29"), days("29.02.2024"), days("")), (None, None, None));
/// ```
#[must_use]
pub fn days(text: &str) -> Option<i64> {
    let date = text.split(['T', ' ']).next()?;
    let mut parts = date.split('-');
    let mut part = |digits: usize| {
        let part =
            parts.next().filter(|part| part.len() == digits && part.bytes().all(|b| b.is_ascii_digit()))?;
        part.parse::<i64>().ok()
    };
    let (year, month, day) = (part(4)?, part(2)?, part(2)?);
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if parts.next().is_some() || !(1..=length).contains(&day) {
        return None;
    }
    // Years that begin in March, so that the leap day is the last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// The date of a number of days since 1970-01-01, as `2024-02-29`: what [`days`] reads.
///
/// ```
/// use dp_examples::schema::date::{days, text};
/// assert_eq!((text(1), text(19_782)), ("1970-01-02".to_owned(), "2024-02-29".to_owned()));
/// assert!((-700_000..2_900_000).step_by(37).all(|day| days(&text(day)) == Some(day)));
/// ```
#[must_use]
pub fn text(days: i64) -> String {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    // Every fourth year has a day more, but not every hundredth, and the last of the era has it again.
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    // Years that begin in March, as above.
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year)
}
