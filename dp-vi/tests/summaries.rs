//! Audits of the summaries from outside: do their outcomes tell two neighbours apart as well as the ledger
//! states, no better?

use dp_accountant::{Accountant, Budget, Ledger, Mechanism, Relation};
use dp_sampler::Seed;
use dp_vi::Sensitive;
use dp_vi::summaries::{Field, Range, Summaries};
use ppl_core::{Column, Records};

const N: u64 = 24_000;
/// Two-sided false-alarm rate of a deviation this many standard errors wide: 2Φ(−5.2) = 2.0e-7.
const STANDARD_ERRORS: f64 = 5.2;
/// Of every summary here.
const SIGMA: f64 = 1.5;

fn budget(relation: Relation) -> Budget {
    Budget { epsilon: 20.0, delta: 1e-5, relation }
}

fn column(values: &[f64]) -> Sensitive<Records> {
    Sensitive::new(Records::from_columns([("x", Column::from(values.to_vec()))]).unwrap())
}

/// A number for each of many outcomes, and the advantage that the ledger states.
fn outcomes(
    relation: Relation,
    values: &[f64],
    seed: u64,
    statistic: impl Fn(&mut Summaries<'_>, &mut Ledger) -> f64,
) -> (Vec<f64>, f64) {
    let records = column(values);
    let mut summaries = Summaries::new(&records, Seed::for_tests(seed)).unwrap();
    let mut told = 0.0;
    let numbers = (0..N)
        .map(|k| {
            let mut ledger = Ledger::new(budget(relation)).unwrap();
            let number = statistic(&mut summaries, &mut ledger);
            if k == 0 {
                told = Accountant::new(relation).with(ledger.events()).advantage().unwrap().upper;
            }
            number
        })
        .collect();
    (numbers, told)
}

/// The largest difference of the two empirical distribution functions: the advantage of the best threshold.
fn advantage(a: &[f64], b: &[f64]) -> f64 {
    let sorted = |x: &[f64]| {
        let mut x = x.to_vec();
        x.sort_by(f64::total_cmp);
        x
    };
    let (a, b) = (sorted(a), sorted(b));
    let below = |x: &[f64], t: f64| x.partition_point(|x| *x <= t) as f64 / x.len() as f64;
    a.iter().step_by(16).map(|&t| (below(&a, t) - below(&b, t)).abs()).fold(0.0, f64::max)
}

/// The observed advantage is the one stated, within its error: an empirical distribution of n outcomes is
/// nowhere further from the true one than √(ln(2/α)/2n) = 2.84/√n, but for a probability of α = 2e-7
/// (Dvoretzky, Kiefer, Wolfowitz; Massart), and there are two.
fn agrees(a: &(Vec<f64>, f64), b: &(Vec<f64>, f64)) {
    let (observed, told) = (advantage(&a.0, &b.0), a.1);
    let error = 2.0 * 2.84 / (N as f64).sqrt();
    assert!((observed - told).abs() < error, "{observed} observed, {told} told, {error} leeway");
    // The test would notice noise that is 15 % off: the advantage is then 2Φ(1/(2·0.85σ)) − 1 or so.
    assert!(0.15 * told > error, "{told} {error}");
}

#[test]
fn a_count_tells_what_it_costs() {
    let count = |s: &mut Summaries<'_>, l: &mut Ledger| s.count(SIGMA, l).unwrap();
    let a = outcomes(Relation::AddRemove, &[1.0; 7], 1, count);
    agrees(&a, &outcomes(Relation::AddRemove, &[1.0; 8], 2, count));
    // What is planned with is what is paid, whatever the noise is rounded to.
    for noise in [1e-3, 0.7, 3.0, 20.1, 777.7, 1e6] {
        let mut ledger = Ledger::new(Budget { epsilon: 1e9, ..budget(Relation::AddRemove) }).unwrap();
        let records = column(&[0.0; 9]);
        Summaries::new(&records, Seed::for_tests(1)).unwrap().count(noise, &mut ledger).unwrap();
        let paid: Vec<_> = ledger.events().iter().collect();
        assert_eq!(paid, [(Summaries::count_event(noise).unwrap(), 1)], "{noise}");
    }
    for noise in [0.0, 9e-4, 2e6, f64::NAN] {
        assert!(Summaries::count_event(noise).is_err(), "{noise}");
    }
    // Under replace-one it is public and free.
    let records = column(&[0.0; 9]);
    let mut ledger = Ledger::new(budget(Relation::ReplaceOne)).unwrap();
    let mut summaries = Summaries::new(&records, Seed::for_tests(1)).unwrap();
    assert_eq!(summaries.count(SIGMA, &mut ledger).unwrap(), 9.0);
    assert!(ledger.debits().is_empty() && !summaries.is_secret());
}

#[test]
fn a_histogram_tells_what_it_costs() {
    let edges = [0.0, 1.0, 2.0, 3.0];
    let first = |s: &mut Summaries<'_>, l: &mut Ledger| s.histogram("x", &edges, SIGMA, l).unwrap().counts[0];
    let a = outcomes(Relation::AddRemove, &[0.5, 1.5, 2.5], 3, first);
    agrees(&a, &outcomes(Relation::AddRemove, &[0.5, 0.5, 1.5, 2.5], 4, first));
    // The best direction between a record in the first bin and one in the last.
    let between = |s: &mut Summaries<'_>, l: &mut Ledger| {
        let counts = s.histogram("x", &edges, SIGMA, l).unwrap().counts;
        counts[0] - counts[2]
    };
    let a = outcomes(Relation::ReplaceOne, &[0.5, 0.5, 1.5], 5, between);
    agrees(&a, &outcomes(Relation::ReplaceOne, &[2.5, 0.5, 1.5], 6, between));
}

