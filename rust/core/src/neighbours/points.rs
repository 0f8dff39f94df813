//! Coordinates and the exact comparison of two points.
//!
//! Points are compared by a *key* that grows with the distance: the squared Euclidean distance, or the sum of absolute
//! differences. Cosine and correlation distances are half the squared distance of normalised rows, so that equal rows are
//! at exactly 0.

use crate::csr::Csr;
use crate::{Error, Real, Result};

/// Beyond `2^SAFE_EXPONENT` (or, for the whole of a view, below its inverse) squares could leave the range of a double.
const SAFE_EXPONENT: i32 = 480;
/// Where the largest coordinate is smaller than `2^SMALL_EXPONENT`, squares of differences could vanish.
const SMALL_EXPONENT: i32 = -200;

/// The distance of two points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// `|x - y|`
    Euclidean,
    /// `1 - cos(x, y)`
    Cosine,
    /// `1 - Pearson correlation of x and y`
    Correlation,
    /// Sum of absolute differences.
    Manhattan,
}

impl Metric {
    /// The distance that a key stands for.
    pub(super) fn distance(self, key: f64) -> f64 {
        match self {
            Self::Euclidean => key.sqrt(),
            Self::Cosine | Self::Correlation => key / 2.0,
            Self::Manhattan => key,
        }
    }

    pub(super) fn is_squared(self) -> bool {
        self != Self::Manhattan
    }

    /// Does the distance keep its value when all coordinates are multiplied by a number?
    fn is_scale_free(self) -> bool {
        matches!(self, Self::Cosine | Self::Correlation)
    }
}

/// The coordinates as they come.
#[derive(Debug, Clone, Copy)]
pub enum Coordinates<'a, T> {
    /// `n * d` numbers, a point after the other.
    Dense {
        /// The numbers.
        data: &'a [T],
        /// Number of dimensions.
        dimension: usize,
    },
    /// A row for each point.
    Sparse(&'a Csr<T>),
}

impl<T: Real> Coordinates<'_, T> {
    /// Number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Dense { data, dimension } => data.len() / (*dimension).max(1),
            Self::Sparse(rows) => rows.n_rows(),
        }
    }

    /// Are there no points?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn values(&self) -> &[T] {
        match self {
            Self::Dense { data, .. } => data,
            Self::Sparse(rows) => rows.values(),
        }
    }
}

/// Exact keys between points.
pub(super) trait Keys: Sync {
    fn len(&self) -> usize;
    fn dimension(&self) -> usize;
    /// Is the key a squared Euclidean distance?
    fn is_squared(&self) -> bool;
    fn key(&self, i: usize, j: usize) -> f64;
}

/// Points ready to be compared.
pub(super) enum Points<'a, T> {
    /// As they came.
    Dense(DensePoints<'a, T>),
    /// Normalised rows, or coordinates of extreme scale brought into range.
    Rescaled(OwnedPoints),
    Sparse(SparsePoints),
}

impl<'a, T: Real> Points<'a, T> {
    pub fn new(coordinates: Coordinates<'a, T>, metric: Metric) -> Result<Self> {
        let largest = coordinates.values().iter().fold(0.0, |m: f64, v| m.max(v.to_f64().abs()));
        if !largest.is_finite() || coordinates.values().iter().any(|v| v.to_f64().is_nan()) {
            return Err(Error::Invalid("expected finite coordinates".into()));
        }
        let exponent = extreme_exponent(largest);
        // Exact: a power of two, unless a number falls below the smallest double.
        let scale = |v: T| v.to_f64() * 2_f64.powi(-exponent / 2) * 2_f64.powi(-exponent + exponent / 2);
        // Normalised rows are of unit scale again, whatever factor brought them into range.
        let reported = if metric.is_scale_free() { 0 } else { exponent };
        let squared = metric.is_squared();
        Ok(match coordinates {
            Coordinates::Dense { data, dimension } => {
                if exponent == 0 && !metric.is_scale_free() {
                    return Ok(Self::Dense(DensePoints { data, dimension, squared }));
                }
                let mut data: Vec<f64> = data.iter().map(|&v| scale(v)).collect();
                if metric.is_scale_free() {
                    for (i, row) in data.chunks_exact_mut(dimension).enumerate() {
                        normalize(row, metric, i)?;
                    }
                }
                Self::Rescaled(OwnedPoints { data, dimension, squared, exponent: reported })
            }
            Coordinates::Sparse(rows) => {
                if metric == Metric::Correlation {
                    return Err(Error::Invalid("expected dense coordinates for the correlation distance".into()));
                }
                let mut values: Vec<f64> = rows.values().iter().map(|&v| scale(v)).collect();
                if metric == Metric::Cosine {
                    for i in 0..rows.n_rows() {
                        normalize(&mut values[rows.range(i)], metric, i)?;
                    }
                }
                Self::Sparse(SparsePoints { rows: rows.with_values(values), squared, exponent: reported })
            }
        })
    }

