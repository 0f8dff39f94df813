//! The lowest layer: numbers, random streams, threads, sparse matrices and dense blocks.
//!
//! | file | content |
//! |---|---|
//! | `real` | the element types `f32` and `f64` |
//! | `random` | seeded streams of random numbers |
//! | `exec` | threads, pieces of work, interruption |
//! | `csr` | sparse matrices |
//! | `sparse_step` | the product of sparse matrices with a block of vectors |
//! | `available`, `memory`, `reserve` | available memory, checked allocation, the allocator |
//! | `block`, `idle` | memory of large blocks, kept for later ones |
//! | `tall` | blocks of a few columns: arithmetic, orthonormal bases |
//! | `frame`, `lanes` | dense points: scaling, layout for vector instructions |
//! | `permutation` | permutations of the points |
//! | `prefetch` | prefetch into the cache |

pub mod available;
pub(crate) mod block;
pub mod csr;
pub mod exec;
pub(crate) mod frame;
pub(crate) mod idle;
pub(crate) mod lanes;
pub mod memory;
pub(crate) mod permutation;
pub(crate) mod prefetch;
pub mod random;
pub(crate) mod real;
pub mod reserve;
pub(crate) mod sparse_step;
pub(crate) mod tall;
