//! Noisy counts drawn together by what they have in common.

/// Strata of columns by their total.
const STRATA: usize = 8;

/// Least count of a cell, relative to what its margins say: what is seen so rarely that noise hides it is not ruled
/// out.
const LEAST: f64 = 0.1;

/// Shrinks a table of noisy counts, each with noise of this standard deviation, towards the product of its margins:
///
/// ```text
/// r_k  = s_k· / s_··                       share of a row
/// m_kv = r_k · column_v                    what the margins say
/// d_kv = s_kv − r_k s_·v                   what a row has that is its own
/// s_kv ← max(m_kv + λ d_kv, m_kv/10),      λ = (D − n_k)/D, at least 0
/// ```
///
/// where `D` is the mean of `d²` over the columns of a stratum of similar totals, and `n_k = sd² ((1 − r_k)² + (K − 1)
/// r_k²)` what noise adds to it: an empirical Bayes estimate of how much of the deviations is noise. `columns` are the
/// columns' totals, known better than the table's own sums `s_·v`. These cancel in `d`, so that errors of a total,
/// which is common to all rows, do not pass for a difference between them.
///
/// Without noise, negative counts become 0 and nothing else changes.
pub(super) fn shrink(table: &mut [f64], columns: &[f64], sd: f64) {
    let width = columns.len();
    let rows: Vec<f64> =
        table.chunks_exact(width.max(1)).map(|row| row.iter().sum::<f64>().max(0.0)).collect();
    let all: f64 = rows.iter().sum();
    let columns: Vec<f64> = columns.iter().map(|x| x.max(0.0)).collect();
    let known = columns.iter().sum::<f64>() > 0.0;
    if !(sd > 0.0 && all > 0.0 && known) {
        table.iter_mut().for_each(|x| *x = x.max(0.0));
        return;
    }
    let mut own = vec![0.0; width];
    for row in table.chunks_exact(width) {
        own.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by(|&a, &b| columns[a].total_cmp(&columns[b]).then(a.cmp(&b)));
    let others = rows.len() as f64 - 1.0;
    for stratum in order.chunks(width.div_ceil(STRATA)) {
        for (row, total) in table.chunks_exact_mut(width).zip(&rows) {
            let share = total / all;
            let deviation = |x: f64, column: usize| x - share * own[column];
            let noise = sd * sd * ((1.0 - share).powi(2) + others * share * share);
            let spread =
                stratum.iter().map(|&v| deviation(row[v], v).powi(2)).sum::<f64>() / stratum.len() as f64;
            // No spread at all: nothing to keep.
            let kept = if spread > noise { (spread - noise) / spread } else { 0.0 };
            for &v in stratum {
                let mean = share * columns[v];
                row[v] = (mean + kept * deviation(row[v], v)).max(LEAST * mean);
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
        assert!((table[0] - row / 120.2 * 20.4).abs() < 1e-12, "{table:?}");
    }

    /// Whatever the columns' totals are taken to be, rows differ as they did: an error that all rows share is none of
    /// the differences between them.
    #[test]
    fn totals_change_no_difference_between_rows() {
        let rows = [50.0, 10.0, 90.0, 30.0, 10.0, 50.0, 30.0, 90.0];
        let differences = |columns: &[f64]| {
            let mut table = rows;
            shrink(&mut table, columns, 1e-3);
            (0..4).map(|v| table[v] - table[4 + v]).collect::<Vec<_>>()
        };
        let (right, wrong) =
            (differences(&[60.0, 60.0, 120.0, 120.0]), differences(&[160.0, 90.0, 120.0, 95.0]));
        for (a, b) in right.iter().zip(wrong) {
            assert!((a - b).abs() < 1e-4, "{a} {b}");
        }
    }

    #[test]
    fn nothing_is_negative_or_infinite() {
        let mut table = [-5.0, 2.0, f64::MIN_POSITIVE, -0.0];
        shrink(&mut table, &[-3.0, 0.0], 1.0);
        assert!(table.iter().all(|x| *x >= 0.0), "{table:?}");
        shrink(&mut [], &[], 1.0);
    }
}
