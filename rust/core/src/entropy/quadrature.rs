//! Stochastic Lanczos quadrature for the singular values that deflation leaves.
//!
//! ```text
//! tr f(B^T B) = E[z^T f(B^T B) z],   B = A (I - P P^T),   z random signs
//! ```
//!
//! Golub-Kahan bidiagonalization from `z` is the Lanczos process of `[0 B; B^T 0]`. Its tridiagonal
//! matrix has a zero diagonal and gives a Gauss rule for even functions of `sigma`, accurate also
//! for small `sigma` (squares would halve the digits). A rule with an odd number of nodes has a
//! node at 0, one with an even number has none. For `|sigma|`, which is not smooth at 0, the two
//! err to opposite sides. Two successive rules are mixed by how far each moved last, and the
//! distance to the nearer one is the stated error.
//!
//! There is no reorthogonalization: lost orthogonality repeats nodes and splits their weight, which
//! leaves the sums unchanged, and memory is a few blocks.
//!
//! The probes of several times are advanced together, because a step costs little more for many
//! columns than for few. All times use the same sign vectors.

use super::deflation::Deflation;
use super::gauss::gauss_rule;
use super::moments::Moments;
use crate::ground::tall::{
    TallBlock, TallRef, add_product, add_scaled_columns, gram, random_signs, scale_columns, squared_norms,
};
use crate::spectral::linear_map::image;
use crate::{Direction, Exec, Real, Result, Trajectory};

/// Settings of the probes of one time.
pub(super) struct ProbeSettings {
    pub time: usize,
    /// Moments of the values that the basis `P` takes.
    pub leading: Moments,
    pub probes: usize,
    /// Largest number of products with `A` or `A^T` per probe.
    pub max_steps: usize,
    /// Probes stop earlier if the entropies of two successive rules differ by at most this fraction
    /// of `scale`.
    pub tolerance: f64,
    /// An entropy; None is that of the first time.
    pub scale: Option<f64>,
    pub seed: u64,
}

/// `z^T f z` for each probe and its distance to the nearer of the two rules that it is mixed from.
pub(super) struct Quadrature {
    pub moments: Vec<Moments>,
    pub gaps: Vec<Moments>,
    /// Number of products of one vector with one step.
    pub column_steps: usize,
}

/// The quadrature for `A (I - P P^T)`, `A = W^t`, at increasing times `t`.
pub(super) fn quadratures<T: Real>(
    walk: &Trajectory<'_, T>,
    times: &[ProbeSettings],
    deflation: &Deflation<T>,
    exec: &Exec,
) -> Result<Vec<Quadrature>> {
    let mut probes = Vec::with_capacity(times.len());
    for settings in times {
        probes.push(ProbeBlock::new(walk.n(), settings, deflation, exec)?);
    }
    let mut found: Vec<Option<Quadrature>> = times.iter().map(|_| None).collect();
    let mut direction = Direction::Forward;
    while found.iter().any(Option::is_none) {
        exec.check()?;
        let mut going: Vec<_> = probes.iter_mut().zip(&mut found).filter(|(_, found)| found.is_none()).collect();
        let from: Vec<_> = going.iter().map(|(p, _)| (p.settings.time, p.current.view())).collect();
        let arrived = walk_together(walk, &from, direction, exec)?;
        for ((probes, _), next) in going.iter_mut().zip(arrived) {
            probes.advance(next, direction, exec)?;
        }
        let scale = probes[0].settings.scale.unwrap_or_else(|| probes[0].entropy(probes[0].rules.len() - 1));
        for (probes, found) in probes.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            *found = probes.result(scale, walk.steps().len());
        }
        direction = direction.flipped();
    }
    Ok(found.into_iter().flatten().collect())
}

