"""The exception by which a limit ends a strategy."""


class Stop(Exception):  # noqa: N818  (reaching a limit is not an error)
    """Raised inside a strategy when a limit is reached.

    `reason` names the argument; it is None if the strategy has only proposed known candidates for long.
    """

    def __init__(self, reason: str | None) -> None:
        super().__init__(reason)
        self.reason = reason
