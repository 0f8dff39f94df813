//! How many neighbours are missing: some points are compared with all.

use super::cloud::Cloud;
use super::compare::nearest;
use super::graph::Graph;
use crate::exec::Exec;
use crate::random::Stream;
use crate::{Real, Result};

/// Points that are compared with all others.
const PROBES: usize = 512;
/// Neighbours of a point are found or missed together: the estimate is about this many times less certain than
/// independent draws.
const DEPENDENCE: f64 = 1.5;
/// Points that one thread compares with them.
const POINTS_PER_PIECE: usize = 1 << 14;
/// Candidates beyond `k` that are compared by differences: products round.
const SPARE: usize = 8;

/// How much the share of the `k` nearest neighbours that the graph has lacks of the one wanted. The estimate has to lie above that by its
/// standard error.
pub(super) fn missing<E: Real>(
    cloud: &Cloud<E>,
    graph: &Graph<E>,
    k: usize,
    wanted: f64,
    seed: u64,
    exec: &Exec,
) -> Result<f64> {
    let error = DEPENDENCE * (wanted * (1.0 - wanted) / (PROBES * k) as f64).sqrt();
    Ok(wanted + error - recall(cloud, graph, k, seed, exec)?)
}

/// Estimates the share of the `k` nearest neighbours that the graph has.
fn recall<E: Real>(cloud: &Cloud<E>, graph: &Graph<E>, k: usize, seed: u64, exec: &Exec) -> Result<f64> {
    let n = cloud.len();
    let mut stream = Stream::new(seed, 0);
    let probes: Vec<u32> = (0..PROBES.min(n)).map(|_| stream.below(n) as u32).collect();
    let mut rows = Cloud::empty(cloud.dimension());
    rows.gather(cloud, &probes);
    let parts = exec.map(n.div_ceil(POINTS_PER_PIECE), |piece| {
        let range = piece * POINTS_PER_PIECE..((piece + 1) * POINTS_PER_PIECE).min(n);
        nearest(&rows, cloud, range, k + SPARE, &vec![E::INFINITY; probes.len()], exec)
    })?;
    let mut hits = 0;
    for (p, &probe) in probes.iter().enumerate() {
        let others = parts.iter().flat_map(|part| &part[p]).filter(|&&(_, other)| other != probe);
        let mut distances: Vec<E> = others.map(|&(distance, _)| distance).collect();
        distances.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        let last = distances[k - 1];
        hits += graph.row(probe)[..k].iter().filter(|entry| entry.distance <= last).count();
    }
    Ok(hits as f64 / (k * probes.len()) as f64)
}
