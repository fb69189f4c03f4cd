//! Mechanisms on few records, checked by enumeration: what `learn_bias`, `learn_p` and `check` print.

mod mechanisms;
mod naive_bayes;

pub use mechanisms::{Fault, Name, Report, Witness, over_coins, over_faces, over_normal_mean};
pub use naive_bayes::{Adult, Classifier};
