//! The best candidates of one query.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A candidate, ordered by (distance, index): at equal distance the smaller index is nearer.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Candidate {
    distance: f64,
    index: u32,
}

impl Eq for Candidate {}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A heap of at most `k` candidates, and the smallest positive distance seen.
#[derive(Debug, Clone)]
pub(crate) struct Nearest {
    k: usize,
    heap: BinaryHeap<Candidate>,
    smallest_positive: f64,
}

impl Nearest {
    pub fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::new(), smallest_positive: f64::INFINITY }
    }

    /// Considers a point. True if [`Self::bound`] may have changed.
    #[inline]
    pub fn offer(&mut self, distance: f64, index: u32) -> bool {
        let nearer = distance > 0.0 && distance < self.smallest_positive;
        if nearer {
            self.smallest_positive = distance;
        }
        if !self.accepts(distance, index) {
            return nearer;
        }
        if self.heap.len() == self.k {
            self.heap.pop();
        } else if self.heap.is_empty() {
            // Only now: a search makes one of these for each point long before it needs them.
            self.heap.reserve_exact(self.k);
        }
        self.heap.push(Candidate { distance, index });
        true
    }

    /// Would this candidate enter the heap?
    #[inline]
    fn accepts(&self, distance: f64, index: u32) -> bool {
        self.heap.len() < self.k || self.heap.peek().is_some_and(|worst| Candidate { distance, index } < *worst)
    }

    /// Points farther than this cannot change the answer. Where `k` coinciding points have been found it is the
    /// smallest positive distance instead of 0, because the bandwidth needs that one too.
    #[inline]
    pub fn bound(&self) -> f64 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() == self.k => {
                if worst.distance > 0.0 {
                    worst.distance
                } else {
                    self.smallest_positive
                }
            }
            _ => f64::INFINITY,
        }
    }

    pub fn smallest_positive(&self) -> f64 {
        self.smallest_positive
    }

    pub fn into_sorted(self) -> Vec<(f64, u32)> {
        self.heap.into_sorted_vec().into_iter().map(|c| (c.distance, c.index)).collect()
    }
}

/// One row of a table under construction.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// (distance, index), nearest first.
    pub neighbours: Vec<(f64, u32)>,
    /// Smallest positive distance.
    pub nearest_positive: f64,
}

impl From<Nearest> for Found {
    fn from(nearest: Nearest) -> Self {
        let nearest_positive = nearest.smallest_positive();
        Self { neighbours: nearest.into_sorted(), nearest_positive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_go_to_the_smaller_index_in_any_order() {
        for order in [[5, 1, 9, 3], [9, 5, 3, 1], [1, 3, 5, 9]] {
            let mut nearest = Nearest::new(2);
            for index in order {
                nearest.offer(2.0, index);
            }
            assert_eq!(nearest.into_sorted(), vec![(2.0, 1), (2.0, 3)]);
        }
    }

    #[test]
    fn a_heap_full_of_duplicates_still_looks_for_a_positive_distance() {
        let mut nearest = Nearest::new(1);
        nearest.offer(0.0, 4);
        assert!(nearest.bound().is_infinite());
        assert!(nearest.offer(3.0, 0));
        assert_eq!((nearest.bound(), nearest.smallest_positive()), (3.0, 3.0));
    }
}
