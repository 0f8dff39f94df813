"""Baselines against the same formulas with dense N x N matrices, from the operators to ten coordinates."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
from bench_candidate import THREADS, published_sets
from timing import print_table, seconds_of

COMPONENTS = 10
# A dense decomposition of 6,000 samples takes minutes: there only the cheapest and the two-view ones.
LARGE = 4000
N_STEPS = 20


def singular(A: np.ndarray) -> np.ndarray:
    U, s, _ = np.linalg.svd(A)
    return U[:, 1 : COMPONENTS + 1] * s[1 : COMPONENTS + 1]


def eigen(K: np.ndarray) -> np.ndarray:
    """Right eigenvectors of D^-1 K times eigenvalues, through the symmetric form and only the leading ones."""
    roots = np.sqrt(K.sum(axis=1))
    n = len(K)
    values, vectors = eigh(K / roots / roots[:, np.newaxis], subset_by_index=(n - COMPONENTS - 1, n - 2))
    vectors = vectors / roots[:, np.newaxis]
    return vectors / np.linalg.norm(vectors, axis=0) * values


def cross(Ps: list[np.ndarray]) -> np.ndarray:
    Q = list(Ps)
    for _ in range(N_STEPS):
        total = sum(Q)
        Q = [P @ ((total - own) / (len(Ps) - 1)) @ P.T for P, own in zip(Ps, Q, strict=True)]
    return sum(Q) / len(Q)


def blocks(Ks: list[np.ndarray]) -> np.ndarray:
    return np.block([[Ku @ Kv if u != v else np.zeros_like(Ku) for v, Kv in enumerate(Ks)] for u, Ku in enumerate(Ks)])


def dense_ways(
    Ks: list[np.ndarray], Ps: list[np.ndarray], times: dict[str, Any]
) -> dict[str, Callable[[], np.ndarray]]:
    """Return the dense version of each baseline; the times are given, as ours chose them."""
    ways = {
        "DM": lambda: eigen(Ks[0]),
        "AD": lambda: singular(np.linalg.multi_dot(Ps)),
        "p-AD": lambda: singular(np.linalg.matrix_power(np.linalg.multi_dot(Ps), times["p-AD"])),
        "ID": lambda: singular(
            np.linalg.multi_dot([np.linalg.matrix_power(P, t) for P, t in zip(Ps, times["ID"], strict=True)])
        ),
        "MVD": lambda: eigen(blocks(Ks)),
        "CrD": lambda: singular(cross(Ps)),
        "mean": lambda: singular(sum(Ps) / len(Ps)),
        "AA": lambda: singular(sum(Ks) / sum(K.sum(axis=1, keepdims=True) for K in Ks)),
    }
    if len(Ps) == 2:
        ways["ComD"] = lambda: singular(Ps[1] @ Ps[0].T + Ps[0] @ Ps[1].T)
    return ways


def run() -> None:
    rows = []
    for data, views, _, _ in published_sets():
        ops = mdt.build_operators(views, n_jobs=THREADS)
        Ps = [P.toarray() for P in ops.views]
        Ks = [np.asarray(t.degrees)[:, np.newaxis] * P for t, P in zip(ops.transitions, Ps, strict=True)]
        is_large = ops.n_samples > LARGE
        # Our own choice of time is left out on both sides.
        times = {"p-AD": 3, "ID": [3] * len(Ps)}
        for name, way in dense_ways(Ks, Ps, times).items():
            given = {"t": times[name]} if name in times else {}
            baseline = mdt.baselines.make(name, n_components=COMPONENTS, n_jobs=THREADS, **given)
            baseline.fit(views)
            ours = seconds_of(lambda: baseline._coordinates(ops, COMPONENTS), 5)  # noqa: B023
            whole = seconds_of(lambda: baseline.fit(views), 3)  # noqa: B023
            dense = None
            if not is_large or name in ("DM", "AD", "ComD"):
                with threadpool_limits(THREADS):
                    dense = seconds_of(way, 1)
            cells = ["not run", ""] if dense is None else [f"{dense:.2f}", f"{dense / ours:.0f}"]
            rows.append([data, f"{ops.n_samples:,}", name, *cells, f"{1e3 * ours:.0f}", f"{1e3 * whole:.0f}"])
    print(f"### Baselines, {COMPONENTS} coordinates, {THREADS} threads (`python benches/bench_baselines.py`)\n")
    print_table(["data", "N", "baseline", "dense, s", "dense / ours", "ours, ms", "ours with the graphs, ms"], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", mdt.OperatorWarning)
    run()
