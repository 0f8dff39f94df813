//! `Scorer`: scores of trajectories, and the searches that use them.

use std::any::Any;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use mdt_core::cluster::k_means::KMeansSettings;
use mdt_core::cluster::quality::Criterion;
use mdt_core::ground::csr::MAX_SIZE;
use mdt_core::search::{
    self, Answer, Clustered, Clustering, Evaluator, Halt, Quality, Score, ScoreFunction, ScoredView, StartBlock,
    ViewRows,
};
use mdt_core::spectral::EmbeddingSettings;
use mdt_core::{Error, Exec, OperatorSet, Real};
use numpy::{Element, PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::callbacks::{answer_one, refuse_all, request};
use super::results::{PyEvaluated, PyEvaluatedBatch, PyLabelled, PyScoredSequence, PySearched};
use super::strategies::PyStrategy;
use crate::arguments::{positive, within};
use crate::arrays::{elements, signed};
use crate::callback::call;
use crate::features::OwnedRows;
use crate::operator_set::{PyOperatorSet, trajectory};
use crate::precision::{dispatch, of_type};
use crate::quality::criterion;
use crate::run::{run, run_watched};

/// The way from a trajectory to labels: an embedding without its first pair, then k-means.
#[pyclass(name = "Clustering", module = "mdt_fast._core", frozen)]
pub struct PyClustering(Clustering);

#[pymethods]
impl PyClustering {
    #[new]
    #[pyo3(signature = (
        *, n_clusters, n_components, damped, n_init, max_iter, tol, embedding_tol, embedding_max_iter, seed
    ))]
    fn new(
        n_clusters: usize,
        n_components: usize,
        damped: bool,
        n_init: usize,
        max_iter: usize,
        tol: f64,
        embedding_tol: f64,
        embedding_max_iter: usize,
        seed: u64,
    ) -> PyResult<Self> {
        let (n_clusters, n_init) = (within("n_clusters", n_clusters, 1..=MAX_SIZE)?, positive("n_init", n_init)?);
        let n_components = within("n_components", n_components, 1..=MAX_SIZE)?;
        let embedding = EmbeddingSettings {
            n_components,
            drop_first: true,
            tolerance: embedding_tol,
            only_distances: true,
            max_iterations: embedding_max_iter,
            seed,
        };
        let k_means = KMeansSettings { n_clusters, n_init, max_iterations: max_iter, tolerance: tol, seed };
        Ok(Self(Clustering { embedding, damped, k_means }))
    }
}

/// The source of the scores.
enum Source {
    Criterion(Criterion),
    Function(Py<PyAny>),
    Contrastive,
}

impl Source {
    fn new(quality: &Bound<'_, PyAny>) -> PyResult<Self> {
        match quality.extract::<String>() {
            Err(_) => Ok(Self::Function(quality.clone().unbind())),
            Ok(name) if name == "contrastive" => Ok(Self::Contrastive),
            Ok(name) => criterion(&name, None).map(Self::Criterion),
        }
    }
}

/// Scores trajectories of an operator set.
///
/// `quality` is the name of a score, or a function of labels and coordinates. `watch` is called on
/// the calling thread, at intervals, with the sequences scored since the last call; it stops the
/// work by returning True. No candidate is begun after `seconds`, but at least one is scored.
#[pyclass(name = "Scorer", module = "mdt_fast._core", frozen)]
pub struct PyScorer {
    operators: Py<PyOperatorSet>,
    source: Source,
    clustering: Option<Clustering>,
    view_weights: Vec<f64>,
    features: Vec<OwnedRows>,
    /// The [`StartBlock`] of the operators, in their precision.
    start: Box<dyn Any + Send + Sync>,
    n_threads: usize,
}

#[pymethods]
impl PyScorer {
    #[new]
    #[pyo3(signature = (operators, quality, *, clustering, view_weights, features, n_threads))]
    fn new(
        operators: Py<PyOperatorSet>,
        quality: &Bound<'_, PyAny>,
        clustering: Option<PyRef<'_, PyClustering>>,
        view_weights: Vec<f64>,
        features: Vec<OwnedRows>,
        n_threads: usize,
    ) -> PyResult<Self> {
        let (source, clustering) = (Source::new(quality)?, clustering.map(|how| how.0.clone()));
        let n_walks = dispatch!(&operators.get().0, set => set.in_any_order().len());
        let n_views = if features.is_empty() { n_walks } else { features.len() };
        within("length of view_weights", view_weights.len(), 0..=n_views)?;
        let start = dispatch!(&operators.get().0, set => start_of(set));
        Ok(Self { operators, source, clustering, view_weights, features, start, n_threads })
    }

