//! The entropy of the singular values of `M^t`, from which the diffusion time is chosen.
//!
//! For `A = M^t` with singular values `sigma` and `F = sum sigma^2`, the entropy of
//! `s = sigma / sqrt(F)` is
//!
//! ```text
//! S = -sum s log s = log(F) / (2 sqrt(F)) * sum sigma - 1 / sqrt(F) * sum sigma log sigma
//! ```
//!
//! so three traces `tr f(A^T A)` suffice: of `sigma^2`, `sigma` and `sigma log sigma`.
//!
//! - Deflation (`deflation`): the largest singular values are computed on an orthonormal basis `P`.
//! - Quadrature (`quadrature`, `gauss`): stochastic Lanczos quadrature estimates the traces of
//!   `A (I - P P^T)`. Without deflation the few large values that dominate `A` at long times would
//!   be estimated from a handful of random signs.
//!
//! The cost of one `t` is `t * steps * probes` products of one vector with `M` or `M^T`. The basis
//! and the largest values at all times take `deflated` times as many products as the largest `t`
//! and a few more. Memory: the basis and two more blocks of its size, and four blocks of the probes
//! that are advanced together. The random vectors are the same at every `t`, so the curve over `t`
//! is smooth.
//!
//! References: Ubaru, Chen and Saad 2017, doi:10.1137/16M1104974; arXiv:2512.01484.

mod deflation;
mod estimate;
mod gauss;
mod moments;
mod quadrature;

pub use estimate::{EntropyEstimate, EntropyOptions};
