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

use std::ops::Range;

use mdt_dense::{Accum, MatMut, MatRef, Product as _};

use super::nearest::Nearest;
use super::points::{
    Coordinates, DensePoints, Keys, Metric, Placed, Points, SparsePoints, dense_key, sparse_key, sum_terms,
};
use super::scan::{GROUP, members, which};
use super::screen::gamma;
use crate::ground::csr::{Csr, RowBlock};
use crate::ground::exec::Exec;
use crate::ground::tall::{TallRef, column_means};
use crate::{Error, Real, Result};

/// Training points that a piece of queries looks at together.
const BLOCK: usize = 256;
/// Queries that one thread takes at a time.
const QUERIES_PER_PIECE: usize = 64;

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
            Search::new(DensePair::new(*points, new.borrowed(), exec)?, reach, k).run(exec)
        }
        (Points::Rescaled(points), Placed::Dense(new)) => {
            Search::new(DensePair::new(points.borrowed(), new.borrowed(), exec)?, reach, k).run(exec)
        }
        (Points::Sparse(points), Placed::Sparse(new)) => Search::new(SparsePair { points, new }, reach, k).run(exec),
        _ => unreachable!("points are placed in the layout of those beside them"),
    }?;
    Ok(table(n, found))
}

fn table(n: usize, found: Vec<NewRow>) -> CrossTable {
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
    /// Terms in a key.
    fn dimension(&self) -> usize;
    /// Makes the queries ready for [`Self::lower_bounds`]; false if there are no bounds to be had.
    fn load(&self, _: Range<usize>, _: &mut Panel) -> bool {
        false
    }
    /// `out[q * points + p]`: at most the key of that query and that point, up to [`Search::margin`].
    fn lower_bounds(&self, _: Range<usize>, _: &Panel, _: &mut Panel, _: &mut [f64]) {}
}

/// Centred rows and their squared norms, lowered.
#[derive(Default)]
struct Panel {
    rows: Vec<f64>,
    norms: Vec<f64>,
}

impl Panel {
    #[inline(always)]
    fn fill<T: Real>(&mut self, points: &DensePoints<'_, T>, range: Range<usize>, centre: &[f64]) {
        let d = points.dimension;
        self.rows.resize(range.len() * d, 0.0);
        self.norms.resize(range.len(), 0.0);
        let lowered = 1.0 - gamma::<f64>(d);
        for ((i, row), norm) in range.zip(self.rows.chunks_exact_mut(d)).zip(&mut self.norms) {
            for ((value, v), centre) in row.iter_mut().zip(points.row(i)).zip(centre) {
                *value = v.to_f64() - centre;
            }
            *norm = lowered * sum_terms(d, |k| row[k] * row[k]);
        }
    }
}

struct DensePair<'a, T> {
    points: DensePoints<'a, T>,
    new: DensePoints<'a, f64>,
    /// The mean of the training points; empty where no product bounds a key.
    centre: Vec<f64>,
}

impl<'a, T: Real> DensePair<'a, T> {
    fn new(points: DensePoints<'a, T>, new: DensePoints<'a, f64>, exec: &Exec) -> Result<Self> {
        let centre: Vec<T> =
            if points.metric.is_squared() { column_means(TallRef::new(points.data, points.dimension), exec)? } else { Vec::new() };
        Ok(Self { points, new, centre: centre.into_iter().map(Real::to_f64).collect() })
    }
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

    fn dimension(&self) -> usize {
        self.points.dimension
    }

    fn load(&self, queries: Range<usize>, panel: &mut Panel) -> bool {
        if self.centre.is_empty() {
            return false;
        }
        panel.fill(&self.new, queries, &self.centre);
        true
    }

    #[inline(always)]
    fn lower_bounds(&self, block: Range<usize>, queries: &Panel, scratch: &mut Panel, out: &mut [f64]) {
        scratch.fill(&self.points, block.clone(), &self.centre);
        let (lanes, points, d) = (queries.norms.len(), block.len(), self.points.dimension);
        let left = MatRef::from_row_major_slice(&queries.rows, lanes, d);
        let right = MatRef::from_row_major_slice(&scratch.rows, points, d).transpose();
        f64::multiply(MatMut::from_row_major_slice_mut(out, lanes, points), Accum::Replace, left, right, -2.0);
        for (row, own) in out.chunks_exact_mut(points).zip(&queries.norms) {
            for (value, norm) in row.iter_mut().zip(&scratch.norms) {
                let bound = *value + (own + norm);
                // Where squares leave the range nothing is known.
                *value = if bound.is_nan() { f64::NEG_INFINITY } else { bound };
            }
        }
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

    fn dimension(&self) -> usize {
        self.points.dimension() + self.new.dimension()
    }
}

/// What all queries share.
struct Search<'a, P> {
    pair: P,
    reach: Reach<'a>,
    /// A pair whose bound is above this is out of the point's reach.
    reach_bounds: Vec<f64>,
    k: usize,
    /// Relative and absolute margin of a bound: roundings of the exact key, and squares that vanish.
    margin: (f64, f64),
}

