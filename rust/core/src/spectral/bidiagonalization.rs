//! Block Lanczos bidiagonalization with thick restarts.
//!
//! Two orthonormal bases grow by one block per step, `P` on the right and `Q` on the left:
//!
//! ```text
//! A P = Q B
//! A^T Q = P B^T + P_next R E^T          (E: the last columns of the identity)
//! ```
//!
//! With `B = X S Y^T`, the triplets `u = Q X`, `v = P Y` satisfy `A v = s u` to rounding and
//! `|A^T u - s v| = |R X_last|`, so residuals are free. When the bases are full, the leading
//! triplets replace them and the last block continues.
//!
//! Between the two products of a step, `P` has one block more: `A^T Q = P G^T` and
//! `A P = Q G + Q_next F E^T`. Then `G = X S Y^T` gives triplets with `A^T u = s v` and
//! `|A v - s u| = |F Y_last|`, which suffice if only the left vectors are wanted.
//!
//! Orthogonalization costs `8 n m b` flops per step, `b` new columns against `m` old ones. In exact
//! arithmetic `m` is the last block and what a restart kept. Rounding brings the other columns back
//! as triplets converge, by the roundoff divided by the residual; all columns count once that
//! exceeds the allowed error (Simon 1984). Memory: the two bases.
//!
//! Wide blocks find repeated values (see `start`) but spend many columns per degree of the
//! polynomial. Once all but a few triplets have settled, a narrower block continues along the
//! residuals of the others. What the settled triplets err by outside of that block is bounded but
//! no longer reduced. (20,000 blobs, 11 triplets of which ten are clusters: `benches/RESULTS.md`.)
//!
//! References: Golub and Kahan 1965, doi:10.1137/0702016; Baglama and Reichel 2005,
//! doi:10.1137/04060593X; Simon 1984, doi:10.1090/S0025-5718-1984-0725988-X.

use mdt_dense::{Mat, MatRef, ThinSvd, product};

use super::accuracy::SvdSettings;
use super::decomposition::{decompose, decomposition_bytes};
use super::linear_map::{LinearMap, image};
use super::start::{BasisWidths, Start, replacement_stream, start_columns, starting_block};
use crate::ground::memory;
use crate::ground::tall::{Basis, Links, ORTHONORMAL, TallBlock};
use crate::{Direction, Exec, Real, Result, Stream};

/// Columns may lose this much of their orthogonality, and a small part of the tolerance: half of
/// the digits are enough.
const LEAST_ORTHOGONAL: f64 = 1e-8;

/// A decomposition of `B` is costly once the cube of its width is this many times the number of
/// elements of a block.
const COSTLY_LOOK: usize = 4;

/// After a costly decomposition the bases grow by this part before the next one.
const LOOK_AFTER: usize = 8;

/// The two bases and the projected matrix.
pub(super) struct Bidiagonalization<'a, T, M> {
    map: &'a M,
    exec: &'a Exec,
    rank: usize,
    kept: usize,
    left: Basis<T>,
    right: Basis<T>,
    /// `B`, with room for the widest bases.
    projected: Mat<f64>,
    /// `P_next`.
    next: TallBlock<T>,
    /// `Q_next`, between the two products of a step.
    left_next: TallBlock<T>,
    /// `R`.
    factor: Mat<f64>,
    /// How orthogonal new blocks must be, and whether to all columns.
    links: Links,
    /// Inner products of the residuals outside of narrowed blocks, for the first columns of both
    /// bases.
    unseen: Mat<f64>,
    /// Width of the bases for the next decomposition of `B`.
    next_look: usize,
    stream: Stream,
    /// Number of steps.
    pub iterations: usize,
    /// Number of columns that the matrix or its transpose was applied to.
    pub applications: usize,
}

/// Triplets of the projected matrix.
pub(super) struct Triplets {
    /// `B = X S Y^T`, or `G` between the products of a step.
    pub small: ThinSvd,
    /// `R X_last`, or `F Y_last`: residuals of the triplets along the next block.
    errors: Mat<f64>,
    /// Upper bounds of the residuals of the leading triplets.
    pub residuals: Vec<f64>,
}

