//! The laws that batches have to follow, as statistical tests; and samplers broken on purpose, which must
//! fail them.

use std::collections::BTreeMap;

use crate::testing;

pub(crate) const DRAWS: u64 = 20_000;

/// What 20,000 draws looked like: how often each record, each pair of the first few, each length.
pub(crate) struct Seen {
    pub(crate) records: Vec<u64>,
    pairs: Vec<u64>,
    lengths: Vec<u64>,
}

const PAIRED: usize = 12;

pub(crate) fn observe(records: u64, mut draw: impl FnMut(u64, &mut Vec<u64>)) -> Seen {
    let mut seen = Seen {
        records: vec![0; records as usize],
        pairs: vec![0; PAIRED * PAIRED],
        lengths: vec![0; records as usize + 1],
    };
    let mut batch = Vec::new();
    for step in 0..DRAWS {
        draw(step, &mut batch);
        seen.lengths[batch.len()] += 1;
        for &record in &batch {
            seen.records[record as usize] += 1;
            if record < PAIRED as u64 {
                for &other in batch.iter().filter(|&&other| other < record) {
                    seen.pairs[record as usize * PAIRED + other as usize] += 1;
                }
            }
        }
    }
    seen
}

/// Every statistic of a Poisson sampler at once; each has a false-alarm rate of 1e-6.
pub(crate) fn check_poisson(seen: &Seen, rate: f64) -> std::result::Result<(), String> {
    let (draws, records) = (DRAWS as f64, seen.records.len() as f64);
    // Each record's count is Binomial(draws, rate): the sum of squared standardised counts is chi-square with
    // `records` degrees of freedom up to the normal approximation, which counts of 100 and more allow.
    let variance = draws * rate * (1.0 - rate);
    let deviations: Vec<f64> = seen.records.iter().map(|&n| n as f64 - draws * rate).collect();
    let statistic = deviations.iter().map(|d| d * d / variance).sum();
    let upper = testing::chi_square_tail(statistic, records);
    if !(5e-7..1.0 - 5e-7).contains(&upper) {
        return Err(format!("inclusion counts: chi-square {statistic} for {records} records"));
    }
    // The largest deviation of any one record, by Bernstein's inequality and a union bound over records and
    // sides.
    let t = (2.0 * records / 1e-6).ln();
    let allowed = t / 3.0 + (t * t / 9.0 + 2.0 * t * variance).sqrt();
    if let Some(worst) = deviations.iter().find(|d| d.abs() > allowed) {
        return Err(format!("a record's count is off by {worst}, allowed are {allowed}"));
    }
    let expected: Vec<f64> = testing::binomial_pmf(records as u64, rate).iter().map(|p| p * draws).collect();
    let p_value = testing::goodness_of_fit(&seen.lengths, &expected);
    if p_value < 1e-6 {
        return Err(format!("batch lengths: p = {p_value:e}"));
    }
    // Independence: every pair is together with probability rate², within Bernstein's bound for all pairs.
    let mean = draws * rate * rate;
    let pairs = PAIRED.min(seen.records.len());
    let t = ((pairs * pairs) as f64 / 1e-6).ln();
    let allowed = t / 3.0 + (t * t / 9.0 + 2.0 * t * mean * (1.0 - rate * rate)).sqrt();
    for high in 0..pairs {
        for low in 0..high {
            let off = seen.pairs[high * PAIRED + low] as f64 - mean;
            if off.abs() > allowed {
                return Err(format!("the pair {low}, {high} is off by {off}, allowed are {allowed}"));
            }
        }
    }
    Ok(())
}

