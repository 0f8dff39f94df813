//! Transition rows from new points to training points.
//!
//! ```text
//! p_j ~ kappa(d_j) combine(1[x chose j], 1[j chose x]) q_j^-alpha,   rows scaled to sum 1
//! ```
//!
//! The density of the new point `x` is a common factor of its row and cancels. The smallest
//! exponent of a row is subtracted from all of them for the same reason: a point far from all
//! others has a row although its affinities underflow. A point that coincides with a training point
//! has exponent 0 and gets that point's row to rounding. Cost: O(edges).
//!
//! Reference for the normalisation by `q`: Coifman and Lafon 2006, doi:10.1016/j.acha.2006.04.006.

use crate::graph::affinity::{Bandwidths, Kernel, Symmetrize};
use crate::graph::neighbours::ChosenBy;
use crate::ground::csr::{RowBlock, sum_segments};
use crate::{Csr, Error, Exec, Result};

/// Rows that one thread processes at a time.
const ROWS_PER_BLOCK: usize = 1024;

/// Edges, kernel and normalisation of new points.
#[derive(Debug, Clone, Copy)]
pub struct CrossRows<'a> {
    /// Distances from new points to training points (affinities for [`Kernel::Given`]).
    pub edges: &'a Csr<f64>,
    /// For each entry, which of the two points chose the other.
    pub chosen_by: &'a [ChosenBy],
    /// Nearest training point of each new point, the target of points without affinity.
    pub nearest: &'a [u32],
    /// The kernel, with the bandwidths of the training points.
    pub kernel: Kernel<'a>,
    /// Bandwidths of the new points.
    pub own: Bandwidths<'a>,
    /// How the two directions are combined.
    pub symmetrize: Symmetrize,
    /// Factors `q_j^-alpha` of the anisotropic normalisation.
    pub density: Option<&'a [f64]>,
}

impl CrossRows<'_> {
    fn check(&self) -> Result<()> {
        let (m, n) = (self.edges.n_rows(), self.edges.n_cols());
        Error::check_size("chosen_by", self.edges.nnz(), self.chosen_by.len())?;
        Error::check_size("nearest points", m, self.nearest.len())?;
        if let Kernel::Squared(Bandwidths::PerPoint(h)) | Kernel::Linear(Bandwidths::PerPoint(h)) = self.kernel {
            Error::check_size("bandwidths", n, h.len())?;
        }
        if let Bandwidths::PerPoint(h) = self.own {
            Error::check_size("bandwidths of new points", m, h.len())?;
        }
        if let Some(density) = self.density {
            Error::check_size("densities", n, density.len())?;
        }
        if let Some(&j) = self.nearest.iter().find(|&&j| j as usize >= n) {
            return Err(Error::Invalid(format!("nearest points: expected indices below {n}, got {j}")));
        }
        Ok(())
    }

    /// Affinities of row `i` up to a common factor, with their columns.
    fn affinities(&self, i: usize, row: &mut Vec<(u32, f64)>) {
        let chosen_by = &self.chosen_by[self.edges.range(i)];
        let (columns, values) = self.edges.row(i);
        let own = self.own.at(i);
        let one = |chosen: bool| f64::from(u8::from(chosen));
        let weight = |chosen_by: ChosenBy| {
            self.symmetrize.combine(one(chosen_by.by_new_point()), one(chosen_by.by_training_point()))
        };
        let entries = columns.iter().zip(values).zip(chosen_by).map(|((&j, &v), &chosen_by)| (j, v, weight(chosen_by)));
        let entries = entries.filter(|&(_, _, weight)| weight > 0.0);
        row.clear();
        if let Kernel::Given = self.kernel {
            let largest = entries.clone().fold(0.0, |largest: f64, (_, v, _)| largest.max(v));
            row.extend(entries.filter(|&(_, v, _)| v > 0.0).map(|(j, v, weight)| (j, weight * (v / largest))));
        } else {
            let exponent = |j: u32, d: f64| self.kernel.exponent(own, j as usize, d);
            let least = entries.clone().fold(f64::INFINITY, |least: f64, (j, d, _)| least.min(exponent(j, d)));
            row.extend(entries.map(|(j, d, weight)| (j, weight * (least - exponent(j, d)).exp())));
        }
        if let Some(density) = self.density {
            row.iter_mut().for_each(|(j, v)| *v *= density[*j as usize]);
        }
        row.retain(|&(_, v)| v > 0.0);
    }
}