/// `W^t x` or `(W^T)^t x` for several blocks `x`, each with its own time `t`, in increasing order.
fn walk_together<T: Real>(
    walk: &Trajectory<'_, T>,
    blocks: &[(usize, TallRef<'_, T>)],
    direction: Direction,
    exec: &Exec,
) -> Result<Vec<TallBlock<T>>> {
    let mut together = TallBlock::side_by_side(&blocks.iter().map(|&(_, block)| block).collect::<Vec<_>>(), exec)?;
    let mut reached = 0;
    let mut arrived = Vec::with_capacity(blocks.len());
    for &(time, block) in blocks {
        let next = image(&walk.power(time - reached), together.view(), direction, exec)?;
        reached = time;
        let (here, rest) = next.split(block.cols, exec)?;
        arrived.push(here);
        together = rest;
    }
    Ok(arrived)
}

/// The Lanczos processes of all probes of one time.
struct ProbeBlock<'a, T> {
    settings: &'a ProbeSettings,
    deflation: &'a Deflation<T>,
    /// Squared length of each probe.
    masses: Vec<f64>,
    current: TallBlock<T>,
    previous: TallBlock<T>,
    couplings: Vec<Vec<f64>>,
    /// Moments of each probe by the rules of 1, 2, ... steps.
    rules: Vec<Vec<Moments>>,
}

impl<'a, T: Real> ProbeBlock<'a, T> {
    fn new(n: usize, settings: &'a ProbeSettings, deflation: &'a Deflation<T>, exec: &Exec) -> Result<Self> {
        let cols = settings.probes;
        let mut current = random_signs::<T>(n, cols, settings.seed, 0)?;
        project_off(&mut current, deflation, exec)?;
        let masses = squared_norms(current.view(), exec)?;
        scale_columns(&mut current, &masses.iter().map(|m| inverse(m.sqrt())).collect::<Vec<_>>(), exec)?;
        let (previous, couplings) = (TallBlock::empty(), vec![Vec::new(); cols]);
        Ok(Self { settings, deflation, masses, current, previous, couplings, rules: Vec::new() })
    }

    /// Takes the product of the current vectors with `A` or `A^T`.
    fn advance(&mut self, mut next: TallBlock<T>, direction: Direction, exec: &Exec) -> Result<()> {
        if direction == Direction::Transposed {
            project_off(&mut next, self.deflation, exec)?;
        }
        if !self.rules.is_empty() {
            let last: Vec<f64> = self.couplings.iter().map(|c| -c[c.len() - 1]).collect();
            add_scaled_columns(&mut next, &self.previous, &last, exec)?;
        }
        let norms = squared_norms(next.view(), exec)?;
        for (coupling, norm) in self.couplings.iter_mut().zip(&norms) {
            // Once the vectors span an invariant space, the remainder is rounding.
            let largest = coupling.iter().copied().fold(0.0, f64::max);
            let norm = norm.sqrt();
            coupling.push(if norm > 8.0 * T::ROUNDOFF * largest { norm } else { 0.0 });
        }
        let factors: Vec<f64> = self.couplings.iter().map(|c| inverse(c[c.len() - 1])).collect();
        scale_columns(&mut next, &factors, exec)?;
        self.previous = std::mem::replace(&mut self.current, next);
        self.rules.push(self.couplings.iter().zip(&self.masses).map(|(c, &mass)| integrate(c, mass)).collect());
        Ok(())
    }

    /// The entropy by one of the rules.
    fn entropy(&self, rule: usize) -> f64 {
        let share = 1.0 / self.settings.probes as f64;
        self.rules[rule].iter().fold(self.settings.leading, |sum, &m| sum.plus(share, m)).entropy()
    }

    /// The sums, once two successive rules agree or the number of steps is reached.
    fn result(&self, scale: f64, steps_of_walk: usize) -> Option<Quadrature> {
        let Self { settings, rules, .. } = self;
        let step = rules.len();
        if step == 1 {
            return None;
        }
        let (last, before) = (step - 1, step - 2);
        let gap = (self.entropy(last) - self.entropy(before)).abs();
        if gap > settings.tolerance * scale && step < settings.max_steps {
            return None;
        }
        let total = |rule: usize| rules[rule].iter().map(|m| m.linear).sum::<f64>();
        // The two kinds of rules converge from opposite sides. The one that moved more is farther
        // away.
        let moved = |rule: usize| if rule < 2 { 1.0 } else { (total(rule) - total(rule - 2)).abs() };
        let both = moved(last) + moved(before);
        let share = if both > 0.0 { moved(before) / both } else { 0.5 };
        let pairs = || rules[last].iter().zip(&rules[before]);
        let mix = |a: f64, b: f64| pairs().map(|(&x, &y)| Moments::default().plus(a, x).plus(b, y)).collect();
        let uncertain = share.min(1.0 - share);
        let column_steps = step * settings.time * steps_of_walk * settings.probes;
        Some(Quadrature { moments: mix(share, 1.0 - share), gaps: mix(uncertain, -uncertain), column_steps })
    }
}

/// `x <- x - P P^T x`.
fn project_off<T: Real>(x: &mut TallBlock<T>, deflation: &Deflation<T>, exec: &Exec) -> Result<()> {
    let basis = deflation.basis.view();
    if basis.cols == 0 {
        return Ok(());
    }
    let coefficients: Vec<f64> = gram(basis, x.view(), exec)?.iter().map(|c| -c).collect();
    add_product(x, basis, &coefficients, exec)
}

/// `1 / value`, or 0 for 0.
fn inverse(value: f64) -> f64 {
    if value > 0.0 { 1.0 / value } else { 0.0 }
}

/// The moments by the Gauss rule of a tridiagonal matrix with zero diagonal, for a vector of
/// squared length `mass`.
fn integrate(couplings: &[f64], mass: f64) -> Moments {
    let mut moments = Moments::default();
    for (node, weight) in gauss_rule(couplings) {
        moments.add(mass * weight, node.abs());
    }
    // Exact without a rule: the first coupling is |A z| / |z|.
    moments.square = mass * couplings[0] * couplings[0];
    moments
}
