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
//! - *Deflation.* An orthonormal `Q` of a few columns spans `M^t Omega`, `Omega` random, where the largest singular values are;
//!   `tr f = tr(Q^T f Q) + tr((I - Q Q^T) f (I - Q Q^T))` whatever `Q` is. The first part is computed column by column, the
//!   second is the mean of `z^T f z` over random sign vectors projected off `Q`. Without it the few large values that make
//!   up `A` at long times would be seen through a handful of signs.
//! - *Quadrature.* Golub-Kahan bidiagonalisation from a vector `z` is Lanczos on `[0 A; A^T 0]` from `(z, 0)`. Its tridiagonal
//!   matrix has a zero diagonal, and its eigenvalues and first eigenvector components are the nodes and weights of a Gauss
//!   rule for even functions of `sigma`, exact to working precision also for small `sigma` (squares would halve the digits).
//!   A rule with an odd number of nodes has one at 0, one with an even number none; for `|sigma|`, not smooth at 0 where most
//!   singular values are, they err to opposite sides. The mean of two successive rules is used, and their distance
//!   bounds its error.
//! - *No reorthogonalisation.* Lost orthogonality repeats nodes and splits their weight, which leaves the sum what it was, and
//!   memory stays at a few blocks instead of one for every step.
//!
//! Cost of one `t`: `t * ((steps + 1) * deflated + steps * probes)` products of one vector with `M` or `M^T`, memory four blocks
//! of `N * max(deflated, probes)` numbers. The vectors are the same at every `t`, so the curve over `t` is smooth
//! although each of its points is random.

use crate::block::Block;
use crate::columns::{add_product, combine, gram, orthonormalize, scale, squared_norms};
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

