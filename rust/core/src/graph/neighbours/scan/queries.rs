//! The candidates of a block of queries.

use std::ops::Range;

use super::groups::{GROUP, set_bits, which};
use crate::Real;
use crate::graph::neighbours::nearest::{Nearest, NeighbourRow};
use crate::graph::neighbours::points::Keys;
use crate::graph::neighbours::screen::Bounds;

/// A block of queries; for each query, the points that may be among its nearest.
///
/// An exact comparison of every point that passes the screen would compare about `k ln(n / k)`
/// points a query. Instead, points that pass are stored as candidates. When the list is full, the
/// `k`-th smallest upper bound lowers the threshold and most candidates are dropped. At the end
/// little more than `k` candidates are compared exactly.
pub(super) struct Queries<E> {
    pub first: usize,
    k: usize,
    /// For each query: a point with a larger screened value is not among the nearest.
    thresholds: Vec<E>,
    /// Points that passed and are not compared yet; [`capacity`] places for each query.
    candidates: Vec<(E, u32)>,
    /// Number of candidates of each query.
    lengths: Vec<usize>,
    /// Points that have been compared exactly.
    nearest: Vec<Nearest>,
    /// Buffer for the upper bounds of one query's candidates.
    uppers: Vec<f64>,
}

impl<E: Real> Queries<E> {
    pub fn new(queries: Range<usize>, k: usize) -> Self {
        let n = queries.len();
        Self {
            first: queries.start,
            k,
            thresholds: vec![E::INFINITY; n],
            candidates: vec![(E::ZERO, 0); n * capacity(k)],
            lengths: vec![0; n],
            nearest: vec![Nearest::new(k); n],
            uppers: Vec::with_capacity(capacity(k)),
        }
    }

    pub fn len(&self) -> usize {
        self.thresholds.len()
    }

    pub fn range(&self) -> Range<usize> {
        self.first..self.first + self.len()
    }

    /// Filters the other points of the queries' own block.
    #[inline(always)]
    fn start(&mut self, points: &impl Keys, bounds: &Bounds<E>, products: &[E]) {
        let two = E::ONE + E::ONE;
        let norms = &bounds.norms[self.range()];
        let mut values = vec![E::ZERO; norms.len()];
        let mut minima = Vec::new();
        for (lane, row) in products.chunks_exact(norms.len()).enumerate() {
            for ((value, &p), &norm) in values.iter_mut().zip(row).zip(norms) {
                *value = norm - two * p;
            }
            values[lane] = E::INFINITY;
            self.lower_to_kth_minimum(bounds, lane, &values, &mut minima);
            for from in (0..values.len()).step_by(GROUP) {
                let group = &values[from..(from + GROUP).min(values.len())];
                let passed = which(group, group, |value, _| value <= self.thresholds[lane]);
                for c in set_bits(passed) {
                    if from + c != lane {
                        self.add(points, bounds, lane, self.first + from + c, group[c]);
                    }
                }
            }
        }
    }

    /// Lowers a threshold to an upper bound of the `k`-th smallest value of a block, without
    /// sorting.
    ///
    /// The values are divided into more than `k` groups; at least `k` values are not above the
    /// `k`-th smallest minimum of a group.
    #[inline(always)]
    fn lower_to_kth_minimum(&mut self, bounds: &Bounds<E>, lane: usize, values: &[E], minima: &mut Vec<E>) {
        let groups = (2 * self.k).next_multiple_of(GROUP);
        if values.len() < 2 * groups {
            return;
        }
        minima.clear();
        minima.extend_from_slice(&values[..groups]);
        for part in values[groups..].chunks(groups) {
            for (minimum, &value) in minima.iter_mut().zip(part) {
                *minimum = if value < *minimum { value } else { *minimum };
            }
        }
        let (_, &mut kth, _) = minima.select_nth_unstable_by(self.k - 1, |a, b| a.to_f64().total_cmp(&b.to_f64()));
        let query = self.first + lane;
        // If k points may coincide with the query, the nearest distinct point must stay: the
        // bandwidth needs it.
        if bounds.is_distinct(query, kth) {
            self.lower_threshold(lane, E::from_f64(kth.to_f64() + bounds.largest_spread(query)));
        }
    }

    /// Adds the points that pass the screen; columns of the panel are queries, rows are points.
    #[inline(always)]
    fn filter_columns(&mut self, points: &impl Keys, bounds: &Bounds<E>, rows: Range<usize>, products: &[E]) {
        let two = E::ONE + E::ONE;
        for (j, row) in rows.zip(products.chunks_exact(self.len())) {
            let norm = bounds.norms[j];
            for from in (0..row.len()).step_by(GROUP) {
                let group = from..(from + GROUP).min(row.len());
                let passed = which(&row[group.clone()], &self.thresholds[group], |p, t| norm - two * p <= t);
                for lane in set_bits(passed).map(|c| from + c) {
                    self.add(points, bounds, lane, j, norm - two * row[lane]);
                }
            }
        }
    }

