//! How spread the singular values of a long walk are: the entropy that the diffusion time is read from.
//!
//! For `A = M^t` with singular values `sigma`, and `F = sum sigma^2`, the entropy of `s = sigma / sqrt(F)` is
//!
//! ```text
//! S = -sum s log s = log(F) / (2 sqrt(F)) * sum sigma  -  1 / sqrt(F) * sum sigma log sigma
//! ```
//!
//! so three traces `tr f(A A^T)` are enough: of `sigma^2`, `sigma` and `sigma log sigma`. None needs `A` itself:
//!
//! - *Deflation.* `P` is an orthonormal basis of `A^T A Omega`, a few dozen columns, `Omega` random: where the largest singular
//!   values are. Those of `A P` are computed; those of `A (I - P P^T)` are left to random sign vectors `z`, as the mean of
//!   `z^T f z`. Without this the few large values that make up `A` at long times would be seen through a handful of signs.
//!   The split is exact for `sigma^2`, and for the others if `P` is invariant under `A^T A`; else it errs upwards, in second
//!   order of the coupling and by at most a fraction of `deflated / N`. (The split `P f P + (I - P P^T) f (I - P P^T)` of the
//!   full `f` is exact, but what is left of large values in `z` then takes the first nodes of every rule: measured, the sum
//!   was 40 % off at the knee.)
//! - *Quadrature.* Golub-Kahan bidiagonalisation from `z` is Lanczos on `[0 A; A^T 0]`. Its tridiagonal matrix has a zero
//!   diagonal; eigenvalues and first eigenvector components are nodes and weights of a Gauss rule for even functions of
//!   `sigma`, accurate also for small `sigma` (squares would halve the digits). A rule with an odd number of nodes has one
//!   at 0, one with an even number none; for `|sigma|`, not smooth at 0 where most singular values are, they err to
//!   opposite sides. Two successive rules are mixed by how far each moved last, and the distance to the nearer
//!   one is stated as the error.
//! - *No reorthogonalisation.* Lost orthogonality repeats nodes and splits their weight, which leaves the sum what it was, and
//!   memory stays at a few blocks instead of one for every step.
//!
//! Cost of one `t`: `t * (2 * deflated + steps * probes)` products of one vector with `M` or `M^T`, and the steps from one
//! time to the next for the deflated columns; steps are few at long times, columns fewer and fewer. Memory: seven blocks
//! of `N * deflated` numbers. The vectors are the same at every `t`, so the curve over `t` is smooth although each of its
//! points is random.

mod gauss;
mod quadrature;

use crate::ground::block::{Block, Reuse};
use crate::ground::columns::{add_product, orthonormal, random_signs, singular_values};
use crate::ground::exec::Exec;
use crate::reorder::in_cache_order;
use crate::walk::trajectory::Trajectory;
use crate::walk::transition::Direction;
use crate::{Error, Real, Result};
use quadrature::{Effort, Quadrature, quadratures};

/// Keys of the random streams: probes count from 0, columns of the sketch from here.
const SKETCH_KEY: u64 = 1 << 32;

/// Singular values below this fraction of the largest are no longer followed one by one: at later times they are smaller
/// still, and the probes see them well enough.
const NEGLIGIBLE: f64 = 1e-3;

/// Columns of the sketch are a power of two, which the step of a walk likes, and not fewer than this.
const LEAST_SKETCH: usize = 8;

/// Probes of several times walk together, as long as their bases `P` have no more columns than so many of the largest.
const BASES_TOGETHER: usize = 4;

/// Up to this time every probe goes all its steps: knees are there, and a number of steps that changed from one time to the
/// next would show in the curve.
const FULL_EFFORT: usize = 16;
/// Steps of a probe at long times.
const FEWEST_STEPS: usize = 6;

