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
//! A residual bounds the error of its singular value, `|s - sigma| <= residual`, whatever the gaps, and its square estimates it
//! (see [`SvdSettings::is_met`]); where the spectrum is crowded the vectors may still turn within their neighbourhood. Cost of an
//! iteration: `A` and `A^T` on a block, and some `8 N m b` flops to orthogonalise (`b` new columns, `m` those that they are freed of).
//! In exact arithmetic `m` is the last block and what a restart kept. Rounding brings the others back as triplets converge, by the
//! roundoff over the residual; all columns count once that would show (Paige; Simon), or where little is left of a block.
//! Memory: two bases of as many columns as there are.
//!
//! Why blocks are wide, and then narrow: a block finds a value no more often than it has columns, and parts of a graph that hardly
//! touch, which is what clusters are, repeat the value 1 (almost) exactly; so blocks begin wider than the number of triplets. But a
//! wide block spends many columns a degree. Once all but a few triplets are done, a narrower block goes on along the residuals of the
//! rest; what the others err by beside it is kept account of, but no longer seen. (20,000 blobs, 11 triplets of which ten are clusters: see
//! `benches/RESULTS.md`.)

use mdt_dense::{Mat, MatRef};

use crate::ground::exec::Exec;
use crate::ground::random::Stream;
use crate::ground::tall::{Basis, Links, ORTHONORMAL, TallBlock, TallRef};
use crate::spectral::linear_map::{LinearMap, image};
use crate::walk::transition::Direction;
use crate::{Error, Real, Result};

/// Widest block: as many columns as the sparse kernel keeps in registers.
const MAX_BLOCK: usize = 32;

/// The error of a singular value is at most this times the square of its residual, both relative: 0.6 to 2.2 times that in crowded
/// spectra where it was measured (blobs, t = 3 to 12), 7 times at t = 1, where [`VECTOR_FACTOR`] asks for more.
const SQUARE_FACTOR: f64 = 4.0;

/// Largest residual of a triplet relative to the largest singular value, in units of the tolerance: vectors err by their residual.
const VECTOR_FACTOR: f64 = 5.0;

/// Rounding of a sum is some units of the roundoff times its largest term.
const ROUNDING: f64 = 32.0;

/// Columns may lose this much of their orthogonality, and a small part of the tolerance: half of the digits are enough.
const LEAST_ORTHOGONAL: f64 = 1e-8;

/// A decomposition of the projected matrix is costly once the cube of its width is so many times the elements of a block.
const COSTLY_LOOK: usize = 4;

/// Then triplets are looked at again when the bases have grown by this part.
const LOOK_AFTER: usize = 8;

/// Rows that one random stream fills.
const ROWS_PER_STREAM: usize = 1024;

/// What the tolerance bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accuracy {
    /// The error of every singular value, relative to itself.
    Values,
    /// The error of distances between the rows of `left * values`, relative to the largest value among their columns, of which the
    /// first few are left out. A column whose value is small next to that hardly moves the rows, and need not be known well. No part of
    /// this are the right vectors, which are not returned.
    Distances {
        /// Columns that are left out.
        dropped: usize,
    },
}

/// What to compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SvdSettings {
    /// Number of leading triplets.
    pub rank: usize,
    /// Largest relative error; a residual is at most a few times this and the largest singular value.
    pub tolerance: f64,
    /// The error of what.
    pub accuracy: Accuracy,
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
    /// As `left`; empty where only distances are asked for.
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
        let block = Self::block_for(rank);
        Self { block, most: (2 * rank + 8 * block).min(n / 2), kept: rank + block }
    }

    /// Columns of a block for so many triplets yet to be found.
    fn block_for(rank: usize) -> usize {
        (rank + 3).next_multiple_of(4).min(MAX_BLOCK)
    }

    /// Would the bases be nearly as large as the matrix?
    fn are_too_wide(&self, n: usize) -> bool {
        n <= 4 * (self.kept + self.block)
    }
}

