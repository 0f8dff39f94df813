//! `Member`: one operator of an operator set, and the shares of which a step of it consists.

use mdt_core::{Landing, Member};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::within;

/// Largest number of walks of a mean: that of the members of a searched set.
const MOST_WALKS: usize = u16::MAX as usize;

/// Returns an exponent that is at least 1.
fn check_exponent(exponent: u32) -> PyResult<u32> {
    within("exponent", exponent as usize, 1..=u32::MAX as usize)?;
    Ok(exponent)
}

/// A member of an operator set: a stored walk, or a step made from stored walks.
///
/// Every member is `identity_share * I + uniform_share * 11^T / N + sum of powers`, with the powers
/// `weight * P_base^exponent`.
#[pyclass(name = "Member", module = "mdt_fast._core", frozen, eq)]
#[derive(PartialEq)]
pub struct PyMember(pub Member);

/// The part `weight * P_base^exponent` of a member.
#[pyclass(name = "Power", module = "mdt_fast._core", frozen, get_all, eq)]
#[derive(PartialEq)]
pub struct PyPower {
    base: usize,
    exponent: u32,
    weight: f64,
}

#[pymethods]
impl PyMember {
    /// The stored walk `P_index`.
    #[staticmethod]
    fn walk(index: usize) -> Self {
        Self(Member::Walk(index))
    }

    /// The mean of the first `count` stored walks.
    #[staticmethod]
    fn mean(count: usize) -> PyResult<Self> {
        Ok(Self(Member::Mean(within("count", count, 1..=MOST_WALKS)?)))
    }

    /// The identity: every walk stays where it is.
    #[staticmethod]
    fn identity() -> Self {
        Self(Member::Identity)
    }

    /// The jump to any sample with equal probability.
    #[staticmethod]
    fn uniform() -> Self {
        Self(Member::Uniform)
    }

    /// `exponent` steps of the stored walk `P_base`.
    #[staticmethod]
    fn power(base: usize, exponent: u32) -> PyResult<Self> {
        Ok(Self(Member::Power { base, exponent: check_exponent(exponent)? }))
    }

    /// `alpha P_base + (1 - alpha) L`; L is `P_base^exponent`, or the uniform jump if `exponent` is
    /// None.
    #[staticmethod]
    #[pyo3(signature = (base, alpha, exponent=None))]
    fn teleport(base: usize, alpha: f64, exponent: Option<u32>) -> PyResult<Self> {
        if !(0.0..=1.0).contains(&alpha) {
            return Err(PyValueError::new_err(format!("alpha: expected a number from 0 to 1, got {alpha}")));
        }
        let landing = exponent.map(check_exponent).transpose()?.map_or(Landing::Uniform, Landing::Power);
        Ok(Self(Member::Teleport { base, alpha, landing }))
    }

    /// The name of the constructor.
    #[getter]
    fn kind(&self) -> &'static str {
        match self.0 {
            Member::Walk(_) => "walk",
            Member::Mean(_) => "mean",
            Member::Identity => "identity",
            Member::Uniform => "uniform",
            Member::Power { .. } => "power",
            Member::Teleport { .. } => "teleport",
        }
    }

    /// Probability that a step stays because of the identity.
    #[getter]
    fn identity_share(&self) -> f64 {
        self.0.parts().identity
    }

    /// Probability that a step jumps to any sample.
    #[getter]
    fn uniform_share(&self) -> f64 {
        self.0.parts().uniform
    }

    /// The parts made of stored walks, by ascending (base, exponent).
    #[getter]
    fn powers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let power = |p: mdt_core::Power| PyPower { base: p.base, exponent: p.exponent, weight: p.weight };
        PyTuple::new(py, self.0.parts().powers.into_iter().map(power))
    }

    /// Ascending indices of the stored walks of which the member consists.
    #[getter]
    fn bases<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let mut bases: Vec<usize> = self.0.parts().powers.iter().map(|p| p.base).collect();
        bases.dedup();
        PyTuple::new(py, bases)
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        (self.kind(), self.arguments(py)?).into_pyobject(py)?.hash()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let arguments = self.arguments(py)?;
        let texts: Vec<String> = arguments.iter().map(|a| Ok(a.repr()?.to_string())).collect::<PyResult<_>>()?;
        Ok(format!("Member.{}({})", self.kind(), texts.join(", ")))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        Ok((slf.get_type().getattr(slf.get().kind())?, slf.get().arguments(slf.py())?))
    }
}

impl PyMember {
    /// The arguments of the constructor.
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        match self.0 {
            Member::Walk(number) | Member::Mean(number) => (number,).into_pyobject(py),
            Member::Identity | Member::Uniform => Ok(PyTuple::empty(py)),
            Member::Power { base, exponent } => (base, exponent).into_pyobject(py),
            Member::Teleport { base, alpha, landing: Landing::Uniform } => (base, alpha).into_pyobject(py),
            Member::Teleport { base, alpha, landing: Landing::Power(exponent) } => {
                (base, alpha, exponent).into_pyobject(py)
            }
        }
    }
}
