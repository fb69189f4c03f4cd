//! Every mechanism by its name: its claim, what the checker finds, and how useful it is.

use std::error::Error;
use std::fmt::{Debug, Display};

use dp_vi::mechanisms::{
    DataSets, DiscreteGaussian, Exponential, Geometric, Laplace, Mechanism, PosteriorDraw,
    RandomisedResponse, bayes_remap, expected_distance,
};
use ppl_core::finite::{
    AddRemove, Beta, Category, Check, Dirichlet, Dist, Divergence, Hellinger, Histogram, IntoPosterior,
    Neighbours, NormalMean, Outcome, Posterior, Rational, ReplaceOne, Weight, dirichlet_hellinger,
    histograms,
};
use serde::Serialize;

/// A mechanism by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Name {
    /// Counts with geometric noise, then the best guess
    Geometric,
    /// Counts with discrete Gaussian noise, then the best guess
    DiscreteGaussian,
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

/// Which data sets are neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Relation {
    /// Those that differ in one record; the number of records is public
    ReplaceOne,
    /// Those of which one has one more record; counts are clamped to a public number
    AddRemove,
}

/// What is asked about a mechanism.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// Which mechanism.
    pub name: Name,
    /// Number of records (replace-one), or the largest count (add/remove).
    pub records: u64,
    /// Which data sets are neighbours.
    pub relation: Relation,
    /// The claim.
    pub epsilon: f64,
    /// The claim's δ, for mechanisms that have one.
    pub delta: f64,
    /// A mistake to plant.
    pub fault: Option<Fault>,
}

