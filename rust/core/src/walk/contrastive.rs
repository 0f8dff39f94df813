//! The contrastive loss of a trajectory and its gradient with respect to the weights.
//!
//! ```text
//! Q = sum_v w_v sum_i sum_(j in N_v(i)) [ log sum_(k != i) exp(W_ik) - W_ij ]
//! ```
//!
//! `N_v(i)` are the columns of row `i` of view `v`. `W = W_t ... W_1` is never formed. Its rows are
//! independent, and a block of them is propagated as columns:
//!
//! ```text
//! Z_0 = E_block,   Z_s = W_(t-s+1)^T Z_(s-1)      (Z_t: rows of W)
//! B_t = dQ/dZ_t,   B_(s-1) = W_(t-s+1) B_s
//! dQ/da_(r,m) = <O_m B_s, Z_(s-1)>,  r = t-s+1    (O_m: member m)
//! ```
//!
//! The products `O_m B_s` are used twice, weighted for `B_(s-1)` and dotted with `Z_(s-1)` for the
//! gradient (see `weight_gradient`), so loss and gradient cost two passes through the trajectory.
//! `B_(s-1)` overwrites `Z_(s-1)` piece by piece. Everything runs on the patch of the graph that a block can reach (see
//! `patch`). Points outside have `W_ik = 0` and enter the sum of exponentials by their number.
//!
//! Cost: `2 t nnz` multiplications per row of `W`, `nnz` of the patch, and `t + 1` blocks of its
//! points times the width (one more per power). The width follows from a memory budget for `N`
//! points. Sums run in double precision and in a fixed order. Reference: arXiv:2512.01484.

use crate::ground::block::Block;
use crate::ground::tall::TallRef;
use crate::walk::patch::{PATCH_BYTES, Patch, near_blocks};
use crate::walk::weight_gradient::{MemberParts, PIECE_POINTS};
use crate::{Direction, Error, Exec, OperatorSet, Real, Result, Trajectory};

/// Rows of `W` per block: a tile of the sparse kernel.
const BLOCK_ROWS: usize = 32;
/// Bytes of all blocks that are processed at the same time (one column always fits).
const MEMORY_BUDGET: usize = 256 << 20;

/// Options of the contrastive loss.
#[derive(Debug, Clone, Copy)]
pub struct Contrastive<'a> {
    /// Weights of the base views, the first stored matrices of the set.
    pub view_weights: &'a [f64],
    /// The distinct rows `i` of the sum; None for all rows.
    pub rows: Option<&'a [usize]>,
    /// Whether a point with an entry in its own row is its own neighbour.
    pub include_self: bool,
    /// Whether the gradient is computed.
    pub gradient: bool,
}

/// The loss and its gradient.
#[derive(Debug, Clone, PartialEq)]
pub struct ContrastiveLoss {
    /// Sum over the rows.
    pub loss: f64,
    /// Derivatives by the weights, one row per step and one column per member; empty if not
    /// computed.
    pub gradient: Vec<f64>,
}

impl<T: Real> Trajectory<'_, T> {
    /// The contrastive loss. Weights need not lie on the simplex.
    pub fn contrastive_loss(&self, options: Contrastive<'_>, exec: &Exec) -> Result<ContrastiveLoss> {
        check(self.set(), &options)?;
        let set = self.set().restored(exec)?;
        let restored = self.over(&set);
        let evaluation = LossEvaluation::new(&restored, options)?;
        let (width, in_flight) = evaluation.block_shape(exec.threads());
        let rows = options.rows.map_or_else(|| (0..self.n()).collect(), <[usize]>::to_vec);
        let mut total = ContrastiveLoss { loss: 0.0, gradient: vec![0.0; evaluation.gradient_len()] };
        let blocks = near_blocks(self.set(), &evaluation.parts.all, &rows, width, exec)?;
        for round in blocks.chunks(in_flight) {
            for part in exec.map(round.len(), |b| evaluation.block(&round[b], exec))? {
                total.loss += part.loss;
                total.gradient.iter_mut().zip(part.gradient).for_each(|(sum, g)| *sum += g);
            }
        }
        if total.gradient.iter().chain([&total.loss]).all(|v| v.is_finite()) {
            Ok(total)
        } else {
            Err(Error::Invalid("the contrastive loss left the range of its numbers: the weights are too large".into()))
        }
    }
}

