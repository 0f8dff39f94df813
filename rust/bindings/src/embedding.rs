//! Coordinates of the samples: `embed` (a trajectory), `embed_multiview` (the walk that changes the
//! view at every step), `embed_chains` (a sum of products of walks and transposed walks),
//! `embed_cross_diffusion`. Decompositions of dense matrices: `dense_pairs`, `power_values`.

use mdt_core::ground::csr::MAX_SIZE;
use mdt_core::spectral::{
    Accuracy, Chain, ChainSum, Coordinates, Decomposition, EmbeddingSettings, Start, SvdSettings,
};
use mdt_core::{Direction, spectral};
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::within;
use crate::arrays::{elements, matrix};
use crate::operator_set::{PyOperatorSet, cost_per_column, trajectory};
use crate::precision::{dispatch, of_type};
use crate::run::{run, to_exception};

/// The embedding of a trajectory `W`: `coordinates = W @ functions`.
#[pyclass(name = "Embedded", module = "mdt_fast._core", frozen, get_all)]
pub struct PyEmbedded {
    coordinates: Py<PyAny>,
    functions: Py<PyAny>,
    values: Py<PyArray1<f64>>,
    residuals: Py<PyArray1<f64>>,
    converged: bool,
}

/// Coordinates without functions that carry them to new samples.
#[pyclass(name = "Coordinates", module = "mdt_fast._core", frozen, get_all)]
pub struct PyCoordinates {
    coordinates: Py<PyAny>,
    values: Py<PyArray1<f64>>,
    residuals: Py<PyArray1<f64>>,
    converged: bool,
}

/// One factor of a chain: the stored walk `P_walk`, or its transpose.
#[pyclass(name = "Factor", module = "mdt_fast._core", frozen, get_all)]
pub struct PyFactor {
    walk: usize,
    transposed: bool,
}

/// A weight times a product of factors, in the order of application: the rightmost factor first.
#[pyclass(name = "Chain", module = "mdt_fast._core", frozen)]
pub struct PyChain(Chain);

#[pymethods]
impl PyFactor {
    #[new]
    #[pyo3(signature = (walk, *, transposed))]
    fn new(walk: usize, transposed: bool) -> Self {
        Self { walk, transposed }
    }
}

#[pymethods]
impl PyChain {
    #[new]
    #[pyo3(signature = (factors, *, weight))]
    fn new(factors: Vec<PyRef<'_, PyFactor>>, weight: f64) -> Self {
        let direction = |transposed| if transposed { Direction::Transposed } else { Direction::Forward };
        Self(Chain { weight, factors: factors.iter().map(|f| (f.walk, direction(f.transposed))).collect() })
    }
}

fn decomposition<'a>(name: &str, pi: Option<&'a [f64]>) -> PyResult<Decomposition<'a>> {
    match (name, pi) {
        ("uniform", None) => Ok(Decomposition::Uniform),
        ("stationary", Some(pi)) => Ok(Decomposition::Stationary(pi)),
        ("eigen", None) => Ok(Decomposition::Eigen { stationary: false }),
        ("eigen-stationary", None) => Ok(Decomposition::Eigen { stationary: true }),
        _ => Err(PyValueError::new_err(format!("decomposition: unknown, or with wrong arguments: {name:?}"))),
    }
}

fn coordinates<T: Element>(py: Python<'_>, found: Coordinates<T>, n_components: usize) -> PyResult<PyCoordinates> {
    Ok(PyCoordinates {
        coordinates: matrix(py, found.coordinates, n_components)?.into_any(),
        values: found.values.into_pyarray(py).unbind(),
        residuals: found.residuals.into_pyarray(py).unbind(),
        converged: found.converged,
    })
}

/// Leading pairs of a dense matrix, and all its values.
#[pyclass(name = "DensePairs", module = "mdt_fast._core", frozen, get_all)]
pub struct PyDensePairs {
    values: Py<PyArray1<f64>>,
    left: Py<PyArray2<f64>>,
    right: Py<PyArray2<f64>>,
}

/// Decompose a dense matrix on a thread of its own, so that a Ctrl-C is answered at once.
#[pyfunction]
#[pyo3(signature = (matrix, rank, *, symmetric))]
pub fn dense_pairs(matrix: PyReadonlyArray2<'_, f64>, rank: usize, symmetric: bool) -> PyResult<PyDensePairs> {
    let (py, n, data) = (matrix.py(), matrix.shape()[0], elements(&matrix)?);
    let found = run(py, 1, usize::MAX, |exec| spectral::dense_pairs(data, n, rank, symmetric, exec))?;
    Ok(PyDensePairs {
        values: found.values.into_pyarray(py).unbind(),
        left: self::matrix(py, found.left, rank)?,
        right: self::matrix(py, found.right, rank)?,
    })
}

/// Compute all singular values of the powers `1, ..., max_t` of a dense matrix.
#[pyfunction]
#[pyo3(signature = (matrix, max_t, *, n_threads))]
pub fn power_values(matrix: PyReadonlyArray2<'_, f64>, max_t: usize, n_threads: usize) -> PyResult<Py<PyArray2<f64>>> {
    let (py, n, data) = (matrix.py(), matrix.shape()[0], elements(&matrix)?);
    let max_t = within("max_t", max_t, 1..=MAX_SIZE)?;
    let cost = n.saturating_mul(n).saturating_mul(n).saturating_mul(max_t);
    let values = run(py, n_threads, cost, |exec| spectral::power_values(data, n, max_t, exec))?;
    self::matrix(py, values, n)
}

/// Estimate the bytes that the solver takes for `rank` pairs of an `(n, n)` matrix.
#[pyfunction]
pub fn solver_bytes(n: usize, rank: usize, item_size: usize) -> u64 {
    spectral::solver_bytes(n, rank, item_size)
}

