//! Lower bounds of squared distances by matrix products.
//!
//! ```text
//! |x - y|^2 = |x|^2 + |y|^2 - 2 x.y
//! ```
//!
//! The products of a block of points with a block of queries are computed at once. In floating
//! point the error is at most `gamma (|x|^2 + |y|^2)`, `gamma = 2 (d + 16) u`, with `u` the unit
//! roundoff: `d` roundings of the product and of each norm, and those of centring and conversion. A
//! pair is compared exactly unless its bound, lowered by this error, is above the distance of the
//! query's last neighbour. So single precision suffices for the bounds, no neighbour is lost, and
//! no distance of the result suffers from cancellation. Cost: `2 d` operations a pair, at the speed
//! of a matrix product.
//!
//! Reference for the error bound: Higham, "Accuracy and Stability of Numerical Algorithms", 2002,
//! section 3.1.

use std::ops::Range;

use mdt_dense::{Accum, MatMut, MatRef};

use super::metric::sum_terms;
use super::points::{DensePoints, Keys, SparsePoints};
use crate::ground::memory;
use crate::ground::sparse_step::{Remainder, Term, step_rows};
use crate::ground::tall::{TallRef, column_means};
use crate::{Csr, Exec, Real, Result};

/// Number of queries in a panel; a multiple of the widest tiles (96) of the products.
pub(super) const LANES: usize = 192;

/// Size of a dense panel of sparse queries.
const PANEL_BYTES: usize = 1 << 22;

/// Rows that one thread prepares at a time.
const ROWS_PER_PIECE: usize = 512;

/// Points with lower bounds of their squared distances.
pub(super) trait Screen: Sync {
    /// Precision of the products.
    type Element: Real;
    /// Norms and error bounds of the points.
    fn bounds(&self) -> &Bounds<Self::Element>;
    /// Number of queries in a panel.
    fn lanes(&self) -> usize {
        LANES
    }
    /// Loads the coordinates of up to [`Self::lanes`] queries in the layout of [`Self::products`].
    fn load(&self, queries: Range<usize>, panel: &mut Vec<Self::Element>);
    /// `out[r * lanes + l] = point_r . query_l`.
    fn products(&self, panel: &[Self::Element], lanes: usize, points: Range<usize>, out: &mut [Self::Element]);
}

/// The terms of the lowered distance that do not depend on pairs.
pub(super) struct Bounds<E> {
    /// `(1 - gamma) |x|^2` in the units of the screen.
    pub norms: Vec<E>,
    /// Factor from exact keys to the units of the screen.
    key_scale: f64,
    /// Error of products that underflow, and keys that count as 0.
    floor: f64,
    gamma: f64,
    /// The largest element of `norms`.
    largest_norm: f64,
}

impl<E: Real> Bounds<E> {
    fn new(norms: impl Iterator<Item = f64>, points: &impl Keys, scale: f64) -> Self {
        let dimension = points.dimension();
        let gamma = gamma::<E>(dimension);
        let norms: Vec<E> = norms.map(|n| E::from_f64(n * (1.0 - gamma))).collect();
        let largest_norm = norms.iter().fold(0.0, |largest: f64, norm| largest.max(norm.to_f64()));
        let key_scale = scale * scale;
        let floor = 8.0 * dimension as f64 * E::TINY + points.metric().largest_key(0.0) * key_scale;
        Self { norms, key_scale, floor, gamma, largest_norm }
    }

    /// Point `r` is skipped for query `q` if `norms[r] - 2 r.q > threshold(q, bound)`.
    ///
    /// `bound` is the largest key that can change the result.
    pub fn threshold(&self, query: usize, bound: f64) -> E {
        let own = self.norms[query].to_f64();
        let exact = bound * self.key_scale - own + self.floor;
        E::from_f64(exact + (bound * self.key_scale + own.abs()) * self.gamma)
    }

    /// True if a point with this value is certainly at a positive distance from the query.
    pub fn is_distinct(&self, query: usize, value: E) -> bool {
        value.to_f64() + self.norms[query].to_f64() > self.floor
    }

    /// Largest difference between the true and the lowered distance of a pair.
    pub fn spread(&self, query: usize, point: usize) -> f64 {
        self.spread_of_norms(self.norms[query].to_f64() + self.norms[point].to_f64())
    }

