//! Neighbours of neighbours are likely neighbours: rounds in which all pairs around each point are compared (NN-descent).

use super::cloud::Cloud;
use super::graph::{Finds, Graph};
use crate::ground::exec::Exec;
use crate::ground::random::mix;
use crate::{Real, Result};

/// Points around which one thread compares at a time.
const POINTS_PER_PIECE: usize = 512;
/// Pieces after which what was found is entered: the more, the more memory; the fewer, the more is noted in vain.
const PIECES_PER_TURN: usize = 64;

/// Who is compared around each point of a piece.
struct Meetings {
    /// The points that meet, those of a point after those of another.
    members: Vec<u32>,
    /// For each point, where its fresh members begin, where the others begin, and where they end.
    bounds: Vec<(usize, usize, usize)>,
}

/// One round; returns how many entries are new.
pub(super) fn round<E: Real>(
    cloud: &Cloud<E>,
    graph: &mut Graph<E>,
    sample: usize,
    seed: u64,
    exec: &Exec,
) -> Result<usize> {
    let meetings = invite(graph, sample, seed, exec)?;
    let mut entered = 0;
    for turn in meetings.chunks(PIECES_PER_TURN) {
        let known = &*graph;
        let finds = exec
            .map(turn.len(), |piece| Ok(pulp::Arch::new().dispatch(Meet { cloud, known, meetings: &turn[piece] })))?;
        entered += graph.enter(&finds, exec)?;
    }
    Ok(entered)
}

/// The meetings of one piece.
struct Meet<'a, E> {
    cloud: &'a Cloud<E>,
    known: &'a Graph<E>,
    meetings: &'a Meetings,
}

impl<E: Real> pulp::WithSimd for Meet<'_, E> {
    type Output = Finds<E>;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Finds<E> {
        let Self { cloud, known, meetings: Meetings { members, bounds } } = self;
        let mut finds = Finds::new(cloud.len());
        let (mut gathered, mut values) = (Cloud::empty(cloud.dimension()), Vec::new());
        for &(fresh, settled, end) in bounds {
            compare(cloud, known, &members[fresh..end], settled - fresh, (&mut gathered, &mut values), &mut finds);
        }
        finds
    }
}

/// Compares the first `fresh` members with each other and with all the rest.
#[inline(always)]
fn compare<E: Real>(
    cloud: &Cloud<E>,
    known: &Graph<E>,
    members: &[u32],
    fresh: usize,
    (gathered, values): (&mut Cloud<E>, &mut Vec<E>),
    finds: &mut Finds<E>,
) {
    if fresh == 0 || members.len() < 2 {
        return;
    }
    gathered.gather(cloud, members);
    let bars: Vec<E> = members.iter().map(|&p| known.worst[p as usize]).collect();
    let n = members.len();
    let values = gathered.multiply(fresh, gathered, 0..n, values);
    let norms = gathered.norms();
    for (i, &p) in members[..fresh].iter().enumerate() {
        let (own, norm) = (bars[i], norms[i]);
        let screened = |value: E, other_norm: E| value + other_norm + norm;
        let is_near = |((&value, &other_norm), &bar): ((&E, &E), &E)| {
            screened(value, other_norm) < if bar < own { own } else { bar }
        };
        let after = i + 1..n;
        let others = || values[i * n..][after.clone()].iter().zip(&norms[after.clone()]).zip(&bars[after.clone()]);
        // All are looked at before any is: few pairs are near, and so the compiler takes many at a time.
        if others().fold(0, |any, other| any | u8::from(is_near(other))) == 0 {
            continue;
        }
        for (&q, other) in members[after.clone()].iter().zip(others()) {
            if is_near(other) {
                let ((&value, &other_norm), &bar) = other;
                let near = screened(value, other_norm);
                let (is_new, is_new_there) = (near < own && !known.has(p, q), near < bar && !known.has(q, p));
                if is_new || is_new_there {
                    let distance = cloud.squared_distance(p, q);
                    if is_new && distance < own {
                        finds.note(p, q, distance);
                    }
                    if is_new_there && distance < bar {
                        finds.note(q, p, distance);
                    }
                }
            }
        }
    }
}

/// Chooses who meets around each point: up to `sample` fresh neighbours in either direction, and as many settled ones. Chosen
/// fresh ones become settled.
fn invite<E: Real>(graph: &mut Graph<E>, sample: usize, seed: u64, exec: &Exec) -> Result<Vec<Meetings>> {
    let width = graph.width;
    let reverse = Reverse::new(graph);
    exec.map_pieces(&mut graph.entries, POINTS_PER_PIECE * width, |first, rows| {
        let mut meetings = Meetings { members: Vec::new(), bounds: Vec::new() };
        let (mut fresh, mut settled) = (Vec::new(), Vec::new());
        for (i, row) in rows.chunks_exact_mut(width).enumerate() {
            let point = (first / width + i) as u32;
            fresh.clear();
            settled.clear();
            for entry in row.iter() {
                let list = if entry.is_fresh() { &mut fresh } else { &mut settled };
                list.push((lot(point, entry.index(), seed), entry.index()));
            }
            for &(other, is_fresh) in reverse.of(point) {
                let list = if is_fresh { &mut fresh } else { &mut settled };
                list.push((lot(point, other, seed), other));
            }
            let begin = meetings.members.len();
            if fresh.is_empty() {
                meetings.bounds.push((begin, begin, begin));
                continue;
            }
            for list in [&mut fresh, &mut settled] {
                // A pair has one lot, from whichever side: those that chose each other stand together.
                list.sort_unstable();
                list.dedup();
                list.truncate(sample);
            }
            let chosen = fresh.iter().map(|&(_, other)| other);
            meetings.members.extend(chosen.clone());
            let middle = meetings.members.len();
            // One that is fresh from one side and settled from the other comes once.
            meetings
                .members
                .extend(settled.iter().map(|&(_, other)| other).filter(|o| !chosen.clone().any(|c| c == *o)));
            meetings.bounds.push((begin, middle, meetings.members.len()));
            for entry in row.iter_mut().filter(|entry| entry.is_fresh()) {
                if chosen.clone().any(|c| c == entry.index()) {
                    entry.settle();
                }
            }
        }
        Ok(meetings)
    })
}

/// What decides whether a pair meets.
fn lot(a: u32, b: u32, seed: u64) -> u32 {
    let pair = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
    (mix(pair ^ seed) >> 32) as u32
}

/// Who has a point among its neighbours.
struct Reverse {
    offsets: Vec<usize>,
    sources: Vec<(u32, bool)>,
}

impl Reverse {
    fn new<E: Real>(graph: &Graph<E>) -> Self {
        let n = graph.worst.len();
        let mut offsets = vec![0; n + 1];
        for entry in &graph.entries {
            offsets[entry.index() as usize + 1] += 1;
        }
        (0..n).for_each(|i| offsets[i + 1] += offsets[i]);
        let mut next = offsets.clone();
        let mut sources = vec![(0, false); graph.entries.len()];
        for (i, row) in graph.entries.chunks_exact(graph.width).enumerate() {
            for entry in row {
                let place = &mut next[entry.index() as usize];
                sources[*place] = (i as u32, entry.is_fresh());
                *place += 1;
            }
        }
        Self { offsets, sources }
    }

    fn of(&self, point: u32) -> &[(u32, bool)] {
        &self.sources[self.offsets[point as usize]..self.offsets[point as usize + 1]]
    }
}
