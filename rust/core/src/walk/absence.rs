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
//! `1 / h_v[i]` together, and `h_v` is 0 at all other rows. No row is copied; `borrowing` has the
//! products.

use std::ops::Range;
use std::sync::OnceLock;

use crate::ground::block::Block;
use crate::ground::csr::NOWHERE;
use crate::{Csr, Error, Exec, Real, Result, Transition};

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

    /// The same with further walks, which have all points.
    pub fn extended(&self, walks: usize) -> Self {
        let mut all = self.clone();
        all.lacking.resize_with(self.lacking.len() + walks, Vec::new);
        all.present.resize_with(self.present.len() + walks, OnceLock::new);
        all
    }

    /// Whether steps take rows of other walks.
    pub fn borrows(&self) -> bool {
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

    /// The share of each lender in the row of a point that a walk lacks.
    pub fn share(&self, point: usize) -> T {
        self.shares[point]
    }

    /// The matrix of a walk between the points that it has, and these points; None if it has all.
    pub fn present(&self, walk: usize, matrix: &Csr<T>, exec: &Exec) -> Result<Option<(&Csr<T>, Vec<u32>)>> {
        if self.lacking[walk].is_empty() {
            return Ok(None);
        }
        let mut places = vec![0; matrix.n_rows()];
        self.lacking[walk].iter().for_each(|&point| places[point as usize] = NOWHERE);
        let points: Vec<u32> = (0..places.len() as u32).filter(|&point| places[point as usize] != NOWHERE).collect();
        points.iter().zip(0..).for_each(|(&point, place)| places[point as usize] = place);
        let present = &self.present[walk];
        if present.get().is_none() {
            // Two threads may both make a copy. The copies are equal and one is kept.
            let _ = present.set(matrix.submatrix(&points, &places, exec)?);
        }
        Ok(present.get().map(|matrix| (matrix, points)))
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
