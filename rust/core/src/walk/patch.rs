//! The part of a graph that walks from a few points can reach.
//!
//! A walk of `t` steps on a neighbour graph reaches few points. A patch holds the points within
//! reach of a block of rows, numbered in the order in which they are found: those within `s` steps
//! are the first `reach[s]`. The work on a block then depends on the size of its neighbourhood and
//! not on `N`. (Helix, 1,500 points, 7 steps: the contrastive gradient takes 1.5 s on the whole
//! graph, 0.1 s on patches.)

use std::borrow::Cow;
use std::sync::Arc;

use crate::ground::csr::NOWHERE;
use crate::walk::absence::Absences;
use crate::{Csr, Exec, OperatorSet, Real, Result, Step, Transition};

/// Largest number of bytes of the matrices of a patch. Larger neighbourhoods use the whole graph.
pub(crate) const PATCH_BYTES: usize = 64 << 20;
/// Points visited between two checks of the stop flag.
const POINTS_PER_CHECK: usize = 4096;
/// Points visited from one seed in the search for near rows, as a multiple of the width of a block.
const VISITS: usize = 16;

/// An operator set over the points within reach of some rows.
pub(crate) struct Patch<'a, T: Real> {
    /// The operators between those points. Edges that leave the patch are cut; only points on its
    /// rim have any.
    pub set: Cow<'a, OperatorSet<T>>,
    /// Places of the rows.
    pub starts: Vec<usize>,
    /// Number of points within `0..=t` steps of any members, whatever their weights.
    pub reach: Vec<usize>,
    /// Place of each point of the whole set; None if the patch is the whole set.
    places: Option<Vec<u32>>,
}

impl<'a, T: Real> Patch<'a, T> {
    /// The patch within `steps` steps of `rows`, or the whole set if the patch has more than half
    /// of the points. `parts` are the parts of all members.
    pub fn around(set: &'a OperatorSet<T>, parts: &Step, rows: &[usize], steps: usize, exec: &Exec) -> Result<Self> {
        let whole =
            || Self { set: Cow::Borrowed(set), starts: rows.to_vec(), reach: vec![set.n(); steps + 1], places: None };
        let limit = set.n() / 2;
        if parts.uniform != 0.0 || rows.len() > limit {
            return Ok(whole());
        }
        let bases = bases(set, parts);
        let hops = parts.powers.iter().map(|p| p.exponent).max().unwrap_or(0);
        let entry_limit = PATCH_BYTES / (2 * (size_of::<u32>() + size_of::<T>()));
        let mut places = vec![NOWHERE; set.n()];
        let mut points: Vec<u32> = rows.iter().map(|&row| row as u32).collect();
        rows.iter().enumerate().for_each(|(place, &row)| places[row] = place as u32);
        let mut reach = vec![rows.len()];
        let (mut expanded, mut entries) = (0, 0);
        for _ in 0..steps {
            for _ in 0..hops {
                let known = points.len();
                for k in expanded..known {
                    if k % POINTS_PER_CHECK == 0 {
                        exec.check()?;
                    }
                    for &base in &bases {
                        let columns = set.walks()[base].matrix().row(points[k] as usize).0;
                        entries += columns.len();
                        for &c in columns {
                            if places[c as usize] == NOWHERE {
                                places[c as usize] = points.len() as u32;
                                points.push(c);
                            }
                        }
                    }
                    if points.len() > limit || entries > entry_limit {
                        return Ok(whole());
                    }
                }
                expanded = known;
            }
            reach.push(points.len());
        }
        let cut = |(base, walk): (usize, &Arc<Transition<T>>)| -> Result<Arc<Transition<T>>> {
            // A matrix that no member uses is empty.
            let matrix = if bases.contains(&base) {
                walk.matrix().submatrix(&points, &places, exec)?
            } else {
                Csr::new(points.len(), vec![0; points.len() + 1], Vec::new(), Vec::new())?
            };
            Ok(Arc::new(Transition::restore(matrix, None)?))
        };
        let walks = set.walks().iter().enumerate().map(cut).collect::<Result<_>>()?;
        let mut cut = OperatorSet::new(walks, set.members().to_vec())?;
        cut.absences = set.absences.as_ref().map(|absences| absences.placed(&points, &places));
        let set = Cow::Owned(cut);
        Ok(Self { set, starts: (0..rows.len()).collect(), reach, places: Some(places) })
    }

    /// The place of a point of the whole set in the patch, if it is within reach.
    pub fn position(&self, point: usize) -> Option<usize> {
        match &self.places {
            None => Some(point),
            Some(places) => Some(places[point]).filter(|&p| p != NOWHERE).map(|p| p as usize),
        }
    }
}

/// Matrices that some member uses, and those that lend rows to them.
fn bases<T: Real>(set: &OperatorSet<T>, parts: &Step) -> Vec<usize> {
    let lenders = set.borrowing().map_or(0..0, Absences::lenders);
    let mut bases: Vec<usize> = parts.powers.iter().map(|p| p.base).chain(lenders).collect();
    bases.sort_unstable();
    bases.dedup();
    bases
}

/// Cuts `rows` into blocks of `width` near rows, so the patch of a block is not much larger than
/// that of one row. Each block collects rows by a breadth-first search from the first row that is
/// left.
pub(crate) fn near_blocks<T: Real>(
    set: &OperatorSet<T>,
    parts: &Step,
    rows: &[usize],
    width: usize,
    exec: &Exec,
) -> Result<Vec<Vec<usize>>> {
    if parts.uniform != 0.0 {
        return Ok(rows.chunks(width).map(<[usize]>::to_vec).collect());
    }
    let bases = bases(set, parts);
    let mut wanted = vec![false; set.n()];
    rows.iter().for_each(|&row| wanted[row] = true);
    let mut visited_for = vec![NOWHERE; set.n()];
    let mut seeds = rows.iter();
    let mut blocks: Vec<Vec<usize>> = Vec::with_capacity(rows.len().div_ceil(width));
    let mut left = rows.len();
    let mut queue = Vec::new();
    while left > 0 {
        exec.check()?;
        let mut block = Vec::with_capacity(width.min(left));
        let number = blocks.len() as u32;
        let mut next = 0;
        queue.clear();
        while block.len() < width.min(left) {
            if next == queue.len() || next == VISITS * width {
                queue.clear();
                next = 0;
                queue.extend(seeds.by_ref().find(|&&row| wanted[row]));
            }
            let Some(&point) = queue.get(next) else { break };
            next += 1;
            if std::mem::replace(&mut wanted[point], false) {
                block.push(point);
            }
            for &base in &bases {
                for &c in set.walks()[base].matrix().row(point).0 {
                    if std::mem::replace(&mut visited_for[c as usize], number) != number {
                        queue.push(c as usize);
                    }
                }
            }
        }
        left -= block.len();
        blocks.push(block);
    }
    Ok(blocks)
}
