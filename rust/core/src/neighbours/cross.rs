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
//! Every pair is compared by the exact key of the training search, in blocks that stay in cache: O(M N d) time, and memory
//! for the edges. Each query is its own: nothing of a row depends on the others.

use std::ops::Range;

use super::nearest::Nearest;
use super::points::{Coordinates, DensePoints, Keys, Metric, Placed, Points, SparsePoints, dense_key, sparse_key};
use super::scan::{GROUP, members, which};
use crate::csr::{Csr, RowBlock};
use crate::exec::Exec;
use crate::{Error, Real, Result};

/// Training points that a piece of queries looks at together.
const BLOCK: usize = 256;
/// Queries that one thread takes at a time.
const QUERIES_PER_PIECE: usize = 16;

/// A training point whose features were computed anew differs by rounding, and is then just as likely to lie outside the
/// radius that it defines as inside: radii are widened by this fraction for all but exact copies.
const SLACK: f64 = 1e-9;

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
pub enum Side {
    /// The new point chose the training point.
    Near,
    /// The training point reaches the new one.
    Within,
    /// Both.
    Both,
}

impl Side {
    /// Did the new point choose?
    #[must_use]
    pub fn is_near(self) -> bool {
        self != Self::Within
    }

    /// Does the training point reach?
    #[must_use]
    pub fn is_within(self) -> bool {
        self != Self::Near
    }
}

/// The edges of new points, a row for each.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossTable {
    /// Distances in units of the training search's `2^exponent`; the column is the training point.
    pub distances: Csr<f64>,
    /// Of each entry.
    pub sides: Vec<Side>,
    /// The nearest training point of each new one, itself if it is one.
    pub nearest: Vec<u32>,
    /// The distance to the last that a new point chose: its scale in the adaptive kernel. Where all of them coincide with
    /// it, the distance to the nearest that does not; infinity where there is none.
    pub scales: Vec<f64>,
}

/// The edges from new points to training points; `k` is the number of neighbours in training.
pub fn cross_neighbours<T: Real>(
    training: Coordinates<'_, T>,
    reach: Reach<'_>,
    new: Coordinates<'_, f64>,
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
            Search::new(DensePair { points: *points, new: new.borrowed() }, reach, k).run(exec)
        }
        (Points::Rescaled(points), Placed::Dense(new)) => {
            Search::new(DensePair { points: points.borrowed(), new: new.borrowed() }, reach, k).run(exec)
        }
        (Points::Sparse(points), Placed::Sparse(new)) => Search::new(SparsePair { points, new }, reach, k).run(exec),
        _ => unreachable!("points are placed in the layout of those beside them"),
    }?;
    Ok(table(n, found))
}

fn table(n: usize, found: Vec<Edges>) -> CrossTable {
    let mut block = RowBlock::default();
    let (mut sides, mut nearest, mut scales) = (Vec::new(), Vec::new(), Vec::new());
    for row in found {
        let start = block.indices.len();
        for (column, distance, side) in row.edges {
            block.push(column, distance);
            sides.push(side);
        }
        block.end_row(start);
        nearest.push(row.nearest);
        scales.push(row.scale);
    }
    CrossTable { distances: Csr::from_row_blocks(n, vec![block]), sides, nearest, scales }
}

/// Two sets of points, and the keys from one to the other.
trait Pair: Sync {
    fn n_points(&self) -> usize;
    fn n_new(&self) -> usize;
    fn metric(&self) -> Metric;
    fn key(&self, new: usize, point: usize) -> f64;
}

struct DensePair<'a, T> {
    points: DensePoints<'a, T>,
    new: DensePoints<'a, f64>,
}

impl<T: Real> Pair for DensePair<'_, T> {
    fn n_points(&self) -> usize {
        self.points.len()
    }

    fn n_new(&self) -> usize {
        self.new.len()
    }

    fn metric(&self) -> Metric {
        self.points.metric
    }

    #[inline(always)]
    fn key(&self, new: usize, point: usize) -> f64 {
        dense_key(self.points.metric, self.new.row(new), self.points.row(point))
    }
}

