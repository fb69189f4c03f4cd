//! A page for a person: what the twin looks like, and what the guarantee means. Everything on it is made from
//! the model and rows drawn from it.

use std::fmt::Write;

use dp_accountant::Relation;

use super::grid::Grid;
use super::model::{Column, Model, Provenance};
use super::sample::Rows;
use super::schema::Kind;
use super::scores::Scores;
use super::singles::in_words;
use crate::report::escaped;

mod pairs;

/// Most bars of a column.
const BARS: usize = 16;
/// Most columns of which pictures are drawn.
const MOST_COLUMNS: usize = 60;

/// The page: HTML that stands by itself and fetches nothing. With scores, exact figures of real rows are on it, too,
/// marked as not covered.
#[must_use]
pub fn report(model: &Model, rows: &Rows, scores: Option<&Scores>) -> String {
    let mut page = String::from(HEAD);
    // Writing to a string does not fail.
    let _ = write_page(&mut page, model, rows, scores.is_none());
    if let Some(scores) = scores {
        let _ = write_scores(&mut page, model, scores);
    }
    page.push_str("</main></body></html>\n");
    page
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>A private twin</title><style>\
body{font:16px/1.5 system-ui,sans-serif;margin:0;color:#1b1f24;background:#fff}main{max-width:68rem;margin:auto;padding:1rem}\
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem}.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(19rem,1fr));gap:1rem}\
figure{margin:0;padding:.6rem;border:1px solid #d8dee4;border-radius:.4rem}figcaption{font-weight:600;overflow-wrap:anywhere}\
svg{width:100%;height:auto;display:block}svg text{font:11px system-ui,sans-serif;fill:#444c56}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.8rem}td,th{padding:.15rem .35rem;text-align:right}th{font-weight:500}\
.box{background:#f6f8fa;border-radius:.4rem;padding:.2rem 1rem}.warn{background:#fff1e5}\
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}figure{border-color:#30363d}svg text{fill:#adbac7}.box{background:#161b22}.warn{background:#3b2300}}\
</style></head><body><main>";

fn write_page(page: &mut String, model: &Model, rows: &Rows, is_all: bool) -> std::fmt::Result {
    let cost = &model.provenance;
    write!(
        page,
        "<h1>A private twin of a table</h1><p>{} columns; about {} records.",
        model.columns().len(),
        count(model.records)
    )?;
    write!(
        page,
        " The number of rows of the twin, {}, is not the exact number of records.</p>",
        count(rows.count as f64)
    )?;
    if cost.secret {
        meaning(page, cost, is_all)?;
    } else {
        page.push_str(
            "<p class=\"box warn\"><b>Not private.</b> The noise came from a seed that is known, for tests: nothing is \
             protected.</p>",
        );
    }
    for statement in &cost.treated_as_public {
        write!(
            page,
            "<p class=\"box warn\">Treated as public, and not covered: {}.</p>",
            escaped(statement)
        )?;
    }
    page.push_str(
        "<h2>Columns</h2><p>Bars: the twin. Dots: what the noisy counts that were released say, with two standard \
        deviations of the noise of a count for each part that was told apart.</p><div class=\"cards\">",
    );
    for (place, column) in model.columns().iter().enumerate().take(MOST_COLUMNS) {
        card(page, model, column, &rows.columns[place])?;
    }
    page.push_str("</div>");
    if model.columns().len() > MOST_COLUMNS {
        write!(page, "<p>And {} more columns.</p>", model.columns().len() - MOST_COLUMNS)?;
    }
    match model.classes() {
        Some(classes) => write!(
            page,
            "<h2>Latent classes</h2><p>Each record is of one of {classes} classes that are not in the table, and within a \
             class columns are independent. The classes were found from noisy expected counts of all columns; how columns \
             go together is what classes of different shares make of it, and no pair of columns was measured by itself. \
             Intervals from this twin do not know of the noise.</p>"
        )?,
        None => measured_together(page, model)?,
    }
    if !model.constraints.is_empty() {
        page.push_str("<h2>What holds of every row</h2><p>Public constraints of the schema:</p><ul>");
        for constraint in &model.constraints {
            write!(page, "<li>{}</li>", escaped(&constraint.text))?;
        }
        page.push_str("</ul>");
    }
    pairs::write_pairs(page, model, rows)?;
    correlations(page, model, rows)
}

fn measured_together(page: &mut String, model: &Model) -> std::fmt::Result {
    let (measured, pairs) = model.pairs_measured();
    write!(
        page,
        "<h2>What was measured together</h2><p>{measured} of {pairs} pairs of columns. The model knows of these \
         columns jointly; of others, what follows from these. An interval that is combined from several twins knows of \
         the noise, and of having drawn the records from a population; what it cannot know of is how far columns that \
         were not measured together depart from what the model makes of them. Name the columns of an analysis with \
         <code>--together</code> to have all of their pairs measured.</p><ul>"
    )?;
    for set in model.measured_together() {
        let names: Vec<String> = set.iter().map(|name| escaped(name)).collect();
        write!(page, "<li>{}</li>", names.join(", "))?;
    }
    page.push_str("</ul>");
    Ok(())
}

/// How like real rows the twin is.
fn write_scores(page: &mut String, model: &Model, scores: &Scores) -> std::fmt::Result {
    page.push_str(
        "<h2>Beside real rows</h2><p class=\"box warn\"><b>Not covered by the guarantee:</b> exact figures of real rows. \
         Do not publish this page unless those rows are public.</p><table>",
    );
    let mut row = |name: &str, value: f64| write!(page, "<tr><th>{name}</th><td>{value:.4}</td></tr>");
    row("total variation of columns, numbers in 16 bins", scores.total_variation_of_columns)?;
    row("total variation of pairs of columns", scores.total_variation_of_pairs)?;
    row("mean difference of correlations", scores.correlation_difference)?;
    if let (Some(area), Some(target)) = (scores.area_under_curve, &model.target) {
        let name = format!(
            "area under the ROC curve of {}, on the real rows, by a logistic regression on the twin",
            escaped(target)
        );
        row(&name, area)?;
    }
    page.push_str("</table>");
    Ok(())
}

/// What ε and δ mean, in words. With exact figures the page itself is not covered.
fn meaning(page: &mut String, provenance: &Provenance, is_all: bool) -> std::fmt::Result {
    let Provenance { epsilon, success, relation, .. } = provenance;
    let delta = provenance.stated_delta();
    // What ε and δ alone say is more than what the events do.
    let success = success.unwrap_or(1.0 / (1.0 + (-epsilon).exp()) + delta).min(1.0);
    let replaced = relation.as_str() == in_words(Relation::ReplaceOne);
    let (either, question) = match replaced {
        true => ("with one value of the record and with another", "which of two given records it is"),
        false => ("with the record in the table and without it", "whether it is in the table"),
    };
    write!(
        page,
        "<h2>What ε = {} means</h2><div class=\"box\"><p>Take one person's record, and anything that {} could show. The \
         probability that it is shown {either} differs by a factor of at most e<sup>ε</sup> = {}, and by at most {delta:e} \
         (δ) beyond that. Somebody who knows all other records, and wonders with even odds {question}, is right in at most \
         {} of 100 cases.</p>",
        dp_accountant::rounded_up(*epsilon),
        if is_all { "this twin, its model and this page" } else { "this twin and its model" },
        // Rounded up, as all that is promised.
        (100.0 * epsilon.exp()).ceil() / 100.0,
        (100.0 * success).ceil(),
    )?;
    write!(page, "<p>The guarantee is for tables that differ by {}.", escaped(relation))?;
    if !replaced {
        page.push_str(
            " To tell which of two values a person has is to tell tables apart that differ by one record removed and one \
             added, for which ε and δ are larger.",
        );
    }
    if !is_all {
        page.push_str(" It does not cover the exact figures of real rows at the end of this page.");
    }
    page.push_str(
        "</p><p><b>Protected:</b> each record as a whole, all its columns together, against anybody with any other \
         knowledge who cannot tell the random numbers of ChaCha20 from true ones.</p><p><b>Not protected:</b> what is true \
         of people in general, which the twin is made to show, \
         and which holds of a person whether they are in the table or not; people who have several records, which count \
         several times; the schema (bounds and categories), which is taken for public. Every further release about the same \
         people adds to the loss.</p></div>",
    );
    Ok(())
}

/// A picture of a column.
fn card(page: &mut String, model: &Model, column: &Column, codes: &[(u32, f32)]) -> std::fmt::Result {
    let grid = column.grid();
    let bars = bars(column, &grid);
    let mut drawn = vec![0.0; bars.len()];
    let mut of_piece = vec![0; column.pieces.len()];
    let mut released = vec![0.0; bars.len()];
    let mut parts = vec![0.0_f64; bars.len()];
    for (piece, &(first, last, mass)) in column.pieces.iter().enumerate() {
        let bar = bar_of(&bars, (first, last));
        of_piece[piece] = bar;
        released[bar] += mass;
        parts[bar] += 1.0;
    }
    codes.iter().for_each(|(piece, _)| drawn[of_piece[*piece as usize]] += 1.0);
    let scale = model.records / codes.len().max(1) as f64;
    drawn.iter_mut().for_each(|count| *count *= scale);
    let (noise, width) = (model.provenance.noise.0, 300.0 / bars.len() as f64);
    let spread = |place: usize| 2.0 * noise * parts[place].sqrt();
    // Ends of lines are on the picture, too: a line that is cut looks like less noise than there is.
    let ends = released.iter().enumerate().map(|(place, released)| released + spread(place));
    let most = drawn.iter().copied().chain(ends).fold(1.0, f64::max);
    write!(
        page,
        "<figure><figcaption>{}</figcaption><svg viewBox=\"0 0 300 130\" role=\"img\">",
        escaped(&column.name)
    )?;
    for (place, (drawn, released)) in drawn.iter().zip(&released).enumerate() {
        let x = width * place as f64;
        let height = |count: f64| 100.0 * (count / most).clamp(0.0, 1.0);
        let (tall, dot, middle) = (height(*drawn), 105.0 - height(*released), x + 0.5 * width);
        let spread = spread(place);
        let ends = (105.0 - height(released + spread), 105.0 - height(released - spread));
        write!(
            page,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{tall:.1}\" fill=\"#4c78a8\"><title>{}: {} in the \
             twin</title></rect><line x1=\"{middle:.1}\" x2=\"{middle:.1}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#d1570b\"/>\
             <circle cx=\"{middle:.1}\" cy=\"{dot:.1}\" r=\"2\" fill=\"#d1570b\"/>",
            x + 0.08 * width,
            105.0 - tall,
            0.84 * width,
            escaped(&bars[place].2),
            count(*drawn),
            ends.0,
            ends.1
        )?;
    }
    let (first, last) = (&bars[0].2, &bars[bars.len() - 1].2);
    write!(
        page,
        "<text x=\"0\" y=\"123\">{}</text><text x=\"300\" y=\"123\" text-anchor=\"end\">{}</text></svg></figure>",
        escaped(&shortened(first)),
        escaped(&shortened(last))
    )
}

/// The bar in which the middle of these cells is.
fn bar_of(bars: &[(usize, usize, String)], (first, last): (usize, usize)) -> usize {
    let middle = (first + last) / 2;
    bars.iter().position(|bar| (bar.0..=bar.1).contains(&middle)).unwrap_or(bars.len() - 1)
}

/// Cells of each bar, and what it is called; the last one is for missing values where there are any.
fn bars(column: &Column, grid: &Grid<'_>) -> Vec<(usize, usize, String)> {
    let cells = grid.cells();
    let mut found = Vec::new();
    if let (Kind::Categories(names), true) = (&column.kind, cells <= 3 * BARS) {
        found.extend((0..cells).map(|cell| (cell, cell, names[cell].clone())));
    } else {
        let size = cells.div_ceil(BARS);
        for first in (0..cells).step_by(size) {
            let last = (first + size).min(cells) - 1;
            let (low, high) = (grid.text((first, first), 0.0), grid.text((last, last), 0.999));
            let name = if low == high { low } else { format!("{low} to {high}") };
            found.push((first, last, name));
        }
    }
    if column.pieces.last().is_some_and(|piece| piece.2 > 0.0) {
        found.push((cells, cells, "missing".to_owned()));
    } else if let Some(last) = found.last_mut() {
        last.1 = cells;
    }
    found
}

/// Correlations of the twin, as a table in colours.
fn correlations(page: &mut String, model: &Model, rows: &Rows) -> std::fmt::Result {
    let shown = model.columns().len().min(MOST_COLUMNS);
    if shown < 2 || rows.count < 2 {
        return Ok(());
    }
    let standard: Vec<Vec<f64>> =
        (0..shown).map(|place| standardised(&model.columns()[place], &rows.columns[place])).collect();
    page.push_str("<h2>Correlations of the twin</h2><p>Categories count by their number in the schema.</p><div class=\"scroll\"><table><tr><th></th>");
    (0..shown).try_for_each(|place| write!(page, "<th>{}</th>", place + 1))?;
    page.push_str("</tr>");
    for (row, a) in standard.iter().enumerate() {
        write!(page, "<tr><th>{} {}</th>", escaped(&shortened(&model.columns()[row].name)), row + 1)?;
        for b in &standard[..=row] {
            let r: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / rows.count as f64;
            let colour = if r < 0.0 { "76,120,168" } else { "209,87,11" };
            write!(page, "<td style=\"background:rgba({colour},{:.2})\">{r:.2}</td>", r.abs().min(1.0))?;
        }
        page.push_str("</tr>");
    }
    page.push_str("</table></div>");
    Ok(())
}

fn standardised(column: &Column, codes: &[(u32, f32)]) -> Vec<f64> {
    let grid = column.grid();
    // A missing number says nothing of how columns go together: it counts as the mean of the others.
    let of_piece: Vec<f64> = column
        .pieces
        .iter()
        .map(|&(first, last, _)| if first < grid.cells() { grid.middle((first, last)) } else { f64::NAN })
        .collect();
    let mut numbers: Vec<f64> = codes.iter().map(|(piece, _)| of_piece[*piece as usize]).collect();
    let known = numbers.iter().filter(|x| !x.is_nan());
    let (sum, count) = known.fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    let mean = if count > 0.0 { sum / count } else { 0.0 };
    numbers.iter_mut().filter(|x| x.is_nan()).for_each(|x| *x = mean);
    let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / numbers.len() as f64;
    let scale = if variance > 0.0 { variance.sqrt() } else { 1.0 };
    numbers.into_iter().map(|x| (x - mean) / scale).collect()
}

/// A count without decimals.
fn count(number: f64) -> String {
    format!("{:.0}", number.max(0.0))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(22) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
