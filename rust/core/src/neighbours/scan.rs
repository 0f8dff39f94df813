//! All pairs in blocks.
//!
//! A task takes a block of queries and passes over the points block by block: a panel of products (192 queries x 256 points,
//! 196 kB in single precision) is made and sifted while it is in cache, so memory is O(N k + N d), never O(N^2).
//! Screened pairs are only noted at first; see [`Lane`]. The pass starts at the queries' own block and moves outwards:
//! where the order of the data means something, neighbours are found early and the rest fails the screen. The order cannot
//! change the answer.

use std::ops::Range;

use super::Found;
use super::nearest::Nearest;
use super::points::{DensePoints, Keys, SparsePoints};
use super::screen::{Bounds, Centred, DenseScreen, Screen, SparseScreen, is_coarse_enough, sparse_squared_norms};
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
        let centred = Centred::new(self, exec)?;
        if is_coarse_enough(self, |i| centred.squared_norm(i)) {
            screened(self, &DenseScreen::<f32>::new(self, &centred, exec)?, k, exec)
        } else {
            screened(self, &DenseScreen::<f64>::new(self, &centred, exec)?, k, exec)
        }
    }
}

impl Scannable for SparsePoints {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<Found>> {
        let norms = sparse_squared_norms(self);
        if is_coarse_enough(self, |i| norms[i]) {
            screened(self, &SparseScreen::<f32>::new(self, &norms), k, exec)
        } else {
            screened(self, &SparseScreen::<f64>::new(self, &norms), k, exec)
        }
    }
}

