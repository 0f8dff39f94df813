//! Rescaling and normalisation of coordinates.

use super::metric::Metric;
use crate::ground::exec::Exec;
use crate::{Error, Real, Result};

/// Beyond `2^SAFE_EXPONENT` (or, for the whole of a view, below its inverse) squares could leave the range of a double.
const SAFE_EXPONENT: i32 = 480;
/// Where the largest coordinate is smaller than `2^SMALL_EXPONENT`, squares of differences could vanish.
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
    pub fn constants(&self) -> Vec<f64> {
        self.0.iter().map(|&(low, high)| if low == high { low } else { 0.0 }).collect()
    }

    /// The largest extent; halved before subtracting, so that it is finite.
    pub fn widest(&self) -> f64 {
        self.0.iter().map(|(low, high)| high / 2.0 - low / 2.0).fold(0.0, f64::max)
    }
}

/// The exponent by which coordinates that differ by up to `largest` must be divided; 0 for every ordinary scale.
pub(super) fn extreme_exponent(largest: f64) -> i32 {
    if largest == 0.0 {
        return 0;
    }
    let exponent = largest.log2().floor() as i32;
    if (SMALL_EXPONENT..=SAFE_EXPONENT).contains(&exponent) { 0 } else { exponent - SAFE_EXPONENT }
}

/// `v / 2^exponent`, exact unless it falls below the smallest double; in two factors, because one may be out of range.
pub(super) fn shift(v: f64, exponent: i32) -> f64 {
    v * 2_f64.powi(-exponent / 2) * 2_f64.powi(-exponent + exponent / 2)
}

/// Every coordinate less its origin, divided by `2^exponent`. A constant coordinate is its own origin: it adds nothing to a
/// difference, but could leave the range when it is rescaled.
pub(super) fn rescale<T: Real>(data: &[T], origin: &[f64], exponent: i32) -> Vec<f64> {
    let value = |(v, origin): (&T, &f64)| shift(v.to_f64() - origin, exponent);
    data.chunks_exact(origin.len()).flat_map(|row| row.iter().zip(origin).map(value)).collect()
}

/// Unit length (after removing the mean, for correlations).
pub(super) fn normalize(row: &mut [f64], metric: Metric, index: usize) -> Result<()> {
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
