"""Exact neighbours in sparse views: the three views of the Debian packages, against scikit-learn's brute force.

scikit-learn searches the neighbours of 5,000 packages; its time for all is in proportion.

Run: ``MDT_FAST_DATA=... python benches/bench_sparse.py``.
"""

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

import mdt_fast as mdt
from timing import print_table, seconds_of

NEIGHBORS = 15
QUERIES = 5000
THREADS = 2
ROUNDS = 3


def measure(name: str, X: sparse.csr_array) -> tuple[list[str], float, float]:
    # A row of zeros has no direction.
    X = X[np.diff(X.indptr) > 0]
    own = seconds_of(lambda: mdt.nearest_neighbors(X, NEIGHBORS, metric="cosine", n_jobs=THREADS), ROUNDS)
    brute = NearestNeighbors(n_neighbors=NEIGHBORS + 1, metric="cosine", algorithm="brute", n_jobs=THREADS).fit(X)
    queries = np.linspace(0, X.shape[0] - 1, QUERIES).astype(int)
    other = seconds_of(lambda: brute.kneighbors(X[queries]), 1) * X.shape[0] / QUERIES
    # Neighbours at equal distances differ, the distances do not.
    found, expected = mdt.nearest_neighbors(X, NEIGHBORS, metric="cosine")[1], brute.kneighbors(X[queries[:100]])[0]
    np.testing.assert_allclose(found[queries[:100]], np.sort(expected)[:, 1:], atol=1e-7)
    cells = [name, f"{X.shape[0]:,} x {X.shape[1]:,}", f"{X.nnz:,}"]
    return [*cells, f"{own:.1f}", f"{other:.0f}", f"{other / own:.1f}"], own, other


def run() -> None:
    data = mdt.datasets.fetch_debian_packages()
    measured = [measure(name, X) for name, X in zip(data.view_names, data.views, strict=True)]
    own, other = sum(each[1] for each in measured), sum(each[2] for each in measured)
    rows = [*(each[0] for each in measured), ["all", "", "", f"{own:.1f}", f"{other:.0f}", f"{other / own:.1f}"]]
    print(f"### Exact neighbours in sparse views: cosine, {NEIGHBORS} neighbours, {THREADS} threads\n")
    print_table(["view", "shape", "entries", "mdt_fast, s", "scikit-learn, s", "ratio"], rows)


if __name__ == "__main__":
    run()
