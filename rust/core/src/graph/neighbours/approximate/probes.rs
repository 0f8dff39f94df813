//! Estimate of the recall on points whose nearest neighbours are known.
//!
//! ```text
//! recall = mean over probes of (found neighbours / k)
//! accepted if  recall - 2 standard errors >= target
//! ```

use std::cmp::Ordering;

use super::super::points::{DensePoints, Keys};
use super::cloud::Cloud;
use super::compare::Comparison;
use super::graph::Graph;
use super::smallest::by_value;
use crate::ground::permutation::inverse;
use crate::{Exec, Real, Result, Stream};

/// Number of probes, and the number for points of at least `LONG` dimensions, where probes cost
/// more.
const PROBES: usize = 1024;
const LONG_PROBES: usize = 256;
const LONG: usize = 256;
/// Standard errors by which the estimate must exceed the target.
const CERTAINTY: f64 = 2.0;
/// Points that one thread compares with the probes.
const POINTS_PER_PIECE: usize = 1 << 14;
/// Known neighbours of a probe: this multiple of `k`, or of [`LEAST_KNOWN`] if that is larger.
const KNOWN: usize = 4;
const LEAST_KNOWN: usize = 4;
/// Number of probes for a first estimate.
const FEW_PROBES: usize = 128;

/// A point and its known neighbours.
struct Probe {
    point: u32,
    /// The nearest other points, found by products; the last few may be wrong.
    near: Vec<u32>,
    /// Distance of the `k`-th neighbour; points at the same distance count as found.
    last: f64,
}

/// The probes of a search.
pub(super) struct RecallProbes<'a, T> {
    points: &'a DensePoints<'a, T>,
    all: Vec<Probe>,
    /// Number of neighbours that count.
    k: usize,
    /// Index of the point at each place of the cloud.
    order: Vec<u32>,
    /// The recall to reach.
    target: f64,
}

impl<'a, T: Real> RecallProbes<'a, T> {
    /// Draws probes from a cloud in the given order of the points.
    pub fn new<E: Real>(
        points: &'a DensePoints<'a, T>,
        cloud: &Cloud<E>,
        k: usize,
        target: f64,
        seed: u64,
        exec: &Exec,
    ) -> Result<Self> {
        let count = if cloud.dimension() < LONG { PROBES } else { LONG_PROBES };
        let drawn = cloud.draw(count.min(cloud.len()), &mut Stream::new(seed, 0));
        let near = nearest_by_products(&drawn, cloud, KNOWN * k.max(LEAST_KNOWN), exec)?;
        let probe = |(&point, near): (&u32, Vec<u32>)| {
            let distance = |other: u32| points.distance(point as usize, other as usize);
            let mut near: Vec<_> = near.into_iter().map(|other| (distance(other), other)).collect();
            near.sort_unstable_by(by_value);
            Probe { point, last: near[k - 1].0, near: near.into_iter().map(|(_, other)| other).collect() }
        };
        let all = drawn.iter().zip(near).map(probe).collect();
        Ok(Self { points, all, k, order: (0..cloud.len() as u32).collect(), target })
    }

    /// The share of neighbours that may be missed.
    pub fn tolerated(&self) -> f64 {
        1.0 - self.target
    }

    /// Changes the numbering: point `order[i]` is now at place `i`.
    pub fn renumber(&mut self, order: Vec<u32>) {
        let places = inverse(&order);
        let numbers = self.all.iter_mut().flat_map(|probe| probe.near.iter_mut().chain([&mut probe.point]));
        numbers.for_each(|point| *point = places[*point as usize]);
        self.order = order;
    }

    /// Some probes, each followed by its known neighbours.
    pub fn surroundings(&self) -> Vec<u32> {
        self.few().iter().flat_map(|probe| [probe.point].into_iter().chain(probe.near.iter().copied())).collect()
    }

    /// The share of neighbours among the `kept` nearest of these surroundings by other coordinates.
    pub fn share_within<E: Real>(&self, kept: usize, surroundings: &Cloud<E>) -> f64 {
        let (mut first, mut share) = (0, 0.0);
        for Probe { near, .. } in self.few() {
            let others = first + 1..first + 1 + near.len() as u32;
            let distances: Vec<E> = others.clone().map(|other| surroundings.squared_distance(first, other)).collect();
            let mut sorted = distances.clone();
            sorted.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
            // Neighbours tied with the first excluded point do not count.
            let beyond = sorted.get(kept).copied().unwrap_or(E::INFINITY);
            share += distances[..self.k].iter().filter(|&&distance| distance < beyond).count() as f64 / self.k as f64;
            first = others.end;
        }
        share / self.few().len() as f64
    }

