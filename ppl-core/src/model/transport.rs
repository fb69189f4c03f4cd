//! Distributions that are images of simpler ones.

use crate::model::distribution::Distribution;
use crate::op::{Value, Var};
use std::fmt;
use std::rc::Rc;

/// How a distribution is made from a simpler one: it is the law of `map(y)` for `y` distributed as `base`.
///
/// The batch shape of `base` broadcasts to that of the distribution; its event shape is the same, unless the
/// map changes it. The map takes arrays with more axes in front.
#[derive(Clone)]
pub struct Transport<'g> {
    /// The simpler distribution.
    pub base: Rc<dyn Distribution<'g> + 'g>,
    /// What its values are mapped by.
    pub map: Map<'g>,
}

/// A function of a site's value.
#[derive(Clone)]
#[non_exhaustive]
pub enum Map<'g> {
    /// `loc + scale·y`
    Affine {
        /// What is added.
        loc: Value<'g>,
        /// What is multiplied by; positive.
        scale: Value<'g>,
    },
    /// Any other function.
    Function(Rc<dyn Fn(Var<'g>) -> Var<'g> + 'g>),
}

impl<'g> Map<'g> {
    /// The function's value.
    #[must_use]
    #[track_caller]
    pub fn apply(&self, y: Var<'g>) -> Var<'g> {
        match self {
            Map::Affine { loc, scale } => loc.on(y.graph()) + scale.on(y.graph()) * y,
            Map::Function(function) => function(y),
        }
    }
}

impl fmt::Debug for Map<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Map::Affine { loc, scale } => write!(f, "{loc:?} + {scale:?} * y"),
            Map::Function(_) => f.write_str("a function"),
        }
    }
}

impl fmt::Debug for Transport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} by {:?}", self.base.name(), self.map)
    }
}
