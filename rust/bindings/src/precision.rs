//! The one dispatch over single (`f32`) and double (`f64`) precision.
//!
//! A value of either precision is a [`Precision`]; [`dispatch!`] evaluates one expression for both.
//! Transition matrices, operator sets and arrays of either precision are aliases of it.

use std::sync::Arc;

use mdt_core::{Csr, OperatorSet, Transition};
use numpy::ndarray::{Dimension, Ix1, Ix2};
use numpy::{Element, PyArrayDescrMethods, PyReadonlyArray, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// A value of either precision.
pub enum Precision<S, D> {
    Single(S),
    Double(D),
}

pub type AnyArray<'py, D> = Precision<PyReadonlyArray<'py, f32, D>, PyReadonlyArray<'py, f64, D>>;
pub type AnyArray1<'py> = AnyArray<'py, Ix1>;
pub type AnyArray2<'py> = AnyArray<'py, Ix2>;
pub type AnyCsr = Precision<Csr<f32>, Csr<f64>>;
pub type AnyTransition = Precision<Arc<Transition<f32>>, Arc<Transition<f64>>>;
pub type AnySet = Precision<OperatorSet<f32>, OperatorSet<f64>>;

impl From<OperatorSet<f32>> for AnySet {
    fn from(set: OperatorSet<f32>) -> Self {
        Self::Single(set)
    }
}

impl From<OperatorSet<f64>> for AnySet {
    fn from(set: OperatorSet<f64>) -> Self {
        Self::Double(set)
    }
}

/// Evaluates the same expression for either precision.
macro_rules! dispatch {
    ($any:expr, $value:ident => $body:expr) => {
        match $any {
            $crate::precision::Precision::Single($value) => $body,
            $crate::precision::Precision::Double($value) => $body,
        }
    };
}
pub(crate) use dispatch;

impl<'a, 'py, D: Dimension> FromPyObject<'a, 'py> for AnyArray<'py, D> {
    type Error = PyErr;

    /// Tests the element type before the conversion: a failed conversion makes NumPy format a
    /// message in Python, where a Ctrl-C is lost.
    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let single = numpy::dtype::<f32>(object.py());
        let is_single = object.cast::<PyUntypedArray>().is_ok_and(|array| array.dtype().is_equiv_to(&single));
        if is_single { object.extract().map(Self::Single) } else { object.extract().map(Self::Double) }
    }
}

/// Returns `array` with the element type that the context requires; `name` is the argument in the
/// error.
pub fn of_type<'py, T: Element, D: Dimension>(
    array: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<PyReadonlyArray<'py, T, D>> {
    array.extract().map_err(|_| {
        let expected = numpy::dtype::<T>(array.py());
        PyTypeError::new_err(format!("{name}: expected a {}-D array of {expected}", D::NDIM.unwrap_or(0)))
    })
}
