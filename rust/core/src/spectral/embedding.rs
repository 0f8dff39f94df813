//! The embedding of a trajectory: coordinates `Psi = W F` of the points, `F` functions on the
//! points.
//!
//! | decomposition | functions `F` | values |
//! |---|---|---|
//! | uniform | `V`, `W = U S V^T` | singular values of `W` |
//! | stationary | `Pi^(-1/2) N`, `A = Pi^(1/2) W Pi^(-1/2) = M S N^T` | singular values of `A` |
//! | eigen | right eigenvectors of the reversible walk `P`, `W = P^t` | eigenvalues of `P` |
//!
//! The coordinates are `U S`, `Pi^(-1/2) M S`, and eigenvector times `eigenvalue^t`. New points
//! have the coordinates of their row of `W` times the same `F`. The sign of a column makes its
//! entry of largest magnitude positive.
//!
//! References: the method's paper, arXiv:2512.01484; diffusion maps, Coifman and Lafon 2006,
//! doi:10.1016/j.acha.2006.04.006.

use super::accuracy::{Accuracy, SvdSettings};
use super::maps::Scaled;
use super::start::Start;
use super::svd::{Svd, svd};
use crate::ground::memory;
use crate::ground::tall::{TallRef, each_row, scale_columns, squared_norms};
use crate::reorder::reordered;
use crate::walk::operator_set::ReorderedSet;
use crate::{Direction, Error, Exec, LinearMap, Real, Result, Trajectory};

/// Which functions span the embedding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decomposition<'a> {
    /// Singular vectors of `W`.
    Uniform,
    /// Singular vectors in the geometry weighted by this distribution.
    Stationary(&'a [f64]),
    /// Eigenvectors of the reversible walk that `W` repeats.
    Eigen {
        /// Whether eigenvectors have unit length in the stationary geometry, and not in the
        /// Euclidean one.
        stationary: bool,
    },
}

/// Settings of an embedding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmbeddingSettings {
    /// Number of components, without the dropped one.
    pub n_components: usize,
    /// Whether the first component, which is (nearly) constant, is dropped.
    pub drop_first: bool,
    /// Largest relative error.
    pub tolerance: f64,
    /// Whether the tolerance bounds distances between points instead of every value. There are no
    /// functions then.
    pub only_distances: bool,
    /// See [`SvdSettings`].
    pub max_iterations: usize,
    /// Seed of the starting block.
    pub seed: u64,
}

impl EmbeddingSettings {
    /// Number of computed components, with the dropped one.
    pub fn rank(&self) -> usize {
        self.n_components + usize::from(self.drop_first)
    }

    /// The settings of the solver.
    pub(super) fn spectrum(&self) -> SvdSettings {
        let Self { tolerance, max_iterations, seed, .. } = *self;
        let dropped = usize::from(self.drop_first);
        let accuracy = if self.only_distances { Accuracy::Distances { dropped } } else { Accuracy::Values };
        SvdSettings { rank: self.rank(), tolerance, accuracy, max_iterations, seed }
    }
}

/// An embedding with the functions that carry it to new points.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedding<T> {
    /// `n x n_components`, row-major.
    pub coordinates: Vec<T>,
    /// `n x n_components`, row-major: `coordinates = W functions`.
    pub functions: Vec<T>,
    /// All computed values, with the dropped one.
    pub values: Vec<f64>,
    /// Their residuals.
    pub residuals: Vec<f64>,
    /// Whether all values are within the tolerance.
    pub converged: bool,
}

/// Coordinates without functions for new points.
#[derive(Debug, Clone, PartialEq)]
pub struct Coordinates<T> {
    /// One row for each point (or state), row-major.
    pub coordinates: Vec<T>,
    /// All computed values, largest first, with a dropped one.
    pub values: Vec<f64>,
    /// Their residuals.
    pub residuals: Vec<f64>,
    /// Whether all values are within the tolerance.
    pub converged: bool,
}

