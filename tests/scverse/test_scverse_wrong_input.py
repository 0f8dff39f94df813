"""Wrong input: a message that says what was expected, and nothing written."""

from __future__ import annotations

import copy

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest

import mdt_fast as mdt
from helpers.messages import EITHER
from mdt_fast import scverse as mv

VIEWS = ["X_pca", "protein"]


def contents(data):
    """Everything that a function might write, by place."""
    found = {f"obs/{key}": data.obs[key].copy() for key in data.obs}
    for slot in ("obsm", "obsp", "uns", "layers"):
        store = getattr(data, slot)
        found |= {f"{slot}/{key}": copy.deepcopy(store[key]) for key in (() if store is None else store.keys())}
    for name in getattr(data, "mod", ()):
        found |= {f"{name}/{key}": value for key, value in contents(data.mod[name]).items()}
    return found


def assert_refused(data, call, message):
    before = contents(data)
    with pytest.raises((*EITHER, ImportError), match=message):
        call(data)
    after = contents(data)
    assert list(after) == list(before)
    for key, value in before.items():
        if isinstance(value, pd.Series):
            pd.testing.assert_series_equal(value, after[key])


@pytest.fixture
def graph(adata):
    mv.pp.neighbors(adata, VIEWS)
    return adata


KEYS = r"one of 'X', 'X_pca', 'protein', 'layers/counts', 'raw'"
ANNDATA = [
    (lambda a: mv.pp.neighbors(a), rf"views: expected the matrices.*{KEYS}, got None"),
    (lambda a: mv.pp.neighbors(a, ["X_umap"]), rf"views \(X_umap\): expected {KEYS}, got 'X_umap'"),
    (lambda a: mv.pp.neighbors(a, {"rna": "layers/log"}), rf"views \(rna\): expected {KEYS}, got 'layers/log'"),
    (lambda a: mv.pp.neighbors(a, {"rna": 3}), r"views \(rna\): expected one of .* got 3"),
    (lambda a: mv.pp.neighbors(a, []), "views: expected at least one view, got none"),
    (lambda a: mv.pp.neighbors(a, 3), "views: expected a dict or a list of names, got int"),
    (lambda a: mv.pp.neighbors(a, ["protein", "protein"]), "views: expected different views, got 'protein' twice"),
    (lambda a: mv.pp.neighbors(a, {"a/b": "protein"}), "views: expected a name without '/', got 'a/b'"),
    (lambda a: mv.pp.neighbors(a, VIEWS, key_added=""), "key_added: expected a name without '/', got ''"),
    (lambda a: mv.pp.neighbors(a, VIEWS, weight_key=3), "weight_key: expected a name without '/', got 3"),
    (lambda a: mv.pp.neighbors(a, VIEWS, copy=1), "copy: expected True or False, got 1"),
    (lambda a: mv.pp.neighbors(a, VIEWS, n_neighbors=0), "n_neighbors: expected"),
    (lambda a: mv.pp.neighbors(a, VIEWS, metric="angle"), "metric: expected"),
    (lambda a: mv.pp.neighbors(a, VIEWS, kernels="adaptive"), "kernels: expected an option of build_operators, one of"),
    (lambda a: mv.pp.neighbors(a, VIEWS, batch_key="batch"), "batch_key: expected a column of .obs, one of 'type', "),
    (lambda a: mv.pp.neighbors(a, VIEWS, batch_key=["type"]), "batch_key: expected a column of .obs"),
    (lambda a: mv.pp.neighbors(a, VIEWS, add_to_modalities=True), "add_to_modalities: expected False for an AnnData"),
    (
        lambda a: mv.tl.cluster(a, 3),
        "views, neighbors_key: expected matrices .*got None and 'mdt'",
    ),
    (lambda a: mv.tl.cluster(a, 0, views=VIEWS), "n_clusters: expected"),
    (lambda a: mv.tl.cluster(a, "many", views=VIEWS), "n_clusters: expected"),
    (lambda a: mv.tl.cluster(a, 3, views=VIEWS, strategies=1), "strategies: expected a parameter of MDTClustering"),
    (lambda a: mv.tl.cluster(a, views=VIEWS, resolution=-1), "resolution: expected"),
    (lambda a: mv.tl.cluster(a, 3, views=VIEWS, key_added="a/b"), "key_added: expected a name without '/'"),
    (lambda a: mv.tl.cluster(a, 3, views=VIEWS, return_model="yes"), "return_model: expected True or False"),
    (lambda a: mv.tl.embed(a, 0, views=VIEWS), "n_components: expected"),
    (lambda a: mv.tl.embed(a, 2, views=VIEWS, strategy="consensus"), "strategy: expected"),
    (lambda a: mv.tl.embed(a, 2, views=VIEWS, resolution=1), "resolution: expected a parameter of MDT,"),
    (lambda a: mv.tl.view_report(a, views=VIEWS), "groupby: expected a column of .obs, .*got 'mdt_cluster'"),
    (lambda a: mv.tl.denoise(a), "neighbors_key: expected the key of a graph in .uns, .*got 'mdt'; scverse.pp.neigh"),
    (lambda a: mv.tl.impute(a, "protein"), "view: expected one that some cells lack, got 'protein', which all"),
    (lambda a: mv.tl.pseudotime(a, 0), "neighbors_key: expected the key of a graph"),
    (lambda a: mv.tl.pseudotime(a), r"root: expected the name or position of a cell, or .uns\['iroot'\], got None"),
    (lambda a: mv.tl.ingest(a, a, "type"), "neighbors_key: expected the key of a graph of scverse.pp.neigh.*'mdt'"),
]


