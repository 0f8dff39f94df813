//! Gauss rules from the off-diagonal entries of a Lanczos process.
//!
//! Reference: Golub and Welsch 1969, doi:10.1090/S0025-5718-69-99647-1.

/// Nodes and weights of the rule of a symmetric tridiagonal matrix with zero diagonal: its
/// eigenvalues and the squared first components of its eigenvectors, by the implicit QL algorithm.
pub(super) fn gauss_rule(couplings: &[f64]) -> Vec<(f64, f64)> {
    let n = couplings.len() + 1;
    let mut diagonal = vec![0.0_f64; n];
    let mut off: Vec<f64> = couplings.iter().copied().chain([0.0]).collect();
    let mut first = vec![0.0; n];
    first[0] = 1.0;
    let scale = couplings.iter().copied().fold(0.0, f64::max);
    let negligible = f64::EPSILON * scale;
    for l in 0..n {
        // Three sweeps per eigenvalue are usual. The bound guards against numbers that are not
        // finite.
        for _ in 0..64 {
            let m = (l..n - 1).find(|&m| off[m].abs() <= negligible).unwrap_or(n - 1);
            if m == l {
                break;
            }
            let g = (diagonal[l + 1] - diagonal[l]) / (2.0 * off[l]);
            let mut g = diagonal[m] - diagonal[l] + off[l] / (g + g.hypot(1.0).copysign(g));
            let (mut s, mut c, mut p) = (1.0, 1.0, 0.0);
            let mut i = m;
            while i > l {
                i -= 1;
                let f = s * off[i];
                let b = c * off[i];
                let r = f.hypot(g);
                off[i + 1] = r;
                if r == 0.0 {
                    diagonal[i + 1] -= p;
                    off[m] = 0.0;
                    break;
                }
                s = f / r;
                c = g / r;
                g = diagonal[i + 1] - p;
                let r = (diagonal[i] - g) * s + 2.0 * c * b;
                p = s * r;
                diagonal[i + 1] = g + p;
                g = c * r - b;
                let z = first[i + 1];
                first[i + 1] = s * first[i] + c * z;
                first[i] = c * first[i] - s * z;
                if i == l {
                    diagonal[l] -= p;
                    off[l] = g;
                    off[m] = 0.0;
                }
            }
        }
    }
    diagonal.into_iter().zip(first).map(|(node, z)| (node, z * z)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_and_weights_of_a_known_rule() {
        // Couplings 1/2 with a first one of 1/sqrt(2): Chebyshev's rule, nodes cos((2k - 1) pi /
        // 2n), equal weights.
        let n = 9;
        let mut couplings = vec![0.5; n - 1];
        couplings[0] = 0.5_f64.sqrt();
        let mut rule = gauss_rule(&couplings);
        rule.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (k, (node, weight)) in rule.into_iter().enumerate() {
            let expected = ((2 * k + 1) as f64 * std::f64::consts::PI / (2 * n) as f64).cos();
            assert!((node - expected).abs() < 1e-14 && (weight - 1.0 / n as f64).abs() < 1e-14);
        }
    }

    #[test]
    fn a_rule_survives_couplings_of_zero() {
        assert_eq!(gauss_rule(&[0.0, 0.0]).iter().map(|r| r.1).sum::<f64>(), 1.0);
        let weights: f64 = gauss_rule(&[2.0, 0.0, 1.0]).iter().filter(|r| r.0.abs() > 1.5).map(|r| r.1).sum();
        assert!((weights - 1.0).abs() < 1e-14);
    }
}
