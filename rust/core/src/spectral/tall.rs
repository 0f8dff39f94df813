//! Tall matrices: many rows, few columns.
//!
//! Everything is done in pieces of rows whose size depends on the number of rows alone; inner products are rounded to the
//! element type within a piece and added over the pieces in order, in double precision.

use std::ops::Range;

use mdt_dense::{Accum, Mat, MatMut, MatRef, product, symmetric_eigen};

use crate::block::Block;
use crate::exec::Exec;
use crate::random::Stream;
use crate::{Error, Real, Result};

/// Rows that are multiplied at a time: two blocks of them stay in cache.
const ROWS: usize = 256;

/// Directions of a block shorter than this, relative to its longest, are stretched by a limited factor in one pass: their
/// length is not known better. In units of the roundoff.
const LEAST_KNOWN: f64 = 1e4;

/// Passes after which a block is orthonormal whatever it was.
const MAX_PASSES: usize = 8;

/// A row-major matrix with room for more columns.
#[derive(Debug)]
pub(super) struct Tall<T> {
    n: usize,
    room: usize,
    width: usize,
    data: Block<T>,
}

/// Orthonormal columns `Y` made from a block: `block = basis * coefficients + Y * factor`.
pub(super) struct Orthonormalized {
    pub coefficients: Mat<f64>,
    pub factor: Mat<f64>,
}

impl<T: Real> Tall<T> {
    pub fn new(n: usize, room: usize) -> Self {
        Self { n, room, width: 0, data: Block::zeros(n * room) }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds the columns of a row-major block.
    pub fn append(&mut self, block: &[T], cols: usize, exec: &Exec) -> Result<()> {
        let (room, width) = (self.room, self.width);
        exec.for_pieces(
            &mut self.data,
            piece_rows(self.n) * room,
            || (),
            |first, piece, ()| -> Result<()> {
                for (row, new) in piece.chunks_exact_mut(room).zip(block[first / room * cols..].chunks_exact(cols)) {
                    row[width..width + cols].copy_from_slice(new);
                }
                Ok(())
            },
        )?;
        self.width += cols;
        Ok(())
    }

    /// Some rows of the columns from `from` on.
    fn rows(&self, rows: Range<usize>, from: usize) -> MatRef<'_, T> {
        let data = &self.data[rows.start * self.room..rows.end * self.room];
        MatRef::from_row_major_slice_with_stride(
            &data[..data.len() - (self.room - self.width)],
            rows.len(),
            self.width,
            self.room,
        )
        .get(.., from..)
    }

    /// Replaces `Y` by `Y M` (if there is an `M`) and returns `Q^T Y`, `Q` the columns from `from` on.
    fn turn_and_project(
        &self,
        turn: Option<&Mat<f64>>,
        from: usize,
        y: &mut [T],
        cols: usize,
        exec: &Exec,
    ) -> Result<Mat<f64>> {
        let turn = turn.map(|m| to_real::<T>(m.as_ref()));
        sum_over_pieces(self.n, self.width - from, y, cols, exec, |rows, piece, copy, out| {
            if let Some(m) = &turn {
                right_multiply(piece, cols, m, copy);
            }
            let block = MatRef::from_row_major_slice(piece, rows.len(), cols);
            T::multiply(out, Accum::Replace, self.rows(rows, from).transpose(), block, T::ONE);
        })
    }

    /// Replaces `Y` by `Y - Q C`, `Q` the last columns, as many as `C` has rows, and returns the new `Y^T Y`.
    fn subtract(&self, c: &Mat<f64>, y: &mut [T], cols: usize, exec: &Exec) -> Result<Mat<f64>> {
        let from = self.width - c.nrows();
        let c = to_real::<T>(c.as_ref());
        sum_over_pieces(self.n, cols, y, cols, exec, |rows, piece, _, out| {
            let count = rows.len();
            let target = MatMut::from_row_major_slice_mut(piece, count, cols);
            T::multiply(target, Accum::Add, self.rows(rows, from), c.as_ref(), -T::ONE);
            let block = MatRef::from_row_major_slice(piece, count, cols);
            T::multiply(out, Accum::Replace, block.transpose(), block, T::ONE);
        })
    }

    /// `Q C`, row-major.
    pub fn combine(&self, c: MatRef<'_, f64>, exec: &Exec) -> Result<Vec<T>> {
        let (c, cols) = (to_real::<T>(c), c.ncols());
        let mut out = vec![T::ZERO; self.n * cols];
        exec.for_pieces(
            &mut out,
            ROWS * cols.max(1),
            || (),
            |first, piece, ()| -> Result<()> {
                let (from, rows) = (first / cols, piece.len() / cols);
                let target = MatMut::from_row_major_slice_mut(piece, rows, cols);
                T::multiply(target, Accum::Replace, self.rows(from..from + rows, 0), c.as_ref(), T::ONE);
                Ok(())
            },
        )?;
        Ok(out)
    }

