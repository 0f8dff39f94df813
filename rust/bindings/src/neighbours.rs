//! Nearest neighbours of every row of a view: `knn`, `knn_approximate`.

use mdt_core::graph::neighbours::{ApproximateSettings, Features, Method, Metric, nearest_neighbours};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::matrix;
use crate::features::{RowsArgument, with_features};
use crate::run::run;

/// The `k` nearest other points of each of `n` points, by ascending (distance, index).
#[pyclass(name = "NeighborTable", module = "mdt_fast._core", frozen, get_all)]
pub struct PyNeighborTable {
    indices: Py<PyArray2<i32>>,
    distances: Py<PyArray2<f64>>,
    nearest_positive: Py<PyArray1<f64>>,
    exponent: i32,
}

pub fn metric(name: &str) -> PyResult<Metric> {
    match name {
        "euclidean" => Ok(Metric::Euclidean),
        "cosine" => Ok(Metric::Cosine),
        "correlation" => Ok(Metric::Correlation),
        "manhattan" => Ok(Metric::Manhattan),
        other => Err(PyValueError::new_err(format!("metric: unknown name {other:?}"))),
    }
}

fn method(name: &str) -> PyResult<Method> {
    match name {
        "auto" => Ok(Method::Auto),
        "scan" => Ok(Method::Scan),
        "tree" => Ok(Method::Tree),
        other => Err(PyValueError::new_err(format!("method: unknown name {other:?}"))),
    }
}

fn search(
    py: Python<'_>,
    x: &RowsArgument<'_>,
    k: usize,
    (metric, method): (Metric, Method),
    n_threads: usize,
) -> PyResult<PyNeighborTable> {
    let table = with_features!(py, x, points => {
        let cost = points.n_rows().saturating_mul(points.size());
        run(py, n_threads, cost, |exec| nearest_neighbours(points, k, metric, method, exec))?
    });
    Ok(PyNeighborTable {
        indices: matrix(py, bytemuck::allocation::cast_vec(table.indices), k)?,
        distances: matrix(py, table.distances, k)?,
        nearest_positive: table.nearest_positive.into_pyarray(py).unbind(),
        exponent: table.exponent,
    })
}

/// Find the `k` nearest other rows of every row of `x`.
#[pyfunction]
pub fn knn(
    py: Python<'_>,
    x: RowsArgument<'_>,
    k: usize,
    metric: &str,
    method: &str,
    n_threads: usize,
) -> PyResult<PyNeighborTable> {
    search(py, &x, k, (self::metric(metric)?, self::method(method)?), n_threads)
}

/// Find `k` near other rows of every row of `x`; a share of `recall` of them are the nearest.
#[pyfunction]
pub fn knn_approximate(
    py: Python<'_>,
    x: RowsArgument<'_>,
    k: usize,
    metric: &str,
    recall: f64,
    seed: u64,
    n_threads: usize,
) -> PyResult<PyNeighborTable> {
    search(py, &x, k, (self::metric(metric)?, Method::Approximate(ApproximateSettings { seed, recall })), n_threads)
}
