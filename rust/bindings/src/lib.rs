//! `mdt_fast._core`: the Python face of `mdt-core`. This crate converts types and delegates; it does no arithmetic.
//!
//! Every call that may take long goes through [`funnel::run`], which releases the GIL, watches for Ctrl-C and turns errors
//! into exceptions. Matrices made here belong to Rust for good: their indices are checked once, and NumPy sees them through
//! read-only views.
//!
//! | Python | Rust |
//! |---|---|
//! | C-contiguous `float32` / `float64` array | `&[f32]` / `&[f64]` |
//! | CSR parts: `int64` indptr, `int32` indices, values | [`mdt_core::ground::csr::Csr`] |
//! | `_core.Transition` | `Arc<Transition<f32 or f64>>` |
//! | `_core.OperatorSet` | `OperatorSet<f32 or f64>` |
//! | `ValueError`, `MemoryError`, `RuntimeError`, `KeyboardInterrupt` | [`mdt_core::Error`] |
//!
//! The stub `_core.pyi` mirrors these files; `mypy.stubtest` compares the two.

mod arrays;
mod consensus;
mod contrastive;
mod cross;
mod embedding;
mod funnel;
mod kmeans;
mod neighbours;
mod operator_set;
mod quality;
mod search;
mod transition;

use pyo3::prelude::*;

/// Threads that this process may use: cores, less affinity masks and container quotas.
#[pyfunction]
fn available_threads() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Bytes that steps of walks have moved since the process began, by count: entries x (index + value + columns) + output.
#[pyfunction]
fn bytes_moved() -> u64 {
    mdt_core::bytes_moved()
}

/// Vector extensions of this processor that kernels are compiled for.
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

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Loads NumPy's interface now: at its first use a Ctrl-C would be a panic.
    numpy::PyArray1::<f64>::zeros(module.py(), 0, false);
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("DEBUG_BUILD", cfg!(debug_assertions))?;
    module.add_function(wrap_pyfunction!(available_threads, module)?)?;
    module.add_function(wrap_pyfunction!(bytes_moved, module)?)?;
    module.add_function(wrap_pyfunction!(cpu_features, module)?)?;
    module.add_function(wrap_pyfunction!(consensus::consensus, module)?)?;
    module.add_function(wrap_pyfunction!(embedding::embed, module)?)?;
    module.add_function(wrap_pyfunction!(embedding::embed_chains, module)?)?;
    module.add_function(wrap_pyfunction!(embedding::embed_multiview, module)?)?;
    module.add_function(wrap_pyfunction!(neighbours::knn, module)?)?;
    module.add_function(wrap_pyfunction!(neighbours::knn_approximate, module)?)?;
    module.add_function(wrap_pyfunction!(neighbours::knn_sparse, module)?)?;
    module.add_function(wrap_pyfunction!(kmeans::k_means, module)?)?;
    module.add_function(wrap_pyfunction!(quality::calinski_harabasz, module)?)?;
    module.add_function(wrap_pyfunction!(quality::davies_bouldin, module)?)?;
    module.add_function(wrap_pyfunction!(quality::persistence, module)?)?;
    module.add_function(wrap_pyfunction!(quality::silhouette, module)?)?;
    module.add_function(wrap_pyfunction!(quality::sample_rows, module)?)?;
    module.add_function(wrap_pyfunction!(contrastive::contrastive, module)?)?;
    module.add_function(wrap_pyfunction!(cross::cross_knn, module)?)?;
    module.add_function(wrap_pyfunction!(cross::cross_knn_sparse, module)?)?;
    module.add_function(wrap_pyfunction!(cross::cross_rows, module)?)?;
    module.add_function(wrap_pyfunction!(transition::density_factors, module)?)?;
    module.add_class::<transition::PyTransition>()?;
    module.add_class::<operator_set::PyOperatorSet>()?;
    module.add_class::<search::PyScoring>()?;
    Ok(())
}
