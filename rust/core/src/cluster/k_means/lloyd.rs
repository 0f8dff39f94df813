//! Lloyd's iteration: assign points to the nearest centre, move centres to the means.
//!
//! Sums of clusters are updated by the points that change their cluster. Most iterations move few
//! points.
//!
//! Reference: Lloyd 1982, doi:10.1109/TIT.1982.1056489.

use super::run::{Piece, Run};
use crate::ground::lanes::{LANES, Lane, TILE, empty_tiles, put, squared_distances};
use crate::{Exec, Result};

impl Run<'_> {
    /// Iterates until the centres rest or `max_iterations` is reached.
    pub fn iterate(&mut self, max_iterations: usize, tolerance: f64, exec: &Exec) -> Result<()> {
        while self.iterations < max_iterations && !self.converged {
            self.iterations += 1;
            if !self.assign(exec)? {
                self.converged = true;
                return Ok(());
            }
            self.converged = self.update() <= tolerance;
        }
        // Assigns the points to the final centres.
        self.assign(exec)?;
        Ok(())
    }

    /// Assigns every point to its nearest centre; returns true if a label changed.
    pub fn assign(&mut self, exec: &Exec) -> Result<bool> {
        exec.check()?;
        let d = self.problem.dimension;
        let mut tiles = empty_tiles(self.problem.k, d);
        for (c, center) in self.centers.chunks_exact(d).enumerate() {
            put(&mut tiles[c / TILE * TILE * d..], c % TILE, center.iter().copied());
        }
        exec.each_piece(&mut self.pieces, 1, |_, piece| {
            assign_piece(&mut piece[0], &tiles, d);
        })?;
        for piece in self.pieces.iter().filter(|piece| piece.changed > 0) {
            self.clusters.add(&piece.moved);
        }
        let relocated = self.refill_empty();
        self.inertia = self.pieces.iter().map(|piece| piece.inertia).sum();
        Ok(relocated || self.pieces.iter().any(|piece| piece.changed > 0))
    }

    /// Moves to each empty cluster the point farthest from its centre, unless it is alone in its
    /// cluster.
    ///
    /// Such a point at a positive distance exists because there are at least as many distinct
    /// points as clusters.
    fn refill_empty(&mut self) -> bool {
        let d = self.problem.dimension;
        let empty: Vec<usize> = (0..self.problem.k).filter(|&c| self.clusters.counts[c] == 0).collect();
        for &c in &empty {
            let mut farthest = (0, 0, -1.0);
            for (p, piece) in self.pieces.iter().enumerate() {
                for (i, (&distance, &label)) in piece.distances.iter().zip(&piece.labels).take(piece.count).enumerate()
                {
                    if distance > farthest.2 && self.clusters.counts[label as usize] > 1 {
                        farthest = (p, i, distance);
                    }
                }
            }
            let (p, i, distance) = farthest;
            let point: Vec<f64> = self.problem.lanes.point(p * self.problem.rows_per_piece + i).collect();
            let piece = &mut self.pieces[p];
            self.clusters.move_point(piece.labels[i], c, point.iter().copied());
            piece.labels[i] = c as u32;
            piece.distances[i] = 0.0;
            piece.inertia -= distance;
            self.centers[c * d..(c + 1) * d].copy_from_slice(&point);
        }
        !empty.is_empty()
    }

    /// Moves centres to the means of their points; returns the sum of squared shifts.
    fn update(&mut self) -> f64 {
        let mut shift = 0.0;
        let lines = self
            .centers
            .chunks_exact_mut(self.problem.dimension)
            .zip(self.clusters.sums.chunks_exact(self.problem.dimension));
        for ((center, sums), &count) in lines.zip(&self.clusters.counts) {
            for (c, sum) in center.iter_mut().zip(sums) {
                let mean = sum / count as f64;
                shift += (mean - *c) * (mean - *c);
                *c = mean;
            }
        }
        shift
    }
}

/// Assigns the points of a piece.
#[pulp::with_simd(assign_piece = pulp::Arch::new())]
#[inline(always)]
fn assign_piece_simd<S: pulp::Simd>(_: S, piece: &mut Piece<'_>, tiles: &[f64], dimension: usize) {
    if piece.changed > 0 {
        piece.moved.clear();
    }
    piece.changed = 0;
    let mut inertia: Lane = [0.0; LANES];
    let blocks = piece.blocks.chunks_exact(LANES * dimension);
    let state = piece.labels.chunks_exact_mut(LANES).zip(piece.distances.chunks_exact_mut(LANES));
    for (b, (block, (labels, distances))) in blocks.zip(state).enumerate() {
        let (nearest, which) = nearest_center(block, tiles, dimension);
        distances.copy_from_slice(&nearest);
        let valid = LANES.min(piece.count - b * LANES);
        for l in 0..LANES {
            inertia[l] += if l < valid { nearest[l] } else { 0.0 };
        }
        let mut same = true;
        for l in 0..LANES {
            same &= u64::from(labels[l]) == which[l];
        }
        if same {
            continue;
        }
        for l in (0..valid).filter(|&l| u64::from(labels[l]) != which[l]) {
            let point = block.chunks_exact(LANES).map(|line| line[l]);
            piece.moved.move_point(labels[l], which[l] as usize, point);
        }
        for (label, &new) in labels[..valid].iter_mut().zip(&which) {
            piece.changed += usize::from(*label != new as u32);
            *label = new as u32;
        }
    }
    piece.inertia = inertia.iter().sum();
}

/// Squared distance and index of the nearest centre in each lane.
#[inline(always)]
fn nearest_center(block: &[f64], tiles: &[f64], dimension: usize) -> (Lane, [u64; LANES]) {
    let mut nearest = [f64::INFINITY; LANES];
    let mut which = [0_u64; LANES];
    for (m, tile) in tiles.chunks_exact(TILE * dimension).enumerate() {
        let distances = squared_distances(block, tile);
        for (t, distances) in distances.iter().enumerate() {
            for l in 0..LANES {
                let closer = distances[l] < nearest[l];
                nearest[l] = if closer { distances[l] } else { nearest[l] };
                which[l] = if closer { (m * TILE + t) as u64 } else { which[l] };
            }
        }
    }
    (nearest, which)
}
