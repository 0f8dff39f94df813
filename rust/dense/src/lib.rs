//! Dense products and decompositions, compiled once.
//!
//! faer's functions are generic, so every crate that calls them compiles them again; the
//! decompositions take a minute. This crate compiles them for the element types in use, and the
//! others link it. All functions run on the calling thread.

use faer::linalg::matmul::matmul;
use faer::{Par, Side};

pub use faer::{Accum, Mat, MatMut, MatRef};

/// An element type with a matrix product.
pub trait Product: faer::traits::ComplexField {
    /// `out (+)= factor * left * right`.
    fn multiply(out: MatMut<'_, Self>, accum: Accum, left: MatRef<'_, Self>, right: MatRef<'_, Self>, factor: Self);
}

macro_rules! product {
    ($t:ident) => {
        impl Product for $t {
            #[inline(never)]
            fn multiply(
                out: MatMut<'_, Self>,
                accum: Accum,
                left: MatRef<'_, Self>,
                right: MatRef<'_, Self>,
                factor: Self,
            ) {
                matmul(out, accum, left, right, factor, Par::Seq);
            }
        }
    };
}

product!(f32);
product!(f64);

/// `left * right`.
pub fn product(left: MatRef<'_, f64>, right: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(left.nrows(), right.ncols());
    f64::multiply(out.as_mut(), Accum::Replace, left, right, 1.0);
    out
}

/// A thin singular value decomposition `left * diag(values) * right^T`, values in descending order.
#[derive(Debug, Clone)]
pub struct ThinSvd {
    /// Left singular vectors.
    pub left: Mat<f64>,
    /// Singular values.
    pub values: Vec<f64>,
    /// Right singular vectors.
    pub right: Mat<f64>,
}

/// The thin singular value decomposition, or the reason why it does not converge.
pub fn svd(matrix: MatRef<'_, f64>) -> Result<ThinSvd, String> {
    let found = matrix.thin_svd().map_err(|e| format!("{e:?}"))?;
    let values = (0..matrix.nrows().min(matrix.ncols())).map(|i| found.S()[i]).collect();
    Ok(ThinSvd { left: found.U().to_owned(), values, right: found.V().to_owned() })
}

/// Eigenvalues in ascending order and eigenvectors of a symmetric matrix, or the reason why the
/// decomposition does not converge.
pub fn symmetric_eigen(matrix: MatRef<'_, f64>) -> Result<(Vec<f64>, Mat<f64>), String> {
    let found = matrix.self_adjoint_eigen(Side::Lower).map_err(|e| format!("{e:?}"))?;
    Ok(((0..matrix.nrows()).map(|i| found.S()[i]).collect(), found.U().to_owned()))
}

/// Singular values in descending order, or the reason why they do not converge.
pub fn singular_values(matrix: MatRef<'_, f64>) -> Result<Vec<f64>, String> {
    matrix.singular_values().map_err(|e| format!("{e:?}"))
}

/// Eigenvalues of a symmetric matrix in ascending order, or the reason why they do not converge.
pub fn symmetric_eigenvalues(matrix: MatRef<'_, f64>) -> Result<Vec<f64>, String> {
    matrix.self_adjoint_eigenvalues(Side::Lower).map_err(|e| format!("{e:?}"))
}

/// A matrix `L` of few columns with `matrix = L Q^T + E`, where `Q` has orthonormal columns and the
/// Frobenius norm of `E` is at most `tolerance` times that of `matrix`. So `A L` has the singular
/// values of `A matrix` up to the norm of `A E`.
///
/// `L` is the transpose of the first rows of `R` in the pivoted `matrix^T P = Q R`.
pub fn compress(matrix: MatRef<'_, f64>, tolerance: f64) -> Mat<f64> {
    let found = matrix.transpose().col_piv_qr();
    let (rows, (order, _)) = (found.thin_R(), found.P().arrays());
    let squares: Vec<f64> = rows.row_iter().map(|row| row.squared_norm_l2()).collect();
    let allowed = tolerance * tolerance * squares.iter().sum::<f64>();
    let mut left_out = 0.0;
    let is_small = |square: &&f64| {
        left_out += **square;
        left_out <= allowed
    };
    let kept = squares.len() - squares.iter().rev().take_while(is_small).count();
    let mut out = Mat::zeros(matrix.nrows(), kept.max(1));
    for (j, &place) in order.iter().enumerate() {
        (0..kept.min(j + 1)).for_each(|k| out[(place, k)] = rows[(k, j)]);
    }
    out
}