/// Embed the samples by a trajectory given by its weights.
#[pyfunction]
#[pyo3(signature = (operators, weights, *, decomposition, pi, n_components, drop_first, tolerance, max_iterations, seed,
                    start, n_threads))]
pub fn embed(
    operators: &Bound<'_, PyOperatorSet>,
    weights: PyReadonlyArray2<'_, f64>,
    decomposition: &str,
    pi: Option<PyReadonlyArray1<'_, f64>>,
    n_components: usize,
    drop_first: bool,
    tolerance: f64,
    max_iterations: usize,
    seed: u64,
    start: Option<Bound<'_, PyAny>>,
    n_threads: usize,
) -> PyResult<PyEmbedded> {
    let py = operators.py();
    let decomposition = self::decomposition(decomposition, pi.as_ref().map(elements).transpose()?)?;
    let n_components = within("n_components", n_components, 1..=MAX_SIZE)?;
    let settings =
        EmbeddingSettings { n_components, drop_first, tolerance, only_distances: false, max_iterations, seed };
    dispatch!(&operators.get().0, set => {
        let trajectory = trajectory(set, &weights)?;
        let block: Option<PyReadonlyArray2<'_, _>> = start.map(|block| of_type(&block, "start")).transpose()?;
        let start = match &block {
            Some(block) => Start::Near(elements(block)?),
            None => Start::Random,
        };
        let cost = cost_per_column(&trajectory).saturating_mul(n_components.saturating_mul(64));
        let found =
            run(py, n_threads, cost, |exec| spectral::embed(&trajectory, decomposition, &settings, start, exec))?;
        Ok(PyEmbedded {
            coordinates: matrix(py, found.coordinates, n_components)?.into_any(),
            functions: matrix(py, found.functions, n_components)?.into_any(),
            values: found.values.into_pyarray(py).unbind(),
            residuals: found.residuals.into_pyarray(py).unbind(),
            converged: found.converged,
        })
    })
}

/// Embed the states of the walk that changes the view at every step, by eigenvectors times
/// eigenvalues.
#[pyfunction]
#[pyo3(signature = (operators, *, n_views, n_components, tolerance, max_iterations, seed, n_threads))]
pub fn embed_multiview(
    operators: &Bound<'_, PyOperatorSet>,
    n_views: usize,
    n_components: usize,
    tolerance: f64,
    max_iterations: usize,
    seed: u64,
    n_threads: usize,
) -> PyResult<PyCoordinates> {
    let py = operators.py();
    let n_components = within("n_components", n_components, 1..=MAX_SIZE)?;
    let settings = SvdSettings { rank: n_components + 1, tolerance, accuracy: Accuracy::Values, max_iterations, seed };
    dispatch!(&operators.get().0, set => {
        let entries: usize = set.in_any_order().iter().map(|walk| walk.matrix().nnz()).sum();
        let cost = entries.saturating_mul(n_components.saturating_mul(256));
        let embed = |exec: &_| spectral::embed_multiview(set, n_views, n_components, &settings, exec);
        coordinates(py, run(py, n_threads, cost, embed)?, n_components)
    })
}

/// Embed the samples by a sum of chains, by left singular vectors times singular values.
#[pyfunction]
#[pyo3(signature = (operators, chains, *, n_components, drop_first, tolerance, max_iterations, seed, n_threads))]
pub fn embed_chains(
    operators: &Bound<'_, PyOperatorSet>,
    chains: Vec<PyRef<'_, PyChain>>,
    n_components: usize,
    drop_first: bool,
    tolerance: f64,
    max_iterations: usize,
    seed: u64,
    n_threads: usize,
) -> PyResult<PyCoordinates> {
    let py = operators.py();
    let n_components = within("n_components", n_components, 1..=MAX_SIZE)?;
    let settings =
        EmbeddingSettings { n_components, drop_first, tolerance, only_distances: false, max_iterations, seed };
    let chains: Vec<Chain> = chains.iter().map(|chain| chain.0.clone()).collect();
    dispatch!(&operators.get().0, set => {
        let column = ChainSum::new(set, &chains).map_err(to_exception)?.cost_per_column();
        let cost = column.saturating_mul(n_components.saturating_mul(64));
        let found = run(py, n_threads, cost, |exec| spectral::embed_chains(set, &chains, &settings, exec))?;
        coordinates(py, found, n_components)
    })
}

/// Embed the samples by cross diffusion of the first walks, by left singular vectors times singular
/// values.
#[pyfunction]
#[pyo3(signature = (operators, *, n_views, n_steps, n_components, tolerance, max_iterations, seed, n_threads))]
pub fn embed_cross_diffusion(
    operators: &Bound<'_, PyOperatorSet>,
    n_views: usize,
    n_steps: usize,
    n_components: usize,
    tolerance: f64,
    max_iterations: usize,
    seed: u64,
    n_threads: usize,
) -> PyResult<PyCoordinates> {
    let py = operators.py();
    let n_components = within("n_components", n_components, 1..=MAX_SIZE)?;
    let settings =
        EmbeddingSettings { n_components, drop_first: true, tolerance, only_distances: false, max_iterations, seed };
    dispatch!(&operators.get().0, set => {
        let entries: usize = set.in_any_order().iter().map(|walk| walk.matrix().nnz()).sum();
        let cost = entries.saturating_mul(set.n()).saturating_mul(n_steps.saturating_mul(2));
        let embed = |exec: &_| spectral::embed_cross_diffusion(set, n_views, n_steps, &settings, exec);
        coordinates(py, run(py, n_threads, cost, embed)?, n_components)
    })
}
