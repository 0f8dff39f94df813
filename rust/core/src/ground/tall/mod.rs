//! Tall blocks: matrices of `n` rows and a few columns, row-major, processed in pieces of rows.
//!
//! | file | content |
//! |---|---|
//! | `block` | blocks that carry their width; columns joined and split |
//! | `arithmetic` | inner products, products with small matrices, scalings |
//! | `range` | an orthonormal basis of the columns of one block |
//! | `basis` | an orthonormal basis that grows block by block |
//!
//! There are two orthonormalizations. [`range_basis`] is for random sketches: it computes in double
//! precision and replaces dependent directions by zero columns, so the rank is visible.
//! [`Basis::orthonormalize`] is for the singular value solver: it computes in the element type,
//! also removes an existing basis, replaces lost directions by random ones, and returns the factors
//! of the block. Both use the eigenvectors of the Gram matrix, which takes two passes over a
//! block for all columns. Gram-Schmidt takes two passes for every column.
//!
//! Pieces have fixed lengths and sums over pieces are added in order, so results do not depend on
//! the number of threads.

mod arithmetic;
mod basis;
mod block;
mod range;

pub(crate) use arithmetic::{
    add_product, add_scaled_columns, column_means, column_sums, gram, product, random_signs, scale_columns, scale_rows,
    squared_norms,
};
pub(crate) use basis::{Basis, Links, ORTHONORMAL};
pub(crate) use block::{TallBlock, TallRef, each_row};
pub(crate) use range::{range_basis, singular_values};
