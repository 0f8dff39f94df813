//! Cross diffusion of several views.
//!
//! ```text
//! Q_v <- P_v M_v P_v^T,   M_v = mean of the other Q_u,   from Q_v = P_v
//! ```
//!
//! The answer is the mean of the `Q_v`, which are dense. A step is `Z_v = P_v M_v`, then
//! `P_v Z_v^T`, which is the transpose of the next `Q_v`. Columns `I` of both products need columns
//! `I` of their right factors only, so one pass over the columns does the second half of a step and
//! the first half of the next:
//!
//! ```text
//! rows I of all Z_v  ->  columns I of Q_v^T = P_v Z_v^T, of their sum, of M_v^T and of P_v M_v^T
//! ```
//!
//! Only the `Z_v` are stored. A pass reads rows and writes columns; storing the transpose of the
//! result puts it where the input was, and the next pass exchanges rows and columns. Matrices
//! consist of square tiles, so that rows and columns are both lists of whole tiles. `16 N` elements
//! fit the second-level cache, where all products take place. A pass moves `2 V N^2` elements of
//! memory and takes `2 V N nnz` multiplications.
//!
//! Reference: Wang, Jiang, Wang, Zhou and Tu 2012, doi:10.1109/CVPR.2012.6248029.

use mdt_dense::{Accum, MatMut, MatRef};

use super::embedding::{Coordinates, EmbeddingSettings, embed_map};
use crate::ground::block::Block;
use crate::ground::memory;
use crate::{Direction, Error, Exec, LinearMap, OperatorSet, Real, Result, Trajectory};

/// Rows and columns of a tile: columns that are processed together.
const SIDE: usize = 16;

/// Elements of a tile.
const TILE: usize = SIDE * SIDE;

/// Rows of a parallel piece of a product with the dense mean.
const ROWS: usize = 64;

/// Embeds the points by cross diffusion of the first `n_views` walks: `U S` of the mean of the
/// `Q_v` after `n_steps` steps.
pub fn embed_cross_diffusion<T: Real>(
    set: &OperatorSet<T>,
    n_views: usize,
    n_steps: usize,
    settings: &EmbeddingSettings,
    exec: &Exec,
) -> Result<Coordinates<T>> {
    let map = Dense { n: set.n(), rows: mean(set, n_views, n_steps, exec)? };
    embed_map(&map, settings, Ok, exec)
}

/// The mean of the `Q_v`, row by row.
fn mean<T: Real>(set: &OperatorSet<T>, n_views: usize, n_steps: usize, exec: &Exec) -> Result<Vec<T>> {
    if n_views < 2 || n_views > set.in_any_order().len() {
        return Err(Error::Invalid(format!(
            "expected at least 2 views, got {}",
            n_views.min(set.in_any_order().len())
        )));
    }
    let n = set.n();
    let side = n.div_ceil(SIDE);
    let walks: Vec<_> = (0..n_views).map(|v| Trajectory::of_walk(set, v)).collect();
    let mut stored: Vec<Block<T>> = walks.iter().map(|_| Block::zeros(side * side * TILE)).collect::<Result<_>>()?;
    let alone = exec.alone();
    for step in 0..=n_steps {
        let pass = Pass { walks: &walks, is_first: step == 0, is_last: step == n_steps, by_rows: step % 2 == 1 };
        let mut strips = strips(&mut stored, side, pass.by_rows);
        exec.for_pieces(
            &mut strips,
            1,
            || Panels::new(n_views, side),
            |first, strips, panels: &mut Result<Panels<T>>| {
                let panels = panels.as_mut().map_err(|error| error.clone())?;
                strips.iter_mut().try_for_each(|strip| pass.run(first, strip, panels, &alone))
            },
        )?;
    }
    stored.truncate(1);
    let tiles = &stored[0];
    memory::collect((0..n * n).map(|k| {
        let (i, j) = (k / n, k % n);
        tiles[(i / SIDE * side + j / SIDE) * TILE + i % SIDE * SIDE + j % SIDE]
    }))
}

/// The tiles of each view in one row or column of tiles.
type Strip<'a, T> = Vec<Vec<&'a mut [T]>>;

