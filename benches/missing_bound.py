"""Why clusters are worse if views lack samples: what the views that a sample has can tell of its class.

30 % of the pairs of sample and view are missing at random. The adjusted mutual information with the classes is
computed for the samples that have all views and for the others, from clusters of complete data, from clusters of
views with holes, and, for the others, from the true classes of five neighbours in the views that they have. No
clustering knows these classes, so the last number is hard to exceed.

Run: ``MDT_FAST_DATA=... python benches/missing_bound.py [NAME ...]``.
"""

import sys

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from bench_missing import fit, with_holes
from quality_sets import SETS
from timing import print_table

NAMES = ("Prokaryotic", "MSRC-v5", "digit halves", "3Sources", "Wikipedia-test", "CUB_10", "SNARE-seq", "wine")
SHARE = 0.3
SEEDS = 3
NEIGHBORS = 5


def vote(views: list[np.ndarray], classes: np.ndarray) -> np.ndarray:
    """Return the class that most neighbours have, over the views that a sample has."""
    votes = np.zeros((len(classes), classes.max() + 1))
    for X in views:
        present = np.flatnonzero(~np.isnan(X[:, 0]))
        neighbors, _ = mdt.nearest_neighbors(X[present], NEIGHBORS)
        votes[present] += np.eye(votes.shape[1])[classes[present][neighbors]].mean(axis=1)
    return votes.argmax(axis=1)


def measure(name: str, seed: int) -> list[float]:
    """Return the scores of one mask."""
    views, classes = SETS[name].load()
    n_clusters = len(np.unique(classes))
    holed, _ = with_holes(views, "random", SHARE, seed)
    lacking = np.any([np.isnan(X[:, 0]) for X in holed], axis=0)
    complete, found = fit(views, n_clusters, seed), fit(holed, n_clusters, seed)
    pairs = [(complete, ~lacking), (found, ~lacking), (complete, lacking), (found, lacking)]
    pairs.append((vote(holed, classes), lacking))
    return [100 * adjusted_mutual_info_score(classes[chosen], labels[chosen]) for labels, chosen in pairs]


def main(names: list[str]) -> None:
    header = [
        "set",
        "all views: complete data",
        "with holes",
        "lacking: complete data",
        "with holes",
        "neighbours' classes",
    ]
    rows = []
    for name in names:
        scores = np.mean([measure(name, seed) for seed in range(SEEDS)], axis=0)
        rows.append([name, *(f"{score:.1f}" for score in scores)])
    print_table(header, rows)


if __name__ == "__main__":
    main(sys.argv[1:] or list(NAMES))
