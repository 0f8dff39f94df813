//! Leading singular triplets of a matrix that is only applied, and the coordinates made of them.
//!
//! | file | idea |
//! |---|---|
//! | `tall` | orthonormal bases: tall matrices, a few columns wide, worked on in pieces of rows |
//! | `svd` | block Lanczos bidiagonalisation with restarts and a residual test |
//! | `maps` | diagonal scalings and shifts: stationary weights, the symmetric form of a reversible walk |
//! | `embedding` | coordinates of a trajectory |
//! | `multiview` | eigenvectors of the walk that changes view at every step |

mod embedding;
mod maps;
mod multiview;
mod svd;
mod tall;

pub use embedding::{Decomposition, Embedding, EmbeddingSettings, embed};
pub use maps::Scaled;
pub use multiview::{MultiviewEmbedding, embed_multiview};
pub use svd::{Start, Svd, SvdSettings, random_start, start_columns, svd};
