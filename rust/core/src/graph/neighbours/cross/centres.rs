//! Squared distances from points to the centres of cells.
//!
//! They decide which cells a new point visits. Each is a sum in the order of the coordinates, so it
//! does not depend on the other points of a call, as the rounding of a matrix product may. Centres
//! are stored in groups of [`LANES`], coordinate by coordinate, and compared with [`TILE`] points at
//! a time.

use crate::graph::neighbours::approximate::cloud::Cloud;

/// Centres of a group.
const LANES: usize = 16;
/// Points compared with a group at a time.
const TILE: usize = 4;

/// The centres of cells.
pub(super) struct Centres {
    data: Vec<f32>,
    len: usize,
    dimension: usize,
}

impl Centres {
    pub fn new(centres: &Cloud<f32>) -> Self {
        let (len, dimension) = (centres.len(), centres.dimension());
        let mut data = vec![0.0; len.next_multiple_of(LANES) * dimension];
        for c in 0..len {
            let group = &mut data[c / LANES * LANES * dimension..];
            let places = group.iter_mut().skip(c % LANES).step_by(LANES);
            places.zip(centres.row(c as u32)).for_each(|(place, &x)| *place = x);
        }
        Self { data, len, dimension }
    }

    /// Number of centres.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Squared distances of a range of points to all centres, one line for each point.
    pub fn distances<'v>(
        &self,
        points: &Cloud<f32>,
        range: std::ops::Range<usize>,
        out: &'v mut Vec<f32>,
    ) -> &'v [f32] {
        out.resize(range.len() * self.len, 0.0);
        let rows = &points.data()[range.start * self.dimension..range.end * self.dimension];
        fill_distances(&self.data, rows, (self.len, self.dimension), out);
        out
    }
}

#[pulp::with_simd(fill_distances = pulp::Arch::new())]
#[inline(always)]
fn fill_distances_simd<S: pulp::Simd>(
    _: S,
    groups: &[f32],
    rows: &[f32],
    (len, dimension): (usize, usize),
    out: &mut [f32],
) {
    for (rows, lines) in rows.chunks(TILE * dimension).zip(out.chunks_mut(TILE * len)) {
        let count = rows.len() / dimension;
        // A tile that is not full repeats its last point.
        let row = |t: usize| &rows[t.min(count - 1) * dimension..][..dimension];
        let tile = [row(0), row(1), row(2), row(3)];
        for (g, group) in groups.chunks_exact(LANES * dimension).enumerate() {
            let sums = squared_distances(group, tile);
            let width = LANES.min(len - g * LANES);
            for (line, sums) in lines.chunks_exact_mut(len).zip(sums) {
                line[g * LANES..][..width].copy_from_slice(&sums[..width]);
            }
        }
    }
}

#[inline(always)]
fn squared_distances(group: &[f32], [a, b, c, d]: [&[f32]; TILE]) -> [[f32; LANES]; TILE] {
    let mut sums = [[0.0; LANES]; TILE];
    for ((((centres, &a), &b), &c), &d) in group.as_chunks::<LANES>().0.iter().zip(a).zip(b).zip(c).zip(d) {
        for (sums, x) in sums.iter_mut().zip([a, b, c, d]) {
            for (sum, centre) in sums.iter_mut().zip(centres) {
                let difference = x - centre;
                *sum += difference * difference;
            }
        }
    }
    sums
}

/// The first of the smallest values and its place.
pub(super) fn first_smallest(values: &[f32]) -> usize {
    let mut best = 0;
    for (place, &value) in values.iter().enumerate() {
        if value < values[best] {
            best = place;
        }
    }
    best
}
