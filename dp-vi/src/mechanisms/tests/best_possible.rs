//! The best that any private mechanism can do for coins: a linear program, bounded below by a solution of its
//! dual.

use super::*;

/// A number below the least value of the linear program
///
/// ```text
/// minimise Σ_k Σ_r P(r|k) d(k, r)/(n + 1)   over all P ≥ 0 with Σ_r P(r|k) = 1 and P(r|k) ≤ e^ε P(r|k ± 1)
/// ```
///
/// by a number below 10⁻⁷. For any `y` with `Σ_k x_k (d(k, r)/(n + 1) − y_k) ≥ 0` for every guess `r` and
/// every `x ≥ 0` with `x_k ≤ e^ε x_{k ± 1}`, the sum of `y` is such a bound: each column of `P` is such an
/// `x`. The `y` for which the geometric mechanism with its best guesses attains it solves a system with the
/// matrix `e^(−ε|i − k|)`, whose inverse has three diagonals. That it is allowed is proven in intervals: the
/// least of a linear function over all `x` with `x_0 = 1` is that over those that grow or fall by `e^ε` at
/// each step, which a recursion finds.
fn best_possible(epsilon: f64, distances: &[Vec<Interval>]) -> f64 {
    const MARGIN: f64 = 1e-9;
    let n = distances.len();
    let (one, count) = (Interval::ONE, Interval::exact(n as f64));
    let alpha = (-Interval::exact(epsilon)).exp();
    let power = |k: usize| (-(Interval::exact(epsilon) * Interval::exact(k as f64))).exp();
    // What the geometric mechanism's outcome i costs with guess r.
    let cost = |i: usize, r: usize| -> Interval {
        (0..n).map(|k| power(k.abs_diff(i)) * distances[k][r]).sum::<Interval>() / count
    };
    let least =
        |i: usize| (0..n).map(|r| cost(i, r)).min_by(|a, b| a.estimate().total_cmp(&b.estimate())).unwrap();
    let b: Vec<Interval> = (0..n).map(least).collect();
    let y: Vec<Interval> = (0..n)
        .map(|k| {
            let own = if k == 0 || k == n - 1 { one } else { one + alpha.square() };
            let beside =
                [k.checked_sub(1), Some(k + 1)].into_iter().flatten().filter_map(|k| b.get(k).copied());
            // A little less, so that nothing is met exactly; a point, for any numbers do.
            let y = (own * b[k] - alpha * beside.sum::<Interval>()) / (one - alpha.square());
            Interval::exact(y.estimate() - MARGIN)
        })
        .collect();
    (0..n).for_each(|r| {
        let weight = |k: usize| distances[k][r] / count - y[k];
        let least =
            (0..n - 1).rev().fold(weight(n - 1), |after, k| weight(k) + (alpha * after).min(after / alpha));
        assert!(least.lower() >= 0.0, "the dual is not met at guess {r}: {least}");
    });
    y.into_iter().sum::<Interval>().lower()
}

/// The column "best possible" of the table, which the geometric mechanism with its best guess attains, to
/// 10⁻⁷.
#[test]
fn nothing_is_better_than_geometric_noise_and_the_best_guess() {
    let all: Vec<(Histogram<bool>, Beta)> =
        (0..=20).map(|k| (coins(20, k), learn_bias(&coins(20, k)))).collect();
    let distances: Vec<Vec<Interval>> =
        all.iter().map(|(_, p)| all.iter().map(|(_, q)| Hellinger::between(p, q)).collect()).collect();
    for (epsilon, printed) in [(0.1, 0.5615), (0.5, 0.2827), (1.0, 0.1477), (2.0, 0.0511)] {
        let geometric = Geometric::new(epsilon).unwrap().for_records(2, 20).unwrap();
        let remap = bayes_remap::<Hellinger, _, _, _>(&geometric, &all, |_| 1.0).unwrap();
        let attained =
            expected_distance::<Hellinger, _, _, _>(&geometric, &all, |noisy| all[remap[noisy]].1).unwrap();
        let bound = best_possible(epsilon, &distances);
        assert!(
            bound <= attained.upper() && attained.lower() - bound < 1e-7,
            "{epsilon}: {bound} {attained}"
        );
        assert!((bound - printed).abs() <= 0.5e-4, "{epsilon}: {bound}");
        // Nothing else is below the bound.
        let exponential = Exponential::calibrated(epsilon).unwrap();
        let exponential = exponential.over(learn_bias, sets(20), 0.4633).unwrap();
        let found =
            expected_distance::<Hellinger, _, _, _>(&exponential, &all, |&place| all[place].1).unwrap();
        assert!(found.lower() > bound);
    }
}