impl<'a, T: Real, M: LinearMap<T>> Bidiagonalization<'a, T, M> {
    pub fn new(map: &'a M, settings: &SvdSettings, start: Start<'a, T>, exec: &'a Exec) -> Result<Self> {
        let (n, SvdSettings { rank, tolerance, seed, .. }) = (map.n(), *settings);
        let widths = BasisWidths::new(rank, n);
        let given = start.block(n)?;
        let cols = widths.block.max((given.len() / n).min(widths.kept));
        let room = widths.most.max(widths.kept + 2 * cols);
        memory::require(decomposition_bytes(room))?;
        let right = Basis::new(n);
        let mut stream = replacement_stream(seed);
        let mut block = starting_block(n, cols, given, seed, exec)?;
        right.orthonormalize(&mut block, Links::ALL, &mut stream, exec)?;
        let starts_left = matches!(start, Start::Left(_));
        let (next, left_next) = if starts_left { (TallBlock::empty(), block) } else { (block, TallBlock::empty()) };
        let mut lanczos = Self {
            map,
            exec,
            rank,
            kept: widths.kept,
            left: Basis::new(n),
            right,
            projected: Mat::zeros(room, room),
            next,
            left_next,
            factor: Mat::zeros(0, 0),
            // All columns count until the first triplets are known.
            links: Links { from: 0, all: true, allowed: LEAST_ORTHOGONAL.min(1e-2 * tolerance) },
            unseen: Mat::zeros(0, 0),
            next_look: 0,
            stream,
            iterations: 0,
            applications: 0,
        };
        if starts_left {
            lanczos.step_back()?;
        }
        Ok(lanczos)
    }

    /// The first half of a step: the product with `P_next`, which joins its basis.
    pub fn step_forward(&mut self) -> Result<()> {
        let (rows, from, cols) = (self.left.width(), self.right.width(), self.next.cols());
        let mut y = image(self.map, self.next.view(), Direction::Forward, self.exec)?;
        self.right.append(std::mem::replace(&mut self.next, TallBlock::empty()));
        let links = self.left.linked_to_last(self.links);
        let new = self.left.orthonormalize(&mut y, links, &mut self.stream, self.exec)?;
        self.projected.submatrix_mut(0, from, rows, cols).copy_from(&new.coefficients);
        self.projected.submatrix_mut(rows, from, cols, cols).copy_from(&new.factor);
        self.left_next = y;
        self.applications += cols;
        Ok(())
    }

    /// The second half of a step: the transposed product with `Q_next`, which joins its basis.
    pub fn step_back(&mut self) -> Result<()> {
        let cols = self.left_next.cols();
        self.next = image(self.map, self.left_next.view(), Direction::Transposed, self.exec)?;
        self.left.append(std::mem::replace(&mut self.left_next, TallBlock::empty()));
        let links = self.right.linked_to_last(self.links);
        self.factor = self.right.orthonormalize(&mut self.next, links, &mut self.stream, self.exec)?.factor;
        self.iterations += 1;
        self.applications += cols;
        Ok(())
    }

    /// Whether the bases have no room for another block.
    fn is_full(&self) -> bool {
        self.left.width() + self.next.cols() > self.projected.nrows()
    }

    /// Whether the triplets should be computed now. While a decomposition is costly, only after the
    /// bases have grown.
    pub fn is_due(&self, is_last: bool) -> bool {
        // After a start with left vectors the right basis is smaller by a block.
        let width = self.left.width();
        self.right.width().min(width) >= self.rank && (width >= self.next_look || self.is_full() || is_last)
    }

    /// Computes the triplets of the projected matrix.
    pub fn triplets(&mut self) -> Result<Triplets> {
        let (width, cols) = (self.left.width(), self.next.cols());
        let is_costly = width.pow(3) > COSTLY_LOOK * self.map.n() * cols;
        self.next_look = width + if is_costly { width / LOOK_AFTER } else { 0 };
        let small = decompose(self.projected.submatrix(0, 0, width, self.right.width()), self.exec)?;
        let errors = product(self.factor.as_ref(), small.left.as_ref().subrows(width - cols, cols));
        let least =
            (self.unseen.ncols()..errors.ncols()).map(|i| errors.col(i).norm_l2()).fold(f64::INFINITY, f64::min);
        self.links.all = ORTHONORMAL * T::ROUNDOFF * small.values[0] > self.links.allowed * least;
        Ok(self.with_residuals(small, errors))
    }

