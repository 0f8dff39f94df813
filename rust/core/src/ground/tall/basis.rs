//! An orthonormal basis of tall vectors that grows block by block.
//!
//! ```text
//! Y = Q C + Y' F,   Q^T Y' = 0,   Y'^T Y' = I
//! ```
//!
//! [`Basis::orthonormalize`] computes `Y'`, `C` and `F` for a new block `Y`. A pass removes
//! `Q Q^T Y` and divides by the square root of the Gram matrix of the rest, whose eigenvectors also
//! show directions that are nearly lost. Products run in the element type on a few rows and are
//! added in double precision. A pass costs `4 n m b` flops, `b` the width of the block: the
//! products with `m` columns of the basis and their removal. Two passes are usual, and a third one
//! follows if the second finds more than rounding.
//!
//! Blocks of the basis are kept as they are appended: nothing is copied or reserved.

use std::ops::Range;

use mdt_dense::{Accum, Mat, MatMut, MatRef, product, symmetric_eigen};

use super::block::{TallBlock, TallRef};
use crate::{Error, Exec, Real, Result, Stream};

/// Rows that are multiplied at a time: two blocks of them stay in cache.
const ROWS: usize = 256;

/// Directions of a block shorter than this, relative to its longest, are stretched by a limited
/// factor in one pass, because their length is not known better. In units of the roundoff.
const LEAST_KNOWN: f64 = 1e4;

/// Columns of a basis are orthonormal within this many units of the roundoff.
pub(crate) const ORTHONORMAL: f64 = 256.0;

/// Columns with a smaller error than this are orthonormal up to rounding after one more pass.
const NEARLY_ORTHONORMAL: f64 = 0.1;

/// Number of passes after which any block is orthonormal.
const MAX_PASSES: usize = 8;

/// Orthonormal columns in blocks.
pub(crate) struct Basis<T> {
    n: usize,
    blocks: Vec<TallBlock<T>>,
    /// Number of columns that the last rotation left.
    kept: usize,
}

/// The columns of a basis with which a new block may have products larger than rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Links {
    /// Columns from here on, the first column of a block of the basis.
    pub from: usize,
    /// Whether rounding has grown so much that all columns count.
    pub all: bool,
    /// Largest allowed error of orthogonality. All columns count if what is left of a block is
    /// below rounding divided by this.
    pub allowed: f64,
}

impl Links {
    /// All columns from the first pass on.
    pub const ALL: Self = Self { from: 0, all: true, allowed: f64::INFINITY };
}

/// Blocks of a basis by their first column: those from one bound on and those before the other.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Selected {
    from: usize,
    until: usize,
}

impl Selected {
    const ALL: Self = Self { from: 0, until: 0 };

    fn has(self, first: usize) -> bool {
        first >= self.from || first < self.until
    }
}

/// Replaces a block `Y` by `(Y - Q C) M`, `Q` the selected blocks of a basis.
struct Change<T> {
    /// `C M`.
    removed: Mat<T>,
    /// `M`.
    transform: Mat<T>,
    selected: Selected,
}

impl<T: Real> Change<T> {
    fn new(c: &Mat<f64>, m: &Mat<f64>, selected: Selected) -> Self {
        Self { removed: rounded(product(c.as_ref(), m.as_ref()).as_ref()), transform: rounded(m.as_ref()), selected }
    }
}

/// Inner products of the columns of a block with those of a basis and with each other.
struct Measured {
    projection: Mat<f64>,
    gram: Mat<f64>,
}

impl Measured {
    /// By how much the columns fail to be orthonormal to the basis and to each other.
    fn error(&self) -> f64 {
        let (cols, gram) = (self.gram.ncols(), &self.gram);
        larger(largest(&self.projection), largest(&(gram - Mat::<f64>::identity(cols, cols))))
    }
}

/// Factors of a block with the orthonormal columns `Y'` made from it:
/// `block = basis * coefficients + Y' * factor`.
pub(crate) struct Orthonormalized {
    pub coefficients: Mat<f64>,
    pub factor: Mat<f64>,
}

impl<T: Real> Basis<T> {
    /// A basis without columns.
    pub fn new(n: usize) -> Self {
        Self { n, blocks: Vec::new(), kept: 0 }
    }

    pub fn width(&self) -> usize {
        self.blocks.iter().map(TallBlock::cols).sum()
    }

