//! How many neighbours are missing: some points are compared with all.

use super::cloud::Cloud;
use super::graph::Graph;
use super::smallest;
use crate::exec::Exec;
use crate::random::Stream;
use crate::{Real, Result};

/// Points that are compared with all others.
const PROBES: usize = 512;
/// Neighbours of a point are found or missed together: the estimate is about this many times less certain than
/// independent draws.
const DEPENDENCE: f64 = 1.5;
/// Points that they are multiplied with at a time.
const ROWS_PER_PRODUCT: usize = 512;
/// Points that one thread looks at.
const ROWS_PER_PIECE: usize = 1 << 14;
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
    let parts = exec.map(n.div_ceil(ROWS_PER_PIECE), |piece| {
        let rows = piece * ROWS_PER_PIECE..((piece + 1) * ROWS_PER_PIECE).min(n);
        let mut best: Vec<Vec<(E, u32)>> = vec![Vec::new(); probes.len()];
        let mut found = Vec::new();
        for first in rows.clone().step_by(ROWS_PER_PRODUCT) {
            exec.check()?;
            let count = ROWS_PER_PRODUCT.min(rows.end - first);
            let values = cloud.compare(&probes, first, count);
            for ((line, best), &probe) in values.chunks_exact(count).zip(&mut best).zip(&probes) {
                let bar = if best.len() < k + SPARE { E::INFINITY } else { best[k + SPARE - 1].0 };
                smallest(line, k + SPARE, bar, &mut found);
                let others = found.iter().map(|&(value, i)| (value, (first + i) as u32));
                best.extend(others.filter(|&(_, other)| other != probe));
                best.sort_unstable_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal));
                best.truncate(k + SPARE);
            }
        }
        Ok(best)
    })?;
    let mut hits = 0;
    for (p, &probe) in probes.iter().enumerate() {
        let mut distances: Vec<E> =
            parts.iter().flat_map(|part| &part[p]).map(|&(_, other)| cloud.squared_distance(probe, other)).collect();
        distances.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        let last = distances[k - 1];
        hits += graph.row(probe)[..k].iter().filter(|entry| entry.distance <= last).count();
    }
    Ok(hits as f64 / (k * probes.len()) as f64)
}
