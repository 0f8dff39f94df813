//! Matrices that are only applied to blocks of vectors.

use crate::ground::tall::{TallBlock, TallRef};
use crate::{Direction, Exec, Real, Result, Trajectory};

/// A square matrix, given by its products with blocks of vectors.
pub trait LinearMap<T>: Sync {
    /// Number of rows and columns.
    fn n(&self) -> usize;

    /// `A x` or `A^T x` for a row-major block of `cols` columns, written to `out` of the same
    /// shape.
    fn apply(&self, x: &[T], cols: usize, direction: Direction, out: &mut [T], exec: &Exec) -> Result<()>;
}

/// `A x` or `A^T x` as a new block.
pub(crate) fn image<T: Real>(
    map: &impl LinearMap<T>,
    x: TallRef<'_, T>,
    direction: Direction,
    exec: &Exec,
) -> Result<TallBlock<T>> {
    let mut out = TallBlock::unset(map.n(), x.cols)?;
    map.apply(x.data, x.cols, direction, &mut out, exec)?;
    Ok(out)
}

impl<T: Real> LinearMap<T> for Trajectory<'_, T> {
    fn n(&self) -> usize {
        Trajectory::n(self)
    }

    fn apply(&self, x: &[T], cols: usize, direction: Direction, out: &mut [T], exec: &Exec) -> Result<()> {
        Trajectory::apply(self, x, cols, direction, out, exec)
    }
}
