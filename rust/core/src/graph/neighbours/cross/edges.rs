//! Edges of new points.

use crate::Result;
use crate::ground::csr::{Csr, RowBlock};

/// The `k`-th neighbour of each training point.
#[derive(Debug, Clone, Copy)]
pub struct Reach<'a> {
    /// Its distance, in the units of the training search.
    pub radii: &'a [f64],
    /// Its index.
    pub last: &'a [u32],
}

/// Which of the two points of an edge chose the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChosenBy {
    /// The new point chose the training point.
    NewPoint,
    /// The training point chose the new point.
    TrainingPoint,
    /// Both points chose each other.
    Both,
}

impl ChosenBy {
    /// True if the new point chose the training point.
    pub fn by_new_point(self) -> bool {
        self != Self::TrainingPoint
    }

    /// True if the training point chose the new point.
    pub fn by_training_point(self) -> bool {
        self != Self::NewPoint
    }
}

/// The edges of new points.
#[derive(Debug, Clone, PartialEq)]
pub struct CrossTable {
    /// One row for each new point, one column for each training point; distances in units of
    /// `2^exponent` of the training search.
    pub distances: Csr<f64>,
    /// For each entry, which of the two points chose the other.
    pub chosen_by: Vec<ChosenBy>,
    /// The nearest training point of each new point; for a duplicate, the training point it equals.
    pub nearest: Vec<u32>,
    /// Distance from each new point to the last point that it chose, its bandwidth in the adaptive
    /// kernel.
    ///
    /// If all chosen points coincide with the new point, the distance to the nearest distinct
    /// point; infinity if there is none.
    pub scales: Vec<f64>,
}

impl CrossTable {
    /// Joins the rows of new points over `n` training points.
    pub(super) fn new(n: usize, rows: Vec<NewRow>) -> Result<Self> {
        let mut block = RowBlock::default();
        let (mut chosen_by, mut nearest, mut scales) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            let start = block.indices.len();
            for (column, distance, chooser) in row.edges {
                block.push(column, distance);
                chosen_by.push(chooser);
            }
            block.end_row(start);
            nearest.push(row.nearest);
            scales.push(row.scale);
        }
        Ok(Self { distances: Csr::from_row_blocks(n, vec![block])?, chosen_by, nearest, scales })
    }
}

/// The edges of one new point, by ascending index.
#[derive(Debug, Clone, Default)]
pub(super) struct NewRow {
    pub edges: Vec<(u32, f64, ChosenBy)>,
    pub nearest: u32,
    pub scale: f64,
}
