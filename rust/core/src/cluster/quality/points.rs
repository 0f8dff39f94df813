//! Means of points and distances to them.
//!
//! The mean of sparse rows is a sparse row with the union of their columns. The squared distance of
//! a row to the mean takes O(entries of the row):
//!
//! ```text
//! sum over the columns of the row of (x - m)^2  +  (|m|^2 - sum over the same columns of m^2)
//! ```
//!
//! The bracket cancels if the row covers almost all of the mean; then both are merged entry by
//! entry.

use crate::graph::neighbours::{Features, Metric, sparse_key};
use crate::ground::frame::{Frame, exponent_of, power_of_two};
use crate::{Csr, Error, Exec, Real, Result};

/// If the bracket is below this fraction of `|m|^2`, its tenth digit could be wrong.
const CANCELLED: f64 = 1e-5;

/// Stored values that one thread scans at a time.
const VALUES: usize = 1 << 18;

/// Points with the frame in which they are compared.
pub(super) enum FramedPoints<'a, T> {
    Dense { data: &'a [T], frame: Frame, dimension: usize },
    Sparse { rows: &'a Csr<T>, scale: f64 },
}

/// The mean of some points.
#[derive(Debug, Clone, Default)]
pub(super) struct Mean {
    /// Ascending columns of a sparse mean; empty for a dense mean.
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Sum of squared distances of its points.
    pub scatter: f64,
    /// Number of its points.
    pub count: usize,
}

/// Buffers of one thread: a number for each column, zero between uses.
pub(super) struct ColumnScratch {
    values: Vec<f64>,
    counts: Vec<u32>,
}

impl<'a, T: Real> FramedPoints<'a, T> {
    pub fn new(points: Features<'a, T>, exec: &Exec) -> Result<Self> {
        match points {
            Features::Dense { data, dimension } => {
                if dimension == 0 {
                    return Err(Error::Invalid("dimension: expected at least 1, got 0".into()));
                }
                Error::check_size("points", data.len() / dimension * dimension, data.len())?;
                Ok(Self::Dense { data, frame: Frame::new(data, dimension, exec)?, dimension })
            }
            Features::Sparse(rows) => {
                let values = rows.values();
                let largest = exec.map(values.len().div_ceil(VALUES), |piece| {
                    let piece = &values[piece * VALUES..values.len().min((piece + 1) * VALUES)];
                    // A separate test, because a maximum ignores NaN.
                    if !piece.iter().all(|v| v.to_f64().is_finite()) {
                        let message = "expected finite numbers, got others among the stored entries";
                        return Err(Error::Invalid(message.into()));
                    }
                    Ok(piece.iter().map(|v| v.to_f64().abs()).fold(0.0, f64::max))
                })?;
                let largest = largest.into_iter().fold(0.0, f64::max);
                Ok(Self::Sparse { rows, scale: power_of_two(-exponent_of(largest)) })
            }
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Dense { data, dimension, .. } => data.len() / dimension,
            Self::Sparse { rows, .. } => rows.n_rows(),
        }
    }

    /// Approximate number of stored values.
    pub fn size(&self) -> usize {
        match self {
            Self::Dense { data, .. } => data.len(),
            Self::Sparse { rows, .. } => rows.nnz() + rows.n_rows(),
        }
    }

    pub fn scratch(&self) -> ColumnScratch {
        match self {
            Self::Dense { .. } => ColumnScratch { values: Vec::new(), counts: Vec::new() },
            Self::Sparse { rows, .. } => {
                ColumnScratch { values: vec![0.0; rows.n_cols()], counts: vec![0; rows.n_cols()] }
            }
        }
    }

    /// Computes the mean of `points` and their scatter around it.
    pub fn mean(&self, points: &[u32], scratch: &mut ColumnScratch, exec: &Exec) -> Result<Mean> {
        let count = points.len();
        match self {
            Self::Dense { data, frame, dimension } => {
                let row = |i: u32| frame.enter(&data[i as usize * dimension..(i as usize + 1) * dimension]);
                let mut values = vec![0.0; *dimension];
                for segment in points.chunks(1024) {
                    exec.check()?;
                    for &i in segment {
                        values.iter_mut().zip(row(i)).for_each(|(sum, x)| *sum += x);
                    }
                }
                values.iter_mut().for_each(|sum| *sum /= count as f64);
                let mut scatter = 0.0;
                for segment in points.chunks(1024) {
                    exec.check()?;
                    scatter += segment.iter().map(|&i| squared_distance(row(i), &values)).sum::<f64>();
                }
                Ok(Mean { columns: Vec::new(), values, scatter, count })
            }
            Self::Sparse { rows, scale } => {
                let ColumnScratch { values: sums, counts } = scratch;
                let mut columns = Vec::new();
                for segment in points.chunks(4096) {
                    exec.check()?;
                    for &i in segment {
                        let (row, entries) = rows.row(i as usize);
                        for (&j, &v) in row.iter().zip(entries) {
                            let j = j as usize;
                            if counts[j] == 0 {
                                columns.push(j as u32);
                            }
                            counts[j] += 1;
                            sums[j] += scale * v.to_f64();
                        }
                    }
                }
                columns.sort_unstable();
                // A row without an entry in a column is at squared distance `m^2` there.
                let mut scatter = 0.0;
                let mut values = Vec::with_capacity(columns.len());
                for &j in &columns {
                    let mean = sums[j as usize] / count as f64;
                    scatter += (count - counts[j as usize] as usize) as f64 * (mean * mean);
                    values.push(mean);
                    sums[j as usize] = mean;
                }
                for segment in points.chunks(4096) {
                    exec.check()?;
                    let mut part = 0.0;
                    for &i in segment {
                        let (row, entries) = rows.row(i as usize);
                        for (&j, &v) in row.iter().zip(entries) {
                            let difference = scale * v.to_f64() - sums[j as usize];
                            part += difference * difference;
                        }
                    }
                    scatter += part;
                }
                for &j in &columns {
                    sums[j as usize] = 0.0;
                    counts[j as usize] = 0;
                }
                Ok(Mean { columns, values, scatter, count })
            }
        }
    }

    /// Computes the mean distance of `points` to their mean.
    pub fn mean_distance(&self, points: &[u32], mean: &Mean, scratch: &mut ColumnScratch, exec: &Exec) -> Result<f64> {
        let mut sum = 0.0;
        if let (Self::Sparse { .. }, values) = (self, &mut scratch.values) {
            mean.columns.iter().zip(&mean.values).for_each(|(&j, &m)| values[j as usize] = m);
        }
        let square: f64 = mean.values.iter().map(|m| m * m).sum();
        for segment in points.chunks(1024) {
            exec.check()?;
            let distance = |&i: &u32| match self {
                Self::Dense { data, frame, dimension } => {
                    let row = &data[i as usize * dimension..(i as usize + 1) * dimension];
                    squared_distance(frame.enter(row), &mean.values).sqrt()
                }
                Self::Sparse { rows, scale } => {
                    let (row, entries) = rows.row(i as usize);
                    let (mut near, mut covered) = (0.0, 0.0);
                    for (&j, &v) in row.iter().zip(entries) {
                        let m = scratch.values[j as usize];
                        let difference = scale * v.to_f64() - m;
                        near += difference * difference;
                        covered += m * m;
                    }
                    let rest = square - covered;
                    if rest > CANCELLED * square {
                        (near + rest).sqrt()
                    } else {
                        let entries: Vec<f64> = entries.iter().map(|v| scale * v.to_f64()).collect();
                        sparse_key(Metric::Euclidean, (row, &entries), (&mean.columns, &mean.values)).sqrt()
                    }
                }
            };
            sum += segment.iter().map(distance).sum::<f64>();
        }
        if let (Self::Sparse { .. }, values) = (self, &mut scratch.values) {
            mean.columns.iter().for_each(|&j| values[j as usize] = 0.0);
        }
        Ok(sum / points.len() as f64)
    }
}

impl Mean {
    /// The squared distance of two means.
    pub fn squared_distance(&self, other: &Self) -> f64 {
        if self.columns.is_empty() && other.columns.is_empty() {
            return squared_distance(self.values.iter().copied(), &other.values);
        }
        sparse_key(Metric::Euclidean, (&self.columns, &self.values), (&other.columns, &other.values))
    }

    /// Computes `sum_c n_c |m_c - m|^2` with the mean `m` of all points.
    pub fn scatter_between(means: &[Self]) -> f64 {
        let n: usize = means.iter().map(|m| m.count).sum();
        let columns = 1 + means.iter().filter_map(|m| m.columns.last()).max().map_or(0, |&j| j as usize);
        let dense = means.iter().all(|m| m.columns.is_empty());
        let size = if dense { means.first().map_or(0, |m| m.values.len()) } else { columns };
        let column = |mean: &Self, at: usize| if dense { at } else { mean.columns[at] as usize };
        // The mean of all points, and the number of points in clusters that have each column.
        let (mut total, mut covered) = (vec![0.0; size], vec![0_usize; size]);
        for mean in means {
            for (at, value) in mean.values.iter().enumerate() {
                total[column(mean, at)] += value * mean.count as f64;
                covered[column(mean, at)] += mean.count;
            }
        }
        total.iter_mut().for_each(|sum| *sum /= n as f64);
        let mut scatter: f64 = total.iter().zip(&covered).map(|(m, &c)| (n - c) as f64 * (m * m)).sum();
        for mean in means {
            let terms = mean.values.iter().enumerate().map(|(at, v)| v - total[column(mean, at)]);
            scatter += mean.count as f64 * terms.map(|difference| difference * difference).sum::<f64>();
        }
        scatter
    }
}

fn squared_distance(a: impl Iterator<Item = f64>, b: &[f64]) -> f64 {
    a.zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}
