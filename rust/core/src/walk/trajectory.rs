//! Trajectories `W = W_t ... W_1`, applied step by step to blocks of vectors.
//!
//! `W B` runs the steps from first to last, `W^T B` from last to first. The product is never
//! formed. A pass costs `t * nnz * cols` multiplications and two blocks of `N * cols` elements, and
//! one more block for each extra power in a step. Wide inputs are cut into panels, so memory does
//! not grow with the number of columns.
//!
//! Reference: the method's paper, arXiv:2512.01484.

use std::sync::Arc;

use crate::ground::block::Block;
use crate::ground::permutation::Permutation;
use crate::ground::sparse_step::{Remainder, sparse_step};
use crate::ground::tall::{TallBlock, TallRef, column_means, each_row, scale_rows};
use crate::walk::borrowing::Group;
use crate::walk::operator_set::ReorderedSet;
use crate::{Direction, Error, Exec, OperatorSet, Power, Real, Result, Step, Transition};

/// Blocks of up to this many columns are processed as one panel.
const WHOLE_COLUMNS: usize = 64;
/// Columns of a panel of a wider block: a tile of the kernel.
const PANEL_COLUMNS: usize = 32;
/// Bytes from which on a block is cut into panels of [`PANEL_ROW`], because wider rows of one
/// cluster do not fit a cache. (64 single-precision columns of a million blobs: 0.5 to 0.7 s per
/// step as one block, 0.4 s in two panels.)
const LARGE_BLOCK: usize = 128 << 20;
/// Bytes of a row of a panel of a large block.
const PANEL_ROW: usize = 128;

/// A product of steps over an operator set.
#[derive(Debug, Clone)]
pub struct Trajectory<'a, T> {
    set: &'a OperatorSet<T>,
    steps: Vec<Step>,
}

impl<'a, T: Real> Trajectory<'a, T> {
    /// The trajectory whose step `s` has the weights of row `s` (row-major, one column per member).
    pub fn new(set: &'a OperatorSet<T>, weights: &[f64]) -> Result<Self> {
        let steps: Vec<Step> =
            weights.chunks(set.members().len().max(1)).map(|row| set.step(row)).collect::<Result<_>>()?;
        if steps.is_empty() {
            return Err(Error::Invalid("expected at least one step, got none".into()));
        }
        Ok(Self { set, steps })
    }

    /// The trajectory with one member at each step, the first step first.
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

    /// One step of a stored walk.
    pub(crate) fn of_walk(set: &'a OperatorSet<T>, base: usize) -> Self {
        Self { set, steps: vec![Step::of_walk(base)] }
    }

    /// Steps of the mean of all stored walks; `steps` must be positive.
    pub(crate) fn of_mean(set: &'a OperatorSet<T>, steps: usize) -> Self {
        let walks = set.in_any_order().len();
        let weight = 1.0 / walks as f64;
        let powers = (0..walks).map(|base| Power { base, exponent: 1, weight }).collect();
        Self { set, steps: vec![Step { identity: 0.0, uniform: 0.0, powers }; steps] }
    }

    /// The last step alone.
    pub(crate) fn last_step(&self) -> Self {
        Self { set: self.set, steps: self.steps[self.steps.len() - 1..].to_vec() }
    }

    /// The stored walk of which every step consists, if there is one.
    pub fn repeated_walk(&self) -> Option<usize> {
        let walk_of = |step: &Step| match step.powers[..] {
            [power] if step.identity == 0.0 && step.uniform == 0.0 => Some(power.base),
            _ => None,
        };
        let first = walk_of(&self.steps[0])?;
        self.steps.iter().all(|step| walk_of(step) == Some(first)).then_some(first)
    }