impl Question {
    /// About a mechanism as it is, under replace-one, with a δ of 10⁻⁵ for those that have one.
    #[must_use]
    pub fn new(name: Name, records: u64, epsilon: f64) -> Self {
        Self { name, records, relation: Relation::ReplaceOne, epsilon, delta: 1e-5, fault: None }
    }
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
    /// The δ that it claims beside it, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_delta: Option<f64>,
    /// The ε that enumeration finds, at the δ that is claimed.
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

/// Checks a law over all data sets, against a claim of ε and δ.
fn check<T, O, W, E>(
    law: impl Fn(&Histogram<T>) -> Result<Dist<O, W>, E>,
    (epsilon, delta): (f64, f64),
    sets: &DataSets<T>,
) -> Result<Report, Failure>
where
    T: Ord + Clone,
    O: Ord + Clone + Debug,
    W: Weight,
    E: Display,
{
    let check = Check::new(law).records(sets.totals()).alphabet(sets.alphabet());
    let loss = match sets.relation() {
        dp_accountant::Relation::ReplaceOne => check.neighbours(ReplaceOne).run()?,
        dp_accountant::Relation::AddRemove => check.neighbours(AddRemove).run()?,
    };
    let witness = loss.witness().map(|witness| Witness {
        first: witness.first.counts().to_vec(),
        second: witness.second.counts().to_vec(),
        outcome: match &witness.outcome {
            Outcome::Value(value) => format!("{value:?}"),
            Outcome::Failure(told) => told.clone(),
        },
    });
    let found = loss.epsilon_at(delta);
    let checked = Checked { lower: found.lower(), upper: found.upper() };
    let claimed_delta = (delta > 0.0).then_some(delta);
    Ok(Report { claimed: epsilon, claimed_delta, checked, witness, expected_hellinger: None, refused: None })
}

/// The report of a mechanism that is put to work as it is: its own law, and the best guess from its outcome.
fn whole<T, K, P>(mechanism: &K, data: &[(Histogram<T>, P)], sets: &DataSets<T>) -> Result<Report, Failure>
where
    T: Ord + Clone,
    K: Mechanism<T>,
    P: Posterior,
    Hellinger: Divergence<P>,
{
    let remap = bayes_remap::<Hellinger, _, _, _>(mechanism, data, |_| 1.0)?;
    guessed(mechanism, data, sets, |outcome| data[remap[outcome]].1.clone())
}

/// The same with another guess from the outcome.
fn guessed<T, K, P>(
    mechanism: &K,
    data: &[(Histogram<T>, P)],
    sets: &DataSets<T>,
    guess: impl Fn(&K::Outcome) -> P,
) -> Result<Report, Failure>
where
    T: Ord + Clone,
    K: Mechanism<T>,
    P: Posterior,
    Hellinger: Divergence<P>,
{
    let law = |data: &Histogram<T>| mechanism.law(data);
    let mut report = check(law, (mechanism.claim(), mechanism.claimed_delta()), sets)?;
    let distance = expected_distance::<Hellinger, _, _, _>(mechanism, data, guess)?;
    report.expected_hellinger = Some(distance.estimate());
    Ok(report)
}

/// A problem: an alphabet, the posterior, and the likelihoods of a grid for draws.
struct Problem<'a, T, F, G> {
    alphabet: &'a [T],
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
    fn report(&self, question: Question) -> Result<Report, Failure> {
        let Question { name, records, relation, epsilon, delta, fault } = question;
        let (sets, sizes) = match relation {
            Relation::ReplaceOne => (DataSets::of_records(self.alphabet, records), records..=records),
            Relation::AddRemove => (DataSets::with_counts_up_to(self.alphabet, records), 0..=records),
        };
        let posteriors = |all: &[Histogram<T>]| -> Result<Vec<L::Posterior>, Failure> {
            all.iter().map(|one| Ok((self.posterior)(one).into_posterior()?)).collect()
        };
        let all = histograms(self.alphabet.to_vec(), sizes, 3000)?;
        let posteriors_of_all = posteriors(&all)?;
        let data: Vec<_> = all.into_iter().zip(posteriors_of_all).collect();
        let categories = self.alphabet.len();
        let replace = relation == Relation::ReplaceOne;
        if let Some(fault) = fault {
            return self.faulty(question, fault, &sets);
        }
        match name {
            Name::Geometric => {
                let noise = Geometric::new(epsilon)?;
                let prepare = if replace { Geometric::for_records } else { Geometric::for_at_most };
                whole(&prepare(noise, categories, records)?, &data, &sets)
            }
            Name::DiscreteGaussian => {
                let noise = DiscreteGaussian::new(epsilon, delta)?;
                let prepare =
                    if replace { DiscreteGaussian::for_records } else { DiscreteGaussian::for_at_most };
                whole(&prepare(noise, categories, records)?, &data, &sets)
            }
            Name::Exponential => {
                // What it chooses is a posterior, and is released as it is.
                let mechanism = Exponential::new(epsilon)?.over(&self.posterior, sets.clone(), self.bound)?;
                let chosen = posteriors(mechanism.candidates())?;
                guessed(&mechanism, &data, &sets, |&place| chosen[place].clone())
            }
            Name::ExponentialCalibrated => {
                let mechanism = Exponential::calibrated(epsilon)?;
                let mechanism = mechanism.over(&self.posterior, sets.clone(), self.bound)?;
                let chosen = posteriors(mechanism.candidates())?;
                guessed(&mechanism, &data, &sets, |&place| chosen[place].clone())
            }
            Name::PosteriorSample => {
                whole(&PosteriorDraw::new(epsilon)?.over(&self.on_a_grid, sets.clone())?, &data, &sets)
            }
            Name::RandomisedResponse if replace => {
                let told =
                    RandomisedResponse::for_epsilon(epsilon, categories)?.for_categories(categories)?;
                whole(&told, &data, &sets)
            }
            Name::RandomisedResponse => {
                Err("randomised response shows the number of records, so it is for replace_one".into())
            }
            Name::Laplace => {
                let noise = Laplace::new(epsilon)?;
                let prepare = if replace { Laplace::for_records } else { Laplace::for_at_most };
                whole(&prepare(noise, self.steps.clone(), records)?, &data, &sets)
            }
        }
    }

    /// The same with a mistake.
    fn faulty(&self, question: Question, fault: Fault, sets: &DataSets<T>) -> Result<Report, Failure> {
        let Question { name, records, relation, epsilon, delta, .. } = question;
        let categories = self.alphabet.len();
        if relation == Relation::AddRemove {
            return Err("faults are planted under replace_one".into());
        }
        match (name, fault) {
            (Name::Geometric, Fault::Scale | Fault::Sensitivity) => {
                let right = Geometric::new(epsilon)?.for_records(categories, records)?;
                let claimed = Mechanism::<T>::claim(&right);
                let sensitivity = if categories == 2 { 1 } else { 2 };
                let wrong = match fault {
                    Fault::Scale => right.with_scale_for(sensitivity, (9, 10)),
                    _ => right.with_scale_for(1, if sensitivity == 1 { (1, 2) } else { (1, 1) }),
                };
                check(|data: &Histogram<T>| wrong.law(data), (claimed, 0.0), sets)
            }
            (Name::DiscreteGaussian, Fault::Sensitivity) if categories == 3 => {
                let wrong = DiscreteGaussian::new(epsilon, delta)?.with_one_count_moved(records);
                let wrong = wrong.ok_or("no noise is enough for this claim")?;
                check(|data: &Histogram<T>| wrong.law(data), (epsilon, delta), sets)
            }
            (Name::Exponential | Name::ExponentialCalibrated, Fault::Score) => {
                // The largest squared distance of neighbours is what a metric would move by.
                let neighbours = Neighbours::over(self.alphabet, records..=records, ReplaceOne).limit(3000);
                let bound = neighbours.worst::<Hellinger, _>(&self.posterior)?.value().upper();
                let squared = Exponential::new(epsilon)?.with_squared_score();
                let refused = squared.over(&self.posterior, sets.clone(), bound);
                let refused = refused.err().map(|error| error.to_string());
                let wrong = squared.unchecked(&self.posterior, sets.clone(), bound)?;
                let report = check(|data: &Histogram<T>| wrong.law(data), (epsilon, 0.0), sets)?;
                Ok(Report { refused, ..report })
            }
            _ => Err(format!("the fault '{fault:?}' is not one of the mechanism '{name:?}'")
                .to_lowercase()
                .into()),
        }
    }
}

