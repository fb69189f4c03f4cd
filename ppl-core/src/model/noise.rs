//! Standard noise: inputs of a program that its runner fills, or numbers for draws that are made at once.

use crate::base::{Error, Result, Shape};
use crate::machine::Scalar;
use crate::model::distribution::Distribution;
use crate::op::{Graph, Kind, Var, compute};
use ndarray::ArrayD;
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
        let [u, v] = words.map(|word| ((word >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64));
        match self {
            NoiseKind::StandardNormal => (-2.0 * u.logarithm()).sqrt() * (TAU * v).cosine(),
            NoiseKind::Uniform => u,
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
    words: Option<Words>,
}

impl<'g> Noise<'g> {
    /// Noise whose inputs are named after `scope`.
    #[must_use]
    pub fn new(graph: &'g Graph, scope: impl Into<String>) -> Self {
        Self { graph, scope: scope.into(), each_record: Kind::Shared, inputs: Vec::new(), words: None }
    }

    /// Noise that is drawn anew for each record: its inputs are per-record inputs.
    #[must_use]
    pub fn per_record(graph: &'g Graph, scope: impl Into<String>) -> Self {
        Self { graph, scope: scope.into(), each_record: Kind::PerRecord, inputs: Vec::new(), words: None }
    }

    /// Noise of this kind and shape.
    ///
    /// # Errors
    /// If the shape is too large.
    pub fn draw(&mut self, kind: NoiseKind, shape: impl Into<Shape>) -> Result<Var<'g>> {
        if let Some(words) = &mut self.words {
            return words.draw(kind, &shape.into(), self.graph);
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
        let words = self.words.as_mut()?;
        Some(self.graph.constant(words.next(kind)))
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

/// Random bits for a draw that is made at once.
#[derive(Clone, Debug)]
struct Words {
    few: [u64; FEW],
    /// All of them, where there are more than a few.
    many: Vec<u64>,
    given: usize,
    /// How many were asked for, which may be more than were given.
    asked: usize,
}

impl Words {
    /// The next number; NaN where there are not enough words for it.
    fn next(&mut self, kind: NoiseKind) -> f64 {
        let (first, count) = (self.asked, kind.words());
        self.asked += count;
        if self.asked > self.given {
            return f64::NAN;
        }
        let words = if self.many.is_empty() { &self.few[..] } else { &self.many[..] };
        kind.number([words[first], words[first + count - 1]])
    }

    fn draw<'g>(&mut self, kind: NoiseKind, shape: &Shape, graph: &'g Graph) -> Result<Var<'g>> {
        if shape.is_scalar() {
            return Ok(graph.constant(self.next(kind)));
        }
        let shape = shape.clone().checked()?;
        let numbers: Vec<f64> = (0..shape.elements()).map(|_| self.next(kind)).collect();
        let array = ArrayD::from_shape_vec(shape.dims(), numbers);
        array.map(|array| graph.array(&array)).map_err(|_| Error::TooLarge(shape))
    }
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
    let mut words = Words { few: [0; FEW], many: Vec::new(), given: usual.clamp(1, FEW), asked: 0 };
    words.few[..words.given].iter_mut().for_each(|slot| *slot = word());
    loop {
        let (drawn, asked) = attempt(distribution, words.clone());
        if asked <= words.given {
            return drawn;
        }
        if words.many.is_empty() {
            words.many = words.few[..words.given].to_vec();
        }
        words.many.extend((words.given..asked).map(|_| word()));
        words.given = asked;
    }
}

/// A draw of these words, and how many it asked for.
fn attempt<'g, D: Distribution<'g> + ?Sized>(distribution: &D, words: Words) -> (Option<f64>, usize) {
    let mut asked = 0;
    let drawn = compute(|graph| {
        let mut noise = Noise {
            graph,
            scope: String::new(),
            each_record: Kind::Shared,
            inputs: Vec::new(),
            words: Some(words),
        };
        let drawn = distribution.draw(&Shape::scalar(), &mut noise);
        asked = noise.words.map_or(0, |words| words.asked);
        drawn.ok()
    });
    (drawn, asked)
}
