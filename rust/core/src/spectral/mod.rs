//! Leading singular triplets of a matrix that is only applied, and the embeddings made of them.
//!
//! | file | content |
//! |---|---|
//! | `linear_map` | matrices that are only applied |
//! | `svd` | the solver: its loop, and small matrices as a whole |
//! | `start` | the first block and the widths of blocks and bases |
//! | `bidiagonalization` | block Lanczos bidiagonalization with thick restarts |
//! | `accuracy` | settings of the solver and the test of convergence |
//! | `maps` | scaled and shifted matrices: stationary weights, symmetric form of a walk |
//! | `embedding` | the embedding of a trajectory |
//! | `chains` | embeddings of sums of products of walks and their transposes |
//! | `multiview` | multi-view diffusion maps |
//! | `cross_diffusion` | cross diffusion of three or more views |
//! | `decomposition` | decompositions of dense matrices |
//! | `powers` | singular values of the powers of a dense matrix |

mod accuracy;
mod bidiagonalization;
mod chains;
mod cross_diffusion;
mod decomposition;
mod embedding;
pub(crate) mod linear_map;
mod maps;
mod multiview;
mod powers;
mod start;
mod svd;

pub use accuracy::{Accuracy, SvdSettings};
pub use chains::{Chain, ChainSum, embed_chains};
pub use cross_diffusion::embed_cross_diffusion;
pub use decomposition::{DensePairs, dense_pairs};
pub(crate) use embedding::embed_in_order;
pub use embedding::{Coordinates, Decomposition, Embedding, EmbeddingSettings, embed};
pub use maps::Scaled;
pub use multiview::embed_multiview;
pub use powers::power_values;
pub(crate) use start::random_block;
pub use start::{Start, start_columns};
pub use svd::{Svd, solver_bytes, svd};
