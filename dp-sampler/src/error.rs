//! What can be refused, with the value and the bound it broke.

/// Everything this crate refuses to do.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The sampling rate is not a probability above zero.
    #[error("sampling rate must be above 0 and at most 1, got {0}")]
    Rate(f64),
    /// There is nothing to draw from.
    #[error("number of records must be at least 1, got 0")]
    NoRecords,
    /// Record numbers have to fit into 63 bits.
    #[error("number of records must be at most {bound}, got {records}", bound = crate::MAX_RECORDS)]
    TooManyRecords {
        /// The number of records requested.
        records: u64,
    },
    /// A batch without records estimates nothing.
    #[error("batch size must be at least 1, got 0")]
    EmptyBatch,
    /// Records have to go somewhere.
    #[error("number of bins must be between 1 and {bound}, got {0}", bound = crate::MAX_RECORDS)]
    Bins(u64),
    /// Without replacement, a batch cannot exceed the data.
    #[error("batch size must be at most the number of records {records}, got {batch}")]
    BatchExceedsRecords {
        /// The batch size requested.
        batch: u64,
        /// How many records there are.
        records: u64,
    },
    /// A batch this long cannot be addressed on this machine.
    #[error("batches may reach {batch} records, but at most {bound} indices can be addressed here")]
    BatchTooLong {
        /// The length a batch may reach.
        batch: u64,
        /// The longest vector of indices on this machine.
        bound: u64,
    },
    /// A permutation cannot be written out.
    #[error("no memory for a permutation of {len} elements, 16 bytes each")]
    NoMemory {
        /// The number of elements.
        len: u64,
    },
    /// An index outside the domain of a permutation.
    #[error("index must be below {len}, got {index}")]
    Index {
        /// The index requested.
        index: u64,
        /// The number of elements that are permuted.
        len: u64,
    },
    /// Noise beyond the values that a step has.
    #[error("a step has {bound} chunks of noise, got {chunks} from number {first_chunk} on", bound = crate::MAX_NOISE_CHUNKS)]
    NoiseChunk {
        /// The first chunk requested.
        first_chunk: u64,
        /// How many were requested.
        chunks: u64,
    },
    /// The parameter of discrete noise is not a positive ratio of integers that the exact arithmetic has room
    /// for.
    #[error(
        "{what} must be a ratio of integers from 1 to 2^{bits} in lowest terms, got {numerator}/{denominator}"
    )]
    Ratio {
        /// The parameter.
        what: &'static str,
        /// The logarithm of the bound.
        bits: u32,
        /// The numerator, in lowest terms where there are any.
        numerator: u64,
        /// The denominator, in lowest terms where there are any.
        denominator: u64,
    },
    /// The standard deviation cannot be written as such a ratio.
    #[error("standard deviation must be from {least} to {most} steps of the grid, got {value}")]
    StandardDeviation {
        /// The standard deviation requested.
        value: f64,
        /// The smallest one.
        least: f64,
        /// The largest one.
        most: f64,
    },
    /// A grid finer than the arithmetic has room for.
    #[error("the standard deviation must be 2^0 to 2^{most} steps of the grid, got 2^{bits}", most = crate::RoundedGaussianNoise::MAX_BITS)]
    GridBits {
        /// The logarithm requested.
        bits: u32,
    },
    /// A finer slope than the arithmetic has room for.
    #[error("the exponent of the slope's denominator must be at most {most}, got {bits}", most = crate::ExponentialChoice::MAX_BITS)]
    SlopeBits {
        /// The exponent requested.
        bits: u32,
    },
    /// There is nothing to choose from.
    #[error("number of candidates must be at least 1, got 0")]
    NoCandidates,
    /// There is no device of this backend.
    #[cfg(feature = "gpu")]
    #[error("no device for {backend}: {reason}")]
    NoDevice {
        /// The backend requested.
        backend: &'static str,
        /// What is missing.
        reason: &'static str,
    },
    /// A device refused what was asked of it.
    #[cfg(feature = "gpu")]
    #[error("the device refused: {0}")]
    Device(String),
    /// A buffer that the device cannot hold.
    #[cfg(feature = "gpu")]
    #[error("a buffer on this device has at most {bound} bytes, got {bytes}")]
    DeviceMemory {
        /// The length requested.
        bytes: u64,
        /// The longest on this device.
        bound: u64,
    },
    /// More elements than a device can be given at once.
    #[cfg(feature = "gpu")]
    #[error("at most {bound} elements can be computed at once on this device, got {elements}")]
    DeviceElements {
        /// The number requested.
        elements: u64,
        /// The most on this device.
        bound: u64,
    },
    /// A sampler that has no parallel form.
    #[cfg(feature = "gpu")]
    #[error("{sampler} cannot be drawn on a device; {instead} can")]
    NotOnDevice {
        /// What was requested.
        sampler: &'static str,
        /// What there is instead.
        instead: &'static str,
    },
    /// Record numbers that a matrix does not have as rows.
    #[cfg(feature = "gpu")]
    #[error("the matrix has {rows} rows, the indices are of {records} records")]
    Rows {
        /// The rows of the matrix.
        rows: u64,
        /// The number of records that the indices are drawn from.
        records: u64,
    },
    /// Numbers that do not make up a matrix.
    #[cfg(feature = "gpu")]
    #[error("{elements} numbers do not make up rows of {columns}")]
    Columns {
        /// How many numbers there are.
        elements: u64,
        /// The length of a row requested.
        columns: u64,
    },
    /// A Poisson batch beyond the room that was made for it.
    #[cfg(feature = "gpu")]
    #[error("a batch of {batch} records does not fit into room for {bound}; draw this step on the CPU")]
    BatchOverflow {
        /// The length of the batch.
        batch: u64,
        /// The room for it.
        bound: u64,
    },
    /// Bytes that were to be a seed and are none.
    #[error("these bytes are no seed that was exposed: the last one must be 0 or 1")]
    ExposedSeed,
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes: {0}")]
    OperatingSystem(#[from] getrandom::Error),
}

/// As words, too: what a `main` that returns an error prints is its debugging form.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

#[cfg(feature = "gpu")]
impl Error {
    /// What a device or its driver says of itself, without the trace of where.
    pub(crate) fn device(error: impl std::fmt::Display) -> Self {
        let message = error.to_string();
        Self::Device(message.split("Backtrace:").next().unwrap_or_default().trim().to_owned())
    }
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
