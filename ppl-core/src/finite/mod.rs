//! Programs with finite meaning: distributions as values, exact posteriors, and what the worst pair of
//! neighbouring inputs does to an output.
//!
//! A [`Dist`] is a table of weights. Programs are ordinary functions that build tables from tables: `map`,
//! `and_then`, `observe` and `infer`. Weights are [exact rationals](Rational), or
//! [intervals of logarithms](LogInterval) rounded outward; there is no weight whose error is unknown.
//!
//! ```
//! use ppl_core::finite::{Dist, Probability, Rational};
//!
//! /// What ten grid points say of a coin after some throws, one throw at a time.
//! fn learn(throws: &[bool], prior: Dist<Probability>) -> ppl_core::Result<Dist<Probability>> {
//!     throws.iter().try_fold(prior, |r, &d| r.observe(|&p| Dist::bernoulli(p).map(|z| z == d))?.infer())
//! }
//!
//! let grid = (1..10).map(|k| Probability::new(k, 10)).collect::<Result<Vec<_>, _>>()?;
//! let posterior = learn(&[true, true, false], Dist::uniform(grid)?)?;
//! // p²(1 − p) at 6/10, over the sum of p²(1 − p) on the grid: 144/825.
//! assert_eq!(posterior.weight(&Probability::new(6, 10)?), Rational::ratio(144, 825));
//! # Ok::<(), ppl_core::Error>(())
//! ```
//!
//! # Modules
//!
//! | file | what it holds |
//! |---|---|
//! | `interval` | real numbers known to lie between two others |
//! | `weight`, `rational`, `log_interval` | what a weight can do, and the two kinds of weights |
//! | `dist`, `probability` | tables of weights, and the programs that make them |
//! | `histogram` | how often each value of an alphabet occurs: the input of a program that ignores order |
//! | `neighbours` | all histograms up to some number of records, and pairs of neighbours among them |
//! | `divergence` | total variation, Hellinger, Kullback–Leibler, χ², Rényi |
//! | `hockey_stick`, `region`, `incomplete_beta` | how much of one distribution lies above a multiple of another |
//! | `composition` | what a divergence becomes when programs are run one after the other |
//! | `statistic` | vectors of integers, and their ℓ₁ and ℓ₂ distances |
//! | `check` | the largest log ratio of two outcomes' probabilities over all pairs of neighbours, with a witness |
//! | `family`, `conjugate`, `bounds` | posteriors that are no tables (Beta, Dirichlet, normal mean), and their worst cases in closed form |
//! | [`tables`] | exact inference on products of tables: junction trees, sampling, gradients |
//! | `posterior` | the exact posterior of a traced model over finitely many joint values |
//!
//! Nothing here speaks of privacy: two distributions are compared over a relation of inputs, and another
//! crate gives the result its meaning.

mod bounds;
mod check;
mod composition;
mod conjugate;
mod dist;
mod divergence;
mod family;
mod histogram;
mod hockey_stick;
mod incomplete_beta;
mod interval;
mod log_interval;
mod neighbours;
mod posterior;
mod probability;
mod rational;
mod region;
mod statistic;
pub mod tables;
mod weight;

pub use bounds::{
    affinity_of_half_a_count, dirichlet_hellinger, dirichlet_kullback_leibler, total_variation_from_hellinger,
};
pub use check::{Check, IntoLaw, Loss, Outcome, Witness};
pub use composition::InSequence;
pub use conjugate::{Beta, Conjugate, Dirichlet, NormalMean};
pub use dist::Dist;
pub use divergence::{
    ChiSquared, Divergence, Hellinger, KullbackLeibler, Posterior, Renyi, RenyiDivergence, TotalVariation,
    renyi,
};
pub use family::ExponentialFamily;
pub use histogram::{Category, FiniteType, Histogram};
pub use hockey_stick::{HockeyStick, hockey_stick, hockey_stick_at_ratio};
pub use interval::Interval;
pub use log_interval::LogInterval;
pub use neighbours::{
    AddRemove, Adjacency, DEFAULT_LIMIT, IntoPosterior, Neighbours, ReplaceOne, Worst, histograms, neighbours,
};
pub use posterior::{JointValue, posterior};
pub use probability::Probability;
pub use rational::Rational;
pub use statistic::{L1, L2, Statistic};
pub use weight::Weight;
