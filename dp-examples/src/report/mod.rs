//! What a fit says, for people: a table for the terminal, pictures, a page.

mod axes;
pub mod calibration;
pub mod effects;
pub mod forest;
pub mod html;
pub mod plot;
pub mod text;

/// A number with as many digits as a standard deviation makes useful: two of the deviation's.
#[must_use]
pub fn number(value: f64, sd: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let decimals = if sd > 0.0 && sd.is_finite() { 1.0 - sd.log10().floor() } else { 3.0 };
    if value.abs() >= 1e7 || decimals > 8.0 {
        // The place of the deviation's second digit, from that of the value's first on.
        let digits = if value == 0.0 { 2.0 } else { (value.abs().log10().floor() + decimals).max(2.0) };
        format!("{value:.*e}", digits.min(16.0) as usize)
    } else {
        format!("{value:.*}", decimals.clamp(0.0, 8.0) as usize)
    }
}

/// Text as it stands in a page.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => shown.push_str("&amp;"),
            '<' => shown.push_str("&lt;"),
            '>' => shown.push_str("&gt;"),
            '"' => shown.push_str("&quot;"),
            c if c.is_control() && c != '\n' => shown.push('\u{fffd}'),
            c => shown.push(c),
        }
    }
    shown
}