/// Embeds the points of a trajectory.
///
/// The `functions` of a similar trajectory, with the dropped one or without, are a [`Start::Near`].
/// Large sets are processed in another order of their points, and a [`Start::Left`] must be in that
/// order.
pub fn embed<T: Real>(
    trajectory: &Trajectory<'_, T>,
    decomposition: Decomposition<'_>,
    settings: &EmbeddingSettings,
    start: Start<'_, T>,
    exec: &Exec,
) -> Result<Embedding<T>> {
    let Some(ReorderedSet { set, permutation }) = reordered(trajectory.set(), exec)? else {
        return embed_in_order(trajectory, decomposition, settings, start, exec);
    };
    let (pi, block);
    let mut how = decomposition;
    if let Decomposition::Stationary(given) = decomposition {
        pi = permutation.permute_rows(given)?;
        how = Decomposition::Stationary(&pi);
    }
    let mut first = start;
    if let Start::Near(given) = start {
        block = permutation.permute_rows(given)?;
        first = Start::Near(&block);
    }
    let mut embedding = embed_in_order(&trajectory.over(set), how, settings, first, exec)?;
    for block in [&mut embedding.coordinates, &mut embedding.functions] {
        *block = permutation.restore_rows(block)?;
    }
    Ok(embedding)
}

/// As [`embed`], in the order of the set of the trajectory.
pub(crate) fn embed_in_order<T: Real>(
    trajectory: &Trajectory<'_, T>,
    decomposition: Decomposition<'_>,
    settings: &EmbeddingSettings,
    start: Start<'_, T>,
    exec: &Exec,
) -> Result<Embedding<T>> {
    let dropped = usize::from(settings.drop_first);
    let rank = settings.rank();
    if settings.n_components < 1 || rank > trajectory.n() {
        return Err(Error::Invalid(format!(
            "expected between 1 and {} components, got {}",
            trajectory.n() - dropped,
            settings.n_components
        )));
    }
    let spectrum = settings.spectrum();
    let triplets = match decomposition {
        Decomposition::Uniform => svd(trajectory, &spectrum, start, exec)?,
        Decomposition::Stationary(pi) => {
            let scaled = Scaled::by_roots(trajectory, pi, 0.0)?;
            let mut triplets = svd(&scaled, &spectrum, start, exec)?;
            scale_rows_in_place(&mut triplets.left, scaled.inverse_roots(), exec)?;
            scale_rows_in_place(&mut triplets.right, scaled.inverse_roots(), exec)?;
            triplets
        }
        Decomposition::Eigen { stationary } => eigenfunctions(trajectory, stationary, &spectrum, start, exec)?,
    };
    let Svd { values, residuals, converged, left, right, .. } = triplets;
    let mut functions = without_first(&right, rank, dropped)?;
    let mut coordinates = if let Decomposition::Eigen { .. } = decomposition {
        let mut coordinates = memory::zeros(functions.len())?;
        trajectory.apply(&functions, settings.n_components, Direction::Forward, &mut coordinates, exec)?;
        coordinates
    } else {
        // The solver guarantees W right = left * values to rounding.
        let mut coordinates = without_first(&left, rank, dropped)?;
        scale_columns(&mut coordinates, &values[dropped..], exec)?;
        coordinates
    };
    if let Some(k) = coordinates.iter().position(|v| !v.to_f64().is_finite()) {
        let (row, col) = (k / settings.n_components, k % settings.n_components);
        return Err(Error::Invalid(format!("the embedding is not finite: {:?} at ({row}, {col})", coordinates[k])));
    }
    let signs = signs(&coordinates, settings.n_components);
    for block in [&mut coordinates, &mut functions] {
        scale_columns(block, &signs, exec)?;
    }
    Ok(Embedding { coordinates, functions, values, residuals, converged })
}

/// `x <- diag(a) x`.
pub(super) fn scale_rows_in_place<T: Real>(x: &mut [T], a: &[T], exec: &Exec) -> Result<()> {
    each_row(x, x.len() / a.len(), exec, |i, row| row.iter_mut().for_each(|v| *v *= a[i]))
}

