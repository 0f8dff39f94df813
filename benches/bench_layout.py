"""Pictures of the samples in the plane, compared by the classes of neighbours.

The accuracy of a picture is the share of samples whose class is that of most of their 10 nearest samples in it.
No method uses the classes, apart from the number of clusters for which the graph is fitted. The last row is
the same vote by the 10 nearest samples in the fused graph, without a picture.

Run: ``python benches/bench_layout.py [--sets NAME ...]``, with ``MDT_FAST_DATA`` set; ``--sizes 5000 20000`` times
layouts of parts of MNIST instead.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
from quality_sets import SETS, loaded

N_NEIGHBORS = 10
NAMES = [
    "digits, features", "digits, noise 0.3", "digits", "Multi-Feat", "CITE-seq", "SNARE-seq", "K-MvMNIST", "100Leaves",
]  # fmt: skip
DIGITS = {"digits, features": {"kind": "features"}, "digits, noise 0.3": {"noise": 0.3}}

Pictures = Iterator[tuple[str, Callable[[], np.ndarray]]]


def load(name: str) -> tuple[list[np.ndarray], np.ndarray]:
    if name in DIGITS:
        return loaded(lambda: mdt.datasets.load_multiview_digits(**DIGITS[name]))
    return SETS[name].load()


def accuracy(neighbors: np.ndarray, classes: np.ndarray) -> float:
    """Return the share of samples that most of their neighbours classify rightly; of tied classes the first counts."""
    votes = np.zeros((len(classes), classes.max() + 1))
    np.add.at(votes, (np.arange(len(classes))[:, np.newaxis], classes[neighbors]), 1)
    return float((votes.argmax(axis=1) == classes).mean())


def umap_of_columns(views: list[np.ndarray]) -> np.ndarray:
    """UMAP of the columns of all views with the settings of scanpy; each view has a total variance of 1."""
    import umap

    columns = np.hstack([(view - view.mean(axis=0)) / np.sqrt(view.var(axis=0).sum()) for view in views])
    return umap.UMAP(n_neighbors=15, min_dist=0.5, random_state=0, n_jobs=1).fit_transform(columns)


def pictures(views: list[np.ndarray], n_clusters: int) -> Pictures:
    """Yield the name of each picture and the function that computes it."""
    model = mdt.MDTClustering(n_clusters).fit(views)
    graph = model.fused_graph()
    yield "MDT(2)", lambda: mdt.MDT(2).fit(views).embedding_
    yield "two singular vectors", lambda: model.embedding_[:, :2]
    yield "UMAP of all columns", lambda: umap_of_columns(views)
    yield "layout, UMAP", lambda: mdt.layout(graph, method="umap")
    yield "layout, t-SNE", lambda: mdt.layout(graph, method="tsne")
    yield "graph", lambda: graph.nearest(N_NEIGHBORS + 1)[0][:, 1:]


def compare(sets: list[str]) -> None:
    cells: dict[tuple[str, str], str] = {}
    for name in sets:
        views, classes = load(name)
        for method, compute in pictures([np.asarray(view) for view in views], len(np.unique(classes))):
            began = time.process_time()
            found = compute()
            seconds = time.process_time() - began
            if method == "graph":
                cells[name, method] = f"{accuracy(found, classes):.3f}"
                continue
            neighbors = mdt.nearest_neighbors(np.ascontiguousarray(found, dtype=np.float64), N_NEIGHBORS)[0]
            cells[name, method] = f"{accuracy(neighbors, classes):.3f} ({seconds:.1f} s)"
            print(name, method, cells[name, method], flush=True)
    methods = list(dict.fromkeys(method for _, method in cells))
    print("\n| picture | " + " | ".join(sets) + " |\n|" + "---|" * (len(sets) + 1))
    for method in methods:
        print(f"| {method} | " + " | ".join(cells[name, method] for name in sets) + " |")


def time_sizes(sizes: list[int]) -> None:
    data = mdt.datasets.fetch_k_mvmnist(s=0.5, n_samples=max(sizes))
    print("| samples | fit, s | UMAP, s | t-SNE, s |\n|---|---|---|---|")
    for n in sizes:
        views = [np.asarray(view[:n], dtype=np.float32) for view in data.views]
        began = time.process_time()
        graph = mdt.MDTClustering(10).fit(views).fused_graph()
        cells = [time.process_time() - began]
        for method in ("umap", "tsne"):
            began = time.process_time()
            mdt.layout(graph, method=method)
            cells.append(time.process_time() - began)
        print(f"| {n:,} | " + " | ".join(f"{seconds:.0f}" for seconds in cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="*", choices=[*DIGITS, *SETS], default=NAMES, metavar="NAME")
    parser.add_argument("--sizes", nargs="*", type=int, metavar="N")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        # Compile UMAP before it is timed.
        blobs = mdt.datasets.make_multiview_blobs(60, n_clusters=2, random_state=0).views
        mdt.layout(mdt.MDTClustering(2).fit(blobs).fused_graph(), method="umap")
        umap_of_columns(blobs)
        if given.sizes:
            time_sizes(given.sizes)
        else:
            compare(given.sets)


if __name__ == "__main__":
    main()
