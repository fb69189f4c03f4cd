//! The bytes of a checkpoint.
//!
//! ```text
//! dp-vi checkpoint 5⏎          the version
//! u64                          bytes of what follows, up to the checksum
//! u8, 33 bytes                 1 and the seed as dp-sampler exposes it; 0 and zeros in a complete run
//! u8                           whether the seed is secret
//! u64, u64                     steps done, steps paid for
//! u8, 32 bytes                 0 without privacy, 1 paid from a ledger of its own, 2 from one in memory that others share, 3 from one in a
//!                              file; its mark, or zeros
//! 3 × u64                      number of records, fingerprint; zeros in a complete run
//! u64, bytes                   length of the settings, settings (UTF-8)
//! u64, f64 …                   how many numbers, numbers
//! u64                          CRC-64/XZ (polynomial of ECMA-182, reflected) of everything before
//! ```
//!
//! All numbers are little-endian. A CRC-64 notices every damage that spans at most eight neighbouring bytes,
//! and any other but for one chance in 2⁶⁴.

use super::{Checkpoint, PaidFrom};
use crc::{CRC_64_XZ, Crc};
use dp_sampler::Seed;
use zeroize::Zeroizing;

/// The version that this build reads and writes.
const VERSION: &str = "5";
/// What the first version lacks, and why that matters.
const WITHOUT_A_RECEIPT: &str = "it has format version 1, which does not say what ledger the run was paid from, so its steps could be paid for \
    twice or not at all; this build reads version 5: begin the run anew, and count what it has spent";
/// What this build cannot recompute of the second version.
const ANOTHER_FINGERPRINT: &str = "it has format version 2, whose fingerprint of the records this build does not compute, so it cannot tell \
    whether they are the same; this build reads version 5: resume with the build that wrote it, or begin the run anew and count what it \
    has spent";
const TITLE: &str = "dp-vi checkpoint ";
/// Everything of fixed length between the first line and the checksum.
const FIXED: usize = 8 + 34 + 1 + 16 + PaidFrom::LENGTH + 24 + 8 + 8;

static CRC: Crc<u64> = Crc::<u64>::new(&CRC_64_XZ);

fn checksum(bytes: &[u8]) -> u64 {
    CRC.checksum(bytes)
}

