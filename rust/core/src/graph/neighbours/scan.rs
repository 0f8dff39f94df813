//! All pairs in blocks.
//!
//! Two blocks of points meet: a panel of products (192 x 192, 147 kB in single precision) is made once and sifted twice
//! while it is in cache, its columns and its rows taking turns as queries. Pairs that pass are only noted at first; see
//! [`Queries`]. Memory is O(N k + N d), never O(N^2).
//!
//! Blocks meet as in a round-robin tournament: in each round every team of blocks has one opponent, so all meetings of a
//! round run at once and nothing is locked. Every block meets itself before any other: where the order of the data means
//! something, neighbours are found early and the rest fails the screen.

use std::ops::Range;

use super::nearest::{Found, Nearest};
use super::points::{DensePoints, Keys, SparsePoints};
use super::screen::{Bounds, Centred, DenseScreen, Screen, SparseScreen, is_fine_enough, sparse_squared_norms};
use crate::ground::exec::Exec;
use crate::{Real, Result};

/// Points in a block of the plain scan.
const BLOCK: usize = 256;
/// Panel columns that are tested together.
pub(super) const GROUP: usize = 16;
/// Teams for each thread: few, because every round ends with a wait, but enough to share out.
const TEAMS_PER_THREAD: usize = 4;
/// Teams at least: the points of one should fit the cache.
const TEAMS: usize = 8;

/// Chooses the screen for a set of points.
pub(super) trait Scannable: Keys + Sized {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<Found>>;
}

impl<T: Real> Scannable for DensePoints<'_, T> {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<Found>> {
        let centred = Centred::new(self, exec)?;
        if is_fine_enough::<f32>(self, |i| centred.squared_norm(i)) {
            screened(self, &DenseScreen::<f32>::new(self, &centred, exec)?, k, exec)
        } else {
            screened(self, &DenseScreen::<f64>::new(self, &centred, exec)?, k, exec)
        }
    }
}

impl Scannable for SparsePoints {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<Found>> {
        let norms = sparse_squared_norms(self);
        if is_fine_enough::<f32>(self, |i| norms[i]) {
            screened(self, &SparseScreen::<f32>::new(self, &norms), k, exec)
        } else {
            screened(self, &SparseScreen::<f64>::new(self, &norms), k, exec)
        }
    }
}

/// The `k` nearest others of every point.
pub(super) fn search(points: &impl Scannable, k: usize, exec: &Exec) -> Result<Vec<Found>> {
    if points.metric().is_squared() { points.scan_screened(k, exec) } else { plain(points, k, exec) }
}

