//! The state of one run of k-means.

use std::ops::Range;

use super::problem::Problem;
use crate::ground::lanes::LANES;

/// The label of a point without cluster.
pub(super) const NONE: u32 = u32::MAX;

/// Consecutive rows. Arrays with an element for each row are padded to whole blocks of lanes.
pub(super) struct Piece<'a> {
    pub blocks: &'a [f64],
    pub count: usize,
    pub labels: Vec<u32>,
    /// Squared distance to the nearest centre.
    pub distances: Vec<f64>,
    /// During seeding: distances with each candidate as an additional centre, lane by lane, and
    /// their sums.
    pub trials: Vec<f64>,
    pub potentials: Vec<f64>,
    pub inertia: f64,
    /// Changes of sums and counts by the points that changed their cluster.
    pub moved: ClusterSums,
    pub changed: usize,
}

/// Sum and number of the points of each cluster.
#[derive(Clone)]
pub(super) struct ClusterSums {
    pub sums: Vec<f64>,
    pub counts: Vec<i64>,
}

impl ClusterSums {
    pub fn new(k: usize, dimension: usize) -> Self {
        Self { sums: vec![0.0; k * dimension], counts: vec![0; k] }
    }

    pub fn clear(&mut self) {
        self.sums.fill(0.0);
        self.counts.fill(0);
    }

    pub fn add(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
    }

    /// Moves a point from its cluster, if it has one, to another.
    #[inline(always)]
    pub fn move_point(&mut self, from: u32, to: usize, point: impl ExactSizeIterator<Item = f64>) {
        let d = point.len();
        self.counts[to] += 1;
        if from == NONE {
            self.sums[to * d..(to + 1) * d].iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
            return;
        }
        let from = from as usize;
        self.counts[from] -= 1;
        for (j, x) in point.enumerate() {
            self.sums[to * d + j] += x;
            self.sums[from * d + j] -= x;
        }
    }
}

/// One run.
pub(super) struct Run<'a> {
    pub problem: &'a Problem<'a>,
    pub pieces: Vec<Piece<'a>>,
    pub centers: Vec<f64>,
    pub clusters: ClusterSums,
    pub inertia: f64,
    pub iterations: usize,
    pub converged: bool,
}

impl<'a> Run<'a> {
    pub fn new(problem: &'a Problem<'a>) -> Self {
        let sums = ClusterSums::new(problem.k, problem.dimension);
        let piece = |rows: Range<usize>| {
            let count = rows.len();
            let places = count.next_multiple_of(LANES);
            let mut distances = vec![f64::INFINITY; places];
            // Padding must not count during seeding.
            distances[count..].fill(0.0);
            Piece {
                blocks: problem.lanes.blocks(rows.start, count),
                count,
                labels: vec![NONE; places],
                distances,
                trials: Vec::new(),
                potentials: Vec::new(),
                inertia: 0.0,
                moved: sums.clone(),
                changed: 0,
            }
        };
        Self {
            problem,
            pieces: problem.pieces().map(piece).collect(),
            centers: Vec::with_capacity(sums.sums.len()),
            clusters: sums,
            inertia: 0.0,
            iterations: 0,
            converged: false,
        }
    }
}
