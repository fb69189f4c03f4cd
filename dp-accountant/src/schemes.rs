//! Which pairs of laws bound an event from above and from below, for every mechanism, sampling scheme and
//! relation.
//!
//! Where one pair does both, it is tight: some mechanism and data sets attain it. Elsewhere the pair from
//! below belongs to concrete data sets. `lattice::Pair` holds the proofs about single steps; shuffled epochs
//! are these:
//!
//! *Shuffled, replace-one.* The order does not depend on the data, the record is in one batch of an epoch,
//! and the others are as before: an epoch reveals no more than one use of the mechanism on a batch with the
//! record, wherever it is. From below: the adversary looks at one batch of an epoch, which holds the record
//! with probability batch/records, or, with normal noise, only at the sum of all n batches, where the noise
//! is √n times as large. Under add/remove an inserted record moves others between batches, and no bound is
//! known here that is better than replacing all of them.

use std::sync::Arc;

use crate::closed_form::{Interval, gaussian_delta, invert, subsampled_step_delta};
use crate::lattice::{self, Atoms, Copies, Laplace, Pair, Part, Query, Replaced, Subsampled, Tagged};
use crate::run::{Formulas, Run};
use crate::special::ROUNDOFF;
use crate::{Composition, Error, Event, Mechanism, Relation, Result, Sampling};

/// The most integers of a discrete normal law, and the most copies of a record.
const MOST_ATOMS: usize = 1 << 20;
/// Those of all events of a composition, of 24 bytes each.
const MOST_ATOMS_IN_ALL: usize = 16 * MOST_ATOMS;
const MOST_COPIES: usize = 2_000;

/// What the formulas need to know of a composition.
#[derive(Debug)]
struct Totals {
    /// Without any sampling: Σ (sensitivity/σ)²/2 of normal noise, continuous or discrete, and what
    /// guarantees promise.
    concentrated: f64,
    pure: f64,
    failing: f64,
    /// A bound on the relative error of a sum over all events.
    relative_error: f64,
}

/// What bounds one event.
struct Bounds {
    upper: Pair,
    /// How the event can be attacked, where `upper` is not attained: by one release, and by sums over
    /// releases.
    lower: Option<[Pair; 2]>,
    /// How many times the pairs occur.
    count: u64,
}

/// The run of any composition.
pub(crate) fn run(relation: Relation, composition: &Composition) -> Result<Run> {
    let mut lines: Vec<(Event, u64)> = composition.iter().collect();
    // The order in which events were composed must not change a bit of the answer.
    lines.sort_by_cached_key(|(event, count)| (format!("{event:?}"), *count));
    let relative_error = (lines.len() as f64 + 8.0) * ROUNDOFF;
    let mut totals = Totals { concentrated: 0.0, pure: 0.0, failing: 0.0, relative_error };
    let (mut dominating, mut attacks) = (Vec::new(), [Vec::new(), Vec::new()]);
    let (mut attained, mut exact_counts) = (true, true);
    // Normal noise without sampling adds up to one step: the sums of (1/σ)² from above and from below.
    let mut blocks = [0.0f64; 3];
    let add = |parts: &mut Vec<Part>, block: &mut f64, pair: Pair, count: u64| match pair {
        Pair::Subsampled(line) if line.rate == 1.0 => *block += count as f64 / (line.sigma * line.sigma),
        pair => parts.push(Part { pair, count: count as f64 }),
    };
    // Normal noise without sampling needs no list.
    let needs_list = |event: &Event| {
        !matches!((event.mechanism(), event.sampling()), (Mechanism::Gaussian { .. }, Sampling::None))
    };
    let (different, mut atoms) = (lines.iter().filter(|(event, _)| needs_list(event)).count(), 0);
    for (event, count) in lines {
        let Bounds { upper, lower, count } = bounds(relation, event, count)?;
        // Lists of all lines are held at once: none is made beyond what an answer may hold.
        atoms += upper.atoms();
        if atoms > MOST_ATOMS_IN_ALL {
            let instead =
                "too many different events with long lists of outcomes: use fewer, or smaller sigmas";
            return Err(Error::UnsupportedEvent { relation, event, instead });
        }
        if dominating.len() > lattice::MOST_PARTS {
            return Err(Error::TooManyEvents { found: different, most: lattice::MOST_PARTS });
        }
        totals.add(relation, event, count);
        exact_counts &= count <= 1 << 53;
        attained &= lower.is_none();
        for (k, parts) in attacks.iter_mut().enumerate() {
            let pair = lower.as_ref().map_or(&upper, |pairs| &pairs[k]).clone();
            add(parts, &mut blocks[k + 1], pair, count);
        }
        add(&mut dominating, &mut blocks[0], upper, count);
    }
    let [first, second] = attacks;
    let mut lower = if attained {
        Vec::new()
    } else if first == second && blocks[1] == blocks[2] {
        vec![first]
    } else {
        vec![first, second]
    };
    let lists = std::iter::once(&mut dominating).chain(&mut lower);
    for (parts, squared) in lists.zip(blocks).filter(|(_, squared)| *squared > 0.0) {
        let line = Subsampled { sigma: 1.0 / squared.sqrt(), rate: 1.0 };
        parts.push(Part { pair: Pair::Subsampled(line), count: 1.0 });
    }
    let found = dominating.len();
    if found > lattice::MOST_PARTS {
        return Err(Error::TooManyEvents { found, most: lattice::MOST_PARTS });
    }
    Ok(Run { upper: dominating, lower, exact_counts, invertible: true, formulas: Box::new(totals) })
}

