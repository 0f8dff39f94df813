"""Warnings."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Categories that are noted and not issued, and the list of their names; of one thread.
_NOTED: ContextVar[tuple[tuple[type[Warning], ...], list[str]] | None] = ContextVar("_NOTED", default=None)


class OperatorWarning(UserWarning):
    """The operators have an unwanted property, such as a disconnected graph.

    Examples
    --------
    >>> import warnings
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     report = ops.check()
    >>> print(issued[0].category.__name__, issued[0].message, sep=": ")
    OperatorWarning: view 0: its graph falls into 3 parts; more neighbours would join them
    """


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it reached its tolerance.

    Examples
    --------
    >>> import warnings
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     pi = ops.trajectory([0, 1]).stationary_distribution(max_iter=2)
    >>> {warning.category.__name__ for warning in issued} >= {"ConvergenceWarning"}
    True
    """


class TimeSelectionWarning(UserWarning):
    """The entropy curve has no knee, so the diffusion time is a default.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> ops = mdt.OperatorSet.from_transitions([np.eye(6)])  # a walk that does not move
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     selection = mdt.select_time(ops)
    >>> print(issued[0].category.__name__, issued[0].message, sep=": ")
    TimeSelectionWarning: the entropy over t = 1..50 has no knee; t = 1 is taken
    """


class TimeLimitWarning(UserWarning):
    """A fit took longer than its time limit.

    Examples
    --------
    >>> import warnings
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", mdt.TimeLimitWarning)
    ...     model = mdt.MDTClustering(3, time_limit=5).fit(views)
    >>> model.labels_.shape
    (150,)
    """


class ClusterSelectionWarning(UserWarning):
    """The number of clusters that was chosen is in doubt.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> X = np.random.default_rng(0).normal(size=(300, 5))  # samples without clusters
    >>> ops = mdt.build_operators([X, X[:, ::-1]], kernel="adaptive")
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     selection = mdt.select_n_clusters(ops)
    >>> print(issued[0].category.__name__, issued[0].message, sep=": ")
    ClusterSelectionWarning: the number of clusters, 2, is in doubt: the samples have no clear clusters
    """


class DegenerateClustersWarning(UserWarning):
    """One cluster holds most samples although the views support a more even division.

    Examples
    --------
    >>> import warnings
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", mdt.DegenerateClustersWarning)
    ...     labels = mdt.MDTClustering(3).fit_predict(views)
    >>> labels.shape
    (150,)
    """


class ViewWarning(UserWarning):
    """A view has a property that spoils its distances, such as columns of very different units.

    Examples
    --------
    >>> import warnings
    >>> from sklearn.datasets import load_wine
    >>> import mdt_fast as mdt
    >>> X = load_wine().data  # columns in different units
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     model = mdt.MDT(strategy="mean").fit(X)
    >>> [warning.category.__name__ for warning in issued if "column 12" in str(warning.message)]
    ['ViewWarning']
    """


class RemoteSamplesWarning(UserWarning):
    """New samples are far from all training samples.

    Examples
    --------
    >>> import warnings
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> with warnings.catch_warnings(record=True) as issued:
    ...     warnings.simplefilter("always")
    ...     rows = ops.new_rows([X[:2] + 100 for X in views])
    >>> [warning.category.__name__ for warning in issued]
    ['RemoteSamplesWarning']
    """


def warn_of_residual(residual: float, iterations: int, tolerance: float) -> None:
    """Warn that a solver stopped early. The caller is a public function (see `stacklevel`)."""
    warnings.warn(
        f"the largest relative residual is still {residual:.2g} after {iterations} iterations (tol={tolerance:.2g}); "
        "raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=3,
    )


@contextmanager
def noting(seen: list[str], *categories: type[Warning]) -> Iterator[None]:
    """Add the names of the warnings of some categories to `seen` in place of issuing them.

    Only :func:`warn_user` in the same thread is affected. ``warnings.catch_warnings`` changes the state of all threads,
    and may leave it changed if they overlap.
    """
    token = _NOTED.set((categories, seen))
    try:
        yield
    finally:
        _NOTED.reset(token)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called the package, however deep the caller is."""
    noted = _NOTED.get()
    if noted is not None and issubclass(category, noted[0]):
        noted[1].append(category.__name__)
        return
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and _is_inner(frame.f_globals.get("__name__", "")):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


def _is_inner(module: str) -> bool:
    # The methods of estimators are called through wrappers of scikit-learn, and contexts end in contextlib.
    return module.split(".")[0] in ("mdt_fast", "sklearn", "contextlib")