/// All rows of tiles, or all columns of tiles.
fn strips<T: Real>(stored: &mut [Block<T>], side: usize, by_rows: bool) -> Vec<Strip<'_, T>> {
    let mut strips: Vec<Strip<'_, T>> = (0..side).map(|_| stored.iter().map(|_| Vec::new()).collect()).collect();
    for (v, block) in stored.iter_mut().enumerate() {
        for (k, tile) in block.chunks_exact_mut(TILE).enumerate() {
            strips[if by_rows { k / side } else { k % side }][v].push(tile);
        }
    }
    strips
}

/// Blocks of [`SIDE`] columns, row-major. Rows from `N` on stay 0.
struct Panels<T> {
    input: Vec<T>,
    output: Vec<T>,
    sum: Vec<T>,
    images: Vec<Vec<T>>,
}

impl<T: Real> Panels<T> {
    fn new(n_views: usize, side: usize) -> Result<Self> {
        let panel = || memory::zeros(side * TILE);
        let images = (0..n_views).map(|_| panel()).collect::<Result<_>>()?;
        Ok(Self { input: panel()?, output: panel()?, sum: panel()?, images })
    }
}

/// The second half of a step and the first half of the next.
struct Pass<'a, T> {
    walks: &'a [Trajectory<'a, T>],
    /// There is no step before: `Q_v = P_v`.
    is_first: bool,
    /// There is no step after: the mean takes the place of the first matrix.
    is_last: bool,
    /// Strips are rows of tiles.
    by_rows: bool,
}

impl<T: Real> Pass<'_, T> {
    /// Processes columns `index * SIDE` and following.
    fn run(&self, index: usize, strip: &mut Strip<'_, T>, panels: &mut Panels<T>, exec: &Exec) -> Result<()> {
        let Panels { input, output, sum, images } = panels;
        let size = self.walks[0].n() * SIDE;
        sum.fill(T::ZERO);
        for ((walk, tiles), image) in self.walks.iter().zip(&*strip).zip(&mut *images) {
            if self.is_first {
                input.fill(T::ZERO);
                input[index * TILE..][..TILE].iter_mut().step_by(SIDE + 1).for_each(|v| *v = T::ONE);
            } else {
                self.read(tiles, input);
            }
            walk.apply(&input[..size], SIDE, Direction::Forward, &mut image[..size], exec)?;
            sum.iter_mut().zip(&*image).for_each(|(s, &v)| *s += v);
        }
        if self.is_last {
            let share = T::from_f64(1.0 / self.walks.len() as f64);
            sum.iter_mut().for_each(|s| *s *= share);
            self.write(sum, &mut strip[0]);
            return Ok(());
        }
        let share = T::from_f64(1.0 / (self.walks.len() - 1) as f64);
        for ((walk, tiles), image) in self.walks.iter().zip(strip).zip(images) {
            input.iter_mut().zip(&*sum).zip(&*image).for_each(|((o, &s), &v)| *o = (s - v) * share);
            walk.apply(&input[..size], SIDE, Direction::Forward, &mut output[..size], exec)?;
            self.write(output, tiles);
        }
        Ok(())
    }

    fn read(&self, tiles: &[&mut [T]], panel: &mut [T]) {
        for (tile, rows) in tiles.iter().zip(panel.chunks_exact_mut(TILE)) {
            self.copy(tile, rows);
        }
    }

    fn write(&self, panel: &[T], tiles: &mut [&mut [T]]) {
        for (tile, rows) in tiles.iter_mut().zip(panel.chunks_exact(TILE)) {
            self.copy(rows, tile);
        }
    }

    /// Copies a tile; transposes it if strips are rows.
    fn copy(&self, from: &[T], to: &mut [T]) {
        if !self.by_rows {
            return to.copy_from_slice(from);
        }
        for (i, row) in to.chunks_exact_mut(SIDE).enumerate() {
            row.iter_mut().zip(from[i..].iter().step_by(SIDE)).for_each(|(to, from)| *to = *from);
        }
    }
}

/// A dense row-major matrix.
struct Dense<T> {
    n: usize,
    rows: Vec<T>,
}

impl<T: Real> LinearMap<T> for Dense<T> {
    fn n(&self) -> usize {
        self.n
    }

