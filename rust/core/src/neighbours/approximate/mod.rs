//! Approximate neighbours of many points.
//!
//! A few trees of large leaves, in which all pairs are compared by matrix products, give a first graph; rounds over
//! neighbours of neighbours (NN-descent) mend it. Candidates are screened by products and confirmed by differences; the
//! distances of the answer are exact, only its members are approximate. Points are renumbered along the first tree, so
//! that those that meet lie together in memory.
//!
//! | file | idea |
//! |---|---|
//! | `cloud` | the points, and products between a few of them |
//! | `forest` | trees that bring near points together |
//! | `graph` | the best neighbours so far, the same whatever the order in which they were found |
//! | `descent` | comparing neighbours of neighbours |

mod cloud;
mod descent;
mod forest;
mod graph;

use super::Found;
use super::nearest::Nearest;
use super::points::{DensePoints, Keys};
use super::screen::{Centred, is_coarse_enough};
use crate::exec::Exec;
use crate::random::mix;
use crate::{Real, Result};
use cloud::{Cloud, Gathered};
use forest::{Leaves, grow};
use graph::{Finds, Graph};

/// Leaves that are compared before what was found is entered.
const LEAVES_PER_TURN: usize = 64;
/// Rows of a leaf that are multiplied with all of it at a time.
const ROWS_PER_PRODUCT: usize = 128;
/// Rounds end when fewer than this share of all entries is new.
const SETTLED: f64 = 0.002;
/// Rounds at most; they usually end long before.
const MAX_ROUNDS: usize = 30;
/// Rows of the answer that one thread makes at a time.
const ROWS_PER_PIECE: usize = 512;

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Effort {
    /// Of the random directions and samples.
    pub seed: u64,
    /// Number of trees.
    pub trees: usize,
    /// Points in a leaf at most.
    pub leaf: usize,
    /// Neighbours kept on the way beyond those asked for.
    pub spare: usize,
    /// Neighbours of a point that meet in a round, fresh and settled each.
    pub sample: usize,
}

/// `k` near others of every point.
pub(super) fn search<T: Real>(
    points: &DensePoints<'_, T>,
    k: usize,
    effort: &Effort,
    exec: &Exec,
) -> Result<Vec<Found>> {
    let centred = Centred::new(points, exec)?;
    if is_coarse_enough(points, |i| centred.squared_norm(i)) {
        find(points, Cloud::<f32>::new(points, &centred, exec)?, k, effort, exec)
    } else {
        find(points, Cloud::<f64>::new(points, &centred, exec)?, k, effort, exec)
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
    let width = (k + effort.spare).min(n - 1);
    // Every leaf has more than `width` points, so that no row is left with an empty place.
    let largest = effort.leaf.max(2 * width + 2);
    let first = grow(&cloud, largest, mix(effort.seed), exec)?;
    let cloud = {
        let before = cloud;
        before.reordered(&first.order, exec)?
    };
    let mut graph = Graph::new(n, width);
    let Leaves { order, ranges } = first;
    let leaves = Leaves { order: (0..n as u32).collect(), ranges };
    compare_leaves(&cloud, &leaves, &mut graph, exec)?;
    for tree in 1..effort.trees {
        let leaves = grow(&cloud, largest, mix(effort.seed) ^ mix(tree as u64), exec)?;
        compare_leaves(&cloud, &leaves, &mut graph, exec)?;
    }
    for round in 0..MAX_ROUNDS {
        let entered = descent::round(&cloud, &mut graph, effort.sample, mix(effort.seed ^ mix(!(round as u64))), exec)?;
        if (entered as f64) < SETTLED * graph.entries.len() as f64 {
            break;
        }
    }
    finish(points, &graph, &order, k, exec)
}

/// Compares all pairs inside each leaf.
fn compare_leaves<E: Real>(cloud: &Cloud<E>, leaves: &Leaves, graph: &mut Graph<E>, exec: &Exec) -> Result<()> {
    for turn in leaves.ranges.chunks(LEAVES_PER_TURN) {
        let (worst, width) = (&graph.worst, graph.width);
        let finds = exec.map(turn.len(), |leaf| {
            let members = &leaves.order[turn[leaf].clone()];
            let mut finds = Finds::new(cloud.len());
            let mut gathered = Gathered::new(cloud.dimension());
            gathered.gather(cloud, members);
            let mut best = Vec::with_capacity(width + 1);
            for first in (0..members.len()).step_by(ROWS_PER_PRODUCT) {
                exec.check()?;
                let count = ROWS_PER_PRODUCT.min(members.len() - first);
                let norms: Vec<E> = (first..first + count).map(|i| gathered.norm(i)).collect();
                let values = gathered.compare(first, count);
                for (r, line) in values.chunks_exact_mut(members.len()).enumerate() {
                    let point = members[first + r];
                    // Not its own neighbour.
                    line[first + r] = E::INFINITY;
                    smallest(line, width, worst[point as usize] - norms[r], &mut best);
                    for &(_, other) in &best {
                        let other = members[other];
                        let distance = cloud.squared_distance(point, other);
                        if distance < worst[point as usize] {
                            finds.note(point, other, distance);
                        }
                    }
                }
            }
            Ok(finds)
        })?;
        graph.enter(&finds, exec)?;
    }
    Ok(())
}

/// The places of the `count` smallest values below `bar`, smallest first.
fn smallest<E: Real>(values: &[E], count: usize, bar: E, best: &mut Vec<(E, usize)>) {
    const GROUP: usize = 16;
    best.clear();
    let mut bar = bar;
    for (group, chunk) in values.chunks(GROUP).enumerate() {
        if !chunk.iter().fold(false, |any, &value| any | (value < bar)) {
            continue;
        }
        for (i, &value) in chunk.iter().enumerate() {
            if value < bar {
                let place = best.partition_point(|&(other, _)| other <= value);
                best.insert(place, (value, group * GROUP + i));
                if best.len() > count {
                    best.pop();
                    bar = best[count - 1].0;
                } else if best.len() == count {
                    bar = if best[count - 1].0 < bar { best[count - 1].0 } else { bar };
                }
            }
        }
    }
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
