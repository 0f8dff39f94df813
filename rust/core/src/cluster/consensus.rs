//! Consensus of several clusterings of the same points.
//!
//! `H` has one column for each cluster of each of `m` clusterings, with 1 for the points of the
//! cluster. `(H H^T)_ij` is the number of clusterings in which `i` and `j` share a cluster. The
//! leading eigenvectors of `H H^T / m` are coordinates in which such points are close. A product
//! with this matrix is two passes over the labels: sums over clusters, then sums over the clusters
//! of each point. Cost: O(n m) a column; no N x N matrix is stored.
//!
//! If all clusterings together have few clusters, the eigenvectors follow from those of the small
//! matrix `H^T H`, which counts the points that two clusters share: `u = H v / |H v|`. This takes one
//! pass over the pairs of labels of each point, and no basis of vectors is stored. (A million points,
//! 8 clusterings of 10 clusters: 0.15 s instead of 7 s.)
//!
//! Reference: Strehl and Ghosh 2002, JMLR 3:583-617.

use crate::ground::exec::Exec;
use crate::ground::memory;
use crate::spectral::linear_map::LinearMap;
use crate::spectral::{Start, Svd, SvdSettings, dense_pairs, svd};
use crate::walk::transition::Direction;
use crate::{Error, Real, Result};

/// Rows that one thread sums; the sums of pieces are added in order.
const ROWS: usize = 8192;

/// Points whose pairs of clusters one thread counts.
const COUNTED_ROWS: usize = 1 << 18;

/// Largest number of clusters, of all clusterings together, whose shared points are counted: the
/// decomposition of the counts takes a tenth of a second.
const FEW_CLUSTERS: usize = 512;

/// Eigenvectors of the counts whose value is below this part of the largest one are left to the
/// solver: rounding makes theirs oblique, by about the roundoff over this part.
const LEAST_VALUE: f64 = 1e-6;

/// The matrix `H H^T / m` as a linear map.
///
/// It stores the cluster of each point in each clustering, numbered through all clusterings in the
/// order of their first points, so that the values of the labels do not matter.
#[derive(Debug)]
pub struct Coassociation {
    clusters: Vec<u32>,
    clusterings: usize,
    total: usize,
}

impl Coassociation {
    /// Creates the matrix from row-major labels, one row for each clustering, all below `n_labels`.
    pub fn new(labels: &[u32], clusterings: usize, n_labels: usize) -> Result<Self> {
        if clusterings == 0 || labels.is_empty() || !labels.len().is_multiple_of(clusterings) {
            let got = labels.len();
            return Err(Error::Invalid(format!(
                "expected labels of {clusterings} clusterings for each point, got {got} in all"
            )));
        }
        let n = labels.len() / clusterings;
        if n_labels > n || clusterings.saturating_mul(n_labels) > u32::MAX as usize {
            return Err(Error::Invalid(format!(
                "n_labels: expected at most {n}, the number of points, got {n_labels}"
            )));
        }
        if let Some(label) = labels.iter().find(|&&label| label as usize >= n_labels) {
            return Err(Error::Invalid(format!("labels: expected numbers below {n_labels}, got {label}")));
        }
        let (mut clusters, mut total) = (vec![0; labels.len()], 0);
        for (clustering, row) in labels.chunks_exact(n).enumerate() {
            let mut numbers = vec![None; n_labels];
            for (i, &label) in row.iter().enumerate() {
                let number = *numbers[label as usize].get_or_insert_with(|| {
                    total += 1;
                    total - 1
                });
                clusters[i * clusterings + clustering] = number;
            }
        }
        Ok(Self { clusters, clusterings, total: total as usize })
    }

