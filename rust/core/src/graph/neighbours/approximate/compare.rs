//! Comparison of all points of a group with all others of the group.
//!
//! Products give approximate distances of all pairs. The pairs that may improve the graph are
//! confirmed by differences. Cost: `2 d` operations a pair, at the speed of a matrix product.

use std::ops::Range;

use super::cloud::{Cloud, PREFETCH_AHEAD};
use super::graph::{Graph, Proposals};
use super::smallest::{GROUP_SIZE, Smallest, for_each_place};
use crate::{Exec, Real, Result};

/// Points of one piece, and pieces between two updates of the graph.
const POINTS_PER_PIECE: usize = 8192;
const PIECES_PER_TURN: usize = 32;
/// Rows of a product and approximate number of its values, which stay in cache.
const ROWS_PER_PRODUCT: usize = 512;
const VALUES_PER_PRODUCT: usize = 1 << 18;

/// Points and their possible neighbours.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    pub points: &'a [u32],
    pub others: &'a [u32],
    /// True if the others also search for neighbours among the points.
    pub is_mutual: bool,
}

/// Compares all points of each group with all others of it.
pub(super) fn compare_groups<E: Real>(
    cloud: &Cloud<E>,
    groups: &[Group<'_>],
    graph: &mut Graph<E>,
    exec: &Exec,
) -> Result<()> {
    let pieces: Vec<Group<'_>> = groups
        .iter()
        .flat_map(|&group| group.points.chunks(POINTS_PER_PIECE).map(move |points| Group { points, ..group }))
        .collect();
    for turn in pieces.chunks(PIECES_PER_TURN) {
        let proposals = exec.map(turn.len(), |piece| compare_group(cloud, turn[piece], graph, exec))?;
        graph.accept(&proposals, exec)?;
    }
    Ok(())
}

fn compare_group<E: Real>(cloud: &Cloud<E>, group: Group<'_>, graph: &Graph<E>, exec: &Exec) -> Result<Proposals<E>> {
    let (mut rows, mut columns) = (Cloud::empty(cloud.dimension()), Cloud::empty(cloud.dimension()));
    let (mut comparison, mut proposals) = (Comparison::new(), Proposals::new(cloud.len()));
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    let thresholds_of =
        |points: &[u32]| -> Vec<E> { points.iter().map(|&point| graph.worst[point as usize]).collect() };
    columns.gather(cloud, group.others);
    if group.is_mutual {
        comparison.search_reverse(&columns, &thresholds_of(group.others));
    }
    for points in group.points.chunks(ROWS_PER_PRODUCT) {
        rows.gather(cloud, points);
        // One more, because each point is its own nearest.
        let (count, thresholds) = (graph.width + 1, thresholds_of(points));
        let nearest = comparison.nearest(&rows, &columns, 0..columns.len(), count, &thresholds, exec)?;
        pairs.clear();
        for (&point, nearest) in points.iter().zip(nearest) {
            pairs.extend(nearest.found().iter().map(|&(_, place)| (point, group.others[place as usize])));
        }
        pairs.extend(
            comparison.reverse_pairs.iter().map(|&(row, place)| (group.others[place as usize], points[row as usize])),
        );
        confirm(cloud, graph, &mut pairs, &mut proposals);
    }
    Ok(proposals)
}

/// Confirms pairs by differences and proposes those that improve the graph.
#[pulp::with_simd(confirm = pulp::Arch::new())]
#[inline(always)]
fn confirm_simd<S: pulp::Simd, E: Real>(
    _: S,
    cloud: &Cloud<E>,
    graph: &Graph<E>,
    pairs: &mut Vec<(u32, u32)>,
    proposals: &mut Proposals<E>,
) {
    // As `Vec::retain`, but inlined: a separate function would not use wide vectors.
    let mut kept = 0;
    for i in 0..pairs.len() {
        let (ahead, _) = pairs[(i + PREFETCH_AHEAD).min(pairs.len() - 1)];
        graph.prefetch(ahead);
        let (point, other) = pairs[i];
        if point != other && !graph.has(point, other) {
            pairs[kept] = pairs[i];
            kept += 1;
        }
    }
    pairs.truncate(kept);
    for (i, &(point, other)) in pairs.iter().enumerate() {
        let (_, ahead) = pairs[(i + PREFETCH_AHEAD).min(pairs.len() - 1)];
        cloud.prefetch(ahead);
        let distance = cloud.squared_distance(point, other);
        if distance < graph.worst[point as usize] {
            proposals.add(point, other, distance);
        }
    }
}

/// Search for near points by products; buffers are reused.
pub(in crate::graph::neighbours) struct Comparison<E> {
    nearest: Vec<Smallest<E>>,
    /// For each column, the threshold for rows without the norm of the row; empty if columns do not
    /// search.
    reverse_thresholds: Vec<E>,
    /// (row, column) pairs below the thresholds of the columns.
    pub reverse_pairs: Vec<(u32, u32)>,
    values: Vec<E>,
    spare: Vec<E>,
}

impl<E: Real> Comparison<E> {
    pub fn new() -> Self {
        let (nearest, reverse_thresholds, reverse_pairs) = (Vec::new(), Vec::new(), Vec::new());
        Self { nearest, reverse_thresholds, reverse_pairs, values: Vec::new(), spare: Vec::new() }
    }

    /// Makes columns search for rows below these thresholds.
    pub fn search_reverse(&mut self, columns: &Cloud<E>, thresholds: &[E]) {
        self.reverse_thresholds =
            thresholds.iter().zip(columns.norms()).map(|(&threshold, &norm)| threshold - norm).collect();
    }

    /// For each row, finds up to `count` nearest columns of a range by products.
    ///
    /// Columns above the row's threshold are excluded. The values are squared distances without
    /// `|x|^2`.
    pub fn nearest(
        &mut self,
        rows: &Cloud<E>,
        columns: &Cloud<E>,
        range: Range<usize>,
        count: usize,
        thresholds: &[E],
        exec: &Exec,
    ) -> Result<&mut [Smallest<E>]> {
        self.reverse_pairs.clear();
        self.nearest.resize_with(rows.len().max(self.nearest.len()), Smallest::new);
        for ((nearest, &threshold), &norm) in self.nearest.iter_mut().zip(thresholds).zip(rows.norms()) {
            nearest.restart(count, threshold - norm);
        }
        let width = VALUES_PER_PRODUCT / rows.len().max(1);
        for first in range.clone().step_by(width) {
            exec.check()?;
            compare(self, rows, columns, first..range.end.min(first + width));
        }
        Ok(&mut self.nearest[..rows.len()])
    }
}

/// The work of one product.
#[pulp::with_simd(compare = pulp::Arch::new())]
#[inline(always)]
fn compare_simd<S: pulp::Simd, E: Real>(
    _: S,
    comparison: &mut Comparison<E>,
    rows: &Cloud<E>,
    columns: &Cloud<E>,
    there: Range<usize>,
) {
    let Comparison { nearest, reverse_thresholds, reverse_pairs, values, spare } = comparison;
    let norms = &columns.norms()[there.clone()];
    let lines = rows.multiply(rows.len(), columns, there.clone(), values).chunks_exact(there.len());
    for (row, (line, nearest)) in lines.zip(nearest).enumerate() {
        if reverse_thresholds.is_empty() {
            nearest.offer(line, norms, there.start, spare);
            continue;
        }
        let (norm, thresholds) = (rows.norms()[row], &reverse_thresholds[there.clone()]);
        let mut found = Found { row: row as u32, nearest, reverse_pairs };
        // Groups of known length use vector instructions.
        let (values, values_rest) = line.as_chunks::<GROUP_SIZE>();
        let (norms, norms_rest) = norms.as_chunks::<GROUP_SIZE>();
        let (thresholds, thresholds_rest) = thresholds.as_chunks::<GROUP_SIZE>();
        for (group, ((values, norms), thresholds)) in values.iter().zip(norms).zip(thresholds).enumerate() {
            found.offer(values, norms, norm, thresholds, there.start + group * GROUP_SIZE);
        }
        found.offer(values_rest, norms_rest, norm, thresholds_rest, there.start + values.len() * GROUP_SIZE);
    }
}

/// What one row finds in both directions.
struct Found<'a, E> {
    row: u32,
    nearest: &'a mut Smallest<E>,
    reverse_pairs: &'a mut Vec<(u32, u32)>,
}

