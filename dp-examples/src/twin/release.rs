//! From a table to a model: everything that is released, in order.

use dp_accountant::{Accountant, Budget, Composition, Purse};
use dp_sampler::Seed;
use dp_vi::Sensitive;
use dp_vi::summaries::{Categories, Marginals};

use super::encode::{Data, Encoded, Encoding};
use super::fitting::{nearest, start};
use super::grid::Grid;
use super::model::{Clique, Column, FORMAT, Model, Provenance, VERSION};
use super::plan::{Plan, Shape};
use super::schema::Kind;
use super::shrunk::shrunk;
use super::singles::{LEVELS, Singles, in_words, maps};
use super::structure::{Grown, Known, grow};
use super::{Error, Result};

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
/// Levels of a column of numbers, over `(N/σ)^¼`. With 2 instead of a number that grew as a square root, regressions on
/// twins of 30,000 generated records came from 0.84 and 0.71 of their coefficients to 0.99 and 0.99; with 1.5 a
/// parabola was lost.
const LEVELS_BY_NOISE: f64 = 2.0;
/// Most columns of a table of which pairs are chosen after the tree has grown.
const MOST_FOR_PAIRS: usize = 40;

/// Releases marginals of a table, and fits a model to them.
///
/// The records are read here, and nothing of them is seen again but what comes through [`Marginals`]. The seed has
/// to be secret and used for nothing else.
///
/// # Errors
/// A schema that does not go with the table, a target that it does not have, a budget that cannot be met, or
/// a purse that does not allow it; then nothing is debited.
pub fn fit(data: Data, settings: &Settings, purse: &mut (impl Purse + ?Sized), seed: Seed) -> Result<Fitted> {
    let (Encoded { columns, left_out, sizes, codes }, schema) = data.encoded()?;
    let records = Sensitive::new(Categories::new(sizes, codes)?);
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
    let (core, most_of_core) = core(&columns, together, target)?;
    let relation = purse.ledger().budget().relation;
    let budget = Budget { relation, ..settings.budget };
    let all = records.sizes().len();
    let rounds = columns.len() - core.len().max(1);
    let pairs = if columns.len() <= MOST_FOR_PAIRS { rounds / 2 } else { 0 };
    let plan = Plan::new(&budget, Shape { singles: all, core: core.len(), rounds, pairs })?;
    let events = plan.events(relation)?;
    let cost = plan.epsilon(&budget)?;
    let success = Some(Accountant::new(relation).with(&events).success(0.5)?.upper);

    let secret = seed.is_secret();
    let sizes = records.sizes().to_vec();
    check_cells(&sizes)?;
    let mut marginals = Marginals::owning(records, seed)?;
    marginals.pay(&events, purse)?;
    let released =
        marginals.counts(&(0..all).map(|column| vec![column]).collect::<Vec<_>>(), plan.single_noise)?;
    // Public from here on, but for what `marginals` holds. A marginal of two columns of k levels each has k² cells, and
    // noise that may not be negative leaves a part of about 0.4 σ k²/N of the records in the wrong ones; levels lose a
    // part of about 1/k² of how columns depend on each other, where positions within levels do not say it. The sum is
    // least for a k that grows as (N/σ)^¼.
    let joint_noise = Plan::deviation(plan.joint_noise, relation);
    let most = |column: usize, total: f64| {
        let limit = if core.contains(&column) { most_of_core as f64 } else { f64::INFINITY };
        (LEVELS_BY_NOISE * (total / joint_noise).powf(0.25)).min(limit)
    };
    let Singles { records: total, found, levels, shares, variances } =
        Singles::new(&columns, &released, most, 3.0 * joint_noise);
    marginals.merge(&maps(&columns, &found, &levels, &sizes))?;
    let known =
        Known { shares: &shares, variances: &variances, records: total, target, core, plan, relation };
    let Grown { tree, tables } = grow(&known, &mut marginals)?;
    let columns = columns.into_iter().zip(&found).zip(levels);
    let columns: Vec<Column> =
        columns.map(|((column, pieces), levels)| Column::new(column, pieces, levels)).collect();
    let estimates = shrunk(&tables, &columns);
    let mut potentials = start(&estimates, total);
    let conditionals = nearest(&tree, &estimates, total, &mut potentials)?;

    let noise = (released[0].noise, joint_noise);
    let (epsilon, delta) = (cost, budget.delta);
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let treated_as_public = schema.schema().statements(&names);
    let relation = in_words(relation).to_owned();
    let provenance =
        Provenance { epsilon, delta, success, relation, secret, left_out, treated_as_public, noise };
    let model = Model {
        format: FORMAT.to_owned(),
        version: VERSION,
        records: total,
        target: settings.target.clone(),
        provenance,
        columns,
        constraints: schema.constraints().to_vec(),
        cliques: tree.cliques().iter().map(Clique::from).collect(),
        tables,
        potentials,
        conditionals,
        asked: None,
    };
    Ok(Fitted { model, events })
}

/// The columns that are all measured with each other: those that were named, with the target; without any all
/// columns, where they have few combinations. And how many levels each column of numbers may have at the most: as many
/// as let all of them be told apart together.
fn core(columns: &[Encoding], mut named: Vec<usize>, target: Option<usize>) -> Result<(Vec<usize>, usize)> {
    let widest = LEVELS.1 as usize;
    // What levels there will be is not known before the release; twice as many as are wanted at the most.
    let of_column = |column: usize, wanted: usize| {
        let kind = &columns[column].kind;
        let most = if matches!(kind, Kind::Categories(_)) { usize::MAX } else { 2 * wanted };
        Grid::new(kind).cells().min(most) + 1
    };
    let combinations = |core: &[usize], wanted: usize| {
        core.iter().fold(1_usize, |cells, &column| cells.saturating_mul(of_column(column, wanted)))
    };
    if named.is_empty() {
        let every: Vec<usize> = (0..columns.len()).collect();
        let all = combinations(&every, widest) <= MOST_OF_CORE;
        return Ok((if all { every } else { Vec::new() }, widest));
    }
    named.extend(target);
    named.sort_unstable();
    named.dedup();
    let fewest = LEVELS.0 as usize;
    match (fewest..=widest).rev().find(|&wanted| combinations(&named, wanted) <= MOST_OF_CORE) {
        Some(wanted) => Ok((named, wanted)),
        None => Err(Error::input(format!(
            "--together: the columns have {} combinations of values if numbers have {fewest} levels, at most \
             {MOST_OF_CORE} can be; name fewer, or give them fewer categories",
            combinations(&named, fewest)
        ))),
    }
}

/// Most cells that are counted at once.
const MOST_AT_ONCE: usize = 1 << 26;

/// Checks, before anything is paid for, that all columns can be counted one by one.
pub(super) fn check_cells(sizes: &[u32]) -> Result<()> {
    let cells: usize = sizes.iter().map(|size| *size as usize).sum();
    if cells > MOST_AT_ONCE {
        return Err(Error::input(format!(
            "the columns have {cells} values together, at most {MOST_AT_ONCE} are counted: leave columns out of the schema"
        )));
    }
    Ok(())
}
