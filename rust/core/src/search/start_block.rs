//! The block from which the solver starts for every candidate.
//!
//! A random block after some steps of the mean walk is near the leading left singular vectors of most
//! trajectories, and nearer after the last step of the trajectory itself. It depends on the set and on
//! the seed alone, so scores do not depend on the order of a search. (Blobs, 60,000 points, bytes moved
//! with 8 steps and the last one: 95 GB by a beam search, 125 by a consensus; with 4 steps and the last
//! two: 129 by the beam search.)

use std::sync::OnceLock;

use crate::ground::block::Block;
use crate::spectral::{EmbeddingSettings, random_block};
use crate::{Direction, Exec, OperatorSet, Real, Result, Trajectory};

/// Steps of the mean walk.
const STEPS: usize = 8;

/// The starting block of one operator set and one seed, computed at the first use.
#[derive(Debug)]
pub struct StartBlock<T>(OnceLock<Option<Block<T>>>);

impl<T> Default for StartBlock<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T: Real> StartBlock<T> {
    /// Computes the block, unless it is known. `set` is in the solver's order.
    pub(super) fn prepare(&self, set: &OperatorSet<T>, settings: &EmbeddingSettings, exec: &Exec) -> Result<()> {
        if self.0.get().is_none() {
            // If two threads both compute the block, the results are equal.
            let _ = self.0.set(smooth_block(set, settings, exec)?);
        }
        Ok(())
    }

    /// A block near the leading left singular vectors of a trajectory over a set in the solver's order;
    /// None if the solver needs none.
    pub(super) fn for_trajectory(
        &self,
        trajectory: &Trajectory<'_, T>,
        settings: &EmbeddingSettings,
        exec: &Exec,
    ) -> Result<Option<Block<T>>> {
        self.prepare(trajectory.set(), settings, exec)?;
        let Some(block) = self.0.get().and_then(Option::as_ref) else { return Ok(None) };
        applied(&trajectory.last_step(), block, exec).map(Some)
    }
}

fn smooth_block<T: Real>(set: &OperatorSet<T>, settings: &EmbeddingSettings, exec: &Exec) -> Result<Option<Block<T>>> {
    let random = random_block(set.n(), settings.rank(), settings.seed, exec)?;
    random.map(|random| applied(&Trajectory::of_mean(set, STEPS), &random, exec)).transpose()
}

fn applied<T: Real>(steps: &Trajectory<'_, T>, block: &[T], exec: &Exec) -> Result<Block<T>> {
    let mut out = Block::unset(block.len())?;
    steps.apply(block, block.len() / steps.n(), Direction::Forward, &mut out, exec)?;
    Ok(out)
}
