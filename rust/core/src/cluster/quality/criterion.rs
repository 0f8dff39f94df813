//! Criteria of clusters.

use super::{Sample, calinski_harabasz, davies_bouldin, information, persistence, silhouette};
use crate::graph::neighbours::Features;
use crate::{Csr, Error, Exec, Real, Result};

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
    /// What the cluster of a walk tells about its cluster after one move; for walks only.
    Information,
}

impl Criterion {
    /// Computes the score of labels `0..n_labels` on points.
    pub fn of<T: Real>(self, points: Features<'_, T>, labels: &[u32], n_labels: usize, exec: &Exec) -> Result<f64> {
        match self {
            Self::CalinskiHarabasz => calinski_harabasz(points, labels, n_labels, exec),
            Self::DaviesBouldin => davies_bouldin(points, labels, n_labels, exec),
            Self::Silhouette(sample) => silhouette(points, labels, n_labels, sample, exec),
            Self::Persistence => persistence(walk(&points, "persistence")?, labels, n_labels, exec),
            Self::Information => information(walk(&points, "information")?, labels, n_labels, exec),
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
            Self::Information => size.saturating_mul(8).saturating_add(n_labels.saturating_mul(n_labels)),
            Self::DaviesBouldin => size.saturating_mul(8).saturating_add(size.saturating_mul(n_labels)),
            Self::Silhouette(None) => n.saturating_mul(n.max(size)),
            Self::Silhouette(Some(sample)) => sample.size.saturating_mul(n.max(size)),
        }
    }
}

/// The matrix of steps among the kinds of points; `score` is the name of the score that needs it.
fn walk<'a, T>(points: &Features<'a, T>, score: &str) -> Result<&'a Csr<T>> {
    match points {
        Features::Sparse(steps) => Ok(steps),
        Features::Dense { .. } => Err(Error::Invalid(format!("{score}: expected a walk, got features"))),
    }
}
