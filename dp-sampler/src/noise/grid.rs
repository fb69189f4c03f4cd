//! Gaussian noise on a fixed grid, by vector instructions, with a law that is exact but for 2⁻¹²⁰.

use super::continuous::{GRID, Source, Transform};
use super::double::{RARE, cos_sin_turns, fold, fraction, long, negative_ln};
use super::fixed::Fixed;
use super::sealed::FillFrom;
use super::{Noise, NoiseDistribution};
use crate::subsampling::{deviations, sealed::Sealed};
use crate::{Purpose, Seed, Streams};

/// Gaussian noise rounded to integers, with a standard deviation of 2³² steps: as fast as continuous noise,
/// and without its rounding errors.
///
/// ```text
/// X = round(2³² Z),   Z standard normal
/// P(x) = Φ((x + ½)/2³²) − Φ((x − ½)/2³²)
/// ```
///
/// To add noise of standard deviation s to a sum, let h = s · 2⁻³² be the step of the grid, write the sum as
/// the nearest multiple of h, add X, and multiply by h. [`RoundedGaussianNoise`](crate::RoundedGaussianNoise)
/// has the same law for grids of your choice and takes six to forty times longer; its documentation has the
/// proof of privacy, which holds here too.
///
/// # Accuracy
///
/// The law of X is within a total variation distance of 2⁻¹²⁰ of the one above, for each value
/// ([`MAX_DEVIATION`](Self::MAX_DEVIATION)).
///
/// A pair of values is made from uniform numbers u and v of which random binary digits are drawn without end,
/// as far as they are needed: Z₀ = r cos(2πv) and Z₁ = r sin(2πv) with r = √(−2 ln u) are exactly standard
/// normal (Box and Muller). A double-precision z comes first, for which |z − Z| ≤ 2⁻⁴⁹ r whatever the digits
/// behind the first ones are. Where 2³² z is farther than 2⁻⁴⁸ · 2³² r from the nearest half of an odd
/// integer, X is known. Where it is not, about once in 26,000 values, Z² is compared with the square of that
/// number in 256-bit arithmetic, on 256 digits of u and of v.
///
/// Why |z − Z| ≤ 2⁻⁴⁹ r. Write ε for 2⁻⁵³. The first digits leave u known to ε of the distance to its nearer
/// end, and two conversions round by ε each: −ln u, whose derivative is at most 1.45 in these units, moves by
/// 4.4 ε of itself. Its evaluation adds 6.1 ε (argument reduction is exact, the series rounds by 2.1 ε, the
/// product with ln 2 by 1.5 ε, and their sum may cancel half of it). The root halves this and rounds by ε, so
/// r is known to 6.3 ε of itself. The angle is known to 1.6 ε and rounded by 1.2 ε; its cosine and sine round
/// by 2.2 ε; the last product by ε. Together |z − Z| ≤ (6.3 + 1.6 + 1.2 + 2.2 + 1) ε r < 2⁻⁴⁹ r. (Where more
/// than 63 first digits of u are alike, which happens with probability 2⁻⁶³, the next 128 are taken with
/// them. That these are alike too has probability 2⁻¹²⁷.)
///
/// Why 2⁻¹²⁰. The comparison decides rightly unless Z² is within 2⁻²⁴⁰ of b², b = (n + ½) 2⁻³² for an integer
/// n ≥ 0. Given v, and c for cosine or sine, r² has a density of at most ½ exp(−r²/2), so that has a
/// probability of at most Σ_b 2⁻²⁴⁰ c⁻² exp(−b²/(2c²)) ≤ 2⁻²⁴⁰ Σ_b b⁻² < 2⁻¹⁷⁰.
///
/// # Privacy
///
/// See [`RoundedGaussianNoise`](crate::RoundedGaussianNoise). The sum must lie on the grid before the noise
/// is added.
///
/// # The values
///
/// The words and pairs are those of [`GaussianNoise`](crate::GaussianNoise) for `f64`, from source
/// S.child(2⁶⁴ − 3), where S is the streams of the purpose. Digits of u behind its word are the 32-bit words
/// 0 to 5 of block i of the second stream, digits of v behind its first 62 are the words 6 to 12.
///
/// ```
/// use dp_sampler::{GridGaussianNoise, NoiseSource, Seed};
///
/// let noise = GridGaussianNoise::new(&Seed::for_tests(1));
/// let mut x = [0; 1_000];
/// noise.fill(0, &mut x);
/// let z = x.map(|x| x as f64 / 2_f64.powi(GridGaussianNoise::BITS as i32));
/// let deviation = (z.iter().map(|z| z * z).sum::<f64>() / 1_000.0).sqrt();
/// assert!((0.9..1.15).contains(&deviation));
/// ```
///
/// # References
///
/// Box, Muller (1958), *A note on the generation of random normal deviates*. Ziv (1991), *Fast evaluation of
/// elementary mathematical functions with correctly rounded last bit* (more digits only where rounding is
/// undecided).
pub struct GridGaussianNoise {
    source: Source,
    secret: bool,
}

