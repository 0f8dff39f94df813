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
//! time to the next for the deflated columns; steps are few at long times, columns fewer and fewer. Memory: four blocks
//! of `N * deflated` numbers. The vectors are the same at every `t`, so the curve over `t` is smooth although each of its
//! points is random.

use crate::block::{Block, Reuse};
use crate::columns::{add_product, combine, gram, orthonormal, scale, singular_values, squared_norms};
use crate::exec::Exec;
use crate::linear_map::LinearMap;
use crate::random::Stream;
use crate::trajectory::Trajectory;
use crate::transition::Direction;
use crate::{Error, Real, Result};

/// Keys of the random streams: probes count from 0, columns of the sketch from here.
const SKETCH_KEY: u64 = 1 << 32;

/// Singular values below this fraction of the largest are no longer followed one by one: at later times they are smaller
/// still, and the probes see them well enough.
const NEGLIGIBLE: f64 = 1e-3;

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
        let walk = self.over(self.set().in_kind_order(exec)?);
        let mut cols = options.deflated.min(walk.n());
        let mut sketch = random_signs::<T>(walk.n(), cols, options.seed, SKETCH_KEY);
        if cols == walk.n() {
            // All of a tiny space: a few random signs could be dependent.
            sketch.fill(T::ZERO);
            (0..cols).for_each(|i| sketch[i * cols + i] = T::ONE);
        }
        let mut reached = 0;
        let mut estimates = Vec::with_capacity(times.len());
        for &time in times {
            let power = walk.power(time);
            let mut map = Counter { map: &power, steps: time * walk.steps().len(), column_steps: 0 };
            if cols > 0 {
                let mut next = Block::unset(sketch.len());
                walk.power(time - reached).apply(&sketch, cols, Direction::Forward, &mut next, exec)?;
                map.column_steps += (time - reached) * walk.steps().len() * cols;
                sketch = next;
                reached = time;
            }
            let leading = leading_values(&mut map, sketch, cols, exec)?;
            estimates.push(estimate(&mut map, time, &leading, options, exec)?);
            (sketch, cols) = leading.sketch;
        }
        Ok(estimates)
    }
}

/// A map that counts its products.
struct Counter<'a, M> {
    map: &'a M,
    steps: usize,
    column_steps: usize,
}

impl<M> Counter<'_, M> {
    fn apply<T: Real>(&mut self, x: &[T], cols: usize, direction: Direction, exec: &Exec) -> Result<Block<T>>
    where
        M: LinearMap<T>,
    {
        let mut out = Block::unset(x.len());
        self.map.apply(x, cols, direction, &mut out, exec)?;
        self.column_steps += self.steps * cols;
        Ok(out)
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
    values: Vec<f64>,
    /// The orthonormal basis `P`.
    right: Block<T>,
    /// Where later times start from: the part of the sketch whose values still matter, and its number of columns.
    sketch: (Block<T>, usize),
}

/// The singular values of `A P` for an orthonormal basis `P` of `A^T` times the sketch.
///
/// What is handed on spans the sketch itself, short of negligible directions, not the better vectors found here: so the
/// estimate at one time does not depend on which earlier times were asked for, and the curve stays smooth.
fn leading_values<T: Real, M: LinearMap<T>>(
    map: &mut Counter<'_, M>,
    sketch: Block<T>,
    cols: usize,
    exec: &Exec,
) -> Result<Leading<T>> {
    if cols == 0 {
        return Ok(Leading { values: Vec::new(), right: Block::zeros(0), sketch: (sketch, 0) });
    }
    let sketch = orthonormal(&sketch, cols, exec)?;
    let right = map.apply(&sketch, cols, Direction::Transposed, exec)?;
    let (found, rotation) = singular_values(&right, cols, exec)?;
    let from = found.partition_point(|&v| v < NEGLIGIBLE * found[cols - 1]);
    let kept = cols - from;
    let rotation: Vec<f64> = rotation.chunks_exact(cols).flat_map(|line| &line[from..]).copied().collect();
    let mut following = Block::zeros(sketch.len() / cols * kept);
    add_product(&mut following, kept, &sketch, cols, &rotation, exec)?;
    drop(sketch);
    let right = orthonormal(&right, cols, exec)?;
    let image = map.apply(&right, cols, Direction::Forward, exec)?;
    let (values, _) = singular_values(&image, cols, exec)?;
    Ok(Leading { values, right, sketch: (following, kept) })
}

/// `x <- x - P P^T x`.
fn project_off<T: Real>(x: &mut [T], cols: usize, basis: &[T], basis_cols: usize, exec: &Exec) -> Result<()> {
    if basis_cols == 0 {
        return Ok(());
    }
    let coefficients: Vec<f64> = gram(basis, basis_cols, x, cols, exec)?.iter().map(|c| -c).collect();
    add_product(x, cols, basis, basis_cols, &coefficients, exec)
}

