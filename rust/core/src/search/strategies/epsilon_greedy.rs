//! Epsilon-greedy search.
//!
//! Greedy search with random steps. Cost: `depth * n_members` evaluations.

use crate::Stream;
use crate::search::tree::rank;
use crate::search::{Explored, SearchTree, Sequence, Side, Strategy};

/// Extends one sequence by its best step or, with probability `epsilon`, by a random one.
#[derive(Debug, Clone, PartialEq)]
pub struct EpsilonGreedy {
    /// Probability of a random step.
    pub epsilon: f64,
    /// Length of the longest sequence.
    pub depth: usize,
    /// The side on which the sequence grows.
    pub side: Side,
    /// Seed of the random steps.
    pub seed: u64,
}

impl Strategy for EpsilonGreedy {
    fn explore(&self, tree: &mut SearchTree<'_>) -> Explored<()> {
        let mut stream = Stream::new(self.seed, 0);
        let mut sequence = Sequence::new();
        for _ in 0..self.depth {
            let mut children = self.side.children(&sequence, tree.n_members());
            let scores = tree.visit(&children, |child| self.side.parent(child))?;
            let best = (0..children.len()).min_by(|&a, &b| rank((scores[a], &children[a]), (scores[b], &children[b])));
            let next = if stream.uniform() < self.epsilon { Some(stream.below(children.len())) } else { best };
            sequence = children.swap_remove(next.unwrap_or(0));
        }
        Ok(())
    }

    fn visits(&self, n_members: usize) -> usize {
        self.depth.saturating_mul(n_members)
    }
}
