//! Scores of labels on rows: of a stored transition, of a sparse matrix, or of an array.

use mdt_core::Real;
use mdt_core::graph::neighbours::Features;
use mdt_core::cluster::quality::{Criterion, Sample};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{AnyArray1, AnyArray2, csr, elements};
use crate::funnel::{run, to_exception};
use crate::transition::{AnyTransition, PyTransition};

/// Rows as Python gives them; a sparse matrix is (number of columns, indptr, indices, values).
#[derive(FromPyObject)]
pub enum RowsArgument<'py> {
    Walk(PyRef<'py, PyTransition>),
    Dense(AnyArray2<'py>),
    Sparse((usize, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i32>, AnyArray1<'py>)),
}

fn score(
    py: Python<'_>,
    what: Criterion,
    rows: &RowsArgument<'_>,
    labels: &PyReadonlyArray1<'_, u32>,
    n_labels: usize,
    n_threads: usize,
) -> PyResult<f64> {
    fn on<T: Real>(
        py: Python<'_>,
        what: Criterion,
        points: Features<'_, T>,
        labels: &[u32],
        n_labels: usize,
        n_threads: usize,
    ) -> PyResult<f64> {
        let size = match points {
            Features::Dense { data, .. } => data.len(),
            Features::Sparse(rows) => rows.nnz(),
        };
        let cost = what.cost(points.len(), size, n_labels);
        run(py, n_threads, cost, |exec| what.of(points, labels, n_labels, exec))
    }
    let labels = elements(labels)?;
    match rows {
        RowsArgument::Walk(walk) => match &walk.0 {
            AnyTransition::F32(t) => on(py, what, Features::Sparse(t.matrix()), labels, n_labels, n_threads),
            AnyTransition::F64(t) => on(py, what, Features::Sparse(t.matrix()), labels, n_labels, n_threads),
        },
        RowsArgument::Dense(AnyArray2::F32(x)) => {
            let points = Features::Dense { data: elements(x)?, dimension: x.shape()[1] };
            on(py, what, points, labels, n_labels, n_threads)
        }
        RowsArgument::Dense(AnyArray2::F64(x)) => {
            let points = Features::Dense { data: elements(x)?, dimension: x.shape()[1] };
            on(py, what, points, labels, n_labels, n_threads)
        }
        RowsArgument::Sparse((n_cols, indptr, indices, AnyArray1::F32(values))) => {
            let matrix = csr(*n_cols, indptr, indices, values)?;
            on(py, what, Features::Sparse(&matrix), labels, n_labels, n_threads)
        }
        RowsArgument::Sparse((n_cols, indptr, indices, AnyArray1::F64(values))) => {
            let matrix = csr(*n_cols, indptr, indices, values)?;
            on(py, what, Features::Sparse(&matrix), labels, n_labels, n_threads)
        }
    }
}

/// Scatter between clusters over scatter within.
#[pyfunction]
#[pyo3(signature = (rows, labels, n_labels, n_threads))]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn calinski_harabasz(
    py: Python<'_>,
    rows: RowsArgument<'_>,
    labels: PyReadonlyArray1<'_, u32>,
    n_labels: usize,
    n_threads: usize,
) -> PyResult<f64> {
    score(py, Criterion::CalinskiHarabasz, &rows, &labels, n_labels, n_threads)
}

/// Widths of clusters over distances of their means.
#[pyfunction]
#[pyo3(signature = (rows, labels, n_labels, n_threads))]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn davies_bouldin(
    py: Python<'_>,
    rows: RowsArgument<'_>,
    labels: PyReadonlyArray1<'_, u32>,
    n_labels: usize,
    n_threads: usize,
) -> PyResult<f64> {
    score(py, Criterion::DaviesBouldin, &rows, &labels, n_labels, n_threads)
}

/// How well steps of a walk stay in their clusters.
#[pyfunction]
#[pyo3(signature = (rows, labels, n_labels, n_threads))]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn persistence(
    py: Python<'_>,
    rows: RowsArgument<'_>,
    labels: PyReadonlyArray1<'_, u32>,
    n_labels: usize,
    n_threads: usize,
) -> PyResult<f64> {
    score(py, Criterion::Persistence, &rows, &labels, n_labels, n_threads)
}

/// The mean silhouette, over a sample of the rows if a size is given.
#[pyfunction]
#[pyo3(signature = (rows, labels, n_labels, *, sample_size, seed, n_threads))]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn silhouette(
    py: Python<'_>,
    rows: RowsArgument<'_>,
    labels: PyReadonlyArray1<'_, u32>,
    n_labels: usize,
    sample_size: Option<usize>,
    seed: u64,
    n_threads: usize,
) -> PyResult<f64> {
    let sample = sample_size.map(|size| Sample { size, seed });
    score(py, Criterion::Silhouette(sample), &rows, &labels, n_labels, n_threads)
}

/// The rows that a silhouette with this sample size and seed looks at.
#[pyfunction]
#[pyo3(signature = (n, sample_size, seed))]
pub fn sample_rows(py: Python<'_>, n: usize, sample_size: usize, seed: u64) -> PyResult<Bound<'_, PyArray1<u32>>> {
    let rows = Sample { size: sample_size, seed }.rows(n).map_err(to_exception)?;
    Ok(rows.into_pyarray(py))
}
