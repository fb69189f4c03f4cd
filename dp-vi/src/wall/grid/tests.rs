use super::*;
use crate::cost::pricing::event;
use crate::objective::curvature::CurvatureShape;
use crate::wall::adder::{Adder, NoiseOf, ReleaseScale};
use crate::wall::audits::modes::{self, gradient, records};
use crate::wall::audits::steps::{STANDARD_ERRORS, separated_epsilon};
use crate::wall::bound::clip::ClipNorm;
use crate::wall::bound::quantile::Quantile;
use crate::wall::curvature::CurvatureRelease;
use crate::wall::gradient::PrivateGradient;
use crate::wall::sensitive::Sensitive;
use dp_accountant::{Accountant, Certified, Relation, Sampling};
use dp_sampler::{FullBatch, Poisson, Purpose, Seed, Subsampling};
use ndarray::Array2;
use ppl_core::{Column, Graph, Record};
use proptest::prelude::*;

/// Noise for sums of two arrays of two and three elements; the records do not matter for it.
fn grid(elements: usize, noise_multiplier: f64, count: bool) -> Result<Grid> {
    let streams = Seed::for_tests(3).streams(Purpose::RoundedGaussianNoise);
    Grid::new(streams, elements, noise_multiplier, &gradient(&records(false), [0, 0]), count)
}

/// Noise is added to sums of any size, of which one that is large sends a whole stretch another way; to what is no number
/// it is added as to 0.
#[test]
fn noise_is_added_to_sums_of_any_size() {
    let large = (1_u64 << 51) as f64;
    let drawn = [3, -7, (1 << 36) + 1, -1, 5, 2];
    for first in [1.0, large] {
        let sums = [first, 5.3, -8.0, -large, f64::NAN, f64::INFINITY];
        let (sums, expected) = match first == large {
            true => (&sums[..], vec![large + 3.0, -2.0, 68_719_476_729.0, -large - 1.0, 5.0, 2.0]),
            false => (&sums[..3], vec![4.0, -2.0, 68_719_476_729.0]),
        };
        let mut out = vec![0.0; sums.len()];
        round_and_add(sums, &drawn[..sums.len()], 1.0, 1.0, &mut out);
        assert_eq!(out, expected);
    }
}

/// To NaN and infinities, either kind of noise is added as to 0.
#[test]
fn what_is_not_finite_shows_in_neither_kind_of_noise() {
    let (program, seed) = (gradient(&records(false), [0, 0]), Seed::for_tests(3));
    for noise in [PrivacyNoise::Continuous, PrivacyNoise::Exact] {
        let mut adder = Adder::new(noise, (NoiseOf::Steps, &seed), 3, SIGMA, &program, false).unwrap();
        // The same number, and so the same noise.
        let mut released = |sum: [f64; 3]| {
            let mut out = [0.0; 3];
            adder.add(&sum, ReleaseScale { number: 7, norm: NORM, rate: 0.5 }, &mut out);
            out
        };
        let nothing = released([0.0; 3]);
        assert!(nothing.iter().all(|x| *x != 0.0), "{noise:?}");
        assert_eq!(released([f64::INFINITY, f64::NEG_INFINITY, f64::NAN]), nothing, "{noise:?}");
    }
}

/// `round(sum · in_steps)`, without noise.
fn rounded(sum: &[f64], in_steps: f64) -> Vec<f64> {
    let mut out = vec![0.0; sum.len()];
    round_and_add(sum, &vec![0; sum.len()], in_steps, 1.0, &mut out);
    out
}

