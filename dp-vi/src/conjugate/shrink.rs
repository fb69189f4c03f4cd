//! Noisy counts drawn together by what they have in common.

/// Strata of columns by their total.
const STRATA: usize = 8;

/// Least count of a cell, relative to what its margins say: what is seen so rarely that noise hides it is not ruled
/// out.
const LEAST: f64 = 0.1;

/// Where that is more: the mean of a count that may be any number of at least 0, given a noisy reading of 0, in
/// standard deviations of the noise, `√(2/π)`. So the least count goes to 0 with the noise.
const AT_NOTHING: f64 = std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;

/// Shrinks a table of noisy counts, each with noise of this standard deviation, towards the product of its margins:
///
/// ```text
/// r_k  = s_k· / s_··                       share of a row
/// m_kv = r_k · column_v                    what the margins say
/// d_kv = s_kv − r_k s_·v                   what a row has that is its own
/// s_kv ← max(m_kv + λ d_kv, least_kv),     λ = (D − n_k)/D, at least 0
/// least_kv = min(m_kv/10, √(2/π) sd)
/// ```
///
/// where `D` is the mean of `d²` over the columns of a stratum of similar totals, and `n_k = sd² ((1 − r_k)² + (K − 1)
/// r_k²)` what noise adds to it: an empirical Bayes estimate of how much of the deviations is noise. `columns` are the
/// columns' totals, known better than the table's own sums `s_·v`. These cancel in `d`, so that errors of a total,
/// which is common to all rows, do not pass for a difference between them.
///
/// Without noise, negative counts become 0 and nothing else changes. As the noise becomes less the table goes to that,
/// for columns whose totals are the table's own.
pub(super) fn shrink(table: &mut [f64], columns: &[f64], sd: f64) {
    shrink_to(table, columns, sd, |mean| (LEAST * mean).min(AT_NOTHING * sd));
}

/// The same with the least count of a cell for what its margins say.
fn shrink_to(table: &mut [f64], columns: &[f64], sd: f64, least: impl Fn(f64) -> f64) {
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
                row[v] = (mean + kept * deviation(row[v], v)).max(least(mean));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::rand_core::Rng;
    use dp_sampler::{Purpose, Seed};

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

    /// In the limit of no noise, topics without a common word are separated as they are without privacy, and the table
    /// is a continuous function of the noise's standard deviation.
    #[test]
    fn the_table_goes_to_the_unprotected_one_with_the_noise() {
        let counts = [100.0, 0.0, 0.0, 100.0];
        let at = |sd: f64| {
            let mut table = counts;
            shrink(&mut table, &[100.0, 100.0], sd);
            table
        };
        assert_eq!(at(0.0), counts);
        for sd in [1e-9, 1e-6, 1e-3, 0.1, 1.0, 4.0] {
            for (x, count) in at(sd).iter().zip(counts) {
                // All deviations are 50 and half of the noise's variance is theirs: 1 − λ = sd²/5000.
                let error = 50.0 * sd * sd / 5000.0;
                assert!((x - count).abs() <= error.max(AT_NOTHING * sd) + 1e-12, "{sd}: {x} for {count}");
            }
        }
        let sds = (0..4000).map(|k| 0.01 * f64::from(k));
        for (now, next) in sds.clone().zip(sds.skip(1)).map(|(a, b)| (at(a), at(b))) {
            assert!(now.iter().zip(next).all(|(a, b)| (a - b).abs() < 0.02), "{now:?} {next:?}");
        }
    }

    /// Two hundred noisy tables of four topics over forty words, at each of several sizes of the noise: with a least
    /// count that goes to 0 with the noise, errors of counts and divergences of topics are at most a hundredth larger
    /// than with one that does not, and less than half where topics have no word in common and the noise is small.
    #[test]
    fn a_least_count_tied_to_the_noise_costs_nothing() {
        const ROWS: usize = 4;
        const WIDTH: usize = 40;
        let streams = Seed::for_tests(1).streams(Purpose::Custom("noisy tables"));
        let mut rng = streams.at(0);
        let mut uniform = move || (rng.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        // The mean of ln(true share / share found) over the words of a topic, with the prior's tenth in each cell.
        let divergence = |truth: &[f64], found: &[f64]| -> f64 {
            let rows = truth.chunks(WIDTH).zip(found.chunks(WIDTH));
            let of = |(truth, found): (&[f64], &[f64])| {
                let (all, sum) = (truth.iter().sum::<f64>(), found.iter().map(|x| x + 0.1).sum::<f64>());
                let cells = truth.iter().zip(found).filter(|(p, _)| **p > 0.0);
                cells.map(|(p, q)| p / all * (p / all / ((q + 0.1) / sum)).ln()).sum::<f64>()
            };
            rows.map(of).sum::<f64>() / ROWS as f64
        };
        for separated in [true, false] {
            for sd in [0.01, 0.1, 1.0, 3.0, 10.0, 30.0] {
                let mut sums = [[0.0; 2]; 2];
                for _ in 0..200 {
                    let truth: Vec<f64> = (0..ROWS * WIDTH)
                        .map(|k| match separated && k % ROWS != k / WIDTH {
                            true => 0.0,
                            false => {
                                30.0 * -(uniform() + 1e-300).ln() * if separated { 4.0 } else { uniform() }
                            }
                        })
                        .collect();
                    let normal = |u: f64, v: f64| {
                        (-2.0 * (u + 1e-300).ln()).sqrt() * (std::f64::consts::TAU * v).cos()
                    };
                    let noisy: Vec<f64> =
                        truth.iter().map(|x| x + sd * normal(uniform(), uniform())).collect();
                    let columns: Vec<f64> =
                        (0..WIDTH).map(|v| (0..ROWS).map(|k| noisy[k * WIDTH + v]).sum()).collect();
                    let mut tables = [noisy.clone(), noisy];
                    shrink_to(&mut tables[0], &columns, sd, |mean| LEAST * mean);
                    shrink(&mut tables[1], &columns, sd);
                    for (sums, table) in sums.iter_mut().zip(&tables) {
                        let squares = truth.iter().zip(table).map(|(a, b)| (a - b).powi(2));
                        sums[0] += squares.sum::<f64>() / truth.len() as f64 / 200.0;
                        sums[1] += divergence(&truth, table) / 200.0;
                    }
                }
                let [before, now] = sums;
                for (before, now) in before.iter().zip(now) {
                    assert!(now <= 1.01 * before, "separated {separated}, sd {sd}: {before} {now}");
                    assert!(!separated || sd > 1.0 || now < 0.5 * before, "sd {sd}: {before} {now}");
                }
            }
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
