//! Every method, metric, precision and layout of the neighbour search against the dense oracle.

use std::collections::HashSet;

use crate::oracle::Matrix;
use crate::samples::Random;
use mdt_core::graph::neighbours::{ApproximateSettings, Features, Method, Metric, NeighbourTable, nearest_neighbours};
use mdt_core::ground::csr::Csr;
use mdt_core::ground::exec::Exec;
use mdt_core::{Error, Real, Result};
use proptest::prelude::*;

const METRICS: [Metric; 4] = [Metric::Euclidean, Metric::Cosine, Metric::Correlation, Metric::Manhattan];

/// Types of point sets that are difficult for neighbour searches.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    /// Uniform in a cube.
    Generic,
    /// Small integers times this number: many ties, exact for a power of two.
    Lattice(f64),
    /// Integer multiples of one direction.
    Line,
    /// At most four different points.
    Duplicates,
    /// Uniform, and one point at this distance.
    Far(f64),
    /// Uniform; every second coordinate is constant.
    Constant,
    /// Two clusters at this distance and of this spread.
    Clusters(f64, f64),
}

/// 2^-997 and 2^990, about 1e-300 and 1e298: squares underflow or overflow.
const SMALL: f64 = f64::from_bits((1023 - 997) << 52);
const LARGE: f64 = f64::from_bits((1023 + 990) << 52);

const SINGLE: [Shape; 9] = [
    Shape::Generic,
    Shape::Lattice(1.0),
    Shape::Lattice(0.1),
    Shape::Line,
    Shape::Duplicates,
    Shape::Far(1e6),
    Shape::Constant,
    // Products in single precision separate the points of the first set, not of the second.
    Shape::Clusters(30.0, 1.0),
    Shape::Clusters(1e8, 1e-6),
];

/// Coordinates outside the range of single precision.
const DOUBLE: [Shape; 5] =
    [Shape::Far(1e150), Shape::Lattice(SMALL), Shape::Lattice(LARGE), Shape::Lattice(1e-300), Shape::Lattice(1e300)];

impl Shape {
    fn points(self, n: usize, d: usize, seed: u64) -> Matrix {
        let mut random = Random(seed);
        let integer = |random: &mut Random, range: usize| random.below(2 * range + 1) as f64 - range as f64;
        let shared: Matrix = (0..4).map(|_| (0..d).map(|_| integer(&mut random, 5)).collect()).collect();
        let mut point = |i: usize| -> Vec<f64> {
            let at = integer(&mut random, 40);
            let coordinate = |k: usize, random: &mut Random| match self {
                Self::Generic => random.unit() - 0.5,
                Self::Lattice(unit) => unit * integer(random, 3),
                Self::Line => at * shared[0][k],
                Self::Duplicates => shared[(at.abs() as usize) % 4][k],
                Self::Far(far) => random.unit() + if i == n / 2 && k == 0 { far } else { 0.0 },
                Self::Constant => {
                    if k.is_multiple_of(2) {
                        shared[0][k] + 0.1
                    } else {
                        random.unit()
                    }
                }
                Self::Clusters(apart, spread) => spread * random.unit() + if i.is_multiple_of(2) { apart } else { 0.0 },
            };
            (0..d).map(|k| coordinate(k, &mut random)).collect()
        };
        (0..n).map(&mut point).collect()
    }

    /// True if sums of squares are exact, so that ties of the oracle are ties of the crate.
    fn is_exact(self) -> bool {
        matches!(self, Self::Line | Self::Duplicates)
            || matches!(self, Self::Lattice(u) if [1.0, SMALL, LARGE].contains(&u))
    }
}

/// Layout of the points.
#[derive(Debug, Clone, Copy)]
enum Layout {
    Dense,
    Sparse,
}

