//! k-means: `k` centres that minimise `sum_i min_c |x_i - c|^2`.
//!
//! Greedy k-means++ seeds (Arthur and Vassilvitskii 2007; of `2 + ln k` candidates drawn by squared distance the one that
//! lowers the sum most), then Lloyd's iteration, several starts, the best kept. A start costs O(n d k) for its seeds, times
//! `2 + ln k`, and O(n d k) an iteration.
//!
//! Why it looks as it does:
//! - Points lie in blocks of lanes ([`lanes`](crate::ground::lanes)): distances need no horizontal sums, and give the same bits on
//!   every machine. They are squared differences, not `|x|^2 - 2 x.c + |c|^2`: groups far from each other compared with their
//!   size keep their structure.
//! - Sums of clusters follow the points that move. Most iterations move few, and the first counts as a move for all.
//! - Pieces of rows are cut by the size of the problem. Few points: starts run side by side, each on one thread. Many: one start
//!   after the other, its pieces in parallel. Either way sums are added in the order of the pieces, so the bits are the same.

mod lloyd;
mod run;
mod seeding;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::ground::exec::Exec;
use crate::ground::frame::Frame;
use crate::ground::lanes::{LANES, Lanes};
use crate::ground::random::Stream;
use crate::{Error, Real, Result};
use run::Run;

/// Multiplications that make a piece worth handing to another thread.
const WORK_PER_PIECE: usize = 1 << 19;
/// Rows in a piece, at least: each keeps sums of all clusters.
const ROWS_PER_PIECE: usize = 1024;
/// Pieces at most, for the same reason.
const MAX_PIECES: usize = 128;
/// Up to so many points starts run side by side: each holds 12 bytes a point and more for its seeds.
const SMALL: usize = 1 << 16;
/// The label of a point without a cluster.
const NONE: u32 = u32::MAX;

/// What to look for and when to stop.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeansSettings {
    /// Number of clusters.
    pub n_clusters: usize,
    /// Number of starts.
    pub n_init: usize,
    /// Iterations of each start, at most.
    pub max_iterations: usize,
    /// A start ends when its centres move (sum of squared distances) by no more than this times the mean variance of a coordinate.
    pub tolerance: f64,
    /// Everything random depends on it.
    pub seed: u64,
}

/// The best of the starts.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeans {
    /// Cluster of each point, all of `0..n_clusters` in order of their first point; the nearest centre, the smaller index of equals.
    pub labels: Vec<u32>,
    /// Centres, one after the other.
    pub centers: Vec<f64>,
    /// Sum of squared distances to the centres.
    pub inertia: f64,
    /// Iterations of this start.
    pub iterations: usize,
    /// Did the start end before its iterations were used up?
    pub converged: bool,
}

/// Clusters `points`, `n * dimension` numbers, a point after the other.
///
/// An error if a coordinate is not finite, or if there are fewer distinct points than clusters.
pub fn k_means<T: Real>(points: &[T], dimension: usize, settings: &KMeansSettings, exec: &Exec) -> Result<KMeans> {
    let n = points.len().checked_div(dimension).unwrap_or(0);
    let k = settings.n_clusters;
    let at_least_one = |what: &str| Err(Error::Invalid(format!("{what}: expected at least 1, got 0")));
    for (what, value) in [
        ("dimension", dimension),
        ("n_clusters", k),
        ("n_init", settings.n_init),
        ("max_iterations", settings.max_iterations),
    ] {
        if value == 0 {
            return at_least_one(what);
        }
    }
    Error::check_size("points", n * dimension, points.len())?;
    if k > n || n >= NONE as usize {
        return Err(Error::Invalid(format!("n_clusters: expected at most {n}, the number of points, got {k}")));
    }
    let frame = Frame::new(points, dimension, exec)?;
    let lanes = Lanes::new(points, &frame, dimension, n, Some, exec)?;
    let problem = Problem::new(&lanes, n, dimension, settings, exec)?;
    let best = problem.best_run(exec)?;
    Ok(problem.finish(&best, &frame))
}

/// What all starts share.
struct Problem<'a> {
    lanes: &'a Lanes,
    n: usize,
    dimension: usize,
    rows_per_piece: usize,
    settings: &'a KMeansSettings,
    /// Centres that move by no more than this (squared) have come to tolerance.
    tolerance: f64,
}

impl<'a> Problem<'a> {
    fn new(lanes: &'a Lanes, n: usize, dimension: usize, settings: &'a KMeansSettings, exec: &Exec) -> Result<Self> {
        let rows = (WORK_PER_PIECE / (dimension * settings.n_clusters)).max(ROWS_PER_PIECE).max(n.div_ceil(MAX_PIECES));
        // Pieces of one size, and whole blocks.
        let rows_per_piece = n.div_ceil(n.div_ceil(rows)).next_multiple_of(LANES);
        let mut problem = Self { lanes, n, dimension, rows_per_piece, settings, tolerance: 0.0 };
        // The frame's mean is that of the points, so the mean square is the variance.
        let squares = exec.map(n.div_ceil(rows_per_piece), |p| {
            let rows = problem.rows(p);
            Ok(lanes.blocks(rows.start, rows.len()).iter().map(|x| x * x).sum::<f64>())
        })?;
        problem.tolerance = settings.tolerance * squares.iter().sum::<f64>() / (n * dimension) as f64;
        Ok(problem)
    }

    /// Rows of a piece.
    fn rows(&self, piece: usize) -> Range<usize> {
        let first = piece * self.rows_per_piece;
        first..(first + self.rows_per_piece).min(self.n)
    }

    /// The first of the starts with the smallest inertia.
    fn best_run(&self, exec: &Exec) -> Result<Run<'_>> {
        let better = |best: Run<'a>, next: Run<'a>| if next.inertia < best.inertia { next } else { best };
        let count = self.settings.n_init;
        let first = |exec: &Exec| self.run(0, exec);
        if self.n <= SMALL && count >= exec.threads() {
            let starts = exec.map(count, |s| self.run(s, &exec.alone()))?;
            return starts.into_iter().reduce(better).map_or_else(|| first(exec), Ok);
        }
        (1..count).try_fold(first(exec)?, |best, s| Ok(better(best, self.run(s, exec)?)))
    }

    fn run(&self, number: usize, exec: &Exec) -> Result<Run<'a>> {
        let mut start = Run::new(self);
        start.seed(&mut Stream::new(self.settings.seed, number as u64), exec)?;
        start.iterate(self.settings.max_iterations, self.tolerance, exec)?;
        Ok(start)
    }

    /// Numbers clusters by their first point, so that equal partitions have equal labels, and leaves the frame.
    fn finish(&self, start: &Run<'_>, frame: &Frame) -> KMeans {
        let (k, d) = (self.settings.n_clusters, self.dimension);
        let mut number = vec![NONE; k];
        let mut centers = Vec::with_capacity(k * d);
        let mut labels = Vec::with_capacity(self.n);
        for piece in &start.pieces {
            for &label in &piece.labels[..piece.count] {
                let label = label as usize;
                if number[label] == NONE {
                    number[label] = (centers.len() / d) as u32;
                    centers.extend_from_slice(&start.centers[label * d..(label + 1) * d]);
                }
                labels.push(number[label]);
            }
        }
        centers.chunks_exact_mut(d).for_each(|row| frame.leave(row));
        let inertia = frame.leave_squared(start.inertia);
        KMeans { labels, centers, inertia, iterations: start.iterations, converged: start.converged }
    }
}
