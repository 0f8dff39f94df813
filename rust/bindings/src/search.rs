//! `_core.Scoring`: scores of trajectories, and the searches that run on them.

use std::collections::VecDeque;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mdt_core::graph::neighbours::Features as CoreFeatures;
use mdt_core::ground::csr::Csr;
use mdt_core::ground::exec::Exec;
use mdt_core::cluster::k_means::KMeansSettings;
use mdt_core::cluster::quality::Criterion;
use mdt_core::search::{
    self, Answer, Beam, Clustered, Clustering, EpsilonGreedy, Evaluator, Exhaustive, Halt, LabelledScore, Mcts, Quality,
    RandomSequences, Score, ScoredView, Scorer, Side, Strategy, ViewRows,
};
use mdt_core::spectral::{EmbeddingSettings, Start};
use mdt_core::{Error, OperatorSet, Real, Trajectory};
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arrays::{csr, elements, matrix};
use crate::funnel::{run, run_watched, to_exception};
use crate::operator_set::{AnySet, PyOperatorSet};

/// Features of one view.
#[derive(FromPyObject)]
enum FeaturesArgument<'py> {
    Dense(PyReadonlyArray2<'py, f64>),
    Sparse((usize, PyReadonlyArray1<'py, i64>, PyReadonlyArray1<'py, i32>, PyReadonlyArray1<'py, f64>)),
}

enum Features {
    Dense(Vec<f64>, usize),
    Sparse(Csr<f64>),
}

/// How labels, or the trajectory itself, are judged.
enum Judgement {
    Criterion(Criterion),
    Function(Py<PyAny>),
    Contrastive,
}

/// A strategy as Python writes it: its name and its numbers.
#[derive(FromPyObject)]
enum StrategyArgument {
    /// ("beam", width, depth, side)
    Beam((String, usize, usize, String)),
    /// ("epsilon-greedy", epsilon, depth, side, seed)
    EpsilonGreedy((String, f64, usize, String, u64)),
    /// ("mcts", playouts, depth, exploration, seed)
    Mcts((String, usize, usize, f64, u64)),
    /// ("random", samples, probabilities row after row, seed)
    Random((String, usize, Vec<f64>, u64)),
    /// ("exhaustive", depth)
    Exhaustive((String, usize)),
}

impl StrategyArgument {
    fn to_strategy(&self) -> PyResult<Box<dyn Strategy>> {
        Ok(match self {
            Self::Beam((_, width, depth, side)) => {
                Box::new(Beam { width: *width, depth: *depth, side: side_of(side)? })
            }
            Self::EpsilonGreedy((_, epsilon, depth, side, seed)) => {
                Box::new(EpsilonGreedy { epsilon: *epsilon, depth: *depth, side: side_of(side)?, seed: *seed })
            }
            Self::Mcts((_, playouts, depth, exploration, seed)) => {
                Box::new(Mcts { playouts: *playouts, depth: *depth, exploration: *exploration, seed: *seed })
            }
            Self::Random((_, samples, probabilities, seed)) => {
                Box::new(RandomSequences { samples: *samples, probabilities: probabilities.clone(), seed: *seed })
            }
            Self::Exhaustive((_, depth)) => Box::new(Exhaustive { depth: *depth }),
        })
    }
}

fn side_of(name: &str) -> PyResult<Side> {
    match name {
        "left" => Ok(Side::Left),
        "right" => Ok(Side::Right),
        other => Err(PyValueError::new_err(format!("side: unknown: {other:?}"))),
    }
}

/// A word, its score, the seconds it took.
type Entry = (Vec<u16>, f64, f64);

/// Nodes of a search: words, parents (-1: none), scores, seconds; the answer; why it ended early; candidates not converged.
type Searched<'py> = (
    Vec<Vec<u16>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    usize,
    Option<&'static str>,
    usize,
);

/// Score and seconds of each candidate, None for those not reached; candidates not converged.
type Scored = (Vec<Option<(f64, f64)>>, usize);

/// Score, seconds and labels of each candidate, None for those not reached; candidates not converged.
type ScoredLabels<'py> = (Vec<Option<(f64, f64, Bound<'py, PyArray1<i32>>)>>, usize);