/// The `k` nearest others of every point.
pub(super) fn search(points: &impl Scannable, k: usize, exec: &Exec) -> Result<Vec<Found>> {
    if points.metric().is_squared() { points.scan_screened(k, exec) } else { plain(points, k, exec) }
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
                                nearest.offer(points.distance(first + lane, j), j as u32);
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
    let scratch = || (Vec::new(), vec![E::ZERO; BLOCK * screen.lanes()]);
    exec.for_pieces(&mut found, screen.lanes(), scratch, |first, piece, (panel, products)| {
        let lanes = piece.len();
        screen.load(first..first + lanes, panel);
        let mut queries = Queries::new(first, lanes, k);
        for block in blocks_outwards(first / BLOCK, n) {
            exec.check()?;
            let products = &mut products[..block.len() * lanes];
            screen.products(panel, lanes, block.clone(), products);
            pulp::Arch::new().dispatch(
                #[inline(always)]
                || queries.sift(points, screen.bounds(), block, products),
            );
        }
        let nearest = pulp::Arch::new().dispatch(
            #[inline(always)]
            || queries.finish(points, screen.bounds()),
        );
        piece.iter_mut().zip(nearest).for_each(|(row, nearest)| *row = nearest);
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
    k: usize,
    lanes: Vec<Lane<E>>,
    /// Of each query: a point whose screened value is above this is not among the nearest.
    thresholds: Vec<E>,
}

/// One query: points that may be among the nearest, and those already compared.
///
/// Comparing every point that passes would compare some `k ln(n / k)` of them. So they are only noted; when the note is
/// full, the `k`-th smallest upper bound lowers the threshold and most of them drop out. What is left in the end, little
/// more than `k`, is compared exactly.
#[derive(Clone)]
struct Lane<E> {
    noted: Vec<(E, u32)>,
    nearest: Nearest,
}

impl<E: Real> Queries<E> {
    fn new(first: usize, lanes: usize, k: usize) -> Self {
        let lane = Lane { noted: Vec::new(), nearest: Nearest::new(k) };
        Self { first, k, thresholds: vec![E::INFINITY; lanes], lanes: vec![lane; lanes] }
    }

    /// Notes every pair of this panel that its lowered distance does not rule out.
    #[inline(always)]
    fn sift(&mut self, points: &impl Keys, bounds: &Bounds<E>, block: Range<usize>, products: &[E]) {
        let two = E::ONE + E::ONE;
        let whole = self.thresholds.len() / GROUP * GROUP;
        for (j, row) in block.zip(products.chunks_exact(self.thresholds.len())) {
            let norm = bounds.norms[j];
            for from in (0..whole).step_by(GROUP) {
                // Almost every group fails as a whole; over a fixed length this test is a few vector instructions.
                let (products, thresholds) = (fixed(row, from), fixed(&self.thresholds, from));
                let mut passes = false;
                for lane in 0..GROUP {
                    passes |= norm - two * products[lane] <= thresholds[lane];
                }
                if passes {
                    self.note_group(points, bounds, j, row, from..from + GROUP);
                }
            }
            self.note_group(points, bounds, j, row, whole..row.len());
        }
    }

    #[inline(always)]
    fn note_group(&mut self, points: &impl Keys, bounds: &Bounds<E>, j: usize, row: &[E], group: Range<usize>) {
        let two = E::ONE + E::ONE;
        for lane in group {
            let value = bounds.norms[j] - two * row[lane];
            if value <= self.thresholds[lane] && j != self.first + lane {
                self.lanes[lane].noted.push((value, j as u32));
                if self.lanes[lane].noted.len() == capacity(self.k) {
                    self.shorten(points, bounds, lane);
                }
            }
        }
    }

    /// Lowers the threshold of a lane and drops what is above it; compares the rest exactly if that did not help.
    fn shorten(&mut self, points: &impl Keys, bounds: &Bounds<E>, lane: usize) {
        self.drop_distant(bounds, lane);
        if self.lanes[lane].noted.len() > capacity(self.k) / 2 {
            self.compare_noted(points, lane);
            let bound = points.metric().largest_key(self.lanes[lane].nearest.bound());
            self.lower_threshold(lane, bounds.threshold(self.first + lane, bound));
        }
    }

    fn drop_distant(&mut self, bounds: &Bounds<E>, lane: usize) {
        let query = self.first + lane;
        if self.lanes[lane].noted.len() >= self.k {
            let upper = |&(value, j): &(E, u32)| value.to_f64() + bounds.spread(query, j as usize);
            let noted = &self.lanes[lane].noted;
            let mut uppers: Vec<f64> = noted.iter().map(upper).collect();
            let (_, kth, _) = uppers.select_nth_unstable_by(self.k - 1, f64::total_cmp);
            // Where k points may coincide with the query, the nearest that surely does not must stay, for the bandwidth.
            let distinct = noted.iter().filter(|(value, _)| bounds.is_distinct(query, *value)).map(upper);
            let threshold = kth.max(distinct.fold(f64::INFINITY, f64::min));
            self.lower_threshold(lane, E::from_f64(threshold));
        }
        let threshold = self.thresholds[lane];
        self.lanes[lane].noted.retain(|(value, _)| *value <= threshold);
    }

    fn lower_threshold(&mut self, lane: usize, threshold: E) {
        if threshold < self.thresholds[lane] {
            self.thresholds[lane] = threshold;
        }
    }

    #[inline(always)]
    fn compare_noted(&mut self, points: &impl Keys, lane: usize) {
        let Lane { noted, nearest } = &mut self.lanes[lane];
        for (_, j) in noted.drain(..) {
            nearest.offer(points.distance(self.first + lane, j as usize), j);
        }
    }

    /// The nearest of each query.
    #[inline(always)]
    fn finish(mut self, points: &impl Keys, bounds: &Bounds<E>) -> Vec<Found> {
        for lane in 0..self.lanes.len() {
            self.drop_distant(bounds, lane);
            self.compare_noted(points, lane);
        }
        self.lanes.into_iter().map(|lane| lane.nearest.into()).collect()
    }
}

/// How many points a lane notes before it is shortened.
fn capacity(k: usize) -> usize {
    (4 * k).max(64)
}

/// `GROUP` elements from `from`.
#[inline(always)]
fn fixed<E>(data: &[E], from: usize) -> &[E; GROUP] {
    data[from..from + GROUP].try_into().expect("the slice has this length")
}
