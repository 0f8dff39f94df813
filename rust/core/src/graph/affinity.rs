//! Symmetric affinities from directed neighbour graphs.
//!
//! All kernels have one of two shapes, with bandwidths `h_i` that the caller derives from its own
//! `s_i`:
//!
//! | kernel | shape | `h_i` |
//! |---|---|---|
//! | Gaussian `exp(-d^2 / (2 s_i s_j))` | squared | `sqrt(2) s_i` |
//! | adaptive `exp(-d^2 / (s_i s_j))` | squared | `s_i` |
//! | Laplacian `exp(-d / sqrt(s_i s_j))` | linear | `s_i` |
//! | correlation `exp(-d / (2 sqrt(s_i s_j)))` | linear | `2 s_i` |
//!
//! Ratios `d / h` are formed before they are multiplied, so that no square overflows or vanishes.
//! Cost: O(edges).
//!
//! Reference for the adaptive kernel: Zelnik-Manor and Perona, "Self-tuning spectral clustering",
//! 2004.

use crate::ground::csr::RowBlock;
use crate::{Csr, Error, Exec, Real, Result};

/// Rows that one thread processes at a time.
const ROWS_PER_BLOCK: usize = 4096;

/// The affinity as a function of the distance.
#[derive(Debug, Clone, Copy)]
pub enum Kernel<'a> {
    /// `exp(-(d / h_i) (d / h_j))`
    Squared(Bandwidths<'a>),
    /// `exp(-d / sqrt(h_i h_j))`
    Linear(Bandwidths<'a>),
    /// 1 for every neighbour.
    Binary,
    /// The graph already holds affinities.
    Given,
}

/// Bandwidths of a kernel.
#[derive(Debug, Clone, Copy)]
pub enum Bandwidths<'a> {
    /// One bandwidth for all points.
    Common(f64),
    /// One bandwidth for each point.
    PerPoint(&'a [f64]),
}

impl Bandwidths<'_> {
    #[inline]
    pub(crate) fn at(&self, i: usize) -> f64 {
        match self {
            Self::Common(h) => *h,
            Self::PerPoint(h) => h[i],
        }
    }
}

impl Kernel<'_> {
    #[inline]
    fn affinity(&self, i: usize, j: usize, d: f64) -> f64 {
        match self {
            Self::Squared(h) | Self::Linear(h) => (-self.exponent(h.at(i), j, d)).exp(),
            Self::Binary => 1.0,
            Self::Given => d,
        }
    }

    /// The exponent `e` of the affinity `exp(-e)` between a point of bandwidth `own` and point `j`;
    /// 0 for kernels without exponent.
    #[inline]
    pub(crate) fn exponent(&self, own: f64, j: usize, d: f64) -> f64 {
        match self {
            Self::Squared(h) => (d / own) * (d / h.at(j)),
            Self::Linear(Bandwidths::Common(h)) => d / h,
            Self::Linear(h) => d / (own.sqrt() * h.at(j).sqrt()),
            Self::Binary | Self::Given => 0.0,
        }
    }
}

/// How a directed affinity `A` is made symmetric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Symmetrize {
    /// `(A + A^T) / 2`
    Mean,
    /// Elementwise maximum of `A` and `A^T`: an edge if either point chose the other.
    Max,
    /// Elementwise minimum of `A` and `A^T`: an edge if both points chose each other.
    Min,
}

impl Symmetrize {
    #[inline]
    pub(crate) fn combine(self, forward: f64, backward: f64) -> f64 {
        match self {
            Self::Mean => (forward + backward) / 2.0,
            Self::Max => forward.max(backward),
            Self::Min => forward.min(backward),
        }
    }
}

