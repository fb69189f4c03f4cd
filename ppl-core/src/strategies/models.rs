//! Random models: statements of every kind, in and outside `each_record`, in plates, masks, scales and
//! scopes.

use super::programs::Choices;
use crate::base::{Result, Shape};
use crate::model::constraint::Constraint;
use crate::model::context::{Ctx, Model};
use crate::model::distribution::{Distribution, Parameter};
use crate::model::noise::{Noise, NoiseKind};
use crate::model::transport::{Map, Transport};
use crate::op::{Value, Var};
use ndarray::ArrayD;
use proptest::prelude::*;
use std::rc::Rc;

/// A normal distribution, so that models need no other crate.
#[derive(Clone, Copy, Debug)]
pub struct Normal<'g> {
    loc: Value<'g>,
    scale: Value<'g>,
}

impl<'g> Normal<'g> {
    /// Mean and standard deviation.
    pub fn new(loc: impl Into<Value<'g>>, scale: impl Into<Value<'g>>) -> Self {
        Self { loc: loc.into(), scale: scale.into() }
    }
}

impl<'g> Distribution<'g> for Normal<'g> {
    fn name(&self) -> &'static str {
        "Normal"
    }
    fn parameters(&self) -> Vec<Parameter<'g>> {
        vec![
            Parameter { name: "loc", value: self.loc, domain: Constraint::Real },
            Parameter { name: "scale", value: self.scale, domain: Constraint::Positive },
        ]
    }
    fn support(&self) -> Constraint {
        Constraint::Real
    }
    fn log_prob(&self, x: Var<'g>) -> Var<'g> {
        let (loc, scale) = (self.loc.on(x.graph()), self.scale.on(x.graph()));
        -0.5 * ((x - loc) / scale).square() - scale.log() - 0.5 * (2.0 * std::f64::consts::PI).ln()
    }
    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        let z = noise.draw(NoiseKind::StandardNormal, prefix.concat(&self.batch_shape()?))?;
        Ok(self.loc.on(noise.graph()) + self.scale.on(noise.graph()) * z)
    }
    fn transport(&self) -> Option<Transport<'g>> {
        let map = Map::Affine { loc: self.loc, scale: self.scale };
        Some(Transport { base: Rc::new(Normal::new(0.0, 1.0)), map })
    }
}

/// What one statement of a random model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Sample,
    Param,
    Observe,
    Deterministic,
    Factor,
}

/// One statement, and what is around it.
#[derive(Clone, Debug)]
struct Statement {
    what: What,
    /// Copies in one outcome: none, or a vector.
    copies: Option<usize>,
    /// Earlier values that loc and scale are made from, by place.
    loc: usize,
    spread: usize,
    plates: Vec<usize>,
    scale: Option<f64>,
    mask: Option<bool>,
    scope: bool,
}

/// A model of random statements: `a0`, `a1`, … outside `each_record`, `b0`, `b1`, … inside (in the scope
/// `part` some of them), all of normal distributions. It reads the scalar column `y`.
#[derive(Clone, Debug)]
pub struct RandomModel {
    shared: Vec<Statement>,
    inside: Vec<Statement>,
    /// A site that is not in the model otherwise, before the statement of this place outside, or inside.
    extra: Option<usize>,
}

impl RandomModel {
    /// The model of these choices.
    #[must_use]
    pub fn new(choices: &mut Choices<'_>) -> Self {
        let mut statements = |inside: bool| {
            let count = choices.below(5);
            (0..count).map(|_| Statement::new(choices, inside)).collect()
        };
        Self { shared: statements(false), inside: statements(true), extra: None }
    }

    /// The same model with one more latent site (`extra`), which nothing depends on, before a statement.
    #[must_use]
    pub fn with_extra_site(&self, before: usize) -> Self {
        Self { extra: Some(before % (self.shared.len() + self.inside.len() + 1)), ..self.clone() }
    }
}

