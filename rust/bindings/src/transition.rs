//! `Transition`: a row-stochastic sparse matrix that Rust owns.

use std::sync::Arc;

use mdt_core::graph::affinity::{Bandwidths, Kernel, Symmetrize, symmetric_affinity};
use mdt_core::{Csr, Exec, Result, Transition};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{PyCsrParts, array, copied, csr, elements, indptr_array, view};
use crate::precision::{AnyArray1, AnyTransition, Precision, dispatch, of_type};
use crate::run::{run, to_exception};

/// A sparse matrix with non-negative rows that sum to 1. Immutable; NumPy reads its arrays through
/// read-only views.
#[pyclass(name = "Transition", module = "mdt_fast._core", frozen)]
pub struct PyTransition(pub AnyTransition);

impl From<Arc<Transition<f32>>> for PyTransition {
    fn from(transition: Arc<Transition<f32>>) -> Self {
        Self(Precision::Single(transition))
    }
}

impl From<Arc<Transition<f64>>> for PyTransition {
    fn from(transition: Arc<Transition<f64>>) -> Self {
        Self(Precision::Double(transition))
    }
}

impl<T> From<Transition<T>> for PyTransition
where
    Self: From<Arc<Transition<T>>>,
{
    fn from(transition: Transition<T>) -> Self {
        Arc::new(transition).into()
    }
}

/// One width for all points, or one for each point.
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

pub fn kernel<'a>(shape: &str, widths: &'a WidthsArgument<'_>) -> PyResult<Kernel<'a>> {
    match shape {
        "squared" => Ok(Kernel::Squared(widths.as_widths()?)),
        "linear" => Ok(Kernel::Linear(widths.as_widths()?)),
        "binary" => Ok(Kernel::Binary),
        "given" => Ok(Kernel::Given),
        other => Err(PyValueError::new_err(format!("kernel: unknown shape {other:?}"))),
    }
}

/// Return the factors by which anisotropic normalisation multiplies the columns of a graph's
/// affinity, up to a common factor.
#[pyfunction]
#[pyo3(signature = (graph, *, kernel, widths, diagonal, symmetrize, anisotropy, n_threads))]
pub fn density_factors<'py>(
    graph: &Bound<'py, PyCsrParts>,
    kernel: &str,
    widths: WidthsArgument<'py>,
    diagonal: f64,
    symmetrize: &str,
    anisotropy: f64,
    n_threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let py = graph.py();
    let (kernel, how) = (self::kernel(kernel, &widths)?, self::symmetrize(symmetrize)?);
    let graph = graph.get().to_csr(py)?;
    let factors = run(py, n_threads, graph.nnz().saturating_mul(16), |exec| {
        let affinity: Csr<f64> = symmetric_affinity(graph, kernel, diagonal, how, exec)?;
        mdt_core::density_factors(&affinity, anisotropy, exec)
    })?;
    Ok(factors.into_pyarray(py))
}

/// Runs `make` in double precision and rounds the result if single precision is required.
fn make(
    py: Python<'_>,
    cost: usize,
    single_precision: bool,
    n_threads: usize,
    make: impl FnOnce(&Exec) -> Result<Transition<f64>> + Send,
) -> PyResult<PyTransition> {
    run(py, n_threads, cost, move |exec| {
        let walk = make(exec)?;
        Ok(if single_precision { walk.into_single()?.into() } else { walk.into() })
    })
}

/// The arguments of `Transition.restore`: indptr, indices, values, degrees.
type State<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

#[pymethods]
impl PyTransition {
    /// Make the random walk on a directed graph of distances without self-loops, made symmetric.
    #[staticmethod]
    #[pyo3(signature = (graph, *, kernel, widths, diagonal, symmetrize, anisotropy, single_precision, n_threads))]
    fn from_graph(
        graph: &Bound<'_, PyCsrParts>,
        kernel: &str,
        widths: WidthsArgument<'_>,
        diagonal: f64,
        symmetrize: &str,
        anisotropy: f64,
        single_precision: bool,
        n_threads: usize,
    ) -> PyResult<Self> {
        let py = graph.py();
        let (kernel, how) = (self::kernel(kernel, &widths)?, self::symmetrize(symmetrize)?);
        let graph = graph.get().to_csr(py)?;
        let cost = graph.nnz().saturating_mul(16);
        let affinity = run(py, n_threads, cost, |exec| symmetric_affinity(graph, kernel, diagonal, how, exec))?;
        make(py, cost, single_precision, n_threads, |exec| Transition::from_symmetric(affinity, anisotropy, exec))
    }

