//! k-means: `k` centres that minimise `sum_i min_c |x_i - c|^2`.
//!
//! Greedy k-means++ seeds (Arthur and Vassilvitskii 2007; of `2 + ln k` candidates drawn by squared distance the one that
//! lowers the sum most), then Lloyd's iteration, several starts, the best kept. A start costs O(n d k) for its seeds, times
//! `2 + ln k`, and O(n d k) an iteration.
//!
//! Why it looks as it does:
//! - Points lie in blocks of lanes ([`lanes`](crate::ground::lanes)): distances need no horizontal sums, and give the same bits on
//!   every machine. They are squared differences, not `|x|^2 - 2 x.c + |c|^2`: groups far from each other compared with their
//!   size keep their structure.
//! - Sums of clusters follow the points that move. Most iterations move few, and the first counts as a move for all.
//! - Pieces of rows are cut by the size of the problem. Few points: starts run side by side, each on one thread. Many: one start
//!   after the other, its pieces in parallel. Either way sums are added in the order of the pieces, so the bits are the same.

use crate::ground::exec::Exec;
use crate::ground::frame::Frame;
use crate::ground::lanes::{LANES, Lane, Lanes, TILE, empty_tiles, put, squared_distances};
use crate::ground::random::Stream;
use crate::{Error, Real, Result};

/// Multiplications that make a piece worth handing to another thread.
const WORK_PER_PIECE: usize = 1 << 19;
/// Rows in a piece, at least: each keeps sums of all clusters.
const ROWS_PER_PIECE: usize = 1024;
/// Pieces at most, for the same reason.
const MAX_PIECES: usize = 128;
/// Up to so many points starts run side by side: each holds 12 bytes a point and more for its seeds.
const SMALL: usize = 1 << 16;
/// The label of a point without a cluster.
const NONE: u32 = u32::MAX;

/// What to look for and when to stop.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeansSettings {
    /// Number of clusters.
    pub n_clusters: usize,
    /// Number of starts.
    pub n_init: usize,
    /// Iterations of each start, at most.
    pub max_iterations: usize,
    /// A start ends when its centres move (sum of squared distances) by no more than this times the mean variance of a coordinate.
    pub tolerance: f64,
    /// Everything random depends on it.
    pub seed: u64,
}

/// The best of the starts.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeans {
    /// Cluster of each point, all of `0..n_clusters` in order of their first point; the nearest centre, the smaller index of equals.
    pub labels: Vec<u32>,
    /// Centres, one after the other.
    pub centers: Vec<f64>,
    /// Sum of squared distances to the centres.
    pub inertia: f64,
    /// Iterations of this start.
    pub iterations: usize,
    /// Did the start end before its iterations were used up?
    pub converged: bool,
}

/// Clusters `points`, `n * dimension` numbers, a point after the other.
///
/// An error if a coordinate is not finite, or if there are fewer distinct points than clusters.
pub fn k_means<T: Real>(points: &[T], dimension: usize, settings: &KMeansSettings, exec: &Exec) -> Result<KMeans> {
    let n = points.len().checked_div(dimension).unwrap_or(0);
    let k = settings.n_clusters;
    let at_least_one = |what: &str| Err(Error::Invalid(format!("{what}: expected at least 1, got 0")));
    for (what, value) in [
        ("dimension", dimension),
        ("n_clusters", k),
        ("n_init", settings.n_init),
        ("max_iterations", settings.max_iterations),
    ] {
        if value == 0 {
            return at_least_one(what);
        }
    }
    Error::check_size("points", n * dimension, points.len())?;
    if k > n || n >= NONE as usize {
        return Err(Error::Invalid(format!("n_clusters: expected at most {n}, the number of points, got {k}")));
    }
    let frame = Frame::new(points, dimension, exec)?;
    let lanes = Lanes::new(points, &frame, dimension, n, Some, exec)?;
    let problem = Problem::new(&lanes, n, dimension, settings, exec)?;
    let best = problem.best_start(exec)?;
    Ok(problem.finish(&best, &frame))
}

