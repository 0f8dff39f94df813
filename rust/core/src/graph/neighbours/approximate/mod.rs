//! Approximate neighbours of many points.
//!
//! Some points, the probes, are compared with all others, so that it is known how much is missing, and where. A tree of large
//! leaves, in which all pairs are compared by matrix products, gives a first graph. If it found a good share, more trees and
//! rounds over neighbours of neighbours (NN-descent) mend the graph. Else, or if that was not enough, every point is
//! compared with those of the cells nearest to it, as many as the probes need.
//!
//! Trees serve where the points lie on few dimensions. Where they fill many, a cut through a cloud parts about every third pair
//! of neighbours, while the cells near a point still come first. A pair meets if either point visits the cell of the other: a
//! million points in ten round clusters of 50 dimensions visit 61 of the 205 cells of a cluster for 0.95 of their
//! neighbours, and would have to visit half as many more if only the visitor looked.
//!
//! Long points are reduced where few numbers of each tell who is near. Candidates are screened by products and confirmed by
//! differences; the distances of the answer are exact, only its members are approximate. Points are renumbered along the
//! first tree, so that those that meet lie together in memory.
//!
//! | file | idea |
//! |---|---|
//! | `cloud` | the points, and products between a few of them |
//! | `reduction` | the points by fewer numbers each, where these tell who is near |
//! | `compare` | points and others, all with all |
//! | `smallest` | the nearest out of many |
//! | `forest` | trees that bring near points together |
//! | `cells` | the surroundings of a point, nearest first |
//! | `graph` | the best neighbours so far, the same whatever the order in which they were found |
//! | `descent` | comparing neighbours of neighbours |
//! | `probes` | how much is still missing, and where |

mod cells;
mod cloud;
mod compare;
mod descent;
mod forest;
mod graph;
mod probes;
mod reduction;
mod smallest;

use super::NeighbourRow;
use super::nearest::Nearest;
use super::points::{DensePoints, Keys};
use super::scan;
use super::screen::{Centred, is_fine_enough};
use crate::ground::exec::Exec;
use crate::ground::prefetch::prefetch;
use crate::ground::random::mix;
use crate::{Real, Result};
use cells::Cells;
use cloud::Cloud;
use compare::compare_groups;
use forest::{Leaves, grow};
use graph::Graph;
use probes::RecallProbes;
use reduction::reduce_dimension;

/// Rounds go on while this share of all entries is new after one, or as much as is missing.
const NEARLY_SETTLED: f64 = 0.1;
/// More trees are grown if the first one proposals this share of the neighbours: on curved surfaces it is 0.4, in round clusters of 20
/// and 50 dimensions 0.3 and 0.2 out of 100,000.
const WORTH_MORE_TREES: f64 = 0.25;
/// Rows of the answer that one thread makes at a time, and how many entries before one is looked at its row is target for.
const ROWS_PER_PIECE: usize = 512;
const PREFETCH_AHEAD: usize = 4;

/// A round leaves about this share of what was missing before it.
const LEFT_BY_A_ROUND: f64 = 0.4;
/// One more tree is not worth it after one that left more than this share: on curved surfaces it is 0.6, on images of digits
/// 0.7 and growing.
const LEFT_BY_A_TREE: f64 = 0.75;
/// Points in a leaf.
const LEAF: usize = 1024;
/// Neighbours kept on the way beyond those target for; and at least so many thirds of these where points were reduced, because by fewer
/// numbers neighbours are not quite the nearest.
const SPARE: usize = 5;
const SPARE_THIRDS: usize = 2;
/// Neighbours of a point that meet in a round, fresh and settled each.
const SAMPLE: usize = 15;

/// Accuracy and seed of an approximate search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ApproximateSettings {
    /// Seed of random directions and samples.
    pub seed: u64,
    /// Share of the nearest neighbours to find, estimated on the probes.
    pub recall: f64,
}

/// Uses of random numbers, each with a stream of its own.
enum Purpose {
    Probes,
    Reduction,
    Cells,
    Tree(u64),
    Round(u64),
}

impl ApproximateSettings {
    fn seed_for(&self, purpose: &Purpose) -> u64 {
        let key = match purpose {
            Purpose::Probes => !0,
            Purpose::Cells => !1,
            Purpose::Reduction => !2,
            Purpose::Tree(tree) => 2 * tree,
            Purpose::Round(round) => 2 * round + 1,
        };
        mix(self.seed ^ mix(key))
    }
}

/// Proposals `k` near other points of each point.
pub(super) fn search<T: Real>(
    points: &DensePoints<'_, T>,
    k: usize,
    effort: &ApproximateSettings,
    exec: &Exec,
) -> Result<Vec<NeighbourRow>> {
    let centred = Centred::new(points, exec)?;
    let squared_norm = |i: usize| centred.squared_norm(i);
    if is_fine_enough::<f32>(points, squared_norm) {
        find(points, Cloud::<f32>::new(points, &centred, exec)?, k, effort, exec)
    } else if is_fine_enough::<f64>(points, squared_norm) {
        find(points, Cloud::<f64>::new(points, &centred, exec)?, k, effort, exec)
    } else {
        // The points are so near to each other and so far from the mean that no product separates them.
        scan::search(points, k, exec)
    }
}

