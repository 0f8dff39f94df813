//! Dense arithmetic on tall blocks: `N` rows, a few columns, row-major.
//!
//! Sums over rows run in double precision, in pieces of fixed length added in order, so they do not depend on the number
//! of threads. Every function costs one pass over its blocks.

use std::ops::Range;

use mdt_dense::{Accum, MatMut, MatRef, Product};

use crate::ground::block::Block;
use crate::ground::exec::Exec;
use crate::ground::random::Stream;
use crate::{Error, Real, Result};

/// Rows of a piece: enough to be worth a task, few enough to stay in the second cache.
const ROWS: usize = 4096;
/// Rows that are multiplied at a time, in double precision: two blocks of them stay in cache.
const FEW_ROWS: usize = 256;

/// Directions with less than this fraction of the largest singular value count as dependent.
const DEPENDENT: f64 = 1e-6;

/// A block of random signs, one stream a column.
pub(crate) fn random_signs<T: Real>(n: usize, cols: usize, seed: u64, key: u64) -> Block<T> {
    let mut block = Block::unset(n * cols);
    let mut streams: Vec<Stream> = (0..cols).map(|c| Stream::new(seed, key + c as u64)).collect();
    if cols > 0 {
        for row in block.chunks_exact_mut(cols) {
            row.iter_mut().zip(&mut streams).for_each(|(v, stream)| *v = T::from_f64(stream.sign()));
        }
    }
    block
}

/// `x^T y` of two blocks of the same height, `x_cols x y_cols`, row-major.
pub(crate) fn gram<T: Real>(x: &[T], x_cols: usize, y: &[T], y_cols: usize, exec: &Exec) -> Result<Vec<f64>> {
    let pieces: Vec<_> = x.chunks(ROWS * x_cols).zip(y.chunks(ROWS * y_cols)).collect();
    let partial = exec.map(pieces.len(), |p| {
        let mut sums = vec![0.0; x_cols * y_cols];
        let (mut left, mut right) = (Vec::new(), Vec::new());
        for (a, b) in pieces[p].0.chunks(FEW_ROWS * x_cols).zip(pieces[p].1.chunks(FEW_ROWS * y_cols)) {
            let (left, right) = (in_double(a, x_cols, &mut left), in_double(b, y_cols, &mut right));
            let sums = MatMut::from_row_major_slice_mut(&mut sums, x_cols, y_cols);
            f64::multiply(sums, Accum::Add, left.transpose(), right, 1.0);
        }
        Ok(sums)
    })?;
    Ok(add_in_order(partial, x_cols * y_cols))
}

/// Rows of a block, as they are multiplied.
fn in_double<'a, T: Real>(rows: &[T], cols: usize, copy: &'a mut Vec<f64>) -> MatRef<'a, f64> {
    copy.clear();
    copy.extend(rows.iter().map(|v| v.to_f64()));
    MatRef::from_row_major_slice(copy, rows.len() / cols, cols)
}

/// Squared Euclidean norm of each column.
pub(crate) fn squared_norms<T: Real>(x: &[T], cols: usize, exec: &Exec) -> Result<Vec<f64>> {
    let pieces: Vec<_> = x.chunks(ROWS * cols).collect();
    let partial = exec.map(pieces.len(), |p| {
        let mut sums = vec![0.0; cols];
        for row in pieces[p].chunks_exact(cols) {
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += v.to_f64() * v.to_f64());
        }
        Ok(sums)
    })?;
    Ok(add_in_order(partial, cols))
}

/// `x <- x + y c`, with `c` of `y_cols x x_cols`, row-major.
pub(crate) fn add_product<T: Real>(
    x: &mut [T],
    x_cols: usize,
    y: &[T],
    y_cols: usize,
    c: &[f64],
    exec: &Exec,
) -> Result<()> {
    let c = MatRef::from_row_major_slice(c, y_cols, x_cols);
    exec.for_pieces(
        x,
        FEW_ROWS * x_cols,
        || (Vec::new(), Vec::new()),
        |first, piece, (sums, copy)| {
            let n_rows = piece.len() / x_cols;
            let rows = &y[first / x_cols * y_cols..][..n_rows * y_cols];
            in_double(piece, x_cols, sums);
            let target = MatMut::from_row_major_slice_mut(sums, n_rows, x_cols);
            f64::multiply(target, Accum::Add, in_double(rows, y_cols, copy), c, 1.0);
            piece.iter_mut().zip(&*sums).for_each(|(v, &sum)| *v = T::from_f64(sum));
            Ok(())
        },
    )
}