proptest! {
    /// At least the noise that is accounted for, and hardly more; with a count and without.
    #[test]
    fn the_grid_has_the_noise_that_is_accounted_for(logarithm in -6.9..13.8_f64, count: bool) {
        let asked = logarithm.exp();
        let grid = grid(2, asked, count).unwrap();
        let got = grid.accounted(2).unwrap();
        // The count's half has at least 2^32/1e7 steps and is rounded down, and it makes up a hundredth.
        let of_count = if count { 0.01 / (DEVIATION / (10.0 * asked) - 1.0) } else { 0.0 };
        // Seven hundredths of the charge for rounding to the grid are to spare.
        let spare = 0.08 * asked * 2.0_f64.sqrt() / DEVIATION;
        prop_assert!(got >= asked && got <= asked * (1.0 + of_count + spare + 1e-14), "{got} for {asked}");
        let of_gradient = if count { Adaptive::gradient_multiplier(asked) } else { asked };
        let more = grid.multiplier / of_gradient - 1.0;
        prop_assert!(more > OF_SUMS && more < OF_SUMS + 1.6 * asked / DEVIATION + 1e-14, "{more}");
    }

    /// Sums that are `shift` apart are, once rounded, integer vectors that are no farther apart than is
    /// charged for; small ones and large ones.
    #[test]
    fn rounding_moves_neighbours_no_farther_than_is_charged_for(
        pairs in proptest::collection::vec((-1.0..1.0_f64, -1.0..1.0_f64), 1..40),
        size in -10.0..25.0_f64,
        logarithm in -6.9..13.8_f64,
        norm in 1e-4..1e4_f64,
    ) {
        let (sum, shift): (Vec<f64>, Vec<f64>) = pairs.into_iter().map(|(sum, shift)| (sum * size.exp2() * norm, shift)).unzip();
        let length = shift.iter().map(|x| x * x).sum::<f64>().sqrt().max(1e-3);
        let other: Vec<f64> = sum.iter().zip(&shift).map(|(sum, x)| sum + x / length * norm).collect();
        let grid = grid(sum.len(), logarithm.exp(), false).unwrap();
        let step = grid.step(norm);
        let (a, b) = (rounded(&sum, 1.0 / step), rounded(&other, 1.0 / step));
        prop_assert!(a.iter().chain(&b).all(|x| x.fract() == 0.0));
        let apart = a.iter().zip(&b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let charged = norm * (1.0 + charge(logarithm.exp(), sum.len())) / step;
        prop_assert!(apart <= charged, "{apart} steps, charged {charged}");
        // The fast way and the slow one round alike, but for halves.
        for (x, m) in sum.iter().zip(&a) {
            prop_assert!((x / step - m).abs() <= 0.5 + 1e-9 + 2.0 * f64::EPSILON * (x / step).abs());
        }
    }
}

#[test]
fn what_is_out_of_range_is_refused_and_what_is_not_finite_adds_nothing() {
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-13, 2e6] {
        assert!(grid(1, value, false).unwrap_err().to_string().contains(&value.to_string()));
    }
    // A standard deviation of 2^32 steps, and a step that is as long as a sixteenth of the norm over √P.
    assert!(grid(1 << 20, 1e6, false).unwrap_err().to_string().contains("2.5e8"));
    for broken in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(rounded(&[broken, 7.2, 1e30], 1.0), [0.0, 7.0, 1e30]);
    }
    let mut out = [0.0; 2];
    round_and_add(&[f64::MAX, -f64::MAX], &[1, -1], 1.0, 1.0, &mut out);
    assert!(out[0] > 1e38 && out[1] < -1e38);
}

/// `δ(ε)` between two laws on integer vectors, summed outcome by outcome.
fn hockey_stick(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}

fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// The claim of the proof, by brute force on a coarse grid, where rounding matters most: rounded noise on
/// integer vectors is no easier to see through than the Gaussian mechanism that is accounted for, sampled or
/// not, in one dimension and in two; and where noise spans several steps it is all but as hard.
#[test]
fn rounded_noise_on_integers_reveals_no_more_than_the_event_that_is_accounted() {
    const REACH: i64 = 60;
    for (deviation, shift) in [(1.0, [1, 0]), (1.0, [1, 1]), (2.0, [3, 1]), (4.0, [4, 3]), (4.0, [0, 5])] {
        let law = |m: i64, x: i64| {
            let at = (x - m) as f64;
            normal_cdf((at + 0.5) / deviation) - normal_cdf((at - 0.5) / deviation)
        };
        let both = |shift: [i64; 2]| -> Vec<f64> {
            (-REACH..=REACH)
                .flat_map(|x| (-REACH..=REACH).map(move |y| law(shift[0], x) * law(shift[1], y)))
                .collect()
        };
        let (present, absent) = (both(shift), both([0, 0]));
        let norm = ((shift[0] * shift[0] + shift[1] * shift[1]) as f64).sqrt();
        for rate in [1.0, 0.2] {
            let mixed: Vec<f64> =
                present.iter().zip(&absent).map(|(p, q)| rate * p + (1.0 - rate) * q).collect();
            let sampling = if rate == 1.0 { Sampling::None } else { Sampling::Poisson { rate } };
            let event = event(deviation / norm, sampling).unwrap();
            let accountant = Accountant::new(Relation::AddRemove).compose(event, 1);
            for epsilon in [0.0, 0.1, 0.5, 1.0, 2.0] {
                let stated = accountant.delta(epsilon).unwrap();
                let found =
                    hockey_stick(&mixed, &absent, epsilon).max(hockey_stick(&absent, &mixed, epsilon));
                // Rounding of 15,000 terms, and of the function.
                assert!(
                    found <= stated.upper + 1e-12,
                    "{found} at {epsilon} for {shift:?}, stated {stated:?}"
                );
                if deviation >= 4.0 && stated.lower > 1e-3 {
                    assert!(found > 0.97 * stated.lower, "{found} at {epsilon}, stated {stated:?}");
                }
            }
        }
    }
}

const SIGMA: f64 = 1.0;
const NORM: f64 = 0.7;

fn stated() -> Certified {
    let event = event(SIGMA, Sampling::None).unwrap();
    Accountant::new(Relation::AddRemove).compose(event, 1).epsilon(1e-5).unwrap()
}

fn holds((lower, upper): (f64, f64)) -> bool {
    let claimed = stated();
    lower <= claimed.upper && claimed.lower <= upper
}

/// How a sum is formed.
#[derive(Clone, Copy)]
enum Way {
    /// In tiles.
    Whole,
    /// From gradients of records by themselves, as integers: what is done for the largest batches.
    RecordByRecord,
}

fn mechanism<'r, S: Subsampling>(
    (rule, way): (Rule, Way),
    noise_multiplier: f64,
    subsampling: &S,
    records: &'r Sensitive<Records>,
    seed: u64,
) -> PrivateGradient<'r, S::Sampler> {
    let bound = (rule, ClipNorm::new(NORM, 5).unwrap());
    let mut mechanism =
        modes::mechanism(bound, noise_multiplier, PrivacyNoise::Exact, subsampling, records, seed);
    if let Way::RecordByRecord = way {
        mechanism.sum_mut().adder_mut().limit_tiles_to(0);
    }
    mechanism
}

/// Values of the best statistic, in units of the noise that is accounted for.
fn statistics((rule, way): (&dyn Fn() -> Rule, Way), actual: f64, canary: bool, n: u64) -> Vec<f64> {
    let records = records(canary);
    let mut mechanism = mechanism((rule(), way), actual, &FullBatch, &records, 40 + u64::from(canary));
    let direction = match rule() {
        Rule::PerSite(_) => [0.4_f64.sqrt(), -(0.6_f64.sqrt())],
        _ => [40.0 / 6500.0_f64.sqrt(), -70.0 / 6500.0_f64.sqrt()],
    };
    let mut out = [0.0; 5];
    let release = |_| {
        let before = mechanism.clip_norm();
        mechanism.release_unpaid(&mut out).unwrap();
        let along = (direction[0] * out[0] + direction[1] * out[3]) / before;
        match rule() {
            Rule::Quantile(_) => {
                let count = -(mechanism.clip_norm() / before).ln() * EXPECTED;
                let (gradient, counts) = (Adaptive::gradient_multiplier(SIGMA), 5.0 * SIGMA);
                SIGMA * (along / gradient.powi(2) - 0.5 * (count - 1.0) / counts.powi(2))
            }
            _ => along / SIGMA,
        }
    };
    (0..n).map(release).collect()
}