/// Where the solver starts. Blocks are row-major.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Start<'a, T> {
    /// At random.
    Random,
    /// From a block whose columns are near the leading right singular vectors.
    Near(&'a [T]),
    /// As [`Start::Random`] does, with the first product at hand: a block from [`random_start`] and the matrix times it.
    Applied {
        /// The random block.
        block: &'a [T],
        /// `A block`.
        image: &'a [T],
    },
}

/// Columns of the block that [`Start::Random`] begins with.
#[must_use]
pub fn start_columns(rank: usize) -> usize {
    Widths::block_for(rank)
}

/// The orthonormal block that [`Start::Random`] begins with; None where a matrix of this size is decomposed as a whole.
pub fn random_start<T: Real>(n: usize, rank: usize, seed: u64, exec: &Exec) -> Result<Option<Vec<T>>> {
    let widths = Widths::new(rank, n);
    if widths.are_too_wide(n) {
        return Ok(None);
    }
    let mut block = starting_block(n, widths.block, (&[], 0), seed, exec)?;
    Basis::new(n).orthonormalize(&mut block, Links::ALL, &mut restart_stream(seed), exec)?;
    Ok(Some(block.to_vec()))
}

/// What replaces directions that vanish.
fn restart_stream(seed: u64) -> Stream {
    Stream::new(seed, u64::MAX)
}

