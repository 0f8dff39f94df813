"""New cells get labels, numbers and coordinates of a reference, and a distance from it."""

from __future__ import annotations

import mudata
import numpy as np
import pytest
import scanpy as sc

import mdt_fast as mdt
from mdt_fast import scverse as mv

VIEWS = ["X_pca", "protein"]


@pytest.fixture
def split(adata):
    """A reference with a graph, and every fifth cell as a query."""
    is_query = np.arange(adata.n_obs) % 5 == 0
    reference = adata[~is_query].copy()
    mv.pp.neighbors(reference, VIEWS)
    return adata[is_query].copy(), reference


class TestLabels:
    def test_are_right(self, split):
        query, reference = split
        truth = query.obs.pop("type")
        assert mv.tl.ingest(query, reference, obs="type") is None
        assert (query.obs["type"].astype(str) == truth.astype(str)).mean() > 0.9
        assert query.obs["type_confidence"].between(0, 1).all()
        assert query.obs["type"].cat.categories.tolist() == ["T", "B", "NK"]

    def test_formula(self, split):
        query, reference = split
        mv.tl.ingest(query, reference, obs="type")
        ops = mdt.build_operators(
            {key: reference.obsm[key] for key in VIEWS}, n_neighbors=15, kernel="adaptive", anisotropy=1.0, joint=True
        )
        rows = ops.new_rows({key: query.obsm[key] for key in VIEWS})
        step = 0.25 * rows[0] + 0.25 * rows[1] + 0.5 * rows[2]
        types = np.array(["T", "B", "NK"])
        shares = step @ (reference.obs["type"].to_numpy()[:, np.newaxis] == types).astype(float)
        np.testing.assert_array_equal(query.obs["type"], types[shares.argmax(axis=1)])
        np.testing.assert_allclose(query.obs["type_confidence"], shares.max(axis=1))
        remote = ops.remoteness({key: query.obsm[key] for key in VIEWS}).max(axis=1)
        np.testing.assert_allclose(query.obs["mdt_remoteness"], remote)

    def test_cells_without_a_label_do_not_count(self, split):
        query, reference = split
        reference.obs["some"] = reference.obs["type"].where(np.arange(reference.n_obs) % 3 > 0)
        mv.tl.ingest(query, reference, obs="some")
        assert not query.obs["some"].isna().any()
        assert query.obs["some_confidence"].median() < 0.9

    def test_no_label_near(self, split):
        query, reference = split
        reference.obs["some"] = np.where(reference.obs["type"] == "NK", "NK", None)
        query = query[query.obs["type"] == "B"].copy()
        mv.tl.ingest(query, reference, obs="some")
        assert query.obs["some"].isna().mean() > 0.5

    def test_kinds_of_columns(self, split):
        query, reference = split
        reference.obs["text"] = reference.obs["type"].astype(str)
        reference.obs["flag"] = reference.obs["type"] == "B"
        reference.obs["count"] = np.arange(reference.n_obs)
        truth = query.obs.pop("along")
        reference.obs.loc[reference.obs_names[::4], "along"] = np.nan
        reference.obs.loc[reference.obs_names[1], "along"] = np.inf
        mv.tl.ingest(query, reference, obs=["text", "flag", "count", "along"])
        assert query.obs["flag"].cat.categories.tolist() == ["False", "True"]
        assert query.obs["count"].dtype.kind == "f"
        assert np.corrcoef(query.obs["along"], truth)[0, 1] > 0.95
        assert query.uns["mdt_ingest"]["params"]["obs"].tolist() == ["text", "flag", "count", "along"]

    def test_coordinates(self, split):
        query, reference = split
        sc.tl.umap(reference, neighbors_key="mdt")
        mv.tl.ingest(query, reference, obs="type", obsm="X_umap")
        own = np.linalg.norm(query.obsm["X_umap"][:, np.newaxis] - reference.obsm["X_umap"], axis=2)
        nearest = reference.obs["type"].to_numpy()[own.argmin(axis=1)]
        assert (nearest == query.obs["type"].to_numpy()).mean() > 0.9


@pytest.mark.filterwarnings("ignore::mdt_fast.RemoteSamplesWarning")
class TestUnknownCells:
    def test_have_a_large_remoteness(self, split):
        query, reference = split
        query.obsm["protein"][:5] += 40.0
        mv.tl.ingest(query, reference, obs="type", unknown="none of these")
        remote = query.obs["mdt_remoteness"].to_numpy()
        assert (remote[:5] > 1.5).all()
        assert (query.obs["type"][:5] == "none of these").all()
        known = remote[5:] <= 1.5
        assert known.mean() > 0.9
        assert not (query.obs["type"][5:][known] == "none of these").any()

    def test_a_type_that_the_reference_lacks(self, adata):
        reference = adata[adata.obs["type"] != "NK"].copy()
        mv.pp.neighbors(reference, VIEWS)
        query = adata[::3].copy()
        truth = query.obs["type"].to_numpy() == "NK"
        mv.tl.ingest(query, reference, obs="type", key_added="other")
        remote = query.obs["other_remoteness"].to_numpy()
        assert np.mean(remote[truth][:, np.newaxis] > remote[~truth]) > 0.9


