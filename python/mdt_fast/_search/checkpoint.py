"""The file from which an interrupted search resumes.

A score is a function of the trajectory alone. A search therefore resumes by running again with the
scores that are known, and the file contains nothing else. It is one JSON document with a digest of
its content, replaced as a whole. Nothing in a file is trusted: lengths and ranges are checked against
the operators before memory is taken.
"""

import base64
import hashlib
import json
import math
import os
import reprlib
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._operators.operator_set import OperatorSet
from .._support.files import locked, remove_parts, replace_file
from .._support.reading import SizeLimitError, check_size, read_json
from .evaluation import Candidate, Evaluation, key_of
from .json_values import to_float, to_integer, to_kind, to_list, to_numbers, to_steps

FORMAT = "mdt_fast search checkpoint"
VERSION = 2

# Seconds between two writes: at least this many, and at least this multiple of the time of a write.
_INTERVAL = 2.0
_SHARE = 20.0
# Seconds between the first two writes of evaluations.
_FIRST = 0.1
# Seconds to wait for another search that writes the same file.
_PATIENCE = 60.0
# Characters of a value in a message.
_LONGEST = 1000


class Checkpoint:
    """Known evaluations, in memory and, with a path, in a file.

    Several searches with the same arguments may share a file, in threads or processes. A search that
    writes it first reads what the others have added, under a lock.

    Parameters
    ----------
    path : str, path or None
        The file; None keeps everything in memory.
    identity : mapping
        JSON values that identify the search.
    ops : OperatorSet
        The operators, which bound what the file may contain.
    """

    def __init__(self, path: str | os.PathLike[str] | None, identity: Mapping[str, Any], ops: OperatorSet) -> None:
        self._path = None if path is None else Path(path)
        self._identity = json.loads(json.dumps(dict(identity)))
        self._ops = ops
        self._known: dict[object, Evaluation] = {}
        # The file after the last write, to notice the writes of others.
        self._state: tuple[int, ...] | None = None
        self._n_written = 0
        self._written = 0.0
        self._interval = 0.0
        if self._path is not None:
            # Fail now if the file cannot be written.
            self.write(is_first=True)

    @property
    def is_written(self) -> bool:
        """Whether there is a file."""
        return self._path is not None

    def find(self, candidate: Candidate) -> Evaluation | None:
        """Return the evaluation of a candidate, or None."""
        return self._known.get(key_of(candidate))

    def sequences(self) -> list[_core.ScoredSequence]:
        """Return the known scores of sequences."""
        return [
            _core.ScoredSequence(e.candidate, e.score, e.seconds)
            for e in self._known.values()
            if isinstance(e.candidate, tuple)
        ]

    def add(self, evaluation: Evaluation) -> None:
        """Add an evaluation; the first one of a candidate is kept."""
        self._known.setdefault(evaluation.key, evaluation)

    def write_if_due(self) -> None:
        """Write the first evaluations at once, and later ones if the last write was some seconds ago."""
        if self._path is None or len(self._known) == self._n_written:
            return
        if time.monotonic() - self._written >= self._interval:
            self.write()

    def write(self, *, is_first: bool = False) -> None:
        """Replace the file by the current state and what other searches have added to it."""
        if self._path is None:
            return
        began = time.monotonic()
        try:
            with locked(self._path, _PATIENCE):
                if is_first:
                    remove_parts(self._path)
                state = _state_of(self._path)
                if state is not None and state != self._state:
                    for evaluation in _read(self._path, self._identity, self._ops):
                        self.add(evaluation)
                elif state is not None and len(self._known) == self._n_written:
                    return
                content = {
                    "format": FORMAT,
                    "version": VERSION,
                    "identity": self._identity,
                    "evaluations": [_to_json(e) for e in self._known.values()],
                }
                replace_file(self._path, json.dumps({**content, "digest": _digest(content)}))
                self._state = _state_of(self._path)
        except OSError as error:
            reason = f"checkpoint: expected a file that can be written, got {self._path}: {error.strerror}"
            raise type(error)(error.errno, reason) from None
        self._n_written = len(self._known)
        self._written = time.monotonic()
        if not is_first:
            # Short intervals first, so that a search that is killed again and again gets on.
            self._interval = max(min(_INTERVAL, 2 * self._interval + _FIRST), _SHARE * (self._written - began))


