"""Everything that is written survives .h5ad, .h5mu and Zarr files."""

from __future__ import annotations

from collections.abc import Mapping

import anndata
import mudata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import mdt_fast as mdt
from mdt_fast import scverse as mv

VIEWS = ["X_pca", "protein"]


def run_everything(data, **views):
    """Call every function that writes; return keys that must be there."""
    is_multimodal = hasattr(data, "mod")
    mv.pp.neighbors(data, views.get("views"), n_neighbors=10, **({"add_to_modalities": True} if is_multimodal else {}))
    reference = data.copy()
    mv.tl.cluster(data, 3)
    mv.tl.cluster(data, resolution=0.5, key_added="leiden", n_neighbors="log")
    mv.tl.embed(data, 3, strategy=mdt.strategies.Mean(), members=["mean", 2])
    mv.tl.view_report(data)
    mv.tl.denoise(data, "rna" if is_multimodal else None)
    mv.tl.denoise(data, "rna" if is_multimodal else None, genes=["gene1"], key_added="some")
    mv.tl.pseudotime(data, 0)
    mv.tl.diffusion_distance(data, 0)
    mv.tl.impute(data, "prot" if is_multimodal else "protein")
    mv.tl.ingest(data, reference, obs="type", obsm=None, unknown="none")


def assert_same_values(a, b, where=""):
    if isinstance(a, Mapping):
        assert set(a.keys()) == set(b.keys()), where
        for key in a:
            assert_same_values(a[key], b[key], f"{where}/{key}")
    elif isinstance(a, pd.DataFrame):
        pd.testing.assert_frame_equal(a, b, check_dtype=False, check_column_type=False, check_index_type=False)
    elif sparse.issparse(a):
        assert (a != b).nnz == 0, where
    else:
        np.testing.assert_array_equal(np.asarray(a), np.asarray(b), err_msg=where)


def assert_same_object(a, b):
    pd.testing.assert_frame_equal(a.obs, b.obs, check_index_type=False)
    for slot in ("obsm", "obsp", "uns"):
        assert_same_values(dict(getattr(a, slot)), dict(getattr(b, slot)), slot)
    for name in getattr(a, "mod", ()):
        assert_same_object(a.mod[name], b.mod[name])
    if getattr(a, "layers", None) is not None:
        assert_same_values(dict(a.layers), dict(b.layers), "layers")


@pytest.fixture
def filled(request, adata, partial):
    if request.param == "AnnData":
        adata.obsm["protein"][:20] = np.nan
        run_everything(adata, views=VIEWS)
        return adata
    run_everything(partial)
    return partial


# The few neighbours of MDT.
@pytest.mark.filterwarnings("ignore:the steps of this trajectory leave:mdt_fast.OperatorWarning")
@pytest.mark.parametrize("filled", ["AnnData", "MuData"], indirect=True)
def test_all_files(filled, tmp_path):
    if isinstance(filled, mudata.MuData):
        filled.write(tmp_path / "cells.h5mu")
        assert_same_object(filled, mudata.read_h5mu(tmp_path / "cells.h5mu"))
        filled.write_zarr(tmp_path / "cells.zarr")
        again = mudata.read_zarr(tmp_path / "cells.zarr")
    else:
        filled.write_h5ad(tmp_path / "cells.h5ad")
        assert_same_object(filled, anndata.read_h5ad(tmp_path / "cells.h5ad"))
        filled.write_zarr(tmp_path / "cells.zarr")
        again = anndata.read_zarr(tmp_path / "cells.zarr")
    assert_same_object(filled, again)
    # What was read is as good as what was written.
    mv.tl.cluster(again, 3, key_added="again")
    np.testing.assert_array_equal(again.obs["again"], filled.obs["mdt_cluster"])
    mv.tl.ingest(again, filled, obs="type")
    assert again.obs["mdt_remoteness"].max() < 0.01
