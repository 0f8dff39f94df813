//! Scores of labels on rows: of a stored transition matrix, of a sparse matrix, or of an array.

use mdt_core::Real;
use mdt_core::cluster::quality::{Criterion, Sample};
use mdt_core::graph::neighbours::Features;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{PyCsrParts, elements};
use crate::precision::{AnyArray2, dispatch};
use crate::run::{run, to_exception};
use crate::transition::PyTransition;

/// The rows on which labels are scored.
#[derive(FromPyObject)]
pub enum RowsArgument<'py> {
    Walk(Bound<'py, PyTransition>),
    Sparse(Bound<'py, PyCsrParts>),
    Dense(AnyArray2<'py>),
}

/// Labels `0, ..., n_labels - 1` and the score that is computed from them.
struct Scoring<'a> {
    criterion: Criterion,
    labels: &'a [u32],
    n_labels: usize,
    n_threads: usize,
}

impl Scoring<'_> {
    fn on<T: Real>(&self, py: Python<'_>, points: Features<'_, T>) -> PyResult<f64> {
        let Self { criterion, labels, n_labels, n_threads } = *self;
        let size = match points {
            Features::Dense { data, .. } => data.len(),
            Features::Sparse(rows) => rows.nnz(),
        };
        let cost = criterion.cost(points.len(), size, n_labels);
        run(py, n_threads, cost, |exec| criterion.of(points, labels, n_labels, exec))
    }
}

fn score(
    py: Python<'_>,
    criterion: Criterion,
    rows: &RowsArgument<'_>,
    labels: &PyReadonlyArray1<'_, u32>,
    n_labels: usize,
    n_threads: usize,
) -> PyResult<f64> {
    let scoring = Scoring { criterion, labels: elements(labels)?, n_labels, n_threads };
    match rows {
        RowsArgument::Walk(walk) => dispatch!(&walk.get().0, t => scoring.on(py, Features::Sparse(t.matrix()))),
        RowsArgument::Sparse(parts) => {
            dispatch!(parts.get().to_any_csr(py)?, rows => scoring.on(py, Features::Sparse(&rows)))
        }
        RowsArgument::Dense(x) => dispatch!(x, x => {
            scoring.on(py, Features::Dense { data: elements(x)?, dimension: x.shape()[1] })
        }),
    }
}

/// The score of this name; silhouettes are those of all rows.
pub fn criterion(name: &str) -> PyResult<Criterion> {
    match name {
        "calinski_harabasz" => Ok(Criterion::CalinskiHarabasz),
        "davies_bouldin" => Ok(Criterion::DaviesBouldin),
        "information" => Ok(Criterion::Information),
        "persistence" => Ok(Criterion::Persistence),
        "silhouette" => Ok(Criterion::Silhouette(None)),
        other => Err(PyValueError::new_err(format!("quality: unknown name {other:?}"))),
    }
}

/// Return the score of labels on rows.
#[pyfunction]
#[pyo3(signature = (quality, rows, labels, n_labels, n_threads))]
pub fn score_labels(
    py: Python<'_>,
    quality: &str,
    rows: RowsArgument<'_>,
    labels: PyReadonlyArray1<'_, u32>,
    n_labels: usize,
    n_threads: usize,
) -> PyResult<f64> {
    score(py, criterion(quality)?, &rows, &labels, n_labels, n_threads)
}

/// Return the mean silhouette, of a random sample of the rows if `sample_size` is given.
#[pyfunction]
#[pyo3(signature = (rows, labels, n_labels, *, sample_size, seed, n_threads))]
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

/// Return the rows that a silhouette with this sample size and seed uses.
#[pyfunction]
#[pyo3(signature = (n, sample_size, seed))]
pub fn sample_rows(py: Python<'_>, n: usize, sample_size: usize, seed: u64) -> PyResult<Bound<'_, PyArray1<u32>>> {
    let rows = Sample { size: sample_size, seed }.rows(n).map_err(to_exception)?;
    Ok(rows.into_pyarray(py))
}
