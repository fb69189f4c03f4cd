//! Small plots of the mean outcome as a function of each column.

use std::fmt::Write;

use super::axes::Axes;
use super::escaped;
use super::forest::shortened;
use crate::regression::effects::Effect;

/// Size of one plot, and plots in a row.
const SIZE: (f64, f64) = (250.0, 208.0);
const IN_A_ROW: usize = 3;

/// Most categories whose names are written below the points.
const MOST_NAMED: usize = 8;

/// Longest name of a category that is written in full.
const LONGEST_NAME: usize = 11;

/// An SVG picture of the effects, three plots in a row on one scale of the outcome: a line with the 90 %
/// interval as a band for numbers,
/// points with intervals for categories. `None` without an effect.
#[must_use]
pub fn svg(outcome: &str, effects: &[Effect]) -> Option<String> {
    let ends = effects.iter().flat_map(|one| &one.points).flat_map(|(_, at)| [at.low, at.high]);
    let (low, high) = ends
        .filter(|x| x.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if low > high {
        return None;
    }
    let room = 0.05 * (high - low).max(1e-9 * (1.0 + low.abs()));
    let rows = effects.len().div_ceil(IN_A_ROW);
    let (width, height) = (SIZE.0 * IN_A_ROW as f64, 34.0 + SIZE.1 * rows as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\"><title>Mean of {0} by column</title>\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/><text x=\"12\" y=\"22\" font-weight=\"600\" \
         fill=\"#222222\">{0}, on average, by each column</text>",
        escaped(outcome)
    );
    for (place, effect) in effects.iter().enumerate() {
        let corner = (SIZE.0 * (place % IN_A_ROW) as f64, 34.0 + SIZE.1 * (place / IN_A_ROW) as f64);
        plot(&mut out, effect, corner, (low - room, high + room));
    }
    out.push_str("</svg>");
    Some(out)
}

fn plot(out: &mut String, effect: &Effect, (left, top): (f64, f64), up: (f64, f64)) {
    let (first, last) = match (effect.points.first(), effect.points.last()) {
        (Some(first), Some(last)) => (first.0, last.0),
        _ => return,
    };
    let across = if effect.continuous { (first, last) } else { (first - 0.5, last + 0.5) };
    let axes =
        Axes { frame: (left + 50.0, left + SIZE.0 - 12.0, top + 26.0, top + SIZE.1 - 44.0), across, up };
    // Dates and categories have names of their own below.
    let is_date =
        effect.points.first().is_some_and(|(x, at)| at.name.parse::<f64>().is_err() && x.fract() == 0.0);
    axes.draw(out, effect.continuous && !is_date);
    let (middle, below) = (0.5 * (axes.frame.0 + axes.frame.1), axes.frame.3 + 15.0);
    let text = |out: &mut String, x: f64, y: f64, what: &str, weight: &str, size: f64| {
        // Writing to a string does not fail.
        let _ = write!(
            out,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" font-size=\"{size}\" font-weight=\"{weight}\" \
             fill=\"#333333\">{}</text>",
            escaped(what)
        );
    };
    text(out, middle, top + 16.0, &shortened(&effect.column), "600", 13.0);
    let named = effect.points.len() <= MOST_NAMED;
    if !effect.continuous && named {
        for (x, at) in &effect.points {
            let name = match at.name.chars().count() > LONGEST_NAME {
                true => at.name.chars().take(LONGEST_NAME - 1).chain(['…']).collect(),
                false => at.name.clone(),
            };
            let _ = write!(
                out,
                "<text transform=\"translate({:.1} {:.1}) rotate(-30)\" text-anchor=\"end\" font-size=\"11\" \
                 fill=\"#333333\">{}</text>",
                axes.x(*x) + 4.0,
                axes.frame.3 + 12.0,
                escaped(&name)
            );
        }
    } else if !effect.continuous {
        text(
            out,
            middle,
            below,
            &format!("{} categories, in the order of the schema", effect.points.len()),
            "400",
            11.0,
        );
    } else if is_date {
        for (x, at) in [&effect.points[0], &effect.points[effect.points.len() - 1]] {
            let inside = 0.72 * (axes.x(*x) - middle);
            text(out, middle + inside, below, &at.name, "400", 11.0);
        }
    }
    if effect.continuous {
        let place = |x: f64, y: f64| format!("{:.1},{:.1}", axes.x(x), axes.y(y));
        let upper = effect.points.iter().map(|(x, at)| place(*x, at.high));
        let lower = effect.points.iter().rev().map(|(x, at)| place(*x, at.low));
        let band: Vec<String> = upper.chain(lower).collect();
        let line: Vec<String> = effect.points.iter().map(|(x, at)| place(*x, at.mean)).collect();
        let _ = write!(
            out,
            "<polygon points=\"{}\" fill=\"#0072b2\" fill-opacity=\"0.18\"/><polyline points=\"{}\" fill=\"none\" \
             stroke=\"#0072b2\" stroke-width=\"2\"/>",
            band.join(" "),
            line.join(" ")
        );
    } else {
        for (x, at) in &effect.points {
            let _ = write!(
                out,
                "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{2:.1}\" stroke=\"#0072b2\" stroke-width=\"2\"/>\
                 <circle cx=\"{0:.1}\" cy=\"{3:.1}\" r=\"3.5\" fill=\"#ffffff\" stroke=\"#0072b2\" \
                 stroke-width=\"2\"/>",
                axes.x(*x),
                axes.y(at.low),
                axes.y(at.high),
                axes.y(at.mean)
            );
        }
    }
}
