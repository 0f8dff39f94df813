//! The best neighbours found so far.
//!
//! Threads collect [`Proposals`], grouped by rows; then each row is updated by one thread. A row
//! holds the best of all proposals it received, so the result depends neither on their order nor on
//! the number of threads.

use crate::ground::memory;
use crate::ground::prefetch::prefetch;
use crate::{Exec, Real, Result};

/// Rows that one thread updates at a time.
const ROWS_PER_PIECE: usize = 2048;
/// Flag of entries that have not taken part in a round.
const FRESH: u32 = 1 << 31;
/// Index of an empty entry.
const EMPTY: u32 = FRESH - 1;

/// A neighbour: squared distance, index and flag.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<E> {
    pub distance: E,
    tagged: u32,
}

impl<E: Real> Entry<E> {
    pub fn index(self) -> u32 {
        self.tagged & !FRESH
    }

    pub fn is_fresh(self) -> bool {
        self.tagged & FRESH != 0
    }

    pub fn settle(&mut self) {
        self.tagged &= !FRESH;
    }
}

/// `width` neighbours of each point, nearest first.
pub(super) struct Graph<E> {
    pub width: usize,
    pub entries: Vec<Entry<E>>,
    /// Distance of the last neighbour of each point, the threshold for new ones.
    pub worst: Vec<E>,
}

/// Pairs that may improve the graph, grouped by rows.
pub(super) struct Proposals<E> {
    by_rows: Vec<Vec<Proposal<E>>>,
}

/// A possible neighbour of a point.
struct Proposal<E> {
    point: u32,
    other: u32,
    distance: E,
}

impl<E: Real> Proposals<E> {
    pub fn new(n: usize) -> Self {
        Self { by_rows: (0..n.div_ceil(ROWS_PER_PIECE)).map(|_| Vec::new()).collect() }
    }

    /// Proposes `other` as a neighbour of `point`.
    #[inline(always)]
    pub fn add(&mut self, point: u32, other: u32, distance: E) {
        self.by_rows[point as usize / ROWS_PER_PIECE].push(Proposal { point, other, distance });
    }
}

impl<E: Real> Graph<E> {
    pub fn new(n: usize, width: usize) -> Result<Self> {
        let empty = Entry { distance: E::INFINITY, tagged: EMPTY };
        let entries = memory::collect(std::iter::repeat_n(empty, n * width))?;
        Ok(Self { width, entries, worst: vec![E::INFINITY; n] })
    }

    pub fn row(&self, i: u32) -> &[Entry<E>] {
        &self.entries[i as usize * self.width..(i as usize + 1) * self.width]
    }

    /// Prefetches a row and its threshold.
    #[inline(always)]
    pub fn prefetch(&self, i: u32) {
        prefetch(&self.entries, i as usize * self.width, self.width);
        prefetch(&self.worst, i as usize, 1);
    }

    /// True if the graph has this neighbour.
    #[inline(always)]
    pub fn has(&self, point: u32, other: u32) -> bool {
        // Without branches the loop uses vector instructions.
        self.row(point).iter().fold(0, |any, entry| any | u8::from(entry.index() == other)) != 0
    }

    /// Inserts proposals; returns the number of new entries.
    pub fn accept(&mut self, proposals: &[Proposals<E>], exec: &Exec) -> Result<usize> {
        let width = self.width;
        let rows = self.entries.chunks_mut(ROWS_PER_PIECE * width).zip(self.worst.chunks_mut(ROWS_PER_PIECE));
        let mut pieces: Vec<_> = rows.map(|(rows, worst)| (rows, worst, 0)).collect();
        exec.each_piece(&mut pieces, 1, |piece, here| {
            let (rows, worst, entered) = &mut here[0];
            for &Proposal { point, other, distance } in proposals.iter().flat_map(|f| &f.by_rows[piece]) {
                let place = point as usize - piece * ROWS_PER_PIECE;
                if distance > worst[place] {
                    continue;
                }
                let row = &mut rows[place * width..(place + 1) * width];
                *entered += usize::from(insert(row, distance, other));
                worst[place] = row[width - 1].distance;
            }
        })?;
        Ok(pieces.iter().map(|(_, _, entered)| entered).sum())
    }
}

/// Inserts a neighbour into a row sorted by (distance, index) unless it is present or too far.
fn insert<E: Real>(row: &mut [Entry<E>], distance: E, index: u32) -> bool {
    let nearer =
        |entry: &Entry<E>| (entry.distance < distance) | ((entry.distance == distance) & (entry.index() <= index));
    // All comparisons together take less time than the branches of a search, which no processor can predict.
    let place: usize = row.iter().map(|entry| usize::from(nearer(entry))).sum();
    // A pair always has the same distance, so a present entry is directly before this place.
    if place == row.len() || (place > 0 && row[place - 1].index() == index) {
        return false;
    }
    row.copy_within(place..row.len() - 1, place + 1);
    row[place] = Entry { distance, tagged: index | FRESH };
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_holds_the_best_proposals_in_any_order() {
        let offers = [(3.0, 5), (1.0, 2), (3.0, 4), (1.0, 2), (2.0, 9), (7.0, 1)];
        for turn in 0..offers.len() {
            let mut graph = Graph::<f64>::new(1, 3).unwrap();
            let mut proposals = Proposals::new(1);
            for offset in 0..offers.len() {
                let (distance, index) = offers[(turn + offset) % offers.len()];
                proposals.add(0, index, distance);
            }
            graph.accept(&[proposals], &Exec::with_threads(1)).unwrap();
            let row: Vec<_> = graph.row(0).iter().map(|e| (e.distance, e.index(), e.is_fresh())).collect();
            assert_eq!(row, [(1.0, 2, true), (2.0, 9, true), (3.0, 4, true)]);
            assert_eq!(graph.worst, [3.0]);
        }
    }
}
