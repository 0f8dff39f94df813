//! Tests of the public interface against a naive dense oracle.
//!
//! The tests are one program: each further program would compile the generic code of the crate
//! again. Test data are in `samples`, definitions in `oracle`.

mod clustering;
mod contrastive;
mod determinism;
mod errors;
mod neighbours;
mod operators;
mod oracle;
mod raw_arrays;
mod samples;
mod search;
