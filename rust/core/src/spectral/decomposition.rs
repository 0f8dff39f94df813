//! Singular value decompositions of dense matrices, which may be large.
//!
//! The decomposition itself cannot be stopped: it takes `n^3` time, 8 s at `n = 2,500`. A large
//! matrix is therefore decomposed on a thread of its own, which owns it. If the work is stopped
//! meanwhile, that thread is left to itself and ends with a result that nobody reads.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mdt_dense::{Mat, MatRef, ThinSvd};

use crate::ground::exec::no_thread;
use crate::ground::memory;
use crate::{Error, Exec, Result};

/// Matrices with more columns take longer than a tenth of a second.
const LARGE: usize = 512;

/// Interval at which the stop flag is checked.
const POLL: Duration = Duration::from_millis(20);

/// Bytes that the decomposition of an `n x n` matrix takes with the matrix, divided by `n^2`.
/// Measured at n = 2,500.
const BYTES_PER_ENTRY: u64 = 100;

/// Estimated bytes of the decomposition of an `n x n` matrix and of the matrix.
pub(super) fn decomposition_bytes(n: usize) -> u64 {
    BYTES_PER_ENTRY.saturating_mul((n as u64).saturating_mul(n as u64))
}

/// The singular value decomposition of a matrix, if its memory is available.
pub(super) fn decompose(matrix: MatRef<'_, f64>, exec: &Exec) -> Result<ThinSvd> {
    if matrix.nrows().max(matrix.ncols()) <= LARGE {
        return mdt_dense::svd(matrix).map_err(Error::decomposition);
    }
    memory::require(decomposition_bytes(matrix.nrows().max(matrix.ncols())))?;
    decompose_aside(matrix.to_owned(), exec)
}

/// Decomposes a large matrix on a thread of its own.
fn decompose_aside(matrix: Mat<f64>, exec: &Exec) -> Result<ThinSvd> {
    let (sender, receiver) = channel();
    let work = move || drop(sender.send(mdt_dense::svd(matrix.as_ref())));
    std::thread::Builder::new().name("mdt-svd".into()).spawn(work).map_err(|e| no_thread(1, e))?;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(found) => return found.map_err(Error::decomposition),
            Err(RecvTimeoutError::Timeout) => exec.check()?,
            Err(RecvTimeoutError::Disconnected) => return Err(Error::decomposition("its thread ended")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;

    #[test]
    fn large_and_small_matrices_are_decomposed_alike() {
        let matrix = Mat::from_fn(60, 60, |i, j| 1.0 / (1.0 + i as f64 + 2.0 * j as f64));
        let exec = Exec::with_threads(1);
        let (small, large) = (decompose(matrix.as_ref(), &exec).unwrap(), decompose_aside(matrix, &exec).unwrap());
        assert_eq!(small.values, large.values);
        assert_eq!(small.left, large.left);
    }

    #[test]
    fn a_large_decomposition_can_be_stopped() {
        let exec = Exec::new(1, Arc::new(AtomicBool::new(true)));
        let matrix = Mat::from_fn(800, 800, |i, j| ((i * 31 + j * 17) % 101) as f64);
        let started = std::time::Instant::now();
        assert_eq!(decompose(matrix.as_ref(), &exec).unwrap_err(), Error::Interrupted);
        assert!(started.elapsed() < Duration::from_secs(1));
    }
}
