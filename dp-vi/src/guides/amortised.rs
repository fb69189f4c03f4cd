//! Latent values of single records, drawn by a guide that sees the record.

use ppl_core::handlers::Handler;
use ppl_core::model::Drawing;
use ppl_core::{
    Constraint, Ctx, Distribution, Error, Message, Model, Noise, Parameter, Result, Shape, SiteKind, Source,
    Var,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A model whose records have latent values of their own, with a guide that draws them: a model of shared
/// values again, as every guide of shared values serves.
///
/// ```text
/// ln p(x_i | θ)  ≥  E[ ln p(x_i, z_i | θ) − ln q(z_i | x_i, φ) ],    z_i = g_φ(x_i, ε_i),  ε_i ~ N(0, I)
/// ```
///
/// The guide is a function like the model, run before it. In [`each_record`](Ctx::each_record) it samples the
/// latent values that the model samples there, by the same names, from distributions that may depend on the
/// record (*amortised*: no number is kept for any record). Its parameters ([`Ctx::param`]) are parameters of
/// the whole, optimised beside those of the model and read from the posterior under their names. Each
/// record's term has a fresh ε_i at every step.
///
/// # Privacy
/// A record's term is a function of this record, of shared values and of the ε_i of its step, which is
/// neither released nor used again, and comes from streams of the secret seed that nothing else draws from.
/// Clipping and noise protect the record as ever, the gradients of φ being clipped together with the others.
/// The proof, step by step:
///
/// 1. *Noise goes with the place in the batch.* In step t the record at place j of the batch gets the noise
///    e_tj. All e_tj are independent of each other, of the batches and of the mechanism's noise, and have the
///    same law: each place takes random words of its own, of which numbers are made in the same way.
///    (Exactly, in floating point too: normals are made in pairs, and no pair is shared by two places.)
/// 2. *It might as well be the record's.* Whom a place belongs to depends on who else is in the batch. But
///    given all batches, the noises of the records that are drawn are independent and have that law,
///    whichever places they are at. So a step's release, given all that was released before and the batches,
///    has the law that it would have if each record i had noise E_ti of its own, drawn for it whether it is
///    in the batch or not (one for each time that it is drawn, where it may be drawn more than once). Hence
///    the whole run has that law, for batches of any scheme: full, independent from step to step, or parts of
///    an epoch.
/// 3. *Given the noise of all records, it is an ordinary run.* Fix all E_ti, those of a record that only one
///    of two neighbours has among them. Then a record's contribution at step t is a function of its row and
///    of what was released before, of norm at most C, so the run is what the accountant takes it for: for
///    neighbours D, D′ and every ε, with H the hockey-stick divergence of order e^ε,
///    `H(M_E(D) ‖ M_E(D′)) ≤ δ(ε)`.
/// 4. *And so it is without.* E has the same law for D and D′, and H is jointly convex, so
///    `H(M(D) ‖ M(D′)) = H(𝔼 M_E(D) ‖ 𝔼 M_E(D′)) ≤ 𝔼 H(M_E(D) ‖ M_E(D′)) ≤ δ(ε)`.
///
/// Step 2 is where the places matter: with noises that were not of one law, or not independent, a further
/// record would change the joint law of the others' noise by pushing them to other places, and 4 would not
/// apply.
///
/// Drawing z_i for a record with the released φ is a function of the record, and as sensitive as it is.
///
/// # Errors
/// Running it fails if guide and model have not the same latent values of records, with the same shapes and
/// supports, if the guide samples outside `each_record` (shared values have a guide of their own) or
/// observes, or if a distribution's draws have no derivative.
///
/// # References
/// Kingma, Welling 2014, arXiv 1312.6114 (auto-encoding variational Bayes).
///
/// ```
/// use dp_vi::guides::{Amortised, AutoNormal};
/// use dp_vi::{DpVi, Sensitive};
/// use ppl_core::{Constraint, Ctx, Records, Result};
/// use ppl_distributions::Normal;
///
/// // Two noisy readings of one value of each person.
/// fn model(ctx: &mut Ctx) -> Result<()> {
///     let centre = ctx.sample("centre", Normal::new(0.0, 10.0))?;
///     ctx.each_record(|ctx, record| {
///         let value = ctx.sample("value", Normal::new(centre, 1.0))?;
///         ctx.observe("reading", Normal::new(value, 0.5), record.get("reading")?)
///     })
/// }
/// fn guide(ctx: &mut Ctx) -> Result<()> {
///     let slope = ctx.param("slope", 0.5, Constraint::Real)?;
///     let offset = ctx.param("offset", 0.0, Constraint::Real)?;
///     let scale = ctx.param("scale", 1.0, Constraint::Positive)?;
///     ctx.each_record(|ctx, record| {
///         ctx.sample("value", Normal::new(offset + slope * record.get("reading")?, scale))?;
///         Ok(())
///     })
/// }
///
/// let readings: Vec<f64> = (0..200).map(|i| 3.0 + ((i * 37) % 100) as f64 / 50.0 - 1.0).collect();
/// let records = Sensitive::new(Records::from_columns([("reading", readings)])?);
/// let fit = DpVi::new(Amortised::new(model, guide), AutoNormal::new()).without_privacy().fit(&records)?;
/// assert!((fit.posterior().mean("centre")?[[]] - 3.0).abs() < 0.2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Amortised<M, G> {
    model: M,
    guide: G,
    closed_form: bool,
}

