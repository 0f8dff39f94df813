//! The Calinski-Harabasz score: scatter between clusters over scatter within, each by its degrees of freedom.
//!
//! ```text
//! CH = (sum_c n_c |m_c - m|^2 / (k - 1)) / (sum_i |x_i - m_c(i)|^2 / (n - k))
//! ```
//!
//! Costs O(entries), for sparse rows too: a column that a row does not have is at distance `m^2` from the mean, and only how many
//! such rows there are is needed. The shorter `sum |x|^2 - sum_c n_c |m_c|^2` would cancel.

use super::partition::Partition;
use super::points::{FramedPoints, Mean};
use crate::graph::neighbours::Features;
use crate::ground::exec::Exec;
use crate::{Error, Real, Result};

/// Fewer numbers than this are summed on the calling thread.
const SMALL: usize = 1 << 16;

/// The score of `labels`, all of `0..n_labels`; larger is better, 1 when every cluster is a single point repeated.
pub fn calinski_harabasz<T: Real>(
    points: Features<'_, T>,
    labels: &[u32],
    n_labels: usize,
    exec: &Exec,
) -> Result<f64> {
    let partition = Partition::new(labels, n_labels)?;
    let points = FramedPoints::new(points, exec)?;
    let means = cluster_means(&points, &partition, exec)?;
    let within: f64 = means.iter().map(|mean| mean.scatter).sum();
    if within == 0.0 {
        return Ok(1.0);
    }
    let (n, k) = (partition.n() as f64, partition.len() as f64);
    Ok(Mean::scatter_between(&means) * (n - k) / (within * (k - 1.0)))
}

/// Means of all clusters.
pub(super) fn cluster_means<T: Real>(
    points: &FramedPoints<'_, T>,
    partition: &Partition,
    exec: &Exec,
) -> Result<Vec<Mean>> {
    Error::check_size("labels", points.len(), partition.n())?;
    let mut means = vec![Mean::default(); partition.len()];
    let at_a_time = if points.size() < SMALL { means.len() } else { 1 };
    exec.for_pieces(
        &mut means,
        at_a_time,
        || points.scratch(),
        |first, piece, scratch| -> Result<()> {
            for (c, mean) in piece.iter_mut().enumerate() {
                *mean = points.mean(partition.points(first + c), scratch, exec)?;
            }
            Ok(())
        },
    )?;
    Ok(means)
}
