//! Search for a trajectory among sequences of members.
//!
//! A [`Strategy`] chooses the sequences, a [`Scorer`] scores them, and a [`SearchTree`] stores the
//! scores and enforces the budget. A strategy does not depend on the meaning of a score, and a
//! scorer does not depend on the order of its calls. A score is a function of the sequence alone,
//! so an interrupted search is resumed by running it again with the known scores.
//!
//! | file | idea |
//! |---|---|
//! | `strategies` | the order in which sequences are scored |
//! | `tree` | the scored sequences and the budget |
//! | `candidate` | a trajectory given by its sequence or by its weights |
//! | `clustering` | from a trajectory to labels |
//! | `quality` | from labels to a score |
//! | `evaluator` | scores candidates and reuses what they share |
//! | `start_block` | the block from which the solver starts |
//! | `contrastive_estimate` | estimate of the contrastive loss for many points |
//! | `memory_plan` | estimate of the memory that candidates take |

mod candidate;
mod clustering;
mod contrastive_estimate;
mod evaluator;
mod memory_plan;
mod quality;
mod start_block;
mod strategies;
mod tree;

pub use clustering::{Clustered, Clustering};
pub use evaluator::{BestStart, Evaluation, Evaluator, Observer};
pub use memory_plan::{CandidatePlan, plan_candidates};
pub use quality::{Quality, ScoreFunction, ScoredView, ViewRows};
pub use start_block::StartBlock;
pub use strategies::{Beam, EpsilonGreedy, Exhaustive, Mcts, RandomSequences};
pub use tree::{Node, SearchOutcome, SearchTree};

use crate::{Error, Exec, Result};

/// Member indices of a trajectory with one member at each step, first step first.
pub type Sequence = Vec<u16>;

/// The score of a sequence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Higher is better.
    pub value: f64,
    /// Time of the evaluation in seconds.
    pub seconds: f64,
}

/// Scores sequences.
pub trait Scorer: Sync {
    /// Returns one score for each sequence; None for sequences not reached before a stop.
    fn score(&self, sequences: &[Sequence], exec: &Exec) -> Result<Vec<Option<Score>>>;
}

/// The result of a strategy's call, or the reason why the search ends.
pub type Explored<R> = std::result::Result<R, Halt>;

/// Chooses the sequences to score.
pub trait Strategy: Sync {
    /// Scores sequences until the strategy is complete or the tree ends the search.
    fn explore(&self, tree: &mut SearchTree<'_>) -> Explored<()>;

    /// Largest number of sequences that the strategy scores.
    fn visits(&self, n_members: usize) -> usize;
}

/// The reason why a search ends early.
#[derive(Debug, PartialEq)]
pub enum Halt {
    /// The maximum number of evaluations is reached.
    Budget,
    /// The caller stopped the search.
    Stopped,
    /// An evaluation failed.
    Failed(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        match error {
            Error::Interrupted => Self::Stopped,
            other => Self::Failed(other),
        }
    }
}

/// The side of the product on which one more step is multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// `P W`: the new member comes last in the sequence.
    Left,
    /// `W P`: the new member comes first in the sequence.
    Right,
}

impl Side {
    /// All sequences that are one step longer.
    fn children(self, sequence: &[u16], n_members: usize) -> Vec<Sequence> {
        let child = |member: u16| match self {
            Self::Left => [sequence, &[member]].concat(),
            Self::Right => [&[member], sequence].concat(),
        };
        (0..n_members as u16).map(child).collect()
    }

    /// The sequence that is one step shorter; None for a single step.
    fn parent(self, sequence: &[u16]) -> Option<Sequence> {
        let shorter = match self {
            Self::Left => &sequence[..sequence.len().saturating_sub(1)],
            Self::Right => sequence.get(1..)?,
        };
        (!shorter.is_empty()).then(|| shorter.to_vec())
    }
}

/// The sequences among which the best one is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// All scored sequences.
    Any,
    /// The longest scored sequences.
    Last,
}

/// Runs a strategy and returns all scored sequences with the best one.
///
/// `known` holds scores of earlier runs. `max_evaluations` counts all sequences, known or not.
pub fn search(
    strategy: &dyn Strategy,
    scorer: &dyn Scorer,
    n_members: usize,
    known: Vec<(Sequence, Score)>,
    max_evaluations: Option<usize>,
    answer: Answer,
    exec: &Exec,
) -> Result<SearchOutcome> {
    if n_members == 0 || n_members > usize::from(u16::MAX) {
        return Err(Error::Invalid(format!("expected between 1 and {} members, got {n_members}", u16::MAX)));
    }
    let mut tree = SearchTree::new(scorer, n_members, known.into_iter().collect(), max_evaluations, exec);
    let halt = strategy.explore(&mut tree).err();
    match halt {
        Some(Halt::Failed(error)) => Err(error),
        halt => tree.finish(answer, halt),
    }
}