    /// Run a strategy. `known` holds scores of an earlier run; the answer is the best sequence of
    /// any length ("any") or of the largest length ("last").
    #[pyo3(signature = (strategy, *, known, max_evaluations, seconds, answer, watch))]
    fn search(
        &self,
        strategy: &Bound<'_, PyStrategy>,
        known: Vec<PyRef<'_, PyScoredSequence>>,
        max_evaluations: Option<usize>,
        seconds: Option<f64>,
        answer: &str,
        watch: &Bound<'_, PyAny>,
    ) -> PyResult<PySearched> {
        let (py, deadline, strategy) = (strategy.py(), deadline(seconds), &*strategy.get().0);
        let answer = match answer {
            "any" => Answer::Any,
            "last" => Answer::Last,
            other => return Err(PyValueError::new_err(format!("answer: expected 'any' or 'last', got {other:?}"))),
        };
        let known = known.iter().map(|k| (k.sequence.clone(), Score { value: k.score, seconds: k.seconds })).collect();
        let (found, labels, n_unconverged) = dispatch!(&self.operators.bind(py).get().0, set => {
            self.with_evaluator(set, deadline, watch, |evaluator, exec| {
                let members = set.members().len();
                let found = search::search(strategy, evaluator, members, known, max_evaluations, answer, exec)?;
                let winner = &found.nodes[found.best].sequence;
                // A stopped search computes nothing more.
                let labels = match found.halt {
                    Some(Halt::Stopped) => evaluator.kept_labels(winner)?,
                    _ => evaluator.labels_of(winner, exec)?,
                };
                Ok((found, labels, evaluator.unconverged()))
            })
        })?;
        Ok(PySearched::new(py, found, labels, n_unconverged))
    }

    /// Score trajectories given by their weights.
    #[pyo3(signature = (candidates, *, with_labels, seconds, watch))]
    fn score(
        &self,
        py: Python<'_>,
        candidates: Vec<PyReadonlyArray2<'_, f64>>,
        with_labels: bool,
        seconds: Option<f64>,
        watch: &Bound<'_, PyAny>,
    ) -> PyResult<PyEvaluatedBatch> {
        let deadline = deadline(seconds);
        let weights = candidates.iter().map(|w| Ok(elements(w)?.to_vec())).collect::<PyResult<Vec<_>>>()?;
        let (found, n_unconverged) = dispatch!(&self.operators.bind(py).get().0, set => {
            self.with_evaluator(set, deadline, watch, |evaluator, exec| {
                let found = evaluator.score_weights(&weights, with_labels, exec)?;
                Ok((found, evaluator.unconverged()))
            })
        })?;
        let convert = |evaluation| Py::new(py, PyEvaluated::new(py, evaluation));
        let candidates = found.into_iter().map(|each| each.map(convert).transpose()).collect::<PyResult<_>>()?;
        Ok(PyEvaluatedBatch { candidates, n_unconverged })
    }

    /// Cluster coordinates by one start of k-means for each seed, and return the first of those with
    /// the best score.
    #[pyo3(signature = (coordinates, *, seeds, seconds, watch))]
    fn label(
        &self,
        coordinates: &Bound<'_, PyAny>,
        seeds: Vec<u64>,
        seconds: Option<f64>,
        watch: &Bound<'_, PyAny>,
    ) -> PyResult<PyLabelled> {
        let (py, deadline) = (watch.py(), deadline(seconds));
        dispatch!(&self.operators.bind(py).get().0, set => {
            let coordinates: PyReadonlyArray2<'_, _> = of_type(coordinates, "coordinates")?;
            within("rows of coordinates", coordinates.shape()[0], set.n()..=set.n())?;
            let (points, dimension) = (elements(&coordinates)?, coordinates.shape()[1]);
            let found = self.with_evaluator(set, deadline, watch, |evaluator, exec| {
                evaluator.best_start(points, &seeds, exec)
            })?;
            PyLabelled::new(py, found, dimension)
        })
    }

