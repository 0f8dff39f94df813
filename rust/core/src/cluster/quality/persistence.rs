//! Persistence: the probability that a moving walk stays in its cluster, compared with chance.
//!
//! ```text
//! stay = mean over i of  (sum of P_ij over j != i in the cluster of i) / (sum of P_ij over j != i)
//! s    = (stay - chance) / (1 - chance),   chance = sum over clusters of (n_c / n)^2
//! persistence = -log(1 - s)
//! ```
//!
//! `chance` is the probability that a jump to a random point stays in its cluster. So labels
//! independent of the walk have persistence 0, whatever their number and sizes. The logarithm
//! counts how often the probability of leaving is halved. It distinguishes good labels even if
//! almost every step stays, and a view with excellent labels can outweigh one with mediocre labels.
//! Cost: O(entries).

use super::partition::Partition;
use crate::{Csr, Error, Exec, Real, Result};

/// Rows that one thread sums; the sums of pieces are added in order.
const ROWS: usize = 4096;

/// Computes the persistence of `labels`, all of `0..n_labels`, under a square matrix of steps;
/// larger is better.
///
/// The probability of leaving is at least `1 / n`, so that the score is finite.
pub fn persistence<T: Real>(steps: &Csr<T>, labels: &[u32], n_labels: usize, exec: &Exec) -> Result<f64> {
    let n = steps.n_rows();
    Error::check_size("columns of the steps", n, steps.n_cols())?;
    Error::check_size("labels", n, labels.len())?;
    let partition = Partition::new(labels, n_labels)?;
    let parts = exec.map(n.div_ceil(ROWS), |piece| {
        let (mut stays, mut moving) = (0.0, 0_usize);
        for i in piece * ROWS..((piece + 1) * ROWS).min(n) {
            let (mut within, mut all) = (0.0, 0.0);
            let (columns, values) = steps.row(i);
            for (&j, value) in columns.iter().zip(values).filter(|(j, _)| **j as usize != i) {
                let value = value.to_f64();
                all += value;
                within += if labels[j as usize] == labels[i] { value } else { 0.0 };
            }
            if all > 0.0 {
                stays += within / all;
                moving += 1;
            }
        }
        Ok((stays, moving))
    })?;
    let stays: f64 = parts.iter().map(|part| part.0).sum();
    let moving: usize = parts.iter().map(|part| part.1).sum();
    if moving == 0 {
        return Ok(0.0);
    }
    let share = |c: usize| partition.points(c).len() as f64 / n as f64;
    let chance: f64 = (0..partition.len()).map(|c| share(c) * share(c)).sum();
    let leaves = (1.0 - stays / moving as f64) / (1.0 - chance);
    Ok(-leaves.max(1.0 / n as f64).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pairs of points; a step leaves its pair with probability 1/4.
    #[test]
    fn persistence_is_relative_to_chance() {
        let indices = vec![0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3];
        let row = [[0.5, 0.375, 0.125], [0.375, 0.5, 0.125], [0.125, 0.5, 0.375], [0.125, 0.375, 0.5]];
        let steps = Csr::new(4, vec![0, 3, 6, 9, 12], indices, row.concat()).unwrap();
        let exec = Exec::with_threads(2);
        let of = |labels: &[u32]| persistence(&steps, labels, 2, &exec).unwrap();
        // A quarter of the moves leaves; half of the jumps to a random point would.
        assert!((of(&[0, 0, 1, 1]) - 2.0_f64.ln()).abs() < 1e-12);
        // Three quarters leave, worse than chance.
        assert!((of(&[0, 1, 0, 1]) + 1.5_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn identity_and_disconnected_walks_have_a_value() {
        let exec = Exec::with_threads(1);
        let idle = Csr::new(3, vec![0, 1, 2, 3], vec![0, 1, 2], vec![1.0; 3]).unwrap();
        assert_eq!(persistence(&idle, &[0, 0, 1], 2, &exec).unwrap(), 0.0);
        let pairs = Csr::new(4, vec![0, 1, 2, 3, 4], vec![1, 0, 3, 2], vec![1.0; 4]).unwrap();
        assert!((persistence(&pairs, &[0, 0, 1, 1], 2, &exec).unwrap() - 4.0_f64.ln()).abs() < 1e-12);
        assert!(persistence(&pairs, &[0, 0, 0, 0], 1, &exec).is_err());
    }
}
