//! Sparse matrices in compressed rows, with 32-bit columns and 64-bit row pointers: more than 2^31
//! entries fit.

use crate::ground::memory;
use crate::{Error, Exec, Real, Result};

/// Largest number of rows or columns: SciPy reads the indices as signed 32-bit integers.
pub const MAX_SIZE: usize = i32::MAX as usize;

/// A sparse matrix by rows, columns ascending and distinct within a row.
///
/// The invariants are checked at construction. Kernels rely on them.
#[derive(Debug, Clone, PartialEq)]
pub struct Csr<T> {
    n_cols: usize,
    indptr: Vec<u64>,
    indices: Vec<u32>,
    values: Vec<T>,
}

impl<T: Real> Csr<T> {
    /// Checks the three arrays of a CSR matrix and takes them.
    pub fn new(n_cols: usize, indptr: Vec<u64>, indices: Vec<u32>, values: Vec<T>) -> Result<Self> {
        let invalid = |message: String| Err(Error::Invalid(message));
        let Some((&first, &last)) = indptr.first().zip(indptr.last()) else {
            return invalid("indptr: expected at least one element, got none".into());
        };
        if n_cols > MAX_SIZE || indptr.len() - 1 > MAX_SIZE {
            return invalid(format!(
                "expected at most {MAX_SIZE} rows and columns, got {}",
                n_cols.max(indptr.len() - 1)
            ));
        }
        if first != 0 || indptr.windows(2).any(|w| w[0] > w[1]) {
            return invalid("indptr: expected non-decreasing row pointers from 0".into());
        }
        Error::check_size("indices", last as usize, indices.len())?;
        Error::check_size("values", last as usize, values.len())?;
        for (row, w) in indptr.windows(2).enumerate() {
            let columns = &indices[w[0] as usize..w[1] as usize];
            if let Some(&c) = columns.last().filter(|&&c| c as usize >= n_cols) {
                return invalid(format!("row {row}: expected columns below {n_cols}, got {c}"));
            }
            if let Some((left, right)) = columns.iter().zip(columns.iter().skip(1)).find(|(left, right)| left >= right)
            {
                return invalid(format!("row {row}: expected ascending distinct columns, got {left} before {right}"));
            }
        }
        Ok(Self { n_cols, indptr, indices, values })
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.indptr.len() - 1
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// Row pointers.
    pub fn indptr(&self) -> &[u64] {
        &self.indptr
    }

    /// Column indices, row after row.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// Values, row after row.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The range of entries that row `i` occupies.
    #[inline(always)]
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.indptr[i] as usize..self.indptr[i + 1] as usize
    }

    /// Number of entries of some rows.
    pub fn entries_of(&self, rows: std::ops::Range<usize>) -> usize {
        (self.indptr[rows.end] - self.indptr[rows.start]) as usize
    }

    /// Columns and values of row `i`.
    #[inline(always)]
    pub fn row(&self, i: usize) -> (&[u32], &[T]) {
        let range = self.range(i);
        (&self.indices[range.clone()], &self.values[range])
    }

    /// The same pattern with other values.
    pub(crate) fn with_values<S: Real>(&self, values: Vec<S>) -> Result<Csr<S>> {
        assert_eq!(values.len(), self.nnz());
        let (indptr, indices) = (memory::copy(&self.indptr)?, memory::copy(&self.indices)?);
        Ok(Csr { n_cols: self.n_cols, indptr, indices, values })
    }

    /// The same pattern with other values made from these.
    pub(crate) fn convert<S: Real>(self, f: impl FnOnce(Vec<T>) -> Result<Vec<S>>) -> Result<Csr<S>> {
        let Self { n_cols, indptr, indices, values } = self;
        let values = f(values)?;
        assert_eq!(values.len(), indices.len());
        Ok(Csr { n_cols, indptr, indices, values })
    }

    /// Row pointers, columns and values.
    pub fn into_parts(self) -> (Vec<u64>, Vec<u32>, Vec<T>) {
        (self.indptr, self.indices, self.values)
    }

    /// The transpose, by counting sort: O(nnz + rows).
    pub fn transpose(&self) -> Result<Self> {
        let mut indptr = memory::zeros::<u64>(self.n_cols + 1)?;
        for &c in &self.indices {
            indptr[c as usize + 1] += 1;
        }
        for c in 0..self.n_cols {
            indptr[c + 1] += indptr[c];
        }
        let mut next = memory::copy(&indptr)?;
        let mut indices = memory::zeros::<u32>(self.nnz())?;
        let mut values = memory::zeros::<T>(self.nnz())?;
        for i in 0..self.n_rows() {
            let (columns, entries) = self.row(i);
            for (&c, &v) in columns.iter().zip(entries) {
                let slot = next[c as usize] as usize;
                next[c as usize] += 1;
                indices[slot] = i as u32;
                values[slot] = v;
            }
        }
        Ok(Self { n_cols: self.n_rows(), indptr, indices, values })
    }

    /// Divides every row by its sum and returns the sums.
    pub(crate) fn normalize_rows(&mut self, exec: &Exec) -> Result<Vec<f64>> {
        let sums = self.row_sums(exec)?;
        self.map_values(exec, |i, _, v| T::from_f64(v.to_f64() / sums[i]))?;
        Ok(sums)
    }

