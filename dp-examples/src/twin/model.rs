//! What is kept of a table: everything in it was paid for.

use std::collections::BTreeSet;

use ppl_core::junction::{self, Tree};
use serde::{Deserialize, Serialize};

use super::asked::Asked;
use super::constraint::Constraint;
use super::encode::Encoding;
use super::fitting::{Counted, Potentials, distribution};
use super::grid::Grid;
use super::levels::Piece;
use super::schema::Kind;
use super::{Error, Result};

/// The version of files of marginals; they can be read by programs that know no other model.
pub(super) const VERSION: u32 = 4;
/// The version of files of latent classes, and the newest: newer ones are refused.
pub(super) const NEWEST: u32 = 5;
/// The oldest version that is read: before it, round numbers had no cells of their own.
pub(super) const OLDEST: u32 = 4;

/// A column of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its values.
    pub kind: Kind,
    /// Neighbouring cells of its grid and their estimated numbers of records; the last one is for missing
    /// values.
    pub(super) pieces: Vec<(usize, usize, f64)>,
    /// The level of each piece in joint marginals.
    pub(super) levels: Vec<usize>,
    /// The schema's texts for no value, if it has a list.
    #[serde(default)]
    pub(super) missing_texts: Option<Vec<String>>,
    /// Whether this is the class of a model of latent classes, which is no column of the table.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) hidden: bool,
    /// Between which two numbers values have to lie, or that there is a condition on them: where rows were asked for
    /// that have some values only.
    #[serde(skip)]
    pub(super) within: Option<(f64, f64)>,
}

impl Column {
    /// Whether a cell that is no category stands for no value.
    pub(super) fn is_missing(&self, text: &str) -> bool {
        crate::schema::is_missing(self.missing_texts.as_deref(), text)
    }

    /// The number of levels.
    pub(super) fn level_count(&self) -> usize {
        self.levels.iter().max().map_or(0, |most| most.saturating_add(1))
    }

    /// Whether its values have places within their levels, which categories have not.
    pub(super) fn is_number(&self) -> bool {
        !matches!(self.kind, Kind::Categories(_))
    }

    /// The number of levels of values; missing ones have a level of their own after these, or none.
    pub(super) fn levels_of_values(&self) -> usize {
        let values = &self.levels[..self.levels.len() - 1];
        values.iter().max().map_or(0, |most| most + 1)
    }

    /// Whether neighbouring levels are of values that lie beside each other.
    pub(super) fn has_order(&self) -> bool {
        let levels = self.levels_of_values();
        let ordered = match &self.kind {
            Kind::Categories(names) => names.len() == 2 && levels == 2 && !self.hidden,
            _ => levels > 1,
        };
        // Whatever a file says.
        ordered && self.levels[..self.levels.len() - 1].is_sorted()
    }

    /// How unevenly values lie in each piece: for a tilt `s` from −1 to 1 with the density `1 + s (2t − 1)` at the
    /// share `t` of the way. Within a piece nothing was measured, but neighbouring ones say whether it rises or falls:
    /// the slope is the flatter of those to both sides (0 where they differ in sign, as beside a heap), at an end that
    /// to the one side. Even values would make the mean of a column with a long tail too large.
    pub(super) fn tilts(&self) -> Vec<f64> {
        let mut tilts = vec![0.0; self.pieces.len()];
        if matches!(self.kind, Kind::Categories(_)) || self.within.is_some() {
            return tilts;
        }
        // But for the missing values' piece.
        let pieces = &self.pieces[..self.pieces.len() - 1];
        let (grid, cells) = (self.grid(), |place: usize| (pieces[place].0, pieces[place].1));
        let width = |place: usize| grid.measure(cells(place));
        let density = |place: usize| pieces[place].2 / width(place);
        let middle = |place: usize| grid.middle(cells(place));
        let slope = |one: usize, next: usize| (density(next) - density(one)) / (middle(next) - middle(one));
        for (place, tilt) in tilts.iter_mut().enumerate().take(pieces.len()) {
            if pieces[place].0 == pieces[place].1 || width(place) <= 0.0 || density(place) <= 0.0 {
                continue;
            }
            let before = place.checked_sub(1).map(|before| slope(before, place));
            let after = (place + 1 < pieces.len()).then(|| slope(place, place + 1));
            let found = match (before, after) {
                (Some(before), Some(after)) if before * after <= 0.0 => 0.0,
                (Some(before), Some(after)) if before.abs() < after.abs() => before,
                (_, Some(after)) => after,
                (before, None) => before.unwrap_or(0.0),
            };
            // A heap of a single number, as dense as can be, says nothing.
            let tilted = 0.5 * found * width(place) / density(place);
            *tilt = if tilted.is_finite() { tilted.clamp(-1.0, 1.0) } else { 0.0 };
        }
        tilts
    }

