//! What a search asks of one trajectory: coordinates, labels, a score.
//!
//! ```text
//! W -> the leading coordinates -> k-means -> a score of the labels on every base view, averaged
//! ```
//!
//! Coordinates are asked for as accurately as distances need it: those that are small next to the first hardly move a label.
//!
//! A score is a function of the trajectory and the settings alone: what is kept between candidates saves time and changes no bit.
//! All candidates start the solver from one random block `X`, and a word keeps `W X`; a word that is one step longer gets its own
//! by one step, `(P W) X = P (W X)`, which is the first of the solver's products. (The singular vectors of the parent would be
//! a better start, but then the score of a word would depend on the way by which it was reached.)

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Instant;

use crate::ground::block::{Block, Reuse};
use crate::ground::csr::Csr;
use crate::ground::exec::{Exec, lock};
use crate::cluster::k_means::{KMeansSettings, k_means};
use crate::graph::neighbours::Coordinates;
use crate::reorder::{in_cache_order, in_given_order};
use crate::walk::operator_set::OperatorSet;
use crate::cluster::quality::Criterion;
use crate::search::{Score, Scorer, Word};
use crate::spectral::{Decomposition, EmbeddingSettings, Start, embed_in_order, random_start, start_columns};
use crate::walk::trajectory::Trajectory;
use crate::walk::transition::Direction;
use crate::{Contrastive, Error, Real, Result};

/// Up to so many points candidates run side by side, each on one thread: a quarter faster at 10,000 points, a tenth at 30,000. Beyond,
/// the threads share one candidate: they would be in each other's way in the cache, and every candidate in flight holds two bases of the
/// solver.
const SIDE_BY_SIDE: usize = 1 << 15;

/// From a trajectory to labels.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// How to embed.
    pub embedding: EmbeddingSettings,
    /// How to cluster the coordinates.
    pub k_means: KMeansSettings,
}

/// Coordinates and labels of a candidate.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustered<T> {
    /// `n x n_components`, row-major.
    pub coordinates: Vec<T>,
    /// A cluster for each point.
    pub labels: Vec<u32>,
    /// Did the solver reach its tolerance?
    pub converged: bool,
}

/// What labels are scored on, for one view.
#[derive(Debug, Clone)]
pub enum Rows<'a> {
    /// The rows of the stored matrix of that index.
    Walk(usize),
    /// Features of that many columns.
    Dense(&'a [f64], usize),
    /// Sparse features.
    Sparse(&'a Csr<f64>),
}

/// A score of somebody else's: the name of the trajectory and what was made of it.
pub type Judge<'a, T> = dyn Fn(&str, &Clustered<T>) -> Result<f64> + Sync + 'a;

/// How a candidate is scored.
pub enum Quality<'a, T> {
    /// Labels on each view, averaged with weights that sum to 1; without them nothing is clustered.
    Labels {
        /// How to get labels.
        clustering: Clustering,
        /// The score.
        criterion: Criterion,
        /// One for each view.
        views: Vec<(Rows<'a>, f64)>,
    },
    /// Labels and coordinates, by a function; higher is better.
    Judged {
        /// How to get labels.
        clustering: Clustering,
        /// The function.
        judge: &'a Judge<'a, T>,
    },
    /// Minus the contrastive loss with these weights of the views.
    Contrastive(Vec<f64>),
}

/// A score and the labels that have it.
pub type Labelled = (Score, Vec<u32>);

/// What is told of each candidate as soon as it is scored, from whichever thread.
pub type Listener<'a> = dyn Fn(&[u16], Score) + Sync + 'a;

/// Scores trajectories of one operator set.
pub struct Evaluator<'a, T> {
    set: &'a OperatorSet<T>,
    quality: Quality<'a, T>,
    /// The block `X`, made when the first word asks for it; None inside where the solver needs none.
    start: OnceLock<Option<Vec<T>>>,
    images: Mutex<Images<T>>,
    deadline: Option<Instant>,
    listener: &'a Listener<'a>,
    scored: AtomicUsize,
    unconverged: AtomicUsize,
    _reuse: Reuse,
}

