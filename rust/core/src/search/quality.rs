//! Quality: the function that scores a candidate.
//!
//! ```text
//! W -> leading coordinates -> k-means -> score of the labels on each view -> weighted average
//! ```
//!
//! A criterion is evaluated on the rows of a walk or on features. The score of a walk does not
//! depend on the order of the points, so walks are scored in the solver's order.

use std::borrow::Cow;

use super::clustering::{Clustered, Clustering};
use crate::cluster::quality::Criterion;
use crate::graph::neighbours::Features;
use crate::reorder::{in_cache_order, in_given_order, to_cache_order};
use crate::{Contrastive, Error, Exec, OperatorSet, Real, Result, Trajectory};

/// Weights that differ from 1 by less are those of all views.
const SMALL_WEIGHT: f64 = 1e-12;

/// The rows on which labels are scored for one view.
#[derive(Debug, Clone)]
pub enum ViewRows<'a> {
    /// Rows of the stored matrix with this index.
    Walk(usize),
    /// Features of the view.
    Features(Features<'a, f64>),
}

/// One view of an average score.
#[derive(Debug, Clone)]
pub struct ScoredView<'a> {
    /// The rows on which labels are scored.
    pub rows: ViewRows<'a>,
    /// Weight in the average; the weights of all views sum to 1.
    pub weight: f64,
}

/// A score function of the caller: from the name of a trajectory, its coordinates and its labels.
pub type ScoreFunction<'a, T> = dyn Fn(&str, &Clustered<T>) -> Result<f64> + Sync + 'a;

/// How a candidate is scored.
pub enum Quality<'a, T> {
    /// A criterion of the labels, averaged over the views.
    Labels {
        /// How labels are computed.
        clustering: Clustering,
        /// The criterion.
        criterion: Criterion,
        /// The views and their weights.
        views: Vec<ScoredView<'a>>,
    },
    /// A function of labels and coordinates; higher is better.
    Function {
        /// How labels are computed.
        clustering: Clustering,
        /// The function.
        function: &'a ScoreFunction<'a, T>,
    },
    /// Minus the contrastive loss with these weights of the views; nothing is clustered.
    Contrastive(Vec<f64>),
}

impl<T: Real> Quality<'_, T> {
    pub(super) fn clustering(&self) -> Option<&Clustering> {
        match self {
            Self::Labels { clustering, .. } | Self::Function { clustering, .. } => Some(clustering),
            Self::Contrastive(_) => None,
        }
    }

    /// The score of a trajectory, higher is better; `clustered` is in the solver's order.
    pub(super) fn of(
        &self,
        trajectory: &Trajectory<'_, T>,
        name: &str,
        clustered: Option<&Clustered<T>>,
        exec: &Exec,
    ) -> Result<f64> {
        let clustered = || clustered.ok_or_else(|| Error::Invalid("expected labels, got none".into()));
        match self {
            Self::Labels { clustering, criterion, views } => {
                let labels = OrderedLabels::of_solver(&clustered()?.labels, trajectory.set(), exec)?;
                average(*criterion, views, &labels, clustering.k_means.n_clusters, exec)
            }
            Self::Function { function, .. } => {
                function(name, &clustered()?.clone().in_given_order(trajectory.set(), exec)?)
            }
            Self::Contrastive(view_weights) => {
                let loss = Contrastive { view_weights, rows: None, include_self: false, gradient: false };
                Ok(-trajectory.contrastive_loss(loss, exec)?.loss)
            }
        }
    }

    /// The score of labels in the given order; higher is better.
    pub(super) fn of_labels(
        &self,
        set: &OperatorSet<T>,
        name: &str,
        coordinates: &[T],
        labels: &[u32],
        exec: &Exec,
    ) -> Result<f64> {
        match self {
            Self::Labels { clustering, criterion, views } => {
                let labels = OrderedLabels::of_given(labels, set, exec)?;
                average(*criterion, views, &labels, clustering.k_means.n_clusters, exec)
            }
            Self::Function { function, .. } => {
                let (coordinates, labels) = (coordinates.to_vec(), labels.to_vec());
                function(name, &Clustered { coordinates, labels, converged: true })
            }
            Self::Contrastive(_) => Err(Error::Invalid("expected a score of labels, got the contrastive loss".into())),
        }
    }
}

