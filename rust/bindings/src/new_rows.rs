//! New samples: `cross_knn` finds their edges to the training samples, `cross_rows` makes their
//! transition rows.

use mdt_core::CrossRows;
use mdt_core::graph::neighbours::{ChosenBy, CrossIndex, Features, IndexSettings, Reach, cross_neighbours};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{PyCsrParts, elements, signed, unsigned};
use crate::features::{OwnedRows, RowsArgument, with_features};
use crate::neighbours::metric;
use crate::run::run;
use crate::transition::{WidthsArgument, kernel, symmetrize};

/// Edges from new samples to training samples.
#[pyclass(name = "CrossTable", module = "mdt_fast._core", frozen, get_all)]
pub struct PyCrossTable {
    edges: Py<PyCsrParts>,
    sides: Py<PyArray1<u8>>,
    nearest: Py<PyArray1<i32>>,
    scales: Py<PyArray1<f64>>,
}

/// Transition rows of new samples.
#[pyclass(name = "CrossRows", module = "mdt_fast._core", frozen, get_all)]
pub struct PyCrossRows {
    rows: Py<PyCsrParts>,
    without_affinity: Py<PyArray1<i32>>,
}

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

/// Cells of training samples, for the approximate edges of new samples.
#[pyclass(name = "CrossIndex", module = "mdt_fast._core", frozen)]
pub struct PyCrossIndex(CrossIndex);

#[pymethods]
impl PyCrossIndex {
    /// The share of the edges of training samples, in the place of new ones, that it finds.
    #[getter]
    fn recall(&self) -> f64 {
        self.0.recall()
    }

    /// The mean share of the training samples that a new sample is compared with.
    #[getter]
    fn share(&self) -> f64 {
        self.0.share()
    }
}

/// Make an index of the rows of `x`; None if comparing with all of them takes less time.
///
/// `radii` are the distances of the last neighbour of each row.
#[pyfunction]
#[pyo3(signature = (x, *, radii, k, metric, recall, points_per_cell, largest_share, n_threads))]
pub fn cross_index(
    py: Python<'_>,
    x: RowsArgument<'_>,
    radii: PyReadonlyArray1<'_, f64>,
    k: usize,
    metric: &str,
    recall: f64,
    points_per_cell: Option<usize>,
    largest_share: Option<f64>,
    n_threads: usize,
) -> PyResult<Option<PyCrossIndex>> {
    let (metric, usual) = (self::metric(metric)?, IndexSettings::new(k, recall));
    let settings = IndexSettings {
        points_per_cell: points_per_cell.unwrap_or(usual.points_per_cell),
        largest_share: largest_share.unwrap_or(usual.largest_share),
        ..usual
    };
    let reach = Reach { radii: elements(&radii)?, last: &[] };
    let index = with_features!(py, &x, points => {
        let cost = points.n_rows().saturating_mul(points.size());
        run(py, n_threads, cost, |exec| CrossIndex::new(points, reach, metric, settings, exec))?
    });
    Ok(index.map(PyCrossIndex))
}

/// Find the edges from the rows of `new` to the rows of `x`, both dense or both sparse.
///
/// `radii` and `last` are the distance and the index of the last neighbour of each row of `x`. With an
/// `index` of `x` the edges are approximate.
#[pyfunction]
#[pyo3(signature = (x, new, *, radii, last, k, metric, index, n_threads))]
pub fn cross_knn(
    py: Python<'_>,
    x: RowsArgument<'_>,
    new: OwnedRows,
    radii: PyReadonlyArray1<'_, f64>,
    last: PyReadonlyArray1<'_, i32>,
    k: usize,
    metric: &str,
    index: Option<&Bound<'_, PyCrossIndex>>,
    n_threads: usize,
) -> PyResult<PyCrossTable> {
    let last = unsigned(&last, "last")?;
    let reach = Reach { radii: elements(&radii)?, last: &last };
    let (new, metric) = (new.as_features(), self::metric(metric)?);
    let index = index.map(|index| &index.get().0);
    let found = with_features!(py, &x, points => {
        let cost = points.size().saturating_mul(new.n_rows().max(1));
        run(py, n_threads, cost, |exec| cross_neighbours(points, reach, new, k, metric, index, exec))?
    });
    let sides: Vec<u8> = found.chosen_by.into_iter().map(side_to_number).collect();
    Ok(PyCrossTable {
        edges: Py::new(py, PyCsrParts::from_csr(py, found.distances))?,
        sides: sides.into_pyarray(py).unbind(),
        nearest: signed(py, found.nearest),
        scales: found.scales.into_pyarray(py).unbind(),
    })
}

/// Make the transition rows of new samples from their edges.
#[pyfunction]
#[pyo3(signature = (edges, sides, nearest, *, kernel, widths, own_widths, symmetrize, densities, n_threads))]
pub fn cross_rows(
    py: Python<'_>,
    edges: &Bound<'_, PyCsrParts>,
    sides: PyReadonlyArray1<'_, u8>,
    nearest: PyReadonlyArray1<'_, i32>,
    kernel: &str,
    widths: WidthsArgument<'_>,
    own_widths: WidthsArgument<'_>,
    symmetrize: &str,
    densities: Option<PyReadonlyArray1<'_, f64>>,
    n_threads: usize,
) -> PyResult<PyCrossRows> {
    let edges = edges.get().to_csr(py)?;
    let sides: Vec<ChosenBy> = elements(&sides)?.iter().map(|&s| number_to_side(s)).collect::<PyResult<_>>()?;
    // A copy: the indices are checked before they are used, and another thread may change the array.
    let nearest = unsigned(&nearest, "nearest")?;
    let rows = CrossRows {
        edges: &edges,
        chosen_by: &sides,
        nearest: &nearest,
        kernel: self::kernel(kernel, &widths)?,
        own: own_widths.as_widths()?,
        symmetrize: self::symmetrize(symmetrize)?,
        density: densities.as_ref().map(elements).transpose()?,
    };
    let cost = edges.nnz().saturating_mul(16);
    let made = run(py, n_threads, cost, |exec| mdt_core::cross_rows(rows, exec))?;
    let rows = Py::new(py, PyCsrParts::from_csr(py, made.matrix))?;
    Ok(PyCrossRows { rows, without_affinity: signed(py, made.isolated) })
}
