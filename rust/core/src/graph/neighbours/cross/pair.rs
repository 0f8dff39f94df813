//! Keys and lower bounds between new points and training points.

use std::ops::Range;

use mdt_dense::{Accum, MatMut, MatRef, Product as _};

use crate::graph::neighbours::metric::{Metric, dense_key, sparse_key, sum_terms};
use crate::graph::neighbours::points::{DensePoints, Keys, SparsePoints};
use crate::graph::neighbours::screen::gamma;
use crate::ground::tall::{TallRef, column_means};
use crate::{Exec, Real, Result};

/// Two sets of points with the keys from one to the other.
pub(super) trait Pair: Sync {
    fn n_points(&self) -> usize;
    fn n_new(&self) -> usize;
    fn metric(&self) -> Metric;
    fn key(&self, new: usize, point: usize) -> f64;
    /// Largest number of terms of a key.
    fn dimension(&self) -> usize;
    /// Prepares queries for [`Self::lower_bounds`]; returns false if there are no bounds.
    fn load(&self, _: Range<usize>, _: &mut CentredBlock) -> bool {
        false
    }
    /// Writes to `out[q * points + p]` a lower bound of the key of a query and a point, up to
    /// `CrossSearch::margin`.
    fn lower_bounds(&self, _: Range<usize>, _: &CentredBlock, _: &mut CentredBlock, _: &mut [f64]) {}
}

/// Centred rows and their lowered squared norms.
#[derive(Default)]
pub(super) struct CentredBlock {
    rows: Vec<f64>,
    norms: Vec<f64>,
}

impl CentredBlock {
    #[inline(always)]
    fn fill<T: Real>(&mut self, points: &DensePoints<'_, T>, range: Range<usize>, centre: &[f64]) {
        let d = points.dimension;
        self.rows.resize(range.len() * d, 0.0);
        self.norms.resize(range.len(), 0.0);
        let lowered = 1.0 - gamma::<f64>(d);
        for ((i, row), norm) in range.zip(self.rows.chunks_exact_mut(d)).zip(&mut self.norms) {
            for ((value, v), centre) in row.iter_mut().zip(points.row(i)).zip(centre) {
                *value = v.to_f64() - centre;
            }
            *norm = lowered * sum_terms(d, |k| row[k] * row[k]);
        }
    }
}

pub(super) struct DensePair<'a, T> {
    points: DensePoints<'a, T>,
    new: DensePoints<'a, f64>,
    /// Mean of the training points; empty if the metric has no bounds by products.
    centre: Vec<f64>,
}

impl<'a, T: Real> DensePair<'a, T> {
    pub fn new(points: DensePoints<'a, T>, new: DensePoints<'a, f64>, exec: &Exec) -> Result<Self> {
        let centre: Vec<T> = if points.metric.is_squared() {
            column_means(TallRef::new(points.data, points.dimension), exec)?
        } else {
            Vec::new()
        };
        Ok(Self { points, new, centre: centre.into_iter().map(Real::to_f64).collect() })
    }
}

impl<T: Real> Pair for DensePair<'_, T> {
    fn n_points(&self) -> usize {
        self.points.len()
    }

    fn n_new(&self) -> usize {
        self.new.len()
    }

    fn metric(&self) -> Metric {
        self.points.metric
    }

    #[inline(always)]
    fn key(&self, new: usize, point: usize) -> f64 {
        dense_key(self.points.metric, self.new.row(new), self.points.row(point))
    }

    fn dimension(&self) -> usize {
        self.points.dimension
    }

    fn load(&self, queries: Range<usize>, panel: &mut CentredBlock) -> bool {
        if self.centre.is_empty() {
            return false;
        }
        panel.fill(&self.new, queries, &self.centre);
        true
    }

    #[inline(always)]
    fn lower_bounds(&self, block: Range<usize>, queries: &CentredBlock, scratch: &mut CentredBlock, out: &mut [f64]) {
        scratch.fill(&self.points, block.clone(), &self.centre);
        let (lanes, points, d) = (queries.norms.len(), block.len(), self.points.dimension);
        let left = MatRef::from_row_major_slice(&queries.rows, lanes, d);
        let right = MatRef::from_row_major_slice(&scratch.rows, points, d).transpose();
        f64::multiply(MatMut::from_row_major_slice_mut(out, lanes, points), Accum::Replace, left, right, -2.0);
        for (row, own) in out.chunks_exact_mut(points).zip(&queries.norms) {
            for (value, norm) in row.iter_mut().zip(&scratch.norms) {
                let bound = *value + (own + norm);
                // A bound that overflows excludes nothing.
                *value = if bound.is_nan() { f64::NEG_INFINITY } else { bound };
            }
        }
    }
}

pub(super) struct SparsePair<'a> {
    pub points: &'a SparsePoints,
    pub new: &'a SparsePoints,
}

impl Pair for SparsePair<'_> {
    fn n_points(&self) -> usize {
        self.points.len()
    }

    fn n_new(&self) -> usize {
        self.new.len()
    }

    fn metric(&self) -> Metric {
        self.points.metric()
    }

    fn key(&self, new: usize, point: usize) -> f64 {
        sparse_key(self.points.metric(), self.new.rows.row(new), self.points.rows.row(point))
    }

    fn dimension(&self) -> usize {
        self.points.dimension() + self.new.dimension()
    }
}
