//! Davies-Bouldin score: widths of clusters over distances of their means.
//!
//! ```text
//! DB = mean over c of  max over c' != c of  (s_c + s_c') / |m_c - m_c'|
//! s_c = mean distance of the points of cluster c to their mean m_c
//! ```
//!
//! Cost: O(entries) and `k^2` distances of means.
//!
//! Reference: Davies and Bouldin 1979, doi:10.1109/TPAMI.1979.4766909.

use super::calinski_harabasz::cluster_means;
use super::partition::Partition;
use super::points::FramedPoints;
use crate::graph::neighbours::Features;
use crate::{Exec, Real, Result};

/// If all widths or all distances of means are at most this, in units of the largest coordinate,
/// the score is 0. scikit-learn uses the same number in the units of the data, so its score depends
/// on them.
const NEGLIGIBLE: f64 = 1e-8;

/// Computes the score of `labels`, all of `0..n_labels`; smaller is better.
///
/// The score is 0 if the points of each cluster, or all means, coincide. Pairs of clusters with
/// equal means are skipped.
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
