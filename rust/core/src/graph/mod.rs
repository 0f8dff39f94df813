//! Neighbour graphs and affinities of one view, for training points and for new points.
//!
//! | file | idea |
//! |---|---|
//! | `neighbours` | exact and approximate nearest neighbours |
//! | `affinity` | from a neighbour graph to a symmetric affinity |
//! | `new_rows` | transition rows of new points |

pub mod affinity;
pub mod neighbours;
pub(crate) mod new_rows;