fn search<T: Real>(
    points: &Matrix,
    layout: Layout,
    k: usize,
    metric: Metric,
    method: Method,
) -> Result<NeighbourTable> {
    let exec = Exec::with_threads(2);
    let (n, d) = (points.len(), points[0].len());
    let data: Vec<T> = points.iter().flatten().map(|v| T::from_f64(*v)).collect();
    match layout {
        Layout::Dense => nearest_neighbours(Features::Dense { data: &data, dimension: d }, k, metric, method, &exec),
        Layout::Sparse => {
            let stored: Vec<usize> = (0..n * d).filter(|&e| data[e] != T::ZERO).collect();
            let indptr = (0..=n).map(|i| stored.partition_point(|&e| e < i * d) as u64).collect();
            let indices = stored.iter().map(|e| (e % d) as u32).collect();
            let rows = Csr::new(d, indptr, indices, stored.iter().map(|&e| data[e]).collect()).unwrap();
            nearest_neighbours(Features::Sparse(&rows), k, metric, method, &exec)
        }
    }
}

/// `distance * 2^exponent` in two factors, because the power alone may overflow.
fn unscaled(distance: f64, exponent: i32) -> f64 {
    distance * f64::from(exponent / 2).exp2() * f64::from(exponent - exponent / 2).exp2()
}

/// Largest rounding error of a distance between two of these points.
fn tolerance(metric: Metric, points: &Matrix) -> impl Fn(f64) -> f64 {
    let largest = |x: &[f64]| x.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
    let roundings = 16.0 * (points[0].len() as f64 + 4.0) * f64::EPSILON;
    let (relative, absolute) = match metric {
        Metric::Euclidean | Metric::Manhattan => (roundings, f64::MIN_POSITIVE * f64::EPSILON),
        Metric::Cosine => (0.0, roundings),
        // Subtraction of a mean that is large compared with the deviations magnifies rounding
        // errors.
        Metric::Correlation => {
            let offsets = points.iter().map(|x| largest(x) / largest(&crate::oracle::centred(x)));
            (0.0, 4.0 * roundings * offsets.fold(1.0, f64::max))
        }
    };
    move |distance| relative * distance + absolute
}

fn check_table(table: &NeighbourTable, points: &Matrix, truth: &[Vec<(f64, usize)>], metric: Metric, exact: bool) {
    let k = table.k;
    let n = points.len();
    assert_eq!((table.indices.len(), table.distances.len()), (n * k, n * k));
    assert_eq!(table.nearest_positive.len(), n);
    let scale_free = matches!(metric, Metric::Cosine | Metric::Correlation);
    assert!(!scale_free || table.exponent == 0);
    let tolerance = tolerance(metric, points);
    for (i, expected) in truth.iter().enumerate() {
        let indices = &table.indices[i * k..(i + 1) * k];
        let distances = &table.distances[i * k..(i + 1) * k];
        assert!(distances.is_sorted(), "row {i}: {distances:?}");
        let is_close = |got: f64, j: usize, wanted: f64| {
            let got = unscaled(got, table.exponent);
            let allowed = tolerance(wanted);
            assert!(
                (got - wanted).abs() <= allowed,
                "{metric:?}, row {i}, point {j}: expected {wanted:e}, got {got:e}"
            );
        };
        let distinct: HashSet<u32> = indices.iter().copied().collect();
        assert!(distinct.len() == k && !distinct.contains(&(i as u32)), "row {i}: {indices:?}");
        for (rank, (&j, &d)) in indices.iter().zip(distances).enumerate() {
            // The distance belongs to this point, and no nearer point is missing.
            is_close(d, j as usize, crate::oracle::distance(metric, &points[i], &points[j as usize]));
            is_close(d, expected[rank].1, expected[rank].0);
        }
        if exact && !scale_free {
            let wanted: Vec<u32> = expected[..k].iter().map(|e| e.1 as u32).collect();
            assert_eq!(indices, wanted, "row {i}");
        }
        let nearest = table.nearest_positive[i];
        if let Some(&d) = distances.iter().find(|d| **d > 0.0) {
            assert_eq!(nearest, d, "row {i}");
        } else if scale_free {
            // Rounding decides whether proportional rows coincide; all other points must be at
            // least this far.
            assert!(nearest > 0.0);
            let farther = |e: &&(f64, usize)| e.0 > 4.0 * tolerance(e.0);
            assert!(expected.iter().filter(farther).all(|e| nearest <= e.0 + tolerance(e.0)));
        } else {
            match expected.iter().find(|e| e.0 > 0.0) {
                Some(&(wanted, j)) => is_close(nearest, j, wanted),
                None => assert_eq!(nearest, f64::INFINITY, "row {i}"),
            }
        }
    }
}

