//! Mean silhouette.
//!
//! ```text
//! s_i = (b_i - a_i) / max(a_i, b_i)
//! a_i = mean distance to the other points of its cluster
//! b_i = smallest mean distance to another cluster
//! ```
//!
//! `s_i` is 0 for a point that is alone in its cluster and if all distances are 0. Cost: O(n^2 d);
//! for sparse rows O(n^2) and the products `X X^T` row by row. Memory: O(n) a thread. Points are
//! sorted by cluster, so sums of distances run over consecutive places. A [`Sample`] is recommended
//! above 10,000 points.
//!
//! Reference: Rousseeuw 1987, doi:10.1016/0377-0427(87)90125-7.

use super::partition::Partition;
use super::points::FramedPoints;
use crate::graph::neighbours::{Features, Metric, sparse_key};
use crate::ground::csr::RowBlock;
use crate::ground::frame::Frame;
use crate::ground::lanes::{LANES, Lanes, TILE, empty_tiles, put, squared_distances};
use crate::{Csr, Error, Exec, Real, Result, Stream};

/// Queries that one thread processes at a time.
const QUERIES_PER_PIECE: usize = 16 * TILE;
/// If `|x|^2 + |y|^2 - 2 x.y` is below this fraction of the norms, its tenth digit could be wrong.
const CANCELLED: f64 = 1e-4;

/// A random sample of the points; distances are taken within the sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Number of points.
    pub size: usize,
    /// Seed of the draw.
    pub seed: u64,
}

impl Sample {
    /// The sampled points of `n`, distinct and ascending.
    pub fn rows(&self, n: usize) -> Result<Vec<u32>> {
        if self.size == 0 || self.size > n {
            let got = self.size;
            return Err(Error::Invalid(format!("sample_size: expected between 1 and {n}, the samples, got {got}")));
        }
        let mut random = Stream::new(self.seed, 0);
        let mut rows: Vec<u32> = (0..n as u32).collect();
        for i in 0..self.size {
            rows.swap(i, i + random.below(n - i));
        }
        rows.truncate(self.size);
        rows.sort_unstable();
        Ok(rows)
    }
}

/// Computes the mean silhouette of `labels`, all of `0..n_labels`, over all points or a sample.
///
/// The score is between -1 and 1; larger is better.
pub fn silhouette<T: Real>(
    points: Features<'_, T>,
    labels: &[u32],
    n_labels: usize,
    sample: Option<Sample>,
    exec: &Exec,
) -> Result<f64> {
    let points = FramedPoints::new(points, exec)?;
    Error::check_size("labels", points.len(), labels.len())?;
    let mut partition = Partition::new(labels, n_labels)?;
    let chosen = match sample {
        None => (0..labels.len() as u32).collect(),
        Some(sample) => {
            let rows = sample.rows(labels.len())?;
            partition = part_of(&rows, labels, n_labels)?;
            rows
        }
    };
    let n = chosen.len();
    let sums = match &points {
        FramedPoints::Dense { data, frame, dimension } => dense(data, frame, *dimension, &chosen, &partition, exec),
        FramedPoints::Sparse { rows, scale } => sparse(rows, *scale, &chosen, &partition, exec),
    }?;
    Ok(sums.into_iter().sum::<f64>() / n as f64)
}

/// The partition of some points without the clusters that do not occur.
fn part_of(rows: &[u32], labels: &[u32], n_labels: usize) -> Result<Partition> {
    let mut present = vec![false; n_labels];
    rows.iter().for_each(|&i| present[labels[i as usize] as usize] = true);
    let (mut numbers, mut count) = (vec![0; n_labels], 0);
    for (number, is_present) in numbers.iter_mut().zip(present) {
        *number = count as u32;
        count += usize::from(is_present);
    }
    let part: Vec<u32> = rows.iter().map(|&i| numbers[labels[i as usize] as usize]).collect();
    if count < 2 || count >= rows.len() {
        let expected = format!("a sample with between 2 and {} classes", rows.len().saturating_sub(1));
        return Err(Error::Invalid(format!("sample_size: expected {expected}, got {count} among {}", rows.len())));
    }
    Partition::new(&part, count)
}

/// The silhouette of a point of cluster `own` from its sums of distances to all clusters.
fn of_point(sums: impl Iterator<Item = f64>, own: usize, partition: &Partition) -> f64 {
    let (mut a, mut b) = (0.0, f64::INFINITY);
    for (c, sum) in sums.enumerate() {
        let count = partition.points(c).len();
        if c == own {
            if count == 1 {
                return 0.0;
            }
            a = sum / (count - 1) as f64;
        } else {
            b = b.min(sum / count as f64);
        }
    }
    let larger = a.max(b);
    if larger == 0.0 { 0.0 } else { (b - a) / larger }
}

