//! Scores and support of labels on rows: of a stored transition matrix, of a sparse matrix, or of an array.

use mdt_core::cluster::quality::{Criterion, Sample};
use mdt_core::cluster::support::support;
use mdt_core::graph::neighbours::Features;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::copied;
use crate::features::{RowsArgument, with_features};
use crate::run::run;

/// The score of this name; silhouettes are those of a sample of the rows, or of all.
pub fn criterion(name: &str, sample: Option<Sample>) -> PyResult<Criterion> {
    match name {
        "calinski_harabasz" => Ok(Criterion::CalinskiHarabasz),
        "davies_bouldin" => Ok(Criterion::DaviesBouldin),
        "information" => Ok(Criterion::Information),
        "persistence" => Ok(Criterion::Persistence),
        "silhouette" => Ok(Criterion::Silhouette(sample)),
        other => Err(PyValueError::new_err(format!("quality: unknown name {other:?}"))),
    }
}

/// Return the score of labels on rows. The silhouette is that of a random sample of the rows if
/// `sample_size` is given.
#[pyfunction]
#[pyo3(signature = (quality, rows, labels, n_labels, *, sample_size=None, seed=0, n_threads))]
pub fn score_labels(
    py: Python<'_>,
    quality: &str,
    rows: RowsArgument<'_>,
    labels: PyReadonlyArray1<'_, u32>,
    n_labels: usize,
    sample_size: Option<usize>,
    seed: u64,
    n_threads: usize,
) -> PyResult<f64> {
    let criterion = criterion(quality, sample_size.map(|size| Sample { size, seed }))?;
    // A copy: labels are checked before they are used, and another thread may change the array.
    let labels = copied(&labels)?;
    with_features!(py, &rows, points => {
        let cost = criterion.cost(points.n_rows(), points.size(), n_labels);
        run(py, n_threads, cost, |exec| criterion.of(points, &labels, n_labels, exec))
    })
}

/// Return the probability that the first `moves` moves from each sample stay in its cluster.
#[pyfunction]
#[pyo3(signature = (rows, clusters, *, moves, n_threads))]
pub fn neighbor_support<'py>(
    py: Python<'py>,
    rows: RowsArgument<'_>,
    clusters: PyReadonlyArray1<'_, u32>,
    moves: usize,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let clusters = copied(&clusters)?;
    with_features!(py, &rows, points => {
        let Features::Sparse(steps) = points else {
            return Err(PyValueError::new_err("rows: expected a walk or a sparse matrix, got an array"));
        };
        let cost = steps.nnz().saturating_mul(moves);
        let found = run(py, n_threads, cost, |exec| support(steps, &clusters, moves, exec))?;
        Ok(found.into_pyarray(py))
    })
}
