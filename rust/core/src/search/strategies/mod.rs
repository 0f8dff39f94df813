//! Strategies: the order in which candidate sequences are scored.
//!
//! | file | strategy |
//! |---|---|
//! | `random` | sequences drawn step by step |
//! | `beam` | extends the best few sequences of each length (one sequence: greedy) |
//! | `epsilon_greedy` | extends one sequence, usually by its best step |
//! | `exhaustive` | all sequences up to a length |
//! | `mcts` | tree search guided by upper confidence bounds |

mod beam;
mod epsilon_greedy;
mod exhaustive;
mod mcts;
mod random;

pub use beam::Beam;
pub use epsilon_greedy::EpsilonGreedy;
pub use exhaustive::Exhaustive;
pub use mcts::Mcts;
pub use random::RandomSequences;
