//! Monte Carlo tree search with upper confidence bounds (UCT).
//!
//! A playout descends from the root. At a sequence whose extensions have all been tried it follows
//! the extension with the largest bound
//!
//! ```text
//! mean reward + exploration * sqrt(ln(visits of the parent) / visits)
//! ```
//!
//! Otherwise it tries a new extension and completes it at random to the full length. Both the
//! extension and the completed sequence are scored, because short sequences are valid results. The
//! reward is the better of the two scores, scaled by the range of all scores so far. Cost: at most
//! two evaluations a playout.
//!
//! Reference: Kocsis and Szepesvari 2006, `doi:10.1007/11871842_29`.

use std::collections::HashMap;

use crate::Stream;
use crate::search::{Explored, SearchTree, Sequence, Side, Strategy};

/// Settings of UCT.
#[derive(Debug, Clone, PartialEq)]
pub struct Mcts {
    /// Number of playouts.
    pub playouts: usize,
    /// Length of the longest sequences.
    pub depth: usize,
    /// Factor of the confidence term.
    pub exploration: f64,
    /// Seed of the first choices and of the completions.
    pub seed: u64,
}

/// Statistics of the playouts through a sequence.
#[derive(Debug, Default, Clone)]
struct Record {
    visits: usize,
    /// Sum of unscaled rewards: their range is known only at the end.
    sum: f64,
    untried: Option<Vec<u16>>,
}

impl Strategy for Mcts {
    fn explore(&self, tree: &mut SearchTree<'_>) -> Explored<()> {
        let mut records: HashMap<Sequence, Record> = HashMap::new();
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        let all = super::Exhaustive { depth: self.depth }.visits(tree.n_members());
        for playout in 0..self.playouts {
            if tree.len() == all {
                // Further playouts would find nothing new.
                break;
            }
            let mut stream = Stream::new(self.seed, playout as u64);
            let path = self.walk(tree.n_members(), &mut records, range, &mut stream);
            let tried = path[path.len() - 1].clone();
            let mut complete = tried.clone();
            complete.extend((tried.len()..self.depth).map(|_| stream.below(tree.n_members()) as u16));
            let scores = tree.visit(&[tried, complete], |sequence| Side::Left.parent(sequence))?;
            let reward = scores[0].max(scores[1]);
            for score in scores {
                range = (range.0.min(score), range.1.max(score));
            }
            for sequence in path {
                let record = records.entry(sequence).or_default();
                record.visits += 1;
                record.sum += reward;
            }
        }
        Ok(())
    }

    fn visits(&self, n_members: usize) -> usize {
        let all = super::Exhaustive { depth: self.depth }.visits(n_members);
        self.playouts.saturating_mul(2).min(all)
    }
}

impl Mcts {
    /// Descends from the root; the last sequence of the path is the new one.
    fn walk(
        &self,
        n_members: usize,
        records: &mut HashMap<Sequence, Record>,
        (low, high): (f64, f64),
        stream: &mut Stream,
    ) -> Vec<Sequence> {
        let mut path = vec![Sequence::new()];
        loop {
            let sequence = path[path.len() - 1].clone();
            if sequence.len() == self.depth {
                return path;
            }
            let record = records.entry(sequence.clone()).or_default();
            let untried = record.untried.get_or_insert_with(|| (0..n_members as u16).collect());
            if !untried.is_empty() {
                let member = untried.swap_remove(stream.below(untried.len()));
                path.push([&sequence[..], &[member]].concat());
                return path;
            }
            let visits = (record.visits as f64).ln();
            let bound = |child: &Sequence| {
                let Some(record) = records.get(child) else { return f64::INFINITY };
                let count = record.visits as f64;
                let mean = if high > low { (record.sum / count - low) / (high - low) } else { 0.0 };
                mean + self.exploration * (visits / count).sqrt()
            };
            let children = Side::Left.children(&sequence, n_members);
            // The first of equal bounds.
            let best = children
                .into_iter()
                .map(|child| (bound(&child), child))
                .reduce(|best, next| if next.0 > best.0 { next } else { best });
            path.extend(best.map(|(_, child)| child));
        }
    }
}
