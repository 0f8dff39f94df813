//! The Davies-Bouldin score: how wide clusters are compared with how far apart their means are.
//!
//! ```text
//! DB = mean over c of  max over c' of  (s_c + s_c') / |m_c - m_c'|,   s_c the mean distance of cluster c's points to m_c
//! ```
//!
//! Costs O(entries) and O(k^2) distances of means.

use super::calinski_harabasz::cluster_means;
use super::partition::Partition;
use super::points::FramedPoints;
use crate::graph::neighbours::Features;
use crate::ground::exec::Exec;
use crate::{Real, Result};

/// Widths and distances of means up to this, in units of the largest coordinate, count as 0 when all of them are.
/// scikit-learn has the same number in the units of the data, so that it depends on them.
const NEGLIGIBLE: f64 = 1e-8;

/// The score of `labels`, all of `0..n_labels`; smaller is better, 0 when all clusters (or all their means) are single points.
/// Pairs of clusters with equal means do not count.
pub fn davies_bouldin<T: Real>(points: Features<'_, T>, labels: &[u32], n_labels: usize, exec: &Exec) -> Result<f64> {
    let partition = Partition::new(labels, n_labels)?;
    let points = FramedPoints::new(points, exec)?;
    let means = cluster_means(&points, &partition, exec)?;
    let k = means.len();
    let mut widths = vec![0.0; k];
    exec.for_pieces(
        &mut widths,
        1,
        || points.scratch(),
        |c, width, scratch| -> Result<()> {
            width[0] = points.mean_distance(partition.points(c), &means[c], scratch, exec)?;
            Ok(())
        },
    )?;
    let distances =
        exec.map(k, |c| Ok(means.iter().map(|m| means[c].squared_distance(m).sqrt()).collect::<Vec<f64>>()))?;
    let is_negligible = |value: &f64| *value <= NEGLIGIBLE;
    if widths.iter().all(is_negligible) || distances.iter().flatten().all(is_negligible) {
        return Ok(0.0);
    }
    let worst = |c: usize| {
        let ratio = |o: usize| if distances[c][o] == 0.0 { 0.0 } else { (widths[c] + widths[o]) / distances[c][o] };
        (0..k).map(ratio).fold(0.0, f64::max)
    };
    Ok((0..k).map(worst).sum::<f64>() / k as f64)
}
