//! Transition matrices of random walks.
//!
//! ```text
//! P = D^-1 K,   P^T = D P D^-1        (K symmetric: a reversible walk)
//! ```
//!
//! A reversible walk keeps its degrees `D`, from which transposed products follow without a second
//! copy of the entries. Any other row-stochastic matrix is transposed once, at the first need.

use std::sync::OnceLock;

use crate::ground::block::Block;
use crate::ground::memory;
use crate::ground::permutation::Permutation;
use crate::ground::sparse_step::Term;
use crate::ground::tall::scale_rows;
use crate::{Csr, Error, Exec, Real, Result};

/// Whether a matrix or its transpose is applied to a block of column vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `P x`: means of functions.
    Forward,
    /// `P^T x`: transport of mass.
    Transposed,
}

impl Direction {
    /// The other direction.
    pub(crate) fn flipped(self) -> Self {
        match self {
            Self::Forward => Self::Transposed,
            Self::Transposed => Self::Forward,
        }
    }
}

/// `D` and `D^-1` of a reversible walk `P = D^-1 K`.
#[derive(Debug, Clone)]
struct Degrees<T> {
    degrees: Vec<T>,
    inverse: Vec<T>,
}

impl<T: Real> Degrees<T> {
    /// None if some degrees leave the range of `T`. The walk then uses an explicit transpose. Points
    /// without a row, which the walk lacks, have degree and inverse 0.
    ///
    /// The inverse is computed from the rounded degrees, so a stored walk is restored to the last
    /// bit.
    fn new(degrees: Vec<T>, matrix: &Csr<T>) -> Option<Self> {
        let has_row = |i: usize| !matrix.range(i).is_empty();
        let invert = |(i, d): (usize, &T)| if has_row(i) { T::from_f64(1.0 / d.to_f64()) } else { T::ZERO };
        let inverse: Vec<T> = degrees.iter().enumerate().map(invert).collect();
        let is_normal = |v: T| (T::TINY..f64::INFINITY).contains(&v.to_f64());
        let fits =
            |i: usize| if has_row(i) { is_normal(degrees[i]) && is_normal(inverse[i]) } else { degrees[i] == T::ZERO };
        (0..degrees.len()).all(fits).then_some(Self { degrees, inverse })
    }
}

/// The factors `q_i^-alpha` of the anisotropic normalization, `q` the row sums of an affinity, up
/// to a common factor.
pub fn density_factors<T: Real>(affinity: &Csr<T>, anisotropy: f64, exec: &Exec) -> Result<Vec<f64>> {
    Ok(relative_densities(affinity, anisotropy, exec)?.0)
}

/// `(q_i / max q)^-alpha` and `max q`. The common factor changes no walk but could overflow.
fn relative_densities<T: Real>(affinity: &Csr<T>, anisotropy: f64, exec: &Exec) -> Result<(Vec<f64>, f64)> {
    let sums = affinity.row_sums(exec)?;
    let largest = sums.iter().copied().fold(0.0, f64::max);
    Ok((sums.iter().map(|q| (q / largest).powf(-anisotropy)).collect(), largest))
}

/// Refuses entries that are no probabilities.
fn check_entries<T: Real>(matrix: &Csr<T>) -> Result<()> {
    let Some(k) = matrix.values().iter().position(|v| !(v.to_f64() >= 0.0 && v.to_f64().is_finite())) else {
        return Ok(());
    };
    let row = matrix.indptr().partition_point(|&p| p as usize <= k) - 1;
    let (column, value) = (matrix.indices()[k], matrix.values()[k]);
    Err(Error::Invalid(format!("entry ({row}, {column}) is {value:?}: expected a finite non-negative number")))
}

/// A square sparse matrix whose rows are non-negative and sum to 1.
#[derive(Debug)]
pub struct Transition<T> {
    matrix: Csr<T>,
    degrees: Option<Degrees<T>>,
    transpose: OnceLock<Csr<T>>,
}

