//! Exact neighbours: `knn` for dense views, `knn_sparse` for sparse ones.

use mdt_core::Real;
use mdt_core::ground::csr::Csr;
use mdt_core::graph::neighbours::{ApproximateSettings, Features, Method, Metric, NeighbourTable, nearest_neighbours};
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{AnyArray2, csr, elements, matrix};
use crate::funnel::run;

/// Indices, distances, nearest positive distances, exponent.
type Table<'py> = (Bound<'py, PyArray2<i32>>, Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>, i32);

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

fn search<'py, T: Real>(
    py: Python<'py>,
    coordinates: Features<'_, T>,
    dimension: usize,
    k: usize,
    (metric, method): (Metric, Method),
    n_threads: usize,
) -> PyResult<Table<'py>> {
    let n = coordinates.len();
    let cost = n.saturating_mul(n).saturating_mul(dimension.max(1));
    let table: NeighbourTable =
        run(py, n_threads, cost, |exec| nearest_neighbours(coordinates, k, metric, method, exec))?;
    let indices: Vec<i32> = bytemuck::allocation::cast_vec(table.indices);
    Ok((
        matrix(py, indices, k)?,
        matrix(py, table.distances, k)?,
        table.nearest_positive.into_pyarray(py),
        table.exponent,
    ))
}

fn search_dense<'py, T: Real + Element>(
    py: Python<'py>,
    x: &PyReadonlyArray2<'py, T>,
    k: usize,
    how: (Metric, Method),
    n_threads: usize,
) -> PyResult<Table<'py>> {
    let dimension = x.shape()[1];
    search(py, Features::Dense { data: elements(x)?, dimension }, dimension, k, how, n_threads)
}

/// The `k` nearest other rows of every row of `x`.
#[pyfunction]
#[pyo3(signature = (x, k, metric, method, n_threads))]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn knn<'py>(
    py: Python<'py>,
    x: AnyArray2<'py>,
    k: usize,
    metric: &str,
    method: &str,
    n_threads: usize,
) -> PyResult<Table<'py>> {
    let how = (self::metric(metric)?, self::method(method)?);
    search_any(py, &x, k, how, n_threads)
}

/// `k` near other rows of every row of `x`, of which a share of `recall` are the nearest.
#[pyfunction]
#[pyo3(signature = (x, k, metric, recall, seed, n_threads))]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn knn_approximate<'py>(
    py: Python<'py>,
    x: AnyArray2<'py>,
    k: usize,
    metric: &str,
    recall: f64,
    seed: u64,
    n_threads: usize,
) -> PyResult<Table<'py>> {
    let how = (self::metric(metric)?, Method::Approximate(ApproximateSettings { seed, recall }));
    search_any(py, &x, k, how, n_threads)
}

fn search_any<'py>(
    py: Python<'py>,
    x: &AnyArray2<'py>,
    k: usize,
    how: (Metric, Method),
    n_threads: usize,
) -> PyResult<Table<'py>> {
    match x {
        AnyArray2::F32(x) => search_dense(py, x, k, how, n_threads),
        AnyArray2::F64(x) => search_dense(py, x, k, how, n_threads),
    }
}

/// The `k` nearest other rows of every row of a sparse matrix.
#[pyfunction]
#[pyo3(signature = (n_cols, indptr, indices, values, k, metric, n_threads))]
#[expect(clippy::too_many_arguments, reason = "the parts of a CSR matrix")]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn knn_sparse<'py>(
    py: Python<'py>,
    n_cols: usize,
    indptr: PyReadonlyArray1<'py, i64>,
    indices: PyReadonlyArray1<'py, i32>,
    values: PyReadonlyArray1<'py, f64>,
    k: usize,
    metric: &str,
    n_threads: usize,
) -> PyResult<Table<'py>> {
    let rows: Csr<f64> = csr(n_cols, &indptr, &indices, &values)?;
    let how = (self::metric(metric)?, Method::Scan);
    let dimension = rows.nnz() / rows.n_rows().max(1);
    search(py, Features::Sparse(&rows), dimension, k, how, n_threads)
}
