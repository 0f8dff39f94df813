//! Clusters of points.
//!
//! | file | idea |
//! |---|---|
//! | `k_means` | k-means |
//! | `damping` | rows of limited length for k-means |
//! | `consensus` | the co-association of several clusterings |
//! | `support` | how probably a walk stays in the cluster of its start |
//! | `quality` | scores of clusters |

pub mod consensus;
pub mod damping;
pub mod k_means;
pub mod quality;
pub mod support;
