//! Training and test records, and how often a prediction is right.

use ndarray::{Array1, ArrayView1, ArrayView2};
use rand_core::Rng;

use crate::{Error, Result};

/// Which records are for training and which for testing, by index, each in increasing order.
#[derive(Clone, PartialEq)]
pub struct Split {
    /// Never empty.
    pub train: Vec<usize>,
    /// Empty only where the test fraction is 0.
    pub test: Vec<usize>,
}

/// Puts each record into the test set with probability `test_fraction`, independently of all others.
///
/// A record is tested where a 64-bit draw lies below `⌊test_fraction · 2⁶⁴⌋`, an exact integer threshold: the
/// probability is `test_fraction` to within `2⁻⁶⁴`, and exact for fractions of `2⁻¹²` and above.
///
/// # Privacy
///
/// Independent draws keep neighbours apart from one another: a record added to the data goes to one side and
/// moves no other record, as it would if a fixed number were drawn. So a guarantee for the training set under
/// add/remove is one for the whole file. If `rng` is a secret stream, an outsider cannot tell which side a
/// record is on. What is *computed from the test set* is another matter: an accuracy on it is exact, and is
/// covered by no guarantee.
///
/// # Errors
///
/// [`Error::TestFraction`] outside `[0, 1)`, [`Error::EmptyPart`] where the draws leave no record to train on
/// or, with a positive fraction, none to test on.
///
/// # Examples
///
/// ```
/// use dp_examples::table::split::split;
/// use rand_chacha::ChaCha20Rng;
/// use rand_core::SeedableRng;
///
/// let mut rng = ChaCha20Rng::from_seed([7; 32]); // a fixed seed is for tests
/// let parts = split(1000, 0.2, &mut rng)?;
/// assert_eq!(parts.train.len() + parts.test.len(), 1000);
/// assert!((150..250).contains(&parts.test.len()));
/// # Ok::<(), dp_examples::Error>(())
/// ```
pub fn split(records: usize, test_fraction: f64, rng: &mut impl Rng) -> Result<Split> {
    if !(0.0..1.0).contains(&test_fraction) {
        return Err(Error::TestFraction { value: test_fraction });
    }
    // Scaling by a power of two is exact; the cast drops what is below 2⁻⁶⁴ and cannot saturate below 1.
    let threshold = (test_fraction * 2f64.powi(64)) as u64;
    let (test, train): (Vec<usize>, Vec<usize>) = (0..records).partition(|_| rng.next_u64() < threshold);
    let empty = |part| Error::EmptyPart { part, fraction: test_fraction };
    if train.is_empty() {
        return Err(empty("training"));
    }
    if test.is_empty() && test_fraction > 0.0 {
        return Err(empty("test"));
    }
    Ok(Split { train, test })
}

/// The probability of the positive class for each record: `1 / (1 + exp(−x·w))`.
///
/// # Errors
///
/// [`Error::Length`] unless there is one weight per column of `features`.
///
/// # Examples
///
/// ```
/// use dp_examples::table::split::{accuracy, probabilities};
/// use ndarray::{array, aview1};
///
/// let features = array![[1.0, 2.0], [1.0, -3.0]];
/// let predicted = probabilities(features.view(), aview1(&[0.0, 1.0]))?;
/// assert!((predicted[0] - 0.8807970779778823).abs() < 1e-15);
/// assert_eq!(accuracy(predicted.view(), aview1(&[1.0, 1.0]))?, 0.5);
/// # Ok::<(), dp_examples::Error>(())
/// ```
pub fn probabilities(features: ArrayView2<'_, f64>, weights: ArrayView1<'_, f64>) -> Result<Array1<f64>> {
    if features.ncols() != weights.len() {
        return Err(Error::Length { what: "weights", found: weights.len(), expected: features.ncols() });
    }
    Ok(features.dot(&weights).mapv(sigmoid))
}

/// `1 / (1 + exp(−z))`, without overflow on either side.
fn sigmoid(z: f64) -> f64 {
    let decay = (-z.abs()).exp();
    if z >= 0.0 { 1.0 / (1.0 + decay) } else { decay / (1.0 + decay) }
}

