//! Two pictures side by side: the trade-off curve, and delta(epsilon).

use dp_accountant::{Certified, TradeOff};
use plotters::coord::ranged1d::{NoDefaultFormatting, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use crate::failure::{Failure, Outcome};

const SIZE: (u32, u32) = (760, 360);
/// Colours that stay apart in grey and for the colour-blind; the text is readable on a light and on a dark
/// page.
const CURVE: RGBColor = RGBColor(0, 114, 178);
const CHANCE: RGBColor = RGBColor(150, 150, 150);
const TEXT: RGBColor = RGBColor(110, 110, 110);

/// The false positive rates at which the trade-off curve is drawn, close together at both steep ends.
pub(crate) fn positions() -> impl Iterator<Item = f64> {
    const POINTS: u32 = 60;
    (0..=POINTS).map(|k| 0.5 * (1.0 - (std::f64::consts::PI * f64::from(k) / f64::from(POINTS)).cos()))
}

/// The picture as SVG text. Fonts are named, not embedded.
pub(crate) fn draw(curve: &TradeOff) -> Outcome<String> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let (left, right) = root.split_horizontally(SIZE.0 as i32 / 2);
        trade_off(&left, curve)?;
        profile(&right, curve)?;
        root.present().map_err(failed)?;
    }
    Ok(svg)
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Other(format!("the picture: {error}"))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn label(size: i32) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&TEXT)
}

fn trade_off(area: &Area<'_>, curve: &TradeOff) -> Outcome<()> {
    let mut chart = ChartBuilder::on(area)
        .caption("best test of membership", label(16))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(46)
        .build_cartesian_2d(0.0..1.0, 0.0..1.0)
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc("false positive rate")
        .y_desc("false negative rate")
        .axis_desc_style(label(13))
        .label_style(label(12))
        .axis_style(TEXT)
        .light_line_style(TRANSPARENT)
        .bold_line_style(TEXT.mix(0.15))
        .x_labels(6)
        .y_labels(6)
        .draw()
        .map_err(failed)?;
    // Guessing without looking.
    chart.draw_series(LineSeries::new([(0.0, 1.0), (1.0, 0.0)], CHANCE)).map_err(failed)?;
    let mut ends: Vec<(f64, Certified)> = Vec::new();
    for alpha in positions() {
        ends.push((alpha, curve.false_negative_rate(alpha)?));
    }
    band(&mut chart, ends.iter().map(|(alpha, rate)| (*alpha, rate.lower, rate.upper)).collect())
}

/// Delta over epsilon on a logarithmic scale; plotted is the decimal logarithm.
fn profile(area: &Area<'_>, curve: &TradeOff) -> Outcome<()> {
    const FLOOR: f64 = -9.0;
    let log = |value: f64| value.max(f64::MIN_POSITIVE).log10().max(FLOOR);
    let corners = curve.corners();
    let points: Vec<(f64, f64, f64)> =
        corners.iter().map(|c| (c.epsilon, log(c.delta.lower), log(c.delta.upper))).collect();
    let end = points.last().map_or(1.0, |point| point.0).max(1e-6);
    let mut chart = ChartBuilder::on(area)
        .caption("delta at each epsilon", label(16))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(46)
        .build_cartesian_2d(0.0..end, Exponents::from(FLOOR))
        .map_err(failed)?;
    chart
        .configure_mesh()
        .x_desc("epsilon")
        .y_desc("delta")
        .axis_desc_style(label(13))
        .label_style(label(12))
        .axis_style(TEXT)
        .light_line_style(TRANSPARENT)
        .bold_line_style(TEXT.mix(0.15))
        .x_labels(6)
        .y_labels(10)
        .draw()
        .map_err(failed)?;
    band(&mut chart, points)
}

/// The area between both ends, and its border: a line where they cannot be distinguished.
fn band<Y: Ranged<ValueType = f64>>(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<RangedCoordf64, Y>>,
    points: Vec<(f64, f64, f64)>,
) -> Outcome<()> {
    let below: Vec<(f64, f64)> = points.iter().map(|&(x, low, _)| (x, low)).collect();
    let above: Vec<(f64, f64)> = points.iter().map(|&(x, _, high)| (x, high)).collect();
    let outline: Vec<(f64, f64)> = above.iter().copied().chain(below.iter().rev().copied()).collect();
    chart.draw_series([Polygon::new(outline, CURVE.mix(0.25).filled())]).map_err(failed)?;
    for end in [below, above] {
        chart.draw_series(LineSeries::new(end, CURVE.stroke_width(2))).map_err(failed)?;
    }
    Ok(())
}

/// An axis of decimal logarithms from some floor to 0, labelled with the numbers themselves.
struct Exponents(RangedCoordf64);

impl From<f64> for Exponents {
    fn from(floor: f64) -> Self {
        Self((floor..0.0).into())
    }
}

impl Ranged for Exponents {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        self.0.map(value, limit)
    }

    fn key_points<Hint: plotters::coord::ranged1d::KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.0.key_points(hint)
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.0.range()
    }
}

impl ValueFormatter<f64> for Exponents {
    fn format(value: &f64) -> String {
        if *value == 0.0 { "1".into() } else { format!("1e{value:.0}") }
    }
}