impl<M: Model, G: Model> Amortised<M, G> {
    /// The model, with a guide of the latent values inside its `each_record`.
    pub fn new(model: M, guide: G) -> Self {
        Self { model, guide, closed_form: false }
    }

    /// Takes the divergence from the prior in closed form where the guide and the prior of a latent value are both
    /// normal, in place of log densities at the draw:
    ///
    /// ```text
    /// E_q[ln p(z)] = ½ (ln p(m + s) + ln p(m − s)),    E_q[ln q(z)] likewise        q = N(m, s²), element by element
    /// ```
    ///
    /// which is exact, as both are quadratic in every element of z. (In words of other libraries: a mean-field bound in
    /// place of a trace bound, or an analytic KL divergence.) The bound that is maximised is the same, and a record's
    /// gradient has less noise of its own: so it is shorter, keeps more of its direction when it is clipped, and steps
    /// with privacy say more at the same cost. Privacy does not depend on it, nor do gradients by the likelihood, which
    /// are at the draw.
    ///
    /// Where the prior's parameters are computed from other values that the guide draws, the expectation is that given
    /// these.
    #[must_use]
    pub fn closed_form(mut self) -> Self {
        self.closed_form = true;
        self
    }
}

impl<M: Model, G: Model> Model for Amortised<M, G> {
    fn run(&self, ctx: &mut Ctx<'_>) -> Result<()> {
        let drawn = Rc::new(Drawn { closed_form: self.closed_form, ..Drawn::default() });
        ctx.with(Encoder(Rc::clone(&drawn)), |ctx| self.guide.run(ctx))?;
        ctx.with(Decoder(Rc::clone(&drawn)), |ctx| self.model.run(ctx))?;
        drawn.check_used()
    }
}

/// What the guide has drawn, by name.
#[derive(Default)]
struct Drawn<'g> {
    sites: RefCell<BTreeMap<String, DrawnSite<'g>>>,
    /// Sites on their way through the handlers, innermost last; nothing for statements that are no draws.
    under_way: RefCell<Vec<Option<UnderWay<'g>>>>,
    /// Whether expectations are taken where they have a formula.
    closed_form: bool,
}

/// The name of a latent value, and what it is drawn from where expectations under that are taken.
struct UnderWay<'g> {
    name: String,
    normal: Option<Normal<'g>>,
}

/// Locations and scales of independent normals.
#[derive(Clone, Copy)]
struct Normal<'g> {
    loc: Var<'g>,
    scale: Var<'g>,
}

impl<'g> Normal<'g> {
    /// Those of a distribution, if it is one.
    fn of(message: &Message<'g>) -> Option<Self> {
        let distribution = message.distribution.as_ref().filter(|d| d.name() == NORMAL)?;
        let parameters = distribution.parameters();
        let value = |name: &str| Some(parameters.iter().find(|p| p.name == name)?.value.on(message.graph()));
        Some(Self { loc: value("loc")?, scale: value("scale")? })
    }
}