impl<T: Real> Transition<T> {
    /// `P = D^-1 K` for a non-negative affinity `K`, whose symmetry the caller ensures.
    ///
    /// With `anisotropy` alpha, `K_ij / (q_i q_j)^alpha` replaces `K_ij`, `q` the row sums of `K`.
    pub fn from_symmetric(mut affinity: Csr<T>, anisotropy: f64, exec: &Exec) -> Result<Self> {
        Error::check_size("affinity columns", affinity.n_rows(), affinity.n_cols())?;
        // The normalized affinity is this times the true one.
        let mut factor = 1.0;
        if anisotropy != 0.0 {
            let (density, largest) = relative_densities(&affinity, anisotropy, exec)?;
            factor = largest.powf(2.0 * anisotropy);
            affinity.map_values(exec, |i, j, v| T::from_f64(v.to_f64() * density[i] * density[j]))?;
        }
        let sums = affinity.normalize_rows(exec)?;
        if let Some(row) = sums.iter().position(|s| !(s.is_finite() && *s > 0.0)) {
            return Err(Error::Invalid(format!(
                "row {row} of the affinity sums to {}: expected a positive finite sum",
                sums[row]
            )));
        }
        // Up to a common factor if the sums leave the range of the element type.
        let largest = sums.iter().copied().fold(0.0, f64::max);
        let of = |scale: f64| Degrees::new(sums.iter().map(|s| T::from_f64(s / scale)).collect(), &affinity);
        let degrees = of(factor).or_else(|| of(largest));
        Ok(Self { matrix: affinity, degrees, transpose: OnceLock::new() })
    }

    /// A matrix whose row sums are within `tolerance` of 1. Rows are divided by their sums.
    pub fn from_stochastic(mut matrix: Csr<T>, tolerance: f64, exec: &Exec) -> Result<Self> {
        Error::check_size("transition columns", matrix.n_rows(), matrix.n_cols())?;
        check_entries(&matrix)?;
        let sums = matrix.row_sums(exec)?;
        if let Some(row) = sums.iter().position(|s| (s - 1.0).abs() > tolerance) {
            return Err(Error::Invalid(format!("row {row} sums to {}: expected 1 within {tolerance:e}", sums[row])));
        }
        matrix.map_values(exec, |i, _, v| T::from_f64(v.to_f64() / sums[i]))?;
        Ok(Self { matrix, degrees: None, transpose: OnceLock::new() })
    }

    /// A walk from stored [`Self::matrix`] and [`Self::degrees`].
    pub fn restore(matrix: Csr<T>, degrees: Option<Vec<T>>) -> Result<Self> {
        Error::check_size("transition columns", matrix.n_rows(), matrix.n_cols())?;
        if let Some(d) = &degrees {
            Error::check_size("degrees", matrix.n_rows(), d.len())?;
        }
        check_entries(&matrix)?;
        Ok(Self::of_parts(matrix, degrees))
    }

    fn of_parts(matrix: Csr<T>, degrees: Option<Vec<T>>) -> Self {
        let degrees = degrees.and_then(|degrees| Degrees::new(degrees, &matrix));
        Self { matrix, degrees, transpose: OnceLock::new() }
    }

