//! The edges of new points by an index: two rounds of comparisons in cells.
//!
//! New points are grouped by cells, so that comparisons are matrix products. Products only exclude
//! pairs, with the error bound of `screen`; the others are compared exactly. So the edges of a new
//! point are the best of the pairs that its own cells contain, and do not depend on the other new
//! points.

use super::edges::{NewRow, Reach};
use super::index::{CrossIndex, TrainingRows, nearest_cells};
use super::query::FoundEdges;
use crate::graph::neighbours::approximate::cloud::{Cloud, PREFETCH_AHEAD};
use crate::graph::neighbours::approximate::compare::Comparison;
use crate::{Exec, Real, Result};

/// New points whose cells are held at a time, and those compared with a cell at a time.
const POINTS_PER_TURN: usize = 1 << 17;
const POINTS_PER_GROUP: usize = 512;
/// Points beyond `k + 1` that are compared exactly. They show that the products excluded no near point.
const SPARE: usize = 8;
/// Rows compared with all centres at a time.
const POINTS_PER_TILE: usize = 256;

/// New points that are searched with an index.
pub(super) struct IndexSearch<'a, T> {
    pub index: &'a CrossIndex,
    pub training: TrainingRows<'a, T>,
    pub reach: Reach<'a>,
    /// Rows of unit length if those of the training points have.
    pub new: &'a [f64],
}

/// The points of a group of new points and the points of a cell.
struct Group<'a> {
    cell: usize,
    queries: &'a [u32],
}

impl<T: Real> IndexSearch<'_, T> {
    /// Returns the edges of each new point; None for points that are so far away that they must be compared
    /// with all.
    pub fn run(&self, exec: &Exec) -> Result<Vec<Option<NewRow>>> {
        let d = self.index.dimension();
        let mut rows = Vec::with_capacity(self.new.len() / d);
        for turn in self.new.chunks(POINTS_PER_TURN * d) {
            rows.extend(Turn { search: self, new: turn, first: rows.len() }.run(exec)?);
        }
        Ok(rows)
    }
}

/// New points whose cells are held at the same time.
struct Turn<'a, T> {
    search: &'a IndexSearch<'a, T>,
    new: &'a [f64],
    first: usize,
}

