//! Bijectivity, and the evidence for the round function and the number of rounds.

use proptest::prelude::*;
use rand_core::Rng;

use super::network::ROUNDS;
use super::*;
use crate::{Purpose, Seed, Streams, strategies, testing};

fn streams() -> Streams {
    Seed::for_tests(31).streams(Purpose::Subsample)
}

/// The p-value of the images of the first `tuple` elements over this many keys, under a network of this many
/// rounds.
fn tuples(len: u64, tuple: u32, rounds: usize, keys: u64) -> f64 {
    let streams = streams();
    let mut network = Network::<u32>::with_rounds(len, rounds);
    let mut counts = vec![0_u64; (len as usize).pow(tuple)];
    for key in 0..keys {
        network.rekey(&mut streams.at(key));
        let cell = (0..u64::from(tuple)).fold(0, |cell, index| cell * len + network.walk(index));
        counts[cell as usize] += 1;
    }
    // Only tuples of distinct elements can occur.
    let possible: Vec<u64> = (0..counts.len() as u64)
        .filter(|&cell| {
            let digits: Vec<u64> = (0..tuple).map(|i| cell / len.pow(i) % len).collect();
            (1..digits.len()).all(|i| !digits[..i].contains(&digits[i]))
        })
        .map(|cell| counts[cell as usize])
        .collect();
    assert_eq!(possible.iter().sum::<u64>(), keys);
    testing::uniformity(&possible)
}

#[test]
fn every_length_and_key_gives_a_bijection() {
    for len in (1..=70).chain([127, 128, 129, 1_000, 1_024, 1_025, 2_048, 3_000]) {
        for key in 0..3 {
            let permutation = Permutation::new(len, &mut streams().at(key)).unwrap();
            let mut network = Network::<u32>::new(len);
            network.rekey(&mut streams().at(key));
            let (mut seen, mut seen_by_network) = (vec![false; len as usize], vec![false; len as usize]);
            for index in 0..len {
                let image = permutation.apply(index).unwrap();
                assert!(!std::mem::replace(&mut seen[image as usize], true));
                assert_eq!(permutation.invert(image).unwrap(), index);
                let image = network.walk(index);
                assert!(!std::mem::replace(&mut seen_by_network[image as usize], true));
                assert_eq!(network.walk_back(image), index);
            }
            assert!(matches!(permutation.apply(len), Err(Error::Index { .. })));
            assert!(matches!(permutation.invert(len), Err(Error::Index { .. })));
        }
    }
}

#[test]
fn tables_give_every_order_equally_often() {
    // All n! orders at 10 to 20,000 per order, alpha 1e-6 each.
    let keys_of_each = [40_000, 40_000, 40_000, 40_000, 40_000, 200_000, 403_200];
    for (len, keys) in (2_u64..=8).zip(keys_of_each) {
        let mut counts = std::collections::HashMap::new();
        let streams = streams();
        let mut table = Table::new(len).unwrap();
        for key in 0..keys {
            table.rekey(&mut streams.at(key));
            *counts.entry(table.images.clone()).or_insert(0) += 1;
        }
        let mut counts: Vec<u64> = counts.into_values().collect();
        counts.resize((1..=len as usize).product(), 0);
        assert!(testing::uniformity(&counts) > 1e-6, "{len}");
    }
}

#[test]
fn the_network_maps_tuples_uniformly_even_where_it_is_not_used() {
    // Domains of up to 64 elements are the hardest for a Feistel network: halves of two or three bits. Over
    // 5·10^5 keys 4 rounds failed at every length here and 6 at ten elements to 23 (17 to 111 standard
    // deviations of the statistic), 8 failed at ten (7) and stood at 16 (4), 10 and more passed everywhere. A
    // linear round function still failed at ten elements after 10 rounds (15) and showed at 12 (4). The
    // network is used above 1,024 elements, where halves have five bits and more and a pair's bias shrinks by
    // that many bits every other round: 16 leave a margin. Alpha 1e-6 each.
    for len in [8, 10, 16, 23, 32, 40, 64] {
        assert!(tuples(len, 2, ROUNDS, 200_000) > 1e-6, "pairs of {len}");
    }
    for len in [10, 17, 20, 32] {
        assert!(tuples(len, 3, ROUNDS, 200_000) > 1e-6, "triples of {len}");
    }
    for len in [10, 13] {
        assert!(tuples(len, 4, ROUNDS, 400_000) > 1e-6, "quadruples of {len}");
    }
}

