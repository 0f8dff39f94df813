//! Widths of the solver's blocks and bases, and the block that it starts from.
//!
//! A block finds a value at most as often as it has columns. Parts of a graph that hardly touch
//! (clusters) repeat the value 1 almost exactly, so the first blocks are wider than the number of
//! triplets.

use crate::ground::memory;
use crate::ground::tall::{Basis, Links, TallBlock};
use crate::{Error, Exec, Real, Result, Stream};

/// Widest block: as many columns as the sparse kernel keeps in registers.
const MAX_BLOCK: usize = 32;

/// Rows that one random stream fills.
const ROWS_PER_STREAM: usize = 1024;

/// Where the solver starts. Blocks are row-major.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start<'a, T> {
    /// From a random block.
    Random,
    /// From a block whose columns are near the leading right singular vectors.
    Near(&'a [T]),
    /// As [`Start::Random`], with the first product already computed.
    Applied {
        /// The block of [`random_start`].
        block: &'a [T],
        /// `A block`.
        image: &'a [T],
    },
}

impl<'a, T> Start<'a, T> {
    /// The given block, which may be empty, if it has `n` rows.
    pub(super) fn block(&self, n: usize) -> Result<&'a [T]> {
        let given: &[T] = match self {
            Self::Random => &[],
            Self::Near(block) | Self::Applied { block, .. } => block,
        };
        if given.len().is_multiple_of(n) {
            Ok(given)
        } else {
            Err(Error::Invalid(format!("expected a starting block of {n} rows, got {} elements", given.len())))
        }
    }
}

/// Widths of the blocks and bases for a number of triplets.
#[derive(Debug, Clone, Copy)]
pub(super) struct BasisWidths {
    /// Columns of the first block.
    pub block: usize,
    /// Columns of a basis before a restart.
    pub most: usize,
    /// Columns that a restart keeps.
    pub kept: usize,
}

impl BasisWidths {
    pub fn new(rank: usize, n: usize) -> Self {
        let block = start_columns(rank);
        Self { block, most: basis_columns(rank).min(n / 2), kept: rank + block }
    }

    /// Whether the bases would be nearly as large as the matrix.
    pub fn are_too_wide(self, n: usize) -> bool {
        n <= 4 * (self.kept + self.block)
    }
}

/// Columns of the block that [`Start::Random`] begins with, for `rank` triplets.
pub fn start_columns(rank: usize) -> usize {
    (rank.min(MAX_BLOCK) + 3).next_multiple_of(4).min(MAX_BLOCK)
}

/// Columns of a basis before a restart, if there are at least twice as many points.
fn basis_columns(rank: usize) -> usize {
    2 * rank + 8 * start_columns(rank)
}

/// The orthonormal block that [`Start::Random`] begins with; None if a matrix of this size is
/// decomposed as a whole.
pub fn random_start<T: Real>(n: usize, rank: usize, seed: u64, exec: &Exec) -> Result<Option<Vec<T>>> {
    let widths = BasisWidths::new(rank, n);
    if widths.are_too_wide(n) {
        return Ok(None);
    }
    let mut block = starting_block(n, widths.block, &[], seed, exec)?;
    Basis::new(n).orthonormalize(&mut block, Links::ALL, &mut replacement_stream(seed), exec)?;
    memory::copy(&block).map(Some)
}

/// The stream that replaces vanished directions.
pub(super) fn replacement_stream(seed: u64) -> Stream {
    Stream::new(seed, u64::MAX)
}

/// The first columns of the given block, then random columns.
pub(super) fn starting_block<T: Real>(
    n: usize,
    cols: usize,
    given: &[T],
    seed: u64,
    exec: &Exec,
) -> Result<TallBlock<T>> {
    let stride = given.len() / n;
    let given_cols = stride.min(cols);
    let mut block = TallBlock::unset(n, cols)?;
    exec.each_piece(&mut block, ROWS_PER_STREAM * cols, |first, piece| {
        let from = first / cols;
        let mut stream = Stream::new(seed, (from / ROWS_PER_STREAM) as u64);
        for (i, row) in piece.chunks_exact_mut(cols).enumerate() {
            row[..given_cols].copy_from_slice(&given[(from + i) * stride..][..given_cols]);
            row[given_cols..].iter_mut().for_each(|v| *v = T::from_f64(2.0 * stream.uniform() - 1.0));
        }
    })?;
    Ok(block)
}
