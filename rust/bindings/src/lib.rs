//! `mdt_fast._core`: the Python interface of `mdt-core`. This crate converts types and delegates;
//! it holds neither arithmetic nor default values.
//!
//! Every call that may take long goes through [`run::run`], which releases the GIL, polls for
//! Ctrl-C and turns errors into exceptions. Functions of the user are called on the calling thread.
//! Matrices made here belong to Rust: their indices are checked once, and NumPy reads them through
//! read-only views. Settings and results are frozen classes.
//!
//! | Python | Rust |
//! |---|---|
//! | C-contiguous `float32` / `float64` array | `&[f32]` / `&[f64]`, dispatched by [`precision`] |
//! | `CsrParts` | [`mdt_core::ground::csr::Csr`] |
//! | `Transition`, `OperatorSet`, `Member` | the types of the same names |
//! | `Strategy` and its subclasses | [`mdt_core::search::Strategy`] |
//! | `Scorer` | [`mdt_core::search::Evaluator`] |
//! | `ValueError`, `MemoryError`, `RuntimeError`, `KeyboardInterrupt` | [`mdt_core::Error`] |
//!
//! The stub `_core.pyi` documents every value; `mypy.stubtest` compares it with this crate.

#![expect(clippy::needless_pass_by_value, reason = "arguments extracted by PyO3 are owned")]
#![expect(clippy::too_many_arguments, reason = "functions have the keyword arguments of their Python callers")]

mod arguments;
mod arrays;
mod callback;
mod consensus;
mod contrastive;
mod embedding;
mod features;
mod k_means;
mod member;
mod neighbours;
mod new_rows;
mod operator_set;
mod precision;
mod quality;
mod run;
mod search;
mod transition;

use mdt_core::ground::reserve::WithReserve;
use pyo3::prelude::*;

/// Small allocations that the system refuses are served from a reserve, and the call ends with an
/// error.
#[global_allocator]
static ALLOCATOR: WithReserve = WithReserve;

/// Return the bytes that can be allocated within the limits of the process, its control groups and
/// the machine; None if they are unknown.
#[pyfunction]
fn available_memory() -> Option<u64> {
    mdt_core::ground::available::available_bytes()
}

/// Return the number of threads that this process may use: cores, less affinity masks and container
/// quotas.
#[pyfunction]
fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Return the largest number of threads of a call. More than the process may use gain nothing; a few
/// more are allowed, because that number may be wrong.
#[pyfunction]
fn most_threads() -> usize {
    available_threads().max(16)
}

/// Return the bytes that steps of walks have moved since the process began: entries x (index +
/// value + columns) + output.
#[pyfunction]
fn bytes_moved() -> u64 {
    mdt_core::bytes_moved()
}

/// Return the vector extensions of this processor for which kernels are compiled.
#[pyfunction]
fn cpu_features() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let found = [
        ("avx2", std::arch::is_x86_feature_detected!("avx2")),
        ("fma", std::arch::is_x86_feature_detected!("fma")),
        ("avx512f", std::arch::is_x86_feature_detected!("avx512f")),
    ];
    #[cfg(not(target_arch = "x86_64"))]
    let found = [("neon", cfg!(target_arch = "aarch64"))];
    found.iter().filter_map(|&(name, is_there)| is_there.then_some(name)).collect()
}

// No object changes after its construction, the state of calls is of their thread, and what calls share (pools of
// threads, idle memory, counters) is behind locks or atomic. tests/reliability/test_threads.py compares the results.
#[pymodule(gil_used = false)]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::{
        arrays::PyCsrParts,
        available_memory, available_threads, bytes_moved,
        consensus::{PyConsensus, consensus},
        contrastive::{PyContrastiveLoss, contrastive, contrastive_probes, estimate_contrastive},
        cpu_features,
        embedding::{
            PyChain, PyCoordinates, PyDensePairs, PyEmbedded, PyFactor, dense_pairs, embed, embed_chains,
            embed_cross_diffusion, embed_multiview, power_values, solver_bytes,
        },
        k_means::{PyKMeans, k_means},
        member::{PyMember, PyPower},
        most_threads,
        neighbours::{PyNeighborTable, knn, knn_approximate},
        new_rows::{PyCrossIndex, PyCrossRows, PyCrossTable, cross_index, cross_knn, cross_rows},
        operator_set::{PyEntropyEstimate, PyOperatorSet, PyStationary},
        quality::{neighbor_support, score_labels},
        run::set_heartbeat,
        search::memory_plan::{PyCandidatePlan, plan_candidates},
        search::results::{PyEvaluated, PyEvaluatedBatch, PyLabelled, PyScoredSequence, PySearched},
        search::scorer::{PyClustering, PyScorer},
        search::strategies::{PyBeam, PyEpsilonGreedy, PyExhaustive, PyMcts, PyRandomSequences, PyStrategy},
        transition::{PyTransition, density_factors},
    };

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        // Loads NumPy's interface now: at its first use a Ctrl-C would be a panic.
        numpy::PyArray1::<f64>::zeros(module.py(), 0, false);
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("DEBUG_BUILD", cfg!(debug_assertions))
    }
}
