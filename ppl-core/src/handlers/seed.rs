//! Drawing latent sites.

use super::{Handled, Handler};
use crate::base::Result;
use crate::model::context::Model;
use crate::model::key::Key;
use crate::model::message::{Drawing, Message};

/// Has latent sites without a value drawn from a key; made by [`seed`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed {
    key: Key,
    /// Whether sites that can be summed out are left to be.
    sums_out: bool,
}

impl Seed {
    /// Draws from this key.
    pub fn new(key: impl Into<Key>) -> Self {
        Self { key: key.into(), sums_out: false }
    }

    /// Sites of [`Ctx::enumerate`](crate::Ctx::enumerate) are summed out and not drawn.
    #[must_use]
    pub fn summing_out(self) -> Self {
        Self { sums_out: true, ..self }
    }
}

impl<'g> Handler<'g> for Seed {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        // An inner seed comes first.
        if message.drawing == Drawing::No && !(self.sums_out && message.enumerable) {
            message.drawing = Drawing::Key(self.key);
        }
        Ok(())
    }
}

/// The model with its latent sites drawn from their distributions, with noise from a key of 256 bits.
///
/// The noise of a site is a function of the key and of the *site's full name*, so that another site, or
/// another order, changes no draw. That of a site inside `each_record` is also one of the record's number, so
/// a record's draws do not depend on how many there are. A model is run once, on symbols, so a seeded model
/// is a program with inputs of standard noise; [`simulate`](crate::simulate) and
/// [`Predictive`](crate::Predictive) run it and fill them, with the same numbers on every machine and any
/// number of threads.
///
/// NumPyro's `seed` splits one key along the order of the sites instead. As there, a site that has a value
/// keeps it, and an inner seed comes before an outer one.
///
/// # Privacy
/// For predictions and tests. A seed that a reader can guess is no secret, so noise that protects data is
/// never drawn here.
///
/// ```
/// # use ppl_core::{Constraint, Ctx, Distribution, Noise, NoiseKind, Parameter, Records, Result, Shape, Var, simulate};
/// # struct Uniform;
/// # impl<'g> Distribution<'g> for Uniform {
/// #     fn name(&self) -> &'static str { "Uniform" }
/// #     fn parameters(&self) -> Vec<Parameter<'g>> { Vec::new() }
/// #     fn support(&self) -> Constraint { Constraint::UnitInterval }
/// #     fn log_prob(&self, x: Var<'g>) -> Var<'g> { 0.0 * x }
/// #     fn draw(&self, prefix: &Shape, noise: &mut Noise<'g>) -> Result<Var<'g>> {
/// #         noise.draw(NoiseKind::Uniform, prefix.clone())
/// #     }
/// # }
/// use ppl_core::handlers::seed;
/// let one = |ctx: &mut Ctx<'_>| ctx.sample("a", Uniform).map(|_| ());
/// let two = |ctx: &mut Ctx<'_>| {
///     ctx.sample("another", Uniform)?;
///     ctx.sample("a", Uniform).map(|_| ())
/// };
/// let records = Records::from_columns([("x", vec![0.0])])?;
/// assert_eq!(simulate(&seed(one, 7), &records)?["a"], simulate(&seed(two, 7), &records)?["a"]);
/// # Ok::<(), ppl_core::Error>(())
/// ```
pub fn seed<M: Model>(model: M, key: impl Into<Key>) -> Handled<M, Seed> {
    Handled::new(model, Seed::new(key))
}

/// Has latent sites without a value drawn from inputs of standard noise, which the runner of the program
/// fills ([`Trace::noise`](crate::Trace::noise) lists them). For guides, whose noise may have to come from a
/// secret.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoiseInputs;

impl<'g> Handler<'g> for NoiseInputs {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        if message.drawing == Drawing::No && message.wants_value() {
            message.drawing = Drawing::Inputs;
        }
        Ok(())
    }
}
