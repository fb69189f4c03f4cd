//! Calibration curves: how often what was predicted happened.

use std::fmt::Write;

use super::axes::Axes;

const SIZE: f64 = 320.0;

/// An SVG picture of predicted and observed shares around the diagonal, each observed one with a line of twice its
/// noise where it has some, and a dashed line at the base rate.
#[must_use]
pub fn svg(points: &[(f64, f64, f64)], base: f64) -> String {
    let axes = Axes { frame: (52.0, SIZE - 14.0, 14.0, SIZE - 46.0), across: (0.0, 1.0), up: (0.0, 1.0) };
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIZE} {SIZE}\" role=\"img\" \
         style=\"max-width:{SIZE}px\" \
         font-family=\"system-ui, sans-serif\" font-size=\"12\"><title>Calibration</title>\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
    );
    axes.draw(&mut out, true);
    let (left, right) = (axes.x(0.0), axes.x(1.0));
    // Writing to a string does not fail.
    let _ = write!(
        out,
        "<line x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#888888\"/>\
         <line x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{2:.1}\" y2=\"{2:.1}\" stroke=\"#888888\" \
         stroke-dasharray=\"5 4\"/>\
         <text x=\"{right:.1}\" y=\"{3:.1}\" text-anchor=\"end\" fill=\"#555555\" font-size=\"11\">base rate</text>",
        axes.y(0.0),
        axes.y(1.0),
        axes.y(base),
        axes.y(base) - 5.0
    );
    for (predicted, observed, noise) in points {
        let _ = write!(
            out,
            "<line x1=\"{0:.1}\" x2=\"{0:.1}\" y1=\"{1:.1}\" y2=\"{2:.1}\" stroke=\"#0072b2\" stroke-width=\"1.6\"/>\
             <circle cx=\"{0:.1}\" cy=\"{3:.1}\" r=\"4\" fill=\"#0072b2\"/>",
            axes.x(*predicted),
            axes.y(observed - 2.0 * noise),
            axes.y(observed + 2.0 * noise),
            axes.y(*observed)
        );
    }
    let (middle, low) = (0.5 * (left + right), SIZE - 12.0);
    let _ = write!(
        out,
        "<text x=\"{middle:.1}\" y=\"{low:.1}\" text-anchor=\"middle\" fill=\"#333333\">predicted probability</text>\
         <text transform=\"translate(14 {middle:.1}) rotate(-90)\" text-anchor=\"middle\" \
         fill=\"#333333\">observed share</text></svg>"
    );
    out
}