    /// The share of neighbours among the `kept` nearest of all points by other coordinates, minus
    /// its error.
    pub fn share_near<E: Real>(&self, kept: usize, cloud: &Cloud<E>, exec: &Exec) -> Result<f64> {
        let points: Vec<u32> = self.all.iter().map(|probe| probe.point).collect();
        let near = nearest_by_products(&points, cloud, kept, exec)?;
        let Estimate { share, error } =
            Estimate::new(self.all.iter().zip(near).map(|(probe, near)| self.share(probe, near)));
        Ok(share - CERTAINTY * error)
    }

    /// The estimated recall of the graph.
    pub fn recall<E: Real>(&self, graph: &Graph<E>) -> f64 {
        self.estimate(graph).share
    }

    /// The difference between the recall to reach, plus the error of the estimate, and the
    /// estimate.
    pub fn missing<E: Real>(&self, graph: &Graph<E>) -> f64 {
        let Estimate { share, error } = self.estimate(graph);
        (self.target + CERTAINTY * error).min(1.0) - share
    }

    fn estimate<E: Real>(&self, graph: &Graph<E>) -> Estimate {
        Estimate::new(self.all.iter().map(|probe| self.share_of(probe, graph)))
    }

    fn share_of<E: Real>(&self, probe: &Probe, graph: &Graph<E>) -> f64 {
        self.share(probe, graph.row(probe.point).iter().map(|entry| entry.index()))
    }

    fn few(&self) -> &[Probe] {
        &self.all[..FEW_PROBES.min(self.all.len())]
    }

    /// The neighbours of probes that the graph does not have, and how many of them must be found if
    /// this share is missing.
    pub fn missed_pairs<E: Real>(&self, missing: f64, graph: &Graph<E>) -> MissedPairs {
        // A probe may miss a neighbour and have another at the same distance.
        let lacking = self.all.iter().filter(|probe| self.share_of(probe, graph) < 1.0);
        let pairs = lacking.flat_map(|probe| probe.near[..self.k].iter().map(|&other| (probe.point, other)));
        let wanted = (missing * (self.all.len() * self.k) as f64).ceil();
        MissedPairs { pairs: pairs.filter(|&(p, q)| !graph.has(p, q)).collect(), wanted: wanted as usize }
    }

    /// The share of a probe's neighbours among these points.
    fn share(&self, probe: &Probe, others: impl IntoIterator<Item = u32>) -> f64 {
        let given = |place: u32| self.order[place as usize] as usize;
        let is_near = |&other: &u32| self.points.distance(given(probe.point), given(other)) <= probe.last;
        others.into_iter().filter(is_near).count().min(self.k) as f64 / self.k as f64
    }
}

/// Mean share and standard error over probes; neighbours of a point are not independent, points
/// are.
struct Estimate {
    share: f64,
    error: f64,
}

impl Estimate {
    fn new(shares: impl Iterator<Item = f64>) -> Self {
        let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
        for share in shares {
            count += 1.0;
            sum += share;
            squares += share * share;
        }
        let mean = sum / count;
        Self { share: mean, error: ((squares / count - mean * mean).max(0.0) / count).sqrt() }
    }
}

/// Pairs of a probe and a neighbour that the graph does not have.
pub(super) struct MissedPairs {
    /// The pairs.
    pub pairs: Vec<(u32, u32)>,
    /// Number of pairs to find.
    pub wanted: usize,
}

/// The `count` nearest other points of each of these points, up to rounding.
fn nearest_by_products<E: Real>(points: &[u32], cloud: &Cloud<E>, count: usize, exec: &Exec) -> Result<Vec<Vec<u32>>> {
    let n = cloud.len();
    let rows = cloud.some(points);
    let thresholds = vec![E::INFINITY; points.len()];
    let parts = exec.map(n.div_ceil(POINTS_PER_PIECE), |piece| {
        let range = piece * POINTS_PER_PIECE..((piece + 1) * POINTS_PER_PIECE).min(n);
        let mut comparison = Comparison::new();
        let near = comparison.nearest(&rows, cloud, range, count + 1, &thresholds, exec)?;
        Ok(near.iter_mut().map(|near| near.found().to_vec()).collect::<Vec<_>>())
    })?;
    let nearest = |(p, &point): (usize, &u32)| {
        let others = parts.iter().flat_map(|part| &part[p]).copied().filter(|&(_, other)| other != point);
        let mut others: Vec<(E, u32)> = others.collect();
        others.sort_unstable_by(by_value);
        others.truncate(count);
        others.into_iter().map(|(_, other)| other).collect()
    };
    Ok(points.iter().enumerate().map(nearest).collect())
}
