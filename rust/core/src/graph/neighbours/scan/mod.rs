//! All pairs in blocks.
//!
//! Two blocks of points meet: a panel of products (192 x 192, 147 kB in single precision) is made once and sifted twice
//! while it is in cache, its columns and its rows taking turns as queries. Pairs that pass are only candidates at first; see
//! [`Queries`]. Memory is O(N k + N d), never O(N^2).
//!
//! Blocks meet as in a round-robin tournament: in each round every team of blocks has one opponent, so all meetings of a
//! round run at once and nothing is locked. Every block meets itself before any other: where the order of the data means
//! something, neighbours are found early and the rest fails the screen.

mod block_scan;
mod groups;
mod queries;
mod round_robin;

use std::ops::Range;

use block_scan::{BlockScan, PanelScratch};
pub(super) use groups::{GROUP, set_bits, which};
use queries::{FinishQueries, Queries};
use round_robin::{for_each_round, into_teams};

use super::NeighbourRow;
use super::nearest::Nearest;
use super::points::{DensePoints, Keys, SparsePoints};
use super::screen::{Centred, DenseScreen, Screen, SparseScreen, is_fine_enough, sparse_squared_norms};
use crate::ground::exec::Exec;
use crate::{Real, Result};

/// Points in a block of the plain scan.
const BLOCK: usize = 256;
/// Teams for each thread: few, because every round ends with a wait, but enough to share out.
const TEAMS_PER_THREAD: usize = 4;
/// Teams at least: the points of one should fit the cache.
const TEAMS: usize = 8;

/// Chooses the screen for a set of points.
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
            screened(self, &SparseScreen::<f32>::new(self, &norms), k, exec)
        } else {
            screened(self, &SparseScreen::<f64>::new(self, &norms), k, exec)
        }
    }
}

/// The `k` nearest others of every point.
pub(super) fn search(points: &impl Scannable, k: usize, exec: &Exec) -> Result<Vec<NeighbourRow>> {
    if points.metric().is_squared() { points.scan_screened(k, exec) } else { plain(points, k, exec) }
}

/// Every pair is compared exactly (no product bounds a sum of absolute differences).
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
                pulp::Arch::new().dispatch(CompareAll { points, first, block, nearest: &mut nearest });
            }
            piece.iter_mut().zip(nearest).for_each(|(row, nearest)| *row = nearest.into());
            Ok(())
        },
    )?;
    Ok(found)
}

/// The points from `first` on with every point of a block.
struct CompareAll<'a, P> {
    points: &'a P,
    first: usize,
    block: Range<usize>,
    nearest: &'a mut [Nearest],
}

impl<P: Keys> pulp::WithSimd for CompareAll<'_, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { points, first, block, nearest } = self;
        for (lane, nearest) in nearest.iter_mut().enumerate() {
            for j in block.clone().filter(|&j| j != first + lane) {
                nearest.offer(points.distance(first + lane, j), j as u32);
            }
        }
    }
}

/// Pairs are compared exactly where the screen cannot rule them out.
fn screened<E: Real>(points: &impl Keys, screen: &impl Screen<E>, k: usize, exec: &Exec) -> Result<Vec<NeighbourRow>> {
    let n = points.len();
    let teams = (TEAMS_PER_THREAD * exec.threads()).max(TEAMS);
    let lanes = screen.lanes().min(n.div_ceil(teams).next_multiple_of(GROUP));
    let blocks = (0..n).step_by(lanes).map(|first| first..(first + lanes).min(n));
    let blocks: Vec<_> = blocks.map(|queries| Queries::new(queries, k)).collect();
    let mut teams = into_teams(blocks, teams);
    let scan = BlockScan { points, screen, exec };
    let scratch = || PanelScratch { panel: Vec::new(), products: vec![E::ZERO; lanes * lanes] };
    exec.for_pieces(&mut teams, 1, scratch, |_, team, scratch| scan.within(&mut team[0], scratch))?;
    for_each_round(&mut teams, |pairs| {
        exec.for_pieces(pairs, 1, scratch, |_, pair, scratch| scan.between(pair[0].0, pair[0].1, scratch))
    })?;
    let mut queries: Vec<Queries<E>> = teams.into_iter().flatten().collect();
    queries.sort_unstable_by_key(|queries| queries.first);
    let mut found: Vec<Vec<NeighbourRow>> = vec![Vec::new(); queries.len()];
    let mut tasks: Vec<_> = queries.iter_mut().zip(&mut found).collect();
    exec.for_pieces(
        &mut tasks,
        1,
        || (),
        |_, task, ()| -> Result<()> {
            let (queries, found) = &mut task[0];
            **found = pulp::Arch::new().dispatch(FinishQueries { queries, points, bounds: screen.bounds() });
            Ok(())
        },
    )?;
    Ok(found.into_iter().flatten().collect())
}
/// Blocks of points from the given one outwards, alternating sides.
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
