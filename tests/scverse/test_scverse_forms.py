"""Objects as users have them: lazy views, files, layers, names that repeat, unused categories."""

from __future__ import annotations

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mdt_fast import scverse as mv

VIEWS = ["X_pca", "protein"]


def graph_of(data, views=None, **options):
    return mv.pp.neighbors(data, views, copy=True, **options).obsp["mdt_connectivities"]


def assert_same(a, b):
    assert (sparse.csr_matrix(a) != sparse.csr_matrix(b)).nnz == 0


class TestLazyViews:
    def test_of_anndata(self, adata):
        part = adata[10:120]
        mv.pp.neighbors(part, VIEWS)
        assert not part.is_view
        assert "mdt" not in adata.uns
        assert "protein:mod_weight" not in adata.obs
        assert_same(part.obsp["mdt_connectivities"], graph_of(adata[10:120].copy(), VIEWS))

    def test_of_a_stored_graph(self, adata):
        # A subset of a graph is a graph; scanpy does the same.
        mv.pp.neighbors(adata, VIEWS)
        part = adata[10:120]
        mv.tl.pseudotime(part, "cell10")
        assert part.obs["mdt_pseudotime"].iloc[0] == 0
        assert "mdt_pseudotime" not in adata.obs

    @pytest.mark.parametrize("pull", [False, True])
    @pytest.mark.parametrize("rows", [slice(20, 130), np.arange(140)[::-1], np.arange(150) % 3 > 0], ids=str)
    def test_of_mudata(self, partial, rows, pull):
        with mudata.set_options(pull_on_update=pull):
            part = partial[rows]
            wanted = list(part.obs_names)
            whole = mv.pp.neighbors(partial[rows], copy=True)
            mv.pp.neighbors(part)
            mv.tl.pseudotime(part, wanted[3])
            mv.tl.denoise(part, "rna")
        assert not part.is_view
        assert "mdt" not in partial.uns
        assert list(partial.obs) == ["type"]
        assert "mdt_denoised" not in partial["rna"].layers
        # mudata may change the order; whatever it is, rows belong to their cells.
        assert sorted(part.obs_names) == sorted(wanted)
        assert float(part.obs.loc[wanted[3], "mdt_pseudotime"]) == 0.0
        for data in (part, whole):
            lacks = ~data.obs_names.isin(data["prot"].obs_names)
            np.testing.assert_array_equal(data.obs["prot:mod_weight"] == 0, lacks)
            fresh = mudata.MuData({name: partial[rows][name].copy() for name in ("rna", "prot")})
            expected = mv.pp.neighbors(fresh, copy=True)
            places = expected.obs_names.get_indexer(data.obs_names)
            np.testing.assert_allclose(
                data.obsp["mdt_connectivities"].toarray(),
                expected.obsp["mdt_connectivities"].toarray()[places][:, places], atol=1e-12,
            )  # fmt: skip

    def test_modalities_that_are_views(self, adata, protein):
        data = mudata.MuData({"rna": adata[:, :30], "prot": protein[:, :5]})
        mv.pp.neighbors(data, add_to_modalities=True)
        assert "mdt" in data["rna"].uns


