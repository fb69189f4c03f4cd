//! What a column does to the mean outcome, averaged over made-up records.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

use super::posterior::{Draws, Summary};
use super::predict::Means;
use super::specification::Specification;
use crate::Result;
use crate::formula::Formula;
use crate::formula::matrix::Design;
use crate::report::number;
use crate::schema::{Entry, Frame, Kind, Missing, Schema, Values, date};

/// Values of a column of numbers at which means are computed: the ends of its bounds, the quarters, and between.
const POINTS: usize = 13;

/// Most columns, and most categories of one, that effects are computed for.
const MOST_COLUMNS: usize = 30;

/// Draws of the posterior that they are computed with.
const DRAWS: usize = 200;

/// Made-up records: at most, at least, and how many multiplications a column may take.
const RECORDS: (usize, usize, usize) = (64, 8, 40_000_000);

/// The mean outcome as a function of one column, other columns being as in made-up records.
///
/// ```text
/// m(x) = 1/R Σ_r E[y | column = x, other columns as in made-up record r]
/// ```
///
/// Made-up records are spread evenly over the public bounds and categories, and always the same for one
/// schema. They say
/// nothing of the file, so that effects are released with the posterior at no further cost. It also means that
/// they are not averages over the people in the file: where an effect differs much from person to person, look at
/// predictions for the persons who are meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// The column.
    pub column: String,
    /// Values of the column: for numbers and dates their place, for categories their number; what they are called;
    /// and the mean outcome there.
    pub points: Vec<(f64, Summary)>,
    /// Whether the places are numbers between which a line makes sense.
    pub continuous: bool,
    /// Differences of the mean outcome: of numbers from the first to the third quarter of the bounds, of
    /// categories from the first
    /// to each other one.
    pub changes: Vec<Summary>,
}

/// A column of made-up records, and values that it can be set to.
struct MadeUp<'s> {
    name: &'s str,
    entry: &'s Entry,
    values: Vec<f64>,
}

impl MadeUp<'_> {
    fn names(&self) -> Vec<String> {
        let Kind::Categories(names) = &self.entry.kind else { return Vec::new() };
        let more = (self.entry.missing == Missing::Category).then(|| "(missing)".to_owned());
        names.iter().cloned().chain(more).collect()
    }

    /// The values that effects are computed at, and what they are called.
    fn points(&self) -> Vec<(f64, String)> {
        let spread = |low: f64, high: f64| {
            (0..POINTS).map(move |k| low + (high - low) * k as f64 / (POINTS - 1) as f64)
        };
        match &self.entry.kind {
            Kind::Range { low, high } => {
                spread(*low, *high).map(|x| (x, number(x, 0.3 * (high - low)))).collect()
            }
            Kind::Dates { low, high, since } => {
                spread(*low, *high).map(|x| (x.round(), date::text(x.round() as i64 + since))).collect()
            }
            Kind::Categories(_) => {
                self.names().into_iter().enumerate().map(|(code, name)| (code as f64, name)).collect()
            }
        }
    }

    /// The column of a frame with these values.
    fn column(&self, values: impl Iterator<Item = f64>) -> Values {
        match &self.entry.kind {
            Kind::Range { low, high } | Kind::Dates { low, high, .. } => {
                Values::Numbers { values: values.collect(), low: *low, high: *high, indicator: false }
            }
            Kind::Categories(_) => {
                Values::Categories { codes: values.map(|code| code as u32).collect(), names: self.names() }
            }
        }
    }
}

/// Effects of the columns of a formula, for up to 30 of them with up to 30 categories each.
///
/// # Errors
///
/// As [`Design::new`]; none for a formula and a schema that a fit was made with.
pub fn effects(
    specification: &Specification,
    formula: &Formula,
    schema: &Schema,
    draws: &Draws,
) -> Result<Vec<Effect>> {
    let draws = draws.kept(DRAWS);
    let width = specification.columns.len() + specification.groups.len() + 1;
    let records = (RECORDS.2 / (POINTS * DRAWS * width)).clamp(RECORDS.1, RECORDS.0);
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let mut uniform = || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
    let described = formula.columns().into_iter().filter_map(|name| Some((name, schema.get(name)?)));
    let columns: Vec<MadeUp<'_>> = described
        .map(|(name, entry)| {
            let mut made_up = MadeUp { name, entry, values: Vec::new() };
            let draw = || match &entry.kind {
                Kind::Range { low, high } => low + (high - low) * uniform(),
                Kind::Dates { low, high, .. } => (low + (high - low) * uniform()).round(),
                Kind::Categories(names) => (names.len() as f64 * uniform()).floor(),
            };
            made_up.values = std::iter::repeat_with(draw).take(records).collect();
            made_up
        })
        .collect();
    let mut found = Vec::new();
    for column in columns.iter().filter(|column| column.names().len() <= MOST_COLUMNS).take(MOST_COLUMNS) {
        let points = column.points();
        let rows = points.len() * records;
        let mut values = BTreeMap::new();
        for other in &columns {
            let at = |row: usize| match other.name == column.name {
                true => points[row / records].0,
                false => other.values[row % records],
            };
            values.insert(other.name.to_owned(), other.column((0..rows).map(at)));
            if let Missing::Value(_) = other.entry.missing {
                let values_present =
                    Values::Numbers { values: vec![0.0; rows], low: 0.0, high: 1.0, indicator: true };
                values.insert(format!("{}.missing", other.name), values_present);
            }
        }
        let design = Design::new(formula, &Frame::made_up(rows, values))?;
        let means = Means::new(specification, &draws, &design)?;
        let of_point = |point: usize| {
            let mut sum = vec![0.0; draws.coefficients.len()];
            for row in point * records..(point + 1) * records {
                sum.iter_mut().zip(means.of(row).0).for_each(|(sum, mean)| *sum += mean / records as f64);
            }
            sum
        };
        let sums: Vec<Vec<f64>> = (0..points.len()).map(of_point).collect();
        let change = |from: usize, to: usize| {
            let name = format!("{} from {} to {}", column.name, points[from].1, points[to].1);
            Summary::of(&name, sums[to].iter().zip(&sums[from]).map(|(to, from)| to - from).collect())
        };
        let continuous = !matches!(column.entry.kind, Kind::Categories(_));
        found.push(Effect {
            column: column.name.to_owned(),
            changes: match continuous {
                true => vec![change(POINTS / 4, POINTS - 1 - POINTS / 4)],
                false => (1..points.len()).map(|to| change(0, to)).collect(),
            },
            points: points
                .iter()
                .zip(&sums)
                .map(|((x, label), sum)| (*x, Summary::of(label, sum.clone())))
                .collect(),
            continuous,
        });
    }
    Ok(found)
}