#[test]
fn any_two_inputs_of_a_round_have_independent_uniform_outputs() {
    // The proof's statement, counted out for words of 7 bits, inputs of u and outputs of o bits, u + o − 1 ≤
    // 7: over all b and c, whatever a is, each pair of outputs of two inputs comes up equally often.
    let (words, mask) = (1_u32 << 7, (1 << 7) - 1);
    for (u, o) in [(4, 4), (3, 5), (5, 3), (1, 7), (3, 4)] {
        for a in [0, 1, 37, 64, 127] {
            for (x, y) in (0..1_u32 << u).flat_map(|x| (0..x).map(move |y| (x, y))) {
                let mut counts = vec![0; 1 << (2 * o)];
                for (b, c) in (0..words).flat_map(|b| (0..words).map(move |c| (b, c))) {
                    let output = |x: u32| (((a * x + b) * x + c) & mask) >> (7 - o);
                    counts[(output(x) << o | output(y)) as usize] += 1;
                }
                assert!(counts.iter().all(|&n| n == (words * words) >> (2 * o)), "{u} {o} {a} {x} {y}");
            }
        }
    }
    // One bit too many, and it is not so.
    let output = |x: u32, b: u32, c: u32| ((b * x + c) & mask) >> 3;
    let all = (0..words).flat_map(|b| (0..words).map(move |c| (b, c)));
    let pairs: std::collections::HashSet<_> = all.map(|(b, c)| (output(0, b, c), output(16, b, c))).collect();
    assert!(pairs.len() < 256);
}

#[test]
fn too_few_rounds_are_noticed() {
    assert!(tuples(64, 2, 2, 200_000) < 1e-6);
    assert!(tuples(16, 2, 4, 200_000) < 1e-6);
    assert!(tuples(20, 3, 4, 200_000) < 1e-6);
    assert!(tuples(10, 2, 6, 200_000) < 1e-6);
}

/// The permutation of d3p 0.2.0: ten rounds of Philox's construction with random multipliers, cycle walking.
///
/// ```text
/// (u, l) of ⌈b/2⌉ and ⌊b/2⌋ bits  ↦  (l ⊕ (⌊u·k₁/2^⌈b/2⌉⌋ ⊕ k₂) mod 2^⌊b/2⌋,  u·k₀ mod 2^⌈b/2⌉),  k₀ odd
/// ```
struct Philox {
    len: u32,
    keys: [[u32; 3]; 10],
}

impl Philox {
    fn walk(&self, mut index: u32) -> u32 {
        let bits = u32::BITS - (self.len - 1).leading_zeros();
        let (lower, upper) = (bits / 2, bits - bits / 2);
        loop {
            for key in self.keys {
                let (u, l) = (index >> lower, index & ((1 << lower) - 1));
                let new_upper = l ^ ((u.wrapping_mul(key[1]) >> upper ^ key[2]) & ((1 << lower) - 1));
                index = new_upper << upper | u.wrapping_mul(key[0] | 1) & ((1 << upper) - 1);
            }
            if index < self.len {
                return index;
            }
        }
    }
}

#[test]
fn ten_rounds_of_philox_are_noticed() {
    // The same statistic at the same 200,000 keys: pairs and triples of ten elements.
    let streams = streams();
    let draw = |key: u64| {
        let mut stream = streams.at(key);
        Philox { len: 10, keys: std::array::from_fn(|_| std::array::from_fn(|_| stream.next_u32())) }
    };
    let mut pairs = vec![0_u64; 100];
    for key in 0..200_000 {
        let philox = draw(key);
        pairs[(philox.walk(0) * 10 + philox.walk(1)) as usize] += 1;
    }
    let possible: Vec<u64> = (0..100).filter(|cell| cell / 10 != cell % 10).map(|cell| pairs[cell]).collect();
    assert_eq!(possible.iter().sum::<u64>(), 200_000);
    assert!(testing::uniformity(&possible) < 1e-6);
    assert!(tuples(10, 2, ROUNDS, 200_000) > 1e-6);
}

/// The p-value of the numbers of equal spacings (Marsaglia) among 512 sorted birthdays in a year of 2^24
/// days, which are Poisson with mean 512³/2^26 = 2, over that many years.
fn birthday_spacings(years: u64, mut birthdays: impl FnMut(u64, &mut [u64])) -> f64 {
    let (mut counts, mut days) = (vec![0_u64; 12], [0; 512]);
    for year in 0..years {
        birthdays(year, &mut days);
        days.sort_unstable();
        let mut spacings: Vec<u64> = days.windows(2).map(|pair| pair[1] - pair[0]).collect();
        spacings.sort_unstable();
        let equal = spacings.windows(2).filter(|pair| pair[0] == pair[1]).count();
        counts[equal.min(11)] += 1;
    }
    let (mut expected, mut mass) = (Vec::new(), (-2_f64).exp());
    for k in 0..12 {
        expected.push(mass * years as f64);
        mass *= 2.0 / (k + 1) as f64;
    }
    testing::goodness_of_fit(&counts, &expected)
}

#[test]
fn spacings_of_images_are_those_of_random_birthdays() {
    // 1,000 years, alpha 1e-6, of the first and of the last 24 bits of consecutive images under one key.
    let mut network = Network::<u64>::new(1 << 48);
    network.rekey(&mut streams().at(3));
    for shift in [24, 0] {
        let p_value = birthday_spacings(1_000, |year, days| {
            network.images(year * 512, days);
            days.iter_mut().for_each(|day| *day = *day >> shift & 0xff_ffff);
        });
        assert!(p_value > 1e-6, "{shift}: {p_value:e}");
    }
    let mut narrow = Network::<u32>::new(1 << 32);
    narrow.rekey(&mut streams().at(3));
    let p_value = birthday_spacings(1_000, |year, days| {
        narrow.images(year * 512, days);
        days.iter_mut().for_each(|day| *day >>= 8);
    });
    assert!(p_value > 1e-6, "{p_value:e}");
    // Two rounds leave arithmetic progressions.
    let mut weak = Network::<u64>::with_rounds(1 << 48, 2);
    weak.rekey(&mut streams().at(3));
    let p_value = birthday_spacings(1_000, |year, days| {
        weak.images(year * 512, days);
        days.iter_mut().for_each(|day| *day >>= 24);
    });
    assert!(p_value < 1e-6, "{p_value:e}");
}

