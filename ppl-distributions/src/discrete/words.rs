//! The words of a document, by how often each occurs.

use ppl_core::{Constraint, Distribution, Error, Noise, Parameter, Result, Shape, Source, Value, Var};

/// Words that are drawn independently from a mixture of topics, known by their counts.
///
/// ```text
/// ln p(n) = Σ_v n_v ln Σ_k θ_k β_kv          the words in a given order: without the multinomial coefficient
/// ```
///
/// `θ` are `K` weights of topics, `β` is `K × V`: each topic's distribution over the vocabulary. A value is the vector
/// of `V` counts. This is latent Dirichlet allocation with the topic of each word summed out.
///
/// A count of 0 adds nothing, whatever the word's probability. Vectors with something else than counts, such as a
/// negative number or a fraction, are outside the support: −∞. How many words there are is not part of the law, so
/// there are no draws.
///
/// ```
/// use ppl_core::{Distribution, ExecutionPlan, Graph, Program};
/// use ppl_distributions::Words;
/// let graph = Graph::new();
/// let topics = graph.array(&ndarray::arr2(&[[0.5, 0.5], [0.1, 0.9]]).into_dyn());
/// let weights = graph.array(&ndarray::arr1(&[0.25, 0.75]).into_dyn());
/// let counts = graph.array(&ndarray::arr1(&[2.0, 1.0]).into_dyn());
/// let log_prob = Words::mixed(weights, topics).log_prob(counts);
/// let plan = &mut ExecutionPlan::<f64>::new(&Program::new(&graph, &[log_prob])?);
/// plan.run();
/// assert!((plan.output(0)[0] - (2.0 * 0.2_f64.ln() + 0.8_f64.ln())).abs() < 1e-14);
/// # Ok::<(), ppl_core::Error>(())
/// ```
///
/// # References
/// Blei, Ng, Jordan 2003, "Latent Dirichlet allocation".
#[derive(Clone, Copy, Debug)]
pub struct Words<'g> {
    weights: Value<'g>,
    topics: Value<'g>,
}

impl<'g> Words<'g> {
    /// Weights of the topics, `[K]`, and the topics, `[K, V]`.
    pub fn mixed(weights: impl Into<Value<'g>>, topics: impl Into<Value<'g>>) -> Self {
        Self { weights: weights.into(), topics: topics.into() }
    }
}

impl<'g> Distribution<'g> for Words<'g> {
    fn name(&self) -> &'static str {
        "Words"
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "weights", value: self.weights, domain: Constraint::Simplex },
            Parameter { name: "topics", value: self.topics, domain: Constraint::Simplex },
        ]
    }

    fn event_shape(&self) -> Shape {
        Shape::from(self.topics.shape().dims().last().copied().unwrap_or(0))
    }

    #[track_caller]
    fn batch_shape(&self) -> Result<Shape> {
        let (weights, topics) = (self.weights.shape(), self.topics.shape());
        match (weights.dims(), topics.dims()) {
            ([k], [rows, words]) if k == rows && *k > 0 && *words > 0 => Ok(Shape::scalar()),
            _ => Err(Error::ShapeMismatch {
                operation: "Words::mixed",
                left: weights,
                right: topics,
                source_line: Source::caller(),
            }),
        }
    }

    fn support(&self) -> Constraint {
        Constraint::NonNegativeInteger
    }

    #[track_caller]
    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let graph = value.graph();
        let probs = self.weights.on(graph).dot(self.topics.on(graph));
        // Where there are no words the logarithm is of 1, so that no derivative of ln 0 is multiplied by 0.
        let occurs = value.greater(0.0);
        let log_prob = value.max(0.0).dot(occurs.select(probs, 1.0).log());
        let last = value.shape().rank().saturating_sub(1);
        match self.support().outside(value) {
            Some(outside) => outside.sum_axis(last).select(f64::NEG_INFINITY, log_prob),
            None => log_prob,
        }
    }

    fn draw(&self, _prefix: &Shape, _noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let told =
            "drawing from Words: how many words there are is not part of the law (Multinomial has a total)";
        Err(Error::Unsupported(told.to_owned()))
    }
}
