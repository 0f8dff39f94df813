//! An index of the training points: cells of near points, and for each cell the points that reach it.
//!
//! Points are divided into cells of about 512 points around centres. A new point `x` in cell `c` is
//! compared with
//!
//! ```text
//! the points of c,
//! every point j outside c with  |x_j - centre of c|^2  <= ratio * r_j^2,       j reaches c
//! the points of the cells b with  |x - centre of b|^2  <= ratio * s^2,         x reaches b
//! ```
//!
//! where `r_j` is the radius of `j` and `s` the distance of `x` to the last of its `k + 1` nearest so
//! far. The second line is stored: it finds points far away with a large radius, which the third line
//! would miss. The decisions depend on `x` and the index alone.
//!
//! **The ratio is measured.** Some training points, the probes, take the place of new points. Their
//! edges are known from a comparison with all others. Each edge requires a ratio; the smallest ratio
//! is taken for which the mean share of found edges exceeds the recall by two standard errors.
//!
//! In a simulation of round clusters of 50 dimensions visits of `x` alone take a seventh more comparisons.
//! Memory: the points in single precision and the lists, about 20 MB for 200,000 such points. Time: O(N^2 d / 512).

use super::centres::{Centres, first_smallest};
use super::edges::Reach;
use super::query::widened;
use crate::graph::neighbours::approximate::cells::find_centres;
use crate::graph::neighbours::approximate::cloud::Cloud;
use crate::graph::neighbours::approximate::compare::Comparison;
use crate::graph::neighbours::approximate::smallest::by_value;
use crate::graph::neighbours::metric::{Metric, dense_key, sum_terms};
use crate::graph::neighbours::points::{DensePoints, Features};
use crate::graph::neighbours::scale::{Ranges, extreme_exponent, normalize};
use crate::graph::neighbours::screen::{Centred, fill_rows, gamma, is_fine_enough};
use crate::ground::memory;
use crate::{Error, Exec, Real, Result, Stream};

/// Mean number of points in a cell.
const POINTS_PER_CELL: usize = 512;
/// Seeds of the sample for the centres and of the probes.
const CENTRES: u64 = 1;
const PROBES: u64 = 2;
/// Training points that take the place of new points.
const N_PROBES: usize = 1024;
/// Points that one thread compares with the probes, or with all centres.
const POINTS_PER_PIECE: usize = 1 << 14;
const POINTS_PER_TILE: usize = 256;
/// Points whose cells are listed at a time.
const POINTS_PER_TURN: usize = 1 << 16;
/// Standard errors by which the estimate must exceed the recall.
const CERTAINTY: f64 = 2.0;
/// An index that compares more than this share of all pairs is not worth it. (50 columns: a pair takes
/// 3.4 ns, and 2.9 ns in a comparison with all.)
const LARGEST_SHARE: f64 = 0.5;
/// New points are far if their squared distance from the mean exceeds this multiple of the largest one
/// in training. Products in single precision cannot order the training points from there.
const FAR: f32 = 64.0;

/// How an index is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IndexSettings {
    /// Number of neighbours in training.
    pub k: usize,
    /// Share of the edges of a new point to find.
    pub recall: f64,
    /// Mean number of points in a cell.
    pub points_per_cell: usize,
    /// Largest share of the training points that a new point may be compared with on average.
    pub largest_share: f64,
}

impl IndexSettings {
    /// The settings of all but tests.
    pub fn new(k: usize, recall: f64) -> Self {
        Self { k, recall, points_per_cell: POINTS_PER_CELL, largest_share: LARGEST_SHARE }
    }
}

/// Cells of training points, for the edges of new points.
pub struct CrossIndex {
    pub(super) metric: Metric,
    pub(super) k: usize,
    centred: Centred,
    /// The points, centred and scaled, cell by cell; squared norms are lowered by their errors.
    pub(super) cloud: Cloud<f32>,
    /// The index of the point at each place.
    pub(super) order: Vec<u32>,
    /// A squared distance above this is outside the radius of the point at each place.
    pub(super) reach: Vec<f32>,
    pub(super) centres: Centres,
    /// Places of the points of each cell: those from `starts[c]` to `starts[c + 1]`.
    starts: Vec<usize>,
    /// For each cell, ascending places of the points of other cells that reach it.
    visitors: Vec<Vec<u32>>,
    pub(super) ratio: f64,
    recall: f64,
    share: f64,
    largest_norm: f32,
}

