//! How many records there are.

use super::Summaries;
use super::grid::Unit;
use crate::error::Result;
use dp_accountant::Purse;

impl Summaries<'_> {
    /// The number of records, with noise of standard deviation `noise_multiplier`.
    ///
    /// # Privacy
    /// Under add/remove one record changes the count by 1. Under replace-one it is public: it is returned as
    /// it is, and nothing is debited.
    ///
    /// # Errors
    /// If the noise multiplier is not between 1e-3 and 1e6, or the budget does not allow it; then nothing is
    /// debited.
    pub fn count(&mut self, noise_multiplier: f64, purse: &mut (impl Purse + ?Sized)) -> Result<f64> {
        let unit = Unit::new(noise_multiplier, 1.0)?;
        if let Some(records) = self.records.public_number(purse.ledger().budget().relation) {
            return Ok(records as f64);
        }
        let mut paid = self.pay(purse, unit.steps() as f64, 1)?;
        let noisy = self.release(self.records.count_in(unit.steps()), &mut paid)?;
        Ok(unit.number(noisy[0]))
    }
}
