//! A guide: from "what is epsilon" to the noise that a training run needs.
//!
//! # What epsilon and delta are
//!
//! A training run looks at records and releases something random: noisy sums, and a model made of them.
//! Somebody who sees the release, and knows every record but one, tries to tell whether that one was there.
//! *(ε, δ)-differential privacy* says that whatever is released, it was nearly as likely without the record:
//! each outcome's probability changes by a factor of at most e^ε, but for outcomes of a total probability of
//! δ.
//!
//! Neither number alone says much. A run has one *curve*, a δ for each ε, and a statement such as "ε = 1.83
//! at δ = 1e-5" is one point of it. δ is chosen first, well below one over the number of records, because a
//! mechanism that publishes one record in full with probability δ satisfies (0, δ).
//!
//! What the curve means to an attacker is easier to grasp. Any test of membership errs in two ways, and the
//! fewer false alarms it raises, the more it misses. Here are the best possible tests against a thousand
//! steps with noise multiplier 1 and a hundredth of the records each (left: guessing would be the straight
//! line), and the same run's δ at each ε (right):
//!
#![doc = include_str!("../docs/trade-off.svg")]
//!
//! ```
//! use dp_accountant::{Accountant, Event, Mechanism, Relation, Sampling};
//!
//! let step = Event::new(Mechanism::Gaussian { noise_multiplier: 1.0 }, Sampling::Poisson { rate: 0.01 })?;
//! let run = Accountant::new(Relation::AddRemove).compose(step, 1_000);
//! // One point of the curve on the right.
//! assert!(run.epsilon(1e-5)?.upper < 1.8283);
//! // How often a test finds a present record if it accuses one absent record in a hundred.
//! assert!(run.trade_off(1e-3)?.true_positive_rate(0.01)?.upper < 0.030);
//! // Right guesses about a record that is there with probability 1/2: hardly better than a coin.
//! assert!(run.success(0.5)?.upper < 0.581);
//! # Ok::<(), dp_accountant::Error>(())
//! ```
//!
//! # What has to be said
//!
//! Three things decide the answer, and this crate has no default for any of them.
//!
//! **The relation: who are neighbours?** Under [`AddRemove`](crate::Relation::AddRemove) one data set has one
//! record more; the number of records is then itself a secret. Under
//! [`ReplaceOne`](crate::Relation::ReplaceOne) a record is exchanged for another, and the size is public. A
//! record that is exchanged moves a clipped sum twice as far as one that is added, so the same run costs more
//! under replace-one, about twice as much. Choose what your readers will compare with: most DP-SGD papers
//! state add/remove; a statement under the one is none under the other.
//!
//! **The sampling scheme: how did records get into a batch?** Say what the program *did*:
//!
//! | the program | scheme |
//! |---|---|
//! | uses all records in every step | `None` |
//! | tosses a coin for every record in every step | `Poisson { rate }` |
//! | draws a fresh batch of fixed size in every step | `WithoutReplacement { batch, records }` |
//! | draws records one by one and may draw one twice | `WithReplacement { batch, records }` |
//! | shuffles once an epoch and cuts the order into batches | `Shuffle { batch, records }` |
//!
//! Ordinary data loaders shuffle. A shuffled run that is accounted as Poisson sampling can claim an ε several
//! times too small. If you want the small ε of Poisson sampling, sample that way.
//!
//! **The mechanism: how much noise?** The *noise multiplier* σ is the standard deviation of the noise over
//! the clip norm, where the noise is added to the *sum* of clipped gradients. If your framework adds noise to
//! the *mean* of a batch, multiply its standard deviation by the batch size first.
//!
//! # Noise for a budget
//!
//! Numbers from another framework go in, the noise multiplier comes out. With Opacus or with a JAX library,
//! say, 60,000 records, expected batches of 256 by Poisson sampling, 20 epochs:
//!
//! ```
//! use dp_accountant::{Budget, Composition, Event, Mechanism, Relation, Sampling, calibrate_noise_multiplier};
//!
//! let (records, batch, epochs) = (60_000.0, 256.0, 20.0);
//! let rate = batch / records;
//! let steps = (epochs / rate) as u64;
//! let budget = Budget { epsilon: 2.0, delta: 1e-5, relation: Relation::AddRemove };
//! let found = calibrate_noise_multiplier(&budget, |noise_multiplier| {
//!     let step = Event::new(Mechanism::Gaussian { noise_multiplier }, Sampling::Poisson { rate })?;
//!     Ok(Composition::single(step, steps))
//! })?;
//! assert!(found.epsilon.upper <= 2.0);
//! // Pass this on: noise_multiplier in Opacus; times the clip norm over the batch size, if noise is added to a mean.
//! assert!(found.noise_multiplier > 0.8 && found.noise_multiplier < 1.0);
//! # Ok::<(), dp_accountant::Error>(())
//! ```
//!
//! The command (feature `cli`) says the same without a program:
//!
//! ```text
//! dp-accountant calibrate --epsilon 2 --delta 1e-5 --relation add-remove --sampling poisson:256/60000 --steps 4687
//! ```
//!
//! If the noise is given, [`calibrate_steps`](crate::calibrate_steps),
//! [`calibrate_rate`](crate::calibrate_rate) and [`calibrate_batch`](crate::calibrate_batch) find how long to
//! train and how much to look at.
//!
//! # Spending over time
//!
//! A [`Ledger`](crate::Ledger) holds a budget and refuses what would exceed it; `FileLedger` (feature
//! `ledger-file`) survives the process. Debit *before* the mechanism runs. Both assume that noise, rates and
//! numbers of steps do not depend on earlier outputs: a ledger is not a privacy filter.
//!
//! # What "certified" means
//!
//! Every answer is an interval: the true value of the mathematical question lies between `lower` and `upper`,
//! rounding included, and the source beside each engine has the argument. `upper` is what may be promised.
//! `lower` says how much a better analysis could gain. `estimate` promises nothing. For schemes whose exact
//! price is not known both ends hold, further apart. A question without a proven answer is an error that says
//! what to ask instead.
//!
//! The limits:
//! - The question has to be the right one. An event is a claim about what a program did, and the accountant
//!   believes it.
//! - Noise is taken to have exactly the law that it is named for. Floating-point noise has not.
//! - Clipping has to bound what one record contributes. Batch normalisation, for example, breaks that.
//! - Choosing hyperparameters on the same data, and stopping early to claim a smaller ε, are releases too.
//! - The arguments are written for people, and checked by tests against independent computations; no machine
//!   has checked them.
