//! `_core.OperatorSet`: members over stored transitions, and what their trajectories can do.

use std::sync::Arc;

use mdt_core::{Direction, EntropyOptions, Landing, Member, OperatorSet, Pruning, Real, Trajectory, Transition};
use numpy::{
    Element, IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arrays::{AnyArray2, elements, indptr_array, matrix};
use crate::funnel::{run, to_exception};
use crate::transition::{AnyTransition, PyTransition};

pub enum AnySet {
    F32(OperatorSet<f32>),
    F64(OperatorSet<f64>),
}

/// Evaluates the same expression for either element type.
macro_rules! either {
    ($any:expr, $x:ident => $body:expr) => {
        match $any {
            AnySet::F32($x) => $body,
            AnySet::F64($x) => $body,
        }
    };
}

/// Members over stored transition matrices. A trajectory is given to each method as its (steps, members) weights.
#[pyclass(name = "OperatorSet", module = "mdt_fast._core", frozen)]
pub struct PyOperatorSet(pub AnySet);

/// How a member is written in Python: ("walk", base), ("mean", count), ("identity",), ("uniform",), ("power", base, exponent)
/// or ("teleport", base, alpha, exponent), exponent 0 for a uniform landing.
#[derive(FromPyObject)]
enum MemberArgument {
    Teleport((String, usize, f64, u32)),
    Power((String, usize, u32)),
    Walk((String, usize)),
    Plain((String,)),
}

impl MemberArgument {
    fn to_member(&self) -> PyResult<Member> {
        let unknown = |kind: &str| PyValueError::new_err(format!("members: unknown kind {kind:?}"));
        match self {
            Self::Plain((kind,)) => match kind.as_str() {
                "identity" => Ok(Member::Identity),
                "uniform" => Ok(Member::Uniform),
                other => Err(unknown(other)),
            },
            Self::Walk((kind, base)) if kind == "walk" => Ok(Member::Walk(*base)),
            Self::Walk((kind, count)) if kind == "mean" => Ok(Member::Mean(*count)),
            Self::Power((kind, base, exponent)) if kind == "power" => {
                Ok(Member::Power { base: *base, exponent: *exponent })
            }
            Self::Teleport((kind, base, alpha, exponent)) if kind == "teleport" => {
                let landing = if *exponent == 0 { Landing::Uniform } else { Landing::Power(*exponent) };
                Ok(Member::Teleport { base: *base, alpha: *alpha, landing })
            }
            Self::Walk((kind, ..)) | Self::Power((kind, ..)) | Self::Teleport((kind, ..)) => Err(unknown(kind)),
        }
    }
}

/// Parts of a CSR matrix: indptr, indices, values.
type CsrParts<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i32>>, Bound<'py, PyAny>);

/// Multiplications of one column through the trajectory.
pub fn cost_per_column<T: Real>(trajectory: &Trajectory<'_, T>) -> usize {
    let walks = trajectory.set().walks();
    let powers = trajectory.steps().iter().flat_map(|step| &step.powers);
    powers.map(|p| walks[p.base].matrix().nnz() * p.exponent as usize).sum::<usize>() + trajectory.n()
}

fn apply<'py, T: Real + Element>(
    py: Python<'py>,
    set: &OperatorSet<T>,
    weights: &[f64],
    block: &PyReadonlyArray2<'py, T>,
    transposed: bool,
    n_threads: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let trajectory = Trajectory::new(set, weights).map_err(to_exception)?;
    let direction = if transposed { Direction::Transposed } else { Direction::Forward };
    let (cols, x) = (block.shape()[1], elements(block)?);
    let cost = cost_per_column(&trajectory).saturating_mul(cols);
    // NumPy asks for huge pages, which saves a large result thousands of page faults.
    // SAFETY: any bits are a number, and every one of them is overwritten before anybody sees the array.
    let out = unsafe { PyArray2::new(py, [set.n(), cols], false) };
    let mut writable = out.readwrite();
    let target = writable.as_slice_mut()?;
    run(py, n_threads, cost, |exec| trajectory.apply(x, cols, direction, target, exec))?;
    Ok(out.into_any())
}

fn to_sparse<'py, T: Real + Element>(
    py: Python<'py>,
    set: &OperatorSet<T>,
    weights: &[f64],
    pruning: Pruning,
    memory_limit: u64,
    n_threads: usize,
) -> PyResult<CsrParts<'py>> {
    let trajectory = Trajectory::new(set, weights).map_err(to_exception)?;
    let cost = cost_per_column(&trajectory).saturating_mul(set.n());
    let (indptr, indices, values) =
        run(py, n_threads, cost, |exec| Ok(trajectory.to_sparse(pruning, memory_limit, exec)?.into_parts()))?;
    let indices: Vec<i32> = bytemuck::allocation::cast_vec(indices);
    Ok((indptr_array(py, &indptr), indices.into_pyarray(py), values.into_pyarray(py).into_any()))
}

