//! Evaluation of candidates: coordinates, labels, score.
//!
//! A score is a function of the trajectory and of the settings alone. It does not depend on the
//! strategy, on threads, on memory or on the candidates scored before, so a search can be resumed
//! with known scores. All candidates therefore start the solver from one block, [`StartBlock`]. (The
//! singular vectors of a shorter sequence would be a better start, but scores would depend on the
//! order of the search.)

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use super::candidate::Candidate;
use super::clustering::Clustered;
use super::quality::Quality;
use super::tree::rank;
use super::{Score, Scorer, Sequence, StartBlock};
use crate::cluster::k_means::{KMeans, KMeansSettings, k_means};
use crate::ground::exec::lock;
use crate::ground::idle::Reuse;
use crate::reorder::{in_cache_order, in_given_order};
use crate::{Error, Exec, OperatorSet, Real, Result, Trajectory};

/// Up to this many points, each thread evaluates a candidate of its own: a quarter faster at 10,000
/// points, a tenth at 30,000. Above, the threads share one candidate, because several would compete
/// for the cache and each holds two bases of the solver.
pub(super) const SIDE_BY_SIDE: usize = 1 << 15;

/// Called with each candidate sequence as soon as it is scored, from any thread.
pub type Observer<'a> = dyn Fn(&[u16], Score) + Sync + 'a;

/// The result for one candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The score.
    pub score: Score,
    /// Cluster of each point; None if the quality has no clustering or if labels were not requested.
    pub labels: Option<Vec<u32>>,
}

/// The start of k-means with the best score.
#[derive(Debug, Clone, PartialEq)]
pub struct BestStart {
    /// Labels and centres.
    pub clusters: KMeans,
    /// The score of the labels.
    pub score: f64,
}

/// Scores trajectories of one operator set.
pub struct Evaluator<'a, T> {
    set: &'a OperatorSet<T>,
    quality: Quality<'a, T>,
    start: &'a StartBlock<T>,
    deadline: Option<Instant>,
    on_scored: &'a Observer<'a>,
    best: Mutex<Option<Best>>,
    scored: AtomicUsize,
    unconverged: AtomicUsize,
    _reuse: Reuse,
}

/// The best sequence so far, with its labels in the solver's order.
struct Best {
    sequence: Sequence,
    value: f64,
    labels: Vec<u32>,
}

impl<'a, T: Real> Evaluator<'a, T> {
    /// Creates an evaluator.
    ///
    /// `start` is shared by all evaluators of the set with the same settings. No candidate is begun
    /// after the `deadline`, except the first.
    pub fn new(
        set: &'a OperatorSet<T>,
        quality: Quality<'a, T>,
        start: &'a StartBlock<T>,
        deadline: Option<Instant>,
        on_scored: &'a Observer<'a>,
    ) -> Self {
        Self {
            set,
            quality,
            start,
            deadline,
            on_scored,
            best: Mutex::new(None),
            scored: AtomicUsize::new(0),
            unconverged: AtomicUsize::new(0),
            _reuse: Reuse::new(),
        }
    }

    /// Number of candidates so far whose coordinates are not within the tolerance.
    pub fn unconverged(&self) -> usize {
        self.unconverged.load(Ordering::Relaxed)
    }

    /// The labels of a sequence; None if the quality has no clustering.
    ///
    /// The labels of the best sequence so far are kept; those of any other are computed again.
    pub fn labels_of(&self, sequence: &[u16], exec: &Exec) -> Result<Option<Vec<u32>>> {
        if let Some(kept) = self.kept_labels(sequence)? {
            return Ok(Some(kept));
        }
        let candidate = Candidate::Sequence(sequence.to_vec());
        let found = self.cluster(&candidate.trajectory(self.set)?, exec)?;
        found.map(|found| in_given_order(self.set, found.labels, exec)).transpose()
    }

    /// The labels of a sequence if it is the best one so far, also after a stop.
    pub fn kept_labels(&self, sequence: &[u16]) -> Result<Option<Vec<u32>>> {
        let kept = lock(&self.best).as_ref().filter(|best| best.sequence == sequence).map(|best| best.labels.clone());
        // The order of the points is known since the labels were made: nothing can be stopped.
        kept.map(|labels| in_given_order(self.set, labels, &Exec::with_threads(1))).transpose()
    }

    /// Keeps the first sequence in the order of [`rank`], which is the answer of a search.
    fn keep_if_best(&self, sequence: &Sequence, value: f64, labels: Vec<u32>) {
        let mut best = lock(&self.best);
        if best.as_ref().is_none_or(|best| rank((value, sequence), (best.value, &best.sequence)).is_lt()) {
            *best = Some(Best { sequence: sequence.clone(), value, labels });
        }
    }

    /// Scores trajectories given by their weights; None for those not reached before a stop.
    pub fn score_weights(
        &self,
        candidates: &[Vec<f64>],
        with_labels: bool,
        exec: &Exec,
    ) -> Result<Vec<Option<Evaluation>>> {
        self.each(
            candidates.len(),
            exec,
            |exec| self.prepare(exec),
            |i, exec| {
                let Evaluation { score, labels } = self.evaluate(&Candidate::Weights(candidates[i].clone()), exec)?;
                let labels = labels.filter(|_| with_labels);
                Ok(Evaluation {
                    score,
                    labels: labels.map(|labels| in_given_order(self.set, labels, exec)).transpose()?,
                })
            },
        )
    }

