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
        let deflated = options.deflated.min(self.n());
        let mut sketch = random_signs::<T>(self.n(), deflated, options.seed, SKETCH_KEY);
        let mut reached = 0;
        let mut estimates = Vec::with_capacity(times.len());
        for &time in times {
            let power = self.power(time);
            let mut counter = Counter { map: &power, steps: time * self.steps().len(), column_steps: 0 };
            if deflated > 0 {
                // The span of M^t Omega, made orthonormal on the way so that its columns do not become parallel.
                let mut next = Block::zeros(sketch.len());
                let further = self.power(time - reached);
                further.apply(&sketch, deflated, Direction::Forward, &mut next, exec)?;
                counter.column_steps += (time - reached) * self.steps().len() * deflated;
                orthonormalize(&mut next, deflated, exec)?;
                sketch = next;
                reached = time;
            }
            estimates.push(estimate(&mut counter, time, &sketch, deflated, options, exec)?);
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

fn estimate<T: Real, M: LinearMap<T>>(
    map: &mut Counter<'_, M>,
    time: usize,
    basis: &[T],
    deflated: usize,
    options: &EntropyOptions,
    exec: &Exec,
) -> Result<EntropyEstimate> {
    let probes = options.probes;
    let mut start = random_signs::<T>(map.map.n(), probes, options.seed, 0);
    let mut leading = Quadrature::default();
    if deflated > 0 {
        let coefficients: Vec<f64> = gram(basis, deflated, &start, probes, exec)?.iter().map(|c| -c).collect();
        add_product(&mut start, probes, basis, deflated, &coefficients, exec)?;
        let vectors = ritz_vectors(map, basis, deflated, exec)?;
        leading = quadrature(map, vectors, deflated, options, exec)?;
    }
    let rest = quadrature(map, start, probes, options, exec)?;
    let sum = |moments: &[Moments]| moments.iter().fold(Moments::default(), |a, &b| a.plus(1.0, b));
    let mean = sum(&leading.moments).plus(1.0 / probes as f64, sum(&rest.moments));
    // Each probe's part in the entropy, to first order.
    let parts: Vec<f64> = rest.moments.iter().map(|&m| mean.differential(m)).collect();
    let centre = parts.iter().sum::<f64>() / probes as f64;
    let variance = parts.iter().map(|p| (p - centre) * (p - centre)).sum::<f64>() / (probes * (probes - 1)) as f64;
    let gap = sum(&leading.gaps).plus(1.0 / probes as f64, sum(&rest.gaps));
    let quadrature_error = mean.differential(gap);
    Ok(EntropyEstimate {
        time,
        entropy: mean.entropy(),
        error: (variance + quadrature_error * quadrature_error).sqrt(),
        column_steps: map.column_steps,
    })
}

/// The basis turned so that its columns come close to singular vectors: those of `Q^T A`.
fn ritz_vectors<T: Real, M: LinearMap<T>>(
    map: &mut Counter<'_, M>,
    basis: &[T],
    cols: usize,
    exec: &Exec,
) -> Result<Block<T>> {
    let image = map.apply(basis, cols, Direction::Transposed, exec)?;
    let products = gram(&image, cols, &image, cols, exec)?;
    let products = faer::Mat::from_fn(cols, cols, |i, j| products[i * cols + j]);
    let Ok(eigen) = products.self_adjoint_eigen(faer::Side::Lower) else {
        return Err(Error::Invalid("the operators gave numbers that are not finite".into()));
    };
    let rotation: Vec<f64> = (0..cols * cols).map(|k| eigen.U()[(k / cols, k % cols)]).collect();
    let mut vectors = Block::zeros(basis.len());
    add_product(&mut vectors, cols, basis, cols, &rotation, exec)?;
    Ok(vectors)
}

/// `z^T f(A A^T) z` for each starting vector, and half the distance between the two rules that it is the mean of.
#[derive(Debug, Default)]
struct Quadrature {
    moments: Vec<Moments>,
    gaps: Vec<Moments>,
}

fn quadrature<T: Real, M: LinearMap<T>>(
    map: &mut Counter<'_, M>,
    start: Block<T>,
    cols: usize,
    options: &EntropyOptions,
    exec: &Exec,
) -> Result<Quadrature> {
    let ones = vec![1.0; cols];
    let masses = squared_norms(&start, cols, exec)?;
    let mut current = start;
    let mut previous = Block::zeros(current.len());
    scale(&mut current, &masses.iter().map(|m| inverse(m.sqrt(), 0.0)).collect::<Vec<_>>(), exec)?;
    let mut couplings: Vec<Vec<f64>> = vec![Vec::new(); cols];
    let mut rules: Vec<Moments> = vec![Moments::default(); cols];
    for step in 1..=options.max_steps {
        exec.check()?;
        let direction = if step % 2 == 1 { Direction::Transposed } else { Direction::Forward };
        let mut next = map.apply(&current, cols, direction, exec)?;
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
        let factors: Vec<f64> = couplings.iter().map(|c| inverse(c[step - 1], 0.0)).collect();
        scale(&mut next, &factors, exec)?;
        previous = current;
        current = next;
        let before = rules;
        rules = couplings.iter().zip(&masses).map(|(c, &mass)| integrate(c, mass)).collect();
        let gap: f64 = rules.iter().zip(&before).map(|(a, b)| a.linear - b.linear).sum();
        let total: f64 = rules.iter().zip(&before).map(|(a, b)| a.linear + b.linear).sum();
        if step > 2 && (gap.abs() <= options.tolerance * total || step == options.max_steps) || step == options.max_steps {
            let halves = |sign: f64| {
                let pair = |(a, b): (&Moments, &Moments)| Moments::default().plus(0.5, *a).plus(0.5 * sign, *b);
                rules.iter().zip(&before).map(pair).collect()
            };
            return Ok(Quadrature { moments: halves(1.0), gaps: halves(-1.0) });
        }
    }
    Ok(Quadrature::default())
}

fn inverse(value: f64, otherwise: f64) -> f64 {
    if value > 0.0 { 1.0 / value } else { otherwise }
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
