//! The table of weights for a terminal.
//!
//! The crate `comfy-table` (8.0, without default features) was tried: about 15 lines would replace the 56
//! that lay the table out here, for two more crates. It has no headings over several columns, so that
//! "non-private" widens the column below it. Other tables of this crate are printed line by line as their
//! rows are found, or are two calls of `write!`.

use crate::logistic::summary::{Marginal, WeightSummary};

/// The weights as an aligned table: truth, private mean, standard deviation and 90 % interval, and the
/// non-private mean and standard deviation beside them.
///
/// The columns of the truth and of the non-private posterior are there only where some weight has them. Lines
/// end in a line feed and have no trailing spaces.
///
/// # Accuracy
///
/// Numbers are shown with enough decimals for two significant digits of the smallest standard deviation, at
/// least three; a number of a million or more, or too small to show, is in scientific notation.
///
/// # Examples
///
/// ```
/// use dp_examples::logistic::summary::{Marginal, WeightSummary};
/// use dp_examples::logistic::table_text::table_text;
///
/// let weights = [WeightSummary {
///     name: "length".into(),
///     truth: None,
///     private: Marginal::new(-0.79, 0.05)?,
///     reference: None,
/// }];
/// let text = table_text(&weights);
/// assert!(text.ends_with("length    -0.790  0.050  [-0.872, -0.708]\n"), "{text}");
/// # Ok::<(), dp_examples::Error>(())
/// ```
pub fn table_text(weights: &[WeightSummary]) -> String {
    let decimals = decimals(weights);
    let has_truth = weights.iter().any(|weight| weight.truth.is_some());
    let has_reference = weights.iter().any(|weight| weight.reference.is_some());

    let mut columns =
        vec![Column::new("", "weight", weights.iter().map(|weight| visible(&weight.name)).collect())];
    if has_truth {
        let cells = weights.iter().map(|weight| optional(weight.truth, decimals)).collect();
        columns.push(Column::new("", "truth", cells));
    }
    let private =
        |cell: &dyn Fn(&Marginal) -> String| weights.iter().map(|weight| cell(&weight.private)).collect();
    columns.push(Column::new("private", "mean", private(&|marginal| number(marginal.mean(), decimals))));
    columns.push(Column::new("", "sd", private(&|marginal| number(marginal.sd(), decimals))));
    // The two ends are aligned among themselves first, so that the commas stand below one another.
    let ends: Vec<(String, String)> = weights
        .iter()
        .map(|weight| weight.private.interval_90())
        .map(|(low, high)| (number(low, decimals), number(high, decimals)))
        .collect();
    let (low, high) = (widest(ends.iter().map(|ends| &ends.0)), widest(ends.iter().map(|ends| &ends.1)));
    let intervals = ends.iter().map(|ends| format!("[{:>low$}, {:>high$}]", ends.0, ends.1)).collect();
    columns.push(Column::new("", "90 % interval", intervals));
    if has_reference {
        let reference = |cell: fn(&Marginal) -> f64| {
            weights.iter().map(|weight| optional(weight.reference.as_ref().map(cell), decimals)).collect()
        };
        columns.push(Column::new("non-private", "mean", reference(Marginal::mean)));
        columns.push(Column::new("", "sd", reference(Marginal::sd)));
    }
    render(&columns, weights.len())
}

struct Column {
    group: &'static str,
    title: &'static str,
    cells: Vec<String>,
    width: usize,
}

impl Column {
    fn new(group: &'static str, title: &'static str, cells: Vec<String>) -> Self {
        let width = widest(cells.iter()).max(title.chars().count());
        Self { group, title, cells, width }
    }
}

