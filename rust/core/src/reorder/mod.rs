//! A permutation of the points under which the steps of an operator set use the cache well.

mod choice;
mod reordered;

pub(crate) use reordered::{LARGE, in_cache_order, in_given_order, reordered};