@pytest.mark.parametrize(("call", "message"), ANNDATA, ids=range(len(ANNDATA)))
def test_anndata(adata, call, message):
    assert_refused(adata, call, message)


GRAPH = [
    (lambda a: mv.tl.denoise(a, "rna"), "modality: expected None for an AnnData, .*got 'rna'"),
    (lambda a: mv.tl.denoise(a, layer="log"), "layer: expected one of .*'layers/counts'.* got 'layers/log'"),
    (lambda a: mv.tl.denoise(a, genes=["gene3", "CD4"]), "genes: expected names of features, one of 'gene0'.*'CD4'"),
    (lambda a: mv.tl.denoise(a, genes=[]), "genes: expected at least one name, got none"),
    (lambda a: mv.tl.denoise(a, t=0), "t: expected an integer >= 1"),
    (lambda a: mv.tl.denoise(a, neighbors_key="other"), "neighbors_key: expected the key of a graph.*one of 'mdt', "),
    (lambda a: mv.tl.impute(a, "adt"), "view: expected a key of .obsm, one of 'X_pca', 'protein', got 'adt'"),
    (lambda a: mv.tl.impute(a, "protein", layer="counts"), "layer: expected None for a matrix in .obsm"),
    (lambda a: mv.tl.pseudotime(a, "cell1000"), "root: expected one of the names of the cells, got 'cell1000'"),
    (lambda a: mv.tl.pseudotime(a, 150), "root: expected an integer >= 0 and <= 149, got 150"),
    (lambda a: mv.tl.pseudotime(a, 1.5), "root: expected the name of a cell or its position, got 1.5"),
    (lambda a: mv.tl.pseudotime(a, 1, n_components=0), "n_components: expected"),
    (lambda a: mv.tl.diffusion_distance(a, "cell1", t=0), "t: expected"),
    (lambda a: mv.tl.ingest(a, a), "obs, obsm: expected at least one column or key, got none"),
    (lambda a: mv.tl.ingest(a, a, "kind"), "obs: expected a column of .obs, one of 'type', .*got 'kind'"),
    (lambda a: mv.tl.ingest(a, a, [3]), "obs: expected a name or a list of names, got 3"),
    (lambda a: mv.tl.ingest(a, a, obsm="X_umap"), "obsm: expected a key of .obsm of the reference, one of .*'X_umap'"),
    (
        lambda a: mv.tl.ingest(a, a, "type", neighbors_key="x"),
        "neighbors_key: .* one of 'mdt', got 'x'",
    ),
    (lambda a: mv.tl.ingest(a, None, "type"), "reference: expected an AnnData or a MuData, got NoneType"),
    (lambda a: mv.tl.ingest(a[:, :3].copy(), mudata.MuData({"rna": a}), "type"), "obs: expected a column of .obs"),
]


@pytest.mark.parametrize(("call", "message"), GRAPH, ids=range(len(GRAPH)))
def test_with_a_graph(graph, call, message):
    assert_refused(graph, call, message)


MUDATA = [
    (lambda m: mv.pp.neighbors(m, ["rna", "atac"]), "views: expected modalities, one of 'rna', 'prot', got 'atac'"),
    (lambda m: mv.pp.neighbors(m, {"prot": "X_pca"}), r"views \(prot\): expected one of 'X', got 'X_pca'"),
    (lambda m: mv.pp.neighbors(m, batch_key="along"), "batch_key: .*'along'; 'rna' has it: data.pull_obs.. makes it"),
    (lambda m: mv.pp.neighbors(m, "prot"), "views: expected every sample in at least one view, got 30 in none"),
    (lambda m: mv.tl.cluster(m, 3, views="prot"), "views: expected every sample in at least one view"),
    (lambda m: mv.tl.denoise(m), "modality: expected a modality, one of 'rna', 'prot', got None"),
    (lambda m: mv.tl.denoise(m, "atac"), "modality: expected a modality, one of 'rna', 'prot', got 'atac'"),
    (lambda m: mv.tl.impute(m, "atac"), "view: expected a modality, one of 'rna', 'prot', got 'atac'"),
]


