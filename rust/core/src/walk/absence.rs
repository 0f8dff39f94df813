//! Points that some views lack.
//!
//! A view has a walk `P_v` on the points that it has; the row of a point that it lacks is empty. A
//! step of the view takes such a point along its rows in the views that have it, in equal parts:
//!
//! ```text
//! B_v = P_v + diag(h_v) (P_1 + ... + P_V)
//! h_v[i] = 1 / (number of views that have point i) if view v lacks it, else 0
//! ```
//!
//! Rows of `B_v` sum to 1: the rows of the other views that are added to an empty row sum to
//! `1 / h_v[i]` together, and `h_v` is 0 at all other rows. No row is copied. With the weights `a_v`
//! of a step and `h = a_1 h_1 + ... + a_V h_V`
//!
//! ```text
//! sum_v a_v B_v   x = sum_u (a_u + h) * P_u x
//! sum_v a_v B_v^T x = sum_u P_u^T ((a_u + h) * x)
//! ```
//!
//! where `*` multiplies rows. `B_v` is not reversible, but each `P_u` is, on its own points. The
//! transposed product of a view of weight 0 adds the few rows with `h > 0` one by one.

use std::ops::Range;
use std::sync::OnceLock;

use crate::ground::block::Block;
use crate::ground::csr::NOWHERE;
use crate::ground::sparse_step::{Remainder, Term, sparse_step};
use crate::ground::tall::{TallRef, scale_rows};
use crate::{Csr, Direction, Error, Exec, OperatorSet, Real, Result, Transition};

/// Pieces of the output among which the added rows of a transposed product are divided.
const PIECES: usize = 16;

/// Walks with their weights that are applied to one input.
#[derive(Debug, Clone)]
pub(crate) struct Group<'a, T> {
    pub walks: Vec<(usize, T)>,
    pub input: &'a [T],
}

impl<T> Group<'_, T> {
    fn has(&self, walk: usize) -> bool {
        self.walks.iter().any(|&(base, _)| base == walk)
    }
}

/// The points that each stored walk lacks.
#[derive(Debug, Clone)]
pub(crate) struct Absences<T> {
    /// For each walk the points that it lacks, ascending.
    lacking: Vec<Vec<u32>>,
    /// Number of walks that lend rows, from the first on; 0 if each walk has a row for every point.
    lenders: usize,
    /// One over the number of lenders that have the point.
    shares: Vec<T>,
    /// The walks between the points that they have, for scores; made at the first need.
    present: Vec<OnceLock<Csr<T>>>,
}

impl<T: Real> Absences<T> {
    /// Checks which points each walk lacks. The first `lenders` walks lend rows.
    pub fn new(walks: &[impl AsRef<Transition<T>>], lacking: Vec<Vec<u32>>, lenders: usize) -> Result<Self> {
        let n = walks.first().map_or(0, |walk| walk.as_ref().n());
        Error::check_size("lists of lacking points", walks.len(), lacking.len())?;
        if lenders > walks.len() {
            return Err(Error::Invalid(format!("expected at most {} lenders, got {lenders}", walks.len())));
        }
        let mut views_of = vec![lenders; n];
        for (v, (walk, points)) in walks.iter().zip(&lacking).enumerate() {
            let ascending = points.windows(2).all(|pair| pair[0] < pair[1]);
            if !ascending || points.last().is_some_and(|&last| last as usize >= n) {
                return Err(Error::Invalid(format!("lacking points: expected ascending numbers below {n}")));
            }
            let matrix = walk.as_ref().matrix();
            let mut lacks = points.iter().peekable();
            for (i, views) in views_of.iter_mut().enumerate() {
                let is_lacking = lacks.next_if(|&&point| point as usize == i).is_some();
                if lenders > 0 && matrix.range(i).is_empty() != is_lacking {
                    return Err(Error::Invalid(format!("walk {v}: expected the rows of lacking points to be empty")));
                }
                *views -= usize::from(is_lacking && v < lenders);
            }
        }
        if let Some(point) = views_of.iter().position(|&views| views == 0).filter(|_| lenders > 0) {
            return Err(Error::Invalid(format!("expected every point in some view, got none with point {point}")));
        }
        let shares = views_of.iter().map(|&views| T::from_f64(1.0 / views.max(1) as f64)).collect();
        Ok(Self { present: vec![OnceLock::new(); lacking.len()], lacking, lenders, shares })
    }