/// How the entropy is estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntropyOptions {
    /// Random sign vectors.
    pub probes: usize,
    /// Columns of `P`.
    pub deflated: usize,
    /// Products with `A` or `A^T` for each probe, at most; fewer at times beyond 16, so that their cost stays the same.
    pub max_steps: usize,
    /// Stop before when two successive rules agree to this fraction of `sum sigma`.
    pub tolerance: f64,
    /// Seed of the sign vectors.
    pub seed: u64,
}

/// The entropy at one time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntropyEstimate {
    /// Number of steps `t`.
    pub time: usize,
    /// The estimate of `S(t)`.
    pub entropy: f64,
    /// Its standard error over the probes, together with the error of the quadrature.
    pub error: f64,
    /// Products of one vector with one step, all told.
    pub column_steps: usize,
}

impl<T: Real> Trajectory<'_, T> {
    /// Estimates the entropy of the singular values of `W^t` at increasing times `t`.
    pub fn singular_entropy(
        &self,
        times: &[usize],
        options: &EntropyOptions,
        exec: &Exec,
    ) -> Result<Vec<EntropyEstimate>> {
        if times.first().is_some_and(|&t| t == 0) || !times.is_sorted_by(|a, b| a < b) {
            return Err(Error::Invalid(format!("expected increasing times from 1 on, got {times:?}")));
        }
        if options.probes < 2 {
            return Err(Error::Invalid(format!("expected at least 2 probes, got {}", options.probes)));
        }
        let _reuse = Reuse::new();
        // No order of the points shows in the entropy.
        let walk = self.over(in_cache_order(self.set(), exec)?);
        let mut cols = options.deflated.min(walk.n());
        let mut sketch = random_signs::<T>(walk.n(), cols, options.seed, SKETCH_KEY);
        if cols == walk.n() {
            // All of a tiny space: a few random signs could be dependent.
            sketch.fill(T::ZERO);
            (0..cols).for_each(|i| sketch[i * cols + i] = T::ONE);
        }
        let mut reached = 0;
        let mut estimates = Vec::with_capacity(times.len());
        let mut waiting: Vec<Leading<T>> = Vec::new();
        for &time in times {
            let basis_cols: usize = waiting.iter().map(|leading| leading.values.len()).sum();
            if basis_cols + cols > BASES_TOGETHER * options.deflated {
                estimates.extend(estimate(&walk, &std::mem::take(&mut waiting), options, exec)?);
            }
            let leading = leading_values(&walk, &mut sketch, cols, time, time - reached, exec)?;
            (cols, reached) = (leading.following, time);
            waiting.push(leading);
        }
        estimates.extend(estimate(&walk, &waiting, options, exec)?);
        Ok(estimates)
    }
}

/// `sum sigma^2`, `sum sigma` and `sum sigma log sigma`.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    square: f64,
    linear: f64,
    log: f64,
}

impl Moments {
    fn add(&mut self, weight: f64, sigma: f64) {
        if sigma > 0.0 {
            self.square += weight * sigma * sigma;
            self.linear += weight * sigma;
            self.log += weight * sigma * sigma.ln();
        }
    }

    fn plus(self, factor: f64, other: Self) -> Self {
        Self {
            square: self.square + factor * other.square,
            linear: self.linear + factor * other.linear,
            log: self.log + factor * other.log,
        }
    }

    fn entropy(self) -> f64 {
        let root = self.square.sqrt();
        if root > 0.0 { (0.5 * self.square.ln() * self.linear - self.log) / root } else { 0.0 }
    }

    /// The change of the entropy for a small change of the moments.
    fn differential(self, change: Self) -> f64 {
        let (square, root) = (self.square, self.square.sqrt());
        if root == 0.0 {
            return 0.0;
        }
        let by_square = (2.0 * self.log + 2.0 * self.linear - self.linear * square.ln()) / (4.0 * square * root);
        by_square * change.square + (0.5 * square.ln() * change.linear - change.log) / root
    }
}

/// The largest singular values of `A`, nearly, and where they are.
struct Leading<T> {
    time: usize,
    values: Vec<f64>,
    /// The orthonormal basis `P`.
    right: Block<T>,
    /// Columns of the sketch that later times start from.
    following: usize,
    /// Products of one vector with one step.
    column_steps: usize,
}

