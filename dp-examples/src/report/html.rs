//! A page about fits that needs nothing beside itself.

use std::fmt::Write;

use super::{calibration, escaped, number};
use crate::regression::metrics::Metrics;
use crate::regression::posterior::Summary;
use crate::regression::private_metrics::PrivateMetrics;

/// One fit of a page.
pub struct Section {
    /// Such as `epsilon = 1`.
    pub title: String,
    /// The forest plot, as SVG.
    pub picture: Option<String>,
    /// Coefficients in the units of the file.
    pub coefficients: Vec<Summary>,
    /// Which of them have hardly been learned, in words.
    pub hardly_learned: Option<String>,
    /// What there is beside.
    pub others: Vec<Summary>,
    /// The mean outcome by each column, as SVG.
    pub effects: Option<String>,
    /// Changes of the mean outcome.
    pub changes: Vec<Summary>,
    /// What intervals include, in words.
    pub intervals: String,
    /// Exact figures of test records.
    pub metrics: Option<Metrics>,
    /// Figures of test records that were paid for.
    pub private_metrics: Option<PrivateMetrics>,
    /// The privacy statement.
    pub privacy: String,
    /// What ε means for a person, in words.
    pub meaning: String,
}

/// A page.
pub struct Page {
    /// The formula.
    pub formula: String,
    /// What the outcome and the family are, in words.
    pub about: Vec<String>,
    /// The fits.
    pub sections: Vec<Section>,
    /// What they cost together, where there are several.
    pub together: Option<String>,
}

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;color:#222;max-width:52rem;margin:0 \
 auto;padding:1.5rem 1rem}\
