//! What can be refused, with the value and the bound it broke.

/// Everything this crate refuses to do.
#[derive(Debug, thiserror::Error)]
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
        /// The number of records that was asked for.
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
        /// The batch size that was asked for.
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
        /// The index that was asked for.
        index: u64,
        /// The number of elements that are permuted.
        len: u64,
    },
    /// The operating system gave no random bytes.
    #[error("the operating system gave no random bytes: {0}")]
    OperatingSystem(#[from] getrandom::Error),
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