#[test]
fn a_mean_tells_what_it_costs() {
    // The sum and the count come back from the mean and the count that are released, where neither bound is
    // reached.
    let both = |s: &mut Summaries<'_>, l: &mut Ledger| {
        let mean = s.mean("x", (-1.0, 1.0), SIGMA, l).unwrap();
        mean.value * mean.count + mean.count
    };
    let many = vec![0.0; 200];
    let a = outcomes(Relation::AddRemove, &many, 7, both);
    // The canary lies beyond the upper bound: it adds as much to the sum as to the count.
    agrees(&a, &outcomes(Relation::AddRemove, &[many.clone(), vec![70.0]].concat(), 8, both));
    let sum = |s: &mut Summaries<'_>, l: &mut Ledger| s.mean("x", (-1.0, 1.0), SIGMA, l).unwrap().value;
    let a = outcomes(Relation::ReplaceOne, &[many.clone(), vec![-70.0]].concat(), 9, sum);
    agrees(&a, &outcomes(Relation::ReplaceOne, &[many, vec![70.0]].concat(), 10, sum));
}

/// One halving is one comparison with noise: how often it goes which way is known exactly.
#[test]
fn a_comparison_of_ranks_has_the_noise_it_says() {
    let normal_cdf = |z: f64| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
    for relation in [Relation::AddRemove, Relation::ReplaceOne] {
        for (values, p) in [(vec![0.2, 0.2, 0.2, 0.8], 0.5), (vec![0.2, 0.8, 0.8], 0.3), (vec![], 0.5)] {
            let up = |s: &mut Summaries<'_>, l: &mut Ledger| {
                let range = Range::new(0.0, 1.0, 1).unwrap();
                s.quantile("x", p, range, SIGMA, l).unwrap().value
            };
            let (found, told) = outcomes(relation, &values, 11, up);
            let share = found.iter().filter(|value| **value == 0.75).count() as f64 / N as f64;
            let rank: f64 = values.iter().map(|x| f64::from(u8::from(*x < 0.5)) - p).sum();
            // One record moves the sum by max(p, 1 − p) or by 1, and twice the clip norm is moved by in the
            // second case.
            let deviation = SIGMA * if relation == Relation::AddRemove { p.max(1.0 - p) } else { 0.5 };
            let expected = normal_cdf(-rank / deviation);
            let error = STANDARD_ERRORS * (expected * (1.0 - expected) / N as f64).sqrt();
            assert!((share - expected).abs() < error, "{share} {expected}");
            // And the price is that of noise SIGMA: 2Φ(1/2σ) − 1, or 2Φ(1/σ) − 1 where a sum moves by twice
            // its clip norm.
            let shift = if relation == Relation::AddRemove { 0.5 } else { 1.0 };
            assert!((told - (2.0 * normal_cdf(shift / SIGMA) - 1.0)).abs() < 1e-6, "{told}");
        }
    }
}

