//! Rounds of NN-descent: neighbours of neighbours are likely neighbours.
//!
//! In a round, all pairs of neighbours of each point are compared if at least one of them is fresh,
//! that is, not yet compared in this way at both of its points. Reverse neighbours count as
//! neighbours. Up to a number of fresh and as many settled neighbours of each point take part. A round
//! may compare the neighbours of a random share of the points: if few neighbours are missing, it costs
//! less than a whole round.
//!
//! Reference: Dong, Moses and Li 2011, doi:10.1145/1963405.1963487.

use super::cloud::Cloud;
use super::graph::{Graph, Proposals};
use super::smallest::{GROUP_SIZE, for_each_place};
use crate::ground::memory;
use crate::ground::random::mix;
use crate::{Exec, Real, Result};

/// Points whose neighbourhoods one thread compares at a time.
const POINTS_PER_PIECE: usize = 512;
/// Pieces between two updates of the graph: more pieces take more memory, fewer pieces use older
/// thresholds.
const PIECES_PER_TURN: usize = 64;

/// The points to compare around each point of a piece.
struct Neighbourhoods {
    /// The neighbourhoods one after the other.
    points: Vec<u32>,
    /// Bounds of each neighbourhood.
    spans: Vec<Span>,
}

/// Start of the fresh points, start of the settled points, end.
struct Span {
    fresh: usize,
    settled: usize,
    end: usize,
}

/// Which neighbours take part in a round.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampling {
    /// Fresh and settled neighbours of a point.
    pub count: usize,
    /// Share of the points whose neighbours are compared.
    pub share: f64,
    pub seed: u64,
}

impl Sampling {
    fn has(&self, point: u32) -> bool {
        self.share >= 1.0 || f64::from(priority(point, point, self.seed)) < self.share * 2.0_f64.powi(32)
    }
}

/// Runs one round; returns the number of new entries.
pub(super) fn round<E: Real>(cloud: &Cloud<E>, graph: &mut Graph<E>, sampling: Sampling, exec: &Exec) -> Result<usize> {
    let neighbourhoods = sample_neighbourhoods(graph, sampling, exec)?;
    let mut entered = 0;
    for turn in neighbourhoods.chunks(PIECES_PER_TURN) {
        let known = &*graph;
        let proposals = exec.map(turn.len(), |piece| Ok(propose(cloud, known, &turn[piece])))?;
        entered += graph.accept(&proposals, exec)?;
    }
    Ok(entered)
}

/// Compares the neighbourhoods of one piece.
#[pulp::with_simd(propose = pulp::Arch::new())]
#[inline(always)]
fn propose_simd<S: pulp::Simd, E: Real>(
    _: S,
    cloud: &Cloud<E>,
    known: &Graph<E>,
    here: &Neighbourhoods,
) -> Proposals<E> {
    let mut proposals = Proposals::new(cloud.len());
    let (mut gathered, mut values) = (Cloud::empty(cloud.dimension()), Vec::new());
    for (i, &Span { fresh, settled, end }) in here.spans.iter().enumerate() {
        let ahead = here.spans.get(i + 1).map_or(&[][..], |next| &here.points[next.fresh..next.end]);
        ahead.iter().for_each(|&point| {
            cloud.prefetch(point);
            known.prefetch(point);
        });
        compare(cloud, known, &here.points[fresh..end], settled - fresh, (&mut gathered, &mut values), &mut proposals);
    }
    proposals
}

/// Compares the first `fresh` points with each other and with all other points.
#[inline(always)]
fn compare<E: Real>(
    cloud: &Cloud<E>,
    known: &Graph<E>,
    points: &[u32],
    fresh: usize,
    (gathered, values): (&mut Cloud<E>, &mut Vec<E>),
    proposals: &mut Proposals<E>,
) {
    if fresh == 0 || points.len() < 2 {
        return;
    }
    gathered.gather(cloud, points);
    let thresholds: Vec<E> = points.iter().map(|&p| known.worst[p as usize]).collect();
    let n = points.len();
    let values = gathered.multiply(fresh, gathered, 0..n, values);
    let norms = gathered.norms();
    for (i, &p) in points[..fresh].iter().enumerate() {
        let (own, norm) = (thresholds[i], norms[i]);
        for first in (i + 1..n).step_by(GROUP_SIZE) {
            let group = first..n.min(first + GROUP_SIZE);
            let (values, norms) = (&values[i * n..][group.clone()], &norms[group.clone()]);
            let (others, thresholds) = (&points[group.clone()], &thresholds[group]);
            let screened = |at: usize| values[at] + norms[at] + norm;
            let is_near = |at: usize| screened(at) < if thresholds[at] < own { own } else { thresholds[at] };
            for_each_place(values.len(), is_near, |at| {
                let (q, near, threshold) = (others[at], screened(at), thresholds[at]);
                let (is_new, is_new_there) = (near < own && !known.has(p, q), near < threshold && !known.has(q, p));
                if is_new || is_new_there {
                    let distance = cloud.squared_distance(p, q);
                    if is_new && distance < own {
                        proposals.add(p, q, distance);
                    }
                    if is_new_there && distance < threshold {
                        proposals.add(q, p, distance);
                    }
                }
            });
        }
    }
}

