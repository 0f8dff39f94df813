"""AMI of ways to cluster cells of which some lack a modality.

One view lacks a random share of the cells. The other view has them all. Ways:

- borrow: the default, a step of the view moves such a cell along its rows in the other view;
- stay: ``absent="stay"``, the step leaves it where it is;
- zeros: rows of zeros in place of the missing ones, then the default;
- imputed: the mean of the ten nearest cells by the other view that have both, then the default;
- assigned: the default on the cells that have both views, the others by ``predict``;
- complete data: nothing is missing.

No way uses the cell types; all know their number. Cells of unknown type are left out. The masks and the seeds
of the fits differ together. The AMI is that of all cells, of the cells that have both views, and of the cells that
lack one. The last column is a bound, not a way: a vote of the true types of five neighbours in the views that a cell
has (missing_bound.py).

Run: ``python benches/bench_partial_cells.py [--sets CITE-seq SNARE-seq] [--share 0.2] [--seeds 5]``, with
``MDT_FAST_DATA`` set.
"""

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from bench_missing import IMPUTED_FROM, cell, complete_only, fit, stay
from missing_bound import vote
from peers.base import Labels, Views
from quality_sets import SETS
from timing import print_table

CELLS = tuple(name for name, each in SETS.items() if each.kind == "cells")
VIEW_NAMES = {"CITE-seq": ("RNA", "protein"), "SNARE-seq": ("RNA", "chromatin")}


def zeros(views: Views, n_clusters: int, seed: int) -> Labels:
    """Put zeros in place of missing rows, and cluster."""
    return fit([np.nan_to_num(view, nan=0.0) for view in views], n_clusters, seed)


def imputed(views: Views, n_clusters: int, seed: int) -> Labels:
    """Put means over the nearest cells by the other view in place of missing rows, and cluster."""
    filled = [view.copy() for view in views]
    for view, other in ((0, 1), (1, 0)):
        lacking = np.isnan(views[view][:, 0])
        both = ~lacking & ~np.isnan(views[other][:, 0])
        if lacking.any():
            index = NearestNeighbors(n_neighbors=IMPUTED_FROM).fit(views[other][both])
            nearest = index.kneighbors(views[other][lacking], return_distance=False)
            filled[view][lacking] = views[view][both][nearest].mean(axis=1)
    return fit(filled, n_clusters, seed)


WAYS: dict[str, Callable[[Views, int, int], Labels | None]] = {
    "borrow": fit,
    "stay": stay,
    "zeros": zeros,
    "imputed": imputed,
    "assigned": complete_only,
}


def scores(labels: Labels, classes: np.ndarray, lacking: np.ndarray) -> list[float]:
    """Return AMI x 100 of all cells, of those that have both views and of those that lack one."""
    groups = (np.ones_like(lacking), ~lacking, lacking)
    return [100 * adjusted_mutual_info_score(classes[chosen], labels[chosen]) for chosen in groups]


def measure(name: str, view: int, share: float, seeds: int) -> dict[str, np.ndarray]:
    """Return for each way a (seeds, 3) array, the columns as in `scores`."""
    complete, classes = SETS[name].load()
    n, n_clusters = len(classes), len(np.unique(classes))
    found: dict[str, list[list[float]]] = {}
    for seed in range(seeds):
        lacking = np.zeros(n, dtype=bool)
        lacking[np.random.default_rng([seed, view]).permutation(n)[: round(share * n)]] = True
        holed = [np.where(lacking[:, None] & (v == view), np.nan, X) for v, X in enumerate(complete)]
        for way, run in WAYS.items():
            labels = run(holed, n_clusters, seed)
            assert labels is not None
            found.setdefault(way, []).append(scores(labels, classes, lacking))
        found.setdefault("complete data", []).append(scores(fit(complete, n_clusters, seed), classes, lacking))
        found.setdefault("neighbours' types", []).append(scores(vote(holed, classes), classes, lacking))
    return {way: np.array(values) for way, values in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", choices=CELLS, default=list(CELLS), metavar="NAME")
    parser.add_argument("--share", type=float, default=0.2)
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    tables: dict[str, list[list[str]]] = {"all cells": [], "cells with both views": [], "cells that lack the view": []}
    header: list[str] = []
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in given.sets:
            for view, view_name in enumerate(VIEW_NAMES[name]):
                found = measure(name, view, given.share, given.seeds)
                header = ["set", "lacking view", *found]
                for column, rows in enumerate(tables.values()):
                    rows.append([name, view_name, *(cell(values[:, column].tolist()) for values in found.values())])
    for group, rows in tables.items():
        print(f"#### AMI x 100 of {group}, {given.share:.0%} lack a view, mean (standard deviation over masks)\n")
        print_table(header, rows)


if __name__ == "__main__":
    main()
