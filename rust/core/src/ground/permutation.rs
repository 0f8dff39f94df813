//! Permutations of the points.
//!
//! Row `i` of a permuted block is row `order[i]` of the given block. Point `p` is at place
//! `places[p]`.

use bytemuck::Zeroable;

use crate::ground::memory;
use crate::{Error, Result};

/// An order of all points.
#[derive(Debug)]
pub(crate) struct Permutation {
    /// The point at each place.
    pub order: Vec<u32>,
    /// The place of each point.
    pub places: Vec<u32>,
}

impl Permutation {
    pub fn new(order: Vec<u32>) -> Self {
        Self { places: inverse(&order), order }
    }

    /// The permutation that undoes this one.
    pub fn inverse(&self) -> Result<Self> {
        Ok(Self { order: memory::copy(&self.places)?, places: memory::copy(&self.order)? })
    }

    /// The rows of a block in this order.
    pub fn permute_rows<V: Copy>(&self, block: &[V]) -> Result<Vec<V>> {
        let cols = block.len() / self.order.len();
        Error::check_size("elements of the block", self.order.len() * cols, block.len())?;
        let mut out = memory::with_capacity(block.len())?;
        self.order.iter().for_each(|&point| out.extend_from_slice(&block[point as usize * cols..][..cols]));
        Ok(out)
    }

    /// The inverse of [`Self::permute_rows`].
    pub fn restore_rows<V: Copy + Zeroable>(&self, block: &[V]) -> Result<Vec<V>> {
        let cols = block.len() / self.order.len();
        let mut out = memory::zeros(block.len())?;
        for (&point, row) in self.order.iter().zip(block.chunks_exact(cols.max(1))) {
            out[point as usize * cols..][..cols].copy_from_slice(row);
        }
        Ok(out)
    }
}

/// The place of each point in an order of all points.
pub(crate) fn inverse(order: &[u32]) -> Vec<u32> {
    let mut places = vec![0; order.len()];
    order.iter().zip(0..).for_each(|(&point, place)| places[point as usize] = place);
    places
}
