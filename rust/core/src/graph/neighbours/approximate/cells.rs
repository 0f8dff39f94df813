//! The surroundings of a point: cells around centres, nearest first.

use std::ops::Range;

use super::cloud::Cloud;
use super::compare::{Comparison, Group, compare_groups};
use super::forest::{Leaves, grow};
use super::graph::Graph;
use super::probes::MissedPairs;
use super::smallest::by_value;
use crate::ground::exec::Exec;
use crate::ground::random::Stream;
use crate::{Real, Result};

/// Points of a cell, on average.
const POINTS_PER_CELL: usize = 512;
/// Cells that every point is compared with before any others: what it proposals there spares it most of what comes later.
const FIRST_CELLS: usize = 2;
/// Points for each centre, and rounds, from which the centres are found.
const SAMPLES_PER_CENTRE: usize = 16;
const ROUNDS: usize = 2;
/// Points that look for their nearest centres at a time, and how many of them on one thread.
const POINTS_PER_TURN: usize = 1 << 18;
const POINTS_PER_PIECE: usize = 128;

/// The points, each in the cell of the centre nearest to it.
pub(super) struct Cells<E> {
    centres: Cloud<E>,
    /// The cell of each point.
    labels: Vec<u32>,
    /// The points of each cell.
    points_of: Vec<Vec<u32>>,
    /// So many cells nearest to it every point has been compared with.
    visited: usize,
}

impl<E: Real> Cells<E> {
    pub fn new(cloud: &Cloud<E>, seed: u64, exec: &Exec) -> Result<Self> {
        let centres = find_centres(cloud, seed, exec)?;
        let all: Vec<u32> = (0..cloud.len() as u32).collect();
        let labels = nearest_centres(cloud, &all, &centres, 0..1, exec)?;
        let mut points_of = vec![Vec::new(); centres.len()];
        labels.iter().zip(all).for_each(|(&cell, point)| points_of[cell as usize].push(point));
        Ok(Self { centres, labels, points_of, visited: 0 })
    }

    /// Compares every point with those of more cells, nearest first, as many as it takes for so many of some pairs to meet; returns
    /// whether more of them could.
    pub fn visit(&mut self, missed: &MissedPairs, cloud: &Cloud<E>, graph: &mut Graph<E>, exec: &Exec) -> Result<bool> {
        if self.visited == self.centres.len() {
            return Ok(false);
        }
        let mut ranks = self.ranks(&missed.pairs, cloud, exec)?;
        // Those that have met and are no neighbours in the graph are lost: points were reduced.
        ranks.retain(|&rank| rank >= self.visited);
        if ranks.is_empty() {
            return Ok(false);
        }
        ranks.sort_unstable();
        ranks.truncate(missed.wanted);
        let enough = ranks.last().map_or(0, |rank| rank + 1).max(self.visited + 1);
        for end in [FIRST_CELLS, enough] {
            let end = end.min(self.centres.len());
            if end > self.visited {
                self.visit_ranks(self.visited..end, cloud, graph, exec)?;
                self.visited = end;
            }
        }
        Ok(true)
    }

    /// How many cells are nearer to one of a pair than the other one's, from the better side.
    fn ranks(&self, pairs: &[(u32, u32)], cloud: &Cloud<E>, exec: &Exec) -> Result<Vec<usize>> {
        let sides: Vec<u32> = pairs.iter().flat_map(|&(p, q)| [p, q]).collect();
        let mut ranks = vec![0; sides.len()];
        exec.for_pieces(
            &mut ranks,
            POINTS_PER_PIECE,
            || (Cloud::empty(cloud.dimension()), Vec::new()),
            |first, ranks, (rows, values)| -> Result<()> {
                rows.gather(cloud, &sides[first..first + ranks.len()]);
                let count = self.centres.len();
                let lines = rows.multiply(rows.len(), &self.centres, 0..count, values).chunks_exact(count);
                for (i, (line, rank)) in lines.zip(ranks).enumerate() {
                    // The other side of a pair stands next to it.
                    let there = self.labels[sides[(first + i) ^ 1] as usize] as usize;
                    let norms = self.centres.norms();
                    let threshold = line[there] + norms[there];
                    *rank = line.iter().zip(norms).filter(|&(&value, &norm)| value + norm < threshold).count();
                }
                Ok(())
            },
        )?;
        Ok(ranks.chunks_exact(2).map(|sides| sides[0].min(sides[1])).collect())
    }