/// `x <- x diag(a) + y diag(b)` for two blocks of the same shape.
pub(crate) fn combine<T: Real>(x: &mut [T], a: &[f64], y: &[T], b: &[f64], exec: &Exec) -> Result<()> {
    let cols = a.len();
    exec.for_pieces(
        x,
        ROWS * cols,
        || (),
        |first, piece, ()| {
            for (row, other) in piece.chunks_exact_mut(cols).zip(y[first..].chunks_exact(cols)) {
                for (c, (v, w)) in row.iter_mut().zip(other).enumerate() {
                    *v = T::from_f64(v.to_f64() * a[c] + w.to_f64() * b[c]);
                }
            }
            Ok(())
        },
    )
}

/// `x <- x diag(a)`.
pub(crate) fn scale<T: Real>(x: &mut [T], a: &[f64], exec: &Exec) -> Result<()> {
    let cols = a.len();
    exec.for_pieces(
        x,
        ROWS * cols,
        || (),
        |_, piece, ()| {
            for row in piece.chunks_exact_mut(cols) {
                row.iter_mut().zip(a).for_each(|(v, a)| *v = T::from_f64(v.to_f64() * a));
            }
            Ok(())
        },
    )
}

/// `out = diag(a) x`.
pub(crate) fn scale_rows<T: Real>(a: &[T], x: &[T], cols: usize, out: &mut [T], exec: &Exec) -> Result<()> {
    exec.for_pieces(
        out,
        ROWS * cols,
        || (),
        |first, piece, ()| {
            let rows = piece.chunks_exact_mut(cols).zip(x[first..].chunks_exact(cols));
            for ((row, given), &a) in rows.zip(&a[first / cols..]) {
                row.iter_mut().zip(given).for_each(|(out, &v)| *out = a * v);
            }
            Ok(())
        },
    )
}

/// One block with the columns of several, each given with its number of columns.
pub(crate) fn side_by_side<T: Real>(blocks: &[(&[T], usize)], exec: &Exec) -> Result<Block<T>> {
    let width: usize = blocks.iter().map(|&(_, cols)| cols).sum();
    let mut out = Block::unset(blocks.iter().map(|(block, _)| block.len()).sum());
    exec.for_pieces(
        &mut out,
        ROWS * width,
        || (),
        |first, piece, ()| {
            for (i, row) in piece.chunks_exact_mut(width).enumerate() {
                let (i, mut at) = (first / width + i, 0);
                for &(block, cols) in blocks {
                    row[at..at + cols].copy_from_slice(&block[i * cols..(i + 1) * cols]);
                    at += cols;
                }
            }
            Ok(())
        },
    )?;
    Ok(out)
}

/// Takes the first columns off a block of `width` of them.
pub(crate) fn split_columns<T: Real>(
    block: Block<T>,
    width: usize,
    cols: usize,
    exec: &Exec,
) -> Result<(Block<T>, Block<T>)> {
    if width == cols {
        return Ok((block, Block::zeros(0)));
    }
    Ok((columns_of(&block, width, 0..cols, exec)?, columns_of(&block, width, cols..width, exec)?))
}

/// Some columns of a block of `width` of them.
pub(crate) fn columns_of<T: Real>(block: &[T], width: usize, columns: Range<usize>, exec: &Exec) -> Result<Block<T>> {
    let count = columns.len();
    let mut out = Block::unset(block.len() / width * count);
    exec.for_pieces(
        &mut out,
        ROWS * count,
        || (),
        |first, piece, ()| -> Result<()> {
            let rows = block[first / count * width..].chunks_exact(width);
            piece.chunks_exact_mut(count).zip(rows).for_each(|(to, row)| to.copy_from_slice(&row[columns.clone()]));
            Ok(())
        },
    )?;
    Ok(out)
}

/// Writes some columns of a block of `width` of them.
pub(crate) fn write_columns<T: Real>(
    block: &mut [T],
    width: usize,
    columns: Range<usize>,
    values: &[T],
    exec: &Exec,
) -> Result<()> {
    exec.for_pieces(
        block,
        ROWS * width,
        || (),
        |first, piece, ()| {
            let rows = values[first / width * columns.len()..].chunks_exact(columns.len());
            piece.chunks_exact_mut(width).zip(rows).for_each(|(to, row)| to[columns.clone()].copy_from_slice(row));
            Ok(())
        },
    )
}

