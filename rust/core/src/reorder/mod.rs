//! A permutation of the points under which the steps of an operator set use the cache well.

pub(crate) mod numbering;
pub(crate) mod twin;