fn find<T: Real, E: Real>(
    points: &DensePoints<'_, T>,
    cloud: Cloud<E>,
    k: usize,
    effort: &ApproximateSettings,
    exec: &Exec,
) -> Result<Vec<NeighbourRow>> {
    let mut search = ApproximateSearch::plant(points, cloud, k, effort, exec)?;
    let mut missing = search.probes.missing(&search.graph);
    if search.probes.recall(&search.graph) >= WORTH_MORE_TREES {
        search.grow_trees()?;
        missing = search.settle()?;
    }
    search.visit_cells(missing)?;
    search.finish(k)
}

/// The state of a search.
struct ApproximateSearch<'a, T, E> {
    points: &'a DensePoints<'a, T>,
    effort: &'a ApproximateSettings,
    exec: &'a Exec,
    probes: RecallProbes<'a, T>,
    /// The points in the order of the first tree, reduced if possible.
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
    /// Draws the probes, shortens the points if possible, and makes a first graph from one tree.
    fn plant(
        points: &'a DensePoints<'a, T>,
        cloud: Cloud<E>,
        k: usize,
        effort: &'a ApproximateSettings,
        exec: &'a Exec,
    ) -> Result<Self> {
        let n = cloud.len();
        let seed = |purpose: Purpose| effort.seed_for(&purpose);
        let mut probes = RecallProbes::new(points, &cloud, k, effort.recall, seed(Purpose::Probes), exec)?;
        let width_if_reduced = (k + SPARE.max(SPARE_THIRDS * k / 3)).min(n - 1);
        // All pairs of a single leaf are compared anyway.
        let reduced = if n > LEAF {
            reduce_dimension(&cloud, &probes, width_if_reduced, seed(Purpose::Reduction), exec)?
        } else {
            None
        };
        let width = if reduced.is_some() { width_if_reduced } else { (k + SPARE).min(n - 1) };
        let cloud = reduced.unwrap_or(cloud);
        // Every leaf has more than `width` points, so every row is filled.
        let leaf = LEAF.max(2 * width + 2);
        let Leaves { order, ranges } = grow(&cloud, leaf, seed(Purpose::Tree(0)), exec)?;
        let cloud = cloud.reordered(&order, exec)?;
        probes.renumber(order.clone());
        let mut graph = Graph::new(n, width);
        compare_groups(&cloud, &Leaves { order: (0..n as u32).collect(), ranges }.groups(), &mut graph, exec)?;
        Ok(Self { points, effort, exec, probes, cloud, graph, order, leaf, rounds: 0 })
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
            let leaves = grow(&self.cloud, self.leaf, self.effort.seed_for(&Purpose::Tree(tree)), self.exec)?;
            compare_groups(&self.cloud, &leaves.groups(), &mut self.graph, self.exec)?;
        }
        Ok(())
    }

    /// Runs rounds of NN-descent until the recall suffices or few entries are new; returns the missing share.
    fn settle(&mut self) -> Result<f64> {
        let mut missing = self.probes.missing(&self.graph);
        while missing > 0.0 {
            let seed = self.effort.seed_for(&Purpose::Round(self.rounds));
            let entered = descent::round(&self.cloud, &mut self.graph, SAMPLE, seed, self.exec)?;
            self.rounds += 1;
            missing = self.probes.missing(&self.graph);
            // Later rounds enter fewer and fewer entries: together hardly more than the last one.
            if (entered as f64 / self.graph.entries.len() as f64) < missing.min(NEARLY_SETTLED) {
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
        let mut cells = Cells::new(&self.cloud, self.effort.seed_for(&Purpose::Cells), self.exec)?;
        while missing > 0.0 {
            let missed = self.probes.missed_pairs(missing, &self.graph);
            if !cells.visit(&missed, &self.cloud, &mut self.graph, self.exec)? {
                break;
            }
            missing = self.settle()?;
        }
        Ok(())
    }

    /// Selects the `k` nearest of the found points by exact distances, in the given order of the points.
    fn finish(&self, k: usize) -> Result<Vec<NeighbourRow>> {
        let Self { points, graph, order, .. } = self;
        // In the order of the cloud, in which near points are close in memory.
        let mut ordered = vec![NeighbourRow::default(); order.len()];
        self.exec.for_pieces(
            &mut ordered,
            ROWS_PER_PIECE,
            || (),
            |first, piece, ()| -> Result<()> {
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
                Ok(())
            },
        )?;
        let mut found = vec![NeighbourRow::default(); order.len()];
        order.iter().zip(ordered).for_each(|(&point, row)| found[point as usize] = row);
        Ok(found)
    }
}
