//! Properties of whole answers, for all parameters.

mod properties;
mod schemes;