struct SparsePair<'a> {
    points: &'a SparsePoints,
    new: &'a SparsePoints,
}

impl Pair for SparsePair<'_> {
    fn n_points(&self) -> usize {
        self.points.len()
    }

    fn n_new(&self) -> usize {
        self.new.len()
    }

    fn metric(&self) -> Metric {
        self.points.metric()
    }

    fn key(&self, new: usize, point: usize) -> f64 {
        sparse_key(self.points.metric(), self.new.rows.row(new), self.points.rows.row(point))
    }
}

/// What all queries share.
struct Search<'a, P> {
    pair: P,
    reach: Reach<'a>,
    /// The largest key of each radius.
    reach_keys: Vec<f64>,
    k: usize,
}

impl<'a, P: Pair> Search<'a, P> {
    fn new(pair: P, reach: Reach<'a>, k: usize) -> Self {
        let reach_keys = reach.radii.iter().map(|&r| pair.metric().largest_key(widened(r))).collect();
        Self { pair, reach, reach_keys, k }
    }

    fn run(&self, exec: &Exec) -> Result<Vec<Edges>> {
        let n = self.pair.n_points();
        let mut found = vec![Edges::default(); self.pair.n_new()];
        exec.for_pieces(&mut found, QUERIES_PER_PIECE, Vec::new, |first, piece, keys| {
            let mut queries: Vec<_> = (first..first + piece.len()).map(|query| Query::new(query, self.k)).collect();
            for start in (0..n).step_by(BLOCK) {
                exec.check()?;
                for query in &mut queries {
                    let block = start..(start + BLOCK).min(n);
                    pulp::Arch::new().dispatch(Look { search: self, query, block, keys });
                }
            }
            for (row, query) in piece.iter_mut().zip(queries) {
                *row = query.finish(self.reach)?;
            }
            Ok(())
        })?;
        Ok(found)
    }
}

fn widened(radius: f64) -> f64 {
    radius * (1.0 + SLACK)
}

/// A query looks at a block of points; a type, because [`pulp`] cannot compile what a closure calls for each vector width.
struct Look<'a, 'b, P> {
    search: &'a Search<'b, P>,
    query: &'a mut Query,
    block: Range<usize>,
    keys: &'a mut Vec<f64>,
}

impl<P: Pair> pulp::WithSimd for Look<'_, '_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { search, query, block, keys } = self;
        keys.clear();
        keys.extend(block.clone().map(
            #[inline(always)]
            |j| search.pair.key(query.index, j),
        ));
        query.sift(keys, block.start, search.pair.metric(), &search.reach_keys, search.reach.radii);
    }
}

/// One new point on its way through the training points.
struct Query {
    index: usize,
    nearest: Nearest,
    /// Keys above this cannot be among the nearest.
    bound: f64,
    /// Points that reach this one, by ascending index.
    within: Vec<(u32, f64)>,
    /// Smallest key of a point at distance 0, and the first that has it.
    twin: Option<(f64, u32)>,
}

impl Query {
    fn new(index: usize, k: usize) -> Self {
        Self { index, nearest: Nearest::new(k + 1), bound: f64::INFINITY, within: Vec::new(), twin: None }
    }

    /// Takes what is near or within reach.
    #[inline(always)]
    fn sift(&mut self, keys: &[f64], first: usize, metric: Metric, reach_keys: &[f64], radii: &[f64]) {
        let reach_keys = &reach_keys[first..first + keys.len()];
        for from in (0..keys.len()).step_by(GROUP) {
            let group = from..(from + GROUP).min(keys.len());
            let bound = self.bound;
            let passed = which(&keys[group.clone()], &reach_keys[group], |key, reach| (key <= bound) | (key <= reach));
            for c in members(passed).map(|c| from + c) {
                self.take(first + c, keys[c], metric, radii[first + c]);
            }
        }
    }

