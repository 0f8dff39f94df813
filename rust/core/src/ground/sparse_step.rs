//! The kernel that everything else waits for: one step of a walk applied to a block of vectors.
//!
//! ```text
//! out[i, :] = scale[i] * (identity * x[i, :] + offset[:] + sum over terms of  w * sum_j P_ij * x_term[j, :] [+ out[i, :]])
//! ```
//!
//! Blocks are row-major, `cols` columns wide. The terms of a convex step (several views with weights) share the accumulators: no
//! matrix `sum_v a_v P_v` is ever built, and the output is written once.
//!
//! Why it looks as it does:
//! - A row of the output is kept in registers (tiles of up to 32 columns) while all its entries are read; the general
//!   loop of a sparse library stores it back to memory for every entry.
//! - The cost is the gather of `x[j, :]`, one random read of `cols` elements an entry. Columns of the entries ahead are known,
//!   so their lines are requested early.
//! - Multiplications and additions are not fused: the result is the same on every machine, whatever its vector width.
//! - `P^T = D P D^-1` for a reversible walk (`P = D^-1 K`, `K` symmetric): the transposed product reads the same arrays, and
//!   no transpose is stored. `D^-1` is applied to a copy of the input, or in a chain of single walks to the rows that one
//!   step writes and the other reads: nothing is scaled entry by entry. The walks of a transposed convex step come one after
//!   the other, since rows of several copies would compete for the cache (a million points, 32 columns: 160 instead of 280 ms).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ground::csr::Csr;
use crate::ground::exec::Exec;
use crate::ground::prefetch::prefetch;
use crate::{Real, Result};

/// Entries ahead of the current one whose input lines are requested.
const PREFETCH_AHEAD: usize = 24;

/// Below this many multiplications a piece is not worth handing to another thread.
const WORK_PER_PIECE: usize = 1 << 17;

/// Longer rows are summed in segments, so that the rounding error of a hub joined to everybody stays that of a short row.
const SEGMENT: usize = 1024;

/// See [`bytes_moved`].
static BYTES_MOVED: AtomicU64 = AtomicU64::new(0);

/// Bytes that steps have moved since the process began: entries x (index + value + columns) + output, whether a cache served them or
/// not. What is measured against the bandwidth of the memory.
#[must_use]
pub fn bytes_moved() -> u64 {
    BYTES_MOVED.load(Ordering::Relaxed)
}

/// One weighted matrix of a step, and the block that it is applied to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term<'a, T> {
    pub weight: T,
    pub matrix: &'a Csr<T>,
    /// A diagonal that the matrix is multiplied by from the left.
    pub scale: Option<&'a [T]>,
    pub input: &'a [T],
}

/// What a step does to `out` besides its terms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remainder<'a, T> {
    /// Whether the result is added to what is there.
    pub accumulates: bool,
    /// Multiple of the input block itself.
    pub identity: T,
    pub input: &'a [T],
    /// A row added to every row (the uniform member).
    pub offset: Option<&'a [T]>,
    /// Diagonals by which the result is multiplied from the left.
    pub scales: &'a [&'a [T]],
}

impl<T: Real> Remainder<'_, T> {
    /// Nothing: `out` is the sum of the terms.
    pub fn none() -> Self {
        Self { accumulates: false, identity: T::ZERO, input: &[], offset: None, scales: &[] }
    }
}

