//! `_core.contrastive`: the contrastive loss of a trajectory and its gradient.

use mdt_core::{Contrastive, OperatorSet, Real, Trajectory};
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{elements, matrix};
use crate::funnel::{run, to_exception};
use crate::operator_set::{AnySet, PyOperatorSet, cost_per_column};

fn evaluate<T: Real>(
    py: Python<'_>,
    set: &OperatorSet<T>,
    weights: &[f64],
    asked: Contrastive<'_>,
    n_threads: usize,
) -> PyResult<(f64, Vec<f64>)> {
    let trajectory = Trajectory::new(set, weights).map_err(to_exception)?;
    let rows = asked.rows.map_or(set.n(), <[usize]>::len);
    let cost = cost_per_column(&trajectory).saturating_mul(2 * rows);
    let found = run(py, n_threads, cost, |exec| trajectory.contrastive_loss(asked, exec))?;
    Ok((found.loss, found.gradient))
}

/// The loss of a trajectory given by its (steps, members) weights, which need not be on the simplex, and its gradient with
/// respect to them (no rows unless asked for).
#[pyfunction]
#[pyo3(signature = (operators, weights, view_weights, rows, *, include_self, gradient, n_threads))]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
#[expect(clippy::too_many_arguments, reason = "mirrors the Python function")]
pub fn contrastive<'py>(
    py: Python<'py>,
    operators: PyRef<'py, PyOperatorSet>,
    weights: PyReadonlyArray2<'py, f64>,
    view_weights: PyReadonlyArray1<'py, f64>,
    rows: Option<Vec<usize>>,
    include_self: bool,
    gradient: bool,
    n_threads: usize,
) -> PyResult<(f64, Bound<'py, PyArray2<f64>>)> {
    let view_weights = elements(&view_weights)?;
    let asked = Contrastive { view_weights, rows: rows.as_deref(), include_self, gradient };
    let members = weights.shape()[1];
    let weights = elements(&weights)?;
    let (loss, derivatives) = match &operators.0 {
        AnySet::F32(set) => evaluate(py, set, weights, asked, n_threads),
        AnySet::F64(set) => evaluate(py, set, weights, asked, n_threads),
    }?;
    Ok((loss, matrix(py, derivatives, members)?))
}
