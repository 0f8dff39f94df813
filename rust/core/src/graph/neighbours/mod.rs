//! Exact nearest neighbours of every point among all others.
//!
//! The answer is a function of the data alone: distances are computed from coordinate differences in double precision
//! and candidates are ordered by (distance, index), so neither the method nor the number of threads shows in it.
//!
//! | file | idea |
//! |---|---|
//! | `points` | coordinates, dense or sparse, and the exact comparison key of two points |
//! | `nearest` | the bounded heap of the best candidates of one query |
//! | `screen` | cheap lower bounds of squared distances by matrix products, with their error bound |
//! | `scan` | all pairs in cache-sized blocks; only what passes the screen is compared exactly |
//! | `tree` | a k-d tree for very few dimensions |
//! | `cross` | from new points to those of a graph: whom they choose, and who would have chosen them |

mod approximate;
mod cross;
mod nearest;
mod points;
mod scan;
mod screen;
mod tree;

pub use approximate::Effort;
pub use cross::{CrossTable, Reach, Side, cross_neighbours};
pub use points::{Coordinates, Metric};

use crate::ground::exec::Exec;
use crate::{Error, Real, Result};
use nearest::Found;
use points::{Keys, Points};

/// Up to this many dimensions the tree beats the blocked scan (measured: `benches/RESULTS.md`).
const TREE_MAX_DIMENSIONS: usize = 4;
/// And up to this many where there are at least [`TREE_MANY_POINTS`].
const TREE_MAX_DIMENSIONS_OF_MANY: usize = 6;
/// From here on the tree's better growth outweighs two more dimensions.
const TREE_MANY_POINTS: usize = 30_000;
/// Below this many points a scan fits the cache and nothing beats it.
const TREE_MIN_POINTS: usize = 256;

/// How to look for neighbours; all methods but the last give the same answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// The faster of the two for this size and dimension.
    Auto,
    /// All pairs in blocks.
    Scan,
    /// A k-d tree (dense coordinates only).
    Tree,
    /// Most of the nearest neighbours, in time that grows little faster than the number of points (dense coordinates and
    /// squared distances only).
    Approximate(Effort),
}

/// The `k` nearest other points of each point, in order of (distance, index).
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourTable {
    /// Number of neighbours of each point.
    pub k: usize,
    /// `n * k` indices.
    pub indices: Vec<u32>,
    /// `n * k` distances, in units of `2^exponent`.
    pub distances: Vec<f64>,
    /// Distance of each point to the nearest other that does not coincide with it; infinity where there is none.
    pub nearest_positive: Vec<f64>,
    /// Data of extreme scale are rescaled by a power of two before squaring; true distances are `distance * 2^exponent`.
    pub exponent: i32,
}

/// The `k` nearest other points of every point.
pub fn nearest_neighbours<T: Real>(
    coordinates: Coordinates<'_, T>,
    k: usize,
    metric: Metric,
    method: Method,
    exec: &Exec,
) -> Result<NeighbourTable> {
    let n = coordinates.len();
    if k < 1 || k >= n {
        return Err(Error::Invalid(format!(
            "expected between 1 and {} neighbours for {n} points, got {k}",
            n.max(1) - 1
        )));
    }
    let points = Points::new(coordinates, metric, exec)?;
    let exponent = points.exponent();
    let found = points.search(k, method, exec)?;
    let mut table = NeighbourTable {
        k,
        indices: Vec::with_capacity(n * k),
        distances: Vec::with_capacity(n * k),
        nearest_positive: Vec::with_capacity(n),
        exponent,
    };
    for row in found {
        for (distance, index) in row.neighbours {
            table.indices.push(index);
            table.distances.push(distance);
        }
        table.nearest_positive.push(row.nearest_positive);
    }
    Ok(table)
}

impl<T: Real> Points<'_, T> {
    fn search(&self, k: usize, method: Method, exec: &Exec) -> Result<Vec<Found>> {
        match self {
            Self::Dense(points) => {
                let many = points.len() >= TREE_MANY_POINTS;
                let most = if many { TREE_MAX_DIMENSIONS_OF_MANY } else { TREE_MAX_DIMENSIONS };
                let few = points.dimension() <= most && points.len() >= TREE_MIN_POINTS;
                match method {
                    Method::Approximate(effort) if points.metric().is_squared() => {
                        approximate::search(points, k, &effort, exec)
                    }
                    Method::Tree => tree::search(points, k, exec),
                    Method::Auto if few => tree::search(points, k, exec),
                    _ => scan::search(points, k, exec),
                }
            }
            Self::Rescaled(points) => Points::Dense(points.borrowed()).search(k, method, exec),
            Self::Sparse(points) => scan::search(points, k, exec),
        }
    }
}