    /// Clusters coordinates, in the given order, by one start of k-means for each seed, and returns
    /// the first of those with the best score.
    ///
    /// No start is begun after the deadline, except the first.
    pub fn best_start(&self, coordinates: &[T], seeds: &[u64], exec: &Exec) -> Result<BestStart> {
        let Some(clustering) = self.quality.clustering() else {
            return Err(Error::Invalid("expected a score of labels, got the contrastive loss".into()));
        };
        let dimension = coordinates.len() / self.set.n();
        let name = "of the answer";
        let starts = self.each(
            seeds.len(),
            exec,
            |_| Ok(()),
            |i, exec| {
                let settings = KMeansSettings { n_init: 1, seed: seeds[i], ..clustering.k_means.clone() };
                let clusters = k_means(coordinates, dimension, &settings, exec)?;
                let score = self.quality.of_labels(self.set, name, coordinates, &clusters.labels, exec)?;
                finite(score, name).map(|score| BestStart { clusters, score })
            },
        )?;
        let better = |best: BestStart, next: BestStart| if next.score > best.score { next } else { best };
        starts.into_iter().flatten().reduce(better).ok_or(Error::Interrupted)
    }

    /// Computes what all candidates share, before they are evaluated side by side.
    fn prepare(&self, exec: &Exec) -> Result<()> {
        let Some(clustering) = self.quality.clustering() else { return Ok(()) };
        self.start.prepare(in_cache_order(self.set, exec)?, &clustering.embedding, exec)
    }

    /// Evaluates candidates by `evaluate` after `prepare`, side by side if that is faster; None after a stop.
    fn each<R: Send + Sync>(
        &self,
        count: usize,
        exec: &Exec,
        prepare: impl FnOnce(&Exec) -> Result<()>,
        evaluate: impl Fn(usize, &Exec) -> Result<R> + Sync + Send,
    ) -> Result<Vec<Option<R>>> {
        let results: Vec<OnceLock<R>> = (0..count).map(|_| OnceLock::new()).collect();
        let one = |i: usize, exec: &Exec| -> Result<()> {
            if self.deadline.is_some_and(|end| Instant::now() >= end) && self.scored.load(Ordering::Relaxed) > 0 {
                return Err(Error::Interrupted);
            }
            // Each candidate is evaluated once: the cell is empty.
            let _ = results[i].set(evaluate(i, exec)?);
            self.scored.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        let outcome = prepare(exec).and_then(|()| {
            if self.set.n() <= SIDE_BY_SIDE && count >= exec.threads() {
                exec.map(count, |i| one(i, &exec.alone())).map(drop)
            } else {
                (0..count).try_for_each(|i| one(i, exec))
            }
        });
        match outcome {
            // Results from before the stop are returned.
            Ok(()) | Err(Error::Interrupted) => Ok(results.into_iter().map(OnceLock::into_inner).collect()),
            Err(error) => Err(error),
        }
    }

    /// Scores a candidate; the labels are in the solver's order.
    fn evaluate(&self, candidate: &Candidate, exec: &Exec) -> Result<Evaluation> {
        let began = Instant::now();
        let trajectory = candidate.trajectory(self.set)?;
        let name = candidate.name(self.set.members().len());
        let clustered = self.cluster(&trajectory, exec)?;
        let value = self.quality.of(&trajectory, &name, clustered.as_ref(), exec)?;
        let score = Score { value: finite(value, &name)?, seconds: began.elapsed().as_secs_f64() };
        let is_unconverged = clustered.as_ref().is_some_and(|clustered| !clustered.converged);
        self.unconverged.fetch_add(usize::from(is_unconverged), Ordering::Relaxed);
        Ok(Evaluation { score, labels: clustered.map(|clustered| clustered.labels) })
    }

    /// Coordinates and labels in the solver's order; None if the quality has no clustering.
    fn cluster(&self, trajectory: &Trajectory<'_, T>, exec: &Exec) -> Result<Option<Clustered<T>>> {
        let clustering = self.quality.clustering();
        clustering.map(|clustering| clustering.in_solver_order(trajectory, self.start, exec)).transpose()
    }
}

/// Returns a score of the trajectory `name` if it is finite.
fn finite(score: f64, name: &str) -> Result<f64> {
    if score.is_finite() {
        return Ok(score);
    }
    Err(Error::Invalid(format!("quality: expected a finite number for the trajectory {name}, got {score}")))
}

impl<T: Real> Scorer for Evaluator<'_, T> {
    fn score(&self, sequences: &[Sequence], exec: &Exec) -> Result<Vec<Option<Score>>> {
        self.each(
            sequences.len(),
            exec,
            |exec| self.prepare(exec),
            |i, exec| {
                let Evaluation { score, labels } = self.evaluate(&Candidate::Sequence(sequences[i].clone()), exec)?;
                labels.into_iter().for_each(|labels| self.keep_if_best(&sequences[i], score.value, labels));
                (self.on_scored)(&sequences[i], score);
                Ok(score)
            },
        )
    }
}
