//! Proptest strategies for what private inference works on.

use dp_accountant::{Budget, Relation};
use proptest::prelude::*;

/// Clip norms over several orders of magnitude.
pub fn clip_norm() -> impl Strategy<Value = f64> {
    (-5.0..5.0_f64).prop_map(f64::exp)
}

/// Noise multipliers from weak to strong protection.
pub fn noise_multiplier() -> impl Strategy<Value = f64> {
    (-1.5..3.0_f64).prop_map(f64::exp)
}

/// Squared norms, tiny and huge ones among them.
pub fn squared_norm() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), (-600.0..600.0_f64).prop_map(f64::exp)]
}

/// Budgets that a run may be given, under the relation the accountant has bounds for with Poisson sampling.
pub fn budget() -> impl Strategy<Value = Budget> {
    ((-2.0..2.5_f64), (-18.0..-4.0_f64)).prop_map(|(epsilon, delta)| Budget {
        epsilon: epsilon.exp(),
        delta: delta.exp(),
        relation: Relation::AddRemove,
    })
}