h1{font-size:1.5rem;overflow-wrap:anywhere}h2{font-size:1.2rem;margin-top:2.5rem;border-top:1px solid \
#ddd;padding-top:1rem}\
h3{font-size:1rem;margin-top:1.6rem}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
.wide{overflow-x:auto}td,th{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #eee;white-space:nowrap}\
td:first-child,th:first-child{text-align:left}pre{background:#f6f6f4;padding:.8rem;overflow-x:auto;font-size:.85rem}\
.not{border-left:4px solid #d55e00;background:#fdf3ec;padding:.5rem .9rem}.say{border-left:4px solid \
#0072b2;background:#eef5fa;\
padding:.5rem .9rem}svg{width:100%;height:auto}.wide>svg{min-width:30rem}code{overflow-wrap:anywhere}\
@media(max-width:34rem){table{font-size:.8rem}td,th{padding:.2rem .3rem}td:first-child,th:first-child,td:last-child{white-space:normal}\
td:first-child{overflow-wrap:anywhere}pre{white-space:pre-wrap;font-size:.75rem}}";

impl Page {
    /// The page as HTML: no scripts, no fonts and no pictures from elsewhere.
    #[must_use]
    pub fn html(&self) -> String {
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
             content=\"width=device-width,initial-scale=1\"><title>{0}</title><style>{STYLE}</style></head><body>\n\
             <h1>Private regression<br><code>{0}</code></h1>\n",
            escaped(&self.formula)
        );
        // Writing to a string does not fail.
        for line in &self.about {
            let _ = writeln!(out, "<p>{}</p>", escaped(line));
        }
        if let Some(together) = &self.together {
            let _ = writeln!(out, "<p class=\"say\">{}</p>", escaped(together));
        }
        for section in &self.sections {
            section.write(&mut out);
        }
        out += "<p>Everything on this page was released under the guarantee stated with each fit, or is public, \
         but for what is \
                marked as not covered.</p>\n</body></html>\n";
        out
    }
}

fn table(out: &mut String, title: &str, rows: &[Summary]) {
    let without_noise = rows.iter().any(|row| row.sd_without_noise.is_some());
    let _ = write!(
        out,
        "<div class=\"wide\"><table><tr><th>{}</th><th>mean</th><th>sd</th><th>90 % interval</th>{}</tr>",
        escaped(title),
        if without_noise { "<th>sd without noise</th>" } else { "" }
    );
    for row in rows {
        let digits = |x: f64| number(x, row.sd);
        let _ = write!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{} to {}</td>",
            escaped(&row.name),
            digits(row.mean),
            digits(row.sd),
            digits(row.low),
            digits(row.high)
        );
        if without_noise {
            let _ = write!(
                out,
                "<td>{}</td>",
                row.sd_without_noise.map_or_else(|| "–".to_owned(), |sd| number(sd, sd))
            );
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></div>\n");
}

impl Section {
    fn write(&self, out: &mut String) {
        let _ = writeln!(
            out,
            "<h2>{}</h2>\n<p class=\"say\">{}</p>",
            escaped(&self.title),
            escaped(&self.meaning)
        );
        if let Some(picture) = &self.picture {
            let _ = writeln!(out, "<div class=\"wide\">{picture}</div>");
        }
        let _ = writeln!(
            out,
            "<h3>Coefficients in the units of the file</h3>\n<p>Intervals {}.</p>",
            escaped(&self.intervals)
        );
        table(out, "coefficient", &self.coefficients);
        if let Some(sentence) = &self.hardly_learned {
            let _ = writeln!(out, "<p>{}</p>", escaped(sentence));
        }
        if !self.others.is_empty() {
            out.push_str("<h3>Beside the coefficients</h3>\n");
            table(out, "value", &self.others);
        }
        if let Some(effects) = &self.effects {
            let _ = writeln!(
                out,
                "<h3>What each column does</h3>\n<p>The mean outcome where one column has a value and the \
                 others are those of made-up \
                 records, spread evenly over the public bounds. Bands and lines are 90 % intervals.</p>\n<div class=\"wide\">{effects}</div>"
            );
            table(out, "change of the mean outcome", &self.changes);
        }
        if let Some(metrics) = &self.private_metrics {
            write_private_metrics(out, metrics);
        }
        if let Some(metrics) = &self.metrics {
            write_metrics(out, metrics);
        }
        let _ = writeln!(out, "<h3>Privacy</h3>\n<pre>{}</pre>", escaped(&self.privacy));
    }
}

fn write_metrics(out: &mut String, metrics: &Metrics) {
    out.push_str(
        "<h3>Held-back records</h3>\n<p class=\"not\"><strong>Not covered by the guarantee:</strong> exact \
         figures of held-back \
         records. Do not publish them unless those records are public.</p>\n<div class=\"wide\"><table>\
         <tr><th></th><th>predictions</th><th>best constant</th></tr>",
    );
    let mut row = |name: &str, found: Option<f64>, base: Option<f64>| {
        let cell = |x: Option<f64>| x.map_or_else(|| "–".to_owned(), |x| format!("{x:.4}"));
        if found.is_some() {
            let _ = write!(out, "<tr><td>{name}</td><td>{}</td><td>{}</td></tr>", cell(found), cell(base));
        }
    };
    row("area under the ROC curve", metrics.area_under_curve, metrics.area_under_curve.map(|_| 0.5));
    row("log loss", metrics.log_loss, metrics.log_loss_of_base);
    row("accuracy", metrics.accuracy.map(|pair| pair.0), metrics.accuracy.map(|pair| pair.1));
    row("root mean square error", Some(metrics.error), Some(metrics.error_of_base));
    row("mean outcome", Some(metrics.base), None);
    out.push_str("</table></div>\n");
    if !metrics.calibration.is_empty() {
        let points: Vec<(f64, f64, f64)> =
            metrics.calibration.iter().map(|tenth| (tenth.predicted, tenth.observed, 0.0)).collect();
        let _ = writeln!(
            out,
            "<p>Calibration: tenths of the records by predicted probability.</p>\n{}",
            calibration::svg(&points, metrics.base)
        );
    }
}

fn write_private_metrics(out: &mut String, metrics: &PrivateMetrics) {
    let _ = write!(
        out,
        "<h3>Held-back records, with noise</h3>\n<p class=\"say\">About {:.0} test records. These figures were \
         paid for with epsilon {} at delta {:e} and {}; ± is the standard deviation of the noise, not of having these \
         records and no others.</p>\n<div class=\"wide\"><table>\
         <tr><th></th><th>predictions</th><th>best constant</th></tr>",
        metrics.records,
        metrics.epsilon,
        metrics.delta,
        if metrics.secret {
            "may be shown"
        } else {
            "are NOT PRIVATE: their noise came from a seed that is known"
        }
    );
    for (name, found, base) in &metrics.figures {
        let base = base.map_or_else(|| "–".to_owned(), |base| base.to_string());
        let _ = write!(out, "<tr><td>{name}</td><td>{found}</td><td>{base}</td></tr>");
    }
    out.push_str("</table></div>\n");
    if metrics.figures.is_empty() {
        out.push_str(
            "<p>The noise is larger than the counts of one of the outcomes: no figure can be said.</p>\n",
        );
    }
    if !metrics.calibration.is_empty() {
        let points: Vec<(f64, f64, f64)> = metrics
            .calibration
            .iter()
            .map(|group| (group.predicted, group.observed.value, group.observed.noise))
            .collect();
        let base = metrics.figures.iter().find(|(name, ..)| *name == "base rate");
        let _ = writeln!(
            out,
            "<p>Calibration: groups of records by predicted probability, with lines of twice the noise.</p>\n{}",
            calibration::svg(&points, base.map_or(0.5, |(_, found, _)| found.value))
        );
    }
}