    /// The same for the point with the largest norm.
    pub fn largest_spread(&self, query: usize) -> f64 {
        self.spread_of_norms(self.norms[query].to_f64() + self.largest_norm)
    }

    fn spread_of_norms(&self, norms: f64) -> f64 {
        // The stored norms are already lowered, hence 3 instead of 2.
        3.0 * self.gamma * norms + 2.0 * self.floor
    }
}

/// The error of a distance relative to the sum of the two squared norms.
pub(super) fn gamma<E: Real>(dimension: usize) -> f64 {
    2.0 * (dimension as f64 + 16.0) * E::ROUNDOFF
}

/// True if products in `E` separate near points from far points, estimated on a few points.
pub(super) fn is_fine_enough<E: Real>(points: &impl Keys, squared_norm: impl Fn(usize) -> f64) -> bool {
    const QUERIES: usize = 16;
    const OTHERS: usize = 128;
    let n = points.len();
    let others = OTHERS.min(n);
    let gamma = gamma::<E>(points.dimension());
    let mut ratios: Vec<f64> = (0..QUERIES.min(n))
        .map(|s| s * n / QUERIES.min(n))
        .filter_map(|q| {
            let keys = (0..others).map(|s| s * n / others).filter(|&j| j != q).map(|j| points.key(q, j));
            let nearest = keys.filter(|&k| k > 0.0).fold(f64::INFINITY, f64::min);
            nearest.is_finite().then(|| 2.0 * gamma * squared_norm(q) / nearest)
        })
        .collect();
    ratios.sort_unstable_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).is_some_and(|&median| median < 0.1)
}

/// A centred copy of dense points, scaled so that no coordinate is larger than 1.
pub(super) struct DenseScreen<E> {
    data: Vec<E>,
    dimension: usize,
    bounds: Bounds<E>,
}

/// Mean, scale and scaled squared norms of dense points, shared by both precisions.
pub(super) struct Centred {
    mean: Vec<f64>,
    scale: f64,
    scaled_squared_norms: Vec<f64>,
}

impl Centred {
    pub fn new<T: Real>(points: &DensePoints<'_, T>, exec: &Exec) -> Result<Self> {
        let mean = column_means(TallRef::new(points.data, points.dimension), exec)?;
        let mean: Vec<f64> = mean.into_iter().map(|m: T| m.to_f64()).collect();
        let of_rows = |measure: &(dyn Fn(&[T]) -> f64 + Sync)| -> Result<Vec<f64>> {
            let mut measured = vec![0.0; points.len()];
            exec.each_piece(&mut measured, ROWS_PER_PIECE, |first, piece| {
                piece.iter_mut().enumerate().for_each(|(i, value)| *value = measure(points.row(first + i)));
            })?;
            Ok(measured)
        };
        let largest = of_rows(&|row| row.iter().zip(&mean).fold(0.0, |m, (v, mean)| m.max((v.to_f64() - mean).abs())))?;
        let scale = unit_scale(largest.into_iter().fold(0.0, f64::max));
        // Norms of the unscaled values could underflow.
        let scaled_squared_norms = of_rows(&|row| {
            let scaled = |k: usize| (row[k].to_f64() - mean[k]) * scale;
            sum_terms(row.len().min(mean.len()), |k| scaled(k) * scaled(k))
        })?;
        Ok(Self { mean, scale, scaled_squared_norms })
    }

    /// Writes the centred and scaled row.
    pub fn enter<T: Real, E: Real>(&self, row: &[T], out: &mut [E]) {
        for ((s, v), m) in out.iter_mut().zip(row).zip(&self.mean) {
            *s = E::from_f64((v.to_f64() - m) * self.scale);
        }
    }

    /// Factor from squared distances to those of centred and scaled rows.
    pub fn key_scale(&self) -> f64 {
        self.scale * self.scale
    }

    /// Squared distance of point `i` from the mean.
    pub fn squared_norm(&self, i: usize) -> f64 {
        self.scaled_squared_norms[i] / self.scale / self.scale
    }
}

