//! What is public of the features whose weights latent values are.

use crate::error::{Error, Result};

/// What is known of the second moments of whitened features, along each of their coordinates.
///
/// Where records have features of about unit second moments in all directions, their curvature is about as large in
/// all directions, too, and hardly couples them: it is a sum of the same `x xᵀ`, with weights. Directions that the
/// noise of the moments hid are those of which this cannot be said.
///
/// # Privacy
/// It must come from what has been released, or from public knowledge. No guarantee rests on it.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureMoments {
    /// The mean of the squares of each feature over the records, as it was released: 1 where the noise hid nothing.
    pub mean: Vec<f64>,
    /// The standard deviation of the noise in it.
    pub deviation: Vec<f64>,
}

impl FeatureMoments {
    pub(crate) fn validate(&self) -> Result<()> {
        let (what, requirement) = ("second moment of a feature", "finite, with a deviation of at least 0");
        if self.mean.len() != self.deviation.len() {
            let (what, requirement) =
                ("number of deviations of second moments", "that of the second moments");
            return Err(Error::OutOfRange { what, requirement, value: self.deviation.len() as f64 });
        }
        let mut all = self.mean.iter().zip(&self.deviation);
        match all.find(|(mean, deviation)| !(mean.is_finite() && **deviation >= 0.0 && deviation.is_finite()))
        {
            Some((&value, _)) => Err(Error::OutOfRange { what, requirement, value }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_that_are_no_numbers_or_no_pairs_are_refused() {
        let of = |mean: &[f64], deviation: &[f64]| {
            FeatureMoments { mean: mean.to_vec(), deviation: deviation.to_vec() }.validate()
        };
        assert!(of(&[1.0, -0.2], &[0.0, 0.3]).is_ok() && of(&[], &[]).is_ok());
        let told = |result: Result<()>| result.unwrap_err().to_string();
        assert!(told(of(&[1.0], &[])).contains("number of deviations"));
        for (mean, deviation) in [(f64::NAN, 0.1), (f64::INFINITY, 0.1), (1.0, -0.1), (1.0, f64::NAN)] {
            assert!(told(of(&[mean], &[deviation])).contains("second moment of a feature"));
        }
    }
}