/// Every pair is compared exactly (no product bounds a sum of absolute differences).
fn plain(points: &impl Keys, k: usize, exec: &Exec) -> Result<Vec<Found>> {
    let n = points.len();
    let mut found = vec![Found::default(); n];
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
fn screened<E: Real>(points: &impl Keys, screen: &impl Screen<E>, k: usize, exec: &Exec) -> Result<Vec<Found>> {
    let n = points.len();
    let teams = (TEAMS_PER_THREAD * exec.threads()).max(TEAMS);
    let lanes = screen.lanes().min(n.div_ceil(teams).next_multiple_of(GROUP));
    let blocks = (0..n).step_by(lanes).map(|first| first..(first + lanes).min(n));
    let blocks: Vec<_> = blocks.map(|queries| Queries::new(queries, k)).collect();
    let mut teams = into_teams(blocks, teams);
    let meeting = Meeting { points, screen, exec };
    let scratch = || Scratch { panel: Vec::new(), products: vec![E::ZERO; lanes * lanes] };
    exec.for_pieces(&mut teams, 1, scratch, |_, team, scratch| meeting.within(&mut team[0], scratch))?;
    play_rounds(&mut teams, |pairs| {
        exec.for_pieces(pairs, 1, scratch, |_, pair, scratch| meeting.between(pair[0].0, pair[0].1, scratch))
    })?;
    let mut queries: Vec<Queries<E>> = teams.into_iter().flatten().collect();
    queries.sort_unstable_by_key(|queries| queries.first);
    let mut found: Vec<Vec<Found>> = vec![Vec::new(); queries.len()];
    let mut tasks: Vec<_> = queries.iter_mut().zip(&mut found).collect();
    exec.for_pieces(
        &mut tasks,
        1,
        || (),
        |_, task, ()| -> Result<()> {
            let (queries, found) = &mut task[0];
            **found = pulp::Arch::new().dispatch(Finish { queries, points, bounds: screen.bounds() });
            Ok(())
        },
    )?;
    Ok(found.into_iter().flatten().collect())
}

/// Cuts blocks into at most `count` teams of almost equal size.
fn into_teams<B>(blocks: Vec<B>, count: usize) -> Vec<Vec<B>> {
    let (number, count) = (blocks.len(), count.min(blocks.len()));
    let mut blocks = blocks.into_iter();
    (0..count).map(|t| blocks.by_ref().take((t + 1) * number / count - t * number / count).collect()).collect()
}

/// Hands out every pair of teams once, in rounds of pairs that have no team in common (the circle method: the first stays,
/// the others move on by one place a round).
fn play_rounds<T: Default>(
    teams: &mut Vec<T>,
    mut round: impl FnMut(&mut [(&mut T, &mut T)]) -> Result<()>,
) -> Result<()> {
    if teams.len() % 2 == 1 {
        teams.push(T::default());
    }
    for _ in 1..teams.len() {
        let half = teams.len() / 2;
        let (left, right) = teams.split_at_mut(half);
        let mut pairs: Vec<_> = left.iter_mut().zip(right.iter_mut().rev()).collect();
        round(&mut pairs)?;
        teams[1..].rotate_right(1);
    }
    Ok(())
}

/// Buffers of one thread.
struct Scratch<E> {
    panel: Vec<E>,
    products: Vec<E>,
}

/// What blocks need when they meet.
struct Meeting<'a, P, S> {
    points: &'a P,
    screen: &'a S,
    exec: &'a Exec,
}

impl<P: Keys, S> Meeting<'_, P, S> {
    /// Every block with itself, then every pair of them.
    fn within<E: Real>(&self, team: &mut [Queries<E>], scratch: &mut Scratch<E>) -> Result<()>
    where
        S: Screen<E>,
    {
        for own in &mut *team {
            self.products(own, own.range(), scratch)?;
            self.sift(own, Role::Both, scratch);
        }
        for i in 1..team.len() {
            let (before, own) = team.split_at_mut(i);
            self.between(&mut own[..1], before, scratch)?;
        }
        Ok(())
    }

    /// Every block of one team with every block of the other.
    fn between<E: Real>(
        &self,
        team: &mut [Queries<E>],
        opponents: &mut [Queries<E>],
        scratch: &mut Scratch<E>,
    ) -> Result<()>
    where
        S: Screen<E>,
    {
        for own in team {
            for other in &mut *opponents {
                self.products(own, other.range(), scratch)?;
                self.sift(own, Role::Columns(other.range()), scratch);
                self.sift(other, Role::Rows(own.range()), scratch);
            }
        }
        Ok(())
    }

    fn products<E: Real>(&self, own: &Queries<E>, others: Range<usize>, scratch: &mut Scratch<E>) -> Result<()>
    where
        S: Screen<E>,
    {
        self.exec.check()?;
        let Scratch { panel, products } = scratch;
        let lanes = own.len();
        self.screen.load(own.range(), panel);
        products.resize(lanes * others.len(), E::ZERO);
        self.screen.products(panel, lanes, others, products);
        Ok(())
    }

    fn sift<E: Real>(&self, queries: &mut Queries<E>, role: Role, scratch: &Scratch<E>)
    where
        S: Screen<E>,
    {
        let Self { points, screen, .. } = self;
        let products = &scratch.products;
        pulp::Arch::new().dispatch(Sift { queries, points: *points, bounds: screen.bounds(), role, products });
    }
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

