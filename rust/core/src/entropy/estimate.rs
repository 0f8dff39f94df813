//! Estimates of the entropy at increasing times, with their errors.

use super::deflation::Deflation;
use super::moments::Moments;
use super::quadrature::{ProbeSettings, Quadrature, quadratures};
use crate::ground::idle::Reuse;
use crate::reorder::in_cache_order;
use crate::{Error, Exec, Real, Result, Trajectory};

/// Probes of several times are advanced together while they have at most this many columns.
const COLUMNS_TOGETHER: usize = 64;

/// Up to this time every probe takes all its steps. Knees are there, and a changing number of steps
/// would be visible in the curve.
const FULL_EFFORT: usize = 16;
/// Fewest steps of a probe, at long times.
const FEWEST_STEPS: usize = 6;

/// Options of the estimate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntropyOptions {
    /// Number of random sign vectors.
    pub probes: usize,
    /// Number of columns of `P`.
    pub deflated: usize,
    /// Largest number of products with `A` or `A^T` per probe; fewer beyond time 16, at constant
    /// cost.
    pub max_steps: usize,
    /// Probes stop earlier if the entropies of two successive rules differ by at most this fraction
    /// of `scale`.
    pub tolerance: f64,
    /// An entropy; None is that of the first time.
    pub scale: Option<f64>,
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
    /// Standard error over the probes combined with the error of the quadrature.
    pub error: f64,
    /// Number of products of one vector with one step.
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
        let first = times.first().copied().unwrap_or(1);
        if first == 0 || !times.is_sorted_by(|a, b| a < b) {
            return Err(Error::Invalid(format!("expected increasing times from 1 on, got {times:?}")));
        }
        let EntropyOptions { probes, deflated, max_steps, tolerance, mut scale, seed } = *options;
        if probes < 2 {
            return Err(Error::Invalid(format!("expected at least 2 probes, got {probes}")));
        }
        let _reuse = Reuse::new();
        // The entropy does not depend on the order of the points.
        let walk = self.over(in_cache_order(self.set(), exec)?);
        let deflation = Deflation::new(&walk, first, deflated, seed, exec)?;
        let leading = deflation.moments(&walk, times, exec)?;
        let times: Vec<_> = times.iter().copied().zip(leading).collect();
        let mut estimates: Vec<EntropyEstimate> = Vec::with_capacity(times.len());
        let mut reached = 0;
        for together in times.chunks((COLUMNS_TOGETHER / probes).max(1)) {
            let settings = |&(time, leading): &(usize, Moments)| {
                let max_steps = (max_steps * FULL_EFFORT / time).clamp(FEWEST_STEPS, max_steps.max(FEWEST_STEPS));
                ProbeSettings { time, leading, probes, max_steps, tolerance, scale, seed }
            };
            let together: Vec<_> = together.iter().map(settings).collect();
            for (at, rest) in together.iter().zip(quadratures(&walk, &together, &deflation, exec)?) {
                let deflated = (at.time - std::mem::replace(&mut reached, at.time)) * deflation.cols();
                estimates.push(entropy(at, &rest, deflated * walk.steps().len()));
            }
            scale = scale.or(Some(estimates[0].entropy));
        }
        Ok(estimates)
    }
}

/// The entropy from the leading values and the quadrature of the others.
fn entropy(at: &ProbeSettings, rest: &Quadrature, column_steps: usize) -> EntropyEstimate {
    let probes = rest.moments.len() as f64;
    let sum = |moments: &[Moments]| moments.iter().fold(Moments::default(), |a, &b| a.plus(1.0, b));
    let mean = at.leading.plus(1.0 / probes, sum(&rest.moments));
    // The contribution of each probe to the entropy, to first order.
    let parts: Vec<f64> = rest.moments.iter().map(|&m| mean.differential(m)).collect();
    let centre = parts.iter().sum::<f64>() / probes;
    let variance = parts.iter().map(|p| (p - centre) * (p - centre)).sum::<f64>() / (probes * (probes - 1.0));
    let quadrature_error = mean.differential(sum(&rest.gaps)) / probes;
    EntropyEstimate {
        time: at.time,
        entropy: mean.entropy(),
        error: (variance + quadrature_error * quadrature_error).sqrt(),
        column_steps: column_steps + rest.column_steps,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::ground::csr::Csr;
    use crate::walk::member::Member;
    use crate::walk::operator_set::OperatorSet;
    use crate::walk::transition::Transition;

    const OPTIONS: EntropyOptions =
        EntropyOptions { probes: 8, deflated: 16, max_steps: 20, tolerance: 0.005, scale: None, seed: 3 };

    fn estimates<T: Real>(set: &OperatorSet<T>, times: &[usize], exec: &Exec) -> Result<Vec<EntropyEstimate>> {
        Trajectory::new(set, &[1.0])?.singular_entropy(times, &OPTIONS, exec)
    }

    /// A lazy walk on a ring: a symmetric matrix with eigenvalues cos^2(pi k / n).
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
        let (n, set) = (600, ring::<f64>(600));
        // Each time has its own basis: that of the first time errs at much longer ones.
        for time in [1, 2, 5, 12, 50] {
            let e = estimates(&set, &[time], &Exec::with_threads(2)).unwrap()[0];
            let expected = exact(n, time);
            assert!((e.entropy - expected).abs() < 0.05 * expected, "{e:?}, expected {expected}");
            assert!((e.entropy - expected).abs() < 4.0 * e.error + 1e-9, "{e:?}, expected {expected}");
        }
    }

    #[test]
    fn single_precision_agrees() {
        let (exec, times) = (Exec::with_threads(1), [1, 4, 16]);
        let a = estimates(&ring::<f64>(300), &times, &exec).unwrap();
        let b = estimates(&ring::<f32>(300), &times, &exec).unwrap();
        for (a, b) in a.iter().zip(&b) {
            assert!((a.entropy - b.entropy).abs() < 0.01 * a.entropy, "{a:?} {b:?}");
        }
    }

    #[test]
    fn same_bits_at_any_thread_count() {
        let set = ring::<f64>(9000);
        let run = |threads| estimates(&set, &[1, 3], &Exec::with_threads(threads)).unwrap();
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
            assert!(estimates(&set, &times, &exec).is_err());
        }
        assert!(walk.singular_entropy(&[1], &EntropyOptions { probes: 1, ..OPTIONS }, &exec).is_err());
        let stopped = Exec::new(1, Arc::new(AtomicBool::new(true)));
        assert_eq!(estimates(&set, &[1], &stopped).unwrap_err(), Error::Interrupted);
    }
}
