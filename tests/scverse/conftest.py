"""Cells in two modalities, and the warnings of scanpy, muon and mudata that are not ours."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

with warnings.catch_warnings():
    # At their first import.
    warnings.simplefilter("ignore")
    import anndata
    import mudata
    import muon  # noqa: F401
    import pandas as pd
    import scanpy  # noqa: F401

# Of other packages, about themselves and about each other.
FOREIGN = (
    "ignore::FutureWarning:mudata",
    "ignore::FutureWarning:muon",
    "ignore::FutureWarning:scanpy",
    "ignore::FutureWarning:legacy_api_wrap",
    "ignore::DeprecationWarning:scanpy",
    "ignore::DeprecationWarning:muon",
    "ignore:var_names are not unique:UserWarning",
    "ignore:Cannot join columns with the same name:UserWarning",
    "ignore:n_jobs value 1 overridden to 1:UserWarning",
    "ignore:In the future, the default backend for leiden:FutureWarning",
    "ignore:Observation names are not unique:UserWarning",
    "ignore:obs_names are not unique:UserWarning",
    "ignore:Writing zarr v2 data:UserWarning",
    "ignore:Graph is not fully connected, spectral embedding:UserWarning",
    # pandas, asked by mudata whether a column with inf has integers.
    "ignore:invalid value encountered in cast:RuntimeWarning",
)


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.path).parents:
            for pattern in FOREIGN:
                item.add_marker(pytest.mark.filterwarnings(pattern))


N = 150


@pytest.fixture(autouse=True)
def _new_habits_of_mudata():
    # Columns of modalities are not copied to the whole; the default from mudata 0.4 on.
    with mudata.set_options(pull_on_update=False):
        yield


@pytest.fixture
def groups():
    """Three types of cells: the first two differ in both modalities, the last two in the second only."""
    return np.repeat([0, 1, 2], N // 3)


@pytest.fixture
def cells(rng, groups):
    """A curve through the types in ten coordinates, seen in two modalities."""
    along = groups + rng.uniform(-0.38, 0.38, N)
    rna = np.column_stack([3.0 * np.minimum(along, 1.2), np.sin(along), 0.2 * rng.normal(size=(N, 8))])
    protein = np.column_stack([3.0 * along, np.cos(along), 0.2 * rng.normal(size=(N, 4))])
    return {"along": along, "rna": rna, "prot": protein}


@pytest.fixture
def adata(rng, cells, groups):
    """An AnnData with counts, a layer, raw counts, and two representations."""
    counts = rng.poisson(np.exp(0.3 * cells["rna"][:, :1]) * np.linspace(0.2, 2.0, 60), size=(N, 60))
    made = anndata.AnnData(
        sparse.csr_matrix(np.log1p(counts).astype(np.float32)),
        obs=pd.DataFrame(
            {"type": pd.Categorical(np.array(["B", "T", "NK"])[groups], categories=["T", "B", "NK", "unused"])},
            index=[f"cell{i}" for i in range(N)],
        ),
        var=pd.DataFrame(index=[f"gene{i}" for i in range(60)]),
    )
    made.layers["counts"] = sparse.csr_matrix(counts.astype(np.float32))
    made.raw = made.copy()
    made.obs["along"] = cells["along"]
    made.obsm["X_pca"], made.obsm["protein"] = cells["rna"], cells["prot"]
    return made


@pytest.fixture
def protein(adata, cells):
    """The second modality as an AnnData of its own."""
    names = [f"protein{i}" for i in range(cells["prot"].shape[1])]
    return anndata.AnnData(cells["prot"].copy(), obs=pd.DataFrame(index=adata.obs_names), var=pd.DataFrame(index=names))


@pytest.fixture
def mdata(adata, protein):
    """A MuData in which both modalities have all cells."""
    made = mudata.MuData({"rna": adata.copy(), "prot": protein})
    made.obs["type"] = adata.obs["type"].to_numpy()
    made.obs["type"] = made.obs["type"].astype("category")
    return made


@pytest.fixture
def partial(rng, adata, protein):
    """A MuData that lacks a fifth of the proteins and a tenth of the RNA, with modalities in other orders."""
    has_protein = rng.permutation(N)[: N - 30]
    lacks_rna = has_protein[:15]
    has_rna = np.setdiff1d(np.arange(N), lacks_rna)
    made = mudata.MuData({"rna": adata[has_rna].copy(), "prot": protein[has_protein].copy()})
    made.obs["type"] = adata.obs["type"].reindex(made.obs_names).to_numpy()
    made.obs["type"] = made.obs["type"].astype("category")
    return made
