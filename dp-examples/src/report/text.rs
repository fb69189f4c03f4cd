//! Tables of summaries for a terminal.

use super::number;
use crate::regression::posterior::Summary;

/// Mean, standard deviation and 90 % interval of each value, aligned.
///
/// ```
/// use dp_examples::regression::posterior::Summary;
/// use dp_examples::report::text::table;
/// let row = Summary { name: "age".into(), mean: 0.0123, sd: 0.0021, low: 0.0088, high: 0.0158 };
/// assert!(table("coefficient", &[row]).contains("age          0.0123  0.0021  [0.0088, 0.0158]"));
/// ```
#[must_use]
pub fn table(title: &str, rows: &[Summary]) -> String {
    let visible =
        |name: &str| name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect::<String>();
    let mut cells = vec![[title.to_owned(), "mean".to_owned(), "sd".to_owned(), "90 % interval".to_owned()]];
    cells.extend(rows.iter().map(|row| {
        let digits = |x: f64| number(x, row.sd);
        [
            visible(&row.name),
            digits(row.mean),
            digits(row.sd),
            format!("[{}, {}]", digits(row.low), digits(row.high)),
        ]
    }));
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2), width(3)];
    let mut text = String::new();
    for (place, row) in cells.iter().enumerate() {
        let [name, mean, sd, interval] = row;
        text += &format!(
            "{name:<a$}  {mean:>b$}  {sd:>c$}  {interval:>d$}\n",
            a = widths[0],
            b = widths[1],
            c = widths[2],
            d = widths[3]
        );
        if place == 0 {
            let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            text += &(rule.join("  ") + "\n");
        }
    }
    text
}
