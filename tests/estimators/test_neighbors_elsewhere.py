"""NeighborsTransformer where others take a neighbour search: scanpy, UMAP, scikit-learn, build_operators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN
from sklearn.manifold import TSNE, Isomap
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer
from sklearn.pipeline import make_pipeline

import mdt_fast as mdt

N = 240


@pytest.fixture(name="clusters")
def three_clusters(rng):
    target = np.arange(N) % 3
    return (8.0 * np.eye(3, 6)[target] + rng.normal(size=(N, 6))).astype(np.float32), target


def both(*estimators, **parameters):
    """Pipelines with the transformer of this package and with that of scikit-learn."""
    transformers = mdt.NeighborsTransformer(**parameters), KNeighborsTransformer(algorithm="brute", **parameters)
    return [make_pipeline(each, *estimators) for each in transformers]


class TestScikitLearn:
    def test_tsne(self, clusters):
        X, target = clusters
        layout = TSNE(metric="precomputed", init="random", perplexity=10, max_iter=300, random_state=0)
        maps = [pipeline.fit_transform(X.astype(np.float64)) for pipeline in both(layout, n_neighbors=31)]
        np.testing.assert_allclose(maps[0], maps[1], rtol=1e-2, atol=1e-2)
        assert KNeighborsClassifier().fit(maps[0], target).score(maps[0], target) > 0.99

    def test_isomap_with_new_samples(self, clusters):
        X, _ = clusters
        ours, theirs = both(Isomap(n_neighbors=100, metric="precomputed"), n_neighbors=100)
        np.testing.assert_allclose(abs(ours.fit_transform(X)), abs(theirs.fit_transform(X)), rtol=1e-2, atol=1e-2)
        np.testing.assert_allclose(abs(ours.transform(X[:9])), abs(theirs.transform(X[:9])), rtol=1e-2, atol=1e-2)

    def test_dbscan(self, clusters):
        X, target = clusters
        ours, theirs = (pipeline.fit_predict(X) for pipeline in both(DBSCAN(3.0, metric="precomputed"), n_neighbors=15))
        np.testing.assert_array_equal(ours, theirs)
        assert adjusted_rand_score(ours, target) > 0.95

    def test_classifier_of_new_samples(self, clusters):
        X, target = clusters
        ours, theirs = both(KNeighborsClassifier(7, metric="precomputed"), n_neighbors=7)
        found = ours.fit(X[::2], target[::2]).predict(X[1::2])
        np.testing.assert_array_equal(found, theirs.fit(X[::2], target[::2]).predict(X[1::2]))


class TestOperators:
    def test_neighbours_of_a_view(self, clusters):
        X, _ = clusters
        given = mdt.build_operators([X], neighbors=mdt.NeighborsTransformer(9))
        searched = mdt.build_operators([X], neighbors="exact", n_neighbors=9)
        np.testing.assert_allclose(given.views[0].toarray(), searched.views[0].toarray(), rtol=1e-5)

    def test_connectivities_are_refused(self, clusters):
        X, _ = clusters
        with pytest.raises(ValueError, match=r"mode='distance'\), got NeighborsTransformer"):
            mdt.build_operators([X], neighbors=mdt.NeighborsTransformer(9, mode="connectivity"))

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")  # the clusters are not connected
    def test_estimators(self, clusters):
        X, target = clusters
        model = mdt.MDTClustering(3, neighbors=mdt.NeighborsTransformer(9), strategy="mean").fit([X, X[:, :3]])
        assert adjusted_rand_score(model.labels_, target) > 0.95


# UMAP warns of what it sets itself: one thread for a seed, no search of new samples, no part that needs TensorFlow.
@pytest.mark.filterwarnings("ignore:n_jobs value .* overridden")
@pytest.mark.filterwarnings("ignore:precomputed_knn.*is not an NNDescent object")
@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")
class TestUMAP:
    def test_given_neighbours(self, clusters):
        from umap import UMAP

        X, target = clusters
        graph = mdt.NeighborsTransformer(n_neighbors=14).fit_transform(X)
        neighbors = graph.indices.reshape(N, 15), graph.data.reshape(N, 15)
        layout = UMAP(n_neighbors=15, precomputed_knn=neighbors, n_epochs=100, random_state=0).fit(X)
        np.testing.assert_array_equal(layout._knn_indices, neighbors[0])
        found = layout.embedding_
        assert KNeighborsClassifier().fit(found, target).score(found, target) > 0.99


@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")
class TestScanpy:
    @pytest.fixture(name="adata")
    def cells(self, clusters):
        from anndata import AnnData

        X, target = clusters
        return AnnData(X, obs={"target": target.astype(str)}, obsm={"X_pca": X})

    def test_same_graph_as_with_its_own_exact_search(self, adata):
        import scanpy as sc

        sc.pp.neighbors(adata, n_neighbors=15, use_rep="X_pca", transformer="sklearn")
        expected = adata.obsp["connectivities"].toarray()
        sc.pp.neighbors(adata, use_rep="X_pca", transformer=mdt.NeighborsTransformer(15))
        np.testing.assert_allclose(adata.obsp["connectivities"].toarray(), expected, atol=1e-4)
        assert adata.uns["neighbors"]["params"]["n_neighbors"] == 15
        assert isinstance(adata.obsp["distances"], sparse.csr_matrix)

    def test_clusters_and_maps(self, adata):
        import scanpy as sc

        sc.pp.neighbors(adata, use_rep="X_pca", transformer=mdt.NeighborsTransformer(15))
        sc.tl.leiden(adata, resolution=0.2, flavor="igraph", n_iterations=2, random_state=0)
        assert adjusted_rand_score(adata.obs["leiden"], adata.obs["target"]) > 0.95
        sc.tl.umap(adata, maxiter=50)
        assert adata.obsm["X_umap"].shape == (N, 2)
        assert np.isfinite(adata.obsm["X_umap"]).all()
        sc.tl.diffmap(adata)
        assert np.isfinite(adata.obsm["X_diffmap"]).all()

    @pytest.mark.parametrize("method", ["umap", "gauss"])
    def test_same_graph_as_with_the_transformer_of_scikit_learn(self, adata, method):
        import scanpy as sc

        adata.obsm["X_pca"] = adata.obsm["X_pca"].astype(np.float64)
        sc.pp.neighbors(adata, use_rep="X_pca", method=method, transformer=KNeighborsTransformer(n_neighbors=15))
        expected = adata.obsp["connectivities"].toarray()
        sc.pp.neighbors(adata, use_rep="X_pca", method=method, transformer=mdt.NeighborsTransformer(15))
        np.testing.assert_allclose(adata.obsp["connectivities"].toarray(), expected, atol=1e-5)

    def test_duplicates_subsets_and_sparse_counts(self, adata):
        import anndata
        import scanpy as sc

        twice = anndata.concat([adata, adata[:40]], index_unique="-")
        sc.pp.neighbors(twice, use_rep="X_pca", transformer=mdt.NeighborsTransformer(15))
        assert np.isfinite(twice.obsp["connectivities"].data).all()
        assert twice.obsp["distances"].nnz == 16 * (N + 40)
        # A view of AnnData, whose arrays are of its own classes.
        subset = adata[::2]
        graph = mdt.NeighborsTransformer(5).fit_transform(subset.obsm["X_pca"])
        expected = mdt.NeighborsTransformer(5).fit_transform(np.asarray(subset.obsm["X_pca"]))
        np.testing.assert_array_equal(graph.indices, expected.indices)
        counts = anndata.AnnData(sparse.csr_matrix(np.random.default_rng(0).poisson(1.0, (60, 30)).astype(np.float32)))
        sc.pp.neighbors(counts, use_rep="X", transformer=mdt.NeighborsTransformer(5, metric="cosine"))
        assert counts.obsp["distances"].shape == (60, 60)
