//! The largest singular values of `A = W^t`, by randomized subspace iteration.
//!
//! `P` is an orthonormal basis of `A^T A Omega`, a few dozen columns, `Omega` random. The singular
//! values of `A P` are computed, and those of `A (I - P P^T)` are left to the quadrature. The split
//! is exact for `sum sigma^2`, and for the other sums if `P` is invariant under `A^T A`. Otherwise
//! it errs upwards, in second order of the coupling and by at most a fraction of `deflated / N`.
//! (The split of the traces themselves, `P f P + (I - P P^T) f (I - P P^T)`, is exact, but the
//! remainders of large values then take the first nodes of every quadrature rule: measured, the sum
//! was 40 % off at the knee.)
//!
//! Reference for the sketch: Halko, Martinsson and Tropp 2011, doi:10.1137/090771806.

use super::moments::Moments;
use crate::ground::tall::{TallBlock, product, range_basis, singular_values};
use crate::spectral::linear_map::image;
use crate::{Direction, Exec, Real, Result, Trajectory};

/// Singular values below this fraction of the largest leave the sketch. At later times they are
/// smaller still, and the quadrature estimates them well enough.
const NEGLIGIBLE: f64 = 1e-3;

/// Fewest columns of the sketch. Its width is a power of two, which suits the tiles of the sparse
/// kernel.
const LEAST_SKETCH: usize = 8;

/// Approximations of the largest singular values of `A` and the basis `P` that they belong to.
pub(super) struct Leading<T> {
    pub time: usize,
    pub values: Vec<f64>,
    /// The orthonormal basis `P`.
    pub right: TallBlock<T>,
    /// Number of products of one vector with one step.
    pub column_steps: usize,
}

impl<T> Leading<T> {
    pub fn moments(&self) -> Moments {
        let mut moments = Moments::default();
        self.values.iter().for_each(|&v| moments.add(1.0, v));
        moments
    }
}

/// The singular values of `A P`, `A = W^time`. The sketch is `ahead` steps behind `time` and is
/// advanced.
///
/// The new sketch spans the advanced sketch without negligible directions, and not the better
/// vectors computed here. So the estimate at one time does not depend on the earlier times, and the
/// curve is smooth.
pub(super) fn leading_values<T: Real>(
    walk: &Trajectory<'_, T>,
    sketch: &mut TallBlock<T>,
    time: usize,
    ahead: usize,
    exec: &Exec,
) -> Result<Leading<T>> {
    let cols = sketch.cols();
    if cols == 0 {
        return Ok(Leading { time, values: Vec::new(), right: TallBlock::empty(), column_steps: 0 });
    }
    let apply = |x: &TallBlock<T>, steps, direction| image(&walk.power(steps), x.view(), direction, exec);
    let reached = range_basis(apply(sketch, ahead, Direction::Forward)?.view(), exec)?;
    let right = apply(&reached, time, Direction::Transposed)?;
    let (found, rotation) = singular_values(right.view(), exec)?;
    let matters = cols - found.partition_point(|&v| v < NEGLIGIBLE * found[cols - 1]);
    let following = matters.next_power_of_two().clamp(LEAST_SKETCH.min(cols), cols);
    let rotation: Vec<f64> = rotation.chunks_exact(cols).flat_map(|line| &line[cols - following..]).copied().collect();
    *sketch = product(reached.view(), &rotation, exec)?;
    drop(reached);
    let right = range_basis(right.view(), exec)?;
    let (values, _) = singular_values(apply(&right, time, Direction::Forward)?.view(), exec)?;
    let column_steps = (ahead + 2 * time) * walk.steps().len() * cols;
    Ok(Leading { time, values, right, column_steps })
}
