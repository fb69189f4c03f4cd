//! Where values live while a program runs, and who uses which memory when.
//!
//! Memory is a set of numbered *slots*. A value gets a slot when it is computed and gives it back after its
//! last use, so a slot serves many values in turn. A slot of shared values holds one number for each element;
//! a slot of per-record values holds a row of numbers for each element, one for each record of the tile.

use crate::machine::Scalar;
use crate::op::ByRecord;
use crate::records::Records;
use std::collections::BTreeMap;

/// Where a value lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Storage {
    /// A slot of the shared memory, with a number for each element.
    Shared { slot: usize, len: usize },
    /// A slot of the record memory, with a row for each element.
    Rows { slot: usize, rows: usize },
    /// The array of one record after the other.
    Records(RecordsStorage),
}

/// Where a column stays record after record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct RecordsStorage {
    /// Where this column of the records lies already, if it holds numbers of the plan's type,
    pub(crate) column: usize,
    /// and else a slot of the record memory.
    pub(crate) slot: usize,
    /// Numbers of one record.
    pub(crate) width: usize,
}

impl Storage {
    /// Number of elements.
    pub(crate) fn elements(self) -> usize {
        match self {
            Storage::Shared { len, .. } => len,
            Storage::Rows { rows, .. } => rows,
            Storage::Records(RecordsStorage { width, .. }) => width,
        }
    }

    /// The slot, of whichever memory.
    pub(crate) fn slot(self) -> usize {
        match self {
            Storage::Shared { slot, .. } | Storage::Rows { slot, .. } => slot,
            Storage::Records(RecordsStorage { slot, .. }) => slot,
        }
    }
}

impl RecordsStorage {
    /// The tile's arrays: where they lie in the records, or copied into the slot.
    #[inline(always)]
    pub(crate) fn find<'a, T: Scalar>(
        self,
        slot: &'a [T],
        (records, batch): (&'a Records, &'a [u64]),
    ) -> ByRecord<'a, T> {
        match records.column(self.column).as_slice() {
            Some(column) => ByRecord::in_place(column, self.width, batch),
            None => ByRecord::copied(slot, self.width),
        }
    }
}

/// Hands out slots and takes them back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    /// Elements each slot must hold.
    sizes: Vec<usize>,
    /// Free slots by their size; of one size, the one that was given back last is handed out first, since its
    /// numbers may still lie in a cache.
    free: BTreeMap<usize, Vec<usize>>,
}

impl Slots {
    /// A slot for this many elements: the free one that wastes or grows least, or a new one.
    pub(crate) fn take(&mut self, elements: usize) -> usize {
        // Fitting slots first, the tightest before others; then those that must grow, the largest first.
        let fitting = self.free.range(elements..).next().or_else(|| self.free.last_key_value());
        let Some(size) = fitting.map(|(&size, _)| size) else {
            self.sizes.push(elements);
            return self.sizes.len() - 1;
        };
        let slots = self.free.entry(size).or_default();
        let slot = slots.pop();
        if slots.is_empty() {
            self.free.remove(&size);
        }
        match slot {
            Some(slot) => {
                self.sizes[slot] = size.max(elements);
                slot
            }
            // Not reached: no empty list is kept.
            None => self.take(elements),
        }
    }

    /// Takes a slot back; its content may be overwritten from now on.
    pub(crate) fn give_back(&mut self, slot: usize) {
        let of_its_size = self.free.entry(self.sizes[slot]).or_default();
        debug_assert!(!of_its_size.contains(&slot));
        of_its_size.push(slot);
    }

    /// Elements each slot must hold.
    pub(crate) fn sizes(&self) -> &[usize] {
        &self.sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tightest_free_slot_serves_first_and_the_largest_grows() {
        let mut slots = Slots::default();
        let taken: Vec<usize> = [10, 3, 5].iter().map(|&elements| slots.take(elements)).collect();
        taken.iter().for_each(|&slot| slots.give_back(slot));
        assert_eq!(slots.take(4), taken[2]);
        assert_eq!(slots.take(4), taken[0]);
        assert_eq!(slots.take(4), taken[1]);
        assert_eq!(slots.sizes(), [10, 4, 5]);
        slots.give_back(taken[0]);
        slots.give_back(taken[1]);
        assert_eq!(slots.take(12), taken[0]);
        assert_eq!(slots.sizes(), [12, 4, 5]);
    }
}
