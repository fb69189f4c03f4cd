//! Expected counts of words by topics, without the words that a document does not have.

use super::tiles::{FEW_SPANS, Weigh, add, add_two};
use crate::base::{Error, Result};
use crate::machine::Scalar;
use crate::math::{digamma, digamma_of_positive, exp};
use crate::records::{Records, SparseRows};
use rayon::prelude::*;

/// Documents of a span: sums are formed over each by one thread, and added up in the order of the spans.
const SPAN: usize = 512;

/// Numbers of a sum up to which a thread takes several spans of a wave.
const SMALL: usize = 1 << 16;

/// The term of a document whose words are drawn from topics that it mixes, in expected statistics, and its gradient
/// with respect to `t_kv = E ln β_kv`:
///
/// ```text
/// ℓ = Σ_v n_v ln Σ_k θ̃_k β̃_kv + …        θ̃_k = exp E ln θ_k,   β̃_kv = exp t_kv
/// ∂ℓ/∂t_kv = n_v θ̃_k β̃_kv / Σ_j θ̃_j β̃_jv
/// ```
///
/// The document's own factor is a Dirichlet law with natural parameters `η` (concentrations less 1), for which
/// `E ln θ_k = ψ(η_k + 1) − ψ(Σ_j (η_j + 1))`, and which moves by
///
/// ```text
/// η_k ← η⁰_k + Σ_v n_v θ̃_k β̃_kv / Σ_j θ̃_j β̃_jv          η⁰: the prior's
/// ```
///
/// Logarithms below [`least`](Self::least) are raised to it, and have no derivative. A word that a document has not
/// adds nothing anywhere, so only the words that it has are looked at: of a vocabulary of a thousand words an article
/// has sixty. What is computed is what a program of these formulas computes on all words, up to rounding.
#[derive(Clone, Debug, PartialEq)]
pub struct MixedWords {
    /// Position of the column of counts.
    pub column: usize,
    /// Number of words.
    pub words: usize,
    /// The name of `E ln β`, `[K, V]`.
    pub topics: String,
    /// The shared input of the gradient's program, `scale · E ln β`.
    pub input: String,
    /// What `E ln β` is multiplied by in that input.
    pub scale: f64,
    /// The per-record input that holds `η`, `[K]`.
    pub kept: String,
    /// `η⁰`
    pub prior: Vec<f64>,
    /// Rounds of `η` and `θ̃` in a step of [`advance`](Self::advance).
    pub sweeps: usize,
    /// The least logarithm.
    pub least: f64,
}

/// `β̃` and its derivative with respect to the input, word after word.
#[derive(Clone, Debug, Default)]
struct Topics {
    values: Vec<f64>,
    slopes: Vec<f64>,
}

/// `θ̃` and its derivative with respect to `E ln θ`.
#[derive(Clone, Debug)]
struct Mixture {
    values: Vec<f64>,
    slopes: Vec<f64>,
    next: Vec<f64>,
}

impl MixedWords {
    /// `K`
    fn k(&self) -> usize {
        self.prior.len()
    }

    fn dimension(&self) -> usize {
        self.k() * self.words
    }

    fn mixture(&self) -> Mixture {
        let zeros = || vec![0.0; self.k()];
        Mixture { values: zeros(), slopes: zeros(), next: zeros() }
    }

    /// From `scale · E ln β`.
    fn topics<T: Scalar>(&self, input: &[T], scale: f64, to: &mut Topics) {
        let (k, words) = (self.k(), self.words);
        to.values.resize(input.len(), 0.0);
        to.slopes.resize(input.len(), 0.0);
        let unit = 1.0 / scale;
        for topic in 0..k {
            for word in 0..words {
                let log = input[topic * words + word].as_f64() * unit;
                let value = exp(log.max(self.least));
                to.values[word * k + topic] = if log.is_nan() { log } else { value };
                to.slopes[word * k + topic] = if log >= self.least { value * unit } else { 0.0 };
            }
        }
    }

    /// `θ̃` of a factor.
    fn mix<T: Scalar>(&self, natural: &[T], to: &mut Mixture) {
        let of = |x: f64| if x > 0.0 { digamma_of_positive(x) } else { digamma(x) };
        let total = of(natural.iter().map(|x| x.as_f64() + 1.0).sum());
        for ((value, slope), natural) in to.values.iter_mut().zip(&mut to.slopes).zip(natural) {
            let log = of(natural.as_f64() + 1.0) - total;
            *value = if log.is_nan() { log } else { exp(log.max(self.least)) };
            *slope = if log >= self.least { *value } else { 0.0 };
        }
    }