/// Writes one step into `out`, rows in parallel.
pub(crate) fn sparse_step<T: Real>(
    terms: &[Term<'_, T>],
    remainder: Remainder<'_, T>,
    cols: usize,
    out: &mut [T],
    exec: &Exec,
) -> Result<()> {
    if cols == 0 || out.is_empty() {
        return Ok(());
    }
    let n_rows = out.len() / cols;
    let work_per_row = (terms.iter().map(|t| t.matrix.nnz()).sum::<usize>() / n_rows + 1) * cols;
    let rows_per_piece = (WORK_PER_PIECE / work_per_row).clamp(1, 8192);
    exec.for_pieces(
        out,
        rows_per_piece * cols,
        || (),
        |first, piece, ()| {
            step_rows(terms, remainder, cols, first / cols, piece);
            Ok(())
        },
    )
}

/// The rows of `out`, the first of which is row `first` of the block, on one thread.
pub(crate) fn step_rows<T: Real>(
    terms: &[Term<'_, T>],
    remainder: Remainder<'_, T>,
    cols: usize,
    first: usize,
    out: &mut [T],
) {
    let rows = first..first + out.len() / cols;
    let entries: usize = terms.iter().map(|t| t.matrix.entries_of(rows.clone())).sum();
    let bytes = entries * (size_of::<u32>() + (1 + cols) * size_of::<T>()) + size_of_val(out);
    BYTES_MOVED.fetch_add(bytes as u64, Ordering::Relaxed);
    pulp::Arch::new().dispatch(StepRows { terms, remainder, cols, first, out });
}

/// The work of [`step_rows`], compiled once for each vector width and picked at run time.
///
/// Not a closure: what calls a closure is a function of its own, which the compiler may leave at the least width.
struct StepRows<'a, T> {
    terms: &'a [Term<'a, T>],
    remainder: Remainder<'a, T>,
    cols: usize,
    first: usize,
    out: &'a mut [T],
}

impl<T: Real> pulp::WithSimd for StepRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { terms, remainder, cols, first, out } = self;
        for (i, row) in out.chunks_exact_mut(cols).enumerate() {
            let i = first + i;
            let mut from = 0;
            while cols - from >= 32 {
                tile::<T, 32>(terms, remainder, cols, i, from, row);
                from += 32;
            }
            if cols - from >= 16 {
                tile::<T, 16>(terms, remainder, cols, i, from, row);
                from += 16;
            }
            if cols - from >= 8 {
                tile::<T, 8>(terms, remainder, cols, i, from, row);
                from += 8;
            }
            if cols - from >= 4 {
                tile::<T, 4>(terms, remainder, cols, i, from, row);
                from += 4;
            }
            while from < cols {
                tile::<T, 1>(terms, remainder, cols, i, from, row);
                from += 1;
            }
        }
    }
}

