//! Leading singular triplets of a matrix that is only applied, and the coordinates made of them.
//!
//! | file | idea |
//! |---|---|
//! | `svd` | block Lanczos bidiagonalisation with restarts and a residual test |
//! | `maps` | diagonal scalings and shifts: stationary weights, the symmetric form of a reversible walk |
//! | `embedding` | coordinates of a trajectory |
//! | `chains` | coordinates of sums of products of walks and their transposes |
//! | `multiview` | eigenvectors of the walk that changes view at every step |

mod accuracy;
mod bidiagonalization;
mod chains;
mod embedding;
pub(crate) mod linear_map;
mod maps;
mod multiview;
mod start;
mod svd;

pub use accuracy::{Accuracy, SvdSettings};
pub use chains::{Chain, ChainSum, embed_chains};
pub(crate) use embedding::embed_in_order;
pub use embedding::{Coordinates, Decomposition, Embedding, EmbeddingSettings, embed};
pub use maps::Scaled;
pub use multiview::embed_multiview;
pub(crate) use start::basis_columns;
pub use start::{Start, random_start, start_columns};
pub use svd::{Svd, svd};
