//! The same operators with the points in another order, neighbours close together in memory.
//!
//! A step gathers the rows of a block that the neighbour lists name. Samples usually come in any order, so once a block no longer
//! fits a core's second-level cache nearly every row comes from further away. In a kinder order (see `numbering`) the rows that a
//! step needs next are mostly there already. (A million blobs in two views, 16 columns: 350 ms a step in the given order, 260
//! breadth-first, 120 to 130 region by region.)
//!
//! Costs some ten passes over the entries, and one more copy of the matrices, made at the first need.

use std::sync::Arc;

use crate::ground::exec::Exec;
use crate::reorder::numbering::Numbering;
use crate::walk::operator_set::OperatorSet;
use crate::{Error, Real, Result};

/// Below this many points a block of 16 doubles a point fits the cache as it is.
pub(crate) const LARGE: usize = 1 << 14;

/// A set in a kinder order.
#[derive(Debug)]
pub(crate) struct Twin<T> {
    set: OperatorSet<T>,
    /// The point at each place.
    order: Vec<u32>,
}

impl<T: Real> Twin<T> {
    /// The twin of a set that would gain from one.
    pub fn of(set: &OperatorSet<T>, exec: &Exec) -> Result<Option<Self>> {
        if set.n() < LARGE {
            return Ok(None);
        }
        let Some(Numbering { order, places }) = Numbering::kindest(set, exec)? else {
            return Ok(None);
        };
        let walks = set.walks().iter().map(|walk| Ok(Arc::new(walk.renumbered(&order, &places, exec)?)));
        let walks = walks.collect::<Result<_>>()?;
        Ok(Some(Self { set: OperatorSet::new(walks, set.members().to_vec())?, order }))
    }

    pub fn set(&self) -> &OperatorSet<T> {
        &self.set
    }

    /// Rows of a block from the given order into this one.
    pub fn enter<V: Copy>(&self, block: &[V]) -> Result<Vec<V>> {
        let cols = block.len() / self.order.len();
        Error::check_size("elements of the block", self.order.len() * cols, block.len())?;
        Ok(self.order.iter().flat_map(|&point| &block[point as usize * cols..][..cols]).copied().collect())
    }

    /// Rows of a block from this order back into the given one.
    pub fn leave<V: Copy + Default>(&self, block: &[V]) -> Vec<V> {
        let cols = block.len() / self.order.len();
        let mut out = vec![V::default(); block.len()];
        for (&point, row) in self.order.iter().zip(block.chunks_exact(cols.max(1))) {
            out[point as usize * cols..][..cols].copy_from_slice(row);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::csr::Csr;
    use crate::walk::operator_set::Member;
    use crate::walk::trajectory::Trajectory;
    use crate::walk::transition::{Direction, Transition};

    /// A ring whose points are numbered in leaps: in the twin the neighbours of a point are never far.
    #[test]
    fn a_scattered_ring_is_unrolled() {
        let (n, exec) = (LARGE + 1, Exec::with_threads(2));
        let name = |k: usize| (k % n * 5_003 % n) as u32;
        let mut rows: Vec<[u32; 3]> = vec![[0; 3]; n];
        for k in 0..n {
            let mut near = [name(k), name(k + 1), name(k + n - 1)];
            near.sort_unstable();
            rows[name(k) as usize] = near;
        }
        let indptr = (0..=n as u64).map(|i| 3 * i).collect();
        let values: Vec<f64> = (0..3 * n).map(|k| 1.0 + (k % 3) as f64).collect();
        let matrix = Csr::new(n, indptr, rows.concat(), values).unwrap();
        let sums = matrix.row_sums(&exec).unwrap();
        let values = matrix.values().iter().enumerate().map(|(k, v)| v / sums[k / 3]).collect();
        let walk = Transition::from_stochastic(matrix.with_values(values), 1e-12, &exec).unwrap();
        let set = OperatorSet::new(vec![Arc::new(walk)], vec![Member::Walk(0)]).unwrap();
        let twin = Twin::of(&set, &exec).unwrap().unwrap();
        let near = twin.set().walks()[0].matrix();
        assert!((0..n).all(|i| near.row(i).0.iter().all(|&c| (c as usize).abs_diff(i) <= 2)));

        let x: Vec<f64> = (0..2 * n).map(|k| (k % 101) as f64).collect();
        assert_eq!(twin.leave(&twin.enter(&x).unwrap()), x);
        for direction in [Direction::Forward, Direction::Transposed] {
            let apply = |set: &OperatorSet<f64>, x: &[f64]| {
                let mut out = vec![0.0; x.len()];
                Trajectory::of_walk(set, 0).apply(x, 2, direction, &mut out, &exec).unwrap();
                out
            };
            let there_and_back = twin.leave(&apply(twin.set(), &twin.enter(&x).unwrap()));
            for (a, b) in there_and_back.iter().zip(apply(&set, &x)) {
                assert!((a - b).abs() < 1e-12);
            }
        }
    }
}
