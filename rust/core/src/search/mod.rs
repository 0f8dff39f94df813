//! Which trajectory? Searches over sequences, the sequences of members that a trajectory applies.
//!
//! A [`Strategy`] decides which sequences to look at; a [`SearchTree`] keeps what was seen, has every new sequence scored once, and watches the
//! budget; a [`Scorer`] says how good sequences are. A strategy knows nothing of what a score means, a scorer nothing of the order in
//! which it is asked. Scores are functions of the sequence alone, so a search that was broken off is resumed by running it again
//! with the scores that are known.
//!
//! | file | idea |
//! |---|---|
//! | `strategies` | the order in which sequences are scored |
//! | `tree` | the scored sequences and the budget |
//! | `candidate` | a trajectory given by its sequence or by its weights |
//! | `clustering` | from a trajectory to labels |
//! | `quality` | from labels to a score |
//! | `evaluator` | scores candidates and reuses what they share |
//! | `images` | cache of products with the starting block |
//! | `memory_plan` | estimate of the memory that candidates take |

mod candidate;
mod clustering;
mod evaluator;
mod images;
mod memory_plan;
mod quality;
mod strategies;
mod tree;

pub use clustering::{Clustered, Clustering};
pub use evaluator::{Evaluator, LabelledScore, Observer};
pub use memory_plan::{CandidatePlan, plan_candidates};
pub use quality::{Quality, ScoreFunction, ScoredView, ViewRows};
pub use strategies::{Beam, EpsilonGreedy, Exhaustive, Mcts, RandomSequences};
pub use tree::{Node, SearchOutcome, SearchTree};

use crate::ground::exec::Exec;
use crate::{Error, Result};

/// Members of an operator set, the first step first.
pub type Sequence = Vec<u16>;

/// How good a sequence is, and how long it took to find out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// Higher is better.
    pub value: f64,
    /// Seconds.
    pub seconds: f64,
}

/// Says how good sequences are.
pub trait Scorer: Sync {
    /// One score for each sequence; None for those that were not reached before the work was stopped.
    fn score(&self, sequences: &[Sequence], exec: &Exec) -> Result<Vec<Option<Score>>>;
}

/// What a strategy gets, unless it must stop.
pub type Explored<R> = std::result::Result<R, Halt>;

/// Decides which sequences to look at.
pub trait Strategy: Sync {
    /// Visits sequences until it has seen what it wants, or until the tree says to stop.
    fn explore(&self, tree: &mut SearchTree<'_>) -> Explored<()>;

    /// How many sequences it will visit at most, for an estimate of the time left.
    fn visits(&self, n_members: usize) -> usize;
}

/// Why a search ends early.
#[derive(Debug, PartialEq)]
pub enum Halt {
    /// As many sequences have been scored as were allowed.
    Budget,
    /// The caller stopped it.
    Stopped,
    /// Something went wrong.
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

/// On which side of the product one more step is multiplied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// `P W`: the sequence gets one more member at its end.
    Left,
    /// `W P`: the sequence gets one more member at its beginning.
    Right,
}

impl Side {
    /// The sequences that are one step longer.
    fn children(self, sequence: &[u16], n_members: usize) -> Vec<Sequence> {
        let child = |member: u16| match self {
            Self::Left => [sequence, &[member]].concat(),
            Self::Right => [&[member], sequence].concat(),
        };
        (0..n_members as u16).map(child).collect()
    }

    /// The sequence that is one step shorter; None for a single member.
    fn parent(self, sequence: &[u16]) -> Option<Sequence> {
        let shorter = match self {
            Self::Left => &sequence[..sequence.len().saturating_sub(1)],
            Self::Right => sequence.get(1..)?,
        };
        (!shorter.is_empty()).then(|| shorter.to_vec())
    }
}

/// Which sequences the answer is chosen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// All that were scored.
    Any,
    /// The longest.
    Last,
}

/// Runs a strategy. `known` holds scores of earlier runs; `max_evaluations` counts sequences, known or not.
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
