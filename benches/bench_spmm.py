"""Time of one step of a trajectory (sparse matrix times dense block) against SciPy's `csr @ dense`.

Run: ``python benches/bench_spmm.py``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import mdt_fast as mdt
from timing import print_table, time_in_turns

N, NEIGHBORS, COLUMNS, ROUNDS = 100_000, 15, 32, 21


def make_walk(kind: str, rng: np.random.Generator) -> sparse.csr_array:
    """Return a walk with random neighbours anywhere ("scattered") or within 50 rows ("local")."""
    if kind == "scattered":
        columns = rng.integers(0, N, (N, NEIGHBORS))
    else:
        columns = (np.arange(N)[:, None] + rng.integers(-50, 51, (N, NEIGHBORS))) % N
    rows = np.repeat(np.arange(N), NEIGHBORS)
    matrix = sparse.csr_array((rng.random(N * NEIGHBORS), (rows, columns.ravel())), shape=(N, N))
    matrix = sparse.csr_array(sparse.diags_array(1 / matrix.sum(axis=1)) @ matrix)
    matrix.sort_indices()
    return matrix


def compare(name: str, scipy_product: Callable[[], Any], ours: dict[str, Callable[[], Any]]) -> list[list[str]]:
    seconds = time_in_turns({"scipy": scipy_product, **ours}, ROUNDS)
    peer = seconds.pop("scipy")
    return [
        [name, who, f"{1e3 * peer:.1f}", f"{1e3 * took:.1f}", f"{peer / took:.2f}"] for who, took in seconds.items()
    ]


def compare_kind(kind: str, rng: np.random.Generator) -> list[list[str]]:
    P, B = make_walk(kind, rng), rng.normal(size=(N, COLUMNS))
    one, two = (mdt.OperatorSet.from_transitions([P], n_jobs=j).trajectory([0]) for j in (1, 2))
    forward = {"1 thread": lambda: one @ B, "2 threads": lambda: two @ B}
    # The transposed product of a reversible walk reads the same arrays. It has twice the entries.
    reversible = mdt.OperatorSet.from_affinities([P + P.T], n_jobs=2)
    Q, W = reversible.views[0], reversible.trajectory([0])
    return [
        *compare(f"{kind}, W @ B", lambda: P @ B, forward),
        *compare(f"{kind}, W.T @ B (reversible)", lambda: Q.T @ B, {"2 threads": lambda: W.T @ B}),
    ]


def run() -> None:
    print(f"### CSR x dense block: N = {N:,}, {NEIGHBORS} neighbours, {COLUMNS} columns, float64\n")
    rng = np.random.default_rng(0)
    rows = [row for kind in ("scattered", "local") for row in compare_kind(kind, rng)]
    print_table(["product", "ours on", "SciPy, ms", "ours, ms", "SciPy / ours"], rows)


if __name__ == "__main__":
    run()