/// The name of the normal distribution.
const NORMAL: &str = "Normal";

/// A normal distribution whose log density is its expectation under other independent normals: that of two points of
/// each.
struct Averaged<'g> {
    base: Rc<dyn Distribution<'g> + 'g>,
    under: Normal<'g>,
}

impl<'g> Averaged<'g> {
    /// Puts it in the place of a site's distribution, if that is normal.
    fn install(message: &mut Message<'g>, under: Normal<'g>) {
        if let Some(base) = message.distribution.take_if(|distribution| distribution.name() == NORMAL) {
            message.distribution = Some(Rc::new(Self { base, under }));
        }
    }
}

impl<'g> Distribution<'g> for Averaged<'g> {
    fn name(&self) -> &'static str {
        self.base.name()
    }

    fn parameters(&self) -> Vec<Parameter<'g>> {
        self.base.parameters()
    }

    fn event_shape(&self) -> Shape {
        self.base.event_shape()
    }

    fn batch_shape(&self) -> Result<Shape> {
        self.base.batch_shape()
    }

    fn support(&self) -> Constraint {
        self.base.support()
    }

    fn log_prob(&self, value: Var<'g>) -> Var<'g> {
        let Normal { loc, scale } = self.under;
        let at = |point: Var<'g>| self.base.log_prob(point.broadcast_to(value.shape()));
        0.5 * (at(loc + scale) + at(loc - scale))
    }

    fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
        self.base.draw(prefix, noise)
    }

    fn reparameterised(&self) -> bool {
        self.base.reparameterised()
    }

    fn validate(&self) -> Result<()> {
        self.base.validate()
    }
}

struct DrawnSite<'g> {
    value: Var<'g>,
    /// What it was drawn from, where expectations under it are taken.
    normal: Option<Normal<'g>>,
    shape: Shape,
    support: Constraint,
    line: Source,
    used: Cell<bool>,
}

impl Drawn<'_> {
    fn check_used(&self) -> Result<()> {
        match self.sites.borrow().iter().find(|(_, site)| !site.used.get()) {
            None => Ok(()),
            Some((name, site)) => Err(Error::Guide(format!(
                "the guide samples '{name}' of each record ({}), which is no latent value inside each_record of the model; name it as \
                 the model does, or take it out of the guide",
                site.line
            ))),
        }
    }
}

/// Has the guide's sites drawn from noise of each record, and their log densities taken off.
struct Encoder<'g>(Rc<Drawn<'g>>);

impl<'g> Handler<'g> for Encoder<'g> {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        let wrong = |told: String| Err(Error::Guide(told));
        let mut under_way = None;
        match message.kind {
            SiteKind::Latent if !message.per_record => {
                return wrong(
                    "this value is shared by all records; a guide of the records' own values samples inside each_record only: \
                     move it there, or make it a parameter"
                        .to_owned(),
                );
            }
            SiteKind::Observed | SiteKind::Factor => {
                return wrong(
                    "a guide has latent values and parameters only: move this statement to the model"
                        .to_owned(),
                );
            }
            SiteKind::Latent => {
                if !message.distribution.as_ref().is_some_and(|distribution| distribution.reparameterised()) {
                    return wrong(
                        "draws from this distribution have no derivative by its parameters; sum a discrete value out in the model \
                         (ctx.enumerate), or choose a continuous distribution"
                            .to_owned(),
                    );
                }
                let normal = Normal::of(message).filter(|_| self.0.closed_form);
                if let Some(normal) = normal {
                    Averaged::install(message, normal);
                }
                under_way = Some(UnderWay { name: message.name.clone(), normal });
                // A term of the record's, with a minus; under a name of its own, since the model has a site
                // of this one.
                message.name = format!("guide/{}", message.name);
                message.kind = SiteKind::Observed;
                if message.drawing == Drawing::No {
                    message.drawing = Drawing::Inputs;
                }
                let scale = message.scale.map_or(1.0.into(), |scale| scale).on(message.graph());
                message.scale = Some((-scale).into());
            }
            _ => {}
        }
        self.0.under_way.borrow_mut().push(under_way);
        Ok(())
    }

    fn post_process(&self, message: &mut Message<'g>) -> Result<()> {
        let (Some(Some(UnderWay { name, normal })), Some(value)) =
            (self.0.under_way.borrow_mut().pop(), message.value)
        else {
            return Ok(());
        };
        let (shape, support, line) = (message.shape()?, message.support(), message.source_line);
        let site = DrawnSite { value, normal, shape, support, line, used: Cell::new(false) };
        self.0.sites.borrow_mut().insert(name, site);
        Ok(())
    }
}

