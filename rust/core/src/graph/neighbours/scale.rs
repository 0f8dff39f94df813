//! Rescaling and normalisation of coordinates.
//!
//! Scales are powers of two, so rescaling changes no bit of a coordinate in the range of a double.

use super::metric::Metric;
use crate::ground::memory;
use crate::{Error, Exec, Real, Result};

/// Differences above `2^SAFE_EXPONENT` could overflow when they are squared and summed.
const SAFE_EXPONENT: i32 = 480;
/// If all differences are below `2^SMALL_EXPONENT`, squares could vanish.
const SMALL_EXPONENT: i32 = -200;

pub(super) fn not_finite() -> Error {
    Error::Invalid("expected finite coordinates".into())
}

/// Smallest and largest value of each coordinate.
pub(super) struct Ranges(Vec<(f64, f64)>);

impl Ranges {
    pub fn new<T: Real>(data: &[T], dimension: usize, exec: &Exec) -> Result<Self> {
        const ROWS: usize = 512;
        let nothing = vec![(f64::INFINITY, f64::NEG_INFINITY); dimension];
        let parts = exec.map(data.len().div_ceil(ROWS * dimension), |piece| {
            let mut ranges = nothing.clone();
            for row in data[piece * ROWS * dimension..].chunks_exact(dimension).take(ROWS) {
                for ((low, high), v) in ranges.iter_mut().zip(row) {
                    let v = v.to_f64();
                    *low = low.min(v);
                    // `min` and `max` ignore NaN; infinity is detected below.
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

    /// The value of each constant coordinate, 0 for the others.
    pub fn constants(&self) -> Vec<f64> {
        self.0.iter().map(|&(low, high)| if low == high { low } else { 0.0 }).collect()
    }

    /// The largest range of a coordinate, halved before the subtraction so that it is finite.
    pub fn widest(&self) -> f64 {
        self.0.iter().map(|(low, high)| high / 2.0 - low / 2.0).fold(0.0, f64::max)
    }
}

/// The exponent by which coordinates are divided if they differ by up to `largest`; 0 for ordinary
/// scales.
pub(super) fn extreme_exponent(largest: f64) -> i32 {
    if largest == 0.0 {
        return 0;
    }
    let exponent = largest.log2().floor() as i32;
    if (SMALL_EXPONENT..=SAFE_EXPONENT).contains(&exponent) { 0 } else { exponent - SAFE_EXPONENT }
}

/// `v / 2^exponent`, exact unless it underflows; in two factors, because one factor may overflow.
pub(super) fn shift(v: f64, exponent: i32) -> f64 {
    v * 2_f64.powi(-exponent / 2) * 2_f64.powi(-exponent + exponent / 2)
}

/// `(x - origin) / 2^exponent` for each coordinate.
///
/// The origin of a constant coordinate is its value: it adds nothing to a difference, but could
/// overflow when it is rescaled.
pub(super) fn rescale<T: Real>(data: &[T], origin: &[f64], exponent: i32) -> Result<Vec<f64>> {
    let value = |(v, origin): (&T, &f64)| shift(v.to_f64() - origin, exponent);
    let mut rescaled = memory::with_capacity(data.len())?;
    data.chunks_exact(origin.len()).for_each(|row| rescaled.extend(row.iter().zip(origin).map(value)));
    Ok(rescaled)
}

/// Scales a row to unit length; for correlations the mean is subtracted first.
pub(super) fn normalize(row: &mut [f64], metric: Metric, index: usize) -> Result<()> {
    // The scale of a row does not matter; a power of two changes only the exponents.
    let largest = row.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let exponent = if largest > 0.0 { largest.log2().floor() as i32 } else { 0 };
    row.iter_mut().for_each(|v| *v = shift(*v, exponent));
    if metric == Metric::Correlation {
        // The mean of equal numbers may be rounded: the deviations of a constant row must be
        // exactly 0.
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
