//! Neighbour graphs and affinities of one view, for training samples and for new ones.

pub mod affinity;
pub mod neighbours;
pub(crate) mod new_rows;
