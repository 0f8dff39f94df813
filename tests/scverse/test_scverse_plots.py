"""Plots of what was written."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from mdt_fast import scverse as mv


@pytest.fixture
def drawn(mdata):
    mv.pp.neighbors(mdata)
    mdata.obsm["X_mdt"] = mdata["rna"].obsm["X_pca"][:, :3]
    mdata.obs["along"] = mdata["rna"].obs["along"]
    mdata.obs["number"] = [str(i % 12) for i in range(mdata.n_obs)]
    return mdata


def names_in(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


class TestEmbedding:
    def test_classes(self, plt, drawn):
        ax = mv.pl.embedding(drawn, color="type")
        assert names_in(ax) == ["B", "NK", "T"]
        assert ax.get_legend().get_title().get_text() == "type"

    def test_clusters_by_number(self, plt, drawn):
        assert names_in(mv.pl.embedding(drawn, "mdt", color="number")) == [str(i) for i in range(12)]

    def test_numbers(self, plt, drawn):
        ax = mv.pl.embedding(drawn, color="along", dimensions=(0, 2))
        assert ax.get_legend() is None
        assert ax.get_ylabel() == "coordinate 3"

    def test_missing_labels(self, plt, drawn):
        drawn.obs["some"] = drawn.obs["type"].where(drawn.obs["type"] != "B")
        assert names_in(mv.pl.embedding(drawn, color="some")) == ["NK", "T", "no value"]

    def test_on_given_axes(self, plt, drawn):
        _, ax = plt.subplots()
        assert mv.pl.embedding(drawn, ax=ax) is ax

    def test_wrong_names(self, plt, drawn):
        with pytest.raises(ValueError, match=r"basis: expected a key of .obsm, .*'X_mdt'"):
            mv.pl.embedding(drawn, "X_umap")
        with pytest.raises(ValueError, match=r"color: expected a column of .obs, .*'type'"):
            mv.pl.embedding(drawn, color="kind")


@pytest.mark.skipif(not hasattr(mdt.plot, "map"), reason="no plot of a map yet")
def test_map(plt, drawn):
    assert names_in(mv.pl.map(drawn, color="type")) == ["B", "NK", "T"]


class TestViewWeights:
    def test_by_group(self, plt, drawn):
        ax = mv.pl.view_weights(drawn, "type")
        assert [label.get_text() for label in ax.get_yticklabels()] == ["rna", "prot"]
        assert [label.get_text() for label in ax.get_xticklabels()] == ["B", "NK", "T"]
        assert ax.get_xlabel() == "type"
        shown = [float(text.get_text()) for text in ax.texts]
        means = drawn.obs.groupby("type", observed=True)["rna:mod_weight"].mean()
        np.testing.assert_allclose(shown[:3], means, atol=0.006)

    def test_all_cells(self, plt, drawn):
        ax = mv.pl.view_weights(drawn)
        assert [label.get_text() for label in ax.get_xticklabels()] == ["all cells"]

    def test_no_weights(self, plt, adata):
        with pytest.raises(ValueError, match=r"weight_key: expected columns of .obs that end in ':mod_weight'"):
            mv.pl.view_weights(adata)


def test_view_report(plt, drawn):
    with pytest.raises(ValueError, match=r"key: expected a table of tl.view_report in .uns"):
        mv.pl.view_report(drawn)
    mv.tl.view_report(drawn, "type")
    ax = mv.pl.view_report(drawn)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["rna", "prot", "joint"]