/// Every statistic of batches of one size, each subset equally likely; each has a false-alarm rate of 1e-6.
pub(crate) fn check_fixed_size(seen: &Seen, batch: u64) -> Result<(), String> {
    let (draws, records) = (DRAWS as f64, seen.records.len() as f64);
    if seen.lengths[batch as usize] != DRAWS {
        return Err(format!("lengths {:?}", seen.lengths));
    }
    // Σ (count − mean)² / (draws · p(1 − p)) · (N − 1)/N is chi-square with N − 1 degrees of freedom up to
    // the normal approximation.
    let p = batch as f64 / records;
    let scale = (records - 1.0) / records / (draws * p * (1.0 - p));
    let statistic = seen.records.iter().map(|&n| (n as f64 - draws * p).powi(2)).sum::<f64>() * scale;
    let upper = testing::chi_square_tail(statistic, records - 1.0);
    if !(5e-7..1.0 - 5e-7).contains(&upper) {
        return Err(format!("inclusion counts: chi-square {statistic} for {records} records"));
    }
    // Pairs are together with probability p (B − 1)/(N − 1), by Bernstein and a union bound.
    let mean = draws * p * (batch as f64 - 1.0) / (records - 1.0);
    let pairs = PAIRED.min(seen.records.len());
    let t = ((pairs * pairs) as f64 / 1e-6).ln();
    let allowed = t / 3.0 + (t * t / 9.0 + 2.0 * t * mean).sqrt();
    for high in 0..pairs {
        for low in 0..high {
            let off = seen.pairs[high * PAIRED + low] as f64 - mean;
            if off.abs() > allowed {
                return Err(format!("the pair {low}, {high} is off by {off}, allowed are {allowed}"));
            }
        }
    }
    Ok(())
}

/// Probabilities of sorted batches.
pub(crate) type Law = Vec<(Vec<u64>, f64)>;
/// Probabilities of the batches of two steps.
pub(crate) type JointLaw = BTreeMap<(Vec<u64>, Vec<u64>), f64>;

/// Both steps follow a law, independently.
pub(crate) fn independent(law: &Law) -> JointLaw {
    let pairs = law.iter().flat_map(|a| law.iter().map(move |b| (a, b)));
    pairs.map(|(a, b)| ((a.0.clone(), b.0.clone()), a.1 * b.1)).collect()
}

fn members(records: u64, set: u64) -> Vec<u64> {
    (0..records).filter(|record| set >> record & 1 == 1).collect()
}

pub(crate) fn poisson_law(rate: f64, records: u64) -> Law {
    let probability = |n: u32| rate.powi(n as i32) * (1.0 - rate).powi((records - u64::from(n)) as i32);
    (0..1 << records).map(|set: u64| (members(records, set), probability(set.count_ones()))).collect()
}

pub(crate) fn without_replacement_law(batch: u64, records: u64) -> Law {
    let sets = (0..1 << records).filter(|set: &u64| u64::from(set.count_ones()) == batch);
    let batches: Vec<_> = sets.map(|set| members(records, set)).collect();
    let probability = 1.0 / batches.len() as f64;
    batches.into_iter().map(|batch| (batch, probability)).collect()
}

pub(crate) fn with_replacement_law(batch: u32, records: u64) -> Law {
    let mut law = BTreeMap::new();
    for draws in 0..records.pow(batch) {
        let mut drawn: Vec<u64> = (0..batch).map(|i| draws / records.pow(i) % records).collect();
        drawn.sort_unstable();
        *law.entry(drawn).or_insert(0.0) += (records as f64).powi(-(batch as i32));
    }
    law.into_iter().collect()
}

/// The p-value of the batches of 20,000 pairs of steps against their joint law; 0 where an impossible one is
/// seen.
pub(crate) fn joint_p_value(
    law: &JointLaw,
    steps: impl Fn(u64) -> (u64, u64),
    mut draw: impl FnMut(u64, &mut Vec<u64>),
) -> f64 {
    let mut counts: BTreeMap<_, u64> = law.keys().map(|key| (key.clone(), 0)).collect();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for pair in 0..DRAWS {
        let (first, second) = steps(pair);
        draw(first, &mut a);
        draw(second, &mut b);
        a.sort_unstable();
        b.sort_unstable();
        match counts.get_mut(&(a.clone(), b.clone())) {
            Some(count) => *count += 1,
            None => return 0.0,
        }
    }
    let expected: Vec<f64> = law.values().map(|p| p * DRAWS as f64).collect();
    testing::goodness_of_fit(&counts.into_values().collect::<Vec<_>>(), &expected)
}

mod tests;
