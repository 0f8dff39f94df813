//! Consensus of several clusterings of the same points.
//!
//! `H` has one column for each cluster of each of `m` clusterings, with 1 for the points of the
//! cluster. `(H H^T)_ij` is the number of clusterings in which `i` and `j` share a cluster. The
//! leading eigenvectors of `H H^T / m` are coordinates in which such points are close. A product
//! with this matrix is two passes over the labels: sums over clusters, then sums over the clusters
//! of each point. Cost: O(n m) a column; no N x N matrix is stored.
//!
//! Reference: Strehl and Ghosh 2002, JMLR 3:583-617.

use crate::ground::exec::Exec;
use crate::spectral::linear_map::LinearMap;
use crate::spectral::{Start, Svd, SvdSettings, svd};
use crate::walk::transition::Direction;
use crate::{Error, Real, Result};

/// Rows that one thread sums; the sums of pieces are added in order.
const ROWS: usize = 8192;

/// The matrix `H H^T / m` as a linear map.
///
/// It stores the cluster of each point in each clustering, numbered through all clusterings.
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
        let mut clusters = vec![0; labels.len()];
        for (clustering, row) in labels.chunks_exact(n).enumerate() {
            for (i, &label) in row.iter().enumerate() {
                clusters[i * clusterings + clustering] = (clustering * n_labels) as u32 + label;
            }
        }
        Ok(Self { clusters, clusterings, total: clusterings * n_labels })
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
    fn invalid_labels_are_refused() {
        assert!(Coassociation::new(&[0, 1, 2], 2, 3).is_err());
        assert!(Coassociation::new(&[], 0, 3).is_err());
        assert!(Coassociation::new(&[0, 3], 1, 3).is_err());
    }
}