/// `n` rows of `dimension` numbers, each filled by `write(i, row)`.
pub(super) fn fill_rows<E: Real>(
    n: usize,
    dimension: usize,
    write: impl Fn(usize, &mut [E]) + Sync + Send,
    exec: &Exec,
) -> Result<Vec<E>> {
    let mut data = memory::zeros(n * dimension)?;
    exec.each_piece(&mut data, ROWS_PER_PIECE * dimension, |first, piece| {
        let rows = piece.chunks_exact_mut(dimension).enumerate();
        rows.for_each(|(r, row)| write(first / dimension + r, row));
    })?;
    Ok(data)
}

/// The power of two that scales `largest` to at most 1.
fn unit_scale(largest: f64) -> f64 {
    if largest > 0.0 { 2_f64.powi(-(largest.log2().floor() as i32) - 1) } else { 1.0 }
}

impl<E: Real> DenseScreen<E> {
    pub fn new<T: Real>(points: &DensePoints<'_, T>, centred: &Centred, exec: &Exec) -> Result<Self> {
        let dimension = points.dimension;
        let data = fill_rows(points.len(), dimension, |i, row| centred.enter(points.row(i), row), exec)?;
        let bounds = Bounds::new(centred.scaled_squared_norms.iter().copied(), points, centred.scale);
        Ok(Self { data, dimension, bounds })
    }

    fn rows(&self, range: Range<usize>) -> &[E] {
        &self.data[range.start * self.dimension..range.end * self.dimension]
    }
}

impl<E: Real> Screen for DenseScreen<E> {
    type Element = E;

    fn bounds(&self) -> &Bounds<E> {
        &self.bounds
    }

    fn load(&self, queries: Range<usize>, panel: &mut Vec<E>) {
        panel.clear();
        panel.extend_from_slice(self.rows(queries));
    }

    fn products(&self, panel: &[E], lanes: usize, points: Range<usize>, out: &mut [E]) {
        let rows = points.len();
        let left = MatRef::from_row_major_slice(self.rows(points), rows, self.dimension);
        let right = MatRef::from_row_major_slice(panel, lanes, self.dimension).transpose();
        let product = MatMut::from_row_major_slice_mut(out, rows, lanes);
        E::multiply(product, Accum::Replace, left, right, E::ONE);
    }
}

/// Sparse points times a dense panel of queries, by the sparse kernel of the walks.
///
/// Sparse points are not centred, so that they stay sparse.
pub(super) struct SparseScreen<E> {
    rows: Csr<E>,
    bounds: Bounds<E>,
}

impl<E: Real> SparseScreen<E> {
    pub fn new(points: &SparsePoints, squared_norms: &[f64]) -> Result<Self> {
        let rows = &points.rows;
        let scale = unit_scale(rows.values().iter().fold(0.0, |m: f64, v| m.max(v.abs())));
        let values = memory::collect(rows.values().iter().map(|v| E::from_f64(v * scale)))?;
        let bounds = Bounds::new(squared_norms.iter().map(|n| n * scale * scale), points, scale);
        Ok(Self { rows: rows.with_values(values)?, bounds })
    }
}

/// Squared norms of sparse rows.
pub(super) fn sparse_squared_norms(points: &SparsePoints) -> Vec<f64> {
    (0..points.rows.n_rows()).map(|i| points.rows.row(i).1.iter().map(|v| v * v).sum()).collect()
}

impl<E: Real> Screen for SparseScreen<E> {
    type Element = E;

    fn bounds(&self) -> &Bounds<E> {
        &self.bounds
    }

    /// Fewer lanes for many columns, so that the dense panel stays in cache.
    fn lanes(&self) -> usize {
        (PANEL_BYTES / (self.rows.n_cols().max(1) * size_of::<E>())).clamp(16, LANES)
    }

    fn load(&self, queries: Range<usize>, panel: &mut Vec<E>) {
        let lanes = queries.len();
        panel.clear();
        panel.resize(self.rows.n_cols() * lanes, E::ZERO);
        for (lane, query) in queries.enumerate() {
            let (columns, values) = self.rows.row(query);
            columns.iter().zip(values).for_each(|(&c, &v)| panel[c as usize * lanes + lane] = v);
        }
    }

    fn products(&self, panel: &[E], lanes: usize, points: Range<usize>, out: &mut [E]) {
        let term = Term { weight: E::ONE, matrix: &self.rows, scale: None, lent: None, input: panel };
        let nothing = Remainder::none();
        step_rows(&[term], nothing, lanes, points.start, out);
    }
}
