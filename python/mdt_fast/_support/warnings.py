"""Warnings."""

import warnings


class OperatorWarning(UserWarning):
    """The operators have an unwanted property, such as a disconnected graph."""


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it reached its tolerance."""


class TimeSelectionWarning(UserWarning):
    """The entropy curve has no knee, so the diffusion time is a default."""


class ClusterSelectionWarning(UserWarning):
    """The number of clusters that was chosen is in doubt."""


class DegenerateClustersWarning(UserWarning):
    """One cluster holds most samples although the views support a more even division."""


def warn_of_residual(residual: float, iterations: int, tolerance: float) -> None:
    """Warn that a solver stopped early. The caller is a public function (see `stacklevel`)."""
    warnings.warn(
        f"the largest relative residual is still {residual:.2g} after {iterations} iterations (tol={tolerance:.2g}); "
        "raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=3,
    )
