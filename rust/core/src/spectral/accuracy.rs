//! When a singular triplet is accurate enough.
//!
//! The residual `r = |A^T u - s v|` of a triplet bounds the error of its singular value,
//! `|s - sigma| <= r`, whatever the gaps of the spectrum; `r^2` estimates that error. In a crowded
//! spectrum the vectors may still turn among their neighbours.

use crate::Real;

/// The error of a singular value is at most this times the square of its residual, both relative.
/// Measured: 0.6 to 2.2 in crowded spectra (blobs, t = 3 to 12), 7 at t = 1, where
/// [`VECTOR_FACTOR`] is stricter.
const SQUARE_FACTOR: f64 = 4.0;

/// Largest residual relative to the largest singular value, in units of the tolerance: vectors err
/// by their residual.
const VECTOR_FACTOR: f64 = 5.0;

/// Rounding of a sum, in units of the roundoff times its largest term.
const ROUNDING: f64 = 32.0;

/// Which error the tolerance bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accuracy {
    /// The error of every singular value, relative to that value.
    Values,
    /// The error of distances between the rows of `left * values`, relative to the largest value of
    /// the columns that are not dropped. A column with a small value hardly moves the rows and may
    /// be less accurate. Right vectors are not returned.
    Distances {
        /// Number of leading columns that the distances leave out.
        dropped: usize,
    },
}

/// What to compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SvdSettings {
    /// Number of leading triplets.
    pub rank: usize,
    /// Largest relative error. A residual is at most a few times this and the largest singular
    /// value.
    pub tolerance: f64,
    /// Which error the tolerance bounds.
    pub accuracy: Accuracy,
    /// Largest number of iterations, each a product of the matrix and one of its transpose with a
    /// block. After them the triplets are returned as they are.
    pub max_iterations: usize,
    /// Seed of the starting block.
    pub seed: u64,
}

impl SvdSettings {
    /// Whether triplet `i` is within the tolerance, `moved` the last change of its value.
    ///
    /// The estimate by the square of the residual only counts once the value has stopped moving.
    /// Before that, directions that belong to larger values may still be missing.
    fn is_met(&self, i: usize, residual: f64, moved: f64, values: &[f64]) -> bool {
        match self.accuracy {
            Accuracy::Values => {
                let allowed = self.tolerance * values[i];
                let is_near = residual <= VECTOR_FACTOR * self.tolerance * values[0];
                let is_small = SQUARE_FACTOR * residual * residual <= allowed * values[i];
                residual <= allowed || is_near && moved <= allowed && is_small
            }
            Accuracy::Distances { dropped } => {
                let allowed = self.tolerance * values[dropped.min(self.rank - 1)];
                residual <= allowed || residual <= VECTOR_FACTOR * allowed && moved <= allowed
            }
        }
    }
}

/// The test of convergence, which compares each set of triplets with the last one remembered.
pub(super) struct Convergence<'a> {
    settings: &'a SvdSettings,
    previous: Vec<f64>,
}

/// How far the triplets have converged.
pub(super) struct Progress {
    /// Whether all triplets are accurate.
    pub converged: bool,
    /// Number of leading triplets that would be accurate with twice their residual.
    pub settled: usize,
}

impl<'a> Convergence<'a> {
    pub fn new(settings: &'a SvdSettings) -> Self {
        Self { settings, previous: vec![0.0; settings.rank] }
    }

    /// Tests all values, largest first, and the residuals of the leading triplets.
    pub fn test<T: Real>(&self, values: &[f64], residuals: &[f64]) -> Progress {
        let floor = ROUNDING * T::ROUNDOFF * values[0];
        let is_accurate = |i: usize, residual: f64| {
            let moved = (values[i] - self.previous[i]).abs();
            residual <= floor || self.settings.is_met(i, residual, moved, values)
        };
        let triplets = || residuals.iter().enumerate();
        let converged = triplets().all(|(i, &residual)| is_accurate(i, residual));
        let settled = triplets().take_while(|&(i, residual)| is_accurate(i, 2.0 * residual)).count();
        Progress { converged, settled }
    }

    /// Keeps the leading values for the next tests.
    pub fn remember(&mut self, values: &[f64]) {
        self.previous.copy_from_slice(&values[..self.settings.rank]);
    }
}