const EXPECTED: f64 = 1e5;

/// A canary on sums clipped as a whole, site by site, and to a norm that follows a quantile together with its
/// count. That noise which is wrong by 10 % is noticed, with n = 45,000 on either side by five standard errors more
/// than the 5.2 that are allowed for, follows from the statistic and is seen once for each rule.
#[test]
fn exact_releases_cost_what_is_claimed_however_they_are_clipped() {
    let clip = || ClipNorm::new(NORM, 5).unwrap();
    let quantile = Quantile { target: 0.5, rate: 1.0 };
    let rules: [&dyn Fn() -> Rule; 3] =
        [&|| Rule::Flat(clip()), &|| Rule::per_site(NORM, &[2, 3], 1).unwrap(), &|| {
            Rule::Quantile(Adaptive::new(quantile, clip(), 5, EXPECTED).unwrap())
        }];
    let n = 45_000;
    let ways = rules.into_iter().flat_map(|rule| [(rule, Way::Whole), (rule, Way::RecordByRecord)]);
    for (number, rule) in ways.enumerate() {
        let audit = |actual: f64| {
            let (present, absent) = (statistics(rule, actual, true, n), statistics(rule, actual, false, n));
            separated_epsilon(&present, &absent, 0.5 / SIGMA)
        };
        assert!(holds(audit(SIGMA)), "rule {number}");
        if matches!(rule.1, Way::RecordByRecord) {
            continue;
        }
        assert!(!holds(audit(0.9 * SIGMA)), "rule {number}: too little noise went unnoticed");
        assert!(!holds(audit(1.1 * SIGMA)), "rule {number}: too much noise went unnoticed");
    }
}

/// Each element has its noise, independent of the others and of the last step's, also without any records.
///
/// n = 20,000; relative standard errors √(2/n) and 1/√n; 20 comparisons at α = 2e-7 each.
#[test]
fn exact_noise_is_independent_over_elements_and_steps() {
    let (n, sigma, rate) = (20_000_u64, 2.0, 0.5);
    let columns =
        [("x", 2), ("y", 3)].map(|(name, width)| (name, Column::from(Array2::<f64>::zeros((0, width)))));
    let records = Sensitive::new(Records::from_columns(columns).unwrap());
    let rule = Rule::Flat(ClipNorm::new(NORM, 5).unwrap());
    let mut mechanism = mechanism((rule, Way::Whole), sigma, &Poisson::rate(rate).unwrap(), &records, 31);
    let mut elements = vec![Vec::new(); 5];
    let mut out = [0.0; 5];
    for _ in 0..n {
        mechanism.release_unpaid(&mut out).unwrap();
        elements.iter_mut().zip(out).for_each(|(all, x)| all.push(x * rate / (sigma * NORM)));
    }
    // The charge for rounding: 2⁻¹⁴, and that of the grid.
    let more = mechanism.noise_added() * rate / (sigma * NORM) - 1.0;
    assert!(more > OF_SUMS && more < OF_SUMS + 1e-8, "{more}");
    let mean = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / n as f64;
    for a in 0..5 {
        assert!((mean(&elements[a], &elements[a]) - 1.0).abs() < STANDARD_ERRORS * (2.0 / n as f64).sqrt());
        assert!(mean(&elements[a][1..], &elements[a]).abs() < STANDARD_ERRORS / (n as f64).sqrt());
        for b in 0..a {
            assert!(mean(&elements[a], &elements[b]).abs() < STANDARD_ERRORS / (n as f64).sqrt());
        }
    }
}

