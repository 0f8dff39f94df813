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

pub mod affinity;
mod block;
pub mod candidate;
mod columns;
pub mod consensus;
mod contrastive;
mod cross_walk;
pub mod csr;
mod entropy;
mod error;
pub mod exec;
mod frame;
mod geometry;
pub mod kmeans;
mod lanes;
mod linear_map;
mod locality;
pub mod neighbours;
mod numbering;
mod operator_set;
mod patch;
mod prefetch;
mod product;
pub mod quality;
pub mod random;
mod real;
pub mod search;
mod sparse_step;
pub mod spectral;
mod trajectory;
mod transition;

pub use contrastive::{Contrastive, ContrastiveLoss};
pub use cross_walk::{CrossRows, cross_rows};
pub use entropy::{EntropyEstimate, EntropyOptions};
pub use error::{Error, Result};
pub use geometry::Stationary;
pub use linear_map::LinearMap;
pub use operator_set::{Landing, Member, OperatorSet, Power, Step};
pub use product::Pruning;
pub use real::Real;
pub use sparse_step::bytes_moved;
pub use trajectory::Trajectory;
pub use transition::{Direction, Transition, density_factors};
