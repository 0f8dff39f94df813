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

mod edges;
mod pair;
mod query;
#[cfg(test)]
mod tests;

pub use edges::{ChosenBy, CrossTable, Reach};

use super::metric::Metric;
use super::points::{Features, Placed, Points};
use crate::{Error, Exec, Real, Result};
use pair::{DensePair, SparsePair};
use query::CrossSearch;

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
    let n = training.n_rows();
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
    CrossTable::new(n, found)
}
