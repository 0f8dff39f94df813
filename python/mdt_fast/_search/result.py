"""The result of a search."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._clusters.agreement import Agreement
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .._support.arguments import check_path
from .._support.extras import require
from .._support.files import replace_file
from .._support.plotting import draw
from .._support.reading import SizeLimitError, read_json
from ..quality import information
from .combine import combine_best
from .evaluation import HISTORY_DTYPE, Candidate, sequence_text
from .result_json import from_json, to_json
from .result_state import check_state


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The trajectory that a search found, and all candidates that it evaluated.

    Attributes
    ----------
    trajectory : Trajectory or None
        The answer; None for a consensus, which has several `trajectories`.
    score : float
        Score of the answer, higher is better; nan if nothing was scored.
    labels : (N,) array of int32 or None
        Clusters of the answer.
    history : structured array
        One row for each evaluated candidate, in the order of the strategy, with the fields `parent`
        (row of the parent, -1 for none), `depth`, `score` and `seconds`.
    candidates : list
        The trajectory of each row: a tuple of ints for a sequence, or a (t, members) array of
        weights.
    best : int
        Row of the answer; for a consensus, of its best trajectory.
    strategy : str
        Name of the strategy.
    quality : str or None
        Name of the quality.
    t : int or None
        Diffusion time.
    stopped : {None, "time_limit", "max_evaluations"}
        Limit that ended the search early.
    converged : bool or None
        Whether an optimisation converged.
    settings : dict
        Settings of the search as JSON values.
    agreement : Agreement or None
        For a consensus: the combined trajectories, their rows in the history, and `labels`,
        `embedding` and `confidence` of the samples.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> result = mdt.search(ops, 3, strategy="greedy", t=2)
    >>> result
    SearchResult(strategy='greedy', score=9.98848, trajectory=0, 8 evaluations)
    >>> result.trajectory.sequence, result.labels.shape
    ((0,), (150,))
    >>> result.candidates[:3], result.history.dtype.names
    ([(0,), (1,), (0, 0)], ('parent', 'depth', 'score', 'seconds'))
    """

    trajectory: Trajectory | None
    score: float
    labels: NDArray[np.int32] | None
    history: NDArray[Any]
    candidates: list[Candidate]
    best: int
    strategy: str
    quality: str | None
    t: int | None
    stopped: str | None
    converged: bool | None
    settings: dict[str, Any]
    agreement: Agreement | None = None

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled result; refuse a damaged one."""
        self.__dict__.update(check_state(state, [field.name for field in fields(self)]))

    def __repr__(self) -> str:
        """Return the strategy, the answer, its score and the number of evaluations."""
        answer = self.candidates[self.best]
        steps = sequence_text(answer) if isinstance(answer, tuple) else f"weights of {_count(len(answer), 'step')}"
        n_found = _count(len(self.trajectories), "trajectory", "trajectories")
        what = f"trajectory={steps}" if self.trajectory is not None else n_found
        stopped = "" if self.stopped is None else f", stopped={self.stopped!r}"
        return (
            f"SearchResult(strategy={self.strategy!r}, score={self.score:.6g}, {what}, "
            f"{_count(self.n_evaluations, 'evaluation')}{stopped})"
        )

    @property
    def trajectories(self) -> list[Trajectory]:
        """The trajectories of the answer: one, or those of a consensus."""
        if self.agreement is not None:
            return self.agreement.trajectories
        assert self.trajectory is not None
        return [self.trajectory]

    @property
    def operators(self) -> OperatorSet:
        """The operator set that was searched."""
        return self.trajectories[0].operators

    @property
    def n_evaluations(self) -> int:
        """Number of trajectories that were evaluated."""
        return len(self.history)

    def consensus(self, n_trajectories: int = 16, *, n_jobs: int | None = None) -> SearchResult:
        """Combine the clusters of the best evaluated trajectories.

        Parameters
        ----------
        n_trajectories : int, default=16
            Number of trajectories; all if fewer were evaluated.
        n_jobs : int or None, default=None
            Number of threads; None is that of the operators.

        Returns
        -------
        SearchResult
            A result with the same history and an `agreement`.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> mdt.search(mdt.build_operators(views), 3, t=3).consensus(8)
        SearchResult(strategy='consensus', score=1.04815, 8 trajectories, 22 evaluations)
        """
        agreement = combine_best(self, n_trajectories, n_jobs)
        return replace(
            self,
            trajectory=None,
            score=information(self.operators, agreement.labels, view_weights=self.settings["view_weights"]),
            labels=agreement.labels,
            strategy="consensus",
            quality="information",
            agreement=agreement,
        )

    def to_frame(self) -> Any:
        """Return the history as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            Columns node, parent, depth, score, seconds and trajectory ("0-1-1" for a sequence,
            "weights" for weights).

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> result = mdt.search(ops, 3, strategy="greedy", t=2)
        >>> result.to_frame()[["parent", "depth", "trajectory"]].head(3)
           parent  depth trajectory
        0      -1      1          0
        1      -1      1          1
        2       0      2        0-0
        """
        pd = require("pandas", "to_frame")
        columns: dict[str, Any] = {"node": np.arange(self.n_evaluations)}
        columns.update((str(name), self.history[name]) for name in HISTORY_DTYPE.names or ())
        columns["trajectory"] = [sequence_text(c) if isinstance(c, tuple) else "weights" for c in self.candidates]
        return pd.DataFrame(columns)

    def plot_tree(
        self,
        ax: Any = None,
        cmap: Any = "viridis",
        *,
        colorbar: bool = True,
        node_size: float | None = None,
        path_color: Any = "crimson",
    ) -> Any:
        """Draw the evaluated sequences as a circular tree; needs ``pip install mdt_fast[plot]``.

        The empty sequence is the centre. The radius of a node is the length of its sequence, and
        sequences with the same beginning are neighbours. A sequence whose parent was not evaluated
        is joined to the centre.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a new figure.
        cmap : str or matplotlib.colors.Colormap, default="viridis"
            Colours of the scores; sequences without a finite score are grey.
        colorbar : bool, default=True
            Whether to add a colour bar.
        node_size : float or None, default=None
            Diameter of the nodes in points; None is the largest that fits.
        path_color : matplotlib colour, default="crimson"
            Colour of the path to the answer and of the star at its end.

        Returns
        -------
        matplotlib.axes.Axes
            The artists carry the gids "nodes", "edges", "path" and "answer"; the nodes are in the
            order of `history`.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ax = mdt.search(ops, 3, strategy="beam", t=2).plot_tree()
        >>> type(ax).__name__
        'Axes'
        """
        look = {"cmap": cmap, "colorbar": colorbar, "node_size": node_size, "path_color": path_color}
        return draw("tree", self, needed_by="plot_tree", ax=ax, **look)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON values; nan becomes None, an infinity "inf" or "-inf".

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> values = mdt.search(ops, 3, strategy="greedy", t=2).to_dict()
        >>> mdt.SearchResult.from_dict(values, ops).strategy
        'greedy'
        """
        return to_json(self)

    @classmethod
    def from_dict(cls, d: dict[str, Any], ops: OperatorSet) -> SearchResult:
        """Return the result that :meth:`to_dict` wrote.

        Parameters
        ----------
        d : dict
            The values that :meth:`to_dict` returned.
        ops : OperatorSet
            The set that was searched, or one with the same members and number of samples.

        Raises
        ------
        ValueError
            If `d` is not such a dict or does not fit `ops`.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> values = mdt.search(ops, 3, strategy="greedy", t=2).to_dict()
        >>> mdt.SearchResult.from_dict(values, ops).strategy
        'greedy'
        """
        return cls(**from_json(d, ops))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a JSON file, which is replaced as a whole or left as it was.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> result = mdt.search(ops, 3, strategy="greedy", t=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(Path(folder) / "result.json")
        ...     same = mdt.SearchResult.load(Path(folder) / "result.json", ops)
        >>> same.score == result.score
        True
        """
        # Converted first: a value that JSON cannot hold must not destroy an existing file.
        text = json.dumps(self.to_dict(), allow_nan=False)
        replace_file(check_path("path", path), text)

    @classmethod
    def load(cls, path: str | os.PathLike[str], ops: OperatorSet) -> SearchResult:
        """Read a result that :meth:`save` wrote.

        Parameters
        ----------
        path : path
            The file.
        ops : OperatorSet
            As for :meth:`from_dict`.

        Raises
        ------
        ValueError
            If the file contains something else or does not fit `ops`.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "result.json"
        ...     mdt.search(ops, 3, strategy="greedy", t=2).save(path)
        ...     result = mdt.SearchResult.load(path, ops)
        >>> result.strategy
        'greedy'
        """
        try:
            d = read_json(check_path("path", path))
        except SizeLimitError:
            raise
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: expected a saved SearchResult, got no JSON ({error})") from None
        try:
            return cls.from_dict(d, ops)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None
        except RecursionError:
            reason = "expected a saved SearchResult, got values nested too deeply"
            raise ValueError(f"{os.fspath(path)}: {reason}") from None


def _count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