/// The average of a criterion over the views; higher is better.
fn average<T: Real>(
    criterion: Criterion,
    views: &[ScoredView<'_>],
    labels: &OrderedLabels<'_, T>,
    n_labels: usize,
    exec: &Exec,
) -> Result<f64> {
    let (mut average, mut unjudged) = (0.0, 0.0);
    // A view of weight 0 does not count, whatever its score.
    for view in views.iter().filter(|view| view.weight > 0.0) {
        match view.rows.score(criterion, labels, n_labels, exec)? {
            Some(score) => average += view.weight * score,
            None => unjudged += view.weight,
        }
    }
    if unjudged > 0.0 {
        // Other views have the weight of views that cannot judge; the least score if none can.
        average = if unjudged < 1.0 - SMALL_WEIGHT { average / (1.0 - unjudged) } else { 0.0 };
    }
    // Only this line changes the sign of minimised scores.
    Ok(if criterion.is_minimised() { -average } else { average })
}

/// Labels in the order of a set, for its walks, and in the given order, for features.
struct OrderedLabels<'a, T> {
    set: &'a OperatorSet<T>,
    of_walks: Cow<'a, [u32]>,
    of_features: Cow<'a, [u32]>,
}

impl<'a, T: Real> OrderedLabels<'a, T> {
    /// Labels in the solver's order.
    fn of_solver(labels: &'a [u32], set: &'a OperatorSet<T>, exec: &Exec) -> Result<Self> {
        let of_features = Cow::Owned(in_given_order(set, labels.to_vec(), exec)?);
        Ok(Self { set: in_cache_order(set, exec)?, of_walks: Cow::Borrowed(labels), of_features })
    }

    /// Labels in the given order.
    fn of_given(labels: &'a [u32], set: &'a OperatorSet<T>, exec: &Exec) -> Result<Self> {
        let of_walks = to_cache_order(set, labels, exec)?;
        Ok(Self { set: in_cache_order(set, exec)?, of_walks, of_features: Cow::Borrowed(labels) })
    }
}

/// The labels of some points, numbered from 0 without gaps, and their number; None if no criterion is
/// defined for them.
fn labels_of(points: &[u32], labels: &[u32], n_labels: usize) -> Option<(Vec<u32>, usize)> {
    let (mut numbers, mut count) = (vec![None; n_labels], 0_u32);
    let renumbered = points.iter().map(|&point| {
        *numbers[labels[point as usize] as usize].get_or_insert_with(|| {
            count += 1;
            count - 1
        })
    });
    let renumbered: Vec<u32> = renumbered.collect();
    (2..points.len()).contains(&(count as usize)).then_some((renumbered, count as usize))
}

impl ViewRows<'_> {
    /// The score on the points that the view has; None if these are too few or of one cluster.
    fn score<T: Real>(
        &self,
        criterion: Criterion,
        labels: &OrderedLabels<'_, T>,
        n_labels: usize,
        exec: &Exec,
    ) -> Result<Option<f64>> {
        match *self {
            Self::Walk(walk) => {
                let Some((rows, points)) = labels.set.present(walk, exec)? else {
                    let rows = Features::Sparse(labels.set.walks()[walk].matrix());
                    return criterion.of(rows, &labels.of_walks, n_labels, exec).map(Some);
                };
                let Some((labels, n_labels)) = labels_of(&points, &labels.of_walks, n_labels) else {
                    return Ok(None);
                };
                criterion.of(Features::Sparse(rows), &labels, n_labels, exec).map(Some)
            }
            Self::Features(rows) => criterion.of(rows, &labels.of_features, n_labels, exec).map(Some),
        }
    }
}