fn estimate<T: Real, M: LinearMap<T>>(
    map: &mut Counter<'_, M>,
    time: usize,
    leading: &Leading<T>,
    options: &EntropyOptions,
    exec: &Exec,
) -> Result<EntropyEstimate> {
    let probes = options.probes as f64;
    let mut known = Moments::default();
    leading.values.iter().for_each(|&v| known.add(1.0, v));
    let max_steps = (options.max_steps * FULL_EFFORT / time).clamp(FEWEST_STEPS, options.max_steps.max(FEWEST_STEPS));
    let options = &EntropyOptions { max_steps, ..*options };
    let rest = quadrature(map, leading, known.linear, options, exec)?;
    let sum = |moments: &[Moments]| moments.iter().fold(Moments::default(), |a, &b| a.plus(1.0, b));
    let mean = known.plus(1.0 / probes, sum(&rest.moments));
    // Each probe's part in the entropy, to first order.
    let parts: Vec<f64> = rest.moments.iter().map(|&m| mean.differential(m)).collect();
    let centre = parts.iter().sum::<f64>() / probes;
    let variance = parts.iter().map(|p| (p - centre) * (p - centre)).sum::<f64>() / (probes * (probes - 1.0));
    let quadrature_error = mean.differential(sum(&rest.gaps)) / probes;
    Ok(EntropyEstimate {
        time,
        entropy: mean.entropy(),
        error: (variance + quadrature_error * quadrature_error).sqrt(),
        column_steps: map.column_steps,
    })
}

/// `z^T f z` for each probe, and its distance from the nearer of the two rules that it is mixed from.
#[derive(Debug)]
struct Quadrature {
    moments: Vec<Moments>,
    gaps: Vec<Moments>,
}

/// Quadrature for `A (I - P P^T)`; `known` is the sum of the values of `A P`, which the tolerance is also relative to.
fn quadrature<T: Real, M: LinearMap<T>>(
    map: &mut Counter<'_, M>,
    leading: &Leading<T>,
    known: f64,
    options: &EntropyOptions,
    exec: &Exec,
) -> Result<Quadrature> {
    let (cols, deflated) = (options.probes, leading.values.len());
    let ones = vec![1.0; cols];
    let mut start = random_signs::<T>(map.map.n(), cols, options.seed, 0);
    project_off(&mut start, cols, &leading.right, deflated, exec)?;
    let masses = squared_norms(&start, cols, exec)?;
    let mut current = start;
    let mut previous = Block::zeros(current.len());
    scale(&mut current, &masses.iter().map(|m| inverse(m.sqrt())).collect::<Vec<_>>(), exec)?;
    let mut couplings: Vec<Vec<f64>> = vec![Vec::new(); cols];
    let mut rules: Vec<Vec<Moments>> = Vec::new();
    let mut step = 0;
    loop {
        exec.check()?;
        step += 1;
        let direction = if step % 2 == 1 { Direction::Forward } else { Direction::Transposed };
        let mut next = map.apply(&current, cols, direction, exec)?;
        if direction == Direction::Transposed {
            project_off(&mut next, cols, &leading.right, deflated, exec)?;
        }
        if step > 1 {
            let last: Vec<f64> = couplings.iter().map(|c| -c[step - 2]).collect();
            combine(&mut next, &ones, &previous, &last, exec)?;
        }
        let norms = squared_norms(&next, cols, exec)?;
        for (coupling, norm) in couplings.iter_mut().zip(&norms) {
            // What is left after the vectors span an invariant space is rounding.
            let largest = coupling.iter().copied().fold(0.0, f64::max);
            let norm = norm.sqrt();
            coupling.push(if norm > 8.0 * T::ROUNDOFF * largest { norm } else { 0.0 });
        }
        let factors: Vec<f64> = couplings.iter().map(|c| inverse(c[step - 1])).collect();
        scale(&mut next, &factors, exec)?;
        previous = current;
        current = next;
        rules.push(couplings.iter().zip(&masses).map(|(c, &mass)| integrate(c, mass)).collect());
        if step == 1 {
            continue;
        }
        let total = |rule: usize| rules[rule].iter().map(|m| m.linear).sum::<f64>();
        let (last, before) = (step - 1, step - 2);
        let gap = (total(last) - total(before)).abs();
        let whole = 2.0 * cols as f64 * known + total(last) + total(before);
        if gap <= options.tolerance * whole || step == options.max_steps {
            // Both kinds of rule close in on the truth from opposite sides; the one that moved more is farther away.
            let moved = |rule: usize| if rule < 2 { 1.0 } else { (total(rule) - total(rule - 2)).abs() };
            let both = moved(last) + moved(before);
            let share = if both > 0.0 { moved(before) / both } else { 0.5 };
            let pairs = || rules[last].iter().zip(&rules[before]);
            let mix = |a: f64, b: f64| pairs().map(|(&x, &y)| Moments::default().plus(a, x).plus(b, y)).collect();
            let uncertain = share.min(1.0 - share);
            return Ok(Quadrature { moments: mix(share, 1.0 - share), gaps: mix(uncertain, -uncertain) });
        }
    }
}

