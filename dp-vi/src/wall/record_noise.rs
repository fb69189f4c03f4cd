//! Standard normals for each record of a batch: what records' own latent values are drawn with.

use crate::error::Result;
use dp_sampler::{GaussianNoise, NOISE_CHUNK, NoiseSource, Streams};
use ppl_core::RecordGradient;

/// Standard normals for each record of a batch, drawn anew for each release. It is no noise for privacy, and
/// comes from streams of its own.
///
/// The noise goes with the place that a record has in its batch, and that place depends on who else is there.
/// Why this is as good as noise that belongs to the record is said at
/// [`Amortised`](crate::guides::Amortised); it takes that the noises of all places are independent and have
/// the same law, *exactly*, not only as real numbers: each place takes random words of its own, and makes its
/// numbers of them in the same way. Normals are made in pairs, so a place has an even number of them, of
/// which the last may be left over.
pub(crate) struct RecordNoise {
    inputs: Vec<Input>,
}

/// A per-record input that takes noise.
struct Input {
    name: String,
    source: GaussianNoise,
    /// Room for the noise of some records, where one of each is left over.
    room: Vec<f64>,
}

/// Normals that are made of the same words.
const TOGETHER: usize = 2;

impl RecordNoise {
    /// For inputs by name, each with noise from streams below these: none shares its words with another.
    #[allow(clippy::needless_pass_by_value)] // Taken by value, so that nothing else can draw from them.
    pub(crate) fn new(names: &[String], streams: Streams) -> Self {
        let input = |(place, name): (usize, &String)| Input {
            name: name.clone(),
            source: GaussianNoise::from_streams(streams.child(place as u64)),
            room: Vec::new(),
        };
        Self { inputs: names.iter().enumerate().map(input).collect() }
    }

    /// Writes the noise of a step for this many records.
    pub(crate) fn fill(
        &mut self,
        step: u64,
        records: usize,
        gradient: &mut RecordGradient<f64>,
    ) -> Result<()> {
        for Input { name, source, room } in &mut self.inputs {
            let Some(values) = gradient.record_input_mut(name, records) else { continue };
            let elements = values.len().checked_div(records).unwrap_or(0);
            if elements.is_multiple_of(TOGETHER) {
                source.fill(step, values);
                continue;
            }
            // This many records at a time that what is drawn for them begins a chunk.
            let drawn = elements.next_multiple_of(TOGETHER);
            let group = NOISE_CHUNK >> drawn.trailing_zeros().min(NOISE_CHUNK.trailing_zeros());
            let chunks = (group * drawn / NOISE_CHUNK) as u64;
            for (number, values) in (0..).zip(values.chunks_mut(group * elements)) {
                room.resize(values.len() / elements * drawn, 0.0);
                source.fill_chunks(step, number * chunks, room)?;
                for (values, drawn) in values.chunks_exact_mut(elements).zip(room.chunks_exact(drawn)) {
                    values.copy_from_slice(&drawn[..elements]);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dp_sampler::{Purpose, Seed};
    use ppl_core::Graph;
    use std::collections::{BTreeMap, BTreeSet};

    fn streams() -> Streams {
        Seed::for_tests(5).streams(Purpose::Custom("latent values of records"))
    }

    /// The noise of this many records, a row each, for an input of this many elements.
    fn rows(noise: &mut RecordNoise, elements: usize, step: u64, records: usize) -> Vec<Vec<f64>> {
        let graph = Graph::new();
        let a = graph.input("a", elements).unwrap();
        let value = (graph.record_input("own", elements).unwrap() * a).sum();
        let mut gradient = RecordGradient::new(value, &[a]).unwrap();
        noise.fill(step, records, &mut gradient).unwrap();
        let values = gradient.record_input_mut("own", records).unwrap().to_vec();
        values.chunks(elements.max(1)).map(<[f64]>::to_vec).collect()
    }

    /// No two places have numbers that are made of the same pair of words, whatever the number of elements:
    /// numbers number 2k and 2k + 1 of a step belong together.
    #[test]
    fn each_place_has_words_of_its_own() {
        for elements in [1, 2, 3, 4, 5, 7, 64, 255, 256, 257] {
            let mut noise = RecordNoise::new(&["own".to_owned()], streams());
            for records in [0, 1, 2, 3, 200, 700] {
                let rows = rows(&mut noise, elements, 3, records);
                assert_eq!(rows.len(), records);
                // The step's numbers in turn, and where each of the noise is among them.
                let mut turn = vec![0.0_f64; records * (elements + 1)];
                GaussianNoise::from_streams(streams().child(0)).fill(3, &mut turn);
                let places: BTreeMap<u64, usize> =
                    turn.iter().enumerate().map(|(place, z)| (z.to_bits(), place)).collect();
                let mut taken = BTreeSet::new();
                for (at, row) in rows.iter().enumerate() {
                    let pair = |value: &f64| places[&value.to_bits()] / TOGETHER;
                    let pairs: BTreeSet<usize> = row.iter().map(pair).collect();
                    assert_eq!(pairs.len(), elements.div_ceil(TOGETHER), "{elements} {records} {at}");
                    assert!(pairs.iter().all(|pair| taken.insert(*pair)), "{elements} {records} {at}");
                }
            }
        }
    }

    /// A place has the noise that it has in a smaller batch, in another step another one, and another input
    /// another.
    #[test]
    fn noise_depends_on_step_place_and_input_alone() {
        for elements in [1, 2, 3] {
            let mut noise = RecordNoise::new(&["own".to_owned()], streams());
            let many = rows(&mut noise, elements, 8, 500);
            assert_eq!(many[..70], rows(&mut noise, elements, 8, 70));
            let flat = |rows: &[Vec<f64>]| rows.concat().iter().map(|x| x.to_bits()).collect::<BTreeSet<_>>();
            assert!(flat(&many).is_disjoint(&flat(&rows(&mut noise, elements, 9, 500))));
            let names = ["other", "own"].map(str::to_owned);
            let second = rows(&mut RecordNoise::new(&names, streams()), elements, 8, 500);
            assert!(flat(&many).is_disjoint(&flat(&second)));
        }
    }
}
