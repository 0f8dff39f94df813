//! Results of searches: scored sequences, evaluated candidates, a clustered trajectory.

use mdt_core::search::{BestStart, Evaluation, Halt, Node, SearchOutcome};
use numpy::{IntoPyArray, PyArray1, PyArray2};
use pyo3::prelude::*;

use crate::arrays::{matrix, signed};

/// A sequence, its score, and the seconds that the score took.
#[pyclass(name = "ScoredSequence", module = "mdt_fast._core", frozen, get_all)]
pub struct PyScoredSequence {
    pub sequence: Vec<u16>,
    pub score: f64,
    pub seconds: f64,
}

#[pymethods]
impl PyScoredSequence {
    #[new]
    fn new(sequence: Vec<u16>, score: f64, seconds: f64) -> Self {
        Self { sequence, score, seconds }
    }
}

/// The sequences that a strategy visited, in its order, and the answer.
#[pyclass(name = "Searched", module = "mdt_fast._core", frozen, get_all)]
pub struct PySearched {
    sequences: Vec<Vec<u16>>,
    parents: Py<PyArray1<i64>>,
    scores: Py<PyArray1<f64>>,
    seconds: Py<PyArray1<f64>>,
    best: usize,
    labels: Option<Py<PyArray1<i32>>>,
    stopped: Option<&'static str>,
    n_unconverged: usize,
}

impl PySearched {
    pub fn new(py: Python<'_>, found: SearchOutcome, labels: Option<Vec<u32>>, n_unconverged: usize) -> Self {
        let column = |get: fn(&Node) -> f64| PyArray1::from_iter(py, found.nodes.iter().map(get)).unbind();
        let parents: Vec<i64> = found.nodes.iter().map(|node| node.parent.map_or(-1, |p| p as i64)).collect();
        Self {
            parents: parents.into_pyarray(py).unbind(),
            scores: column(|node| node.score.value),
            seconds: column(|node| node.score.seconds),
            best: found.best,
            labels: labels.map(|labels| signed(py, labels)),
            stopped: found.halt.map(|halt| if halt == Halt::Budget { "budget" } else { "stopped" }),
            n_unconverged,
            sequences: found.nodes.into_iter().map(|node| node.sequence).collect(),
        }
    }
}

/// The score of a candidate, the seconds that it took, and the labels if they were requested.
#[pyclass(name = "Evaluated", module = "mdt_fast._core", frozen, get_all)]
pub struct PyEvaluated {
    score: f64,
    seconds: f64,
    labels: Option<Py<PyArray1<i32>>>,
}

impl PyEvaluated {
    pub fn new(py: Python<'_>, Evaluation { score, labels }: Evaluation) -> Self {
        Self { score: score.value, seconds: score.seconds, labels: labels.map(|labels| signed(py, labels)) }
    }
}

/// Labels, centres and score of the best start of k-means.
#[pyclass(name = "Labelled", module = "mdt_fast._core", frozen, get_all)]
pub struct PyLabelled {
    labels: Py<PyArray1<i32>>,
    centers: Py<PyArray2<f64>>,
    score: f64,
}

impl PyLabelled {
    pub fn new(py: Python<'_>, BestStart { clusters, score }: BestStart, dimension: usize) -> PyResult<Self> {
        Ok(Self { labels: signed(py, clusters.labels), centers: matrix(py, clusters.centers, dimension)?, score })
    }
}

/// Candidates in the order given, None for those not reached, and the number whose embedding did
/// not converge.
#[pyclass(name = "EvaluatedBatch", module = "mdt_fast._core", frozen, get_all)]
pub struct PyEvaluatedBatch {
    pub candidates: Vec<Option<Py<PyEvaluated>>>,
    pub n_unconverged: usize,
}
