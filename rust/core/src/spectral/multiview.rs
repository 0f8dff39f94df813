//! Multi-view diffusion maps: the walk that changes view at every step.
//!
//! There are `V N` states, one for each sample in each view. The affinity of views `u` and `v` is
//! `K_u K_v` for `u != v` and 0 for `u = v`, a symmetric matrix. It is never formed: with
//! `s_v = K_v x_v` and `s` the sum of all `s_v`, block `u` of the product is `K_u (s - s_u)`, two
//! sparse products per view.
//!
//! Reference: Lindenbaum, Yeredor, Salhov and Averbuch 2020, doi:10.1016/j.inffus.2019.08.005.

use super::accuracy::SvdSettings;
use super::embedding::{Coordinates, eigenpairs, scale_rows_in_place, signs, without_first};
use super::maps::Scaled;
use super::start::Start;
use crate::ground::block::Block;
use crate::ground::tall::{each_row, scale_columns};
use crate::{Direction, Error, Exec, LinearMap, OperatorSet, Real, Result, Trajectory};

/// The symmetric block affinity of the first `n_views` walks of a set.
struct BlockAffinity<'a, T> {
    set: &'a OperatorSet<T>,
    degrees: Vec<&'a [T]>,
}

impl<'a, T: Real> BlockAffinity<'a, T> {
    fn new(set: &'a OperatorSet<T>, n_views: usize) -> Result<Self> {
        if n_views < 2 || n_views > set.in_any_order().len() {
            return Err(Error::Invalid(format!(
                "expected at least 2 views, got {}",
                n_views.min(set.in_any_order().len())
            )));
        }
        if set.borrowing().is_some() {
            return Err(Error::Invalid("expected views that have all samples, got views that lack some".into()));
        }
        let degrees: Option<Vec<_>> = set.walks()[..n_views].iter().map(|walk| walk.degrees()).collect();
        let degrees = degrees.ok_or_else(|| Error::Invalid("expected views made from symmetric affinities".into()))?;
        Ok(Self { set, degrees })
    }

    /// `K_v x` for one view.
    fn view(&self, v: usize, x: &[T], cols: usize, out: &mut [T], exec: &Exec) -> Result<()> {
        Trajectory::of_walk(self.set, v).apply(x, cols, Direction::Forward, out, exec)?;
        scale_rows_in_place(out, self.degrees[v], exec)
    }
}

impl<T: Real> LinearMap<T> for BlockAffinity<'_, T> {
    fn n(&self) -> usize {
        self.set.n() * self.degrees.len()
    }

    fn apply(&self, x: &[T], cols: usize, _: Direction, out: &mut [T], exec: &Exec) -> Result<()> {
        let size = self.set.n() * cols;
        let mut sum = Block::<T>::zeros(size)?;
        for (v, (x, own)) in x.chunks_exact(size).zip(out.chunks_exact_mut(size)).enumerate() {
            self.view(v, x, cols, own, exec)?;
            let own: &[T] = own;
            each_row(&mut sum, cols, exec, |i, row| row.iter_mut().zip(&own[i * cols..]).for_each(|(s, o)| *s += *o))?;
        }
        let mut others = Block::<T>::zeros(size)?;
        for (u, own) in out.chunks_exact_mut(size).enumerate() {
            let given: &[T] = own;
            each_row(&mut others, cols, exec, |i, row| {
                let parts = sum[i * cols..].iter().zip(&given[i * cols..]);
                row.iter_mut().zip(parts).for_each(|(o, (s, g))| *o = *s - *g);
            })?;
            self.view(u, &others, cols, own, exec)?;
        }
        Ok(())
    }
}

/// Embeds the samples in each of the first `n_views` views, the samples of the first view first.
///
/// Coordinates are right eigenvectors of the walk, of unit Euclidean length, times their
/// eigenvalues. The first (constant) component is dropped.
pub fn embed_multiview<T: Real>(
    set: &OperatorSet<T>,
    n_views: usize,
    n_components: usize,
    settings: &SvdSettings,
    exec: &Exec,
) -> Result<Coordinates<T>> {
    let set = set.restored(exec)?;
    let affinity = BlockAffinity::new(&set, n_views)?;
    let n = affinity.n();
    let mut sums = vec![T::ZERO; n];
    affinity.apply(&vec![T::ONE; n], 1, Direction::Forward, &mut sums, exec)?;
    let inverse: Vec<f64> = sums.iter().map(|s| 1.0 / s.to_f64()).collect();
    let walk = Scaled::by_roots_on_both_sides(&affinity, &inverse, 1.0)?;
    let settings = SvdSettings { rank: n_components + 1, ..*settings };
    let pairs = eigenpairs(&walk, false, &settings, Start::Random, exec)?;
    let mut coordinates = without_first(&pairs.right, settings.rank, 1)?;
    scale_columns(&mut coordinates, &pairs.values[1..], exec)?;
    let signs = signs(&coordinates, n_components);
    scale_columns(&mut coordinates, &signs, exec)?;
    Ok(Coordinates { coordinates, values: pairs.values, residuals: pairs.residuals, converged: pairs.converged })
}