class TestFiles:
    @pytest.mark.parametrize("mode", ["r", "r+"])
    def test_backed_anndata(self, adata, tmp_path, mode):
        adata.write(tmp_path / "cells.h5ad")
        backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed=mode)
        views = {"log": "X", "raw": "raw", "prot": "protein"}
        mv.pp.neighbors(backed, views)
        assert backed.isbacked
        assert_same(backed.obsp["mdt_connectivities"], graph_of(adata, views))
        mv.tl.denoise(backed, genes=["gene3"])
        mv.tl.denoise(adata := mv.pp.neighbors(adata, views, copy=True), genes=["gene3"])
        np.testing.assert_array_equal(backed.obsm["mdt_denoised"], adata.obsm["mdt_denoised"])

    def test_copy_of_a_backed_object(self, adata, tmp_path):
        adata.write(tmp_path / "cells.h5ad")
        backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
        copied = mv.pp.neighbors(backed, VIEWS, copy=True)
        assert not copied.isbacked
        assert "mdt" not in backed.uns

    def test_view_of_a_backed_object(self, adata, tmp_path):
        adata.write(tmp_path / "cells.h5ad")
        part = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")[:100]
        with pytest.raises(ValueError, match="to_memory"):
            mv.pp.neighbors(part, VIEWS)
        assert "mdt" in mv.pp.neighbors(part, VIEWS, copy=True).uns

    def test_backed_mudata(self, partial, tmp_path):
        partial.write(tmp_path / "cells.h5mu")
        backed = mudata.read_h5mu(tmp_path / "cells.h5mu", backed="r")
        views = {"rna": "X", "prot": "X"}
        mv.pp.neighbors(backed, views)
        assert_same(backed.obsp["mdt_connectivities"], graph_of(partial, views))
        with pytest.raises(ValueError, match=r"to_memory|backed"):
            mv.pp.neighbors(backed, views, copy=True)

    def test_zarr(self, adata, tmp_path):
        adata.write_zarr(tmp_path / "cells.zarr")
        assert_same(graph_of(anndata.read_zarr(tmp_path / "cells.zarr"), VIEWS), graph_of(adata, VIEWS))

    def test_lazy_arrays(self, adata, tmp_path):
        dask = pytest.importorskip("dask.array")
        expected = graph_of(adata, VIEWS)
        adata.obsm["protein"] = dask.from_array(np.asarray(adata.obsm["protein"]), chunks=(40, 6))
        assert_same(graph_of(adata, VIEWS), expected)


class TestMatrices:
    @pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, np.asarray])
    def test_of_any_form(self, adata, form):
        dense = adata.X.toarray()
        expected = graph_of(adata, {"log": "X", "prot": "protein"}, metric="euclidean", scale=None)
        adata.X = form(dense)
        found = graph_of(adata, {"log": "X", "prot": "protein"}, metric="euclidean", scale=None)
        np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-5, atol=1e-12)

    def test_data_frames(self, adata):
        expected = graph_of(adata, VIEWS)
        frame = pd.DataFrame(adata.obsm["protein"], index=adata.obs_names, columns=list("abcdef"))
        adata.obsm["protein"] = frame
        assert_same(graph_of(adata, VIEWS), expected)

    @pytest.mark.filterwarnings("ignore::mdt_fast.ViewWarning")
    def test_layers_and_raw(self, adata):
        adata.layers["log"] = adata.X.copy()
        expected = graph_of(adata, {"v": "X"})
        assert_same(graph_of(adata, {"v": "layers/log"}), expected)
        assert_same(graph_of(adata[:, :5].copy(), {"v": "raw"}), expected)

    def test_float32(self, adata):
        adata.obsm = {key: X.astype(np.float32) for key, X in adata.obsm.items()}
        mv.pp.neighbors(adata, VIEWS)
        assert adata.obsp["mdt_connectivities"].dtype == np.float32
        mv.tl.pseudotime(adata, 0)
        mv.tl.denoise(adata)


class TestNames:
    def test_that_repeat(self, adata):
        expected = graph_of(adata, VIEWS)
        adata.obs_names = ["same"] * adata.n_obs
        mv.pp.neighbors(adata, VIEWS)
        assert_same(adata.obsp["mdt_connectivities"], expected)
        mv.tl.cluster(adata, 3)
        mv.tl.pseudotime(adata, 5)
        mv.tl.denoise(adata)
        mv.tl.denoise(adata, genes=["gene1"], key_added="some")
        with pytest.raises(ValueError, match="names 150 cells"):
            mv.tl.pseudotime(adata, "same")

    def test_unused_categories(self, adata):
        mv.pp.neighbors(adata, VIEWS)
        report = mv.tl.view_report(adata, "type")
        assert len(np.unique(report.labels)) == 3
        query = adata[:20].copy()
        mv.tl.ingest(query, adata, "type")
        assert "unused" not in query.obs["type"].cat.categories

    def test_of_genes_that_repeat(self, adata):
        mv.pp.neighbors(adata, VIEWS)
        adata.var_names = ["gene"] * adata.n_vars
        mv.tl.denoise(adata)
        with pytest.raises(ValueError, match="names 60 of them"):
            mv.tl.denoise(adata, genes="gene")
