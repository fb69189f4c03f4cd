//! What a handler is. The handlers themselves are in [`handlers`](crate::handlers).

use crate::base::Result;
use crate::model::message::Message;
use std::rc::Rc;
use std::sync::Arc;

/// Something that sees the statements of a model and may change what they mean.
///
/// A handler holds no values of a graph, as a rule, and then serves any: write
/// `impl<'g> Handler<'g> for Mine`.
pub trait Handler<'g> {
    /// Sees a message on its way out, before the site has its final value.
    ///
    /// # Errors
    /// Whatever is wrong with the site; the error is given the site's name.
    fn process(&self, _message: &mut Message<'g>) -> Result<()> {
        Ok(())
    }

    /// Sees the message on its way back, with its value.
    ///
    /// # Errors
    /// As [`process`](Self::process).
    fn post_process(&self, _message: &mut Message<'g>) -> Result<()> {
        Ok(())
    }

    /// Names of sites that must pass, or the model and the handler do not fit: a misspelt name is an error,
    /// not silence.
    fn expects(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Does nothing.
impl<'g> Handler<'g> for () {}

macro_rules! behind {
    ($($pointer:ty),*) => {$(
        impl<'g, H: Handler<'g> + ?Sized> Handler<'g> for $pointer {
            fn process(&self, message: &mut Message<'g>) -> Result<()> {
                (**self).process(message)
            }
            fn post_process(&self, message: &mut Message<'g>) -> Result<()> {
                (**self).post_process(message)
            }
            fn expects(&self) -> Vec<String> {
                (**self).expects()
            }
        }
    )*};
}

behind!(Box<H>, Rc<H>, Arc<H>);
