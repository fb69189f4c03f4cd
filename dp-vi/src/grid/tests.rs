use super::*;
use crate::audit_tests::{STANDARD_ERRORS, separated_epsilon};
use crate::audits_of_modes::{gradient, records};
use crate::clip::ClipNorm;
use crate::curvature::{CurvatureRelease, CurvatureShape};
use crate::mechanism::{PrivateGradient, Protection};
use crate::quantile::Quantile;
use crate::schemes::event;
use crate::sensitive::Sensitive;
use dp_accountant::{Accountant, Certified, Relation, Sampling};
use dp_sampler::{FullBatch, Poisson, Purpose, Seed, Subsampling};
use ndarray::Array2;
use ppl_core::{Column, Graph, Record};
use proptest::prelude::*;

fn grid(elements: usize, noise_multiplier: f64, count: bool) -> Result<GridSum> {
    let streams = Seed::for_tests(3).streams(Purpose::RoundedGaussianNoise);
    GridSum::new(streams, elements, noise_multiplier, count)
}

proptest! {
    /// At least the noise that is accounted for, and hardly more; with a count and without.
    #[test]
    fn the_grid_has_the_noise_that_is_accounted_for(logarithm in -6.9..13.8_f64, count: bool) {
        let asked = logarithm.exp();
        let got = grid(2, asked, count).unwrap().noise_multiplier().unwrap();
        // Up to two steps of at least 2^40/2^20/1.1 in each norm.
        prop_assert!(got >= asked && got <= asked * (1.0 + 4.0 * asked / DEVIATION + 4e-15), "{got} for {asked}");
    }

    /// In integers: no vector adds more than the norm, and one that is clipped to it is rounded to within a step towards zero.
    #[test]
    fn no_record_adds_more_than_the_norm(
        x in proptest::collection::vec((-30.0..30.0_f64, any::<bool>()), 1..6),
        logarithm in -6.9..13.8_f64,
        norm in 1e-4..1e4_f64,
        stretched in prop_oneof![Just(1.0), Just(1.0 + 1e-9), 0.0..3.0_f64],
    ) {
        let x: Vec<f64> = x.into_iter().map(|(e, minus)| e.exp() * if minus { -1.0 } else { 1.0 }).collect();
        let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        let vector: Vec<f64> = x.iter().map(|x| x / length * norm * stretched).collect();
        let steps = steps(logarithm.exp());
        let scale = steps as f64 / norm * MARGIN;
        let mut sums = vec![0; vector.len()];
        add(&mut sums, &vector, scale, square(steps));
        let added: u128 = sums.iter().map(|m: &i128| m.unsigned_abs().pow(2)).sum();
        prop_assert!(added <= square(steps));
        if stretched <= 1.0 {
            for (sum, x) in sums.iter().zip(&vector) {
                let (sum, exact) = (*sum as f64, x * scale);
                prop_assert!(sum.abs() <= exact.abs() && (exact - sum).abs() < 1.0, "{sum} for {exact}");
            }
        } else if stretched > 1.0 + 1e-6 && steps > 1 << 22 {
            prop_assert!(added == 0);
        }
    }
}

#[test]
fn hostile_numbers_add_nothing_or_zeros() {
    let limit = square(1000);
    for broken in [f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300] {
        let mut sums = [7, 8];
        add(&mut sums, &[broken, 0.5], 1000.0, limit);
        assert_eq!(sums, [7, 8]);
        add(&mut sums, &[broken; 2], 1000.0, limit);
        assert_eq!(sums, [7, 8]);
    }
    let mut sums = [7, 8];
    add(&mut sums, &[f64::NAN, 0.5], 1000.0, limit);
    assert_eq!(sums, [7, 508]);
    for value in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-4, 2e6] {
        assert!(grid(1, value, false).unwrap_err().to_string().contains(&value.to_string()));
    }
}

/// `δ(ε)` between two laws on integer vectors, summed outcome by outcome.
fn hockey_stick(p: &[f64], q: &[f64], epsilon: f64) -> f64 {
    p.iter().zip(q).map(|(p, q)| (p - epsilon.exp() * q).max(0.0)).sum()
}

fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

/// The claim of the proof, by brute force on a coarse grid, where rounding matters most: rounded noise on integer vectors is no easier to see
/// through than the Gaussian mechanism that is accounted for, sampled or not, in one dimension and in two; and where noise spans
/// several steps it is all but as hard.
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

fn mechanism<'r, S: Subsampling>(
    rule: Rule,
    noise_multiplier: f64,
    subsampling: &S,
    records: &'r Sensitive<Records>,
    seed: u64,
) -> PrivateGradient<'r, S::Sampler> {
    let groups = if matches!(rule, Rule::PerSite(_)) { [0, 1] } else { [0, 0] };
    let seed = Seed::for_tests(seed);
    let sum = NoisySum::new(rule, ClipNorm::new(NORM, 5).unwrap(), noise_multiplier).unwrap();
    let sum = sum.with_noise(PrivacyNoise::OnGrid, &seed, 5).unwrap();
    let gradient = gradient(records, groups);
    PrivateGradient::with(gradient, Protection::Gaussian(sum), subsampling, records, (&seed, &[])).unwrap()
}

/// Values of the best statistic, in units of the noise that is accounted for.
fn statistics(rule: impl Fn() -> Rule, actual: f64, canary: bool, n: u64) -> Vec<f64> {
    let records = records(canary);
    let mut mechanism = mechanism(rule(), actual, &FullBatch, &records, 40 + u64::from(canary));
    mechanism.allow_for_tests(n);
    let direction = match rule() {
        Rule::PerSite(_) => [0.4_f64.sqrt(), -(0.6_f64.sqrt())],
        _ => [40.0 / 6500.0_f64.sqrt(), -70.0 / 6500.0_f64.sqrt()],
    };
    let mut out = [0.0; 5];
    let release = |_| {
        let before = mechanism.clip_norm().unwrap();
        mechanism.release(&mut out).unwrap();
        let along = (direction[0] * out[0] + direction[1] * out[3]) / before;
        match rule() {
            Rule::Quantile(_) => {
                let count = -(mechanism.clip_norm().unwrap() / before).ln() * EXPECTED;
                let (gradient, counts) = (Adaptive::gradient_multiplier(SIGMA), 5.0 * SIGMA);
                SIGMA * (along / gradient.powi(2) - 0.5 * (count - 1.0) / counts.powi(2))
            }
            _ => along / SIGMA,
        }
    };
    (0..n).map(release).collect()
}

const EXPECTED: f64 = 1e5;

/// A canary on sums clipped as a whole, site by site, and to a norm that follows a quantile together with its count.
#[test]
fn exact_releases_cost_what_is_claimed_however_they_are_clipped() {
    let clip = || ClipNorm::new(NORM, 5).unwrap();
    let quantile = Quantile { target: 0.5, rate: 1.0 };
    let rules: [&dyn Fn() -> Rule; 3] =
        [&|| Rule::Flat(clip()), &|| Rule::per_site(NORM, &[2, 3], 1).unwrap(), &|| {
            Rule::Quantile(Adaptive::new(quantile, clip(), 5, EXPECTED).unwrap())
        }];
    let n = 60_000;
    for (number, rule) in rules.into_iter().enumerate() {
        let audit = |actual: f64| {
            let (present, absent) = (statistics(rule, actual, true, n), statistics(rule, actual, false, n));
            separated_epsilon(&present, &absent, 0.5 / SIGMA)
        };
        assert!(holds(audit(SIGMA)), "rule {number}");
        assert!(!holds(audit(0.9 * SIGMA)), "rule {number}: too little noise went unnoticed");
        assert!(!holds(audit(1.1 * SIGMA)), "rule {number}: too much noise went unnoticed");
    }
}

