//! Approximate nearest neighbours of many points.
//!
//! 1. Some points, the probes, are compared with all others; they estimate the recall at any time.
//! 2. All pairs in the leaves of one random projection tree are compared: the first graph.
//! 3. If its recall is a quarter or more, further trees and rounds of NN-descent improve it.
//! 4. While the recall is too small, every point is compared with more of its nearest cells.
//!
//! Trees are efficient for points on few dimensions. In many dimensions a cut separates about every
//! third pair of neighbours; cells are better there. Candidates are screened by products and confirmed by
//! differences: the distances of the result are exact, only the choice of neighbours is
//! approximate.
//!
//! | file | idea |
//! |---|---|
//! | `cloud` | points and products between them |
//! | `reduction` | projection on fewer dimensions if it keeps the neighbours |
//! | `compare`, `smallest` | comparison of groups of points; selection of the smallest values |
//! | `forest`, `cells` | random projection trees; cells of nearby centres |
//! | `graph`, `descent` | the best neighbours so far; rounds of NN-descent |
//! | `probes` | estimate of the recall |

pub(super) mod cells;
pub(super) mod cloud;
pub(super) mod compare;
mod descent;
mod forest;
mod graph;
mod probes;
mod reduction;
pub(super) mod smallest;

use super::nearest::{Nearest, NeighbourRow};
use super::points::{DensePoints, Keys};
use super::scan;
use super::screen::{Centred, is_fine_enough};
use crate::ground::prefetch::prefetch;
use crate::ground::random::mix;
use crate::{Exec, Real, Result};
use cells::Cells;
use cloud::Cloud;
use compare::compare_groups;
use descent::Sampling;
use forest::{Leaves, grow};
use graph::Graph;
use probes::RecallProbes;
use reduction::reduce_dimension;

/// Rounds continue while this share of all entries is new after a round, or the missing share.
const NEARLY_SETTLED: f64 = 0.1;
/// Recall of the first tree from which on more trees are grown. Measured at 100,000 points: 0.4 on
/// curved surfaces, 0.3 and 0.2 in round clusters of 20 and 50 dimensions.
const WORTH_MORE_TREES: f64 = 0.25;
/// Rows of the result that one thread computes at a time, and entries between a prefetch and its
/// use.
const ROWS_PER_PIECE: usize = 512;
const PREFETCH_AHEAD: usize = 4;

/// Share of the missing neighbours that a round leaves.
const LEFT_BY_A_ROUND: f64 = 0.4;
/// A round takes the share of the points that is expected to find what is missing, times this, and at
/// least this share.
const SPARE_SHARE: f64 = 1.25;
const LEAST_SHARE: f64 = 0.1;
/// No further tree is grown after one that left more than this share of the missing neighbours.
/// Measured: 0.6 on curved surfaces, 0.7 and growing on images of digits.
const LEFT_BY_A_TREE: f64 = 0.75;
/// Number of points in a leaf.
const LEAF: usize = 1024;
/// Additional neighbours kept during the search; with reduced dimensions at least this many thirds
/// of `k`, because the nearest reduced points are not exactly the nearest points.
const SPARE: usize = 5;
const SPARE_THIRDS: usize = 2;
/// Fresh and settled neighbours of a point that take part in a round.
const SAMPLE: usize = 20;

/// Accuracy and seed of an approximate search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApproximateSettings {
    /// Seed of random directions and samples.
    pub seed: u64,
    /// Share of the nearest neighbours to find, estimated on the probes.
    pub recall: f64,
}

/// Keys of the random streams; tree `i` has the key `2 i` and round `i` the key `2 i + 1`.
const PROBES: u64 = !0;
const CELLS: u64 = !1;
const REDUCTION: u64 = !2;

impl ApproximateSettings {
    fn seed_for(&self, key: u64) -> u64 {
        mix(self.seed ^ mix(key))
    }
}

/// Finds `k` near other points of each point.
pub(super) fn search<T: Real>(
    points: &DensePoints<'_, T>,
    k: usize,
    settings: &ApproximateSettings,
    exec: &Exec,
) -> Result<Vec<NeighbourRow>> {
    let centred = Centred::new(points, exec)?;
    let squared_norm = |i: usize| centred.squared_norm(i);
    if is_fine_enough::<f32>(points, squared_norm) {
        find(points, Cloud::<f32>::new(points, &centred, exec)?, k, settings, exec)
    } else if is_fine_enough::<f64>(points, squared_norm) {
        find(points, Cloud::<f64>::new(points, &centred, exec)?, k, settings, exec)
    } else {
        // The points are so close to each other and so far from the mean that products cannot
        // separate them.
        scan::search(points, k, exec)
    }
}

fn find<T: Real, E: Real>(
    points: &DensePoints<'_, T>,
    cloud: Cloud<E>,
    k: usize,
    settings: &ApproximateSettings,
    exec: &Exec,
) -> Result<Vec<NeighbourRow>> {
    let mut search = ApproximateSearch::from_first_tree(points, cloud, k, settings, exec)?;
    let mut missing = search.probes.missing(&search.graph);
    if search.probes.recall(&search.graph) >= WORTH_MORE_TREES {
        search.grow_trees()?;
        missing = search.run_rounds()?;
    }
    search.visit_cells(missing)?;
    search.finish(k)
}

/// The state of a search.
struct ApproximateSearch<'a, T, E> {
    points: &'a DensePoints<'a, T>,
    settings: &'a ApproximateSettings,
    exec: &'a Exec,
    probes: RecallProbes<'a, T>,
    /// The points in the order of the first tree, projected if that keeps the neighbours.
    cloud: Cloud<E>,
    /// The best neighbours so far.
    graph: Graph<E>,
    /// Index of the point at each place of the cloud.
    order: Vec<u32>,
    /// Largest number of points in a leaf.
    leaf: usize,
    /// Number of rounds so far.
    rounds: u64,
}