    /// The links of a block that may have large products with the last block of this basis only.
    pub fn linked_to_last(&self, links: Links) -> Links {
        Links { from: self.width() - self.blocks.last().map_or(0, TallBlock::cols), ..links }
    }

    /// Adds the columns of a block.
    pub fn append(&mut self, block: TallBlock<T>) {
        self.blocks.push(block);
    }

    /// The selected blocks, each with its first column.
    fn blocks(&self, selected: Selected) -> impl Iterator<Item = (usize, TallRef<'_, T>)> {
        let firsts = self.blocks.iter().scan(0, |end, block| {
            *end += block.cols();
            Some(*end - block.cols())
        });
        firsts.zip(self.blocks.iter().map(TallBlock::view)).filter(move |(first, _)| selected.has(*first))
    }

    /// Replaces `Y` by `(Y - Q C) M` in a few rows.
    fn change(&self, change: &Change<T>, rows: &Range<usize>, piece: &mut [T], copy: &mut Vec<T>) {
        let cols = change.transform.ncols();
        copy.clear();
        copy.extend_from_slice(piece);
        let source = MatRef::from_row_major_slice(copy, rows.len(), cols);
        let mut target = MatMut::from_row_major_slice_mut(piece, rows.len(), cols);
        T::multiply(target.as_mut(), Accum::Replace, source, change.transform.as_ref(), T::ONE);
        for (first, block) in self.blocks(change.selected) {
            let removed = change.removed.subrows(first, block.cols);
            T::multiply(target.as_mut(), Accum::Add, block.rows(rows), removed, -T::ONE);
        }
    }

    /// Applies a change, if there is one, and returns `Q^T Y` and `Y^T Y` in the same pass. Rows of
    /// `Q^T Y` for blocks that are not selected are 0.
    fn change_and_measure(
        &self,
        change: Option<&Change<T>>,
        selected: Selected,
        y: &mut TallBlock<T>,
        exec: &Exec,
    ) -> Result<Measured> {
        let (width, cols) = (self.width(), y.cols());
        let products = sum_over_pieces(y, width + cols, exec, |rows, piece, copy, mut out| {
            if let Some(change) = change {
                self.change(change, &rows, piece, copy);
            }
            let block = MatRef::from_row_major_slice(piece, rows.len(), cols);
            let others = self.blocks(selected).map(|(first, block)| (first, block.rows(&rows)));
            for (first, other) in others.chain([(width, block)]) {
                let out = out.as_mut().subrows_mut(first, other.ncols());
                T::multiply(out, Accum::Replace, other.transpose(), block, T::ONE);
            }
        })?;
        Ok(Measured {
            projection: products.subrows(0, width).to_owned(),
            gram: products.subrows(width, cols).to_owned(),
        })
    }

    /// `Q C`, in the element type.
    pub fn combine(&self, c: MatRef<'_, f64>, exec: &Exec) -> Result<TallBlock<T>> {
        let (c, cols) = (rounded::<T>(c), c.ncols());
        let mut out = TallBlock::unset(self.n, cols)?;
        for_few_rows(&mut out, exec, |rows, piece, _| {
            let mut target = MatMut::from_row_major_slice_mut(piece, rows.len(), cols);
            for (first, block) in self.blocks(Selected::ALL) {
                let accumulate = if first == 0 { Accum::Replace } else { Accum::Add };
                T::multiply(target.as_mut(), accumulate, block.rows(&rows), c.subrows(first, block.cols), T::ONE);
            }
        })?;
        Ok(out)
    }

    /// Replaces the columns by `Q C`.
    pub fn rotate(&mut self, c: MatRef<'_, f64>, exec: &Exec) -> Result<()> {
        self.blocks = vec![self.combine(c, exec)?];
        self.kept = c.ncols();
        Ok(())
    }

