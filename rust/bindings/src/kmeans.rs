//! `k_means` on the rows of an array.

use mdt_core::Real;
use mdt_core::cluster::k_means::{KMeans, KMeansSettings};
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::arrays::{AnyArray2, elements, matrix};
use crate::funnel::run;

/// Labels, centres, inertia, iterations, converged.
type Clusters<'py> = (Bound<'py, PyArray1<i32>>, Bound<'py, PyArray2<f64>>, f64, usize, bool);

/// Iterations of a start, about, for the estimate of the cost.
const TYPICAL_ITERATIONS: usize = 8;

fn cluster<'py, T: Real + Element>(
    py: Python<'py>,
    x: &PyReadonlyArray2<'py, T>,
    settings: &KMeansSettings,
    n_threads: usize,
) -> PyResult<Clusters<'py>> {
    let dimension = x.shape()[1];
    let points = elements(x)?;
    let cost = [settings.n_clusters, settings.n_init, settings.max_iterations.min(TYPICAL_ITERATIONS)]
        .into_iter()
        .fold(points.len(), usize::saturating_mul);
    let found: KMeans = run(py, n_threads, cost, |exec| mdt_core::cluster::k_means::k_means(points, dimension, settings, exec))?;
    let labels: Vec<i32> = bytemuck::allocation::cast_vec(found.labels);
    let centers = matrix(py, found.centers, dimension)?;
    Ok((labels.into_pyarray(py), centers, found.inertia, found.iterations, found.converged))
}

/// Clusters the rows of `x`.
#[pyfunction]
#[pyo3(signature = (x, *, n_clusters, n_init, max_iter, tol, seed, n_threads))]
#[expect(clippy::too_many_arguments, reason = "the settings of k-means")]
pub fn k_means<'py>(
    py: Python<'py>,
    x: AnyArray2<'py>,
    n_clusters: usize,
    n_init: usize,
    max_iter: usize,
    tol: f64,
    seed: u64,
    n_threads: usize,
) -> PyResult<Clusters<'py>> {
    let settings = KMeansSettings { n_clusters, n_init, max_iterations: max_iter, tolerance: tol, seed };
    match x {
        AnyArray2::F32(x) => cluster(py, &x, &settings, n_threads),
        AnyArray2::F64(x) => cluster(py, &x, &settings, n_threads),
    }
}
