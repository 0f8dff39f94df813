//! Operator sets: stored transition matrices and the members from which the steps of trajectories
//! are combined.

use std::sync::{Arc, OnceLock};

use crate::ground::permutation::Permutation;
use crate::walk::absence::Absences;
use crate::{Error, Exec, Member, Real, Result, Step, Transition};

/// Stored matrices and members that refer to them.
#[derive(Debug, Clone)]
pub struct OperatorSet<T> {
    n: usize,
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

    /// The stored matrices.
    pub fn walks(&self) -> &[Arc<Transition<T>>] {
        &self.walks
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
        Ok(ReorderedSet { set, permutation })
    }

    /// The convex combination of the members with these weights, collected by parts.
    pub fn step(&self, weights: &[f64]) -> Result<Step> {
        Error::check_size("weights of a step", self.members.len(), weights.len())?;
        Ok(Step::combine(self.members.iter().zip(weights.iter().copied()).filter(|(_, weight)| *weight != 0.0)))
    }
}