    /// The same steps over another set with the same number of walks.
    pub(crate) fn over<'b>(&self, set: &'b OperatorSet<T>) -> Trajectory<'b, T> {
        Trajectory { set, steps: self.steps.clone() }
    }

    /// Number of states.
    pub fn n(&self) -> usize {
        self.set.n()
    }

    /// The operators that the steps refer to.
    pub fn set(&self) -> &OperatorSet<T> {
        self.set
    }

    /// The steps, first to last.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// `W^times`; `times` must be positive.
    pub(crate) fn power(&self, times: usize) -> Self {
        Self { set: self.set, steps: vec![&self.steps[..]; times].concat() }
    }

    /// `W x` or `W^T x` for a row-major block of `cols` columns, written to `out` of the same
    /// shape. A set that keeps the reordered copy alone uses it: no matrix in the given order is made.
    pub fn apply(&self, x: &[T], cols: usize, direction: Direction, out: &mut [T], exec: &Exec) -> Result<()> {
        Error::check_size("elements of the block", self.n() * cols, x.len())?;
        Error::check_size("elements of the output", x.len(), out.len())?;
        if cols == 0 {
            return Ok(());
        }
        let (x, together) = (TallRef::new(x, cols), self.columns_together(cols));
        if let Some(copy) = self.set.copy_alone() {
            return self.apply_by_copy(copy, x, direction, out, exec);
        }
        if cols <= together {
            return self.apply_panel(x, direction, out, exec);
        }
        for from in (0..cols).step_by(together) {
            let input = x.columns(from..cols.min(from + together), exec)?;
            let mut output = TallBlock::unset(self.n(), input.cols())?;
            self.apply_panel(input.view(), direction, &mut output, exec)?;
            output.write_to(out, cols, from, exec)?;
        }
        Ok(())
    }

    /// As [`Self::apply`], by the copy: a panel is copied in the order of the copy, and back.
    fn apply_by_copy(
        &self,
        copy: &ReorderedSet<T>,
        x: TallRef<'_, T>,
        direction: Direction,
        out: &mut [T],
        exec: &Exec,
    ) -> Result<()> {
        let (steps, cols, together) = (self.over(&copy.set), x.cols, self.columns_together(x.cols));
        let Permutation { order, places } = &*copy.permutation;
        for from in (0..cols).step_by(together) {
            let width = together.min(cols - from);
            let mut input = TallBlock::unset(self.n(), width)?;
            each_row(&mut input, width, exec, |place, row| {
                row.copy_from_slice(&x.data[order[place] as usize * cols + from..][..width]);
            })?;
            let mut output = TallBlock::unset(self.n(), width)?;
            steps.apply_panel(input.view(), direction, &mut output, exec)?;
            each_row(out, cols, exec, |point, row| {
                row[from..from + width].copy_from_slice(&output[places[point] as usize * width..][..width]);
            })?;
        }
        Ok(())
    }

    /// Columns of a panel of a block of `cols` columns.
    fn columns_together(&self, cols: usize) -> usize {
        if self.n() * cols * size_of::<T>() > LARGE_BLOCK {
            PANEL_ROW / size_of::<T>()
        } else if cols <= WHOLE_COLUMNS {
            cols
        } else {
            PANEL_COLUMNS
        }
    }

    /// The second block of a product of several steps. Transposed steps need it for the first
    /// diagonal.
    fn spare(&self, cols: usize, direction: Direction) -> Result<Block<T>> {
        let is_needed = self.steps.len() > 1 || direction == Direction::Transposed;
        Block::unset(if is_needed { self.n() * cols } else { 0 })
    }

    /// The walks of a sequence whose members are reversible walks.
    fn reversible_sequence(&self) -> Option<Vec<&Transition<T>>> {
        if self.set.borrowing().is_some() {
            return None;
        }
        let walk_of = |step: &Step| match step.powers[..] {
            [Power { base, exponent: 1, weight: 1.0 }] if step.identity == 0.0 && step.uniform == 0.0 => {
                Some(&*self.set.walks()[base]).filter(|walk| walk.degrees().is_some())
            }
            _ => None,
        };
        self.steps.iter().map(walk_of).collect()
    }

    /// Applies all steps to one panel, alternating between `out` and a spare block. The last step
    /// writes `out`.
    fn apply_panel(&self, x: TallRef<'_, T>, direction: Direction, out: &mut [T], exec: &Exec) -> Result<()> {
        let mut spare = self.spare(x.cols, direction)?;
        let spare = &mut spare[..];
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

    /// For each power `P^s` the input of its last factor, `P^(s-1) x`; None is `x` itself. Powers
    /// of one walk share their lower powers.
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
                let mut next = Block::unset(x.data.len())?;
                let input = reached.as_ref().map_or(x.data, |block| &block[..]);
                let once = Step::of_walk(power.base);
                self.apply_step(&once, TallRef::new(input, x.cols), direction, &mut next, exec)?;
                reached = Some(Arc::new(next));
                done += 1;
            }
            lower.push(reached);
        }
        Ok(lower)
    }

    /// Applies one step and writes the rows that `out` has.
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
        if self.set.borrowing().is_some() {
            let groups = grouped(&step.powers, &lower, x.data);
            return self.set.apply_borrowing(&groups, x.cols, direction, remainder, out, exec);
        }
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
        // One walk after another: each has its own input, and the rows of two would compete for the
        // cache.
        for (walk, weight, input) in factors() {
            let prepared = walk.prepare(direction, input, exec)?;
            let term = walk.term(weight, direction, prepared.as_deref().unwrap_or(input));
            sparse_step(&[term], remainder, x.cols, out, exec)?;
            remainder = Remainder { accumulates: true, ..Remainder::none() };
        }
        Ok(())
    }
}

/// The walks of a step by their inputs: `x` for single steps, the lower powers for the others.
fn grouped<'a, T: Real>(powers: &[Power], lower: &'a [Option<Arc<Block<T>>>], x: &'a [T]) -> Vec<Group<'a, T>> {
    let part = |power: &Power| (power.base, T::from_f64(power.weight));
    let single = powers.iter().filter(|power| power.exponent == 1).map(part).collect();
    let mut groups = vec![Group { walks: single, input: x }];
    for (power, lower) in powers.iter().zip(lower) {
        groups.extend(lower.as_ref().map(|block| Group { walks: vec![part(power)], input: &block[..] }));
    }
    groups
}

/// `P_1^T ... P_t^T x` with `P^T = D P D^-1`. The first `D^-1` is applied to a copy of `x`, every
/// other diagonal to the rows that a step writes. Steps write `target` and `source` in turn.
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
