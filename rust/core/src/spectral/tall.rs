//! Tall matrices: many rows, few columns.
//!
//! Everything is done in pieces of rows whose size depends on the number of rows alone; inner products are rounded to the
//! element type within a piece and added over the pieces in order, in double precision.

use std::ops::Range;

use mdt_dense::{Accum, Mat, MatMut, MatRef, product, symmetric_eigen};

use crate::ground::block::Block;
use crate::ground::exec::Exec;
use crate::ground::random::Stream;
use crate::{Error, Real, Result};

/// Rows that are multiplied at a time: two blocks of them stay in cache.
const ROWS: usize = 256;

/// Directions of a block shorter than this, relative to its longest, are stretched by a limited factor in one pass: their
/// length is not known better. In units of the roundoff.
const LEAST_KNOWN: f64 = 1e4;

/// Columns of a basis are orthonormal within so many units of the roundoff.
pub(super) const ORTHONORMAL: f64 = 256.0;

/// Rounding of a sum is some units of the roundoff times its largest term.
pub(super) const ROUNDING: f64 = 32.0;

/// Columns that fail to be orthonormal by no more than this are so after one more pass, but for rounding.
const NEARLY_ORTHONORMAL: f64 = 0.1;

/// Passes after which a block is orthonormal whatever it was.
const MAX_PASSES: usize = 8;

/// A matrix that grows by blocks of columns, each kept as it came: row-major, on its own.
#[derive(Debug)]
pub(super) struct Tall<T> {
    n: usize,
    panels: Vec<Panel<T>>,
    /// Columns that the last rotation left.
    kept: usize,
}

/// The columns of a basis along which a block may have something that is not rounding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Links {
    /// Columns from here on, where a block of the basis begins.
    pub from: usize,
    /// Has rounding grown so much that all columns count?
    pub all: bool,
    /// By how much columns may fail to be orthogonal: where less than rounding over this is left of a block, all columns count, too.
    pub allowed: f64,
}

impl Links {
    /// All columns, at once.
    pub const ALL: Self = Self { from: 0, all: true, allowed: f64::INFINITY };
}

/// Blocks of a basis by their first column: from the one bound on, or before the other.
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

/// How a block `Y` is replaced by `(Y - Q C) M`, `Q` the selected blocks of a basis.
struct Change<T> {
    /// `C M`.
    removed: Mat<T>,
    /// `M`.
    turn: Mat<T>,
    selected: Selected,
}

impl<T: Real> Change<T> {
    fn new(c: &Mat<f64>, m: &Mat<f64>, selected: Selected) -> Self {
        Self { removed: to_real(product(c.as_ref(), m.as_ref()).as_ref()), turn: to_real(m.as_ref()), selected }
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

#[derive(Debug)]
struct Panel<T> {
    data: Block<T>,
    cols: usize,
}

impl<T: Real> Panel<T> {
    fn rows(&self, rows: &Range<usize>) -> MatRef<'_, T> {
        rows_of(&self.data, self.cols, rows)
    }
}

/// Orthonormal columns `Y` made from a block: `block = basis * coefficients + Y * factor`.
pub(super) struct Orthonormalized {
    pub coefficients: Mat<f64>,
    pub factor: Mat<f64>,
}

impl<T: Real> Tall<T> {
    pub fn new(n: usize) -> Self {
        Self { n, panels: Vec::new(), kept: 0 }
    }

    pub fn width(&self) -> usize {
        self.panels.iter().map(|panel| panel.cols).sum()
    }

    /// Adds the columns of a row-major block.
    pub fn append(&mut self, data: Block<T>, cols: usize) {
        self.panels.push(Panel { data, cols });
    }

    /// The blocks that are selected, each with its first column.
    fn panels(&self, selected: Selected) -> impl Iterator<Item = (usize, &Panel<T>)> {
        let places = self.panels.iter().scan(0, |end, panel| {
            *end += panel.cols;
            Some(*end - panel.cols)
        });
        places.zip(&self.panels).filter(move |(first, _)| selected.has(*first))
    }

    /// Replaces `Y` by `(Y - Q C) M`, a few rows of both.
    fn change(&self, change: &Change<T>, rows: &Range<usize>, piece: &mut [T], copy: &mut Vec<T>) {
        let cols = change.turn.ncols();
        copy.clear();
        copy.extend_from_slice(piece);
        let source = MatRef::from_row_major_slice(copy, rows.len(), cols);
        let mut target = MatMut::from_row_major_slice_mut(piece, rows.len(), cols);
        T::multiply(target.as_mut(), Accum::Replace, source, change.turn.as_ref(), T::ONE);
        for (first, panel) in self.panels(change.selected) {
            let removed = change.removed.subrows(first, panel.cols);
            T::multiply(target.as_mut(), Accum::Add, panel.rows(rows), removed, -T::ONE);
        }
    }