class TestMuData:
    @pytest.fixture
    def split(self, partial):
        is_query = np.arange(partial.n_obs) % 5 == 0
        reference = partial[~is_query].copy()
        mv.pp.neighbors(reference)
        return partial[is_query].copy(), reference

    def test_partial_cells(self, split):
        query, reference = split
        truth = query.obs.pop("type").astype(str)
        mv.tl.ingest(query, reference, obs="type")
        assert (query.obs["type"].astype(str) == truth).mean() > 0.8

    def test_query_with_one_modality(self, split):
        query, reference = split
        names = query["prot"].obs_names
        truth = query.obs.loc[names, "type"].astype(str)
        alone = mudata.MuData({"prot": query["prot"].copy()})
        mv.tl.ingest(alone, reference, obs="type")
        assert (alone.obs["type"].astype(str) == truth.loc[alone.obs_names]).mean() > 0.8

    def test_one_cell(self, split):
        query, reference = split
        one = query[:1].copy()
        mv.tl.ingest(one, reference, obs="type", copy=True)

    def test_anndata_is_refused(self, split):
        query, reference = split
        with pytest.raises(TypeError, match=r"query: expected a MuData.*MuData\(\{'rna': query\}\)"):
            mv.tl.ingest(query["rna"], reference, obs="type")


class TestProjection:
    @pytest.fixture
    def split(self, adata):
        is_query = np.arange(adata.n_obs) % 5 == 0
        reference, query = adata[~is_query].copy(), adata[is_query].copy()
        del reference.obsm["X_pca"], query.obsm["X_pca"]
        sc.pp.pca(reference, n_comps=8)
        mv.pp.neighbors(reference, VIEWS)
        return query, reference

    def test_by_the_loadings_of_the_reference(self, split):
        query, reference = split
        truth = query.obs.pop("type").astype(str)
        mv.tl.ingest(query, reference, obs="type")
        assert (query.obs["type"].astype(str) == truth).mean() > 0.9
        assert "X_pca" not in query.obsm

    def test_gives_the_reference_its_own_coordinates(self, split):
        _, reference = split
        again = reference[:, ::-1].copy()
        del again.obsm["X_pca"], again.varm["PCs"]
        mv.tl.ingest(again, reference, obs="type")
        assert again.obs["mdt_remoteness"].max() < 0.01

    def test_another_pca_is_refused(self, split):
        query, reference = split
        sc.pp.pca(query, n_comps=8)
        with pytest.raises(ValueError, match=r"query \(X_pca\): expected coordinates of the PCA of the reference"):
            mv.tl.ingest(query, reference, obs="type")

    def test_missing_genes(self, split):
        query, reference = split
        with pytest.raises(ValueError, match=r"query \(X_pca\): .*got none of 40 features"):
            mv.tl.ingest(query[:, :20].copy(), reference, obs="type")

    def test_changed_reference(self, split):
        query, reference = split
        reference.X = reference.X * 3
        with pytest.raises(ValueError, match=r"reference: .*was changed after the PCA"):
            mv.tl.ingest(query, reference, obs="type")

    def test_without_loadings(self, split):
        query, reference = split
        del reference.varm["PCs"]
        with pytest.raises(ValueError, match=r"query \(X_pca\): expected the key 'X_pca'.*'protein'"):
            mv.tl.ingest(query, reference, obs="type")

    def test_same_loadings(self, adata):
        del adata.obsm["X_pca"]
        sc.pp.pca(adata, n_comps=8)
        reference, query = adata[50:].copy(), adata[:50].copy()
        mv.pp.neighbors(reference, VIEWS)
        mv.tl.ingest(query, reference, obs="type", obsm="X_pca")


def test_options_that_cannot_be_stored(split):
    query, reference = split
    mv.pp.neighbors(reference, VIEWS, kernel=np.exp, bandwidth=1.0)
    with pytest.raises(ValueError, match=r"kernel: expected the value that was given to pp.neighbors"):
        mv.tl.ingest(query, reference, obs="type")


def test_categories_keep_their_order(split):
    query, reference = split
    reference.obs["type"] = reference.obs["type"].cat.reorder_categories(["NK", "B", "T"])
    mv.tl.ingest(query, reference, obs="type")
    assert query.obs["type"].cat.categories.tolist() == ["NK", "B", "T"]
