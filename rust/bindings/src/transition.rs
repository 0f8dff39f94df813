//! `_core.Transition`: a row-stochastic sparse matrix that Rust owns.

use std::sync::Arc;

use mdt_core::Transition;
use mdt_core::graph::affinity::{Bandwidths, Kernel, Symmetrize, symmetric_affinity};
use mdt_core::ground::csr::Csr;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{AnyArray1, copied, csr, elements, indptr_array, view};
use crate::funnel::{run, to_exception};

/// A transition matrix of either element type.
#[derive(Clone)]
pub enum AnyTransition {
    F32(Arc<Transition<f32>>),
    F64(Arc<Transition<f64>>),
}

/// A sparse matrix with non-negative rows that sum to 1. Immutable; NumPy sees its arrays through read-only views.
#[pyclass(name = "Transition", module = "mdt_fast._core", frozen)]
pub struct PyTransition(pub AnyTransition);

impl From<Transition<f32>> for PyTransition {
    fn from(transition: Transition<f32>) -> Self {
        Self(AnyTransition::F32(Arc::new(transition)))
    }
}

impl From<Transition<f64>> for PyTransition {
    fn from(transition: Transition<f64>) -> Self {
        Self(AnyTransition::F64(Arc::new(transition)))
    }
}

/// Evaluates the same expression for either element type of `$kind`.
macro_rules! either {
    ($kind:ident, $any:expr, $x:ident => $body:expr) => {
        match $any {
            $kind::F32($x) => $body,
            $kind::F64($x) => $body,
        }
    };
}

/// One width, or one for each point.
#[derive(FromPyObject)]
pub enum WidthsArgument<'py> {
    Common(f64),
    PerPoint(PyReadonlyArray1<'py, f64>),
}

impl WidthsArgument<'_> {
    pub fn as_widths(&self) -> PyResult<Bandwidths<'_>> {
        Ok(match self {
            Self::Common(h) => Bandwidths::Common(*h),
            Self::PerPoint(h) => Bandwidths::PerPoint(elements(h)?),
        })
    }
}

pub fn symmetrize(name: &str) -> PyResult<Symmetrize> {
    match name {
        "mean" => Ok(Symmetrize::Mean),
        "max" => Ok(Symmetrize::Max),
        "min" => Ok(Symmetrize::Min),
        other => Err(PyValueError::new_err(format!("symmetrize: unknown name {other:?}"))),
    }
}

/// The kernel of this shape.
pub fn kernel<'a>(shape: &str, widths: &'a WidthsArgument<'_>) -> PyResult<Kernel<'a>> {
    match shape {
        "squared" => Ok(Kernel::Squared(widths.as_widths()?)),
        "linear" => Ok(Kernel::Linear(widths.as_widths()?)),
        "binary" => Ok(Kernel::Binary),
        "given" => Ok(Kernel::Given),
        other => Err(PyValueError::new_err(format!("kernel: unknown shape {other:?}"))),
    }
}

fn n_rows(indptr: &PyReadonlyArray1<'_, i64>) -> PyResult<usize> {
    Ok(indptr.len()?.saturating_sub(1))
}

/// What anisotropic normalisation multiplies the columns of a graph's affinity by, up to a common factor.
#[pyfunction]
#[pyo3(signature = (indptr, indices, distances, *, kernel, widths, diagonal, symmetrize, anisotropy, n_threads))]
#[expect(clippy::too_many_arguments, reason = "a graph and its kernel")]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn density_factors<'py>(
    py: Python<'py>,
    indptr: PyReadonlyArray1<'py, i64>,
    indices: PyReadonlyArray1<'py, i32>,
    distances: PyReadonlyArray1<'py, f64>,
    kernel: &str,
    widths: WidthsArgument<'py>,
    diagonal: f64,
    symmetrize: &str,
    anisotropy: f64,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let how = self::symmetrize(symmetrize)?;
    let kernel = self::kernel(kernel, &widths)?;
    let graph = csr(n_rows(&indptr)?, &indptr, &indices, &distances)?;
    let factors = run(py, n_threads, graph.nnz().saturating_mul(16), |exec| {
        let affinity: Csr<f64> = symmetric_affinity(&graph, kernel, diagonal, how, exec)?;
        mdt_core::density_factors(&affinity, anisotropy, exec)
    })?;
    Ok(factors.into_pyarray(py))
}

/// Everything of a transition that must be stored to restore it: indptr, indices, values, degrees.
type Parts<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

