//! Leading singular triplets by block Lanczos bidiagonalisation with thick restarts.
//!
//! Two orthonormal bases grow a block at a time, `P` from the right and `Q` from the left:
//!
//! ```text
//! A P_j = Q B_j           (B_j: the new columns of B; Q grows by what is new in A P_j)
//! A^T Q = P B^T + P_next R E_j^T
//! ```
//!
//! `B = X S Y^T` gives `u = Q X`, `v = P Y` with `A v = s u` to rounding and `|A^T u - s v| = |R X_last|`: the residual costs
//! nothing. When the bases are full, the leading triplets replace them and the last block goes on from there.
//!
//! A residual bounds the error of its singular value, `|s - sigma| <= residual`, whatever the gaps (see [`is_accurate`]); where
//! the spectrum is crowded the vectors may still turn within their neighbourhood. Cost of an iteration: `A` and `A^T` on a block, and some
//! `16 N m b` flops to orthogonalise (`m` columns, `b` new ones). Memory: `2 N m` elements.

use mdt_dense::{Mat, MatRef};

use super::tall::{Tall, no_convergence};
use crate::block::Block;
use crate::exec::Exec;
use crate::linear_map::LinearMap;
use crate::random::Stream;
use crate::transition::Direction;
use crate::{Error, Real, Result};

/// Widest block: as many columns as the sparse kernel keeps in registers.
const MAX_BLOCK: usize = 32;

/// Rounding keeps residuals above some units of this times the largest singular value.
const ROUNDING: f64 = 32.0;

/// Rows that one random stream fills.
const ROWS_PER_STREAM: usize = 1024;

/// What to compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SvdSettings {
    /// Number of leading triplets.
    pub rank: usize,
    /// Largest residual relative to the largest singular value, and largest error of a singular value relative to itself.
    pub tolerance: f64,
    /// Iterations (each one application of the matrix and its transpose to a block) after which the answer is given as it is.
    pub max_iterations: usize,
    /// Seed of the starting block.
    pub seed: u64,
}

/// Leading singular triplets: `A right = left * diag(values)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Svd<T> {
    /// Singular values, largest first.
    pub values: Vec<f64>,
    /// `n x rank`, row-major, orthonormal columns.
    pub left: Vec<T>,
    /// `n x rank`, row-major, orthonormal columns.
    pub right: Vec<T>,
    /// `|A^T u - s v|` of each triplet.
    pub residuals: Vec<f64>,
    /// Are all triplets within the tolerance (or at the level of rounding)?
    pub converged: bool,
    /// Columns that the matrix or its transpose was applied to.
    pub applications: usize,
}

/// Widths of the blocks and bases for a number of triplets.
struct Widths {
    block: usize,
    /// Columns of a basis before it is restarted.
    most: usize,
    /// Columns that a restart keeps.
    kept: usize,
}

impl Widths {
    fn new(rank: usize, n: usize) -> Self {
        let block = (rank + 4).next_multiple_of(8).min(MAX_BLOCK);
        Self { block, most: (2 * rank + 8 * block).min(n / 2), kept: rank + block }
    }

    /// Would the bases be nearly as large as the matrix?
    fn are_too_wide(&self, n: usize) -> bool {
        n <= 4 * (self.kept + self.block)
    }
}

