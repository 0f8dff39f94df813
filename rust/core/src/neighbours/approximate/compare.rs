//! Comparing points with candidates, all with all: products sort out those that may be near.

use std::ops::Range;

use super::cloud::{Cloud, squared_distance};
use super::graph::{Finds, Graph};
use crate::exec::Exec;
use crate::{Real, Result};

/// Points that one thread compares with their candidates, and how many such pieces there are before what was found is entered.
const POINTS_PER_PIECE: usize = 2048;
const PIECES_PER_TURN: usize = 64;
/// Sides of a product: what it makes stays in the cache until it has been looked at.
const ROWS_PER_PRODUCT: usize = 512;
const COLUMNS_PER_PRODUCT: usize = 512;

/// Points, and who may be their neighbours.
pub(super) struct Group<'a> {
    pub points: &'a [u32],
    pub candidates: &'a [u32],
}

/// Compares all points of each group with all candidates of it.
pub(super) fn compare_groups<E: Real>(
    cloud: &Cloud<E>,
    groups: &[Group<'_>],
    graph: &mut Graph<E>,
    exec: &Exec,
) -> Result<()> {
    let pieces: Vec<Group<'_>> = groups
        .iter()
        .flat_map(|&Group { points, candidates }| {
            points.chunks(POINTS_PER_PIECE).map(move |points| Group { points, candidates })
        })
        .collect();
    for turn in pieces.chunks(PIECES_PER_TURN) {
        let (width, worst) = (graph.width, &graph.worst);
        let finds = exec.map(turn.len(), |piece| {
            let Group { points, candidates } = turn[piece];
            let (mut rows, mut columns) = (Cloud::empty(cloud.dimension()), Cloud::empty(cloud.dimension()));
            columns.gather(cloud, candidates);
            let mut finds = Finds::new(cloud.len());
            for points in points.chunks(ROWS_PER_PRODUCT) {
                rows.gather(cloud, points);
                let bars: Vec<E> = points.iter().map(|&point| worst[point as usize]).collect();
                // One more, because a point is the nearest one to itself.
                let nearest = nearest(&rows, &columns, 0..candidates.len(), width + 1, &bars, exec)?;
                for ((&point, &bar), nearest) in points.iter().zip(&bars).zip(nearest) {
                    for (distance, other) in nearest {
                        let other = candidates[other as usize];
                        if other != point && distance < bar {
                            finds.note(point, other, distance);
                        }
                    }
                }
            }
            Ok(finds)
        })?;
        graph.enter(&finds, exec)?;
    }
    Ok(())
}

/// For each of `rows`, the squared distances and places of up to `count` near ones of some `columns`: the nearest by products,
/// out of those nearer than its bar, with distances by differences.
pub(super) fn nearest<E: Real>(
    rows: &Cloud<E>,
    columns: &Cloud<E>,
    range: Range<usize>,
    count: usize,
    bars: &[E],
    exec: &Exec,
) -> Result<Vec<Vec<(E, u32)>>> {
    pulp::Arch::new().dispatch(CompareAll { rows, columns, range, count, bars, exec })
}

struct CompareAll<'a, E> {
    rows: &'a Cloud<E>,
    columns: &'a Cloud<E>,
    range: Range<usize>,
    count: usize,
    bars: &'a [E],
    exec: &'a Exec,
}

impl<E: Real> pulp::WithSimd for CompareAll<'_, E> {
    type Output = Result<Vec<Vec<(E, u32)>>>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self { rows, columns, range, count, bars, exec } = self;
        // Products give squared distances but for `|x|^2`.
        let own = bars.iter().zip(rows.norms());
        let mut nearest: Vec<_> = own.map(|(&bar, &norm)| Smallest::new(count, bar - norm)).collect();
        let mut values = Vec::new();
        for first in range.clone().step_by(COLUMNS_PER_PRODUCT) {
            exec.check()?;
            let there = first..range.end.min(first + COLUMNS_PER_PRODUCT);
            let norms = &columns.norms()[there.clone()];
            let lines = rows.multiply(rows.len(), columns, there.clone(), &mut values).chunks_exact(there.len());
            lines.zip(&mut nearest).for_each(|(line, nearest)| nearest.offer(line, norms, first));
        }
        let distances = |(i, nearest): (usize, Smallest<E>)| {
            let distance = |place: u32| squared_distance(rows.row(i as u32), columns.row(place));
            nearest.best.into_iter().map(|(_, place)| (distance(place), place)).collect()
        };
        Ok(nearest.into_iter().enumerate().map(distances).collect())
    }
}

/// The smallest of many values, and where they stand.
struct Smallest<E> {
    best: Vec<(E, u32)>,
    count: usize,
    bar: E,
}

impl<E: Real> Smallest<E> {
    /// The `count` smallest values below `bar`.
    fn new(count: usize, bar: E) -> Self {
        Self { best: Vec::new(), count, bar }
    }

    /// Looks at the sums of some values and `norms`, which stand at `first` and after it.
    #[inline(always)]
    fn offer(&mut self, values: &[E], norms: &[E], first: usize) {
        const GROUP: usize = 32;
        let whole = values.len() / GROUP * GROUP;
        let groups = values[..whole].chunks_exact(GROUP).zip(norms[..whole].chunks_exact(GROUP));
        for (group, (values, norms)) in groups.enumerate() {
            // All are looked at before any is: few are small, and so the compiler takes many at a time.
            let bar = self.bar;
            if values.iter().zip(norms).fold(0, |any, (&value, &norm)| any | u8::from(value + norm < bar)) != 0 {
                self.keep(values, norms, first + group * GROUP);
            }
        }
        self.keep(&values[whole..], &norms[whole..], first + whole);
    }

    #[inline(always)]
    fn keep(&mut self, values: &[E], norms: &[E], first: usize) {
        for (i, (&value, &norm)) in values.iter().zip(norms).enumerate() {
            let value = value + norm;
            if value < self.bar {
                self.insert(value, (first + i) as u32);
            }
        }
    }

    #[inline(always)]
    fn insert(&mut self, value: E, place: u32) {
        let (count, best) = (self.count, &mut self.best);
        let rank = best.partition_point(|&(other, _)| other <= value);
        if best.len() < count {
            best.insert(rank, (value, place));
        } else {
            best.copy_within(rank..count - 1, rank + 1);
            best[rank] = (value, place);
        }
        if best.len() == count {
            let last = best[count - 1].0;
            self.bar = if last < self.bar { last } else { self.bar };
        }
    }
}
