//! Approximate neighbours of many points.
//!
//! A few trees of large leaves, in which all pairs are compared by matrix products, give a first graph; rounds over
//! neighbours of neighbours (NN-descent) mend it. Some points are then compared with all others: as long as too many
//! neighbours are missing, every point is compared with those of the cells nearest to it, more and more of them, each
//! time with further rounds. Candidates are screened by products and confirmed by differences; the distances of the
//! answer are exact, only its members are approximate. Points are renumbered along the first tree, so that those that
//! meet lie together in memory.
//!
//! Trees serve where the points lie on few dimensions. Where they fill many, a cut through a cloud parts about every third pair
//! of neighbours, while the cells near a point still come first: ten round clusters of 100,000 points in 50 dimensions have
//! seven of ten neighbours in the nearest fifth of the cells of a cluster.
//!
//! | file | idea |
//! |---|---|
//! | `cloud` | the points, and products between a few of them |
//! | `compare` | points and candidates, all with all |
//! | `forest` | trees that bring near points together |
//! | `cells` | the surroundings of a point, nearest first |
//! | `graph` | the best neighbours so far, the same whatever the order in which they were found |
//! | `descent` | comparing neighbours of neighbours |
//! | `probe` | how many are still missing |

mod cells;
mod cloud;
mod compare;
mod descent;
mod forest;
mod graph;
mod probe;

use super::Found;
use super::nearest::Nearest;
use super::points::{DensePoints, Keys};
use super::scan;
use super::screen::{Centred, is_fine_enough};
use crate::exec::Exec;
use crate::random::mix;
use crate::{Real, Result};
use cells::Cells;
use cloud::Cloud;
use compare::compare_groups;
use forest::{Leaves, grow};
use graph::Graph;

/// Once fewer than this share of all entries is new after a round, it is worth looking how much is missing.
const NEARLY_SETTLED: f64 = 0.1;
/// Rows of the answer that one thread makes at a time.
const ROWS_PER_PIECE: usize = 512;

/// Trees at the beginning, and points in a leaf of them.
const TREES: usize = 3;
const LEAF: usize = 1024;
/// Neighbours kept on the way beyond those asked for.
const SPARE: usize = 5;
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
    let width = (k + SPARE).min(n - 1);
    let seed = |purpose: u64| mix(effort.seed ^ mix(purpose));
    // Every leaf has more than `width` points, so that no row is left with an empty place.
    let leaf = LEAF.max(2 * width + 2);
    let Leaves { order, ranges } = grow(&cloud, leaf, seed(0), exec)?;
    let cloud = {
        let unordered = cloud;
        unordered.reordered(&order, exec)?
    };
    let mut graph = Graph::new(n, width);
    compare_groups(&cloud, &Leaves { order: (0..n as u32).collect(), ranges }.groups(), &mut graph, exec)?;
    for tree in 1..TREES {
        compare_groups(&cloud, &grow(&cloud, leaf, seed(2 * tree as u64), exec)?.groups(), &mut graph, exec)?;
    }
    let mut cells: Option<Cells<E>> = None;
    let mut rounds = 0;
    loop {
        let missing = loop {
            let entered = descent::round(&cloud, &mut graph, SAMPLE, seed(2 * rounds + 1), exec)?;
            rounds += 1;
            let fresh = entered as f64 / graph.entries.len() as f64;
            if fresh >= NEARLY_SETTLED {
                continue;
            }
            let missing = probe::missing(&cloud, &graph, k, effort.recall, seed(!0), exec)?;
            if missing <= 0.0 {
                return finish(points, &graph, &order, k, exec);
            }
            // Rounds to come enter less and less: together hardly more than the last one.
            if fresh < missing {
                break missing;
            }
        };
        let cells = match &mut cells {
            Some(cells) => cells,
            None => cells.insert(Cells::new(&cloud, seed(!1), exec)?),
        };
        if !cells.visit(missing, &cloud, &mut graph, exec)? {
            break;
        }
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
    let n = order.len();
    let mut place = vec![0_u32; n];
    order.iter().enumerate().for_each(|(at, &point)| place[point as usize] = at as u32);
    let mut found = vec![Found::default(); n];
    exec.for_pieces(
        &mut found,
        ROWS_PER_PIECE,
        || (),
        |first, piece, ()| -> Result<()> {
            for (i, row) in piece.iter_mut().enumerate() {
                let mut nearest = Nearest::new(k);
                for entry in graph.row(place[first + i]) {
                    let other = order[entry.index() as usize];
                    nearest.offer(points.distance(first + i, other as usize), other);
                }
                *row = nearest.into();
            }
            Ok(())
        },
    )?;
    Ok(found)
}
