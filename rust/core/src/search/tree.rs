//! The scored sequences of a search.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::{Answer, Explored, Halt, Score, Scorer, Sequence};
use crate::{Error, Exec, Result};

/// Number of sequences scored in one call: enough to occupy all threads, few enough that a stop
/// discards little work.
const BATCH: usize = 16;

/// A scored sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The sequence.
    pub sequence: Sequence,
    /// Index of the node that this one extends, if it was scored.
    pub parent: Option<usize>,
    /// The score.
    pub score: Score,
}

/// All scored sequences and the best one.
#[derive(Debug, PartialEq)]
pub struct SearchOutcome {
    /// In the order in which the strategy scored them.
    pub nodes: Vec<Node>,
    /// Index of the best node.
    pub best: usize,
    /// Why the search ended early, if it did.
    pub halt: Option<Halt>,
}

/// The sequences scored so far and the remaining budget.
pub struct SearchTree<'a> {
    scorer: &'a dyn Scorer,
    n_members: usize,
    known: HashMap<Sequence, Score>,
    budget: usize,
    exec: &'a Exec,
    nodes: Vec<Node>,
    places: HashMap<Sequence, usize>,
}

impl<'a> SearchTree<'a> {
    pub(super) fn new(
        scorer: &'a dyn Scorer,
        n_members: usize,
        known: HashMap<Sequence, Score>,
        max_evaluations: Option<usize>,
        exec: &'a Exec,
    ) -> Self {
        let budget = max_evaluations.unwrap_or(usize::MAX);
        Self { scorer, n_members, known, budget, exec, nodes: Vec::new(), places: HashMap::new() }
    }

    /// Number of members of the operator set.
    pub fn n_members(&self) -> usize {
        self.n_members
    }

    /// Number of sequences scored so far.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns the scores of sequences and computes each new one once.
    ///
    /// `parent` gives the sequence that a new sequence extends.
    pub(super) fn visit(
        &mut self,
        sequences: &[Sequence],
        parent: impl Fn(&Sequence) -> Option<Sequence>,
    ) -> Explored<Vec<f64>> {
        // Also a strategy that visits nothing new can be stopped.
        self.exec.check()?;
        let mut seen = HashSet::new();
        let new: Vec<Sequence> = sequences
            .iter()
            .filter(|sequence| !self.places.contains_key(*sequence) && seen.insert(*sequence))
            .cloned()
            .collect();
        for batch in new.chunks(BATCH) {
            let left = self.budget.saturating_sub(self.nodes.len());
            self.add(&batch[..batch.len().min(left)], &parent)?;
            if batch.len() > left {
                return Err(Halt::Budget);
            }
        }
        Ok(sequences.iter().map(|sequence| self.nodes[self.places[sequence]].score.value).collect())
    }

    fn add(&mut self, sequences: &[Sequence], parent: &impl Fn(&Sequence) -> Option<Sequence>) -> Explored<()> {
        self.exec.check()?;
        let unknown: Vec<Sequence> =
            sequences.iter().filter(|sequence| !self.known.contains_key(*sequence)).cloned().collect();
        let scores = if unknown.is_empty() { Vec::new() } else { self.scorer.score(&unknown, self.exec)? };
        for (sequence, score) in unknown.iter().zip(&scores) {
            if let Some(score) = score {
                self.known.insert(sequence.clone(), *score);
            }
        }
        let mut is_complete = true;
        for sequence in sequences {
            let Some(&score) = self.known.get(sequence) else {
                is_complete = false;
                continue;
            };
            let parent = parent(sequence).and_then(|w| self.places.get(&w).copied());
            self.places.insert(sequence.clone(), self.nodes.len());
            self.nodes.push(Node { sequence: sequence.clone(), parent, score });
        }
        if is_complete { Ok(()) } else { Err(Halt::Stopped) }
    }

    pub(super) fn finish(self, answer: Answer, halt: Option<Halt>) -> Result<SearchOutcome> {
        let nodes = self.nodes;
        let least = match answer {
            Answer::Any => 0,
            Answer::Last => nodes.iter().map(|node| node.sequence.len()).max().unwrap_or(0),
        };
        let eligible = (0..nodes.len()).filter(|&i| nodes[i].sequence.len() >= least);
        let by_rank = |&a: &usize, &b: &usize| rank(entry(&nodes[a]), entry(&nodes[b]));
        match eligible.min_by(by_rank) {
            Some(best) => Ok(SearchOutcome { nodes, best, halt }),
            None => Err(Error::Interrupted),
        }
    }
}

fn entry(node: &Node) -> (f64, &Sequence) {
    (node.score.value, &node.sequence)
}

/// Orders sequences from best to worst: by score, then by length, then lexicographically.
pub(super) fn rank((a, first): (f64, &Sequence), (b, second): (f64, &Sequence)) -> Ordering {
    b.total_cmp(&a).then_with(|| first.len().cmp(&second.len())).then_with(|| first.cmp(second))
}
