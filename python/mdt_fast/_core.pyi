from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEBUG_BUILD", "OperatorSet", "Transition", "__version__", "available_threads", "knn", "knn_sparse"]

__version__: Final[str]
DEBUG_BUILD: Final[bool]

_Floats = NDArray[np.float64] | NDArray[np.float32]
_Table = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64], int]

def available_threads() -> int: ...
def knn(x: _Floats, k: int, metric: str, method: str, n_threads: int) -> _Table: ...
def knn_sparse(
    n_cols: int,
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    values: NDArray[np.float64],
    k: int,
    metric: str,
    n_threads: int,
) -> _Table: ...

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