impl Totals {
    /// Adds an event.
    fn add(&mut self, relation: Relation, event: Event, count: u64) {
        let count = count as f64;
        let shift = match (relation, event.sampling()) {
            (Relation::AddRemove, Sampling::None | Sampling::Poisson { .. }) => 1.0,
            (_, Sampling::WithReplacement { batch, .. }) => 2.0 * batch as f64,
            _ => 2.0,
        };
        match event.mechanism() {
            Mechanism::Gaussian { noise_multiplier } => {
                self.concentrated += count * 0.5 * (shift / noise_multiplier).powi(2);
            }
            Mechanism::DiscreteGaussian { sigma, sensitivity } => {
                self.concentrated += count * 0.5 * (shift * sensitivity as f64 / sigma).powi(2);
            }
            Mechanism::Laplace { scale } => self.pure += count * shift / scale,
            Mechanism::RandomizedResponse { categories, truth_probability } => {
                let odds = truth_probability / (1.0 - truth_probability) * (categories - 1) as f64;
                self.pure += count * odds.ln().max(0.0);
            }
            Mechanism::PureDp { epsilon } => self.pure += count * epsilon,
            Mechanism::ApproximateDp { epsilon, delta } => {
                self.pure += count * epsilon;
                self.failing += count * delta;
            }
        }
    }

    /// An epsilon that suffices: zero-concentrated privacy, then plain addition.
    ///
    /// # References
    /// Bun and Steinke 2016, Proposition 1.3; Canonne, Kamath and Steinke 2020, Theorem 4 (the discrete
    /// normal law).
    fn crude_epsilon(&self, delta: f64) -> f64 {
        let left = delta - self.failing * (1.0 + 1e-9);
        if left <= 0.0 {
            return f64::MAX;
        }
        let rho = self.concentrated;
        let epsilon = rho + 2.0 * (rho * -left.ln()).max(0.0).sqrt() + self.pure;
        (epsilon * (1.0 + 1e-9)).min(f64::MAX)
    }
}

impl Formulas for Totals {
    /// The answer where all is one release with normal noise, or one sampled one.
    fn exact(&self, parts: &[Part], query: Query) -> Option<Interval> {
        let [Part { pair, count: 1.0 }] = parts else { return None };
        if let Pair::Atoms(atoms, 1.0) = pair {
            // Whether there is a formula does not depend on where it is asked.
            atoms.delta(0.0)?;
            let curve = |epsilon| atoms.delta(epsilon).unwrap_or(Interval { lower: 0.0, upper: 1.0 });
            return Some(match query {
                // The smallest deltas are below the rounding of the curve.
                Query::Epsilon { delta } => invert(curve, delta).intersect(self.enclose(query)),
                Query::Delta { epsilon } => curve(epsilon),
            });
        }
        let line = match pair {
            Pair::Subsampled(line) => *line,
            // Mirroring changes the profile only below epsilon = 0.
            Pair::Mirrored(of) => match of.as_ref() {
                Pair::Subsampled(line) => *line,
                _ => return None,
            },
            _ => return None,
        };
        let curve = |epsilon| match line.rate {
            1.0 => gaussian_delta(1.0 / line.sigma, self.relative_error, epsilon),
            rate => subsampled_step_delta(line.sigma, rate, epsilon),
        };
        Some(match query {
            Query::Epsilon { delta } => invert(curve, delta),
            Query::Delta { epsilon } => curve(epsilon),
        })
    }

