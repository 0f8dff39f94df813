//! The product of a trajectory as a sparse matrix.
//!
//! Row `i` of `W = W_t ... W_1` is `e_i^T W_t ... W_1`, a sparse vector that is multiplied by the
//! factors from the left. Rows are independent: they are computed in parallel, each thread with one
//! dense accumulator of `N` elements, and no intermediate matrix is formed. Pruning of the finished
//! rows does not reduce the work. Pruning after each step does, but its errors accumulate.

use crate::ground::csr::RowBlock;
use crate::{Csr, Error, Exec, OperatorSet, Real, Result, Step, Trajectory};

/// Rows that one thread computes at a time.
const ROWS_PER_BLOCK: usize = 256;
/// Rows from which the size of the product is estimated.
const SAMPLED_ROWS: usize = 64;

/// Which entries of a row are kept. They are rescaled to sum to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pruning {
    /// Entries below this are dropped, except the largest of the row.
    pub below: f64,
    /// Number of largest entries that are kept. Ties go to the smaller column.
    pub top: Option<usize>,
    /// Whether rows are pruned after every step.
    pub each_step: bool,
}

impl Pruning {
    /// All entries are kept.
    pub const NONE: Self = Self { below: 0.0, top: None, each_step: false };

    fn is_none(&self) -> bool {
        self.below <= 0.0 && self.top.is_none()
    }
}

impl<T: Real> Trajectory<'_, T> {
    /// The pruned product; [`Error::Memory`] with an estimate if it exceeds `memory_limit` bytes.
    pub fn to_sparse(&self, pruning: Pruning, memory_limit: u64, exec: &Exec) -> Result<Csr<T>> {
        let set = self.set().restored(exec)?;
        self.over(&set).restored_to_sparse(pruning, memory_limit, exec)
    }

    /// As [`Self::to_sparse`], over a set that has its matrices in the given order.
    fn restored_to_sparse(&self, pruning: Pruning, memory_limit: u64, exec: &Exec) -> Result<Csr<T>> {
        let n = self.n();
        self.check_fits(pruning, memory_limit, exec)?;
        let blocks = exec.map(n.div_ceil(ROWS_PER_BLOCK), |b| {
            let mut row = SparseRow::new(n);
            let mut block = RowBlock::default();
            for i in b * ROWS_PER_BLOCK..((b + 1) * ROWS_PER_BLOCK).min(n) {
                exec.check()?;
                self.compute_row(i, pruning, &mut row);
                let start = block.indices.len();
                row.entries.iter().for_each(|&(column, value)| block.push(column, T::from_f64(value)));
                block.end_row(start);
            }
            block.indices.shrink_to_fit();
            block.values.shrink_to_fit();
            Ok(block)
        })?;
        Csr::from_row_blocks(n, blocks)
    }

    /// Estimates the size from evenly spaced rows.
    fn check_fits(&self, pruning: Pruning, limit: u64, exec: &Exec) -> Result<()> {
        let n = self.n();
        let sampled = SAMPLED_ROWS.min(n);
        let lengths = exec.map(sampled, |s| {
            let mut row = SparseRow::new(n);
            self.compute_row(s * n / sampled, pruning, &mut row);
            Ok(row.entries.len())
        })?;
        let entries = lengths.iter().sum::<usize>() as f64 / sampled as f64 * n as f64;
        let needed = (entries * (size_of::<u32>() + size_of::<T>()) as f64) as u64 + 8 * n as u64;
        if needed > limit { Err(Error::Memory { needed, limit }) } else { Ok(()) }
    }

    /// Computes row `i` of the product in `row.entries`, by ascending column.
    fn compute_row(&self, i: usize, pruning: Pruning, row: &mut SparseRow) {
        row.start_at(i);
        for (s, step) in self.steps().iter().rev().enumerate() {
            row.multiply(step, self.set());
            let last = s + 1 == self.steps().len();
            if !pruning.is_none() && (last || pruning.each_step) {
                row.prune(pruning);
            }
        }
    }
}

/// A sparse row vector and the dense accumulator for its next product, in double precision.
struct SparseRow {
    entries: Vec<(u32, f64)>,
    accumulator: Vec<f64>,
    touched: Vec<u32>,
    is_touched: Vec<bool>,
}

impl SparseRow {
    fn new(n: usize) -> Self {
        Self { entries: Vec::new(), accumulator: vec![0.0; n], touched: Vec::new(), is_touched: vec![false; n] }
    }

    fn start_at(&mut self, i: usize) {
        self.entries.clear();
        self.entries.push((i as u32, 1.0));
    }

    #[inline]
    fn add(&mut self, column: u32, value: f64) {
        let c = column as usize;
        if !self.is_touched[c] {
            self.is_touched[c] = true;
            self.touched.push(column);
        }
        self.accumulator[c] += value;
    }

    /// `entries <- entries * step`.
    fn multiply<T: Real>(&mut self, step: &Step, set: &OperatorSet<T>) {
        let start = std::mem::take(&mut self.entries);
        let mut total = Vec::new();
        for power in &step.powers {
            let mut vector = start.clone();
            for _ in 0..power.exponent {
                for &(j, z) in &vector {
                    for (matrix, weight) in set.rows_of(power.base, j as usize) {
                        let (columns, values) = matrix.row(j as usize);
                        let z = z * weight.to_f64();
                        columns.iter().zip(values).for_each(|(&c, v)| self.add(c, z * v.to_f64()));
                    }
                }
                self.take_accumulated(&mut vector);
            }
            total.push((power.weight, vector));
        }
        for (weight, vector) in &total {
            vector.iter().for_each(|&(c, v)| self.add(c, weight * v));
        }
        if step.identity != 0.0 {
            start.iter().for_each(|&(c, v)| self.add(c, step.identity * v));
        }
        if step.uniform != 0.0 {
            let share = step.uniform * start.iter().map(|e| e.1).sum::<f64>() / self.accumulator.len() as f64;
            (0..self.accumulator.len() as u32).for_each(|c| self.add(c, share));
        }
        let mut entries = start;
        self.take_accumulated(&mut entries);
        self.entries = entries;
    }

    /// Moves the accumulated sums to `vector` by ascending column, without those that underflowed
    /// to 0.
    fn take_accumulated(&mut self, vector: &mut Vec<(u32, f64)>) {
        vector.clear();
        self.touched.sort_unstable();
        for &c in &self.touched {
            let value = std::mem::take(&mut self.accumulator[c as usize]);
            self.is_touched[c as usize] = false;
            if value > 0.0 {
                vector.push((c, value));
            }
        }
        self.touched.clear();
    }

    fn prune(&mut self, pruning: Pruning) {
        let largest_first = |a: &(u32, f64), b: &(u32, f64)| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0));
        let Some(&largest) = self.entries.iter().min_by(|a, b| largest_first(a, b)) else { return };
        self.entries.retain(|e| e.1 >= pruning.below || e.0 == largest.0);
        if let Some(top) = pruning.top.filter(|&top| top < self.entries.len()) {
            self.entries.select_nth_unstable_by(top.max(1) - 1, largest_first);
            self.entries.truncate(top.max(1));
            self.entries.sort_unstable_by_key(|e| e.0);
        }
        let sum: f64 = self.entries.iter().map(|e| e.1).sum();
        self.entries.iter_mut().for_each(|e| e.1 /= sum);
    }
}
