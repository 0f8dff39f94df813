//! Metrics and the exact comparison key of two points.
//!
//! Points are compared by a *key* that grows with the distance: the squared Euclidean distance or
//! the sum of absolute differences. Cosine and correlation distances are half the squared Euclidean
//! distance of normalised rows, so equal rows are at distance exactly 0.

use crate::Real;

/// Unit rows whose squared distance is within about ten roundings count as equal: proportional rows
/// coincide.
const SAME_DIRECTION: f64 = 1024.0 * f64::EPSILON * f64::EPSILON;
/// The distance between two points.
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
    /// The distance that belongs to a key.
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

    /// The largest key whose rounded distance is at most `distance`.
    pub(super) fn largest_key(self, distance: f64) -> f64 {
        match self {
            // Two squares may have the same rounded root.
            Self::Euclidean => distance * distance * (1.0 + 4.0 * f64::EPSILON),
            Self::Cosine | Self::Correlation => (distance * 2.0).max(SAME_DIRECTION),
            Self::Manhattan => distance,
        }
    }

    pub(super) fn is_squared(self) -> bool {
        self != Self::Manhattan
    }

    /// True if the distance does not change when all coordinates are multiplied by a number.
    pub(super) fn is_scale_free(self) -> bool {
        matches!(self, Self::Cosine | Self::Correlation)
    }
}

/// The key of two dense points.
#[inline(always)]
pub(super) fn dense_key(metric: Metric, x: &[impl Real], y: &[impl Real]) -> f64 {
    key_of(metric, x.len().min(y.len()), |k| x[k].to_f64() - y[k].to_f64())
}

/// The key of two points with these differences of their coordinates.
#[inline(always)]
pub(super) fn key_of(metric: Metric, len: usize, difference: impl Fn(usize) -> f64) -> f64 {
    if metric.is_squared() {
        sum_terms(len, |k| difference(k) * difference(k))
    } else {
        sum_terms(len, |k| difference(k).abs())
    }
}

/// `term(0) + ... + term(len - 1)` in eight interleaved sums.
///
/// The order of the additions depends on `len` alone. Rounding is monotone: smaller terms never
/// give a larger sum. The lower bounds of the k-d tree rely on this.
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

/// The key of two sparse points; entries are visited by ascending column.
pub(crate) fn sparse_key(metric: Metric, (a, x): (&[u32], &[f64]), (b, y): (&[u32], &[f64])) -> f64 {
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
