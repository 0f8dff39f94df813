//! The one way from Python into long work and back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mdt_core::Error;
use mdt_core::ground::exec::Exec;
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
    run_watched(py, n_threads, |exec, _| work(exec), |_, _| Ok(false))
}

/// As [`run`], for work that a caller follows: `watch` runs with the GIL on the calling thread every now and then, and whenever the
/// work calls its second argument. It ends the work by answering true, or by raising; its second argument says that this has been
/// done, by whomever.
pub fn run_watched<R: Send>(
    py: Python<'_>,
    n_threads: usize,
    work: impl FnOnce(&Exec, &(dyn Fn() + Sync)) -> mdt_core::Result<R> + Send,
    mut watch: impl FnMut(Python<'_>, bool) -> PyResult<bool> + Send,
) -> PyResult<R> {
    let stop = Arc::new(AtomicBool::new(false));
    let exec = Exec::new(n_threads, Arc::clone(&stop));
    let mut raised = None;
    let result = py.detach(|| {
        exec.run_aside(
            POLL,
            |wake| work(&exec, wake),
            || {
                let (asked, signal) = Python::attach(|py| {
                    let signal = py.check_signals();
                    (watch(py, signal.is_err() || stop.load(Ordering::Relaxed)), signal)
                });
                if signal.is_err() || !matches!(asked, Ok(false)) {
                    stop.store(true, Ordering::Relaxed);
                }
                if let Some(exception) = signal.err().or(asked.err()) {
                    raised.get_or_insert(exception);
                }
            },
        )
    });
    match raised {
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
