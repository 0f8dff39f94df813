"""The neighbour search as a transformer of scikit-learn.

The graph of N samples takes 8 or 12 bytes for each neighbour, in single or double precision. It is filled
from the table of the search without further arrays of that size.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .._graphs.approximate import ApproximateNeighbors, check_search, find_effort, is_search
from .._graphs.cross import nearest_of_new, store_distances
from .._graphs.frozen import immutable
from .._graphs.nearest import METRICS, search_table
from .._graphs.views import View, check_views, check_views_like
from .._support.arguments import check_choice, check_integer
from .._support.seed import check_seed
from .._support.threads import n_threads
from .inputs import validate_matrix


# A dataclass has the constructor that scikit-learn needs: it only assigns named parameters.
@dataclass(eq=False, repr=False)
class NeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Transform samples into the sparse graph of their nearest neighbours.

    It has the interface and the conventions of :class:`sklearn.neighbors.KNeighborsTransformer`, with the
    search of :func:`nearest_neighbors`: exact, or approximate with a given recall. So it serves
    ``scanpy.pp.neighbors(transformer=...)``, estimators of scikit-learn with ``metric="precomputed"``, and
    `neighbors` of :func:`build_operators`. The user guide has examples, also for UMAP.

    Parameters
    ----------
    n_neighbors : int, default=15
        Number of neighbours, from 1 to N - 1. With ``mode="distance"`` a row of the graph has one entry
        more: a training sample is its own first neighbour. With ``mode="connectivity"`` the sample itself
        is one of them, and the largest number is N.
    metric : {"euclidean", "cosine", "correlation", "manhattan"}, default="euclidean"
        Distance of two samples.
    method : {"auto", "exact", "approx"} or ApproximateNeighbors, default="auto"
        Search of the neighbours of the training samples. "auto" is approximate if an exact search would
        take more than a few seconds, as in :func:`build_operators`. "approx" is
        ``ApproximateNeighbors(recall=0.95)``.
    mode : {"distance", "connectivity"}, default="distance"
        Entries of the graph: distances, or ones.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the approximate search. One seed gives one graph at any number of threads.
    n_jobs : int or None, default=None
        Number of threads; None or -1 for all.

    Attributes
    ----------
    method_ : "exact" or ApproximateNeighbors
        The search that `method` means for the training samples.
    n_samples_fit_ : int
        Number of training samples.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of str
        Names of the columns; only if fitted on a data frame.

    See Also
    --------
    nearest_neighbors : The same search as a function, which returns two arrays.
    ApproximateNeighbors : The required recall.

    Notes
    -----
    Entries of a row ascend by (distance, index). Distances 0, that of the sample itself and those of
    duplicates, are explicit. The graph is a ``scipy.sparse.csr_matrix``, or a ``csr_array`` if the
    configuration of scikit-learn says ``sparse_interface="sparray"``. Its values have the type of `X`.

    `transform` compares every given sample with every training sample, so its neighbours are exact for any
    `method`. To get the approximate graph of the training samples, use `fit_transform`, as pipelines and
    scanpy do.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> transformer = mdt.NeighborsTransformer(n_neighbors=1)
    >>> transformer.fit_transform([[0.0], [1.0], [3.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    >>> transformer.transform([[2.5]]).toarray()
    array([[0. , 1.5, 0.5]])

    t-SNE without its own search:

    >>> from sklearn.manifold import TSNE
    >>> from sklearn.pipeline import make_pipeline
    >>> neighbors = mdt.NeighborsTransformer(n_neighbors=91, method="approx")
    >>> map_2d = make_pipeline(neighbors, TSNE(metric="precomputed", init="random", perplexity=30))
    """

    n_neighbors: Any = 15
    _: KW_ONLY
    metric: Any = "euclidean"
    method: Any = "auto"
    mode: Any = "distance"
    random_state: Any = 0
    n_jobs: Any = None

    def __sklearn_tags__(self) -> Tags:
        """Return the tags by which scikit-learn chooses its checks."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the training samples.

        Parameters
        ----------
        X : (N, d) array, sparse matrix or DataFrame
            Training samples, at least 2. They are copied unless they are read-only.
        y : ignored
            Present by convention.

        Returns
        -------
        NeighborsTransformer
            The object itself.

        Raises
        ------
        TypeError, ValueError
            If an argument or a parameter is not as described.

        Examples
        --------
        >>> import numpy as np
        >>> import mdt_fast as mdt
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> mdt.NeighborsTransformer(5).fit(X).n_samples_fit_
        100
        """
        view, _, _ = self._check(X)
        return self._keep(view)

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Keep the training samples and return the graph of their neighbours.

        Parameters
        ----------
        X : (N, d) array, sparse matrix or DataFrame
            Training samples, at least 2.
        y : ignored
            Present by convention.

        Returns
        -------
        (N, N) sparse matrix in CSR format
            The first entry of each row is the sample itself.

        Raises
        ------
        TypeError, ValueError
            If an argument or a parameter is not as described.
        """
        view, n_entries, seed = self._check(X)
        found = None
        if n_entries > 1:
            found = search_table(view, n_entries - 1, self.metric, self.method, seed, n_threads(self.n_jobs))
        # After the search, which needs the memory itself.
        n, dtype = view.n_samples, view.data.dtype
        indices = np.empty((n, n_entries), dtype=np.int32)
        indices[:, 0] = np.arange(n)
        distances = None if self.mode == "connectivity" else np.zeros((n, n_entries), dtype=dtype)
        if found is not None:
            indices[:, 1:] = found.indices
            if distances is not None:
                store_distances(found.distances, found.exponent, distances[:, 1:], "X")
        self._keep(view)
        return _graph(indices, distances, n, dtype)

    def transform(self, X: Any) -> Any:
        """Return the nearest training samples of given samples.

        Parameters
        ----------
        X : (M, d) array, sparse matrix or DataFrame
            Samples with the columns of `fit`, new ones or training samples.

        Returns
        -------
        (M, N) sparse matrix in CSR format
            The rows have as many entries as those of `fit_transform`.

        Raises
        ------
        TypeError, ValueError
            If an argument or a parameter is not as described.

        Examples
        --------
        >>> import numpy as np
        >>> import mdt_fast as mdt
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> mdt.NeighborsTransformer(5).fit(X[:80]).transform(X[80:]).shape
        (20, 80)
        """
        check_is_fitted(self)
        (new,) = check_views_like([validate_matrix(self, X, "X", is_new=True)], ["view 0"], "X")
        n_entries = self._check_parameters(self.n_samples_fit_)
        # Arrays of a pickle may not be aligned.
        training = self._training if sparse.issparse(self._training) else np.require(self._training, None, ["C", "A"])
        dtype = new.data.dtype
        indices, distances = nearest_of_new(
            training, new, n_entries, self.metric, np.float64 if self.mode == "connectivity" else dtype,
            n_threads(self.n_jobs),
        )  # fmt: skip
        return _graph(indices, None if self.mode == "connectivity" else distances, self.n_samples_fit_, dtype)

    def _check(self, X: Any) -> tuple[View, int, int]:
        """Return the training samples, the number of entries of a row, and the seed."""
        (view,) = check_views([validate_matrix(self, X, "X")], "X")
        n_entries = self._check_parameters(view.n_samples)
        if not is_search(self.method):
            expected = "'auto', 'exact', 'approx' or ApproximateNeighbors"
            raise TypeError(f"method: expected {expected}, got {self.method!r}")
        check_search("method", self.method, view, self.metric)
        return view, n_entries, check_seed(self.random_state)

    def _check_parameters(self, n_samples: int) -> int:
        """Check what does not depend on the samples; return the number of entries of a row."""
        check_choice("metric", self.metric, METRICS[:-1])
        with_itself = check_choice("mode", self.mode, ("distance", "connectivity")) == "distance"
        n_threads(self.n_jobs)
        k = check_integer("n_neighbors", self.n_neighbors, minimum=1, maximum=n_samples - with_itself)
        return k + with_itself

    def _keep(self, view: View) -> Self:
        """Set the attributes of a fitted transformer."""
        self._training = immutable(view.data)
        self.method_: str | ApproximateNeighbors = find_effort(self.method, view, self.metric) or "exact"
        self.n_samples_fit_ = self._n_features_out = view.n_samples
        return self


def _graph(indices: NDArray[np.int32], distances: NDArray[Any] | None, n_columns: int, dtype: Any) -> Any:
    """Return the CSR matrix of a table of neighbours, which shares its memory; ones without distances."""
    m, n_entries = indices.shape
    values = np.ones(m * n_entries, dtype=dtype) if distances is None else distances.ravel()
    # SciPy requires one type for both index arrays and would copy the long one.
    index_type = np.int32 if m * n_entries <= np.iinfo(np.int32).max else np.int64
    indptr = np.arange(0, m * n_entries + 1, n_entries, dtype=index_type)
    # What scikit-learn's own transformers return; versions before 1.9 have no choice.
    is_array = get_config().get("sparse_interface") == "sparray"
    make = sparse.csr_array if is_array else sparse.csr_matrix
    return make((values, indices.ravel(), indptr), shape=(m, n_columns), copy=False)
