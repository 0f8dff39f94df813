"""The command `mdt-fast doctor`: installed versions, a self-test, and the memory of a search."""

import importlib.metadata
import platform
import sys
import time
from dataclasses import asdict
from typing import Any

import numpy as np

from .. import _core
from .._clusters.k_means import k_means
from .._geometry.embedding import embed
from .._operators.build import build_operators
from .._search.memory_plan import plan_search
from .._support import memory as _memory
from .._support.one_thread import one_thread
from ..datasets import make_multiview_blobs
from .console import Console

# Samples from which on the assignment to landmarks is planned, too.
_MANY = 5_000_000
_REQUIRED = ("numpy", "scipy", "scikit-learn")
_OPTIONAL = ("matplotlib", "pandas", "pyarrow", "anndata", "mudata", "cma", "scikit-image", "zarr", "h5py", "dask")


def check_installation(
    console: Console,
    n_samples: int,
    n_views: int,
    n_neighbors: int,
    n_clusters: int,
    dtype: str,
    n_landmarks: int = 200_000,
) -> bool:
    """Print versions, the self-test and a memory plan; return whether the self-test passed."""
    versions = {
        "mdt_fast": _core.__version__,
        "build": "debug (slow)" if _core.DEBUG_BUILD else "release",
        "python": f"{platform.python_version()} ({sys.executable})",
        "system": f"{platform.system()} {platform.machine()}",
        "threads": _core.available_threads(),
        "cpu features": ", ".join(_core.cpu_features()) or "none beyond the baseline",
        "memory available": _size(_memory.available_bytes()),
        **{name: _version(name) for name in (*_REQUIRED, *_OPTIONAL)},
    }
    width = max(map(len, versions))
    for name, value in versions.items():
        console.print(f"{name.ljust(width)}  {'not installed' if value is None else value}")
    console.print()
    start = time.perf_counter()
    try:
        problems = self_test()
    except Exception as error:
        problems = [f"{type(error).__name__}: {error}"]
    if _core.DEBUG_BUILD:
        problems.append("built in debug mode: rebuild with `pip install .`")
    problems += [f"{name} is missing: pip install {name}" for name in _REQUIRED if versions[name] is None]
    seconds = time.perf_counter() - start
    console.print(f"self-test: {'passed' if not problems else 'FAILED'} in {seconds:.1f} s")
    for problem in problems:
        console.print(f"! {problem}")
    item_size, threads = np.dtype(dtype).itemsize, _core.available_threads()
    plan = plan_search(n_samples, n_views, n_neighbors, n_clusters, item_size, threads)
    console.print(
        f"\nEstimated memory of a beam search with {n_samples:,} samples, {n_views} views, {n_neighbors} neighbours, "
        f"{n_clusters} clusters, in {dtype}, without the views:"
    )
    for stage, size in plan.items():
        console.print(f"  {stage.ljust(max(map(len, plan)))}  {_size(size)}")
    document = {"versions": versions, "self_test": {"problems": problems, "seconds": seconds}, "memory": plan}
    if n_samples >= _MANY:
        document["assignment"] = _plan_assignment(console, n_samples, n_views, n_landmarks, n_clusters, dtype)
    console.document(document)
    return not problems


def _plan_assignment(
    console: Console, n_samples: int, n_views: int, n_landmarks: int, n_clusters: int, dtype: str
) -> dict[str, Any]:
    """Print the plan of an assignment of all samples to landmarks, and return it."""
    from .._assignment.assigner import Assigner
    from .._assignment.plan import has_index, measure_row, plan_assignment
    from .._estimators.mdt import MDTClustering

    def fit(views: list[Any]) -> Assigner:
        # The graphs of the default, with a joint view, which decide the time of a row; a single candidate.
        how: dict[str, Any] = {"n_neighbors": 15, "kernel": "adaptive", "anisotropy": 1.0, "joint": True}
        how["neighbors"] = "approx" if has_index(n_landmarks) else "exact"
        model = MDTClustering(n_clusters, strategy="mean", t=3, **how)
        return model.fit(views)._assigner()

    per_row = measure_row(fit, n_views, dtype)
    plan = plan_assignment(n_samples, n_views, n_landmarks, n_clusters, np.dtype(dtype).itemsize, per_row)
    console.print(
        f"\nWith {plan.n_landmarks:,} landmarks (--landmarks), 50 columns in each view, and workers with one thread; "
        f"this machine assigns {plan.rows_per_second:,.0f} rows a second on a thread, at most one worker a core:"
    )
    for workers, hours in plan.hours.items():
        time_text = f"{hours:.3g} hours" if hours >= 1 else f"{60 * hours:.3g} minutes"
        console.print(f"  {workers} worker{'s' if workers > 1 else ''}: {time_text}")
    console.print(
        f"  memory of a worker {_size(plan.worker_bytes)}, of which the model {_size(plan.model_bytes)}; results "
        f"{_size(plan.result_bytes)}; in memory at a time: one block of rows"
    )
    return asdict(plan)


def self_test() -> list[str]:
    """Compare a small example with NumPy and with one thread; return the problems."""
    data = make_multiview_blobs(300, n_clusters=3, random_state=0)
    # With 120 neighbours the graph connects the clusters.
    ops, alone = (build_operators(data.views, n_neighbors=120, n_jobs=jobs) for jobs in (None, 1))
    problems = []
    W = ops.trajectory([0, 1, 0])
    found = embed(W, 3, tol=1e-8)
    with one_thread():
        expected = np.linalg.svd(W.toarray(), compute_uv=False)[1:4]
    if not np.allclose(found.singular_values, expected, rtol=1e-6):
        problems.append(f"singular values {found.singular_values} differ from LAPACK's {expected}")
    if not np.array_equal(found.coordinates, embed(alone.trajectory([0, 1, 0]), 3, tol=1e-8).coordinates):
        problems.append("coordinates depend on the number of threads")
    labels = k_means(found.coordinates, 3, random_state=0).labels
    pairs = {(int(a), int(b)) for a, b in zip(labels, data.target, strict=True)}
    if not len(pairs) == len(set(labels.tolist())) == 3:
        problems.append("three separate clusters were not found")
    return problems


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _size(n_bytes: Any) -> str:
    return f"{n_bytes / 1e9:.3g} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.3g} MB"