/// The leading singular triplets of `map`.
pub fn svd<T: Real>(
    map: &impl LinearMap<T>,
    settings: &SvdSettings,
    start: Start<'_, T>,
    exec: &Exec,
) -> Result<Svd<T>> {
    let (n, rank) = (map.n(), settings.rank);
    let given = check(n, rank, start)?;
    let widths = Widths::new(rank, n);
    let given_cols = (given.len() / n).min(widths.kept);
    if widths.are_too_wide(n) {
        return dense(map, rank, exec);
    }
    let mut cols = widths.block.max(given_cols);
    let room = widths.most.max(widths.kept + 2 * cols);
    let (mut left, mut right) = (Basis::<T>::new(n), Basis::<T>::new(n));
    let mut stream = restart_stream(settings.seed);
    let mut b = Mat::<f64>::zeros(room, room);
    let mut x = starting_block(n, cols, (given, given_cols), settings.seed, exec)?;
    let mut given_image = None;
    if let Start::Applied { block, image: given } = start {
        Error::check_size("elements of the starting block", x.len(), block.len())?;
        Error::check_size("elements of its image", x.len(), given.len())?;
        given_image = Some(given);
    } else {
        right.orthonormalize(&mut x, Links::ALL, &mut stream, exec)?;
    }
    let mut applications = 0;
    let mut previous = vec![0.0; rank];
    // Width of the bases from which on the triplets are looked at again.
    let mut next_look = 0;
    // A new block has parts only along the last one or, after a restart, along all that was kept.
    let mut linked = 0;
    // Is rounding about to spoil the orthogonality of columns that are further apart? Until something is known of them, it may.
    let mut all = true;
    let allowed = LEAST_ORTHOGONAL.min(1e-2 * settings.tolerance);
    // Inner products of the residuals that narrower blocks cannot see, of the first columns of both bases.
    let mut unseen = Mat::<f64>::zeros(0, 0);
    for iteration in 1.. {
        exec.check()?;
        let m = left.width();
        let mut y = match given_image.take() {
            Some(given) => TallRef::new(given, cols).columns(0..cols, exec)?,
            None => image(map, x.view(), Direction::Forward, exec)?,
        };
        right.append(x);
        let new = left.orthonormalize(&mut y, Links { from: linked, all, allowed }, &mut stream, exec)?;
        b.submatrix_mut(0, m, m, cols).copy_from(&new.coefficients);
        b.submatrix_mut(m, m, cols, cols).copy_from(&new.factor);
        x = image(map, y.view(), Direction::Transposed, exec)?;
        left.append(y);
        let next = right.orthonormalize(&mut x, Links { from: m, all, allowed }, &mut stream, exec)?;
        linked = m;
        applications += 2 * cols;

        let width = m + cols;
        let is_full = width + cols > room;
        if width < rank || width < next_look && !is_full && iteration < settings.max_iterations {
            continue;
        }
        let is_costly = width.pow(3) > COSTLY_LOOK * n * cols;
        next_look = width + if is_costly { width / LOOK_AFTER } else { 0 };
        let small = decompose(b.submatrix(0, 0, width, width))?;
        let errors = residual_vectors(&small, next.factor.as_ref(), cols);
        let residuals = residuals(&small, errors.as_ref(), rank, &unseen);
        let largest = small.values[0];
        let floor = ROUNDING * T::ROUNDOFF * largest;
        let least = (unseen.ncols()..width).map(|i| errors.col(i).norm_l2()).fold(f64::INFINITY, f64::min);
        all = ORTHONORMAL * T::ROUNDOFF * largest > allowed * least;
        let moved: Vec<f64> =
            small.values.iter().zip(&previous).map(|(value, before)| (value - before).abs()).collect();
        let is_accurate =
            |i: usize, residual: f64| residual <= floor || settings.is_met(i, residual, moved[i], &small.values);
        let converged = (0..rank).all(|i| is_accurate(i, residuals[i]));
        previous.copy_from_slice(&small.values[..rank]);
        if converged || iteration >= settings.max_iterations {
            return Ok(Svd {
                left: left.combine(small.left.as_ref().subcols(0, rank), exec)?.to_vec(),
                right: match settings.accuracy {
                    Accuracy::Values => right.combine(small.right.as_ref().subcols(0, rank), exec)?.to_vec(),
                    Accuracy::Distances { .. } => Vec::new(),
                },
                values: small.values[..rank].to_vec(),
                residuals,
                converged,
                applications,
            });
        }
        let done = (0..rank).take_while(|&i| is_accurate(i, 2.0 * residuals[i])).count();
        let narrower = Widths::block_for(rank - done);
        if 2 * narrower <= cols && done + narrower <= width {
            // The next block without what only the triplets that are done with would need of it.
            let span = decompose(errors.as_ref().subcols(done, narrower))?.left;
            unseen = with_unseen(&turned(&small, &unseen, done), errors.as_ref().subcols(0, done), span.as_ref());
            x = Basis::from(x).combine(span.as_ref(), exec)?;
            left.rotate(small.left.as_ref().subcols(0, done + narrower), exec)?;
            right.rotate(small.right.as_ref().subcols(0, done + narrower), exec)?;
            b = diagonal(room, &small.values[..done + narrower]);
            (cols, linked, next_look) = (narrower, 0, 0);
        } else if is_full {
            left.rotate(small.left.as_ref().subcols(0, widths.kept), exec)?;
            right.rotate(small.right.as_ref().subcols(0, widths.kept), exec)?;
            unseen = turned(&small, &unseen, widths.kept);
            b = diagonal(room, &small.values[..widths.kept]);
            (linked, next_look) = (0, 0);
        }
    }
    unreachable!("the loop ends at max_iterations")
}

/// Checks the arguments and returns the block to start from, which may be empty.
fn check<T: Real>(n: usize, rank: usize, start: Start<'_, T>) -> Result<&[T]> {
    if rank < 1 || rank > n {
        return Err(Error::Invalid(format!("expected between 1 and {n} triplets, got {rank}")));
    }
    let given = match start {
        Start::Random => &[],
        Start::Near(block) | Start::Applied { block, .. } => block,
    };
    if !given.len().is_multiple_of(n) {
        return Err(Error::Invalid(format!("expected a starting block of {n} rows, got {} elements", given.len())));
    }
    Ok(given)
}

/// The decomposition of the projected matrix.
fn decompose(b: MatRef<'_, f64>) -> Result<mdt_dense::Svd> {
    mdt_dense::svd(b).map_err(Error::decomposition)
}