    pub(super) fn new(encoded: Encoding, pieces: &[Piece], levels: Vec<usize>) -> Self {
        let Encoding { name, kind, missing_texts } = encoded;
        let pieces = pieces.iter().map(|piece| (piece.first, piece.last, piece.mass)).collect();
        Self { name, kind, pieces, levels, missing_texts, hidden: false, within: None }
    }

    /// The class of each record, which no table has.
    pub(super) fn of_classes(weights: &[f64], records: f64) -> Self {
        let classes = weights.len();
        let mut pieces: Vec<(usize, usize, f64)> =
            weights.iter().enumerate().map(|(class, weight)| (class, class, weight * records)).collect();
        pieces.push((classes, classes, 0.0));
        Self {
            name: "class".to_owned(),
            kind: Kind::Categories((1..=classes).map(|class| class.to_string()).collect()),
            pieces,
            levels: (0..classes).chain([0]).collect(),
            missing_texts: None,
            hidden: true,
            within: None,
        }
    }

    pub(super) fn grid(&self) -> Grid<'_> {
        Grid::new(&self.kind).within(self.within)
    }

    /// The first and last cell of a category, of a number or date, of all from `low..high`, or of no value; and the
    /// ends.
    fn cells_of(&self, text: &str) -> Result<((usize, usize), (f64, f64))> {
        let name = &self.name;
        let everything = (f64::NEG_INFINITY, f64::INFINITY);
        if let Kind::Categories(names) = &self.kind
            && let Some(category) = names.iter().position(|name| name == text)
        {
            return Ok(((category, category), everything));
        }
        let missing = self.grid().cells();
        if text.is_empty() || self.is_missing(text) {
            return Ok(((missing, missing), everything));
        }
        if let Kind::Categories(names) = &self.kind {
            return Err(Error::input(format!(
                "--given: column '{name}' has no category '{text}'; it has {}, and {name}= stands for no value",
                names.join(", ")
            )));
        }
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let wrong = || {
            Error::input(format!(
                "--given: column '{name}': expected a value within its bounds, or two as in {name}=LOW..HIGH"
            ))
        };
        let (least, most) = self.kind.range();
        let number = |text: &str| {
            let number = self.kind.number(text.trim()).filter(|number| (least..=most).contains(number));
            number.ok_or_else(wrong)
        };
        let (low, high) = (number(low)?, number(high)?);
        let (low, high) = match self.kind {
            // The whole numbers and days that are asked for.
            Kind::Whole { .. } | Kind::Dates { .. } => (low.ceil(), high.floor()),
            _ => (low, high),
        };
        if low > high {
            return Err(wrong());
        }
        let grid = self.grid();
        Ok(((grid.cell(low), grid.cell(high)), (low, high)))
    }
}

/// A clique of the junction tree, as files have it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Clique {
    /// The column that it brings in.
    pub(super) column: usize,
    /// Its parents, in increasing order.
    pub(super) parents: Vec<usize>,
    /// The place of the earlier clique that holds the parents.
    pub(super) host: usize,
}

impl From<&junction::Clique> for Clique {
    fn from(clique: &junction::Clique) -> Self {
        let (column, parents) = (clique.variable(), clique.parents().to_vec());
        Self { column, parents, host: clique.host() }
    }
}

