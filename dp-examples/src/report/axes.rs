//! Axes of small SVG plots.

use std::fmt::Write;

/// A rectangle of a picture in which numbers have places.
pub(super) struct Axes {
    /// Left, right, top and bottom, in the picture.
    pub(super) frame: (f64, f64, f64, f64),
    /// The numbers at the left and at the right.
    pub(super) across: (f64, f64),
    /// The numbers at the bottom and at the top.
    pub(super) up: (f64, f64),
}

impl Axes {
    pub(super) fn x(&self, x: f64) -> f64 {
        let ((left, right, ..), (low, high)) = (self.frame, self.across);
        left + (x.clamp(low, high) - low) / (high - low) * (right - left)
    }

    pub(super) fn y(&self, y: f64) -> f64 {
        let ((.., top, bottom), (low, high)) = (self.frame, self.up);
        bottom - (y.clamp(low, high) - low) / (high - low) * (bottom - top)
    }

    /// Lines at round numbers, with their labels.
    pub(super) fn draw(&self, out: &mut String, numbers_across: bool) {
        let (left, right, top, bottom) = self.frame;
        // Writing to a string does not fail.
        for tick in ticks(self.up.0, self.up.1) {
            let y = self.y(tick);
            let _ = write!(
                out,
                "<line x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555555\" font-size=\"11\">{}</text>",
                left - 6.0,
                y + 4.0,
                label(tick)
            );
        }
        for tick in ticks(self.across.0, self.across.1).into_iter().filter(|_| numbers_across) {
            let x = self.x(tick);
            let _ = write!(
                out,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{top:.1}\" y2=\"{bottom:.1}\" stroke=\"#f0f0f0\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555555\" font-size=\"11\">{}</text>",
                bottom + 15.0,
                label(tick)
            );
        }
    }
}

/// Round numbers between two ends: 1, 2 or 5 times a power of ten apart.
pub(super) fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 6.0;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= rough).unwrap_or(rough);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).take(20).map(|k| k as f64 * step).collect()
}

pub(super) fn label(tick: f64) -> String {
    let text = format!("{tick:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "" | "-0" | "0" if tick != 0.0 => format!("{tick:.1e}"),
        "-0" => "0".to_owned(),
        text => text.replace('-', "−"),
    }
}
