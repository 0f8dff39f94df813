//! Products with walks that lack points, see [`super::absence`].
//!
//! With the weights `a_v` of a step and `h = a_1 h_1 + ... + a_V h_V`
//!
//! ```text
//! sum_v a_v B_v   x = sum_u (a_u + h) * P_u x
//! sum_v a_v B_v^T x = sum_u P_u^T ((a_u + h) * x)
//! ```
//!
//! where `*` multiplies rows. `B_v` is not reversible, but each `P_u` is, on its own points. The
//! transposed product of a view of weight 0 adds the few rows with `h > 0` one by one.

use std::ops::Range;

use crate::ground::block::Block;
use crate::ground::sparse_step::{Remainder, Term, sparse_step};
use crate::ground::tall::{TallRef, scale_rows};
use crate::walk::absence::Absences;
use crate::{Csr, Direction, Exec, OperatorSet, Real, Result};

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

impl<T: Real> OperatorSet<T> {
    /// The absences, if steps take rows of other walks.
    pub(crate) fn borrowing(&self) -> Option<&Absences<T>> {
        self.absences.as_ref().filter(|absences| absences.borrows())
    }

    /// The rows of which row `point` of a walk consists: walks and their weights.
    pub(crate) fn rows_of(&self, walk: usize, point: usize) -> impl Iterator<Item = (&Csr<T>, T)> {
        let borrowed =
            self.borrowing().filter(|absences| absences.lacking(walk).binary_search(&(point as u32)).is_ok());
        let (walks, weight) = match borrowed {
            Some(absences) => (absences.lenders(), absences.share(point)),
            None => (walk..walk + 1, T::ONE),
        };
        walks.map(move |u| (self.walks()[u].matrix(), weight))
    }

    /// The walk between the points that it has, and these points; None if it has all.
    pub(crate) fn present(&self, walk: usize, exec: &Exec) -> Result<Option<(&Csr<T>, Vec<u32>)>> {
        self.absences.as_ref().map_or(Ok(None), |absences| absences.present(walk, self.walks()[walk].matrix(), exec))
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