/// Where a model comes from, and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The upper end of ε.
    pub epsilon: f64,
    /// The δ that goes with it, where everything is drawn exactly as it is accounted for.
    pub delta: f64,
    /// What is added to δ because noise is not: models of before there was this number have 0.
    #[serde(default)]
    pub delta_of_deviations: f64,
    /// How often at most somebody is right who guesses whether a record was there, with even odds before; models of
    /// before there was this number do not have it.
    #[serde(default)]
    pub success: Option<f64>,
    /// Which data sets are neighbours, in words.
    pub relation: String,
    /// Whether the noise came from a secret seed. If not, nothing is private.
    pub secret: bool,
    /// Columns of the table that the twin does not have.
    pub left_out: Vec<String>,
    /// What was read from the records and is treated as public, in words.
    #[serde(default)]
    pub treated_as_public: Vec<String>,
    /// The standard deviation of the noise in counts of single columns, and of chosen marginals.
    pub noise: (f64, f64),
}

impl Provenance {
    /// The δ of the guarantee.
    #[must_use]
    pub fn stated_delta(&self) -> f64 {
        self.delta + self.delta_of_deviations
    }
}

/// A distribution of records, from noisy marginals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Model {
    pub(super) format: String,
    pub(super) version: u32,
    /// The estimated number of records.
    pub records: f64,
    /// The column that every other one depends on, where one was named.
    pub target: Option<String>,
    /// What it cost.
    pub provenance: Provenance,
    /// The table's columns; of a model of latent classes, the last one is the class.
    pub(super) columns: Vec<Column>,
    /// What has to hold of every row.
    pub(super) constraints: Vec<Constraint>,
    pub(super) cliques: Vec<Clique>,
    /// Noisy counts of levels: of single columns, then of several together.
    pub(super) tables: Vec<Counted>,
    /// The factor of each table, as logarithms.
    pub(super) potentials: Potentials,
    /// For each clique, its own column given its parents: what the potentials say.
    #[serde(skip)]
    pub(super) conditionals: Vec<Vec<f64>>,
    /// Where rows were asked for that have some values only.
    #[serde(skip)]
    pub(super) asked: Option<Box<Asked>>,
}

/// The name of the format of model files.
pub(super) const FORMAT: &str = "twin model";

