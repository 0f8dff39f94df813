"""Unmodified scanpy and muon read the graph."""

from __future__ import annotations

import muon as mu
import numpy as np
import pytest
import scanpy as sc
from scipy.stats import spearmanr
from sklearn.metrics import adjusted_mutual_info_score

from mdt_fast import scverse as mv

VIEWS = ["X_pca", "protein"]
LEIDEN = {"flavor": "igraph", "n_iterations": 2, "directed": False}


@pytest.fixture
def graph(adata):
    mv.pp.neighbors(adata, VIEWS)
    return adata


def nearest_is_same_type(coordinates, types):
    distances = np.linalg.norm(coordinates[:, np.newaxis] - coordinates, axis=2)
    np.fill_diagonal(distances, np.inf)
    return (types[distances.argmin(axis=1)] == types).mean()


class TestScanpyOnAnnData:
    def test_umap(self, graph):
        sc.tl.umap(graph, neighbors_key="mdt")
        assert nearest_is_same_type(graph.obsm["X_umap"], graph.obs["type"].to_numpy()) > 0.9

    def test_umap_of_a_graph_in_many_parts(self, adata, rng):
        # The representation arranges the parts only if there are more of them than twice the dimensions.
        shifts = 100.0 * np.repeat(np.arange(10), 15)[:, np.newaxis]
        adata.obsm["X_pca"] = adata.obsm["X_pca"] + shifts
        adata.obsm["protein"] = adata.obsm["protein"] + shifts
        mv.pp.neighbors(adata, VIEWS, n_neighbors=5)
        sc.tl.umap(adata, neighbors_key="mdt")
        assert np.isfinite(adata.obsm["X_umap"]).all()

    @pytest.mark.parametrize("how", [LEIDEN, {}], ids=["igraph", "leidenalg"])
    def test_leiden(self, graph, how):
        sc.tl.leiden(graph, neighbors_key="mdt", resolution=0.3, **how)
        assert adjusted_mutual_info_score(graph.obs["leiden"], graph.obs["type"]) > 0.6

    def test_paga(self, graph):
        sc.tl.paga(graph, "type", neighbors_key="mdt")
        joined = graph.uns["paga"]["connectivities"].toarray()
        names = list(graph.obs["type"].cat.categories)
        # The types follow each other as B, T, NK along the curve.
        b, t, nk = (names.index(name) for name in ("B", "T", "NK"))
        assert joined[b, t] > joined[b, nk]
        assert joined[t, nk] > joined[b, nk]

    def test_diffusion_map_and_pseudotime(self, graph, cells):
        graph.uns["iroot"] = int(cells["along"].argmin())
        sc.tl.diffmap(graph, neighbors_key="mdt")
        sc.tl.dpt(graph, neighbors_key="mdt")
        assert spearmanr(graph.obs["dpt_pseudotime"], cells["along"]).statistic > 0.95

    def test_draw_graph(self, graph):
        sc.tl.draw_graph(graph, layout="fr", neighbors_key="mdt")
        assert np.isfinite(graph.obsm["X_draw_graph_fr"]).all()

    def test_names_without_a_key(self, adata):
        mv.pp.neighbors(adata, VIEWS, key_added=None)
        sc.tl.umap(adata)
        sc.tl.leiden(adata, **LEIDEN)
        sc.tl.paga(adata, "leiden")
        assert adata.obsm["X_umap"].shape == (adata.n_obs, 2)

    def test_umap_from_a_layer(self, adata):
        mv.pp.neighbors(adata, {"log": "X", "raw": "raw"})
        assert adata.uns["mdt"]["params"]["use_rep"] == "X"
        sc.tl.umap(adata, neighbors_key="mdt")

    def test_muon_on_anndata(self, graph):
        mu.tl.leiden(graph, neighbors_key="mdt", resolution=0.3, **LEIDEN)
        mu.tl.umap(graph, neighbors_key="mdt")
        assert "leiden" in graph.obs
        assert "X_umap" in graph.obsm


@pytest.mark.parametrize("name", ["mdata", "partial"])
class TestOnMuData:
    @pytest.fixture
    def data(self, name, request):
        data = request.getfixturevalue(name)
        mv.pp.neighbors(data)
        return data

    def test_muon_umap(self, data):
        mu.tl.umap(data, neighbors_key="mdt")
        assert nearest_is_same_type(data.obsm["X_umap"], data.obs["type"].to_numpy()) > 0.9

    def test_scanpy_leiden(self, data):
        sc.tl.leiden(data, neighbors_key="mdt", resolution=0.3, **LEIDEN)
        assert adjusted_mutual_info_score(data.obs["leiden"], data.obs["type"]) > 0.6

    def test_scanpy_paga(self, data):
        sc.tl.paga(data, "type", neighbors_key="mdt")
        assert data.uns["paga"]["connectivities"].shape == (3, 3)

    def test_scanpy_pseudotime(self, data):
        data.uns["iroot"] = 0
        sc.tl.diffmap(data, neighbors_key="mdt")
        sc.tl.dpt(data, neighbors_key="mdt")
        assert np.isfinite(data.obs["dpt_pseudotime"]).all()

    def test_tools_that_read_modalities(self, data, name):
        mv.pp.neighbors(data, add_to_modalities=True)
        for modality in data.mod.values():
            sc.tl.umap(modality, neighbors_key="mdt")
            sc.tl.leiden(modality, neighbors_key="mdt", **LEIDEN)
        if name == "mdata":
            # muon's clusters of several graphs need the same cells in each.
            mu.tl.leiden(data, neighbors_key="mdt", resolution=0.3)
            assert adjusted_mutual_info_score(data.obs["leiden"], data.obs["type"]) > 0.6
