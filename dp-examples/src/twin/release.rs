//! From a table to a model: everything that is released, in order.

use dp_accountant::{Budget, Composition, Purse, Relation};
use dp_sampler::Seed;
use dp_vi::Sensitive;
use dp_vi::summaries::{Marginal, Marginals};

use super::encode::{Encoded, Encoding, encode};
use super::fitting::{nearest, start};
use super::grid::Grid;
use super::levels::{Counts, Piece, levels, pieces};
use super::model::{Column, FORMAT, Model, Provenance, VERSION};
use super::plan::{Plan, Shape};
use super::schema::Schema;
use super::structure::{Grown, Known, grow};
use super::{Error, Result};
use crate::table::Table;

/// What a twin is made with.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// What this twin may cost.
    pub budget: Budget,
    /// A column that every other one is measured together with.
    pub target: Option<String>,
    /// Columns that are all measured with each other, so that analyses of them can be trusted most. Without
    /// any, all columns of a table of few values.
    pub together: Vec<String>,
}

/// A model, with what was debited for it.
#[derive(Debug)]
pub struct Fitted {
    /// The model.
    pub model: Model,
    /// The events.
    pub events: Composition,
}

/// Most combinations of values of columns that are all measured with each other.
const MOST_OF_CORE: usize = 1 << 18;
/// Most columns of a table of which pairs are chosen after the tree has grown.
const MOST_FOR_PAIRS: usize = 40;
/// Levels of a column of numbers: at least and at most so many.
const LEVELS: (f64, f64) = (4.0, 32.0);

/// Releases marginals of a table, and fits a model to them.
///
/// The table is read here, and nothing of it is seen again but what comes through [`Marginals`]. The seed has
/// to be secret and used for nothing else.
///
/// # Errors
/// A schema that does not go with the table, a target that it does not have, a budget that cannot be met, or
/// a purse that does not allow it; then nothing is debited.
pub fn fit(
    table: &Table,
    schema: &Schema,
    settings: &Settings,
    purse: &mut (impl Purse + ?Sized),
    seed: Seed,
) -> Result<Fitted> {
    let Encoded { columns, left_out, codes } = encode(table, schema)?;
    let records = Sensitive::new(codes);
    let place = |option: &str, name: &String| {
        columns.iter().position(|column| column.name == *name).ok_or_else(|| {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            Error::input(format!(
                "{option}: no column '{name}' in the schema, which has {}",
                names.join(", ")
            ))
        })
    };
    let target = settings.target.as_ref().map(|name| place("--target", name)).transpose()?;
    let together: Vec<usize> =
        settings.together.iter().map(|name| place("--together", name)).collect::<Result<_>>()?;
    let core = core(&columns, together, target)?;
    let relation = purse.ledger().budget().relation;
    let budget = Budget { relation, ..settings.budget };
    let all = records.sizes().len();
    let rounds = columns.len() - core.len().max(1);
    let pairs = if columns.len() <= MOST_FOR_PAIRS { rounds / 2 } else { 0 };
    let plan = Plan::new(&budget, Shape { singles: all, core: core.len(), rounds, pairs })?;
    let events = plan.events(relation)?;
    let cost = plan.epsilon(&budget)?;

    let secret = seed.is_secret();
    let mut marginals = Marginals::new(&records, seed)?;
    marginals.pay(&events, purse)?;
    let singles =
        marginals.counts(&(0..all).map(|column| vec![column]).collect::<Vec<_>>(), plan.single_noise)?;
    // Public from here on, but for what `marginals` holds.
    let total = total(&singles);
    let grids: Vec<Grid<'_>> = columns.iter().map(|column| Grid::new(&column.kind)).collect();
    let mut blocks = singles[columns.len()..].iter();
    let mut found: Vec<Vec<Piece>> = Vec::with_capacity(columns.len());
    for (grid, single) in grids.iter().zip(&singles) {
        let of_blocks = grid.block().and_then(|_| blocks.next()).map(|marginal| marginal.counts.as_slice());
        let counts = Counts { cells: &single.counts, blocks: of_blocks, noise: single.noise };
        found.push(pieces(&counts, grid, total));
    }
    // A marginal of two columns of numbers and one of two values has, with this number of levels, about as
    // many records in a cell as three standard deviations of its noise.
    let joint_noise = Plan::deviation(plan.joint_noise, relation);
    let most = (total / (6.0 * joint_noise)).sqrt().clamp(LEVELS.0, LEVELS.1) as usize;
    let of =
        |(column, pieces): (&Encoding, &Vec<Piece>)| levels(pieces, &column.kind, most, 3.0 * joint_noise);
    let level_of: Vec<Vec<usize>> = columns.iter().zip(&found).map(of).collect();
    marginals.merge(&maps(&grids, &found, &level_of, &records))?;
    let (shares, variances): (Vec<_>, Vec<_>) =
        found.iter().zip(&level_of).map(|(pieces, levels)| of_levels(pieces, levels)).unzip();
    let known =
        Known { shares: &shares, variances: &variances, records: total, target, core, plan, relation };
    let Grown { tree, tables } = grow(&known, &mut marginals)?;
    let mut potentials = start(&tables, total);
    let conditionals = nearest(&tree, &tables, total, &mut potentials)
        .ok_or_else(|| Error::input("a table without a clique"))?;

    let relation = match relation {
        Relation::AddRemove => "the presence of one record",
        Relation::ReplaceOne => "the values of one record",
    };
    let noise = (singles[0].noise, joint_noise);
    let (epsilon, delta) = (cost, budget.delta);
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let treated_as_public = schema.schema().statements(&names);
    let relation = relation.to_owned();
    let provenance = Provenance { epsilon, delta, relation, secret, left_out, treated_as_public, noise };
    let columns = columns.into_iter().zip(&found).zip(level_of);
    let model = Model {
        format: FORMAT.to_owned(),
        version: VERSION,
        records: total,
        target: settings.target.clone(),
        provenance,
        columns: columns.map(|((column, pieces), levels)| Column::new(column, pieces, levels)).collect(),
        constraints: schema.constraints().to_vec(),
        cliques: tree.cliques,
        tables,
        potentials,
        conditionals,
    };
    Ok(Fitted { model, events })
}

