//! Members of an operator set, and the step that a convex combination of members makes.
//!
//! ```text
//! W = identity * I + uniform * 11^T / N + sum_p weight_p P_(base_p)^(exponent_p)
//! ```
//!
//! Every member reduces to these parts, so a step of any weights is two numbers and a list of
//! powers.

/// Where a teleporting walk jumps to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// Any point, with equal probability.
    Uniform,
    /// The end of this many steps of the same walk.
    Power(u32),
}

/// One member of an operator set; all but `Walk` are implicit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Member {
    /// The stored matrix with this index.
    Walk(usize),
    /// The idle step `I`.
    Identity,
    /// `11^T / N`.
    Uniform,
    /// The mean of this many stored matrices, from the first on.
    Mean(usize),
    /// `P^exponent`.
    Power {
        /// Index of the stored matrix.
        base: usize,
        /// At least 1.
        exponent: u32,
    },
    /// `alpha P + (1 - alpha) landing`.
    Teleport {
        /// Index of the stored matrix.
        base: usize,
        /// Probability of an ordinary step.
        alpha: f64,
        /// Target of the other steps.
        landing: Landing,
    },
}

impl Member {
    /// The parts of this member: the step with weight 1 on it.
    pub fn parts(&self) -> Step {
        Step::combine([(self, 1.0)])
    }

    /// Whether its numbers are valid for a set of `n_walks` stored matrices.
    pub(super) fn fits(&self, n_walks: usize) -> bool {
        let (base, is_valid) = match *self {
            Self::Walk(base) => (base, true),
            Self::Mean(count) => (count.max(1) - 1, count >= 1),
            Self::Power { base, exponent } => (base, exponent >= 1),
            Self::Teleport { base, alpha, landing } => {
                (base, (0.0..=1.0).contains(&alpha) && landing != Landing::Power(0))
            }
            Self::Identity | Self::Uniform => (0, true),
        };
        base < n_walks && is_valid
    }
}

/// `weight * P_base^exponent`, a part of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// Index of the stored matrix.
    pub base: usize,
    /// Number of factors.
    pub exponent: u32,
    /// Share of the step.
    pub weight: f64,
}

/// One step of a trajectory: `identity * I + uniform * 11^T / N + sum of powers`. The shares add up
/// to 1.
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
    /// One step of a stored walk.
    pub(super) fn of_walk(base: usize) -> Self {
        Self { powers: vec![Power { base, exponent: 1, weight: 1.0 }], ..Self::default() }
    }

    /// The combination of members with these weights.
    pub(super) fn combine<'a>(weighted: impl IntoIterator<Item = (&'a Member, f64)>) -> Self {
        let mut step = Self::default();
        weighted.into_iter().for_each(|(member, weight)| step.add_member(member, weight));
        step.powers.sort_by_key(|p| (p.base, p.exponent));
        step
    }

    fn add_member(&mut self, member: &Member, weight: f64) {
        match *member {
            Member::Identity => self.identity += weight,
            Member::Uniform => self.uniform += weight,
            Member::Walk(base) => self.add_power(base, 1, weight),
            Member::Mean(count) => (0..count).for_each(|base| self.add_power(base, 1, weight / count as f64)),
            Member::Power { base, exponent } => self.add_power(base, exponent, weight),
            Member::Teleport { base, alpha, landing } => {
                self.add_power(base, 1, weight * alpha);
                match landing {
                    Landing::Uniform => self.uniform += weight * (1.0 - alpha),
                    Landing::Power(exponent) => self.add_power(base, exponent, weight * (1.0 - alpha)),
                }
            }
        }
    }

    fn add_power(&mut self, base: usize, exponent: u32, weight: f64) {
        if weight == 0.0 {
            return;
        }
        match self.powers.iter_mut().find(|p| (p.base, p.exponent) == (base, exponent)) {
            Some(power) => power.weight += weight,
            None => self.powers.push(Power { base, exponent, weight }),
        }
    }
}