impl<'a, P: Pair> Search<'a, P> {
    fn new(pair: P, reach: Reach<'a>, k: usize) -> Self {
        let d = pair.dimension();
        let margin = (gamma::<f64>(d), 8.0 * d as f64 * f64::MIN_POSITIVE + pair.metric().largest_key(0.0));
        let mut search = Self { pair, reach, reach_bounds: Vec::new(), k, margin };
        search.reach_bounds = reach.radii.iter().map(|&r| search.bound(widened(r))).collect();
        search
    }

    /// A pair whose bound is above this is farther apart than `distance`.
    fn bound(&self, distance: f64) -> f64 {
        self.pair.metric().largest_key(distance) * (1.0 + self.margin.0) + self.margin.1
    }

    fn run(&self, exec: &Exec) -> Result<Vec<NewRow>> {
        let n = self.pair.n_points();
        let mut found = vec![NewRow::default(); self.pair.n_new()];
        exec.for_pieces(&mut found, QUERIES_PER_PIECE, Scratch::default, |first, piece, scratch| {
            let own = first..first + piece.len();
            let mut queries: Vec<_> = own.clone().map(|query| Query::new(query, self.k)).collect();
            scratch.values.resize(piece.len() * BLOCK, 0.0);
            let screened = self.pair.load(own, &mut scratch.queries);
            for start in (0..n).step_by(BLOCK) {
                exec.check()?;
                let block = start..(start + BLOCK).min(n);
                pulp::Arch::new().dispatch(Look { search: self, queries: &mut queries, block, screened, scratch });
            }
            for (row, query) in piece.iter_mut().zip(queries) {
                *row = query.finish(self.reach)?;
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Buffers of one thread.
#[derive(Default)]
struct Scratch {
    queries: Panel,
    points: Panel,
    values: Vec<f64>,
}

fn widened(radius: f64) -> f64 {
    radius * (1.0 + SLACK)
}

/// Queries look at a block of points; a type, because [`pulp`] cannot compile what a closure calls for each vector width.
struct Look<'a, 'b, P> {
    search: &'a Search<'b, P>,
    queries: &'a mut [Query],
    block: Range<usize>,
    screened: bool,
    scratch: &'a mut Scratch,
}

impl<P: Pair> pulp::WithSimd for Look<'_, '_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { search, queries, block, screened, scratch } = self;
        let values = &mut scratch.values[..queries.len() * block.len()];
        if screened {
            search.pair.lower_bounds(block.clone(), &scratch.queries, &mut scratch.points, values);
        } else {
            for (query, row) in queries.iter().zip(values.chunks_exact_mut(block.len())) {
                for (value, j) in row.iter_mut().zip(block.clone()) {
                    *value = search.pair.key(query.index, j);
                }
            }
        }
        for (query, row) in queries.iter_mut().zip(values.chunks_exact(block.len())) {
            query.sift(search, row, block.start);
        }
    }
}

/// One new point on its way through the training points.
struct Query {
    index: usize,
    nearest: Nearest,
    /// A point whose bound is above this is not among the nearest.
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

    /// Takes what is near or within reach; `values` are keys of the points from `first` on, or bounds of them.
    #[inline(always)]
    fn sift<P: Pair>(&mut self, search: &Search<'_, P>, values: &[f64], first: usize) {
        let reach_bounds = &search.reach_bounds[first..first + values.len()];
        for from in (0..values.len()).step_by(GROUP) {
            let group = from..(from + GROUP).min(values.len());
            let bound = self.bound;
            let passes = |value: f64, reach: f64| value <= reach.max(bound);
            for c in members(which(&values[group.clone()], &reach_bounds[group], passes)) {
                self.take(search, first + from + c);
            }
        }
    }

    #[inline(always)]
    fn take<P: Pair>(&mut self, search: &Search<'_, P>, point: usize) {
        let key = search.pair.key(self.index, point);
        let (distance, radius) = (search.pair.metric().distance(key), search.reach.radii[point]);
        let point = point as u32;
        if self.nearest.offer(distance, point) {
            self.bound = search.bound(self.nearest.bound());
        }
        if distance <= widened(radius) {
            self.within.push((point, distance));
        }
        if distance == 0.0 && self.twin.is_none_or(|(smallest, _)| key < smallest) {
            self.twin = Some((key, point));
        }
    }

    fn finish(self, reach: Reach<'_>) -> Result<NewRow> {
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
        Ok(NewRow { edges, nearest: first, scale })
    }
}

/// The edges of one new point, by ascending index.
#[derive(Debug, Clone, Default)]
struct NewRow {
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
