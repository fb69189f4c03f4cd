//! Lines over one axis, with error bars.

use plotters::prelude::*;

use super::{
    Canvas, FAINT, FINE, Look, PRIVATE, Point, REFERENCE, SMALL, TEXT, TRUTH, drawing, shrunk, ticks,
};
use crate::{Error, Result};

/// A line of a picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// What it is called in the legend.
    pub name: String,
    /// Place, height, and half the length of the error bar.
    pub points: Vec<(f64, f64, f64)>,
}

const WIDTH: i32 = 720;
const HEIGHT: i32 = 420;

/// Colours that colour-blind readers can tell apart (Okabe and Ito, 2008).
const COLOURS: [RGBColor; 7] = [
    PRIVATE,
    REFERENCE,
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    TRUTH,
];

/// An SVG picture of lines over a common axis, which is logarithmic if asked for: then places are above 0.
///
/// # Errors
///
/// [`Error::Length`] for no points, [`Error::Value`] for numbers that cannot be drawn.
///
/// # Examples
///
/// ```
/// use dp_examples::plot::{Line, lines};
///
/// let line = Line { name: "ours".into(), points: vec![(1.0, 0.90, 0.01), (2.0, 0.92, 0.01)] };
/// let picture = lines("AUC by ε", ("ε", "AUC"), &[line], true)?;
/// assert!(picture.starts_with("<svg ") && picture.contains("ours"));
/// assert!(lines("AUC by ε", ("ε", "AUC"), &[], true).is_err());
/// # Ok::<(), dp_examples::Error>(())
/// ```
pub fn lines(
    title: &str,
    (x_name, y_name): (&str, &str),
    lines: &[Line],
    logarithmic: bool,
) -> Result<String> {
    let all = || lines.iter().flat_map(|line| &line.points);
    if all().next().is_none() {
        return Err(Error::Length { what: "points to draw", found: 0, expected: 1 });
    }
    for &(x, y, error) in all() {
        for (what, value) in [("a place to draw", x), ("a height to draw", y), ("an error to draw", error)] {
            if value.is_nan() || value.abs() >= 1e300 {
                return Err(Error::Value { what: what.into(), expected: "below 1e300 in size", value });
            }
        }
        if logarithmic && x <= 0.0 {
            let what = "a place on a logarithmic axis".into();
            return Err(Error::Value { what, expected: "above 0", value: x });
        }
    }
    let on_axis = |x: f64| if logarithmic { x.log10() } else { x };
    let (x_low, x_high) = span(all().map(|point| on_axis(point.0)));
    let (y_low, y_high) = span(all().flat_map(|&(_, y, error)| [y - error, y + error]));
    let mut picture = String::new();
    {
        let backend = SVGBackend::with_string(&mut picture, ((WIDTH * FINE) as u32, (HEIGHT * FINE) as u32));
        let area = Canvas(backend.into_drawing_area());
        area.0.fill(&WHITE).map_err(drawing)?;
        let left = Look { side: plotters::style::text_anchor::HPos::Left, ..SMALL };
        area.text(title, (24.0, 24.0), Look { size: 15.0, style: FontStyle::Bold, ..left })?;
        let (x0, x1, y0, y1) = (74.0, f64::from(WIDTH) - 210.0, f64::from(HEIGHT) - 56.0, 52.0);
        let across = |x: f64| x0 + (on_axis(x) - x_low) / (x_high - x_low) * (x1 - x0);
        let up = |y: f64| y0 - (y - y_low) / (y_high - y_low) * (y0 - y1);
        let heights = ticks(y_low, y_high, 6);
        for tick in &heights.values {
            area.line([(x0, up(*tick)), (x1, up(*tick))], FAINT, 1.0)?;
            let right = Look { side: plotters::style::text_anchor::HPos::Right, ..SMALL };
            area.text(&heights.label(*tick), (x0 - 6.0, up(*tick)), right)?;
        }
        // Where there are measurements, each once and not too close to the one before.
        let mut places: Vec<f64> = all().map(|point| point.0).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let mut last = f64::NEG_INFINITY;
        for place in places {
            let x = across(place);
            if x - last >= 34.0 {
                area.line([(x, y0), (x, y1)], FAINT, 1.0)?;
                area.text(&short(place), (x, y0 + 13.0), SMALL)?;
                last = x;
            }
        }
        area.line([(x0, y0), (x1, y0)], TEXT, 1.2)?;
        area.text(x_name, ((x0 + x1) / 2.0, y0 + 34.0), SMALL)?;
        area.text(y_name, (18.0, (y0 + y1) / 2.0), Look { upwards: true, ..SMALL })?;
        for (number, line) in lines.iter().enumerate() {
            let colour = COLOURS[number % COLOURS.len()];
            let mut points: Vec<(f64, f64, f64)> = line.points.clone();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let path: Vec<Point> = points.iter().map(|&(x, y, _)| (across(x), up(y))).collect();
            if path.len() > 1 {
                area.line(path.iter().copied(), colour, 2.0)?;
            }
            for (&(x, y), &(_, height, error)) in path.iter().zip(&points) {
                area.line([(x, up(height - error)), (x, up(height + error))], colour, 1.4)?;
                area.fill(
                    [(x - 3.0, y - 3.0), (x + 3.0, y - 3.0), (x + 3.0, y + 3.0), (x - 3.0, y + 3.0)],
                    colour,
                    1.0,
                )?;
            }
            let y = y1 + 18.0 * number as f64;
            area.line([(x1 + 16.0, y), (x1 + 38.0, y)], colour, 2.0)?;
            area.text(&line.name, (x1 + 44.0, y), left)?;
        }
        area.0.present().map_err(drawing)?;
    }
    Ok(shrunk(&picture, (WIDTH, HEIGHT)))
}

/// The range of some numbers, with room at both ends.
fn span(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    // Equal numbers get a range as well.
    let room = (0.05 * (high - low)).max(1e-6 * low.abs().max(high.abs())).max(1e-18);
    (low - room, high + room)
}

/// A place as a short number.
fn short(x: f64) -> String {
    if (1e-3..1e5).contains(&x.abs()) { format!("{}", (x * 1e3).round() / 1e3) } else { format!("{x:.0e}") }
}