/// A block of queries on its way through the points: for each, those that may be among its nearest.
///
/// Comparing every point that passes would compare some `k ln(n / k)` of them. So they are only noted; when the note is
/// full, the `k`-th smallest upper bound lowers the threshold and most of them drop out. What is left in the end, little
/// more than `k`, is compared exactly.
struct Queries<E> {
    first: usize,
    k: usize,
    /// Of each query: a point whose screened value is above this is not among the nearest.
    thresholds: Vec<E>,
    /// Points that passed, not yet compared: [`capacity`] places for each query.
    noted: Vec<(E, u32)>,
    /// How many of those places are taken.
    lengths: Vec<usize>,
    /// Points that have been compared.
    nearest: Vec<Nearest>,
    /// Upper bounds of what one query has noted, while that is shortened.
    uppers: Vec<f64>,
}

impl<E: Real> Queries<E> {
    fn new(queries: Range<usize>, k: usize) -> Self {
        let n = queries.len();
        Self {
            first: queries.start,
            k,
            thresholds: vec![E::INFINITY; n],
            noted: vec![(E::ZERO, 0); n * capacity(k)],
            lengths: vec![0; n],
            nearest: vec![Nearest::new(k); n],
            uppers: Vec::with_capacity(capacity(k)),
        }
    }

    fn len(&self) -> usize {
        self.thresholds.len()
    }

    fn range(&self) -> Range<usize> {
        self.first..self.first + self.len()
    }

    /// Looks at the other points of the queries' own block.
    #[inline(always)]
    fn start(&mut self, points: &impl Keys, bounds: &Bounds<E>, products: &[E]) {
        let two = E::ONE + E::ONE;
        let norms = &bounds.norms[self.range()];
        let mut values = vec![E::ZERO; norms.len()];
        let mut minima = Vec::new();
        for (lane, row) in products.chunks_exact(norms.len()).enumerate() {
            for ((value, &p), &norm) in values.iter_mut().zip(row).zip(norms) {
                *value = norm - two * p;
            }
            values[lane] = E::INFINITY;
            self.lower_to_kth_minimum(bounds, lane, &values, &mut minima);
            for from in (0..values.len()).step_by(GROUP) {
                let group = &values[from..(from + GROUP).min(values.len())];
                let passed = which(group, group, |value, _| value <= self.thresholds[lane]);
                for c in members(passed) {
                    if from + c != lane {
                        self.note(points, bounds, lane, self.first + from + c, group[c]);
                    }
                }
            }
        }
    }

    /// Lowers a threshold to an upper bound of the `k`-th nearest among the points of one block, without sorting them:
    /// cut into more than `k` groups, at least `k` of them lie below the `k`-th smallest minimum of a group.
    #[inline(always)]
    fn lower_to_kth_minimum(&mut self, bounds: &Bounds<E>, lane: usize, values: &[E], minima: &mut Vec<E>) {
        let groups = (2 * self.k).next_multiple_of(GROUP);
        if values.len() < 2 * groups {
            return;
        }
        minima.clear();
        minima.extend_from_slice(&values[..groups]);
        for part in values[groups..].chunks(groups) {
            for (minimum, &value) in minima.iter_mut().zip(part) {
                *minimum = if value < *minimum { value } else { *minimum };
            }
        }
        let (_, &mut kth, _) = minima.select_nth_unstable_by(self.k - 1, |a, b| a.to_f64().total_cmp(&b.to_f64()));
        let query = self.first + lane;
        // Where k points may coincide with the query, the nearest that surely does not must stay, for the bandwidth.
        if bounds.is_distinct(query, kth) {
            self.lower_threshold(lane, E::from_f64(kth.to_f64() + bounds.largest_spread(query)));
        }
    }

