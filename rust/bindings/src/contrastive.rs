//! `contrastive`: the contrastive loss of a trajectory and its gradient.

use mdt_core::Contrastive;
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{elements, matrix};
use crate::operator_set::{PyOperatorSet, cost_per_column, trajectory};
use crate::precision::dispatch;
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
