//! Probability distributions for ppl-core models, one file each.
