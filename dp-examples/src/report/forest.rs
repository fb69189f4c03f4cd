//! Forest plots: a point and an interval for each coefficient, on one scale.

use std::fmt::Write;

use super::axes::{label, ticks};
use super::escaped;
use crate::regression::posterior::Summary;

/// A coefficient of a plot.
pub struct Row {
    /// What it is.
    pub label: String,
    /// Its values, comparable with those of the other rows.
    pub summary: Summary,
}

const WIDTH: f64 = 760.0;
const LABELS: f64 = 250.0;
const ROW: f64 = 24.0;
const TOP: f64 = 58.0;
const BOTTOM: f64 = 46.0;

/// An SVG picture with a line for each row: the 90 % interval, thicker one standard deviation around the mean, and
/// the mean as a dot, around a line at 0. Rows of which the interval does not hold 0 are darker.
///
/// `scale` says what the numbers are. The picture takes the width that it is given.
///
/// # Errors
///
/// [`crate::Error::Length`] without a row.
pub fn svg(title: &str, scale: &str, rows: &[Row]) -> crate::Result<String> {
    if rows.is_empty() {
        return Err(crate::Error::Length { what: "coefficients to draw", found: 0, expected: 1 });
    }
    let ends = rows.iter().flat_map(|row| [row.summary.low, row.summary.high]).filter(|x| x.is_finite());
    let (low, high) = ends.fold((0.0_f64, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    let room = 0.04 * (high - low).max(1e-12);
    let (low, high) = (low - room, high + room);
    let right = WIDTH - 20.0;
    let across = |x: f64| LABELS + (x.clamp(low, high) - low) / (high - low) * (right - LABELS);
    let height = TOP + ROW * rows.len() as f64 + BOTTOM;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" \
         font-size=\"13\"><title>{0}</title><rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/><text \
         x=\"16\" y=\"26\" \
         font-size=\"16\" font-weight=\"600\" fill=\"#222222\">{0}</text>",
        escaped(title)
    );
    // Writing to a string does not fail.
    let floor = TOP + ROW * rows.len() as f64;
    for tick in ticks(low, high) {
        let x = across(tick);
        let (colour, width) = if tick == 0.0 { ("#888888", 1.2) } else { ("#e4e4e4", 1.0) };
        let _ = write!(
            out,
            "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.1}\" y2=\"{floor:.1}\" stroke=\"{colour}\" \
             stroke-width=\"{width}\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555555\" font-size=\"12\">{}</text>",
            TOP - 8.0,
            floor + 16.0,
            label(tick)
        );
    }
    for (place, row) in rows.iter().enumerate() {
        let y = TOP + ROW * (place as f64 + 0.5);
        let Summary { mean, sd, low, high, .. } = &row.summary;
        let colour = if *low > 0.0 || *high < 0.0 { "#0072b2" } else { "#7fa8c4" };
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#222222\">{}</text>\
             <line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{colour}\" stroke-width=\"1.6\"/>\
             <line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"{colour}\" stroke-width=\"5\" \
             stroke-linecap=\"round\"/>\
             <circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#ffffff\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            LABELS - 12.0,
            y + 4.5,
            escaped(&shortened(&row.label)),
            across(*low),
            across(*high),
            across(mean - sd),
            across(mean + sd),
            across(*mean),
        );
    }
    let _ = write!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555555\" font-size=\"12\">{}</text></svg>",
        0.5 * WIDTH,
        floor + 36.0,
        escaped(scale)
    );
    Ok(out)
}

/// What fits beside the picture: the beginning and the end, where the columns of one term differ.
pub(super) fn shortened(label: &str) -> String {
    const ENDS: (usize, usize) = (18, 9);
    let characters: Vec<char> = label.chars().collect();
    match characters.len() > ENDS.0 + ENDS.1 + 1 {
        true => {
            let end = &characters[characters.len() - ENDS.1..];
            characters[..ENDS.0].iter().chain(&['…']).chain(end).collect()
        }
        false => label.to_owned(),
    }
}
