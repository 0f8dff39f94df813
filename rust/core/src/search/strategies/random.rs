//! Random sequences.

use crate::Stream;
use crate::search::{Explored, SearchTree, Sequence, Strategy};

/// Number of sequences drawn at a time.
const RUN: usize = 1024;

/// Draws sequences of one length step by step.
#[derive(Debug, Clone, PartialEq)]
pub struct RandomSequences {
    /// Number of draws; equal sequences are scored once.
    pub samples: usize,
    /// Probabilities of the members, one row for each step; rows sum to 1.
    pub probabilities: Vec<f64>,
    /// Seed of the draws.
    pub seed: u64,
}

impl Strategy for RandomSequences {
    fn explore(&self, tree: &mut SearchTree<'_>) -> Explored<()> {
        let possible = self.possible(tree.n_members());
        for first in (0..self.samples).step_by(RUN) {
            if tree.len() == possible {
                // Further draws would repeat sequences.
                break;
            }
            let draws = first..self.samples.min(first + RUN);
            let sequences: Vec<Sequence> = draws.map(|sample| self.sequence(sample, tree.n_members())).collect();
            tree.visit(&sequences, |_| None)?;
        }
        Ok(())
    }

    fn visits(&self, _: usize) -> usize {
        self.samples
    }
}

impl RandomSequences {
    /// Number of sequences with a positive probability.
    fn possible(&self, n_members: usize) -> usize {
        let choices = |row: &[f64]| row.iter().filter(|&&p| p > 0.0).count().max(1);
        self.probabilities.chunks_exact(n_members.max(1)).map(choices).fold(1, usize::saturating_mul)
    }

    /// The sequence of one draw. Each draw has its own random stream, so further draws do not
    /// change it.
    pub fn sequence(&self, sample: usize, n_members: usize) -> Sequence {
        let mut stream = Stream::new(self.seed, sample as u64);
        self.probabilities.chunks_exact(n_members.max(1)).map(|row| pick(row, stream.uniform())).collect()
    }
}

/// The member at which the cumulative probability exceeds `u`.
fn pick(probabilities: &[f64], mut u: f64) -> u16 {
    let mut last = 0;
    for (member, &p) in probabilities.iter().enumerate().filter(|(_, p)| **p > 0.0) {
        last = member as u16;
        if u < p {
            break;
        }
        u -= p;
    }
    last
}