impl<E: Real> Found<'_, E> {
    /// Offers a group of at most [`GROUP_SIZE`] columns from `first` on; `norm` is that of the row.
    #[inline(always)]
    fn offer(&mut self, values: &[E], norms: &[E], norm: E, thresholds: &[E], first: usize) {
        let threshold = self.nearest.threshold();
        let mut any = 0;
        for i in 0..values.len() {
            any |= u8::from(values[i] + norms[i] <= threshold) | u8::from(values[i] + norm < thresholds[i]);
        }
        // Most groups fail as a whole.
        if any != 0 {
            self.nearest.keep(values, norms, first);
            for_each_place(
                values.len(),
                |i| values[i] + norm < thresholds[i],
                |i| self.reverse_pairs.push((self.row, (first + i) as u32)),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::metric::Metric;
    use super::super::super::points::DensePoints;
    use super::super::super::screen::Centred;
    use super::*;
    use crate::ground::random::Stream;

    /// Points 0..700 are compared with points 300..1000, including themselves.
    #[test]
    fn rows_hold_the_nearest_compared_points() {
        let (n, dimension, width, exec) = (1000, 3, 5, Exec::with_threads(2));
        let mut stream = Stream::new(1, 0);
        let data: Vec<f64> = (0..n * dimension).map(|_| stream.uniform()).collect();
        let points = DensePoints { data: &data, dimension, metric: Metric::Euclidean };
        let cloud = Cloud::<f64>::new(&points, &Centred::new(&points, &exec).unwrap(), &exec).unwrap();
        let (left, right): (Vec<u32>, Vec<u32>) = ((0..700).collect(), (300..1000).collect());
        for is_mutual in [false, true] {
            let mut graph = Graph::new(n, width).unwrap();
            compare_groups(&cloud, &[Group { points: &left, others: &right, is_mutual }], &mut graph, &exec).unwrap();
            for p in 0..n as u32 {
                let pairs = |q: &u32| {
                    let (looks, looks_back) = (p < 700 && *q >= 300, is_mutual && p >= 300 && *q < 700);
                    *q != p && (looks || looks_back)
                };
                let mut expected: Vec<_> =
                    (0..n as u32).filter(pairs).map(|q| (cloud.squared_distance(p, q), q)).collect();
                expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
                expected.truncate(width);
                let found = graph.row(p).iter().filter(|entry| entry.distance < f64::INFINITY);
                let found: Vec<_> = found.map(|entry| (entry.distance, entry.index())).collect();
                assert_eq!(found, expected, "{p}, mutual: {is_mutual}");
            }
        }
    }
}