/// The transition rows of new points.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRows {
    /// One row for each new point, one column for each training point.
    pub matrix: Csr<f64>,
    /// New points without affinity to any training point; their only step leads to the nearest one.
    pub isolated: Vec<u32>,
}

/// Computes the transition rows of new points.
pub fn cross_rows(rows: CrossRows<'_>, exec: &Exec) -> Result<NewRows> {
    rows.check()?;
    let m = rows.edges.n_rows();
    let made = exec.map(m.div_ceil(ROWS_PER_BLOCK), |b| {
        let (mut block, mut isolated) = (RowBlock::default(), Vec::new());
        let (mut row, mut values) = (Vec::new(), Vec::new());
        for i in b * ROWS_PER_BLOCK..((b + 1) * ROWS_PER_BLOCK).min(m) {
            let start = block.indices.len();
            rows.affinities(i, &mut row);
            if row.is_empty() {
                row.push((rows.nearest[i], 1.0));
                isolated.push(i as u32);
            }
            values.clear();
            values.extend(row.iter().map(|&(_, v)| v));
            let sum = sum_segments(&values);
            if !sum.is_finite() {
                return Err(Error::Invalid(format!("row {i} sums to {sum}: expected a positive finite sum")));
            }
            row.iter().for_each(|&(j, v)| block.push(j, v / sum));
            block.end_row(start);
        }
        Ok((block, isolated))
    })?;
    let (blocks, isolated): (Vec<_>, Vec<_>) = made.into_iter().unzip();
    Ok(NewRows { matrix: Csr::from_row_blocks(rows.edges.n_cols(), blocks)?, isolated: isolated.concat() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of two new points with edges at these distances.
    fn rows(kernel: Kernel<'_>, own: Bandwidths<'_>, symmetrize: Symmetrize, distances: [f64; 4]) -> NewRows {
        let edges = Csr::new(3, vec![0, 2, 4], vec![0, 1, 1, 2], distances.to_vec()).unwrap();
        let chosen_by = [ChosenBy::NewPoint, ChosenBy::Both, ChosenBy::NewPoint, ChosenBy::TrainingPoint];
        let nearest = [1, 2];
        let parts = CrossRows {
            edges: &edges,
            chosen_by: &chosen_by,
            nearest: &nearest,
            kernel,
            own,
            symmetrize,
            density: None,
        };
        cross_rows(parts, &Exec::with_threads(1)).unwrap()
    }

    #[test]
    fn directions_are_combined_and_rows_sum_to_one() {
        let mean = rows(Kernel::Binary, Bandwidths::Common(1.0), Symmetrize::Mean, [1.0; 4]);
        assert_eq!(mean.matrix.row(0), (&[0_u32, 1][..], &[1.0 / 3.0, 2.0 / 3.0][..]));
        let min = rows(Kernel::Binary, Bandwidths::Common(1.0), Symmetrize::Min, [1.0; 4]);
        assert_eq!(min.matrix.row(0), (&[1_u32][..], &[1.0][..]));
        assert_eq!((min.matrix.row(1), min.isolated), ((&[2_u32][..], &[1.0][..]), vec![1]));
    }

    #[test]
    fn affinities_that_underflow_keep_their_ratios() {
        let kernel = Kernel::Linear(Bandwidths::Common(1.0));
        let far = rows(kernel, Bandwidths::Common(1.0), Symmetrize::Max, [1e6, 1e6 + 1.0, 1e6, 1e6]);
        let ratio = (-1.0_f64).exp();
        assert!((far.matrix.row(0).1[1] - ratio / (1.0 + ratio)).abs() < 1e-15);
        assert!(far.isolated.is_empty());
    }

    #[test]
    fn each_point_has_its_own_bandwidth() {
        let (own, widths) = ([1.0, 2.0], [1.0, 4.0, 4.0]);
        let kernel = Kernel::Squared(Bandwidths::PerPoint(&widths));
        let made = rows(kernel, Bandwidths::PerPoint(&own), Symmetrize::Max, [1.0, 2.0, 0.0, 2.0]);
        assert_eq!(made.matrix.row(0).1, [0.5, 0.5]);
        let affinity = (-0.5_f64).exp();
        assert!((made.matrix.row(1).1[1] - affinity / (1.0 + affinity)).abs() < 1e-15);
    }
}
