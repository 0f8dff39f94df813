//! All pairs in blocks.
//!
//! A task takes a block of queries and passes over the points block by block: a panel of products (128 queries x 256 points,
//! 128 kB in single precision) is made and sifted while it is in cache, so memory is O(N k + N d), never O(N^2).
//! The pass starts at the queries' own block and moves outwards: where the order of the data means something, neighbours
//! are found early and the rest fails the screen. The order cannot change the answer.

use std::ops::Range;

use super::Found;
use super::nearest::Nearest;
use super::points::{DensePoints, Keys, SparsePoints};
use super::screen::{
    Bounds, Centred, DenseScreen, LANES, Screen, SparseScreen, is_coarse_enough, sparse_squared_norms,
};
use crate::exec::Exec;
use crate::{Real, Result};

/// Points in a block.
const BLOCK: usize = 256;
/// Panel columns that are tested together.
const GROUP: usize = 16;

/// Chooses the screen for a set of points.
pub(super) trait Scannable: Keys + Sized {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<Found>>;
}

impl<T: Real> Scannable for DensePoints<'_, T> {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<Found>> {
        let centred = Centred::new(self);
        if is_coarse_enough(self, &centred.squared_norms) {
            screened(self, &DenseScreen::<f32>::new(self, &centred), k, exec)
        } else {
            screened(self, &DenseScreen::<f64>::new(self, &centred), k, exec)
        }
    }
}

impl Scannable for SparsePoints {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<Found>> {
        let norms = sparse_squared_norms(self);
        if is_coarse_enough(self, &norms) {
            screened(self, &SparseScreen::<f32>::new(self, &norms), k, exec)
        } else {
            screened(self, &SparseScreen::<f64>::new(self, &norms), k, exec)
        }
    }
}

/// The `k` nearest others of every point.
pub(super) fn search(points: &impl Scannable, k: usize, exec: &Exec) -> Result<Vec<Found>> {
    if points.is_squared() { points.scan_screened(k, exec) } else { plain(points, k, exec) }
}

/// Every pair is compared exactly (no product bounds a sum of absolute differences).
fn plain(points: &impl Keys, k: usize, exec: &Exec) -> Result<Vec<Found>> {
    let n = points.len();
    let mut found = vec![Found::default(); n];
    exec.for_pieces(
        &mut found,
        16,
        || (),
        |first, piece, ()| {
            let mut nearest = vec![Nearest::new(k); piece.len()];
            for block in blocks_outwards(first / BLOCK, n) {
                exec.check()?;
                pulp::Arch::new().dispatch(
                    #[inline(always)]
                    || {
                        for (lane, nearest) in nearest.iter_mut().enumerate() {
                            for j in block.clone().filter(|&j| j != first + lane) {
                                nearest.offer(points.key(first + lane, j), j as u32);
                            }
                        }
                    },
                );
            }
            piece.iter_mut().zip(nearest).for_each(|(row, nearest)| *row = nearest.into());
            Ok(())
        },
    )?;
    Ok(found)
}

/// Pairs are compared exactly where the screen cannot rule them out.
fn screened<E: Real>(points: &impl Keys, screen: &impl Screen<E>, k: usize, exec: &Exec) -> Result<Vec<Found>> {
    let n = points.len();
    let mut found = vec![Found::default(); n];
    let scratch = || (Vec::new(), vec![E::ZERO; BLOCK * LANES]);
    exec.for_pieces(&mut found, LANES, scratch, |first, piece, (panel, products)| {
        let lanes = piece.len();
        screen.load(first..first + lanes, panel);
        let mut queries =
            Queries { first, nearest: vec![Nearest::new(k); lanes], thresholds: vec![E::INFINITY; lanes] };
        for block in blocks_outwards(first / BLOCK, n) {
            exec.check()?;
            let products = &mut products[..block.len() * lanes];
            screen.products(panel, lanes, block.clone(), products);
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || queries.sift(points, screen.bounds(), block, products),
            );
        }
        piece.iter_mut().zip(queries.nearest).for_each(|(row, nearest)| *row = nearest.into());
        Ok(())
    })?;
    Ok(found)
}

/// Blocks of points from the given one outwards, alternating sides.
fn blocks_outwards(own: usize, n: usize) -> impl Iterator<Item = Range<usize>> {
    let count = n.div_ceil(BLOCK);
    let after = (own..count).map(Some).chain(std::iter::repeat(None));
    let before = (0..own).rev().map(Some).chain(std::iter::repeat(None));
    after
        .zip(before)
        .take(count)
        .flat_map(|(a, b)| [a, b])
        .flatten()
        .map(move |block| block * BLOCK..((block + 1) * BLOCK).min(n))
}

/// A block of queries on its way through the points.
struct Queries<E> {
    first: usize,
    nearest: Vec<Nearest>,
    thresholds: Vec<E>,
}

impl<E: Real> Queries<E> {
    /// Compares exactly every pair of this panel that its lowered distance does not rule out.
    #[inline(always)]
    fn sift(&mut self, points: &impl Keys, bounds: &Bounds<E>, block: Range<usize>, products: &[E]) {
        let two = E::ONE + E::ONE;
        for (j, row) in block.zip(products.chunks_exact(self.thresholds.len())) {
            let norm = bounds.norms[j];
            for from in (0..row.len()).step_by(GROUP) {
                let to = (from + GROUP).min(row.len());
                // Almost every group fails as a whole; this test compiles to a few vector instructions.
                let passes = row[from..to]
                    .iter()
                    .zip(&self.thresholds[from..to])
                    .fold(false, |any, (&product, &threshold)| any || (norm - two * product <= threshold));
                if passes {
                    self.compare_group(points, bounds, j, row, from..to);
                }
            }
        }
    }

    #[inline(always)]
    fn compare_group(&mut self, points: &impl Keys, bounds: &Bounds<E>, j: usize, row: &[E], group: Range<usize>) {
        let two = E::ONE + E::ONE;
        for lane in group {
            let query = self.first + lane;
            if j != query && bounds.norms[j] - two * row[lane] <= self.thresholds[lane] {
                let nearest = &mut self.nearest[lane];
                if nearest.offer(points.key(query, j), j as u32) {
                    self.thresholds[lane] = bounds.threshold(query, nearest.bound());
                }
            }
        }
    }
}
