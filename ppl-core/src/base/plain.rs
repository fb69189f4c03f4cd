//! Arrays among the fields of what is printed for people.

use std::collections::BTreeMap;
use std::fmt;

/// Prints an array as its numbers, and nothing of how they lie in memory.
pub(crate) struct Plain<'a, A>(pub(crate) &'a A);

impl<A: fmt::Display> fmt::Debug for Plain<'_, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0, f)
    }
}

/// Arrays by name, to be printed so.
pub(crate) fn plain<A>(arrays: &BTreeMap<String, A>) -> BTreeMap<&str, Plain<'_, A>> {
    arrays.iter().map(|(name, array)| (name.as_str(), Plain(array))).collect()
}
