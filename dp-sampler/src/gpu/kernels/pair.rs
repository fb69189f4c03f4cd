//! 64-bit integers as two words, because not every device has them.

use cubecl::prelude::*;

/// Whether a < b.
#[cube]
pub(crate) fn less(a_low: u32, a_high: u32, b_low: u32, b_high: u32) -> bool {
    let mut less = a_high < b_high;
    if a_high == b_high {
        less = a_low < b_low;
    }
    less
}

/// The high word of (high, low) << bits, for fewer than 64 bits.
#[cube]
pub(crate) fn left_high(low: u32, high: u32, bits: u32) -> u32 {
    let mut shifted = high;
    if bits >= 32u32 {
        shifted = low << (bits - 32u32);
    } else if bits > 0u32 {
        shifted = (high << bits) | (low >> (32u32 - bits));
    }
    shifted
}

/// The low word of (high, low) << bits, for fewer than 64 bits.
#[cube]
pub(crate) fn left_low(low: u32, bits: u32) -> u32 {
    let mut shifted = 0u32;
    if bits < 32u32 {
        shifted = low << bits;
    }
    shifted
}

/// The low word of (high, low) >> bits, for fewer than 64 bits.
#[cube]
pub(crate) fn right_low(low: u32, high: u32, bits: u32) -> u32 {
    let mut shifted = low;
    if bits >= 32u32 {
        shifted = high >> (bits - 32u32);
    } else if bits > 0u32 {
        shifted = (low >> bits) | (high << (32u32 - bits));
    }
    shifted
}

/// The high word of (high, low) >> bits, for fewer than 64 bits.
#[cube]
pub(crate) fn right_high(high: u32, bits: u32) -> u32 {
    let mut shifted = 0u32;
    if bits < 32u32 {
        shifted = high >> bits;
    }
    shifted
}
