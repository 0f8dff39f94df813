//! The error type of the crate. Messages state what was expected and what was given. The Python
//! layer adds the name of the argument.

/// An error of the core.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Error {
    /// The caller stopped the work.
    #[error("interrupted")]
    Interrupted,
    /// An argument has an invalid value or shape.
    #[error("{0}")]
    Invalid(String),
    /// Two sizes do not agree.
    #[error("{what}: expected {expected}, got {got}")]
    Size {
        /// The quantity.
        what: &'static str,
        /// The required size.
        expected: usize,
        /// The given size.
        got: usize,
    },
    /// A request exceeds the memory that is available, or that the caller allows.
    #[error("about {:.3} GB are needed, {:.3} GB are available", *needed as f64 / 1e9, *limit as f64 / 1e9)]
    Memory {
        /// Estimated bytes of the request.
        needed: u64,
        /// Bytes that are available.
        limit: u64,
    },
    /// The system refused an allocation.
    #[error("out of memory: an allocation of {:.1} MB failed", *bytes as f64 / 1e6)]
    Allocation {
        /// Bytes of the request.
        bytes: u64,
    },
    /// The thread pool could not be started.
    #[error("could not start {threads} threads: {reason}")]
    Threads {
        /// The requested number of threads.
        threads: usize,
        /// The message of the system.
        reason: String,
    },
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// The error of a small dense decomposition that did not converge.
    pub(crate) fn decomposition(reason: impl std::fmt::Display) -> Self {
        Self::Invalid(format!("a small dense decomposition failed: {reason}"))
    }

    /// Returns [`Error::Size`] unless `got == expected`.
    pub(crate) fn check_size(what: &'static str, expected: usize, got: usize) -> Result<()> {
        if got == expected { Ok(()) } else { Err(Self::Size { what, expected, got }) }
    }
}