@pytest.mark.parametrize(("call", "message"), MUDATA, ids=range(len(MUDATA)))
def test_mudata(partial, call, message):
    assert_refused(partial, call, message)


class TestValues:
    def test_nan(self, adata):
        adata.obsm["protein"][7, 2] = np.nan
        assert_refused(adata, lambda a: mv.pp.neighbors(a, VIEWS), r"views \(protein\): .*got nan at row 7, column 2")
        assert_refused(adata, lambda a: mv.tl.cluster(a, 3, views=VIEWS), r"views \(protein\): .*got nan at row 7")

    def test_nan_in_a_modality(self, partial):
        partial["prot"].X[3, 1] = np.inf
        row = partial.obs_names.get_loc(partial["prot"].obs_names[3])
        assert_refused(partial, mv.pp.neighbors, rf"views \(prot\): .*got inf at row {row}, column 1")

    def test_text(self, adata):
        adata.obsm["protein"] = pd.DataFrame({"name": ["a"] * adata.n_obs}, index=adata.obs_names)
        assert_refused(adata, lambda a: mv.pp.neighbors(a, VIEWS), r"views \(protein\): expected columns of numbers")

    def test_no_matrix(self, cells):
        empty = anndata.AnnData(obs=pd.DataFrame(index=[str(i) for i in range(10)]))
        assert_refused(empty, lambda a: mv.pp.neighbors(a, {"v": None}), "of which there are none, got 'X'")

    @pytest.mark.parametrize("kind", [np.asarray, lambda X: X])
    def test_counts(self, adata, kind):
        adata.X = kind(adata.layers["counts"].toarray() if kind is np.asarray else adata.layers["counts"])
        del adata.obsm["X_pca"]
        with pytest.warns(mdt.ViewWarning, match=r"views \(v\): .X holds counts of 60 features.*sc.pp.pca"):
            mv.pp.neighbors(adata, {"v": None, "prot": "protein"})

    def test_missing_labels(self, graph):
        graph.obs["some"] = graph.obs["type"].where(np.arange(graph.n_obs) != 4)
        message = r"groupby: expected a value for every cell, got none for 1 of 150 in .obs\['some'\] .*row 4"
        assert_refused(graph, lambda a: mv.tl.view_report(a, "some"), message)
        message = r"batch_key: expected a value for every cell, got none for 1 of 150"
        assert_refused(graph, lambda a: mv.pp.neighbors(a, VIEWS, batch_key="some"), message)
        graph.obs["none"] = None
        assert_refused(graph, lambda a: mv.tl.ingest(a, a, "none"), "obs: expected a column with values, got 'none'")

    def test_one_label(self, graph):
        graph.obs["same"] = "a"
        assert_refused(graph, lambda a: mv.tl.view_report(a, "same"), "groupby: expected at least 2 groups")

    def test_views_that_are_gone(self, graph):
        del graph.obsm["protein"]
        assert_refused(graph, lambda a: mv.tl.cluster(a, 3), r"data.uns\['mdt'\] \(protein\): expected one of")

    def test_graph_that_is_gone(self, graph):
        del graph.obsp["mdt_distances"]
        assert_refused(graph, mv.tl.denoise, r"neighbors_key: expected .obsp\['mdt_distances'\], as .uns\['mdt'\] says")

    def test_features_with_nan(self, graph):
        graph.X = graph.X.toarray()
        graph.X[5, 5] = np.nan
        assert_refused(graph, mv.tl.denoise, r"layer \(X\): expected finite numbers, got nan at row 5, column 5")


@pytest.mark.parametrize("wrong", [None, np.ones((4, 3)), [1, 2], "cells.h5ad", pd.DataFrame({"a": [1.0]})], ids=str)
def test_other_objects(wrong):
    for call in (mv.pp.neighbors, mv.tl.cluster, mv.tl.embed, mv.tl.view_report, mv.tl.denoise, mv.pl.map):
        with pytest.raises(TypeError, match="data: expected an AnnData or a MuData, got"):
            call(wrong)


def test_dict_of_anndata(adata, protein):
    with pytest.raises(TypeError, match=r"got dict; mudata.MuData\(\{...\}\) joins AnnData objects by their cells"):
        mv.pp.neighbors({"rna": adata, "prot": protein})


def test_modalities_that_share_features(adata):
    data = mudata.MuData({"a": adata[:70].copy(), "b": adata[70:].copy()}, axis=1)
    with pytest.raises(ValueError, match=r"data: expected modalities that share cells \(axis 0\), got axis 1"):
        mv.pp.neighbors(data)