    /// Moves a document's factor on.
    fn sweep(
        &self,
        topics: &Topics,
        (places, counts): (&[u32], &[f64]),
        state: &mut [f64],
        mixture: &mut Mixture,
    ) {
        let k = self.k();
        for _ in 0..self.sweeps {
            self.mix(state, mixture);
            let Mixture { values, slopes, next } = &mut *mixture;
            next.fill(0.0);
            for (&place, &count) in places.iter().zip(counts) {
                let count = some(count);
                let word = &topics.values[place as usize * k..][..k];
                let chance: f64 = values.iter().zip(word).map(|(a, b)| a * b).sum();
                let share = count / chance;
                next.iter_mut().zip(word).for_each(|(next, b)| *next += share * b);
            }
            for ((state, prior), (slope, next)) in
                state.iter_mut().zip(&self.prior).zip(slopes.iter().zip(next))
            {
                *state = prior + slope * *next;
            }
        }
    }

    /// Moves the own factors of all documents on: a row of natural parameters for each. What becomes of a document
    /// depends on its own counts and on the topics alone.
    ///
    /// ```
    /// use ndarray::{Array2, array};
    /// use ppl_core::records::SparseRows;
    /// use ppl_core::record_gradient::MixedWords;
    /// use ppl_core::Records;
    /// let records = Records::from_columns([("counts", array![[4_u8, 0], [0, 6]])])?;
    /// let (column, words, topics, input) = (0, 2, "E[ln beta]".to_owned(), "scaled E[ln beta]".to_owned());
    /// let (scale, kept, prior, sweeps, least) = (1.0, "own".to_owned(), vec![-0.5; 2], 3, -650.0);
    /// let words = MixedWords { column, words, topics, input, scale, kept, prior, sweeps, least };
    /// let mut states = Array2::zeros((2, 2));
    /// let topics = [0.9_f64.ln(), 0.1_f64.ln(), 0.1_f64.ln(), 0.9_f64.ln()];
    /// words.advance(&SparseRows::of(&records, 0)?, &topics, &mut states)?;
    /// assert!(states[[0, 0]] > 3.0 && states[[1, 1]] > 5.0); // the first document is of the first topic
    /// assert!((states.row(0).sum() - 3.0).abs() < 1e-12); // η⁰ and its four words
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the topics or the states have another size.
    pub fn advance(
        &self,
        rows: &SparseRows,
        log_topics: &[f64],
        states: &mut ndarray::Array2<f64>,
    ) -> Result<()> {
        self.check()?;
        let (k, found) = (self.k(), states.dim());
        super::check_length("the topics", self.dimension(), log_topics.len())?;
        let Some(values) = states.as_slice_mut().filter(|_| found == (rows.len(), k)) else {
            return Err(Error::Values(format!(
                "states of {} documents by {k} topics are needed in row-major order, got {found:?}",
                rows.len()
            )));
        };
        let mut topics = Topics::default();
        self.topics(log_topics, 1.0, &mut topics);
        values.par_chunks_mut(SPAN * k).enumerate().for_each(|(span, states)| {
            let mut mixture = self.mixture();
            for (at, state) in states.chunks_exact_mut(k).enumerate() {
                self.sweep(&topics, rows.row(span * SPAN + at), state, &mut mixture);
            }
        });
        Ok(())
    }

    /// Checks what was said.
    pub(super) fn check(&self) -> Result<()> {
        let finite = self.prior.iter().chain([&self.scale, &self.least]).all(|x| x.is_finite());
        match !self.prior.is_empty() && self.words > 0 && finite && self.scale > 0.0 {
            true => Ok(()),
            false => Err(Error::Values(
                "documents that mix topics need at least one topic, one word, and finite numbers".to_owned(),
            )),
        }
    }
}

/// A count; 0 where it is negative or a NaN, which the law of words takes for none.
fn some(count: f64) -> f64 {
    if count > 0.0 { count } else { 0.0 }
}

/// Memory for one span.
#[derive(Clone, Debug)]
struct Member<T> {
    mixture: Mixture,
    /// The gradient of one document, topic by topic for each of its words.
    values: Vec<T>,
    sums: Vec<T>,
}

impl<T: Scalar> Member<T> {
    /// The gradient of a document; returns its squared norm.
    fn gradient(
        &mut self,
        words: &MixedWords,
        topics: &Topics,
        (places, counts): (&[u32], &[f64]),
        state: &[T],
    ) -> T {
        let Self { mixture, values, .. } = self;
        let k = words.k();
        words.mix(state, mixture);
        values.clear();
        let mut squared = T::zero();
        for (&place, &count) in places.iter().zip(counts) {
            let at = place as usize * k;
            let (word, slopes) = (&topics.values[at..][..k], &topics.slopes[at..][..k]);
            let chance: f64 = mixture.values.iter().zip(word).map(|(a, b)| a * b).sum();
            let share = some(count) / chance;
            for (mixed, slope) in mixture.values.iter().zip(slopes) {
                let value = T::of(share * mixed * slope);
                squared += value * value;
                values.push(value);
            }
        }
        squared
    }