/// Right eigenvectors of the walk that the trajectory repeats, by descending eigenvalue.
fn eigenfunctions<T: Real>(
    trajectory: &Trajectory<'_, T>,
    stationary: bool,
    settings: &SvdSettings,
    start: Start<'_, T>,
    exec: &Exec,
) -> Result<Svd<T>> {
    let not_reversible = || Error::Invalid("expected the repetition of one reversible walk".into());
    let step = trajectory.repeated_walk().ok_or_else(not_reversible)?;
    let borrows = trajectory.set().borrowing().is_some_and(|absences| !absences.lacking(step).is_empty());
    let degrees = trajectory.set().walks()[step].degrees().filter(|_| !borrows).ok_or_else(not_reversible)?;
    let total: f64 = degrees.iter().map(|d| d.to_f64()).sum();
    let pi: Vec<f64> = degrees.iter().map(|d| d.to_f64() / total).collect();
    let once = Trajectory::of_walk(trajectory.set(), step);
    eigenpairs(&Scaled::by_roots(&once, &pi, 1.0)?, stationary, settings, start, exec)
}

/// Eigenvalues and right eigenvectors of a reversible walk from its symmetric form shifted by 1,
/// which has non-negative eigenvalues.
pub(super) fn eigenpairs<T: Real, M: LinearMap<T>>(
    shifted: &Scaled<'_, T, M>,
    stationary: bool,
    settings: &SvdSettings,
    start: Start<'_, T>,
    exec: &Exec,
) -> Result<Svd<T>> {
    let mut pairs = svd(shifted, settings, start, exec)?;
    pairs.values.iter_mut().for_each(|v| *v -= 1.0);
    scale_rows_in_place(&mut pairs.right, shifted.inverse_roots(), exec)?;
    if !stationary {
        let squares = squared_norms(TallRef::new(&pairs.right, settings.rank), exec)?;
        scale_columns(&mut pairs.right, &squares.iter().map(|s| 1.0 / s.sqrt()).collect::<Vec<_>>(), exec)?;
    }
    Ok(pairs)
}

/// Coordinates `U S` by the leading singular triplets of `map`. `in_order` permutes their rows.
pub(super) fn embed_map<T: Real>(
    map: &impl LinearMap<T>,
    settings: &EmbeddingSettings,
    in_order: impl FnOnce(Vec<T>) -> Result<Vec<T>>,
    exec: &Exec,
) -> Result<Coordinates<T>> {
    let (rank, dropped) = (settings.rank(), usize::from(settings.drop_first));
    let Svd { values, residuals, converged, left, .. } = svd(map, &settings.spectrum(), Start::Random, exec)?;
    let mut coordinates = without_first(&left, rank, dropped)?;
    scale_columns(&mut coordinates, &values[dropped..], exec)?;
    coordinates = in_order(coordinates)?;
    let signs = signs(&coordinates, settings.n_components);
    scale_columns(&mut coordinates, &signs, exec)?;
    Ok(Coordinates { coordinates, values, residuals, converged })
}

/// A copy without the first columns.
pub(super) fn without_first<T: Real>(block: &[T], cols: usize, dropped: usize) -> Result<Vec<T>> {
    let mut rest = memory::with_capacity(block.len() / cols * (cols - dropped))?;
    block.chunks_exact(cols).for_each(|row| rest.extend_from_slice(&row[dropped..]));
    Ok(rest)
}

/// The sign of each column that makes its entry of largest magnitude positive.
pub(super) fn signs<T: Real>(block: &[T], cols: usize) -> Vec<f64> {
    let mut largest = vec![T::ZERO; cols];
    for row in block.chunks_exact(cols) {
        for (most, &v) in largest.iter_mut().zip(row) {
            if v.to_f64().abs() > most.to_f64().abs() {
                *most = v;
            }
        }
    }
    largest.iter().map(|v| if *v < T::ZERO { -1.0 } else { 1.0 }).collect()
}
