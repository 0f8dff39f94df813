//! Calls of the core: the GIL is released, Ctrl-C is polled, errors become exceptions.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mdt_core::ground::reserve;
use mdt_core::{Error, Exec};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::callback::call;
use crate::most_threads;

/// Interval at which signals are checked.
const POLL: Duration = Duration::from_millis(50);

/// Work of fewer elementary operations ends before anybody could interrupt it.
const SHORT: usize = 1 << 22;

thread_local! {
    /// The function that long work of this thread calls.
    static HEARTBEAT: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// Let long calls of this thread call `function` at intervals, and return the function before.
///
/// It is called on this thread. If it raises, the work stops and the exception is raised. A search
/// calls its `watch` instead.
#[pyfunction]
pub fn set_heartbeat(function: Option<Py<PyAny>>) -> Option<Py<PyAny>> {
    HEARTBEAT.replace(function)
}

/// Calls the function of this thread. Work that the function itself starts does not call it.
fn beat(py: Python<'_>) -> PyResult<()> {
    let Some(function) = HEARTBEAT.take() else { return Ok(()) };
    let answer = call(function.bind(py), ()).map(drop);
    HEARTBEAT.set(Some(function));
    answer
}

/// Runs `work` without the GIL on `n_threads` threads. `cost` is a rough count of its elementary
/// operations.
///
/// Long work runs on a thread pool while the calling thread polls for signals. On Ctrl-C the stop
/// flag is set, the work returns at its next check of the flag, and the exception of the signal
/// handler is raised. The heartbeat of the thread is called meanwhile.
pub fn run<R: Send>(
    py: Python<'_>,
    n_threads: usize,
    cost: usize,
    work: impl FnOnce(&Exec) -> mdt_core::Result<R> + Send,
) -> PyResult<R> {
    if cost < SHORT {
        reserve::restore().map_err(to_exception)?;
        return py.detach(|| work(&Exec::with_threads(1))).map_err(to_exception);
    }
    run_watched(
        py,
        n_threads,
        |exec, _| work(exec),
        |py, stopped| {
            if !stopped {
                beat(py)?;
            }
            Ok(false)
        },
    )
}

/// Runs `work` as [`run`] does and calls `watch` meanwhile.
///
/// `watch` is called with the GIL on the calling thread, at intervals and whenever the work calls
/// its second argument. It stops the work if it returns true or raises. Its second argument is true
/// if the work has been stopped.
pub fn run_watched<R: Send>(
    py: Python<'_>,
    n_threads: usize,
    work: impl FnOnce(&Exec, &(dyn Fn() + Sync)) -> mdt_core::Result<R> + Send,
    mut watch: impl FnMut(Python<'_>, bool) -> PyResult<bool> + Send,
) -> PyResult<R> {
    reserve::restore().map_err(to_exception)?;
    let stop = Arc::new(AtomicBool::new(false));
    let exec = Exec::new(n_threads.min(most_threads()), Arc::clone(&stop));
    let mut raised = None;
    let result = py.detach(|| {
        exec.run_aside(
            POLL,
            |wake| work(&exec, wake),
            || {
                let seen = Python::try_attach(|py| {
                    let signal = py.check_signals();
                    (watch(py, signal.is_err() || stop.load(Ordering::Relaxed)), signal)
                });
                // At the end of the interpreter a daemon thread gets no answer: its work stops, and
                // the thread waits for the end of the process where it would need Python again.
                let Some((watched, signal)) = seen else { return stop.store(true, Ordering::Relaxed) };
                if signal.is_err() || !matches!(watched, Ok(false)) {
                    stop.store(true, Ordering::Relaxed);
                }
                if let Some(exception) = signal.err().or(watched.err()) {
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
pub fn to_exception(error: Error) -> PyErr {
    let message = error.to_string();
    match error {
        Error::Interrupted => PyKeyboardInterrupt::new_err(message),
        Error::Invalid(_) | Error::Size { .. } => PyValueError::new_err(message),
        Error::Memory { .. } | Error::Allocation { .. } => PyMemoryError::new_err(message),
        Error::Threads { .. } => PyRuntimeError::new_err(message),
    }
}