    /// Changes `Y` if that is asked for and returns `Q^T Y`, rows of blocks that are not selected left at zero, and `Y^T Y`: one pass
    /// over all of them.
    fn change_and_measure(
        &self,
        change: Option<&Change<T>>,
        selected: Selected,
        y: &mut [T],
        cols: usize,
        exec: &Exec,
    ) -> Result<Measured> {
        let width = self.width();
        let products = sum_over_pieces(self.n, width + cols, y, cols, exec, |rows, piece, copy, mut out| {
            if let Some(change) = change {
                self.change(change, &rows, piece, copy);
            }
            let block = MatRef::from_row_major_slice(piece, rows.len(), cols);
            let others = self.panels(selected).map(|(first, panel)| (first, panel.rows(&rows)));
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

    /// `Q C`, row-major.
    pub fn combine(&self, c: MatRef<'_, f64>, exec: &Exec) -> Result<Block<T>> {
        let (c, cols) = (to_real::<T>(c), c.ncols());
        map_rows(self.n, cols, exec, |rows, mut target| {
            for (first, panel) in self.panels(Selected::ALL) {
                let accumulate = if first == 0 { Accum::Replace } else { Accum::Add };
                T::multiply(target.as_mut(), accumulate, panel.rows(&rows), c.subrows(first, panel.cols), T::ONE);
            }
        })
    }

    /// Replaces the columns by `Q C`.
    pub fn rotate(&mut self, c: MatRef<'_, f64>, exec: &Exec) -> Result<()> {
        let data = self.combine(c, exec)?;
        self.panels = vec![Panel { data, cols: c.ncols() }];
        self.kept = c.ncols();
        Ok(())
    }

    /// Makes the columns of `y` orthonormal to each other and to this basis.
    ///
    /// Each pass removes the basis and divides by the square root of what is left of the Gram matrix, whose eigenvectors also show
    /// directions that are nearly lost: those are stretched step by step and freed from the basis again, so that a block
    /// of almost dependent vectors is handled like any other. What has vanished altogether is drawn anew from `stream`
    /// and has no part in `factor`. It ends when the columns are found to be orthonormal as well as `links` asks for it, or when only
    /// rounding can be left.
    ///
    /// The first pass removes the columns that `links` names and those that were kept at a restart, along which rounding grows
    /// fastest; later ones remove all columns where that is asked for or little is left of the block.
    pub fn orthonormalize(
        &self,
        y: &mut [T],
        cols: usize,
        links: Links,
        stream: &mut Stream,
        exec: &Exec,
    ) -> Result<Orthonormalized> {
        let mut coefficients = Mat::zeros(self.width(), cols);
        let mut factor = Mat::<f64>::identity(cols, cols);
        let mut selected = Selected { from: links.from, until: self.kept };
        let mut measured = self.change_and_measure(None, selected, y, cols, exec)?;
        for pass in 0..MAX_PASSES {
            let error = measured.error();
            if pass > 0 && error <= links.allowed.min(ORTHONORMAL * T::ROUNDOFF) {
                break;
            }
            let Whitening { transform, inverse, lost, lengths: (least, most) } = whiten::<T>(&measured, pass > 0)?;
            let projected = largest(&measured.projection);
            let is_strange = ORTHONORMAL * T::ROUNDOFF * most.max(projected) > links.allowed * least;
            coefficients += product(measured.projection.as_ref(), factor.as_ref());
            factor = product(inverse.as_ref(), factor.as_ref());
            let change = Change::new(&measured.projection, &transform, selected);
            if links.all || is_strange {
                selected = Selected::ALL;
            }
            let is_last = pass > 0 && error < NEARLY_ORTHONORMAL;
            if !is_last && lost.is_empty() {
                measured = self.change_and_measure(Some(&change), selected, y, cols, exec)?;
                continue;
            }
            for_rows(y, cols, exec, |rows, piece, copy| self.change(&change, &rows, piece, copy))?;
            if is_last {
                break;
            }
            selected = Selected::ALL;
            let scale = (3.0 / self.n as f64).sqrt();
            for row in y.chunks_exact_mut(cols) {
                lost.iter().for_each(|&j| row[j] = T::from_f64(scale * (2.0 * stream.uniform() - 1.0)));
            }
            measured = self.change_and_measure(None, selected, y, cols, exec)?;
        }
        Ok(Orthonormalized { coefficients, factor })
    }
}

/// `block C` for a row-major block of as many columns as `C` has rows.
pub(super) fn combine_block<T: Real>(block: &[T], c: MatRef<'_, f64>, exec: &Exec) -> Result<Block<T>> {
    let (c, cols) = (to_real::<T>(c), c.ncols());
    map_rows(block.len() / c.nrows(), cols, exec, |rows, target| {
        T::multiply(target, Accum::Replace, rows_of(block, c.nrows(), &rows), c.as_ref(), T::ONE);
    })
}

/// The row-major matrix that `work(rows, these rows of it)` writes, a few rows at a time.
fn map_rows<T: Real>(
    n: usize,
    cols: usize,
    exec: &Exec,
    work: impl Fn(Range<usize>, MatMut<'_, T>) + Sync + Send,
) -> Result<Block<T>> {
    let mut out = Block::unset(n * cols);
    for_rows(&mut out, cols, exec, |rows, piece, _| {
        let target = MatMut::from_row_major_slice_mut(piece, rows.len(), cols);
        work(rows, target);
    })?;
    Ok(out)
}

/// Calls `work(rows, rows of y, scratch)` for every few rows of a block, in parallel.
fn for_rows<T: Real>(
    y: &mut [T],
    cols: usize,
    exec: &Exec,
    work: impl Fn(Range<usize>, &mut [T], &mut Vec<T>) + Sync + Send,
) -> Result<()> {
    exec.for_pieces(y, ROWS * cols.max(1), Vec::new, |first, piece, scratch| {
        let from = first / cols;
        work(from..from + piece.len() / cols, piece, scratch);
        Ok(())
    })
}

/// Some rows of a row-major block.
fn rows_of<'a, T: Real>(block: &'a [T], cols: usize, rows: &Range<usize>) -> MatRef<'a, T> {
    MatRef::from_row_major_slice(&block[rows.start * cols..rows.end * cols], rows.len(), cols)
}

/// What [`whiten`] finds.
struct Whitening {
    transform: Mat<f64>,
    inverse: Mat<f64>,
    /// Columns that are lost.
    lost: Vec<usize>,
    /// Of the shortest and of the longest direction.
    lengths: (f64, f64),
}

/// A matrix that (nearly) orthonormalises what such columns leave beside the basis, and its inverse.
///
/// What is left is known to the rounding of what the columns were. So none is given up before that is small, `is_known`.
fn whiten<T: Real>(Measured { projection, gram }: &Measured, is_known: bool) -> Result<Whitening> {
    let cols = gram.ncols();
    let whole = largest(gram);
    if !whole.is_finite() {
        return Err(Error::Invalid("expected finite products with the operator, got NaN or infinity".into()));
    }
    let rest = gram - product(projection.transpose(), projection.as_ref());
    let (mut values, vectors) = symmetric_eigen(rest.as_ref()).map_err(|reason| no_convergence(&reason))?;
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

fn to_real<T: Real>(m: MatRef<'_, f64>) -> Mat<T> {
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
    use super::*;

    fn random_block(n: usize, cols: usize, seed: u64) -> Vec<f64> {
        let mut stream = Stream::new(seed, 0);
        (0..n * cols).map(|_| stream.uniform() - 0.5).collect()
    }

    /// Almost dependent, equal, zero and ordinary columns all become orthonormal, and the factors give the block back.
    #[test]
    fn hopeless_blocks_become_orthonormal() {
        for from in [0, 4] {
            let links = Links { from, all: true, allowed: 0.0 };
            let (n, cols, exec) = (700, 6, Exec::with_threads(2));
            let mut stream = Stream::new(1, from as u64);
            let mut basis = Tall::<f64>::new(n);
            let mut first = random_block(n, 4, 1);
            basis.orthonormalize(&mut first, 4, links, &mut stream, &exec).unwrap();
            basis.append(Block::from(first.clone()), 4);
            let mut block = random_block(n, cols, 2);
            for (i, row) in block.chunks_exact_mut(cols).enumerate() {
                row[1] = row[0] * (1.0 + 1e-13 * (i % 7) as f64);
                row[2] = row[0];
                row[3] = 0.0;
                row[4] = first[i * 4] + 1e-10 * row[5];
            }
            let mut y = block.clone();
            let parts = basis.orthonormalize(&mut y, cols, links, &mut stream, &exec).unwrap();
            basis.append(Block::from(y.clone()), cols);
            let mut all = basis.combine(Mat::<f64>::identity(10, 10).as_ref(), &exec).unwrap();
            let check = Tall::new(n).change_and_measure(None, Selected::ALL, &mut all, 10, &exec).unwrap();
            assert!(check.error() < 1e-13);
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
        let mut basis = Tall::<f32>::new(n);
        let block: Vec<f32> = random_block(n, 5, 3).into_iter().map(|v| v as f32).collect();
        basis.append(Block::from(block.clone()), 5);
        let c = Mat::from_fn(5, 2, |i, j| if i == 2 * j { 2.0 } else { 0.0 });
        basis.rotate(c.as_ref(), &exec).unwrap();
        let rotated = basis.combine(Mat::<f64>::identity(2, 2).as_ref(), &exec).unwrap();
        for (row, old) in rotated.chunks_exact(2).zip(block.chunks_exact(5)) {
            assert_eq!(row, [2.0 * old[0], 2.0 * old[2]]);
        }
    }
}