/// What all starts share.
struct Problem<'a> {
    lanes: &'a Lanes,
    n: usize,
    dimension: usize,
    rows_per_piece: usize,
    settings: &'a KMeansSettings,
    /// Centres that move by no more than this (squared) have come to rest.
    rest: f64,
}

impl<'a> Problem<'a> {
    fn new(lanes: &'a Lanes, n: usize, dimension: usize, settings: &'a KMeansSettings, exec: &Exec) -> Result<Self> {
        let rows = (WORK_PER_PIECE / (dimension * settings.n_clusters)).max(ROWS_PER_PIECE).max(n.div_ceil(MAX_PIECES));
        // Pieces of one size, and whole blocks.
        let rows_per_piece = n.div_ceil(n.div_ceil(rows)).next_multiple_of(LANES);
        let mut problem = Self { lanes, n, dimension, rows_per_piece, settings, rest: 0.0 };
        // The frame's mean is that of the points, so the mean square is the variance.
        let squares = exec.map(n.div_ceil(rows_per_piece), |p| {
            let (first, count) = problem.rows(p);
            Ok(lanes.blocks(first, count).iter().map(|x| x * x).sum::<f64>())
        })?;
        problem.rest = settings.tolerance * squares.iter().sum::<f64>() / (n * dimension) as f64;
        Ok(problem)
    }

    /// First row and number of rows of a piece.
    fn rows(&self, piece: usize) -> (usize, usize) {
        let first = piece * self.rows_per_piece;
        (first, self.rows_per_piece.min(self.n - first))
    }

    /// The first of the starts with the smallest inertia.
    fn best_start(&self, exec: &Exec) -> Result<Start<'_>> {
        let better = |best: Start<'a>, next: Start<'a>| if next.inertia < best.inertia { next } else { best };
        let count = self.settings.n_init;
        let first = |exec: &Exec| self.start(0, exec);
        if self.n <= SMALL && count >= exec.threads() {
            let starts = exec.map(count, |s| self.start(s, &exec.alone()))?;
            return starts.into_iter().reduce(better).map_or_else(|| first(exec), Ok);
        }
        (1..count).try_fold(first(exec)?, |best, s| Ok(better(best, self.start(s, exec)?)))
    }

    fn start(&self, number: usize, exec: &Exec) -> Result<Start<'a>> {
        let mut start = Start::new(self);
        start.seed(&mut Stream::new(self.settings.seed, number as u64), exec)?;
        start.iterate(self.settings.max_iterations, self.rest, exec)?;
        Ok(start)
    }

    /// Numbers clusters by their first point, so that equal partitions have equal labels, and leaves the frame.
    fn finish(&self, start: &Start<'_>, frame: &Frame) -> KMeans {
        let (k, d) = (self.settings.n_clusters, self.dimension);
        let mut number = vec![NONE; k];
        let mut centers = Vec::with_capacity(k * d);
        let mut labels = Vec::with_capacity(self.n);
        for piece in &start.pieces {
            for &label in &piece.labels[..piece.count] {
                let label = label as usize;
                if number[label] == NONE {
                    number[label] = (centers.len() / d) as u32;
                    centers.extend_from_slice(&start.centers[label * d..(label + 1) * d]);
                }
                labels.push(number[label]);
            }
        }
        centers.chunks_exact_mut(d).for_each(|row| frame.leave(row));
        let inertia = frame.leave_squared(start.inertia);
        KMeans { labels, centers, inertia, iterations: start.iterations, converged: start.converged }
    }
}

/// Consecutive rows of a start. Arrays by row are filled up to whole blocks.
struct Piece<'a> {
    blocks: &'a [f64],
    count: usize,
    labels: Vec<u32>,
    /// Squared distance to the nearest centre.
    distances: Vec<f64>,
    /// While seeding: the distances if a candidate were a centre, lane by lane for each candidate, and their sums.
    trials: Vec<f64>,
    potentials: Vec<f64>,
    inertia: f64,
    /// What the points that changed cluster add to sums and counts.
    moved: Sums,
    changed: usize,
}

