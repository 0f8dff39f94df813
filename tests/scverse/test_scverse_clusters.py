"""Clusters, coordinates and view reports in AnnData and MuData."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from mdt_fast import scverse as mv

VIEWS = ["X_pca", "protein"]
# The graphs of MDT have few neighbours.
in_parts = pytest.mark.filterwarnings("ignore:the steps of this trajectory leave:mdt_fast.OperatorWarning")


def agreement(data, key):
    return adjusted_mutual_info_score(data.obs[key], data.obs["type"])


class TestCluster:
    def test_is_the_estimator(self, adata, cells):
        mv.tl.cluster(adata, 3, views=VIEWS)
        model = mdt.MDTClustering(3).fit({"X_pca": cells["rna"], "protein": cells["prot"]})
        np.testing.assert_array_equal(adata.obs["mdt_cluster"].astype(int), model.labels_)
        np.testing.assert_array_equal(adata.obs["mdt_cluster_confidence"], model.confidence_)
        entry = adata.uns["mdt_cluster"]
        assert (entry["n_clusters"], entry["score"], entry["t"]) == (3, model.score_, model.t_)
        assert entry["params"]["views"].tolist() == VIEWS

    def test_labels_are_ordered_by_number(self, adata):
        mv.tl.cluster(adata, 12, views=VIEWS)
        labels = adata.obs["mdt_cluster"]
        assert isinstance(labels.dtype, pd.CategoricalDtype)
        assert labels.cat.categories.tolist() == [str(number) for number in range(12)]

    def test_without_a_number(self, adata):
        mv.tl.cluster(adata, views=VIEWS, resolution=0.3)
        few = adata.obs["mdt_cluster"].nunique()
        assert agreement(adata, "mdt_cluster") > 0.7
        mv.tl.cluster(adata, views=VIEWS, resolution=3.0)
        assert adata.obs["mdt_cluster"].nunique() > few
        assert adata.uns["mdt_cluster"]["params"]["resolution"] == 3.0
        assert adata.obs["mdt_cluster_confidence"].between(0, 1).all()

    @pytest.mark.filterwarnings("ignore::mdt_fast.ClusterSelectionWarning")
    def test_chooses_the_number(self, adata):
        mv.tl.cluster(adata, "auto", views=VIEWS)
        assert adata.uns["mdt_cluster"]["n_clusters"] == adata.obs["mdt_cluster"].nunique()

    @pytest.mark.parametrize("name", ["mdata", "partial"])
    def test_mudata(self, name, request):
        data = request.getfixturevalue(name)
        mv.tl.cluster(data, 3, key_added="clusters")
        assert agreement(data, "clusters") > 0.7
        assert data.uns["clusters"]["params"]["keys"].tolist() == ["X_pca", "X"]

    def test_views_of_the_stored_graph(self, adata):
        mv.pp.neighbors(adata, {"rna": "X_pca", "prot": "protein"}, key_added="other")
        mv.tl.cluster(adata, 3, neighbors_key="other")
        assert adata.uns["mdt_cluster"]["params"]["views"].tolist() == ["rna", "prot"]

    def test_one_view(self, adata, cells):
        mv.tl.cluster(adata, 3, views="protein")
        model = mdt.MDTClustering(3).fit({"protein": cells["prot"]})
        np.testing.assert_array_equal(adata.obs["mdt_cluster"].astype(int), model.labels_)

    @in_parts
    def test_options_and_returns(self, adata):
        model = mv.tl.cluster(adata, 3, views=VIEWS, strategy="beam", return_model=True)
        assert isinstance(model, mdt.MDTClustering)
        assert "mdt_cluster_confidence" not in adata.obs
        copied, model = mv.tl.cluster(adata, 4, views=VIEWS, return_model=True, copy=True)
        assert copied.uns["mdt_cluster"]["n_clusters"] == 4
        assert adata.uns["mdt_cluster"]["n_clusters"] == 3
        assert mv.tl.cluster(adata, 4, views=VIEWS) is None


@in_parts
class TestEmbed:
    def test_is_the_estimator(self, mdata, cells):
        mv.tl.embed(mdata, 3)
        model = mdt.MDT(3).fit({"rna": cells["rna"], "prot": cells["prot"]})
        np.testing.assert_array_equal(mdata.obsm["X_mdt"], model.embedding_)
        entry = mdata.uns["X_mdt"]
        np.testing.assert_array_equal(entry["singular_values"], model.singular_values_)
        np.testing.assert_array_equal(entry["weights"], model.trajectory_.weights)
        assert entry["members"].tolist() == ["rna", "prot"]
        assert entry["t"] == model.t_

    def test_options_and_returns(self, adata):
        copied, model = mv.tl.embed(adata, views=VIEWS, strategy="mean", key_added="X_d", return_model=True, copy=True)
        assert copied.obsm["X_d"].shape == (adata.n_obs, 15)
        assert "X_d" not in adata.obsm
        np.testing.assert_allclose(
            model.transform({"X_pca": adata.obsm["X_pca"][:5], "protein": adata.obsm["protein"][:5]}),
            copied.obsm["X_d"][:5], atol=1e-8,
        )  # fmt: skip

    def test_partial_cells(self, partial):
        mv.tl.embed(partial, 2)
        assert np.isfinite(partial.obsm["X_mdt"]).all()


class TestViewReport:
    def test_table(self, mdata):
        mv.pp.neighbors(mdata)
        report = mv.tl.view_report(mdata, "type")
        table = mdata.uns["mdt_view_report"]
        assert table["view"].tolist() == ["rna", "prot", "joint"]
        np.testing.assert_array_equal(table["stay"], report.stay)
        # The RNA does not tell the last two types apart.
        assert report.alone[1] > report.alone[0]

    def test_of_clusters(self, partial):
        mv.tl.cluster(partial, 3)
        report = mv.tl.view_report(partial)
        assert report.n_present.tolist() == [135, 120, 150]
