//! The points of each cluster.

use crate::{Error, Result};

/// Points sorted by cluster, ascending within a cluster.
#[derive(Debug)]
pub(super) struct Partition {
    points: Vec<u32>,
    bounds: Vec<usize>,
}

impl Partition {
    /// Sorts the points by label. Labels are all of `0..n_labels`; at least two, and fewer than
    /// points.
    pub fn new(labels: &[u32], n_labels: usize) -> Result<Self> {
        let n = labels.len();
        if n_labels < 2 || n_labels >= n {
            let expected = format!("between 2 and {}, one less than samples,", n.saturating_sub(1));
            return Err(Error::Invalid(format!("labels: expected a number of classes {expected} got {n_labels}")));
        }
        let mut bounds = vec![0; n_labels + 1];
        for &label in labels {
            let Some(count) = bounds.get_mut(label as usize + 1) else {
                return Err(Error::Invalid(format!("labels: expected numbers below {n_labels}, got {label}")));
            };
            *count += 1;
        }
        if let Some(missing) = bounds[1..].iter().position(|&count| count == 0) {
            return Err(Error::Invalid(format!("labels: expected all of 0 to {}, got no {missing}", n_labels - 1)));
        }
        for c in 0..n_labels {
            bounds[c + 1] += bounds[c];
        }
        let mut next = bounds.clone();
        let mut points = vec![0; n];
        for (i, &label) in labels.iter().enumerate() {
            points[next[label as usize]] = i as u32;
            next[label as usize] += 1;
        }
        Ok(Self { points, bounds })
    }

    /// Number of clusters.
    pub fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Number of points.
    pub fn n(&self) -> usize {
        self.points.len()
    }

    /// The points of a cluster.
    pub fn points(&self, cluster: usize) -> &[u32] {
        &self.points[self.bounds[cluster]..self.bounds[cluster + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_grouped_in_order() {
        let partition = Partition::new(&[1, 0, 1, 2, 0], 3).unwrap();
        let all: Vec<&[u32]> = (0..3).map(|c| partition.points(c)).collect();
        assert_eq!(all, [&[1, 4][..], &[0, 2], &[3]]);
    }

    #[test]
    fn invalid_labels_are_refused() {
        let message = |labels: &[u32], k| Partition::new(labels, k).unwrap_err().to_string();
        assert!(message(&[0, 0, 0], 1).contains("between 2 and 2, one less than samples, got 1"));
        assert!(message(&[0, 1, 2], 3).contains("got 3"));
        assert!(message(&[0, 1, 5], 2).contains("below 2, got 5"));
        assert!(message(&[0, 0, 2, 2], 3).contains("got no 1"));
    }
}
