//! `OperatorSet`: members over stored transition matrices, and the functions of their trajectories.

use std::sync::Arc;

use mdt_core::{Direction, EntropyEstimate, EntropyOptions, OperatorSet, Pruning, Real, Trajectory, Transition};
use numpy::{
    IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::arguments::{LONGEST, within};
use crate::arrays::{PyCsrParts, elements, empty, matrix};
use crate::member::PyMember;
use crate::precision::{AnySet, Precision, dispatch, of_type};
use crate::run::{run, to_exception};
use crate::transition::PyTransition;

/// Number of vectors that is accepted for any number of samples.
pub const FEW_VECTORS: usize = 1 << 10;

/// Members over stored transition matrices.
///
/// Every method takes a trajectory as its (steps, members) weights, the first step first.
#[pyclass(name = "OperatorSet", module = "mdt_fast._core", frozen)]
pub struct PyOperatorSet(pub AnySet);

/// A stationary distribution and how it was reached.
#[pyclass(name = "Stationary", module = "mdt_fast._core", frozen, get_all)]
pub struct PyStationary {
    distribution: Py<PyArray1<f64>>,
    residual: f64,
    n_iterations: usize,
}

/// The estimated entropy of the singular values of `W^time`.
#[pyclass(name = "EntropyEstimate", module = "mdt_fast._core", frozen, get_all)]
pub struct PyEntropyEstimate {
    time: usize,
    entropy: f64,
    error: f64,
    n_column_steps: usize,
}

/// The trajectory with these weights.
pub fn trajectory<'a, T: Real>(
    set: &'a OperatorSet<T>,
    weights: &PyReadonlyArray2<'_, f64>,
) -> PyResult<Trajectory<'a, T>> {
    Trajectory::new(set, elements(weights)?).map_err(to_exception)
}

/// Multiplications of one column through the trajectory.
pub fn cost_per_column<T: Real>(trajectory: &Trajectory<'_, T>) -> usize {
    let walks = trajectory.set().in_any_order();
    let powers = trajectory.steps().iter().flat_map(|step| &step.powers);
    let costs = powers.map(|p| walks[p.base].matrix().nnz().saturating_mul(p.exponent as usize));
    costs.fold(trajectory.n(), usize::saturating_add)
}