impl<'a, T: Real> Evaluator<'a, T> {
    /// `memory_budget`: bytes that blocks kept for longer words may take; an error if there is no room for one. After the
    /// `deadline` no candidate is begun, but one has been scored in any case.
    pub fn new(
        set: &'a OperatorSet<T>,
        quality: Quality<'a, T>,
        memory_budget: usize,
        deadline: Option<Instant>,
        listener: &'a Listener<'a>,
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
            listener,
            scored: AtomicUsize::new(0),
            unconverged: AtomicUsize::new(0),
            _reuse: Reuse::new(),
        })
    }

    /// Candidates so far whose coordinates are not within the tolerance.
    pub fn unconverged(&self) -> usize {
        self.unconverged.load(Ordering::Relaxed)
    }

    /// Scores of trajectories given by their weights; None for those that were not reached before the work was stopped.
    pub fn score_weights(&self, candidates: &[Vec<f64>], exec: &Exec) -> Result<Vec<Option<Score>>> {
        let score = |i: usize, exec: &Exec| {
            let trajectory = Trajectory::new(self.set, &candidates[i])?;
            Ok(self.rate(&trajectory, &name(&candidates[i], self.set.members().len()), Start::Random, exec)?.0)
        };
        self.each(candidates.len(), exec, score, |_, _| ())
    }

    /// As [`Self::score_weights`], with the labels of each; an error where the quality needs none.
    pub fn label_weights(&self, candidates: &[Vec<f64>], exec: &Exec) -> Result<Vec<Option<Labelled>>> {
        let labels: Vec<OnceLock<Vec<u32>>> = candidates.iter().map(|_| OnceLock::new()).collect();
        let score = |i: usize, exec: &Exec| {
            let trajectory = Trajectory::new(self.set, &candidates[i])?;
            let name = name(&candidates[i], self.set.members().len());
            let (score, clustered) = self.rate(&trajectory, &name, Start::Random, exec)?;
            let clustered = clustered.ok_or_else(|| Error::Invalid("expected labels, got none".into()))?;
            // Each candidate is scored once.
            let _ = labels[i].set(in_given_order(self.set, clustered.labels, exec)?);
            Ok(score)
        };
        let scores = self.each(candidates.len(), exec, score, |_, _| ())?;
        Ok(scores.into_iter().zip(labels).map(|(score, labels)| score.zip(labels.into_inner())).collect())
    }

    /// Scores a word.
    fn score_word(&self, word: &[u16], exec: &Exec) -> Result<f64> {
        let trajectory = Trajectory::of_sequence(self.set, word)?;
        let name = name_of_word(word.iter().copied().map(usize::from));
        let Some(block) = self.start(exec)? else {
            return Ok(self.rate(&trajectory, &name, Start::Random, exec)?.0);
        };
        let image = self.image(word, block, exec)?;
        Ok(self.rate(&trajectory, &name, Start::Applied { block, image: &image }, exec)?.0)
    }

    /// The score of a trajectory, and what was made of it, in the kind order.
    fn rate(
        &self,
        trajectory: &Trajectory<'_, T>,
        name: &str,
        start: Start<'_, T>,
        exec: &Exec,
    ) -> Result<(f64, Option<Clustered<T>>)> {
        let clustered = match self.quality.clustering() {
            Some(how) => Some(how.in_kind_order(trajectory, start, exec)?),
            None => None,
        };
        if clustered.as_ref().is_some_and(|c| !c.converged) {
            self.unconverged.fetch_add(1, Ordering::Relaxed);
        }
        let score = self.quality.of(trajectory, name, clustered.as_ref(), exec)?;
        if score.is_finite() {
            Ok((score, clustered))
        } else {
            Err(Error::Invalid(format!("quality: expected a finite number for the trajectory {name}, got {score}")))
        }
    }

    /// `W X`, from the longest beginning of the word that is at hand. Kept in the order in which large sets are embedded.
    fn image(&self, word: &[u16], block: &[T], exec: &Exec) -> Result<Arc<Block<T>>> {
        let found = self.images().longest_prefix(word);
        let (done, mut image) = found.map_or((0, None), |(length, image)| (length, Some(image)));
        let set = in_cache_order(self.set, exec)?;
        for &member in &word[done..] {
            let step = Trajectory::of_sequence(set, &[member])?;
            let mut next = Block::unset(block.len());
            let input = image.as_ref().map_or(block, |image: &Arc<Block<T>>| &image[..]);
            step.apply(input, block.len() / set.n(), Direction::Forward, &mut next, exec)?;
            image = Some(Arc::new(next));
        }
        let image = image.ok_or_else(|| Error::Invalid("expected at least one step, got none".into()))?;
        self.images().keep(word, &image);
        Ok(image)
    }

    fn start(&self, exec: &Exec) -> Result<Option<&[T]>> {
        if self.start.get().is_none() {
            let made = match self.quality.clustering() {
                Some(Clustering { embedding, .. }) => {
                    random_start(self.set.n(), embedding.rank(), embedding.seed, exec)?
                }
                None => None,
            };
            // Of two threads that make it, one is told in vain: both made the same.
            let _ = self.start.set(made);
        }
        Ok(self.start.get().and_then(Option::as_deref))
    }

    fn images(&self) -> MutexGuard<'_, Images<T>> {
        lock(&self.images)
    }

    /// Scores candidates, side by side where that pays, and calls `tell` for each as soon as it is scored.
    fn each(
        &self,
        count: usize,
        exec: &Exec,
        score: impl Fn(usize, &Exec) -> Result<f64> + Sync + Send,
        tell: impl Fn(usize, Score) + Sync + Send,
    ) -> Result<Vec<Option<Score>>> {
        let scores: Vec<OnceLock<Score>> = (0..count).map(|_| OnceLock::new()).collect();
        let one = |i: usize, exec: &Exec| -> Result<()> {
            let began = Instant::now();
            if self.deadline.is_some_and(|end| began >= end) && self.scored.load(Ordering::Relaxed) > 0 {
                return Err(Error::Interrupted);
            }
            let value = score(i, exec)?;
            self.scored.fetch_add(1, Ordering::Relaxed);
            let scored = Score { value, seconds: began.elapsed().as_secs_f64() };
            tell(i, *scores[i].get_or_init(|| scored));
            Ok(())
        };
        let outcome = if self.set.n() <= SIDE_BY_SIDE && count >= exec.threads() {
            exec.map(count, |i| one(i, &exec.alone())).map(drop)
        } else {
            (0..count).try_for_each(|i| one(i, exec))
        };
        match outcome {
            // What was done before the stop counts.
            Ok(()) | Err(Error::Interrupted) => Ok(scores.into_iter().map(OnceLock::into_inner).collect()),
            Err(error) => Err(error),
        }
    }
}