/// Sums and numbers of points of each cluster.
#[derive(Clone)]
struct Sums {
    sums: Vec<f64>,
    counts: Vec<i64>,
}

impl Sums {
    fn new(k: usize, dimension: usize) -> Self {
        Self { sums: vec![0.0; k * dimension], counts: vec![0; k] }
    }

    fn clear(&mut self) {
        self.sums.fill(0.0);
        self.counts.fill(0);
    }

    fn add(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
    }

    /// Takes a point from one cluster (if it had one) to another.
    #[inline(always)]
    fn carry(&mut self, from: u32, to: usize, point: impl ExactSizeIterator<Item = f64>) {
        let d = point.len();
        self.counts[to] += 1;
        if from == NONE {
            self.sums[to * d..(to + 1) * d].iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
            return;
        }
        let from = from as usize;
        self.counts[from] -= 1;
        for (j, x) in point.enumerate() {
            self.sums[to * d + j] += x;
            self.sums[from * d + j] -= x;
        }
    }
}

/// One start on its way.
struct Start<'a> {
    lanes: &'a Lanes,
    pieces: Vec<Piece<'a>>,
    rows_per_piece: usize,
    n: usize,
    k: usize,
    dimension: usize,
    centers: Vec<f64>,
    members: Sums,
    inertia: f64,
    iterations: usize,
    converged: bool,
}

impl<'a> Start<'a> {
    fn new(problem: &Problem<'a>) -> Self {
        let (n, k, dimension) = (problem.n, problem.settings.n_clusters, problem.dimension);
        let piece = |p| {
            let (first, count) = problem.rows(p);
            let places = count.next_multiple_of(LANES);
            let mut distances = vec![f64::INFINITY; places];
            // Places without a point must not count while seeding.
            distances[count..].fill(0.0);
            Piece {
                blocks: problem.lanes.blocks(first, count),
                count,
                labels: vec![NONE; places],
                distances,
                trials: Vec::new(),
                potentials: Vec::new(),
                inertia: 0.0,
                moved: Sums::new(k, dimension),
                changed: 0,
            }
        };
        Self {
            lanes: problem.lanes,
            pieces: (0..n.div_ceil(problem.rows_per_piece)).map(piece).collect(),
            rows_per_piece: problem.rows_per_piece,
            n,
            k,
            dimension,
            centers: Vec::with_capacity(k * dimension),
            members: Sums::new(k, dimension),
            inertia: 0.0,
            iterations: 0,
            converged: false,
        }
    }

    /// Chooses the centres to begin with.
    fn seed(&mut self, random: &mut Stream, exec: &Exec) -> Result<()> {
        let trials = 2 + (self.k as f64).ln() as usize;
        let mut candidates = vec![random.below(self.n)];
        for c in 0..self.k {
            if c > 0 {
                let total: f64 = self.pieces.iter().map(|piece| piece.potentials[0]).sum();
                if total <= 0.0 {
                    let k = self.k;
                    let message = format!("n_clusters: expected at most {c}, the number of distinct points, got {k}");
                    return Err(Error::Invalid(message));
                }
                candidates = (0..trials).map(|_| self.draw(random.uniform() * total)).collect();
            }
            let best = self.try_candidates(&candidates, exec)?;
            self.centers.extend(self.lanes.point(candidates[best]));
        }
        self.pieces.iter_mut().for_each(|piece| piece.trials = Vec::new());
        Ok(())
    }

    /// The point at which the running sum of squared distances passes `target`; one at a positive distance in any case.
    fn draw(&self, mut target: f64) -> usize {
        let mut chosen = 0;
        for (p, piece) in self.pieces.iter().enumerate() {
            let potential = piece.potentials[0];
            if potential <= 0.0 {
                continue;
            }
            chosen = p;
            if target < potential {
                break;
            }
            target -= potential;
        }
        let mut sum = 0.0;
        let mut last = 0;
        for (i, &distance) in self.pieces[chosen].distances.iter().enumerate() {
            sum += distance;
            if distance > 0.0 {
                last = i;
                if sum > target {
                    break;
                }
            }
        }
        chosen * self.rows_per_piece + last
    }

