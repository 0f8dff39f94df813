//! Definitions with dense matrices, without regard to speed.

use mdt_core::graph::affinity::{Bandwidths, Kernel, Symmetrize};
use mdt_core::graph::neighbours::Metric;
use mdt_core::ground::csr::Csr;
use mdt_core::{Landing, Member, Pruning, Real};

/// Rows of a matrix or of points.
pub type Matrix = Vec<Vec<f64>>;

/// The dense matrix of a CSR matrix.
pub fn dense<T: Real>(matrix: &Csr<T>) -> Matrix {
    let mut full = vec![vec![0.0; matrix.n_cols()]; matrix.n_rows()];
    for (i, line) in full.iter_mut().enumerate() {
        let (columns, values) = matrix.row(i);
        columns.iter().zip(values).for_each(|(&c, v)| line[c as usize] = v.to_f64());
    }
    full
}

/// Euclidean norm. Scaling by a power of two is exact, so equal sums of squares give equal norms at
/// any scale.
fn length(v: &[f64]) -> f64 {
    let largest = v.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let unit = largest.log2().floor().exp2();
    unit * v.iter().map(|x| (x / unit) * (x / unit)).sum::<f64>().sqrt()
}

fn cosine_distance(x: &[f64], y: &[f64]) -> f64 {
    let (a, b) = (length(x), length(y));
    1.0 - x.iter().zip(y).map(|(p, q)| (p / a) * (q / b)).sum::<f64>()
}

/// Deviations from the mean. A second subtraction of the mean removes the rounding error of the
/// first.
pub fn centred(x: &[f64]) -> Vec<f64> {
    let shifted = |x: &[f64]| {
        let mean = x.iter().map(|v| v / x.len() as f64).sum::<f64>();
        x.iter().map(|v| v - mean).collect::<Vec<f64>>()
    };
    shifted(&shifted(x))
}

pub fn distance(metric: Metric, x: &[f64], y: &[f64]) -> f64 {
    let differences: Vec<f64> = x.iter().zip(y).map(|(a, b)| a - b).collect();
    match metric {
        Metric::Euclidean => length(&differences),
        Metric::Manhattan => differences.iter().map(|v| v.abs()).sum(),
        Metric::Cosine => cosine_distance(x, y),
        Metric::Correlation => cosine_distance(&centred(x), &centred(y)),
    }
}

/// The first point without a defined distance.
pub fn undefined(metric: Metric, points: &Matrix) -> Option<usize> {
    points.iter().position(|x| match metric {
        Metric::Cosine => x.iter().all(|v| *v == 0.0),
        Metric::Correlation => x.iter().all(|v| *v == x[0]),
        Metric::Euclidean | Metric::Manhattan => false,
    })
}

/// All other points of each point, ordered by (distance, index).
pub fn neighbours(metric: Metric, points: &Matrix) -> Vec<Vec<(f64, usize)>> {
    // Correlation is the cosine of deviations; computing these once saves most of the time.
    if metric == Metric::Correlation {
        return neighbours(Metric::Cosine, &points.iter().map(|x| centred(x)).collect());
    }
    let others = |i: usize| (0..points.len()).filter(move |&j| j != i);
    (0..points.len())
        .map(|i| {
            let mut row: Vec<_> = others(i).map(|j| (distance(metric, &points[i], &points[j]), j)).collect();
            row.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            row
        })
        .collect()
}

fn width(widths: Bandwidths<'_>, i: usize) -> f64 {
    match widths {
        Bandwidths::Common(h) => h,
        Bandwidths::PerPoint(h) => h[i],
    }
}

pub fn affinity(graph: &Csr<f64>, kernel: Kernel<'_>, diagonal: f64, how: Symmetrize) -> Matrix {
    let n = graph.n_rows();
    let mut directed = vec![vec![0.0; n]; n];
    for (i, line) in directed.iter_mut().enumerate() {
        let (columns, values) = graph.row(i);
        for (j, &d) in columns.iter().map(|&j| j as usize).zip(values) {
            line[j] = match kernel {
                Kernel::Squared(h) => (-d * d / (width(h, i) * width(h, j))).exp(),
                Kernel::Linear(h) => (-d / (width(h, i) * width(h, j)).sqrt()).exp(),
                Kernel::Binary => 1.0,
                Kernel::Given => d,
            };
        }
    }
    let entry = |i: usize, j: usize| match how {
        _ if i == j => diagonal,
        Symmetrize::Mean => (directed[i][j] + directed[j][i]) / 2.0,
        Symmetrize::Max => directed[i][j].max(directed[j][i]),
        Symmetrize::Min => directed[i][j].min(directed[j][i]),
    };
    (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
}

/// `D^-1 K`, after `K_ij / (q_i q_j)^alpha`.
pub fn stochastic(affinity: &Matrix, alpha: f64) -> Matrix {
    let q: Vec<f64> = affinity.iter().map(|row| row.iter().sum()).collect();
    let mut p = affinity.clone();
    for (i, row) in p.iter_mut().enumerate() {
        row.iter_mut().zip(&q).for_each(|(v, r)| *v /= (q[i] * r).powf(alpha));
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|v| *v /= sum);
    }
    p
}

pub fn transpose(a: &Matrix) -> Matrix {
    (0..a[0].len()).map(|j| a.iter().map(|row| row[j]).collect()).collect()
}

pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let columns = transpose(b);
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(p, q)| p * q).sum();
    a.iter().map(|row| columns.iter().map(|column| dot(row, column)).collect()).collect()
}

pub fn identity(n: usize) -> Matrix {
    (0..n).map(|i| (0..n).map(|j| f64::from(i == j)).collect()).collect()
}

