//! The best neighbours known so far, and how many threads improve them without a word between them.
//!
//! What is found is first noted as [`Proposals`], sorted by whom it concerns, and then entered by whoever owns those rows. A row holds
//! the best of all that it was ever offered, so neither the order of the offers nor the number of threads shows in it.

use crate::ground::exec::Exec;
use crate::{Real, Result};

/// Rows that one thread enters at a time.
const ROWS_PER_PIECE: usize = 2048;
/// Marks entries that have not been looked at from both sides.
const FRESH: u32 = 1 << 31;
/// In place of an index, before there are enough neighbours.
const EMPTY: u32 = FRESH - 1;

/// A neighbour: its squared distance and index, with a mark.
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
    /// Distance of the last neighbour of each point: what has to be beaten.
    pub worst: Vec<E>,
}

/// Pairs that may improve the graph, by whom they concern.
pub(super) struct Proposals<E> {
    by_rows: Vec<Vec<Proposal<E>>>,
}

/// A point that may be a neighbour of another.
struct Proposal<E> {
    point: u32,
    other: u32,
    distance: E,
}

impl<E: Real> Proposals<E> {
    pub fn new(n: usize) -> Self {
        Self { by_rows: (0..n.div_ceil(ROWS_PER_PIECE)).map(|_| Vec::new()).collect() }
    }

    /// Notes that `other` may be a neighbour of `point`.
    #[inline(always)]
    pub fn add(&mut self, point: u32, other: u32, distance: E) {
        self.by_rows[point as usize / ROWS_PER_PIECE].push(Proposal { point, other, distance });
    }
}

impl<E: Real> Graph<E> {
    pub fn new(n: usize, width: usize) -> Self {
        let empty = Entry { distance: E::INFINITY, tagged: EMPTY };
        Self { width, entries: vec![empty; n * width], worst: vec![E::INFINITY; n] }
    }

    pub fn row(&self, i: u32) -> &[Entry<E>] {
        &self.entries[i as usize * self.width..(i as usize + 1) * self.width]
    }

    /// Whether a point has this neighbour already.
    #[inline(always)]
    pub fn has(&self, point: u32, other: u32) -> bool {
        // Without a branch on each, the compiler takes many at a time.
        self.row(point).iter().fold(0, |any, entry| any | u8::from(entry.index() == other)) != 0
    }

    /// Enters what was found; returns how many entries are new.
    pub fn accept(&mut self, proposals: &[Proposals<E>], exec: &Exec) -> Result<usize> {
        let width = self.width;
        let rows = self.entries.chunks_mut(ROWS_PER_PIECE * width).zip(self.worst.chunks_mut(ROWS_PER_PIECE));
        let mut pieces: Vec<_> = rows.map(|(rows, worst)| (rows, worst, 0)).collect();
        exec.for_pieces(
            &mut pieces,
            1,
            || (),
            |piece, here, ()| -> Result<()> {
                let (rows, worst, entered) = &mut here[0];
                for &Proposal { point, other, distance } in proposals.iter().flat_map(|f| &f.by_rows[piece]) {
                    let place = point as usize - piece * ROWS_PER_PIECE;
                    let row = &mut rows[place * width..(place + 1) * width];
                    *entered += usize::from(insert(row, distance, other));
                    worst[place] = row[width - 1].distance;
                }
                Ok(())
            },
        )?;
        Ok(pieces.iter().map(|(_, _, entered)| entered).sum())
    }
}

/// Enters a neighbour in a row that is sorted by (distance, index), unless it is there already or too far.
fn insert<E: Real>(row: &mut [Entry<E>], distance: E, index: u32) -> bool {
    let nearer = |entry: &Entry<E>| entry.distance < distance || (entry.distance == distance && entry.index() <= index);
    let place = row.partition_point(nearer);
    // An entry is found once at one distance, so that it can only be right before the place.
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
    fn a_row_holds_the_best_of_all_offers_in_any_order() {
        let offers = [(3.0, 5), (1.0, 2), (3.0, 4), (1.0, 2), (2.0, 9), (7.0, 1)];
        for turn in 0..offers.len() {
            let mut graph = Graph::<f64>::new(1, 3);
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
