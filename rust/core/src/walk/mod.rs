//! Random walks: transition matrices, operator sets, and trajectories with what is computed from them directly.

pub(crate) mod contrastive;
pub(crate) mod distances;
pub(crate) mod member;
pub(crate) mod operator_set;
mod patch;
pub(crate) mod product;
pub(crate) mod trajectory;
pub(crate) mod transition;
