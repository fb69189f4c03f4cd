//! Images and labels in the format of MNIST (`idx3-ubyte`, `idx1-ubyte`), compressed by gzip or not.
//!
//! The format, all numbers big-endian: two zero bytes, the type of the elements (8 for bytes), the number of
//! dimensions, each dimension as 32 bits, and the elements.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use ndarray::Array2;

use crate::{Error, Result};

/// Most bytes of a file's elements, 16 GiB.
const MOST_BYTES: u64 = 1 << 34;

/// The images of a file, a row of pixels for each, from 0 to 255.
///
/// # Errors
///
/// [`Error::Unreadable`] for a file that cannot be read or unpacked, that holds no images of bytes, or that has
/// another length than its head says. Nothing is allocated for a size that the file does not have.
///
/// # Examples
///
/// ```
/// let path = std::env::temp_dir().join(format!("dp-examples-idx-{}", std::process::id()));
/// // One image of 1 x 2 pixels.
/// std::fs::write(&path, [0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 9])?;
/// assert_eq!(dp_examples::harness::idx::images(&path)?, ndarray::array![[7, 9]]);
/// assert!(dp_examples::harness::idx::labels(&path).unwrap_err().to_string().contains("images, expected labels"));
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn images(path: &Path) -> Result<Array2<u8>> {
    let ([count, rows, columns], pixels) = read::<3>(path, "images")?;
    Array2::from_shape_vec((count, rows * columns), pixels)
        .map_err(|error| unreadable(path, &error.to_string()))
}

/// The labels of a file, from 0 to 255.
///
/// # Errors
///
/// As [`images`].
pub fn labels(path: &Path) -> Result<Vec<u8>> {
    Ok(read::<1>(path, "labels")?.1)
}

fn unreadable(path: &Path, reason: &str) -> Error {
    Error::Unreadable { file: path.display().to_string(), reason: reason.to_owned() }
}

/// Dimensions and elements of a file with this many dimensions.
fn read<const D: usize>(path: &Path, what: &str) -> Result<([usize; D], Vec<u8>)> {
    let failed = |error: std::io::Error| unreadable(path, &error.to_string());
    let mut file = File::open(path).map_err(failed)?;
    let mut magic = [0; 2];
    let packed = file.read_exact(&mut magic).is_ok() && magic == [0x1f, 0x8b];
    let length = file.metadata().map_err(failed)?.len();
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    let file = BufReader::new(file);
    match packed {
        // What it unpacks to is not known before: it is read only as far as the head says, and one byte more.
        true => elements(path, what, flate2::read::MultiGzDecoder::new(file), None),
        false => elements(path, what, file, Some(length)),
    }
}

/// The same of a stream whose length may be known.
fn elements<const D: usize>(
    path: &Path,
    what: &str,
    mut stream: impl Read,
    length: Option<u64>,
) -> Result<([usize; D], Vec<u8>)> {
    let cut = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::UnexpectedEof => unreadable(path, "it ends within its head or its elements"),
        _ => unreadable(path, &format!("it cannot be unpacked: {error}")),
    };
    let mut word = || -> Result<u32> {
        let mut bytes = [0; 4];
        stream.read_exact(&mut bytes).map_err(cut)?;
        Ok(u32::from_be_bytes(bytes))
    };
    let kind = word()?;
    if kind != 0x0800 + D as u32 {
        let holds = match kind {
            0x0801 => "labels",
            0x0803 => "images",
            _ => "something else",
        };
        return Err(unreadable(path, &format!("it holds {holds}, expected {what} (idx{D}-ubyte)")));
    }
    let mut dimensions = [0; D];
    let mut total = 1_u64;
    for dimension in &mut dimensions {
        let size = word()?;
        *dimension = size as usize;
        // 0 × anything is 0, and no product of what is left below 2³⁴ times 2³² overflows.
        total = total.saturating_mul(u64::from(size)).min(MOST_BYTES + 1);
    }
    if total == 0 || total > MOST_BYTES {
        let says = if total == 0 { "that there are none" } else { "of more than 16 GiB" };
        return Err(unreadable(path, &format!("its head tells {says}")));
    }
    let head = 4 + 4 * D as u64;
    let wrong =
        || unreadable(path, &format!("its head tells of {total} bytes of {what}, and it has another number"));
    if length.is_some_and(|length| length != head + total) {
        return Err(wrong());
    }
    let mut bytes = Vec::new();
    stream.take(total + 1).read_to_end(&mut bytes).map_err(cut)?;
    if bytes.len() as u64 != total {
        return Err(wrong());
    }
    Ok((dimensions, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::tests::TestFolder;
    use std::io::Write;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn head(kind: u32, sizes: &[u32]) -> Vec<u8> {
        std::iter::once(&kind).chain(sizes).flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn what_is_wrong_is_said_and_nothing_is_allocated_for_it() {
        let folder = TestFolder::new();
        let path = folder.0.join("file");
        let good = [head(0x0803, &[2, 1, 2]), vec![1, 2, 3, 4]].concat();
        let told = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            images(&path).unwrap_err().to_string()
        };
        for bytes in [good.clone(), packed(&good)] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(images(&path).unwrap(), ndarray::array![[1, 2], [3, 4]]);
        }
        let long = [good.clone(), vec![5]].concat();
        for bytes in [&good[..19], &long, &packed(&good[..19]), &packed(&long)] {
            assert!(told(bytes).contains("another number"), "{}", told(bytes));
        }
        assert!(told(&good[..9]).contains("it ends within its head"));
        assert!(told(&[]).contains("it ends within its head"));
        let gz = packed(&good);
        assert!(told(&gz[..gz.len() - 12]).contains("it "));
        let mut damaged = gz.clone();
        damaged[gz.len() / 2] ^= 0x55;
        assert!(!told(&damaged).is_empty());
        for huge in [head(0x0803, &[u32::MAX; 3]), head(0x0803, &[u32::MAX, 28, 28])] {
            assert!(told(&huge).contains("more than 16 GiB"), "{}", told(&huge));
            assert!(told(&packed(&huge)).contains("more than 16 GiB"));
        }
        // 3 GB are told of, and 16 bytes are there.
        assert!(told(&packed(&head(0x0803, &[4_000_000, 28, 28]))).contains("another number"));
        assert!(told(&head(0x0803, &[0, u32::MAX, u32::MAX])).contains("there are none"));
        assert!(told(&head(0x0801, &[4])).contains("it holds labels, expected images"));
        assert!(told(&head(0x0d03, &[2, 1, 2])).contains("something else"));
        std::fs::write(&path, &good).unwrap();
        assert!(labels(&path).unwrap_err().to_string().contains("it holds images, expected labels"));
        assert!(images(&folder.0.join("none")).unwrap_err().to_string().contains("cannot be read"));
    }
}