    /// Adds a document's gradient times a weight, or writes zeros in its places.
    fn add(&mut self, words: &MixedWords, places: &[u32], weight: Option<T>) {
        let k = words.k();
        for (&place, values) in places.iter().zip(self.values.chunks_exact(k)) {
            for (topic, &value) in values.iter().enumerate() {
                let sum = &mut self.sums[topic * words.words + place as usize];
                match weight {
                    Some(weight) => *sum += weight * value,
                    None => *sum = T::zero(),
                }
            }
        }
    }
}

/// Sums of gradients of [`MixedWords`].
#[derive(Clone, Debug)]
pub(super) struct WordSums<T> {
    pub(super) words: MixedWords,
    rows: Option<SparseRows>,
    topics: Topics,
    members: Vec<Member<T>>,
    lost: Vec<T>,
}

impl<T: Scalar> WordSums<T> {
    pub(super) fn new(words: MixedWords) -> Self {
        Self { words, rows: None, topics: Topics::default(), members: Vec::new(), lost: Vec::new() }
    }

    /// Documents that a span adds up: what rounding errors depend on, see
    /// [`summation_error`](super::RecordGradient::summation_error).
    pub(super) fn most_in_span(&self) -> usize {
        SPAN
    }

    /// Takes the shared values of a batch.
    pub(super) fn prepare(&mut self, records: &Records, topics: &[T]) -> Result<()> {
        if !self.rows.as_ref().is_some_and(|rows| rows.are_of(records)) {
            self.rows = Some(SparseRows::of(records, self.words.column)?);
        }
        super::check_length("the topics", self.words.dimension(), topics.len())?;
        self.words.topics(topics, self.words.scale, &mut self.topics);
        Ok(())
    }

    fn reserve(&mut self, members: usize) {
        let (dimension, mixture) = (self.words.dimension(), self.words.mixture());
        while self.members.len() < members {
            let member =
                Member { mixture: mixture.clone(), values: Vec::new(), sums: vec![T::zero(); dimension] };
            self.members.push(member);
        }
    }

    /// Writes the weighted sum of the gradients of a batch; without `weigh` all weights are 1.
    pub(super) fn sum(&mut self, states: &[T], batch: &[u64], weigh: Option<&Weigh<'_, T>>, sums: &mut [T]) {
        let spans = batch.len().div_ceil(SPAN);
        let threads = rayon::current_num_threads().clamp(1, spans.max(1));
        let wave = if sums.len() <= SMALL { 4 * threads } else { threads };
        self.reserve(wave.min(spans));
        let Self { words, rows, topics, members, lost } = self;
        let Some(rows) = rows else { return };
        let k = words.k();
        let many = spans > FEW_SPANS;
        lost.clear();
        lost.resize(if many { sums.len() } else { 0 }, T::zero());
        for first in (0..spans).step_by(wave) {
            let members = &mut members[..wave.min(spans - first)];
            members.par_iter_mut().enumerate().for_each(|(number, member)| {
                member.sums.fill(T::zero());
                let from = (first + number) * SPAN;
                for at in from..(from + SPAN).min(batch.len()) {
                    let row = rows.row(batch[at] as usize);
                    let squared = member.gradient(words, topics, row, &states[at * k..][..k]);
                    if let Some(weight) = weight(weigh, squared) {
                        member.add(words, row.0, Some(weight));
                    }
                }
            });
            for member in members {
                if many { add_two(sums, lost, &member.sums) } else { add(sums, &member.sums) }
            }
        }
        if many {
            add(sums, lost);
        }
    }

    /// Hands each document's weighted gradient to one of the takers.
    pub(super) fn each<A: Send>(
        &mut self,
        states: &[T],
        batch: &[u64],
        weigh: &Weigh<'_, T>,
        takers: &mut [A],
        take: &(impl Fn(&mut A, &[T]) + Sync),
    ) {
        let threads = rayon::current_num_threads().clamp(1, takers.len());
        self.reserve(threads);
        let Self { words, rows, topics, members, .. } = self;
        let Some(rows) = rows else { return };
        let (k, share) = (words.k(), batch.len().div_ceil(threads));
        members.par_iter_mut().zip(takers).take(threads).enumerate().for_each(|(part, (member, taker))| {
            member.sums.fill(T::zero());
            for at in part * share..(part * share + share).min(batch.len()) {
                let row = rows.row(batch[at] as usize);
                let squared = member.gradient(words, topics, row, &states[at * k..][..k]);
                let weight = weight(Some(weigh), squared);
                if let Some(weight) = weight {
                    member.add(words, row.0, Some(weight));
                }
                take(taker, &member.sums);
                member.add(words, row.0, None);
            }
        });
    }
}

/// The weight of a document; `None` if it or the norm is not finite.
fn weight<T: Scalar>(weigh: Option<&Weigh<'_, T>>, squared: T) -> Option<T> {
    let Some(weigh) = weigh else { return Some(T::one()) };
    let mut weight = [T::zero()];
    weigh(&[squared], &mut weight).then_some(weight[0])
}