/// The columns that are all measured with each other: those that were named, with the target; without any all
/// columns, where they have few combinations.
fn core(columns: &[Encoding], mut named: Vec<usize>, target: Option<usize>) -> Result<Vec<usize>> {
    // What levels there will be is not known before the release; this many at the most.
    let most = |&column: &usize| Grid::new(&columns[column].kind).cells().min(2 * LEVELS.1 as usize) + 1;
    let combinations =
        |core: &[usize]| core.iter().map(most).fold(1_usize, |cells, size| cells.saturating_mul(size));
    if named.is_empty() {
        let every: Vec<usize> = (0..columns.len()).collect();
        return Ok(if combinations(&every) <= MOST_OF_CORE { every } else { Vec::new() });
    }
    named.extend(target);
    named.sort_unstable();
    named.dedup();
    match combinations(&named) {
        found if found > MOST_OF_CORE => Err(Error::input(format!(
            "--together: the columns have up to {found} combinations of values, at most {MOST_OF_CORE} can be; name \
             fewer, or give them fewer categories"
        ))),
        _ => Ok(named),
    }
}

/// The number of records, from the totals of all marginals by their precisions; at least 1.
fn total(singles: &[Marginal]) -> f64 {
    let precise = |marginal: &Marginal| 1.0 / marginal.counts.len() as f64;
    let precision: f64 = singles.iter().map(precise).sum();
    let sum: f64 = singles.iter().map(|single| precise(single) * single.counts.iter().sum::<f64>()).sum();
    (sum / precision).clamp(1.0, 1e11)
}

/// For each column and each of its cells the level; the columns for blocks have nothing more to tell.
fn maps(
    grids: &[Grid<'_>],
    found: &[Vec<Piece>],
    levels: &[Vec<usize>],
    records: &Sensitive<dp_vi::summaries::Categories>,
) -> Vec<Vec<u32>> {
    let map = |((grid, pieces), levels): ((&Grid<'_>, &Vec<Piece>), &Vec<usize>)| {
        let mut map = vec![0; grid.cells() + 1];
        for (piece, &level) in pieces.iter().zip(levels) {
            map[piece.first..=piece.last].fill(level as u32);
        }
        map
    };
    let own = grids.iter().zip(found).zip(levels).map(map);
    own.chain(records.sizes()[grids.len()..].iter().map(|&size| vec![0; size as usize])).collect()
}

/// Shares of the levels, and the variances of the estimated numbers of records.
fn of_levels(pieces: &[Piece], levels: &[usize]) -> (Vec<f64>, Vec<f64>) {
    let count = levels.iter().max().map_or(0, |most| most + 1);
    let (mut shares, mut variances) = (vec![0.0; count], vec![0.0; count]);
    let least = pieces.iter().map(|piece| piece.variance).fold(f64::MIN_POSITIVE, f64::max);
    for (piece, &level) in pieces.iter().zip(levels) {
        shares[level] += piece.mass;
        // What was cut off at zero is known better than its noise.
        variances[level] += if piece.mass > 0.0 { piece.variance } else { 0.0 };
    }
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share = if sum > 0.0 { *share / sum } else { 1.0 / count as f64 });
    variances.iter_mut().for_each(|variance| *variance = variance.max(least));
    (shares, variances)
}