    fn enclose(&self, query: Query) -> Interval {
        match query {
            Query::Epsilon { delta } => Interval { lower: 0.0, upper: self.crude_epsilon(delta) },
            Query::Delta { .. } => Interval { lower: 0.0, upper: 1.0 },
        }
    }
}

/// The pair of a mechanism that sees the record with probability `rate`; `replaced` asks for the pair of two
/// records instead of one and none.
fn pair(mechanism: Mechanism, rate: f64, replaced: bool) -> std::result::Result<Pair, &'static str> {
    let shift = if replaced { 2.0 } else { 1.0 };
    Ok(match mechanism {
        Mechanism::Gaussian { noise_multiplier } => {
            Pair::Subsampled(Subsampled { sigma: noise_multiplier / shift, rate })
        }
        Mechanism::Laplace { scale } => Pair::Laplace(Laplace { gap: shift / scale, rate }),
        Mechanism::DiscreteGaussian { sigma, sensitivity } => {
            let shift = if replaced { 2 * sensitivity } else { sensitivity };
            let truncation = ((MOST_ATOMS as f64 - shift as f64) / (2.0 * sigma) - 2.0).min(36.0);
            let atoms = Some(truncation).filter(|truncation| *truncation >= 8.0);
            let atoms =
                atoms.and_then(|truncation| Atoms::discrete_normal(sigma, shift, truncation, MOST_ATOMS));
            let Some(atoms) = atoms else {
                return Err("use a sigma and a sensitivity below about 50,000");
            };
            Pair::Atoms(Arc::new(atoms), rate)
        }
        Mechanism::RandomizedResponse { categories, truth_probability } if replaced => {
            Pair::Atoms(Arc::new(Atoms::response(categories, truth_probability)), rate)
        }
        Mechanism::RandomizedResponse { .. } => {
            return Err("whether a record answers is not hidden; ask for replace-one");
        }
        Mechanism::PureDp { epsilon } => Pair::Atoms(Arc::new(Atoms::guarantee(epsilon, 0.0)), rate),
        Mechanism::ApproximateDp { epsilon, delta } => {
            Pair::Atoms(Arc::new(Atoms::guarantee(epsilon, delta)), rate)
        }
    })
}

/// The pairs for one event, or the reason why there are none.
fn bounds(relation: Relation, event: Event, count: u64) -> Result<Bounds> {
    let (mechanism, sampling) = (event.mechanism(), event.sampling());
    let replaced = relation == Relation::ReplaceOne;
    let no = |instead| Error::UnsupportedEvent { relation, event, instead };
    let exactly = |upper| Bounds { upper, lower: None, count };
    let guarantee = matches!(mechanism, Mechanism::PureDp { .. } | Mechanism::ApproximateDp { .. });
    match sampling {
        Sampling::None | Sampling::Poisson { rate: 1.0 } => {
            Ok(exactly(pair(mechanism, 1.0, replaced).map_err(no)?))
        }
        Sampling::Poisson { rate } if !replaced => Ok(exactly(pair(mechanism, rate, false).map_err(no)?)),
        Sampling::Poisson { rate } => match mechanism {
            Mechanism::Gaussian { noise_multiplier: sigma } => {
                Ok(exactly(Pair::Replaced(Replaced { sigma, rate })))
            }
            _ => Err(no("ask for add/remove, or sample without replacement")),
        },
        Sampling::WithoutReplacement { batch, records } => {
            let rate = batch as f64 / records as f64;
            if !replaced {
                if guarantee {
                    return Err(no("ask for replace-one, with the guarantee under replace-one"));
                }
                if batch >= records {
                    return Err(no(
                        "draw fewer records, or take all of them in each step (none): without one of them there is no batch \
                         of this size",
                    ));
                }
                return Ok(exactly(pair(mechanism, rate, true).map_err(no)?));
            }
            let sampled = pair(mechanism, rate, true).map_err(no)?;
            if rate == 1.0 {
                return Ok(exactly(sampled));
            }
            let lower = Some([sampled.clone(), sampled.clone()]);
            Ok(Bounds { upper: Pair::Mirrored(Box::new(sampled)), lower, count })
        }
        Sampling::WithReplacement { batch, records } => {
            let Mechanism::Gaussian { noise_multiplier } = mechanism else {
                return Err(no("sample without replacement"));
            };
            let Some(copies) = Multiplicity::new(batch, records, count) else {
                return Err(no("draw batches of fewer records, or sample without replacement"));
            };
            let sigma = 0.5 * noise_multiplier;
            let lower = copies.pair(sigma, false);
            let upper = if replaced { copies.tagged(sigma) } else { copies.pair(sigma, true) };
            Ok(Bounds { upper, lower: Some([lower.clone(), lower]), count })
        }
        Sampling::Shuffle { batch, records } => {
            if !replaced {
                let instead = "ask for replace-one: an inserted record moves others between batches";
                return Err(Error::Unsupported { relation, sampling, instead });
            }
            let epoch = records.div_ceil(batch);
            let epochs = count.div_ceil(epoch);
            if !count.is_multiple_of(epoch) {
                // Down where the next epoch ends beyond what can be counted.
                let rounded = epochs.checked_mul(epoch).unwrap_or((epochs - 1) * epoch);
                return Err(Error::PartOfEpoch { steps: count, batch, records, epoch, rounded });
            }
            let upper = pair(mechanism, 1.0, true).map_err(no)?;
            if epoch == 1 {
                return Ok(Bounds { upper, lower: None, count: epochs });
            }
            let one_batch = pair(mechanism, batch as f64 / records as f64, true).map_err(no)?;
            let sum = match mechanism {
                Mechanism::Gaussian { noise_multiplier } => {
                    let sigma = 0.5 * noise_multiplier * (epoch as f64).sqrt();
                    Pair::Subsampled(Subsampled { sigma, rate: 1.0 })
                }
                _ => one_batch.clone(),
            };
            Ok(Bounds { upper, lower: Some([one_batch, sum]), count: epochs })
        }
    }
}

