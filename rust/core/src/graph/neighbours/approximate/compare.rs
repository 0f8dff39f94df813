//! Comparing points with others, all with all: products sort out those that may be near.

use std::ops::Range;

use super::cloud::Cloud;
use super::graph::{Finds, Graph};
use super::smallest::{Smallest, TOGETHER, for_each_place};
use crate::ground::exec::Exec;
use crate::{Real, Result};

/// Points that one thread compares with others, and how many such pieces there are before what was found is entered.
const POINTS_PER_PIECE: usize = 8192;
const PIECES_PER_TURN: usize = 32;
/// Rows of a product, and about how many values it makes: they stay in the cache until they have been looked at.
const ROWS_PER_PRODUCT: usize = 512;
const VALUES_PER_PRODUCT: usize = 1 << 18;
/// Pairs before one is compared in full its row is asked for.
const PREFETCH_AHEAD: usize = 8;

/// Points, and who may be their neighbours.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    pub points: &'a [u32],
    pub others: &'a [u32],
    /// Whether the others look for neighbours among the points, too.
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
        let finds = exec.map(turn.len(), |piece| compare_group(cloud, turn[piece], graph, exec))?;
        graph.enter(&finds, exec)?;
    }
    Ok(())
}

fn compare_group<E: Real>(cloud: &Cloud<E>, group: Group<'_>, graph: &Graph<E>, exec: &Exec) -> Result<Finds<E>> {
    let (mut rows, mut columns) = (Cloud::empty(cloud.dimension()), Cloud::empty(cloud.dimension()));
    let (mut comparison, mut finds) = (Comparison::new(), Finds::new(cloud.len()));
    let mut met: Vec<(u32, u32)> = Vec::new();
    let bars_of = |points: &[u32]| -> Vec<E> { points.iter().map(|&point| graph.worst[point as usize]).collect() };
    columns.gather(cloud, group.others);
    if group.is_mutual {
        comparison.look_back(&columns, &bars_of(group.others));
    }
    for points in group.points.chunks(ROWS_PER_PRODUCT) {
        rows.gather(cloud, points);
        // One more, because a point is the nearest one to itself.
        let (count, bars) = (graph.width + 1, bars_of(points));
        let nearest = comparison.nearest(&rows, &columns, 0..columns.len(), count, &bars, exec)?;
        met.clear();
        for (&point, nearest) in points.iter().zip(nearest) {
            met.extend(nearest.found().iter().map(|&(_, place)| (point, group.others[place as usize])));
        }
        met.extend(
            comparison.seen_back.iter().map(|&(row, place)| (group.others[place as usize], points[row as usize])),
        );
        pulp::Arch::new().dispatch(Confirm { cloud, graph, met: &mut met, finds: &mut finds });
    }
    Ok(finds)
}

/// Notes points with others that are nearer than all they know.
struct Confirm<'a, E> {
    cloud: &'a Cloud<E>,
    graph: &'a Graph<E>,
    met: &'a mut Vec<(u32, u32)>,
    finds: &'a mut Finds<E>,
}

impl<E: Real> pulp::WithSimd for Confirm<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { cloud, graph, met, finds } = self;
        // What `retain` does, but inlined: as a call of its own it would not have the wide vectors.
        let mut kept = 0;
        for i in 0..met.len() {
            let (point, other) = met[i];
            if point != other && !graph.has(point, other) {
                met[kept] = met[i];
                kept += 1;
            }
        }
        met.truncate(kept);
        for (i, &(point, other)) in met.iter().enumerate() {
            let (_, ahead) = met[(i + PREFETCH_AHEAD).min(met.len() - 1)];
            cloud.prefetch(ahead);
            let distance = cloud.squared_distance(point, other);
            if distance < graph.worst[point as usize] {
                finds.note(point, other, distance);
            }
        }
    }
}

/// Looks for near points by products; its memory serves again and again.
pub(super) struct Comparison<E> {
    nearest: Vec<Smallest<E>>,
    /// What every column has to be nearer than, but for the norm of the row, if columns look for rows, too.
    bars_back: Vec<E>,
    /// Rows and columns for which that is so.
    seen_back: Vec<(u32, u32)>,
    values: Vec<E>,
    spare: Vec<E>,
}

impl<E: Real> Comparison<E> {
    pub fn new() -> Self {
        let (nearest, bars_back, seen_back) = (Vec::new(), Vec::new(), Vec::new());
        Self { nearest, bars_back, seen_back, values: Vec::new(), spare: Vec::new() }
    }

