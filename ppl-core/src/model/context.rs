//! The statements a model is written in.

use crate::error::{Error, Result, Source};
use crate::graph::{Graph, Kind};
use crate::model::constraint::Constraint;
use crate::model::distribution::Distribution;
use crate::model::trace::{Site, SiteKind};
use crate::records::Schema;
use crate::shape::Shape;
use crate::value::Value;
use crate::var::Var;
use ndarray::{Array1, Array2, ArrayD, arr0};

/// A probabilistic model: any function of a [`Ctx`].
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

/// A request for the value of a latent site.
#[derive(Clone, Debug)]
pub struct LatentRequest<'g, 'a> {
    /// The graph the value must live on.
    pub graph: &'g Graph,
    /// Name of the site.
    pub name: &'a str,
    /// Shape of the value.
    pub shape: &'a Shape,
    /// Where the value must lie.
    pub support: Constraint,
}

/// The value of a latent site.
#[derive(Clone, Copy, Debug)]
pub struct Latent<'g> {
    /// The value, in the support.
    pub value: Var<'g>,
    /// What it was mapped from, if it was.
    pub unconstrained: Option<Var<'g>>,
    /// Log of the mapping's Jacobian determinant, if there is one.
    pub log_jacobian: Option<Var<'g>>,
}

/// Decides what the value of each latent site is: an input, a given value, the draw of a guide.
pub trait Latents<'g> {
    /// The value of the site asked about.
    ///
    /// # Errors
    /// If there is no value for such a site.
    fn latent(&mut self, request: &LatentRequest<'g, '_>) -> Result<Latent<'g>>;
}

/// What a model's statements act on.
///
/// `ctx.sample` declares a latent value, `ctx.param` a parameter without a prior, `ctx.observe` conditions on a value, and
/// `ctx.each_record` says what holds for *one* record. An error of any statement names the site and the line of the model.
pub struct Ctx<'g> {
    graph: &'g Graph,
    schema: &'g Schema,
    latents: Box<dyn Latents<'g> + 'g>,
    sites: Vec<Site<'g>>,
    in_record: bool,
}

/// One record, as a model sees it: symbolic values of its columns.
#[derive(Clone, Copy, Debug)]
pub struct Record<'g> {
    graph: &'g Graph,
    schema: &'g Schema,
}

impl<'g> Record<'g> {
    /// A symbolic record of this schema.
    #[must_use]
    pub fn new(graph: &'g Graph, schema: &'g Schema) -> Self {
        Self { graph, schema }
    }

    /// The record's value in a column.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], which lists the columns there are.
    #[track_caller]
    pub fn get(&self, column: &str) -> Result<Var<'g>> {
        let (index, shape) = self.schema.find(column)?;
        self.graph.column(index, column, shape)
    }

    /// The record's value in a column of integers, as an index for [`Var::gather`].
    ///
    /// Integers reach a program as floating-point numbers: every one that may be an index (below 2²⁴) exactly, in `f32` too.
    ///
    /// # Errors
    /// [`Error::UnknownColumn`], or [`Error::Records`] if the column's numbers are not integers by their type.
    ///
    /// ```
    /// use ppl_core::{Column, Graph, Record, Records, Shape};
    /// let records = Records::from_columns([("group", Column::from(vec![2_u8, 0])), ("y", Column::from(vec![1_u8, 0]))])?;
    /// let graph = Graph::new();
    /// let effects = graph.input("effects", [3, 4])?;
    /// let effect = effects.gather(Record::new(&graph, records.schema()).index("group")?);
    /// assert_eq!(effect.shape(), Shape::from(4));
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[track_caller]
    pub fn index(&self, column: &str) -> Result<Var<'g>> {
        let column_type = self.schema.column_type(column)?;
        if !column_type.is_integer() {
            return Err(Error::Records(format!(
                "column '{column}' holds numbers of type {column_type}, which are not integers, so it is no index; \
                 give the column integers (u8, u32, i32 or i64)"
            )));
        }
        self.get(column)
    }
}

