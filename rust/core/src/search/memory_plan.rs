//! Estimate of the memory that the evaluation of candidates takes beside the operators.
//!
//! With `n` points, rank `r`, blocks of `b` columns, items of `s` bytes and `c` candidates at once:
//!
//! ```text
//! solver                  c solver_bytes(n, r, s)  see `spectral`
//! coordinates and labels  c n (2 r s + 8 r + 16)   k-means works in double precision
//! starting blocks         (1 + c) n s b            one is shared, each candidate has another
//! ```

use super::evaluator::SIDE_BY_SIDE;
use crate::ground::csr::MAX_SIZE;
use crate::reorder::LARGE;
use crate::spectral::{solver_bytes, start_columns};

/// Estimated bytes, stage by stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CandidatePlan {
    /// The copy of the operators in the solver's order.
    pub reordered_operators: u64,
    /// Bases and blocks of the solver.
    pub solver: u64,
    /// Coordinates, labels and k-means.
    pub coordinates_and_labels: u64,
    /// The block from which all candidates start, and those that they make of it.
    pub starting_blocks: u64,
    /// Number of candidates that are evaluated at the same time.
    pub at_once: usize,
}

/// Estimates the memory of an evaluation with `n_components` coordinates and a dropped first one.
pub fn plan_candidates(
    n_samples: usize,
    operator_bytes: u64,
    n_components: usize,
    item_size: usize,
    n_threads: usize,
) -> CandidatePlan {
    // More components than samples do not exist, and the sums below stay within 64 bits.
    let rank = n_components.min(MAX_SIZE) + 1;
    let (block, columns) = (start_columns(rank) as u64, rank as u64);
    let at_once = if n_samples <= SIDE_BY_SIDE { n_threads } else { 1 };
    let (item_size, candidates) = (item_size as u64, at_once as u64);
    let bytes = |per_item: u64, others: u64| {
        (n_samples as u64).saturating_mul(item_size.saturating_mul(per_item).saturating_add(others))
    };
    CandidatePlan {
        reordered_operators: if n_samples >= LARGE { operator_bytes } else { 0 },
        solver: candidates.saturating_mul(solver_bytes(n_samples, rank, item_size as usize)),
        coordinates_and_labels: candidates.saturating_mul(bytes(2 * columns, 8 * columns + 16)),
        starting_blocks: (1 + candidates).saturating_mul(bytes(block, 0)),
        at_once,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_follow_the_formulas() {
        let plan = |n, operators, components, item, threads| {
            let plan = plan_candidates(n, operators, components, item, threads);
            let bytes = [plan.reordered_operators, plan.solver, plan.coordinates_and_labels, plan.starting_blocks];
            (plan.at_once, bytes)
        };
        assert_eq!(plan(600, 1000, 4, 8, 2), (2, [0, 2_746_400, 163_200, 3 * 38_400]));
        assert_eq!(plan(16_383, 7_000_000, 10, 4, 8), (8, [0, 200_441_088, 25_164_288, 9 * 1_048_512]));
        assert_eq!(plan(16_384, 7_000_000, 10, 4, 8), (8, [7_000_000, 200_452_224, 25_165_824, 9 * 1_048_576]));
        assert_eq!(plan(32_768, 1 << 24, 3, 8, 4), (4, [1 << 24, 178_234_368, 14_680_064, 5 * 2_097_152]));
        assert_eq!(plan(32_769, 1 << 24, 40, 8, 4), (1, [1 << 24, 213_805_744, 32_769_000, 2 * 8_388_864]));
        let million = (1, [3_000_000_000, 880_739_600, 192_000_000, 2 * 64_000_000]);
        assert_eq!(plan(1_000_000, 3_000_000_000, 10, 4, 64), million);
    }
}
