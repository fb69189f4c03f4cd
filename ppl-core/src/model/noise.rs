//! Standard noise: inputs of a program that its runner fills, or numbers for draws that are made at once.

use crate::base::{Error, Result, Shape};
use crate::machine::Scalar;
use crate::model::distribution::Distribution;
use crate::op::{Graph, Kind, Var, compute};
use ndarray::ArrayD;
use std::cell::{Cell, RefCell};
use std::f64::consts::TAU;

/// A kind of standard noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoiseKind {
    /// Normal, mean 0, variance 1.
    StandardNormal,
    /// Uniform strictly between 0 and 1. The code that fills it never gives 0 or 1, of which quantiles may be
    /// infinite: for random bits, `(k + ½)/2⁵²` with `k` from 0 to `2⁵² − 1` in `f64` and `(k + ½)/2²³` in
    /// `f32` are exact. A number rounded from `f64` to `f32` may be 1.
    Uniform,
}

impl NoiseKind {
    /// How many words of 64 random bits a number is made of.
    fn words(self) -> usize {
        match self {
            NoiseKind::StandardNormal => 2,
            NoiseKind::Uniform => 1,
        }
    }

    /// A number of the first words at hand.
    ///
    /// ```text
    /// u = (the upper 52 bits of a word + ½) / 2⁵²              uniform, strictly between 0 and 1
    /// z = √(−2 ln u₁) cos(2π u₂)                               standard normal (Box and Muller 1958), |z| < 8.6
    /// ```
    ///
    /// Logarithm and cosine are this crate's, which give the same bits on every machine.
    #[inline]
    pub(crate) fn number(self, words: [u64; 2]) -> f64 {
        let uniform = |word: u64| ((word >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64);
        match self {
            NoiseKind::StandardNormal => {
                (-2.0 * uniform(words[0]).logarithm()).sqrt() * (TAU * uniform(words[1])).cosine()
            }
            NoiseKind::Uniform => uniform(words[0]),
        }
    }
}

/// Hands out inputs that the runner of the program fills with standard noise.
#[derive(Clone, Debug)]
pub struct Noise<'g> {
    graph: &'g Graph,
    scope: String,
    each_record: Kind,
    inputs: Vec<(String, NoiseKind, Shape)>,
    /// Whether numbers are made of this thread's [`Words`].
    at_once: bool,
}

impl<'g> Noise<'g> {
    /// Noise whose inputs are named after `scope`.
    #[must_use]
    pub fn new(graph: &'g Graph, scope: impl Into<String>) -> Self {
        Self { graph, scope: scope.into(), each_record: Kind::Shared, inputs: Vec::new(), at_once: false }
    }

    /// Noise that is drawn anew for each record: its inputs are per-record inputs.
    #[must_use]
    pub fn per_record(graph: &'g Graph, scope: impl Into<String>) -> Self {
        Self { graph, scope: scope.into(), each_record: Kind::PerRecord, inputs: Vec::new(), at_once: false }
    }

    /// Noise of this kind and shape.
    ///
    /// # Errors
    /// If the shape is too large.
    pub fn draw(&mut self, kind: NoiseKind, shape: impl Into<Shape>) -> Result<Var<'g>> {
        if self.at_once {
            return draw_of_words(kind, &shape.into(), self.graph);
        }
        let name = format!("{}/noise/{}", self.scope, self.inputs.len());
        let shape = shape.into();
        let input = match self.each_record {
            Kind::Shared => self.graph.input(name.clone(), shape.clone())?,
            Kind::PerRecord => self.graph.record_input(name.clone(), shape.clone())?,
        };
        self.inputs.push((name, kind, shape));
        Ok(input)
    }

    /// The next number, where a draw of a single number is made at once ([`draw_at_once`]); `None` where the
    /// noise is an input.
    #[inline]
    pub fn at_once(&mut self, kind: NoiseKind) -> Option<Var<'g>> {
        self.at_once.then(|| self.graph.constant(next(kind)))
    }

    /// Whether a draw of a single number is made at once ([`draw_at_once`]).
    #[must_use]
    pub fn is_at_once(&self) -> bool {
        self.at_once
    }

    /// The graph that draws are written into.
    #[must_use]
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// Names, kinds and shapes of the inputs handed out, in order.
    #[must_use]
    pub fn inputs(&self) -> &[(String, NoiseKind, Shape)] {
        &self.inputs
    }
}