/// Draws up to `count` fresh neighbours of each sampled point in both directions, and as many settled
/// ones. Points without fresh neighbours are left out.
///
/// The drawn fresh neighbours become settled if their own neighbours are compared too.
fn sample_neighbourhoods<E: Real>(
    graph: &mut Graph<E>,
    sampling: Sampling,
    exec: &Exec,
) -> Result<Vec<Neighbourhoods>> {
    let (width, Sampling { count, seed, .. }) = (graph.width, sampling);
    let reverse = Reverse::new(graph)?;
    exec.map_pieces(&mut graph.entries, POINTS_PER_PIECE * width, |first, rows| {
        let mut neighbourhoods = Neighbourhoods { points: Vec::new(), spans: Vec::new() };
        let (mut fresh, mut settled): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
        for (i, row) in rows.chunks_exact_mut(width).enumerate() {
            let point = (first / width + i) as u32;
            if !sampling.has(point) {
                continue;
            }
            fresh.clear();
            settled.clear();
            for entry in row.iter() {
                let list = if entry.is_fresh() { &mut fresh } else { &mut settled };
                list.push(key(point, entry.index(), seed));
            }
            for &(other, is_fresh) in reverse.of(point) {
                let list = if is_fresh { &mut fresh } else { &mut settled };
                list.push(key(point, other, seed));
            }
            let begin = neighbourhoods.points.len();
            if fresh.is_empty() {
                continue;
            }
            for list in [&mut fresh, &mut settled] {
                // A pair has the same priority in both directions, so mutual neighbours are
                // adjacent.
                list.sort_unstable();
                list.dedup();
                list.truncate(count);
            }
            let chosen = fresh.iter().map(|&key| key as u32);
            neighbourhoods.points.extend(chosen.clone());
            let middle = neighbourhoods.points.len();
            // A point that is fresh in one direction and settled in the other is taken once.
            neighbourhoods
                .points
                .extend(settled.iter().map(|&key| key as u32).filter(|o| !chosen.clone().any(|c| c == *o)));
            neighbourhoods.spans.push(Span { fresh: begin, settled: middle, end: neighbourhoods.points.len() });
            for entry in row.iter_mut().filter(|entry| entry.is_fresh()) {
                if sampling.has(entry.index()) && chosen.clone().any(|c| c == entry.index()) {
                    entry.settle();
                }
            }
        }
        Ok(neighbourhoods)
    })
}

/// Random priority of a pair, followed by the other point: equal pairs have equal keys.
fn key(point: u32, other: u32, seed: u64) -> u64 {
    u64::from(priority(point, other, seed)) << 32 | u64::from(other)
}

/// Random priority of a pair.
fn priority(a: u32, b: u32, seed: u64) -> u32 {
    let pair = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
    (mix(pair ^ seed) >> 32) as u32
}

/// The points that have each point as a neighbour.
struct Reverse {
    offsets: Vec<usize>,
    sources: Vec<(u32, bool)>,
}

impl Reverse {
    fn new<E: Real>(graph: &Graph<E>) -> Result<Self> {
        let n = graph.worst.len();
        let mut offsets = vec![0; n + 1];
        for entry in &graph.entries {
            offsets[entry.index() as usize + 1] += 1;
        }
        (0..n).for_each(|i| offsets[i + 1] += offsets[i]);
        let mut next = offsets.clone();
        let mut sources = memory::collect(std::iter::repeat_n((0, false), graph.entries.len()))?;
        for (i, row) in graph.entries.chunks_exact(graph.width).enumerate() {
            for entry in row {
                let place = &mut next[entry.index() as usize];
                sources[*place] = (i as u32, entry.is_fresh());
                *place += 1;
            }
        }
        Ok(Self { offsets, sources })
    }

    fn of(&self, point: u32) -> &[(u32, bool)] {
        &self.sources[self.offsets[point as usize]..self.offsets[point as usize + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::metric::Metric;
    use super::super::super::points::DensePoints;
    use super::super::super::screen::Centred;
    use super::super::compare::{Group, compare_groups};
    use super::*;
    use crate::Stream;

    /// A round of a share of the points finds less than a whole round, the same for any number of threads.
    #[test]
    fn rounds_of_a_share_find_a_part() {
        let (n, dimension, width) = (4000, 3, 10);
        let mut stream = Stream::new(1, 0);
        let data: Vec<f64> = (0..n * dimension).map(|_| stream.uniform()).collect();
        let points = DensePoints { data: &data, dimension, metric: Metric::Euclidean };
        let entered = |share: f64, threads: usize| {
            let exec = Exec::with_threads(threads);
            let cloud = Cloud::<f64>::new(&points, &Centred::new(&points, &exec).unwrap(), &exec).unwrap();
            let mut graph = Graph::new(n, width).unwrap();
            // Two partitions, so that neighbours of neighbours are in other parts.
            let along = |axis: usize| {
                let mut order: Vec<u32> = (0..n as u32).collect();
                order.sort_by(|&a, &b| cloud.row(a)[axis].total_cmp(&cloud.row(b)[axis]));
                order
            };
            for order in [along(0), along(1)] {
                let parts = order.chunks(200).map(|points| Group { points, others: points, is_mutual: false });
                compare_groups(&cloud, &parts.collect::<Vec<_>>(), &mut graph, &exec).unwrap();
            }
            let count = round(&cloud, &mut graph, Sampling { count: 10, share, seed: 5 }, &exec).unwrap();
            (count, graph.entries.iter().map(|entry| (entry.index(), entry.is_fresh())).collect::<Vec<_>>())
        };
        let (whole, part, none) = (entered(1.0, 2), entered(0.3, 2), entered(0.0, 2));
        assert!(0 < part.0 && part.0 < whole.0, "{} {}", part.0, whole.0);
        assert_eq!(none.0, 0);
        assert_eq!(part, entered(0.3, 1));
        assert_eq!(part, entered(0.3, 3));
    }
}
