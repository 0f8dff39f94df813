//! Widths of the solver's blocks and bases, and the block that it starts from.
//!
//! A block finds a value at most as often as it has columns. Parts of a graph that hardly touch
//! (clusters) repeat the value 1 almost exactly, so the first blocks are wider than the number of
//! triplets.

use crate::ground::tall::TallBlock;
use crate::{Error, Exec, Real, Result, Stream};

/// Widest block: as many columns as the sparse kernel keeps in registers.
const MAX_BLOCK: usize = 32;

/// Blocks of a basis before a restart: `LARGE / n`, between these bounds.
const FEWEST_BLOCKS: usize = 2;
const MOST_BLOCKS: usize = 8;
const LARGE: usize = 1 << 22;

/// Rows that one random stream fills.
const ROWS_PER_STREAM: usize = 1024;

/// Where the solver starts. Blocks are row-major.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start<'a, T> {
    /// From a random block.
    Random,
    /// From a block whose columns are near the leading right singular vectors.
    Near(&'a [T]),
    /// From a block whose columns are near the leading left singular vectors.
    Left(&'a [T]),
}

impl<'a, T> Start<'a, T> {
    /// The given block, which may be empty, if it has `n` rows.
    pub(super) fn block(&self, n: usize) -> Result<&'a [T]> {
        let given: &[T] = match self {
            Self::Random => &[],
            Self::Near(block) | Self::Left(block) => block,
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
        Self { block, most: basis_columns(rank, n).min(n / 2), kept: rank + block }
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
///
/// Restarts of large bases come earlier: their memory grows less than the number of points.
fn basis_columns(rank: usize, n: usize) -> usize {
    let blocks = (LARGE / n.max(1)).clamp(FEWEST_BLOCKS, MOST_BLOCKS);
    2 * rank + blocks * start_columns(rank)
}

/// The random block that [`Start::Random`] begins with, row-major; None if a matrix of this size is
/// decomposed as a whole.
pub(crate) fn random_block<T: Real>(n: usize, rank: usize, seed: u64, exec: &Exec) -> Result<Option<TallBlock<T>>> {
    let widths = BasisWidths::new(rank, n);
    (!widths.are_too_wide(n)).then(|| starting_block(n, widths.block, &[], seed, exec)).transpose()
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