impl<T: Real> Scorer for Evaluator<'_, T> {
    fn score(&self, words: &[Word], exec: &Exec) -> Result<Vec<Option<Score>>> {
        let score = |i: usize, exec: &Exec| self.score_word(&words[i], exec);
        self.each(words.len(), exec, score, |i, score| (self.listener)(&words[i], score))
    }
}

impl Clustering {
    /// Coordinates and labels of a trajectory.
    pub fn of<T: Real>(
        &self,
        trajectory: &Trajectory<'_, T>,
        start: Start<'_, T>,
        exec: &Exec,
    ) -> Result<Clustered<T>> {
        self.in_kind_order(trajectory, start, exec)?.in_given_order(trajectory.set(), exec)
    }

    /// As [`Self::of`], with points in the order that is kind to the cache.
    fn in_kind_order<T: Real>(
        &self,
        trajectory: &Trajectory<'_, T>,
        start: Start<'_, T>,
        exec: &Exec,
    ) -> Result<Clustered<T>> {
        let walk = trajectory.over(in_cache_order(trajectory.set(), exec)?);
        let embedding = embed_in_order(&walk, Decomposition::Uniform, &self.embedding, start, exec)?;
        let found = k_means(&embedding.coordinates, self.embedding.n_components, &self.k_means, exec)?;
        let (coordinates, converged) = (embedding.coordinates, embedding.converged);
        Ok(Clustered { coordinates, labels: found.labels, converged })
    }
}

impl<T: Real> Clustered<T> {
    fn in_given_order(self, set: &OperatorSet<T>, exec: &Exec) -> Result<Self> {
        let coordinates = in_given_order(set, self.coordinates, exec)?;
        Ok(Self { coordinates, labels: in_given_order(set, self.labels, exec)?, ..self })
    }
}

