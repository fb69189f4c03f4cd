//! The statements a model is written in.

use crate::base::{Error, Plain, Result, Shape, Source};
use crate::model::constraint::Constraint;
use crate::model::distribution::{Distribution, Parameter};
use crate::model::expand::Expanded;
use crate::model::handler::Handler;
use crate::model::message::Message;
use crate::model::plate::{self, Plate};
use crate::model::record::Record;
use crate::model::stack::{Frame, Layer};
use crate::model::trace::{Filling, Site, SiteKind};
use crate::op::{Graph, Kind, Op, Shaping, Value, Var};
use crate::records::Schema;
use ndarray::{Array1, Array2, ArrayD, arr0};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::rc::Rc;

/// A probabilistic model: any function of a [`Ctx`], or one with [handlers](crate::handlers) around it.
///
/// It runs once, on symbolic values, and leaves its log density as an array program.
pub trait Model {
    /// Runs the model's statements.
    ///
    /// # Errors
    /// Whatever a statement found wrong.
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<()>;
}

impl<F: Fn(&mut Ctx<'_>) -> Result<()>> Model for F {
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<()> {
        self(ctx)
    }
}

/// What a model's statements act on.
///
/// | statement | what it declares | NumPyro's |
/// |---|---|---|
/// | [`sample`](Self::sample) | a latent value with a prior; inside `each_record`, one for each record | `sample` |
/// | [`observe`](Self::observe) | a known value with a distribution | `sample(obs=…)` |
/// | [`param`](Self::param) | a value to be optimised, without a prior | `param` |
/// | [`deterministic`](Self::deterministic) | a name for a computed value | `deterministic` |
/// | [`factor`](Self::factor) | a term of the log density | `factor` |
/// | [`enumerate`](Self::enumerate) | a discrete latent value, summed out | `sample` under `enum` |
/// | [`markov`](Self::markov) | a chain of discrete latent values, summed out | `markov`, `scan` under `enum` |
/// | [`each_record`](Self::each_record) | what holds for *one* record | `plate` over the data |
/// | [`plate`](Self::plate) | independent values along an axis | `plate` |
///
/// An error of any statement names the site and the line of the model.
pub struct Ctx<'g> {
    pub(crate) graph: &'g Graph,
    schema: &'g Schema,
    /// Scopes and handlers around the statement at hand, outermost first.
    pub(crate) frames: Vec<Frame<'g>>,
    pub(crate) sites: Vec<Site<'g>>,
    /// What the runner of the program has to fill in, for hidden sites too.
    pub(crate) fillings: Vec<Filling>,
    /// All full names that are taken, those of hidden sites among them: noise is named after the site.
    pub(crate) names: BTreeSet<String>,
    /// Latent values and parameters that may be any real number: their sites, by the inputs that they are.
    pub(crate) real: HashMap<u32, String>,
    pub(crate) plates: Vec<Plate>,
    plate_sizes: BTreeMap<String, usize>,
    in_record: bool,
    /// How many `enumerate` are around the statement at hand.
    pub(crate) enumerating: usize,
    /// Inside a sum over a discrete value: the number of frames around the sum.
    pub(crate) summing: Option<usize>,
}

impl<'g> Ctx<'g> {
    pub(crate) fn new(graph: &'g Graph, schema: &'g Schema) -> Self {
        Self {
            graph,
            schema,
            frames: Vec::new(),
            sites: Vec::new(),
            fillings: Vec::new(),
            names: BTreeSet::new(),
            real: HashMap::new(),
            plates: Vec::new(),
            plate_sizes: BTreeMap::new(),
            in_record: false,
            enumerating: 0,
            summing: None,
        }
    }

    pub(crate) fn into_parts(self) -> (Vec<Site<'g>>, Vec<Filling>) {
        (self.sites, self.fillings)
    }

