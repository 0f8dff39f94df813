//! Random walks: transition matrices, operator sets and trajectories.
//!
//! | file | content |
//! |---|---|
//! | `transition` | `P = D^-1 K`, sparse and row-stochastic |
//! | `member` | members of an operator set and the steps that they combine to |
//! | `operator_set` | stored walks and members |
//! | `absence`, `borrowing` | points that some walks lack, and products with the rows that replace theirs |
//! | `trajectory` | products of steps, applied to blocks of vectors |
//! | `product` | the product of a trajectory as a sparse matrix |
//! | `closed_parts` | the parts of the points that no step joins |
//! | `distances` | stationary distribution and diffusion distances |
//! | `contrastive`, `patch` | the contrastive loss and its gradient |
//! | `weight_gradient` | derivatives by the weights of the steps |

pub(crate) mod absence;
pub(crate) mod borrowing;
mod closed_parts;
pub(crate) mod contrastive;
pub(crate) mod distances;
pub(crate) mod member;
pub(crate) mod operator_set;
mod patch;
pub(crate) mod product;
pub(crate) mod trajectory;
pub(crate) mod transition;
pub(crate) mod weight_gradient;
