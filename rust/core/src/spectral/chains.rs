//! Sums of products of walks and their transposes.
//!
//! ```text
//! A = sum_c weight_c F_(c,k) ... F_(c,1),   F = P_v or P_v^T
//! ```
//!
//! Composite diffusion is `P_2 P_1^T + P_1 P_2^T`. Cross diffusion of two views is the mean of two
//! products of about fifty factors. Rows of a transposed walk do not sum to 1, so these operators
//! are not trajectories. They are applied factor by factor and never formed.

use super::embedding::{Coordinates, EmbeddingSettings, embed_map};
use crate::ground::block::Block;
use crate::ground::tall::each_row;
use crate::reorder::{in_cache_order, in_given_order};
use crate::{Direction, Error, Exec, LinearMap, OperatorSet, Real, Result, Trajectory};

/// A weighted product of walks and transposed walks.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Factor of the product.
    pub weight: f64,
    /// Indices of the walks in the order of application, the rightmost factor first.
    pub factors: Vec<(usize, Direction)>,
}

/// A sum of chains over the walks of a set.
#[derive(Debug)]
pub struct ChainSum<'a, T> {
    set: &'a OperatorSet<T>,
    chains: &'a [Chain],
}

impl<'a, T: Real> ChainSum<'a, T> {
    /// Checks the chains against the set.
    pub fn new(set: &'a OperatorSet<T>, chains: &'a [Chain]) -> Result<Self> {
        let walks = set.in_any_order().len();
        if chains.is_empty() || chains.iter().any(|chain| chain.factors.is_empty()) {
            return Err(Error::Invalid("expected at least one chain, each of at least one factor".into()));
        }
        for (walk, _) in chains.iter().flat_map(|chain| &chain.factors) {
            if *walk >= walks {
                return Err(Error::Invalid(format!("expected factors below {walks}, got {walk}")));
            }
        }
        Ok(Self { set, chains })
    }

    /// Number of multiplications per column.
    pub fn cost_per_column(&self) -> usize {
        let factors = self.chains.iter().flat_map(|chain| &chain.factors);
        factors.map(|(walk, _)| self.set.in_any_order()[*walk].matrix().nnz()).sum()
    }
}

impl<T: Real> LinearMap<T> for ChainSum<'_, T> {
    fn n(&self) -> usize {
        self.set.n()
    }

    fn apply(&self, x: &[T], cols: usize, direction: Direction, out: &mut [T], exec: &Exec) -> Result<()> {
        let (mut here, mut there) = (Block::unset(x.len())?, Block::unset(x.len())?);
        out.fill(T::ZERO);
        for Chain { weight, factors } in self.chains {
            let ordered: Vec<_> = match direction {
                Direction::Forward => factors.clone(),
                Direction::Transposed => factors.iter().rev().map(|&(walk, way)| (walk, way.flipped())).collect(),
            };
            here.copy_from_slice(x);
            for (walk, way) in ordered {
                Trajectory::of_walk(self.set, walk).apply(&here, cols, way, &mut there, exec)?;
                std::mem::swap(&mut here, &mut there);
            }
            let weight = T::from_f64(*weight);
            each_row(out, cols, exec, |i, row| {
                row.iter_mut().zip(&here[i * cols..]).for_each(|(o, &v)| *o += weight * v);
            })?;
        }
        Ok(())
    }
}

/// Embeds the points by the leading singular triplets of a sum of chains: `U S`.
pub fn embed_chains<T: Real>(
    set: &OperatorSet<T>,
    chains: &[Chain],
    settings: &EmbeddingSettings,
    exec: &Exec,
) -> Result<Coordinates<T>> {
    let map = ChainSum::new(in_cache_order(set, exec)?, chains)?;
    embed_map(&map, settings, |coordinates| in_given_order(set, coordinates, exec), exec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ground::csr::Csr;
    use crate::walk::member::Member;
    use crate::walk::transition::Transition;
    use std::sync::Arc;

    const N: usize = 3;
    /// Rows of two walks. `B^T` is not a walk.
    const A: [[f64; N]; N] = [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [0.0, 0.5, 0.5]];
    const B: [[f64; N]; N] = [[0.75, 0.0, 0.25], [0.0, 1.0, 0.0], [0.5, 0.25, 0.25]];

    fn walk(rows: &[[f64; N]; N]) -> Arc<Transition<f64>> {
        let indices = (0..N * N).map(|k| (k % N) as u32).collect();
        let csr = Csr::new(N, vec![0, 3, 6, 9], indices, rows.concat()).unwrap();
        Arc::new(Transition::from_stochastic(csr, 1e-12, &Exec::with_threads(1)).unwrap())
    }

    fn times(a: &[[f64; N]; N], b: &[[f64; N]; N]) -> [[f64; N]; N] {
        std::array::from_fn(|i| std::array::from_fn(|j| (0..N).map(|k| a[i][k] * b[k][j]).sum()))
    }

    fn transposed(a: &[[f64; N]; N]) -> [[f64; N]; N] {
        std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
    }

    #[test]
    fn both_directions_are_those_of_the_formed_matrix() {
        let set = OperatorSet::new(vec![walk(&A), walk(&B)], vec![Member::Walk(0), Member::Walk(1)]).unwrap();
        let chains = [
            Chain { weight: 2.0, factors: vec![(0, Direction::Transposed), (1, Direction::Forward)] },
            Chain { weight: -0.5, factors: vec![(1, Direction::Forward), (1, Direction::Forward)] },
        ];
        let map = ChainSum::new(&set, &chains).unwrap();
        let (first, second) = (times(&B, &transposed(&A)), times(&B, &B));
        let unit: Vec<f64> = (0..N * N).map(|k| f64::from(u8::from(k % (N + 1) == 0))).collect();
        for direction in [Direction::Forward, Direction::Transposed] {
            let mut out = vec![f64::NAN; N * N];
            map.apply(&unit, N, direction, &mut out, &Exec::with_threads(1)).unwrap();
            for (k, got) in out.iter().enumerate() {
                let (i, j) = if direction == Direction::Forward { (k / N, k % N) } else { (k % N, k / N) };
                let want = 2.0 * first[i][j] - 0.5 * second[i][j];
                assert!((got - want).abs() < 1e-14, "{direction:?} ({i}, {j}): {got} {want}");
            }
        }
    }

    #[test]
    fn unknown_walks_and_empty_chains_are_refused() {
        let set = OperatorSet::new(vec![walk(&A)], vec![Member::Walk(0)]).unwrap();
        for factors in [vec![], vec![(1, Direction::Forward)]] {
            assert!(ChainSum::new(&set, &[Chain { weight: 1.0, factors }]).is_err());
        }
        assert!(ChainSum::new(&set, &[]).is_err());
    }
}