fn check<T: Real>(set: &OperatorSet<T>, options: &Contrastive<'_>) -> Result<()> {
    let invalid = |message: String| Err(Error::Invalid(message));
    let (n, views) = (set.n(), set.in_any_order().len());
    if n < 2 {
        return invalid(format!("expected at least 2 points, got {n}"));
    }
    if options.view_weights.len() > views {
        return invalid(format!("expected at most {views} view weights, got {}", options.view_weights.len()));
    }
    if let Some(w) = options.view_weights.iter().find(|w| !w.is_finite()) {
        return invalid(format!("expected finite view weights, got {w}"));
    }
    let mut seen = vec![false; if options.rows.is_some() { n } else { 0 }];
    for &row in options.rows.unwrap_or_default() {
        if row >= n {
            return invalid(format!("expected rows below {n}, got {row}"));
        }
        if std::mem::replace(&mut seen[row], true) {
            return invalid(format!("expected distinct rows, got {row} twice"));
        }
    }
    Ok(())
}

/// What all blocks share.
struct LossEvaluation<'a, T> {
    trajectory: &'a Trajectory<'a, T>,
    options: Contrastive<'a>,
    parts: MemberParts,
}

impl<'a, T: Real> LossEvaluation<'a, T> {
    fn new(trajectory: &'a Trajectory<'a, T>, options: Contrastive<'a>) -> Result<Self> {
        Ok(Self { trajectory, options, parts: MemberParts::new(trajectory.set())? })
    }

    fn gradient_len(&self) -> usize {
        if self.options.gradient { self.trajectory.steps().len() * self.parts.count() } else { 0 }
    }

    /// Rows of a block and the number of blocks at the same time.
    fn block_shape(&self, threads: usize) -> (usize, usize) {
        let powers = self.parts.all.powers.iter().filter(|p| p.exponent > 1).count();
        // Computing powers takes one block more than keeping them.
        let temporary = powers + usize::from(powers > 0);
        let kept = if self.options.gradient { self.trajectory.steps().len() } else { 1 };
        let column_bytes = self.trajectory.n().saturating_mul((kept + 1 + temporary) * size_of::<T>());
        let width = (MEMORY_BUDGET / column_bytes.max(1)).clamp(1, BLOCK_ROWS);
        (width, (MEMORY_BUDGET / (width * column_bytes + PATCH_BYTES.min(self.matrix_bytes()))).clamp(1, threads))
    }

    /// Bytes of a copy of the walks and of their transposes.
    fn matrix_bytes(&self) -> usize {
        let entries: usize = self.trajectory.set().in_any_order().iter().map(|walk| walk.matrix().nnz()).sum();
        2 * entries * (size_of::<u32>() + size_of::<T>())
    }

    /// Loss and gradient of some rows.
    fn block(&self, rows: &[usize], exec: &Exec) -> Result<ContrastiveLoss> {
        let (steps, cols) = (self.trajectory.steps(), rows.len());
        let patch = Patch::around(self.trajectory.set(), &self.parts.all, rows, steps.len(), exec)?;
        let local = self.trajectory.over(&patch.set);
        let mut start = Block::zeros(patch.set.n() * cols)?;
        patch.starts.iter().enumerate().for_each(|(c, &p)| start[p * cols + c] = T::ONE);
        let mut blocks = vec![start];
        for (s, step) in steps.iter().rev().enumerate() {
            let mut next = Block::zeros(patch.set.n() * cols)?;
            let reached = &mut next[..patch.reach[s + 1] * cols];
            let last = TallRef::new(&blocks[blocks.len() - 1], cols);
            local.apply_step(step, last, Direction::Transposed, reached, exec)?;
            // Z_0 is not needed again: inner products with its unit vectors are single entries.
            if s == 0 || !self.options.gradient {
                blocks.clear();
            }
            blocks.push(next);
        }
        let mut ahead = blocks.pop().map_or_else(|| Block::zeros(0), Ok)?;
        let loss = self.score(rows, &patch, &mut ahead, exec)?;
        let mut gradient = vec![0.0; self.gradient_len()];
        for (r, line) in gradient.chunks_exact_mut(self.parts.count().max(1)).enumerate() {
            let products = match blocks.pop() {
                Some(mut behind) => {
                    let s = steps.len() - 1 - r;
                    let reached = &mut behind[..patch.reach[s] * cols];
                    let products = self.parts.pull(&local, &steps[r], TallRef::new(&ahead, cols), reached, exec)?;
                    ahead = behind;
                    products
                }
                None => self.parts.pull_to_start(&local, &patch.starts, TallRef::new(&ahead, cols), exec)?,
            };
            line.copy_from_slice(&self.parts.derivatives(&products));
        }
        Ok(ContrastiveLoss { loss, gradient })
    }

