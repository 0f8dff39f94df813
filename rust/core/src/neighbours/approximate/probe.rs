//! Some points whose nearest neighbours are known: what is missing, and where it is.

use super::cloud::{Cloud, squared_distance};
use super::compare::Comparison;
use super::graph::Graph;
use super::smallest::by_value;
use crate::exec::Exec;
use crate::numbering::places_of;
use crate::random::Stream;
use crate::{Real, Result};

/// Points that are compared with all others, and how many where they are so long that this takes a good part of the time.
const PROBES: usize = 1024;
const LONG_PROBES: usize = 512;
const LONG: usize = 256;
/// So many standard errors the share found among them has to lie above the one asked for.
const CERTAINTY: f64 = 2.0;
/// Neighbours of a point are found or missed together: the estimate is about this many times less certain than
/// independent draws.
const DEPENDENCE: f64 = 1.5;
/// Points that one thread compares with them.
const POINTS_PER_PIECE: usize = 1 << 14;
/// Others that one thread compares with them on a screen.
const OTHERS_PER_PIECE: usize = 256;
/// Out of the neighbours that need not be found, so many may be lost on a screen.
const LOST: f64 = 0.5;
/// Candidates beyond `k` that are compared by differences: products round.
const SPARE: usize = 8;

/// Points and their `k` nearest others, nearest first.
pub(super) struct Probes<E> {
    points: Vec<u32>,
    nearest: Vec<Vec<(E, u32)>>,
    /// Share of them to be found: the one asked for, and what the estimate may err.
    wanted: f64,
}

impl<E: Real> Probes<E> {
    pub fn new(cloud: &Cloud<E>, k: usize, recall: f64, seed: u64, exec: &Exec) -> Result<Self> {
        let n = cloud.len();
        let count = if cloud.dimension() < LONG { PROBES } else { LONG_PROBES };
        let points = cloud.draw(count.min(n), &mut Stream::new(seed, 0));
        let bars = vec![E::INFINITY; points.len()];
        let rows = cloud.some(&points);
        let parts = exec.map(n.div_ceil(POINTS_PER_PIECE), |piece| {
            let range = piece * POINTS_PER_PIECE..((piece + 1) * POINTS_PER_PIECE).min(n);
            let mut comparison = Comparison::new();
            let near = comparison.nearest(&rows, cloud, range, k + SPARE, &bars, exec)?;
            Ok(near.iter_mut().map(|near| near.found().to_vec()).collect::<Vec<_>>())
        })?;
        let nearest = |(p, &point): (usize, &u32)| {
            let others = parts.iter().flat_map(|part| &part[p]).map(|&(_, other)| other).filter(|&o| o != point);
            let mut others: Vec<_> = others.map(|other| (cloud.squared_distance(point, other), other)).collect();
            others.sort_unstable_by(by_value);
            others.truncate(k);
            others
        };
        let nearest = points.iter().enumerate().map(nearest).collect();
        let error = DEPENDENCE * (recall * (1.0 - recall) / (count * k) as f64).sqrt();
        Ok(Self { points, nearest, wanted: (recall + CERTAINTY * error).min(1.0) })
    }

    /// The share of their neighbours to be found.
    pub fn wanted(&self) -> f64 {
        self.wanted
    }

    pub fn points(&self) -> &[u32] {
        &self.points
    }

    /// Their nearest others, those of one after those of another.
    pub fn neighbours(&self) -> Vec<u32> {
        self.nearest.iter().flatten().map(|&(_, other)| other).collect()
    }

    /// The points have been renumbered: `order[i]` is at place `i` now.
    pub fn renumber(&mut self, order: &[u32]) {
        let places = places_of(order);
        let others = self.nearest.iter_mut().flatten().map(|(_, other)| other);
        self.points.iter_mut().chain(others).for_each(|point| *point = places[*point as usize]);
    }

    /// What part of a squared distance a screen may show at most: beyond it are so few neighbours that they may be lost.
    pub fn most_shown(&self, points: &Cloud<E>, neighbours: &Cloud<E>) -> f64 {
        let mut parts = Vec::new();
        for (p, nearest) in (0..).zip(&self.nearest) {
            let (k, last) = (nearest.len() as u32, nearest[nearest.len() - 1].0);
            let there = (p * k..(p + 1) * k).map(|other| squared_distance(points.row(p), neighbours.row(other)));
            // Not of its own distance: a neighbour is lost if it seems to be farther than all that are known.
            parts.extend(there.map(|shown| shown.to_f64() / last.to_f64()).filter(|part| part.is_finite()));
        }
        let kept = ((1.0 - LOST * (1.0 - self.wanted)) * parts.len() as f64).ceil() as usize;
        if kept < parts.len() { *parts.select_nth_unstable_by(kept, f64::total_cmp).1 } else { 1.0 }
    }

    /// The share of some others that are as near to the probes on a screen as the last of their neighbours are.
    pub fn share_passing(&self, points: &Cloud<E>, others: &Cloud<E>, exec: &Exec) -> Result<f64> {
        let counts = exec.map(others.len().div_ceil(OTHERS_PER_PIECE), |piece| {
            let there = piece * OTHERS_PER_PIECE..((piece + 1) * OTHERS_PER_PIECE).min(others.len());
            let (norms, mut values) = (&others.norms()[there.clone()], Vec::new());
            let lines = points.multiply(points.len(), others, there, &mut values).chunks_exact(norms.len());
            let counts = lines.zip(&self.nearest).zip(points.norms()).map(|((line, nearest), &norm)| {
                let bar = nearest[nearest.len() - 1].0 - norm;
                line.iter().zip(norms).filter(|&(&value, &norm)| value + norm <= bar).count()
            });
            Ok(counts.sum::<usize>())
        })?;
        Ok(counts.into_iter().sum::<usize>() as f64 / (points.len() * others.len()) as f64)
    }

    /// The share of their neighbours that the graph has.
    pub fn recall(&self, graph: &Graph<E>) -> f64 {
        let count = |(&point, nearest): (&u32, &Vec<(E, u32)>)| {
            let (k, last) = (nearest.len(), nearest[nearest.len() - 1].0);
            graph.row(point)[..k].iter().filter(|entry| entry.distance <= last).count() as f64 / k as f64
        };
        self.points.iter().zip(&self.nearest).map(count).sum::<f64>() / self.points.len() as f64
    }

    /// How much that share lacks of the one wanted.
    pub fn missing(&self, graph: &Graph<E>) -> f64 {
        self.wanted - self.recall(graph)
    }

    /// The points with neighbours that the graph does not have, and how many of these pairs it would have to find.
    pub fn missed_pairs(&self, graph: &Graph<E>) -> (Vec<(u32, u32)>, usize) {
        let all =
            || self.points.iter().zip(&self.nearest).flat_map(|(&p, near)| near.iter().map(move |&(_, q)| (p, q)));
        let wanted = (self.missing(graph) * all().count() as f64).ceil();
        (all().filter(|&(p, q)| graph.row(p).iter().all(|entry| entry.index() != q)).collect(), wanted as usize)
    }
}
