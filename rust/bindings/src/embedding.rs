//! `_core.embed`, `_core.embed_multiview`, `_core.embed_chains`: coordinates of trajectories, of the walk that changes view at every
//! step, of sums of products with transposed walks.

use mdt_core::spectral::{
    Accuracy, Chain, ChainSum, Coordinates, Decomposition, EmbeddingSettings, Start, SvdSettings,
};
use mdt_core::{Direction, OperatorSet, Real, Trajectory, spectral};
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{AnyArray2, elements, matrix};
use crate::funnel::{run, to_exception};
use crate::operator_set::{AnySet, PyOperatorSet, cost_per_column};

/// Coordinates, functions, values, residuals, whether all converged, columns that the trajectory was applied to.
type Embedded<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, bool, usize);

/// Singular vectors ("uniform"; "stationary" with its distribution) or eigenvectors ("eigen", "eigen-stationary").
fn decomposition<'a>(name: &str, pi: Option<&'a [f64]>) -> PyResult<Decomposition<'a>> {
    match (name, pi) {
        ("uniform", None) => Ok(Decomposition::Uniform),
        ("stationary", Some(pi)) => Ok(Decomposition::Stationary(pi)),
        ("eigen", None) => Ok(Decomposition::Eigen { stationary: false }),
        ("eigen-stationary", None) => Ok(Decomposition::Eigen { stationary: true }),
        _ => Err(PyValueError::new_err(format!("decomposition: unknown, or with wrong arguments: {name:?}"))),
    }
}

fn embed_set<'py, T: Real + Element>(
    py: Python<'py>,
    set: &OperatorSet<T>,
    weights: &[f64],
    decomposition: Decomposition<'_>,
    settings: &EmbeddingSettings,
    start: Option<&PyReadonlyArray2<'py, T>>,
    n_threads: usize,
) -> PyResult<Embedded<'py>> {
    let trajectory = Trajectory::new(set, weights).map_err(to_exception)?;
    let start = match start {
        Some(block) => Start::Near(elements(block)?),
        None => Start::Random,
    };
    let cost = cost_per_column(&trajectory).saturating_mul(64 * settings.n_components);
    let embedding =
        run(py, n_threads, cost, |exec| spectral::embed(&trajectory, decomposition, settings, start, exec))?;
    Ok((
        matrix(py, embedding.coordinates, settings.n_components)?.into_any(),
        matrix(py, embedding.functions, settings.n_components)?.into_any(),
        embedding.values.into_pyarray(py),
        embedding.residuals.into_pyarray(py),
        embedding.converged,
        embedding.applications,
    ))
}

/// Coordinates of the points of a trajectory given by its weights.
#[pyfunction]
#[pyo3(signature = (operators, weights, *, decomposition, pi, n_components, drop_first, tolerance, max_iterations, seed,
                    start, n_threads))]
#[expect(clippy::too_many_arguments, reason = "mirrors the Python function")]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn embed<'py>(
    py: Python<'py>,
    operators: PyRef<'py, PyOperatorSet>,
    weights: PyReadonlyArray2<'py, f64>,
    decomposition: &str,
    pi: Option<PyReadonlyArray1<'py, f64>>,
    n_components: usize,
    drop_first: bool,
    tolerance: f64,
    max_iterations: usize,
    seed: u64,
    start: Option<AnyArray2<'py>>,
    n_threads: usize,
) -> PyResult<Embedded<'py>> {
    let pi = pi.as_ref().map(elements).transpose()?;
    let decomposition = self::decomposition(decomposition, pi)?;
    let settings =
        EmbeddingSettings { n_components, drop_first, tolerance, only_distances: false, max_iterations, seed };
    let weights = elements(&weights)?;
    match (&operators.0, &start) {
        (AnySet::F32(set), None) => embed_set(py, set, weights, decomposition, &settings, None, n_threads),
        (AnySet::F64(set), None) => embed_set(py, set, weights, decomposition, &settings, None, n_threads),
        (AnySet::F32(set), Some(AnyArray2::F32(start))) => {
            embed_set(py, set, weights, decomposition, &settings, Some(start), n_threads)
        }
        (AnySet::F64(set), Some(AnyArray2::F64(start))) => {
            embed_set(py, set, weights, decomposition, &settings, Some(start), n_threads)
        }
        _ => Err(PyTypeError::new_err("start: expected the element type of the operators")),
    }
}