impl<'a, T: Real, E: Real> ApproximateSearch<'a, T, E> {
    /// Draws the probes, reduces the dimension if possible, and builds a graph from one tree.
    ///
    /// Points are stored in the order of the leaves, so that points compared together are close in
    /// memory.
    fn from_first_tree(
        points: &'a DensePoints<'a, T>,
        cloud: Cloud<E>,
        k: usize,
        settings: &'a ApproximateSettings,
        exec: &'a Exec,
    ) -> Result<Self> {
        let n = cloud.len();
        let mut probes = RecallProbes::new(points, &cloud, k, settings.recall, settings.seed_for(PROBES), exec)?;
        let width_if_reduced = (k + SPARE.max(SPARE_THIRDS * k / 3)).min(n - 1);
        // All pairs of a single leaf are compared anyway.
        let reduced = if n > LEAF {
            reduce_dimension(&cloud, &probes, width_if_reduced, settings.seed_for(REDUCTION), exec)?
        } else {
            None
        };
        let width = if reduced.is_some() { width_if_reduced } else { (k + SPARE).min(n - 1) };
        let cloud = reduced.unwrap_or(cloud);
        // Every leaf has more than `width` points, so every row is filled.
        let leaf = LEAF.max(2 * width + 2);
        let Leaves { order, ranges } = grow(&cloud, leaf, settings.seed_for(0), exec)?;
        let cloud = cloud.reordered(&order, exec)?;
        probes.renumber(order.clone());
        let mut graph = Graph::new(n, width)?;
        compare_groups(&cloud, &Leaves { order: (0..n as u32).collect(), ranges }.groups(), &mut graph, exec)?;
        Ok(Self { points, settings, exec, probes, cloud, graph, order, leaf, rounds: 0 })
    }

    /// Grows more trees until one round will suffice or one more tree is not worth its time.
    fn grow_trees(&mut self) -> Result<()> {
        let mut left = 1.0;
        for tree in 1.. {
            let unfound = 1.0 - self.probes.recall(&self.graph);
            if LEFT_BY_A_ROUND * unfound <= self.probes.tolerated() || unfound >= LEFT_BY_A_TREE * left {
                break;
            }
            left = unfound;
            let leaves = grow(&self.cloud, self.leaf, self.settings.seed_for(2 * tree), self.exec)?;
            compare_groups(&self.cloud, &leaves.groups(), &mut self.graph, self.exec)?;
        }
        Ok(())
    }

    /// Runs rounds of NN-descent until the recall suffices or few entries are new; returns the
    /// missing share.
    fn run_rounds(&mut self) -> Result<f64> {
        let mut missing = self.probes.missing(&self.graph);
        while missing > 0.0 {
            let found_by_a_round = (1.0 - LEFT_BY_A_ROUND) * (1.0 - self.probes.recall(&self.graph));
            let share = (SPARE_SHARE * missing / found_by_a_round).clamp(LEAST_SHARE, 1.0);
            let seed = self.settings.seed_for(2 * self.rounds + 1);
            let sampling = Sampling { count: SAMPLE, share, seed };
            let entered = descent::round(&self.cloud, &mut self.graph, sampling, self.exec)?;
            self.rounds += 1;
            missing = self.probes.missing(&self.graph);
            // Later rounds add fewer and fewer entries: in total hardly more than the last one.
            if (entered as f64 / self.graph.entries.len() as f64) < share * missing.min(NEARLY_SETTLED) {
                break;
            }
        }
        Ok(missing)
    }

    /// Compares every point with the cells nearest to it until the recall suffices.
    fn visit_cells(&mut self, mut missing: f64) -> Result<()> {
        if missing <= 0.0 {
            return Ok(());
        }
        let seed = self.settings.seed_for(CELLS);
        let mut cells = Cells::visit_nearest(&self.cloud, &mut self.graph, seed, self.exec)?;
        missing = self.probes.missing(&self.graph);
        while missing > 0.0 {
            let missed = self.probes.missed_pairs(missing, &self.graph);
            if !cells.visit(&missed, &self.cloud, &mut self.graph, self.exec)? {
                break;
            }
            missing = self.run_rounds()?;
        }
        Ok(())
    }

    /// Selects the `k` nearest of the found points by exact distances, in the given order of the
    /// points.
    fn finish(&self, k: usize) -> Result<Vec<NeighbourRow>> {
        let Self { points, graph, order, .. } = self;
        // Near points are close in memory in the order of the cloud.
        let mut ordered = vec![NeighbourRow::default(); order.len()];
        self.exec.each_piece(&mut ordered, ROWS_PER_PIECE, |first, piece| {
            for (place, row) in (first..).zip(piece) {
                let point = order[place] as usize;
                let mut nearest = Nearest::new(k);
                for entry in place * graph.width..(place + 1) * graph.width {
                    let other = |entry: usize| order[graph.entries[entry].index() as usize];
                    let ahead = other((entry + PREFETCH_AHEAD).min(graph.entries.len() - 1)) as usize;
                    prefetch(points.data, ahead * points.dimension, points.dimension);
                    nearest.offer(points.distance(point, other(entry) as usize), other(entry));
                }
                *row = nearest.into();
            }
        })?;
        let mut found = vec![NeighbourRow::default(); order.len()];
        order.iter().zip(ordered).for_each(|(&point, row)| found[point as usize] = row);
        Ok(found)
    }
}