#[test]
fn halvings_are_paid_for_together_and_noise_is_used_once() {
    let records = column(&(0..4000).map(|k| f64::from(k) / 4000.0).collect::<Vec<_>>());
    let mut ledger = Ledger::new(budget(Relation::AddRemove)).unwrap();
    let mut summaries = Summaries::new(&records, Seed::from_os().unwrap()).unwrap();
    assert!(summaries.is_secret());
    let range = Range::new(0.0, 1.0, 9).unwrap();
    for p in [0.1, 0.5, 0.9] {
        let before = ledger.events().iter().map(|(_, count)| count).sum::<u64>();
        let quantile = summaries.quantile("x", p, range, SIGMA, &mut ledger).unwrap();
        assert_eq!(ledger.events().iter().map(|(_, count)| count).sum::<u64>(), before + 9);
        // Ten standard deviations of the rank, and the resolution.
        let leeway = 10.0 * quantile.rank_noise / 4000.0 + quantile.resolution;
        assert!((quantile.value - p).abs() < leeway, "{quantile:?}");
    }
    // Nine releases with 3σ cost as one with σ.
    let mut one = Ledger::new(budget(Relation::AddRemove)).unwrap();
    summaries.quantile("x", 0.5, range, SIGMA, &mut one).unwrap();
    let event = dp_accountant::Event::new(
        Mechanism::Gaussian { noise_multiplier: SIGMA },
        dp_accountant::Sampling::None,
    );
    let single = Accountant::new(Relation::AddRemove).compose(event.unwrap(), 1).epsilon(1e-5).unwrap();
    assert!((one.spent().unwrap().upper / single.upper - 1.0).abs() < 1e-6);
    let counts: Vec<f64> = (0..40)
        .map(|_| summaries.count(SIGMA, &mut Ledger::new(budget(Relation::AddRemove)).unwrap()).unwrap())
        .collect();
    assert!((1..40).all(|k| counts[k] != counts[k - 1]));
}

#[test]
fn what_cannot_be_is_refused_and_nothing_is_debited() {
    let records =
        Sensitive::new(Records::from_columns([("x", vec![1.0, f64::NAN]), ("y", vec![1.0, 2.0])]).unwrap());
    let mut summaries = Summaries::new(&records, Seed::for_tests(1)).unwrap();
    let mut ledger = Ledger::new(Budget { epsilon: 0.1, ..budget(Relation::AddRemove) }).unwrap();
    let range = Range::new(0.0, 1.0, 3).unwrap();
    let told = [
        summaries.count(0.0, &mut ledger).unwrap_err().to_string(),
        summaries.count(1.0, &mut ledger).unwrap_err().to_string(),
        summaries.mean("x", (0.0, 1.0), 100.0, &mut ledger).unwrap_err().to_string(),
        summaries.mean("z", (0.0, 1.0), 100.0, &mut ledger).unwrap_err().to_string(),
        summaries.mean("y", (1.0, 0.0), 100.0, &mut ledger).unwrap_err().to_string(),
        summaries.mean(Field::new("y", 4), (0.0, 1.0), 100.0, &mut ledger).unwrap_err().to_string(),
        summaries.histogram("y", &[0.0], 100.0, &mut ledger).unwrap_err().to_string(),
        summaries.histogram("y", &[0.0, 2.0, 1.0], 100.0, &mut ledger).unwrap_err().to_string(),
        summaries.quantile("y", 1.0, range, 100.0, &mut ledger).unwrap_err().to_string(),
        summaries.quantile("x", 0.5, range, 100.0, &mut ledger).unwrap_err().to_string(),
    ];
    let expected = [
        "between 1e-3 and 1e6, got 0",
        "budget exceeded",
        "column 'x' has a value that is not a number",
        "no column 'z'",
        "from 1 to 0",
        "below the number of elements of the column, got 4",
        "number of edges must be at least 2, got 1",
        "from 2 to 1",
        "strictly between 0 and 1, got 1",
        "column 'x'",
    ];
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected), "{told}");
    }
    assert!(ledger.debits().is_empty());
}
