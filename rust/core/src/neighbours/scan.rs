//! All pairs in blocks.
//!
//! A task takes a block of points and pairs it with every later block: a panel of products (192 x 192, 147 kB in single
//! precision) is made once and sifted twice while it is in cache, its columns and its rows taking turns as queries. Pairs
//! that pass are only noted at first; see [`Lane`]. Memory is O(N k + N d), never O(N^2).
//!
//! Every block is paired with itself before any other: where the order of the data means something, neighbours are found
//! early and the rest fails the screen. The order cannot change the answer, so blocks may meet in any.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::Found;
use super::nearest::Nearest;
use super::points::{DensePoints, Keys, SparsePoints};
use super::screen::{Bounds, Centred, DenseScreen, Screen, SparseScreen, is_coarse_enough, sparse_squared_norms};
use crate::exec::Exec;
use crate::{Real, Result};

/// Points in a block of the plain scan.
const BLOCK: usize = 256;
/// Panel columns that are tested together.
const GROUP: usize = 16;

/// Chooses the screen for a set of points.
pub(super) trait Scannable: Keys + Sized {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<Found>>;
}

impl<T: Real> Scannable for DensePoints<'_, T> {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<Found>> {
        let centred = Centred::new(self, exec)?;
        if is_coarse_enough(self, |i| centred.squared_norm(i)) {
            screened(self, &DenseScreen::<f32>::new(self, &centred, exec)?, k, exec)
        } else {
            screened(self, &DenseScreen::<f64>::new(self, &centred, exec)?, k, exec)
        }
    }
}

impl Scannable for SparsePoints {
    fn scan_screened(&self, k: usize, exec: &Exec) -> Result<Vec<Found>> {
        let norms = sparse_squared_norms(self);
        if is_coarse_enough(self, |i| norms[i]) {
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
                pulp::Arch::new().dispatch(
                    #[inline(always)]
                    || {
                        for (lane, nearest) in nearest.iter_mut().enumerate() {
                            for j in block.clone().filter(|&j| j != first + lane) {
                                nearest.offer(points.distance(first + lane, j), j as u32);
                            }
                        }
                    },
                );
            }
            piece.iter_mut().zip(nearest).for_each(|(row, nearest)| *row = nearest.into());
            Ok(())
        },
    )?;
    Ok(found)
}

