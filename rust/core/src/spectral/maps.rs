//! Diagonal scalings and shifts of a matrix.

use crate::ground::block::Block;
use crate::ground::tall::{each_row, scale_rows};
use crate::{Direction, Error, Exec, LinearMap, Real, Result};

/// `diag(left) A diag(right) + shift I`.
///
/// With `left = sqrt(pi)` and `right = 1 / sqrt(pi)`, the singular vectors are those of the
/// stationary geometry of a trajectory. For a reversible walk with degrees `pi` the result is
/// symmetric with eigenvalues in `[-1, 1]`. Shifted by 1, its singular values are the eigenvalues
/// plus 1, in their order.
#[derive(Debug)]
pub struct Scaled<'a, T, M> {
    map: &'a M,
    left: Vec<T>,
    right: Vec<T>,
    shift: T,
}

impl<'a, T: Real, M: LinearMap<T>> Scaled<'a, T, M> {
    /// `diag(sqrt(w)) A diag(1 / sqrt(w)) + shift I`.
    pub fn by_roots(map: &'a M, weights: &[f64], shift: f64) -> Result<Self> {
        let mut scaled = Self::by_roots_on_both_sides(map, weights, shift)?;
        scaled.right = weights.iter().map(|w| T::from_f64(1.0 / w.sqrt())).collect();
        Ok(scaled)
    }

    /// `diag(sqrt(w)) A diag(sqrt(w)) + shift I`: the symmetric form of a walk with affinity `A`
    /// and degrees `1 / w`.
    pub fn by_roots_on_both_sides(map: &'a M, weights: &[f64], shift: f64) -> Result<Self> {
        Error::check_size("weights", map.n(), weights.len())?;
        if let Some(i) = weights.iter().position(|w| !(*w > 0.0 && w.is_finite())) {
            return Err(Error::Invalid(format!("expected positive finite weights, got {} at {i}", weights[i])));
        }
        let roots: Vec<T> = weights.iter().map(|w| T::from_f64(w.sqrt())).collect();
        Ok(Self { map, left: roots.clone(), right: roots, shift: T::from_f64(shift) })
    }

    /// The diagonal on the right, which converts vectors of the scaled matrix to functions of the
    /// walk.
    pub(super) fn inverse_roots(&self) -> &[T] {
        &self.right
    }
}

impl<T: Real, M: LinearMap<T>> LinearMap<T> for Scaled<'_, T, M> {
    fn n(&self) -> usize {
        self.map.n()
    }

    fn apply(&self, x: &[T], cols: usize, direction: Direction, out: &mut [T], exec: &Exec) -> Result<()> {
        let (before, after) = match direction {
            Direction::Forward => (&self.right, &self.left),
            Direction::Transposed => (&self.left, &self.right),
        };
        let mut scaled = Block::unset(x.len())?;
        scale_rows(before, x, &mut scaled, exec)?;
        self.map.apply(&scaled, cols, direction, out, exec)?;
        each_row(out, cols, exec, |i, row| {
            row.iter_mut().zip(&x[i * cols..]).for_each(|(s, &v)| *s = after[i] * *s + self.shift * v);
        })
    }
}