/// `R X_last`, `X_last` the rows of the last block: residuals of the triplets along the next block.
fn residual_vectors(small: &mdt_dense::Svd, r: MatRef<'_, f64>, cols: usize) -> Mat<f64> {
    mdt_dense::product(r, small.left.as_ref().subrows(small.left.nrows() - cols, cols))
}

/// Lengths of the residuals of the leading triplets, at most: along the next block, and what is not seen.
fn residuals(small: &mdt_dense::Svd, errors: MatRef<'_, f64>, rank: usize, unseen: &Mat<f64>) -> Vec<f64> {
    let unseen = turned(small, unseen, rank);
    (0..rank).map(|i| errors.col(i).norm_l2() + unseen[(i, i)].max(0.0).sqrt()).collect()
}

/// The inner products of unseen residuals after the columns have turned into the leading triplets.
fn turned(small: &mdt_dense::Svd, unseen: &Mat<f64>, count: usize) -> Mat<f64> {
    let turn = small.left.as_ref().submatrix(0, 0, unseen.nrows(), count);
    mdt_dense::product(turn.transpose(), mdt_dense::product(unseen.as_ref(), turn).as_ref())
}

/// Bounds of inner products after what the columns of `span` leave out of `errors` has become unseen, too.
fn with_unseen(unseen: &Mat<f64>, errors: MatRef<'_, f64>, span: MatRef<'_, f64>) -> Mat<f64> {
    let outside = errors - mdt_dense::product(span, mdt_dense::product(span.transpose(), errors).as_ref());
    // |a + b|^2 <= 2 |a|^2 + 2 |b|^2: how the two lie to each other is not known.
    let sum = unseen + mdt_dense::product(outside.transpose(), outside.as_ref());
    &sum + &sum
}

fn diagonal(room: usize, values: &[f64]) -> Mat<f64> {
    Mat::from_fn(room, room, |i, j| if i == j && i < values.len() { values[i] } else { 0.0 })
}

impl SvdSettings {
    /// Is triplet `i` within the tolerance?
    ///
    /// A residual bounds the error of the value: within `tolerance * value` it is. The error itself goes with the square of the
    /// residual; that estimate is trusted once the value has also come to rest, which it has not while directions that belong to
    /// larger values are still being found.
    fn is_met(&self, i: usize, residual: f64, moved: f64, values: &[f64]) -> bool {
        match self.accuracy {
            Accuracy::Values => {
                let allowed = self.tolerance * values[i];
                let is_near = residual <= VECTOR_FACTOR * self.tolerance * values[0];
                let is_small = SQUARE_FACTOR * residual * residual <= allowed * values[i];
                residual <= allowed || is_near && moved <= allowed && is_small
            }
            Accuracy::Distances { dropped } => {
                let allowed = self.tolerance * values[dropped.min(self.rank - 1)];
                residual <= VECTOR_FACTOR * allowed && moved <= allowed
            }
        }
    }
}