/// The leading singular triplets of `map`. The optional `start` is a row-major block whose columns are near the leading right
/// singular vectors.
pub fn svd<T: Real>(
    map: &impl LinearMap<T>,
    settings: &SvdSettings,
    start: Option<&[T]>,
    exec: &Exec,
) -> Result<Svd<T>> {
    let (n, rank) = (map.n(), settings.rank);
    if rank < 1 || rank > n {
        return Err(Error::Invalid(format!("expected between 1 and {n} triplets, got {rank}")));
    }
    let given = start.unwrap_or_default();
    if !given.len().is_multiple_of(n) {
        return Err(Error::Invalid(format!("expected a starting block of {n} rows, got {} elements", given.len())));
    }
    let widths = Widths::new(rank, n);
    let given_cols = (given.len() / n).min(widths.kept);
    if widths.are_too_wide(n) {
        return dense(map, rank, exec);
    }
    let cols = widths.block.max(given_cols);
    let room = widths.most.max(widths.kept + 2 * cols);
    let (mut left, mut right) = (Tall::<T>::new(n, room), Tall::<T>::new(n, room));
    let mut stream = Stream::new(settings.seed, u64::MAX);
    let mut b = Mat::<f64>::zeros(room, room);
    let mut x = starting_block(n, cols, (given, given_cols), settings.seed, exec)?;
    right.orthonormalize(&mut x, cols, &mut stream, exec)?;
    let mut applications = 0;
    for iteration in 1.. {
        exec.check()?;
        let m = left.width();
        right.append(&x, cols, exec)?;
        let mut y = Block::zeros(n * cols);
        map.apply(&x, cols, Direction::Forward, &mut y, exec)?;
        let new = left.orthonormalize(&mut y, cols, &mut stream, exec)?;
        b.submatrix_mut(0, m, m, cols).copy_from(&new.coefficients);
        b.submatrix_mut(m, m, cols, cols).copy_from(&new.factor);
        left.append(&y, cols, exec)?;
        map.apply(&y, cols, Direction::Transposed, &mut x, exec)?;
        let next = right.orthonormalize(&mut x, cols, &mut stream, exec)?;
        applications += 2 * cols;

        let width = m + cols;
        if width < rank {
            continue;
        }
        let small = decompose(b.submatrix(0, 0, width, width))?;
        let residuals = residuals(&small, next.factor.as_ref(), cols, rank);
        let converged = residuals
            .iter()
            .zip(&small.values)
            .all(|(&r, &s)| is_accurate(r, s, small.values[0], settings.tolerance, ROUNDING * T::ROUNDOFF));
        if converged || iteration >= settings.max_iterations {
            return Ok(Svd {
                left: left.combine(small.left.as_ref().subcols(0, rank), exec)?,
                right: right.combine(small.right.as_ref().subcols(0, rank), exec)?,
                values: small.values[..rank].to_vec(),
                residuals,
                converged,
                applications,
            });
        }
        if width + cols > room {
            left.rotate(small.left.as_ref().subcols(0, widths.kept), exec)?;
            right.rotate(small.right.as_ref().subcols(0, widths.kept), exec)?;
            b = Mat::zeros(room, room);
            (0..widths.kept).for_each(|i| b[(i, i)] = small.values[i]);
        }
    }
    unreachable!("the loop ends at max_iterations")
}

/// The decomposition of the projected matrix.
fn decompose(b: MatRef<'_, f64>) -> Result<mdt_dense::Svd> {
    mdt_dense::svd(b).map_err(|reason| no_convergence(&reason))
}

/// `|R X_last|` of the leading triplets, `X_last` the rows of the last block.
fn residuals(small: &mdt_dense::Svd, r: MatRef<'_, f64>, cols: usize, rank: usize) -> Vec<f64> {
    let last = small.left.as_ref().submatrix(small.left.nrows() - cols, 0, cols, rank);
    let product = mdt_dense::product(r, last);
    (0..rank).map(|i| product.col(i).norm_l2()).collect()
}

/// Is a triplet with this residual good enough?
///
/// A residual bounds the error of its value: within `tolerance * value` it is. For a value far below the largest that asks
/// too much: there it is enough that the triplet belongs to a matrix `tolerance` away, and that the error of the value,
/// which goes with the square of the residual, is small too.
fn is_accurate(residual: f64, value: f64, largest: f64, tolerance: f64, rounding: f64) -> bool {
    let is_near = residual <= tolerance * largest && 4.0 * residual * residual <= tolerance * value * value;
    residual <= tolerance * value || is_near || residual <= rounding * largest
}

/// The given columns, then random ones.
fn starting_block<T: Real>(
    n: usize,
    cols: usize,
    (given, given_cols): (&[T], usize),
    seed: u64,
    exec: &Exec,
) -> Result<Block<T>> {
    let stride = given.len() / n;
    let mut block = Block::zeros(n * cols);
    exec.for_pieces(
        &mut block,
        ROWS_PER_STREAM * cols,
        || (),
        |first, piece, ()| -> Result<()> {
            let from = first / cols;
            let mut stream = Stream::new(seed, (from / ROWS_PER_STREAM) as u64);
            for (i, row) in piece.chunks_exact_mut(cols).enumerate() {
                row[..given_cols].copy_from_slice(&given[(from + i) * stride..][..given_cols]);
                row[given_cols..].iter_mut().for_each(|v| *v = T::from_f64(2.0 * stream.uniform() - 1.0));
            }
            Ok(())
        },
    )?;
    Ok(block)
}

