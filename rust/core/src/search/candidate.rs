//! Candidates: trajectories that a search scores.

use super::Sequence;
use crate::{OperatorSet, Real, Result, Trajectory};

/// A trajectory, given by its sequence or by its weights.
#[derive(Debug, Clone, PartialEq)]
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
        let members = match self {
            Self::Sequence(sequence) => Some(sequence.iter().copied().map(usize::from).collect()),
            Self::Weights(weights) => {
                let member = |row: &[f64]| row.iter().position(|&w| w == 1.0);
                weights.chunks(n_members).map(member).collect::<Option<Vec<_>>>()
            }
        };
        match (members, self) {
            (None, Self::Weights(weights)) => {
                format!("with the weights {:?}", weights.chunks(n_members).collect::<Vec<_>>())
            }
            (members, _) => {
                let names: Vec<String> = members.iter().flatten().map(ToString::to_string).collect();
                format!("({})", names.join(", "))
            }
        }
    }
}
