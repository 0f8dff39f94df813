//! Cache of the products of sequences with the block that starts the solver.
//!
//! All candidates start the solver from one random block `X`. The image of a sequence is `W X`, the
//! first product of the solver; a sequence that is one step longer gets its image by one step,
//! `(P W) X = P (W X)`. The images do not depend on the order in which they are computed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::Sequence;
use crate::ground::block::Block;

/// Images of sequences, up to a number; the least recently used one is dropped first.
pub(super) struct Images<T> {
    capacity: usize,
    clock: u64,
    kept: HashMap<Sequence, Image<T>>,
    /// Number of kept sequences of each length: only prefixes of these lengths are looked up.
    lengths: BTreeMap<usize, usize>,
}

struct Image<T> {
    /// Time of the last use.
    used: u64,
    block: Arc<Block<T>>,
}

impl<T> Images<T> {
    pub fn new(capacity: usize) -> Self {
        Self { capacity, clock: 0, kept: HashMap::new(), lengths: BTreeMap::new() }
    }

    /// The longest prefix of a sequence whose image is kept: its number of steps and the image.
    pub fn longest_prefix(&mut self, sequence: &[u16]) -> Option<(usize, Arc<Block<T>>)> {
        self.clock += 1;
        self.lengths.range(..=sequence.len()).rev().find_map(|(&length, _)| {
            let image = self.kept.get_mut(&sequence[..length])?;
            image.used = self.clock;
            Some((length, Arc::clone(&image.block)))
        })
    }

    /// Keeps the image of a sequence.
    pub fn keep(&mut self, sequence: &[u16], block: &Arc<Block<T>>) {
        if self.kept.len() == self.capacity {
            let oldest = self.kept.iter().min_by_key(|(_, image)| image.used).map(|(sequence, _)| sequence.clone());
            if let Some(sequence) = oldest {
                self.kept.remove(&sequence);
                self.count_down(sequence.len());
            }
        }
        self.clock += 1;
        if self.capacity > 0 {
            let image = Image { used: self.clock, block: Arc::clone(block) };
            if self.kept.insert(sequence.to_vec(), image).is_none() {
                *self.lengths.entry(sequence.len()).or_default() += 1;
            }
        }
    }

    fn count_down(&mut self, length: usize) {
        let count = self.lengths.get_mut(&length);
        if count.is_some_and(|count| std::mem::replace(count, *count - 1) == 1) {
            self.lengths.remove(&length);
        }
    }
}
