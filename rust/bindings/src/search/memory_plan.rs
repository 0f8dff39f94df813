//! `plan_candidates`: the memory that the evaluation of candidates takes.

use mdt_core::search::{self, CandidatePlan};
use pyo3::prelude::*;

/// Estimated bytes, stage by stage, and the number of candidates evaluated at the same time.
#[pyclass(name = "CandidatePlan", module = "mdt_fast._core", frozen, get_all)]
pub struct PyCandidatePlan {
    reordered_operators: u64,
    solver: u64,
    coordinates_and_labels: u64,
    starting_blocks: u64,
    at_once: usize,
}

/// Estimate the memory that the evaluation of candidates takes beside the operators.
#[pyfunction]
pub fn plan_candidates(
    n_samples: usize,
    operator_bytes: u64,
    n_components: usize,
    item_size: usize,
    n_threads: usize,
) -> PyCandidatePlan {
    let CandidatePlan { reordered_operators, solver, coordinates_and_labels, starting_blocks, at_once } =
        search::plan_candidates(n_samples, operator_bytes, n_components, item_size, n_threads);
    PyCandidatePlan { reordered_operators, solver, coordinates_and_labels, starting_blocks, at_once }
}
