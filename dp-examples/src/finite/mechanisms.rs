//! Every mechanism by its name: its claim, what the checker finds, and how useful it is.

use std::error::Error;
use std::fmt::Debug;

use dp_vi::mechanisms::{
    Exponential, Geometric, Laplace, Mechanism, PosteriorDraw, RandomisedResponse, bayes_remap,
    expected_distance,
};
use ppl_core::finite::{
    Beta, Category, Check, Dirichlet, Dist, Divergence, Hellinger, Histogram, IntoPosterior, NormalMean,
    Outcome, Posterior, Rational, ReplaceOne, Weight, dirichlet_hellinger, histograms, neighbours,
};
use serde::Serialize;

/// A mechanism by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Name {
    /// Counts with geometric noise, then the best guess
    Geometric,
    /// Exponential mechanism, its slope by the bound for any number of records
    Exponential,
    /// The same with the largest slope that the checker proves
    ExponentialCalibrated,
    /// A draw of the posterior over a grid
    PosteriorSample,
    /// Each record tells its value with some probability
    RandomisedResponse,
    /// A sum on a grid with Laplace noise
    Laplace,
}

/// A mistake that is planted for the checker to find.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fault {
    /// Noise of 0.9 times the scale
    Scale,
    /// Noise for half the sensitivity
    Sensitivity,
    /// The squared Hellinger distance as a score
    Score,
}

/// An interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Checked {
    /// What the loss is at least.
    pub lower: f64,
    /// What the loss is at most; infinite becomes `null`.
    pub upper: f64,
}

/// Two neighbours, as counts in the order of the alphabet, and the outcome that tells them apart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Witness {
    /// The data set at which the outcome is more likely.
    pub first: Vec<u64>,
    /// Its neighbour.
    pub second: Vec<u64>,
    /// The outcome.
    pub outcome: String,
}

/// What is known of a mechanism.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The ε that it claims.
    pub claimed: f64,
    /// The ε that enumeration finds.
    pub checked: Checked,
    /// Where it is attained.
    pub witness: Option<Witness>,
    /// The expected Hellinger distance of what is released from the true posterior, uniform over data sets.
    pub expected_hellinger: Option<f64>,
    /// A bound on scores that does not hold, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

impl Report {
    /// Whether what was found is above the claim, or the mechanism was refused.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.checked.lower > self.claimed || self.refused.is_some()
    }
}

/// Failures of these programs.
type Failure = Box<dyn Error>;

/// Checks a law over all data sets of a size, against a claim.
fn check<T, O, W, E>(
    law: impl Fn(&Histogram<T>) -> Result<Dist<O, W>, E>,
    claimed: f64,
    (alphabet, records): (&[T], u64),
) -> Result<Report, Failure>
where
    T: Ord + Clone,
    O: Ord + Clone + Debug,
    W: Weight,
    E: std::fmt::Display,
{
    let check = Check::new(law).records(records..=records).alphabet(alphabet);
    let loss = check.neighbours(ReplaceOne).run()?;
    let witness = loss.witness().map(|witness| Witness {
        first: witness.first.counts().to_vec(),
        second: witness.second.counts().to_vec(),
        outcome: match &witness.outcome {
            Outcome::Value(value) => format!("{value:?}"),
            Outcome::Failure(told) => told.clone(),
        },
    });
    let checked = Checked { lower: loss.epsilon().lower(), upper: loss.epsilon().upper() };
    Ok(Report { claimed, checked, witness, expected_hellinger: None, refused: None })
}

/// The report of a mechanism that is put to work as it is: its own law, and the best guess from its outcome.
fn whole<T, K, P>(
    mechanism: &K,
    data: &[(Histogram<T>, P)],
    (alphabet, records): (&[T], u64),
) -> Result<Report, Failure>
where
    T: Ord + Clone,
    K: Mechanism<T>,
    P: Posterior,
    Hellinger: Divergence<P>,
{
    let remap = bayes_remap::<Hellinger, _, _, _>(mechanism, data, |_| 1.0)?;
    guessed(mechanism, data, (alphabet, records), |outcome| remap[outcome])
}

/// The same with another guess from the outcome: the place of a data set.
fn guessed<T, K, P>(
    mechanism: &K,
    data: &[(Histogram<T>, P)],
    (alphabet, records): (&[T], u64),
    place: impl Fn(&K::Outcome) -> usize,
) -> Result<Report, Failure>
where
    T: Ord + Clone,
    K: Mechanism<T>,
    P: Posterior,
    Hellinger: Divergence<P>,
{
    let law = |data: &Histogram<T>| mechanism.law(data);
    let mut report = check(law, mechanism.claim(), (alphabet, records))?;
    let guess = |outcome: &K::Outcome| data[place(outcome)].1.clone();
    let distance = expected_distance::<Hellinger, _, _, _>(mechanism, data, guess)?;
    report.expected_hellinger = Some(distance.estimate());
    Ok(report)
}