/// Labels and coordinates of a trajectory, and whether the coordinates are within the tolerance.
type Labelled<'py> = (Bound<'py, PyArray1<i32>>, Bound<'py, PyAny>, bool);

/// How trajectories of an operator set are scored.
#[pyclass(name = "Scoring", module = "mdt_fast._core", frozen)]
pub struct PyScoring {
    operators: Py<PyOperatorSet>,
    clustering: Option<Clustering>,
    judgement: Judgement,
    view_weights: Vec<f64>,
    features: Vec<Features>,
    memory_budget: usize,
    n_threads: usize,
}

#[pymethods]
#[expect(clippy::needless_pass_by_value, reason = "extracted arguments are owned")]
impl PyScoring {
    /// `quality`: the name of a criterion, "contrastive", or a function of labels and coordinates. `clustering`: numbers of clusters,
    /// of components, of starts, the tolerance and the iterations of the embedding, the seed.
    #[new]
    #[pyo3(signature = (operators, quality, *, clustering, view_weights, features, memory_budget, n_threads))]
    fn new(
        operators: Py<PyOperatorSet>,
        quality: Bound<'_, PyAny>,
        clustering: Option<(usize, usize, usize, f64, usize, u64)>,
        view_weights: Vec<f64>,
        features: Vec<FeaturesArgument<'_>>,
        memory_budget: usize,
        n_threads: usize,
    ) -> PyResult<Self> {
        let judgement = match quality.extract::<String>() {
            Err(_) => Judgement::Function(quality.unbind()),
            Ok(name) => match name.as_str() {
                "calinski_harabasz" => Judgement::Criterion(Criterion::CalinskiHarabasz),
                "davies_bouldin" => Judgement::Criterion(Criterion::DaviesBouldin),
                "persistence" => Judgement::Criterion(Criterion::Persistence),
                "silhouette" => Judgement::Criterion(Criterion::Silhouette(None)),
                "contrastive" => Judgement::Contrastive,
                other => return Err(PyValueError::new_err(format!("quality: unknown: {other:?}"))),
            },
        };
        let clustering =
            clustering.map(|(n_clusters, n_components, n_init, tolerance, max_iterations, seed)| Clustering {
                embedding: EmbeddingSettings {
                    n_components,
                    drop_first: true,
                    tolerance,
                    only_distances: true,
                    max_iterations,
                    seed,
                },
                k_means: KMeansSettings { n_clusters, n_init, max_iterations: 300, tolerance: 1e-4, seed },
            });
        let features = features
            .iter()
            .map(|view| match view {
                FeaturesArgument::Dense(x) => Ok(Features::Dense(elements(x)?.to_vec(), x.shape()[1])),
                FeaturesArgument::Sparse((n_cols, indptr, indices, values)) => {
                    csr(*n_cols, indptr, indices, values).map(Features::Sparse)
                }
            })
            .collect::<PyResult<_>>()?;
        Ok(Self { operators, clustering, judgement, view_weights, features, memory_budget, n_threads })
    }

    /// Words that a strategy visits at most.
    fn visits(&self, py: Python<'_>, strategy: StrategyArgument) -> PyResult<usize> {
        Ok(strategy.to_strategy()?.visits(self.n_members(py)))
    }

    /// The first word that a strategy draws.
    fn first_word(&self, py: Python<'_>, strategy: StrategyArgument) -> PyResult<Vec<u16>> {
        let StrategyArgument::Random((_, _, probabilities, seed)) = strategy else {
            return Err(PyValueError::new_err("strategy: expected a random one"));
        };
        Ok(RandomSequences { samples: 1, probabilities, seed }.sequence(0, self.n_members(py)))
    }

