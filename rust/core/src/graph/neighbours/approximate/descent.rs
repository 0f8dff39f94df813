//! Rounds of NN-descent: neighbours of neighbours are likely neighbours.
//!
//! In a round, all pairs of neighbours of each point are compared if at least one of them is fresh,
//! that is, not yet compared in this way. Reverse neighbours count as neighbours. Up to `sample`
//! fresh and `sample` settled neighbours of each point take part.
//!
//! Reference: Dong, Moses and Li 2011, doi:10.1145/1963405.1963487.

use super::cloud::Cloud;
use super::graph::{Graph, Proposals};
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

/// Runs one round; returns the number of new entries.
pub(super) fn round<E: Real>(
    cloud: &Cloud<E>,
    graph: &mut Graph<E>,
    sample: usize,
    seed: u64,
    exec: &Exec,
) -> Result<usize> {
    let neighbourhoods = sample_neighbourhoods(graph, sample, seed, exec)?;
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
    for &Span { fresh, settled, end } in &here.spans {
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
        let screened = |value: E, other_norm: E| value + other_norm + norm;
        let is_near = |((&value, &other_norm), &threshold): ((&E, &E), &E)| {
            screened(value, other_norm) < if threshold < own { own } else { threshold }
        };
        let after = i + 1..n;
        let others =
            || values[i * n..][after.clone()].iter().zip(&norms[after.clone()]).zip(&thresholds[after.clone()]);
        // A test of all pairs at once uses vector instructions; few pairs pass.
        if others().fold(0, |any, other| any | u8::from(is_near(other))) == 0 {
            continue;
        }
        for (&q, other) in points[after.clone()].iter().zip(others()) {
            if is_near(other) {
                let ((&value, &other_norm), &threshold) = other;
                let near = screened(value, other_norm);
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
            }
        }
    }
}

/// Draws up to `sample` fresh neighbours of each point in both directions, and as many settled
/// ones.
///
/// The drawn fresh neighbours become settled.
fn sample_neighbourhoods<E: Real>(
    graph: &mut Graph<E>,
    sample: usize,
    seed: u64,
    exec: &Exec,
) -> Result<Vec<Neighbourhoods>> {
    let width = graph.width;
    let reverse = Reverse::new(graph)?;
    exec.map_pieces(&mut graph.entries, POINTS_PER_PIECE * width, |first, rows| {
        let mut neighbourhoods = Neighbourhoods { points: Vec::new(), spans: Vec::new() };
        let (mut fresh, mut settled) = (Vec::new(), Vec::new());
        for (i, row) in rows.chunks_exact_mut(width).enumerate() {
            let point = (first / width + i) as u32;
            fresh.clear();
            settled.clear();
            for entry in row.iter() {
                let list = if entry.is_fresh() { &mut fresh } else { &mut settled };
                list.push((priority(point, entry.index(), seed), entry.index()));
            }
            for &(other, is_fresh) in reverse.of(point) {
                let list = if is_fresh { &mut fresh } else { &mut settled };
                list.push((priority(point, other, seed), other));
            }
            let begin = neighbourhoods.points.len();
            if fresh.is_empty() {
                neighbourhoods.spans.push(Span { fresh: begin, settled: begin, end: begin });
                continue;
            }
            for list in [&mut fresh, &mut settled] {
                // A pair has the same priority in both directions, so mutual neighbours are
                // adjacent.
                list.sort_unstable();
                list.dedup();
                list.truncate(sample);
            }
            let chosen = fresh.iter().map(|&(_, other)| other);
            neighbourhoods.points.extend(chosen.clone());
            let middle = neighbourhoods.points.len();
            // A point that is fresh in one direction and settled in the other is taken once.
            neighbourhoods
                .points
                .extend(settled.iter().map(|&(_, other)| other).filter(|o| !chosen.clone().any(|c| c == *o)));
            neighbourhoods.spans.push(Span { fresh: begin, settled: middle, end: neighbourhoods.points.len() });
            for entry in row.iter_mut().filter(|entry| entry.is_fresh()) {
                if chosen.clone().any(|c| c == entry.index()) {
                    entry.settle();
                }
            }
        }
        Ok(neighbourhoods)
    })
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
