//! k-means: `k` centres that minimise `sum_i min_c |x_i - c|^2`.
//!
//! Several runs of greedy k-means++ and Lloyd's iteration; the run with the smallest sum is kept.
//! Cost of a run: O(n d k) for each of `2 + ln k` trials of the seeding, and O(n d k) an iteration.
//!
//! - Points are stored in blocks of lanes ([`lanes`](crate::ground::lanes)): distances need no sums
//!   across lanes and have the same bits on every machine.
//! - Distances are squared differences, not `|x|^2 - 2 x.c + |c|^2`: groups that are far apart
//!   compared with their size keep their structure.
//! - The sizes of pieces depend on the problem alone. Few points: runs are parallel, each on one
//!   thread. Many points: the pieces of one run are parallel. Sums are added in the order of the
//!   pieces, so the bits do not depend on threads.
//!
//! | file | idea |
//! |---|---|
//! | `run` | the state of one run |
//! | `seeding` | greedy k-means++ |
//! | `lloyd` | Lloyd's iteration |

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

/// Multiplications in a piece, so that another thread is worth its start.
const WORK_PER_PIECE: usize = 1 << 19;
/// Smallest number of rows in a piece: each piece holds the sums of all clusters.
const ROWS_PER_PIECE: usize = 1024;
/// Largest number of pieces, for the same reason.
const MAX_PIECES: usize = 128;
/// Up to this many points runs are parallel: each holds 12 bytes a point and the trials of its
/// seeding.
const SMALL: usize = 1 << 16;
/// The label of a point without cluster.
const NONE: u32 = u32::MAX;

/// Settings of k-means.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeansSettings {
    /// Number of clusters.
    pub n_clusters: usize,
    /// Number of runs.
    pub n_init: usize,
    /// Largest number of iterations of a run.
    pub max_iterations: usize,
    /// A run ends if the sum of squared shifts of the centres is at most this times the mean
    /// variance of a coordinate.
    pub tolerance: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// The best run.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeans {
    /// Cluster of each point, its nearest centre; clusters are numbered by their first point.
    pub labels: Vec<u32>,
    /// Row-major centres.
    pub centers: Vec<f64>,
    /// Sum of squared distances to the centres.
    pub inertia: f64,
    /// Number of iterations of this run.
    pub iterations: usize,
    /// True if the run ended before `max_iterations`.
    pub converged: bool,
}

/// Clusters row-major `points`.
///
/// Returns an error if a coordinate is not finite or if there are fewer distinct points than
/// clusters.
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

/// What all runs share.
struct Problem<'a> {
    lanes: &'a Lanes,
    n: usize,
    dimension: usize,
    rows_per_piece: usize,
    settings: &'a KMeansSettings,
    /// Sum of squared shifts up to which centres count as resting.
    tolerance: f64,
}

impl<'a> Problem<'a> {
    fn new(lanes: &'a Lanes, n: usize, dimension: usize, settings: &'a KMeansSettings, exec: &Exec) -> Result<Self> {
        let rows = (WORK_PER_PIECE / (dimension * settings.n_clusters)).max(ROWS_PER_PIECE).max(n.div_ceil(MAX_PIECES));
        // Pieces of equal size, in whole blocks of lanes.
        let rows_per_piece = n.div_ceil(n.div_ceil(rows)).next_multiple_of(LANES);
        let mut problem = Self { lanes, n, dimension, rows_per_piece, settings, tolerance: 0.0 };
        // The points are centred, so the mean square is the variance.
        let squares = exec.map(n.div_ceil(rows_per_piece), |p| {
            let rows = problem.rows(p);
            Ok(lanes.blocks(rows.start, rows.len()).iter().map(|x| x * x).sum::<f64>())
        })?;
        problem.tolerance = settings.tolerance * squares.iter().sum::<f64>() / (n * dimension) as f64;
        Ok(problem)
    }

    /// The rows of a piece.
    fn rows(&self, piece: usize) -> Range<usize> {
        let first = piece * self.rows_per_piece;
        first..(first + self.rows_per_piece).min(self.n)
    }

    /// The first run with the smallest inertia.
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

    /// Numbers clusters by their first point and converts centres to the units of the data.
    ///
    /// Equal partitions have equal labels.
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