impl<T: Real> Quality<'_, T> {
    fn clustering(&self) -> Option<&Clustering> {
        match self {
            Self::Labels { clustering, .. } | Self::Judged { clustering, .. } => Some(clustering),
            Self::Contrastive(_) => None,
        }
    }

    /// The score of what was made in the kind order. Higher is better: the one place where scores that are minimised change their sign.
    fn of(
        &self,
        trajectory: &Trajectory<'_, T>,
        name: &str,
        clustered: Option<&Clustered<T>>,
        exec: &Exec,
    ) -> Result<f64> {
        let clustered = || clustered.ok_or_else(|| Error::Invalid("expected labels, got none".into()));
        match self {
            Self::Labels { clustering, criterion, views } => {
                let labels = Labels::new(&clustered()?.labels, trajectory.set(), exec)?;
                let n_labels = clustering.k_means.n_clusters;
                let mut average = 0.0;
                // A view without weight has no say, whatever its score.
                for (rows, weight) in views.iter().filter(|(_, weight)| *weight > 0.0) {
                    average += weight * rows.score(*criterion, &labels, n_labels, exec)?;
                }
                Ok(if criterion.is_minimised() { -average } else { average })
            }
            Self::Judged { judge, .. } => judge(name, &clustered()?.clone().in_given_order(trajectory.set(), exec)?),
            Self::Contrastive(view_weights) => {
                let asked = Contrastive { view_weights, rows: None, include_self: false, gradient: false };
                Ok(-trajectory.contrastive_loss(asked, exec)?.loss)
            }
        }
    }
}

/// Labels for walks, whose scores are those of any order, and for features.
struct Labels<'a, T> {
    set: &'a OperatorSet<T>,
    in_kind_order: &'a [u32],
    in_given_order: Vec<u32>,
}

impl<'a, T: Real> Labels<'a, T> {
    fn new(in_kind_order: &'a [u32], set: &'a OperatorSet<T>, exec: &Exec) -> Result<Self> {
        let in_given_order = in_given_order(set, in_kind_order.to_vec(), exec)?;
        Ok(Self { set: in_cache_order(set, exec)?, in_kind_order, in_given_order })
    }
}

impl Rows<'_> {
    fn score<T: Real>(
        &self,
        criterion: Criterion,
        labels: &Labels<'_, T>,
        n_labels: usize,
        exec: &Exec,
    ) -> Result<f64> {
        let given = &labels.in_given_order;
        match *self {
            Self::Walk(walk) => {
                let rows = Coordinates::Sparse(labels.set.walks()[walk].matrix());
                criterion.of(rows, labels.in_kind_order, n_labels, exec)
            }
            Self::Dense(data, dimension) => criterion.of(Coordinates::Dense { data, dimension }, given, n_labels, exec),
            Self::Sparse(rows) => criterion.of(Coordinates::Sparse(rows), given, n_labels, exec),
        }
    }
}

fn name_of_word(letters: impl Iterator<Item = usize>) -> String {
    format!("({})", letters.map(|letter| letter.to_string()).collect::<Vec<_>>().join(", "))
}

/// A trajectory by its word, if it is one, or by its weights.
fn name(weights: &[f64], members: usize) -> String {
    let letter = |row: &[f64]| row.iter().position(|&w| w == 1.0);
    match weights.chunks(members).map(letter).collect::<Option<Vec<_>>>() {
        Some(word) => name_of_word(word.into_iter()),
        None => format!("with the weights {:?}", weights.chunks(members).collect::<Vec<_>>()),
    }
}

/// Images of words, as many as fit; the one that was not used for longest makes room.
struct Images<T> {
    places: usize,
    clock: u64,
    kept: HashMap<Word, (u64, Arc<Block<T>>)>,
}

impl<T> Images<T> {
    fn new(places: usize) -> Self {
        Self { places, clock: 0, kept: HashMap::new() }
    }

    fn longest_prefix(&mut self, word: &[u16]) -> Option<(usize, Arc<Block<T>>)> {
        self.clock += 1;
        (1..=word.len()).rev().find_map(|length| {
            let (used, image) = self.kept.get_mut(&word[..length])?;
            *used = self.clock;
            Some((length, Arc::clone(image)))
        })
    }

    fn keep(&mut self, word: &[u16], image: &Arc<Block<T>>) {
        if self.kept.len() == self.places {
            let oldest = self.kept.iter().min_by_key(|(_, (used, _))| *used).map(|(word, _)| word.clone());
            oldest.map(|word| self.kept.remove(&word));
        }
        self.clock += 1;
        if self.places > 0 {
            self.kept.insert(word.to_vec(), (self.clock, Arc::clone(image)));
        }
    }
}