    /// Keys stand for distances in units of `2^exponent`.
    pub fn exponent(&self) -> i32 {
        match self {
            Self::Dense(_) => 0,
            Self::Rescaled(points) => points.exponent,
            Self::Sparse(points) => points.exponent,
        }
    }
}

/// The exponent by which coordinates up to `largest` must be divided; 0 for every ordinary scale.
fn extreme_exponent(largest: f64) -> i32 {
    if largest == 0.0 {
        return 0;
    }
    let exponent = largest.log2().floor() as i32;
    if (SMALL_EXPONENT..=SAFE_EXPONENT).contains(&exponent) { 0 } else { exponent - SAFE_EXPONENT }
}

/// Unit length (after removing the mean, for correlations).
fn normalize(row: &mut [f64], metric: Metric, index: usize) -> Result<()> {
    let largest = row.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    // A row of extreme scale is brought to 1 first; its direction is all that counts.
    if largest > 0.0 {
        row.iter_mut().for_each(|v| *v /= largest);
    }
    if metric == Metric::Correlation {
        let constant = row.iter().all(|v| *v == row[0]);
        let mean = if constant { row[0] } else { row.iter().sum::<f64>() / row.len() as f64 };
        row.iter_mut().for_each(|v| *v -= mean);
    }
    let norm = row.iter().map(|v| v * v).sum::<f64>().sqrt();
    if norm == 0.0 {
        let (what, name) = if metric == Metric::Cosine { ("all zeros", "cosine") } else { ("constant", "correlation") };
        return Err(Error::Invalid(format!("row {index} is {what}: its {name} distance is undefined")));
    }
    row.iter_mut().for_each(|v| *v /= norm);
    Ok(())
}

/// Rows of numbers in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct DensePoints<'a, T> {
    pub data: &'a [T],
    pub dimension: usize,
    pub squared: bool,
}

/// Rows of numbers of our own.
#[derive(Debug)]
pub(super) struct OwnedPoints {
    data: Vec<f64>,
    dimension: usize,
    squared: bool,
    exponent: i32,
}

impl OwnedPoints {
    pub fn borrowed(&self) -> DensePoints<'_, f64> {
        DensePoints { data: &self.data, dimension: self.dimension, squared: self.squared }
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

    fn is_squared(&self) -> bool {
        self.squared
    }

    #[inline(always)]
    fn key(&self, i: usize, j: usize) -> f64 {
        let (x, y) = (self.row(i), self.row(j));
        let difference = |k: usize| x[k].to_f64() - y[k].to_f64();
        if self.squared {
            sum_terms(x.len().min(y.len()), |k| difference(k) * difference(k))
        } else {
            sum_terms(x.len().min(y.len()), |k| difference(k).abs())
        }
    }
}

/// `term(0) + ... + term(len - 1)` in eight interleaved sums. The order depends on `len` alone, and rounding is monotone:
/// smaller terms never give a larger sum. The tree's lower bounds rely on that.
#[inline(always)]
pub(super) fn sum_terms(len: usize, term: impl Fn(usize) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let whole = len - len % 8;
    let mut k = 0;
    while k < whole {
        for (lane, sum) in sums.iter_mut().enumerate() {
            *sum += term(k + lane);
        }
        k += 8;
    }
    for (lane, sum) in sums.iter_mut().enumerate().take(len - whole) {
        *sum += term(whole + lane);
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
}

/// Sparse rows of our own.
#[derive(Debug)]
pub(super) struct SparsePoints {
    pub rows: Csr<f64>,
    squared: bool,
    exponent: i32,
}

impl Keys for SparsePoints {
    fn len(&self) -> usize {
        self.rows.n_rows()
    }

    fn dimension(&self) -> usize {
        self.rows.n_cols()
    }

    fn is_squared(&self) -> bool {
        self.squared
    }

    fn key(&self, i: usize, j: usize) -> f64 {
        let ((a, x), (b, y)) = (self.rows.row(i), self.rows.row(j));
        let power = |difference: f64| if self.squared { difference * difference } else { difference.abs() };
        let (mut p, mut q, mut sum) = (0, 0, 0.0);
        while p < a.len() && q < b.len() {
            let (c, e) = (a[p], b[q]);
            let left = if c <= e { x[p] } else { 0.0 };
            let right = if e <= c { y[q] } else { 0.0 };
            sum += power(left - right);
            p += usize::from(c <= e);
            q += usize::from(e <= c);
        }
        x[p..].iter().chain(&y[q..]).for_each(|&v| sum += power(v));
        sum
    }
}
