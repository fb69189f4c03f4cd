//! Integers of up to 128 bits as words, the lowest first, because no device has them.

use cubecl::prelude::*;

/// Four words; what is above the words of a number is zero.
#[derive(CubeType, Clone, Copy)]
pub(crate) struct Limbs {
    pub(crate) a: u32,
    pub(crate) b: u32,
    pub(crate) c: u32,
    pub(crate) d: u32,
}

/// The difference modulo 2¹²⁸, and in `borrow` 1 where it is below zero.
#[derive(CubeType, Clone, Copy)]
pub(crate) struct Difference {
    pub(crate) limbs: Limbs,
    pub(crate) borrow: u32,
}

/// x − y − borrow of words: the borrow of that.
#[cube]
fn borrow_of(x: u32, y: u32, borrow: u32) -> u32 {
    // y + borrow may wrap to zero, so the two are taken off one after the other.
    u32::cast_from(x < y) + u32::cast_from(x - y < borrow)
}

#[cube]
pub(crate) fn minus(x: Limbs, y: Limbs) -> Difference {
    let a = u32::cast_from(x.a < y.a);
    let b = borrow_of(x.b, y.b, a);
    let c = borrow_of(x.c, y.c, b);
    let borrow = borrow_of(x.d, y.d, c);
    let limbs = Limbs { a: x.a - y.a, b: x.b - y.b - a, c: x.c - y.c - b, d: x.d - y.d - c };
    Difference { limbs, borrow }
}

/// w · x for x below 2⁹⁶.
#[cube]
pub(crate) fn times_word(x: Limbs, w: u32) -> Limbs {
    let b = x.b * w + u32::mul_hi(x.a, w);
    let b_carry = u32::cast_from(b < x.b * w);
    // A high half is at most 2^32 − 2, so a carry still fits.
    let from_b = u32::mul_hi(x.b, w) + b_carry;
    let c = x.c * w + from_b;
    let c_carry = u32::cast_from(c < from_b);
    Limbs { a: x.a * w, b, c, d: u32::mul_hi(x.c, w) + c_carry }
}

/// x · y for x and y below 2⁶⁴.
#[cube]
pub(crate) fn product(x_low: u32, x_high: u32, y_low: u32, y_high: u32) -> Limbs {
    let low = times_word(Limbs { a: x_low, b: x_high, c: 0u32, d: 0u32 }, y_low);
    let high = times_word(Limbs { a: x_low, b: x_high, c: 0u32, d: 0u32 }, y_high);
    // low + 2³² high, of three words each.
    let b = low.b + high.a;
    let b_carry = u32::cast_from(b < low.b);
    let partial = low.c + high.b;
    let c = partial + b_carry;
    let c_carry = u32::cast_from(partial < low.c) + u32::cast_from(c < partial);
    Limbs { a: low.a, b, c, d: high.c + c_carry }
}

/// Whether every word is zero.
#[cube]
pub(crate) fn is_zero(x: Limbs) -> bool {
    (x.a | x.b | x.c | x.d) == 0u32
}
