//! The same question about many values.

use crate::{Accountant, Certified, Result};

impl Accountant {
    /// Epsilon at each of several values of delta, in their order.
    ///
    /// # Errors
    /// Those of [`epsilon`](Self::epsilon), for the first value that has one.
    ///
    /// ```
    /// use dp_accountant::{Accountant, Event, Mechanism, Relation, Sampling};
    ///
    /// let release = Event::new(Mechanism::Gaussian { noise_multiplier: 2.0 }, Sampling::None)?;
    /// let accountant = Accountant::new(Relation::AddRemove).compose(release, 3);
    /// let epsilons = accountant.epsilons(&[1e-3, 1e-5, 1e-7])?;
    /// assert!(epsilons[0].upper < epsilons[1].lower && epsilons[1].upper < epsilons[2].lower);
    /// # Ok::<(), dp_accountant::Error>(())
    /// ```
    pub fn epsilons(&self, deltas: &[f64]) -> Result<Vec<Certified>> {
        deltas.iter().map(|&delta| self.epsilon(delta)).collect()
    }

    /// Delta at each of several values of epsilon, in their order.
    ///
    /// # Errors
    /// Those of [`delta`](Self::delta), for the first value that has one.
    pub fn deltas(&self, epsilons: &[f64]) -> Result<Vec<Certified>> {
        epsilons.iter().map(|&epsilon| self.delta(epsilon)).collect()
    }
}