pub(super) fn encode(checkpoint: &Checkpoint) -> Zeroizing<Vec<u8>> {
    let Checkpoint { seed, secret, done, paid, paid_from, settings, records, numbers } = checkpoint;
    let first = format!("{TITLE}{VERSION}\n");
    let length = FIXED - 8 + settings.len() + 8 * numbers.len();
    // All at once: a vector that grows leaves copies of the seed behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(first.len() + 8 + length + 8));
    bytes.extend_from_slice(first.as_bytes());
    bytes.extend_from_slice(&(length as u64).to_le_bytes());
    let exposed = Zeroizing::new(seed.as_ref().map_or([0; 33], Seed::expose));
    bytes.push(u8::from(seed.is_some()));
    bytes.extend_from_slice(&*exposed);
    bytes.push(u8::from(*secret));
    for number in [*done, *paid] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(&paid_from.to_bytes());
    for number in [records[0], records[1], records[2], settings.len() as u64] {
        bytes.extend_from_slice(&number.to_le_bytes());
    }
    bytes.extend_from_slice(settings.as_bytes());
    bytes.extend_from_slice(&(numbers.len() as u64).to_le_bytes());
    numbers.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
    let sum = checksum(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// What the bytes say, or what is wrong with them.
pub(super) fn decode(bytes: &[u8]) -> Result<Checkpoint, String> {
    let damaged = || "it is damaged: it does not match its checksum".to_owned();
    let Some(rest) = bytes.strip_prefix(TITLE.as_bytes()) else {
        return Err("this is not a checkpoint".to_owned());
    };
    let end = rest.iter().take(12).position(|&byte| byte == b'\n').ok_or_else(damaged)?;
    let version = std::str::from_utf8(&rest[..end]).map_err(|_| damaged())?;
    if version == "1" {
        return Err(WITHOUT_A_RECEIPT.to_owned());
    }
    if version == "2" {
        return Err(ANOTHER_FINGERPRINT.to_owned());
    }
    if version != VERSION {
        let told = version.escape_debug();
        return Err(format!("it has format version {told}, this build reads version {VERSION}"));
    }
    let (body, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
    if checksum(body) != u64::from_le_bytes(*sum) {
        return Err(damaged());
    }
    let nonsense = || "it matches its checksum and yet makes no sense".to_owned();
    read(&body[TITLE.len() + end + 1..]).ok_or_else(nonsense)
}

/// The part between the first line and the checksum.
fn read(bytes: &[u8]) -> Option<Checkpoint> {
    let mut rest = bytes;
    let length = number(&mut rest)?;
    if length != rest.len() as u64 {
        return None;
    }
    let present = take(&mut rest, 1)?[0];
    let exposed: Zeroizing<[u8; 33]> = Zeroizing::new(take(&mut rest, 33)?.try_into().ok()?);
    let seed = match present {
        0 if exposed.iter().all(|&byte| byte == 0) => None,
        1 => Some(Seed::from_exposed(&exposed).ok()?),
        _ => return None,
    };
    let secret = match take(&mut rest, 1)?[0] {
        0 => false,
        1 => true,
        _ => return None,
    };
    if seed.as_ref().is_some_and(|seed| seed.is_secret() != secret) {
        return None;
    }
    let (done, paid) = (number(&mut rest)?, number(&mut rest)?);
    let paid_from = PaidFrom::from_bytes(take(&mut rest, PaidFrom::LENGTH)?.try_into().ok()?)?;
    let records = [number(&mut rest)?, number(&mut rest)?, number(&mut rest)?];
    let length = usize::try_from(number(&mut rest)?).ok()?;
    let settings = std::str::from_utf8(take(&mut rest, length)?).ok()?.to_owned();
    let count = usize::try_from(number(&mut rest)?).ok()?;
    if rest.len() != count.checked_mul(8)? || done > paid {
        return None;
    }
    let numbers = rest.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    Some(Checkpoint { seed, secret, done, paid, paid_from, settings, records, numbers })
}

fn take<'b>(rest: &mut &'b [u8], count: usize) -> Option<&'b [u8]> {
    let (taken, after) = rest.split_at_checked(count)?;
    *rest = after;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let bytes = take(rest, 8)?.try_into().ok()?;
    Some(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn some(seed: Option<Seed>) -> Checkpoint {
        let secret = seed.as_ref().is_some_and(Seed::is_secret);
        let (settings, numbers) = ("steps: 5\nclip: 1".to_owned(), vec![1.5, -0.0, f64::NAN, 1e-310]);
        let paid_from = match secret {
            true => PaidFrom::Own,
            false => PaidFrom::Shared(dp_accountant::LedgerMark::from_bytes([9; 32])),
        };
        Checkpoint { seed, secret, done: 3, paid: 5, paid_from, settings, records: [7, 8, 9], numbers }
    }

    #[test]
    fn the_checksum_is_crc_64_xz() {
        // The check value of the catalogue of parametrised CRC algorithms for CRC-64/XZ.
        assert_eq!(checksum(b"123456789"), 0x995d_c9bb_df19_39fa);
    }

    #[test]
    fn what_is_written_is_read() {
        for seed in [None, Some(Seed::for_tests(4)), Some(Seed::from_os().unwrap())] {
            let (before, exposed) = (some(seed), Seed::expose);
            let after = decode(&encode(&before)).unwrap();
            assert_eq!(after.seed.as_ref().map(exposed), before.seed.as_ref().map(exposed));
            assert_eq!((after.secret, after.done, after.paid), (before.secret, before.done, before.paid));
            assert_eq!((&after.settings, after.records), (&before.settings, before.records));
            assert_eq!(after.paid_from, before.paid_from);
            let bits = |numbers: &[f64]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&after.numbers), bits(&before.numbers));
        }
    }

    #[test]
    fn every_altered_byte_and_every_cut_is_an_error() {
        let bytes = encode(&some(Some(Seed::for_tests(4))));
        for at in 0..bytes.len() {
            assert!(decode(&bytes[..at]).is_err(), "cut at {at}");
            for change in 1..=255_u8 {
                let mut altered = bytes.clone();
                altered[at] ^= change;
                assert!(decode(&altered).is_err(), "byte {at} changed by {change}");
            }
        }
        let mut longer = bytes.clone();
        longer.push(0);
        assert!(decode(&longer).is_err());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let told = |bytes: &[u8]| decode(bytes).err().unwrap();
        assert_eq!(told(b"epsilon,delta\n1,1e-5\n"), "this is not a checkpoint");
        assert_eq!(told(b""), "this is not a checkpoint");
        let newer = [b"dp-vi checkpoint 6\n".as_slice(), &[0; 80]].concat();
        assert_eq!(told(&newer), "it has format version 6, this build reads version 5");
        let second = [b"dp-vi checkpoint 2\n".as_slice(), &[0; 80]].concat();
        assert!(told(&second).starts_with("it has format version 2, whose fingerprint of the records"));
        let older = [b"dp-vi checkpoint 1\n".as_slice(), &[0; 80]].concat();
        assert!(
            told(&older)
                .starts_with("it has format version 1, which does not say what ledger the run was paid from")
        );
        let mut altered = encode(&some(None));
        altered[60] ^= 1;
        assert!(told(&altered).contains("does not match its checksum"));
        // A right checksum over nonsense.
        let mut nonsense = b"dp-vi checkpoint 5\n????????".to_vec();
        nonsense.extend(checksum(&nonsense).to_le_bytes());
        assert!(told(&nonsense).contains("makes no sense"));
    }

    /// A right checksum over more steps done than paid for.
    #[test]
    fn steps_that_were_not_paid_for_were_not_done() {
        for (done, makes_sense) in [(5, true), (6, false), (u64::MAX, false)] {
            let bytes = encode(&Checkpoint { done, ..some(None) });
            assert_eq!(decode(&bytes).is_ok(), makes_sense, "{done}");
        }
    }

    proptest! {
        /// Files that were written before must be read for ever, so the checksum is also held to its
        /// definition, bit by bit.
        #[test]
        fn the_checksum_is_the_remainder_of_the_polynomial(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let remainder = bytes.iter().fold(!0_u64, |state, byte| {
                (0..8).fold(state ^ u64::from(*byte), |state, _| {
                    (state >> 1) ^ if state & 1 == 1 { 0xC96C_5795_D787_0F42 } else { 0 }
                })
            });
            prop_assert_eq!(checksum(&bytes), !remainder);
        }

        /// Whatever comes after a first line, with a right checksum or without: an answer, never a panic.
        #[test]
        fn nonsense_is_never_a_panic(mut body in proptest::collection::vec(any::<u8>(), 0..300), sealed: bool, short: bool) {
            let mut bytes = b"dp-vi checkpoint 5\n".to_vec();
            if short {
                bytes.extend((body.len() as u64).to_le_bytes());
            }
            bytes.append(&mut body);
            if sealed {
                bytes.extend(checksum(&bytes).to_le_bytes());
            }
            let _ = decode(&bytes);
        }
    }
}