    /// Makes the columns of `y` orthonormal to each other and to this basis.
    ///
    /// Nearly lost directions are stretched step by step and freed from the basis again, so almost
    /// dependent vectors need no special case. A direction that vanishes is drawn anew from
    /// `stream` and has no part in `factor`. The loop ends when the columns are as orthonormal as
    /// `links` requires, or when only rounding can be left.
    ///
    /// The first pass removes the columns that `links` names and those kept by a rotation, along
    /// which rounding grows fastest. Later passes remove all columns if `links` requires it or if
    /// little is left of the block.
    pub fn orthonormalize(
        &self,
        y: &mut TallBlock<T>,
        links: Links,
        stream: &mut Stream,
        exec: &Exec,
    ) -> Result<Orthonormalized> {
        let cols = y.cols();
        let mut coefficients = Mat::zeros(self.width(), cols);
        let mut factor = Mat::<f64>::identity(cols, cols);
        let mut selected = Selected { from: links.from, until: self.kept };
        let mut measured = self.change_and_measure(None, selected, y, exec)?;
        for pass in 0..MAX_PASSES {
            let error = measured.error();
            if pass > 0 && error <= links.allowed.min(ORTHONORMAL * T::ROUNDOFF) {
                break;
            }
            let Whitening { transform, inverse, lost, lengths: (least, most) } = whiten::<T>(&measured, pass > 0)?;
            let projected = largest(&measured.projection);
            let is_rounding_large = ORTHONORMAL * T::ROUNDOFF * most.max(projected) > links.allowed * least;
            coefficients += product(measured.projection.as_ref(), factor.as_ref());
            factor = product(inverse.as_ref(), factor.as_ref());
            let change = Change::new(&measured.projection, &transform, selected);
            if links.all || is_rounding_large {
                selected = Selected::ALL;
            }
            let is_last = pass > 0 && error < NEARLY_ORTHONORMAL;
            if !is_last && lost.is_empty() {
                measured = self.change_and_measure(Some(&change), selected, y, exec)?;
                continue;
            }
            for_few_rows(y, exec, |rows, piece, copy| self.change(&change, &rows, piece, copy))?;
            if is_last {
                break;
            }
            selected = Selected::ALL;
            let scale = (3.0 / self.n as f64).sqrt();
            for row in y.chunks_exact_mut(cols) {
                lost.iter().for_each(|&j| row[j] = T::from_f64(scale * (2.0 * stream.uniform() - 1.0)));
            }
            measured = self.change_and_measure(None, selected, y, exec)?;
        }
        Ok(Orthonormalized { coefficients, factor })
    }
}

impl<T: Real> From<TallBlock<T>> for Basis<T> {
    fn from(block: TallBlock<T>) -> Self {
        Self { n: block.view().n_rows(), blocks: vec![block], kept: 0 }
    }
}

/// The result of [`whiten`].
struct Whitening {
    transform: Mat<f64>,
    inverse: Mat<f64>,
    /// Columns that vanish.
    lost: Vec<usize>,
    /// Lengths of the shortest and of the longest direction.
    lengths: (f64, f64),
}

/// A matrix that (nearly) orthonormalizes what the measured columns have outside of the basis, and
/// its inverse.
///
/// The remainder is known to the rounding of the whole columns. No direction counts as lost before
/// that is small, `is_known`.
fn whiten<T: Real>(Measured { projection, gram }: &Measured, is_known: bool) -> Result<Whitening> {
    let cols = gram.ncols();
    let whole = largest(gram);
    if !whole.is_finite() {
        return Err(Error::Invalid("expected finite products with the operator, got NaN or infinity".into()));
    }
    let rest = gram - product(projection.transpose(), projection.as_ref());
    let (mut values, vectors) = symmetric_eigen(rest.as_ref()).map_err(Error::decomposition)?;
    values.reverse();
    let vector = |i: usize, j: usize| vectors[(i, cols - 1 - j)];
    let is_lost = |j: usize| whole == 0.0 || is_known && values[j] <= T::ROUNDOFF * T::ROUNDOFF * values[0];
    let lost: Vec<usize> = (0..cols).filter(|&j| is_lost(j)).collect();
    let length = |j: usize| values[j].max(LEAST_KNOWN * T::ROUNDOFF * whole).sqrt();
    let transform = Mat::from_fn(cols, cols, |i, j| if is_lost(j) { 0.0 } else { vector(i, j) / length(j) });
    let inverse = Mat::from_fn(cols, cols, |j, i| if is_lost(j) { 0.0 } else { length(j) * vector(i, j) });
    let lengths = (values[cols - 1].max(0.0).sqrt(), values[0].max(0.0).sqrt());
    Ok(Whitening { transform, inverse, lost, lengths })
}

