//! Time of the main kernels: `cargo bench --bench kernels`.
//!
//! Seeds are constant. Sizes: walks of 100,000 states with 16 entries a row in double precision,
//! blocks of 1, 8 and 32 columns; 15 neighbours of 5,000 points in 100 dimensions and of 20,000
//! points in 3 dimensions; the product of two steps on 10,000 states. One thread, so that machines
//! are comparable.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use mdt_core::graph::neighbours::{Features, Method, Metric, nearest_neighbours};
use mdt_core::ground::csr::Csr;
use mdt_core::ground::exec::Exec;
use mdt_core::{Direction, Member, OperatorSet, Pruning, Trajectory, Transition};

const STATES: usize = 100_000;
const PRODUCT_STATES: usize = 10_000;
const NEIGHBOURS: usize = 15;

/// The splitmix64 generator.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// `len` numbers uniform on `[0, 1)`.
fn uniform(len: usize, mut seed: u64) -> Vec<f64> {
    (0..len).map(|_| (random(&mut seed) >> 11) as f64 / (1_u64 << 53) as f64).collect()
}

/// Positions of the neighbours of a state.
#[derive(Debug, Clone, Copy)]
enum Order {
    /// At random: every read misses the cache, as for data without an order.
    Scattered,
    /// Adjacent on a ring, as for data sorted along a curve.
    Local,
}

/// A walk with equal probabilities of the state and its neighbours. The equal degrees are given, so
/// that transposed products are those of a reversible walk.
fn walk(n: usize, order: Order, mut seed: u64) -> Arc<Transition<f64>> {
    let mut indices = Vec::with_capacity(n * (NEIGHBOURS + 1));
    for i in 0..n {
        let mut row = vec![i as u32];
        while row.len() <= NEIGHBOURS {
            let j = match order {
                Order::Scattered => (random(&mut seed) % n as u64) as u32,
                Order::Local => ((i + row.len()) % n) as u32,
            };
            if !row.contains(&j) {
                row.push(j);
            }
        }
        row.sort_unstable();
        indices.extend(row);
    }
    let indptr = (0..=n).map(|i| (i * (NEIGHBOURS + 1)) as u64).collect();
    let values = vec![1.0 / (NEIGHBOURS + 1) as f64; indices.len()];
    let matrix = Csr::new(n, indptr, indices, values).expect("a well-formed matrix");
    Arc::new(Transition::restore(matrix, Some(vec![1.0; n])).expect("a square matrix"))
}

fn set(n: usize, order: Order) -> OperatorSet<f64> {
    let walks = vec![walk(n, order, 1), walk(n, order, 2)];
    OperatorSet::new(walks, vec![Member::Walk(0), Member::Walk(1)]).expect("two walks of one size")
}

fn sparse_steps(criterion: &mut Criterion) {
    let exec = Exec::with_threads(1);
    let mut group = criterion.benchmark_group("step");
    for order in [Order::Scattered, Order::Local] {
        let set = set(STATES, order);
        for cols in [1, 8, 32] {
            let x = uniform(STATES * cols, 3);
            let mut out = vec![0.0; x.len()];
            for (name, weights, direction) in [
                ("forward", [1.0, 0.0], Direction::Forward),
                ("transposed", [1.0, 0.0], Direction::Transposed),
                ("convex", [0.4, 0.6], Direction::Forward),
            ] {
                let trajectory = Trajectory::new(&set, &weights).expect("one step");
                let walks = weights.iter().filter(|w| **w > 0.0).count();
                group.throughput(Throughput::Elements((walks * STATES * (NEIGHBOURS + 1) * cols) as u64));
                group.bench_function(format!("{name}/{order:?}/{cols}"), |bencher| {
                    bencher.iter(|| trajectory.apply(black_box(&x), cols, direction, &mut out, &exec));
                });
            }
        }
    }
    group.finish();
}

fn neighbours(criterion: &mut Criterion) {
    let exec = Exec::with_threads(1);
    let mut group = criterion.benchmark_group("neighbours");
    for (n, dimension, method) in [(5000, 100, Method::Scan), (20_000, 3, Method::Tree)] {
        let data = uniform(n * dimension, 4);
        let points = Features::Dense { data: &data, dimension };
        group.bench_function(format!("{method:?}/{n}x{dimension}"), |bencher| {
            bencher.iter(|| nearest_neighbours(black_box(points), NEIGHBOURS, Metric::Euclidean, method, &exec));
        });
    }
    group.finish();
}

fn products(criterion: &mut Criterion) {
    let exec = Exec::with_threads(1);
    let set = set(PRODUCT_STATES, Order::Scattered);
    let trajectory = Trajectory::new(&set, &[1.0, 0.0, 0.0, 1.0]).expect("two steps");
    let mut group = criterion.benchmark_group("to_sparse");
    for (name, pruning) in
        [("whole", Pruning::NONE), ("top 32", Pruning { below: 0.0, top: Some(32), each_step: false })]
    {
        group.bench_function(name, |bencher| {
            bencher.iter(|| trajectory.to_sparse(black_box(pruning), u64::MAX, &exec));
        });
    }
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .configure_from_args();
    sparse_steps(&mut criterion);
    neighbours(&mut criterion);
    products(&mut criterion);
    criterion.final_summary();
}
