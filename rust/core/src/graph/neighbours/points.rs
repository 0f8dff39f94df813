//! Dense and sparse points, ready to be compared.
//!
//! Rows are normalised for cosine and correlation distances. Coordinates of extreme scale are
//! multiplied by a power of two. All other dense points are used as given, without a copy.

use super::metric::{Metric, dense_key, sparse_key};
use super::scale::{Ranges, extreme_exponent, normalize, not_finite, rescale, shift};
use crate::ground::memory;
use crate::{Csr, Error, Exec, Real, Result};

/// Features of points: dense or sparse rows.
#[derive(Debug, Clone, Copy)]
pub enum Features<'a, T> {
    /// Row-major, `n * dimension` numbers.
    Dense {
        /// The numbers.
        data: &'a [T],
        /// Number of dimensions.
        dimension: usize,
    },
    /// One row for each point.
    Sparse(&'a Csr<T>),
}

impl<T: Real> Features<'_, T> {
    /// Number of points.
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Dense { data, dimension } => data.len() / (*dimension).max(1),
            Self::Sparse(rows) => rows.n_rows(),
        }
    }

    /// Number of stored numbers.
    pub fn size(&self) -> usize {
        match self {
            Self::Dense { data, .. } => data.len(),
            Self::Sparse(rows) => rows.nnz(),
        }
    }
}

/// Exact keys between points of one set.
pub(super) trait Keys: Sync {
    fn len(&self) -> usize;
    /// Largest number of terms of a key.
    fn dimension(&self) -> usize;
    fn metric(&self) -> Metric;
    fn key(&self, i: usize, j: usize) -> f64;
    #[inline(always)]
    fn distance(&self, i: usize, j: usize) -> f64 {
        self.metric().distance(self.key(i, j))
    }
}

/// Points of a search.
pub(super) enum Points<'a, T> {
    /// The given rows.
    Dense(DensePoints<'a, T>),
    /// Normalised or rescaled rows.
    Rescaled(OwnedPoints),
    Sparse(SparsePoints),
}

impl<'a, T: Real> Points<'a, T> {
    pub fn new(coordinates: Features<'a, T>, metric: Metric, exec: &Exec) -> Result<Self> {
        match coordinates {
            Features::Dense { data, dimension } => Self::dense(data, dimension, metric, exec),
            Features::Sparse(rows) => Self::sparse(rows, metric),
        }
    }

    fn dense(data: &'a [T], dimension: usize, metric: Metric, exec: &Exec) -> Result<Self> {
        if dimension == 0 || !data.len().is_multiple_of(dimension) {
            return Err(Error::Invalid(format!(
                "expected rows of {dimension} coordinates, got {} numbers",
                data.len()
            )));
        }
        let range = Ranges::new(data, dimension, exec)?;
        if metric.is_scale_free() {
            let mut data: Vec<f64> = memory::collect(data.iter().map(|v| v.to_f64()))?;
            for (i, row) in data.chunks_exact_mut(dimension).enumerate() {
                normalize(row, metric, i)?;
            }
            return Ok(Self::Rescaled(OwnedPoints { data, dimension, metric, exponent: 0, origin: Vec::new() }));
        }
        let exponent = extreme_exponent(range.widest());
        if exponent == 0 {
            return Ok(Self::Dense(DensePoints { data, dimension, metric }));
        }
        let origin = range.constants();
        let data = rescale(data, &origin, exponent)?;
        Ok(Self::Rescaled(OwnedPoints { data, dimension, metric, exponent, origin }))
    }

    fn sparse(rows: &Csr<T>, metric: Metric) -> Result<Self> {
        if metric == Metric::Correlation {
            return Err(Error::Invalid("expected dense coordinates for the correlation distance".into()));
        }
        let mut values: Vec<f64> = memory::collect(rows.values().iter().map(|v| v.to_f64()))?;
        let largest = values.iter().fold(0.0, |m: f64, v| if v.abs() <= m { m } else { v.abs() });
        if !largest.is_finite() {
            return Err(not_finite());
        }
        let mut exponent = 0;
        if metric == Metric::Cosine {
            for i in 0..rows.n_rows() {
                normalize(&mut values[rows.range(i)], metric, i)?;
            }
        } else {
            exponent = extreme_exponent(largest);
            values.iter_mut().for_each(|v| *v = shift(*v, exponent));
        }
        Ok(Self::Sparse(SparsePoints { rows: rows.with_values(values)?, metric, exponent }))
    }