/// How many words a draw is given without an allocation.
const FEW: usize = 16;

/// Random bits for a draw that is made at once. They lie in the thread rather than in the [`Noise`], for to hand them
/// on would take longer than many a draw does.
struct Words {
    few: [Cell<u64>; FEW],
    given: Cell<usize>,
    /// How many were asked for, which may be more than were given.
    asked: Cell<usize>,
}

thread_local! {
    static WORDS: Words = const {
        Words { few: [const { Cell::new(0) }; FEW], given: Cell::new(0), asked: Cell::new(0) }
    };
    /// All of them, where there are more than a few.
    static MANY: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The next number; NaN where there are not enough words for it.
fn next(kind: NoiseKind) -> f64 {
    WORDS.with(|words| {
        let (first, given) = (words.asked.get(), words.given.get());
        let asked = first + kind.words();
        words.asked.set(asked);
        if asked > given {
            return f64::NAN;
        }
        kind.number(if given <= FEW {
            [words.few[first].get(), words.few[asked - 1].get()]
        } else {
            MANY.with_borrow(|many| [many[first], many[asked - 1]])
        })
    })
}

/// Noise of any shape, in a graph on which everything is computed at once.
fn draw_of_words<'g>(kind: NoiseKind, shape: &Shape, graph: &'g Graph) -> Result<Var<'g>> {
    if shape.is_scalar() {
        return Ok(graph.constant(next(kind)));
    }
    let shape = shape.clone().checked()?;
    let numbers: Vec<f64> = (0..shape.elements()).map(|_| next(kind)).collect();
    let array = ArrayD::from_shape_vec(shape.dims(), numbers);
    array.map(|array| graph.array(&array)).map_err(|_| Error::TooLarge(shape))
}

/// A draw of a single number from a distribution whose parameters are numbers, made at once of random words:
/// [`Distribution::draw`], as [`compute`] computes it. `None` where the distribution cannot be drawn from, or
/// its draws are not single numbers.
///
/// A uniform number takes one word, a normal number two, in the order in which the distribution asks for them;
/// `usual` is how many words a draw usually takes, which are taken at once. Where it takes more, the draw is
/// made again with those and further ones.
#[inline]
pub fn draw_at_once<'g, D: Distribution<'g> + ?Sized>(
    distribution: &D,
    usual: usize,
    mut word: impl FnMut() -> u64,
) -> Option<f64> {
    let mut few = [0; FEW];
    let usual = usual.clamp(1, FEW);
    few[..usual].iter_mut().for_each(|slot| *slot = word());
    let (drawn, asked) = attempt(distribution, &few[..usual]);
    if asked <= usual {
        return drawn;
    }
    let mut words = few[..usual].to_vec();
    let mut wanted = asked;
    loop {
        words.extend((words.len()..wanted).map(|_| word()));
        let (drawn, asked) = attempt(distribution, &words);
        if asked <= words.len() {
            return drawn;
        }
        wanted = asked;
    }
}

/// A draw of these words, and how many it asked for.
#[inline]
fn attempt<'g, D: Distribution<'g> + ?Sized>(distribution: &D, given: &[u64]) -> (Option<f64>, usize) {
    WORDS.with(|words| {
        words.asked.set(0);
        words.given.set(given.len());
        match given.len() {
            0..=FEW => words.few.iter().zip(given).for_each(|(slot, &word)| slot.set(word)),
            _ => MANY.set(given.to_vec()),
        }
    });
    let drawn = compute(|graph| {
        let (scope, inputs) = (String::new(), Vec::new());
        let mut noise = Noise { graph, scope, each_record: Kind::Shared, inputs, at_once: true };
        distribution.draw(&Shape::scalar(), &mut noise).ok()
    });
    (drawn, WORDS.with(|words| words.asked.get()))
}