/// The fraction of records whose label is what a probability of at least one half predicts.
///
/// # Privacy
///
/// An exact statistic of the records it is given. Published beside a private posterior it is outside the
/// guarantee.
///
/// # Errors
///
/// [`Error::Length`] for no records or unequal lengths, [`Error::Value`] for a probability outside `[0, 1]`
/// (NaN included) or a label other than 0 and 1.
pub fn accuracy(probabilities: ArrayView1<'_, f64>, labels: ArrayView1<'_, f64>) -> Result<f64> {
    if labels.is_empty() || probabilities.len() != labels.len() {
        let (found, expected) = (probabilities.len(), labels.len().max(1));
        return Err(Error::Length { what: "predicted probabilities", found, expected });
    }
    let mut right = 0usize;
    for (&probability, &label) in probabilities.iter().zip(labels) {
        if !(0.0..=1.0).contains(&probability) {
            let what = "a predicted probability".into();
            return Err(Error::Value { what, expected: "between 0 and 1", value: probability });
        }
        if label != 0.0 && label != 1.0 {
            return Err(Error::Value { what: "a label".into(), expected: "0 or 1", value: label });
        }
        right += usize::from((probability >= 0.5) == (label == 1.0));
    }
    Ok(right as f64 / labels.len() as f64)
}

/// The mean of minus the log-probability of the label, in nats. Probabilities of 0 and 1 count as 10⁻¹⁵ more
/// or less, so that it is finite.
///
/// # Privacy
///
/// As [`accuracy`].
///
/// # Errors
///
/// As [`accuracy`].
pub fn log_loss(probabilities: ArrayView1<'_, f64>, labels: ArrayView1<'_, f64>) -> Result<f64> {
    accuracy(probabilities, labels)?;
    let loss = |(&probability, &label): (&f64, &f64)| {
        let of_label = if label == 1.0 { probability } else { 1.0 - probability };
        -of_label.max(1e-15).ln()
    };
    Ok(probabilities.iter().zip(labels).map(loss).sum::<f64>() / labels.len() as f64)
}