/// Training points whose coordinates are used as given, or as rows of unit length.
#[derive(Clone, Copy)]
pub(super) struct TrainingRows<'a, T> {
    points: DensePoints<'a, T>,
}

impl<'a, T: Real> TrainingRows<'a, T> {
    /// None if the rows are sparse, or their metric has no bounds by products.
    pub fn new(features: Features<'a, T>, metric: Metric) -> Option<Self> {
        match features {
            Features::Dense { data, dimension } if metric.is_squared() && dimension > 0 => {
                Some(Self { points: DensePoints { data, dimension, metric } })
            }
            _ => None,
        }
    }

    pub fn len(&self) -> usize {
        self.points.data.len() / self.points.dimension
    }

    pub fn dimension(&self) -> usize {
        self.points.dimension
    }

    fn is_normalized(&self) -> bool {
        self.points.metric.is_scale_free()
    }

    /// A row of unit length.
    #[inline(always)]
    fn normalized(&self, i: usize, row: &mut Vec<f64>) -> Result<()> {
        row.clear();
        row.extend(self.points.row(i).iter().map(|v| v.to_f64()));
        normalize(row, self.points.metric, i)
    }

    /// The exact key of a new point, which has unit length if these rows have.
    #[inline(always)]
    pub fn key(&self, new: &[f64], point: u32, row: &mut Vec<f64>) -> Result<f64> {
        let point = point as usize;
        if !self.is_normalized() {
            return Ok(dense_key(self.points.metric, new, self.points.row(point)));
        }
        self.normalized(point, row)?;
        Ok(dense_key(self.points.metric, new, row))
    }

    #[inline(always)]
    pub fn prefetch(&self, point: u32) {
        let d = self.points.dimension;
        crate::ground::prefetch::prefetch(self.points.data, point as usize * d, d);
    }

    /// The points, centred and scaled; None if products in single precision cannot separate near points.
    fn enter(&self, exec: &Exec) -> Result<Option<(Centred, Vec<f32>)>> {
        let d = self.dimension();
        let range = Ranges::new(self.points.data, d, exec)?;
        if !self.is_normalized() {
            if extreme_exponent(range.widest()) != 0 {
                return Ok(None);
            }
            let centred = Centred::new(&self.points, exec)?;
            let is_fine = is_fine_enough::<f32>(&self.points, |i| centred.squared_norm(i));
            let write = |i: usize, row: &mut [f32]| centred.enter(self.points.row(i), row);
            let data = if is_fine { Some(fill_rows(self.len(), d, write, exec)?) } else { None };
            return Ok(data.map(|data| (centred, data)));
        }
        // Any mean serves, so it is that of rounded rows, without a copy in double precision.
        let mut data: Vec<f32> = memory::zeros(self.len() * d)?;
        let write = |each: &(dyn Fn(&[f64], &mut [f32]) + Sync), data: &mut [f32]| {
            exec.for_pieces(data, POINTS_PER_TILE * d, Vec::new, |first, piece, row: &mut Vec<f64>| {
                for (r, out) in piece.chunks_exact_mut(d).enumerate() {
                    self.normalized(first / d + r, row)?;
                    each(row, out);
                }
                Ok::<(), Error>(())
            })
        };
        write(&|row, out| out.iter_mut().zip(row).for_each(|(out, &v)| *out = v as f32), &mut data)?;
        let points = DensePoints { data: &data, dimension: d, metric: Metric::Euclidean };
        let centred = Centred::new(&points, exec)?;
        if !is_fine_enough::<f32>(&points, |i| centred.squared_norm(i)) {
            return Ok(None);
        }
        write(&|row, out| centred.enter(row, out), &mut data)?;
        Ok(Some((centred, data)))
    }
}

