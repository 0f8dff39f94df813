//! The largest singular values of a power of the walk, by subspace iteration from a random sketch.

use super::moments::Moments;
use crate::ground::exec::Exec;
use crate::ground::tall::{TallBlock, product, range_basis, singular_values};
use crate::spectral::linear_map::image;
use crate::walk::trajectory::Trajectory;
use crate::walk::transition::Direction;
use crate::{Real, Result};

/// Singular values below this fraction of the largest are no longer followed one by one: at later times they are smaller
/// still, and the probes see them well enough.
const NEGLIGIBLE: f64 = 1e-3;

/// Columns of the sketch are a power of two, which the step of a walk likes, and not fewer than this.
const LEAST_SKETCH: usize = 8;

/// The largest singular values of `A`, nearly, and where they are.
pub(super) struct Leading<T> {
    pub time: usize,
    pub values: Vec<f64>,
    /// The orthonormal basis `P`.
    pub right: TallBlock<T>,
    /// Products of one vector with one step.
    pub column_steps: usize,
}

impl<T> Leading<T> {
    pub fn moments(&self) -> Moments {
        let mut moments = Moments::default();
        self.values.iter().for_each(|&v| moments.add(1.0, v));
        moments
    }
}

/// The singular values of `A P`, `A = W^time`, for an orthonormal basis `P` of `A^T` times the sketch, which has `ahead` more
/// steps to go.
///
/// What is left in the sketch spans itself, short of negligible directions, not the better vectors found here: so the
/// estimate at one time does not depend on which earlier times were asked for, and the curve stays smooth.
pub(super) fn leading_values<T: Real>(
    walk: &Trajectory<'_, T>,
    sketch: &mut TallBlock<T>,
    time: usize,
    ahead: usize,
    exec: &Exec,
) -> Result<Leading<T>> {
    let cols = sketch.cols();
    if cols == 0 {
        return Ok(Leading { time, values: Vec::new(), right: TallBlock::zeros(0, 0), column_steps: 0 });
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
