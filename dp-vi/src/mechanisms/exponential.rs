//! The exponential mechanism over all possible posteriors.

use super::{DataSets, Mechanism, posterior, sealed};
use crate::error::{Error, Result};
use dp_accountant::Relation;
use dp_sampler::{ExponentialChoice, Purpose, Seed};
use ppl_core::finite::{Dist, Divergence, Hellinger, Histogram, Interval, IntoPosterior, LogInterval};
use std::collections::HashMap;
use std::fmt::Debug;

/// The most possible data sets: the scores of all pairs of them are computed.
const MOST: u128 = 3000;

/// Scores are multiples of 2⁻³², slopes of 2⁻³².
const UNIT: f64 = (1_u64 << 32) as f64;

/// The exponential mechanism over posteriors (PrivInfer): of all posteriors that possible data sets have, one
/// is chosen by how near it is to the true one.
///
/// ```text
/// P(r) ∝ exp(−s H(r, posterior of D)),    s = ε/(2ρ) with the bound ρ of the value, or calibrated
/// ```
///
/// with H the Hellinger distance. It is a metric, so the score moves by at most ρ where the posterior does.
/// Squared Hellinger and Kullback–Leibler are none, and are no scores here. Candidates are the posteriors of
/// all data sets of the same size under replace-one, where it is public, and of all whose counts are at most a
/// public number under add/remove.
///
/// With a bound that holds for all numbers of records, the slope is less than half of what it could be.
/// [`calibrated`](Self::calibrated) finds the slope for these data sets by enumeration. Either way
/// [`Geometric`](super::Geometric) is much more accurate; this is here for comparison.
///
/// # Privacy
/// Scores are integers in units of 2⁻³². That they move by no more than the bound is checked for every pair
/// of neighbours before anything is debited; the choice is drawn exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Exponential {
    epsilon: f64,
    calibrated: bool,
    squared: bool,
}

impl Exponential {
    /// With this ε, and the slope `ε/(2ρ)` for the bound ρ of the value.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless ε is between 10⁻⁶ and 64.
    pub fn new(epsilon: f64) -> Result<Self> {
        Ok(Self { epsilon: crate::cost::integer_scale::epsilon(epsilon)?, calibrated: false, squared: false })
    }

    /// With this ε, and the largest slope for which enumeration over all of the data sets proves it.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] unless ε is between 10⁻⁶ and 64.
    pub fn calibrated(epsilon: f64) -> Result<Self> {
        Ok(Self { calibrated: true, ..Self::new(epsilon)? })
    }

    /// A mistake, for tests of the checker: the squared Hellinger distance as if it were a metric. It is
    /// refused.
    #[must_use]
    #[doc(hidden)]
    pub fn with_squared_score(self) -> Self {
        Self { squared: true, ..self }
    }

    /// Over the posteriors that `program` has at these data sets; `distance` is the bound ρ.
    ///
    /// # Errors
    /// [`ppl_core::Error::TooMany`] above 3000 data sets; [`Error::BoundTooSmall`], with a witness, if scores
    /// of neighbours differ by more than the bound; and whatever the program finds wrong at *any* of the data
    /// sets.
    pub fn over<T, P>(
        self,
        program: impl Fn(&Histogram<T>) -> P,
        sets: DataSets<T>,
        distance: f64,
    ) -> Result<ExponentialOfPosteriors<T>>
    where
        T: Ord + Clone + Debug,
        P: IntoPosterior,
        Hellinger: Divergence<P::Posterior>,
    {
        let mechanism = self.unchecked(program, sets, distance)?;
        let (moved, witness) = mechanism.largest_move();
        if moved > mechanism.sensitivity {
            let [one, other] = witness.map(|place| &mechanism.all[place]);
            let witness = format!("{one:?} and {other:?}");
            let (stated, found) = (mechanism.sensitivity as f64 / UNIT, moved as f64 / UNIT);
            return Err(Error::BoundTooSmall { stated, found, witness });
        }
        if !self.calibrated {
            return Ok(mechanism);
        }
        mechanism.calibrated(self.epsilon, moved)
    }

    /// The same without the check of the scores, for the checker to find out about.
    #[doc(hidden)]
    pub fn unchecked<T, P>(
        self,
        program: impl Fn(&Histogram<T>) -> P,
        sets: DataSets<T>,
        distance: f64,
    ) -> Result<ExponentialOfPosteriors<T>>
    where
        T: Ord + Clone + Debug,
        P: IntoPosterior,
        Hellinger: Divergence<P::Posterior>,
    {
        if !(distance > 0.0 && distance <= 1.0) {
            let (what, requirement) = ("the bound on the Hellinger distance", "above 0 and at most 1");
            return Err(Error::OutOfRange { what, requirement, value: distance });
        }
        let all = sets.all(MOST)?;
        let posteriors = all.iter().map(|data| posterior(program(data))).collect::<Result<Vec<_>>>()?;
        let places: HashMap<Vec<u64>, usize> =
            all.iter().enumerate().map(|(place, data)| (data.counts().to_vec(), place)).collect();
        let scores: Vec<Vec<u128>> = posteriors
            .iter()
            .map(|p| posteriors.iter().map(|q| self.score(Hellinger::between(p, q))).collect())
            .collect();
        // Rounding moves each of two scores by half a unit at most, and what the distance is known to by
        // less.
        let bound = if self.squared { distance * distance } else { distance };
        let sensitivity = (bound * UNIT).ceil() as u128 + 2;
        // s = ε/(2Δ) in units of 2⁻³² each, rounded down: ε 2³² is below 2³⁸, and 2³² times that below 2⁷⁰.
        let units = (self.epsilon * UNIT) as u128;
        let slope = ((units << 32) / (2 * sensitivity)).min(1 << 52) as u64;
        let epsilon = self.epsilon;
        Ok(ExponentialOfPosteriors { sets, all, places, scores, sensitivity, slope, epsilon })
    }