/// Columns `from..from + W` of row `i`.
#[inline(always)]
fn tile<T: Real, const W: usize>(
    terms: &[Term<'_, T>],
    remainder: Remainder<'_, T>,
    cols: usize,
    i: usize,
    from: usize,
    row: &mut [T],
) {
    let mut acc = [T::ZERO; W];
    if remainder.accumulates {
        acc.copy_from_slice(&row[from..from + W]);
    }
    if let Some(offset) = remainder.offset {
        acc.iter_mut().zip(&offset[from..from + W]).for_each(|(v, &o)| *v += o);
    }
    if remainder.identity != T::ZERO {
        add_scaled(&mut acc, remainder.identity, &remainder.input[i * cols + from..][..W]);
    }
    for term in terms {
        let factor = term.scale.map_or(term.weight, |scale| term.weight * scale[i]);
        gather(&mut acc, term, cols, i, from, factor);
    }
    for scale in remainder.scales {
        acc.iter_mut().for_each(|v| *v *= scale[i]);
    }
    row[from..from + W].copy_from_slice(&acc);
}

/// Adds `factor * sum_j M_ij * input[j, from..from + W]` to the accumulators.
#[inline(always)]
fn gather<T: Real, const W: usize>(
    acc: &mut [T; W],
    term: &Term<'_, T>,
    cols: usize,
    i: usize,
    from: usize,
    factor: T,
) {
    let range = term.matrix.range(i);
    if range.len() <= SEGMENT {
        return gather_segment(acc, term, cols, range, from, factor);
    }
    for start in range.clone().step_by(SEGMENT) {
        let mut segment = [T::ZERO; W];
        let entries = start..range.end.min(start + SEGMENT);
        gather_segment(&mut segment, term, cols, entries, from, factor);
        add_scaled(acc, T::ONE, &segment);
    }
}

#[inline(always)]
fn gather_segment<T: Real, const W: usize>(
    acc: &mut [T; W],
    term: &Term<'_, T>,
    cols: usize,
    entries: Range<usize>,
    from: usize,
    factor: T,
) {
    // A block that is one tile wide has a stride that the compiler knows.
    if cols == W {
        gather_strided(acc, term, W, entries, from, factor);
    } else {
        gather_strided(acc, term, cols, entries, from, factor);
    }
}

#[inline(always)]
fn gather_strided<T: Real, const W: usize>(
    acc: &mut [T; W],
    term: &Term<'_, T>,
    stride: usize,
    entries: Range<usize>,
    from: usize,
    factor: T,
) {
    let (indices, values) = (term.matrix.indices(), &term.matrix.values()[entries.clone()]);
    let here = &indices[entries.clone()];
    // The last rows have nothing ahead of them and ask for themselves.
    let ahead = indices.get(entries.start + PREFETCH_AHEAD..entries.end + PREFETCH_AHEAD).unwrap_or(here);
    let input = &term.input[from..];
    let mut sums = *acc;
    for ((&j, &value), &ahead) in here.iter().zip(values).zip(ahead) {
        prefetch(input, ahead as usize * stride, W);
        add_scaled(&mut sums, factor * value, &input[j as usize * stride..][..W]);
    }
    *acc = sums;
}

#[inline(always)]
fn add_scaled<T: Real, const W: usize>(acc: &mut [T; W], a: T, x: &[T]) {
    for (s, &v) in acc.iter_mut().zip(x) {
        *s += a * v;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_width_equals_the_plain_sum() {
        let n = 50;
        let indptr: Vec<u64> = (0..=n as u64).map(|i| 3 * i).collect();
        let indices: Vec<u32> = (0..n as u32).flat_map(|i| [i % 10, 10 + (7 * i) % 20, 30 + (11 * i) % 20]).collect();
        let values: Vec<f64> = (0..3 * n).map(|k| 0.25 + (k % 13) as f64).collect();
        let matrix = Csr::new(n, indptr, indices, values).unwrap();
        let degrees: Vec<f64> = (0..n).map(|i| 1.0 + i as f64).collect();
        for (cols, accumulates) in [1, 3, 4, 31, 32, 33, 63, 70].into_iter().zip([true, false].into_iter().cycle()) {
            let x: Vec<f64> = (0..n * cols).map(|k| ((k * 37) % 101) as f64 / 7.0).collect();
            let offset: Vec<f64> = (0..cols).map(|c| c as f64).collect();
            let terms = [
                Term { weight: 0.5, matrix: &matrix, scale: None, input: &x },
                Term { weight: 2.0, matrix: &matrix, scale: Some(&degrees), input: &x },
            ];
            let scales: [&[f64]; 2] = [&degrees, &degrees];
            let remainder =
                Remainder { accumulates, identity: 0.125, input: &x, offset: Some(&offset), scales: &scales };
            let mut out = vec![7.0; n * cols];
            let before = bytes_moved();
            sparse_step(&terms, remainder, cols, &mut out, &Exec::with_threads(2)).unwrap();
            // Other tests may step at the same time.
            assert!(bytes_moved() - before >= (2 * 3 * n * (4 + 8 * (1 + cols)) + 8 * n * cols) as u64);
            for i in 0..n {
                for c in 0..cols {
                    let there = if accumulates { 7.0 } else { 0.0 };
                    let mut expected = there + offset[c] + 0.125 * x[i * cols + c];
                    let (columns, entries) = matrix.row(i);
                    for (&j, v) in columns.iter().zip(entries) {
                        let j = j as usize;
                        expected += (0.5 + 2.0 * degrees[i]) * v * x[j * cols + c];
                    }
                    expected *= degrees[i] * degrees[i];
                    assert!((out[i * cols + c] - expected).abs() <= 1e-12 * expected.abs(), "{cols} {i} {c}");
                }
            }
        }
    }
}
