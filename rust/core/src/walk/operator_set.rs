//! Operator sets: stored transition matrices and the members from which the steps of trajectories
//! are combined.
//!
//! A large set may keep the reordered copy of its matrices alone. The matrices in the given order
//! are then made from it where they are needed: to the last bit, because a permutation moves entries
//! and changes none.

use std::sync::{Arc, OnceLock};

use crate::ground::permutation::Permutation;
use crate::walk::absence::Absences;
use crate::{Error, Exec, Member, Real, Result, Step, Transition};

/// Stored matrices and members that refer to them.
#[derive(Debug, Clone)]
pub struct OperatorSet<T> {
    n: usize,
    /// The matrices in the given order; empty until the first need if the set keeps the copy alone.
    walks: OnceLock<Vec<Arc<Transition<T>>>>,
    members: Vec<Member>,
    /// Whether the set was made to keep the reordered copy alone.
    keeps_copy_alone: bool,
    /// The points that some walks lack; None if every walk has all points.
    pub(crate) absences: Option<Absences<T>>,
    /// A copy whose steps use the cache better, computed at the first need by the layer above; None
    /// inside if it gains nothing.
    pub(crate) reordered: OnceLock<Option<Arc<ReorderedSet<T>>>>,
}

/// A copy of an operator set with its points in another order.
#[derive(Debug)]
pub(crate) struct ReorderedSet<T> {
    pub set: OperatorSet<T>,
    pub permutation: Permutation,
}

impl<T: Real> OperatorSet<T> {
    /// A set over stored matrices of one size.
    pub fn new(walks: Vec<Arc<Transition<T>>>, members: Vec<Member>) -> Result<Self> {
        let Some(n) = walks.first().map(|w| w.n()) else {
            return Err(Error::Invalid("expected at least one operator, got none".into()));
        };
        for walk in &walks {
            Error::check_size("operator size", n, walk.n())?;
        }
        if let Some(member) = members.iter().find(|member| !member.fits(walks.len())) {
            return Err(Error::Invalid(format!("member {member:?} does not fit a set of {} operators", walks.len())));
        }
        let (walks, reordered) = (OnceLock::from(walks), OnceLock::new());
        Ok(Self { n, walks, members, keeps_copy_alone: false, absences: None, reordered })
    }

    /// The same set, with the points that each walk lacks. Steps take rows of the first `lenders`
    /// walks in place of empty rows; with 0 lenders the rows of lacking points are those of the walk.
    pub fn with_absences(mut self, lacking: Vec<Vec<u32>>, lenders: usize) -> Result<Self> {
        let absences = Absences::new(self.walks(), lacking, lenders)?;
        self.absences = (0..self.walks().len()).any(|v| !absences.lacking(v).is_empty()).then_some(absences);
        Ok(self)
    }

    /// Number of states of the walks.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The stored matrices in the given order. Functions that need them of a set that may keep the copy
    /// alone call [`Self::restore`] first, which returns an error if there is no memory.
    ///
    /// # Panics
    /// If the matrices are not restored yet and there is no memory for them.
    pub fn walks(&self) -> &[Arc<Transition<T>>] {
        self.walks.get_or_init(|| {
            let all = (0..self.in_any_order().len()).map(|base| self.walk(base, &Exec::with_threads(1)));
            all.collect::<Result<_>>().expect("memory for the matrices in the given order")
        })
    }

    /// The stored matrices, in the given order or in that of the copy. For what does not depend on the
    /// order of the points.
    pub fn in_any_order(&self) -> &[Arc<Transition<T>>] {
        self.walks.get().map_or_else(|| self.copy().map_or(&[], |copy| copy.set.walks()), Vec::as_slice)
    }

    /// A stored matrix in the given order, which is not kept if the set keeps the copy alone.
    pub fn walk(&self, base: usize, exec: &Exec) -> Result<Arc<Transition<T>>> {
        match (self.walks.get(), self.copy()) {
            (None, Some(copy)) => Ok(Arc::new(copy.set.walks()[base].permuted(&copy.permutation.inverse()?, exec)?)),
            _ => Ok(self.walks()[base].clone()),
        }
    }

    /// Makes the matrices in the given order, and keeps them, if the set keeps the copy alone.
    pub(crate) fn restore(&self, exec: &Exec) -> Result<()> {
        if self.walks.get().is_none() {
            let all = (0..self.in_any_order().len()).map(|base| self.walk(base, exec)).collect::<Result<_>>()?;
            // If two threads both make them, they are equal and one result is kept.
            let _ = self.walks.set(all);
        }
        Ok(())
    }

    /// The reordered copy, if it exists.
    pub(crate) fn copy(&self) -> Option<&ReorderedSet<T>> {
        self.reordered.get().and_then(Option::as_deref)
    }

    /// Whether the set was made to keep the reordered copy alone. That does not change when matrices in the
    /// given order are made, so results do not depend on what was called before.
    pub fn keeps_copy_alone(&self) -> bool {
        self.keeps_copy_alone
    }

    /// The same set with the reordered copy alone, if it exists.
    pub(crate) fn with_copy_alone(&self) -> Self {
        if self.copy().is_none() {
            return self.clone();
        }
        Self { walks: OnceLock::new(), keeps_copy_alone: true, ..self.clone() }
    }

    /// The members, in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// A copy with the points in another order.
    pub(crate) fn permuted(&self, permutation: Permutation, exec: &Exec) -> Result<ReorderedSet<T>> {
        let walks = self.walks().iter().map(|walk| Ok(Arc::new(walk.permuted(&permutation, exec)?)));
        let walks = walks.collect::<Result<_>>()?;
        let mut set = Self::new(walks, self.members.clone())?;
        set.absences = self.absences.as_ref().map(|absences| absences.placed(&permutation.order, &permutation.places));
        Ok(ReorderedSet { set, permutation })
    }

    /// The convex combination of the members with these weights, collected by parts.
    pub fn step(&self, weights: &[f64]) -> Result<Step> {
        Error::check_size("weights of a step", self.members.len(), weights.len())?;
        Ok(Step::combine(self.members.iter().zip(weights.iter().copied()).filter(|(_, weight)| *weight != 0.0)))
    }
}
