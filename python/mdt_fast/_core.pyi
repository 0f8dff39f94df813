"""The compiled core: graphs, walks, trajectories, embeddings, clusters, scores and searches.

Arrays are C-contiguous. `n_threads` never changes a result. Classes are immutable; those without a
constructor are results. Shapes: N samples, M new samples, t steps, k components.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import disjoint_base

__all__ = [
    "DEBUG_BUILD", "Beam", "CandidatePlan", "Chain", "Clustering", "Consensus", "ContrastiveLoss",
    "Coordinates", "CrossIndex", "CrossRows", "CrossTable", "CsrParts", "DensePairs", "Embedded", "EntropyEstimate",
    "EpsilonGreedy",
    "Evaluated", "EvaluatedBatch", "Exhaustive", "Factor", "KMeans", "Labelled", "Mcts", "Member", "NeighborTable",
    "OperatorSet", "Power", "RandomSequences", "ScoredSequence", "Scorer", "Searched", "Stationary", "Strategy",
    "Transition", "__version__", "available_memory", "available_threads", "bytes_moved", "consensus", "contrastive",
    "contrastive_probes", "cpu_features", "cross_index", "cross_knn", "cross_rows", "dense_pairs", "density_factors",
    "embed", "embed_chains", "embed_cross_diffusion", "embed_multiview", "estimate_contrastive", "k_means", "knn",
    "knn_approximate", "most_threads", "neighbor_support", "plan_candidates", "power_values", "score_labels",
    "set_heartbeat", "solver_bytes",
]  # fmt: skip

__version__: Final[str]
DEBUG_BUILD: Final[bool]

_Float32 = NDArray[np.float32]
_Float64 = NDArray[np.float64]
_UInt8 = NDArray[np.uint8]
_UInt32 = NDArray[np.uint32]
_Int32 = NDArray[np.int32]
_Int64 = NDArray[np.int64]
_Floats = _Float32 | _Float64
# One width for all samples, or one for each.
_Widths = float | _Float64
# The rows of a walk, of a sparse matrix, or of an (N, d) array.
_Rows: TypeAlias = "Transition | CsrParts | _Floats"

def available_memory() -> int | None: ...
def available_threads() -> int: ...
def most_threads() -> int: ...
def bytes_moved() -> int: ...
def cpu_features() -> list[str]: ...

# `function` is called at intervals, on this thread, while long calls of this thread run; an exception of it stops them.
# Searches call `watch` instead. The result is the function before.
def set_heartbeat(function: Callable[[], object] | None) -> Callable[[], object] | None: ...

@final
class CsrParts:
    """The arrays of a CSR matrix, with ascending columns in each row."""

    def __new__(cls, n_cols: int, indptr: _Int64, indices: _Int32, values: _Floats) -> CsrParts: ...
    n_cols: Final[int]
    indptr: Final[_Int64]
    indices: Final[_Int32]
    values: Final[NDArray[Any]]

# Neighbours.

@final
class NeighborTable:
    """The k nearest other samples of each sample, by ascending (distance, index)."""

    indices: Final[_Int32]  # (N, k)
    distances: Final[_Float64]  # (N, k), in units of ``2**exponent``
    # (N,): the smallest positive distance of each sample; infinity if there is none.
    nearest_positive: Final[_Float64]
    exponent: Final[int]  # 0, except for data of extreme scale

# metric: "euclidean", "cosine", "correlation", "manhattan"; method: "auto", "scan", "tree".
def knn(x: _Rows, k: int, metric: str, method: str, n_threads: int) -> NeighborTable: ...
def knn_approximate(x: _Rows, k: int, metric: str, recall: float, seed: int, n_threads: int) -> NeighborTable: ...

@final
class CrossIndex:
    """Cells of training samples, for the approximate edges of new samples."""

    @property
    def recall(self) -> float: ...
    @property
    def share(self) -> float: ...

@final
class CrossTable:
    """Edges from M new samples to N training samples."""

    edges: Final[CsrParts]  # (M, N) distances, in the units of the training search
    # Of each edge: 1 if the new sample chose the training sample, 2 if the converse holds, 3 if both.
    sides: Final[_UInt8]
    nearest: Final[_Int32]  # (M,): the nearest training sample
    # (M,): the distance to the last chosen sample, the width of the adaptive kernel.
    scales: Final[_Float64]

# radii: distance of the last neighbour of each training sample.
def cross_index(
    x: _Rows, *, radii: _Float64, k: int, metric: str, recall: float, points_per_cell: int | None,
    largest_share: float | None, n_threads: int
) -> CrossIndex | None: ...  # fmt: skip

# radii, last: distance and index of the last neighbour of each training sample.
def cross_knn(
    x: _Rows, new: _Float64 | CsrParts, *, radii: _Float64, last: _Int32, k: int, metric: str,
    index: CrossIndex | None, n_threads: int
) -> CrossTable: ...  # fmt: skip

@final
class CrossRows:
    """Transition rows of M new samples."""

    rows: Final[CsrParts]  # (M, N), each row sums to 1
    # The new samples without any affinity, which step to their nearest sample.
    without_affinity: Final[_Int32]

# kernel: "squared", "linear", "binary", "given"; symmetrize: "mean", "max", "min".
def cross_rows(
    edges: CsrParts,
    sides: _UInt8,
    nearest: _Int32,
    *,
    kernel: str,
    widths: _Widths,
    own_widths: _Widths,
    symmetrize: str,
    densities: _Float64 | None,
    n_threads: int,
) -> CrossRows: ...
def density_factors(
    graph: CsrParts,
    *,
    kernel: str,
    widths: _Widths,
    diagonal: float,
    symmetrize: str,
    anisotropy: float,
    n_threads: int,
) -> _Float64: ...

# Walks and trajectories.

@final
class Transition:
    """A row-stochastic sparse (n, n) matrix, made from a matrix with float64 values."""

    @staticmethod
    def from_graph(
        graph: CsrParts,
        *,
        kernel: str,
        widths: _Widths,
        diagonal: float,
        symmetrize: str,
        anisotropy: float,
        single_precision: bool,
        n_threads: int,
    ) -> Transition: ...
    @staticmethod
    def from_affinity(
        affinity: CsrParts, *, anisotropy: float, single_precision: bool, n_threads: int
    ) -> Transition: ...
    @staticmethod
    def from_stochastic(
        matrix: CsrParts, *, tolerance: float, single_precision: bool, n_threads: int
    ) -> Transition: ...
    @staticmethod
    def restore(indptr: _Int64, indices: _Int32, values: _Floats, degrees: _Floats | None) -> Transition: ...
    def among(self, samples: NDArray[np.uint32], n: int, stay: bool) -> Transition:
        """Return the walk among `n` samples of which this one has the ascending `samples`.

        The rows of the others are empty, or, if they `stay`, those of the identity.
        """
    indptr: Final[_Int64]
    indices: Final[_Int32]
    values: Final[NDArray[Any]]
    # (n,): row sums of the affinity up to a common factor; None if the walk is not reversible.
    degrees: Final[NDArray[Any] | None]
    n: Final[int]
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Power:
    """The part ``weight * P_base^exponent`` of a member."""

    base: Final[int]
    exponent: Final[int]
    weight: Final[float]
    def __eq__(self, other: object, /) -> bool: ...

@final
class Member:
    """A member of an operator set, ``identity_share * I + uniform_share * 11^T / N + sum of powers``."""

    @staticmethod
    def walk(index: int) -> Member:
        """Return the stored walk ``P_index``."""
    @staticmethod
    def mean(count: int) -> Member:
        """Return the mean of the first `count` stored walks."""
    @staticmethod
    def identity() -> Member:
        """Return the identity ``I``."""
    @staticmethod
    def uniform() -> Member:
        """Return the jump to any sample with equal probability, ``11^T / N``."""
    @staticmethod
    def power(base: int, exponent: int) -> Member:
        """Return ``P_base^exponent``."""
    @staticmethod
    def teleport(base: int, alpha: float, exponent: int | None = None) -> Member:
        """Return ``alpha P_base + (1 - alpha) P_base^exponent``; None replaces the power by the uniform jump."""
    kind: Final[str]  # The name of the constructor
    identity_share: Final[float]
    uniform_share: Final[float]
    powers: Final[tuple[Power, ...]]  # By ascending (base, exponent)
    bases: Final[tuple[int, ...]]  # The stored walks of the powers, ascending
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Stationary:
    """A stationary distribution, its residual ``sum |W^T pi - pi|``, and the number of passes."""

    distribution: Final[_Float64]
    residual: Final[float]
    n_iterations: Final[int]

@final
class EntropyEstimate:
    """The estimated entropy of the singular values of ``W^time``, and its standard error."""

    time: Final[int]
    entropy: Final[float]
    error: Final[float]
    n_column_steps: Final[int]  # Products of one vector with one step

@final
class OperatorSet:
    """Members over stored walks. `weights` are those of a trajectory W, (t, members), the first step first."""

    def __new__(
        cls,
        transitions: Sequence[Transition],
        members: Sequence[Member],
        lacking: Sequence[NDArray[np.uint32]] | None = None,
        n_lenders: int = 0,
    ) -> OperatorSet:
        """Combine walks and members.

        `lacking` has for each walk the samples without a row in it. The first `n_lenders` walks lend them
        rows, in equal parts.
        """
    def keep_copy_alone(self, n_threads: int) -> OperatorSet:
        """Return the same set with a copy of its matrices alone, whose order of the samples suits the cache.

        A set whose own order does shares its matrices. All methods but `transition_in_any_order` take and return
        samples in the given order.
        """
    def extended(self, transitions: Sequence[Transition], members: Sequence[Member], n_threads: int) -> OperatorSet:
        """Return a set with further transition matrices, of views that have all samples, and with these members.

        It shares the stored matrices.
        """
    n_transitions: Final[int]
    def transition(self, index: int, n_threads: int) -> Transition:
        """Return a stored walk, made from the copy at each call if the set keeps the copy alone."""
    def transition_in_any_order(self, index: int) -> Transition:
        """Return a stored walk as the set holds it: its samples may be in another order."""
    def shares_matrices(self, other: OperatorSet) -> bool:
        """Return whether the matrices are the same objects as those of another set."""
    def apply(self, weights: _Float64, block: _Floats, transposed: bool, n_threads: int) -> NDArray[Any]: ...
    def to_sparse(
        self,
        weights: _Float64,
        *,
        prune_below: float,
        top: int | None,
        prune_each_step: bool,
        memory_limit: int,
        n_threads: int,
    ) -> CsrParts: ...
    def closed_parts(self, weights: _Float64, n_threads: int) -> int: ...
    def stationary_distribution(
        self, weights: _Float64, tolerance: float, max_iterations: int, n_threads: int
    ) -> Stationary: ...
    def diffusion_distances(
        self, weights: _Float64, rows: list[int], inverse_weights: _Float64 | None, n_threads: int
    ) -> _Float64: ...
    def singular_entropy(
        self,
        weights: _Float64,
        times: list[int],
        *,
        n_vectors: int,
        n_deflated: int,
        max_steps: int,
        tolerance: float,
        scale: float | None,
        seed: int,
        n_threads: int,
    ) -> list[EntropyEstimate]: ...

# Embeddings.

@final
class Embedded:
    """The leading pairs of a trajectory W."""

    coordinates: Final[NDArray[Any]]  # (N, k), ``W @ functions``
    functions: Final[NDArray[Any]]  # (N, k)
    # Singular values or eigenvalues of all computed pairs, the dropped one first.
    values: Final[_Float64]
    residuals: Final[_Float64]
    converged: Final[bool]

@final
class DensePairs:
    """All values and the leading pairs of a dense matrix."""

    values: Final[_Float64]  # (n,), descending
    left: Final[_Float64]  # (n, rank): left singular vectors, or eigenvectors
    right: Final[_Float64]  # (n, rank): right singular vectors; empty for a symmetric matrix

def dense_pairs(matrix: _Float64, rank: int, *, symmetric: bool) -> DensePairs: ...

# (max_t, n): singular values of each power, descending.
def power_values(matrix: _Float64, max_t: int, *, n_threads: int) -> _Float64: ...
def solver_bytes(n: int, rank: int, item_size: int) -> int: ...

# decomposition: "uniform", "stationary" (requires pi), "eigen", "eigen-stationary".
def embed(
    operators: OperatorSet,
    weights: _Float64,
    *,
    decomposition: str,
    pi: _Float64 | None,
    n_components: int,
    drop_first: bool,
    tolerance: float,
    max_iterations: int,
    seed: int,
    start: _Floats | None,
    n_threads: int,
) -> Embedded: ...

@final
class Coordinates:
    """Coordinates (one row for each sample or state), values and residuals, the dropped pair first in both."""

    coordinates: Final[NDArray[Any]]
    values: Final[_Float64]
    residuals: Final[_Float64]
    converged: Final[bool]

@final
class Factor:
    """The stored walk ``P_walk``, or its transpose."""

    def __new__(cls, walk: int, *, transposed: bool) -> Factor: ...
    walk: Final[int]
    transposed: Final[bool]

@final
class Chain:
    """A weight times a product of factors, in the order of application: the rightmost factor first."""

    def __new__(cls, factors: Sequence[Factor], *, weight: float) -> Chain: ...

def embed_chains(
    operators: OperatorSet,
    chains: Sequence[Chain],
    *,
    n_components: int,
    drop_first: bool,
    tolerance: float,
    max_iterations: int,
    seed: int,
    n_threads: int,
) -> Coordinates: ...
def embed_cross_diffusion(
    operators: OperatorSet,
    *,
    n_views: int,
    n_steps: int,
    n_components: int,
    tolerance: float,
    max_iterations: int,
    seed: int,
    n_threads: int,
) -> Coordinates: ...
def embed_multiview(
    operators: OperatorSet,
    *,
    n_views: int,
    n_components: int,
    tolerance: float,
    max_iterations: int,
    seed: int,
    n_threads: int,
) -> Coordinates: ...

# Clusters and scores.

@final
class KMeans:
    """The best of several starts of k-means."""

    # (N,), numbered in the order of the first sample of each cluster.
    labels: Final[_Int32]
    centers: Final[_Float64]
    inertia: Final[float]
    n_iter: Final[int]
    converged: Final[bool]

def k_means(
    x: _Floats, *, n_clusters: int, n_init: int, max_iter: int, tol: float, seed: int, n_threads: int
) -> KMeans: ...

@final
class Consensus:
    """The leading eigenvectors, (N, k), of the matrix that counts how often two samples are together."""

    coordinates: Final[_Float64]
    eigenvalues: Final[_Float64]

def consensus(
    labels: _UInt32,
    *,
    n_labels: int,
    n_components: int,
    tolerance: float,
    max_iterations: int,
    seed: int,
    n_threads: int,
) -> Consensus: ...

# quality: "calinski_harabasz", "davies_bouldin", "silhouette" (of a sample of the rows, or of all), "persistence",
# "information".
def score_labels(
    quality: str,
    rows: _Rows,
    labels: _UInt32,
    n_labels: int,
    *,
    sample_size: int | None = None,
    seed: int = 0,
    n_threads: int,
) -> float: ...

# rows: a walk or a sparse matrix.
def neighbor_support(rows: _Rows, clusters: _UInt32, *, moves: int, n_threads: int) -> _Float64: ...

@final
class ContrastiveLoss:
    """The contrastive loss, and its gradient with respect to the weights: (t, members), or empty."""

    loss: Final[float]
    gradient: Final[_Float64]

def contrastive(
    operators: OperatorSet,
    weights: _Float64,
    view_weights: _Float64,
    rows: list[int] | None,
    *,
    include_self: bool,
    gradient: bool,
    n_threads: int,
) -> ContrastiveLoss: ...
def contrastive_probes(
    operators: OperatorSet, weights: _Float64, view_weights: _Float64, *, n_signs: int, seed: int, n_threads: int
) -> _Floats: ...
def estimate_contrastive(
    operators: OperatorSet, weights: _Float64, view_weights: _Float64, probes: _Floats, *, n_threads: int
) -> ContrastiveLoss: ...

# Searches.

@disjoint_base
class Strategy:
    """The way in which a search chooses sequences. `depth` is the largest number of steps."""

    def visits(self, n_members: int) -> int:
        """Return the largest number of sequences that are visited."""

@final
class Beam(Strategy):
    """Extend the `width` best sequences of each length; `side` ("left", "right") is that of a new factor."""

    def __new__(cls, *, width: int, depth: int, side: str) -> Beam: ...

@final
class EpsilonGreedy(Strategy):
    """Extend one sequence by its best step or, with probability `epsilon`, by a random one."""

    def __new__(cls, *, epsilon: float, depth: int, side: str, seed: int) -> EpsilonGreedy: ...

@final
class Mcts(Strategy):
    """Search the tree of sequences guided by upper confidence bounds."""

    def __new__(cls, *, playouts: int, depth: int, exploration: float, seed: int) -> Mcts: ...

@final
class RandomSequences(Strategy):
    """Draw `n` sequences; `probabilities` (t, members) are those of the members at each step."""

    def __new__(cls, *, n: int, probabilities: _Float64, seed: int) -> RandomSequences: ...
    def first(self, n_members: int) -> list[int]:
        """Return the first sequence that is drawn."""

@final
class Exhaustive(Strategy):
    """Visit all sequences."""

    def __new__(cls, *, depth: int) -> Exhaustive: ...

@final
class Clustering:
    """The way from a trajectory to labels; `max_iter` and `tol` are those of k-means, `damped` its rows."""

    def __new__(
        cls,
        *,
        n_clusters: int,
        n_components: int,
        damped: bool,
        n_init: int,
        max_iter: int,
        tol: float,
        embedding_tol: float,
        embedding_max_iter: int,
        seed: int,
    ) -> Clustering: ...

@final
class ScoredSequence:
    """A sequence, its score, and the seconds that the score took."""

    def __new__(cls, sequence: Sequence[int], score: float, seconds: float) -> ScoredSequence: ...
    sequence: Final[list[int]]
    score: Final[float]
    seconds: Final[float]

@final
class Searched:
    """The visited sequences in the order of the strategy."""

    sequences: Final[list[list[int]]]
    # Place of the sequence that is one step shorter; -1 if it was not visited.
    parents: Final[_Int64]
    scores: Final[_Float64]
    seconds: Final[_Float64]
    best: Final[int]  # Place of the answer
    # Labels of the answer; None without a clustering, and after a stop if another sequence is better.
    labels: Final[_Int32 | None]
    # None, or "budget" after `max_evaluations`, or "stopped" after `seconds` or by `watch`.
    stopped: Final[str | None]
    # Number of candidates whose embedding did not reach its tolerance.
    n_unconverged: Final[int]

@final
class Evaluated:
    """The score of a candidate, the seconds that it took, and its labels if they were requested."""

    score: Final[float]
    seconds: Final[float]
    labels: Final[_Int32 | None]

@final
class EvaluatedBatch:
    """Candidates in the order given, None for those not reached in time."""

    candidates: Final[list[Evaluated | None]]
    n_unconverged: Final[int]

@final
class Labelled:
    """Labels, centres and score of the best start of k-means."""

    labels: Final[_Int32]
    centers: Final[_Float64]
    score: Final[float]

@final
class Scorer:
    """Scores trajectories; higher is better.

    `quality` is the name of a score ("calinski_harabasz", "davies_bouldin", "silhouette", "persistence",
    "information", "contrastive") or a function of labels and coordinates. `features` replace the rows of the walks if
    they are given, one for each view. `watch` is called on the calling thread, at intervals, with the
    sequences scored since its last call; it stops the work by returning True. No candidate is begun after
    `seconds`, but at least one is scored.
    """

    def __new__(
        cls,
        operators: OperatorSet,
        quality: str | Callable[[_Int32, NDArray[Any]], float],
        *,
        clustering: Clustering | None,
        view_weights: list[float],
        features: Sequence[_Float64 | CsrParts],
        n_threads: int,
    ) -> Scorer: ...
    def search(
        self,
        strategy: Strategy,
        *,
        known: Sequence[ScoredSequence],
        max_evaluations: int | None,
        seconds: float | None,
        answer: str,
        watch: Callable[[list[ScoredSequence]], bool],
    ) -> Searched:
        """Run a strategy; `answer` is "any" (the best sequence) or "last" (the best of the longest)."""
    def score(
        self,
        candidates: Sequence[_Float64],
        *,
        with_labels: bool,
        seconds: float | None,
        watch: Callable[[list[ScoredSequence]], bool],
    ) -> EvaluatedBatch:
        """Score trajectories given by their weights."""
    def label(
        self,
        coordinates: _Floats,
        *,
        seeds: Sequence[int],
        seconds: float | None,
        watch: Callable[[list[ScoredSequence]], bool],
    ) -> Labelled:
        """Cluster coordinates by one start of k-means for each seed; return the best by score.

        Of equal scores the first is taken. No start is begun after `seconds`, except the first.
        """
    def cluster(self, weights: _Float64) -> _Int32 | None:
        """Return the labels of a trajectory given by its weights; None without a clustering."""

@final
class CandidatePlan:
    """Estimated bytes, stage by stage, and the number of candidates evaluated at the same time."""

    reordered_operators: Final[int]
    solver: Final[int]
    coordinates_and_labels: Final[int]
    starting_blocks: Final[int]
    at_once: Final[int]

def plan_candidates(
    n_samples: int, operator_bytes: int, n_components: int, item_size: int, n_threads: int
) -> CandidatePlan: ...
