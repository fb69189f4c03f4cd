//! Noisy counts drawn together by what they have in common.

/// Strata of columns by their total.
const STRATA: usize = 8;

/// Shrinks a table of noisy counts, each with noise of this standard deviation, towards the product of its margins:
///
/// ```text
/// m_kv = row_k · column_v / total,   s_kv ← m_kv + λ (s_kv − m_kv),   λ = (V − sd²)/V
/// ```
///
/// where `V` is the mean of `(s_kv − m_kv)²` over the columns of a stratum of similar totals: an empirical Bayes estimate
/// of how much of the deviations is noise. `columns` are the columns' totals, known better than the table's own sums,
/// or the table's own. Nothing is below zero in the end.
pub(super) fn shrink(table: &mut [f64], columns: &[f64], sd: f64) {
    let width = columns.len();
    if width == 0 || sd.is_nan() || sd <= 0.0 {
        table.iter_mut().for_each(|x| *x = x.max(0.0));
        return;
    }
    let shares: Vec<f64> = columns.iter().map(|x| x.max(0.0)).collect();
    let total: f64 = shares.iter().sum();
    if total.is_nan() || total <= 0.0 {
        table.iter_mut().for_each(|x| *x = x.max(0.0));
        return;
    }
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by(|&a, &b| shares[a].total_cmp(&shares[b]).then(a.cmp(&b)));
    let rows: Vec<f64> = table.chunks_exact(width).map(|row| row.iter().sum::<f64>().max(0.0)).collect();
    for stratum in order.chunks(width.div_ceil(STRATA)) {
        for (row, &own) in table.chunks_exact_mut(width).zip(&rows) {
            let mean = |column: usize| own * shares[column] / total;
            let spread =
                stratum.iter().map(|&v| (row[v] - mean(v)).powi(2)).sum::<f64>() / stratum.len() as f64;
            let kept = ((spread - sd * sd) / spread).max(0.0);
            for &v in stratum {
                row[v] = (mean(v) + kept * (row[v] - mean(v))).max(0.0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_without_noise_stay_and_noise_alone_goes() {
        let counts = [5.0, 0.0, 2.0, 1.0, 3.0, 9.0];
        let mut table = counts;
        shrink(&mut table, &[6.0, 3.0, 11.0], 0.0);
        assert_eq!(table, counts);
        // Deviations from the margins that are smaller than the noise are taken for noise.
        let mut table = [10.3, 19.8, 30.1, 10.1, 20.2, 29.7];
        shrink(&mut table, &[20.4, 40.0, 59.8], 5.0);
        let row: f64 = [10.3, 19.8, 30.1].iter().sum();
        assert!((table[0] - row * 20.4 / 120.2).abs() < 1e-12, "{table:?}");
    }

    #[test]
    fn nothing_is_negative_or_infinite() {
        let mut table = [-5.0, 2.0, f64::MIN_POSITIVE, -0.0];
        shrink(&mut table, &[-3.0, 0.0], 1.0);
        assert!(table.iter().all(|x| *x >= 0.0), "{table:?}");
        shrink(&mut [], &[], 1.0);
    }
}
