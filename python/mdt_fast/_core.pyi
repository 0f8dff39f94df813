from collections.abc import Callable
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "DEBUG_BUILD",
    "OperatorSet",
    "Scoring",
    "Transition",
    "__version__",
    "available_threads",
    "bytes_moved",
    "calinski_harabasz",
    "consensus",
    "contrastive",
    "cpu_features",
    "cross_knn",
    "cross_knn_sparse",
    "cross_rows",
    "davies_bouldin",
    "density_factors",
    "embed",
    "embed_chains",
    "embed_multiview",
    "k_means",
    "knn",
    "knn_approximate",
    "knn_sparse",
    "persistence",
    "sample_rows",
    "silhouette",
]

__version__: Final[str]
DEBUG_BUILD: Final[bool]

_Floats = NDArray[np.float64] | NDArray[np.float32]
_Rows: TypeAlias = "Transition | _Floats | tuple[int, NDArray[np.int64], NDArray[np.int32], _Floats]"
_Table = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64], int]
_CsrParts = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]
_CrossTable = tuple[_CsrParts, NDArray[np.uint8], NDArray[np.int32], NDArray[np.float64]]

def available_threads() -> int: ...
def bytes_moved() -> int: ...
def cpu_features() -> list[str]: ...
def embed(
    operators: OperatorSet,
    weights: NDArray[np.float64],
    *,
    decomposition: str,
    pi: NDArray[np.float64] | None,
    n_components: int,
    drop_first: bool,
    tolerance: float,
    max_iterations: int,
    seed: int,
    start: _Floats | None,
    n_threads: int,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.float64], NDArray[np.float64], bool, int]: ...
def embed_chains(
    operators: OperatorSet,
    chains: list[tuple[float, list[tuple[int, bool]]]],
    *,
    n_components: int,
    drop_first: bool,
    tolerance: float,
    max_iterations: int,
    seed: int,
    n_threads: int,
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64], bool]: ...
def embed_multiview(
    operators: OperatorSet,
    *,
    n_views: int,
    n_components: int,
    tolerance: float,
    max_iterations: int,
    seed: int,
    n_threads: int,
) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64], bool]: ...
def knn(x: _Floats, k: int, metric: str, method: str, n_threads: int) -> _Table: ...
def knn_approximate(x: _Floats, k: int, metric: str, recall: float, seed: int, n_threads: int) -> _Table: ...
def knn_sparse(
    n_cols: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    k: int,
    metric: str,
    n_threads: int,
) -> _Table: ...
def k_means(
    x: _Floats, *, n_clusters: int, n_init: int, max_iter: int, tol: float, seed: int, n_threads: int
) -> tuple[NDArray[np.int32], NDArray[np.float64], float, int, bool]: ...
def calinski_harabasz(rows: _Rows, labels: NDArray[np.uint32], n_labels: int, n_threads: int) -> float: ...
def davies_bouldin(rows: _Rows, labels: NDArray[np.uint32], n_labels: int, n_threads: int) -> float: ...
def persistence(rows: _Rows, labels: NDArray[np.uint32], n_labels: int, n_threads: int) -> float: ...
def consensus(
    labels: NDArray[np.uint32], *, n_labels: int, n_components: int, seed: int, n_threads: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]: ...
def silhouette(
    rows: _Rows, labels: NDArray[np.uint32], n_labels: int, *, sample_size: int | None, seed: int, n_threads: int
) -> float: ...
def sample_rows(n: int, sample_size: int, seed: int) -> NDArray[np.uint32]: ...
def contrastive(
    operators: OperatorSet,
    weights: NDArray[np.float64],
    view_weights: NDArray[np.float64],
    rows: list[int] | None,
    *,
    include_self: bool,
    gradient: bool,
    n_threads: int,
) -> tuple[float, NDArray[np.float64]]: ...
def cross_knn(
    x: _Floats,
    new: NDArray[np.float64],
    reach: tuple[NDArray[np.float64], NDArray[np.int32]],
    k: int,
    metric: str,
    n_threads: int,
) -> _CrossTable: ...
def cross_knn_sparse(
    n_cols: int,
    x: _CsrParts,
    new: _CsrParts,
    reach: tuple[NDArray[np.float64], NDArray[np.int32]],
    k: int,
    metric: str,
    n_threads: int,
) -> _CrossTable: ...
def cross_rows(
    n_cols: int,
    edges: _CsrParts,
    sides: NDArray[np.uint8],
    nearest: NDArray[np.int32],
    *,
    kernel: str,
    widths: float | NDArray[np.float64],
    own_widths: float | NDArray[np.float64],
    symmetrize: str,
    densities: NDArray[np.float64] | None,
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64], NDArray[np.int32]]: ...
def density_factors(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    distances: NDArray[np.float64],
    *,
    kernel: str,
    widths: float | NDArray[np.float64],
    diagonal: float,
    symmetrize: str,
    anisotropy: float,
    n_threads: int,
) -> NDArray[np.float64]: ...

