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

/// Most combinations of values of columns that are measured with each other whatever that takes: those that are named
/// together, and the target with any other column.
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
    let caps = caps(&columns, &core, target);
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
        Singles::new(&columns, &released, most, 3.0 * joint_noise, &caps);
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
    // Exact integer noise: what it deviates by is far below what a number can say beside δ.
    let (epsilon, delta, delta_of_deviations) = (cost, budget.delta, 0.0);
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let treated_as_public = schema.schema().statements(&names);
    let relation = in_words(relation).to_owned();
    let provenance = Provenance {
        epsilon,
        delta,
        delta_of_deviations,
        success,
        relation,
        secret,
        left_out,
        treated_as_public,
        noise,
    };
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

/// How many levels each column may have, that of missing values among them. A target is measured with every column
/// beside the core, so that each of these pairs has to have few enough cells whatever the records are: of columns with
/// more categories than that the rarest share a level. (Columns of numbers have fewer levels anyway.)
fn caps(columns: &[Encoding], core: &[usize], target: Option<usize>) -> Vec<usize> {
    let mut caps = vec![usize::MAX; columns.len()];
    let Some(target) = target else { return caps };
    let possible = |column: usize| {
        let kind = &columns[column].kind;
        let most = if matches!(kind, Kind::Categories(_)) { usize::MAX } else { 2 * LEVELS.1 as usize + 1 };
        Grid::new(kind).cells().min(most) + 1
    };
    let others: Vec<usize> =
        (0..columns.len()).filter(|column| *column != target && !core.contains(column)).collect();
    let Some(widest) = others.iter().map(|&column| possible(column)).max() else { return caps };
    // Where both are wide they have as many levels each.
    caps[target] = (MOST_OF_CORE / widest).max(1 << (MOST_OF_CORE.ilog2() / 2));
    let of_target = possible(target).min(caps[target]);
    others.into_iter().for_each(|column| caps[column] = MOST_OF_CORE / of_target);
    caps
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

#[cfg(test)]
mod tests {
    use dp_accountant::{Ledger, Relation};

    use super::*;

    fn encoding(kind: Kind) -> Encoding {
        Encoding { name: "x".to_owned(), kind, missing_texts: None }
    }

    fn categories(count: usize) -> Encoding {
        encoding(Kind::Categories((0..count).map(|name| name.to_string()).collect()))
    }

    /// Whatever the records are, no pair with the target has more cells than may be.
    #[test]
    fn pairs_with_a_target_are_bounded_before_anything_is_counted() {
        let numbers = || encoding(Kind::Real { low: 0.0, high: 1.0 });
        let widths = |columns: &[Encoding], caps: &[usize]| -> Vec<usize> {
            let possible = |column: &Encoding| match &column.kind {
                Kind::Categories(names) => names.len() + 1,
                _ => 66,
            };
            columns.iter().zip(caps).map(|(column, &cap)| possible(column).min(cap)).collect()
        };
        for target in [0, 1, 2, 3] {
            let columns = [categories(10_000), categories(10_000), categories(2), numbers()];
            let widths = widths(&columns, &caps(&columns, &[], Some(target)));
            for other in (0..4).filter(|other| *other != target) {
                assert!(widths[other] * widths[target] <= MOST_OF_CORE, "{target} and {other}: {widths:?}");
            }
            assert_eq!(widths[2..], [3, 66]);
        }
        // A wide one and narrow ones keep all that they have; so do all where there is no target.
        let columns = [categories(3_000), categories(2), numbers()];
        assert_eq!(widths(&columns, &caps(&columns, &[], Some(0))), [3_001, 3, 66]);
        assert_eq!(caps(&columns, &[], None), [usize::MAX; 3]);
    }

    /// Two columns of 10,000 public categories, all of which stand out of the noise: with one of them for a target
    /// their pair would have 10⁸ cells, more than can be counted, which would be known when they have been paid for.
    #[test]
    fn columns_of_many_categories_can_be_counted_with_a_target() {
        let columns = [categories(10_000), categories(10_000), categories(2)];
        let code = |of: fn(u32) -> u32| (0..20_000).map(of).collect();
        let codes = vec![code(|row| row % 10_000), code(|row| row * 7 % 10_000), code(|row| row % 2)];
        let records = Sensitive::new(Categories::new(vec![10_001, 10_001, 3], codes).unwrap());
        let budget = Budget { epsilon: 2_000.0, delta: 1e-5, relation: Relation::AddRemove };
        let mut marginals = Marginals::owning(records, Seed::for_tests(1)).unwrap();
        let event = Marginals::counts_event(budget.relation, 3, 0.03).unwrap();
        marginals.pay(&Composition::single(event, 1), &mut Ledger::new(budget).unwrap()).unwrap();
        let released = marginals.counts(&[vec![0], vec![1], vec![2]], 0.03).unwrap();
        let widths = |caps: &[usize]| -> Vec<usize> {
            let singles = Singles::new(&columns, &released, |_, _| 32.0, 0.3, caps);
            singles.shares.iter().map(Vec::len).collect()
        };
        let without = widths(&caps(&columns, &[], None));
        assert!(without == [10_000, 10_000, 2] && without[0] * without[1] > MOST_AT_ONCE);
        // A missing values' level is one that there may be.
        assert_eq!(widths(&caps(&columns, &[], Some(0))), [511, 511, 2]);
        assert_eq!(widths(&caps(&columns, &[], Some(2))), [10_000, 10_000, 2]);
    }
}