/// The matrix itself, for sizes where bases would be as large.
fn dense<T: Real>(map: &impl LinearMap<T>, rank: usize, exec: &Exec) -> Result<Svd<T>> {
    let n = map.n();
    let unit: Vec<T> = (0..n * n).map(|k| if k % (n + 1) == 0 { T::ONE } else { T::ZERO }).collect();
    let mut whole = vec![T::ZERO; n * n];
    map.apply(&unit, n, Direction::Forward, &mut whole, exec)?;
    if whole.iter().any(|v| !v.to_f64().is_finite()) {
        return Err(Error::Invalid("expected finite products with the operator, got NaN or infinity".into()));
    }
    let small = decompose(Mat::from_fn(n, n, |i, j| whole[i * n + j].to_f64()).as_ref())?;
    let leading = |m: &Mat<f64>| (0..n * rank).map(|k| T::from_f64(m[(k / rank, k % rank)])).collect();
    Ok(Svd {
        left: leading(&small.left),
        right: leading(&small.right),
        values: small.values[..rank].to_vec(),
        residuals: vec![0.0; rank],
        converged: true,
        applications: n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diagonal matrix: its singular values are known, and as crowded as one likes.
    struct Diagonal(Vec<f64>);

    impl LinearMap<f64> for Diagonal {
        fn n(&self) -> usize {
            self.0.len()
        }

        fn apply(&self, x: &[f64], cols: usize, _: Direction, out: &mut [f64], _: &Exec) -> Result<()> {
            for (i, (out, x)) in out.chunks_exact_mut(cols).zip(x.chunks_exact(cols)).enumerate() {
                out.iter_mut().zip(x).for_each(|(o, v)| *o = self.0[i] * v);
            }
            Ok(())
        }
    }

    fn solve(values: Vec<f64>, rank: usize, tolerance: f64, threads: usize) -> Svd<f64> {
        let settings = SvdSettings { rank, tolerance, max_iterations: 500, seed: 1 };
        svd(&Diagonal(values), &settings, None, &Exec::with_threads(threads)).unwrap()
    }

    #[test]
    fn crowded_repeated_and_vanishing_values_are_found() {
        let n = 3000;
        let crowded: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + 1e-3 * f64::from(i))).collect();
        let repeated: Vec<f64> = (0..n).map(|i| if i % 500 == 0 { 1.0 } else { 0.5 }).collect();
        let low_rank: Vec<f64> = (0..n).map(|i| if i < 4 { 1.0 - 0.1 * f64::from(i) } else { 0.0 }).collect();
        for values in [crowded, repeated, low_rank] {
            let found = solve(values.clone(), 6, 1e-9, 2);
            assert!(found.converged);
            let mut expected = values;
            expected.sort_unstable_by(|a, b| b.total_cmp(a));
            for (got, want) in found.values.iter().zip(&expected) {
                assert!((got - want).abs() <= 1e-9 * want + 1e-14, "{got} {want}");
            }
        }
    }

    #[test]
    fn threads_do_not_show() {
        let values: Vec<f64> = (0..5000).map(|i| (-0.01 * f64::from(i)).exp()).collect();
        let one = solve(values.clone(), 10, 1e-6, 1);
        assert_eq!(one, solve(values.clone(), 10, 1e-6, 2));
        assert_eq!(one, solve(values, 10, 1e-6, 5));
    }

    #[test]
    fn what_is_not_finite_is_refused() {
        let mut values = vec![1.0; 2000];
        values[7] = f64::NAN;
        let settings = SvdSettings { rank: 2, tolerance: 1e-3, max_iterations: 5, seed: 1 };
        let error = svd(&Diagonal(values), &settings, None, &Exec::with_threads(1)).unwrap_err();
        assert!(error.to_string().contains("finite"), "{error}");
    }
}