/// The matrices of each precision.
#[expect(clippy::type_complexity, reason = "named where it is used")]
fn by_precision(transitions: &[PyRef<'_, PyTransition>]) -> (Vec<Arc<Transition<f32>>>, Vec<Arc<Transition<f64>>>) {
    let (mut single, mut double) = (Vec::new(), Vec::new());
    for transition in transitions {
        match &transition.0 {
            Precision::Single(walk) => single.push(walk.clone()),
            Precision::Double(walk) => double.push(walk.clone()),
        }
    }
    (single, double)
}

#[pymethods]
impl PyOperatorSet {
    /// Combine transition matrices of one size and one element type with members that refer to
    /// them. `lacking` has for each matrix the samples that its view lacks; the first `n_lenders`
    /// matrices lend them rows.
    #[new]
    #[pyo3(signature = (transitions, members, lacking = None, n_lenders = 0))]
    fn new(
        transitions: Vec<PyRef<'_, PyTransition>>,
        members: Vec<PyRef<'_, PyMember>>,
        lacking: Option<Vec<PyReadonlyArray1<'_, u32>>>,
        n_lenders: usize,
    ) -> PyResult<Self> {
        let members = members.iter().map(|member| member.0).collect();
        let (single, double) = by_precision(&transitions);
        let set = match (single.is_empty(), double.is_empty()) {
            (_, true) => OperatorSet::new(single, members).map(Precision::Single),
            (true, _) => OperatorSet::new(double, members).map(Precision::Double),
            _ => return Err(PyTypeError::new_err("transitions: expected one element type, got float32 and float64")),
        };
        let set = set.map_err(to_exception)?;
        let Some(lacking) = lacking else { return Ok(Self(set)) };
        let lacking = lacking.iter().map(|points| Ok(elements(points)?.to_vec())).collect::<PyResult<_>>()?;
        match set {
            Precision::Single(set) => set.with_absences(lacking, n_lenders).map(Precision::Single),
            Precision::Double(set) => set.with_absences(lacking, n_lenders).map(Precision::Double),
        }
        .map(Self)
        .map_err(to_exception)
    }

    /// Return the same set with a copy of its matrices alone whose order suits the cache, or a set that
    /// shares the matrices if their order does.
    fn keep_copy_alone(&self, py: Python<'_>, n_threads: usize) -> PyResult<Self> {
        dispatch!(&self.0, set => {
            let made = run(py, n_threads, usize::MAX, |exec| set.keep_copy_alone(exec))?;
            Ok(Self(AnySet::from(made)))
        })
    }

    /// Return a set with further transition matrices, of views that have all samples, and with these
    /// members. It shares the stored matrices.
    fn extended(
        &self,
        py: Python<'_>,
        transitions: Vec<PyRef<'_, PyTransition>>,
        members: Vec<PyRef<'_, PyMember>>,
        n_threads: usize,
    ) -> PyResult<Self> {
        let members = members.iter().map(|member| member.0).collect();
        let (single, double) = by_precision(&transitions);
        let cost = if transitions.is_empty() { 0 } else { usize::MAX };
        match &self.0 {
            Precision::Single(set) if double.is_empty() => {
                run(py, n_threads, cost, |exec| set.extended(&single, members, exec)).map(Precision::Single)
            }
            Precision::Double(set) if single.is_empty() => {
                run(py, n_threads, cost, |exec| set.extended(&double, members, exec)).map(Precision::Double)
            }
            _ => Err(PyTypeError::new_err("transitions: expected the element type of the set, got another")),
        }
        .map(Self)
    }

    /// Number of stored matrices.
    #[getter]
    fn n_transitions(&self) -> usize {
        dispatch!(&self.0, set => set.in_any_order().len())
    }

    /// Return a stored matrix, made from the copy at each call if the set keeps the copy alone.
    fn transition(&self, py: Python<'_>, index: usize, n_threads: usize) -> PyResult<PyTransition> {
        dispatch!(&self.0, set => {
            let index = within("index", index, 0..=set.in_any_order().len() - 1)?;
            let cost = if set.keeps_copy_alone() { set.in_any_order()[index].matrix().nnz().saturating_mul(16) } else { 0 };
            Ok(run(py, n_threads, cost, |exec| set.walk(index, exec))?.into())
        })
    }

    /// Return whether all matrices are the same objects as those of another set.
    fn shares_matrices(&self, other: &Self) -> bool {
        fn same<T: Real>(a: &OperatorSet<T>, b: &OperatorSet<T>) -> bool {
            a.in_any_order().iter().zip(b.in_any_order()).all(|(a, b)| Arc::ptr_eq(a, b))
        }
        match (&self.0, &other.0) {
            (Precision::Single(a), Precision::Single(b)) => same(a, b),
            (Precision::Double(a), Precision::Double(b)) => same(a, b),
            _ => false,
        }
    }

    /// Return a stored matrix as the set holds it: its samples may be in another order.
    fn transition_in_any_order(&self, index: usize) -> PyResult<PyTransition> {
        dispatch!(&self.0, set => {
            let index = within("index", index, 0..=set.in_any_order().len() - 1)?;
            Ok(set.in_any_order()[index].clone().into())
        })
    }

    /// Return `W @ block`, or `W.T @ block`.
    fn apply<'py>(
        &self,
        weights: PyReadonlyArray2<'py, f64>,
        block: &Bound<'py, PyAny>,
        transposed: bool,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = block.py();
        let direction = if transposed { Direction::Transposed } else { Direction::Forward };
        dispatch!(&self.0, set => {
            let trajectory = trajectory(set, &weights)?;
            let block: PyReadonlyArray2<'_, _> = of_type(block, "block")?;
            let (cols, x) = (block.shape()[1], elements(&block)?);
            let cost = cost_per_column(&trajectory).saturating_mul(cols);
            // NumPy requests huge pages, which saves a large result thousands of page faults.
            let out = empty(&block, [set.n(), cols])?;
            let mut writable = out.readwrite();
            let target = writable.as_slice_mut()?;
            run(py, n_threads, cost, |exec| trajectory.apply(x, cols, direction, target, exec))?;
            Ok(out.into_any())
        })
    }

    /// Return `W` as a sparse matrix.
    #[pyo3(signature = (weights, *, prune_below, top, prune_each_step, memory_limit, n_threads))]
    fn to_sparse(
        &self,
        py: Python<'_>,
        weights: PyReadonlyArray2<'_, f64>,
        prune_below: f64,
        top: Option<usize>,
        prune_each_step: bool,
        memory_limit: u64,
        n_threads: usize,
    ) -> PyResult<PyCsrParts> {
        let pruning = Pruning { below: prune_below, top, each_step: prune_each_step };
        dispatch!(&self.0, set => {
            let trajectory = trajectory(set, &weights)?;
            let cost = cost_per_column(&trajectory).saturating_mul(set.n());
            let product = run(py, n_threads, cost, |exec| trajectory.to_sparse(pruning, memory_limit, exec))?;
            Ok(PyCsrParts::from_csr(py, product))
        })
    }

    /// Return the number of parts of the samples that no step leaves.
    fn closed_parts(&self, py: Python<'_>, weights: PyReadonlyArray2<'_, f64>, n_threads: usize) -> PyResult<usize> {
        dispatch!(&self.0, set => {
            let trajectory = trajectory(set, &weights)?;
            run(py, n_threads, cost_per_column(&trajectory), |exec| trajectory.closed_parts(exec))
        })
    }

    /// Return the stationary distribution, by power iteration.
    fn stationary_distribution(
        &self,
        py: Python<'_>,
        weights: PyReadonlyArray2<'_, f64>,
        tolerance: f64,
        max_iterations: usize,
        n_threads: usize,
    ) -> PyResult<PyStationary> {
        let found = dispatch!(&self.0, set => {
            let trajectory = trajectory(set, &weights)?;
            let cost = cost_per_column(&trajectory).saturating_mul(max_iterations);
            run(py, n_threads, cost, |exec| trajectory.stationary_distribution(tolerance, max_iterations, exec))?
        });
        let distribution = found.distribution.into_pyarray(py).unbind();
        Ok(PyStationary { distribution, residual: found.residual, n_iterations: found.iterations })
    }

    /// Return the distances between the chosen rows of `W`.
    fn diffusion_distances(
        &self,
        py: Python<'_>,
        weights: PyReadonlyArray2<'_, f64>,
        rows: Vec<usize>,
        inverse_weights: Option<PyReadonlyArray1<'_, f64>>,
        n_threads: usize,
    ) -> PyResult<Py<PyArray2<f64>>> {
        let inverse_weights = inverse_weights.as_ref().map(elements).transpose()?;
        let distances = dispatch!(&self.0, set => {
            let trajectory = trajectory(set, &weights)?;
            let cost = cost_per_column(&trajectory).saturating_mul(rows.len().saturating_mul(rows.len()));
            run(py, n_threads, cost, |exec| trajectory.diffusion_distances(&rows, inverse_weights, exec))?
        });
        matrix(py, distances, rows.len())
    }

    /// Estimate the entropy of the singular values of `W^t` at ascending times.
    #[pyo3(signature = (weights, times, *, n_vectors, n_deflated, max_steps, tolerance, scale, seed, n_threads))]
    fn singular_entropy(
        &self,
        py: Python<'_>,
        weights: PyReadonlyArray2<'_, f64>,
        times: Vec<usize>,
        n_vectors: usize,
        n_deflated: usize,
        max_steps: usize,
        tolerance: f64,
        scale: Option<f64>,
        seed: u64,
        n_threads: usize,
    ) -> PyResult<Vec<PyEntropyEstimate>> {
        // More vectors than samples would not be random.
        let most = dispatch!(&self.0, set => set.n()).max(FEW_VECTORS);
        let (n_vectors, n_deflated) =
            (within("n_vectors", n_vectors, 1..=most)?, within("n_deflated", n_deflated, 0..=most)?);
        let options = EntropyOptions { probes: n_vectors, deflated: n_deflated, max_steps, tolerance, scale, seed };
        let estimates = dispatch!(&self.0, set => {
            let trajectory = trajectory(set, &weights)?;
            // Every factor of `W^t` is one step.
            let longest = LONGEST / trajectory.steps().len();
            times.iter().try_for_each(|&t| within("times", t, 1..=longest).map(drop))?;
            let columns = n_vectors.saturating_add(n_deflated).saturating_mul(max_steps);
            let total = times.iter().fold(0_usize, |sum, &t| sum.saturating_add(t));
            let cost = cost_per_column(&trajectory).saturating_mul(columns).saturating_mul(total);
            run(py, n_threads, cost, |exec| trajectory.singular_entropy(&times, &options, exec))?
        });
        let convert = |EntropyEstimate { time, entropy, error, column_steps: n_column_steps }| PyEntropyEstimate {
            time,
            entropy,
            error,
            n_column_steps,
        };
        Ok(estimates.into_iter().map(convert).collect())
    }
}
