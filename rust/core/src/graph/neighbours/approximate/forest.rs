//! Random projection trees.
//!
//! Every node is cut into two equal halves along a random direction until the leaves are small.
//! Near points are likely to share a leaf. Cost: O(n d) a level.
//!
//! Reference: Dasgupta and Freund 2008, doi:10.1145/1374376.1374452.

use std::ops::Range;

use super::cloud::{Cloud, PREFETCH_AHEAD};
use super::compare::Group;
use super::smallest::by_value;
use crate::ground::random::mix;
use crate::{Exec, Real, Result, Stream};

/// Points that one thread projects at a time.
const POINTS_PER_PIECE: usize = 4096;

/// A partition of the points into leaves of almost equal size.
pub(super) struct Leaves {
    /// The points, leaf by leaf.
    pub order: Vec<u32>,
    /// Places of each leaf in `order`.
    pub ranges: Vec<Range<usize>>,
}

impl Leaves {
    /// The points of each leaf as possible neighbours of each other.
    pub fn groups(&self) -> Vec<Group<'_>> {
        let group = |range: &Range<usize>| {
            let points = &self.order[range.clone()];
            Group { points, others: points, is_mutual: false }
        };
        self.ranges.iter().map(group).collect()
    }
}

/// Grows a tree with leaves of at most `largest` points.
///
/// Directions are differences of two points of the node, so they follow the data. Halves have equal
/// sizes; ties are broken by index.
pub(super) fn grow<E: Real>(cloud: &Cloud<E>, largest: usize, seed: u64, exec: &Exec) -> Result<Leaves> {
    let n = cloud.len();
    let mut places: Vec<(E, u32)> = (0..n as u32).map(|i| (E::ZERO, i)).collect();
    let mut ranges: Vec<Range<usize>> = std::iter::once(0..n).collect();
    let mut level = 0;
    while ranges.iter().any(|range| range.len() > largest) {
        let directions: Vec<Vec<E>> = ranges
            .iter()
            .enumerate()
            .map(|(node, range)| {
                let mut stream = Stream::new(seed, mix(level) ^ node as u64);
                let mut draw = || cloud.row(places[range.start + stream.below(range.len())].1);
                draw().iter().zip(draw()).map(|(&a, &b)| a - b).collect()
            })
            .collect();
        exec.each_piece(&mut places, POINTS_PER_PIECE, |first, piece| {
            project(cloud, &ranges, &directions, first, piece);
        })?;
        let mut rest = places.as_mut_slice();
        let mut nodes: Vec<&mut [(E, u32)]> = Vec::with_capacity(ranges.len());
        for range in &ranges {
            let (node, after) = std::mem::take(&mut rest).split_at_mut(range.len());
            nodes.push(node);
            rest = after;
        }
        exec.each_piece(&mut nodes, 1, |_, node| {
            let node = &mut *node[0];
            if node.len() > 1 {
                node.select_nth_unstable_by(node.len() / 2, by_value);
            }
        })?;
        ranges = ranges
            .into_iter()
            .flat_map(|range| {
                let middle = range.start + range.len() / 2;
                [range.start..middle, middle..range.end]
            })
            .collect();
        level += 1;
    }
    Ok(Leaves { order: places.into_iter().map(|(_, point)| point).collect(), ranges })
}

/// Projects points on the directions of their nodes.
#[pulp::with_simd(project = pulp::Arch::new())]
#[inline(always)]
fn project_simd<S: pulp::Simd, E: Real>(
    _: S,
    cloud: &Cloud<E>,
    ranges: &[Range<usize>],
    directions: &[Vec<E>],
    first: usize,
    piece: &mut [(E, u32)],
) {
    let mut node = ranges.partition_point(|range| range.end <= first);
    for i in 0..piece.len() {
        cloud.prefetch(piece[(i + PREFETCH_AHEAD).min(piece.len() - 1)].1);
        while ranges[node].end <= first + i {
            node += 1;
        }
        let (place, point) = &mut piece[i];
        *place = dot(cloud.row(*point), &directions[node]);
    }
}

#[inline(always)]
fn dot<E: Real>(x: &[E], y: &[E]) -> E {
    let mut sums = [E::ZERO; 8];
    let (heads, tails) = (x.chunks_exact(8), y.chunks_exact(8));
    let rest: E = heads.remainder().iter().zip(tails.remainder()).map(|(&a, &b)| a * b).sum();
    for (a, b) in heads.zip(tails) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7])) + rest
}
