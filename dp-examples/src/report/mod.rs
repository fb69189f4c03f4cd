//! What a fit says, for people: a table for the terminal, a forest plot, a page.

pub mod forest;
pub mod html;
pub mod text;

/// A number with as many digits as a standard deviation makes useful: two of the deviation's.
#[must_use]
pub fn number(value: f64, sd: f64) -> String {
    if !value.is_finite() {
        return "–".to_owned();
    }
    let decimals = if sd > 0.0 && sd.is_finite() { 1.0 - sd.log10().floor() } else { 3.0 };
    if value.abs() >= 1e7 || decimals > 8.0 {
        format!("{value:.2e}")
    } else {
        format!("{value:.*}", decimals.clamp(0.0, 8.0) as usize)
    }
}
