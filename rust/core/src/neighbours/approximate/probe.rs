//! Some points whose nearest neighbours are known: what is missing, and where it is.

use super::cloud::Cloud;
use super::compare::Comparison;
use super::graph::Graph;
use super::smallest::by_value;
use crate::exec::Exec;
use crate::random::Stream;
use crate::{Real, Result};

/// Points that are compared with all others.
const PROBES: usize = 1024;
/// So many standard errors the share found among them has to lie above the one asked for.
const CERTAINTY: f64 = 2.0;
/// Neighbours of a point are found or missed together: the estimate is about this many times less certain than
/// independent draws.
const DEPENDENCE: f64 = 1.5;
/// Points that one thread compares with them.
const POINTS_PER_PIECE: usize = 1 << 14;
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
        let mut stream = Stream::new(seed, 0);
        let points: Vec<u32> = (0..PROBES.min(n)).map(|_| stream.below(n) as u32).collect();
        let bars = vec![E::INFINITY; points.len()];
        let mut rows = Cloud::empty(cloud.dimension());
        rows.gather(cloud, &points);
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
        let error = DEPENDENCE * (recall * (1.0 - recall) / (PROBES * k) as f64).sqrt();
        Ok(Self { points, nearest, wanted: (recall + CERTAINTY * error).min(1.0) })
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
