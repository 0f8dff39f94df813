//! Test data: points, graphs, walks and weights as functions of a seed.

use std::sync::Arc;

use mdt_core::graph::affinity::{Bandwidths, Kernel, Symmetrize, symmetric_affinity};
use mdt_core::graph::neighbours::{Features, Method, Metric, NeighbourTable, nearest_neighbours};
use mdt_core::ground::csr::Csr;
use mdt_core::ground::exec::Exec;
use mdt_core::{Real, Transition};

/// The splitmix64 generator.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform on `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// `len` uniform numbers.
    pub fn block<T: Real>(&mut self, len: usize) -> Vec<T> {
        (0..len).map(|_| T::from_f64(self.unit())).collect()
    }
}

/// The directed graph of a table.
pub fn graph(table: &NeighbourTable) -> Csr<f64> {
    let n = table.nearest_positive.len();
    let mut entries: Vec<(u32, f64)> = table.indices.iter().copied().zip(table.distances.iter().copied()).collect();
    entries.chunks_mut(table.k).for_each(|row| row.sort_by_key(|e| e.0));
    let (indices, values) = entries.into_iter().unzip();
    Csr::new(n, (0..=n).map(|i| (i * table.k) as u64).collect(), indices, values).unwrap()
}

/// A directed graph without self-loops and with at most `k` edges a row; some distances are 0, and
/// the directions of an edge may differ.
pub fn directed_graph(n: usize, k: usize, seed: u64) -> Csr<f64> {
    let mut random = Random(seed);
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n {
        let mut row: Vec<u32> = (0..k).map(|_| random.below(n) as u32).filter(|&j| j as usize != i).collect();
        row.sort_unstable();
        row.dedup();
        values.extend(row.iter().map(|_| (3.0 * random.unit() - 0.1).max(0.0)));
        indices.extend(row);
        indptr.push(indices.len() as u64);
    }
    Csr::new(n, indptr, indices, values).unwrap()
}

/// A reversible walk on random points of the plane.
pub fn reversible<T: Real>(n: usize, k: usize, seed: u64) -> Transition<T> {
    let exec = Exec::with_threads(1);
    let data: Vec<f64> = Random(seed).block(2 * n);
    let points = Features::Dense { data: &data, dimension: 2 };
    let table = nearest_neighbours(points, k.min(n - 1), Metric::Euclidean, Method::Auto, &exec).unwrap();
    let width = 1.0 / (n as f64).sqrt();
    let kernel = Kernel::Squared(Bandwidths::Common(width));
    let affinity = symmetric_affinity(graph(&table), kernel, 1.0, Symmetrize::Mean, &exec).unwrap();
    Transition::from_symmetric(affinity, 0.0, &exec).unwrap()
}

/// A walk with directed edges, not reversible.
pub fn one_way<T: Real>(n: usize, k: usize, seed: u64) -> Transition<T> {
    let mut random = Random(seed);
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for i in 0..n as u32 {
        let mut row: Vec<u32> = (0..k).map(|_| random.below(n) as u32).chain([i]).collect();
        row.sort_unstable();
        row.dedup();
        let weights: Vec<f64> = row.iter().map(|_| 0.1 + random.unit()).collect();
        let sum: f64 = weights.iter().sum();
        values.extend(weights.iter().map(|w| T::from_f64(w / sum)));
        indices.extend(row);
        indptr.push(indices.len() as u64);
    }
    let matrix = Csr::new(n, indptr, indices, values).unwrap();
    Transition::from_stochastic(matrix, 1e-5, &Exec::with_threads(1)).unwrap()
}

/// `count` walks on the same points, every second one reversible.
pub fn walks<T: Real>(n: usize, count: usize, seed: u64) -> Vec<Arc<Transition<T>>> {
    let walk = |v: usize| {
        let seed = seed.wrapping_add(v as u64);
        if v.is_multiple_of(2) { reversible(n, 5, seed) } else { one_way(n, 4, seed) }
    };
    (0..count).map(|v| Arc::new(walk(v))).collect()
}

/// One-hot weights of a sequence.
pub fn one_hot(sequence: &[usize], members: usize) -> Vec<f64> {
    sequence.iter().flat_map(|&chosen| (0..members).map(move |m| f64::from(chosen == m))).collect()
}

/// Random weights, rows on the simplex.
pub fn simplex(steps: usize, members: usize, seed: u64) -> Vec<f64> {
    let mut weights: Vec<f64> = Random(seed).block(steps * members);
    for row in weights.chunks_mut(members) {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|w| *w /= sum);
    }
    weights
}

/// Random labels that contain all of `0..k`.
pub fn labels(n: usize, k: usize, seed: u64) -> Vec<u32> {
    let mut random = Random(seed);
    (0..n).map(|i| if i < k { i as u32 } else { random.below(k) as u32 }).collect()
}

/// Random sparse rows.
pub fn sparse_rows<T: Real>(n: usize, columns: usize, per_row: usize, seed: u64) -> Csr<T> {
    let mut random = Random(seed);
    let (mut indptr, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    for _ in 0..n {
        let mut row: Vec<u32> = (0..per_row).map(|_| random.below(columns) as u32).collect();
        row.sort_unstable();
        row.dedup();
        values.extend(row.iter().map(|_| T::from_f64(0.1 + random.unit())));
        indices.extend(row);
        indptr.push(indices.len() as u64);
    }
    Csr::new(columns, indptr, indices, values).unwrap()
}

/// Points around random centres.
pub fn blobs<T: Real>(n: usize, dimension: usize, groups: usize, spread: f64, seed: u64) -> Vec<T> {
    let mut random = Random(seed);
    let centers: Vec<f64> = random.block(groups * dimension);
    (0..n)
        .flat_map(|i| {
            let g = i % groups;
            (0..dimension).map(|j| centers[g * dimension + j] + spread * random.unit()).collect::<Vec<_>>()
        })
        .map(T::from_f64)
        .collect()
}

/// The bits of numbers.
pub fn bits<T: Real>(values: &[T]) -> Vec<u64> {
    values.iter().map(|v| v.to_f64().to_bits()).collect()
}

/// The bits of a matrix.
pub fn matrix_bits<T: Real>(matrix: &Csr<T>) -> Vec<u64> {
    let indices = matrix.indices().iter().map(|&j| u64::from(j));
    matrix.indptr().iter().copied().chain(indices).chain(bits(matrix.values())).collect()
}