/// How the entropy is estimated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntropyOptions {
    /// Random sign vectors.
    pub probes: usize,
    /// Columns of `Q`.
    pub deflated: usize,
    /// Products with `A` or `A^T` for each vector, at most.
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
        if options.probes < 2 || options.max_steps < 2 {
            return Err(Error::Invalid(format!("expected at least 2 probes and 2 steps, got {options:?}")));
        }
        let mut cols = options.deflated.min(self.n());
        let mut sketch = random_signs::<T>(self.n(), cols, options.seed, SKETCH_KEY);
        let mut reached = 0;
        let mut estimates = Vec::with_capacity(times.len());
        for &time in times {
            let power = self.power(time);
            let mut map = Counter { map: &power, steps: time * self.steps().len(), column_steps: 0 };
            if cols > 0 {
                let mut next = Block::zeros(sketch.len());
                self.power(time - reached).apply(&sketch, cols, Direction::Forward, &mut next, exec)?;
                map.column_steps += (time - reached) * self.steps().len() * cols;
                sketch = next;
                reached = time;
            }
            let leading = leading_triplets(&mut map, sketch, cols, exec)?;
            estimates.push(estimate(&mut map, time, &leading, options, exec)?);
            (sketch, cols) = leading.worth_following(exec)?;
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
        let mut out = Block::zeros(x.len());
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

/// Approximate singular values of `A`, and vectors that belong to them.
struct Leading<T> {
    /// Ascending.
    values: Vec<f64>,
    /// `A` times an orthonormal basis, turned so that the columns are orthogonal with these values as norms.
    images: Block<T>,
    /// The orthonormal basis itself, not turned.
    right: Block<T>,
}

/// The singular values of `A P` for an orthonormal basis `P` of `A^T` times the sketch.
fn leading_triplets<T: Real, M: LinearMap<T>>(
    map: &mut Counter<'_, M>,
    mut sketch: Block<T>,
    cols: usize,
    exec: &Exec,
) -> Result<Leading<T>> {
    if cols == 0 {
        return Ok(Leading { values: Vec::new(), images: Block::zeros(0), right: Block::zeros(0) });
    }
    orthonormalize(&mut sketch, cols, exec)?;
    let mut right = map.apply(&sketch, cols, Direction::Transposed, exec)?;
    drop(sketch);
    orthonormalize(&mut right, cols, exec)?;
    let image = map.apply(&right, cols, Direction::Forward, exec)?;
    let products = gram(&image, cols, &image, cols, exec)?;
    let products = faer::Mat::from_fn(cols, cols, |i, j| products[i * cols + j]);
    let Ok(eigen) = products.self_adjoint_eigen(faer::Side::Lower) else {
        return Err(Error::Invalid("the operators gave numbers that are not finite".into()));
    };
    let values = (0..cols).map(|i| eigen.S()[i].max(0.0).sqrt()).collect();
    let rotation: Vec<f64> = (0..cols * cols).map(|k| eigen.U()[(k / cols, k % cols)]).collect();
    let mut images = Block::zeros(image.len());
    add_product(&mut images, cols, &image, cols, &rotation, exec)?;
    Ok(Leading { values, images, right })
}

impl<T: Real> Leading<T> {
    /// The left vectors whose values are large enough to matter at later times, and their number.
    fn worth_following(self, exec: &Exec) -> Result<(Block<T>, usize)> {
        let cols = self.values.len();
        let largest = self.values.last().copied().unwrap_or(0.0);
        let from = self.values.partition_point(|&v| v < NEGLIGIBLE * largest);
        let kept = cols - from;
        let mut block = Block::zeros(self.images.len() / cols.max(1) * kept);
        if kept > 0 {
            for (row, full) in block.chunks_exact_mut(kept).zip(self.images.chunks_exact(cols)) {
                row.copy_from_slice(&full[from..]);
            }
            let factors: Vec<f64> = self.values[from..].iter().map(|&v| inverse(v)).collect();
            scale(&mut block, &factors, exec)?;
        }
        Ok((block, kept))
    }
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
    let rest = quadrature(map, leading, known.linear, options, exec)?;
    let sum = |moments: &[Moments]| moments.iter().fold(Moments::default(), |a, &b| a.plus(1.0, b));
    let mean = known.plus(1.0 / probes, sum(&rest.moments));
    // Each probe's part in the entropy, to first order.
    let parts: Vec<f64> = rest.moments.iter().map(|&m| mean.differential(m)).collect();
    let centre = parts.iter().sum::<f64>() / probes;
    let variance = parts.iter().map(|p| (p - centre) * (p - centre)).sum::<f64>() / (probes * (probes - 1.0));
    let quadrature_error = mean.differential(sum(&rest.gaps)) / probes;
    if std::env::var("MDT_DEBUG").is_ok() {
        eprintln!("t {time} cols {} steps {} known {:.4} rest {:.4} S {:.4} se {:.4} q {:.4} cs {}", leading.values.len(), rest.steps, known.linear,
            mean.linear - known.linear, mean.entropy(), variance.sqrt(), quadrature_error, map.column_steps);
    }
    Ok(EntropyEstimate {
        time,
        entropy: mean.entropy(),
        error: (variance + quadrature_error * quadrature_error).sqrt(),
        column_steps: map.column_steps,
    })
}

/// `z^T f(A A^T) z` for each starting vector, and half the distance between the two rules that it is the mean of.
#[derive(Debug, Default)]
struct Quadrature {
    moments: Vec<Moments>,
    gaps: Vec<Moments>,
    steps: usize,
}

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
    let mut rules: Vec<Moments> = vec![Moments::default(); cols];
    for step in 1..=options.max_steps {
        exec.check()?;
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
        let before = rules;
        rules = couplings.iter().zip(&masses).map(|(c, &mass)| integrate(c, mass)).collect();
        let gap: f64 = rules.iter().zip(&before).map(|(a, b)| a.linear - b.linear).sum();
        let total = known * 2.0 * cols as f64 + rules.iter().zip(&before).map(|(a, b)| a.linear + b.linear).sum::<f64>();
        if step > 1 && gap.abs() <= options.tolerance * total || step == options.max_steps {
            let halves = |sign: f64| {
                let pair = |(a, b): (&Moments, &Moments)| Moments::default().plus(0.5, *a).plus(0.5 * sign, *b);
                rules.iter().zip(&before).map(pair).collect()
            };
            return Ok(Quadrature { moments: halves(1.0), gaps: halves(-1.0), steps: step });
        }
    }
    Ok(Quadrature::default())
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
    // Known without a rule, also at two nodes: the first coupling is |A^T z| / |z|.
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
    let mut block = Block::zeros(n * cols);
    let mut streams: Vec<Stream> = (0..cols).map(|c| Stream::new(seed, key + c as u64)).collect();
    if cols > 0 {
        for row in block.chunks_exact_mut(cols) {
            row.iter_mut().zip(&mut streams).for_each(|(v, stream)| *v = T::from_f64(stream.sign()));
        }
    }
    block
}