    /// As [`Self::filter_columns`], with rows as queries and columns as points.
    #[inline(always)]
    fn filter_rows(&mut self, points: &impl Keys, bounds: &Bounds<E>, columns: Range<usize>, products: &[E]) {
        let two = E::ONE + E::ONE;
        let norms = &bounds.norms[columns.clone()];
        for (lane, row) in products.chunks_exact(norms.len()).enumerate() {
            for from in (0..row.len()).step_by(GROUP) {
                let group = from..(from + GROUP).min(row.len());
                let threshold = self.thresholds[lane];
                let passed = which(&row[group.clone()], &norms[group], |p, norm| norm - two * p <= threshold);
                for c in set_bits(passed).map(|c| from + c) {
                    self.add(points, bounds, lane, columns.start + c, norms[c] - two * row[c]);
                }
            }
        }
    }

    /// Adds a candidate.
    #[inline(always)]
    fn add(&mut self, points: &impl Keys, bounds: &Bounds<E>, lane: usize, point: usize, value: E) {
        let capacity = capacity(self.k);
        self.candidates[lane * capacity + self.lengths[lane]] = (value, point as u32);
        self.lengths[lane] += 1;
        if self.lengths[lane] == capacity {
            self.prune(points, bounds, lane);
        }
    }

    /// Lowers the threshold of a query and drops candidates above it; compares them exactly if too
    /// many remain.
    #[inline(never)]
    fn prune(&mut self, points: &impl Keys, bounds: &Bounds<E>, lane: usize) {
        self.drop_distant(bounds, lane);
        if self.lengths[lane] > capacity(self.k) / 2 {
            self.compare_candidates(points, lane);
            let bound = points.metric().largest_key(self.nearest[lane].bound());
            self.lower_threshold(lane, bounds.threshold(self.first + lane, bound));
        }
    }

    fn drop_distant(&mut self, bounds: &Bounds<E>, lane: usize) {
        self.lower_to_kth(bounds, lane);
        let (threshold, first) = (self.thresholds[lane], lane * capacity(self.k));
        let mut kept = 0;
        for place in first..first + self.lengths[lane] {
            let entry = self.candidates[place];
            self.candidates[first + kept] = entry;
            kept += usize::from(entry.0 <= threshold);
        }
        self.lengths[lane] = kept;
    }

    /// Lowers the threshold of a query to the `k`-th smallest upper bound of its candidates.
    fn lower_to_kth(&mut self, bounds: &Bounds<E>, lane: usize) {
        let (query, first) = (self.first + lane, lane * capacity(self.k));
        let candidates = &self.candidates[first..first + self.lengths[lane]];
        if candidates.len() < self.k {
            return;
        }
        let upper = |&(value, j): &(E, u32)| value.to_f64() + bounds.spread(query, j as usize);
        self.uppers.clear();
        self.uppers.extend(candidates.iter().map(upper));
        let (_, &mut kth, _) = self.uppers.select_nth_unstable_by(self.k - 1, f64::total_cmp);
        // As above, the nearest point that certainly does not coincide with the query must stay.
        let distinct = candidates.iter().filter(|(value, _)| bounds.is_distinct(query, *value)).map(upper);
        let threshold = kth.max(distinct.fold(f64::INFINITY, f64::min));
        self.lower_threshold(lane, E::from_f64(threshold));
    }

    fn lower_threshold(&mut self, lane: usize, threshold: E) {
        if threshold < self.thresholds[lane] {
            self.thresholds[lane] = threshold;
        }
    }

    #[inline(always)]
    fn compare_candidates(&mut self, points: &impl Keys, lane: usize) {
        let first = lane * capacity(self.k);
        for &(_, j) in &self.candidates[first..first + self.lengths[lane]] {
            self.nearest[lane].offer(points.distance(self.first + lane, j as usize), j);
        }
        self.lengths[lane] = 0;
    }

    /// Compares the remaining candidates and returns the nearest points of each query.
    #[inline(always)]
    fn finish(&mut self, points: &impl Keys, bounds: &Bounds<E>) -> Vec<NeighbourRow> {
        for lane in 0..self.len() {
            self.drop_distant(bounds, lane);
            self.compare_candidates(points, lane);
        }
        self.nearest.drain(..).map(NeighbourRow::from).collect()
    }
}

/// Number of candidates that a query stores.
fn capacity(k: usize) -> usize {
    (4 * k).max(64)
}

/// The position of the queries in a panel of products.
pub(super) enum Role {
    /// The queries are columns; the rows are these points.
    Columns(Range<usize>),
    /// The queries are rows; the columns are these points.
    Rows(Range<usize>),
    /// The queries are rows and columns of their own block.
    Both,
}

/// Filters a panel.
#[pulp::with_simd(filter_panel = pulp::Arch::new())]
#[inline(always)]
pub(super) fn filter_panel_simd<S: pulp::Simd, E: Real, P: Keys>(
    _: S,
    queries: &mut Queries<E>,
    points: &P,
    bounds: &Bounds<E>,
    role: Role,
    products: &[E],
) {
    match role {
        Role::Columns(rows) => queries.filter_columns(points, bounds, rows, products),
        Role::Rows(columns) => queries.filter_rows(points, bounds, columns, products),
        Role::Both => queries.start(points, bounds, products),
    }
}

/// Finishes a block of queries.
#[pulp::with_simd(finish_queries = pulp::Arch::new())]
#[inline(always)]
pub(super) fn finish_queries_simd<S: pulp::Simd, E: Real, P: Keys>(
    _: S,
    queries: &mut Queries<E>,
    points: &P,
    bounds: &Bounds<E>,
) -> Vec<NeighbourRow> {
    queries.finish(points, bounds)
}