    /// Sum of each row, in double precision.
    pub fn row_sums(&self, exec: &Exec) -> Result<Vec<f64>> {
        let mut sums = vec![0.0; self.n_rows()];
        exec.each_piece(&mut sums, 4096, |first, piece| {
            piece.iter_mut().enumerate().for_each(|(i, sum)| *sum = sum_segments(self.row(first + i).1));
        })?;
        Ok(sums)
    }

    /// Replaces every entry by `f(row, column, value)`.
    pub(crate) fn map_values(&mut self, exec: &Exec, f: impl Fn(usize, usize, T) -> T + Sync + Send) -> Result<()> {
        let (indptr, indices) = (&self.indptr, &self.indices);
        exec.each_piece(&mut self.values, 1 << 16, |first, piece| {
            let mut row = indptr.partition_point(|&p| p as usize <= first) - 1;
            for (k, v) in piece.iter_mut().enumerate() {
                while indptr[row + 1] as usize <= first + k {
                    row += 1;
                }
                *v = f(row, indices[first + k] as usize, *v);
            }
        })
    }

    /// The square matrix of some rows and columns: row `i` is row `points[i]`, and column `c`
    /// becomes column `places[c]` or is left out if that is [`NOWHERE`].
    pub(crate) fn submatrix(&self, points: &[u32], places: &[u32], exec: &Exec) -> Result<Self> {
        const ROWS: usize = 4096;
        let blocks = exec.map(points.len().div_ceil(ROWS), |piece| {
            let mut block = RowBlock::default();
            let mut row = Vec::new();
            for &point in points.iter().skip(piece * ROWS).take(ROWS) {
                let (columns, values) = self.row(point as usize);
                let placed = columns.iter().zip(values).map(|(&c, &v)| (places[c as usize], v));
                row.extend(placed.filter(|entry| entry.0 != NOWHERE));
                row.sort_unstable_by_key(|entry| entry.0);
                let start = block.indices.len();
                row.drain(..).for_each(|(column, value)| block.push(column, value));
                block.end_row(start);
            }
            Ok(block)
        })?;
        Self::from_row_blocks(points.len(), blocks)
    }

    /// Joins blocks of consecutive rows. Each is freed after its copy, so memory peaks at one copy
    /// and a block.
    pub(crate) fn from_row_blocks(n_cols: usize, blocks: Vec<RowBlock<T>>) -> Result<Self> {
        let nnz = blocks.iter().map(|b| b.indices.len()).sum();
        let mut indptr = memory::with_capacity(1 + blocks.iter().map(|b| b.lengths.len()).sum::<usize>())?;
        let mut indices = memory::with_capacity(nnz)?;
        let mut values = memory::with_capacity(nnz)?;
        let mut end = 0_u64;
        indptr.push(end);
        for block in blocks {
            for len in block.lengths {
                end += u64::from(len);
                indptr.push(end);
            }
            indices.extend(block.indices);
            values.extend(block.values);
        }
        Ok(Self { n_cols, indptr, indices, values })
    }
}

/// The place of a column that [`Csr::submatrix`] leaves out.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// The sum in double precision, by segments: the rounding of a million entries is that of a
/// thousand.
pub(crate) fn sum_segments<T: Real>(values: &[T]) -> f64 {
    values.chunks(1024).map(|segment| segment.iter().map(|v| v.to_f64()).sum::<f64>()).fold(0.0, |a, b| a + b)
}

/// Consecutive rows of a matrix under construction, each with ascending distinct columns.
pub(crate) struct RowBlock<T> {
    pub lengths: Vec<u32>,
    pub indices: Vec<u32>,
    pub values: Vec<T>,
}

impl<T> Default for RowBlock<T> {
    fn default() -> Self {
        Self { lengths: Vec::new(), indices: Vec::new(), values: Vec::new() }
    }
}

impl<T> RowBlock<T> {
    /// Ends the current row, whose first entry is `start`.
    pub fn end_row(&mut self, start: usize) {
        self.lengths.push((self.indices.len() - start) as u32);
    }

    /// Appends one entry to the current row.
    pub fn push(&mut self, column: u32, value: T) {
        self.indices.push(column);
        self.values.push(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_the_transpose_of_its_transpose() {
        let a = Csr::new(4, vec![0, 2, 2, 3], vec![0, 3, 1], vec![1.0, 2.0, 3.0]).unwrap();
        let transposed = a.transpose().unwrap();
        assert_eq!(transposed.transpose().unwrap(), a);
        assert_eq!(transposed.row(3), (&[0_u32][..], &[2.0][..]));
    }

    #[test]
    fn bad_parts_are_refused() {
        let bad = |indptr: Vec<u64>, indices: Vec<u32>| Csr::new(2, indptr, indices.clone(), vec![1.0; indices.len()]);
        assert!(bad(vec![], vec![]).is_err());
        assert!(bad(vec![0, 2], vec![0]).is_err());
        assert!(bad(vec![0, 1], vec![2]).unwrap_err().to_string().contains("below 2, got 2"));
        assert!(bad(vec![0, 2], vec![1, 1]).unwrap_err().to_string().contains("ascending"));
        assert!(bad(vec![0, 2, 1], vec![0]).is_err());
    }
}