    /// Takes the candidate that leaves the smallest sum of squared distances, and says which it was.
    fn try_candidates(&mut self, candidates: &[usize], exec: &Exec) -> Result<usize> {
        let d = self.dimension;
        let mut tiles = empty_tiles(candidates.len(), d);
        for (t, &candidate) in candidates.iter().enumerate() {
            put(&mut tiles[t / TILE * TILE * d..], t % TILE, self.lanes.point(candidate));
        }
        let count = candidates.len();
        exec.for_pieces(
            &mut self.pieces,
            1,
            || (),
            |_, piece, ()| -> Result<()> {
                let piece = &mut piece[0];
                piece.trials.resize(count.next_multiple_of(TILE) * piece.distances.len(), 0.0);
                piece.potentials.clear();
                pulp::Arch::new().dispatch(Try { piece, tiles: &tiles, dimension: d });
                Ok(())
            },
        )?;
        let total = |t: usize| -> f64 { self.pieces.iter().map(|piece| piece.potentials[t]).sum() };
        let best = (1..count).fold(0, |best, t| if total(t) < total(best) { t } else { best });
        for piece in &mut self.pieces {
            let per_block = count.next_multiple_of(TILE) * LANES;
            let chosen = piece.trials.chunks_exact(per_block).map(|block| &block[best * LANES..(best + 1) * LANES]);
            piece.distances.chunks_exact_mut(LANES).zip(chosen).for_each(|(own, new)| own.copy_from_slice(new));
            piece.potentials.swap(0, best);
        }
        Ok(best)
    }

    /// Lloyd's iteration.
    fn iterate(&mut self, max_iterations: usize, rest: f64, exec: &Exec) -> Result<()> {
        while self.iterations < max_iterations && !self.converged {
            self.iterations += 1;
            if !self.assign(exec)? {
                self.converged = true;
                return Ok(());
            }
            self.converged = self.update() <= rest;
        }
        // Labels belong to the last centres.
        self.assign(exec)?;
        Ok(())
    }

    /// Takes every point to its nearest centre. Did any change its cluster?
    fn assign(&mut self, exec: &Exec) -> Result<bool> {
        exec.check()?;
        let d = self.dimension;
        let mut tiles = empty_tiles(self.k, d);
        for (c, center) in self.centers.chunks_exact(d).enumerate() {
            put(&mut tiles[c / TILE * TILE * d..], c % TILE, center.iter().copied());
        }
        exec.for_pieces(
            &mut self.pieces,
            1,
            || (),
            |_, piece, ()| -> Result<()> {
                pulp::Arch::new().dispatch(Assign { piece: &mut piece[0], tiles: &tiles, dimension: d });
                Ok(())
            },
        )?;
        for piece in self.pieces.iter().filter(|piece| piece.changed > 0) {
            self.members.add(&piece.moved);
        }
        let relocated = self.fill_empty();
        self.inertia = self.pieces.iter().map(|piece| piece.inertia).sum();
        Ok(relocated || self.pieces.iter().any(|piece| piece.changed > 0))
    }

    /// Gives every empty cluster the point that is farthest from its centre and not alone there.
    ///
    /// There is one at a positive distance: fewer clusters than distinct points hold them all.
    fn fill_empty(&mut self) -> bool {
        let d = self.dimension;
        let empty: Vec<usize> = (0..self.k).filter(|&c| self.members.counts[c] == 0).collect();
        for &c in &empty {
            let mut farthest = (0, 0, -1.0);
            for (p, piece) in self.pieces.iter().enumerate() {
                for (i, (&distance, &label)) in piece.distances.iter().zip(&piece.labels).take(piece.count).enumerate()
                {
                    if distance > farthest.2 && self.members.counts[label as usize] > 1 {
                        farthest = (p, i, distance);
                    }
                }
            }
            let (p, i, distance) = farthest;
            let point: Vec<f64> = self.lanes.point(p * self.rows_per_piece + i).collect();
            let piece = &mut self.pieces[p];
            self.members.carry(piece.labels[i], c, point.iter().copied());
            piece.labels[i] = c as u32;
            piece.distances[i] = 0.0;
            piece.inertia -= distance;
            self.centers[c * d..(c + 1) * d].copy_from_slice(&point);
        }
        !empty.is_empty()
    }

