//! Some points whose nearest neighbours are known: what is missing, and where it is.

use std::cmp::Ordering;

use super::super::points::{DensePoints, Keys};
use super::cloud::Cloud;
use super::compare::Comparison;
use super::graph::Graph;
use super::smallest::by_value;
use crate::exec::Exec;
use crate::numbering::places_of;
use crate::random::Stream;
use crate::{Real, Result};

/// Points that are compared with all others, and how many where they are so long that this takes a good part of the time.
const PROBES: usize = 1024;
const LONG_PROBES: usize = 256;
const LONG: usize = 256;
/// So many standard errors the share found among them has to lie above the one asked for.
const CERTAINTY: f64 = 2.0;
/// Points that one thread compares with them.
const POINTS_PER_PIECE: usize = 1 << 14;
/// So many times the neighbours that count are known.
const KNOWN: usize = 4;
/// Probes that are enough for a look at all points.
const ASKED: usize = 128;

/// A point and its surroundings.
struct Probe {
    point: u32,
    /// The nearest others; products find them, and so the last few may be wrong.
    near: Vec<u32>,
    /// Distance of the last one that counts: what is as near is as good.
    last: f64,
}

/// Points and what is known of them.
pub(super) struct Probes<'a, T> {
    points: &'a DensePoints<'a, T>,
    all: Vec<Probe>,
    /// So many of the nearest of a point are to be found.
    k: usize,
    /// Which of the points is at each place.
    order: Vec<u32>,
    /// Share of the neighbours that is asked for.
    asked: f64,
}

impl<'a, T: Real> Probes<'a, T> {
    /// `cloud` has the points in their own order.
    pub fn new<E: Real>(
        points: &'a DensePoints<'a, T>,
        cloud: &Cloud<E>,
        k: usize,
        asked: f64,
        seed: u64,
        exec: &Exec,
    ) -> Result<Self> {
        let count = if cloud.dimension() < LONG { PROBES } else { LONG_PROBES };
        let drawn = cloud.draw(count.min(cloud.len()), &mut Stream::new(seed, 0));
        let near = nearest_by_products(&drawn, cloud, KNOWN * k, exec)?;
        let probe = |(&point, near): (&u32, Vec<u32>)| {
            let distance = |other: u32| points.distance(point as usize, other as usize);
            let mut near: Vec<_> = near.into_iter().map(|other| (distance(other), other)).collect();
            near.sort_unstable_by(by_value);
            Probe { point, last: near[k - 1].0, near: near.into_iter().map(|(_, other)| other).collect() }
        };
        let all = drawn.iter().zip(near).map(probe).collect();
        Ok(Self { points, all, k, order: (0..cloud.len() as u32).collect(), asked })
    }

    /// The share of their neighbours that need not be found.
    pub fn spared(&self) -> f64 {
        1.0 - self.asked
    }

    /// The points have been renumbered: `order[i]` is at place `i` now.
    pub fn renumber(&mut self, order: Vec<u32>) {
        let places = places_of(&order);
        let numbers = self.all.iter_mut().flat_map(|probe| probe.near.iter_mut().chain([&mut probe.point]));
        numbers.for_each(|point| *point = places[*point as usize]);
        self.order = order;
    }

    /// The probes, each followed by what is known to be near it.
    pub fn surroundings(&self) -> Vec<u32> {
        self.all.iter().flat_map(|probe| [probe.point].into_iter().chain(probe.near.iter().copied())).collect()
    }

    /// The share of their neighbours that are among the `width` nearest of these surroundings by other coordinates.
    pub fn share_within<E: Real>(&self, width: usize, surroundings: &Cloud<E>) -> f64 {
        let (mut first, mut share) = (0, 0.0);
        for Probe { near, .. } in &self.all {
            let others = first + 1..first + 1 + near.len() as u32;
            let distances: Vec<E> = others.clone().map(|other| surroundings.squared_distance(first, other)).collect();
            let mut sorted = distances.clone();
            sorted.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
            // Those as near as the first one beyond are not counted: nothing tells them from others.
            let beyond = sorted.get(width).copied().unwrap_or(E::INFINITY);
            share += distances[..self.k].iter().filter(|&&distance| distance < beyond).count() as f64 / self.k as f64;
            first = others.end;
        }
        share / self.all.len() as f64
    }

