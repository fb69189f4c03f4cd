//! From a model to the programs of its expected statistics.

use super::augment::Curvature;
use super::blocks::{Block, Factor, Law};
use super::form::{Known, Moment};
use super::local::{Kept, Local, Swept, sweep};
use super::opened::{Laws, Open, Seconds, Watch, expected_prior, family_of, name_of, open};
use super::reach::sum_of_slopes;
use super::rules::Rules;
use super::sign::{is_non_negative, is_semidefinite};
use super::substitute::substitute;
use super::words::words;
use crate::base::{Error, Result};
use crate::model::{Constraint, Model, Site, SiteKind, Statistic, Trace, trace};
use crate::op::{Graph, Input, Op, Var};
use crate::program::Program;
use crate::record_gradient::MixedWords;
use crate::records::Schema;
use crate::transform::gradient;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// How a model is turned into expected statistics.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How softplus functions are bounded; `None` for the optimal bound, or the fixed one where the optimal has
    /// more than 100,000 statistics.
    pub curvature: Option<Curvature>,
    /// Sweeps over a record's own latent values where these begin anew at each step; by default 20.
    pub sweeps: usize,
    /// Sweeps at a step where records' own Dirichlet and beta factors go on from where the step before left them, see
    /// [`Statistics::kept`]; `None`, the default, where they begin anew. Vectors of Boolean values always do.
    ///
    /// With a concentration below 1 factors settle slowly: on 20 Newsgroups with noise, 3 sweeps at a step that go on
    /// came to topics as good as 20 that begin anew.
    pub kept: Option<usize>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { curvature: None, sweeps: 20, kept: None }
    }
}

/// Statistics from which on softplus functions are bounded by a fixed curvature.
const MANY: usize = 100_000;

/// A model in expected statistics.
///
/// ```
/// use ppl_core::conjugate::{Settings, Statistics};
/// use ppl_core::{Ctx, Graph, Schema};
/// # use ppl_core::{Constraint, Distribution, Noise, NoiseKind, Parameter, Result, Shape, Value, Var};
/// # use ppl_core::model::{ExponentialFamily, Statistic};
/// # struct Normal<'g>(Value<'g>, Value<'g>);
/// # impl<'g> Distribution<'g> for Normal<'g> {
/// #     fn name(&self) -> &'static str { "Normal" }
/// #     fn parameters(&self) -> Vec<Parameter<'g>> { Vec::new() }
/// #     fn support(&self) -> Constraint { Constraint::Real }
/// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> {
/// #         -0.5 * ((x - self.0.on(x.graph())) / self.1.on(x.graph())).square() - self.1.on(x.graph()).log()
/// #     }
/// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
/// #         noise.draw(NoiseKind::StandardNormal, prefix.clone())
/// #     }
/// #     fn family(&self) -> Option<Box<dyn ExponentialFamily<'g> + 'g>> { Some(Box::new(Family(self.0, self.1))) }
/// # }
/// # struct Family<'g>(Value<'g>, Value<'g>);
/// # impl<'g> ExponentialFamily<'g> for Family<'g> {
/// #     fn name(&self) -> &'static str { "Normal" }
/// #     fn statistics(&self) -> Vec<Statistic> { vec![Statistic::Value, Statistic::Square] }
/// #     fn natural(&self, graph: &'g Graph) -> Vec<Var<'g>> {
/// #         let p = self.1.on(graph).square().reciprocal();
/// #         vec![self.0.on(graph) * p, -0.5 * p]
/// #     }
/// #     fn log_partition(&self, n: &[Var<'g>]) -> Var<'g> {
/// #         (-0.25 * n[0].square() / n[1] - 0.5 * (-2.0 * n[1]).log()).sum()
/// #     }
/// #     fn own_log_partition(&self, graph: &'g Graph) -> Var<'g> { self.1.on(graph).log() }
/// #     fn log_base(&self, x: Var<'g>) -> Var<'g> { x.constant(0.0) }
/// # }
/// let model = |ctx: &mut Ctx<'_>| {
///     let mean = ctx.sample("mean", Normal(0.0.into(), 10.0.into()))?;
///     ctx.each_record(|ctx, record| ctx.observe("x", Normal(mean.into(), 1.0.into()), record.get("x")?))
/// };
/// let (graph, schema) = (Graph::new(), Schema::new([("x", ())])?);
/// let statistics = Statistics::new(&model, &graph, &schema, Settings::default())?;
/// let names: Vec<&str> = statistics.blocks().iter().map(|block| block.name.as_str()).collect();
/// assert_eq!(names, ["E[mean]", "E[mean²]"]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub struct Statistics<'g> {
    trace: Trace<'g>,
    factors: Vec<Factor<'g>>,
    blocks: Vec<Block<'g>>,
    record: Var<'g>,
    prior: Var<'g>,
    local: Vec<(String, Var<'g>)>,
    kept: Vec<Kept<'g>>,
    words: Option<MixedWords>,
    curvature: Curvature,
}