/// Pairs are compared exactly where the screen cannot rule them out.
fn screened<E: Real>(points: &impl Keys, screen: &impl Screen<E>, k: usize, exec: &Exec) -> Result<Vec<Found>> {
    let (n, lanes, bounds) = (points.len(), screen.lanes(), screen.bounds());
    let range = |block: usize| block * lanes..((block + 1) * lanes).min(n);
    let count = n.div_ceil(lanes);
    let queries: Vec<Mutex<Queries<E>>> = (0..count).map(|b| Mutex::new(Queries::new(range(b), k))).collect();
    let lock = |block: usize| queries[block].lock().unwrap_or_else(PoisonError::into_inner);
    let meet = |own: usize, others: Range<usize>, (panel, products): &mut (Vec<E>, Vec<E>)| -> Result<()> {
        screen.load(range(own), panel);
        // Each task starts elsewhere, so that two of them do not wait for the same blocks all the way.
        let (first, number) = (others.start, others.len());
        for other in (0..number).map(|step| first + (step + own * number / 2) % number) {
            exec.check()?;
            let products = &mut products[..range(own).len() * range(other).len()];
            screen.products(panel, range(own).len(), range(other), products);
            let arch = pulp::Arch::new();
            let sift = |block: usize, role: Role| {
                arch.dispatch(Sift { queries: &mut lock(block), points, bounds, role, products });
            };
            if other == own {
                sift(own, Role::Both);
            } else {
                sift(own, Role::Columns(range(other)));
                sift(other, Role::Rows(range(own)));
            }
        }
        Ok(())
    };
    let scratch = || (Vec::new(), vec![E::ZERO; lanes * lanes]);
    exec.for_each(count, scratch, |block, scratch| meet(block, block..block + 1, scratch))?;
    // The first block meets all others, the last none: taken together, all tasks are equally long.
    exec.for_each(count.div_ceil(2), scratch, |block, scratch| {
        meet(block, block + 1..count, scratch)?;
        let opposite = count - 1 - block;
        if opposite == block { Ok(()) } else { meet(opposite, opposite + 1..count, scratch) }
    })?;
    let found = exec.map(count, |block| {
        Ok(pulp::Arch::new().dispatch(
            #[inline(always)]
            || lock(block).finish(points, bounds),
        ))
    })?;
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

/// A block of queries on its way through the points.
struct Queries<E> {
    first: usize,
    k: usize,
    lanes: Vec<Lane<E>>,
    /// Of each query: a point whose screened value is above this is not among the nearest.
    thresholds: Vec<E>,
    /// Upper bounds of what one lane has noted, while it is shortened.
    uppers: Vec<f64>,
}

/// One query: points that may be among the nearest, and those already compared.
///
/// Comparing every point that passes would compare some `k ln(n / k)` of them. So they are only noted; when the note is
/// full, the `k`-th smallest upper bound lowers the threshold and most of them drop out. What is left in the end, little
/// more than `k`, is compared exactly.
#[derive(Clone)]
struct Lane<E> {
    noted: Vec<(E, u32)>,
    nearest: Nearest,
}

impl<E: Real> Queries<E> {
    fn new(queries: Range<usize>, k: usize) -> Self {
        let lane = Lane { noted: Vec::new(), nearest: Nearest::new(k) };
        let thresholds = vec![E::INFINITY; queries.len()];
        Self { first: queries.start, k, thresholds, lanes: vec![lane; queries.len()], uppers: Vec::new() }
    }

    /// Looks at the other points of the queries' own block: one selection among all of them gives a threshold that
    /// hundreds of single notes would not.
    #[inline(always)]
    fn start(&mut self, points: &impl Keys, bounds: &Bounds<E>, products: &[E]) {
        let two = E::ONE + E::ONE;
        let norms = &bounds.norms[self.first..self.first + self.lanes.len()];
        let mut values = Vec::with_capacity(norms.len());
        for (lane, row) in products.chunks_exact(norms.len()).enumerate() {
            values.clear();
            let all =
                row.iter().zip(norms).zip(self.first as u32..).map(|((&p, &norm), point)| (norm - two * p, point));
            values.extend(all.filter(|(_, point)| *point as usize != self.first + lane));
            self.lower_to_kth(bounds, lane, &values);
            for &(value, point) in &values {
                self.note(points, bounds, lane, point as usize, value);
            }
        }
    }

    /// Notes what the screen does not rule out; a column of the panel is a query, a row is a point.
    #[inline(always)]
    fn sift_columns(&mut self, points: &impl Keys, bounds: &Bounds<E>, rows: Range<usize>, products: &[E]) {
        let two = E::ONE + E::ONE;
        for (j, row) in rows.zip(products.chunks_exact(self.lanes.len())) {
            let norm = bounds.norms[j];
            for from in (0..row.len()).step_by(GROUP) {
                let group = from..(from + GROUP).min(row.len());
                if any_within(&row[group.clone()], &self.thresholds[group.clone()], |p, t| norm - two * p <= t) {
                    for lane in group {
                        self.note(points, bounds, lane, j, norm - two * row[lane]);
                    }
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
                if any_within(&row[group.clone()], &norms[group.clone()], |p, norm| norm - two * p <= threshold) {
                    for c in group {
                        self.note(points, bounds, lane, columns.start + c, norms[c] - two * row[c]);
                    }
                }
            }
        }
    }

    /// Notes a point for a query, if it passes.
    #[inline(always)]
    fn note(&mut self, points: &impl Keys, bounds: &Bounds<E>, lane: usize, point: usize, value: E) {
        if value <= self.thresholds[lane] && point != self.first + lane {
            self.lanes[lane].noted.push((value, point as u32));
            if self.lanes[lane].noted.len() >= capacity(self.k) {
                self.shorten(points, bounds, lane);
            }
        }
    }

    /// Lowers the threshold of a lane and drops what is above it; compares the rest exactly if that did not help.
    fn shorten(&mut self, points: &impl Keys, bounds: &Bounds<E>, lane: usize) {
        self.drop_distant(bounds, lane);
        if self.lanes[lane].noted.len() > capacity(self.k) / 2 {
            self.compare_noted(points, lane);
            let bound = points.metric().largest_key(self.lanes[lane].nearest.bound());
            self.lower_threshold(lane, bounds.threshold(self.first + lane, bound));
        }
    }

    fn drop_distant(&mut self, bounds: &Bounds<E>, lane: usize) {
        let mut noted = std::mem::take(&mut self.lanes[lane].noted);
        self.lower_to_kth(bounds, lane, &noted);
        let threshold = self.thresholds[lane];
        noted.retain(|(value, _)| *value <= threshold);
        self.lanes[lane].noted = noted;
    }

    /// Lowers the threshold of a lane to the `k`-th smallest upper bound of these points.
    fn lower_to_kth(&mut self, bounds: &Bounds<E>, lane: usize, values: &[(E, u32)]) {
        if values.len() < self.k {
            return;
        }
        let query = self.first + lane;
        let upper = |&(value, j): &(E, u32)| value.to_f64() + bounds.spread(query, j as usize);
        self.uppers.clear();
        self.uppers.extend(values.iter().map(upper));
        let (_, kth, _) = self.uppers.select_nth_unstable_by(self.k - 1, f64::total_cmp);
        // Where k points may coincide with the query, the nearest that surely does not must stay, for the bandwidth.
        let distinct = values.iter().filter(|(value, _)| bounds.is_distinct(query, *value)).map(upper);
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
        let Lane { noted, nearest } = &mut self.lanes[lane];
        for (_, j) in noted.drain(..) {
            nearest.offer(points.distance(self.first + lane, j as usize), j);
        }
    }

    /// The nearest of each query.
    #[inline(always)]
    fn finish(&mut self, points: &impl Keys, bounds: &Bounds<E>) -> Vec<Found> {
        for lane in 0..self.lanes.len() {
            self.drop_distant(bounds, lane);
            self.compare_noted(points, lane);
        }
        self.lanes.drain(..).map(|lane| lane.nearest.into()).collect()
    }
}

/// How many points a lane notes before it is shortened.
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

/// Does any pair of elements pass? Almost every group fails as a whole; at its usual length the test is a few vector
/// instructions.
#[inline(always)]
fn any_within<E: Copy>(a: &[E], b: &[E], test: impl Fn(E, E) -> bool) -> bool {
    let whole: Option<(&[E; GROUP], &[E; GROUP])> = a.try_into().ok().zip(b.try_into().ok());
    let mut any = false;
    if let Some((a, b)) = whole {
        for k in 0..GROUP {
            any |= test(a[k], b[k]);
        }
    } else {
        a.iter().zip(b).for_each(|(&a, &b)| any |= test(a, b));
    }
    any
}