    /// Return the labels of a trajectory given by its weights; None without a clustering.
    fn cluster(&self, py: Python<'_>, weights: PyReadonlyArray2<'_, f64>) -> PyResult<Option<Py<PyArray1<i32>>>> {
        let Some(how) = &self.clustering else { return Ok(None) };
        dispatch!(&self.operators.bind(py).get().0, set => {
            let trajectory = trajectory(set, &weights)?;
            let found = run(py, self.n_threads, usize::MAX, |exec| how.of(&trajectory, self.start(), exec))?;
            Ok(Some(signed(py, found.labels)))
        })
    }
}

/// An empty starting block in the precision of a set.
fn start_of<T: Real>(_: &OperatorSet<T>) -> Box<dyn Any + Send + Sync> {
    Box::new(StartBlock::<T>::default())
}

impl PyScorer {
    fn start<T: Real>(&self) -> &StartBlock<T> {
        self.start.downcast_ref().expect("the block has the precision of the operators")
    }

    /// Runs `work` with an evaluator. Scored sequences go to `watch` and clusterings to a Python
    /// quality function, both on the calling thread.
    fn with_evaluator<T: Real + Element, R: Send>(
        &self,
        set: &OperatorSet<T>,
        deadline: Option<Instant>,
        watch: &Bound<'_, PyAny>,
        work: impl FnOnce(&Evaluator<'_, T>, &Exec) -> mdt_core::Result<R> + Send,
    ) -> PyResult<R> {
        let (py, watch) = (watch.py(), watch.clone().unbind());
        let (scored, mut journal) = channel();
        let (requests, mut received) = channel();
        let listener = |sequence: &[u16], score: Score| {
            let entry = PyScoredSequence { sequence: sequence.to_vec(), score: score.value, seconds: score.seconds };
            // The receiver outlives the work.
            drop(scored.send(entry));
        };
        let evaluate = |exec: &Exec, wake: &(dyn Fn() + Sync)| {
            let by_function = |name: &str, clustered: &Clustered<T>| request(&requests, name, clustered, wake);
            let quality = self.quality(&by_function)?;
            work(&Evaluator::new(set, quality, self.start(), deadline, &listener), exec)
        };
        let report = |py: Python<'_>, journal: &mut Receiver<PyScoredSequence>| {
            let entries: Vec<PyScoredSequence> = journal.try_iter().collect();
            call(watch.bind(py), (entries,))?.extract::<bool>()
        };
        let result = run_watched(py, self.n_threads, evaluate, |py, stopped| {
            if stopped {
                refuse_all(&mut received);
                return Ok(false);
            }
            if let Source::Function(function) = &self.source {
                answer_one(py, function, &mut received)?;
            }
            report(py, &mut journal)
        })?;
        // The last ones, scored after the last call of `watch`.
        report(py, &mut journal)?;
        Ok(result)
    }

    fn quality<'a, T>(&'a self, function: &'a ScoreFunction<'a, T>) -> mdt_core::Result<Quality<'a, T>> {
        let missing = || Error::Invalid("clustering: expected settings, got none".into());
        let clustering = || self.clustering.clone().ok_or_else(missing);
        Ok(match &self.source {
            Source::Contrastive => Quality::Contrastive(self.view_weights.clone()),
            Source::Function(_) => Quality::Function { clustering: clustering()?, function },
            Source::Criterion(criterion) => {
                Quality::Labels { clustering: clustering()?, criterion: *criterion, views: self.views() }
            }
        })
    }

    fn views(&self) -> Vec<ScoredView<'_>> {
        let features = |view: usize| self.features.get(view).map(|rows| ViewRows::Features(rows.as_features()));
        let rows = |view: usize| features(view).unwrap_or(ViewRows::Walk(view));
        self.view_weights.iter().enumerate().map(|(view, &weight)| ScoredView { rows: rows(view), weight }).collect()
    }
}

/// The moment `seconds` from now.
fn deadline(seconds: Option<f64>) -> Option<Instant> {
    let wait = Duration::try_from_secs_f64(seconds?.max(0.0)).ok()?;
    Instant::now().checked_add(wait)
}