/// A problem: an alphabet, a number of records, the posterior, and the likelihoods of a grid for draws.
struct Problem<'a, T, F, G> {
    alphabet: &'a [T],
    records: u64,
    posterior: F,
    on_a_grid: G,
    /// A bound on the Hellinger distance of posteriors of neighbours, for any number of records.
    bound: f64,
    /// Steps of the values, for the Laplace mechanism.
    steps: Vec<i64>,
}

impl<T, F, G, L, O> Problem<'_, T, F, G>
where
    T: Ord + Clone + Debug,
    F: Fn(&Histogram<T>) -> L,
    L: IntoPosterior,
    Hellinger: Divergence<L::Posterior>,
    O: Ord + Clone + Debug,
    G: Fn(&Histogram<T>) -> ppl_core::Result<Dist<O, Rational>>,
{
    fn report(&self, name: Name, epsilon: f64, fault: Option<Fault>) -> Result<Report, Failure> {
        let at = (self.alphabet, self.records);
        let mut data = Vec::new();
        for one in histograms(self.alphabet.to_vec(), self.records..=self.records, 3000)? {
            let posterior = (self.posterior)(&one).into_posterior()?;
            data.push((one, posterior));
        }
        let categories = self.alphabet.len();
        if let Some(fault) = fault {
            return self.faulty(name, epsilon, fault);
        }
        match name {
            Name::Geometric => {
                whole(&Geometric::new(epsilon)?.for_records(categories, self.records)?, &data, at)
            }
            Name::Exponential => {
                // What it chooses is a posterior, and is released as it is.
                let mechanism = Exponential::new(epsilon)?.over(&self.posterior, at, self.bound)?;
                guessed(&mechanism, &data, at, |&place| place)
            }
            Name::ExponentialCalibrated => {
                let mechanism = Exponential::calibrated(epsilon)?.over(&self.posterior, at, self.bound)?;
                guessed(&mechanism, &data, at, |&place| place)
            }
            Name::PosteriorSample => {
                whole(&PosteriorDraw::new(epsilon)?.over(&self.on_a_grid, at)?, &data, at)
            }
            Name::RandomisedResponse => {
                let told =
                    RandomisedResponse::for_epsilon(epsilon, categories)?.for_categories(categories)?;
                whole(&told, &data, at)
            }
            Name::Laplace => {
                whole(&Laplace::new(epsilon)?.for_records(self.steps.clone(), self.records)?, &data, at)
            }
        }
    }

    /// The same with a mistake.
    fn faulty(&self, name: Name, epsilon: f64, fault: Fault) -> Result<Report, Failure> {
        let at = (self.alphabet, self.records);
        let categories = self.alphabet.len();
        match (name, fault) {
            (Name::Geometric, Fault::Scale | Fault::Sensitivity) => {
                let right = Geometric::new(epsilon)?.for_records(categories, self.records)?;
                let claimed = Mechanism::<T>::claim(&right);
                let sensitivity = if categories == 2 { 1 } else { 2 };
                let wrong = match fault {
                    Fault::Scale => right.with_scale_for(sensitivity, (9, 10)),
                    _ => right.with_scale_for(1, if sensitivity == 1 { (1, 2) } else { (1, 1) }),
                };
                check(|data: &Histogram<T>| wrong.law(data), claimed, at)
            }
            (Name::Exponential | Name::ExponentialCalibrated, Fault::Score) => {
                // The largest squared distance of neighbours is what a metric would move by.
                let mut bound: f64 = 0.0;
                let all = histograms(self.alphabet.to_vec(), self.records..=self.records, 3000)?;
                for one in &all {
                    for counts in ppl_core::finite::Adjacency::above(ReplaceOne, one.counts()) {
                        let (p, q) =
                            ((self.posterior)(one), (self.posterior)(&one.with_counts(counts.into())?));
                        let distance = Hellinger::between(&p.into_posterior()?, &q.into_posterior()?);
                        bound = bound.max(distance.upper());
                    }
                }
                let squared = Exponential::new(epsilon)?.with_squared_score();
                let refused = squared.over(&self.posterior, at, bound).err().map(|error| error.to_string());
                let wrong = squared.unchecked(&self.posterior, at, bound)?;
                let report = check(|data: &Histogram<T>| wrong.law(data), epsilon, at)?;
                Ok(Report { refused, ..report })
            }
            _ => Err(format!("the fault '{fault:?}' is not one of the mechanism '{name:?}'")
                .to_lowercase()
                .into()),
        }
    }
}