    /// The same for the points `points`, which become the points `places` of a smaller or reordered
    /// set.
    pub fn placed(&self, points: &[u32], places: &[u32]) -> Self {
        let place = |lacking: &Vec<u32>| {
            let mut placed: Vec<u32> =
                lacking.iter().map(|&point| places[point as usize]).filter(|&place| place != NOWHERE).collect();
            placed.sort_unstable();
            placed
        };
        Self {
            lacking: self.lacking.iter().map(place).collect(),
            lenders: self.lenders,
            shares: points.iter().map(|&point| self.shares[point as usize]).collect(),
            present: vec![OnceLock::new(); self.lacking.len()],
        }
    }

    /// Whether steps take rows of other walks.
    fn borrows(&self) -> bool {
        self.lenders > 0
    }

    /// The walks that lend rows.
    pub fn lenders(&self) -> Range<usize> {
        0..self.lenders
    }

    /// The points that a walk lacks.
    pub fn lacking(&self, walk: usize) -> &[u32] {
        &self.lacking[walk]
    }

    /// `h`, the share of each lender in the rows of a step; None if no walk of the step lacks points.
    pub fn lent(&self, walks: &[(usize, T)]) -> Result<Option<Block<T>>> {
        if walks.iter().all(|&(base, _)| self.lacking[base].is_empty()) {
            return Ok(None);
        }
        let mut lent = Block::zeros(self.shares.len())?;
        for &(base, weight) in walks {
            for &point in &self.lacking[base] {
                lent[point as usize] += weight * self.shares[point as usize];
            }
        }
        Ok(Some(lent))
    }
}

impl<T: Real> OperatorSet<T> {
    /// The absences, if steps take rows of other walks.
    pub(crate) fn borrowing(&self) -> Option<&Absences<T>> {
        self.absences.as_ref().filter(|absences| absences.borrows())
    }

    /// The rows of which row `point` of a walk consists: walks and their weights.
    pub(crate) fn rows_of(&self, walk: usize, point: usize) -> impl Iterator<Item = (&Csr<T>, T)> {
        let borrowed =
            self.borrowing().filter(|absences| absences.lacking[walk].binary_search(&(point as u32)).is_ok());
        let (walks, weight) = match borrowed {
            Some(absences) => (absences.lenders(), absences.shares[point]),
            None => (walk..walk + 1, T::ONE),
        };
        walks.map(move |u| (self.walks()[u].matrix(), weight))
    }

    /// The walk between the points that it has, and these points; None if it has all.
    pub(crate) fn present(&self, walk: usize, exec: &Exec) -> Result<Option<(&Csr<T>, Vec<u32>)>> {
        let Some(absences) = self.absences.as_ref().filter(|absences| !absences.lacking[walk].is_empty()) else {
            return Ok(None);
        };
        let mut places = vec![0; self.n()];
        absences.lacking[walk].iter().for_each(|&point| places[point as usize] = NOWHERE);
        let points: Vec<u32> = (0..self.n() as u32).filter(|&point| places[point as usize] != NOWHERE).collect();
        points.iter().zip(0..).for_each(|(&point, place)| places[point as usize] = place);
        let present = &absences.present[walk];
        if present.get().is_none() {
            // Two threads may both make a copy. The copies are equal and one is kept.
            let _ = present.set(self.walks()[walk].matrix().submatrix(&points, &places, exec)?);
        }
        Ok(present.get().map(|matrix| (matrix, points)))
    }

