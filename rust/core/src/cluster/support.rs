//! Support of the neighbours: the probability that a walk stays in the cluster of its start.
//!
//! ```text
//! s_0 = 1,   s_(k+1)(i) = (sum of P_ij s_k(j) over j != i in the cluster of i) / (sum of P_ij over j != i)
//! ```
//!
//! Only moves to other points count. A point without a neighbour has no move, and its probability is
//! 0. Cost: O(entries) for each move.

use crate::ground::memory;
use crate::{Csr, Error, Exec, Real, Result};

/// Rows that one thread processes at a time.
const ROWS: usize = 4096;

/// The probability that the first `moves` moves from each point are in its cluster.
pub fn support<T: Real>(steps: &Csr<T>, clusters: &[u32], moves: usize, exec: &Exec) -> Result<Vec<f64>> {
    let n = steps.n_rows();
    Error::check_size("columns of the steps", n, steps.n_cols())?;
    Error::check_size("labels", n, clusters.len())?;
    let mut stays = memory::collect((0..n).map(|_| 1.0))?;
    for _ in 0..moves {
        let mut next = memory::zeros(n)?;
        exec.each_piece(&mut next, ROWS, |first, piece| {
            for (i, out) in piece.iter_mut().enumerate() {
                let i = first + i;
                let (mut inside, mut all) = (0.0, 0.0);
                let (columns, values) = steps.row(i);
                for (&j, value) in columns.iter().zip(values).filter(|(j, _)| **j as usize != i) {
                    let (j, value) = (j as usize, value.to_f64());
                    all += value;
                    inside += if clusters[j] == clusters[i] { value * stays[j] } else { 0.0 };
                }
                // Rounding can exceed 1 by some units in the last place.
                *out = if all > 0.0 { (inside / all).min(1.0) } else { 0.0 };
            }
        })?;
        stays = next;
    }
    Ok(stays)
}