/// Compares all methods and layouts with the oracle on points rounded to `T`.
fn check<T: Real>(shape: Shape, n: usize, d: usize, k: usize, seed: u64) {
    let mut points = shape.points(n, d, seed);
    points.iter_mut().flatten().for_each(|v| *v = T::from_f64(*v).to_f64());
    for metric in METRICS {
        let scan = search::<T>(&points, Layout::Dense, k, metric, Method::Scan);
        for method in [Method::Tree, Method::Auto] {
            assert_eq!(search::<T>(&points, Layout::Dense, k, metric, method), scan, "{metric:?} {method:?}");
        }
        let sparse = search::<T>(&points, Layout::Sparse, k, metric, Method::Scan);
        for method in [Method::Tree, Method::Columns] {
            assert_eq!(search::<T>(&points, Layout::Sparse, k, metric, method), sparse, "{metric:?} {method:?}");
        }
        if let Some(row) = crate::oracle::undefined(metric, &points) {
            let message = scan.unwrap_err().to_string();
            assert!(message.starts_with(&format!("row {row} is ")), "{message}");
            assert!(sparse.is_err());
            continue;
        }
        let truth = crate::oracle::neighbours(metric, &points);
        check_table(&scan.unwrap(), &points, &truth, metric, shape.is_exact());
        if metric == Metric::Correlation {
            let message = "expected dense coordinates for the correlation distance";
            assert_eq!(sparse, Err(Error::Invalid(message.into())));
        } else {
            check_table(&sparse.unwrap(), &points, &truth, metric, shape.is_exact());
        }
    }
}

/// Blocks of queries and points have multiples of 64 points, up to 512.
#[test]
fn sizes_around_the_blocks() {
    for (case, n) in [2, 3, 17, 63, 64, 65, 127, 129, 193, 255, 256, 257, 385, 511, 513].into_iter().enumerate() {
        for (s, shape) in SINGLE.into_iter().enumerate() {
            let (d, k) = (2 + (case + s) % 4, 7.min(n - 1));
            if (case + s).is_multiple_of(2) {
                check::<f64>(shape, n, d, k, n as u64);
            } else {
                check::<f32>(shape, n, d, k, n as u64);
            }
        }
    }
}

#[test]
fn many_dimensions() {
    for d in [8, 20, 65] {
        for shape in SINGLE {
            check::<f64>(shape, 140, d, 10, d as u64);
            check::<f32>(shape, 140, d, 10, d as u64);
        }
    }
}

