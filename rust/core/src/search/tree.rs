//! What a search has seen.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::{Answer, Explored, Halt, Score, Scorer, Word};
use crate::ground::exec::Exec;
use crate::{Error, Result};

/// Words that are handed to the scorer at a time: enough to keep threads busy, few enough that little is lost by a stop.
const BATCH: usize = 16;

/// A scored word.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The word.
    pub word: Word,
    /// Place of the word that it extends, if that was scored.
    pub parent: Option<usize>,
    /// Its score.
    pub score: Score,
}

/// Everything that was scored, and the answer.
#[derive(Debug, PartialEq)]
pub struct Found {
    /// In the order of the strategy.
    pub nodes: Vec<Node>,
    /// Place of the answer.
    pub best: usize,
    /// Why the search ended early.
    pub halt: Option<Halt>,
}

/// The words seen so far.
pub struct Tree<'a> {
    scorer: &'a dyn Scorer,
    n_members: usize,
    known: HashMap<Word, Score>,
    budget: usize,
    exec: &'a Exec,
    nodes: Vec<Node>,
    places: HashMap<Word, usize>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(
        scorer: &'a dyn Scorer,
        n_members: usize,
        known: HashMap<Word, Score>,
        max_evaluations: Option<usize>,
        exec: &'a Exec,
    ) -> Self {
        let budget = max_evaluations.unwrap_or(usize::MAX);
        Self { scorer, n_members, known, budget, exec, nodes: Vec::new(), places: HashMap::new() }
    }

    /// Number of letters.
    #[must_use]
    pub fn n_members(&self) -> usize {
        self.n_members
    }

    /// Scores of these words, none of which is computed twice. `parent` is the word that they extend.
    pub(super) fn visit(&mut self, words: &[Word], parent: impl Fn(&Word) -> Option<Word>) -> Explored<Vec<f64>> {
        let mut seen = HashSet::new();
        let new: Vec<Word> =
            words.iter().filter(|word| !self.places.contains_key(*word) && seen.insert(*word)).cloned().collect();
        for batch in new.chunks(BATCH) {
            let left = self.budget.saturating_sub(self.nodes.len());
            self.add(&batch[..batch.len().min(left)], &parent)?;
            if batch.len() > left {
                return Err(Halt::Budget);
            }
        }
        Ok(words.iter().map(|word| self.nodes[self.places[word]].score.value).collect())
    }

    fn add(&mut self, words: &[Word], parent: &impl Fn(&Word) -> Option<Word>) -> Explored<()> {
        self.exec.check()?;
        let unknown: Vec<Word> = words.iter().filter(|word| !self.known.contains_key(*word)).cloned().collect();
        let scores = if unknown.is_empty() { Vec::new() } else { self.scorer.score(&unknown, self.exec)? };
        for (word, score) in unknown.iter().zip(&scores) {
            if let Some(score) = score {
                self.known.insert(word.clone(), *score);
            }
        }
        let mut is_complete = true;
        for word in words {
            let Some(&score) = self.known.get(word) else {
                is_complete = false;
                continue;
            };
            let parent = parent(word).and_then(|w| self.places.get(&w).copied());
            self.places.insert(word.clone(), self.nodes.len());
            self.nodes.push(Node { word: word.clone(), parent, score });
        }
        if is_complete { Ok(()) } else { Err(Halt::Stopped) }
    }

    pub(super) fn finish(self, answer: Answer, halt: Option<Halt>) -> Result<Found> {
        let nodes = self.nodes;
        let least = match answer {
            Answer::Any => 0,
            Answer::Last => nodes.iter().map(|node| node.word.len()).max().unwrap_or(0),
        };
        let eligible = (0..nodes.len()).filter(|&i| nodes[i].word.len() >= least);
        let by_rank = |&a: &usize, &b: &usize| rank(entry(&nodes[a]), entry(&nodes[b]));
        match eligible.min_by(by_rank) {
            Some(best) => Ok(Found { nodes, best, halt }),
            None => Err(Error::Interrupted),
        }
    }
}

fn entry(node: &Node) -> (f64, &Word) {
    (node.score.value, &node.word)
}

/// Better words first: by score, then the shorter one, then the first in the alphabet.
pub(super) fn rank((a, first): (f64, &Word), (b, second): (f64, &Word)) -> Ordering {
    b.total_cmp(&a).then_with(|| first.len().cmp(&second.len())).then_with(|| first.cmp(second))
}
