"""The forms in which views that lack samples are given."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mdt_fast._graphs.views import Holes, check_views, check_views_like, sample_labels


@pytest.fixture(name="X")
def samples_of_a_view(rng):
    return rng.normal(size=(6, 3))


def samples(view):
    return None if view.presence is None else view.presence.samples.tolist()


class TestRows:
    def test_nan(self, X):
        Y = X.copy()
        Y[[1, 4]] = np.nan
        first, second = check_views([X, Y], holes=Holes())
        assert samples(first) is None
        assert samples(second) == [0, 2, 3, 5]
        np.testing.assert_array_equal(second.data, X[[0, 2, 3, 5]])
        assert (second.n_samples, second.n_total) == (4, 6)

    def test_nan_of_a_sparse_view(self, X):
        Y = X.copy()
        Y[2] = np.nan
        _, second = check_views([X, sparse.csr_array(Y)], holes=Holes())
        assert samples(second) == [0, 1, 3, 4, 5]

    def test_none(self, X):
        rows = [None, [1.0, 2.0], [3.0, 4.0], None, [0.0, 0.0], [1.0, 1.0]]
        as_array = np.empty(6, dtype=object)
        as_array[:] = rows
        for given in (rows, tuple(rows), as_array):
            _, second = check_views([X, given], holes=Holes())
            assert samples(second) == [1, 2, 4, 5]
            np.testing.assert_array_equal(second.data[0], [1.0, 2.0])

    def test_nullable_columns(self, X):
        frame = pd.DataFrame({"a": [1, None, 3, 4, 5, 6], "b": [1, None, 3, 4, 5, 7]}, dtype="Int64")
        _, second = check_views([X, frame], holes=Holes())
        assert samples(second) == [0, 2, 3, 4, 5]

    def test_without_holes_they_are_refused(self, X):
        Y = X.copy()
        Y[1] = np.nan
        with pytest.raises(ValueError, match="got nan at row 1, column 0"):
            check_views([X, Y])

    def test_the_row_of_a_number_that_is_not_finite(self, X):
        Y = X.copy()
        Y[1] = np.nan
        Y[4, 2] = np.inf
        frame = pd.DataFrame(Y, columns=["a", "b", "c"])
        with pytest.raises(ValueError, match=r"got inf at row 4, column 2 \('c'\)$"):
            check_views([X, frame], holes=Holes())


class TestMasks:
    mask = np.array([True, False, True, True, True, False])

    @pytest.mark.parametrize(
        "present",
        [
            [None, mask],
            (None, mask.tolist()),
            {"b": mask},
            {"a": None, "b": mask},
            np.column_stack([np.ones(6, dtype=bool), mask]),
        ],
        ids=["list", "tuple", "dict", "dict with None", "table"],
    )
    def test_forms(self, X, present):
        Y = X.copy()
        # What a row holds that the mask excludes has no effect.
        Y[1] = [np.nan, 1.0, np.inf]
        _, second = check_views({"a": X, "b": Y}, holes=Holes(present))
        assert samples(second) == [0, 2, 3, 4]

    def test_beside_rows_of_nan(self, X):
        Y = X.copy()
        Y[0] = np.nan
        _, second = check_views([X, Y], holes=Holes([None, self.mask]))
        assert samples(second) == [2, 3, 4]

    @pytest.mark.parametrize(
        ("present", "error", "match"),
        [
            ([None], ValueError, "expected one mask for each of 2 views, got 1"),
            ({"c": mask}, ValueError, r"expected names among \['a', 'b'\], got 'c'"),
            ([None, mask[:3]], ValueError, r"present \(b\): expected shape \(6,\), one for each row, got \(3,\)"),
            ([None, mask.astype(int)], TypeError, r"present \(b\): expected booleans, .* got int64"),
            ([None, "yes"], TypeError, r"present \(b\): expected a mask of booleans"),
            ([None, [True, [False]]], ValueError, r"present \(b\): expected rows of numbers, got lists that make no"),
            ([None, [[True], []]], ValueError, r"present \(b\): expected rows of one length, got 1 .* and 0 in row 1"),
            (mask, ValueError, r"present: expected an \(N, V\) array or one mask for each view"),
            (3, TypeError, "present: expected masks of booleans"),
        ],
    )
    def test_refused(self, X, present, error, match):
        with pytest.raises(error, match=match):
            check_views({"a": X, "b": X}, holes=Holes(present))


class TestFrames:
    def test_outer_join(self, X):
        first = pd.DataFrame(X, index=list("abcdef"))
        second = pd.DataFrame(10 * X[:4], index=list("gdba"))
        third = pd.DataFrame(X[:2], index=list("hc"))
        views = check_views([first, second, third], holes=Holes(align="outer"))
        assert [samples(view) for view in views] == [[0, 1, 2, 3, 4, 5], [0, 1, 3, 6], [2, 7]]
        np.testing.assert_array_equal(views[1].data, 10 * X[[3, 2, 1, 0]])
        assert sample_labels([first, second, third], "outer").tolist() == list("abcdefgh")

    def test_labels_of_several_levels(self, X):
        labels = pd.MultiIndex.from_product([["a", "b", "c"], [0, 1]])
        frames = [pd.DataFrame(X, index=labels), pd.DataFrame(X[:3], index=labels[[4, 0, 1]])]
        views = check_views(frames, holes=Holes(align="outer"))
        assert [samples(view) for view in views] == [None, [0, 1, 4]]
        frames[1].index = pd.MultiIndex.from_tuples([("a", 0), ("a", None), ("b", 0)])
        with pytest.raises(ValueError, match=r"Xs \(view 1\): expected a row label for each sample, got a missing one"):
            check_views(frames, holes=Holes(align="outer"))

    @pytest.mark.parametrize("nothing", [[], (), {}])
    def test_labels_of_no_view(self, nothing):
        assert sample_labels(nothing, "outer") is None

    def test_labels_that_cannot_be_aligned_name_the_view(self, X):
        with pytest.raises(ValueError, match=r"X \(camera\): expected unique row labels"):
            sample_labels({"camera": pd.DataFrame(X, index=["a"] * 6)}, "outer")

    def test_rows_of_nan_of_a_frame_are_absent_too(self, X):
        first = pd.DataFrame(X, index=list("abcdef"))
        second = pd.DataFrame(X[:4].copy(), index=list("fgab"))
        second.loc["a"] = np.nan
        _, view = check_views([first, second], holes=Holes(align="outer"))
        assert samples(view) == [1, 5, 6]
        np.testing.assert_array_equal(view.data, X[[3, 0, 1]])

    def test_a_sample_without_a_row_of_numbers_is_refused(self, X):
        first = pd.DataFrame(X, index=list("abcdef"))
        second = pd.DataFrame(X[:3].copy(), index=list("fga"))
        second.loc["g"] = np.nan
        with pytest.raises(ValueError, match="expected every sample in at least one view, got 1 in none"):
            check_views([first, second], holes=Holes(align="outer"))

    def test_refused(self, X):
        frame = pd.DataFrame(X, index=list("abcdef"))
        with pytest.raises(
            TypeError, match=r"X \(view 1\): expected a data frame with row labels to align, got ndarray"
        ):
            check_views([frame, X], "X", Holes(align="outer"))
        repeated = pd.DataFrame(X, index=list("abcdea"))
        with pytest.raises(ValueError, match="expected unique row labels to align, got 'a' twice"):
            check_views([frame, repeated], "X", Holes(align="outer"))
        with pytest.raises(ValueError, match="align: expected one of 'outer'"):
            check_views([frame, frame], "X", Holes(align="inner"))
        with pytest.raises(ValueError, match="present: expected None with align='outer'"):
            check_views([frame, frame], "X", Holes([None, None], "outer"))
        other = pd.DataFrame(X, index=list("bcdefg"))
        with pytest.raises(ValueError, match="align='outer' joins the rows by their labels"):
            check_views([frame, other], "X", Holes())


class Modality(SimpleNamespace):
    """What is read of an AnnData."""


def multimodal(X, n=6):
    rna = Modality(X=sparse.csr_array(X), obsm={"X_pca": X[:, :2]})
    prot = Modality(X=sparse.csr_array(np.abs(X[:4])), obsm={})
    obsmap = {"rna": np.arange(1, n + 1, dtype=np.uint32), "prot": np.array([0, 2, 1, 0, 3, 4], dtype=np.uint32)}
    return SimpleNamespace(
        mod={"rna": rna, "prot": prot}, obsmap=obsmap, obs_names=pd.Index([f"cell {i}" for i in range(n)]), axis=0
    )


class TestMuData:
    def test_like(self, X):
        rna, prot = check_views(multimodal(X), holes=Holes())
        assert (rna.name, prot.name) == ("rna", "prot")
        np.testing.assert_array_equal(rna.data, X[:, :2])
        assert samples(prot) == [1, 2, 4, 5]
        np.testing.assert_array_equal(prot.data.toarray(), np.abs(X[[1, 0, 2, 3]]))
        assert sample_labels(multimodal(X))[0] == "cell 0"

    @pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::UserWarning")
    def test_of_the_package(self, X):
        mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")
        names = [f"cell {i}" for i in range(6)]
        rna = anndata.AnnData(X, obs=pd.DataFrame(index=names))
        prot = anndata.AnnData(np.abs(X[:4]), obs=pd.DataFrame(index=[names[i] for i in (5, 1, 4, 2)]))
        mdata = mudata.MuData({"rna": rna, "prot": prot})
        views = check_views(mdata, holes=Holes())
        order = list(mdata.obs_names)
        for view, modality in zip(views, (rna, prot), strict=True):
            has = range(6) if view.presence is None else view.presence.samples
            np.testing.assert_array_equal(view.data, modality[[order[i] for i in has]].X)

    def test_a_reduced_matrix_may_be_a_frame(self, X):
        mdata = multimodal(X)
        mdata.mod["rna"].obsm["X_pca"] = pd.DataFrame(X[:, :2], columns=["a", "b"])
        np.testing.assert_array_equal(check_views(mdata, holes=Holes())[0].data, X[:, :2])

    @pytest.mark.parametrize("rows", [[0, 2, 1, 0, 3, 5], [0, 2, 1, 0, 3, -1], [0, 2, 1], [0.5] * 6, ["a"] * 6, None])
    def test_rows_that_do_not_fit_are_refused(self, X, rows):
        mdata = multimodal(X)
        mdata.obsmap["prot"] = rows
        with pytest.raises(
            ValueError, match=r"Xs \(prot\): expected an obsmap with a number from 0 to 4 for each of 6 cells"
        ):
            check_views(mdata, holes=Holes())

    def test_shared_features_are_refused(self, X):
        mdata = multimodal(X)
        mdata.axis = 1
        with pytest.raises(ValueError, match=r"expected modalities that share cells \(axis 0\), got axis 1"):
            check_views(mdata, holes=Holes())


class TestNewSamples:
    def test_views_that_are_left_out(self, X):
        for given in ({"b": X}, [None, X]):
            first, second = check_views_like(given, ["a", "b"], "X", Holes())
            assert (first.n_samples, first.n_total) == (0, 6)
            assert samples(second) is None

    @pytest.mark.parametrize("given", [{}, [None, None]])
    def test_no_view(self, given):
        with pytest.raises(ValueError, match=r"X: expected (at least one view|2 views), got"):
            check_views_like(given, ["a", "b"], "X", Holes())

    def test_unknown_view(self, X):
        with pytest.raises(ValueError, match=r"X: expected a view for each of \['a', 'b'\], got \['c'\]"):
            check_views_like({"c": X}, ["a", "b"], "X", Holes())

    def test_sample_in_no_view(self, X):
        Y = X.copy()
        Y[4] = np.nan
        with pytest.raises(ValueError, match=r"expected every sample in at least one view, got 1 in none .* row 4"):
            check_views_like({"a": Y}, ["a", "b"], "X", Holes())


class TestMistakes:
    def test_labels_that_no_other_view_has(self, X):
        first = pd.DataFrame(X, index=list("abcdef"))
        second = pd.DataFrame(X, index=range(6))
        with pytest.raises(ValueError, match=r"X \(view 0\): expected row labels that another view has too, got none"):
            check_views([first, second], "X", Holes(align="outer"))

    def test_masks_of_a_frame_are_taken_by_name(self, X):
        mask = np.array([True, False, True, True, True, True])
        present = pd.DataFrame({"b": mask, "a": True})
        first, second = check_views({"a": X, "b": X}, holes=Holes(present))
        assert samples(first) is None
        assert samples(second) == [0, 2, 3, 4, 5]