/// Singular values of a tall block, ascending, and its right singular vectors in the columns of a row-major matrix. Values
/// below `sqrt(2^-53)` of the largest are rounding.
pub(crate) fn singular_values<T: Real>(block: &[T], cols: usize, exec: &Exec) -> Result<(Vec<f64>, Vec<f64>)> {
    let products = gram(block, cols, block, cols, exec)?;
    let products = MatRef::from_row_major_slice(&products, cols, cols);
    let Ok((squares, vectors)) = mdt_dense::symmetric_eigen(products) else {
        return Err(Error::Invalid("the operators gave numbers that are not finite".into()));
    };
    let values = squares.into_iter().map(|square| square.max(0.0).sqrt()).collect();
    Ok((values, (0..cols * cols).map(|k| vectors[(k / cols, k % cols)]).collect()))
}

/// An orthonormal basis of the columns. Directions in which they hardly extend become zero columns.
///
/// Two rounds of `x V / sigma`, each two passes over the block; Gram-Schmidt column by column would take two for each column.
pub(crate) fn orthonormal<T: Real>(x: &[T], cols: usize, exec: &Exec) -> Result<Block<T>> {
    let round = |x: &[T]| {
        let (values, mut rotation) = singular_values(x, cols, exec)?;
        let least = DEPENDENT * values[cols - 1];
        for line in rotation.chunks_exact_mut(cols) {
            line.iter_mut().zip(&values).for_each(|(r, &v)| *r = if v > least { *r / v } else { 0.0 });
        }
        let mut basis = Block::zeros(x.len());
        add_product(&mut basis, cols, x, cols, &rotation, exec)?;
        Ok(basis)
    };
    round(&round(x)?)
}

fn add_in_order(partial: Vec<Vec<f64>>, len: usize) -> Vec<f64> {
    partial.into_iter().fold(vec![0.0; len], |mut total, sums| {
        total.iter_mut().zip(sums).for_each(|(a, b)| *a += b);
        total
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::random::Stream;

    fn random_block(rows: usize, cols: usize, key: u64) -> Vec<f64> {
        let mut stream = Stream::new(5, key);
        (0..rows * cols).map(|_| stream.uniform() - 0.5).collect()
    }

    #[test]
    fn orthonormal_columns_and_a_dependent_one() {
        let (rows, cols) = (ROWS + 17, 4);
        let exec = Exec::with_threads(2);
        let mut x = random_block(rows, cols, 0);
        x.chunks_exact_mut(cols).for_each(|row| row[2] = row[0] - 2.0 * row[1]);
        let basis = orthonormal(&x, cols, &exec).unwrap();
        let products = gram(&basis, cols, &basis, cols, &exec).unwrap();
        for i in 0..cols {
            for j in 0..cols {
                // Zero columns come first.
                let expected = if i == j && i != 0 { 1.0 } else { 0.0 };
                assert!((products[i * cols + j] - expected).abs() < 1e-13, "{i} {j}: {}", products[i * cols + j]);
            }
        }
    }

    #[test]
    fn blocks_side_by_side_come_apart_again() {
        let exec = Exec::with_threads(2);
        let (x, y) = (random_block(ROWS + 3, 2, 3), random_block(ROWS + 3, 5, 4));
        let both = side_by_side(&[(&x, 2), (&y, 5)], &exec).unwrap();
        assert_eq!(both[7 * ROWS..7 * ROWS + 3], [x[2 * ROWS], x[2 * ROWS + 1], y[5 * ROWS]]);
        let (first, rest) = split_columns(both, 7, 2, &exec).unwrap();
        assert_eq!((&*first, &*rest), (&*x, &*y));
    }

    #[test]
    fn products_and_combinations() {
        let exec = Exec::with_threads(3);
        let (x, y) = (random_block(ROWS * 2 + 1, 2, 1), random_block(ROWS * 2 + 1, 3, 2));
        let products = gram(&x, 2, &y, 3, &exec).unwrap();
        let expected: f64 = x.chunks(2).zip(y.chunks(3)).map(|(a, b)| a[1] * b[2]).sum();
        assert!((products[5] - expected).abs() < 1e-10);
        let mut z = x.clone();
        add_product(&mut z, 2, &y, 3, &[1.0, 0.0, 0.0, 2.0, 0.0, 0.0], &exec).unwrap();
        assert!((z[2 * ROWS * 2 + 1] - (x[2 * ROWS * 2 + 1] + 2.0 * y[2 * ROWS * 3 + 1])).abs() < 1e-15);
        combine(&mut z, &[0.0, 1.0], &x, &[3.0, 0.0], &exec).unwrap();
        assert_eq!(z[0], 3.0 * x[0]);
        scale(&mut z, &[0.5, 1.0], &exec).unwrap();
        assert_eq!(z[2], 1.5 * x[2]);
        assert!((squared_norms(&x, 2, &exec).unwrap()[1] - gram(&x, 2, &x, 2, &exec).unwrap()[3]).abs() < 1e-10);
    }
}
