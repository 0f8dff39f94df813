"""Calls of every function, constructor and method of the compiled core with plausible and with wrong arguments.

``python -m helpers.core_calls SEED COUNT`` makes COUNT calls. A call may return, or raise one of the exceptions
that a caller expects. Anything else ends the process with an error: a panic is printed with the call that caused
it, a crash by faulthandler.
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import pickle
import random
import resource
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from mdt_fast import _core

# Seconds after which a call is interrupted, as by Ctrl-C, and within which it must then end.
_PATIENCE, _ANSWER = 0.2, 30.0
_MEMORY = 4 << 30
EXPECTED = (TypeError, ValueError, MemoryError, OverflowError, RuntimeError, KeyboardInterrupt)

_NUMBERS = (0, 1, 2, 3, 5, 17, -1, 2**16, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**64 - 1, 10**30)
_REALS = (0.0, 0.5, 1.0, -1.0, 1e300, 1e-320, float("inf"), float("nan"))
_NAMES = (
    "mean", "max", "min", "squared", "linear", "binary", "given", "euclidean", "cosine", "correlation", "manhattan",
    "auto", "scan", "tree", "uniform", "stationary", "eigen", "eigen-stationary", "calinski_harabasz", "left", "right",
    "davies_bouldin", "silhouette", "persistence", "information", "contrastive", "any", "last", "", "\0", "\U0001f600",
)  # fmt: skip
# Plausible values of arguments by name; others are drawn from all kinds of values.
_BY_NAME: dict[str, tuple[Any, ...]] = {
    "kernel": ("squared", "linear", "binary", "given"),
    "symmetrize": ("mean", "max", "min"),
    "metric": ("euclidean", "cosine", "correlation", "manhattan"),
    "method": ("auto", "scan", "tree"),
    "decomposition": ("uniform", "stationary", "eigen", "eigen-stationary"),
    "quality": ("calinski_harabasz", "davies_bouldin", "silhouette", "persistence", "information", "contrastive"),
    "side": ("left", "right"),
    "answer": ("any", "last"),
    "n_threads": (1, 2),
    "seed": (0, 1),
    "watch": (lambda entries: False,),
    "tolerance": (1e-3, 1e-8, 0.0),
    "tol": (1e-3,),
    "embedding_tol": (1e-3,),
    "anisotropy": (0.0, 1.0),
    "diagonal": (0.0, 1.0),
    "recall": (0.9,),
    "epsilon": (0.5,),
    "alpha": (0.5,),
    "weight": (1.0,),
    "score": _REALS,
    "prune_below": (0.0, 0.1),
    "clustering": (None,),
    "seconds": (None, 1.0),
    "exploration": (0.5,),
    "memory_limit": (2**30,),
}
_FLAGS = ("transposed", "drop_first", "damped", "include_self", "gradient", "single_precision", "prune_each_step",
          "with_labels", "stay")  # fmt: skip
_INTEGERS = ("n_", "k", "max_", "base", "exponent", "index", "count", "width", "depth", "playouts", "walk", "top",
             "sample_size", "item_size", "embedding_max_iter", "operator_bytes", "n")  # fmt: skip


def _array(draw: random.Random) -> Any:
    """Return an array of any shape, type, order and contents."""
    generator = np.random.default_rng(draw.getrandbits(32))
    shape = draw.choice(
        [(), (0,), (1,), (3,), (8,), (9,), (0, 0), (0, 3), (3, 0), (1, 1), (3, 2), (8, 2), (8, 8), (2, 2, 2)]
    )
    dtype = draw.choice(["f8", "f8", "f8", "f4", "i4", "i8", "u4", "u1", "f2", "c16", "O", "S3", ">f8", "M8[s]"])
    if dtype in ("O", "S3", "M8[s]"):
        return np.zeros(shape, dtype=dtype)
    kind = draw.randrange(5)
    values = {
        0: lambda: generator.normal(size=shape) * 10.0 ** generator.integers(-300, 300),
        1: lambda: generator.integers(-3, 9, size=shape),
        2: lambda: generator.integers(0, 3, size=shape),
        3: lambda: generator.choice([np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.0], size=shape),
        4: lambda: generator.dirichlet(np.ones(shape[-1]), size=shape[:-1]) if shape and shape[-1] else np.zeros(shape),
    }[kind]()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = np.asarray(values).astype(dtype)
    if draw.random() < 0.1:
        array = array.T
    if draw.random() < 0.1 and array.ndim:
        array = array[::-1]
    return array


def _walk(draw: random.Random, n: int = 8, dtype: Any = np.float64) -> _core.Transition:
    affinity = np.random.default_rng(draw.getrandbits(32)).uniform(0.1, 1.0, size=(n, n)) * np.eye(n)[::-1].T + np.ones(
        (n, n)
    )
    affinity = affinity + affinity.T
    parts = _core.CsrParts(n, np.arange(0, n * n + 1, n), np.tile(np.arange(n, dtype=np.int32), n), affinity.ravel())
    return _core.Transition.from_affinity(
        parts, anisotropy=0.0, single_precision=dtype is np.float32, n_threads=1
    )  # fmt: skip


def _csr(draw: random.Random) -> Any:
    """Return the arrays of a matrix, of which one may be wrong."""
    n, cols = draw.choice([0, 1, 3, 8, 8, 8]), draw.choice([0, 1, 2, 8, 8, 8])
    generator = np.random.default_rng(draw.getrandbits(32))
    held = generator.random((n, cols)) < 0.6
    indptr = np.concatenate([[0], np.cumsum(held.sum(axis=1))]).astype(np.int64)
    indices = (np.nonzero(held)[1] if held.size else np.zeros(0)).astype(np.int32)
    values = generator.uniform(size=len(indices)) * draw.choice([1.0, 1.0, 1e300, -1.0, np.nan])
    wrong = draw.randrange(10)
    if wrong == 0 and len(indices):
        indices[draw.randrange(len(indices))] = draw.choice([-1, cols, 10**8, 2**31 - 1])
    elif wrong == 1:
        indptr[draw.randrange(len(indptr))] = draw.choice([-1, 5, 10**8, 2**62])
    elif wrong == 2:
        values = values[: len(values) // 2]
    elif wrong == 3:
        cols = draw.choice([0, 2**31, 2**62])
    elif wrong == 4:
        indptr = indptr[:0]
    return _core.CsrParts(cols, indptr, indices, values)


def _operators(draw: random.Random, n_members: int = 2) -> _core.OperatorSet:
    n, dtype = draw.choice([1, 2, 8, 8, 8]), draw.choice([np.float64, np.float32])
    member = _core.Member
    members = [
        member.walk(0), member.walk(1), member.identity(), member.uniform(), member.mean(2), member.power(0, 3),
        member.teleport(1, 0.5),
    ]  # fmt: skip
    chosen = draw.choices(members, k=n_members)
    if n == 8 and draw.random() < 0.4:
        return _operators_with_holes(draw, chosen, dtype)
    return _core.OperatorSet([_walk(draw, n, dtype), _walk(draw, n, dtype)], chosen)


def _operators_with_holes(draw: random.Random, members: list[_core.Member], dtype: Any) -> _core.OperatorSet:
    """Return operators of two walks of eight samples that lack different ones."""
    places = draw.sample(range(8), k=8)
    first, second = places[: draw.randrange(5)], places[5 : draw.randrange(5, 9)]
    stay = draw.random() < 0.4
    lacking = [np.array(sorted(each), dtype=np.uint32) for each in (first, second)]
    walks = []
    for each in lacking:
        samples = np.setdiff1d(np.arange(8), each).astype(np.uint32)
        walks.append(_walk(draw, len(samples), dtype).among(samples, 8, stay))
    return _core.OperatorSet(walks, members, lacking, 0 if stay else 2)


def _walk_with_holes(draw: random.Random) -> _core.Transition:
    """Return a walk of eight samples of which some have no row, or stay."""
    samples = np.sort(draw.sample(range(8), k=draw.choice([2, 5, 7]))).astype(np.uint32)
    return _walk(draw, len(samples)).among(samples, 8, draw.random() < 0.3)


def _samples(draw: random.Random) -> Any:
    """Return numbers of samples, mostly ascending."""
    samples = draw.sample(range(draw.choice([8, 8, 8, 12])), k=draw.choice([0, 1, 2, 3, 8]))
    return np.array(samples if draw.random() < 0.2 else sorted(samples), dtype=np.uint32)


def _scorer(draw: random.Random) -> _core.Scorer:
    clustering = _core.Clustering(
        n_clusters=draw.choice([2, 3, 9]), n_components=draw.choice([1, 2, 7, 9]), damped=draw.random() < 0.5,
        n_init=1, max_iter=9, tol=1e-4, embedding_tol=1e-3, embedding_max_iter=20, seed=0,
    )  # fmt: skip
    quality = draw.choice(["calinski_harabasz", "information", "contrastive", lambda labels, coordinates: 1.0])
    return _core.Scorer(
        _operators(draw), quality, clustering=draw.choice([clustering, clustering, None]),
        view_weights=draw.choice([[0.5, 0.5], [1.0], [], [0.2] * 5, [float("nan")] * 2]), features=[],
        n_threads=draw.choice([1, 2]),
    )  # fmt: skip


def _random(draw: random.Random) -> _core.RandomSequences:
    return _core.RandomSequences(n=3, probabilities=np.full((2, draw.choice([1, 2])), 0.5), seed=0)


def _strategy(draw: random.Random) -> Any:
    few = draw.choice([0, 1, 2, 3])
    return draw.choice([
        lambda: _core.Beam(width=few, depth=draw.choice([0, 1, 3]), side="left"),
        lambda: _core.EpsilonGreedy(epsilon=draw.choice([0.5, float("nan")]), depth=few, side="right", seed=0),
        lambda: _core.Mcts(playouts=draw.choice([0, 1, 9]), depth=few, exploration=draw.choice(_REALS), seed=0),
        lambda: _core.Exhaustive(depth=few),
        lambda: _random(draw),
    ])()  # fmt: skip


def _weights(draw: random.Random, members: int | None = None) -> Any:
    generator = np.random.default_rng(draw.getrandbits(32))
    count = draw.choice([0, 1, 2, 2, 2, 2, 2, 3]) if members is None else members
    steps = draw.choice([0, 1, 2, 3])
    return generator.dirichlet(np.ones(count), size=steps) if count and steps else np.zeros((steps, count))


_VALUES: tuple[Callable[[random.Random], Any], ...] = (
    lambda draw: draw.choice(_NUMBERS),
    lambda draw: draw.choice(_REALS),
    lambda draw: draw.choice(_NAMES),
    lambda draw: draw.choice([None, True, False, (), [], {}, object(), b"x", 1j, [1, 2], [[1.0]], ["a"], [10**30]]),
    _array,
    _csr,
    _walk,
    _operators,
    _scorer,
    _strategy,
    _weights,
    lambda draw: [_walk(draw) for _ in range(draw.randrange(3))],
    lambda draw: [_array(draw) for _ in range(draw.randrange(3))],
    lambda draw: [draw.randrange(12) for _ in range(draw.randrange(4))],
    lambda draw: _core.Member.power(draw.choice([0, 1, 9]), draw.choice([0, 1, 3])),
    lambda draw: [_core.Member.walk(draw.choice([0, 1, 9])) for _ in range(3)],
    lambda draw: [_core.Chain([_core.Factor(draw.choice([0, 1, 9]), transposed=True)], weight=draw.choice(_REALS))],
)


def _plausible(name: str, draw: random.Random) -> Any:
    """Return a value of the kind that an argument of this name takes."""
    generator = np.random.default_rng(draw.getrandbits(32))
    if name in _BY_NAME:
        return draw.choice(_BY_NAME[name])
    if name in _FLAGS:
        return draw.random() < 0.5
    if name in ("weights", "candidates"):
        return _weights(draw) if name == "weights" else [_weights(draw) for _ in range(draw.randrange(3))]
    if name in ("graph", "affinity", "matrix", "edges"):
        return _csr(draw)
    if name in ("x", "rows", "new", "block", "start"):
        size = (draw.choice([2, 8, 8, 8]), draw.choice([1, 2, 8]))
        return draw.choice([_csr, _walk, _array, *[lambda _: generator.normal(size=size)] * 4])(draw)
    if name == "operators":
        return _operators(draw)
    if name == "strategy":
        return _strategy(draw)
    if name == "labels":
        labels = generator.integers(0, 3, size=draw.choice([8, (2, 8)])).astype(np.uint32)
        labels[..., :3] = [0, 1, 2]
        return labels
    if name == "samples":
        return _samples(draw)
    some = draw.randrange(4)
    if name in _LISTS:
        return [_LISTS[name](draw) for _ in range(some)]
    if name in ("indptr", "indices", "last", "nearest", "sides"):
        dtype = {"indptr": np.int64, "sides": np.uint8}.get(name, np.int32)
        return np.sort(generator.integers(0, 9, size=draw.choice([0, 1, 8, 9]))).astype(dtype)
    if name in (
        "values",
        "degrees",
        "radii",
        "densities",
        "pi",
        "view_weights",
        "widths",
        "own_widths",
        "probabilities",
        "inverse_weights",
    ):
        shape = (3, 2) if name == "probabilities" else 2 if name == "view_weights" else draw.choice([2, 8, 8, 8, 9])
        return generator.uniform(size=shape) if draw.random() < 0.8 else draw.choice([0.5, None])
    if name.startswith(_INTEGERS):
        return draw.choice((1, 2, 3, 3, 8)) if draw.random() < 0.7 else draw.choice(_NUMBERS)
    return draw.choice(_VALUES)(draw)


_LISTS: dict[str, Callable[[random.Random], Any]] = {
    "known": lambda draw: _core.ScoredSequence([draw.choice([0, 1, 9])] * draw.randrange(3), draw.choice(_REALS), 0.0),
    "features": lambda draw: draw.choice([_csr, _array])(draw),
    "members": lambda draw: _core.Member.power(draw.choice([0, 1, 9]), draw.choice([1, 3, 2**32 - 1])),
    "transitions": lambda draw: draw.choice([_walk, _walk, _walk_with_holes])(draw),
    "lacking": _samples,
    "chains": lambda draw: _core.Chain(
        [_core.Factor(draw.choice([0, 1, 9]), transposed=True)] * draw.randrange(3), weight=1.0
    ),
    "factors": lambda draw: _core.Factor(draw.choice(_NUMBERS[:6]), transposed=True),
    "times": lambda draw: draw.choice(_NUMBERS),
    "rows": lambda draw: draw.randrange(9),
}


def _targets() -> list[tuple[str, Callable[..., Any] | None, list[inspect.Parameter]]]:
    """Return all callables of the core; a method has its class in front and is called on a drawn object."""
    found = []
    for name in sorted(dir(_core)):
        member = getattr(_core, name)
        if name.startswith("_") or not callable(member):
            continue
        if not isinstance(member, type):
            found.append((name, member, list(inspect.signature(member).parameters.values())))
            continue
        # A class of results has no constructor.
        with contextlib.suppress(ValueError):
            found.append((name, member, list(inspect.signature(member).parameters.values())))
        for attribute, value in sorted(vars(member).items()):
            if isinstance(value, staticmethod):
                bound = getattr(member, attribute)
                found.append((f"{name}.{attribute}", bound, list(inspect.signature(bound).parameters.values())))
            elif not attribute.startswith("_") and callable(value):
                found.append((f"{name}.{attribute}", None, list(inspect.signature(value).parameters.values())[1:]))
    # Functions of many arguments return less often; they are called more often.
    return [target for target in found for _ in range(1 + len(target[2]))]


def _some_walk(draw: random.Random) -> _core.Transition:
    return _walk(draw, draw.choice([1, 2, 3, 8, 8]), draw.choice([np.float64, np.float32]))


_OBJECTS: dict[str, Callable[[random.Random], Any]] = {
    "OperatorSet": _operators, "Scorer": _scorer, "Strategy": _strategy, "RandomSequences": _random,
    "Transition": _some_walk,
}  # fmt: skip


def _look(result: Any) -> None:
    """Read everything that a result offers, and copy it by pickle where that is possible."""
    for attribute in dir(result):
        if not attribute.startswith("__"):
            getattr(result, attribute)
    repr(result)
    if isinstance(result, (_core.Transition, _core.Member)):
        pickle.loads(pickle.dumps(result))


def _interrupt(signal_number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def run(seed: int, count: int) -> Counter[str]:
    """Make `count` calls; return how they ended."""
    draw, targets, ends = random.Random(seed), _targets(), Counter[str]()
    signal.signal(signal.SIGALRM, _interrupt)
    for number in range(count):
        name, function, parameters = draw.choice(targets)
        arguments, keywords = [], {}
        # Half of the calls have an argument of any kind.
        odd = draw.choice([parameter.name for parameter in parameters] or [""]) if draw.random() < 0.5 else None
        for parameter in parameters:
            try:
                value = draw.choice(_VALUES)(draw) if parameter.name == odd else _plausible(parameter.name, draw)
            except EXPECTED:
                value = None
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                keywords[parameter.name] = value
            else:
                arguments.append(value)
        if draw.random() < 0.02 and arguments:
            arguments.pop()
        faulthandler.dump_traceback_later(_ANSWER, exit=True)
        try:
            if function is None:
                function = getattr(_OBJECTS[name.split(".")[0]](draw), name.split(".")[1])
            signal.setitimer(signal.ITIMER_REAL, _PATIENCE)
            try:
                result = function(*arguments, **keywords)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            _look(result)
            ends["returned"] += 1
        except EXPECTED as error:
            ends[type(error).__name__] += 1
        except BaseException as error:
            print(
                f"seed {seed}, call {number}: {name}(*{arguments!r}, **{keywords!r})\n{type(error).__name__}: {error}"
            )
            ends["unexpected"] += 1
        finally:
            faulthandler.cancel_dump_traceback_later()
    return ends


if __name__ == "__main__":
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    ended = run(int(sys.argv[1]), int(sys.argv[2]))
    print(dict(ended))
    sys.exit(ended["unexpected"] > 0)
