//! Checks of numbers that the core takes as they are.

use std::ops::RangeInclusive;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Largest number of steps of a trajectory.
pub const LONGEST: usize = 1 << 22;

/// Returns `value` if it is within the range; `name` is the argument in the error.
pub fn within(name: &str, value: usize, range: RangeInclusive<usize>) -> PyResult<usize> {
    if range.contains(&value) {
        return Ok(value);
    }
    let (least, most) = range.into_inner();
    let bound = if most == usize::MAX { String::new() } else { format!(" and <= {most}") };
    Err(PyValueError::new_err(format!("{name}: expected an integer >= {least}{bound}, got {value}")))
}

/// Returns `value` if it is at least 1.
pub fn positive(name: &str, value: usize) -> PyResult<usize> {
    within(name, value, 1..=usize::MAX)
}

/// Returns `value` if it is a finite number.
pub fn finite(name: &str, value: f64) -> PyResult<f64> {
    if value.is_finite() {
        return Ok(value);
    }
    Err(PyValueError::new_err(format!("{name}: expected a finite number, got {value}")))
}
