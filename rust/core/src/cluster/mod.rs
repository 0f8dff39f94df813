//! Clusters: k-means, the consensus of several clusterings, and scores of clusters.

pub mod consensus;
pub mod k_means;
pub mod quality;
