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

/// A height that holds at every place of the axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// What it is called in the legend.
    pub name: String,
    /// Its height.
    pub height: f64,
    /// Half the width of the band around it.
    pub error: f64,
}

/// What the axes take, beside which the legend has room.
const PLOT: i32 = 510;
const HEIGHT: i32 = 420;
/// Width of a letter of the legend, about.
const LETTER: f64 = 6.2;

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

/// An SVG picture of lines over a common axis, which is logarithmic if asked for: then places are above 0. Levels are
/// dashed lines from end to end.
///
/// # Errors
///
/// [`Error::Length`] for no points, [`Error::Value`] for numbers that cannot be drawn.
///
/// # Examples
///
/// ```
/// use dp_examples::report::plot::{Line, lines};
///
/// let line = Line { name: "ours".into(), points: vec![(1.0, 0.90, 0.01), (2.0, 0.92, 0.01)] };
/// let picture = lines("AUC by ε", ("ε", "AUC"), (&[line], &[]), true)?;
/// assert!(picture.starts_with("<svg ") && picture.contains("ours"));
/// assert!(lines("AUC by ε", ("ε", "AUC"), (&[], &[]), true).is_err());
/// # Ok::<(), dp_examples::Error>(())
/// ```
pub fn lines(
    title: &str,
    (x_name, y_name): (&str, &str),
    (lines, levels): (&[Line], &[Level]),
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
    let flat = levels.iter().map(|level| (level.height, level.error));
    let heights = all().map(|&(_, y, error)| (y, error)).chain(flat.clone());
    if let Some((value, _)) = flat.into_iter().find(|(y, error)| !(y.abs() < 1e300 && error.abs() < 1e300)) {
        return Err(Error::Value { what: "a level to draw".into(), expected: "below 1e300 in size", value });
    }
    let (y_low, y_high) = span(heights.flat_map(|(y, error)| [y - error, y + error]));
    let names = lines.iter().map(|line| &line.name).chain(levels.iter().map(|level| &level.name));
    let letters = names.map(|name| name.chars().count()).max().unwrap_or(0);
    let width = PLOT + (60.0 + LETTER * letters as f64).max(120.0) as i32;
    let longest = rows_of(title).iter().map(|row| row.chars().count()).max().unwrap_or(0);
    let width = width.max((48.0 + 8.4 * longest as f64) as i32);
    let mut picture = String::new();
    {
        let backend = SVGBackend::with_string(&mut picture, ((width * FINE) as u32, (HEIGHT * FINE) as u32));
        let area = Canvas(backend.into_drawing_area());
        area.0.fill(&WHITE).map_err(drawing)?;
        let left = Look { side: plotters::style::text_anchor::HPos::Left, ..SMALL };
        let bold = Look { size: 15.0, style: FontStyle::Bold, ..left };
        let rows = rows_of(title);
        for (number, row) in rows.iter().enumerate() {
            area.text(row, (24.0, 24.0 - 9.0 * (rows.len() - 1) as f64 + 18.0 * number as f64), bold)?;
        }
        let (x0, x1, y0, y1) = (74.0, f64::from(PLOT), f64::from(HEIGHT) - 56.0, 52.0);
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
        for (number, level) in (lines.len()..).zip(levels) {
            // "N 100, not private" is of the line "N 100" and has its colour, without a band between others.
            let owner = lines.iter().position(|line| {
                level.name.strip_prefix(&line.name).is_some_and(|rest| rest.starts_with(", "))
            });
            let (colour, y) = (COLOURS[owner.unwrap_or(number) % COLOURS.len()], up(level.height));
            let (top, bottom) = (up(level.height + level.error), up(level.height - level.error));
            if bottom - top > 1.0 && owner.is_none() {
                area.fill([(x0, top), (x1, top), (x1, bottom), (x0, bottom)], colour, 0.15)?;
            }
            dashed(&area, (x0, x1), y, colour)?;
            let y = y1 + 18.0 * number as f64;
            dashed(&area, (x1 + 16.0, x1 + 38.0), y, colour)?;
            area.text(&level.name, (x1 + 44.0, y), left)?;
        }
        area.0.present().map_err(drawing)?;
    }
    Ok(shrunk(&picture, (width, HEIGHT)))
}

/// A title in one row, or in two where it is long.
fn rows_of(title: &str) -> Vec<String> {
    const LONG: usize = 70;
    let mut rows = vec![String::new()];
    for word in title.split(' ') {
        let row = rows.len() - 1;
        if rows.len() < 2 && rows[row].chars().count() + word.chars().count() > LONG {
            rows.push(word.to_owned());
            continue;
        }
        if !rows[row].is_empty() {
            rows[row].push(' ');
        }
        rows[row].push_str(word);
    }
    rows
}

/// A dashed line across.
fn dashed(area: &Canvas<'_>, (from, to): (f64, f64), y: f64, colour: RGBColor) -> Result<()> {
    let mut x = from;
    while x < to {
        area.line([(x, y), ((x + 7.0).min(to), y)], colour, 1.8)?;
        x += 11.0;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_dashed_in_the_colour_of_their_line_and_long_titles_have_two_rows() {
        let line =
            |name: &str, y: f64| Line { name: name.into(), points: vec![(1.0, y, 0.0), (2.0, y, 0.0)] };
        let level = |name: &str, height: f64| Level { name: name.into(), height, error: 0.0 };
        let both = [line("N 1", 0.1), line("N 10", 0.2)];
        let levels = [level("N 10, not private", 0.3), level("pooled", 0.4)];
        let long =
            "a title with so many words that one row of the picture does not hold it, and so it has two";
        let picture = lines(long, ("x", "y"), (&both, &levels), false).unwrap();
        let hex = |colour: RGBColor| format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2);
        // The line and its level; the other level has the fourth colour, and nothing the third.
        let count = |colour: usize| picture.matches(&hex(COLOURS[colour])).count();
        assert!(count(1) > count(0) && count(3) > 0 && count(2) == 0, "{}", count(1));
        assert_eq!(rows_of(long).len(), 2);
        assert_eq!(rows_of(long).join(" "), long);
        assert_eq!(rows_of("short"), ["short"]);
        let high = [level("no number", f64::NAN)];
        assert!(lines("t", ("x", "y"), (&both, &high), false).is_err());
    }
}