/// Summed as integers: with a record removed, the sum differs by what that record adds by itself, whatever
/// the order and number of the others. Summed in tiles it is the same up to the bound on the rounding error.
#[test]
fn a_record_moves_the_sum_by_its_own_gradient_and_nothing_else() {
    let row = |k: usize, j: usize| ((k * 31 + j * 17) as f64 * 0.7).sin() * 3.0;
    let rule = Rule::Flat(ClipNorm::new(NORM, 5).unwrap());
    let sum_of = |rows: &[usize], way: Way| -> (Vec<f64>, f64) {
        let x = Array2::from_shape_fn((rows.len(), 2), |(i, j)| row(rows[i], j));
        let y = Array2::from_shape_fn((rows.len(), 3), |(i, j)| row(rows[i], 2 + j));
        let records = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap();
        let mut gradient = gradient(&Sensitive::new(records.clone()), [0, 0]);
        let batch: Vec<u64> = (0..rows.len() as u64).collect();
        let mut grid = grid(5, 1.0, false).unwrap();
        if let Way::RecordByRecord = way {
            grid.limit_tiles_to(0);
        }
        let mut sum = vec![0.0; 5];
        grid.sum((&rule, NORM), &mut gradient, (&records, &batch), &mut sum).unwrap();
        (sum, gradient.summation_error() * rows.len() as f64 * NORM)
    };
    let all: Vec<usize> = (0..301).collect();
    let (whole, bound) = sum_of(&all, Way::RecordByRecord);
    for removed in [0, 7, 150, 300] {
        let mut others: Vec<usize> = all.iter().copied().filter(|&k| k != removed).collect();
        others.reverse();
        let (without, _) = sum_of(&others, Way::RecordByRecord);
        let (alone, _) = sum_of(&[removed], Way::RecordByRecord);
        for ((a, b), x) in whole.iter().zip(&without).zip(&alone) {
            // Each is an integer that was rounded to a double.
            assert!((a - b - x).abs() <= f64::EPSILON * (a.abs() + b.abs() + x.abs()), "{a} {b} {x}");
        }
        let length = alone.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!(length <= NORM && length > 0.999_999 * NORM);
    }
    let (in_tiles, _) = sum_of(&all, Way::Whole);
    assert!(in_tiles.iter().zip(&whole).all(|(a, b)| (a - b).abs() <= 2.0 * bound), "{in_tiles:?} {whole:?}");
}

/// Where threads share a batch that is summed as integers, its sum is that of all of them, whatever their number.
#[test]
fn integers_of_all_threads_are_added_up() {
    // So wide that it is worth another thread: 1.2 million operations.
    let (count, width) = (1_200, 1_000);
    let x = Array2::from_shape_fn((count, width), |(i, j)| ((i * 31 + j * 17) as f64 * 0.7).sin());
    let records = Records::from_columns([("x", Column::from(x))]).unwrap();
    let rule = Rule::Flat(ClipNorm::new(NORM, width).unwrap());
    let batch: Vec<u64> = (0..count as u64).collect();
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let graph = Graph::new();
            let w = graph.input("w", width).unwrap();
            let value = Record::new(&graph, records.schema()).get("x").unwrap().dot(w);
            let mut gradient = RecordGradient::<f64>::new(value, &[w]).unwrap();
            let mut grid = grid(width, 1.0, false).unwrap();
            grid.limit_tiles_to(0);
            let mut sum = vec![0.0; width];
            grid.sum((&rule, NORM), &mut gradient, (&records, &batch), &mut sum).unwrap();
            // Each of them has had a part.
            let parts = grid.integers.iter().filter(|integers| integers.sums().iter().any(|sum| *sum != 0));
            assert_eq!(parts.count(), threads);
            sum
        })
    };
    let one = on(1);
    assert!([2, 3].into_iter().all(|threads| on(threads) == one));
}

