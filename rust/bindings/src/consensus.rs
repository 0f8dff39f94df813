//! What several clusterings agree on.

use mdt_core::cluster::consensus::{Coassociation, consensus as agree};
use mdt_core::spectral::{Accuracy, SvdSettings};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{elements, matrix};
use crate::funnel::{run, to_exception};

/// Accuracy of the eigenvectors, and the iterations that may be spent on it.
const TOLERANCE: f64 = 1e-6;
const MAX_ITERATIONS: usize = 300;

/// Passes over the labels, about, for the estimate of the cost.
const TYPICAL_ITERATIONS: usize = 10;

/// Coordinates and eigenvalues.
type Agreement<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>);

/// Coordinates in which samples that many members put together are close, and their eigenvalues: `labels` has a row for each member.
#[pyfunction]
#[pyo3(signature = (labels, *, n_labels, n_components, seed, n_threads))]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn consensus<'py>(
    py: Python<'py>,
    labels: PyReadonlyArray2<'py, u32>,
    n_labels: usize,
    n_components: usize,
    seed: u64,
    n_threads: usize,
) -> PyResult<Agreement<'py>> {
    let members = Coassociation::new(elements(&labels)?, labels.shape()[0], n_labels).map_err(to_exception)?;
    let settings = SvdSettings {
        rank: n_components,
        tolerance: TOLERANCE,
        accuracy: Accuracy::Values,
        max_iterations: MAX_ITERATIONS,
        seed,
    };
    let cost = labels.len().saturating_mul(n_components).saturating_mul(TYPICAL_ITERATIONS);
    let found = run(py, n_threads, cost, |exec| agree(&members, &settings, exec))?;
    Ok((matrix(py, found.left, n_components)?, found.values.into_pyarray(py)))
}
