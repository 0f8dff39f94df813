//! Calls of Python functions from a thread that the interpreter may end.
//!
//! When the interpreter exits, Python before 3.14 ends a daemon thread at the moment in which it
//! next needs the interpreter, by unwinding its stack. If the thread is then in a Python function
//! that Rust called, the unwinding meets Rust frames and aborts the process. So the frame that makes
//! the call stops the unwinding: the thread waits until the process has ended, as in Python 3.14.
//! The calls of `PyO3` that attach a thread are guarded in the same way.

use std::time::Duration;

use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

// Not `PyObject_Call`: `PyO3` declares and uses it as a function that never unwinds, and the compiler
// merges the two declarations.
unsafe extern "C-unwind" {
    fn PyObject_CallObject(callable: *mut PyObject, arguments: *mut PyObject) -> *mut PyObject;
}

/// Waits for ever if it is dropped.
struct WaitForEver;

impl Drop for WaitForEver {
    fn drop(&mut self) {
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
}

/// Calls a Python function.
pub fn call<'py>(
    function: &Bound<'py, PyAny>,
    arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error: Into<PyErr>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, arguments) = (function.py(), arguments.into_pyobject(function.py()).map_err(Into::into)?);
    let guard = WaitForEver;
    // SAFETY: both pointers are those of live objects, and this thread holds the interpreter. The
    // function returns a new reference, or null with an exception set.
    let answer = unsafe { PyObject_CallObject(function.as_ptr(), arguments.as_ptr()) };
    std::mem::forget(guard);
    // SAFETY: as above.
    unsafe { Bound::from_owned_ptr_or_err(py, answer) }
}
