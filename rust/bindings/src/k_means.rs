//! `k_means` on the rows of an array.

use mdt_core::cluster::k_means::KMeansSettings;
use numpy::{PyArray1, PyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{elements, matrix, signed};
use crate::precision::{AnyArray2, dispatch};
use crate::run::run;

/// Typical number of iterations of a start, for the estimate of the cost.
const TYPICAL_ITERATIONS: usize = 8;

/// Number of iterations that may take long also for few points.
const MANY_ITERATIONS: usize = 10_000;

/// The best of several starts of k-means.
#[pyclass(name = "KMeans", module = "mdt_fast._core", frozen, get_all)]
pub struct PyKMeans {
    labels: Py<PyArray1<i32>>,
    centers: Py<PyArray2<f64>>,
    inertia: f64,
    n_iter: usize,
    converged: bool,
}

/// Cluster the rows of `x`.
#[pyfunction]
#[pyo3(signature = (x, *, n_clusters, n_init, max_iter, tol, seed, n_threads))]
pub fn k_means(
    py: Python<'_>,
    x: AnyArray2<'_>,
    n_clusters: usize,
    n_init: usize,
    max_iter: usize,
    tol: f64,
    seed: u64,
    n_threads: usize,
) -> PyResult<PyKMeans> {
    let settings = KMeansSettings { n_clusters, n_init, max_iterations: max_iter, tolerance: tol, seed };
    dispatch!(&x, x => {
        let (points, dimension) = (elements(x)?, x.shape()[1]);
        // A run whose end is that of its iterations can be interrupted.
        let iterations = if max_iter > MANY_ITERATIONS { max_iter } else { max_iter.min(TYPICAL_ITERATIONS) };
        let factors = [n_clusters, n_init, iterations];
        let cost = factors.into_iter().fold(points.len(), usize::saturating_mul);
        let cluster = |exec: &_| mdt_core::cluster::k_means::k_means(points, dimension, &settings, exec);
        let found = run(py, n_threads, cost, cluster)?;
        Ok(PyKMeans {
            labels: signed(py, found.labels),
            centers: matrix(py, found.centers, dimension)?,
            inertia: found.inertia,
            n_iter: found.iterations,
            converged: found.converged,
        })
    })
}
