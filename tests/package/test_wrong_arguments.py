"""Wrong arguments of all public functions and estimators: every error names the argument that was wrong."""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import mdt_fast as mdt

N = 24


class Anything:
    """An object without any interface."""

    def __repr__(self):
        return "Anything()"


# Values that few arguments accept. A value that is accepted is no fault; an error that does not name its argument is.
WRONG = {
    "object": Anything,
    "text": lambda: "nonsense",
    "bytes": lambda: b"nonsense",
    "path": lambda: Path("views.npy"),
    "numbers": lambda: np.array([5, 5]),
    "0-D": lambda: np.array(2.5),
    "3-D": lambda: np.ones((2, 2, 2)),
    "ragged": lambda: [[1, 2], [3]],
    "nested": lambda: [[[1.0]]],
    "empty": lambda: [],
    "mapping": lambda: {"a": 1},
    "generator": lambda: (i for i in range(3)),
    "nan": lambda: float("nan"),
    "negative": lambda: -1,
    "fraction": lambda: 2.5,
    "complex": lambda: 1j,
    "strings": lambda: np.full((N, 2), "a"),
    "dates": lambda: np.full((N, 2), np.datetime64("2025-12-01")),
    "not finite": lambda: np.full((N, 2), np.nan),
    "frame of strings": lambda: pd.DataFrame({"a": ["x"] * N}),
    "series": lambda: pd.Series(np.arange(N)),
    "sparse complex": lambda: scipy.sparse.csr_array(np.eye(N) * 1j),
}


@functools.cache
def given():
    """Arguments that every function accepts."""
    rng = np.random.default_rng(20251201)
    Xs = [rng.normal(size=(N, 3)), rng.normal(size=(N, 2))]
    ops = mdt.build_operators(Xs, n_neighbors=6, n_jobs=1)
    K = np.exp(-np.abs(np.subtract.outer(np.arange(float(N)), np.arange(float(N)))))
    W = ops.trajectory([0, 1])
    return {
        "Xs": Xs, "X": Xs[0], "Xs_new": Xs, "ops": ops, "W": W, "labels": np.arange(N) % 3, "n_clusters": 3,
        "n_neighbors": 6, "Ks": [K], "Ps": [K / K.sum(axis=1, keepdims=True)], "powers": [2], "steps": [0, 1],
        "step": 0, "rows": [0, 1], "index": 0, "name": "mean", "features": Xs,
    }  # fmt: skip


FUNCTIONS = {
    "build_operators": lambda: mdt.build_operators,
    "nearest_neighbors": lambda: mdt.nearest_neighbors,
    "k_means": lambda: mdt.k_means,
    "embed": lambda: mdt.embed,
    "select_time": lambda: mdt.select_time,
    "select_n_clusters": lambda: mdt.select_n_clusters,
    "search": lambda: functools.partial(mdt.search, n_clusters=3, strategy="beam", t=2),
    "view_report": lambda: mdt.view_report,
    **{
        f"quality.{name}": lambda name=name: getattr(mdt.quality, name)
        for name in mdt.quality.__all__
        if inspect.isfunction(getattr(mdt.quality, name))
    },
    "from_affinities": lambda: mdt.OperatorSet.from_affinities,
    "from_transitions": lambda: mdt.OperatorSet.from_transitions,
    **{
        f"OperatorSet.{name}": lambda name=name: getattr(given()["ops"], name)
        for name in (
            "with_teleport",
            "with_powers",
            "with_transitions",
            "trajectory",
            "new_rows",
            "remoteness",
            "check",
        )
    },
    **{
        f"Trajectory.{name}": lambda name=name: getattr(given()["W"], name)
        for name in ("extend", "tosparse", "stationary_distribution", "diffusion_distances")
    },
    "Embedding.transform": lambda: mdt.embed(given()["W"], 2).transform,
    "baselines.make": lambda: mdt.baselines.make,
}
PLOTS = {
    "embedding": lambda: {"coordinates": given()["X"]},
    "entropy": lambda: {"selection": mdt.select_time(given()["ops"])},
    "prr": lambda: {"values": {"a": [1.0, 2.0]}},
    "quality": lambda: {"times": [1, 2, 3], "curves": {"a": [0.1, 0.2, 0.3]}},
    "scores": lambda: {"values": {"a": 0.5, "b": 0.4}},
    "tree": lambda: {"result": mdt.search(given()["ops"], 3, strategy="beam", t=2)},
    "views": lambda: {"report": mdt.view_report(given()["ops"], labels=given()["labels"])},
    "weights": lambda: {"trajectory": given()["W"]},
}
ESTIMATORS = {
    "MDT": lambda **how: mdt.MDT(**{"strategy": "mean", **how}),
    "MDTClustering": lambda **how: mdt.MDTClustering(
        **{"n_clusters": 3, "n_neighbors": 6, "strategy": "beam", "t": 1, **how}
    ),
    **{
        name: lambda name=name, **how: mdt.baselines.make(name, **{"n_clusters": 2, **how})
        for name in ("AD", "ID", "MVD", "CrD", "ComD", "mean", "AA")
    },
}
# Warnings of the values that are accepted.
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


