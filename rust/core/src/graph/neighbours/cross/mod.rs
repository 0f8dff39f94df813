//! Edges from new points to the points of a neighbour graph.
//!
//! A row of a symmetric neighbour graph holds the points that `i` chose and the points that chose
//! `i`. So a new point `x` has edges to its `k + 1` nearest training points and to every `j` with
//! `d(x, x_j) <= r_j`, where `r_j` is the distance of the `k`-th neighbour of `j`. Why `k + 1`: if
//! `x` approaches a training point `i`, the nearest one becomes `i` itself and the others its `k`
//! neighbours, so the row of `x` tends to the row of `i`.
//!
//! **Duplicates.** If `x` coincides with training points, it gets exactly the row of the first of
//! them, `i`: the edge to `i` is the self-loop, `i` is not among its own `k` neighbours, and `j`
//! chose `i` if `(d, i) <= (r_j, last_j)`, where `last_j` is the index of the `k`-th neighbour of
//! `j`. "First" refers to (key, index): proportional rows have cosine distance 0 without being
//! equal, and a training point given again must find itself.
//!
//! Distances are the exact keys of the training search. Dense points under squared metrics are
//! screened by products in double precision, with the error bound of `screen`. A block of training
//! points is centred when it is needed, so the training data are not copied. Time: O(m n d) for `m`
//! new points. Memory: the edges. Rows are independent of each other.

mod pair;
mod query;
#[cfg(test)]
mod tests;

use super::metric::Metric;
use super::points::{Features, Placed, Points};
use crate::ground::csr::{Csr, RowBlock};
use crate::ground::exec::Exec;
use crate::{Error, Real, Result};
use pair::{DensePair, SparsePair};
use query::{CrossSearch, NewRow};

/// The `k`-th neighbour of each training point.
#[derive(Debug, Clone, Copy)]
pub struct Reach<'a> {
    /// Its distance, in the units of the training search.
    pub radii: &'a [f64],
    /// Its index.
    pub last: &'a [u32],
}

/// Which of the two points of an edge chose the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChosenBy {
    /// The new point chose the training point.
    NewPoint,
    /// The training point chose the new point.
    TrainingPoint,
    /// Both points chose each other.
    Both,
}

impl ChosenBy {
    /// True if the new point chose the training point.
    #[must_use]
    pub fn by_new_point(self) -> bool {
        self != Self::TrainingPoint
    }

    /// True if the training point chose the new point.
    #[must_use]
    pub fn by_training_point(self) -> bool {
        self != Self::NewPoint
    }
}

/// The edges of new points.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossTable {
    /// One row for each new point, one column for each training point; distances in units of
    /// `2^exponent` of the training search.
    pub distances: Csr<f64>,
    /// For each entry, which of the two points chose the other.
    pub chosen_by: Vec<ChosenBy>,
    /// The nearest training point of each new point; for a duplicate, the training point it equals.
    pub nearest: Vec<u32>,
    /// Distance from each new point to the last point that it chose, its bandwidth in the adaptive
    /// kernel.
    ///
    /// If all chosen points coincide with the new point, the distance to the nearest distinct
    /// point; infinity if there is none.
    pub scales: Vec<f64>,
}

/// Computes the edges from new points to training points; `k` is the number of neighbours in
/// training.
pub fn cross_neighbours<T: Real>(
    training: Features<'_, T>,
    reach: Reach<'_>,
    new: Features<'_, f64>,
    k: usize,
    metric: Metric,
    exec: &Exec,
) -> Result<CrossTable> {
    let n = training.len();
    if k < 1 || k >= n {
        return Err(Error::Invalid(format!("expected between 1 and {} neighbours, got {k}", n.max(1) - 1)));
    }
    Error::check_size("radii", n, reach.radii.len())?;
    Error::check_size("last neighbours", n, reach.last.len())?;
    let points = Points::new(training, metric, exec)?;
    let found = match (&points, &points.place(new)?) {
        (Points::Dense(points), Placed::Dense(new)) => {
            CrossSearch::new(DensePair::new(*points, new.borrowed(), exec)?, reach, k).run(exec)
        }
        (Points::Rescaled(points), Placed::Dense(new)) => {
            CrossSearch::new(DensePair::new(points.borrowed(), new.borrowed(), exec)?, reach, k).run(exec)
        }
        (Points::Sparse(points), Placed::Sparse(new)) => {
            CrossSearch::new(SparsePair { points, new }, reach, k).run(exec)
        }
        _ => unreachable!("points are placed in the layout of those beside them"),
    }?;
    Ok(table(n, found))
}

fn table(n: usize, found: Vec<NewRow>) -> CrossTable {
    let mut block = RowBlock::default();
    let (mut chosen_by, mut nearest, mut scales) = (Vec::new(), Vec::new(), Vec::new());
    for row in found {
        let start = block.indices.len();
        for (column, distance, chooser) in row.edges {
            block.push(column, distance);
            chosen_by.push(chooser);
        }
        block.end_row(start);
        nearest.push(row.nearest);
        scales.push(row.scale);
    }
    CrossTable { distances: Csr::from_row_blocks(n, vec![block]), chosen_by, nearest, scales }
}