    /// Make the random walk of a symmetric affinity.
    #[staticmethod]
    #[pyo3(signature = (affinity, *, anisotropy, single_precision, n_threads))]
    fn from_affinity(
        affinity: &Bound<'_, PyCsrParts>,
        anisotropy: f64,
        single_precision: bool,
        n_threads: usize,
    ) -> PyResult<Self> {
        let (py, affinity) = (affinity.py(), affinity.get().to_csr(affinity.py())?);
        let cost = affinity.nnz();
        make(py, cost, single_precision, n_threads, |exec| Transition::from_symmetric(affinity, anisotropy, exec))
    }

    /// Rescale the rows of a matrix to sum to 1; they must do so within the tolerance.
    #[staticmethod]
    #[pyo3(signature = (matrix, *, tolerance, single_precision, n_threads))]
    fn from_stochastic(
        matrix: &Bound<'_, PyCsrParts>,
        tolerance: f64,
        single_precision: bool,
        n_threads: usize,
    ) -> PyResult<Self> {
        let (py, matrix) = (matrix.py(), matrix.get().to_csr(matrix.py())?);
        let cost = matrix.nnz();
        make(py, cost, single_precision, n_threads, |exec| Transition::from_stochastic(matrix, tolerance, exec))
    }

    /// Restore a matrix from the arrays that `__reduce__` stored.
    #[staticmethod]
    fn restore(
        indptr: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i32>,
        values: AnyArray1<'_>,
        degrees: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let n = indptr.len()?.saturating_sub(1);
        dispatch!(values, values => {
            let degrees = degrees.map(|d| copied(&of_type(&d, "degrees")?)).transpose()?;
            Transition::restore(csr(n, &indptr, &indices, &values)?, degrees).map(Self::from).map_err(to_exception)
        })
    }

    /// Return the walk among `n` samples of which this one has the ascending `samples`. The rows of
    /// the others are empty, or, if they `stay`, those of the identity.
    fn among(&self, samples: PyReadonlyArray1<'_, u32>, n: usize, stay: bool) -> PyResult<Self> {
        let samples = elements(&samples)?;
        dispatch!(&self.0, walk => walk.among(samples, n, stay).map(Self::from).map_err(to_exception))
    }

    /// Row pointers.
    #[getter]
    fn indptr<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        dispatch!(&self.0, t => indptr_array(py, t.matrix().indptr()))
    }

    /// Column indices, a read-only view.
    #[getter]
    fn indices<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyArray1<i32>>> {
        let indices = dispatch!(&slf.get().0, t => t.matrix().indices());
        // SAFETY: `slf` is frozen and its matrix is never changed.
        unsafe { view(bytemuck::cast_slice(indices), slf.clone().into_any()) }
    }

    /// Entries, a read-only view.
    #[getter]
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        dispatch!(&slf.get().0, t => {
            // SAFETY: see `indices`.
            unsafe { view(t.matrix().values(), slf.clone().into_any()) }.map(Bound::into_any)
        })
    }

    /// Degrees up to a common factor, or None if the walk is not known to be reversible.
    #[getter]
    fn degrees<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        dispatch!(&self.0, t => t.degrees().map(|d| array(py, d).map(Bound::into_any)).transpose())
    }

    /// Number of states.
    #[getter]
    fn n(&self) -> usize {
        dispatch!(&self.0, t => t.n())
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, State<'py>)> {
        let py = slf.py();
        let state = (
            slf.get().indptr(py)?.into_any(),
            Self::indices(slf)?.into_any(),
            Self::values(slf)?,
            slf.get().degrees(py)?,
        );
        Ok((slf.getattr("restore")?, state))
    }
}