impl Statement {
    fn run<'g>(
        &self,
        ctx: &mut Ctx<'g>,
        name: &str,
        pool: &[Var<'g>],
        y: Option<Var<'g>>,
    ) -> Result<Var<'g>> {
        let (loc, spread) = (pool[self.loc % pool.len()], pool[self.spread % pool.len()]);
        let normal = Normal::new(loc, 0.5 + 0.1 * spread.softplus());
        let plates: usize = self.plates.iter().product();
        let inside = |ctx: &mut Ctx<'g>| match (self.what, self.copies) {
            (What::Sample, None) => ctx.sample(name, normal),
            (What::Sample, Some(n)) => ctx.sample(name, normal.iid(n)),
            (What::Param, _) => ctx.param(name, 0.25, Constraint::Positive),
            (What::Observe, _) => {
                let at = y.unwrap_or_else(|| ctx.graph().constant(0.75));
                let dims: Vec<usize> = self.plates.iter().rev().copied().collect();
                ctx.observe(name, normal, at.broadcast_to(dims)).map(|()| loc)
            }
            (What::Deterministic, _) => ctx.deterministic(name, loc * spread),
            (What::Factor, _) => {
                ctx.factor(name, -(loc - spread).square() / (1 + plates) as f64).map(|()| loc)
            }
        };
        let value = nested(ctx, &self.plates, 0, &mut |ctx| match (self.scale, self.mask) {
            (Some(scale), Some(mask)) => ctx.scale(scale, |ctx| ctx.mask(f64::from(mask), inside)),
            (Some(scale), None) => ctx.scale(scale, inside),
            (None, Some(mask)) => ctx.mask(f64::from(mask), inside),
            (None, None) => inside(ctx),
        })?;
        Ok(value.mean())
    }
}

/// Statements in plates inside each other.
fn nested<'g>(
    ctx: &mut Ctx<'g>,
    sizes: &[usize],
    depth: usize,
    inside: &mut dyn FnMut(&mut Ctx<'g>) -> Result<Var<'g>>,
) -> Result<Var<'g>> {
    match sizes.split_first() {
        None => inside(ctx),
        Some((&size, rest)) => {
            ctx.plate(&format!("plate{depth}of{size}"), size, |ctx| nested(ctx, rest, depth + 1, inside))
        }
    }
}

impl Model for RandomModel {
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<()> {
        let mut pool = vec![ctx.graph().constant(0.5)];
        let extra = |ctx: &mut Ctx<'_>, place: usize| match self.extra == Some(place) {
            true => ctx.sample("extra", Normal::new(0.0, 1.0).iid(3)).map(|_| ()),
            false => Ok(()),
        };
        for (place, statement) in self.shared.iter().enumerate() {
            extra(ctx, place)?;
            let name = format!("a{place}");
            let value = match statement.scope {
                true => ctx.scope("part", |ctx| statement.run(ctx, &name, &pool, None)),
                false => statement.run(ctx, &name, &pool, None),
            }?;
            pool.push(value);
        }
        let shared = self.shared.len();
        ctx.each_record(|ctx, record| {
            let y = record.get("y")?;
            for (place, statement) in self.inside.iter().enumerate() {
                extra(ctx, shared + place)?;
                let name = format!("b{place}");
                let value = statement.run(ctx, &name, &pool, Some(y))?;
                pool.push(value);
            }
            extra(ctx, shared + self.inside.len())
        })
    }
}

impl Statement {
    fn new(choices: &mut Choices<'_>, inside: bool) -> Self {
        let what = match choices.below(8) {
            0..=2 => What::Sample,
            3 if inside => What::Sample,
            3 => What::Param,
            4 | 5 => What::Observe,
            6 => What::Deterministic,
            _ => What::Factor,
        };
        let copies = choices.below(2) * (1 + choices.below(3));
        let plates = (0..choices.below(3)).map(|_| 1 + choices.below(3)).collect();
        Self {
            what,
            copies: (copies > 0).then_some(copies),
            loc: choices.byte(),
            spread: choices.byte(),
            // A parameter has the shape of its initial value, in plates or not.
            plates: if what == What::Param { Vec::new() } else { plates },
            scale: (choices.below(5) == 4).then(|| 0.1 + choices.byte() as f64 / 88.0),
            mask: (choices.below(5) == 4).then(|| choices.below(2) == 1),
            scope: choices.below(2) == 1,
        }
    }
}

/// Random models of a few statements, outside and inside `each_record`.
pub fn model() -> impl Strategy<Value = RandomModel> {
    proptest::collection::vec(any::<u8>(), 0..120)
        .prop_map(|bytes| RandomModel::new(&mut Choices::new(&bytes)))
}

/// Values with the first axis cut to this many.
#[must_use]
pub fn first_rows(values: &ArrayD<f64>, rows: usize) -> ArrayD<f64> {
    values.slice_axis(ndarray::Axis(0), ndarray::Slice::from(..rows)).to_owned()
}