    /// Moves centres to the means of their points; the sum of squared distances that they moved.
    fn update(&mut self) -> f64 {
        let mut shift = 0.0;
        let lines = self.centers.chunks_exact_mut(self.dimension).zip(self.members.sums.chunks_exact(self.dimension));
        for ((center, sums), &count) in lines.zip(&self.members.counts) {
            for (c, sum) in center.iter_mut().zip(sums) {
                let mean = sum / count as f64;
                shift += (mean - *c) * (mean - *c);
                *c = mean;
            }
        }
        shift
    }
}

/// Distances of a piece to candidates, as a type: [`pulp`] compiles it for each vector width.
struct Try<'a, 'b> {
    piece: &'a mut Piece<'b>,
    tiles: &'a [f64],
    dimension: usize,
}

impl pulp::WithSimd for Try<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { piece, tiles, dimension } = self;
        let count = tiles.len() / (TILE * dimension);
        let mut sums = vec![[[0.0; LANES]; TILE]; count];
        let blocks = piece.blocks.chunks_exact(LANES * dimension).zip(piece.distances.chunks_exact(LANES));
        for ((block, nearest), trials) in blocks.zip(piece.trials.chunks_exact_mut(count * TILE * LANES)) {
            for (m, tile) in tiles.chunks_exact(TILE * dimension).enumerate() {
                let distances = squared_distances(block, tile);
                for t in 0..TILE {
                    for l in 0..LANES {
                        let d = if distances[t][l] < nearest[l] { distances[t][l] } else { nearest[l] };
                        trials[(m * TILE + t) * LANES + l] = d;
                        sums[m][t][l] += d;
                    }
                }
            }
        }
        piece.potentials.extend(sums.iter().flatten().map(|lane| lane.iter().sum::<f64>()));
    }
}

/// Nearest centres of a piece, as a type for the same reason.
struct Assign<'a, 'b> {
    piece: &'a mut Piece<'b>,
    tiles: &'a [f64],
    dimension: usize,
}

impl pulp::WithSimd for Assign<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) {
        let Self { piece, tiles, dimension } = self;
        if piece.changed > 0 {
            piece.moved.clear();
        }
        piece.changed = 0;
        let mut inertia: Lane = [0.0; LANES];
        let blocks = piece.blocks.chunks_exact(LANES * dimension);
        let state = piece.labels.chunks_exact_mut(LANES).zip(piece.distances.chunks_exact_mut(LANES));
        for (b, (block, (labels, distances))) in blocks.zip(state).enumerate() {
            let (nearest, which) = nearest_center(block, tiles, dimension);
            distances.copy_from_slice(&nearest);
            let valid = LANES.min(piece.count - b * LANES);
            for l in 0..LANES {
                inertia[l] += if l < valid { nearest[l] } else { 0.0 };
            }
            let mut same = true;
            for l in 0..LANES {
                same &= u64::from(labels[l]) == which[l];
            }
            if same {
                continue;
            }
            for l in (0..valid).filter(|&l| u64::from(labels[l]) != which[l]) {
                let point = block.chunks_exact(LANES).map(|line| line[l]);
                piece.moved.carry(labels[l], which[l] as usize, point);
            }
            for (label, &new) in labels[..valid].iter_mut().zip(&which) {
                piece.changed += usize::from(*label != new as u32);
                *label = new as u32;
            }
        }
        piece.inertia = inertia.iter().sum();
    }
}