fn widest<'a>(cells: impl Iterator<Item = &'a String>) -> usize {
    cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// Two heading lines, a rule, and a line per weight; names to the left, numbers to the right.
fn render(columns: &[Column], rows: usize) -> String {
    let (mut groups, mut titles, mut rule) = (String::new(), String::new(), String::new());
    for (index, column) in columns.iter().enumerate() {
        let width = column.width;
        // A new group stands a little apart.
        let gap = match (index, column.group.is_empty()) {
            (0, _) => "",
            (_, true) => "  ",
            (_, false) => "    ",
        };
        if !column.group.is_empty() {
            let start = titles.chars().count() + gap.len();
            groups = format!("{groups:<start$}{}", column.group);
        }
        let title = if index == 0 {
            format!("{:<width$}", column.title)
        } else {
            format!("{:>width$}", column.title)
        };
        titles = format!("{titles}{gap}{title}");
        rule = format!("{rule}{}{}", " ".repeat(gap.len()), "─".repeat(width));
    }
    let mut text = format!("{groups}\n{titles}\n{rule}\n");
    for row in 0..rows {
        let mut line = String::new();
        for (index, column) in columns.iter().enumerate() {
            let (width, cell) = (column.width, column.cells.get(row).map_or("", String::as_str));
            line += match (index, column.group.is_empty()) {
                (0, _) => format!("{cell:<width$}"),
                (_, true) => format!("  {cell:>width$}"),
                (_, false) => format!("    {cell:>width$}"),
            }
            .as_str();
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Decimals for two significant digits of the smallest standard deviation, between 3 and 6.
fn decimals(weights: &[WeightSummary]) -> usize {
    let marginals = weights.iter().flat_map(|weight| [Some(weight.private), weight.reference]).flatten();
    let smallest = marginals.map(|marginal| marginal.sd()).fold(1.0, f64::min);
    (1.0 - smallest.log10().floor()).clamp(3.0, 6.0) as usize
}

fn optional(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| String::from("-"), |value| number(value, decimals))
}

fn number(value: f64, decimals: usize) -> String {
    let smallest_shown = 0.5 * 10f64.powi(-(decimals as i32));
    if value != 0.0 && (value.abs() >= 1e6 || value.abs() < smallest_shown) {
        format!("{value:.2e}")
    } else {
        format!("{value:.decimals$}")
    }
}

/// A column name from a file, fit for a terminal.
fn visible(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::logistic::summary::tests::weight;

    #[test]
    fn shows_everything_aligned() {
        let weights = [
            weight("w1", Some(-0.79), (-0.8123, 0.0512), Some((-0.79, 0.0301))),
            weight("größe", Some(12.03), (11.5, 0.1), None),
        ];
        let expected = "                  private                            non-private
weight   truth      mean     sd     90 % interval      mean     sd
──────  ──────    ──────  ─────  ────────────────    ──────  ─────
w1      -0.790    -0.812  0.051  [-0.897, -0.728]    -0.790  0.030
größe   12.030    11.500  0.100  [11.336, 11.664]         -      -
";
        assert_eq!(table_text(&weights), expected);
    }

    #[test]
    fn columns_without_content_are_left_out() {
        let text = table_text(&[weight("a", None, (1.0, 0.5), None)]);
        assert!(!text.contains("truth") && !text.contains("non-private"), "{text}");
        assert_eq!(table_text(&[]).lines().count(), 3);
    }

    #[test]
    fn extreme_numbers_stay_short() {
        assert_eq!(number(1e300, 3), "1.00e300");
        assert_eq!(number(-1e-9, 3), "-1.00e-9");
        assert_eq!(number(0.0, 3), "0.000");
        assert_eq!(decimals(&[weight("a", None, (0.0, 0.0012), None)]), 4);
        assert_eq!(decimals(&[weight("a", None, (0.0, 1e-30), None)]), 6);
        assert_eq!(decimals(&[weight("a", None, (0.0, 1e30), None)]), 3);
    }

    proptest! {
        #[test]
        fn every_line_is_as_wide_as_the_rule(
            rows in prop::collection::vec(("\\PC{0,10}", -1e9..1e9f64, 1e-9..1e9f64, any::<bool>()), 1..6),
        ) {
            let weights: Vec<_> = rows
                .iter()
                .map(|(name, mean, sd, both)| weight(name, both.then_some(*mean), (*mean, *sd), both.then_some((*mean, *sd))))
                .collect();
            let text = table_text(&weights);
            let widths: Vec<usize> = text.lines().skip(1).map(|line| line.chars().count()).collect();
            prop_assert_eq!(widths.len(), weights.len() + 2);
            prop_assert!(widths.iter().all(|&width| width == widths[0]), "{}", text);
        }
    }
}
