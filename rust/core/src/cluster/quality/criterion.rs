//! Criteria of clusters.

use super::{Sample, calinski_harabasz, davies_bouldin, persistence, silhouette};
use crate::graph::neighbours::Features;
use crate::{Error, Exec, Real, Result};

/// A score of labels on points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Criterion {
    /// Scatter between clusters over scatter within clusters.
    CalinskiHarabasz,
    /// Widths of clusters over distances of their means.
    DaviesBouldin,
    /// Distance of points to their own cluster against the nearest other cluster, on a sample or on
    /// all points.
    Silhouette(Option<Sample>),
    /// Probability that a step of the walk stays in its cluster; for walks only.
    Persistence,
}

impl Criterion {
    /// Computes the score of labels `0..n_labels` on points.
    pub fn of<T: Real>(self, points: Features<'_, T>, labels: &[u32], n_labels: usize, exec: &Exec) -> Result<f64> {
        match self {
            Self::CalinskiHarabasz => calinski_harabasz(points, labels, n_labels, exec),
            Self::DaviesBouldin => davies_bouldin(points, labels, n_labels, exec),
            Self::Silhouette(sample) => silhouette(points, labels, n_labels, sample, exec),
            Self::Persistence => match points {
                Features::Sparse(steps) => persistence(steps, labels, n_labels, exec),
                Features::Dense { .. } => Err(Error::Invalid("persistence: expected a walk, got features".into())),
            },
        }
    }

    /// True if smaller scores are better.
    pub fn is_minimised(self) -> bool {
        self == Self::DaviesBouldin
    }

    /// Approximate number of operations on `n` points with `size` entries in total.
    pub fn cost(self, n: usize, size: usize, n_labels: usize) -> usize {
        match self {
            Self::CalinskiHarabasz | Self::Persistence => size.saturating_mul(4),
            Self::DaviesBouldin => size.saturating_mul(8).saturating_add(size.saturating_mul(n_labels)),
            Self::Silhouette(None) => n.saturating_mul(n.max(size)),
            Self::Silhouette(Some(sample)) => sample.size.saturating_mul(n.max(size)),
        }
    }
}
