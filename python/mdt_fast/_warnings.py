"""The warnings that mdt_fast issues."""


class OperatorWarning(UserWarning):
    """Something about the operators that a user should know: a disconnected graph, a view that hardly mixes."""


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it reached its tolerance."""


class TimeSelectionWarning(UserWarning):
    """The entropy has no knee, so that the diffusion time is a fallback."""
