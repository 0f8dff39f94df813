"""Warnings."""

import sys
import warnings


class OperatorWarning(UserWarning):
    """The operators have an unwanted property, such as a disconnected graph."""


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it reached its tolerance."""


class TimeSelectionWarning(UserWarning):
    """The entropy curve has no knee, so the diffusion time is a default."""


class TimeLimitWarning(UserWarning):
    """A fit took longer than its time limit."""


class ClusterSelectionWarning(UserWarning):
    """The number of clusters that was chosen is in doubt."""


class DegenerateClustersWarning(UserWarning):
    """One cluster holds most samples although the views support a more even division."""


class ViewWarning(UserWarning):
    """A view has a property that spoils its distances, such as columns of very different units."""


class RemoteSamplesWarning(UserWarning):
    """New samples are far from all training samples."""


def warn_of_residual(residual: float, iterations: int, tolerance: float) -> None:
    """Warn that a solver stopped early. The caller is a public function (see `stacklevel`)."""
    warnings.warn(
        f"the largest relative residual is still {residual:.2g} after {iterations} iterations (tol={tolerance:.2g}); "
        "raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=3,
    )


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's code that called the package, however deep the caller is."""
    frame, depth = sys._getframe(1), 2
    while frame.f_back is not None and _is_inner(frame.f_globals.get("__name__", "")):
        frame, depth = frame.f_back, depth + 1
    warnings.warn(message, category, stacklevel=depth)


def _is_inner(module: str) -> bool:
    # The methods of estimators are called through wrappers of scikit-learn, and contexts end in contextlib.
    return module.split(".")[0] in ("mdt_fast", "sklearn", "contextlib")