impl GridGaussianNoise {
    /// The standard deviation is two to this many steps of the grid.
    pub const BITS: u32 = 32;

    /// A bound on the total variation distance between the law of one value and the exact one: 2⁻¹²⁰.
    pub const MAX_DEVIATION: f64 = 1.0 / (1_u128 << 120) as f64;

    /// Noise for a mechanism, from the streams of [`Purpose::RoundedGaussianNoise`].
    #[must_use]
    pub fn new(seed: &Seed) -> Self {
        Self::from_streams(seed.streams(Purpose::RoundedGaussianNoise))
    }

    /// The same from child 2⁶⁴ − 3 of these streams, from which nothing else may draw.
    #[must_use]
    #[allow(clippy::needless_pass_by_value)] // Taken, so that nothing else draws from them.
    pub fn from_streams(streams: Streams) -> Self {
        Self { source: Source::new(&streams, GRID), secret: streams.is_secret() }
    }
}

/// Steps of the grid in a standard deviation.
const SCALE: f64 = (1_u64 << GridGaussianNoise::BITS) as f64;

/// How close to the half of an odd integer a value is undecided, relative to the radius in steps: twice the
/// bound on the error.
const GUARD: f64 = 1.0 / (1_u64 << 48) as f64;

/// Adding and subtracting this rounds a smaller number to an integer, which stands in the last digits of the
/// sum.
const MAGIC: f64 = 6_755_399_441_055_744.0; // 1.5 · 2^52

/// Pairs of integers from four words, as [`double::Gaussian`](super::double::Gaussian) makes pairs of
/// doubles.
pub(super) struct Rounded;

impl Rounded {
    /// The integers nearest to `2³² r (cos, sin)`, and 1 if one of them is undecided, else 0. Below 2³⁷,
    /// since r < 17.
    #[inline(always)]
    fn nearest(negative_ln: f64, turn: [f64; 2]) -> ([i64; 2], u64) {
        let radius = SCALE * (negative_ln + negative_ln).sqrt();
        let sure = 0.5 - GUARD * radius;
        let mut undecided = 0;
        let integers = turn.map(|component| {
            let value = radius * component;
            let shifted = value + MAGIC;
            // Both differences are exact, and the second is negative where the value is undecided: then its
            // sign is set.
            let rest = value - (shifted - MAGIC);
            undecided |= (sure - rest.abs()).to_bits() >> 63;
            (shifted.to_bits() as i64).wrapping_sub(MAGIC.to_bits() as i64)
        });
        (integers, undecided)
    }

    /// The integers for the uniform numbers whose digits these are, where the doubles next to them leave a
    /// value undecided.
    #[cold]
    fn decided(words: [u32; 4], more: &[u32; 16], negative_ln: f64) -> [i64; 2] {
        let [a, b, c, d] = words;
        let (folded, upper) = fold(long(a, b));
        let next = |k: usize| long(more[k], more[k + 1]);
        let near = Fixed::fraction([next(4), next(2), next(0), folded]);
        let u = if upper == 0 { near } else { Fixed::ONE.minus(near) };
        let angle = long(c, d);
        let turn = Fixed::fraction([next(11), next(9), next(7), angle << 2 | u64::from(more[6] & 3)]);
        let half = Fixed::ratio(1, 1);
        let quarters = if turn >= half { turn.minus(half) } else { half.minus(turn) };
        let [cosine, sine] = quarters.cos_sin_of_quarters();
        let swapped = angle >> 62 & 1 == 1;
        let exact = if swapped { [sine, cosine] } else { [cosine, sine] };
        let logarithm = u.negative_ln();
        let squared_radius = logarithm.plus(logarithm);
        let radius = SCALE * (negative_ln + negative_ln).sqrt();
        let components = cos_sin_turns(angle);
        std::array::from_fn(|k| {
            let size = radius * components[k].abs();
            // The half of an odd integer next to it, (below + ½): the nearest one, if any is as near as the
            // error.
            let below = size.floor() as u64;
            let edge = Fixed::ratio(2 * below + 1, GridGaussianNoise::BITS + 1);
            let square = squared_radius.times(exact[k]).times(exact[k]);
            let near = (size - (below as f64 + 0.5)).abs() < 2.0 * GUARD * radius;
            let beyond = if near { square > edge.times(edge) } else { size > below as f64 + 0.5 };
            let magnitude = (below + u64::from(beyond)) as i64;
            if components[k] < 0.0 { -magnitude } else { magnitude }
        })
    }
}

