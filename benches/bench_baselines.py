"""Time of the baselines, from operators to ten coordinates, against dense matrices.

Run: ``python benches/bench_baselines.py``. Data sets whose files are missing are skipped.
"""

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
# A dense decomposition of 6,000 samples takes minutes. Beyond this size only three baselines are
# run.
LARGE = 4000
N_STEPS = 20


def singular(A: np.ndarray) -> np.ndarray:
    U, s, _ = np.linalg.svd(A)
    return U[:, 1 : COMPONENTS + 1] * s[1 : COMPONENTS + 1]


def eigen(K: np.ndarray) -> np.ndarray:
    """Return leading right eigenvectors of D^-1 K times eigenvalues, from the symmetric form."""
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


def dense_baselines(
    Ks: list[np.ndarray], Ps: list[np.ndarray], times: dict[str, Any]
) -> dict[str, Callable[[], np.ndarray]]:
    """Return the dense version of each baseline, for given diffusion times."""
    found = {
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
        found["ComD"] = lambda: singular(Ps[1] @ Ps[0].T + Ps[0] @ Ps[1].T)
    return found


def run() -> None:
    rows = []
    for data in published_sets():
        ops = mdt.build_operators(data.views, n_jobs=THREADS)
        Ps = [P.toarray() for P in ops.views]
        Ks = [np.asarray(t.degrees)[:, np.newaxis] * P for t, P in zip(ops.transitions, Ps, strict=True)]
        is_large = ops.n_samples > LARGE
        # The choice of the times is not measured on either side.
        times = {"p-AD": 3, "ID": [3] * len(Ps)}
        for name, dense_baseline in dense_baselines(Ks, Ps, times).items():
            given = {"t": times[name]} if name in times else {}
            baseline = mdt.baselines.make(name, n_components=COMPONENTS, n_jobs=THREADS, **given)
            baseline.fit(data.views)
            ours = seconds_of(lambda: baseline._coordinates(ops, COMPONENTS), 5)  # noqa: B023
            whole = seconds_of(lambda: baseline.fit(data.views), 3)  # noqa: B023
            dense = None
            if not is_large or name in ("DM", "AD", "ComD"):
                with threadpool_limits(THREADS):
                    dense = seconds_of(dense_baseline, 1)
            cells = ["not run", ""] if dense is None else [f"{dense:.2f}", f"{dense / ours:.0f}"]
            rows.append([data.name, f"{ops.n_samples:,}", name, *cells, f"{1e3 * ours:.0f}", f"{1e3 * whole:.0f}"])
    print(f"### Baselines, {COMPONENTS} coordinates, {THREADS} threads (`python benches/bench_baselines.py`)\n")
    print_table(["data", "N", "baseline", "dense, s", "dense / ours", "ours, ms", "ours with the graphs, ms"], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore", mdt.OperatorWarning)
    run()