    /// The walk among `n` points of which this one has the ascending `points`. The rows of the others
    /// are empty, or, if they `stay`, those of the identity.
    pub fn among(&self, points: &[u32], n: usize, stay: bool) -> Result<Self> {
        Error::check_size("points", self.n(), points.len())?;
        let ascending = points.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascending || points.last().is_some_and(|&last| last as usize >= n) {
            return Err(Error::Invalid(format!("points: expected ascending numbers below {n}")));
        }
        let nnz = self.matrix.nnz() + if stay { n - points.len() } else { 0 };
        let mut indptr = memory::with_capacity(n + 1)?;
        let (mut indices, mut values) = (memory::with_capacity(nnz)?, memory::with_capacity(nnz)?);
        let mut degrees = self.degrees().map(|_| memory::with_capacity(n)).transpose()?;
        let mut own = points.iter().copied().enumerate().peekable();
        indptr.push(0);
        for point in 0..n as u32 {
            let degree = match own.next_if(|&(_, has)| has == point) {
                Some((place, _)) => {
                    let (columns, entries) = self.matrix.row(place);
                    indices.extend(columns.iter().map(|&column| points[column as usize]));
                    values.extend_from_slice(entries);
                    self.degrees().map(|degrees| degrees[place])
                }
                None if stay => {
                    indices.push(point);
                    values.push(T::ONE);
                    Some(T::ONE)
                }
                None => Some(T::ZERO),
            };
            indptr.push(indices.len() as u64);
            degrees.iter_mut().for_each(|all| all.extend(degree));
        }
        Self::restore(Csr::new(n, indptr, indices, values)?, degrees)
    }

    /// The same walk with its points in another order.
    pub(crate) fn permuted(&self, Permutation { order, places }: &Permutation, exec: &Exec) -> Result<Self> {
        let degrees = self.degrees().map(|d| order.iter().map(|&point| d[point as usize]).collect());
        Ok(Self::of_parts(self.matrix.submatrix(order, places, exec)?, degrees))
    }

    /// The same walk rounded to single precision; its pattern is not copied.
    pub fn into_single(self) -> Result<Transition<f32>> {
        let round = |values: &[T]| memory::collect(values.iter().map(|v| v.to_f64() as f32));
        let degrees = self.degrees.as_ref().map(|d| round(&d.degrees)).transpose()?;
        Ok(Transition::of_parts(self.matrix.convert(|values| round(&values))?, degrees))
    }

    /// The matrix itself.
    pub fn matrix(&self) -> &Csr<T> {
        &self.matrix
    }

    /// The row sums of `K` for a reversible walk, up to a common factor for affinities of extreme
    /// scale.
    pub fn degrees(&self) -> Option<&[T]> {
        self.degrees.as_ref().map(|d| d.degrees.as_slice())
    }

    /// `D` and `D^-1` of a reversible walk.
    pub(crate) fn diagonals(&self) -> Option<(&[T], &[T])> {
        self.degrees.as_ref().map(|d| (d.degrees.as_slice(), d.inverse.as_slice()))
    }

    /// Number of states.
    pub fn n(&self) -> usize {
        self.matrix.n_rows()
    }

    /// The input of the kernel if it is not `x` itself: `D^-1 x` for the transpose of a reversible
    /// walk. Any other walk is transposed.
    pub(crate) fn prepare(&self, direction: Direction, x: &[T], exec: &Exec) -> Result<Option<Block<T>>> {
        match (direction, self.diagonals()) {
            (Direction::Transposed, Some((_, inverse))) => {
                let mut scaled = Block::unset(x.len())?;
                scale_rows(inverse, x, &mut scaled, exec)?;
                Ok(Some(scaled))
            }
            (Direction::Transposed, None) => {
                if self.transpose.get().is_none() {
                    // Two threads may both transpose. The results are equal and one is kept.
                    let _ = self.transpose.set(self.matrix.transpose()?);
                }
                Ok(None)
            }
            (Direction::Forward, _) => Ok(None),
        }
    }

    /// The term of the kernel for `weight * P x` or `weight * P^T x`, `input` from
    /// [`Self::prepare`].
    pub(crate) fn term<'a>(&'a self, weight: T, direction: Direction, input: &'a [T]) -> Term<'a, T> {
        let (matrix, scale) = match (direction, &self.degrees) {
            (Direction::Forward, _) => (&self.matrix, None),
            (Direction::Transposed, Some(d)) => (&self.matrix, Some(d.degrees.as_slice())),
            (Direction::Transposed, None) => (self.transpose.get().expect("a prepared walk is transposed"), None),
        };
        Term { weight, matrix, scale, lent: None, input }
    }
}