#[pymethods]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
impl PyTransition {
    /// The random walk on a directed graph of distances (no self-loops), made symmetric.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, distances, *, kernel, widths, diagonal, symmetrize, anisotropy, single, n_threads))]
    #[expect(clippy::too_many_arguments, reason = "a graph and its kernel")]
    fn from_graph(
        py: Python<'_>,
        indptr: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i32>,
        distances: PyReadonlyArray1<'_, f64>,
        kernel: &str,
        widths: WidthsArgument<'_>,
        diagonal: f64,
        symmetrize: &str,
        anisotropy: f64,
        single: bool,
        n_threads: usize,
    ) -> PyResult<Self> {
        let how = self::symmetrize(symmetrize)?;
        let kernel = self::kernel(kernel, &widths)?;
        let graph = csr(n_rows(&indptr)?, &indptr, &indices, &distances)?;
        let cost = graph.nnz().saturating_mul(16);
        // Affinities and their normalisation are computed in double precision; only the result is rounded.
        let affinity: Csr<f64> =
            run(py, n_threads, cost, |exec| symmetric_affinity(&graph, kernel, diagonal, how, exec))?;
        drop(graph);
        run(py, n_threads, cost, move |exec| {
            let walk = Transition::from_symmetric(affinity, anisotropy, exec)?;
            Ok(if single { walk.to_single().into() } else { walk.into() })
        })
    }

    /// The random walk of a symmetric affinity.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, values, *, anisotropy, single, n_threads))]
    fn from_affinity(
        py: Python<'_>,
        indptr: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i32>,
        values: PyReadonlyArray1<'_, f64>,
        anisotropy: f64,
        single: bool,
        n_threads: usize,
    ) -> PyResult<Self> {
        let affinity = csr(n_rows(&indptr)?, &indptr, &indices, &values)?;
        run(py, n_threads, affinity.nnz(), move |exec| {
            let walk = Transition::from_symmetric(affinity, anisotropy, exec)?;
            Ok(if single { walk.to_single().into() } else { walk.into() })
        })
    }

    /// A row-stochastic matrix, renormalised; its rows must sum to 1 within the tolerance.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, values, *, tolerance, single, n_threads))]
    fn from_stochastic(
        py: Python<'_>,
        indptr: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i32>,
        values: PyReadonlyArray1<'_, f64>,
        tolerance: f64,
        single: bool,
        n_threads: usize,
    ) -> PyResult<Self> {
        let matrix = csr(n_rows(&indptr)?, &indptr, &indices, &values)?;
        run(py, n_threads, matrix.nnz(), move |exec| {
            let walk = Transition::from_stochastic(matrix, tolerance, exec)?;
            Ok(if single { walk.to_single().into() } else { walk.into() })
        })
    }

    /// The matrix whose parts `__reduce__` stored.
    #[staticmethod]
    fn restore(
        indptr: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i32>,
        values: AnyArray1<'_>,
        degrees: Option<AnyArray1<'_>>,
    ) -> PyResult<Self> {
        let n = n_rows(&indptr)?;
        match (values, degrees) {
            (AnyArray1::F32(values), Some(AnyArray1::F32(d))) => {
                let matrix = csr(n, &indptr, &indices, &values)?;
                Transition::restore(matrix, Some(copied(&d)?)).map(Self::from).map_err(to_exception)
            }
            (AnyArray1::F64(values), Some(AnyArray1::F64(d))) => {
                let matrix = csr(n, &indptr, &indices, &values)?;
                Transition::restore(matrix, Some(copied(&d)?)).map(Self::from).map_err(to_exception)
            }
            (values, None) => either!(AnyArray1, values, values => {
                Transition::restore(csr(n, &indptr, &indices, &values)?, None).map(Self::from).map_err(to_exception)
            }),
            _ => Err(PyValueError::new_err("degrees: expected the element type of the values")),
        }
    }

    /// Row pointers.
    #[getter]
    fn indptr<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        either!(AnyTransition, &self.0, t => indptr_array(py, t.matrix().indptr()))
    }

    /// Column indices, a read-only view.
    #[getter]
    fn indices<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let indices = either!(AnyTransition, &slf.get().0, t => t.matrix().indices());
        // SAFETY: `slf` is frozen and its matrix is never changed.
        unsafe { view(bytemuck::cast_slice(indices), slf.clone().into_any()) }
    }

    /// Entries, a read-only view.
    #[getter]
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        either!(AnyTransition, &slf.get().0, t => {
            // SAFETY: as for the indices.
            unsafe { view(t.matrix().values(), slf.clone().into_any()) }.map(Bound::into_any)
        })
    }

    /// Degrees up to a common factor, or None when the walk is not known to be reversible.
    #[getter]
    fn degrees<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        either!(AnyTransition, &self.0, t => t.degrees().map(|d| PyArray1::from_slice(py, d).into_any()))
    }

    /// Number of states.
    #[getter]
    fn n(&self) -> usize {
        either!(AnyTransition, &self.0, t => t.n())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Parts<'py>)> {
        let py = slf.py();
        let parts = (
            slf.get().indptr(py).into_any(),
            Self::indices(slf)?.into_any(),
            Self::values(slf)?,
            slf.get().degrees(py),
        );
        Ok((slf.getattr("restore")?, parts))
    }
}