    /// `H^T H`, row-major: the number of points that two clusters share.
    fn shared_points(&self, exec: &Exec) -> Result<Vec<f64>> {
        let n = self.clusters.len() / self.clusterings;
        let parts = exec.map(n.div_ceil(COUNTED_ROWS), |piece| {
            let mut counts = vec![0_u32; self.total * self.total];
            for clusters in self.points().skip(piece * COUNTED_ROWS).take(COUNTED_ROWS) {
                for &a in clusters {
                    let row = &mut counts[a as usize * self.total..][..self.total];
                    clusters.iter().for_each(|&b| row[b as usize] += 1);
                }
            }
            Ok(counts)
        })?;
        let mut counts = vec![0.0; self.total * self.total];
        for part in parts {
            counts.iter_mut().zip(part).for_each(|(sum, count)| *sum += f64::from(count));
        }
        Ok(counts)
    }

    /// The leading eigenvectors by those of [`Self::shared_points`]; None if fewer values are positive.
    fn by_shared_points(&self, rank: usize, exec: &Exec) -> Result<Option<Svd<f64>>> {
        let total = self.total;
        if rank > total {
            return Ok(None);
        }
        let counts = dense_pairs(&self.shared_points(exec)?, total, rank, true, exec)?;
        if counts.values[rank - 1] <= LEAST_VALUE * counts.values[0] {
            return Ok(None);
        }
        // |H v|^2 is the eigenvalue of v.
        let scales: Vec<f64> = counts.values[..rank].iter().map(|value| 1.0 / value.sqrt()).collect();
        let rows: Vec<f64> =
            counts.left.chunks_exact(rank).flat_map(|row| row.iter().zip(&scales).map(|(v, s)| v * s)).collect();
        let mut left = memory::zeros(self.clusters.len() / self.clusterings * rank)?;
        exec.each_piece(&mut left, ROWS * rank, |first, piece| {
            let points = self.clusters[first / rank * self.clusterings..].chunks_exact(self.clusterings);
            for (row, clusters) in piece.chunks_exact_mut(rank).zip(points) {
                for &cluster in clusters {
                    row.iter_mut().zip(&rows[cluster as usize * rank..]).for_each(|(sum, v)| *sum += v);
                }
            }
        })?;
        Ok(Some(Svd {
            values: counts.values[..rank].iter().map(|value| value / self.clusterings as f64).collect(),
            left,
            right: Vec::new(),
            residuals: vec![0.0; rank],
            converged: true,
            applications: 0,
        }))
    }

    /// The clusters of each point.
    fn points(&self) -> impl Iterator<Item = &[u32]> {
        self.clusters.chunks_exact(self.clusterings)
    }
}

impl<T: Real> LinearMap<T> for Coassociation {
    fn n(&self) -> usize {
        self.clusters.len() / self.clusterings
    }

    /// Computes `H H^T x / m`; the matrix is symmetric.
    fn apply(&self, x: &[T], cols: usize, _: Direction, out: &mut [T], exec: &Exec) -> Result<()> {
        let n = x.len() / cols;
        let parts = exec.map(n.div_ceil(ROWS), |piece| {
            let mut sums = vec![0.0; self.total * cols];
            for (row, clusters) in x.chunks_exact(cols).zip(self.points()).skip(piece * ROWS).take(ROWS) {
                for &cluster in clusters {
                    let sum = &mut sums[cluster as usize * cols..][..cols];
                    sum.iter_mut().zip(row).for_each(|(s, v)| *s += v.to_f64());
                }
            }
            Ok(sums)
        })?;
        let mut sums = vec![0.0; self.total * cols];
        for part in parts {
            sums.iter_mut().zip(part).for_each(|(s, v)| *s += v);
        }
        let share = 1.0 / self.clusterings as f64;
        exec.for_pieces(
            out,
            ROWS * cols,
            || vec![0.0; cols],
            |first, piece, total| -> Result<()> {
                let from = first / cols * self.clusterings;
                for (row, clusters) in
                    piece.chunks_exact_mut(cols).zip(self.clusters[from..].chunks_exact(self.clusterings))
                {
                    total.fill(0.0);
                    for &cluster in clusters {
                        let sum = &sums[cluster as usize * cols..][..cols];
                        total.iter_mut().zip(sum).for_each(|(t, s)| *t += s);
                    }
                    row.iter_mut().zip(&*total).for_each(|(o, t)| *o = T::from_f64(share * t));
                }
                Ok(())
            },
        )
    }
}

