//! `consensus`: the leading eigenvectors of the co-association matrix of several clusterings.

use mdt_core::cluster::consensus::Coassociation;
use mdt_core::spectral::{Accuracy, SvdSettings};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{elements, matrix};
use crate::run::{run, to_exception};

/// Typical number of passes over the labels, for the estimate of the cost.
const TYPICAL_ITERATIONS: usize = 10;

/// Coordinates in which samples that many clusterings put together are close.
#[pyclass(name = "Consensus", module = "mdt_fast._core", frozen, get_all)]
pub struct PyConsensus {
    coordinates: Py<PyArray2<f64>>,
    eigenvalues: Py<PyArray1<f64>>,
}

/// Find the consensus of several clusterings; `labels` has one row for each of them.
#[pyfunction]
#[pyo3(signature = (labels, *, n_labels, n_components, tolerance, max_iterations, seed, n_threads))]
pub fn consensus(
    py: Python<'_>,
    labels: PyReadonlyArray2<'_, u32>,
    n_labels: usize,
    n_components: usize,
    tolerance: f64,
    max_iterations: usize,
    seed: u64,
    n_threads: usize,
) -> PyResult<PyConsensus> {
    let memberships = Coassociation::new(elements(&labels)?, labels.shape()[0], n_labels).map_err(to_exception)?;
    let settings = SvdSettings { rank: n_components, tolerance, accuracy: Accuracy::Values, max_iterations, seed };
    let cost = labels.len().saturating_mul(n_components).saturating_mul(TYPICAL_ITERATIONS);
    let solve = |exec: &_| mdt_core::cluster::consensus::consensus(&memberships, &settings, exec);
    let found = run(py, n_threads, cost, solve)?;
    let coordinates = matrix(py, found.left, n_components)?;
    Ok(PyConsensus { coordinates, eigenvalues: found.values.into_pyarray(py).unbind() })
}