    /// Converts other points to the units and the normalisation of these.
    ///
    /// A coordinate that is too large for these units becomes infinite.
    pub fn place(&self, others: Features<'_, f64>) -> Result<Placed> {
        match (self, others) {
            (Self::Dense(points), Features::Dense { data, dimension }) => {
                Error::check_size("coordinates of a new point", points.dimension, dimension)?;
                let (data, metric) = (memory::copy(data)?, points.metric);
                Ok(Placed::Dense(OwnedPoints { data, dimension, metric, exponent: 0, origin: Vec::new() }))
            }
            (Self::Rescaled(points), Features::Dense { data, dimension }) => {
                Error::check_size("coordinates of a new point", points.dimension, dimension)?;
                points.place(data).map(Placed::Dense)
            }
            (Self::Sparse(points), Features::Sparse(rows)) => {
                Error::check_size("coordinates of a new point", points.rows.n_cols(), rows.n_cols())?;
                points.place(rows).map(Placed::Sparse)
            }
            _ => Err(Error::Invalid("expected new points of the same layout, dense or sparse".into())),
        }
    }

    /// Keys belong to distances in units of `2^exponent`.
    pub fn exponent(&self) -> i32 {
        match self {
            Self::Dense(_) => 0,
            Self::Rescaled(points) => points.exponent,
            Self::Sparse(points) => points.exponent,
        }
    }
}

/// Points converted by [`Points::place`].
pub(super) enum Placed {
    Dense(OwnedPoints),
    Sparse(SparsePoints),
}
/// Borrowed dense rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct DensePoints<'a, T> {
    pub data: &'a [T],
    pub dimension: usize,
    pub metric: Metric,
}

/// Owned dense rows.
pub(super) struct OwnedPoints {
    data: Vec<f64>,
    dimension: usize,
    metric: Metric,
    exponent: i32,
    /// Values subtracted from each coordinate before rescaling; empty if nothing was rescaled.
    origin: Vec<f64>,
}

impl OwnedPoints {
    fn place(&self, data: &[f64]) -> Result<Self> {
        let Self { dimension, metric, exponent, .. } = *self;
        let data = if metric.is_scale_free() {
            let mut data = memory::copy(data)?;
            for (i, row) in data.chunks_exact_mut(dimension).enumerate() {
                normalize(row, metric, i)?;
            }
            data
        } else {
            rescale(data, &self.origin, exponent)?
        };
        Ok(Self { data, dimension, metric, exponent, origin: Vec::new() })
    }

    pub fn borrowed(&self) -> DensePoints<'_, f64> {
        DensePoints { data: &self.data, dimension: self.dimension, metric: self.metric }
    }
}

impl<T: Real> DensePoints<'_, T> {
    #[inline(always)]
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.dimension..(i + 1) * self.dimension]
    }
}

impl<T: Real> Keys for DensePoints<'_, T> {
    fn len(&self) -> usize {
        self.data.len() / self.dimension
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn metric(&self) -> Metric {
        self.metric
    }

    #[inline(always)]
    fn key(&self, i: usize, j: usize) -> f64 {
        dense_key(self.metric, self.row(i), self.row(j))
    }
}
/// Owned sparse rows.
pub(super) struct SparsePoints {
    pub rows: Csr<f64>,
    metric: Metric,
    exponent: i32,
}

impl Keys for SparsePoints {
    fn len(&self) -> usize {
        self.rows.n_rows()
    }

    /// A key has at most as many terms as two rows of the largest length have entries.
    fn dimension(&self) -> usize {
        2 * (0..self.rows.n_rows()).map(|i| self.rows.range(i).len()).max().unwrap_or(0)
    }

    fn metric(&self) -> Metric {
        self.metric
    }

    fn key(&self, i: usize, j: usize) -> f64 {
        sparse_key(self.metric, self.rows.row(i), self.rows.row(j))
    }
}

impl SparsePoints {
    fn place(&self, rows: &Csr<f64>) -> Result<Self> {
        let mut values = memory::copy(rows.values())?;
        if self.metric.is_scale_free() {
            for i in 0..rows.n_rows() {
                normalize(&mut values[rows.range(i)], self.metric, i)?;
            }
        } else {
            values.iter_mut().for_each(|v| *v = shift(*v, self.exponent));
        }
        Ok(Self { rows: rows.with_values(values)?, metric: self.metric, exponent: self.exponent })
    }
}