def unnamed(argument, call):
    """The errors of wrong values that do not name the argument."""
    faults = {}
    for kind, make in WRONG.items():
        try:
            call(make())
        except (TypeError, ValueError) as error:
            if not re.search(rf"\b{argument}\b", str(error)):
                faults[kind] = str(error)
    return faults


def parameters_of(function):
    return [p.name for p in inspect.signature(function).parameters.values() if p.kind is not p.VAR_KEYWORD]


def faults_of(call, needed):
    """The unnamed errors for each argument of a function; `needed` are good ones."""
    found = {
        argument: unnamed(argument, lambda value, argument=argument: call(**{**needed, argument: value}))
        for argument in parameters_of(call)
    }
    return {argument: faults for argument, faults in found.items() if faults}


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Text may be accepted as the name of a file that is written."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions(function):
    call = function()
    needed = {
        p.name: given()[p.name]
        for p in inspect.signature(call).parameters.values()
        if p.default is p.empty and p.kind is not p.VAR_KEYWORD
    }
    # Required in effect, though they have a default.
    needed |= {name: given()[name] for name in ("Xs", "Xs_new", "labels") if name in parameters_of(call)}
    assert not faults_of(call, needed)


@pytest.mark.parametrize(("name", "needed"), PLOTS.items(), ids=PLOTS)
def test_plots(plt, name, needed):
    draw = getattr(mdt.plot, name)

    def call(**arguments):
        draw(**{"ax": plt.figure(figsize=(2, 2)).add_subplot(), **arguments})
        plt.close("all")

    call.__signature__ = inspect.signature(draw)
    assert not faults_of(call, needed())
    plt.close("all")


@pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)
class TestEstimators:
    def test_parameters(self, make):
        Xs = given()["Xs"]
        faults = {
            name: found
            for name in make().get_params(deep=False)
            if (found := unnamed(name, lambda value, name=name: make(**{name: value}).fit(Xs)))
        }
        assert not faults

    def test_views(self, make):
        Xs = given()["Xs"]
        fitted = make().fit(Xs)
        for wrap in (
            lambda value: value,
            lambda value: [value, Xs[1]],
            lambda value: {"view 0": Xs[0], "view 1": value},
        ):
            methods = [
                fitted.fit,
                *(getattr(fitted, name) for name in ("transform", "predict") if hasattr(fitted, name)),
            ]
            for method in methods[::-1]:
                assert not unnamed("X", lambda value, method=method, wrap=wrap: method(wrap(value)))


def test_wrong_values_are_refused():
    """The table is of use only if its values are wrong."""
    for make in WRONG.values():
        for argument in ("Xs", "kernel", "metric", "joint"):
            arguments = {"Xs": given()["Xs"], argument: make()}
            with pytest.raises((TypeError, ValueError), match=rf"\b{argument}\b"):
                mdt.build_operators(**arguments)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: mdt.MDTClustering(2).fit(X[:2]), r"^n_clusters: expected an integer >= 1 and <= 1, got 2"),
        (
            lambda X: mdt.MDTClustering(2, metric="correlation").fit({"rna": constant(X)}),
            r"^X \(rna\): row 4 is constant",
        ),
        (lambda X: mdt.nearest_neighbors(constant(X), 2, metric="correlation"), r"^X \(view 0\): row 4 is constant"),
        (
            lambda X: mdt.nearest_neighbors(constant(X), 2, metric="correlation", method="approx"),
            r"^X \(view 0\): row 4 is constant",
        ),
        (
            lambda X: mdt.MDT(metric="correlation").fit({"rna": X}).transform({"rna": constant(X)}),
            r"^X \(rna\): row 4 is constant",
        ),
        (lambda X: mdt.MDT(kernel=lambda d: d * 0 + 1e308).fit({"rna": X}), r"^kernel \(rna\): row 0 .* sums to inf"),
        (lambda X: mdt.MDT(kernel=lambda d: [[1], [2, 3]]).fit({"rna": X}), r"^kernel \(rna\): expected a function"),
        (lambda X: mdt.MDT(n_neighbors=np.array([2.5, 3])).fit([X, X]), r"^n_neighbors: expected .* got 2.5"),
        (lambda X: mdt.MDT(n_neighbors=np.array([2, 3, 4])).fit([X, X]), r"^n_neighbors: .* each of 2 views, got 3"),
        (lambda X: mdt.MDT().fit([np.ones_like(X), X]), r"^X \(view 0\): expected some distinct samples"),
    ],
)
def test_messages(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(given()["X"])


def constant(X):
    X = X.copy()
    X[4] = 1.7
    return X


def test_an_array_with_one_value_for_each_view():
    Xs = given()["Xs"]
    found, expected = (mdt.build_operators(Xs, n_neighbors=each) for each in (np.array([4, 5]), [4, 5]))
    for a, b in zip(found.views, expected.views, strict=True):
        np.testing.assert_array_equal(a.toarray(), b.toarray())