#[test]
fn all_others_are_neighbours() {
    for n in [2, 40, 140] {
        for shape in SINGLE {
            check::<f64>(shape, n, 3, n - 1, 5);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn single_and_double_precision(
        shape in prop::sample::select(&SINGLE[..]), n in 2..70_usize, d in 1..10_usize, k in 1..70_usize, seed: u64
    ) {
        check::<f64>(shape, n, d, k.min(n - 1), seed);
        check::<f32>(shape, n, d, k.min(n - 1), seed);
    }

    #[test]
    fn scales_of_doubles(
        shape in prop::sample::select(&DOUBLE[..]), n in 2..140_usize, d in 1..10_usize, k in 1..20_usize, seed: u64
    ) {
        check::<f64>(shape, n, d, k.min(n - 1), seed);
    }
}

/// Rows with few of many columns: few pairs share a column, and some rows share none or are empty.
#[test]
fn rows_that_share_few_columns() {
    for (seed, n, columns, k) in [(1, 60, 40, 5), (2, 200, 400, 9), (3, 90, 12, 20), (4, 40, 900, 39)] {
        let mut random = Random(seed);
        let mut row = |i: usize| -> Vec<f64> {
            let mut row = vec![0.0; columns];
            for _ in 0..random.below(5) + usize::from(!i.is_multiple_of(11)) {
                row[random.below(columns)] = random.below(7) as f64 - 2.0;
            }
            row
        };
        let points: Matrix = (0..n).map(&mut row).collect();
        for metric in [Metric::Euclidean, Metric::Cosine] {
            let points: Matrix = points
                .iter()
                .filter(|row| metric == Metric::Euclidean || row.iter().any(|v| *v != 0.0))
                .cloned()
                .collect();
            let k = k.min(points.len() - 1);
            let scanned = search::<f64>(&points, Layout::Sparse, k, metric, Method::Scan).unwrap();
            for method in [Method::Columns, Method::Auto] {
                assert_eq!(search::<f64>(&points, Layout::Sparse, k, metric, method).unwrap(), scanned);
            }
        }
    }
}

#[test]
fn the_nearest_distinct_point_is_found_among_duplicates() {
    // 200 copies of the origin, 100 of (3, 4), one point at (0, 20); k is smaller than either
    // number of copies.
    let mut points = vec![vec![0.0, 0.0]; 200];
    points.extend(vec![vec![3.0, 4.0]; 100]);
    points.push(vec![0.0, 20.0]);
    for (layout, method) in
        [(Layout::Dense, Method::Scan), (Layout::Dense, Method::Tree), (Layout::Sparse, Method::Scan)]
    {
        let table = search::<f64>(&points, layout, 3, Metric::Euclidean, method).unwrap();
        assert_eq!(table.indices[..6], [1, 2, 3, 0, 2, 3]);
        assert!(table.distances[..900].iter().all(|d| *d == 0.0));
        assert!(table.nearest_positive[..300].iter().all(|d| *d == 5.0));
        assert_eq!(table.indices[900..], [200, 201, 202]);
        assert_eq!(table.nearest_positive[300], 265_f64.sqrt());
    }
}

#[test]
fn a_nearer_point_after_many_duplicates_is_found() {
    // 35 copies of the first point, 130 ties at distance 1, 45 more copies, a point at distance
    // 1/2.
    let copies = |x: f64, count: usize| std::iter::repeat_n(vec![x, 0.0], count);
    let points: Matrix = copies(0.0, 36).chain(copies(1.0, 130)).chain(copies(0.0, 45)).chain(copies(0.5, 1)).collect();
    for method in [Method::Tree, Method::Scan] {
        let table = search::<f64>(&points, Layout::Dense, 40, Metric::Euclidean, method).unwrap();
        assert_eq!(table.nearest_positive[0], 0.5, "{method:?}");
    }
}

#[test]
fn lattices_with_many_ties() {
    for (d, k) in [(1, 1), (1, 15), (1, 40), (2, 3), (2, 40), (2, 90)] {
        for seed in 0..4 {
            check::<f64>(Shape::Lattice(1.0), 400, d, k, seed);
            check::<f32>(Shape::Duplicates, 400, d, k, seed);
        }
    }
}

#[test]
fn coinciding_points_have_no_positive_distance() {
    let points = vec![vec![0.3, -7.0]; 50];
    for method in [Method::Scan, Method::Tree] {
        let table = search::<f64>(&points, Layout::Dense, 4, Metric::Euclidean, method).unwrap();
        assert!(table.nearest_positive.iter().all(|d| d.is_infinite()));
        assert_eq!(table.indices[..8], [1, 2, 3, 4, 0, 2, 3, 4]);
    }
}

#[test]
fn correlation_does_not_depend_on_an_exact_offset() {
    // Integers with and without a large offset have the same deviations to the last bit.
    let points = Shape::Lattice(1.0).points(60, 8, 1);
    let shifted: Matrix = points.iter().map(|x| x.iter().map(|v| v + 1e12).collect()).collect();
    let [a, b] = [&points, &shifted]
        .map(|p| search::<f64>(p, Layout::Dense, 5, Metric::Correlation, Method::Scan).unwrap().distances);
    let worst = a.iter().zip(&b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(worst < 1e-9, "{worst:e}");
}

#[test]
fn a_tiny_spread_beside_a_constant_coordinate() {
    for spread in [1e-160, 1e-300] {
        let points: Matrix = (0..4).map(|i| vec![1.0, spread * f64::from(i)]).collect();
        let scan = search::<f64>(&points, Layout::Dense, 2, Metric::Euclidean, Method::Scan).unwrap();
        assert_eq!(scan, search::<f64>(&points, Layout::Dense, 2, Metric::Euclidean, Method::Tree).unwrap());
        assert_eq!(scan.indices.len(), 4 * 2);
    }
}

#[test]
fn cosine_of_rows_of_very_different_scales() {
    let points = vec![vec![1e300, 0.0], vec![1e-300, 1e-300], vec![0.0, 1e-300]];
    let table = search::<f64>(&points, Layout::Dense, 1, Metric::Cosine, Method::Scan).unwrap();
    // The second point is equally far from both others: the smaller index comes first.
    assert_eq!(table.indices, [1, 0, 1]);
}

#[test]
fn equal_distances_are_ordered_by_index() {
    let points = Shape::Lattice(0.1).points(200, 3, 3);
    let table = search::<f64>(&points, Layout::Dense, 60, Metric::Euclidean, Method::Scan).unwrap();
    let entries: Vec<_> = table.distances.iter().zip(&table.indices).collect();
    let unordered = entries.chunks(60).flat_map(|row| row.windows(2)).filter(|w| w[0].0 == w[1].0 && w[0].1 > w[1].1);
    assert_eq!(unordered.count(), 0);
}

/// Rows are full and distinct, without the point itself, with exact distances; the recall suffices.
#[test]
fn approximate_neighbours_are_valid_and_reach_the_recall() {
    let (n, d, k) = (4000, 12, 10);
    let exec = Exec::with_threads(2);
    for shape in SINGLE {
        let points = shape.points(n, d, 5);
        let data: Vec<f64> = points.iter().flatten().copied().collect();
        let coordinates = Features::Dense { data: &data, dimension: d };
        let exact = nearest_neighbours(coordinates, k, Metric::Euclidean, Method::Scan, &exec).unwrap();
        let method = Method::Approximate(ApproximateSettings { seed: 1, recall: 0.95 });
        let found = nearest_neighbours(coordinates, k, Metric::Euclidean, method, &exec).unwrap();
        let mut hits = 0;
        for i in 0..n {
            let row = i * k..(i + 1) * k;
            let members: HashSet<u32> = found.indices[row.clone()].iter().copied().collect();
            assert_eq!(members.len(), k, "{shape:?}");
            assert!(!members.contains(&(i as u32)), "{shape:?}");
            let last = exact.distances[row.end - 1];
            for (&j, &distance) in found.indices[row.clone()].iter().zip(&found.distances[row]) {
                let true_distance: f64 =
                    points[i].iter().zip(&points[j as usize]).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt();
                assert!((distance - true_distance).abs() <= 1e-12 * true_distance, "{shape:?}");
                // Points at the distance of the last neighbour count as found.
                hits += usize::from(distance <= last);
            }
        }
        assert!(hits as f64 >= 0.945 * (n * k) as f64, "{shape:?}: {hits}");
    }
}
