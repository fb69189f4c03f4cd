//! Second moments of a vector column, for preconditioning.

use super::Summaries;
use crate::cost::charges::Release;
use crate::error::{Error, Result};
use crate::objective::curvature::CurvatureShape;
use crate::wall::adder::NoiseOf;
use crate::wall::curvature::CurvatureRelease;
use crate::wall::grid::PrivacyNoise;
use dp_accountant::Purse;
use ndarray::{Array2, ArrayView2};
use ppl_core::{Graph, Record, RecordGradient};

/// A matrix of second moments with noise.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SecondMoments {
    /// The sum over all records; symmetric, and because of the noise not always positive definite.
    pub matrix: Array2<f64>,
    /// Standard deviation of the noise on the diagonal. Elsewhere it is smaller by `√2`.
    pub deviation: f64,
    /// What was released, for [`DpVi::released_before`](crate::DpVi::released_before).
    pub release: Release,
}

impl Summaries<'_> {
    /// The sum of `z zᵀ` over all records, where `z = T x` for a vector column `x` and a public matrix `T`.
    ///
    /// ```text
    /// M = Σ_i z_i z_iᵀ min(1, K/‖z_i‖²) + symmetric noise            standard deviation σK on the diagonal, σK/√2 off it
    /// ```
    ///
    /// It is what a design is whitened by: with `T` the inverse root of what an earlier release found, directions in
    /// which `x` varies little are seen as well as the others (Kamath, Li, Singhal, Ullman 2019, "Privately learning
    /// high-dimensional distributions", do so again and again).
    ///
    /// # Privacy
    /// One record adds a symmetric matrix of Frobenius norm at most `K`, so each call is one release of the Gaussian
    /// mechanism with this noise multiplier, for both relations, with exact integer noise. `T` and `K` have to be
    /// public: chosen without looking at the data, or made from what has been released.
    ///
    /// # Examples
    /// ```
    /// use dp_accountant::{Budget, Ledger, Relation};
    /// use dp_sampler::Seed;
    /// use dp_vi::Sensitive;
    /// use dp_vi::summaries::Summaries;
    /// use ndarray::Array2;
    /// use ppl_core::{Column, Records};
    ///
    /// let x = Array2::from_shape_fn((3000, 2), |(i, j)| if j == 0 { 1.0 } else { 0.1 * (i % 7) as f64 });
    /// let records = Sensitive::new(Records::from_columns([("x", Column::from(x))])?);
    /// let mut ledger = Ledger::new(Budget { epsilon: 1.0, delta: 1e-6, relation: Relation::AddRemove })?;
    /// let mut summaries = Summaries::new(&records, Seed::from_os()?)?;
    /// let found = summaries.second_moments("x", Array2::eye(2).view(), 1.5, 20.0, &mut ledger)?;
    /// assert_eq!(found.deviation, 30.0);
    /// assert!((found.matrix[(0, 0)] - 3000.0).abs() < 8.0 * found.deviation);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such column or it is not a vector of as many elements as `T` has columns, `T` or `K` is not
    /// finite or `K` not positive, a number of the records is NaN, the noise multiplier is not positive and finite, or
    /// the budget does not allow it. Then nothing is debited.
    pub fn second_moments(
        &mut self,
        column: &str,
        transform: ArrayView2<'_, f64>,
        largest: f64,
        noise_multiplier: f64,
        purse: &mut (impl Purse + ?Sized),
    ) -> Result<SecondMoments> {
        let (rows, columns) = transform.dim();
        let schema = self.records.schema();
        let elements = schema.dim(column)?;
        if elements != columns || rows == 0 {
            let (what, requirement) =
                ("columns of the matrix", "the number of elements of the column's vectors");
            return Err(Error::OutOfRange { what, requirement, value: columns as f64 });
        }
        if let Some(&value) = transform.iter().find(|x| !x.is_finite()) {
            return Err(Error::OutOfRange { what: "an element of the matrix", requirement: "finite", value });
        }
        self.records.check_numbers()?;
        let graph = Graph::new();
        let x = Record::new(&graph, schema).get(column)?;
        let z = graph.array(&transform.to_owned().into_dyn()).matvec(x);
        let moments = graph.input("second moments", [rows, rows])?;
        let program = RecordGradient::with_bounded_sums(z.inner(moments.matvec(z)), &[moments], &[0])?;
        let release = CurvatureRelease::new(
            program,
            (CurvatureShape::Full, rows),
            (largest, noise_multiplier),
            PrivacyNoise::Exact,
            (NoiseOf::SecondMoments, &self.seed),
        )?;
        let event = release.event()?;
        let receipt = purse.debit(event, 1)?;
        let number = self.next;
        self.next += 1;
        let noisy = release.release_number(number, receipt, self.records)?;
        let matrix = Array2::from_shape_fn((rows, rows), |(j, k)| noisy[j * rows + k]);
        let deviation = largest * noise_multiplier;
        Ok(SecondMoments {
            matrix,
            deviation,
            release: Release { what: "second moments of features", event, count: 1 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wall::sensitive::Sensitive;
    use dp_accountant::{Budget, Ledger, Relation};
    use dp_sampler::Seed;
    use ndarray::array;
    use ppl_core::{Column, Records};

    fn ledger() -> Ledger {
        Ledger::new(Budget { epsilon: 3.0, delta: 1e-5, relation: Relation::AddRemove }).unwrap()
    }

    fn features() -> Array2<f64> {
        Array2::from_shape_fn(
            (60, 3),
            |(i, j)| {
                if j == 0 { 1.0 } else { ((i * (j + 2)) % 11) as f64 / 5.0 - 1.0 }
            },
        )
    }

    /// The mean of 300 releases of the same records by different seeds is the clipped sum to within six standard errors
    /// in each element, and deviations from it have the stated standard deviation: their mean square over 300 · 3
    /// numbers has a relative standard error of √(2/900) = .048.
    #[test]
    fn it_is_the_clipped_sum_with_the_noise_that_it_says() {
        let transform = array![[0.5, 0.0, 1.0], [0.0, 2.0, 0.0]];
        let z = features().dot(&transform.t());
        let mut exact = Array2::<f64>::zeros((2, 2));
        for row in z.rows() {
            let square = row.dot(&row);
            for ((j, k), sum) in exact.indexed_iter_mut() {
                *sum += row[j] * row[k] * (2.0 / square).min(1.0);
            }
        }
        let records = Sensitive::new(Records::from_columns([("x", Column::from(features()))]).unwrap());
        let (mut sum, mut squares) = (Array2::<f64>::zeros((2, 2)), 0.0);
        for seed in 0..300 {
            let mut summaries = Summaries::new(&records, Seed::for_tests(seed)).unwrap();
            let found = summaries.second_moments("x", transform.view(), 2.0, 5.0, &mut ledger()).unwrap();
            assert_eq!(found.deviation, 10.0);
            assert_eq!(found.matrix[(0, 1)], found.matrix[(1, 0)]);
            let off = &found.matrix - &exact;
            squares += off[(0, 0)].powi(2) + off[(1, 1)].powi(2) + 2.0 * off[(0, 1)].powi(2);
            sum += &found.matrix;
        }
        for (mean, exact) in sum.iter().zip(&exact) {
            assert!((mean / 300.0 - exact).abs() < 6.0 * 10.0 / 300.0_f64.sqrt(), "{mean} {exact}");
        }
        assert!((squares / (900.0 * 100.0) - 1.0).abs() < 6.0 * 0.048, "{squares}");
    }

    /// Two releases have noise of their own, and each is paid for.
    #[test]
    fn each_release_has_its_own_noise_and_price() {
        let records = Sensitive::new(Records::from_columns([("x", Column::from(features()))]).unwrap());
        let mut summaries = Summaries::new(&records, Seed::for_tests(1)).unwrap();
        let mut ledger = ledger();
        let eye = Array2::<f64>::eye(3);
        let [a, b] =
            [0, 1].map(|_| summaries.second_moments("x", eye.view(), 3.0, 7.0, &mut ledger).unwrap());
        assert_ne!(a.matrix, b.matrix);
        assert_eq!(a.release, b.release);
        assert_eq!(ledger.events().iter().map(|(_, count)| count).sum::<u64>(), 2);
    }

    /// However long a record is, it changes the sum by at most `K` in Frobenius norm: without noise that one could see.
    #[test]
    fn a_record_changes_the_sum_by_at_most_the_largest_norm() {
        let with = |last: [f64; 3]| {
            let mut x = features();
            x.row_mut(59).assign(&ndarray::aview1(&last));
            let records = Sensitive::new(Records::from_columns([("x", Column::from(x))]).unwrap());
            let mut summaries = Summaries::new(&records, Seed::for_tests(2)).unwrap();
            let large = Budget { epsilon: 1e9, delta: 1e-5, relation: Relation::AddRemove };
            let mut ledger = Ledger::new(large).unwrap();
            summaries.second_moments("x", Array2::eye(3).view(), 1.5, 1e-3, &mut ledger).unwrap().matrix
        };
        let none = with([0.0; 3]);
        for hostile in [[1.0, 1e6, -3.0], [1e150, 0.0, 0.0], [0.3, 0.2, -0.1], [-1.0, 1.0, 1.0]] {
            let norm = (with(hostile) - &none).iter().map(|x| x * x).sum::<f64>().sqrt();
            // The noise of both has a norm of some 0.006.
            assert!(norm < 1.5 + 0.03, "{hostile:?} {norm}");
        }
    }

    #[test]
    fn what_cannot_be_found_costs_nothing() {
        let records = Sensitive::new(Records::from_columns([("x", Column::from(features()))]).unwrap());
        let mut summaries = Summaries::new(&records, Seed::for_tests(3)).unwrap();
        let mut ledger = ledger();
        let mut told = |column: &str, matrix: Array2<f64>, largest: f64, noise: f64| {
            summaries
                .second_moments(column, matrix.view(), largest, noise, &mut ledger)
                .unwrap_err()
                .to_string()
        };
        assert!(told("z", Array2::eye(3), 1.0, 1.0).contains('z'));
        assert!(told("x", Array2::eye(2), 1.0, 1.0).contains('2'));
        assert!(told("x", array![[1.0, f64::NAN, 0.0]], 1.0, 1.0).contains("NaN"));
        assert!(told("x", Array2::eye(3), 0.0, 1.0).contains('0'));
        assert!(told("x", Array2::eye(3), f64::INFINITY, 1.0).contains("inf"));
        assert!(told("x", Array2::eye(3), 1.0, -1.0).contains("-1"));
        // A budget that is too small.
        told("x", Array2::eye(3), 1.0, 0.01);
        assert!(ledger.debits().is_empty());
        let mut broken = features();
        broken[(4, 1)] = f64::NAN;
        let records = Sensitive::new(Records::from_columns([("x", Column::from(broken))]).unwrap());
        let mut summaries = Summaries::new(&records, Seed::for_tests(3)).unwrap();
        assert!(summaries.second_moments("x", Array2::eye(3).view(), 1.0, 9.0, &mut ledger).is_err());
        assert!(ledger.debits().is_empty());
    }
}
