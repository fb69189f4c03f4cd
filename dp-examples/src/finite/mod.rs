//! Mechanisms on few records, checked by enumeration: what `learn_bias`, `learn_p`, `normal_mean` and `check`
//! print.

mod comparison;
mod mechanisms;
mod naive_bayes;

pub use comparison::{Reports, compare, written};
pub use mechanisms::{
    Fault, Name, Question, Relation, Report, Witness, over_coins, over_faces, over_normal_mean,
};
pub use naive_bayes::{Adult, Classifier, Measured, Noise};