/// Inputs that are used by some values.
fn used(graph: &Graph, values: &[Var<'_>]) -> Result<HashSet<String>> {
    Ok(Program::new(graph, values)?.inputs().map(|(name, _)| name.to_owned()).collect())
}

impl<'g> Statistics<'g> {
    /// The programs of a model.
    ///
    /// # Errors
    /// If a latent value's prior is not in an exponential family, or something is not conjugate: the error names the
    /// site, the line and the operation. Whatever a statement of the model found wrong.
    pub fn new(
        model: &(impl Model + ?Sized),
        graph: &'g Graph,
        schema: &'g Schema,
        settings: Settings,
    ) -> Result<Self> {
        let laws = Rc::new(RefCell::new(HashMap::new()));
        let trace = trace(model, graph, schema, Watch(Rc::clone(&laws)))?;
        let laws = laws.borrow();
        if let Some(input) = trace.inputs_to_fill().next() {
            return Err(Error::Unsupported(format!(
                "statistics: a model that draws values itself, or is given values for each record (input '{input}'); take seed \
                 and such conditions away"
            )));
        }
        match settings.curvature {
            Some(curvature) => Self::of(trace, &laws, curvature, settings),
            None => {
                let best = Self::of(trace.clone(), &laws, Curvature::Optimal, settings)?;
                let elements: usize = best.blocks.iter().filter(|b| b.touched).map(Block::elements).sum();
                match elements > MANY {
                    true => Self::of(trace, &laws, Curvature::Fixed, settings),
                    false => Ok(best),
                }
            }
        }
    }

    fn of(trace: Trace<'g>, laws: &Laws<'g>, curvature: Curvature, settings: Settings) -> Result<Self> {
        let graph = trace.graph();
        let mut rules = Rules {
            curvature,
            known: HashMap::new(),
            boolean: HashSet::new(),
            non_negative: HashSet::new(),
            sites: Vec::new(),
        };
        for site in trace.sites().iter().filter(|site| site.kind == SiteKind::Observed) {
            let id = site.value.id();
            // Only columns are checked against supports before a run.
            if !graph.with_node(id, |node| matches!(node.op, Op::Input(Input::Column { .. }))) {
                continue;
            }
            if site.support == Constraint::Boolean {
                rules.boolean.insert(id);
            }
            // Simplexes and counts too: what is asked is only whether −1 lies inside.
            if site.support.event_rank() == 0 && !site.support.contains(-1.0) && !site.support.contains(-0.5)
            {
                rules.non_negative.insert(id);
            }
        }
        let mut opened = Vec::new();
        let mut local = Vec::new();
        // In the order of the model.
        let latent = trace.sites().iter().filter(|site| {
            site.kind == SiteKind::Latent
                && graph.with_node(site.value.id(), |node| matches!(node.op, Op::Input(_)))
                && laws.contains_key(&site.name)
        });
        for (number, site) in latent.enumerate() {
            rules.sites.push(site.name.clone());
            let form = if site.per_record {
                let one = Local::new(site, family_of(site, laws)?)?;
                if site.support == Constraint::Boolean {
                    rules.boolean.insert(site.value.id());
                }
                let form = one.form(number);
                local.push(one);
                form
            } else {
                let (one, form) = open(site, laws, number)?;
                opened.push(one);
                form
            };
            rules.known.insert(site.value.id(), Known::Random(form));
        }
        let (mut record, mut prior): (Option<Var<'g>>, Var<'g>) = (None, graph.constant(0.0));
        for site in trace.sites().iter().filter(|site| site.kind != SiteKind::Latent) {
            let Some(term) = site.log_prob else { continue };
            let expected = rules.expectation(term).map_err(|error| at(error, site))?;
            match site.per_record {
                true => record = Some(record.map_or(expected, |record| record + expected)),
                false => prior = prior + expected,
            }
        }
        let Some(mut record) = record else {
            return Err(Error::Unsupported(
                "statistics: the model observes nothing inside each_record".to_owned(),
            ));
        };
        for one in &local {
            record = record + expected_prior(&mut rules, &one.site, &*one.family, &one.moments())?;
        }
        for one in &opened {
            let Some(Known::Random(form)) = rules.known.get(&one.site.value.id()) else { continue };
            let moments: Vec<Moment<'g>> = one
                .inputs
                .iter()
                .map(|(statistic, _, input)| match (statistic, form.square()) {
                    (Statistic::Square, Some(square)) => square,
                    _ => Moment::exact(*input),
                })
                .collect();
            prior = prior + expected_prior(&mut rules, &one.site, &*one.family, &moments)?;
        }
        let swept = match local.is_empty() {
            true => Swept { record, means: Vec::new(), kept: Vec::new() },
            false => sweep(record, &local, settings.sweeps, settings.kept)?,
        };
        graph.check()?;
        let shared: Vec<Site<'g>> = opened.iter().map(|one| one.site.clone()).collect();
        let mut this = Self::close(trace, opened, swept, prior, curvature)?;
        if let (Some(sweeps), [kept]) = (settings.kept, &this.kept[..]) {
            let found = words(&this.trace, &local, &shared, sweeps.max(1))?;
            this.words = found.map(|found| MixedWords { kept: kept.name.clone(), ..found });
        }
        Ok(this)
    }

    /// Chooses which second moments are statistics, and makes the factors.
    fn close(
        trace: Trace<'g>,
        opened: Vec<Open<'g>>,
        Swept { mut record, means: mut local, mut kept }: Swept<'g>,
        mut prior: Var<'g>,
        curvature: Curvature,
    ) -> Result<Self> {
        let graph = trace.graph();
        let (mut factors, mut blocks) = (Vec::new(), Vec::new());
        for Open { site, family, mut inputs, seconds } in opened {
            let mut law = Law::Prior(family);
            let mut total = false;
            if let Some(Seconds { each, rows: Some((rows, sum)) }) = seconds {
                let place = inputs.iter().position(|(_, _, input)| input.is(each)).unwrap_or(0);
                let outer = name_of(Statistic::Outer, &site.name);
                let mut replace = |pairs: &[(Var<'g>, Var<'g>)]| {
                    let mut values = vec![record, prior];
                    values.extend(local.iter().map(|(_, value)| *value));
                    values.extend(kept.iter().map(|kept| kept.next));
                    let new = substitute(&values, pairs);
                    (record, prior) = (new[0], new[1]);
                    let later = local.iter_mut().map(|(_, value)| value);
                    let later = later.chain(kept.iter_mut().map(|kept| &mut kept.next));
                    later.zip(&new[2..]).for_each(|(value, new)| *value = *new);
                    used(graph, &[record, prior])
                };
                let mut now = replace(&[])?;
                if let Some(sum) = sum
                    && now.contains(&format!("Σ {outer}"))
                    && !now.contains(&outer)
                {
                    now = replace(&[(each.sum(), sum.diagonal().sum())])?;
                    total = !now.contains(&inputs[place].1);
                }
                if total {
                    inputs[place] = (Statistic::Outer, format!("Σ {outer}"), sum.unwrap_or(rows));
                    law = Law::NormalRows;
                } else if now.contains(&outer) || now.contains(&format!("Σ {outer}")) {
                    let mut pairs = vec![(each, rows.diagonal())];
                    if let Some(sum) = sum {
                        let n = sum.shape().dims()[0];
                        let all = rows.reshape([rows.shape().elements() / (n * n), n, n]).sum_axis(0);
                        pairs.push((sum, all));
                    }
                    replace(&pairs)?;
                    inputs[place] = (Statistic::Outer, outer, rows);
                    law = Law::NormalRows;
                }
            }
            let family = match &law {
                Law::Prior(family) => family.name(),
                Law::NormalRows => "MultivariateNormal",
            };
            let first = blocks.len();
            for (statistic, name, input) in inputs {
                let total = total && statistic == Statistic::Outer;
                let site = site.name.clone();
                blocks.push(Block {
                    site,
                    statistic,
                    total,
                    name,
                    input,
                    touched: false,
                    one_sign: false,
                    most: None,
                });
            }
            factors.push(Factor {
                site: site.name.clone(),
                family,
                support: site.support,
                shape: site.value.shape(),
                blocks: (first..blocks.len()).collect(),
                law,
            });
        }
        let inputs = used(graph, &[record])?;
        for block in &mut blocks {
            block.touched = inputs.contains(&block.name);
            block.most = if block.touched { sum_of_slopes(record, &block.name) } else { Some(0.0) };
            block.one_sign = block.touched && {
                let slope = gradient(record, &[block.input])?[0];
                let nothing = HashSet::new();
                let elements =
                    |value: Var<'g>| is_non_negative(value, &nothing) || is_non_negative(-value, &nothing);
                match block.statistic {
                    Statistic::Outer => is_semidefinite(slope),
                    _ => elements(slope),
                }
            };
        }
        Ok(Self { trace, factors, blocks, record, prior, local, kept, words: None, curvature })
    }

    /// [`record`](Self::record) with every block of expected statistics that records touch divided by a number, and
    /// times a weight of each record: a program whose gradient with respect to the new inputs are the statistics
    /// divided by that number.
    ///
    /// ```text
    /// u_b = scale_b t_b,   ∂ℓ/∂u_b = (∂ℓ/∂t_b)/scale_b
    /// ```
    ///
    /// The inputs are returned in the order of the touched blocks, and are named `scaled` and the block's name.
    ///
    /// # Errors
    /// If there is not a number for each block, one is not positive and finite, or the weight is not one number for
    /// each record.
    pub fn scaled(&self, scales: &[f64], weight: Option<Var<'g>>) -> Result<(Var<'g>, Vec<Var<'g>>)> {
        let graph = self.trace.graph();
        if scales.len() != self.blocks.len() || !scales.iter().all(|scale| *scale > 0.0 && scale.is_finite())
        {
            return Err(Error::Values(format!(
                "scales of statistics must be positive and finite, one for each of {} blocks",
                self.blocks.len()
            )));
        }
        let (mut inputs, mut pairs) = (Vec::new(), Vec::new());
        for (block, scale) in self.blocks.iter().zip(scales).filter(|(block, _)| block.touched) {
            let input = graph.input(format!("scaled {}", block.name), block.input.shape())?;
            inputs.push(input);
            pairs.push((block.input, if *scale == 1.0 { input } else { input * (1.0 / scale) }));
        }
        let mut record = substitute(&[self.record], &pairs)[0];
        if let Some(weight) = weight {
            record = weight * record;
        }
        graph.check()?;
        Ok((record, inputs))
    }

    /// The model's sites.
    #[must_use]
    pub fn trace(&self) -> &Trace<'g> {
        &self.trace
    }

    /// The posterior factors, in the order of the model.
    #[must_use]
    pub fn factors(&self) -> &[Factor<'g>] {
        &self.factors
    }

    /// All arrays of expected statistics.
    #[must_use]
    pub fn blocks(&self) -> &[Block<'g>] {
        &self.blocks
    }

    /// `ℓ_i`, one number for each record: what it adds to the bound on the evidence. Its gradient with respect to the
    /// blocks' inputs are the record's expected statistics.
    #[must_use]
    pub fn record(&self) -> Var<'g> {
        self.record
    }

    /// `E[ln p(θ)]` of all that records share, public observations among it, without base measures. Its gradient with
    /// respect to the blocks' inputs are the natural parameters of the prior.
    #[must_use]
    pub fn prior(&self) -> Var<'g> {
        self.prior
    }

    /// Natural parameters of records' own factors that go on from step to step; empty where they begin anew.
    ///
    /// Each is a per-record input of [`record`](Self::record), the bound at these factors. A step first computes what
    /// all of them are next, at the shared values' expectations of the step, and then takes the gradient at these. What
    /// is next for a record depends on that record and on shared values alone.
    #[must_use]
    pub fn kept(&self) -> &[Kept<'g>] {
        &self.kept
    }

    /// The expected statistics of a record's own latent values, by site: after the last sweep, or at the factors that
    /// are [kept](Self::kept).
    #[must_use]
    pub fn local(&self) -> &[(String, Var<'g>)] {
        &self.local
    }

    /// The formulas of the program of [`scaled`](Self::scaled), with these scales and no weight, and of what records'
    /// [kept](Self::kept) factors are next: where all that a record says are words of topics that it mixes, with a
    /// factor that is kept. They pass over the words that a record does not have, see
    /// [`RecordGradient::without_zeros`](crate::RecordGradient::without_zeros).
    #[must_use]
    pub fn words(&self, scales: &[f64]) -> Option<MixedWords> {
        let words = self.words.clone()?;
        let place = self.blocks.iter().position(|block| block.touched && block.name == words.topics)?;
        let input = format!("scaled {}", words.topics);
        Some(MixedWords { input, scale: *scales.get(place)?, ..words })
    }

    /// How softplus functions are bounded.
    #[must_use]
    pub fn curvature(&self) -> Curvature {
        self.curvature
    }
}

fn at(error: Error, site: &Site<'_>) -> Error {
    match &error {
        Error::AtSite { .. } => error,
        _ => error.at_site(&site.name),
    }
}
