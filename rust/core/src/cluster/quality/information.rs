//! Information: what the cluster of a walk tells about its cluster after one move.
//!
//! ```text
//! J_ab  = probability that a moving walk from a random point goes from cluster a to cluster b
//! I     = sum of J_ab log(J_ab / (J_a. J_.b)),   H = entropy of the sizes of the clusters
//! score = I / sqrt(H)
//! ```
//!
//! `I` is at most `H`. Its square over `H` is the information `I` times the share `I / H` that one
//! move keeps, so the score requires both. One large cluster and a few small cliques keep nearly
//! everything of little information: persistence prefers such labels, this score does not. Labels
//! independent of the walk have score 0. Cost: O(entries + k^2) for k clusters, O(k) memory.

use super::partition::Partition;
use crate::{Csr, Error, Exec, Real, Result};

/// Pieces into which the clusters are divided; the sums of pieces are added in order.
const PIECES: usize = 32;

/// Sums over the clusters of one piece, in units of points: a probability is a sum over `moving`.
struct Sums {
    /// Points that can move.
    moving: f64,
    /// Sum of `x log x` over the entries of the joint distribution.
    joint: f64,
    /// Sum of `x log x` over the marginals at the start.
    starts: f64,
    /// The marginals after the move.
    ends: Vec<f64>,
}

/// Computes the score of `labels`, all of `0..n_labels`, under a square matrix of steps; larger is
/// better.
pub fn information<T: Real>(steps: &Csr<T>, labels: &[u32], n_labels: usize, exec: &Exec) -> Result<f64> {
    let n = steps.n_rows();
    Error::check_size("columns of the steps", n, steps.n_cols())?;
    Error::check_size("labels", n, labels.len())?;
    let partition = Partition::new(labels, n_labels)?;
    let pieces = PIECES.min(n_labels);
    let first = |piece: usize| piece * n_labels / pieces;
    let parts = exec.map(pieces, |piece| {
        let mut sums = Sums { moving: 0.0, joint: 0.0, starts: 0.0, ends: vec![0.0; n_labels] };
        let mut row = vec![0.0; n_labels];
        for cluster in first(piece)..first(piece + 1) {
            let moving = moves_from(steps, labels, partition.points(cluster), &mut row);
            sums.moving += moving;
            sums.starts += x_log_x(moving);
            for (end, moves) in sums.ends.iter_mut().zip(&row) {
                *end += moves;
                sums.joint += x_log_x(*moves);
            }
        }
        Ok(sums)
    })?;
    let moving: f64 = parts.iter().map(|part| part.moving).sum();
    if moving == 0.0 {
        return Ok(0.0);
    }
    let total = |of: fn(&Sums) -> f64| parts.iter().map(of).sum::<f64>();
    let ends: f64 = (0..n_labels).map(|c| x_log_x(parts.iter().map(|part| part.ends[c]).sum())).sum();
    let shared = (total(|part| part.joint) - total(|part| part.starts) - ends) / moving + moving.ln();
    let share = |c: usize| partition.points(c).len() as f64 / n as f64;
    let entropy: f64 = -(0..n_labels).map(|c| x_log_x(share(c))).sum::<f64>();
    Ok(shared.max(0.0) / entropy.sqrt())
}

/// Adds up where the points of one cluster move, in `row`; returns how many of them can move.
fn moves_from<T: Real>(steps: &Csr<T>, labels: &[u32], points: &[u32], row: &mut [f64]) -> f64 {
    row.fill(0.0);
    let mut moving = 0.0;
    for &i in points {
        let (columns, values) = steps.row(i as usize);
        let others = || columns.iter().zip(values).filter(|(j, _)| **j != i);
        let all: f64 = others().map(|(_, value)| value.to_f64()).sum();
        if all > 0.0 {
            moving += 1.0;
            for (&j, value) in others() {
                row[labels[j as usize] as usize] += value.to_f64() / all;
            }
        }
    }
    moving
}

fn x_log_x(x: f64) -> f64 {
    if x > 0.0 { x * x.ln() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two pairs of points; a step leaves its pair with probability 1/4.
    fn pairs() -> Csr<f64> {
        let indices = vec![0, 1, 2, 0, 1, 3, 0, 2, 3, 1, 2, 3];
        let row = [[0.5, 0.375, 0.125], [0.375, 0.5, 0.125], [0.125, 0.5, 0.375], [0.125, 0.375, 0.5]];
        Csr::new(4, vec![0, 3, 6, 9, 12], indices, row.concat()).unwrap()
    }

    #[test]
    fn information_is_that_of_the_joint_distribution() {
        let exec = Exec::with_threads(2);
        let of = |labels: &[u32]| information(&pairs(), labels, 2, &exec).unwrap();
        // Joint distribution 3/8, 1/8, 1/8, 3/8; entropy log 2.
        let expected = 2.0 * (0.375 * 1.5_f64.ln() + 0.125 * 0.5_f64.ln()) / 2.0_f64.ln().sqrt();
        assert!((of(&[0, 0, 1, 1]) - expected).abs() < 1e-12);
        // Every move to the other cluster is as informative as every move to the own one.
        assert!((of(&[0, 1, 1, 0]) - of(&[0, 1, 0, 1])).abs() > 1e-3);
    }

    #[test]
    fn idle_and_disconnected_walks_have_a_value() {
        let exec = Exec::with_threads(1);
        let idle = Csr::new(3, vec![0, 1, 2, 3], vec![0, 1, 2], vec![1.0; 3]).unwrap();
        assert_eq!(information(&idle, &[0, 0, 1], 2, &exec).unwrap(), 0.0);
        let apart = Csr::new(4, vec![0, 1, 2, 3, 4], vec![1, 0, 3, 2], vec![1.0; 4]).unwrap();
        // Nothing is lost: I = H = log 2.
        assert!((information(&apart, &[0, 0, 1, 1], 2, &exec).unwrap() - 2.0_f64.ln().sqrt()).abs() < 1e-12);
        assert!(information(&apart, &[0, 0, 0, 0], 1, &exec).is_err());
    }

    /// A ring of 40 points whose first two points form a pair that hardly leaves itself.
    #[test]
    fn a_small_clique_is_worth_less_than_two_halves() {
        let exec = Exec::with_threads(1);
        let n = 40_u32;
        let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for i in 0..n {
            let share = if i < 2 { 0.99 } else { 0.5 };
            let (partner, other) = if i == 0 { (1, n - 1) } else { (i - 1, (i + 1) % n) };
            let mut row = [(partner, share), (other, 1.0 - share)];
            row.sort_by_key(|entry| entry.0);
            indices.extend(row.map(|entry| entry.0));
            values.extend(row.map(|entry| entry.1));
            indptr.push(indices.len() as u64);
        }
        let ring = Csr::new(n as usize, indptr, indices, values).unwrap();
        let halves: Vec<u32> = (0..n).map(|i| u32::from(i >= n / 2)).collect();
        let clique: Vec<u32> = (0..n).map(|i| u32::from(i >= 2)).collect();
        let score = |labels: &[u32]| information(&ring, labels, 2, &exec).unwrap();
        assert!(score(&halves) > score(&clique));
    }
}