    /// Runs a strategy, for so many seconds. `watch` is called now and then with what has been scored since; it stops the search
    /// by returning true.
    #[expect(clippy::too_many_arguments, reason = "mirrors the Python method")]
    #[pyo3(signature = (strategy, *, known, max_evaluations, seconds, last, watch))]
    fn search<'py>(
        &self,
        py: Python<'py>,
        strategy: StrategyArgument,
        known: Vec<Entry>,
        max_evaluations: Option<usize>,
        seconds: Option<f64>,
        last: bool,
        watch: Bound<'py, PyAny>,
    ) -> PyResult<Searched<'py>> {
        let deadline = deadline(seconds);
        match &self.operators.bind(py).get().0 {
            AnySet::F32(set) => self.search_set(py, set, &strategy, known, max_evaluations, deadline, last, watch),
            AnySet::F64(set) => self.search_set(py, set, &strategy, known, max_evaluations, deadline, last, watch),
        }
    }

    /// Score and seconds of trajectories given by their weights, None for those not reached, and how many did not converge.
    #[pyo3(signature = (candidates, *, seconds, watch))]
    fn score<'py>(
        &self,
        py: Python<'py>,
        candidates: Vec<PyReadonlyArray2<'py, f64>>,
        seconds: Option<f64>,
        watch: Bound<'py, PyAny>,
    ) -> PyResult<Scored> {
        let deadline = deadline(seconds);
        match &self.operators.bind(py).get().0 {
            AnySet::F32(set) => self.score_set(py, set, &candidates, deadline, watch),
            AnySet::F64(set) => self.score_set(py, set, &candidates, deadline, watch),
        }
    }

    /// As `score`, with the labels of each trajectory.
    #[pyo3(signature = (candidates, *, seconds, watch))]
    fn label<'py>(
        &self,
        py: Python<'py>,
        candidates: Vec<PyReadonlyArray2<'py, f64>>,
        seconds: Option<f64>,
        watch: Bound<'py, PyAny>,
    ) -> PyResult<ScoredLabels<'py>> {
        let deadline = deadline(seconds);
        match &self.operators.bind(py).get().0 {
            AnySet::F32(set) => self.label_set(py, set, &candidates, deadline, watch),
            AnySet::F64(set) => self.label_set(py, set, &candidates, deadline, watch),
        }
    }

    /// Labels and coordinates of a trajectory given by its weights; None without settings for them.
    #[pyo3(signature = (weights))]
    fn cluster<'py>(&self, py: Python<'py>, weights: PyReadonlyArray2<'py, f64>) -> PyResult<Option<Labelled<'py>>> {
        match &self.operators.bind(py).get().0 {
            AnySet::F32(set) => self.cluster_set(py, set, &weights),
            AnySet::F64(set) => self.cluster_set(py, set, &weights),
        }
    }
}