/// `1 / value`, or 0 for 0.
fn inverse(value: f64) -> f64 {
    if value > 0.0 { 1.0 / value } else { 0.0 }
}

/// The moments by the Gauss rule of a tridiagonal matrix with zero diagonal, for a vector of squared length `mass`.
fn integrate(couplings: &[f64], mass: f64) -> Moments {
    let mut moments = Moments::default();
    for (node, weight) in gauss_rule(couplings) {
        moments.add(mass * weight, node.abs());
    }
    // Known without a rule: the first coupling is |A z| / |z|.
    moments.square = mass * couplings[0] * couplings[0];
    moments
}

/// Nodes and weights of the symmetric tridiagonal matrix with zero diagonal: its eigenvalues, and the squares of the first
/// components of its eigenvectors, by implicit QL (Golub and Welsch).
fn gauss_rule(couplings: &[f64]) -> Vec<(f64, f64)> {
    let n = couplings.len() + 1;
    let mut diagonal = vec![0.0_f64; n];
    let mut off: Vec<f64> = couplings.iter().copied().chain([0.0]).collect();
    let mut first = vec![0.0; n];
    first[0] = 1.0;
    let scale = couplings.iter().copied().fold(0.0, f64::max);
    let negligible = f64::EPSILON * scale;
    for l in 0..n {
        // Three sweeps an eigenvalue are usual; the bound only guards against numbers that are not finite.
        for _ in 0..64 {
            let m = (l..n - 1).find(|&m| off[m].abs() <= negligible).unwrap_or(n - 1);
            if m == l {
                break;
            }
            let g = (diagonal[l + 1] - diagonal[l]) / (2.0 * off[l]);
            let mut g = diagonal[m] - diagonal[l] + off[l] / (g + g.hypot(1.0).copysign(g));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut i = m;
            while i > l {
                i -= 1;
                let f = s * off[i];
                let b = c * off[i];
                let r = f.hypot(g);
                off[i + 1] = r;
                if r == 0.0 {
                    diagonal[i + 1] -= p;
                    off[m] = 0.0;
                    break;
                }
                s = f / r;
                c = g / r;
                g = diagonal[i + 1] - p;
                let r = (diagonal[i] - g) * s + 2.0 * c * b;
                p = s * r;
                diagonal[i + 1] = g + p;
                g = c * r - b;
                let z = first[i + 1];
                first[i + 1] = s * first[i] + c * z;
                first[i] = c * first[i] - s * z;
                if i == l {
                    diagonal[l] -= p;
                    off[l] = g;
                    off[m] = 0.0;
                }
            }
        }
    }
    diagonal.into_iter().zip(first).map(|(node, z)| (node, z * z)).collect()
}

/// A block of random signs, one stream a column.
fn random_signs<T: Real>(n: usize, cols: usize, seed: u64, key: u64) -> Block<T> {
    let mut block = Block::unset(n * cols);
    let mut streams: Vec<Stream> = (0..cols).map(|c| Stream::new(seed, key + c as u64)).collect();
    if cols > 0 {
        for row in block.chunks_exact_mut(cols) {
            row.iter_mut().zip(&mut streams).for_each(|(v, stream)| *v = T::from_f64(stream.sign()));
        }
    }
    block
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::csr::Csr;
    use crate::operator_set::{Member, OperatorSet};
    use crate::transition::Transition;

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
    fn nodes_and_weights_of_a_known_rule() {
        // Couplings 1/2 with a first one of 1/sqrt(2): Chebyshev's rule, nodes cos((2k - 1) pi / 2n), equal weights.
        let n = 9;
        let mut couplings = vec![0.5; n - 1];
        couplings[0] = 0.5_f64.sqrt();
        let mut rule = gauss_rule(&couplings);
        rule.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (k, (node, weight)) in rule.into_iter().enumerate() {
            let expected = ((2 * k + 1) as f64 * std::f64::consts::PI / (2 * n) as f64).cos();
            assert!((node - expected).abs() < 1e-14 && (weight - 1.0 / n as f64).abs() < 1e-14);
        }
    }

    #[test]
    fn a_rule_survives_couplings_of_zero() {
        assert_eq!(gauss_rule(&[0.0, 0.0]).iter().map(|r| r.1).sum::<f64>(), 1.0);
        let weights: f64 = gauss_rule(&[2.0, 0.0, 1.0]).iter().filter(|r| r.0.abs() > 1.5).map(|r| r.1).sum();
        assert!((weights - 1.0).abs() < 1e-14);
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