/// Points of a simplex whose coordinates are in proportions of 1, √r and r with r ≤ e^(ε/2), as weights: replacing a
/// record changes each likelihood by a factor of at most e^(ε/2).
fn simplex_grid(categories: usize, epsilon: f64) -> Vec<Vec<u64>> {
    const ONE: f64 = 1000.0;
    let levels = [ONE, (ONE * (0.25 * epsilon).exp()).floor(), (ONE * (0.5 * epsilon).exp()).floor()];
    let mut all: Vec<Vec<u64>> = vec![Vec::new()];
    for _ in 0..categories {
        let with =
            |point: &Vec<u64>| levels.map(|level| [point.as_slice(), &[level as u64]].concat()).to_vec();
        all = all.iter().flat_map(with).collect();
    }
    // Points in the same proportions once, and none with all coordinates raised.
    all.retain(|point| point.contains(&(ONE as u64)));
    all.sort();
    all.dedup();
    all
}

/// The posterior over a grid under a uniform prior, exactly.
fn grid_posterior<T>(grid: &[Vec<u64>], data: &Histogram<T>) -> ppl_core::Result<Dist<usize, Rational>> {
    let likelihood = |point: &Vec<u64>| {
        let total: u64 = point.iter().sum();
        let factors = point.iter().zip(data.counts());
        factors.fold(Rational::one(), |product, (&weight, &count)| {
            product.times(&Rational::ratio(weight, total).power(u32::try_from(count).unwrap_or(u32::MAX)))
        })
    };
    Dist::from_weights(grid.iter().map(likelihood).enumerate())?.infer()
}

/// The bias of a coin under a uniform prior.
///
/// # Errors
///
/// An ε or a number of records outside of what the mechanism takes.
pub fn over_coins(name: Name, records: u64, epsilon: f64, fault: Option<Fault>) -> Result<Report, Failure> {
    let prior = Beta::new(1.0, 1.0)?;
    let grid = simplex_grid(2, epsilon.min(64.0));
    let problem = Problem {
        alphabet: &[true, false],
        records,
        posterior: |coins: &Histogram<bool>| prior.observe_all(coins),
        on_a_grid: |coins: &Histogram<bool>| grid_posterior(&grid, coins),
        bound: dirichlet_hellinger::<ReplaceOne>(&[1.0, 1.0])?.upper(),
        steps: vec![1, 0],
    };
    problem.report(name, epsilon, fault)
}

/// The probabilities of three faces under a uniform prior.
///
/// # Errors
///
/// As [`over_coins`].
pub fn over_faces(name: Name, records: u64, epsilon: f64, fault: Option<Fault>) -> Result<Report, Failure> {
    let prior = Dirichlet::new([1.0; 3])?;
    let grid = simplex_grid(3, epsilon.min(64.0));
    let alphabet = [0, 1, 2].map(Category::<3>::new).into_iter().collect::<Result<Vec<_>, _>>()?;
    let problem = Problem {
        alphabet: &alphabet,
        records,
        posterior: |faces: &Histogram<Category<3>>| prior.observe_all(faces),
        on_a_grid: |faces: &Histogram<Category<3>>| grid_posterior(&grid, faces),
        bound: dirichlet_hellinger::<ReplaceOne>(&prior.parameters())?.upper(),
        steps: vec![0, 1, 2],
    };
    problem.report(name, epsilon, fault)
}

/// The mean of a normal distribution, of records on the grid −2, −1, 0, 1, 2, under a standard normal prior.
///
/// # Errors
///
/// As [`over_coins`].
pub fn over_normal_mean(
    name: Name,
    records: u64,
    epsilon: f64,
    fault: Option<Fault>,
) -> Result<Report, Failure> {
    let prior = NormalMean::new(0.0, 1.0, 1.0)?;
    let grid = simplex_grid(2, epsilon.min(64.0));
    let values: Vec<Category<5>> = (0..5).map(Category::new).collect::<Result<_, _>>()?;
    let posterior =
        |data: &Histogram<Category<5>>| prior.observe_all(data, |value| value.number() as f64 - 2.0);
    let bound = neighbours(records.min(20), ReplaceOne).worst::<Hellinger, _>(posterior)?;
    let problem = Problem {
        alphabet: &values,
        records,
        posterior,
        // Whether a value is above 0, for want of a grid of means in rationals.
        on_a_grid: |data: &Histogram<Category<5>>| {
            let above =
                data.iter().filter(|(value, _)| value.number() > 2).map(|(_, count)| count).sum::<u64>();
            grid_posterior(&grid, &Histogram::new(vec![0, 1], vec![above, data.total() - above])?)
        },
        bound: bound.value().upper(),
        steps: vec![-2, -1, 0, 1, 2],
    };
    problem.report(name, epsilon, fault)
}
