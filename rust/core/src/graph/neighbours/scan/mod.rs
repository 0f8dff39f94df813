//! Exact neighbours by comparing all pairs in blocks.
//!
//! For two blocks of points a panel of products (192 x 192, 147 kB in single precision) is computed
//! once and filtered twice while it is in cache: once with its columns as queries and once with its
//! rows. The pairs that pass become candidates, see [`Queries`]. Time: O(n^2 d). Memory: O(n k + n
//! d).
//!
//! Blocks form teams, and pairs of teams are compared in the rounds of a round-robin schedule: no
//! team is in two pairs of a round, so all pairs of a round run in parallel without locks. Every
//! block is compared with itself first: if the order of the data is meaningful, neighbours are
//! found early and most later pairs fail the screen.
//!
//! | file | idea |
//! |---|---|
//! | `block_scan` | comparison of blocks by panels of products |
//! | `queries` | the candidates of a block of queries |
//! | `groups` | tests of short groups of values |
//! | `round_robin` | the schedule of the teams |

mod block_scan;
mod groups;
mod queries;
mod round_robin;

use std::ops::Range;

use block_scan::{BlockScan, PanelScratch};
pub(super) use groups::{GROUP, set_bits, which};
use queries::{Queries, finish_queries};
use round_robin::{for_each_round, into_teams};

use super::nearest::{Nearest, NeighbourRow};
use super::points::{DensePoints, Keys, SparsePoints};
use super::screen::{Centred, DenseScreen, Screen, SparseScreen, is_fine_enough, sparse_squared_norms};
use crate::{Exec, Real, Result};

/// Number of points in a block of the plain scan.
const BLOCK: usize = 256;
/// Teams for each thread: few, because every round ends with a barrier, but enough to balance the
/// load.
const TEAMS_PER_THREAD: usize = 4;
/// Smallest number of teams: the points of one team should fit the cache.
const TEAMS: usize = 8;

/// Points that choose their screen.
pub(super) trait Scannable: Keys + Sized {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<NeighbourRow>>;
}

impl<T: Real> Scannable for DensePoints<'_, T> {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<NeighbourRow>> {
        let centred = Centred::new(self, exec)?;
        if is_fine_enough::<f32>(self, |i| centred.squared_norm(i)) {
            screened(self, &DenseScreen::<f32>::new(self, &centred, exec)?, k, exec)
        } else {
            screened(self, &DenseScreen::<f64>::new(self, &centred, exec)?, k, exec)
        }
    }
}

impl Scannable for SparsePoints {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<NeighbourRow>> {
        let norms = sparse_squared_norms(self);
        if is_fine_enough::<f32>(self, |i| norms[i]) {
            screened(self, &SparseScreen::<f32>::new(self, &norms)?, k, exec)
        } else {
            screened(self, &SparseScreen::<f64>::new(self, &norms)?, k, exec)
        }
    }
}

/// Finds the `k` nearest other points of each point.
pub(super) fn search(points: &impl Scannable, k: usize, exec: &Exec) -> Result<Vec<NeighbourRow>> {
    if points.metric().is_squared() { points.scan_screened(k, exec) } else { plain(points, k, exec) }
}

/// Compares every pair exactly: no product bounds a sum of absolute differences.
fn plain(points: &impl Keys, k: usize, exec: &Exec) -> Result<Vec<NeighbourRow>> {
    let n = points.len();
    let mut found = vec![NeighbourRow::default(); n];
    exec.for_pieces(
        &mut found,
        16,
        || (),
        |first, piece, ()| {
            let mut nearest = vec![Nearest::new(k); piece.len()];
            for block in blocks_outwards(first / BLOCK, n) {
                exec.check()?;
                compare_all(points, first, block, &mut nearest);
            }
            piece.iter_mut().zip(nearest).for_each(|(row, nearest)| *row = nearest.into());
            Ok(())
        },
    )?;
    Ok(found)
}

/// Compares the points from `first` on with every point of a block.
#[pulp::with_simd(compare_all = pulp::Arch::new())]
#[inline(always)]
fn compare_all_simd<S: pulp::Simd, P: Keys>(
    _: S,
    points: &P,
    first: usize,
    block: Range<usize>,
    nearest: &mut [Nearest],
) {
    for (lane, nearest) in nearest.iter_mut().enumerate() {
        for j in block.clone().filter(|&j| j != first + lane) {
            nearest.offer(points.distance(first + lane, j), j as u32);
        }
    }
}

/// Compares exactly the pairs that pass the screen.
fn screened<S: Screen>(points: &impl Keys, screen: &S, k: usize, exec: &Exec) -> Result<Vec<NeighbourRow>> {
    let n = points.len();
    let teams = (TEAMS_PER_THREAD * exec.threads()).max(TEAMS);
    let lanes = screen.lanes().min(n.div_ceil(teams).next_multiple_of(GROUP));
    let blocks = (0..n).step_by(lanes).map(|first| first..(first + lanes).min(n));
    // All blocks together are large, and each is small: the check stops at the end of memory.
    let blocks = blocks.map(|queries| exec.check().map(|()| Queries::new(queries, k))).collect::<Result<Vec<_>>>()?;
    let mut teams = into_teams(blocks, teams);
    let scan = BlockScan { points, screen, exec };
    let scratch = || PanelScratch { panel: Vec::new(), products: vec![Real::ZERO; lanes * lanes] };
    exec.for_pieces(&mut teams, 1, scratch, |_, team, scratch| scan.within(&mut team[0], scratch))?;
    for_each_round(&mut teams, |pairs| {
        exec.for_pieces(pairs, 1, scratch, |_, pair, scratch| scan.between(pair[0].0, pair[0].1, scratch))
    })?;
    let mut queries: Vec<Queries<S::Element>> = teams.into_iter().flatten().collect();
    queries.sort_unstable_by_key(|queries| queries.first);
    let mut found: Vec<Vec<NeighbourRow>> = vec![Vec::new(); queries.len()];
    let mut tasks: Vec<_> = queries.iter_mut().zip(&mut found).collect();
    exec.each_piece(&mut tasks, 1, |_, task| {
        let (queries, found) = &mut task[0];
        **found = finish_queries(queries, points, screen.bounds());
    })?;
    Ok(found.into_iter().flatten().collect())
}
/// Blocks of points in order of their distance from the block `own`, alternating sides.
fn blocks_outwards(own: usize, n: usize) -> impl Iterator<Item = Range<usize>> {
    let count = n.div_ceil(BLOCK);
    let after = (own..count).map(Some).chain(std::iter::repeat(None));
    let before = (0..own).rev().map(Some).chain(std::iter::repeat(None));
    after
        .zip(before)
        .take(count)
        .flat_map(|(a, b)| [a, b])
        .flatten()
        .map(move |block| block * BLOCK..((block + 1) * BLOCK).min(n))
}
