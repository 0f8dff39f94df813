//! Arithmetic on tall blocks. Every function costs one pass over its blocks; sums run in double
//! precision.

use mdt_dense::{Accum, MatMut, MatRef, Product};

use super::block::{ROWS, TallBlock, TallRef, each_row};
use crate::{Exec, Real, Result, Stream};

/// Rows that are converted to double precision and multiplied at a time: two blocks of them stay in
/// cache.
const FEW_ROWS: usize = 256;

/// A block of random signs. Column `c` comes from the stream with key `key + c`.
pub(crate) fn random_signs<T: Real>(n_rows: usize, cols: usize, seed: u64, key: u64) -> Result<TallBlock<T>> {
    let mut block = TallBlock::unset(n_rows, cols)?;
    let mut streams: Vec<Stream> = (0..cols).map(|c| Stream::new(seed, key + c as u64)).collect();
    for row in block.chunks_exact_mut(cols.max(1)) {
        row.iter_mut().zip(&mut streams).for_each(|(v, stream)| *v = T::from_f64(stream.sign()));
    }
    Ok(block)
}

/// `x^T y` of two blocks of the same height, row-major.
pub(crate) fn gram<T: Real>(x: TallRef<'_, T>, y: TallRef<'_, T>, exec: &Exec) -> Result<Vec<f64>> {
    sum_pieces(x, x.cols * y.cols, exec, |first, piece, sums| {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        let others = y.data[first * y.cols..].chunks(FEW_ROWS * y.cols);
        for (a, b) in piece.chunks(FEW_ROWS * x.cols).zip(others) {
            let (left, right) = (in_double(a, x.cols, &mut left), in_double(b, y.cols, &mut right));
            let sums = MatMut::from_row_major_slice_mut(sums, x.cols, y.cols);
            f64::multiply(sums, Accum::Add, left.transpose(), right, 1.0);
        }
    })
}

/// Squared Euclidean norm of each column.
pub(crate) fn squared_norms<T: Real>(x: TallRef<'_, T>, exec: &Exec) -> Result<Vec<f64>> {
    column_sums(x, |v| v * v, exec)
}

/// Mean of each column.
pub(crate) fn column_means<T: Real>(x: TallRef<'_, T>, exec: &Exec) -> Result<Vec<T>> {
    let sums = column_sums(x, |v| v, exec)?;
    Ok(sums.into_iter().map(|sum| T::from_f64(sum / x.n_rows() as f64)).collect())
}

/// Sum of `f(v)` over the elements `v` of each column.
pub(crate) fn column_sums<T: Real>(
    x: TallRef<'_, T>,
    f: impl Fn(f64) -> f64 + Sync + Send,
    exec: &Exec,
) -> Result<Vec<f64>> {
    sum_pieces(x, x.cols, exec, |_, piece, sums| {
        for row in piece.chunks_exact(x.cols) {
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += f(v.to_f64()));
        }
    })
}

/// The `len` sums to which `add(first, rows, sums)` adds for each piece of rows, `first` the index
/// of its first row. Pieces are added in order.
fn sum_pieces<T: Real>(
    x: TallRef<'_, T>,
    len: usize,
    exec: &Exec,
    add: impl Fn(usize, &[T], &mut [f64]) + Sync + Send,
) -> Result<Vec<f64>> {
    let pieces: Vec<&[T]> = x.data.chunks(ROWS * x.cols.max(1)).collect();
    let partial = exec.map(pieces.len(), |p| {
        let mut sums = vec![0.0; len];
        add(p * ROWS, pieces[p], &mut sums);
        Ok(sums)
    })?;
    let mut total = vec![0.0; len];
    for sums in partial {
        total.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum);
    }
    Ok(total)
}

/// Copies rows to double precision.
fn in_double<'a, T: Real>(rows: &[T], cols: usize, copy: &'a mut Vec<f64>) -> MatRef<'a, f64> {
    copy.clear();
    copy.extend(rows.iter().map(|v| v.to_f64()));
    MatRef::from_row_major_slice(copy, rows.len() / cols, cols)
}

