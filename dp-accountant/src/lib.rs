//! How much privacy a sequence of randomised mechanisms costs, as certified intervals.