impl<T: Real> Turn<'_, T> {
    fn run(&self, exec: &Exec) -> Result<Vec<Option<NewRow>>> {
        let index = self.search.index;
        let queries = index.enter(self.new, exec)?;
        let cells = nearest_cells(&queries, &index.centres, exec)?;
        let near = (0..queries.len() as u32).filter(|&q| !index.is_far(queries.norms()[q as usize]));
        let by_cell = grouped(near.map(|q| (cells[q as usize], q)), index.centres.len());
        let groups = groups_of(&by_cell);
        let found = exec.map(groups.len(), |g| self.compare_own(&groups[g], &queries, exec))?;
        let mut edges: Vec<Option<FoundEdges>> = (0..queries.len()).map(|_| None).collect();
        for (group, found) in groups.iter().zip(found) {
            group.queries.iter().zip(found).for_each(|(&q, found)| edges[q as usize] = Some(found));
        }
        let by_cell = self.visits(&queries, &cells, &edges, exec)?;
        let groups = groups_of(&by_cell);
        let found = exec.map(groups.len(), |g| self.compare_visited(&groups[g], &queries, &cells, &edges, exec))?;
        for (q, point, key) in found.into_iter().flatten() {
            if let Some(edges) = &mut edges[q as usize] {
                edges.offer(key, point, index.metric, self.search.reach);
            }
        }
        let finished = exec.map_pieces(&mut edges, POINTS_PER_GROUP, |first, piece| {
            let rows = piece.iter_mut().enumerate().map(|(i, edges)| {
                let edges = edges.take();
                edges.map(|edges| edges.finish(self.search.reach, self.first + first + i)).transpose()
            });
            rows.collect::<Result<Vec<_>>>()
        })?;
        Ok(finished.into_iter().flatten().collect())
    }

    fn row(&self, q: u32) -> &[f64] {
        let d = self.search.index.dimension();
        &self.new[q as usize * d..][..d]
    }

    /// Compares new points of a cell with the points of the cell and those that reach it.
    fn compare_own(&self, group: &Group<'_>, queries: &Cloud<f32>, exec: &Exec) -> Result<Vec<FoundEdges>> {
        let IndexSearch { index, reach, training, .. } = *self.search;
        let places = index.compared(group.cell);
        let (rows, columns) = (queries.some(group.queries), index.cloud.some(&places));
        let mut comparison = Comparison::new();
        comparison.search_reverse(&columns, &reach_of(index, &places));
        let count = index.k + 1 + SPARE;
        let thresholds = vec![f32::INFINITY; rows.len()];
        let near = comparison.nearest(&rows, &columns, 0..columns.len(), count, &thresholds, exec)?;
        let mut candidates: Vec<Vec<u32>> = Vec::with_capacity(rows.len());
        // The smallest value of a point that is not a candidate is at least this.
        let mut excluded = Vec::with_capacity(rows.len());
        for near in near {
            let near = near.found();
            let is_full = near.len() == count && columns.len() > count;
            let largest = near.iter().fold(f32::NEG_INFINITY, |largest, &(value, _)| largest.max(value));
            excluded.push(if is_full { largest } else { f32::INFINITY });
            candidates.push(near.iter().map(|&(_, place)| place).collect());
        }
        let n_near: Vec<usize> = candidates.iter().map(Vec::len).collect();
        for &(row, place) in &comparison.reverse_pairs {
            let candidates = &mut candidates[row as usize];
            if !candidates[..n_near[row as usize]].contains(&place) {
                candidates.push(place);
            }
        }
        let (mut points, mut keys) = (Vec::new(), Vec::new());
        let mut result = Vec::with_capacity(rows.len());
        for (row, candidates) in candidates.iter().enumerate() {
            let new = self.row(group.queries[row]);
            let mut confirm = |candidates: &mut dyn Iterator<Item = u32>| {
                points.clear();
                points.extend(candidates.map(|place| index.order[places[place as usize] as usize]));
                exact_keys(training, new, &points, &mut keys)?;
                let mut found = FoundEdges::new(index.k);
                for (&point, &key) in points.iter().zip(&keys) {
                    found.offer(key, point, index.metric, reach);
                }
                Ok::<_, crate::Error>(found)
            };
            let mut found = confirm(&mut candidates.iter().copied())?;
            if index.bound(found.bound()) >= excluded[row] + rows.norms()[row] {
                // More points are at the same distance than products can separate.
                found = confirm(&mut (0..places.len() as u32))?;
            }
            result.push(found);
        }
        Ok(result)
    }

    /// The new points that reach each cell, without their own cell.
    fn visits(
        &self,
        queries: &Cloud<f32>,
        cells: &[u32],
        edges: &[Option<FoundEdges>],
        exec: &Exec,
    ) -> Result<Vec<Vec<u32>>> {
        let index = self.search.index;
        let visits = exec.map(queries.len().div_ceil(POINTS_PER_TILE), |tile| {
            let range = tile * POINTS_PER_TILE..((tile + 1) * POINTS_PER_TILE).min(queries.len());
            let (mut values, mut visits) = (Vec::new(), Vec::new());
            let lines = index.centres.distances(queries, range.clone(), &mut values);
            for (q, line) in range.zip(lines.chunks_exact(index.centres.len())) {
                let Some(edges) = &edges[q] else { continue };
                let limit = index.limit(edges.bound());
                let reached = line.iter().enumerate().filter(|&(c, &d)| d <= limit && c as u32 != cells[q]);
                visits.extend(reached.map(|(c, _)| (c as u32, q as u32)));
            }
            Ok(visits)
        })?;
        Ok(grouped(visits.into_iter().flatten(), index.centres.len()))
    }

    /// Compares new points with the points of a cell that they reach; returns keys of possible edges.
    fn compare_visited(
        &self,
        group: &Group<'_>,
        queries: &Cloud<f32>,
        cells: &[u32],
        edges: &[Option<FoundEdges>],
        exec: &Exec,
    ) -> Result<Vec<(u32, u32, f64)>> {
        let IndexSearch { index, training, .. } = *self.search;
        let places: Vec<u32> = index.cell(group.cell).map(|place| place as u32).collect();
        let (rows, columns) = (queries.some(group.queries), index.cloud.some(&places));
        let mut comparison = Comparison::new();
        comparison.search_reverse(&columns, &reach_of(index, &places));
        let bound = |&q: &u32| edges[q as usize].as_ref().map_or(f32::INFINITY, |edges| index.bound(edges.bound()));
        let thresholds: Vec<f32> = group.queries.iter().map(bound).collect();
        let near = comparison.nearest(&rows, &columns, 0..columns.len(), columns.len(), &thresholds, exec)?;
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for (row, near) in near.iter_mut().enumerate() {
            pairs.extend(near.found().iter().map(|&(_, place)| (row as u32, place)));
        }
        pairs.extend(&comparison.reverse_pairs);
        pairs.sort_unstable();
        pairs.dedup();
        let (mut points, mut keys) = (Vec::new(), Vec::new());
        let mut found = Vec::with_capacity(pairs.len());
        for pairs in pairs.chunk_by(|one, next| one.0 == next.0) {
            let q = group.queries[pairs[0].0 as usize];
            // Points that reach the cell of the new point were compared there.
            let known = index.visitors(cells[q as usize] as usize);
            let places = pairs.iter().map(|&(_, place)| places[place as usize]);
            points.clear();
            points.extend(
                places.filter(|place| known.binary_search(place).is_err()).map(|place| index.order[place as usize]),
            );
            exact_keys(training, self.row(q), &points, &mut keys)?;
            found.extend(points.iter().zip(&keys).map(|(&point, &key)| (q, point, key)));
        }
        Ok(found)
    }
}

/// Exact keys of a new point and some training points.
#[pulp::with_simd(exact_keys = pulp::Arch::new())]
#[inline(always)]
fn exact_keys_simd<S: pulp::Simd, T: Real>(
    _: S,
    training: TrainingRows<'_, T>,
    new: &[f64],
    points: &[u32],
    keys: &mut Vec<f64>,
) -> Result<()> {
    keys.clear();
    let mut row = Vec::new();
    for (i, &point) in points.iter().enumerate() {
        training.prefetch(points[(i + PREFETCH_AHEAD).min(points.len() - 1)]);
        keys.push(training.key(new, point, &mut row)?);
    }
    Ok(())
}

fn reach_of(index: &CrossIndex, places: &[u32]) -> Vec<f32> {
    places.iter().map(|&place| index.reach[place as usize]).collect()
}

/// The second of each pair for each first.
fn grouped(pairs: impl Iterator<Item = (u32, u32)>, count: usize) -> Vec<Vec<u32>> {
    let mut groups = vec![Vec::new(); count];
    pairs.for_each(|(group, member)| groups[group as usize].push(member));
    groups
}

/// Groups of at most [`POINTS_PER_GROUP`] new points with the same cell.
fn groups_of(by_cell: &[Vec<u32>]) -> Vec<Group<'_>> {
    by_cell
        .iter()
        .enumerate()
        .flat_map(|(cell, queries)| queries.chunks(POINTS_PER_GROUP).map(move |queries| Group { cell, queries }))
        .collect()
}