impl Transform<4, 2> for Rounded {
    type Value = i64;

    #[inline(always)]
    fn ordinary(words: [u32; 4]) -> [i64; 2] {
        Self::ordinary_or_rare(words).0
    }

    #[inline(always)]
    fn is_rare(words: [u32; 4]) -> bool {
        Self::ordinary_or_rare(words).1 != 0
    }

    #[inline(always)]
    fn ordinary_or_rare([a, b, c, d]: [u32; 4]) -> ([i64; 2], u64) {
        let (folded, upper) = fold(long(a, b));
        let (integers, undecided) =
            Self::nearest(negative_ln(fraction(folded, 64), upper), cos_sin_turns(long(c, d)));
        (integers, undecided | folded.wrapping_sub(RARE) >> 63)
    }

    fn rare(words @ [a, b, c, d]: [u32; 4], more: &[u32; 16]) -> [i64; 2] {
        let (folded, upper) = fold(long(a, b));
        let next = long(more[0], more[1]);
        // Two words of digits that are not all alike: the ones that follow leave the fraction known to 2⁻⁵³
        // of itself.
        let (digits, bits) = match folded {
            RARE.. => (None, 64),
            1.. => (Some(u128::from(folded) << 64 | u128::from(next)), 128),
            0 => (Some(u128::from(next) << 64 | u128::from(long(more[2], more[3]))), 192),
        };
        let near = match digits {
            None => fraction(folded, 64),
            Some(digits) => (digits as f64 + 0.5) * 2_f64.powi(-bits),
        };
        let negative_ln = negative_ln(near, upper);
        match Self::nearest(negative_ln, cos_sin_turns(long(c, d))) {
            (integers, 0) => integers,
            _ => Self::decided(words, more, negative_ln),
        }
    }
}

impl Sealed for GridGaussianNoise {}

impl Noise for GridGaussianNoise {
    fn distribution(&self) -> NoiseDistribution {
        NoiseDistribution::RoundedGaussian { bits: Self::BITS }
    }

    fn deviation(&self, values: u64) -> f64 {
        deviations(values, Self::MAX_DEVIATION)
    }

    fn is_secret(&self) -> bool {
        self.secret
    }
}

impl FillFrom<i64> for GridGaussianNoise {
    fn fill_from(&self, step: u64, first_value: u64, out: &mut [i64]) {
        self.source.fill::<Rounded, 4, 2>(step, first_value, out);
    }
}

#[cfg(test)]
mod tests {
    use rand_core::Rng;

    use super::*;

    /// What a guarantee is claimed for: noise rounded to so many steps, and as far from it as that of each value.
    #[test]
    fn it_says_its_law_and_how_near_it_is() {
        let noise = GridGaussianNoise::new(&Seed::for_tests(1));
        assert_eq!(noise.distribution(), NoiseDistribution::RoundedGaussian { bits: 32 });
        let one = 2_f64.powi(-120);
        assert!(noise.deviation(0) == 0.0 && (one..1.001 * one).contains(&noise.deviation(1)));
        assert!((1e6 * one..1.001e6 * one).contains(&noise.deviation(1_000_000)));
    }

