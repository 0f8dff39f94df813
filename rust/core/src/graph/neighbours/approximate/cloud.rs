//! Points of an approximate search and products between them.

use std::ops::Range;

use mdt_dense::{Accum, MatMut, MatRef};

use super::super::metric::sum_terms;
use super::super::points::{DensePoints, Keys};
use super::super::screen::{Centred, fill_rows};
use crate::ground::memory;
use crate::ground::prefetch::prefetch;
use crate::{Exec, Real, Result, Stream};

/// Points that one thread projects at a time.
const ROWS_PER_PRODUCT: usize = 1024;
/// Number of points between the prefetch of a row and its use.
pub(in crate::graph::neighbours) const PREFETCH_AHEAD: usize = 8;

/// Row-major points with their squared norms.
pub(in crate::graph::neighbours) struct Cloud<E> {
    data: Vec<E>,
    norms: Vec<E>,
    dimension: usize,
}

impl<E: Real> Cloud<E> {
    /// Centred and scaled copies of points, in the given order.
    pub fn new<T: Real>(points: &DensePoints<'_, T>, centred: &Centred, exec: &Exec) -> Result<Self> {
        let write = |i: usize, row: &mut [E]| centred.enter(points.row(i), row);
        Self::with_norms(fill_rows(points.len(), points.dimension, write, exec)?, points.dimension, exec)
    }

    /// Rows with given squared norms.
    pub fn from_parts(data: Vec<E>, norms: Vec<E>, dimension: usize) -> Self {
        Self { data, norms, dimension }
    }

    /// The same points with point `order[i]` at place `i`.
    pub fn reordered(self, order: &[u32], exec: &Exec) -> Result<Self> {
        let write = |i: usize, row: &mut [E]| row.copy_from_slice(self.row(order[i]));
        Self::with_norms(fill_rows(order.len(), self.dimension, write, exec)?, self.dimension, exec)
    }

    fn with_norms(data: Vec<E>, dimension: usize, exec: &Exec) -> Result<Self> {
        let row = |i: usize| &data[i * dimension..(i + 1) * dimension];
        let norms = fill_rows(data.len() / dimension, 1, |i, norm| norm[0] = squared_norm(row(i)), exec)?;
        Ok(Self { data, norms, dimension })
    }

    /// A cloud without points; see [`Self::gather`].
    pub fn empty(dimension: usize) -> Self {
        Self { data: Vec::new(), norms: Vec::new(), dimension }
    }

    /// Draws `count` points with replacement.
    pub fn draw(&self, count: usize, stream: &mut Stream) -> Vec<u32> {
        (0..count).map(|_| stream.below(self.len()) as u32).collect()
    }

    /// A copy of some points.
    pub fn some(&self, points: &[u32]) -> Self {
        let mut some = Self::empty(self.dimension);
        some.gather(self, points);
        some
    }

    /// Coordinates of the points along directions, the columns of a row-major matrix.
    pub fn projected(&self, directions: &[f64], width: usize, exec: &Exec) -> Result<Self> {
        let d = self.dimension;
        let directions: Vec<E> = directions.iter().map(|&v| E::from_f64(v)).collect();
        let right = MatRef::from_row_major_slice(&directions, d, width);
        let mut data = memory::zeros(self.len() * width)?;
        exec.each_piece(&mut data, ROWS_PER_PRODUCT * width, |first, piece| {
            let count = piece.len() / width;
            let rows = &self.data[first / width * d..][..count * d];
            let product = MatMut::from_row_major_slice_mut(piece, count, width);
            E::multiply(product, Accum::Replace, MatRef::from_row_major_slice(rows, count, d), right, E::ONE);
        })?;
        Self::with_norms(data, width, exec)
    }

    /// Replaces the points by some points of another cloud.
    pub fn gather(&mut self, cloud: &Self, points: &[u32]) {
        self.data.clear();
        self.norms.clear();
        for (i, &p) in points.iter().enumerate() {
            cloud.prefetch(points[(i + PREFETCH_AHEAD).min(points.len() - 1)]);
            self.data.extend_from_slice(cloud.row(p));
            self.norms.push(cloud.norms[p as usize]);
        }
    }

