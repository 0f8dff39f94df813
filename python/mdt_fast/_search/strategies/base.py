"""The base classes of all strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from dataclasses import replace as replace_fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ... import _core
from ..._support.arguments import LARGEST_COUNT, LARGEST_STEPS, check_choice, check_integer
from ..problem import Answer, Problem

if TYPE_CHECKING:
    from ..._operators.operator_set import OperatorSet
    from ...quality._arguments import QualityLike
    from ..evaluation import Candidate
    from ..run import SearchRun


@dataclass(frozen=True)
class Strategy(ABC):
    """A way to choose the candidates of a search, with its options.

    Strategies are immutable. The fields of a subclass are its options; they are checked when the
    strategy is made.

    A strategy of your own is a frozen dataclass that derives from this class, with a `name` and a method
    ``run(run)``. There ``run.score(candidates)`` returns the scores of sequences of members or of arrays of weights,
    ``run.problem`` has the operators (`ops`), the longest length (`n_steps`) and the random stream (`generator()`), and
    the end of the method, or of the `budget` of evaluations, ends the search.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> isinstance(mdt.strategies.Beam(), mdt.strategies.Strategy)
    True
    >>> mdt.strategies.Beam(width=3).get_params()
    {'max_steps': None, 'answer': 'any', 'grow': 'left', 'width': 3}
    >>> mdt.strategies.Beam(width=3).replace(max_steps=4)
    Beam(max_steps=4, answer='any', grow='left', width=3)

    Repeat each member as often as the diffusion time:

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Alone(mdt.strategies.Strategy):
    ...     name = "alone"
    ...
    ...     def run(self, run):
    ...         run.score([(member,) * run.problem.n_steps for member in range(len(run.problem.ops))])
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.search(mdt.build_operators(views), 3, strategy=Alone(), t=2).n_evaluations
    2
    """

    # Shorthand for the strategy with its default options.
    name: ClassVar[str]
    # Quality for quality="auto", k-means starts of each candidate, and whether k-means sees damped
    # rows of the coordinates.
    quality: ClassVar[str] = "calinski_harabasz"
    n_init: ClassVar[int] = 1
    damped: ClassVar[bool] = False
    # Graphs for the value "auto" of the parameters of an estimator.
    kernel: ClassVar[str] = "gaussian"
    anisotropy: ClassVar[float] = 0.0
    joint: ClassVar[bool] = False
    neighbors_by_size: ClassVar[bool] = False
    # Whether the answer is one trajectory, and whether the diffusion time matters.
    finds_trajectory: ClassVar[bool] = True
    uses_time: ClassVar[bool] = True

    @property
    def compares(self) -> bool:
        """Whether the strategy compares several candidates, which takes a quality."""
        return True

    @property
    def budget(self) -> int | None:
        """Number of evaluations after which the strategy ends; None if it ends by itself."""
        return None

    @property
    def fixed_length(self) -> int | None:
        """Length of the longest trajectory, if it does not depend on the diffusion time."""
        return None

    @property
    def needs_time(self) -> bool:
        """Whether the length of trajectories depends on the diffusion time."""
        return self.uses_time and self.fixed_length is None

    def length(self, t: int) -> int:
        """Return the length of the longest trajectory for a diffusion time."""
        return t

    def bind(self, ops: OperatorSet) -> Self:
        """Return the strategy for an operator set; raise if it cannot run."""
        return self

    def choose_quality(self, given: QualityLike, n_clusters: int | None) -> QualityLike:
        """Return the quality that candidates are scored with."""
        return self.quality if isinstance(given, str) and given == "auto" else given

    def n_candidates(self, problem: Problem, limit: int | None) -> int:
        """Return the largest number of candidates; `limit` is the limit of the caller."""
        return self.budget or 1

    def only_candidate(self, problem: Problem) -> Candidate:
        """Return the candidate of a strategy that compares nothing."""
        raise TypeError(f"strategy: expected one with a single candidate, got {self!r}")

    @abstractmethod
    def run(self, run: SearchRun) -> Answer | None:
        """Evaluate candidates and return the answer; None is the candidate with the best score."""

    def settings(self) -> dict[str, Any]:
        """Return name and options as JSON values."""
        options = {name: _to_json(value) for name, value in self.get_params().items()}
        return {"name": self.name, **options}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options by name, as scikit-learn's estimators do."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def replace(self, **options: Any) -> Self:
        """Return the strategy with some options changed."""
        known = list(self.get_params())
        for name in options:
            if name not in known:
                expected = f"one of {', '.join(map(repr, known))}" if known else "no options"
                raise ValueError(f"strategy {self.name!r}: expected {expected}, got {name!r}")
        return replace_fields(self, **options)


@dataclass(frozen=True)
class SequenceStrategy(Strategy):
    """A strategy over sequences, which runs in the core."""

    @abstractmethod
    def native(self, problem: Problem) -> _core.Strategy:
        """Return the strategy as an object of the core."""

    def n_candidates(self, problem: Problem, limit: int | None) -> int:
        """Return the number of sequences that the strategy visits at most."""
        return self.native(problem).visits(len(problem.ops))

    def run(self, run: SearchRun) -> Answer:
        """Run the strategy in the core."""
        return Answer(run.explore(self.native(run.problem)))


@dataclass(frozen=True, kw_only=True)
class TreeStrategy(SequenceStrategy):
    """A strategy that extends sequences step by step, up to twice the diffusion time."""

    max_steps: int | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        if self.max_steps is not None:
            check_integer("max_steps", self.max_steps, minimum=1, limit=LARGEST_STEPS)

    @property
    def fixed_length(self) -> int | None:
        """The option `max_steps`."""
        return self.max_steps

    def length(self, t: int) -> int:
        """Return twice the diffusion time."""
        return 2 * t


@dataclass(frozen=True, kw_only=True)
class LevelStrategy(TreeStrategy):
    """A strategy that completes all sequences of one length before it starts the next."""

    answer: str = "any"
    grow: str = "left"

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_choice("answer", self.answer, ("any", "last"))
        check_choice("grow", self.grow, ("left", "right"))

    def run(self, run: SearchRun) -> Answer:
        """Run the strategy in the core."""
        return Answer(run.explore(self.native(run.problem), answer=self.answer))


def check_count(name: str, value: object) -> int:
    """Return a positive number that the core can store."""
    return check_integer(name, value, minimum=1, maximum=LARGEST_COUNT)


def _to_json(value: Any) -> Any:
    """Return a number or an array, also of NumPy, as plain values."""
    if isinstance(value, (list, tuple)):
        return [_to_json(each) for each in value]
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
