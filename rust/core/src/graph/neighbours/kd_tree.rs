//! Nearest neighbours by a k-d tree, for very few dimensions.
//!
//! Boxes are cut at the median of their widest side; points are stored in leaf order. A box is
//! skipped if its lower bound is *above* the distance of the query's last neighbour. The bound sums
//! the same terms in the same order as the exact key, and rounding is monotone, so no tie is lost.
//! Cost: O(n log n) for the tree and about O(k + log n) a query in few dimensions.
//!
//! References: Bentley 1975, doi:10.1145/361002.361007; Friedman, Bentley and Finkel 1977,
//! doi:10.1145/355744.355745.

use super::metric::{dense_key, key_of};
use super::nearest::{Nearest, NeighbourRow};
use super::points::{DensePoints, Keys};
use crate::ground::memory;
use crate::{Exec, Real, Result};

/// Largest number of points in a leaf.
const LEAF: usize = 16;
/// Queries that one thread processes at a time.
const QUERIES_PER_PIECE: usize = 512;

/// A box of points; leaves have no halves.
struct KdNode {
    points: std::ops::Range<usize>,
    halves: Option<(usize, usize)>,
    /// True if all points of the box coincide.
    is_point: bool,
}

struct KdTree<'a, T> {
    points: DensePoints<'a, T>,
    /// Index of the point at each place of the leaf order; ascending within a leaf.
    order: Vec<u32>,
    /// Coordinates in leaf order.
    data: Vec<f64>,
    nodes: Vec<KdNode>,
    /// Lower and upper corner of each node.
    corners: Vec<f64>,
}

/// Finds the `k` nearest other points of each point.
pub(super) fn search<T: Real>(points: &DensePoints<'_, T>, k: usize, exec: &Exec) -> Result<Vec<NeighbourRow>> {
    let tree = KdTree::new(*points, exec)?;
    // Consecutive queries in leaf order visit the same boxes.
    let mut in_leaf_order = vec![NeighbourRow::default(); points.len()];
    exec.for_pieces(&mut in_leaf_order, QUERIES_PER_PIECE, Vec::new, |first, piece, stack| {
        for (s, row) in piece.iter_mut().enumerate() {
            *row = tree.query(first + s, k, stack).into();
            if s % 64 == 0 {
                exec.check()?;
            }
        }
        Ok(())
    })?;
    let mut found = vec![NeighbourRow::default(); points.len()];
    for (row, &original) in in_leaf_order.into_iter().zip(&tree.order) {
        found[original as usize] = row;
    }
    Ok(found)
}

impl<'a, T: Real> KdTree<'a, T> {
    fn new(points: DensePoints<'a, T>, exec: &Exec) -> Result<Self> {
        let n = points.len();
        let order = (0..n as u32).collect();
        let mut tree = Self { points, order, data: Vec::new(), nodes: Vec::new(), corners: Vec::new() };
        tree.split(0..n, exec)?;
        tree.data = memory::with_capacity(points.data.len())?;
        tree.order.iter().for_each(|&i| tree.data.extend(points.row(i as usize).iter().map(|v| v.to_f64())));
        Ok(tree)
    }

    /// Builds the node of a range of points with its descendants; returns its index.
    fn split(&mut self, range: std::ops::Range<usize>, exec: &Exec) -> Result<usize> {
        exec.check()?;
        let d = self.points.dimension;
        let (mut lower, mut upper) = (vec![f64::INFINITY; d], vec![f64::NEG_INFINITY; d]);
        for &i in &self.order[range.clone()] {
            for (k, v) in self.points.row(i as usize).iter().enumerate() {
                lower[k] = lower[k].min(v.to_f64());
                upper[k] = upper[k].max(v.to_f64());
            }
        }
        let widest = (0..d).max_by(|&a, &b| (upper[a] - lower[a]).total_cmp(&(upper[b] - lower[b]))).unwrap_or(0);
        let is_point = upper[widest] == lower[widest];
        self.corners.extend(lower);
        self.corners.extend(upper);
        let index = self.nodes.len();
        self.nodes.push(KdNode { points: range.clone(), halves: None, is_point });
        if range.len() <= LEAF || is_point {
            self.order[range].sort_unstable();
            return Ok(index);
        }
        let points = self.points;
        let coordinate = |i: u32| points.row(i as usize)[widest].to_f64();
        let middle = range.len() / 2;
        self.order[range.clone()]
            .select_nth_unstable_by(middle, |&a, &b| coordinate(a).total_cmp(&coordinate(b)).then(a.cmp(&b)));
        let cut = range.start + middle;
        let left = self.split(range.start..cut, exec)?;
        let right = self.split(cut..range.end, exec)?;
        self.nodes[index].halves = Some((left, right));
        Ok(index)
    }

    fn row(&self, position: usize) -> &[f64] {
        &self.data[position * self.points.dimension..(position + 1) * self.points.dimension]
    }

    /// The smallest possible key of a point in this box.
    fn lower_bound(&self, node: usize, x: &[f64]) -> f64 {
        let d = self.points.dimension;
        let (lower, upper) = self.corners[2 * node * d..2 * (node + 1) * d].split_at(d);
        key_of(self.points.metric, d, |k| (lower[k] - x[k]).max(x[k] - upper[k]).max(0.0))
    }

    fn query(&self, position: usize, k: usize, stack: &mut Vec<(f64, usize)>) -> Nearest {
        let x = self.row(position);
        let mut nearest = Nearest::new(k);
        stack.push((0.0, 0));
        while let Some((bound, node)) = stack.pop() {
            if bound > self.points.metric.largest_key(nearest.bound()) {
                continue;
            }
            let Some((left, right)) = self.nodes[node].halves else {
                self.visit_leaf(&self.nodes[node], position, x, &mut nearest);
                continue;
            };
            let mut halves = [(self.lower_bound(left, x), left), (self.lower_bound(right, x), right)];
            if halves[0].0 < halves[1].0 {
                halves.swap(0, 1);
            }
            stack.extend(halves);
        }
        nearest
    }

    fn visit_leaf(&self, leaf: &KdNode, position: usize, x: &[f64], nearest: &mut Nearest) {
        for other in leaf.points.clone().filter(|&other| other != position) {
            let y = self.row(other);
            let key = dense_key(self.points.metric, x, y);
            let changed = nearest.offer(self.points.metric.distance(key), self.order[other]);
            // Coinciding points are ordered by index: once one is refused, all later ones are.
            if leaf.is_point && !changed {
                break;
            }
        }
    }
}
