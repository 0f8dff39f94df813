//! A scaled and centred frame for dense points: `x -> 2^-e x - m`, `m` the mean of the scaled
//! points.
//!
//! Distances in the frame are the given distances times `2^-e`. The largest coordinate is about 1,
//! so squares neither overflow nor vanish. The mean is near 0, so a common offset costs no digits.

use crate::ground::tall::{TallRef, column_sums};
use crate::{Error, Exec, Real, Result};

/// Rows that one thread takes at a time.
const ROWS_PER_PIECE: usize = 4096;
/// The inverse of a smaller power of two could overflow.
const SMALLEST_EXPONENT: i32 = -1000;

/// A power of two and an offset.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    exponent: i32,
    scale: f64,
    mean: Vec<f64>,
}

impl Frame {
    /// The frame of `n * dimension` finite coordinates, point by point.
    pub fn new<T: Real>(points: &[T], dimension: usize, exec: &Exec) -> Result<Self> {
        let n = points.len() / dimension;
        let pieces: Vec<&[T]> = points.chunks(ROWS_PER_PIECE * dimension).collect();
        let largest = exec.map(pieces.len(), |p| largest_magnitude(pieces[p], p * ROWS_PER_PIECE, dimension))?;
        let exponent = exponent_of(largest.into_iter().fold(0.0, f64::max));
        let scale = power_of_two(-exponent);
        let mut mean = column_sums(TallRef::new(points, dimension), |x| scale * x, exec)?;
        mean.iter_mut().for_each(|m| *m /= n as f64);
        Ok(Self { exponent, scale, mean })
    }

    /// Coordinates of a row in the frame.
    #[inline(always)]
    pub fn enter<'a, T: Real>(&'a self, row: &'a [T]) -> impl Iterator<Item = f64> + 'a {
        row.iter().zip(&self.mean).map(|(x, m)| self.scale * x.to_f64() - m)
    }

    /// Converts a row of the frame back to the given coordinates.
    pub fn leave(&self, row: &mut [f64]) {
        let back = power_of_two(self.exponent);
        // A mean of doubles is a double: only its rounding can leave the range.
        let within = |x: f64| x.clamp(-f64::MAX, f64::MAX);
        row.iter_mut().zip(&self.mean).for_each(|(x, m)| *x = within(back * (*x + m)));
    }

    /// A squared distance of the frame in the given units; infinite if that overflows.
    pub fn leave_squared(&self, distance: f64) -> f64 {
        let back = power_of_two(self.exponent);
        distance * back * back
    }
}

/// The largest magnitude; an error if a number is not finite.
fn largest_magnitude<T: Real>(piece: &[T], first: usize, dimension: usize) -> Result<f64> {
    // The witness stays 0 unless a number is not finite, without a branch in the loop.
    let (mut largest, mut witness) = (0.0_f64, 0.0);
    for x in piece {
        let x = x.to_f64();
        largest = if x.abs() > largest { x.abs() } else { largest };
        witness += 0.0 * x;
    }
    if witness == 0.0 {
        return Ok(largest);
    }
    let at = piece.iter().position(|x| !x.to_f64().is_finite()).unwrap_or_default();
    let (row, column) = (first + at / dimension, at % dimension);
    Err(Error::Invalid(format!("expected finite numbers, got {} at row {row}, column {column}", piece[at].to_f64())))
}

/// The exponent that scales `largest` to between 1/2 and 1, within the range of doubles.
pub(crate) fn exponent_of(largest: f64) -> i32 {
    if largest == 0.0 { 0 } else { (largest.log2().floor() as i32 + 1).clamp(SMALLEST_EXPONENT, 1023) }
}

/// `2^exponent`
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    2.0_f64.powi(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaving_the_frame_inverts_entering_it() {
        let exec = Exec::with_threads(1);
        for scale in [1e-308, 1e-160, 1.0, 1e160, 1e308] {
            let points: Vec<f64> = [1.0, -0.5, 0.25, 0.75, -1.0, 1.5].map(|x| x * scale).to_vec();
            let frame = Frame::new(&points, 2, &exec).unwrap();
            let mut row: Vec<f64> = frame.enter(&points[2..4]).collect();
            assert!(row.iter().all(|x| x.abs() < 2.0));
            frame.leave(&mut row);
            assert!(row.iter().zip(&points[2..4]).all(|(a, b)| (a / b - 1.0).abs() < 1e-14), "{scale}: {row:?}");
        }
    }

    #[test]
    fn numbers_that_are_not_finite_are_named() {
        let exec = Exec::with_threads(1);
        let message = Frame::new(&[1.0, 2.0, 3.0, f64::NAN], 2, &exec).unwrap_err().to_string();
        assert_eq!(message, "expected finite numbers, got NaN at row 1, column 1");
    }
}
