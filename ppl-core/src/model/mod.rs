//! The probabilistic language: statements of a model, distributions, constraints, and traces.
//!
//! | file | what happens there |
//! |---|---|
//! | `context` | the statements |
//! | `message`, `handler`, `stack` | what a statement says, what a handler is, and the way of a message through the handlers |
//! | `plate`, `expand` | axes of independent values |
//! | `enumerate`, `markov` | discrete latent values and chains of them, summed out |
//! | `record` | one record, as a model sees it |
//! | `distribution`, `transport`, `constraint` | what a distribution must do; images of simpler ones; supports |
//! | `family` | exponential families |
//! | `noise` | the standard noise that draws are made of, as inputs of a program or as numbers |
//! | `trace`, `key` | the sites of a model that has run, and the key that noise is drawn from |
//! | `matching` | whether a guide goes with a model |

pub(crate) mod constraint;
pub(crate) mod context;
pub(crate) mod distribution;
pub(crate) mod enumerate;
pub(crate) mod expand;
pub(crate) mod family;
pub(crate) mod handler;
pub(crate) mod key;
pub(crate) mod markov;
pub(crate) mod matching;
pub(crate) mod message;
pub(crate) mod noise;
pub(crate) mod plate;
pub(crate) mod record;
pub(crate) mod stack;
pub(crate) mod trace;
pub(crate) mod transport;

pub use constraint::Constraint;
pub use context::{Ctx, Initial, Model};
pub use distribution::{Distribution, Iid, Parameter};
pub use expand::Expanded;
pub use family::{ExponentialFamily, Statistic};
pub use handler::Handler;
pub use key::Key;
pub use message::{Drawing, Message};
pub use noise::{Noise, NoiseKind, draw_at_once};
pub use plate::Plate;
pub use record::Record;
pub use trace::{NoiseInput, Site, SiteKind, Trace, trace};
pub use transport::{Map, Transport};
