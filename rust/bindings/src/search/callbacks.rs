//! Calls of a Python quality function on the thread that called the core.
//!
//! Workers send requests and wait; the calling thread holds the interpreter and answers them. So
//! Ctrl-C reaches the function, and it need not be safe for threads.

use std::sync::mpsc::{Receiver, Sender, channel};

use mdt_core::Error;
use mdt_core::search::Clustered;
use numpy::Element;
use pyo3::prelude::*;

use crate::arrays::{matrix, signed};
use crate::callback::call;

/// A clustering to be scored, and the channel for its score.
pub struct Request<T> {
    name: String,
    clustered: Clustered<T>,
    reply: Sender<mdt_core::Result<f64>>,
}

/// Sends a request from a worker, wakes the calling thread, and waits for the score.
pub fn request<T: Clone>(
    requests: &Sender<Request<T>>,
    name: &str,
    clustered: &Clustered<T>,
    wake: &(dyn Fn() + Sync),
) -> mdt_core::Result<f64> {
    let (reply, score) = channel();
    let request = Request { name: name.to_owned(), clustered: clustered.clone(), reply };
    requests.send(request).map_err(|_| Error::Interrupted)?;
    wake();
    score.recv().unwrap_or(Err(Error::Interrupted))
}

/// Answers one request on the calling thread; every worker that sends one also wakes this thread.
pub fn answer_one<T: Element>(
    py: Python<'_>,
    function: &Py<PyAny>,
    requests: &mut Receiver<Request<T>>,
) -> PyResult<()> {
    let Ok(Request { name, clustered: Clustered { coordinates, labels, .. }, reply }) = requests.try_recv() else {
        return Ok(());
    };
    let components = coordinates.len() / labels.len();
    let arguments = (signed(py, labels), matrix(py, coordinates, components)?);
    // If the call raises, `reply` is dropped and the worker stops waiting.
    let answer = call(function.bind(py), arguments)?;
    drop(reply.send(answer.extract().map_err(|_| not_a_number(&answer, &name))));
    Ok(())
}

/// Drops all requests: their workers stop waiting.
pub fn refuse_all<T>(requests: &mut Receiver<Request<T>>) {
    requests.try_iter().for_each(drop);
}

fn not_a_number(answer: &Bound<'_, PyAny>, name: &str) -> Error {
    let got = answer.repr().map_or_else(|_| "something else".to_owned(), |text| text.to_string());
    Error::Invalid(format!("quality: expected a finite number for the trajectory {name}, got {got}"))
}
