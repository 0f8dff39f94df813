//! Leading singular triplets of a matrix that is only applied.
//!
//! A small matrix is formed and decomposed as a whole. For all others block Lanczos
//! bidiagonalization runs until the triplets are accurate: see `bidiagonalization` for the
//! algorithm and `accuracy` for the test.

use mdt_dense::Mat;

use super::accuracy::{Accuracy, Convergence, SvdSettings};
use super::bidiagonalization::{Bidiagonalization, Triplets};
use super::decomposition::{decompose, decomposition_bytes};
use super::linear_map::{LinearMap, image};
use super::start::{BasisWidths, Start};
use crate::ground::memory;
use crate::ground::tall::TallBlock;
use crate::{Direction, Error, Exec, Real, Result};

/// Leading singular triplets: `A right = left * diag(values)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Svd<T> {
    /// Singular values, largest first.
    pub values: Vec<f64>,
    /// `n x rank`, row-major, orthonormal columns.
    pub left: Vec<T>,
    /// As `left`; empty for [`Accuracy::Distances`].
    pub right: Vec<T>,
    /// `|A^T u - s v|` of each triplet.
    pub residuals: Vec<f64>,
    /// Whether all triplets are within the tolerance (or at the level of rounding).
    pub converged: bool,
    /// Number of columns that the matrix or its transpose was applied to.
    pub applications: usize,
}

/// The leading singular triplets of `map`.
pub fn svd<T: Real>(
    map: &impl LinearMap<T>,
    settings: &SvdSettings,
    start: Start<'_, T>,
    exec: &Exec,
) -> Result<Svd<T>> {
    let (n, rank) = (map.n(), settings.rank);
    if rank < 1 || rank > n {
        return Err(Error::Invalid(format!("expected between 1 and {n} triplets, got {rank}")));
    }
    start.block(n)?;
    if BasisWidths::new(rank, n).are_too_wide(n) {
        return dense(map, rank, exec);
    }
    let mut lanczos = Bidiagonalization::new(map, settings, start, exec)?;
    let mut convergence = Convergence::new(settings);
    let only_left = matches!(settings.accuracy, Accuracy::Distances { .. });
    let found = |lanczos: &Bidiagonalization<'_, T, _>, triplets: Triplets, right, converged| {
        Ok(Svd {
            left: lanczos.left_vectors(&triplets)?,
            right,
            values: triplets.small.values[..rank].to_vec(),
            residuals: triplets.residuals,
            converged,
            applications: lanczos.applications,
        })
    };
    loop {
        exec.check()?;
        lanczos.step_forward()?;
        if only_left && lanczos.is_due(false) {
            let triplets = lanczos.triplets_halfway()?;
            if convergence.test::<T>(&triplets.small.values, &triplets.residuals).converged {
                return found(&lanczos, triplets, Vec::new(), true);
            }
        }
        lanczos.step_back()?;
        let is_last = lanczos.iterations >= settings.max_iterations;
        if !lanczos.is_due(is_last) {
            continue;
        }
        let triplets = lanczos.triplets()?;
        let progress = convergence.test::<T>(&triplets.small.values, &triplets.residuals);
        convergence.remember(&triplets.small.values);
        if progress.converged || is_last {
            let right = if only_left { Vec::new() } else { lanczos.right_vectors(&triplets)? };
            return found(&lanczos, triplets, right, progress.converged);
        }
        lanczos.compress(&triplets, progress.settled)?;
    }
}

/// Estimated bytes of the solver: of the dense decomposition, or of two bases, three blocks of a
/// product and the projected matrix.
pub fn solver_bytes(n: usize, rank: usize, item_size: usize) -> u64 {
    let widths = BasisWidths::new(rank, n);
    if widths.are_too_wide(n) {
        return decomposition_bytes(n);
    }
    let columns = (2 * widths.most + 3 * widths.block) as u64;
    (n as u64).saturating_mul(columns.saturating_mul(item_size as u64)).saturating_add(decomposition_bytes(widths.most))
}

