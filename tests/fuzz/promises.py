"""What every successful call promises, whatever was given.

finite       no nan or inf in a result, except where its documentation says so
stochastic   rows of walks and memberships are distributions
in range     labels, indices, confidences and scores are within their bounds
repeatable   the same bits again, at another number of threads
round trip   pickle, copy and JSON give the same bits
no change    arguments are as they were
independent  a fitted object does not change with the arrays that it was given
present      views have the samples that were given, and their steps are those of views that lack samples
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
import os
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

import mdt_fast as mdt

# Leaves that documentation allows to be nan or inf: a score if nothing was scored, what one view adds to no other, ...
_MAY_BE_NOT_FINITE = re.compile(
    r"(score|scores|adds|score_|history\.score|seconds_left|remoteness|best_score|residuals|bandwidths.*|settings.*)$"
)
# Calls whose result may be inf: remoteness, sums of given numbers, and settings that are checked when they are used.
_MAY_RETURN_INF = frozenset({
    "OperatorSet.remoteness", "MDTClustering.remoteness", "SearchResult.to_frame", "Scoring", "Scoring.of",
    "Scoring.with_defaults",
    "MDT.impute", "MDTClustering.impute",
    "Trajectory.matmat", "Trajectory.matvec", "Trajectory.rmatmat", "Trajectory.rmatvec", "study.Cell.of",
    "study.Table",
})  # fmt: skip
_TIMES = re.compile(r"seconds|_written")
# Largest deviation of a row sum from 1, by the size of an element; weights from a file may deviate by 1e-8.
_TOLERANCE = {4: 1e-4, 8: 2e-8}


class BrokenPromiseError(Exception):
    """A result that is not what the package promises."""


def leaves(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield the arrays and simple values of which an object consists, with their paths."""
    if depth > 12:
        return
    inside: Iterator[tuple[str, Any]] | None = None
    if isinstance(value, np.ndarray):
        if value.dtype.names:
            inside = ((f".{name}", value[name]) for name in value.dtype.names)
        elif value.dtype == object:
            inside = ((f"[{i}]", each) for i, each in enumerate(value.ravel()))
    elif sparse.issparse(value):
        # As they are: SciPy reads beyond the arrays of a matrix that contradicts itself when it converts it.
        parts = ("indptr", "indices", "data", "row", "col", "offsets", "rows", "shape")
        held = {name: getattr(value, name) for name in parts if hasattr(value, name)}
        inside = iter([(f".{name}", part) for name, part in held.items()])
    elif isinstance(value, Mapping):
        inside = ((f".{key}", each) for key, each in value.items())
    elif isinstance(value, (list, tuple)):
        inside = ((f"[{i}]", each) for i, each in enumerate(value))
    elif isinstance(value, mdt.OperatorSet):
        names = ("names", "n_views", "bandwidths", "n_duplicates", "n_samples", "views", "present", "metrics", "scales",
                 "absent")  # fmt: skip
        inside = ((f".{name}", getattr(value, name)) for name in names)
    elif isinstance(value, mdt.Trajectory):
        inside = iter([(".operators", value.operators), (".weights", value.weights)])
    elif isinstance(value, LinearOperator):
        inside = iter([(".product", value @ np.linspace(-1.0, 1.0, value.shape[1]))])
    elif dataclasses.is_dataclass(value) and not isinstance(value, type) and not hasattr(value, "fit"):
        inside = ((f".{each.name}", getattr(value, each.name)) for each in dataclasses.fields(value))
    elif hasattr(value, "get_params") and hasattr(value, "fit"):
        fitted = {name: each for name, each in vars(value).items() if name.endswith("_")}
        inside = ((f".{name}", each) for name, each in sorted(fitted.items()))
    elif hasattr(value, "to_numpy") and hasattr(value, "columns"):
        inside = ((f".{name}", np.asarray(value[name])) for name in value.columns)
    if inside is None:
        yield path, value
        return
    for name, each in inside:
        yield from leaves(each, path + name, depth + 1)