    /// The share of the neighbours of some probes that are among the `width` nearest of all points by other coordinates.
    pub fn share_near<E: Real>(&self, width: usize, cloud: &Cloud<E>, exec: &Exec) -> Result<f64> {
        let some = &self.all[..ASKED.min(self.all.len())];
        let points: Vec<u32> = some.iter().map(|probe| probe.point).collect();
        let near = nearest_by_products(&points, cloud, width, exec)?;
        Ok(some.iter().zip(near).map(|(probe, near)| self.share(probe, near)).sum::<f64>() / some.len() as f64)
    }

    /// The share of their neighbours that the graph has.
    pub fn recall<E: Real>(&self, graph: &Graph<E>) -> f64 {
        self.estimate(graph).0
    }

    /// How much that share lacks of the one asked for, and of what the estimate may err.
    pub fn missing<E: Real>(&self, graph: &Graph<E>) -> f64 {
        let (share, error) = self.estimate(graph);
        (self.asked + CERTAINTY * error).min(1.0) - share
    }

    /// The mean over the probes and its standard error. Neighbours of a point are found or missed together, so that the points count,
    /// not the pairs.
    fn estimate<E: Real>(&self, graph: &Graph<E>) -> (f64, f64) {
        let share = |probe: &Probe| self.share(probe, graph.row(probe.point).iter().map(|entry| entry.index()));
        let (mut sum, mut squares) = (0.0, 0.0);
        for share in self.all.iter().map(share) {
            sum += share;
            squares += share * share;
        }
        let count = self.all.len() as f64;
        let mean = sum / count;
        (mean, ((squares / count - mean * mean).max(0.0) / count).sqrt())
    }

    /// The points with neighbours that the graph does not have, and how many of these pairs it would have to find.
    pub fn missed_pairs<E: Real>(&self, graph: &Graph<E>) -> (Vec<(u32, u32)>, usize) {
        let all = || self.all.iter().flat_map(|probe| probe.near[..self.k].iter().map(|&other| (probe.point, other)));
        let wanted = (self.missing(graph) * all().count() as f64).ceil();
        (all().filter(|&(p, q)| !graph.has(p, q)).collect(), wanted as usize)
    }

    /// What share of a probe's neighbours these others have, or others as near.
    fn share(&self, probe: &Probe, others: impl IntoIterator<Item = u32>) -> f64 {
        let given = |place: u32| self.order[place as usize] as usize;
        let is_near = |&other: &u32| self.points.distance(given(probe.point), given(other)) <= probe.last;
        others.into_iter().filter(is_near).count().min(self.k) as f64 / self.k as f64
    }
}

/// For each of these points, the `count` others nearest to it, up to rounding, in any order.
fn nearest_by_products<E: Real>(points: &[u32], cloud: &Cloud<E>, count: usize, exec: &Exec) -> Result<Vec<Vec<u32>>> {
    let n = cloud.len();
    let rows = cloud.some(points);
    let bars = vec![E::INFINITY; points.len()];
    // One more, because a point is the nearest one to itself.
    let count = count + 1;
    let parts = exec.map(n.div_ceil(POINTS_PER_PIECE), |piece| {
        let range = piece * POINTS_PER_PIECE..((piece + 1) * POINTS_PER_PIECE).min(n);
        let mut comparison = Comparison::new();
        let near = comparison.nearest(&rows, cloud, range, count, &bars, exec)?;
        Ok(near.iter_mut().map(|near| near.found().to_vec()).collect::<Vec<_>>())
    })?;
    let nearest = |(p, &point): (usize, &u32)| {
        let mut near: Vec<(E, u32)> = parts.iter().flat_map(|part| &part[p]).copied().collect();
        near.sort_unstable_by(by_value);
        near.truncate(count);
        near.into_iter().map(|(_, other)| other).filter(|&other| other != point).collect()
    };
    Ok(points.iter().enumerate().map(nearest).collect())
}
