//! All words up to a length, the shorter ones first, in the order of the alphabet.

use crate::search::{Explored, Side, Strategy, Tree, Word};

/// Words that are made at a time.
const RUN: usize = 1024;

/// Every word of `1..=depth` letters.
#[derive(Debug, Clone, PartialEq)]
pub struct Exhaustive {
    /// Length of the longest words.
    pub depth: usize,
}

impl Strategy for Exhaustive {
    fn explore(&self, tree: &mut Tree<'_>) -> Explored<()> {
        for length in 1..=self.depth {
            let mut next = Some(vec![0; length]);
            while next.is_some() {
                let mut run = Vec::with_capacity(RUN);
                while run.len() < RUN
                    && let Some(word) = next
                {
                    next = successor(&word, tree.n_members());
                    run.push(word);
                }
                tree.visit(&run, |child| Side::Left.parent(child))?;
            }
        }
        Ok(())
    }

    fn visits(&self, n_members: usize) -> usize {
        let words = |length| n_members.saturating_pow(length as u32);
        (1..=self.depth).map(words).fold(0, usize::saturating_add)
    }
}

/// The next word of the same length, if there is one.
fn successor(word: &[u16], n_members: usize) -> Option<Word> {
    let place = word.iter().rposition(|&letter| usize::from(letter) + 1 < n_members)?;
    let mut next = word.to_vec();
    next[place] += 1;
    next[place + 1..].fill(0);
    Some(next)
}