/// An attack on floating-point noise, for one step on all records: where all gradients are zero, whatever is
/// released is `fl(σC z)` for some double `z`. Where one is not, other numbers are released too, and each of
/// them gives that record away at any ε.
///
/// With exact noise, whatever is released is an integer number of steps as a double, whichever records there
/// are.
#[test]
fn released_numbers_do_not_tell_by_which_numbers_they_can_be() {
    let n = 3_000;
    let sigma = 1.3;
    let released = |noise: PrivacyNoise, canary: bool| -> (Vec<f64>, f64) {
        let rows = |width: usize| {
            Array2::from_shape_fn(
                (10, width),
                |(i, j)| if canary && i == 3 { 0.3 + 0.1 * j as f64 } else { 0.0 },
            )
        };
        let columns = [("x", Column::from(rows(2))), ("y", Column::from(rows(3)))];
        let records = Sensitive::new(Records::from_columns(columns).unwrap());
        let gradient = gradient(&records, [0, 0]);
        let seed = Seed::for_tests(60 + u64::from(canary));
        let mut mechanism =
            PrivateGradient::with_noise(gradient, (NORM, sigma), noise, &FullBatch, &records, seed).unwrap();
        let mut all = Vec::new();
        let mut out = [0.0; 5];
        for _ in 0..n / 5 {
            mechanism.release_unpaid(&mut out).unwrap();
            all.extend(out);
        }
        (all, mechanism.noise_added())
    };
    let near = |x: f64| [x.next_down().next_down(), x.next_down(), x, x.next_up(), x.next_up().next_up()];
    // Whether a number is the product of the standard deviation and some double.
    let a_product = |x: f64, deviation: f64| near(x / deviation).into_iter().any(|z| deviation * z == x);
    let a_multiple = |x: f64, deviation: f64| {
        let step = deviation / DEVIATION;
        near((x / step).round())
            .into_iter()
            .any(|m| (m.round() * step - x).abs() <= 2.0 * f64::EPSILON * x.abs())
    };
    let impossible = |(all, deviation): (Vec<f64>, f64), possible: &dyn Fn(f64, f64) -> bool| {
        all.iter().filter(|&&x| !possible(x, deviation)).count()
    };
    let continuous = |canary| impossible(released(PrivacyNoise::Continuous, canary), &a_product);
    let exact = |canary| impossible(released(PrivacyNoise::Exact, canary), &a_multiple);
    assert_eq!(continuous(false), 0);
    assert!(continuous(true) > 100, "{}", continuous(true));
    assert_eq!((exact(false), exact(true)), (0, 0));
}

/// The curvature by the grid is that by floating point, but for the noise.
#[test]
fn the_curvature_on_the_grid_is_the_curvature() {
    let x = Array2::from_shape_fn((9, 3), |(i, j)| ((i * 3 + j) as f64).sin());
    let records = Records::from_columns([("x", Column::from(x.clone()))]).unwrap();
    let sensitive = Sensitive::new(records);
    for (shape, elements) in [(CurvatureShape::Full, 9), (CurvatureShape::Diagonal, 3)] {
        let program = || {
            let graph = Graph::new();
            let x = Record::new(&graph, sensitive.schema()).get("x").unwrap();
            let matrix = match shape {
                CurvatureShape::Full => graph.input("curvature", [3, 3]).unwrap(),
                CurvatureShape::Diagonal => graph.input("curvature", [3]).unwrap(),
            };
            let value = match shape {
                CurvatureShape::Full => x.inner(matrix.matvec(x)),
                CurvatureShape::Diagonal => x.square().inner(matrix),
            };
            let gradient = RecordGradient::<f64>::new(value, &[matrix]).unwrap();
            assert_eq!(gradient.dimension(), elements);
            gradient
        };
        let seed = Seed::for_tests(8);
        let (norm, sigma) = (1.1, 0.001);
        let noisy = |noise: PrivacyNoise| {
            let mut release = CurvatureRelease::new(
                program(),
                (shape, 3),
                (norm, sigma),
                noise,
                (NoiseOf::Curvature, &seed),
            )
            .unwrap();
            release.noisy(&sensitive, 0).unwrap()
        };
        let (fast, exact) = (noisy(PrivacyNoise::Continuous), noisy(PrivacyNoise::Exact));
        assert_ne!(fast, exact);
        for (fast, exact) in fast.iter().zip(&exact) {
            // Two noises of 0.0011: nine standard deviations of their difference, α = 2e-19 each.
            assert!((fast - exact).abs() < 9.0 * norm * sigma * std::f64::consts::SQRT_2, "{fast} {exact}");
        }
    }
}

