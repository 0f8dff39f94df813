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
//! Long points are shortened where few numbers of each tell who is near. Candidates are screened by products and confirmed by
//! differences; the distances of the answer are exact, only its members are approximate. Points are renumbered along the
//! first tree, so that those that meet lie together in memory.
//!
//! | file | idea |
//! |---|---|
//! | `cloud` | the points, and products between a few of them |
//! | `shorten` | the points by fewer numbers each, where these tell who is near |
//! | `compare` | points and others, all with all |
//! | `smallest` | the nearest out of many |
//! | `forest` | trees that bring near points together |
//! | `cells` | the surroundings of a point, nearest first |
//! | `graph` | the best neighbours so far, the same whatever the order in which they were found |
//! | `descent` | comparing neighbours of neighbours |
//! | `probe` | how much is still missing, and where |

mod cells;
mod cloud;
mod compare;
mod descent;
mod forest;
mod graph;
mod probe;
mod shorten;
mod smallest;

use super::nearest::{Found, Nearest};
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
use probe::Probes;
use shorten::shorten;

/// Rounds go on while this share of all entries is new after one, or as much as is missing.
const NEARLY_SETTLED: f64 = 0.1;
/// More trees are grown if the first one finds this share of the neighbours: on curved surfaces it is 0.4, in round clusters of 20
/// and 50 dimensions 0.3 and 0.2 out of 100,000.
const WORTH_MORE_TREES: f64 = 0.25;
/// Rows of the answer that one thread makes at a time, and how many entries before one is looked at its row is asked for.
const ROWS_PER_PIECE: usize = 512;
const PREFETCH_AHEAD: usize = 4;

/// A round leaves about this share of what was missing before it.
const LEFT_BY_A_ROUND: f64 = 0.4;
/// One more tree is not worth it after one that left more than this share: on curved surfaces it is 0.6, on images of digits
/// 0.7 and growing.
const LEFT_BY_A_TREE: f64 = 0.75;
/// Points in a leaf.
const LEAF: usize = 1024;
/// Neighbours kept on the way beyond those asked for; and at least so many thirds of these where points were shortened, because by fewer
/// numbers neighbours are not quite the nearest.
const SPARE: usize = 5;
const SPARE_THIRDS: usize = 2;
/// Neighbours of a point that meet in a round, fresh and settled each.
const SAMPLE: usize = 15;

/// How good the answer has to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Of the random directions and samples.
    pub seed: u64,
    /// Share of the nearest neighbours that are to be found, estimated on some points.
    pub recall: f64,
}

/// `k` near others of every point.
pub(super) fn search<T: Real>(
    points: &DensePoints<'_, T>,
    k: usize,
    effort: &Effort,
    exec: &Exec,
) -> Result<Vec<Found>> {
    let centred = Centred::new(points, exec)?;
    let squared_norm = |i: usize| centred.squared_norm(i);
    if is_fine_enough::<f32>(points, squared_norm) {
        find(points, Cloud::<f32>::new(points, &centred, exec)?, k, effort, exec)
    } else if is_fine_enough::<f64>(points, squared_norm) {
        find(points, Cloud::<f64>::new(points, &centred, exec)?, k, effort, exec)
    } else {
        // Points so near to each other and so far from the mean that no product tells them apart.
        scan::search(points, k, exec)
    }
}

fn find<T: Real, E: Real>(
    points: &DensePoints<'_, T>,
    cloud: Cloud<E>,
    k: usize,
    effort: &Effort,
    exec: &Exec,
) -> Result<Vec<Found>> {
    let n = cloud.len();
    let seed = |purpose: u64| mix(effort.seed ^ mix(purpose));
    let mut probes = Probes::new(points, &cloud, k, effort.recall, seed(!0), exec)?;
    let width_if_short = (k + SPARE.max(SPARE_THIRDS * k / 3)).min(n - 1);
    // One leaf has all pairs anyway.
    let short = if n > LEAF { shorten(&cloud, &probes, width_if_short, seed(!2), exec)? } else { None };
    let (cloud, width) = match short {
        Some(short) => {
            drop(cloud);
            (short, width_if_short)
        }
        None => (cloud, (k + SPARE).min(n - 1)),
    };
    // Every leaf has more than `width` points, so that no row is left with an empty place.
    let leaf = LEAF.max(2 * width + 2);
    let Leaves { order, ranges } = grow(&cloud, leaf, seed(0), exec)?;
    let cloud = cloud.reordered(&order, exec)?;
    probes.renumber(order.clone());
    let mut graph = Graph::new(n, width);
    compare_groups(&cloud, &Leaves { order: (0..n as u32).collect(), ranges }.groups(), &mut graph, exec)?;
    let mut rounds = 0;
    // Returns what is still missing.
    let mut settle = |graph: &mut Graph<E>| -> Result<f64> {
        let mut missing = probes.missing(graph);
        while missing > 0.0 {
            let entered = descent::round(&cloud, graph, SAMPLE, seed(2 * rounds + 1), exec)?;
            rounds += 1;
            missing = probes.missing(graph);
            // Rounds to come enter less and less: together hardly more than the last one.
            if (entered as f64 / graph.entries.len() as f64) < missing.min(NEARLY_SETTLED) {
                break;
            }
        }
        Ok(missing)
    };
    let mut missing = probes.missing(&graph);
    if probes.recall(&graph) >= WORTH_MORE_TREES {
        let mut left = 1.0;
        for tree in 1.. {
            let unfound = 1.0 - probes.recall(&graph);
            if LEFT_BY_A_ROUND * unfound <= probes.spared() || unfound >= LEFT_BY_A_TREE * left {
                break;
            }
            left = unfound;
            let leaves = grow(&cloud, leaf, seed(2 * tree), exec)?;
            compare_groups(&cloud, &leaves.groups(), &mut graph, exec)?;
        }
        missing = settle(&mut graph)?;
    }
    let mut cells: Option<Cells<E>> = None;
    while missing > 0.0 {
        let cells = match &mut cells {
            Some(cells) => cells,
            None => cells.insert(Cells::new(&cloud, seed(!1), exec)?),
        };
        let (pairs, wanted) = probes.missed_pairs(missing, &graph);
        if !cells.visit(&pairs, wanted, &cloud, &mut graph, exec)? {
            break;
        }
        missing = settle(&mut graph)?;
    }
    finish(points, &graph, &order, k, exec)
}

/// The `k` nearest of those found, by exact distances, in the order of the points themselves.
fn finish<T: Real, E: Real>(
    points: &DensePoints<'_, T>,
    graph: &Graph<E>,
    order: &[u32],
    k: usize,
    exec: &Exec,
) -> Result<Vec<Found>> {
    // In the order of the cloud, in which points that are near each other follow each other.
    let mut ordered = vec![Found::default(); order.len()];
    exec.for_pieces(
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
    let mut found = vec![Found::default(); order.len()];
    order.iter().zip(ordered).for_each(|(&point, row)| found[point as usize] = row);
    Ok(found)
}
