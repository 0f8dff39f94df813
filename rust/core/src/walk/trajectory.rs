//! Products of steps, `W = W_t ... W_1`, applied factor by factor to blocks of vectors.
//!
//! `W B` runs the steps first to last, `W^T B` last to first. A pass costs `t * nnz * cols` multiplications and two blocks
//! of `N * cols` elements (one more for each extra power in a step); wide inputs are cut into panels, so memory does not grow
//! with the number of columns.

use std::sync::Arc;

use crate::ground::block::Block;
use crate::ground::exec::Exec;
use crate::ground::sparse_step::{Remainder, sparse_step};
use crate::ground::tall::{TallBlock, TallRef, column_means, scale_rows};
use crate::walk::member::{Power, Step};
use crate::walk::operator_set::OperatorSet;
use crate::walk::transition::{Direction, Transition};
use crate::{Error, Real, Result};

/// Blocks up to this many columns go through the chain in one piece.
const WHOLE_COLUMNS: usize = 64;
/// Columns of a panel of a wider block: a full tile of the kernel.
const PANEL_COLUMNS: usize = 32;
/// Larger blocks go through it in panels with rows of so many bytes: of wider ones not even the rows of a cluster fit a cache. (64
/// single-precision columns of a million blobs: 0.5 to 0.7 s a step as they are, 0.4 in two panels.)
const LARGE_BLOCK: usize = 128 << 20;
const PANEL_ROW: usize = 128;

/// A word or a convex trajectory over an operator set.
#[derive(Debug, Clone)]
pub struct Trajectory<'a, T> {
    set: &'a OperatorSet<T>,
    steps: Vec<Step>,
}

impl<'a, T: Real> Trajectory<'a, T> {
    /// The trajectory whose `s`-th step has the weights of row `s` (row-major, one column for each member).
    pub fn new(set: &'a OperatorSet<T>, weights: &[f64]) -> Result<Self> {
        let steps: Vec<Step> =
            weights.chunks(set.members().len().max(1)).map(|row| set.step(row)).collect::<Result<_>>()?;
        if steps.is_empty() {
            return Err(Error::Invalid("expected at least one step, got none".into()));
        }
        Ok(Self { set, steps })
    }

    /// The trajectory that takes a step of each of these members, the first one first.
    pub fn of_sequence(set: &'a OperatorSet<T>, sequence: &[u16]) -> Result<Self> {
        let members = set.members().len();
        let mut weights = vec![0.0; sequence.len() * members];
        for (row, &member) in weights.chunks_exact_mut(members.max(1)).zip(sequence) {
            let Some(weight) = row.get_mut(usize::from(member)) else {
                return Err(Error::Invalid(format!("expected members below {members}, got {member}")));
            };
            *weight = 1.0;
        }
        Self::new(set, &weights)
    }

    /// One step of a stored matrix.
    pub(crate) fn of_walk(set: &'a OperatorSet<T>, base: usize) -> Self {
        let step = Step { powers: vec![Power { base, exponent: 1, weight: 1.0 }], ..Step::default() };
        Self { set, steps: vec![step] }
    }

    /// The stored matrix that every step consists of, if there is one.
    #[must_use]
    pub fn repeated_walk(&self) -> Option<usize> {
        let walk_of = |step: &Step| match step.powers[..] {
            [power] if step.identity == 0.0 && step.uniform == 0.0 => Some(power.base),
            _ => None,
        };
        let first = walk_of(&self.steps[0])?;
        self.steps.iter().all(|step| walk_of(step) == Some(first)).then_some(first)
    }

