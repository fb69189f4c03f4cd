//! Latent sites as inputs of the program: what stands outermost when a model is traced for inference.

use super::Handler;
use crate::base::{Error, Result, Shape};
use crate::model::message::Message;
use crate::model::trace::SiteKind;
use crate::op::Var;

/// Makes every latent site and parameter without a value an input of unconstrained numbers, named as
/// [`Unconstrained::input_name`] says, and mapped into the support. Inside `each_record` it is a per-record
/// input.
///
/// A latent site `b` whose bounds are values of the model becomes deterministic, a function of the latent site `b_base`
/// with fixed bounds ([`Message::fix_bounds`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unconstrained;

impl Unconstrained {
    /// The name of the input of a site.
    #[must_use]
    pub fn input_name(site: &str) -> String {
        format!("unconstrained/{site}")
    }
}

fn input<'g>(message: &Message<'g>, name: String, shape: Shape) -> Result<Var<'g>> {
    match message.per_record {
        true => message.graph().record_input(name, shape),
        false => message.graph().input(name, shape),
    }
}

impl<'g> Handler<'g> for Unconstrained {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        // What can be summed out is left to be.
        if !message.wants_value() || message.enumerable {
            return Ok(());
        }
        let support = message.support();
        if support.is_discrete() {
            let told = "a discrete latent value; declare it with ctx.enumerate, which sums it out";
            return Err(Error::Unsupported(told.to_owned()));
        }
        if message.fix_bounds()? {
            return Ok(());
        }
        let shape = support.unconstrained_shape(&message.shape()?)?;
        let input = input(message, Self::input_name(&message.name), shape)?;
        message.give(support.constrain(input))?;
        message.unconstrained = Some(input);
        // A parameter has no density that the mapping would change.
        if message.kind == SiteKind::Latent {
            message.log_jacobian = support.log_jacobian(input);
        }
        Ok(())
    }
}

/// Makes every latent site and parameter without a value an input of numbers in its support, named as
/// [`Constrained::input_name`] says. Inside `each_record` it is a per-record input. Nothing checks that what
/// is put there lies in the support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Constrained;

impl Constrained {
    /// The name of the input of a site.
    #[must_use]
    pub fn input_name(site: &str) -> String {
        format!("value/{site}")
    }

    /// Makes one site an input.
    pub(crate) fn make_input(message: &mut Message<'_>) -> Result<()> {
        let input = input(message, Self::input_name(&message.name), message.shape()?)?;
        message.give(input)
    }
}

impl<'g> Handler<'g> for Constrained {
    fn process(&self, message: &mut Message<'g>) -> Result<()> {
        match message.wants_value() && !message.enumerable {
            true => Self::make_input(message),
            false => Ok(()),
        }
    }
}
