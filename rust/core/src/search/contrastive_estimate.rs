//! An estimate of the contrastive loss and of its gradient, in a few passes over the walks.
//!
//! The rows of `W` sum to 1 and its entries are small, so to first order in `1 / N` the loss is
//! linear in `W`. With the degree `d_i = sum_v w_v |N_v(i)|` and the neighbours
//! `A_ij = sum_v w_v [j in N_v(i)]`, neither of which counts `i` itself,
//!
//! ```text
//! Q = sum_i d_i (log(N - 1) + 1 / (N - 1)) - tr(H^T W) + R,   H = A + diag(d) / (N - 1)
//! -sum_i d_i 1.5 / (N - 1)^2 <= R <= sum_i d_i 0.72 sum_(k != i) W_ik^2 / (N - 1)
//! ```
//!
//! `z^T H^T W z` has the expectation `tr(H^T W)` if `E z z^T = I`. The columns of `Z` are an
//! orthonormal basis of the leading range of `H W`, whose part is exact, and random signs without
//! their part along this basis (Hutch++). All rows of `W` count in each column. The trace is linear
//! in the weights of a step, so the derivatives have the same form:
//!
//! ```text
//! B_t = -H Z,   B_(s-1) = W_s^T B_s,   Y_0 = Z,   Y_s = W_s Y_(s-1)
//! dQ/da_(s,m) = <O_m Y_(s-1), B_s>     (O_m: member m)
//! ```
//!
//! Cost: `2 t nnz` multiplications per column, `t + 2` blocks of `N` points. The error of `C` columns
//! falls as `1 / sqrt(N C)`, that of `C` sampled rows of `W` as `1 / sqrt(C)`. (Deviation of the
//! derivative of the first step times `sqrt(C)`: 220 by rows and 36 by signs for 3,000 blobs; 30 by
//! signs and 0.3 with the basis for 2,000.)
//!
//! References: Hutchinson 1989, doi:10.1080/03610918908812806; Meyer et al. 2021, arXiv:2010.09649.

use crate::ground::block::Block;
use crate::ground::idle::Reuse;
use crate::ground::tall::{TallBlock, TallRef, add_product, gram, random_signs, range_basis};
use crate::reorder::{in_cache_order, in_given_order, reordered};
use crate::walk::weight_gradient::{MemberParts, PIECE_POINTS};
use crate::{ContrastiveLoss, Direction, Error, Exec, OperatorSet, Real, Result, Trajectory};

/// Columns of the basis, and columns that are processed together: a tile of the sparse kernel.
const BLOCK_COLUMNS: usize = 32;
/// Bytes of all blocks that are processed at the same time.
const MEMORY_BUDGET: usize = 512 << 20;
/// Columns of a block that exceeds the budget: narrower ones read the walks too often.
const LEAST_COLUMNS: usize = 8;
/// First key of the random streams of the basis. The signs count from 0.
const BASIS_KEY: u64 = 1 << 32;

impl<T: Real> Trajectory<'_, T> {
    /// The columns `Z` for trajectories near this one: a basis and `n_signs` columns of signs.
    pub fn contrastive_probes(&self, view_weights: &[f64], n_signs: usize, seed: u64, exec: &Exec) -> Result<Vec<T>> {
        check(self.set(), view_weights)?;
        let _reuse = Reuse::new();
        let neighbours = Neighbours::new(in_cache_order(self.set(), exec)?, view_weights);
        let (walk, n) = (self.over(neighbours.set), self.n());
        let sketch = random_signs::<T>(n, BLOCK_COLUMNS.min(n), seed, BASIS_KEY)?;
        let mut image = TallBlock::unset(n, sketch.cols())?;
        walk.apply(&sketch, sketch.cols(), Direction::Forward, &mut image, exec)?;
        let mut reached = TallBlock::unset(n, sketch.cols())?;
        neighbours.apply(image.view(), 1.0, &mut reached, exec)?;
        let basis = range_basis(reached.view(), exec)?;
        let mut signs = random_signs::<T>(n, n_signs, seed, 0)?;
        let scale = T::from_f64(1.0 / (n_signs as f64).sqrt());
        signs.iter_mut().for_each(|v| *v *= scale);
        let along: Vec<f64> = gram(basis.view(), signs.view(), exec)?.iter().map(|v| -v).collect();
        add_product(&mut signs, basis.view(), &along, exec)?;
        let probes = TallBlock::side_by_side(&[basis.view(), signs.view()], exec)?;
        in_given_order(self.set(), probes.to_vec(), exec)
    }

    /// Estimates the contrastive loss and its gradient by the columns of `probes`. The weights must
    /// lie on the simplex.
    ///
    /// `view_weights` are those of the base views, the first stored matrices of the set.
    pub fn estimate_contrastive_loss(
        &self,
        view_weights: &[f64],
        probes: &[T],
        exec: &Exec,
    ) -> Result<ContrastiveLoss> {
        check(self.set(), view_weights)?;
        let (n, count) = (self.n(), probes.len() / self.n());
        Error::check_size("elements of the probes", n * count, probes.len())?;
        let _reuse = Reuse::new();
        // The sums over all points do not depend on their order, up to rounding.
        let permuted = reordered(self.set(), exec)?.map(|copy| copy.permutation.permute_rows(probes)).transpose()?;
        let neighbours = Neighbours::new(in_cache_order(self.set(), exec)?, view_weights);
        let others = (n - 1) as f64;
        let constant = neighbours.degrees.iter().sum::<f64>() * (others.ln() + 1.0 / others);
        let estimate = Estimate {
            walk: self.over(neighbours.set),
            parts: MemberParts::new(self.set())?,
            probes: TallRef::new(permuted.as_deref().unwrap_or(probes), count),
            neighbours,
        };
        let mut total =
            ContrastiveLoss { loss: constant, gradient: vec![0.0; self.steps().len() * estimate.parts.count()] };
        let (width, in_flight) = estimate.block_shape(exec.threads());
        let firsts: Vec<usize> = (0..count).step_by(width).collect();
        for round in firsts.chunks(in_flight) {
            let block = |b: usize| estimate.block(round[b], width.min(count - round[b]), exec);
            for part in exec.map(round.len(), block)? {
                total.loss += part.loss;
                total.gradient.iter_mut().zip(part.gradient).for_each(|(sum, g)| *sum += g);
            }
        }
        Ok(total)
    }
}

