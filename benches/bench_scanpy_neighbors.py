"""`scanpy.pp.neighbors` with NeighborsTransformer against its default search, pynndescent.

Measures elapsed and processor seconds of ``sc.pp.neighbors(adata, n_neighbors=15)``: the search, and connectivities,
which take the same time for every search. All competitors have two threads and run in turns. The minimum of several
rounds is shown: on a busy machine the threads of pynndescent wait for each other, and its medians are several times
larger. Recall is the share of the 15 nearest others of 1,000 samples that the stored distances contain.

scanpy gives pynndescent its own settings (numbers of trees and iterations from the number of samples). pynndescent
0.7 returns a sparse array, which scanpy 1.11 cannot read; it is made a matrix here.

Run: ``python benches/bench_scanpy_neighbors.py [--sizes N ...] [--data NAME ...] [--rounds R]``.
"""

import argparse
import functools
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import mdt_fast as mdt
from bench_approximate import THREADS, K, Truth, blobs, surface
from timing import print_table

COLUMNS = 50


def mnist() -> np.ndarray:
    """Return 50 principal components of MNIST's 60,000 training digits."""
    from mdt_fast.datasets._mnist import _read_digits
    from mdt_fast.datasets._prepare import principal_components

    images, _ = _read_digits(60_000, None, False)
    return principal_components(images.reshape(60_000, -1), COLUMNS).astype(np.float32)


def make_readable() -> None:
    """Let pynndescent return a sparse matrix."""
    from pynndescent import PyNNDescentTransformer

    transform = PyNNDescentTransformer.transform

    @functools.wraps(transform)
    def as_matrix(*arguments: Any, **options: Any) -> sparse.csr_matrix:
        return sparse.csr_matrix(transform(*arguments, **options))

    PyNNDescentTransformer.transform = as_matrix


def searches() -> dict[str, Callable[[], Any]]:
    """Return the values of scanpy's argument `transformer`; None is its default."""
    return {
        "scanpy's default": lambda: None,
        "method='auto'": lambda: mdt.NeighborsTransformer(K, n_jobs=THREADS),
        "method='approx'": lambda: mdt.NeighborsTransformer(K, method="approx", n_jobs=THREADS),
    }


def others(graph: Any) -> np.ndarray:
    """Return the neighbours of each sample without the sample itself."""
    found = graph.indices.reshape(graph.shape[0], -1)
    return found[found != np.arange(len(found))[:, None]].reshape(len(found), -1)


def compare(name: str, X: np.ndarray, rounds: int) -> None:
    import anndata
    import scanpy as sc

    adata, truth = anndata.AnnData(X), Truth(X)

    def neighbors(transformer: Callable[[], Any]) -> None:
        sc.pp.neighbors(adata, n_neighbors=K, use_rep="X", transformer=transformer())

    recall = {}
    for competitor, transformer in searches().items():
        neighbors(transformer)
        recall[competitor] = truth.recall(X, others(adata.obsp["distances"]))
    elapsed, used = (dict.fromkeys(recall, np.inf) for _ in range(2))
    for _ in range(rounds):
        for competitor, transformer in searches().items():
            began, used_before = time.perf_counter(), time.process_time()
            neighbors(transformer)
            elapsed[competitor] = min(elapsed[competitor], time.perf_counter() - began)
            used[competitor] = min(used[competitor], time.process_time() - used_before)
    first = next(iter(elapsed))
    print(f"#### {name}: N = {len(X):,}, d = {X.shape[1]}\n")
    rows = [
        [c, f"{elapsed[c]:.2f}", f"{elapsed[first] / elapsed[c]:.2f}", f"{used[c]:.2f}", f"{used[first] / used[c]:.2f}",
         f"{recall[c]:.3f}"]
        for c in elapsed
    ]  # fmt: skip
    print_table(["search", "seconds", "ratio", "processor seconds", "ratio", "recall"], rows)


def run(given: argparse.Namespace) -> None:
    import scanpy as sc

    warnings.simplefilter("ignore")
    make_readable()
    sc.settings.n_jobs = THREADS
    makers = {"clusters": ("Ten round clusters", blobs), "surface": ("A surface of 8 dimensions", surface)}
    for n in given.sizes:
        for name, make in (makers[data] for data in given.data if data in makers):
            compare(name, make(n, COLUMNS), given.rounds)
    if "mnist" in given.data:
        compare("MNIST, 50 components", mnist(), given.rounds)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[20_000, 50_000, 100_000])
    sets = ["clusters", "surface", "mnist"]
    parser.add_argument("--data", nargs="*", choices=sets, default=sets)
    parser.add_argument("--rounds", type=int, default=7)
    run(parser.parse_args())