/// Each element has its noise, independent of the others and of the last step's, also where nobody is there.
///
/// n = 20,000; relative standard errors √(2/n) and 1/√n; 20 comparisons at α = 2e-7 each.
#[test]
fn exact_noise_is_independent_over_elements_and_steps() {
    let (n, sigma, rate) = (20_000_u64, 2.0, 0.5);
    let columns =
        [("x", 2), ("y", 3)].map(|(name, width)| (name, Column::from(Array2::<f64>::zeros((0, width)))));
    let records = Sensitive::new(Records::from_columns(columns).unwrap());
    let rule = Rule::Flat(ClipNorm::new(NORM, 5).unwrap());
    let mut mechanism = mechanism(rule, sigma, &Poisson::rate(rate).unwrap(), &records, 31);
    mechanism.allow_for_tests(n);
    let mut elements = vec![Vec::new(); 5];
    let mut out = [0.0; 5];
    for _ in 0..n {
        mechanism.release(&mut out).unwrap();
        elements.iter_mut().zip(out).for_each(|(all, x)| all.push(x * rate / (sigma * NORM)));
    }
    assert!((mechanism.noise_added() * rate / (sigma * NORM) - 1.0).abs() < 1e-11);
    let mean = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / n as f64;
    for a in 0..5 {
        assert!((mean(&elements[a], &elements[a]) - 1.0).abs() < STANDARD_ERRORS * (2.0 / n as f64).sqrt());
        assert!(mean(&elements[a][1..], &elements[a]).abs() < STANDARD_ERRORS / (n as f64).sqrt());
        for b in 0..a {
            assert!(mean(&elements[a], &elements[b]).abs() < STANDARD_ERRORS / (n as f64).sqrt());
        }
    }
}

/// Releases without noise to speak of, as integers: with a record removed, the sum differs by exactly what that record adds, whatever the
/// order and number of the others. (σ = 0.001 leaves 10^15 steps for the norm, and 2^40 of noise.)
#[test]
fn a_record_moves_the_sum_by_its_own_integers_and_nothing_else() {
    let row = |k: usize, j: usize| ((k * 31 + j * 17) as f64 * 0.7).sin() * 3.0;
    let sum_of = |rows: &[usize]| -> Vec<i128> {
        let x = Array2::from_shape_fn((rows.len(), 2), |(i, j)| row(rows[i], j));
        let y = Array2::from_shape_fn((rows.len(), 3), |(i, j)| row(rows[i], 2 + j));
        let records = Records::from_columns([("x", Column::from(x)), ("y", Column::from(y))]).unwrap();
        let sensitive = Sensitive::new(records.clone());
        let mut gradient = gradient(&sensitive, [0, 0]);
        let clip = ClipNorm::new(NORM, 5).unwrap();
        let mut grid = grid(5, 0.001, false).unwrap();
        let all: Vec<u64> = (0..rows.len() as u64).collect();
        grid.sum((&Rule::Flat(clip), NORM), &mut gradient, (&records, &all), None).unwrap();
        grid.takers[0].sums.clone()
    };
    let all: Vec<usize> = (0..301).collect();
    let whole = sum_of(&all);
    for removed in [0, 7, 150, 300] {
        let mut others: Vec<usize> = all.iter().copied().filter(|&k| k != removed).collect();
        others.reverse();
        let (without, alone) = (sum_of(&others), sum_of(&[removed]));
        let difference: Vec<i128> = whole.iter().zip(&without).map(|(a, b)| a - b).collect();
        assert_eq!(difference, alone);
        let square: u128 = alone.iter().map(|m| m.unsigned_abs().pow(2)).sum();
        let steps = grid(5, 0.001, false).unwrap().steps;
        assert!(square <= super::square(steps) && square as f64 > 0.999_999 * (steps as f64).powi(2));
    }
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
            let release = CurvatureRelease::new(program(), shape, norm, sigma, 3, (noise, &seed));
            release.unwrap().noisy(&sensitive, 0).unwrap()
        };
        let (fast, exact) = (noisy(PrivacyNoise::Continuous), noisy(PrivacyNoise::OnGrid));
        assert_ne!(fast, exact);
        for (fast, exact) in fast.iter().zip(&exact) {
            // Two noises of 0.0011: nine standard deviations of their difference, α = 2e-19 each.
            assert!((fast - exact).abs() < 9.0 * norm * sigma * std::f64::consts::SQRT_2, "{fast} {exact}");
        }
    }
}
