//! The one error type of the crate. Messages name what was expected and what came; the Python layer adds the argument.

/// What can go wrong in the core.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The caller asked the work to stop.
    #[error("interrupted")]
    Interrupted,
    /// An argument does not have the value or shape that the function needs.
    #[error("{0}")]
    Invalid(String),
    /// Two sizes that must agree do not.
    #[error("{what}: expected {expected}, got {got}")]
    Size {
        /// What was measured.
        what: &'static str,
        /// The size that was needed.
        expected: usize,
        /// The size that came.
        got: usize,
    },
    /// A result would not fit in the memory that the caller allows.
    #[error("the result needs about {:.3} GB, {:.3} GB are available", *needed as f64 / 1e9, *limit as f64 / 1e9)]
    Memory {
        /// Estimated bytes of the result.
        needed: u64,
        /// Bytes that the caller allows.
        limit: u64,
    },
    /// The thread pool could not be started.
    #[error("could not start {threads} threads: {reason}")]
    Threads {
        /// The number of threads asked for.
        threads: usize,
        /// What the system said.
        reason: String,
    },
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A small dense decomposition that did not converge.
    pub(crate) fn decomposition(reason: impl std::fmt::Display) -> Self {
        Self::Invalid(format!("a small dense decomposition failed: {reason}"))
    }

    /// An [`Error::Size`] unless `got == expected`.
    pub(crate) fn check_size(what: &'static str, expected: usize, got: usize) -> Result<()> {
        if got == expected { Ok(()) } else { Err(Self::Size { what, expected, got }) }
    }
}
