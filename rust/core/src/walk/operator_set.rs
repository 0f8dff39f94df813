//! The set of steps that trajectories are made of, and how a step of weights over its members becomes arithmetic.

use std::sync::{Arc, OnceLock};

use crate::ground::exec::Exec;
use crate::ground::permutation::Permutation;
use crate::walk::transition::Transition;
use crate::{Error, Real, Result};

/// Where a teleporting walk jumps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// Any point, with equal probability.
    Uniform,
    /// Where that many steps of the same walk lead.
    Power(u32),
}

/// One member of an operator set; all but `Walk` are implicit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Member {
    /// The stored matrix of that index.
    Walk(usize),
    /// The idle step `I`.
    Identity,
    /// `11^T / N`.
    Uniform,
    /// The mean of the first stored matrices, so many.
    Mean(usize),
    /// The matrix `base`, `exponent` times.
    Power {
        /// Index of the stored matrix.
        base: usize,
        /// How often it is applied, at least 1.
        exponent: u32,
    },
    /// `alpha P + (1 - alpha) landing`.
    Teleport {
        /// Index of the stored matrix.
        base: usize,
        /// Probability of an ordinary step.
        alpha: f64,
        /// Where the other steps go.
        landing: Landing,
    },
}

/// Stored matrices, and members that refer to them.
#[derive(Debug, Clone)]
pub struct OperatorSet<T> {
    n: usize,
    walks: Vec<Arc<Transition<T>>>,
    members: Vec<Member>,
    /// A copy whose steps use the cache better, once [`crate::reorder`] has been asked for it; None inside if it gains nothing.
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
        for member in &members {
            let (base, valid) = match *member {
                Member::Walk(base) => (base, true),
                Member::Mean(count) => (count.max(1) - 1, count >= 1),
                Member::Power { base, exponent } => (base, exponent >= 1),
                Member::Teleport { base, alpha, landing } => {
                    (base, (0.0..=1.0).contains(&alpha) && landing != Landing::Power(0))
                }
                Member::Identity | Member::Uniform => (0, true),
            };
            if base >= walks.len() || !valid {
                return Err(Error::Invalid(format!(
                    "member {member:?} does not fit a set of {} operators",
                    walks.len()
                )));
            }
        }
        Ok(Self { n, walks, members, reordered: OnceLock::new() })
    }

    /// Number of states of the walks.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// The stored matrices.
    #[must_use]
    pub fn walks(&self) -> &[Arc<Transition<T>>] {
        &self.walks
    }

    /// The members, in order.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// A copy with the points in another order.
    pub(crate) fn permuted(&self, permutation: Permutation, exec: &Exec) -> Result<ReorderedSet<T>> {
        let walks = self.walks.iter().map(|walk| Ok(Arc::new(walk.permuted(&permutation, exec)?)));
        let walks = walks.collect::<Result<_>>()?;
        Ok(ReorderedSet { set: Self::new(walks, self.members.clone())?, permutation })
    }

    /// The convex combination of members with these weights, gathered by what must be computed.
    pub fn step(&self, weights: &[f64]) -> Result<Step> {
        Error::check_size("weights of a step", self.members.len(), weights.len())?;
        let mut step = Step::default();
        for (member, &w) in self.members.iter().zip(weights).filter(|(_, w)| **w != 0.0) {
            match *member {
                Member::Identity => step.identity += w,
                Member::Uniform => step.uniform += w,
                Member::Walk(base) => step.add(base, 1, w),
                Member::Mean(count) => (0..count).for_each(|base| step.add(base, 1, w / count as f64)),
                Member::Power { base, exponent } => step.add(base, exponent, w),
                Member::Teleport { base, alpha, landing } => {
                    step.add(base, 1, w * alpha);
                    match landing {
                        Landing::Uniform => step.uniform += w * (1.0 - alpha),
                        Landing::Power(exponent) => step.add(base, exponent, w * (1.0 - alpha)),
                    }
                }
            }
        }
        step.powers.sort_by_key(|p| (p.base, p.exponent));
        Ok(step)
    }
}

/// `weight * P_base^exponent`, a part of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// Index of the stored matrix.
    pub base: usize,
    /// How often it is applied.
    pub exponent: u32,
    /// Its share of the step.
    pub weight: f64,
}

/// One step of a trajectory: `identity * I + uniform * Xi + sum of powers`, the shares adding up to 1.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Step {
    /// Share of the idle step.
    pub identity: f64,
    /// Share of the uniform jump.
    pub uniform: f64,
    /// Shares of the walks, ordered by matrix and exponent, each pair once.
    pub powers: Vec<Power>,
}

impl Step {
    fn add(&mut self, base: usize, exponent: u32, weight: f64) {
        if weight == 0.0 {
            return;
        }
        match self.powers.iter_mut().find(|p| (p.base, p.exponent) == (base, exponent)) {
            Some(power) => power.weight += weight,
            None => self.powers.push(Power { base, exponent, weight }),
        }
    }
}
