//! Greedy k-means++: the initial centres.
//!
//! Each further centre is the best of `2 + ln k` candidates, drawn with probabilities proportional
//! to their squared distance to the nearest centre: the one that lowers the sum of these distances
//! most.
//!
//! Reference: Arthur and Vassilvitskii 2007, "k-means++: the advantages of careful seeding".

use super::run::{Piece, Run};
use crate::ground::lanes::{LANES, TILE, empty_tiles, put, squared_distances};
use crate::{Error, Exec, Result, Stream};

impl Run<'_> {
    /// Chooses the initial centres.
    pub fn seed(&mut self, random: &mut Stream, exec: &Exec) -> Result<()> {
        let trials = 2 + (self.problem.k as f64).ln() as usize;
        let mut candidates = vec![random.below(self.problem.n)];
        for c in 0..self.problem.k {
            if c > 0 {
                let total: f64 = self.pieces.iter().map(|piece| piece.potentials[0]).sum();
                if total <= 0.0 {
                    let k = self.problem.k;
                    let message = format!("n_clusters: expected at most {c}, the number of distinct points, got {k}");
                    return Err(Error::Invalid(message));
                }
                candidates = (0..trials).map(|_| self.draw(random.uniform() * total)).collect();
            }
            let best = self.try_candidates(&candidates, exec)?;
            self.centers.extend(self.problem.lanes.point(candidates[best]));
        }
        self.pieces.iter_mut().for_each(|piece| piece.trials = Vec::new());
        Ok(())
    }

    /// The point at which the cumulative squared distance exceeds `target`, always at a positive
    /// distance.
    fn draw(&self, mut target: f64) -> usize {
        let mut chosen = 0;
        for (p, piece) in self.pieces.iter().enumerate() {
            let potential = piece.potentials[0];
            if potential <= 0.0 {
                continue;
            }
            chosen = p;
            if target < potential {
                break;
            }
            target -= potential;
        }
        let mut sum = 0.0;
        let mut last = 0;
        for (i, &distance) in self.pieces[chosen].distances.iter().enumerate() {
            sum += distance;
            if distance > 0.0 {
                last = i;
                if sum > target {
                    break;
                }
            }
        }
        chosen * self.problem.rows_per_piece + last
    }

    /// Adds the candidate with the smallest sum of squared distances as a centre; returns its
    /// number.
    fn try_candidates(&mut self, candidates: &[usize], exec: &Exec) -> Result<usize> {
        let d = self.problem.dimension;
        let mut tiles = empty_tiles(candidates.len(), d);
        for (t, &candidate) in candidates.iter().enumerate() {
            put(&mut tiles[t / TILE * TILE * d..], t % TILE, self.problem.lanes.point(candidate));
        }
        let count = candidates.len();
        exec.each_piece(&mut self.pieces, 1, |_, piece| {
            let piece = &mut piece[0];
            piece.trials.resize(count.next_multiple_of(TILE) * piece.distances.len(), 0.0);
            piece.potentials.clear();
            try_in_piece(piece, &tiles, d);
        })?;
        let total = |t: usize| -> f64 { self.pieces.iter().map(|piece| piece.potentials[t]).sum() };
        let best = (1..count).fold(0, |best, t| if total(t) < total(best) { t } else { best });
        for piece in &mut self.pieces {
            let per_block = count.next_multiple_of(TILE) * LANES;
            let chosen = piece.trials.chunks_exact(per_block).map(|block| &block[best * LANES..(best + 1) * LANES]);
            piece.distances.chunks_exact_mut(LANES).zip(chosen).for_each(|(own, new)| own.copy_from_slice(new));
            piece.potentials.swap(0, best);
        }
        Ok(best)
    }
}

/// Distances of a piece to candidates.
#[pulp::with_simd(try_in_piece = pulp::Arch::new())]
#[inline(always)]
fn try_in_piece_simd<S: pulp::Simd>(_: S, piece: &mut Piece<'_>, tiles: &[f64], dimension: usize) {
    let count = tiles.len() / (TILE * dimension);
    let mut sums = vec![[[0.0; LANES]; TILE]; count];
    let blocks = piece.blocks.chunks_exact(LANES * dimension).zip(piece.distances.chunks_exact(LANES));
    for ((block, nearest), trials) in blocks.zip(piece.trials.chunks_exact_mut(count * TILE * LANES)) {
        for (m, tile) in tiles.chunks_exact(TILE * dimension).enumerate() {
            let distances = squared_distances(block, tile);
            for t in 0..TILE {
                for l in 0..LANES {
                    let d = if distances[t][l] < nearest[l] { distances[t][l] } else { nearest[l] };
                    trials[(m * TILE + t) * LANES + l] = d;
                    sums[m][t][l] += d;
                }
            }
        }
    }
    piece.potentials.extend(sums.iter().flatten().map(|lane| lane.iter().sum::<f64>()));
}