/// How often a record is drawn: the binomial law of m draws with probability 1/N.
struct Multiplicity {
    /// The probabilities of 0, 1, … copies.
    weights: Vec<f64>,
    /// The probability of more.
    beyond: f64,
    /// The probability of any.
    any: f64,
    /// A bound on the relative error of all weights.
    error: f64,
}

impl Multiplicity {
    /// `None` where a record is drawn so often that no batch misses it, as far as numbers of this size can
    /// tell.
    fn new(batch: u64, records: u64, steps: u64) -> Option<Self> {
        let (draws, odds) = (batch as f64, 1.0 / (records as f64 - 1.0));
        let log_none = draws * (-1.0 / records as f64).ln_1p();
        // The same list for numbers of steps of one order of magnitude, which then have tables in common.
        let enough = 1e-30 / f64::exp2(8.0 * (0.125 * (steps.max(1) as f64).log2()).ceil());
        let mut weights = vec![log_none.exp()];
        if log_none < -600.0 {
            return None;
        }
        // Neighbouring probabilities have the ratio (m - k)/((k + 1)(N - 1)).
        let ratio = |k: usize| (draws - k as f64).max(0.0) / (k as f64 + 1.0) * odds;
        let beyond = loop {
            let k = weights.len() - 1;
            let next = weights[k] * ratio(k);
            // From here on the ratios fall, so a geometric series bounds the rest.
            let following = ratio(k + 1);
            let rest = if following < 0.5 { next / (1.0 - following) } else { f64::INFINITY };
            if rest <= enough {
                break rest * (1.0 + 1e-9);
            }
            if weights.len() > MOST_COPIES {
                return None;
            }
            weights.push(next);
        };
        let error = ROUNDOFF * (8.0 + 4.0 * weights.len() as f64 + 4.0 * log_none.abs());
        Some(Self { weights, beyond, any: -log_none.exp_m1(), error })
    }

    /// The mixture; from below all larger numbers of copies count as the largest in the list.
    fn pair(&self, sigma: f64, upper: bool) -> Pair {
        let (mut weights, error) = (self.weights.clone(), self.error);
        let mut beyond = self.beyond;
        if let (Some(last), false) = (weights.last_mut(), upper) {
            // Rounded up by no more than the stated error.
            *last += beyond;
            beyond = 0.0;
        }
        Pair::Copies(Arc::new(Copies::new(sigma, weights, beyond, error)))
    }

    fn tagged(&self, sigma: f64) -> Pair {
        let weights = self.weights.iter().skip(1).map(|weight| weight / self.any).collect();
        let beyond = self.beyond / self.any;
        // The probability of no copy is what its complement leaves.
        let error = self.error + ROUNDOFF / self.weights[0];
        Pair::Tagged(Arc::new(Tagged { sigma, rate: self.any, weights, beyond, error }))
    }
}

#[cfg(test)]
mod tests;
