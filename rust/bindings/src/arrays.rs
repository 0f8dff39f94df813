//! Arrays across the boundary.

use std::borrow::Cow;

use bytemuck::cast_slice;
use mdt_core::Real;
use mdt_core::ground::csr::Csr;
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2,
    PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::funnel::to_exception;

/// A one-dimensional array of either element type.
pub enum AnyArray1<'py> {
    F32(PyReadonlyArray1<'py, f32>),
    F64(PyReadonlyArray1<'py, f64>),
}

/// A two-dimensional array of either element type.
pub enum AnyArray2<'py> {
    F32(PyReadonlyArray2<'py, f32>),
    F64(PyReadonlyArray2<'py, f64>),
}

/// The element type is looked at first: a failed attempt would have NumPy write a message in Python, where a Ctrl-C is lost.
fn is_single(object: Borrowed<'_, '_, PyAny>) -> bool {
    let single = numpy::dtype::<f32>(object.py());
    object.cast::<PyUntypedArray>().is_ok_and(|array| array.dtype().is_equiv_to(&single))
}

impl<'a, 'py> FromPyObject<'a, 'py> for AnyArray1<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if is_single(object) { object.extract().map(Self::F32) } else { object.extract().map(Self::F64) }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for AnyArray2<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if is_single(object) { object.extract().map(Self::F32) } else { object.extract().map(Self::F64) }
    }
}

/// The elements of a C-contiguous array.
pub fn elements<'a, T: Element, D: numpy::ndarray::Dimension>(
    array: &'a numpy::PyReadonlyArray<'_, T, D>,
) -> PyResult<&'a [T]> {
    array.as_slice().map_err(|_| PyTypeError::new_err("expected a C-contiguous array"))
}

/// The elements of an array in any layout: as they lie, or copied where that is no slice. A pickle may leave arrays at
/// addresses that are not multiples of the element's size.
fn contents<'a, T: Element + Copy>(array: &'a PyReadonlyArray1<'_, T>) -> PyResult<Cow<'a, [T]>> {
    if let Ok(slice) = array.as_slice() {
        return Ok(Cow::Borrowed(slice));
    }
    let copy: PyReadonlyArray1<'_, T> = array.call_method0("copy")?.extract()?;
    Ok(Cow::Owned(elements(&copy)?.to_vec()))
}

/// A copy of an array.
pub fn copied<T: Element + Copy>(array: &PyReadonlyArray1<'_, T>) -> PyResult<Vec<T>> {
    contents(array).map(Cow::into_owned)
}

/// An `(n, cols)` array that takes over the elements.
pub fn matrix<T: Element>(py: Python<'_>, data: Vec<T>, cols: usize) -> PyResult<Bound<'_, PyArray2<T>>> {
    let rows = data.len().checked_div(cols).unwrap_or(0);
    data.into_pyarray(py).reshape([rows, cols])
}

/// A CSR matrix from copies of its parts.
pub fn csr<T: Real + Element>(
    n_cols: usize,
    indptr: &PyReadonlyArray1<'_, i64>,
    indices: &PyReadonlyArray1<'_, i32>,
    values: &PyReadonlyArray1<'_, T>,
) -> PyResult<Csr<T>> {
    let unsigned = |name: &str| PyValueError::new_err(format!("{name}: expected non-negative integers"));
    let indptr: Vec<u64> = contents(indptr)?
        .iter()
        .map(|&p| u64::try_from(p))
        .collect::<Result<_, _>>()
        .map_err(|_| unsigned("indptr"))?;
    let indices: Vec<u32> = contents(indices)?
        .iter()
        .map(|&c| u32::try_from(c))
        .collect::<Result<_, _>>()
        .map_err(|_| unsigned("indices"))?;
    Csr::new(n_cols, indptr, indices, copied(values)?).map_err(to_exception)
}

/// Row pointers as SciPy wants them.
pub fn indptr_array<'py>(py: Python<'py>, indptr: &[u64]) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_slice(py, cast_slice(indptr))
}

/// A read-only view of memory that `owner` keeps alive and never changes.
///
/// # Safety
/// `data` must belong to `owner`, and neither move nor change while `owner` lives.
pub unsafe fn view<'py, T: Element>(data: &[T], owner: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<T>>> {
    // SAFETY: the caller's promise.
    let array = unsafe { PyArray1::borrow_from_array(&numpy::ndarray::aview1(data), owner) };
    array.call_method1("setflags", (false,))?;
    Ok(array)
}