    fn visit_ranks(&self, ranks: Range<usize>, cloud: &Cloud<E>, graph: &mut Graph<E>, exec: &Exec) -> Result<()> {
        let all: Vec<u32> = (0..cloud.len() as u32).collect();
        for points in all.chunks(POINTS_PER_TURN) {
            let mut visitors = vec![Vec::new(); self.points_of.len()];
            let cells = nearest_centres(cloud, points, &self.centres, ranks.clone(), exec)?;
            for (&point, cells) in points.iter().zip(cells.chunks_exact(ranks.len())) {
                cells.iter().for_each(|&cell| visitors[cell as usize].push(point));
            }
            let groups = visitors.iter().zip(&self.points_of);
            let groups: Vec<_> = groups.map(|(points, others)| Group { points, others, is_mutual: true }).collect();
            compare_groups(cloud, &groups, graph, exec)?;
        }
        Ok(())
    }
}

/// Means of the leaves of a tree of a sample, and then of those nearest to each.
///
/// A tree makes cells of about one size. Points drawn one by one would end up with cells of thousands and cells of one, and the
/// large ones are visited most: an eighth more comparisons for the same share of neighbours.
fn find_centres<E: Real>(cloud: &Cloud<E>, seed: u64, exec: &Exec) -> Result<Cloud<E>> {
    let count = (cloud.len() / POINTS_PER_CELL).max(1) * SAMPLES_PER_CENTRE;
    let sample = cloud.some(&cloud.draw(count, &mut Stream::new(seed, 0)));
    let Leaves { order, ranges } = grow(&sample, SAMPLES_PER_CENTRE, seed, exec)?;
    let firsts: Vec<u32> = ranges.iter().map(|range| order[range.start]).collect();
    let mut labels: Vec<u32> = (0..).zip(&ranges).flat_map(|(leaf, range)| range.clone().map(move |_| leaf)).collect();
    let mut centres = sample.some(&firsts).moved(&sample, &order, &labels, exec)?;
    for _ in 0..ROUNDS {
        labels = nearest_centres(&sample, &order, &centres, 0..1, exec)?;
        centres = centres.moved(&sample, &order, &labels, exec)?;
    }
    Ok(centres)
}

/// The centres at these ranks among the nearest of each point, in any order.
fn nearest_centres<E: Real>(
    cloud: &Cloud<E>,
    points: &[u32],
    centres: &Cloud<E>,
    ranks: Range<usize>,
    exec: &Exec,
) -> Result<Vec<u32>> {
    let mut cells = vec![0; points.len() * ranks.len()];
    let thresholds = [E::INFINITY; POINTS_PER_PIECE];
    exec.for_pieces(
        &mut cells,
        POINTS_PER_PIECE * ranks.len(),
        || (Cloud::empty(cloud.dimension()), Comparison::new()),
        |first, piece, (rows, comparison)| {
            rows.gather(cloud, &points[first / ranks.len()..][..piece.len() / ranks.len()]);
            let nearest = comparison.nearest(rows, centres, 0..centres.len(), ranks.end, &thresholds, exec)?;
            for (cells, nearest) in piece.chunks_exact_mut(ranks.len()).zip(nearest) {
                let found = nearest.found();
                if ranks.start > 0 {
                    found.select_nth_unstable_by(ranks.start, by_value);
                }
                cells.iter_mut().zip(&found[ranks.start..]).for_each(|(cell, &(_, centre))| *cell = centre);
            }
            Ok(())
        },
    )?;
    Ok(cells)
}
