"""Forms of views that the estimators accept, and the order of their rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import mdt_fast as mdt
from helpers.estimators import (
    GRAPH,
    LABELS,
    ONE,
    SLICES,
    N,
    Wrapped,
    assert_same_fit,
    both,
    frames,
    of_new_samples,
    of_training,
    polars_frames,
    quick,
    views,
    whole,
)

SEVERAL = {
    "list": views,
    "tuple": lambda: tuple(views()),
    "frames": frames,
    "polars": polars_frames,
    "nested lists": lambda: [X.tolist() for X in views()],
    "__array__": lambda: [Wrapped(X) for X in views()],
    "mixed": lambda: [frames()[0], np.asfortranarray(views()[1])],
}
CUTS = {
    "pairs": SLICES,
    "slices": (slice(0, 4), slice(4, None)),
    "column numbers": [[0, 1, 2, 3], np.array([4, 5, 6])],
    "mixed": [slice(-7, -3), range(4, 7)],
}


@both
class TestForms:
    @pytest.mark.parametrize("form", SEVERAL.values(), ids=SEVERAL)
    def test_several_views(self, make, form):
        fitted = quick(make).fit(form())
        assert_same_fit(fitted, quick(make).fit(views()))
        assert fitted.view_names_ == ["view 0", "view 1"]
        np.testing.assert_allclose(of_new_samples(fitted, form()), of_training(fitted), atol=1e-8)

    def test_names(self, make):
        fitted = quick(make).fit(dict(zip(["sound", "sight"], views(), strict=True)))
        assert fitted.view_names_ == fitted.operators_.names == ["sound", "sight"]
        assert_same_fit(fitted, quick(make).fit(views()))
        # By name in any order; without names in the order of fit.
        X1, X2 = views()
        for new in ({"sight": X2, "sound": X1}, [X1, X2]):
            np.testing.assert_allclose(of_new_samples(fitted, new), of_training(fitted), atol=1e-8)

    def test_names_that_are_numbers(self, make):
        X = dict(enumerate(views()))
        fitted = quick(make).fit(X)
        np.testing.assert_allclose(of_new_samples(fitted, X), of_training(fitted), atol=1e-8)

    @pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csc_array", "coo_matrix", "dok_array"])
    @pytest.mark.parametrize("is_whole", [False, True], ids=["views", "whole"])
    def test_sparse(self, make, kind, is_whole):
        wrap = getattr(scipy.sparse, kind)
        X = wrap(whole()) if is_whole else [wrap(X) for X in views()]
        how = {"tol": 1e-10, "metric": "euclidean"}
        fitted = quick(make, view_slices=SLICES if is_whole else None, **how).fit(X)
        expected = quick(make, **how).fit(views())
        np.testing.assert_allclose(fitted.embedding_, expected.embedding_, atol=1e-6)
        np.testing.assert_allclose(of_new_samples(fitted, X), of_training(fitted), atol=1e-8)

    @pytest.mark.parametrize("form", ONE.values(), ids=ONE)
    @pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
    def test_views_in_one_array(self, make, form, cut):
        fitted = quick(make, view_slices=cut).fit(form())
        assert_same_fit(fitted, quick(make).fit(views()))
        assert (fitted.n_views_in_, fitted.n_features_in_) == (2, 7)
        np.testing.assert_allclose(of_new_samples(fitted, form()), of_training(fitted), atol=1e-8)

    def test_named_slices(self, make):
        fitted = quick(make, view_slices={"sight": slice(4, 7), "sound": (0, 4)}).fit(whole())
        assert fitted.view_names_ == ["sight", "sound"]
        assert_same_fit(fitted, quick(make).fit(views()[::-1]))
        X1, X2 = views()
        np.testing.assert_allclose(of_new_samples(fitted, {"sound": X1, "sight": X2}), of_training(fitted), atol=1e-8)

    @pytest.mark.parametrize("form", ONE.values(), ids=ONE)
    def test_one_array_is_one_view(self, make, form):
        fitted = quick(make, strategy=[0, 0]).fit(form())
        assert (fitted.n_views_in_, fitted.n_features_in_, fitted.view_names_) == (1, 7, ["view 0"])
        assert_same_fit(fitted, quick(make, strategy=[0, 0]).fit([whole()]))
        np.testing.assert_allclose(of_new_samples(fitted, form()), of_training(fitted), atol=1e-8)

    @pytest.mark.parametrize(
        "given", [whole, lambda: [whole()], lambda: {"sight": whole()}], ids=["it", "list", "dict"]
    )
    @pytest.mark.parametrize("new", [whole, lambda: [whole()]], ids=["it", "list"])
    def test_one_view_in_another_form(self, make, given, new):
        fitted = quick(make, strategy=[0, 0]).fit(given())
        np.testing.assert_allclose(of_new_samples(fitted, new()), of_training(fitted), atol=1e-8)


def backwards(index):
    return pd.Index(index)[::-1]


HALVES = ["p"] * (N // 2) + ["q"] * (N // 2)
# Row labels of the views, None for a default range.
REFUSED = {
    "another order": [LABELS, backwards(LABELS)],
    "another order than a default range": [None, backwards(range(N))],
    "other labels": [LABELS, [f"other {i}" for i in range(N)]],
    "one other label": [LABELS, [*LABELS[:-1], "other"]],
    "repeated labels, as many of others": [HALVES, ["p"] * N],
    "repeated labels": [HALVES, [*HALVES[:-1], "r"]],
    "another order after a default range": [None, LABELS, backwards(LABELS)],
    "other ranges": [range(5, N + 5), range(9, N + 9)],
    "default, other numbers": [None, range(5, N + 5)],
    "numbers after dropped rows, default": [[i for i in range(N + 1) if i != 7], None],
    "default, numbers as objects": [None, pd.Index(list(range(5, N + 5)), dtype=object)],
    "repeated labels in another order": [HALVES, HALVES[::-1]],
}
ACCEPTED = {
    "equal": [LABELS, LABELS],
    "default": [None, None],
    "default, labels": [None, LABELS],
    "labels, default": [LABELS, None],
    "equal ranges": [range(5, N + 5), list(range(5, N + 5))],
    "repeated labels": [HALVES, HALVES],
}


def labelled(indices):
    Xs = [*views(), views()[0]][: len(indices)]
    return [pd.DataFrame(X, index=index) for X, index in zip(Xs, indices, strict=True)]


READERS = {
    "build_operators": lambda Xs: mdt.build_operators(Xs, **GRAPH),
    "MDT": lambda Xs: quick(mdt.MDT).fit(Xs),
    "MDTClustering": lambda Xs: quick(mdt.MDTClustering).fit(dict(enumerate(Xs))),
    "transform": lambda Xs: quick(mdt.MDT).fit([np.asarray(X) for X in Xs]).transform(Xs),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
class TestRowOrder:
    @pytest.mark.parametrize("indices", REFUSED.values(), ids=REFUSED)
    def test_refused(self, read, indices):
        with pytest.raises(ValueError, match=r"^Xs?: expected .*(order|labels)"):
            read(labelled(indices))

    @pytest.mark.parametrize("indices", ACCEPTED.values(), ids=ACCEPTED)
    def test_accepted(self, read, indices):
        read(labelled(indices))

    def test_advice(self, read):
        with pytest.raises(
            ValueError,
            match=r"got (7|120) in .* only; align='outer' joins the rows .* df\.loc\[labels\] .* df\.to_numpy",
        ):
            read(labelled([[i for i in range(N + 1) if i != 7], None]))
        with pytest.raises(
            ValueError, match=r"another order in .* than in .*; df\.loc\[index of .*\] puts them in order"
        ):
            read(labelled([LABELS, backwards(LABELS)]))
        with pytest.raises(ValueError, match=r"repeated labels in another order .* make the labels unique"):
            read(labelled([HALVES, HALVES[::-1]]))

    def test_arrays_have_no_labels(self, read):
        frame, array = frames(LABELS)[0], views()[1]
        read([frame, array, frame])
        with pytest.raises(ValueError, match="order"):
            read([frame, array, frame[::-1]])