    fn take(&mut self, point: usize, key: f64, metric: Metric, radius: f64) {
        let (distance, point) = (metric.distance(key), point as u32);
        if self.nearest.offer(distance, point) {
            self.bound = metric.largest_key(self.nearest.bound());
        }
        if distance <= widened(radius) {
            self.within.push((point, distance));
        }
        if distance == 0.0 && self.twin.is_none_or(|(smallest, _)| key < smallest) {
            self.twin = Some((key, point));
        }
    }

    fn finish(self, reach: Reach<'_>) -> Result<Edges> {
        let Self { index, nearest, mut within, twin, .. } = self;
        let nearest_positive = nearest.smallest_positive();
        let mut near = nearest.into_sorted();
        let twin = twin.map(|(_, i)| i);
        let first = twin.or(near.first().map(|&(_, j)| j)).unwrap_or(0);
        if let Some(i) = twin {
            // With more than k others at distance 0 the twin need not be among the first k + 1.
            let place = near.iter().position(|&(_, j)| j == i).unwrap_or(near.len() - 1);
            near.remove(place);
            within.retain(|&(j, d)| {
                let (radius, last) = (reach.radii[j as usize], reach.last[j as usize]);
                j != i && (d < radius || (d == radius && i <= last))
            });
        }
        let farthest = near.last().map_or(0.0, |&(d, _)| d);
        if !farthest.is_finite() {
            return Err(Error::Invalid(format!(
                "row {index} is so far from the training samples that its distances leave the range of a double"
            )));
        }
        let scale = if farthest > 0.0 { farthest } else { nearest_positive };
        let mut edges: Vec<_> = near.into_iter().map(|(d, j)| (j, d, Side::Near)).collect();
        edges.extend(within.into_iter().map(|(j, d)| (j, d, Side::Within)));
        edges.extend(twin.map(|i| (i, 0.0, Side::Both)));
        edges.sort_unstable_by_key(|&(j, _, _)| j);
        edges.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.2 = Side::Both;
            }
            same
        });
        Ok(Edges { edges, nearest: first, scale })
    }
}

/// The edges of one new point, by ascending index.
#[derive(Debug, Clone, Default)]
struct Edges {
    edges: Vec<(u32, f64, Side)>,
    nearest: u32,
    scale: f64,
}

#[cfg(test)]
mod tests {
    use super::super::{Method, NeighbourTable, nearest_neighbours};
    use super::*;

    fn exec() -> Exec {
        Exec::with_threads(2)
    }

    /// A plane lattice in an order of its own, every seventh point twice: ties and duplicates everywhere.
    fn lattice() -> Vec<f64> {
        let order = (0..60).map(|i| (i * 23) % 60);
        order.chain((0..60).step_by(7)).flat_map(|i| [f64::from(i % 8) + 1.0, f64::from(i / 8) - 2.5]).collect()
    }

    fn reach(table: &NeighbourTable) -> (Vec<f64>, Vec<u32>) {
        let last = |i: usize| (i + 1) * table.k - 1;
        let n = table.nearest_positive.len();
        ((0..n).map(|i| table.distances[last(i)]).collect(), (0..n).map(|i| table.indices[last(i)]).collect())
    }

    fn sparse(data: &[f64]) -> Csr<f64> {
        let n = data.len() / 2;
        Csr::new(2, (0..=n as u64).map(|i| 2 * i).collect(), [0, 1].repeat(n), data.to_vec()).unwrap()
    }

