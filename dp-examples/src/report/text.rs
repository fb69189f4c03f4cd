//! Tables of summaries for a terminal.

use super::number;
use crate::regression::posterior::Summary;

/// Mean, standard deviation and 90 % interval of each value, aligned; and the standard deviation without privacy noise,
/// where one is known.
///
/// ```
/// use dp_examples::regression::posterior::Summary;
/// use dp_examples::report::text::table;
/// let row = Summary { sd: 0.0021, low: 0.0088, high: 0.0158, ..Summary::of("age", vec![0.0123]) };
/// assert!(table("coefficient", &[row]).contains("age          0.0123  0.0021  [0.0088, 0.0158]"));
/// ```
#[must_use]
pub fn table(title: &str, rows: &[Summary]) -> String {
    let visible =
        |name: &str| name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect::<String>();
    let columns = if rows.iter().any(|row| row.sd_without_noise.is_some()) { 5 } else { 4 };
    let mut cells = vec![[title, "mean", "sd", "90 % interval", "sd without noise"].map(str::to_owned)];
    cells.extend(rows.iter().map(|row| {
        let digits = |x: f64| number(x, row.sd);
        [
            visible(&row.name),
            digits(row.mean),
            digits(row.sd),
            format!("[{}, {}]", digits(row.low), digits(row.high)),
            row.sd_without_noise.map_or_else(|| "–".to_owned(), |sd| number(sd, sd)),
        ]
    }));
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for (place, row) in cells.iter().enumerate() {
        let aligned = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        text += &(aligned.collect::<Vec<_>>().join("  ") + "\n");
        if place == 0 {
            let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            text += &(rule.join("  ") + "\n");
        }
    }
    text
}
