//! The numerical core of `mdt_fast`: multi-view diffusion geometry, without Python.
//!
//! Each view of the same `N` samples becomes a random walk `P_v = D_v^-1 K_v`, sparse and
//! row-stochastic, from a nearest-neighbour affinity `K_v`. A trajectory is a product
//! `W = W_t ... W_1` whose steps are convex combinations of the members of an operator set: walks,
//! their powers, identity, uniform jumps. `W` is applied to blocks of vectors and never formed. Its
//! leading singular vectors are the coordinates `Psi = U S` of the samples, whose distances are the
//! diffusion distances of the trajectory. The entropy of the singular values of `M^t`, `M` the mean
//! of the set, gives the diffusion time `t`. A search chooses the trajectory whose clusters score
//! best.
//!
//! Layers, low to high. A layer uses only itself and lower ones (checked by `tests/layers.rs`):
//!
//! | layer | content |
//! |---|---|
//! | `error`, [`ground`] | errors; numbers, threads, sparse matrices, blocks of vectors |
//! | [`graph`] | nearest neighbours, affinities, rows of new samples |
//! | [`walk`] | transition matrices, operator sets, trajectories, contrastive loss |
//! | `reorder` | permutations of the points for the cache |
//! | [`spectral`] | singular value solver, embeddings |
//! | `entropy` | entropy of the singular values |
//! | [`cluster`] | k-means, consensus, scores of clusters |
//! | [`search`] | evaluation of candidates, search strategies |
//!
//! Where to start: `walk/trajectory.rs` (what is applied), `ground/sparse_step.rs` (the kernel that
//! takes the time), `spectral/bidiagonalization.rs` (the solver), `search` (what calls them all).
//!
//! Results are the same to the last bit for any number of threads.
//!
//! References: intertwined diffusion trajectories, arXiv:2512.01484; diffusion maps, Coifman and
//! Lafon 2006, doi:10.1016/j.acha.2006.04.006; multi-view diffusion maps, Lindenbaum et al. 2020,
//! doi:10.1016/j.inffus.2019.08.005.

pub mod cluster;
pub(crate) mod entropy;
mod error;
pub mod graph;
pub mod ground;
pub(crate) mod reorder;
pub mod search;
pub mod spectral;
pub mod walk;

// The modules of the crate, too, import these types from here.
pub use entropy::{EntropyEstimate, EntropyOptions};
pub use error::{Error, Result};
pub use graph::new_rows::{CrossRows, cross_rows};
pub use ground::csr::Csr;
pub use ground::exec::Exec;
pub use ground::random::Stream;
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
