//! Scores of clusters, without an N x N matrix.
//!
//! Points are dense features or sparse rows, for example rows of a walk `P_v`. All scores except
//! [`persistence`] and [`information`] are invariant under translation and scaling of the points. They are computed in
//! a [`Frame`](crate::ground::frame); sparse rows are only scaled, by a power of two. Where
//! possible, sums have no negative terms, so near-equal points do not suffer from cancellation.
//! Each score is a sum of parts (clusters or pieces of rows) that are added in order, so results do
//! not depend on threads.

mod calinski_harabasz;
mod criterion;
mod davies_bouldin;
mod information;
mod partition;
mod persistence;
mod points;
mod silhouette;

pub use calinski_harabasz::calinski_harabasz;
pub use criterion::Criterion;
pub use davies_bouldin::davies_bouldin;
pub use information::information;
pub use persistence::persistence;
pub use silhouette::{Sample, silhouette};