    /// Replaces the columns by `Q C`.
    pub fn rotate(&mut self, c: MatRef<'_, f64>, exec: &Exec) -> Result<()> {
        let (room, width, c) = (self.room, self.width, to_real::<T>(c));
        let cols = c.ncols();
        exec.for_pieces(
            &mut self.data,
            ROWS * room,
            || Mat::zeros(ROWS, cols),
            |_, piece, rotated| -> Result<()> {
                let rows = piece.len() / room;
                let used = piece.len() - (room - width);
                let old = MatRef::from_row_major_slice_with_stride(&piece[..used], rows, width, room);
                T::multiply(rotated.subrows_mut(0, rows), Accum::Replace, old, c.as_ref(), T::ONE);
                for (i, row) in piece.chunks_exact_mut(room).enumerate() {
                    for (j, v) in row[..cols].iter_mut().enumerate() {
                        *v = rotated[(i, j)];
                    }
                }
                Ok(())
            },
        )?;
        self.width = cols;
        Ok(())
    }

    /// Makes the columns of `y` orthonormal to each other and to this basis.
    ///
    /// Each pass removes the basis and divides by the square root of the Gram matrix, whose eigenvectors also show
    /// directions that are nearly lost: those are stretched step by step and freed from the basis again, so that a block
    /// of almost dependent vectors is handled like any other. What has vanished altogether is drawn anew from `stream`
    /// and has no part in `factor`.
    ///
    /// The first pass removes only the columns from `linked` on, the only ones along which `y` has more than rounding; a
    /// later pass removes them all.
    pub fn orthonormalize(
        &self,
        y: &mut [T],
        cols: usize,
        linked: usize,
        stream: &mut Stream,
        exec: &Exec,
    ) -> Result<Orthonormalized> {
        let mut coefficients = Mat::zeros(self.width, cols);
        let mut factor = Mat::<f64>::identity(cols, cols);
        let mut turn = None;
        for pass in 0..MAX_PASSES {
            let from = if pass == 0 { linked } else { 0 };
            let c = self.turn_and_project(turn.as_ref(), from, y, cols, exec)?;
            let gram = self.subtract(&c, y, cols, exec)?;
            let mut linked_coefficients = coefficients.subrows_mut(from, c.nrows());
            linked_coefficients += product(c.as_ref(), factor.as_ref());
            let (transform, inverse, lost) = whiten::<T>(&gram)?;
            factor = product(inverse.as_ref(), factor.as_ref());
            let is_settled =
                pass > 0 && largest(&c) < 0.1 && largest(&(&gram - Mat::<f64>::identity(cols, cols))) < 0.1;
            turn = Some(transform);
            if is_settled || !lost.is_empty() {
                // With no column to project on, what is left is the turn.
                self.turn_and_project(turn.take().as_ref(), self.width, y, cols, exec)?;
            }
            if !lost.is_empty() {
                let scale = (3.0 / self.n as f64).sqrt();
                for row in y.chunks_exact_mut(cols) {
                    lost.iter().for_each(|&j| row[j] = T::from_f64(scale * (2.0 * stream.uniform() - 1.0)));
                }
            }
            if is_settled {
                break;
            }
        }
        Ok(Orthonormalized { coefficients, factor })
    }
}

/// A matrix that (nearly) orthonormalises columns with this Gram matrix, its inverse, and the columns that are lost.
fn whiten<T: Real>(gram: &Mat<f64>) -> Result<(Mat<f64>, Mat<f64>, Vec<usize>)> {
    let cols = gram.ncols();
    if !largest(gram).is_finite() {
        return Err(Error::Invalid("expected finite products with the operator, got NaN or infinity".into()));
    }
    let (mut values, vectors) = symmetric_eigen(gram.as_ref()).map_err(|reason| no_convergence(&reason))?;
    values.reverse();
    let vector = |i: usize, j: usize| vectors[(i, cols - 1 - j)];
    let lost: Vec<usize> = (0..cols).filter(|&j| values[j] <= T::ROUNDOFF * T::ROUNDOFF * values[0]).collect();
    let length = |j: usize| values[j].max(LEAST_KNOWN * T::ROUNDOFF * values[0]).sqrt();
    let is_lost = |j: usize| lost.contains(&j);
    let transform = Mat::from_fn(cols, cols, |i, j| if is_lost(j) { 0.0 } else { vector(i, j) / length(j) });
    let inverse = Mat::from_fn(cols, cols, |j, i| if is_lost(j) { 0.0 } else { length(j) * vector(i, j) });
    Ok((transform, inverse, lost))
}

/// The error of a dense decomposition that does not end.
pub(super) fn no_convergence(reason: &str) -> Error {
    Error::Invalid(format!("a small dense decomposition failed: {reason}"))
}

/// Rows of one parallel piece: a few pieces for small matrices, long ones for large.
fn piece_rows(n: usize) -> usize {
    (n / 16).next_multiple_of(ROWS).clamp(ROWS, 32 * ROWS)
}

