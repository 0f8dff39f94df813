"""From `random_state` to the seed of the core."""

import numpy as np

from .arguments import RandomStateLike, check_integer

_LARGEST = 2**64 - 1


def check_seed(random_state: RandomStateLike) -> int:
    """Return an unsigned 64-bit seed.

    An int is the seed itself. A generator draws one. None draws one from the system.
    """
    if random_state is None:
        random_state = np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(_LARGEST, dtype=np.uint64, endpoint=True))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(_LARGEST, dtype=np.uint64))
    return check_integer("random_state", random_state, minimum=0, maximum=_LARGEST)