/// Points of a simplex whose coordinates are in proportions of 1, √r and r with r ≤ e^(ε/2), as weights:
/// replacing a record changes each likelihood by a factor of at most e^(ε/2).
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
pub fn over_coins(question: Question) -> Result<Report, Failure> {
    let prior = Beta::new(1.0, 1.0)?;
    let grid = simplex_grid(2, question.epsilon.min(64.0));
    let problem = Problem {
        alphabet: &[true, false],
        posterior: |coins: &Histogram<bool>| prior.observe_all(coins),
        on_a_grid: |coins: &Histogram<bool>| grid_posterior(&grid, coins),
        bound: lemma(question.relation, &[1.0, 1.0])?,
        steps: vec![1, 0],
    };
    problem.report(question)
}

/// The bound on the Hellinger distance of posteriors of neighbours that holds for any number of records.
fn lemma(relation: Relation, prior: &[f64]) -> Result<f64, Failure> {
    Ok(match relation {
        Relation::ReplaceOne => dirichlet_hellinger::<ReplaceOne>(prior)?.upper(),
        Relation::AddRemove => dirichlet_hellinger::<AddRemove>(prior)?.upper(),
    })
}

/// The probabilities of three faces under a uniform prior.
///
/// # Errors
///
/// As [`over_coins`].
pub fn over_faces(question: Question) -> Result<Report, Failure> {
    let prior = Dirichlet::new([1.0; 3])?;
    let grid = simplex_grid(3, question.epsilon.min(64.0));
    let alphabet = [0, 1, 2].map(Category::<3>::new).into_iter().collect::<Result<Vec<_>, _>>()?;
    let problem = Problem {
        alphabet: &alphabet,
        posterior: |faces: &Histogram<Category<3>>| prior.observe_all(faces),
        on_a_grid: |faces: &Histogram<Category<3>>| grid_posterior(&grid, faces),
        bound: lemma(question.relation, &prior.parameters())?,
        steps: vec![0, 1, 2],
    };
    problem.report(question)
}

/// The mean of a normal distribution, of records on the grid −2, −1, 0, 1, 2, under a standard normal prior.
///
/// # Errors
///
/// As [`over_coins`].
pub fn over_normal_mean(question: Question) -> Result<Report, Failure> {
    let prior = NormalMean::new(0.0, 1.0, 1.0)?;
    let grid = simplex_grid(2, question.epsilon.min(64.0));
    let values: Vec<Category<5>> = (0..5).map(Category::new).collect::<Result<_, _>>()?;
    let posterior =
        |data: &Histogram<Category<5>>| prior.observe_all(data, |value| value.number() as f64 - 2.0);
    let records = question.records.min(20);
    let bound = match question.relation {
        Relation::ReplaceOne => {
            let neighbours = Neighbours::over(values.as_slice(), 0..=records, ReplaceOne);
            neighbours.worst::<Hellinger, _>(posterior)?.value()
        }
        Relation::AddRemove => {
            let neighbours = Neighbours::over(values.as_slice(), 0..=5 * records, AddRemove);
            neighbours.worst::<Hellinger, _>(posterior)?.value()
        }
    };
    let problem = Problem {
        alphabet: &values,
        posterior,
        // Whether a value is above 0, for want of a grid of means in rationals.
        on_a_grid: |data: &Histogram<Category<5>>| {
            let above =
                data.iter().filter(|(value, _)| value.number() > 2).map(|(_, count)| count).sum::<u64>();
            grid_posterior(&grid, &Histogram::new(vec![0, 1], vec![above, data.total() - above])?)
        },
        bound: bound.upper(),
        steps: vec![-2, -1, 0, 1, 2],
    };
    problem.report(question)
}
