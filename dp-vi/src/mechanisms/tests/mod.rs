//! Mechanisms: samplers against their laws, the checker over those laws, planted faults, and what is useful.

use super::*;
use crate::sensitive_value::{Bound, Private};
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Budget, Ledger};
use ppl_core::finite::{
    AddRemove, Adjacency, Beta, Category, Check, Conjugate, Dirichlet, Divergence, Hellinger, Histogram,
    Interval, Probability, Rational, ReplaceOne, dirichlet_hellinger, histograms, neighbours,
};

mod add_remove;
mod bad_input;
mod best_possible;
mod checker;
mod gaussian;
mod releases;
mod samplers;
mod useful;

fn coins(n: u64, heads: u64) -> Histogram<bool> {
    Histogram::new(vec![true, false], vec![heads, n - heads]).unwrap()
}

fn sets(records: u64) -> DataSets<bool> {
    DataSets::of_records(&[true, false], records)
}

fn prior() -> Beta {
    Beta::new(1.0, 1.0).unwrap()
}

fn learn_bias(coins: &Histogram<bool>) -> Beta {
    prior().observe_all(coins)
}

/// A posterior over the biases 3/10, 4/10, …, 7/10: each likelihood changes by at most 7/3 when a coin is
/// replaced.
fn on_a_grid(coins: &Histogram<bool>) -> ppl_core::Result<Dist<u64, Rational>> {
    let weight = |tenths: u64| {
        let power = |base: u64, count: u64| Rational::ratio(base, 10).power(count as u32);
        power(tenths, coins.count(&true)).times(&power(10 - tenths, coins.count(&false)))
    };
    Dist::from_weights((3..=7).map(|tenths| (tenths, weight(tenths))))?.infer()
}

/// The check over a mechanism's own law.
fn checked<T: Ord + Clone + Debug, K: Mechanism<T>, R: Adjacency>(
    mechanism: &K,
    alphabet: &[T],
    records: std::ops::RangeInclusive<u64>,
    relation: R,
) -> Interval {
    let check = Check::new(|data: &Histogram<T>| mechanism.law(data)).alphabet(alphabet);
    check.records(records).neighbours(relation).run().unwrap().epsilon()
}

fn ledger(epsilon: f64, relation: Relation) -> Ledger {
    Ledger::new(Budget { epsilon, delta: 1e-6, relation }).unwrap()
}
