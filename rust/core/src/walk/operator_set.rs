//! Operator sets: stored transition matrices and the members from which the steps of trajectories
//! are combined.
//!
//! A large set may keep the reordered copy of its matrices alone. The matrices in the given order
//! are then made from it where they are needed, and freed after it: to the last bit, because a
//! permutation moves entries and changes none.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use crate::ground::permutation::Permutation;
use crate::walk::absence::Absences;
use crate::{Error, Exec, Member, Real, Result, Step, Transition};

/// Stored matrices and members that refer to them.
#[derive(Debug, Clone)]
pub struct OperatorSet<T> {
    n: usize,
    /// The matrices in the given order; none if the set keeps the copy alone.
    walks: Vec<Arc<Transition<T>>>,
    members: Vec<Member>,
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
    pub permutation: Arc<Permutation>,
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
        Ok(Self { n, walks, members, absences: None, reordered: OnceLock::new() })
    }

    /// The same set, with the points that each walk lacks. Steps take rows of the first `lenders`
    /// walks in place of empty rows; with 0 lenders the rows of lacking points are those of the walk.
    pub fn with_absences(mut self, lacking: Vec<Vec<u32>>, lenders: usize) -> Result<Self> {
        let absences = Absences::new(&self.walks, lacking, lenders)?;
        self.absences = (0..self.walks.len()).any(|v| !absences.lacking(v).is_empty()).then_some(absences);
        Ok(self)
    }

    /// Number of states of the walks.
    pub fn n(&self) -> usize {
        self.n
    }

    /// The stored matrices in the given order; none if the set keeps the copy alone, see
    /// [`Self::restored`].
    pub fn walks(&self) -> &[Arc<Transition<T>>] {
        &self.walks
    }

    /// The stored matrices, in the given order or in that of the copy. For what does not depend on the
    /// order of the points.
    pub fn in_any_order(&self) -> &[Arc<Transition<T>>] {
        self.copy_alone().map_or(&self.walks, |copy| &copy.set.walks)
    }

    /// A stored matrix in the given order, which is not kept if the set keeps the copy alone.
    pub fn walk(&self, base: usize, exec: &Exec) -> Result<Arc<Transition<T>>> {
        match self.copy_alone() {
            Some(copy) => Ok(Arc::new(copy.set.walks[base].permuted(&copy.permutation.inverse()?, exec)?)),
            None => Ok(self.walks[base].clone()),
        }
    }

    /// The set with the matrices in the given order. If the set keeps the copy alone, they are made,
    /// and freed with the result.
    pub(crate) fn restored(&self, exec: &Exec) -> Result<Cow<'_, Self>> {
        if !self.keeps_copy_alone() {
            return Ok(Cow::Borrowed(self));
        }
        let walks = (0..self.in_any_order().len()).map(|base| self.walk(base, exec)).collect::<Result<_>>()?;
        Ok(Cow::Owned(Self { walks, ..self.clone() }))
    }

    /// The reordered copy, if it exists.
    pub(crate) fn copy(&self) -> Option<&ReorderedSet<T>> {
        self.reordered.get().and_then(Option::as_deref)
    }

    /// The reordered copy, if the set keeps it alone.
    pub(crate) fn copy_alone(&self) -> Option<&ReorderedSet<T>> {
        self.copy().filter(|_| self.keeps_copy_alone())
    }

    /// Whether the set has the reordered copy of its matrices alone.
    pub fn keeps_copy_alone(&self) -> bool {
        self.walks.is_empty()
    }

    /// The same set with the reordered copy alone, if it exists.
    pub(crate) fn with_copy_alone(&self) -> Self {
        if self.copy().is_none() {
            return self.clone();
        }
        Self { walks: Vec::new(), ..self.clone() }
    }

    /// A set with further walks, which have all points, and with these members. It shares the stored
    /// matrices, also those of a copy that is kept alone.
    pub fn extended(&self, walks: &[Arc<Transition<T>>], members: Vec<Member>, exec: &Exec) -> Result<Self> {
        for walk in walks {
            Error::check_size("operator size", self.n, walk.n())?;
        }
        let absences = self.absences.as_ref().map(|absences| absences.extended(walks.len()));
        let Some(copy) = self.copy_alone() else {
            return Ok(Self { absences, ..Self::new([&self.walks[..], walks].concat(), members)? });
        };
        let placed = walks.iter().map(|walk| Ok(Arc::new(walk.permuted(&copy.permutation, exec)?)));
        let placed: Vec<_> = placed.collect::<Result<_>>()?;
        let set = copy.set.extended(&placed, members.clone(), exec)?;
        let copy = ReorderedSet { set, permutation: copy.permutation.clone() };
        let reordered = OnceLock::from(Some(Arc::new(copy)));
        Ok(Self { n: self.n, walks: Vec::new(), members, absences, reordered })
    }

    /// The members, in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// A copy with the points in another order.
    pub(crate) fn permuted(&self, permutation: Permutation, exec: &Exec) -> Result<ReorderedSet<T>> {
        let walks = self.walks.iter().map(|walk| Ok(Arc::new(walk.permuted(&permutation, exec)?)));
        let walks = walks.collect::<Result<_>>()?;
        let mut set = Self::new(walks, self.members.clone())?;
        set.absences = self.absences.as_ref().map(|absences| absences.placed(&permutation.order, &permutation.places));
        Ok(ReorderedSet { set, permutation: Arc::new(permutation) })
    }

    /// The convex combination of the members with these weights, collected by parts.
    pub fn step(&self, weights: &[f64]) -> Result<Step> {
        Error::check_size("weights of a step", self.members.len(), weights.len())?;
        Ok(Step::combine(self.members.iter().zip(weights.iter().copied()).filter(|(_, weight)| *weight != 0.0)))
    }
}
