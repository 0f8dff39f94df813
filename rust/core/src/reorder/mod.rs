//! Permutations of the points under which the steps of an operator set use the cache well.
//!
//! A step gathers the rows of a block that the neighbour lists name. Samples usually come in any
//! order, so almost every row is a cache miss once a block exceeds the second-level cache. The
//! functions of this layer make one permuted copy of an operator set at the first need, keep it in
//! the set, and convert rows between the two orders. A large set can keep the copy alone.
//!
//! | file | content |
//! |---|---|
//! | `choice` | candidate permutations and their simulated cache misses |
//! | `reordered` | the permuted copy of a set |

mod choice;
mod reordered;

pub(crate) use reordered::{LARGE, in_cache_order, in_given_order, reordered, to_cache_order};
