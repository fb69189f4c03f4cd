//! Pictures: the private and the non-private posterior of every weight, and lines over an axis.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::logistic::summary::{Marginal, WeightSummary};
use crate::{Error, Result};

mod lines;

pub use lines::{Level, Line, lines};

/// The backend knows whole pixels only: drawing this many times larger and shrinking the result keeps curves
/// smooth.
const FINE: i32 = 8;
const PANEL_WIDTH: i32 = 310;
const PANEL_HEIGHT: i32 = 230;
const HEADER: i32 = 84;
const MARGIN: i32 = 18;

/// Blue and vermilion differ for colour-blind readers and in grey (Okabe and Ito, 2008).
const PRIVATE: RGBColor = RGBColor(0, 114, 178);
const REFERENCE: RGBColor = RGBColor(213, 94, 0);
const TRUTH: RGBColor = RGBColor(30, 30, 30);
const TEXT: RGBColor = RGBColor(40, 40, 40);
const FAINT: RGBColor = RGBColor(225, 225, 225);

/// An SVG picture with a panel per weight: the private density filled, the non-private one as a line, the
/// truth as a dashed vertical line.
///
/// The densities of a panel share their scale, so that areas can be compared; panels have scales of their
/// own.
///
/// # Errors
///
/// [`Error::Length`] for no weights, [`Error::Value`] for a truth that is not finite or numbers too large to
/// draw.
///
/// # Examples
///
/// ```
/// use dp_examples::report::plot::svg;
/// use dp_examples::logistic::summary::{Marginal, WeightSummary};
///
/// let weight = WeightSummary {
///     name: "length".into(),
///     truth: Some(0.7),
///     private: Marginal::new(0.6, 0.2)?,
///     reference: Some(Marginal::new(0.65, 0.1)?),
/// };
/// let picture = svg("Posterior at epsilon = 1", &[weight])?;
/// assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"));
/// assert!(picture.contains("length"));
/// # Ok::<(), dp_examples::Error>(())
/// ```
pub fn svg(title: &str, weights: &[WeightSummary]) -> Result<String> {
    if weights.is_empty() {
        return Err(Error::Length { what: "weights to draw", found: 0, expected: 1 });
    }
    let count = weights.len() as i32;
    let columns = if count == 4 { 2 } else { count.min(3) };
    let rows = (count + columns - 1) / columns;
    // Wide enough for the title and the legend even over a single panel.
    let (width, height) =
        ((columns * PANEL_WIDTH + 2 * MARGIN).max(640), HEADER + rows * PANEL_HEIGHT + MARGIN);
    let mut picture = String::new();
    {
        let backend = SVGBackend::with_string(&mut picture, ((width * FINE) as u32, (height * FINE) as u32));
        let area = Canvas(backend.into_drawing_area());
        area.0.fill(&WHITE).map_err(drawing)?;
        header(&area, title, weights)?;
        for (index, weight) in weights.iter().enumerate() {
            let (column, row) = (index as i32 % columns, index as i32 / columns);
            let left = (width - columns * PANEL_WIDTH) / 2 + column * PANEL_WIDTH;
            panel(&area, weight, (left, HEADER + row * PANEL_HEIGHT), column == 0)?;
        }
        area.0.present().map_err(drawing)?;
    }
    Ok(shrunk(&picture, (width, height)))
}

/// Shown at its intended size, drawn on the fine grid of its view box.
fn shrunk(picture: &str, (width, height): (i32, i32)) -> String {
    let (fine, shown) = (
        format!("<svg width=\"{}\" height=\"{}\"", width * FINE, height * FINE),
        format!("<svg width=\"{width}\" height=\"{height}\""),
    );
    picture.replacen(&fine, &shown, 1)
}

fn drawing(error: impl std::fmt::Display) -> Error {
    Error::Plot { reason: error.to_string() }
}