impl CrossIndex {
    /// Makes the index; None if no index reaches the recall with enough fewer comparisons.
    pub fn new<T: Real>(
        training: Features<'_, T>,
        reach: Reach<'_>,
        metric: Metric,
        settings: IndexSettings,
        exec: &Exec,
    ) -> Result<Option<Self>> {
        let n = training.n_rows();
        let IndexSettings { k, recall, points_per_cell, largest_share } = settings;
        if k < 1 || k >= n {
            return Err(Error::Invalid(format!("expected between 1 and {} neighbours, got {k}", n.max(1) - 1)));
        }
        Error::check_size("radii", n, reach.radii.len())?;
        let Some(rows) = TrainingRows::new(training, metric) else { return Ok(None) };
        if points_per_cell == 0 || points_per_cell > n / 2 || k + 2 > n || recall >= 1.0 {
            return Ok(None);
        }
        let Some((centred, data)) = rows.enter(exec)? else { return Ok(None) };
        let given = lowered(data, rows.dimension(), exec)?;
        let found = find_centres(&given, points_per_cell, CENTRES, exec)?;
        let centres = Centres::new(&found);
        let (order, starts) = cells_of(&given, &centres, exec)?;
        let cloud = reordered(&given, &order, exec)?;
        drop(given);
        let largest_norm = cloud.norms().iter().fold(0.0_f32, |largest, &norm| largest.max(norm));
        let mut index = Self {
            metric,
            k,
            centred,
            cloud,
            order,
            reach: Vec::new(),
            centres,
            starts,
            visitors: Vec::new(),
            ratio: 0.0,
            recall: 0.0,
            share: 0.0,
            largest_norm,
        };
        index.reach = index.order.iter().map(|&j| index.bound(widened(reach.radii[j as usize]))).collect();
        let mut probes = index.probes(exec)?;
        if !index.choose_ratio(&found, &probes, recall, exec)? || index.share > largest_share {
            return Ok(None);
        }
        index.list_visitors(exec)?;
        // A new point visits cells by the last of its nearest in its own cell, not by the last of all. That is
        // farther, so a smaller ratio finds as many edges.
        index.measure_own_cells(&mut probes, exec)?;
        index.choose_ratio(&found, &probes, recall, exec)?;
        index.list_visitors(exec)?;
        Ok(Some(index))
    }

    /// The share of the edges of the probes that is found.
    pub fn recall(&self) -> f64 {
        self.recall
    }

    /// The mean share of the training points that a probe is compared with.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Number of training points.
    pub fn n_points(&self) -> usize {
        self.order.len()
    }

    /// Number of coordinates.
    pub fn dimension(&self) -> usize {
        self.cloud.dimension()
    }

    /// Places of the points of a cell.
    pub(super) fn cell(&self, c: usize) -> std::ops::Range<usize> {
        self.starts[c]..self.starts[c + 1]
    }

    /// Ascending places of the points of other cells that reach a cell.
    pub(super) fn visitors(&self, c: usize) -> &[u32] {
        &self.visitors[c]
    }

    /// Places of the points that a new point of a cell is compared with first.
    pub(super) fn compared(&self, c: usize) -> Vec<u32> {
        self.cell(c).map(|place| place as u32).chain(self.visitors[c].iter().copied()).collect()
    }

    /// New points, centred and scaled.
    pub(super) fn enter(&self, rows: &[f64], exec: &Exec) -> Result<Cloud<f32>> {
        let d = self.dimension();
        let write = |i: usize, row: &mut [f32]| self.centred.enter(&rows[i * d..(i + 1) * d], row);
        lowered(fill_rows(rows.len() / d, d, write, exec)?, d, exec)
    }

    /// True if products cannot order the training points by their distance from this point.
    pub(super) fn is_far(&self, norm: f32) -> bool {
        norm.is_nan() || norm > FAR * self.largest_norm
    }

    /// A lowered squared distance above this belongs to a larger distance.
    pub(super) fn bound(&self, distance: f64) -> f32 {
        let d = self.dimension();
        let scaled = self.metric.largest_key(distance) * self.centred.key_scale();
        let floor = 8.0 * d as f64 * f64::from(f32::MIN_POSITIVE);
        (scaled * (1.0 + gamma::<f32>(d)) + floor) as f32
    }

