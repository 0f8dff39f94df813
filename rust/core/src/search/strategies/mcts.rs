//! Monte Carlo tree search with upper confidence bounds (UCT).
//!
//! A playout walks down from the root, at every sequence whose extensions have all been tried to the one with the largest bound, then
//! tries a new extension, completes it at random to the full length, and has both scored: a short sequence is as good an answer as a
//! long one. The reward is the better of the two, as a fraction of the range of scores seen so far; it is noted along the walk.

use std::collections::HashMap;

use crate::ground::random::Stream;
use crate::search::{Explored, SearchTree, Sequence, Side, Strategy};

/// UCT with a number of playouts.
#[derive(Debug, Clone, PartialEq)]
pub struct Mcts {
    /// How many playouts.
    pub playouts: usize,
    /// Length of the longest sequences.
    pub depth: usize,
    /// Weight of the unknown against the known.
    pub exploration: f64,
    /// Seed of what is tried first and of the completions.
    pub seed: u64,
}

/// What the playouts through a sequence have brought.
#[derive(Debug, Default, Clone)]
struct Record {
    visits: usize,
    /// Sum of the raw rewards; the range that they are scaled by is not known before the end.
    sum: f64,
    untried: Option<Vec<u16>>,
}

impl Strategy for Mcts {
    fn explore(&self, tree: &mut SearchTree<'_>) -> Explored<()> {
        let mut records: HashMap<Sequence, Record> = HashMap::new();
        let mut range = (f64::INFINITY, f64::NEG_INFINITY);
        for playout in 0..self.playouts {
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
    /// The sequences from the root to the one that is tried.
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
            // The first of equals.
            let best = children
                .into_iter()
                .map(|child| (bound(&child), child))
                .reduce(|best, next| if next.0 > best.0 { next } else { best });
            path.extend(best.map(|(_, child)| child));
        }
    }
}