/// Calls `work(rows, rows of y, scratch, out)` for every few rows of a block, in parallel by pieces, and adds what it leaves in
/// `out`, a matrix of `height` rows and as many columns as the block.
fn sum_over_pieces<T: Real>(
    n: usize,
    height: usize,
    y: &mut [T],
    cols: usize,
    exec: &Exec,
    work: impl Fn(Range<usize>, &mut [T], &mut Vec<T>, MatMut<'_, T>) + Sync + Send,
) -> Result<Mat<f64>> {
    let parts = exec.map_pieces(y, piece_rows(n) * cols, |first, piece| {
        let mut sum = Mat::<f64>::zeros(height, cols);
        let mut part = Mat::<T>::zeros(height, cols);
        let mut scratch = Vec::new();
        for (k, few) in piece.chunks_mut(ROWS * cols).enumerate() {
            let from = first / cols + k * ROWS;
            work(from..from + few.len() / cols, few, &mut scratch, part.as_mut());
            for j in 0..cols {
                for i in 0..height {
                    sum[(i, j)] += part[(i, j)].to_f64();
                }
            }
        }
        Ok(sum)
    })?;
    let mut total = Mat::zeros(height, cols);
    for part in parts {
        total += part;
    }
    Ok(total)
}

/// `Y M`, in place.
fn right_multiply<T: Real>(y: &mut [T], cols: usize, m: &Mat<T>, copy: &mut Vec<T>) {
    copy.clear();
    copy.extend_from_slice(y);
    let rows = y.len() / cols;
    let source = MatRef::from_row_major_slice(copy, rows, cols);
    T::multiply(MatMut::from_row_major_slice_mut(y, rows, cols), Accum::Replace, source, m.as_ref(), T::ONE);
}

fn to_real<T: Real>(m: MatRef<'_, f64>) -> Mat<T> {
    Mat::from_fn(m.nrows(), m.ncols(), |i, j| T::from_f64(m[(i, j)]))
}

/// The largest magnitude; NaN if there is any.
fn largest(m: &Mat<f64>) -> f64 {
    let values = (0..m.ncols()).flat_map(|j| (0..m.nrows()).map(move |i| m[(i, j)].abs()));
    values.fold(0.0, |most, v| if v <= most { most } else { v })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random_block(n: usize, cols: usize, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, 0);
        (0..n * cols).map(|_| stream.uniform() - 0.5).collect()
    }

    /// Almost dependent, equal, zero and ordinary columns all become orthonormal, and the factors give the block back.
    #[test]
    fn hopeless_blocks_become_orthonormal() {
        for linked in [0, 4] {
            let (n, cols, exec) = (700, 6, Exec::with_threads(2));
            let mut stream = Stream::new(1, linked as u64);
            let mut basis = Tall::<f64>::new(n, 10);
            let mut first = random_block(n, 4, 1);
            basis.orthonormalize(&mut first, 4, 0, &mut stream, &exec).unwrap();
            basis.append(&first, 4, &exec).unwrap();
            let mut block = random_block(n, cols, 2);
            for (i, row) in block.chunks_exact_mut(cols).enumerate() {
                row[1] = row[0] * (1.0 + 1e-13 * (i % 7) as f64);
                row[2] = row[0];
                row[3] = 0.0;
                row[4] = first[i * 4] + 1e-10 * row[5];
            }
            let mut y = block.clone();
            let parts = basis.orthonormalize(&mut y, cols, linked, &mut stream, &exec).unwrap();
            basis.append(&y, cols, &exec).unwrap();
            let mut all = basis.combine(Mat::<f64>::identity(10, 10).as_ref(), &exec).unwrap();
            let gram = basis.turn_and_project(None, 0, &mut all, 10, &exec).unwrap();
            assert!(largest(&(gram - Mat::<f64>::identity(10, 10))) < 1e-13);
            for (i, row) in block.chunks_exact(cols).enumerate() {
                for (j, &v) in row.iter().enumerate() {
                    let old: f64 = (0..4).map(|k| first[i * 4 + k] * parts.coefficients[(k, j)]).sum();
                    let new: f64 = (0..cols).map(|k| y[i * cols + k] * parts.factor[(k, j)]).sum();
                    assert!((old + new - v).abs() < 1e-12, "{i} {j}");
                }
            }
        }
    }

    #[test]
    fn rotation_keeps_the_leading_columns() {
        let (n, exec) = (600, Exec::with_threads(2));
        let mut basis = Tall::<f32>::new(n, 5);
        let block: Vec<f32> = random_block(n, 5, 3).into_iter().map(|v| v as f32).collect();
        basis.append(&block, 5, &exec).unwrap();
        let c = Mat::from_fn(5, 2, |i, j| if i == 2 * j { 2.0 } else { 0.0 });
        basis.rotate(c.as_ref(), &exec).unwrap();
        let rotated = basis.combine(Mat::<f64>::identity(2, 2).as_ref(), &exec).unwrap();
        for (row, old) in rotated.chunks_exact(2).zip(block.chunks_exact(5)) {
            assert_eq!(row, [2.0 * old[0], 2.0 * old[2]]);
        }
    }
}
