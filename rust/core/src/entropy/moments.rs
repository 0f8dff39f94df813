//! The three sums from which the entropy is computed.

/// `sum sigma^2`, `sum sigma` and `sum sigma log sigma`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Moments {
    pub square: f64,
    pub linear: f64,
    pub log: f64,
}

impl Moments {
    pub fn add(&mut self, weight: f64, sigma: f64) {
        if sigma > 0.0 {
            self.square += weight * sigma * sigma;
            self.linear += weight * sigma;
            self.log += weight * sigma * sigma.ln();
        }
    }

    pub fn plus(self, factor: f64, other: Self) -> Self {
        Self {
            square: self.square + factor * other.square,
            linear: self.linear + factor * other.linear,
            log: self.log + factor * other.log,
        }
    }

    pub fn entropy(self) -> f64 {
        let root = self.square.sqrt();
        if root > 0.0 { (0.5 * self.square.ln() * self.linear - self.log) / root } else { 0.0 }
    }

    /// The first-order change of the entropy for a change of the moments.
    pub fn differential(self, change: Self) -> f64 {
        let (square, root) = (self.square, self.square.sqrt());
        if root == 0.0 {
            return 0.0;
        }
        let by_square = (2.0 * self.log + 2.0 * self.linear - self.linear * square.ln()) / (4.0 * square * root);
        by_square * change.square + (0.5 * square.ln() * change.linear - change.log) / root
    }
}
