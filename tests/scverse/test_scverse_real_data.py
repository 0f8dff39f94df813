"""CITE-seq blood cells, from counts: the steps of scanpy, then graph, clusters and new cells."""

from __future__ import annotations

import functools
import warnings

import anndata
import mudata
import muon as mu
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from scipy.sparse import csr_matrix
from sklearn.metrics import adjusted_mutual_info_score, roc_auc_score

import mdt_fast as mdt
from mdt_fast import scverse as mv

pytestmark = pytest.mark.real_data
LEIDEN = {"flavor": "igraph", "n_iterations": 2, "directed": False}


@functools.cache
def prepared():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = mdt.datasets.fetch_citeseq_pbmc(prepared=False, drop_unknown=True)
        obs = pd.DataFrame({"type": pd.Categorical(counts.cell_type)}, index=counts.cells.astype(str))
        # scanpy 1.11 multiplies a csr_array as if it were dense (14 GB here): csr_matrix.
        rna = anndata.AnnData(
            csr_matrix(counts.views[0], dtype=np.float32), obs=obs, var=pd.DataFrame(index=counts.genes)
        )
        rna.var_names_make_unique()
        rna.layers["counts"] = rna.X.copy()
        sc.pp.normalize_total(rna, target_sum=1e4)
        sc.pp.log1p(rna)
        sc.pp.highly_variable_genes(rna, n_top_genes=2000)
        sc.pp.pca(rna, n_comps=50)
        var = pd.DataFrame(index=[f"protein {name}" for name in counts.proteins])
        protein = anndata.AnnData(counts.views[1].astype(np.float32), obs=obs[[]], var=var)
        mu.prot.pp.clr(protein, axis=1)
        made = mudata.MuData({"rna": rna, "prot": protein})
        made.obs["type"] = rna.obs["type"].to_numpy()
        made.obs["type"] = made.obs["type"].astype("category")
    return made


@pytest.fixture
def mdata():
    return prepared().copy()


def agreement(data, key):
    return adjusted_mutual_info_score(data.obs[key], data.obs["type"])


def test_graph_and_clusters(mdata):
    mv.pp.neighbors(mdata, {"rna": "X_pca", "prot": None})
    mu.tl.umap(mdata, neighbors_key="mdt")
    assert mdata.obsm["X_umap"].shape == (mdata.n_obs, 2)
    sc.tl.leiden(mdata, neighbors_key="mdt", resolution=0.2, **LEIDEN)
    assert agreement(mdata, "leiden") > 0.85
    mv.tl.cluster(mdata, resolution=0.2)
    assert agreement(mdata, "mdt_cluster") > 0.85
    mv.tl.cluster(mdata, 6, key_added="six")
    assert agreement(mdata, "six") > 0.85


def test_new_cells(mdata):
    is_query = np.arange(mdata.n_obs) % 5 == 0
    reference, query = mdata[~is_query].copy(), mdata[is_query].copy()
    mv.pp.neighbors(reference)
    truth = query.obs.pop("type").astype(str)
    mv.tl.ingest(query, reference, obs="type")
    is_right = query.obs["type"].astype(str) == truth
    assert is_right.mean() > 0.97
    assert query.obs["mdt_remoteness"].median() < 1.0


@pytest.mark.filterwarnings("ignore::mdt_fast.RemoteSamplesWarning")
@pytest.mark.parametrize("absent", ["B", "monocyte"])
def test_a_type_that_the_reference_lacks(mdata, absent):
    types = mdata.obs["type"].astype(str)
    chosen = types.str.contains(absent, case=False)
    assert chosen.any()
    is_query = (np.arange(mdata.n_obs) % 5 == 0) | chosen.to_numpy()
    reference, query = mdata[~is_query].copy(), mdata[is_query].copy()
    mv.pp.neighbors(reference)
    mv.tl.ingest(query, reference, obs="type")
    assert roc_auc_score(chosen[is_query], query.obs["mdt_remoteness"]) > 0.9


def test_denoised_genes_agree_with_an_independent_half(mdata, rng):
    counts = mdata["rna"].layers["counts"]
    half = counts.copy()
    half.data = rng.binomial(counts.data.astype(int), 0.5).astype(np.float32)
    halves = [sc.pp.log1p(sc.pp.normalize_total(anndata.AnnData(X), copy=True).X) for X in (half, counts - half)]
    mv.pp.neighbors(mdata)
    mdata["rna"].layers["half"] = halves[0]
    places = np.argsort(-np.asarray(counts.sum(axis=0)).ravel())[:1000]
    mv.tl.denoise(mdata, "rna", layer="half", genes=list(mdata["rna"].var_names[places]))
    first, other = (X[:, places].toarray() for X in halves)
    error = np.mean((mdata["rna"].obsm["mdt_denoised"].to_numpy() - other) ** 2)
    assert error < 0.6 * np.mean((first - other) ** 2)
    assert error < np.mean((first.mean(axis=0) - other) ** 2)


def test_imputed_proteins(mdata, rng):
    lacks = rng.random(mdata.n_obs) < 0.2
    truth = mdata["prot"].X[lacks]
    partial = mudata.MuData({"rna": mdata["rna"], "prot": mdata["prot"][~lacks].copy()})
    mv.pp.neighbors(partial)
    mv.tl.impute(partial, "prot")
    found = partial.obsm["prot_imputed"].loc[mdata.obs_names[lacks]].to_numpy()
    mean = mdata["prot"].X[~lacks].mean(axis=0)
    assert np.mean((found - truth) ** 2) < 0.5 * np.mean((mean - truth) ** 2)