    /// The same steps over another set with as many matrices.
    pub(crate) fn over<'b>(&self, set: &'b OperatorSet<T>) -> Trajectory<'b, T> {
        Trajectory { set, steps: self.steps.clone() }
    }

    /// Number of states.
    #[must_use]
    pub fn n(&self) -> usize {
        self.set.n()
    }

    /// The operators that the steps refer to.
    #[must_use]
    pub fn set(&self) -> &OperatorSet<T> {
        self.set
    }

    /// The steps, first to last.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The trajectory `times` times over, `W^times`; `times` must be positive.
    #[must_use]
    pub(crate) fn power(&self, times: usize) -> Self {
        Self { set: self.set, steps: vec![&self.steps[..]; times].concat() }
    }

    /// `W x` or `W^T x` for a row-major block of `cols` columns, written to `out` of the same shape.
    pub fn apply(&self, x: &[T], cols: usize, direction: Direction, out: &mut [T], exec: &Exec) -> Result<()> {
        Error::check_size("elements of the block", self.n() * cols, x.len())?;
        Error::check_size("elements of the output", x.len(), out.len())?;
        if cols == 0 {
            return Ok(());
        }
        let (x, together) = (TallRef::new(x, cols), self.columns_together(cols));
        if cols <= together {
            return self.apply_panel(x, direction, out, exec);
        }
        for from in (0..cols).step_by(together) {
            let input = x.columns(from..cols.min(from + together), exec)?;
            let mut output = TallBlock::unset(self.n(), input.cols());
            self.apply_panel(input.view(), direction, &mut output, exec)?;
            output.write_to(out, cols, from, exec)?;
        }
        Ok(())
    }

    /// Columns of a panel of a block.
    fn columns_together(&self, cols: usize) -> usize {
        if self.n() * cols * size_of::<T>() > LARGE_BLOCK {
            PANEL_ROW / size_of::<T>()
        } else if cols <= WHOLE_COLUMNS {
            cols
        } else {
            PANEL_COLUMNS
        }
    }

    /// The second block that several steps need, and transposed ones for the first diagonal.
    fn spare(&self, cols: usize, direction: Direction) -> Block<T> {
        let is_needed = self.steps.len() > 1 || direction == Direction::Transposed;
        Block::unset(if is_needed { self.n() * cols } else { 0 })
    }

    /// The walks of a word whose steps are single reversible ones.
    fn reversible_sequence(&self) -> Option<Vec<&Transition<T>>> {
        let walk_of = |step: &Step| match step.powers[..] {
            [Power { base, exponent: 1, weight: 1.0 }] if step.identity == 0.0 && step.uniform == 0.0 => {
                Some(&*self.set.walks()[base]).filter(|walk| walk.degrees().is_some())
            }
            _ => None,
        };
        self.steps.iter().map(walk_of).collect()
    }

    /// The chain on one panel, alternating between `out` and a spare block so that the last step writes `out`.
    fn apply_panel(&self, x: TallRef<'_, T>, direction: Direction, out: &mut [T], exec: &Exec) -> Result<()> {
        let spare = &mut self.spare(x.cols, direction)[..];
        let (mut target, mut source) = if self.steps.len() % 2 == 1 { (out, spare) } else { (spare, out) };
        if direction == Direction::Transposed
            && let Some(walks) = self.reversible_sequence()
        {
            return transposed_sequence(&walks, x, target, source, exec);
        }
        let forward = direction == Direction::Forward;
        let order = |s: usize| if forward { s } else { self.steps.len() - 1 - s };
        self.apply_step(&self.steps[order(0)], x, direction, target, exec)?;
        for s in 1..self.steps.len() {
            std::mem::swap(&mut target, &mut source);
            self.apply_step(&self.steps[order(s)], TallRef::new(source, x.cols), direction, target, exec)?;
        }
        Ok(())
    }

    /// For each power the block that its last factor is applied to, `P^(s-1) x`; None stands for `x` itself. Lower powers
    /// on the way are computed once each, and only those are kept.
    pub(crate) fn lower_powers(
        &self,
        powers: &[Power],
        x: TallRef<'_, T>,
        direction: Direction,
        exec: &Exec,
    ) -> Result<Vec<Option<Arc<Block<T>>>>> {
        let mut lower: Vec<Option<Arc<Block<T>>>> = Vec::with_capacity(powers.len());
        for (p, power) in powers.iter().enumerate() {
            let previous = p.checked_sub(1).filter(|&q| powers[q].base == power.base);
            let (mut done, mut reached) = previous.map_or((1, None), |q| (powers[q].exponent, lower[q].clone()));
            while done < power.exponent {
                let mut next = Block::unset(x.data.len());
                let input = reached.as_ref().map_or(x.data, |block| &block[..]);
                let walk = &self.set.walks()[power.base];
                let prepared = walk.prepare(direction, input, exec)?;
                let term = walk.term(T::ONE, direction, prepared.as_deref().unwrap_or(input));
                sparse_step(&[term], Remainder::none(), x.cols, &mut next, exec)?;
                reached = Some(Arc::new(next));
                done += 1;
            }
            lower.push(reached);
        }
        Ok(lower)
    }

    /// One step, as many rows of it as `out` has room for.
    pub(crate) fn apply_step(
        &self,
        step: &Step,
        x: TallRef<'_, T>,
        direction: Direction,
        out: &mut [T],
        exec: &Exec,
    ) -> Result<()> {
        exec.check()?;
        let lower = self.lower_powers(&step.powers, x, direction, exec)?;
        let offset = if step.uniform == 0.0 {
            None
        } else {
            let mut means = column_means(x, exec)?;
            means.iter_mut().for_each(|m| *m *= T::from_f64(step.uniform));
            Some(means)
        };
        let identity = T::from_f64(step.identity);
        let mut remainder = Remainder { identity, input: x.data, offset: offset.as_deref(), ..Remainder::none() };
        let factors = || {
            step.powers.iter().zip(&lower).map(|(power, lower)| {
                let (walk, weight) = (&self.set.walks()[power.base], T::from_f64(power.weight));
                (walk, weight, lower.as_ref().map_or(x.data, |block| &block[..]))
            })
        };
        if direction == Direction::Forward || step.powers.is_empty() {
            let terms: Vec<_> = factors().map(|(walk, weight, input)| walk.term(weight, direction, input)).collect();
            return sparse_step(&terms, remainder, x.cols, out, exec);
        }
        // One after the other: each walk has an input of its own, and the rows of two would compete for the cache.
        for (walk, weight, input) in factors() {
            let prepared = walk.prepare(direction, input, exec)?;
            let term = walk.term(weight, direction, prepared.as_deref().unwrap_or(input));
            sparse_step(&[term], remainder, x.cols, out, exec)?;
            remainder = Remainder { accumulates: true, ..Remainder::none() };
        }
        Ok(())
    }
}

/// `P_1^T ... P_t^T x` with `P^T = D P D^-1`: the first `D^-1` is applied to a copy of `x`, every other diagonal to what a step
/// writes. The first step writes `target`, the next one `source`, and so on.
fn transposed_sequence<'b, T: Real>(
    walks: &[&Transition<T>],
    x: TallRef<'_, T>,
    mut target: &'b mut [T],
    mut source: &'b mut [T],
    exec: &Exec,
) -> Result<()> {
    let diagonals: Vec<(&[T], &[T])> = walks.iter().rev().filter_map(|walk| walk.diagonals()).collect();
    scale_rows(diagonals[0].1, x.data, source, exec)?;
    for (s, walk) in walks.iter().rev().enumerate() {
        if s > 0 {
            std::mem::swap(&mut target, &mut source);
        }
        exec.check()?;
        let mut scales = vec![diagonals[s].0];
        scales.extend(diagonals.get(s + 1).map(|next| next.1));
        let term = walk.term(T::ONE, Direction::Forward, source);
        sparse_step(&[term], Remainder { scales: &scales, ..Remainder::none() }, x.cols, target, exec)?;
    }
    Ok(())
}