def fingerprint(ops: OperatorSet, features: list[Any]) -> str:
    """Return a digest of everything that scores are computed from."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((ops.members, ops.n_views, ops.names)).encode())
    for transition in map(ops._transition, range(ops.native.n_transitions)):
        for part in (transition.indptr, transition.indices, transition.values):
            digest.update(np.ascontiguousarray(part).data)
    for view in features:
        for part in (view.indptr, view.indices, view.values) if isinstance(view, _core.CsrParts) else (view,):
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _to_json(evaluation: Evaluation) -> dict[str, Any]:
    candidate = evaluation.candidate
    key = "sequence" if isinstance(candidate, tuple) else "weights"
    entry = {key: np.asarray(candidate).tolist(), "score": evaluation.score, "seconds": evaluation.seconds}
    if evaluation.gradient is not None:
        entry["gradient"] = evaluation.gradient.tolist()
    if evaluation.labels is not None:
        # Packed, because a consensus stores the labels of all samples for every trajectory.
        packed = zlib.compress(evaluation.labels.astype(np.min_scalar_type(int(evaluation.labels.max()))).tobytes(), 1)
        entry["labels"] = [len(evaluation.labels), base64.b64encode(packed).decode("ascii")]
    return entry


def _from_json(name: str, entry: Any, ops: OperatorSet, n_clusters: Any) -> Evaluation:
    parts: dict[str, Any] = to_kind(name, entry, (dict,), "a dict")
    kind = "sequence" if "sequence" in parts else "weights"
    candidate = to_steps(f"{name}[{kind!r}]", parts.get(kind), ops)
    gradient, labels = parts.get("gradient"), parts.get("labels")
    # A score may be nan or infinite, which json writes as NaN and Infinity.
    score, seconds = (
        to_float(f"{name}[{key!r}]", to_kind(f"{name}[{key!r}]", parts.get(key), (int, float), "a number"))
        for key in ("score", "seconds")
    )
    if not 0 <= seconds < math.inf:
        raise ValueError(f"{name}['seconds']: expected a finite number >= 0, got {seconds}")
    if gradient is not None:
        gradient = to_numbers(f"{name}['gradient']", gradient, len(candidate), 2)
        if gradient.shape != (len(candidate), len(ops)):
            raise ValueError(f"{name}['gradient']: expected shape {(len(candidate), len(ops))}, got {gradient.shape}")
    if labels is not None:
        n_labels = n_clusters if isinstance(n_clusters, int) else ops.n_samples
        labels = _unpack(f"{name}['labels']", labels, ops.n_samples, n_labels)
    return Evaluation(candidate, score, seconds, gradient, labels)


def _unpack(name: str, value: Any, n_samples: int, n_labels: int) -> NDArray[np.int32]:
    n, packed = to_list(name, value, 2)
    to_integer(f"{name}[0]", n, n_samples, n_samples)
    unpacking = zlib.decompressobj()
    # At most one byte more than four bytes for each sample, whatever the text expands to.
    data = unpacking.decompress(base64.b64decode(to_kind(f"{name}[1]", packed, (str,), "a string")), 4 * n + 1)
    item_size = len(data) // n
    if item_size not in (1, 2, 4) or len(data) != item_size * n or not unpacking.eof:
        raise ValueError(f"{name}: expected 1, 2 or 4 bytes for each of {n} samples, got another number of bytes")
    labels = np.frombuffer(data, dtype=f"<u{item_size}")
    if labels.max() >= n_labels:
        raise ValueError(f"{name}: expected labels below {n_labels}, got {labels.max()}")
    return labels.astype(np.int32)


def _read(path: Path, identity: dict[str, Any], ops: OperatorSet) -> list[Evaluation]:
    refusal = "checkpoint: expected a checkpoint of mdt_fast, got a damaged or different file"
    try:
        content = read_json(path, allow_nan=True)
        digest = content.pop("digest")
        is_ours = content["format"] == FORMAT and digest == _digest(content)
    except SizeLimitError as error:
        raise SizeLimitError(f"checkpoint: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_ours = False
    if not is_ours:
        raise ValueError(f"{refusal}: {path}; remove it to start again")
    if content.get("version") != VERSION:
        raise ValueError(f"checkpoint: expected version {VERSION}, got {reprlib.repr(content.get('version'))}: {path}")
    try:
        _compare(identity, to_kind("identity", content.get("identity"), (dict,), "a dict"), path)
        entries = to_list("evaluations", content.get("evaluations"))
        n_labelled = sum(isinstance(entry, dict) and entry.get("labels") is not None for entry in entries)
        check_size(f"checkpoint: {path}: the labels of {n_labelled} evaluations", 4 * n_labelled * ops.n_samples)
        n_clusters = identity.get("n_clusters")
        return [_from_json(f"evaluations[{i}]", entry, ops, n_clusters) for i, entry in enumerate(entries)]
    except (_OtherSearchError, SizeLimitError):
        raise
    except (ValueError, zlib.error, RecursionError) as error:
        raise ValueError(f"{refusal}: {path} ({error}); remove it to start again") from None


class _OtherSearchError(ValueError):
    """The checkpoint belongs to a search with other arguments."""


def _compare(expected: dict[str, Any], got: dict[str, Any], path: Path) -> None:
    for name in [*expected, *(name for name in got if name not in expected)]:
        if expected.get(name) != got.get(name):
            if name == "data":
                raise _OtherSearchError(
                    f"checkpoint: expected one of the same data, got one of other operators or features: {path}"
                )
            raise _OtherSearchError(
                f"checkpoint: expected one with {name}={expected.get(name)!r}, got one with "
                f"{name}={_shortened(got.get(name))}: {path}"
            )


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _state_of(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size
