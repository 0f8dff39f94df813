//! Candidates: trajectories that a search scores.

use super::Sequence;
use crate::{OperatorSet, Real, Result, Trajectory};

/// A trajectory, given by its sequence or by its weights.
pub(super) enum Candidate {
    /// One member at each step.
    Sequence(Sequence),
    /// Weights of the members, row-major, one row for each step.
    Weights(Vec<f64>),
}

impl Candidate {
    /// The trajectory over an operator set.
    pub fn trajectory<'a, T: Real>(&self, set: &'a OperatorSet<T>) -> Result<Trajectory<'a, T>> {
        match self {
            Self::Sequence(sequence) => Trajectory::of_sequence(set, sequence),
            Self::Weights(weights) => Trajectory::new(set, weights),
        }
    }

    /// The name used in messages: the sequence if each step has one member, else the weights.
    pub fn name(&self, n_members: usize) -> String {
        let list = |members: Vec<String>| format!("({})", members.join(", "));
        match self {
            Self::Sequence(sequence) => list(sequence.iter().map(ToString::to_string).collect()),
            Self::Weights(weights) => {
                let rows: Vec<&[f64]> = weights.chunks(n_members).collect();
                let member = |row: &&[f64]| row.iter().position(|&w| w == 1.0).map(|member| member.to_string());
                let members: Option<Vec<String>> = rows.iter().map(member).collect();
                members.map_or_else(|| format!("with the weights {rows:?}"), list)
            }
        }
    }
}