impl<'g> Ctx<'g> {
    pub(crate) fn new(graph: &'g Graph, schema: &'g Schema, latents: Box<dyn Latents<'g> + 'g>) -> Self {
        Self { graph, schema, latents, sites: Vec::new(), in_record: false }
    }

    pub(crate) fn into_sites(self) -> Vec<Site<'g>> {
        self.sites
    }

    /// The graph this model is traced into, for constants and arrays.
    #[must_use]
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// What is known of the records while tracing: names and shapes of the columns, not their values or number.
    #[must_use]
    pub fn records(&self) -> &'g Schema {
        self.schema
    }

    /// A latent value with a prior distribution.
    ///
    /// # Errors
    /// If the name is taken, a parameter is outside its domain, shapes do not go together, the distribution depends on a
    /// record, or whoever traces the model has no value for the site.
    #[track_caller]
    pub fn sample(&mut self, name: &str, distribution: impl Distribution<'g>) -> Result<Var<'g>> {
        let source_line = Source::caller();
        self.begin(name, source_line)?;
        let _site = self.graph.enter_site(name);
        let site = |error: Error| error.at_site(name);
        distribution.validate().map_err(site)?;
        if self.in_record {
            let told =
                "a latent value of each record; declare it outside each_record, or sum it out".to_owned();
            return Err(Error::Unsupported(told).at_site(name));
        }
        if distribution.kind() == Kind::PerRecord {
            return Err(mixes("the prior of a shared latent value", source_line).at_site(name));
        }
        let shape = distribution.batch_shape().map_err(site)?.concat(&distribution.event_shape());
        let support = distribution.support();
        let request = LatentRequest { graph: self.graph, name, shape: &shape, support };
        let latent = self.latents.latent(&request).map_err(site)?;
        latent.value.require_on(self.graph, "sample").map_err(site)?;
        let log_prob = distribution.log_prob(latent.value).sum();
        self.graph.check().map_err(site)?;
        log_prob.require_on(self.graph, "sample").map_err(site)?;
        // A distribution may hold more than it lists as parameters.
        if latent.value.kind().max(log_prob.kind()) == Kind::PerRecord {
            return Err(mixes("the prior of a shared latent value", source_line).at_site(name));
        }
        self.sites.push(Site {
            name: name.to_owned(),
            kind: SiteKind::Latent,
            distribution: Some(distribution.name()),
            shape,
            support,
            value: latent.value,
            unconstrained: latent.unconstrained,
            log_prob: Some(log_prob),
            log_jacobian: latent.log_jacobian,
            initial: None,
            source_line,
        });
        Ok(latent.value)
    }

    /// A shared value to be optimised, without a prior.
    ///
    /// # Errors
    /// If the name is taken, the initial value lies outside the constraint, or the statement stands inside `each_record`.
    #[track_caller]
    pub fn param(&mut self, name: &str, initial: impl Into<Initial>, support: Constraint) -> Result<Var<'g>> {
        let source_line = Source::caller();
        self.begin(name, source_line)?;
        let _site = self.graph.enter_site(name);
        let site = |error: Error| error.at_site(name);
        if self.in_record {
            return Err(mixes("a parameter declared inside each_record", source_line).at_site(name));
        }
        let Initial(initial) = initial.into();
        let numbers: Vec<f64> = initial.iter().copied().collect();
        if let Some((_, value)) = support.violation(&numbers, &Shape::from(initial.shape())) {
            let (site, support) = (name.to_owned(), support.to_string());
            return Err(Error::OutsideSupport { site, value, place: " (initial value)".to_owned(), support });
        }
        let shape = Shape::from(initial.shape());
        let request = LatentRequest { graph: self.graph, name, shape: &shape, support };
        let latent = self.latents.latent(&request).map_err(site)?;
        latent.value.require_on(self.graph, "param").map_err(site)?;
        if latent.value.kind() == Kind::PerRecord {
            return Err(mixes("the value of a shared parameter", source_line).at_site(name));
        }
        self.sites.push(Site {
            name: name.to_owned(),
            kind: SiteKind::Param,
            distribution: None,
            shape,
            support,
            value: latent.value,
            unconstrained: latent.unconstrained,
            log_prob: None,
            log_jacobian: None,
            initial: Some(initial),
            source_line,
        });
        Ok(latent.value)
    }

    /// Conditions on a value: of the record at hand inside `each_record`, of a public constant outside.
    ///
    /// # Errors
    /// If the name is taken, a parameter is outside its domain, shapes do not go together, or a value of a record is
    /// observed outside `each_record`.
    #[track_caller]
    pub fn observe(
        &mut self,
        name: &str,
        distribution: impl Distribution<'g>,
        value: impl Into<Value<'g>>,
    ) -> Result<()> {
        let source_line = Source::caller();
        self.begin(name, source_line)?;
        let _site = self.graph.enter_site(name);
        let site = |error: Error| error.at_site(name);
        distribution.validate().map_err(site)?;
        let value = value.into().on(self.graph);
        value.require_on(self.graph, "observe").map_err(site)?;
        let support = distribution.support();
        let known = value.known_elements().and_then(|all| support.violation(&all, &value.shape()));
        if let Some((_, value)) = known {
            let (site, support) = (name.to_owned(), support.to_string());
            return Err(Error::OutsideSupport { site, value, place: String::new(), support });
        }
        let expected = distribution.batch_shape().map_err(site)?.concat(&distribution.event_shape());
        let got = value.shape();
        if expected.broadcast(&got).as_ref() != Some(&got) {
            let expected = format!("an observation of shape {expected} or one that it stretches to");
            return Err(
                Error::UnexpectedShape { operation: "observe", expected, got, source_line }.at_site(name)
            );
        }
        let log_prob = distribution.log_prob(value).sum();
        self.graph.check().map_err(site)?;
        log_prob.require_on(self.graph, "observe").map_err(site)?;
        if log_prob.kind() == Kind::PerRecord && !self.in_record {
            return Err(mixes("an observation outside each_record", source_line).at_site(name));
        }
        self.sites.push(Site {
            name: name.to_owned(),
            kind: SiteKind::Observed { per_record: self.in_record },
            distribution: Some(distribution.name()),
            shape: got,
            support,
            value,
            unconstrained: None,
            log_prob: Some(log_prob),
            log_jacobian: None,
            initial: None,
            source_line,
        });
        Ok(())
    }

    /// What holds for each record, given everything declared so far. Records are independent of each other; the function
    /// sees one of them, so it cannot mix two.
    ///
    /// # Errors
    /// Whatever a statement inside found wrong, or a plate inside a plate.
    #[track_caller]
    pub fn each_record(&mut self, record: impl FnOnce(&mut Ctx<'g>, Record<'g>) -> Result<()>) -> Result<()> {
        if self.in_record {
            return Err(Error::Unsupported("each_record inside each_record".to_owned()));
        }
        self.in_record = true;
        let (graph, schema) = (self.graph, self.schema);
        let result = record(self, Record { graph, schema });
        self.in_record = false;
        result.and_then(|()| self.graph.check())
    }

    /// Checks that nothing failed before this site, and that its name is free.
    fn begin(&self, name: &str, source_line: Source) -> Result<()> {
        self.graph.check().map_err(|error| error.at_site(name))?;
        if self.sites.iter().any(|site| site.name == name) {
            return Err(Error::DuplicateSite { name: name.to_owned(), source_line });
        }
        Ok(())
    }
}

fn mixes(what: &str, source_line: Source) -> Error {
    Error::MixesRecords { what: what.to_owned(), rule: "it is shared by all of them", source_line }
}

/// An initial value: a number or an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Initial(ArrayD<f64>);

impl From<f64> for Initial {
    fn from(value: f64) -> Self {
        Self(arr0(value).into_dyn())
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