    /// The loss of the rows of `W` in the columns of `z`. The derivatives of the loss replace the
    /// columns.
    fn score(&self, rows: &[usize], patch: &Patch<'_, T>, z: &mut [T], exec: &Exec) -> Result<f64> {
        let cols = rows.len();
        let n = self.trajectory.n() as f64;
        let mut columns: Vec<Column> = rows.iter().map(|&row| self.column(row, patch)).collect();
        let mut attraction = 0.0;
        for (c, column) in columns.iter().enumerate() {
            attraction += column.pulls.iter().map(|&(p, w)| w * z[p * cols + c].to_f64()).sum::<f64>();
            // exp(-inf) = 0 removes the point itself from the sums over k != i.
            z[patch.starts[c] * cols + c] = -T::INFINITY;
        }
        // Points out of reach have W_ik = 0.
        let unseen = n - (z.len() / cols) as f64;
        let sums = exec.map_pieces(z, PIECE_POINTS * cols, |_, piece| {
            let (mut sums, mut tops) = (vec![0.0; cols], vec![f64::NEG_INFINITY; cols]);
            for line in piece.chunks_exact(cols) {
                add_expm1(line, &mut sums);
                tops.iter_mut().zip(line).for_each(|(top, v)| *top = top.max(v.to_f64()));
            }
            Ok((sums, tops))
        })?;
        for (c, column) in columns.iter_mut().enumerate() {
            let sum = sums.iter().map(|s| s.0[c]).fold(0.0, |a, b| a + b);
            let top = sums.iter().map(|s| s.1[c]).fold(if unseen > 0.0 { 0.0 } else { f64::NEG_INFINITY }, f64::max);
            // Entries of W are mostly tiny, and a sum of exponentials would lose them: expm1 keeps
            // them. Weights far off the simplex need the shifted form, which does not overflow.
            if top.abs() <= 1.0 {
                column.sum = n + sum;
            } else {
                column.shift = top;
                let entries = z.iter().skip(c).step_by(cols);
                column.sum = unseen * (-top).exp() + entries.map(|v| (v.to_f64() - top).exp()).sum::<f64>();
            }
        }
        let loss = columns.iter().map(|column| column.degree * (column.shift + column.sum.ln())).sum::<f64>();
        if self.options.gradient {
            let scales: Vec<f64> = columns.iter().map(|column| column.degree / column.sum).collect();
            exec.each_piece(z, PIECE_POINTS * cols, |_, piece| {
                for line in piece.chunks_exact_mut(cols) {
                    for ((v, column), scale) in line.iter_mut().zip(&columns).zip(&scales) {
                        *v = T::from_f64(scale * (1.0 + expm1(v.to_f64() - column.shift)));
                    }
                }
            })?;
            for (c, column) in columns.iter().enumerate() {
                for &(p, w) in &column.pulls {
                    z[p * cols + c] = T::from_f64(z[p * cols + c].to_f64() - w);
                }
            }
        }
        Ok(loss - attraction)
    }

    /// Collects the neighbours of a point in all views.
    fn column(&self, row: usize, patch: &Patch<'_, T>) -> Column {
        let mut column = Column { degree: 0.0, pulls: Vec::new(), shift: 0.0, sum: 0.0 };
        for (walk, &w) in self.trajectory.set().walks().iter().zip(self.options.view_weights) {
            let neighbours = walk.matrix().row(row).0.iter().map(|&j| j as usize);
            for j in neighbours.filter(|&j| self.options.include_self || j != row) {
                column.degree += w;
                column.pulls.extend(patch.position(j).map(|p| (p, w)));
            }
        }
        column
    }
}

/// One row of `W`, a column of the block.
struct Column {
    /// Sum over the views of weight times number of neighbours.
    degree: f64,
    /// Place and weight of each neighbour within reach.
    pulls: Vec<(usize, f64)>,
    /// `sum_(k != i) exp(W_ik - shift)`.
    sum: f64,
    shift: f64,
}

/// Below this magnitude `expm1` is computed by its series.
const SERIES_BELOW: f64 = 1.0 / 32.0;

/// `exp(x) - 1` for small `x`. The truncation error is below the roundoff of the first term.
#[inline(always)]
fn expm1_series(x: f64) -> f64 {
    let tail = 1.0 + x / 4.0 * (1.0 + x / 5.0 * (1.0 + x / 6.0 * (1.0 + x / 7.0)));
    x * (1.0 + x / 2.0 * (1.0 + x / 3.0 * tail))
}

#[inline(always)]
fn expm1(x: f64) -> f64 {
    if x.abs() < SERIES_BELOW { expm1_series(x) } else { x.exp_m1() }
}

/// `sums += expm1(line)`. Most lines hold tiny numbers, for which the series runs in vector
/// instructions.
#[inline(always)]
fn add_expm1<T: Real>(line: &[T], sums: &mut [f64]) {
    let small = line.iter().fold(true, |small, v| small & (v.to_f64().abs() < SERIES_BELOW));
    if small {
        sums.iter_mut().zip(line).for_each(|(sum, v)| *sum += expm1_series(v.to_f64()));
    } else {
        sums.iter_mut().zip(line).for_each(|(sum, v)| *sum += expm1(v.to_f64()));
    }
}
