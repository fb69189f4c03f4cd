//! Summaries, tables of counts, choices and statistics.

use super::{Make, Outcomes, Setting, ledger};
use dp_accountant::{Budget, Composition, Ledger, Relation};
use dp_sampler::Seed;
use dp_vi::summaries::{Candidate, Categories, Marginals, Range, Summaries};
use dp_vi::{ConjugateVi, Sensitive};
use ndarray::Array2;
use ppl_core::{Column, Ctx, Records};
use ppl_distributions::{Dirichlet, Words};
use std::error::Error;

const NOISE_MULTIPLIER: f64 = 1.5;

/// The data set with the record, and its neighbour. `apart` puts the other records at both ends, so that half of them
/// are on either side of the middle; otherwise all are in the middle.
fn neighbours(relation: Relation, apart: bool) -> [Vec<f64>; 2] {
    let (low, high) = (0.0, 1.0);
    let others = if apart { [[low; 3], [high; 3]].concat() } else { vec![0.5 * (low + high); 6] };
    let with = |last: f64| [&others[..], &[last]].concat();
    match relation {
        Relation::AddRemove => [with(high), others],
        Relation::ReplaceOne => [with(high), with(low)],
    }
}

/// Outcomes of a summary of one column.
fn summaries(
    (relation, apart): (Relation, bool),
    count: usize,
    statistic: impl Fn(&mut Summaries<'_>, &mut Ledger) -> dp_vi::Result<f64>,
) -> Result<Outcomes, Box<dyn Error>> {
    let mut events = Composition::new();
    let mut one = |values: Vec<f64>, seed: u64| -> Result<Vec<f64>, Box<dyn Error>> {
        let records = Sensitive::new(Records::from_columns([("x", values)])?);
        let mut summaries = Summaries::new(&records, Seed::for_tests(seed))?;
        let mut numbers = Vec::with_capacity(count);
        for _ in 0..count {
            let mut ledger = ledger(relation)?;
            numbers.push(statistic(&mut summaries, &mut ledger)?);
            events = ledger.events().clone();
        }
        Ok(numbers)
    };
    let [with, without] = neighbours(relation, apart);
    let (present, absent) = (one(with, 21)?, one(without, 22)?);
    Ok(Outcomes { relation, events, law: None, present, absent })
}

/// Two columns of two values each, of which the record has the second ones; under replace-one another has the first.
fn categories(relation: Relation, present: bool) -> Result<Sensitive<Categories>, Box<dyn Error>> {
    let mut column = vec![0, 0, 1, 1];
    match (relation, present) {
        (_, true) => column.push(1),
        (Relation::ReplaceOne, false) => column.push(0),
        (Relation::AddRemove, false) => {}
    }
    Ok(Sensitive::new(Categories::new(vec![2, 2], vec![column.clone(), column])?))
}

fn marginals(
    relation: Relation,
    count: usize,
    events: &dyn Fn() -> dp_vi::Result<Composition>,
    statistic: impl Fn(&mut Marginals<'_>) -> dp_vi::Result<f64>,
) -> Result<Outcomes, Box<dyn Error>> {
    let one = |present: bool, first: u64| -> Result<Vec<f64>, Box<dyn Error>> {
        let records = categories(relation, present)?;
        (0..count as u64)
            .map(|k| {
                let mut marginals = Marginals::new(&records, Seed::for_tests(first + k))?;
                marginals.pay(&events()?, &mut ledger(relation)?)?;
                Ok(statistic(&mut marginals)?)
            })
            .collect()
    };
    let (present, absent) = (one(true, 0)?, one(false, 1 << 32)?);
    Ok(Outcomes { relation, events: events()?, law: None, present, absent })
}

/// One step of variational Bayes from noisy statistics: words that only one document has.
fn statistics(relation: Relation, count: usize) -> Result<Outcomes, Box<dyn Error>> {
    let base = Array2::from_elem((3, 2), 300_u16);
    let with = |last: [u16; 2]| {
        let mut all = base.clone();
        let _ = all.push_row(ndarray::arr1(&last).view());
        all
    };
    let model = |ctx: &mut Ctx<'_>| {
        let beta = ctx.sample("beta", Dirichlet::symmetric(1.0, 2))?;
        ctx.each_record(|ctx, document| {
            let words = Words::mixed(ctx.constant(vec![1.0]), beta.reshape([1, 2]));
            ctx.observe("words", words, document.get("counts")?)
        })
    };
    let budget = Budget { epsilon: 2.0, delta: 1e-5, relation };
    let mut events = Composition::new();
    let mut one = |counts: Array2<u16>, first: u64| -> Result<Vec<f64>, Box<dyn Error>> {
        let records = Sensitive::new(Records::from_columns([("counts", Column::from(counts))])?);
        let mut numbers = Vec::with_capacity(count);
        for k in 0..count as u64 {
            let mut ledger = ledger(relation)?;
            let vi = ConjugateVi::new(model).budget(budget).steps(1).clip_norm(6.0);
            let fit = vi.seed(Seed::for_tests(first + k)).fit_from(&records, &mut ledger)?;
            let natural = fit.parameters().find(|(name, _)| name.starts_with("natural"));
            numbers.push(natural.map_or(f64::NAN, |(_, values)| values[1] - values[0]));
            events = ledger.events().clone();
        }
        Ok(numbers)
    };
    let present = one(with([0, 900]), 0)?;
    let absent = match relation {
        Relation::AddRemove => one(base.clone(), 1 << 32)?,
        Relation::ReplaceOne => one(with([900, 0]), 1 << 32)?,
    };
    Ok(Outcomes { relation, events, law: None, present, absent })
}

/// Every summary in both relations.
pub(super) fn cases() -> Vec<(Setting, Make)> {
    let mut cases: Vec<(Setting, Make)> = Vec::new();
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        let mut add = |release: &'static str, bound: &'static str, make: Make| {
            let (sampler, noise) = ("all records", "exact");
            let relation = relation.to_string();
            let why = release.starts_with("median").then_some(
                "the side of one comparison is all that is released, and tells less than the noisy number behind it",
            );
            cases.push((Setting { release, sampler, relation, bound, noise, why }, make));
        };
        if relation == Relation::AddRemove {
            add("number of records", "1 a record", {
                Box::new(move |n| {
                    summaries((relation, false), n, |s, ledger| s.count(NOISE_MULTIPLIER, ledger))
                })
            });
        }
        add("mean of a column", "clamped to a range", {
            Box::new(move |n| {
                summaries((relation, false), n, |s, ledger| {
                    let mean = s.mean("x", (0.0, 1.0), NOISE_MULTIPLIER, ledger)?;
                    // The sum about the middle, and the count, which moves with it under add/remove.
                    let more = if relation == Relation::AddRemove { 0.5 * mean.count } else { 0.0 };
                    Ok((mean.value - 0.5) * mean.count.max(1.0) + more)
                })
            })
        });
        add("histogram of a column", "one cell a record", {
            Box::new(move |n| {
                summaries((relation, false), n, |s, ledger| {
                    let counts = s.histogram("x", &[-1.0, 0.25, 0.75, 2.0], NOISE_MULTIPLIER, ledger)?.counts;
                    Ok(counts[2] - counts[0] * f64::from(u8::from(relation == Relation::ReplaceOne)))
                })
            })
        });
        add("median of a column, one halving", "one rank a record", {
            Box::new(move |n| {
                // A record decides where the others are balanced.
                summaries((relation, true), n, |s, ledger| {
                    Ok(s.quantile("x", 0.5, Range::new(0.0, 1.0, 1)?, NOISE_MULTIPLIER, ledger)?.value)
                })
            })
        });
        let of_counts = move || {
            let event = Marginals::counts_event(relation, 2, NOISE_MULTIPLIER)?;
            Ok(Composition::single(event, 1))
        };
        add("counts of two marginals", "one cell of each a record", {
            Box::new(move |n| {
                marginals(relation, n, &of_counts, |m| {
                    let found = m.counts(&[vec![0], vec![1]], NOISE_MULTIPLIER)?;
                    let back = f64::from(u8::from(relation == Relation::ReplaceOne));
                    Ok(found.iter().map(|m| m.counts[1] - back * m.counts[0]).sum())
                })
            })
        });
        let of_choice = move || Ok(Composition::single(Marginals::choice_event(relation, 3.0)?, 1));
        add("choice of a marginal", "one cell of each a record", {
            Box::new(move |n| {
                marginals(relation, n, &of_choice, |m| {
                    // The record takes one marginal away from what is expected, and the other one towards it, by as
                    // much as a record can; the penalty puts both choices on a level.
                    let (near, far, penalty) = match relation {
                        Relation::AddRemove => (vec![2.0, 2.0], vec![3.0, 6.0], 4.0),
                        Relation::ReplaceOne => (vec![3.0, 2.0], vec![2.0, 6.0], 3.0),
                    };
                    m.consider(&Candidate { columns: vec![0], expected: near, penalty: 0.0 })?;
                    m.consider(&Candidate { columns: vec![1], expected: far, penalty })?;
                    Ok(if m.choose(&[0, 1], 3.0)? == 0 { 1.0 } else { 0.0 })
                })
            })
        });
        add("expected statistics of a document, one step", "clipped to C", {
            // A fit for each outcome: a tenth of them.
            Box::new(move |n| statistics(relation, (n / 10).max(100)))
        });
    }
    cases
}
