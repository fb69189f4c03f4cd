//! What can go wrong, in words that quote no cell of the table.

/// A `Result` whose error is [`enum@Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong when a twin is made.
///
/// # Privacy
/// Messages name files, lines, columns and public bounds, and never a cell of the table. That there is an
/// error at all depends on the records: it is for those who hold them.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file, a schema or an option that cannot be used.
    #[error("{0}")]
    Input(String),
    /// What was paid for, and could not be written anywhere.
    #[error(
        "{reason}; the folder of temporary files cannot be written either, so that the model, which was paid for, is written \
         to standard output: keep it as model.json"
    )]
    Unsaved {
        /// What was wrong.
        reason: String,
        /// The contents of `model.json`.
        model: Vec<u8>,
    },
    /// A mistake in a table or bounds file.
    #[error(transparent)]
    Table(#[from] crate::Error),
    /// What the release of marginals refused.
    #[error(transparent)]
    Release(#[from] dp_vi::Error),
    /// A budget that cannot be met.
    #[error(transparent)]
    Accounting(#[from] dp_accountant::Error),
    /// What a junction tree refuses: cliques, tables, weights.
    #[error(transparent)]
    Tree(#[from] ppl_core::Error),
    /// A generator without random bytes.
    #[error(transparent)]
    Sampling(#[from] dp_sampler::Error),
}

/// As words, too: what a `main` that returns an error prints is its debugging form.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// A message of its own.
    pub(super) fn input(message: impl Into<String>) -> Self {
        Self::Input(message.into())
    }
}