/// Where a batch is just small enough to be summed in floating point and its neighbour is not, what is
/// released before the noise must be as near as for any other neighbours. Each record but the last has
/// elements of 0.49 steps: rounded by themselves they vanish, and their sum does not.
#[test]
fn neighbours_that_are_summed_in_different_ways_are_no_farther_apart_than_is_charged_for() {
    let (sigma, count) = (4_096.0, 2_000_usize);
    let clip = ClipNorm::new(NORM, 5).unwrap();
    let mut grid = grid(5, sigma, false).unwrap();
    grid.limit_tiles_to(count as u64);
    let step = grid.step(NORM);
    let row = |k: usize| if k < count { 0.49 * step } else { -1.0 };
    let x = Array2::from_shape_fn((count + 1, 2), |(k, _)| row(k));
    let y = Array2::from_shape_fn((count + 1, 3), |(k, _)| row(k));
    let records = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap();
    let mut gradient = gradient(&Sensitive::new(records.clone()), [0, 0]);
    let all: Vec<u64> = (0..=count as u64).collect();
    let mut rounded = |batch: &[u64]| -> Vec<f64> {
        let (mut sum, mut out) = ([0.0; 5], [0.0; 5]);
        // The same noise for both, in units of the grid.
        let noise = (0, NORM, 1.0 / step);
        grid.sum((&Rule::Flat(clip), NORM), &mut gradient, (&records, batch), &mut sum).unwrap();
        grid.add_noise(&sum, noise, &mut out);
        out.iter().map(|x| x.round()).collect()
    };
    let (without, with) = (rounded(&all[..count]), rounded(&all));
    let apart = without.iter().zip(&with).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let charged = NORM * (1.0 + charge(sigma, 5)) / step;
    assert!(apart <= charged, "{apart} steps, charged {charged}");
}

/// Sums that another program forms keep to the lower of both limits of what may be summed in tiles.
#[test]
fn another_programs_sums_have_no_higher_limit() {
    let program = gradient(&records(false), [0, 0]);
    let own = Grid::most_in_tiles(&program);
    let mut grid = grid(2, 1.0, false).unwrap();
    for (before, after) in [(10, 10), (u64::MAX, own)] {
        grid.limit_tiles_to(before);
        grid.take_over(&program);
        assert_eq!(grid.most_in_tiles, after);
    }
}

/// What no formula here gives: a grid with a thousandth less noise, and one whose count has no steps.
#[test]
fn noise_that_is_less_than_planned_is_refused() {
    for count in [false, true] {
        assert!(grid(5, SIGMA, count).unwrap().checked(5, SIGMA).is_ok());
        let mut short = grid(5, SIGMA, count).unwrap();
        short.multiplier *= 0.999;
        assert!(short.checked(5, SIGMA).unwrap_err().to_string().contains("less than what was planned"));
    }
    let mut without_steps = grid(5, SIGMA, true).unwrap();
    without_steps.count_steps = Some(0);
    assert!(without_steps.checked(5, SIGMA).is_err());
}
