//! Sums of all that came before.

use cubecl::prelude::*;

/// `starts[i]` = the sum of `counts[..i]`, and `total[0]` the sum of all: one cube, of `units` units.
///
/// Each unit adds up a stretch of its own; the sums of stretches are added up in shared memory, doubling the
/// distance log₂ units times; then each unit goes over its stretch again.
#[cube(launch)]
pub(crate) fn exclusive(
    counts: &Array<u32>,
    starts: &mut Array<u32>,
    total: &mut Array<u32>,
    stretch: u32,
    #[comptime] units: u32,
    #[comptime] doublings: u32,
) {
    let unit = UNIT_POS;
    let len = counts.len() as u32;
    let from = u32::min(unit * stretch, len);
    let end = u32::min(from + stretch, len);
    let mut sum = 0u32;
    for i in from..end {
        sum += counts[i as usize];
    }
    let mut sums = SharedMemory::<u32>::new(units as usize);
    sums[unit as usize] = sum;
    sync_cube();
    for doubling in 0..doublings {
        let distance = 1u32 << doubling;
        let mut before = 0u32;
        if unit >= distance {
            before = sums[(unit - distance) as usize];
        }
        sync_cube();
        sums[unit as usize] = sums[unit as usize] + before;
        sync_cube();
    }
    let mut start = sums[unit as usize] - sum;
    for i in from..end {
        starts[i as usize] = start;
        start += counts[i as usize];
    }
    if unit == units - 1u32 {
        total[0usize] = sums[unit as usize];
    }
}
