"""What an estimator does with its input beside reading it: `y`, row labels, ownership, warnings."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from sklearn import config_context
from sklearn.datasets import load_wine

import mdt_fast as mdt
from helpers.estimators import GRAPH, LABELS, SLICES, N, both, frames, of_new_samples, quick, whole, whole_frame
from helpers.estimators import views as shared_views


def views():
    """Views that may be overwritten."""
    return [X.copy() for X in shared_views()]


EVERY = {
    "MDT": lambda: quick(mdt.MDT),
    "MDTClustering": lambda: quick(mdt.MDTClustering),
    **{
        name: lambda name=name: mdt.baselines.make(name, n_clusters=3, **GRAPH)
        for name in mdt.baselines.names()
        if name != "DM"
    },
}
every = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


@every
class TestViewInPlaceOfY:
    @pytest.mark.parametrize(
        "y",
        [
            lambda: views()[1],
            lambda: frames()[1],
            lambda: scipy.sparse.csr_array(views()[1]),
            lambda: views()[1].tolist(),
            lambda: [views()[1]],
            lambda: {"other": views()[1]},
        ],
        ids=["array", "frame", "sparse", "rows", "list", "dict"],
    )
    def test_refused(self, make, y):
        for method in ("fit", "fit_transform", "fit_predict"):
            call = getattr(make(), method, None)
            if call is not None:
                with pytest.raises(ValueError, match=r"^y: expected None or one label .*fit\(\[X1, X2\]\)"):
                    call(views()[0], y())

    @pytest.mark.parametrize(
        "y",
        [np.arange(N), ["a"] * N, pd.Series(range(N)), np.arange(N)[:, np.newaxis]],
        ids=["array", "list", "series", "column"],
    )
    def test_labels_are_ignored(self, make, y):
        make().fit(views(), y)


class TestRowLabels:
    @pytest.mark.parametrize(
        ("given", "slices"),
        [
            (lambda: frames(LABELS), None),
            (lambda: dict(zip("ab", frames(LABELS), strict=True)), None),
            (lambda: [views()[0], frames(LABELS)[1]], None),
            (lambda: [frames()[0], frames(LABELS)[1]], None),
            (lambda: whole_frame(LABELS), SLICES),
            (lambda: [whole_frame(LABELS)], SLICES),
        ],
        ids=["list", "dict", "array, frame", "default, labels", "one frame", "one frame in a list"],
    )
    def test_pandas_output(self, given, slices):
        fitted = quick(mdt.MDT, view_slices=slices).set_output(transform="pandas")
        for found in (fitted.fit_transform(given()), fitted.transform(given())):
            assert isinstance(found, pd.DataFrame)
            assert list(found.index) == LABELS
            assert list(found.columns) == ["mdt0", "mdt1"]
            np.testing.assert_allclose(found.to_numpy(), fitted.embedding_, atol=1e-8)

    def test_global_setting_and_others(self):
        fitted = quick(mdt.MDT).fit(frames(LABELS))
        assert isinstance(fitted.transform(frames(LABELS)), np.ndarray)
        with config_context(transform_output="pandas"):
            assert list(fitted.transform(frames(LABELS)).index) == LABELS
            assert list(fitted.transform(views()).index) == list(range(N))
            assert list(quick(mdt.MDT).fit_transform(fitted.operators_).index) == list(range(N))
        polars = pytest.importorskip("polars")
        with config_context(transform_output="polars"):
            assert isinstance(fitted.transform(frames(LABELS)), polars.DataFrame)


FORMS = {
    "arrays": views,
    "one array": whole,
    "Fortran order": lambda: [np.asfortranarray(X) for X in views()],
    "float32": lambda: [X.astype(np.float32) for X in views()],
    "frames": lambda: [frame.copy() for frame in frames()],
    "read-only view of an array": lambda: [np.broadcast_to(X, X.shape) for X in views()],
    "sparse": lambda: [scipy.sparse.csr_array(X) for X in views()],
}


def overwrite(X):
    """Change an array, frame or matrix in place, through whatever it is a view of."""
    if isinstance(X, pd.DataFrame):
        X.iloc[:, :] = 7.0
    elif scipy.sparse.issparse(X):
        X.data[:] = 7.0
    else:
        while X.base is not None:
            X = X.base
        X[...] = 7.0


class TestOwnership:
    @both
    @pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
    def test_overwritten_views(self, make, form):
        given, new = form(), [X[:9] + 0.1 for X in views()]
        new = np.hstack(new) if isinstance(given, np.ndarray) else new
        slices = SLICES if isinstance(given, np.ndarray) else None
        fitted = quick(make, view_slices=slices).fit(given)
        expected = of_new_samples(fitted, new)
        saved = pickle.dumps(fitted)
        for X in given if isinstance(given, list) else [given]:
            overwrite(X)
        for model in (fitted, pickle.loads(saved), pickle.loads(pickle.dumps(fitted))):
            np.testing.assert_array_equal(of_new_samples(model, new), expected)

    def test_operators(self):
        given, new = views(), [X[:9] + 0.1 for X in views()]
        ops = mdt.build_operators(given, joint=True, **GRAPH)
        expected = [R.toarray() for R in ops.new_rows(new)], ops.remoteness(new), str(ops.check(warn=False))
        for X in given:
            overwrite(X)
        for rows, before in zip(ops.new_rows(new), expected[0], strict=True):
            np.testing.assert_array_equal(rows.toarray(), before)
        np.testing.assert_array_equal(ops.remoteness(new), expected[1])
        assert str(ops.check(warn=False)) == expected[2]

    def test_given_matrices(self):
        K = np.exp(-np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0))))
        for make, given in (
            (mdt.OperatorSet.from_affinities, scipy.sparse.csr_array(K)),
            (mdt.OperatorSet.from_transitions, scipy.sparse.csr_array(K / K.sum(axis=1, keepdims=True))),
        ):
            ops = make([given])
            before = ops.views[0].toarray()
            overwrite(given)
            np.testing.assert_array_equal(ops.views[0].toarray(), before)

    def test_memory_maps_are_not_copied(self, tmp_path):
        np.save(tmp_path / "X.npy", views()[0].astype(np.float32))
        for mode, is_shared in (("r", True), ("r+", False), ("c", False)):
            X = np.load(tmp_path / "X.npy", mmap_mode=mode)
            fitted = quick(mdt.MDT, strategy=[0]).fit(X)
            assert np.shares_memory(fitted.operators_._training_views[0].data, X) == is_shared

    def test_views_of_the_user_stay_writable(self):
        given = views()
        quick(mdt.MDT).fit(given)
        assert all(X.flags.writeable for X in given)


class TestFarSamples:
    @both
    def test_warning(self, make):
        new = [X[:5].copy() for X in views()]
        new[1][[1, 3]] *= 1000
        fitted = quick(make).fit(dict(zip(["sound", "sight"], views(), strict=True)))
        of_new_samples(fitted, [X[:5] for X in views()])
        message = r"^2 of 5 new samples are far from all training samples, .* \(the first is row 1, in sight\)"
        with pytest.warns(mdt.RemoteSamplesWarning, match=message) as caught:
            of_new_samples(fitted, new)
        # At the line that calls the estimator, not at one of the package.
        assert [Path(w.filename).name for w in caught] == ["estimators.py"]

    def test_memberships_and_remoteness(self):
        fitted = mdt.MDTClustering(3, **GRAPH).fit(views())
        new = [X[:5] * 1000 for X in views()]
        with pytest.warns(mdt.RemoteSamplesWarning, match="^5 of 5"):
            fitted.memberships(new)
        assert (fitted.remoteness(new) > 100).all()  # without a warning

    @pytest.mark.parametrize("seed", range(3))
    def test_ordinary_samples(self, seed):
        data = mdt.datasets.load_multiview_digits()
        order = np.random.default_rng(seed).permutation(len(data.target))[:800]
        mdt.build_operators([X[order[:600]] for X in data.views]).new_rows([X[order[600:]] for X in data.views])

    def test_dense_clump_beside_sparse_samples(self, rng):
        """A sample near a clump is far by the radius of the clump only."""
        X = np.vstack([1e-6 * rng.normal(size=(100, 2)), rng.normal(size=(200, 2))])
        ops = mdt.build_operators([X])
        assert (ops.remoteness([[[1e-3, 0.0]]]) > 10).all()
        ops.new_rows([[[1e-3, 0.0]]])


class TestFindingsOfFit:
    @every
    def test_one_line_with_the_name_of_the_view(self, make):
        X, Y = views()
        X[:30] = X.mean(axis=0)
        Y[-1] += 1e4
        with pytest.warns(mdt.ViewWarning) as caught:
            make().set_params(n_neighbors=8).fit({"sound": X, "sight": Y})
        (found,) = [w for w in caught if w.category is mdt.ViewWarning]
        message = str(found.message)
        assert "sound: 30 of 120 samples coincide with all their neighbours" in message
        assert "sight: 1 of 120 samples are far from all others" in message
        assert "\n" not in message
        assert found.filename == __file__

    def test_columns_in_different_units(self):
        X = load_wine().data
        with pytest.warns(
            mdt.ViewWarning, match=r"^view 0: column 12 holds 99 % of the variance of 13 columns; .* scale"
        ):
            mdt.MDT(strategy="mean").fit(X)
        report = mdt.build_operators([X, scipy.sparse.csr_array(X)]).check(warn=False)
        assert sum("99 % of the variance" in warning for warning in report.warnings) == 2

    @pytest.mark.parametrize(
        "prepare",
        [
            lambda X: X - X.mean(axis=0),
            lambda X: X / X.std(axis=0),
            lambda X: X[:, :1],
        ],
        ids=["principal components", "scaled", "one column"],
    )
    def test_no_finding(self, prepare):
        assert not any(
            "variance" in w for w in mdt.build_operators([prepare(load_wine().data)]).check(warn=False).warnings
        )

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    def test_a_walk_that_hardly_moves(self):
        with pytest.warns(mdt.ViewWarning, match=r"^sound: a step stays where it is with probability 1\.000"):
            mdt.MDT(strategy=[0], bandwidth=1e-3).fit({"sound": whole()})

    def test_data_sets(self):
        for data in (mdt.datasets.load_multiview_digits(), mdt.datasets.make_helix_b(300)):
            mdt.MDT(strategy=[0, 1]).fit(data.views)  # warnings are errors


@pytest.mark.parametrize(
    "labels",
    [pd.Index([f"s{i}" for i in range(N)], dtype="string"), pd.Index(range(N), dtype="Int64")],
    ids=["text", "integers"],
)
def test_row_labels_of_other_types(labels):
    """Equal labels are equal, whatever pandas stores them as."""
    first, second = (pd.DataFrame(view) for view in views())
    first.index, second.index = labels, labels.astype(object)
    mdt.build_operators([first, second])
    second.index = labels[::-1]
    with pytest.raises(ValueError, match="expected rows in one order"):
        mdt.build_operators([first, second])
    second.index = pd.MultiIndex.from_product([["a"], range(N)])
    with pytest.raises(ValueError, match="same number of levels, got 1 in view 0 and 2 in view 1"):
        mdt.build_operators([first, second])


def test_empty_columns_change_nothing(rng):
    X = scipy.sparse.random_array((60, 40), density=0.4, random_state=rng, format="csr")
    wide = scipy.sparse.csr_array((X.data, X.indices, X.indptr), shape=(60, 10**6))
    assert_array_equal(mdt.MDT(2, strategy="mean").fit(wide).embedding_, mdt.MDT(2, strategy="mean").fit(X).embedding_)
