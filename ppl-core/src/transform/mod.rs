//! From program to program: derivatives, simpler programs, and what can be said of a program's form.

mod diff;
mod linear_predictor;
mod scan;
mod simplify;

pub(crate) use diff::{depending, require_per_record_scalar};
pub use diff::{gradient, hessian_vector, jacobian_vector, value_and_gradient, vector_jacobian};
pub use linear_predictor::{LinearPredictor, ScalarPredictor, Softplus, linear_predictor, scalar_predictor};
pub(crate) use scan::pulled_back;
pub(crate) use simplify::before_differentiation;
