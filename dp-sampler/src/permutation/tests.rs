//! Bijectivity, and the evidence for the round function and the number of rounds.

use proptest::prelude::*;

use super::*;
use crate::{Purpose, Seed, Streams, strategies, testing};

fn streams() -> Streams {
    Seed::for_tests(31).streams(Purpose::Subsample)
}

/// The p-value of the images of the first `tuple` elements over so many keys, under a network of so many rounds.
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
    // All n! orders at 40 to 20,000 per order, alpha 1e-6 each.
    for (len, keys) in [(2_u64, 40_000_u64), (3, 40_000), (4, 40_000), (5, 40_000), (6, 40_000), (7, 200_000)]
    {
        let mut counts = std::collections::HashMap::new();
        let streams = streams();
        let mut table = Table::new(len);
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
fn the_network_maps_pairs_and_triples_uniformly_even_where_it_is_not_used() {
    // Domains of up to 64 elements are the hardest for a Feistel network: halves of two or three bits. Over 10^6
    // keys, 4 rounds failed at every length here and 6 at ten elements to 23; 8 failed at 10 and 16 (p < 1e-14); 10
    // and 12 passed everywhere (p > 0.06). The network is used above 1,024 elements, where halves have five bits
    // and more and a pair's bias shrinks by that many bits every other round: 12 leave a margin. Alpha 1e-6 each.
    for len in [10, 16, 23, 32, 40, 64] {
        assert!(tuples(len, 2, ROUNDS, 200_000) > 1e-6, "pairs of {len}");
    }
    for len in [10, 17, 20] {
        assert!(tuples(len, 3, ROUNDS, 200_000) > 1e-6, "triples of {len}");
    }
}

#[test]
fn too_few_rounds_are_noticed() {
    assert!(tuples(64, 2, 2, 200_000) < 1e-6);
    assert!(tuples(16, 2, 4, 200_000) < 1e-6);
    assert!(tuples(20, 3, 4, 200_000) < 1e-6);
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
    // One key, 10^6 consecutive images of 2^40 elements: a 16 × 16 × 16 table of the first bits of three in a row,
    // disjoint triples, alpha 1e-6; and of their last bits.
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

#[test]
fn lanes_agree_with_single_evaluations() {
    for (len, count) in [(1_025, 1_025), (60_000, 131), (1 << 63, 17), (5, 5)] {
        let permutation = Permutation::new(len, &mut streams().at(9)).unwrap();
        let mut images = vec![0; count as usize];
        permutation.apply_range(0, &mut images).unwrap();
        let single: Vec<u64> = (0..count).map(|index| permutation.apply(index).unwrap()).collect();
        assert_eq!(images, single);
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
