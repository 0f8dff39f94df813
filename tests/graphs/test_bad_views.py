"""Wrong views and graphs: errors name the argument, the expected and the given value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.neighbors import KNeighborsTransformer

import mdt_fast as mdt
from helpers.data import N_SAMPLES, good_view
from helpers.messages import EITHER, mentions, number


def spoiled(value, row=3, column=2, dtype=float):
    X = good_view().astype(dtype)
    X[row, column] = value
    return X


def given_graph(indices=None, distances=None):
    """A valid graph on a ring, from each point to the next three, with entries overwritten."""
    steps = np.arange(1, 4)
    ring = (np.arange(N_SAMPLES)[:, None] + steps) % N_SAMPLES
    lengths = np.tile(steps.astype(float), (N_SAMPLES, 1))
    for where, value in (indices or {}).items():
        ring[where] = value
    for where, value in (distances or {}).items():
        lengths[where] = value
    return ring, lengths


class TestViews:
    @pytest.mark.parametrize(("value", "text"), [(np.nan, "nan"), (np.inf, "inf"), (-np.inf, "inf")])
    @pytest.mark.parametrize(
        "wrap", [np.asarray, np.asfortranarray, pd.DataFrame, scipy.sparse.csr_array, scipy.sparse.csc_array]
    )
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_not_finite(self, value, text, wrap, dtype):
        Xs = [good_view(), wrap(spoiled(value, dtype=dtype))]
        with pytest.raises(ValueError, match=mentions("view 1", "row 3", "column 2", text)):
            mdt.build_operators(Xs)

    def test_not_finite_in_a_named_view(self):
        with pytest.raises(ValueError, match=mentions("sound", "row 3", "column 2")):
            mdt.build_operators({"sight": good_view(), "sound": spoiled(np.nan)})

    def test_first_bad_value_is_named(self):
        X = spoiled(np.nan, row=7, column=1)
        X[2, 3] = np.inf
        with pytest.raises(ValueError, match=mentions("row 2", "column 3")):
            mdt.build_operators([X])

    @pytest.mark.parametrize("n_samples", [N_SAMPLES - 1, N_SAMPLES + 3])
    def test_different_numbers_of_samples(self, n_samples):
        with pytest.raises(ValueError, match=mentions("view 1", number(N_SAMPLES), number(n_samples))):
            mdt.build_operators([good_view(), good_view(n_samples)])

    @pytest.mark.parametrize("Xs", [[], (), {}])
    def test_no_views(self, Xs):
        with pytest.raises(ValueError, match=mentions("Xs", "empty|at least one|no views|0 views")):
            mdt.build_operators(Xs)

    @pytest.mark.parametrize("n_samples", [0, 1])
    def test_too_few_samples(self, n_samples):
        with pytest.raises(ValueError, match=mentions("view 0", "samples|rows", number(n_samples))):
            mdt.build_operators([np.ones((n_samples, 3))])

    @pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame, scipy.sparse.csr_array])
    def test_no_features(self, wrap):
        with pytest.raises(ValueError, match=mentions("view 1", "features|columns", number(0))):
            mdt.build_operators([good_view(), wrap(np.ones((N_SAMPLES, 0)))])

    @pytest.mark.parametrize("shape", [(N_SAMPLES,), (N_SAMPLES, 2, 2), ()])
    def test_not_two_dimensional(self, shape):
        with pytest.raises(ValueError, match=mentions("view 0", "2-d|2d|two-dim|2 dim", number(len(shape)))):
            mdt.build_operators([np.ones(shape)])

    @pytest.mark.parametrize("shape", [(N_SAMPLES,), (N_SAMPLES, 2, 2)])
    def test_bare_array_not_two_dimensional(self, shape):
        with pytest.raises(ValueError, match=mentions("Xs|view 0", number(len(shape)))):
            mdt.build_operators(np.ones(shape))

    @pytest.mark.parametrize(
        ("X", "kind"),
        [
            (good_view().astype(object), "object"),
            (np.full((N_SAMPLES, 2), "far"), "str|<U"),
            (np.full((N_SAMPLES, 2), b"far"), r"bytes|\|S|S3"),
            (good_view() + 1j, "complex"),
            (good_view().astype(np.complex64), "complex"),
            (scipy.sparse.csr_array(good_view() + 1j), "complex"),
            (np.full((N_SAMPLES, 2), np.datetime64("2025-12-01")), "datetime"),
            (pd.DataFrame({"a": np.arange(12.0), "b": list("abcdefghijkl")}), "object|str"),
        ],
        ids=[
            "object",
            "string",
            "bytes",
            "complex",
            "complex64",
            "sparse complex",
            "dates",
            "DataFrame of strings",
        ],
    )
    def test_dtype(self, X, kind):
        with pytest.raises(TypeError, match=mentions("view 1", kind)):
            mdt.build_operators([good_view(), X])

    @pytest.mark.parametrize("Xs", [None, 3.0, "views.npy", [None], [good_view(), "sound"]])
    def test_wrong_kind_of_object(self, Xs):
        with pytest.raises(TypeError, match=mentions("Xs|view", "None|float|str")):
            mdt.build_operators(Xs)

    @pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "adaptive"])
    @pytest.mark.parametrize("preset", [None, "published"])
    def test_no_positive_distance(self, kernel, preset):
        with pytest.raises(ValueError, match=mentions("view 1", "positive distance|identical|distance")):
            mdt.build_operators([good_view(), np.full((N_SAMPLES, 3), 2.5)], kernel=kernel, preset=preset)

    def test_zero_row_has_no_cosine(self):
        X = good_view()
        X[4] = 0.0
        for view in (X, scipy.sparse.csr_array(X)):
            with pytest.raises(ValueError, match=mentions("view 0", "row 4", "cosine")):
                mdt.build_operators([view], metric="cosine")

    @pytest.mark.parametrize("option", [{"metric": "correlation"}, {"kernel": "correlation"}])
    def test_constant_row_has_no_correlation(self, option):
        X = good_view()
        X[4] = 1.7
        with pytest.raises(ValueError, match=mentions("view 0", "row 4", "correlation")):
            mdt.build_operators([X], **option)


class TestGivenGraphs:
    @pytest.mark.parametrize(
        ("graph", "fragments"),
        [
            (given_graph(indices={(3, 1): -1}), ["row 3", "-1"]),
            (given_graph(indices={(3, 1): N_SAMPLES}), ["row 3", number(N_SAMPLES)]),
            (given_graph(indices={(3, 1): 4}), ["row 3", "duplicate|twice|repeat"]),
            (given_graph(distances={(3, 1): -0.5}), ["row 3", r"-0\.5|negative"]),
            (given_graph(distances={(3, 1): np.nan}), ["row 3", "nan|finite"]),
            (given_graph(distances={(3, 1): np.inf}), ["row 3", "inf"]),
            ((given_graph()[0][:, :2], given_graph()[1]), [number(2), number(3)]),
            (tuple(part[:-1] for part in given_graph()), [number(N_SAMPLES), number(N_SAMPLES - 1)]),
            (scipy.sparse.csr_array(np.ones((N_SAMPLES, N_SAMPLES + 1))), [number(N_SAMPLES + 1)]),
            (scipy.sparse.csr_array(-np.ones((N_SAMPLES, N_SAMPLES))), ["-1|negative"]),
            (KNeighborsTransformer(n_neighbors=3, mode="connectivity"), ["mode", "distance"]),
        ],
        ids=[
            "index -1",
            "index N",
            "repeated index",
            "negative distance",
            "NaN distance",
            "infinite distance",
            "shapes differ",
            "too few rows",
            "sparse not square",
            "sparse negative",
            "connectivity transformer",
        ],
    )
    def test_neighbors(self, graph, fragments):
        with pytest.raises(ValueError, match=mentions("neighbors", *fragments)):
            mdt.build_operators([good_view()], neighbors=[graph])

    def test_unchanged_graph_is_accepted(self):
        assert len(mdt.build_operators([good_view()], neighbors=[given_graph()])) == 1

    def test_fractional_indices(self):
        indices, distances = given_graph()
        with pytest.raises(EITHER, match=mentions("neighbors", "integer", "float64")):
            mdt.build_operators([good_view()], neighbors=[(indices.astype(float), distances)])

    @pytest.mark.parametrize(
        ("D", "fragments"),
        [
            (np.ones((N_SAMPLES, 3)), ["square", number(3)]),
            (-np.ones((N_SAMPLES, N_SAMPLES)), ["-1|negative"]),
            (np.full((N_SAMPLES, N_SAMPLES), np.nan), ["nan"]),
        ],
        ids=["not square", "negative", "NaN"],
    )
    def test_precomputed(self, D, fragments):
        with pytest.raises(ValueError, match=mentions("view 0", *fragments)):
            mdt.build_operators([D], metric="precomputed")


class TestEasyMistakes:
    def test_masked_array(self):
        X = np.ma.masked_greater(good_view(), 1.0)
        with pytest.raises(TypeError, match=r"Xs \(view 0\).*masked"):
            mdt.build_operators([X])

    def test_nullable_columns_are_numbers(self):
        frame = pd.DataFrame(good_view()).astype("Float64")
        np.testing.assert_array_equal(
            mdt.build_operators([frame]).views[0].data, mdt.build_operators([good_view()]).views[0].data
        )
        frame.iloc[3, 2] = pd.NA
        with pytest.raises(ValueError, match="row 3, column 2"):
            mdt.build_operators([frame])

    def test_names_that_become_equal(self):
        with pytest.raises(ValueError, match=r"Xs.*unique.*'1' twice"):
            mdt.build_operators({1: good_view(), "1": good_view()})

    def test_graph_without_edges(self):
        graph = scipy.sparse.csr_array((N_SAMPLES, N_SAMPLES))
        with pytest.raises(ValueError, match=r"neighbors.*without edges"):
            mdt.build_operators(good_view(), neighbors=graph)

    def test_precomputed_distances_to_oneself(self):
        with pytest.raises(ValueError, match=r"Xs.*itself.*row 0"):
            mdt.build_operators(np.ones((N_SAMPLES, N_SAMPLES)), metric="precomputed")
