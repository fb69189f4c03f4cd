//! Zeros, infinities, NaN, denormals, thresholds.
