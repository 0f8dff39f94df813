//! The scores by name.

use super::{Sample, calinski_harabasz, davies_bouldin, persistence, silhouette};
use crate::graph::neighbours::Features;
use crate::ground::exec::Exec;
use crate::{Error, Real, Result};

/// Which score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Criterion {
    /// Scatter between clusters over scatter within.
    CalinskiHarabasz,
    /// Widths of clusters over distances of their means.
    DaviesBouldin,
    /// Is a point nearer to its own cluster than to the next? Of a sample of the points, or of all.
    Silhouette(Option<Sample>),
    /// Do steps of the walk stay in their cluster? Of walks only.
    Persistence,
}

impl Criterion {
    /// The score of labels `0..n_labels` on points.
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

    /// Are small scores the good ones?
    #[must_use]
    pub fn is_minimised(self) -> bool {
        self == Self::DaviesBouldin
    }

    /// Elementary operations on `n` points of `size` entries in all, about.
    #[must_use]
    pub fn cost(self, n: usize, size: usize, n_labels: usize) -> usize {
        match self {
            Self::CalinskiHarabasz | Self::Persistence => size.saturating_mul(4),
            Self::DaviesBouldin => size.saturating_mul(8).saturating_add(size.saturating_mul(n_labels)),
            Self::Silhouette(None) => n.saturating_mul(n.max(size)),
            Self::Silhouette(Some(sample)) => sample.size.saturating_mul(n.max(size)),
        }
    }
}