/// The area under the receiver operating characteristic: the share of pairs of a positive and a negative
/// record that the scores put in order, ties counting one half. `None` where one kind is missing.
///
/// # Privacy
///
/// As [`accuracy`].
///
/// ```
/// use dp_examples::table::split::area_under_curve;
/// assert_eq!(area_under_curve(&[0.1, 0.4, 0.4, 0.9], &[0.0, 1.0, 0.0, 1.0]), Some(0.875));
/// ```
#[must_use]
pub fn area_under_curve(scores: &[f64], labels: &[f64]) -> Option<f64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]));
    let positives = labels.iter().filter(|&&label| label == 1.0).count() as f64;
    let negatives = labels.len() as f64 - positives;
    // Ranks, tied ones shared.
    let (mut at, mut ranks) = (0, 0.0);
    while at < order.len() {
        let tied = order[at..].iter().take_while(|&&i| scores[i] == scores[order[at]]).count();
        let rank = at as f64 + (tied as f64 + 1.0) / 2.0;
        ranks += rank * order[at..at + tied].iter().filter(|&&i| labels[i] == 1.0).count() as f64;
        at += tied;
    }
    (positives > 0.0 && negatives > 0.0)
        .then(|| (ranks - positives * (positives + 1.0) / 2.0) / (positives * negatives))
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array, aview1};
    use proptest::prelude::*;
    use rand_chacha::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    fn rng(seed: u8) -> ChaCha20Rng {
        ChaCha20Rng::from_seed([seed; 32])
    }

    #[test]
    fn fractions_outside_the_range() {
        for value in [-0.1, 1.0, 1.5, f64::NAN, f64::INFINITY] {
            let error = split(10, value, &mut rng(0)).err().unwrap();
            assert!(
                error.to_string().starts_with("test fraction must be at least 0 and below 1, got "),
                "{error}"
            );
        }
    }

    #[test]
    fn no_test_set() {
        let parts = split(5, 0.0, &mut rng(0)).unwrap();
        assert_eq!((parts.train, parts.test), ((0..5).collect(), vec![]));
    }

    #[test]
    fn empty_parts() {
        assert_eq!(
            split(3, 1e-12, &mut rng(0)).err().unwrap().to_string(),
            "no record fell into the test set: test fraction 0.000000000001 of so few records"
        );
        assert!(matches!(split(3, 1.0 - 1e-12, &mut rng(0)), Err(Error::EmptyPart { part: "training", .. })));
        assert!(matches!(split(0, 0.0, &mut rng(0)), Err(Error::EmptyPart { part: "training", .. })));
    }

    /// n = 200,000 draws, false-alarm rate below 1e-9: the binomial count lies within six standard
    /// deviations.
    #[test]
    fn frequency_is_the_fraction() {
        for (seed, fraction) in [(1, 0.2), (2, 0.5), (3, 0.9), (4, 0.001)] {
            let parts = split(200_000, fraction, &mut rng(seed)).unwrap();
            let expected = 200_000.0 * fraction;
            let sd = (expected * (1.0 - fraction)).sqrt();
            assert!(
                (parts.test.len() as f64 - expected).abs() < 6.0 * sd,
                "{fraction}: {}",
                parts.test.len()
            );
        }
    }

    #[test]
    fn a_record_does_not_move_the_others() {
        let (short, long) = (split(100, 0.3, &mut rng(9)).unwrap(), split(101, 0.3, &mut rng(9)).unwrap());
        assert_eq!(short.test, long.test.into_iter().filter(|&i| i < 100).collect::<Vec<_>>());
    }

    #[test]
    fn accuracy_counts_matches() {
        assert_eq!(accuracy(aview1(&[0.5, 0.4, 1.0, 0.0]), aview1(&[1.0, 0.0, 0.0, 1.0])).unwrap(), 0.5);
        assert!(accuracy(aview1(&[]), aview1(&[])).is_err());
        assert!(accuracy(aview1(&[0.1]), aview1(&[0.0, 1.0])).is_err());
        for bad in [f64::NAN, -0.1, 1.1] {
            assert!(matches!(accuracy(aview1(&[bad]), aview1(&[0.0])), Err(Error::Value { .. })));
        }
        assert!(accuracy(aview1(&[0.1]), aview1(&[2.0])).is_err());
    }

    #[test]
    fn losses() {
        let labels = aview1(&[1.0, 1.0, 0.0]);
        let half = std::f64::consts::LN_2;
        assert!((log_loss(aview1(&[0.5; 3]), labels).unwrap() - half).abs() < 1e-15);
        assert!(log_loss(aview1(&[0.0, 1.0, 1.0]), labels).unwrap().is_finite());
    }

    #[test]
    fn probabilities_need_a_weight_per_column() {
        let features = Array2::zeros((3, 2));
        assert!(matches!(
            probabilities(features.view(), aview1(&[1.0])),
            Err(Error::Length { found: 1, .. })
        ));
        let extreme = probabilities(array![[1.0], [-1.0]].view(), aview1(&[1e300])).unwrap();
        assert_eq!(extreme.to_vec(), [1.0, 0.0]);
    }

    proptest! {
        #[test]
        fn every_record_is_on_one_side(records in 1..500usize, fraction in 0.0..1.0f64, seed: u8) {
            if let Ok(parts) = split(records, fraction, &mut rng(seed)) {
                let mut all = [parts.train.clone(), parts.test.clone()].concat();
                prop_assert!(parts.train.is_sorted() && parts.test.is_sorted());
                all.sort_unstable();
                prop_assert_eq!(all, (0..records).collect::<Vec<_>>());
            }
        }

        #[test]
        fn sigmoid_mirrors(z in -800.0..800.0f64) {
            // One division and one sum are rounded on each side.
            prop_assert!((sigmoid(z) + sigmoid(-z) - 1.0).abs() <= 4.0 * f64::EPSILON);
        }
    }
}
