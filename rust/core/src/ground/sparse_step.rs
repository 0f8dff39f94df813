//! The sparse kernel: one step of a walk applied to a block of vectors.
//!
//! ```text
//! out[i] = scale[i] * ([out[i] +] identity * x[i] + offset + sum_terms w sum_j P_ij x_term[j])
//! ```
//!
//! `out[i]` and `x[i]` are rows of row-major blocks of `cols` columns. The terms of a convex step
//! (several views with weights) share the accumulators: no matrix `sum_v a_v P_v` is built.
//!
//! - A row of the output stays in registers (tiles of up to 32 columns) while its entries are read.
//! - The cost is the gather of `x[j]`, one random read of `cols` elements per entry. The columns of
//!   later entries are known, so their cache lines are prefetched.
//! - Multiplications and additions are not fused, so results do not depend on the vector width.
//! - A reversible walk (`P = D^-1 K`, `K` symmetric) has `P^T = D P D^-1`: the transposed product
//!   reads the same arrays and no transpose is stored. `D^-1` is applied to a copy of the input, or
//!   in a product of single walks to the rows that a step writes. The walks of a transposed convex
//!   step run one after another, because rows of several copies compete for the cache (a million
//!   points, 32 columns: 160 instead of 280 ms).

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::ground::prefetch::prefetch;
use crate::{Csr, Exec, Real, Result};

/// Number of entries between a prefetch and its use.
const PREFETCH_AHEAD: usize = 24;

/// Multiplications of a parallel piece: fewer are not worth a task.
const WORK_PER_PIECE: usize = 1 << 17;

/// Longer rows are summed in segments, so the rounding error of a row with many entries is that of
/// a short row.
const SEGMENT: usize = 1024;

/// See [`bytes_moved`].
static BYTES_MOVED: AtomicU64 = AtomicU64::new(0);

/// Bytes that all steps of this process have moved, from memory or cache: entries x (index + value
/// + columns) + output. Compared with the bandwidth of the memory in benchmarks.
pub fn bytes_moved() -> u64 {
    BYTES_MOVED.load(Ordering::Relaxed)
}

/// One weighted matrix of a step and the block that it is applied to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Term<'a, T> {
    pub weight: T,
    pub matrix: &'a Csr<T>,
    /// A diagonal factor on the left of the matrix.
    pub scale: Option<&'a [T]>,
    /// Added to the weight, for each row.
    pub lent: Option<&'a [T]>,
    pub input: &'a [T],
}

/// What a step adds to its terms.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Remainder<'a, T> {
    /// Whether the result is added to `out`.
    pub accumulates: bool,
    /// Multiple of the input block itself.
    pub identity: T,
    pub input: &'a [T],
    /// A row added to every row (the uniform member).
    pub offset: Option<&'a [T]>,
    /// Diagonal factors on the left of the result.
    pub scales: &'a [&'a [T]],
}

impl<T: Real> Remainder<'_, T> {
    /// `out` is the sum of the terms.
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
    exec.each_piece(out, rows_per_piece * cols, |first, piece| {
        step_rows(terms, remainder, cols, first / cols, piece);
    })
}

/// Writes consecutive rows on one thread, from row `first` of the block on.
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
    write_rows(terms, remainder, cols, first, out);
}

/// The work of [`step_rows`], compiled for each vector width and chosen at run time.
///
/// Not a closure: the compiler may leave the caller of a closure at the smallest width.
#[pulp::with_simd(write_rows = pulp::Arch::new())]
#[inline(always)]
fn write_rows_simd<S: pulp::Simd, T: Real>(
    _: S,
    terms: &[Term<'_, T>],
    remainder: Remainder<'_, T>,
    cols: usize,
    first: usize,
    out: &mut [T],
) {
    for (i, row) in out.chunks_exact_mut(cols).enumerate() {
        let i = first + i;
        let mut from = 0;
        macro_rules! tiles {
            ($($width:literal),*) => {
                $(while cols - from >= $width {
                    tile::<T, $width>(terms, remainder, cols, i, from, row);
                    from += $width;
                })*
            };
        }
        tiles!(32, 16, 8, 4, 1);
    }
}

/// Computes columns `from..from + W` of row `i`.
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
        let weight = term.lent.map_or(term.weight, |lent| term.weight + lent[i]);
        if term.lent.is_some() && weight == T::ZERO {
            continue;
        }
        let factor = term.scale.map_or(weight, |scale| weight * scale[i]);
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
    // The stride of a block of one tile is a constant for the compiler.
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
    // The last rows of a matrix have no entries ahead and prefetch their own.
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
                Term { weight: 0.5, matrix: &matrix, scale: None, lent: None, input: &x },
                Term { weight: 2.0, matrix: &matrix, scale: Some(&degrees), lent: None, input: &x },
            ];
            let scales: [&[f64]; 2] = [&degrees, &degrees];
            let remainder =
                Remainder { accumulates, identity: 0.125, input: &x, offset: Some(&offset), scales: &scales };
            let mut out = vec![7.0; n * cols];
            let before = bytes_moved();
            sparse_step(&terms, remainder, cols, &mut out, &Exec::with_threads(2)).unwrap();
            // Other tests may add to the counter at the same time.
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
