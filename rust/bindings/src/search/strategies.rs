//! Strategies over sequences: `Beam`, `EpsilonGreedy`, `Mcts`, `RandomSequences`, `Exhaustive`.

use mdt_core::search::{Beam, EpsilonGreedy, Exhaustive, Mcts, RandomSequences, Side, Strategy};
use numpy::{PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::PyClass;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::{LONGEST, finite, positive, within};

/// Largest number of members that a sequence can refer to.
const MOST_MEMBERS: usize = u16::MAX as usize;

/// The way in which a search chooses sequences; the base class of all strategies.
#[pyclass(name = "Strategy", module = "mdt_fast._core", frozen, subclass)]
pub struct PyStrategy(pub Box<dyn Strategy + Send>);

#[pymethods]
impl PyStrategy {
    /// Return the largest number of sequences that the strategy visits in a set of `n_members`
    /// members.
    fn visits(&self, n_members: usize) -> usize {
        self.0.visits(n_members)
    }
}

/// An object of `class` whose base is the core's strategy.
fn strategy<C: PyClass<BaseType = PyStrategy>>(
    class: C,
    core: impl Strategy + Send + 'static,
) -> PyClassInitializer<C> {
    PyClassInitializer::from(PyStrategy(Box::new(core))).add_subclass(class)
}

fn side(name: &str) -> PyResult<Side> {
    match name {
        "left" => Ok(Side::Left),
        "right" => Ok(Side::Right),
        other => Err(PyValueError::new_err(format!("side: expected 'left' or 'right', got {other:?}"))),
    }
}

/// Extend the `width` best sequences of each length, up to `depth` steps.
#[pyclass(name = "Beam", module = "mdt_fast._core", frozen, extends = PyStrategy)]
pub struct PyBeam;

#[pymethods]
impl PyBeam {
    #[new]
    #[pyo3(signature = (*, width, depth, side))]
    fn new(width: usize, depth: usize, side: &str) -> PyResult<PyClassInitializer<Self>> {
        let (width, depth) = (positive("width", width)?, within("depth", depth, 1..=LONGEST)?);
        Ok(strategy(Self, Beam { width, depth, side: self::side(side)? }))
    }
}

/// Extend one sequence by its best step or, with probability `epsilon`, by a random step.
#[pyclass(name = "EpsilonGreedy", module = "mdt_fast._core", frozen, extends = PyStrategy)]
pub struct PyEpsilonGreedy;

#[pymethods]
impl PyEpsilonGreedy {
    #[new]
    #[pyo3(signature = (*, epsilon, depth, side, seed))]
    fn new(epsilon: f64, depth: usize, side: &str, seed: u64) -> PyResult<PyClassInitializer<Self>> {
        let (epsilon, depth) = (finite("epsilon", epsilon)?, within("depth", depth, 1..=LONGEST)?);
        Ok(strategy(Self, EpsilonGreedy { epsilon, depth, side: self::side(side)?, seed }))
    }
}

/// Search the tree of sequences guided by upper confidence bounds.
#[pyclass(name = "Mcts", module = "mdt_fast._core", frozen, extends = PyStrategy)]
pub struct PyMcts;

#[pymethods]
impl PyMcts {
    #[new]
    #[pyo3(signature = (*, playouts, depth, exploration, seed))]
    fn new(playouts: usize, depth: usize, exploration: f64, seed: u64) -> PyResult<PyClassInitializer<Self>> {
        let (playouts, depth) = (positive("playouts", playouts)?, within("depth", depth, 1..=LONGEST)?);
        Ok(strategy(Self, Mcts { playouts, depth, exploration: finite("exploration", exploration)?, seed }))
    }
}

/// Draw `n` sequences; row s of `probabilities` holds the probabilities of the members at step s.
#[pyclass(name = "RandomSequences", module = "mdt_fast._core", frozen, extends = PyStrategy)]
pub struct PyRandomSequences(RandomSequences, usize);

#[pymethods]
impl PyRandomSequences {
    #[new]
    #[pyo3(signature = (*, n, probabilities, seed))]
    fn new(n: usize, probabilities: PyReadonlyArray2<'_, f64>, seed: u64) -> PyResult<PyClassInitializer<Self>> {
        let [depth, n_members] = [probabilities.shape()[0], probabilities.shape()[1]];
        let samples = positive("n", n)?;
        within("rows of probabilities", depth, 1..=LONGEST)?;
        within("columns of probabilities", n_members, 1..=MOST_MEMBERS)?;
        let probabilities = probabilities.as_array().iter().copied().collect();
        let random = RandomSequences { samples, probabilities, seed };
        Ok(strategy(Self(random.clone(), n_members), random))
    }

    /// Return the first sequence that the strategy draws.
    fn first(&self, n_members: usize) -> PyResult<Vec<u16>> {
        Ok(self.0.sequence(0, within("n_members", n_members, self.1..=self.1)?))
    }
}

/// Visit all sequences of up to `depth` steps.
#[pyclass(name = "Exhaustive", module = "mdt_fast._core", frozen, extends = PyStrategy)]
pub struct PyExhaustive;

#[pymethods]
impl PyExhaustive {
    #[new]
    #[pyo3(signature = (*, depth))]
    fn new(depth: usize) -> PyResult<PyClassInitializer<Self>> {
        Ok(strategy(Self, Exhaustive { depth: within("depth", depth, 1..=LONGEST)? }))
    }
}
