//! Named axes of independent values.

use crate::base::{Error, Result, Shape};
use crate::model::distribution::Distribution;
use crate::model::expand::Expanded;
use std::rc::Rc;

/// A named axis along which values are independent, made by [`Ctx::plate`](crate::Ctx::plate).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plate {
    /// Its name.
    pub name: String,
    /// Its length.
    pub size: usize,
}

/// Shape of the plates' axes: the outermost is the last.
pub(crate) fn shape(plates: &[Plate]) -> Shape {
    plates.iter().rev().map(|plate| plate.size).collect::<Vec<_>>().into()
}

/// The distribution with the plates' axes as the last of its batch shape.
pub(crate) fn stretch<'g>(
    distribution: Rc<dyn Distribution<'g> + 'g>,
    plates: &[Plate],
) -> Result<Rc<dyn Distribution<'g> + 'g>> {
    if plates.is_empty() {
        return Ok(distribution);
    }
    let (batch, axes) = (distribution.batch_shape()?, shape(plates));
    // A plate's axis has its own length, so a longer one of the distribution does not stretch it.
    let together = batch.broadcast(&axes).filter(|together| together.dims().ends_with(axes.dims()));
    let Some(together) = together else {
        let named: Vec<String> =
            plates.iter().rev().map(|plate| format!("'{}' {}", plate.name, plate.size)).collect();
        return Err(Error::Values(format!(
            "{} has batch shape {batch}, but stands in plates [{}], whose axes come last (the outermost plate's is the very last); \
             give its parameters these lengths, or 1, there",
            distribution.name(),
            named.join(", ")
        )));
    };
    if together == batch {
        return Ok(distribution);
    }
    Ok(Rc::new(Expanded::new(distribution, together)))
}