def digest(value: Any) -> dict[str, str]:
    """Return the bits of every leaf except durations, by path."""
    return {path: _bits(leaf) for path, leaf in leaves(value) if not _TIMES.search(path)}


def _bits(leaf: Any) -> str:
    if isinstance(leaf, np.ndarray):
        # NumPy changes the order of bytes when it pickles, which is no difference.
        content = np.ascontiguousarray(leaf, dtype=leaf.dtype.newbyteorder("="))
        return f"{content.dtype.str}{leaf.shape}{hashlib.blake2b(content.tobytes(), digest_size=12).hexdigest()}"
    if isinstance(leaf, (float, np.floating)):
        return float(leaf).hex()
    if leaf is None or isinstance(leaf, (int, str, bytes, complex, np.generic, os.PathLike)):
        return repr(leaf)
    return type(leaf).__name__


def compare(first: dict[str, str], second: dict[str, str], what: str) -> None:
    """Raise if two digests differ."""
    for path in {**first, **second}:
        if first.get(path) != second.get(path):
            raise BrokenPromiseError(f"{what}: {path or 'the result'} differs")


def check_result(name: str, value: Any, *, has_absences: bool = False) -> None:
    """Raise if a result is not finite, not stochastic or out of range.

    With `has_absences` a view may lack the samples that a score or an expected feature needs.
    """
    for path, leaf in leaves(value) if name not in _MAY_RETURN_INF and not name.startswith("strategies.") else ():
        may_be_nan = has_absences and (name.startswith("quality.") or path.endswith((".stay", ".agreement")))
        _check_leaf(path, np.nan_to_num(leaf, posinf=np.inf, neginf=-np.inf) if may_be_nan else leaf)
    for each in _parts(value):
        if isinstance(each, mdt.OperatorSet):
            for v, P in enumerate(each.views):
                _check_distributions(P, f"views[{v}]")
            check_absences(each)
        elif isinstance(each, mdt.Trajectory):
            _check_distributions(each.weights, "weights")
    if name in _BY_NAME:
        _BY_NAME[name](value)


def check_absences(ops: mdt.OperatorSet) -> None:
    """Raise if the steps of views that lack samples are not those of the definition."""
    present, n_given = ops.present, len(ops.given_names)
    if present.dtype != bool or present.shape != (ops.n_samples, ops.n_views):
        raise BrokenPromiseError("present: expected a table of booleans")
    if (
        ops.has_absences == present.all()
        or not present[:, :n_given].any(axis=1).all()
        or (present.sum(axis=0) < 2).any()
    ):
        raise BrokenPromiseError("present: has_absences, a sample or a view is wrong")
    if not ops.has_absences:
        return
    views = [P.toarray() for P in ops.views]
    tolerance = _TOLERANCE[ops.dtype.itemsize]
    for v, (P, has) in enumerate(zip(views, present.T, strict=True)):
        if P[np.ix_(has, ~has)].any():
            raise BrokenPromiseError(f"views[{v}]: a step leads to a sample that the view lacks")
        for i in np.flatnonzero(~has):
            lenders = np.flatnonzero(present[i, :n_given])
            expected = np.mean([views[u][i] for u in lenders], axis=0) if ops.absent == "borrow" else np.eye(len(P))[i]
            if np.abs(P[i] - expected).max() > tolerance:
                raise BrokenPromiseError(f"views[{v}]: row {i} is not that of a sample that the view lacks")


def check_present(ops: mdt.OperatorSet, known: list[NDArray[np.bool_]], views: Any, zero_rows: str) -> None:
    """Raise if an operator set has other samples in a view than were given."""
    given = list(views.values()) if isinstance(views, dict) else views if isinstance(views, (list, tuple)) else [views]
    for v, (has, name) in enumerate(zip(known, ops.given_names, strict=True)):
        found = ops.present[:, v]
        X = given[v] if len(given) == len(known) else None
        # Rows of zeros may count as absent.
        may_lack_more = zero_rows != "keep" and (X is None or sparse.issparse(X) or ops.metrics[v] == "cosine")
        if len(found) != len(has) or (found & ~has).any() or (not may_lack_more and (found != has).any()):
            raise BrokenPromiseError(f"present: {name} has other samples than were given")