/// `y c`, with `c` row-major.
pub(crate) fn product<T: Real>(y: TallRef<'_, T>, c: &[f64], exec: &Exec) -> Result<TallBlock<T>> {
    let mut out = TallBlock::zeros(y.n_rows(), c.len() / y.cols)?;
    add_product(&mut out, y, c, exec)?;
    Ok(out)
}

/// `x <- x + y c`, with `c` row-major.
pub(crate) fn add_product<T: Real>(x: &mut TallBlock<T>, y: TallRef<'_, T>, c: &[f64], exec: &Exec) -> Result<()> {
    let cols = x.cols();
    let c = MatRef::from_row_major_slice(c, y.cols, cols);
    exec.for_pieces(
        x,
        FEW_ROWS * cols,
        || (Vec::new(), Vec::new()),
        |first, piece, (sums, copy)| {
            let n_rows = piece.len() / cols;
            let rows = &y.data[first / cols * y.cols..][..n_rows * y.cols];
            in_double(piece, cols, sums);
            let target = MatMut::from_row_major_slice_mut(sums, n_rows, cols);
            f64::multiply(target, Accum::Add, in_double(rows, y.cols, copy), c, 1.0);
            piece.iter_mut().zip(&*sums).for_each(|(v, &sum)| *v = T::from_f64(sum));
            Ok(())
        },
    )
}

/// `x <- x + y diag(a)` for two blocks of the same shape.
pub(crate) fn add_scaled_columns<T: Real>(x: &mut [T], y: &[T], a: &[f64], exec: &Exec) -> Result<()> {
    each_row(x, a.len(), exec, |i, row| {
        for ((v, w), a) in row.iter_mut().zip(&y[i * a.len()..]).zip(a) {
            *v = T::from_f64(v.to_f64() + w.to_f64() * a);
        }
    })
}

/// `x <- x diag(a)`.
pub(crate) fn scale_columns<T: Real>(x: &mut [T], a: &[f64], exec: &Exec) -> Result<()> {
    each_row(x, a.len(), exec, |_, row| {
        row.iter_mut().zip(a).for_each(|(v, a)| *v = T::from_f64(v.to_f64() * a));
    })
}

/// `out = diag(a) x`.
pub(crate) fn scale_rows<T: Real>(a: &[T], x: &[T], out: &mut [T], exec: &Exec) -> Result<()> {
    let cols = x.len() / a.len().max(1);
    each_row(out, cols, exec, |i, row| {
        row.iter_mut().zip(&x[i * cols..]).for_each(|(out, &v)| *out = a[i] * v);
    })
}

#[cfg(test)]
mod tests {
    use super::super::block::tests::random_block;
    use super::*;

    #[test]
    fn products_and_scalings() {
        let exec = Exec::with_threads(3);
        let (x, y) = (random_block::<f64>(ROWS * 2 + 1, 2, 1), random_block(ROWS * 2 + 1, 3, 2));
        let products = gram(x.view(), y.view(), &exec).unwrap();
        let expected: f64 = x.chunks(2).zip(y.chunks(3)).map(|(a, b)| a[1] * b[2]).sum();
        assert!((products[5] - expected).abs() < 1e-10);
        let mut z = x.view().columns(0..2, &exec).unwrap();
        add_product(&mut z, y.view(), &[1.0, 0.0, 0.0, 2.0, 0.0, 0.0], &exec).unwrap();
        assert!((z[2 * ROWS * 2 + 1] - (x[2 * ROWS * 2 + 1] + 2.0 * y[2 * ROWS * 3 + 1])).abs() < 1e-15);
        let before = z[0];
        add_scaled_columns(&mut z, &x, &[3.0, 0.0], &exec).unwrap();
        assert_eq!(z[0], before + 3.0 * x[0]);
        scale_columns(&mut z, &[0.5, 1.0], &exec).unwrap();
        assert_eq!(z[0], 0.5 * (before + 3.0 * x[0]));
        let norms = squared_norms(x.view(), &exec).unwrap();
        assert!((norms[1] - gram(x.view(), x.view(), &exec).unwrap()[3]).abs() < 1e-10);
    }
}
