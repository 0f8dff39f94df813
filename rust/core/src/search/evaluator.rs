//! Evaluation of candidates: coordinates, labels, score.
//!
//! A score is a function of the trajectory and of the settings alone. It does not depend on the
//! strategy, on threads, on memory or on the candidates scored before, so a search can be resumed
//! with known scores. What is reused between candidates is therefore exact: all candidates start
//! the solver from one random block `X`, and the cache of [`Images`] provides `W X`. (The singular
//! vectors of a shorter sequence would be a better start, but scores would depend on the order of
//! the search.)

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use super::candidate::Candidate;
use super::clustering::Clustered;
use super::images::Images;
use super::quality::Quality;
use super::tree::rank;
use super::{Score, Scorer, Sequence};
use crate::cluster::k_means::{KMeans, KMeansSettings, k_means};
use crate::ground::block::Block;
use crate::ground::exec::lock;
use crate::ground::idle::Reuse;
use crate::reorder::{in_cache_order, in_given_order};
use crate::spectral::{Start, random_start, start_columns};
use crate::{Direction, Error, Exec, OperatorSet, Real, Result, Trajectory};

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
    /// The block `X`, computed at the first use; None inside if the solver needs none.
    start: OnceLock<Option<Vec<T>>>,
    images: Mutex<Images<T>>,
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
    /// `memory_budget` bounds the bytes of the image cache; a budget below one block is an error.
    /// No candidate is begun after the `deadline`, except the first.
    pub fn new(
        set: &'a OperatorSet<T>,
        quality: Quality<'a, T>,
        memory_budget: usize,
        deadline: Option<Instant>,
        on_scored: &'a Observer<'a>,
    ) -> Result<Self> {
        let columns = quality.clustering().map_or(0, |how| start_columns(how.embedding.rank()));
        let bytes = set.n() * columns * size_of::<T>();
        if bytes > memory_budget {
            return Err(Error::Invalid(format!(
                "memory_budget: expected at least {bytes} bytes, one block of vectors, got {memory_budget}"
            )));
        }
        let images = Mutex::new(Images::new(memory_budget.checked_div(bytes).unwrap_or(0)));
        Ok(Self {
            set,
            quality,
            start: OnceLock::new(),
            images,
            deadline,
            on_scored,
            best: Mutex::new(None),
            scored: AtomicUsize::new(0),
            unconverged: AtomicUsize::new(0),
            _reuse: Reuse::new(),
        })
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
        let found = self.cluster(&candidate, &candidate.trajectory(self.set)?, exec)?;
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
        self.each(candidates.len(), exec, |i, exec| {
            let Evaluation { score, labels } = self.evaluate(&Candidate::Weights(candidates[i].clone()), exec)?;
            let labels = labels.filter(|_| with_labels);
            Ok(Evaluation { score, labels: labels.map(|labels| in_given_order(self.set, labels, exec)).transpose()? })
        })
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
        let starts = self.each(seeds.len(), exec, |i, exec| {
            let settings = KMeansSettings { n_init: 1, seed: seeds[i], ..clustering.k_means.clone() };
            let clusters = k_means(coordinates, dimension, &settings, exec)?;
            let score = self.quality.of_labels(self.set, name, coordinates, &clusters.labels, exec)?;
            finite(score, name).map(|score| BestStart { clusters, score })
        })?;
        let better = |best: BestStart, next: BestStart| if next.score > best.score { next } else { best };
        starts.into_iter().flatten().reduce(better).ok_or(Error::Interrupted)
    }

    /// Evaluates candidates by `evaluate`, side by side if that is faster; None after a stop.
    fn each<R: Send + Sync>(
        &self,
        count: usize,
        exec: &Exec,
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
        let outcome = if self.set.n() <= SIDE_BY_SIDE && count >= exec.threads() {
            exec.map(count, |i| one(i, &exec.alone())).map(drop)
        } else {
            (0..count).try_for_each(|i| one(i, exec))
        };
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
        let clustered = self.cluster(candidate, &trajectory, exec)?;
        let value = self.quality.of(&trajectory, &name, clustered.as_ref(), exec)?;
        let score = Score { value: finite(value, &name)?, seconds: began.elapsed().as_secs_f64() };
        let is_unconverged = clustered.as_ref().is_some_and(|clustered| !clustered.converged);
        self.unconverged.fetch_add(usize::from(is_unconverged), Ordering::Relaxed);
        Ok(Evaluation { score, labels: clustered.map(|clustered| clustered.labels) })
    }

    /// Coordinates and labels in the solver's order; None if the quality has no clustering.
    fn cluster(
        &self,
        candidate: &Candidate,
        trajectory: &Trajectory<'_, T>,
        exec: &Exec,
    ) -> Result<Option<Clustered<T>>> {
        let Some(clustering) = self.quality.clustering() else { return Ok(None) };
        let image;
        let mut start = Start::Random;
        if let Candidate::Sequence(sequence) = candidate
            && let Some(block) = self.start(exec)?
        {
            image = self.image(sequence, block, exec)?;
            start = Start::Applied { block, image: &image };
        }
        clustering.in_solver_order(trajectory, start, exec).map(Some)
    }

    /// The starting block `X`; None if the solver needs none.
    fn start(&self, exec: &Exec) -> Result<Option<&[T]>> {
        if self.start.get().is_none() {
            let how = self.quality.clustering().map(|clustering| clustering.embedding);
            let made = how.map(|how| random_start(self.set.n(), how.rank(), how.seed, exec)).transpose()?.flatten();
            // Two threads may both compute the block; both results are equal.
            let _ = self.start.set(made);
        }
        Ok(self.start.get().and_then(Option::as_deref))
    }

    /// `W X` in the solver's order, from the longest prefix of the sequence that is cached.
    fn image(&self, sequence: &[u16], block: &[T], exec: &Exec) -> Result<Arc<Block<T>>> {
        let prefix = lock(&self.images).longest_prefix(sequence);
        let (done, mut image) = prefix.map_or((0, None), |(length, image)| (length, Some(image)));
        let set = in_cache_order(self.set, exec)?;
        for &member in &sequence[done..] {
            let step = Trajectory::of_sequence(set, &[member])?;
            let mut next = Block::unset(block.len())?;
            let input = image.as_ref().map_or(block, |image: &Arc<Block<T>>| &image[..]);
            step.apply(input, block.len() / set.n(), Direction::Forward, &mut next, exec)?;
            image = Some(Arc::new(next));
        }
        let image = image.ok_or_else(|| Error::Invalid("expected at least one step, got none".into()))?;
        lock(&self.images).keep(sequence, &image);
        Ok(image)
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
        self.each(sequences.len(), exec, |i, exec| {
            let Evaluation { score, labels } = self.evaluate(&Candidate::Sequence(sequences[i].clone()), exec)?;
            labels.into_iter().for_each(|labels| self.keep_if_best(&sequences[i], score.value, labels));
            (self.on_scored)(&sequences[i], score);
            Ok(score)
        })
    }
}
