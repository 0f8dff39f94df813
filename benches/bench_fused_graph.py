"""Definitions of a graph of all views, compared by the clusters that the Leiden algorithm finds in them.

Each definition gives one sparse graph. The resolution is searched that gives as many communities as there
are classes. The table has AMI x 100, means over seeds, for the data sets of quality_sets.py in two halves:
definitions are compared on "choose", and the answer is read from "confirm".

Run: ``python benches/bench_fused_graph.py [--half choose|confirm|all] [--seeds 3] [--sets NAME ...]``, with
``MDT_FAST_DATA`` set.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_mutual_info_score
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
from mdt_fast._fusion.base_weights import default_weights
from peers.graphs import concatenate
from quality_sets import SETS

N_NEIGHBORS = 15
# Coordinates of the diffusion maps in which neighbours are searched.
N_COMPONENTS = 15

Graphs = Iterator[tuple[str, sp.csr_array]]


def mean_of_directions(matrix: sp.csr_array) -> sp.csr_array:
    return sp.csr_array((matrix + matrix.T) / 2)


def largest(matrix: sp.csr_array, count: int) -> sp.csr_array:
    """Keep the `count` largest entries of each row, the diagonal apart."""
    entries = sp.csr_array(matrix).tocoo()
    off = entries.row != entries.col
    row, col, data = entries.row[off], entries.col[off], entries.data[off]
    order = np.lexsort((-data, row))
    starts = np.searchsorted(row[order], np.arange(matrix.shape[0]))
    kept = order[np.arange(len(order)) - starts[row[order]] < count]
    return sp.csr_array((data[kept], (row[kept], col[kept])), shape=matrix.shape)


def weighted_rows(walks: list[sp.csr_array], weights: np.ndarray, by_sample: np.ndarray) -> sp.csr_array:
    """Return the mean of the walks in which the given views have their weights at each sample."""
    n_given = by_sample.shape[1]
    own = weights[:n_given] * by_sample
    own *= weights[:n_given].sum() / own.sum(axis=1, keepdims=True)
    parts = [sp.diags_array(column) @ P for column, P in zip(own.T, walks, strict=False)]
    parts += [weight * P for weight, P in zip(weights[n_given:], walks[n_given:], strict=True)]
    return sp.csr_array(sum(parts[1:], start=parts[0]))


def fuzzy_graph(X: np.ndarray) -> sp.csr_array:
    """Return the connectivities of UMAP, which scanpy uses too."""
    from umap.umap_ import fuzzy_simplicial_set

    indices, distances = mdt.nearest_neighbors(X, N_NEIGHBORS)
    itself = np.arange(len(X))[:, np.newaxis]
    table = np.hstack([itself, indices]), np.hstack([np.zeros((len(X), 1)), distances]).astype(np.float32)
    graph, *_ = fuzzy_simplicial_set(
        sp.coo_matrix((len(X), 1)), N_NEIGHBORS + 1, None, None, knn_indices=table[0], knn_dists=table[1]
    )
    return sp.csr_array(graph)


def definitions(views: list[np.ndarray]) -> Graphs:
    """Yield the name and the graph of each definition."""
    yield "UMAP graph of all columns", fuzzy_graph(concatenate(views))
    yield "mean of the UMAP graphs", sum((fuzzy_graph(view) for view in views[1:]), start=fuzzy_graph(views[0]))
    how = {"n_neighbors": N_NEIGHBORS, "kernel": "adaptive", "anisotropy": 1.0, "metric": "auto", "scale": "auto"}
    ops = mdt.build_operators(views, joint="auto", **how)
    weights = default_weights(ops)
    walks = [sp.csr_array(P) for P in ops.views]
    mean = sum((weight * P for weight, P in zip(weights, walks, strict=True)), start=0 * walks[0])
    given = sum(walks[1 : len(ops.given_names)], start=walks[0]) / len(ops.given_names)
    if ops.joint is not None:
        yield "joint view alone", mean_of_directions(walks[ops.joint])
    yield "mean of the views", mean_of_directions(given)
    graph = mdt.fused_graph(ops)
    yield "fused_graph", graph.connectivities
    yield "the same, weights of samples", mean_of_directions(weighted_rows(walks, weights, graph.view_weights))
    yield "the same, largest 15", mean_of_directions(largest(mean, 15))
    yield "two steps, largest 15", mean_of_directions(largest(sp.csr_array(mean @ mean), 15))
    yield "two steps, largest 30", mean_of_directions(largest(sp.csr_array(mean @ mean), 30))
    t = mdt.select_time(ops).t
    trajectory = ops.trajectory(np.tile(weights, (t, 1)))
    sparse_product = trajectory.tosparse(top=100, prune_each_step=True)
    yield "t steps, largest 15", mean_of_directions(largest(sparse_product, 15))
    coordinates = mdt.embed(trajectory, min(N_COMPONENTS, len(views[0]) - 2)).coordinates
    yield "neighbours in coordinates", fuzzy_graph(np.ascontiguousarray(coordinates))


def table(sets: list[str], cells: dict[tuple[str, str], float]) -> None:
    methods = list(dict.fromkeys(method for _, method in cells))
    print("| definition | " + " | ".join(sets) + " | mean |\n|" + "---|" * (len(sets) + 2))
    for method in methods:
        values = [cells.get((name, method), np.nan) for name in sets]
        print(f"| {method} | " + " | ".join(f"{v:.1f}" for v in values) + f" | {np.nanmean(values):.1f} |")


def main(measure: Callable[[list[np.ndarray]], Graphs]) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=["choose", "confirm", "all"], default="all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", nargs="*", choices=list(SETS), default=list(SETS), metavar="NAME")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for half in ["choose", "confirm"] if given.half == "all" else [given.half]:
        sets = [name for name in given.sets if SETS[name].half == half]
        cells = {}
        for name in sets:
            views, classes = SETS[name].load()
            with threadpool_limits(1):
                for method, graph in measure([np.asarray(view) for view in views]):
                    k = len(np.unique(classes))
                    found = [mdt.leiden(graph, n_clusters=k, random_state=seed) for seed in range(given.seeds)]
                    cells[name, method] = 100 * np.mean([adjusted_mutual_info_score(classes, each) for each in found])
        print(f"\n### {half}: AMI x 100 of Leiden communities, as many as classes\n")
        table(sets, cells)


if __name__ == "__main__":
    main(definitions)