    /// The terms of `sum_v a_v B_v x` for the walks of a group, `lent` from [`Absences::lent`].
    pub(crate) fn terms<'a>(&'a self, group: &Group<'a, T>, lent: Option<&'a [T]>) -> Vec<Term<'a, T>> {
        let term = |base: usize, weight: T| self.walks()[base].term(weight, Direction::Forward, group.input);
        let own = group.walks.iter().map(|&(base, weight)| {
            let lent = lent.filter(|_| self.lenders().contains(&base));
            Term { lent, ..term(base, weight) }
        });
        let others = lent.map_or(0..0, |_| self.lenders()).filter(|&u| !group.has(u));
        own.chain(others.map(|u| Term { lent, ..term(u, T::ZERO) })).collect()
    }

    /// The rows that the walks of a group borrow, see [`Absences::lent`].
    pub(crate) fn lent(&self, group: &Group<'_, T>) -> Result<Option<Block<T>>> {
        self.borrowing().map_or(Ok(None), |absences| absences.lent(&group.walks))
    }

    /// The walks that lend rows.
    fn lenders(&self) -> Range<usize> {
        self.borrowing().map_or(0..0, Absences::lenders)
    }

    /// Applies the walks of some groups, all to inputs of `cols` columns, and writes the rows that
    /// `out` has.
    pub(crate) fn apply_borrowing(
        &self,
        groups: &[Group<'_, T>],
        cols: usize,
        direction: Direction,
        remainder: Remainder<'_, T>,
        out: &mut [T],
        exec: &Exec,
    ) -> Result<()> {
        let lent = groups.iter().map(|group| self.lent(group)).collect::<Result<Vec<_>>>()?;
        let with_lent = || groups.iter().zip(&lent).map(|(group, lent)| (group, lent.as_deref()));
        if direction == Direction::Forward {
            let terms: Vec<_> = with_lent().flat_map(|(group, lent)| self.terms(group, lent)).collect();
            return sparse_step(&terms, remainder, cols, out, exec);
        }
        sparse_step(&[], remainder, cols, out, exec)?;
        for (group, lent) in with_lent() {
            self.add_transposed(group, lent, cols, out, exec)?;
        }
        Ok(())
    }

    /// Adds `sum_v a_v B_v^T x` to `out`.
    fn add_transposed(
        &self,
        group: &Group<'_, T>,
        lent: Option<&[T]>,
        cols: usize,
        out: &mut [T],
        exec: &Exec,
    ) -> Result<()> {
        let adding = Remainder { accumulates: true, ..Remainder::none() };
        let x = TallRef::new(group.input, cols);
        for &(base, weight) in &group.walks {
            let walk = &self.walks()[base];
            let mut factors = vec![weight; self.n()];
            if let Some(lent) = lent.filter(|_| self.lenders().contains(&base)) {
                factors.iter_mut().zip(lent).for_each(|(factor, &share)| *factor += share);
            }
            let mut input = Block::unset(x.data.len())?;
            scale_rows(&factors, x.data, &mut input, exec)?;
            let prepared = walk.prepare(Direction::Transposed, &input, exec)?;
            let input = prepared.as_deref().unwrap_or(&input);
            sparse_step(&[walk.term(T::ONE, Direction::Transposed, input)], adding, cols, out, exec)?;
        }
        if let Some(lent) = lent {
            for u in self.lenders().filter(|&u| !group.has(u)) {
                add_rows(self.walks()[u].matrix(), lent, x, out, exec)?;
            }
        }
        Ok(())
    }
}

/// `out += (diag(factors) P)^T x`, row by row of `P`, for few non-zero factors.
///
/// A piece of the output takes the entries of its own range from each row. The order of the sums
/// does not depend on the pieces.
fn add_rows<T: Real>(matrix: &Csr<T>, factors: &[T], x: TallRef<'_, T>, out: &mut [T], exec: &Exec) -> Result<()> {
    let cols = x.cols;
    let rows: Vec<usize> = (0..factors.len()).filter(|&i| factors[i] != T::ZERO).collect();
    let rows_per_piece = (out.len() / cols).div_ceil(PIECES).max(1);
    exec.each_piece(out, rows_per_piece * cols, |start, piece| {
        let (first, end) = ((start / cols) as u32, ((start + piece.len()) / cols) as u32);
        for &i in &rows {
            let (columns, values) = matrix.row(i);
            let from = columns.partition_point(|&c| c < first);
            let source = &x.data[i * cols..][..cols];
            for (&c, &value) in columns[from..].iter().zip(&values[from..]).take_while(|(c, _)| **c < end) {
                let factor = factors[i] * value;
                let target = &mut piece[(c - first) as usize * cols..][..cols];
                target.iter_mut().zip(source).for_each(|(sum, &v)| *sum += factor * v);
            }
        }
    })
}
