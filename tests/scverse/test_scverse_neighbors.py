"""The fused graph in AnnData and MuData: keys, values and parameters."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest
from scipy import sparse

import mdt_fast as mdt
from mdt_fast import scverse as mv

VIEWS = ["X_pca", "protein"]
GRAPH = {"n_neighbors": 15, "kernel": "adaptive", "anisotropy": 1.0, "joint": "auto", "metric": "auto", "scale": "auto"}


def expected(views, **options):
    return mdt.fused_graph(mdt.build_operators(views, **{**GRAPH, **options}))


def assert_graph(C):
    assert type(C) is sparse.csr_matrix
    assert C.dtype.kind == "f"
    assert not C.diagonal().any()
    assert (C != C.T).nnz == 0
    assert (C.data >= 0).all()


class TestAnnData:
    def test_is_the_fused_graph(self, adata, cells):
        assert mv.pp.neighbors(adata, VIEWS) is None
        graph = expected({"X_pca": cells["rna"], "protein": cells["prot"]})
        for name, matrix in (("connectivities", graph.connectivities), ("distances", graph.distances)):
            assert_graph(adata.obsp[f"mdt_{name}"])
            assert (adata.obsp[f"mdt_{name}"] != sparse.csr_matrix(matrix)).nnz == 0
        weights = adata.obs[["X_pca:mod_weight", "protein:mod_weight"]].to_numpy()
        np.testing.assert_array_equal(weights, graph.view_weights)
        np.testing.assert_allclose(weights.sum(axis=1), 1.0)

    def test_parameters(self, adata):
        mv.pp.neighbors(adata, VIEWS, n_neighbors=10, random_state=3)
        entry = adata.uns["mdt"]
        assert (entry["connectivities_key"], entry["distances_key"]) == ("mdt_connectivities", "mdt_distances")
        params = entry["params"]
        assert params["n_neighbors"] == 10
        assert params["use_rep"] == "X_pca"
        assert params["random_state"] == 3
        stored = json.loads(params["mdt_fast"])
        assert [view["key"] for view in stored["views"]] == VIEWS
        assert stored["options"]["kernel"] == "adaptive"

    def test_names_of_scanpy(self, adata):
        mv.pp.neighbors(adata, VIEWS, key_added=None)
        assert set(adata.obsp) == {"connectivities", "distances"}
        assert adata.uns["neighbors"]["connectivities_key"] == "connectivities"

    def test_copy(self, adata):
        before = adata.copy()
        changed = mv.pp.neighbors(adata, VIEWS, copy=True)
        assert "mdt" in changed.uns
        assert "mdt" not in adata.uns
        assert list(adata.obs) == list(before.obs)
        assert not adata.obsp

    @pytest.mark.filterwarnings("ignore::mdt_fast.ViewWarning")
    def test_names_of_views(self, adata):
        mv.pp.neighbors(adata, {"rna": "X_pca", "raw": "raw", "log": "X", "counts": "layers/counts", "default": None})
        assert [name for name in adata.obs if name.endswith(":mod_weight")] == [
            f"{name}:mod_weight" for name in ("rna", "raw", "log", "counts", "default")
        ]

    def test_one_view(self, adata):
        mv.pp.neighbors(adata, "protein")
        np.testing.assert_array_equal(adata.obs["protein:mod_weight"], 1.0)

    def test_no_weights(self, adata):
        mv.pp.neighbors(adata, VIEWS, weight_key=None)
        assert "protein:mod_weight" not in adata.obs

    def test_rows_of_nan_are_absent(self, adata, cells):
        adata.obsm["X_pca"][:20] = np.nan
        mv.pp.neighbors(adata, VIEWS)
        np.testing.assert_array_equal(adata.obs["X_pca:mod_weight"][:20], 0.0)
        # UMAP needs a representation that is complete.
        assert adata.uns["mdt"]["params"]["use_rep"] == "protein"

    def test_options(self, adata, cells):
        mv.pp.neighbors(adata, VIEWS, n_neighbors={"X_pca": 5, "protein": 9}, metric="cosine", joint=False)
        graph = expected(
            {"X_pca": cells["rna"], "protein": cells["prot"]},
            n_neighbors={"X_pca": 5, "protein": 9}, metric="cosine", joint=False,
        )  # fmt: skip
        assert (adata.obsp["mdt_connectivities"] != sparse.csr_matrix(graph.connectivities)).nnz == 0

    def test_same_bits_with_any_number_of_threads(self, adata):
        one, two = (mv.pp.neighbors(adata, VIEWS, n_jobs=n, copy=True) for n in (1, 2))
        assert (one.obsp["mdt_connectivities"] != two.obsp["mdt_connectivities"]).nnz == 0


class TestMuData:
    def test_is_the_fused_graph(self, mdata, cells):
        mv.pp.neighbors(mdata, {"rna": "X_pca", "prot": None})
        graph = expected({"rna": cells["rna"], "prot": cells["prot"]})
        assert_graph(mdata.obsp["mdt_connectivities"])
        assert (mdata.obsp["mdt_connectivities"] != sparse.csr_matrix(graph.connectivities)).nnz == 0
        np.testing.assert_array_equal(mdata.obs["rna:mod_weight"], graph.view_weights[:, 0])
        assert mdata.uns["mdt"]["params"]["use_rep"] == {"rna": "X_pca", "prot": "X"}
        assert mdata.uns["mdt"]["params"]["n_pcs"] == {"rna": -1, "prot": -1}

    @pytest.mark.parametrize("views", [None, ["rna", "prot"], {"rna": None, "prot": "X"}], ids=str)
    def test_forms(self, mdata, views):
        mv.pp.neighbors(mdata, views)
        named = mv.pp.neighbors(mdata, {"rna": "X_pca", "prot": "X"}, copy=True)
        assert (mdata.obsp["mdt_connectivities"] != named.obsp["mdt_connectivities"]).nnz == 0

    def test_one_modality(self, mdata):
        mv.pp.neighbors(mdata, "rna")
        assert [name for name in mdata.obs if name.endswith(":mod_weight")] == ["rna:mod_weight"]

    def test_partial_cells(self, partial, adata, protein):
        mv.pp.neighbors(partial)
        order = adata.obs_names.get_indexer(partial.obs_names)
        rna, prot = adata.obsm["X_pca"][order].copy(), protein.X[order].copy()
        rna[~partial.obs_names.isin(partial["rna"].obs_names)] = np.nan
        prot[~partial.obs_names.isin(partial["prot"].obs_names)] = np.nan
        graph = expected({"rna": rna, "prot": prot})
        assert (partial.obsp["mdt_connectivities"] != sparse.csr_matrix(graph.connectivities)).nnz == 0
        np.testing.assert_array_equal(partial.obs["prot:mod_weight"], graph.view_weights[:, 1])
        # muon cannot read several modalities of which one lacks cells.
        assert len(partial.uns["mdt"]["params"]["use_rep"]) == 1

    def test_weights_stay_after_an_update(self, mdata):
        mv.pp.neighbors(mdata)
        before = mdata.obs["rna:mod_weight"].to_numpy()
        mdata.update()
        np.testing.assert_array_equal(mdata.obs["rna:mod_weight"], before)

    @pytest.mark.parametrize("name", ["mdata", "partial"])
    def test_modalities_get_their_part(self, name, request):
        data = request.getfixturevalue(name)
        mv.pp.neighbors(data, add_to_modalities=True)
        for modality in data.mod.values():
            places = data.obs_names.get_indexer(modality.obs_names)
            part = data.obsp["mdt_connectivities"][places][:, places]
            assert (modality.obsp["mdt_connectivities"] != part).nnz == 0
            assert isinstance(modality.uns["mdt"]["params"]["use_rep"], str)


@pytest.mark.skipif("batches" not in inspect.signature(mdt.build_operators).parameters, reason="no batches yet")
class TestBatches:
    def test_are_passed_on(self, adata, cells):
        adata.obs["batch"] = np.where(np.arange(adata.n_obs) % 2, "one", "two")
        mv.pp.neighbors(adata, VIEWS, batch_key="batch")
        batches = adata.obs["batch"].to_numpy()
        graph = expected({"X_pca": cells["rna"], "protein": cells["prot"]}, batches=batches)
        assert (adata.obsp["mdt_connectivities"] != sparse.csr_matrix(graph.connectivities)).nnz == 0
        assert json.loads(adata.uns["mdt"]["params"]["mdt_fast"])["batch_key"] == "batch"

    def test_clusters_use_them(self, adata):
        adata.obs["batch"] = np.where(np.arange(adata.n_obs) % 2, "one", "two")
        mv.pp.neighbors(adata, VIEWS, batch_key="batch")
        mv.tl.cluster(adata, 3)
        assert adata.uns["mdt_cluster"]["params"]["batch_key"] == "batch"
