//! The choice of a permutation by simulated cache misses.
//!
//! Three orders are compared:
//!
//! - the given order;
//! - the breadth-first order of the union of the graphs, in which neighbours follow each other;
//! - the same order region by region, where a region holds the points with equal signs of some
//!   diffused random vectors. Such a vector is nearly constant on a cluster, so clusters do not
//!   share regions.
//!
//! On data with clusters a breadth-first
//! search enters all clusters by stray edges and alternates between them, and regions are better.
//! On a surface regions are scattered patches, and breadth-first is better. (The choice of the time
//! on a million blobs took 271 s breadth-first. It takes 158 s with regions, pieces of rows in
//! turn, panels of 32 columns and one transposed walk at a time.)

use crate::ground::csr::NOWHERE;
use crate::ground::permutation::Permutation;
use crate::ground::sparse_step::{Remainder, sparse_step};
use crate::ground::tall::{TallBlock, column_means, random_signs};
use crate::{Direction, Exec, OperatorSet, Real, Result};

/// Number of random vectors, one bit of a region each.
const VECTORS: usize = 8;
/// Number of steps by which they are diffused.
const STEPS: usize = 8;
const SEED: u64 = 0;

/// Most rows in the simulated cache: 16 single-precision columns in 4 MB.
const CACHED_ROWS: usize = 1 << 16;
/// The simulated cache holds at most this part of all rows. If it held all, every order would be
/// equal.
const CACHED_PART: usize = 8;
/// Rows that are processed with one simulated cache, which is empty at first.
const ROWS_PER_PIECE: usize = 1 << 17;

/// The permutation with the fewest simulated cache misses; None if the given order has the fewest.
pub(super) fn best_permutation<T: Real>(set: &OperatorSet<T>, exec: &Exec) -> Result<Option<Permutation>> {
    let given = Permutation::new((0..set.n() as u32).collect());
    let breadth_first = breadth_first(set, exec)?;
    let by_region = by_region(&regions(set, exec)?, &breadth_first);
    let mut least = misses(&given, set, exec)?;
    let mut best = None;
    for permutation in [breadth_first, by_region] {
        let misses = misses(&permutation, set, exec)?;
        if misses < least {
            (least, best) = (misses, Some(permutation));
        }
    }
    Ok(best)
}

/// The order in which a breadth-first search meets the points.
fn breadth_first<T: Real>(set: &OperatorSet<T>, exec: &Exec) -> Result<Permutation> {
    let n = set.n();
    let mut met = vec![false; n];
    let mut order: Vec<u32> = Vec::with_capacity(n);
    let mut expanded = 0;
    for seed in 0..n as u32 {
        if std::mem::replace(&mut met[seed as usize], true) {
            continue;
        }
        order.push(seed);
        while expanded < order.len() {
            if expanded.is_multiple_of(1 << 14) {
                exec.check()?;
            }
            for walk in set.walks() {
                let columns = walk.matrix().row(order[expanded] as usize).0.iter();
                order.extend(columns.filter(|&&c| !std::mem::replace(&mut met[c as usize], true)));
            }
            expanded += 1;
        }
    }
    Ok(Permutation::new(order))
}

/// The order by region, and within a region that of `within`.
fn by_region(regions: &[u8], within: &Permutation) -> Permutation {
    let mut order = within.order.clone();
    order.sort_by_key(|&point| regions[point as usize]);
    Permutation::new(order)
}

/// Number of cache misses of a step, in a direct-mapped cache of rows.
fn misses<T: Real>(permutation: &Permutation, set: &OperatorSet<T>, exec: &Exec) -> Result<usize> {
    let slots = (set.n() / CACHED_PART).next_power_of_two().min(CACHED_ROWS);
    let pieces: Vec<&[u32]> = permutation.order.chunks(ROWS_PER_PIECE).collect();
    let counts = exec.map(pieces.len(), |piece| {
        let mut cached = vec![NOWHERE; slots];
        let mut misses = 0;
        for &point in pieces[piece] {
            for walk in set.walks() {
                for &c in walk.matrix().row(point as usize).0 {
                    let place = permutation.places[c as usize];
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

/// The region of each point: the signs of the diffused vectors about their means.
fn regions<T: Real>(set: &OperatorSet<T>, exec: &Exec) -> Result<Vec<u8>> {
    let mut vectors = random_signs::<T>(set.n(), VECTORS, SEED, 0)?;
    let share = T::from_f64(1.0 / set.walks().len() as f64);
    for _ in 0..STEPS {
        let terms: Vec<_> = set.walks().iter().map(|walk| walk.term(share, Direction::Forward, &vectors)).collect();
        let mut next = TallBlock::unset(set.n(), VECTORS)?;
        sparse_step(&terms, Remainder::none(), VECTORS, &mut next, exec)?;
        vectors = next;
    }
    let means = column_means(vectors.view(), exec)?;
    let region = |row: &[T]| row.iter().zip(&means).fold(0, |bits, (value, mean)| bits << 1 | u8::from(value > mean));
    Ok(vectors.chunks_exact(VECTORS).map(region).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ground::csr::Csr;
    use crate::ground::random::Stream;
    use crate::walk::member::Member;
    use crate::walk::transition::Transition;

    /// Clusters without inner order, their points in turn, with a few stray edges.
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

        let best = best_permutation(&set, &exec).unwrap().unwrap();
        let is_together = |pair: &&[u32]| pair[0] as usize % clusters == pair[1] as usize % clusters;
        assert!(best.order.windows(2).filter(is_together).count() > n * 99 / 100);
        assert!(best.order.iter().zip(0..).all(|(&point, place)| best.places[point as usize] == place));
    }
}
