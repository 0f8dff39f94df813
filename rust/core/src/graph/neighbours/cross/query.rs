//! Comparison of new points with all training points.

use std::ops::Range;

use super::edges::{ChosenBy, NewRow, Reach};
use super::pair::{CentredBlock, Pair};
use crate::graph::neighbours::metric::Metric;
use crate::graph::neighbours::nearest::Nearest;
use crate::graph::neighbours::scan::{GROUP, set_bits, which};
use crate::graph::neighbours::screen::gamma;
use crate::{Error, Exec, Result};

/// Number of training points in a block.
const BLOCK: usize = 256;
/// Queries that one thread processes at a time.
const QUERIES_PER_PIECE: usize = 64;

/// Relative widening of the radii, except for exact duplicates.
///
/// Recomputed features of a training point differ by rounding, and then lie outside as often as
/// inside the radii that the point defines.
const SLACK: f64 = 1e-9;

/// What all queries share.
pub(super) struct CrossSearch<'a, P> {
    pair: P,
    reach: Reach<'a>,
    /// A point with a larger lower bound is outside the radius of this training point.
    reach_bounds: Vec<f64>,
    k: usize,
    /// Rounding errors of the exact key and squares that underflow.
    margin: Margin,
}

struct Margin {
    relative: f64,
    absolute: f64,
}

impl<'a, P: Pair> CrossSearch<'a, P> {
    pub fn new(pair: P, reach: Reach<'a>, k: usize) -> Self {
        let d = pair.dimension();
        let absolute = 8.0 * d as f64 * f64::MIN_POSITIVE + pair.metric().largest_key(0.0);
        let margin = Margin { relative: gamma::<f64>(d), absolute };
        let mut search = Self { pair, reach, reach_bounds: Vec::new(), k, margin };
        search.reach_bounds = reach.radii.iter().map(|&r| search.bound(widened(r))).collect();
        search
    }

    /// Pairs with a larger lower bound are farther apart than `distance`.
    fn bound(&self, distance: f64) -> f64 {
        self.pair.metric().largest_key(distance) * (1.0 + self.margin.relative) + self.margin.absolute
    }

    /// Returns the edges of each new point; `row_of` gives its number in messages.
    pub fn run(&self, row_of: impl Fn(usize) -> usize + Sync + Send, exec: &Exec) -> Result<Vec<NewRow>> {
        let n = self.pair.n_points();
        let mut found = vec![NewRow::default(); self.pair.n_new()];
        exec.for_pieces(&mut found, QUERIES_PER_PIECE, QueryScratch::default, |first, piece, scratch| {
            let own = first..first + piece.len();
            let mut queries: Vec<_> = own.clone().map(|query| Query::new(query, self.k)).collect();
            scratch.values.resize(piece.len() * BLOCK, 0.0);
            let screened = self.pair.load(own, &mut scratch.queries);
            for start in (0..n).step_by(BLOCK) {
                exec.check()?;
                compare_block(self, &mut queries, start..(start + BLOCK).min(n), screened, scratch);
            }
            for (row, query) in piece.iter_mut().zip(queries) {
                let index = query.index;
                *row = query.edges.finish(self.reach, row_of(index))?;
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// Buffers of one thread.
#[derive(Default)]
struct QueryScratch {
    queries: CentredBlock,
    points: CentredBlock,
    values: Vec<f64>,
}

pub(super) fn widened(radius: f64) -> f64 {
    radius * (1.0 + SLACK)
}

/// Compares queries with a block of points.
#[pulp::with_simd(compare_block = pulp::Arch::new())]
#[inline(always)]
fn compare_block_simd<S: pulp::Simd, P: Pair>(
    _: S,
    search: &CrossSearch<'_, P>,
    queries: &mut [Query],
    block: Range<usize>,
    screened: bool,
    scratch: &mut QueryScratch,
) {
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
        query.filter(search, row, block.start);
    }
}

/// One new point.
struct Query {
    index: usize,
    edges: FoundEdges,
    /// Points with a larger lower bound are not among the nearest.
    bound: f64,
}

impl Query {
    fn new(index: usize, k: usize) -> Self {
        Self { index, edges: FoundEdges::new(k), bound: f64::INFINITY }
    }

    /// Adds points that are near or whose radius contains this one; `values` are keys or lower
    /// bounds of the points from `first` on.
    #[inline(always)]
    fn filter<P: Pair>(&mut self, search: &CrossSearch<'_, P>, values: &[f64], first: usize) {
        let reach_bounds = &search.reach_bounds[first..first + values.len()];
        for from in (0..values.len()).step_by(GROUP) {
            let group = from..(from + GROUP).min(values.len());
            let bound = self.bound;
            let passes = |value: f64, reach: f64| value <= reach.max(bound);
            for c in set_bits(which(&values[group.clone()], &reach_bounds[group], passes)) {
                let point = first + from + c;
                let key = search.pair.key(self.index, point);
                if self.edges.offer(key, point as u32, search.pair.metric(), search.reach) {
                    self.bound = search.bound(self.edges.bound());
                }
            }
        }
    }
}

/// The edges of a new point that are known so far; the result does not depend on the order of the
/// offers.
pub(super) struct FoundEdges {
    nearest: Nearest,
    /// Training points whose radius contains this point.
    within: Vec<(u32, f64)>,
    /// Smallest key of a training point at distance 0, and the first point with this key.
    duplicate: Option<(f64, u32)>,
}

impl FoundEdges {
    pub fn new(k: usize) -> Self {
        Self { nearest: Nearest::new(k + 1), within: Vec::new(), duplicate: None }
    }

    /// Offers a point; returns true if [`Self::bound`] may have changed. No point may be offered
    /// twice.
    #[inline(always)]
    pub fn offer(&mut self, key: f64, point: u32, metric: Metric, reach: Reach<'_>) -> bool {
        let distance = metric.distance(key);
        if distance <= widened(reach.radii[point as usize]) {
            self.within.push((point, distance));
        }
        if distance == 0.0 && self.duplicate.is_none_or(|first| (key, point) < first) {
            self.duplicate = Some((key, point));
        }
        self.nearest.offer(distance, point)
    }

    /// Points farther than this are not among the nearest.
    pub fn bound(&self) -> f64 {
        self.nearest.bound()
    }

    /// The edges; `row` is the number of the new point in messages.
    pub fn finish(self, reach: Reach<'_>, row: usize) -> Result<NewRow> {
        let Self { nearest, mut within, duplicate } = self;
        let nearest_positive = nearest.smallest_positive();
        let mut near = nearest.into_sorted();
        let duplicate = duplicate.map(|(_, i)| i);
        let first = duplicate.or(near.first().map(|&(_, j)| j)).unwrap_or(0);
        if let Some(i) = duplicate {
            // With more than k other points at distance 0 the duplicate may be missing in the first
            // k + 1.
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
                "row {row} is so far from the training samples that its distances leave the range of a double"
            )));
        }
        let scale = if farthest > 0.0 { farthest } else { nearest_positive };
        let mut edges: Vec<_> = near.into_iter().map(|(d, j)| (j, d, ChosenBy::NewPoint)).collect();
        edges.extend(within.into_iter().map(|(j, d)| (j, d, ChosenBy::TrainingPoint)));
        edges.extend(duplicate.map(|i| (i, 0.0, ChosenBy::Both)));
        edges.sort_unstable_by_key(|&(j, _, _)| j);
        edges.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.2 = ChosenBy::Both;
            }
            same
        });
        Ok(NewRow { edges, nearest: first, scale })
    }
}