    /// The graph this model is traced into, for constants and arrays.
    #[must_use]
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// A number or an array known now, such as public data: a `f64`, a `Vec<f64>` or an array of `ndarray`. Its
    /// shape is that of what is given, `[T]` for a series.
    ///
    /// ```
    /// # use ppl_core::{Constraint, Ctx, Records, log_density};
    /// # use std::collections::BTreeMap;
    /// let model = |ctx: &mut Ctx<'_>| {
    ///     let series = ctx.constant(vec![1.0, 2.0, 4.0]);
    ///     ctx.factor("misfit", -(series - 2.0).square().sum())
    /// };
    /// assert_eq!(log_density(&model, &Records::none(), &BTreeMap::new())?.total(), -5.0);
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[track_caller]
    pub fn constant(&self, values: impl Into<Initial>) -> Var<'g> {
        self.graph.array(&values.into().into_array())
    }

    /// What is known of the records while tracing: names and shapes of the columns, not their values or
    /// number.
    #[must_use]
    pub fn records(&self) -> &'g Schema {
        self.schema
    }

    /// A latent value with a prior distribution. Inside [`each_record`](Self::each_record) every record has
    /// one of its own, and its prior belongs to the record's part of the log density.
    ///
    /// # Errors
    /// If the name is taken, a parameter is outside its domain, shapes do not go together, the distribution
    /// of a shared value depends on a record, or no handler has a value for the site.
    #[track_caller]
    pub fn sample(&mut self, name: &str, distribution: impl Distribution<'g> + 'g) -> Result<Var<'g>> {
        self.refuse_in_enumerate(name, "a latent value")?;
        let message = self.declare(name, SiteKind::Latent, Some(Rc::new(distribution)))?;
        self.settle(message)
    }

    /// A shared value to be optimised, without a prior. It has the shape of its initial value, in plates too.
    ///
    /// # Errors
    /// If the name is taken, the initial value lies outside the constraint, or the statement stands inside
    /// `each_record`.
    #[track_caller]
    pub fn param(&mut self, name: &str, initial: impl Into<Initial>, support: Constraint) -> Result<Var<'g>> {
        self.refuse_in_enumerate(name, "a parameter")?;
        let mut message = self.declare(name, SiteKind::Param, None)?;
        if self.in_record {
            let error = mixes("a parameter declared inside each_record", message.source_line);
            return Err(error.at_site(&self.full_name(name)));
        }
        let Initial(initial) = initial.into();
        let numbers: Vec<f64> = initial.iter().copied().collect();
        if let Some((_, value)) = support.violation(&numbers, &Shape::from(initial.shape())) {
            let (site, support) = (self.full_name(name), support.to_string());
            return Err(Error::OutsideSupport { site, value, place: " (initial value)".to_owned(), support });
        }
        (message.initial, message.constraint) = (Some(initial), support);
        self.settle(message)
    }

    /// Conditions on a value: of the record at hand inside `each_record`, of a public constant outside.
    ///
    /// # Errors
    /// If the name is taken, a parameter is outside its domain, shapes do not go together, or a value of a
    /// record is observed outside `each_record`.
    #[track_caller]
    pub fn observe(
        &mut self,
        name: &str,
        distribution: impl Distribution<'g> + 'g,
        value: impl Into<Value<'g>>,
    ) -> Result<()> {
        self.observe_value(name, Rc::new(distribution), value.into())
    }

    #[track_caller]
    fn observe_value(
        &mut self,
        name: &str,
        distribution: Rc<dyn Distribution<'g> + 'g>,
        value: Value<'g>,
    ) -> Result<()> {
        let mut message = self.declare(name, SiteKind::Observed, Some(distribution))?;
        let full = self.full_name(name);
        let told = |error: Error| error.at_site(&full);
        let value = value.on(self.graph);
        value.require_on(self.graph, "observe").map_err(told)?;
        let support = message.support();
        let known = value.known_elements().and_then(|all| support.violation(&all, &value.shape()));
        if let Some((_, value)) = known {
            let (site, support) = (self.full_name(name), support.to_string());
            return Err(Error::OutsideSupport { site, value, place: String::new(), support });
        }
        let (expected, got) = (message.shape().map_err(told)?, value.shape());
        let misfit = Error::UnexpectedShape {
            operation: "observe",
            expected: format!("an observation of shape {expected} or one that it stretches to"),
            got: got.clone(),
            source_line: message.source_line,
        };
        if expected.broadcast(&got).as_ref() != Some(&got) {
            return Err(told(misfit));
        }
        if let (true, Some(distribution)) = (expected != got, message.distribution.clone()) {
            // Independent copies, in case they are drawn. One outcome does not stretch.
            let batch = got.rank().saturating_sub(distribution.event_shape().rank());
            let copies = Expanded::new(distribution, Shape::from(&got.dims()[..batch]));
            message.distribution = Some(Rc::new(copies));
            if message.shape().map_err(told)? != got {
                return Err(told(misfit));
            }
        }
        message.value = Some(value);
        self.settle(message).map(|_| ())
    }

    /// Gives a computed value a name in the trace: of the record at hand inside `each_record`, of shared
    /// values outside.
    ///
    /// It returns the value. Nothing of the log density changes; predictions have it under its name. A value
    /// of a record is as sensitive as the record is.
    ///
    /// # Errors
    /// If the name is taken, or a value of a record is named outside `each_record`.
    ///
    /// ```
    /// # use ppl_core::{Constraint, Ctx, Records, simulate};
    /// let model = |ctx: &mut Ctx<'_>| {
    ///     let slope = ctx.param("slope", 2.0, Constraint::Real)?;
    ///     ctx.each_record(|ctx, record| ctx.deterministic("line", slope * record.get("x")?).map(|_| ()))
    /// };
    /// let records = Records::from_columns([("x", vec![1.0, 3.0])])?;
    /// assert_eq!(simulate(&model, &records)?["line"], ndarray::array![2.0, 6.0].into_dyn());
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[track_caller]
    pub fn deterministic(&mut self, name: &str, value: impl Into<Value<'g>>) -> Result<Var<'g>> {
        let mut message = self.declare(name, SiteKind::Deterministic, None)?;
        message.value = Some(value.into().on(self.graph));
        self.settle(message)
    }

    /// Adds a term to the log density: to the record's part inside `each_record`, to that of the shared
    /// values outside. In plates the term is one for each element. It may be anything; whether the result is
    /// still a density is for the model to say.
    ///
    /// # Errors
    /// If the name is taken, or a term of a record is added outside `each_record`.
    ///
    /// ```
    /// # use ppl_core::{Constraint, Ctx, Records, log_density};
    /// # use std::collections::BTreeMap;
    /// let model = |ctx: &mut Ctx<'_>| {
    ///     ctx.factor("public", -1.0)?;
    ///     ctx.each_record(|ctx, record| ctx.factor("each", -record.get("x")?.square()))
    /// };
    /// let records = Records::from_columns([("x", vec![1.0, 3.0])])?;
    /// let density = log_density(&model, &records, &BTreeMap::new())?;
    /// assert_eq!((density.prior, density.likelihood), (-1.0, ndarray::array![-1.0, -9.0]));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[track_caller]
    pub fn factor(&mut self, name: &str, log_value: impl Into<Value<'g>>) -> Result<()> {
        let mut message = self.declare(name, SiteKind::Factor, None)?;
        let value = log_value.into().on(self.graph);
        let axes = plate::shape(&message.plates);
        message.value = Some(match value.shape().broadcast(&axes) {
            Some(together) => value.broadcast_to(together),
            None => {
                let (left, right) = (value.shape(), axes);
                let source_line = message.source_line;
                let error = Error::ShapeMismatch { operation: "factor in plates", left, right, source_line };
                return Err(error.at_site(&message.name));
            }
        });
        self.settle(message).map(|_| ())
    }

    /// What holds for each record, given everything declared so far. Records are independent of each other;
    /// the function sees one of them, so it cannot mix two.
    ///
    /// # Errors
    /// Whatever a statement inside found wrong, or a plate of records inside a plate.
    #[track_caller]
    pub fn each_record(&mut self, record: impl FnOnce(&mut Ctx<'g>, Record<'g>) -> Result<()>) -> Result<()> {
        let of_one = self.enter_record()?;
        let result = record(self, of_one);
        self.in_record = false;
        result.and_then(|()| self.graph.check())
    }

    fn enter_record(&mut self) -> Result<Record<'g>> {
        if self.in_record {
            return Err(Error::Unsupported("each_record inside each_record".to_owned()));
        }
        if let Some(Plate { name, .. }) = self.plates.last() {
            return Err(Error::Unsupported(format!(
                "each_record inside the plate '{name}': records are independent of each other given all shared values; \
                 close the plate first, and index what it holds"
            )));
        }
        self.in_record = true;
        Ok(Record::new(self.graph, self.schema))
    }

    /// Statements of independent values along a named axis, of shared values or, inside `each_record`, within
    /// one record.
    ///
    /// As in NumPyro, axes are counted from the right: the outermost plate's axis is the last of a
    /// distribution's batch shape, the one inside it is the one before, and so on. A distribution whose batch
    /// shape has length 1 there, or no such axis, is copied along the plate; another length than the plate's
    /// is an error. Values have the plates' axes, and after them those of one outcome. A plate may be opened
    /// several times, always with the same size.
    ///
    /// There is no subsampling of plates: what is subsampled are records.
    ///
    /// # Errors
    /// Whatever a statement inside found wrong; a plate inside itself, of no elements, or of two sizes.
    ///
    /// ```
    /// # use ppl_core::{Constraint, Ctx, Distribution, Graph, Noise, NoiseKind, Parameter, Result, Schema, Shape, Value, Var, trace};
    /// # struct Exponential<'g>(Value<'g>);
    /// # impl<'g> Distribution<'g> for Exponential<'g> {
    /// #     fn name(&self) -> &'static str { "Exponential" }
    /// #     fn parameters(&self) -> Vec<Parameter<'g>> {
    /// #         vec![Parameter { name: "rate", value: self.0, domain: Constraint::Positive }]
    /// #     }
    /// #     fn support(&self) -> Constraint { Constraint::Positive }
    /// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> { let r = self.0.on(x.graph()); r.log() - r * x }
    /// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
    /// #         Ok(-noise.draw(NoiseKind::Uniform, prefix.concat(&self.batch_shape()?))?.log() / self.0.on(noise.graph()))
    /// #     }
    /// # }
    /// # use ppl_core::handlers::Unconstrained;
    /// let model = |ctx: &mut Ctx<'_>| {
    ///     ctx.plate("schools", 8, |ctx| {
    ///         let rate = ctx.sample("rate", Exponential(1.0.into()))?;             // [8]
    ///         ctx.plate("years", 3, |ctx| {
    ///             ctx.sample("wait", Exponential(rate.into())).map(|_| ())            // [3, 8]
    ///         })
    ///     })
    /// };
    /// let (graph, schema) = (Graph::new(), Schema::new([("x", 3)])?);
    /// let trace = trace(&model, &graph, &schema, Unconstrained)?;
    /// assert_eq!(trace.sites()[0].shape, Shape::from([8]));
    /// assert_eq!(trace.sites()[1].shape, Shape::from([3, 8]));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[track_caller]
    pub fn plate<R>(
        &mut self,
        name: &str,
        size: usize,
        inside: impl FnOnce(&mut Ctx<'g>) -> Result<R>,
    ) -> Result<R> {
        self.enter_plate(name, size)?;
        let result = inside(self);
        self.plates.pop();
        result
    }

    fn enter_plate(&mut self, name: &str, size: usize) -> Result<()> {
        let name = self.full_name(name);
        let wrong = |problem: String| Err(Error::Values(format!("plate '{name}' {problem}")));
        if size == 0 {
            return wrong("has no elements; its size must be at least 1".to_owned());
        }
        if self.plates.iter().any(|plate| plate.name == name) {
            return wrong("stands inside itself; give the inner one another name".to_owned());
        }
        let first = *self.plate_sizes.entry(name.clone()).or_insert(size);
        if first != size {
            return wrong(format!("had size {first} and has {size} here; one name is one axis"));
        }
        self.plates.push(Plate { name, size });
        Ok(())
    }

    /// Statements with a handler around them.
    ///
    /// # Errors
    /// Whatever a statement inside found wrong; a site that the handler expects and that does not pass.
    pub fn with<R>(
        &mut self,
        handler: impl Handler<'g> + 'g,
        inside: impl FnOnce(&mut Ctx<'g>) -> Result<R>,
    ) -> Result<R> {
        let layer = Rc::new(Layer::new(handler));
        self.with_layer(&layer, inside)
    }

    /// Statements with a handler around them, when it has a place in the stack.
    pub(crate) fn with_layer<R>(
        &mut self,
        layer: &Rc<Layer<'g>>,
        inside: impl FnOnce(&mut Ctx<'g>) -> Result<R>,
    ) -> Result<R> {
        let depth = self.frames.len();
        self.frames.push(Frame::Handler(Rc::clone(layer)));
        let result = inside(self);
        self.frames.truncate(depth);
        let result = result?;
        layer.check_met(&self.names)?;
        Ok(result)
    }

    /// Statements whose sites have `prefix/` before their names; see
    /// [`handlers::scope`](crate::handlers::scope).
    ///
    /// # Errors
    /// Whatever a statement inside found wrong.
    pub fn scope<R>(&mut self, prefix: &str, inside: impl FnOnce(&mut Ctx<'g>) -> Result<R>) -> Result<R> {
        let depth = self.frames.len();
        self.frames.push(Frame::Scope(prefix.to_owned()));
        let result = inside(self);
        self.frames.truncate(depth);
        result
    }

    /// A message of a statement, with its distribution checked and stretched over the plates.
    #[track_caller]
    pub(crate) fn declare(
        &self,
        name: &str,
        kind: SiteKind,
        distribution: Option<Rc<dyn Distribution<'g> + 'g>>,
    ) -> Result<Message<'g>> {
        let (full, source_line) = (self.full_name(name), Source::caller());
        let told = |error: Error| error.at_line(source_line).at_site(&full);
        self.graph.check().map_err(|error| error.at_site(&full))?;
        if self.names.contains(&full) {
            return Err(Error::DuplicateSite { name: full, source_line });
        }
        let mut message = Message::new(self.graph, name, kind, source_line);
        (message.per_record, message.plates) = (self.in_record, self.plates.clone());
        if let Some(distribution) = distribution {
            distribution.validate().map_err(told)?;
            self.refuse_real(&*distribution, source_line).map_err(told)?;
            if kind == SiteKind::Latent && !self.in_record && distribution.kind() == Kind::PerRecord {
                return Err(told(mixes("the prior of a shared latent value", source_line)));
            }
            message.distribution = Some(plate::stretch(distribution, &self.plates).map_err(told)?);
        }
        Ok(message)
    }

    /// Refuses the value of a real site, as it is or under another shape, as a parameter that has to be
    /// positive or bounded. (What is computed from several values is not looked into.)
    fn refuse_real(&self, distribution: &(dyn Distribution<'g> + 'g), source_line: Source) -> Result<()> {
        for Parameter { name, value, domain } in distribution.parameters() {
            let bounded = domain.event_rank() == 0 && (!domain.contains(1e300) || !domain.contains(-1e300));
            let Value::Var(var) = value else { continue };
            if !bounded || !std::ptr::eq(var.graph(), self.graph) {
                continue;
            }
            let mut root = var.id();
            while let Some(inner) = self.graph.with_node(root, |node| match node.op {
                Op::Shaping(Shaping::Reshape(_) | Shaping::Broadcast(_)) => node.args.first().copied(),
                _ => None,
            }) {
                root = inner;
            }
            if let Some(site) = self.real.get(&root) {
                return Err(Error::ParameterIsReal {
                    distribution: distribution.name(),
                    parameter: name,
                    requirement: domain.to_string(),
                    site: site.clone(),
                    source_line,
                });
            }
        }
        Ok(())
    }

    fn refuse_in_enumerate(&self, name: &str, what: &str) -> Result<()> {
        match self.enumerating {
            0 => Ok(()),
            _ => Err(Error::Unsupported(format!(
                "{what} inside ctx.enumerate: it would be another one for each value that is summed over; declare it before"
            ))
            .at_site(&self.full_name(name))),
        }
    }
}

pub(crate) fn mixes(what: &str, source_line: Source) -> Error {
    Error::MixesRecords { what: what.to_owned(), rule: "it is shared by all of them", source_line }
}

/// A value of a site: a number or an array.
#[derive(Clone, PartialEq)]
pub struct Initial(ArrayD<f64>);

impl fmt::Debug for Initial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Initial").field(&Plain(&self.0)).finish()
    }
}

impl Initial {
    pub(crate) fn into_array(self) -> ArrayD<f64> {
        self.0
    }
}

impl From<f64> for Initial {
    fn from(value: f64) -> Self {
        Self(arr0(value).into_dyn())
    }
}

impl From<Vec<f64>> for Initial {
    fn from(values: Vec<f64>) -> Self {
        Self(Array1::from(values).into_dyn())
    }
}

impl From<&[f64]> for Initial {
    fn from(values: &[f64]) -> Self {
        Self(Array1::from(values.to_vec()).into_dyn())
    }
}

impl From<Array1<f64>> for Initial {
    fn from(values: Array1<f64>) -> Self {
        Self(values.into_dyn())
    }
}

impl From<Array2<f64>> for Initial {
    fn from(values: Array2<f64>) -> Self {
        Self(values.into_dyn())
    }
}

impl From<ArrayD<f64>> for Initial {
    fn from(values: ArrayD<f64>) -> Self {
        Self(values)
    }
}