/// Computes the leading eigenvectors of the co-association matrix, row-major, and their values.
pub fn consensus(labels: &Coassociation, settings: &SvdSettings, exec: &Exec) -> Result<Svd<f64>> {
    if labels.total <= FEW_CLUSTERS
        && let Some(found) = labels.by_shared_points(settings.rank, exec)?
    {
        return Ok(found);
    }
    svd(labels, settings, Start::Random, exec)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_matrix_counts_shared_clusters() {
        // Labels of three clusterings of four points.
        let labels = [0, 0, 1, 1, 0, 1, 1, 1, 2, 2, 2, 0];
        let together = Coassociation::new(&labels, 3, 3).unwrap();
        let unit: Vec<f64> = (0..16).map(|k| f64::from(u8::from(k % 5 == 0))).collect();
        let mut out = vec![0.0; 16];
        together.apply(&unit, 4, Direction::Forward, &mut out, &Exec::with_threads(2)).unwrap();
        for (k, got) in out.iter().enumerate() {
            let (i, j) = (k / 4, k % 4);
            let count = (0..3).filter(|m| labels[m * 4 + i] == labels[m * 4 + j]).count();
            assert!((got - count as f64 / 3.0).abs() < 1e-15);
        }
    }

    #[test]
    fn shared_points_give_the_eigenvectors_of_the_matrix() {
        let (n, clusterings, n_labels, rank) = (5000, 4, 6, 5);
        // The clusterings agree up to one point in 7, 11, 13 and 17; clusters have different sizes.
        let label = |i: usize| (i * i / 100 % 21).isqrt() as u32;
        let other = |i: usize, m: usize| if i.is_multiple_of([7, 11, 13, 17][m]) { 5 } else { label(i).min(4) };
        let labels: Vec<u32> = (0..clusterings).flat_map(|m| (0..n).map(move |i| other(i, m))).collect();
        let together = Coassociation::new(&labels, clusterings, n_labels).unwrap();
        let exec = Exec::with_threads(2);
        let accuracy = crate::spectral::Accuracy::Values;
        let settings = SvdSettings { rank, tolerance: 1e-10, accuracy, max_iterations: 300, seed: 0 };
        let by_products = svd(&together, &settings, Start::Random, &exec).unwrap();
        let found = consensus(&together, &settings, &exec).unwrap();
        assert!(found.applications == 0 && found == consensus(&together, &settings, &Exec::with_threads(1)).unwrap());
        for (k, (got, want)) in found.values.iter().zip(&by_products.values).enumerate() {
            assert!((got - want).abs() < 1e-9 * want, "{k}: {got} {want}");
            let column = |block: &[f64]| block.iter().skip(k).step_by(rank).copied().collect::<Vec<f64>>();
            let dot: f64 = column(&found.left).iter().zip(column(&by_products.left)).map(|(a, b)| a * b).sum();
            assert!((dot.abs() - 1.0).abs() < 1e-8, "{k}: {dot}");
        }
        // More eigenvectors than clusters: some values are 0.
        let all = SvdSettings { rank: clusterings * n_labels, ..settings };
        assert!(consensus(&together, &all, &exec).unwrap().applications > 0);
    }

    #[test]
    fn invalid_labels_are_refused() {
        assert!(Coassociation::new(&[0, 1, 2], 2, 3).is_err());
        assert!(Coassociation::new(&[], 0, 3).is_err());
        assert!(Coassociation::new(&[0, 3], 1, 3).is_err());
    }
}