    /// Notes what the screen does not rule out; a column of the panel is a query, a row is a point.
    #[inline(always)]
    fn sift_columns(&mut self, points: &impl Keys, bounds: &Bounds<E>, rows: Range<usize>, products: &[E]) {
        let two = E::ONE + E::ONE;
        for (j, row) in rows.zip(products.chunks_exact(self.len())) {
            let norm = bounds.norms[j];
            for from in (0..row.len()).step_by(GROUP) {
                let group = from..(from + GROUP).min(row.len());
                let passed = which(&row[group.clone()], &self.thresholds[group], |p, t| norm - two * p <= t);
                for lane in members(passed).map(|c| from + c) {
                    self.note(points, bounds, lane, j, norm - two * row[lane]);
                }
            }
        }
    }

    /// The same with the roles exchanged: a row of the panel is a query, a column is a point.
    #[inline(always)]
    fn sift_rows(&mut self, points: &impl Keys, bounds: &Bounds<E>, columns: Range<usize>, products: &[E]) {
        let two = E::ONE + E::ONE;
        let norms = &bounds.norms[columns.clone()];
        for (lane, row) in products.chunks_exact(norms.len()).enumerate() {
            for from in (0..row.len()).step_by(GROUP) {
                let group = from..(from + GROUP).min(row.len());
                let threshold = self.thresholds[lane];
                let passed = which(&row[group.clone()], &norms[group], |p, norm| norm - two * p <= threshold);
                for c in members(passed).map(|c| from + c) {
                    self.note(points, bounds, lane, columns.start + c, norms[c] - two * row[c]);
                }
            }
        }
    }

    /// Notes a point that passed.
    #[inline(always)]
    fn note(&mut self, points: &impl Keys, bounds: &Bounds<E>, lane: usize, point: usize, value: E) {
        let capacity = capacity(self.k);
        self.noted[lane * capacity + self.lengths[lane]] = (value, point as u32);
        self.lengths[lane] += 1;
        if self.lengths[lane] == capacity {
            self.shorten(points, bounds, lane);
        }
    }

    /// Lowers the threshold of a query and drops what is above it; compares the rest exactly if that did not help.
    #[inline(never)]
    fn shorten(&mut self, points: &impl Keys, bounds: &Bounds<E>, lane: usize) {
        self.drop_distant(bounds, lane);
        if self.lengths[lane] > capacity(self.k) / 2 {
            self.compare_noted(points, lane);
            let bound = points.metric().largest_key(self.nearest[lane].bound());
            self.lower_threshold(lane, bounds.threshold(self.first + lane, bound));
        }
    }

    fn drop_distant(&mut self, bounds: &Bounds<E>, lane: usize) {
        self.lower_to_kth(bounds, lane);
        let (threshold, first) = (self.thresholds[lane], lane * capacity(self.k));
        let mut kept = 0;
        for place in first..first + self.lengths[lane] {
            let entry = self.noted[place];
            self.noted[first + kept] = entry;
            kept += usize::from(entry.0 <= threshold);
        }
        self.lengths[lane] = kept;
    }

    /// Lowers the threshold of a query to the `k`-th smallest upper bound of what it noted.
    fn lower_to_kth(&mut self, bounds: &Bounds<E>, lane: usize) {
        let (query, first) = (self.first + lane, lane * capacity(self.k));
        let noted = &self.noted[first..first + self.lengths[lane]];
        if noted.len() < self.k {
            return;
        }
        let upper = |&(value, j): &(E, u32)| value.to_f64() + bounds.spread(query, j as usize);
        self.uppers.clear();
        self.uppers.extend(noted.iter().map(upper));
        let (_, &mut kth, _) = self.uppers.select_nth_unstable_by(self.k - 1, f64::total_cmp);
        // As above, the nearest point that surely does not coincide with the query must stay.
        let distinct = noted.iter().filter(|(value, _)| bounds.is_distinct(query, *value)).map(upper);
        let threshold = kth.max(distinct.fold(f64::INFINITY, f64::min));
        self.lower_threshold(lane, E::from_f64(threshold));
    }

