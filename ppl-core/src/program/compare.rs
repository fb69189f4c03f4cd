//! Whether two programs are the same, and where they differ first.

use super::{Instruction, Program};
use std::fmt::{self, Write};

impl Program {
    /// The first difference between two programs, in words; `None` if they are the same but for source lines
    /// and sites.
    ///
    /// ```
    /// # use ppl_core::{Graph, Program};
    /// let graph = Graph::new();
    /// let x = graph.input("x", [3])?;
    /// let (a, b) = (Program::new(&graph, &[x.exp()])?, Program::new(&graph, &[x.log()])?);
    /// assert_eq!(a.difference(&a), None);
    /// assert_eq!(a.difference(&b).unwrap(), "%1: exp %0 is log %0 in the other");
    /// # Ok::<(), ppl_core::Error>(())
    /// ```
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        let pairs = self.instructions.iter().zip(&other.instructions).enumerate();
        let differing = pairs.into_iter().find_map(|(position, (a, b))| {
            let told = instruction_difference(a, b)?;
            Some(format!("%{position}: {told}"))
        });
        differing.or_else(|| {
            let told = if self.len() != other.len() {
                format!("{} instructions, {} in the other", self.len(), other.len())
            } else if self.outputs != other.outputs {
                format!("outputs {:?}, {:?} in the other", self.outputs, other.outputs)
            } else {
                return None;
            };
            Some(told)
        })
    }

    /// Whether both compute the same outputs by the same operations in the same order. Source lines and sites
    /// do not count.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        self.difference(other).is_none()
    }

    /// A hash of what the program computes: equal for programs that are [the same](Program::same_as), on
    /// every machine and in every run of this version of the crate.
    ///
    /// It tells apart programs that were made in good faith; it is no defence against an attacker who looks
    /// for two programs with one hash (128-bit FNV-1a).
    #[must_use]
    pub fn fingerprint(&self) -> u128 {
        let mut hash = Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        for Instruction { op, args, shape, kind, .. } in &self.instructions {
            // Writing to a hash does not fail.
            let _ = write!(hash, "{op:?} {args:?} {shape} {kind:?};");
        }
        let _ = write!(hash, "{:?}", self.outputs);
        hash.0
    }
}

/// Programs are equal if they are [the same](Program::same_as).
impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        self.same_as(other)
    }
}

impl Eq for Program {}

fn instruction_difference(a: &Instruction, b: &Instruction) -> Option<String> {
    if a.op != b.op || a.args != b.args {
        let (mine, theirs) = (a.told(), b.told());
        return Some(if mine == theirs {
            format!("{mine} with {:?} has {:?} in the other", a.op, b.op)
        } else {
            format!("{mine} is {theirs} in the other")
        });
    }
    if a.shape != b.shape {
        return Some(format!("{} has shape {}, {} in the other", a.op, a.shape, b.shape));
    }
    (a.kind != b.kind).then(|| format!("{} is {:?}, {:?} in the other", a.op, a.kind, b.kind))
}

/// The FNV-1a hash of bytes, 128 bits wide (G. Fowler, L. C. Noll, K.-P. Vo).
struct Fnv(u128);

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The empty text hashes to the offset basis; "a" and "foobar" are test vectors of the algorithm's
    /// authors.
    #[test]
    fn the_hash_is_the_published_one() {
        for (text, expected) in [
            ("", 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128),
            ("a", 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964),
            ("foobar", 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18),
        ] {
            let mut hash = Fnv(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
            hash.write_str(text).unwrap();
            assert_eq!(hash.0, expected, "{text}");
        }
    }
}
