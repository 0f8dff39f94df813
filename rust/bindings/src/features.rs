//! Rows of features as arguments: an (N, d) array, a sparse matrix, or the rows of a walk.

use mdt_core::Csr;
use mdt_core::graph::neighbours::Features;
use mdt_core::ground::memory;
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{PyCsrParts, elements};
use crate::precision::AnyArray2;
use crate::run::to_exception;
use crate::transition::PyTransition;

/// Rows in either precision.
#[derive(FromPyObject)]
pub enum RowsArgument<'py> {
    Walk(Bound<'py, PyTransition>),
    Sparse(Bound<'py, PyCsrParts>),
    Dense(AnyArray2<'py>),
}

/// Evaluates an expression with rows as [`Features`] of their element type.
macro_rules! with_features {
    ($py:expr, $rows:expr, $features:ident => $body:expr) => {
        match $rows {
            $crate::features::RowsArgument::Walk(walk) => $crate::precision::dispatch!(&walk.get().0, walk => {
                let $features = Features::Sparse(walk.matrix());
                $body
            }),
            $crate::features::RowsArgument::Sparse(parts) => {
                $crate::precision::dispatch!(parts.get().to_any_csr($py)?, rows => {
                    let $features = Features::Sparse(&rows);
                    $body
                })
            }
            $crate::features::RowsArgument::Dense(x) => $crate::precision::dispatch!(x, x => {
                let $features = Features::Dense { data: $crate::arrays::elements(x)?, dimension: x.shape()[1] };
                $body
            }),
        }
    };
}
pub(crate) use with_features;

/// A copy of rows in double precision.
pub enum OwnedRows {
    Sparse(Csr<f64>),
    Dense(Vec<f64>, usize),
}

impl<'a, 'py> FromPyObject<'a, 'py> for OwnedRows {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(parts) = object.cast::<PyCsrParts>() {
            return parts.get().to_csr(object.py()).map(Self::Sparse);
        }
        let x: PyReadonlyArray2<'_, f64> = object.extract()?;
        Ok(Self::Dense(memory::copy(elements(&x)?).map_err(to_exception)?, x.shape()[1]))
    }
}

impl OwnedRows {
    pub fn as_features(&self) -> Features<'_, f64> {
        match self {
            Self::Sparse(rows) => Features::Sparse(rows),
            Self::Dense(data, dimension) => Features::Dense { data, dimension: *dimension },
        }
    }
}