/// Gives the model's sites what the guide has drawn; their priors stay in the record's term.
struct Decoder<'g>(Rc<Drawn<'g>>);

impl<'g> Handler<'g> for Decoder<'g> {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        let latent = message.kind == SiteKind::Latent && message.per_record && message.value.is_none();
        if !latent || message.enumerable {
            return Ok(());
        }
        let (name, shape, support) = (&message.name, message.shape()?, message.support());
        let sites = self.0.sites.borrow();
        let Some(site) = sites.get(name) else {
            return Err(Error::Guide(format!(
                "the guide has no latent value '{name}' of shape {shape} inside each_record; sample it there, or sum it out in the \
                 model (ctx.enumerate, if it is discrete)"
            )));
        };
        if site.shape != shape || site.support.interior() != support.interior() {
            return Err(Error::Guide(format!(
                "'{name}' is of shape {shape} and must be {support} in the model, and in the guide ({}) of shape {} and {}; make them the \
                 same",
                site.line, site.shape, site.support
            )));
        }
        site.used.set(true);
        if let Some(normal) = site.normal {
            Averaged::install(message, normal);
        }
        message.give(site.value)?;
        message.kind = SiteKind::Observed;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::wall::bound::clip::{ClipNorm, Rule};
    use crate::wall::gradient::PrivateGradient;
    use crate::wall::grid::PrivacyNoise;
    use crate::wall::sensitive::Sensitive;
    use dp_sampler::{FullBatch, Seed};
    use ppl_core::{Graph, RecordGradient, Records};

    /// One record whose gradient is its noise, far from the clip norm: what is released less the noise of the
    /// mechanism is the record's.
    ///
    /// n = 40,000; standard errors 1/√n and √(2/n); four comparisons at 5.5 standard errors, α < 2e-7.
    #[test]
    fn noise_of_records_is_fresh_normal_and_not_that_of_the_mechanism() {
        let n = 40_000_usize;
        let records = Sensitive::new(Records::from_columns([("x", vec![0.0])]).unwrap());
        let graph = Graph::new();
        let a = graph.input("a", 1).unwrap();
        let value = (graph.record_input("own", 1).unwrap() * a).sum();
        let gradient = RecordGradient::new(value, &[a]).unwrap();
        let names = ["own".to_owned()];
        let seed = Seed::for_tests(41);
        let clip = ClipNorm::new(100.0, 1).unwrap();
        let bound = (Rule::Flat(clip), clip);
        let noise = PrivacyNoise::Continuous;
        let mut mechanism =
            PrivateGradient::under_rule(gradient, bound, 0.01, noise, &FullBatch, &records, (&seed, &names));
        let (mut own, mut noise) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let mut out = [0.0];
        for _ in 0..n {
            mechanism.release_unpaid(&mut out).unwrap();
            noise.push(mechanism.sum().last_noise()[0]);
            own.push(out[0] - mechanism.sum().last_noise()[0]);
        }
        let mean = |f: &dyn Fn(usize) -> f64| (1..n).map(f).sum::<f64>() / (n - 1) as f64;
        let bound = 5.5 / ((n - 1) as f64).sqrt();
        assert!(mean(&|k| own[k]).abs() < bound);
        assert!((mean(&|k| own[k] * own[k]) - 1.0).abs() < bound * 2.0_f64.sqrt());
        assert!(mean(&|k| own[k] * own[k - 1]).abs() < bound, "noise of one step in the next");
        assert!(mean(&|k| own[k] * noise[k]).abs() < bound, "the mechanism's noise");
    }
}
