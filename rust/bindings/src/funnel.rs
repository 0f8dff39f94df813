//! The one way from Python into long work and back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mdt_core::Error;
use mdt_core::exec::Exec;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// How often Python is asked whether Ctrl-C was pressed.
const POLL: Duration = Duration::from_millis(50);

/// Work of fewer elementary operations than this is over before anybody could interrupt it.
const SHORT: usize = 1 << 22;

/// Runs `work` without the GIL on `n_threads` threads of its own. `cost` is a rough count of its elementary operations.
///
/// Long work runs on the pool while this thread waits and polls for signals: on Ctrl-C the stop flag goes up, the
/// work returns at its next check, and the exception of the signal handler is raised.
pub fn run<R: Send>(
    py: Python<'_>,
    n_threads: usize,
    cost: usize,
    work: impl FnOnce(&Exec) -> mdt_core::Result<R> + Send,
) -> PyResult<R> {
    if cost < SHORT {
        return py.detach(|| work(&Exec::with_threads(1))).map_err(to_exception);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let exec = Exec::new(n_threads, Arc::clone(&stop));
    let mut signal = None;
    let result = py.detach(|| {
        exec.run_aside(
            POLL,
            || work(&exec),
            || {
                #[expect(clippy::redundant_closure_for_method_calls, reason = "the method has one lifetime only")]
                if let Err(exception) = Python::attach(|py| py.check_signals()) {
                    signal = Some(exception);
                    stop.store(true, Ordering::Relaxed);
                }
            },
        )
    });
    match signal {
        Some(exception) => Err(exception),
        None => result.map_err(to_exception),
    }
}

/// The exception for each error of the core.
#[expect(clippy::needless_pass_by_value, reason = "what map_err hands over")]
pub fn to_exception(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(message),
        Error::Invalid(_) | Error::Size { .. } => PyValueError::new_err(message),
        Error::Memory { .. } => PyMemoryError::new_err(message),
        Error::Threads { .. } => PyRuntimeError::new_err(message),
    }
}