/// A drawing area addressed in intended pixels, fractions included.
struct Canvas<'a>(DrawingArea<SVGBackend<'a>, plotters::coord::Shift>);

type Point = (f64, f64);

fn fine((x, y): Point) -> (i32, i32) {
    let scale = |value: f64| (value * f64::from(FINE)).round() as i32;
    (scale(x), scale(y))
}

impl Canvas<'_> {
    fn line(&self, points: impl IntoIterator<Item = Point>, colour: RGBColor, width: f64) -> Result<()> {
        let style = colour.stroke_width((width * f64::from(FINE)).round() as u32);
        let points: Vec<(i32, i32)> = points.into_iter().map(fine).collect();
        self.0.draw(&PathElement::new(points, style)).map_err(drawing)
    }

    fn dashes(&self, x: f64, top: f64, bottom: f64) -> Result<()> {
        let mut y = bottom;
        while y > top {
            self.line([(x, y), (x, (y - 5.0).max(top))], TRUTH, 1.6)?;
            y -= 8.5;
        }
        Ok(())
    }

    fn fill(&self, points: impl IntoIterator<Item = Point>, colour: RGBColor, opacity: f64) -> Result<()> {
        let points: Vec<(i32, i32)> = points.into_iter().map(fine).collect();
        self.0.draw(&Polygon::new(points, colour.mix(opacity).filled())).map_err(drawing)
    }

    fn text(&self, text: &str, at: Point, look: Look) -> Result<()> {
        // The backend divides sizes by 1.24.
        let size = look.size * f64::from(FINE) * 1.24;
        let font = FontDesc::new(FontFamily::SansSerif, size, look.style);
        let font = if look.upwards { font.transform(FontTransform::Rotate270) } else { font };
        let style = font.color(&TEXT).pos(Pos::new(look.side, VPos::Center));
        self.0.draw(&Text::new(drawable(text), fine(at), style)).map_err(drawing)
    }
}

#[derive(Clone, Copy)]
struct Look {
    size: f64,
    style: FontStyle,
    side: HPos,
    upwards: bool,
}

const SMALL: Look = Look { size: 11.0, style: FontStyle::Normal, side: HPos::Center, upwards: false };