    /// The row of `i` as the graph has it: whom it chose, who chose it, and itself.
    fn row_of_graph(table: &NeighbourTable, i: usize) -> Vec<(u32, Side)> {
        let chose = |i: usize, j: usize| table.indices[i * table.k..(i + 1) * table.k].contains(&(j as u32));
        let side = |j: usize| match (i == j || chose(i, j), i == j || chose(j, i)) {
            (true, true) => Some(Side::Both),
            (true, false) => Some(Side::Near),
            (false, true) => Some(Side::Within),
            (false, false) => None,
        };
        (0..table.nearest_positive.len()).filter_map(|j| side(j).map(|side| (j as u32, side))).collect()
    }

    #[test]
    fn training_points_find_their_own_rows() {
        let data = lattice();
        let rows = sparse(&data);
        let n = data.len() / 2;
        for metric in [Metric::Euclidean, Metric::Manhattan, Metric::Cosine] {
            for coordinates in [Coordinates::Dense { data: &data, dimension: 2 }, Coordinates::Sparse(&rows)] {
                for k in [1, 3, 4, 8, n - 1] {
                    let table = nearest_neighbours(coordinates, k, metric, Method::Scan, &exec()).unwrap();
                    let (radii, last) = reach(&table);
                    let reach = Reach { radii: &radii, last: &last };
                    let found = cross_neighbours(coordinates, reach, coordinates, k, metric, &exec()).unwrap();
                    for i in 0..n {
                        let twin = found.nearest[i] as usize;
                        // A lattice holds proportional points; rounding decides which of them are copies.
                        assert!(metric == Metric::Cosine || data[2 * i..2 * i + 2] == data[2 * twin..2 * twin + 2]);
                        let sides = &found.sides[found.distances.range(i)];
                        let row = found.distances.row(i).0.iter().copied().zip(sides.iter().copied());
                        assert_eq!(row.collect::<Vec<_>>(), row_of_graph(&table, twin), "{metric:?} {k} {i}");
                        let scale = if radii[twin] > 0.0 { radii[twin] } else { table.nearest_positive[twin] };
                        assert_eq!(found.scales[i], scale);
                    }
                }
            }
        }
    }

    #[test]
    fn a_new_point_has_one_neighbour_more_and_all_that_reach_it() {
        // 0, 1, 3, 7 with one neighbour each: radii 1, 1, 2, 4.
        let data = [0.0, 1.0, 3.0, 7.0];
        let reach = Reach { radii: &[1.0, 1.0, 2.0, 4.0], last: &[1, 0, 1, 2] };
        let (training, new) = (Coordinates::Dense { data: &data, dimension: 1 }, [2.0, 4.5]);
        let new = Coordinates::Dense { data: &new, dimension: 1 };
        let found = cross_neighbours(training, reach, new, 1, Metric::Euclidean, &exec()).unwrap();
        assert_eq!(found.distances.row(0), (&[1_u32, 2][..], &[1.0, 1.0][..]));
        assert_eq!(found.distances.row(1), (&[2_u32, 3][..], &[1.5, 2.5][..]));
        assert_eq!(found.sides, [Side::Both; 4]);
        assert_eq!((found.nearest, found.scales), (vec![1, 2], vec![1.0, 2.5]));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let data = [0.0, 1.0, 3.0, 7.0];
        let reach = Reach { radii: &[1.0, 1.0, 2.0, 4.0], last: &[1, 0, 1, 2] };
        let training = Coordinates::Dense { data: &data, dimension: 1 };
        let ask = |new: Coordinates<'_, f64>, k| {
            cross_neighbours(training, reach, new, k, Metric::Euclidean, &exec()).unwrap_err().to_string()
        };
        let far = Coordinates::Dense { data: &[0.5, 1e200], dimension: 1 };
        assert!(ask(far, 1).starts_with("row 1 is so far"));
        assert!(ask(far, 4).contains("between 1 and 3 neighbours, got 4"));
        assert!(ask(Coordinates::Dense { data: &[0.5, 1.0], dimension: 2 }, 1).contains("expected 1, got 2"));
        assert!(ask(Coordinates::Sparse(&sparse(&[1.0, 2.0])), 1).contains("same layout"));
    }
}
