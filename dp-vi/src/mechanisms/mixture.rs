//! What is known of the unknown after a release: a finite mixture of posteriors.

use ppl_core::finite::{Conjugate, Histogram};

/// A mixture of posteriors, one for each data set that may have led to a release, with the probability of
/// that data set given the release.
///
/// ```text
/// p(θ | released) = Σ_D p(D | released) p(θ | D)
/// ```
#[derive(Clone, Debug)]
pub struct Mixture<T, P> {
    parts: Vec<(f64, Histogram<T>, P)>,
}

impl<T, P> Mixture<T, P> {
    /// Of parts with the logarithms of their weights, of which those without weight are left out.
    pub(super) fn new(parts: impl IntoIterator<Item = (f64, Histogram<T>, P)>) -> Self {
        let mut parts: Vec<_> = parts.into_iter().collect();
        let largest = parts.iter().map(|part| part.0).fold(f64::NEG_INFINITY, f64::max);
        for (weight, ..) in &mut parts {
            *weight = (*weight - largest).exp();
        }
        let total: f64 = parts.iter().map(|part| part.0).sum();
        for (weight, ..) in &mut parts {
            *weight /= total;
        }
        // What no double can tell from nothing beside the rest.
        parts.retain(|(weight, ..)| *weight > 1e-30);
        Self { parts }
    }

    /// Probabilities, data sets and their posteriors; those below 10⁻³⁰ are left out.
    pub fn parts(&self) -> impl ExactSizeIterator<Item = (f64, &Histogram<T>, &P)> {
        self.parts.iter().map(|(weight, data, posterior)| (*weight, data, posterior))
    }
}

impl<T, P: Conjugate> Mixture<T, P> {
    /// The mean of the unknown.
    #[must_use]
    pub fn mean(&self) -> Vec<f64> {
        self.average(|part| part.mean())
    }

    /// The standard deviation of each of its elements: of the posteriors, and between them.
    #[must_use]
    pub fn sd(&self) -> Vec<f64> {
        let mean = self.mean();
        let variance = self.average(|part| {
            let parts = part.mean().into_iter().zip(part.sd()).zip(&mean);
            parts.map(|((own, sd), mean)| sd * sd + (own - mean).powi(2)).collect()
        });
        variance.into_iter().map(f64::sqrt).collect()
    }

    fn average(&self, of: impl Fn(&P) -> Vec<f64>) -> Vec<f64> {
        let mut sum = Vec::new();
        for (weight, _, part) in &self.parts {
            let values = of(part);
            sum.resize(values.len(), 0.0);
            sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
        }
        sum
    }
}
