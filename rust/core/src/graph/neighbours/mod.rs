//! Nearest neighbours of each point among all others.
//!
//! The exact result is a function of the data alone: distances are computed from differences in
//! double precision, and neighbours are ordered by (distance, index). So the result depends neither
//! on the method nor on the number of threads.
//!
//! | file | idea |
//! |---|---|
//! | `metric` | metrics and the exact comparison key of two points |
//! | `points` | dense and sparse points |
//! | `scale` | rescaling and normalisation of coordinates |
//! | `nearest` | the bounded heap of the nearest points of one query |
//! | `screen` | lower bounds of squared distances by matrix products, with their error bound |
//! | `scan` | all pairs in cache-sized blocks; pairs that pass the screen are compared exactly |
//! | `kd_tree` | a k-d tree for very few dimensions |
//! | `inverted` | sparse points by the columns that they share |
//! | `approximate` | most of the nearest neighbours, for many points |
//! | `cross` | edges from new points to the points of a graph |

mod approximate;
mod cross;
mod inverted;
mod kd_tree;
mod metric;
mod nearest;
mod points;
mod scale;
mod scan;
mod screen;

pub use approximate::ApproximateSettings;
pub use cross::{ChosenBy, CrossIndex, CrossTable, IndexSettings, Reach, cross_neighbours};
pub use metric::Metric;
pub(crate) use metric::sparse_key;
pub use points::Features;

use crate::ground::memory;
use crate::{Error, Exec, Real, Result};
use nearest::NeighbourRow;
use points::{Keys, Points};

/// Up to this many dimensions the tree is faster than the scan (measured: `benches/RESULTS.md`).
const TREE_MAX_DIMENSIONS: usize = 4;
/// The same limit for at least [`TREE_MANY_POINTS`] points.
const TREE_MAX_DIMENSIONS_OF_MANY: usize = 6;
/// From this size on the tree is faster in two more dimensions.
const TREE_MANY_POINTS: usize = 30_000;
/// Below this size all points fit the cache and the scan is fastest.
const TREE_MIN_POINTS: usize = 256;

/// How neighbours are searched; all methods but the last give the same result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Method {
    /// The faster exact method for this size and dimension.
    Auto,
    /// All pairs in blocks.
    Scan,
    /// A k-d tree; dense points only.
    Tree,
    /// By shared columns; sparse points and squared metrics only.
    Columns,
    /// Most of the nearest neighbours, in a time that grows little faster than the number of
    /// points; dense points and squared metrics only.
    Approximate(ApproximateSettings),
}

/// The `k` nearest other points of each point, ordered by (distance, index).
#[derive(Debug, Clone, PartialEq)]
pub struct NeighbourTable {
    /// Number of neighbours of each point.
    pub k: usize,
    /// `n * k` indices.
    pub indices: Vec<u32>,
    /// `n * k` distances, in units of `2^exponent`.
    pub distances: Vec<f64>,
    /// Distance of each point to the nearest point that does not coincide with it; infinity if
    /// there is none.
    pub nearest_positive: Vec<f64>,
    /// Data of extreme scale are rescaled before squaring: the true distance is `distance *
    /// 2^exponent`.
    pub exponent: i32,
}

/// Finds the `k` nearest other points of each point.
pub fn nearest_neighbours<T: Real>(
    coordinates: Features<'_, T>,
    k: usize,
    metric: Metric,
    method: Method,
    exec: &Exec,
) -> Result<NeighbourTable> {
    let n = coordinates.n_rows();
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
        indices: memory::with_capacity(n.saturating_mul(k))?,
        distances: memory::with_capacity(n.saturating_mul(k))?,
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
    fn search(&self, k: usize, method: Method, exec: &Exec) -> Result<Vec<NeighbourRow>> {
        match self {
            Self::Dense(points) => {
                let many = points.len() >= TREE_MANY_POINTS;
                let most = if many { TREE_MAX_DIMENSIONS_OF_MANY } else { TREE_MAX_DIMENSIONS };
                let few = points.dimension() <= most && points.len() >= TREE_MIN_POINTS;
                match method {
                    Method::Approximate(settings) if points.metric().is_squared() => {
                        approximate::search(points, k, &settings, exec)
                    }
                    Method::Tree => kd_tree::search(points, k, exec),
                    Method::Auto if few => kd_tree::search(points, k, exec),
                    _ => scan::search(points, k, exec),
                }
            }
            Self::Rescaled(points) => Points::Dense(points.borrowed()).search(k, method, exec),
            Self::Sparse(points) => {
                let pays = method == Method::Columns || (method == Method::Auto && inverted::pays(points));
                if pays && points.metric().is_squared() {
                    inverted::search(points, k, exec)
                } else {
                    scan::search(points, k, exec)
                }
            }
        }
    }
}