    /// From now on columns look for rows nearer than these bars.
    fn look_back(&mut self, columns: &Cloud<E>, bars: &[E]) {
        self.bars_back = bars.iter().zip(columns.norms()).map(|(&bar, &norm)| bar - norm).collect();
    }

    /// For each of `rows`, the places of up to `count` near ones of some `columns`: the nearest by products, out of those not
    /// farther than its bar. Their values are squared distances but for `|x|^2`.
    pub fn nearest(
        &mut self,
        rows: &Cloud<E>,
        columns: &Cloud<E>,
        range: Range<usize>,
        count: usize,
        bars: &[E],
        exec: &Exec,
    ) -> Result<&mut [Smallest<E>]> {
        self.seen_back.clear();
        self.nearest.resize_with(rows.len().max(self.nearest.len()), Smallest::new);
        for ((nearest, &bar), &norm) in self.nearest.iter_mut().zip(bars).zip(rows.norms()) {
            nearest.restart(count, bar - norm);
        }
        let width = VALUES_PER_PRODUCT / rows.len().max(1);
        for first in range.clone().step_by(width) {
            exec.check()?;
            let columns_there = first..range.end.min(first + width);
            pulp::Arch::new().dispatch(Compare { comparison: self, rows, columns, there: columns_there });
        }
        Ok(&mut self.nearest[..rows.len()])
    }
}

/// The work of one product.
struct Compare<'a, E> {
    comparison: &'a mut Comparison<E>,
    rows: &'a Cloud<E>,
    columns: &'a Cloud<E>,
    there: Range<usize>,
}

impl<E: Real> pulp::WithSimd for Compare<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { comparison, rows, columns, there } = self;
        let Comparison { nearest, bars_back, seen_back, values, spare } = comparison;
        let norms = &columns.norms()[there.clone()];
        let lines = rows.multiply(rows.len(), columns, there.clone(), values).chunks_exact(there.len());
        for (row, (line, nearest)) in lines.zip(nearest).enumerate() {
            nearest.offer(line, norms, there.start, spare);
            if !bars_back.is_empty() {
                look_back(line, rows.norms()[row], &bars_back[there.clone()], |i| {
                    seen_back.push((row as u32, (there.start + i) as u32));
                });
            }
        }
    }
}

/// Where a value and the norm are below the bar.
#[inline(always)]
fn look_back<E: Real>(values: &[E], norm: E, bars: &[E], mut see: impl FnMut(usize)) {
    for (group, (values, bars)) in values.chunks(TOGETHER).zip(bars.chunks(TOGETHER)).enumerate() {
        if values.iter().zip(bars).fold(0, |any, (&value, &bar)| any | u8::from(value + norm < bar)) != 0 {
            for_each_place(values.len(), |i| values[i] + norm < bars[i], |i| see(group * TOGETHER + i));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::points::{DensePoints, Metric};
    use super::super::super::screen::Centred;
    use super::*;
    use crate::ground::random::Stream;

    /// Points 0..700 and 300..1000: some meet others, some each other, some themselves.
    #[test]
    fn all_have_the_nearest_of_those_they_met() {
        let (n, dimension, width, exec) = (1000, 3, 5, Exec::with_threads(2));
        let mut stream = Stream::new(1, 0);
        let data: Vec<f64> = (0..n * dimension).map(|_| stream.uniform()).collect();
        let points = DensePoints { data: &data, dimension, metric: Metric::Euclidean };
        let cloud = Cloud::<f64>::new(&points, &Centred::new(&points, &exec).unwrap(), &exec).unwrap();
        let (left, right): (Vec<u32>, Vec<u32>) = ((0..700).collect(), (300..1000).collect());
        for is_mutual in [false, true] {
            let mut graph = Graph::new(n, width);
            compare_groups(&cloud, &[Group { points: &left, others: &right, is_mutual }], &mut graph, &exec).unwrap();
            for p in 0..n as u32 {
                let met = |q: &u32| {
                    let (looks, looks_back) = (p < 700 && *q >= 300, is_mutual && p >= 300 && *q < 700);
                    *q != p && (looks || looks_back)
                };
                let mut expected: Vec<_> =
                    (0..n as u32).filter(met).map(|q| (cloud.squared_distance(p, q), q)).collect();
                expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
                expected.truncate(width);
                let found = graph.row(p).iter().filter(|entry| entry.distance < f64::INFINITY);
                let found: Vec<_> = found.map(|entry| (entry.distance, entry.index())).collect();
                assert_eq!(found, expected, "{p}, mutual: {is_mutual}");
            }
        }
    }
}
