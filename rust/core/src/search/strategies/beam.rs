//! Beam search.
//!
//! All extensions of the best `width` sequences of one length are scored; the best `width` of these
//! are extended next. Cost: at most `depth * width * n_members` evaluations.

use crate::search::tree::rank;
use crate::search::{Explored, SearchTree, Sequence, Side, Strategy};

/// Beam search; greedy search with a width of 1.
#[derive(Debug, Clone, PartialEq)]
pub struct Beam {
    /// Number of sequences of each length that are extended.
    pub width: usize,
    /// Length of the longest sequences.
    pub depth: usize,
    /// The side on which sequences grow.
    pub side: Side,
}

impl Strategy for Beam {
    fn explore(&self, tree: &mut SearchTree<'_>) -> Explored<()> {
        let mut frontier = vec![Sequence::new()];
        for _ in 0..self.depth {
            let extend = |sequence: &Sequence| self.side.children(sequence, tree.n_members());
            let mut children: Vec<Sequence> = frontier.iter().flat_map(extend).collect();
            let scores = tree.visit(&children, |child| self.side.parent(child))?;
            let mut order: Vec<usize> = (0..children.len()).collect();
            order.sort_by(|&a, &b| rank((scores[a], &children[a]), (scores[b], &children[b])));
            order.truncate(self.width);
            frontier = order.into_iter().map(|i| std::mem::take(&mut children[i])).collect();
        }
        Ok(())
    }

    fn visits(&self, n_members: usize) -> usize {
        let mut width = 1_usize;
        let mut visits = 0_usize;
        // The width at least doubles until it stays the same, so the loop is short at any depth.
        for level in 0..self.depth {
            let children = width.saturating_mul(n_members);
            let next = self.width.min(children);
            if next == width {
                return visits.saturating_add(children.saturating_mul(self.depth - level));
            }
            visits = visits.saturating_add(children);
            width = next;
        }
        visits
    }
}