impl<T> Leading<T> {
    fn moments(&self) -> Moments {
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
fn leading_values<T: Real>(
    walk: &Trajectory<'_, T>,
    sketch: &mut Block<T>,
    cols: usize,
    time: usize,
    ahead: usize,
    exec: &Exec,
) -> Result<Leading<T>> {
    if cols == 0 {
        return Ok(Leading { time, values: Vec::new(), right: Block::zeros(0), following: 0, column_steps: 0 });
    }
    let apply = |x: &[T], steps: usize, direction: Direction| -> Result<Block<T>> {
        let mut out = Block::unset(x.len());
        walk.power(steps).apply(x, cols, direction, &mut out, exec)?;
        Ok(out)
    };
    let reached = orthonormal(&apply(sketch, ahead, Direction::Forward)?, cols, exec)?;
    let right = apply(&reached, time, Direction::Transposed)?;
    let (found, rotation) = singular_values(&right, cols, exec)?;
    let matters = cols - found.partition_point(|&v| v < NEGLIGIBLE * found[cols - 1]);
    let following = matters.next_power_of_two().clamp(LEAST_SKETCH.min(cols), cols);
    let rotation: Vec<f64> = rotation.chunks_exact(cols).flat_map(|line| &line[cols - following..]).copied().collect();
    *sketch = Block::zeros(walk.n() * following);
    add_product(sketch, following, &reached, cols, &rotation, exec)?;
    drop(reached);
    let right = orthonormal(&right, cols, exec)?;
    let (values, _) = singular_values(&apply(&right, time, Direction::Forward)?, cols, exec)?;
    let column_steps = (ahead + 2 * time) * walk.steps().len() * cols;
    Ok(Leading { time, values, right, following, column_steps })
}

/// The entropies at the times of some leading values.
fn estimate<T: Real>(
    walk: &Trajectory<'_, T>,
    leading: &[Leading<T>],
    options: &EntropyOptions,
    exec: &Exec,
) -> Result<Vec<EntropyEstimate>> {
    let EntropyOptions { probes, max_steps, tolerance, seed, .. } = *options;
    let effort = |time: usize| {
        let max_steps = (max_steps * FULL_EFFORT / time).clamp(FEWEST_STEPS, max_steps.max(FEWEST_STEPS));
        Effort { time, probes, max_steps, tolerance, seed }
    };
    let times: Vec<_> = leading.iter().map(|leading| (effort(leading.time), leading)).collect();
    let rests = quadratures(walk, &times, exec)?;
    Ok(leading.iter().zip(rests).map(|(leading, rest)| entropy(leading, &rest)).collect())
}

/// The entropy from the leading values and what the probes saw of the others.
fn entropy<T>(leading: &Leading<T>, rest: &Quadrature) -> EntropyEstimate {
    let probes = rest.moments.len() as f64;
    let sum = |moments: &[Moments]| moments.iter().fold(Moments::default(), |a, &b| a.plus(1.0, b));
    let mean = leading.moments().plus(1.0 / probes, sum(&rest.moments));
    // Each probe's part in the entropy, to first order.
    let parts: Vec<f64> = rest.moments.iter().map(|&m| mean.differential(m)).collect();
    let centre = parts.iter().sum::<f64>() / probes;
    let variance = parts.iter().map(|p| (p - centre) * (p - centre)).sum::<f64>() / (probes * (probes - 1.0));
    let quadrature_error = mean.differential(sum(&rest.gaps)) / probes;
    EntropyEstimate {
        time: leading.time,
        entropy: mean.entropy(),
        error: (variance + quadrature_error * quadrature_error).sqrt(),
        column_steps: leading.column_steps + rest.column_steps,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::ground::csr::Csr;
    use crate::walk::operator_set::{Member, OperatorSet};
    use crate::walk::transition::Transition;

    const OPTIONS: EntropyOptions =
        EntropyOptions { probes: 8, deflated: 16, max_steps: 20, tolerance: 0.005, seed: 3 };

    /// A ring on which a walker stays with probability 1/2; its matrix is symmetric with eigenvalues cos^2(pi k / n).
    fn ring<T: Real>(n: usize) -> OperatorSet<T> {
        let mut entries: Vec<(u32, f64)> = Vec::new();
        for i in 0..n {
            let mut row = [((i + n - 1) % n, 0.25), (i, 0.5), ((i + 1) % n, 0.25)];
            row.sort_by_key(|e| e.0);
            entries.extend(row.iter().map(|&(j, v)| (j as u32, v)));
        }
        let indptr = (0..=n as u64).map(|i| 3 * i).collect();
        let (indices, values) = entries.into_iter().map(|(j, v)| (j, T::from_f64(v))).unzip();
        let matrix = Csr::new(n, indptr, indices, values).unwrap();
        let walk = Transition::from_symmetric(matrix, 0.0, &Exec::with_threads(1)).unwrap();
        OperatorSet::new(vec![Arc::new(walk)], vec![Member::Walk(0)]).unwrap()
    }

    fn exact(n: usize, t: usize) -> f64 {
        let mut moments = Moments::default();
        for k in 0..n {
            moments.add(1.0, (std::f64::consts::PI * k as f64 / n as f64).cos().powi(2 * t as i32).abs());
        }
        moments.entropy()
    }

    #[test]
    fn entropy_of_a_ring() {
        let (n, times) = (600, [1, 2, 5, 12, 50]);
        let set = ring::<f64>(n);
        let walk = Trajectory::new(&set, &[1.0]).unwrap();
        for e in walk.singular_entropy(&times, &OPTIONS, &Exec::with_threads(2)).unwrap() {
            let expected = exact(n, e.time);
            assert!((e.entropy - expected).abs() < 0.05 * expected, "{e:?}, expected {expected}");
            assert!((e.entropy - expected).abs() < 4.0 * e.error + 1e-9, "{e:?}, expected {expected}");
        }
    }

    #[test]
    fn single_precision_agrees() {
        let (double, single) = (ring::<f64>(300), ring::<f32>(300));
        let exec = Exec::with_threads(1);
        let times = [1, 4, 16];
        let a = Trajectory::new(&double, &[1.0]).unwrap().singular_entropy(&times, &OPTIONS, &exec).unwrap();
        let b = Trajectory::new(&single, &[1.0]).unwrap().singular_entropy(&times, &OPTIONS, &exec).unwrap();
        for (a, b) in a.iter().zip(&b) {
            assert!((a.entropy - b.entropy).abs() < 0.01 * a.entropy, "{a:?} {b:?}");
        }
    }

    #[test]
    fn same_bits_at_any_thread_count() {
        let set = ring::<f64>(9000);
        let walk = Trajectory::new(&set, &[1.0]).unwrap();
        let run = |threads| walk.singular_entropy(&[1, 3], &OPTIONS, &Exec::with_threads(threads)).unwrap();
        let reference = run(1);
        for threads in [2, 3, 8] {
            assert_eq!(run(threads), reference);
        }
    }

    #[test]
    fn bad_input_and_interruption() {
        let set = ring::<f64>(10);
        let walk = Trajectory::new(&set, &[1.0]).unwrap();
        let exec = Exec::with_threads(1);
        for times in [vec![0, 1], vec![2, 2], vec![3, 1]] {
            assert!(walk.singular_entropy(&times, &OPTIONS, &exec).is_err());
        }
        assert!(walk.singular_entropy(&[1], &EntropyOptions { probes: 1, ..OPTIONS }, &exec).is_err());
        let stopped = Exec::new(1, Arc::new(AtomicBool::new(true)));
        assert_eq!(walk.singular_entropy(&[1], &OPTIONS, &stopped).unwrap_err(), Error::Interrupted);
    }
}
