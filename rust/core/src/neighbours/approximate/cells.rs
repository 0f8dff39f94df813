//! The surroundings of a point: cells around centres, nearest first.

use std::ops::Range;

use super::cloud::Cloud;
use super::compare::{Group, compare_groups, nearest};
use super::graph::Graph;
use crate::exec::Exec;
use crate::random::Stream;
use crate::{Real, Result};

/// Points of a cell, on average.
const POINTS_PER_CELL: usize = 512;
/// Cells that every point is compared with at first.
const FIRST_CELLS: usize = 32;
/// Cells that are worth visiting for a missing neighbour of each point, in units of those visited already. In round clusters of 50
/// dimensions half as many more cells find one of twenty.
const CELLS_FOR_MISSING: f64 = 10.0;
/// Points for each centre, and rounds, from which the centres are found.
const SAMPLES_PER_CENTRE: usize = 16;
const ROUNDS: usize = 4;
/// Points that look for their nearest centres at a time, and how many of them on one thread.
const POINTS_PER_TURN: usize = 1 << 18;
const POINTS_PER_PIECE: usize = 256;

/// The points, each in the cell of the centre nearest to it.
pub(super) struct Cells<E> {
    centres: Cloud<E>,
    /// The points of each cell.
    members: Vec<Vec<u32>>,
    /// So many cells nearest to it every point has been compared with.
    visited: usize,
}

impl<E: Real> Cells<E> {
    pub fn new(cloud: &Cloud<E>, seed: u64, exec: &Exec) -> Result<Self> {
        let count = (cloud.len() / POINTS_PER_CELL).max(1);
        let mut stream = Stream::new(seed, 0);
        let sample: Vec<u32> = (0..count * SAMPLES_PER_CENTRE).map(|_| stream.below(cloud.len()) as u32).collect();
        let mut centres = Cloud::empty(cloud.dimension());
        centres.gather(cloud, &sample[..count]);
        for _ in 0..ROUNDS {
            let labels = nearest_centres(cloud, &sample, &centres, 1, exec)?;
            centres = centres.moved(cloud, &sample, &labels, exec)?;
        }
        let all: Vec<u32> = (0..cloud.len() as u32).collect();
        let mut members = vec![Vec::new(); count];
        let labels = nearest_centres(cloud, &all, &centres, 1, exec)?;
        labels.iter().zip(all).for_each(|(&cell, point)| members[cell as usize].push(point));
        Ok(Self { centres, members, visited: 0 })
    }

    /// Compares every point with those of some more cells, the more the larger a share of its neighbours is missing; returns whether
    /// there were any.
    pub fn visit(&mut self, missing: f64, cloud: &Cloud<E>, graph: &mut Graph<E>, exec: &Exec) -> Result<bool> {
        if self.visited == self.centres.len() {
            return Ok(false);
        }
        let more = if self.visited == 0 {
            FIRST_CELLS
        } else {
            let share = (CELLS_FOR_MISSING * missing).clamp(0.125, 1.0);
            (share * self.visited as f64).ceil() as usize
        };
        let ranks = self.visited..self.centres.len().min(self.visited + more);
        let all: Vec<u32> = (0..cloud.len() as u32).collect();
        for points in all.chunks(POINTS_PER_TURN) {
            let visitors = self.visitors(cloud, points, ranks.clone(), exec)?;
            let groups = visitors.iter().zip(&self.members);
            let groups: Vec<_> = groups.map(|(points, candidates)| Group { points, candidates }).collect();
            compare_groups(cloud, &groups, graph, exec)?;
        }
        self.visited = ranks.end;
        Ok(true)
    }

    /// For each cell, which of some points have it at one of these ranks among their nearest.
    fn visitors(&self, cloud: &Cloud<E>, points: &[u32], ranks: Range<usize>, exec: &Exec) -> Result<Vec<Vec<u32>>> {
        let mut visitors = vec![Vec::new(); self.members.len()];
        let cells = nearest_centres(cloud, points, &self.centres, ranks.end, exec)?;
        for (&point, cells) in points.iter().zip(cells.chunks_exact(ranks.end)) {
            cells[ranks.clone()].iter().for_each(|&cell| visitors[cell as usize].push(point));
        }
        Ok(visitors)
    }
}

/// The `count` nearest centres of each point, nearest first.
fn nearest_centres<E: Real>(
    cloud: &Cloud<E>,
    points: &[u32],
    centres: &Cloud<E>,
    count: usize,
    exec: &Exec,
) -> Result<Vec<u32>> {
    let mut found = vec![0; points.len() * count];
    exec.for_pieces(
        &mut found,
        POINTS_PER_PIECE * count,
        || Cloud::empty(cloud.dimension()),
        |first, piece, rows| {
            let points = &points[first / count..][..piece.len() / count];
            rows.gather(cloud, points);
            let bars = vec![E::INFINITY; points.len()];
            let nearest = nearest(rows, centres, 0..centres.len(), count, &bars, exec)?;
            let places = nearest.iter().flatten().map(|&(_, place)| place);
            piece.iter_mut().zip(places).for_each(|(cell, place)| *cell = place);
            Ok(())
        },
    )?;
    Ok(found)
}