def check_round_trips(value: Any) -> None:
    """Raise if pickle, copy or JSON change a result."""
    if hasattr(value, "get_params") and not _can_be_pickled(value.get_params()):
        # It holds what it was given.
        return
    before = digest(value)
    compare(before, digest(pickle.loads(pickle.dumps(value))), "pickle")
    compare(before, digest(copy.deepcopy(value)), "deepcopy")
    if isinstance(value, mdt.SearchResult):
        text = json.dumps(value.to_dict(), allow_nan=False)
        compare(before, digest(mdt.SearchResult.from_dict(json.loads(text), value.operators)), "to_dict and from_dict")


def _can_be_pickled(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except (TypeError, AttributeError, pickle.PicklingError):
        return False
    return True


def check_independence(value: Any, views: Any) -> None:
    """Overwrite the dense views of a fitted object; raise if its answers on new samples change.

    An object that refuses to answer after that has noticed the change, which is right, too.
    """
    given = (
        dict(views)
        if isinstance(views, dict)
        else dict(enumerate(views if isinstance(views, (list, tuple)) else [views]))
    )
    ask = next((getattr(value, name) for name in ("new_rows", "transform", "predict") if hasattr(value, name)), None)
    if ask is None or not all(isinstance(X, np.ndarray) and X.ndim == 2 and X.flags.writeable for X in given.values()):
        return
    rows = {key: X[:3].copy() for key, X in given.items()}
    new = rows if isinstance(views, dict) else list(rows.values())
    try:
        before = digest(ask(new))
        for X in given.values():
            X[...] = X[::-1].copy()
        after = digest(ask(new))
    except (ValueError, TypeError):
        return
    compare(before, after, "overwriting the views after the call")


def _parts(value: Any, depth: int = 0) -> Iterator[Any]:
    """Yield an object and the objects of the package in it."""
    yield value
    inside: list[Any] = []
    if isinstance(value, mdt.Trajectory):
        inside = [value.operators]
    elif isinstance(value, (list, tuple)):
        inside = list(value)
    elif isinstance(value, Mapping):
        inside = list(value.values())
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        inside = list(vars(value).values()) if hasattr(value, "__dict__") else []
    for each in inside if depth < 3 else []:
        yield from _parts(each, depth + 1)


def _check_leaf(path: str, leaf: Any) -> None:
    name = path.rpartition(".")[2].partition("[")[0]
    if isinstance(leaf, (float, np.floating)) or (isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc"):
        if not np.isfinite(leaf).all() and not _MAY_BE_NOT_FINITE.search(path):
            raise BrokenPromiseError(f"not finite: {path or 'the result'}")
        if name in ("confidence", "confidence_") and not ((np.asarray(leaf) >= 0) & (np.asarray(leaf) <= 1)).all():
            raise BrokenPromiseError(f"out of range: {path}")
        if name in ("singular_values", "singular_values_") and (np.asarray(leaf) < 0).any():
            raise BrokenPromiseError(f"negative: {path}")
    if name in ("labels", "labels_") and isinstance(leaf, np.ndarray) and leaf.dtype == np.int32 and (leaf < 0).any():
        raise BrokenPromiseError(f"negative: {path}")


def _check_distributions(P: Any, what: str) -> None:
    data = P.data if sparse.issparse(P) else np.asarray(P)
    tolerance = _TOLERANCE[data.dtype.itemsize]
    if not np.isfinite(data).all() or (data < -tolerance).any():
        raise BrokenPromiseError(f"not stochastic: {what} has an entry below 0 or not finite")
    sums = np.asarray(P.sum(axis=-1)).ravel()
    if sums.size and np.abs(sums - 1).max() > tolerance:
        raise BrokenPromiseError(f"not stochastic: a row of {what} sums to 1 {np.abs(sums - 1).max():+.2g}")


def _each_distribution(rows: Any) -> None:
    for v, P in enumerate(rows if isinstance(rows, list) else [rows]):
        _check_distributions(P, f"result[{v}]")


def _between(low: float, high: float) -> Callable[[Any], None]:
    def check(value: Any) -> None:
        score = np.asarray(value)
        # Where nan is wrong, it is not finite, either.
        if not ((score >= low) & (score <= high) | np.isnan(score)).all():
            raise BrokenPromiseError(f"out of range: {value} is not from {low} to {high}")

    return check


def _check_neighbours(value: Any) -> None:
    indices, distances = value
    n = len(indices)
    if ((indices < 0) | (indices >= n)).any() or (indices == np.arange(n)[:, np.newaxis]).any():
        raise BrokenPromiseError("out of range: an index is not one of another sample")
    if (np.diff(distances, axis=1) < 0).any() or (distances < 0).any():
        raise BrokenPromiseError("out of range: distances are negative or not in order")


def _check_neighbour_graph(graph: Any) -> None:
    lengths = np.diff(graph.indptr)
    table = graph.data.reshape(graph.shape[0], -1)
    if len(set(lengths.tolist())) != 1 or not sparse.issparse(graph) or graph.format != "csr":
        raise BrokenPromiseError("rows of a neighbour graph have different numbers of entries")
    if ((graph.indices < 0) | (graph.indices >= graph.shape[1])).any():
        raise BrokenPromiseError("out of range: an index is not one of a training sample")
    if any(len(set(row)) != lengths[0] for row in graph.indices.reshape(table.shape).tolist()):
        raise BrokenPromiseError("a row of a neighbour graph has an index twice")
    if (np.diff(table, axis=1) < 0).any() or (table < 0).any():
        raise BrokenPromiseError("out of range: distances are negative or not in order")


def _check_own_graph(graph: Any) -> None:
    _check_neighbour_graph(graph)
    if (graph.indices.reshape(graph.shape[0], -1)[:, 0] != np.arange(graph.shape[0])).any():
        raise BrokenPromiseError("the first neighbour of a training sample is not the sample itself")


def _check_k_means(value: Any) -> None:
    labels = value.labels
    if labels.max(initial=0) >= len(value.centers) or value.inertia < 0:
        raise BrokenPromiseError("out of range: labels or inertia")
    first = [int(np.flatnonzero(labels == k)[0]) for k in np.unique(labels)]
    if first != sorted(first):
        raise BrokenPromiseError("labels: clusters are not numbered in the order of their first samples")


def _check_remoteness(value: Any) -> None:
    rows = np.asarray(value).reshape(len(value), -1 if len(value) else 1)
    # A sample is nan in the views that lack it, and some view has it.
    if np.isnan(rows).all(axis=1).any() or (rows < 0).any():
        raise BrokenPromiseError("remoteness: nan or negative")


def _check_imputation(value: Any) -> None:
    values, mass = np.asarray(value.values), value.mass
    if len(values) != len(mass) or (np.diff(value.samples) <= 0).any() or (mass < 0).any() or (mass > 1 + 1e-4).any():
        raise BrokenPromiseError("impute: samples or mass out of range")
    if not np.array_equal(np.isnan(values).all(axis=1), mass == 0) or np.isnan(values[mass > 0]).any():
        raise BrokenPromiseError("impute: expected nan exactly where no walk ends at a sample with the view")


_BY_NAME: dict[str, Callable[[Any], None]] = {
    "MDTClustering.memberships": _each_distribution,
    "OperatorSet.new_rows": _each_distribution,
    "Trajectory.toarray": _each_distribution,
    "Trajectory.stationary_distribution": _each_distribution,
    "quality.silhouette": _between(-1.0, 1.0),
    "quality.davies_bouldin": _between(0.0, np.inf),
    "quality.calinski_harabasz": _between(0.0, np.inf),
    "nearest_neighbors": _check_neighbours,
    "NeighborsTransformer.fit_transform": _check_own_graph,
    "NeighborsTransformer.transform": _check_neighbour_graph,
    "k_means": _check_k_means,
    "OperatorSet.remoteness": _check_remoteness,
    "MDTClustering.remoteness": _check_remoteness,
    "MDT.impute": _check_imputation,
    "MDTClustering.impute": _check_imputation,
}
