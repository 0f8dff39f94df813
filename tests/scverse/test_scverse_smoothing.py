"""Denoised and imputed features against the dense formula."""

from __future__ import annotations

import numpy as np
import pytest
import scanpy as sc
from scipy import sparse

from mdt_fast import scverse as mv

VIEWS = ["X_pca", "protein"]


def power(data, t, key="mdt"):
    """The walk that stays with probability 1/2, after t steps."""
    C = data.obsp[data.uns[key]["connectivities_key"]].toarray()
    P = 0.5 * (np.eye(len(C)) + C / C.sum(axis=1, keepdims=True))
    return np.linalg.matrix_power(P, t)


class TestDenoise:
    @pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, np.asarray])
    @pytest.mark.parametrize("t", [1, 4])
    def test_formula(self, adata, form, t):
        mv.pp.neighbors(adata, VIEWS)
        X = adata.X.toarray()
        adata.X = form(X)
        mv.tl.denoise(adata, t=t)
        layer = adata.layers["mdt_denoised"]
        assert type(layer) is np.ndarray
        assert layer.dtype == np.float32
        np.testing.assert_allclose(layer, power(adata, t) @ X, rtol=2e-5, atol=1e-6)
        assert adata.uns["mdt_denoised"]["params"]["t"] == t

    def test_layer_and_genes(self, adata):
        mv.pp.neighbors(adata, VIEWS)
        mv.tl.denoise(adata, layer="counts", genes=["gene7", "gene3"], key_added="some")
        frame = adata.obsm["some"]
        assert list(frame.columns) == ["gene7", "gene3"]
        X = adata.layers["counts"].toarray()[:, [7, 3]]
        np.testing.assert_allclose(frame, power(adata, 3) @ X, rtol=2e-5)
        mv.tl.denoise(adata, genes="gene7", key_added="one")
        assert list(adata.obsm["one"].columns) == ["gene7"]

    def test_reduces_noise(self, adata, cells, rng):
        mv.pp.neighbors(adata, VIEWS)
        signal = np.exp(0.3 * cells["rna"][:, :1]) * np.linspace(0.2, 2.0, 60)
        adata.X = rng.poisson(signal).astype(float)
        mv.tl.denoise(adata)
        error = np.mean((adata.layers["mdt_denoised"] - signal) ** 2)
        assert error < 0.2 * np.mean((adata.X - signal) ** 2)

    def test_modality_that_lacks_cells(self, partial):
        mv.pp.neighbors(partial)
        mv.tl.denoise(partial, "prot", t=2)
        modality = partial["prot"]
        places = partial.obs_names.get_indexer(modality.obs_names)
        W = power(partial, 2)[places][:, places]
        expected = W @ modality.X / W.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(modality.layers["mdt_denoised"], expected, rtol=2e-5, atol=1e-5)
        assert "mdt_denoised" not in partial.obsm

    def test_cells_without_edges_keep_their_values(self, adata):
        mv.pp.neighbors(adata, VIEWS)
        C = adata.obsp["mdt_connectivities"].tolil()
        C[4], C[:, 4] = 0, 0
        adata.obsp["mdt_connectivities"] = sparse.csr_matrix(C)
        mv.tl.denoise(adata)
        np.testing.assert_allclose(adata.layers["mdt_denoised"][4], adata.X.toarray()[4])

    def test_graph_of_scanpy(self, adata):
        sc.pp.neighbors(adata)
        mv.tl.denoise(adata, neighbors_key="neighbors")
        np.testing.assert_allclose(
            adata.layers["mdt_denoised"], power(adata, 3, "neighbors") @ adata.X.toarray(), rtol=2e-5, atol=1e-6
        )


class TestImpute:
    def test_formula(self, partial):
        mv.pp.neighbors(partial)
        mv.tl.impute(partial, "prot", t=2)
        modality = partial["prot"]
        frame = partial.obsm["prot_imputed"]
        assert list(frame.columns) == list(modality.var_names)
        has = partial.obs_names.isin(modality.obs_names)
        np.testing.assert_allclose(frame.loc[modality.obs_names], modality.X, rtol=1e-6)
        places = partial.obs_names.get_indexer(modality.obs_names)
        W = power(partial, 2)[~has][:, places]
        np.testing.assert_allclose(frame[~has], W @ modality.X / W.sum(axis=1, keepdims=True), rtol=2e-5, atol=1e-5)
        mass = partial.obs["prot_imputed_mass"]
        np.testing.assert_allclose(mass[~has], W.sum(axis=1), rtol=1e-5)
        assert mass[has].isna().all()

    def test_recovers_proteins(self, partial, protein):
        mv.pp.neighbors(partial)
        mv.tl.impute(partial, "prot")
        lacking = partial.obs_names.difference(partial["prot"].obs_names)
        truth = protein[lacking].X[:, 0]
        assert np.corrcoef(partial.obsm["prot_imputed"].loc[lacking].iloc[:, 0], truth)[0, 1] > 0.8

    def test_some_genes_of_sparse_counts(self, partial):
        mv.pp.neighbors(partial)
        mv.tl.impute(partial, "rna", layer="counts", genes=["gene5"], key_added="counts")
        assert partial.obsm["counts"].shape == (150, 1)
        assert np.isfinite(partial.obsm["counts"].to_numpy()).all()

    def test_anndata(self, adata):
        truth = adata.obsm["protein"].copy()
        adata.obsm["protein"][:20] = np.nan
        mv.pp.neighbors(adata, VIEWS)
        mv.tl.impute(adata, "protein")
        found = adata.obsm["protein_imputed"].to_numpy()
        np.testing.assert_allclose(found[20:], truth[20:], rtol=1e-6)
        assert np.corrcoef(found[:20, 0], truth[:20, 0])[0, 1] > 0.5
