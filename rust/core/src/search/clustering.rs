//! From a trajectory to labels: leading coordinates, then k-means.
//!
//! Coordinates are computed to the accuracy that distances need: a coordinate that is small next to
//! the first hardly changes a label.

use super::start_block::StartBlock;
use crate::cluster::damping::damp_rows;
use crate::cluster::k_means::{KMeansSettings, k_means};
use crate::reorder::{in_cache_order, in_given_order};
use crate::spectral::{Decomposition, EmbeddingSettings, Start, embed_in_order};
use crate::{Exec, OperatorSet, Real, Result, Trajectory};

/// Settings of the embedding and of k-means.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustering {
    /// Settings of the embedding.
    pub embedding: EmbeddingSettings,
    /// True if k-means sees damped rows of the coordinates, see [`damp_rows`].
    pub damped: bool,
    /// Settings of k-means on the coordinates.
    pub k_means: KMeansSettings,
}

/// Coordinates and labels of a trajectory.
#[derive(Debug, Clone, PartialEq)]
pub struct Clustered<T> {
    /// `n x n_components`, row-major.
    pub coordinates: Vec<T>,
    /// Cluster of each point.
    pub labels: Vec<u32>,
    /// True if the solver reached its tolerance.
    pub converged: bool,
}

impl Clustering {
    /// Computes coordinates and labels of a trajectory. `start` is that of its set and of no other.
    pub fn of<T: Real>(
        &self,
        trajectory: &Trajectory<'_, T>,
        start: &StartBlock<T>,
        exec: &Exec,
    ) -> Result<Clustered<T>> {
        self.in_solver_order(trajectory, start, exec)?.in_given_order(trajectory.set(), exec)
    }

    /// As [`Self::of`], with the points in the order in which the solver works on them.
    pub(super) fn in_solver_order<T: Real>(
        &self,
        trajectory: &Trajectory<'_, T>,
        start: &StartBlock<T>,
        exec: &Exec,
    ) -> Result<Clustered<T>> {
        let reordered = trajectory.over(in_cache_order(trajectory.set(), exec)?);
        let block = start.for_trajectory(&reordered, &self.embedding, exec)?;
        let first = block.as_ref().map_or(Start::Random, |block| Start::Left(block));
        let embedding = embed_in_order(&reordered, Decomposition::Uniform, &self.embedding, first, exec)?;
        drop(block);
        let dimension = self.embedding.n_components;
        let found = if self.damped {
            k_means(&damp_rows(&embedding.coordinates, dimension)?, dimension, &self.k_means, exec)?
        } else {
            k_means(&embedding.coordinates, dimension, &self.k_means, exec)?
        };
        let (coordinates, converged) = (embedding.coordinates, embedding.converged);
        Ok(Clustered { coordinates, labels: found.labels, converged })
    }
}

impl<T: Real> Clustered<T> {
    pub(super) fn in_given_order(self, set: &OperatorSet<T>, exec: &Exec) -> Result<Self> {
        let coordinates = in_given_order(set, self.coordinates, exec)?;
        Ok(Self { coordinates, labels: in_given_order(set, self.labels, exec)?, ..self })
    }
}
