//! Greedy search that now and then takes a step at random.

use crate::ground::random::Stream;
use crate::search::tree::rank;
use crate::search::{Explored, Side, Strategy, Tree, Word};

/// One word grows: by its best step or, with probability `epsilon`, by any.
#[derive(Debug, Clone, PartialEq)]
pub struct EpsilonGreedy {
    /// Probability of a random step.
    pub epsilon: f64,
    /// Length of the longest word.
    pub depth: usize,
    /// Where the word grows.
    pub side: Side,
    /// Seed of the random steps.
    pub seed: u64,
}

impl Strategy for EpsilonGreedy {
    fn explore(&self, tree: &mut Tree<'_>) -> Explored<()> {
        let mut stream = Stream::new(self.seed, 0);
        let mut word = Word::new();
        for _ in 0..self.depth {
            let mut children = self.side.children(&word, tree.n_members());
            let scores = tree.visit(&children, |child| self.side.parent(child))?;
            let best = (0..children.len()).min_by(|&a, &b| rank((scores[a], &children[a]), (scores[b], &children[b])));
            let next = if stream.uniform() < self.epsilon { Some(stream.below(children.len())) } else { best };
            word = children.swap_remove(next.unwrap_or(0));
        }
        Ok(())
    }

    fn visits(&self, n_members: usize) -> usize {
        self.depth.saturating_mul(n_members)
    }
}