@final
class Transition:
    @staticmethod
    def from_graph(
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        distances: NDArray[np.float64],
        *,
        kernel: str,
        widths: float | NDArray[np.float64],
        diagonal: float,
        symmetrize: str,
        anisotropy: float,
        single: bool,
        n_threads: int,
    ) -> Transition: ...
    @staticmethod
    def from_affinity(
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        *,
        anisotropy: float,
        single: bool,
        n_threads: int,
    ) -> Transition: ...
    @staticmethod
    def from_stochastic(
        indptr: NDArray[np.int64],
        indices: NDArray[np.int32],
        values: NDArray[np.float64],
        *,
        tolerance: float,
        single: bool,
        n_threads: int,
    ) -> Transition: ...
    @staticmethod
    def restore(
        indptr: NDArray[np.int64], indices: NDArray[np.int32], values: _Floats, degrees: _Floats | None
    ) -> Transition: ...
    @property
    def indptr(self) -> NDArray[np.int64]: ...
    @property
    def indices(self) -> NDArray[np.int32]: ...
    @property
    def values(self) -> NDArray[Any]: ...
    @property
    def degrees(self) -> NDArray[Any] | None: ...
    @property
    def n(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class OperatorSet:
    def __new__(cls, transitions: list[Transition], members: list[tuple[Any, ...]]) -> OperatorSet: ...
    def apply(self, weights: NDArray[np.float64], block: _Floats, transposed: bool, n_threads: int) -> NDArray[Any]: ...
    def to_sparse(
        self,
        weights: NDArray[np.float64],
        *,
        prune_below: float,
        top: int | None,
        prune_each_step: bool,
        memory_limit: int,
        n_threads: int,
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[Any]]: ...
    def stationary_distribution(
        self, weights: NDArray[np.float64], tolerance: float, max_iterations: int, n_threads: int
    ) -> tuple[NDArray[np.float64], float, int]: ...
    def diffusion_distances(
        self,
        weights: NDArray[np.float64],
        rows: list[int],
        inverse_weights: NDArray[np.float64] | None,
        n_threads: int,
    ) -> NDArray[np.float64]: ...
    def singular_entropy(
        self,
        weights: NDArray[np.float64],
        times: list[int],
        *,
        n_vectors: int,
        n_deflated: int,
        max_steps: int,
        tolerance: float,
        seed: int,
        n_threads: int,
    ) -> tuple[list[float], list[float], list[int]]: ...

@final
class Scoring:
    def __new__(
        cls,
        operators: OperatorSet,
        quality: Any,
        *,
        clustering: tuple[int, int, int, float, int, int] | None,
        view_weights: list[float],
        features: list[Any],
        memory_budget: int,
        n_threads: int,
    ) -> Scoring: ...
    def visits(self, strategy: tuple[Any, ...]) -> int: ...
    def first_word(self, strategy: tuple[Any, ...]) -> list[int]: ...
    def search(
        self,
        strategy: tuple[Any, ...],
        *,
        known: list[tuple[list[int], float, float]],
        max_evaluations: int | None,
        seconds: float | None,
        last: bool,
        watch: Callable[[list[tuple[list[int], float, float]]], bool],
    ) -> tuple[list[list[int]], NDArray[np.int64], NDArray[np.float64], NDArray[np.float64], int, str | None, int]: ...
    def score(
        self,
        candidates: list[NDArray[np.float64]],
        *,
        seconds: float | None,
        watch: Callable[[list[tuple[list[int], float, float]]], bool],
    ) -> tuple[list[tuple[float, float] | None], int]: ...
    def label(
        self,
        candidates: list[NDArray[np.float64]],
        *,
        seconds: float | None,
        watch: Callable[[list[tuple[list[int], float, float]]], bool],
    ) -> tuple[list[tuple[float, float, NDArray[np.int32]] | None], int]: ...
    def cluster(self, weights: NDArray[np.float64]) -> tuple[NDArray[np.int32], NDArray[Any], bool] | None: ...
