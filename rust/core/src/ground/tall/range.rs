//! Singular values of a tall block and an orthonormal basis of its columns, through the Gram
//! matrix.
//!
//! `x^T x = V diag(sigma^2) V^T` costs one pass over the block, and `x V / sigma` has orthonormal
//! columns. Squares halve the digits: values below `sqrt(2^-53)` of the largest are rounding.

use mdt_dense::MatRef;

use super::arithmetic::{gram, product};
use super::block::{TallBlock, TallRef};
use crate::{Error, Exec, Real, Result};

/// Directions with less than this fraction of the largest singular value count as dependent.
const DEPENDENT: f64 = 1e-6;

/// Singular values of a block, ascending, and its right singular vectors in the columns of a
/// row-major matrix.
pub(crate) fn singular_values<T: Real>(x: TallRef<'_, T>, exec: &Exec) -> Result<(Vec<f64>, Vec<f64>)> {
    let products = gram(x, x, exec)?;
    let products = MatRef::from_row_major_slice(&products, x.cols, x.cols);
    let Ok((squares, vectors)) = mdt_dense::symmetric_eigen(products) else {
        return Err(Error::Invalid("the operators gave numbers that are not finite".into()));
    };
    let values = squares.into_iter().map(|square| square.max(0.0).sqrt()).collect();
    Ok((values, (0..x.cols * x.cols).map(|k| vectors[(k / x.cols, k % x.cols)]).collect()))
}

/// An orthonormal basis of the columns of a block; dependent directions become zero columns, which
/// come first.
///
/// Two rounds of `x V / sigma`: the second one removes the error that squares leave in the first.
pub(crate) fn range_basis<T: Real>(x: TallRef<'_, T>, exec: &Exec) -> Result<TallBlock<T>> {
    let round = |x: TallRef<'_, T>| {
        let (values, mut rotation) = singular_values(x, exec)?;
        let least = DEPENDENT * values[x.cols - 1];
        for line in rotation.chunks_exact_mut(x.cols) {
            line.iter_mut().zip(&values).for_each(|(r, &v)| *r = if v > least { *r / v } else { 0.0 });
        }
        product(x, &rotation, exec)
    };
    round(round(x)?.view())
}

#[cfg(test)]
mod tests {
    use super::super::block::ROWS;
    use super::super::block::tests::random_block;
    use super::*;

    #[test]
    fn orthonormal_columns_and_a_dependent_one() {
        let cols = 4;
        let exec = Exec::with_threads(2);
        let mut x = random_block::<f64>(ROWS + 17, cols, 0);
        x.chunks_exact_mut(cols).for_each(|row| row[2] = row[0] - 2.0 * row[1]);
        let basis = range_basis(x.view(), &exec).unwrap();
        let products = gram(basis.view(), basis.view(), &exec).unwrap();
        for (k, product) in products.iter().enumerate() {
            let (i, j) = (k / cols, k % cols);
            let expected = if i == j && i != 0 { 1.0 } else { 0.0 };
            assert!((product - expected).abs() < 1e-13, "{i} {j}: {product}");
        }
    }
}
