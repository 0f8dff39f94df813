//! The numerical core of `mdt_fast`: multi-view diffusion geometry without an interpreter.
//!
//! Several views of the same `N` samples become random walks, `P_v = D_v^-1 K_v`, sparse and row-stochastic. A *trajectory* is a
//! product of them, `W = W_t ... W_1`, each factor a walk or a convex combination of walks; it is never formed, only
//! applied. The way of the data, and of this crate:
//!
//! ```text
//! neighbours -> affinity -> transition -> operator_set -> trajectory -> spectral -> kmeans -> quality -> candidate
//!   (points)    (kernels)   (P = D^-1 K)   (members)       (W B, W^T B)  (coordinates) (labels)  (a score)      |
//!                                                           ^  |                                                |
//!                                                           |  +-> product, geometry, entropy, contrastive      |
//!                                                           +---------------------- search ---------------------+
//! ```
//!
//! A module knows only what stands to its left, and the ground they share: [`csr`] (matrices), `sparse_step` (the one
//! sparse kernel), `frame` and `lanes` (dense points), [`exec`] (threads, interruption), [`Real`] (`f32` and `f64`).
//!
//! Nothing here depends on the number of threads: same input, same bits.

pub mod cluster;
pub(crate) mod entropy;
mod error;
pub mod graph;
pub mod ground;
pub(crate) mod reorder;
pub mod search;
pub mod spectral;
pub mod walk;

pub use entropy::{EntropyEstimate, EntropyOptions};
pub use error::{Error, Result};
pub use graph::new_rows::{CrossRows, cross_rows};
pub use ground::real::Real;
pub use ground::sparse_step::bytes_moved;
pub use spectral::linear_map::LinearMap;
pub use walk::contrastive::{Contrastive, ContrastiveLoss};
pub use walk::distances::Stationary;
pub use walk::member::{Landing, Member, Power, Step};
pub use walk::operator_set::OperatorSet;
pub use walk::product::Pruning;
pub use walk::trajectory::Trajectory;
pub use walk::transition::{Direction, Transition, density_factors};
