//! Tall blocks that carry their width, and copies of whole columns.

use std::ops::{Deref, DerefMut, Range};

use mdt_dense::MatRef;

use crate::ground::block::Block;
use crate::{Exec, Real, Result};

/// Rows of one parallel piece: enough to be worth a task, few enough to stay in the second-level
/// cache.
pub(super) const ROWS: usize = 4096;

/// A borrowed tall block.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TallRef<'a, T> {
    /// Elements, row-major.
    pub data: &'a [T],
    /// Number of columns.
    pub cols: usize,
}

impl<'a, T: Real> TallRef<'a, T> {
    pub fn new(data: &'a [T], cols: usize) -> Self {
        Self { data, cols }
    }

    pub fn n_rows(self) -> usize {
        self.data.len() / self.cols
    }

    /// Some rows, as a dense matrix.
    pub fn rows(self, rows: &Range<usize>) -> MatRef<'a, T> {
        let data = &self.data[rows.start * self.cols..rows.end * self.cols];
        MatRef::from_row_major_slice(data, rows.len(), self.cols)
    }

    /// A copy of some columns.
    pub fn columns(self, columns: Range<usize>, exec: &Exec) -> Result<TallBlock<T>> {
        let mut out = TallBlock::unset(self.n_rows(), columns.len())?;
        each_row(&mut out, columns.len(), exec, |i, row| {
            row.copy_from_slice(&self.data[i * self.cols..][columns.clone()]);
        })?;
        Ok(out)
    }
}

/// A tall block that owns its memory.
pub(crate) struct TallBlock<T> {
    data: Block<T>,
    cols: usize,
}

impl<T: Real> TallBlock<T> {
    /// All elements 0.
    pub fn zeros(n_rows: usize, cols: usize) -> Result<Self> {
        Ok(Self { data: Block::zeros(n_rows.saturating_mul(cols))?, cols })
    }

    /// Elements of any value: the caller writes all of them.
    pub fn unset(n_rows: usize, cols: usize) -> Result<Self> {
        Ok(Self { data: Block::unset(n_rows.saturating_mul(cols))?, cols })
    }

    /// No rows and no columns.
    pub fn empty() -> Self {
        Self { data: Block::Small(Vec::new()), cols: 0 }
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    pub fn view(&self) -> TallRef<'_, T> {
        TallRef { data: &self.data, cols: self.cols }
    }

    /// One block with the columns of several.
    pub fn side_by_side(blocks: &[TallRef<'_, T>], exec: &Exec) -> Result<Self> {
        let width = blocks.iter().map(|block| block.cols).sum();
        let mut out = Self::unset(blocks.first().map_or(0, |block| block.n_rows()), width)?;
        each_row(&mut out, width, exec, |i, row| {
            let mut at = 0;
            for &TallRef { data, cols } in blocks {
                row[at..at + cols].copy_from_slice(&data[i * cols..][..cols]);
                at += cols;
            }
        })?;
        Ok(out)
    }

    /// The first `cols` columns and the others.
    pub fn split(self, cols: usize, exec: &Exec) -> Result<(Self, Self)> {
        if self.cols == cols {
            return Ok((self, Self::empty()));
        }
        Ok((self.view().columns(0..cols, exec)?, self.view().columns(cols..self.cols, exec)?))
    }

    /// Copies the columns into a block of `width` columns, from column `first` on.
    pub fn write_to(&self, target: &mut [T], width: usize, first: usize, exec: &Exec) -> Result<()> {
        each_row(target, width, exec, |i, row| {
            row[first..][..self.cols].copy_from_slice(&self.data[i * self.cols..][..self.cols]);
        })
    }
}

impl<T: Real> Deref for TallBlock<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.data
    }
}

impl<T: Real> DerefMut for TallBlock<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.data
    }
}

/// Calls `work(i, row)` for every row of a block, in parallel.
pub(crate) fn each_row<T: Real>(
    block: &mut [T],
    cols: usize,
    exec: &Exec,
    work: impl Fn(usize, &mut [T]) + Sync + Send,
) -> Result<()> {
    exec.each_piece(block, ROWS * cols.max(1), |first, piece| {
        piece.chunks_exact_mut(cols).enumerate().for_each(|(i, row)| work(first / cols + i, row));
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::ground::random::Stream;

    /// Numbers between -0.5 and 0.5.
    pub fn random_block<T: Real>(n_rows: usize, cols: usize, key: u64) -> TallBlock<T> {
        let mut stream = Stream::new(5, key);
        let mut block = TallBlock::unset(n_rows, cols).unwrap();
        block.iter_mut().for_each(|v| *v = T::from_f64(stream.uniform() - 0.5));
        block
    }

    #[test]
    fn blocks_side_by_side_come_apart_again() {
        let exec = Exec::with_threads(2);
        let (x, y) = (random_block::<f64>(ROWS + 3, 2, 3), random_block(ROWS + 3, 5, 4));
        let both = TallBlock::side_by_side(&[x.view(), y.view()], &exec).unwrap();
        assert_eq!(both[7 * ROWS..7 * ROWS + 3], [x[2 * ROWS], x[2 * ROWS + 1], y[5 * ROWS]]);
        let mut copy = TallBlock::zeros(ROWS + 3, 7).unwrap();
        y.write_to(&mut copy, 7, 2, &exec).unwrap();
        x.write_to(&mut copy, 7, 0, &exec).unwrap();
        assert_eq!(*copy, *both);
        let (first, rest) = both.split(2, &exec).unwrap();
        assert_eq!((&*first, &*rest), (&*x, &*y));
    }
}