/// Computes the symmetric affinity of a directed graph of distances without self-loops.
///
/// Every point gets `diagonal` on the diagonal. Affinities of exactly 0 are not stored.
pub fn symmetric_affinity<T: Real>(
    graph: Csr<f64>,
    kernel: Kernel<'_>,
    diagonal: f64,
    symmetrize: Symmetrize,
    exec: &Exec,
) -> Result<Csr<T>> {
    let n = graph.n_rows();
    Error::check_size("graph columns", n, graph.n_cols())?;
    if let Kernel::Squared(Bandwidths::PerPoint(h)) | Kernel::Linear(Bandwidths::PerPoint(h)) = kernel {
        Error::check_size("bandwidths", n, h.len())?;
    }
    let mut forward = graph;
    forward.map_values(exec, |i, j, d| kernel.affinity(i, j, d))?;
    let backward = forward.transpose()?;
    let blocks = exec.map(n.div_ceil(ROWS_PER_BLOCK), |b| {
        let mut block = RowBlock::default();
        for i in b * ROWS_PER_BLOCK..((b + 1) * ROWS_PER_BLOCK).min(n) {
            if forward.row(i).0.binary_search(&(i as u32)).is_ok() {
                return Err(Error::Invalid(format!("expected a graph without self-loops, got one at {i}")));
            }
            let start = block.indices.len();
            let mut own = Some(diagonal).filter(|d| *d > 0.0);
            merge(forward.row(i), backward.row(i), |column, f, g| {
                if column as usize > i
                    && let Some(d) = own.take()
                {
                    block.push(i as u32, T::from_f64(d));
                }
                let value = T::from_f64(symmetrize.combine(f, g));
                if value > T::ZERO {
                    block.push(column, value);
                }
            });
            if let Some(d) = own {
                block.push(i as u32, T::from_f64(d));
            }
            block.end_row(start);
        }
        Ok(block)
    })?;
    drop((forward, backward));
    Csr::from_row_blocks(n, blocks)
}

/// Visits the entries of two rows by ascending column; a missing entry counts as 0.
fn merge(a: (&[u32], &[f64]), b: (&[u32], &[f64]), mut visit: impl FnMut(u32, f64, f64)) {
    let (mut x, mut y) = (0, 0);
    loop {
        match (a.0.get(x), b.0.get(y)) {
            (None, None) => return,
            (Some(&c), other) if other.is_none_or(|&o| c < o) => {
                visit(c, a.1[x], 0.0);
                x += 1;
            }
            (Some(&c), Some(&o)) if c == o => {
                visit(c, a.1[x], b.1[y]);
                x += 1;
                y += 1;
            }
            (_, Some(&o)) => {
                visit(o, 0.0, b.1[y]);
                y += 1;
            }
            (Some(_), None) => unreachable!("the first guard takes every entry of a once b is exhausted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph() -> Csr<f64> {
        // Edges 0 -> 1 and 1 -> 0 at distance 1, 1 -> 2 at distance 2, 2 -> 1 at distance 3.
        Csr::new(3, vec![0, 1, 3, 4], vec![1, 0, 2, 1], vec![1.0, 1.0, 2.0, 3.0]).unwrap()
    }

    #[test]
    fn symmetrisations_combine_both_directions() {
        let exec = Exec::with_threads(1);
        for (how, expected) in [(Symmetrize::Mean, 2.5), (Symmetrize::Max, 3.0), (Symmetrize::Min, 2.0)] {
            let k: Csr<f64> = symmetric_affinity(graph(), Kernel::Given, 7.0, how, &exec).unwrap();
            assert_eq!(k.row(1), (&[0_u32, 1, 2][..], &[1.0, 7.0, expected][..]));
            assert_eq!(k.transpose().unwrap(), k);
        }
    }

    #[test]
    fn one_way_edges_are_halved_or_dropped() {
        let exec = Exec::with_threads(1);
        let one_way = Csr::new(2, vec![0, 1, 1], vec![1], vec![1.0]).unwrap();
        let mean: Csr<f64> = symmetric_affinity(one_way.clone(), Kernel::Binary, 1.0, Symmetrize::Mean, &exec).unwrap();
        assert_eq!(mean.row(1), (&[0_u32, 1][..], &[0.5, 1.0][..]));
        let min: Csr<f64> = symmetric_affinity(one_way, Kernel::Binary, 1.0, Symmetrize::Min, &exec).unwrap();
        assert_eq!(min.row(0), (&[0_u32][..], &[1.0][..]));
    }
}