    /// The largest squared distance to a centre at which a distance reaches it.
    pub(super) fn limit(&self, distance: f64) -> f32 {
        (self.ratio * self.metric.largest_key(distance) * self.centred.key_scale()) as f32
    }

    /// Draws the probes.
    fn probes(&self, exec: &Exec) -> Result<Probes> {
        let (n, mut stream) = (self.n_points(), Stream::new(PROBES, 0));
        let mut places: Vec<u32> = (0..N_PROBES.min(n)).map(|_| stream.below(n) as u32).collect();
        places.sort_unstable();
        places.dedup();
        let cloud = self.cloud.some(&places);
        let edges = self.edges_of(&places, &cloud, exec)?;
        let mut cell_of = vec![0_u32; n];
        for c in 0..self.centres.len() {
            cell_of[self.cell(c)].fill(c as u32);
        }
        Ok(Probes { places, cloud, edges, cell_of })
    }

    /// Sets the last of the nearest of each probe to that among the points of its cell and those that reach it.
    fn measure_own_cells(&self, probes: &mut Probes, exec: &Exec) -> Result<()> {
        let Probes { places, cloud, edges, cell_of } = probes;
        let last = exec.map(places.len(), |p| {
            let cell = cell_of[places[p] as usize] as usize;
            let columns = self.cloud.some(&self.compared(cell));
            let mut comparison = Comparison::new();
            // One more, because the probe is its own nearest.
            let row = cloud.some(&[p as u32]);
            let near = comparison.nearest(&row, &columns, 0..columns.len(), self.k + 2, &[f32::INFINITY], exec)?;
            let near = near[0].found();
            let largest = near.iter().fold(f32::NEG_INFINITY, |largest, &(value, _)| largest.max(value));
            Ok(if near.len() < self.k + 2 { f32::INFINITY } else { (largest + cloud.norms()[p]).max(0.0) })
        })?;
        edges.iter_mut().zip(last).for_each(|(edges, last)| edges.last = last);
        Ok(())
    }

    /// Chooses the ratio by the edges of the probes; returns false if the recall cannot be reached.
    fn choose_ratio(&mut self, centres: &Cloud<f32>, probes: &Probes, recall: f64, exec: &Exec) -> Result<bool> {
        let n = self.n_points();
        let Probes { places: drawn, cloud: probes, edges, cell_of } = probes;
        let required: Vec<Vec<f64>> = exec.map(drawn.len(), |p| {
            let (place, edges) = (drawn[p], &edges[p]);
            let own = cell_of[place as usize];
            let ratio = |&j: &u32| {
                let cell = cell_of[j as usize];
                if cell == own {
                    return 0.0;
                }
                let there = f64::from(self.cloud.squared_distance_to(place, centres, cell));
                let back = f64::from(self.cloud.squared_distance_to(j, centres, own));
                (there / f64::from(edges.last)).min(back / f64::from(self.reach[j as usize]))
            };
            Ok(edges.points.iter().map(ratio).collect())
        })?;
        let mut ratios: Vec<f64> = required.iter().flatten().copied().filter(|ratio| ratio.is_finite()).collect();
        ratios.sort_unstable_by(f64::total_cmp);
        let estimate = |ratio: f64| {
            let shares = required
                .iter()
                .map(|required| required.iter().filter(|&&each| each <= ratio).count() as f64 / required.len() as f64);
            mean_and_error(shares)
        };
        let is_enough = |&ratio: &f64| {
            let (share, error) = estimate(ratio);
            share - CERTAINTY * error >= recall
        };
        let Some(&ratio) = ratios.get(ratios.partition_point(|ratio| !is_enough(ratio))) else { return Ok(false) };
        // The distances above were computed in another order.
        self.ratio = ratio * (1.0 + 1e-4);
        self.recall = estimate(ratio).0;
        let compared = exec.map(drawn.len().div_ceil(POINTS_PER_TILE), |piece| {
            let range = piece * POINTS_PER_TILE..((piece + 1) * POINTS_PER_TILE).min(drawn.len());
            let mut values = Vec::new();
            let lines = self.centres.distances(probes, range.clone(), &mut values);
            let mut compared = 0;
            for (p, line) in range.zip(lines.chunks_exact(self.centres.len())) {
                let own = cell_of[drawn[p] as usize] as usize;
                let within = |limit: f64| {
                    let limit = (self.ratio * limit) as f32;
                    line.iter().enumerate().filter(move |&(c, &d)| c != own && d <= limit).map(|(c, _)| c)
                };
                let visited: usize = within(f64::from(edges[p].last)).map(|c| self.cell(c).len()).sum();
                // Every training point reaches as many cells as this one, with the points of a mean cell.
                let reached = within(f64::from(self.reach[drawn[p] as usize])).count();
                compared += self.cell(own).len() + visited + reached * n / self.centres.len();
            }
            Ok(compared)
        })?;
        self.share = compared.into_iter().sum::<usize>() as f64 / (drawn.len() * n) as f64;
        Ok(true)
    }