impl Model {
    /// The columns, in the order of the table.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns[..self.columns.len() - usize::from(self.classes().is_some())]
    }

    /// The number of latent classes, for a model of these.
    #[must_use]
    pub fn classes(&self) -> Option<usize> {
        self.columns.last().filter(|column| column.hidden).map(Column::level_count)
    }

    pub(super) fn tree(&self) -> Result<Tree> {
        let mut tree = Tree::new(self.columns.iter().map(Column::level_count).collect())?;
        for clique in &self.cliques {
            tree.push(clique.column, clique.parents.clone(), clique.host)?;
        }
        Ok(tree)
    }

    /// Computes what a file does not hold.
    pub(super) fn complete(&mut self) -> Result<()> {
        let tree = self.check()?;
        self.conditionals = distribution(&tree, &self.tables, &self.potentials)?;
        Ok(())
    }

    /// Sets of columns that were measured together, but for those within others.
    #[must_use]
    pub fn measured_together(&self) -> Vec<Vec<&str>> {
        let sets: BTreeSet<BTreeSet<usize>> = self
            .tables
            .iter()
            .filter(|table| table.columns.len() > 1 && !self.has_hidden(table))
            .map(|table| table.columns.iter().copied().collect())
            .collect();
        let within = |set: &&BTreeSet<usize>| !sets.iter().any(|other| other != *set && set.is_subset(other));
        let names =
            |set: &BTreeSet<usize>| set.iter().map(|&column| self.columns[column].name.as_str()).collect();
        sets.iter().filter(within).map(names).collect()
    }

    /// How many pairs of columns were measured together, and how many there are.
    #[must_use]
    pub fn pairs_measured(&self) -> (usize, usize) {
        let mut pairs = BTreeSet::new();
        for table in self.tables.iter().filter(|table| !self.has_hidden(table)) {
            for (place, &one) in table.columns.iter().enumerate() {
                pairs
                    .extend(table.columns[place + 1..].iter().map(|&other| (one.min(other), one.max(other))));
            }
        }
        let columns = self.columns().len();
        (pairs.len(), columns * (columns - 1) / 2)
    }

    fn has_hidden(&self, table: &Counted) -> bool {
        table.columns.iter().any(|&column| self.columns[column].hidden)
    }

    /// The same model, where a column has this category, a number or date from `low..high`, both included, this one,
    /// or, for an empty text, no value. Of a cell of the column's grid that an end lies in, values on the right side of
    /// it count.
    ///
    /// Rows of a part of a level are found by rejection: drawn from the levels as a whole, and kept where they have the
    /// values. Where that would take more than 2·10⁷ rows, what goes with the part is taken to be what goes with the
    /// level.
    ///
    /// # Errors
    /// If there is no such column, category, number or date within the bounds, all of which are public; if no row can
    /// have it and what was asked for before.
    pub fn given(&self, column: &str, value: &str) -> Result<Self> {
        let place = self.columns().iter().position(|known| known.name == column);
        let place = place.ok_or_else(|| {
            let names: Vec<&str> = self.columns().iter().map(|column| column.name.as_str()).collect();
            Error::input(format!("--given: no column '{column}'; the columns are {}", names.join(", ")))
        })?;
        let ((first, last), (low, high)) = self.columns[place].cells_of(value)?;
        let mut model = self.clone();
        let own = &mut model.columns[place];
        let levels = own.level_count();
        let (mut before, mut after) = (vec![0.0; levels], vec![0.0; levels]);
        let asked = own.within.is_some();
        let former = own.within.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
        let within = (former.0.max(low), former.1.min(high));
        let own_range_is_empty = within.0 > within.1;
        let whole = Grid::new(&own.kind).within(own.within);
        let narrowed = whole.clone().within(Some(within));
        for ((from, to, mass), &level) in own.pieces.iter_mut().zip(&own.levels) {
            // Of a level without records something may be asked all the same: cells count a little.
            let cells = (*to - *from + 1) as f64;
            // What was asked for before is all that there is.
            let held = *mass + if asked { 0.0 } else { 1e-9 * cells };
            let (start, end) = ((*from).max(first), (*to).min(last));
            // Of numbers that are no round ones next to nothing is at one of them.
            let all = whole.measure((*from, *to));
            let little = 1e-9 * all.max(f64::MIN_POSITIVE);
            let share = if start <= end { narrowed.measure((start, end)) + little } else { 0.0 };
            let kept = held * (share / (all + little)).min(1.0);
            before[level] += held;
            after[level] += kept;
            if kept > 0.0 {
                (*from, *to) = (start, end);
            }
            *mass = kept;
        }
        own.within = Some(within);
        let tree = self.tree()?;
        let mut potentials = self.conditionals.clone();
        let clique = self.cliques.iter().position(|clique| clique.column == place).unwrap_or(0);
        for (cell, weight) in potentials[clique].iter_mut().enumerate() {
            *weight *= after[cell % levels] / before[cell % levels].max(f64::MIN_POSITIVE);
        }
        let total = tree.log_total(&potentials)?;
        let nothing = own_range_is_empty || total == f64::NEG_INFINITY;
        if nothing {
            return Err(Error::input(format!(
                "--given: no row has this value of '{column}', given what else was asked for; a range is {column}=LOW..HIGH"
            )));
        }
        model.conditionals = tree.conditionals(potentials)?;
        // Of levels that hold some of it, all.
        let asked = self.asked.as_deref();
        let mut covering = asked.map_or(&self.conditionals, |asked| &asked.conditionals).clone();
        for (cell, weight) in covering[clique].iter_mut().enumerate() {
            *weight *= f64::from(u8::from(after[cell % levels] > 0.0));
        }
        let is_part = |(before, after): (&f64, &f64)| *after > 0.0 && *after < (1.0 - 1e-9) * before;
        model.asked = Some(Box::new(Asked {
            whole: asked.map_or(self, |asked| &asked.whole).clone(),
            share: asked.map_or(1.0, |asked| asked.share) * (total - tree.log_total(&covering)?).exp(),
            conditionals: tree.conditionals(covering)?,
            is_partial: asked.is_some_and(|asked| asked.is_partial) || before.iter().zip(&after).any(is_part),
        }));
        Ok(model)
    }

    /// The tree of a model, if a file holds one that can be computed with.
    pub(super) fn check(&self) -> Result<Tree> {
        let wrong = |what: &str| Err(Error::input(format!("not a model that this program wrote: {what}")));
        let columns = self.columns.len();
        let seen = self.columns.iter().take(columns.saturating_sub(1));
        if columns == 0
            || seen.chain(self.columns.last().filter(|_| columns == 1)).any(|column| column.hidden)
        {
            return wrong("a class that is not the last column, or no column beside it");
        }
        if self.cliques.len() != columns || self.potentials.len() != self.tables.len() {
            return wrong("the numbers of columns and tables differ");
        }
        if !(self.records.is_finite() && (0.0..=1e12).contains(&self.records)) {
            return wrong("the number of records is out of range");
        }
        let usable = |noise: f64| (0.0..=1e15).contains(&noise);
        if !usable(self.provenance.noise.0) || !usable(self.provenance.noise.1) {
            return wrong("the noise of its counts");
        }
        for column in &self.columns {
            let usable = match &column.kind {
                Kind::Whole { low, high } | Kind::Dates { low, high } => {
                    low <= high && low.unsigned_abs().max(high.unsigned_abs()) <= 1 << 53
                }
                Kind::Real { low, high } => low < high && (high - low).is_finite(),
                Kind::Categories(names) => !names.is_empty(),
            };
            if !usable {
                return wrong("bounds of a column");
            }
            let cells = column.grid().cells();
            let fits = |&(first, last, mass): &(usize, usize, f64)| {
                first <= last && last <= cells && mass.is_finite() && mass >= 0.0
            };
            let missing_last = column.pieces.last().is_some_and(|piece| piece.0 == cells);
            let ordered = column.pieces.windows(2).all(|pair| pair[0].1 < pair[1].0);
            let levels = column.level_count();
            let many = column.levels.iter().any(|&level| level >= column.pieces.len());
            if !missing_last || !ordered || many || column.levels.len() != column.pieces.len() || levels == 0
            {
                return wrong("the pieces of a column");
            }
            if !column.pieces.iter().all(fits) {
                return wrong("the pieces of a column");
            }
            let mut there = vec![false; levels];
            column.levels.iter().for_each(|&level| there[level] = true);
            if there.contains(&false) {
                return wrong("the levels of a column");
            }
        }
        // Before a tree of that size is made, which keeps a number for each cell of a clique and of its host.
        let (mut total, mut sized) = (0_usize, Vec::with_capacity(columns));
        for clique in &self.cliques {
            let own = clique.parents.iter().chain([&clique.column]);
            let sizes = own.map(|&column| self.columns.get(column).map_or(usize::MAX, Column::level_count));
            let cells = sizes.fold(1_usize, usize::saturating_mul);
            let of_host =
                if clique.parents.is_empty() { 0 } else { sized.get(clique.host).copied().unwrap_or(0) };
            total = total.saturating_add(cells).saturating_add(of_host);
            if total > MOST_CELLS {
                return wrong("the size of its cliques");
            }
            sized.push(cells);
        }
        let Ok(tree) = self.tree() else { return wrong("the order of its tables") };
        if !tree.cliques().iter().map(Clique::from).eq(self.cliques.iter().cloned()) {
            return wrong("the order of its tables");
        }
        for (table, logs) in self.tables.iter().zip(&self.potentials) {
            let known = |&column: &usize| column < columns;
            let distinct: BTreeSet<usize> = table.columns.iter().copied().collect();
            if !table.columns.iter().all(known) || distinct.len() != table.columns.len() {
                return wrong("the columns of a table");
            }
            if tree.host_of(&table.columns).is_none() {
                return wrong("a table that lies in no clique");
            }
            let sizes = table.columns.iter().map(|&column| self.columns[column].level_count());
            let cells = sizes.fold(1_usize, usize::saturating_mul);
            let (counts, variances) = (&table.counts, &table.variances);
            let sized = counts.len() == cells && logs.len() == cells;
            if !sized || !(variances.len() == 1 || variances.len() == cells) {
                return wrong("the size of a table");
            }
            let finite = counts.iter().chain(logs).all(|number| number.abs() <= 1e15);
            if !finite || !variances.iter().all(|&variance| variance > 0.0 && variance <= 1e30) {
                return wrong("the numbers of a table");
            }
        }
        Ok(tree)
    }
}

/// Most cells of all cliques of a model that is read, and of the hosts of those with parents.
const MOST_CELLS: usize = 1 << 27;
