//! Conversions between NumPy arrays and the core's vectors and sparse matrices.

use std::borrow::Cow;

use bytemuck::allocation::cast_vec;
use bytemuck::{AnyBitPattern, NoUninit, cast_slice};
use mdt_core::ground::memory;
use mdt_core::{Csr, Real};
use numpy::ndarray::{Dimension, aview1};
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::precision::{AnyArray1, AnyCsr, Precision, of_type};
use crate::run::to_exception;

/// The arrays of a sparse matrix in CSR form.
#[pyclass(name = "CsrParts", module = "mdt_fast._core", frozen, get_all)]
pub struct PyCsrParts {
    n_cols: usize,
    indptr: Py<PyArray1<i64>>,
    indices: Py<PyArray1<i32>>,
    values: Py<PyAny>,
}

#[pymethods]
impl PyCsrParts {
    /// Keep references to the arrays; their contents are checked where they are used.
    #[new]
    fn new(
        n_cols: usize,
        indptr: Py<PyArray1<i64>>,
        indices: Py<PyArray1<i32>>,
        values: Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        values.extract::<AnyArray1<'_>>()?;
        Ok(Self { n_cols, indptr, indices, values: values.unbind() })
    }
}

impl PyCsrParts {
    /// The arrays of `matrix`, which take over its memory.
    pub fn from_csr<T: Real + Element>(py: Python<'_>, matrix: Csr<T>) -> Self {
        let n_cols = matrix.n_cols();
        let (indptr, indices, values) = matrix.into_parts();
        let values = values.into_pyarray(py).into_any().unbind();
        let indptr = cast_vec::<u64, i64>(indptr).into_pyarray(py).unbind();
        Self { n_cols, indptr, indices: signed(py, indices), values }
    }

    /// A checked copy with double-precision values.
    pub fn to_csr(&self, py: Python<'_>) -> PyResult<Csr<f64>> {
        let values = of_type(self.values.bind(py), "values")?;
        csr(self.n_cols, &self.indptr.bind(py).readonly(), &self.indices.bind(py).readonly(), &values)
    }

    /// A checked copy with values of their own precision.
    pub fn to_any_csr(&self, py: Python<'_>) -> PyResult<AnyCsr> {
        let (indptr, indices) = (self.indptr.bind(py).readonly(), self.indices.bind(py).readonly());
        match self.values.extract(py)? {
            Precision::Single(values) => csr(self.n_cols, &indptr, &indices, &values).map(Precision::Single),
            Precision::Double(values) => csr(self.n_cols, &indptr, &indices, &values).map(Precision::Double),
        }
    }
}

/// The elements of a C-contiguous array.
pub fn elements<'a, T: Element, D: Dimension>(array: &'a PyReadonlyArray<'_, T, D>) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| PyTypeError::new_err("expected a C-contiguous array"))
}

/// The elements of an array of any layout, copied where they are not contiguous. A pickle may place
/// arrays at addresses that are not multiples of the element size.
fn contents<'a, T: Element + Copy>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<Cow<'a, [T]>> {
    if let Ok(slice) = array.as_slice() {
        return Ok(Cow::Borrowed(slice));
    }
    let copy: PyReadonlyArray1<'_, T> = array.call_method0("copy")?.extract()?;
    memory::copy(elements(&copy)?).map(Cow::Owned).map_err(to_exception)
}

/// A copy of an array.
pub fn copied<T: Element + Copy>(array: &PyReadonlyArray1<'_, T>) -> PyResult<Vec<T>> {
    match contents(array)? {
        Cow::Owned(copy) => Ok(copy),
        Cow::Borrowed(slice) => memory::copy(slice).map_err(to_exception),
    }
}

/// An `(n, cols)` array that takes over the elements.
pub fn matrix<T: Element>(py: Python<'_>, data: Vec<T>, cols: usize) -> PyResult<Py<PyArray2<T>>> {
    let rows = data.len().checked_div(cols).unwrap_or(0);
    data.into_pyarray(py).reshape([rows, cols]).map(Bound::unbind)
}

/// An array of indices or labels that takes over the elements, all below `2^31`.
pub fn signed(py: Python<'_>, data: Vec<u32>) -> Py<PyArray1<i32>> {
    cast_vec::<u32, i32>(data).into_pyarray(py).unbind()
}

/// A checked copy of indices as unsigned integers of the same size; `name` is the argument in the
/// error.
pub fn unsigned<I, U>(array: &PyReadonlyArray1<'_, I>, name: &str) -> PyResult<Vec<U>>
where
    I: Element + NoUninit + PartialOrd + Default,
    U: AnyBitPattern,
{
    let numbers = copied(array)?;
    if numbers.iter().any(|number| *number < I::default()) {
        return Err(PyValueError::new_err(format!("{name}: expected non-negative integers")));
    }
    Ok(cast_vec(numbers))
}

/// A CSR matrix from copies of its arrays.
pub fn csr<T: Real + Element>(
    n_cols: usize,
    indptr: &PyReadonlyArray1<'_, i64>,
    indices: &PyReadonlyArray1<'_, i32>,
    values: &PyReadonlyArray1<'_, T>,
) -> PyResult<Csr<T>> {
    let (indptr, indices) = (unsigned(indptr, "indptr")?, unsigned(indices, "indices")?);
    Csr::new(n_cols, indptr, indices, copied(values)?).map_err(to_exception)
}

/// An array with a copy of the elements.
pub fn array<'py, T: Element + Copy>(py: Python<'py>, data: &[T]) -> PyResult<Bound<'py, PyArray1<T>>> {
    memory::copy(data).map(|copy| copy.into_pyarray(py)).map_err(to_exception)
}

/// Row pointers in SciPy's type.
pub fn indptr_array<'py>(py: Python<'py>, indptr: &[u64]) -> PyResult<Bound<'py, PyArray1<i64>>> {
    array(py, cast_slice(indptr))
}

/// An array of the element type of another one, with any contents, or NumPy's `MemoryError`.
pub fn empty<'py, T: Element>(like: &PyReadonlyArray2<'py, T>, shape: [usize; 2]) -> PyResult<Bound<'py, PyArray2<T>>> {
    let py = like.py();
    memory::require(shape.iter().fold(size_of::<T>() as u64, |bytes, &n| bytes.saturating_mul(n as u64)))
        .map_err(to_exception)?;
    let made =
        py.import(pyo3::intern!(py, "numpy"))?.call_method1(pyo3::intern!(py, "empty"), (shape, like.dtype()))?;
    Ok(made.cast_into()?)
}

/// A read-only view of memory that `owner` keeps alive and never changes.
///
/// # Safety
/// `data` must belong to `owner`, and must neither move nor change while `owner` lives.
pub unsafe fn view<'py, T: Element>(data: &[T], owner: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<T>>> {
    // SAFETY: the caller guarantees it.
    let array = unsafe { PyArray1::borrow_from_array(&aview1(data), owner) };
    array.call_method1("setflags", (false,))?;
    Ok(array)
}