    /// The edges of training points to the others, by products.
    fn edges_of(&self, drawn: &[u32], probes: &Cloud<f32>, exec: &Exec) -> Result<Vec<ProbeEdges>> {
        let n = self.n_points();
        let thresholds = vec![f32::INFINITY; drawn.len()];
        let parts = exec.map(n.div_ceil(POINTS_PER_PIECE), |piece| {
            let range = piece * POINTS_PER_PIECE..((piece + 1) * POINTS_PER_PIECE).min(n);
            let places: Vec<u32> = range.clone().map(|place| place as u32).collect();
            let columns = self.cloud.some(&places);
            let mut comparison = Comparison::new();
            comparison.search_reverse(&columns, &self.reach[range.clone()]);
            // One more, because each point is its own nearest.
            let found = comparison.nearest(probes, &columns, 0..columns.len(), self.k + 2, &thresholds, exec)?;
            let nearest: Vec<Vec<(f32, u32)>> = found.iter_mut().map(|near| near.found().to_vec()).collect();
            let shift = |found: &(f32, u32)| (found.0, found.1 + range.start as u32);
            let nearest: Vec<Vec<(f32, u32)>> = nearest.iter().map(|near| near.iter().map(shift).collect()).collect();
            let back = comparison.reverse_pairs.iter().map(|&(row, place)| (row, place + range.start as u32));
            Ok((nearest, back.collect::<Vec<_>>()))
        })?;
        let mut reverse = vec![Vec::new(); drawn.len()];
        for &(row, place) in parts.iter().flat_map(|(_, back)| back) {
            reverse[row as usize].push(place);
        }
        let edges = |(p, reverse): (usize, Vec<u32>)| {
            let mut near: Vec<(f32, u32)> = parts.iter().flat_map(|(nearest, _)| &nearest[p]).copied().collect();
            near.retain(|&(_, place)| place != drawn[p]);
            near.sort_unstable_by(by_value);
            near.truncate(self.k + 1);
            let last = near.last().map_or(0.0, |&(value, _)| value + probes.norms()[p]).max(0.0);
            let mut points: Vec<u32> = near.into_iter().map(|(_, place)| place).chain(reverse).collect();
            points.sort_unstable();
            points.dedup();
            points.retain(|&place| place != drawn[p]);
            ProbeEdges { points, last }
        };
        Ok(reverse.into_iter().enumerate().map(edges).collect())
    }

