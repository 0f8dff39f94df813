//! The stationary distribution and the diffusion distances of a trajectory.
//!
//! ```text
//! pi = W^T pi,   D(i, j)^2 = sum_k (W_ik - W_jk)^2 / pi_k
//! ```
//!
//! Reference: Coifman and Lafon 2006, doi:10.1016/j.acha.2006.04.006.

use crate::ground::block::Block;
use crate::{Direction, Error, Exec, Real, Result, Trajectory};

/// A stationary distribution and its accuracy.
#[derive(Debug, Clone, PartialEq)]
pub struct Stationary {
    /// The distribution; it sums to 1.
    pub distribution: Vec<f64>,
    /// `|W^T pi - pi|_1` of the last iteration.
    pub residual: f64,
    /// Number of products with the whole trajectory.
    pub iterations: usize,
}

impl<T: Real> Trajectory<'_, T> {
    /// Iterates `pi <- W^T pi` from the uniform distribution until `|W^T pi - pi|_1 <= tolerance`.
    pub fn stationary_distribution(&self, tolerance: f64, max_iterations: usize, exec: &Exec) -> Result<Stationary> {
        let n = self.n();
        let mut pi = vec![T::from_f64(1.0 / n as f64); n];
        let mut next = vec![T::ZERO; n];
        let (mut residual, mut iterations) = (f64::INFINITY, 0);
        while iterations < max_iterations && residual > tolerance {
            exec.check()?;
            self.apply(&pi, 1, Direction::Transposed, &mut next, exec)?;
            let total: f64 = next.iter().map(|v| v.to_f64()).sum();
            next.iter_mut().for_each(|v| *v = T::from_f64(v.to_f64() / total));
            residual = pi.iter().zip(&next).map(|(a, b)| (a.to_f64() - b.to_f64()).abs()).sum();
            std::mem::swap(&mut pi, &mut next);
            iterations += 1;
        }
        let total: f64 = pi.iter().map(|v| v.to_f64()).sum();
        let distribution = pi.iter().map(|v| v.to_f64() / total).collect();
        Ok(Stationary { distribution, residual, iterations })
    }

    /// Distances `sqrt(sum_k inverse_weight_k (W_ik - W_jk)^2)` between the chosen rows of `W`, as
    /// an `m x m` matrix.
    ///
    /// Rows come from one transposed pass over unit vectors (`N * m` elements). Differences are
    /// squared directly, so equal rows have distance 0 and near rows suffer no cancellation.
    pub fn diffusion_distances(
        &self,
        rows: &[usize],
        inverse_weights: Option<&[f64]>,
        exec: &Exec,
    ) -> Result<Vec<f64>> {
        let (n, m) = (self.n(), rows.len());
        if let Some(w) = inverse_weights {
            Error::check_size("weights", n, w.len())?;
        }
        if let Some(row) = rows.iter().find(|&&r| r >= n) {
            return Err(Error::Invalid(format!("expected rows below {n}, got {row}")));
        }
        let mut units = Block::zeros(n * m)?;
        rows.iter().enumerate().for_each(|(c, &r)| units[r * m + c] = T::ONE);
        let mut w = Block::zeros(n * m)?;
        self.apply(&units, m, Direction::Transposed, &mut w, exec)?;
        drop(units);
        let lines = exec.map(m, |i| {
            let mut line = vec![0.0; m];
            for (k, states) in w.chunks_exact(m).enumerate() {
                let weight = inverse_weights.map_or(1.0, |w| w[k]);
                let own = states[i].to_f64();
                for (sum, &other) in line.iter_mut().zip(states) {
                    let difference = own - other.to_f64();
                    *sum += weight * (difference * difference);
                }
                if k % 65_536 == 0 {
                    exec.check()?;
                }
            }
            line.iter_mut().for_each(|d: &mut f64| *d = d.sqrt());
            Ok(line)
        })?;
        Ok(lines.concat())
    }
}
