//! How spread the singular values of a long walk are: the entropy that the diffusion time is read from.
//!
//! For `A = M^t` with singular values `sigma`, and `F = sum sigma^2`, the entropy of `s = sigma / sqrt(F)` is
//!
//! ```text
//! S = -sum s log s = log(F) / (2 sqrt(F)) * sum sigma  -  1 / sqrt(F) * sum sigma log sigma
//! ```
//!
//! so three traces `tr f(A A^T)` are enough: of `sigma^2`, `sigma` and `sigma log sigma`. None needs `A` itself:
//!
//! - *Deflation.* `P` is an orthonormal basis of `A^T A Omega`, a few dozen columns, `Omega` random: where the largest singular
//!   values are. Those of `A P` are computed; those of `A (I - P P^T)` are left to random sign vectors `z`, as the mean of
//!   `z^T f z`. Without this the few large values that make up `A` at long times would be seen through a handful of signs.
//!   The split is exact for `sigma^2`, and for the others if `P` is invariant under `A^T A`; else it errs upwards, in second
//!   order of the coupling and by at most a fraction of `deflated / N`. (The split `P f P + (I - P P^T) f (I - P P^T)` of the
//!   full `f` is exact, but what is left of large values in `z` then takes the first nodes of every rule: measured, the sum
//!   was 40 % off at the knee.)
//! - *Quadrature.* Golub-Kahan bidiagonalisation from `z` is Lanczos on `[0 A; A^T 0]`. Its tridiagonal matrix has a zero
//!   diagonal; eigenvalues and first eigenvector components are nodes and weights of a Gauss rule for even functions of
//!   `sigma`, accurate also for small `sigma` (squares would halve the digits). A rule with an odd number of nodes has one
//!   at 0, one with an even number none; for `|sigma|`, not smooth at 0 where most singular values are, they err to
//!   opposite sides. Two successive rules are mixed by how far each moved last, and the distance to the nearer
//!   one is stated as the error.
//! - *No reorthogonalisation.* Lost orthogonality repeats nodes and splits their weight, which leaves the sum what it was, and
//!   memory stays at a few blocks instead of one for every step.
//!
//! Cost of one `t`: `t * (2 * deflated + steps * probes)` products of one vector with `M` or `M^T`, and the steps from one
//! time to the next for the deflated columns; steps are few at long times, columns fewer and fewer. Memory: seven blocks
//! of `N * deflated` numbers. The vectors are the same at every `t`, so the curve over `t` is smooth although each of its
//! points is random.

mod estimate;
mod gauss;
mod leading;
mod moments;
mod quadrature;

pub use estimate::{EntropyEstimate, EntropyOptions};
