//! What is kept of a table: everything in it was paid for.

use serde::{Deserialize, Serialize};

use super::encode::Encoding;
use super::fitting::Measured;
use super::grid::Grid;
use super::levels::Piece;
use super::schema::Kind;
use super::tree::{Clique, Tree};
use super::{Error, Result};

/// The version of the files that are written; newer ones are refused.
pub(super) const VERSION: u32 = 1;

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
}

impl Column {
    /// Whether a cell that is no category stands for no value.
    pub(super) fn is_missing(&self, text: &str) -> bool {
        crate::schema::is_missing(self.missing_texts.as_deref(), text)
    }

    /// The number of levels.
    pub(super) fn level_count(&self) -> usize {
        self.levels.iter().max().map_or(0, |most| most + 1)
    }

    pub(super) fn new(encoded: Encoding, pieces: &[Piece], levels: Vec<usize>) -> Self {
        let Encoding { name, kind, missing_texts } = encoded;
        let pieces = pieces.iter().map(|piece| (piece.first, piece.last, piece.mass)).collect();
        Self { name, kind, pieces, levels, missing_texts }
    }

    pub(super) fn grid(&self) -> Grid<'_> {
        Grid::new(&self.kind)
    }
}

/// Where a model comes from, and what it cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The upper end of ε.
    pub epsilon: f64,
    /// The δ that goes with it.
    pub delta: f64,
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
    pub(super) columns: Vec<Column>,
    pub(super) cliques: Vec<Clique>,
    /// For each clique, its own column given its parents.
    pub(super) conditionals: Vec<Vec<f64>>,
    /// Noisy counts, for draws of other models that may have led to them.
    pub(super) joint: Vec<Vec<f64>>,
    pub(super) joint_variance: f64,
    pub(super) single: Vec<Vec<(f64, f64)>>,
}

/// The name of the format of model files.
pub(super) const FORMAT: &str = "twin model";

impl Model {
    /// The columns, in the order of the table.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(super) fn tree(&self) -> Tree {
        let mut tree = Tree::new(self.columns.iter().map(Column::level_count).collect());
        for clique in &self.cliques {
            tree.push(clique.column, clique.parents.clone(), clique.host);
        }
        tree
    }

    pub(super) fn measured(&self) -> Measured {
        Measured { joint: self.joint.clone(), variance: self.joint_variance, single: self.single.clone() }
    }

    /// Each column that has parents, with their names: what was measured together.
    pub fn measured_together(&self) -> impl Iterator<Item = (&str, Vec<&str>)> {
        let name = |column: usize| self.columns[column].name.as_str();
        let parents =
            move |clique: &Clique| clique.parents.iter().map(|&parent| name(parent)).collect::<Vec<_>>();
        self.cliques
            .iter()
            .filter(|clique| !clique.parents.is_empty())
            .map(move |clique| (name(clique.column), parents(clique)))
    }

    /// The same model, where a column has this category.
    ///
    /// # Errors
    /// If there is no such column of categories, or no such category; the columns and categories are public.
    pub fn given(&self, column: &str, value: &str) -> Result<Self> {
        let place = self.columns.iter().position(|known| known.name == column);
        let place = place.ok_or_else(|| {
            let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
            Error::input(format!("--given: no column '{column}'; the columns are {}", names.join(", ")))
        })?;
        let Kind::Categories(names) = &self.columns[place].kind else {
            return Err(Error::input(format!(
                "--given: column '{column}' has no categories, and only such can be given"
            )));
        };
        let category = names.iter().position(|name| name == value).ok_or_else(|| {
            Error::input(format!(
                "--given: column '{column}' has no category '{value}'; it has {}",
                names.join(", ")
            ))
        })?;
        let mut model = self.clone();
        let level = model.columns[place].levels[category];
        for (piece, (_, _, mass)) in model.columns[place].pieces.iter_mut().enumerate() {
            *mass = if piece == category { 1.0 } else { 0.0 };
        }
        let tree = self.tree();
        let mut potentials = self.conditionals.clone();
        for (clique, potential) in
            potentials.iter_mut().enumerate().filter(|(c, _)| self.cliques[*c].column == place)
        {
            let width = tree.width(clique);
            let other = |(cell, _): &(usize, &mut f64)| cell % width != level;
            potential.iter_mut().enumerate().filter(other).for_each(|(_, weight)| *weight = 0.0);
        }
        model.conditionals = tree.conditionals(potentials);
        Ok(model)
    }

    /// That a file holds a model that can be computed with.
    pub(super) fn check(&self) -> Result<()> {
        let wrong = |what: &str| Err(Error::input(format!("not a model that this program wrote: {what}")));
        let columns = self.columns.len();
        if columns == 0 || self.cliques.len() != columns || self.conditionals.len() != columns {
            return wrong("the numbers of columns and tables differ");
        }
        if !(self.records.is_finite() && (0.0..=1e12).contains(&self.records)) {
            return wrong("the number of records is out of range");
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
            let all_there = |level| column.levels.contains(&level);
            if !(0..levels).all(all_there) {
                return wrong("the levels of a column");
            }
        }
        let mut seen = vec![false; columns];
        for (place, (clique, conditional)) in self.cliques.iter().zip(&self.conditionals).enumerate() {
            let known = |column: usize| {
                self.cliques[clique.host].column == column
                    || self.cliques[clique.host].parents.contains(&column)
            };
            let first = place == 0 && clique.host == 0 && clique.parents.is_empty();
            let later =
                place > 0 && clique.host < place && clique.parents.iter().all(|&parent| known(parent));
            if !(first || later) || clique.column >= columns || seen[clique.column] {
                return wrong("the order of its tables");
            }
            seen[clique.column] = true;
            let sizes = clique
                .parents
                .iter()
                .chain([&clique.column])
                .map(|&column| self.columns[column].level_count());
            let cells = sizes.fold(1_usize, usize::saturating_mul);
            let shares = |share: &f64| share.is_finite() && (0.0..=1.0 + 1e-9).contains(share);
            if conditional.len() != cells || !conditional.iter().all(shares) {
                return wrong("the size of a table");
            }
        }
        Ok(())
    }
}