impl PyScoring {
    fn n_members(&self, py: Python<'_>) -> usize {
        match &self.operators.bind(py).get().0 {
            AnySet::F32(set) => set.members().len(),
            AnySet::F64(set) => set.members().len(),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "mirrors the Python method")]
    fn search_set<'py, T: Real + Element>(
        &self,
        py: Python<'py>,
        set: &OperatorSet<T>,
        strategy: &StrategyArgument,
        known: Vec<Entry>,
        max_evaluations: Option<usize>,
        deadline: Option<Instant>,
        last: bool,
        watch: Bound<'py, PyAny>,
    ) -> PyResult<Searched<'py>> {
        let strategy = strategy.to_strategy()?;
        let known = known.into_iter().map(|(word, value, seconds)| (word, Score { value, seconds })).collect();
        let answer = if last { Answer::Last } else { Answer::Any };
        let members = set.members().len();
        let (found, unconverged) = self.with_evaluator(py, set, deadline, watch, |evaluator, exec| {
            let scorer: &dyn Scorer = evaluator;
            let found = search::search(&*strategy, scorer, members, known, max_evaluations, answer, exec)?;
            Ok((found, evaluator.unconverged()))
        })?;
        let column = |get: &dyn Fn(&search::Node) -> f64| -> Vec<f64> { found.nodes.iter().map(get).collect() };
        let parents: Vec<i64> = found.nodes.iter().map(|node| node.parent.map_or(-1, |p| p as i64)).collect();
        let halt = found.halt.as_ref().map(|halt| if *halt == Halt::Budget { "budget" } else { "stopped" });
        Ok((
            found.nodes.iter().map(|node| node.sequence.clone()).collect(),
            parents.into_pyarray(py),
            column(&|node| node.score.value).into_pyarray(py),
            column(&|node| node.score.seconds).into_pyarray(py),
            found.best,
            halt,
            unconverged,
        ))
    }

    fn score_set<'py, T: Real + Element>(
        &self,
        py: Python<'py>,
        set: &OperatorSet<T>,
        candidates: &[PyReadonlyArray2<'py, f64>],
        deadline: Option<Instant>,
        watch: Bound<'py, PyAny>,
    ) -> PyResult<Scored> {
        let candidates = candidates.iter().map(|w| Ok(elements(w)?.to_vec())).collect::<PyResult<Vec<_>>>()?;
        self.with_evaluator(py, set, deadline, watch, |evaluator, exec| {
            let scores = evaluator.score_weights(&candidates, exec)?;
            let scores = scores.into_iter().map(|score| score.map(|s| (s.value, s.seconds))).collect();
            Ok((scores, evaluator.unconverged()))
        })
    }

    fn label_set<'py, T: Real + Element>(
        &self,
        py: Python<'py>,
        set: &OperatorSet<T>,
        candidates: &[PyReadonlyArray2<'py, f64>],
        deadline: Option<Instant>,
        watch: Bound<'py, PyAny>,
    ) -> PyResult<ScoredLabels<'py>> {
        let candidates = candidates.iter().map(|w| Ok(elements(w)?.to_vec())).collect::<PyResult<Vec<_>>>()?;
        let (found, unconverged) = self.with_evaluator(py, set, deadline, watch, |evaluator, exec| {
            Ok((evaluator.label_weights(&candidates, exec)?, evaluator.unconverged()))
        })?;
        let to_python = |LabelledScore { score, labels }| {
            let labels: Vec<i32> = bytemuck::allocation::cast_vec(labels);
            (score.value, score.seconds, labels.into_pyarray(py))
        };
        Ok((found.into_iter().map(|each| each.map(to_python)).collect(), unconverged))
    }

    fn cluster_set<'py, T: Real + Element>(
        &self,
        py: Python<'py>,
        set: &OperatorSet<T>,
        weights: &PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Option<Labelled<'py>>> {
        let Some(how) = &self.clustering else { return Ok(None) };
        let trajectory = Trajectory::new(set, elements(weights)?).map_err(to_exception)?;
        let found = run(py, self.n_threads, usize::MAX, |exec| how.of(&trajectory, Start::Random, exec))?;
        let Clustered { coordinates, labels, converged } = found;
        let labels: Vec<i32> = bytemuck::allocation::cast_vec(labels);
        let coordinates = matrix(py, coordinates, how.embedding.n_components)?.into_any();
        Ok(Some((labels.into_pyarray(py), coordinates, converged)))
    }

    /// Runs `work` with an evaluator. What it scores goes to `watch`, what it asks a Python function goes to that function, both on
    /// the calling thread.
    fn with_evaluator<T: Real + Element, R: Send>(
        &self,
        py: Python<'_>,
        set: &OperatorSet<T>,
        deadline: Option<Instant>,
        watch: Bound<'_, PyAny>,
        work: impl FnOnce(&Evaluator<'_, T>, &Exec) -> mdt_core::Result<R> + Send,
    ) -> PyResult<R> {
        let journal: Mutex<Vec<Entry>> = Mutex::default();
        let desk = Desk::default();
        let listener = |word: &[u16], score: Score| lock(&journal).push((word.to_vec(), score.value, score.seconds));
        let watch = watch.unbind();
        let scored = |exec: &Exec, wake: &(dyn Fn() + Sync)| {
            let judge = |name: &str, clustered: &Clustered<T>| {
                let Judgement::Function(function) = &self.judgement else {
                    return Err(Error::Invalid("expected a function".into()));
                };
                desk.ask(Question::new(function, name, clustered), wake)
            };
            let missing = || Error::Invalid("clustering: expected settings, got none".into());
            let quality = match &self.judgement {
                Judgement::Contrastive => Quality::Contrastive(self.view_weights.clone()),
                Judgement::Function(_) => {
                    Quality::Function { clustering: self.clustering.clone().ok_or_else(missing)?, function: &judge }
                }
                Judgement::Criterion(criterion) => Quality::Labels {
                    clustering: self.clustering.clone().ok_or_else(missing)?,
                    criterion: *criterion,
                    views: self.views(),
                },
            };
            let evaluator = Evaluator::new(set, quality, self.memory_budget, deadline, &listener)?;
            work(&evaluator, exec)
        };
        let tell = |py: Python<'_>| -> PyResult<bool> {
            let news = std::mem::take(&mut *lock(&journal));
            watch.bind(py).call1((news,))?.extract()
        };
        let result = run_watched(py, self.n_threads, scored, |py, stopped| {
            desk.answer_one(py, stopped)?;
            if stopped { Ok(false) } else { tell(py) }
        })?;
        // The last ones, too late for the watch.
        tell(py)?;
        Ok(result)
    }

    fn views(&self) -> Vec<ScoredView<'_>> {
        let rows = |view: usize| match self.features.get(view) {
            None => ViewRows::Walk(view),
            Some(Features::Dense(data, dimension)) => ViewRows::Features(CoreFeatures::Dense { data, dimension: *dimension }),
            Some(Features::Sparse(rows)) => ViewRows::Features(CoreFeatures::Sparse(rows)),
        };
        self.view_weights.iter().enumerate().map(|(view, &weight)| ScoredView { rows: rows(view), weight }).collect()
    }
}