    /// A score from 0 to 2³²: larger is nearer.
    fn score(self, distance: Interval) -> u128 {
        let distance = distance.estimate().clamp(0.0, 1.0);
        let distance = if self.squared { distance * distance } else { distance };
        (1 << 32) - (distance * UNIT).round() as u128
    }
}

/// [`Exponential`], prepared for a program and data sets.
#[derive(Clone, Debug)]
pub struct ExponentialOfPosteriors<T> {
    sets: DataSets<T>,
    all: Vec<Histogram<T>>,
    /// Places of data sets among all of them, by their counts.
    places: HashMap<Vec<u64>, usize>,
    /// By data set, then by candidate.
    scores: Vec<Vec<u128>>,
    sensitivity: u128,
    slope: u64,
    epsilon: f64,
}

impl<T: Ord + Clone + Debug> ExponentialOfPosteriors<T> {
    /// By how much scores of neighbours differ at the most, and neighbours where they do.
    fn largest_move(&self) -> (u128, [usize; 2]) {
        let mut largest = (0, [0, 0]);
        for (one, other) in self.sets.pairs(&self.all) {
            let moves = self.scores[one].iter().zip(&self.scores[other]);
            let moved = moves.map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0);
            if moved > largest.0 {
                largest = (moved, [one, other]);
            }
        }
        largest
    }

    /// The largest slope, to 40 halvings, for which the check proves ε.
    fn calibrated(mut self, epsilon: f64, moved: u128) -> Result<Self> {
        let holds = |this: &mut Self, slope: u64| -> Result<bool> {
            this.slope = slope;
            Ok(this.checked()?.upper() <= epsilon)
        };
        // Proven by the sensitivity at this size; less by a little for the rounding of the check.
        let proven = (((epsilon * UNIT) as u128) << 32) / (2 * moved.max(1)).max(1);
        let mut low = (proven.min(1 << 50) as u64).saturating_sub(1 << 10);
        if !holds(&mut self, low)? {
            low = 0;
        }
        let mut high = low.max(1);
        while high < 1 << 52 && holds(&mut self, high)? {
            (low, high) = (high, high.saturating_mul(2).min(1 << 52));
        }
        for _ in 0..40 {
            let middle = low + (high - low) / 2;
            if middle == low {
                break;
            }
            if holds(&mut self, middle)? { low = middle } else { high = middle }
        }
        self.slope = low;
        Ok(self)
    }

    /// The ε of the law over all neighbours.
    fn checked(&self) -> Result<Interval> {
        Ok(self.sets.check(|data: &Histogram<T>| self.law(data))?.epsilon())
    }

    /// The data sets whose posteriors are the candidates, in their order.
    #[must_use]
    pub fn candidates(&self) -> &[Histogram<T>] {
        &self.all
    }

    /// The slope `s`.
    #[must_use]
    pub fn slope(&self) -> f64 {
        self.slope as f64 / UNIT
    }

    fn row(&self, data: &Histogram<T>) -> Result<&[u128]> {
        let place = self.places.get(self.sets.seen(data)?.counts());
        place
            .map(|&place| &self.scores[place][..])
            .ok_or(Error::Conflict("the histogram is not one of those that the mechanism was prepared for"))
    }
}

impl<T> sealed::Sealed for ExponentialOfPosteriors<T> {}

/// The law of [`ExponentialChoice`] with utilities in units, and a slope of `slope/2^bits`.
pub(crate) fn choice_law(utilities: &[u128], slope: u64, bits: u32) -> Result<Dist<usize, LogInterval>> {
    let largest = utilities.iter().copied().max().unwrap_or(0);
    let slope = Interval::exact(slope as f64) * Interval::exact(2.0_f64.powi(-(bits as i32)));
    let weight =
        |&utility: &u128| LogInterval::from_ln(-(Interval::exact((largest - utility) as f64) * slope));
    let weights: Vec<LogInterval> = utilities.iter().map(weight).collect();
    let total = LogInterval::sum(weights.iter());
    let pairs = weights.iter().enumerate().map(|(place, weight)| {
        let share = ppl_core::finite::Weight::over(weight, &total);
        (place, share.unwrap_or_else(ppl_core::finite::Weight::zero))
    });
    Ok(Dist::from_weights(pairs)?)
}

impl<T: Ord + Clone + Debug> Mechanism<T> for ExponentialOfPosteriors<T> {
    /// The place of the chosen candidate.
    type Outcome = usize;
    type Weight = LogInterval;

    fn relation(&self) -> Relation {
        self.sets.relation()
    }

    fn claim(&self) -> f64 {
        self.epsilon
    }

    fn law(&self, data: &Histogram<T>) -> Result<Dist<usize, LogInterval>> {
        // Scores are at most 2³² and slopes at most 2⁵², which doubles hold.
        choice_law(self.row(data)?, self.slope, 64)
    }

    fn draw(&self, data: &Histogram<T>, seed: &Seed, number: u64) -> Result<usize> {
        let streams = seed.streams(Purpose::Custom("exponential mechanism"));
        Ok(ExponentialChoice::from_streams(streams, self.slope, 64)?.draw(number, self.row(data)?)?)
    }
}
