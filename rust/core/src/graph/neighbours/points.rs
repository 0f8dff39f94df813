//! Coordinates and the exact comparison of two points.
//!
//! Points are compared by a *key* that grows with the distance: the squared Euclidean distance, or the sum of absolute
//! differences. Cosine and correlation distances are half the squared distance of normalised rows, so that equal rows are
//! at exactly 0.

use crate::ground::csr::Csr;
use crate::ground::exec::Exec;
use crate::{Error, Real, Result};

/// Beyond `2^SAFE_EXPONENT` (or, for the whole of a view, below its inverse) squares could leave the range of a double.
const SAFE_EXPONENT: i32 = 480;
/// Where the largest coordinate is smaller than `2^SMALL_EXPONENT`, squares of differences could vanish.
const SMALL_EXPONENT: i32 = -200;

/// Unit rows closer than some ten roundings (squared) have one direction: proportional rows coincide, as they should.
const SAME_DIRECTION: f64 = 1024.0 * f64::EPSILON * f64::EPSILON;

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
            Self::Cosine | Self::Correlation => {
                if key <= SAME_DIRECTION {
                    0.0
                } else {
                    key / 2.0
                }
            }
            Self::Manhattan => key,
        }
    }

    /// The largest key whose distance, rounded, is at most this one.
    pub(super) fn largest_key(self, distance: f64) -> f64 {
        match self {
            // Two squares may have one rounded root.
            Self::Euclidean => distance * distance * (1.0 + 4.0 * f64::EPSILON),
            Self::Cosine | Self::Correlation => (distance * 2.0).max(SAME_DIRECTION),
            Self::Manhattan => distance,
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
}

/// Exact keys between points.
pub(super) trait Keys: Sync {
    fn len(&self) -> usize;
    /// The largest number of terms in a key.
    fn dimension(&self) -> usize;
    fn metric(&self) -> Metric;
    fn key(&self, i: usize, j: usize) -> f64;
    #[inline(always)]
    fn distance(&self, i: usize, j: usize) -> f64 {
        self.metric().distance(self.key(i, j))
    }
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
    pub fn new(coordinates: Coordinates<'a, T>, metric: Metric, exec: &Exec) -> Result<Self> {
        match coordinates {
            Coordinates::Dense { data, dimension } => Self::dense(data, dimension, metric, exec),
            Coordinates::Sparse(rows) => Self::sparse(rows, metric),
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
            let mut data: Vec<f64> = data.iter().map(|v| v.to_f64()).collect();
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
        let data = rescale(data, &origin, exponent);
        Ok(Self::Rescaled(OwnedPoints { data, dimension, metric, exponent, origin }))
    }

    fn sparse(rows: &Csr<T>, metric: Metric) -> Result<Self> {
        if metric == Metric::Correlation {
            return Err(Error::Invalid("expected dense coordinates for the correlation distance".into()));
        }
        let mut values: Vec<f64> = rows.values().iter().map(|v| v.to_f64()).collect();
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
        Ok(Self::Sparse(SparsePoints { rows: rows.with_values(values), metric, exponent }))
    }

    /// Other points, in the units and normalisation of these; a coordinate too large for them becomes infinite.
    pub fn place(&self, others: Coordinates<'_, f64>) -> Result<Placed> {
        match (self, others) {
            (Self::Dense(points), Coordinates::Dense { data, dimension }) => {
                Error::check_size("coordinates of a new point", points.dimension, dimension)?;
                let (data, metric) = (data.to_vec(), points.metric);
                Ok(Placed::Dense(OwnedPoints { data, dimension, metric, exponent: 0, origin: Vec::new() }))
            }
            (Self::Rescaled(points), Coordinates::Dense { data, dimension }) => {
                Error::check_size("coordinates of a new point", points.dimension, dimension)?;
                points.place(data).map(Placed::Dense)
            }
            (Self::Sparse(points), Coordinates::Sparse(rows)) => {
                Error::check_size("coordinates of a new point", points.rows.n_cols(), rows.n_cols())?;
                points.place(rows).map(Placed::Sparse)
            }
            _ => Err(Error::Invalid("expected new points of the same layout, dense or sparse".into())),
        }
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

/// Points brought beside others by [`Points::place`].
pub(super) enum Placed {
    Dense(OwnedPoints),
    Sparse(SparsePoints),
}

fn not_finite() -> Error {
    Error::Invalid("expected finite coordinates".into())
}

/// Smallest and largest value of each coordinate.
struct Ranges(Vec<(f64, f64)>);

impl Ranges {
    fn new<T: Real>(data: &[T], dimension: usize, exec: &Exec) -> Result<Self> {
        const ROWS: usize = 512;
        let nothing = vec![(f64::INFINITY, f64::NEG_INFINITY); dimension];
        let parts = exec.map(data.len().div_ceil(ROWS * dimension), |piece| {
            let mut ranges = nothing.clone();
            for row in data[piece * ROWS * dimension..].chunks_exact(dimension).take(ROWS) {
                for ((low, high), v) in ranges.iter_mut().zip(row) {
                    let v = v.to_f64();
                    *low = low.min(v);
                    // `min` and `max` pass over what is not a number; infinity shows it below.
                    *high = high.max(if v.is_nan() { f64::INFINITY } else { v });
                }
            }
            Ok(ranges)
        })?;
        let mut ranges = nothing;
        for part in parts {
            for ((low, high), (part_low, part_high)) in ranges.iter_mut().zip(part) {
                *low = low.min(part_low);
                *high = high.max(part_high);
            }
        }
        if ranges.iter().any(|(low, high)| low.is_infinite() || high.is_infinite()) {
            return Err(not_finite());
        }
        Ok(Self(ranges))
    }

    /// The value of each coordinate that is the same everywhere, 0 for the others.
    fn constants(&self) -> Vec<f64> {
        self.0.iter().map(|&(low, high)| if low == high { low } else { 0.0 }).collect()
    }

    /// The largest extent; halved before subtracting, so that it is finite.
    fn widest(&self) -> f64 {
        self.0.iter().map(|(low, high)| high / 2.0 - low / 2.0).fold(0.0, f64::max)
    }
}

/// The exponent by which coordinates that differ by up to `largest` must be divided; 0 for every ordinary scale.
fn extreme_exponent(largest: f64) -> i32 {
    if largest == 0.0 {
        return 0;
    }
    let exponent = largest.log2().floor() as i32;
    if (SMALL_EXPONENT..=SAFE_EXPONENT).contains(&exponent) { 0 } else { exponent - SAFE_EXPONENT }
}

/// `v / 2^exponent`, exact unless it falls below the smallest double; in two factors, because one may be out of range.
fn shift(v: f64, exponent: i32) -> f64 {
    v * 2_f64.powi(-exponent / 2) * 2_f64.powi(-exponent + exponent / 2)
}

/// Every coordinate less its origin, divided by `2^exponent`. A constant coordinate is its own origin: it adds nothing to a
/// difference, but could leave the range when it is rescaled.
fn rescale<T: Real>(data: &[T], origin: &[f64], exponent: i32) -> Vec<f64> {
    let value = |(v, origin): (&T, &f64)| shift(v.to_f64() - origin, exponent);
    data.chunks_exact(origin.len()).flat_map(|row| row.iter().zip(origin).map(value)).collect()
}

/// Unit length (after removing the mean, for correlations).
fn normalize(row: &mut [f64], metric: Metric, index: usize) -> Result<()> {
    // Of a row of extreme scale only the direction counts. By a power of two, which rounds nothing away.
    let largest = row.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let exponent = if largest > 0.0 { largest.log2().floor() as i32 } else { 0 };
    row.iter_mut().for_each(|v| *v = shift(*v, exponent));
    if metric == Metric::Correlation {
        // The mean of equal numbers may round to another number: a constant row must not pass for noise.
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
    pub metric: Metric,
}

/// Rows of numbers of our own.
#[derive(Debug)]
pub(super) struct OwnedPoints {
    data: Vec<f64>,
    dimension: usize,
    metric: Metric,
    exponent: i32,
    /// What was subtracted from each coordinate before rescaling; empty where nothing was rescaled.
    origin: Vec<f64>,
}

impl OwnedPoints {
    fn place(&self, data: &[f64]) -> Result<Self> {
        let Self { dimension, metric, exponent, .. } = *self;
        let data = if metric.is_scale_free() {
            let mut data = data.to_vec();
            for (i, row) in data.chunks_exact_mut(dimension).enumerate() {
                normalize(row, metric, i)?;
            }
            data
        } else {
            rescale(data, &self.origin, exponent)
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

/// The key of two dense points.
#[inline(always)]
pub(super) fn dense_key(metric: Metric, x: &[impl Real], y: &[impl Real]) -> f64 {
    let difference = |k: usize| x[k].to_f64() - y[k].to_f64();
    if metric.is_squared() {
        sum_terms(x.len().min(y.len()), |k| difference(k) * difference(k))
    } else {
        sum_terms(x.len().min(y.len()), |k| difference(k).abs())
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
    metric: Metric,
    exponent: i32,
}

impl Keys for SparsePoints {
    fn len(&self) -> usize {
        self.rows.n_rows()
    }

    /// No sum over a pair has more terms than the two longest rows have entries.
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
        let mut values = rows.values().to_vec();
        if self.metric.is_scale_free() {
            for i in 0..rows.n_rows() {
                normalize(&mut values[rows.range(i)], self.metric, i)?;
            }
        } else {
            values.iter_mut().for_each(|v| *v = shift(*v, self.exponent));
        }
        Ok(Self { rows: rows.with_values(values), metric: self.metric, exponent: self.exponent })
    }
}

/// The key of two sparse points, by ascending column.
pub(super) fn sparse_key(metric: Metric, (a, x): (&[u32], &[f64]), (b, y): (&[u32], &[f64])) -> f64 {
    let power = |difference: f64| if metric.is_squared() { difference * difference } else { difference.abs() };
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
