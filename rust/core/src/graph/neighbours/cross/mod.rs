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

mod centres;
mod edges;
mod index;
#[cfg(test)]
mod index_tests;
mod pair;
mod query;
#[cfg(test)]
mod tests;
mod visits;

pub use edges::{ChosenBy, CrossTable, Reach};
pub use index::{CrossIndex, IndexSettings};

use super::metric::Metric;
use super::points::{Features, Placed, Points};
use super::scale::normalize;
use crate::ground::memory;
use crate::{Error, Exec, Real, Result};
use edges::NewRow;
use index::TrainingRows;
use pair::{DensePair, SparsePair};
use query::CrossSearch;
use visits::IndexSearch;

/// Computes the edges from new points to training points; `k` is the number of neighbours in
/// training.
///
/// With an index of the same training points the edges are approximate. Without one they are exact.
pub fn cross_neighbours<T: Real>(
    training: Features<'_, T>,
    reach: Reach<'_>,
    new: Features<'_, f64>,
    k: usize,
    metric: Metric,
    index: Option<&CrossIndex>,
    exec: &Exec,
) -> Result<CrossTable> {
    let n = training.n_rows();
    if k < 1 || k >= n {
        return Err(Error::Invalid(format!("expected between 1 and {} neighbours, got {k}", n.max(1) - 1)));
    }
    Error::check_size("radii", n, reach.radii.len())?;
    Error::check_size("last neighbours", n, reach.last.len())?;
    let rows = match (index, TrainingRows::new(training, metric), new) {
        (Some(index), Some(training), Features::Dense { data, dimension }) => {
            Error::check_size("points of the index", n, index.n_points())?;
            Error::check_size("coordinates of a new point", index.dimension(), dimension)?;
            Error::check_size("coordinates of the index", training.dimension(), dimension)?;
            Error::check_size("neighbours of the index", k, index.k)?;
            near_rows(training, index, reach, data, exec)?
        }
        _ => vec![None; new.n_rows()],
    };
    // Without an index, and far from all training points, new points are compared with all.
    let others: Vec<usize> = (0..rows.len()).filter(|&i| rows[i].is_none()).collect();
    let mut found = rows;
    if !others.is_empty() || found.is_empty() {
        let compared = if others.len() == found.len() {
            all_pairs(training, reach, new, k, metric, |i| i, exec)?
        } else {
            let Features::Dense { data, dimension } = new else { unreachable!("an index has dense points") };
            let data: Vec<f64> = others.iter().flat_map(|&i| &data[i * dimension..][..dimension]).copied().collect();
            let new = Features::Dense { data: &data, dimension };
            all_pairs(training, reach, new, k, metric, |i| others[i], exec)?
        };
        others.iter().zip(compared).for_each(|(&i, row)| found[i] = Some(row));
    }
    CrossTable::new(n, found.into_iter().flatten().collect())
}

/// The edges by the index; None for points that are far from all training points.
fn near_rows<T: Real>(
    training: TrainingRows<'_, T>,
    index: &CrossIndex,
    reach: Reach<'_>,
    new: &[f64],
    exec: &Exec,
) -> Result<Vec<Option<NewRow>>> {
    let search = |new: &[f64]| IndexSearch { index, training, reach, new }.run(exec);
    if !index.metric.is_scale_free() {
        return search(new);
    }
    let mut unit = memory::copy(new)?;
    for (i, row) in unit.chunks_exact_mut(index.dimension()).enumerate() {
        normalize(row, index.metric, i)?;
    }
    search(&unit)
}

/// The exact edges; `row_of` gives the number of a new point in messages.
fn all_pairs<T: Real>(
    training: Features<'_, T>,
    reach: Reach<'_>,
    new: Features<'_, f64>,
    k: usize,
    metric: Metric,
    row_of: impl Fn(usize) -> usize + Sync + Send,
    exec: &Exec,
) -> Result<Vec<NewRow>> {
    let points = Points::new(training, metric, exec)?;
    match (&points, &points.place(new)?) {
        (Points::Dense(points), Placed::Dense(new)) => {
            CrossSearch::new(DensePair::new(*points, new.borrowed(), exec)?, reach, k).run(row_of, exec)
        }
        (Points::Rescaled(points), Placed::Dense(new)) => {
            CrossSearch::new(DensePair::new(points.borrowed(), new.borrowed(), exec)?, reach, k).run(row_of, exec)
        }
        (Points::Sparse(points), Placed::Sparse(new)) => {
            CrossSearch::new(SparsePair { points, new }, reach, k).run(row_of, exec)
        }
        _ => unreachable!("points are placed in the layout of those beside them"),
    }
}
