//! The points of a k-means problem and their pieces.

use std::ops::Range;

use crate::ground::lanes::{LANES, Lanes};
use crate::{Exec, Result};

/// Multiplications in a piece, so that another thread is worth its start.
const WORK_PER_PIECE: usize = 1 << 19;
/// Smallest number of rows in a piece: each piece holds the sums of all clusters.
const ROWS_PER_PIECE: usize = 1024;
/// Largest number of pieces, for the same reason.
const MAX_PIECES: usize = 128;

/// What all runs share.
pub(super) struct Problem<'a> {
    pub lanes: &'a Lanes,
    pub n: usize,
    pub dimension: usize,
    pub k: usize,
    pub rows_per_piece: usize,
}

impl<'a> Problem<'a> {
    pub fn new(lanes: &'a Lanes, n: usize, dimension: usize, k: usize) -> Self {
        let rows = (WORK_PER_PIECE / (dimension * k)).max(ROWS_PER_PIECE).max(n.div_ceil(MAX_PIECES));
        // Pieces of equal size, in whole blocks of lanes.
        Self { lanes, n, dimension, k, rows_per_piece: n.div_ceil(n.div_ceil(rows)).next_multiple_of(LANES) }
    }

    /// The rows of each piece.
    pub fn pieces(&self) -> impl Iterator<Item = Range<usize>> {
        (0..self.n).step_by(self.rows_per_piece).map(|first| first..(first + self.rows_per_piece).min(self.n))
    }

    /// Sum of squared coordinates: the points are centred, so this is `n * dimension` times their
    /// mean variance.
    pub fn sum_of_squares(&self, exec: &Exec) -> Result<f64> {
        let pieces: Vec<Range<usize>> = self.pieces().collect();
        let squares = exec.map(pieces.len(), |p| {
            Ok(self.lanes.blocks(pieces[p].start, pieces[p].len()).iter().map(|x| x * x).sum::<f64>())
        })?;
        Ok(squares.iter().sum())
    }
}