    fn lower_threshold(&mut self, lane: usize, threshold: E) {
        if threshold < self.thresholds[lane] {
            self.thresholds[lane] = threshold;
        }
    }

    #[inline(always)]
    fn compare_noted(&mut self, points: &impl Keys, lane: usize) {
        let first = lane * capacity(self.k);
        for &(_, j) in &self.noted[first..first + self.lengths[lane]] {
            self.nearest[lane].offer(points.distance(self.first + lane, j as usize), j);
        }
        self.lengths[lane] = 0;
    }

    /// The nearest of each query.
    #[inline(always)]
    fn finish(&mut self, points: &impl Keys, bounds: &Bounds<E>) -> Vec<Found> {
        for lane in 0..self.len() {
            self.drop_distant(bounds, lane);
            self.compare_noted(points, lane);
        }
        self.nearest.drain(..).map(Found::from).collect()
    }
}

/// How many points a query notes before they are shortened.
fn capacity(k: usize) -> usize {
    (4 * k).max(64)
}

/// What the queries are in a panel of products.
enum Role {
    /// Its columns; the rows are these points.
    Columns(Range<usize>),
    /// Its rows; the columns are these points.
    Rows(Range<usize>),
    /// Rows and columns: their own block.
    Both,
}

/// A panel to be sifted, as a type: [`pulp`] compiles it for each vector width, which it cannot do for what a closure
/// calls unless the closure happens to be inlined.
struct Sift<'a, E, P> {
    queries: &'a mut Queries<E>,
    points: &'a P,
    bounds: &'a Bounds<E>,
    role: Role,
    products: &'a [E],
}

impl<E: Real, P: Keys> pulp::WithSimd for Sift<'_, E, P> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { queries, points, bounds, role, products } = self;
        match role {
            Role::Columns(rows) => queries.sift_columns(points, bounds, rows, products),
            Role::Rows(columns) => queries.sift_rows(points, bounds, columns, products),
            Role::Both => queries.start(points, bounds, products),
        }
    }
}

/// The end of a block of queries, as a type for the same reason.
struct Finish<'a, E, P> {
    queries: &'a mut Queries<E>,
    points: &'a P,
    bounds: &'a Bounds<E>,
}

impl<E: Real, P: Keys> pulp::WithSimd for Finish<'_, E, P> {
    type Output = Vec<Found>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Vec<Found> {
        self.queries.finish(self.points, self.bounds)
    }
}

/// Which pairs of elements pass, as bits. Almost every group fails as a whole; at its usual length that test is a few
/// vector instructions.
#[inline(always)]
pub(super) fn which<E: Copy>(a: &[E], b: &[E], test: impl Fn(E, E) -> bool) -> u32 {
    let whole: Option<(&[E; GROUP], &[E; GROUP])> = a.try_into().ok().zip(b.try_into().ok());
    if let Some((a, b)) = whole {
        let mut any = false;
        for k in 0..GROUP {
            any |= test(a[k], b[k]);
        }
        if !any {
            return 0;
        }
    }
    a.iter().zip(b).enumerate().fold(0, |bits, (k, (&a, &b))| bits | u32::from(test(a, b)) << k)
}

/// The positions of the bits that are set.
#[inline(always)]
pub(super) fn members(mut bits: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (bits != 0).then(|| bits.trailing_zeros() as usize);
        bits &= bits.wrapping_sub(1);
        next
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_of_teams_meets_once() {
        for count in 1..9_usize {
            let mut teams: Vec<Option<usize>> = (0..count).map(Some).collect();
            let mut met = Vec::new();
            play_rounds(&mut teams, |pairs| {
                met.extend(pairs.iter().filter_map(|(a, b)| Some((a.or(None)?.min((**b)?), a.or(None)?.max((**b)?)))));
                Ok(())
            })
            .unwrap();
            met.sort_unstable();
            let all: Vec<_> = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect();
            assert_eq!(met, all);
        }
    }
}
