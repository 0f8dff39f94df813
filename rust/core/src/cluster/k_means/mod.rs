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
//! | `problem` | the points and their pieces |
//! | `run` | the state of one run |
//! | `seeding` | greedy k-means++ |
//! | `lloyd` | Lloyd's iteration |

mod lloyd;
mod problem;
mod run;
mod seeding;
#[cfg(test)]
mod tests;

use crate::ground::frame::Frame;
use crate::ground::lanes::Lanes;
use crate::{Error, Exec, Real, Result, Stream};
use problem::Problem;
use run::{NONE, Run};

/// Up to this many points runs are parallel: each holds 12 bytes a point and the trials of its
/// seeding.
const SMALL: usize = 1 << 16;

/// Number of runs that are kept until the best of them is chosen.
const AT_ONCE: usize = 256;

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
    let problem = Problem::new(&lanes, n, dimension, k);
    Ok(finish(&best_run(&problem, settings, exec)?, &frame))
}

/// The first run with the smallest inertia.
fn best_run<'a>(problem: &'a Problem<'a>, settings: &KMeansSettings, exec: &Exec) -> Result<Run<'a>> {
    let tolerance = settings.tolerance * problem.sum_of_squares(exec)? / (problem.n * problem.dimension) as f64;
    let run = |number: usize, exec: &Exec| -> Result<Run<'a>> {
        let mut run = Run::new(problem);
        run.seed(&mut Stream::new(settings.seed, number as u64), exec)?;
        run.iterate(settings.max_iterations, tolerance, exec)?;
        Ok(run)
    };
    let better = |best: Run<'a>, next: Run<'a>| if next.inertia < best.inertia { next } else { best };
    if problem.n <= SMALL && settings.n_init >= exec.threads() {
        let mut best = None;
        for first in (0..settings.n_init).step_by(AT_ONCE) {
            let count = AT_ONCE.min(settings.n_init - first);
            let runs = exec.map(count, |number| run(first + number, &exec.alone()))?;
            best = best.into_iter().chain(runs).reduce(better);
        }
        return best.map_or_else(|| run(0, exec), Ok);
    }
    (1..settings.n_init).try_fold(run(0, exec)?, |best, number| Ok(better(best, run(number, exec)?)))
}

/// Numbers clusters by their first point and converts centres to the units of the data.
///
/// Equal partitions have equal labels.
fn finish(run: &Run<'_>, frame: &Frame) -> KMeans {
    let Problem { n, k, dimension: d, .. } = *run.problem;
    let mut number = vec![NONE; k];
    let mut centers = Vec::with_capacity(k * d);
    let mut labels = Vec::with_capacity(n);
    for piece in &run.pieces {
        for &label in &piece.labels[..piece.count] {
            let label = label as usize;
            if number[label] == NONE {
                number[label] = (centers.len() / d) as u32;
                centers.extend_from_slice(&run.centers[label * d..(label + 1) * d]);
            }
            labels.push(number[label]);
        }
    }
    centers.chunks_exact_mut(d).for_each(|row| frame.leave(row));
    let inertia = frame.leave_squared(run.inertia);
    KMeans { labels, centers, inertia, iterations: run.iterations, converged: run.converged }
}
