//! Pictures of the pairs of columns that say most of each other.

use std::fmt::Write;

use super::{MOST_COLUMNS, bar_of, bars, escaped, shortened};
use crate::twin::model::Model;
use crate::twin::sample::Rows;

/// Most pairs of which pictures are drawn.
const MOST_PAIRS: usize = 12;

/// A column of the twin in the bars of its picture.
struct Binned<'m> {
    name: &'m str,
    /// What each bar is called.
    bars: Vec<String>,
    /// The bar of each row.
    rows: Vec<u32>,
}

/// For the pairs of columns whose mutual information in the twin is largest, how the second is distributed given the
/// first:
///
/// ```text
/// shade(a, b) = √(n(a, b)/n(a))        I = Σ n(a, b)/n · log(n(a, b) n/(n(a) n(b))) − (a − 1)(b − 1)/(2 n)
/// ```
///
/// with `a` and `b` values that occur. The last part is what independent columns have on average of drawing `n` rows
/// alone; pairs that have no more are left out. All of it is computed from the twin.
pub(super) fn write_pairs(page: &mut String, model: &Model, rows: &Rows) -> std::fmt::Result {
    let binned: Vec<Binned<'_>> =
        (0..model.columns().len().min(MOST_COLUMNS)).map(|place| binned(model, rows, place)).collect();
    let mut found = Vec::new();
    for (first, a) in binned.iter().enumerate() {
        for (second, b) in binned.iter().enumerate().skip(first + 1) {
            let information = information(&counts(a, b), b.bars.len());
            if information > 0.0 {
                found.push((information, first, second));
            }
        }
    }
    if found.is_empty() {
        return Ok(());
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    page.push_str(
        "<h2>Pairs of columns</h2><p>Of the pairs that say most of each other in the twin: how the second column is distributed \
         (upwards) for each value of the first (to the right). The darker, the larger the share; each column of a picture adds up \
         to one.</p><div class=\"cards\">",
    );
    for &(_, first, second) in found.iter().take(MOST_PAIRS) {
        picture(page, &binned[first], &binned[second])?;
    }
    page.push_str("</div>");
    Ok(())
}

fn binned<'m>(model: &'m Model, rows: &Rows, place: usize) -> Binned<'m> {
    let column = &model.columns()[place];
    let bars = bars(column, &column.grid());
    let of_piece: Vec<u32> =
        column.pieces.iter().map(|piece| bar_of(&bars, (piece.0, piece.1)) as u32).collect();
    let rows = rows.columns[place].iter().map(|(piece, _)| of_piece[*piece as usize]).collect();
    Binned { name: &column.name, bars: bars.into_iter().map(|bar| bar.2).collect(), rows }
}

/// How many rows have each value of the one column (slowest) and of the other.
fn counts(a: &Binned<'_>, b: &Binned<'_>) -> Vec<f64> {
    let mut counts = vec![0.0; a.bars.len() * b.bars.len()];
    for (x, y) in a.rows.iter().zip(&b.rows) {
        counts[*x as usize * b.bars.len() + *y as usize] += 1.0;
    }
    counts
}

/// Mutual information in nats, less what independent columns have on average.
fn information(counts: &[f64], width: usize) -> f64 {
    let total: f64 = counts.iter().sum();
    if total == 0.0 {
        return 0.0;
    }
    let of_rows: Vec<f64> = counts.chunks(width).map(|row| row.iter().sum()).collect();
    let of_columns: Vec<f64> = (0..width).map(|y| counts.iter().skip(y).step_by(width).sum()).collect();
    let part = |(place, count): (usize, &f64)| match *count > 0.0 {
        true => count / total * (count * total / (of_rows[place / width] * of_columns[place % width])).ln(),
        false => 0.0,
    };
    let found: f64 = counts.iter().enumerate().map(part).sum();
    let occupied = |sums: &[f64]| sums.iter().filter(|sum| **sum > 0.0).count().saturating_sub(1) as f64;
    found - occupied(&of_rows) * occupied(&of_columns) / (2.0 * total)
}

fn picture(page: &mut String, a: &Binned<'_>, b: &Binned<'_>) -> std::fmt::Result {
    let (counts, height) = (counts(a, b), b.bars.len());
    let (across, up) = (300.0 / a.bars.len() as f64, 110.0 / height as f64);
    write!(
        page,
        "<figure><figcaption>{} by {}</figcaption><svg viewBox=\"0 0 300 130\" role=\"img\">",
        escaped(b.name),
        escaped(a.name)
    )?;
    for (x, row) in counts.chunks(height).enumerate() {
        let all: f64 = row.iter().sum();
        for (y, count) in row.iter().enumerate().filter(|(_, count)| **count > 0.0) {
            write!(
                page,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{across:.1}\" height=\"{up:.1}\" fill=\"#4c78a8\" fill-opacity=\"{:.2}\">\
                 <title>{} {}: {:.0} % are {} {}</title></rect>",
                across * x as f64,
                110.0 - up * (y + 1) as f64,
                (count / all).sqrt(),
                escaped(a.name),
                escaped(&a.bars[x]),
                100.0 * count / all,
                escaped(b.name),
                escaped(&b.bars[y])
            )?;
        }
    }
    write!(
        page,
        "<text x=\"0\" y=\"123\">{}</text><text x=\"300\" y=\"123\" text-anchor=\"end\">{}</text></svg></figure>",
        escaped(&shortened(&a.bars[0])),
        escaped(&shortened(&a.bars[a.bars.len() - 1]))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &'static str, bars: usize, rows: Vec<u32>) -> Binned<'static> {
        Binned { name, bars: (0..bars).map(|bar| format!("<{bar}>")).collect(), rows }
    }

    #[test]
    fn information_is_that_of_the_joint_shares() {
        let rows: Vec<u32> = (0..1200).collect();
        let a = column("a", 2, rows.iter().map(|i| i % 2).collect());
        let same = column("b", 3, rows.iter().map(|i| i % 2).collect());
        let other = column("c", 3, rows.iter().map(|i| i / 2 % 3).collect());
        // One bit for a copy; of independent ones, less than nothing.
        let copy = information(&counts(&a, &same), 3);
        assert!((copy - (2.0_f64.ln() - 1.0 / 2400.0)).abs() < 1e-12, "{copy}");
        let none = information(&counts(&a, &other), 3);
        assert!((none + 2.0 / 2400.0).abs() < 1e-12, "{none}");
        assert_eq!(information(&[0.0; 6], 3), 0.0);
        let mut page = String::new();
        picture(&mut page, &a, &same).unwrap();
        assert_eq!(page.matches("<rect").count(), 2);
        assert!(page.contains("a &lt;0&gt;: 100 % are b &lt;0&gt;") && !page.contains("<0>"), "{page}");
    }
}