    fn apply(&self, x: &[T], cols: usize, direction: Direction, out: &mut [T], exec: &Exec) -> Result<()> {
        let whole = MatRef::from_row_major_slice(&self.rows, self.n, self.n);
        let whole = if direction == Direction::Forward { whole } else { whole.transpose() };
        let x = MatRef::from_row_major_slice(x, self.n, cols);
        exec.each_piece(out, ROWS * cols, |first, piece| {
            let n_rows = piece.len() / cols;
            let rows = whole.subrows(first / cols, n_rows);
            T::multiply(MatMut::from_row_major_slice_mut(piece, n_rows, cols), Accum::Replace, rows, x, T::ONE);
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ground::csr::Csr;
    use crate::walk::member::Member;
    use crate::walk::transition::Transition;

    /// A walk from each of `n` points to itself and two others, with probabilities that differ.
    fn rows(n: usize, view: usize) -> Vec<Vec<f64>> {
        let row = |i: usize| {
            let mut row = vec![0.0; n];
            row[i] += 0.5;
            row[(i + view + 1) % n] += 0.25 + 0.2 * i as f64 / n as f64;
            row[(i * 7 + view) % n] += 0.25 - 0.2 * i as f64 / n as f64;
            row
        };
        (0..n).map(row).collect()
    }

    fn set(n: usize, views: usize) -> OperatorSet<f64> {
        let walk = |view| {
            let indices = (0..n * n).map(|k| (k % n) as u32).collect();
            let indptr = (0..=n as u64).map(|i| i * n as u64).collect();
            let csr = Csr::new(n, indptr, indices, rows(n, view).concat()).unwrap();
            Arc::new(Transition::from_stochastic(csr, 1e-12, &Exec::with_threads(1)).unwrap())
        };
        let members = (0..views).map(Member::Walk).collect();
        OperatorSet::new((0..views).map(walk).collect(), members).unwrap()
    }

    /// Entry by entry.
    fn slow_mean(n: usize, views: usize, steps: usize) -> Vec<f64> {
        let walks: Vec<_> = (0..views).map(|v| rows(n, v)).collect();
        let mut all = walks.clone();
        for _ in 0..steps {
            let step = |v: usize| {
                let others = |k: usize, l: usize| {
                    let sum: f64 = (0..views).filter(|&u| u != v).map(|u| all[u][k][l]).sum();
                    sum / (views - 1) as f64
                };
                let half: Vec<Vec<f64>> = (0..n)
                    .map(|i| (0..n).map(|l| (0..n).map(|k| walks[v][i][k] * others(k, l)).sum()).collect())
                    .collect();
                (0..n).map(|i| (0..n).map(|j| (0..n).map(|l| half[i][l] * walks[v][j][l]).sum()).collect()).collect()
            };
            all = (0..views).map(step).collect();
        }
        (0..n * n).map(|k| all.iter().map(|q| q[k / n][k % n]).sum::<f64>() / views as f64).collect()
    }

    #[test]
    fn the_mean_is_that_of_the_definition() {
        for (n, views, steps) in [(3, 2, 1), (16, 3, 2), (37, 3, 3), (37, 4, 4)] {
            let expected = slow_mean(n, views, steps);
            for threads in [1, 3] {
                let found = mean(&set(n, views), views, steps, &Exec::with_threads(threads)).unwrap();
                let error = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(error < 1e-15, "{n} {views} {steps}: {error}");
            }
        }
    }

    #[test]
    fn both_directions_are_those_of_the_matrix() {
        let (n, cols) = (70, 3);
        let matrix = Dense { n, rows: (0..n * n).map(|k| ((k * 31) % 17) as f64).collect() };
        let x: Vec<f64> = (0..n * cols).map(|k| ((k * 13) % 11) as f64).collect();
        for direction in [Direction::Forward, Direction::Transposed] {
            let mut out = vec![f64::NAN; n * cols];
            matrix.apply(&x, cols, direction, &mut out, &Exec::with_threads(1)).unwrap();
            let entry = |i, k| matrix.rows[if direction == Direction::Forward { i * n + k } else { k * n + i }];
            for (at, got) in out.iter().enumerate() {
                let expected: f64 = (0..n).map(|k| entry(at / cols, k) * x[k * cols + at % cols]).sum();
                assert_eq!(*got, expected);
            }
        }
    }

    #[test]
    fn one_view_is_refused() {
        assert!(matches!(mean(&set(3, 1), 2, 1, &Exec::with_threads(1)), Err(Error::Invalid(_))));
    }
}
