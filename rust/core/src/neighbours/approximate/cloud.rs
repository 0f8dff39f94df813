//! The points of a search in the order in which they lie near each other.

use mdt_dense::{Accum, MatMut, MatRef};

use super::super::points::{DensePoints, Keys, sum_terms};
use super::super::screen::{Centred, fill_rows};
use crate::exec::Exec;
use crate::{Real, Result};

/// Centred and scaled copies of points, a row for each.
pub(super) struct Cloud<E> {
    data: Vec<E>,
    norms: Vec<E>,
    dimension: usize,
}

impl<E: Real> Cloud<E> {
    /// Copies points in their own order.
    pub fn new<T: Real>(points: &DensePoints<'_, T>, centred: &Centred, exec: &Exec) -> Result<Self> {
        let write = |i: usize, row: &mut [E]| centred.enter(points.row(i), row);
        Self::with_norms(fill_rows(points.len(), points.dimension, write, exec)?, points.dimension, exec)
    }

    /// The same points, `order[i]` at place `i`.
    pub fn reordered(&self, order: &[u32], exec: &Exec) -> Result<Self> {
        let write = |i: usize, row: &mut [E]| row.copy_from_slice(self.row(order[i]));
        Self::with_norms(fill_rows(order.len(), self.dimension, write, exec)?, self.dimension, exec)
    }

    fn with_norms(data: Vec<E>, dimension: usize, exec: &Exec) -> Result<Self> {
        let row = |i: usize| &data[i * dimension..(i + 1) * dimension];
        let squared = |x: &[E]| sum_terms(dimension, |k| x[k].to_f64() * x[k].to_f64());
        let norms = fill_rows(data.len() / dimension, 1, |i, norm| norm[0] = E::from_f64(squared(row(i))), exec)?;
        Ok(Self { data, norms, dimension })
    }

    /// `|y|^2 - 2 x.y` for each `x` of some points and every `y` of the places `first..first + count`, a line for each `x`.
    #[inline(always)]
    pub fn compare(&self, points: &[u32], first: usize, count: usize) -> Vec<E> {
        let d = self.dimension;
        let rows: Vec<E> = points.iter().flat_map(|&p| self.row(p)).copied().collect();
        let mut values = vec![E::ZERO; points.len() * count];
        multiply(&rows, &self.data[first * d..(first + count) * d], d, &self.norms[first..first + count], &mut values);
        values
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

    /// Squared distance of two points, the same for both orders of them.
    #[inline(always)]
    pub fn squared_distance(&self, i: u32, j: u32) -> E {
        squared_distance(self.row(i), self.row(j))
    }
}

/// Sums of eight interleaved terms, in an order that depends on the length alone.
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

/// `|y|^2 - 2 x.y` for every row `x` of `xs` and `y` of `ys`.
#[inline(always)]
fn multiply<E: Real>(xs: &[E], ys: &[E], dimension: usize, norms: &[E], out: &mut [E]) {
    let (m, n) = (xs.len() / dimension, ys.len() / dimension);
    let left = MatRef::from_row_major_slice(xs, m, dimension);
    let right = MatRef::from_row_major_slice(ys, n, dimension).transpose();
    let product = MatMut::from_row_major_slice_mut(&mut *out, m, n);
    E::multiply(product, Accum::Replace, left, right, E::from_f64(-2.0));
    for line in out.chunks_exact_mut(n) {
        line.iter_mut().zip(norms).for_each(|(value, &norm)| *value += norm);
    }
}

/// A few points brought together, and products between them.
pub(super) struct Gathered<E> {
    rows: Vec<E>,
    norms: Vec<E>,
    values: Vec<E>,
    dimension: usize,
}

impl<E: Real> Gathered<E> {
    pub fn new(dimension: usize) -> Self {
        Self { rows: Vec::new(), norms: Vec::new(), values: Vec::new(), dimension }
    }

    /// Brings together these points.
    pub fn gather(&mut self, cloud: &Cloud<E>, points: &[u32]) {
        self.rows.clear();
        self.norms.clear();
        for &p in points {
            self.rows.extend_from_slice(cloud.row(p));
            self.norms.push(cloud.norms[p as usize]);
        }
    }

    /// `|y|^2 - 2 x.y` for each `x` of the rows `first..first + count` and every `y`, a line for each `x`: squared distances
    /// up to rounding and to `|x|^2`, see [`Self::norm`].
    #[inline(always)]
    pub fn compare(&mut self, first: usize, count: usize) -> &mut [E] {
        let d = self.dimension;
        self.values.clear();
        self.values.resize(count * self.norms.len(), E::ZERO);
        multiply(&self.rows[first * d..(first + count) * d], &self.rows, d, &self.norms, &mut self.values);
        &mut self.values
    }

    /// `|x|^2` of a gathered row.
    pub fn norm(&self, row: usize) -> E {
        self.norms[row]
    }
}