/// Squared distance and index of the nearest centre in each lane.
#[inline(always)]
fn nearest_center(block: &[f64], tiles: &[f64], dimension: usize) -> (Lane, [u64; LANES]) {
    let mut nearest = [f64::INFINITY; LANES];
    let mut which = [0_u64; LANES];
    for (m, tile) in tiles.chunks_exact(TILE * dimension).enumerate() {
        let distances = squared_distances(block, tile);
        for (t, distances) in distances.iter().enumerate() {
            for l in 0..LANES {
                let closer = distances[l] < nearest[l];
                nearest[l] = if closer { distances[l] } else { nearest[l] };
                which[l] = if closer { (m * TILE + t) as u64 } else { which[l] };
            }
        }
    }
    (nearest, which)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(n_clusters: usize) -> KMeansSettings {
        KMeansSettings { n_clusters, n_init: 3, max_iterations: 100, tolerance: 1e-4, seed: 1 }
    }

    fn cluster(points: &[f64], dimension: usize, n_clusters: usize) -> Result<KMeans> {
        k_means(points, dimension, &settings(n_clusters), &Exec::with_threads(1))
    }

    #[test]
    fn groups_on_a_line_are_found_and_numbered_by_their_first_point() {
        let points = [5.0, 0.0, 5.5, 0.5, 9.0, 0.25, 9.5];
        let found = cluster(&points, 1, 3).unwrap();
        assert_eq!(found.labels, [0, 1, 0, 1, 2, 1, 2]);
        assert_eq!(found.centers, [5.25, 0.25, 9.25]);
        assert!((found.inertia - 0.375).abs() < 1e-12);
        assert!(found.converged);
    }

    #[test]
    fn one_cluster_is_the_mean() {
        let found = cluster(&[1.0, 2.0, 3.0, 6.0], 2, 1).unwrap();
        assert_eq!((found.labels, found.centers), (vec![0, 0], vec![2.0, 4.0]));
    }

    #[test]
    fn every_distinct_point_can_have_its_cluster() {
        let points: Vec<f64> = (0..40).map(|i| f64::from(i % 20)).collect();
        let found = cluster(&points, 1, 20).unwrap();
        assert_eq!(found.inertia, 0.0);
        assert!(found.labels.iter().enumerate().all(|(i, &l)| l as usize == i % 20));
        let message = cluster(&points, 1, 21).unwrap_err().to_string();
        assert_eq!(message, "n_clusters: expected at most 20, the number of distinct points, got 21");
    }

    #[test]
    fn empty_clusters_get_the_farthest_points() {
        let exec = Exec::with_threads(1);
        let points = [0.0, 1.0, 2.0, 10.0, 11.0];
        let settings = settings(3);
        let frame = Frame::new(&points, 1, &exec).unwrap();
        let lanes = Lanes::new(&points, &frame, 1, 5, Some, &exec).unwrap();
        let problem = Problem::new(&lanes, 5, 1, &settings, &exec).unwrap();
        let mut start = Start::new(&problem);
        // Two centres so far away that nobody is nearest to them.
        start.centers = vec![0.0, 1e6, -1e6];
        start.assign(&exec).unwrap();
        assert!(start.members.counts.iter().all(|&c| c > 0));
        start.iterate(100, 0.0, &exec).unwrap();
        assert!(start.converged);
        assert!(start.members.counts.iter().all(|&c| c > 0));
    }

    #[test]
    fn far_groups_keep_their_structure() {
        // Two pairs of groups, 1e9 apart, each pair 1 apart.
        let points: Vec<f64> =
            (0..40).map(|i| f64::from(i % 4 / 2) * 1e9 + f64::from(i % 2) + 0.01 * f64::from(i / 4)).collect();
        let found = cluster(&points, 1, 4).unwrap();
        assert!(found.labels.iter().enumerate().all(|(i, &l)| l as usize == i % 4), "{:?}", found.labels);
    }

    #[test]
    fn bad_settings_are_refused() {
        assert!(cluster(&[1.0, 2.0], 1, 0).unwrap_err().to_string().contains("n_clusters: expected at least 1"));
        assert!(cluster(&[1.0, 2.0], 1, 3).unwrap_err().to_string().contains("at most 2, the number of points, got 3"));
        assert!(cluster(&[1.0, 2.0, 3.0], 2, 1).is_err());
        assert!(cluster(&[1.0, f64::INFINITY], 1, 1).unwrap_err().to_string().contains("got inf at row 1"));
    }
}