/// A set of the transitions that `pick` takes, which must be all of them.
fn collect<T: Real>(
    transitions: &[PyRef<'_, PyTransition>],
    pick: impl Fn(&AnyTransition) -> Option<Arc<Transition<T>>>,
    members: Vec<Member>,
) -> PyResult<OperatorSet<T>> {
    let walks: Option<Vec<_>> = transitions.iter().map(|t| pick(&t.0)).collect();
    let walks = walks.ok_or_else(|| PyTypeError::new_err("transitions: expected one element type"))?;
    OperatorSet::new(walks, members).map_err(to_exception)
}

#[pymethods]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
impl PyOperatorSet {
    /// A set over transitions of one size and element type.
    #[new]
    fn new(transitions: Vec<PyRef<'_, PyTransition>>, members: Vec<MemberArgument>) -> PyResult<Self> {
        let members = members.iter().map(MemberArgument::to_member).collect::<PyResult<Vec<_>>>()?;
        let single = transitions.iter().all(|t| matches!(t.0, AnyTransition::F32(_)));
        let set = if single {
            let pick = |t: &AnyTransition| if let AnyTransition::F32(t) = t { Some(t.clone()) } else { None };
            AnySet::F32(collect(&transitions, pick, members)?)
        } else {
            let pick = |t: &AnyTransition| if let AnyTransition::F64(t) = t { Some(t.clone()) } else { None };
            AnySet::F64(collect(&transitions, pick, members)?)
        };
        Ok(Self(set))
    }

    /// `W @ block`, or `W.T @ block`.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        weights: PyReadonlyArray2<'py, f64>,
        block: AnyArray2<'py>,
        transposed: bool,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        let weights = elements(&weights)?;
        match (&self.0, block) {
            (AnySet::F32(set), AnyArray2::F32(block)) => apply(py, set, weights, &block, transposed, n_threads),
            (AnySet::F64(set), AnyArray2::F64(block)) => apply(py, set, weights, &block, transposed, n_threads),
            _ => Err(PyTypeError::new_err("block: expected the element type of the operators")),
        }
    }

    /// `W` as a sparse matrix.
    #[pyo3(signature = (weights, *, prune_below, top, prune_each_step, memory_limit, n_threads))]
    #[expect(clippy::too_many_arguments, reason = "mirrors the Python method")]
    fn to_sparse<'py>(
        &self,
        py: Python<'py>,
        weights: PyReadonlyArray2<'py, f64>,
        prune_below: f64,
        top: Option<usize>,
        prune_each_step: bool,
        memory_limit: u64,
        n_threads: usize,
    ) -> PyResult<CsrParts<'py>> {
        let weights = elements(&weights)?;
        let pruning = Pruning { below: prune_below, top, each_step: prune_each_step };
        either!(&self.0, set => to_sparse(py, set, weights, pruning, memory_limit, n_threads))
    }

    /// The stationary distribution by power iteration, its residual, and the number of iterations.
    fn stationary_distribution<'py>(
        &self,
        py: Python<'py>,
        weights: PyReadonlyArray2<'py, f64>,
        tolerance: f64,
        max_iterations: usize,
        n_threads: usize,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, f64, usize)> {
        let weights = elements(&weights)?;
        let stationary = either!(&self.0, set => {
            let trajectory = Trajectory::new(set, weights).map_err(to_exception)?;
            let cost = cost_per_column(&trajectory).saturating_mul(max_iterations);
            run(py, n_threads, cost, |exec| trajectory.stationary_distribution(tolerance, max_iterations, exec))?
        });
        Ok((stationary.distribution.into_pyarray(py), stationary.residual, stationary.iterations))
    }

    /// Distances between the chosen rows of `W`.
    fn diffusion_distances<'py>(
        &self,
        py: Python<'py>,
        weights: PyReadonlyArray2<'py, f64>,
        rows: Vec<usize>,
        inverse_weights: Option<PyReadonlyArray1<'py, f64>>,
        n_threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let weights = elements(&weights)?;
        let inverse_weights = inverse_weights.as_ref().map(elements).transpose()?;
        let distances = either!(&self.0, set => {
            let trajectory = Trajectory::new(set, weights).map_err(to_exception)?;
            let cost = cost_per_column(&trajectory).saturating_mul(rows.len().saturating_mul(rows.len()));
            run(py, n_threads, cost, |exec| trajectory.diffusion_distances(&rows, inverse_weights, exec))?
        });
        matrix(py, distances, rows.len())
    }

    /// Estimated entropy of the singular values of `W^t` at increasing times: entropies, errors, column-steps.
    #[pyo3(signature = (weights, times, *, n_vectors, n_deflated, max_steps, tolerance, seed, n_threads))]
    #[expect(clippy::too_many_arguments, reason = "mirrors the Python method")]
    fn singular_entropy<'py>(
        &self,
        py: Python<'py>,
        weights: PyReadonlyArray2<'py, f64>,
        times: Vec<usize>,
        n_vectors: usize,
        n_deflated: usize,
        max_steps: usize,
        tolerance: f64,
        seed: u64,
        n_threads: usize,
    ) -> PyResult<(Vec<f64>, Vec<f64>, Vec<usize>)> {
        let weights = elements(&weights)?;
        let options = EntropyOptions { probes: n_vectors, deflated: n_deflated, max_steps, tolerance, seed };
        let estimates = either!(&self.0, set => {
            let trajectory = Trajectory::new(set, weights).map_err(to_exception)?;
            let columns = (n_vectors + n_deflated).saturating_mul(max_steps);
            let total = times.iter().fold(0_usize, |sum, &t| sum.saturating_add(t));
            let cost = cost_per_column(&trajectory).saturating_mul(columns).saturating_mul(total);
            run(py, n_threads, cost, |exec| trajectory.singular_entropy(&times, &options, exec))?
        });
        Ok((
            estimates.iter().map(|e| e.entropy).collect(),
            estimates.iter().map(|e| e.error).collect(),
            estimates.iter().map(|e| e.column_steps).collect(),
        ))
    }
}
