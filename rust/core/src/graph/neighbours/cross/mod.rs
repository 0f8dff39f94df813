//! From new points to the points of a graph.
//!
//! A row of a symmetric neighbour graph holds the points that `i` chose and those that chose `i`. So a new point `x` gets
//! two kinds of edges: to its `k + 1` nearest training points, and to every `j` whose `k`-th neighbour is no nearer than `x` is:
//! `d(x, x_j) <= r_j` (see [`SLACK`]). Why `k + 1`: as `x` moves to a training point `i`, the nearest of them becomes `i` itself and the others
//! its `k` neighbours, so the row of `x` tends to the row of `i`.
//!
//! **Twins.** Where `x` coincides with training points it must get the row of one of them to the last edge, although a graph
//! breaks ties by (distance, index) and `x` has no index. It takes the place of the first of them, `i`: the edge to `i` is the
//! self-loop, `i` does not count among its own `k` neighbours, and `j` chose `i` just when `(d, i) <= (r_j, last_j)`, `last_j` the
//! index of the `k`-th neighbour of `j`. "First" is by (key, index): proportional rows are at cosine distance 0 from each other
//! without being equal, and a training point given again must find itself. Copies of one point cannot be told apart: all get
//! the row of the first copy.
//!
//! Distances are the exact keys of the training search. Dense points under squared metrics are screened first by matrix
//! products in double precision, block by block (the bound is that of `screen`; a centred block is made when it is needed
//! and shared by the queries of a piece, so training data are not copied); everything else is compared exactly. O(M N d)
//! time, memory for the edges. Each query is its own: nothing of a row depends on the others.

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

/// How far each training point reaches: its `k`-th neighbour.
#[derive(Debug, Clone, Copy)]
pub struct Reach<'a> {
    /// Its distance, in the units of the training search.
    pub radii: &'a [f64],
    /// Its index.
    pub last: &'a [u32],
}

/// Which of the two chose the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChosenBy {
    /// The new point chose the training point.
    NewPoint,
    /// The training point reaches the new one.
    TrainingPoint,
    /// Both.
    Both,
}

impl ChosenBy {
    /// Did the new point choose?
    #[must_use]
    pub fn by_new_point(self) -> bool {
        self != Self::TrainingPoint
    }

    /// Does the training point reach?
    #[must_use]
    pub fn by_training_point(self) -> bool {
        self != Self::NewPoint
    }
}

/// The edges of new points, a row for each.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossTable {
    /// Distances in units of the training search's `2^exponent`; the column is the training point.
    pub distances: Csr<f64>,
    /// Of each entry.
    pub chosen_by: Vec<ChosenBy>,
    /// The nearest training point of each new one, itself if it is one.
    pub nearest: Vec<u32>,
    /// The distance to the last that a new point chose: its scale in the adaptive kernel. Where all of them coincide with
    /// it, the distance to the nearest that does not; infinity where there is none.
    pub scales: Vec<f64>,
}

/// The edges from new points to training points; `k` is the number of neighbours in training.
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
