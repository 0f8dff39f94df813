//! Comparison of points with the cells of nearby centres.
//!
//! Points are divided into cells of about 500 points around centres. Every point is compared with
//! the points of its nearest cells; a pair is compared if either point visits the cell of the
//! other. The number of visited cells is the smallest that brings together enough of the pairs that
//! the probes miss.
//!
//! Reference for cells of centres (inverted files): Jegou, Douze and Schmid 2011,
//! doi:10.1109/TPAMI.2010.57.

use std::ops::Range;

use super::cloud::Cloud;
use super::compare::{Comparison, Group, compare_groups};
use super::forest::{Leaves, grow};
use super::graph::Graph;
use super::probes::MissedPairs;
use super::smallest::by_value;
use crate::{Exec, Real, Result, Stream};

/// Mean number of points in a cell.
const POINTS_PER_CELL: usize = 512;
/// Number of cells visited in a first pass: its neighbours lower the thresholds for the later
/// cells.
const FIRST_CELLS: usize = 2;
/// Sample points for each centre, and iterations of k-means on the sample.
const SAMPLES_PER_CENTRE: usize = 16;
const ROUNDS: usize = 2;
/// Points whose nearest centres are computed at a time, and the part of them that one thread
/// processes.
const POINTS_PER_TURN: usize = 1 << 18;
const POINTS_PER_PIECE: usize = 128;

/// The points, each in the cell of its nearest centre.
pub(super) struct Cells<E> {
    centres: Cloud<E>,
    /// The cell of each point.
    labels: Vec<u32>,
    /// The points of each cell.
    points_of: Vec<Vec<u32>>,
    /// Number of nearest cells that every point has been compared with.
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

    /// Compares every point with as many further cells as the missed pairs need.
    ///
    /// Returns false if no further cell can bring together a missed pair.
    pub fn visit(&mut self, missed: &MissedPairs, cloud: &Cloud<E>, graph: &mut Graph<E>, exec: &Exec) -> Result<bool> {
        if self.visited == self.centres.len() {
            return Ok(false);
        }
        let mut ranks = self.ranks(&missed.pairs, cloud, exec)?;
        // A pair that was compared and is not in the graph is lost: the reduced coordinates exclude
        // it.
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

    /// For each pair, the number of cells nearer to one point than the cell of the other; the
    /// smaller of both directions.
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
                    // The other point of a pair is its neighbour in the list.
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

/// Computes centres by k-means on a sample, from the leaves of a tree.
///
/// The leaves have equal sizes. Centres drawn at random end with cells of thousands of points and
/// cells of one point; the large cells are visited most, which costs an eighth more comparisons for
/// the same recall.
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