    /// Words whose pair is undecided in double precision, with the digits behind them.
    fn undecided(count: usize) -> Vec<([u32; 4], [u32; 16])> {
        let mut stream = Seed::for_tests(51).streams(Purpose::Split).at(0);
        let mut found = Vec::new();
        // One pair in 13,000 is.
        let mut tried = 0;
        while found.len() < count {
            tried += 1;
            assert!(tried < 100_000 * (count + 10), "pairs that should be undecided are not");
            let words = std::array::from_fn(|_| stream.next_u32());
            if Rounded::is_rare(words) && fold(long(words[0], words[1])).0 >= RARE {
                found.push((words, std::array::from_fn(|_| stream.next_u32())));
            }
        }
        found
    }

    /// Two hundred undecided pairs, and what mpmath 1.3.0 makes of their digits with 400 bits
    /// (`golden/grid.py`).
    #[test]
    fn undecided_values_are_those_of_exact_arithmetic() {
        let golden: Vec<i64> =
            include_str!("golden/grid.csv").lines().skip(1).map(|line| line.parse().unwrap()).collect();
        let found: Vec<i64> =
            undecided(200).iter().flat_map(|(words, more)| Rounded::rare(*words, more)).collect();
        assert_eq!(found, golden);
        // The doubles alone would have been wrong now and then, so this test can fail.
        let doubles: Vec<i64> =
            undecided(200).iter().flat_map(|(words, _)| Rounded::ordinary(*words)).collect();
        assert_ne!(doubles, golden);
    }

    /// Prints the input of `golden/grid.py`.
    #[test]
    #[ignore = "prints the input of golden/grid.py"]
    #[allow(clippy::print_stdout)]
    fn print_undecided_words() {
        for (words, more) in undecided(200) {
            println!("WORDS {words:?} {more:?}");
        }
    }

    /// The bound on the error of doubles, of which half the guard is made, against 256-bit arithmetic.
    #[test]
    fn doubles_are_as_near_as_their_proof_says() {
        let mut stream = Seed::for_tests(52).streams(Purpose::Split).at(0);
        let mut worst = 0.0_f64;
        for _ in 0..2_000 {
            let words @ [a, b, c, d] = std::array::from_fn(|_| stream.next_u32());
            let (folded, upper) = fold(long(a, b));
            if folded < RARE {
                continue;
            }
            let logarithm = negative_ln(fraction(folded, 64), upper);
            let radius = (logarithm + logarithm).sqrt();
            for digits in [0, u64::MAX, 0x5555_0123_4567_89ab] {
                let near = Fixed::fraction([digits, digits, digits, folded]);
                let u = if upper == 0 { near } else { Fixed::ONE.minus(near) };
                let turn = Fixed::fraction([digits, digits, digits, long(c, d) << 2 | digits & 3]);
                let half = Fixed::ratio(1, 1);
                let quarters = if turn >= half { turn.minus(half) } else { half.minus(turn) };
                let [cosine, sine] = quarters.cos_sin_of_quarters();
                let exact = if long(c, d) >> 62 & 1 == 1 { [sine, cosine] } else { [cosine, sine] };
                for (component, exact) in cos_sin_turns(long(c, d)).into_iter().zip(exact) {
                    let squared = u.negative_ln().plus(u.negative_ln()).times(exact).times(exact);
                    // (z − Z)(z + Z) = z² − Z², the square of a double with all of its digits.
                    let z = (radius * component).abs();
                    let (whole, behind) = (z.floor(), (z.fract() * 2_f64.powi(64)) as u64);
                    let own = Fixed::ratio(whole as u64, 0).plus(Fixed::fraction([0, 0, 0, behind]));
                    let own = own.times(own);
                    let difference =
                        if own > squared { own.minus(squared) } else { squared.minus(own) }.to_f64();
                    if z > 2_f64.powi(-8) {
                        worst = worst.max(difference / (2.0 * z) / radius);
                    }
                }
            }
            let _ = words;
        }
        assert!(worst < 0.5 * GUARD && worst > 0.01 * GUARD, "{worst:e}");
    }

    /// The last eight binary digits are uniform to 2⁻²⁰ and more: counts of 10⁶ values, alpha 1e-6.
    #[test]
    fn last_digits_are_uniform() {
        let mut values = vec![0_i64; 1_000_000];
        GridGaussianNoise::new(&Seed::for_tests(53)).fill_from(0, 0, &mut values);
        let mut counts = [0_u64; 256];
        values.iter().for_each(|value| counts[(value & 255) as usize] += 1);
        let expected = [1e6 / 256.0; 256];
        assert!(crate::testing::goodness_of_fit(&counts, &expected) > 1e-6);
    }
}