/// The moment so many seconds from now.
fn deadline(seconds: Option<f64>) -> Option<Instant> {
    let wait = Duration::try_from_secs_f64(seconds?.max(0.0)).ok()?;
    Instant::now().checked_add(wait)
}

fn lock<V>(mutex: &Mutex<V>) -> MutexGuard<'_, V> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call of a Python function, ready to be made.
type Call = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// What a worker asks a Python function, and where the answer goes.
struct Question {
    name: String,
    call: Call,
}

impl Question {
    fn new<T: Real + Element>(function: &Py<PyAny>, name: &str, clustered: &Clustered<T>) -> Self {
        let function = Python::attach(|py| function.clone_ref(py));
        let labels: Vec<i32> = bytemuck::allocation::cast_vec(clustered.labels.clone());
        let coordinates = clustered.coordinates.clone();
        let call = move |py: Python<'_>| {
            let components = coordinates.len() / labels.len();
            let coordinates = matrix(py, coordinates, components)?;
            function.call1(py, (labels.into_pyarray(py), coordinates))
        };
        Self { name: name.to_owned(), call: Box::new(call) }
    }
}

/// Where workers leave questions for the thread that holds the interpreter: a user's function runs where its caller called from, so
/// Ctrl-C reaches it and it need not be safe for threads.
#[derive(Default)]
struct Desk(Mutex<VecDeque<(Question, Sender<mdt_core::Result<f64>>)>>);

impl Desk {
    /// Waits for the answer.
    fn ask(&self, question: Question, wake: &(dyn Fn() + Sync)) -> mdt_core::Result<f64> {
        let (sender, receiver) = channel();
        lock(&self.0).push_back((question, sender));
        wake();
        receiver.recv().unwrap_or(Err(Error::Interrupted))
    }

    /// Answers one question (everybody who asks also wakes), or turns all of them away.
    fn answer_one(&self, py: Python<'_>, stopped: bool) -> PyResult<()> {
        if stopped {
            lock(&self.0).drain(..).for_each(|(_, reply)| drop(reply.send(Err(Error::Interrupted))));
            return Ok(());
        }
        // Not locked during the call.
        let next = lock(&self.0).pop_front();
        let Some((Question { name, call }, reply)) = next else { return Ok(()) };
        let answer = call(py).inspect_err(|_| drop(reply.send(Err(Error::Interrupted))))?;
        drop(reply.send(number(answer.bind(py), &name)));
        Ok(())
    }
}

/// The number that a function returned.
fn number(answer: &Bound<'_, PyAny>, name: &str) -> mdt_core::Result<f64> {
    answer.extract::<f64>().map_err(|_| {
        let got = answer.repr().map_or_else(|_| "something else".to_owned(), |text| text.to_string());
        Error::Invalid(format!("quality: expected a finite number for the trajectory {name}, got {got}"))
    })
}
