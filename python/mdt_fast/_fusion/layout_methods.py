"""UMAP and t-SNE of a connected graph, given by its distances.

Weights of UMAP are ``exp(-1.5 d_ij^2)``. Mean accuracy of 10 neighbours on eight sets (digits in three forms,
K-MvMNIST, Multi-Feat, SNARE-seq, 100Leaves, Cora; a minimal distance of 0.1): 0.929 with the exponent 1, 0.931
with 1.5, 0.930 with 2. The weights that UMAP makes of the 15 nearest samples have 0.959 on the sets without
Cora, on which the exponent 1.5 has 0.960. A minimal distance of 0.3 loses less than 0.01 on most sets, and groups fill
more of the page.

t-SNE makes its own weights of the distances: those of a sample have a given perplexity, the effective number
of neighbours. scikit-learn takes the nearest ``3 perplexity + 1`` samples, and the perplexity would have to be
a third of the fewest neighbours. Pairs without an edge are added as very distant ones instead, which have no
weight, and the perplexity is 3/4 of the fewest neighbours (noisy digits: 0.924 instead of 0.906). In a graph
with very few neighbours, such as a chain, several steps of its walk give each sample more of them.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._operators.operator_set import OperatorSet
from .._support.one_thread import one_thread

# Factor of the squared distances in the exponent of the weights of UMAP.
_EXPONENT = 1.5
# Distance in the map, in units of its scale, to which UMAP moves the nearest samples together.
_SPREAD, _MIN_DIST = 1.0, 0.3
# Half the width of the start that UMAP and t-SNE expect.
_UMAP_START, _TSNE_START = 5.0, 2e-4
# Noise of the start of UMAP, so that samples with equal coordinates can part.
_NOISE = 1e-3
# Perplexity of t-SNE: share of the fewest neighbours, and the largest value.
_SHARE, _LARGEST_PERPLEXITY = 0.75, 30.0
# With fewer neighbours, the largest entries of a walk of some steps are taken.
_FEW_NEIGHBORS, _STEPS, _ENTRIES = 6, 8, 16
# Distance of pairs without an edge over the largest distance.
_FAR = 1e3
# umap-learn takes 32-bit seeds.
_LARGEST_SEED = 2**32


def by_umap(distances: sparse.csr_array, start: NDArray[np.float64], seed: int) -> NDArray[np.float32]:
    """Return the coordinates that UMAP finds, on one thread."""
    with warnings.catch_warnings():
        # umap-learn warns of packages that it does not need here.
        warnings.simplefilter("ignore")
        from umap.umap_ import find_ab_params, simplicial_set_embedding

    weights = np.exp(-_EXPONENT * distances.data.astype(np.float64) ** 2)
    graph = sparse.coo_matrix(
        sparse.csr_matrix((weights / weights.max(), distances.indices, distances.indptr), shape=distances.shape)
    )
    random = np.random.RandomState(seed % _LARGEST_SEED)
    noisy = _UMAP_START * start + random.normal(scale=_NOISE, size=start.shape)
    a, b = find_ab_params(_SPREAD, _MIN_DIST)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, _ = simplicial_set_embedding(
            # The data are only read for starts that UMAP computes.
            data=np.zeros((len(start), 1), dtype=np.float32), graph=graph, n_components=2, initial_alpha=1.0, a=a, b=b,
            gamma=1.0, negative_sample_rate=5, n_epochs=None, init=noisy.astype(np.float32), random_state=random,
            metric="euclidean", metric_kwds={}, densmap=False, densmap_kwds={}, output_dens=False, parallel=False,
        )  # fmt: skip
    return np.asarray(found, dtype=np.float32)


def by_tsne(distances: sparse.csr_array, start: NDArray[np.float64], seed: int) -> NDArray[np.float32]:
    """Return the coordinates that t-SNE finds, on one thread: sums of threads would depend on their number."""
    from sklearn.manifold import TSNE
    from sklearn.neighbors import sort_graph_by_row_values

    n = distances.shape[0]
    if np.diff(distances.indptr).min() < min(_FEW_NEIGHBORS, n - 1):
        distances = _by_several_steps(distances)
    fewest = int(np.diff(distances.indptr).min())
    # At 1 only the nearest sample counts.
    perplexity = max(1.0, min(_SHARE * fewest, (n - 1) / 3, _LARGEST_PERPLEXITY))
    model = TSNE(
        2, perplexity=perplexity, metric="precomputed", init=(_TSNE_START * start).astype(np.float32),
        random_state=seed % _LARGEST_SEED, n_jobs=1,
    )  # fmt: skip
    pairs = _with_distant_pairs(distances, min(n - 1, int(3 * perplexity) + 1))
    with one_thread():
        found: Any = model.fit_transform(sort_graph_by_row_values(pairs, warn_when_not_sorted=False))
    return np.asarray(found, dtype=np.float32)


def _by_several_steps(distances: sparse.csr_array) -> sparse.csr_array:
    """Return distances to the samples that a walk of several steps most probably reaches, without the diagonal."""
    affinity = sparse.csr_array(distances, dtype=np.float64, copy=True)
    affinity.data = np.exp(-(affinity.data**2))
    walk = OperatorSet.from_affinities([sparse.csr_array(affinity + sparse.eye_array(affinity.shape[0]))])
    reached = walk.trajectory([0] * _STEPS).tosparse(top=_ENTRIES, prune_each_step=True).tocoo()
    largest = np.zeros(affinity.shape[0])
    np.maximum.at(largest, reached.row, reached.data)
    off = reached.row != reached.col
    rows, columns, values = reached.row[off], reached.col[off], reached.data[off]
    return sparse.csr_array((np.sqrt(np.log(largest[rows] / values)), (rows, columns)), shape=affinity.shape)


def _with_distant_pairs(distances: sparse.csr_array, n_neighbors: int) -> sparse.csr_matrix:
    """Return distances with an explicit diagonal, and distant pairs in rows with fewer entries than needed."""
    n = distances.shape[0]
    values = distances.data.astype(np.float64)
    far = _FAR * max(float(values.max(initial=0.0)), 1.0)
    lengths = np.diff(distances.indptr)
    rows, columns = [np.arange(n)], [np.arange(n)]
    data = [np.zeros(n)]
    for row in np.flatnonzero(lengths < n_neighbors):
        known = distances.indices[distances.indptr[row] : distances.indptr[row + 1]]
        # The next samples by number; some of them may be known.
        others = (row + 1 + np.arange(n_neighbors)) % n
        others = others[(others != row) & ~np.isin(others, known)][: n_neighbors - len(known)]
        rows.append(np.full(len(others), row))
        columns.append(others)
        data.append(np.full(len(others), far))
    pairs = distances.tocoo()
    entries = np.concatenate([values, *data])
    places = np.concatenate([pairs.row, *rows]), np.concatenate([pairs.col, *columns])
    return sparse.csr_matrix((entries, places), shape=(n, n))
