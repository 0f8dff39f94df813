//! Dense points in a layout for vector instructions, and squared distances between them.
//!
//! A block holds [`LANES`] points, coordinate by coordinate: `block[j * LANES + l]` is coordinate
//! `j` of point `l`. A tile holds [`TILE`] points to compare with, `tile[j * TILE + t]`. Every lane
//! adds its squares in the order of the coordinates, so results do not depend on the vector width
//! of the machine. Differences are squared directly, so equal points are at distance 0. The 8 x 4
//! sums fill half of the AVX2 registers, and three instructions per sum hide the latency of the
//! additions.

use crate::ground::frame::Frame;
use crate::ground::memory;
use crate::{Exec, Real, Result};

/// Points in a block.
pub(crate) const LANES: usize = 8;
/// Points in a tile.
pub(crate) const TILE: usize = 4;

/// Blocks that one thread fills at a time.
const BLOCKS_PER_PIECE: usize = 512;

/// One number for each lane.
pub(crate) type Lane = [f64; LANES];

/// Points of a [`Frame`] in blocks. Places without a point are at the origin.
pub(crate) struct Lanes {
    data: Vec<f64>,
    dimension: usize,
}

impl Lanes {
    /// Fills `places` places (rounded up to whole blocks) with the rows that `row_of` gives, if
    /// any.
    pub fn new<T: Real>(
        points: &[T],
        frame: &Frame,
        dimension: usize,
        places: usize,
        row_of: impl Fn(usize) -> Option<usize> + Sync + Send,
        exec: &Exec,
    ) -> Result<Self> {
        let size = dimension * LANES;
        let mut data = memory::zeros(places.div_ceil(LANES) * size)?;
        exec.each_piece(&mut data, BLOCKS_PER_PIECE * size, |first, piece| {
            for (b, block) in piece.chunks_exact_mut(size).enumerate() {
                for l in 0..LANES {
                    let place = (first / size + b) * LANES + l;
                    if let Some(row) = (place < places).then(|| row_of(place)).flatten() {
                        let row = &points[row * dimension..(row + 1) * dimension];
                        frame.enter(row).enumerate().for_each(|(j, x)| block[j * LANES + l] = x);
                    }
                }
            }
        })?;
        Ok(Self { data, dimension })
    }

    /// The blocks of `count` places from `first` on, which is a multiple of [`LANES`]. So is
    /// `count` unless the places are the last.
    pub fn blocks(&self, first: usize, count: usize) -> &[f64] {
        &self.data[first * self.dimension..(first + count.next_multiple_of(LANES)) * self.dimension]
    }

    /// The coordinates of the point at a place.
    pub fn point(&self, place: usize) -> impl Iterator<Item = f64> {
        let first = place / LANES * LANES * self.dimension + place % LANES;
        (0..self.dimension).map(move |j| self.data[first + j * LANES])
    }
}

/// Writes a point into place `t` of a tile.
pub(crate) fn put(tile: &mut [f64], t: usize, point: impl Iterator<Item = f64>) {
    tile.chunks_exact_mut(TILE).zip(point).for_each(|(line, x)| line[t] = x);
}

/// Tiles for `count` points, at infinity until they are [`put`].
pub(crate) fn empty_tiles(count: usize, dimension: usize) -> Vec<f64> {
    vec![f64::INFINITY; count.div_ceil(TILE) * TILE * dimension]
}

/// Squared distances between the points of a block and of a tile.
#[inline(always)]
pub(crate) fn squared_distances(block: &[f64], tile: &[f64]) -> [Lane; TILE] {
    let mut sums = [[0.0; LANES]; TILE];
    for (x, y) in block.chunks_exact(LANES).zip(tile.chunks_exact(TILE)) {
        for t in 0..TILE {
            for l in 0..LANES {
                let difference = x[l] - y[t];
                sums[t][l] += difference * difference;
            }
        }
    }
    sums
}
