//! Calinski-Harabasz score: scatter between clusters over scatter within clusters.
//!
//! ```text
//! CH = (sum_c n_c |m_c - m|^2 / (k - 1)) / (sum_i |x_i - m_c(i)|^2 / (n - k))
//! ```
//!
//! Cost: O(entries), for sparse rows too. A row without an entry in a column is at squared distance
//! `m^2` from the mean in this column, so only the number of such rows is needed. The shorter
//! formula `sum |x|^2 - sum_c n_c |m_c|^2` cancels.
//!
//! Reference: Calinski and Harabasz 1974, doi:10.1080/03610927408827101.

use super::partition::Partition;
use super::points::{FramedPoints, Mean};
use crate::graph::neighbours::Features;
use crate::{Error, Exec, Real, Result};

/// Fewer numbers than this are summed by one thread.
const SMALL: usize = 1 << 16;

/// Computes the score of `labels`, all of `0..n_labels`; larger is better.
///
/// The score is 1 if the points of each cluster coincide.
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

/// Computes the means of all clusters.
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
