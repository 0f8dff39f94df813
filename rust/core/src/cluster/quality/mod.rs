//! How well labels fit the points: scores of a partition, without any N x N matrix.
//!
//! Points are dense features or sparse rows (rows of a walk `P_v`). All scores but [`persistence`], which asks the walk itself, keep their value when the points are moved
//! or scaled, so they are computed in a [`Frame`](crate::ground::frame) (sparse rows: scaled only, by a power of two). Sums have no negative
//! terms wherever that is possible: near-equal points lose nothing to cancellation. Each is the sum of parts (clusters, or pieces
//! of rows) added in order, so results do not depend on the number of threads.

mod calinski_harabasz;
mod criterion;
mod davies_bouldin;
mod partition;
mod persistence;
mod points;
mod silhouette;

pub use calinski_harabasz::calinski_harabasz;
pub use criterion::Criterion;
pub use davies_bouldin::davies_bouldin;
pub use persistence::persistence;
pub use silhouette::{Sample, silhouette};