/// Decomposes the matrix itself, for sizes at which the bases would be as large.
fn dense<T: Real>(map: &impl LinearMap<T>, rank: usize, exec: &Exec) -> Result<Svd<T>> {
    let n = map.n();
    memory::require(decomposition_bytes(n))?;
    let mut unit = TallBlock::zeros(n, n)?;
    (0..n).for_each(|i| unit[i * n + i] = T::ONE);
    let whole = image(map, unit.view(), Direction::Forward, exec)?;
    drop(unit);
    if whole.iter().any(|v| !v.to_f64().is_finite()) {
        return Err(Error::Invalid("expected finite products with the operator, got NaN or infinity".into()));
    }
    let matrix = Mat::from_fn(n, n, |i, j| whole[i * n + j].to_f64());
    drop(whole);
    let small = decompose(matrix.as_ref(), exec)?;
    let leading = |m: &Mat<f64>| memory::collect((0..n * rank).map(|k| T::from_f64(m[(k / rank, k % rank)])));
    Ok(Svd {
        left: leading(&small.left)?,
        right: leading(&small.right)?,
        values: small.values[..rank].to_vec(),
        residuals: vec![0.0; rank],
        converged: true,
        applications: n,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A diagonal matrix, whose singular values are known.
    struct Diagonal(Vec<f64>);

    impl LinearMap<f64> for Diagonal {
        fn n(&self) -> usize {
            self.0.len()
        }

        fn apply(&self, x: &[f64], cols: usize, _: Direction, out: &mut [f64], _: &Exec) -> Result<()> {
            for (i, (out, x)) in out.chunks_exact_mut(cols).zip(x.chunks_exact(cols)).enumerate() {
                out.iter_mut().zip(x).for_each(|(o, v)| *o = self.0[i] * v);
            }
            Ok(())
        }
    }

    fn solve(values: Vec<f64>, rank: usize, tolerance: f64, threads: usize) -> Svd<f64> {
        let settings = SvdSettings { rank, tolerance, accuracy: Accuracy::Values, max_iterations: 500, seed: 1 };
        svd(&Diagonal(values), &settings, Start::Random, &Exec::with_threads(threads)).unwrap()
    }

    #[test]
    fn crowded_repeated_and_vanishing_values_are_found() {
        let n = 3000;
        let crowded: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + 1e-3 * f64::from(i))).collect();
        let repeated: Vec<f64> = (0..n).map(|i| if i % 500 == 0 { 1.0 } else { 0.5 }).collect();
        // Ten equal values, more than a narrow block has columns, and a dense spectrum below them.
        let clusters: Vec<f64> = (0..n).map(|i| if i % 300 == 0 { 1.0 } else { 0.9 - 1e-4 * f64::from(i) }).collect();
        let low_rank: Vec<f64> = (0..n).map(|i| if i < 4 { 1.0 - 0.1 * f64::from(i) } else { 0.0 }).collect();
        for (values, rank) in [(crowded, 6), (repeated, 6), (clusters, 11), (low_rank, 6)] {
            let found = solve(values.clone(), rank, 1e-9, 2);
            assert!(found.converged);
            let mut expected = values;
            expected.sort_unstable_by(|a, b| b.total_cmp(a));
            for (got, want) in found.values.iter().zip(&expected) {
                assert!((got - want).abs() <= 1e-9 * want + 1e-14, "{got} {want}");
            }
        }
    }

    /// Values that fall by many orders converge at once. Without reorthogonalization rounding would
    /// repeat them.
    #[test]
    fn steep_spectra_have_each_value_once() {
        for (decades, rank, tolerance) in
            [(9.0, 60, 1e-3), (9.0, 60, 1e-8), (4.0, 60, 1e-3), (12.0, 6, 1e-3), (2.0, 20, 1e-3)]
        {
            let values: Vec<f64> = (0..1500).map(|i| 10.0_f64.powf(-decades * f64::from(i) / 60.0)).collect();
            let found = solve(values.clone(), rank, tolerance, 2);
            assert!(found.converged);
            for (got, want) in found.values.iter().zip(&values) {
                assert!((got - want).abs() <= tolerance * want + 1e-14, "{decades} {rank}: {got} {want}");
            }
            for (i, j) in (0..rank).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let product: f64 = found.left.chunks_exact(rank).map(|row| row[i] * row[j]).sum();
                assert!(product.abs() < 1e-6, "{decades} {rank}: {i} {j} {product}");
            }
        }
    }

    /// Distances between rows of `left * values` are those of the matrix, relative to the first
    /// value that is not dropped, even if that is small relative to the dropped one. Small values
    /// cost no products.
    #[test]
    fn distances_need_no_small_values() {
        let (n, rank, tolerance) = (3000, 11, 1e-3);
        for second in [1.0, 1e-3] {
            // Nine clusters, and a dense spectrum that does not matter for distances.
            let value = |i: u32| match i {
                0 => 1.0,
                1..10 => second * (1.0 - 0.02 * f64::from(i)),
                _ => second * 1e-4 * (1.0 - 1e-4 * f64::from(i)),
            };
            let values: Vec<f64> = (0..n).map(value).collect();
            let all = solve(values.clone(), rank, tolerance, 2);
            let accuracy = Accuracy::Distances { dropped: 1 };
            let settings = SvdSettings { rank, tolerance, accuracy, max_iterations: 500, seed: 1 };
            let found = svd(&Diagonal(values.clone()), &settings, Start::Random, &Exec::with_threads(2)).unwrap();
            assert!(found.converged && found.applications < all.applications);
            let row = |i: usize| (1..rank).map(move |k| (i, k));
            let place = |(i, k): (usize, usize)| found.left[i * rank + k] * found.values[k];
            let exact = |i: usize| if (1..10).contains(&i) { values[i] } else { 0.0 };
            for (i, j) in (0..20).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let squares = row(i).zip(row(j)).map(|(a, b)| (place(a) - place(b)).powi(2));
                let (got, want) = (squares.sum::<f64>().sqrt(), exact(i).hypot(exact(j)));
                assert!((got - want).abs() <= 2.0 * tolerance * second, "{second} {i} {j}: {got} {want}");
            }
        }
    }

    /// A block of left vectors is as good a start, whatever it contains, and takes no more products if it
    /// contains the answer.
    #[test]
    fn blocks_of_left_vectors_are_a_start() {
        for rank in [8, 70] {
            left_start_of(rank);
        }
    }

    fn left_start_of(rank: usize) {
        let n = 3000;
        let crowded: Vec<f64> = (0..n).map(|i| 1.0 / (1.0 + 1e-3 * f64::from(i))).collect();
        let steep: Vec<f64> = (0..n).map(|i| 10.0_f64.powf(-f64::from(i) / 6.0)).collect();
        let clusters: Vec<f64> =
            (0..n).map(|i| if i < rank as u32 { 1.0 } else { 0.3 - 1e-5 * f64::from(i) }).collect();
        let cols = super::super::start_columns(rank);
        let random: Vec<f64> = (0..n as usize * cols).map(|k| ((k * 7919) % 1013) as f64 / 1013.0 - 0.5).collect();
        let near: Vec<f64> =
            (0..n as usize * cols).map(|k| if k / cols == k % cols { 1.0 } else { 1e-9 * random[k] }).collect();
        for values in [crowded, steep, clusters] {
            for (accuracy, tolerance) in [(Accuracy::Values, 1e-9), (Accuracy::Distances { dropped: 0 }, 1e-9)] {
                let settings = SvdSettings { rank, tolerance, accuracy, max_iterations: 500, seed: 1 };
                let from = |start| svd(&Diagonal(values.clone()), &settings, start, &Exec::with_threads(2)).unwrap();
                let (left, right) = (from(Start::Left(&random)), from(Start::Random));
                assert!(left.converged && right.converged);
                for (got, want) in left.values.iter().zip(&values) {
                    assert!((got - want).abs() <= 1e-8 * values[0], "{got} {want}");
                }
                let outside = |row: &[f64]| row.iter().zip(&left.values).map(|(v, s)| (v * s).powi(2)).sum::<f64>();
                let error: f64 = left.left.chunks_exact(rank).skip(rank).map(outside).sum();
                assert!(error.sqrt() < 1e-6, "{error}");
                assert!(rank > cols || from(Start::Left(&near)).applications <= right.applications);
            }
        }
    }

    #[test]
    fn results_do_not_depend_on_threads() {
        let values: Vec<f64> = (0..5000).map(|i| (-0.01 * f64::from(i)).exp()).collect();
        let one = solve(values.clone(), 10, 1e-6, 1);
        assert_eq!(one, solve(values.clone(), 10, 1e-6, 2));
        assert_eq!(one, solve(values, 10, 1e-6, 5));
    }

    #[test]
    fn products_that_are_not_finite_are_refused() {
        let mut values = vec![1.0; 2000];
        values[7] = f64::NAN;
        let settings = SvdSettings { rank: 2, tolerance: 1e-3, accuracy: Accuracy::Values, max_iterations: 5, seed: 1 };
        let error = svd(&Diagonal(values), &settings, Start::Random, &Exec::with_threads(1)).unwrap_err();
        assert!(error.to_string().contains("finite"), "{error}");
    }
}
