//! The contrastive loss of a trajectory and its gradient, exact and estimated.

use mdt_core::Contrastive;
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::within;
use crate::arrays::{elements, matrix};
use crate::operator_set::{FEW_VECTORS, PyOperatorSet, cost_per_column, trajectory};
use crate::precision::{dispatch, of_type};
use crate::run::run;

/// A contrastive loss and its gradient with respect to the weights.
#[pyclass(name = "ContrastiveLoss", module = "mdt_fast._core", frozen, get_all)]
pub struct PyContrastiveLoss {
    loss: f64,
    gradient: Py<PyArray2<f64>>,
}

/// Compute the loss of a trajectory given by its (steps, members) weights, which need not be on the
/// simplex.
#[pyfunction]
#[pyo3(signature = (operators, weights, view_weights, rows, *, include_self, gradient, n_threads))]
pub fn contrastive(
    operators: &Bound<'_, PyOperatorSet>,
    weights: PyReadonlyArray2<'_, f64>,
    view_weights: PyReadonlyArray1<'_, f64>,
    rows: Option<Vec<usize>>,
    include_self: bool,
    gradient: bool,
    n_threads: usize,
) -> PyResult<PyContrastiveLoss> {
    let (py, n_members) = (operators.py(), weights.shape()[1]);
    let wanted = Contrastive { view_weights: elements(&view_weights)?, rows: rows.as_deref(), include_self, gradient };
    let found = dispatch!(&operators.get().0, set => {
        let trajectory = trajectory(set, &weights)?;
        let n_rows = rows.as_ref().map_or(set.n(), Vec::len);
        let cost = cost_per_column(&trajectory).saturating_mul(2 * n_rows);
        run(py, n_threads, cost, |exec| trajectory.contrastive_loss(wanted, exec))?
    });
    Ok(PyContrastiveLoss { loss: found.loss, gradient: matrix(py, found.gradient, n_members)? })
}

/// Return the (samples, columns) array of probes for estimates near a trajectory.
#[pyfunction]
#[pyo3(signature = (operators, weights, view_weights, *, n_signs, seed, n_threads))]
pub fn contrastive_probes<'py>(
    operators: &Bound<'py, PyOperatorSet>,
    weights: PyReadonlyArray2<'_, f64>,
    view_weights: PyReadonlyArray1<'_, f64>,
    n_signs: usize,
    seed: u64,
    n_threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let (py, view_weights) = (operators.py(), elements(&view_weights)?);
    dispatch!(&operators.get().0, set => {
        let trajectory = trajectory(set, &weights)?;
        within("n_signs", n_signs, 1..=set.n().max(FEW_VECTORS))?;
        let cost = cost_per_column(&trajectory).saturating_mul(n_signs);
        let probes =
            run(py, n_threads, cost, |exec| trajectory.contrastive_probes(view_weights, n_signs, seed, exec))?;
        let cols = probes.len() / set.n();
        Ok(matrix(py, probes, cols)?.into_bound(py).into_any())
    })
}

/// Estimate the loss of a trajectory on the simplex, and its gradient, by probes.
#[pyfunction]
#[pyo3(signature = (operators, weights, view_weights, probes, *, n_threads))]
pub fn estimate_contrastive(
    operators: &Bound<'_, PyOperatorSet>,
    weights: PyReadonlyArray2<'_, f64>,
    view_weights: PyReadonlyArray1<'_, f64>,
    probes: &Bound<'_, PyAny>,
    n_threads: usize,
) -> PyResult<PyContrastiveLoss> {
    let (py, n_members) = (operators.py(), weights.shape()[1]);
    let view_weights = elements(&view_weights)?;
    let found = dispatch!(&operators.get().0, set => {
        let trajectory = trajectory(set, &weights)?;
        let probes: PyReadonlyArray2<'_, _> = of_type(probes, "probes")?;
        if probes.shape()[0] != set.n() {
            let message = format!("probes: expected {} rows, one for each sample, got {}", set.n(), probes.shape()[0]);
            return Err(PyValueError::new_err(message));
        }
        let cost = cost_per_column(&trajectory).saturating_mul(2 * probes.shape()[1]);
        let probes = elements(&probes)?;
        run(py, n_threads, cost, |exec| trajectory.estimate_contrastive_loss(view_weights, probes, exec))?
    });
    Ok(PyContrastiveLoss { loss: found.loss, gradient: matrix(py, found.gradient, n_members)? })
}
