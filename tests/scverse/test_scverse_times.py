"""Diffusion distance and pseudotime against the dense walk, and against scanpy."""

from __future__ import annotations

import numpy as np
import pytest
import scanpy as sc
from scipy import sparse
from scipy.stats import spearmanr

from mdt_fast import scverse as mv

VIEWS = ["X_pca", "protein"]


@pytest.fixture
def graph(adata):
    mv.pp.neighbors(adata, VIEWS)
    return adata


def walk(data):
    C = data.obsp["mdt_connectivities"].toarray().astype(float)
    return C / C.sum(axis=1, keepdims=True), C.sum(axis=1) / C.sum()


class TestDiffusionDistance:
    @pytest.mark.parametrize("t", [1, 8])
    def test_formula(self, graph, t):
        mv.tl.diffusion_distance(graph, 7, t=t, n_components=149)
        P, pi = walk(graph)
        W = np.linalg.matrix_power(P, t)
        expected = np.sqrt(((W - W[7]) ** 2 / pi).sum(axis=1))
        np.testing.assert_allclose(graph.obs["mdt_distance"], expected, rtol=1e-6, atol=1e-9)

    def test_few_eigenvectors_suffice_for_many_steps(self, graph):
        mv.tl.diffusion_distance(graph, "cell7", t=20)
        P, pi = walk(graph)
        W = np.linalg.matrix_power(P, 20)
        expected = np.sqrt(((W - W[7]) ** 2 / pi).sum(axis=1))
        np.testing.assert_allclose(graph.obs["mdt_distance"], expected, rtol=1e-2, atol=1e-3)
        assert graph.uns["mdt_distance"]["params"]["cell"] == 7


class TestPseudotime:
    def test_formula(self, graph):
        mv.tl.pseudotime(graph, "cell7", n_components=149)
        P, pi = walk(graph)
        # The sum of all powers of the walk without its limit.
        limit = np.tile(pi, (len(P), 1))
        M = np.linalg.inv(np.eye(len(P)) - P + limit) - np.eye(len(P))
        expected = np.sqrt(((M - M[7]) ** 2 / pi).sum(axis=1))
        np.testing.assert_allclose(graph.obs["mdt_pseudotime"], expected / expected.max(), rtol=1e-6, atol=1e-9)

    def test_follows_the_cells(self, graph, cells):
        root = int(cells["along"].argmin())
        mv.tl.pseudotime(graph, root)
        found = graph.obs["mdt_pseudotime"]
        assert (found.iloc[root], found.max()) == (0.0, 1.0)
        assert spearmanr(found, cells["along"]).statistic > 0.95

    def test_is_close_to_that_of_scanpy(self, graph, cells):
        graph.uns["iroot"] = int(cells["along"].argmin())
        mv.tl.pseudotime(graph)
        sc.tl.diffmap(graph, neighbors_key="mdt")
        sc.tl.dpt(graph, neighbors_key="mdt")
        assert np.corrcoef(graph.obs["mdt_pseudotime"], graph.obs["dpt_pseudotime"])[0, 1] > 0.99

    def test_parts_that_no_path_reaches(self, graph):
        C = graph.obsp["mdt_connectivities"].tolil()
        C[:100, 100:], C[100:, :100] = 0, 0
        graph.obsp["mdt_connectivities"] = sparse.csr_matrix(C)
        mv.tl.pseudotime(graph, 3)
        found = graph.obs["mdt_pseudotime"].to_numpy()
        assert np.isinf(found[100:]).all()
        assert found[:100].max() == 1.0

    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_tiny_parts(self, graph, size):
        C = graph.obsp["mdt_connectivities"].tolil()
        C[:size, size:], C[size:, :size] = 0, 0
        C[:size, :size] = 1.0 - np.eye(size)
        graph.obsp["mdt_connectivities"] = sparse.csr_matrix(C)
        mv.tl.pseudotime(graph, 0)
        mv.tl.diffusion_distance(graph, 0)
        for key in ("mdt_pseudotime", "mdt_distance"):
            found = graph.obs[key].to_numpy()
            assert found[0] == 0
            assert np.isfinite(found[:size]).all()
            assert np.isinf(found[size:]).all()

    @pytest.mark.parametrize("name", ["mdata", "partial"])
    def test_mudata(self, name, request):
        data = request.getfixturevalue(name)
        mv.pp.neighbors(data)
        copied = mv.tl.pseudotime(data, str(data.obs_names[0]), copy=True)
        assert np.isfinite(copied.obs["mdt_pseudotime"]).all()
        assert "mdt_pseudotime" not in data.obs
