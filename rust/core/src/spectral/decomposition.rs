//! Decompositions of dense matrices, which may be large.
//!
//! A decomposition itself cannot be stopped: it takes `n^3` time, 8 s at `n = 2,500`. A large
//! matrix is therefore decomposed on a thread of its own, which owns it. If the work is stopped
//! meanwhile, that thread is left to itself and ends with a result that nobody reads.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use mdt_dense::{Mat, MatRef, ThinSvd};

use crate::ground::exec::no_thread;
use crate::ground::memory;
use crate::{Error, Exec, Result};

/// Matrices with more rows or columns take longer than a tenth of a second.
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
    let size = matrix.nrows().max(matrix.ncols());
    if size <= LARGE {
        return mdt_dense::svd(matrix).map_err(Error::decomposition);
    }
    memory::require(decomposition_bytes(size))?;
    let matrix = matrix.to_owned();
    stoppable(size, move || mdt_dense::svd(matrix.as_ref()), exec)
}

/// Singular or eigenpairs of a dense matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct DensePairs {
    /// All values, largest first.
    pub values: Vec<f64>,
    /// Leading left singular vectors or eigenvectors, `n x rank`, row-major.
    pub left: Vec<f64>,
    /// Leading right singular vectors, as `left`; empty for a symmetric matrix.
    pub right: Vec<f64>,
}

/// All values and the leading `rank` pairs of a row-major `n x n` matrix: eigenpairs if it is
/// symmetric, else singular pairs. No vectors are computed if `rank` is 0.
pub fn dense_pairs(data: &[f64], n: usize, rank: usize, is_symmetric: bool, exec: &Exec) -> Result<DensePairs> {
    check_square(data, n)?;
    if rank > n {
        return Err(Error::Invalid(format!("expected at most {n} pairs, got {rank}")));
    }
    memory::require(decomposition_bytes(n))?;
    let matrix = MatRef::from_row_major_slice(data, n, n).to_owned();
    let leading = |m: &Mat<f64>, last_first: bool| {
        let column = |k: usize| if last_first { n - 1 - k } else { k };
        memory::collect((0..n * rank).map(|k| m[(k / rank, column(k % rank))]))
    };
    let reversed = |values: Vec<f64>| values.into_iter().rev().collect();
    let only = |values| Ok(DensePairs { values, left: Vec::new(), right: Vec::new() });
    match (is_symmetric, rank) {
        (false, 0) => only(stoppable(n, move || mdt_dense::singular_values(matrix.as_ref()), exec)?),
        (true, 0) => only(reversed(stoppable(n, move || mdt_dense::symmetric_eigenvalues(matrix.as_ref()), exec)?)),
        (false, _) => {
            let ThinSvd { left, values, right } = stoppable(n, move || mdt_dense::svd(matrix.as_ref()), exec)?;
            Ok(DensePairs { values, left: leading(&left, false)?, right: leading(&right, false)? })
        }
        (true, _) => {
            let (values, vectors) = stoppable(n, move || mdt_dense::symmetric_eigen(matrix.as_ref()), exec)?;
            Ok(DensePairs { values: reversed(values), left: leading(&vectors, true)?, right: Vec::new() })
        }
    }
}

/// Refuses data that are not those of a finite `n x n` matrix.
pub(super) fn check_square(data: &[f64], n: usize) -> Result<()> {
    Error::check_size("elements of the matrix", n.saturating_mul(n), data.len())?;
    if data.iter().any(|v| !v.is_finite()) {
        return Err(Error::Invalid("expected finite numbers, got NaN or infinity".into()));
    }
    Ok(())
}

/// Runs the decomposition of a matrix with `size` rows, that of a large one on a thread of its own.
pub(super) fn stoppable<R: Send + 'static>(
    size: usize,
    decompose: impl FnOnce() -> std::result::Result<R, String> + Send + 'static,
    exec: &Exec,
) -> Result<R> {
    if size <= LARGE {
        return decompose().map_err(Error::decomposition);
    }
    let (sender, receiver) = channel();
    let work = move || drop(sender.send(decompose()));
    std::thread::Builder::new().name("mdt-dense".into()).spawn(work).map_err(|e| no_thread(1, e))?;
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
    fn pairs_rebuild_the_matrix() {
        let (n, exec) = (40, Exec::with_threads(1));
        let entry = |i: usize, j: usize| 1.0 / (1.0 + (i + j) as f64) + if i == j { i as f64 } else { 0.0 };
        let symmetric: Vec<f64> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
        let other: Vec<f64> = (0..n * n).map(|k| entry(k / n, 2 * (k % n))).collect();
        for (data, is_symmetric) in [(symmetric, true), (other, false)] {
            let found = dense_pairs(&data, n, n, is_symmetric, &exec).unwrap();
            let right = if is_symmetric { &found.left } else { &found.right };
            for (k, v) in data.iter().enumerate() {
                let (i, j) = (k / n, k % n);
                let sum: f64 = (0..n).map(|r| found.left[i * n + r] * found.values[r] * right[j * n + r]).sum();
                assert!((sum - v).abs() < 1e-10, "{i} {j}: {sum} {v}");
            }
            let values = dense_pairs(&data, n, 0, is_symmetric, &exec).unwrap().values;
            assert!(values.is_sorted_by(|a, b| a >= b));
            assert!(values.iter().zip(&found.values).all(|(a, b)| (a - b).abs() < 1e-10));
        }
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
