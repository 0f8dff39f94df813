//! Exhaustive search.
//!
//! Shorter sequences come first, sequences of one length in lexicographic order. Cost: `sum_t m^t`
//! evaluations for `m` members and lengths `t = 1..depth`.

use crate::search::{Explored, SearchTree, Sequence, Side, Strategy};

/// Number of sequences generated at a time.
const RUN: usize = 1024;

/// All sequences of `1..=depth` steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Exhaustive {
    /// Length of the longest sequences.
    pub depth: usize,
}

impl Strategy for Exhaustive {
    fn explore(&self, tree: &mut SearchTree<'_>) -> Explored<()> {
        for length in 1..=self.depth {
            let mut next = Some(vec![0; length]);
            while next.is_some() {
                let mut run = Vec::with_capacity(RUN);
                while run.len() < RUN
                    && let Some(sequence) = next
                {
                    next = successor(&sequence, tree.n_members());
                    run.push(sequence);
                }
                tree.visit(&run, |child| Side::Left.parent(child))?;
            }
        }
        Ok(())
    }

    fn visits(&self, n_members: usize) -> usize {
        if n_members < 2 {
            return self.depth.saturating_mul(n_members);
        }
        let (mut visits, mut of_length) = (0_usize, 1_usize);
        // With two members the sum leaves the range after 64 lengths.
        for _ in 0..self.depth {
            of_length = of_length.saturating_mul(n_members);
            visits = visits.saturating_add(of_length);
            if visits == usize::MAX {
                break;
            }
        }
        visits
    }
}

/// The next sequence of the same length in lexicographic order.
fn successor(sequence: &[u16], n_members: usize) -> Option<Sequence> {
    let place = sequence.iter().rposition(|&member| usize::from(member) + 1 < n_members)?;
    let mut next = sequence.to_vec();
    next[place] += 1;
    next[place + 1..].fill(0);
    Some(next)
}
