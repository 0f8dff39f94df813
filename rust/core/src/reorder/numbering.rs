//! Orders of the points in which the rows that a step gathers are mostly in cache already.
//!
//! Three are at hand: the given one; breadth-first through the union of the graphs, which meets neighbours one after the other; and this
//! one region by region, where a region holds the points that agree in the signs of some diffused random vectors. A vector that has
//! walked for a while is nearly constant on a cluster, so clusters do not share regions, whereas a breadth-first walk enters the
//! next one by the first stray edge and then goes on in all of them at once. On a surface, without clusters, regions
//! are scattered patches, and breadth-first is better. So the choice is by counting what a cache would miss.

use crate::ground::block::Block;
use crate::ground::columns::random_signs;
use crate::ground::csr::NOWHERE;
use crate::ground::exec::Exec;
use crate::walk::operator_set::OperatorSet;
use crate::ground::sparse_step::{Remainder, column_means, sparse_step};
use crate::walk::transition::Direction;
use crate::{Real, Result};

/// Random vectors, a bit of a region each, and the steps that they walk.
const VECTORS: usize = 8;
const STEPS: usize = 8;
const SEED: u64 = 0;

/// Rows that the cache by which orders are judged has room for, at most: 16 single-precision columns in 4 MB. And which part of all rows:
/// where all fit, one order is as good as another.
const CACHED_ROWS: usize = 1 << 16;
const CACHED_PART: usize = 8;
/// Rows that are looked at with one such cache, empty at first.
const ROWS_PER_PIECE: usize = 1 << 17;

/// An order of the points.
#[derive(Debug)]
pub(crate) struct Numbering {
    /// The point at each place.
    pub order: Vec<u32>,
    /// The place of each point.
    pub places: Vec<u32>,
}

impl Numbering {
    /// The order in which steps over this set find most of their rows in cache; None if it is the given one.
    pub fn kindest<T: Real>(set: &OperatorSet<T>, exec: &Exec) -> Result<Option<Self>> {
        let given = Self::new((0..set.n() as u32).collect());
        let met = Self::breadth_first(set, exec)?;
        let grouped = Self::by_region(&regions(set, exec)?, &met);
        let mut least = given.misses(set, exec)?;
        let mut kindest = None;
        for numbering in [met, grouped] {
            let misses = numbering.misses(set, exec)?;
            if misses < least {
                (least, kindest) = (misses, Some(numbering));
            }
        }
        Ok(kindest)
    }

    fn new(order: Vec<u32>) -> Self {
        Self { places: places_of(&order), order }
    }

    /// The points in the order in which a breadth-first walk meets them.
    fn breadth_first<T: Real>(set: &OperatorSet<T>, exec: &Exec) -> Result<Self> {
        let n = set.n();
        let mut places = vec![NOWHERE; n];
        let mut order: Vec<u32> = Vec::with_capacity(n);
        let mut expanded = 0;
        for seed in 0..n as u32 {
            if places[seed as usize] != NOWHERE {
                continue;
            }
            places[seed as usize] = order.len() as u32;
            order.push(seed);
            while expanded < order.len() {
                if expanded.is_multiple_of(1 << 14) {
                    exec.check()?;
                }
                for walk in set.walks() {
                    for &c in walk.matrix().row(order[expanded] as usize).0 {
                        if places[c as usize] == NOWHERE {
                            places[c as usize] = order.len() as u32;
                            order.push(c);
                        }
                    }
                }
                expanded += 1;
            }
        }
        Ok(Self { order, places })
    }

    /// Region by region, each in the order of `within`.
    fn by_region(regions: &[u8], within: &Self) -> Self {
        let mut order = within.order.clone();
        order.sort_by_key(|&point| regions[point as usize]);
        Self::new(order)
    }

    /// How many of the rows that a step gathers a cache would not have. A row has one place in it, which the next one there takes.
    fn misses<T: Real>(&self, set: &OperatorSet<T>, exec: &Exec) -> Result<usize> {
        let slots = (set.n() / CACHED_PART).next_power_of_two().min(CACHED_ROWS);
        let pieces: Vec<&[u32]> = self.order.chunks(ROWS_PER_PIECE).collect();
        let counts = exec.map(pieces.len(), |piece| {
            let mut cached = vec![NOWHERE; slots];
            let mut misses = 0;
            for &point in pieces[piece] {
                for walk in set.walks() {
                    for &c in walk.matrix().row(point as usize).0 {
                        let place = self.places[c as usize];
                        let there = &mut cached[place as usize & (slots - 1)];
                        misses += usize::from(*there != place);
                        *there = place;
                    }
                }
            }
            Ok(misses)
        })?;
        Ok(counts.iter().sum())
    }
}

/// A region for each point.
fn regions<T: Real>(set: &OperatorSet<T>, exec: &Exec) -> Result<Vec<u8>> {
    let mut vectors = random_signs::<T>(set.n(), VECTORS, SEED, 0);
    let share = T::from_f64(1.0 / set.walks().len() as f64);
    for _ in 0..STEPS {
        let terms: Vec<_> = set.walks().iter().map(|walk| walk.term(share, Direction::Forward, &vectors)).collect();
        let mut next = Block::unset(vectors.len());
        sparse_step(&terms, Remainder::none(), VECTORS, &mut next, exec)?;
        vectors = next;
    }
    let means = column_means(&vectors, VECTORS, exec)?;
    let region = |row: &[T]| row.iter().zip(&means).fold(0, |bits, (value, mean)| bits << 1 | u8::from(value > mean));
    Ok(vectors.chunks_exact(VECTORS).map(region).collect())
}

/// Where each point stands in an order of all.
pub(crate) fn places_of(order: &[u32]) -> Vec<u32> {
    let mut places = vec![NOWHERE; order.len()];
    order.iter().zip(0..).for_each(|(&point, place)| places[point as usize] = place);
    places
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ground::csr::Csr;
    use crate::walk::operator_set::Member;
    use crate::ground::random::Stream;
    use crate::walk::transition::Transition;

    /// Clusters without any order inside, their points dealt out in turn, and a few stray edges.
    #[test]
    fn clusters_come_one_after_the_other() {
        let (clusters, n, degree) = (8, 1 << 15, 12);
        let mut stream = Stream::new(3, 0);
        let mut indices = Vec::new();
        let mut indptr = vec![0];
        for i in 0..n {
            let mut other = |_| {
                let (other, is_stray) = (stream.below(n), stream.uniform() < 0.02);
                (if is_stray { other } else { other - other % clusters + i % clusters }) as u32
            };
            let mut row: Vec<u32> = (0..degree).map(&mut other).collect();
            row.sort_unstable();
            row.dedup();
            indices.extend(row);
            indptr.push(indices.len() as u64);
        }
        let lengths = indptr.windows(2).map(|w| (w[1] - w[0]) as usize);
        let values = lengths.flat_map(|length| vec![1.0 / length as f64; length]).collect();
        let exec = Exec::with_threads(2);
        let matrix = Csr::new(n, indptr, indices, values).unwrap();
        let walk = Transition::from_stochastic(matrix, 1e-12, &exec).unwrap();
        let set = OperatorSet::new(vec![Arc::new(walk)], vec![Member::Walk(0)]).unwrap();

        let kindest = Numbering::kindest(&set, &exec).unwrap().unwrap();
        let is_together = |pair: &&[u32]| pair[0] as usize % clusters == pair[1] as usize % clusters;
        assert!(kindest.order.windows(2).filter(is_together).count() > n * 99 / 100);
        assert!(kindest.order.iter().zip(0..).all(|(&point, place)| kindest.places[point as usize] == place));
    }
}
