"""Composite and cross diffusion: products of transition matrices and their transposes."""

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from .._core import Coordinates
from .._geometry.chains import Chain, Factor, embed_chains, embed_cross_diffusion
from .._operators.operator_set import OperatorSet
from .._support import memory as _memory
from .._support.arguments import LARGEST_STEPS, check_choice, check_integer, check_number
from ._base import Baseline


@dataclass(eq=False, repr=False, kw_only=True)
class CompositeDiffusion(Baseline):
    """Embed the samples of two views by composite diffusion (ComD).

    The operator shows either the common structure of the views or their difference.

    Parameters
    ----------
    n_components, n_clusters, n_init, ...
        See :class:`Baseline`, also for the parameters of the graphs.
    operator : {"similarity", "difference"}, default="similarity"
        "similarity": ``P_2 P_1^T + P_1 P_2^T``; its first singular pair is dropped. "difference":
        ``P_2 P_1^T - P_1 P_2^T``, which is antisymmetric; its singular values come in pairs, and
        none is dropped.

    Attributes
    ----------
    embedding_, labels_, score_, cluster_centers_, operators_
        See :class:`Baseline`.
    singular_values_ : (n_components,) array
        Singular values of the coordinates.

    References
    ----------
    T. Shnitzer, M. Ben-Chen, L. Guibas, R. Talmon and H.-T. Wu (2019), Recovering hidden components
    in multimodal data with composite diffusion operators, SIAM J. Math. Data Sci. 1(3),
    arXiv:1808.07312.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.baselines.CompositeDiffusion(2).fit_transform(views).shape
    (150, 2)
    """

    operator: str = "similarity"

    _n_views = (2, 2)

    def _coordinates(self, ops: OperatorSet, n_components: int) -> NDArray[Any]:
        is_sum = check_choice("operator", self.operator, ("similarity", "difference")) == "similarity"
        chains = [
            Chain([Factor(0, transposed=True), Factor(1, transposed=False)], weight=1.0),
            Chain([Factor(1, transposed=True), Factor(0, transposed=False)], weight=1.0 if is_sum else -1.0),
        ]
        how = {"tol": self.tol, "random_state": self.random_state}
        found = embed_chains(ops, chains, n_components, drop_first=is_sum, **how)
        self.singular_values_ = found.values[int(is_sum) :]
        return found.coordinates


@dataclass(eq=False, repr=False, kw_only=True)
class CrossDiffusion(Baseline):
    """Embed samples by cross diffusion (CrD).

    Starting from ``Q_v = P_v``, each step replaces every ``Q_v`` by
    ``P_v (mean of the other Q_u) P_v^T``. The operator is the mean of the ``Q_v``. With two views,
    each ``Q_v`` is a product of transition matrices and is never formed. With more views, each
    ``Q_v`` is a dense (n_samples, n_samples) matrix; 2,000 samples in six views take one second
    on two cores.

    Parameters
    ----------
    n_components, n_clusters, n_init, ...
        See :class:`Baseline`, also for the parameters of the graphs.
    n_steps : int, default=None
        Number of steps. None means 20, or 25 with ``preset="published"``.
    memory_budget : int, default=None
        Maximum number of bytes of the dense matrices. None means the free memory.

    Attributes
    ----------
    embedding_, labels_, score_, cluster_centers_, operators_
        See :class:`Baseline`.
    singular_values_ : (n_components,) array
        Singular values of the coordinates.

    Raises
    ------
    MemoryError
        If there are more than two views and the dense matrices exceed the budget or the free
        memory.

    References
    ----------
    B. Wang, J. Jiang, W. Wang, Z.-H. Zhou and Z. Tu (2012), Unsupervised metric fusion by cross
    diffusion, CVPR, doi:10.1109/CVPR.2012.6248029.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.baselines.CrossDiffusion(2).fit_transform(views).shape
    (150, 2)
    """

    n_steps: Any = None
    memory_budget: Any = None

    _n_views = (2, math.inf)

    def _coordinates(self, ops: OperatorSet, n_components: int) -> NDArray[Any]:
        steps = 25 if self.preset == "published" else 20
        if self.n_steps is not None:
            steps = check_integer("n_steps", self.n_steps, minimum=1, limit=LARGEST_STEPS)
        if ops.n_views > 2:
            return self._dense(ops, n_components, steps)
        chains = [Chain(_cross_chain(view, steps), weight=0.5) for view in range(2)]
        return self._take(embed_chains(ops, chains, n_components, **self._how()))

    def _dense(self, ops: OperatorSet, n_components: int, steps: int) -> NDArray[Any]:
        n, n_views = ops.n_samples, ops.n_views
        # One matrix for each view, and their mean.
        needed = (n_views + 1) * n * n * ops.dtype.itemsize
        what = f"CrossDiffusion of {n_views} views of {n} samples, which are dense matrices,"
        if self.memory_budget is not None and needed > check_number("memory_budget", self.memory_budget):
            budget = f"{float(self.memory_budget) / 1e9:.3g} GB"
            raise MemoryError(f"{what} needs {needed / 1e9:.3g} GB, but memory_budget is {budget}")
        _memory.require(needed, what)
        return self._take(embed_cross_diffusion(ops, steps, n_components, **self._how()))

    def _how(self) -> dict[str, Any]:
        return {"tol": self.tol, "random_state": self.random_state}

    def _take(self, found: Coordinates) -> NDArray[Any]:
        self.singular_values_ = found.values[1:]
        return found.coordinates


def _cross_chain(view: int, steps: int) -> list[Factor]:
    """Return the factors of ``Q_view = P_a ... P_b P_c P_b^T ... P_a^T``, the rightmost first."""
    outer = [(view + step) % 2 for step in range(steps)]
    transposed = [Factor(v, transposed=True) for v in outer]
    return transposed + [Factor(v, transposed=False) for v in ((view + steps) % 2, *outer[::-1])]