    /// The means of the points of another cloud with each label; a point whose label does not occur
    /// stays.
    pub fn moved(&self, cloud: &Self, points: &[u32], labels: &[u32], exec: &Exec) -> Result<Self> {
        let d = self.dimension;
        let (mut sums, mut counts) = (vec![0.0; self.data.len()], vec![0.0; self.len()]);
        for (&point, &label) in points.iter().zip(labels) {
            counts[label as usize] += 1.0;
            let sums = &mut sums[label as usize * d..][..d];
            sums.iter_mut().zip(cloud.row(point)).for_each(|(sum, x)| *sum += x.to_f64());
        }
        let mean =
            |(k, &old): (usize, &E)| if counts[k / d] > 0.0 { E::from_f64(sums[k] / counts[k / d]) } else { old };
        Self::with_norms(self.data.iter().enumerate().map(mean).collect(), d, exec)
    }

    /// Computes `-2 x.y` for the first `count` points `x` of this cloud and a range of points `y`
    /// of another, one line for each `x`.
    ///
    /// With the norms `|x|^2` and `|y|^2` these are squared distances up to rounding.
    #[inline(always)]
    pub fn multiply<'v>(&self, count: usize, others: &Self, there: Range<usize>, values: &'v mut Vec<E>) -> &'v [E] {
        let d = self.dimension;
        let (xs, ys) = (&self.data[..count * d], &others.data[there.start * d..there.end * d]);
        values.resize(count * there.len(), E::ZERO);
        let product = MatMut::from_row_major_slice_mut(values, count, there.len());
        let left = MatRef::from_row_major_slice(xs, count, d);
        let right = MatRef::from_row_major_slice(ys, there.len(), d).transpose();
        E::multiply(product, Accum::Replace, left, right, E::from_f64(-2.0));
        values
    }

    /// Row-major coordinates.
    pub fn data(&self) -> &[E] {
        &self.data
    }

    /// `|x|^2` of every point.
    pub fn norms(&self) -> &[E] {
        &self.norms
    }

    pub fn len(&self) -> usize {
        self.norms.len()
    }

    pub fn dimension(&self) -> usize {
        self.dimension
    }

    #[inline(always)]
    pub fn row(&self, i: u32) -> &[E] {
        &self.data[i as usize * self.dimension..(i as usize + 1) * self.dimension]
    }

    /// Prefetches a row.
    #[inline(always)]
    pub fn prefetch(&self, i: u32) {
        prefetch(&self.data, i as usize * self.dimension, self.dimension);
    }

    /// Squared distance of two points, symmetric to the last bit.
    #[inline(always)]
    pub fn squared_distance(&self, i: u32, j: u32) -> E {
        self.squared_distance_to(i, self, j)
    }

    /// Squared distance of point `i` from point `j` of another cloud.
    #[inline(always)]
    pub fn squared_distance_to(&self, i: u32, others: &Self, j: u32) -> E {
        squared_distance(self.row(i), others.row(j))
    }
}

fn squared_norm<E: Real>(x: &[E]) -> E {
    E::from_f64(sum_terms(x.len(), |k| x[k].to_f64() * x[k].to_f64()))
}

/// Eight interleaved sums; the order of the additions depends on the length alone.
#[inline(always)]
fn squared_distance<E: Real>(x: &[E], y: &[E]) -> E {
    let mut sums = [E::ZERO; 8];
    let (heads, tails) = (x.chunks_exact(8), y.chunks_exact(8));
    let (rest_x, rest_y) = (heads.remainder(), tails.remainder());
    for (a, b) in heads.zip(tails) {
        for lane in 0..8 {
            let difference = a[lane] - b[lane];
            sums[lane] += difference * difference;
        }
    }
    for (lane, (&a, &b)) in rest_x.iter().zip(rest_y).enumerate() {
        sums[lane] += (a - b) * (a - b);
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}