/// Characters that XML cannot hold, or that would reorder the text, as a replacement character; long names
/// cut.
fn drawable(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(80)
        .map(|c| match c {
            '\u{fffe}' | '\u{ffff}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect();
    if text.chars().count() > 80 {
        shown.push('…');
    }
    shown
}

fn header(area: &Canvas<'_>, title: &str, weights: &[WeightSummary]) -> Result<()> {
    let left = f64::from(MARGIN) + 6.0;
    area.text(
        title,
        (left, 27.0),
        Look { size: 17.0, style: FontStyle::Bold, side: HPos::Left, upwards: false },
    )?;
    let label = Look { size: 12.5, side: HPos::Left, ..SMALL };
    let y = 57.0;
    let square = |x: f64| [(x, y - 6.0), (x + 22.0, y - 6.0), (x + 22.0, y + 6.0), (x, y + 6.0)];
    area.fill(square(left), PRIVATE, 0.3)?;
    area.line([(left, y - 6.0), (left + 22.0, y - 6.0)], PRIVATE, 2.0)?;
    area.text("private posterior", (left + 29.0, y), label)?;
    let mut x = left + 160.0;
    if weights.iter().any(|weight| weight.reference.is_some()) {
        area.line([(x, y), (x + 22.0, y)], REFERENCE, 2.0)?;
        area.text("non-private posterior", (x + 29.0, y), label)?;
        x += 187.0;
    }
    if weights.iter().any(|weight| weight.truth.is_some()) {
        area.dashes(x + 11.0, y - 9.0, y + 9.0)?;
        area.text("truth", (x + 22.0, y), label)?;
    }
    Ok(())
}

fn panel(area: &Canvas<'_>, weight: &WeightSummary, (left, top): (i32, i32), first: bool) -> Result<()> {
    let (left, top) = (f64::from(left), f64::from(top));
    let (x0, x1) = (left + 44.0, left + f64::from(PANEL_WIDTH) - 12.0);
    let (y0, y1) = (top + f64::from(PANEL_HEIGHT) - 44.0, top + 26.0);
    let (low, high) = range(weight)?;
    let marginals = [Some(weight.private), weight.reference];
    let peak = marginals.iter().flatten().map(|m| m.density(m.mean())).fold(0.0, f64::max) * 1.08;
    if !peak.is_finite() {
        let what = "a posterior density to draw".into();
        return Err(Error::Value { what, expected: "finite", value: peak });
    }
    let across = |value: f64| x0 + (value - low) / (high - low) * (x1 - x0);
    let up = |density: f64| y0 - density / peak * (y0 - y1);

    let ticks = ticks(low, high, 5);
    for tick in &ticks.values {
        area.line([(across(*tick), y0), (across(*tick), y1)], FAINT, 1.0)?;
        area.text(&ticks.label(*tick), (across(*tick), y0 + 13.0), SMALL)?;
    }
    let heights = self::ticks(0.0, peak, 4);
    for tick in &heights.values {
        area.line([(x0, up(*tick)), (x1, up(*tick))], FAINT, 1.0)?;
        area.text(&heights.label(*tick), (x0 - 6.0, up(*tick)), Look { side: HPos::Right, ..SMALL })?;
    }

    // Each curve is sampled over its own width: a narrow one beside a wide one keeps its shape.
    let curve = |marginal: Marginal| {
        (-90..=90)
            .map(move |k| marginal.mean() + f64::from(k) / 20.0 * marginal.sd())
            .map(move |value| (value, marginal.density(value)))
    };
    let place = |(value, density): (f64, f64)| (across(value), up(density));
    let private: Vec<Point> = curve(weight.private).map(place).collect();
    area.fill(private.iter().copied(), PRIVATE, 0.3)?;
    area.line(private, PRIVATE, 2.0)?;
    if let Some(reference) = weight.reference {
        area.line(curve(reference).map(place), REFERENCE, 2.0)?;
    }
    if let Some(truth) = weight.truth {
        area.dashes(across(truth), y1, y0)?;
    }

    area.line([(x0, y0), (x1, y0)], TEXT, 1.2)?;
    area.text(
        &weight.name,
        ((x0 + x1) / 2.0, top + 12.0),
        Look { size: 13.5, style: FontStyle::Bold, ..SMALL },
    )?;
    area.text("weight", ((x0 + x1) / 2.0, y0 + 29.0), SMALL)?;
    if first {
        area.text("density", (left + 4.0, (y0 + y1) / 2.0), Look { upwards: true, ..SMALL })?;
    }
    Ok(())
}

/// The weights a panel shows: 4.5 standard deviations of each posterior, the truth, and a little room.
fn range(weight: &WeightSummary) -> Result<(f64, f64)> {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut include = |from: f64, to: f64| (low, high) = (low.min(from), high.max(to));
    for marginal in [Some(weight.private), weight.reference].iter().flatten() {
        include(marginal.mean() - 4.5 * marginal.sd(), marginal.mean() + 4.5 * marginal.sd());
    }
    if let Some(truth) = weight.truth {
        if !truth.is_finite() {
            return Err(Error::Value { what: "a true weight".into(), expected: "finite", value: truth });
        }
        include(truth, truth);
    }
    // Narrower than the spacing of numbers at this size, a range has no room for ticks.
    let least = 1e-9 * low.abs().max(high.abs()).max(f64::MIN_POSITIVE / 1e-10);
    let room = (0.03 * (high - low)).max(least);
    let (low, high) = (low - room, high + room);
    if !(low.abs() < 1e300 && high.abs() < 1e300) {
        let what = "the range of weights to draw".into();
        return Err(Error::Value { what, expected: "below 1e300 in size", value: high - low });
    }
    Ok((low, high))
}

/// Round numbers between two others.
struct Ticks {
    values: Vec<f64>,
    step: f64,
}

/// About `wanted` multiples of 1, 2 or 5 times a power of ten between `low` and `high`.
fn ticks(low: f64, high: f64, wanted: u32) -> Ticks {
    let rough = (high - low) / f64::from(wanted);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= rough)
        .unwrap_or(rough);
    let first = (low / step).ceil();
    // At most one more than wanted: the step is at least the rough one.
    let values = (0..=wanted).map(|k| (first + f64::from(k)) * step).filter(|value| *value <= high).collect();
    Ticks { values, step }
}

impl Ticks {
    fn label(&self, value: f64) -> String {
        let decimals = (-self.step.log10().floor()).max(0.0);
        if value == 0.0 {
            String::from("0")
        } else if decimals > 4.0 || value.abs() >= 1e5 {
            format!("{value:.1e}")
        } else {
            format!("{value:.*}", decimals as usize).replace('-', "−")
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::logistic::summary::tests::weight;
    use crate::strategies;

    #[test]
    fn foreign_names_are_escaped() {
        let picture = svg("a < b & \"c\"", &[weight("<x>&\u{7}", None, (0.0, 1.0), None)]).unwrap();
        assert!(picture.contains("a &lt; b &amp; "), "{picture}");
        assert!(picture.contains("&lt;x&gt;&amp;\u{fffd}") && !picture.contains("<x>"), "{picture}");
    }

    #[test]
    fn the_legend_names_what_is_drawn() {
        let plain = svg("t", &[weight("a", None, (0.0, 1.0), None)]).unwrap();
        assert!(!plain.contains("non-private") && !plain.contains("truth"));
        let full = svg("t", &[weight("a", Some(0.0), (0.0, 1.0), Some((0.0, 1.0)))]).unwrap();
        assert!(full.contains("non-private") && full.contains("truth"));
        assert!(
            full.starts_with("<svg width=\"640\" height=\"332\" viewBox=\"0 0 5120 2656\""),
            "{}",
            &full[..80]
        );
    }

    #[test]
    fn what_cannot_be_drawn() {
        assert!(matches!(svg("t", &[]), Err(Error::Length { .. })));
        assert!(matches!(
            svg("t", &[weight("a", Some(f64::NAN), (0.0, 1.0), None)]),
            Err(Error::Value { .. })
        ));
        assert!(matches!(svg("t", &[weight("a", None, (1e305, 1.0), None)]), Err(Error::Value { .. })));
        assert!(matches!(svg("t", &[weight("a", None, (0.0, 5e-324), None)]), Err(Error::Value { .. })));
    }

    #[test]
    fn ticks_are_round() {
        let near_zero = ticks(-0.31, 0.42, 5);
        let labels: Vec<String> = near_zero.values.iter().map(|value| near_zero.label(*value)).collect();
        assert_eq!(labels, ["−0.2", "0", "0.2", "0.4"]);
        let large = ticks(0.0, 2.3e7, 4);
        assert_eq!(
            large.values.iter().map(|value| large.label(*value)).collect::<Vec<_>>(),
            ["0", "1.0e7", "2.0e7"]
        );
    }

    proptest! {
        #[test]
        fn any_numbers_give_a_picture_or_an_error(
            mean in strategies::finite(), sd in strategies::finite(), other in strategies::finite(), name in ".{0,10}",
        ) {
            if let Ok(private) = Marginal::new(mean, sd.abs()) {
                let weight = WeightSummary { name, truth: Some(other), private, reference: None };
                if let Ok(picture) = svg("t", &[weight]) {
                    prop_assert!(!picture.contains("NaN") && !picture.contains("inf"));
                    prop_assert!(picture.len() < 100_000);
                }
            }
        }
    }
}