#[test]
fn both_widths_and_all_ranges_agree_with_single_evaluations() {
    for len in [1, 5, 1_024, 1_025, 60_000, 1 << 20, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 1 << 63] {
        let permutation = Permutation::new(len, &mut streams().at(4)).unwrap();
        for count in [0, 1, 63, 64, 65, 300] {
            let count = count.min(len);
            for start in [0, len / 2, len - count] {
                let start = start.min(len - count);
                let mut images = vec![7; count as usize];
                permutation.apply_range(start, &mut images).unwrap();
                let single: Vec<u64> =
                    (start..start + count).map(|i| permutation.apply(i).unwrap()).collect();
                assert_eq!(images, single, "{count} of {len} from {start}");
            }
        }
        let mut images = [7; 2];
        assert!(matches!(permutation.apply_range(len - 1, &mut images), Err(Error::Index { .. })));
        assert!(matches!(permutation.apply_range(u64::MAX, &mut images), Err(Error::Index { .. })));
        assert_eq!(images, [7; 2]);
    }
    // Written out, the same stream gives the same table at any length.
    let written = Permutation::exact(1_024, &mut streams().at(5)).unwrap();
    assert!(written.iter().eq(Permutation::new(1_024, &mut streams().at(5)).unwrap().iter()));
    let written = Permutation::exact(3_001, &mut streams().at(5)).unwrap();
    assert!((0..3_001).all(|i| written.invert(written.apply(i).unwrap()).unwrap() == i));
    assert!(matches!(Permutation::exact(1 << 63, &mut streams().at(5)), Err(Error::NoMemory { .. })));
    let permutation = Permutation::new(3_001, &mut streams().at(5)).unwrap();
    let all: Vec<u64> = permutation.iter().collect();
    assert_eq!(all.len(), 3_001);
    assert!((0..3_001).all(|index| all[index as usize] == permutation.apply(index).unwrap()));
    assert_eq!(permutation.iter().size_hint(), (3_001, Some(3_001)));
}

#[test]
fn flipping_an_index_bit_flips_half_of_the_image() {
    // 2^32 elements, 32 input bits × 32 output bits, 20,000 keys: every one of the 1,024 flip counts is
    // Binomial(20,000, 1/2); Bernstein with a union bound, alpha 1e-6.
    let streams = streams();
    let mut network = Network::<u32>::new(1 << 32);
    let mut flips = vec![[0_u64; 32]; 32];
    for key in 0..20_000 {
        network.rekey(&mut streams.at(key));
        let index = key.wrapping_mul(0x9e37_79b9) & 0xffff_ffff;
        let image = network.forward(index);
        for (bit, flips) in flips.iter_mut().enumerate() {
            let difference = network.forward(index ^ 1 << bit) ^ image;
            for (out, count) in flips.iter_mut().enumerate() {
                *count += difference >> out & 1;
            }
        }
    }
    let t = (2.0 * 1_024.0 / 1e-6_f64).ln();
    let allowed = t / 3.0 + (t * t / 9.0 + 2.0 * t * 5_000.0).sqrt();
    assert!(flips.iter().flatten().all(|&n| (n as f64 - 10_000.0).abs() < allowed));
}

#[test]
fn consecutive_images_are_uncorrelated_under_one_key() {
    // One key, 10^6 consecutive images of 2^40 elements: a 16 × 16 × 16 table of the first bits of three in a
    // row, disjoint triples, alpha 1e-6; and of their last bits.
    let mut network = Network::<u64>::new(1 << 40);
    network.rekey(&mut streams().at(0));
    let mut images = vec![0; 1_000_000];
    network.images(0, &mut images);
    for shift in [36, 0] {
        let mut counts = vec![0_u64; 4_096];
        for triple in images.chunks_exact(3) {
            let digits = triple.iter().fold(0, |cell, image| cell << 4 | (image >> shift & 15));
            counts[digits as usize] += 1;
        }
        assert!(testing::uniformity(&counts) > 1e-6, "{shift}");
    }
}

proptest! {
    #[test]
    fn inverses_undo(len in strategies::records(), index in any::<u64>(), number in strategies::seed_number()) {
        let mut stream = Seed::for_tests(number).streams(Purpose::Subsample).at(0);
        let permutation = Permutation::new(len, &mut stream)?;
        let index = index % len;
        prop_assert!(permutation.apply(index)? < len);
        prop_assert_eq!(permutation.invert(permutation.apply(index)?)?, index);
        prop_assert_eq!(permutation.apply(permutation.invert(index)?)?, index);
    }
}
