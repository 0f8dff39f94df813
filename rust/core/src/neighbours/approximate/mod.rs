//! Approximate neighbours of many points.
//!
//! A few trees of large leaves, in which all pairs are compared by matrix products, give a first graph; rounds over
//! neighbours of neighbours (NN-descent) mend it. Some points are then compared with all others: as long as too many
//! neighbours are missing, there are more trees with leaves twice as large. Candidates are screened by products and confirmed by differences; the
//! distances of the answer are exact, only its members are approximate. Points are renumbered along the first tree, so
//! that those that meet lie together in memory.
//!
//! | file | idea |
//! |---|---|
//! | `cloud` | the points, and products between a few of them |
//! | `forest` | trees that bring near points together |
//! | `graph` | the best neighbours so far, the same whatever the order in which they were found |
//! | `descent` | comparing neighbours of neighbours |
//! | `probe` | how many are still missing |

mod cloud;
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
use cloud::{Cloud, Gathered};
use forest::{Leaves, grow};
use graph::{Finds, Graph};

/// Leaves that are compared before what was found is entered.
const LEAVES_PER_TURN: usize = 64;
/// Rows of a leaf that are multiplied with all of it at a time.
const ROWS_PER_PRODUCT: usize = 128;
/// Once fewer than this share of all entries is new after a round, it is worth looking how much is missing.
const NEARLY_SETTLED: f64 = 0.05;
/// Rows of the answer that one thread makes at a time.
const ROWS_PER_PIECE: usize = 512;

/// Trees of a stage, and points in a leaf of the first one; each further stage has leaves of twice the size.
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
    let mut leaf = LEAF.max(2 * width + 2);
    let Leaves { order, ranges } = grow(&cloud, leaf, seed(0), exec)?;
    let cloud = {
        let unordered = cloud;
        unordered.reordered(&order, exec)?
    };
    let mut graph = Graph::new(n, width);
    compare_leaves(&cloud, &Leaves { order: (0..n as u32).collect(), ranges }, &mut graph, exec)?;
    let (mut trees, mut rounds) = (1_usize, 0);
    loop {
        while !trees.is_multiple_of(TREES) {
            compare_leaves(&cloud, &grow(&cloud, leaf, seed(2 * trees as u64), exec)?, &mut graph, exec)?;
            trees += 1;
        }
        loop {
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
                break;
            }
        }
        // A leaf with all points has compared all of them.
        if leaf >= n {
            return finish(points, &graph, &order, k, exec);
        }
        leaf *= 2;
        compare_leaves(&cloud, &grow(&cloud, leaf, seed(2 * trees as u64), exec)?, &mut graph, exec)?;
        trees += 1;
    }
}

/// Compares all pairs inside each leaf.
fn compare_leaves<E: Real>(cloud: &Cloud<E>, leaves: &Leaves, graph: &mut Graph<E>, exec: &Exec) -> Result<()> {
    for turn in leaves.ranges.chunks(LEAVES_PER_TURN) {
        let (worst, width) = (&graph.worst, graph.width);
        let finds = exec.map(turn.len(), |leaf| {
            let members = &leaves.order[turn[leaf].clone()];
            pulp::Arch::new().dispatch(CompareLeaf { cloud, members, worst, width, exec })
        })?;
        graph.enter(&finds, exec)?;
    }
    Ok(())
}

/// All pairs inside one leaf.
struct CompareLeaf<'a, E> {
    cloud: &'a Cloud<E>,
    members: &'a [u32],
    worst: &'a [E],
    width: usize,
    exec: &'a Exec,
}

impl<E: Real> pulp::WithSimd for CompareLeaf<'_, E> {
    type Output = Result<Finds<E>>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Self::Output {
        let Self { cloud, members, worst, width, exec } = self;
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
    }
}

/// The places of the `count` smallest values below `bar`, smallest first.
#[inline(always)]
fn smallest<E: Real>(values: &[E], count: usize, bar: E, best: &mut Vec<(E, usize)>) {
    const GROUP: usize = 16;
    best.clear();
    let mut bar = bar;
    for (group, chunk) in values.chunks(GROUP).enumerate() {
        // Counted, because a search for the first one would look at them one by one.
        if chunk.iter().filter(|&&value| value < bar).count() == 0 {
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
