//! The nearest points of one query.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A point, ordered by (distance, index): at equal distance the smaller index comes first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct HeapEntry {
    distance: f64,
    index: u32,
}

impl Eq for HeapEntry {}

impl Ord for HeapEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        self.distance.total_cmp(&other.distance).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for HeapEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A heap of at most `k` points, and the smallest positive distance offered.
#[derive(Debug, Clone)]
pub(crate) struct Nearest {
    k: usize,
    heap: BinaryHeap<HeapEntry>,
    smallest_positive: f64,
}

impl Nearest {
    pub fn new(k: usize) -> Self {
        Self { k, heap: BinaryHeap::new(), smallest_positive: f64::INFINITY }
    }

    /// Offers a point; returns true if [`Self::bound`] may have changed.
    #[inline]
    pub fn offer(&mut self, distance: f64, index: u32) -> bool {
        let nearer = distance > 0.0 && distance < self.smallest_positive;
        if nearer {
            self.smallest_positive = distance;
        }
        let entry = HeapEntry { distance, index };
        if self.heap.len() == self.k && self.heap.peek().is_none_or(|worst| entry >= *worst) {
            return nearer;
        }
        if self.heap.len() == self.k {
            self.heap.pop();
        } else if self.heap.is_empty() {
            // Allocated late: a search creates one heap for each point long before it is used.
            self.heap.reserve_exact(self.k);
        }
        self.heap.push(entry);
        true
    }

    /// Points farther than this cannot change the result.
    ///
    /// If `k` coinciding points have been found, this is the smallest positive distance instead of
    /// 0, because the bandwidth needs that distance.
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

/// One row of a table.
#[derive(Debug, Clone, Default)]
pub(crate) struct NeighbourRow {
    /// (distance, index), nearest first.
    pub neighbours: Vec<(f64, u32)>,
    /// Smallest positive distance.
    pub nearest_positive: f64,
}

impl From<Nearest> for NeighbourRow {
    fn from(nearest: Nearest) -> Self {
        let nearest_positive = nearest.smallest_positive();
        Self { neighbours: nearest.into_sorted(), nearest_positive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_are_broken_by_index_in_any_order() {
        for order in [[5, 1, 9, 3], [9, 5, 3, 1], [1, 3, 5, 9]] {
            let mut nearest = Nearest::new(2);
            for index in order {
                nearest.offer(2.0, index);
            }
            assert_eq!(nearest.into_sorted(), vec![(2.0, 1), (2.0, 3)]);
        }
    }

    #[test]
    fn a_heap_full_of_duplicates_accepts_a_positive_distance() {
        let mut nearest = Nearest::new(1);
        nearest.offer(0.0, 4);
        assert!(nearest.bound().is_infinite());
        assert!(nearest.offer(3.0, 0));
        assert_eq!((nearest.bound(), nearest.smallest_positive()), (3.0, 3.0));
    }
}