pub fn power(a: &Matrix, exponent: u32) -> Matrix {
    (0..exponent).fold(identity(a.len()), |p, _| product(&p, a))
}

/// `sum of weight * matrix`.
pub fn combination(n: usize, parts: &[(f64, Matrix)]) -> Matrix {
    let entry = |i: usize, j: usize| parts.iter().map(|(w, a)| w * a[i][j]).sum();
    (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
}

pub fn member(walks: &[Matrix], member: Member) -> Matrix {
    let n = walks[0].len();
    match member {
        Member::Walk(base) => walks[base].clone(),
        Member::Mean(count) => {
            let parts: Vec<_> = walks[..count].iter().map(|walk| (1.0 / count as f64, walk.clone())).collect();
            combination(n, &parts)
        }
        Member::Identity => identity(n),
        Member::Uniform => vec![vec![1.0 / n as f64; n]; n],
        Member::Power { base, exponent } => power(&walks[base], exponent),
        Member::Teleport { base, alpha, landing } => {
            let target = match landing {
                Landing::Uniform => vec![vec![1.0 / n as f64; n]; n],
                Landing::Power(exponent) => power(&walks[base], exponent),
            };
            combination(n, &[(alpha, walks[base].clone()), (1.0 - alpha, target)])
        }
    }
}

/// The steps `W_1, ..., W_t`.
pub fn steps(walks: &[Matrix], members: &[Member], weights: &[f64]) -> Vec<Matrix> {
    let matrices: Vec<Matrix> = members.iter().map(|m| member(walks, *m)).collect();
    let step = |row: &[f64]| {
        let parts: Vec<_> = row.iter().copied().zip(matrices.iter().cloned()).collect();
        combination(walks[0].len(), &parts)
    };
    weights.chunks(members.len()).map(step).collect()
}

/// `W_t ... W_1`: later steps multiply on the left.
pub fn trajectory(steps: &[Matrix]) -> Matrix {
    steps.iter().fold(identity(steps[0].len()), |w, step| product(step, &w))
}

/// The kept entries of a row, scaled to sum 1.
pub fn prune(row: &[f64], pruning: Pruning) -> Vec<f64> {
    let mut order: Vec<usize> = (0..row.len()).filter(|&j| row[j] > 0.0).collect();
    order.sort_by(|&a, &b| row[b].total_cmp(&row[a]).then(a.cmp(&b)));
    let kept: Vec<usize> = order
        .into_iter()
        .enumerate()
        .filter(|&(rank, j)| rank == 0 || (row[j] >= pruning.below && pruning.top.is_none_or(|top| rank < top)))
        .map(|(_, j)| j)
        .collect();
    let sum: f64 = (0..row.len()).filter(|j| kept.contains(j)).map(|j| row[j]).sum();
    (0..row.len()).map(|j| if kept.contains(&j) { row[j] / sum } else { 0.0 }).collect()
}

pub fn diffusion_distance(w: &Matrix, i: usize, j: usize, inverse_weights: &[f64]) -> f64 {
    let terms = w[i].iter().zip(&w[j]).zip(inverse_weights).map(|((a, b), c)| c * (a - b) * (a - b));
    terms.sum::<f64>().sqrt()
}

pub fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

pub fn mean(points: &[Vec<f64>]) -> Vec<f64> {
    (0..points[0].len()).map(|j| points.iter().map(|p| p[j]).sum::<f64>() / points.len() as f64).collect()
}

/// The points of each class.
pub fn by_class(points: &[Vec<f64>], labels: &[u32], k: usize) -> Vec<Vec<Vec<f64>>> {
    (0..k as u32)
        .map(|c| points.iter().zip(labels).filter(|(_, l)| **l == c).map(|(p, _)| p.clone()).collect())
        .collect()
}

pub fn calinski_harabasz(points: &[Vec<f64>], labels: &[u32], k: usize) -> f64 {
    let centre = mean(points);
    let (mut between, mut within) = (0.0, 0.0);
    for class in by_class(points, labels, k) {
        let own = mean(&class);
        between += class.len() as f64 * squared_distance(&own, &centre);
        within += class.iter().map(|p| squared_distance(p, &own)).sum::<f64>();
    }
    between * (points.len() - k) as f64 / (within * (k - 1) as f64)
}

pub fn davies_bouldin(points: &[Vec<f64>], labels: &[u32], k: usize) -> f64 {
    let classes = by_class(points, labels, k);
    let means: Vec<Vec<f64>> = classes.iter().map(|c| mean(c)).collect();
    let width = |c: usize| {
        classes[c].iter().map(|p| squared_distance(p, &means[c]).sqrt()).sum::<f64>() / classes[c].len() as f64
    };
    let ratio = |a: usize, b: usize| (width(a) + width(b)) / squared_distance(&means[a], &means[b]).sqrt();
    let worst = |a: usize| (0..k).filter(|&b| b != a).map(|b| ratio(a, b)).fold(0.0, f64::max);
    (0..k).map(worst).sum::<f64>() / k as f64
}

pub fn silhouette(points: &[Vec<f64>], labels: &[u32], k: usize) -> f64 {
    let classes = by_class(points, labels, k);
    let of_point = |(p, &own): (&Vec<f64>, &u32)| {
        let total = |c: usize| classes[c].iter().map(|q| squared_distance(p, q).sqrt()).sum::<f64>();
        let own = own as usize;
        if classes[own].len() == 1 {
            return 0.0;
        }
        let a = total(own) / (classes[own].len() - 1) as f64;
        let b = (0..k).filter(|&c| c != own).map(|c| total(c) / classes[c].len() as f64).fold(f64::INFINITY, f64::min);
        (b - a) / a.max(b)
    };
    points.iter().zip(labels).map(of_point).sum::<f64>() / points.len() as f64
}
