//! Rows of a matrix by number.

use cubecl::prelude::*;

/// Row i of `out` is row `indices[i]` of `matrix` for i below `count[0]`, and zeros from there on.
#[cube(launch)]
pub(crate) fn rows(
    matrix: &Array<f32>,
    indices: &Array<u32>,
    count: &Array<u32>,
    out: &mut Array<f32>,
    columns: u32,
) {
    if ABSOLUTE_POS < out.len() {
        let row = ABSOLUTE_POS / columns as usize;
        let column = ABSOLUTE_POS - row * columns as usize;
        let mut value = 0.0f32;
        if (row as u32) < count[0usize] {
            value = matrix[indices[row] as usize * columns as usize + column];
        }
        out[ABSOLUTE_POS] = value;
    }
}
