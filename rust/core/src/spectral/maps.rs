//! Diagonal scalings of a map.

use crate::ground::block::Block;
use crate::ground::exec::Exec;
use crate::ground::tall::{each_row, scale_rows};
use crate::spectral::linear_map::LinearMap;
use crate::walk::transition::Direction;
use crate::{Error, Real, Result};

/// `diag(left) A diag(right) + shift I`.
///
/// With `left = sqrt(pi)` and `right = 1 / sqrt(pi)`, singular vectors of a trajectory become those of its stationary geometry.
/// For a reversible walk the same scaling (`pi` its degrees) is a symmetric matrix with eigenvalues in `[-1, 1]`; shifted by 1
/// its singular values are its eigenvalues plus 1, in the order of the eigenvalues.
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
        check_weights(map.n(), weights)?;
        let left: Vec<T> = weights.iter().map(|w| T::from_f64(w.sqrt())).collect();
        let right = weights.iter().map(|w| T::from_f64(1.0 / w.sqrt())).collect();
        Ok(Self { map, left, right, shift: T::from_f64(shift) })
    }

    /// `diag(sqrt(w)) A diag(sqrt(w)) + shift I`: the symmetric form of a walk, `A` its affinity and `1 / w` its degrees.
    pub fn by_roots_on_both_sides(map: &'a M, weights: &[f64], shift: f64) -> Result<Self> {
        check_weights(map.n(), weights)?;
        let roots: Vec<T> = weights.iter().map(|w| T::from_f64(w.sqrt())).collect();
        Ok(Self { map, left: roots.clone(), right: roots, shift: T::from_f64(shift) })
    }

    /// The diagonal on the right: what makes vectors of the scaled matrix functions of the walk.
    pub(super) fn inverse_roots(&self) -> &[T] {
        &self.right
    }
}

fn check_weights(n: usize, weights: &[f64]) -> Result<()> {
    Error::check_size("weights", n, weights.len())?;
    match weights.iter().position(|w| !(*w > 0.0 && w.is_finite())) {
        Some(i) => Err(Error::Invalid(format!("expected positive finite weights, got {} at {i}", weights[i]))),
        None => Ok(()),
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
        let mut scaled = Block::unset(x.len());
        scale_rows(before, x, &mut scaled, exec)?;
        self.map.apply(&scaled, cols, direction, out, exec)?;
        each_row(out, cols, exec, |i, row| {
            row.iter_mut().zip(&x[i * cols..]).for_each(|(s, &v)| *s = after[i] * *s + self.shift * v);
        })
    }
}
