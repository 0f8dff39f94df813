"""The warnings that mdt_fast issues."""


class OperatorWarning(UserWarning):
    """Something about the operators that a user should know: a disconnected graph, a view that hardly mixes."""


class ConvergenceWarning(UserWarning):
    """An iteration stopped before it reached its tolerance."""
