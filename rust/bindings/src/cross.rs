//! New points: `cross_knn` and `cross_knn_sparse` find their edges to the training points, `cross_rows` makes their rows.

use bytemuck::allocation::cast_vec;
use mdt_core::ground::csr::Csr;
use mdt_core::graph::neighbours::{ChosenBy, CrossTable, Features, Reach, cross_neighbours};
use mdt_core::{CrossRows, Real};
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{AnyArray2, csr, elements, indptr_array};
use crate::funnel::run;
use crate::neighbours::metric;
use crate::transition::{WidthsArgument, kernel, symmetrize};

/// Row pointers, columns and values of a matrix that comes in.
type Parts<'py> = (PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, f64>);
/// The same on the way out.
type Rows<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>);
/// Edges, their sides, nearest points, scales.
type Table<'py> = (Rows<'py>, Bound<'py, PyArray1<u8>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>);
/// Distance and index of the last neighbour of each training point.
type ReachArgument<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, i32>);
/// Rows, and those among them that had no affinity.
type Made<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<i32>>);

/// A side as a number: 1 for near, 2 for within, 3 for both.
fn side_to_number(side: ChosenBy) -> u8 {
    match side {
        ChosenBy::NewPoint => 1,
        ChosenBy::TrainingPoint => 2,
        ChosenBy::Both => 3,
    }
}

fn number_to_side(number: u8) -> PyResult<ChosenBy> {
    match number {
        1 => Ok(ChosenBy::NewPoint),
        2 => Ok(ChosenBy::TrainingPoint),
        3 => Ok(ChosenBy::Both),
        other => Err(PyValueError::new_err(format!("sides: expected 1, 2 or 3, got {other}"))),
    }
}

fn unsigned<'a>(array: &'a PyReadonlyArray1<'_, i32>, name: &str) -> PyResult<&'a [u32]> {
    let numbers = elements(array)?;
    if numbers.iter().any(|&i| i < 0) {
        return Err(PyValueError::new_err(format!("{name}: expected non-negative integers")));
    }
    Ok(bytemuck::cast_slice(numbers))
}

fn rows(py: Python<'_>, matrix: Csr<f64>) -> Rows<'_> {
    let (indptr, indices, values) = matrix.into_parts();
    (indptr_array(py, &indptr), cast_vec::<u32, i32>(indices).into_pyarray(py), values.into_pyarray(py))
}

fn table(py: Python<'_>, table: CrossTable) -> Table<'_> {
    let sides: Vec<u8> = table.chosen_by.into_iter().map(side_to_number).collect();
    (
        rows(py, table.distances),
        sides.into_pyarray(py),
        cast_vec::<u32, i32>(table.nearest).into_pyarray(py),
        table.scales.into_pyarray(py),
    )
}

fn search_dense<'py, T: Real + Element>(
    py: Python<'py>,
    x: &PyReadonlyArray2<'py, T>,
    new: &PyReadonlyArray2<'py, f64>,
    reach: &ReachArgument<'py>,
    k: usize,
    metric: &str,
    n_threads: usize,
) -> PyResult<Table<'py>> {
    let metric = self::metric(metric)?;
    let reach = Reach { radii: elements(&reach.0)?, last: unsigned(&reach.1, "last")? };
    let dimension = x.shape()[1];
    let training = Features::Dense { data: elements(x)?, dimension };
    let new_points = Features::Dense { data: elements(new)?, dimension: new.shape()[1] };
    let cost = x.len().saturating_mul(new.shape()[0].max(1));
    let found = run(py, n_threads, cost, |exec| cross_neighbours(training, reach, new_points, k, metric, exec))?;
    Ok(table(py, found))
}

/// The edges from the rows of `new` to the rows of `x`.
#[pyfunction]
#[pyo3(signature = (x, new, reach, k, metric, n_threads))]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn cross_knn<'py>(
    py: Python<'py>,
    x: AnyArray2<'py>,
    new: PyReadonlyArray2<'py, f64>,
    reach: ReachArgument<'py>,
    k: usize,
    metric: &str,
    n_threads: usize,
) -> PyResult<Table<'py>> {
    match x {
        AnyArray2::F32(x) => search_dense(py, &x, &new, &reach, k, metric, n_threads),
        AnyArray2::F64(x) => search_dense(py, &x, &new, &reach, k, metric, n_threads),
    }
}

/// The edges from the rows of one sparse matrix to the rows of another.
#[pyfunction]
#[pyo3(signature = (n_cols, x, new, reach, k, metric, n_threads))]
#[expect(clippy::too_many_arguments, reason = "two matrices and how to compare them")]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn cross_knn_sparse<'py>(
    py: Python<'py>,
    n_cols: usize,
    x: Parts<'py>,
    new: Parts<'py>,
    reach: ReachArgument<'py>,
    k: usize,
    metric: &str,
    n_threads: usize,
) -> PyResult<Table<'py>> {
    let metric = self::metric(metric)?;
    let reach = Reach { radii: elements(&reach.0)?, last: unsigned(&reach.1, "last")? };
    let training: Csr<f64> = csr(n_cols, &x.0, &x.1, &x.2)?;
    let new: Csr<f64> = csr(n_cols, &new.0, &new.1, &new.2)?;
    let cost = training.nnz().saturating_mul(new.n_rows().max(1));
    let found = run(py, n_threads, cost, |exec| {
        cross_neighbours(Features::Sparse(&training), reach, Features::Sparse(&new), k, metric, exec)
    })?;
    Ok(table(py, found))
}

/// The transition rows of new points, from their edges.
#[pyfunction]
#[pyo3(signature = (n_cols, edges, sides, nearest, *, kernel, widths, own_widths, symmetrize, densities, n_threads))]
#[expect(clippy::too_many_arguments, reason = "edges and their kernel")]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn cross_rows<'py>(
    py: Python<'py>,
    n_cols: usize,
    edges: Parts<'py>,
    sides: PyReadonlyArray1<'py, u8>,
    nearest: PyReadonlyArray1<'py, i32>,
    kernel: &str,
    widths: WidthsArgument<'py>,
    own_widths: WidthsArgument<'py>,
    symmetrize: &str,
    densities: Option<PyReadonlyArray1<'py, f64>>,
    n_threads: usize,
) -> PyResult<Made<'py>> {
    let edges: Csr<f64> = csr(n_cols, &edges.0, &edges.1, &edges.2)?;
    let sides: Vec<ChosenBy> = elements(&sides)?.iter().map(|&s| number_to_side(s)).collect::<PyResult<_>>()?;
    let made = CrossRows {
        edges: &edges,
        chosen_by: &sides,
        nearest: unsigned(&nearest, "nearest")?,
        kernel: self::kernel(kernel, &widths)?,
        own: own_widths.as_widths()?,
        symmetrize: self::symmetrize(symmetrize)?,
        density: densities.as_ref().map(elements).transpose()?,
    };
    let cost = edges.nnz().saturating_mul(16);
    let steps = run(py, n_threads, cost, |exec| mdt_core::cross_rows(made, exec))?;
    let (indptr, indices, values) = rows(py, steps.matrix);
    Ok((indptr, indices, values, cast_vec::<u32, i32>(steps.isolated).into_pyarray(py)))
}