    /// Fills the lists of points that reach each cell.
    fn list_visitors(&mut self, exec: &Exec) -> Result<()> {
        let mut visitors = vec![Vec::new(); self.centres.len()];
        // In turns, so that not all pairs exist twice.
        for turn in (0..self.n_points()).step_by(POINTS_PER_TURN) {
            let points = turn..(turn + POINTS_PER_TURN).min(self.n_points());
            let lists = exec.map(points.len().div_ceil(POINTS_PER_TILE), |tile| {
                let start = points.start + tile * POINTS_PER_TILE;
                let (range, mut values, mut visits) =
                    (start..(start + POINTS_PER_TILE).min(points.end), Vec::new(), Vec::new());
                let lines = self.centres.distances(&self.cloud, range.clone(), &mut values);
                for (place, line) in range.zip(lines.chunks_exact(self.centres.len())) {
                    let limit = (self.ratio * f64::from(self.reach[place])) as f32;
                    let reached =
                        line.iter().enumerate().filter(|&(c, &d)| d <= limit && !self.cell(c).contains(&place));
                    visits.extend(reached.map(|(c, _)| (c as u32, place as u32)));
                }
                Ok(visits)
            })?;
            lists.into_iter().flatten().for_each(|(c, place)| visitors[c as usize].push(place));
        }
        self.visitors = visitors;
        Ok(())
    }
}

/// Training points that take the place of new points.
struct Probes {
    places: Vec<u32>,
    cloud: Cloud<f32>,
    edges: Vec<ProbeEdges>,
    /// The cell at each place.
    cell_of: Vec<u32>,
}

/// The edges of a probe.
struct ProbeEdges {
    /// Places of the other ends.
    points: Vec<u32>,
    /// Squared distance of the last of the nearest.
    last: f32,
}

/// Rows with squared norms that are lowered by the errors of products.
fn lowered(data: Vec<f32>, dimension: usize, exec: &Exec) -> Result<Cloud<f32>> {
    let factor = 1.0 - 2.0 * gamma::<f32>(dimension);
    let write = |i: usize, norm: &mut [f32]| {
        let row = &data[i * dimension..(i + 1) * dimension];
        norm[0] = (factor * sum_terms(dimension, |k| f64::from(row[k]) * f64::from(row[k]))) as f32;
    };
    let norms = fill_rows(data.len() / dimension, 1, write, exec)?;
    Ok(Cloud::from_parts(data, norms, dimension))
}

/// The points with point `order[i]` at place `i`.
fn reordered(cloud: &Cloud<f32>, order: &[u32], exec: &Exec) -> Result<Cloud<f32>> {
    let d = cloud.dimension();
    let data = fill_rows(order.len(), d, |i, row: &mut [f32]| row.copy_from_slice(cloud.row(order[i])), exec)?;
    lowered(data, d, exec)
}

/// The points cell by cell, each in the cell of its nearest centre, and the first place of each cell.
fn cells_of(cloud: &Cloud<f32>, centres: &Centres, exec: &Exec) -> Result<(Vec<u32>, Vec<usize>)> {
    let labels = nearest_cells(cloud, centres, exec)?;
    let mut starts = vec![0; centres.len() + 1];
    labels.iter().for_each(|&cell| starts[cell as usize + 1] += 1);
    (0..centres.len()).for_each(|c| starts[c + 1] += starts[c]);
    let (mut next, mut order) = (starts.clone(), vec![0; labels.len()]);
    for (point, &cell) in labels.iter().enumerate() {
        order[next[cell as usize]] = point as u32;
        next[cell as usize] += 1;
    }
    Ok((order, starts))
}

/// The cell of each point.
pub(super) fn nearest_cells(cloud: &Cloud<f32>, centres: &Centres, exec: &Exec) -> Result<Vec<u32>> {
    let mut labels = vec![0; cloud.len()];
    exec.for_pieces(&mut labels, POINTS_PER_TILE, Vec::new, |first, piece, values| {
        let lines = centres.distances(cloud, first..first + piece.len(), values);
        for (label, line) in piece.iter_mut().zip(lines.chunks_exact(centres.len())) {
            *label = first_smallest(line) as u32;
        }
        Ok::<(), Error>(())
    })?;
    Ok(labels)
}

/// Mean and standard error.
fn mean_and_error(shares: impl Iterator<Item = f64>) -> (f64, f64) {
    let (count, sum, squares) =
        shares.fold((0.0, 0.0, 0.0), |(count, sum, squares), x| (count + 1.0, sum + x, squares + x * x));
    let mean = sum / count;
    (mean, ((squares / count - mean * mean).max(0.0) / count).sqrt())
}