    /// Computes the triplets between the two products of a step; their right vectors need both.
    pub fn triplets_halfway(&self) -> Result<Triplets> {
        let (rows, columns, cols) = (self.left.width(), self.right.width(), self.left_next.cols());
        let small = decompose(self.projected.submatrix(0, 0, rows, columns), self.exec)?;
        let factor = self.projected.submatrix(rows, columns - cols, cols, cols);
        let errors = product(factor, small.right.as_ref().subrows(columns - cols, cols));
        Ok(self.with_residuals(small, errors))
    }

    fn with_residuals(&self, small: ThinSvd, errors: Mat<f64>) -> Triplets {
        let unseen = rotated(&self.unseen, &small, self.rank);
        let residual = |i: usize| errors.col(i).norm_l2() + unseen[(i, i)].max(0.0).sqrt();
        let residuals = (0..self.rank).map(residual).collect();
        Triplets { small, errors, residuals }
    }

    /// Continues with a narrower block if few triplets are left, or restarts if the bases are full.
    pub fn compress(&mut self, triplets: &Triplets, settled: usize) -> Result<()> {
        let narrower = start_columns(self.rank - settled);
        if 2 * narrower <= self.next.cols() && settled + narrower <= self.right.width() {
            self.narrow(triplets, settled, narrower)
        } else if self.is_full() {
            self.unseen = rotated(&self.unseen, &triplets.small, self.kept);
            self.restart(&triplets.small, self.kept)
        } else {
            Ok(())
        }
    }

    /// Reduces the next block to the directions in which the triplets that are not settled err
    /// most.
    fn narrow(&mut self, Triplets { small, errors, .. }: &Triplets, settled: usize, cols: usize) -> Result<()> {
        let span = decompose(errors.as_ref().subcols(settled, cols), self.exec)?.left;
        let unseen = rotated(&self.unseen, small, settled);
        self.unseen = with_unseen(&unseen, errors.as_ref().subcols(0, settled), span.as_ref());
        let next = std::mem::replace(&mut self.next, TallBlock::empty());
        self.next = Basis::from(next).combine(span.as_ref(), self.exec)?;
        self.restart(small, settled + cols)
    }

    /// Replaces the bases by the leading triplets.
    fn restart(&mut self, small: &ThinSvd, kept: usize) -> Result<()> {
        self.left.rotate(small.left.as_ref().subcols(0, kept), self.exec)?;
        self.right.rotate(small.right.as_ref().subcols(0, kept), self.exec)?;
        self.projected.fill(0.0);
        (0..kept).for_each(|i| self.projected[(i, i)] = small.values[i]);
        self.next_look = 0;
        Ok(())
    }

    /// Left singular vectors of the leading triplets.
    pub fn left_vectors(&self, triplets: &Triplets) -> Result<Vec<T>> {
        memory::copy(&self.left.combine(triplets.small.left.as_ref().subcols(0, self.rank), self.exec)?)
    }

    /// Right singular vectors of the leading triplets.
    pub fn right_vectors(&self, triplets: &Triplets) -> Result<Vec<T>> {
        memory::copy(&self.right.combine(triplets.small.right.as_ref().subcols(0, self.rank), self.exec)?)
    }
}

/// The inner products of unseen residuals after the columns have turned into the leading triplets.
fn rotated(unseen: &Mat<f64>, small: &ThinSvd, count: usize) -> Mat<f64> {
    let rotation = small.left.as_ref().submatrix(0, 0, unseen.nrows(), count);
    product(rotation.transpose(), product(unseen.as_ref(), rotation).as_ref())
}

/// Bounds of the inner products after the part of `errors` outside of `span` has become unseen as
/// well.
fn with_unseen(unseen: &Mat<f64>, errors: MatRef<'_, f64>, span: MatRef<'_, f64>) -> Mat<f64> {
    let outside = errors - product(span, product(span.transpose(), errors).as_ref());
    // |a + b|^2 <= 2 |a|^2 + 2 |b|^2: the angle between the two is unknown.
    let sum = unseen + product(outside.transpose(), outside.as_ref());
    &sum + &sum
}
