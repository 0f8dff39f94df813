//! Matrices that are only ever applied.

use crate::ground::exec::Exec;
use crate::walk::trajectory::Trajectory;
use crate::walk::transition::Direction;
use crate::{Real, Result};

/// A square matrix known by what it does to blocks of vectors.
pub trait LinearMap<T>: Sync {
    /// Number of rows and columns.
    fn n(&self) -> usize;

    /// `A x` or `A^T x` for a row-major block of `cols` columns, written to `out` of the same shape.
    fn apply(&self, x: &[T], cols: usize, direction: Direction, out: &mut [T], exec: &Exec) -> Result<()>;
}

impl<T: Real> LinearMap<T> for Trajectory<'_, T> {
    fn n(&self) -> usize {
        Trajectory::n(self)
    }

    fn apply(&self, x: &[T], cols: usize, direction: Direction, out: &mut [T], exec: &Exec) -> Result<()> {
        Trajectory::apply(self, x, cols, direction, out, exec)
    }
}
