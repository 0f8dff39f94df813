//! The crate from outside, against a naive dense oracle. One program: each separate one would compile the crate's generic code
//! again.

mod clustering;
mod contrastive;
mod determinism;
mod errors;
mod neighbours;
mod operators;
mod oracle;
mod samples;
mod search;
