//! Exact sums of integers with exact noise, and the event they are.

use super::Summaries;
use crate::error::{Error, Result};
use crate::wall::integers::IntegerSums;
use dp_accountant::{Event, Mechanism, Purse, Receipt, Relation, Sampling};
use dp_sampler::{Noise, NoiseDistribution};

/// The noise's standard deviation is two to this many steps of the grid.
pub(crate) const BITS: u32 = 40;

/// How fine a grid is: steps for a contribution of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit(u64);

impl Unit {
    /// The finest unit for which the noise is at least `noise_multiplier` times a norm of `reach`
    /// contributions of one.
    pub(super) fn new(noise_multiplier: f64, reach: f64) -> Result<Self> {
        if !(1e-3..=1e6).contains(&noise_multiplier) {
            let (what, requirement) = ("noise multiplier of a summary", "between 1e-3 and 1e6");
            return Err(Error::OutOfRange { what, requirement, value: noise_multiplier });
        }
        // From 2^40/10⁶ to 2^50 and a little; one less, for contributions that round up.
        let steps = (2.0_f64.powi(BITS as i32) / (noise_multiplier * reach)).floor() - 1.0;
        Ok(Self(steps as u64))
    }

    /// The number of steps.
    pub(super) fn steps(self) -> i64 {
        // Below 2^51.
        self.0 as i64
    }

    /// A number from -1 to 1 in steps; beyond, the nearest of them.
    pub(super) fn of(self, number: f64) -> i64 {
        // Not more than the unit, for neither the product nor its rounding passes an integer.
        (number.clamp(-1.0, 1.0) * self.0 as f64).round() as i64
    }

    /// A sum in steps as a number.
    pub(super) fn number(self, steps: i128) -> f64 {
        steps as f64 / self.0 as f64
    }
}

/// The event of adding noise with this distribution to integer sums of neighbours that differ by at most
/// `difference` in norm.
pub(super) fn event(noise: NoiseDistribution, relation: Relation, difference: f64) -> Result<Event> {
    let NoiseDistribution::RoundedGaussian { bits, .. } = noise else {
        return Err(Error::Conflict("a summary's noise is rounded Gaussian, and no other has an event here"));
    };
    event_of_bits(bits, relation, difference)
}

/// The same for noise of a standard deviation of two to the `bits`.
pub(super) fn event_of_bits(bits: u32, relation: Relation, difference: f64) -> Result<Event> {
    let clip = match relation {
        Relation::AddRemove => difference,
        Relation::ReplaceOne => 0.5 * difference,
    };
    // The quotient is correctly rounded, so the number below it is at most the true one.
    let noise_multiplier = (2.0_f64.powi(bits as i32) / clip).next_down();
    Ok(Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::None)?)
}

/// Releases that have been debited.
pub(super) struct Paid {
    receipt: Receipt,
    event: Event,
}

impl Summaries<'_> {
    /// Debits `releases` releases of sums that neighbours change by at most this norm, in steps of the grid
    /// and rounded up.
    pub(super) fn pay(
        &self,
        purse: &mut (impl Purse + ?Sized),
        difference: f64,
        releases: u64,
    ) -> Result<Paid> {
        let relation = purse.ledger().budget().relation;
        let event = event(self.noise.distribution(), relation, difference)?;
        Ok(Paid { receipt: purse.debit(event, releases)?, event })
    }

    /// Releases sums, with noise that is used once.
    pub(super) fn release(&mut self, sums: IntegerSums, paid: &mut Paid) -> Result<Vec<i128>> {
        let Some(receipt) = paid.receipt.take(paid.event, 1) else {
            return Err(Error::NotPaid { paid: 0 });
        };
        let number = self.next;
        self.next += 1;
        sums.with_noise((receipt, paid.event), &self.noise, number)
    }

    /// The standard deviation of the noise, in contributions of one.
    pub(super) fn deviation(unit: Unit) -> f64 {
        2.0_f64.powi(BITS as i32) / unit.steps() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::{RoundedGaussianNoise, Seed};
    use proptest::prelude::*;

    fn multiplier(relation: Relation, difference: f64) -> f64 {
        let noise = RoundedGaussianNoise::new(&Seed::for_tests(1), BITS).unwrap().distribution();
        match event(noise, relation, difference).unwrap().mechanism() {
            Mechanism::Gaussian { noise_multiplier } => noise_multiplier,
            other => panic!("{other}"),
        }
    }

    proptest! {
        /// At least the requested noise, and hardly more.
        #[test]
        fn the_event_has_the_noise_that_was_asked_for(logarithm in -6.9..13.8_f64, reach in 0.5..2.0_f64) {
            let asked = logarithm.exp();
            let unit = Unit::new(asked, reach).unwrap();
            let difference = (reach * unit.steps() as f64).next_up();
            let got = multiplier(Relation::AddRemove, difference);
            prop_assert!(got >= asked && got <= asked * (1.0 + 1e-5), "{got} for {asked}");
            prop_assert!((multiplier(Relation::ReplaceOne, 2.0 * difference) / got - 1.0).abs() < 1e-14);
        }

        #[test]
        fn contributions_never_pass_the_unit(logarithm in -6.9..13.8_f64, x in -3.0..3.0_f64) {
            let unit = Unit::new(logarithm.exp(), 1.0).unwrap();
            prop_assert!(unit.of(x).abs() <= unit.steps());
            prop_assert_eq!(unit.of(1.0), unit.steps());
            prop_assert_eq!(unit.of(-1.0), -unit.steps());
            // Half a step, and half an epsilon each for the product, the quotient, and what the difference
            // loses.
            let bound = 0.5 / unit.steps() as f64 + 1.5 * f64::EPSILON;
            prop_assert!((unit.number(unit.of(x).into()) - x.clamp(-1.0, 1.0)).abs() <= bound);
        }
    }

    #[test]
    fn a_noise_multiplier_that_is_none_is_refused() {
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-4, 1e7] {
            assert!(Unit::new(value, 1.0).unwrap_err().to_string().contains(&value.to_string()));
        }
    }

    #[test]
    fn other_noise_has_no_event_here() {
        let other = dp_sampler::GaussianNoise::new(&Seed::for_tests(1)).distribution();
        assert!(event(other, Relation::AddRemove, 1.0).is_err());
    }
}