/// Coordinates, values, residuals, whether all converged.
type PlainlyEmbedded<'py> = (Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, bool);

fn plainly<T: Element>(py: Python<'_>, found: Coordinates<T>, n_components: usize) -> PyResult<PlainlyEmbedded<'_>> {
    Ok((
        matrix(py, found.coordinates, n_components)?.into_any(),
        found.values.into_pyarray(py),
        found.residuals.into_pyarray(py),
        found.converged,
    ))
}

fn embed_multiview_set<'py, T: Real + Element>(
    py: Python<'py>,
    set: &OperatorSet<T>,
    n_views: usize,
    n_components: usize,
    settings: &SvdSettings,
    n_threads: usize,
) -> PyResult<PlainlyEmbedded<'py>> {
    let entries: usize = set.walks().iter().map(|walk| walk.matrix().nnz()).sum();
    let cost = entries.saturating_mul(256 * n_components);
    let found = run(py, n_threads, cost, |exec| spectral::embed_multiview(set, n_views, n_components, settings, exec))?;
    plainly(py, found, n_components)
}

/// Eigenvectors, times their eigenvalues, of the walk that changes view at every step.
#[pyfunction]
#[pyo3(signature = (operators, *, n_views, n_components, tolerance, max_iterations, seed, n_threads))]
#[expect(clippy::too_many_arguments, reason = "mirrors the Python function")]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn embed_multiview<'py>(
    py: Python<'py>,
    operators: PyRef<'py, PyOperatorSet>,
    n_views: usize,
    n_components: usize,
    tolerance: f64,
    max_iterations: usize,
    seed: u64,
    n_threads: usize,
) -> PyResult<PlainlyEmbedded<'py>> {
    let settings = SvdSettings { rank: n_components + 1, tolerance, accuracy: Accuracy::Values, max_iterations, seed };
    match &operators.0 {
        AnySet::F32(set) => embed_multiview_set(py, set, n_views, n_components, &settings, n_threads),
        AnySet::F64(set) => embed_multiview_set(py, set, n_views, n_components, &settings, n_threads),
    }
}

fn embed_chains_set<'py, T: Real + Element>(
    py: Python<'py>,
    set: &OperatorSet<T>,
    chains: &[Chain],
    settings: &EmbeddingSettings,
    n_threads: usize,
) -> PyResult<PlainlyEmbedded<'py>> {
    let column = ChainSum::new(set, chains).map_err(to_exception)?.cost_per_column();
    let cost = column.saturating_mul(64 * settings.n_components);
    let found = run(py, n_threads, cost, |exec| spectral::embed_chains(set, chains, settings, exec))?;
    plainly(py, found, settings.n_components)
}

/// Singular vectors, times their values, of a sum of chains: (weight, [(walk, transposed), ...] in the order of application).
#[pyfunction]
#[pyo3(signature = (operators, chains, *, n_components, drop_first, tolerance, max_iterations, seed, n_threads))]
#[expect(clippy::too_many_arguments, reason = "mirrors the Python function")]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
pub fn embed_chains<'py>(
    py: Python<'py>,
    operators: PyRef<'py, PyOperatorSet>,
    chains: Vec<(f64, Vec<(usize, bool)>)>,
    n_components: usize,
    drop_first: bool,
    tolerance: f64,
    max_iterations: usize,
    seed: u64,
    n_threads: usize,
) -> PyResult<PlainlyEmbedded<'py>> {
    let settings =
        EmbeddingSettings { n_components, drop_first, tolerance, only_distances: false, max_iterations, seed };
    let way = |transposed| if transposed { Direction::Transposed } else { Direction::Forward };
    let chain = |(weight, factors): (f64, Vec<(usize, bool)>)| Chain {
        weight,
        factors: factors.into_iter().map(|(walk, transposed)| (walk, way(transposed))).collect(),
    };
    let chains: Vec<_> = chains.into_iter().map(chain).collect();
    match &operators.0 {
        AnySet::F32(set) => embed_chains_set(py, set, &chains, &settings, n_threads),
        AnySet::F64(set) => embed_chains_set(py, set, &chains, &settings, n_threads),
    }
}