fn check<T: Real>(set: &OperatorSet<T>, view_weights: &[f64]) -> Result<()> {
    let invalid = |message: String| Err(Error::Invalid(message));
    let (n, views) = (set.n(), set.in_any_order().len());
    if n < 2 {
        return invalid(format!("expected at least 2 points, got {n}"));
    }
    if view_weights.len() > views {
        return invalid(format!("expected at most {views} view weights, got {}", view_weights.len()));
    }
    match view_weights.iter().find(|w| !w.is_finite()) {
        Some(w) => invalid(format!("expected finite view weights, got {w}")),
        None => Ok(()),
    }
}

/// The matrix `H`, read from the walks.
struct Neighbours<'a, T> {
    set: &'a OperatorSet<T>,
    view_weights: &'a [f64],
    degrees: Vec<f64>,
}

impl<'a, T: Real> Neighbours<'a, T> {
    fn new(set: &'a OperatorSet<T>, view_weights: &'a [f64]) -> Self {
        let mut neighbours = Self { set, view_weights, degrees: Vec::new() };
        let degree = |i| neighbours.of(i).map(|(_, w)| w).sum();
        neighbours.degrees = (0..set.n()).map(degree).collect();
        neighbours
    }

    /// The neighbours of a point in all views, with the weights of the views.
    fn of(&self, point: usize) -> impl Iterator<Item = (usize, f64)> {
        self.set.walks().iter().zip(self.view_weights).flat_map(move |(walk, &w)| {
            let columns = walk.matrix().row(point).0.iter().map(|&j| j as usize);
            columns.filter(move |&j| j != point).map(move |j| (j, w))
        })
    }

    /// `scale H x`.
    fn apply(&self, x: TallRef<'_, T>, scale: f64, out: &mut [T], exec: &Exec) -> Result<()> {
        let (cols, others) = (x.cols, (self.set.n() - 1) as f64);
        exec.each_piece(out, PIECE_POINTS * cols, |offset, piece| {
            for (i, line) in (offset / cols..).zip(piece.chunks_exact_mut(cols)) {
                line.fill(T::ZERO);
                for (j, weight) in self.of(i).chain([(i, self.degrees[i] / others)]) {
                    let weight = T::from_f64(scale * weight);
                    line.iter_mut().zip(&x.data[j * cols..][..cols]).for_each(|(sum, &v)| *sum += weight * v);
                }
            }
        })
    }
}

/// What all blocks share.
struct Estimate<'a, T> {
    walk: Trajectory<'a, T>,
    parts: MemberParts,
    neighbours: Neighbours<'a, T>,
    probes: TallRef<'a, T>,
}

impl<T: Real> Estimate<'_, T> {
    /// Columns of a block and the number of blocks at the same time.
    fn block_shape(&self, threads: usize) -> (usize, usize) {
        let powers = self.parts.all.powers.iter().filter(|p| p.exponent > 1).count();
        // One block is the input of a transposed walk; computing powers takes one more than keeping them.
        let kept = self.walk.steps().len() + 2 + powers + usize::from(powers > 0);
        let column_bytes = self.walk.n().saturating_mul(kept * size_of::<T>());
        let width = (MEMORY_BUDGET / column_bytes).clamp(LEAST_COLUMNS, BLOCK_COLUMNS);
        (width, (MEMORY_BUDGET / (width * column_bytes)).clamp(1, threads))
    }

    /// The part of some columns, from `first` on.
    fn block(&self, first: usize, cols: usize, exec: &Exec) -> Result<ContrastiveLoss> {
        let (steps, size) = (self.walk.steps(), self.walk.n() * cols);
        let z = self.probes.columns(first..first + cols, exec)?;
        let mut start = Block::unset(size)?;
        self.neighbours.apply(z.view(), -1.0, &mut start, exec)?;
        let mut blocks = vec![start];
        for step in steps[1..].iter().rev() {
            let mut next = Block::unset(size)?;
            let last = TallRef::new(&blocks[blocks.len() - 1], cols);
            self.walk.apply_step(step, last, Direction::Transposed, &mut next, exec)?;
            blocks.push(next);
        }
        let mut found = ContrastiveLoss { loss: 0.0, gradient: Vec::new() };
        let mut reached: Option<Block<T>> = None;
        for (step, mut behind) in steps.iter().zip(blocks.into_iter().rev()) {
            let ahead = reached.as_deref().map_or(z.view(), |block| TallRef::new(block, cols));
            let products = self.parts.pull(&self.walk, step, ahead, &mut behind, exec)?;
            found.gradient.extend(self.parts.derivatives(&products));
            // The trace is linear in the weights of each step.
            found.loss = self.parts.inner_product(step, &products);
            reached = Some(behind);
        }
        Ok(found)
    }
}
