//! The probabilistic language: statements of a model, distributions, constraints, traces, log densities and predictions.
//!
//! | file | what happens there |
//! |---|---|
//! | `context` | the statements |
//! | `message`, `stack` | what a statement says, and its way through the handlers |
//! | `plate`, `expand` | axes of independent values |
//! | `enumerate` | discrete latent values, summed out |
//! | `record` | one record, as a model sees it |
//! | `distribution`, `transport`, `constraint` | what a distribution must do; images of simpler ones; supports |
//! | `trace` | the sites of a model that has run |
//! | `log_density`, `simulate`, `predictive`, `key` | running a trace: densities, values, predictions, and the noise for them |
//! | `matching` | whether a guide goes with a model |

pub(crate) mod constraint;
pub(crate) mod context;
pub(crate) mod distribution;
pub(crate) mod enumerate;
pub(crate) mod expand;
pub(crate) mod key;
pub(crate) mod log_density;
pub(crate) mod matching;
pub(crate) mod message;
pub(crate) mod plate;
pub(crate) mod predictive;
pub(crate) mod record;
pub(crate) mod simulate;
pub(crate) mod stack;
pub(crate) mod trace;
pub(crate) mod transport;