/// Sums of silhouettes over pieces of the points.
fn dense<T: Real>(
    data: &[T],
    frame: &Frame,
    dimension: usize,
    chosen: &[u32],
    partition: &Partition,
    exec: &Exec,
) -> Result<Vec<f64>> {
    // Every cluster begins a block of lanes; the last one is padded.
    let k = partition.len();
    let mut places: Vec<Option<u32>> = Vec::new();
    let mut clusters = Vec::with_capacity(k);
    for c in 0..k {
        let first = places.len();
        places.extend(partition.points(c).iter().map(|&i| Some(chosen[i as usize])));
        clusters.push((first, places.len() - first));
        places.resize(places.len().next_multiple_of(LANES), None);
    }
    let row_of = |place: usize| places[place].map(|row| row as usize);
    let lanes = Lanes::new(data, frame, dimension, places.len(), row_of, exec)?;
    let queries: Vec<(usize, usize)> = clusters
        .iter()
        .enumerate()
        .flat_map(|(c, &(first, count))| (first..first + count).map(move |i| (i, c)))
        .collect();
    let groups: Vec<&[(usize, usize)]> = queries.chunks(QUERIES_PER_PIECE).collect();
    exec.map(groups.len(), |g| {
        let mut total = 0.0;
        for queries in groups[g].chunks(TILE) {
            exec.check()?;
            let mut tile = empty_tiles(TILE, dimension);
            // Unused places repeat a point: roots of infinities are slow.
            for t in 0..TILE {
                put(&mut tile, t, lanes.point(queries[t.min(queries.len() - 1)].0));
            }
            let sums: Vec<[f64; TILE]> = clusters
                .iter()
                .map(|&(first, count)| sum_distances(lanes.blocks(first, count), count, &tile, dimension))
                .collect();
            for (t, &(_, own)) in queries.iter().enumerate() {
                total += of_point(sums.iter().map(|s| s[t]), own, partition);
            }
        }
        Ok(total)
    })
}

/// Sums of distances from the points of a tile to those of some blocks. A type instead of a
/// closure: [`pulp`] compiles a type for each vector width.
#[pulp::with_simd(sum_distances = pulp::Arch::new())]
#[inline(always)]
fn sum_distances_simd<S: pulp::Simd>(
    _: S,
    blocks: &[f64],
    count: usize,
    tile: &[f64],
    dimension: usize,
) -> [f64; TILE] {
    let mut sums = [[0.0; LANES]; TILE];
    for (b, block) in blocks.chunks_exact(LANES * dimension).enumerate() {
        let distances = squared_distances(block, tile);
        let valid = LANES.min(count - b * LANES);
        for t in 0..TILE {
            for l in 0..LANES {
                sums[t][l] += if l < valid { distances[t][l].sqrt() } else { 0.0 };
            }
        }
    }
    sums.map(|lane| lane.iter().sum())
}

/// As [`dense`] for sparse rows: products with all other rows through the columns of a row.
fn sparse<T: Real>(rows: &Csr<T>, scale: f64, chosen: &[u32], partition: &Partition, exec: &Exec) -> Result<Vec<f64>> {
    let k = partition.len();
    let mut sorted: RowBlock<f64> = RowBlock::default();
    let mut owners = Vec::with_capacity(chosen.len());
    for c in 0..k {
        for &i in partition.points(c) {
            let start = sorted.indices.len();
            let (columns, values) = rows.row(chosen[i as usize] as usize);
            columns.iter().zip(values).for_each(|(&j, v)| sorted.push(j, scale * v.to_f64()));
            sorted.end_row(start);
            owners.push(c);
        }
    }
    let rows = Csr::from_row_blocks(rows.n_cols(), vec![sorted])?;
    let columns = rows.transpose()?;
    let n = rows.n_rows();
    let norms: Vec<f64> = (0..n).map(|i| rows.row(i).1.iter().map(|v| v * v).sum()).collect();
    let mut sums = vec![0.0; n.div_ceil(QUERIES_PER_PIECE)];
    exec.for_pieces(
        &mut sums,
        1,
        || (vec![0.0; n], vec![0.0; n]),
        |piece, sum, (products, distances)| -> Result<()> {
            for i in piece * QUERIES_PER_PIECE..((piece + 1) * QUERIES_PER_PIECE).min(n) {
                exec.check()?;
                let (own_columns, own_values) = rows.row(i);
                products.fill(0.0);
                for (&j, v) in own_columns.iter().zip(own_values) {
                    let (others, values) = columns.row(j as usize);
                    others.iter().zip(values).for_each(|(&o, w)| products[o as usize] += v * w);
                }
                let mut cancelled = distances_by_products(products, &norms, norms[i], distances);
                for o in 0..n {
                    if cancelled == 0 {
                        break;
                    }
                    if is_cancelled(norms[i] + norms[o], products[o]) {
                        cancelled -= 1;
                        distances[o] = sparse_key(Metric::Euclidean, (own_columns, own_values), rows.row(o)).sqrt();
                    }
                }
                let mut first = 0;
                let of_clusters = (0..k).map(|c| {
                    let count = partition.points(c).len();
                    first += count;
                    distances[first - count..first].iter().sum()
                });
                sum[0] += of_point(of_clusters, owners[i], partition);
            }
            Ok(())
        },
    )?;
    Ok(sums)
}

#[inline(always)]
fn is_cancelled(norms: f64, product: f64) -> bool {
    norms - 2.0 * product <= CANCELLED * norms
}

/// Distances by norms and products; returns the number of cancelled ones.
#[pulp::with_simd(distances_by_products = pulp::Arch::new())]
#[inline(always)]
fn distances_by_products_simd<S: pulp::Simd>(
    _: S,
    products: &[f64],
    norms: &[f64],
    own: f64,
    distances: &mut [f64],
) -> u64 {
    let mut cancelled = 0;
    for ((distance, &norm), &product) in distances.iter_mut().zip(norms).zip(products) {
        let norms = own + norm;
        cancelled += u64::from(is_cancelled(norms, product));
        *distance = (norms - 2.0 * product).max(0.0).sqrt();
    }
    cancelled
}
