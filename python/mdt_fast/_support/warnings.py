"""The warnings that mdt_fast issues."""

import warnings


class OperatorWarning(UserWarning):
    """Something about the operators that a user should know: a disconnected graph, a view that hardly mixes."""


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it reached its tolerance."""


class TimeSelectionWarning(UserWarning):
    """The entropy has no knee, so that the diffusion time is a fallback."""


def warn_of_residual(residual: float, iterations: int, tolerance: float) -> None:
    """Say that a solver stopped too early; called from the function that the user called."""
    warnings.warn(
        f"the largest relative residual is still {residual:.2g} after {iterations} iterations (tol={tolerance:.2g}); "
        "raise max_iter or tol",
        ConvergenceWarning,
        stacklevel=3,
    )