/// The given columns, then random ones.
fn starting_block<T: Real>(
    n: usize,
    cols: usize,
    (given, given_cols): (&[T], usize),
    seed: u64,
    exec: &Exec,
) -> Result<TallBlock<T>> {
    let stride = given.len() / n;
    let mut block = TallBlock::unset(n, cols);
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
        let settings = SvdSettings { rank, tolerance, accuracy: Accuracy::Values, max_iterations: 500, seed: 1 };
        svd(&Diagonal(values), &settings, Start::Random, &Exec::with_threads(threads)).unwrap()
    }

    #[test]
    fn crowded_repeated_and_vanishing_values_are_found() {
        let n = 3000;
        let crowded: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + 1e-3 * f64::from(i))).collect();
        let repeated: Vec<f64> = (0..n).map(|i| if i % 500 == 0 { 1.0 } else { 0.5 }).collect();
        // Ten equal values and a crowd: more copies than a narrow block has columns, and one triplet that takes longer.
        let clusters: Vec<f64> = (0..n).map(|i| if i % 300 == 0 { 1.0 } else { 0.9 - 1e-4 * f64::from(i) }).collect();
        let low_rank: Vec<f64> = (0..n).map(|i| if i < 4 { 1.0 - 0.1 * f64::from(i) } else { 0.0 }).collect();
        for (values, rank) in [(crowded, 6), (repeated, 6), (clusters, 11), (low_rank, 6)] {
            let found = solve(values.clone(), rank, 1e-9, 2);
            assert!(found.converged);
            let mut expected = values;
            expected.sort_unstable_by(|a, b| b.total_cmp(a));
            for (got, want) in found.values.iter().zip(&expected) {
                assert!((got - want).abs() <= 1e-9 * want + 1e-14, "{got} {want}");
            }
        }
    }

    /// Values that fall by many orders converge at once, and rounding would bring them back again: bases stay orthogonal.
    #[test]
    fn steep_spectra_have_each_value_once() {
        for (decades, rank, tolerance) in
            [(9.0, 60, 1e-3), (9.0, 60, 1e-8), (4.0, 60, 1e-3), (12.0, 6, 1e-3), (2.0, 20, 1e-3)]
        {
            let values: Vec<f64> = (0..1500).map(|i| 10.0_f64.powf(-decades * f64::from(i) / 60.0)).collect();
            let found = solve(values.clone(), rank, tolerance, 2);
            assert!(found.converged);
            for (got, want) in found.values.iter().zip(&values) {
                assert!((got - want).abs() <= tolerance * want + 1e-14, "{decades} {rank}: {got} {want}");
            }
            for (i, j) in (0..rank).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let product: f64 = found.left.chunks_exact(rank).map(|row| row[i] * row[j]).sum();
                assert!(product.abs() < 1e-6, "{decades} {rank}: {i} {j} {product}");
            }
        }
    }

    /// Distances between rows of `left * values` are those of the matrix, relative to the first value that counts, which may be small
    /// next to one that is left out; and small values cost no products.
    #[test]
    fn distances_need_no_small_values() {
        let (n, rank, tolerance) = (3000, 11, 1e-3);
        for second in [1.0, 1e-3] {
            // Nine clusters, and a crowd that is no part of the geometry.
            let value = |i: u32| match i {
                0 => 1.0,
                1..10 => second * (1.0 - 0.02 * f64::from(i)),
                _ => second * 1e-4 * (1.0 - 1e-4 * f64::from(i)),
            };
            let values: Vec<f64> = (0..n).map(value).collect();
            let all = solve(values.clone(), rank, tolerance, 2);
            let accuracy = Accuracy::Distances { dropped: 1 };
            let settings = SvdSettings { rank, tolerance, accuracy, max_iterations: 500, seed: 1 };
            let found = svd(&Diagonal(values.clone()), &settings, Start::Random, &Exec::with_threads(2)).unwrap();
            assert!(found.converged && found.applications < all.applications);
            let row = |i: usize| (1..rank).map(move |k| (i, k));
            let place = |(i, k): (usize, usize)| found.left[i * rank + k] * found.values[k];
            let exact = |i: usize| if (1..10).contains(&i) { values[i] } else { 0.0 };
            for (i, j) in (0..20).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let squares = row(i).zip(row(j)).map(|(a, b)| (place(a) - place(b)).powi(2));
                let (got, want) = (squares.sum::<f64>().sqrt(), exact(i).hypot(exact(j)));
                assert!((got - want).abs() <= 2.0 * tolerance * second, "{second} {i} {j}: {got} {want}");
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
        let settings = SvdSettings { rank: 2, tolerance: 1e-3, accuracy: Accuracy::Values, max_iterations: 5, seed: 1 };
        let error = svd(&Diagonal(values), &settings, Start::Random, &Exec::with_threads(1)).unwrap_err();
        assert!(error.to_string().contains("finite"), "{error}");
    }
}