/// Calls `work(rows, rows of y, scratch)` for every few rows of a block, in parallel.
fn for_few_rows<T: Real>(
    y: &mut TallBlock<T>,
    exec: &Exec,
    work: impl Fn(Range<usize>, &mut [T], &mut Vec<T>) + Sync + Send,
) -> Result<()> {
    let cols = y.cols();
    exec.for_pieces(y, ROWS * cols.max(1), Vec::new, |first, piece, scratch| {
        let from = first / cols;
        work(from..from + piece.len() / cols, piece, scratch);
        Ok(())
    })
}

/// Calls `work(rows, rows of y, scratch, out)` for every few rows of a block and adds the matrices
/// that it leaves in `out`, of `height` rows and the width of the block. Pieces run in parallel and
/// are added in order: a few pieces for a small block, long pieces for a large one.
fn sum_over_pieces<T: Real>(
    y: &mut TallBlock<T>,
    height: usize,
    exec: &Exec,
    work: impl Fn(Range<usize>, &mut [T], &mut Vec<T>, MatMut<'_, T>) + Sync + Send,
) -> Result<Mat<f64>> {
    let cols = y.cols();
    let piece_rows = (y.view().n_rows() / 16).next_multiple_of(ROWS).clamp(ROWS, 32 * ROWS);
    let parts = exec.map_pieces(y, piece_rows * cols, |first, piece| {
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

/// Rounds a matrix to the element type.
fn rounded<T: Real>(m: MatRef<'_, f64>) -> Mat<T> {
    Mat::from_fn(m.nrows(), m.ncols(), |i, j| T::from_f64(m[(i, j)]))
}

/// The largest magnitude; NaN if there is any.
fn largest(m: &Mat<f64>) -> f64 {
    (0..m.ncols()).flat_map(|j| (0..m.nrows()).map(move |i| m[(i, j)].abs())).fold(0.0, larger)
}

/// The larger of two numbers; NaN if one is.
fn larger(a: f64, b: f64) -> f64 {
    if b <= a || a.is_nan() { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::super::block::tests::random_block;
    use super::*;

    /// Almost dependent, equal, zero and ordinary columns all become orthonormal, and the factors
    /// reproduce the block.
    #[test]
    fn dependent_blocks_become_orthonormal() {
        for from in [0, 4] {
            let links = Links { from, all: true, allowed: 0.0 };
            let (n, cols, exec) = (700, 6, Exec::with_threads(2));
            let mut stream = Stream::new(1, from as u64);
            let mut first = random_block::<f64>(n, 4, 1);
            Basis::new(n).orthonormalize(&mut first, links, &mut stream, &exec).unwrap();
            let old = first.to_vec();
            let mut basis = Basis::from(first);
            let mut y = random_block(n, cols, 2);
            for (i, row) in y.chunks_exact_mut(cols).enumerate() {
                row[1] = row[0] * (1.0 + 1e-13 * (i % 7) as f64);
                row[2] = row[0];
                row[3] = 0.0;
                row[4] = old[i * 4] + 1e-10 * row[5];
            }
            let block = y.to_vec();
            let parts = basis.orthonormalize(&mut y, links, &mut stream, &exec).unwrap();
            let new = y.to_vec();
            basis.append(y);
            let mut all = basis.combine(Mat::<f64>::identity(10, 10).as_ref(), &exec).unwrap();
            let check = Basis::new(n).change_and_measure(None, Selected::ALL, &mut all, &exec).unwrap();
            assert!(check.error() < 1e-13);
            for (k, v) in block.iter().enumerate() {
                let (i, j) = (k / cols, k % cols);
                let old: f64 = (0..4).map(|k| old[i * 4 + k] * parts.coefficients[(k, j)]).sum();
                let new: f64 = (0..cols).map(|k| new[i * cols + k] * parts.factor[(k, j)]).sum();
                assert!((old + new - v).abs() < 1e-12, "{i} {j}");
            }
        }
    }

    #[test]
    fn rotation_keeps_the_leading_columns() {
        let exec = Exec::with_threads(2);
        let block = random_block::<f32>(600, 5, 3);
        let given = block.to_vec();
        let mut basis = Basis::from(block);
        let c = Mat::from_fn(5, 2, |i, j| if i == 2 * j { 2.0 } else { 0.0 });
        basis.rotate(c.as_ref(), &exec).unwrap();
        let rotated = basis.combine(Mat::<f64>::identity(2, 2).as_ref(), &exec).unwrap();
        for (row, old) in rotated.chunks_exact(2).zip(given.chunks_exact(5)) {
            assert_eq!(row, [2.0 * old[0], 2.0 * old[2]]);
        }
    }
}
