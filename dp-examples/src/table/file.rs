//! Bytes of files, unpacked where these are compressed by gzip.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::Path;

use crate::{Error, Result};

/// Most bytes of a compressed file after it has been unpacked.
const MOST_BYTES: u64 = 1 << 34;

/// What a file compressed by gzip begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Bytes that are asked for at once: enough that what is done once for each such block does not count, and few beside
/// any table whose memory matters. In tests of this crate tables have several.
const BLOCK: usize = if cfg!(test) { 64 } else { 1 << 22 };

/// The bytes of a file or of a slice, from the first to the last.
pub(super) struct Source<'s> {
    name: String,
    bytes: Box<dyn Read + 's>,
    /// How many more a compressed file may have.
    left: Option<u64>,
}

impl Source<'_> {
    /// A file, from its beginning.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`] with the reason.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let mut begin = Vec::new();
        let opened = File::open(path).and_then(|mut file| {
            file.by_ref().take(GZIP.len() as u64).read_to_end(&mut begin)?;
            Ok(file)
        });
        let file = match opened {
            Ok(file) => file,
            Err(error) => return Err(Error::Unreadable { file: name, reason: error.to_string() }),
        };
        let is_packed = begin == GZIP;
        let bytes = Cursor::new(begin).chain(file);
        Ok(match is_packed {
            true => Self {
                name,
                bytes: Box::new(flate2::read::MultiGzDecoder::new(bytes)),
                left: Some(MOST_BYTES),
            },
            false => Self { name, bytes: Box::new(bytes), left: None },
        })
    }
}

impl<'s> Source<'s> {
    /// Bytes that are in memory; `name` stands for their file in errors.
    pub(super) fn of(name: &str, bytes: &'s [u8]) -> Self {
        Self { name: name.to_owned(), bytes: Box::new(bytes), left: None }
    }

    /// The file's name as it appears in errors.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is compressed.
    pub(super) fn is_packed(&self) -> bool {
        self.left.is_some()
    }

    /// Adds the next block of bytes; how many there were: none at the end.
    ///
    /// # Errors
    ///
    /// [`Error::Unreadable`] with the reason: it is damaged, or unpacks to more than 16 GiB.
    pub(super) fn read(&mut self, to: &mut Vec<u8>) -> Result<usize> {
        let unreadable = |reason: String| Error::Unreadable { file: self.name.clone(), reason };
        to.reserve(BLOCK);
        let read: io::Result<usize> = self.bytes.by_ref().take(BLOCK as u64).read_to_end(to);
        let Some(left) = &mut self.left else { return read.map_err(|error| unreadable(error.to_string())) };
        let read = read.map_err(|error| {
            unreadable(format!("it is compressed by gzip and cannot be unpacked: {error}"))
        })?;
        *left = left
            .checked_sub(read as u64)
            .ok_or_else(|| unreadable(format!("it unpacks to more than {} GiB", MOST_BYTES >> 30)))?;
        Ok(read)
    }
}

/// The bytes of a file, unpacked where it is compressed by gzip.
///
/// # Errors
///
/// [`Error::Unreadable`] with the reason: there is no such file, it is damaged, or it unpacks to more than 16 GiB.
pub fn read_file(path: &Path) -> Result<Vec<u8>> {
    let (mut source, mut bytes) = (Source::open(path)?, Vec::new());
    while source.read(&mut bytes)? > 0 {}
    Ok(bytes)
}
