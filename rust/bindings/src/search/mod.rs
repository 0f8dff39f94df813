//! Searches for trajectories: strategies over sequences, the scorer that runs them, its results.

mod callbacks;
pub mod memory_plan;
pub mod results;
pub mod scorer;
pub mod strategies;
